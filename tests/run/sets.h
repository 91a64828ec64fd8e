/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of small members in one block of memory, misaligned, with guards between them; on the stub and on devices. They
 * go when the device has had the test.
 */
#ifndef TESTS_RUN_SETS_H
#define TESTS_RUN_SETS_H

#include <libfuse.h>

#include "common/device/device.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

extern lfuse_device *device;
extern lfuse_stream *stream;

/* A test's body for every device: the stub by slots and items, the stub by addresses and lanes, then those found. */
void on_every_device(void (*test)(void));
uint64_t launches(void);

/* Member i has set_size(i) elements: some none, most few. */
int64_t set_size(int64_t i);

typedef struct set {
    lfuse_type type;
    int64_t count;
    lfuse_tensor *memory;
    lfuse_tensor **members;
    lfuse_list *list;
    int64_t *starts; /* of the members, in elements of `memory` */
    int64_t length;  /* of `memory` */
    unsigned seed;
    double low, high;
} set;

/* Elements from `seed`, between low and high; in whole numbers for integers; guards around the members. */
set set_make(lfuse_type type, int64_t count, unsigned seed, double low, double high);
/* Another set with the contents that this one began with. */
set set_again(const set *s);
/* Contents as doubles; what the members have, from starts[i] on. */
double *set_read(const set *s);
/* Every member has the same bits in both, and the guards of `is` are whole. */
void set_expect(const char *what, const set *is, const set *wanted);

#endif
