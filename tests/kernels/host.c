/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kernels/host.h"

#include <stdarg.h>

#include "common/base/half.h"
#include "common/base/philox.h"
#include "common/base/whole.h"
#include "tests/kernels/rig.h"
#include "tests/support/check.h"

bool host_exact(int op)
{
    return lfuse__ops[op].ulp_f32 == 0;
}

value host_load(const void *memory, lfuse_type type, int64_t i)
{
    value v;
    memset(&v, 0, sizeof v);
    switch (type) {
    case LFUSE_F32: memcpy(&v.f32, (const float *)memory + i, sizeof v.f32); break;
    case LFUSE_F64: memcpy(&v.f64, (const double *)memory + i, sizeof v.f64); break;
    case LFUSE_I32: memcpy(&v.i32, (const int32_t *)memory + i, sizeof v.i32); break;
    case LFUSE_I64: memcpy(&v.i64, (const int64_t *)memory + i, sizeof v.i64); break;
    case LFUSE_I8: v.i32 = ((const int8_t *)memory)[i]; break;
    case LFUSE_U8: v.i32 = ((const uint8_t *)memory)[i]; break;
    case LFUSE_F16:
    case LFUSE_BF16:
    case LFUSE_E4M3:
    case LFUSE_E5M2: v.f32 = lfuse__narrow_get(type, memory, i); break;
    default: v.b = ((const uint8_t *)memory)[i] != 0; break;
    }
    return v;
}

void host_store(void *memory, lfuse_type type, int64_t i, value v)
{
    switch (type) {
    case LFUSE_F32: memcpy((float *)memory + i, &v.f32, sizeof v.f32); break;
    case LFUSE_F64: memcpy((double *)memory + i, &v.f64, sizeof v.f64); break;
    case LFUSE_I32: memcpy((int32_t *)memory + i, &v.i32, sizeof v.i32); break;
    case LFUSE_I64: memcpy((int64_t *)memory + i, &v.i64, sizeof v.i64); break;
    case LFUSE_I8:
    case LFUSE_U8: ((uint8_t *)memory)[i] = (uint8_t)v.i32; break;
    case LFUSE_F16:
    case LFUSE_BF16:
    case LFUSE_E4M3:
    case LFUSE_E5M2: lfuse__narrow_put(type, memory, i, v.f32); break;
    default: ((uint8_t *)memory)[i] = (uint8_t)v.b; break;
    }
}

