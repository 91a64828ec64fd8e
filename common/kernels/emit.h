/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the families of kernel texts share. Two forms of every skeleton:
 *   items   GPUs: groups of 256 work-items, one lane each; a work-item holds `slots` elements at a time, which it loads
 *           all before it computes, in vectors of up to 16 bytes where the addresses allow it
 *   lanes   CPUs: groups of one work-item, LANES elements at a time; what is left at an end goes through the same code
 * Names in the texts: operand j has memory p<j>, offset o<j> or b<j>, loaded values x<j>, values to store y<j>;
 * register i of the body is r<i>; what gathered load i of it finds is g<i>.
 */
#ifndef COMMON_KERNELS_EMIT_H
#define COMMON_KERNELS_EMIT_H

#include "common/kernels/kernel.h"

enum {
    LFUSE__MAX_INSTRUCTIONS = 4096, /* of a body */
    LFUSE__GROUP = 256,
    /* Work-items that exchange values, whatever the width of a warp: the canonical order of sums has 4 x 32 lanes. */
    LFUSE__TEAM = 32,
    LFUSE__LANE_GROUPS = 64  /* groups of the lanes form when the facts give no number */
};

/* Where the argument words of a pointwise or row kernel are; words 0 ... noperands - 1: the operands' byte offsets. */
typedef struct lfuse__layout {
    int axes;      /* that a linear index is split into: all, or all but the reduced ones */
    int count;     /* elements or rows */
    int flags;     /* 1: vectors allowed */
    int length;    /* of a row (row kernels) */
    int segments;  /* of a row (PARTIAL, FOLD) */
    int partials;  /* byte offset of the partial results (PARTIAL, FOLD) */
    int division;  /* of axes 1 ... axes - 1 */
    int shifts;
    int row_division; /* of the reduced axes but the first, where an operand is SPLIT */
    int row_shifts;
    int strides;
    int gathers;   /* reporter, offset of the reports, then extent and stride of each gathered operand */
    int numbers;
    int total;
    int slot[LFUSE__MAX_OPERANDS][LFUSE_MAX_RANK]; /* of the stride, -1: none is needed */
    int gather[LFUSE__MAX_OPERANDS]; /* word of the extent, the stride follows; -1: none */
} lfuse__layout;

/* What a list kernel is written for. */
typedef struct lfuse__of_list {
    const lfuse__kernel_class *k; /* all of it: the text's class may be a part */
    const lfuse__facts *facts;
    lfuse__carry carry;
} lfuse__of_list;

/* One kernel being written. */
typedef struct lfuse__text {
    lfuse__strbuf *out;
    const lfuse__kernel_class *k;
    const lfuse__layout *layout;      /* NULL in list kernels: an offset is the element's index, or 0 */
    int numbers;                      /* word of the first number */
    lfuse__of_list list;
    bool still;                       /* list kernels: p<j> stay where the member begins, not the chunk */
    const char *pitch;                /* row kernels: what neighbours of a row are apart; NULL: one element */
    bool grouped;                     /* numbers are variables n_<i>, chosen by group */
    bool loaded[LFUSE__MAX_OPERANDS]; /* by the body, from where the loop stands: not gathered */
    bool stored[LFUSE__MAX_OPERANDS];
    bool steady[LFUSE__MAX_OPERANDS]; /* loaded once, before the loop, for what is uniform: not among `loaded` */
    bool uniform[LFUSE__MAX_INSTRUCTIONS]; /* registers that are the same for all elements of the loop */
    int vector, chunks, slots;        /* items form: elements of a vector, vectors of a work-item, their product */
    const char *ux, *ix;              /* types of linear indices and of offsets */
} lfuse__text;

/* A line: `indent` times four spaces, the text, a newline. */
void lfuse__put(lfuse__strbuf *out, int indent, const char *format, ...) LFUSE_PRINTF(3, 4);
/* An expression of the dialect, for one use: lfuse__put(out, 1, "x = %s;", lfuse__expression("o%d", j).text). */
typedef struct lfuse__expr {
    char text[160];
} lfuse__expr;
lfuse__expr lfuse__expression(const char *format, ...) LFUSE_PRINTF(1, 2);
/*
 * A kernel's head, its opening brace and the word before which a kernel touches no memory: what earlier kernels of the
 * stream stored may not be there yet, nor what they read be done with. Coming there twice is as good as once.
 */
#define LFUSE__BEGIN "BEGIN"
void lfuse__put_kernel(lfuse__strbuf *out, const char *name, int group, int words, int buffers);

