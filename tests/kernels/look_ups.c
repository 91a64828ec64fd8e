/* SPDX-License-Identifier: Apache-2.0 */
/* Gathered operands: rows and elements of a table at indices that are read, computed, or themselves looked up. */
#include "common/base/error.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"
#include "tests/support/check.h"

enum { GUARD = 32, MAPPED = 11, MOST = 40000, REPORTER = 77 };

/* How a class reads, and over what. */
typedef struct look_up {
    const char *name;
    int rank;
    bool index64, mapped; /* mapped: the index is looked up in operand SAMPLE_MAP first, and one is added to it */
    lfuse__stride_class table, indices;
} look_up;

static const look_up kinds[] = {
    {"rows", 2, false, false, LFUSE__STRIDE_UNIT, LFUSE__STRIDE_REPEAT},
    {"rows64", 2, true, false, LFUSE__STRIDE_UNIT, LFUSE__STRIDE_REPEAT},
    {"mapped", 2, false, true, LFUSE__STRIDE_UNIT, LFUSE__STRIDE_REPEAT},
    {"deep", 3, false, true, LFUSE__STRIDE_UNIT, LFUSE__STRIDE_REPEAT},
    {"spread", 2, false, false, LFUSE__STRIDE_ANY, LFUSE__STRIDE_REPEAT},
    {"elements", 1, false, false, LFUSE__STRIDE_REPEAT, LFUSE__STRIDE_UNIT},
    {"elements64", 1, true, true, LFUSE__STRIDE_REPEAT, LFUSE__STRIDE_ANY},
    {"diagonal", 2, false, false, LFUSE__STRIDE_UNIT, LFUSE__STRIDE_UNIT},
};
enum { KINDS = sizeof kinds / sizeof *kinds };

static void make_class(sample *s, const look_up *kind, lfuse_type type)
{
    sample_look_up(s, type, kind->mapped);
    s->k.rank = kind->rank;
    s->k.index64 = kind->index64;
    s->k.operands[SAMPLE_TABLE].inner = kind->table;
    s->k.operands[SAMPLE_INDICES].inner = kind->indices;
    s->k.operands[SAMPLE_RESULT].inner = LFUSE__STRIDE_UNIT;
}

/* One launch: `height` places along the gathered axis, `pitch` elements apart. */
typedef struct launch {
    const sample *c;
    const look_up *kind;
    lfuse__geometry g;
    int64_t count;
    int32_t indices[MOST], map[MAPPED];
    unsigned char table[MOST * 8], result[MOST * 8], expected[MOST * 8];
    uint64_t reports[6];
} launch;

static int64_t strides_of(launch *l, int operand, lfuse__stride_class inner, const int *walked)
{
    int64_t span = 1;
    for (int a = l->kind->rank - 1; a >= 0; a--) {
        int64_t stride = walked[a] ? span : 0;
        if (a == l->kind->rank - 1 && inner == LFUSE__STRIDE_ANY) stride = 2;
        l->g.strides[operand][a] = stride;
        if (stride) span = stride * l->g.extents[a];
    }
    return span;
}

/* What the index of a place is; -1 and `bad` where a map or the table has none. */
static int64_t resolve(const launch *l, int64_t place, int64_t *bad)
{
    int64_t index = l->indices[place];
    if (l->kind->mapped) {
        *bad = index;
        if (index < 0 || index >= MAPPED) index = -1; /* the map gives 0 */
        index = (index < 0 ? 0 : l->map[index]) + 1;
    }
    if (index < 0 || index >= l->g.gathered_extents[SAMPLE_TABLE]) {
        *bad = index;
        return -1;
    }
    return index;
}

static int64_t offset_of(const launch *l, int operand, int64_t i)
{
    int64_t at = 0;
    for (int a = l->kind->rank - 1; a >= 0; i /= l->g.extents[a--])
        at += i % l->g.extents[a] * l->g.strides[operand][a];
    return at;
}

