/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kinds of steps. */
#include "common/run/steps.h"

#include "common/base/error.h"
#include "common/run/instantiate.h"

static lfuse_status instantiate_matmul(lfuse__instantiation *ctx, const lfuse__step *step)
{
    return step->product.native ? lfuse__instantiate_product(ctx, step) : lfuse__instantiate_gemm(ctx, step);
}

const lfuse__step_row lfuse__step_rows[LFUSE__STEP_KINDS] = {
    [LFUSE__STEP_POINTWISE] = {lfuse__instantiate_kernel, lfuse__classes_of_loop, lfuse__want_classes, 1},
    [LFUSE__STEP_ROWS] = {lfuse__instantiate_kernel, lfuse__classes_of_loop, lfuse__want_rows, 1},
    [LFUSE__STEP_MULTI] = {lfuse__instantiate_lists, lfuse__classes_of_lists, lfuse__want_lists, 1},
    [LFUSE__STEP_MEMBERS] = {lfuse__instantiate_lists, lfuse__classes_of_lists, lfuse__want_lists, 2},
    [LFUSE__STEP_LINES] = {lfuse__instantiate_lists, lfuse__classes_of_lists, lfuse__want_lists, 2},
    [LFUSE__STEP_GROUPED] = {lfuse__instantiate_lists, lfuse__classes_of_grouped, NULL, 1},
    [LFUSE__STEP_SCATTER] = {lfuse__instantiate_scatter, lfuse__classes_of_scatter, lfuse__want_classes, 1},
    [LFUSE__STEP_GEMM] = {instantiate_matmul, lfuse__classes_of_product, lfuse__want_products, 1},
    [LFUSE__STEP_STRASSEN] = {lfuse__instantiate_strassen, lfuse__classes_of_strassen, lfuse__want_classes, 1},
    [LFUSE__STEP_NETWORK] = {NULL, NULL, NULL, 2},
    [LFUSE__STEP_BUNDLE] = {lfuse__instantiate_bundle, NULL, lfuse__want_bundle, 1},
};
