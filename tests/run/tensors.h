/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors on the stub, for tests of what is done with them. */
#ifndef TESTS_RUN_TENSORS_H
#define TESTS_RUN_TENSORS_H

#include "libfuse.h"
#include "tests/stub/faults.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

static lfuse_device *dev;

static inline void begin(void)
{
    test_stub_begin();
    OK(lfuse_device_open("stub:0", &dev));
}

/* The teardown of tests that begin, and of others. */
static inline void end(void)
{
    if (!dev) return;
    lfuse_device_close(dev);
    dev = NULL;
    test_stub_end();
}

static inline lfuse_tensor *make(lfuse_type type, int rank, const int64_t *shape)
{
    return new_tensor(dev, type, rank, shape);
}

static inline void lazy(void)
{
    lfuse__stub.lazy = true;
}

#endif
