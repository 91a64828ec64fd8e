/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kernels a plan compiles for a product of the library's own. Of fixed sizes, that of these. Where one of m, n
 * and k is open, as that of a network's rows, or the number of products of a batch, those of all sizes within its
 * bounds, so that the next one compiles nothing: what no such size is given, because another tile is always the
 * faster one or a vendor's product is, is left out, unless both are open. Where two of m, n and k are, each instance
 * compiles what it is given.
 */
#include <string.h>

#include "common/base/error.h"
#include "common/matmul/problem.h"
#include "common/matmul/provider.h"
#include "common/run/compile/body.h"

/*
 * Sizes that are tried, MOST at most: each up to EVERY, then the last and the first of every STEP, whole numbers of
 * which tiles and vectors are.
 */
enum { EVERY = 64, STEP = 8, MOST = 8192 };
enum { BATCH = LFUSE__PRODUCT_BATCH, SIDES = LFUSE__PRODUCT_EXTENTS };

typedef struct sides {
    int64_t low[SIDES], high[SIDES]; /* m, n, k, products of a batch */
    int open;                        /* how many of m, n and k are */
    int last;                        /* an open one of m, n and k, or else BATCH; -1 */
} sides;

static bool is_open(const sides *s, int i)
{
    return s->low[i] != s->high[i];
}

static void find_sides(const lfuse__plan_body *plan, const lfuse__step *step, sides *s)
{
    lfuse__matmul_sizes low, high;
    int i;

    lfuse__product_bounds(plan->graph, step->rank, step->extents, step->product.k, &low, &high);
    memcpy(s->low, (const int64_t[]){ low.m, low.n, low.k, low.matrices }, sizeof s->low);
    memcpy(s->high, (const int64_t[]){ high.m, high.n, high.k, high.matrices }, sizeof s->high);
    s->open = 0;
    s->last = is_open(s, BATCH) ? BATCH : -1;
    for (i = 0; i < BATCH; i++) {
        if (!is_open(s, i)) continue;
        s->open++;
        s->last = i;
    }
}

int lfuse__product_open(const lfuse__plan_body *plan, const lfuse__step *step)
{
    sides s;

    find_sides(plan, step, &s);
    return s.open;
}

bool lfuse__step_products_alike(const lfuse__plan_body *plan, const lfuse__step *a, const lfuse__step *b)
{
    sides of_a, of_b;

    memset(&of_a, 0, sizeof of_a);
    memset(&of_b, 0, sizeof of_b);
    find_sides(plan, a, &of_a);
    find_sides(plan, b, &of_b);
    return a->product.ahead == b->product.ahead && a->product.precision == b->product.precision &&
           !memcmp(a->product.frozen, b->product.frozen, sizeof a->product.frozen) &&
           !memcmp(&of_a, &of_b, sizeof of_a);
}

bool lfuse__product_sized(const lfuse__plan_body *plan, const lfuse__step *step)
{
    sides s;

    find_sides(plan, step, &s);
    return s.last < 0;
}

/*
 * Whether nothing new comes behind MOST: another one computes all larger products (where the open side is the longer
 * one, the rule has but one end), or there are more of the same.
 */
static bool ends(const lfuse__facts *facts, const sides *s, bool others, const lfuse__kernel_class *k)
{
    int64_t size[SIDES];

    if (s->last == BATCH) return true;
    memcpy(size, s->low, sizeof size);
    size[s->last] = MOST;
    return others && lfuse__vendor_is_faster(facts, k->operands[LFUSE__PRODUCT_A].type, k->product.precision,
                                             &(lfuse__matmul_sizes){ size[0], size[1], size[2], size[BATCH] });
}

/* Of all classes those that some size is given. */
static int that_occur(const lfuse__facts *facts, const lfuse__step *step, const sides *s, const lfuse__kernel_class *k,
                      lfuse__kernel_class *classes, int count)
{
    const bool others = step->product.ahead;
    const int64_t low = s->low[s->last], high = s->high[s->last], most = low > MOST ? low : MOST;
    const int64_t end = high < most ? high : most;
    bool occurs[LFUSE__MATMUL_CLASSES] = { false };
    int64_t size[SIDES], *open = &size[s->last];
    const lfuse__matmul_problem problem = { .extents = size, .vendor = others, .behind = step->product.behind,
                                            .unsized = true };
    lfuse__saved_error before;
    int i, kept = 0;

    if (high > MOST && !ends(facts, s, others, &classes[0])) return count;
    lfuse__error_save(&before);
    memcpy(size, s->low, sizeof size);
    for (; *open <= end; *open = *open < EVERY || *open % STEP == 0 ? *open + 1 : *open / STEP * STEP + STEP) {
        lfuse__kernel_class c = *k;
        if (lfuse__matmul_choose(facts, &problem, &c)) continue;
        for (i = 0; i < count; i++) occurs[i] = occurs[i] || lfuse__class_equal(&classes[i], &c);
    }
    lfuse__error_restore(&before);
    for (i = 0; i < count; i++)
        if (occurs[i]) classes[kept++] = classes[i];
    return kept;
}

/* Each class becomes that of its first phase; the classes of other phases come behind all of these. */
static int with_phases(lfuse__kernel_class *classes, int count)
{
    int i, j, all = count;

    for (i = 0; i < count; i++) {
        const int first = classes[i].product.phase = lfuse__product_first(&classes[i]);
        for (j = first + 1; j < lfuse__product_phases(&classes[i]) && all < LFUSE__PRODUCT_KERNELS; j++) {
            classes[all] = classes[i];
            classes[all++].product.phase = j;
        }
    }
    return all;
}

bool lfuse__product_settled(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts,
                            const lfuse__kernel_class *k, bool *native)
{
    lfuse__saved_error before;
    lfuse__kernel_class c = *k;
    sides s;

    find_sides(plan, step, &s);
    if (!step->product.ahead || s.last >= 0) return false;
    lfuse__error_save(&before);
    *native = !lfuse__matmul_choose(facts, &(lfuse__matmul_problem){ .extents = s.low, .vendor = true,
                                                                     .behind = step->product.behind }, &c);
    lfuse__error_restore(&before);
    return true;
}

int lfuse__step_product_whole(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts,
                              lfuse__kernel_class *k)
{
    sides s;

    find_sides(plan, step, &s);
    if (s.open || is_open(&s, BATCH)) return 0;
    return !lfuse__matmul_choose(facts, &(lfuse__matmul_problem){ .extents = s.low, .low_memory = true }, k);
}

int lfuse__step_products(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts,
                         const lfuse__kernel_class *k, lfuse__kernel_class classes[LFUSE__PRODUCT_KERNELS])
{
    sides s;
    int count;

    find_sides(plan, step, &s);
    count = lfuse__matmul_classes(facts, s.low, s.high, k, classes);
    if (s.open > 1 && count > 1) return 0;
    if (count > 1 && !(s.open && is_open(&s, BATCH)))
        count = that_occur(facts, step, &s, k, classes, count);
    return with_phases(classes, count);
}
