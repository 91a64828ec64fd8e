/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "tests/cases/harness.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/data.h"
#include "bench/oracle.h"
#include "common/base/hash.h"

enum { GUARD = 64 /* elements before and behind every tensor */ };

typedef enum role { INPUT, FROZEN, SCALAR, LIST, OUTPUT, LIST_OUTPUT } io_role;

/* A tensor between guard zones: `base` is flat and holds them, `view` is what the run gets. */
typedef struct guarded {
    int rank;
    int64_t shape[LFUSE_MAX_RANK], strides[LFUSE_MAX_RANK];
    int64_t elements, offset, span; /* span: elements of the base */
    void *packed;  /* contents of an input, contiguous; poison for an output */
    void *image;   /* of the base */
    unsigned char *inside; /* [span] whether an element of the base belongs to the view */
    lfuse_tensor *base, *view;
} guarded;

typedef struct io {
    char name[32];
    io_role role;
    lfuse_type type;
    int32_t id; /* of the graph's value, for updates */
    bool updated;
    double number;
    int count; /* of tensors: 1, or members */
    guarded *tensors;
    lfuse_list *list;
} io;

struct harness {
    lfuse_graph *graph;
    int nio, nsizes, launches;
    bool same_bits;
    io io[HARNESS_MAX_IO];
    struct { lfuse_size size; int64_t actual; } sizes[HARNESS_MAX_SIZES];
    char *words;
    size_t words_size;
};

static uint64_t result_hash;

uint64_t harness_result_hash(void) { return result_hash; }

/* ---- describing ---- */

static int64_t actual(const harness *h, lfuse_size extent)
{
    for (int i = 0; i < h->nsizes; i++)
        if (h->sizes[i].size == extent) return h->sizes[i].actual;
    return extent;
}

lfuse_size h_size(harness *h, const char *name, int64_t low, int64_t high, int64_t value)
{
    lfuse_size size = lfuse_size_var(h->graph, name, low, high);
    if (h->nsizes < HARNESS_MAX_SIZES) {
        h->sizes[h->nsizes].size = size;
        h->sizes[h->nsizes++].actual = value;
    }
    return size;
}

static io *add(harness *h, const char *name, io_role role, lfuse_type type, int count)
{
    if (h->nio == HARNESS_MAX_IO) abort(); /* a mistake of the case */
    io *x = &h->io[h->nio++];
    snprintf(x->name, sizeof x->name, "%s", name);
    x->role = role;
    x->type = type;
    x->count = count;
    x->tensors = count ? calloc((size_t)count, sizeof *x->tensors) : NULL;
    return x;
}

static void lay_out(guarded *t, int rank, const int64_t *shape, harness_layout layout)
{
    int64_t step = layout == STRIDED ? 2 : 1, reach = 1;
    t->rank = rank;
    t->elements = 1;
    for (int i = rank - 1; i >= 0; i--) {
        t->shape[i] = shape[i];
        t->strides[i] = step;
        t->elements *= shape[i];
        if (shape[i] > 0) reach += (shape[i] - 1) * step;
        step = step * (shape[i] ? shape[i] : 1) + (layout == STRIDED ? 3 : 0);
    }
    t->offset = GUARD + (layout == OFFSET ? 3 : 0);
    t->span = t->offset + reach + GUARD;
}

/* Position in the base of the i-th element in row-major order. */
static int64_t position(const guarded *t, int64_t i)
{
    int64_t at = t->offset;
    for (int a = t->rank - 1; a >= 0; a--) {
        at += i % t->shape[a] * t->strides[a];
        i /= t->shape[a];
    }
    return at;
}

static void fill(lfuse_type type, void *data, int64_t count, harness_data kind, uint64_t seed)
{
    switch (kind) {
    case NORMAL: lfuse__data_normal(type, data, count, lfuse__data_scale(type), seed); break;
    case POSITIVE: lfuse__data_uniform(type, data, count, 0.01, 4, seed); break;
    case INTEGERS: lfuse__data_integers(type, data, count, 3, seed); break;
    case NASTY: lfuse__data_nasty(type, data, count, seed); break;
    }
}

