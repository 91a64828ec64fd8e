/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a device multiplies and copies, for plans that weigh one against the other; of common/run/ alone. */
#ifndef COMMON_RUN_RATES_H
#define COMMON_RUN_RATES_H

#include "common/device/device.h"

/*
 * The rates among the facts: what wisdom has, else, with `measure`, what is timed now and becomes wisdom, else what the
 * backend states (0: nothing). `type` f32 or f64: of the products. What cannot be measured is logged, and stays.
 */
lfuse_status lfuse__rates_find(lfuse_device *dev, lfuse_type type, bool measure, lfuse__facts *facts);

#endif
