/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two products by Strassen's algorithm: t = x w, y = s (relu(t + b) v) + residual + c + row, where t is a result too.
 * The kernels make the factors of x, w and v, a host multiplies them, a kernel between the layers takes in one's
 * products and makes the other's factors, a last one makes y. Small integers, so that results are compared by ==;
 * numbers of all sizes within the normwise bound 3^L k^1.5 u max|x| max|w|, and of f16 and bf16, whose factors are
 * rounded to h while products and sums are of f32, 6^L k (2 h + h^2) max|x| max|w| more.
 */
#include "common/base/error.h"
#include "common/matmul/strassen.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"
#include "tests/support/main.h"

enum { GUARD = 64, OPERANDS = 7 };
enum { PRODUCTS, FACTORS, SUM, FIRST, SECOND, THIRD, INDEX };

/* What a kernel computes. */
typedef enum part {
    MAKE,    /* FACTORS of FIRST */
    BETWEEN, /* THIRD: the sum; FACTORS of relu(sum + FIRST), which is a row */
    LAST     /* THIRD = number * sum + FIRST, stored by columns, + SECOND, a column, + the number of the row */
} part;

typedef struct matrix {
    lfuse_type type;
    int64_t rows, columns, strides[2], count;
    unsigned char *bytes;
} matrix;

/* The kernels of a network, all in one program. */
enum { OF_X, OF_W, OF_V, AFTER_T, AFTER_Y, KERNELS };

typedef struct problem {
    rig *r;
    lfuse_type type, wide;
    int levels[2];
    bool transposed; /* v is stored transposed */
    int64_t sizes[4]; /* rows of x, its columns, those of w, those of v */
    int gap;          /* elements between rows */
    sample kernels[KERNELS];
    lfuse__bprogram *program;
} problem;

/* ---- matrices ---- */

/* NaN everywhere. `gap` -1: stored by columns. */
static matrix matrix_of(lfuse_type type, int64_t rows, int64_t columns, int gap)
{
    matrix m = {.type = type, .rows = rows, .columns = columns, .strides = {columns + gap, 1}};
    if (gap < 0) m.strides[0] = 1, m.strides[1] = rows;
    m.count = 2 * GUARD + (gap < 0 ? rows * columns : rows * m.strides[0]);
    m.bytes = rig_memory((size_t)m.count * lfuse_type_size(type), 0xff);
    return m;
}

static double get(const matrix *m, int64_t row, int64_t column)
{
    return host_get(m->bytes, m->type, GUARD + row * m->strides[0] + column * m->strides[1]);
}

static void set(const matrix *m, int64_t row, int64_t column, double x)
{
    host_put(m->bytes, m->type, GUARD + row * m->strides[0] + column * m->strides[1], x);
}

static matrix drawn(lfuse_type type, int64_t rows, int64_t columns, int gap, bool integers, uint64_t *state)
{
    const matrix m = matrix_of(type, rows, columns, gap);
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < columns; j++) {
            const uint64_t bits = host_random(state);
            set(&m, i, j, integers ? (double)(bits >> 33 & 1) - (double)(bits >> 40 & 1)
                                   : ldexp((double)(int64_t)(bits >> 12) - 0x1p51, (int)(bits & 7) - 54));
        }
    return m;
}

static double largest(const matrix *m)
{
    double most = 0;
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t j = 0; j < m->columns; j++) most = fmax(most, fabs(get(m, i, j)));
    return most;
}

/* Nothing but the matrix is written. */
static void check_guards(const matrix *m)
{
    const size_t size = lfuse_type_size(m->type);
    for (int64_t e = 0; e < m->count; e++) {
        const int64_t at = e - GUARD, row = m->strides[1] == 1 ? at / m->strides[0] : 0;
        if (at >= 0 && e < m->count - GUARD && (m->strides[1] != 1 || at - row * m->strides[0] < m->columns)) continue;
        for (size_t b = 0; b < size; b++) ck_assert_int_eq(m->bytes[(size_t)e * size + b], 0xff);
    }
}

/* ---- kernels ---- */