static void make_host(guarded *t, lfuse_type type)
{
    t->packed = malloc((size_t)t->elements * lfuse_type_size(type) + 1);
    t->image = malloc((size_t)t->span * lfuse_type_size(type));
    t->inside = calloc((size_t)t->span, 1);
    if (!t->packed || !t->image || !t->inside) abort();
    lfuse__data_poison(type, t->packed, t->elements);
    for (int64_t i = 0; i < t->elements; i++) t->inside[position(t, i)] = 1;
}

static io *add_tensor(harness *h, const char *name, io_role role, lfuse_type type, int rank, const lfuse_size *shape,
                      harness_layout layout)
{
    int64_t extents[LFUSE_MAX_RANK];
    io *x = add(h, name, role, type, 1);
    for (int i = 0; i < rank; i++) extents[i] = actual(h, shape[i]);
    lay_out(x->tensors, rank, extents, layout);
    make_host(x->tensors, type);
    return x;
}

static io *add_list(harness *h, const char *name, io_role role, lfuse_type type, int count, const int64_t *elements)
{
    io *x = add(h, name, role, type, count);
    for (int i = 0; i < count; i++) {
        lay_out(&x->tensors[i], 1, &elements[i], i % 3 == 1 ? OFFSET : PLAIN);
        make_host(&x->tensors[i], type);
    }
    return x;
}

static void fill_io(harness *h, io *x, harness_data data)
{
    for (int i = 0; i < x->count; i++)
        fill(x->type, x->tensors[i].packed, x->tensors[i].elements, data, 1000u * (unsigned)h->nio + (unsigned)i);
}

lfuse_value h_input(harness *h, const char *name, lfuse_type type, int rank, const lfuse_size *shape,
                    harness_layout layout, harness_data data)
{
    io *x = add_tensor(h, name, INPUT, type, rank, shape, layout);
    lfuse_value value = lfuse_input(h->graph, name, type, rank, shape);
    x->id = value.id;
    fill_io(h, x, data);
    return value;
}

lfuse_value h_frozen(harness *h, const char *name, lfuse_type type, int rank, const lfuse_size *shape,
                     harness_data data)
{
    fill_io(h, add_tensor(h, name, FROZEN, type, rank, shape, PLAIN), data);
    return lfuse_frozen(h->graph, name, type, rank, shape);
}

lfuse_value h_scalar(harness *h, const char *name, double number)
{
    add(h, name, SCALAR, LFUSE_F64, 0)->number = number;
    return lfuse_scalar(h->graph, name);
}

lfuse_value h_list(harness *h, const char *name, lfuse_type type, int count, const int64_t *elements,
                   harness_data data)
{
    io *x = add_list(h, name, LIST, type, count, elements);
    lfuse_value value = lfuse_list_input(h->graph, name, type, LFUSE_RANK_ANY);
    x->id = value.id;
    fill_io(h, x, data);
    return value;
}

void h_output(harness *h, const char *name, lfuse_value value, lfuse_type type, int rank, const lfuse_size *shape,
              harness_layout layout)
{
    add_tensor(h, name, OUTPUT, type, rank, shape, layout);
    lfuse_output(h->graph, name, value);
}

void h_list_output(harness *h, const char *name, lfuse_value value, lfuse_type type, int count,
                   const int64_t *elements)
{
    add_list(h, name, LIST_OUTPUT, type, count, elements);
    lfuse_output(h->graph, name, value);
}

void h_update(harness *h, lfuse_value target, lfuse_value value)
{
    for (int i = 0; i < h->nio; i++)
        if ((h->io[i].role == INPUT || h->io[i].role == LIST) && h->io[i].id == target.id) h->io[i].updated = true;
    lfuse_update(target, value);
}

lfuse_graph *h_graph(harness *h) { return h->graph; }
void h_expect_same_bits(harness *h) { h->same_bits = true; }
void h_expect_launches(harness *h, int launches) { h->launches = launches; }

/* ---- running ---- */

