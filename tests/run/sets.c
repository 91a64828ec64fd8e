/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/run/sets.h"

#include "bench/data.h"

lfuse_device *device;
lfuse_stream *stream;

enum { GUARD = 3 };
static const double guard = 80; /* a number of every type */

static void on_device(const char *name, const char *shown, void (*test)(void))
{
    snprintf(device_name, sizeof device_name, "%s", shown);
    OK(lfuse_device_open(name, &device));
    OK(lfuse_stream_create(device, &stream));
    test();
    drop_all();
    lfuse_stream_destroy(stream);
    lfuse_device_close(device);
}

static void on_stub(void (*test)(void))
{
    static const char *const names[] = {"stub by slots and items", "stub by addresses and lanes"};

    for (int i = 0; i < 2; i++) {
        lfuse__stub_reset();
        lfuse__stub.batched = true;
        lfuse__stub.addresses = lfuse__stub.vector_lanes = i;
        on_device("stub:0", names[i], test);
        ck_assert_int_eq(lfuse__stub_live_objects(), 0);
        lfuse__stub_counters c = lfuse__stub_counters_now();
        ck_assert_uint_eq(c.guard_faults, 0);
        ck_assert_uint_eq(c.misuse, 0);
    }
}

void on_every_device(void (*test)(void))
{
    lfuse_device_info info;
    int count;

    lfuse__registry_extra(&lfuse__stub_backend);
    on_stub(test);
    OK(lfuse_device_count(&count));
    for (int i = 0; i < count; i++) {
        OK(lfuse_device_describe(i, &info));
        if (strncmp(info.name, "stub", 4)) on_device(info.name, info.name, test);
    }
    lfuse__registry_extra(NULL);
}

uint64_t launches(void)
{
    return counters_of(device).launches;
}

int64_t set_size(int64_t i)
{
    static const int64_t sizes[] = {3, 0, 17, 1, 1027, 5, 2500, 2};

    return i < 8 ? sizes[i] : i % 11;
}

static double next(uint32_t *state, const set *s, double low, double high)
{
    *state = *state * 1664525u + 1013904223u;
    const double x = low + (high - low) * ((*state >> 8) + 0.5) / 16777216;
    return s->type == LFUSE_BOOL ? x > (low + high) / 2 : lfuse_type_size(s->type) == 1 || s->type >= LFUSE_I32
               ? floor(x) : x;
}

static char *filled(const set *s, unsigned seed, double low, double high)
{
    char *host = new_memory((size_t)s->length * lfuse_type_size(s->type));
    uint32_t state = seed;
    int64_t i = 0;

    for (int64_t m = 0; m < s->count; m++) {
        for (; i < s->starts[m]; i++) lfuse__data_put(s->type, host, i, s->type == LFUSE_BOOL ? 1 : guard);
        for (int64_t k = 0; k < set_size(m); k++, i++) lfuse__data_put(s->type, host, i, next(&state, s, low, high));
    }
    for (; i < s->length; i++) lfuse__data_put(s->type, host, i, s->type == LFUSE_BOOL ? 1 : guard);
    return host;
}

set set_make(lfuse_type type, int64_t count, unsigned seed, double low, double high)
{
    set s = {.type = type, .count = count, .seed = seed, .low = low, .high = high};

    s.members = new_memory((size_t)count * sizeof *s.members);
    s.starts = new_memory((size_t)count * sizeof *s.starts);
    s.length = GUARD + seed % 3; /* lists are aligned in different ways */
    for (int64_t m = 0; m < count; m++) {
        s.starts[m] = s.length;
        s.length += set_size(m) + 1 + m % GUARD;
    }
    s.length += GUARD;
    s.memory = new_tensor(device, type, 1, &s.length);
    OK(lfuse_tensor_write(s.memory, NULL, filled(&s, seed, low, high)));
    for (int64_t m = 0; m < count; m++) {
        const int64_t size = set_size(m);
        s.members[m] = new_view(s.memory, 1, &size, NULL, s.starts[m]);
    }
    s.list = new_list(device, type, count, s.members);
    return s;
}

set set_again(const set *s)
{
    return set_make(s->type, s->count, s->seed, s->low, s->high);
}

static char *contents(const set *s)
{
    char *host = new_memory((size_t)s->length * lfuse_type_size(s->type));

    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(s->memory, NULL, host));
    return host;
}

double *set_read(const set *s)
{
    double *numbers = new_memory((size_t)s->length * sizeof *numbers);
    char *host = contents(s);

    for (int64_t i = 0; i < s->length; i++) numbers[i] = lfuse__data_get(s->type, host, i);
    return numbers;
}

void set_expect(const char *what, const set *is, const set *wanted)
{
    const size_t size = lfuse_type_size(is->type);
    char *a = contents(is), *b = contents(wanted);
    int64_t i = 0;

    for (int64_t m = 0; m < is->count; m++) {
        for (; i < is->starts[m]; i++)
            ck_assert_msg(lfuse__data_get(is->type, a, i) == (is->type == LFUSE_BOOL ? 1 : guard),
                          "%s: %s: written before member %" PRId64, device_name, what, m);
        for (int64_t k = 0; k < set_size(m); k++, i++) {
            const double x = lfuse__data_get(is->type, a, i), y = lfuse__data_get(is->type, b, wanted->starts[m] + k);
            ck_assert_msg((x != x && y != y) || !memcmp(a + (size_t)i * size,
                                                        b + (size_t)(wanted->starts[m] + k) * size, size),
                          "%s: %s: element %" PRId64 " of member %" PRId64 " is %.17g, not %.17g", device_name, what, k,
                          m, x, y);
        }
    }
    for (; i < is->length; i++)
        ck_assert_msg(lfuse__data_get(is->type, a, i) == (is->type == LFUSE_BOOL ? 1 : guard),
                      "%s: %s: written behind the last member", device_name, what);
}
