/* SPDX-License-Identifier: Apache-2.0 */
/* Values of the graph, inputs, and operands for those who make functions of them. */
#include <stdio.h>

#include "tests/random/generate.h"

/* ---- values and sizes ---- */

const lfuse__node *node(const gen *s, lfuse_value v) { return &s->g->nodes[v.id]; }
lfuse_value value(gen *s, int32_t id) { return (lfuse_value){s->g, id}; }
lfuse_type type_of(const gen *s, lfuse_value v) { return (lfuse_type)node(s, v)->type; }
lfuse_value nothing(gen *s) { return (lfuse_value){s->g, -1}; }

/* An extent as builders take it. */
lfuse_size given(const gen *s, lfuse_size size)
{
    if (lfuse__size_is_number(size)) return size;
    return LFUSE__SIZE_BASE + (int64_t)(s->g->tag << LFUSE__SIZE_INDEX_BITS | (uint64_t)lfuse__size_index(size));
}

static int64_t actual(gen *s, lfuse_size size)
{
    int64_t sizes[256] = {0}, extent = 0;
    for (int i = 0, v = 0; i < s->g->nsizes && i < 256; i++)
        if (s->g->sizes[i].kind == LFUSE__SIZE_VAR) sizes[i] = s->p->sizes[v++];
    if (s->g->nsizes > 256 || lfuse__size_evaluate(s->g, size, sizes, &extent)) return MOST_LONG + 1;
    return extent;
}

int64_t least(gen *s, lfuse_size size)
{
    int64_t low, high;
    lfuse__size_bounds(s->g, size, &low, &high);
    return low;
}

static int64_t elements(gen *s, int rank, const lfuse_size *shape)
{
    int64_t count = 1;
    for (int i = 0; i < rank; i++)
        if (__builtin_mul_overflow(count, actual(s, shape[i]), &count)) return INT64_MAX;
    return count;
}

bool affordable(gen *s, int rank, const lfuse_size *shape)
{
    return rank <= 5 && elements(s, rank, shape) <= s->most;
}

/* A new value; one that is too large is left alone. */
void keep(gen *s, lfuse_value v)
{
    if (v.id < 0 || s->count == POOL || node(s, v)->type == LFUSE_TYPE_NONE) return;
    if (affordable(s, node(s, v)->rank, node(s, v)->shape)) s->pool[s->count++] = v.id;
}

/* ---- inputs ---- */

lfuse_type any_type(gen *s)
{
    static const lfuse_type types[] = {LFUSE_F32, LFUSE_F32, LFUSE_F32, LFUSE_F32,  LFUSE_F16, LFUSE_BF16, LFUSE_F64,
                                       LFUSE_I32, LFUSE_I32, LFUSE_I64, LFUSE_BOOL, LFUSE_I8,  LFUSE_U8,
                                       LFUSE_E4M3, LFUSE_E5M2};
    return PICK(s, types);
}

const char *fresh(gen *s, char name[NAME], char kind)
{
    snprintf(name, NAME, "%c%d", kind, s->names++);
    return name;
}

lfuse_value new_input(gen *s, lfuse_type type, int rank, const lfuse_size *shape)
{
    char name[NAME];
    if (s->names >= HARNESS_MAX_IO - MOST_OUTPUTS - 2) return nothing(s);
    if (s->frozen && chance(s, 2)) return lfuse_frozen(s->g, fresh(s, name, 'f'), type, rank, shape);
    return lfuse_input(s->g, fresh(s, name, 'i'), type, rank, shape);
}

lfuse_size small_extent(gen *s)
{
    static const int extents[] = {1, 1, 2, 3, 3, 4, 5, 6, 7, 8, 9, 12};
    if (s->nvariables && chance(s, 4)) return s->variables[below(s, s->nvariables)];
    return chance(s, 60) ? 0 : PICK(s, extents);
}

