/* SPDX-License-Identifier: Apache-2.0 */
/* The cases: tables that end with a NULL. */
#ifndef TESTS_CASES_CASES_H
#define TESTS_CASES_CASES_H

#include "tests/cases/harness.h"

#define LENGTH(a) ((int)(sizeof(a) / sizeof *(a)))
#define CASE(function, flags) {#function, function, flags}

extern const harness_case harness_basic_cases[];
extern const harness_case harness_view_cases[];
extern const harness_case harness_take_cases[]; /* look-ups along axes, padding, powers of integers */
extern const harness_case harness_row_cases[];
extern const harness_case harness_join_cases[]; /* look-ups, bundles, small products */
extern const harness_case harness_batch_cases[]; /* products of rank 3 and more */
extern const harness_case harness_product_cases[]; /* types, precisions, epilogues */
extern const harness_case harness_prologue_cases[]; /* pointwise work on their operands */
extern const harness_case harness_sum_cases[];      /* sums over the rows of products */
extern const harness_case harness_strassen_cases[]; /* products by Strassen's algorithm */
extern const harness_case harness_grouped_cases[]; /* products of lists */
extern const harness_case harness_member_cases[]; /* reductions of lists */
extern const harness_case harness_line_cases[];   /* rows and columns of lists */

#endif
