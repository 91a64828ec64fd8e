/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/costs.h"

/* In the order of generations for each vendor. */
static const lfuse__costs table[] = {
    /*
     * Hopper: measured on an H100 and an H200. An H200 does 7 simple operations in the time of a byte; half of that, as
     * row kernels compute more than once what they read in several sweeps. Products of 2048 run at 0.96 of the rate of
     * those of 8192, kernels of 7 and 49 matrices at 0.97 and 0.93 of that of copies. Units for matrices are done with
     * as many terms in a tenth of the time, and what begins and ends a sum is the same.
     */
    {.vendor = LFUSE__VENDOR_NVIDIA,
     .generation = 90,
     .operations_per_byte = 4,
     .rows = {.line_bytes = 128, .sector_bytes = 32, .registers = 65536, .unit_items = 1024, .stream_items = 512,
              .staged_single = 32768, .staged_item = 4096, .staged_team = 65536},
     .strassen = {.ends = 64, .narrow_ends = 256, .launch = 2e-6, .least = 20e-6, .streaming = {1, 0.95, 0.9},
                  .tiles = {{128, 128, 1}, {64, 128, 0.85}, {64, 64, 0.7}}, .another_split = 0.02}},
};

/*
 * Any GPU. Most do more operations in the time of a byte than Hopper; lines and registers are those of all vendors'
 * larger GPUs. Launches are taken for slower, so that what costs more of them has to gain more.
 */
static const lfuse__costs generic = {
    .operations_per_byte = 4,
    .rows = {.line_bytes = 128, .sector_bytes = 32, .registers = 65536, .stream_items = 512,
             .staged_single = 32768, .staged_item = 4096, .staged_team = 65536},
    .strassen = {.ends = 64, .narrow_ends = 256, .launch = 5e-6, .least = 50e-6, .streaming = {1, 0.9, 0.8},
                 .tiles = {{128, 128, 1}, {64, 128, 0.85}, {64, 64, 0.7}}, .another_split = 0.02},
};

/* CPUs, whose products are panels that are dealt out one by one. 16 lanes of a core do about 10 operations a byte. */
static const lfuse__strassen_costs cpu_strassen = {
    .ends = 16, .narrow_ends = 16, .launch = 2e-6, .least = 20e-6, .streaming = {1, 0.95, 0.9},
};

/* 32 subgroups hide the latencies of memory: 1024 work-items on NVIDIA. No more are needed where they are wider. */
static int items_of_unit(const lfuse__facts *facts)
{
    enum { SUBGROUPS = 32, FEWEST = 256, MOST = 1024 };
    const unsigned items = SUBGROUPS * facts->simd;

    return items < FEWEST ? FEWEST : items > MOST ? MOST : (int)items;
}

lfuse__costs lfuse__costs_of(const lfuse__facts *facts)
{
    const lfuse__costs *found = NULL;
    lfuse__costs costs = generic;
    size_t i;

    for (i = 0; i < sizeof table / sizeof *table; i++)
        if (table[i].vendor == facts->vendor && (!found || table[i].generation <= facts->generation))
            found = &table[i];
    if (found && !facts->vector_lanes) return *found;
    costs.rows.unit_items = items_of_unit(facts);
    if (facts->vector_lanes) costs.strassen = cpu_strassen;
    return costs;
}
