/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Immediate calls over lists. What a call's graph depends on is a key of a few bytes: the function, and of each operand
 * its form, its type, and whether it is a list that the call has already. The rest is bound.
 */
#include "common/run/foreach.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/real.h"
#include "common/graph/build.h"
#include "common/run/cache.h"
#include "libfuse/ops.h"

/* What an operand is to the graph; EACH_NUMBER: of the host's numbers, ONE_EACH: of a tensor's elements. */
enum { ABSENT, A_LIST, A_NUMBER, A_TENSOR, ONE_EACH, EACH_NUMBER };

/* Equal keys have equal bytes: it is zeroed first. */
typedef struct key {
    double order; /* of a norm */
    uint8_t mark; /* no graph's text begins so */
    uint8_t function, variant;
    uint8_t to;   /* its type */
    int8_t within; /* the operand that `to` is, -1: none */
    struct {
        uint8_t form, type;
        int8_t same; /* an earlier operand that is the same list, -1: none */
    } operands[LFUSE__FOREACH_OPERANDS];
} key;

typedef struct call {
    lfuse_stream *stream;
    const struct row *row;
    lfuse_list *to;      /* NULL: the result is */
    lfuse_tensor *total; /* one number */
    const lfuse_operand *operands;
    int count;
    lfuse_type type; /* of its lists */
    key k;
    lfuse_list *lists[LFUSE__FOREACH_OPERANDS]; /* ONE_EACH: the list to bind */
    lfuse__numbers *numbers[LFUSE__FOREACH_OPERANDS];
} call;

/* ---- the functions ---- */

enum { LIST = 1, NUMBER = 2, NUMBERS = 4, TENSOR = 8, VALUE = NUMBER | NUMBERS | TENSOR, ANY = VALUE | LIST,
       CONDITION = 16, FLAG = 32, ORDER = 64 };

typedef lfuse_value make_value(const lfuse_value *in, int variant, double order);
typedef struct row {
    const char *name;
    make_value *make;
    struct {
        const char *name;
        int forms;
    } operands[LFUSE__FOREACH_OPERANDS];
} row;

static lfuse_value scaled(lfuse_value a, lfuse_value alpha)
{
    return alpha.graph ? lfuse_mul(a, alpha) : a;
}

/* Whether an element is infinite or NaN is added to what the flag says already. */
static lfuse_value unscaled(lfuse_value a, lfuse_value inv_scale, lfuse_value flag)
{
    const lfuse_value bad = lfuse_list_any(lfuse_logical_not(lfuse_isfinite(a)));

    lfuse_update(flag, lfuse_max(flag, lfuse_cast(bad, LFUSE_F32)));
    return lfuse_mul(a, inv_scale);
}

/* What becomes of an exponent that is a number: roots, and WHOLE + the exponent. */
enum { POWER, ROOT, RECIPROCAL_ROOT, WHOLE = 8, LARGEST_WHOLE = 63 };

static lfuse_value whole_power(lfuse_value a, int exponent)
{
    lfuse_value result = a, square = a;
    bool begun = false;

    if (!exponent) return lfuse_full_like(a, lfuse_constant(a.graph, 1));
    for (; exponent; exponent >>= 1) {
        if (exponent & 1) result = begun ? lfuse_mul(result, square) : square;
        begun = begun || exponent & 1;
        if (exponent > 1) square = lfuse_mul(square, square);
    }
    return result;
}

static lfuse_value power(lfuse_value base, lfuse_value exponent, int variant)
{
    switch (variant) {
    case POWER: return lfuse_pow(base, exponent);
    case ROOT: return lfuse_sqrt(base);
    case RECIPROCAL_ROOT: return lfuse_rsqrt(base);
    case WHOLE - 1: return lfuse_reciprocal(base);
    case WHOLE - 2: return lfuse_reciprocal(lfuse_mul(base, base));
    default: return whole_power(base, variant - WHOLE);
    }
}

