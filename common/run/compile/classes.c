/* SPDX-License-Identifier: Apache-2.0 */
/* Text classes of kernels. */
#include <string.h>

#include "common/matmul/problem.h"
#include "common/run/compile/steps.h"

/* How an operand is walked along an axis when its memory is contiguous as declared. */
static lfuse__stride_class stride_along(const lfuse__plan_body *plan, const lfuse__operand *o, int axis)
{
    switch (lfuse__plan_stepping(plan, o, axis)) {
    case LFUSE__STEPPING_NONE: return LFUSE__STRIDE_REPEAT;
    case LFUSE__STEPPING_UNIT: return LFUSE__STRIDE_UNIT;
    case LFUSE__STEPPING_ANY: break;
    }
    return LFUSE__STRIDE_ANY;
}

/* The same along the inner axis of the merged loop. */
static lfuse__stride_class inner_class(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__operand *o,
                                       const lfuse__loop *loop)
{
    int i, inner = -1;

    for (i = loop->first[loop->rank - 1]; i < loop->first[loop->rank]; i++)
        if (step->extents[i] != 1) inner = i;
    if (inner < 0) return LFUSE__STRIDE_UNIT; /* one element: never stepped along */
    return stride_along(plan, o, inner);
}

/* How an operand walks the reduced axes: as one or not at all; else it is SPLIT. */
static lfuse__stride_class row_class(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__operand *o)
{
    bool element = false;
    int i, last = -1;

    for (i = step->rank - step->naxes; i < step->rank; i++) {
        element = element || o->axis[i] >= 0;
        if (step->extents[i] == 1) continue;
        if (last >= 0 && !lfuse__plan_merges(plan, step, o, last, i)) return LFUSE__STRIDE_SPLIT;
        last = i;
    }
    if (!element) return LFUSE__STRIDE_REPEAT;
    if (last < 0) return LFUSE__STRIDE_UNIT; /* a row of one element: never stepped along */
    return lfuse__plan_stepping(plan, o, last) == LFUSE__STEPPING_UNIT ? LFUSE__STRIDE_UNIT : LFUSE__STRIDE_ANY;
}

static bool same_for_all_rows(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__operand *o)
{
    int i;

    for (i = 0; i < step->rank - step->naxes; i++)
        if (step->extents[i] != 1 && lfuse__plan_stepping(plan, o, i) != LFUSE__STEPPING_NONE) return false;
    return o->gathered < 0;
}

static int reduced_axes(const lfuse__step *step, const lfuse__loop *loop)
{
    int i, count = 0;

    for (i = 0; i < loop->rank; i++) count += loop->first[i] >= step->rank - step->naxes;
    return count;
}

static void tensor_class(const lfuse__plan_body *plan, const lfuse__step *step, bool index64, lfuse__kernel_class *k)
{
    const bool rows = lfuse__step_over(step) == LFUSE__OVER_ROWS;
    lfuse__loop loop;
    int i;

    lfuse__plan_loop(plan, step, rows ? step->rank - step->naxes : -1, &loop);
    k->body = &step->body;
    k->noperands = step->noperands;
    k->rank = loop.rank;
    k->naxes = rows ? reduced_axes(step, &loop) : 0;
    k->index64 = index64;
    for (i = 0; i < step->noperands; i++) {
        const lfuse__operand *o = &step->operands[i];
        k->operands[i].type = o->type;
        k->operands[i].written = o->written;
        k->operands[i].gathered = o->gathered >= 0;
        k->operands[i].index = o->place == LFUSE__PLACE_INDEX;
        k->operands[i].fixed = rows && same_for_all_rows(plan, step, o);
        k->operands[i].inner = rows ? row_class(plan, step, o) : inner_class(plan, step, o, &loop);
    }
}

static lfuse__stride_class list_stride(const lfuse__step *step, const lfuse__operand *o)
{
    if (step->kind == LFUSE__STEP_LINES && o->written) return LFUSE__STRIDE_REPEAT;
    if (o->span == step->lists.walked && (o->written || o->span != LFUSE__SPAN_MEMBERS)) return LFUSE__STRIDE_UNIT;
    switch (o->span) {
    case LFUSE__SPAN_ROWS: return LFUSE__STRIDE_ROW;
    case LFUSE__SPAN_COLUMNS: return LFUSE__STRIDE_COLUMN;
    case LFUSE__SPAN_MATRICES: return LFUSE__STRIDE_MATRIX;
    default: return LFUSE__STRIDE_REPEAT;
    }
}

