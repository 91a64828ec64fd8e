/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of which PARTIAL kernels left the results of segments: the kernel is text/rows_fold.k. */
#include "common/kernels/rows.h"

#include "common/kernels/text/rows_fold.k.h"
#include "common/kernels/text/rows_fold_row.k.h"

enum { EACH = 8, TEAMS = LFUSE__GROUP / LFUSE__TEAM };

/* `of_item`: by a work-item of a group of many. */
static void put_row(const void *context, int of_item, int indent)
{
    const lfuse__rows_file *f = context;
    const bool single = lfuse__single(f->r->facts);
    const lfuse__parameter parameters[] = {
        {"OF_ITEM", .number = of_item}, {"OF_GROUP", .number = !of_item && !single}, {"ITEMS", .number = LFUSE__GROUP},
        {"TEAMS", .number = TEAMS}, {"EACH", .number = EACH}, {NULL},
    };

    lfuse__rows_put_file(f, indent, lfuse__text_rows_fold_row, parameters, NULL);
}

void lfuse__rows_emit_fold(const lfuse__rows *r, const char *name)
{
    static const lfuse__text_place places[] = {{"ROW_OF_ITEM", put_row, true}, {"ROW", put_row, false},
                                               {NULL, NULL, 0}};
    const bool single = lfuse__single(r->facts);
    const lfuse__parameter parameters[] = {
        {"NAME", .word = name}, {"ITEMS", .number = single ? 1 : LFUSE__GROUP}, {"TEAMS", .number = TEAMS},
        {"SIDE_BY_SIDE", .number = r->mapping.team == 0 && !single}, {"FEW", .number = LFUSE__FOLD_FEW}, {NULL},
    };

    lfuse__put_powers(r->t.out, r->t.k->body);
    lfuse__rows_put_file(&(lfuse__rows_file){.r = r}, 0, lfuse__text_rows_fold, parameters, places);
}
