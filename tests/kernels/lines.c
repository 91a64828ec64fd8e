/* SPDX-License-Identifier: Apache-2.0 */
/* Rows and columns of lists, and what repeats along them, against host C, bit for bit. */
#include "common/base/error.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"
#include "tests/support/check.h"

enum { INPUT, SCALE, ROW, COLUMN, MATRIX, OUT, SHAPE, OPERANDS, GUARD = 64, MEMBERS = 14, CHUNK = 8 };

/* What is asked of the lists. */
typedef enum task { ROWS, COLUMNS, ROWS_OF_ROWS, REPEATED } task;

typedef struct lines {
    sample s;
    task task;
    lfuse_type type, wide;
    int64_t starts[OPERANDS][MEMBERS], chunks;
    lfuse__chunk *table;
    uint64_t *entries;
    void *memory[OPERANDS], *expected;
    size_t bytes[OPERANDS];
} lines;

static const int64_t shapes[MEMBERS][3] = {
    { 1, 1, 1 }, { 1, 5, 7 }, { 3, 0, 4 }, { 3, 4, 0 }, { 1, 1, 9000 }, { 1, 2100, 3 }, { 2, 40, 65 }, { 7, 3, 64 },
    { 1, 1030, 70 }, { 1, 3, 1500 }, { 50, 1, 1 }, { 1, 16, 1024 }, { 1, 9300, 1 }, { 4, 5, 33 },
};

static void make_class(lines *l, task of, lfuse_type type)
{
    static const lfuse__stride_class inner[] = {LFUSE__STRIDE_UNIT,   LFUSE__STRIDE_REPEAT, LFUSE__STRIDE_ROW,
                                                LFUSE__STRIDE_COLUMN, LFUSE__STRIDE_MATRIX, LFUSE__STRIDE_REPEAT,
                                                LFUSE__STRIDE_REPEAT};
    const lfuse_type wide = type == LFUSE_F64 ? type : LFUSE_F32;
    const bool sums = of != REPEATED;
    sample *s = &l->s;
    memset(l, 0, sizeof *l);
    l->task = of, l->type = type, l->wide = wide;
    sample_start(s, LFUSE__FAMILY_POINTWISE, 1, sums);
    s->k.list.columns = of == COLUMNS;
    s->k.list.walk = of == ROWS_OF_ROWS ? LFUSE__WALK_ROWS : LFUSE__WALK_ELEMENTS;
    for (int j = 0; j < OPERANDS; j++) sample_operand(s, j == SHAPE ? LFUSE_I64 : type, j == OUT, inner[j]);
    s->k.operands[SHAPE].shape = true;
    if (!sums) s->k.operands[OUT].inner = LFUSE__STRIDE_UNIT;
    int x = sample_load(s, INPUT);
    if (sums) {
        x = sample_apply(s, LFUSE__OP_mul, wide, x, sample_load(s, SCALE));
        x = sample_reduce(s, LFUSE__REDUCE_SUM, wide, x);
    } else {
        const int row = sample_load(s, ROW), column = sample_load(s, COLUMN), matrix = sample_load(s, MATRIX);
        x = sample_apply(s, LFUSE__OP_mul, wide, x, row);
        x = sample_apply(s, LFUSE__OP_add, wide, x, column);
        x = sample_apply(s, LFUSE__OP_sub, wide, x, matrix);
    }
    sample_store(s, x, OUT);
}

static int64_t size_of(const lines *l, int operand, int m)
{
    const int64_t *s = shapes[m], all = s[0] * s[1] * s[2];
    switch (operand) {
    case INPUT: return l->task == ROWS_OF_ROWS ? s[0] * s[1] : all;
    case ROW: return s[0] * s[1];
    case COLUMN: return s[0] * s[2];
    case MATRIX: return s[0];
    case OUT: return l->task == REPEATED ? all : lfuse__lines_count(&l->s.k, s[0], s[1], s[2]);
    case SHAPE: return 3;
    default: return 1;
    }
}

/* What the kernels walk of a member: cells, or elements. */
static int64_t walked(const lines *l, int m)
{
    const int64_t *s = shapes[m];
    return l->task == REPEATED ? s[0] * s[1] * s[2] : lfuse__lines_cells(&l->s.k, s[0], s[1], s[2]);
}