/* "f32" ... "bool" of memory; "f32", "f64", "i32", "b" of registers. */
const char *lfuse__memory_word(lfuse_type type);
const char *lfuse__register_word(lfuse_type type);
unsigned lfuse__type_bytes(lfuse_type type);

/* check.c: everything that the emitters take for granted. ERR_INVALID, ERR_TYPE, ERR_UNSUPPORTED. */
lfuse_status lfuse__class_check(const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts);

/* layout.c */
void lfuse__layout_make(const lfuse__kernel_class *k, lfuse__layout *layout);
lfuse_status lfuse__layout_check(const lfuse__kernel_class *k, const lfuse__layout *layout);
lfuse_status lfuse__geometry_pack(const lfuse__kernel_class *k, const lfuse__layout *layout, const lfuse__geometry *g,
                                  lfuse__packed *packed);
/*
 * The words that differ in another run of the same sizes: offsets, whether vectors of `vector` elements are aligned (0:
 * the kernel has none), reports, partials and scalars.
 */
void lfuse__geometry_rebind(const lfuse__kernel_class *k, const lfuse__layout *layout, const lfuse__geometry *g,
                            int vector, lfuse__packed *packed);
/* Whether runs of `vector` elements along the inner axis of the loop are aligned for every operand. */
bool lfuse__geometry_aligned(const lfuse__kernel_class *k, const lfuse__geometry *g, int vector);
void lfuse__numbers_pack(const lfuse__body *body, const double *numbers, uint64_t *words);

/* Before a kernel: the text of common/base/power.k, where the body takes powers. */
void lfuse__put_powers(lfuse__strbuf *out, const lfuse__body *body);

/*
 * uniform.c: what a body computes of numbers and of repeated operands alone is computed once, before the loop over the
 * elements: not at all in each of them. `lfuse__uniform_find` takes operands that repeat all along the loop, and in
 * kernels of one tensor loop those of rank 1 alone; `put` (a place) writes x<j> and r<i>, for which p<j> is in scope;
 * `put_steady` writes one x<j>.
 */
void lfuse__uniform_find(lfuse__text *t);
void lfuse__put_uniform(const void *text, int which, int indent);
void lfuse__put_steady(const lfuse__text *t, int indent, int j);

/* body.c: the body's instructions over x<j><index>, and y<j><index> from them; what is uniform is in scope. */
void lfuse__put_body(const lfuse__text *t, int indent, const char *index);
/* One instruction of it, and those that register `reg` is computed from, itself among them. */
void lfuse__put_instr(const lfuse__text *t, int indent, int at, const char *index);
void lfuse__put_slice(const lfuse__text *t, int indent, int reg, const char *index);

/*
 * gather.c: loads whose place along one axis is a register. For gathered load `at` of the body, which comes after the
 * loads that its index is made of; `element` numbers it in a report.
 */
static inline bool lfuse__is_gather(const lfuse__kernel_class *k, const lfuse__instr *instr)
{
    return instr->kind == LFUSE__I_LOAD && k->operands[instr->a].gathered;
}
/* Whether the index is the same all along the inner axis, so that the elements are neighbours in memory. */
bool lfuse__gather_steady(const lfuse__kernel_class *k, int at);
/* n<at> from the index `value` (an expression): checked, -1 when it is out of range. */
void lfuse__put_look_up(const lfuse__text *t, int indent, int at, const char *value, const char *element);
/* What n<at>, when it is not negative, adds to an element offset. */
lfuse__expr lfuse__look_up_offset(const lfuse__text *t, int at);
/* `reports`, where the kernel looks things up. */
void lfuse__put_reports(const lfuse__text *t, int indent);

/* list.c: what every list kernel takes for granted. */
lfuse_status lfuse__list_check(const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts);
/* Memory arguments: its own, and the blocks where addresses are slots. */
int lfuse__list_buffers(const lfuse__facts *facts, int own);
/* Argument words: of the numbers, of which a kernel can take so many; and of the kernel, members' places included. */
int lfuse__list_number_words(const lfuse__kernel_class *k);
int lfuse__list_most_words(void);
int lfuse__list_words(const lfuse__text *t);
/* Words of kernels that walk chunks; the numbers stand from `first_number` on. */
lfuse_status lfuse__list_pack(const lfuse__kernel_class *k, const lfuse__facts *facts, bool single, uint64_t each,
                              int first_number, int64_t members, int64_t first_chunk, int64_t chunks,
                              const double *numbers, lfuse__packed *packed);

/*
 * Parts of list kernels' texts. `text` is an lfuse__text with `list`, or a structure that begins with one, so that they
 * can be given as places of a kernel's text.
 */
