/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan in the making, for common/plan/ alone. Passes (passes.h) fill in what is known of each node of the graph, then
 * make the plan's stages. Where a step turns out too large, or an update cannot be stored in place, a pass notes what
 * must change (`cut`, `indirect` and the other decisions), sets `changed`, and another round of passes begins.
 *
 * A function of type bool answers whether what its comment says is so. Functions of type lfuse_status return ERR_MEMORY
 * where there is no memory, or what their comment says.
 */
#ifndef COMMON_PLAN_DRAFT_H
#define COMMON_PLAN_DRAFT_H

#include "common/base/arena.h"
#include "common/plan/passes.h"
#include "common/plan/plan.h"

/* What one kernel may hold, which registers and the words of its arguments bound; larger regions are split. */
enum {
    LFUSE__BODY_OPERANDS = LFUSE__MAX_BUFFERS - 1, /* one buffer more takes the reports of look-ups */
    LFUSE__BODY_INSTRUCTIONS = 256,
    LFUSE__BODY_NUMBERS = 16,
    LFUSE__BODY_WORDS = 84 /* words of offsets and strides; numbers and extents have the rest of the arguments */
};

/*
 * How a walker goes over the memory of the node `base`, which is no view. The walker is a view of it, a node that reads
 * it as an operand, or the loop of a kernel. The element at index i of the walker is that at offset + step * i of the
 * base, axis by axis. Entries beyond `rank`, and steps of axes along which the walker repeats, are 0, so that equal
 * walks are equal byte for byte.
 */
typedef struct lfuse__view {
    int32_t base;
    int8_t rank;                 /* of the base's shape; 0 for lists */
    int8_t gathered;             /* the axis of the base along which indices are looked up; -1: none */
    int8_t axis[LFUSE_MAX_RANK]; /* [axis of the walker] the axis of the base that it goes along; -1: it repeats */
    lfuse_size shape[LFUSE_MAX_RANK], offset[LFUSE_MAX_RANK]; /* [axis of the base] */
    lfuse_size step[LFUSE_MAX_RANK];                          /* [axis of the walker] */
} lfuse__view;

/* The loop that could compute a node; nodes with equal loops can share a kernel. signature.c */
typedef struct lfuse__signature {
    int32_t root; /* the reduction or scan whose operand's shape the loop has; -1: the loop has the node's own shape */
    bool row;     /* the node has one element for each row of the loop, else one for each element */
    int8_t frame[LFUSE_MAX_RANK]; /* [axis of the node] the axis of the loop; -1: the axis has one element */
} lfuse__signature;

/* The loop of a kernel as it is run: first the axes that are kept, then those that are reduced. */
typedef struct lfuse__unit_loop {
    int rank, naxes;             /* how many axes it has, and how many of them are reduced */
    int8_t axis[LFUSE_MAX_RANK]; /* [axis of the loop] the axis of the signature's loop */
    lfuse_size extents[LFUSE_MAX_RANK];
} lfuse__unit_loop;

/* Where a node's value is stored. */
typedef struct lfuse__home {
    bool set; /* it is stored */
    lfuse__place place;
    int index;        /* of the name or buffer */
    bool sliced;      /* it is a slice of that memory */
    lfuse__view view; /* of a slice: how the node's axes go over the memory; its base is unused */
} lfuse__home;

typedef enum lfuse__unit_kind {
    LFUSE__UNIT_REGION,     /* pointwise nodes and reductions, of tensors or lists, that one kernel computes */
    LFUSE__UNIT_PRODUCT,    /* a matmul, and the region behind it where `tail` is not negative */
    LFUSE__UNIT_SCATTER,    /* a scatter_add */
    LFUSE__UNIT_COPY        /* a copy of the value `node`, or of the memory `from` where that is set, to `to` */
} lfuse__unit_kind;

/* Units run by phase, then by level, then by node. */
typedef enum lfuse__phase {
    LFUSE__PHASE_PREPARE, /* what depends on frozen inputs alone: once an instance */
    LFUSE__PHASE_EARLY,   /* copies of inputs, before anything is updated */
    LFUSE__PHASE_MAIN,
    LFUSE__PHASE_LATE,    /* regions that update inputs and whose results nobody reads */
    LFUSE__PHASE_LAST     /* copies into updated inputs */
} lfuse__phase;

