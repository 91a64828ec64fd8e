/* SPDX-License-Identifier: Apache-2.0 */
/* The n-th-failure loop: a scenario is run again and again, each time with another call of the backend failing. */
#ifndef TESTS_STUB_FAULTS_H
#define TESTS_STUB_FAULTS_H

#include "libfuse/device.h"
#include "tests/stub/stub.h"

/*
 * What is done on an open device. Gives back all that it made, whatever happens, and returns the first error; after
 * LFUSE_OK the results were right.
 */
typedef lfuse_status test_scenario(lfuse_device *device);

/* The stub as the only backend in front of the others, its counters cleared. */
void test_stub_begin(void);
/* Nothing made since then is left alive, nobody wrote outside his memory or did what the contract forbids. */
void test_stub_end(void);

/*
 * Opens stub:0, fails call n of any slot during the scenario (once, then: from it on), and demands: LFUSE_OK, or
 * `status` with a message; the same scenario right afterwards on the same device; nothing left alive after closing.
 * n = 1, 2, 3, ... until no call was there to fail. `settings` (may be NULL) is called before the device is opened.
 */
void test_faults(test_scenario *scenario, lfuse_status status, void (*settings)(void));
/* The same with the failures starting at the opening of the device, which may also say ERR_NO_DEVICE. */
void test_faults_from_open(test_scenario *scenario, lfuse_status status, void (*settings)(void));

#endif
