/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of tensors: a table of members, each holding its memory. */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/run/tensors/tensor.h"

/* Member numbers in a kernel's chunk table have 32 bits. */
#define MAX_MEMBERS ((int64_t)UINT32_MAX)

static lfuse_status check_kind(const lfuse_device *dev, lfuse_type type, const lfuse_tensor *t, int64_t i)
{
    if (!t) return lfuse__error(LFUSE_ERR_INVALID, "member %" PRId64 " is NULL", i);
    if (t->range->dev != dev)
        return lfuse__error(LFUSE_ERR_CONTEXT, "member %" PRId64 " is of another device handle (%s, not %s)", i,
                            lfuse__device_facts(t->range->dev)->info.name, lfuse__device_facts(dev)->info.name);
    if (t->type != type)
        return lfuse__error(LFUSE_ERR_TYPE, "member %" PRId64 " is %s, the list %s", i, lfuse_type_name(t->type),
                            lfuse_type_name(type));
    return LFUSE_OK;
}

static int64_t stride_of(const lfuse_tensor *t, int axis, int64_t otherwise)
{
    return axis >= 0 && t->shape[axis] > 1 ? t->strides[axis] : otherwise;
}

/* The last two axes of matrices one behind the other; a vector is one row. */
static void note_shape(const lfuse_tensor *t, lfuse__member *m)
{
    int64_t inner = 0;
    int i;

    m->rank = t->rank;
    m->matrices = 1;
    for (i = 0; i < t->rank - 2; i++) m->matrices *= t->shape[i];
    m->rows = t->rank > 1 ? t->shape[t->rank - 2] : 1;
    m->columns = t->rank ? t->shape[t->rank - 1] : 1;
    m->ld = t->contiguous ? m->columns : stride_of(t, t->rank - 2, m->columns);
    m->batch_stride = m->rows * m->columns;
    for (i = t->rank - 3; i >= 0 && !t->contiguous && !inner; i--) inner = stride_of(t, i, 0);
    if (inner) m->batch_stride = inner;
    else if (!t->contiguous) m->batch_stride = m->rows * m->ld;
}

/* All axes before the last two are as one: matrices at equal distances. */
static bool is_even(const lfuse_tensor *t, const lfuse__member *m)
{
    int64_t stride = m->batch_stride;

    for (int i = t->rank - 3; i >= 0; i--) {
        if (t->shape[i] > 1 && t->strides[i] != stride) return false;
        if (__builtin_mul_overflow(stride, t->shape[i], &stride)) return false;
    }
    return true;
}

/* Rows of their own, and matrices behind each other or side by side in common rows. */
static lfuse_status check_rows(const lfuse_tensor *t, int64_t i)
{
    lfuse__member m = {.elements = t->elements};
    int64_t matrix, all;

    note_shape(t, &m);
    if (m.columns > 1 && t->strides[t->rank - 1] != 1)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "member %" PRId64 ": its columns lie %" PRId64 " elements apart: a "
                            "list takes rows whose elements are neighbours; copy it into a tensor that has such "
                            "(lfuse_tensor_copy)", i, t->strides[t->rank - 1]);
    if (m.ld < m.columns)
        return lfuse__error(LFUSE_ERR_INVALID, "member %" PRId64 ": its rows lie %" PRId64 " elements apart and have %"
                            PRId64 ": the leading dimension is too small", i, m.ld, m.columns);
    if (!is_even(t, &m))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "member %" PRId64 ": its matrices lie at different distances", i);
    if (m.matrices == 1) return LFUSE_OK;
    /* What the tensor reaches has been counted without overflow, but for the sign. */
    matrix = (m.rows - 1) * m.ld + m.columns;
    if (m.batch_stride >= matrix) return LFUSE_OK;
    if (m.batch_stride >= m.columns && !__builtin_mul_overflow(m.matrices - 1, m.batch_stride, &all) &&
        all + m.columns <= m.ld)
        return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_INVALID, "member %" PRId64 ": its matrices lie %" PRId64 " elements apart, one takes "
                        "%" PRId64 ": they overlap", i, m.batch_stride, matrix);
}

/* The member takes a reference to the tensor's memory. */
static lfuse__member member_of(const lfuse_tensor *t)
{
    lfuse__member m = {.range = t->range,
                       .offset = (uint64_t)t->offset * lfuse_type_size(t->type),
                       .elements = t->elements};
    lfuse__range_retain(t->range);
    note_shape(t, &m);
    return m;
}

static lfuse_status check_member(const lfuse_device *dev, lfuse_type type, const lfuse_tensor *t, int64_t i)
{
    LFUSE__TRY(check_kind(dev, type, t, i));
    return t->contiguous ? LFUSE_OK : check_rows(t, i);
}

