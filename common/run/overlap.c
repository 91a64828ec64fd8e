/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/*
 * Memory that is written overlaps nothing else that is bound. Tensors are compared in pairs, so exactly that columns
 * of one matrix pass; members of lists are sorted by address.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/instance.h"

typedef struct interval {
    uint64_t space, low, high;
    int64_t member; /* -1: a tensor */
    int name;
    bool written;
} interval;

lfuse_status lfuse__overlap_create(lfuse_instance *in)
{
    bool lists = false;
    int i;

    for (i = 0; i < in->plan->nnames; i++) {
        lists = lists || in->bound[i].list;
        in->nintervals += in->kept[i].list ? in->kept[i].list->count : 1;
    }
    if (!lists) in->nintervals = 0;
    if (!in->nintervals) return LFUSE_OK;
    in->intervals = malloc((size_t)in->nintervals * sizeof(interval));
    if (in->intervals) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%" PRId64 " members)", in->nintervals);
}

void lfuse__overlap_destroy(lfuse_instance *in)
{
    free(in->intervals);
}

static lfuse_status clash(const lfuse_instance *in, const interval *a, const interval *b)
{
    char of_a[32] = "", of_b[32] = "";

    if (a->member >= 0) snprintf(of_a, sizeof of_a, " member %" PRId64, a->member);
    if (b->member >= 0) snprintf(of_b, sizeof of_b, " member %" PRId64, b->member);
    return lfuse__error(LFUSE_ERR_OVERLAP, "\"%s\"%s, which is written, overlaps \"%s\"%s: bytes 0x%" PRIx64
                        " ... 0x%" PRIx64 " and 0x%" PRIx64 " ... 0x%" PRIx64, in->plan->names[a->name].text, of_a,
                        in->plan->names[b->name].text, of_b, a->low, a->high, b->low, b->high);
}

static interval of_tensor(const lfuse_instance *in, int name)
{
    const lfuse__spot *s = &in->spots[name];
    const interval v = { s->space, s->low, s->high, -1, name, in->bound[name].written };

    return v;
}

static bool meet(const interval *a, const interval *b)
{
    return a->space == b->space && a->low < b->high && b->low < a->high;
}

/* Bytes from one row to the next, a row being all but the axis with the widest stride; and bytes that a row spans. */
static uint64_t pitch_of(const lfuse_tensor *t, uint64_t *span)
{
    const uint64_t size = lfuse_type_size(t->type);
    uint64_t widest = 0;
    int i, axis = -1;

    *span = size;
    for (i = 0; i < t->rank; i++) {
        const uint64_t stride = (uint64_t)llabs(t->strides[i]);
        if (t->shape[i] > 1 && stride > widest) widest = stride, axis = i;
    }
    for (i = 0; i < t->rank; i++)
        if (i != axis && t->shape[i] > 1) *span += (uint64_t)llabs(t->strides[i]) * (uint64_t)(t->shape[i] - 1) * size;
    return widest * size;
}

/* Whether two tensors of equal pitch lie in different columns. */
static bool interleaved(const interval *a, const lfuse_tensor *x, const interval *b, const lfuse_tensor *y)
{
    uint64_t span_a, span_b, pitch = pitch_of(x, &span_a), at;

    if (!pitch || pitch != pitch_of(y, &span_b)) return false;
    at = (b->low - a->low) % pitch; /* of b's rows behind a's; unsigned wrap-around is undone by the next test */
    if (b->low < a->low) at = (pitch - (a->low - b->low) % pitch) % pitch;
    return at >= span_a && at + span_b <= pitch;
}

static lfuse_status check_tensors(const lfuse_instance *in, const lfuse__slot *slots)
{
    int i, j;

    for (i = 0; i < in->plan->nnames; i++) {
        const interval a = of_tensor(in, i);
        if (!slots[i].tensor || !a.written || a.low == a.high) continue;
        if (lfuse__tensor_repeats(slots[i].tensor))
            return lfuse__error(LFUSE_ERR_OVERLAP, "\"%s\", which is written, has elements that share memory",
                                in->plan->names[i].text);
        for (j = 0; j < in->plan->nnames; j++) {
            const interval b = of_tensor(in, j);
            if (j == i || !slots[j].tensor || !meet(&a, &b)) continue;
            if (!interleaved(&a, slots[i].tensor, &b, slots[j].tensor)) return clash(in, &a, &b);
        }
    }
    return LFUSE_OK;
}

static int by_address(const void *a, const void *b)
{
    const interval *x = a, *y = b;

    if (x->space != y->space) return x->space < y->space ? -1 : 1;
    return x->low < y->low ? -1 : x->low > y->low;
}

static int64_t gather(lfuse_instance *in, const lfuse__slot *slots, interval *all)
{
    int64_t n = 0, m;
    int i;

    for (i = 0; i < in->plan->nnames; i++) {
        const lfuse_list *l = slots[i].list;
        if (slots[i].tensor && in->spots[i].low < in->spots[i].high) all[n++] = of_tensor(in, i);
        for (m = 0; l && m < l->count; m++) {
            const lfuse__member *x = &l->members[m];
            const uint64_t low = x->range->address + x->offset;
            const interval v = { x->range->space, low, low + (uint64_t)x->elements * lfuse_type_size(l->type), m, i,
                                 in->bound[i].written };
            if (x->elements) all[n++] = v;
        }
    }
    return n;
}

/* In order of addresses, an interval meets an earlier one when it meets the one that reaches farthest. */
static lfuse_status check_members(lfuse_instance *in, const lfuse__slot *slots)
{
    interval *all = in->intervals;
    const interval *any = NULL, *written = NULL;
    const int64_t n = gather(in, slots, all);
    int64_t i;

    qsort(all, (size_t)n, sizeof *all, by_address);
    for (i = 0; i < n; i++) {
        const interval *v = &all[i];
        const bool tensors = v->member < 0;
        if (v->written && any && meet(any, v) && !(tensors && any->member < 0)) return clash(in, v, any);
        if (written && meet(written, v) && !(tensors && written->member < 0)) return clash(in, written, v);
        if (!any || any->space != v->space || v->high > any->high) any = v;
        if (v->written && (!written || written->space != v->space || v->high > written->high)) written = v;
    }
    return LFUSE_OK;
}

lfuse_status lfuse__overlap_check(lfuse_instance *in, const lfuse__slot *slots)
{
    LFUSE__TRY(check_tensors(in, slots));
    return in->nintervals ? check_members(in, slots) : LFUSE_OK;
}
