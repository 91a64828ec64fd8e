/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that the instances' own operations have. */
#include "common/run/compile/body.h"

#define COPY_OF(type_)                                                                                                 \
    [type_] = { .ninstr = 1, .nstores = 1, .instr = (lfuse__instr[]){ { LFUSE__I_LOAD, 0, type_, 0, 0, -1, -1, 0 } }, \
                .stores = (lfuse__store[]){ { 0, 1 } } }
#define ZERO_OF(type_)                                                                                                 \
    [type_] = { .ninstr = 1, .nstores = 1, .instr = (lfuse__instr[]){ { LFUSE__I_CONST, 0, type_, 0, -1, -1, -1, 0 } },\
                .stores = (lfuse__store[]){ { 0, 0 } } }
static const lfuse__body copies[] = { COPY_OF(LFUSE_F32), COPY_OF(LFUSE_F16), COPY_OF(LFUSE_BF16),
                                      COPY_OF(LFUSE_F64), COPY_OF(LFUSE_I32), COPY_OF(LFUSE_BOOL),
                                      COPY_OF(LFUSE_I64), COPY_OF(LFUSE_I8),  COPY_OF(LFUSE_U8),
                                      COPY_OF(LFUSE_E4M3), COPY_OF(LFUSE_E5M2) };
static const lfuse__body zeros[] = { ZERO_OF(LFUSE_F32), ZERO_OF(LFUSE_F16), ZERO_OF(LFUSE_BF16),
                                     ZERO_OF(LFUSE_F64), ZERO_OF(LFUSE_I32), ZERO_OF(LFUSE_BOOL),
                                     ZERO_OF(LFUSE_I64), ZERO_OF(LFUSE_I8),  ZERO_OF(LFUSE_U8),
                                     ZERO_OF(LFUSE_E4M3), ZERO_OF(LFUSE_E5M2) };

const lfuse__body *lfuse__body_copy(lfuse_type type)
{
    return &copies[type];
}

const lfuse__body *lfuse__body_zero(lfuse_type type)
{
    return &zeros[type];
}