static int power_variant(lfuse_type type, double exponent)
{
    if (lfuse__is_integer(type)) {
        if (exponent != trunc(exponent) || exponent < 0 || exponent > LARGEST_WHOLE) return POWER;
        return WHOLE + (int)exponent;
    }
    if (exponent == 0.5) return ROOT;
    if (exponent == -0.5) return RECIPROCAL_ROOT;
    return exponent == trunc(exponent) && exponent >= -2 && exponent <= 3 ? WHOLE + (int)exponent : POWER;
}

#define LFUSE__FOREACH(name, value, ...)                                                                               \
    static lfuse_value value_##name(const lfuse_value *in, int variant, double order)                                  \
    {                                                                                                                  \
        const lfuse_value A = in[0], B = in[1], C = in[2], D = in[3];                                                  \
                                                                                                                       \
        (void)A, (void)B, (void)C, (void)D, (void)variant, (void)order;                                                \
        return value;                                                                                                  \
    }
#include "common/run/foreach.def"
#undef LFUSE__FOREACH

#define OPERAND(name, forms) { name, forms }
static const row rows[LFUSE__FOREACH_COUNT] = {
#define LFUSE__FOREACH(name, value, ...) [LFUSE__FOREACH_##name] = { "lfuse_foreach_" #name, value_##name,             \
                                                                     { __VA_ARGS__ } },
#include "common/run/foreach.def"
#undef LFUSE__FOREACH
};

/* ---- the graph of a key ---- */

static lfuse_type wide(lfuse_type type)
{
    return lfuse__is_narrow(type) ? LFUSE_F32 : type;
}

static lfuse_value input(lfuse_graph *g, const char *name, int form, lfuse_type type)
{
    switch (form) {
    case A_NUMBER: return lfuse_scalar(g, name);
    case A_TENSOR: return lfuse_input(g, name, type, 0, NULL);
    case ONE_EACH:
    case EACH_NUMBER: return lfuse_list_input(g, name, type, 0);
    default: return lfuse_list_input(g, name, type, LFUSE_RANK_ANY);
    }
}

/* What the function computes with: of 16 bits in f32. The host's numbers for each member have all been seen to fit. */
static lfuse_value computed(const call *c, int i, lfuse_value given)
{
    const int form = c->k.operands[i].form;
    const lfuse_type type = wide(c->type);

    if (given.id < 0 || c->row->operands[i].forms & (CONDITION | FLAG)) return given;
    if (form == A_LIST || form == EACH_NUMBER) return lfuse_cast(given, type);
    return lfuse__build_adopt(given.graph, c->row->name, c->row->operands[i].name, given.id, type);
}

static lfuse_graph *make_graph(const void *data)
{
    const call *c = data;
    const lfuse_value none = { NULL, -1 };
    lfuse_value given[LFUSE__FOREACH_OPERANDS], in[LFUSE__FOREACH_OPERANDS], value;
    lfuse_graph *g = lfuse_graph_create();
    int i;

    for (i = 0; i < LFUSE__FOREACH_OPERANDS; i++) {
        const int form = c->k.operands[i].form, same = c->k.operands[i].same;
        given[i] = in[i] = none;
        if (form == ABSENT) continue;
        given[i] = same >= 0 ? given[same] : input(g, c->row->operands[i].name, form,
                                                   (lfuse_type)c->k.operands[i].type);
        in[i] = computed(c, i, given[i]);
    }
    value = lfuse_cast(c->row->make(in, c->k.variant, c->k.order), (lfuse_type)c->k.to);
    if (c->k.within >= 0) lfuse_update(given[c->k.within], value);
    else lfuse_output(g, "to", value);
    return g;
}

/* ---- reading a call ---- */

typedef struct kind {
    const char *word;
    int form;
} kind;

