/* SPDX-License-Identifier: Apache-2.0 */
/* Networks with their gradients as outputs: what trains on a device. */
#include <stdio.h>

#include "tests/cases/cases.h"

static const int first[] = {0}, last[] = {-1};

/* The inputs that a case differentiates by. */
enum { MOST = 12 };
typedef struct parameters {
    harness *h;
    int count;
    lfuse_value v[MOST];
    lfuse_type types[MOST];
    int ranks[MOST];
    lfuse_size shapes[MOST][4];
} parameters;

static lfuse_value parameter(parameters *p, harness_data data, lfuse_type type, int rank, const lfuse_size *shape)
{
    const int i = p->count++;
    char name[16];
    snprintf(name, sizeof name, "p%d", i);
    p->types[i] = type;
    p->ranks[i] = rank;
    for (int k = 0; k < rank; k++) p->shapes[i][k] = shape[k];
    return p->v[i] = h_input(p->h, name, type, rank, shape, PLAIN, data);
}

static void give(parameters *p, lfuse_value y, const char *prefix, lfuse_value *d)
{
    char name[16];
    lfuse_gradient(y, lfuse_none(), p->count, p->v, d);
    for (int i = 0; i < p->count; i++) {
        snprintf(name, sizeof name, "%s%d", prefix, i);
        h_output(p->h, name, d[i], p->types[i], p->ranks[i], p->shapes[i], PLAIN);
    }
}

/* The gradients of a number or of a sum of all elements, and the value itself. */
static void gradients(parameters *p, lfuse_value loss)
{
    lfuse_value d[MOST];
    h_output(p->h, "loss", loss, LFUSE_F32, 0, LFUSE_DIMS(1), PLAIN);
    give(p, loss, "d", d);
}

static lfuse_value number(harness *h, double x) { return lfuse_constant(h_graph(h), x); }
static lfuse_value all(lfuse_value v) { return lfuse_sum(v, LFUSE_ALL_AXES, NULL, 0); }
static lfuse_value mean_square(lfuse_value v) { return lfuse_mean(lfuse_mul(v, v), LFUSE_ALL_AXES, NULL, 0); }
static lfuse_value scaled(parameters *p, lfuse_value v, double k) { return lfuse_mul(v, number(p->h, k)); }
static lfuse_value linear(parameters *p, lfuse_value x, int64_t in, int64_t out)
{
    const lfuse_value w = parameter(p, NORMAL, F32(in, out)), b = parameter(p, NORMAL, F32(out));
    return lfuse_add(lfuse_matmul(x, scaled(p, w, 0.25)), b);
}

CASE(gradients_mlp, EVERY_WAY)
{
    parameters p = {.h = h};
    const lfuse_value x = h_input(h, "x", F32(9, 16), PLAIN, NORMAL), t = h_input(h, "t", F32(9, 10), PLAIN, NORMAL);
    const lfuse_value y = lfuse_relu(linear(&p, x, 16, 33));
    gradients(&p, mean_square(lfuse_sub(linear(&p, y, 33, 10), t)));
}

/* A whole step: the weights are read by both passes, and stored at the end. */
CASE(gradients_step, EVERY_WAY)
{
    parameters p = {.h = h};
    const lfuse_value x = h_input(h, "x", F32(40, 20), PLAIN, NORMAL), rate = h_scalar(h, "rate", 0.125);
    lfuse_value y = lfuse_relu(linear(&p, x, 20, 20)), loss, d[MOST];
    y = lfuse_relu(linear(&p, y, 20, 20));
    loss = mean_square(lfuse_sub(linear(&p, y, 20, 20), x));
    h_output(h, "loss", loss, LFUSE_F32, 0, LFUSE_DIMS(1), PLAIN);
    lfuse_gradient(loss, lfuse_none(), p.count, p.v, d);
    for (int i = 0; i < p.count; i++) h_update(h, p.v[i], lfuse_sub(p.v[i], lfuse_mul(d[i], rate)));
}

CASE(gradients_gelu_dropout, TWO_WAYS)
{
    parameters p = {.h = h};
    const lfuse_value x = h_input(h, "x", F32(9, 16), PLAIN, NORMAL), seed = number(h, 7);
    lfuse_value y = lfuse_gelu(linear(&p, x, 16, 40));
    y = lfuse_dropout(y, number(h, 0.25), seed, h_scalar(h, "step", 3));
    y = lfuse_silu(linear(&p, y, 40, 12));
    gradients(&p, mean_square(lfuse_dropout(y, number(h, 0.5), seed, number(h, 99))));
}

