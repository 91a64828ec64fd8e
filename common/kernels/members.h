/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the kernels of a step that reduces lists share. Its body is taken apart into two row kernels: `member`, whose
 * rows are the members, and `list`, whose one row has what `member` found for the TOTALs, one element a member. Between
 * the two that lies in memory: operand `first` + t of both is that of TOTAL t.
 */
#ifndef COMMON_KERNELS_MEMBERS_H
#define COMMON_KERNELS_MEMBERS_H

#include "common/kernels/rows.h"

enum { LFUSE__MEMBERS_INSTR = LFUSE__ROW_INSTR };

typedef struct lfuse__members_row {
    lfuse__rows rows;
    lfuse__kernel_class k;
    lfuse__body body;
    lfuse__instr instr[LFUSE__MEMBERS_INSTR];
    lfuse__store stores[2 * LFUSE__MAX_OPERANDS];
} lfuse__members_row;

typedef struct lfuse__members {
    lfuse__members_row member, list;
    int first, ntotals; /* the operands of the TOTALs: the first, how many */
} lfuse__members;

/* Argument words, before the numbers. The first five are those of every list kernel. */
enum {
    LFUSE__MEMBERS_CELLS = 6, /* PARTIAL: chunks of the whole list, rounded up as its cells are */
    LFUSE__MEMBERS_PARTIAL_NUMBERS,
};
enum { /* FOLD */
    LFUSE__FOLD_PARTIALS, /* byte offsets; of the scratch */
    LFUSE__FOLD_TOTALS,
    LFUSE__FOLD_TABLE,    /* of the tables */
    LFUSE__FOLD_ENTRIES,
    LFUSE__FOLD_TICKET,
    LFUSE__FOLD_MEMBERS,  /* of this launch */
    LFUSE__FOLD_FIRST,    /* of them */
    LFUSE__FOLD_STRIDE,   /* entries an operand */
    LFUSE__FOLD_ALL,      /* members of the list */
    LFUSE__FOLD_CELLS,
    LFUSE__FOLD_ARRIVALS, /* groups of all launches; 0: nobody arrives */
    LFUSE__FOLD_NUMBERS
};

/*
 * Takes the body of a list kernel apart, whose text is to be appended to `out`. The result is freed by free().
 * ERR_INVALID, ERR_UNSUPPORTED, ERR_MEMORY.
 */
lfuse_status lfuse__members_create(lfuse__strbuf *out, const lfuse__kernel_class *k, const lfuse__facts *facts,
                                   lfuse__carry carry, lfuse__members **members);

#endif
