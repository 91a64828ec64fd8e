/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings: which object stands for which name, and whether it may. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "common/base/error.h"
#include "common/run/bind/bind.h"

static const char *const kind_words[] = {
    [LFUSE__NAME_INPUT] = "an input",   [LFUSE__NAME_FROZEN] = "a frozen input", [LFUSE__NAME_LIST] = "a list",
    [LFUSE__NAME_SCALAR] = "a scalar", [LFUSE__NAME_OUTPUT] = "an output",
};

static bool takes_list(const lfuse_plan *plan, int name)
{
    return plan->graph->nodes[plan->names[name].node].list;
}

static lfuse_binding_kind wanted_kind(const lfuse_plan *plan, int name)
{
    if (plan->names[name].kind == LFUSE__NAME_SCALAR) return LFUSE_BIND_SCALAR;
    return takes_list(plan, name) ? LFUSE_BIND_LIST : LFUSE_BIND_TENSOR;
}

static const char *binding_word(lfuse_binding_kind kind)
{
    static const char *const words[] = { "nothing", "a tensor", "a list", "a number", "a size",
                                         "numbers by group" };

    return kind >= LFUSE_BIND_TENSOR && kind <= LFUSE_BIND_SCALARS ? words[kind] : "no known kind";
}

int lfuse__bind_name(const lfuse_plan *plan, const char *name, int likely)
{
    int i;

    if (likely < plan->nnames && !strcmp(plan->names[likely].text, name)) return likely;
    for (i = 0; i < plan->nnames; i++)
        if (!strcmp(plan->names[i].text, name)) return i;
    return -1;
}

int lfuse__bind_size(const lfuse_plan *plan, const char *name)
{
    const lfuse__size_expr *sizes = plan->graph->sizes;
    int i;

    for (i = 0; i < plan->nsizes; i++)
        if (sizes[i].kind == LFUSE__SIZE_VAR && !strcmp(sizes[i].name, name)) return i;
    return -1;
}

static lfuse_status place_of(const lfuse_plan *plan, const lfuse_binding *b, int position, int *name)
{
    if (!b->name) {
        if (position >= plan->nnames)
            return lfuse__error(LFUSE_ERR_BINDING, "binding %d has no name, and the graph has %d names", position,
                                plan->nnames);
        *name = position;
        return LFUSE_OK;
    }
    *name = lfuse__bind_name(plan, b->name, position); /* where its name is likeliest to be */
    if (*name >= 0) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_NAME, "binding %d: the graph has no name \"%.*s\"", position, LFUSE__MAX_NAME,
                        b->name);
}

static lfuse_status fill_numbers(const lfuse_plan *plan, const lfuse_binding *b, int name, lfuse__slot *slot)
{
    const double *values = b->as.scalars.values;

    if (b->as.scalars.count < 1 || !values)
        return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is bound to %" PRId64 " numbers at %p", plan->names[name].text,
                            b->as.scalars.count, (const void *)values);
    *slot = (lfuse__slot){ .number = values[0] };
    if (b->as.scalars.count == 1) return LFUSE_OK;
    slot->numbers = values;
    slot->count = b->as.scalars.count;
    return LFUSE_OK;
}

static lfuse_status fill(const lfuse_plan *plan, const lfuse_binding *b, int name, lfuse__slot *slot)
{
    const lfuse_binding_kind kind = wanted_kind(plan, name);

    if (b->kind == LFUSE_BIND_SCALARS && kind == LFUSE_BIND_SCALAR) return fill_numbers(plan, b, name, slot);
    if (b->kind != kind)
        return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is %s and takes %s, not %s", plan->names[name].text,
                            kind_words[plan->names[name].kind], binding_word(kind), binding_word(b->kind));
    *slot = (lfuse__slot){ .tensor = NULL };
    if (kind == LFUSE_BIND_SCALAR) slot->number = b->as.scalar;
    else if (kind == LFUSE_BIND_LIST) slot->list = b->as.list;
    else slot->tensor = b->as.tensor;
    if (kind != LFUSE_BIND_SCALAR && !slot->tensor && !slot->list)
        return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is bound to NULL", plan->names[name].text);
    return LFUSE_OK;
}

lfuse_status lfuse__bind_match(lfuse_instance *in, const lfuse_binding *bindings, int count, lfuse__slot *slots)
{
    const lfuse_plan *plan = in->plan;
    const uint64_t mark = ++in->mark;
    int i, name = 0;

    if (count < 0 || (count && !bindings))
        return lfuse__error(LFUSE_ERR_INVALID, "%d bindings at %p", count, (const void *)bindings);
    for (i = 0; i < count; i++) {
        if (bindings[i].kind == LFUSE_BIND_SIZE) continue;
        LFUSE__TRY(place_of(plan, &bindings[i], i, &name));
        if (in->bound[name].mark == mark)
            return lfuse__error(LFUSE_ERR_BINDING, "\"%s\" is bound twice, the second time by binding %d",
                                plan->names[name].text, i);
        in->bound[name].mark = mark;
        LFUSE__TRY(fill(plan, &bindings[i], name, &slots[name]));
    }
    for (i = 0; i < plan->nnames; i++)
        if (in->bound[i].mark != mark) slots[i] = (lfuse__slot){ .tensor = NULL };
    return LFUSE_OK;
}

static void print_shape(char *text, size_t size, int rank, const int64_t *shape)
{
    size_t at = 0;
    int i;

    text[0] = 0;
    for (i = 0; i < rank && at < size; i++) {
        const int n = snprintf(text + at, size - at, "%s%" PRId64, i ? " x " : "", shape[i]);
        if (n > 0) at += (size_t)n;
    }
}

