/* SPDX-License-Identifier: Apache-2.0 */
/* Assertions about calls that return a status. */
#ifndef TESTS_SUPPORT_STATUS_H
#define TESTS_SUPPORT_STATUS_H

#include "libfuse.h"
#include "tests/support/main.h"

#define ck_ok(call)                                                                                                    \
    do {                                                                                                               \
        lfuse_status ok_status_ = (call);                                                                              \
        ck_assert_msg(ok_status_ == LFUSE_OK, "%s: %s", lfuse_status_name(ok_status_), lfuse_last_error());            \
    } while (0)
/* That status, and a message. */
#define ck_refused(call, status)                                                                                       \
    do {                                                                                                               \
        lfuse_status refused_ = (call);                                                                                \
        ck_assert_msg(refused_ == (status), "%s instead of %s: %s", lfuse_status_name(refused_),                       \
                      lfuse_status_name(status), lfuse_last_error());                                                  \
        ck_assert_msg(lfuse_last_error()[0] != '\0', "no message");                                                    \
    } while (0)
#endif
