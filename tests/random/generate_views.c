/* SPDX-License-Identifier: Apache-2.0 */
/* Views and joins. */
#include "tests/random/generate.h"

void make_permute(gen *s)
{
    const lfuse_value x = any_of_rank(s, 2, false);
    int axes[LFUSE_MAX_RANK];
    if (x.id < 0) return;
    const int rank = node(s, x)->rank;
    for (int i = 0; i < rank; i++) axes[i] = i;
    for (int i = rank - 1; i > 0; i--) {
        const int k = below(s, i + 1), t = axes[i];
        axes[i] = axes[k];
        axes[k] = t;
    }
    keep(s, lfuse_permute(x, axes));
}

void make_slice(gen *s)
{
    const lfuse_value x = any_of_rank(s, 1, false);
    if (x.id < 0) return;
    const int axis = below(s, node(s, x)->rank);
    const lfuse_size extent = node(s, x)->shape[axis];
    const int64_t n = least(s, extent);
    if (chance(s, 4)) {
        keep(s, lfuse_flip(x, 1, &axis));
        return;
    }
    if (n < 2) return;
    const int64_t step = 1 + below(s, n > 4 ? 3 : 1), start = below(s, (int)(n < 1000 ? n : 1000));
    if (chance(s, 3)) keep(s, lfuse_slice(x, axis, start, start / step + 1, -step));
    else keep(s, lfuse_slice(x, axis, start, 1 + below(s, (int)((n - 1 - start) / step + 1)), step));
}

/* Ends anywhere, of an axis that is a number. */
void make_slice_range(gen *s)
{
    static const int64_t steps[] = {1, 1, 2, 3, -1, -2, -5};
    const lfuse_value x = any_of_rank(s, 1, false);
    if (x.id < 0) return;
    const int axis = below(s, node(s, x)->rank);
    const lfuse_size extent = node(s, x)->shape[axis];
    if (!lfuse__size_is_number(extent) || extent > 1000) return;
    const int reach = 2 * (int)extent + 3;
    const lfuse_size start = chance(s, 4) ? LFUSE_OPEN : below(s, reach) - reach / 2;
    const lfuse_size stop = chance(s, 4) ? LFUSE_OPEN : below(s, reach) - reach / 2;
    const lfuse_value y = lfuse_slice_range(x, axis, start, stop, PICK(s, steps));
    if (y.id >= 0 && (node(s, y)->shape[axis] || chance(s, 20))) keep(s, y); /* what is empty leaves nothing to judge */
}

void make_split(gen *s)
{
    const lfuse_value x = any_of_rank(s, 1, false);
    lfuse_value parts[4];
    if (x.id < 0) return;
    const int axis = below(s, node(s, x)->rank), count = 2 + below(s, 3);
    const lfuse_size extent = node(s, x)->shape[axis];
    if (!lfuse__size_is_number(extent) || extent % count || !extent) return;
    lfuse_chunk(x, axis, count, parts);
    for (int i = 0; i < count; i++) keep(s, parts[i]);
}

void make_reshape(gen *s)
{
    const lfuse_value x = any(s);
    const lfuse__node n = *node(s, x);
    lfuse_size shape[LFUSE_MAX_RANK];
    int rank = 0;
    if (n.rank >= 2 && chance(s, 2)) {
        const int first = below(s, n.rank - 1);
        keep(s, lfuse_flatten(x, first, first + 1 + below(s, n.rank - 1 - first)));
        return;
    }
    if (n.rank == LFUSE_MAX_RANK || chance(s, 4)) {
        if (n.rank < 5) keep(s, lfuse_unsqueeze(x, below(s, n.rank + 1)));
        return;
    }
    if (!n.rank) return;
    const int axis = below(s, n.rank);
    if (!lfuse__size_is_number(n.shape[axis])) return;
    for (int i = 0; i < n.rank; i++) {
        if (i == axis)
            for (int64_t f = 2; f <= n.shape[axis] && f < 100; f++)
                if (n.shape[axis] % f == 0 && (chance(s, 2) || f * f > n.shape[axis])) {
                    shape[rank++] = n.shape[axis] / f;
                    shape[rank++] = f;
                    break;
                }
        if (i != axis || rank == i) shape[rank++] = given(s, n.shape[i]);
    }
    keep(s, lfuse_reshape(x, rank, shape));
}

void make_broadcast(gen *s)
{
    const lfuse_value x = any(s);
    const lfuse__node n = *node(s, x);
    lfuse_size shape[LFUSE_MAX_RANK];
    const int more = below(s, 2);
    if (n.rank + more > 5) return;
    for (int i = 0; i < more; i++) shape[i] = 1 + below(s, 4);
    for (int i = 0; i < n.rank; i++)
        shape[more + i] = n.shape[i] == 1 && chance(s, 2) ? 1 + below(s, 6) : given(s, n.shape[i]);
    if (affordable(s, n.rank + more, shape)) keep(s, lfuse_broadcast_to(x, n.rank + more, shape));
}

/* Equal but for one axis, which has to be a literal somewhere. */
static lfuse_value neighbour(gen *s, lfuse_value x, int axis)
{
    const lfuse__node n = *node(s, x);
    lfuse_size shape[LFUSE_MAX_RANK];
    for (int i = 0; i < 10; i++) {
        const lfuse_value y = any(s);
        const lfuse__node *m = node(s, y);
        bool fits = m->type == n.type && m->rank == n.rank && y.id != x.id;
        for (int k = 0; fits && k < n.rank; k++) fits = k == axis || m->shape[k] == n.shape[k];
        if (fits) return y;
    }
    for (int i = 0; i < n.rank; i++) shape[i] = i == axis ? small_extent(s) : given(s, n.shape[i]);
    return new_input(s, (lfuse_type)n.type, n.rank, shape);
}

void make_concat(gen *s)
{
    const lfuse_value x = any_of_rank(s, 1, false);
    lfuse_value parts[3] = {x};
    if (x.id < 0) return;
    const int axis = below(s, node(s, x)->rank), count = 2 + below(s, 2);
    for (int i = 1; i < count; i++)
        if ((parts[i] = neighbour(s, x, axis)).id < 0) return;
    keep(s, lfuse_concat(count, parts, axis));
}

void make_pad(gen *s)
{
    const lfuse_value x = any_of_rank(s, 1, false);
    lfuse_size before[LFUSE_MAX_RANK], after[LFUSE_MAX_RANK];
    bool filled = true;
    if (x.id < 0) return;
    for (int i = 0; i < node(s, x)->rank; i++) {
        before[i] = chance(s, 2) ? below(s, 3) : 0;
        after[i] = chance(s, 2) ? below(s, 3) : 0;
        filled = filled && least(s, node(s, x)->shape[i]) > 0;
    }
    if (filled && chance(s, 2)) {
        keep(s, chance(s, 2) ? lfuse_pad_edge(x, before, after) : lfuse_pad_reflect(x, before, after));
        return;
    }
    keep(s, lfuse_pad(x, before, after, floating(s, x) ? 2.5 : 1));
}
