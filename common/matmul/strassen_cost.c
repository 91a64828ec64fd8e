/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model, in seconds. One product of m x n x k takes 2 m n k over the device's rate, or its bytes over the device's
 * bandwidth where that is more. L levels are 7^L products of 1/8^L of the work, whose operands have grown to
 * (7/4)^L of the bytes, and a kernel between two products that reads the 7^L products and writes the 7^L factors of the
 * next: once each, as the weights' factors are there before. Four things make the products slower than their count
 * says: their tiles fill the device's last wave less well, their shorter k has more of what begins and ends a sum, what
 * is padded is multiplied too, and there is one launch more. Where operands are split, so are factors, of which
 * there are more: that is counted by itself, beside the rate at which words are multiplied. As little is won then, the
 * product is taken for one that stands alone: its operand is read, and its result is stored, too.
 */
#include "common/matmul/emulated.h"
#include "common/matmul/provider.h"
#include "common/matmul/solver.h"

#include "common/base/costs.h"
#include "common/plan/body.h"

/* Below this nothing is changed: estimates are no better. */
#define WORTH 1.02
#define ROOM 0.9 /* of the device's memory */
enum { SPLITS = 3 };

/* Of words, without the launch that splits both operands, which the device's rate is with. 0: it is not known. */
static double words_rate(const lfuse__facts *f, const lfuse__emulation *e)
{
    const double side = LFUSE__RATED_SIDE, work = 2 * side * side * side, rate = f->product_rate_split[e->precision];
    const double splitting = 2 * side * side * lfuse__emulation_bytes(e) / f->copy_rate;

    if (!(rate > 0)) return 0;
    return work / rate > splitting ? work / (work / rate - splitting) : rate;
}

/* 0: it is not known. */
static double product_rate(const lfuse__facts *f, const lfuse__matmul_desc *d)
{
    const lfuse__emulation *e = lfuse__emulation_of(d->precision);
    const lfuse_type type = d->types[0];

    if (!(f->copy_rate > 0)) return 0;
    if (e) return words_rate(f, e);
    if (type == LFUSE_F16 || type == LFUSE_BF16) return f->product_rate16[type == LFUSE_BF16];
    return type == LFUSE_F64 ? f->product_rate64 : f->product_rate;
}

static double whole(double x)
{
    const double below = (double)(int64_t)x;

    return below < x ? below + 1 : below;
}

/* How much of the device a launch of so many equal tiles keeps busy; large tiles are faster, small ones fit better. */
static double occupation(const lfuse__facts *f, const lfuse__strassen_costs *costs, double count, double m, double n)
{
    const double units = (double)lfuse__units(f);
    double best = 0;
    int i, split;

    if (f->vector_lanes) return 1; /* panels are dealt out one by one */
    for (i = 0; i < LFUSE__STRASSEN_TILES; i++)
        for (split = 0; split < SPLITS; split++) {
            const double rows = whole(m / costs->tiles[i].rows), columns = whole(n / costs->tiles[i].columns);
            const double groups = count * rows * columns * (double)(1 << split);
            const double used = m * n / (rows * costs->tiles[i].rows * columns * costs->tiles[i].columns);
            const double busy = groups / (whole(groups / units) * units) * used * costs->tiles[i].rate /
                                (1 + costs->another_split * split);
            if (busy > best) best = busy;
        }
    return best;
}

/* As strassen_step.c pads: `vector` elements are neighbours. */
static double padded(int64_t extent, int vector, int levels)
{
    const double each = (double)(vector << levels);

    return levels ? whole((double)extent / each) * each : (double)extent;
}

/* Seconds in which `count` products split what is not frozen of their operands, of m x k by k x n. */
static double splitting(const lfuse__facts *f, const lfuse__matmul_desc *d, double count, double m, double n, double k)
{
    const lfuse__emulation *e = lfuse__emulation_of(d->precision);

    if (!e) return 0;
    return count * k * ((d->frozen[0] ? 0 : m) + (d->frozen[1] ? 0 : n)) * lfuse__emulation_bytes(e) / f->copy_rate;
}