static void kernel_of(sample *k, part what, lfuse_type type)
{
    static const int operands[] = {[MAKE] = FIRST + 1, [BETWEEN] = THIRD + 1, [LAST] = OPERANDS};
    const lfuse_type wide = lfuse__register_type(type);
    sample_start(k, LFUSE__FAMILY_STRASSEN, 2, 0);
    for (int j = 0; j < operands[what]; j++)
        sample_operand(k, j == SUM || j == PRODUCTS ? wide : type, j == FACTORS || j == THIRD, LFUSE__STRIDE_UNIT);
    int x = sample_load(k, what == MAKE ? FIRST : SUM);
    if (what == BETWEEN) {
        sample_store(k, x, THIRD);
        x = sample_apply(k, LFUSE__OP_add, wide, x, sample_load(k, FIRST));
        x = sample_apply(k, LFUSE__OP_relu, wide, x, -1);
    }
    if (what != LAST) {
        sample_store(k, x, FACTORS);
        return;
    }
    k->k.operands[FIRST].inner = LFUSE__STRIDE_ANY;
    k->k.operands[SECOND].inner = LFUSE__STRIDE_REPEAT;
    k->k.operands[INDEX] = (lfuse__kernel_operand){.type = LFUSE_I64, .index = true, .inner = LFUSE__STRIDE_REPEAT};
    x = sample_apply(k, LFUSE__OP_mul, wide, x, sample_number(k, wide));
    x = sample_apply(k, LFUSE__OP_add, wide, x, sample_load(k, FIRST));
    x = sample_apply(k, LFUSE__OP_add, wide, x, sample_load(k, SECOND));
    const int row = sample_convert(k, wide, sample_load(k, INDEX));
    sample_store(k, sample_apply(k, LFUSE__OP_add, wide, x, row), THIRD);
}

/* Sizes of one axis as all kernels take it. */
static int64_t padded(const problem *p, int axis)
{
    const int levels = p->levels[0] > p->levels[1] ? p->levels[0] : p->levels[1];
    return lfuse__strassen_padded(&p->r->facts, p->type, levels, axis > 0 || p->transposed, p->sizes[axis]);
}

static const char *name_of(int which)
{
    static const char *const names[] = {"k0", "k1", "k2", "k3", "k4"};
    return names[which];
}

static void make_kernels(problem *p)
{
    const lfuse__strassen_class classes[] = {
        [OF_X] = {.levels_out = p->levels[0]},
        [OF_W] = {.levels_out = p->levels[0], .right = true},
        [OF_V] = {.levels_out = p->levels[1], .right = true, .transposed = p->transposed},
        [AFTER_T] = {.levels_in = p->levels[0], .levels_out = p->levels[1]},
        [AFTER_Y] = {.levels_in = p->levels[1]}};
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    for (int i = 0; i < KERNELS; i++) {
        sample *k = &p->kernels[i];
        kernel_of(k, i == AFTER_Y ? LAST : i == AFTER_T ? BETWEEN : MAKE, p->type);
        k->k.strassen = classes[i];
        OK(lfuse__strassen_emit(&text, name_of(i), &k->k, &p->r->facts));
    }
    p->program = rig_program(p->r, &text);
}

/* Runs a kernel over rows x columns; m[j]: what operand j is, NULL where it has no memory. */
static void run(const problem *p, int which, const int64_t *extents, matrix *const *m)
{
    static const double number = 2;
    const sample *k = &p->kernels[which];
    lfuse__geometry g = {.numbers = &number};
    lfuse__packed packed;
    rig_buffer buffers[OPERANDS] = {{NULL, 0, false}};
    memcpy(g.extents, extents, 4 * sizeof *extents);
    g.strides[INDEX][0] = 1;
    for (int j = 0; j < k->k.noperands; j++) {
        if (!m[j]) continue;
        const size_t size = lfuse_type_size(m[j]->type);
        buffers[j] = (rig_buffer){m[j]->bytes, (size_t)m[j]->count * size, k->k.operands[j].written};
        g.offsets[j] = g.addresses[j] = GUARD * size;
        memcpy(g.strides[j], m[j]->strides, sizeof m[j]->strides);
        if (m[j]->rows == 1 && j >= FIRST) g.strides[j][0] = 0;
        if (k->k.operands[j].inner == LFUSE__STRIDE_REPEAT) g.strides[j][1] = 0;
    }
    OK(lfuse__strassen_pack(&k->k, &p->r->facts, &g, &packed));
    rig_launch(p->r, p->program, name_of(which), &packed, k->k.noperands, buffers);
}

/* Memory for the factors or products of a padded matrix, in as many rows. */
static matrix stack(const problem *p, int levels, int64_t rows, int64_t columns)
{
    return matrix_of(p->type, lfuse__strassen_count(levels) * (rows >> levels), columns >> levels, 0);
}

