/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products by tiles: every shape, with parts and without, both transposes, sizes that no tile divides, leading
 * dimensions that no vector divides, and epilogues. Small integers, so that results are compared by ==; and numbers of
 * all sizes within the bound of DESIGN 11.
 */
#include "common/base/error.h"
#include "common/matmul/emulated.h"
#include "tests/matmul/choose.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"
#include "tests/support/main.h"

enum { A, B, SUM, OUT, BEFORE, BIAS, RESIDUAL, OPERANDS, GUARD = 64 };

/* What the epilogue is. */
typedef enum ending {
    PLAIN,  /* the sum */
    FUSED,  /* number * sum + bias of the column, stored to BEFORE; plus the residual, relu, stored to OUT */
    LONG,   /* the sum and 32 times the bias of the row: more than anybody copies for every sum */
    ENDINGS,
    COLUMNS /* not by turns: the sum, 32 times the bias of the column, which all rows share, and the residual */
} ending;

typedef struct problem {
    sample s;
    lfuse__geometry g;
    double numbers[1];
    ending end;
    int64_t matrix; /* of a batch, the one that `at` speaks of */
    unsigned char *memory[OPERANDS], *expected[OPERANDS];
    size_t bytes[OPERANDS];
} problem;

static void class_of(problem *p, lfuse_type type, bool ta, bool tb, ending end)
{
    const lfuse_type sum = lfuse__register_type(type);
    sample *s = &p->s;
    memset(p, 0, sizeof *p);
    p->end = end;
    sample_start(s, LFUSE__FAMILY_PRODUCT, 2, 0);
    s->k.product.ta = ta, s->k.product.tb = tb, s->k.product.sum = sum;
    for (int j = 0; j < OPERANDS; j++)
        sample_operand(s, j == SUM ? sum : type, j == OUT || j == BEFORE, LFUSE__STRIDE_UNIT);
    if (end == LONG) s->k.operands[BIAS].inner = LFUSE__STRIDE_REPEAT;
    if (end == LONG) s->k.operands[OUT].inner = LFUSE__STRIDE_ANY;
    s->k.operands[BIAS].fixed = end == COLUMNS || (end == FUSED && tb); /* or it has rows with a stride of 0 */
    int x = sample_load(s, SUM);
    if (end == FUSED) {
        x = sample_apply(s, LFUSE__OP_mul, sum, x, sample_number(s, sum));
        x = sample_apply(s, LFUSE__OP_add, sum, x, sample_load(s, BIAS));
        sample_store(s, x, BEFORE);
        x = sample_apply(s, LFUSE__OP_add, sum, x, sample_load(s, RESIDUAL));
        x = sample_apply(s, LFUSE__OP_max, sum, x, sample_constant(s, sum, 0));
    }
    if (end == LONG || end == COLUMNS) {
        const int b = sample_load(s, BIAS);
        for (int i = 0; i < 32; i++) x = sample_apply(s, LFUSE__OP_add, sum, x, b);
    }
    if (end == COLUMNS) x = sample_apply(s, LFUSE__OP_add, sum, x, sample_load(s, RESIDUAL));
    sample_store(s, x, OUT);
}

/* Rows and columns as they are stored; what is walked by rows and columns of the result. */
static void sizes_of(problem *p, int64_t m, int64_t n, int64_t k, int pad, int offset)
{
    const bool ta = p->s.k.product.ta, tb = p->s.k.product.tb;
    const int64_t rows[OPERANDS] = {ta ? k : m, tb ? n : k, 0, m, m, 1, m},
                  columns[OPERANDS] = {ta ? m : k, tb ? k : n, 0, n, n, n, n};
    p->g.extents[0] = m, p->g.extents[1] = n, p->g.extents[2] = k;
    p->numbers[0] = 2;
    p->g.numbers = p->numbers;
    for (int j = 0; j < OPERANDS; j++) {
        const size_t size = lfuse_type_size(p->s.k.operands[j].type);
        int64_t high = rows[j], wide = columns[j];
        if (j == BIAS && p->end == LONG) high = m, wide = 1;
        if (j == OUT && p->end == LONG) high = n, wide = m; /* stored by columns */
        p->g.strides[j][0] = j == BIAS && p->end != LONG ? 0 : wide + pad;
        p->g.strides[j][1] = j == BIAS && p->end == LONG ? 0 : 1;
        if (j == OUT && p->end == LONG) p->g.strides[j][0] = 1, p->g.strides[j][1] = wide + pad;
        const int first = GUARD + (j == SUM ? 0 : offset); /* of SUM: what is kept begins there */
        p->g.offsets[j] = p->g.addresses[j] = (uint64_t)first * size;
        p->bytes[j] = (size_t)(2 * GUARD + offset + high * (wide + pad)) * size;
    }
}

/* So many products, one element apart and more; one bias for all, and one `shared` operand; NONE: no other one. */
enum { NONE = -1 };
static void batch_of(problem *p, int64_t count, int apart, int shared)
{
    p->s.k.product.batched = true;
    p->g.extents[LFUSE__PRODUCT_BATCH] = count;
    for (int j = 0; j < OPERANDS; j++) {
        const int64_t size = (int64_t)lfuse_type_size(p->s.k.operands[j].type);
        const bool one = j == BIAS || j == shared;
        const int64_t stride = one ? 0 : (int64_t)p->bytes[j] / size - 2 * GUARD + apart;
        p->g.strides[j][LFUSE__PRODUCT_BATCH] = stride;
        p->bytes[j] += (size_t)((count - 1) * stride * size);
    }
}

static int64_t at(const problem *p, int j, int64_t row, int64_t column)
{
    return (int64_t)(p->g.offsets[j] / lfuse_type_size(p->s.k.operands[j].type)) + row * p->g.strides[j][0] +
           column * p->g.strides[j][1] + p->matrix * p->g.strides[j][LFUSE__PRODUCT_BATCH];
}

static int64_t at_a(const problem *p, int64_t i, int64_t l)
{
    return p->s.k.product.ta ? at(p, A, l, 0) + i : at(p, A, i, 0) + l;
}