static void make_lists(lines *l)
{
    const int64_t length = l->task == REPEATED ? LFUSE__SEGMENT : CHUNK;
    int64_t chunk = 0;
    l->entries = rig_memory(2 * OPERANDS * MEMBERS * sizeof *l->entries, 0);
    for (int j = 0; j < OPERANDS; j++) {
        int64_t at = GUARD;
        for (int m = 0; m < MEMBERS; m++) {
            l->starts[j][m] = at;
            l->entries[2 * (j * MEMBERS + m)] = (uint64_t)at * lfuse_type_size(l->s.k.operands[j].type);
            l->entries[2 * (j * MEMBERS + m) + 1] = (uint64_t)j;
            at += (size_of(l, j, m) + 15) / 8 * 8 + (m % 3 == 1);
        }
        l->bytes[j] = ((size_t)(at + GUARD) * lfuse_type_size(l->s.k.operands[j].type) + 7) / 8 * 8;
        l->memory[j] = rig_memory(l->bytes[j], 0);
        uint64_t seed = 7 + (uint64_t)j;
        for (int64_t i = 0; i < at && j != SHAPE; i++)
            host_put(l->memory[j], l->type, i, (double)(int64_t)host_random(&seed) * 0x1p-62);
    }
    for (int m = 0; m < MEMBERS; m++) {
        memcpy((int64_t *)l->memory[SHAPE] + l->starts[SHAPE][m], shapes[m], sizeof shapes[m]);
        l->chunks += (walked(l, m) + length - 1) / length;
    }
    l->table = rig_memory((size_t)l->chunks * sizeof *l->table, 0);
    for (int m = 0; m < MEMBERS; m++)
        for (int64_t at = 0; at < walked(l, m); at += length, chunk++)
            l->table[chunk] = (lfuse__chunk){(uint32_t)m, (uint32_t)(walked(l, m) - at < length ? walked(l, m) - at
                                                                     : length),
                                             (uint64_t)at};
    l->expected = rig_memory(l->bytes[OUT], 0);
    memcpy(l->expected, l->memory[OUT], l->bytes[OUT]);
}

static value at(const lines *l, int operand, int m, int64_t i)
{
    return host_load(l->memory[operand], l->type, l->starts[operand][m] + i);
}

static void expect_sums(lines *l, int m)
{
    const int64_t b = shapes[m][0], r = shapes[m][1], c = shapes[m][2];
    const int64_t count = lfuse__lines_count(&l->s.k, b, r, c), length = l->task == ROWS ? c : r;
    value *x = rig_memory((size_t)(length + 1) * sizeof *x, 0), none = {0};
    for (int64_t line = 0; line < count; line++) {
        for (int64_t i = 0; i < length; i++) {
            const int64_t e = l->task == COLUMNS ? line / c * r * c + i * c + line % c : line * length + i;
            x[i] = host_apply(LFUSE__OP_mul, l->wide, at(l, INPUT, m, e), at(l, SCALE, m, 0));
        }
        host_store(l->expected, l->type, l->starts[OUT][m] + line,
                   length ? row_fold(LFUSE__REDUCE_SUM, l->wide, x, length) : none);
    }
    free(x);
}

static void expect_elements(lines *l, int m)
{
    const int64_t r = shapes[m][1], c = shapes[m][2], all = walked(l, m);
    for (int64_t i = 0; i < all; i++) {
        value v = host_apply(LFUSE__OP_mul, l->wide, at(l, INPUT, m, i), at(l, ROW, m, i / c));
        v = host_apply(LFUSE__OP_add, l->wide, v, at(l, COLUMN, m, i / (r * c) * c + i % c));
        v = host_apply(LFUSE__OP_sub, l->wide, v, at(l, MATRIX, m, i / (r * c)));
        host_store(l->expected, l->type, l->starts[OUT][m] + i, v);
    }
}