static matrix factors(const problem *p, int which, matrix *of, int64_t rows, int64_t columns)
{
    const int64_t extents[] = {of->rows, of->columns, rows, columns};
    matrix made = stack(p, p->kernels[which].k.strassen.levels_out, rows, columns);
    matrix *const all[] = {NULL, &made, NULL, of};
    run(p, which, extents, all);
    check_guards(&made);
    return made;
}

/* All small products of factors of m x k and k x n (or n x k). */
static matrix multiplied(const problem *p, const matrix *a, const matrix *b, int levels, bool transposed)
{
    const int64_t count = lfuse__strassen_count(levels), m = a->rows / count, k = a->columns,
                  n = transposed ? b->rows / count : b->columns;
    const matrix c = matrix_of(p->wide, count * m, n, 0);
    for (int64_t o = 0; o < count; o++)
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j < n; j++) {
                double sum = 0;
                for (int64_t l = 0; l < k; l++)
                    sum += get(a, o * m + i, l) * (transposed ? get(b, o * n + j, l) : get(b, o * k + l, j));
                set(&c, o * m + i, j, sum);
            }
    return c;
}

/* ---- the network ---- */

/* Whatever is not an integer is compared with t's bound; y is not looked at then. */
static void check_elements(const problem *p, const matrix *expected, const matrix *found, double tolerance)
{
    for (int64_t i = 0; i < expected->rows; i++)
        for (int64_t j = 0; j < expected->columns; j++)
            ck_assert_msg(fabs(get(expected, i, j) - get(found, i, j)) <= tolerance,
                          "%s, levels %d and %d, %lld x %lld x %lld x %lld, transposed %d, gap %d: %g at %lld, %lld, "
                          "expected %g within %g", lfuse_type_name(p->type), p->levels[0], p->levels[1],
                          (long long)p->sizes[0], (long long)p->sizes[1], (long long)p->sizes[2],
                          (long long)p->sizes[3], p->transposed, p->gap, get(found, i, j), (long long)i, (long long)j,
                          get(expected, i, j), tolerance);
    check_guards(found);
}

static matrix plain(const problem *p, const matrix *a, const matrix *b, bool transposed)
{
    const int64_t n = transposed ? b->rows : b->columns;
    const matrix c = matrix_of(LFUSE_F64, a->rows, n, 0);
    (void)p;
    for (int64_t i = 0; i < a->rows; i++)
        for (int64_t j = 0; j < n; j++) {
            double sum = 0;
            for (int64_t l = 0; l < a->columns; l++) sum += get(a, i, l) * (transposed ? get(b, j, l) : get(b, l, j));
            set(&c, i, j, sum);
        }
    return c;
}

/* Of t, which is stored as narrow as it is. */
static double tolerance(const problem *p, const matrix *x, const matrix *w, const matrix *t)
{
    const double u = p->wide == LFUSE_F64 ? 0x1p-53 : 0x1p-24, k = (double)p->sizes[1];
    const double h = p->type == LFUSE_F16 ? 0x1p-11 : p->type == LFUSE_BF16 ? 0x1p-8 : 0;
    const double factor = pow(3, p->levels[0]) * pow(k, 1.5) * u + pow(6, p->levels[0]) * k * (2 * h + h * h);
    const double error = factor * largest(x) * largest(w);
    return error + h * (largest(t) + error);
}

