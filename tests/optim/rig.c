/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/optim/rig.h"

#include "bench/data.h"

lfuse_device *devices[MOST_DEVICES];
int ndevices;

void open_devices(void)
{
    lfuse_device_info info;
    int count;

    lfuse__stub_reset();
    lfuse__registry_extra(&lfuse__stub_backend);
    OK(lfuse_device_open("stub:0", &devices[ndevices++]));
    OK(lfuse_device_count(&count));
    for (int i = 0; i < count && ndevices < MOST_DEVICES; i++) {
        OK(lfuse_device_describe(i, &info));
        if (strncmp(info.name, "stub", 4)) OK(lfuse_device_open(info.name, &devices[ndevices++]));
    }
}

void close_devices(void)
{
    while (ndevices) lfuse_device_close(devices[--ndevices]);
    ck_assert_int_eq(lfuse__stub_live_objects(), 0);
    lfuse__stub_counters c = lfuse__stub_counters_now();
    ck_assert_uint_eq(c.guard_faults, 0);
    ck_assert_uint_eq(c.misuse, 0);
    lfuse__registry_extra(NULL);
}

void on_every_device(void (*test)(lfuse_device *device))
{
    for (int i = 0; i < ndevices; i++) {
        lfuse_device_info info = info_of(devices[i]);
        snprintf(device_name, sizeof device_name, "%s", info.name);
        test(devices[i]);
        drop_all();
    }
}

uint64_t launches_of(lfuse_device *device)
{
    return counters_of(device).launches;
}

double rig_parameter(int member, int64_t i)
{
    return ((double)((i * 11 + member * 5) % 13) - 6.5) / 8;
}

double rig_gradient(int member, int64_t i, int t)
{
    const int64_t k = i + 3 * member;

    return ((double)((k * 7 + t * 13) % 17) - 8) / 16 + ((double)((k * t) % 5) - 2) / 32;
}

static void write(lfuse_tensor *tensor, int member, int t, double factor)
{
    const int64_t n = lfuse_tensor_elements(tensor);
    const lfuse_type type = lfuse_tensor_type(tensor);
    void *host = malloc((size_t)n * 8 + 1);

    for (int64_t i = 0; i < n; i++)
        lfuse__data_put(type, host, i, t ? factor * rig_gradient(member, i, t) : rig_parameter(member, i));
    OK(lfuse_tensor_write(tensor, NULL, host));
    free(host);
}

/* Members as views of one tensor, 128 elements apart at least, so that they lie in one block of memory. */
static void make_members(lfuse_device *device, lfuse_type type, int members, const int64_t *elements,
                         const int64_t *columns, lfuse_tensor **t)
{
    int64_t all = 1, at = 0;

    for (int i = 0; i < members; i++) all += (elements[i] + 127) / 128 * 128;
    lfuse_tensor *whole = new_tensor(device, type, 1, &all);
    OK(lfuse_tensor_fill(whole, NULL, NAN));
    for (int i = 0; i < members; i++) {
        const bool matrix = columns && columns[i];
        const int64_t shape[] = { matrix ? elements[i] / columns[i] : elements[i], matrix ? columns[i] : 1 };
        t[i] = new_view(whole, matrix ? 2 : 1, shape, NULL, at);
        at += (elements[i] + 127) / 128 * 128;
    }
}

model model_of(lfuse_device *device, lfuse_type type, lfuse_type gradient_type, int members, const int64_t *elements)
{
    return model_shaped(device, type, gradient_type, members, elements, NULL);
}

model model_shaped(lfuse_device *device, lfuse_type type, lfuse_type gradient_type, int members,
                   const int64_t *elements, const int64_t *columns)
{
    model m = { .device = device, .stream = new_stream(device), .type = type, .gradient_type = gradient_type,
                .members = members };

    make_members(device, type, members, elements, columns, m.p);
    make_members(device, gradient_type, members, elements, columns, m.g);
    for (int i = 0; i < members; i++) {
        ck_assert_int_le(elements[i], MOST_ELEMENTS);
        m.elements[i] = elements[i];
        write(m.p[i], i, 0, 1);
    }
    m.parameters = new_list(device, type, members, m.p);
    m.gradients = new_list(device, gradient_type, members, m.g);
    return m;
}

void model_gradients(const model *m, int t, double factor)
{
    OK(lfuse_stream_synchronize(m->stream));
    for (int i = 0; i < m->members; i++) write(m->g[i], i, t, factor);
}

void model_step(const model *m, lfuse_optimizer *o, int t)
{
    model_gradients(m, t, 1);
    OK(lfuse_optimizer_step(o, m->stream, 1, &m->gradients, NULL));
}

void read_all(const model *m, const lfuse_tensor *tensor, double *to)
{
    const int64_t n = lfuse_tensor_elements(tensor);
    void *host = malloc((size_t)n * 8 + 1);

    OK(lfuse_stream_synchronize(m->stream));
    OK(lfuse_tensor_read(tensor, NULL, host));
    for (int64_t i = 0; i < n; i++) to[i] = lfuse__data_get(lfuse_tensor_type(tensor), host, i);
    free(host);
}

int64_t model_parameters(const model *m, double *to)
{
    int64_t n = 0;

    for (int i = 0; i < m->members; n += m->elements[i++]) read_all(m, m->p[i], to + n);
    return n;
}

int64_t model_state(const model *m, lfuse_optimizer *o, const char *name, double *to)
{
    lfuse_tensor *state;
    int64_t n = 0;
    int k = 0;

    while (k < lfuse_optimizer_state_count(o) && strcmp(lfuse_optimizer_state_name(o, k), name)) k++;
    ck_assert_msg(k < lfuse_optimizer_state_count(o), "there is no state %s", name);
    for (int i = 0; i < m->members; i++) {
        OK(lfuse_optimizer_state(o, k, 0, i, &state));
        read_all(m, state, to + n);
        n += lfuse_tensor_elements(state);
        lfuse_tensor_destroy(state);
    }
    return n;
}

lfuse_optimizer_options options_of(lfuse_rule rule, unsigned switches)
{
    const lfuse_optimizer_options options = { .rule = rule, .switches = switches };

    return options;
}

lfuse_group group_of(const model *m, lfuse_rule rule)
{
    lfuse_group group = { .parameters = m->parameters };

    OK(lfuse_hyper_defaults(rule, &group.hyper));
    return group;
}

lfuse_optimizer *optimizer_of(const model *m, const lfuse_optimizer_options *options, const lfuse_group *group)
{
    return new_optimizer(m->device, options, 1, group);
}