static int64_t at_b(const problem *p, int64_t l, int64_t j)
{
    return p->s.k.product.tb ? at(p, B, j, 0) + l : at(p, B, l, 0) + j;
}

static bool is_rounded(const problem *p, int j)
{
    return p->s.k.product.precision == LFUSE_PRECISION_TF32 && (j == A || j == B);
}

/* Of tf32 as it is multiplied: with 10 bits behind the point. */
static double number(const problem *p, int j, int64_t element)
{
    const double x = host_get(p->memory[j], p->s.k.operands[j].type, element);
    int exponent;
    const double fraction = frexp(x, &exponent);

    return is_rounded(p, j) ? ldexp(round(ldexp(fraction, 11)), exponent - 11) : x;
}

/* Operands that are rounded to tf32 are a little smaller, by what has to be rounded away. */
static void set(const problem *p, unsigned char *memory, int j, int64_t element, double x)
{
    host_put(memory, p->s.k.operands[j].type, element, is_rounded(p, j) ? x * (1 - 0x1p-13) : x);
}

static double drawn(uint64_t *state, bool integers)
{
    const uint64_t r = host_random(state);
    if (integers) return (double)(r >> 32 & 3) - 1;
    return ldexp((double)(int64_t)(r >> 12) - 0x1p51, (int)(r & 7) - 54);
}

static void fill_matrix(problem *p, bool integers, uint64_t state)
{
    const int64_t *e = p->g.extents;
    for (int64_t i = 0; i < e[0]; i++)
        for (int64_t l = 0; l < e[2]; l++) set(p, p->memory[A], A, at_a(p, i, l), drawn(&state, integers));
    for (int64_t l = 0; l < e[2]; l++)
        for (int64_t j = 0; j < e[1]; j++) set(p, p->memory[B], B, at_b(p, l, j), drawn(&state, integers));
    for (int64_t i = 0; i < e[0]; i++)
        for (int64_t j = 0; j < e[1]; j++) {
            set(p, p->memory[BIAS], BIAS, at(p, BIAS, i, j), drawn(&state, integers));
            set(p, p->memory[RESIDUAL], RESIDUAL, at(p, RESIDUAL, i, j), drawn(&state, integers));
        }
}

/* NaN wherever nothing belongs to the problem. */
static void fill(problem *p, bool integers, uint64_t seed)
{
    const int64_t count = lfuse__product_batch(&p->s.k, &p->g);
    for (int j = 0; j < OPERANDS; j++) {
        p->memory[j] = rig_memory(p->bytes[j], 0xff);
        p->expected[j] = rig_memory(p->bytes[j], 0xff);
    }
    for (p->matrix = 0; p->matrix < count; p->matrix++) fill_matrix(p, integers, seed + 1000 * (uint64_t)p->matrix);
    for (int j = 0; j < OPERANDS; j++) memcpy(p->expected[j], p->memory[j], p->bytes[j]);
}

/* The rows of A, or the columns of B, one behind the other: each number is read once, and is a part of many sums. */
static double *lines_of(const problem *p, int operand, int64_t count)
{
    const int64_t k = p->g.extents[2];
    double *lines = malloc((size_t)(count * k + 1) * sizeof *lines);
    if (!lines) abort();
    for (int64_t i = 0; i < count; i++)
        for (int64_t l = 0; l < k; l++)
            lines[i * k + l] = number(p, operand, operand == A ? at_a(p, i, l) : at_b(p, l, i));
    return lines;
}

/* The value that belongs at row and column, of the row a and the column b; *error: how far off it may be. */
static double expect(const problem *p, int64_t row, int64_t column, const double *a, const double *b, double *before,
                     double *error)
{
    const double u = p->s.k.product.sum == LFUSE_F64 ? 0x1p-53 : 0x1p-24, k = (double)p->g.extents[2];
    double sum = 0, size = 0;
    for (int64_t l = 0; l < p->g.extents[2]; l++) {
        const double x = a[l] * b[l];
        sum += x;
        size += fabs(x);
    }
    *error = fmax(8, 4 * sqrt(k + 2)) * u * size;
    if (p->end == FUSED) {
        *before = 2 * sum + number(p, BIAS, at(p, BIAS, row, column));
        sum = *before + number(p, RESIDUAL, at(p, RESIDUAL, row, column));
        *error = 2 * *error + 4 * u * (fabs(*before) + fabs(sum));
        sum = fmax(0, sum);
    }
    if (p->end == LONG || p->end == COLUMNS) {
        const double bias = number(p, BIAS, at(p, BIAS, row, column));
        *error += 32 * u * (fabs(sum) + 32 * fabs(bias));
        sum += 32 * bias;
    }
    if (p->end == COLUMNS) {
        sum += number(p, RESIDUAL, at(p, RESIDUAL, row, column));
        *error += u * fabs(sum);
    }
    return sum;
}

static void check_matrix(problem *p, bool integers, const char *what)
{
    const int64_t k = p->g.extents[2];
    double *rows = lines_of(p, A, p->g.extents[0]), *columns = lines_of(p, B, p->g.extents[1]);
    for (int64_t i = 0; i < p->g.extents[0]; i++)
        for (int64_t j = 0; j < p->g.extents[1]; j++) {
            double before = 0, error;
            const double x = expect(p, i, j, rows + i * k, columns + j * k, &before, &error);
            if (integers) {
                set(p, p->expected[OUT], OUT, at(p, OUT, i, j), x);
                if (p->end == FUSED) set(p, p->expected[BEFORE], BEFORE, at(p, BEFORE, i, j), before);
                continue;
            }
            const double got = number(p, OUT, at(p, OUT, i, j));
            ck_assert_msg(fabs(got - x) <= error, "%s: %g at %lld, %lld, expected %g within %g", what, got,
                          (long long)i, (long long)j, x, error);
        }
    free(rows);
    free(columns);
}

static void check_result(problem *p, bool integers, const char *what)
{
    const int64_t count = lfuse__product_batch(&p->s.k, &p->g);
    for (p->matrix = 0; p->matrix < count; p->matrix++) check_matrix(p, integers, what);
    for (int j = OUT; j < OPERANDS && integers; j++)
        for (size_t b = 0; b < p->bytes[j]; b++)
            if (p->memory[j][b] != p->expected[j][b])
                ck_abort_msg("%s: operand %d differs at byte %zu of %zu: %02x, expected %02x", what, j, b, p->bytes[j],
                             p->memory[j][b], p->expected[j][b]);
}

