/* SPDX-License-Identifier: Apache-2.0 */
/* What kernels take for granted of the rows of solvers' tables: one that does not keep to it fails here by its name. */
#include "common/matmul/emulated.h"
#include "common/matmul/problem.h"
#include "tests/matmul/classes.h"
#include "tests/support/main.h"

enum { WARP = 32, CHUNK = 16 /* bytes */, LOCAL = 226 * 1024, LITTLE_LOCAL = 48 * 1024 };

/* Sets the class to row `i` of the solver's table; false behind the last one, and where it has none on tensor cores. */
static bool row_of(const lfuse__solver *s, int i, lfuse__kernel_class *c)
{
    class_of(c, LFUSE_F32);
    c->product.sum = LFUSE_F32;
    return s->tile && s->tile->tensor_cores && lfuse__tiles_shape(s, i, &c->product);
}

#define HOLDS(what)                                                                                                    \
    ck_assert_msg(what, "%s %dx%dx%d:%dx%d:%d: %s", p->solver->name, p->rows, p->columns, p->depth, p->item_rows,      \
                  p->item_columns, p->slices, #what)

/* Warps, or warpgroups, have whole fragments, and together all of the tile. */
static void check_warps(const lfuse__product_class *p)
{
    HOLDS(lfuse__mma_warp_rows(p) % LFUSE__MMA_STEP == 0 && lfuse__mma_warp_columns(p) % LFUSE__MMA_STEP == 0);
    HOLDS(p->rows % lfuse__mma_warp_rows(p) == 0 && p->columns % lfuse__mma_warp_columns(p) == 0);
    HOLDS(lfuse__tiles_threads(p) % WARP == 0 && lfuse__tiles_threads(p) <= 1024);
    HOLDS(p->depth * lfuse__mma_bytes(p) % LFUSE__MMA_STEP_BYTES == 0);
    HOLDS((int64_t)lfuse__tiles_threads(p) * p->item_rows * p->item_columns * p->occupancy <= LFUSE__TILES_REGISTERS);
}

/* Copies without a wait: work-items have equally many chunks, each of them the same chunk of lines that are apart. */
static void check_copies(const lfuse__product_class *p)
{
    const int bytes = lfuse__mma_bytes(p), threads = lfuse__tiles_threads(p);

    for (int operand = 0; operand < 2; operand++) {
        const int width = lfuse__tile_width(p, operand), chunks[] = {p->depth * bytes / CHUNK, width * bytes / CHUNK};
        HOLDS(width * p->depth * bytes / CHUNK % threads == 0);
        for (int across = 0; across < 2; across++) {
            HOLDS(threads % chunks[across] == 0);
            HOLDS(chunks[across] % 8 == 0 || 8 % chunks[across] == 0); /* the swizzle stays in the line */
        }
    }
}

static void check_pipeline(const lfuse__kernel_class *c)
{
    const lfuse__product_class *p = &c->product;
    const unsigned bytes = p->solver->local_bytes(c);

    HOLDS(p->rows % LFUSE__WGMMA_ROWS == 0 && p->columns % 64 == 0);
    HOLDS(lfuse__mma_is_small(p) || p->depth * lfuse__mma_bytes(p) == LFUSE__WGMMA_LINE);
    HOLDS(bytes <= (lfuse__mma_is_small(p) ? LITTLE_LOCAL : LFUSE__PIPELINE_LOCAL));
    HOLDS(lfuse__pipeline_multiplying(p) % LFUSE__WARPGROUP == 0);
}

TEST_CASE("rows")

TEST(shapes)
{
    int rows = 0;
    for (int n = 0; lfuse__solvers[n]; n++) {
        const lfuse__solver *s = lfuse__solvers[n];
        lfuse__kernel_class c;
        for (int i = 0; row_of(s, i, &c); i++, rows++) {
            const lfuse__product_class *p = &c.product;
            check_warps(p);
            if (s->source) {
                c.product.phase = s->source->product;
                check_pipeline(&c);
                continue;
            }
            if (!s->emulation) check_copies(p);
            HOLDS((unsigned)lfuse__mma_local(p) * 4 <= (s->local_bytes ? LOCAL : LFUSE__MMA_LOCAL));
        }
    }
    ck_assert_int_gt(rows, 40);
}

/* ---- names ---- */

static bool has_name(const lfuse__product_class *p, const lfuse__product_class *q)
{
    return p->rows == q->rows && p->columns == q->columns && p->depth == q->depth && p->item_rows == q->item_rows &&
           p->item_columns == q->item_columns && p->slices == q->slices && p->split == q->split &&
           lfuse__words_of(p->solver) == lfuse__words_of(q->solver);
}

/* The candidates of all solvers for these sizes, which wisdom tells apart by their numbers. */
static void check_names(const lfuse__facts *facts, const lfuse__matmul_desc *desc, const int64_t *sizes,
                        const lfuse__kernel_class *c)
{
    enum { MOST = 256 };
    static lfuse__product_class all[MOST];
    int count = 0;

    for (int n = 0; lfuse__solvers[n]; n++) {
        const lfuse__solver *s = lfuse__solvers[n];
        lfuse__product_class one = c->product, *p = &one;
        if (!lfuse__solver_takes(s, facts, desc)) continue;
        for (int at = 0; s->candidate(s, at, p); at++) {
            if ((s->has && !s->has(p, facts)) || (s->serves && !s->serves(p, sizes, sizes))) continue;
            for (int i = 0; i < count; i++) HOLDS(!has_name(p, &all[i]));
            ck_assert_int_lt(count, MOST);
            all[count++] = *p;
        }
    }
}

/* Devices: with tensor maps, with little local memory, without warpgroups, without tensor cores. */
TEST_LOOP(names, 0, 4)
{
    static const lfuse_type narrow[] = {LFUSE_F16, LFUSE_E4M3}; /* behind f32 in all of its precisions */
    static const int64_t sizes[][4] = {{512, 512, 512, 2}, {513, 511, 259, 2}, {512, 513, 512, 2}, {8, 4096, 4096, 2}};
    lfuse__facts facts = facts_of(LFUSE__PRODUCTS_PORTABLE);
    facts.tensor_cores = facts.mma_fp8 = _i < 3, facts.wgmma = _i < 2;
    facts.dynamic_local_bytes = _i == 0 ? LOCAL : _i == 1 ? LITTLE_LOCAL : 0;
    facts.tensor_map = _i == 0 ? some_map : NULL;
    for (int t = 0; t < LFUSE__PRECISIONS + 2; t++)
        for (int way = 0; way < 8; way++)
            for (size_t z = 0; z < sizeof sizes / sizeof *sizes; z++) {
                const lfuse_type type = t < LFUSE__PRECISIONS ? LFUSE_F32 : narrow[t - LFUSE__PRECISIONS];
                lfuse__matmul_desc desc = {.types = {type, type}, .result = type, .batched = way & 4,
                                           .transposed = {way & 1, way >> 1 & 1}};
                lfuse__kernel_class c;
                class_of(&c, type);
                c.product.ta = way & 1, c.product.tb = way >> 1 & 1, c.product.batched = way & 4;
                c.product.sum = LFUSE_F32;
                if (t < LFUSE__PRECISIONS) desc.precision = c.product.precision = (lfuse_precision)t;
                check_names(&facts, &desc, sizes[z], &c);
            }
}

TEST_SUITE("rows of tables", CK_FORK)
