/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Classes of kernels, and the sizes of their launches. Each family of kernels (families.h) writes the text of a class
 * and packs the argument words of a launch, so that one file knows the layout of the words. The text depends on types,
 * operators and the class, never on extents, addresses or scalars. This folder may use common/base/,
 * common/graph/op.h, and body.h and families.def of common/plan/.
 *
 * The caller names a kernel: [a-z_][a-z0-9_]*, unique in a program, and no word of a dialect or of OpenCL; a prefix
 * with a digit keeps clear of all of them.
 *
 * A kernel has these memory arguments, in this order (list kernels: see there):
 *
 *   its operands         operand i is buffer i, with its offset in bytes in argument word i
 *   the report buffer    where an operand is gathered: the kernel writes the first index that is out of range there
 *                        (common/device/report.c)
 *   a workspace          of the row forms PARTIAL and FOLD, and of products
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

/* How an operand's elements follow each other along the inner axis of the loop. */
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
    bool gathered; /* a load takes an index along one axis, whose extent and stride are words; 0 out of range */
    bool index;    /* LFUSE__PLACE_INDEX: no memory, but an offset and strides: a load gives the element's number */
    bool shape;    /* list kernels, the last operand: it holds how many matrices, rows and columns the member has */
    bool fixed;    /* all rows (row kernels, epilogues of products) or all members (list kernels) have the same memory
                      of it */
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
                      ITEM: elements of a row, LFUSE__SEGMENT at most; 0: any length.
                      PARTIAL, FOLD of team 0 on GPUs: work-items that share a segment */
    bool whole;    /* TEAM, GROUP: all rows have exactly team * held elements. ITEM: all have exactly `held` */
    int residents; /* TEAM: work-groups that a compute unit has registers for; 0: not known. No part of the text */
} lfuse__row_mapping;

/* Returns how many elements of a row the kernel has room for; 0: rows of any length. */
static inline uint64_t lfuse__rows_held(const lfuse__row_mapping *m)
{
    return m->form == LFUSE__ROWS_ITEM ? (uint64_t)m->held : (uint64_t)m->team * (uint64_t)m->held;
}

/* Returns whether the row kernel is one of two: PARTIAL reduces segments, FOLD reduces what PARTIAL found. */
static inline bool lfuse__rows_staged(const lfuse__row_mapping *m)
{
    return m->form == LFUSE__ROWS_PARTIAL || m->form == LFUSE__ROWS_FOLD;
}

/* The kernels that add scattered rows, in the order of their launches, and their operands: text/scatter.k. */
typedef enum lfuse__scatter_phase {
    LFUSE__SCATTER_KEYS,   /* operands: indices (looked up), keys */
    LFUSE__SCATTER_COUNT,  /* keys, counts */
    LFUSE__SCATTER_PREFIX, /* counts, in place */
    LFUSE__SCATTER_PLACE,  /* keys, counts, sorted keys */
    LFUSE__SCATTER_FIRSTS, /* keys, starts */
    LFUSE__SCATTER_SUM,    /* source, keys, starts, result */
    LFUSE__SCATTER_PHASES
} lfuse__scatter_phase;

/* What a list kernel has one element for in a member whose shape counts: matrix by matrix. */
typedef enum lfuse__list_kind {
    LFUSE__WALK_ELEMENTS, /* each element of each matrix */
    LFUSE__WALK_ROWS,     /* each row */
    LFUSE__WALK_COLUMNS   /* each column */
} lfuse__list_kind;

/* The first operands of a product's class: A, B, and the product itself as the epilogue loads it. Others follow. */
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
    int kept;         /* 1 + the operand, A or B, of which the solver keeps what it makes of it; 0: it keeps nothing */
    /* What a work-group computes at a time. On CPUs: a panel's rows, its lanes along the columns, and no depth. */
    int rows, columns, depth;    /* depth: along k */
    int item_rows, item_columns; /* a work-item's part of that */
    int slices;       /* parts of the depth, each of which other work-items sum */
    int prefetch;     /* k-tiles that are on their way from memory while one is multiplied */
    int occupancy;    /* groups of a compute unit that registers are limited for; 0: they are not */
    int split;        /* 0: a group sums all of k; else LFUSE__SPLIT_K or LFUSE__SPLIT_STREAM_K */
    bool counted;     /* NETWORK: results are handed on behind counters, not in tagged words */
    /* What solvers are chosen by; no part of the text, which follows from the solver and the body. */
    lfuse_precision precision; /* FULL; TF32: operands are rounded; others: they may be split */
    bool frozen[2];     /* A, or B, is in memory and the same in all runs of an instance */
    bool shared[2];     /* all products of a batch have one A, or one B; where that is known */
    int epilogue_work;  /* simple operations of the epilogue for an element */
    int prologue_work[2], prologue_bytes[2]; /* simple operations, and bytes that are loaded, for an element of A or B
                                                that is computed; else 0 */
    int epilogue_bytes; /* that a body with several stores loads and stores for an element, but for one store; else 0 */
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

