/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of Strassen's algorithm: classes, sizes and heads; strassen.h says what they do. */
#include "common/kernels/families.h"
#include "common/matmul/strassen.h"

#include <string.h>

#include "common/base/error.h"

enum {
    GROUP = 128,
    WIDE_GROUP = 256, /* bounds the registers of an item */
    REGISTERS = 192,  /* of an item: the elements of all blocks, and all products, as compilers read them at once */
    LANES = 16,
    NEAR = 8192 /* bytes of all blocks' runs: a quarter of the nearest cache of a core */
};

int64_t lfuse__strassen_padded(const lfuse__facts *facts, lfuse_type type, int levels, bool inner, int64_t extent)
{
    const int64_t vector = !inner ? 1 : facts->vector_lanes ? LANES : 16 / (int64_t)lfuse__type_bytes(type);
    const int64_t unit = vector << levels;
    return lfuse__ceil_div(extent, unit) * unit;
}

static int deeper(const lfuse__strassen_class *s)
{
    return s->levels_in > s->levels_out ? s->levels_in : s->levels_out;
}

/*
 * Elements of a work-item in each block: 16 bytes of the wider of products and factors, as registers allow. On an H200
 * one level moves 0.93 to 1.0 of what a copy does, two 0.90 to 1.0 with 2 elements of f32; with 1, 0.83 to 0.91, and
 * 0.72 with 4 where they are spilled.
 */
static int vector_of(const lfuse__kernel_class *c)
{
    const int levels = deeper(&c->strassen), blocks = 1 << 2 * levels;
    const int sum = (int)lfuse__type_bytes(c->operands[LFUSE__PRODUCT_SUM].type);
    int widest = 2, vector;
    for (int j = 0; j < LFUSE__PRODUCT_SUM; j++) {
        const bool there = j == LFUSE__STRASSEN_PRODUCTS ? c->strassen.levels_in : c->strassen.levels_out;
        const int bytes = (int)lfuse__type_bytes(c->operands[j].type);
        if (there && bytes > widest) widest = bytes;
    }
    for (vector = 16 / widest; vector > 1; vector /= 2)
        if (vector * (blocks * sum + (int)lfuse__strassen_count(levels) * widest) <= 4 * REGISTERS) break;
    return vector;
}

static int group_of(const lfuse__strassen *s)
{
    return s->lanes ? 1 : s->levels > 1 ? WIDE_GROUP : GROUP;
}

static void describe(lfuse__strassen *s, lfuse__strbuf *out, const lfuse__kernel_class *c, const lfuse__facts *facts)
{
    memset(s, 0, sizeof *s);
    lfuse__product_layout_make(c, &s->l);
    lfuse__text_init(&s->t, out, c, NULL);
    s->t.numbers = s->l.numbers;
    s->s = &c->strassen;
    s->levels = deeper(s->s);
    s->side = 1 << s->levels;
    s->blocks = s->side * s->side;
    s->lanes = facts->vector_lanes;
    s->run = NEAR / LANES / (int)lfuse__type_bytes(c->operands[LFUSE__PRODUCT_SUM].type) / s->blocks;
    s->vector = s->t.vector = s->lanes ? LANES : vector_of(c);
    s->sum = lfuse__register_word(c->operands[LFUSE__PRODUCT_SUM].type);
}

/* ---- the class ---- */

static bool stores(const lfuse__body *body, int operand)
{
    for (int i = 0; i < body->nstores; i++)
        if (body->stores[i].operand == operand) return true;
    return false;
}

static bool loads(const lfuse__body *body, int operand)
{
    for (int i = 0; i < body->ninstr; i++)
        if (body->instr[i].kind == LFUSE__I_LOAD && body->instr[i].a == operand) return true;
    return false;
}

static lfuse_status operands_check(const lfuse__kernel_class *c)
{
    const lfuse__strassen_class *s = &c->strassen;
    const lfuse_type sum = c->operands[LFUSE__PRODUCT_SUM].type;
    if (sum != LFUSE_F32 && sum != LFUSE_F64)
        return lfuse__error(LFUSE_ERR_TYPE, "sums of Strassen's products of type %d", (int)sum);
    for (int j = 0; j < LFUSE__PRODUCT_SUM; j++)
        if (lfuse__register_type(c->operands[j].type) != sum)
            return lfuse__error(LFUSE_ERR_TYPE, "Strassen's products of %s, sums of %s",
                                lfuse__memory_word(c->operands[j].type), lfuse__memory_word(sum));
    if (!c->operands[LFUSE__STRASSEN_FACTORS].written || loads(c->body, LFUSE__STRASSEN_FACTORS) ||
        loads(c->body, LFUSE__STRASSEN_PRODUCTS))
        return lfuse__error(LFUSE_ERR_INVALID, "factors are written, products are loaded as their sum");
    if (stores(c->body, LFUSE__STRASSEN_FACTORS) != (s->levels_out > 0))
        return lfuse__error(LFUSE_ERR_INVALID, "factors of %d levels, and a body that stores %s", s->levels_out,
                            s->levels_out ? "none" : "some");
    if (!s->levels_in && loads(c->body, LFUSE__PRODUCT_SUM))
        return lfuse__error(LFUSE_ERR_INVALID, "a body loads the sum of no products");
    for (int j = 0; j < c->noperands; j++)
        if (c->operands[j].gathered)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "operand %d of a Strassen kernel is looked up in", j);
    return LFUSE_OK;
}

