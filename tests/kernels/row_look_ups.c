/* SPDX-License-Identifier: Apache-2.0 */
/* Row kernels that look rows up, against the same kernels over what was looked up before: equal bits. */
#include "common/base/error.h"
#include "common/kernels/emit.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"
#include "tests/support/check.h"

enum { TABLE, INDICES, ELEMENTS, SUMS, OPERANDS, HEIGHT = 9, MOST_ROWS = 40, MOST_LENGTH = 3000,
       CELLS = (MOST_ROWS + HEIGHT) * MOST_LENGTH };

/* Where the index comes from: one a row, one an element (of a table of numbers), the row's greatest element. */
typedef enum source { OF_ROW, OF_ELEMENT, OF_MAXIMUM, SOURCES } source;
static const char *const names[] = {"of_row", "of_element", "of_maximum"};

/* The elements plus their sum, and the sum. Where nothing is looked up the table is one of all rows. */
static void make_class(sample *s, source from, bool dense)
{
    const lfuse__stride_class table = from == OF_ELEMENT && !dense ? LFUSE__STRIDE_REPEAT : LFUSE__STRIDE_UNIT;
    sample_start(s, LFUSE__FAMILY_ROWS, 2, 1);
    sample_operand(s, LFUSE_F32, false, table);
    s->k.operands[TABLE].gathered = !dense;
    sample_operand(s, from == OF_MAXIMUM ? LFUSE_F32 : LFUSE_I32, false,
                   from == OF_ROW ? LFUSE__STRIDE_REPEAT : LFUSE__STRIDE_UNIT);
    sample_operand(s, LFUSE_F32, true, LFUSE__STRIDE_UNIT);
    sample_operand(s, LFUSE_F32, true, LFUSE__STRIDE_REPEAT);
    int index = sample_load(s, INDICES);
    if (from == OF_MAXIMUM) index = sample_reduce(s, LFUSE__REDUCE_ARGMAX, LFUSE_I64, index);
    const int have = sample_load_at(s, TABLE, dense ? -1 : index);
    const int sum = sample_reduce(s, LFUSE__REDUCE_SUM, LFUSE_F32, have);
    sample_store(s, sample_apply(s, LFUSE__OP_add, LFUSE_F32, have, sum), ELEMENTS);
    sample_store(s, sum, SUMS);
}

static struct {
    float table[CELLS], dense[CELLS], values[CELLS], out[2][CELLS], sums[2][MOST_ROWS];
    int32_t indices[CELLS];
    uint64_t reports[5];
} data;

static int64_t index_of(source from, int64_t row, int64_t e, int64_t length)
{
    int64_t best = 0;
    if (from == OF_ROW) return data.indices[row];
    if (from == OF_ELEMENT) return data.indices[row * length + e];
    for (int64_t i = 1; i < length; i++)
        if (data.values[row * length + i] > data.values[row * length + best]) best = i;
    return best;
}

/* What is looked up, in the order of the rows; whether an index is outside. */
static bool look_up(source from, int64_t rows, int64_t length)
{
    bool any = false;
    for (int64_t row = 0; row < rows; row++) {
        int64_t index = index_of(from, row, 0, length);
        for (int64_t e = 0; e < length; e++) {
            if (from == OF_ELEMENT) index = index_of(from, row, e, length);
            const bool there = index >= 0 && index < HEIGHT;
            data.dense[row * length + e] = there ? data.table[from == OF_ELEMENT ? index : index * length + e] : 0;
            any = any || !there;
        }
    }
    return any;
}

