/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "common/matmul/mlp.h"
#include "common/matmul/provider.h"
#include "common/matmul/solver.h"

#include "common/base/costs.h"
#include "common/plan/body.h"

bool lfuse__tiles_fit(const lfuse__facts *facts)
{
    return !facts->vector_lanes && facts->simd > 1 && facts->info.local_bytes >= LFUSE__TILES_LOCAL &&
           facts->info.max_group >= LFUSE__TILES_GROUP;
}

/* Returns the range of a product: the first that holds it. Where it is made on tensor cores, that is the last one. */
static const lfuse__tiles_range *range_of(const lfuse__provider_costs *costs, lfuse_type type,
                                          lfuse_precision precision, const lfuse__matmul_sizes *s)
{
    const int64_t least = s->m < s->n ? s->m : s->n;
    int i = type == LFUSE_F32 && precision != LFUSE_PRECISION_TF32 ? 0 : LFUSE__TILES_RANGES - 1;

    while (least < costs->ranges[i].fewest || s->k > costs->ranges[i].deepest) i++;
    return &costs->ranges[i];
}

static double multiplications(const lfuse__matmul_sizes *s)
{
    return (double)s->m * (double)s->n * (double)s->k;
}

/* Whether the vendor's library takes some batch within the bounds, although it might not take its products alone. */
static bool vendor_takes_batch(const lfuse__provider_costs *costs, const lfuse__matmul_sizes *low,
                               const lfuse__matmul_sizes *high)
{
    return high->matrices > 1 && (double)high->matrices * multiplications(high) > costs->batch_full &&
           (multiplications(low) <= costs->batch_small || multiplications(high) >= costs->batch_large);
}

/* A portable library takes 1.4 to 2.5 times as long as tiles (CLBlast on an H200). Of f64 nobody has measured them. */
bool lfuse__vendor_is_faster(const lfuse__facts *facts, lfuse_type type, lfuse_precision precision,
                             const lfuse__matmul_sizes *size)
{
    lfuse__provider_costs costs;

    if (lfuse__register_type(type) == LFUSE_F64) return true;
    if (facts->products != LFUSE__PRODUCTS_TUNED) return false;
    costs = lfuse__costs_of(facts).provider;
    return multiplications(size) > range_of(&costs, type, precision, size)->products ||
           vendor_takes_batch(&costs, size, size);
}

/* ---- the vendor's solver: its operations are those of common/device/ ---- */

static bool has_library(const lfuse__facts *facts)
{
    return facts->products != LFUSE__PRODUCTS_NONE;
}

/* Which types, batches and epilogues a library lacks it says itself, where it is asked to prepare a product. */
static const char *vendor_declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    if (lfuse__may_split(desc->precision)) return "it splits no operands";
    if (desc->precision == LFUSE_PRECISION_TF32 && !(has_library(facts) && facts->products_tf32))
        return "it rounds nothing to tf32";
    return NULL;
}

const lfuse__solver lfuse__vendor = {
    .name = "vendor", .tf32 = true, .runs_on = has_library, .declines = vendor_declines,
};

/* ---- one of both ---- */

static bool compete(const lfuse__facts *facts)
{
    return lfuse__tiles_fit(facts) && lfuse__vendor.runs_on(facts);
}

/* Libraries multiply operands of 8 bits in some layouts at most; elsewhere they would get them cast to f32. */
static bool is_for_tiles(const lfuse__facts *facts, lfuse_type type)
{
    return lfuse_type_size(type) == 1 && (facts->vector_lanes || lfuse__tiles_fit(facts));
}

static bool is_native(const lfuse__facts *facts, const lfuse__matmul_desc *desc, const lfuse__matmul_sizes *size)
{
    if (facts->vector_lanes) return true;
    return lfuse__tiles_fit(facts) &&
           (!lfuse__vendor.runs_on(facts) || !lfuse__vendor_is_faster(facts, desc->types[0], desc->precision, size));
}

