/* SPDX-License-Identifier: Apache-2.0 */
/* Products by the library's own kernels and by the vendor's, on the stub. */
#include "tests/run/rig.h"

TEST_CASE("native products", .setup = open_stub, .teardown = close_stub)

/* The kernels take what a vendor's library is given in copies; and a provider that is none. */
TEST(providers_of_odd_strides)
{
    const lfuse_plan_options none = { .provider = (lfuse_provider)3 };
    lfuse_tensor *big = ramp(SHAPE(400), 0, 1);
    lfuse_plan *plan;

    lfuse_output(g, "c", lfuse_matmul(lfuse_input(g, "a", F32(3, 4)), lfuse_input(g, "b", F32(4, 5))));
    FAILS(LFUSE_ERR_INVALID, lfuse_plan_create(dev, g, &none, &plan));
    lfuse_tensor *a = new_view(big, SHAPE(3, 4), LFUSE_DIMS(10, 2), 1);
    lfuse_tensor *b = new_view(big, SHAPE(4, 5), LFUSE_DIMS(0, -1), 9);
    for (lfuse_provider provider = LFUSE_PROVIDER_NATIVE; provider <= LFUSE_PROVIDER_VENDOR; provider++) {
        lfuse_tensor *out = tensor(SHAPE(100));
        lfuse_tensor *c = new_view(out, SHAPE(3, 5), LFUSE_DIMS(20, 3), 0);
        plan = plan_by(provider, 0);
        RUN(plan, stream, BIND("a", a), BIND("b", b), BIND("c", c));
        const float *v = values(out);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 5; j++) {
                double sum = 0;
                for (int l = 0; l < 4; l++) sum += (1 + 10 * i + 2 * l) * (9 - j);
                NEAR(v[20 * i + 3 * j], sum);
            }
        drop(c), drop(out);
    }
}

/* What a layer keeps for its backward pass is stored beside its result: sum, silu of it, and that with a residual. */
TEST(several_results_in_one_launch)
{
    const lfuse_value z = lfuse_matmul(lfuse_input(g, "x", F32(5, 3)), lfuse_transpose(lfuse_input(g, "w", F32(7, 3))));
    const lfuse_value h = lfuse_silu(z), r = lfuse_input(g, "r", F32(5, 7));
    lfuse_tensor *x = ramp(SHAPE(5, 3), -1, 0.1f), *w = ramp(SHAPE(7, 3), 1, -0.2f);
    lfuse_tensor *tr = ramp(SHAPE(5, 7), 0, 1);
    lfuse_tensor *results[3] = { tensor(SHAPE(5, 7)), tensor(SHAPE(5, 7)), tensor(SHAPE(5, 7)) };
    float found[3][35];

    lfuse_output(g, "z", z);
    lfuse_output(g, "h", h);
    lfuse_output(g, "y", lfuse_add(h, r));
    lfuse_plan *plan = plan_by(LFUSE_PROVIDER_NATIVE, 0);
    ck_assert_msg(strncmp(lfuse_plan_text(plan), "(gemm 5 x 7 x 3 (z acc) (h ", 26) == 0, "%s", lfuse_plan_text(plan));
    {
        const lfuse_binding bind[] = { BIND("x", x), BIND("w", w), BIND("r", tr), BIND("z", results[0]),
                                       BIND("h", results[1]), BIND("y", results[2]) };
        LAUNCHES(1, OK(lfuse_plan_run(plan, stream, bind, 6)));
    }
    for (int i = 0; i < 3; i++) memcpy(found[i], values(results[i]), sizeof found[i]);
    for (int i = 0; i < 5; i++)
        for (int j = 0; j < 7; j++) {
            double sum = 0;
            for (int l = 0; l < 3; l++) sum += (-1 + 0.1 * (3 * i + l)) * (1 - 0.2 * (3 * j + l));
            double silu = sum / (1 + exp(-sum));
            NEAR(found[0][7 * i + j], sum);
            NEAR(found[1][7 * i + j], silu);
            NEAR(found[2][7 * i + j], silu + 7 * i + j);
        }
}

TEST_SUITE("run", CK_NOFORK)
