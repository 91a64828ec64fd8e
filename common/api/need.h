/* SPDX-License-Identifier: Apache-2.0 */
/* The one check that every public function makes by itself: arguments that must not be NULL. */
#ifndef COMMON_API_NEED_H
#define COMMON_API_NEED_H

#include "common/base/error.h"

#define NEED(argument)                                                                                                 \
    do {                                                                                                               \
        if (!(argument)) return lfuse__error(LFUSE_ERR_INVALID, "%s: %s is NULL", __func__, #argument);                \
    } while (0)

#endif
