/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/cases/trial.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/data.h"

enum { GUARD = 64 /* elements before and behind every tensor */ };

static void lay_out(trial_tensor *t, int rank, const int64_t *shape, harness_layout layout)
{
    int64_t step = layout == STRIDED ? 2 : 1, reach = 1;
    t->rank = rank;
    t->elements = 1;
    for (int i = rank - 1; i >= 0; i--) {
        t->shape[i] = shape[i];
        t->strides[i] = step;
        t->elements *= shape[i];
        if (shape[i] > 0) reach += (shape[i] - 1) * step;
        step = step * (shape[i] ? shape[i] : 1) + (layout == STRIDED || layout == ROWS ? 3 : 0);
    }
    t->offset = GUARD + (layout == OFFSET ? 3 : 0);
    t->span = t->offset + reach + GUARD;
}

/* Position in the base of the i-th element in row-major order. */
static int64_t position(const trial_tensor *t, int64_t i)
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

static void make_host(trial_tensor *t, lfuse_type type)
{
    t->packed = malloc((size_t)t->elements * lfuse_type_size(type) + 1);
    t->image = malloc((size_t)t->span * lfuse_type_size(type));
    t->inside = calloc((size_t)t->span, 1);
    if (!t->packed || !t->image || !t->inside) abort();
    lfuse__data_poison(type, t->packed, t->elements);
    for (int64_t i = 0; i < t->elements; i++) t->inside[position(t, i)] = 1;
}

static trial_io *add(trial *t, const char *name, trial_role role, lfuse_type type, int count)
{
    if (t->nio == HARNESS_MAX_IO) abort(); /* a mistake of the case */
    trial_io *x = &t->io[t->nio++];
    snprintf(x->name, sizeof x->name, "%s", name);
    x->role = role;
    x->type = type;
    x->count = count;
    x->tensors = count ? calloc((size_t)count, sizeof *x->tensors) : NULL;
    return x;
}

trial_io *trial_add_tensor(trial *t, const char *name, trial_role role, lfuse_type type, int rank,
                           const int64_t *shape, harness_layout layout)
{
    trial_io *x = add(t, name, role, type, 1);
    lay_out(x->tensors, rank, shape, layout);
    make_host(x->tensors, type);
    return x;
}

trial_io *trial_add_list(trial *t, const char *name, trial_role role, lfuse_type type, int count,
                         const int64_t *elements)
{
    trial_io *x = add(t, name, role, type, count);
    for (int i = 0; i < count; i++) {
        lay_out(&x->tensors[i], 1, &elements[i], i % 3 == 1 ? OFFSET : PLAIN);
        make_host(&x->tensors[i], type);
    }
    return x;
}

trial_io *trial_add_matrices(trial *t, const char *name, trial_role role, lfuse_type type, int count,
                             const int64_t (*shapes)[3], harness_layout layout)
{
    trial_io *x = add(t, name, role, type, count);
    for (int i = 0; i < count; i++) {
        lay_out(&x->tensors[i], 3, shapes[i], i % 2 == 0 && layout == ROWS ? ROWS : i % 3 == 1 ? OFFSET : PLAIN);
        make_host(&x->tensors[i], type);
    }
    return x;
}

trial_io *trial_add_scalar(trial *t, const char *name, double number)
{
    trial_io *x = add(t, name, TRIAL_SCALAR, LFUSE_F64, 0);
    x->number = number;
    return x;
}

void trial_add_size(trial *t, const char *name, int64_t value)
{
    if (t->nsizes == HARNESS_MAX_SIZES) abort();
    snprintf(t->sizes[t->nsizes].name, sizeof t->sizes[0].name, "%s", name);
    t->sizes[t->nsizes++].actual = value;
}

void trial_fill(trial_io *x, harness_data data, uint64_t seed)
{
    for (int i = 0; i < x->count; i++)
        fill(x->type, x->tensors[i].packed, x->tensors[i].elements, data, seed + (uint64_t)i);
}

