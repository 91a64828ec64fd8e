/* SPDX-License-Identifier: Apache-2.0 */
/* Rules as graph functions: the bits of the optimizers of lists, on every device; what is refused. */
#include <math.h>

#include "bench/data.h"
#include "common/optim/rule.h"
#include "tests/optim/run.h"

enum { TENSORS = 4, NUMBERS = LFUSE__HYPER_COUNT + 4, NAMES = 64, ROOM = 1024 + 130 + 2500 + 1 };
static const int64_t elements[TENSORS] = { 1024, 130, 2500, 1 };
static const int64_t columns[TENSORS] = { 32, 0, 100, 0 };

/* How a graph is given numbers: by the run, fixed, or in device memory. */
typedef enum supply { SCALARS, CONSTANTS, ON_DEVICE } supply;

typedef struct variant {
    lfuse_rule rule;
    unsigned switches;
    lfuse_type type, state;
    lfuse_clip clip;
    supply supply;
    bool deep; /* the first tensor has three axes */
} variant;

static const variant variants[] = {
#define DEFAULTS(name, number, text) { .rule = LFUSE_RULE_##name },
    LFUSE_RULE_MAP(DEFAULTS)
#undef DEFAULTS
    { .rule = LFUSE_RULE_SGD, .switches = LFUSE_OPTIM_MOMENTUM },
    { .rule = LFUSE_RULE_SGD, .switches = LFUSE_OPTIM_MOMENTUM | LFUSE_OPTIM_NESTEROV, .supply = CONSTANTS },
    { .rule = LFUSE_RULE_SGD, .switches = LFUSE_OPTIM_MOMENTUM | LFUSE_OPTIM_DECAY_LAST, .supply = ON_DEVICE },
    { .rule = LFUSE_RULE_RMSPROP, .switches = LFUSE_OPTIM_MOMENTUM | LFUSE_OPTIM_CENTERED },
    { .rule = LFUSE_RULE_ADAM, .switches = LFUSE_OPTIM_AMSGRAD | LFUSE_OPTIM_MAXIMIZE, .supply = CONSTANTS },
    { .rule = LFUSE_RULE_ADAM, .switches = LFUSE_OPTIM_DECOUPLED, .clip = LFUSE_CLIP_VALUE },
    { .rule = LFUSE_RULE_NADAM, .switches = LFUSE_OPTIM_DECOUPLED, .supply = ON_DEVICE },
    { .rule = LFUSE_RULE_RADAM, .switches = LFUSE_OPTIM_DECOUPLED, .supply = CONSTANTS },
    { .rule = LFUSE_RULE_NOVOGRAD, .switches = LFUSE_OPTIM_GRAD_AVERAGING, .supply = ON_DEVICE },
    { .rule = LFUSE_RULE_LAMB, .switches = LFUSE_OPTIM_GRAD_SCALE, .supply = ON_DEVICE },
    { .rule = LFUSE_RULE_ADAFACTOR, .switches = LFUSE_OPTIM_FOUND_INF, .supply = CONSTANTS },
    { .rule = LFUSE_RULE_ADAFACTOR, .deep = true },
    { .rule = LFUSE_RULE_LAMB, .deep = true },
    { .rule = LFUSE_RULE_ADAFACTOR, .type = LFUSE_BF16, .switches = LFUSE_OPTIM_MASTERS },
    { .rule = LFUSE_RULE_ADAMW, .switches = LFUSE_OPTIM_FOUND_INF | LFUSE_OPTIM_GRAD_SCALE | LFUSE_OPTIM_AVERAGE },
    { .rule = LFUSE_RULE_ADAMW, .clip = LFUSE_CLIP_MEMBER_NORM, .supply = ON_DEVICE },
    { .rule = LFUSE_RULE_ADAMW, .clip = LFUSE_CLIP_GLOBAL_NORM, .switches = LFUSE_OPTIM_GRAD_SCALE },
    { .rule = LFUSE_RULE_ADAMW, .type = LFUSE_F16, .switches = LFUSE_OPTIM_MASTERS | LFUSE_OPTIM_AVERAGE },
    { .rule = LFUSE_RULE_ADAMW, .type = LFUSE_E4M3, .switches = LFUSE_OPTIM_MASTERS },
    { .rule = LFUSE_RULE_ADAMW, .type = LFUSE_BF16, .state = LFUSE_BF16, .clip = LFUSE_CLIP_GLOBAL_NORM },
    { .rule = LFUSE_RULE_ADAMW, .type = LFUSE_F64, .switches = LFUSE_OPTIM_MASTERS },
    { .rule = LFUSE_RULE_NOVOGRAD, .type = LFUSE_F64 },
};
enum { VARIANTS = sizeof variants / sizeof *variants };