/* A piece of work that becomes one stage of the plan. */
typedef struct lfuse__unit {
    lfuse__unit_kind kind;
    lfuse__phase phase;
    int32_t level;        /* at least so many units run before it, one after the other */
    int32_t node;         /* the lowest node of a region; else the matmul, the scatter_add, the value that is copied */
    int32_t tail;         /* PRODUCT: the lowest node of the region that the unit computes too; -1: none */
    lfuse__home from, to; /* COPY */
} lfuse__unit;

/* In a step that reduces lists: how often a node is computed. members.c */
typedef enum lfuse__list_scope {
    LFUSE__SCOPE_NONE,    /* in no such step, or inlined there */
    LFUSE__SCOPE_ELEMENT, /* for each element of a member, and read by reductions of members alone */
    LFUSE__SCOPE_MEMBER,  /* once a member: reductions of members, and functions of those */
    LFUSE__SCOPE_LIST     /* once a list: reductions of lists of numbers, and functions of those */
} lfuse__list_scope;

/* Elements that a compute unit of a GPU works on at a time. Steps of fewer leave a part of the device without work. */
enum { LFUSE__WAVE = 2048 };
/*
 * Products share a launch with small steps where they have at most so many times LFUSE__WAVE elements for each compute
 * unit. The code of the small steps takes registers from the products, which costs larger ones more than a launch.
 */
enum { LFUSE__SHARED_WAVES = 4 };

/* What is known of a node of the graph. */
typedef struct lfuse__planned_node {
    /* Decisions, which hold for all rounds that follow. */
    bool cut;          /* its value is stored, and nothing that reads it is fused with it */
    bool copied_view;  /* it is a view that a kernel copies */
    bool no_siblings;  /* it is not fused with others that read the same memory: together they were too large */
    bool recomputed;   /* each kernel that reads it computes it (rematerialization): reuse.c */
    bool late;         /* of a sum: its region runs behind all else, whatever it stores: late_sums.c */
    /* What the passes of one round find out. */
    bool reshaped;     /* a node reads its memory in another shape */
    bool is_result;    /* its value is stored at the end: an output, or what an update stores */
    bool needs_memory; /* its value is stored, because a matmul, a scatter_add or another phase reads it */
    bool read_elsewhere; /* another unit than the one that computes it reads it */
    bool prepared;     /* it belongs to the prepare phase */
    bool inlined;      /* every kernel that reads it computes it, at no cost worth counting */
    bool grouped;      /* the region whose lowest node it is holds siblings */
    bool together;     /* of a matmul: it runs late and may share a launch: together.c */
    int8_t levels;     /* of a matmul: levels of Strassen's algorithm; 0: it is multiplied in another way */
    int8_t factor_levels; /* levels for which its left factors are made */
    lfuse__list_scope scope;
    int32_t list;      /* the list that has the sizes of this list value; -1: it is a tensor */
    int32_t congruence; /* of nodes with a scope: nodes of equal congruence can be computed by one step */
    int32_t reads;     /* how many operands of computing nodes are this value or views of it */
    int32_t reader;    /* the last of these nodes; -2 - v: it is copied to an output through the view v; -1: none */
    int32_t target;    /* the first name whose tensor the kernel stores it in, then the name's next_target; -1: none */
    int32_t level;     /* of its unit */
    int32_t ready;     /* of a recomputed node: the lowest level at which it can be computed */
    int32_t region;    /* the lowest node of its region; -1: it is inlined, or neither pointwise nor a reduction */
    int32_t next;      /* the next node of the region, in ascending order; -1: it is the last */
    int32_t number;    /* its index in out->numbers; -1: none */
    int32_t next_product; /* of a matmul: the node, computed from it, whose left factors its step makes too; -1: none */
    int32_t factors;   /* the buffer of its left factors, once a step makes them; -1: none */
    lfuse__signature signature;
} lfuse__planned_node;

/*
 * Where a node is stored and how it is walked. It is apart from lfuse__planned_node because passes go through that one
 * more often.
 */
typedef struct lfuse__planned_memory {
    lfuse__view view; /* of a view: how the node walks its base; of any other node the identity */
    lfuse__view at;   /* of a node that is inlined in one kernel: how that kernel's loop walks it */
    lfuse__home home;
    lfuse__home wide; /* f32 scratch of a value of a narrow type that another kernel reads before it is rounded */
} lfuse__planned_memory;

