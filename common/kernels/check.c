/* SPDX-License-Identifier: Apache-2.0 */
/* What emitters take for granted of a class and its body. */
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/emit.h"

static bool type_known(int type)
{
    return type > LFUSE_TYPE_NONE && type < LFUSE__TYPES;
}

static bool floating(lfuse_type type)
{
    return type == LFUSE_F32 || type == LFUSE_F64;
}

static lfuse_status name_check(const char *name)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyz_0123456789";
    size_t length = strlen(name);
    if (length == 0 || length > 63 || strspn(name, letters) != length || (name[0] >= '0' && name[0] <= '9'))
        return lfuse__error(LFUSE_ERR_INVALID, "kernel name of %zu characters: not [a-z_][a-z0-9_]*", length);
    return LFUSE_OK;
}

/* The register types that the arguments of an operator have to have. */
static lfuse_status apply_check(const lfuse__instr *instr, const lfuse_type *have, int at)
{
    if (instr->op >= LFUSE__OP_COUNT) return lfuse__error(LFUSE_ERR_INVALID, "instruction %d: operator %d", at,
                                                          instr->op);
    const lfuse__op_row *row = &lfuse__ops[instr->op];
    const int16_t from[3] = {instr->a, instr->b, instr->c};
    lfuse_type of = lfuse__register_type(instr->type);
    for (int i = 0; i < row->arity; i++)
        if (from[i] < 0 || from[i] >= at)
            return lfuse__error(LFUSE_ERR_INVALID, "instruction %d: %s of register %d", at, row->name, from[i]);
    if (lfuse__op_retypes((lfuse__op)instr->op)) of = have[from[0]];
    for (int i = 0; i < row->arity; i++) {
        lfuse_type wanted = row->klass == LFUSE__CLASS_SELECT && i == 0 ? LFUSE_BOOL : of;
        if (have[from[i]] != wanted)
            return lfuse__error(LFUSE_ERR_TYPE, "instruction %d: %s needs %s, register %d holds %s", at, row->name,
                                lfuse__memory_word(wanted), from[i], lfuse__memory_word(have[from[i]]));
    }
    bool fits = lfuse__op_takes((lfuse__op)instr->op, of) &&
                lfuse__register_type(lfuse__op_result((lfuse__op)instr->op, of)) == lfuse__register_type(instr->type);
    return fits ? LFUSE_OK
                : lfuse__error(LFUSE_ERR_TYPE, "instruction %d: no %s of %s", at, row->name, lfuse__memory_word(of));
}

static lfuse_status look_up_check(const lfuse__kernel_class *k, const lfuse_type *have, int at)
{
    const lfuse__instr *instr = &k->body->instr[at];
    const lfuse__kernel_operand *o = &k->operands[instr->a];
    if (instr->b < 0 || instr->b >= at)
        return lfuse__error(LFUSE_ERR_INVALID, "instruction %d: the index of operand %d is register %d", at, instr->a,
                            instr->b);
    if (floating(have[instr->b]) || have[instr->b] == LFUSE_BOOL)
        return lfuse__error(LFUSE_ERR_TYPE, "instruction %d: an index of %s", at, lfuse__memory_word(have[instr->b]));
    if (o->written || o->index)
        return lfuse__error(LFUSE_ERR_INVALID, "operand %d is looked up in, and %s", instr->a,
                            o->index ? "has no memory" : "written");
    return LFUSE_OK;
}

/* WIDE folds may widen; the others are of their argument's type, but for an index. */
static lfuse_status reduce_check(const lfuse__instr *instr, lfuse_type have, int at)
{
    const lfuse_type of = lfuse__register_type(instr->type);
    const bool index = lfuse__folds[instr->op].type == LFUSE__FOLD_INDEX;
    const bool widens = lfuse__folds[instr->op].type == LFUSE__FOLD_WIDE;
    if (have == LFUSE_BOOL ? index || !widens || of == LFUSE_BOOL : index ? floating(of) : !widens && of != have)
        return lfuse__error(LFUSE_ERR_TYPE, "instruction %d: reduction %d of %s to %s", at, instr->op,
                            lfuse__memory_word(have), lfuse__memory_word((lfuse_type)instr->type));
    return LFUSE_OK;
}