static kind kind_of(const lfuse_operand *o)
{
    switch (o->kind) {
    case LFUSE_OPERAND_SCALAR: return (kind){ "a number", NUMBER };
    case LFUSE_OPERAND_SCALARS: return (kind){ "an array of numbers", NUMBERS };
    case LFUSE_OPERAND_LIST: return (kind){ "a list", LIST };
    case LFUSE_OPERAND_TENSOR: return (kind){ "a tensor", TENSOR };
    }
    return (kind){ "of no known kind", 0 };
}

static int taken_forms(int forms)
{
    return forms == CONDITION ? LIST : forms == FLAG ? TENSOR : forms == ORDER ? NUMBER : forms;
}

static lfuse_status check_kind(const call *c, int i)
{
    const lfuse_operand *o = &c->operands[i];
    const char *name = c->row->operands[i].name;
    const int forms = c->row->operands[i].forms;

    if (!(kind_of(o).form & taken_forms(forms)))
        return lfuse__error(LFUSE_ERR_INVALID, "%s is %s, not %s", name, kind_of(o).word,
                            taken_forms(forms) == LIST ? "a list" : forms == NUMBER ? "a number"
                            : forms == VALUE ? "a number, an array of numbers or a tensor"
                                             : "a number, an array of numbers, a list or a tensor");
    if (o->kind == LFUSE_OPERAND_LIST && !o->as.list) return lfuse__error(LFUSE_ERR_INVALID, "list %s is NULL", name);
    if (o->kind == LFUSE_OPERAND_TENSOR && !o->as.tensor)
        return lfuse__error(LFUSE_ERR_INVALID, "tensor %s is NULL", name);
    if (o->kind == LFUSE_OPERAND_SCALARS && o->count && !o->as.scalars)
        return lfuse__error(LFUSE_ERR_INVALID, "the numbers of %s are NULL", name);
    return LFUSE_OK;
}

static bool is_list(const call *c, int i)
{
    return c->operands[i].kind == LFUSE_OPERAND_LIST && c->row->operands[i].forms != CONDITION;
}

/* The type of the lists; where there are none but `to`, of that. */
static lfuse_status find_type(call *c)
{
    const lfuse_operand *o = c->operands;
    int i, first = -1;

    for (i = 0; i < c->count; i++) {
        if (!is_list(c, i)) continue;
        if (first < 0) first = i;
        else if (o[i].as.list->type != o[first].as.list->type)
            return lfuse__error(LFUSE_ERR_TYPE, "list %s is of type %s, %s of type %s", c->row->operands[i].name,
                                lfuse_type_name(o[i].as.list->type), c->row->operands[first].name,
                                lfuse_type_name(o[first].as.list->type));
    }
    if (first < 0 && c->row->operands[0].forms != CONDITION)
        return lfuse__error(LFUSE_ERR_INVALID, "neither %s nor %s is a list", c->row->operands[0].name,
                            c->row->operands[1].name);
    c->type = first < 0 ? c->to->type : o[first].as.list->type;
    return LFUSE_OK;
}

/* Whether the list is bound already, as an earlier operand. */
static int same_list(const call *c, int i)
{
    int k;

    for (k = 0; k < i; k++)
        if (c->operands[k].kind == LFUSE_OPERAND_LIST && c->operands[k].as.list == c->operands[i].as.list) return k;
    return -1;
}

static lfuse_status wrong_count(const call *c, int i, const char *what, int64_t count)
{
    return lfuse__error(LFUSE_ERR_SHAPE, "%s has %" PRId64 " %s, to has %" PRId64, c->row->operands[i].name, count,
                        what, c->to->count);
}

static lfuse_type stored_type(lfuse_type type)
{
    switch (wide(type)) {
    case LFUSE_F64: return LFUSE_F64;
    case LFUSE_I64: return LFUSE_I64;
    case LFUSE_F32: return LFUSE_F32;
    default: return LFUSE_I32;
    }
}