static lfuse_status say(harness *h, lfuse_status status, const char *format, ...) LFUSE_PRINTF(3, 4);
static lfuse_status say(harness *h, lfuse_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(h->words, h->words_size, format, arguments);
    va_end(arguments);
    return status;
}

static lfuse_status blame(harness *h, lfuse_status status, const char *what)
{
    return status ? say(h, status, "%s: %s: %s", what, lfuse_status_name(status), lfuse_last_error()) : LFUSE_OK;
}

static bool is_result(const io *x) { return x->role == OUTPUT || x->role == LIST_OUTPUT || x->updated; }

static lfuse_status make_tensors(lfuse_device *device, io *x)
{
    for (int i = 0; i < x->count; i++) {
        guarded *t = &x->tensors[i];
        lfuse_status status = lfuse_tensor_create(device, x->type, 1, &t->span, &t->base);
        if (!status) status = lfuse_tensor_view(t->base, t->rank, t->shape, t->strides, t->offset, &t->view);
        if (status) return status;
    }
    if (x->role != LIST && x->role != LIST_OUTPUT) return LFUSE_OK;
    lfuse_tensor *views[HARNESS_MAX_MEMBERS];
    for (int i = 0; i < x->count; i++) views[i] = x->tensors[i].view;
    return lfuse_list_create(device, x->type, x->count, views, &x->list);
}

static void drop_tensors(io *x)
{
    lfuse_list_destroy(x->list);
    x->list = NULL;
    for (int i = 0; i < x->count; i++) {
        lfuse_tensor_destroy(x->tensors[i].view);
        lfuse_tensor_destroy(x->tensors[i].base);
        x->tensors[i].view = x->tensors[i].base = NULL;
    }
}

/* Guard zones and gaps get 0xff, the view its contents (poison when it is an output). */
static lfuse_status load(io *x)
{
    size_t size = x->role == SCALAR ? 0 : lfuse_type_size(x->type);
    for (int k = 0; k < x->count; k++) {
        guarded *t = &x->tensors[k];
        lfuse__data_poison(x->type, t->image, t->span);
        for (int64_t i = 0; i < t->elements; i++)
            memcpy((char *)t->image + (size_t)position(t, i) * size, (char *)t->packed + (size_t)i * size, size);
        lfuse_status status = lfuse_tensor_write(t->base, NULL, t->image);
        if (status) return status;
    }
    return LFUSE_OK;
}

static int bind(harness *h, lfuse_binding *bindings)
{
    for (int i = 0; i < h->nio; i++) {
        io *x = &h->io[i];
        if (x->role == SCALAR) bindings[i] = lfuse_bind_number(x->name, x->number);
        else if (x->list) bindings[i] = lfuse_bind_list(x->name, x->list);
        else bindings[i] = lfuse_bind_tensor(x->name, x->tensors[0].view);
    }
    return h->nio;
}

/* Reads all results, one after the other, into `all`; checks that nothing else was written. */
static lfuse_status collect(harness *h, char *all)
{
    for (int x = 0; x < h->nio; x++) {
        io *o = &h->io[x];
        size_t size = lfuse_type_size(o->type);
        for (int k = 0; k < o->count; k++) {
            guarded *t = &o->tensors[k];
            lfuse_status status = blame(h, lfuse_tensor_read(t->base, NULL, t->image), "reading back");
            if (status) return status;
            for (int64_t at = 0; at < t->span; at++)
                for (size_t b = 0; b < size && !t->inside[at]; b++)
                    if (((unsigned char *)t->image)[(size_t)at * size + b] != 0xff)
                        return say(h, LFUSE_ERR_OVERLAP, "%s: member %d: element %lld outside it was written", o->name,
                                   k, (long long)(at - t->offset));
            for (int64_t i = 0; i < t->elements; i++) {
                const char *from = (char *)t->image + (size_t)position(t, i) * size;
                if (is_result(o)) memcpy(all, from, size), all += size;
                else if (memcmp(from, (char *)t->packed + (size_t)i * size, size))
                    return say(h, LFUSE_ERR_OVERLAP, "%s: element %lld of an input was written", o->name, (long long)i);
            }
        }
    }
    return LFUSE_OK;
}

