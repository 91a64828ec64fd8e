/* SPDX-License-Identifier: Apache-2.0 */
/* Which row of the table of costs a device gets, and what of the generic ones follows from its facts. */
#include "common/base/costs.h"

#include "tests/support/main.h"

enum { AMD = 0x1002 };

static lfuse__costs costs_of(unsigned vendor, unsigned generation, unsigned simd, bool vector_lanes)
{
    const lfuse__facts facts = { .vendor = vendor, .generation = generation, .simd = simd,
                                 .vector_lanes = vector_lanes };

    return lfuse__costs_of(&facts);
}

TEST_CASE("costs")

TEST(a_vendor_has_the_nearest_row)
{
    static const unsigned generations[] = { 0, 75, 80, 90, 100, 121 };
    size_t i;

    for (i = 0; i < sizeof generations / sizeof *generations; i++) {
        const lfuse__costs c = costs_of(LFUSE__VENDOR_NVIDIA, generations[i], 32, false);
        ck_assert(c.vendor == LFUSE__VENDOR_NVIDIA && c.generation == 90);
        ck_assert(c.rows.unit_items == 1024 && c.strassen.launch == 2e-6);
    }
}

/* Those of a generation, whatever row it gets. */
TEST(tensor_cores_are_few_in_some_generations)
{
    static const unsigned many[] = { 0, 75, 80, 90, 100 }, few[] = { 86, 87, 89, 120, 121 };
    size_t i;

    for (i = 0; i < sizeof many / sizeof *many; i++)
        ck_assert(!costs_of(LFUSE__VENDOR_NVIDIA, many[i], 32, false).tiles.few_tensor_cores);
    for (i = 0; i < sizeof few / sizeof *few; i++)
        ck_assert(costs_of(LFUSE__VENDOR_NVIDIA, few[i], 32, false).tiles.few_tensor_cores);
    ck_assert(!costs_of(AMD, 89, 64, false).tiles.few_tensor_cores);
}

TEST(other_devices_have_the_generic_row)
{
    ck_assert_uint_eq(costs_of(0, 0, 32, false).vendor, 0);
    ck_assert_uint_eq(costs_of(AMD, 90, 64, false).vendor, 0);
    ck_assert_uint_eq(costs_of(LFUSE__VENDOR_NVIDIA, 90, 1, true).vendor, 0); /* a CPU, whoever makes it */
}

/* As many as hide the latencies of memory, from a work-group of 256 on. */
TEST(lanes_and_work_items_follow_from_the_width_of_subgroups)
{
    ck_assert(costs_of(LFUSE__VENDOR_NVIDIA, 90, 32, false).lanes == 128);
    ck_assert(costs_of(0, 0, 32, false).lanes == 128 && costs_of(AMD, 0, 64, false).lanes == 128);
    ck_assert(costs_of(0, 0, 8, false).lanes == 32 && costs_of(0, 0, 1, false).lanes == 128);
    ck_assert_int_eq(costs_of(AMD, 0, 64, false).rows.unit_items, 1024);
    ck_assert_int_eq(costs_of(0, 0, 32, false).rows.unit_items, 1024);
    ck_assert_int_eq(costs_of(0, 0, 16, false).rows.unit_items, 512);
    ck_assert_int_eq(costs_of(0, 0, 8, false).rows.unit_items, 256);
    ck_assert_int_eq(costs_of(0, 0, 1, false).rows.unit_items, 1024);
}

static void ck_complete(const lfuse__costs *c)
{
    int i;

    ck_assert(c->operations_per_byte > 0 && c->rows.registers > 0 && c->rows.stream_items > 0);
    ck_assert(c->rows.line_bytes >= c->rows.sector_bytes && c->rows.sector_bytes > 0 && c->rows.unit_items >= 256);
    ck_assert(c->rows.staged_single && c->rows.staged_item && c->rows.staged_team);
    ck_assert(c->strassen.ends > 0 && c->strassen.narrow_ends > 0 && c->strassen.launch > 0 && c->strassen.least > 0);
    ck_assert(c->tiles.start > 0 && c->tiles.bytes > 0 && c->tiles.skinny_rate > 0 && c->tiles.on_the_way > 0);
    ck_assert(c->tiles.fitted || (c->tiles.operand > 0 && c->tiles.cache_bytes > 0 && c->tiles.tensor_cores > 0));
    ck_assert(c->tiles.parts[0].worth > 1 && c->tiles.parts[1].worth > 1);
    ck_assert(c->lanes > 0 && c->network.cache_bytes > 0 && c->network.most > 0);
    for (i = 0; i <= LFUSE__STRASSEN_WORTH; i++) ck_assert(c->strassen.streaming[i] > 0);
}

TEST(no_number_is_missing)
{
    const lfuse__costs hopper = costs_of(LFUSE__VENDOR_NVIDIA, 90, 32, false), gpu = costs_of(0, 0, 64, false);
    const lfuse__costs cpu = costs_of(0, 0, 1, true);

    ck_complete(&hopper);
    ck_complete(&gpu);
    ck_complete(&cpu);
    ck_assert(cpu.strassen.ends == 16 && gpu.strassen.ends == 64);
}

TEST_SUITE("costs", CK_FORK_GETENV)
