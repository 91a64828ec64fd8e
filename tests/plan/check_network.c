/* SPDX-License-Identifier: Apache-2.0 */
/* Which products share a launch, on a device that says how many groups run at the same time. */
#include "common/matmul/provider.h"
#include "tests/plan/rig.h"

enum { WIDTH = 96 };

static void gpu(void)
{
    memset(&rig_facts, 0, sizeof rig_facts);
    rig_facts.info.f64 = 1;
    rig_facts.vendor = LFUSE__VENDOR_NVIDIA;
    rig_facts.simd = 32;
    rig_facts.addresses = true;
    rig_facts.info.local_bytes = 48 * 1024;
    rig_facts.info.max_group = 1024;
    rig_facts.info.cache_bytes = 1 << 20;
    rig_facts.products = LFUSE__PRODUCTS_TUNED;
    rig_facts.resident_groups = 132;
}

static lfuse_value frozen(const char *letter, int i, lfuse_type type, int rank, const lfuse_size *shape)
{
    char name[16];
    snprintf(name, sizeof name, "%s%d", letter, i);
    return lfuse_frozen(g, name, type, rank, shape);
}

/* relu(x w + b) */
static lfuse_value layer(lfuse_value x, int i, lfuse_size k, lfuse_size n)
{
    lfuse_value w = frozen("w", i, F32(k, n)), b = frozen("b", i, F32(n));
    return lfuse_relu(lfuse_add(lfuse_matmul(x, w), b));
}

static lfuse_value chain(lfuse_value x, int first, int count)
{
    for (int i = first; i < first + count; i++) x = layer(x, i, WIDTH, WIDTH);
    return x;
}

static int networks(int *layers)
{
    int count = 0;
    *layers = 0;
    for (int i = 0; i < plan->nstages; i++) {
        if (!plan->stages[i].network) continue;
        count++;
        *layers += plan->stages[i].network->nchildren;
        for (int k = 0; k < plan->stages[i].covers; k++) ck_assert(plan->stages[i + k].covered);
    }
    return count;
}

static void expect(int count, int layers)
{
    int all;
    rig_make(0);
    int found = networks(&all);
    ck_assert_msg(found == count && all == layers, "%d networks of %d layers: %s", found, all, text.data);
}

static lfuse_value input(lfuse_size rows)
{
    return lfuse_input(g, "x", F32(rows, WIDTH));
}

TEST_CASE("chains", .setup = rig_setup, .teardown = rig_teardown)

TEST(text_of_two)
{
    gpu();
    lfuse_output(g, "y", chain(input(4), 0, 2));
    rig_make(0);
    ck_assert_str_eq(text.data,
                     "(network (gemm 4 x 96 x 96 (relu (add acc b0))) (gemm 4 x 96 x 96 (relu (add acc b1))))");
    rig_make(LFUSE_NO_NETWORK);
    ck_assert_str_eq(text.data, "(gemm 4 x 96 x 96 (relu (add acc b0))) (gemm 4 x 96 x 96 (relu (add acc b1)))");
}

/* In one launch they are of f32, and each by itself may be split. */
TEST(in_f32)
{
    gpu();
    rig_splits = true;
    rig_precision = LFUSE_PRECISION_F32X3;
    lfuse_output(g, "y", chain(input(4), 0, 2));
    rig_make(0);
    ck_assert_str_eq(text.data,
                     "(network (gemm 4 x 96 x 96 (relu (add acc b0))) (gemm 4 x 96 x 96 (relu (add acc b1))))");
    ck_assert_str_eq(rig_alternative(0, 0), "native: (gemm 4 x 96 x 96 in f32x3 (relu (add acc b0)))");
}

TEST(any_rows)
{
    gpu();
    lfuse_output(g, "y", chain(input(lfuse_size_var(g, "batch", 1, 4096)), 0, 8));
    expect(1, 8);
    ck_assert_int_eq(plan->nstages, 8); /* for batches that are too large */
    rig_facts.products = LFUSE__PRODUCTS_NONE;
    expect(1, 8);
}

/* What a vendor's product leaves to a kernel of its own is part of the layer. */
TEST(other_epilogues)
{
    gpu();
    lfuse_value x = input(8);
    for (int i = 0; i < 3; i++)
        x = lfuse_gelu(lfuse_mul(lfuse_matmul(x, frozen("w", i, F32(WIDTH, WIDTH))),
                                 frozen("s", i, F32(WIDTH))));
    lfuse_output(g, "y", x);
    expect(1, 3);
    ck_assert_int_eq(plan->stages[0].covers, plan->nstages);
    rig_check_order();
}

