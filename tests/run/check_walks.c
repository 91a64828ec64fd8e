/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operands that walk memory by steps, from offsets and under other shapes, for tensors of all kinds of strides: steps
 * are edited by hand, so that what the planner makes of views does not matter. On the stub; copies are counted.
 */
#include "common/run/compile/body.h"
#include "tests/run/rig.h"

enum { ROWS = 4, COLUMNS = 6, ROOM = 400, CENTRE = 200 };

static lfuse_plan *plan;

/* y = u + 0.5 of [3, 2]; x is there to take the place of u or y. */
static void setup(void)
{
    const lfuse_plan_options apart = { .disable = LFUSE_NO_BUNDLES };

    open_stub();
    lfuse_value u = lfuse_input(g, "u", F32(3, 2));
    lfuse_value x = lfuse_input(g, "x", F32(ROWS, COLUMNS));
    lfuse_output(g, "y", lfuse_add(u, lfuse_constant(g, 0.5)));
    lfuse_output(g, "z", lfuse_mul(x, lfuse_constant(g, 2)));
    plan = new_plan(dev, g, &apart);
}

/* The step that computes y; the other one is made to do nothing. */
static lfuse__step *the_step(void)
{
    lfuse__plan_body *body = (lfuse__plan_body *)lfuse__body_plan(plan->body);
    lfuse__step *step = NULL;

    for (int i = 0; i < body->nstages; i++) {
        lfuse__step *s = body->stages[i].alternatives[0].steps;
        if (s->extents[0] == 3) step = s;
        else s->extents[0] = 0;
    }
    ck_assert_ptr_nonnull(step);
    return step;
}

/* Operand `at` of the step becomes x, seen under a shape. */
static lfuse__operand *see(int at, int rank, const lfuse_size *shape)
{
    lfuse__operand *o = &the_step()->operands[at];

    o->index = 1;
    o->rank = (int8_t)rank;
    memset(o->shape, 0, sizeof o->shape);
    memcpy(o->shape, shape, (size_t)rank * sizeof *shape);
    return o;
}

static void walk(lfuse__operand *o, int loop_axis, int axis, int64_t step, int64_t offset)
{
    o->axis[loop_axis] = (int8_t)axis;
    o->step[loop_axis] = step;
    o->offset[axis] = offset;
}

/* Tensors x and y in a room of their own, of given strides around its centre. */
typedef struct room {
    lfuse_tensor *all, *view;
    float host[ROOM];
} room;

static void open_room(room *r, int rank, const int64_t *shape, const int64_t *strides)
{
    const int64_t whole[] = { ROOM };

    for (int i = 0; i < ROOM; i++) r->host[i] = (float)i;
    r->all = new_tensor(dev, LFUSE_F32, 1, whole);
    OK(lfuse_tensor_write(r->all, NULL, r->host));
    r->view = new_view(r->all, rank, shape, strides, CENTRE);
}

static const int64_t x_shape[] = { ROWS, COLUMNS }, y_shape[] = { 3, 2 };

static lfuse_status run(room *x, room *y, uint64_t *count)
{
    lfuse_tensor *u = tensor(2, y_shape), *z = tensor(2, x_shape);
    lfuse_status status;

    OK(lfuse_tensor_fill(u, NULL, 7));
    uint64_t before = launches();
    status = lfuse_plan_run(plan, stream, BINDINGS(BIND("u", u), BIND("x", x->view), BIND("y", y->view), BIND("z", z)));
    *count = launches() - before;
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(x->all, NULL, x->host));
    OK(lfuse_tensor_read(y->all, NULL, y->host));
    return status;
}

/* Element number i of x as it is bound with these strides. */
static float element(const int64_t *strides, int64_t i)
{
    return (float)(CENTRE + i / COLUMNS * strides[0] + i % COLUMNS * strides[1]);
}

/* Reads x for y; first[i, j] is the element of x that y[i, j] takes. */
static void check_read(const int64_t *strides, uint64_t wanted, const int64_t first[3][2])
{
    static const int64_t y_strides[][2] = { { 2, 1 }, { -3, 20 }, { 1, -5 } };

    for (size_t k = 0; k < sizeof y_strides / sizeof *y_strides; k++) {
        room x, y;
        uint64_t count;
        open_room(&x, 2, x_shape, strides);
        open_room(&y, 2, y_shape, y_strides[k]);
        OK(run(&x, &y, &count));
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 2; j++) {
                float *at = &y.host[CENTRE + i * y_strides[k][0] + j * y_strides[k][1]];
                ck_assert_float_eq(*at, element(strides, first[i][j]) + 0.5f);
                *at = (float)(at - y.host);
            }
        for (int i = 0; i < ROOM; i++) ck_assert_float_eq(y.host[i], (float)i);
        ck_assert_uint_eq(count, wanted);
    }
}

