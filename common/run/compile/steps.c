/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kinds of steps. */
#include "common/run/compile/steps.h"

const lfuse__step_row lfuse__step_rows[LFUSE__STEP_KINDS] = {
    [LFUSE__STEP_POINTWISE] = {lfuse__classes_of_loop, lfuse__want_classes, 1},
    [LFUSE__STEP_ROWS] = {lfuse__classes_of_loop, lfuse__want_rows, 1},
    [LFUSE__STEP_MULTI] = {lfuse__classes_of_lists, lfuse__want_lists, 1},
    [LFUSE__STEP_MEMBERS] = {lfuse__classes_of_lists, lfuse__want_lists, 2},
    [LFUSE__STEP_LINES] = {lfuse__classes_of_lists, lfuse__want_lists, 2},
    [LFUSE__STEP_GROUPED] = {lfuse__classes_of_grouped, NULL, 1},
    [LFUSE__STEP_SCATTER] = {lfuse__classes_of_scatter, lfuse__want_classes, 1},
    [LFUSE__STEP_GEMM] = {lfuse__classes_of_product, lfuse__want_products, 1},
    [LFUSE__STEP_STRASSEN] = {lfuse__classes_of_strassen, lfuse__want_classes, 1},
    [LFUSE__STEP_NETWORK] = {NULL, NULL, 2},
    [LFUSE__STEP_BUNDLE] = {NULL, lfuse__want_bundle, 1},
};
