/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/run/sets.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/half.h"

lfuse_device *device;
lfuse_stream *stream;
char device_name[32];

enum { GUARD = 3 };
static const double guard = 77;

static void on_device(const char *name, const char *shown, void (*test)(void))
{
    snprintf(device_name, sizeof device_name, "%s", shown);
    OK(lfuse_device_open(name, &device));
    OK(lfuse_stream_create(device, &stream));
    test();
    lfuse_stream_destroy(stream);
    lfuse_device_close(device);
}

static void on_stub(void (*test)(void))
{
    static const char *const names[] = {"stub by slots and items", "stub by addresses and lanes"};
    lfuse__stub_counters c;

    for (int i = 0; i < 2; i++) {
        lfuse__stub_reset();
        lfuse__stub.batched = true;
        lfuse__stub.addresses = lfuse__stub.vector_lanes = i;
        on_device("stub:0", names[i], test);
        ck_assert_int_eq(lfuse__stub_live_objects(), 0);
        lfuse__stub_counters_get(&c);
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
    lfuse_device_counters c;

    OK(lfuse_device_get_counters(device, &c));
    return c.launches;
}

int64_t set_size(int64_t i)
{
    static const int64_t sizes[] = {3, 0, 17, 1, 1027, 5, 2500, 2};

    return i < 8 ? sizes[i] : i % 11;
}

void put_number(lfuse_type type, void *memory, int64_t at, double number)
{
    char *p = (char *)memory + at * (int64_t)lfuse_type_size(type);
    const float f = (float)number;
    const uint16_t h = type == LFUSE_F16 ? lfuse__double_to_f16(number) : lfuse__double_to_bf16(number);
    const int32_t w = (int32_t)number;
    const int64_t l = (int64_t)number;
    const int8_t b = (int8_t)number;

    switch (type) {
    case LFUSE_F16:
    case LFUSE_BF16: memcpy(p, &h, sizeof h); break;
    case LFUSE_F64: memcpy(p, &number, sizeof number); break;
    case LFUSE_I32: memcpy(p, &w, sizeof w); break;
    case LFUSE_I64: memcpy(p, &l, sizeof l); break;
    case LFUSE_I8:
    case LFUSE_U8:
    case LFUSE_BOOL: memcpy(p, &b, sizeof b); break;
    default: memcpy(p, &f, sizeof f); break;
    }
}

double get_number(lfuse_type type, const void *memory, int64_t at)
{
    const char *p = (const char *)memory + at * (int64_t)lfuse_type_size(type);
    union { float f; double d; uint16_t h; int32_t w; int64_t l; int8_t b; uint8_t u; } v;

    memcpy(&v, p, lfuse_type_size(type));
    switch (type) {
    case LFUSE_F16: return (double)lfuse__f16_to_float(v.h);
    case LFUSE_BF16: return (double)lfuse__bf16_to_float(v.h);
    case LFUSE_F64: return v.d;
    case LFUSE_I32: return v.w;
    case LFUSE_I64: return (double)v.l;
    case LFUSE_I8: return v.b;
    case LFUSE_U8:
    case LFUSE_BOOL: return v.u;
    default: return (double)v.f;
    }
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
    char *host = malloc((size_t)s->length * lfuse_type_size(s->type));
    uint32_t state = seed;
    int64_t i = 0, m, k;

    ck_assert_ptr_nonnull(host);
    for (m = 0; m < s->count; m++) {
        for (; i < s->starts[m]; i++) put_number(s->type, host, i, s->type == LFUSE_BOOL ? 1 : guard);
        for (k = 0; k < set_size(m); k++, i++) put_number(s->type, host, i, next(&state, s, low, high));
    }
    for (; i < s->length; i++) put_number(s->type, host, i, s->type == LFUSE_BOOL ? 1 : guard);
    return host;
}

set set_make(lfuse_type type, int64_t count, unsigned seed, double low, double high)
{
    set s = {.type = type, .count = count, .seed = seed, .low = low, .high = high};
    char *host;

    s.members = calloc((size_t)count + 1, sizeof *s.members);
    s.starts = calloc((size_t)count + 1, sizeof *s.starts);
    ck_assert(s.members && s.starts);
    s.length = GUARD + seed % 3; /* lists are aligned in different ways */
    for (int64_t m = 0; m < count; m++) {
        s.starts[m] = s.length;
        s.length += set_size(m) + 1 + m % GUARD;
    }
    s.length += GUARD;
    host = filled(&s, seed, low, high);
    OK(lfuse_tensor_create(device, type, 1, &s.length, &s.memory));
    OK(lfuse_tensor_write(s.memory, NULL, host));
    free(host);
    for (int64_t m = 0; m < count; m++) {
        const int64_t size = set_size(m);
        OK(lfuse_tensor_view(s.memory, 1, &size, NULL, s.starts[m], &s.members[m]));
    }
    OK(lfuse_list_create(device, type, count, s.members, &s.list));
    return s;
}

set set_again(const set *s)
{
    return set_make(s->type, s->count, s->seed, s->low, s->high);
}

void set_free(set *s)
{
    for (int64_t m = 0; m < s->count; m++) lfuse_tensor_destroy(s->members[m]);
    lfuse_list_destroy(s->list);
    lfuse_tensor_destroy(s->memory);
    free(s->members);
    free(s->starts);
}

static char *contents(const set *s)
{
    char *host = malloc((size_t)s->length * lfuse_type_size(s->type));

    ck_assert_ptr_nonnull(host);
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(s->memory, NULL, host));
    return host;
}

double *set_read(const set *s)
{
    double *numbers = malloc((size_t)s->length * sizeof *numbers);
    char *host = contents(s);

    ck_assert_ptr_nonnull(numbers);
    for (int64_t i = 0; i < s->length; i++) numbers[i] = get_number(s->type, host, i);
    free(host);
    return numbers;
}

void set_expect(const char *what, const set *is, const set *wanted)
{
    const size_t size = lfuse_type_size(is->type);
    char *a = contents(is), *b = contents(wanted);
    int64_t i = 0, m, k;

    for (m = 0; m < is->count; m++) {
        for (; i < is->starts[m]; i++)
            ck_assert_msg(get_number(is->type, a, i) == (is->type == LFUSE_BOOL ? 1 : guard),
                          "%s: %s: written before member %" PRId64, device_name, what, m);
        for (k = 0; k < set_size(m); k++, i++) {
            const double x = get_number(is->type, a, i), y = get_number(is->type, b, wanted->starts[m] + k);
            ck_assert_msg((x != x && y != y) || !memcmp(a + (size_t)i * size,
                                                        b + (size_t)(wanted->starts[m] + k) * size, size),
                          "%s: %s: element %" PRId64 " of member %" PRId64 " is %.17g, not %.17g", device_name, what, k,
                          m, x, y);
        }
    }
    for (; i < is->length; i++)
        ck_assert_msg(get_number(is->type, a, i) == (is->type == LFUSE_BOOL ? 1 : guard),
                      "%s: %s: written behind the last member", device_name, what);
    free(a);
    free(b);
}
