/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows and columns of the members of lists, on every device: sums against the canonical sum in host C, bit for bit,
 * what repeats along rows, columns and matrices, by each transport; what is refused; launches.
 */
#include "tests/optim/rig.h"

enum { MOST = 24, SEGMENT = 1024, LANES = 128 };

typedef struct shape {
    int rank;
    int64_t extents[4];
} shape;

/* Of a segment and a bit, of one row, of nothing, of many matrices; an odd number of elements between members. */
static const shape shapes[] = {
    { 1, { 7 } }, { 2, { 2, 3 } }, { 0, { 0 } }, { 3, { 3, 0, 5 } }, { 2, { 0, 4 } }, { 2, { 4, 0 } }, { 2, { 1, 1 } },
    { 2, { 1000, 3 } }, { 2, { 3, 1000 } }, { 2, { 2500, 70 } }, { 2, { 70, 2500 } }, { 4, { 2, 3, 40, 65 } },
    { 3, { 5, 1, 1 } }, { 1, { 3000 } }, { 2, { 130, 129 } }, { 2, { 20000, 2 } }, { 2, { 2, 20000 } },
    { 3, { 100, 7, 17 } }, { 2, { 16, 1024 } }, { 2, { 1024, 16 } }, { 1, { 0 } },
};
enum { COUNT = sizeof shapes / sizeof *shapes };

typedef struct member {
    int64_t matrices, rows, columns;
    float *x, *row_sum, *column_sum, *matrix_sum, *factor, *y;
    lfuse_tensor *tensors[6];
} member;

typedef struct lists {
    member m[COUNT];
    lfuse_list *list[6]; /* x, row_sum, column_sum, matrix_sum, factor (of columns), y */
} lists;
enum { X, ROW_SUM, COLUMN_SUM, MATRIX_SUM, FACTOR, Y };

static uint64_t seed = 1;

static float some(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (float)((double)(int64_t)(seed >> 11) * 0x1p-53 - 0.5);
}

/* ---- the truth ---- */

static float segment(const float *x, int64_t n, int64_t stride)
{
    float lane[LANES];

    for (int c = 0; c < LANES; c++) lane[c] = -0.0f;
    for (int64_t i = 0; i < n; i++) lane[i % LANES] += x[i * stride];
    for (int h = LANES / 2; h; h /= 2)
        for (int c = 0; c < h; c++) lane[c] += lane[c + h];
    return lane[0];
}

/* Neighbours fold pairwise, an odd one out goes up as it is. */
static float sum(const float *x, int64_t n, int64_t stride)
{
    const int64_t segments = (n + SEGMENT - 1) / SEGMENT;
    float *part = new_memory(((size_t)segments + 1) * sizeof *part);

    for (int64_t i = 0; i < segments; i++)
        part[i] = segment(x + i * SEGMENT * stride, n - i * SEGMENT < SEGMENT ? n - i * SEGMENT : SEGMENT, stride);
    for (int64_t left = segments; left > 1; left = (left + 1) / 2)
        for (int64_t i = 0; i < (left + 1) / 2; i++)
            part[i] = 2 * i + 1 < left ? part[2 * i] + part[2 * i + 1] : part[2 * i];
    float result = segments ? part[0] : 0;
    return result;
}

/* Squares, because rows are summed of what is computed. */
static void expect(member *m)
{
    const int64_t elements = m->matrices * m->rows * m->columns;
    float *squares = new_memory(((size_t)elements + 1) * sizeof *squares);

    for (int64_t i = 0; i < elements; i++) squares[i] = m->x[i] * m->x[i];
    for (int64_t b = 0; b < m->matrices; b++) {
        for (int64_t r = 0; r < m->rows; r++)
            m->row_sum[b * m->rows + r] = sum(squares + (b * m->rows + r) * m->columns, m->columns, 1);
        for (int64_t c = 0; c < m->columns; c++)
            m->column_sum[b * m->columns + c] = sum(m->x + b * m->rows * m->columns + c, m->rows, m->columns);
        m->matrix_sum[b] = sum(m->row_sum + b * m->rows, m->rows, 1);
        for (int64_t i = b * m->rows * m->columns, r = 0; r < m->rows; r++)
            for (int64_t c = 0; c < m->columns; c++, i++)
                m->y[i] = (m->x[i] * m->factor[b * m->columns + c] - m->row_sum[b * m->rows + r]) + m->matrix_sum[b];
    }
}

/* ---- lists ---- */

static int64_t size_of(const member *m, int which)
{
    switch (which) {
    case ROW_SUM: return m->matrices * m->rows;
    case COLUMN_SUM:
    case FACTOR: return m->matrices * m->columns;
    case MATRIX_SUM: return m->matrices;
    default: return m->matrices * m->rows * m->columns;
    }
}

static float **values_of(member *m, int which)
{
    float **const of[] = { &m->x, &m->row_sum, &m->column_sum, &m->matrix_sum, &m->factor, &m->y };

    return of[which];
}