static void run_product(rig *r, problem *p, bool integers, uint64_t seed)
{
    const lfuse__product_class *s = &p->s.k.product;
    rig_buffer buffers[OPERANDS + 1];
    char what[200];
    snprintf(what, sizeof what, "type %d, %sbatched, tile %d x %d, split %d, ta %d, tb %d, ending %d, %lld x %lld "
             "x %lld", (int)p->s.k.operands[OUT].type, s->batched ? "" : "not ", s->rows, s->columns, s->split, s->ta,
             s->tb, (int)p->end,
             (long long)p->g.extents[0], (long long)p->g.extents[1], (long long)p->g.extents[2]);
    fill(p, integers, seed);
    for (int j = 0; j < OPERANDS; j++)
        buffers[j] = (rig_buffer){j == SUM ? NULL : p->memory[j], p->bytes[j], j == OUT || j == BEFORE};
    rig_product(r, &p->s.k, &p->g, buffers, 1, what);
    check_result(p, integers, what);
    for (int j = 0; j < OPERANDS; j++) {
        free(p->memory[j]);
        free(p->expected[j]);
    }
}

/* Sizes number `at` for a class; false: there are no more. Where it serves few rows or columns, so many or one less. */
static bool sizes_for(const lfuse__product_class *p, int at, int64_t *sizes)
{
    static const int64_t tiles[][3] = {{1, 1, 1}, {5, 7, 3}, {64, 64, 64}, {130, 129, 37}, {136, 200, 44},
                                       {33, 260, 0}},
                         skinny[][3] = {{0, 200, 300}, {-1, 133, 150}, {0, 4, 1}, {0, 130, 1032}, {0, 7, 0}};
    const bool rows = p->rows == p->item_rows, columns = p->columns == p->item_columns;
    if (at >= (int)(rows || columns ? sizeof skinny / sizeof *skinny : sizeof tiles / sizeof *tiles)) return false;
    memcpy(sizes, rows || columns ? skinny[at] : tiles[at], 3 * sizeof *sizes);
    if (!rows && !columns) return true;
    sizes[0] += rows ? p->rows : p->columns;
    if (sizes[0] == 0) sizes[0] = 1;
    if (columns) {
        const int64_t few = sizes[0];
        sizes[0] = sizes[1], sizes[1] = few;
    }
    return true;
}

/* Kernels for batches of one layout of the operands; `turn` counts those of all, of which every stride-th is run. */
static void case_batches_of(rig *r, lfuse_type type, bool ta, bool tb, int stride, int *turn)
{
    const int64_t few[] = {1, 1, 1, 1}, many[] = {100000, 100000, 100000, 100000};
    lfuse__kernel_class found[LFUSE__MATMUL_CLASSES];
    int64_t sizes[3];
    problem p;
    class_of(&p, type, ta, tb, PLAIN);
    p.s.k.product.batched = true;
    const int count = lfuse__matmul_classes(&r->facts, few, many, &p.s.k, found);
    ck_assert_int_gt(count, 1);
    for (int c = 0; c < count; c++)
        for (int s = 0; sizes_for(&found[c].product, s, sizes); s++, ++*turn) {
            const int at = *turn;
            if (at % stride) continue;
            class_of(&p, type, ta, tb, (ending)(at / stride % ENDINGS));
            p.s.k.product = found[c].product;
            sizes_of(&p, sizes[0], sizes[1], sizes[2], 4 - (int)(sizes[at % 2] % 4), 0);
            batch_of(&p, 3, at % 3 * 2, at & 1 ? B : NONE);
            run_product(r, &p, true, (uint64_t)at + 1);
        }
}

static void case_batches(rig *r, lfuse_type type)
{
    const int stride = test_all() ? 1 : (type == LFUSE_F32 ? 19 : 67) * (r->facts.compiles_at_launch ? 3 : 1);
    int turn = 0;
    for (int way = 0; way < 4; way++) case_batches_of(r, type, way & 1, way >> 1, stride, &turn);
}

/*
 * Every candidate that a product can get by name, those of slices, of prefetch and of parts that meet too; the ways
 * of storing the operands and the endings by turns.
 */
static void case_tilings(const rig *device, lfuse_type type)
{
    rig early = *device, *const r = &early; /* where launches do not overlap, the words for that are as good */
    static const char *const names[] = {"32x64x16:4x4:1:", "32x32x32:4x4:4:", "16x32x64:4x4:8:", "16x32x32:4x4:4:",
                                        "32x64x32:8x4:4:", "32x64x32:8x8:4:", "64x64x16:8x8:2:",
                                        "64x64x32:16x8:4:", "64x64x32:8x8:4:", "64x128x16:8x8:2:",
                                        "128x128x16:8x16:1:"};
    static const int64_t sizes[][3] = {{136, 200, 300}, {131, 97, 203}, {40, 64, 77}};
    static const int cuts[] = {0, 3, -1};
    const bool all = test_all() || !r->facts.compiles_at_launch;
    r->facts.info.compute_units = 3; /* so that there is a tile for four groups, or more */
    for (int i = 0; i < (int)(sizeof names / sizeof *names); i++)
        for (int cut = 0; cut < (int)(sizeof cuts / sizeof *cuts); cut++) {
            const int parts = cuts[cut];
            early.facts.overlaps = device->facts.overlaps || i % 2;
            early.facts.info.cache_bytes = i % 2 ? 0 : UINT64_MAX; /* 0: what the epilogue reads is asked for early */
            const int64_t *z = sizes[parts < 0 ? (i + cut) % 2 : (i + parts) % 3];
            char name[LFUSE__MATMUL_CANDIDATE_NAME], again[LFUSE__MATMUL_CANDIDATE_NAME];
            lfuse__matmul_candidate t;
            problem p;
            if (!all && cut != i % 3) continue;
            snprintf(name, sizeof name, "%s%d", names[i], parts);
            ck_assert(lfuse__matmul_candidate_parse(name, &t));
            if (parts < 0 && t.item_rows > 8) continue; /* these are not shared out */
            lfuse__matmul_candidate_print(&t, again);
            ck_assert_str_eq(name, again);
            class_of(&p, type, i & 1, i >> 1 & 1, (ending)((i + cut) % ENDINGS));
            OK(choose_named(&r->facts, z, &t, &p.s.k));
            sizes_of(&p, z[0], z[1], z[2], 4 - (int)(z[1] % 4), 0);
            p.g.parts = parts;
            p.g.early = i & 2;
            run_product(r, &p, true, (uint64_t)i + 1);
        }
}

