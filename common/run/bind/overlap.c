/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that is written overlaps nothing else that is bound; columns of one matrix may be interleaved. Tensors are
 * compared in pairs; members of lists are sorted by address, and compared with those before them alone that reach as
 * far.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/run/bind/bind.h"

typedef struct interval {
    uint64_t space, low, high;
    uint64_t pitch, row; /* bytes from one row to the next, and of a row; pitch 0: one row */
    uint64_t reach;      /* of all before it, sorted, and of itself: the highest end */
    int64_t member; /* -1: a tensor */
    int name;
    bool written;
} interval;

/*
 * What the last check of members found: nothing that is written overlaps anything. While all that is written stays,
 * what is read and has moved is compared with the written alone.
 */
struct lfuse__overlaps {
    interval *all;      /* room for all tensors and members */
    interval *written;  /* [nwritten] in order of addresses; they do not overlap */
    int64_t nwritten;
    uint64_t *versions; /* [nnames] of the lists, and where tensors were */
    lfuse__spot *spots;
    bool known;         /* the rest holds what a check found */
};

static void count_intervals(const lfuse_instance *in, int64_t *all, int64_t *written)
{
    bool lists = false;
    int i;

    *all = *written = 0;
    for (i = 0; i < in->plan->nnames; i++) {
        const int64_t n = in->kept[i].list ? in->kept[i].list->count : 1;
        lists = lists || in->bound[i].list;
        *all += n;
        if (in->bound[i].written) *written += n;
    }
    if (!lists) *all = 0;
}

