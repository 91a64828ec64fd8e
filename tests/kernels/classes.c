/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kernels/classes.h"

#include <string.h>

#include "common/kernels/emit.h"

/* ---- building ---- */

void sample_start(sample *s, lfuse__family family, int rank, int naxes)
{
    memset(s, 0, sizeof *s);
    s->body = (lfuse__body){.instr = s->instr, .stores = s->stores, .number_types = s->number_types};
    s->k.body = &s->body;
    s->k.family = family;
    s->k.rank = rank;
    s->k.naxes = naxes;
}

int sample_operand(sample *s, lfuse_type type, bool written, lfuse__stride_class inner)
{
    s->k.operands[s->k.noperands] = (lfuse__kernel_operand){.type = type, .written = written, .inner = inner};
    return s->k.noperands++;
}

int sample_add(sample *s, lfuse__instr instr)
{
    s->instr[s->body.ninstr] = instr;
    return s->body.ninstr++;
}

int sample_load(sample *s, int operand)
{
    return sample_load_at(s, operand, -1);
}

int sample_load_at(sample *s, int operand, int index)
{
    return sample_add(s, (lfuse__instr){.kind = LFUSE__I_LOAD, .type = (uint8_t)s->k.operands[operand].type,
                                        .a = (int16_t)operand, .b = (int16_t)index, .c = -1});
}

int sample_number(sample *s, lfuse_type type)
{
    s->number_types[s->body.nnumbers] = type;
    return sample_add(s, (lfuse__instr){.kind = LFUSE__I_NUMBER, .type = (uint8_t)type,
                                        .a = (int16_t)s->body.nnumbers++, .b = -1, .c = -1});
}

int sample_constant(sample *s, lfuse_type type, double x)
{
    return sample_add(s, (lfuse__instr){.kind = LFUSE__I_CONST, .type = (uint8_t)type, .a = -1, .b = -1, .c = -1,
                                        .number = x});
}

int sample_apply(sample *s, int op, lfuse_type type, int a, int b)
{
    return sample_apply3(s, op, type, a, b, -1);
}

int sample_apply3(sample *s, int op, lfuse_type type, int a, int b, int c)
{
    return sample_add(s, (lfuse__instr){.kind = LFUSE__I_APPLY, .op = (uint8_t)op, .type = (uint8_t)type,
                                        .a = (int16_t)a, .b = (int16_t)b, .c = (int16_t)c});
}

int sample_convert(sample *s, lfuse_type type, int a)
{
    return sample_add(s, (lfuse__instr){.kind = LFUSE__I_CONVERT, .type = (uint8_t)type, .from = s->instr[a].type,
                                        .a = (int16_t)a, .b = -1, .c = -1});
}

int sample_reduce(sample *s, int op, lfuse_type type, int a)
{
    return sample_add(s, (lfuse__instr){.kind = LFUSE__I_REDUCE, .op = (uint8_t)op, .type = (uint8_t)type,
                                        .a = (int16_t)a, .b = -1, .c = -1});
}

int sample_total(sample *s, int op, lfuse_type type, int a)
{
    const int total = sample_reduce(s, op, type, a);
    s->instr[total].kind = LFUSE__I_TOTAL;
    return total;
}

void sample_store(sample *s, int reg, int operand)
{
    s->stores[s->body.nstores++] = (lfuse__store){.reg = (int16_t)reg, .operand = (int16_t)operand};
}

/* ---- pointwise ---- */

static void start(sample *s)
{
    sample_start(s, LFUSE__FAMILY_POINTWISE, 1, 0);
}

static int input(sample *s, lfuse_type type)
{
    return sample_operand(s, type, false, LFUSE__STRIDE_UNIT);
}

static void result(sample *s, int reg, lfuse_type type)
{
    sample_store(s, reg, sample_operand(s, type, true, LFUSE__STRIDE_UNIT));
}

bool sample_fits(int op, lfuse_type type)
{
    return lfuse__op_takes((lfuse__op)op, type);
}

void sample_op(sample *s, int op, lfuse_type type)
{
    const lfuse__op_row *row = &lfuse__ops[op];
    const lfuse_type of = lfuse__op_result((lfuse__op)op, type);
    int regs[3] = {0, 0, 0};
    start(s);
    for (int i = 0; i < row->arity; i++)
        regs[i] = sample_load(s, input(s, row->klass == LFUSE__CLASS_SELECT && i == 0 ? LFUSE_BOOL : type));
    result(s, sample_apply3(s, op, of, regs[0], regs[1], regs[2]), of);
}