static lfuse_status wrong_shape(const lfuse_plan *plan, int name, const lfuse_tensor *t, const int64_t *shape)
{
    char is[160], wanted[160];

    print_shape(is, sizeof is, t->rank, t->shape);
    print_shape(wanted, sizeof wanted, t->rank, shape);
    return lfuse__error(LFUSE_ERR_SHAPE, "\"%s\" has the shape [%s], not [%s]", plan->names[name].text, is, wanted);
}

static lfuse_status wrong_device(const lfuse_plan *plan, int name, const lfuse_device *dev)
{
    return lfuse__error(LFUSE_ERR_CONTEXT, "\"%s\" lies on device %s, the plan is of %s%s", plan->names[name].text,
                        lfuse__device_facts(dev)->info.name, lfuse__device_facts(plan->dev)->info.name,
                        strcmp(lfuse__device_facts(dev)->info.name, lfuse__device_facts(plan->dev)->info.name)
                            ? "" : " opened another time");
}

static lfuse_status wrong_type(const lfuse_plan *plan, int name, lfuse_type is, lfuse_type wanted)
{
    return lfuse__error(LFUSE_ERR_TYPE, "\"%s\" is of type %s, not %s", plan->names[name].text, lfuse_type_name(is),
                        lfuse_type_name(wanted));
}

static lfuse_status check_list(const lfuse_plan *plan, int name, const lfuse_list *l, const lfuse__node *n)
{
    int64_t m;

    if (l->dev != plan->dev) return wrong_device(plan, name, l->dev);
    if ((int)l->type != n->type) return wrong_type(plan, name, l->type, (lfuse_type)n->type);
    for (m = 0; !n->rank && m < l->count; m++)
        if (l->members[m].elements != 1)
            return lfuse__error(LFUSE_ERR_SHAPE, "member %" PRId64 " of \"%s\", a list of numbers, has %" PRId64
                                " elements, not 1", m, plan->names[name].text, l->members[m].elements);
    return LFUSE_OK;
}

lfuse_status lfuse__bind_check(const lfuse_plan *plan, int name, const lfuse__slot *slot, const int64_t *shape)
{
    const lfuse__node *n = &plan->graph->nodes[plan->names[name].node];
    const lfuse_tensor *t = slot->tensor;
    int i;

    if (slot->list) return check_list(plan, name, slot->list, n);
    if (t->range->dev != plan->dev) return wrong_device(plan, name, t->range->dev);
    if ((int)t->type != n->type) return wrong_type(plan, name, t->type, (lfuse_type)n->type);
    if (t->rank != n->rank)
        return lfuse__error(LFUSE_ERR_RANK, "\"%s\" has rank %d, not %d", plan->names[name].text, t->rank, n->rank);
    for (i = 0; shape && i < t->rank; i++)
        if (t->shape[i] != shape[i]) return wrong_shape(plan, name, t, shape);
    return LFUSE_OK;
}

lfuse_status lfuse__bind_missing(const lfuse_plan *plan, int name)
{
    return lfuse__error(LFUSE_ERR_BINDING, "nothing is bound to \"%s\", %s", plan->names[name].text,
                        kind_words[plan->names[name].kind]);
}

lfuse_status lfuse__bind_check_all(const lfuse_instance *in, const lfuse__slot *slots)
{
    const lfuse_plan *plan = in->plan;
    int i;

    for (i = 0; i < plan->nnames; i++) {
        if (plan->names[i].kind == LFUSE__NAME_SCALAR) continue;
        if (slots[i].tensor == in->kept[i].tensor && slots[i].list == in->kept[i].list &&
            (slots[i].tensor || slots[i].list))
            continue;
        if (!slots[i].tensor && !slots[i].list) return lfuse__bind_missing(plan, i);
        LFUSE__TRY(lfuse__bind_check(plan, i, &slots[i], in->bound[i].shape));
        if (in->kept[i].tensor || in->kept[i].list)
            return lfuse__error(LFUSE_ERR_BINDING, "\"%s\", %s, is not what it was when the instance was made",
                                plan->names[i].text, kind_words[plan->names[i].kind]);
    }
    return LFUSE_OK;
}

static bool same_shape(const lfuse_instance *in, int name, const lfuse_tensor *t)
{
    const lfuse__node *n = &in->plan->graph->nodes[in->plan->names[name].node];
    int i;

    if (t->rank != n->rank) return false;
    for (i = 0; i < t->rank; i++)
        if (t->shape[i] != in->bound[name].shape[i]) return false;
    return true;
}

bool lfuse__bind_fits(const lfuse_instance *in, const lfuse__slot *slots, const lfuse_binding *bindings, int count)
{
    int i, size;

    for (i = 0; i < in->plan->nnames; i++) {
        if (in->kept[i].tensor || in->kept[i].list) {
            if (slots[i].tensor != in->kept[i].tensor || slots[i].list != in->kept[i].list) return false;
        } else if (slots[i].tensor && !same_shape(in, i, slots[i].tensor)) {
            return false;
        }
    }
    for (i = 0; i < count; i++) {
        if (bindings[i].kind != LFUSE_BIND_SIZE) continue;
        size = bindings[i].name ? lfuse__bind_size(in->plan, bindings[i].name) : -1;
        if (size < 0 || in->sizes[size] != bindings[i].as.size) return false;
    }
    return true;
}
