/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors on the stub, for tests of what is done with them. */
#ifndef TESTS_RUN_TENSORS_H
#define TESTS_RUN_TENSORS_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libfuse.h"
#include "tests/stub/faults.h"
#include "tests/support/main.h"

#define DIMS(...) ((const int64_t[]){__VA_ARGS__})
#define ck_ok(call)                                                                                                    \
    do {                                                                                                               \
        lfuse_status ok_status_ = (call);                                                                              \
        ck_assert_msg(ok_status_ == LFUSE_OK, "%s: %s", lfuse_status_name(ok_status_), lfuse_last_error());            \
    } while (0)
#define ck_refused(call, status)                                                                                       \
    do {                                                                                                               \
        lfuse_status refused_ = (call);                                                                                \
        ck_assert_msg(refused_ == (status), "%s instead of %s: %s", lfuse_status_name(refused_),                       \
                      lfuse_status_name(status), lfuse_last_error());                                                  \
        ck_assert_msg(lfuse_last_error()[0] != '\0', "no message");                                                    \
    } while (0)

static lfuse_device *dev;

static inline void begin(void)
{
    test_stub_begin();
    ck_ok(lfuse_device_open("stub:0", &dev));
}

static inline void end(void)
{
    lfuse_device_close(dev);
    test_stub_end();
}

static inline lfuse_tensor *make(lfuse_type type, int rank, const int64_t *shape)
{
    lfuse_tensor *t = NULL;
    ck_ok(lfuse_tensor_create(dev, type, rank, shape, &t));
    return t;
}

static inline void lazy(void)
{
    lfuse__stub.lazy = true;
}

#endif