CASE(gradients_layernorm, EVERY_WAY)
{
    parameters p = {.h = h};
    const lfuse_value x = parameter(&p, NORMAL, F32(13, 40)), w = parameter(&p, NORMAL, F32(40));
    const lfuse_value b = parameter(&p, NORMAL, F32(40)), v = parameter(&p, POSITIVE, F32(40));
    const lfuse_value y = lfuse_layernorm(x, 1, w, b, 1e-5);
    gradients(&p, all(lfuse_sin(lfuse_add(y, lfuse_rmsnorm(x, 1, v, 1e-5)))));
}

CASE(gradients_groupnorm, TWO_WAYS)
{
    parameters p = {.h = h};
    const lfuse_value x = parameter(&p, NORMAL, F32(3, 6, 5, 4)), w = parameter(&p, NORMAL, F32(6));
    gradients(&p, all(lfuse_tanh(lfuse_groupnorm(x, 2, w, parameter(&p, NORMAL, F32(6)), 1e-5))));
}

CASE(gradients_attention, EVERY_WAY)
{
    parameters p = {.h = h};
    const lfuse_value q = parameter(&p, NORMAL, F32(2, 12, 8)), k = parameter(&p, NORMAL, F32(2, 12, 8));
    const lfuse_value v = parameter(&p, NORMAL, F32(2, 12, 8)), w = parameter(&p, NORMAL, F32(8, 8));
    const lfuse_value scores = lfuse_matmul(scaled(&p, q, 0.35), lfuse_transpose(k));
    const lfuse_value y = lfuse_matmul(lfuse_softmax(scores, 1, last), v);
    gradients(&p, mean_square(lfuse_add(lfuse_matmul(y, w), q)));
}

/* Of a network whose first weights stay, and of these as well. */
CASE(gradients_frozen, TWO_WAYS)
{
    parameters p = {.h = h};
    const lfuse_value x = parameter(&p, NORMAL, F32(9, 16)), w = h_frozen(h, "w", F32(16, 24), NORMAL);
    const lfuse_value y = linear(&p, lfuse_sigmoid(lfuse_matmul(x, lfuse_exp(scaled(&p, w, 0.25)))), 24, 6);
    const lfuse_value loss = mean_square(y);
    lfuse_value d;
    lfuse_gradient(loss, lfuse_none(), 1, &w, &d);
    h_output(h, "frozen", d, F32(16, 24), PLAIN);
    gradients(&p, loss);
}

/* Logarithms of probabilities of the right classes, as of a classifier. */
CASE(gradients_cross_entropy, TWO_WAYS)
{
    parameters p = {.h = h};
    const lfuse_value x = h_input(h, "x", F32(20, 16), PLAIN, NORMAL);
    const lfuse_value t = h_indices(h, "t", I32(20, 1), 0, 9);
    const lfuse_value y = lfuse_log_softmax(linear(&p, x, 16, 10), 1, last);
    gradients(&p, lfuse_neg(lfuse_mean(lfuse_take_along(y, 1, t, LFUSE_INDEX_PLAIN), LFUSE_ALL_AXES, NULL, 0)));
}

CASE(gradients_embedding, TWO_WAYS)
{
    parameters p = {.h = h};
    const lfuse_value table = parameter(&p, NORMAL, F32(30, 8)), other = parameter(&p, NORMAL, F32(7, 8));
    const lfuse_value i = h_indices(h, "i", I32(50), 0, 29), k = h_indices(h, "k", I64(50), -1, 7);
    const lfuse_value a = lfuse_gather(table, i), b = lfuse_gather(other, k);
    const lfuse_value y = lfuse_sigmoid(linear(&p, lfuse_mul(a, b), 8, 5));
    gradients(&p, all(lfuse_mul(y, lfuse_scatter_add(y, k, 50))));
}

/* Weights in f32 and products of a narrow type, whose gradients are those of the f32 ones. */
static void masters(harness *h, lfuse_type type)
{
    parameters p = {.h = h};
    const lfuse_value x = h_input(h, "x", TYPED(type, 9, 16), PLAIN, NORMAL);
    const lfuse_value w = parameter(&p, NORMAL, F32(16, 24)), b = parameter(&p, NORMAL, F32(24));
    const lfuse_value v = parameter(&p, NORMAL, F32(24, 10)), n = parameter(&p, NORMAL, TYPED(type, 10));
    lfuse_value y = lfuse_matmul_as(x, lfuse_cast(scaled(&p, w, 0.25), type), LFUSE_F32, LFUSE_PRECISION_FULL);
    y = lfuse_cast(lfuse_tanh(lfuse_add(y, b)), type);
    y = lfuse_add(lfuse_matmul(y, lfuse_cast(scaled(&p, v, 0.25), type)), n);
    gradients(&p, mean_square(lfuse_cast(y, LFUSE_F32)));
}

