/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pointwise:OP:N[:TYPE]: one function over N elements, beside the API's own copy and our copy kernel over as many bytes
 * an element, in the same run. On CPUs of OpenCL also "resident", the vendor's own function over as many elements that
 * stay in the cores' caches: what computing alone takes. The fused kernel is held to the slower of it and the copies.
 * Chains of 1, 4 and 16 functions (OP is chain1 ...) also "unfused", a launch a function.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/copier.h"
#include "bench/fixture.h"
#include "bench/native.h"
#include "common/base/error.h"

typedef struct function {
    const char *name;
    lfuse_value (*one)(lfuse_value);
    lfuse_value (*two)(lfuse_value, lfuse_value);
} function;

static lfuse_value copy(lfuse_value x) { return x; }
static lfuse_value scale(lfuse_value x) { return lfuse_mul(x, lfuse_constant(x.graph, 1.7)); }

/* x = x * 1.01 + 0.1, then its root or its negative part cut off, and again: `count` functions in all. */
static lfuse_value chain(lfuse_value x, int count)
{
    for (int i = 0; i < count; i++) {
        if (i % 4 == 0) x = lfuse_mul(x, lfuse_constant(x.graph, 1.01));
        else if (i % 4 == 1) x = lfuse_add(x, lfuse_constant(x.graph, 0.1));
        else if (i % 4 == 2) x = lfuse_relu(x);
        else x = lfuse_sqrt(x);
    }
    return x;
}
static lfuse_value chain1(lfuse_value x) { return chain(x, 1); }
static lfuse_value chain4(lfuse_value x) { return chain(x, 4); }
static lfuse_value chain16(lfuse_value x) { return chain(x, 16); }

static const function functions[] = {
    {"copy", copy, NULL},         {"add", NULL, lfuse_add},         {"mul", NULL, lfuse_mul},
    {"scale", scale, NULL},       {"relu", lfuse_relu, NULL},       {"sqrt", lfuse_sqrt, NULL},
    {"exp", lfuse_exp, NULL},     {"tanh", lfuse_tanh, NULL},       {"gelu", lfuse_gelu, NULL},
    {"silu", lfuse_silu, NULL},   {"sigmoid", lfuse_sigmoid, NULL}, {"gelu_tanh", lfuse_gelu_tanh, NULL},
    {"sin", lfuse_sin, NULL},     {"log", lfuse_log, NULL},         {"erf", lfuse_erf, NULL},
    {"chain1", chain1, NULL},     {"chain4", chain4, NULL},         {"chain16", chain16, NULL}};

typedef struct pointwise {
    const function *f;
    int64_t elements;
    lfuse_type type;
} pointwise;

static const function *find_function(const char *name)
{
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
        if (!strcmp(functions[i].name, name)) return &functions[i];
    return NULL;
}

static lfuse_type find_type(const char *name)
{
    for (int t = LFUSE_F32; t <= LFUSE_F64; t++)
        if (!strcmp(lfuse_type_name((lfuse_type)t), name)) return (lfuse_type)t;
    return LFUSE_TYPE_NONE;
}

static lfuse_status parse(const char *problem, pointwise *p)
{
    char name[16] = "", type[8] = "f32";
    long long elements = 0;
    int fields = sscanf(problem, "pointwise:%15[a-z0-9_]:%lld:%7[a-z0-9]", name, &elements, type);
    *p = (pointwise){find_function(name), elements, find_type(type)};
    if (fields < 2 || !p->f || elements < 1 || p->type == LFUSE_TYPE_NONE)
        return lfuse__error(LFUSE_ERR_INVALID, "%s: expected pointwise:OP:N[:TYPE]", problem);
    return LFUSE_OK;
}

static lfuse_status api_copy(void *state, int set)
{
    fixture *f = state;
    return lfuse_tensor_copy(f->io[f->nio - 1].tensors[set], f->io[0].tensors[set], f->d->stream);
}

typedef struct resident {
    const bench_native_kind *kind;
    void *native;
} resident;

