/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products by tiles that sum the columns of what they store: small integers in the matrices, so that each element is
 * known, times numbers of many sizes, so that the order of a sum shows; the sums are those of the canonical fold, bit
 * for bit. Sizes of less than a segment, of some, and of a last one of a few rows.
 */
#include "common/base/error.h"
#include "common/matmul/emulated.h"
#include "tests/matmul/choose.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"
#include "tests/support/main.h"

enum { A, B, SUM, OUT, Z, BEFORE, SUMS, AFTER, OPERANDS, GUARD = 64, MORE = 30 };
/* A, B, Z and OUT are f16, or bf16; what is stored is Z added MORE times; nothing is stored but sums. */
enum { NARROW = 1, LONG = 2, BARE = 4, BRAIN = 8 };

typedef struct problem {
    sample s;
    lfuse__geometry g;
    int how; /* NARROW ... */
    unsigned char *memory[OPERANDS];
    size_t bytes[OPERANDS];
} problem;

static lfuse_type type_of(int how)
{
    return how & NARROW ? LFUSE_F16 : how & BRAIN ? LFUSE_BF16 : LFUSE_F32;
}

/* OUT = sum * Z, SUMS of it by column, AFTER = BEFORE - SUMS. */
static void class_of(problem *p, int how)
{
    const lfuse_type type = type_of(how);
    sample *s = &p->s;
    memset(p, 0, sizeof *p);
    p->how = how;
    sample_start(s, LFUSE__FAMILY_PRODUCT, 2, 1);
    for (int j = 0; j < OPERANDS; j++)
        sample_operand(s, j == A || j == B || j == Z || j == OUT ? type : LFUSE_F32,
                       j == OUT || j == SUMS || j == AFTER, LFUSE__STRIDE_UNIT);
    s->k.product.tb = how & LONG;
    const int z = sample_load(s, Z);
    int x = sample_apply(s, LFUSE__OP_mul, LFUSE_F32, sample_load(s, SUM), z);
    for (int i = 0; i < MORE && how & LONG; i++) x = sample_apply(s, LFUSE__OP_add, LFUSE_F32, x, z);
    if (type != LFUSE_F32) x = sample_convert(s, type, x);
    if (!(how & BARE)) sample_store(s, x, OUT);
    const int sum = sample_reduce(s, LFUSE__REDUCE_SUM, LFUSE_F32, x);
    sample_store(s, sum, SUMS);
    sample_store(s, sample_apply(s, LFUSE__OP_sub, LFUSE_F32, sample_load(s, BEFORE), sum), AFTER);
}

static void sizes_of(problem *p, const int64_t *sizes, int64_t pad)
{
    const int64_t m = sizes[0], n = sizes[1], k = sizes[2];
    const bool tb = p->s.k.product.tb;
    const int64_t rows[OPERANDS] = {m, tb ? n : k, 0, m, m, 1, 1, 1};
    const int64_t columns[OPERANDS] = {k, tb ? k : n, 0, n, n, n, n, n};
    memcpy(p->g.extents, sizes, 3 * sizeof *sizes);
    for (int j = 0; j < OPERANDS; j++) {
        const size_t size = lfuse_type_size(p->s.k.operands[j].type);
        p->g.strides[j][0] = rows[j] == 1 && j > Z ? 0 : columns[j] + pad;
        p->g.strides[j][1] = 1;
        p->g.offsets[j] = p->g.addresses[j] = GUARD * size;
        p->bytes[j] = (size_t)(2 * GUARD + rows[j] * (columns[j] + pad)) * size;
    }
}

static void set(problem *p, int j, int64_t row, int64_t column, double x)
{
    host_put(p->memory[j], p->s.k.operands[j].type, GUARD + row * p->g.strides[j][0] + column, x);
}

static float get(const problem *p, int j, int64_t row, int64_t column)
{
    return host_load(p->memory[j], p->s.k.operands[j].type, GUARD + row * p->g.strides[j][0] + column).f32;
}

static void fill(problem *p, uint64_t state)
{
    const int64_t m = p->g.extents[0], n = p->g.extents[1], k = p->g.extents[2];
    for (int j = 0; j < OPERANDS; j++) p->memory[j] = rig_memory(p->bytes[j], 0xff);
    for (int64_t i = 0; i < m; i++)
        for (int64_t l = 0; l < k; l++) set(p, A, i, l, (double)(host_random(&state) >> 32 & 3) - 1);
    for (int64_t j = 0; j < n; j++)
        for (int64_t l = 0; l < k; l++) {
            const double x = (double)(host_random(&state) >> 32 & 3) - 1;
            if (p->s.k.product.tb) set(p, B, j, l, x);
            else set(p, B, l, j, x);
        }
    for (int64_t j = 0; j < n; j++) {
        set(p, BEFORE, 0, j, (double)(host_random(&state) >> 40) * 0x1p-24);
        for (int64_t i = 0; i < m; i++) {
            const uint64_t r = host_random(&state);
            set(p, Z, i, j, ldexp((double)(int64_t)(r >> 12) - 0x1p51, (int)(r & 3) - 53));
        }
    }
}