CASE(gradients_masters_f16, TWO_WAYS) { masters(h, LFUSE_F16); }
CASE(gradients_masters_bf16, TWO_WAYS) { masters(h, LFUSE_BF16); }

static void narrow(harness *h, lfuse_type type)
{
    parameters p = {.h = h};
    const lfuse_value a = parameter(&p, NORMAL, TYPED(type, 6, 37)), b = parameter(&p, NORMAL, TYPED(type, 37));
    const lfuse_value y = lfuse_softmax(lfuse_add(a, lfuse_mul(b, b)), 1, last);
    gradients(&p, lfuse_cast(all(lfuse_mul(y, lfuse_gelu(a))), LFUSE_F32));
}

CASE(gradients_f16, TWO_WAYS) { narrow(h, LFUSE_F16); }
CASE(gradients_bf16, TWO_WAYS) { narrow(h, LFUSE_BF16); }

CASE(gradients_f64, TWO_WAYS)
{
    parameters p = {.h = h};
    const lfuse_value a = parameter(&p, NORMAL, F64(6, 37)), b = parameter(&p, NORMAL, F64(37, 4));
    gradients(&p, lfuse_cast(all(lfuse_tanh(lfuse_matmul(lfuse_sin(a), b))), LFUSE_F32));
}

/* The batch is a size variable. */
static void sizes(harness *h, int64_t actual)
{
    const lfuse_size n = h_size(h, "n", 1, 70, actual);
    parameters p = {.h = h};
    const lfuse_value x = parameter(&p, NORMAL, F32(n, 12)), w = parameter(&p, NORMAL, F32(12, 6));
    const lfuse_value c = parameter(&p, NORMAL, F32(n, 6)), y = lfuse_relu(lfuse_matmul(x, w));
    gradients(&p, lfuse_add(mean_square(lfuse_sub(y, c)), all(lfuse_var(x, 1, first, 0, 0))));
}

CASE(gradients_size_1, TWO_WAYS) { sizes(h, 1); }
CASE(gradients_size_41, TWO_WAYS) { sizes(h, 41); }
CASE(gradients_size_70, TWO_WAYS) { sizes(h, 70); }

CASE(gradients_reductions, TWO_WAYS)
{
    parameters p = {.h = h};
    const lfuse_value a = parameter(&p, NORMAL, F32(5, 33)), b = parameter(&p, POSITIVE, F32(33, 5));
    lfuse_value y = lfuse_add(lfuse_amax(a, 1, last, 0), lfuse_mul(lfuse_norm_l2(a, 1, last, 0),
                                                                  lfuse_logsumexp(a, 1, last, 0)));
    y = lfuse_add(y, lfuse_mul(lfuse_amin(b, 1, first, 0), lfuse_norm(b, 1, first, 3, 0)));
    gradients(&p, all(lfuse_mul(lfuse_add(y, lfuse_var(a, 1, last, 1, 0)), lfuse_norm_l1(b, 1, first, 0))));
}

/* Small whole numbers: elements are equal, and zeros among the factors. */
CASE(gradients_ties, EXACT | TWO_WAYS)
{
    parameters p = {.h = h};
    const lfuse_value a = parameter(&p, INTEGERS, F32(9, 12)), b = parameter(&p, INTEGERS, F32(9, 4));
    const lfuse_value c = parameter(&p, INTEGERS, F32(9, 12));
    lfuse_value y = lfuse_mul(lfuse_amax(a, 1, last, 0), lfuse_prod(b, 1, last, 0));
    y = lfuse_add(all(y), all(lfuse_mul(lfuse_max(a, c), lfuse_relu(c))));
    gradients(&p, lfuse_add(y, all(lfuse_mul(lfuse_abs(a), lfuse_cummax(c, 1)))));
}