static lfuse_status instr_check(const lfuse__kernel_class *k, const lfuse_type *have, int at)
{
    const lfuse__instr *instr = &k->body->instr[at];
    if (!type_known(instr->type)) return lfuse__error(LFUSE_ERR_TYPE, "instruction %d: type %d", at, instr->type);
    switch ((lfuse__instr_kind)instr->kind) {
    case LFUSE__I_LOAD:
        if (instr->a < 0 || instr->a >= k->noperands || k->operands[instr->a].type != (lfuse_type)instr->type)
            return lfuse__error(LFUSE_ERR_INVALID, "instruction %d: load of operand %d of %d", at, instr->a,
                                k->noperands);
        return k->operands[instr->a].gathered ? look_up_check(k, have, at) : LFUSE_OK;
    case LFUSE__I_NUMBER:
        if (instr->a < 0 || instr->a >= k->body->nnumbers)
            return lfuse__error(LFUSE_ERR_INVALID, "instruction %d: number %d of %d", at, instr->a, k->body->nnumbers);
        return LFUSE_OK;
    case LFUSE__I_CONST:
        return LFUSE_OK;
    case LFUSE__I_APPLY:
        return apply_check(instr, have, at);
    case LFUSE__I_CONVERT:
        if (instr->a < 0 || instr->a >= at || !type_known(instr->from) ||
            lfuse__register_type(instr->from) != have[instr->a])
            return lfuse__error(LFUSE_ERR_INVALID, "instruction %d: conversion of register %d", at, instr->a);
        return LFUSE_OK;
    case LFUSE__I_REDUCE:
    case LFUSE__I_TOTAL:
        if (k->naxes < 1 || instr->a < 0 || instr->a >= at || !lfuse__is_fold(instr->op) ||
            (instr->op > LFUSE__REDUCE_COUNT) != (k->family == LFUSE__FAMILY_SCAN))
            return lfuse__error(LFUSE_ERR_INVALID, "instruction %d: reduction %d of register %d over %d axes", at,
                                instr->op, instr->a, k->naxes);
        return reduce_check(instr, have[instr->a], at);
    }
    return lfuse__error(LFUSE_ERR_INVALID, "instruction %d: kind %d", at, instr->kind);
}

static lfuse_status body_check(const lfuse__kernel_class *k, bool f64)
{
    const lfuse__body *body = k->body;
    lfuse_type have[LFUSE__MAX_INSTRUCTIONS];
    if (body->ninstr < 0 || body->ninstr > LFUSE__MAX_INSTRUCTIONS)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a kernel of %d instructions; at most %d", body->ninstr,
                            LFUSE__MAX_INSTRUCTIONS);
    for (int i = 0; i < body->ninstr; i++) {
        LFUSE__TRY(instr_check(k, have, i));
        have[i] = lfuse__register_type(body->instr[i].type);
        if (have[i] == LFUSE_F64 && !f64) return lfuse__error(LFUSE_ERR_TYPE, "the device has no f64");
    }
    for (int i = 0; i < body->nstores; i++) {
        const lfuse__store *s = &body->stores[i];
        if (s->reg < 0 || s->reg >= body->ninstr || s->operand < 0 || s->operand >= k->noperands ||
            !k->operands[s->operand].written)
            return lfuse__error(LFUSE_ERR_INVALID, "store %d: register %d to operand %d", i, s->reg, s->operand);
        if (have[s->reg] != lfuse__register_type(k->operands[s->operand].type))
            return lfuse__error(LFUSE_ERR_TYPE, "store %d: %s to an operand of %s", i, lfuse__memory_word(have[s->reg]),
                                lfuse__memory_word(k->operands[s->operand].type));
    }
    return LFUSE_OK;
}

lfuse_status lfuse__class_check(const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    LFUSE__TRY(name_check(name));
    if (k->noperands < 1 || k->noperands > LFUSE__MAX_OPERANDS)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a kernel of %d operands; at most %d", k->noperands,
                            LFUSE__MAX_OPERANDS);
    if (k->rank < 1 || k->rank > LFUSE_MAX_RANK)
        return lfuse__error(LFUSE_ERR_RANK, "a kernel of rank %d; 1 to %d", k->rank, LFUSE_MAX_RANK);
    for (int j = 0; j < k->noperands; j++)
        if (!type_known(k->operands[j].type))
            return lfuse__error(LFUSE_ERR_TYPE, "operand %d: type %d", j, (int)k->operands[j].type);
    for (int j = 0; j < k->noperands; j++)
        if (k->operands[j].index && (k->operands[j].written || lfuse__type_bytes(k->operands[j].type) != 8 ||
                                     floating(k->operands[j].type)))
            return lfuse__error(LFUSE_ERR_TYPE, "operand %d numbers elements: read as i64", j);
    return body_check(k, facts->info.f64);
}
