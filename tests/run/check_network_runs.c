/* SPDX-License-Identifier: Apache-2.0 */
/* Runs of networks in one launch in many ways, with weights that change: on the stub, and on every device. */
#include "tests/run/networks.h"

static float *run_and_copy(const network *n, lfuse_plan *plan, lfuse_stream *s)
{
    network_run(n, plan, s);
    OK(lfuse_stream_synchronize(s));
    return network_copy(n->y, n->rows * n->widths[n->layers]);
}

/*
 * Of one plan: runs on two streams, of other tensors, of a recording that is replayed on one stream between runs on
 * another; equal inputs give equal bits.
 */
static void check_many_ways(void)
{
    network n = { .layers = 4, .rows = 5, .widths = { 24, 32, 32, 40, 28 }, .ends = "rrgl" };
    const size_t bytes = 5 * 28 * sizeof(float);
    lfuse_stream *second;

    g = g ? g : lfuse_graph_create();
    network_graph(&n, false);
    network_tensors(&n);
    network other = n;
    other.x = network_noise(SHAPE(5, 24), 1), other.y = tensor(SHAPE(5, 28));
    other.w[1] = network_noise(SHAPE(32, 32), 0.4);
    OK(lfuse_stream_create(dev, &second));
    lfuse_plan *plan = plan_with(0);
    float *first = run_and_copy(&n, plan, stream);
    network_check(&n);
    OK(lfuse_record_begin(stream));
    network_run(&n, plan, stream);
    network_run(&other, plan, stream);
    lfuse_recording *recording = new_recording(stream);
    for (int i = 0; i < 6; i++) {
        OK(lfuse_tensor_fill(n.y, NULL, NAN));
        float *again = run_and_copy(i & 1 ? &other : &n, plan, i & 2 ? second : stream);
        ck_assert((memcmp(first, again, bytes) != 0) == (i & 1));
        free(again);
        network_check(i & 1 ? &other : &n);
        OK(lfuse_tensor_fill(n.y, NULL, NAN));
        OK(lfuse_recording_replay(recording, i & 1 ? second : stream, NULL, 0));
        OK(lfuse_stream_synchronize(i & 1 ? second : stream));
        again = network_copy(n.y, 5 * 28);
        ck_assert(!memcmp(first, again, bytes));
        free(again);
        network_check(&other);
    }
    free(first);
    drop(recording);
    drop(plan);
    lfuse_stream_destroy(second);
    drop(other.x), drop(other.y), drop(other.w[1]);
    network_free(&n);
}

/* One launch (where there are such launches) whatever the numbers are; a recording takes new ones. */
static void check_numbers_in(bool one)
{
    network n = { .layers = 4, .rows = 3, .widths = { 20, 24, 32, 24, 12 }, .ends = "kmkm", .slope = 0.25,
                  .scale = 1.5 };
    lfuse_binding numbers[2];

    g = g ? g : lfuse_graph_create();
    network_graph(&n, true);
    network_tensors(&n);
    lfuse_plan *plan = plan_with(0);
    for (int i = 0; i < 3; i++) {
        const uint64_t before = launches();
        network_run(&n, plan, stream);
        OK(lfuse_stream_synchronize(stream));
        if (i && one) ck_assert_uint_eq(launches() - before, 1);
        network_check(&n);
        n.slope += 0.25, n.scale = -n.scale;
    }
    OK(lfuse_record_begin(stream));
    network_run(&n, plan, stream);
    lfuse_recording *recording = new_recording(stream);
    for (int i = 0; i < 3; i++) {
        OK(lfuse_recording_replay(recording, stream, numbers, i ? 2 : 0));
        OK(lfuse_stream_synchronize(stream));
        network_check(&n);
        n.slope = 0.125 * i, n.scale = i - 3;
        numbers[0] = lfuse_bind_scalar("slope", n.slope), numbers[1] = lfuse_bind_scalar("scale", n.scale);
    }
    drop(recording);
    drop(plan);
    network_free(&n);
}