static int64_t within(int64_t least, int64_t low, int64_t high)
{
    const int64_t x = low > least ? low : least;

    return x > high ? high : x;
}

/* Whether the least product within bounds is native whose sides are, where they can be, not shorter than `fewest`. */
static bool is_native_somewhere(const lfuse__facts *facts, const lfuse__matmul_desc *desc, int64_t fewest)
{
    const lfuse__matmul_sizes *low = &desc->low, *high = &desc->high;
    const lfuse__matmul_sizes least = { within(fewest, low->m, high->m), within(fewest, low->n, high->n), low->k,
                                        low->matrices };

    return is_native(facts, desc, &least);
}

/* Whether vendors multiply such operands by tensor cores, as the library's own kernels do where there are any. */
static bool has_tensor_cores(const lfuse__matmul_desc *desc)
{
    return lfuse__is_narrow(desc->types[0]) || desc->precision == LFUSE_PRECISION_TF32;
}

static bool is_of_16_bits(const lfuse__matmul_desc *desc)
{
    const lfuse_type type = desc->types[0];

    return (type == LFUSE_F16 || type == LFUSE_BF16) && desc->types[1] == type;
}

/* Returns the rates of a library that was measured for such operands; NULL: none was. */
static const lfuse__library_rates *rates_of(const lfuse__provider_costs *costs, const lfuse__matmul_desc *desc)
{
    if (desc->precision == LFUSE_PRECISION_TF32) return &costs->tf32;
    return is_of_16_bits(desc) ? &costs->narrow : NULL;
}

/* Returns the one of the rates for how A, B and D are stored; 0: it is not known. */
static double rate_of(const lfuse__library_rates *rates, const lfuse__matmul_desc *desc)
{
    const lfuse__matmul_sizes *s = &desc->low;
    const bool *transposed = desc->transposed;
    const int64_t lines = (transposed[0] ? s->m : s->k) | (transposed[1] ? s->k : s->n) | s->n;
    const int64_t bytes = lines * (int64_t)lfuse_type_size(desc->types[0]); /* as odd as the oddest line */

    if (bytes % 4) return rates->odd;
    if (bytes % 16) return rates->words;
    return transposed[0] && !transposed[1] ? rates->across : rates->whole;
}

/*
 * Whether a product on tensor cores whose sizes are known is estimated to take no longer than by a library that was
 * measured. What either takes depends on how operands are stored, which the ranges do not.
 */
static bool is_estimated_native(const lfuse__facts *facts, const lfuse__provider_costs *costs,
                                const lfuse__matmul_desc *desc)
{
    const lfuse__matmul_sizes *s = &desc->low;
    const lfuse__library_rates *rates = rates_of(costs, desc);
    const double rate = rates ? rate_of(rates, desc) : 0, all = multiplications(s) * (double)s->matrices;
    double native;

    if (rate <= 0 || memcmp(s, &desc->high, sizeof *s) || s->m < 1 || s->n < 1 || s->k < 1 || s->matrices < 1)
        return false;
    if (all < rates->least) return false;
    native = lfuse__matmul_estimate(facts, desc);
    return native >= 0 && native <= rates->start + all / (rate * (double)lfuse__units(facts));
}