typedef struct lfuse__planned_name {
    bool indirect;       /* a decision: the update goes through other memory and a copy */
    int32_t next_target; /* the next name that its node is stored in; -1 */
} lfuse__planned_name;

typedef struct lfuse__builder lfuse__builder;

struct lfuse__draft {
    const lfuse_graph *g;
    const lfuse__facts *facts;
    const lfuse__matmul_advice *advice;
    unsigned disable; /* LFUSE_NO_... */
    lfuse_provider provider;
    bool both; /* products get alternatives of both providers, among which measurement or wisdom chooses */
    lfuse_strassen strassen;
    lfuse_precision precision; /* of products with FULL: FULL or one that splits */

    lfuse__planned_node *nodes;     /* [nodes] */
    lfuse__planned_memory *memory;  /* [nodes] */
    lfuse__planned_name *names;     /* [names] */
    bool any_recomputed;            /* some node is recomputed */
    bool recompute_decided;         /* which nodes are recomputed has been chosen */
    bool changed;                   /* another round is needed */
    int most_levels;                /* the most levels of Strassen's algorithm of a matmul; memory is padded for them */
    bool wide_rows;                 /* rows of left operands are padded as columns are, as some are stored transposed */
    bool narrow_factors;            /* some factors have elements of two bytes, of which 16 bytes hold twice as many */

    lfuse__arena arena;             /* what lives as long as the draft */
    lfuse__arena round;             /* what lives as long as a round; that of the last round lives to the end */
    int nunits, unit_capacity;
    lfuse__unit *units;
    lfuse__builder *builder;        /* NULL until a step is built */
    lfuse__plan_body *out;
    int buffer_capacity;
};

/* Returns how many operands a kernel over a loop of so many axes has room for. */
static inline int lfuse__most_operands(int rank)
{
    const int most = LFUSE__BODY_WORDS / (rank + 1);

    return most < LFUSE__BODY_OPERANDS ? most : LFUSE__BODY_OPERANDS;
}
/* Returns the lowest element of the set that i is in. parent[] is a lower element of the same set, or the element. */
static inline int32_t lfuse__set_of(int32_t *parent, int32_t i)
{
    while (parent[i] != i) i = parent[i] = parent[parent[i]];
    return i;
}

/* ---- draft.c: what the passes share ---- */
static inline const lfuse__node *lfuse__draft_node(const lfuse__draft *d, int32_t i)
{
    return &d->g->nodes[i];
}
/* Returns the value that operand i of a node is a view of, or itself. */
static inline int32_t lfuse__draft_base(const lfuse__draft *d, int32_t node, int i)
{
    return d->memory[d->g->nodes[node].in[i]].view.base;
}
/* The node is a pointwise function, cast or look-up of tensors or lists, or a copied view, and has a type. */
bool lfuse__draft_pointwise(const lfuse__draft *d, int32_t node);
/*
 * Returns the kind of step that computes a node along the rows of its operand, a root of signatures; STEP_KINDS: the
 * node is no root.
 */
