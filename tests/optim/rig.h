/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small model for tests of optimizers: members of any type on a device, gradients of a formula, one optimizer. All of
 * it goes when the device has had the test.
 */
#ifndef TESTS_OPTIM_RIG_H
#define TESTS_OPTIM_RIG_H

#include <libfuse.h>

#include "common/device/device.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"
#include "tests/support/objects.h"

enum { MOST_DEVICES = 16, MOST_MEMBERS = 16, MOST_ELEMENTS = 4096, MOST_STATES = 5 };

extern lfuse_device *devices[MOST_DEVICES]; /* the stub first, then all that were found */
extern int ndevices;

void open_devices(void);
void close_devices(void);
/* Calls test(device) for each, its name in device_name. */
void on_every_device(void (*test)(lfuse_device *device));
uint64_t launches_of(lfuse_device *device);

/* Dyadic fractions, exact in every type. tests/data/optim/make_trajectories.py has the same. */
double rig_parameter(int member, int64_t i);
double rig_gradient(int member, int64_t i, int t);

typedef struct model {
    lfuse_device *device;
    lfuse_stream *stream;
    lfuse_type type, gradient_type;
    int members;
    int64_t elements[MOST_MEMBERS];
    lfuse_tensor *p[MOST_MEMBERS], *g[MOST_MEMBERS];
    lfuse_list *parameters, *gradients;
} model;

model model_of(lfuse_device *device, lfuse_type type, lfuse_type gradient_type, int members, const int64_t *elements);
/* The same; members of which `columns` is not 0 are matrices. */
model model_shaped(lfuse_device *device, lfuse_type type, lfuse_type gradient_type, int members,
                   const int64_t *elements, const int64_t *columns);
/* Writes the gradients of step t, times `factor`. */
void model_gradients(const model *m, int t, double factor);
/* One step of an optimizer of this model alone, with the gradients of step t. */
void model_step(const model *m, lfuse_optimizer *o, int t);
/* All elements of a tensor after what the stream has to do. */
void read_all(const model *m, const lfuse_tensor *tensor, double *to);
/* All members, one behind the other; returns how many elements. */
int64_t model_parameters(const model *m, double *to);
int64_t model_state(const model *m, lfuse_optimizer *o, const char *name, double *to);

/* Options of a rule, and one group with its default numbers. */
lfuse_optimizer_options options_of(lfuse_rule rule, unsigned switches);
lfuse_group group_of(const model *m, lfuse_rule rule);
lfuse_optimizer *optimizer_of(const model *m, const lfuse_optimizer_options *options, const lfuse_group *group);

#endif