static size_t result_bytes(const harness *h)
{
    size_t bytes = 0;
    for (int i = 0; i < h->nio; i++)
        for (int k = 0; is_result(&h->io[i]) && k < h->io[i].count; k++)
            bytes += (size_t)h->io[i].tensors[k].elements * lfuse_type_size(h->io[i].type);
    return bytes;
}

/* The payload of a NaN is promised by nobody: one stands for all before bits are compared. */
static void unify_nans(const harness *h, char *all)
{
    for (int x = 0; x < h->nio; x++) {
        const io *o = &h->io[x];
        size_t size = is_result(o) ? lfuse_type_size(o->type) : 0;
        for (int k = 0; size && k < o->count; k++)
            for (int64_t i = 0; i < o->tensors[k].elements; i++, all += size)
                if (isnan(lfuse__data_get(o->type, all, 0))) lfuse__data_put(o->type, all, 0, NAN);
    }
}

static lfuse_status run_once(harness *h, lfuse_plan *plan, lfuse_stream *stream, char *all)
{
    lfuse_binding bindings[HARNESS_MAX_IO];
    for (int i = 0; i < h->nio; i++) {
        lfuse_status status = blame(h, load(&h->io[i]), "writing the inputs");
        if (status) return status;
    }
    lfuse_status status = blame(h, lfuse_plan_run(plan, stream, bindings, bind(h, bindings)), "run");
    if (!status) status = blame(h, lfuse_stream_synchronize(stream), "synchronisation");
    if (!status) status = collect(h, all);
    if (!status) unify_nans(h, all);
    return status;
}

/* ---- judging ---- */

static lfuse_status judge(harness *h, const lfuse__oracle_run *truth, const char *all, const char *what)
{
    for (int i = 0; i < h->nio; i++) {
        io *x = &h->io[i];
        if (!is_result(x)) continue;
        lfuse__oracle_report report;
        const lfuse__oracle_result *r = lfuse__oracle_find(truth, x->name);
        int64_t count = 0;
        for (int k = 0; k < x->count; k++) count += x->tensors[k].elements;
        if (!r || r->count != count || r->type != x->type)
            return say(h, LFUSE_ERR_SHAPE, "%s: the oracle has another shape or type", x->name);
        if (!lfuse__oracle_compare(x->type, count, all, r->value, r->bound, &report))
            return say(h, LFUSE_ERR_STATE, "%s: %s: %s", what, x->name, report.text);
        if (count > 0 && report.open > count / 2)
            return say(h, LFUSE_ERR_STATE, "%s: %lld of %lld elements cannot be judged", x->name,
                       (long long)report.open, (long long)count);
        all += (size_t)count * lfuse_type_size(x->type);
    }
    return LFUSE_OK;
}

static lfuse_status oracle(harness *h, const lfuse_device_info *info, lfuse__oracle_run *truth)
{
    static const void *members[HARNESS_MAX_IO][HARNESS_MAX_MEMBERS];
    static int64_t elements[HARNESS_MAX_IO][HARNESS_MAX_MEMBERS];
    lfuse__oracle_input inputs[HARNESS_MAX_IO] = {{NULL}};
    lfuse__oracle_options options = {.inexact = !info->exact};
    int n = 0;
    for (int i = 0; i < h->nio; i++) {
        const io *x = &h->io[i];
        if (x->role == OUTPUT || x->role == LIST_OUTPUT) continue;
        lfuse__oracle_input *in = &inputs[n++];
        in->name = x->name;
        in->number = x->number;
        if (x->role == SCALAR) continue;
        for (int k = 0; k < x->count; k++) {
            members[i][k] = x->tensors[k].packed;
            elements[i][k] = x->tensors[k].elements;
        }
        if (x->role == LIST) in->members = members[i], in->elements = elements[i], in->count = x->count;
        else {
            in->data = x->tensors[0].packed;
            memcpy(in->shape, x->tensors[0].shape, sizeof in->shape);
        }
    }
    return blame(h, lfuse__oracle_run_graph(h->graph, inputs, n, &options, truth), "oracle");
}