static void run_network(problem *p, bool integers, uint64_t state)
{
    const int64_t *s = p->sizes, wide[4] = {padded(p, 0), padded(p, 1), padded(p, 2), padded(p, 3)};
    const int64_t between[] = {s[0], s[2], wide[0], wide[2]}, last[] = {s[0], s[3], wide[0], wide[3]};
    matrix x = drawn(p->type, s[0], s[1], p->gap, integers, &state), w = drawn(p->type, s[1], s[2], p->gap, integers,
                                                                               &state),
           v = p->transposed ? drawn(p->type, s[3], s[2], p->gap, integers, &state)
                         : drawn(p->type, s[2], s[3], p->gap, integers, &state),
           b = drawn(p->type, 1, s[2], p->gap, integers, &state), c = drawn(p->type, s[0], 1, 0, integers, &state),
           residual = drawn(p->type, s[0], s[3], -1, integers, &state),
           t = matrix_of(p->type, s[0], s[2], p->gap), y = matrix_of(p->type, s[0], s[3], p->gap);
    make_kernels(p);
    matrix fx = factors(p, OF_X, &x, wide[0], wide[1]), fw = factors(p, OF_W, &w, wide[1], wide[2]),
           fv = p->transposed ? factors(p, OF_V, &v, wide[3], wide[2]) : factors(p, OF_V, &v, wide[2], wide[3]);
    matrix pt = multiplied(p, &fx, &fw, p->levels[0], false), ft = stack(p, p->levels[1], wide[0], wide[2]);
    matrix *const behind_t[] = {&pt, &ft, NULL, &b, NULL, &t};
    run(p, AFTER_T, between, behind_t);
    check_guards(&ft);
    matrix py = multiplied(p, &ft, &fv, p->levels[1], p->transposed);
    matrix *const behind_y[] = {&py, NULL, NULL, &residual, &c, &y, NULL};
    run(p, AFTER_Y, last, behind_y);
    p->r->backend->program_destroy(p->program);

    matrix sums = plain(p, &x, &w, false);
    check_elements(p, &sums, &t, integers ? 0 : tolerance(p, &x, &w, &sums));
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[2]; j++) set(&sums, i, j, fmax(0, get(&sums, i, j) + get(&b, 0, j)));
    matrix results = plain(p, &sums, &v, p->transposed);
    for (int64_t i = 0; i < s[0]; i++)
        for (int64_t j = 0; j < s[3]; j++)
            set(&results, i, j, 2 * get(&results, i, j) + get(&residual, i, j) + get(&c, i, 0) + (double)i);
    if (integers) check_elements(p, &results, &y, 0);
    matrix *const all[] = {&x, &w, &v, &b, &c, &residual, &t, &y, &fx, &fw, &fv, &pt, &ft, &py, &sums, &results};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]->bytes);
}

void case_strassen(rig *r, lfuse_type type)
{
    static const struct {
        int levels[2];
        bool transposed;
        int64_t sizes[4];
        int gap;
        bool integers;
    } trials[] = {
        {{2, 1}, true, {5, 4, 35, 3}, 1, true},   {{1, 2}, false, {4, 3, 128, 17}, 0, true},
        {{2, 2}, false, {9, 4, 70, 9}, 4, false}, {{1, 1}, true, {1, 1, 1, 1}, 0, true},
        {{1, 1}, false, {6, 4, 8, 33}, 3, false}, {{2, 2}, true, {3, 3, 64, 64}, 0, true},
    };
    const int count = sizeof trials / sizeof *trials;
    for (int i = 0; i < count; i++) {
        const bool all = !r->facts.compiles_at_launch || test_all();
        if (type != LFUSE_F32 && i % 3 != (int)type % 3 && !test_all()) continue;
        if (!all && (type == LFUSE_F32 ? i > 2 : i > 3)) continue;
        problem p = {.r = r, .type = type, .wide = lfuse__register_type(type), .transposed = trials[i].transposed,
                     .gap = trials[i].gap};
        memcpy(p.levels, trials[i].levels, sizeof p.levels);
        memcpy(p.sizes, trials[i].sizes, sizeof p.sizes);
        run_network(&p, trials[i].integers, (uint64_t)i + 1);
    }
    if (type == LFUSE_F32 && test_all()) {
        problem p = {.r = r, .type = type, .wide = type, .levels = {3, 2}, .sizes = {9, 7, 20, 5}, .gap = 1};
        run_network(&p, true, 7);
    }
}

int strassen_emit(lfuse__strbuf *out, const lfuse__facts *facts)
{
    static const int levels[][2] = {{1, 1}, {2, 2}, {1, 2}, {2, 1}};
    static const lfuse_type types[] = {LFUSE_F32, LFUSE_F16, LFUSE_F64};
    int number = 0;
    for (int t = 0; t < 3; t++)
        for (int l = 0; l < 4; l++)
            for (int what = MAKE; what <= LAST; what++) {
                char name[32];
                sample k;
                if ((l > 1 && what != BETWEEN) || (t > 0 && (l != 1 || what != BETWEEN))) continue;
                snprintf(name, sizeof name, "strassen_%d", number++);
                kernel_of(&k, (part)what, types[t]);
                if (what != MAKE) k.k.strassen.levels_in = levels[l][0];
                if (what != LAST) k.k.strassen.levels_out = levels[l][1];
                OK(lfuse__strassen_emit(out, name, &k.k, facts));
            }
    return number;
}
