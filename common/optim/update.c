/* SPDX-License-Identifier: Apache-2.0 */
/* Rules as graph functions: one step of one parameter within a graph of the program's. */
#include "libfuse/update.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/graph/build.h"
#include "common/optim/optimizer.h"

_Static_assert(sizeof(lfuse_hyper_values) == LFUSE__HYPER_COUNT * sizeof(lfuse_value), "as the fields of lfuse_hyper");
_Static_assert((int)LFUSE_RULE_STATES == (int)LFUSE__OPTIM_STATES, "as many states");

/* What a call of lfuse_rule_update is about. */
typedef struct update {
    lfuse_graph *g;
    const char *call;
    const lfuse_rule_values *given;
    lfuse__optim_form form;
    lfuse__optim_states states;
    lfuse__optim_values v;
} update;

static const char rule_update[] = "lfuse_rule_update";

/* ---- which states there are ---- */

static lfuse_status settle_form(lfuse_rule rule, unsigned switches, lfuse_type parameter, lfuse_type state,
                                lfuse__optim_form *form)
{
    const unsigned common = LFUSE_OPTIM_MAXIMIZE | LFUSE_OPTIM_MASTERS | LFUSE_OPTIM_AVERAGE | LFUSE_OPTIM_GRAD_SCALE |
                            LFUSE_OPTIM_FOUND_INF;
    const unsigned lists = LFUSE_OPTIM_ZERO_GRADIENTS | LFUSE_OPTIM_LR_TENSOR | LFUSE_OPTIM_DEVICE_STEPS |
                           LFUSE_OPTIM_PAGED;
    const lfuse__rule *r = lfuse__rule_of(rule);
    unsigned unknown;

    if (!r) return lfuse__error(LFUSE_ERR_INVALID, "%d is no rule", (int)rule);
    if (switches & lists)
        return lfuse__error(LFUSE_ERR_INVALID, "the switches 0x%x are for the optimizers of lists", switches & lists);
    unknown = switches & ~(common | r->switches | lfuse__rule_momentum(r));
    if (unknown) return lfuse__error(LFUSE_ERR_INVALID, "%s does not know the switches 0x%x", r->name, unknown);
    if (switches & LFUSE_OPTIM_NESTEROV && !(switches & LFUSE_OPTIM_MOMENTUM))
        return lfuse__error(LFUSE_ERR_INVALID, "Nesterov's momentum needs LFUSE_OPTIM_MOMENTUM");
    if (!lfuse__is_floating(parameter))
        return lfuse__error(LFUSE_ERR_TYPE, "a parameter of type %s, which is not floating",
                            lfuse_type_name(parameter));
    if (state && !lfuse__is_floating(state))
        return lfuse__error(LFUSE_ERR_TYPE, "states of type %s, which is not floating", lfuse_type_name(state));
    if (!lfuse__is_narrow(parameter)) switches &= ~(unsigned)LFUSE_OPTIM_MASTERS;
    *form = (lfuse__optim_form){ .rule = r, .switches = switches, .parameter = parameter };
    form->state = state ? state : lfuse__optim_type(form);
    return LFUSE_OK;
}

static lfuse_state_extent extent_of(const lfuse__optim_state *state)
{
    if (state->number) return LFUSE_STATE_NUMBER;
    if (state->lines) return state->lines == LFUSE_RANK_ROWS ? LFUSE_STATE_ROWS : LFUSE_STATE_COLUMNS;
    return LFUSE_STATE_ELEMENTS;
}

lfuse_status lfuse_rule_states(lfuse_rule rule, unsigned switches, lfuse_type parameter, lfuse_type state, int *count,
                               lfuse_rule_state states[LFUSE_RULE_STATES])
{
    lfuse__optim_form form;
    lfuse__optim_states kept;
    int i;

    if (!count || !states) return lfuse__error(LFUSE_ERR_INVALID, "lfuse_rule_states: count or states is NULL");
    LFUSE__TRY(settle_form(rule, switches, parameter, state, &form));
    lfuse__optim_states_of(&form, &kept);
    for (i = 0; i < kept.count; i++)
        states[i] = (lfuse_rule_state){ .name = kept.state[i].name, .type = kept.state[i].type,
            .extent = extent_of(&kept.state[i]), .copies = kept.state[i].copies,
            .initial = kept.state[i].initial < 0 ? NULL : lfuse__hyper_name(kept.state[i].initial) };
    *count = kept.count;
    return LFUSE_OK;
}

/* ---- what is given, checked ---- */

static bool poison(const update *u, lfuse_status status, const char *name, const char *what)
{
    lfuse__graph_poison(u->g, status, "%s: %s %s", u->call, name, what);
    return false;
}

