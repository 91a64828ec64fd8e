/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/run/networks.h"

static uint64_t seed;

double network_next(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 33) / (double)(1u << 31) * 2 - 1;
}

lfuse_tensor *network_noise(int rank, const int64_t *shape, double scale)
{
    static float numbers[1 << 16];
    lfuse_tensor *t = tensor(rank, shape);
    int64_t count = 1;

    for (int64_t i = 0; i < rank; i++) count *= shape[i];
    ck_assert_int_le(count, 1 << 16);
    for (int64_t i = 0; i < count; i++) numbers[i] = (float)(network_next() * scale);
    OK(lfuse_tensor_write(t, NULL, numbers));
    return t;
}

static char end_of(const network *n, int layer)
{
    const int count = (int)strlen(n->ends);

    return n->ends[layer < count ? layer : count - 1];
}

static bool has_end(const network *n, char end)
{
    return strchr(n->ends, end) != NULL;
}

/* The graph's numbers, which layers have in common. */
static lfuse_value slope, scale;

static lfuse_value add_end(const network *n, int layer, lfuse_value sum)
{
    const lfuse_size *shape = LFUSE_DIMS(n->widths[layer + 1]);
    char b[8], s[8];

    snprintf(b, sizeof b, "b%d", layer), snprintf(s, sizeof s, "s%d", layer);
    if (end_of(n, layer) == 'n') return sum;
    if (end_of(n, layer) == 's') sum = lfuse_mul(sum, lfuse_frozen(g, s, LFUSE_F32, 1, shape));
    sum = lfuse_add(sum, lfuse_frozen(g, b, LFUSE_F32, 1, shape));
    if (end_of(n, layer) == 'k') return lfuse_max(sum, lfuse_mul(sum, slope));
    if (end_of(n, layer) == 'm') return lfuse_mul(sum, scale);
    return end_of(n, layer) == 'r' ? lfuse_relu(sum) : end_of(n, layer) == 'g' ? lfuse_gelu(sum) : sum;
}

static double end_at(const network *n, int layer, double sum, double b, double s)
{
    switch (end_of(n, layer)) {
    case 'n': return sum;
    case 'k': return fmax(sum + b, n->slope * (sum + b));
    case 'm': return (sum + b) * n->scale;
    case 's': return sum * s + b;
    case 'r': return sum + b > 0 ? sum + b : 0;
    case 'g': return 0.5 * (sum + b) * (1 + erf((sum + b) / sqrt(2.0)));
    default: return sum + b;
    }
}

/* The graph is made anew, for any number of rows. */
void network_graph(const network *n, bool frozen)
{
    fresh_graph();
    lfuse_value x = lfuse_input(g, "x", F32(lfuse_size_var(g, "batch", 0, 4096), n->widths[0]));
    if (has_end(n, 'k')) slope = lfuse_scalar(g, "slope");
    if (has_end(n, 'm')) scale = lfuse_scalar(g, "scale");
    for (int i = 0; i < n->layers; i++) {
        const lfuse_size *shape = LFUSE_DIMS(n->widths[i + n->transposed], n->widths[i + !n->transposed]);
        char w[8];
        snprintf(w, sizeof w, "w%d", i);
        lfuse_value weights = frozen ? lfuse_frozen(g, w, LFUSE_F32, 2, shape) : lfuse_input(g, w, LFUSE_F32, 2, shape);
        if (n->halved) weights = lfuse_mul(weights, lfuse_constant(g, 0.5));
        x = add_end(n, i, lfuse_matmul(x, n->transposed ? lfuse_transpose(weights) : weights));
    }
    lfuse_output(g, "y", x);
}

