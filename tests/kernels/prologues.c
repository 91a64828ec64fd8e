/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thin products with prologues, which compute an operand where it is read: A of 2x, B of bytes and a scale that
 * repeats, runs along or leaps. Small integers, so that results are compared by ==; NaN wherever nobody may read.
 */
#include "common/base/error.h"
#include "common/matmul/problem.h"
#include "tests/matmul/choose.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"
#include "tests/support/main.h"

enum { A, B, SUM, OUT, X, W, S, OPERANDS, GUARD = 16 };

typedef struct problem {
    sample s;
    lfuse__geometry g;
    float *memory[OPERANDS]; /* of A, B, X, S and the result, GUARD elements before and behind */
    int8_t *bytes;           /* of W */
    size_t count[OPERANDS];
} problem;

/* `prologues`: bits of A and B. */
static void class_of(problem *p, int prologues, bool ta, bool tb, lfuse__stride_class scale)
{
    sample *s = &p->s;
    int *const prologue = s->k.product.prologue;
    memset(p, 0, sizeof *p);
    sample_start(s, LFUSE__FAMILY_PRODUCT, 2, 0);
    s->k.product.ta = ta, s->k.product.tb = tb;
    for (int j = 0; j < OPERANDS; j++)
        sample_operand(s, j == W ? LFUSE_I8 : LFUSE_F32, j == OUT, j == S ? scale : LFUSE__STRIDE_UNIT);
    sample_store(s, sample_load(s, SUM), OUT);
    if (prologues & 1) {
        const int x = sample_load(s, X);
        prologue[A] = sample_apply(s, LFUSE__OP_add, LFUSE_F32, x, x) + 1;
    }
    if (prologues & 2) {
        const int w = sample_convert(s, LFUSE_F32, sample_load(s, W));
        prologue[B] = sample_apply(s, LFUSE__OP_mul, LFUSE_F32, w, sample_load(s, S)) + 1;
    }
}

static void sizes_of(problem *p, const int64_t *sizes, int pad)
{
    const int64_t m = sizes[0], n = sizes[1], k = sizes[2], across = p->s.k.product.tb ? k : n,
                  down = p->s.k.product.tb ? n : k, wide = p->s.k.product.ta ? m : k, high = p->s.k.product.ta ? k : m;
    const bool repeats = p->s.k.operands[S].inner == LFUSE__STRIDE_REPEAT, leaps = p->s.k.operands[S].inner ==
                         LFUSE__STRIDE_ANY;
    const int64_t strides[OPERANDS][2] = {[A] = {wide + pad, 1}, [B] = {across + pad, 1}, [OUT] = {n + pad, 1},
                                          [X] = {wide + pad, 1}, [W] = {across + pad, 1},
                                          [S] = {repeats, repeats ? 0 : leaps ? 2 : 1}};
    const int64_t rows[OPERANDS] = {high, down, 0, m, high, down, repeats ? down : leaps ? 2 * across : across};
    memcpy(p->g.extents, sizes, 3 * sizeof *sizes);
    for (int j = 0; j < OPERANDS; j++) {
        const size_t size = lfuse_type_size(p->s.k.operands[j].type);
        memcpy(p->g.strides[j], strides[j], sizeof strides[j]);
        p->g.offsets[j] = p->g.addresses[j] = GUARD * size;
        p->count[j] = 2 * GUARD + (size_t)(j == S ? rows[j] : rows[j] * strides[j][0]);
    }
}

/* Place of the element at a row and a column of A or B, in whatever of them. */
static int64_t at(const problem *p, int j, int64_t row, int64_t column)
{
    const bool transposed = j == A || j == X ? p->s.k.product.ta : p->s.k.product.tb && j != OUT;
    return GUARD + (transposed ? column : row) * p->g.strides[j][0] + (transposed ? row : column) * p->g.strides[j][1];
}

static double left(const problem *p, int64_t i, int64_t l)
{
    return p->s.k.product.prologue[A] ? 2. * p->memory[X][at(p, X, i, l)] : p->memory[A][at(p, A, i, l)];
}

static double right(const problem *p, int64_t l, int64_t j)
{
    if (!p->s.k.product.prologue[B]) return p->memory[B][at(p, B, l, j)];
    return (double)p->bytes[at(p, W, l, j)] * p->memory[S][at(p, S, l, j)];
}

static void fill(problem *p)
{
    uint64_t state = 5;
    const int64_t *e = p->g.extents;
    for (int j = 0; j < OPERANDS; j++) p->memory[j] = rig_memory(p->count[j] * sizeof *p->memory[j], 0xff);
    p->bytes = rig_memory(p->count[W], 0);
    for (int64_t l = 0; l < e[2]; l++) {
        for (int64_t i = 0; i < e[0]; i++)
            p->memory[A][at(p, A, i, l)] = p->memory[X][at(p, X, i, l)] = (float)(host_random(&state) >> 62) - 1;
        for (int64_t j = 0; j < e[1]; j++) {
            p->memory[B][at(p, B, l, j)] = (float)(host_random(&state) >> 62) - 1;
            p->bytes[at(p, W, l, j)] = (int8_t)((host_random(&state) >> 61) - 4);
            p->memory[S][at(p, S, l, j)] = (float)(at(p, S, l, j) % 5) - 2;
        }
    }
}

