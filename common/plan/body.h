/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body: what one fused kernel computes for one element, as straight-line code over registers. Register i is the
 * result of instruction i.
 *   - Registers hold f32, f64, i32, i64 or bool (a mask).
 *   - Narrow types (lfuse__is_narrow) exist in memory alone: a load of them gives f32, a conversion to them rounds and
 *     leaves f32.
 *   - i8 and u8 are held in i32, and every operation on them wraps its result into their range.
 *   - In a row kernel a register is of the row where it is a REDUCE, a load that walks no reduced axis, a number, or
 *     computed from such alone; the others are of the element.
 *   - What is computed from a REDUCE is in a later sweep over the row than what the REDUCE takes in.
 */
#ifndef COMMON_PLAN_BODY_H
#define COMMON_PLAN_BODY_H

#include <stdbool.h>

#include "common/graph/op.h"
#include "libfuse/types.h"

typedef enum lfuse__instr_kind {
    LFUSE__I_LOAD,    /* an element of operand a; b: the register that holds the index along its gathered axis, or -1 */
    LFUSE__I_NUMBER,  /* number a of those that are given with the launch, which the host rounds to `type` */
    LFUSE__I_CONST,   /* `number`, rounded to `type` */
    LFUSE__I_APPLY,   /* `op` over registers a, b, c */
    LFUSE__I_CONVERT, /* register a, of type `from`, to `type` (which may be narrow, and then rounds) */
    LFUSE__I_REDUCE,  /* lfuse__reduce `op` of register a, whose result has `type`: over the reduced axes; in a step
                         MEMBERS over the elements of each member */
    LFUSE__I_TOTAL    /* the same over all members, in a step MEMBERS */
} lfuse__instr_kind;

typedef struct lfuse__instr {
    uint8_t kind, op;
    uint8_t type; /* of the value; what the register holds is lfuse__register_type(type) */
    uint8_t from; /* CONVERT: type of the argument */
    int16_t a, b, c;
    double number;
} lfuse__instr;

typedef struct lfuse__store {
    int16_t reg;     /* the register that is stored */
    int16_t operand; /* where it is stored */
} lfuse__store;

typedef struct lfuse__body {
    int ninstr, nstores, nnumbers;
    lfuse__instr *instr;
    lfuse__store *stores;
    lfuse_type *number_types; /* [nnumbers] the type that each number is rounded to */
} lfuse__body;

/* Returns the type that a register holds for values of type t. */
static inline lfuse_type lfuse__register_type(lfuse_type t)
{
    return lfuse__is_narrow(t) ? LFUSE_F32 : t == LFUSE_I8 || t == LFUSE_U8 ? LFUSE_I32 : t;
}

/* ---- body.c ---- */

/* Whether both have the same instructions, constants bit by bit, stores and types of numbers. Either may be NULL. */
bool lfuse__body_equal(const lfuse__body *a, const lfuse__body *b);

/* In which sweep of a row kernel a register is computed, and how often it is different. */
typedef struct lfuse__sweep {
    bool element;  /* it has one value for each element of the row; else one for the row */
    int16_t phase; /* the sweep in which a REDUCE is folded or an element computed: the REDUCEs in the longest chain
                      before it */
} lfuse__sweep;

/*
 * Fills sweeps[ninstr]. row[i] says that operand i walks no reduced axis, so that what is loaded or stored there is of
 * the row. Returns how many sweeps over the elements the body takes: one more than the last phase in which anything is
 * reduced or stored element by element; 0 where nothing is. What is of the row may be a phase behind the last sweep.
 */
int lfuse__body_sweeps(const lfuse__body *body, const bool *row, lfuse__sweep *sweeps);

/* Sets registers[] to those that an instruction takes in, and returns how many they are. */
int lfuse__body_arguments(const lfuse__instr *in, int16_t registers[3]);

/*
 * Marks in needed[ninstr] all that the registers marked there are computed from. Where `stop` is not NULL, a register
 * marked in it is taken as given: it is marked, but nothing that it is computed from.
 */
void lfuse__body_needs(const lfuse__body *body, const bool *stop, bool *needed);

/* Marks in loaded[operand] those that register `reg` is computed from; needed[ninstr] as above, all false before. */
void lfuse__body_loads(const lfuse__body *body, int reg, bool *needed, bool *loaded);

/*
 * Copies the instructions marked in `keep` to `out`, in order, which may be `body->instr` itself, and returns how many
 * there are. register_of[ninstr] tells the new register of each, -1: it is left out. Their arguments must be kept too.
 */
int lfuse__body_keep(const lfuse__body *body, const bool *keep, lfuse__instr *out, int16_t *register_of);

#endif
