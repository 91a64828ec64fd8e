/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions of members and of whole lists against the canonical fold in host C, bit for bit. */
#include "common/base/error.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"
#include "tests/support/check.h"

enum { INPUT, SCALE, SUM, MOST, TOTAL, LEAST, OPERANDS, GUARD = 64 };

/* Sum of x * scale and largest x of each member; over the members the sum of the sums and the least of the largest. */
typedef struct members {
    sample s;
    lfuse_type type, wide;
    int64_t count, chunks, elements;
    int64_t *sizes, *starts;
    lfuse__chunk *table;
    uint64_t *tables; /* first chunks, entries, ticket */
    arena arenas[OPERANDS];
} members;

static void make_class(members *m, lfuse_type type)
{
    const lfuse_type wide = type == LFUSE_F64 ? type : LFUSE_F32;
    sample *s = &m->s;
    memset(m, 0, sizeof *m);
    m->type = type, m->wide = wide;
    sample_start(s, LFUSE__FAMILY_POINTWISE, 1, 1);
    for (int j = 0; j < OPERANDS; j++) {
        sample_operand(s, j < TOTAL ? type : wide, j >= SUM, j == INPUT ? LFUSE__STRIDE_UNIT : LFUSE__STRIDE_REPEAT);
        s->k.operands[j].fixed = j >= TOTAL;
    }
    const int x = sample_load(s, INPUT), scale = sample_load(s, SCALE);
    const int scaled = sample_apply(s, LFUSE__OP_mul, wide, x, scale);
    const int sum = sample_reduce(s, LFUSE__REDUCE_SUM, wide, scaled);
    const int most = sample_reduce(s, LFUSE__REDUCE_MAX, wide, x);
    const int total = sample_total(s, LFUSE__REDUCE_SUM, wide, sum);
    const int least = sample_total(s, LFUSE__REDUCE_MIN, wide, most);
    sample_store(s, sum, SUM);
    sample_store(s, most, MOST);
    sample_store(s, sample_apply(s, LFUSE__OP_neg, wide, total, -1), TOTAL);
    sample_store(s, least, LEAST);
}

/* Sizes as the caller fills them: members lie apart, some at odd places. */
static void make_lists(members *m, int64_t count, int64_t (*size)(int64_t member))
{
    m->count = count;
    m->sizes = rig_memory((size_t)count * sizeof *m->sizes, 0);
    m->starts = rig_memory((size_t)count * sizeof *m->starts, 0);
    m->elements = GUARD;
    for (int64_t i = 0; i < count; i++) {
        m->sizes[i] = size(i);
        m->starts[i] = m->elements;
        m->elements += (m->sizes[i] + 15) / 8 * 8 + (i % 3 == 1);
        m->chunks += (m->sizes[i] + LFUSE__SEGMENT - 1) / LFUSE__SEGMENT;
    }
    m->table = rig_memory((size_t)m->chunks * sizeof *m->table + 8, 0);
    m->tables = rig_memory((size_t)((OPERANDS * 2 + 1) * count + 8) * sizeof *m->tables, 0);
    int64_t chunk = 0;
    for (int64_t i = 0; i < count; i++) {
        m->tables[i] = (uint64_t)chunk;
        for (int64_t at = 0; at < m->sizes[i]; at += LFUSE__SEGMENT, chunk++)
            m->table[chunk] = (lfuse__chunk){(uint32_t)i, (uint32_t)(m->sizes[i] - at < LFUSE__SEGMENT
                                                                         ? m->sizes[i] - at : LFUSE__SEGMENT),
                                             (uint64_t)at};
    }
    m->tables[count] = (uint64_t)chunk;
    for (int j = 0; j < OPERANDS; j++)
        for (int64_t i = 0; i < count; i++) {
            uint64_t *entry = m->tables + count + 1 + 2 * (j * count + i);
            entry[0] = (uint64_t)(j == INPUT ? m->starts[i] : j < TOTAL ? GUARD + i : 1) *
                       lfuse_type_size(m->s.k.operands[j].type);
            entry[1] = (uint64_t)j;
        }
    for (int j = 0; j < OPERANDS; j++) {
        const size_t elements = (size_t)(j == INPUT ? m->elements + GUARD : j < TOTAL ? count + 2 * GUARD : 4);
        m->arenas[j] = arena_make((elements * lfuse_type_size(m->s.k.operands[j].type) + 7) / 8 * 8, 0);
        host_fill(m->arenas[j].memory, m->s.k.operands[j].type, elements, 5 + (uint64_t)j);
    }
    /* Numbers of one size, so that a sum says something; in a short list a few of the specials stay. */
    uint64_t seed = 99;
    for (int64_t i = 0; i < m->elements; i++) {
        const double x = (double)(int64_t)host_random(&seed) * 0x1p-62;
        if (count > 2 || i % 1000 != 999) host_put(m->arenas[INPUT].memory, m->type, i, x);
    }
    for (int64_t i = 0; i < count + 2 * GUARD; i++) host_put(m->arenas[SCALE].memory, m->type, i, (double)(i % 7) - 3);
    for (int j = 0; j < OPERANDS; j++) arena_keep(&m->arenas[j]);
}

