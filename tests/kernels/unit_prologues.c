/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products on tensor cores that compute operands where they read them: A of 2048 x + z, for f32 and for the operand's
 * type, which has to be rounded; B of bytes and a scale that repeats, runs along or leaps. The results are integers
 * that f32 holds, so that they are compared by ==; NaN wherever nobody may read.
 */
#include "common/base/error.h"
#include "common/matmul/solver.h"
#include "tests/matmul/choose.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"
#include "tests/support/main.h"

enum { A, B, SUM, OUT, X, Z, W, S, OPERANDS, GUARD = 64 };

typedef struct problem {
    sample s;
    lfuse__geometry g;
    unsigned char *memory[OPERANDS];
    size_t bytes[OPERANDS];
} problem;

/* `prologues`: bits of A and B. */
static void class_of(problem *p, lfuse_type type, int prologues, bool ta, bool tb, lfuse__stride_class scale)
{
    const lfuse_type types[OPERANDS] = {type, type, LFUSE_F32, LFUSE_F32, LFUSE_F32, type, LFUSE_I8, LFUSE_F32};
    sample *s = &p->s;
    memset(p, 0, sizeof *p);
    sample_start(s, LFUSE__FAMILY_PRODUCT, 2, 0);
    s->k.product.ta = ta, s->k.product.tb = tb;
    for (int j = 0; j < OPERANDS; j++) sample_operand(s, types[j], j == OUT, j == S ? scale : LFUSE__STRIDE_UNIT);
    sample_store(s, sample_load(s, SUM), OUT);
    if (prologues & 1) {
        const int x = sample_apply(s, LFUSE__OP_mul, LFUSE_F32, sample_load(s, X),
                                   sample_constant(s, LFUSE_F32, 2048));
        const int sum = sample_apply(s, LFUSE__OP_add, LFUSE_F32, x, sample_load(s, Z));
        s->k.product.prologue[A] = sample_convert(s, type, sum) + 1;
    }
    if (prologues & 2) {
        const int w = sample_convert(s, LFUSE_F32, sample_load(s, W));
        s->k.product.prologue[B] = sample_apply(s, LFUSE__OP_mul, LFUSE_F32, w, sample_load(s, S)) + 1;
    }
}

/* Rows of what is stored of A, X and Z, or of B, W and S; of the result. */
static bool is_left(int j)
{
    return j == A || j == X || j == Z;
}

static void sizes_of(problem *p, const int64_t *sizes, int pad)
{
    const lfuse__product_class *c = &p->s.k.product;
    const int64_t m = sizes[0], n = sizes[1], k = sizes[2];
    memcpy(p->g.extents, sizes, 3 * sizeof *sizes);
    for (int j = 0; j < OPERANDS; j++) {
        const bool left = is_left(j);
        const int64_t high = j == OUT ? m : left ? (c->ta ? k : m) : c->tb ? n : k;
        const int64_t wide = j == OUT ? n : left ? (c->ta ? m : k) : c->tb ? k : n;
        const size_t size = lfuse_type_size(p->s.k.operands[j].type);
        const lfuse__stride_class inner = p->s.k.operands[j].inner;
        p->g.strides[j][0] = j != S ? wide + pad : inner == LFUSE__STRIDE_REPEAT;
        p->g.strides[j][1] = inner == LFUSE__STRIDE_REPEAT ? 0 : inner == LFUSE__STRIDE_ANY ? 2 : 1;
        p->g.offsets[j] = p->g.addresses[j] = GUARD * size;
        p->bytes[j] = size * (size_t)(2 * GUARD + (j == S ? 2 * (high + wide) : high * (wide + pad)));
    }
}

/* The number of operand j for the element at a row and a column of A, of B or of the result. */
static int64_t at(const problem *p, int j, int64_t row, int64_t column)
{
    const bool across = j != OUT && (is_left(j) ? p->s.k.product.ta : p->s.k.product.tb);
    return GUARD + (across ? column : row) * p->g.strides[j][0] + (across ? row : column) * p->g.strides[j][1];
}

static double number(const problem *p, int j, int64_t row, int64_t column)
{
    return host_get(p->memory[j], p->s.k.operands[j].type, at(p, j, row, column));
}

static double rounded(double x, lfuse_type type)
{
    uint64_t memory = 0;
    host_put(&memory, type, 0, x);
    return host_get(&memory, type, 0);
}

static double element(const problem *p, int side, int64_t row, int64_t column)
{
    const lfuse_type type = p->s.k.operands[side].type;
    if (!p->s.k.product.prologue[side]) return number(p, side, row, column);
    return rounded(side == A ? 2048 * number(p, X, row, column) + number(p, Z, row, column)
                             : number(p, W, row, column) * number(p, S, row, column), type);
}

static void fill(problem *p, int side, uint64_t *state)
{
    const int64_t *e = p->g.extents, rows = e[side ? 2 : 0], columns = e[side ? 1 : 2];
    for (int j = 0; j < OPERANDS; j++) {
        if (j == SUM || j == OUT || is_left(j) != (side == A)) continue;
        for (int64_t row = 0; row < rows; row++)
            for (int64_t column = 0; column < columns; column++) {
                const int64_t place = at(p, j, row, column);
                const double x = j == S ? (double)(place % 5) - 2 : (double)(host_random(state) >> 62) - 1;
                host_put(p->memory[j], p->s.k.operands[j].type, place, x);
            }
    }
}

static double *line_of(const problem *p, int side, int64_t line)
{
    const int64_t k = p->g.extents[2];
    double *all = malloc((size_t)(k + 1) * sizeof *all);
    if (!all) abort();
    for (int64_t l = 0; l < k; l++) all[l] = side == A ? element(p, A, line, l) : element(p, B, l, line);
    return all;
}

