/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the forms of row kernels share.
 *
 * All reduce in the canonical order:
 *   a row         consists of segments of 1 024 elements; their results are folded pairwise by index, and the last one
 *                 of an odd number goes up a level as it is
 *   a segment     has 128 lanes, which are folded by halves: lane c with lane c + 64, then c + 32 ... c + 1, the lower
 *                 one on the left
 *   a lane c      takes elements c, c + 128, c + 256 ... of its segment in this order; absent ones are the identity
 *
 * Names in the texts, besides those of emit.h, for REDUCE i of the body:
 *   r<i>          a register of the row is declared in its phase: before the first sweep, or behind one
 *   l<i>, n<i>    lanes: values and, of ARGMAX and ARGMIN, indices
 *   a<i>, m<i>    the result of the row, and its index
 */
#ifndef COMMON_KERNELS_ROWS_H
#define COMMON_KERNELS_ROWS_H

#include "common/kernels/emit.h"
#include "common/kernels/template.h"

enum {
    LFUSE__ROW_LANES = 128,
    LFUSE__ROW_INSTR = 512, /* instructions of the body of a row kernel, at most */
    LFUSE__ROW_DEPTH = 56,  /* entries of a stack of finished subtrees */
    LFUSE__ROW_VECTOR = 4   /* neighbouring elements that a work-item of a team takes together */
};

/* One row kernel being written. */
typedef struct lfuse__rows {
    lfuse__text t;
    const lfuse__facts *facts;
    lfuse__row_mapping mapping;
    bool row[LFUSE__MAX_OPERANDS];     /* walks no reduced axis */
    int near[LFUSE__MAX_OPERANDS];     /* gathered load that p<j> of the row has in it (k<j>: is there), -1: none */
    int nsweeps;
    lfuse__sweep sweeps[LFUSE__ROW_INSTR];
    bool used[LFUSE__ROW_INSTR];       /* something that is stored depends on it */
    bool of_row[LFUSE__ROW_INSTR];
    bool early[LFUSE__ROW_INSTR];      /* a row load that stands before the loop over rows */
    bool ahead[LFUSE__ROW_INSTR];      /* a row load for look-ups: ahead<i> is its value in the row looked up */
    bool across; /* a lane a row: registers of the row differ from lane to lane */
    int kept, kept_in; /* register that the last sweep finds where it stores to that operand; -1: none */
    bool asks;   /* rows come one after the other, from memory to the caches of a CPU */
} lfuse__rows;

/*
 * Describes a row kernel that is to be appended to `out`, which may be NULL. `mapping` is that of the class, or of the
 * rows within a list kernel. ERR_INVALID, ERR_UNSUPPORTED: texts are written for no such class.
 */
lfuse_status lfuse__rows_init(lfuse__rows *r, lfuse__strbuf *out, const lfuse__kernel_class *k,
                              const lfuse__row_mapping *mapping, const lfuse__layout *layout,
                              const lfuse__facts *facts);

/* Sets needed[ninstr], the registers that a sweep computes, and loads[noperands], what it loads for them. */
void lfuse__rows_needs(const lfuse__rows *r, int sweep, bool *needed, bool *loads);
/* Returns whether instruction i is a REDUCE of the sweep. */
bool lfuse__rows_reduces(const lfuse__rows *r, int i, int sweep);
/* Returns whether the sweep has a REDUCE. */
bool lfuse__rows_any_reduce(const lfuse__rows *r, int sweep);
/* Returns whether the sweep stores elements. The last one does alone: what is overwritten may be read until then. */
bool lfuse__rows_stores(const lfuse__rows *r, int sweep);

/* Returns whether REDUCE i has an index too: ARGMAX, ARGMIN. */
bool lfuse__rows_indexed(const lfuse__rows *r, int i);
/* Returns the type of its lanes. */
const char *lfuse__rows_word(const lfuse__rows *r, int i);
/* Return the value and the index of an absent element. */
const char *lfuse__rows_identity(const lfuse__rows *r, int i);
const char *lfuse__rows_no_index(const lfuse__rows *r);

/* ---- statements: each of these appends what it names ---- */
/* p<j>, and table<j> where p<j> is that of a row which is looked up. */
void lfuse__rows_put_operands(const lfuse__rows *r);
/* b<j> of row `row`; put_bases: also p<j> and k<j> of what is looked up by an index of the row. */
void lfuse__rows_put_offsets(const lfuse__rows *r, int indent);
void lfuse__rows_put_bases(const lfuse__rows *r, int indent);
/* The registers of the row that are known after `phase` sweeps; `after`: and those known later. */
void lfuse__rows_put_phase(const lfuse__rows *r, int indent, int phase, bool after);
/*
 * The instructions of `needed` that are of the element, from x<j>. `place` is the number of the element (of lane l) in
 * the row, `present` an expression of whether there is one (NULL: there is).
 */