void trial_fill_range(trial_io *x, int64_t low, int64_t high, uint64_t seed)
{
    lfuse__random r;
    lfuse__random_seed(&r, seed);
    for (int i = 0; i < x->count; i++)
        for (int64_t k = 0; k < x->tensors[i].elements; k++)
            lfuse__data_put(x->type, x->tensors[i].packed, k,
                            (double)(low + (int64_t)lfuse__random_below(&r, (uint64_t)(high - low + 1))));
}

/* ---- running ---- */

lfuse_status trial_say(trial *t, lfuse_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(t->words, t->words_size, format, arguments);
    va_end(arguments);
    return status;
}

lfuse_status trial_blame(trial *t, lfuse_status status, const char *what)
{
    return status ? trial_say(t, status, "%s: %s: %s", what, lfuse_status_name(status), lfuse_last_error()) : LFUSE_OK;
}

static bool is_result(const trial_io *x)
{
    return x->role == TRIAL_OUTPUT || x->role == TRIAL_LIST_OUTPUT || x->updated;
}

static lfuse_status make_tensors(lfuse_device *device, trial_io *x)
{
    for (int i = 0; i < x->count; i++) {
        trial_tensor *t = &x->tensors[i];
        lfuse_status status = lfuse_tensor_create(device, x->type, 1, &t->span, &t->base);
        if (!status) status = lfuse_tensor_view(t->base, t->rank, t->shape, t->strides, t->offset, &t->view);
        if (status) return status;
    }
    if (x->role != TRIAL_LIST && x->role != TRIAL_LIST_OUTPUT) return LFUSE_OK;
    lfuse_tensor *views[HARNESS_MAX_MEMBERS];
    for (int i = 0; i < x->count; i++) views[i] = x->tensors[i].view;
    return lfuse_list_create(device, x->type, x->count, views, &x->list);
}

static void drop_tensors(trial_io *x)
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
static lfuse_status load(trial_io *x)
{
    size_t size = x->role == TRIAL_SCALAR ? 0 : lfuse_type_size(x->type);
    for (int k = 0; k < x->count; k++) {
        trial_tensor *t = &x->tensors[k];
        lfuse__data_poison(x->type, t->image, t->span);
        for (int64_t i = 0; i < t->elements; i++)
            memcpy((char *)t->image + (size_t)position(t, i) * size, (char *)t->packed + (size_t)i * size, size);
        lfuse_status status = lfuse_tensor_write(t->base, NULL, t->image);
        if (status) return status;
    }
    return LFUSE_OK;
}

static int bind(trial *t, lfuse_binding *bindings)
{
    for (int i = 0; i < t->nio; i++) {
        trial_io *x = &t->io[i];
        if (x->role == TRIAL_SCALAR) bindings[i] = lfuse_bind_scalar(x->name, x->number);
        else if (x->list) bindings[i] = lfuse_bind_list(x->name, x->list);
        else bindings[i] = lfuse_bind_tensor(x->name, x->tensors[0].view);
    }
    for (int i = 0; i < t->nsizes; i++) bindings[t->nio + i] = lfuse_bind_size(t->sizes[i].name, t->sizes[i].actual);
    return t->nio + t->nsizes;
}

/* Reads all results, one after the other, into `all`; checks that nothing else was written. */
static lfuse_status collect(trial *t, char *all)
{
    for (int i = 0; i < t->nio; i++) {
        trial_io *o = &t->io[i];
        size_t size = lfuse_type_size(o->type);
        for (int k = 0; k < o->count; k++) {
            trial_tensor *x = &o->tensors[k];
            lfuse_status status = trial_blame(t, lfuse_tensor_read(x->base, NULL, x->image), "reading back");
            if (status) return status;
            for (int64_t at = 0; at < x->span; at++)
                for (size_t b = 0; b < size && !x->inside[at]; b++)
                    if (((unsigned char *)x->image)[(size_t)at * size + b] != 0xff)
                        return trial_say(t, LFUSE_ERR_OVERLAP, "%s: member %d: element %lld outside it was written",
                                         o->name, k, (long long)(at - x->offset));
            for (int64_t e = 0; e < x->elements; e++) {
                const char *from = (char *)x->image + (size_t)position(x, e) * size;
                if (is_result(o)) memcpy(all, from, size), all += size;
                else if (memcmp(from, (char *)x->packed + (size_t)e * size, size))
                    return trial_say(t, LFUSE_ERR_OVERLAP, "%s: element %lld of an input was written", o->name,
                                     (long long)e);
            }
        }
    }
    return LFUSE_OK;
}