/* Shapes that row kernels treat each in their own way among small ones. */
static int any_shape(gen *s, lfuse_size *shape)
{
    static const int rows[] = {16, 31, 64, 100, 128, 130, 200, 257, 512, 1000, 1024, 1025, 2050, 4100};
    static const int lengths[] = {17000, 20001, 33000, 70001};
    int rank;
    switch (below(s, 12)) {
    case 0:
    case 1:
    case 2:
        rank = 1 + below(s, 3);
        for (int i = 0; i < rank; i++) shape[i] = small_extent(s);
        shape[rank - 1] = PICK(s, rows);
        break;
    case 3:
        rank = 2;
        shape[0] = 100 + below(s, 500);
        shape[1] = 1 + below(s, 16);
        break;
    case 4:
        rank = 1 + below(s, 2);
        shape[0] = 1 + below(s, 2);
        shape[rank - 1] = chance(s, 4) ? PICK(s, lengths) : PICK(s, rows);
        break;
    default:
        rank = below(s, 5);
        for (int i = 0; i < rank; i++) shape[i] = small_extent(s);
        break;
    }
    while (rank && !affordable(s, rank, shape)) shape[below(s, rank)] = 1 + below(s, 4);
    return rank;
}

lfuse_value any_input(gen *s)
{
    lfuse_size shape[LFUSE_MAX_RANK];
    const int rank = any_shape(s, shape);
    return new_input(s, chance(s, 4) ? any_type(s) : s->type, rank, shape);
}

/* ---- operands ---- */

lfuse_value any(gen *s)
{
    /* The last ones more often: depth. */
    const int near = s->count > 4 && chance(s, 2) ? 4 : s->count;
    return value(s, s->pool[s->count - 1 - below(s, near)]);
}

bool floating(const gen *s, lfuse_value v) { return lfuse__is_floating(type_of(s, v)); }

lfuse_value any_floating(gen *s)
{
    for (int i = 0; i < 6; i++) {
        const lfuse_value v = any(s);
        if (floating(s, v)) return v;
    }
    return lfuse_cast(any(s), LFUSE_F32);
}

/* At least so many axes. */
lfuse_value any_of_rank(gen *s, int rank, bool must_float)
{
    for (int i = 0; i < 8; i++) {
        const lfuse_value v = must_float ? any_floating(s) : any(s);
        if (node(s, v)->rank >= rank) return v;
    }
    return nothing(s);
}

/* Whether the shapes broadcast to one that can be afforded. */
bool fit(gen *s, int count, const int32_t *in)
{
    lfuse_size shape[LFUSE_MAX_RANK];
    int rank = 0;
    for (int k = 0; k < count; k++)
        if (s->g->nodes[in[k]].rank > rank) rank = s->g->nodes[in[k]].rank;
    for (int i = 0; i < rank; i++) {
        shape[i] = 1;
        for (int k = 0; k < count; k++) {
            const lfuse__node *n = &s->g->nodes[in[k]];
            const lfuse_size extent = i < rank - n->rank ? 1 : n->shape[i - (rank - n->rank)];
            if (extent != 1 && shape[i] != 1 && extent != shape[i]) return false;
            if (extent != 1) shape[i] = extent;
        }
    }
    return affordable(s, rank, shape);
}

static bool broadcasts(gen *s, lfuse_value x, lfuse_value y)
{
    return type_of(s, x) == type_of(s, y) && fit(s, 2, (const int32_t[]){x.id, y.id});
}

/* Another operand for a function of x: a value that is there, a number, or an input that repeats along some axes. */
lfuse_value partner(gen *s, lfuse_value x)
{
    const lfuse__node *n = node(s, x);
    lfuse_size shape[LFUSE_MAX_RANK];
    char name[NAME];
    int rank = n->rank, drop;
    for (int i = 0; i < 8; i++) {
        const lfuse_value y = any(s);
        if (broadcasts(s, x, y)) return y;
    }
    if (n->type != LFUSE_BOOL && chance(s, 3)) {
        static const double numbers[] = {0.5, 2, -1, 3, 0, 1, -0.75}, whole[] = {2, 3, 0, 1, 5};
        const bool integers = lfuse__is_integer((lfuse_type)n->type);
        if (chance(s, 3)) return lfuse_scalar(s->g, fresh(s, name, integers ? PROBLEM_WHOLE : 's'));
        return lfuse_constant(s->g, integers ? PICK(s, whole) : PICK(s, numbers));
    }
    drop = chance(s, 3) ? below(s, rank + 1) : 0;
    for (int i = drop; i < rank; i++) shape[i - drop] = chance(s, 4) ? 1 : given(s, n->shape[i]);
    return new_input(s, (lfuse_type)n->type, rank - drop, shape);
}

lfuse_value number(gen *s, double x) { return lfuse_constant(s->g, x); }

lfuse_value positive(gen *s, lfuse_value v, double least_size)
{
    return lfuse_add(lfuse_abs(v), number(s, least_size));
}
