/* SPDX-License-Identifier: Apache-2.0 */
/* Which solver computes a product, and by which of its candidates: the cheapest by the cost models, or a named one. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "common/base/costs.h"
#include "common/base/error.h"
#include "common/matmul/emulated.h"
#include "common/matmul/provider.h"
#include "common/matmul/solver.h"
#include "common/matmul/tile.h"

/* How many extents a class has. */
static int rank(const lfuse__product_class *p)
{
    return p->batched ? LFUSE__PRODUCT_EXTENTS : LFUSE__PRODUCT_BATCH;
}

double lfuse__product_work(const lfuse__kernel_class *c)
{
    double work = 0;

    for (int i = 0; i < c->body->ninstr; i++)
        if (c->body->instr[i].kind == LFUSE__I_APPLY) work += lfuse__op_weight((lfuse__op)c->body->instr[i].op);
    return work;
}

/* What an element of A or B takes that is computed. Rounding to the operand's type is no work of its own. */
static void describe_prologue(lfuse__kernel_class *c, int side)
{
    bool needed[LFUSE__MAX_INSTRUCTIONS] = {false}, loaded[LFUSE__MAX_OPERANDS] = {false};
    double work = 0;
    int i, bytes = 0;

    if (c->product.prologue[side]) {
        lfuse__body_loads(c->body, c->product.prologue[side] - 1, needed, loaded);
        for (i = 0; i < c->body->ninstr; i++)
            if (needed[i] && c->body->instr[i].kind == LFUSE__I_APPLY)
                work += lfuse__op_weight((lfuse__op)c->body->instr[i].op);
        for (i = LFUSE__PRODUCT_OWN; i < c->noperands; i++)
            if (loaded[i] && c->operands[i].inner != LFUSE__STRIDE_REPEAT)
                bytes += (int)lfuse__type_bytes(c->operands[i].type);
    }
    c->product.prologue_work[side] = (int)work;
    c->product.prologue_bytes[side] = bytes;
}

/* What an element of the epilogue takes. */
static void describe_epilogue(lfuse__kernel_class *c)
{
    int i, bytes = 0;

    c->product.epilogue_work = (int)lfuse__product_work(c) - c->product.prologue_work[0] - c->product.prologue_work[1];
    if (c->body->nstores <= 1 || c->naxes) return;
    for (i = LFUSE__PRODUCT_OWN; i < c->noperands; i++) bytes += (int)lfuse__type_bytes(c->operands[i].type);
    bytes -= c->product.prologue_bytes[0] + c->product.prologue_bytes[1];
    c->product.epilogue_bytes = bytes - (int)lfuse__type_bytes(c->product.sum);
}

/* Narrow types (lfuse__is_narrow) are storage: what they hold is multiplied and added as f32. */
static void complete(lfuse__kernel_class *c)
{
    c->product.column_sums = !c->naxes ? 0 : c->body->ninstr > LFUSE__TILES_SHORT ? 2 : 1;
    c->product.sum = lfuse__register_type(c->operands[LFUSE__PRODUCT_A].type);
    c->rank = 2;
    for (int i = LFUSE__PRODUCT_A; i <= LFUSE__PRODUCT_B; i++) describe_prologue(c, i);
    describe_epilogue(c);
}

static lfuse__matmul_desc desc_of(const lfuse__kernel_class *c)
{
    return (lfuse__matmul_desc){.types = {c->operands[LFUSE__PRODUCT_A].type, c->operands[LFUSE__PRODUCT_B].type},
                                .precision = c->product.precision, .batched = c->product.batched,
                                .frozen = {c->product.frozen[0], c->product.frozen[1]},
                                .column_sums = c->product.column_sums,
                                .prologue = c->product.prologue[0] || c->product.prologue[1]};
}

lfuse_status lfuse__matmul_possible(const lfuse__facts *facts)
{
    for (int i = 0; lfuse__solvers[i]; i++)
        if (lfuse__solvers[i]->candidate && lfuse__solvers[i]->runs_on(facts)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "tiles of a product do not fit the device: %llu bytes of local "
                        "memory, groups of %u, %u of them in step", (unsigned long long)facts->info.local_bytes,
                        facts->info.max_group, facts->simd);
}

