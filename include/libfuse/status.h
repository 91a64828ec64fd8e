/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBFUSE_STATUS_H
#define LIBFUSE_STATUS_H

#include <libfuse/base.h>

/** Every status: name, number, text. The numbers are part of the binary interface. */
#define LFUSE_STATUS_MAP(X)                                                                                            \
    X(OK, 0, "success")                                                                                                \
    X(ERR_INVALID, 1, "invalid argument")                                                                              \
    X(ERR_MEMORY, 2, "out of host memory")                                                                             \
    X(ERR_DEVICE_MEMORY, 3, "out of device memory")                                                                    \
    X(ERR_NO_DEVICE, 4, "no such device")                                                                              \
    X(ERR_UNSUPPORTED, 5, "not supported by this device or build")                                                     \
    X(ERR_LIBRARY, 6, "a run-time library is missing or failed")                                                       \
    X(ERR_TYPE, 7, "element type does not fit")                                                                        \
    X(ERR_RANK, 8, "rank does not fit")                                                                                \
    X(ERR_SHAPE, 9, "shapes do not fit together")                                                                      \
    X(ERR_OVERFLOW, 10, "a size is too large")                                                                         \
    X(ERR_BOUNDS, 11, "a size variable is out of its bounds")                                                          \
    X(ERR_NAME, 12, "unknown or repeated name")                                                                        \
    X(ERR_BINDING, 13, "a binding is missing, doubled or of the wrong kind")                                           \
    X(ERR_CONTEXT, 14, "the object belongs to another device or context")                                              \
    X(ERR_CLOSED, 15, "the object was closed")                                                                         \
    X(ERR_OVERLAP, 16, "memory that is written overlaps other memory")                                                 \
    X(ERR_STATE, 17, "the call does not fit the object's state")                                                       \
    X(ERR_COMPILE, 18, "a kernel did not compile")                                                                     \
    X(ERR_DEVICE, 19, "the device or its driver reported an error")                                                    \
    X(ERR_DEVICE_LOST, 20, "the device is lost")                                                                       \
    X(ERR_FORKED, 21, "the device was opened before fork")                                                             \
    X(ERR_IO, 22, "input or output failed")                                                                            \
    X(NOT_READY, 23, "not finished yet")                                                                               \
    X(ERR_INDEX, 24, "an index is out of range")                                                                       \
    X(ERR_NONFINITE, 25, "a number is infinite or no number")

typedef enum lfuse_status {
#define LFUSE_STATUS_ENUM(name, number, text) LFUSE_##name = number,
    LFUSE_STATUS_MAP(LFUSE_STATUS_ENUM)
#undef LFUSE_STATUS_ENUM
} lfuse_status;

LFUSE_BEGIN_DECLS

/** "LFUSE_ERR_SHAPE" and the like; "LFUSE_?" for a number that is no status. Static. */
LFUSE_API const char *lfuse_status_name(lfuse_status status);
/** The status in words. Static. */
LFUSE_API const char *lfuse_status_text(lfuse_status status);
/**
 * What the last failed call of this thread had to say: cause, argument and numbers, one line without newline; ""
 * when none has failed. Valid until the thread's next failing call.
 */
LFUSE_API const char *lfuse_last_error(void);

LFUSE_END_DECLS
#endif