static value nothing(int op, lfuse_type wide)
{
    value v;
    memset(&v, 0, sizeof v);
    const double x = op == LFUSE__REDUCE_SUM ? 0 : op == LFUSE__REDUCE_MAX ? -INFINITY : INFINITY;
    if (wide == LFUSE_F64) v.f64 = x; else v.f32 = (float)x;
    return v;
}

static value fold(const members *m, int op, const value *x, int64_t count)
{
    return count ? row_fold(op, m->wide, x, count) : nothing(op, m->wide);
}

static void expect(members *m)
{
    value *x = rig_memory((size_t)m->elements * sizeof *x, 0), *y = rig_memory((size_t)m->elements * sizeof *y, 0);
    value *sums = rig_memory((size_t)m->count * sizeof *sums, 0), total;
    value *most = rig_memory((size_t)m->count * sizeof *most, 0);
    for (int64_t i = 0; i < m->count; i++) {
        const value scale = host_load(m->arenas[SCALE].memory, m->type, GUARD + i);
        for (int64_t e = 0; e < m->sizes[i]; e++) {
            x[e] = host_load(m->arenas[INPUT].memory, m->type, m->starts[i] + e);
            y[e] = host_apply(LFUSE__OP_mul, m->wide, x[e], scale);
        }
        sums[i] = fold(m, LFUSE__REDUCE_SUM, y, m->sizes[i]);
        most[i] = fold(m, LFUSE__REDUCE_MAX, x, m->sizes[i]);
        host_store(m->arenas[SUM].expected, m->type, GUARD + i, sums[i]);
        host_store(m->arenas[MOST].expected, m->type, GUARD + i, most[i]);
    }
    total = fold(m, LFUSE__REDUCE_SUM, sums, m->count);
    host_store(m->arenas[TOTAL].expected, m->wide, 1, host_apply(LFUSE__OP_neg, m->wide, total, total));
    host_store(m->arenas[LEAST].expected, m->wide, 1, fold(m, LFUSE__REDUCE_MIN, most, m->count));
    free(most);
    free(sums);
    free(y);
    free(x);
}

static void put_blocks(const members *m, rig_buffer *buffers)
{
    for (int j = 0; j < LFUSE__MAX_SLOTS; j++)
        buffers[j] = j < OPERANDS ? (rig_buffer){m->arenas[j].memory, m->arenas[j].bytes, m->s.k.operands[j].written}
                                  : (rig_buffer){NULL, 0, false};
}