static lfuse_status check_possible(const lfuse__facts *facts, const int64_t *extents)
{
    LFUSE__TRY(lfuse__matmul_possible(facts));
    if (facts->vector_lanes) return LFUSE_OK;
    if (extents[0] > INT32_MAX || extents[1] > INT32_MAX || extents[2] > INT32_MAX)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a product of %" PRId64 " x %" PRId64 " x %" PRId64 ": sides are "
                            "below 2^31", extents[0], extents[1], extents[2]);
    return LFUSE_OK;
}

/* ---- walking the candidates of all solvers ---- */

typedef struct walk {
    const lfuse__facts *facts;
    lfuse__matmul_desc desc;
    const int64_t *low, *high; /* the extents' bounds */
    int solver, at;            /* of the next candidate */
    lfuse__product_class tried;
} walk;

static walk walk_all(const lfuse__facts *facts, const int64_t *low, const int64_t *high, const lfuse__kernel_class *c)
{
    return (walk){.facts = facts, .desc = desc_of(c), .low = low, .high = high, .tried = c->product};
}

/* Of what is made of B more is saved, where both are frozen: weights are the larger operand as a rule. */
static int kept_by(const lfuse__product_class *p, const lfuse__matmul_desc *desc)
{
    if (!p->solver->kept) return 0;
    for (int i = LFUSE__PRODUCT_B; i >= LFUSE__PRODUCT_A; i--)
        if (desc->frozen[i] && !lfuse__comes_by_map(p, i)) return 1 + i;
    return 0;
}

/* Goes to the next candidate that may compute the product, which w->tried is then; false behind the last one. */
static bool next(walk *w)
{
    for (; lfuse__solvers[w->solver]; w->solver++, w->at = 0) {
        const lfuse__solver *s = lfuse__solvers[w->solver];
        if (!lfuse__solver_takes(s, w->facts, &w->desc)) continue;
        while (s->candidate(s, w->at++, &w->tried)) {
            w->tried.kept = kept_by(&w->tried, &w->desc);
            if ((!s->has || s->has(&w->tried, w->facts)) &&
                (!s->serves || s->serves(&w->tried, w->low, w->high)))
                return true;
        }
    }
    return false;
}

static bool is_compiled_ahead(const walk *w)
{
    const lfuse__solver *s = w->tried.solver;

    return lfuse__solver_pays(s, w->facts) && (!s->is_compiled_ahead || s->is_compiled_ahead(w->at - 1));
}

/* Returns whether the candidate has a cut for these extents, and which. */
static bool cut(const walk *w, lfuse__cut *found)
{
    const lfuse__solver *s = w->tried.solver;

    found->time = 0;
    return !s->cost || s->cost(&w->tried, w->facts, w->low, found);
}

static bool suits(const walk *w)
{
    const lfuse__solver *s = w->tried.solver;

    return lfuse__solver_pays(s, w->facts) && (!s->suits || s->suits(&w->tried, w->low));
}

static bool has_workspace(const lfuse__product_class *p)
{
    return p->split || p->solver->phases > 1;
}

/*
 * Sets *p to the candidate that takes least, and returns its estimated time; below 0: there is none. `whole`: of those
 * without a workspace; `ahead`: of those that a plan has compiled which does not know the sizes.
 */
static double find(const lfuse__facts *facts, const int64_t *extents, const lfuse__kernel_class *c, bool whole,
                   bool ahead, lfuse__product_class *p)
{
    walk w = walk_all(facts, extents, extents, c);
    double best = -1;
    lfuse__cut found;

    while (next(&w)) {
        if (!suits(&w) || (ahead && !is_compiled_ahead(&w)) || (whole && has_workspace(&w.tried))) continue;
        if (!cut(&w, &found) || (best >= 0 && found.time >= best)) continue;
        best = found.time;
        *p = w.tried;
    }
    return best;
}

/* Sets *c to a class of the described product that finds candidates; it has no body. */
static void class_of(const lfuse__matmul_desc *desc, lfuse__kernel_class *c)
{
    memset(c, 0, sizeof *c);
    for (int i = LFUSE__PRODUCT_A; i <= LFUSE__PRODUCT_B; i++) {
        c->operands[i].type = desc->types[i];
        c->product.prologue[i] = desc->prologue && desc->prologue_bytes[i];
        c->product.prologue_work[i] = desc->prologue_work[i], c->product.prologue_bytes[i] = desc->prologue_bytes[i];
        c->product.shared[i] = desc->shared[i];
    }
    c->product.sum = lfuse__register_type(desc->types[0]);
    c->product.ta = desc->transposed[0], c->product.tb = desc->transposed[1];
    c->product.precision = desc->precision, c->product.batched = desc->batched;
}