static lfuse_status number_refused(const call *c, int i, int64_t k)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_status status;

    lfuse__real_add(&text, c->operands[i].as.scalars[k]);
    status = lfuse__error(LFUSE_ERR_TYPE, "number %" PRId64 " of %s is %s, which %s cannot hold", k,
                          c->row->operands[i].name, text.data, lfuse_type_name(c->type));
    lfuse__strbuf_free(&text);
    return status;
}

static lfuse_status read_numbers(call *c, int i)
{
    const lfuse_operand *o = &c->operands[i];
    const lfuse__numbers_use use = { c->stream, c->to, c->k.function * LFUSE__FOREACH_OPERANDS + i,
                                     stored_type(c->type), wide(c->type), o->count };
    int64_t k;

    if (o->count != c->to->count) return wrong_count(c, i, "numbers", o->count);
    for (k = 0; k < o->count; k++)
        if (!lfuse__type_holds(c->type, o->as.scalars[k])) return number_refused(c, i, k);
    c->k.operands[i].form = EACH_NUMBER;
    c->k.operands[i].type = (uint8_t)use.type;
    return lfuse__numbers_take(&use, o->as.scalars, &c->numbers[i], &c->lists[i]);
}

static lfuse_status read_tensor(call *c, int i)
{
    const lfuse_tensor *t = c->operands[i].as.tensor;

    c->k.operands[i].form = t->rank ? ONE_EACH : A_TENSOR;
    c->k.operands[i].type = (uint8_t)t->type;
    if (c->row->operands[i].forms == FLAG && (t->rank || t->type != LFUSE_F32))
        return lfuse__error(LFUSE_ERR_TYPE, "tensor %s is of type %s and rank %d, not f32 and 0",
                            c->row->operands[i].name, lfuse_type_name(t->type), t->rank);
    if (!t->rank) return LFUSE_OK;
    if (t->rank > 1)
        return lfuse__error(LFUSE_ERR_RANK, "tensor %s has rank %d: it is one number (rank 0) or one for each member "
                            "(rank 1)", c->row->operands[i].name, t->rank);
    if (t->shape[0] != c->to->count) return wrong_count(c, i, "elements", t->shape[0]);
    return lfuse__tensor_elements_list((lfuse_tensor *)t, &c->lists[i]);
}

static lfuse_status read_list(call *c, int i)
{
    const lfuse_list *l = c->operands[i].as.list;

    if (c->to && l->count != c->to->count) return wrong_count(c, i, "members", l->count);
    c->k.operands[i].form = A_LIST;
    c->k.operands[i].type = (uint8_t)l->type;
    c->k.operands[i].same = (int8_t)same_list(c, i);
    if (l == c->to && c->k.within < 0) c->k.within = (int8_t)i;
    return LFUSE_OK;
}

static lfuse_status read_operand(call *c, int i)
{
    if (c->row->operands[i].forms == ORDER) {
        c->k.order = c->operands[i].as.scalar;
        return LFUSE_OK;
    }
    switch (c->operands[i].kind) {
    case LFUSE_OPERAND_SCALAR: c->k.operands[i].form = A_NUMBER; return LFUSE_OK;
    case LFUSE_OPERAND_SCALARS: return read_numbers(c, i);
    case LFUSE_OPERAND_TENSOR: return read_tensor(c, i);
    case LFUSE_OPERAND_LIST: break;
    }
    return read_list(c, i);
}

/* A factor of 1 and an exponent that is a small number are part of the function. */
static void choose_variant(call *c)
{
    const lfuse_operand *o = c->operands;
    const bool adds = c->k.function == LFUSE__FOREACH_add || c->k.function == LFUSE__FOREACH_sub;

    if (adds && o[2].as.scalar == 1) c->k.operands[2].form = ABSENT;
    if (c->k.function != LFUSE__FOREACH_pow || o[1].kind != LFUSE_OPERAND_SCALAR) return;
    c->k.variant = (uint8_t)power_variant(c->type, o[1].as.scalar);
    if (c->k.variant != POWER) c->k.operands[1].form = ABSENT;
}