void sample_many(sample *s, int count, const int *ops, lfuse_type type)
{
    int regs[3];
    start(s);
    for (int i = 0; i < 3; i++) regs[i] = sample_load(s, input(s, type));
    const int mask = sample_apply(s, LFUSE__OP_eq, LFUSE_BOOL, regs[0], regs[1]);
    for (int n = 0; n < count; n++) {
        const lfuse__op_class klass = lfuse__ops[ops[n]].klass;
        const lfuse_type of = lfuse__op_result((lfuse__op)ops[n], type);
        const int a = klass == LFUSE__CLASS_SELECT ? mask : regs[0];
        result(s, sample_apply3(s, ops[n], of, a, regs[1], regs[2]), of);
    }
}

void sample_narrow(sample *s)
{
    sample_load(s, input(s, LFUSE_F64));
}

void sample_cast(sample *s, lfuse_type from, lfuse_type to)
{
    start(s);
    result(s, sample_convert(s, to, sample_load(s, input(s, from))), to);
}

void sample_casts(sample *s, lfuse_type from, bool f64)
{
    start(s);
    const int a = sample_load(s, input(s, from));
    for (lfuse_type to = LFUSE_F32; to < LFUSE__TYPES; to++)
        if (to != LFUSE_F64 || f64) result(s, sample_convert(s, to, a), to);
}

void sample_fused(sample *s, lfuse_type type)
{
    start(s);
    const int a = sample_load(s, input(s, type)), b = sample_load(s, input(s, type)), n = sample_number(s, type);
    const int product = sample_apply(s, LFUSE__OP_mul, type, a, n);
    result(s, sample_apply(s, LFUSE__OP_add, type, product, b), type);
    const int less = sample_apply(s, LFUSE__OP_lt, LFUSE_BOOL, a, b);
    result(s, sample_apply3(s, LFUSE__OP_where, type, less, a, b), type);
}

void sample_uniform(sample *s)
{
    start(s);
    const int x = sample_load(s, sample_operand(s, LFUSE_F64, false, LFUSE__STRIDE_REPEAT));
    const int three = sample_constant(s, LFUSE_F64, 3);
    const int power = sample_apply(s, LFUSE__OP_powi, LFUSE_F64, x, three);
    const int number = sample_number(s, LFUSE_F64);
    const int factor = sample_convert(s, LFUSE_F32, sample_apply(s, LFUSE__OP_sub, LFUSE_F64, number, power));
    const int y = sample_load(s, input(s, LFUSE_F32));
    result(s, sample_apply(s, LFUSE__OP_mul, LFUSE_F32, factor, y), LFUSE_F32);
}

void sample_counted(sample *s)
{
    start(s);
    const int elements = input(s, LFUSE_F32), number = sample_operand(s, LFUSE_F32, false, LFUSE__STRIDE_REPEAT);
    const int b = sample_load(s, number), a = sample_load(s, elements);
    result(s, sample_apply(s, LFUSE__OP_mul, LFUSE_F32, a, b), LFUSE_F32);
    const int more = sample_operand(s, LFUSE_F32, true, LFUSE__STRIDE_REPEAT);
    s->k.operands[more].fixed = true;
    sample_store(s, sample_apply(s, LFUSE__OP_exp2, LFUSE_F32, b, -1), more);
}

void sample_square(sample *s, lfuse_type type)
{
    start(s);
    const int a = sample_load(s, input(s, type));
    result(s, sample_apply(s, LFUSE__OP_mul, type, a, a), type);
}

void sample_look_up(sample *s, lfuse_type type, bool mapped)
{
    sample_start(s, LFUSE__FAMILY_POINTWISE, 2, 0);
    sample_operand(s, type, false, LFUSE__STRIDE_UNIT);
    sample_operand(s, LFUSE_I32, false, LFUSE__STRIDE_REPEAT);
    sample_operand(s, type, true, LFUSE__STRIDE_UNIT);
    if (mapped) sample_operand(s, LFUSE_I32, false, LFUSE__STRIDE_REPEAT);
    s->k.operands[SAMPLE_TABLE].gathered = s->k.operands[SAMPLE_MAP].gathered = true;
    int index = sample_load(s, SAMPLE_INDICES);
    if (mapped) {
        const int one = sample_constant(s, LFUSE_I32, 1);
        index = sample_apply(s, LFUSE__OP_add, LFUSE_I32, sample_load_at(s, SAMPLE_MAP, index), one);
    }
    sample_store(s, sample_load_at(s, SAMPLE_TABLE, index), SAMPLE_RESULT);
}

