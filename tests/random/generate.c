/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes a graph of a seed: a pool of values, to which makers add functions of those that are there. A maker looks for
 * operands that fit, makes an input where there is none, and does nothing where it cannot be used. Values that no
 * domain takes or that overflow are kept rare: they leave nothing to judge.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/random/generate.h"

static maker *const makers[] = {
    make_pointwise, make_pointwise, make_pointwise, make_pointwise, make_arithmetic, make_arithmetic, make_arithmetic,
    make_cast, make_permute, make_slice, make_slice, make_split, make_reshape, make_reshape, make_broadcast,
    make_concat, make_concat, make_pad, make_reduction, make_reduction, make_reduction, make_scan, make_row_work,
    make_row_work,
    make_norm, make_norm, make_gather, make_gather, make_take, make_slice_range, make_scatter, make_product,
    make_product, make_batch, make_twins, make_index, make_extent,
};

/* One graph in so many is of lists; what the others are does not depend on it. */
enum { LISTS_EACH = 16 };
/* So has one in so many, the others being what they are, gradients of some of its values. */
enum { GRADIENTS_EACH = 5 };

static void make_sizes(gen *s)
{
    const int count = chance(s, 3) ? 1 + below(s, 2) : 0;
    char name[NAME];
    for (int i = 0; i < count; i++) {
        const int64_t low = chance(s, 5) ? 0 : 1 + below(s, 4), high = low + below(s, 12);
        s->p->sizes[i] = low + below(s, (int)(high - low + 1));
        s->variables[i] = lfuse_size_var(s->g, fresh(s, name, 'n'), low, high);
        s->nvariables = s->p->nsizes = i + 1;
    }
}

/* What nobody reads, and some of what is read. */
static void make_outputs(gen *s)
{
    bool read[4096] = {false};
    char name[NAME];
    int made = 0;
    for (int32_t i = 0; i < s->g->nnodes; i++)
        for (int k = 0; k < s->g->nodes[i].nin; k++)
            if (s->g->nodes[i].in[k] < 4096) read[s->g->nodes[i].in[k]] = true;
    for (int i = s->count - 1; i >= 0 && made < MOST_OUTPUTS; i--) {
        const int32_t id = s->pool[i];
        const bool input = s->g->nodes[id].name >= 0;
        if (id >= 4096 || (read[id] || input ? !chance(s, input ? 40 : 10) : false)) continue;
        lfuse_output(s->g, fresh(s, name, 'o'), value(s, id));
        made++;
    }
    if (!made) lfuse_output(s->g, fresh(s, name, 'o'), value(s, s->pool[s->count - 1]));
}

static void make_updates(gen *s)
{
    for (int i = 0; i < s->count; i++) {
        const lfuse__node n = s->g->nodes[s->pool[i]];
        if (n.kind != LFUSE__INPUT && n.kind != LFUSE__LIST) continue;
        if (s->g->names[n.name].update >= 0 || !chance(s, 5)) continue;
        for (int k = s->count - 1; k > i; k--) {
            const lfuse__node *m = &s->g->nodes[s->pool[k]];
            if (m->type != n.type || m->rank != n.rank || m->list != n.list ||
                memcmp(m->shape, n.shape, (size_t)(n.rank > 0 ? n.rank : 0) * sizeof *n.shape) || chance(s, 3))
                continue;
            lfuse_update(value(s, s->pool[i]), value(s, s->pool[k]));
            break;
        }
    }
}

void problem_generate(uint64_t seed, problem *p)
{
    gen *s = calloc(1, sizeof *s);
    if (!s) abort();
    *p = (problem){lfuse_graph_create(), seed, 0, {0}};
    lfuse__random_seed(&s->r, seed);
    s->g = p->graph;
    s->p = p;
    if (seed % LISTS_EACH == LISTS_EACH / 2) {
        s->most = MOST_ELEMENTS;
        make_lists(s);
        goto results;
    }
    s->most = chance(s, 12) ? MOST_LONG : MOST_ELEMENTS;
    s->type = any_type(s);
    s->frozen = chance(s, 6);
    make_sizes(s);
    const int inputs = 1 + below(s, 3), depth = 1 + below(s, chance(s, 3) ? 12 : 6);
    for (int i = 0; i < inputs; i++) keep(s, any_input(s));
    if (!s->count) keep(s, new_input(s, s->type, 0, NULL));
    for (int i = 0; i < depth && !lfuse_graph_check(s->g); i++) PICK(s, makers)(s);
results:
    if (!lfuse_graph_check(s->g) && seed % GRADIENTS_EACH == 0) make_gradients(s);
    if (!lfuse_graph_check(s->g)) {
        make_outputs(s);
        make_updates(s);
    }
    free(s);
}