lfuse__step_kind lfuse__draft_root_step(const lfuse__draft *d, int32_t node);
static inline bool lfuse__draft_is_root(const lfuse__draft *d, int32_t node)
{
    return lfuse__draft_root_step(d, node) != LFUSE__STEP_KINDS;
}
/* A kernel or a product computes the node: all but inputs, numbers, indices, members' sizes and views. */
bool lfuse__draft_computes(const lfuse__draft *d, int32_t node);
/* Returns the lowest level at which another kernel than the one that computes a value can read it. */
static inline int32_t lfuse__draft_ready(const lfuse__draft *d, int32_t node)
{
    return d->nodes[node].level + (lfuse__draft_computes(d, node) && !d->nodes[node].inlined);
}
/* The node is a number that has been given a type, which every kernel can have as an argument. */
bool lfuse__draft_immediate(const lfuse__draft *d, int32_t node);
/* Returns what an operand that is such a node has an element for. */
lfuse__span lfuse__draft_span(const lfuse__node *n);
/* lists.c: returns the rank of a list's members. */
int lfuse__draft_list_rank(const lfuse__draft *d, int list);
/* lists.c: returns that of two lists (-1: none) which says more of the members' sizes; a where both say as much. */
int lfuse__draft_better_list(const lfuse__draft *d, int a, int b);
/* The node is a function of lists some of which repeat in its result; list kernels alone read those, from memory. */
bool lfuse__draft_repeats(const lfuse__draft *d, int32_t node);
/* Returns how many elements the device works on at a time. */
static inline int64_t lfuse__draft_wave(const lfuse__draft *d)
{
    return (int64_t)LFUSE__WAVE * (d->facts->info.compute_units ? d->facts->info.compute_units : 1);
}
/* Appends a copy of the unit to the draft's. */
lfuse_status lfuse__draft_unit(lfuse__draft *d, const lfuse__unit *unit);
/* Appends a buffer of the node's type and shape to the plan's; *index is set to its index. */
lfuse_status lfuse__draft_buffer(lfuse__draft *d, int32_t like, lfuse__place place, int *index);
/* Gives the node a buffer for a home, unless it has one. */
lfuse_status lfuse__draft_give_memory(lfuse__draft *d, int32_t node);
/* Does so for a value that a copy reads, unless the copy computes it, or nobody does. */
lfuse_status lfuse__draft_give_memory_to_copied(lfuse__draft *d, int32_t node);
/*
 * The node is of a narrow type and its value may be any f32. Functions are rounded where they are stored as a result,
 * cast or read by a product, and nowhere else, so that the bits do not depend on what is fused. Other kernels read such
 * a value in f32, from the buffer that lfuse__draft_give_wide_memory gives it.
 */
bool lfuse__draft_unrounded(const lfuse__draft *d, int32_t node);
lfuse_status lfuse__draft_give_wide_memory(lfuse__draft *d, int32_t node);
/* The kernel that computes the node stores it. */
static inline bool lfuse__draft_stored(const lfuse__draft *d, int32_t node)
{
    return d->memory[node].home.set || d->memory[node].wide.set;
}

/* ---- sizes.c: arithmetic of extents, offsets and steps, which may be negative ---- */
/* Return a sum or product, which joins the graph's sizes where it is new; 0 without room, and the graph is poisoned. */
lfuse_size lfuse__size_sum(lfuse_graph *g, lfuse_size a, lfuse_size b);
lfuse_size lfuse__size_product(lfuse_graph *g, lfuse_size a, lfuse_size b);
/* Returns s / by, rounded up; s is not negative, and by is positive. */
lfuse_size lfuse__size_pieces(lfuse_graph *g, lfuse_size s, int64_t by);
/* It is certain that both have the same value, whatever the variables are. */
bool lfuse__size_same(const lfuse_graph *g, lfuse_size a, lfuse_size b);
/* A product of a number and of symbolic sizes that are no products themselves, in ascending order. */
enum { LFUSE__MOST_FACTORS = 16 };
typedef struct lfuse__factors {
    bool known; /* false: there are too many factors, or the number is too large; such a product is equal to nothing */
    int64_t number;
    int count;
    lfuse_size factor[LFUSE__MOST_FACTORS];
} lfuse__factors;
/* Sets *f to the factors of a size. */
void lfuse__factors_of(const lfuse_graph *g, lfuse_size s, lfuse__factors *f);
/* Multiplies *f by a size. */
void lfuse__factors_times(const lfuse_graph *g, lfuse__factors *f, lfuse_size s);
bool lfuse__factors_equal(const lfuse__factors *a, const lfuse__factors *b);
/* b is a multiple of a. */
bool lfuse__factors_divide(const lfuse__factors *a, const lfuse__factors *b);

/* ---- walk.c: affine walks ---- */
/*
 * Two shapes differ in axes of one element at most. match[axis of a] is set to the axis of b that it is; -1 for an axis
 * of one element, and behind the last.
 */
bool lfuse__match_axes(int rank_a, const lfuse_size *a, int rank_b, const lfuse_size *b, int8_t match[LFUSE_MAX_RANK]);
/* Axes from ... from_end - 1 of an old shape and to ... to_end - 1 of a new one, which have as many elements. */
typedef struct lfuse__group {
    int from, from_end, to, to_end;
} lfuse__group;
/*
 * Sets *at, which is all zero at first, to the group behind it. Axes of one element may be in no group. False where the
 * shapes have no such groups.
 */
bool lfuse__group_next(const lfuse_graph *g, int from_rank, const lfuse_size *from, int to_rank, const lfuse_size *to,
                       lfuse__group *at);
