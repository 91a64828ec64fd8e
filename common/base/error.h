/* SPDX-License-Identifier: Apache-2.0 */
/* Errors are values: the first function that knows records the message, callers return the status untouched. */
#ifndef COMMON_BASE_ERROR_H
#define COMMON_BASE_ERROR_H

#include <stdbool.h>

#include "libfuse/status.h"

/* The longest message, its NUL included; what is longer is cut. */
#define LFUSE__ERROR_SIZE 2048

/* Records the message for this thread and returns `status`, which is not LFUSE_OK. */
lfuse_status lfuse__error(lfuse_status status, const char *format, ...) LFUSE_PRINTF(2, 3);
/* Puts words before the message already there ("step 3: ..."); returns `status`, which is not LFUSE_OK. */
lfuse_status lfuse__error_prefix(lfuse_status status, const char *format, ...) LFUSE_PRINTF(2, 3);

/* The compiler learns that what they return is no success, and so which outputs of a caller are set. */
static inline lfuse_status lfuse__failing(lfuse_status status)
{
    if (status == LFUSE_OK) __builtin_unreachable();
    return status;
}
#define lfuse__error(...) lfuse__failing(lfuse__error(__VA_ARGS__))
#define lfuse__error_prefix(...) lfuse__failing(lfuse__error_prefix(__VA_ARGS__))

/*
 * What there was too little of when something failed: memory, descriptors or threads. The same call may succeed later,
 * so such a failure says nothing about what was asked for and is never remembered. Of errno's values, and of statuses.
 */
bool lfuse__errno_is_shortage(int code);
static inline bool lfuse__is_shortage(lfuse_status status)
{
    return status == LFUSE_ERR_MEMORY || status == LFUSE_ERR_DEVICE_MEMORY;
}

/* A child of fork gets ERR_FORKED, others LFUSE_OK: the first line of every public call that reaches a device. */
lfuse_status lfuse__check_fork(void);
/* The same question without a message: destroying does nothing in such a child. */
bool lfuse__forked(void);
/* From now on a child of fork is refused: called before the first vendor library is loaded. */
lfuse_status lfuse__fork_watch(void);
/* This thread's message, "" when there is none. */
const char *lfuse__error_message(void);

/* For a failure that the caller deals with itself: puts the message back that was there before. */
typedef struct lfuse__saved_error { char text[LFUSE__ERROR_SIZE]; } lfuse__saved_error;
void lfuse__error_save(lfuse__saved_error *saved);
void lfuse__error_restore(const lfuse__saved_error *saved);

#define LFUSE__TRY(call)                                                                                               \
    do {                                                                                                               \
        lfuse_status try_status_ = (call);                                                                             \
        if (try_status_ != LFUSE_OK) return try_status_;                                                               \
    } while (0)

#endif
