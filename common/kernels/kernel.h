/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernel texts: skeletons and the emitter. Each family has an emit function (dialect text of one KERNEL, appended to
 * `out`) and a pack function (the argument words and the number of work-groups for given sizes), so that the layout of
 * the words is known in one file. Text depends on types, operators and the classes below, never on extents, addresses
 * or numbers. May use common/base/, common/graph/op.h, and body.h and families.def of common/plan/.
 *
 * Names are the caller's: [a-z_][a-z0-9_]*, unique in a program, and none that a dialect knows (no kernel of OpenCL may
 * be called like a built-in function); a prefix with a digit keeps clear of all of them.
 *
 * Memory arguments: operand i is buffer i, with its byte offset among the words (list kernels: see there). A kernel
 * with a gathered operand takes one buffer more, the last: where it reports the first index that is out of range
 * (common/device/report.c).
 */
#ifndef COMMON_KERNELS_KERNEL_H
#define COMMON_KERNELS_KERNEL_H

#include "common/base/facts.h"
#include "common/base/strbuf.h"
#include "common/plan/body.h"

enum {
    LFUSE__MAX_OPERANDS = LFUSE__MAX_BUFFERS - 1,
    LFUSE__ARGUMENT_BYTES = 1024, /* memory arguments (8 bytes each) and words together: what every device takes */
    LFUSE__MAX_WORDS = LFUSE__ARGUMENT_BYTES / 8 - 1,
    LFUSE__GROUP_BOUND = 0x7fffffff /* work-groups of a launch */
};

typedef enum lfuse__stride_class {
    LFUSE__STRIDE_REPEAT, /* inner stride 0 */
    LFUSE__STRIDE_UNIT,   /* inner stride 1 */
    LFUSE__STRIDE_ANY,    /* given at run time, may be negative */
    LFUSE__STRIDE_SPLIT,  /* row kernels: the reduced axes are no single walk for this operand */
    LFUSE__STRIDE_ROW,    /* pointwise list kernels: one for each row, column or matrix of the member */
    LFUSE__STRIDE_COLUMN,
    LFUSE__STRIDE_MATRIX
} lfuse__stride_class;

typedef struct lfuse__kernel_operand {
    lfuse_type type;
    bool written;
    bool gathered; /* its loads take an index: extent and stride of that axis are words; out of range they give 0 */
    bool index;    /* LFUSE__PLACE_INDEX: has offset and strides, but no memory: a load gives its element's number */
    bool shape;    /* list kernels: matrices, rows and columns of the member, in memory; the last operand */
    bool fixed;    /* row kernels: the same memory for all rows, as no kept axis walks it; of lists: for all members */
    lfuse__stride_class inner;
} lfuse__kernel_operand;

/* How a row kernel shares out its rows; chosen for the sizes of an instance, so part of the class. */
typedef enum lfuse__row_form {
    LFUSE__ROWS_NONE,    /* not chosen yet */
    LFUSE__ROWS_ITEM,    /* strided rows: neighbouring work-items (and lanes) take neighbouring rows, sweep by sweep */
    LFUSE__ROWS_TEAM,    /* `team` work-items a row, which hold it; one on CPUs, whose lanes walk along it */
    LFUSE__ROWS_GROUP,   /* a work-group of `team` work-items a row */
    LFUSE__ROWS_PARTIAL, /* few long rows, bodies of one sweep: one result a segment ... */
    LFUSE__ROWS_FOLD     /* ... and the row's results of those */
} lfuse__row_form;

/* How rows are mapped to work-items. */
typedef struct lfuse__row_mapping {
    lfuse__row_form form;
    int team;      /* TEAM, GROUP: work-items a row; PARTIAL, FOLD: 0 where neighbours take neighbouring rows */
    int held;      /* TEAM, GROUP: elements of the row that a work-item has; 0: rows of any length, read every sweep.
                      PARTIAL, FOLD of team 0 on GPUs: work-items that share a segment */
    bool whole;    /* TEAM, GROUP: all rows have exactly team * held elements */
    int residents; /* TEAM: work-groups that a compute unit has registers for; 0: not known. No part of the text */
} lfuse__row_mapping;

/* Whether it is one of two kernels: of segments, and of what is found of them. */
static inline bool lfuse__rows_staged(const lfuse__row_mapping *m)
{
    return m->form == LFUSE__ROWS_PARTIAL || m->form == LFUSE__ROWS_FOLD;
}