size_t trial_bytes(const trial *t)
{
    size_t bytes = 0;
    for (int i = 0; i < t->nio; i++)
        for (int k = 0; is_result(&t->io[i]) && k < t->io[i].count; k++)
            bytes += (size_t)t->io[i].tensors[k].elements * lfuse_type_size(t->io[i].type);
    return bytes;
}

/* The payload of a NaN is promised by nobody: one stands for all before bits are compared. */
static void unify_nans(const trial *t, char *all)
{
    for (int x = 0; x < t->nio; x++) {
        const trial_io *o = &t->io[x];
        size_t size = is_result(o) ? lfuse_type_size(o->type) : 0;
        for (int k = 0; size && k < o->count; k++)
            for (int64_t i = 0; i < o->tensors[k].elements; i++, all += size)
                if (isnan(lfuse__data_get(o->type, all, 0))) lfuse__data_put(o->type, all, 0, NAN);
    }
}

static lfuse_status load_all(trial *t)
{
    lfuse_status status = LFUSE_OK;
    for (int i = 0; i < t->nio && !status; i++) status = trial_blame(t, load(&t->io[i]), "writing the inputs");
    return status;
}

/* What a run that was submitted gave. Look-ups out of range are reported, where there are such. */
static lfuse_status finish(trial *t, char *all)
{
    lfuse_status status = lfuse_stream_synchronize(t->stream);
    if (status == LFUSE_ERR_INDEX && t->truth.out_of_range) status = LFUSE_OK;
    status = trial_blame(t, status, "synchronisation");
    if (!status) status = collect(t, all);
    if (!status) unify_nans(t, all);
    return status;
}

lfuse_status trial_run(trial *t, lfuse_plan *plan, const char *what, char *all)
{
    lfuse_binding bindings[HARNESS_MAX_IO + HARNESS_MAX_SIZES];
    lfuse_status status = load_all(t);
    if (!status) status = trial_blame(t, lfuse_plan_run(plan, t->stream, bindings, bind(t, bindings)), what);
    return status ? status : finish(t, all);
}

lfuse_status trial_instance(trial *t, lfuse_plan *plan, const char *what, lfuse_instance **instance)
{
    lfuse_binding bindings[HARNESS_MAX_IO + HARNESS_MAX_SIZES];
    lfuse_status status = load_all(t); /* frozen inputs are read when it is made */
    if (status) return status;
    return trial_blame(t, lfuse_instance_create(plan, t->stream, bindings, bind(t, bindings), instance), what);
}

lfuse_status trial_run_instance(trial *t, lfuse_instance *instance, const char *what, char *all)
{
    lfuse_binding bindings[HARNESS_MAX_IO + HARNESS_MAX_SIZES];
    lfuse_status status = load_all(t);
    if (!status) status = trial_blame(t, lfuse_instance_run(instance, bindings, bind(t, bindings)), what);
    return status ? status : finish(t, all);
}

/* ---- judging ---- */

lfuse_status trial_judge(trial *t, const char *what, const char *all)
{
    for (int i = 0; i < t->nio; i++) {
        trial_io *x = &t->io[i];
        if (!is_result(x)) continue;
        lfuse__oracle_report report;
        const lfuse__oracle_result *r = lfuse__oracle_find(&t->truth, x->name);
        int64_t count = 0;
        for (int k = 0; k < x->count; k++) count += x->tensors[k].elements;
        if (!r || r->count != count || r->type != x->type)
            return trial_say(t, LFUSE_ERR_SHAPE, "%s: the oracle has another shape or type", x->name);
        if (!lfuse__oracle_compare(x->type, count, all, r->value, r->bound, &report))
            return trial_say(t, LFUSE_ERR_STATE, "%s: %s: %s", what, x->name, report.text);
        t->judged += count - report.open;
        t->open += report.open;
        if (!t->lenient && count > 0 && report.open > count / 2)
            return trial_say(t, LFUSE_ERR_STATE, "%s: %lld of %lld elements cannot be judged", x->name,
                             (long long)report.open, (long long)count);
        all += (size_t)count * lfuse_type_size(x->type);
    }
    return LFUSE_OK;
}