/*
 * Tiles on tensor cores: every shape, with parts and without; rows of whole vectors and others, both ways of
 * storing each operand, and the endings by turns; a fifth of all that.
 */
static const struct {
    const char *name;
    const lfuse__solver *solver;
    bool splits; /* else there is no room for a ticket */
    bool little; /* for devices whose groups have little local memory */
} units[] = {
    {"128x128x32:8x16:1:", &lfuse__mma, false, false},
    {"64x64x32:4x8:1:", &lfuse__mma, true, false},
    {"64x128x32:4x16:1:", &lfuse__mma, true, false},
    {"32x128x32:4x8:1:", &lfuse__mma, true, false},
    {"128x32x32:4x8:1:", &lfuse__mma, true, false},
    {"128x128x16:8x16:1:", &lfuse__mma_tf32, false, false},
    {"64x64x16:4x8:1:", &lfuse__mma_tf32, true, false},
    {"64x128x16:4x16:1:", &lfuse__mma_tf32, true, false},
    {"32x128x16:4x8:1:", &lfuse__mma_tf32, true, false},
    {"128x32x16:4x8:1:", &lfuse__mma_tf32, true, false},
    {"128x256x64:2x64:1:", &lfuse__tma, true, false},
    {"128x128x64:4x32:1:", &lfuse__tma, true, false},
    {"128x64x64:2x16:1:", &lfuse__tma, true, false},
    {"128x192x64:2x48:1:", &lfuse__tma, true, false},
    {"128x256x32:2x64:1:", &lfuse__tma_tf32, false, false},
    {"128x128x32:4x32:1:", &lfuse__tma_tf32, false, false},
    {"128x64x32:2x16:1:", &lfuse__tma_tf32, false, false},
    {"128x192x32:2x48:1:", &lfuse__tma_tf32, false, false},
    {"128x256x32:2x64:1:", &lfuse__tf32_half_packed, false, false},
    {"128x128x32:4x32:1:", &lfuse__tf32_half_packed, false, false},
    {"128x64x32:2x16:1:", &lfuse__tf32_half_packed, false, false},
    {"128x192x32:2x48:1:", &lfuse__tf32_half_packed, false, false},
    {"128x256x32:2x64:1:", &lfuse__tf32_packed, false, false},
    {"128x128x32:4x32:1:", &lfuse__tf32_packed, false, false},
    {"128x64x32:2x16:1:", &lfuse__tf32_packed, false, false},
    {"128x192x32:2x48:1:", &lfuse__tf32_packed, false, false},
    {"128x256x64:2x64:1:", &lfuse__f16_packed, false, false},
    {"128x128x64:4x32:1:", &lfuse__f16_packed, false, false},
    {"128x64x64:2x16:1:", &lfuse__f16_packed, false, false},
    {"128x192x64:2x48:1:", &lfuse__f16_packed, false, false},
    {"128x256x128:2x64:1:", &lfuse__tma_fp8, false, false},
    {"128x128x128:2x32:1:", &lfuse__tma_fp8, false, false},
    {"128x64x128:2x16:1:", &lfuse__tma_fp8, false, false},
    {"128x192x128:2x48:1:", &lfuse__tma_fp8, false, false},
    {"128x128x64:8x16:1:", &lfuse__mma_fp8, false, false},
    {"64x64x64:4x8:1:", &lfuse__mma_fp8, true, false},
    {"64x128x64:4x16:1:", &lfuse__mma_fp8, true, false},
    {"32x128x64:4x8:1:", &lfuse__mma_fp8, true, false},
    {"128x32x64:4x8:1:", &lfuse__mma_fp8, true, false},
    {"128x256x128:2x64:1:", &lfuse__fp8_packed, false, false},
    {"128x128x128:2x32:1:", &lfuse__fp8_packed, false, false},
    {"128x64x128:2x16:1:", &lfuse__fp8_packed, false, false},
    {"128x192x128:2x48:1:", &lfuse__fp8_packed, false, false},
    {"128x128x64:2x32:1:", &lfuse__wgmma, true, false},
    {"64x128x64:2x32:1:", &lfuse__wgmma, true, false},
    {"256x128x64:2x32:1:", &lfuse__wgmma, true, false},
    {"128x128x64:2x32:1:", &lfuse__f32x3_wgmma, false, false},
    {"128x64x64:2x16:1:", &lfuse__f32x3_wgmma, false, false},
    {"128x128x32:2x32:1:", &lfuse__wgmma, false, true},
    {"128x128x64:2x32:1:", &lfuse__wgmma_fp8, false, true},
    {"64x128x64:2x32:1:", &lfuse__fp8_packed, false, true},
    {"64x128x16:2x32:1:", &lfuse__f32x3_wgmma, false, true},
    {"128x128x64:2x32:1:", &lfuse__bf16x6_wgmma, false, false},
    {"64x128x16:2x32:1:", &lfuse__bf16x6_wgmma, false, true},
    {"128x64x16:8x8:1:", &lfuse__bf16x6_mma, false, false},
    {"128x128x16:8x16:1:", &lfuse__f32x3_mma, false, false},
    {"64x64x16:4x8:1:", &lfuse__f32x3_mma, false, false},
};
enum { UNITS = sizeof units / sizeof *units };

/* Whether warps multiply, and not warpgroups. */
static bool is_of_warps(int i)
{
    const lfuse__solver *s = units[i].solver;

    return s == &lfuse__mma || s == &lfuse__mma_tf32 || s == &lfuse__mma_fp8 || s == &lfuse__f32x3_mma ||
           s == &lfuse__bf16x6_mma;
}