/* Sets *v to the walk of a node over itself. */
void lfuse__view_identity(const lfuse__draft *d, int32_t node, lfuse__view *v);
bool lfuse__view_equal(const lfuse__view *a, const lfuse__view *b);
/*
 * Composes two walks: a walker goes over the node `through` by `outer`, whose shape may be another one of as many
 * elements, and `through` over its base by `inner`. Sets *out to how the walker goes over the base; false where that is
 * not affine.
 */
bool lfuse__view_compose(const lfuse__draft *d, const lfuse__view *outer, int32_t through, const lfuse__view *inner,
                         lfuse__view *out);
/* Sets *out to the walk v, of a walker of the shape of the node `from`, of one of the shape of `to`; false as above. */
bool lfuse__view_reshape(const lfuse__draft *d, const lfuse__view *v, int32_t from, int32_t to, lfuse__view *out);
/* The elements of `node`, which walks its base by v, are all those of the base, in order. */
bool lfuse__view_linear(const lfuse__draft *d, int32_t node, const lfuse__view *v);

/* ---- views.c: how nodes walk their operands ---- */
/* Two shapes differ in axes of one element at most. */
static inline bool lfuse__draft_alike(const lfuse__node *a, const lfuse__node *b)
{
    int8_t match[LFUSE_MAX_RANK];

    return lfuse__match_axes(a->rank, a->shape, b->rank, b->shape, match);
}
/* The node has a kernel of its own, from memory to memory, because the pass that would fuse it is switched off. */
bool lfuse__draft_alone(const lfuse__draft *d, int32_t node);
/*
 * Returns the base of operand i of a node, and sets *walk to how the node's axes walk it. The walkers are the operand's
 * own axes where the node is a reduction, MATMUL, SCATTER_ADD or CONCAT.
 */
int32_t lfuse__draft_operand(const lfuse__draft *d, int32_t node, int i, lfuse__view *walk);
/* A node that walks its operand's base so has the base's shape, and reads at each index the element of that index. */
bool lfuse__draft_same_index(const lfuse__draft *d, int32_t node, const lfuse__view *walk);
/* Each element of the base is walked at most once. */
bool lfuse__draft_once(const lfuse__draft *d, int32_t node, const lfuse__view *walk);
/* A kernel whose loop walks the node so can compute it: its operands are walked in an affine way then. */
bool lfuse__draft_reaches(const lfuse__draft *d, int32_t node, const lfuse__view *walk);

/* ---- members.c: which nodes are computed in steps that reduce lists, and which of those share one ---- */
/* The node reduces a list: its members, all of it, or the rows or columns of its members. */
static inline bool lfuse__draft_reduces_list(const lfuse__draft *d, int32_t node)
{
    return d->g->nodes[node].kind == LFUSE__MEMBER_REDUCE || d->g->nodes[node].kind == LFUSE__LIST_REDUCE ||
           d->g->nodes[node].kind == LFUSE__LINE_REDUCE;
}
/* A step that reduces lists can compute both a node and its operand `producer`, where they are on one level. */
bool lfuse__draft_scopes_fuse(const lfuse__draft *d, int32_t producer, int32_t node);
/* Returns what the region's reductions of members run over; MEMBERS: it has none. */
lfuse__span lfuse__draft_members_span(const lfuse__draft *d, int32_t region);
/* Joins, in the sets `parent`, the regions of reductions of congruent lists that are on one level. */
lfuse_status lfuse__draft_join_members(lfuse__draft *d, int32_t *parent);
/* Returns the list whose members the region's step goes over. */
int32_t lfuse__draft_members_list(const lfuse__draft *d, int32_t region);

/* ---- numbers.c: numbers that kernels take ---- */
/* Sets *index to the index of a number node in the plan's numbers, which it joins. */
lfuse_status lfuse__draft_number(lfuse__draft *d, int32_t node, int *index);

/* ---- reuse.c: whether a value that several kernels read is stored, or recomputed by each of them ---- */
/* What one element of the value costs, in bytes of memory traffic and in simple operations. */
typedef struct lfuse__reuse {
    double bytes;      /* of the element as it is stored */
    int kernels;       /* how many kernels read it, without the one that computes it */
    bool alone;        /* the kernel that computes it is there for nothing else */
    double loads;      /* bytes that this kernel loads to compute it */
    double more;       /* bytes that the other kernels together would load in addition to compute it */
    double operations; /* to compute it once */
} lfuse__reuse;
/* To recompute the value costs less than to store it. */
bool lfuse__reuse_recomputes(const lfuse__facts *facts, const lfuse__reuse *r);