/* Returns the list's part of the class of a list kernel. */
static inline const lfuse__list_class *lfuse__class_list(const lfuse__kernel_class *k)
{
    return k->family == LFUSE__FAMILY_GROUPED ? &k->members : &k->list;
}

/*
 * The sizes of a launch. Extents and strides are in elements, offsets in bytes (of INDEX operands in elements). Extents
 * are greater than 0, but for those of reduced axes.
 */
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

/* What a launch needs besides its buffers: work-groups, work-items of each, and argument words. */
typedef struct lfuse__packed {
    uint64_t groups;
    unsigned group, nwords;
    uint64_t words[LFUSE__MAX_WORDS];
} lfuse__packed;

/* Returns whether some operand is gathered, so that the kernel has a report buffer. */
bool lfuse__kernel_gathers(const lfuse__kernel_class *k);
/* Returns how many memory arguments a kernel has that is no list kernel: those that this file begins with. */
int lfuse__kernel_buffers(const lfuse__kernel_class *k);

/* Fills in the sizes of a loop over one element, whose scalars are lfuse__zeros. */
void lfuse__geometry_of_one(lfuse__geometry *g); /* layout.c */
enum { LFUSE__ZEROS = 32 };
extern const double lfuse__zeros[LFUSE__ZEROS];

/*
 * ---- rows.c, rows_choose.c: reductions along rows, and what is computed of them ----
 * A kernel reads the row once (a sweep), or several times where what one sweep reduces is needed in the next. Loads
 * that walk no reduced axis are of the row, and so is what is computed of such and of reductions alone. Every form
 * gives the bits of the canonical fold. Reduced extents may be 0: sums are then 0, products 1.
 */
/*
 * Sets k->rows: how `rows` rows of `length` elements are mapped to work-items. `fixed`: rows have this length whatever
 * the sizes of an instance are, so that the text may count on it. Where PARTIAL is chosen, the caller runs two kernels.
 */
void lfuse__rows_choose(const lfuse__facts *facts, uint64_t rows, uint64_t length, bool fixed,
                        lfuse__kernel_class *k);
/*
 * Chooses anew for a kernel that shares a launch, where the body has one sweep and rows of `length` elements are short
 * enough: rows that PARTIAL would take by two launches, or GROUP by work-groups of a size that others have not, are
 * those of a group of 256 each. Launches are shared by few rows, of small steps.
 */
void lfuse__rows_choose_shared(const lfuse__facts *facts, uint64_t length, lfuse__kernel_class *k);
/*
 * Fills `forms` with a class for each mapping that lfuse__rows_choose can choose for rows[0] ... rows[1] rows of
 * length[0] ... length[1] elements. Returns how many, at most LFUSE__ROW_FORMS. A class of the form PARTIAL stands for
 * two kernels: the other one differs in the form FOLD.
 */
enum { LFUSE__ROW_FORMS = 40 };
int lfuse__rows_forms(const lfuse__facts *facts, const uint64_t rows[2], const uint64_t length[2],
                      const lfuse__kernel_class *k, lfuse__kernel_class *forms);
/* Returns the bytes that PARTIAL leaves to FOLD, from geometry.partials on. Both take the same geometry and buffers. */
uint64_t lfuse__rows_partials(const lfuse__kernel_class *k, const lfuse__facts *facts, uint64_t rows, uint64_t length);
/* Returns how many work-groups of the form TEAM the device runs at a time: they stay for several rows. 0: no bound. */
uint64_t lfuse__rows_bound(const lfuse__facts *facts, const lfuse__kernel_class *k);
/* Returns a number of work-groups, at most `bound`, of which all but the last take equally many of `units` units. */
uint64_t lfuse__rows_even(uint64_t units, uint64_t bound);