/* Whether a value, which is asked for or not, is a number of the graph; *v is in f64 then, if it has a type. */
static bool take_number(const update *u, const char *name, bool asked, lfuse_value given, lfuse_value *v)
{
    const lfuse__node *n;

    if (!asked && given.graph) return poison(u, LFUSE_ERR_INVALID, name, "is given, and nothing asks for it");
    if (!asked) return true;
    if (!given.graph) return poison(u, LFUSE_ERR_INVALID, name, "is missing");
    if (!lfuse__build_inner_operands(u->call, 1, &given, NULL) || given.graph != u->g)
        return poison(u, LFUSE_ERR_INVALID, name, "is a value of another graph, or a poisoned one");
    n = &u->g->nodes[given.id];
    if (n->list || n->rank) return poison(u, LFUSE_ERR_RANK, name, "is neither a number nor of rank 0");
    if (n->type && !lfuse__is_floating((lfuse_type)n->type))
        return poison(u, LFUSE_ERR_TYPE, name, "is of a type that is not floating");
    *v = given;
    return true;
}

static lfuse_value wide_number(lfuse_value v)
{
    return v.graph && v.graph->nodes[v.id].type ? lfuse_cast(v, LFUSE_F64) : v;
}

static bool take_hyper(update *u, lfuse__hyper_field field, lfuse_value given, double standard)
{
    const lfuse__rule *rule = u->form.rule;
    const char *name = lfuse__hyper_name(field);
    const bool known = lfuse__hyper_known(rule, u->form.switches, field) && field != LFUSE__HYPER_initial_accumulator;
    const char *range;
    lfuse_value v;

    if (!given.graph) {
        u->v.h[field] = lfuse__build_constant(u->g, standard);
        return true;
    }
    if (!take_number(u, name, known, given, &v)) return false;
    if (lfuse__build_is_constant(u->g, v.id)) {
        const double x = lfuse__graph_number(u->g, v.id, NULL, NULL);
        range = lfuse__hyper_out_of_range(rule, u->form.switches, field, x);
        if (range) {
            lfuse__graph_poison(u->g, LFUSE_ERR_INVALID, "%s: %s is %g, not %s", u->call, name, x, range);
            return false;
        }
    }
    u->v.h[field] = wide_number(v);
    return true;
}

static bool take_hypers(update *u, lfuse_rule rule)
{
    lfuse_hyper standard;
    lfuse_value given;
    int field;

    if (lfuse_hyper_defaults(rule, &standard)) return false;
    for (field = 0; field < LFUSE__HYPER_COUNT; field++) {
        memcpy(&given, (const char *)&u->given->hyper + (size_t)field * sizeof given, sizeof given);
        if (!take_hyper(u, (lfuse__hyper_field)field, given, lfuse__hyper_get(&standard, (lfuse__hyper_field)field)))
            return false;
    }
    return true;
}

static bool take_numbers(update *u, lfuse_rule rule)
{
    const lfuse_rule_values *given = u->given;
    const unsigned switches = u->form.switches;
    lfuse_value found = { NULL, -1 };

    if ((unsigned)given->clip > LFUSE_CLIP_GLOBAL_NORM)
        return poison(u, LFUSE_ERR_INVALID, "clip", "is no way to clip");
    u->form.clip = given->clip;
    if (!take_hypers(u, rule) || !take_number(u, "t", true, given->t, &u->v.t) ||
        !take_number(u, "product", u->form.rule->product, given->product, &u->v.product) ||
        !take_number(u, "grad_scale", switches & LFUSE_OPTIM_GRAD_SCALE, given->grad_scale, &u->v.grad_scale) ||
        !take_number(u, "found_inf", switches & LFUSE_OPTIM_FOUND_INF, given->found_inf, &found) ||
        !take_number(u, "clip_limit", given->clip != LFUSE_CLIP_NONE, given->clip_limit, &u->v.clip_limit) ||
        !take_number(u, "norm", given->clip == LFUSE_CLIP_GLOBAL_NORM, given->norm, &u->v.norm))
        return false;
    u->v.t = wide_number(u->v.t);
    u->v.product = wide_number(u->v.product);
    if (found.graph) u->v.counts = lfuse_eq(found, lfuse_constant(u->g, 0));
    return true;
}

/* Rank and shape of a state beside the parameter. */
static void shape_of_state(const lfuse__optim_state *state, const lfuse__node *p, lfuse__node *n)
{
    lfuse_size shape[LFUSE_MAX_RANK];
    const lfuse_state_extent extent = extent_of(state);
    int rank = p->rank;

    if (p->list) {
        n->list = true;
        n->rank = (int8_t)(extent == LFUSE_STATE_ELEMENTS ? p->rank : state->number ? 0 : state->lines);
        return;
    }
    memcpy(shape, p->shape, sizeof shape);
    if (extent == LFUSE_STATE_NUMBER || (extent == LFUSE_STATE_ROWS && rank < 2)) rank = 0;
    else if (extent == LFUSE_STATE_ROWS) rank--;
    else if (extent == LFUSE_STATE_COLUMNS && rank > 1) shape[rank - 2] = shape[rank - 1], rank--;
    lfuse__build_set_shape(n, rank, shape);
}

