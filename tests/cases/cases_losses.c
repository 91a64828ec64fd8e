/* SPDX-License-Identifier: Apache-2.0 */
/* Losses and their gradients. */
#include "tests/cases/cases.h"

static const lfuse_loss_reduction reductions[] = {LFUSE_LOSS_NONE, LFUSE_LOSS_SUM, LFUSE_LOSS_MEAN};
static const char *const words[] = {"none", "sum", "mean"};

/* The losses, their sum and their mean of a loss(reduction) with the shape [m, n]. */
#define EACH_REDUCTION(h, type, m, n, loss)                                                                            \
    for (int i = 0; i < 3; i++) {                                                                                      \
        const lfuse_loss_reduction reduction = reductions[i];                                                          \
        if (i) h_output(h, words[i], loss, type, 0, NULL, PLAIN);                                                      \
        else h_output(h, words[i], loss, TYPED(type, m, n), PLAIN);                                                    \
    }

static void mse_of(harness *h, lfuse_type type)
{
    lfuse_value a = h_input(h, "a", TYPED(type, 31, 47), PLAIN, NORMAL);
    lfuse_value t = h_input(h, "t", TYPED(type, 31, 47), OFFSET, NORMAL);
    EACH_REDUCTION(h, type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32, 31, 47, lfuse_mse_loss(a, t, reduction));
    h_expect_same_bits(h);
}

CASE(mse_f32, EXACT) { mse_of(h, LFUSE_F32); }
CASE(mse_f16, TWO_WAYS) { mse_of(h, LFUSE_F16); }
CASE(mse_bf16, TWO_WAYS) { mse_of(h, LFUSE_BF16); }
CASE(mse_f64, TWO_WAYS) { mse_of(h, LFUSE_F64); }

/* The kink is where differences are 1. */
CASE(l1_huber_smooth, EXACT)
{
    lfuse_value a = h_input(h, "a", F32(31, 47), PLAIN, NORMAL), t = h_input(h, "t", F32(31, 47), PLAIN, NORMAL);
    h_output(h, "l1", lfuse_l1_loss(a, t, LFUSE_LOSS_MEAN), LFUSE_F32, 0, NULL, PLAIN);
    h_output(h, "huber", lfuse_huber_loss(a, t, 1, LFUSE_LOSS_NONE), F32(31, 47), PLAIN);
    h_output(h, "huber_mean", lfuse_huber_loss(a, t, 0.5, LFUSE_LOSS_MEAN), LFUSE_F32, 0, NULL, PLAIN);
    h_output(h, "smooth", lfuse_smooth_l1_loss(a, t, 1.5, LFUSE_LOSS_NONE), F32(31, 47), PLAIN);
    h_output(h, "smooth_0", lfuse_smooth_l1_loss(a, t, 0, LFUSE_LOSS_SUM), LFUSE_F32, 0, NULL, PLAIN);
    h_expect_same_bits(h);
}

CASE(nasty_losses, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(29, 17), PLAIN, NASTY), t = h_input(h, "t", F32(29, 17), PLAIN, NORMAL);
    h_output(h, "mse", lfuse_mse_loss(a, t, LFUSE_LOSS_NONE), F32(29, 17), PLAIN);
    h_output(h, "l1", lfuse_l1_loss(a, t, LFUSE_LOSS_NONE), F32(29, 17), PLAIN);
    h_output(h, "huber", lfuse_huber_loss(a, t, 1, LFUSE_LOSS_NONE), F32(29, 17), PLAIN);
}

static void binary_of(harness *h, lfuse_type type)
{
    const lfuse_type wide = type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32;
    lfuse_value a = h_input(h, "a", TYPED(type, 31, 47), PLAIN, NORMAL);
    lfuse_value t = lfuse_sigmoid(h_input(h, "t", TYPED(type, 31, 47), PLAIN, NORMAL));
    lfuse_value p = h_input(h, "p", TYPED(type, 47), PLAIN, POSITIVE);
    EACH_REDUCTION(h, wide, 31, 47, lfuse_binary_cross_entropy_with_logits(a, t, lfuse_none(), reduction));
    h_output(h, "positive", lfuse_binary_cross_entropy_with_logits(a, t, p, LFUSE_LOSS_MEAN), wide, 0, NULL, PLAIN);
}