/*
 * ---- scatter.c: rows are added to those that indices name ----
 * All memory is contiguous; keys, counts and starts have 8 bytes each. geometry.extents are these sizes:
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
/* Fills in the class of a phase, for elements of `type` and indices of type `indices`. Returns its operands' number. */
int lfuse__scatter_class(lfuse__scatter_phase phase, lfuse_type type, lfuse_type indices, lfuse__kernel_class *k);
/*
 * Fills in the sizes for `positions` indices, `rows` rows of the result and `rest` elements of each, and by how many
 * digits keys are sorted: COUNT, PREFIX and PLACE run once for each. ERR_UNSUPPORTED: beyond 2^31 positions or rows.
 */
lfuse_status lfuse__scatter_sizes(const lfuse__facts *facts, int64_t positions, int64_t rows, int64_t rest,
                                  int64_t *sizes, int *digits);
/* Sets the sizes for sorting by another digit; the lowest is 0. */
void lfuse__scatter_digit(const lfuse__facts *facts, int digit, int64_t *sizes);
/* Returns how many counts there are, for all runs and values of a digit. */
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
/* Returns how many argument words a pointwise or row kernel has that is in no bundle. */
int lfuse__bundle_class_words(const lfuse__kernel_class *k);
/*
 * Returns whether the device's argument block has room for `members` kernels in one launch, which have `words` argument
 * words together (those that the members of a part have in common are counted once), and at most `operands` operands
 * each.
 */
bool lfuse__bundle_fits(const lfuse__facts *facts, int members, int words, int operands);
/* Appends the text of a kernel `name`. ERR_UNSUPPORTED: the parts share no launch, or the words exceed what fits. */
lfuse_status lfuse__bundle_emit(lfuse__strbuf *out, const char *name, const lfuse__bundle *b,
                                const lfuse__facts *facts);
/*
 * Packs the words of a launch of all members. ERR_UNSUPPORTED: members differ in a word that their part calls equal, or
 * have more than LFUSE__GROUP_BOUND work-groups together.
 */
lfuse_status lfuse__bundle_pack(const lfuse__bundle *b, const lfuse__facts *facts,
                                const lfuse__bundle_member *members, lfuse__bundle_launch *launch);

/*
 * ---- multi.c, list.c: pointwise work on all members of lists ----
 *
 * Buffers:
 *   0     the chunk table: an lfuse__chunk for each chunk; a member without elements has none
 *   1     the address table: entry [operand * members + member] is two words, the address in the first; or, where
 *         facts.addresses is false, the offset in bytes in a block, and the block's number ("slot")
 *   2 ... where facts.addresses is false: LFUSE__MAX_SLOTS blocks of memory
 * Where the tables begin in their buffers are words that `pack` leaves 0 and the caller sets, multiples of 16.
 *
 * Operands:
 *   UNIT                    the elements of the members
 *   REPEAT                  one value for each member (lists of 0-d values)
 *   ROW, COLUMN, MATRIX     one value for each row, column or matrix of a member, where the last operand is its shape
 *   REPEAT, fixed, written  one value for the whole list, made of constants and of what all members share. The last
 *                           work-group to arrive stores it, when all have read what was there
 *
 * Where the class is `carried`, the members' chunks and addresses are argument words behind those that `pack` fills
 * (carried.c), and buffers 0 and 1 are NULL.
 */
enum {
    /* Argument words. Offsets are in bytes. */
    LFUSE__MULTI_LENGTH = 0,           /* carried: elements of a chunk that is not its member's last */
    LFUSE__MULTI_CHUNKS_OFFSET = 0,    /* else: the offset of the chunk table in buffer 0 */
    LFUSE__MULTI_ADDRESSES_OFFSET = 1, /* the offset of the address table in buffer 1 */
    LFUSE__MULTI_PARTIALS_OFFSET = 2,  /* the offset of the partials in buffer 2 (list_partial.k, list_lines.k) */
    LFUSE__MULTI_FIRST = 3,            /* the first chunk of the launch in the table */
    LFUSE__MULTI_CHUNKS = 4,           /* how many chunks the launch has */
    LFUSE__MULTI_MEMBERS = 5,          /* members of the list */
    LFUSE__MULTI_NUMBERS = 6           /* the first scalar */
};
typedef struct lfuse__chunk { /* 16 bytes, little-endian, as the kernels read it */
    uint32_t member;
    uint32_t length;  /* elements, at most LFUSE__CHUNK */
    uint64_t start;   /* element of the member; multiple of LFUSE__SEGMENT */
} lfuse__chunk;
enum { LFUSE__SEGMENT = 1024, LFUSE__CHUNK = 16384 };