void lfuse__rows_put_elements(const lfuse__rows *r, int indent, const bool *needed, const char *place,
                              const char *present);
/* Names lanes of a REDUCE: {"ln", "[0]"} is l<i>[0] and, where it has an index, n<i>[0]. */
typedef struct lfuse__lane {
    const char *letter, *behind;
} lfuse__lane;
/* to = op(low, high). */
void lfuse__rows_put_combine(const lfuse__rows *r, int indent, int i, lfuse__lane to, lfuse__lane low,
                             lfuse__lane high);
/* to = op(to, the element); `present` is a mask (NULL: all are there), `index` the element's number in the row. */
void lfuse__rows_put_gather(const lfuse__rows *r, int indent, int i, lfuse__lane to, const char *present,
                            const char *index);
/* An array of `count` lanes, or one lane (count NULL), which are the identity. */
void lfuse__rows_put_lanes(const lfuse__rows *r, int indent, int i, const char *letter, const char *count);
/* r<i>, from a<i> and m<i>. */
void lfuse__rows_put_result(const lfuse__rows *r, int indent, int i);
/* A sweep by rows_segments.k: `put_segment` fills its place, `count` is the type of a number of elements. */
void lfuse__rows_put_segments(const lfuse__rows *r, int indent, int sweep, const char *count,
                              void (*put_segment)(const void *context, int which, int indent));
/*
 * PARTIAL and FOLD: bytes a segment of what stands before the results of REDUCE i, or before their indices, which come
 * behind the values; of all where i is ninstr.
 */
unsigned lfuse__rows_partial_bytes(const lfuse__rows *r, int i, bool index);
/* `to` from the results of segment `cell`; `guard` (NULL: none): an expression, the identity where it is 0. */
void lfuse__rows_put_fetch(const lfuse__rows *r, int indent, int i, lfuse__lane to, const char *cell,
                           const char *guard);
/* target = element number `place` of operand j of the row; put_store: that element = value. */
void lfuse__rows_put_load(const lfuse__rows *r, int indent, int j, const char *target, const char *place);
void lfuse__rows_put_store(const lfuse__rows *r, int indent, int j, const char *place, const char *value);
/* The stores of what is of the row. */
void lfuse__rows_put_row_stores(const lfuse__rows *r, int indent);
/*
 * Puts what lets no work-item store a value of the row before all that share the row have loaded theirs, where these
 * may lie in the same memory.
 */
void lfuse__rows_put_sync(const lfuse__rows *r, int indent);

/* ---- rows_files.c: text/rows_*.k, and list kernels that reduce ---- */
/* The context of places in such a file. */
typedef struct lfuse__rows_file {
    const lfuse__rows *r;
    int sweep;
    const void *form; /* what else its places need */
} lfuse__rows_file;
/* The text with the parameters and places of all of them, and those of its own, which come first (NULL: none). */
void lfuse__rows_put_file(const lfuse__rows_file *f, int indent, const char *text, const lfuse__parameter *own,
                          const lfuse__text_place *own_places);

/* ---- rows_look_up.c: gathered loads ---- */
/* Sets r->near. */
void lfuse__rows_find_look_ups(lfuse__rows *r);
/* Sets indices[ninstr] for the row loads that the index of near operand j is computed from. */
void lfuse__rows_find_indices(const lfuse__rows *r, int j, bool *indices);
/* Returns whether instruction i is a gathered load whose index is not known when the row begins. */
bool lfuse__rows_is_far(const lfuse__rows *r, int i);
/* Appends p<j> and k<j> of a near operand of row `row`, with b<j> in scope. */
void lfuse__rows_put_look_up(const lfuse__rows *r, int indent, int j);
/* Appends r<i> of a load of the row, gathered or not. */
void lfuse__rows_put_row_load(const lfuse__rows *r, int indent, int i);
/* Appends r<i> of a gathered load of the element; `place`, `present`: as lfuse__rows_put_elements has them. */
void lfuse__rows_put_look_up_element(const lfuse__rows *r, int indent, int i, const char *place, const char *present);

