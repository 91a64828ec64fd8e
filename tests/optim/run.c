/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/optim/run.h"

const int64_t sizes[MEMBERS] = { 3, 0, 2500, 1, 1024, 130 };

void same(const double *a, const double *b, int64_t n, const char *what)
{
    for (int64_t i = 0; i < n; i++)
        ck_assert_msg(a[i] == b[i], "%s, %s: element %lld is %.17g and %.17g", device_name, what, (long long)i,
                      a[i], b[i]);
}

void run(lfuse_device *device, const lfuse_optimizer_options *options, lfuse_type type, int members,
                const int64_t *elements, double *p, double *states)
{
    int64_t n = 0;

    model m = model_of(device, type, type, members, elements);
    lfuse_group group = group_of(&m, options->rule);
    if (options->rule == LFUSE_RULE_SGD || options->rule == LFUSE_RULE_RMSPROP) group.hyper.momentum = 0.5;
    if (options->switches & LFUSE_OPTIM_AVERAGE) group.hyper.ema_decay = 0.875;
    lfuse_optimizer *o = optimizer_of(&m, options, &group);
    for (int t = 1; t <= STEPS; t++) model_step(&m, o, t);
    model_parameters(&m, p);
    for (int k = 0; states && k < lfuse_optimizer_state_count(o); k++)
        n += model_state(&m, o, lfuse_optimizer_state_name(o, k), states + n);
}

lfuse_tensor *number(lfuse_device *device, float x)
{
    lfuse_tensor *t = new_tensor(device, LFUSE_F32, 0, NULL);

    OK(lfuse_tensor_write(t, NULL, &x));
    return t;
}

uint64_t launches_of_step(const model *m, lfuse_optimizer *o)
{
    model_step(m, o, 1);
    model_gradients(m, 2, 1);
    uint64_t before = launches_of(m->device);
    OK(lfuse_optimizer_step(o, m->stream, 1, &m->gradients, NULL));
    return launches_of(m->device) - before;
}
