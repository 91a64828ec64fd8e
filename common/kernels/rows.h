/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the forms of row kernels share. Names in the texts, beside those of emit.h: register i of the row is r<i> from
 * its phase on; REDUCE i gathers in l<i> (ARGMAX, ARGMIN: values in l<i>, indices in n<i>), whose result is a<i> and
 * m<i>. All fold in the canonical order: segments of 1 024 elements from the start of the row; lane c of 128 takes
 * elements c, c + 128 ... in order, absent ones being the identity; lanes fold by c^64 ... c^1 as op(lower, higher);
 * segments fold pairwise by index, an odd one out going up as it is.
 */
#ifndef COMMON_KERNELS_ROWS_H
#define COMMON_KERNELS_ROWS_H

#include "common/kernels/emit.h"
#include "common/kernels/template.h"

enum {
    LFUSE__ROW_LANES = 128,
    LFUSE__ROW_INSTR = 512, /* of the body of a row kernel, at most */
    LFUSE__ROW_DEPTH = 56,  /* of a stack of finished subtrees */
    LFUSE__ROW_VECTOR = 4   /* elements that a work-item of a team takes in a row */
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
 * Sizes, types and rates are checked here; `out` may be NULL. `mapping`: that of the class, or of a kernel of lists
 * that has a row kernel within. ERR_INVALID, ERR_UNSUPPORTED.
 */
lfuse_status lfuse__rows_init(lfuse__rows *r, lfuse__strbuf *out, const lfuse__kernel_class *k,
                              const lfuse__row_mapping *mapping, const lfuse__layout *layout,
                              const lfuse__facts *facts);

/* needed[]: the registers that a sweep takes; loads[]: the element operands among them. */
void lfuse__rows_needs(const lfuse__rows *r, int sweep, bool *needed, bool *loads);
/* Whether REDUCE i is folded in the sweep. */
bool lfuse__rows_reduces(const lfuse__rows *r, int i, int sweep);
bool lfuse__rows_any_reduce(const lfuse__rows *r, int sweep);
/* Element stores all stand in the last sweep: what they overwrite may be read until then. */
bool lfuse__rows_stores(const lfuse__rows *r, int sweep);

/* What REDUCE i gathers in: its value, and for ARGMAX and ARGMIN the index. */
bool lfuse__rows_indexed(const lfuse__rows *r, int i);
const char *lfuse__rows_word(const lfuse__rows *r, int i);
const char *lfuse__rows_identity(const lfuse__rows *r, int i);
/* Of the index of an absent element. */
const char *lfuse__rows_no_index(const lfuse__rows *r);

/* ---- statements ---- */
/* p<j>, and where the tables are that p<j> of a row is looked up in. */
void lfuse__rows_put_operands(const lfuse__rows *r);
/* b<j> of row `row`; bases: and p<j>, k<j> of what is looked up. */
void lfuse__rows_put_offsets(const lfuse__rows *r, int indent);
void lfuse__rows_put_bases(const lfuse__rows *r, int indent);
/* Registers of the row that are known after `phase` sweeps; `after`: all from there on. */
void lfuse__rows_put_phase(const lfuse__rows *r, int indent, int phase, bool after);
/*
 * Element instructions of `needed`, element operand j being x<j>. `place` is the element's number in the row, or that
 * of lane l; `present` tells whether there is one, NULL: there is.
 */
void lfuse__rows_put_elements(const lfuse__rows *r, int indent, const bool *needed, const char *place,
                              const char *present);
/* `to` = fold of `low` and `high`; each names a value as "l%d" and an index as "n%d" behind which `..` stands. */
typedef struct lfuse__lane {
    const char *letter; /* of values, then of indices: "ln" */
    const char *behind; /* "[0]" */
} lfuse__lane;
void lfuse__rows_put_combine(const lfuse__rows *r, int indent, int i, lfuse__lane to, lfuse__lane low,
                             lfuse__lane high);
/* Element e of the row joins lane `to`; `present` is a mask, NULL: all there. `index`: of the element, as L_. */
void lfuse__rows_put_gather(const lfuse__rows *r, int indent, int i, lfuse__lane to, const char *present,
                            const char *index);
/* Declares an array of lanes, or (count NULL) one, as the identity; `type`: 'L' or 'S'. */
void lfuse__rows_put_lanes(const lfuse__rows *r, int indent, int i, const char *letter, const char *count);
/* r<i> from a<i> and m<i>. */
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
/* target = element `place` of operand j of the row. */
void lfuse__rows_put_load(const lfuse__rows *r, int indent, int j, const char *target, const char *place);
void lfuse__rows_put_store(const lfuse__rows *r, int indent, int j, const char *place, const char *value);
void lfuse__rows_put_row_stores(const lfuse__rows *r, int indent);

/* ---- rows_files.c: text/rows_*.k, and list kernels that reduce ---- */
/* The context of places in such a file. */
typedef struct lfuse__rows_file {
    const lfuse__rows *r;
    int sweep;
    const void *form; /* what else its places need */
} lfuse__rows_file;
/* The text with the parameters and places of all of them, and those of its own, which come first (NULL: none). */
void lfuse__rows_put_file(const lfuse__rows_file *f, int indent, const char *text, const lfuse__parameter *own,
                          const lfuse__place *own_places);

/* ---- rows_look_up.c ---- */
void lfuse__rows_find_look_ups(lfuse__rows *r);
/* indices[]: the row loads that the place of near operand j is computed from. */
void lfuse__rows_find_indices(const lfuse__rows *r, int j, bool *indices);
/* A gathered load whose index is not known when the row begins; no operand is loaded for it beforehand. */
bool lfuse__rows_is_far(const lfuse__rows *r, int i);
/* p<j> and k<j> of row `row`; b<j> are there. */
void lfuse__rows_put_look_up(const lfuse__rows *r, int indent, int j);
/* r<i> of a load of the row, looked up or not. */
void lfuse__rows_put_row_load(const lfuse__rows *r, int indent, int i);
/* r<i> of a far load of the element. */
void lfuse__rows_put_look_up_element(const lfuse__rows *r, int indent, int i, const char *place, const char *present);

/* ---- rows_caches.c: of a work-item to which rows come one after the other ---- */
/* r->kept and r->kept_in. */
void lfuse__rows_find_kept(lfuse__rows *r);
/* Where the row behind row `one` is; of the 16 elements from e on, what a sweep asks for. Nothing without r->asks. */
void lfuse__rows_put_next(const lfuse__rows *r, int indent);
void lfuse__rows_put_prefetches(const lfuse__rows *r, int indent, int sweep);

/* ---- forms ---- */
void lfuse__rows_emit_single(lfuse__rows *r, const char *name);       /* TEAM where a team is one work-item */
void lfuse__rows_emit_team(lfuse__rows *r, const char *name);         /* TEAM and GROUP */
void lfuse__rows_emit_item(const lfuse__rows *r, const char *name);   /* ITEM */
void lfuse__rows_emit_fold(const lfuse__rows *r, const char *name);   /* FOLD; the others know PARTIAL */
/*
 * l<i>[0] of segment `seg` of a row: of a team's work-items, 32 of which have `rank`, number seg; of one item, elements
 * seg ... seg + left - 1. length, b<j>, p<j> and the registers of the row are in scope, for teams `vectors` too.
 */
void lfuse__rows_put_team_segment(lfuse__rows *r, int indent);
/* By one item, where `across`: of LANES rows; near<j>, far<j> and count are in scope where there are lanes. */
void lfuse__rows_put_item_segment(const lfuse__rows *r, int indent);
void lfuse__rows_put_single_segment(const lfuse__rows *r, int indent);
/*
 * r<i> of the sweep's REDUCEs over one row of any length, by a group whose memory is declared (`local`), or by one
 * item.
 */
void lfuse__rows_put_team_local(lfuse__rows *r);
void lfuse__rows_put_team_sweep(lfuse__rows *r, int indent, int sweep);
void lfuse__rows_put_single_sweep(const lfuse__rows *r, int indent, int sweep);

/* ---- rows_exchange.c: among the work-items of a team ---- */
/* l<i>`at` = fold with what whoever differs in the bit `mask` of rank has there. */
void lfuse__rows_put_exchange(const lfuse__rows *r, int indent, int i, const char *at, int mask);
/*
 * l<i>[0] of a team's subtree of partial results, `each` a work-item, a power of 2: number `first` (a sum that ends in
 * the work-item) * each is the first of its own, cell `at` holds number `number`, where `there`.
 */
void lfuse__rows_put_subtree(const lfuse__rows *r, int indent, int i, int each, const char *first, const char *at,
                             const char *there);
/*
 * l<i>[0], the same for all: lanes by c^64 ... c^4, those of the `parts` chunks of a work-item and then of the others'
 * (`width` of them), then by c^2 and c^1. Work-item `rank` has lanes 4 rank ... 4 rank + 3 of chunk n in l<i>[4 n] ...
 */
void lfuse__rows_put_team_fold(const lfuse__rows *r, int indent, int i, int width, int parts);

/* rows_item.c: row load i where lanes are rows. */
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
/* holds[noperands]; `chunks` of LFUSE__ROW_VECTOR elements are a work-item's. */
void lfuse__rows_hold(const lfuse__rows *r, int chunks, lfuse__hold *holds);
/* Work-groups of a TEAM kernel that a compute unit has registers for. */
int lfuse__rows_residents(const lfuse__rows *r, int chunks);

/* Segments up to which FOLD has a row of team 0 folded by a work-item. */
enum { LFUSE__FOLD_FEW = 64 };
/* rows_choose.c: work-groups of a launch over so many rows. */
uint64_t lfuse__rows_groups(const lfuse__facts *facts, const lfuse__kernel_class *k, uint64_t rows,
                            uint64_t length);

#endif
