/* SPDX-License-Identifier: Apache-2.0 */
/* Row kernels for actual sizes: their form, and when they are better left to several kernels. */
#include <inttypes.h>

#include "common/base/error.h"
#include "common/run/instantiate/loop.h"

static lfuse__stride_class along(const lfuse__tensor_loop *l, const lfuse__walk *w)
{
    const int64_t stride = w->strides[l->rank - 1];

    if (!w->element) return LFUSE__STRIDE_REPEAT;
    if (!lfuse__walk_is_single(l, w)) return LFUSE__STRIDE_SPLIT;
    if (stride == 1 || (w->written && l->length <= 1)) return LFUSE__STRIDE_UNIT; /* a row of one: no step */
    return stride ? LFUSE__STRIDE_ANY : LFUSE__STRIDE_REPEAT;
}

void lfuse__row_operand(const lfuse__tensor_loop *l, const lfuse__walk *w, lfuse__kernel_operand *o)
{
    int i;

    o->inner = along(l, w);
    o->fixed = !w->gathered;
    for (i = 0; i < l->rank - l->naxes; i++)
        if (l->extents[i] != 1 && w->strides[i]) o->fixed = false;
}

/*
 * A kernel that takes each row by one work-group (on CPUs: by one thread) leaves most of the device idle when rows are
 * few, and reads them anew for every sweep when they are long. Several kernels, each with many work-groups a row, cost
 * a few launches: some 10 us, in which one work-group reads so many elements.
 */
enum { LONG_ROW = 131072, LONG_ROW_OF_LANES = 32768 };

static bool too_few(const lfuse_instance *in, const lfuse__tensor_loop *l, const lfuse__kernel_class *k)
{
    const bool lanes = in->facts->vector_lanes;

    if (k->rows.form == LFUSE__ROWS_PARTIAL || (k->rows.held && !lanes)) return false;
    return l->length >= (lanes ? LONG_ROW_OF_LANES : LONG_ROW) && 2 * l->rows <= in->facts->info.compute_units;
}

lfuse_status lfuse__row_choose(const lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__tensor_loop *l,
                               lfuse__kernel_class *k)
{
    const lfuse__kernel_family *family = lfuse__family_of(k);
    const lfuse_instance *in = ctx->in;

    if (!family->choose) return LFUSE_OK;
    family->choose(in->facts, (uint64_t)l->rows, (uint64_t)l->length, lfuse__row_length_fixed(in->body, step), k);
    if (k->family == LFUSE__FAMILY_ROWS && ctx->may_share_launch)
        lfuse__rows_choose_shared(in->facts, (uint64_t)l->length, k);
    if (k->family != LFUSE__FAMILY_ROWS || !ctx->has_next || !too_few(in, l, k)) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%" PRId64 " rows of %" PRId64 " elements would keep few of %u compute "
                        "units busy", l->rows, l->length, in->facts->info.compute_units);
}