CASE(gradients_scans, TWO_WAYS)
{
    parameters p = {.h = h};
    const lfuse_value a = parameter(&p, NORMAL, F32(4, 150)), b = parameter(&p, POSITIVE, F32(4, 9));
    const lfuse_value y = lfuse_add(all(lfuse_mul(lfuse_cumsum(a, 1), lfuse_sin(a))), all(lfuse_cumprod(b, 1)));
    gradients(&p, lfuse_add(y, all(lfuse_mul(lfuse_cummin(a, 1), a))));
}

CASE(gradients_views, EVERY_WAY)
{
    parameters p = {.h = h};
    const lfuse_value a = parameter(&p, NORMAL, F32(6, 20)), b = parameter(&p, NORMAL, F32(6, 5));
    lfuse_value parts[3], y;
    lfuse_split(a, 1, 3, (const lfuse_size[]){5, 10, 5}, parts);
    y = lfuse_concat(3, (const lfuse_value[]){parts[2], b, lfuse_flip(parts[0], 1, last)}, 1);
    y = lfuse_pad(lfuse_mul(y, y), (const lfuse_size[]){1, 0}, (const lfuse_size[]){0, 2}, 3);
    y = lfuse_slice(y, 1, 1, 8, 2);
    y = lfuse_mul(y, lfuse_slice(lfuse_reshape(lfuse_transpose(a), SHAPE(15, 8)), 0, 8, 7, -1));
    gradients(&p, all(lfuse_mul(y, lfuse_sum(parts[1], LFUSE_ALL_AXES, NULL, 0))));
}

/* Norms and products of members. */
CASE(gradients_lists, EVERY_WAY)
{
    static const int64_t shapes[][3] = {{1, 3, 5}, {2, 40, 33}, {1, 1, 200}, {3, 1, 1}};
    static const int64_t columns[] = {5, 66, 200, 3};
    const lfuse_value a = h_matrices(h, "a", LFUSE_F32, 4, shapes, NORMAL);
    const lfuse_value c = h_lines(h, "c", LFUSE_F32, LFUSE_RANK_COLUMNS, 4, columns, NORMAL);
    const lfuse_value m = lfuse_member_matmul(lfuse_tanh(a), 0, a, 1), both[] = {a, c};
    const lfuse_value y = lfuse_mul(lfuse_mul(a, c), lfuse_div(a, lfuse_member_norm_l2(a)));
    const lfuse_value outputs[] = {y, m}, seeds[] = {lfuse_none(), number(h, 0.125)};
    lfuse_value d[2];
    lfuse_gradients(2, outputs, seeds, 0, 2, both, d);
    h_matrices_output(h, "d", d[0], LFUSE_F32, 4, shapes);
    h_list_output(h, "e", d[1], LFUSE_F32, 4, columns);
}

/* Of all members at once, as a clipped sum of squares. */
CASE(gradients_list_norm, TWO_WAYS)
{
    static const int64_t some[] = {1, 1024, 0, 7, 4097, 33};
    const lfuse_value a = h_list(h, "a", LFUSE_F32, LENGTH(some), some, NORMAL);
    const lfuse_value y = lfuse_mul(lfuse_list_norm_l2(a), lfuse_list_sum(lfuse_sin(a)));
    lfuse_value d;
    lfuse_gradient(y, lfuse_none(), 1, &a, &d);
    h_list_output(h, "d", d, LFUSE_F32, LENGTH(some), some);
}

/* The gradient of the squared norm of a gradient, as a penalty has it. */
CASE(gradients_of_gradients, TWO_WAYS)
{
    parameters p = {.h = h};
    const lfuse_value x = parameter(&p, NORMAL, F32(7, 12)), w = parameter(&p, NORMAL, F32(12, 6));
    const lfuse_value y = all(lfuse_tanh(lfuse_matmul(x, scaled(&p, w, 0.25))));
    lfuse_value d[MOST];
    give(&p, y, "d", d);
    gradients(&(parameters){.h = h, .count = 0}, lfuse_add(mean_square(d[0]), mean_square(d[1])));
    give(&p, lfuse_add(mean_square(d[0]), mean_square(d[1])), "second", d);
}

/* What lies between checkpoints is computed anew: the results are the same. */
CASE(gradients_checkpoints, TWO_WAYS)
{
    parameters p = {.h = h};
    lfuse_value y = h_input(h, "x", F32(9, 16), PLAIN, NORMAL);
    for (int i = 0; i < 3; i++) y = lfuse_checkpoint(lfuse_gelu(linear(&p, lfuse_sigmoid(y), 16, 16)));
    gradients(&p, mean_square(y));
}