void network_tensors(network *n)
{
    n->x = network_noise(SHAPE(n->rows, n->widths[0]), 1);
    n->y = tensor(SHAPE(n->rows, n->widths[n->layers]));
    for (int i = 0; i < n->layers; i++) {
        n->w[i] = network_noise(SHAPE(n->widths[i + n->transposed], n->widths[i + !n->transposed]),
                                sqrt(6 / (double)n->widths[i]));
        n->b[i] = network_noise(SHAPE(n->widths[i + 1]), 0.1);
        n->s[i] = network_noise(SHAPE(n->widths[i + 1]), 1);
    }
}

void network_free(network *n)
{
    drop(n->x), drop(n->y);
    for (int i = 0; i < n->layers; i++)
        drop(n->w[i]), drop(n->b[i]), drop(n->s[i]);
}

int network_bind(const network *n, lfuse_binding *bind)
{
    static const char *const w[] = { "w0", "w1", "w2", "w3", "w4", "w5", "w6", "w7" };
    static const char *const b[] = { "b0", "b1", "b2", "b3", "b4", "b5", "b6", "b7" };
    static const char *const s[] = { "s0", "s1", "s2", "s3", "s4", "s5", "s6", "s7" };
    int count = 0;

    bind[count++] = BIND("x", n->x);
    for (int i = 0; i < n->layers; i++) {
        bind[count++] = BIND(w[i], n->w[i]);
        if (end_of(n, i) != 'n') bind[count++] = BIND(b[i], n->b[i]);
        if (end_of(n, i) == 's') bind[count++] = BIND(s[i], n->s[i]);
    }
    if (has_end(n, 'k')) bind[count++] = lfuse_bind_scalar("slope", n->slope);
    if (has_end(n, 'm')) bind[count++] = lfuse_bind_scalar("scale", n->scale);
    bind[count++] = BIND("y", n->y);
    return count;
}

void network_run(const network *n, lfuse_plan *plan, lfuse_stream *s)
{
    lfuse_binding bind[NETWORK_BINDINGS];
    const int count = network_bind(n, bind);

    OK(lfuse_plan_run(plan, s, bind, count));
}

float *network_copy(const lfuse_tensor *t, int64_t count)
{
    float *copy = malloc((size_t)count * sizeof *copy + 1);

    ck_assert(copy != NULL);
    memcpy(copy, values(t), (size_t)count * sizeof *copy);
    return copy;
}

/* The result within what products of this length may differ by, times what the layers behind make of it. */
void network_check(const network *n)
{
    const int64_t last = n->widths[n->layers];
    float *x = network_copy(n->x, n->rows * n->widths[0]);
    double *now = malloc((size_t)n->rows * 4096 * sizeof *now);
    double *next_one = malloc((size_t)n->rows * 4096 * sizeof *now);

    ck_assert(now && next_one);
    for (int64_t i = 0; i < n->rows * n->widths[0]; i++) now[i] = x[i];
    for (int l = 0; l < n->layers; l++) {
        const int64_t k = n->widths[l], m = n->widths[l + 1];
        float *w = network_copy(n->w[l], k * m), *b = network_copy(n->b[l], m), *s = network_copy(n->s[l], m);
        for (int64_t i = 0; i < n->rows; i++)
            for (int64_t j = 0; j < m; j++) {
                double sum = 0;
                for (int64_t e = 0; e < k; e++) sum += now[i * k + e] * w[n->transposed ? j * k + e : e * m + j];
                next_one[i * m + j] = end_at(n, l, n->halved ? sum / 2 : sum, b[j], s[j]);
            }
        memcpy(now, next_one, (size_t)(n->rows * m) * sizeof *now);
        free(w), free(b), free(s);
    }
    const float *y = values(n->y);
    for (int64_t i = 0; i < n->rows * last; i++) NEAR(y[i], now[i]);
    free(next_one), free(now), free(x);
}

void network_begin(void)
{
    lfuse__stub.addresses = true, lfuse__stub.vector_lanes = false;
    lfuse__stub.max_argument_bytes = 4096;
    lfuse__stub.resident_groups = GROUPS;
    reopen_stub();
}