static void make_member(lists *l, lfuse_device *device, int i)
{
    const shape *s = &shapes[i];
    member *m = &l->m[i];

    m->matrices = 1;
    for (int a = 0; a < s->rank - 2; a++) m->matrices *= s->extents[a];
    m->rows = s->rank > 1 ? s->extents[s->rank - 2] : 1;
    m->columns = s->rank ? s->extents[s->rank - 1] : 1;
    for (int which = 0; which < 6; which++) {
        const int64_t n = size_of(m, which), room = n + i % 5 + 1;
        const bool whole = which == X || which == Y;
        float **host = values_of(m, which);
        *host = new_memory(((size_t)room + 1) * sizeof **host);
        for (int64_t k = 0; k < n; k++) (*host)[k] = some();
        lfuse_tensor *t = new_tensor(device, LFUSE_F32, 1, &room);
        OK(lfuse_tensor_fill(t, NULL, NAN));
        m->tensors[which] = new_view(t, whole ? s->rank : 1, whole ? s->extents : &n, NULL, i % 5);
        if (which == X || which == FACTOR) OK(lfuse_tensor_write(m->tensors[which], NULL, *host));
    }
    expect(m);
}

static void make_lists(lists *l, lfuse_device *device, int count)
{
    lfuse_tensor *t[COUNT];

    memset(l, 0, sizeof *l);
    for (int i = 0; i < count; i++) make_member(l, device, i);
    for (int which = 0; which < 6; which++) {
        for (int i = 0; i < count; i++) t[i] = l->m[i].tensors[which];
        l->list[which] = new_list(device, LFUSE_F32, count, t);
    }
}

static void same(lists *l, int which, int i, const char *word)
{
    const int64_t n = size_of(&l->m[i], which);
    const float *wanted = *values_of(&l->m[i], which);
    float *got = new_memory(((size_t)n + 1) * sizeof *got);

    OK(lfuse_tensor_read(l->m[i].tensors[which], NULL, got));
    for (int64_t k = 0; k < n; k++)
        ck_assert_msg(!memcmp(&got[k], &wanted[k], sizeof *got), "%s, member %d, %s %lld of %lld: %.9g, not %.9g",
                      device_name, i, word, (long long)k, (long long)n, (double)got[k], (double)wanted[k]);
}

/* ---- the graph ---- */

static lfuse_graph *sums(void)
{
    lfuse_graph *g = new_graph();
    const lfuse_value x = lfuse_list_input(g, "x", LFUSE_F32, LFUSE_RANK_MATRIX);
    const lfuse_value factor = lfuse_list_input(g, "factor", LFUSE_F32, LFUSE_RANK_COLUMNS);
    const lfuse_value rows = lfuse_member_row_sum(lfuse_mul(x, x)), matrices = lfuse_member_row_sum(rows);

    lfuse_output(g, "rows", rows);
    lfuse_output(g, "columns", lfuse_member_column_sum(x));
    lfuse_output(g, "matrices", matrices);
    lfuse_output(g, "y", lfuse_add(lfuse_sub(lfuse_mul(x, factor), rows), matrices));
    return g;
}

static int bind(const lists *l, lfuse_binding *b)
{
    const lfuse_binding all[] = { BIND("x", l->list[X]), BIND("factor", l->list[FACTOR]),
                                  BIND("rows", l->list[ROW_SUM]), BIND("columns", l->list[COLUMN_SUM]),
                                  BIND("matrices", l->list[MATRIX_SUM]), BIND("y", l->list[Y]) };

    memcpy(b, all, sizeof all);
    return (int)(sizeof all / sizeof *all);
}

static void run_by(lfuse_device *device, lfuse_transport transport, unsigned disable, int count)
{
    const lfuse_plan_options options = { .transport = transport, .disable = disable };
    lfuse_graph *g = sums();
    lfuse_binding b[8];
    lists l;

    make_lists(&l, device, count);
    int n = bind(&l, b);
    lfuse_stream *stream = new_stream(device);
    lfuse_plan *plan = new_plan(device, g, &options);
    OK(lfuse_plan_run(plan, stream, b, n));
    OK(lfuse_stream_synchronize(stream));
    for (int i = 0; i < count; i++) {
        same(&l, ROW_SUM, i, "row");
        same(&l, COLUMN_SUM, i, "column");
        same(&l, MATRIX_SUM, i, "matrix");
        same(&l, Y, i, "element");
    }
}

TEST_CASE("lines", .before = open_devices, .after = close_devices)

TEST_ON_DEVICES(sums_have_the_canonical_bits, lfuse_device *device)
{
    lfuse_device_info info = info_of(device);
    run_by(device, LFUSE_TRANSPORT_DEFAULT, 0, COUNT);
    run_by(device, LFUSE_TRANSPORT_ARGS, 0, COUNT);
    run_by(device, LFUSE_TRANSPORT_TABLE, 0, COUNT);
    if (info.svm) run_by(device, LFUSE_TRANSPORT_UNIFIED, 0, COUNT);
}

TEST_ON_DEVICES(other_plans_and_lists_too, lfuse_device *device)
{
    run_by(device, LFUSE_TRANSPORT_DEFAULT, LFUSE_NO_FUSION, COUNT);
    run_by(device, LFUSE_TRANSPORT_DEFAULT, 0, 0);
    run_by(device, LFUSE_TRANSPORT_DEFAULT, 0, 1);
}