TEST(widths)
{
    gpu();
    lfuse_output(g, "y", layer(layer(layer(input(2), 0, WIDTH, 200), 1, 200, 17), 2, 17, 40));
    expect(1, 3);
}

static const lfuse__step *only_network(void)
{
    const lfuse__step *found = NULL;
    for (int i = 0; i < plan->nstages; i++)
        if (plan->stages[i].network) found = plan->stages[i].network;
    ck_assert_ptr_nonnull(found);
    return found;
}

/* The last one has another epilogue, or none, of operands that the others have. */
TEST(unlike_end)
{
    gpu();
    lfuse_output(g, "y", lfuse_matmul(chain(input(2), 0, 3), frozen("w", 3, F32(WIDTH, 10))));
    expect(1, 4);
    const lfuse__step *network = only_network();
    ck_assert_int_eq(network->body.nstores, 2);
    ck_assert_int_eq(network->noperands, 5); /* a, b, the sum, bias, result */
    ck_assert_int_eq(network->body.stores[0].operand, network->body.stores[1].operand);
    ck_assert_int_ne(network->body.stores[0].reg, network->body.stores[1].reg);
    for (int i = 0; i < 4; i++) ck_assert_int_eq(network->children[i].layer.kind, i == 3);
}

/* x w s + b, which has an operand more than relu(x w + b), in front of it and behind it. */
static lfuse_value scaled(lfuse_value x, int i)
{
    lfuse_value w = frozen("w", i, F32(WIDTH, WIDTH));
    lfuse_value s = frozen("s", i, F32(WIDTH));
    lfuse_value b = frozen("b", i, F32(WIDTH));
    return lfuse_add(lfuse_mul(lfuse_matmul(x, w), s), b);
}

TEST(operands_in_common)
{
    for (int first = 0; first < 2; first++) {
        gpu();
        lfuse_value x = input(2);
        for (int i = 0; i < 4; i++) x = i % 2 == first ? scaled(x, i) : layer(x, i, WIDTH, WIDTH);
        lfuse_output(g, "y", x);
        expect(1, 4);
        const lfuse__step *network = only_network();
        ck_assert_int_eq(network->body.nstores, 2);
        ck_assert_int_eq(network->noperands, 6);
        for (int i = 0; i < 4; i++) {
            const lfuse__step *child = &network->children[i];
            int seen = 0;
            ck_assert_int_eq(child->layer.kind, i % 2);
            for (int j = 0; j < child->noperands; j++) {
                const int slot = child->layer.slots[j];
                ck_assert(network->operands[slot].written == child->operands[j].written);
                ck_assert(!(seen & 1 << slot));
                seen |= 1 << slot;
            }
        }
        rig_teardown();
        rig_setup();
    }
}

/* A fifth epilogue begins another launch. */
TEST(many_epilogues)
{
    gpu();
    lfuse_value x = layer(input(2), 0, WIDTH, WIDTH);
    x = scaled(x, 1);
    x = lfuse_tanh(scaled(x, 2));
    x = lfuse_matmul(x, frozen("w", 3, F32(WIDTH, WIDTH)));
    x = lfuse_exp(scaled(x, 4));
    lfuse_output(g, "y", layer(x, 5, WIDTH, WIDTH));
    expect(2, 6);
}

/* As many places as a launch has argument words for: of twelve layers with two operands, and three. */
TEST(many_places)
{
    gpu();
    lfuse_value x = input(2);
    for (int i = 0; i < 12; i++) x = scaled(x, i);
    lfuse_output(g, "y", lfuse_matmul(x, frozen("w", 12, F32(WIDTH, WIDTH))));
    expect(1, 12);
}

/* What is handed on is somebody else's too: an output, or a later layer's. */
TEST(seen_between)
{
    gpu();
    lfuse_value h = chain(input(2), 0, 2);
    lfuse_output(g, "h", h);
    lfuse_output(g, "y", chain(h, 2, 2));
    expect(2, 4);
}

TEST(skipped_over)
{
    gpu();
    lfuse_value h = chain(input(2), 0, 2);
    lfuse_value last = chain(h, 2, 2);
    lfuse_output(g, "y", lfuse_add(last, h));
    expect(2, 4); /* the last adds what the first two came to */
}

TEST(alone)
{
    gpu();
    lfuse_output(g, "y", chain(input(4), 0, 1));
    expect(0, 0);
}

/* The result goes where x was: nothing of its launch may read that. */
TEST(updates)
{
    gpu();
    lfuse_value x = input(1);
    lfuse_update(x, chain(x, 0, 3));
    expect(1, 2);
    ck_assert(!plan->stages[0].network);
}