static void launch(rig *r, lfuse__bprogram *program, const sample *c, source from, int64_t rows, int64_t length)
{
    const bool dense = !c->k.operands[TABLE].gathered;
    const bool walks = c->k.operands[TABLE].inner == LFUSE__STRIDE_UNIT;
    void *const index = from == OF_MAXIMUM ? (void *)data.values : data.indices;
    const rig_buffer buffers[] = {{dense ? data.dense : data.table, sizeof data.table, false},
                                  {index, sizeof data.values, false},
                                  {data.out[dense], sizeof data.out[0], true},
                                  {data.sums[dense], sizeof data.sums[0], true},
                                  {data.reports, sizeof data.reports, true}};
    lfuse__geometry g = {.extents = {rows, length}, .reporter = 5};
    lfuse__packed packed;
    char name[32];
    g.strides[TABLE][0] = dense ? length : 0, g.strides[TABLE][1] = walks;
    g.strides[INDICES][0] = from == OF_ROW ? 1 : length, g.strides[INDICES][1] = from != OF_ROW;
    g.strides[ELEMENTS][0] = length, g.strides[ELEMENTS][1] = 1;
    g.strides[SUMS][0] = 1;
    g.gathered_extents[TABLE] = HEIGHT, g.gathered_strides[TABLE] = walks ? length : 1;
    OK(lfuse__family_rows.pack(&c->k, &r->facts, &g, &packed));
    snprintf(name, sizeof name, "%s_%s", names[from], dense ? "dense" : "looked");
    rig_launch(r, program, name, &packed, lfuse__kernel_buffers(&c->k), buffers);
}

static void run(rig *r, source from, int64_t rows, int64_t length, bool index64)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    sample classes[2];
    uint64_t seed = (uint64_t)(rows * length);
    char name[32], what[96];
    for (int dense = 0; dense < 2; dense++) {
        make_class(&classes[dense], from, dense);
        classes[dense].k.index64 = index64;
        lfuse__rows_choose(&r->facts, (uint64_t)rows, (uint64_t)length, false, &classes[dense].k);
        snprintf(name, sizeof name, "%s_%s", names[from], dense ? "dense" : "looked");
        OK(lfuse__family_rows.emit(&text, name, &classes[dense].k, &r->facts));
    }
    lfuse__bprogram *program = rig_program(r, &text);
    for (int wrong = 0; wrong < 2; wrong++) {
        for (int i = 0; i < CELLS; i++) {
            data.table[i] = (float)(int64_t)(host_random(&seed) % 1000) * 0.01f;
            data.values[i] = (float)(host_random(&seed) % 100000);
            data.indices[i] = (int32_t)(host_random(&seed) % HEIGHT);
            if (wrong && host_random(&seed) % 16 == 0) data.indices[i] = i % 2 ? -1 : HEIGHT;
        }
        for (int64_t row = 0; row < rows && !wrong && length > HEIGHT; row++)
            data.values[row * length + row % HEIGHT] = 1e9f;
        memset(data.out, 0xee, sizeof data.out);
        memset(data.sums, 0xee, sizeof data.sums);
        memset(data.reports, 0, sizeof data.reports);
        const bool any = look_up(from, rows, length);
        for (int dense = 0; dense < 2; dense++) launch(r, program, &classes[dense], from, rows, length);
        snprintf(what, sizeof what, "%s, %lld rows of %lld, wrong %d", names[from], (long long)rows, (long long)length,
                 wrong);
        ck_assert_msg(!memcmp(data.out[0], data.out[1], sizeof data.out[0]), "%s: elements", what);
        ck_assert_msg(!memcmp(data.sums[0], data.sums[1], sizeof data.sums[0]), "%s: sums", what);
        ck_assert_msg((uint32_t)data.reports[0] == any && (!any || data.reports[4] == HEIGHT), "%s: report", what);
        if (any) ck_assert_uint_lt(data.reports[2], (uint64_t)(rows * length));
    }
    r->backend->program_destroy(program);
}

void row_look_ups_emit(lfuse__strbuf *out, const lfuse__facts *facts, int turn, int turns)
{
    static const uint64_t lengths[] = {7, 64, 1500};
    char name[32];
    for (source from = OF_ROW; from < SOURCES; from++)
        for (int i = 0; i < 3; i++) {
            sample c;
            if (((int)from + i) % turns != turn) continue;
            make_class(&c, from, false);
            lfuse__rows_choose(facts, 40, lengths[i], false, &c.k);
            snprintf(name, sizeof name, "look_%s_%d", names[from], i);
            ck_assert_msg(!lfuse__family_rows.emit(out, name, &c.k, facts), "%s: %s", name, lfuse__error_message());
        }
}

void case_row_look_ups(rig *r)
{
    for (source from = OF_ROW; from < SOURCES; from++) {
        run(r, from, 33, 64, false);
        run(r, from, 19, 57, true);
        run(r, from, 7, 1500, false);
        run(r, from, 40, 7, false);
    }
}
