/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan in the making, for common/plan/ alone. Passes fill arrays with one entry a node. When a step turns out too
 * large or an update cannot be stored in place, what must change is noted (`cut`, `indirect`) and the passes run again.
 */
#ifndef COMMON_PLAN_DRAFT_H
#define COMMON_PLAN_DRAFT_H

#include "common/plan/plan.h"

/* What one kernel may hold; larger regions are split. Registers, and words of the argument block, bound it. */
enum {
    LFUSE__BODY_OPERANDS = LFUSE__MAX_BUFFERS - 1, /* the last is for the reports of look-ups */
    LFUSE__BODY_INSTRUCTIONS = 256,
    LFUSE__BODY_NUMBERS = 16,
    LFUSE__BODY_WORDS = 84 /* offsets and strides; numbers and extents have the rest of the argument block */
};

/* A node as a walk over the memory of another node that is no view. */
typedef struct lfuse__view {
    int32_t base;
    int8_t axis[LFUSE_MAX_RANK]; /* of the base, -1: repeats */
} lfuse__view;

typedef struct lfuse__home {
    bool set;
    lfuse__place place;
    int index;
} lfuse__home;

typedef enum lfuse__unit_kind {
    LFUSE__UNIT_REGION,     /* fused pointwise nodes, of tensors or lists */
    LFUSE__UNIT_SUM,
    LFUSE__UNIT_MEMBER_SUM,
    LFUSE__UNIT_PRODUCT,    /* a matmul, with the region behind it where `tail` is not negative */
    LFUSE__UNIT_COPY        /* `node` as seen through views, or the memory `from`, to `to` */
} lfuse__unit_kind;

/* Units run by phase, then by level, then by node. */
typedef enum lfuse__phase {
    LFUSE__PHASE_PREPARE,
    LFUSE__PHASE_EARLY, /* copies of inputs, before anything is updated */
    LFUSE__PHASE_MAIN,
    LFUSE__PHASE_LATE,  /* regions that update inputs and that nobody reads from */
    LFUSE__PHASE_LAST   /* copies into updated inputs */
} lfuse__phase;

typedef struct lfuse__unit {
    lfuse__unit_kind kind;
    lfuse__phase phase;
    int32_t level, node, tail;
    lfuse__home from, to; /* COPY */
} lfuse__unit;

typedef struct lfuse__draft {
    const lfuse_graph *g;
    const lfuse__facts *facts;
    unsigned disable; /* LFUSE_NO_... */

    /* Decisions that outlive a round. */
    bool *cut;        /* [nodes] lies in memory, and nothing is fused behind it */
    bool *indirect;   /* [names] the update goes through other memory and a copy */
    bool changed;     /* another round is needed */

    lfuse__view *views;
    int32_t *list;    /* name of a list that a list value is congruent with, -1 for tensors */
    int32_t *reads;   /* how often computing nodes read the node's memory or value, through views too */
    int32_t *reader;  /* the last of them; -2 - v: copied out through the view v */
    bool *results;    /* must lie in memory at its end: an output as it is, or what an update stores */
    bool *needed;     /* by a matmul, or by the other phase: lies in memory */
    int32_t *target;  /* first name that the node is stored in as it is, directly, -1; then next_target */
    int32_t *next_target; /* [names] */
    bool *outside;    /* read by another unit than the one that computes it */
    bool *prepared;
    bool *inlined;    /* computed inside every kernel that reads it */
    int32_t *level;
    int32_t *region;  /* of pointwise nodes that are not inlined: the lowest node of the region; else -1 */
    int32_t *next;    /* next node of the region, ascending, -1 at the end */
    int32_t *number;  /* index in out->numbers, -1 */
    lfuse__home *home;

    int nunits, unit_capacity;
    lfuse__unit *units;
    lfuse__plan_body *out;
    int buffer_capacity;
} lfuse__draft;

/* ---- draft.c: what the passes share ---- */
static inline const lfuse__node *lfuse__draft_node(const lfuse__draft *d, int32_t i)
{
    return &d->g->nodes[i];
}
/* Pointwise functions and casts of tensors and lists; not functions of numbers. */
bool lfuse__draft_pointwise(const lfuse__draft *d, int32_t node);
/* What needs a kernel or a product: the above, sums, matmuls. */
bool lfuse__draft_computes(const lfuse__draft *d, int32_t node);
/* A number that has been given a type: costs nothing anywhere. */
bool lfuse__draft_immediate(const lfuse__draft *d, int32_t node);
lfuse_status lfuse__draft_unit(lfuse__draft *d, const lfuse__unit *unit);
lfuse_status lfuse__draft_buffer(lfuse__draft *d, int32_t like, lfuse__place place, int *index);
/* Gives the node memory of its own unless it has a home. */
lfuse_status lfuse__draft_house(lfuse__draft *d, int32_t node);
/* Enlarges an array to hold one element more, and clears the new ones. ERR_MEMORY. */
lfuse_status lfuse__draft_grow(void **array, int count, int *capacity, size_t element);