CASE(binary_cross_entropy_f32, 0) { binary_of(h, LFUSE_F32); }
CASE(binary_cross_entropy_f16, TWO_WAYS) { binary_of(h, LFUSE_F16); }
CASE(binary_cross_entropy_f64, TWO_WAYS) { binary_of(h, LFUSE_F64); }

CASE(kl_divergence, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(31, 47), PLAIN, NORMAL), t = h_input(h, "t", F32(31, 47), PLAIN, POSITIVE);
    EACH_REDUCTION(h, LFUSE_F32, 31, 47, lfuse_kl_div(a, t, 0, reduction));
    h_output(h, "batch", lfuse_kl_div(a, t, 0, LFUSE_LOSS_BATCHMEAN), LFUSE_F32, 0, NULL, PLAIN);
    h_output(h, "logarithms", lfuse_kl_div(a, a, 1, LFUSE_LOSS_MEAN), LFUSE_F32, 0, NULL, PLAIN);
    h_output(h, "other", lfuse_kl_div(a, t, 1, LFUSE_LOSS_MEAN), LFUSE_F32, 0, NULL, PLAIN);
}

/* ---- cross entropy ---- */

static void indices_of(harness *h, lfuse_type type, lfuse_type index, int64_t m, int64_t n, harness_layout layout)
{
    const lfuse_type wide = type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32;
    lfuse_value z = h_input(h, "z", TYPED(type, m, n), layout, NORMAL);
    lfuse_value t = h_indices(h, "t", TYPED(index, m), 0, n - 1), none = lfuse_none();
    h_output(h, "rows", lfuse_cross_entropy(z, 1, t, none, 1, 0, LFUSE_LOSS_NONE), TYPED(wide, m), PLAIN);
    h_output(h, "sum", lfuse_cross_entropy(z, 1, t, none, 1, 0.1, LFUSE_LOSS_SUM), wide, 0, NULL, PLAIN);
    h_output(h, "mean", lfuse_cross_entropy(z, 1, t, none, 0, 0, LFUSE_LOSS_MEAN), wide, 0, NULL, PLAIN);
}

CASE(cross_entropy_10, EVERY_WAY) { indices_of(h, LFUSE_F32, LFUSE_I64, 90, 10, PLAIN); }
CASE(cross_entropy_1000, 0) { indices_of(h, LFUSE_F32, LFUSE_I32, 9, 1000, STRIDED); }
CASE(cross_entropy_4097, TWO_WAYS) { indices_of(h, LFUSE_F32, LFUSE_I32, 3, 4097, OFFSET); }
CASE(cross_entropy_30000, TWO_WAYS) { indices_of(h, LFUSE_F32, LFUSE_I64, 2, 30000, PLAIN); }
CASE(cross_entropy_f16, TWO_WAYS) { indices_of(h, LFUSE_F16, LFUSE_I32, 12, 258, PLAIN); }
CASE(cross_entropy_bf16, TWO_WAYS) { indices_of(h, LFUSE_BF16, LFUSE_I64, 12, 258, PLAIN); }
CASE(cross_entropy_f64, TWO_WAYS) { indices_of(h, LFUSE_F64, LFUSE_I64, 6, 77, PLAIN); }

/* Weights, smoothing, and indices of which some are ignored and some out of range. */
CASE(cross_entropy_weighted, 0)
{
    lfuse_value z = h_input(h, "z", F32(40, 11), PLAIN, NORMAL), w = h_input(h, "w", F32(11), PLAIN, POSITIVE);
    lfuse_value t = h_indices(h, "t", I64(40), 0, 10), wrong = h_indices(h, "wrong", I32(40), -2, 12);
    h_output(h, "rows", lfuse_cross_entropy(z, 1, t, w, 3, 0, LFUSE_LOSS_NONE), F32(40), PLAIN);
    h_output(h, "mean", lfuse_cross_entropy(z, 1, t, w, 3, 0, LFUSE_LOSS_MEAN), LFUSE_F32, 0, NULL, PLAIN);
    h_output(h, "smooth", lfuse_cross_entropy(z, 1, t, w, LFUSE_NO_IGNORED_INDEX, 0.2, LFUSE_LOSS_MEAN), LFUSE_F32, 0,
             NULL, PLAIN);
    h_output(h, "wrong_rows", lfuse_cross_entropy(z, 1, wrong, w, -1, 0.2, LFUSE_LOSS_NONE), F32(40), PLAIN);
}

