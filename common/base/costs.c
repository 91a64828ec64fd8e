/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/costs.h"

/* In the order of generations for each vendor. */
static const lfuse__costs table[] = {
    /*
     * Hopper: measured on an H100 and an H200. An H200 does 7 simple operations in the time of a byte; half of that, as
     * row kernels compute more than once what they read in several sweeps. Products of 2048 run at 0.96 of the rate of
     * those of 8192, kernels of 7 and 49 matrices at 0.97 and 0.93 of that of copies. Tensor cores are done with
     * as many terms in a tenth of the time, and what begins and ends a sum is the same.
     */
    {.vendor = LFUSE__VENDOR_NVIDIA,
     .generation = 90,
     .lanes = 128,
     .operations_per_byte = 4,
     .rows = {.line_bytes = 128, .sector_bytes = 32, .registers = 65536, .unit_items = 1024, .stream_items = 512,
              .staged_single = 32768, .staged_item = 4096, .staged_team = 65536},
     .strassen = {.ends = 64, .narrow_ends = 256, .launch = 2e-6, .least = 20e-6, .streaming = {1, 0.95, 0.9},
                  .tiles = {{128, 128, 1}, {64, 128, 0.85}, {64, 64, 0.7}}, .another_split = 0.02},
     /*
      * Beside cuBLASLt, in f32. That library is faster with one row, where more than a launch counts. With 2 to 32 rows
      * it takes as long as with 32, and tiles take 0.5 to 0.85 of that; 0.4 to 0.97 for layers of 64 rows up to 2048
      * wide and cubes of up to 512, 0.93 to 1 for cubes of 1024; more above, and where parts of a deep k have to be
      * added. For f16 and bf16 it has the device's tensor cores, and a launch is all that counts for tiles.
      *
      * In a batch that fills the device no launch is saved. On an H200 the library then takes 0.84 to 0.92 of the time
      * of tiles for products of 64 cubed, 0.92 for those of 1024 cubed, and 0.96 to 0.99 for those of 256 and 512
      * cubed; tiles are ahead at 128 cubed. (On an H100 the library takes 1.17 for those of 64 cubed.)
      *
      * In tf32 an H100 takes 340 to 350 us for 4096 cubed, 535 us where neither operand lies along k, and 1000 to
      * 1130 us where lines are no whole numbers of 16 bytes; and 13.8 us for 1024 cubed with relu. The start that the
      * latter makes is reduced by a third, as nobody has measured smaller products. Of f16, in short runs, H100s and
      * H200s take 6 us for 1024 cubed, 9 for 2048 x 1024 x 1024, 15 for 1024 x 4096 x 1024, 25 for 2048 cubed, 182 for
      * 4096 cubed and 1450 to 1500 for 8192 cubed; an H100 490 to 530 us where a side of 4096 is two or four more, and
      * 900 to 1420 us where it is odd; 157 us for 16 x 1022 cubed, 249 us for 16 x 1023 cubed, 28 us for 1023 cubed.
      */
     .provider = {.ranges = {{512, 8192, 1 << 30}, {33, INT64_MAX, 1 << 28}, {2, 8192, 1 << 29},
                             {2, INT64_MAX, 1 << 28}, {0, INT64_MAX, 1 << 12}},
                  .always = 1 << 28, .batch_full = 1 << 26, .batch_small = 1 << 18, .batch_large = 1 << 29,
                  .tf32 = {.whole = 905, .across = 555, .words = 280, .start = 9500},
                  .narrow = {.whole = 1720, .across = 1720, .words = 600, .odd = 320, .start = 6600,
                             .least = 1 << 27}},
     /*
      * With the epilogue of AdamW, 41 simple operations, an H100 takes 0.35 us for each element of a work-item where a
      * group is alone on its unit. Of 1024 x 1024 x 64 whose matrices come from memory it takes 12.4 us in tiles of
      * 32 x 32 x 32, 13.3 of 16 x 32 x 32, 14.8 of 32 x 64 x 32 by 8 x 4, 15.1 of 32 x 64 x 16, and 15.9 of
      * 64 x 64 x 32.
      */
     .tiles = {.fitted = true, .start = 4800, .another_round = 500, .slicing = 0.21, .unaligned = 600, .overlap = 2800,
               .worth_sharing = 1.1, .on_the_way = 16, .bytes = 16, .skinny_launch = 6200, .skinny_rate = 42,
               .epilogue = {.latency = 100, .dependent = 10, .instructions = 2.5, .items = 640},
               .parts = {{1750, 1100, 1.07}, {2500, 1600, 1.1}}},
     /*
      * Those that found the fastest of 3 to 16 shapes of each of six networks (f32, 1, 16 and 64 rows of 128 and 512,
      * 16 of 784, 512, 512, 10): eight layers of 1 x 128 in 32 groups take 18.0 us, in 16 14.0, in 8 9.6, in 4 11.5. By
      * 128 readers of tagged words they took 21, where counters took 15.5. Eight layers of 64 x 512 x 512 took 39.1 us
      * in one launch, 33.8 in eight; with those of 512 and 10 columns in one, 784-512-512-10 for 64 rows took 20.6,
      * without 17.5. Eight layers of f16 in one launch against the stages in their fastest ways, by products of a
      * layer: up to 2^21 0.66 (8 x 256) to 0.93 (1 x 128), at 2^22 0.87 (64 x 256) to 1.04 (16 x 512, 4 x 1024), at
      * 2^24 1.67.
      */
     .network = {.tagged_values = 1024, .tagged_readers = 32, .cache_bytes = 40, .weights = 1.5,
                 .exchange = 24, .tag = 40, .counter = 1000, .arrival = 4, .most = 5000,
                 .narrow_products = 1 << 21}},
};