/* ---- any number of members ---- */

enum { MANY = 100000, ROWS = 2, COLUMNS = 3 };

/* Views of one vector, each of so many axes. */
static lfuse_list *list_of(lfuse_device *device, const float *host, int64_t count, int rank, const int64_t *extents)
{
    lfuse_tensor **t = new_memory(((size_t)count + 1) * sizeof(lfuse_tensor *));
    const int64_t each = rank == 2 ? extents[0] * extents[1] : extents[0], all = each * count;

    lfuse_tensor *whole = new_tensor(device, LFUSE_F32, 1, &all);
    if (host) OK(lfuse_tensor_write(whole, NULL, host));
    for (int64_t i = 0; i < count; i++) t[i] = new_view(whole, rank, extents, NULL, i * each);
    lfuse_list *list = new_list(device, LFUSE_F32, count, t);
    return list;
}

/* Launches of the second run. y = x - its row's sum of x, in place. */
static uint64_t run_many(lfuse_device *device, int64_t count, int64_t probe)
{
    static const int64_t extents[] = { ROWS, COLUMNS };
    float *host = new_memory((size_t)count * ROWS * COLUMNS * sizeof *host), got[ROWS * COLUMNS];
    lfuse_graph *g = new_graph();
    const lfuse_value x = lfuse_list_input(g, "x", LFUSE_F32, LFUSE_RANK_MATRIX);
    const lfuse_plan_options options = { .transport = LFUSE_TRANSPORT_TABLE };

    for (int64_t i = 0; i < count * ROWS * COLUMNS; i++) host[i] = (float)(i % 1000);
    lfuse_update(x, lfuse_sub(x, lfuse_member_row_sum(x)));
    lfuse_stream *stream = new_stream(device);
    lfuse_plan *plan = new_plan(device, g, &options);
    lfuse_binding b = BIND("x", list_of(device, host, count, 2, extents));
    lfuse_tensor *one = new_tensor(device, LFUSE_F32, 2, extents);
    OK(lfuse_tensor_write(one, NULL, host + probe * ROWS * COLUMNS));
    OK(lfuse_plan_run(plan, stream, &b, 1));
    OK(lfuse_list_replace(b.as.list, probe, 1, &one)); /* which no run has seen */
    OK(lfuse_plan_run(plan, stream, &b, 1));
    uint64_t before = launches_of(device);
    OK(lfuse_plan_run(plan, stream, &b, 1));
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(one, NULL, got));
    for (int k = 0; k < ROWS * COLUMNS; k++) { /* twice x - 3 mean: exact */
        const float *row = host + probe * ROWS * COLUMNS + k / COLUMNS * COLUMNS, sum = row[0] + row[1] + row[2];
        ck_assert_msg(got[k] == (row[k % COLUMNS] - sum) - (-2 * sum), "%s: %g", device_name, (double)got[k]);
    }
    before = launches_of(device) - before;
    return before;
}

TEST_ON_DEVICES(any_number_of_members_in_as_many_launches, lfuse_device *device)
{
    const uint64_t few = run_many(device, 3, 1);

    ck_assert_uint_eq(few, 3);
    ck_assert_uint_eq(run_many(device, MANY, 99998), few);
}

/* ---- what is refused ---- */

TEST_ON_DEVICES(lists_that_do_not_go_together, lfuse_device *device)
{
    lfuse_graph *g = sums();
    lfuse_binding b[8];
    lists l;

    make_lists(&l, device, 2);
    lfuse_stream *stream = new_stream(device);
    lfuse_plan *plan = new_plan(device, g, NULL);
    int n = bind(&l, b);
    b[2] = BIND("rows", l.list[COLUMN_SUM]); /* of which there are more */
    SAYS(LFUSE_ERR_SHAPE, lfuse_plan_run(plan, stream, b, n), "one for each row of x");
    /* As many elements in other rows. */
    lfuse_tensor *flat = new_view(l.m[1].tensors[Y], 2, (const int64_t[]){ 3, 2 }, NULL, 0);
    lfuse_list *list = new_list(device, LFUSE_F32, 2, (lfuse_tensor *[]){ l.m[0].tensors[Y], flat });
    g = new_graph();
    lfuse_update(lfuse_list_input(g, "a", LFUSE_F32, LFUSE_RANK_MATRIX),
                 lfuse_add(lfuse_list_input(g, "b", LFUSE_F32, LFUSE_RANK_MATRIX),
                           lfuse_list_input(g, "c", LFUSE_F32, LFUSE_RANK_ROWS)));
    plan = new_plan(device, g, NULL);
    b[0] = BIND("a", list);
    b[1] = BIND("b", l.list[X]);
    b[2] = BIND("c", l.list[ROW_SUM]);
    SAYS(LFUSE_ERR_SHAPE, lfuse_plan_run(plan, stream, b, 3), "1 matrices of ");
}

TEST_SUITE("run", CK_NOFORK)