/*
 * Returns how many elements the chunks of long members have: on GPUs one tile, so that all streams of the kernel are
 * read near one place (an H200 takes 5 % longer for AdamW with four tiles a group); on CPUs so many that the cost of a
 * chunk as such is small.
 */
int64_t lfuse__multi_chunk(const lfuse__kernel_class *k, const lfuse__facts *facts);
/* Packs a launch over `chunks` chunks from number `first_chunk` on, of a list of `members` members. */
lfuse_status lfuse__multi_pack(const lfuse__kernel_class *k, const lfuse__facts *facts, int64_t members,
                               int64_t first_chunk, int64_t chunks, const double *numbers, lfuse__packed *packed);
/* Returns whether something is stored once for the whole list. */
bool lfuse__multi_counts(const lfuse__kernel_class *k);
/*
 * Makes a packed launch the one that stores it, which is the last over its list. `ticket`: where in buffer 0 (which is
 * then not NULL) a 32-bit counter lies that is 0 before and after; `member`: one that the launch has the addresses of.
 */
void lfuse__multi_pack_last(const lfuse__kernel_class *k, uint64_t ticket, uint64_t member, lfuse__packed *packed);
/*
 * Members may have different scalars, group by group of neighbouring members. lfuse__multi_groups returns how many
 * groups a launch takes, at most LFUSE__NUMBER_GROUPS and fewer where the body has many scalars; 0: each group has a
 * launch to itself. lfuse__multi_pack_groups sets, in a packed launch, the scalars of `count` groups, numbers[count]
 * [body->nnumbers], and first[count], the first member of each; the kernel counts members from `base` on.
 */
enum { LFUSE__NUMBER_GROUPS = 8 };
int lfuse__multi_groups(const lfuse__body *body);
void lfuse__multi_pack_groups(const lfuse__kernel_class *k, int count, const int64_t *first, int64_t base,
                              const double *numbers, lfuse__packed *packed);
enum { LFUSE__CARRIED_MOST = 4096 /* members: more than any argument block has words */ };
/* Returns how many argument words a pointwise list kernel has, without those that are `carried`. */
int lfuse__multi_words(const lfuse__kernel_class *k);

/*
 * ---- carried.c: members whose chunks and addresses are argument words ----
 * Which kernel of a list has them decides what the words are:
 */
typedef enum lfuse__carry {
    LFUSE__CARRY_CHUNKS,  /* pointwise kernels: chunks, and the addresses of the operands that the body uses */
    LFUSE__CARRY_PARTIAL, /* PARTIAL, LINES, LINES_FOLD, GROUPED: chunks, and the addresses of all operands */
    LFUSE__CARRY_FOLD     /* FOLD: first chunks, and the addresses of operands with one value a member */
} lfuse__carry;
/* Returns how many members an argument block of `bytes` bytes has room for; 0: for none. */
int lfuse__carried_most(const lfuse__kernel_class *k, lfuse__carry carry, const lfuse__facts *facts, uint32_t bytes);
/* Returns how many words the kernel has, with those of its members. */
unsigned lfuse__carried_words(const lfuse__kernel_class *k, lfuse__carry carry);
/*
 * Sets the words of member number `place` of a launch. `first`: its first chunk, counted in the launch; `tail`: the
 * elements of its last chunk; the address of operand j is the two words entries[j * stride], as in an address table.
 */
void lfuse__carried_place(const lfuse__kernel_class *k, lfuse__carry carry, int place, uint64_t first, uint32_t tail,
                          const uint64_t *entries, int64_t stride, uint64_t *words);
/* Ends the words of a launch of `members` members in `chunks` chunks, and fills what is left of them. */
void lfuse__carried_end(const lfuse__kernel_class *k, lfuse__carry carry, int members, uint64_t chunks,
                        uint64_t *words);