/* Plans with `options`, runs twice, compares the two runs and the oracle. */
static lfuse_status run_planned(harness *h, lfuse_device *device, lfuse_stream *stream,
                                const lfuse_plan_options *options, const lfuse__oracle_run *truth, char *all,
                                char *again)
{
    lfuse_device_counters before, after;
    lfuse_plan *plan;
    const char *what = options->disable ? "unfused" : "fused";
    lfuse_status status = blame(h, lfuse_plan_create(device, h->graph, options, &plan), "plan");
    if (status) return status;
    status = run_once(h, plan, stream, all);
    if (!status) status = judge(h, truth, all, what);
    if (!status) status = blame(h, lfuse_device_get_counters(device, &before), "counters");
    if (!status) status = run_once(h, plan, stream, again);
    if (!status) status = blame(h, lfuse_device_get_counters(device, &after), "counters");
    if (!status && memcmp(all, again, result_bytes(h)))
        status = say(h, LFUSE_ERR_STATE, "%s: a second run gives other bits", what);
    if (!status && after.compiles != before.compiles)
        status = say(h, LFUSE_ERR_STATE, "%s: the second run compiled", what);
    long long launches = status ? 0 : (long long)(after.launches - before.launches);
    if (!status && !options->disable && h->launches >= 0 && launches != h->launches)
        status = say(h, LFUSE_ERR_STATE, "%lld launches instead of %d: %s", launches, h->launches,
                     lfuse_plan_text(plan));
    lfuse_plan_destroy(plan);
    return status;
}

static lfuse_status run_on(harness *h, lfuse_device *device)
{
    static const lfuse_plan_options fused = {.effort = LFUSE_EFFORT_ESTIMATE};
    static const lfuse_plan_options unfused = {.effort = LFUSE_EFFORT_ESTIMATE,
                                               .disable = LFUSE_NO_POINTWISE_FUSION | LFUSE_NO_EPILOGUE};
    lfuse_device_info info;
    lfuse_stream *stream = NULL;
    lfuse__oracle_run truth = {0, NULL};
    size_t bytes = result_bytes(h);
    char *results = calloc(3, bytes + 1);
    if (!results) abort();
    char *first = results, *second = first + bytes, *third = second + bytes;
    lfuse_status status = blame(h, lfuse_device_get_info(device, &info), "device");
    if (!status) status = blame(h, lfuse_stream_create(device, &stream), "stream");
    for (int i = 0; i < h->nio && !status; i++) status = blame(h, make_tensors(device, &h->io[i]), h->io[i].name);
    if (!status) status = oracle(h, &info, &truth);
    if (!status) status = run_planned(h, device, stream, &fused, &truth, first, second);
    if (!status) status = run_planned(h, device, stream, &unfused, &truth, second, third);
    if (!status && h->same_bits && info.exact && memcmp(first, second, bytes))
        status = say(h, LFUSE_ERR_STATE, "fused and unfused results differ in their bits");
    result_hash = status ? 0 : lfuse__hash_bytes(first, bytes).low;
    lfuse__oracle_free(&truth);
    for (int i = 0; i < h->nio; i++) drop_tensors(&h->io[i]);
    lfuse_stream_destroy(stream);
    free(results);
    return status;
}

lfuse_status harness_run(const harness_case *c, lfuse_device *device, char *words, size_t size)
{
    harness h = {.launches = -1, .words = words, .words_size = size};
    words[0] = '\0';
    h.graph = lfuse_graph_create();
    c->describe(&h);
    lfuse_status status = blame(&h, lfuse_graph_check(h.graph), "graph");
    if (!status) status = run_on(&h, device);
    for (int i = 0; i < h.nio; i++) {
        for (int k = 0; k < h.io[i].count; k++) {
            free(h.io[i].tensors[k].packed);
            free(h.io[i].tensors[k].image);
            free(h.io[i].tensors[k].inside);
        }
        free(h.io[i].tensors);
    }
    lfuse_graph_destroy(h.graph);
    return status;
}
