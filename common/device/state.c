/* SPDX-License-Identifier: Apache-2.0 */
/* Whether a device can be used, what is known of it, and its references: what every other file here asks. */
#include "common/device/internal.h"

#include <stdio.h>

#include "common/base/env.h"

const lfuse__facts *lfuse__device_facts(const lfuse_device *dev)
{
    return &dev->facts;
}

static lfuse_status state_error(const lfuse_device *dev, int state)
{
    if (state & LFUSE__CLOSED) return lfuse__error(LFUSE_ERR_CLOSED, "device %s was closed", dev->facts.info.name);
    return lfuse__error(LFUSE_ERR_DEVICE_LOST, "device %s is lost: %s", dev->facts.info.name, dev->lost_reason);
}

lfuse_status lfuse__device_usable(lfuse_device *dev)
{
    int state = atomic_load_explicit(&dev->state, memory_order_acquire);

    if (__builtin_expect(lfuse__forked(), 0)) return lfuse__check_fork();
    return __builtin_expect(state, 0) ? state_error(dev, state) : LFUSE_OK;
}

lfuse_status lfuse__device_open_still(const lfuse_device *dev)
{
    int state = atomic_load_explicit(&dev->state, memory_order_acquire) & LFUSE__CLOSED;

    if (lfuse__forked()) return lfuse__check_fork();
    return state ? state_error(dev, state) : LFUSE_OK;
}

lfuse_status lfuse__device_note(lfuse_device *dev, lfuse_status status)
{
    if (__builtin_expect(status == LFUSE_OK || status == LFUSE_NOT_READY, 1)) return status;
    /* An error of the driver may be the first sign of a sticky one. */
    if (status == LFUSE_ERR_DEVICE) {
        lfuse__saved_error first;
        lfuse__error_save(&first);
        if (dev->backend->pending(dev->bdev) == LFUSE_ERR_DEVICE_LOST) status = LFUSE_ERR_DEVICE_LOST;
        lfuse__error_restore(&first);
    }
    if (status != LFUSE_ERR_DEVICE_LOST || atomic_flag_test_and_set(&dev->losing)) return status;
    snprintf(dev->lost_reason, sizeof dev->lost_reason, "%s", lfuse__error_message());
    atomic_fetch_or_explicit(&dev->state, LFUSE__LOST, memory_order_release);
    return status;
}

void lfuse__device_retain(lfuse_device *dev)
{
    atomic_fetch_add_explicit(&dev->references, 1, memory_order_relaxed);
}

void lfuse__device_release(lfuse_device *dev)
{
    if (!dev || lfuse__forked()) return;
    if (atomic_fetch_sub_explicit(&dev->references, 1, memory_order_acq_rel) == 1) dev->finalise(dev);
}