/* Where the last layer is a launch of its own, it is that which stores, and the network that reads. */
TEST(updates_behind_a_network)
{
    gpu();
    lfuse_value x = input(4);
    lfuse_update(x, chain(x, 0, 3));
    expect(1, 2);
    ck_assert(plan->stages[0].network && !plan->stages[plan->nstages - 1].network);
    ck_assert_int_eq(plan->stages[0].covers, plan->nstages - 1);
}

/* Numbers that layers have in common are the network's once; layers of other numbers are others. */
TEST(numbers)
{
    gpu();
    const lfuse_value slope = lfuse_scalar(g, "slope"), rest = lfuse_scalar(g, "rest");
    lfuse_value x = input(4);
    for (int i = 0; i < 3; i++) {
        x = lfuse_matmul(x, frozen("w", i, F32(WIDTH, WIDTH)));
        x = lfuse_max(x, lfuse_mul(x, i < 2 ? slope : rest));
    }
    lfuse_output(g, "y", x);
    expect(1, 3);
    for (int i = 0; i < plan->nstages; i++) {
        const lfuse__step *network = plan->stages[i].network;
        if (!network) continue;
        ck_assert_int_eq(network->body.nnumbers, 2);
        ck_assert_int_eq(network->body.nstores, 2);
        ck_assert_int_ne(network->numbers[0], network->numbers[1]);
        ck_assert_int_eq(network->children[0].layer.kind, network->children[1].layer.kind);
        ck_assert_int_ne(network->children[0].layer.kind, network->children[2].layer.kind);
    }
}

TEST(many_rows)
{
    gpu();
    lfuse_output(g, "y", chain(input(LFUSE__NETWORK_ROWS_MOST + 1), 0, 3));
    expect(0, 0);
}

TEST(other_devices)
{
    gpu();
    lfuse_output(g, "y", chain(input(4), 0, 3));
    rig_facts.resident_groups = 0;
    expect(0, 0);
    gpu();
    rig_facts.addresses = false;
    expect(0, 0);
    gpu();
    rig_facts.vector_lanes = true;
    expect(0, 0);
    gpu();
    rig_facts.info.cache_bytes = 2 * 3 * WIDTH * WIDTH * 4 - 8; /* half of it is a little less than the weights */
    expect(0, 0);
    rig_facts.info.cache_bytes += 8;
    expect(1, 3);
}

TEST(of_the_vendor)
{
    const lfuse_plan_options options = { .provider = LFUSE_PROVIDER_VENDOR };
    lfuse__plan_body *body;
    gpu();
    lfuse_output(g, "y", chain(input(4), 0, 3));
    expect(1, 3);
    ck_assert(!lfuse__plan_make(canonical, &rig_facts, &lfuse__products_advice, &options, &body));
    ck_assert(!body->stages[0].network);
    lfuse__plan_free(body);
}

TEST(narrow_types)
{
    gpu();
    lfuse_value x = lfuse_input(g, "x", F16(4, WIDTH));
    for (int i = 0; i < 3; i++)
        x = lfuse_relu(lfuse_matmul(x, frozen("w", i, F16(WIDTH, WIDTH))));
    lfuse_output(g, "y", x);
    expect(1, 3);
    rig_facts.info.cache_bytes = 2 * 3 * WIDTH * WIDTH * 2 - 8; /* of half the size */
    expect(0, 0);
    rig_facts.info.cache_bytes += 8;
    expect(1, 3);
}

/* Of operands of two types there are no such kernels, nor of what is stored as another one. */
TEST(mixed_types)
{
    lfuse_value w[3];
    gpu();
    lfuse_value x = lfuse_input(g, "x", F16(4, WIDTH));
    for (int i = 0; i < 3; i++) w[i] = frozen("w", i, BF16(WIDTH, WIDTH));
    for (int i = 0; i < 3; i++) x = lfuse_relu(lfuse_matmul_as(x, w[i], LFUSE_F16, LFUSE_PRECISION_FULL));
    lfuse_output(g, "y", x);
    expect(0, 0);
}

/* Bundles leave what a network covers where it is. */
TEST(beside_bundles)
{
    gpu();
    lfuse_output(g, "y", chain(input(4), 0, 3));
    lfuse_output(g, "z", lfuse_exp(lfuse_input(g, "u", F32(7))));
    lfuse_output(g, "v", lfuse_exp(lfuse_input(g, "t", F32(9))));
    expect(1, 3);
    ck_assert(strstr(text.data, "(bundle ") != NULL);
    rig_check_order();
}

TEST_SUITE("networks", CK_NOFORK)