/* A list of members that are still to be set. */
static lfuse_status make(lfuse_device *dev, lfuse_type type, int64_t count, lfuse_list **list)
{
    lfuse_list *l = calloc(1, sizeof *l);
    lfuse__member *table = calloc(count ? (size_t)count : 1, sizeof *table);
    if (!l || !table) {
        free(table);
        free(l);
        return lfuse__error(LFUSE_ERR_MEMORY, "no memory for a list of %" PRId64 " members", count);
    }
    l->dev = dev;
    lfuse__device_retain(dev);
    l->type = type;
    l->count = count;
    l->members = table;
    l->version = 1;
    atomic_init(&l->holders, 1);
    atomic_init(&l->references, 1);
    *list = l;
    return LFUSE_OK;
}

lfuse_status lfuse__list_create(lfuse_device *dev, lfuse_type type, int64_t count, lfuse_tensor *const *members,
                                lfuse_list **list)
{
    int64_t elements = 0;

    LFUSE__TRY(lfuse__device_usable(dev));
    if (!lfuse_type_size(type)) return lfuse__error(LFUSE_ERR_TYPE, "%d is no element type", (int)type);
    if (count < 0) return lfuse__error(LFUSE_ERR_INVALID, "a list of %" PRId64 " members", count);
    if (count > MAX_MEMBERS)
        return lfuse__error(LFUSE_ERR_OVERFLOW, "a list of %" PRId64 " members: the most is %" PRId64, count,
                            MAX_MEMBERS);
    for (int64_t i = 0; i < count; i++) {
        LFUSE__TRY(check_member(dev, type, members[i], i));
        if (__builtin_add_overflow(elements, members[i]->elements, &elements))
            return lfuse__error(LFUSE_ERR_OVERFLOW, "the members up to %" PRId64 " have more than 2^63 elements", i);
    }
    lfuse_list *l;
    LFUSE__TRY(make(dev, type, count, &l));
    for (int64_t i = 0; i < count; i++) {
        l->members[i] = member_of(members[i]);
        l->strided += lfuse__member_strided(&l->members[i]);
    }
    l->elements = elements;
    *list = l;
    return LFUSE_OK;
}

lfuse_status lfuse__list_flat(const lfuse_list *l, const char *name)
{
    int64_t i;

    for (i = 0; l->strided && i < l->count; i++) {
        const lfuse__member *m = &l->members[i];
        if (!lfuse__member_strided(m)) continue;
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "member %" PRId64 " of \"%s\" is not contiguous: %" PRId64
                            " matrices, %" PRId64 " elements apart, of %" PRId64 " rows, %" PRId64 " apart, of %" PRId64
                            ": products of lists take such, and nothing else", i, name, m->matrices,
                            m->batch_stride, m->rows, m->ld, m->columns);
    }
    return LFUSE_OK;
}

lfuse_status lfuse__list_of_elements(const lfuse_tensor *vector, int64_t count, lfuse_list **list)
{
    const int64_t size = (int64_t)lfuse_type_size(vector->type);
    lfuse_list *l;

    LFUSE__TRY(lfuse__device_usable(vector->range->dev));
    LFUSE__TRY(make(vector->range->dev, vector->type, count, &l));
    for (int64_t i = 0; i < count; i++) {
        lfuse__range_retain(vector->range);
        l->members[i] = (lfuse__member){.range = vector->range,
                                        .offset = (uint64_t)((vector->offset + i * vector->strides[0]) * size),
                                        .elements = 1, .matrices = 1, .rows = 1, .columns = 1, .ld = 1,
                                        .batch_stride = 1};
    }
    l->elements = count;
    *list = l;
    return LFUSE_OK;
}

lfuse_status lfuse__tensor_elements_list(lfuse_tensor *vector, lfuse_list **list)
{
    lfuse_list *made, *there = atomic_load_explicit(&vector->elements_list, memory_order_acquire);

    if (!there) {
        LFUSE__TRY(lfuse__list_of_elements(vector, vector->shape[0], &made));
        if (atomic_compare_exchange_strong(&vector->elements_list, &there, made)) there = made;
        else lfuse__list_release(made); /* somebody was faster */
    }
    *list = there;
    return LFUSE_OK;
}

static void advance(lfuse_list *l, int64_t first, int64_t count)
{
    l->version++;
    l->replaced[l->version % LFUSE__REPLACED].first = first;
    l->replaced[l->version % LFUSE__REPLACED].count = count;
}

/* Of members that have strides these stay too: kernels have been told. */
static lfuse_status check_replaced(const lfuse__member *before, const lfuse_tensor *t, int64_t i)
{
    lfuse__member now = {.elements = t->elements};

    if (t->elements != before->elements)
        return lfuse__error(LFUSE_ERR_SHAPE, "member %" PRId64 " has %" PRId64 " elements, not %" PRId64, i,
                            t->elements, before->elements);
    note_shape(t, &now);
    if (!lfuse__member_strided(before) && !lfuse__member_strided(&now)) return LFUSE_OK;
    if (now.matrices == before->matrices && now.rows == before->rows && now.columns == before->columns &&
        now.ld == before->ld && now.batch_stride == before->batch_stride)
        return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_SHAPE, "member %" PRId64 " is %" PRId64 " matrices, %" PRId64 " elements apart, of %"
                        PRId64 " rows, %" PRId64 " apart, of %" PRId64 "; it was %" PRId64 ", %" PRId64 " apart, of %"
                        PRId64 ", %" PRId64 " apart, of %" PRId64, i, now.matrices, now.batch_stride, now.rows, now.ld,
                        now.columns, before->matrices, before->batch_stride, before->rows, before->ld, before->columns);
}