/* A graph with a step of all tensors, and what is bound to its names. */
typedef struct stepper {
    const variant *of;
    lfuse_graph *g;
    lfuse_plan *plan;
    model m;
    lfuse_hyper hyper;
    char names[NAMES][16];
    lfuse_binding bindings[NAMES];
    int nnames;
    lfuse_tensor *states[LFUSE_RULE_STATES][TENSORS], *steps, *product, *found_inf;
    lfuse_rule_state kinds[LFUSE_RULE_STATES];
    int nstates, t, counted;
} stepper;

static const char *name_of(stepper *s, const char *text, int i)
{
    char *name = s->names[s->nnames];

    snprintf(name, sizeof s->names[0], i < 0 ? "%s" : "%.12s%d", text, i);
    return name;
}

static lfuse_value bound_input(stepper *s, const char *text, int i, lfuse_tensor *tensor)
{
    const char *name = name_of(s, text, i);
    int64_t shape[LFUSE_MAX_RANK];
    const int rank = lfuse_tensor_rank(tensor);

    for (int k = 0; k < rank; k++) shape[k] = lfuse_tensor_shape(tensor)[k];
    s->bindings[s->nnames++] = lfuse_bind_tensor(name, tensor);
    return lfuse_input(s->g, name, lfuse_tensor_type(tensor), rank, shape);
}

static lfuse_tensor *wide_number(lfuse_device *device, double x)
{
    lfuse_tensor *t = new_tensor(device, LFUSE_F64, 0, NULL);

    OK(lfuse_tensor_fill(t, NULL, x));
    return t;
}

static lfuse_value a_number(stepper *s, const char *name, double x)
{
    if (s->of->supply == CONSTANTS) return lfuse_constant(s->g, x);
    if (s->of->supply == ON_DEVICE) return bound_input(s, name, -1, wide_number(s->m.device, x));
    s->bindings[s->nnames] = lfuse_bind_scalar(name_of(s, name, -1), x);
    return lfuse_scalar(s->g, s->names[s->nnames++]);
}