lfuse_status lfuse__overlap_create(lfuse_instance *in)
{
    const size_t names = (size_t)in->plan->nnames;
    struct lfuse__overlaps *o;
    int64_t all, written;

    count_intervals(in, &all, &written);
    if (!all) return LFUSE_OK;
    in->overlaps = o = lfuse__arena_array(&in->memory, 1, sizeof *o);
    if (!o) return LFUSE_ERR_MEMORY;
    o->all = lfuse__arena_array(&in->memory, (size_t)all, sizeof *o->all);
    o->written = lfuse__arena_array(&in->memory, (size_t)written, sizeof *o->written);
    o->versions = lfuse__arena_array(&in->memory, names, sizeof *o->versions);
    o->spots = lfuse__arena_array(&in->memory, names, sizeof *o->spots);
    return o->all && o->written && o->versions && o->spots ? LFUSE_OK : LFUSE_ERR_MEMORY;
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

static uint64_t magnitude(int64_t stride)
{
    return stride < 0 ? 0 - (uint64_t)stride : (uint64_t)stride;
}

/*
 * A row is all but the axis with the widest stride. Where bytes of rows are beyond 64 bits, which tensors without
 * elements may have, the interval stays one row.
 */
static void set_rows(interval *v, int rank, const int64_t *shape, const int64_t *strides, uint64_t size)
{
    uint64_t widest = 0, row = 1, pitch, part;
    int i, axis = -1;

    for (i = 0; i < rank; i++)
        if (shape[i] > 1 && magnitude(strides[i]) > widest) widest = magnitude(strides[i]), axis = i;
    for (i = 0; i < rank; i++) {
        if (i == axis || shape[i] <= 1) continue;
        if (__builtin_mul_overflow(magnitude(strides[i]), (uint64_t)(shape[i] - 1), &part) ||
            __builtin_add_overflow(row, part, &row))
            return;
    }
    if (__builtin_mul_overflow(row, size, &row) || __builtin_mul_overflow(widest, size, &pitch)) return;
    v->row = row;
    v->pitch = pitch;
}

/* All bytes of a tensor as one row. */
static interval whole_tensor(const lfuse_instance *in, int name)
{
    const lfuse__spot *s = &in->spots[name];

    return (interval){ s->space, s->low, s->high, 0, 0, 0, -1, name, in->bound[name].written };
}

static void set_rows_of(interval *v, const lfuse_tensor *t)
{
    if (t) set_rows(v, t->rank, t->shape, t->strides, lfuse_type_size(t->type));
}

static interval of_tensor(const lfuse_instance *in, int name, const lfuse_tensor *t)
{
    interval v = whole_tensor(in, name);

    set_rows_of(&v, t);
    return v;
}

static bool meet(const interval *a, const interval *b)
{
    return a->space == b->space && a->low < b->high && b->low < a->high;
}

/* Whether two of equal pitch lie in different columns. */
static bool interleaved(const interval *a, const interval *b)
{
    uint64_t at;

    if (!a->pitch || a->pitch != b->pitch) return false;
    at = (b->low - a->low) % a->pitch; /* of b's rows behind a's; unsigned wrap-around is undone by the next test */
    if (b->low < a->low) at = (a->pitch - (a->low - b->low) % a->pitch) % a->pitch;
    return at >= a->row && b->row <= a->pitch - at;
}

/* Rows are looked at where the bytes from the first to the last meet, which is seldom. */
static lfuse_status check_tensors(const lfuse_instance *in, const lfuse__slot *slots)
{
    int i, j;

    for (i = 0; i < in->plan->nnames; i++) {
        interval a = whole_tensor(in, i);
        if (!slots[i].tensor || !a.written || a.low == a.high) continue;
        if (lfuse__tensor_repeats(slots[i].tensor))
            return lfuse__error(LFUSE_ERR_OVERLAP, "\"%s\", which is written, has elements that share memory",
                                in->plan->names[i].text);
        for (j = 0; j < in->plan->nnames; j++) {
            interval b = whole_tensor(in, j);
            if (j == i || !slots[j].tensor || b.low == b.high || !meet(&a, &b)) continue;
            set_rows_of(&a, slots[i].tensor);
            set_rows_of(&b, slots[j].tensor);
            if (!interleaved(&a, &b)) return clash(in, &a, &b);
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

static interval of_member(const lfuse_instance *in, int name, const lfuse_list *l, int64_t m)
{
    const lfuse__member *x = &l->members[m];
    const int64_t shape[] = { x->matrices, x->rows, x->columns }, strides[] = { x->batch_stride, x->ld, 1 };
    /* Its tensor has counted them. */
    const int64_t last = x->elements ? (x->matrices - 1) * x->batch_stride + (x->rows - 1) * x->ld + x->columns : 0;
    const uint64_t low = x->range->address + x->offset, size = lfuse_type_size(l->type);
    interval v = { x->range->space, low, low + (uint64_t)last * size, 0, 0, 0, m, name, in->bound[name].written };

    if (lfuse__member_strided(x)) set_rows(&v, 3, shape, strides, size);
    return v;
}

static int64_t gather(lfuse_instance *in, const lfuse__slot *slots, interval *all)
{
    int64_t n = 0, m;
    int i;

    for (i = 0; i < in->plan->nnames; i++) {
        const lfuse_list *l = slots[i].list;
        if (slots[i].tensor && in->spots[i].low < in->spots[i].high) all[n++] = of_tensor(in, i, slots[i].tensor);
        for (m = 0; l && m < l->count; m++)
            if (l->members[m].elements) all[n++] = of_member(in, i, l, m);
    }
    return n;
}

/* With those before it that reach as far. Two tensors are another function's. */
static lfuse_status check_back(const lfuse_instance *in, const interval *all, int64_t i)
{
    const interval *v = &all[i], *w;

    for (w = v; w > all && w[-1].space == v->space && w[-1].reach > v->low;) {
        w--;
        if ((!v->written && !w->written) || (v->member < 0 && w->member < 0) || !meet(w, v) || interleaved(w, v))
            continue;
        return v->written ? clash(in, v, w) : clash(in, w, v);
    }
    return LFUSE_OK;
}

static lfuse_status check_sorted(const lfuse_instance *in, interval *all, int64_t n)
{
    int64_t i, written = -1;

    for (i = 0; i < n; i++) {
        interval *v = &all[i];
        const bool first = !i || v[-1].space != v->space;
        v->reach = first || v->high > v[-1].reach ? v->high : v[-1].reach;
        /* What is read may repeat as often as it likes: it is compared where something written reaches as far. */
        if (written >= 0 && all[written].space != v->space) written = -1;
        if ((v->written && !first && v[-1].reach > v->low) || (written >= 0 && all[written].high > v->low))
            LFUSE__TRY(check_back(in, all, i));
        if (v->written && (written < 0 || v->high > all[written].high)) written = i;
    }
    return LFUSE_OK;
}

/* Columns of one matrix, both written, overlap as intervals: nothing is remembered then. */
static void remember(lfuse_instance *in, const lfuse__slot *slots, int64_t n)
{
    struct lfuse__overlaps *o = in->overlaps;
    int64_t i;

    o->nwritten = 0;
    o->known = true;
    for (i = 0; i < n; i++) {
        if (!o->all[i].written) continue;
        if (o->nwritten && meet(&o->written[o->nwritten - 1], &o->all[i])) o->known = false;
        o->written[o->nwritten++] = o->all[i];
    }
    for (i = 0; i < in->plan->nnames; i++) {
        o->spots[i] = in->spots[i];
        o->versions[i] = slots[i].list ? slots[i].list->version : 0;
    }
}

static lfuse_status check_all(lfuse_instance *in, const lfuse__slot *slots)
{
    struct lfuse__overlaps *o = in->overlaps;
    const int64_t n = gather(in, slots, o->all);

    o->known = false;
    qsort(o->all, (size_t)n, sizeof *o->all, by_address);
    LFUSE__TRY(check_sorted(in, o->all, n));
    remember(in, slots, n);
    return LFUSE_OK;
}

/* Something that is read and has moved, against all that is written. Two tensors are another function's. */
static lfuse_status check_one(const lfuse_instance *in, const interval *v)
{
    const interval *written = in->overlaps->written;
    int64_t low = 0, high = in->overlaps->nwritten;

    while (low < high) { /* the first one that begins at its end, or behind */
        const int64_t middle = low + (high - low) / 2;
        const interval *w = &written[middle];
        if (w->space < v->space || (w->space == v->space && w->low < v->high)) low = middle + 1;
        else high = middle;
    }
    for (; low > 0 && meet(&written[low - 1], v); low--)
        if ((v->member >= 0 || written[low - 1].member >= 0) && !interleaved(&written[low - 1], v))
            return clash(in, &written[low - 1], v);
    return LFUSE_OK;
}

static bool same_spot(const lfuse__spot *a, const lfuse__spot *b)
{
    return a->space == b->space && a->low == b->low && a->high == b->high;
}

/* Whether all that has moved since the last check is read alone, and known. */
static bool only_reads_moved(const lfuse_instance *in, const lfuse__slot *slots)
{
    const struct lfuse__overlaps *o = in->overlaps;
    int64_t first, count;
    int i;

    for (i = 0; i < in->plan->nnames; i++) {
        const lfuse_list *l = slots[i].list;
        const bool moved = l ? l->version != o->versions[i]
                             : slots[i].tensor && !same_spot(&in->spots[i], &o->spots[i]);
        if (!moved) continue;
        if (in->bound[i].written || (l && !lfuse__list_replaced(l, o->versions[i] + 1, &first, &count))) return false;
    }
    return true;
}

static lfuse_status check_list(const lfuse_instance *in, int name, const lfuse_list *l)
{
    int64_t first, count, m;
    uint64_t version;

    for (version = in->overlaps->versions[name] + 1; version <= l->version; version++) {
        if (!lfuse__list_replaced(l, version, &first, &count)) continue; /* asked before: they are all there */
        for (m = first; m < first + count; m++) {
            const interval v = of_member(in, name, l, m);
            if (l->members[m].elements) LFUSE__TRY(check_one(in, &v));
        }
    }
    return LFUSE_OK;
}

static lfuse_status check_moved(lfuse_instance *in, const lfuse__slot *slots)
{
    struct lfuse__overlaps *o = in->overlaps;
    int i;

    for (i = 0; i < in->plan->nnames; i++) {
        const interval v = of_tensor(in, i, slots[i].tensor);
        if (slots[i].list) LFUSE__TRY(check_list(in, i, slots[i].list));
        else if (slots[i].tensor && v.low < v.high && !same_spot(&in->spots[i], &o->spots[i]))
            LFUSE__TRY(check_one(in, &v));
    }
    for (i = 0; i < in->plan->nnames; i++) {
        o->spots[i] = in->spots[i];
        if (slots[i].list) o->versions[i] = slots[i].list->version;
    }
    return LFUSE_OK;
}

lfuse_status lfuse__overlap_check(lfuse_instance *in, const lfuse__slot *slots)
{
    LFUSE__TRY(check_tensors(in, slots));
    if (!in->overlaps) return LFUSE_OK;
    return in->overlaps->known && only_reads_moved(in, slots) ? check_moved(in, slots) : check_all(in, slots);
}

static lfuse_status in_scratch(const lfuse_instance *in, const interval *scratch, const interval *v)
{
    char of[32] = "";

    if (!meet(scratch, v) || v->low == v->high) return LFUSE_OK;
    if (v->member >= 0) snprintf(of, sizeof of, " member %" PRId64, v->member);
    return lfuse__error(LFUSE_ERR_OVERLAP, "\"%s\"%s overlaps the scratch memory that the stream was given: bytes 0x%"
                        PRIx64 " ... 0x%" PRIx64 " and 0x%" PRIx64 " ... 0x%" PRIx64, in->plan->names[v->name].text, of,
                        v->low, v->high, scratch->low, scratch->high);
}

lfuse_status lfuse__overlap_scratch(const lfuse_instance *in, const lfuse__slot *slots, const lfuse__range *scratch,
                                    uint64_t bytes)
{
    interval all, v;
    int64_t m;
    int i;

    if (!bytes || !lfuse__stream_is_lent(in->stream)) return LFUSE_OK;
    all = (interval){ .space = scratch->space, .low = scratch->address, .high = scratch->address + bytes };
    for (i = 0; i < in->plan->nnames; i++) {
        const lfuse_list *l = slots[i].list;
        v = of_tensor(in, i, slots[i].tensor);
        if (slots[i].tensor) LFUSE__TRY(in_scratch(in, &all, &v));
        for (m = 0; l && m < l->count; m++) {
            v = of_member(in, i, l, m);
            LFUSE__TRY(in_scratch(in, &all, &v));
        }
    }
    return LFUSE_OK;
}