static const int64_t plain[] = { 6, 1 }, padded[] = { 9, 1 }, turned[] = { 1, 4 }, backward[] = { -6, -1 },
                     odd[] = { -7, 2 }, repeated[] = { 0, 1 };

TEST_CASE("walks", .setup = setup, .teardown = close_stub)

TEST(slices_with_steps)
{
    const int64_t wanted[3][2] = { { 10, 7 }, { 16, 13 }, { 22, 19 } };
    lfuse__operand *o = see(0, 2, (const lfuse_size[]){ ROWS, COLUMNS });

    walk(o, 0, 0, 1, 1);
    walk(o, 1, 1, -3, 4);
    check_read(plain, 1, wanted);
    check_read(padded, 1, wanted);
    check_read(turned, 1, wanted);
    check_read(backward, 1, wanted);
    check_read(odd, 1, wanted);
    check_read(repeated, 1, wanted);
}

/* One axis of 24 elements, which both loop axes walk. */
TEST(two_axes_walk_one)
{
    const int64_t wanted[3][2] = { { 1, 3 }, { 11, 13 }, { 21, 23 } };
    lfuse__operand *o = see(0, 1, (const lfuse_size[]){ ROWS * COLUMNS });

    walk(o, 0, 0, 10, 1);
    walk(o, 1, 0, 2, 1);
    check_read(plain, 1, wanted);
    check_read(backward, 1, wanted);
    check_read(padded, 2, wanted);
    check_read(turned, 2, wanted);
    check_read(odd, 2, wanted);
    check_read(repeated, 2, wanted);
}

/* Axes that a reshape splits can be walked whatever the strides are. */
TEST(axes_split_by_a_reshape)
{
    const int64_t wanted[3][2] = { { 14, 2 }, { 13, 1 }, { 12, 0 } };
    lfuse__operand *o = see(0, 5, (const lfuse_size[]){ 2, 2, 1, 2, 3 });

    walk(o, 0, 4, -1, 2);
    walk(o, 1, 0, -1, 1);
    check_read(plain, 1, wanted);
    check_read(padded, 1, wanted);
    check_read(turned, 1, wanted);
    check_read(backward, 1, wanted);
    check_read(odd, 1, wanted);
    check_read(repeated, 1, wanted);
}

/* Stores into part of x under another shape: the rest of it, and what lies around it, stays. */
static void check_write(const int64_t *strides, uint64_t wanted)
{
    static const int64_t y_strides[] = { 2, 1 };
    room x, y;
    uint64_t count;

    open_room(&x, 2, x_shape, strides);
    open_room(&y, 2, y_shape, y_strides);
    OK(run(&x, &y, &count));
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 2; j++) {
            float *at = &x.host[(int)element(strides, 20 - 7 * i + 2 * j)];
            ck_assert_float_eq(*at, 7.5f);
            *at = (float)(at - x.host);
        }
    for (int i = 0; i < ROOM; i++) ck_assert_float_eq(x.host[i], (float)i);
    ck_assert_uint_eq(count, wanted);
}

TEST(stores_under_another_shape)
{
    lfuse__operand *o = see(1, 1, (const lfuse_size[]){ ROWS * COLUMNS });

    walk(o, 0, 0, -7, 20);
    walk(o, 1, 0, 2, 20);
    check_write(plain, 1);
    check_write(backward, 1);
    check_write(padded, 3);
    check_write(turned, 3);
    check_write(odd, 3);
}

static void check_refusal(lfuse_status status, const char *text)
{
    room x, y;
    uint64_t count;

    open_room(&x, 2, x_shape, plain);
    open_room(&y, 2, y_shape, y_shape);
    ck_assert_int_eq(run(&x, &y, &count), status);
    ck_assert_msg(strstr(lfuse_last_error(), text), "\"%s\" lacks \"%s\"", lfuse_last_error(), text);
    ck_assert_uint_eq(count, 0);
}

TEST(what_is_not_there)
{
    lfuse__operand *o = see(0, 2, (const lfuse_size[]){ ROWS, COLUMNS });

    walk(o, 0, 0, 1, 2);
    walk(o, 1, 1, 1, 0);
    check_refusal(LFUSE_ERR_BOUNDS, "elements 2 ... 4 along axis 0 of x are taken, which has 4");
    walk(o, 0, 0, 1, 0);
    walk(o, 1, 1, -2, 1);
    check_refusal(LFUSE_ERR_BOUNDS, "elements -1 ... 1 along axis 1 of x are taken, which has 6");
    o = see(0, 2, (const lfuse_size[]){ ROWS, COLUMNS + 1 });
    walk(o, 1, 1, 1, 0);
    check_refusal(LFUSE_ERR_SHAPE, "x of 24 elements is seen under a shape of 28");
    o = see(0, 2, (const lfuse_size[]){ ROWS, -COLUMNS });
    check_refusal(LFUSE_ERR_BOUNDS, "an extent would be -6");
}

TEST_SUITE("run", CK_NOFORK)
