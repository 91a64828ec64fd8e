/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the texts for teams share: rows_chunks.c, elements; rows_team.c, folds and rows. */
#ifndef COMMON_KERNELS_ROWS_TEAM_H
#define COMMON_KERNELS_ROWS_TEAM_H

#include "common/kernels/rows.h"

/* How elements that are neighbours in memory are loaded and stored. */
typedef enum lfuse__access {
    LFUSE__ACCESS_ASK,     /* in vectors where the variable `vectors` says so, which the text asks each time */
    LFUSE__ACCESS_VECTORS, /* in vectors of four */
    LFUSE__ACCESS_SINGLE   /* one by one */
} lfuse__access;

/* A row kernel by teams: of the forms TEAM, GROUP and PARTIAL. */
typedef struct lfuse__team {
    lfuse__rows *r;
    lfuse__access access;
    bool group, partial; /* the forms GROUP and PARTIAL */
    bool whole;          /* all rows have exactly as many elements as a team holds */
    bool streams;        /* GROUP, of rows of any length: nothing is held in registers */
    int size;            /* work-items of a group */
    int width;           /* work-items of a team, which exchange values */
    int each;            /* rows, or segments, of a group at a time */
    int chunks;          /* chunks of a row or segment: LFUSE__ROW_VECTOR elements of each work-item */
    int parts;           /* neighbouring chunks that have different lanes */
    lfuse__hold holds[LFUSE__MAX_OPERANDS];
} lfuse__team;

/* Appends registers, named `letter`<j>, for all chunks of the operands that are held as `which` says. */
void lfuse__team_put_arrays(const lfuse__team *t, int indent, lfuse__hold which, char letter);
/* Returns whether there is such an operand. */
bool lfuse__team_holds(const lfuse__team *t, lfuse__hold which);
/* Appends loads of all their chunks, of the row at b<j> and p<j>. */
void lfuse__team_put_loads(const lfuse__team *t, int indent, lfuse__hold which, char letter);
/* Appends what makes the row that was loaded ahead the row that is computed. */
void lfuse__team_put_now(const lfuse__team *t, int indent);
/* Appends loads of the first chunk of what the last sweep loads ahead: they stand before the fold that it waits for. */
void lfuse__team_put_ahead(const lfuse__team *t, int indent);
/* Appends a sweep over a row or segment: then l<i>[4 n] ... l<i>[4 n + 3] are this work-item's lanes of part n. */
void lfuse__team_put_segment(const lfuse__team *t, int indent, int sweep);

#endif
