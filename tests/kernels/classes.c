/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kernels/classes.h"

#include <string.h>

bool sample_fits(int op, lfuse_type type)
{
    return lfuse__op_takes((lfuse__op)op, type);
}

static void start(sample *s, int noperands)
{
    memset(s, 0, sizeof *s);
    s->k.body = &s->body;
    s->k.noperands = noperands;
    s->k.rank = 1;
    s->body.instr = s->instr;
    s->body.stores = s->stores;
    s->body.number_types = s->number_types;
}

static void operand(sample *s, int i, lfuse_type type, bool written)
{
    s->k.operands[i] = (lfuse__kernel_operand){.type = type, .written = written, .inner = LFUSE__STRIDE_UNIT};
}

static int16_t add(sample *s, lfuse__instr instr)
{
    s->instr[s->body.ninstr] = instr;
    return (int16_t)s->body.ninstr++;
}

static void store(sample *s, int16_t reg, int16_t to)
{
    s->stores[s->body.nstores++] = (lfuse__store){.reg = reg, .operand = to};
}

static int16_t load(sample *s, int16_t from)
{
    return add(s, (lfuse__instr){.kind = LFUSE__I_LOAD, .type = s->k.operands[from].type, .a = from, .b = -1, .c = -1});
}

static int16_t apply(sample *s, int op, lfuse_type type, int16_t a, int16_t b, int16_t c)
{
    return add(s, (lfuse__instr){.kind = LFUSE__I_APPLY, .op = (uint8_t)op, .type = type, .a = a, .b = b, .c = c});
}

void sample_op(sample *s, int op, lfuse_type type)
{
    const lfuse__op_row *row = &lfuse__ops[op];
    const lfuse_type result = lfuse__op_result((lfuse__op)op, type);
    int16_t regs[3] = {0, 0, 0};
    start(s, row->arity + 1);
    for (int i = 0; i < row->arity; i++)
        operand(s, i, row->klass == LFUSE__CLASS_SELECT && i == 0 ? LFUSE_BOOL : type, false);
    operand(s, row->arity, result, true);
    for (int16_t i = 0; i < row->arity; i++) regs[i] = load(s, i);
    store(s, apply(s, op, result, regs[0], regs[1], regs[2]), (int16_t)row->arity);
}

void sample_many(sample *s, int count, const int *ops, lfuse_type type)
{
    int16_t regs[3], mask;
    start(s, 3 + count);
    for (int i = 0; i < 3; i++) operand(s, i, type, false);
    for (int16_t i = 0; i < 3; i++) regs[i] = load(s, i);
    mask = apply(s, LFUSE__OP_eq, LFUSE_BOOL, regs[0], regs[1], -1);
    for (int n = 0; n < count; n++) {
        const lfuse__op_class klass = lfuse__ops[ops[n]].klass;
        const lfuse_type result = lfuse__op_result((lfuse__op)ops[n], type);
        operand(s, 3 + n, result, true);
        int16_t a = klass == LFUSE__CLASS_SELECT ? mask : regs[0];
        store(s, apply(s, ops[n], result, a, regs[1], regs[2]), (int16_t)(3 + n));
    }
}

void sample_narrow(sample *s)
{
    const int j = s->k.noperands++;
    operand(s, j, LFUSE_F64, false);
    load(s, (int16_t)j);
}

void sample_cast(sample *s, lfuse_type from, lfuse_type to)
{
    start(s, 2);
    operand(s, 0, from, false);
    operand(s, 1, to, true);
    int16_t a = load(s, 0);
    store(s, add(s, (lfuse__instr){.kind = LFUSE__I_CONVERT, .type = to, .from = from, .a = a}), 1);
}

void sample_casts(sample *s, lfuse_type from, bool f64)
{
    start(s, 1);
    operand(s, 0, from, false);
    int16_t a = load(s, 0);
    for (lfuse_type to = LFUSE_F32; to < LFUSE__TYPES; to++) {
        if (to == LFUSE_F64 && !f64) continue;
        const int16_t at = (int16_t)s->k.noperands++;
        operand(s, at, to, true);
        store(s, add(s, (lfuse__instr){.kind = LFUSE__I_CONVERT, .type = to, .from = from, .a = a}), at);
    }
}

void sample_fused(sample *s, lfuse_type type)
{
    start(s, 4);
    for (int i = 0; i < 4; i++) operand(s, i, type, i >= 2);
    s->body.nnumbers = 1;
    s->number_types[0] = type;
    int16_t a = load(s, 0), b = load(s, 1);
    int16_t n = add(s, (lfuse__instr){.kind = LFUSE__I_NUMBER, .type = type, .a = 0});
    store(s, apply(s, LFUSE__OP_add, type, apply(s, LFUSE__OP_mul, type, a, n, -1), b, -1), 2);
    store(s, apply(s, LFUSE__OP_where, type, apply(s, LFUSE__OP_lt, LFUSE_BOOL, a, b, -1), a, b), 3);
}