TEST_CASE("runs of networks", .setup = open_stub, .teardown = close_stub)

TEST_ON_MACHINE(numbers_on_devices)
{
    check_numbers_in(false);
}

TEST(numbers_of_a_run)
{
    network_begin();
    check_numbers_in(true);
    g = lfuse_graph_create();
}

/* Weights that change: read as they are, or when the instance is told, where something is made of them once. */
static void check_refresh(bool transposed, bool halved)
{
    network n = { .layers = 3, .rows = 4, .widths = { 20, 32, 24, 12 }, .ends = "rrl", .transposed = transposed,
                  .halved = halved };
    lfuse_binding bind[NETWORK_BINDINGS];

    g = g ? g : lfuse_graph_create();
    network_graph(&n, true);
    network_tensors(&n);
    int count = network_bind(&n, bind);
    lfuse_plan *plan = plan_with(0);
    lfuse_instance *instance = new_instance(plan, stream, bind, count);
    ck_assert((lfuse_instance_prepared(instance) != 0) == halved);
    for (int i = 0; i < 5; i++) { /* as a launch, and as a graph of one */
        float weights[32 * 24];
        OK(lfuse_instance_run(instance, bind, count));
        OK(lfuse_stream_synchronize(stream));
        network_check(&n);
        float *first = network_copy(n.y, 4 * 12);
        for (int k = 0; k < 32 * 24; k++) weights[k] = (float)(network_next() * 0.4);
        OK(lfuse_tensor_write(n.w[1], stream, weights));
        if (halved) {
            OK(lfuse_instance_run(instance, bind, count));
            OK(lfuse_stream_synchronize(stream));
            float *again = network_copy(n.y, 4 * 12);
            ck_assert(!memcmp(first, again, 4 * 12 * sizeof *first));
            free(again);
        }
        OK(lfuse_instance_refresh(instance));
        free(first);
    }
    OK(lfuse_instance_run(instance, bind, count));
    OK(lfuse_stream_synchronize(stream));
    network_check(&n);
    drop(instance);
    drop(plan);
    network_free(&n);
}

TEST_LOOP(refreshed, 0, 4)
{
    network_begin();
    check_refresh(_i & 1, _i & 2);
}

TEST_ON_MACHINE(refreshed_on_devices)
{
    check_refresh(true, true);
}

TEST_LOOP(many_ways, 0, 2)
{
    lfuse__stub.native_graph = _i;
    network_begin();
    check_many_ways();
}

TEST(many_ways_on_devices)
{
    if (!on_each_device(check_many_ways)) TEST_SKIP("no device");
}

/* Wider than one launch of the stub can hold, on devices that say which groups run at the same time. */
TEST_ON_MACHINE(wide_on_devices)
{
    static const struct { int64_t rows, width; bool transposed; } cases[] = {
        { 1, 256, false }, { 7, 100, false }, { 33, 64, true }, { 64, 128, false }, { 2, 250, false },
        { 40, 256, false }, { 1, 256, true }, { 7, 250, true }, { 40, 256, true },
    };
    const unsigned resident = lfuse__device_facts(dev)->resident_groups;

    for (size_t c = 0; c < sizeof cases / sizeof *cases && resident; c++) {
        network n = { .layers = 3, .rows = cases[c].rows, .transposed = cases[c].transposed,
                      .ends = c & 1 ? "rrl" : "r" };
        for (int i = 0; i <= n.layers; i++) n.widths[i] = cases[c].width;
        g = g ? g : lfuse_graph_create();
        network_graph(&n, true);
        network_tensors(&n);
        lfuse_plan *plan = plan_with(0);
        network_run(&n, plan, stream);
        for (int i = 0; i < 200; i++) {
            LAUNCHES(1, network_run(&n, plan, stream));
        }
        network_check(&n);
        drop(plan);
        network_free(&n);
    }
}

TEST_SUITE("run", CK_NOFORK)
