/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body: what one fused kernel computes for one element, as straight-line code over registers. Register i is the
 * result of instruction i. In a row kernel a register belongs to the row when it is a REDUCE, a load that walks no
 * reduced axis, a number, or computed from such alone; the others belong to the element. What is computed of a REDUCE
 * lies in a later phase (sweep over the row) than what the REDUCE takes in. Registers hold f32, f64, i32, i64 or bool
 * (a mask); f16 and bf16 exist in memory alone, so a load of them gives f32, and a conversion to them rounds but leaves
 * f32 in the register. i8 and u8 live in i32 registers, which every operation on them wraps back into their range.
 */
#ifndef COMMON_PLAN_BODY_H
#define COMMON_PLAN_BODY_H

#include <stdbool.h>

#include "common/graph/op.h"
#include "libfuse/types.h"

typedef enum lfuse__instr_kind {
    LFUSE__I_LOAD,    /* element of operand a; b: the register that holds the index along its gathered axis, or -1 */
    LFUSE__I_NUMBER,  /* number slot a: given with the launch, rounded to `type` by the host */
    LFUSE__I_CONST,   /* `number`, rounded to `type` */
    LFUSE__I_APPLY,   /* `op` over registers a, b, c */
    LFUSE__I_CONVERT, /* register a, of type `from`, to `type` (which may be f16 or bf16, and then rounds) */
    LFUSE__I_REDUCE,  /* ROWS: lfuse__reduce `op` of register a over the reduced axes; `type`: of the result. MEMBERS:
                         over the elements of each member */
    LFUSE__I_TOTAL    /* MEMBERS: the same over all members */
} lfuse__instr_kind;

typedef struct lfuse__instr {
    uint8_t kind, op;
    uint8_t type; /* of the value; what the register holds is lfuse__register_type(type) */
    uint8_t from; /* CONVERT: type of the argument */
    int16_t a, b, c;
    double number;
} lfuse__instr;

typedef struct lfuse__store {
    int16_t reg;     /* what is stored */
    int16_t operand; /* where to */
} lfuse__store;

typedef struct lfuse__body {
    int ninstr, nstores, nnumbers;
    lfuse__instr *instr;
    lfuse__store *stores;
    lfuse_type *number_types; /* [nnumbers] what each number is rounded to */
} lfuse__body;

static inline lfuse_type lfuse__register_type(lfuse_type t)
{
    return t == LFUSE_F16 || t == LFUSE_BF16 ? LFUSE_F32 : t == LFUSE_I8 || t == LFUSE_U8 ? LFUSE_I32 : t;
}

/* ---- body.c ---- */

/* Whether both compute the same, instruction by instruction; constants by their bits. Either may be NULL. */
bool lfuse__body_equal(const lfuse__body *a, const lfuse__body *b);

/* What a row kernel does when. */

/* When a register's value is there, and how often it is different. */
typedef struct lfuse__sweep {
    bool element; /* one value for each element of the row; else one for the row */
    int16_t phase; /* REDUCEs in the longest chain before it: in that sweep a REDUCE is folded, an element computed */
} lfuse__sweep;

/*
 * Fills sweeps[ninstr]. row[i]: operand i walks no reduced axis, so that what is loaded or stored there is of the row.
 * Returns the sweeps over the elements that the body takes: one more than the last phase in which anything is reduced
 * or stored element by element; 0 when nothing is. What is of the row may lie a phase behind the last sweep.
 */
int lfuse__body_sweeps(const lfuse__body *body, const bool *row, lfuse__sweep *sweeps);

/* The registers that an instruction takes in; returns how many (REDUCE and a gathered LOAD: one). */
int lfuse__body_arguments(const lfuse__instr *in, int16_t registers[3]);

/*
 * needed[ninstr]: adds what the registers marked there are computed from. Where `stop` is not NULL, a register marked
 * in it is taken as given: it is added, but nothing that it is computed from.
 */
void lfuse__body_needs(const lfuse__body *body, const bool *stop, bool *needed);

/* loaded[operand]: adds those that register `reg` is made of; needed[ninstr] as above, none marked before. */
void lfuse__body_loads(const lfuse__body *body, int reg, bool *needed, bool *loaded);

/*
 * Copies the instructions marked in `keep` to `out`, in order, which may be `body->instr` itself, and returns how many
 * there are. register_of[ninstr] tells the new register of each, -1: it is left out. Their arguments must be kept too.
 */
int lfuse__body_keep(const lfuse__body *body, const bool *keep, lfuse__instr *out, int16_t *register_of);

#endif
