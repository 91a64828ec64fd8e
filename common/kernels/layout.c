/* SPDX-License-Identifier: Apache-2.0 */
/* The argument words of pointwise and row kernels: where they are, and their values for given sizes. */
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/emit.h"

/* Of kernels over rows, scans among them. */
static bool has_rows(const lfuse__kernel_class *k)
{
    return k->family != LFUSE__FAMILY_POINTWISE;
}

static bool stride_needed(const lfuse__kernel_class *k, int operand, int axis)
{
    if (axis < k->rank - (k->naxes ? k->naxes : 1)) return true;
    if (k->operands[operand].inner == LFUSE__STRIDE_SPLIT) return true;
    return axis == k->rank - 1 && k->operands[operand].inner == LFUSE__STRIDE_ANY;
}

static bool any_split(const lfuse__kernel_class *k)
{
    for (int j = 0; j < k->noperands; j++)
        if (k->operands[j].inner == LFUSE__STRIDE_SPLIT) return true;
    return false;
}

/* Words of the divisions that split a linear index into `axes` axes; `shifts` is set to their last. */
static int division_words(const lfuse__kernel_class *k, int at, int axes, int *shifts)
{
    *shifts = -1;
    if (axes < 2) return at;
    *shifts = at + (axes - 1) * (k->index64 ? 2 : 1);
    return *shifts + 1;
}

void lfuse__layout_make(const lfuse__kernel_class *k, lfuse__layout *layout)
{
    int at = k->noperands, strides = 0;
    const bool staged = k->family == LFUSE__FAMILY_ROWS && lfuse__rows_staged(&k->rows), row = has_rows(k);
    layout->axes = row ? k->rank - (k->naxes ? k->naxes : 1) : k->rank;
    layout->count = at++;
    layout->flags = at++;
    layout->length = row ? at++ : -1;
    layout->segments = staged ? at++ : -1;
    layout->partials = staged ? at++ : -1;
    layout->division = at;
    at = division_words(k, at, layout->axes, &layout->shifts);
    layout->row_division = at;
    at = division_words(k, at, any_split(k) ? k->naxes : 0, &layout->row_shifts);
    layout->strides = at;
    for (int j = 0; j < k->noperands; j++)
        for (int a = 0; a < LFUSE_MAX_RANK; a++)
            layout->slot[j][a] = a < k->rank && stride_needed(k, j, a) ? strides++ : -1;
    at += k->index64 ? strides : (strides + 1) / 2;
    layout->gathers = at;
    for (int j = 0; j < k->noperands; j++) layout->gather[j] = -1;
    if (lfuse__kernel_gathers(k)) at += 2;
    for (int j = 0; j < k->noperands; j++)
        if (k->operands[j].gathered) layout->gather[j] = at, at += 2;
    layout->numbers = at;
    layout->total = at + k->body->nnumbers;
}

lfuse_status lfuse__layout_check(const lfuse__kernel_class *k, const lfuse__layout *layout)
{
    const int most = LFUSE__ARGUMENT_BYTES / 8 - lfuse__kernel_buffers(k);
    if (layout->total > most)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED,
                            "%d operands of rank %d and %d numbers need %d argument words; a kernel takes %d",
                            k->noperands, k->rank, k->body->nnumbers, layout->total, most);
    return LFUSE_OK;
}

static int ceil_log2(uint64_t d)
{
    int l = 0;
    while (l < 63 && ((uint64_t)1 << l) < d) l++;
    return l;
}

/*
 * n / d = n * magic >> (bits + l) for n < 2^bits, with l = ceil(log2 d) and magic = floor(2^(bits + l) / d) + 1, which
 * exceeds the exact factor by less than 2^-bits of itself. bits: 31, or 63.
 */
static uint64_t magic_of(int bits, int l, uint64_t d)
{
    return (uint64_t)(((unsigned __int128)1 << (bits + l)) / d + 1);
}

uint64_t lfuse__division32(uint64_t d)
{
    const int l = ceil_log2(d);
    return magic_of(31, l, d) | (uint64_t)(31 + l) << 32;
}

static void division_pack(const lfuse__kernel_class *k, int axis, uint64_t d, uint64_t *at, uint64_t *shifts)
{
    const int l = ceil_log2(d), index = axis - 1;
    if (k->index64) {
        at[2 * index] = d;
        at[2 * index + 1] = magic_of(63, l, d);
        *shifts |= (uint64_t)l << (8 * index);
    } else {
        const uint64_t by = lfuse__division32(d);
        at[index] = d | by << 32;
        *shifts |= by >> 32 << (8 * index);
    }
}

static lfuse_status stride_pack(const lfuse__kernel_class *k, const lfuse__layout *layout, int operand, int axis,
                                int64_t stride, uint64_t *words)
{
    const int slot = layout->slot[operand][axis];
    if (k->index64) {
        words[layout->strides + slot] = (uint64_t)stride;
        return LFUSE_OK;
    }
    if (stride < -INT32_MAX || stride > INT32_MAX)
        return lfuse__error(LFUSE_ERR_OVERFLOW, "operand %d: stride %lld of axis %d in a kernel of 32-bit indices",
                            operand, (long long)stride, axis);
    words[layout->strides + slot / 2] |= (uint64_t)(uint32_t)stride << (32 * (slot % 2));
    return LFUSE_OK;
}

