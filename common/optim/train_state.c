/* SPDX-License-Identifier: Apache-2.0 */
/* What a training keeps in device memory, its first contents, and its names. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/optim/train.h"

/* ---- memory ---- */

static lfuse_status make_state(lfuse_training *t, const lfuse_tensor *p, const lfuse_rule_state *kind,
                               lfuse_tensor **state)
{
    int64_t shape[LFUSE_MAX_RANK];
    int rank = p->rank;

    memcpy(shape, p->shape, sizeof shape);
    if (kind->extent == LFUSE_STATE_NUMBER || (kind->extent == LFUSE_STATE_ROWS && rank < 2)) rank = 0;
    else if (kind->extent == LFUSE_STATE_ROWS) rank--;
    else if (kind->extent == LFUSE_STATE_COLUMNS && rank > 1) shape[rank - 2] = shape[rank - 1], rank--;
    return lfuse__tensor_create(t->dev, kind->type, rank, shape, state);
}

static lfuse_status make_parameter(lfuse_training *t, lfuse__train_parameter *p)
{
    const lfuse_type wide = p->tensor->type == LFUSE_F64 ? LFUSE_F64 : LFUSE_F32;
    int k;

    for (k = 0; k < p->nstates; k++) LFUSE__TRY(make_state(t, p->tensor, &p->kinds[k], &p->states[k]));
    if (t->options.micro_batches < 2) return LFUSE_OK;
    return lfuse__tensor_create(t->dev, wide, p->tensor->rank, p->tensor->shape, &p->sum);
}

static lfuse_status make_number(lfuse_training *t, lfuse_type type, lfuse_tensor **number)
{
    return lfuse__tensor_create(t->dev, type, 0, NULL, number);
}

static lfuse_status make_memory(lfuse_training *t, lfuse_type loss)
{
    int i;

    LFUSE__TRY(make_number(t, loss, &t->loss));
    LFUSE__TRY(make_number(t, LFUSE_I64, &t->steps));
    LFUSE__TRY(make_number(t, LFUSE_I64, &t->nonfinite));
    if (lfuse__train_scales(t)) {
        LFUSE__TRY(make_number(t, LFUSE_F32, &t->scale));
        LFUSE__TRY(make_number(t, LFUSE_I64, &t->tracker));
    }
    for (i = 0; i < t->ngroups && t->rule->product && t->device_counts; i++)
        LFUSE__TRY(make_number(t, LFUSE_F64, &t->groups[i].product));
    for (i = 0; i < t->nparameters; i++) LFUSE__TRY(make_parameter(t, &t->parameters[i]));
    return LFUSE_OK;
}

/* ---- names ---- */

/* `before`, `name` and `behind`, one after the other. */
static lfuse_status enter(lfuse_training *t, const char *before, const char *name, const char *behind,
                          lfuse_tensor *tensor)
{
    const size_t bytes = strlen(before) + strlen(name) + strlen(behind) + 1;
    char *text;
    int i;

    if (!tensor) return LFUSE_OK;
    text = malloc(bytes);
    if (!text) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", bytes);
    snprintf(text, bytes, "%s%s%s", before, name, behind);
    for (i = 0; i < t->nentries; i++)
        if (!strcmp(t->entries[i].name, text)) {
            free(text);
            return lfuse__error(LFUSE_ERR_NAME, "a parameter has the name \"%s\" of a state", t->entries[i].name);
        }
    t->entries[t->nentries++] = (lfuse__train_entry){ text, tensor };
    return LFUSE_OK;
}

static lfuse_status enter_parameter(lfuse_training *t, const lfuse__train_parameter *p)
{
    char behind[64];
    int k;

    for (k = 0; k < p->nstates; k++) {
        snprintf(behind, sizeof behind, ".%s", p->kinds[k].name);
        LFUSE__TRY(enter(t, "optimizer.", p->name, behind, p->states[k]));
    }
    return LFUSE_OK;
}

static lfuse_status enter_all(lfuse_training *t)
{
    const size_t most = (size_t)t->nparameters * (1 + LFUSE_RULE_STATES) + (size_t)t->ngroups + 3;
    char number[16];
    int i;

    t->entries = calloc(most, sizeof *t->entries);
    if (!t->entries) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu names)", most);
    for (i = 0; i < t->nparameters; i++)
        LFUSE__TRY(enter(t, "", t->parameters[i].name, "", t->parameters[i].tensor));
    for (i = 0; i < t->nparameters; i++) LFUSE__TRY(enter_parameter(t, &t->parameters[i]));
    LFUSE__TRY(enter(t, "optimizer.", "steps", "", t->steps));
    LFUSE__TRY(enter(t, "optimizer.", "loss_scale", "", t->scale));
    LFUSE__TRY(enter(t, "optimizer.", "growth_tracker", "", t->tracker));
    for (i = 0; i < t->ngroups; i++) {
        snprintf(number, sizeof number, "%d", i);
        LFUSE__TRY(enter(t, "optimizer.", "product.", number, t->groups[i].product));
    }
    return LFUSE_OK;
}

lfuse_status lfuse__train_states_create(lfuse_training *t, lfuse_type loss)
{
    LFUSE__TRY(make_memory(t, loss));
    LFUSE__TRY(enter_all(t));
    return lfuse__train_reset(t);
}

