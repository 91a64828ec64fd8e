/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call of the backend fails once: a scenario is run with the first, second ... call failing, until it is run to
 * its end. Nothing leaks, the failure has a message, and afterwards the same device gives right results.
 */

#include <libfuse.h>

#include "common/base/error.h"
#include "common/device/device.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { MEMBERS = 3, N = 6 };

typedef struct scene {
    lfuse_device *dev;
    lfuse_stream *stream;
    lfuse_tensor *x, *w, *b, *y, *z, *transposed_x, *transposed_z, *member[MEMBERS];
    lfuse_list *list;
    lfuse_plan *dense, *step, *rows;
    lfuse_instance *instance;
    float result[N * N], share[N * N], updated[N];
} scene;

/* What the scenes are about: everything, or lists by one transport and members that are replaced. */
static bool lists_alone;
static lfuse_plan_options by;

/* relu(x exp(w) + b): a prepare step, a product, a tail. */
static lfuse_status plan_dense(scene *s)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_value x = lfuse_input(g, "x", F32(N, N)), b = lfuse_frozen(g, "b", F32(N));
    const lfuse_value w = lfuse_exp(lfuse_frozen(g, "w", F32(N, N)));

    lfuse_output(g, "y", lfuse_gelu(lfuse_add(lfuse_matmul(x, w), b)));
    lfuse_status status = lfuse_plan_create(s->dev, g, NULL, &s->dense);
    lfuse_graph_destroy(g);
    return status;
}

/* list -= lr list / |list|^2 */
static lfuse_status plan_step(scene *s)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_value l = lfuse_list_input(g, "l", LFUSE_F32, LFUSE_RANK_ANY);

    lfuse_update(l, lfuse_sub(l, lfuse_mul(lfuse_div(l, lfuse_member_sum(lfuse_mul(l, l))), lfuse_scalar(g, "lr"))));
    lfuse_status status = lfuse_plan_create(s->dev, g, &by, &s->step);
    lfuse_graph_destroy(g);
    return status;
}

/* The softmax of all elements in one row, in which tensors that are transposed are read and written through copies. */
static lfuse_status plan_rows(scene *s)
{
    lfuse_graph *g = lfuse_graph_create();
    const lfuse_value x = lfuse_input(g, "x", F32(N, N));

    lfuse_output(g, "z", lfuse_reshape(lfuse_softmax(lfuse_flatten(x, 0, 1), 1, (const int[]){ 0 }), SHAPE(N, N)));
    lfuse_status status = lfuse_plan_create(s->dev, g, NULL, &s->rows);
    lfuse_graph_destroy(g);
    return status;
}

static lfuse_status make(scene *s)
{
    static const int64_t square[] = { N, N }, line[] = { N }, transposed[] = { 1, N };

    LFUSE__TRY(lfuse_stream_create(s->dev, &s->stream));
    LFUSE__TRY(lfuse_tensor_create(s->dev, LFUSE_F32, 2, square, &s->x));
    LFUSE__TRY(lfuse_tensor_create(s->dev, LFUSE_F32, 2, square, &s->w));
    LFUSE__TRY(lfuse_tensor_create(s->dev, LFUSE_F32, 1, line, &s->b));
    LFUSE__TRY(lfuse_tensor_create(s->dev, LFUSE_F32, 2, square, &s->y));
    LFUSE__TRY(lfuse_tensor_create(s->dev, LFUSE_F32, 2, square, &s->z));
    LFUSE__TRY(lfuse_tensor_view(s->x, 2, square, transposed, 0, &s->transposed_x));
    LFUSE__TRY(lfuse_tensor_view(s->z, 2, square, transposed, 0, &s->transposed_z));
    for (int i = 0; i < MEMBERS; i++) LFUSE__TRY(lfuse_tensor_create(s->dev, LFUSE_F32, 1, line, &s->member[i]));
    LFUSE__TRY(lfuse_list_create(s->dev, LFUSE_F32, MEMBERS, s->member, &s->list));
    LFUSE__TRY(lfuse_tensor_fill(s->x, s->stream, 1));
    LFUSE__TRY(lfuse_tensor_fill(s->w, s->stream, 0));
    LFUSE__TRY(lfuse_tensor_fill(s->b, s->stream, -1));
    for (int i = 0; i < MEMBERS; i++) LFUSE__TRY(lfuse_tensor_fill(s->member[i], s->stream, 2));
    if (lists_alone) return plan_step(s);
    LFUSE__TRY(plan_dense(s));
    LFUSE__TRY(plan_rows(s));
    return plan_step(s);
}

/* Two runs, the last member having moved in between. */
static lfuse_status use_lists(scene *s)
{
    const lfuse_binding step[] = { BIND("l", s->list), lfuse_bind_scalar("lr", 3) };
    lfuse_tensor *row;

    LFUSE__TRY(lfuse_plan_run(s->step, s->stream, step, 2));
    LFUSE__TRY(lfuse_tensor_view(s->x, 1, (const int64_t[]){ N }, NULL, N, &row));
    lfuse_status status = lfuse_list_replace(s->list, MEMBERS - 1, 1, &row);
    lfuse_tensor_destroy(row);
    LFUSE__TRY(status);
    LFUSE__TRY(lfuse_plan_run(s->step, s->stream, step, 2));
    LFUSE__TRY(lfuse_tensor_read(s->member[1], s->stream, s->updated));
    LFUSE__TRY(lfuse_tensor_read(s->x, s->stream, s->result));
    return lfuse_stream_synchronize(s->stream);
}