/* The candidate of units[i] with so many parts. */
static lfuse__matmul_candidate unit_of(int i, int parts)
{
    char name[LFUSE__MATMUL_CANDIDATE_NAME], words[12];
    lfuse__matmul_candidate t;
    snprintf(words, sizeof words, ":%d", lfuse__words_of(units[i].solver));
    snprintf(name, sizeof name, "%s%d%s", units[i].name, parts, units[i].solver->emulation ? words : "");
    ck_assert(lfuse__matmul_candidate_parse(name, &t));
    return t;
}

/* What units[i] is for: the device as it is, or as one with little local memory. */
static lfuse__facts facts_of_unit(const lfuse__facts *facts, int i)
{
    lfuse__facts own = units[i].little ? with_little_local(facts) : *facts;

    if (units[i].solver->source && units[i].solver->source->by_map) own.tensor_map = facts->tensor_map;
    return own;
}

/* Whether the device has room for the tiles of units[i], and its solver takes such products. */
static bool has_unit(const lfuse__facts *facts, int i, const lfuse__matmul_desc *desc)
{
    const lfuse__facts own = facts_of_unit(facts, i);
    return !lfuse__solver_declines(units[i].solver, &own, desc) &&
           (is_of_warps(i) || units[i].little || lfuse__pipeline_has_room(facts));
}

enum { PRODUCTS = 3 /* of a batch */ };

/* Two sizes of units[i] are batches, of large products or of small ones by turns, where its solver takes some. */
static bool is_batched(const rig *r, int i, const lfuse__matmul_desc *desc, int at)
{
    lfuse__matmul_desc batched = *desc;

    batched.batched = true;
    return at % 2 == 0 && (at / 4 + i) % 2 == 0 && !lfuse__solver_declines(units[i].solver, &r->facts, &batched);
}

/* Whether warpgroups have tiles of their own, by turns. */
static bool is_pingpong(int i)
{
    const lfuse__matmul_candidate t = unit_of(i, 0);
    return (units[i].solver == &lfuse__tma || units[i].solver == &lfuse__tma_tf32) &&
           t.rows / t.item_rows * (t.columns / t.item_columns) == LFUSE__WARPGROUP;
}

/* Whether a pass of the epilogue has a part of the tile's columns. The bias is loaded before the products. */
static bool has_sides(int i)
{
    return units[i].solver == &lfuse__tma && unit_of(i, 0).columns > 128;
}

static bool is_of_bytes(const lfuse__solver *solver)
{
    return solver == &lfuse__mma_fp8 || solver == &lfuse__wgmma_fp8 || solver == &lfuse__tma_fp8 ||
           solver == &lfuse__fp8_packed;
}

/* Whether it is for known sizes that are odd. */
static bool is_for_odd(const lfuse__solver *solver)
{
    return solver == &lfuse__f16_packed || solver == &lfuse__tf32_packed;
}

/* Whether the first size is tried of every shape. */
static bool is_always_tried(const lfuse__solver *solver)
{
    return is_of_bytes(solver) || solver == &lfuse__tma_tf32 || solver == &lfuse__tf32_half_packed ||
           solver == &lfuse__tf32_packed;
}

/* Returns which operands are transposed: bit 0 A, bit 1 B. */
static int way_of(const lfuse__solver *solver, int turn)
{
    if (solver == &lfuse__tma_fp8 || solver == &lfuse__wgmma_fp8 || solver == &lfuse__tma_tf32) return 2;
    if (solver == &lfuse__tf32_half_packed) return turn & 1 ? 3 : 0;
    return solver == &lfuse__fp8_packed && (turn & 3) == 2 ? 0 : turn & 3;
}

/*
 * Of operands of 8 bits, every second B has the other type. Lines run along k where warpgroups take what lies in
 * memory, and elements have not 16 bits; else all ways by turns, but for that one where another solver is for it.
 */
static void class_of_unit(problem *p, const lfuse__solver *solver, lfuse_type type, lfuse_precision precision, int turn,
                          ending end)
{
    const int way = way_of(solver, turn);
    class_of(p, type, way & 1, way >> 1 & 1, end);
    if (is_of_bytes(solver) && turn & 1) p->s.k.operands[B].type = type == LFUSE_E4M3 ? LFUSE_E5M2 : LFUSE_E4M3;
    p->s.k.product.precision = precision;
}