double lfuse__matmul_estimate(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    const lfuse__matmul_sizes *s = &desc->low;
    const int64_t extents[LFUSE__PRODUCT_EXTENTS] = {s->m, s->n, s->k, s->matrices};
    lfuse__kernel_class c;

    class_of(desc, &c);
    return find(facts, extents, &c, false, false, &c.product);
}

/* ---- choosing ---- */

/*
 * Returns the bytes that a launch behind the product moves which sums its columns: it reads what the product stores.
 * Where something is computed of that, it reads what this takes as well, and stores the result. With nothing computed,
 * an H100 took 3.5 and 5.9 us longer for 1024 and 1536 cubed in f32x3 with that launch than without sums, and 5.0 and
 * 9.1 for 1024 and 2048 cubed of f16. The estimates are 3.9 and 5.3, and 3.9 and 7.3. So where less is stored, an
 * element counts as many bytes as a sum has, too: by the bytes of f16 the last two would be 3.3 and 5.0.
 */
static double bytes_behind(const int64_t *extents, const lfuse__kernel_class *c)
{
    const int passes = c->product.epilogue_work ? 3 : 1;

    return passes * (double)extents[0] * (double)extents[1] * (double)lfuse__type_bytes(c->product.sum);
}

/*
 * Columns are summed where that is not slower than a launch behind the product. Skinny products, and what is stored by
 * columns, leave it to that launch.
 */
static lfuse_status find_summed(const lfuse__facts *facts, const int64_t *extents, bool ahead, lfuse__kernel_class *c)
{
    const double bytes = bytes_behind(extents, c);
    const lfuse__tiles_costs costs = lfuse__costs_of(facts).tiles;
    const double with = find(facts, extents, c, false, ahead, &c->product);
    lfuse__kernel_class plain = *c;
    double apart;

    plain.product.column_sums = 0;
    apart = find(facts, extents, &plain, false, ahead, &plain.product) + costs.start + bytes / costs.bytes /
            (double)lfuse__units(facts);
    if (with < 0)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "no tiles of a product of %" PRId64 " x %" PRId64 " x %" PRId64
                            " sum columns", extents[0], extents[1], extents[2]);
    if (with + costs.parts[0].meeting <= apart) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "to sum the columns of a product of %" PRId64 " x %" PRId64 " x %" PRId64
                        ", a launch of its own is taken for faster", extents[0], extents[1], extents[2]);
}

/* Says of each solver of this device why it declines, or that none of its candidates serves. */
static lfuse_status nobody(const lfuse__facts *facts, const int64_t *extents, const lfuse__kernel_class *c)
{
    const lfuse__matmul_desc desc = desc_of(c);
    lfuse__strbuf why = LFUSE__STRBUF_INIT;
    lfuse_status status;
    int i;

    for (i = 0; lfuse__solvers[i]; i++) {
        const lfuse__solver *s = lfuse__solvers[i];
        const char *reason = lfuse__solver_declines(s, facts, &desc);
        if (s->candidate && s->runs_on(facts))
            lfuse__strbuf_format(&why, "; %s: %s", s->name, reason ? reason : "no tile serves");
    }
    status = lfuse__strbuf_check(&why);
    if (!status)
        status = lfuse__error(LFUSE_ERR_UNSUPPORTED, "nobody computes a product of %" PRId64 " x %" PRId64 " x %" PRId64
                              "%s", extents[0], extents[1], extents[2], why.data);
    lfuse__strbuf_free(&why);
    return status;
}

/*
 * What a tuned library of the device's maker takes at least of the time of other solvers' loops, and at most of that of
 * parts of k: on an H100 it took from 0.73 of the pipeline's (512 x 512 x 16384) to 1.1 (384 x 1024 x 8192).
 */
#define LEAST_SHARE 0.5
#define SHARE_OF_PARTS 0.8
/* By how much an estimate with operands that are computed has to be below one of passes. */
#define SURE 1.1