static lfuse_status check(const char *name, const lfuse__kernel_class *c, const lfuse__facts *facts)
{
    const lfuse__strassen_class *s = &c->strassen;
    LFUSE__TRY(lfuse__class_check(name, c, facts));
    if (s->levels_in < 0 || s->levels_out < 0 || deeper(s) < 1 || deeper(s) > LFUSE__STRASSEN_LEVELS)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%d and %d levels of Strassen's algorithm: up to %d, one of them at "
                            "least 1", s->levels_in, s->levels_out, (int)LFUSE__STRASSEN_LEVELS);
    if (c->noperands < LFUSE__PRODUCT_OWN || c->rank != 2 || c->naxes || c->index64 || c->product.solver ||
        c->product.batched)
        return lfuse__error(LFUSE_ERR_INVALID, "a Strassen kernel of %d operands, rank %d, %d reduced axes",
                            c->noperands, c->rank, c->naxes);
    return operands_check(c);
}

/* ---- the text ---- */

static void put_sizes(const lfuse__strassen *s)
{
    const int own = s->l.own;
    lfuse__strbuf *out = s->t.out;
    lfuse__put(out, 1, "const u32 m = (u32)W(%d), n = (u32)W(%d);", s->l.m, s->l.n);
    lfuse__put(out, 1, "const u32 high = (u32)W(%d), wide = (u32)W(%d), across = wide / %d;",
               own + LFUSE__STRASSEN_HIGH, own + LFUSE__STRASSEN_WIDE, s->vector);
    if (s->s->levels_in) lfuse__put(out, 1, "memory p%d = BUFFER(%d) + W(%d);", LFUSE__STRASSEN_PRODUCTS,
                                    LFUSE__STRASSEN_PRODUCTS, LFUSE__STRASSEN_PRODUCTS);
    if (s->s->levels_out) lfuse__put(out, 1, "memory p%d = BUFFER(%d) + W(%d);", LFUSE__STRASSEN_FACTORS,
                                     LFUSE__STRASSEN_FACTORS, LFUSE__STRASSEN_FACTORS);
    lfuse__put_product_memory(out, 1, s->t.k, &s->l);
}

static void put_items(const lfuse__strassen *s)
{
    lfuse__strbuf *out = s->t.out;
    lfuse__put(out, 1, "const int vectors = (int)W(%d);", s->l.own + LFUSE__STRASSEN_VECTORS);
    lfuse__put(out, 1, "const u32 number = (u32)GROUP() * %d + ITEM();", group_of(s));
    lfuse__put(out, 1, "if (number >= high * across) return;");
    lfuse__put(out, 1, "const u32 i = number / across, j = number %% across * %d;", s->vector);
    for (int b = 0; b < s->blocks; b++) lfuse__put(out, 1, "S_%s e%d[%d];", s->sum, b, s->vector);
    if (s->s->levels_in) lfuse__strassen_put_sums(s, 1);
    lfuse__strassen_put_items(s, 1);
    if (s->s->levels_out) lfuse__strassen_put_factors(s, 1);
}

static void put_lanes(const lfuse__strassen *s)
{
    lfuse__strbuf *out = s->t.out;
    lfuse__put(out, 1, "const u32 runs = (across + %d) / %d;", s->run - 1, s->run);
    lfuse__put(out, 1, "const u64 all = (u64)high * runs, share = (all + GROUPS() - 1) / GROUPS();");
    lfuse__put(out, 1, "const u64 first = GROUP() * share, last = first + share < all ? first + share : all;");
    lfuse__put(out, 1, "for (u64 number = first; number < last; number++) {");
    lfuse__put(out, 2, "const u32 i = (u32)(number / runs), at = (u32)(number %% runs) * %d, j = at * LANES;", s->run);
    lfuse__put(out, 2, "const int run = across - at < %d ? (int)(across - at) : %d;", s->run, s->run);
    lfuse__put(out, 2, "L_%s e[%d][%d];", s->sum, s->blocks, s->run);
    if (s->s->levels_in) lfuse__strassen_put_sums(s, 2);
    lfuse__strassen_put_lanes(s, 2);
    if (s->s->levels_out) lfuse__strassen_put_factors(s, 2);
    lfuse__put(out, 1, "}");
}