void case_units(rig *r, lfuse_type type, lfuse_precision precision)
{
    static const int64_t sizes[][3] = {{136, 264, 392}, {131, 97, 75}, {40, 72, 80}, {33, 264, 0}};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    /* A warpgroup that did not wait for the other one would take stages of the ring as they were two turns before. */
    static const int64_t turns[] = {136, 136, 776};
    const lfuse__matmul_desc desc = {.types = {type, type}, .result = type, .precision = precision};
    const lfuse__facts facts = r->facts;
    int turn = type == LFUSE_F16 ? 0 : 1;
    if (!r->facts.tensor_cores) return;
    for (int i = 0; i < UNITS; i++)
        for (int at = 0; at < 2 * SIZES; at++, turn++) {
            const int64_t *z = sizes[at / 2], parts = at % 2 ? 3 : 0;
            const int chunk = 16 / (int)lfuse_type_size(type);
            const bool packed = is_for_odd(units[i].solver), quick = z[1] % 8 == 0 && !packed;
            const int64_t by = quick && chunk == 16 ? chunk : 1;
            const int64_t whole[] = {lfuse__ceil_div(z[0], by) * by, lfuse__ceil_div(z[1], by) * by,
                                     lfuse__ceil_div(z[2], by) * by}, k = whole[2];
            /* A long epilogue of several tiles, with the operands of the next one on their way. */
            const bool staged = units[i].little && at == 0;
            /* One that warpgroups share, and one of several sides. */
            const bool ahead = is_pingpong(i) && at == 0, sides = has_sides(i) && at == 0;
            problem p;
            if ((parts && !units[i].splits) || !has_unit(&facts, i, &desc)) continue;
            if (!test_all() && turn % 5 && !staged && !ahead && !sides &&
                (at || (units[i].solver == &lfuse__tma ? type != LFUSE_BF16 : !is_always_tried(units[i].solver))))
                continue;
            const lfuse__matmul_candidate t = unit_of(i, (int)parts);
            /* The first size that is always run would be one way for all shapes: so these begin with others. */
            const int from = is_of_bytes(units[i].solver) ? i : is_always_tried(units[i].solver) ? i / 2 : 0;
            class_of_unit(&p, units[i].solver, type, precision, turn + from,
                          sides ? COLUMNS : staged || ahead ? LONG : (ending)(turn / 2 % ENDINGS));
            r->facts = facts_of_unit(&facts, i);
            p.s.k.product.batched = is_batched(r, i, &desc, at);
            p.s.k.product.frozen[i & 1] = units[i].solver->kept && !units[i].solver->emulation && at % 4 == 0;
            /* Odd sizes too of what has been chosen for even ones, whose addresses, and strides, may not be. */
            const int64_t side = packed ? 513 : 512;
            OK(choose_named(&r->facts, (int64_t[]){side, side, side, PRODUCTS}, &t, &p.s.k));
            ck_assert_ptr_eq(p.s.k.product.solver, units[i].solver);
            ck_assert(!ahead || lfuse__pipeline_is_pingpong(&p.s.k.product));
            z = ahead ? turns : whole;
            sizes_of(&p, z[0], z[1], z[2], quick ? (int)(chunk - k % chunk) : 1, at % 3 ? 0 : packed ? 1 : chunk);
            /* Tensor maps of both are those of apart matrices, A's, and of one, B's. Others share either, or none. */
            const int shared = units[i].solver == &lfuse__tma ? B : turn % 3 == 2 ? NONE : turn % 3;
            if (p.s.k.product.batched) batch_of(&p, PRODUCTS, quick ? chunk : 3, shared);
            p.g.parts = parts;
            if (turn % 2 || staged) r->facts.info.compute_units = 1; /* groups that stay have several tiles */
            run_product(r, &p, true, (uint64_t)turn + 1);
        }
    r->facts = facts;
}

/*
 * Of 27 tiles, three across, on 24 units: bands are two tiles high. The epilogue is a long one, whose bias is loaded
 * before the products.
 */
void case_low_bands(rig *r)
{
    const lfuse__matmul_desc desc = {.types = {LFUSE_F16, LFUSE_F16}, .result = LFUSE_F16};
    const lfuse__facts facts = r->facts;
    lfuse__product_layout l;
    lfuse__matmul_candidate t;
    lfuse__packed packed;
    problem p;
    if (lfuse__solver_declines(&lfuse__tma, &facts, &desc)) return;
    ck_assert(lfuse__matmul_candidate_parse("128x128x64:4x32:1:0", &t));
    class_of_unit(&p, &lfuse__tma, LFUSE_F16, LFUSE_PRECISION_FULL, 0, COLUMNS);
    OK(choose_named(&facts, (int64_t[]){512, 512, 512, 1}, &t, &p.s.k));
    ck_assert_ptr_eq(p.s.k.product.solver, &lfuse__tma);
    sizes_of(&p, 1144, 376, 72, 8, 0);
    r->facts.info.compute_units = 24;
    OK(lfuse__product_pack(&p.s.k, &r->facts, &p.g, &packed));
    lfuse__product_layout_make(&p.s.k, &l);
    ck_assert_uint_eq(packed.words[l.own + LFUSE__TILES_HIGH], LFUSE__TILES_LOW_BAND);
    run_product(r, &p, true, 1);
    r->facts = facts;
}

/* An operand with fewer lines than a tile comes by a map whose boxes have as many, beside one that is packed. */
void case_few_lines(rig *r)
{
    const lfuse__matmul_desc desc = {.types = {LFUSE_F32, LFUSE_F32}, .result = LFUSE_F32,
                                     .precision = LFUSE_PRECISION_TF32};
    const lfuse__facts facts = r->facts;
    lfuse__matmul_candidate t;
    problem p;
    if (lfuse__solver_declines(&lfuse__tf32_half_packed, &facts, &desc)) return;
    ck_assert(lfuse__matmul_candidate_parse("128x128x32:4x32:1:0", &t));
    for (int turn = 0; turn < 2; turn++) {
        class_of_unit(&p, &lfuse__tf32_half_packed, LFUSE_F32, LFUSE_PRECISION_TF32, turn, PLAIN);
        OK(choose_named(&facts, (int64_t[]){512, 512, 512, 1}, &t, &p.s.k));
        ck_assert_ptr_eq(p.s.k.product.solver, &lfuse__tf32_half_packed);
        sizes_of(&p, turn ? 136 : 40, turn ? 40 : 136, 72, 4, 0);
        run_product(r, &p, true, (uint64_t)turn + 1);
    }
}

/* Parts of k may have no k-tile. Warpgroups that take turns by tiles wait for each other all the same. */
void case_empty_parts(rig *r)
{
    const lfuse__matmul_desc desc = {.types = {LFUSE_F16, LFUSE_F16}, .result = LFUSE_F16};
    const lfuse__facts facts = r->facts;
    lfuse__matmul_candidate t;
    problem p;
    if (lfuse__solver_declines(&lfuse__tma, &facts, &desc)) return;
    ck_assert(lfuse__matmul_candidate_parse("128x128x64:4x32:1:5", &t));
    class_of_unit(&p, &lfuse__tma, LFUSE_F16, LFUSE_PRECISION_FULL, 0, PLAIN);
    OK(choose_named(&facts, (int64_t[]){512, 512, 512, 1}, &t, &p.s.k));
    ck_assert_ptr_eq(p.s.k.product.solver, &lfuse__tma);
    ck_assert(lfuse__pipeline_is_pingpong(&p.s.k.product));
    sizes_of(&p, 136, 264, 192, 8, 0); /* six tiles of three k-tiles */
    p.g.parts = t.parts;
    r->facts.info.compute_units = 1;
    run_product(r, &p, true, 1);
    r->facts = facts;
}