/* ---- signature.c: which nodes one kernel can hold ---- */
/* Gives a node the loop of its own shape. */
void lfuse__draft_sign_own(lfuse__draft *d, int32_t node);
/* One kernel computes a node and its operand `producer`, which it reads by `walk`, where they are on one level. */
bool lfuse__draft_fuses(const lfuse__draft *d, int32_t producer, int32_t node, const lfuse__view *walk);
/* Sets *loop to the loop of the unit that the node is in. */
void lfuse__draft_loop(const lfuse__draft *d, int32_t node, lfuse__unit_loop *loop);
/* Sets *walk to how that loop walks the node. */
void lfuse__draft_frame(const lfuse__draft *d, int32_t node, const lfuse__unit_loop *loop, lfuse__view *walk);
/* Sets *walk to how that loop walks the operand of the node, a reduction or scan. */
void lfuse__draft_reduced(const lfuse__draft *d, int32_t node, const lfuse__unit_loop *loop, lfuse__view *walk);

/* ---- siblings.c ---- */
/* Joins, in the sets `parent`, regions that read the same memory. A region is a set. */
lfuse_status lfuse__draft_siblings(lfuse__draft *d, int32_t *parent);

/* ---- concat.c ---- */
/* Sets where concatenations and their pieces lie; outputs have their homes already. */
lfuse_status lfuse__draft_concats(lfuse__draft *d);
/* It is certain that the kernel which computes the base stores it in the concatenation, so both have one level. */
bool lfuse__draft_is_piece(const lfuse__draft *d, int32_t base, int32_t concat);

/* ---- update.c ---- */
/* The region can run behind all others: it updates something, and nobody reads its values. */
bool lfuse__draft_late(const lfuse__draft *d, int32_t region);

/* ---- network_kinds.c ---- */
/*
 * Appends a layer to a network, which owns it then and whose children have room. *joined is set to false, and nothing
 * done, where the layer's epilogue would be one too many.
 */
lfuse_status lfuse__network_join(lfuse__step *network, lfuse__step *layer, bool *joined);

/* ---- build.c: the body and operands of one step ---- */
/*
 * Begins a step that computes the nodes of `region` (-1: none), by a loop of these extents, which are not copied. The
 * draft has one builder, which is the step's until the next one is begun.
 */
lfuse_status lfuse__builder_begin(lfuse__draft *d, int32_t region, int rank, const lfuse_size *extents,
                                  lfuse__builder **b);
/* The loop is that of a unit: nodes of the region are walked as their frames say, and reductions run over its axes. */
void lfuse__builder_loop(lfuse__builder *b, const lfuse__unit_loop *loop);
/*
 * Returns the register of a node, which the loop walks by `walk`; NULL: the loop's axes are those of the node. Nodes of
 * the region, and those that are inlined or recomputed, are computed, others loaded. Registers are of no use after an
 * overflow.
 */