double lfuse__strassen_time(const lfuse__facts *f, const lfuse__matmul_desc *d, int levels)
{
    const lfuse__strassen_costs costs = lfuse__costs_of(f).strassen;
    const lfuse_type type = d->types[0];
    const double ends = lfuse_type_size(type) == 2 ? costs.narrow_ends : costs.ends;
    const double size = (double)lfuse_type_size(type), parts = (double)(1 << levels);
    const double stored = (double)lfuse_type_size(levels ? lfuse__register_type(type) : d->result);
    const int vector = lfuse__strassen_vector(f, size < 4);
    const double m = padded(d->low.m, 1, levels), n = padded(d->low.n, vector, levels);
    const double k = padded(d->low.k, vector, levels), count = (double)lfuse__strassen_count(levels);
    const double bm = m / parts, bn = n / parts, bk = k / parts, grown = count / (parts * parts);
    const double multiply = 2 * count * bm * bn * (bk + ends) /
                            (product_rate(f, d) * occupation(f, &costs, count, bm, bn));
    const double move = count * ((bm * bk + bk * bn) * size + bm * bn * stored) / f->copy_rate;
    const double products = (multiply > move ? multiply : move) + splitting(f, d, count, bm, bn, bk);
    double bytes = 0;

    if (!levels) return products;
    bytes += grown * m * n * stored;
    if (!d->frozen[0]) bytes += grown * m * k * size;
    if (!d->frozen[1]) bytes += (1 + grown) * k * n * size;
    if (lfuse__may_split(d->precision)) bytes += ((d->frozen[0] ? 0 : m * k) + m * n) * size;
    return products + bytes / (f->copy_rate * costs.streaming[levels]) + costs.launch;
}

/* Whether small products may have sums that are too short to be split. */
static bool is_short(const lfuse__matmul_desc *d, int levels)
{
    const lfuse__emulation *e = lfuse__emulation_of(d->precision);

    return e && d->low.k >> levels < e->least_k;
}

/* Whether operands, factors, words and products leave the device some room. */
static bool has_room(const lfuse__facts *f, const lfuse__matmul_desc *d, int levels)
{
    const double m = (double)d->low.m, n = (double)d->low.n, k = (double)d->low.k;
    const double size = (double)lfuse_type_size(d->types[0]);
    const double parts = (double)(1 << levels), grown = (double)lfuse__strassen_count(levels) / (parts * parts);
    const lfuse__emulation *e = lfuse__emulation_of(d->precision);
    const double words = e ? e->words * LFUSE__EMULATED_WORD : 0;
    const double bytes = (m * k + k * n) * (size + grown * (size + words)) + m * n * size * (1 + grown);

    return !f->info.memory_bytes || bytes < ROOM * (double)f->info.memory_bytes;
}

int lfuse__strassen_levels(const lfuse__facts *f, const lfuse__matmul_desc *d, double *gain)
{
    double plain, best = 0;
    int levels, chosen = 0;

    *gain = 0;
    if (!(product_rate(f, d) > 0)) return 0;
    plain = lfuse__strassen_time(f, d, 0);
    for (levels = 1; levels <= LFUSE__STRASSEN_WORTH; levels++) {
        const int64_t least = INT64_C(1) << levels;
        const double won = plain / lfuse__strassen_time(f, d, levels);
        if (d->low.m < least || d->low.n < least || is_short(d, levels) || !has_room(f, d, levels) || won <= best)
            continue;
        best = won;
        chosen = levels;
    }
    if (best > 1 && 2 * (double)d->low.m * (double)d->low.n * (double)d->low.k <
                        lfuse__costs_of(f).strassen.least * product_rate(f, d))
        best = 1;
    *gain = best;
    return best < WORTH ? 0 : chosen;
}

/* ---- the solver: its kernels are those of strassen.c, its small products are other solvers' ---- */

enum { LEAST_K = 4 }; /* shorter sums may err by more than the bound allows */

/* Of f16 and bf16: whoever multiplies them has to give f32, and the portable library does not. */
static bool sums_are_wide(const lfuse__facts *facts, lfuse_provider provider)
{
    if (provider == LFUSE_PROVIDER_NATIVE || facts->products == LFUSE__PRODUCTS_TUNED) return true;
    return provider == LFUSE_PROVIDER_DEFAULT && (facts->vector_lanes || lfuse__tiles_fit(facts));
}

static const char *declines_types(const lfuse__facts *facts, const lfuse__matmul_desc *d)
{
    const lfuse_type type = d->types[0], sum = lfuse__register_type(type);

    if (d->types[1] != type) return "operands of two types";
    if (lfuse__is_fp8(type)) return "factors of 8 bits";
    if (sum != LFUSE_F32 && sum != LFUSE_F64) return "of integers";
    if (d->result != type && d->result != sum) return "a result of another type";
    if (type != sum && !sums_are_wide(facts, d->provider)) return "nobody adds narrow products up in f32";
    return NULL;
}

/* Where sizes vary, there have to be rows and columns enough at their most, as what is missing is padded. */
static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *d)
{
    const int64_t least = INT64_C(1) << d->levels;
    const char *types = declines_types(facts, d);

    if (d->column_sums) return "of which columns are summed";
    if (d->batched) return "a batch";
    if (d->precision == LFUSE_PRECISION_TF32) return "in tf32";
    if (types) return types;
    if (d->prepared) return "computed once";
    if (d->high.m < least) return "too few rows";
    if (d->high.n < least) return "too few columns";
    if (d->low.k < LEAST_K || is_short(d, d->levels)) return "k too small";
    return NULL;
}

const lfuse__solver lfuse__strassen = {.name = "strassen", .tf32 = true, .declines = declines};
