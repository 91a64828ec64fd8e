/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The verdict on a network of the suite dense. The graph's oracle bounds errors by their worst case, which for eight
 * layers is larger than the results are: at a width of 512 by 90 000 times. Rows, sampled as bench/sample.h says, are
 * held to what errors of random signs can be (lfuse__oracle_network_rows).
 */
#ifndef BENCH_NETWORK_CHECK_H
#define BENCH_NETWORK_CHECK_H

#include "bench/fixture.h"

/* The fixture's `verify`: tensors x, w0, b0, w1, b1, ..., y of one type that is not f64; `levels` counts. */
lfuse_status bench_network_verify(fixture *f, bench_variant *v);

#endif