/* Returns what the vendor's library takes at least for a class without an epilogue; below 0: it is not known. */
static double vendors_time(const lfuse__facts *facts, const int64_t *extents, bool ahead, const lfuse__kernel_class *c)
{
    const double start = lfuse__costs_of(facts).tiles.start;
    lfuse__product_class plain;
    const double loops = find(facts, extents, c, false, ahead, &plain) - start;
    double share;

    if (loops < -start) return -1;
    share = plain.solver->vendors_share > 0 ? plain.solver->vendors_share : LEAST_SHARE;
    if (plain.split && share > SHARE_OF_PARTS) share = SHARE_OF_PARTS;
    return start + share * (loops > 0 ? loops : 0);
}

/* Whether a product with its epilogue is not slower than the vendor's and a kernel behind it, which reads the sums. */
static bool epilogue_pays(const lfuse__facts *facts, const int64_t *extents, bool ahead, const lfuse__kernel_class *c)
{
    const lfuse__tiles_costs costs = lfuse__costs_of(facts).tiles;
    const double sums = (double)extents[0] * (double)extents[1] *
                        (double)(c->product.batched ? extents[LFUSE__PRODUCT_BATCH] : 1);
    const double bytes = 2 * sums * (double)lfuse__type_bytes(c->operands[LFUSE__PRODUCT_A].type);
    const double behind = costs.start + bytes / costs.bytes / (double)lfuse__units(facts);
    lfuse__product_class with;
    lfuse__kernel_class bare = *c;
    double vendors;

    bare.product.epilogue_work = bare.product.epilogue_bytes = 0;
    vendors = vendors_time(facts, extents, ahead, &bare);
    return vendors >= 0 && find(facts, extents, c, false, ahead, &with) <= vendors + behind;
}

/*
 * Whether a product that computes operand `side` is estimated to be faster than a kernel that stores it, and a product
 * of what this stores, whoever computes it: such a product reads its operands at the rate of memory at best. Of an
 * operand that stays with its sources in the cache behind the units, nothing is gained: with B of f32 that is converted
 * to f16, an H100 took 1.14 to 1.28 times as long for 64 and 128 x 1024 x 1024, 64 x 1024 x 4096 and 128 x 2048 x 2048.
 *
 * The product behind the kernel is estimated as if it read the operand's sources, which have more bytes than what the
 * kernel stores. An H100 takes 67 to 69 us for 144 to 256 x 16384 x 2048 in tiles, and 96 to 100 us behind a kernel:
 * so the estimate is right about 256 rows, and wrong about 144 and 192.
 */
static bool prologue_pays_at(const lfuse__facts *facts, const lfuse__matmul_desc *desc, int side,
                             const lfuse__matmul_sizes *s)
{
    const lfuse__tiles_costs costs = lfuse__costs_of(facts).tiles;
    const int64_t extents[LFUSE__PRODUCT_EXTENTS] = {s->m, s->n, s->k, 1};
    const double elements[] = {(double)s->m * (double)s->k, (double)s->k * (double)s->n};
    const double rate = costs.bytes * (double)lfuse__units(facts);
    const double bytes[] = {(double)lfuse__type_bytes(desc->types[0]), (double)lfuse__type_bytes(desc->types[1])};
    const double moved = elements[side] * (desc->prologue_bytes[side] + bytes[side]);
    lfuse__kernel_class with, without;
    double read = 0, plain;

    if (moved <= (double)facts->info.cache_bytes) return false;
    class_of(desc, &with);
    without = with;
    without.product.prologue[side] = 0;
    for (int i = LFUSE__PRODUCT_A; i <= LFUSE__PRODUCT_B; i++)
        read += elements[i] * (without.product.prologue[i] ? desc->prologue_bytes[i] : bytes[i]);
    plain = !without.product.prologue[1 - side] && lfuse__vendor.runs_on(facts)
                ? vendors_time(facts, extents, false, &without)
                : find(facts, extents, &without, false, false, &without.product);
    const double time = find(facts, extents, &with, false, false, &with.product);
    return time >= 0 && plain >= 0 &&
           time * SURE < costs.start + moved / rate + fmax(plain, costs.start + read / rate);
}

/* Whether tiles of some solver compute operands of the product. */
static bool has_computing_tiles(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    for (int i = 0; lfuse__solvers[i]; i++) {
        const lfuse__solver *s = lfuse__solvers[i];
        if (s->tile && s->tile->loaded_ahead && lfuse__solver_takes(s, facts, desc)) return true;
    }
    return false;
}