/*
 * ---- members.c: reductions of the members of lists, and of whole lists ----
 *
 * A REDUCE of the body reduces the elements of each member, a TOTAL what all members have. k->naxes is 1. Operands are
 * UNIT (elements of members) or REPEAT (one value a member); those that are written are REPEAT, and `fixed` where the
 * whole list has one value. What is stored to `fixed` operands is made of TOTALs and of values of the whole list, what
 * is stored to others of anything but those.
 *
 * Two kernels, each in one launch or several, all launches of the first before those of the second:
 *
 *   PARTIAL   reduces each chunk, of at most LFUSE__SEGMENT elements, to a cell for each REDUCE. Buffers: those of
 *             pointwise kernels, but 2 is the scratch, and blocks begin at 3
 *   FOLD      reduces the cells of each member, and what the members have. Buffers: 0 the scratch; 1 tables: the first
 *             chunk of each member and the end of the last, and a 32-bit ticket, which is 0 before and after; 2 the
 *             address table; then the blocks
 *
 * Where the class is `carried`, chunks, first chunks and addresses are argument words.
 */
/* One launch. Offsets are in bytes in their buffers, that of the scratch is a multiple of 256. */
typedef struct lfuse__members_part {
    int64_t all, all_chunks;                 /* members and chunks of the list */
    int64_t first_chunk, chunks;             /* PARTIAL: of this launch */
    int64_t first_member, members;           /* FOLD: of this launch */
    int64_t stride;                          /* FOLD: entries that an operand has in the address table */
    uint64_t scratch;                        /* offset of the scratch */
    uint64_t table, entries, ticket;         /* FOLD: offsets of the first chunk, of the first entry, of the ticket */
    uint64_t arrivals;                       /* FOLD: work-groups of all its launches together */
    const double *numbers;
} lfuse__members_part;
/* Returns whether the body has REDUCEs; without, PARTIAL is not needed. */
bool lfuse__members_reduces(const lfuse__kernel_class *k);
/* Returns the bytes of scratch. *totals: where in it what waits for the TOTALs begins. */
uint64_t lfuse__members_scratch(const lfuse__kernel_class *k, int64_t members, int64_t chunks, uint64_t *totals);
/* Returns how many work-groups a launch of FOLD over `members` members has. */
uint64_t lfuse__members_groups(const lfuse__facts *facts, int64_t members);
lfuse_status lfuse__members_partial_pack(const lfuse__kernel_class *k, const lfuse__facts *facts,
                                         const lfuse__members_part *part, lfuse__packed *packed);
lfuse_status lfuse__members_fold_pack(const lfuse__kernel_class *k, const lfuse__facts *facts,
                                      const lfuse__members_part *part, lfuse__packed *packed);

/*
 * ---- members.c: reductions of the rows or columns ("lines") of the members of lists ----
 *
 * The body has one REDUCE. Operands are UNIT (elements of members), REPEAT (one value a member; of written ones, one a
 * line), and the shape, which is the last. Two launches walk the same chunks, which are made of cells: cell s * lines +
 * l of a member is segment s of its line l, so that neighbouring cells are of neighbouring lines.
 *
 *   LINES        reduces each segment to its cell in the scratch; buffers are those of PARTIAL above
 *   LINES_FOLD   reduces the cells of each line, where the first of them is; the buffers are the same
 */
typedef struct lfuse__lines_part { /* one launch */
    int64_t members;                         /* of the list */
    int64_t first_chunk, chunks, all_chunks; /* of this launch, of the list */
    int64_t length;                          /* cells of a chunk */
    uint64_t scratch;                        /* offset of the scratch in bytes */
    const double *numbers;
} lfuse__lines_part;
/* Return how many lines and how many cells a member has; a line without elements has one segment. */
int64_t lfuse__lines_count(const lfuse__kernel_class *k, int64_t matrices, int64_t rows, int64_t columns);
int64_t lfuse__lines_cells(const lfuse__kernel_class *k, int64_t matrices, int64_t rows, int64_t columns);
/* Returns the bytes of scratch for `chunks` chunks of `length` cells. */
uint64_t lfuse__lines_scratch(const lfuse__kernel_class *k, int64_t chunks, int64_t length);
/* Packs a launch of either kernel. */
lfuse_status lfuse__lines_pack(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__lines_part *part,
                               lfuse__packed *packed);

/* ---- table.c: writes words that travel in the argument block into a table in device memory (buffer 0) ---- */
enum { LFUSE__TABLE_WORDS = 96 };
/* Packs a launch that writes values[count] from byte `offset` of the buffer on. ERR_INVALID: there are too many. */
lfuse_status lfuse__table_pack(const lfuse__facts *facts, uint64_t offset, const uint64_t *values, int count,
                               lfuse__packed *packed);

/* Returns the word from which a kernel reads `number` as a register of `type`; it is rounded once, from f64. */
uint64_t lfuse__number_word(lfuse_type type, double number);

#endif