/* Kernels that add scattered rows: see text/scatter.k. */
typedef enum lfuse__scatter_phase {
    LFUSE__SCATTER_KEYS,   /* operands: indices (looked up), keys */
    LFUSE__SCATTER_COUNT,  /* keys, counts */
    LFUSE__SCATTER_PREFIX, /* counts, in place */
    LFUSE__SCATTER_PLACE,  /* keys, counts, sorted keys */
    LFUSE__SCATTER_FIRSTS, /* keys, starts */
    LFUSE__SCATTER_SUM,    /* source, keys, starts, result */
    LFUSE__SCATTER_PHASES
} lfuse__scatter_phase;

/* What the elements of a list's members are, where their shape counts. */
typedef enum lfuse__list_kind {
    LFUSE__WALK_ELEMENTS, /* of matrices */
    LFUSE__WALK_ROWS,     /* numbers of rows, all those of a matrix behind each other */
    LFUSE__WALK_COLUMNS   /* so of columns */
} lfuse__list_kind;

/* The operands of a product's class: A, B, and the sum of its products as the epilogue's body loads it; then others. */
enum { LFUSE__PRODUCT_A, LFUSE__PRODUCT_B, LFUSE__PRODUCT_SUM, LFUSE__PRODUCT_OWN };

typedef struct lfuse__product_class {
    const struct lfuse__solver *solver; /* who computes it: matmul/solver.h; NULL: not chosen, or STRASSEN, NETWORK */
    bool ta, tb;      /* A is stored as [k, m], B as [n, k] */
    lfuse_type sum;   /* the accumulators' type: f32, f64 */
    int prologue[2];  /* 1 + the register that holds an element of A or B, where that is computed and lies in no memory;
                         0: it lies in memory */
    int column_sums;  /* the body sums columns: matmul/column_sums.c. 0: it does not; 2: it is a long one; else 1 */
    bool batched;     /* several products in one launch */
    int phase;        /* of lfuse__product_phases launches, from 0 on */
    /* What a work-group computes at a time. On CPUs: a panel's rows, its lanes along the columns, and no depth. */
    int rows, columns, depth;    /* depth: along k */
    int item_rows, item_columns; /* a work-item's part of that */
    int slices;       /* parts of the depth, each of which other work-items sum */
    int prefetch;     /* k-tiles that are on their way from memory while one is multiplied */
    int occupancy;    /* groups of a compute unit that registers are limited for; 0: they are not */
    int split;        /* 0: a group sums all of k; else LFUSE__SPLIT_K or LFUSE__SPLIT_STREAM_K */
    bool counted;     /* NETWORK: results are handed on behind counters, not in tagged words */
} lfuse__product_class;

/* What a kernel between the small products of Strassen's algorithm reads and writes: strassen.h. */
typedef struct lfuse__strassen_class {
    int levels_in, levels_out; /* of the products that it takes in, and of those whose factors it makes; 0: plain */
    bool right;                /* the factors are of a product's right operand */
    bool transposed;           /* the factors' matrix is stored transposed */
} lfuse__strassen_class;

/* common/plan/families.def has a row for each. */
typedef enum lfuse__family {
#define LFUSE__FAMILY(name, ...) LFUSE__FAMILY_##name,
#include "common/plan/families.def"
    LFUSE__FAMILIES
} lfuse__family;

/* Kernels of lists: families MULTI, PARTIAL, FOLD, LINES, LINES_FOLD and GROUPED. */
typedef struct lfuse__list_class {
    int carried;  /* most members of a launch whose argument block carries their places; 0: tables do */
    int groups;   /* of members, with numbers of their own, in one launch; 0: the same for all members */
    lfuse__list_kind walk;
    bool columns; /* LINES, LINES_FOLD: along columns, not rows */
} lfuse__list_class;

/*
 * The class of a kernel: all that its text depends on. What one family alone knows is in the union; classes are equal
 * where their keys are (key.h).
 */
typedef struct lfuse__kernel_class {
    lfuse__family family;
    const lfuse__body *body;
    int noperands;
    lfuse__kernel_operand operands[LFUSE__MAX_OPERANDS];
    int rank;     /* loop axes after merging: 1 ... LFUSE_MAX_RANK; the last is the inner one */
    int naxes;    /* of the loop, the last ones, that the body reduces */
    bool index64; /* more than 2^31 - 1 elements of the loop, or an element offset that far */
    union {
#define LFUSE__FAMILY(name, lower, members) members
#include "common/plan/families.def"
    };
} lfuse__kernel_class;