/*
 * Whether the lines of both operands are as long at all runs. Else some may be no whole chunks, of which such tiles
 * would compute every element by itself.
 */
static bool has_known_lines(const lfuse__matmul_desc *desc)
{
    const lfuse__matmul_sizes *low = &desc->low, *high = &desc->high;

    return (desc->transposed[0] ? low->m == high->m : low->k == high->k) &&
           (desc->transposed[1] ? low->k == high->k : low->n == high->n);
}

bool lfuse__matmul_prologue_pays(const lfuse__facts *facts, const lfuse__matmul_desc *desc, int side)
{
    const lfuse__matmul_sizes *low = &desc->low, *high = &desc->high;

    if (!has_known_lines(desc) || !has_computing_tiles(facts, desc) || low->m < 1 || low->n < 1 || low->k < 1 ||
        high->m > INT32_MAX || high->n > INT32_MAX || high->k > INT32_MAX)
        return false;
    return prologue_pays_at(facts, desc, side, low) && prologue_pays_at(facts, desc, side, high);
}

/* Whether the vendor's product, where there is one, is taken for faster; e: the extents, each 1 at least. */
static bool vendor_is_faster(const lfuse__facts *facts, const lfuse__matmul_problem *p, const int64_t *e,
                             const lfuse__kernel_class *c)
{
    const lfuse__matmul_sizes sizes = {e[0], e[1], e[2], c->product.batched ? e[LFUSE__PRODUCT_BATCH] : 1};
    const lfuse__matmul_desc desc = desc_of(c);

    return p->vendor && !p->low_memory && !facts->vector_lanes &&
           !lfuse__solver_declines(&lfuse__vendor, facts, &desc) &&
           lfuse__vendor_is_faster(facts, c->operands[LFUSE__PRODUCT_A].type, c->product.precision, &sizes) &&
           !(p->behind && epilogue_pays(facts, e, p->unsized, c));
}

static lfuse_status choose_cheapest(const lfuse__facts *facts, const lfuse__matmul_problem *p, lfuse__kernel_class *c)
{
    int64_t e[LFUSE__PRODUCT_EXTENTS];
    int i;

    LFUSE__TRY(check_possible(facts, p->extents));
    /* 1 for 0: of none, nothing is launched. */
    for (i = 0; i < rank(&c->product); i++) e[i] = p->extents[i] > 0 ? p->extents[i] : 1;
    if (vendor_is_faster(facts, p, e, c))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "another product of %s is taken for faster on %s",
                            lfuse__memory_word(c->product.sum), facts->arch);
    if (c->product.column_sums) LFUSE__TRY(find_summed(facts, e, p->unsized, c));
    else if (find(facts, e, c, false, p->unsized, &c->product) < 0) return nobody(facts, e, c);
    if (p->low_memory) find(facts, e, c, true, p->unsized, &c->product);
    return LFUSE_OK;
}

/* Returns how many words an element is split into; 0: it is not split. */
static int words(const lfuse__product_class *p)
{
    return p->solver->emulation ? lfuse__words_of(p->solver) : 0;
}

static bool is_named(const lfuse__product_class *p, const lfuse__matmul_candidate *named)
{
    const int split = named->parts == LFUSE__STREAM_K ? LFUSE__SPLIT_STREAM_K : named->parts > 0;

    return p->split == split && p->rows == named->rows && p->columns == named->columns && p->depth == named->depth &&
           p->item_rows == named->item_rows && p->item_columns == named->item_columns && p->slices == named->slices &&
           words(p) == named->words;
}

static lfuse_status choose_named(const lfuse__facts *facts, const int64_t *extents,
                                 const lfuse__matmul_candidate *named, lfuse__kernel_class *c)
{
    walk w = walk_all(facts, extents, extents, c);
    lfuse__cut found;

    LFUSE__TRY(check_possible(facts, extents));
    while (next(&w)) {
        if (!is_named(&w.tried, named) || !cut(&w, &found)) continue;
        c->product = w.tried;
        if (named->parts <= LFUSE__MOST_PARTS) return LFUSE_OK;
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%d parts", named->parts);
    }
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "tiles of %d x %d x %d with %d parts do not serve %" PRId64 " x %" PRId64
                        " x %" PRId64, named->rows, named->columns, named->depth, named->parts, extents[0],
                        extents[1], extents[2]);
}

