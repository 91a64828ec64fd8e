/* SPDX-License-Identifier: Apache-2.0 */
/* When products run that update an input: as soon as the other readers of the input have run. */
#include "common/matmul/provider.h"
#include "tests/plan/rig.h"

enum { SIDE = 64 };

static lfuse_value matrix(const char *name) { return lfuse_input(g, name, F32(SIDE, SIDE)); }

/* w is updated by a product that is ready at once. */
static lfuse_value updated(void)
{
    const lfuse_value w = matrix("w");

    rig_tiles(LFUSE__PRODUCTS_PORTABLE);
    lfuse_update(w, lfuse_sub(w, lfuse_matmul(matrix("x"), matrix("dz"))));
    return w;
}

/* Products of a matrix with itself, each of which waits for the one before. */
static lfuse_value chain(lfuse_value a, int count)
{
    for (int i = 0; i < count; i++) a = lfuse_tanh(lfuse_matmul(a, a));
    return a;
}

TEST_CASE("updates", .setup = rig_setup, .teardown = rig_teardown)

TEST(come_behind_all_readers)
{
    const lfuse_value w = updated();

    lfuse_output(g, "y", chain(lfuse_matmul(chain(matrix("a"), 1), w), 2));
    rig_expect("(gemm 64 x 64 x 64 (tanh acc)) (gemm 64 x 64 x 64 acc) (gemm 64 x 64 x 64 (sub w acc)) "
               "(gemm 64 x 64 x 64 (tanh acc)) (gemm 64 x 64 x 64 (tanh acc))");
}

TEST(stay_behind_the_last_reader)
{
    const lfuse_value w = updated();

    lfuse_output(g, "y", lfuse_matmul(chain(matrix("a"), 2), w));
    rig_expect("(gemm 64 x 64 x 64 (tanh acc)) (gemm 64 x 64 x 64 (tanh acc)) (gemm 64 x 64 x 64 acc) "
               "(gemm 64 x 64 x 64 (sub w acc))");
}

TEST(stay_late_beside_a_late_reader)
{
    const lfuse_value w = updated(), v = matrix("v");

    lfuse_update(v, lfuse_sub(v, w));
    lfuse_output(g, "y", chain(matrix("a"), 3));
    rig_expect("(gemm 64 x 64 x 64 (tanh acc)) (gemm 64 x 64 x 64 (tanh acc)) (gemm 64 x 64 x 64 (tanh acc)) "
               "(pointwise 64 x 64 (v (sub v w))) (gemm 64 x 64 x 64 (sub w acc))");
}

TEST(of_what_nobody_reads_come_first)
{
    updated();
    lfuse_output(g, "y", chain(matrix("a"), 3));
    rig_expect("(gemm 64 x 64 x 64 (sub w acc)) (gemm 64 x 64 x 64 (tanh acc)) (gemm 64 x 64 x 64 (tanh acc)) "
               "(gemm 64 x 64 x 64 (tanh acc))");
}

TEST_SUITE("updates by products", CK_NOFORK)