/* Of a list kernel. */
static inline const lfuse__list_class *lfuse__class_list(const lfuse__kernel_class *k)
{
    return k->family == LFUSE__FAMILY_GROUPED ? &k->members : &k->list;
}

/* Actual sizes. Strides in elements, [operand][axis]; offsets in bytes, of INDEX operands in elements. extents > 0. */
typedef struct lfuse__geometry {
    int64_t extents[LFUSE_MAX_RANK];
    int64_t strides[LFUSE__MAX_OPERANDS][LFUSE_MAX_RANK];
    uint64_t offsets[LFUSE__MAX_OPERANDS];
    uint64_t addresses[LFUSE__MAX_OPERANDS]; /* device address of each operand's first byte, for the alignment class */
    int64_t gathered_extents[LFUSE__MAX_OPERANDS], gathered_strides[LFUSE__MAX_OPERANDS]; /* of gathered operands */
    uint64_t reporter, reports; /* where an operand is gathered: who reports, and the report buffer's offset in bytes */
    bool early;        /* products by tiles: the launch before is of the same run, and nothing of that writes B */
    int parts;         /* products by tiles: of k; 0: as the sizes suggest; below 0: tiles are shared out */
    uint64_t partials; /* PARTIAL, FOLD, products: byte offset in the last buffer, a multiple of 16 (products: 64) */
    const double *numbers; /* [body->nnumbers], not yet rounded */
} lfuse__geometry;

/* What a launch needs beside its buffers. */
typedef struct lfuse__packed {
    uint64_t groups;
    unsigned group, nwords;
    uint64_t words[LFUSE__MAX_WORDS];
} lfuse__packed;

/*
 * Buffers that a pointwise or row kernel takes: its operands, one for reports where it looks things up, and for PARTIAL
 * and FOLD one for what passes between them (rows_partials bytes, from geometry's `partials` on); products one for
 * their workspace.
 */
bool lfuse__kernel_gathers(const lfuse__kernel_class *k);
int lfuse__kernel_buffers(const lfuse__kernel_class *k);

/*
 * The warm_up function of each family: families.h. A launch over one element, where the family has a geometry; numbers
 * are 0.
 */
void lfuse__geometry_of_one(lfuse__geometry *g); /* layout.c */
enum { LFUSE__ZEROS = 32 };
extern const double lfuse__zeros[LFUSE__ZEROS];

/* ---- rows.c: reductions along rows, and what is computed of them, in one sweep or a few ----
 * Loads that walk no reduced axis, and what is computed of such and of reductions alone, are of the row. Every form
 * gives the bits of the canonical fold. Reduced extents may be 0: sums are then 0, products 1.
 */
/*
 * The mapping of rows for an instance's sizes. `fixed`: all rows have this length whatever the sizes are, so that a
 * kernel may count on it. Where PARTIAL is the answer, the caller runs two kernels.
 */
void lfuse__rows_choose(const lfuse__facts *facts, uint64_t rows, uint64_t length, bool fixed,
                        lfuse__kernel_class *k);
/*
 * Whatever rows_choose can answer within bounds, as classes; returns how many, at most LFUSE__ROW_FORMS. PARTIAL stands
 * for two kernels: the class itself, and one that differs in the form FOLD.
 */
enum { LFUSE__ROW_FORMS = 40 };
int lfuse__rows_forms(const lfuse__facts *facts, const uint64_t rows[2], const uint64_t length[2],
                      const lfuse__kernel_class *k, lfuse__kernel_class *forms);
/* What passes from a PARTIAL kernel to its FOLD. Both take the same geometry and the same buffers. */
uint64_t lfuse__rows_partials(const lfuse__kernel_class *k, const lfuse__facts *facts, uint64_t rows, uint64_t length);
/* Work-groups of TEAM that a device has at a time: teams stay for several rows. 0: no bound of this kind. */
uint64_t lfuse__rows_bound(const lfuse__facts *facts, const lfuse__kernel_class *k);
/* Work-groups, at most `bound`, of which all but the last take equally many of the `units`. */
uint64_t lfuse__rows_even(uint64_t units, uint64_t bound);

/* ---- scatter.c: rows added to those that indices name ----
 * All memory is contiguous; keys, counts and starts are 8 bytes each. Geometry's extents are these sizes.
 */
