/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "common/graph/op.h"

const lfuse__op_row lfuse__ops[LFUSE__OP_COUNT] = {
#define LFUSE__OP(name, arity, klass, dialect, reference, ulp_f32, ulp_f64, da, db, dc, backward, ...)                 \
    [LFUSE__OP_##name] = {#name, arity, LFUSE__CLASS_##klass, dialect, ulp_f32, ulp_f64, backward},
#include "common/graph/ops.def"
#undef LFUSE__OP
};
