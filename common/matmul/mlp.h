/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A chain of matrix products in one launch: the result of each, epilogue included, is the A of the next. For small
 * batches, where weights take longer to load than to multiply: a group loads the weights of a layer before the layer's
 * input is ready. Every work-group computes the same rows and columns of each product and hands what it has on,
 *   - few values in tagged words: the four bytes of a value with the number of its layer and launch beside it, stored
 *     and loaded as one. Who needs it reads it until the tag is right; nothing else is waited for. There are copies, so
 *     that no more than 16 groups read the same words over and over.
 *   - many (product.counted) as they are, behind a counter of the groups of a block of rows that have stored theirs.
 * Nothing is reset between launches: each knows how many there were before. All groups have to be running at the same
 * time: lfuse__launch_args.resident, facts.resident_groups.
 *
 * The class is a product's (problem.h), the same for all layers but for sizes: A, B, SUM, then the operands of the
 * epilogues, of which one is stored. The body holds a few epilogues, each a store to that operand; a layer has one of
 * them, and memory for the operands that this one loads. product.solver is NULL; `rows` and `columns`
 * are a group's, `depth` how many rows of B a work-item holds in registers: 256 / (columns / 4) work-items share the
 * rows of B. All B are stored row by row, or all column by column (product.tb): a work-item then has `along` rows of B
 * that are neighbours in memory, in place of neighbouring columns. Matrices are f32, f16 or bf16, all of the same type;
 * what is handed on is f32 and not rounded to it, as within any kernel. Numbers are the same for all layers; indices do
 * not occur in the body.
 *
 * Sums are by fma over the rows of B that a work-item has, then by halves within a team of 32, then over teams, all in
 * a fixed order that depends on the class alone.
 */
#ifndef COMMON_MATMUL_MLP_H
#define COMMON_MATMUL_MLP_H

#include "common/matmul/problem.h"

/* Where an operand lies: an address on the device, and elements from row to row and from column to column. */
typedef struct lfuse__network_place {
    uint64_t address;
    int64_t row, column;
} lfuse__network_place;

typedef struct lfuse__network_layer {
    int64_t n, k;
    int kind; /* its epilogue: the body's store of that number */
    /* In the order of the class. B is contiguous along columns, or along rows where product.tb is set. Operands that
       this layer's epilogue does not load have the address 0. */
    lfuse__network_place operands[LFUSE__MAX_OPERANDS];
} lfuse__network_layer;

/* A and what is stored are those of the first and the last layer; the workspace is the launch's one buffer. */
typedef struct lfuse__network {
    int64_t m;
    int nlayers;
    const lfuse__network_layer *layers;
    const double *numbers; /* [body->nnumbers] */
    uint64_t workspace; /* byte offset in the buffer, a multiple of 256 */
} lfuse__network;

/* Returns whether the device says which of its work-groups run at the same time. */
bool lfuse__network_runs_on(const lfuse__facts *facts);
/* lfuse__matmul_advice says what it returns. */
bool lfuse__network_pays(const lfuse__facts *facts, lfuse_type type, int count, const lfuse__matmul_sizes *layers);
/*
 * Completes the class for sizes: each layer has n and k. ERR_UNSUPPORTED where there is no shape whose groups are all
 * running at the same time, or too much for a work-item.
 */
lfuse_status lfuse__network_choose(const lfuse__facts *facts, const lfuse__network *network, lfuse__kernel_class *c);
/* Returns the bytes of the workspace, which holds zeros before the first launch and is left alone between launches. */
uint64_t lfuse__network_workspace(const lfuse__kernel_class *c, const lfuse__network *network);

/* Appends the text of a kernel `name` of the class; an error where the class is not what the head of this file says. */
lfuse_status lfuse__network_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c,
                                 const lfuse__facts *facts);
/* Sets the argument words and the groups of a launch. */
void lfuse__network_pack(const lfuse__kernel_class *c, const lfuse__network *network, lfuse__packed *packed);

/* ---- what mlp.c and mlp_text.c share: argument words ---- */
enum {
    LFUSE__NETWORK_ROWS,   /* m */
    LFUSE__NETWORK_ACROSS, /* groups side by side */
    LFUSE__NETWORK_COUNT,  /* of layers */
    LFUSE__NETWORK_SPACE,  /* byte offset of the workspace: two counters for the groups of each block of rows */
    LFUSE__NETWORK_DATA,   /* from there to the words that are handed on, */
    LFUSE__NETWORK_BLOCK,  /* bytes of a block of rows, */
    LFUSE__NETWORK_HALF,   /* from those of even layers to those of odd ones, */
    LFUSE__NETWORK_COPY,   /* and from copy to copy */
    LFUSE__NETWORK_COPIES,
    LFUSE__NETWORK_A,      /* address, row, column */
    LFUSE__NETWORK_OUT = LFUSE__NETWORK_A + 3,
    LFUSE__NETWORK_HEAD = LFUSE__NETWORK_OUT + 3, /* the numbers, then the layers */
    /* of each layer */
    LFUSE__NETWORK_B = 0,  /* address */
    LFUSE__NETWORK_SIZES,  /* n, and k above it */
    LFUSE__NETWORK_LD,     /* bit VECTORS, from bit KIND on the epilogue, from bit STEP on the leading dimension of B */
    LFUSE__NETWORK_OWN,    /* address, row, column of each operand of the epilogue that is loaded */
    /* Each block of rows has two counters: of groups that have begun, and of groups that have stored their results. */
    LFUSE__NETWORK_APART = 256, /* bytes from the counters of a block to those of the next, */
    LFUSE__NETWORK_SECOND = 128 /* and from the first counter to the second */
};
enum {
    LFUSE__NETWORK_VECTOR = 4, /* columns of a work-item */
    /* bits of a layer's word LD */
    LFUSE__NETWORK_VECTORS = 0, /* B can be loaded in vectors */
    LFUSE__NETWORK_KIND = 1,
    LFUSE__NETWORK_STEP = 8
};
/* Returns how many rows of B a work-item loads together, where they are neighbours; 1 where columns are. */
static inline int lfuse__network_along(const lfuse__product_class *p)
{
    return !p->tb ? 1 : p->depth < LFUSE__NETWORK_VECTOR ? p->depth : LFUSE__NETWORK_VECTOR;
}
/*
 * Returns how many rows of local memory those of a work-item are apart, so that stores of neighbouring rows of B fall
 * on other banks.
 */
static inline int lfuse__network_pitch(const lfuse__product_class *p)
{
    const int sharers = LFUSE__GROUP / (p->columns / LFUSE__NETWORK_VECTOR);

    return sharers + (lfuse__network_along(p) > 1);
}
/*
 * head returns the number of the first layer's first argument word, record how many words a layer has, and slot the
 * number of the word of operand j, counted from the layer's first one.
 */
int lfuse__network_head(const lfuse__kernel_class *c);
int lfuse__network_record(const lfuse__kernel_class *c);
int lfuse__network_slot(const lfuse__kernel_class *c, int j);

#endif
