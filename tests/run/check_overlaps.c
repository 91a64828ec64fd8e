/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Written memory overlaps nothing else that is bound: members that move, at random, against every pair compared, and
 * columns of one matrix, byte by byte.
 */
#include "tests/run/rig.h"

enum { MEMBERS = 6, LISTS = 3, PLACES = 120, ROUNDS = 400 };

static unsigned char memory[4 * (PLACES + 8)] __attribute__((aligned(4)));
static lfuse_type type; /* of all: of 4 bytes, or of one */
static int place[LISTS + 1][MEMBERS]; /* of each member; the last row: of the tensor */
static const bool written[LISTS + 1] = { false, true, false, true };
static const char *const names[LISTS + 1] = { "read", "written", "also", "total" };

static int length_of(int member)
{
    return member % 4; /* one of four is empty */
}

static lfuse_tensor *at(int where, int length)
{
    const size_t size = lfuse_type_size(type);
    lfuse_tensor *t;

    OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)(memory + (size_t)where * size),
                         (uint64_t)(length ? length : 1) * size, TYPED(type, length), NULL, 0, &t));
    return own_tensor(t);
}

static lfuse_list *list_at(int list)
{
    lfuse_tensor *t[MEMBERS];

    for (int m = 0; m < MEMBERS; m++) t[m] = at(place[list][m], length_of(m));
    lfuse_list *l = new_list(dev, type, MEMBERS, t);
    for (int m = 0; m < MEMBERS; m++) drop(t[m]);
    return l;
}

static bool meet(int a, int la, int b, int lb)
{
    return la && lb && a < b + lb && b < a + la;
}

/* Every pair of which one is written. The tensor is a "list" of one member with two elements. */
static bool overlaps(void)
{
    for (int a = 0; a <= LISTS; a++)
        for (int b = 0; b <= LISTS; b++)
            for (int i = 0; i < (a == LISTS ? 1 : MEMBERS) && written[a]; i++)
                for (int j = 0; j < (b == LISTS ? 1 : MEMBERS); j++)
                    if ((a != b || i != j) && meet(place[a][i], a == LISTS ? 2 : length_of(i), place[b][j],
                                                   b == LISTS ? 2 : length_of(j)))
                        return true;
    return false;
}

