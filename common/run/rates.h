/* SPDX-License-Identifier: Apache-2.0 */
/* How fast a device multiplies and copies, for plans that weigh one against the other; of common/run/ alone. */
#ifndef COMMON_RUN_RATES_H
#define COMMON_RUN_RATES_H

#include "common/run/run.h"

/*
 * The device's facts, with the rates that a model of products by Strassen's algorithm decides by, where the graph and
 * the options have it decide: what wisdom has, else, where effort is to be made, what is timed now and becomes wisdom,
 * else what the backend states (0: nothing). What cannot be measured is logged, and stays.
 */
lfuse_status lfuse__rates_for(lfuse_device *dev, const lfuse_graph *graph, const lfuse_plan_options *options,
                              lfuse__facts *facts);

#endif