lfuse_status lfuse__list_replace(lfuse_list *l, int64_t first, int64_t count, lfuse_tensor *const *members)
{
    LFUSE__TRY(lfuse__device_usable(l->dev));
    if (first < 0 || count < 0 || first > l->count || count > l->count - first)
        return lfuse__error(LFUSE_ERR_INVALID, "members [%" PRId64 ", +%" PRId64 ") of a list of %" PRId64, first,
                            count, l->count);
    for (int64_t i = 0; i < count; i++) {
        LFUSE__TRY(check_member(l->dev, l->type, members[i], first + i));
        LFUSE__TRY(check_replaced(&l->members[first + i], members[i], first + i));
    }
    for (int64_t i = 0; i < count; i++) {
        const lfuse__member before = l->members[first + i];
        lfuse__member *m = &l->members[first + i];
        *m = member_of(members[i]);
        m->matrices = before.matrices, m->rows = before.rows, m->columns = before.columns; /* shapes stay */
        m->ld = before.ld, m->batch_stride = before.batch_stride;
        m->rank = before.rank;
        lfuse__range_release(before.range);
    }
    if (count) advance(l, first, count);
    return LFUSE_OK;
}

bool lfuse__list_replaced(const lfuse_list *l, uint64_t version, int64_t *first, int64_t *count)
{
    if (version > l->version || l->version - version >= LFUSE__REPLACED) return false;
    *first = l->replaced[version % LFUSE__REPLACED].first;
    *count = l->replaced[version % LFUSE__REPLACED].count;
    return true;
}

lfuse_status lfuse__list_slice(const lfuse_list *from, int64_t first, int64_t count, lfuse_list **list)
{
    lfuse_list *l;
    LFUSE__TRY(make(from->dev, from->type, count, &l));
    for (int64_t i = 0; i < count; i++) {
        l->members[i] = from->members[first + i];
        lfuse__range_retain(l->members[i].range);
        l->elements += l->members[i].elements;
        l->strided += lfuse__member_strided(&l->members[i]);
    }
    *list = l;
    return LFUSE_OK;
}

lfuse_status lfuse__list_join(int n, lfuse_list *const *from, lfuse_list **list)
{
    int64_t count = 0;
    lfuse_list *l;
    for (int k = 0; k < n; k++) count += from[k]->count;
    LFUSE__TRY(make(from[0]->dev, from[0]->type, count, &l));
    for (int64_t k = 0, at = 0; k < n; k++) {
        for (int64_t i = 0; i < from[k]->count; i++, at++) {
            l->members[at] = from[k]->members[i];
            lfuse__range_retain(l->members[at].range);
        }
        l->elements += from[k]->elements;
        l->strided += from[k]->strided;
    }
    *list = l;
    return LFUSE_OK;
}

void lfuse__list_mirror(lfuse_list *l, int64_t at, const lfuse_list *from, int64_t first, int64_t count)
{
    int64_t low = count, high = 0;

    for (int64_t i = 0; i < count; i++) {
        const lfuse__member before = l->members[at + i], now = from->members[first + i];
        if (before.range == now.range && before.offset == now.offset) continue;
        lfuse__range_retain(now.range);
        l->members[at + i].range = now.range;
        l->members[at + i].offset = now.offset;
        lfuse__range_release(before.range);
        if (low > i) low = i;
        high = i + 1;
    }
    if (low < high) advance(l, at + low, high - low);
}

void lfuse__list_retain(lfuse_list *l)
{
    atomic_fetch_add_explicit(&l->holders, 1, memory_order_relaxed);
}

void lfuse__list_watch(lfuse_list *l)
{
    atomic_fetch_add_explicit(&l->references, 1, memory_order_relaxed);
}

void lfuse__list_unwatch(lfuse_list *l)
{
    if (!l || lfuse__forked()) return;
    if (atomic_fetch_sub_explicit(&l->references, 1, memory_order_acq_rel) != 1) return;
    free(l->group_first);
    free(l);
}

bool lfuse__list_gone(const lfuse_list *l)
{
    return atomic_load_explicit(&l->holders, memory_order_acquire) == 0;
}

void lfuse__list_release(lfuse_list *l)
{
    if (!l || lfuse__forked()) return;
    if (atomic_fetch_sub_explicit(&l->holders, 1, memory_order_acq_rel) != 1) return;
    for (int64_t i = 0; i < l->count; i++) lfuse__range_release(l->members[i].range);
    lfuse__device_release(l->dev);
    free(l->members);
    l->members = NULL;
    lfuse__list_unwatch(l);
}