/* Any number of rows and of classes; one row alone. */
CASE(cross_entropy_sizes, TWO_WAYS)
{
    lfuse_size m = h_size(h, "m", 0, 1000, 13), n = h_size(h, "n", 1, 1000, 21);
    lfuse_value z = h_input(h, "z", F32(m, n), PLAIN, NORMAL), t = h_indices(h, "t", I64(m), 0, 20);
    lfuse_value w = h_input(h, "w", F32(n), PLAIN, POSITIVE), row = h_input(h, "row", F32(21), PLAIN, NORMAL);
    lfuse_value one = h_indices(h, "one", LFUSE_I32, 0, NULL, 0, 20), none = lfuse_none();
    h_output(h, "rows", lfuse_cross_entropy(z, -1, t, none, 3, 0.1, LFUSE_LOSS_NONE), F32(m), PLAIN);
    h_output(h, "mean", lfuse_cross_entropy(z, -1, t, w, 3, 0.1, LFUSE_LOSS_MEAN), LFUSE_F32, 0, NULL, PLAIN);
    h_output(h, "single", lfuse_cross_entropy(row, 0, one, none, -100, 0, LFUSE_LOSS_MEAN), LFUSE_F32, 0, NULL, PLAIN);
    h_output(h, "single_row", lfuse_cross_entropy(row, 0, one, none, -100, 0, LFUSE_LOSS_NONE), LFUSE_F32, 0, NULL,
             PLAIN);
}

/* Classes along other axes than the last one. */
CASE(cross_entropy_axes, 0)
{
    lfuse_value z = h_input(h, "z", F32(4, 6, 5, 3), PLAIN, NORMAL), t = h_indices(h, "t", I32(4, 5, 3), 0, 5);
    lfuse_value first = h_indices(h, "first", I64(6, 5, 3), 0, 3);
    lfuse_value q = h_input(h, "q", F32(4, 6, 5, 3), PLAIN, POSITIVE);
    h_output(h, "second", lfuse_cross_entropy(z, 1, t, lfuse_none(), 2, 0, LFUSE_LOSS_NONE), F32(4, 5, 3), PLAIN);
    h_output(h, "first_axis", lfuse_cross_entropy(z, 0, first, lfuse_none(), -100, 0, LFUSE_LOSS_MEAN), LFUSE_F32, 0,
             NULL, PLAIN);
    h_output(h, "probabilities", lfuse_cross_entropy_probabilities(z, 1, q, lfuse_none(), 0.3, LFUSE_LOSS_NONE),
             F32(4, 5, 3), PLAIN);
}

CASE(cross_entropy_probabilities, 0)
{
    lfuse_value z = h_input(h, "z", F32(37, 130), PLAIN, NORMAL), w = h_input(h, "w", F32(130), PLAIN, POSITIVE);
    lfuse_value q = lfuse_softmax(h_input(h, "q", F32(37, 130), PLAIN, NORMAL), 1, (const int[]){1});
    lfuse_value none = lfuse_none();
    h_output(h, "rows", lfuse_cross_entropy_probabilities(z, 1, q, none, 0, LFUSE_LOSS_NONE), F32(37), PLAIN);
    h_output(h, "mean", lfuse_cross_entropy_probabilities(z, 1, q, w, 0.1, LFUSE_LOSS_MEAN), LFUSE_F32, 0, NULL, PLAIN);
}

/* ---- with gradients ---- */

/* A row kernel for losses and gradients, and one for the sum. */
CASE(cross_entropy_gradient, EVERY_WAY)
{
    lfuse_size n = h_size(h, "n", 1, 4096, 70);
    lfuse_value z = h_input(h, "z", F32(n, 100), PLAIN, NORMAL), t = h_indices(h, "t", I64(n), 0, 99), g;
    lfuse_value y = lfuse_cross_entropy(z, 1, t, lfuse_none(), LFUSE_NO_IGNORED_INDEX, 0, LFUSE_LOSS_MEAN);
    lfuse_gradient(y, lfuse_none(), 1, &z, &g);
    h_output(h, "loss", y, LFUSE_F32, 0, NULL, PLAIN);
    h_output(h, "gradient", g, F32(n, 100), PLAIN);
    h_expect_launches(h, 2);
}

