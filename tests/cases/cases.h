/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_CASES_CASES_H
#define TESTS_CASES_CASES_H

#include "tests/cases/harness.h"

/* Every case; and those whose results D3 promises bit for bit across devices. */
extern const harness_case harness_cases[], harness_exact_cases[];
extern const int harness_case_count, harness_exact_case_count;

#endif