enum {
    LFUSE__SCATTER_POSITIONS, /* indices */
    LFUSE__SCATTER_SLOTS,     /* keys */
    LFUSE__SCATTER_ROWS,      /* of the result */
    LFUSE__SCATTER_REST,      /* elements of a row */
    LFUSE__SCATTER_RUNS,      /* of keys that are counted together ... */
    LFUSE__SCATTER_EACH,      /* ... so many but for the last */
    LFUSE__SCATTER_SHIFT,     /* of the digit in a key */
    LFUSE__SCATTER_STARTS,    /* one for each row, and the end of the last */
    LFUSE__SCATTER_SIZES
};
/* The class of a phase; returns how many operands it has. */
int lfuse__scatter_class(lfuse__scatter_phase phase, lfuse_type type, lfuse_type indices, lfuse__kernel_class *k);
/* *digits: how often keys are counted and placed. ERR_UNSUPPORTED beyond 2^31 positions or rows. */
lfuse_status lfuse__scatter_sizes(const lfuse__facts *facts, int64_t positions, int64_t rows, int64_t rest,
                                  int64_t *sizes, int *digits);
/* Turns the sizes to another digit; the lowest is 0. */
void lfuse__scatter_digit(const lfuse__facts *facts, int digit, int64_t *sizes);
/* How many counts there are. */
uint64_t lfuse__scatter_counts(const lfuse__facts *facts, const int64_t *sizes);

/* ---- bundle.c, bundle_text.c: several pointwise or row kernels in one launch ----
 * A part is one class with `members` sets of argument words; parts and their members are walked by ranges of
 * work-groups. What is equal for all members of a part is stored once where the class says so.
 */
typedef struct lfuse__bundle_part {
    lfuse__kernel_class k; /* form NONE: pointwise */
    int members;
    uint64_t differs[LFUSE__MAX_WORDS / 64 + 1]; /* bit i: argument word i is not the same for all of them */
} lfuse__bundle_part;
typedef struct lfuse__bundle lfuse__bundle;
/* Copies the parts; the bodies of their classes have to stay. `differs` is ignored for words of operands, which do. */
lfuse_status lfuse__bundle_create(int nparts, const lfuse__bundle_part *parts, lfuse__bundle **bundle);
void lfuse__bundle_destroy(lfuse__bundle *bundle);
int lfuse__bundle_parts(const lfuse__bundle *b, const lfuse__bundle_part **parts);
/* One member of a launch, in the order of the parts. */
typedef struct lfuse__bundle_member {
    const lfuse__packed *packed; /* as for a kernel of its own */
    uint64_t groups;             /* that it gets of the launch; 0: it has no part in it */
    const uint64_t *memory;      /* [noperands] addresses; where the device has none, slots: offsets are packed's */
} lfuse__bundle_member;
typedef struct lfuse__bundle_launch {
    uint64_t groups;
    unsigned group, nwords;
    uint64_t *words; /* [lfuse__bundle_words()], the caller's */
} lfuse__bundle_launch;
/* Memory arguments: the slots, then the report buffer. The most distinct memories of one launch; 0: operands
 * are addresses. */
int lfuse__bundle_slots(const lfuse__bundle *b, const lfuse__facts *facts);
int lfuse__bundle_buffers(const lfuse__bundle *b, const lfuse__facts *facts);
int lfuse__bundle_words(const lfuse__bundle *b);
/* Argument words of a kernel by itself, pointwise or of rows. */
int lfuse__bundle_class_words(const lfuse__kernel_class *k);
/*
 * Whether the device's argument block has room for `members` kernels in one launch, which have `words` argument words
 * together (those that the members of a part have in common counted once), and `operands` at most each.
 */
bool lfuse__bundle_fits(const lfuse__facts *facts, int members, int words, int operands);
/* ERR_UNSUPPORTED: the parts share no launch, or the words exceed what fits. */
lfuse_status lfuse__bundle_emit(lfuse__strbuf *out, const char *name, const lfuse__bundle *b,
                                const lfuse__facts *facts);
/*
 * ERR_UNSUPPORTED where members differ in a word that the class calls equal, or have more than LFUSE__GROUP_BOUND
 * work-groups together.
 */
lfuse_status lfuse__bundle_pack(const lfuse__bundle *b, const lfuse__facts *facts,
                                const lfuse__bundle_member *members, lfuse__bundle_launch *launch);