static void check(const problem *p, const char *what)
{
    const int64_t *e = p->g.extents;
    double **columns = malloc((size_t)e[1] * sizeof *columns);
    size_t changed = 0;
    if (!columns) abort();
    for (int64_t j = 0; j < e[1]; j++) columns[j] = line_of(p, B, j);
    for (int64_t i = 0; i < e[0]; i++) {
        double *row = line_of(p, A, i);
        for (int64_t j = 0; j < e[1]; j++) {
            const double got = number(p, OUT, i, j);
            double sum = 0;
            for (int64_t l = 0; l < e[2]; l++) sum += row[l] * columns[j][l];
            ck_assert_msg(got == sum, "%s: %g at %lld, %lld, expected %g", what, got, (long long)i, (long long)j, sum);
        }
        free(row);
    }
    for (int64_t j = 0; j < e[1]; j++) free(columns[j]);
    free(columns);
    for (size_t i = 0; i < p->bytes[OUT] / sizeof(float); i++)
        changed += !isnan(host_get(p->memory[OUT], LFUSE_F32, (int64_t)i));
    ck_assert_msg(changed == (size_t)(e[0] * e[1]), "%s: %zu elements are written", what, changed);
}

static void launch(rig *r, problem *p, const char *what)
{
    uint64_t state = 7;
    rig_buffer buffers[OPERANDS + 1];
    for (int j = 0; j < OPERANDS; j++) p->memory[j] = rig_memory(p->bytes[j], 0xff);
    for (int side = A; side <= B; side++) fill(p, side, &state);
    for (int j = 0; j < OPERANDS; j++) buffers[j] = (rig_buffer){p->memory[j], p->bytes[j], j == OUT};
    for (int side = A; side <= B; side++)
        if (p->s.k.product.prologue[side]) buffers[side] = (rig_buffer){NULL, 0, false};
    buffers[SUM] = (rig_buffer){NULL, 0, false};
    rig_product(r, &p->s.k, &p->g, buffers, 1, what);
    check(p, what);
    for (int j = 0; j < OPERANDS; j++) free(p->memory[j]);
}

/* The tile; a group of it has no room for a ticket. */
static const struct {
    const char *name;
    bool whole;
} tiles[] = {{"128x128x32:8x16:1:", true}, {"64x64x32:4x8:1:", false}, {"64x128x32:4x16:1:", false},
             {"32x128x32:4x8:1:", false}, {"128x32x32:4x8:1:", false}};
static const int64_t sizes[][3] = {{72, 136, 200}, {33, 97, 75}, {136, 40, 80}, {40, 264, 0}};
enum { TILES = sizeof tiles / sizeof *tiles, SIZES = sizeof sizes / sizeof *sizes, TURNS = TILES * SIZES * 3 };

/* Number `turn` of TURNS; *parts: of k. Every second of the sizes that could be read in chunks has rows that cannot. */
static void problem_of(problem *p, const lfuse__facts *facts, lfuse_type type, int turn, int64_t *parts)
{
    static const lfuse__stride_class scales[] = {LFUSE__STRIDE_REPEAT, LFUSE__STRIDE_UNIT, LFUSE__STRIDE_ANY};
    const int tile = turn % TILES, prologues = turn / TILES % 3 + 1, way = turn / 2 % 4;
    const int64_t *z = sizes[turn % SIZES];
    char name[LFUSE__MATMUL_CANDIDATE_NAME];
    lfuse__matmul_candidate t;
    *parts = turn % 2 && !tiles[tile].whole ? 2 : 0;
    snprintf(name, sizeof name, "%s%d", tiles[tile].name, (int)*parts);
    ck_assert(lfuse__matmul_candidate_parse(name, &t));
    class_of(p, type, prologues, way & 1, way >> 1, scales[turn / 7 % 3]);
    OK(choose_named(facts, (int64_t[]){512, 512, 512, 1}, &t, &p->s.k));
    ck_assert_ptr_eq(p->s.k.product.solver, &lfuse__mma);
    sizes_of(p, z, z[1] % 8 == 0 && turn % 11 ? 8 : 3);
    p->g.parts = *parts;
}

void case_unit_prologues(rig *r, lfuse_type type)
{
    const int step = test_all() ? 1 : 3;
    int64_t parts;
    if (!r->facts.tensor_cores) return;
    for (int turn = type == LFUSE_F16 ? 0 : 1; turn < TURNS; turn += step) {
        problem p;
        char what[120];
        problem_of(&p, &r->facts, type, turn, &parts);
        const lfuse__product_class *c = &p.s.k.product;
        snprintf(what, sizeof what, "type %d, turn %d, tile %d x %d, %lld parts, ta %d, tb %d, prologues %d %d",
                 (int)type, turn, c->rows, c->columns, (long long)parts, c->ta, c->tb, c->prologue[0], c->prologue[1]);
        launch(r, &p, what);
    }
}

void unit_prologues_emit(lfuse__strbuf *out, const lfuse__facts *device)
{
    lfuse__facts facts = *device;
    int64_t parts;
    facts.info.local_bytes = 48 * 1024, facts.info.max_group = 1024, facts.info.compute_units = 16;
    facts.tensor_cores = true;
    for (int turn = 1; turn < TURNS; turn += 14) {
        problem p;
        char name[32];
        problem_of(&p, &facts, turn % 4 == 1 ? LFUSE_F16 : LFUSE_BF16, turn, &parts);
        snprintf(name, sizeof name, "unit_prologue_%d", turn);
        OK(lfuse__product_emit(out, name, &p.s.k, &facts));
    }
}