void lfuse__put_list_arguments(const void *text, int items, int indent);
void lfuse__put_group_stride(const void *text, int each, int indent); /* group_stride.k; each 0: SINGLE */
/*
 * list_chunk.k; vector 0: only where the chunk is. p<j> goes forward to its first element, or where t->still, stays
 * where the member begins.
 */
void lfuse__put_list_chunk(const void *text, int vector, int indent);
void lfuse__put_list_operand(const lfuse__text *t, int indent, int j, const char *member); /* list_operand.k */
/*
 * The argument words in local memory, on devices whose compiler would copy all of them to private memory where one is
 * asked for by an index; neighbouring lines of words are copied by different teams. A word is then asked for by what
 * argument_word says.
 */
void lfuse__put_arguments(lfuse__strbuf *out, int indent, const lfuse__facts *facts, int words, int items);
const char *lfuse__argument_word(const lfuse__facts *facts);
/* list_broadcast.k before a kernel, where the class has a shape. */
void lfuse__put_line_functions(lfuse__strbuf *out, const lfuse__kernel_class *k);

/* carried.c: the word of the first member's address of an operand, and that of its first chunk. */
int lfuse__carried_first(const lfuse__kernel_class *k, lfuse__carry carry, int operand);
int lfuse__carried_chunks(const lfuse__kernel_class *k, lfuse__carry carry);

/* items.c, lanes.c, access.c: parts of skeletons */
void lfuse__text_init(lfuse__text *t, lfuse__strbuf *out, const lfuse__kernel_class *k, const lfuse__layout *layout);
/* Vector width and chunks of the items form; `vector` 0: as wide as 16 bytes of the widest operand allow. */
void lfuse__items_shape(lfuse__text *t, int vector);
unsigned lfuse__items_tile(const lfuse__text *t); /* elements of a group at a time */
void lfuse__put_memory(const lfuse__text *t);     /* p<j> = buffer + offset */
/* o<j> or b<j> of the operands in `which` (stored or loaded) from the linear index `index`. */
enum {
    LFUSE__AT_LOADED = 1,
    LFUSE__AT_STORED = 2,
    LFUSE__AT_ROW = 4,      /* b<j>; the inner axis' index is j */
    LFUSE__AT_GATHERED = 8  /* without the place along the gathered axis */
};
void lfuse__put_offsets(const lfuse__text *t, int indent, const char *index, int which);
void lfuse__put_offset(const lfuse__text *t, int indent, const char *index, int operand); /* o<operand> */
lfuse__expr lfuse__stride(const lfuse__text *t, int operand, int axis);
/* q<j> holds `vector` elements a chunk: loads one chunk from element offset `at`. */
void lfuse__put_block_load(const lfuse__text *t, int indent, int operand, const char *chunk, const char *at);
/* Stores a vector, the 32-bit words of the array `words`, to o<j>. */
void lfuse__put_block_store(const lfuse__text *t, int indent, int operand, const char *words);
/* The element of operand j at element offset `at`, as an expression; and whether vectors of them can be loaded. */
void lfuse__put_load(const lfuse__text *t, int j, const char *at, char *text, size_t size);
lfuse__expr lfuse__load(const lfuse__text *t, int j, const char *at);
/* Operands with an element for each row, column or matrix; where that of element `index` of the chunk is. */
bool lfuse__repeats_lines(const lfuse__kernel_operand *o);
/*
 * The offset of the element that is `ahead` elements behind the one at o<j> or b<j> (letter o, b) along the inner axis;
 * NULL: of that one itself. Where the operand has an element for each row, column or matrix, it is that of element
 * number `index` of the chunk.
 */
lfuse__expr lfuse__offset_ahead(const lfuse__text *t, int j, char letter, const char *ahead, const char *index);
static inline bool lfuse__in_blocks(const lfuse__kernel_operand *o)
{
    return o->inner == LFUSE__STRIDE_UNIT && !o->index;
}
/* o<j> of element number `place` of the row that stands at b<j>. */
void lfuse__put_row_place(const lfuse__text *t, int indent, int operand, const char *place);
int lfuse__block_words(const lfuse__text *t, int operand);
/* Places of kernels: pointwise_tile.k, where start, n and vectors are in scope; pointwise_lanes.k: first and last. */
void lfuse__put_tile(const void *text, int which, int indent);
void lfuse__put_lanes(const void *text, int which, int indent);

/* A team is one work-item. */
static inline bool lfuse__single(const lfuse__facts *facts)
{
    return facts->vector_lanes || facts->simd <= 1;
}

/* Groups for `units` of work, one group taking `each` of them. */
uint64_t lfuse__groups(const lfuse__facts *facts, bool single, uint64_t units, uint64_t each);

#endif
