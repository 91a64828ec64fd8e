/* SPDX-License-Identifier: Apache-2.0 */
/* Scans along an axis, in the order that include/libfuse/reduce.h tells. */
#include <stdlib.h>

#include "bench/oracle_internal.h"
#include "common/base/error.h"

enum { QUAD = 4, GROUPS = 32 /* quads of a block, blocks of a chunk */ };

typedef struct scan {
    lfuse__op op;
    lfuse_type type;
    bool exact;
} scan;

static lfuse__pair combine(const scan *s, lfuse__pair a, lfuse__pair b)
{
    const lfuse__pair both[] = {a, b};

    return lfuse__oracle_point(s->op, s->type, s->exact, both);
}

/* `count` totals, a power of 2. */
static lfuse__pair tree(const scan *s, const lfuse__pair *totals, int count)
{
    if (count == 1) return *totals;
    return combine(s, tree(s, totals, count / 2), tree(s, totals + count / 2, count / 2));
}

/* The first `count` totals, as aligned groups. */
static lfuse__pair prefix(const scan *s, const lfuse__pair *totals, int count)
{
    int size = 1;

    while (2 * size <= count) size *= 2;
    if (size == count) return tree(s, totals, size);
    return combine(s, tree(s, totals, size), prefix(s, totals + size, count - size));
}

/* What is before something: another part of it, behind what there is. */
typedef struct before {
    bool any;
    lfuse__pair x;
} before;

static before behind(const scan *s, before b, lfuse__pair x)
{
    return (before){true, b.any ? combine(s, b.x, x) : x};
}

static void scan_row(const scan *s, const lfuse__pair *from, int64_t length, int64_t step, lfuse__pair *to)
{
    lfuse__pair quads[GROUPS], blocks[GROUPS], last = {0, 0};
    before chunks = {false, {0, 0}}, start = chunks, own;
    int64_t i;

    for (i = 0; i < length; i++) {
        const int q = (int)(i / QUAD % GROUPS), b = (int)(i / QUAD / GROUPS % GROUPS);
        const lfuse__pair x = lfuse__oracle_read(s->type, from[i * step]);
        last = i % QUAD ? combine(s, last, x) : x;
        own = q ? behind(s, start, prefix(s, quads, q)) : start;
        to[i * step] = behind(s, own, last).x;
        if (i % QUAD != QUAD - 1) continue;
        quads[q] = last;
        if (q != GROUPS - 1) continue;
        blocks[b] = tree(s, quads, GROUPS);
        if (b == GROUPS - 1) chunks = behind(s, chunks, tree(s, blocks, GROUPS));
        start = b == GROUPS - 1 ? chunks : behind(s, chunks, prefix(s, blocks, b + 1));
    }
}

lfuse_status lfuse__oracle_node_scan(lfuse__oracle *s, const lfuse__node *n, lfuse__values *a)
{
    const lfuse__values *o = &s->arrays[n->in[0]];
    const scan of = {lfuse__scan_op((lfuse__reduce)n->op), (lfuse_type)n->type, !s->options->inexact};
    int64_t inner = 1, outer = 1, length, i, k;
    int axis;

    if (o->rows && n->axes[0] == 0) return lfuse__oracle_not_by_rows("a scan along the selected axis");
    LFUSE__TRY(lfuse__oracle_shape(s, n, o->rows, a));
    for (axis = 0; axis < a->rank; axis++) *(axis < n->axes[0] ? &outer : &inner) *= a->shape[axis];
    length = a->shape[n->axes[0]];
    if (!a->count) return LFUSE_OK;
    inner /= length;
    for (i = 0; i < outer; i++)
        for (k = 0; k < inner; k++)
            scan_row(&of, o->x + i * inner * length + k, length, inner, a->x + i * inner * length + k);
    return LFUSE_OK;
}