static void check_column(const problem *p, int64_t column, value *elements, const char *what)
{
    const int64_t m = p->g.extents[0], k = p->g.extents[2];
    for (int64_t i = 0; i < m; i++) {
        const float z = get(p, Z, i, column);
        float x = 0;
        for (int64_t l = 0; l < k; l++) x += get(p, A, i, l) * (p->s.k.product.tb ? get(p, B, column, l)
                                                                                : get(p, B, l, column));
        x *= z;
        for (int more = 0; more < MORE && p->how & LONG; more++) x += z;
        elements[i].f32 = x;
        if (type_of(p->how) != LFUSE_F32) elements[i] = host_convert(elements[i], LFUSE_F32, type_of(p->how));
        if (p->how & BARE) continue;
        ck_assert_msg(get(p, OUT, i, column) == elements[i].f32, "%s: %a at %lld, %lld, expected %a", what,
                      (double)get(p, OUT, i, column), (long long)i, (long long)column, (double)elements[i].f32);
    }
    const float sum = row_fold(LFUSE__REDUCE_SUM, LFUSE_F32, elements, m).f32;
    ck_assert_msg(get(p, SUMS, 0, column) == sum, "%s: the sum of column %lld is %a, expected %a", what,
                  (long long)column, (double)get(p, SUMS, 0, column), (double)sum);
    const float after = get(p, BEFORE, 0, column) - sum;
    ck_assert_msg(get(p, AFTER, 0, column) == after, "%s: %a behind the sum of column %lld, expected %a", what,
                  (double)get(p, AFTER, 0, column), (long long)column, (double)after);
}

/* Nothing beside the columns is stored. */
static void check_guards(const problem *p, const char *what)
{
    for (int j = OUT; j < OPERANDS; j++) {
        const size_t size = lfuse_type_size(p->s.k.operands[j].type), end = p->bytes[j] - GUARD * size;
        for (size_t b = 0; b < p->bytes[j]; b++)
            if ((b < GUARD * size || b >= end) && p->memory[j][b] != 0xff)
                ck_abort_msg("%s: operand %d has byte %zu of %zu", what, j, b, p->bytes[j]);
    }
}

static void run_sums(rig *r, problem *p, const char *tiling)
{
    value *elements = rig_memory((size_t)p->g.extents[0] * sizeof *elements, 0);
    rig_buffer buffers[OPERANDS + 1];
    char what[160];
    snprintf(what, sizeof what, "%s, body %d, %lld x %lld x %lld", tiling, p->how, (long long)p->g.extents[0],
             (long long)p->g.extents[1], (long long)p->g.extents[2]);
    fill(p, (uint64_t)p->g.extents[0]);
    for (int j = 0; j < OPERANDS; j++)
        buffers[j] = (rig_buffer){j == SUM ? NULL : p->memory[j], p->bytes[j], j >= OUT};
    rig_product(r, &p->s.k, &p->g, buffers, 2, what);
    for (int64_t j = 0; j < p->g.extents[1]; j++) check_column(p, j, elements, what);
    check_guards(p, what);
    for (int j = 0; j < OPERANDS; j++) free(p->memory[j]);
    free(elements);
}

static const char *const tilings[] = {"64x128x16:8x8:1:", "64x64x16:8x8:2:", "64x128x16:8x8:2:",
                                      "128x128x16:8x16:1:"};
enum { TILINGS = sizeof tilings / sizeof *tilings };

static void take(const lfuse__facts *facts, problem *p, int tiling, int parts, const int64_t *sizes, int how,
                 char name[LFUSE__MATMUL_CANDIDATE_NAME])
{
    lfuse__matmul_candidate t;
    snprintf(name, LFUSE__MATMUL_CANDIDATE_NAME, "%s%d", tilings[tiling], parts);
    ck_assert(lfuse__matmul_candidate_parse(name, &t));
    class_of(p, how);
    OK(choose_named(facts, sizes, &t, &p->s.k));
    p->g.parts = parts;
}

void case_column_sums(rig *r)
{
    static const int64_t sizes[][3] = {{200, 130, 20}, {1, 7, 5}, {1500, 68, 33}, {3080, 9, 16}, {512, 140, 40},
                                       {1025, 65, 3}, {65, 128, 17}, {2100, 33, 64}};
    int turn = 0;
    for (int i = 0; i < TILINGS; i++)
        for (int parts = 0; parts <= 3; parts += 3, turn++)
            for (int s = 0; s < 8; s += r->facts.compiles_at_launch && !test_all() ? 3 : 1) {
                const int64_t *z = sizes[(turn + s) % 8];
                const int how = parts ? turn & (NARROW | BARE) : (turn / 2 + 1) & 7;
                char name[LFUSE__MATMUL_CANDIDATE_NAME];
                problem p;
                take(&r->facts, &p, i, parts, z, how, name);
                sizes_of(&p, z, z[1] % 4 ? 1 : 4);
                run_sums(r, &p, name);
            }
}