/* ---- multi.c, list.c: lists ----
 * Buffers: 0 the chunk table, 1 the address table, then LFUSE__MAX_SLOTS blocks where facts.addresses is false.
 * Address table: entry [operand * members + member] is two words: address or byte offset, slot. A member of size 0 has
 * no chunk. Operands with `inner` REPEAT are numbers in memory, one for each member (lists of 0-d values), the others
 * UNIT. The byte offsets of the tables in their buffers are words that pack leaves 0 and the caller sets; they are
 * multiples of 16.
 * Where the class is `carried`, buffers 0 and 1 are NULL: what the tables hold for the members of the launch stands in
 * the words behind those that pack fills (carried.c).
 * Written operands that are `fixed` (REPEAT, the same for all members) take what is made of constants and of operands
 * that are the same for all members; the last group to arrive stores it, when all have read what was there. Of the
 * launches over a list the last is told so by `pack_last`: where its ticket is, 0 before and after, in buffer 0 (which
 * then is there for carried ones too), and a member that has entries in this launch. Without, nothing is stored there.
 */
enum {
    LFUSE__MULTI_LENGTH = 0,           /* word: elements of a chunk that is not its member's last (carried) */
    LFUSE__MULTI_CHUNKS_OFFSET = 0,    /* word: of the chunk table in buffer 0 */
    LFUSE__MULTI_ADDRESSES_OFFSET = 1, /* word: of the address table in buffer 1 */
    LFUSE__MULTI_PARTIALS_OFFSET = 2,  /* word: of the partials in buffer 2 (list_partial.k, list_lines.k) */
    LFUSE__MULTI_FIRST = 3,            /* word: the first chunk, and how many there are */
    LFUSE__MULTI_CHUNKS = 4,
    LFUSE__MULTI_MEMBERS = 5,          /* word: members of the list */
    LFUSE__MULTI_NUMBERS = 6
};
typedef struct lfuse__chunk { /* 16 bytes, little-endian, as the kernels read it */
    uint32_t member;
    uint32_t length;  /* elements, at most LFUSE__CHUNK */
    uint64_t start;   /* element of the member; multiple of LFUSE__SEGMENT */
} lfuse__chunk;
enum { LFUSE__SEGMENT = 1024, LFUSE__CHUNK = 16384 };

/*
 * Elements of a chunk of long members: on GPUs one tile, so that all streams of the kernel are read near one place (an
 * H200 takes 5 % longer for AdamW with four tiles a group); on CPUs what makes a chunk's own cost small.
 */
int64_t lfuse__multi_chunk(const lfuse__kernel_class *k, const lfuse__facts *facts);
lfuse_status lfuse__multi_pack(const lfuse__kernel_class *k, const lfuse__facts *facts, int64_t members,
                               int64_t first_chunk, int64_t chunks, const double *numbers, lfuse__packed *packed);
bool lfuse__multi_counts(const lfuse__kernel_class *k); /* whether there are such operands */
void lfuse__multi_pack_last(const lfuse__kernel_class *k, uint64_t ticket, uint64_t member, lfuse__packed *packed);
/*
 * Numbers by group. A launch takes up to LFUSE__NUMBER_GROUPS of them, fewer where the body has many numbers; 0: not
 * even two (or none are needed), so that each group has a launch of its own. After the pack functions, whose numbers a
 * class with groups does not read, `pack_groups` puts in the numbers of `count` groups, [count][body->nnumbers], and
 * the first member of each; the kernel counts members from `base` on.
 */
enum { LFUSE__NUMBER_GROUPS = 8 };
int lfuse__multi_groups(const lfuse__body *body);
void lfuse__multi_pack_groups(const lfuse__kernel_class *k, int count, const int64_t *first, int64_t base,
                              const double *numbers, lfuse__packed *packed);
enum { LFUSE__CARRIED_MOST = 4096 /* members: more than any argument block has words */ };
/* Words of a list kernel without members' places. */
int lfuse__multi_words(const lfuse__kernel_class *k);
/*
 * carried.c: members that a block of so many bytes carries, for kernels of k's operands; 0: not one. All words of such
 * a kernel. Then, of a launch: member number `place` has its first chunk there (counted in the launch), its last chunk
 * has `tail` elements, and operand j's entry (two words as in an address table) stands at entries[j * stride]; and the
 * end, which also fills what is left of the words.
 */
typedef enum lfuse__carry { /* the kernel */
    LFUSE__CARRY_CHUNKS,
    LFUSE__CARRY_PARTIAL,
    LFUSE__CARRY_FOLD
} lfuse__carry;
int lfuse__carried_most(const lfuse__kernel_class *k, lfuse__carry carry, const lfuse__facts *facts, uint32_t bytes);
unsigned lfuse__carried_words(const lfuse__kernel_class *k, lfuse__carry carry);
void lfuse__carried_place(const lfuse__kernel_class *k, lfuse__carry carry, int place, uint64_t first, uint32_t tail,
                          const uint64_t *entries, int64_t stride, uint64_t *words);
