/* SPDX-License-Identifier: Apache-2.0 */
/* What tests of replayed runs share: three launches in a row on the stub, and what was asked of it. */
#ifndef TESTS_RUN_REPLAYS_H
#define TESTS_RUN_REPLAYS_H

#include "tests/run/rig.h"

enum { N = 40, ALONE = LFUSE_NO_POINTWISE_FUSION | LFUSE_NO_RECOMPUTE };

static inline uint64_t captures(void)
{
    return lfuse__stub_calls(LFUSE__STUB_graph_begin);
}

static inline uint64_t replays(void)
{
    return lfuse__stub_calls(LFUSE__STUB_graph_launch);
}

/* y = relu(scale x + 1) in three launches. */
static inline lfuse_plan *chain(unsigned disable)
{
    const lfuse_size n = lfuse_size_var(g, "n", 1, N);
    const lfuse_value x = lfuse_input(g, "x", F32(n));

    lfuse_output(g, "y", lfuse_relu(lfuse_add(lfuse_mul(x, lfuse_scalar(g, "scale")), lfuse_constant(g, 1))));
    return plan_with(ALONE | disable);
}

static inline lfuse_status run_chain(lfuse_plan *plan, lfuse_stream *s, lfuse_tensor *x, lfuse_tensor *y, double scale)
{

    return lfuse_plan_run(plan, s, BINDINGS(BIND("x", x), BIND("y", y), lfuse_bind_scalar("scale", scale)));
}

/* Of x = 0, 1, ... */
static inline void check_chain(lfuse_tensor *y, double scale)
{
    const float *got = values(y);

    for (int64_t i = 0; i < lfuse_tensor_elements(y); i++) {
        const double v = scale * (double)i + 1;
        ck_assert_msg(got[i] == (float)(v > 0 ? v : 0), "element %d is %g", (int)i, got[i]);
    }
    OK(lfuse_tensor_fill(y, NULL, -7));
}

static inline void chain_times(lfuse_plan *plan, lfuse_tensor *x, lfuse_tensor *y, double scale, int times)
{
    while (times-- > 0) {
        OK(run_chain(plan, stream, x, y, scale));
        check_chain(y, scale);
    }
}

#endif