/*
 * Kernels in which one warpgroup copies: segments that are whole and not, rows that have a tensor map and rows that are
 * copied one by one or lie in no whole tile; thread blocks with one tile, and with several.
 */
static const struct {
    const char *name;
    const lfuse__solver *solver;
    int how;
} units[] = {
    {"128x256x64:2x64:1:0", &lfuse__tma, NARROW}, {"128x128x64:4x32:1:0", &lfuse__tma, BRAIN},
    {"128x128x64:2x32:1:0:2", &lfuse__f32x3_wgmma, 0}, {"128x128x64:2x32:1:0:3", &lfuse__bf16x6_wgmma, 0},
};
enum { UNITS = sizeof units / sizeof *units };

/* Sets p to the class of units[i], and returns whether the device has its solver. */
static bool take_unit(const lfuse__facts *facts, int i, int how, const int64_t *sizes, problem *p)
{
    lfuse__matmul_candidate t;

    class_of(p, units[i].how | how);
    if (units[i].solver->emulation) p->s.k.product.precision = units[i].solver->emulation->precision;
    const lfuse__matmul_desc desc = {.types = {type_of(units[i].how), type_of(units[i].how)}, .column_sums = true,
                                     .precision = p->s.k.product.precision};
    if (!lfuse__pipeline_has_room(facts) || lfuse__solver_declines(units[i].solver, facts, &desc)) return false;
    ck_assert(lfuse__matmul_candidate_parse(units[i].name, &t));
    OK(choose_named(facts, sizes, &t, &p->s.k));
    ck_assert_ptr_eq(p->s.k.product.solver, units[i].solver);
    return true;
}

void case_unit_sums(rig *r)
{
    static const int64_t sizes[][3] = {{640, 264, 72}, {1152, 24, 8}, {1030, 33, 9}, {2176, 40, 16}, {1, 8, 64}};
    enum { SIZES = sizeof sizes / sizeof *sizes };
    const unsigned compute_units = r->facts.info.compute_units;
    int turn = 0;

    for (int i = 0; i < UNITS; i++)
        for (int s = 0; s < SIZES; s++, turn++) {
            const int64_t *z = sizes[s];
            problem p;
            if (s > 1 && (turn + i) % 3 && !test_all()) continue;
            if (units[i].solver == &lfuse__bf16x6_wgmma && s == 0 && !test_all()) continue; /* as of f32x3 */
            if (!take_unit(&r->facts, i, turn % 3 == 1 ? LONG : turn % 3 == 2 ? BARE : 0, z, &p)) continue;
            sizes_of(&p, z, z[2] % 8 ? 1 : 8);
            r->facts.info.compute_units = turn % 2 ? 1 : compute_units;
            run_sums(r, &p, units[i].name);
            r->facts.info.compute_units = compute_units;
        }
}

void unit_sums_emit(lfuse__strbuf *out, const lfuse__facts *facts)
{
    static const int64_t sizes[] = {2048, 512, 512};
    char name[32];
    problem p;

    for (int i = 0; i < UNITS; i++) {
        if (!take_unit(facts, i, i & 1 ? LONG : 0, sizes, &p)) continue;
        for (p.s.k.product.phase = 0; p.s.k.product.phase < lfuse__product_phases(&p.s.k); p.s.k.product.phase++) {
            snprintf(name, sizeof name, "unit_sums_%d_%d", i, p.s.k.product.phase);
            OK(lfuse__product_emit(out, name, &p.s.k, facts));
        }
    }
}

void sums_emit(lfuse__strbuf *out, const lfuse__facts *device, int turn, int turns)
{
    static const int64_t sizes[] = {2000, 300, 700};
    lfuse__facts facts = *device;
    facts.info.local_bytes = 48 * 1024, facts.info.max_group = 1024, facts.info.compute_units = 16;
    for (int i = 0; i < 2 * TILINGS; i++) {
        char name[32], tiling[LFUSE__MATMUL_CANDIDATE_NAME];
        problem p;
        if (i % turns != turn) continue;
        take(&facts, &p, i / 2, i % 2 * 3, sizes, i % 2 ? i / 2 & NARROW : i / 2 & 3, tiling);
        snprintf(name, sizeof name, "sums_%d", i);
        OK(lfuse__product_emit(out, name, &p.s.k, &facts));
    }
}
