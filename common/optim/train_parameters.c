/* SPDX-License-Identifier: Apache-2.0 */
/* The loss and the parameters that a training is given, checked. */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/graph/build.h"
#include "common/optim/train.h"

static const lfuse__name *name_of(const lfuse_graph *g, const char *text)
{
    int32_t i;

    for (i = 0; i < g->nnames; i++)
        if (!strcmp(g->names[i].text, text)) return &g->names[i];
    return NULL;
}

static lfuse_status check_tensor(const lfuse_training *t, const char *name, const lfuse__node *n,
                                 const lfuse_tensor *tensor)
{
    int i;

    if (tensor->range->dev != t->dev)
        return lfuse__error(LFUSE_ERR_CONTEXT, "the tensor of parameter \"%s\" is of device %s, the training of %s",
                            name, lfuse__device_facts(tensor->range->dev)->info.name,
                            lfuse__device_facts(t->dev)->info.name);
    if (n->type != tensor->type)
        return lfuse__error(LFUSE_ERR_TYPE, "the tensor of parameter \"%s\" is %s, the input %s", name,
                            lfuse_type_name(tensor->type), lfuse_type_name((lfuse_type)n->type));
    if (n->rank != tensor->rank)
        return lfuse__error(LFUSE_ERR_SHAPE, "the tensor of parameter \"%s\" has rank %d, the input %d", name,
                            tensor->rank, n->rank);
    for (i = 0; i < n->rank; i++)
        if (lfuse__size_is_number(n->shape[i]) && n->shape[i] != tensor->shape[i])
            return lfuse__error(LFUSE_ERR_SHAPE, "extent %d of parameter \"%s\" is %lld in its tensor, %lld in the "
                                "graph", i, name, (long long)tensor->shape[i], (long long)n->shape[i]);
    return LFUSE_OK;
}

static lfuse_status take_parameter(lfuse_training *t, const lfuse_graph *g, const bool *reaches_loss, int i,
                                   const lfuse_training_parameter *given)
{
    lfuse__train_parameter *p = &t->parameters[i];
    const lfuse__node *n;
    const lfuse__name *name;
    int k;

    if (!given->name || !given->tensor)
        return lfuse__error(LFUSE_ERR_INVALID, "parameter %d: its %s is NULL", i, given->name ? "tensor" : "name");
    name = name_of(g, given->name);
    if (!name) return lfuse__error(LFUSE_ERR_NAME, "the graph has no input \"%.64s\"", given->name);
    if (name->kind != LFUSE__NAME_INPUT)
        return lfuse__error(LFUSE_ERR_INVALID, "\"%s\" is no input that can be updated, but %s", name->text,
                            name->kind == LFUSE__NAME_FROZEN   ? "frozen"
                            : name->kind == LFUSE__NAME_LIST   ? "a list"
                            : name->kind == LFUSE__NAME_SCALAR ? "a scalar"
                                                               : "an output");
    n = &g->nodes[name->node];
    if (!lfuse__is_floating((lfuse_type)n->type))
        return lfuse__error(LFUSE_ERR_TYPE, "parameter \"%s\" is %s, which is not floating", name->text,
                            lfuse_type_name((lfuse_type)n->type));
    if (name->update >= 0) return lfuse__error(LFUSE_ERR_INVALID, "the graph updates \"%s\" itself", name->text);
    if (!reaches_loss[name->node])
        return lfuse__error(LFUSE_ERR_INVALID, "the loss does not depend on \"%s\"", name->text);
    for (k = 0; k < i; k++)
        if (t->parameters[k].node == name->node)
            return lfuse__error(LFUSE_ERR_NAME, "parameter \"%s\" is given twice", name->text);
    LFUSE__TRY(check_tensor(t, name->text, n, given->tensor));
    memcpy(p->name, name->text, sizeof p->name);
    p->node = name->node;
    p->group = -1;
    lfuse__tensor_retain(given->tensor);
    p->tensor = given->tensor;
    return LFUSE_OK;
}

/* reaches_loss[node]: the loss is computed from it. Operands come before what is made of them. */
static void find_reaching(const lfuse_graph *g, int32_t loss, bool *reaches_loss)
{
    int32_t node;
    int i;

    reaches_loss[loss] = true;
    for (node = loss; node >= 0; node--)
        for (i = 0; reaches_loss[node] && i < g->nodes[node].nin; i++) reaches_loss[g->nodes[node].in[i]] = true;
}

lfuse_status lfuse__train_take_parameters(lfuse_training *t, const lfuse_graph *g, lfuse_value loss, int count,
                                          const lfuse_training_parameter *parameters)
{
    bool *reaches_loss;
    lfuse_status status = LFUSE_OK;
    int i;

    if (count < 1) return lfuse__error(LFUSE_ERR_INVALID, "a training of %d parameters", count);
    t->parameters = calloc((size_t)count, sizeof *t->parameters);
    reaches_loss = calloc((size_t)g->nnodes, sizeof *reaches_loss);
    if (!t->parameters || !reaches_loss) {
        free(reaches_loss);
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d parameters)", count);
    }
    find_reaching(g, loss.id, reaches_loss);
    for (i = 0; i < count && !status; i++) {
        t->nparameters = i + 1;
        status = take_parameter(t, g, reaches_loss, i, &parameters[i]);
    }
    free(reaches_loss);
    return status;
}

lfuse_status lfuse__train_check_loss(const lfuse_graph *g, lfuse_value loss)
{
    const lfuse__node *n;

    LFUSE__TRY(lfuse_graph_check(g));
    if (loss.graph != g || loss.id < 0 || loss.id >= g->nnodes)
        return lfuse__error(LFUSE_ERR_INVALID, "the loss is no value of the graph");
    n = &g->nodes[loss.id];
    if (n->list || n->rank)
        return lfuse__error(LFUSE_ERR_SHAPE, "the loss is no scalar, but %s", lfuse__describe(g, loss.id).text);
    if (!lfuse__is_floating((lfuse_type)n->type))
        return lfuse__error(LFUSE_ERR_TYPE, "the loss is %s, which is not floating", lfuse__describe(g, loss.id).text);
    return LFUSE_OK;
}