#define FLOATING(t, T, suffix)                                                                                         \
    static value apply_##t(int op, value a, value b, value c)                                                          \
    {                                                                                                                  \
        value r = a;                                                                                                   \
        T low;                                                                                                         \
        switch (op) {                                                                                                  \
        case LFUSE__OP_add: r.t = a.t + b.t; break;                                                                    \
        case LFUSE__OP_sub: r.t = a.t - b.t; break;                                                                    \
        case LFUSE__OP_mul: r.t = a.t * b.t; break;                                                                    \
        case LFUSE__OP_div: r.t = a.t / b.t; break;                                                                    \
        case LFUSE__OP_neg: r.t = -a.t; break;                                                                         \
        case LFUSE__OP_abs: r.t = fabs##suffix(a.t); break;                                                            \
        case LFUSE__OP_min: r.t = a.t < b.t || a.t != a.t ? a.t : b.t; break;                                          \
        case LFUSE__OP_max: r.t = a.t > b.t || a.t != a.t ? a.t : b.t; break;                                          \
        case LFUSE__OP_fma: r.t = fma##suffix(a.t, b.t, c.t); break;                                                   \
        case LFUSE__OP_sqrt: r.t = sqrt##suffix(a.t); break;                                                           \
        case LFUSE__OP_reciprocal: r.t = 1 / a.t; break;                                                               \
        case LFUSE__OP_floor: r.t = floor##suffix(a.t); break;                                                         \
        case LFUSE__OP_ceil: r.t = ceil##suffix(a.t); break;                                                           \
        case LFUSE__OP_round: r.t = rint##suffix(a.t); break;                                                          \
        case LFUSE__OP_relu: r.t = a.t > 0 || a.t != a.t ? a.t : 0; break;                                             \
        case LFUSE__OP_leaky_relu: r.t = a.t > 0 ? a.t : b.t * a.t; break;                                             \
        case LFUSE__OP_hardsigmoid_with:                                                                               \
            low = fma##suffix(a.t, b.t, c.t);                                                                          \
            r.t = low > 0 || low != low ? (low < 1 || low != low ? low : 1) : 0;                                       \
            break;                                                                                                     \
        case LFUSE__OP_clamp:                                                                                          \
            low = a.t > b.t || a.t != a.t ? a.t : b.t;                                                                 \
            r.t = low < c.t || low != low ? low : c.t;                                                                 \
            break;                                                                                                     \
        case LFUSE__OP_fmod: r.t = fmod##suffix(a.t, b.t); break;                                                      \
        case LFUSE__OP_remainder:                                                                                      \
            r.t = fmod##suffix(a.t, b.t);                                                                              \
            if (r.t != 0 && (r.t < 0) != (b.t < 0)) r.t += b.t;                                                        \
            break;                                                                                                     \
        case LFUSE__OP_square: r.t = a.t * a.t; break;                                                                 \
        case LFUSE__OP_sign: r.t = a.t > 0 ? 1 : a.t < 0 ? -1 : a.t; break;                                            \
        case LFUSE__OP_step: r.t = a.t > 0 ? 1 : 0; break;                                                             \
        case LFUSE__OP_trunc: r.t = trunc##suffix(a.t); break;                                                         \
        case LFUSE__OP_frac: r.t = a.t - trunc##suffix(a.t); break;                                                    \
        case LFUSE__OP_relu6: low = a.t > 0 || a.t != a.t ? a.t : 0, r.t = low < 6 || low != low ? low : 6; break;     \
        case LFUSE__OP_squared_relu: low = a.t > 0 || a.t != a.t ? a.t : 0, r.t = low * low; break;                    \
        case LFUSE__OP_threshold: r.t = a.t <= b.t ? c.t : a.t; break;                                                 \
        case LFUSE__OP_full_like: r.t = b.t; break;                                                                    \
        case LFUSE__OP_hardshrink: r.t = fabs##suffix(a.t) > b.t ? a.t : a.t * 0; break;                               \
        case LFUSE__OP_softshrink: r.t = a.t > b.t ? a.t - b.t : a.t < -b.t ? a.t + b.t : a.t * 0; break;              \
        case LFUSE__OP_isnan: r.b = isnan(a.t) != 0; break;                                                            \
        case LFUSE__OP_isinf: r.b = isinf(a.t) != 0; break;                                                            \
        case LFUSE__OP_isfinite: r.b = isfinite(a.t) != 0; break;                                                      \
        case LFUSE__OP_eq: r.b = a.t == b.t; break;                                                                    \
        case LFUSE__OP_ne: r.b = a.t != b.t; break;                                                                    \
        case LFUSE__OP_lt: r.b = a.t < b.t; break;                                                                     \
        case LFUSE__OP_le: r.b = a.t <= b.t; break;                                                                    \
        case LFUSE__OP_gt: r.b = a.t > b.t; break;                                                                     \
        case LFUSE__OP_ge: r.b = a.t >= b.t; break;                                                                    \
        default: abort();                                                                                              \
        }                                                                                                              \
        return r;                                                                                                      \
    }
FLOATING(f32, float, f)
FLOATING(f64, double, )

typedef __int128 whole;

static whole whole_of(lfuse_type type, value v)
{
    return type == LFUSE_I64 ? v.i64 : v.i32;
}

/* The value modulo 2^bits, in the range of the type. */
static value wrapped(lfuse_type type, whole x)
{
    value r = {.i64 = 0};
    switch (type) {
    case LFUSE_I64: r.i64 = (int64_t)(uint64_t)x; break;
    case LFUSE_I8: r.i32 = (int8_t)(uint8_t)x; break;
    case LFUSE_U8: r.i32 = (uint8_t)x; break;
    default: r.i32 = (int32_t)(uint32_t)x; break;
    }
    return r;
}