static lfuse_status resident_run(void *state, int set)
{
    const resident *r = state;
    (void)set;
    return r->kind->resident_run(r->native);
}

static void resident_destroy(void *state)
{
    resident *r = state;
    r->kind->resident_destroy(r->native);
    free(r);
}

/* It moves no memory, and its few results are the vendor's: neither bytes nor errors are told of it. */
static lfuse_status add_resident(fixture *f, const pointwise *p, bench_case *c)
{
    const bench_native_kind *kind;
    void *native;
    LFUSE__TRY(bench_native_find(f->d, &kind));
    if (!kind->resident_create || p->type != LFUSE_F32) return LFUSE_OK;
    lfuse_status status = kind->resident_create(f->d, p->f->name, p->elements, f->io[0].tensors[0],
                                                f->io[f->nio - 1].tensors[0], &native);
    if (status) return status == LFUSE_ERR_UNSUPPORTED ? LFUSE_OK : status;
    resident *r = malloc(sizeof *r);
    if (!r) {
        kind->resident_destroy(native);
        return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for the resident kernel");
    }
    *r = (resident){kind, native};
    bench_add(c, "resident", r, resident_run, resident_destroy);
    return LFUSE_OK;
}

static lfuse_status prepare(bench_device *d, const char *problem, bench_case *c)
{
    const lfuse_plan_options unfused = {.disable = LFUSE_NO_POINTWISE_FUSION};
    pointwise p;
    fixture *f;
    lfuse_value x[2];
    LFUSE__TRY(parse(problem, &p));
    LFUSE__TRY(fixture_create(d, &f));
    c->shared = f;
    c->destroy = fixture_destroy;
    LFUSE__TRY(fixture_tensor(f, "x", FIXTURE_INPUT, p.type, 1, &p.elements, 4, &x[0]));
    if (p.f->two) LFUSE__TRY(fixture_tensor(f, "z", FIXTURE_INPUT, p.type, 1, &p.elements, 4, &x[1]));
    LFUSE__TRY(fixture_tensor(f, "y", FIXTURE_OUTPUT, p.type, 1, &p.elements, 4, NULL));
    lfuse_output(f->graph, "y", p.f->one ? p.f->one(x[0]) : p.f->two(x[0], x[1]));

    double element = (double)lfuse_type_size(p.type) * (double)p.elements;
    bench_choose_sets(d, c, fixture_bytes(f), FIXTURE_MAX_SETS);
    LFUSE__TRY(fixture_upload(f, c->nsets));
    LFUSE__TRY(fixture_variant(f, c, "fused", NULL));
    if (!strncmp(p.f->name, "chain", 5)) LFUSE__TRY(fixture_variant(f, c, "unfused", &unfused));
    c->variants[0].bytes = (p.f->one ? 2 : 3) * element;
    bench_add(c, "api-copy", f, api_copy, NULL)->bytes = 2 * element;
    LFUSE__TRY(bench_add_copy(d, c, f->io[f->nio - 1].tensors, f->io[0].tensors));
    return add_resident(f, &p, c);
}

static const char *const problems[] = {
    "pointwise:copy:67108864",    "pointwise:add:67108864",  "pointwise:mul:67108864",  "pointwise:scale:67108864",
    "pointwise:relu:67108864",    "pointwise:sqrt:67108864", "pointwise:exp:67108864",  "pointwise:tanh:67108864",
    "pointwise:gelu:67108864",    "pointwise:sigmoid:67108864", "pointwise:silu:67108864",
    "pointwise:chain1:67108864",  "pointwise:chain4:67108864", "pointwise:chain16:67108864",
    "pointwise:gelu:67108864:f16", "pointwise:gelu:67108864:bf16", NULL};
static const char *const quick[] = {"pointwise:copy:4194304", "pointwise:add:4194304", "pointwise:gelu:4194304", NULL};
const bench_suite bench_suite_pointwise = {"pointwise", problems, quick, prepare, NULL, NULL, NULL, 0};