/* ---- views.c ---- */
void lfuse__draft_views(lfuse__draft *d);
/* The operand i of a node: axis[j] of the operand's base that axis j of the node walks. Returns the base. */
int32_t lfuse__draft_operand(const lfuse__draft *d, int32_t node, int i, int8_t *axis);
/* Whether a node whose axes walk those of `base` by `axis` has the same elements at the same indices. */
bool lfuse__draft_same_index(const lfuse__draft *d, int32_t node, int32_t base, const int8_t *axis);
/* Whether each element of `base` is walked at most once. */
bool lfuse__draft_once(const lfuse__draft *d, int32_t node, int32_t base, const int8_t *axis);

/* ---- lists.c ---- */
void lfuse__draft_lists(lfuse__draft *d);

/* ---- numbers.c: numbers that kernels take ---- */
lfuse_status lfuse__draft_number(lfuse__draft *d, int32_t node, int *index);

/* ---- frozen.c: what belongs to the prepare phase; also counts who reads what ---- */
void lfuse__draft_frozen(lfuse__draft *d);
void lfuse__draft_reads(lfuse__draft *d);

/* ---- pointwise.c: which nodes are computed inside others, levels, regions ---- */
void lfuse__draft_inline(lfuse__draft *d);
bool lfuse__draft_fuses(const lfuse__draft *d, int32_t producer, int32_t node, const int8_t *axis);
lfuse_status lfuse__draft_levels(lfuse__draft *d);
lfuse_status lfuse__draft_regions(lfuse__draft *d);
/* plan.c: the units in order of execution */
lfuse_status lfuse__draft_units(lfuse__draft *d);

/* ---- update.c: where results lie; copies ---- */
lfuse_status lfuse__draft_results(lfuse__draft *d);
/* After the steps are made: updates that would change what a later step, or another element, reads become indirect. */
lfuse_status lfuse__draft_check_updates(lfuse__draft *d);
/* Whether the region can run behind all others. */
bool lfuse__draft_late(const lfuse__draft *d, int32_t region);

/* ---- build.c: the body and operands of one step ---- */
typedef struct lfuse__builder lfuse__builder;
lfuse_status lfuse__builder_create(lfuse__draft *d, int32_t region, int rank, const lfuse_size *extents,
                                   lfuse__builder **b);
void lfuse__builder_destroy(lfuse__builder *b);
/* Register of a node, or of its operand, where loop axis i walks axis[i] of the node. */
int lfuse__builder_value(lfuse__builder *b, int32_t node, const int8_t *axis);
/* An operand whose axes are those of the loop. */
int lfuse__builder_load_home(lfuse__builder *b, const lfuse__home *home, int32_t like);
/* The same of memory of another type, which the register then has. */
int lfuse__builder_load_type(lfuse__builder *b, const lfuse__home *home, int32_t like, lfuse_type type);
/* The value of `node`, which is not computed here, is this register. */
void lfuse__builder_given(lfuse__builder *b, int32_t node, int reg);
int lfuse__builder_convert(lfuse__builder *b, int reg, lfuse_type from, lfuse_type to);
/* Stores a register in a home that is `like` a node in type and span; axis may be NULL: those of the loop. */
void lfuse__builder_store(lfuse__builder *b, int reg, const lfuse__home *home, int32_t like, const int8_t *axis);
/* The same in memory of another type, which the register has already. */
void lfuse__builder_store_type(lfuse__builder *b, int reg, const lfuse__home *home, int32_t like, lfuse_type type);
/* True when the step is too large (its contents are then of no use). */
bool lfuse__builder_overflow(const lfuse__builder *b);
/* Moves everything into a step: kind, operands, body, numbers, extents. */
lfuse_status lfuse__builder_finish(lfuse__builder *b, lfuse__step_kind kind, lfuse__step *step);

/* ---- split.c: a step was too large: cuts nodes so that the next round makes smaller ones ---- */
lfuse_status lfuse__draft_split(lfuse__draft *d, int32_t region, const int32_t *roots, int nroots);

/* ---- step makers: each fills one stage of d->out ---- */
lfuse_status lfuse__make_region(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage);  /* pointwise.c */
lfuse_status lfuse__make_copy(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage);    /* pointwise.c */
lfuse_status lfuse__make_sum(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage);     /* rows.c */
lfuse_status lfuse__make_member_sum(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage); /* lists.c */
lfuse_status lfuse__make_product(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage); /* product.c */
/* The region that can join the matmul's stage, or -1. */
int32_t lfuse__product_tail(const lfuse__draft *d, int32_t matmul);
/* A stage of `count` alternatives, each with `steps[i]` empty steps. */
lfuse_status lfuse__stage_create(lfuse__stage *stage, int count, const int *steps);

#endif