/* Devices whose costs have few_tensor_cores. */
static const struct {
    unsigned vendor, generation;
} few_tensor_cores[] = {
    {LFUSE__VENDOR_NVIDIA, 86}, {LFUSE__VENDOR_NVIDIA, 87}, {LFUSE__VENDOR_NVIDIA, 89}, {LFUSE__VENDOR_NVIDIA, 120},
    {LFUSE__VENDOR_NVIDIA, 121},
};

/*
 * Any GPU. Most do more operations in the time of a byte than Hopper; lines and registers are those of all vendors'
 * larger GPUs. Launches, and groups that meet, are taken for slower, so that what costs more of them has to gain more.
 * The rate of a shape of tiles is what an element's way through local memory leaves, within a fifth of what was
 * measured on Hopper. A library of the device's own maker is taken for faster than tiles where more than launches and
 * waiting counts. What is handed on between the groups of a launch has been measured on no other GPU.
 */
static const lfuse__costs generic = {
    .operations_per_byte = 4,
    .rows = {.line_bytes = 128, .sector_bytes = 32, .registers = 65536, .stream_items = 512,
             .staged_single = 32768, .staged_item = 4096, .staged_team = 65536},
    .strassen = {.ends = 64, .narrow_ends = 256, .launch = 5e-6, .least = 50e-6, .streaming = {1, 0.9, 0.8},
                 .tiles = {{128, 128, 1}, {64, 128, 0.85}, {64, 64, 0.7}}, .another_split = 0.02},
    .provider = {.ranges = {{33, INT64_MAX, 1 << 24}, {2, INT64_MAX, 1 << 24}, {0, INT64_MAX, 1 << 12},
                            {0, INT64_MAX, 1 << 12}, {0, INT64_MAX, 1 << 12}},
                 .always = 1 << 24, .batch_full = 1 << 26, .batch_small = 1 << 18, .batch_large = 1 << 24},
    .tiles = {.wait = 400, .operand = 1.1, .cache_bytes = 64, .tensor_cores = 8, .start = 9600, .another_round = 1000,
              .slicing = 0.21, .unaligned = 600, .overlap = 2800, .worth_sharing = 1.2, .on_the_way = 16, .bytes = 16,
              .skinny_launch = 12400, .skinny_rate = 42,
              .epilogue = {.latency = 100, .dependent = 10, .instructions = 2.5, .items = 640},
              .parts = {{3500, 2200, 1.15}, {5000, 3200, 1.2}}},
    .network = {.tagged_values = 1024, .tagged_readers = 32, .cache_bytes = 40, .weights = 1.5,
                .exchange = 24, .tag = 40, .counter = 1000, .arrival = 4, .most = 5000,
                .narrow_products = 1 << 21},
};

/* CPUs, whose products are panels that are dealt out one by one. 16 lanes of a core do about 10 operations a byte. */
static const lfuse__strassen_costs cpu_strassen = {
    .ends = 16, .narrow_ends = 16, .launch = 2e-6, .least = 20e-6, .streaming = {1, 0.95, 0.9},
};

/*
 * What follows from the width of subgroups: four of them compute at a time, and 32 hide the latencies of memory. Of
 * devices that have none the numbers are those for the usual width.
 */
static void derive(const lfuse__facts *facts, lfuse__costs *costs)
{
    enum { USUAL = 32, COMPUTING = 4, WAITING = 32, MOST_LANES = 128, FEWEST_ITEMS = 256, MOST_ITEMS = 1024 };
    const unsigned width = facts->simd > 1 ? facts->simd : USUAL, lanes = COMPUTING * width, items = WAITING * width;

    costs->lanes = lanes > MOST_LANES ? MOST_LANES : lanes;
    costs->rows.unit_items = items < FEWEST_ITEMS ? FEWEST_ITEMS : items > MOST_ITEMS ? MOST_ITEMS : (int)items;
}

static bool has_few_tensor_cores(const lfuse__facts *facts)
{
    for (size_t i = 0; i < sizeof few_tensor_cores / sizeof *few_tensor_cores; i++)
        if (few_tensor_cores[i].vendor == facts->vendor && few_tensor_cores[i].generation == facts->generation)
            return true;
    return false;
}

lfuse__costs lfuse__costs_of(const lfuse__facts *facts)
{
    const lfuse__costs *found = NULL;
    lfuse__costs costs;
    size_t i;

    for (i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].vendor == facts->vendor && (!found || table[i].generation <= facts->generation))
            found = &table[i];
    costs = found && !facts->vector_lanes ? *found : generic;
    costs.tiles.few_tensor_cores = has_few_tensor_cores(facts);
    if (costs.vendor) return costs;
    derive(facts, &costs);
    if (facts->vector_lanes) costs.strassen = cpu_strassen;
    return costs;
}
