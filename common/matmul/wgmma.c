/* SPDX-License-Identifier: Apache-2.0 */
/* Products on tensor cores that read local memory themselves (Hopper's wgmma): the kernel is text/gemm_wgmma.k. */
#include "common/matmul/fp8.h"
#include "common/matmul/grouped.h"
#include "common/matmul/provider.h"

#include "common/kernels/text/gemm_wgmma.k.h"

enum { DEPTH = LFUSE__WGMMA_DEPTH, LOCAL_OF_LARGE = 4 * DEPTH * (128 + 256) * 2 /* bytes */ };

/* Lines of elements that have not 16 bits run along k, however memory has them. */
static bool runs_along(const lfuse__product_class *p, int operand)
{
    return lfuse__mma_bytes(p) != 2 || lfuse__is_k_contiguous(p, operand);
}

/*
 * "Matrix-Descriptor Format" of the PTX manual. Along k the eight lines of a pattern follow those before; across,
 * blocks of 64 rows or columns where lines run across. The swizzle's number is 1 for lines of 128 bytes, 2 for 64, 3
 * for 32.
 */
lfuse__expr lfuse__wgmma_descriptor(const lfuse__product_class *p, int operand)
{
    const int depth = p->depth, line = runs_along(p, operand) ? depth * lfuse__mma_bytes(p) : 128;
    const unsigned long long across = (unsigned long long)depth * 128, along = 8 * (unsigned long long)line;
    const unsigned long long swizzle = line == 128 ? 1 : line == 64 ? 2 : 3;
    return lfuse__expression("0x%llxull", (across >> 4) << 16 | (along >> 4) << 32 | swizzle << 62);
}

/* Sixteenths of bytes. */
int lfuse__wgmma_step(const lfuse__product_class *p, int operand)
{
    const int bytes = runs_along(p, operand) ? LFUSE__MMA_STEP * 2 : LFUSE__MMA_STEP * 128;
    return bytes / 16;
}

static void put_corner(const lfuse__tiles *t, int indent, const char *place)
{
    lfuse__put(t->t.out, indent, "const u32 y = %s / 128 * %d + %s / 32 %% 4 * 16 + %s %% 32 / 4;", place,
               lfuse__mma_warp_rows(t->p) * 4, place, place);
    lfuse__put(t->t.out, indent, "const u32 x = %s %% 2 * 8 + %s %% 4 / 2 * 4;", place, place);
}

static void put_place(const lfuse__tiles *t, int indent, const char *number)
{
    const int across = t->p->columns / LFUSE__MMA_STEP;
    lfuse__put(t->t.out, indent, "const u32 g = %s;", number);
    lfuse__put(t->t.out, indent, "const u32 row = a0 + g / %d * 64 + g / %d %% 2 * 8 + y, "
               "column = b0 + g %% %d * %d + x;", 2 * across, across, across, LFUSE__MMA_STEP);
}

static void put_kernel(const lfuse__tiles *t, const char *name)
{
    const lfuse__product_class *p = t->p;
    const lfuse__expr descriptor_a = lfuse__wgmma_descriptor(p, LFUSE__PRODUCT_A);
    const lfuse__expr descriptor_b = lfuse__wgmma_descriptor(p, LFUSE__PRODUCT_B);
    static const lfuse__text_place places[] = {
        {"MULTIPLIERS", lfuse__fp8_put_part, LFUSE__PART_MULTIPLIERS},
        {"MULTIPLY", lfuse__fp8_put_part, LFUSE__PART_MULTIPLY}, {"PROMOTE", lfuse__fp8_put_part, LFUSE__PART_PROMOTE},
        {NULL, NULL, 0},
    };
    const lfuse__parameter own[] = {
        {"BLOCKS", .number = p->split && !lfuse__mma_is_small(p) ? 1 : p->occupancy},
        {"RUNNING", .number = p->solver->tile->spare_stages && !lfuse__mma_is_small(p)},
        {"EIGHT_BITS", .number = lfuse__mma_bytes(p) == 1},
        {"BYTES", .number = lfuse__mma_local(p) * 4},
        {"GROUP_A", .number = LFUSE__WGMMA_ROWS * p->depth * lfuse__mma_bytes(p)},
        {"DESCRIPTOR_A", .word = descriptor_a.text}, {"DESCRIPTOR_B", .word = descriptor_b.text}, {NULL},
    };

    lfuse__mma_put_text(t, 0, name, lfuse__text_gemm_wgmma, own, places);
}

/* ---- the solver ---- */

static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    if (!lfuse__has_warpgroups(facts)) return "the device has no such instructions";
    return lfuse__mma_declines(facts, desc);
}

/* Small shapes are slower: they are for devices without room for the others. */
static bool has(const lfuse__product_class *p, const lfuse__facts *facts)
{
    const bool large = facts->dynamic_local_bytes >= LOCAL_OF_LARGE;
    const int bytes = lfuse__mma_local(p) * 4 + (p->split || p->column_sums ? LFUSE__MMA_TICKET : 0);

    if (!lfuse__mma_is_small(p)) return large;
    return !large && (uint64_t)bytes <= facts->dynamic_local_bytes;
}

static bool is_compiled_ahead(int at)
{
    return lfuse__mma_is_compiled_ahead(&lfuse__wgmma, at);
}