int lfuse__builder_value(lfuse__builder *b, int32_t node, const lfuse__view *walk);
/* Returns a register with what a home holds that is as large as the node `like`; the loop's axes are the node's. */
int lfuse__builder_load_home(lfuse__builder *b, const lfuse__home *home, int32_t like);
/* Does so where the home holds another type than the node's; the register has that type. */
int lfuse__builder_load_type(lfuse__builder *b, const lfuse__home *home, int32_t like, lfuse_type type);
/* Says that the register holds the value of `node`, whose axes are the loop's and which is not computed here. */
void lfuse__builder_given(lfuse__builder *b, int32_t node, int reg);
/* Makes the sum of a matmul, of f32 or f64, the first operand. Returns its register, which is the matmul's value. */
int lfuse__builder_sum(lfuse__builder *b, int32_t matmul);
/* Returns a register with the value of another one in the type `to`. */
int lfuse__builder_convert(lfuse__builder *b, int reg, lfuse_type from, lfuse_type to);
/* Stores a register in a home that has the type and span of the node `like`, which the loop walks so; NULL as above. */
void lfuse__builder_store(lfuse__builder *b, int reg, const lfuse__home *home, int32_t like, const lfuse__view *walk);
/* Does so in a home of another type, which the register has; the loop's axes are the node's. */
void lfuse__builder_store_type(lfuse__builder *b, int reg, const lfuse__home *home, int32_t like, lfuse_type type);
/* Stores a register in the memory from which other kernels read the node unrounded. */
void lfuse__builder_store_wide(lfuse__builder *b, int reg, int32_t node, const lfuse__view *walk);
/* Stores a register in the home of a node and in the tensors of all its names; the loop walks the node so. */
void lfuse__builder_store_result(lfuse__builder *b, int reg, int32_t node, const lfuse__view *walk);
/* Adds the sizes of members as the last operand, where a step of this kind over `walked` of a list needs them. */
void lfuse__builder_shape(lfuse__builder *b, lfuse__step_kind kind, lfuse__span walked, int list);
/* The step is too large, and its contents are of no use. */
bool lfuse__builder_overflow(const lfuse__builder *b);
/* Whether the step has an instruction that reduces or scans. */
bool lfuse__builder_reduces(const lfuse__builder *b);
/* Sets the step's kind, loop, operands, body and numbers. ERR_UNSUPPORTED: something is walked as no kernel can. */
lfuse_status lfuse__builder_finish(lfuse__builder *b, lfuse__step_kind kind, lfuse__step *step);

/* ---- split.c ---- */
/*
 * Decides which nodes of a step that was too large are stored, so that the next round makes smaller steps. The step
 * computes the nodes roots[] of the region; -1: of none. ERR_UNSUPPORTED: there is nothing left to store.
 */
lfuse_status lfuse__draft_split(lfuse__draft *d, int32_t region, const int32_t *roots, int nroots);

/* ---- step makers: each fills one stage of d->out ---- */
lfuse_status lfuse__make_region(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage);  /* rows.c */
lfuse_status lfuse__make_copy(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage);    /* rows.c */
lfuse_status lfuse__make_product(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage); /* product.c */
lfuse_status lfuse__make_scatter(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage); /* scatter_step.c */
/* build.c: sets *o to an operand that lies in a home, which holds the type, and is walked so; its span is TENSOR. */
void lfuse__operand_place(const lfuse__home *home, lfuse_type type, const lfuse__view *walk, lfuse__operand *o);
/* product.c: sets *o to an operand of a step that has no builder: the value `base` in its home, walked so. */
lfuse_status lfuse__draft_operand_at(lfuse__draft *d, int32_t base, const lfuse__home *home, const lfuse__view *walk,
                                     lfuse__operand *o);
/* tail.c: returns the region that a vendor's product can compute behind its sums; -1: there is none. */
int32_t lfuse__product_tail(const lfuse__draft *d, int32_t matmul);
/* rows.c: stores the nodes of the region that have a home. */
void lfuse__region_stores(lfuse__draft *d, lfuse__builder *b, int32_t region, const lfuse__unit_loop *loop);

/* ---- native.c: products by the library's own kernels ---- */
/* Whether operand i of the product is the same at all runs of an instance. */
bool lfuse__draft_frozen(const lfuse__draft *d, int32_t matmul, int i);
/* Returns FULL, TF32 or, where the library's own kernels split the operands of such products, what is asked for. */
lfuse_precision lfuse__draft_precision(const lfuse__draft *d, int32_t matmul);
/* Describes a product to those who compute it. */
void lfuse__draft_describe(const lfuse__draft *d, int32_t matmul, lfuse__matmul_desc *desc);
/* Whether both providers' ways are alternatives: then it is made as the library's own, which is the first of them. */
bool lfuse__draft_both(const lfuse__draft *d, int32_t matmul);
/*
 * Whether a vendor's product and a kernel behind it is an alternative to a product of the library's own whose epilogue
 * the vendor's library lacks; the unit has neither prologues nor sums of columns then.
 */
bool lfuse__draft_vendor_competes(const lfuse__draft *d, const lfuse__unit *u);
/* The library's own kernels compute the product: it is the only alternative then, or the first of them. */
bool lfuse__draft_native(const lfuse__draft *d, int32_t matmul);
/* Returns the region that such a product can compute behind its sums; -1: there is none. */
int32_t lfuse__native_tail(const lfuse__draft *d, int32_t matmul);
lfuse_status lfuse__make_native(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage);
/* A kernel over the elements of `like` can compute the node. */
bool lfuse__native_holds(const lfuse__draft *d, int32_t node, const lfuse__node *like);
/* Stores such a product's value, the register, in its home and under all its names, where it has a home. */
void lfuse__native_store(lfuse__draft *d, lfuse__builder *b, int32_t matmul, int reg);

