/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the families share that write texts. Every kernel has two forms:
 *
 *   items   for GPUs: groups of 256 work-items of one lane; a work-item has `slots` elements at a time, all of which it
 *           loads before it computes, in vectors of up to 16 bytes where the addresses allow it
 *   lanes   for CPUs: groups of one work-item, which has LANES elements at a time; the last ones go through the same
 *           code
 *
 * Names in the texts, for operand j and register or instruction i of the body:
 *
 *   p<j>          where its memory begins
 *   b<j>, o<j>    offsets, in elements: of a row, of an element
 *   x<j>, y<j>    values that are loaded, values to store
 *   r<i>          register i
 *   g<i>, n<i>    gathered load i: what it finds, and its index, -1 where that is out of range
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

/* What the text of a list kernel depends on besides t->k. */
typedef struct lfuse__of_list {
    const lfuse__kernel_class *k; /* all of it: the text's class may be a part */
    const lfuse__facts *facts;
    lfuse__carry carry;
} lfuse__of_list;

/* One kernel being written. */
typedef struct lfuse__text {
    lfuse__strbuf *out;
    const lfuse__kernel_class *k;
    const lfuse__layout *layout;      /* NULL in list kernels, where an offset is the element's index, or 0 */
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

/* Appends a line: `indent` times four spaces, the text, a newline. */
void lfuse__put(lfuse__strbuf *out, int indent, const char *format, ...) LFUSE_PRINTF(3, 4);
/* An expression of the dialect, for one use: lfuse__put(out, 1, "x = %s;", lfuse__expression("o%d", j).text). */
typedef struct lfuse__expr {
    char text[160];
} lfuse__expr;
lfuse__expr lfuse__expression(const char *format, ...) LFUSE_PRINTF(1, 2);
/*
 * Appends the head of a kernel, its opening brace and the word BEGIN. Before that word a kernel touches no memory: what
 * earlier kernels of the stream store may not be there yet, and they may still read. To come there twice is as good as
 * once.
 */
#define LFUSE__BEGIN "BEGIN"
void lfuse__put_kernel(lfuse__strbuf *out, const char *name, int group, int words, int buffers);

/* Return what the dialect calls a type in memory ("f16", "bool" ...), and in registers ("f32", "b" ...). */
const char *lfuse__memory_word(lfuse_type type);
const char *lfuse__register_word(lfuse_type type);
unsigned lfuse__type_bytes(lfuse_type type);

/* check.c: checks all that texts take for granted of a name and a class. ERR_INVALID, ERR_TYPE, ERR_UNSUPPORTED. */
lfuse_status lfuse__class_check(const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts);

/* ---- layout.c: the argument words of pointwise kernels, row kernels and scans ---- */
/* Fills in where they are. */
void lfuse__layout_make(const lfuse__kernel_class *k, lfuse__layout *layout);
/*
 * Returns what DIV32(n, factor, shift) of the dialect divides n < 2^31 by d with: the factor, and above its 32 bits the
 * shift. d is 1 ... 2^31.
 */
uint64_t lfuse__division32(uint64_t d);
/* ERR_UNSUPPORTED: a kernel has not so many argument words. */
lfuse_status lfuse__layout_check(const lfuse__kernel_class *k, const lfuse__layout *layout);
/* Packs what the sizes decide. ERR_OVERFLOW: they do not fit the class. */
lfuse_status lfuse__geometry_pack(const lfuse__kernel_class *k, const lfuse__layout *layout, const lfuse__geometry *g,
                                  lfuse__packed *packed);
/*
 * Packs what may differ in another run of the same sizes: offsets, whether vectors of `vector` elements are aligned (0:
 * the kernel has none), where reports and partial results go, and scalars.
 */
void lfuse__geometry_rebind(const lfuse__kernel_class *k, const lfuse__layout *layout, const lfuse__geometry *g,
                            int vector, lfuse__packed *packed);
/* Returns whether vectors of `vector` elements along the inner axis of the loop are aligned, for every operand. */
bool lfuse__geometry_aligned(const lfuse__kernel_class *k, const lfuse__geometry *g, int vector);
/* Packs numbers[body->nnumbers], each rounded to its type: number.c. */
void lfuse__numbers_pack(const lfuse__body *body, const double *numbers, uint64_t *words);

/* Appends the text of common/base/power.k, which stands before kernels whose body takes powers. */
void lfuse__put_powers(lfuse__strbuf *out, const lfuse__body *body);

/* ---- uniform.c: what is the same for all elements of the loop is computed once, before the loop ---- */
/* Sets t->uniform and t->steady. Operands are meant that repeat along all of the loop: of a list's chunk, of rank 1. */
void lfuse__uniform_find(lfuse__text *t);
/* A place: appends x<j> and r<i> of all that is uniform, with p<j> in scope. */
void lfuse__put_uniform(const void *text, int which, int indent);
/* Appends x<j> of one such operand. */
void lfuse__put_steady(const lfuse__text *t, int indent, int j);

/* ---- body.c: the fused body, over x<j><index>; what is uniform is in scope ---- */
/* Appends all instructions, and y<j><index> from them. */
void lfuse__put_body(const lfuse__text *t, int indent, const char *index);
/* Appends instruction `at`. */
void lfuse__put_instr(const lfuse__text *t, int indent, int at, const char *index);
/* Appends the instructions that register `reg` is computed from, its own among them. */
void lfuse__put_slice(const lfuse__text *t, int indent, int reg, const char *index);

/*
 * ---- gather.c: loads that take an index, a register of the body ----
 * They stand behind the loads that their index is computed from.
 */
static inline bool lfuse__is_gather(const lfuse__kernel_class *k, const lfuse__instr *instr)
{
    return instr->kind == LFUSE__I_LOAD && k->operands[instr->a].gathered;
}
/* Returns whether the index of gathered load `at` is the same all along the inner axis. */
bool lfuse__gather_steady(const lfuse__kernel_class *k, int at);
/* Appends n<at> from the index `value`; both are expressions, and `element` is the element's number in a report. */
void lfuse__put_look_up(const lfuse__text *t, int indent, int at, const char *value, const char *element);
/* Returns what n<at>, where it is not negative, adds to an offset. */
lfuse__expr lfuse__look_up_offset(const lfuse__text *t, int at);
/* Appends `reports`, the report buffer, where an operand is gathered. */
void lfuse__put_reports(const lfuse__text *t, int indent);

/* ---- list.c: parts of list kernels ---- */
/* Checks what all of them take for granted. ERR_INVALID, ERR_UNSUPPORTED. */
lfuse_status lfuse__list_check(const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts);
/* Returns how many memory arguments there are: `own`, and the blocks where facts.addresses is false. */
int lfuse__list_buffers(const lfuse__facts *facts, int own);
/* Returns how many argument words the scalars have, those that choose them by group among them. */
int lfuse__list_number_words(const lfuse__kernel_class *k);
/* Returns how many of these words a kernel can have. */
int lfuse__list_most_words(void);
/* Returns how many argument words the kernel has in all, carried ones among them. */
int lfuse__list_words(const lfuse__text *t);
/* Packs a launch that walks chunks; a group takes `each` of them, and scalars are words from `first_number` on. */
lfuse_status lfuse__list_pack(const lfuse__kernel_class *k, const lfuse__facts *facts, bool single, uint64_t each,
                              int first_number, int64_t members, int64_t first_chunk, int64_t chunks,
                              const double *numbers, lfuse__packed *packed);

/* The next three are places: `text` is an lfuse__text with `list`, or a structure that begins with one. */
/* Appends lfuse__put_arguments where members' words are asked for by an index. */
void lfuse__put_list_arguments(const void *text, int items, int indent);
/* Appends group_stride.k; each 0: SINGLE. */
void lfuse__put_group_stride(const void *text, int each, int indent);
/*
 * Appends list_chunk.k; vector 0: only where the chunk is. p<j> goes forward to its first element, or stays where the
 * member begins (t->still).
 */
void lfuse__put_list_chunk(const void *text, int vector, int indent);
/* Appends list_operand.k: p<j> of a member. */
void lfuse__put_list_operand(const lfuse__text *t, int indent, int j, const char *member);
/*
 * Appends what copies the argument words to local memory, where facts.staged_arguments: the compilers of such devices
 * copy all words to private memory where one is asked for by an index. A word is asked for by what argument_word
 * returns.
 */
void lfuse__put_arguments(lfuse__strbuf *out, int indent, const lfuse__facts *facts, int words, int items);
const char *lfuse__argument_word(const lfuse__facts *facts);
/* Appends list_broadcast.k, which stands before kernels whose class has a shape. */
void lfuse__put_line_functions(lfuse__strbuf *out, const lfuse__kernel_class *k);

/* carried.c: return which word has the first member's address of an operand, and which its first chunk. */
int lfuse__carried_first(const lfuse__kernel_class *k, lfuse__carry carry, int operand);
int lfuse__carried_chunks(const lfuse__kernel_class *k, lfuse__carry carry);

/* ---- items.c, lanes.c, access.c, text.c: parts of kernels ---- */
void lfuse__text_init(lfuse__text *t, lfuse__strbuf *out, const lfuse__kernel_class *k, const lfuse__layout *layout);
/* Sets t->vector, t->chunks and t->slots; `vector` 0: vectors of up to 16 bytes of the widest operand. */
void lfuse__items_shape(lfuse__text *t, int vector);
/* Returns how many elements a group of the items form has at a time. */
unsigned lfuse__items_tile(const lfuse__text *t);
/* Appends p<j> of all operands, and `reports`. */
void lfuse__put_memory(const lfuse__text *t);
/* Appends o<j> or b<j> of the operands that `which` names, from the linear index `index`. */
enum {
    LFUSE__AT_LOADED = 1,
    LFUSE__AT_STORED = 2,
    LFUSE__AT_ROW = 4,      /* b<j>; the inner axis' index is j */
    LFUSE__AT_GATHERED = 8  /* without the place along the gathered axis */
};
void lfuse__put_offsets(const lfuse__text *t, int indent, const char *index, int which);
/* Appends o<j> of one operand. */
void lfuse__put_offset(const lfuse__text *t, int indent, const char *index, int operand);
/* Returns the stride of an axis. */
lfuse__expr lfuse__stride(const lfuse__text *t, int operand, int axis);
/* Appends what loads t->vector elements from offset `at` to the words of chunk `chunk` in q<j>. */
void lfuse__put_block_load(const lfuse__text *t, int indent, int operand, const char *chunk, const char *at);
/* Appends what stores t->vector elements, the words of the array `words`, to offset o<j>. */
void lfuse__put_block_store(const lfuse__text *t, int indent, int operand, const char *words);
/* Both make the expression of the element of operand j at offset `at`. */
void lfuse__put_load(const lfuse__text *t, int j, const char *at, char *text, size_t size);
lfuse__expr lfuse__load(const lfuse__text *t, int j, const char *at);
/* Returns whether the operand of a list kernel has an element for each row, column or matrix. */
bool lfuse__repeats_lines(const lfuse__kernel_operand *o);
/*
 * Returns the offset of the element that is `ahead` elements behind the one at o<j> or b<j> (letter o, b) along the
 * inner axis; NULL: of that one itself. Where the operand has an element for each row, column or matrix, it is that of
 * element number `index` of the chunk.
 */
lfuse__expr lfuse__offset_ahead(const lfuse__text *t, int j, char letter, const char *ahead, const char *index);
/* Returns whether neighbours along the inner axis are neighbours in memory, so that vectors of them can be loaded. */
static inline bool lfuse__in_blocks(const lfuse__kernel_operand *o)
{
    return o->inner == LFUSE__STRIDE_UNIT && !o->index;
}
/* Appends o<j> of element number `place` of the row at b<j>. */
void lfuse__put_row_place(const lfuse__text *t, int indent, int operand, const char *place);
/* Returns how many 32-bit words t->vector elements have. */
int lfuse__block_words(const lfuse__text *t, int operand);
/* Places: pointwise_tile.k, with start, n and vectors in scope, and pointwise_lanes.k, with first and last. */
void lfuse__put_tile(const void *text, int which, int indent);
void lfuse__put_lanes(const void *text, int which, int indent);

/* Returns whether a team is one work-item, and so is a group. */
static inline bool lfuse__single(const lfuse__facts *facts)
{
    return facts->vector_lanes || facts->simd <= 1;
}

/* Returns how many groups a launch over `units` units of work has, of which a group takes `each` at a time. */
uint64_t lfuse__groups(const lfuse__facts *facts, bool single, uint64_t units, uint64_t each);

#endif