/* Stream-K is slower than whole tiles. Of 256 columns they are for lists: lfuse__tma has such of single products. */
static bool serves(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    return p->columns <= 128 && p->split != LFUSE__SPLIT_STREAM_K && lfuse__tile_serves(p, least, most);
}

/* The sums of a tile take some time on their way to memory, as those of pipelines do. Fitted to times on an H100. */
static bool cost(const lfuse__product_class *p, const lfuse__facts *facts, const int64_t *extents, lfuse__cut *c)
{
    if (!lfuse__tile_cost(p, facts, extents, c)) return false;
    c->time += 0.18 * p->rows * p->columns *
               (double)lfuse__ceil_div(c->down * c->across * c->parts * c->matrices, lfuse__units(facts));
    return true;
}

static unsigned local_bytes(const lfuse__kernel_class *c)
{
    return (unsigned)lfuse__mma_local(&c->product) * 4;
}

/* Fitted to times on an H200; what lists have alone, to those on an H100. */
static const lfuse__tile_shape shapes[] = {
    {128, 128, DEPTH, 2, 32, 1, 1, 2, 900, 1210},
    {256, 128, DEPTH, 2, 32, 1, 2, 1, 330, 1700},
    {64, 128, DEPTH, 2, 32, 1, 2, 2, 550, 1080},
    {128, 256, DEPTH, 2, 64, 1, 2, 1, 330, 1700},
    {128, 128, DEPTH / 2, 2, 32, 1, 2, 2, 600, 1200},
};

static const lfuse__tile_traits traits = {
    LFUSE__SHAPES(shapes), .chunk = LFUSE__MMA_CHUNK, .tensor_cores = true,
    .bytes = 2, .spare_stages = 1, .blocks = true, .local = lfuse__mma_local, .put_corner = put_corner,
    .put_place = put_place, .put_kernel = put_kernel,
};

const lfuse__solver lfuse__wgmma = {
    .name = "wgmma", .vendors_share = 0.8, .tile = &traits, .runs_on = lfuse__tiles_fit, .declines = declines,
    .candidate = lfuse__tile_candidate, .is_compiled_ahead = is_compiled_ahead, .serves = serves, .has = has,
    .suits = lfuse__mma_suits, .cost = cost, .phases = 1, .tickets = lfuse__tiles_tickets,
    .workspace = lfuse__tiles_workspace, .local_bytes = local_bytes, .emit = lfuse__tiles_emit,
    .pack = lfuse__tiles_pack, .grouped_cost = lfuse__tiles_grouped_cost, .grouped_cut = lfuse__tiles_grouped_cut,
    .grouped_emit = lfuse__tiles_grouped_emit,
};

/* ---- operands of 8 bits, which warpgroups take along k alone; where there are tensor maps tma.c is faster ---- */

static const char *declines_but_bytes(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    const char *why = lfuse__fp8_multiplies(desc);

    if (!lfuse__has_warpgroups(facts)) return "the device has no such instructions";
    if (why) return why;
    return desc->prologue ? "its operands have to lie in memory" : NULL;
}

static bool serves_bytes(const lfuse__product_class *p, const int64_t *least, const int64_t *most)
{
    return !p->split && lfuse__mma_lies_along(p) && serves(p, least, most);
}

/* Fitted to times on an H100. In 48 KiB there is no room beside the stages for who meets: k is not split. */
static const lfuse__tile_shape shapes_of_bytes[] = {
    {128, 128, LFUSE__WGMMA_DEPTH_FP8 / 2, 2, 32, 1, 2, 2, 600, 1900},
    {128, 256, LFUSE__WGMMA_DEPTH_FP8, 2, 64, 1, 3, 1, 330, 2350},
};

static const lfuse__tile_traits traits_of_bytes = {
    LFUSE__SHAPES(shapes_of_bytes), .chunk = LFUSE__FP8_CHUNK,
    .tensor_cores = true, .bytes = 1, .blocks = true, .local = lfuse__mma_local, .put_corner = put_corner,
    .put_place = put_place, .put_kernel = put_kernel,
};

/* Lines run along k here too. */
static double grouped_cost_of_bytes(const lfuse__product_class *p, const lfuse__facts *facts, int64_t members,
                                    const lfuse__matmul_sizes *sizes)
{
    return lfuse__mma_lies_along(p) ? lfuse__tiles_grouped_cost(p, facts, members, sizes) : -1;
}

const lfuse__solver lfuse__wgmma_fp8 = {
    .name = "wgmma_fp8", .tile = &traits_of_bytes, .runs_on = lfuse__tiles_fit, .declines = declines_but_bytes,
    .candidate = lfuse__tile_candidate, .is_compiled_ahead = lfuse__tile_is_compiled_ahead, .serves = serves_bytes,
    .has = has, .suits = lfuse__mma_suits, .cost = lfuse__tile_cost, .phases = 1, .tickets = lfuse__tiles_tickets,
    .workspace = lfuse__tiles_workspace, .local_bytes = local_bytes, .emit = lfuse__tiles_emit,
    .pack = lfuse__tiles_pack, .grouped_cost = grouped_cost_of_bytes, .grouped_cut = lfuse__tiles_grouped_cut,
    .grouped_emit = lfuse__tiles_grouped_emit,
};
