/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The global norm of an optimizer whose step takes several plans: a plan of its own for each type that gradients have
 * and are computed in, over all groups of these types, leaves the sum of squares in a number on the device. The plans
 * of the groups read these numbers, add them and draw the root.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "common/base/error.h"
#include "common/optim/optimizer.h"

static bool takes(const lfuse__optim_norm *norm, const lfuse__optim_form *form)
{
    return norm->gradient == form->gradient && norm->computed == lfuse__optim_type(form);
}

static lfuse_status create(lfuse_optimizer *o, const lfuse__optim_form *form, const lfuse_plan_options *options)
{
    lfuse__optim_norm *norm = &o->norms[o->nnorms++];

    norm->gradient = form->gradient;
    norm->computed = lfuse__optim_type(form);
    norm->from = calloc((size_t)o->ngroups, sizeof *norm->from);
    if (!norm->from) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d groups)", o->ngroups);
    LFUSE__TRY(lfuse__tensor_create(o->dev, norm->computed, 0, NULL, &norm->sum));
    return lfuse__optim_plan(o, lfuse__optim_norm_graph(form), options, &norm->plan);
}

lfuse_status lfuse__optim_norms_create(lfuse_optimizer *o, const lfuse_plan_options *options)
{
    lfuse__optim_sums sums = { 0 };
    int i, k;

    for (i = 0; i < o->ngroups; i++) {
        for (k = 0; k < o->nnorms && !takes(&o->norms[k], &o->groups[i].form); k++) continue;
        if (k == o->nnorms) LFUSE__TRY(create(o, &o->groups[i].form, options));
    }
    for (k = 0; k < o->nnorms; k++) sums.types[sums.count++] = o->norms[k].computed;
    for (i = 0; i < o->ngroups; i++) o->groups[i].form.sums = sums;
    return LFUSE_OK;
}

void lfuse__optim_norms_free(lfuse_optimizer *o)
{
    int k;

    for (k = 0; k < o->nnorms; k++) {
        lfuse__plan_destroy(o->norms[k].plan);
        lfuse__tensor_release(o->norms[k].sum);
        lfuse__list_release(o->norms[k].g);
        free(o->norms[k].from);
    }
}

/* The gradients of the norm's groups, one group behind the other. */
static lfuse_status join(const lfuse_optimizer *o, lfuse__optim_norm *norm, lfuse_list *const *gradients)
{
    lfuse_list **of = calloc((size_t)o->ngroups, sizeof(lfuse_list *));
    lfuse_status status;
    int i, n = 0;

    if (!of) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d groups)", o->ngroups);
    for (i = 0; i < o->ngroups; i++)
        if (takes(norm, &o->groups[i].form)) of[n++] = gradients[i];
    status = lfuse__list_join(n, of, &norm->g);
    free(of);
    return status;
}

lfuse_status lfuse__optim_norm_refresh(const lfuse_optimizer *o, lfuse__optim_norm *norm, lfuse_list *const *gradients)
{
    int64_t at = 0;
    int i;

    if (!norm->g) LFUSE__TRY(join(o, norm, gradients));
    for (i = 0; i < o->ngroups; i++) {
        if (!takes(norm, &o->groups[i].form)) continue;
        lfuse__optim_follow(norm->g, at, gradients[i], 0, gradients[i]->count, &norm->from[i]);
        at += gradients[i]->count;
    }
    return LFUSE_OK;
}

lfuse_status lfuse__optim_norm_match(lfuse__optim_norm *norm, lfuse_stream *stream, const lfuse_step_inputs *inputs)
{
    lfuse_binding b[3];
    int n = 0;

    b[n++] = lfuse_bind_list("g", norm->g);
    if (inputs && inputs->grad_scale) b[n++] = lfuse_bind_tensor("grad_scale", inputs->grad_scale);
    b[n++] = lfuse_bind_tensor("sum", norm->sum);
    return lfuse__plan_match(norm->plan, stream, b, n);
}