lfuse_status lfuse__strassen_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c,
                                  const lfuse__facts *facts)
{
    lfuse__strassen s;
    LFUSE__TRY(check(name, c, facts));
    describe(&s, out, c, facts);
    lfuse__put_powers(out, c->body);
    lfuse__put_kernel(out, name, group_of(&s), s.l.own + LFUSE__STRASSEN_WORDS, lfuse__kernel_buffers(c));
    put_sizes(&s);
    if (s.lanes) put_lanes(&s);
    else put_items(&s);
    lfuse__put(out, 0, "}");
    return lfuse__strbuf_check(out);
}

/* ---- sizes ---- */

static lfuse_status sizes_check(const lfuse__strassen *s, const lfuse__geometry *g)
{
    const int64_t *e = g->extents, unit = (int64_t)s->vector * s->side;
    if (e[0] < 1 || e[1] < 1 || e[2] < e[0] || e[3] < e[1] || e[2] % s->side || e[3] % unit)
        return lfuse__error(LFUSE_ERR_INVALID, "a matrix of %lld x %lld, padded to %lld x %lld: no multiples of %d and "
                            "%lld", (long long)e[0], (long long)e[1], (long long)e[2], (long long)e[3], s->side,
                            (long long)unit);
    if (e[2] > INT32_MAX || e[3] > INT32_MAX || (e[2] / s->side) * (e[3] / unit) > INT32_MAX)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a matrix of %lld x %lld: sides and vectors of a block are below "
                            "2^31", (long long)e[2], (long long)e[3]);
    for (int j = 0; j < LFUSE__PRODUCT_SUM; j++) {
        const bool there = j == LFUSE__STRASSEN_PRODUCTS ? s->s->levels_in : s->s->levels_out;
        if (there && g->addresses[j] % 16)
            return lfuse__error(LFUSE_ERR_INVALID, "Strassen's %s are not aligned to 16 bytes",
                                j == LFUSE__STRASSEN_PRODUCTS ? "products" : "factors");
    }
    return LFUSE_OK;
}

lfuse_status lfuse__strassen_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                  lfuse__packed *packed)
{
    enum { EACH = 2 }; /* runs that are worth a group in the lanes form */
    lfuse__strassen s;
    describe(&s, NULL, c, facts);
    LFUSE__TRY(sizes_check(&s, g));
    LFUSE__TRY(lfuse__product_layout_pack(c, g, LFUSE__STRASSEN_WORDS, packed));
    packed->words[s.l.own + LFUSE__STRASSEN_HIGH] = (uint64_t)(g->extents[2] / s.side);
    packed->words[s.l.own + LFUSE__STRASSEN_WIDE] = (uint64_t)(g->extents[3] / s.side);
    packed->words[s.l.own + LFUSE__STRASSEN_VECTORS] = lfuse__product_side_aligned(c, g, -1, s.vector);
    const uint64_t across = (uint64_t)(g->extents[3] / s.side / s.vector), run = s.lanes ? (uint64_t)s.run : 1;
    const uint64_t places = (uint64_t)(g->extents[2] / s.side) * ((across + run - 1) / run);
    packed->group = (unsigned)group_of(&s);
    packed->groups = s.lanes ? lfuse__groups(facts, true, places, EACH) /* which take more in turn */
                             : (places + packed->group - 1) / packed->group;
    return LFUSE_OK;
}

/* Padded sizes are whole blocks: these are, of every class. */
static lfuse_status warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__packed *packed)
{
    lfuse__geometry g;
    lfuse__geometry_of_one(&g);
    const int levels = deeper(&k->strassen);
    const lfuse_type products = k->operands[LFUSE__STRASSEN_PRODUCTS].type;
    const lfuse_type factors = k->operands[LFUSE__STRASSEN_FACTORS].type;
    const lfuse_type narrower = lfuse__type_bytes(factors) < lfuse__type_bytes(products) ? factors : products;
    for (int i = 0; i < 2; i++) g.extents[2 + i] = lfuse__strassen_padded(facts, narrower, levels, true, 1);
    return lfuse__strassen_pack(k, facts, &g, packed);
}

static void key(const lfuse__kernel_class *k, lfuse__kernel_key *key)
{
    lfuse__key_add_product(key, &k->product);
    lfuse__key_add(key, k->strassen.levels_in);
    lfuse__key_add(key, k->strassen.levels_out);
    lfuse__key_add(key, k->strassen.right);
    lfuse__key_add(key, k->strassen.transposed);
}

const lfuse__kernel_family lfuse__family_strassen = {
    .emit = lfuse__strassen_emit, .key = key, .pack = lfuse__strassen_pack, .warm_up = warm_up,
    .buffers = lfuse__kernel_buffers,
};
