/* SPDX-License-Identifier: Apache-2.0 */
/* The devices of this machine in order of preference, for device.c. */
#ifndef COMMON_DEVICE_REGISTRY_H
#define COMMON_DEVICE_REGISTRY_H

#include "common/device/backend.h"

/* A device of this machine. */
typedef struct lfuse__found {
    const lfuse__backend *backend;
    int index, order; /* the device's number in its backend, the backend's in this build */
    lfuse__facts facts;
} lfuse__found;

/*
 * Lists the devices of a backend, or, where `only` is NULL, of all. The best one comes first; those that facts.unfit
 * says no work can be done on come last. Why a backend has no device, or a device is unfit, is appended to `reasons`.
 * The caller frees the list.
 */
lfuse_status lfuse__registry_list(const lfuse__backend *only, lfuse__found **list, int *count,
                                  lfuse__strbuf *reasons);
/* Loads the backend's libraries, and counts its devices; where there is none, the reason is appended to `reason`. */
lfuse_status lfuse__registry_enumerate(const lfuse__backend *backend, int *count, lfuse__strbuf *reason);
/*
 * Finds the device of that name; where it is NULL or "", that of LFUSE_DEVICE, or else the best one. ERR_UNSUPPORTED:
 * it is unfit. ERR_NO_DEVICE: there is none of that name.
 */
lfuse_status lfuse__registry_choose(const char *name, lfuse__found *found);

#endif