static bool take_state(update *u, int i, const lfuse__node *p)
{
    lfuse__optim_state *state = &u->states.state[i];
    const bool exact = state->number || state->copies;
    const lfuse_value given = u->given->states[i];
    lfuse__node like = { 0 };
    const lfuse__node *n;

    if (given.graph != u->g || given.id < 0)
        return poison(u, LFUSE_ERR_INVALID, state->name, "is a value of another graph, or a poisoned one");
    n = &u->g->nodes[given.id];
    if (n->kind != LFUSE__INPUT && n->kind != LFUSE__LIST)
        return poison(u, LFUSE_ERR_INVALID, state->name, "is no input that can be updated");
    if (exact ? n->type != state->type : !lfuse__is_floating((lfuse_type)n->type)) {
        lfuse__graph_poison(u->g, LFUSE_ERR_TYPE, "%s: %s is of type %s, not %s", u->call, state->name,
                            lfuse_type_name((lfuse_type)n->type), exact ? lfuse_type_name(state->type) : "floating");
        return false;
    }
    shape_of_state(state, p, &like);
    if (!lfuse__same_shape(n, &like)) {
        lfuse__graph_poison(u->g, LFUSE_ERR_SHAPE, "%s: %s is %s beside a parameter %s", u->call, state->name,
                            lfuse__describe(u->g, given.id).text, lfuse__describe(u->g, u->v.p.id).text);
        return false;
    }
    u->v.states[i] = given;
    u->v.state_types[i] = (lfuse_type)n->type;
    return true;
}

static bool take_states(update *u)
{
    const lfuse__node p = u->g->nodes[u->v.p.id];
    int i;

    lfuse__optim_states_of(&u->form, &u->states);
    if (u->given->state_count != u->states.count || (u->states.count && !u->given->states)) {
        lfuse__graph_poison(u->g, LFUSE_ERR_INVALID, "%s: %d states for %s, which has %d here", u->call,
                            u->given->states ? u->given->state_count : 0, u->form.rule->name, u->states.count);
        return false;
    }
    for (i = 0; i < u->states.count; i++)
        if (!take_state(u, i, &p)) return false;
    return true;
}

static bool take_parameter(update *u, lfuse_rule rule, unsigned switches)
{
    const lfuse_value both[] = { u->given->parameter, u->given->gradient };
    const lfuse__node *p, *d;
    lfuse_status status;

    if (!lfuse__build_inner_operands(u->call, 2, both, NULL)) return false;
    p = &u->g->nodes[both[0].id];
    d = &u->g->nodes[both[1].id];
    if (p->kind != LFUSE__INPUT && p->kind != LFUSE__LIST)
        return poison(u, LFUSE_ERR_INVALID, "the parameter",
                      p->kind == LFUSE__FROZEN ? "is frozen" : "is no input that can be updated");
    status = settle_form(rule, switches, (lfuse_type)p->type, LFUSE_TYPE_NONE, &u->form);
    if (status) {
        lfuse__graph_poison(u->g, status, "%s: %s", u->call, lfuse__error_message());
        return false;
    }
    if (p->list && p->rank != LFUSE_RANK_MATRIX && (u->form.rule->matrices || p->rank != LFUSE_RANK_ANY))
        return poison(u, LFUSE_ERR_RANK, "the parameter", "is a list of another rank than the rule takes");
    if (!lfuse__is_floating((lfuse_type)d->type))
        return poison(u, LFUSE_ERR_TYPE, "the gradient", "is of a type that is not floating");
    if (!lfuse__same_shape(p, d)) {
        lfuse__graph_poison(u->g, LFUSE_ERR_SHAPE, "%s: the gradient is %s, its parameter %s", u->call,
                            lfuse__describe(u->g, both[1].id).text, lfuse__describe(u->g, both[0].id).text);
        return false;
    }
    u->form.gradient = (lfuse_type)d->type;
    u->v.tensor = !p->list;
    u->v.p = both[0];
    u->v.g = both[1];
    return true;
}

