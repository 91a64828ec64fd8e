/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A plan in the making, for common/plan/ alone. Passes (passes.h) find out about each node of the graph. When a step
 * turns out too large or an update cannot be stored in place, what must change is noted (`cut`, `indirect`), and
 * another round of passes begins.
 */
#ifndef COMMON_PLAN_DRAFT_H
#define COMMON_PLAN_DRAFT_H

#include "common/base/arena.h"
#include "common/plan/passes.h"
#include "common/plan/plan.h"

/* What one kernel may hold; larger regions are split. Registers, and words of the argument block, bound it. */
enum {
    LFUSE__BODY_OPERANDS = LFUSE__MAX_BUFFERS - 1, /* the last is for the reports of look-ups */
    LFUSE__BODY_INSTRUCTIONS = 256,
    LFUSE__BODY_NUMBERS = 16,
    LFUSE__BODY_WORDS = 84 /* offsets and strides; numbers and extents have the rest of the argument block */
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

/* The loop that could compute a node: nodes with equal loops can share a kernel. signature.c */
typedef struct lfuse__signature {
    int32_t root; /* the node whose shape the loop has; -1: it has the shape of the node itself */
    bool row;     /* the node has one element for each row of the loop */
    int8_t frame[LFUSE_MAX_RANK]; /* [axis of the node] the axis of the loop; -1: the axis has one element */
} lfuse__signature;

/* The loop of a kernel: first the axes that are kept, then those that are reduced. */
typedef struct lfuse__unit_loop {
    int rank, naxes;             /* number of axes; of those that are reduced */
    int8_t axis[LFUSE_MAX_RANK]; /* the axis of the loop's shape */
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
    LFUSE__UNIT_COPY        /* a copy of `node` through its view, or of the memory `from`, to `to` */
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
    int32_t level;        /* how many units at least run before it */
    int32_t node;         /* the lowest node of a region; the matmul, scatter_add or value that is copied */
    int32_t tail;         /* PRODUCT: the lowest node of the region that it computes too; -1 */
    lfuse__home from, to; /* COPY */
} lfuse__unit;

/* In a step that reduces lists: how often a node is computed. members.c */
typedef enum lfuse__list_scope {
    LFUSE__SCOPE_NONE,    /* in no such step, or inlined there */
    LFUSE__SCOPE_ELEMENT, /* for each element of a member, and read by reductions of members alone */
    LFUSE__SCOPE_MEMBER,  /* once a member: reductions of members, and functions of those */
    LFUSE__SCOPE_LIST     /* once a list: reductions of lists of numbers, and functions of those */
} lfuse__list_scope;

/* What is known of a node of the graph. */
typedef struct lfuse__planned_node {
    /* Decisions, which hold for all rounds that follow. */
    bool cut;          /* its value is stored, and nothing that reads it is fused with it */
    bool copied_view;  /* it is a view that a kernel copies */
    bool no_siblings;  /* it is not fused with others that read the same memory: together they were too large */
    bool recomputed;   /* each kernel that reads it computes it: reuse.c */
    /* What the passes of one round find out. */
    bool reshaped;     /* a node reads its memory in another shape */
    bool is_result;    /* its value is stored at the end: an output, or what an update stores */
    bool needs_memory; /* its value is stored, as a matmul, a scatter_add or the other phase reads it */
    bool read_elsewhere; /* another unit reads it than the one that computes it */
    bool prepared;     /* it belongs to the prepare phase */
    bool inlined;      /* every kernel that reads it computes it, at no cost worth counting */
    bool grouped;      /* the region whose lowest node it is holds siblings */
    int8_t levels;     /* of a matmul: levels of Strassen's algorithm; 0: it is multiplied in another way */
    int8_t factor_levels; /* levels for which its left factors are made */
    lfuse__list_scope scope;
    int32_t list;      /* the list that has the sizes of this list value; -1: it is a tensor */
    int32_t congruence; /* of nodes with a scope: nodes of equal congruence can be computed by one step */
    int32_t reads;     /* how often computing nodes read it, through views too */
    int32_t reader;    /* the last of them; -2 - v: it is copied to an output through the view v */
    int32_t target;    /* the first name whose tensor the kernel stores it in; -1; then the name's next_target */
    int32_t level;
    int32_t ready;     /* of a recomputed node: the lowest level at which it can be computed */
    int32_t region;    /* the lowest node of its region; -1: it is inlined, or neither pointwise nor a reduction */
    int32_t next;      /* the next node of the region, ascending; -1: it is the last */
    int32_t number;    /* its index in out->numbers; -1: none */
    int32_t next_product; /* of a matmul: the node, made of it, whose left factors its step makes too; -1 */
    int32_t factors;   /* the buffer of its left factors, once a step makes them; -1 */
    lfuse__signature signature;
} lfuse__planned_node;

/* Where a node is stored and how it is walked; a struct of its own, as passes go through the other one more often. */
typedef struct lfuse__planned_memory {
    lfuse__view view;
    lfuse__view at;   /* of a node that is inlined in one kernel: how that kernel's loop walks it */
    lfuse__home home;
    lfuse__home wide; /* f32 scratch of an f16 or bf16 value that another kernel reads before it is rounded */
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
    bool both; /* products get both providers as alternatives, among which measurement or wisdom chooses */
    lfuse_strassen strassen;

    lfuse__planned_node *nodes;     /* [nodes] */
    lfuse__planned_memory *memory;  /* [nodes] */
    lfuse__planned_name *names;     /* [names] */
    bool any_recomputed;
    bool recompute_decided;
    bool changed;                   /* another round is needed */
    int most_levels;                /* of Strassen's algorithm, of any matmul: memory is padded for that many */
    bool wide_rows;                 /* rows of left operands are padded as columns are: some are stored transposed */
    bool narrow_factors;            /* some factors have elements of two bytes: 16 bytes hold twice as many */

    lfuse__arena arena;             /* lives as long as the draft */
    lfuse__arena round;             /* lives as long as a round, the last one's until the end */
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
/* Returns the lowest element of the set that i is in: parent[] is a lower element of the set, or the element itself. */
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
/* True for pointwise functions, casts and look-ups of tensors and lists, and copied views; not for typeless numbers. */
bool lfuse__draft_pointwise(const lfuse__draft *d, int32_t node);
/* The step that computes a node along the rows of its operand, the root of signatures; STEP_KINDS: it is no such. */
lfuse__step_kind lfuse__draft_root_step(const lfuse__draft *d, int32_t node);
static inline bool lfuse__draft_is_root(const lfuse__draft *d, int32_t node)
{
    return lfuse__draft_root_step(d, node) != LFUSE__STEP_KINDS;
}
/* True for nodes that a kernel or a product computes: the above, reductions, matmuls, scatter_adds, concatenations. */
bool lfuse__draft_computes(const lfuse__draft *d, int32_t node);
/* Returns the first level at which another kernel than that which computes a value can read it. */
static inline int32_t lfuse__draft_ready(const lfuse__draft *d, int32_t node)
{
    return d->nodes[node].level + (lfuse__draft_computes(d, node) && !d->nodes[node].inlined);
}
/* True for a number that has been given a type: every kernel can have it as an argument. */
bool lfuse__draft_immediate(const lfuse__draft *d, int32_t node);
/* Returns what an operand that is such a node spans. */
lfuse__span lfuse__draft_span(const lfuse__node *n);
/* lists.c: the rank of a list's members; the one of two lists (-1: none) that tells more of the members' sizes. */
int lfuse__draft_list_rank(const lfuse__draft *d, int list);
int lfuse__draft_better_list(const lfuse__draft *d, int a, int b);
/* True for a function of lists some of which repeat in its result: list kernels alone can read those, from memory. */
bool lfuse__draft_repeats(const lfuse__draft *d, int32_t node);
/* Appends a copy of the unit. */
lfuse_status lfuse__draft_unit(lfuse__draft *d, const lfuse__unit *unit);
/* Appends a buffer of the node's type and shape; *index: its number. */
lfuse_status lfuse__draft_buffer(lfuse__draft *d, int32_t like, lfuse__place place, int *index);
/* Gives the node a buffer of its own, unless it is stored already. */
lfuse_status lfuse__draft_give_memory(lfuse__draft *d, int32_t node);
/* The same of a value that a copy reads, unless the copy computes it, or nobody does. */
lfuse_status lfuse__draft_give_memory_to_copied(lfuse__draft *d, int32_t node);
/*
 * True for a node of f16 or bf16 whose value is any f32: functions are rounded where they are stored as a result, cast
 * or read by a product, and nowhere else, so that the bits do not depend on what is fused. Other kernels read such a
 * value in f32, from the buffer that lfuse__draft_give_wide_memory gives it.
 */
bool lfuse__draft_unrounded(const lfuse__draft *d, int32_t node);
lfuse_status lfuse__draft_give_wide_memory(lfuse__draft *d, int32_t node);
/* True where the kernel that computes the node stores it. */
static inline bool lfuse__draft_stored(const lfuse__draft *d, int32_t node)
{
    return d->memory[node].home.set || d->memory[node].wide.set;
}

/* ---- sizes.c: numbers may be negative; expressions that are new go into the graph (poisoned without room) ---- */
lfuse_size lfuse__size_sum(lfuse_graph *g, lfuse_size a, lfuse_size b);
lfuse_size lfuse__size_product(lfuse_graph *g, lfuse_size a, lfuse_size b);
/* How many pieces of `by` elements cover it; sizes that are not negative alone. */
lfuse_size lfuse__size_pieces(lfuse_graph *g, lfuse_size s, int64_t by);
/* Whether they have the same value whatever the sizes are; false where that is not known. */
bool lfuse__size_same(const lfuse_graph *g, lfuse_size a, lfuse_size b);
/* A product as a number and symbolic sizes that are no products, ascending. */
enum { LFUSE__MOST_FACTORS = 16 };
typedef struct lfuse__factors {
    bool known; /* false: too many or too large; such are equal to nothing */
    int64_t number;
    int count;
    lfuse_size factor[LFUSE__MOST_FACTORS];
} lfuse__factors;
void lfuse__factors_of(const lfuse_graph *g, lfuse_size s, lfuse__factors *f);
void lfuse__factors_times(const lfuse_graph *g, lfuse__factors *f, lfuse_size s);
bool lfuse__factors_equal(const lfuse__factors *a, const lfuse__factors *b);
/* Whether b is a whole multiple of a. */
bool lfuse__factors_divide(const lfuse__factors *a, const lfuse__factors *b);

/* ---- walk.c ---- */
/*
 * Whether two shapes differ in axes of one element at most. match[axis of a]: the axis of b that it is, -1 for one of
 * one element, and behind the last.
 */
bool lfuse__match_axes(int rank_a, const lfuse_size *a, int rank_b, const lfuse_size *b, int8_t match[LFUSE_MAX_RANK]);
/* Axes of an old shape, and of a new one, that hold the same elements. */
typedef struct lfuse__group {
    int from, from_end, to, to_end;
} lfuse__group;
/* The next group behind `at` (first: zeros); axes of one element may be in none. False when the shapes do not fit. */
bool lfuse__group_next(const lfuse_graph *g, int from_rank, const lfuse_size *from, int to_rank, const lfuse_size *to,
                       lfuse__group *at);
/* A node walking itself. */
void lfuse__view_identity(const lfuse__draft *d, int32_t node, lfuse__view *v);
bool lfuse__view_equal(const lfuse__view *a, const lfuse__view *b);
/*
 * Who walks `through` by `outer` (whose shape may be another one of as many elements), and `through` walks its base by
 * `inner`: how the first walks the base. False where that is not affine.
 */
bool lfuse__view_compose(const lfuse__draft *d, const lfuse__view *outer, int32_t through, const lfuse__view *inner,
                         lfuse__view *out);
/* The walk of a walker that has the shape of the node `from` as that of one that has the shape of `to`. */
bool lfuse__view_reshape(const lfuse__draft *d, const lfuse__view *v, int32_t from, int32_t to, lfuse__view *out);
/* Whether the elements of `node`, which walks its base by v, are all those of the base in order. */
bool lfuse__view_linear(const lfuse__draft *d, int32_t node, const lfuse__view *v);

/* ---- views.c ---- */
/* Whether two shapes differ in axes of one element at most. */
static inline bool lfuse__draft_alike(const lfuse__node *a, const lfuse__node *b)
{
    int8_t match[LFUSE_MAX_RANK];

    return lfuse__match_axes(a->rank, a->shape, b->rank, b->shape, match);
}
/* By a pass that is left out: what keeps a kernel of its own, from memory to memory. */
bool lfuse__draft_alone(const lfuse__draft *d, int32_t node);
/*
 * The operand i of a node: how the node's axes walk the operand's base, which is returned. Of the REDUCEs, MATMUL,
 * SCATTER_ADD and CONCAT the walkers are the operand's own axes.
 */
int32_t lfuse__draft_operand(const lfuse__draft *d, int32_t node, int i, lfuse__view *walk);
/* Whether a node which walks its operand's base so has the same shape and the same elements at the same indices. */
bool lfuse__draft_same_index(const lfuse__draft *d, int32_t node, const lfuse__view *walk);
/* Whether each element of the base is walked at most once. */
bool lfuse__draft_once(const lfuse__draft *d, int32_t node, const lfuse__view *walk);
/* Whether the node can be computed by a kernel whose loop walks it so. */
bool lfuse__draft_reaches(const lfuse__draft *d, int32_t node, const lfuse__view *walk);

/* ---- members.c: which nodes are computed in steps that reduce lists, and which of those share one ---- */
static inline bool lfuse__draft_reduces_list(const lfuse__draft *d, int32_t node)
{
    return d->g->nodes[node].kind == LFUSE__MEMBER_REDUCE || d->g->nodes[node].kind == LFUSE__LIST_REDUCE ||
           d->g->nodes[node].kind == LFUSE__LINE_REDUCE;
}
/* Whether a node of such a step can be computed there beside one that it reads, where both are on one level. */
bool lfuse__draft_scopes_fuse(const lfuse__draft *d, int32_t producer, int32_t node);
/* Returns what the reductions of a region's members run over. */
lfuse__span lfuse__draft_members_span(const lfuse__draft *d, int32_t region);
/* Joins the regions of reductions of congruent lists that are on one level; `parent` as in siblings.c. */
lfuse_status lfuse__draft_join_members(lfuse__draft *d, int32_t *parent);
/* Returns the number of the list whose members the region's step goes over. */
int32_t lfuse__draft_members_list(const lfuse__draft *d, int32_t region);

/* ---- numbers.c: numbers that kernels take ---- */
lfuse_status lfuse__draft_number(lfuse__draft *d, int32_t node, int *index);

/* ---- reuse.c: values that several kernels read, stored or computed by each of them ---- */
/* For one element of a value, in bytes from memory and in simple operations. */
typedef struct lfuse__reuse {
    double bytes;      /* of the element as it is stored */
    int kernels;       /* that read it, without its own */
    bool alone;        /* its own is there for nothing else */
    double loads;      /* of its own, to compute it */
    double more;       /* what the others would load for it together, beside what they load anyway */
    double operations; /* to compute it once */
} lfuse__reuse;
bool lfuse__reuse_recomputes(const lfuse__facts *facts, const lfuse__reuse *r);
double lfuse__op_weight(lfuse__op op);

/* ---- signature.c: which nodes one kernel can hold ---- */
/* Whether a node and one that it reads by `walk` are computed by one kernel when they are on one level. */
bool lfuse__draft_fuses(const lfuse__draft *d, int32_t producer, int32_t node, const lfuse__view *walk);
/* The loop of the unit that the node is in, how it walks the node, and how the shape of the operand that is reduced. */
void lfuse__draft_loop(const lfuse__draft *d, int32_t node, lfuse__unit_loop *loop);
void lfuse__draft_frame(const lfuse__draft *d, int32_t node, const lfuse__unit_loop *loop, lfuse__view *walk);
void lfuse__draft_reduced(const lfuse__draft *d, int32_t node, const lfuse__unit_loop *loop, lfuse__view *walk);

/* ---- siblings.c ---- */
/* Joins regions that read the same memory; a region's parent is a lower node of it, or itself. */
lfuse_status lfuse__draft_siblings(lfuse__draft *d, int32_t *parent);

/* ---- concat.c ---- */
/* Where concatenations and their pieces lie, once the outputs have been given their values. */
lfuse_status lfuse__draft_concats(lfuse__draft *d);
/*
 * Whether it is certain that who computes the base stores it in the concatenation: that is complete on the same level.
 */
bool lfuse__draft_is_piece(const lfuse__draft *d, int32_t base, int32_t concat);
/* ---- update.c ---- */
/* Whether the region can run behind all others. */
bool lfuse__draft_late(const lfuse__draft *d, int32_t region);

/* ---- network_kinds.c ---- */
/*
 * Puts a layer, which it then owns, behind those of the network, whose children have room; *joined
 * false: its epilogue would be one too many.
 */
lfuse_status lfuse__network_join(lfuse__step *network, lfuse__step *layer, bool *joined);

/* ---- build.c: the body and operands of one step ---- */
/*
 * Begins a step that computes the nodes of `region` (-1: none), by a loop of these extents, which are not copied. The
 * draft has one builder, which is the step's until the next one is begun.
 */
lfuse_status lfuse__builder_begin(lfuse__draft *d, int32_t region, int rank, const lfuse_size *extents,
                                  lfuse__builder **b);
/* The loop's axes are those of a unit: what is of the region is computed as its frames say, reductions among it. */
void lfuse__builder_loop(lfuse__builder *b, const lfuse__unit_loop *loop);
/* Register of a node, which the loop walks so; NULL: the loop's axes are those of the node. */
int lfuse__builder_value(lfuse__builder *b, int32_t node, const lfuse__view *walk);
/* An operand whose axes are those of the loop. */
int lfuse__builder_load_home(lfuse__builder *b, const lfuse__home *home, int32_t like);
/* The same of memory of another type, which the register then has. */
int lfuse__builder_load_type(lfuse__builder *b, const lfuse__home *home, int32_t like, lfuse_type type);
/* The value of `node`, which is not computed here, is this register. */
void lfuse__builder_given(lfuse__builder *b, int32_t node, int reg);
/* So of a matmul, whoever asks: its sum, of f32 or f64, as the first operand. Returns the register. */
int lfuse__builder_sum(lfuse__builder *b, int32_t matmul);
int lfuse__builder_convert(lfuse__builder *b, int reg, lfuse_type from, lfuse_type to);
/* Stores a register in a home that is `like` a node in type and span, which the loop walks so; NULL as above. */
void lfuse__builder_store(lfuse__builder *b, int reg, const lfuse__home *home, int32_t like, const lfuse__view *walk);
/* The same in memory of another type, which the register has already. */
void lfuse__builder_store_type(lfuse__builder *b, int reg, const lfuse__home *home, int32_t like, lfuse_type type);
/* In the node's memory for who reads it unrounded. */
void lfuse__builder_store_wide(lfuse__builder *b, int reg, int32_t node, const lfuse__view *walk);
/* The last operand, of a step of this kind over what `walked` says of the members of `list`, where it needs that. */
void lfuse__builder_shape(lfuse__builder *b, lfuse__step_kind kind, lfuse__span walked, int list);
/* Stores a register under all names of a node that has a home, and there; the loop walks the node so. */
void lfuse__builder_store_result(lfuse__builder *b, int reg, int32_t node, const lfuse__view *walk);
/* True when the step is too large (its contents are then of no use). */
bool lfuse__builder_overflow(const lfuse__builder *b);
/* Moves everything into a step: kind, operands, body, numbers, extents. */
lfuse_status lfuse__builder_finish(lfuse__builder *b, lfuse__step_kind kind, lfuse__step *step);

/* ---- split.c: a step was too large: cuts nodes so that the next round makes smaller ones ---- */
lfuse_status lfuse__draft_split(lfuse__draft *d, int32_t region, const int32_t *roots, int nroots);

/* ---- step makers: each fills one stage of d->out ---- */
lfuse_status lfuse__make_region(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage);  /* rows.c */
lfuse_status lfuse__make_copy(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage);    /* rows.c */
lfuse_status lfuse__make_product(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage); /* product.c */
lfuse_status lfuse__make_scatter(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage); /* scatter_step.c */
/* The operand of a step that is no kernel of a builder: the value `base` in its home, walked so. product.c */
lfuse_status lfuse__draft_operand_at(lfuse__draft *d, int32_t base, const lfuse__home *home, const lfuse__view *walk,
                                     lfuse__operand *o);
/* The region that can join the matmul's stage, or -1. tail.c */
int32_t lfuse__product_tail(const lfuse__draft *d, int32_t matmul);
/* Stores what has a home of the region's nodes. rows.c */
void lfuse__region_stores(lfuse__draft *d, lfuse__builder *b, int32_t region, const lfuse__unit_loop *loop);

/* ---- native.c: products by the library's own kernels ---- */
/* Whether operand i of the product is the same at all runs of an instance. */
bool lfuse__draft_frozen(const lfuse__draft *d, int32_t matmul, int i);
/* Describes a product to those who compute it; `levels` is 0. */
void lfuse__draft_describe(const lfuse__draft *d, int32_t matmul, lfuse__matmul_desc *desc);
/* Whether both providers' ways are alternatives: then it is made as the library's own, which is the first of them. */
bool lfuse__draft_both(const lfuse__draft *d, int32_t matmul);
/* Whether this product is made so: the only alternative then, or the first of them. */
bool lfuse__draft_native(const lfuse__draft *d, int32_t matmul);
/* The region that such a product can compute behind its sums, or -1. */
int32_t lfuse__native_tail(const lfuse__draft *d, int32_t matmul);
lfuse_status lfuse__make_native(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage);
/* Whether a kernel over the elements of `like` can hold the node. */
bool lfuse__native_holds(const lfuse__draft *d, int32_t node, const lfuse__node *like);
/* How such a product's value is stored, under all its names, from the register. */
void lfuse__native_store(lfuse__draft *d, lfuse__builder *b, int32_t matmul, int reg);

/* ---- prologue.c: pointwise work on operands of such a product, done where it reads them ---- */
/* The region that makes operand i, and has no step of its own then; or -1. */
int32_t lfuse__prologue(const lfuse__draft *d, int32_t matmul, int i);
/* Whether one would be worth more than what a vendor's product gains. */
bool lfuse__prologue_pays(const lfuse__draft *d, int32_t matmul);
/* Behind the body of a step whose operands are those of that body alone; *fits false: there is no room. */
lfuse_status lfuse__prologue_add(lfuse__draft *d, int32_t matmul, lfuse__step *step, bool *fits);
/* Those of the product lie in memory from the next round on; false: it has none. */
bool lfuse__prologue_cut(lfuse__draft *d, int32_t matmul);

/* ---- product_sums.c: sums over the rows of what such a product's region makes, by the same kernel ---- */
/* Whether the region is for that; it is no region of a plain tail then. */
bool lfuse__product_sums(const lfuse__draft *d, int32_t matmul, int32_t region);
/* The loop of such a region in the product: its own axes, none of which is reduced by the loop. */
void lfuse__product_sums_loop(const lfuse__draft *d, int32_t matmul, lfuse__unit_loop *loop);
/* Whether what is stored for each column is made of the sum, and nothing else is. */
bool lfuse__product_sums_fit(const lfuse__step *step);
/* Behind the stage's alternative that does it, one for sizes where that declines; *fits false: it is too large. */
lfuse_status lfuse__make_sums(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage, bool *fits);

/* ---- strassen.c: which products are made of seven smaller ones; strassen_step.c: their steps ---- */
/* Sets next_product: the next matmul reads what this one's step makes, as factors; it may need no other memory. */
void lfuse__draft_make_next_factors(lfuse__draft *d, int32_t matmul, int32_t tail);
/* Whether operand i of the product is all of one node as that is. */
bool lfuse__draft_whole_operand(const lfuse__draft *d, int32_t matmul, int i, int32_t *base);
/* Whether neighbours along its first axis are neighbours in memory. */
bool lfuse__draft_transposed(const lfuse__draft *d, int32_t matmul, int i);
lfuse_status lfuse__make_strassen(lfuse__draft *d, const lfuse__unit *u, lfuse__stage *stage);

/* The same step beside the unit's stage, which stores the product itself for nobody else than its tail: *fits false and
 * no step where there is none. */
lfuse_status lfuse__native_step(lfuse__draft *d, const lfuse__unit *u, lfuse__step *step, bool *fits);
/* Another alternative for a row step that may be of few long rows; `like`: a node of its unit. phases.c */
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