/* Product of the extents of axes first ... end - 1, at least `least`, below the class's limit. */
static lfuse_status elements(const lfuse__kernel_class *k, const lfuse__geometry *g, int first, int end, int64_t least,
                             uint64_t *count)
{
    int64_t n = 1, limit = k->index64 ? INT64_MAX : INT32_MAX;
    for (int a = first; a < end; a++)
        if (g->extents[a] < least || __builtin_mul_overflow(n, g->extents[a], &n) || n > limit)
            return lfuse__error(LFUSE_ERR_OVERFLOW, "extent %lld of axis %d: more elements than %d-bit indices count",
                                (long long)g->extents[a], a, k->index64 ? 64 : 32);
    *count = (uint64_t)n;
    return LFUSE_OK;
}

/* The farthest element of each operand, against the range of offsets. */
static lfuse_status reach_check(const lfuse__kernel_class *k, const lfuse__geometry *g)
{
    const __int128 limit = k->index64 ? INT64_MAX : INT32_MAX;
    for (int j = 0; j < k->noperands; j++) {
        __int128 low = 0, high = 0;
        for (int a = 0; a < k->rank; a++) {
            __int128 reach = g->extents[a] > 0 ? (__int128)g->strides[j][a] * (g->extents[a] - 1) : 0;
            if (reach < 0) low += reach; else high += reach;
        }
        if (low < -limit || high > limit)
            return lfuse__error(LFUSE_ERR_OVERFLOW, "operand %d: an element is farther than %d-bit offsets reach", j,
                                k->index64 ? 64 : 32);
    }
    return LFUSE_OK;
}

/* Offsets along a gathered axis are of 64 bits whatever the class. */
static lfuse_status gather_pack(const lfuse__layout *layout, const lfuse__geometry *g, int operand, uint64_t *words)
{
    int64_t reach;
    if (g->gathered_extents[operand] < 0 ||
        __builtin_mul_overflow(g->gathered_extents[operand], g->gathered_strides[operand], &reach))
        return lfuse__error(LFUSE_ERR_OVERFLOW, "operand %d: %lld elements, %lld apart, to look up in", operand,
                            (long long)g->gathered_extents[operand], (long long)g->gathered_strides[operand]);
    words[layout->gather[operand]] = (uint64_t)g->gathered_extents[operand];
    words[layout->gather[operand] + 1] = (uint64_t)g->gathered_strides[operand];
    return LFUSE_OK;
}

lfuse_status lfuse__geometry_pack(const lfuse__kernel_class *k, const lfuse__layout *layout, const lfuse__geometry *g,
                                  lfuse__packed *packed)
{
    uint64_t *words = packed->words;
    LFUSE__TRY(lfuse__layout_check(k, layout));
    memset(words, 0, (size_t)layout->total * sizeof *words);
    packed->nwords = (unsigned)layout->total;
    LFUSE__TRY(elements(k, g, 0, layout->axes, 1, &words[layout->count]));
    LFUSE__TRY(reach_check(k, g));
    if (layout->length >= 0) LFUSE__TRY(elements(k, g, layout->axes, k->rank, 0, &words[layout->length]));
    for (int a = 1; a < layout->axes; a++)
        division_pack(k, a, (uint64_t)g->extents[a], words + layout->division, words + layout->shifts);
    if (layout->row_shifts >= 0)
        for (int a = 1; a < k->naxes; a++) {
            const uint64_t extent = (uint64_t)g->extents[layout->axes + a];
            division_pack(k, a, extent ? extent : 1, words + layout->row_division, words + layout->row_shifts);
        }
    for (int j = 0; j < k->noperands; j++)
        for (int a = 0; a < k->rank; a++)
            if (layout->slot[j][a] >= 0) LFUSE__TRY(stride_pack(k, layout, j, a, g->strides[j][a], words));
    for (int j = 0; j < k->noperands; j++)
        if (layout->gather[j] >= 0) LFUSE__TRY(gather_pack(layout, g, j, words));
    return LFUSE_OK;
}

bool lfuse__geometry_aligned(const lfuse__kernel_class *k, const lfuse__geometry *g, int vector)
{
    const bool row = has_rows(k);
    const int axes = row ? k->rank - k->naxes : k->rank - 1;
    if (!row && k->rank > 1 && g->extents[axes] % vector) return false;
    for (int j = 0; j < k->noperands; j++) {
        if (!lfuse__in_blocks(&k->operands[j])) continue;
        const unsigned size = lfuse__type_bytes(k->operands[j].type), run = size * (unsigned)vector;
        if (g->addresses[j] % (run < 16 ? run : 16)) return false;
        for (int a = 0; a < axes; a++)
            if (g->extents[a] > 1 && g->strides[j][a] % vector) return false;
        if (k->operands[j].gathered && g->gathered_strides[j] % vector) return false;
    }
    return true;
}

void lfuse__geometry_rebind(const lfuse__kernel_class *k, const lfuse__layout *layout, const lfuse__geometry *g,
                            int vector, lfuse__packed *packed)
{
    uint64_t *words = packed->words;
    for (int j = 0; j < k->noperands; j++) words[j] = g->offsets[j];
    words[layout->flags] = vector && (!has_rows(k) || words[layout->length] % (unsigned)vector == 0) &&
                           lfuse__geometry_aligned(k, g, vector);
    if (lfuse__kernel_gathers(k)) {
        words[layout->gathers] = g->reporter;
        words[layout->gathers + 1] = g->reports;
    }
    if (layout->partials >= 0) words[layout->partials] = g->partials;
    lfuse__numbers_pack(k->body, g->numbers, words + layout->numbers);
}

const double lfuse__zeros[LFUSE__ZEROS];

void lfuse__geometry_of_one(lfuse__geometry *g)
{
    memset(g, 0, sizeof *g);
    for (int i = 0; i < LFUSE_MAX_RANK; i++) g->extents[i] = 1;
    g->numbers = lfuse__zeros;
}