/* ---- prologue.c: pointwise work on operands of such a product, done where it reads them ---- */
/* Returns the region that computes operand i, which has no step of its own then; -1: the operand lies in memory. */
int32_t lfuse__prologue(const lfuse__draft *d, int32_t matmul, int i);
/* A prologue would be worth more than what a vendor's product gains. */
bool lfuse__prologue_pays(const lfuse__draft *d, int32_t matmul);
/* Appends the product's prologues to the body of its step, which has no A and B yet; *fits false: there is no room. */
lfuse_status lfuse__prologue_add(lfuse__draft *d, int32_t matmul, lfuse__step *step, bool *fits);
/* Decides that the operands lie in memory from the next round on; false: the product has no prologues. */
bool lfuse__prologue_cut(lfuse__draft *d, int32_t matmul);

/* ---- product_sums.c: sums over the rows of what such a product's region makes, by the same kernel ---- */
/* The region has one such sum, over elements of the product's shape. */
bool lfuse__product_sums(const lfuse__draft *d, int32_t matmul, int32_t region);
/* Sets *loop to the loop of such a region in the product's kernel: the product's axes, none of which it reduces. */
void lfuse__product_sums_loop(const lfuse__draft *d, int32_t matmul, lfuse__unit_loop *loop);
/* What the step stores for each column is computed from the sum, and nothing else is. */
bool lfuse__product_sums_fit(const lfuse__step *step);
/* Adds an alternative for sizes where the kernel of both declines; *fits false: it is too large. */
lfuse_status lfuse__make_sums(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage, bool *fits);

/* ---- strassen.c: which products are computed by Strassen's algorithm; strassen_step.c: their steps ---- */
/* Sets next_product where the next matmul can read the left factors that this one's step makes of its result. */
void lfuse__draft_make_next_factors(lfuse__draft *d, int32_t matmul, int32_t tail);
/* Operand i of the product is all of one node, which *base is set to. */
bool lfuse__draft_whole_operand(const lfuse__draft *d, int32_t matmul, int i, int32_t *base);
/* Elements that are neighbours along the first axis of operand i are neighbours in memory. */
bool lfuse__draft_transposed(const lfuse__draft *d, int32_t matmul, int i);
lfuse_status lfuse__make_strassen(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage);

/*
 * native.c: sets *step to the step of a product by the library's own kernels, of which the tail alone is stored where
 * there is one. *fits false: there is no such step.
 */
lfuse_status lfuse__native_step(lfuse__draft *d, const lfuse__unit *u, lfuse__step *step, bool *fits);
/* phases.c: adds another alternative for a row step that may have few long rows; `like` is a node of its unit. */
lfuse_status lfuse__draft_phases(lfuse__draft *d, int32_t like, lfuse__stage *stage);

/* ---- step.c: what steps and stages own ---- */
/* Sets *to to a copy of a step without children, with arrays of its own. ERR_MEMORY: the copy is to be freed too. */
lfuse_status lfuse__step_copy(const lfuse__step *from, lfuse__step *to);
/*
 * Appends what `added` computes to the body of a step. Its operand i is operand at[i] of the step; -1: it is appended,
 * and at[i] set. Instructions, stores and numbers follow those that are there. ERR_MEMORY: the step is as it was.
 */
lfuse_status lfuse__step_append(lfuse__step *to, const lfuse__step *added, int16_t *at);
void lfuse__step_free(lfuse__step *step);
/* Adds an alternative of empty steps behind the others, which move. `name` is static. */
lfuse_status lfuse__stage_add(lfuse__stage *stage, const char *name, int nsteps);
/* Adds `count` alternatives to an empty stage, each with `steps[i]` empty steps. */
lfuse_status lfuse__stage_create(lfuse__stage *stage, int count, const int *steps);
void lfuse__stage_free(lfuse__stage *stage); /* zeroed afterwards */
/* plan.c: frees all but the body itself and its graph. */
void lfuse__plan_clear(lfuse__plan_body *body);

#endif