static bool is_bad(const launch *l, int64_t i, int64_t index)
{
    int64_t bad = 0;
    const int64_t place = offset_of(l, SAMPLE_INDICES, i), at = l->indices[place];
    if (l->kind->mapped && (at < 0 || at >= MAPPED) && index == at) return true;
    return resolve(l, place, &bad) < 0 && bad == index;
}

static void expect(launch *l, lfuse_type type, size_t size, bool *any)
{
    *any = false;
    for (int64_t i = 0; i < l->count; i++) {
        int64_t bad;
        const int64_t place = offset_of(l, SAMPLE_INDICES, i), index = resolve(l, place, &bad);
        unsigned char *to = l->expected + l->g.offsets[SAMPLE_RESULT] + (size_t)offset_of(l, SAMPLE_RESULT, i) * size;
        const int64_t at = index * l->g.gathered_strides[SAMPLE_TABLE] + offset_of(l, SAMPLE_TABLE, i);
        memset(to, 0, size);
        if (index >= 0)
            host_store(to, type, 0, host_load(l->table + l->g.offsets[SAMPLE_TABLE] + at * (int64_t)size, type, 0));
        *any = *any || index < 0 || (l->kind->mapped && (l->indices[place] < 0 || l->indices[place] >= MAPPED));
    }
}

static void check_report(const launch *l, bool any, const char *what)
{
    ck_assert_msg((uint32_t)l->reports[1] == any, "%s: reported %d, expected %d", what, (int)l->reports[1], any);
    if (!any) return;
    ck_assert_msg(l->reports[2] == REPORTER && (int64_t)l->reports[3] < l->count &&
                      is_bad(l, (int64_t)l->reports[3], (int64_t)l->reports[4]),
                  "%s: report of %llu: element %lld, index %lld", what, (unsigned long long)l->reports[2],
                  (long long)l->reports[3], (long long)l->reports[4]);
}

/* `wrong`: of 256 indices, so many lie outside. */
static void fill_indices(int32_t *indices, size_t count, int64_t height, unsigned wrong, uint64_t seed)
{
    static const int32_t outside[] = {-1, INT32_MIN, INT32_MAX, 0};
    for (size_t i = 0; i < count; i++) {
        const uint64_t r = host_random(&seed);
        const int which = (int)(r >> 8 & 3);
        indices[i] = height ? (int32_t)(r % (uint64_t)height) : 0;
        if ((r >> 40 & 255) < wrong) indices[i] = which == 3 ? (int32_t)height : outside[which];
    }
}

static void run(rig *r, lfuse__bprogram *program, const char *name, launch *l, lfuse_type type, unsigned wrong,
                const char *what)
{
    const size_t size = lfuse_type_size(type);
    const int64_t height = l->g.gathered_extents[SAMPLE_TABLE];
    const rig_buffer none = {NULL, 0, false};
    lfuse__packed packed;
    bool any;
    l->count = 1;
    for (int a = 0; a < l->kind->rank; a++) l->count *= l->g.extents[a];
    host_fill(l->table, type, sizeof l->table / size, (uint64_t)l->count);
    host_fill(l->result, type, sizeof l->result / size, 9);
    memcpy(l->expected, l->result, sizeof l->result);
    fill_indices(l->indices, MOST, l->kind->mapped ? MAPPED : height, wrong, 5 + (uint64_t)l->count);
    fill_indices(l->map, MAPPED, height > 1 ? height - 1 : 1, 0, 6);
    memset(l->reports, 0, sizeof l->reports);
    l->g.reporter = REPORTER;
    l->g.reports = 8;
    for (int j = 0; j < l->c->k.noperands; j++) l->g.addresses[j] = l->g.offsets[j];
    ck_assert_msg(!lfuse__family_pointwise.pack(&l->c->k, &r->facts, &l->g, &packed), "%s: %s", what,
                  lfuse__error_message());
    expect(l, type, size, &any);
    rig_buffer buffers[] = {{l->table, sizeof l->table, false}, {l->indices, sizeof l->indices, false},
                            {l->result, sizeof l->result, true}, none, none};
    if (l->kind->mapped) buffers[SAMPLE_MAP] = (rig_buffer){l->map, sizeof l->map, false};
    buffers[l->c->k.noperands] = (rig_buffer){l->reports, sizeof l->reports, true};
    ck_assert_int_eq(lfuse__kernel_buffers(&l->c->k), l->c->k.noperands + 1);
    rig_launch(r, program, name, &packed, l->c->k.noperands + 1, buffers);
    const int64_t at = host_compare(l->result, l->expected, type, sizeof l->result);
    ck_assert_msg(at < 0, "%s: element %lld differs", what, (long long)at);
    check_report(l, any, what);
}

