/* SPDX-License-Identifier: Apache-2.0 */
/* A step over values: the rule, and around it types in memory, scaling, clipping, masters, averages. */
#include "common/graph/build.h"
#include "common/optim/optimizer.h"

static const char call[] = "lfuse_rule_update";

lfuse_type lfuse__optim_type(const lfuse__optim_form *form)
{
    return form->parameter == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32;
}

/* The type in which a state of the rule is stored. */
static lfuse_type state_type(const lfuse__optim_form *form, const lfuse__rule_state *s)
{
    return s->number ? lfuse__optim_type(form) : form->state;
}

/* A copy of the parameters, at first. */
static lfuse__optim_state copy_of_parameters(const lfuse__optim_form *form, const char *name)
{
    return (lfuse__optim_state){ .name = name, .type = lfuse__optim_type(form), .copies = true,
                                 .initial = LFUSE__HYPER_END };
}

void lfuse__optim_states_of(const lfuse__optim_form *form, lfuse__optim_states *states)
{
    const lfuse__rule_state *s;

    states->count = 0;
    for (s = form->rule->states; s->name; s++)
        if (lfuse__rule_has(s, form->switches))
            states->state[states->count++] = (lfuse__optim_state){ .name = s->name, .type = state_type(form, s),
                                                                   .number = s->number, .lines = s->lines,
                                                                   .initial = s->initial };
    if (form->switches & LFUSE_OPTIM_MASTERS) states->state[states->count++] = copy_of_parameters(form, "master");
    if (form->switches & LFUSE_OPTIM_AVERAGE) states->state[states->count++] = copy_of_parameters(form, "average");
}

/* ---- tensors: shapes in which rules see them ---- */

/*
 * The shape of the parameter, or of what stands beside it: a parameter without axes is a vector of one element, and one
 * row where the rule looks at matrices; what is one for a member, a row or a column has the extent 1 where it repeats.
 */
static lfuse_value to_rule_shape(const lfuse__optim_form *form, const lfuse__optim_values *v, lfuse_value x,
                                 const lfuse__optim_state *state)
{
    const int least = form->rule->matrices ? 2 : 1;
    lfuse_size shape[LFUSE_MAX_RANK];
    const lfuse__node *p;
    int rank, i;

    if (!v->tensor || x.id < 0) return x;
    p = &v->p.graph->nodes[v->p.id];
    rank = p->rank < least ? least : p->rank;
    for (i = 0; i < rank; i++) shape[i] = i < rank - p->rank ? 1 : p->shape[i - (rank - p->rank)];
    for (i = 0; i < rank && state && state->number; i++) shape[i] = 1;
    if (state && state->lines == LFUSE_RANK_ROWS) shape[rank - 1] = 1;
    if (state && state->lines == LFUSE_RANK_COLUMNS) shape[rank - 2] = 1;
    return lfuse__build_reshape(x.graph, call, x.id, rank, shape);
}

lfuse_value lfuse__optim_to_input_shape(const lfuse__optim_values *v, lfuse_value input, lfuse_value x)
{
    lfuse__node to;

    if (!v->tensor || x.id < 0) return x;
    to = x.graph->nodes[input.id];
    return lfuse__build_reshape(x.graph, call, x.id, to.rank, to.shape);
}

/* What the rule asks of matrices. */
static void look_at_matrices(const lfuse__optim_values *v, lfuse__rule_step *s)
{
    const lfuse_value one = lfuse__rule_number(s, 1);
    lfuse__node p;

    if (!v->tensor) {
        s->rows = lfuse_cast(lfuse_member_rows(v->p), s->type);
        s->is_matrix = lfuse_gt(lfuse_member_rank(v->p), one);
        return;
    }
    p = s->g->nodes[v->p.id];
    s->rows = p.rank < 2 ? one : lfuse__build_extent_number(s->g, call, p.shape[p.rank - 2]);
    s->is_matrix = lfuse_gt(lfuse__rule_number(s, p.rank), one);
}

/* ---- the gradient ---- */

lfuse_value lfuse__optim_unscaled(const lfuse__optim_form *form, lfuse_value stored, lfuse_value grad_scale)
{
    const lfuse_value d = lfuse_cast(stored, lfuse__optim_type(form));

    return form->switches & LFUSE_OPTIM_GRAD_SCALE ? lfuse_div(d, grad_scale) : d;
}