void lfuse__train_states_free(lfuse_training *t)
{
    int i, k;

    for (i = 0; i < t->nentries; i++) free(t->entries[i].name);
    free(t->entries);
    for (i = 0; i < t->nparameters && t->parameters; i++) {
        for (k = 0; k < LFUSE_RULE_STATES; k++) lfuse__tensor_release(t->parameters[i].states[k]);
        lfuse__tensor_release(t->parameters[i].sum);
        lfuse__tensor_release(t->parameters[i].tensor);
    }
    for (i = 0; i < t->ngroups && t->groups; i++) lfuse__tensor_release(t->groups[i].product);
    lfuse__tensor_release(t->loss);
    lfuse__tensor_release(t->steps);
    lfuse__tensor_release(t->nonfinite);
    lfuse__tensor_release(t->scale);
    lfuse__tensor_release(t->tracker);
}

/* ---- contents ---- */

/* Copies parameters of a type to one kind of their states, in one launch. */
static lfuse_status copy_lists(lfuse_training *t, lfuse_stream *s, int n, lfuse_tensor *const *from,
                               lfuse_tensor *const *to)
{
    lfuse_list *a = NULL, *b = NULL;
    lfuse_graph *g = NULL;
    lfuse_status status = lfuse__list_create(t->dev, from[0]->type, n, from, &a);

    if (!status) status = lfuse__list_create(t->dev, to[0]->type, n, to, &b);
    if (!status) {
        const lfuse_binding bindings[] = { lfuse_bind_list("to", b), lfuse_bind_list("from", a) };
        g = lfuse__optim_copy_graph(from[0]->type, to[0]->type);
        status = g ? lfuse__evaluate(s, g, bindings, 2)
                   : lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (a graph)");
    }
    lfuse_graph_destroy(g);
    lfuse__list_release(b);
    lfuse__list_release(a);
    return status;
}

static lfuse_status copy_parameters(lfuse_training *t, lfuse_stream *s)
{
    lfuse_tensor **from = calloc((size_t)t->nparameters * 2, sizeof(lfuse_tensor *)), **to = from + t->nparameters;
    lfuse_status status = LFUSE_OK;
    int type, i, k, n;

    if (!from) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d parameters)", t->nparameters);
    for (type = 0; type < LFUSE__TYPES; type++)
        for (k = 0; k < LFUSE_RULE_STATES && !status; k++) {
            for (i = n = 0; i < t->nparameters; i++) {
                const lfuse__train_parameter *p = &t->parameters[i];
                if ((int)p->tensor->type != type || k >= p->nstates || !p->kinds[k].copies) continue;
                from[n] = p->tensor;
                to[n++] = p->states[k];
            }
            if (n) status = copy_lists(t, s, n, from, to);
        }
    free(from);
    return status;
}

static lfuse_status fill_parameter(const lfuse_training *t, const lfuse__train_parameter *p, lfuse_stream *s)
{
    const lfuse_hyper *hyper = &t->groups[p->group].hyper;
    double first;
    int k, field;

    for (k = 0; k < p->nstates; k++) {
        if (p->kinds[k].copies) continue;
        for (first = field = 0; field < LFUSE__HYPER_COUNT && p->kinds[k].initial; field++)
            if (!strcmp(p->kinds[k].initial, lfuse__hyper_name((lfuse__hyper_field)field)))
                first = lfuse__hyper_get(hyper, (lfuse__hyper_field)field);
        LFUSE__TRY(lfuse__tensor_fill(p->states[k], s, first));
    }
    return LFUSE_OK;
}

static lfuse_status fill(lfuse_training *t, lfuse_stream *s)
{
    int i;

    for (i = 0; i < t->nparameters; i++) LFUSE__TRY(fill_parameter(t, &t->parameters[i], s));
    LFUSE__TRY(copy_parameters(t, s));
    for (i = 0; i < t->ngroups; i++)
        if (t->groups[i].product) LFUSE__TRY(lfuse__tensor_fill(t->groups[i].product, s, 1));
    if (t->scale) LFUSE__TRY(lfuse__tensor_fill(t->scale, s, t->scaling.initial));
    if (t->tracker) LFUSE__TRY(lfuse__tensor_fill(t->tracker, s, 0));
    LFUSE__TRY(lfuse__tensor_fill(t->loss, s, 0));
    LFUSE__TRY(lfuse__tensor_fill(t->nonfinite, s, 0));
    LFUSE__TRY(lfuse__tensor_fill(t->steps, s, 0));
    return lfuse__stream_sync(s);
}

lfuse_status lfuse__train_reset(lfuse_training *t)
{
    lfuse_status status;
    lfuse_stream *s;

    LFUSE__TRY(lfuse__stream_create(t->dev, &s));
    status = fill(t, s);
    lfuse__stream_destroy(s);
    return status ? status : lfuse__train_resume(t);
}

lfuse_status lfuse__train_resume(lfuse_training *t)
{
    int64_t steps;
    int i;

    LFUSE__TRY(lfuse__tensor_read(t->steps, NULL, &steps));
    if (steps < 0 || steps > INT64_C(1) << 53)
        return lfuse__error(LFUSE_ERR_INVALID, "%" PRId64 " steps are not in 0 ... 2^53", steps);
    t->micro = 0;
    t->t = (double)steps;
    for (i = 0; i < t->ngroups && t->rule->product; i++)
        t->groups[i].product_before = lfuse__nadam_product(&t->groups[i].hyper, steps);
    return LFUSE_OK;
}