/* ---- rows_caches.c: what a CPU, whose work-items have one row after the other, leaves to its caches ---- */
/* Sets r->kept and r->kept_in. */
void lfuse__rows_find_kept(lfuse__rows *r);
/* Append where the row behind row `one` is, and prefetches of the 16 elements from e on. Nothing without r->asks. */
void lfuse__rows_put_next(const lfuse__rows *r, int indent);
void lfuse__rows_put_prefetches(const lfuse__rows *r, int indent, int sweep);

/* ---- the forms: each appends a kernel ---- */
void lfuse__rows_emit_single(lfuse__rows *r, const char *name);       /* TEAM where a team is one work-item */
void lfuse__rows_emit_team(lfuse__rows *r, const char *name);         /* TEAM and GROUP */
void lfuse__rows_emit_item(const lfuse__rows *r, const char *name);   /* ITEM */
void lfuse__rows_emit_fold(const lfuse__rows *r, const char *name);   /* FOLD; the others know PARTIAL */
/*
 * Append l<i>[0] of one segment, for list kernels. A team reduces segment number `seg`; a work-item the `left` elements
 * from number `seg` on. `length`, b<j>, p<j> and the registers of the row are in scope, for teams `vectors` too.
 */
void lfuse__rows_put_team_segment(lfuse__rows *r, int indent);
/* By one item, where `across`: of LANES rows; near<j>, far<j> and count are in scope where there are lanes. */
void lfuse__rows_put_item_segment(const lfuse__rows *r, int indent);
void lfuse__rows_put_single_segment(const lfuse__rows *r, int indent);
/*
 * Append r<i> of the REDUCEs of a sweep over one row: by a group, whose local memory put_team_local declares, or by a
 * work-item.
 */
void lfuse__rows_put_team_local(lfuse__rows *r);
void lfuse__rows_put_team_sweep(lfuse__rows *r, int indent, int sweep);
void lfuse__rows_put_single_sweep(const lfuse__rows *r, int indent, int sweep);

/* ---- rows_exchange.c: folds among the work-items of a team, `rank` being their number; each appends a fold ---- */
/* l<i>`at` with what the work-item has there whose rank differs in the bits of `mask`. */
void lfuse__rows_put_exchange(const lfuse__rows *r, int indent, int i, const char *at, int mask);
/*
 * l<i>[0] of 32 * each neighbouring partial results, `each` of them (a power of 2) by a work-item, whose first one is
 * number first * each. `at` is the cell of number `number`, `there` whether there is one: expressions.
 */
void lfuse__rows_put_subtree(const lfuse__rows *r, int indent, int i, int each, const char *first, const char *at,
                             const char *there);
/*
 * l<i>[0] of all 128 lanes, for every work-item of a team of `width`. Work-item `rank` has lanes 4 rank ... 4 rank + 3
 * of chunk n, of `parts` chunks, in l<i>[4 n] ... l<i>[4 n + 3].
 */
void lfuse__rows_put_team_fold(const lfuse__rows *r, int indent, int i, int width, int parts);

/* rows_item.c: appends row load i where each lane has a row. */
void lfuse__rows_put_across_load(const lfuse__rows *r, int indent, int i);

/* ---- rows_hold.c: registers of teams ---- */
/* Where the elements of an operand wait. */
typedef enum lfuse__hold {
    LFUSE__HOLD_NONE,
    LFUSE__HOLD_FIXED, /* the same for all rows: loaded once */
    LFUSE__HOLD_NEXT,  /* loaded while the row before is computed */
    LFUSE__HOLD_TOP,   /* loaded when the row begins */
    LFUSE__HOLD_AHEAD, /* a chunk is loaded while the one before it is computed, the first before the last fold */
    LFUSE__HOLD_LATE   /* loaded where they are used */
} lfuse__hold;
/* Sets holds[noperands]. A work-item has `chunks` chunks of LFUSE__ROW_VECTOR elements. */
void lfuse__rows_hold(const lfuse__rows *r, int chunks, lfuse__hold *holds);
/* Returns how many work-groups of a TEAM kernel a compute unit has registers for. */
int lfuse__rows_residents(const lfuse__rows *r, int chunks);

/* Segments up to which FOLD has a row of team 0 folded by a work-item. */
enum { LFUSE__FOLD_FEW = 64 };
/* rows_choose.c: returns how many work-groups a launch over `rows` rows of `length` elements has. */
uint64_t lfuse__rows_groups(const lfuse__facts *facts, const lfuse__kernel_class *k, uint64_t rows,
                            uint64_t length);

#endif