static lfuse_status use(scene *s)
{
    const lfuse_binding step[] = { BIND("l", s->list), lfuse_bind_scalar("lr", 3) };

    LFUSE__TRY(lfuse_plan_run(s->dense, s->stream, BINDINGS(BIND("x", s->x), BIND("b", s->b), BIND("w", s->w),
                                                     BIND("y", s->y))));
    LFUSE__TRY(lfuse_plan_run(s->rows, s->stream, BINDINGS(BIND("x", s->transposed_x), BIND("z", s->transposed_z))));
    LFUSE__TRY(lfuse_instance_create(s->step, s->stream, step, 2, &s->instance));
    LFUSE__TRY(lfuse_instance_run(s->instance, step, 2));
    LFUSE__TRY(lfuse_tensor_read(s->y, s->stream, s->result));
    LFUSE__TRY(lfuse_tensor_read(s->z, s->stream, s->share));
    LFUSE__TRY(lfuse_tensor_read(s->member[1], s->stream, s->updated));
    return lfuse_stream_synchronize(s->stream);
}

static void clear(scene *s)
{
    lfuse_instance_destroy(s->instance);
    lfuse_plan_destroy(s->dense);
    lfuse_plan_destroy(s->step);
    lfuse_plan_destroy(s->rows);
    lfuse_list_destroy(s->list);
    for (int i = 0; i < MEMBERS; i++) lfuse_tensor_destroy(s->member[i]);
    lfuse_tensor_destroy(s->transposed_x);
    lfuse_tensor_destroy(s->transposed_z);
    lfuse_tensor_destroy(s->z);
    lfuse_tensor_destroy(s->x);
    lfuse_tensor_destroy(s->w);
    lfuse_tensor_destroy(s->b);
    lfuse_tensor_destroy(s->y);
    lfuse_stream_destroy(s->stream);
}

static lfuse_status perform(scene *s)
{
    lfuse_device *dev = s->dev;

    memset(s, 0, sizeof *s);
    s->dev = dev;
    LFUSE__TRY(make(s));
    return lists_alone ? use_lists(s) : use(s);
}

static void check_lists(const scene *s)
{
    const double once = 2 - 3 * 2 / 24.0, twice = once - 3 / (N * once);

    for (int i = 0; i < N; i++) ck_assert_msg(fabs(s->updated[i] - twice) < 1e-6, "%g", s->updated[i]);
    for (int i = 0; i < N; i++) ck_assert_msg(fabs(s->result[N + i] - (1 - 3.0 / N)) < 1e-6, "%g", s->result[N + i]);
}

static void check_results(const scene *s)
{
    const double sum = N - 1, wanted = sum / 2 * erfc(-sum / sqrt(2));

    if (lists_alone) {
        check_lists(s);
        return;
    }
    for (int i = 0; i < N * N; i++)
        ck_assert_msg(fabs(s->result[i] - wanted) < 1e-5, "%g, not %g", s->result[i], wanted);
    for (int i = 0; i < N * N; i++) ck_assert_msg(fabs(s->share[i] - 1.0 / (N * N)) < 1e-6, "%g", s->share[i]);
    for (int i = 0; i < N; i++) ck_assert_msg(fabs(s->updated[i] - (2 - 3 * 2 / 24.0)) < 1e-6, "%g", s->updated[i]);
}

/* One round; false when the scenario ran to its end without meeting the failure. */
static bool round_with(lfuse__stub_slot slot, uint64_t nth, bool persistent)
{
    scene s;

    memset(&s, 0, sizeof s);
    ck_assert(!lfuse_device_open("stub:0", &s.dev));
    lfuse__stub_fail(slot, nth, persistent, LFUSE_ERR_DEVICE);
    lfuse_status status = perform(&s);
    bool fired = lfuse__stub_fired();
    lfuse__stub_no_failure();
    if (status) ck_assert_str_ne(lfuse_last_error(), "");
    else check_results(&s);
    clear(&s);
    ck_assert_msg(perform(&s) == LFUSE_OK, "%s %d: afterwards: %s", lfuse__stub_slot_name(slot), (int)nth,
        lfuse_last_error());
    check_results(&s);
    clear(&s);
    lfuse_device_close(s.dev);
    ck_assert_msg(!lfuse__stub_live_objects(), "%s %d: %d objects are left", lfuse__stub_slot_name(slot), (int)nth,
                  (int)lfuse__stub_live_objects());
    return fired;
}

static void setup(void)
{
    lfuse__stub_reset();
    lfuse__registry_extra(&lfuse__stub_backend);
}

static void teardown(void)
{
    lists_alone = false;
    by.transport = LFUSE_TRANSPORT_DEFAULT;
    lfuse__registry_extra(NULL);
}

TEST_CASE("stub", .setup = setup, .teardown = teardown)

TEST(any_call_fails_once)
{
    uint64_t n = 1;

    while (round_with(LFUSE__STUB_ANY, n, false)) n++;
    ck_assert_uint_gt(n, 30);
}

TEST(any_call_fails_from_then_on)
{
    uint64_t n = 1;

    while (round_with(LFUSE__STUB_ANY, n, true)) n += 3;
    ck_assert_uint_gt(n, 30);
}

TEST(the_slots_of_addresses_by_block)
{
    uint64_t n = 1;

    lfuse__stub.addresses = false;
    while (round_with(LFUSE__STUB_launch, n, false)) n++;
    ck_assert_uint_gt(n, 3);
}

TEST_LOOP(lists_by_each_transport, 0, 6)
{
    uint64_t n = 1;

    lists_alone = true;
    by.transport = (lfuse_transport)(1 + _i / 2);
    lfuse__stub.svm_concurrent = _i % 2;
    while (round_with(LFUSE__STUB_ANY, n, false)) n++;
    ck_assert_uint_gt(n, 20);
}

TEST_SUITE("failures", CK_NOFORK)
