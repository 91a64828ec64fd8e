/* SPDX-License-Identifier: Apache-2.0 */
/* Loops over actual extents: what can be walked as fewer axes is. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/instantiate/loop.h"

lfuse_status lfuse__loop_open(lfuse_instance *in, const lfuse__step *step, lfuse__tensor_loop *l)
{
    int i, k;

    l->rank = step->rank;
    l->naxes = lfuse__step_over(step) == LFUSE__OVER_ROWS ? step->naxes : 0;
    l->nwalks = step->noperands;
    l->copies.count = 0;
    for (i = 0; i < step->rank; i++) LFUSE__TRY(lfuse__extent_of(in, step->extents[i], &l->extents[i]));
    for (i = 0; i < step->noperands; i++) {
        LFUSE__TRY(lfuse__walk_open(in, &step->operands[i], l->rank, l->extents, &l->copies, &l->walks[i]));
        for (k = l->rank - l->naxes; k < l->rank; k++)
            l->walks[i].element = l->walks[i].element || step->operands[i].axis[k] >= 0;
    }
    return LFUSE_OK;
}

lfuse_status lfuse__loop_count(lfuse__tensor_loop *l)
{
    bool overflow = false, empty = false;
    int i;

    l->rows = l->length = 1;
    for (i = 0; i < l->rank; i++) {
        int64_t *part = i < l->rank - l->naxes ? &l->rows : &l->length;
        overflow = __builtin_mul_overflow(*part, l->extents[i], part) || overflow;
        empty = empty || !l->extents[i];
    }
    overflow = __builtin_mul_overflow(l->rows, l->length, &l->all) || overflow;
    if (overflow && !empty)
        return lfuse__error(LFUSE_ERR_OVERFLOW, "a kernel would have more than 2^63 - 1 elements");
    return LFUSE_OK;
}

static bool reaches_far(const lfuse__tensor_loop *l, const lfuse__walk *w)
{
    int64_t reach = 0, far;
    int k;

    for (k = 0; k < l->rank; k++) { /* look-ups reckon with 64 bits along their axis anyway */
        if (l->extents[k] < 2) continue;
        if (__builtin_mul_overflow(w->strides[k], l->extents[k] - 1, &far)) return true;
        if (__builtin_add_overflow(reach, far < 0 ? -far : far, &reach)) return true;
    }
    return reach > INT32_MAX;
}

bool lfuse__loop_is_large(const lfuse__tensor_loop *l)
{
    int i;

    if (l->all > INT32_MAX) return true;
    for (i = 0; i < l->nwalks; i++)
        if (reaches_far(l, &l->walks[i])) return true;
    return false;
}

/* The order in which the loop was walked along an axis does not matter where nothing is reduced. */
static void turn(lfuse__tensor_loop *l, int axis)
{
    int i;

    for (i = 0; i < l->nwalks; i++) {
        lfuse__walk *w = &l->walks[i];
        w->offset += w->strides[axis] * (l->extents[axis] - 1);
        w->strides[axis] = -w->strides[axis];
    }
}

static int order_axes(const lfuse__tensor_loop *l, const lfuse__walk *by, int *order, int *reduced)
{
    int i, j, n = 0;

    *reduced = 0;
    for (i = 0; i < l->rank; i++) {
        if (l->extents[i] == 1) continue;
        j = n;
        while (!l->naxes && j && llabs(by->strides[order[j - 1]]) < llabs(by->strides[i])) j--;
        memmove(order + j + 1, order + j, (size_t)(n - j) * sizeof *order);
        order[j] = i;
        n++;
        if (i >= l->rank - l->naxes) ++*reduced;
    }
    return n;
}

static const lfuse__walk *what_is_written(const lfuse__tensor_loop *l)
{
    const lfuse__walk *by = &l->walks[0];
    int i;

    for (i = 0; i < l->nwalks; i++)
        if (l->walks[i].written) by = &l->walks[i];
    return by;
}

static void one_axis_more(lfuse__tensor_loop *l)
{
    int i;

    l->extents[l->rank] = 1;
    for (i = 0; i < l->nwalks; i++) l->walks[i].strides[l->rank] = 0;
    l->rank++;
}

void lfuse__loop_tidy(lfuse__tensor_loop *l)
{
    const lfuse__walk *by = what_is_written(l);
    const bool reduces = l->naxes > 0;
    int order[LFUSE_MAX_RANK], n, reduced, i, k;
    int64_t extents[LFUSE_MAX_RANK], strides[LFUSE_MAX_RANK];

    for (k = 0; k < l->rank && !reduces; k++)
        if (by->strides[k] < 0 && l->extents[k] > 1) turn(l, k);
    n = order_axes(l, by, order, &reduced);
    memcpy(extents, l->extents, sizeof extents);
    for (k = 0; k < n; k++) l->extents[k] = extents[order[k]];
    for (i = 0; i < l->nwalks; i++) {
        memcpy(strides, l->walks[i].strides, sizeof strides);
        for (k = 0; k < n; k++) l->walks[i].strides[k] = strides[order[k]];
    }
    l->rank = n;
    l->naxes = reduced;
    if (n && (!reduces || reduced)) return;
    one_axis_more(l); /* one element, or a row of one */
    l->naxes = reduces ? 1 : 0;
}

static bool walk_merges(const lfuse__walk *w, const int64_t *extents, int a)
{
    return w->strides[a] == w->strides[a + 1] * extents[a + 1];
}

bool lfuse__walk_is_single(const lfuse__tensor_loop *l, const lfuse__walk *w)
{
    int k;

    for (k = l->rank - l->naxes; k < l->rank - 1; k++)
        if (!walk_merges(w, l->extents, k)) return false;
    return true;
}

static void take_out(lfuse__tensor_loop *l, int axis)
{
    int i, k;

    for (k = axis; k < l->rank - 1; k++) {
        l->extents[k] = l->extents[k + 1];
        for (i = 0; i < l->nwalks; i++) l->walks[i].strides[k] = l->walks[i].strides[k + 1];
    }
    l->rank--;
}

void lfuse__loop_merge(lfuse__tensor_loop *l)
{
    int a, i;

    for (a = l->rank - 2; a >= 0; a--) {
        bool all = a + 1 != l->rank - l->naxes || !l->naxes;
        for (i = 0; i < l->nwalks && all; i++) all = walk_merges(&l->walks[i], l->extents, a);
        if (!all) continue;
        if (l->naxes && a >= l->rank - l->naxes) l->naxes--;
        l->extents[a + 1] *= l->extents[a];
        take_out(l, a);
    }
}