/* Each kernel in two launches, as lists in many blocks have them; the fold's second has the last group. */
static void launch(rig *r, lfuse__bprogram *program, members *m, const lfuse__facts *facts)
{
    const size_t tables = (size_t)((OPERANDS * 2 + 1) * m->count + 8) * sizeof *m->tables;
    const int64_t middle = m->count / 2;
    uint64_t totals;
    const uint64_t bytes = lfuse__members_scratch(&m->s.k, m->count, m->chunks, &totals) + 512;
    unsigned char *scratch = rig_memory(bytes, 0xee);
    rig_buffer buffers[LFUSE__MAX_BUFFERS];
    lfuse__members_part part = {.all = m->count, .all_chunks = m->chunks, .stride = m->count, .scratch = 256,
                                .ticket = 8 * ((OPERANDS * 2 + 1) * (uint64_t)m->count + 4)};
    lfuse__packed packed;
    for (int half = 0; half < 2; half++) {
        part.first_chunk = half ? (int64_t)m->tables[middle] : 0;
        part.chunks = half ? m->chunks - part.first_chunk : (int64_t)m->tables[middle];
        OK(lfuse__members_partial_pack(&m->s.k, facts, &part, &packed));
        packed.words[LFUSE__MULTI_CHUNKS_OFFSET] = 0;
        packed.words[LFUSE__MULTI_ADDRESSES_OFFSET] = 8 * ((uint64_t)m->count + 1);
        buffers[0] = (rig_buffer){m->table, (size_t)m->chunks * sizeof *m->table + 8, false};
        buffers[1] = (rig_buffer){m->tables, tables, false};
        buffers[2] = (rig_buffer){scratch, bytes, true};
        put_blocks(m, buffers + 3);
        /* The kernels read one stride, that of the list. */
        rig_launch(r, program, "partial", &packed, 3 + LFUSE__MAX_SLOTS, buffers);
    }
    for (int half = 0; half < 2; half++)
        part.arrivals += lfuse__members_groups(facts, half ? m->count - middle : middle);
    for (int half = 0; half < 2; half++) {
        part.first_member = half ? middle : 0;
        part.members = half ? m->count - middle : middle;
        part.table = 8 * (uint64_t)part.first_member;
        part.entries = 8 * ((uint64_t)m->count + 1 + 2 * (uint64_t)part.first_member);
        OK(lfuse__members_fold_pack(&m->s.k, facts, &part, &packed));
        buffers[0] = (rig_buffer){scratch, bytes, true};
        buffers[1] = buffers[2] = (rig_buffer){m->tables, tables, true};
        put_blocks(m, buffers + 3);
        rig_launch(r, program, "fold", &packed, 3 + LFUSE__MAX_SLOTS, buffers);
    }
    ck_assert_uint_eq(m->tables[part.ticket / 8], 0);
    free(scratch);
}

static void check_lists(rig *r, lfuse__bprogram *program, lfuse_type type, const lfuse__facts *facts, int64_t count,
                        int64_t (*size)(int64_t member))
{
    members m;
    make_class(&m, type);
    make_lists(&m, count, size);
    expect(&m);
    launch(r, program, &m, facts);
    for (int j = 0; j < OPERANDS; j++) {
        arena_check(&m.arenas[j], m.s.k.operands[j].type, 0, "%lld members of %s: operand %d", (long long)count,
                    lfuse_type_name(type), j);
        arena_free(&m.arenas[j]);
    }
    free(m.tables);
    free(m.table);
    free(m.starts);
    free(m.sizes);
}

static int64_t mixed(int64_t member)
{
    static const int64_t sizes[] = {1, 5, 0, 16, 17, 1024, 1025, 3000, 40000, 128, 0, 2, 1023, 270000, 7};
    return sizes[member];
}

static int64_t small(int64_t member)
{
    return member * 7 % 13;
}

void members_emit(lfuse__strbuf *out, const char *partial, const char *last, lfuse_type type,
                  const lfuse__facts *facts, uint32_t bytes)
{
    members m;
    make_class(&m, type);
    if (bytes) {
        const int chunks = lfuse__carried_most(&m.s.k, LFUSE__CARRY_PARTIAL, facts, bytes);
        const int places = lfuse__carried_most(&m.s.k, LFUSE__CARRY_FOLD, facts, bytes);
        m.s.k.list.carried = chunks < places ? chunks : places;
        ck_assert_int_gt(m.s.k.list.carried, 0);
    }
    OK(lfuse__family_partial.emit(out, partial, &m.s.k, facts));
    OK(lfuse__family_fold.emit(out, last, &m.s.k, facts));
}

void case_members(rig *r, lfuse_type type)
{
    lfuse__facts facts = r->facts; /* tables of slots and offsets work on every device */
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    facts.addresses = false;
    members_emit(&text, "partial", "fold", type, &facts, 0);
    lfuse__bprogram *program = rig_program(r, &text);
    check_lists(r, program, type, &facts, 15, mixed);
    check_lists(r, program, type, &facts, 2, mixed);
    check_lists(r, program, type, &facts, 2500, small);
    r->backend->program_destroy(program);
}