/* Where neither of both declines, and nobody says who computes it. */
static lfuse__computes estimated(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    const lfuse__matmul_sizes *low = &desc->low, *high = &desc->high;
    const lfuse__provider_costs costs = lfuse__costs_of(facts).provider;
    const bool tuned = facts->products == LFUSE__PRODUCTS_TUNED;
    /* Of no rows or columns nothing is computed. */
    const lfuse__matmul_sizes few_rows = { low->m > 1 ? low->m : 1, high->n, high->k, low->matrices };
    const lfuse__matmul_sizes few_columns = { high->m, low->n > 1 ? low->n : 1, high->k, low->matrices };
    int i;

    if (is_for_tiles(facts, desc->types[0])) return LFUSE__COMPUTES_NATIVE;
    if (tuned && is_estimated_native(facts, &costs, desc)) return LFUSE__COMPUTES_NATIVE;
    if (is_native(facts, desc, &few_rows) && is_native(facts, desc, &few_columns) &&
        (!tuned || (multiplications(high) <= costs.always && !vendor_takes_batch(&costs, low, high))))
        return LFUSE__COMPUTES_NATIVE;
    for (i = 0; i < LFUSE__TILES_RANGES; i++)
        if (is_native_somewhere(facts, desc, costs.ranges[i].fewest)) return LFUSE__COMPUTES_EITHER;
    return lfuse__tiles_fit(facts) && has_tensor_cores(desc) ? LFUSE__COMPUTES_EPILOGUE : LFUSE__COMPUTES_VENDOR;
}

/* ---- what the planner is told ---- */

bool lfuse__matmul_splits(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    for (int i = 0; lfuse__solvers[i]; i++) {
        const lfuse__solver *s = lfuse__solvers[i];
        if (s->emulation && lfuse__solver_takes(s, facts, desc) && lfuse__solver_pays(s, facts)) return true;
    }
    return false;
}

bool lfuse__matmul_keeps(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    for (int i = 0; lfuse__solvers[i]; i++)
        if (lfuse__solvers[i]->kept && lfuse__solver_takes(lfuse__solvers[i], facts, desc)) return true;
    return false;
}

/*
 * Returns NULL where a solver with candidates takes the product; else why the last of them declines, whether it runs on
 * the device or not.
 */
static const char *native_declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    const char *why = NULL;
    int i;

    for (i = 0; lfuse__solvers[i]; i++) {
        if (!lfuse__solvers[i]->candidate) continue;
        why = lfuse__solver_declines(lfuse__solvers[i], facts, desc);
        if (!why) break;
    }
    return why;
}

static lfuse__computes provider(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    /* Whether the ways of both store the same. */
    const bool alike = !desc->levels && desc->types[0] == desc->result && desc->types[1] == desc->result;
    lfuse__computes who;

    if (lfuse__solver_declines(&lfuse__vendor, facts, desc)) return LFUSE__COMPUTES_NATIVE;
    if (native_declines(facts, desc)) return LFUSE__COMPUTES_VENDOR;
    if (desc->provider == LFUSE_PROVIDER_NATIVE) return LFUSE__COMPUTES_NATIVE;
    if (desc->provider == LFUSE_PROVIDER_VENDOR) return LFUSE__COMPUTES_VENDOR;
    who = alike && desc->compared ? LFUSE__COMPUTES_EITHER : estimated(facts, desc);
    return alike || who == LFUSE__COMPUTES_NATIVE ? who : LFUSE__COMPUTES_VENDOR;
}

static const char *declines(const lfuse__facts *facts, lfuse__planned_solver solver, const lfuse__matmul_desc *desc)
{
    switch (solver) {
    case LFUSE__SOLVER_VENDOR: return lfuse__solver_declines(&lfuse__vendor, facts, desc);
    case LFUSE__SOLVER_STRASSEN: return lfuse__solver_declines(&lfuse__strassen, facts, desc);
    case LFUSE__SOLVER_NETWORK: return lfuse__solver_declines(&lfuse__mlp, facts, desc);
    default: return native_declines(facts, desc);
    }
}

const lfuse__matmul_advice lfuse__products_advice = {
    .has_tiles = lfuse__tiles_fit, .compete = compete, .splits = lfuse__matmul_splits,
    .has_networks = lfuse__network_runs_on, .declines = declines,
    .provider = provider, .prologue_pays = lfuse__matmul_prologue_pays, .strassen_levels = lfuse__strassen_levels,
    .network_pays = lfuse__network_pays,
};