void case_tiles(rig *r, lfuse_type type)
{
    const int64_t few[] = {1, 1, 1, 1}, many[] = {100000, 100000, 100000, 100000};
    const int stride = test_all() ? 1 : (type == LFUSE_F32 ? 4 : 23) * (r->facts.compiles_at_launch ? 3 : 1);
    int64_t sizes[3];
    problem p;
    int turn = 0, skinny = 0;
    for (int way = 0; way < 4; way++) {
        lfuse__kernel_class found[LFUSE__MATMUL_CLASSES];
        class_of(&p, type, way & 1, way >> 1, PLAIN);
        const int count = lfuse__matmul_classes(&r->facts, few, many, &p.s.k, found);
        ck_assert_int_gt(count, 1);
        for (int c = 0; c < count; c++) {
            skinny += found[c].product.rows == found[c].product.item_rows;
            for (int s = 0; sizes_for(&found[c].product, s, sizes); s++, turn++) {
                const bool integers = turn % 4 != 3 || (type != LFUSE_F32 && type != LFUSE_F64);
                if ((turn + turn / stride) % stride) continue;
                class_of(&p, type, way & 1, way >> 1, (ending)(turn / 3 % ENDINGS));
                p.s.k.product = found[c].product;
                const int pad = turn % 3 ? 4 - (int)(sizes[turn % 2] % 4) : 1;
                sizes_of(&p, sizes[0], sizes[1], sizes[2], pad, turn % 4 == 1);
                run_product(r, &p, integers, (uint64_t)turn + 1);
            }
        }
    }
    ck_assert_int_gt(skinny, 0);
    case_batches(r, type);
    if (type == LFUSE_F32) case_tilings(r, type);
}

/* Whether another of units[] has the same tile for operands that come another way. */
static bool is_like(int i, int j)
{
    return !units[i].little && !units[j].little && !units[i].solver->emulation && !units[j].solver->emulation &&
           !strcmp(units[i].name, units[j].name);
}

/*
 * Whether a text for warpgroups is compiled; with LFUSE_TEST_ALL every one is. Solvers that have the same tiles share
 * them, so that each solver has a tile of its own and each tile a solver; tiles whose warpgroups take turns are other
 * texts.
 */
static bool is_compiled(int i)
{
    int shape = 0, place = 0, of = 0;

    for (int j = 0; j < UNITS; j++) {
        shape += j < i && units[j].solver == units[i].solver;
        place += j < i && is_like(i, j);
        of += is_like(i, j);
    }
    return test_all() || of < 2 || is_pingpong(i) || place == shape % of;
}

/* The kernels of units[i], with parts or without, where the device has them. */
static void unit_emit(lfuse__strbuf *out, const lfuse__facts *device, int i, int parts)
{
    const lfuse__facts own = facts_of_unit(device, i), *const facts = &own;
    const lfuse_type narrow = is_of_bytes(units[i].solver) ? LFUSE_E4M3 : i & 1 ? LFUSE_BF16 : LFUSE_F16;
    const lfuse_type type = units[i].solver->emulation || units[i].solver->tf32 ? LFUSE_F32 : narrow;
    const lfuse_precision precision = units[i].solver->emulation ? units[i].solver->emulation->precision
                                      : units[i].solver->tf32    ? LFUSE_PRECISION_TF32
                                                                 : LFUSE_PRECISION_FULL;
    const lfuse__matmul_desc desc = {.types = {type, type}, .result = type, .precision = precision};
    char name[LFUSE__MATMUL_CANDIDATE_NAME];
    const lfuse__matmul_candidate t = unit_of(i, parts);
    problem p;
    if (!has_unit(device, i, &desc)) return;
    if (facts->wgmma && is_of_warps(i) && !test_all()) return; /* as for architectures without */
    if (facts->wgmma && !is_compiled(i)) return;
    /* A tile that can have parts is compiled with them or without. */
    if (units[i].splits && parts != (i & 1) && !test_all()) return;
    /* Those without e4m3 are shared between those that have it and those that have not: their texts are equal. */
    if (!facts->wgmma && i / 2 % 2 != facts->mma_fp8 && !is_of_bytes(units[i].solver) && !test_all()) return;
    class_of_unit(&p, units[i].solver, type, precision, i & 3, (ending)(i % ENDINGS));
    p.s.k.product.frozen[LFUSE__PRODUCT_B] = i & 1; /* of solvers that keep something, one shape with and one without */
    const int64_t side = is_for_odd(units[i].solver) ? 513 : 512;
    OK(choose_named(facts, (int64_t[]){side, side, side}, &t, &p.s.k));
    for (int phase = lfuse__product_first(&p.s.k); phase < lfuse__product_phases(&p.s.k); phase++) {
        p.s.k.product.phase = phase;
        snprintf(name, sizeof name, "units_%d_%d_%d", i, parts, p.s.k.product.phase);
        OK(lfuse__product_emit(out, name, &p.s.k, facts));
    }
}

static lfuse_status no_map(struct lfuse__bdevice *dev, const lfuse__tensor_boxes *of,
                           uint64_t map[LFUSE__TENSOR_MAP_WORDS], bool *made)
{
    (void)dev, (void)of, (void)map;
    *made = false;
    return LFUSE_OK;
}

void units_emit(lfuse__strbuf *out, const lfuse__facts *device, bool wgmma)
{
    lfuse__facts facts = *device;
    facts.info.local_bytes = 48 * 1024, facts.info.max_group = 1024, facts.info.compute_units = 16;
    facts.tensor_cores = true, facts.wgmma = wgmma, facts.dynamic_local_bytes = 226 * 1024;
    if (wgmma) facts.tensor_map = no_map;
    unit_sums_emit(out, &facts);
    for (int i = 0; i < UNITS; i++)
        for (int parts = 0; parts < (units[i].splits ? 2 : 1); parts++) unit_emit(out, &facts, i, parts);
    grouped_units_emit(out, &facts);
}

