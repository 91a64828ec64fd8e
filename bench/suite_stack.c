/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stack:<slices>x<rows>x<width>: the split-and-stack case of recommendation models. x [slices, rows, width] is split
 * into its slices; each is normalised (layernorm with scale and shift) and goes through tanh; the results are stacked,
 * a linear layer of one column and relu follow: y [slices, rows, 1].
 *   split-unfused     one launch for each operator of a framework, 2 a slice and 3 behind them, with the same kernels
 *                     and preallocated buffers
 *   split-fused       the graph as written, one plan
 *   combined-unfused  one launch for each operator, on the whole of x
 *   combined-fused    one plan, without split and stack
 */
#include "bench/fixture.h"
#include "common/base/error.h"

enum { MOST_SLICES = 26, MOST_STEPS = 2 * MOST_SLICES + 3, MOST_SETS = 32 };
static const double epsilon = 1e-5;

typedef struct stack {
    int slices;
    int64_t rows, width;
} stack;

static lfuse_status parse(const char *problem, stack *p)
{
    long long rows = 0, width = 0;
    int fields = sscanf(problem, "stack:%dx%lldx%lld", &p->slices, &rows, &width);
    p->rows = rows;
    p->width = width;
    if (fields != 3 || p->slices < 1 || p->slices > MOST_SLICES || rows < 1 || width < 1)
        return lfuse__error(LFUSE_ERR_INVALID, "%s: expected stack:<1-%d>x<rows>x<width>", problem, MOST_SLICES);
    return LFUSE_OK;
}

/* ---- the operators ---- */

static lfuse_value normalise(lfuse_value x, lfuse_value scale, lfuse_value shift)
{
    return lfuse_layernorm(x, 1, scale, shift, epsilon);
}

/* One column: the product with a matrix of one column is a sum along the rows. */
static lfuse_value linear(lfuse_value x, lfuse_value w, lfuse_value b)
{
    return lfuse_add(lfuse_matmul(x, w), b);
}

static lfuse_value slice_of(lfuse_value x, const stack *p, int i)
{
    const lfuse_size shape[2] = {p->rows, p->width};
    return lfuse_reshape(lfuse_slice(x, 0, i, 1, 1), 2, shape);
}

/* ---- graphs ---- */

typedef struct inputs {
    lfuse_value x, scale, shift, w, b;
} inputs;

static lfuse_value tensor(lfuse_graph *g, const char *name, int rank, const lfuse_size *shape)
{
    return lfuse_input(g, name, LFUSE_F32, rank, shape);
}

static lfuse_value all_of(lfuse_graph *g, const char *name, const stack *p)
{
    const lfuse_size shape[3] = {p->slices, p->rows, p->width};
    return tensor(g, name, 3, shape);
}

static void build_split(lfuse_graph *g, const inputs *in, const stack *p)
{
    lfuse_value parts[MOST_SLICES];
    for (int i = 0; i < p->slices; i++) parts[i] = lfuse_tanh(normalise(slice_of(in->x, p, i), in->scale, in->shift));
    lfuse_output(g, "y", lfuse_relu(linear(lfuse_stack(p->slices, parts, 0), in->w, in->b)));
}

static void part_name(char *name, size_t size, char letter, int i)
{
    snprintf(name, size, "%c%d", letter, i);
}

static lfuse_graph *norm_graph(const stack *p, const char *from, const char *to, int part)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value x = all_of(g, from, p), scale = tensor(g, "scale", 1, LFUSE_DIMS(p->width));
    lfuse_value shift = tensor(g, "shift", 1, LFUSE_DIMS(p->width));
    lfuse_output(g, to, normalise(part < 0 ? x : slice_of(x, p, part), scale, shift));
    return g;
}

static lfuse_graph *tanh_graph(const stack *p, const char *from, const char *to, bool whole)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value x = whole ? all_of(g, from, p) : tensor(g, from, 2, LFUSE_DIMS(p->rows, p->width));
    lfuse_output(g, to, lfuse_tanh(x));
    return g;
}

static lfuse_graph *stack_graph(const stack *p, const char *to)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value parts[MOST_SLICES];
    char name[16];
    for (int i = 0; i < p->slices; i++) {
        part_name(name, sizeof name, 'a', i);
        parts[i] = tensor(g, name, 2, LFUSE_DIMS(p->rows, p->width));
    }
    lfuse_output(g, to, lfuse_stack(p->slices, parts, 0));
    return g;
}

/* As the dot product of each row: what a good library has for one column. */
static lfuse_graph *linear_graph(const stack *p)
{
    static const int last[1] = {-1};
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value x = all_of(g, "s", p), w = tensor(g, "w", 2, LFUSE_DIMS(p->width, 1));
    lfuse_value b = tensor(g, "b", 1, LFUSE_DIMS(1));
    lfuse_output(g, "z", lfuse_add(lfuse_sum(lfuse_mul(x, lfuse_transpose(w)), 1, last, 1), b));
    return g;
}

static lfuse_graph *relu_graph(const stack *p)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_output(g, "y", lfuse_relu(tensor(g, "z", 3, LFUSE_DIMS(p->slices, p->rows, 1))));
    return g;
}