/* Exact, then wrapped. */
static value apply_whole(lfuse_type type, int op, value a, value b, value c)
{
    const whole x = whole_of(type, a), y = whole_of(type, b), z = whole_of(type, c), low = x > y ? x : y;
    const int bits = 8 * (int)lfuse_type_size(type);
    switch (op) {
    case LFUSE__OP_add: return wrapped(type, x + y);
    case LFUSE__OP_sub: return wrapped(type, x - y);
    case LFUSE__OP_mul: return wrapped(type, x * y);
    case LFUSE__OP_div: return wrapped(type, y ? x / y : 0);
    case LFUSE__OP_neg: return wrapped(type, -x);
    case LFUSE__OP_abs: return wrapped(type, x < 0 ? -x : x);
    case LFUSE__OP_min: return x < y ? a : b;
    case LFUSE__OP_max: return x > y ? a : b;
    case LFUSE__OP_relu: return wrapped(type, x > 0 ? x : 0);
    case LFUSE__OP_clamp: return wrapped(type, low < z ? low : z);
    case LFUSE__OP_fmod: return wrapped(type, y ? x % y : 0);
    case LFUSE__OP_remainder: return wrapped(type, !y ? 0 : x % y && (x < 0) != (y < 0) ? x % y + y : x % y);
    case LFUSE__OP_square: return wrapped(type, x * x);
    case LFUSE__OP_sign: return wrapped(type, (x > 0) - (x < 0));
    case LFUSE__OP_step: return wrapped(type, x > 0);
    case LFUSE__OP_pow:
    case LFUSE__OP_powi: return wrapped(type, lfuse__wrapping_power(x, y));
    case LFUSE__OP_relu6: return wrapped(type, x < 0 ? 0 : x > 6 ? 6 : x);
    case LFUSE__OP_squared_relu: return wrapped(type, x > 0 ? x * x : 0);
    case LFUSE__OP_threshold: return x > y ? a : c;
    case LFUSE__OP_full_like: return b;
    case LFUSE__OP_bit_and: return wrapped(type, x & y);
    case LFUSE__OP_bit_or: return wrapped(type, x | y);
    case LFUSE__OP_bit_xor: return wrapped(type, x ^ y);
    case LFUSE__OP_bit_not: return wrapped(type, ~x);
    case LFUSE__OP_shl: return wrapped(type, (whole)((unsigned __int128)x << (y & (bits - 1))));
    case LFUSE__OP_shr: return wrapped(type, x >> (y & (bits - 1)));
    case LFUSE__OP_philox: return (value){.i32 = (int32_t)lfuse__philox((uint64_t)x, (uint64_t)y, (uint64_t)z)};
    case LFUSE__OP_eq: return (value){.b = x == y};
    case LFUSE__OP_ne: return (value){.b = x != y};
    case LFUSE__OP_lt: return (value){.b = x < y};
    case LFUSE__OP_le: return (value){.b = x <= y};
    case LFUSE__OP_gt: return (value){.b = x > y};
    case LFUSE__OP_ge: return (value){.b = x >= y};
    default: abort();
    }
}

/* Truncates and saturates; NaN gives 0. */
static value saturated(lfuse_type type, double x)
{
    const whole low = type == LFUSE_I64 ? INT64_MIN : type == LFUSE_I32 ? INT32_MIN : type == LFUSE_I8 ? -128 : 0;
    const whole high = type == LFUSE_I64 ? INT64_MAX : type == LFUSE_I32 ? INT32_MAX : type == LFUSE_I8 ? 127 : 255;
    if (x != x) return wrapped(type, 0);
    if (x >= 0x1p64 || x <= -0x1p64) return wrapped(type, x > 0 ? high : low);
    return wrapped(type, (whole)x > high ? high : (whole)x < low ? low : (whole)x);
}