/* ---- rows ---- */

static int row_operand(sample *s, lfuse_type type, bool written, bool of_row)
{
    s->of_row[s->k.noperands] = of_row;
    return sample_operand(s, type, written, of_row ? LFUSE__STRIDE_REPEAT : LFUSE__STRIDE_UNIT);
}

static void make_norm(sample *s, lfuse_type type)
{
    const lfuse_type t = type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32;
    const int x = row_operand(s, type, false, false), scale = row_operand(s, type, false, false),
                  bias = row_operand(s, type, false, true), y = row_operand(s, type, true, false),
                  dot = row_operand(s, t, true, true), high = row_operand(s, type, true, true);
    s->k.operands[scale].fixed = true;
    const int part = sample_number(s, t), epsilon = sample_number(s, t);
    const int rx = sample_load(s, x), rs = sample_load(s, scale), rb = sample_load(s, bias);
    const int mean = sample_apply(s, LFUSE__OP_mul, t, sample_reduce(s, LFUSE__REDUCE_SUM, t, rx), part);
    const int d = sample_apply(s, LFUSE__OP_sub, t, rx, mean);
    const int squares = sample_reduce(s, LFUSE__REDUCE_SUM, t, sample_apply(s, LFUSE__OP_mul, t, d, d));
    const int variance = sample_apply(s, LFUSE__OP_add, t, sample_apply(s, LFUSE__OP_mul, t, squares, part), epsilon);
    const int norm = sample_apply(s, LFUSE__OP_div, t, d, sample_apply(s, LFUSE__OP_sqrt, t, variance, -1));
    const int scaled = sample_apply(s, LFUSE__OP_add, t, sample_apply(s, LFUSE__OP_mul, t, norm, rs), rb);
    sample_store(s, scaled, y);
    const int sum = sample_reduce(s, LFUSE__REDUCE_SUM, t, sample_apply(s, LFUSE__OP_mul, t, scaled, rs));
    sample_store(s, sample_apply(s, LFUSE__OP_relu, t, sample_apply(s, LFUSE__OP_add, t, sum, rb), -1), dot);
    sample_store(s, sample_reduce(s, LFUSE__REDUCE_MAX, t, scaled), high);
}

static void make_all(sample *s, lfuse_type type)
{
    const bool whole = lfuse__is_integer(type);
    const lfuse_type wide = whole ? LFUSE_I64 : type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32;
    const lfuse_type results[] = {wide, wide, type, type, LFUSE_I64, LFUSE_I64};
    const int rx = sample_load(s, row_operand(s, type, false, false));
    for (int op = 0; op < LFUSE__REDUCE_COUNT; op++)
        sample_store(s, sample_reduce(s, op, results[op], rx), row_operand(s, results[op], true, true));
}

static void make_sum(sample *s, lfuse_type type)
{
    const lfuse_type wide = lfuse__is_integer(type) ? LFUSE_I64 : type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32;
    const int x = row_operand(s, type, false, false), b = row_operand(s, type, false, true),
                  y = row_operand(s, type, true, false), sum = row_operand(s, wide, true, true);
    const int rx = sample_load(s, x), rb = sample_load(s, b);
    const int less = sample_apply(s, LFUSE__OP_sub, type, rx, rb);
    sample_store(s, less, y);
    sample_store(s, sample_reduce(s, LFUSE__REDUCE_SUM, wide, less), sum);
}

bool row_body_fits(row_body body, lfuse_type type)
{
    return type != LFUSE_BOOL && (body != ROW_NORM || lfuse__is_floating(type));
}

void sample_rows(sample *s, row_body body, lfuse_type type)
{
    sample_start(s, LFUSE__FAMILY_ROWS, 2, 1);
    if (body == ROW_NORM) make_norm(s, type);
    if (body == ROW_ALL) make_all(s, type);
    if (body == ROW_SUM) make_sum(s, type);
}

void sample_rows_inner(sample *s, lfuse__stride_class inner)
{
    for (int j = 0; j < s->k.noperands; j++)
        if (!s->of_row[j]) s->k.operands[j].inner = inner;
}

/* ---- devices ---- */

lfuse__facts facts_items(bool addresses)
{
    lfuse__facts facts = {.addresses = addresses, .simd = 32};
    facts.info.f64 = 1;
    return facts;
}

lfuse__facts facts_lanes(bool addresses)
{
    lfuse__facts facts = {.addresses = addresses, .vector_lanes = true, .simd = 1, .elementwise_groups = 8};
    facts.info.f64 = 1;
    return facts;
}