lfuse_status lfuse__matmul_choose(const lfuse__facts *facts, const lfuse__matmul_problem *p, lfuse__kernel_class *c)
{
    complete(c);
    if (p->candidate && !p->low_memory) return choose_named(facts, p->extents, p->candidate, c);
    return choose_cheapest(facts, p, c);
}

int lfuse__matmul_classes(const lfuse__facts *facts, const int64_t *low, const int64_t *high,
                          const lfuse__kernel_class *c, lfuse__kernel_class *classes)
{
    lfuse__kernel_class wanted = *c;
    int count = 0;
    walk w;

    complete(&wanted);
    if (!memcmp(low, high, (size_t)rank(&c->product) * sizeof *low)) {
        classes[0] = wanted;
        return !choose_cheapest(facts, &(lfuse__matmul_problem){.extents = low}, &classes[0]);
    }
    w = walk_all(facts, low, high, &wanted);
    while (count < LFUSE__MATMUL_CLASSES && next(&w)) {
        if (!is_compiled_ahead(&w)) continue;
        classes[count] = wanted;
        classes[count++].product = w.tried;
    }
    return count;
}

/* ---- candidates: all that may be the fastest, as the cost models are wrong by up to a half ---- */

#define LIKELY 1.6

static lfuse__matmul_candidate describe(const lfuse__product_class *p, const lfuse__cut *c)
{
    return (lfuse__matmul_candidate){.rows = p->rows, .columns = p->columns, .depth = p->depth,
                                     .item_rows = p->item_rows, .item_columns = p->item_columns, .slices = p->slices,
                                     .parts = p->split ? c->parts : 0,
                                     .words = words(p), .time = c->time};
}

/* Inserts it by its time; where the list is full, the slowest is dropped. */
static int enter(lfuse__matmul_candidate *all, int count, const lfuse__matmul_candidate *one)
{
    int at = count;

    while (at > 0 && all[at - 1].time > one->time) at--;
    if (at == LFUSE__MATMUL_CANDIDATES) return count;
    if (count == LFUSE__MATMUL_CANDIDATES) count--;
    memmove(&all[at + 1], &all[at], (size_t)(count - at) * sizeof *all);
    all[at] = *one;
    return count + 1;
}

int lfuse__matmul_candidates(const lfuse__facts *facts, const int64_t *extents, const lfuse__kernel_class *c,
                             lfuse__matmul_candidate *all)
{
    lfuse__kernel_class wanted = *c;
    lfuse__cut found;
    int i, count = 0;
    walk w;

    complete(&wanted);
    for (i = 0; i < rank(&c->product); i++)
        if (extents[i] < 1) return 0;
    if (check_possible(facts, extents)) return 0;
    w = walk_all(facts, extents, extents, &wanted);
    while (next(&w)) {
        lfuse__matmul_candidate one;
        if (!w.tried.solver->cost || !suits(&w) || !cut(&w, &found)) continue;
        one = describe(&w.tried, &found);
        count = enter(all, count, &one);
    }
    while (count && all[count - 1].time > LIKELY * all[0].time) count--;
    return count;
}

void lfuse__matmul_candidate_print(const lfuse__matmul_candidate *c, char name[LFUSE__MATMUL_CANDIDATE_NAME])
{
    const int length = snprintf(name, LFUSE__MATMUL_CANDIDATE_NAME, "%dx%dx%d:%dx%d:%d:%d", c->rows, c->columns,
                                c->depth, c->item_rows, c->item_columns, c->slices, c->parts);

    if (c->words > 0 && length < LFUSE__MATMUL_CANDIDATE_NAME)
        snprintf(name + length, (size_t)(LFUSE__MATMUL_CANDIDATE_NAME - length), ":%d", c->words);
}

bool lfuse__matmul_candidate_parse(const char *name, lfuse__matmul_candidate *c)
{
    char again[LFUSE__MATMUL_CANDIDATE_NAME];

    memset(c, 0, sizeof *c);
    if (strlen(name) >= sizeof again) return false; /* so that no number overflows unseen */
    if (sscanf(name, "%9dx%9dx%9d:%9dx%9d:%9d:%9d:%9d", &c->rows, &c->columns, &c->depth, &c->item_rows,
               &c->item_columns, &c->slices, &c->parts, &c->words) < 7)
        return false;
    lfuse__matmul_candidate_print(c, again);
    return !strcmp(name, again);
}
