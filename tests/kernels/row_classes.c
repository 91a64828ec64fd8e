/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kernels/row_classes.h"

#include <string.h>

#include "common/kernels/emit.h"

static int16_t operand(row_sample *s, lfuse_type type, bool written, bool of_row)
{
    const int j = s->k.noperands++;
    s->of_row[j] = of_row;
    s->k.operands[j] = (lfuse__kernel_operand){
        .type = type, .written = written, .inner = of_row ? LFUSE__STRIDE_REPEAT : LFUSE__STRIDE_UNIT};
    return (int16_t)j;
}

static int16_t add(row_sample *s, lfuse__instr instr)
{
    s->instr[s->body.ninstr] = instr;
    return (int16_t)s->body.ninstr++;
}

static int16_t load(row_sample *s, int16_t from)
{
    return add(s, (lfuse__instr){.kind = LFUSE__I_LOAD, .type = s->k.operands[from].type, .a = from, .b = -1});
}

static int16_t number(row_sample *s, lfuse_type type)
{
    s->number_types[s->body.nnumbers] = type;
    return add(s, (lfuse__instr){.kind = LFUSE__I_NUMBER, .type = type, .a = (int16_t)s->body.nnumbers++});
}

static int16_t apply(row_sample *s, int op, lfuse_type type, int16_t a, int16_t b)
{
    return add(s, (lfuse__instr){.kind = LFUSE__I_APPLY, .op = (uint8_t)op, .type = type, .a = a, .b = b, .c = -1});
}

static int16_t reduce(row_sample *s, int op, lfuse_type type, int16_t a)
{
    return add(s, (lfuse__instr){.kind = LFUSE__I_REDUCE, .op = (uint8_t)op, .type = type, .a = a});
}

static void store(row_sample *s, int16_t reg, int16_t to)
{
    s->stores[s->body.nstores++] = (lfuse__store){.reg = reg, .operand = to};
}

static void make_norm(row_sample *s, lfuse_type type)
{
    const lfuse_type t = type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32;
    const int16_t x = operand(s, type, false, false), scale = operand(s, type, false, false),
                  bias = operand(s, type, false, true), y = operand(s, type, true, false),
                  dot = operand(s, t, true, true), high = operand(s, type, true, true);
    s->k.operands[scale].fixed = true;
    const int16_t part = number(s, t), epsilon = number(s, t);
    const int16_t rx = load(s, x), rs = load(s, scale), rb = load(s, bias);
    const int16_t mean = apply(s, LFUSE__OP_mul, t, reduce(s, LFUSE__REDUCE_SUM, t, rx), part);
    const int16_t d = apply(s, LFUSE__OP_sub, t, rx, mean);
    const int16_t squares = reduce(s, LFUSE__REDUCE_SUM, t, apply(s, LFUSE__OP_mul, t, d, d));
    const int16_t variance = apply(s, LFUSE__OP_add, t, apply(s, LFUSE__OP_mul, t, squares, part), epsilon);
    const int16_t norm = apply(s, LFUSE__OP_div, t, d, apply(s, LFUSE__OP_sqrt, t, variance, -1));
    const int16_t scaled = apply(s, LFUSE__OP_add, t, apply(s, LFUSE__OP_mul, t, norm, rs), rb);
    store(s, scaled, y);
    const int16_t product = apply(s, LFUSE__OP_mul, t, scaled, rs);
    store(s, apply(s, LFUSE__OP_relu, t, apply(s, LFUSE__OP_add, t, reduce(s, LFUSE__REDUCE_SUM, t, product), rb), -1),
          dot);
    store(s, reduce(s, LFUSE__REDUCE_MAX, t, scaled), high);
}

static void make_all(row_sample *s, lfuse_type type)
{
    const bool whole = lfuse__is_integer(type);
    const lfuse_type wide = whole ? LFUSE_I64 : type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32;
    const lfuse_type results[] = {wide, wide, type, type, LFUSE_I64, LFUSE_I64};
    const int16_t rx = load(s, operand(s, type, false, false));
    for (int op = 0; op < LFUSE__REDUCE_COUNT; op++)
        store(s, reduce(s, op, results[op], rx), operand(s, results[op], true, true));
}

static void make_sum(row_sample *s, lfuse_type type)
{
    const lfuse_type wide = lfuse__is_integer(type) ? LFUSE_I64 : type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32;
    const int16_t x = operand(s, type, false, false), b = operand(s, type, false, true),
                  y = operand(s, type, true, false), sum = operand(s, wide, true, true);
    const int16_t rx = load(s, x), rb = load(s, b);
    const int16_t less = apply(s, LFUSE__OP_sub, type, rx, rb);
    store(s, less, y);
    store(s, reduce(s, LFUSE__REDUCE_SUM, wide, less), sum);
}

bool row_body_fits(row_body body, lfuse_type type)
{
    return type != LFUSE_BOOL && (body != ROW_NORM || lfuse__is_floating(type));
}

void row_sample_make(row_sample *s, row_body body, lfuse_type type)
{
    memset(s, 0, sizeof *s);
    s->k.family = LFUSE__FAMILY_ROWS;
    s->k.body = &s->body;
    s->k.rank = 2;
    s->k.naxes = 1;
    s->body.instr = s->instr;
    s->body.stores = s->stores;
    s->body.number_types = s->number_types;
    if (body == ROW_NORM) make_norm(s, type);
    if (body == ROW_ALL) make_all(s, type);
    if (body == ROW_SUM) make_sum(s, type);
}

void row_sample_inner(row_sample *s, lfuse__stride_class inner)
{
    for (int j = 0; j < s->k.noperands; j++)
        if (!s->of_row[j]) s->k.operands[j].inner = inner;
}
