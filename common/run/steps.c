/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kinds of steps. */
#include "common/run/steps.h"

#include "common/base/error.h"
#include "common/run/instance.h"

static lfuse_status furnish_matmul(lfuse_instance *in, const lfuse__step *step)
{
    return step->product.native ? lfuse__furnish_product(in, step) : lfuse__furnish_gemm(in, step);
}

const lfuse__step_row lfuse__step_rows[LFUSE__STEP_KINDS] = {
    [LFUSE__STEP_POINTWISE] = {lfuse__furnish_kernel, lfuse__classes_of_loop, lfuse__want_classes, 1},
    [LFUSE__STEP_ROWS] = {lfuse__furnish_kernel, lfuse__classes_of_loop, lfuse__want_rows, 1},
    [LFUSE__STEP_MULTI] = {lfuse__furnish_lists, lfuse__classes_of_lists, lfuse__want_lists, 1},
    [LFUSE__STEP_MEMBERS] = {lfuse__furnish_lists, lfuse__classes_of_lists, lfuse__want_lists, 2},
    [LFUSE__STEP_LINES] = {lfuse__furnish_lists, lfuse__classes_of_lists, lfuse__want_lists, 2},
    [LFUSE__STEP_GROUPED] = {lfuse__furnish_lists, lfuse__classes_of_grouped, NULL, 1},
    [LFUSE__STEP_SCATTER] = {lfuse__furnish_scatter, lfuse__classes_of_scatter, lfuse__want_classes, 1},
    [LFUSE__STEP_GEMM] = {furnish_matmul, lfuse__classes_of_product, lfuse__want_products, 1},
    [LFUSE__STEP_STRASSEN] = {lfuse__furnish_strassen, lfuse__classes_of_strassen, lfuse__want_classes, 1},
    [LFUSE__STEP_NETWORK] = {NULL, NULL, NULL, 2},
    [LFUSE__STEP_BUNDLE] = {lfuse__furnish_bundle, NULL, lfuse__want_bundle, 1},
};