static void check(const problem *p, const char *what)
{
    size_t written = 0, changed = 0;
    for (int64_t i = 0; i < p->g.extents[0]; i++)
        for (int64_t j = 0; j < p->g.extents[1]; j++, written++) {
            double sum = 0;
            for (int64_t l = 0; l < p->g.extents[2]; l++) sum += left(p, i, l) * right(p, l, j);
            ck_assert_msg(p->memory[OUT][at(p, OUT, i, j)] == sum, "%s: %g at %lld, %lld, expected %g", what,
                          (double)p->memory[OUT][at(p, OUT, i, j)], (long long)i, (long long)j, sum);
        }
    for (size_t i = 0; i < p->count[OUT]; i++) changed += !isnan(p->memory[OUT][i]);
    ck_assert_msg(changed == written, "%s: %zu elements instead of %zu", what, changed, written);
}

static void launch(rig *r, const problem *p, const char *what)
{
    rig_buffer buffers[OPERANDS + 1];
    for (int j = 0; j < OPERANDS; j++)
        buffers[j] = j == W ? (rig_buffer){p->bytes, p->count[j], false}
                            : (rig_buffer){p->memory[j], p->count[j] * sizeof(float), j == OUT};
    for (int j = 0; j < 2; j++)
        if (p->s.k.product.prologue[j]) buffers[j] = (rig_buffer){NULL, 0, false};
    buffers[SUM] = (rig_buffer){NULL, 0, false};
    rig_product(r, &p->s.k, &p->g, buffers, 1, what);
}

static const int64_t sizes[][3] = {{3, 132, 260}, {16, 70, 133}, {90, 12, 64}, {203, 4, 517}, {1, 33, 1}, {13, 9, 40}};
enum { SIZES = sizeof sizes / sizeof *sizes, WAYS = 12 };

/* Number `turn` of SIZES * WAYS. */
static void problem_of(problem *p, int turn)
{
    static const lfuse__stride_class scales[] = {LFUSE__STRIDE_REPEAT, LFUSE__STRIDE_UNIT, LFUSE__STRIDE_ANY};
    const int way = turn % WAYS;
    class_of(p, turn % 3 + 1, way & 1, way >> 1 & 1, scales[way / 4]);
    sizes_of(p, sizes[turn % SIZES], turn % 2 ? 3 : 4 - (int)(sizes[turn % SIZES][2] % 4));
}

void case_prologues(rig *r)
{
    const int step = test_all() ? 1 : r->facts.compiles_at_launch ? 13 : 5;
    for (int turn = 0; turn < SIZES * WAYS; turn += step) {
        problem p;
        char what[100];
        problem_of(&p, turn);
        const int64_t *e = p.g.extents;
        snprintf(what, sizeof what, "turn %d, %lld x %lld x %lld, ta %d, tb %d, prologues %d %d", turn, (long long)e[0],
                 (long long)e[1], (long long)e[2], p.s.k.product.ta, p.s.k.product.tb, p.s.k.product.prologue[0],
                 p.s.k.product.prologue[1]);
        ck_assert_msg(!choose(&r->facts, e, false, &p.s.k), "%s: %s", what,
                      lfuse__error_message());
        fill(&p);
        launch(r, &p, what);
        check(&p, what);
        for (int j = 0; j < OPERANDS; j++) free(p.memory[j]);
        free(p.bytes);
    }
}

void prologues_emit(lfuse__strbuf *out, const lfuse__facts *device)
{
    lfuse__facts facts = *device;
    facts.info.local_bytes = 48 * 1024, facts.info.max_group = 1024, facts.info.compute_units = 16;
    for (int turn = 0; turn < SIZES * WAYS; turn += 5) {
        problem p;
        char name[32];
        problem_of(&p, turn);
        const int64_t *e = p.g.extents;
        OK(choose(&facts, e, false, &p.s.k));
        snprintf(name, sizeof name, "prologue_%d", turn);
        OK(lfuse__product_emit(out, name, &p.s.k, &facts));
    }
}

/* What is somebody else's too, is of another type or is of a batch is no operand. */
void case_prologue_refusals(const lfuse__facts *facts)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    for (int wrong = 0; wrong < 4; wrong++) {
        problem p;
        problem_of(&p, 2);
        OK(choose(facts, (int64_t[]){3, 132, 260}, false, &p.s.k));
        if (wrong == 0) p.s.stores[0].reg = (int16_t)(p.s.k.product.prologue[B] - 1);
        if (wrong == 1) p.s.k.product.prologue[A] = p.s.body.ninstr + 1;
        if (wrong == 2) p.s.k.product.batched = true;
        if (wrong == 3) p.s.k.product.prologue[B] = p.s.k.product.prologue[A];
        ck_assert_int_eq(lfuse__product_emit(&text, "p0", &p.s.k, facts), LFUSE_ERR_INVALID);
    }
    lfuse__strbuf_free(&text);
}