static lfuse_status read_call(call *c)
{
    int i;

    for (i = 0; i < c->count; i++) LFUSE__TRY(check_kind(c, i));
    LFUSE__TRY(find_type(c));
    for (i = 0; i < c->count; i++) LFUSE__TRY(read_operand(c, i));
    choose_variant(c);
    return LFUSE_OK;
}

/* ---- running ---- */

static int bind(const call *c, lfuse_binding *b)
{
    int i, n = 0;

    for (i = 0; i < c->count; i++) {
        const lfuse_operand *o = &c->operands[i];
        const char *name = c->row->operands[i].name;
        if (c->k.operands[i].same >= 0) continue;
        switch (c->k.operands[i].form) {
        case A_NUMBER: b[n++] = lfuse_bind_scalar(name, o->as.scalar); break;
        case A_TENSOR: b[n++] = lfuse_bind_tensor(name, (lfuse_tensor *)o->as.tensor); break;
        case ONE_EACH:
        case EACH_NUMBER: b[n++] = lfuse_bind_list(name, c->lists[i]); break;
        case A_LIST: b[n++] = lfuse_bind_list(name, (lfuse_list *)o->as.list); break;
        default: break;
        }
    }
    if (!c->to) b[n++] = lfuse_bind_tensor("to", c->total);
    else if (c->k.within < 0) b[n++] = lfuse_bind_list("to", c->to);
    return n;
}

static lfuse_status write_numbers(const void *data, lfuse_stream *stream)
{
    const call *c = data;
    int i;

    for (i = 0; i < c->count; i++)
        if (c->numbers[i]) LFUSE__TRY(lfuse__numbers_write(c->numbers[i], stream, c->operands[i].as.scalars));
    return LFUSE_OK;
}

static lfuse_status run(call *c)
{
    const lfuse__immediate immediate = { .key = &c->k, .length = sizeof c->k, .make = make_graph,
                                         .before = write_numbers, .data = c };
    lfuse_binding bindings[LFUSE__FOREACH_OPERANDS + 1];

    LFUSE__TRY(lfuse__stream_usable(c->stream));
    LFUSE__TRY(read_call(c));
    return lfuse__immediate_run(c->stream, &immediate, bindings, bind(c, bindings));
}

static lfuse_status finish(call *c, lfuse__foreach function, lfuse_type type)
{
    lfuse_status status;
    int i;

    memset(&c->k, 0, sizeof c->k);
    c->k.function = (uint8_t)function;
    c->k.to = (uint8_t)type;
    c->k.within = -1;
    for (i = 0; i < LFUSE__FOREACH_OPERANDS; i++) c->k.operands[i].same = -1;
    status = run(c);
    for (i = 0; i < c->count; i++) lfuse__numbers_give_back(lfuse__stream_device(c->stream), c->numbers[i]);
    if (status) lfuse__error_prefix(status, "%s: ", c->row->name);
    return lfuse__recording_note(c->stream, status);
}

lfuse_status lfuse__foreach_run(lfuse_stream *stream, lfuse__foreach function, lfuse_list *to,
                                const lfuse_operand *operands, int count)
{
    call c = { .stream = stream, .row = &rows[function], .to = to, .operands = operands, .count = count };

    return finish(&c, function, to->type);
}

lfuse_status lfuse__foreach_reduce(lfuse_stream *stream, lfuse__foreach function, lfuse_tensor *to,
                                   const lfuse_operand *operands, int count)
{
    call c = { .stream = stream, .row = &rows[function], .operands = operands, .count = count };
    const int rank = function != LFUSE__FOREACH_total_norm;
    lfuse_status status = LFUSE_OK;

    if (to->rank != rank)
        status = lfuse__error(LFUSE_ERR_RANK, "%s: to has rank %d, not %d", c.row->name, to->rank, rank);
    else if (rank) status = lfuse__tensor_elements_list(to, &c.to);
    else c.total = to;
    return status ? lfuse__recording_note(stream, status) : finish(&c, function, to->type);
}
