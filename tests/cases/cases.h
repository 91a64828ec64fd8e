/* SPDX-License-Identifier: Apache-2.0 */
/* A case is written once: a function of `h` with its name and flags, which puts itself among the others. */
#ifndef TESTS_CASES_CASES_H
#define TESTS_CASES_CASES_H

#include "tests/cases/harness.h"

#define LENGTH(a) ((int)(sizeof(a) / sizeof *(a)))

#define CASE(function, flags)                                                                                          \
    static void function(harness *h);                                                                                  \
    __attribute__((constructor)) static void register_##function(void)                                                 \
    {                                                                                                                  \
        static harness_case own = {#function, function, flags, __FILE__, __LINE__, NULL};                              \
        harness_register(&own);                                                                                        \
    }                                                                                                                  \
    static void function(harness *h)

#endif