static void run_kind(rig *r, lfuse__bprogram *program, const char *name, const sample *c, const look_up *kind,
                     lfuse_type type)
{
    static launch l;
    static const int64_t widths[] = {64, 1, 3, 20, 256, 17};
    const int64_t size = (int64_t)lfuse_type_size(type);
    char what[96];
    for (int turn = 0; turn < 12; turn++) {
        const int last = kind->rank - 1, shift = turn / 6;
        int walked[LFUSE_MAX_RANK] = {0}, outer[LFUSE_MAX_RANK] = {0}, all[LFUSE_MAX_RANK];
        memset(&l.g, 0, sizeof l.g);
        l.c = c;
        l.kind = kind;
        for (int a = 0; a < LFUSE_MAX_RANK; a++) all[a] = 1;
        l.g.extents[0] = kind->rank == 1 ? 1 + 1000 * turn : 1 + 5 * turn;
        if (kind->rank == 3) l.g.extents[1] = 2;
        if (last) l.g.extents[last] = widths[turn % 6];
        walked[last] = kind->table != LFUSE__STRIDE_REPEAT;
        for (int a = 0; a < last; a++) outer[a] = 1;
        outer[last] = kind->indices != LFUSE__STRIDE_REPEAT;
        int64_t span = strides_of(&l, SAMPLE_TABLE, kind->table, walked);
        strides_of(&l, SAMPLE_INDICES, kind->indices, outer);
        strides_of(&l, SAMPLE_RESULT, LFUSE__STRIDE_UNIT, all);
        l.g.gathered_extents[SAMPLE_TABLE] = turn == 5 ? 0 : 1 + turn * 7;
        l.g.gathered_strides[SAMPLE_TABLE] = span + (shift && turn % 2);
        l.g.gathered_extents[SAMPLE_MAP] = MAPPED;
        l.g.gathered_strides[SAMPLE_MAP] = 1;
        l.g.offsets[SAMPLE_TABLE] = (uint64_t)((GUARD + (turn == 7)) * size);
        l.g.offsets[SAMPLE_RESULT] = (uint64_t)((GUARD + (turn == 8)) * size);
        if (turn % 4 == 3) { /* from the last row backwards */
            l.g.offsets[SAMPLE_TABLE] +=
                (uint64_t)((l.g.gathered_extents[SAMPLE_TABLE] - 1) * l.g.gathered_strides[SAMPLE_TABLE] * size);
            l.g.gathered_strides[SAMPLE_TABLE] *= -1;
        }
        snprintf(what, sizeof what, "%s of %s, turn %d", name, lfuse_type_name(type), turn);
        run(r, program, name, &l, type, turn % 3 ? 0 : 8, what);
    }
}

void case_look_ups(rig *r, lfuse_type type)
{
    static sample classes[KINDS];
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    for (int i = 0; i < KINDS; i++) {
        make_class(&classes[i], &kinds[i], type);
        OK(lfuse__family_pointwise.emit(&text, kinds[i].name, &classes[i].k, &r->facts));
    }
    lfuse__bprogram *program = rig_program(r, &text);
    for (int i = 0; i < KINDS; i++) run_kind(r, program, kinds[i].name, &classes[i], &kinds[i], type);
    r->backend->program_destroy(program);
}
