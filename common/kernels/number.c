/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/base/half.h"
#include "common/base/whole.h"
#include "common/kernels/emit.h"

static uint64_t float_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static uint64_t double_bits(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

uint64_t lfuse__number_word(lfuse_type type, double number)
{
    switch (type) {
    case LFUSE_F16:
    case LFUSE_BF16:
    case LFUSE_E4M3:
    case LFUSE_E5M2: return float_bits(lfuse__narrow_round(type, number));
    case LFUSE_F64: return double_bits(number);
    case LFUSE_I64: return (uint64_t)lfuse__double_to_whole(type, number);
    case LFUSE_I32:
    case LFUSE_I8:
    case LFUSE_U8: return (uint32_t)lfuse__double_to_whole(type, number);
    case LFUSE_BOOL: return number != 0;
    default: return float_bits((float)number);
    }
}

void lfuse__numbers_pack(const lfuse__body *body, const double *numbers, uint64_t *words)
{
    for (int i = 0; i < body->nnumbers; i++) words[i] = lfuse__number_word(body->number_types[i], numbers[i]);
}