/* A vector is one row, as it is in a list. */
static lfuse__matrices matrices_of(const trial_tensor *t)
{
    if (t->rank < 2) return (lfuse__matrices){1, 1, t->elements, t->rank};
    return (lfuse__matrices){t->rank > 2 ? t->shape[0] : 1, t->shape[t->rank - 2], t->shape[t->rank - 1], t->rank};
}

int trial_oracle_inputs(const trial *t, const lfuse__oracle_input **all)
{
    static lfuse__matrices matrices[HARNESS_MAX_IO][HARNESS_MAX_MEMBERS];
    static const void *members[HARNESS_MAX_IO][HARNESS_MAX_MEMBERS];
    static int64_t elements[HARNESS_MAX_IO][HARNESS_MAX_MEMBERS];
    static lfuse__oracle_input inputs[HARNESS_MAX_IO + HARNESS_MAX_SIZES];
    int n = 0;
    memset(inputs, 0, sizeof inputs);
    for (int i = 0; i < t->nio; i++) {
        const trial_io *x = &t->io[i];
        if (x->role == TRIAL_OUTPUT || x->role == TRIAL_LIST_OUTPUT) continue;
        lfuse__oracle_input *in = &inputs[n++];
        in->name = x->name;
        in->number = x->number;
        if (x->role == TRIAL_SCALAR) continue;
        for (int k = 0; k < x->count && k < HARNESS_MAX_MEMBERS; k++) {
            members[i][k] = x->tensors[k].packed;
            elements[i][k] = x->tensors[k].elements;
            matrices[i][k] = matrices_of(&x->tensors[k]);
        }
        if (x->role == TRIAL_LIST) {
            in->members = members[i], in->elements = elements[i], in->count = x->count;
            in->matrices = matrices[i];
        } else {
            in->data = x->tensors[0].packed;
            memcpy(in->shape, x->tensors[0].shape, sizeof in->shape);
        }
    }
    for (int i = 0; i < t->nsizes; i++) {
        inputs[n].name = t->sizes[i].name;
        inputs[n++].number = (double)t->sizes[i].actual;
    }
    *all = inputs;
    return n;
}

static lfuse_status oracle(trial *t)
{
    const lfuse__oracle_options options = {.inexact = !t->exact, .levels = t->levels};
    const lfuse__oracle_input *inputs;
    const int n = trial_oracle_inputs(t, &inputs);
    return trial_blame(t, lfuse__oracle_run_graph(t->graph, inputs, n, &options, &t->truth), "oracle");
}

lfuse_status trial_open(trial *t, lfuse_device *device)
{
    lfuse_device_info info;
    t->device = device;
    lfuse_status status = trial_blame(t, lfuse_device_get_info(device, &info), "device");
    t->exact = info.exact;
    if (!status) status = trial_blame(t, lfuse_stream_create(device, &t->stream), "stream");
    for (int i = 0; i < t->nio && !status; i++)
        status = trial_blame(t, make_tensors(device, &t->io[i]), t->io[i].name);
    if (!status) status = oracle(t);
    return status;
}

void trial_close(trial *t)
{
    lfuse__oracle_free(&t->truth);
    for (int i = 0; i < t->nio; i++) drop_tensors(&t->io[i]);
    lfuse_stream_destroy(t->stream);
    t->stream = NULL;
}

void trial_free(trial *t)
{
    for (int i = 0; i < t->nio; i++) {
        for (int k = 0; k < t->io[i].count; k++) {
            free(t->io[i].tensors[k].packed);
            free(t->io[i].tensors[k].image);
            free(t->io[i].tensors[k].inside);
        }
        free(t->io[i].tensors);
    }
    t->nio = 0;
}