/* The rows that count are counted first. */
CASE(cross_entropy_ignored_gradient, 0)
{
    lfuse_value z = h_input(h, "z", F32(70, 10), PLAIN, NORMAL), t = h_indices(h, "t", I32(70), 0, 9), g;
    lfuse_value y = lfuse_cross_entropy(z, 1, t, lfuse_none(), 4, 0, LFUSE_LOSS_MEAN);
    lfuse_gradient(y, lfuse_none(), 1, &z, &g);
    h_output(h, "loss", y, LFUSE_F32, 0, NULL, PLAIN);
    h_output(h, "gradient", g, F32(70, 10), PLAIN);
    h_expect_launches(h, 3);
}

CASE(cross_entropy_all_gradients, TWO_WAYS)
{
    lfuse_value v[4], g[4];
    v[0] = h_input(h, "z", F32(31, 20), PLAIN, NORMAL);
    v[1] = h_input(h, "w", F32(20), PLAIN, POSITIVE);
    v[2] = h_input(h, "q", F32(31, 20), PLAIN, POSITIVE);
    v[3] = h_input(h, "p", F32(20), PLAIN, POSITIVE);
    lfuse_value t = h_indices(h, "t", I64(31), 0, 19);
    lfuse_value y = lfuse_add(lfuse_cross_entropy(v[0], 1, t, v[1], 7, 0.1, LFUSE_LOSS_MEAN),
                              lfuse_cross_entropy_probabilities(v[0], 1, v[2], v[3], 0.1, LFUSE_LOSS_SUM));
    lfuse_gradient(y, lfuse_none(), 4, v, g);
    h_output(h, "dz", g[0], F32(31, 20), PLAIN);
    h_output(h, "dw", g[1], F32(20), PLAIN);
    h_output(h, "dq", g[2], F32(31, 20), PLAIN);
    h_output(h, "dp", g[3], F32(20), PLAIN);
}

/* A mean and the gradients of both operands in one kernel. */
CASE(mse_gradient, EXACT)
{
    lfuse_value v[2], g[2];
    v[0] = h_input(h, "a", F32(31, 47), PLAIN, NORMAL);
    v[1] = h_input(h, "t", F32(31, 47), PLAIN, NORMAL);
    lfuse_value y = lfuse_mse_loss(v[0], v[1], LFUSE_LOSS_MEAN);
    lfuse_gradient(y, lfuse_none(), 2, v, g);
    h_output(h, "loss", y, LFUSE_F32, 0, NULL, PLAIN);
    h_output(h, "da", g[0], F32(31, 47), PLAIN);
    h_output(h, "dt", g[1], F32(31, 47), PLAIN);
    h_expect_same_bits(h);
}

CASE(gradients_of_elements, TWO_WAYS)
{
    lfuse_value a = h_input(h, "a", F32(31, 47), PLAIN, NORMAL), t = h_input(h, "t", F32(31, 47), PLAIN, POSITIVE);
    lfuse_value p = h_input(h, "p", F32(47), PLAIN, POSITIVE), loss[5], g;
    loss[0] = lfuse_l1_loss(a, t, LFUSE_LOSS_SUM);
    loss[1] = lfuse_huber_loss(a, t, 0.5, LFUSE_LOSS_MEAN);
    loss[2] = lfuse_smooth_l1_loss(a, t, 0.5, LFUSE_LOSS_SUM);
    loss[3] = lfuse_binary_cross_entropy_with_logits(a, t, p, LFUSE_LOSS_MEAN);
    loss[4] = lfuse_kl_div(a, t, 0, LFUSE_LOSS_BATCHMEAN);
    for (int i = 0; i < 5; i++) {
        char name[] = "g0";
        name[1] = (char)('0' + i);
        lfuse_gradient(loss[i], lfuse_none(), 1, &a, &g);
        h_output(h, name, g, F32(31, 47), PLAIN);
    }
}