/* Through long double, which holds every register exactly: one rounding at the end. */
static value convert(value a, lfuse_type from, lfuse_type to)
{
    const long double x = from == LFUSE_F64               ? a.f64
                          : lfuse__is_integer(from)       ? (long double)whole_of(from, a)
                          : from == LFUSE_BOOL            ? a.b
                                                          : a.f32;
    value r = {.i64 = 0};
    if (lfuse__is_integer(to))
        return lfuse__is_floating(from) ? saturated(to, (double)x)
                                        : wrapped(to, from == LFUSE_BOOL ? a.b : whole_of(from, a));
    switch (to) {
    case LFUSE_F32: r.f32 = (float)x; break;
    case LFUSE_F64: r.f64 = (double)x; break;
    case LFUSE_F16:
    case LFUSE_BF16:
    case LFUSE_E4M3:
    case LFUSE_E5M2: r.f32 = lfuse__narrow_round(to, lfuse__odd_double(x)); break;
    default: r.b = x != 0; break;
    }
    return r;
}

static int apply_bool(int op, int a, int b)
{
    switch (op) {
    case LFUSE__OP_eq: return a == b;
    case LFUSE__OP_ne: return a != b;
    case LFUSE__OP_logical_and: return a && b;
    case LFUSE__OP_logical_or: return a || b;
    case LFUSE__OP_logical_xor: return a != b;
    case LFUSE__OP_logical_not: return !a;
    case LFUSE__OP_full_like: return b;
    default: abort();
    }
}

static value apply(const lfuse__body *body, const lfuse__instr *i, const value *r)
{
    const lfuse__op_row *row = &lfuse__ops[i->op];
    const value a = r[i->a], b = row->arity > 1 ? r[i->b] : a, c = row->arity > 2 ? r[i->c] : a;
    const lfuse_type type = lfuse__op_retypes((lfuse__op)i->op) ? body->instr[i->a].type : i->type;
    if (i->op == LFUSE__OP_where) return a.b ? b : c;
    if (type == LFUSE_BOOL) return (value){.b = apply_bool(i->op, a.b, b.b)};
    return type == LFUSE_F64          ? apply_f64(i->op, a, b, c)
           : lfuse__is_integer(type) ? apply_whole(type, i->op, a, b, c)
                                     : apply_f32(i->op, a, b, c);
}

static void evaluate(const lfuse__kernel_class *k, const double *numbers, void *const *from, const int64_t *element,
                     value *r)
{
    for (int n = 0; n < k->body->ninstr; n++) {
        const lfuse__instr *i = &k->body->instr[n];
        switch ((lfuse__instr_kind)i->kind) {
        case LFUSE__I_LOAD: r[n] = host_load(from[i->a], i->type, element[i->a]); break;
        case LFUSE__I_NUMBER: r[n] = convert((value){.f64 = numbers[i->a]}, LFUSE_F64, i->type); break;
        case LFUSE__I_CONST: r[n] = convert((value){.f64 = i->number}, LFUSE_F64, i->type); break;
        case LFUSE__I_APPLY: r[n] = apply(k->body, i, r); break;
        case LFUSE__I_CONVERT: r[n] = convert(r[i->a], i->from, i->type); break;
        case LFUSE__I_REDUCE: /* given */
        case LFUSE__I_TOTAL: break;
        }
    }
}

double host_get(const void *memory, lfuse_type type, int64_t i)
{
    return convert(host_load(memory, type, i), type, LFUSE_F64).f64;
}

void host_put(void *memory, lfuse_type type, int64_t i, double x)
{
    host_store(memory, type, i, convert((value){.f64 = x}, LFUSE_F64, type));
}

void host_evaluate(const lfuse__kernel_class *k, const double *numbers, void *const *from, const int64_t *element,
                   value *registers)
{
    evaluate(k, numbers, from, element, registers);
}

value host_apply(int op, lfuse_type type, value a, value b)
{
    return type == LFUSE_F64          ? apply_f64(op, a, b, a)
           : lfuse__is_integer(type) ? apply_whole(type, op, a, b, a)
                                     : apply_f32(op, a, b, a);
}

value host_convert(value a, lfuse_type from, lfuse_type to)
{
    return convert(a, from, to);
}