void sample_uniform(sample *s)
{
    static const lfuse__instr instr[] = {
        {.kind = LFUSE__I_LOAD, .type = LFUSE_F64, .a = 0, .b = -1, .c = -1},
        {.kind = LFUSE__I_CONST, .type = LFUSE_F64, .a = -1, .b = -1, .c = -1, .number = 3},
        {.kind = LFUSE__I_APPLY, .op = LFUSE__OP_powi, .type = LFUSE_F64, .a = 0, .b = 1, .c = -1},
        {.kind = LFUSE__I_NUMBER, .type = LFUSE_F64, .a = 0, .b = -1, .c = -1},
        {.kind = LFUSE__I_APPLY, .op = LFUSE__OP_sub, .type = LFUSE_F64, .a = 3, .b = 2, .c = -1},
        {.kind = LFUSE__I_CONVERT, .from = LFUSE_F64, .type = LFUSE_F32, .a = 4, .b = -1, .c = -1},
        {.kind = LFUSE__I_LOAD, .type = LFUSE_F32, .a = 1, .b = -1, .c = -1},
        {.kind = LFUSE__I_APPLY, .op = LFUSE__OP_mul, .type = LFUSE_F32, .a = 5, .b = 6, .c = -1},
    };
    memset(s, 0, sizeof *s);
    s->body = (lfuse__body){.ninstr = sizeof instr / sizeof *instr, .nstores = 1, .nnumbers = 1, .instr = s->instr,
                            .stores = s->stores, .number_types = s->number_types};
    memcpy(s->instr, instr, sizeof instr);
    s->stores[0] = (lfuse__store){7, 2};
    s->number_types[0] = LFUSE_F64;
    s->k = (lfuse__kernel_class){.body = &s->body, .noperands = 3, .rank = 1};
    s->k.operands[0] = (lfuse__kernel_operand){.type = LFUSE_F64, .inner = LFUSE__STRIDE_REPEAT};
    s->k.operands[1] = (lfuse__kernel_operand){.type = LFUSE_F32, .inner = LFUSE__STRIDE_UNIT};
    s->k.operands[2] = (lfuse__kernel_operand){.type = LFUSE_F32, .written = true, .inner = LFUSE__STRIDE_UNIT};
}

void sample_counted(sample *s)
{
    start(s, 4);
    operand(s, 0, LFUSE_F32, false);
    operand(s, 1, LFUSE_F32, false);
    operand(s, 2, LFUSE_F32, true);
    operand(s, 3, LFUSE_F32, true);
    s->k.operands[1].inner = s->k.operands[3].inner = LFUSE__STRIDE_REPEAT;
    s->k.operands[3].fixed = true;
    const int16_t b = load(s, 1), a = load(s, 0);
    store(s, apply(s, LFUSE__OP_mul, LFUSE_F32, a, b, -1), 2);
    store(s, apply(s, LFUSE__OP_exp2, LFUSE_F32, b, -1, -1), 3);
}

void sample_square(sample *s, lfuse_type type)
{
    start(s, 2);
    operand(s, 0, type, false);
    operand(s, 1, type, true);
    int16_t a = load(s, 0);
    store(s, apply(s, LFUSE__OP_mul, type, a, a, -1), 1);
}

void sample_look_up(sample *s, lfuse_type type, bool mapped)
{
    start(s, mapped ? SAMPLE_MAP + 1 : SAMPLE_MAP);
    s->k.rank = 2;
    operand(s, SAMPLE_TABLE, type, false);
    operand(s, SAMPLE_INDICES, LFUSE_I32, false);
    operand(s, SAMPLE_RESULT, type, true);
    operand(s, SAMPLE_MAP, LFUSE_I32, false);
    s->k.operands[SAMPLE_TABLE].gathered = s->k.operands[SAMPLE_MAP].gathered = true;
    s->k.operands[SAMPLE_INDICES].inner = s->k.operands[SAMPLE_MAP].inner = LFUSE__STRIDE_REPEAT;
    int16_t index = load(s, SAMPLE_INDICES);
    if (mapped) {
        const int16_t one = add(s, (lfuse__instr){.kind = LFUSE__I_CONST, .type = LFUSE_I32, .number = 1});
        index = add(s, (lfuse__instr){.kind = LFUSE__I_LOAD, .type = LFUSE_I32, .a = SAMPLE_MAP, .b = index});
        index = apply(s, LFUSE__OP_add, LFUSE_I32, index, one, -1);
    }
    store(s, add(s, (lfuse__instr){.kind = LFUSE__I_LOAD, .type = type, .a = SAMPLE_TABLE, .b = index}), SAMPLE_RESULT);
}

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
