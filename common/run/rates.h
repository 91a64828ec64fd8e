/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a device multiplies and copies, for plans that weigh one against the other. For common/run/ alone. */
#ifndef COMMON_RUN_RATES_H
#define COMMON_RUN_RATES_H

#include "common/run/run.h"

/*
 * Copies the device's facts to *facts, with the rates by which the model of Strassen's algorithm decides, where graph
 * and options let it decide. In operations and bytes a second, a rate is the first of these that there is:
 *  - what wisdom has;
 *  - with the effort to measure, what is timed now, which becomes wisdom (a failure is logged);
 *  - what the backend states, 0 where it states nothing.
 */
lfuse_status lfuse__rates_for(lfuse_device *dev, const lfuse_graph *graph, const lfuse_plan_options *options,
                              lfuse__facts *facts);

#endif