static lfuse_value norm_of(const lfuse__optim_form *form, const lfuse__optim_values *v, lfuse_value d)
{
    if (form->clip == LFUSE_CLIP_MEMBER_NORM)
        return v->tensor ? lfuse_norm_l2(d, LFUSE_ALL_AXES, NULL, 1) : lfuse_member_norm_l2(d);
    return v->norm.graph ? lfuse_cast(v->norm, lfuse__optim_type(form)) : lfuse_list_norm_l2(d);
}

/* The gradient as the rule shall see it. */
static lfuse_value gradient(const lfuse__optim_form *form, const lfuse__optim_values *v, lfuse_graph *g)
{
    lfuse_value d = to_rule_shape(form, v, lfuse__optim_unscaled(form, v->g, v->grad_scale), NULL);

    if (form->clip == LFUSE_CLIP_VALUE) {
        d = lfuse_clamp(d, lfuse_neg(v->clip_limit), v->clip_limit);
    } else if (form->clip != LFUSE_CLIP_NONE) {
        const lfuse_value norm = norm_of(form, v, d);
        const lfuse_value scale = lfuse_div(v->clip_limit, lfuse_add(norm, lfuse_constant(g, 1e-6)));
        d = lfuse_mul(d, lfuse_min(scale, lfuse_constant(g, 1)));
    }
    return form->switches & LFUSE_OPTIM_MAXIMIZE ? lfuse_neg(d) : d;
}

/* ---- the step ---- */

void lfuse__optim_store_value(const lfuse__optim_form *form, lfuse_value counts, lfuse_value input, lfuse_value value,
                              lfuse_type type)
{
    value = lfuse_cast(value, type);
    lfuse_update(input, form->switches & LFUSE_OPTIM_FOUND_INF ? lfuse_where(counts, value, input) : value);
}

static void store(const lfuse__optim_form *form, const lfuse__optim_values *v, lfuse_value input, lfuse_value value,
                  lfuse_type type)
{
    lfuse__optim_store_value(form, v->counts, input, lfuse__optim_to_input_shape(v, input, value), type);
}

lfuse_value lfuse__optim_apply(const lfuse__optim_form *form, const lfuse__optim_values *v, lfuse_value *product)
{
    lfuse__rule_step s = { .g = v->p.graph, .switches = form->switches, .type = lfuse__optim_type(form),
                           .tensor = v->tensor, .t = v->t, .product = v->product };
    const lfuse__rule_state *of = form->rule->states;
    lfuse_value master = v->p, average = v->p, fresh;
    lfuse__optim_states states;
    int i, k = 0;

    lfuse__optim_states_of(form, &states);
    for (i = 0; i < LFUSE__HYPER_COUNT; i++) s.h[i] = v->h[i];
    for (i = 0; of[i].name; i++) {
        if (!lfuse__rule_has(&of[i], form->switches)) continue;
        s.old[i] = to_rule_shape(form, v, lfuse_cast(v->states[k], s.type), &states.state[k]);
        k++;
    }
    if (form->switches & LFUSE_OPTIM_MASTERS) master = v->states[k++];
    if (form->switches & LFUSE_OPTIM_AVERAGE) average = v->states[k];
    s.p = to_rule_shape(form, v, lfuse_cast(master, s.type), NULL);
    if (form->rule->matrices) look_at_matrices(v, &s);
    s.grad = gradient(form, v, s.g);
    fresh = form->rule->step(&s);
    if (form->rule->product) *product = s.fresh_product;
    store(form, v, v->p, fresh, form->parameter);
    for (i = k = 0; of[i].name; i++)
        if (lfuse__rule_has(&of[i], form->switches)) {
            store(form, v, v->states[k], s.fresh[i], v->state_types[k]);
            k++;
        }
    if (form->switches & LFUSE_OPTIM_MASTERS) store(form, v, master, fresh, s.type);
    if (form->switches & LFUSE_OPTIM_AVERAGE)
        store(form, v, average,
              lfuse__rule_moment(to_rule_shape(form, v, average, NULL), fresh, v->h[LFUSE__HYPER_ema_decay]), s.type);
    return fresh;
}