static void set_hyper(stepper *s, lfuse_hyper_values *to)
{
    const lfuse__rule *rule = lfuse__rule_of(s->of->rule);

#define SET(field)                                                                                                     \
    if (lfuse__hyper_known(rule, s->of->switches, LFUSE__HYPER_##field) &&                                             \
        LFUSE__HYPER_##field != LFUSE__HYPER_initial_accumulator)                                                      \
        to->field = a_number(s, #field, s->hyper.field);
    LFUSE__HYPER_FIELDS(SET)
#undef SET
}

/* The count of steps: a scalar that each run binds anew, or a number on the device that the step counts. */
static void set_counters(stepper *s, lfuse_rule_values *to)
{
    const bool nadam = s->of->rule == LFUSE_RULE_NADAM;
    lfuse_value steps, next, product;

    if (s->of->supply == SCALARS || !info_of(s->m.device).f64) {
        lfuse_binding *b = s->bindings;
        b[s->nnames] = lfuse_bind_scalar(name_of(s, "t", -1), 0);
        to->t = lfuse_scalar(s->g, s->names[s->nnames++]);
        if (!nadam) return;
        b[s->nnames] = lfuse_bind_scalar(name_of(s, "product", -1), 1);
        to->product = lfuse_scalar(s->g, s->names[s->nnames++]);
        return;
    }
    s->steps = wide_number(s->m.device, 0);
    steps = bound_input(s, "steps", -1, s->steps);
    to->t = lfuse_add(steps, lfuse_constant(s->g, 1));
    next = to->t;
    if (to->found_inf.graph) next = lfuse_where(lfuse_eq(to->found_inf, lfuse_constant(s->g, 0)), next, steps);
    lfuse_update(steps, next);
    if (!nadam) return;
    s->product = wide_number(s->m.device, 1);
    product = to->product = bound_input(s, "product", -1, s->product);
    lfuse_update(product, lfuse_nadam_product(product, to->t, to->hyper.beta1, to->hyper.momentum_decay));
}

static int64_t shape_of_state(const lfuse_tensor *p, lfuse_state_extent extent, int *rank, int64_t *shape)
{
    int64_t n = 1;

    *rank = lfuse_tensor_rank(p);
    for (int i = 0; i < *rank; i++) shape[i] = lfuse_tensor_shape(p)[i];
    if (extent == LFUSE_STATE_NUMBER || (extent == LFUSE_STATE_ROWS && *rank < 2)) *rank = 0;
    else if (extent == LFUSE_STATE_ROWS) --*rank;
    else if (extent == LFUSE_STATE_COLUMNS && *rank > 1) shape[*rank - 2] = shape[*rank - 1], --*rank;
    for (int i = 0; i < *rank; i++) n *= shape[i];
    return n;
}

static lfuse_tensor *make_state(const stepper *s, const lfuse_rule_state *kind, lfuse_tensor *p)
{
    static double values[MOST_ELEMENTS];
    static char host[MOST_ELEMENTS * 8];
    int64_t shape[LFUSE_MAX_RANK], n;
    int rank;

    n = shape_of_state(p, kind->extent, &rank, shape);
    lfuse_tensor *t = new_tensor(s->m.device, kind->type, rank, shape);
    if (kind->copies) read_all(&s->m, p, values);
    for (int64_t i = 0; i < n; i++) lfuse__data_put(kind->type, host, i, kind->copies ? values[i] : 0);
    OK(lfuse_tensor_write(t, NULL, host));
    return t;
}

static void add_tensor(stepper *s, int i, lfuse_value p, lfuse_value gradient, lfuse_rule_values values)
{
    static const char *const of_kind[LFUSE_RULE_STATES] = { "a", "b", "c", "d", "e" };
    lfuse_value states[LFUSE_RULE_STATES], fresh;

    for (int k = 0; k < s->nstates; k++) {
        s->states[k][i] = make_state(s, &s->kinds[k], s->m.p[i]);
        states[k] = bound_input(s, of_kind[k], i, s->states[k][i]);
    }
    values.parameter = p;
    values.gradient = gradient;
    values.state_count = s->nstates;
    values.states = states;
    fresh = lfuse_rule_update(s->of->rule, s->of->switches, &values);
    ck_assert_msg(fresh.id >= 0, "%s: %s", lfuse_rule_name(s->of->rule),
                  lfuse_graph_check(s->g) ? lfuse_last_error() : "?");
}

/* The model with lists of its own, of which the first member is two matrices. */
static void deepen(model *m)
{
    const int64_t three[] = { 2, 16, 32 };

    m->p[0] = new_view(m->p[0], 3, three, NULL, 0);
    m->g[0] = new_view(m->g[0], 3, three, NULL, 0);
    m->parameters = new_list(m->device, m->type, m->members, m->p);
    m->gradients = new_list(m->device, m->gradient_type, m->members, m->g);
}

static void make_stepper(stepper *s, const variant *v, lfuse_device *device, const lfuse_hyper *hyper)
{
    const lfuse_type type = v->type ? v->type : LFUSE_F32;
    lfuse_value p[TENSORS], gradients[TENSORS], scale = lfuse_none();
    lfuse_rule_values values = { .clip = v->clip };

    *s = (stepper){ .of = v, .g = new_graph(), .hyper = *hyper };
    s->m = model_shaped(device, type, type, TENSORS, elements, columns);
    if (v->deep) deepen(&s->m);
    s->m.p[3] = new_view(s->m.p[3], 0, NULL, NULL, 0);
    s->m.g[3] = new_view(s->m.g[3], 0, NULL, NULL, 0);
    OK(lfuse_rule_states(v->rule, v->switches, type, v->state, &s->nstates, s->kinds));
    for (int i = 0; i < TENSORS; i++) {
        p[i] = bound_input(s, "p", i, s->m.p[i]);
        gradients[i] = bound_input(s, "g", i, s->m.g[i]);
    }
    set_hyper(s, &values.hyper);
    if (v->switches & LFUSE_OPTIM_GRAD_SCALE)
        values.grad_scale = scale = bound_input(s, "scale", -1, number(device, 8));
    s->found_inf = number(device, 0);
    if (v->switches & LFUSE_OPTIM_FOUND_INF) values.found_inf = bound_input(s, "found_inf", -1, s->found_inf);
    set_counters(s, &values);
    if (v->clip) values.clip_limit = a_number(s, "clip_limit", 0.25);
    if (v->clip == LFUSE_CLIP_GLOBAL_NORM) values.norm = lfuse_gradient_norm(TENSORS, gradients, scale);
    for (int i = 0; i < TENSORS; i++) add_tensor(s, i, p[i], gradients[i], values);
    s->plan = new_plan(device, s->g, NULL);
}

/* A step; with found_inf nothing counts. */
static void stepper_step(stepper *s, int t, double factor, float found_inf)
{
    model_gradients(&s->m, t, factor);
    OK(lfuse_tensor_write(s->found_inf, NULL, &found_inf));
    for (int i = 0; i < s->nnames; i++) {
        if (!strcmp(s->names[i], "t")) s->bindings[i].as.scalar = s->counted + 1;
        if (!strcmp(s->names[i], "product") && !s->product)
            s->bindings[i].as.scalar = lfuse_nadam_product_of(&s->hyper, s->counted);
    }
    OK(lfuse_plan_run(s->plan, s->m.stream, s->bindings, s->nnames));
    s->counted += found_inf == 0;
}

static void compare(stepper *s, const model *m, lfuse_optimizer *o)
{
    static double a[ROOM], b[ROOM];
    char what[64];
    int64_t n;

    snprintf(what, sizeof what, "%s, variant %d", lfuse_rule_name(s->of->rule), (int)(s->of - variants));
    model_parameters(m, a);
    n = model_parameters(&s->m, b);
    same(a, b, n, what);
    for (int k = 0; k < s->nstates; k++) {
        snprintf(what, sizeof what, "%s, variant %d, %s", lfuse_rule_name(s->of->rule), (int)(s->of - variants),
                 s->kinds[k].name);
        n = 0;
        for (int i = 0; i < TENSORS; i++) {
            read_all(&s->m, s->states[k][i], b + n);
            n += lfuse_tensor_elements(s->states[k][i]);
        }
        ck_assert_int_eq(model_state(m, o, s->kinds[k].name, a), n);
        same(a, b, n, what);
    }
}

static void both_ways(lfuse_device *device, const variant *v)
{
    static stepper s;
    const bool scaled = v->switches & LFUSE_OPTIM_GRAD_SCALE, skips = v->switches & LFUSE_OPTIM_FOUND_INF;
    const lfuse_type type = v->type ? v->type : LFUSE_F32;
    lfuse_optimizer_options options = options_of(v->rule, v->switches & ~(unsigned)LFUSE_OPTIM_MOMENTUM);
    lfuse_step_inputs inputs = { 0 };

    if (!info_of(device).f64 && (type == LFUSE_F64 || skips || v->supply == ON_DEVICE)) return;
    options.clip = v->clip;
    options.clip_limit = v->clip ? 0.25 : 0;
    options.state_type = v->state;
    model m = model_shaped(device, type, type, TENSORS, elements, columns);
    if (v->deep) deepen(&m);
    lfuse_group group = group_of(&m, v->rule);
    if (v->switches & LFUSE_OPTIM_MOMENTUM) group.hyper.momentum = 0.5;
    if (v->switches & LFUSE_OPTIM_AVERAGE) group.hyper.ema_decay = 0.875;
    if (v->rule == LFUSE_RULE_ADAM) group.hyper.weight_decay = 0.125;
    lfuse_optimizer *o = optimizer_of(&m, &options, &group);
    if (scaled) inputs.grad_scale = number(device, 8);
    if (skips) inputs.found_inf = number(device, 0);
    make_stepper(&s, v, device, &group.hyper);
    for (int t = 1; t <= STEPS; t++) {
        const float found = skips && t == 3;
        model_gradients(&m, t, scaled ? 8 : 1);
        if (skips) OK(lfuse_tensor_write(inputs.found_inf, NULL, &found));
        OK(lfuse_optimizer_step(o, m.stream, 1, &m.gradients, &inputs));
        OK(lfuse_stream_synchronize(m.stream));
        stepper_step(&s, t, scaled ? 8 : 1, found);
    }
    compare(&s, &m, o);
}

TEST_CASE("the bits of lists", .before = open_devices, .after = close_devices)

TEST_LOOP(rules, 0, VARIANTS)
{
    for (int i = 0; i < ndevices; i++) {
        snprintf(device_name, sizeof device_name, "%s", info_of(devices[i]).name);
        both_ways(devices[i], &variants[_i]);
        drop_all();
    }
}

/* A list as the parameter: its states are lists of the members' states. */
TEST_ON_DEVICES(lists, lfuse_device *device)
{
    static const lfuse_rule rules_of_lists[] = { LFUSE_RULE_ADAMW, LFUSE_RULE_NOVOGRAD, LFUSE_RULE_ADAFACTOR };
    static const int ranks[] = { LFUSE_RANK_ANY, 0, LFUSE_RANK_ROWS, LFUSE_RANK_COLUMNS };
    static double a[ROOM], b[ROOM];

    for (int r = 0; r < 3; r++) {
        const lfuse_optimizer_options options = options_of(rules_of_lists[r], 0);
        const int whole = rules_of_lists[r] == LFUSE_RULE_ADAFACTOR ? LFUSE_RANK_MATRIX : LFUSE_RANK_ANY;
        model m = model_shaped(device, LFUSE_F32, LFUSE_F32, TENSORS, elements, columns);
        stepper s = { .g = new_graph(),
                      .m = model_shaped(device, LFUSE_F32, LFUSE_F32, TENSORS, elements, columns) };
        lfuse_rule_values values = { .parameter = lfuse_list_input(s.g, "p", LFUSE_F32, whole) };
        lfuse_binding bindings[5] = { BIND("p", s.m.parameters), BIND("g", s.m.gradients) };
        lfuse_value kept[LFUSE_RULE_STATES];

        values.gradient = lfuse_list_input(s.g, "g", LFUSE_F32, whole);
        values.t = lfuse_scalar(s.g, "t");
        values.states = kept;
        OK(lfuse_rule_states(rules_of_lists[r], 0, LFUSE_F32, LFUSE_TYPE_NONE, &values.state_count, s.kinds));
        for (int k = 0; k < values.state_count; k++) {
            const int rank = s.kinds[k].extent == LFUSE_STATE_ELEMENTS ? whole : ranks[s.kinds[k].extent];
            for (int i = 0; i < TENSORS; i++) s.states[k][i] = make_state(&s, &s.kinds[k], s.m.p[i]);
            kept[k] = lfuse_list_input(s.g, s.kinds[k].name, LFUSE_F32, rank);
            bindings[2 + k] = BIND(s.kinds[k].name, new_list(device, LFUSE_F32, TENSORS, s.states[k]));
        }
        lfuse_rule_update(rules_of_lists[r], 0, &values);
        lfuse_plan *plan = new_plan(device, s.g, NULL);
        lfuse_group group = group_of(&m, rules_of_lists[r]);
        lfuse_optimizer *o = optimizer_of(&m, &options, &group);
        for (int t = 1; t <= 3; t++) {
            model_step(&m, o, t);
            model_gradients(&s.m, t, 1);
            bindings[2 + values.state_count] = lfuse_bind_scalar("t", t);
            OK(lfuse_plan_run(plan, s.m.stream, bindings, 3 + values.state_count));
        }
        model_parameters(&m, a);
        same(a, b, model_parameters(&s.m, b), lfuse_rule_name(rules_of_lists[r]));
    }
}

/* Tensors of two types and a list: 1 + 4 + 4 + 16 + 4 + 36 + 16 = 81, each divided by the scale. */
TEST_ON_DEVICES(norms, lfuse_device *device)
{
    const int64_t three = 3, two = 2;
    const float f[] = { 1, -2, 2 }, l[] = { -2, 6, 4 };
    const double d[] = { 4, 0 };
    lfuse_graph *g = new_graph();
    lfuse_value gradients[3];
    double norm;

    if (!info_of(device).f64) return;
    gradients[0] = lfuse_input(g, "f", LFUSE_F32, 1, &three);
    gradients[1] = lfuse_input(g, "d", LFUSE_F64, 1, &two);
    gradients[2] = lfuse_list_input(g, "l", LFUSE_F32, LFUSE_RANK_ANY);
    lfuse_output(g, "norm", lfuse_gradient_norm(3, gradients, lfuse_input(g, "scale", LFUSE_F32, 0, NULL)));
    lfuse_stream *stream = new_stream(device);
    lfuse_tensor *tf = new_tensor(device, LFUSE_F32, 1, &three), *td = new_tensor(device, LFUSE_F64, 1, &two);
    lfuse_tensor *tl = new_tensor(device, LFUSE_F32, 1, &three), *to = new_tensor(device, LFUSE_F64, 0, NULL);
    OK(lfuse_tensor_write(tf, NULL, f));
    OK(lfuse_tensor_write(td, NULL, d));
    OK(lfuse_tensor_write(tl, NULL, l));
    RUN(new_plan(device, g, NULL), stream, BIND("f", tf), BIND("d", td), BIND("l", new_list(device, LFUSE_F32, 1, &tl)),
        BIND("scale", number(device, 4)), BIND("norm", to));
    OK(lfuse_stream_synchronize(stream));
    OK(lfuse_tensor_read(to, NULL, &norm));
    ck_assert_double_eq(norm, 9.0 / 4);
}

/* A weight's gradient and its whole step are one launch: the gradient is never stored. */
TEST(behind_the_product_that_makes_the_gradient)
{
    enum { BATCH = 64, IN = 96, OUT = 128 };
    lfuse_graph *g = new_graph();
    const lfuse_size of_x[] = { BATCH, IN }, of_dz[] = { BATCH, OUT }, of_w[] = { IN, OUT };
    const lfuse_value x = lfuse_input(g, "x", LFUSE_F32, 2, of_x), dz = lfuse_input(g, "dz", LFUSE_F32, 2, of_dz);
    lfuse_value states[2];
    lfuse_rule_values v = { .parameter = lfuse_input(g, "w", LFUSE_F32, 2, of_w), .state_count = 2, .states = states };

    states[0] = lfuse_input(g, "exp_avg", LFUSE_F32, 2, of_w);
    states[1] = lfuse_input(g, "exp_avg_sq", LFUSE_F32, 2, of_w);
    v.gradient = lfuse_matmul(lfuse_transpose(x), dz);
    v.t = lfuse_scalar(g, "t");
    lfuse_rule_update(LFUSE_RULE_ADAMW, 0, &v);
    const char *text = lfuse_plan_text(new_plan(devices[0], g, &(lfuse_plan_options){ .provider =
                                                                                        LFUSE_PROVIDER_NATIVE }));
    ck_assert_str_eq(text, "(gemm 96 x 128 x 64 (exp_avg %1=(lerp exp_avg acc 0.1)) "
                           "(exp_avg_sq %2=(add (mul exp_avg_sq 0.999) (mul (mul 0.001 acc) acc))) "
                           "(w (sub (mul w 0.99999) (mul (div 0.001 (sub 1 (powi 0.9 t))) "
                           "(div %1 (add (div (sqrt %2) (sqrt (sub 1 (powi 0.999 t)))) 1e-08))))))");
}

TEST_SUITE("optim", CK_NOFORK)