void lfuse__carried_end(const lfuse__kernel_class *k, lfuse__carry carry, int members, uint64_t chunks,
                        uint64_t *words);

/* ---- members.c: reductions of the members of lists, and of whole lists ----
 * Two launches. Operands are the elements of members (UNIT) or numbers (REPEAT); of written ones, which are numbers
 * all, `fixed` are those that the whole list has. k->naxes is 1. REDUCEs of the body run over the elements of a member,
 * TOTALs over the members; what is stored to `fixed` operands is made of TOTALs and numbers of the whole list, what is
 * stored to others of anything but them. `partial`: the chunk table has chunks of at most LFUSE__SEGMENT elements, of
 * which each gives a cell a REDUCE in the scratch (buffer 2; blocks follow). `fold`: buffers: 0 the scratch, 1 the
 * tables (first chunk of each member, then the end of the last; the ticket of the last group to arrive, 0 before), 2
 * the entries as above, then the blocks. Where the class is `carried`, chunks, first chunks and entries are words. A
 * list may be worked on in several launches of each: all partials first.
 */
/* One launch: offsets in bytes in their buffers, of the scratch multiples of 256. */
typedef struct lfuse__members_part {
    int64_t members, first_member, all;           /* fold: of this launch, the first, of the list */
    int64_t first_chunk, chunks, all_chunks;      /* partial: of this launch; of the list, both kernels */
    int64_t stride;                               /* fold: entries an operand */
    uint64_t scratch, table, entries, ticket;     /* fold: the table's and the entries' first of this launch */
    uint64_t arrivals;                            /* fold: groups of all launches, see members_groups */
    const double *numbers;
} lfuse__members_part;
/* Whether the body has REDUCEs (else `partial` is not needed), and TOTALs. */
bool lfuse__members_reduces(const lfuse__kernel_class *k);
/* Bytes between the kernels; *totals: where those for the TOTALs begin. */
uint64_t lfuse__members_scratch(const lfuse__kernel_class *k, int64_t members, int64_t chunks, uint64_t *totals);
/* Work-groups of one fold. */
uint64_t lfuse__members_groups(const lfuse__facts *facts, int64_t members);
lfuse_status lfuse__members_partial_pack(const lfuse__kernel_class *k, const lfuse__facts *facts,
                                         const lfuse__members_part *part, lfuse__packed *packed);
lfuse_status lfuse__members_fold_pack(const lfuse__kernel_class *k, const lfuse__facts *facts,
                                      const lfuse__members_part *part, lfuse__packed *packed);

/* ---- members.c: reductions of the rows or columns of the members of lists ----
 * Two launches. Operands are elements of members (UNIT), numbers (REPEAT) and the shape; what is written (REPEAT) has
 * one element a line. One REDUCE. Both walk the same chunks, of cells: cell s * lines + l of a member is segment s of
 * its line l, so that neighbours are neighbouring lines. `segments` stores a cell each in the scratch (buffers as
 * `partial` above), `fold` takes the cells of a line where the first of them is. `length`: cells of a chunk.
 */
typedef struct lfuse__lines_part { /* one launch */
    int64_t members;              /* of the list */
    int64_t first_chunk, chunks, all_chunks, length;
    uint64_t scratch;
    const double *numbers;
} lfuse__lines_part;
/* Cells of a member, and lines; of no elements there is one segment, in which there is nothing. */
int64_t lfuse__lines_count(const lfuse__kernel_class *k, int64_t matrices, int64_t rows, int64_t columns);
int64_t lfuse__lines_cells(const lfuse__kernel_class *k, int64_t matrices, int64_t rows, int64_t columns);
uint64_t lfuse__lines_scratch(const lfuse__kernel_class *k, int64_t chunks, int64_t length);
/* Of both kernels. */
lfuse_status lfuse__lines_pack(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__lines_part *part,
                               lfuse__packed *packed);

/* ---- table.c: writes words that travel in the argument block into a table in device memory (buffer 0) ---- */
enum { LFUSE__TABLE_WORDS = 96 };
lfuse_status lfuse__table_pack(const lfuse__facts *facts, uint64_t offset, const uint64_t *values, int count,
                               lfuse__packed *packed);

/* Rounds a number to a register of `type` as the kernels read it from a word: one rounding from f64. */
uint64_t lfuse__number_word(lfuse_type type, double number);

#endif
