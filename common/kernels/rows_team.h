/* SPDX-License-Identifier: Apache-2.0 */
/* What the two halves of the texts for teams share: rows_chunks.c, elements; rows_team.c, folds and rows. */
#ifndef COMMON_KERNELS_ROWS_TEAM_H
#define COMMON_KERNELS_ROWS_TEAM_H

#include "common/kernels/rows.h"

/* Whether elements that are neighbours in memory are loaded and stored four at a time. */
typedef enum lfuse__access {
    LFUSE__ACCESS_ASK,    /* as the word `vectors` says */
    LFUSE__ACCESS_VECTORS,
    LFUSE__ACCESS_SINGLE
} lfuse__access;

typedef struct lfuse__team {
    lfuse__rows *r;
    lfuse__access access;
    bool group, whole, streams, partial; /* streams: GROUP that holds nothing */
    int size, width, each;      /* of the group; work-items that exchange values; rows of a group at a time */
    int chunks, parts;          /* of a row or segment; until the lanes begin again */
    lfuse__hold holds[LFUSE__MAX_OPERANDS];
} lfuse__team;

/* Registers for all of each operand that is held so. */
void lfuse__team_put_arrays(const lfuse__team *t, int indent, lfuse__hold which, char letter);
bool lfuse__team_holds(const lfuse__team *t, lfuse__hold which);
/* All chunks of the operands that are held so, of the row that b<j> and p<j> are of. */
void lfuse__team_put_loads(const lfuse__team *t, int indent, lfuse__hold which, char letter);
/* What was loaded ahead is what there is now. */
void lfuse__team_put_now(const lfuse__team *t, int indent);
/* The first chunk of what is loaded ahead: before the fold that the last sweep waits for. */
void lfuse__team_put_ahead(const lfuse__team *t, int indent);
/* The sweep over a segment: l<i>[0 ... 3], of each part, are this work-item's lanes at its end. */
void lfuse__team_put_segment(const lfuse__team *t, int indent, int sweep);

#endif