static lfuse_graph *combined_graph(const stack *p)
{
    lfuse_graph *g = lfuse_graph_create();
    const inputs in = {all_of(g, "x", p), tensor(g, "scale", 1, LFUSE_DIMS(p->width)),
                       tensor(g, "shift", 1, LFUSE_DIMS(p->width)), tensor(g, "w", 2, LFUSE_DIMS(p->width, 1)),
                       tensor(g, "b", 1, LFUSE_DIMS(1))};
    lfuse_output(g, "y", lfuse_relu(linear(lfuse_tanh(normalise(in.x, in.scale, in.shift)), in.w, in.b)));
    return g;
}

/* ---- variants ---- */

static lfuse_status add_sequence(fixture *f, bench_case *c, const char *name, lfuse_graph **graphs, int count)
{
    lfuse_status status = fixture_sequence(f, c, name, graphs, count, NULL);
    for (int i = 0; i < count; i++) lfuse_graph_destroy(graphs[i]);
    return status;
}

static lfuse_status add_split_unfused(fixture *f, bench_case *c, const stack *p)
{
    lfuse_graph *graphs[MOST_STEPS];
    char h[16], a[16];
    int n = 0;
    for (int i = 0; i < p->slices; i++) {
        part_name(h, sizeof h, 'h', i);
        part_name(a, sizeof a, 'a', i);
        graphs[n++] = norm_graph(p, "x", h, i);
        graphs[n++] = tanh_graph(p, h, a, false);
    }
    graphs[n++] = stack_graph(p, "s");
    graphs[n++] = linear_graph(p);
    graphs[n++] = relu_graph(p);
    return add_sequence(f, c, "split-unfused", graphs, n);
}

static lfuse_status add_combined(fixture *f, bench_case *c, const stack *p)
{
    lfuse_graph *unfused[] = {norm_graph(p, "x", "h", -1), tanh_graph(p, "h", "s", true), linear_graph(p),
                              relu_graph(p)};
    lfuse_graph *fused[] = {combined_graph(p)};
    lfuse_status status = add_sequence(f, c, "combined-unfused", unfused, 4);
    if (!status) return add_sequence(f, c, "combined-fused", fused, 1);
    lfuse_graph_destroy(fused[0]);
    return status;
}

static lfuse_status declare(fixture *f, const stack *p, inputs *in)
{
    const int64_t whole[3] = {p->slices, p->rows, p->width}, part[2] = {p->rows, p->width}, column[2] = {p->width, 1},
                  one[1] = {1}, result[3] = {p->slices, p->rows, 1};
    char name[16];
    LFUSE__TRY(fixture_tensor(f, "x", FIXTURE_INPUT, LFUSE_F32, 3, whole, 2, &in->x));
    LFUSE__TRY(fixture_tensor(f, "scale", FIXTURE_INPUT, LFUSE_F32, 1, &p->width, 1, &in->scale));
    LFUSE__TRY(fixture_tensor(f, "shift", FIXTURE_INPUT, LFUSE_F32, 1, &p->width, 1, &in->shift));
    LFUSE__TRY(fixture_tensor(f, "w", FIXTURE_INPUT, LFUSE_F32, 2, column, 1, &in->w));
    LFUSE__TRY(fixture_tensor(f, "b", FIXTURE_INPUT, LFUSE_F32, 1, one, 1, &in->b));
    for (int i = 0; i < p->slices; i++) {
        part_name(name, sizeof name, 'h', i);
        LFUSE__TRY(fixture_tensor(f, name, FIXTURE_SCRATCH, LFUSE_F32, 2, part, 1, NULL));
        part_name(name, sizeof name, 'a', i);
        LFUSE__TRY(fixture_tensor(f, name, FIXTURE_SCRATCH, LFUSE_F32, 2, part, 1, NULL));
    }
    LFUSE__TRY(fixture_tensor(f, "h", FIXTURE_SCRATCH, LFUSE_F32, 3, whole, 1, NULL));
    LFUSE__TRY(fixture_tensor(f, "s", FIXTURE_SCRATCH, LFUSE_F32, 3, whole, 1, NULL));
    LFUSE__TRY(fixture_tensor(f, "z", FIXTURE_SCRATCH, LFUSE_F32, 3, result, 1, NULL));
    return fixture_tensor(f, "y", FIXTURE_OUTPUT, LFUSE_F32, 3, result, 1, NULL);
}

static lfuse_status prepare(bench_device *d, const char *problem, bench_case *c)
{
    stack p;
    fixture *f;
    inputs in;
    LFUSE__TRY(parse(problem, &p));
    LFUSE__TRY(fixture_create(d, &f));
    c->shared = f;
    c->destroy = fixture_destroy;
    f->whole = true;
    LFUSE__TRY(declare(f, &p, &in));
    build_split(f->graph, &in, &p);
    bench_choose_sets(d, c, fixture_bytes(f), MOST_SETS);
    LFUSE__TRY(fixture_upload(f, c->nsets));
    LFUSE__TRY(add_split_unfused(f, c, &p));
    LFUSE__TRY(fixture_variant(f, c, "split-fused", NULL));
    LFUSE__TRY(add_combined(f, c, &p));
    for (int i = 0; i < c->nvariants; i++) c->variants[i].bytes = fixture_bytes(f);
    return LFUSE_OK;
}

static const char *const problems[] = {"stack:16x1024x256", NULL};
static const char *const quick[] = {"stack:16x256x256", NULL};
const bench_suite bench_suite_stack = {"stack", problems, quick, prepare, NULL, NULL, NULL, 0};