static unsigned next(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

static lfuse_plan *make_plan(void)
{
    const lfuse_value r = lfuse_list_input(g, names[0], type, LFUSE_RANK_ANY);
    const lfuse_value w = lfuse_list_input(g, names[1], type, LFUSE_RANK_ANY);
    const lfuse_value also = lfuse_list_input(g, names[2], type, LFUSE_RANK_ANY);
    const lfuse_value total = lfuse_input(g, names[3], TYPED(type, 2));

    lfuse_update(w, lfuse_add(lfuse_mul(r, also), w));
    lfuse_update(total, lfuse_neg(total));
    return plan_with(0);
}

/* One member somewhere else; rarely one that is written. */
static void move(lfuse_list **lists, unsigned *seed)
{
    const int list = next(seed) % 5 ? (int)(next(seed) % 2) * 2 : 1, m = (int)(next(seed) % MEMBERS);

    place[list][m] = (int)(next(seed) % PLACES);
    lfuse_tensor *t = at(place[list][m], length_of(m));
    OK(lfuse_list_replace(lists[list], m, 1, &t));
    drop(t);
}

TEST_CASE("overlaps", .setup = open_stub, .teardown = close_stub)

TEST_LOOP(as_every_pair_compared, 1, 6)
{
    unsigned seed = (unsigned)_i;
    lfuse_list *lists[LISTS];
    int found = 0;

    type = _i % 2 ? LFUSE_F32 : LFUSE_I8;
    for (int i = 0; i < LISTS; i++)
        for (int m = 0; m < MEMBERS; m++) place[i][m] = (i * MEMBERS + m) * 4;
    place[LISTS][0] = PLACES - 2;
    lfuse_plan *plan = make_plan();
    for (int i = 0; i < LISTS; i++) lists[i] = list_at(i);
    lfuse_tensor *total = at(place[LISTS][0], 2);
    for (int i = 0; i < ROUNDS; i++) {
        lfuse_status status = lfuse_plan_run(plan, stream, BINDINGS(BIND(names[0], lists[0]), BIND(names[1], lists[1]),
                                                                    BIND(names[2], lists[2]), BIND(names[3], total)));
        ck_assert_msg(status == (overlaps() ? LFUSE_ERR_OVERLAP : LFUSE_OK), "round %d: %s", i, lfuse_last_error());
        found += status != LFUSE_OK;
        for (int k = next(&seed) % 8 ? 1 : 20; k > 0; k--) move(lists, &seed); /* at times more than a list remembers */
    }
    ck_assert_msg(found > ROUNDS / 20 && found < ROUNDS - ROUNDS / 20, "%d of %d", found, ROUNDS);
}

/* The message names both, with their members. */
TEST(the_message_names_both)
{
    lfuse_list *lists[LISTS];

    type = LFUSE_F32;
    for (int i = 0; i < LISTS; i++)
        for (int m = 0; m < MEMBERS; m++) place[i][m] = (i * MEMBERS + m) * 4;
    lfuse_plan *plan = make_plan();
    for (int i = 0; i < LISTS; i++) lists[i] = list_at(i);
    lfuse_tensor *total = at(PLACES - 2, 2);
    {
        lfuse_binding b[] = { BIND(names[0], lists[0]), BIND(names[1], lists[1]),
                              BIND(names[2], lists[2]), BIND(names[3], total) };
        OK(lfuse_plan_run(plan, stream, b, 4));
        lfuse_tensor *t = at(place[1][2] + 1, 3);
        OK(lfuse_list_replace(lists[0], 3, 1, &t));
        drop(t);
        FAILS(LFUSE_ERR_OVERLAP, lfuse_plan_run(plan, stream, b, 4));
        ck_says("\"written\" member 2, which is written, overlaps \"read\" member 3");
        t = at(PLACES - 1, 3);
        OK(lfuse_list_replace(lists[0], 3, 1, &t));
        drop(t);
        FAILS(LFUSE_ERR_OVERLAP, lfuse_plan_run(plan, stream, b, 4));
        ck_says("\"total\", which is written, overlaps \"read\" member 3");
        t = at(place[0][3], 3);
        OK(lfuse_list_replace(lists[0], 3, 1, &t));
        drop(t);
        OK(lfuse_plan_run(plan, stream, b, 4));
    }
}

/* ---- columns of one matrix of bytes ---- */

enum { PITCH = 6, BEGIN = 2 * PITCH, MATRIX = 8 * PITCH };

/* Rows x columns bytes, from a byte of the matrix on; it may cross the matrix' own rows. */
typedef struct block {
    int at, rows, columns;
} block;

static bool has(const block *b, int byte)
{
    for (int i = 0; i < b->rows; i++)
        if (byte >= b->at + i * PITCH && byte < b->at + i * PITCH + b->columns) return true;
    return false;
}

static bool have_common(const block *a, const block *b)
{
    for (int i = 0; i < MATRIX; i++)
        if (has(a, i) && has(b, i)) return true;
    return false;
}

static lfuse_tensor *view_of(const lfuse_tensor *matrix, const block *b)
{
    return new_view(matrix, SHAPE(b->rows, b->columns), LFUSE_DIMS(PITCH, 1), b->at);
}

/* "w" is written, "x" is read; of every pair, whether they overlap. */
static void compare_blocks(lfuse_plan *plan, const lfuse_tensor *matrix, const block *w, const block *x)
{
    lfuse_tensor *tw = view_of(matrix, w), *tx = view_of(matrix, x);

    lfuse_tensor *ty = new_tensor(dev, I8(x->rows, x->columns));
    lfuse_status status = lfuse_plan_run(plan, stream, BINDINGS(BIND("w", tw), BIND("x", tx), BIND("y", ty)));
    ck_assert_msg(status == (have_common(w, x) ? LFUSE_ERR_OVERLAP : LFUSE_OK),
                  "%d x %d from %d and %d x %d from %d: %s", w->rows, w->columns, w->at, x->rows, x->columns, x->at,
                  lfuse_status_name(status));
    drop(tw), drop(tx), drop(ty);
}

TEST_LOOP(columns_byte_by_byte, 0, 3)
{
    const lfuse_size rows = lfuse_size_var(g, "rows", 1, 8), columns = lfuse_size_var(g, "columns", 1, 8);
    const lfuse_value w = lfuse_input(g, "w", I8(lfuse_size_var(g, "r", 1, 8), lfuse_size_var(g, "c", 1, 8)));
    const lfuse_value x = lfuse_input(g, "x", I8(rows, columns));
    const int all = 1 + _i; /* rows of both: one, or as many as are apart by the pitch */
    block a = { .at = BEGIN, .rows = all }, b = { .rows = all };

    lfuse_update(w, lfuse_neg(w));
    lfuse_output(g, "y", lfuse_neg(x));
    lfuse_plan *plan = plan_with(LFUSE_NO_REPLAY);
    lfuse_tensor *matrix = new_tensor(dev, I8(MATRIX));
    OK(lfuse_tensor_fill(matrix, stream, 1));
    for (a.columns = 1; a.columns <= PITCH; a.columns++)
        for (b.columns = 1; b.columns <= PITCH; b.columns++)
            for (b.at = 0; b.at <= BEGIN + 3 * PITCH; b.at++) compare_blocks(plan, matrix, &a, &b);
}

/* An extent of one or of none takes any stride, and what has no element overlaps nothing, wherever it lies. */
TEST(strides_of_no_use)
{
    const lfuse_size rows = lfuse_size_var(g, "rows", 0, 8);
    const lfuse_value w = lfuse_input(g, "w", I8(lfuse_size_var(g, "n", 0, 64)));
    const lfuse_value x = lfuse_input(g, "x", I8(rows, 2, 3));
    static const int64_t extremes[] = { INT64_MIN, INT64_MIN + 1, INT64_MIN / 2, INT64_MAX / 2, INT64_MAX };
    lfuse_tensor *tw, *tx;

    lfuse_update(w, lfuse_neg(w));
    lfuse_output(g, "y", lfuse_neg(x));
    lfuse_plan *plan = plan_with(LFUSE_NO_REPLAY);
    OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)memory, 64, I8(64), NULL, 0, &tw));
    for (size_t i = 0; i < 5; i++)
        for (size_t k = 0; k < 5 * 2; k++) {
            const int64_t one = (int64_t)(k / 5), outer = extremes[i], inner = extremes[k % 5];
            OK(lfuse_tensor_wrap(dev, LFUSE_MEMORY_NATIVE, (uintptr_t)(memory + (one ? 100 : 32)), 0, I8(one, 2, 3),
                                 one ? LFUSE_DIMS(outer, 3, 1) : LFUSE_DIMS(outer, inner, inner), 0, &tx));
            lfuse_tensor *ty = new_tensor(dev, I8(one, 2, 3));
            RUN(plan, stream, BIND("w", tw), BIND("x", tx), BIND("y", ty));
            drop(tx), drop(ty);
        }
    drop(tw);
}

TEST_SUITE("run", CK_NOFORK)