/* Each kernel in two launches, as lists in many blocks have them; all segments first. */
static void launch(rig *r, lfuse__bprogram *program, lines *l, const lfuse__facts *facts)
{
    const uint64_t bytes = l->task == REPEATED ? 0 : lfuse__lines_scratch(&l->s.k, l->chunks, CHUNK);
    unsigned char *scratch = rig_memory(bytes + 512, 0xee);
    const int own = l->task == REPEATED ? 2 : 3;
    rig_buffer buffers[LFUSE__MAX_BUFFERS];
    lfuse__packed packed;
    for (int part = 0; part < (l->task == REPEATED ? 2 : 4); part++) {
        const int64_t first = part % 2 ? l->chunks / 2 : 0, chunks = part % 2 ? l->chunks - first : l->chunks / 2;
        const lfuse__lines_part p = {.members = MEMBERS, .first_chunk = first, .chunks = chunks,
                                     .all_chunks = l->chunks, .length = CHUNK, .scratch = 256};
        ck_assert_int_eq(l->task == REPEATED ? lfuse__multi_pack(&l->s.k, facts, MEMBERS, first, chunks, NULL, &packed)
                                             : lfuse__lines_pack(&l->s.k, facts, &p, &packed), LFUSE_OK);
        buffers[0] = (rig_buffer){l->table, (size_t)l->chunks * sizeof *l->table, false};
        buffers[1] = (rig_buffer){l->entries, 2 * OPERANDS * MEMBERS * sizeof *l->entries, false};
        buffers[2] = (rig_buffer){scratch, bytes + 512, true};
        for (int j = 0; j < LFUSE__MAX_SLOTS; j++)
            buffers[own + j] = j < OPERANDS ? (rig_buffer){l->memory[j], l->bytes[j], l->s.k.operands[j].written}
                                            : (rig_buffer){NULL, 0, false};
        rig_launch(r, program, part < 2 ? "first" : "second", &packed, own + LFUSE__MAX_SLOTS, buffers);
    }
    free(scratch);
}

static void emit(lfuse__strbuf *out, const char *first, const char *second, const lines *l, const lfuse__facts *facts)
{
    const lfuse_status status = l->task == REPEATED ? lfuse__family_multi.emit(out, first, &l->s.k, facts)
                                                    : lfuse__family_lines.emit(out, first, &l->s.k, facts);
    ck_assert_msg(!status, "%s", lfuse__error_message());
    if (l->task != REPEATED)
        OK(lfuse__family_lines_fold.emit(out, second, &l->s.k, facts));
}

void lines_emit(lfuse__strbuf *out, const char *(*name)(void *context), void *context, lfuse_type type,
                const lfuse__facts *facts, uint32_t bytes)
{
    for (int of = ROWS; of <= REPEATED; of++) {
        char first[24], second[24];
        lines l;
        make_class(&l, (task)of, type);
        const lfuse__carry carry = of == REPEATED ? LFUSE__CARRY_CHUNKS : LFUSE__CARRY_PARTIAL;
        if (bytes) l.s.k.list.carried = lfuse__carried_most(&l.s.k, carry, facts, bytes);
        snprintf(first, sizeof first, "%s", name(context));
        snprintf(second, sizeof second, "%s", name(context));
        emit(out, first, second, &l, facts);
    }
}

void case_lines(rig *r, lfuse_type type)
{
    lfuse__facts facts = r->facts; /* tables of slots and offsets work on every device */
    facts.addresses = false;
    for (int of = ROWS; of <= REPEATED; of++) {
        lfuse__strbuf text = LFUSE__STRBUF_INIT;
        lines l;
        make_class(&l, (task)of, type);
        make_lists(&l);
        for (int m = 0; m < MEMBERS; m++) {
            if (of == REPEATED) expect_elements(&l, m);
            else expect_sums(&l, m);
        }
        emit(&text, "first", "second", &l, &facts);
        lfuse__bprogram *program = rig_program(r, &text);
        launch(r, program, &l, &facts);
        r->backend->program_destroy(program);
        const int64_t wrong = host_compare(l.memory[OUT], l.expected, type, l.bytes[OUT]);
        int m = 0;
        while (m + 1 < MEMBERS && l.starts[OUT][m + 1] <= wrong) m++;
        ck_assert_msg(wrong < 0, "task %d of %s: line or element %lld of member %d differs", of, lfuse_type_name(type),
                      (long long)(wrong - l.starts[OUT][m]), m);
        for (int j = 0; j < OPERANDS; j++) free(l.memory[j]);
        free(l.expected);
        free(l.entries);
        free(l.table);
    }
}