/* List kernels count within a chunk, so there is one variant for all sizes. */
static void list_class(const lfuse__step *step, lfuse__kernel_class *k, lfuse__list_class *l)
{
    int i;

    k->body = &step->body;
    k->noperands = step->noperands;
    k->rank = 1;
    k->naxes = step->kind == LFUSE__STEP_MEMBERS || step->kind == LFUSE__STEP_LINES;
    l->walk = step->lists.walked == LFUSE__SPAN_ROWS      ? LFUSE__WALK_ROWS
              : step->lists.walked == LFUSE__SPAN_COLUMNS ? LFUSE__WALK_COLUMNS
                                                    : LFUSE__WALK_ELEMENTS;
    l->columns = step->lists.columns;
    k->index64 = false; /* counted within a chunk */
    for (i = 0; i < step->noperands; i++) {
        const lfuse__operand *o = &step->operands[i];
        k->operands[i].type = o->type;
        k->operands[i].written = o->written;
        k->operands[i].fixed = o->span == LFUSE__SPAN_TENSOR &&
                               (step->kind == LFUSE__STEP_MEMBERS || (step->kind == LFUSE__STEP_MULTI && o->written));
        k->operands[i].shape = o->place == LFUSE__PLACE_SHAPE;
        k->operands[i].inner = list_stride(step, o);
    }
}

/* Its form is chosen by the lists of an instance. */
static void grouped_class(const lfuse__step *step, lfuse__kernel_class *k)
{
    list_class(step, k, &k->members);
    k->product.ta = step->lists.transposed[LFUSE__PRODUCT_A];
    k->product.tb = step->lists.transposed[LFUSE__PRODUCT_B];
}

static bool runs_along(const lfuse__plan_body *plan, const lfuse__operand *o, int axis)
{
    return lfuse__plan_stepping(plan, o, axis) == LFUSE__STEPPING_UNIT;
}

/* Which axis the memory of operand i of a product runs along: of what is made, that of the first matrix it takes. */
static bool transposed(const lfuse__plan_body *plan, const lfuse__step *step, int i, const int8_t *sides)
{
    const int row = step->rank - 2, column = step->rank - 1;
    const bool made = step->kind == LFUSE__STEP_GEMM && step->product.prologue[i];
    const lfuse__operand *o = made ? NULL : &step->operands[i];
    int j;

    for (j = LFUSE__PRODUCT_OWN; j < step->noperands && !o; j++) {
        const lfuse__operand *p = &step->operands[j];
        if (sides[j] == i && p->place != LFUSE__PLACE_INDEX && p->axis[row] >= 0 && p->axis[column] >= 0) o = p;
    }
    return o && !runs_along(plan, o, column) && runs_along(plan, o, row);
}

/* How far what the step takes is walked along its last axis, as that lies in memory. */
static lfuse_size extent_along(const lfuse__step *step, int side, bool transposed)
{
    if (side == LFUSE__PRODUCT_A) return transposed ? step->product.m : step->product.k;
    return side == LFUSE__PRODUCT_B && transposed ? step->product.k : step->extents[step->rank - 1];
}

static bool reduces(const lfuse__body *body)
{
    int i;

    for (i = 0; i < body->ninstr; i++)
        if (body->instr[i].kind == LFUSE__I_REDUCE) return true;
    return false;
}

/* Whether all products of a batch share the operand. */
static bool shared_by_batch(const lfuse__step *step, const lfuse__operand *o)
{
    for (int i = 0; i < step->rank - 2; i++)
        if (o->axis[i] >= 0) return false;
    return step->rank > 2;
}

