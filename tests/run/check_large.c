/* SPDX-License-Identifier: Apache-2.0 */
/*
 * More than 2^31 elements, as index arithmetic: the stub's memory is sparse and of a launch only the first and the last
 * work-groups are run, so that no more than the ends of the tensors are touched.
 */
#include "tests/stub/faults.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { END = 5 };

static lfuse_device *dev;

static void begin(int lanes)
{
    test_stub_begin();
    lfuse__stub.edge_groups = 1;
    lfuse__stub.elementwise_groups = 0;
    lfuse__stub.vector_lanes = lanes != 0;
    OK(lfuse_device_open("stub:0", &dev));
}

static void end(void)
{
    lfuse_device_close(dev);
    test_stub_end();
}

/* The first or last END elements of a flat tensor. */
static lfuse_tensor *tip(lfuse_tensor *t, int64_t elements, int last)
{
    const int64_t shape[] = {END};
    return new_view(t, 1, shape, NULL, last ? elements - END : 0);
}

static void set_tip(lfuse_tensor *t, int64_t elements, int last, uint16_t value)
{
    uint16_t given[END];
    lfuse_tensor *view = tip(t, elements, last);
    for (int i = 0; i < END; i++) given[i] = value;
    OK(lfuse_tensor_write(view, NULL, given));
}

static void check_tip(lfuse_tensor *t, int64_t elements, int last, uint16_t value)
{
    uint16_t got[END];
    lfuse_tensor *view = tip(t, elements, last);
    OK(lfuse_tensor_read(view, NULL, got));
    for (int i = 0; i < END; i++)
        ck_assert_msg(got[i] == value, "%s end, element %d: %#x instead of %#x", last ? "last" : "first", i, got[i],
                      value);
}

/* -x of f16: 1 and 2 become 0xbc00 and 0xc000. */
static void negate(int rank, const int64_t *shape, int lanes)
{
    lfuse_size extents[LFUSE_MAX_RANK];
    int64_t elements = 1;
    begin(lanes);
    lfuse_graph *g = new_graph();
    for (int i = 0; i < rank; i++) {
        const char name[] = {(char)('a' + i), '\0'};
        elements *= shape[i];
        extents[i] = lfuse_size_var(g, name, 1, (int64_t)1 << 40);
    }
    lfuse_output(g, "y", lfuse_neg(lfuse_input(g, "x", LFUSE_F16, rank, extents)));
    lfuse_plan *plan = new_plan(dev, g, NULL);
    lfuse_tensor *x = new_tensor(dev, LFUSE_F16, rank, shape);
    lfuse_tensor *y = new_tensor(dev, LFUSE_F16, rank, shape);
    lfuse_tensor *flat_x = new_view(x, 1, &elements, NULL, 0);
    lfuse_tensor *flat_y = new_view(y, 1, &elements, NULL, 0);
    set_tip(flat_x, elements, 0, 0x3c00);
    set_tip(flat_x, elements, 1, 0x4000);
    lfuse_stream *s = new_stream(dev);
    RUN(plan, s, BIND("x", x), BIND("y", y));
    OK(lfuse_stream_synchronize(s));
    check_tip(flat_y, elements, 0, 0xbc00);
    check_tip(flat_y, elements, 1, 0xc000);
}

TEST_CASE("large", .teardown = end)

TEST_LOOP(test_flat, 0, 2)
{
    const int64_t shape[] = {((int64_t)1 << 31) + 13};
    negate(1, shape, _i);
}

TEST_LOOP(test_more_than_32_bits, 0, 2)
{
    const int64_t shape[] = {((int64_t)1 << 32) + 7};
    negate(1, shape, _i);
}

/* y[i, j] = x[i, j] + row[j] */
TEST_LOOP(test_broadcast, 0, 2)
{
    const int64_t shape[] = {((int64_t)1 << 21) + 1, 1029}, flat[] = {shape[0] * shape[1]};
    begin(_i);
    lfuse_graph *g = new_graph();
    lfuse_size n = lfuse_size_var(g, "n", 1, (int64_t)1 << 40);
    lfuse_output(g, "y", lfuse_add(lfuse_input(g, "x", F16(n, 1029)), lfuse_input(g, "row", F16(1029))));
    lfuse_plan *plan = new_plan(dev, g, NULL);
    lfuse_tensor *x = new_tensor(dev, LFUSE_F16, 2, shape);
    lfuse_tensor *y = new_tensor(dev, LFUSE_F16, 2, shape);
    lfuse_tensor *row = new_tensor(dev, LFUSE_F16, 1, shape + 1);
    OK(lfuse_tensor_fill(row, NULL, 1));
    lfuse_tensor *flat_x = new_view(x, 1, flat, NULL, 0);
    lfuse_tensor *flat_y = new_view(y, 1, flat, NULL, 0);
    set_tip(flat_x, flat[0], 0, 0x3c00);
    set_tip(flat_x, flat[0], 1, 0x4000);
    lfuse_stream *s = new_stream(dev);
    RUN(plan, s, BIND("x", x), BIND("row", row), BIND("y", y));
    OK(lfuse_stream_synchronize(s));
    check_tip(flat_y, flat[0], 0, 0x4000); /* 1 + 1 */
    check_tip(flat_y, flat[0], 1, 0x4200); /* 2 + 1 */
}

TEST_SUITE("large", CK_NOFORK)