lfuse_value lfuse_rule_update(lfuse_rule rule, unsigned switches, const lfuse_rule_values *values)
{
    update u = { .call = rule_update, .given = values };
    lfuse_value fresh = { NULL, -1 }, product;

    if (!values || !values->parameter.graph) return LFUSE__POISONED(NULL);
    u.g = values->parameter.graph;
    lfuse__build_begin(u.g, rule_update);
    u.g->nested++;
    if (take_parameter(&u, rule, switches) && take_numbers(&u, rule) && take_states(&u)) {
        fresh = lfuse__optim_apply(&u.form, &u.v, &product);
        fresh = lfuse__optim_to_input_shape(&u.v, u.v.p, lfuse_cast(fresh, u.form.parameter));
    }
    u.g->nested--;
    return fresh.id < 0 || u.g->status ? LFUSE__POISONED(u.g) : fresh;
}

/* ---- NAdam's product ---- */

lfuse_value lfuse_nadam_product(lfuse_value product, lfuse_value t, lfuse_value beta1, lfuse_value momentum_decay)
{
    static const char call[] = "lfuse_nadam_product";
    const lfuse_value given[] = { product, t, beta1, momentum_decay };
    static const char *const names[] = { "product", "t", "beta1", "momentum_decay" };
    lfuse_graph *g = lfuse__build_graph_of(4, given);
    lfuse__rule_step s = { .g = g };
    lfuse_value v[4], next = { g, -1 };
    update u = { .g = g, .call = call };
    int i;

    if (!g) return LFUSE__POISONED(NULL);
    lfuse__build_begin(g, call);
    g->nested++;
    for (i = 0; i < 4 && take_number(&u, names[i], true, given[i], &v[i]); i++) v[i] = wide_number(v[i]);
    if (i == 4) {
        s.product = v[0];
        s.t = v[1];
        s.h[LFUSE__HYPER_beta1] = v[2];
        s.h[LFUSE__HYPER_momentum_decay] = v[3];
        next = lfuse__nadam_next_product(&s);
    }
    g->nested--;
    return next;
}

double lfuse_nadam_product_of(const lfuse_hyper *hyper, int64_t steps)
{
    return hyper ? lfuse__nadam_product(hyper, steps) : 1;
}

/* ---- the norm of all gradients ---- */

/* The sum of squares of one, in the type that it is computed in. */
static lfuse_value sum_of_squares(lfuse_value gradient, lfuse_value scale)
{
    const lfuse_graph *g = gradient.graph;
    const bool list = g->nodes[gradient.id].list;
    const lfuse__optim_form form = { .switches = scale.graph ? LFUSE_OPTIM_GRAD_SCALE : 0,
                                     .parameter = (lfuse_type)g->nodes[gradient.id].type };
    const lfuse_value d = lfuse__optim_unscaled(&form, gradient, scale), square = lfuse_mul(d, d);

    return list ? lfuse_list_sum(square) : lfuse_sum(square, LFUSE_ALL_AXES, NULL, 0);
}

/* The root of the canonical sum of all of them. */
static lfuse_value norm_of(int count, const lfuse_value *gradients, lfuse_value scale)
{
    lfuse_value *sums = calloc((size_t)count, sizeof *sums), all = { NULL, -1 };
    lfuse_graph *g = gradients[0].graph;
    lfuse_type type = LFUSE_F32;
    int i;

    if (!sums) return lfuse__graph_poison(g, LFUSE_ERR_MEMORY, "out of host memory (%d gradients)", count);
    for (i = 0; i < count; i++)
        if (g->nodes[gradients[i].id].type == LFUSE_F64) type = LFUSE_F64;
    for (i = 0; i < count; i++) sums[i] = lfuse_cast(sum_of_squares(gradients[i], scale), type);
    all = count > 1 ? lfuse_sum(lfuse_stack(count, sums, 0), LFUSE_ALL_AXES, NULL, 0) : sums[0];
    free(sums);
    return lfuse_sqrt(all);
}

lfuse_value lfuse_gradient_norm(int count, const lfuse_value *gradients, lfuse_value grad_scale)
{
    static const char call[] = "lfuse_gradient_norm";
    lfuse_graph *g = gradients && count > 0 ? lfuse__build_operands(call, count, gradients, NULL) : NULL;
    update u = { .g = g, .call = call };
    lfuse_value scale = { NULL, -1 }, norm = { g, -1 };
    int i;

    if (!g) return LFUSE__POISONED(count > 0 && gradients ? lfuse__build_graph_of(count, gradients) : NULL);
    for (i = 0; i < count; i++)
        if (!lfuse__is_floating((lfuse_type)g->nodes[gradients[i].id].type))
            return lfuse__graph_poison(g, LFUSE_ERR_TYPE, "%s: gradient %d is %s, which is not floating", call, i,
                                       lfuse__describe(g, gradients[i].id).text);
    g->nested++;
    if (take_number(&u, "grad_scale", grad_scale.graph, grad_scale, &scale)) norm = norm_of(count, gradients, scale);
    g->nested--;
    return norm;
}