/* A step as AdamW's behind a product: it reads and stores three matrices, and reads two numbers. */
static void step_class(sample *s)
{
    enum { M = LFUSE__PRODUCT_OWN, V, W, NEW_M, NEW_V, NEW_W, RATE, ROOT, ALL };
    const lfuse_type f32 = LFUSE_F32;
    sample_start(s, LFUSE__FAMILY_PRODUCT, 2, 0);
    s->k.product.ta = true, s->k.product.sum = f32;
    for (int j = 0; j < ALL; j++)
        sample_operand(s, f32, j >= NEW_M && j <= NEW_W, j < RATE ? LFUSE__STRIDE_UNIT : LFUSE__STRIDE_REPEAT);
    const int g = sample_load(s, SUM), old = sample_load(s, M);
    const int m = sample_apply3(s, LFUSE__OP_lerp, f32, old, g, sample_number(s, f32));
    int v = sample_apply(s, LFUSE__OP_mul, f32, sample_load(s, V), sample_number(s, f32));
    v = sample_apply(s, LFUSE__OP_add, f32, v, sample_apply(s, LFUSE__OP_mul, f32, g, g));
    int x = sample_apply(s, LFUSE__OP_sqrt, f32, v, -1);
    x = sample_apply(s, LFUSE__OP_div, f32, x, sample_load(s, ROOT));
    x = sample_apply(s, LFUSE__OP_div, f32, m, sample_apply(s, LFUSE__OP_add, f32, x, sample_number(s, f32)));
    x = sample_apply(s, LFUSE__OP_mul, f32, sample_load(s, RATE), x);
    sample_store(s, m, NEW_M);
    sample_store(s, v, NEW_V);
    sample_store(s, sample_apply(s, LFUSE__OP_sub, f32, sample_load(s, W), x), NEW_W);
}

/* Such steps of several layers in one launch; with a long sum and sums of columns where groups are of one size. */
static void layers_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    enum { SUM_OF_ALL, SUM_OF_COLUMNS, PRODUCT, PARTS };
    lfuse__bundle_part parts[PARTS] = {{.members = 1}, {.members = 5}, {.k = *k, .members = 5}};
    const int first = lfuse__tiles_threads(&k->product) == LFUSE__GROUP ? 0 : PRODUCT;
    lfuse__bundle *b;
    sample sums[PRODUCT];
    for (int i = 0; i < PRODUCT; i++) {
        sample_rows(&sums[i], ROW_SUM, LFUSE_F32);
        if (i == SUM_OF_COLUMNS) sample_rows_inner(&sums[i], LFUSE__STRIDE_ANY);
        lfuse__rows_choose(facts, i == SUM_OF_COLUMNS ? 1024 : 1, i == SUM_OF_COLUMNS ? 64 : 16384, false, &sums[i].k);
        lfuse__rows_choose_shared(facts, 16384, &sums[i].k);
        parts[i].k = sums[i].k;
    }
    for (int i = 0; i < PARTS; i++) memset(parts[i].differs, 0xff, sizeof parts[i].differs);
    OK(lfuse__bundle_create(PARTS - first, parts + first, &b));
    OK(lfuse__bundle_emit(out, name, b, facts));
    lfuse__bundle_destroy(b);
}

void steps_emit(lfuse__strbuf *out, const lfuse__facts *device, bool together)
{
    static const char *const names[] = {"32x32x32:4x4:4:0", "32x64x16:4x4:1:0", "16x32x64:4x4:8:0"};
    lfuse__facts facts = *device;
    facts.info.local_bytes = 48 * 1024, facts.info.max_group = 1024, facts.info.compute_units = 132;
    facts.info.max_argument_bytes = 4096;
    for (int i = 0; i < (together ? 3 : 2); i++) {
        char name[16];
        lfuse__matmul_candidate t;
        sample s;
        snprintf(name, sizeof name, "step_%d", i);
        ck_assert(lfuse__matmul_candidate_parse(names[i], &t));
        step_class(&s);
        OK(choose_named(&facts, (int64_t[]){1024, 1024, 64}, &t, &s.k));
        if (together) layers_emit(out, name, &s.k, &facts);
        else OK(lfuse__product_emit(out, name, &s.k, &facts));
    }
}

/* Some that no plan of unknown sizes has: tiles that are shared out, with and without slices; items of many rows. */
static void others_emit(lfuse__strbuf *out, const lfuse__facts *facts, int turn, int turns)
{
    static const char *const names[] = {"128x128x16:8x16:1:-1", "64x64x16:8x8:2:-1", "64x64x32:16x8:4:3"};
    for (int i = 0; i < 3; i++) {
        char name[32];
        lfuse__matmul_candidate t;
        problem p;
        if (i % turns != turn) continue;
        snprintf(name, sizeof name, "others_%d", i);
        ck_assert(lfuse__matmul_candidate_parse(names[i], &t));
        class_of(&p, LFUSE_F32, i, !i, FUSED);
        OK(choose_named(facts, (int64_t[]){900, 900, 900}, &t, &p.s.k));
        OK(lfuse__product_emit(out, name, &p.s.k, facts));
    }
}

void tiles_emit(lfuse__strbuf *out, const lfuse__facts *device, int turn, int turns)
{
    static const lfuse_type types[] = {LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64, LFUSE_F32}; /* the last: batches */
    const int64_t few[] = {1, 1, 1, 1}, many[] = {100000, 100000, 100000, 100000};
    lfuse__facts facts = *device;
    int number = 0;
    facts.info.local_bytes = 48 * 1024, facts.info.max_group = 1024, facts.info.compute_units = 16;
    for (int t = 0; t < 5; t++)
        for (int c = 0; c < LFUSE__MATMUL_CLASSES; c++) {
            lfuse__kernel_class found[LFUSE__MATMUL_CLASSES];
            problem p;
            if (t && c % 3 != (t - 1) % 3) continue;
            class_of(&p, types[t], (c + t) & 1, (c + t) >> 1 & 1, (ending)(c % ENDINGS));
            p.s.k.product.batched = t == 4;
            const int count = lfuse__matmul_classes(&facts, few, many, &p.s.k, found);
            if (c >= count) break;
            for (int phase = 0; phase < lfuse__product_phases(&found[c]); phase++, number++) {
                char name[32];
                if (number % turns != turn) continue;
                snprintf(name, sizeof name, "tiles_%d", number);
                found[c].product.phase = phase;
                OK(lfuse__product_emit(out, name, &found[c], &facts));
            }
        }
    others_emit(out, &facts, turn, turns);
}