void host_body(const lfuse__kernel_class *k, const double *numbers, void *const *from, void *const *to,
               const int64_t *element)
{
    value r[64];
    evaluate(k, numbers, from, element, r);
    for (int i = 0; i < k->body->nstores; i++) {
        const lfuse__store *s = &k->body->stores[i];
        host_store(to[s->operand], k->operands[s->operand].type, element[s->operand], r[s->reg]);
    }
}

static bool is_nan(const void *memory, lfuse_type type, int64_t i)
{
    const value v = host_load(memory, type, i);
    return type == LFUSE_F64 ? v.f64 != v.f64 : lfuse__is_floating(type) ? v.f32 != v.f32 : false;
}

int64_t host_compare(const void *a, const void *b, lfuse_type type, size_t bytes)
{
    const size_t size = lfuse_type_size(type);
    for (size_t i = 0; i < bytes / size; i++)
        if (memcmp((const char *)a + i * size, (const char *)b + i * size, size) &&
            !(is_nan(a, type, (int64_t)i) && is_nan(b, type, (int64_t)i)))
            return (int64_t)i;
    return -1;
}

arena arena_make(size_t bytes, int byte)
{
    return (arena){rig_memory(bytes, byte), rig_memory(bytes, byte), rig_memory(bytes, byte), bytes};
}

void arena_keep(arena *a)
{
    memcpy(a->before, a->memory, a->bytes);
    memcpy(a->expected, a->memory, a->bytes);
}

void arena_check(const arena *a, lfuse_type type, int64_t first, const char *words, ...)
{
    const int64_t i = host_compare(a->memory, a->expected, type, a->bytes);
    const size_t size = lfuse_type_size(type), at = (size_t)i * size;
    unsigned long long got = 0, want = 0, was = 0;
    char what[256];
    va_list arguments;
    if (i < 0) return;
    va_start(arguments, words);
    vsnprintf(what, sizeof what, words, arguments);
    va_end(arguments);
    memcpy(&got, a->memory + at, size);
    memcpy(&want, a->expected + at, size);
    memcpy(&was, a->before + at, size);
    ck_abort_msg("%s: element %lld: %llx, expected %llx, before %llx", what, (long long)(i - first), got, want, was);
}

void arena_free(arena *a)
{
    free(a->memory);
    free(a->before);
    free(a->expected);
}

uint64_t host_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static double special(uint64_t r)
{
    static const double specials[] = {0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 0x1p-126, 0x1p-149, -0x1p-140,
                                      0x1p-1022,
                                      0x1p-1074, 0x1p31, -0x1p31, 2147483647.0, 0x1p127, 0x1.fffffep127, -0x1p127,
                                      65504.0, 65519.0, 65520.0, 0x1p-24, 0x1p-25, 0x1.8p-25, INFINITY, -INFINITY, NAN};
    return specials[r % (sizeof specials / sizeof specials[0])];
}

void host_fill(void *memory, lfuse_type type, size_t count, uint64_t seed)
{
    for (size_t i = 0; i < count; i++) {
        const uint64_t r = host_random(&seed), kind = r >> 60;
        if (type == LFUSE_BOOL) {
            ((uint8_t *)memory)[i] = r & 1;
        } else if (kind < 4) {
            host_put(memory, type, (int64_t)i, special(r & 0xffff));
        } else if (kind < 10) {
            host_put(memory, type, (int64_t)i, (double)(int64_t)(r << 4) * 0x1p-56 * (kind & 1 ? 1 : 0.01));
        } else if (type == LFUSE_F64 || type == LFUSE_I64) {
            memcpy((uint64_t *)memory + i, &r, sizeof r);
        } else if (type == LFUSE_F16 || type == LFUSE_BF16) {
            ((uint16_t *)memory)[i] = (uint16_t)r;
        } else if (lfuse_type_size(type) == 1) {
            ((uint8_t *)memory)[i] = (uint8_t)r;
        } else {
            ((uint32_t *)memory)[i] = (uint32_t)r;
        }
    }
}