/* Its form is chosen by sizes. */
static void product_class(const lfuse__plan_body *plan, const lfuse__step *step, lfuse__kernel_class *k)
{
    const int row = step->rank - 2, column = step->rank - 1;
    int8_t sides[LFUSE__MAX_OPERANDS];
    int i;

    k->body = &step->body;
    k->rank = 2;
    k->naxes = reduces(k->body);
    k->noperands = step->noperands;
    k->product.batched = step->rank > 2;
    if (step->kind == LFUSE__STEP_GEMM) {
        memcpy(k->product.prologue, step->product.prologue, sizeof k->product.prologue);
        k->product.precision = step->product.precision;
        for (i = 0; i < 2; i++) {
            k->product.frozen[i] = step->product.frozen[i] && !step->prepare;
            k->product.shared[i] = shared_by_batch(step, &step->operands[i]);
        }
    }
    lfuse__product_sides(k, sides);
    k->product.ta = transposed(plan, step, LFUSE__PRODUCT_A, sides);
    k->product.tb = transposed(plan, step, LFUSE__PRODUCT_B, sides);
    for (i = 0; i < step->noperands; i++) {
        const lfuse__operand *o = &step->operands[i];
        const bool transposed = (sides[i] == LFUSE__PRODUCT_A && k->product.ta) ||
                            (sides[i] == LFUSE__PRODUCT_B && k->product.tb);
        k->operands[i].type = o->type;
        k->operands[i].written = o->written;
        k->operands[i].index = o->place == LFUSE__PLACE_INDEX;
        if (i < LFUSE__PRODUCT_OWN) continue;
        k->operands[i].inner = LFUSE__STRIDE_UNIT; /* of one column: never stepped along */
        if (extent_along(step, sides[i], transposed) == 1) continue;
        k->operands[i].inner = stride_along(plan, o, transposed ? row : column);
        k->operands[i].fixed = sides[i] < 0 && !o->written && k->operands[i].inner == LFUSE__STRIDE_UNIT &&
                               lfuse__plan_stepping(plan, o, row) == LFUSE__STEPPING_NONE;
    }
}

static void strassen_class(const lfuse__plan_body *plan, const lfuse__step *step, lfuse__kernel_class *k)
{
    const lfuse__strassening *s = &step->strassen;

    product_class(plan, step, k);
    k->product.ta = k->product.tb = false;
    k->strassen = (lfuse__strassen_class){ .levels_in = s->in, .levels_out = s->out, .right = s->right,
                                            .transposed = s->transposed };
}

/* ---- by kind of step: steps.h ---- */

int lfuse__classes_of_loop(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                           lfuse__kernel_class *wanted)
{
    wanted[0].family = lfuse__step_rows[step->kind].family;
    tensor_class(plan, step, index64, &wanted[0]);
    return 1;
}

int lfuse__classes_of_lists(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                            lfuse__kernel_class *wanted)
{
    const bool lines = step->kind == LFUSE__STEP_LINES;

    (void)plan, (void)index64;
    wanted[0].family = lfuse__step_rows[step->kind].family;
    list_class(step, &wanted[0], &wanted[0].list);
    wanted[1].family = LFUSE__FAMILY_TABLE;
    wanted[2] = wanted[0];
    wanted[2].family = lines ? LFUSE__FAMILY_LINES : LFUSE__FAMILY_PARTIAL;
    return lines || (step->kind == LFUSE__STEP_MEMBERS && lfuse__members_reduces(&wanted[0])) ? 3 : 2;
}

int lfuse__classes_of_grouped(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                              lfuse__kernel_class *wanted)
{
    (void)plan, (void)index64;
    wanted[0].family = LFUSE__FAMILY_GROUPED;
    grouped_class(step, &wanted[0]);
    wanted[1].family = LFUSE__FAMILY_TABLE;
    return 2;
}

/* All phases, in order. */
int lfuse__classes_of_scatter(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                              lfuse__kernel_class *wanted)
{
    int i;

    (void)plan, (void)index64;
    for (i = 0; i < LFUSE__SCATTER_PHASES; i++)
        lfuse__scatter_class((lfuse__scatter_phase)i, step->operands[0].type, step->operands[1].type, &wanted[i]);
    return LFUSE__SCATTER_PHASES;
}

int lfuse__classes_of_product(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                              lfuse__kernel_class *wanted)
{
    (void)index64;
    if (!step->product.native) return 0;
    wanted[0].family = LFUSE__FAMILY_PRODUCT;
    product_class(plan, step, &wanted[0]);
    return 1;
}

int lfuse__classes_of_strassen(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                               lfuse__kernel_class *wanted)
{
    (void)index64;
    wanted[0].family = LFUSE__FAMILY_STRASSEN;
    strassen_class(plan, step, &wanted[0]);
    return 1;
}

int lfuse__classes_of_nothing(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                              lfuse__kernel_class *wanted)
{
    (void)plan, (void)step, (void)index64, (void)wanted;
    return 0;
}

