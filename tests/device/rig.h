/* SPDX-License-Identifier: Apache-2.0 */
/* A device of the stub and a stream for each test of tests/device/, and what a test takes of the waist. */
#ifndef TESTS_DEVICE_RIG_H
#define TESTS_DEVICE_RIG_H

#include "common/base/error.h"
#include "common/device/device.h"
#include "tests/stub/faults.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

static lfuse_device *dev;
static lfuse_stream *s;

/* Behind test_stub_begin and the settings of the test. */
static inline void open_device(void)
{
    OK(lfuse_device_open("stub:0", &dev));
    OK(lfuse_stream_create(dev, &s));
}

/* For tests whose settings are those of every stub. */
static inline void begin(void)
{
    test_stub_begin();
    open_device();
}

static inline void end(void)
{
    lfuse_stream_destroy(s);
    lfuse_device_close(dev);
    s = NULL, dev = NULL;
    test_stub_end();
}

/* ---- owned by the test, see tests/support/objects.h ---- */

static inline void destroy_range(void *range)
{
    lfuse__range_release(range);
}

static inline void destroy_program(void *program)
{
    lfuse__program_release(program);
}

static inline void destroy_kernel(void *kernel)
{
    lfuse__kernel_destroy(kernel);
}

static inline lfuse__range *take_of(lfuse_device *device, uint64_t bytes)
{
    lfuse__range *range = NULL;

    OK(lfuse__range_create(device, bytes, &range));
    return objects_own(range, destroy_range);
}

static inline lfuse__range *take(uint64_t bytes)
{
    return take_of(dev, bytes);
}

/* Before the test is over. */
static inline void give_back(lfuse__range *range)
{
    objects_drop(range, destroy_range);
}

static inline lfuse__kernel *kernel_of(const char *text, const char *name)
{
    lfuse__program *program;
    lfuse__kernel *kernel;

    OK(lfuse__program_get(dev, text, &program));
    objects_own(program, destroy_program);
    OK(lfuse__kernel_create(program, name, &kernel));
    return objects_own(kernel, destroy_kernel);
}

static inline lfuse_device_counters counters(void)
{
    return counters_of(dev);
}

#endif
