/* SPDX-License-Identifier: Apache-2.0 */
#include "common/graph/op.h"

#include <ctype.h>
#include <string.h>

const lfuse__op_row lfuse__ops[LFUSE__OP_COUNT] = {
#define LFUSE__OP(name, arity, klass, dialect, reference, ulp_f32, ulp_f64, da, db, dc, backward, ...)                 \
    [LFUSE__OP_##name] = {#name, arity, LFUSE__CLASS_##klass, dialect, ulp_f32, ulp_f64, backward},
#include "common/graph/ops.def"
#undef LFUSE__OP
};

const lfuse__fold_row lfuse__folds[LFUSE__FOLD_COUNT] = {
#define LFUSE__FOLD(op, name, word, type, combine, identity)                                                           \
    [LFUSE__REDUCE_##op] = {#name, "member_" #name, "list_" #name, "line_" #name, word, LFUSE__FOLD_##type, combine,   \
                            LFUSE__IDENTITY_##identity},
#include "common/graph/reductions.def"
#define LFUSE__SCAN(scan, ...) [LFUSE__SCAN_##scan] = {.name = #scan, .word = #scan, .type = LFUSE__FOLD_SAME},
#include "common/graph/scans.def"
#undef LFUSE__SCAN
};

lfuse__op lfuse__scan_op(lfuse__reduce scan)
{
    static const lfuse__op ops[LFUSE__FOLD_COUNT] = {
#define LFUSE__SCAN(name, op, ...) [LFUSE__SCAN_##name] = LFUSE__OP_##op,
#include "common/graph/scans.def"
#undef LFUSE__SCAN
    };

    return ops[scan];
}

bool lfuse__op_takes(lfuse__op op, lfuse_type type)
{
    switch (lfuse__ops[op].klass) {
    case LFUSE__CLASS_NUMERIC: return type != LFUSE_BOOL || op == LFUSE__OP_full_like;
    case LFUSE__CLASS_FLOATING:
    case LFUSE__CLASS_PREDICATE: return lfuse__is_floating(type);
    case LFUSE__CLASS_COMPARE: return type != LFUSE_BOOL || op == LFUSE__OP_eq || op == LFUSE__OP_ne;
    case LFUSE__CLASS_LOGIC: return type == LFUSE_BOOL;
    case LFUSE__CLASS_INTEGER: return lfuse__is_integer(type);
    case LFUSE__CLASS_RANDOM: return type == LFUSE_I64;
    case LFUSE__CLASS_SELECT: break;
    }
    return true;
}

bool lfuse__op_retypes(lfuse__op op)
{
    const lfuse__op_class klass = lfuse__ops[op].klass;

    return klass == LFUSE__CLASS_COMPARE || klass == LFUSE__CLASS_PREDICATE || klass == LFUSE__CLASS_LOGIC ||
           klass == LFUSE__CLASS_RANDOM;
}

lfuse_type lfuse__op_result(lfuse__op op, lfuse_type type)
{
    if (!lfuse__op_retypes(op)) return type;
    return lfuse__ops[op].klass == LFUSE__CLASS_RANDOM ? LFUSE_I32 : LFUSE_BOOL;
}

/* A word of the dialect in simple operations: functions are polynomials, quotients and roots are corrected. */
static double weight_of_word(const char *word, size_t length)
{
    static const char *const simple[] = { "ADD", "SUB", "MUL", "NEG", "ABS", "MIN", "MAX", "FMA", "MAD", "SEL", "EQ",
                                          "NE", "LT", "LE", "GT", "GE", "AND", "OR", "XOR", "NOT", "SHL", "SHR",
                                          "FLOOR", "CEIL", "TRUNC", "RINT" };
    size_t i;

    if (length == 1) return 0; /* K( */
    for (i = 0; i < sizeof simple / sizeof *simple; i++)
        if (strlen(simple[i]) == length && !memcmp(simple[i], word, length)) return 1;
    if ((length >= 3 && !memcmp(word, "DIV", 3)) || (length > 3 && !memcmp(word + length - 4, "SQRT", 4))) return 8;
    return length == 6 && !memcmp(word, "PHILOX", 6) ? 100 : 24;
}

double lfuse__op_weight(lfuse__op op)
{
    const char *at = lfuse__ops[op].dialect, *word = at;
    double weight = 0;

    for (; *at; at++) {
        if (*at == '(') weight += weight_of_word(word, (size_t)(at - word));
        if (!isalnum((unsigned char)*at)) word = at + 1;
    }
    return weight;
}