int lfuse__step_classes(const lfuse__plan_body *plan, const lfuse__step *step, bool index64,
                        lfuse__kernel_class wanted[LFUSE__WANTED_MAX])
{
    memset(wanted, 0, LFUSE__WANTED_MAX * sizeof *wanted);
    return lfuse__step_rows[step->kind].classes(plan, step, index64, wanted);
}

/* Without being asked for, arguments carry what every CUDA device takes: larger blocks make a launch slower. */
static uint32_t carried_bytes(const lfuse__facts *facts, lfuse_transport transport)
{
    const uint32_t most = facts->info.max_argument_bytes;

    if (transport == LFUSE_TRANSPORT_ARGS) return most;
    if (transport != LFUSE_TRANSPORT_DEFAULT || !facts->addresses || facts->vector_lanes) return 0;
    return most < LFUSE__SMALL_ARGUMENTS ? most : LFUSE__SMALL_ARGUMENTS;
}

int lfuse__list_carried(const lfuse__facts *facts, lfuse_transport transport, int count, lfuse__kernel_class *wanted)
{
    const uint32_t bytes = carried_bytes(facts, transport);
    int i, carried = LFUSE__CARRIED_MOST;

    for (i = 0; i < count; i++) {
        int most = carried;
        if (wanted[i].family != LFUSE__FAMILY_TABLE)
            most = lfuse__carried_most(&wanted[i], lfuse__family_of(&wanted[i])->carry, facts, bytes);
        if (most < carried) carried = most;
    }
    for (i = 0; i < count; i++)
        if (wanted[i].family == LFUSE__FAMILY_GROUPED) wanted[i].members.carried = carried;
        else if (wanted[i].family != LFUSE__FAMILY_TABLE) wanted[i].list.carried = carried;
    return carried;
}

static int64_t count(const lfuse_graph *g, int rank, const lfuse_size *shape, bool least)
{
    int64_t product = 1, low, high;
    int i;

    for (i = 0; i < rank; i++) {
        lfuse__size_bounds(g, shape[i], &low, &high);
        if (__builtin_mul_overflow(product, least ? low : high, &product)) product = INT64_MAX;
    }
    return product;
}

static void bounds(const lfuse_graph *g, int rank, const lfuse_size *extents, uint64_t *low_high)
{
    low_high[0] = (uint64_t)count(g, rank, extents, true);
    low_high[1] = (uint64_t)count(g, rank, extents, false);
}

void lfuse__row_bounds(const lfuse__plan_body *plan, const lfuse__step *step, uint64_t rows[2], uint64_t length[2])
{
    const int kept = step->rank - step->naxes;

    bounds(plan->graph, kept, step->extents, rows);
    bounds(plan->graph, step->naxes, step->extents + kept, length);
}

int lfuse__row_classes(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts,
                       const lfuse__kernel_class *k, lfuse__kernel_class classes[LFUSE__ROW_CLASSES])
{
    uint64_t rows[2], length[2];
    int i, n, all;

    lfuse__row_bounds(plan, step, rows, length);
    all = n = lfuse__rows_forms(facts, rows, length, k, classes);
    for (i = 0; i < n; i++) {
        if (classes[i].rows.form != LFUSE__ROWS_PARTIAL) continue;
        classes[all] = classes[i];
        classes[all++].rows.form = LFUSE__ROWS_FOLD;
    }
    return all;
}

bool lfuse__row_length_fixed(const lfuse__plan_body *plan, const lfuse__step *step)
{
    uint64_t rows[2], length[2];

    lfuse__row_bounds(plan, step, rows, length);
    return length[0] == length[1];
}

void lfuse__step_indexing(const lfuse__plan_body *plan, const lfuse__step *step, bool *small, bool *large)
{
    const lfuse__over over = lfuse__step_over(step);
    int i;

    *small = true;
    *large = true;
    if (over != LFUSE__OVER_ELEMENTS && over != LFUSE__OVER_ROWS) {
        *small = false;
        return;
    }
    *small = count(plan->graph, step->rank, step->extents, true) <= INT32_MAX;
    *large = count(plan->graph, step->rank, step->extents, false) > INT32_MAX;
    for (i = 0; i < step->noperands; i++) { /* a few elements may lie far apart */
        const lfuse__operand *o = &step->operands[i];
        *large = *large || count(plan->graph, o->rank, o->shape, false) > INT32_MAX;
    }
}
