/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of the members of lists: the texts and cuts of the solvers, over blocks that a chunk table tells. What the
 * argument words of a product hold are variables here, made of the member's sizes.
 */
#include <stdio.h>

#include "common/base/error.h"
#include "common/kernels/families.h"
#include "common/matmul/grouped.h"
#include "common/matmul/tile.h"

enum { SLOTS = 3, SUM = LFUSE__PRODUCT_SUM };

/*
 * The candidates of a list have no slices: local memory is one tile's at a time. Of solvers without tensor cores they
 * are those that plans compile ahead.
 */
static bool is_candidate(const lfuse__solver *s, int at, const lfuse__product_class *p, const lfuse__facts *facts)
{
    const bool all = (s->tile && s->tile->tensor_cores) || !s->is_compiled_ahead;

    return !p->split && p->slices <= 1 && (all || s->is_compiled_ahead(at)) && (!s->has || s->has(p, facts));
}

/* Sets *chosen to the solver's cheapest candidate, and returns what that takes; below 0: there is none. */
static double choose_tile(const lfuse__solver *s, const lfuse__facts *facts, int64_t members,
                          const lfuse__matmul_sizes *sizes, lfuse__product_class *chosen)
{
    lfuse__product_class tried = *chosen;
    double best = -1;

    for (int i = 0; s->candidate(s, i, &tried); i++) {
        double cost;
        if (!is_candidate(s, i, &tried, facts)) continue;
        cost = s->grouped_cost ? s->grouped_cost(&tried, facts, members, sizes) : 0;
        if (cost < 0 || (best >= 0 && cost >= best)) continue;
        best = cost;
        *chosen = tried;
    }
    return best;
}

/*
 * Returns the solver that takes least for many products of MIDDLE cubed, NULL: none takes such lists. The sums of all
 * tiles of a solver have the same bits, those of two solvers need not. So the solver may not depend on sizes: a member
 * would have other bits beside other members.
 */
static const lfuse__solver *choose_solver(const lfuse__facts *facts, const lfuse__matmul_desc *desc,
                                          const lfuse__product_class *p)
{
    enum { MIDDLE = 1024, MANY = 1024 };
    const lfuse__matmul_sizes middle = {MIDDLE, MIDDLE, MIDDLE, MANY};
    const lfuse__solver *found = NULL;
    double best = -1;

    for (int i = 0; lfuse__solvers[i]; i++) {
        const lfuse__solver *s = lfuse__solvers[i];
        lfuse__product_class tried = *p;
        double cost;
        if (!lfuse__solver_takes(s, facts, desc) || !lfuse__solver_pays(s, facts)) continue;
        cost = choose_tile(s, facts, 1, &middle, &tried);
        if (cost < 0 || (best >= 0 && cost >= best)) continue;
        best = cost;
        found = s;
    }
    return found;
}

lfuse_status lfuse__grouped_choose(const lfuse__facts *facts, int64_t members, const lfuse__matmul_sizes *sizes,
                                   lfuse__kernel_class *c)
{
    const lfuse__matmul_desc desc = {.types = {c->operands[LFUSE__PRODUCT_A].type, c->operands[LFUSE__PRODUCT_B].type},
                                     .list = true};
    const lfuse__solver *solver;
    int64_t i;

    for (i = 0; i < members; i++)
        if (sizes[i].m > INT32_MAX || sizes[i].n > INT32_MAX || sizes[i].k > INT32_MAX)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "member %lld is a product of %lld x %lld x %lld: sides are "
                                "below 2^31", (long long)i, (long long)sizes[i].m, (long long)sizes[i].n,
                                (long long)sizes[i].k);
    LFUSE__TRY(lfuse__matmul_possible(facts));
    c->product.sum = lfuse__register_type(c->operands[LFUSE__PRODUCT_A].type);
    solver = choose_solver(facts, &desc, &c->product);
    if (!solver)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "nobody multiplies lists of matrices on %s", facts->arch);
    choose_tile(solver, facts, members, sizes, &c->product);
    return LFUSE_OK;
}

void lfuse__grouped_cut_make(const lfuse__kernel_class *c, const lfuse__facts *facts, int64_t members,
                             const lfuse__matmul_sizes *sizes, lfuse__grouped_cut *cut)
{
    *cut = (lfuse__grouped_cut){ .groups = LFUSE__GROUP_BOUND };
    c->product.solver->grouped_cut(c, facts, members, sizes, cut);
}

/* ---- the text ---- */

static bool of_rows(const lfuse__kernel_class *c, int j)
{
    return j < SUM || c->operands[j].inner == LFUSE__STRIDE_UNIT;
}

/* Elements that matrix `matrix` of operand j lies behind the member's first, as an expression; empty: none. */
static void put_apart(const lfuse__kernel_class *c, int j, char *text, size_t size)
{
    *text = 0;
    if (of_rows(c, j))
        snprintf(text, size, "matrix * (u64)LOAD_i64(p%d, %d)", c->noperands - 1, lfuse__grouped_stride(j) + 1);
    else if (c->operands[j].inner == LFUSE__STRIDE_ROW) snprintf(text, size, "matrix * OF_(0)");
    else if (c->operands[j].inner == LFUSE__STRIDE_COLUMN) snprintf(text, size, "matrix * OF_(1)");
    else if (c->operands[j].inner == LFUSE__STRIDE_MATRIX) snprintf(text, size, "matrix");
}

/* Elements from row to row of operand j, as variable number `of`; of A and B the copy's may take its place. */
static void put_row_stride(const lfuse__text *t, const lfuse__kernel_class *c, int of, int j)
{
    if (of_rows(c, j))
        lfuse__put(t->out, 2, "%su64 of_%d = (u64)LOAD_i64(p%d, %d);", j < SUM ? "" : "const ", of, c->noperands - 1,
                   lfuse__grouped_stride(j));
    else lfuse__put(t->out, 2, "const u64 of_%d = %d;", of, c->operands[j].inner == LFUSE__STRIDE_ROW);
}

void lfuse__grouped_put_head(const lfuse__text *t, const lfuse__product_layout *l, const lfuse__kernel_class *c,
                             const char *rows, const char *columns)
{
    const int shape = c->noperands - 1;
    lfuse__strbuf *out = t->out;
    char behind[80];
    int j;

    lfuse__put_list_chunk(t, 0, 2);
    lfuse__put_list_operand(t, 2, shape, "member");
    lfuse__put(out, 2, "const u64 of_%d = (u64)LOAD_i64(p%d, 1), of_%d = (u64)LOAD_i64(p%d, 2);", l->m, shape, l->n,
               shape);
    lfuse__put(out, 2, "const u64 of_%d = (u64)LOAD_i64(p%d, 3);", l->k, shape);
    put_row_stride(t, c, l->lda, LFUSE__PRODUCT_A);
    put_row_stride(t, c, l->ldb, LFUSE__PRODUCT_B);
    lfuse__put(out, 2, "const u64 blocks_down = (of_%d + %s - 1) / %s;", l->m, rows, rows);
    lfuse__put(out, 2, "const u64 blocks_across = (of_%d + %s - 1) / %s;", l->n, columns, columns);
    lfuse__put(out, 2, "const u64 blocks = blocks_down * blocks_across;");
    lfuse__put(out, 2, "const u64 matrix = start_ / blocks, number = start_ %% blocks;");
    for (j = 0; j < shape; j++) {
        if (j == SUM) continue;
        lfuse__put_list_operand(t, 2, j, "member");
        put_apart(c, j, behind, sizeof behind);
        if (*behind) lfuse__put(out, 2, "p%d += %s * %u;", j, behind, lfuse__type_bytes(c->operands[j].type));
        if (j >= LFUSE__PRODUCT_OWN) put_row_stride(t, c, l->rows[j], j);
    }
}

int lfuse__grouped_buffers(const lfuse__text *t)
{
    return lfuse__list_buffers(t->list.facts, SLOTS);
}

void lfuse__grouped_put_chunks(const lfuse__text *t, int group)
{
    lfuse__put_list_arguments(t, group, 1);
    lfuse__put(t->out, 1, "const u64 chunks = W(%d);", LFUSE__MULTI_CHUNKS);
}

/* Operands as a product of one launch has them: by rows and columns. */
static void make_plain(const lfuse__kernel_class *c, lfuse__kernel_class *plain)
{
    int j;

    *plain = *c;
    for (j = LFUSE__PRODUCT_OWN; j < c->noperands; j++) {
        lfuse__stride_class *inner = &plain->operands[j].inner;
        *inner = *inner == LFUSE__STRIDE_UNIT || *inner == LFUSE__STRIDE_COLUMN ? LFUSE__STRIDE_UNIT
                                                                                 : LFUSE__STRIDE_REPEAT;
    }
}

static lfuse_status check(const char *name, const lfuse__kernel_class *c, const lfuse__facts *facts)
{
    const lfuse__product_class *p = &c->product;

    LFUSE__TRY(lfuse__list_check(name, c, facts));
    if (c->noperands <= LFUSE__PRODUCT_OWN || !c->operands[c->noperands - 1].shape || c->members.groups)
        return lfuse__error(LFUSE_ERR_INVALID, "a product of the members of lists: %d operands, %d groups of numbers",
                            c->noperands, c->members.groups);
    if (!p->solver || !p->solver->grouped_emit || !p->solver->runs_on(facts))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s multiplies no lists of matrices by solver \"%s\"", facts->arch,
                            p->solver ? p->solver->name : "");
    if (p->phase != LFUSE__GROUPED_PRODUCTS && (p->phase != LFUSE__GROUPED_PACK || !lfuse__grouped_packs(c)))
        return lfuse__error(LFUSE_ERR_INVALID, "a product of the members of lists has no phase %d", p->phase);
    return lfuse__product_check_types(c);
}

lfuse_status lfuse__grouped_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c,
                                 const lfuse__facts *facts)
{
    lfuse__kernel_class plain;

    LFUSE__TRY(check(name, c, facts));
    make_plain(c, &plain);
    lfuse__put_powers(out, c->body);
    lfuse__strbuf_add(out, "#ifndef OF_\n#define OF_(i) of_##i\n#endif\n");
    LFUSE__TRY(c->product.solver->grouped_emit(out, name, &plain, c, facts));
    return lfuse__strbuf_check(out);
}

/* ---- words ---- */

lfuse_status lfuse__grouped_pack(const lfuse__kernel_class *c, const lfuse__facts *facts,
                                 const lfuse__grouped_cut *cut, const lfuse__grouped_part *part,
                                 lfuse__packed *packed)
{
    LFUSE__TRY(lfuse__list_pack(c, facts, cut->space > 0, 1, LFUSE__GROUPED_NUMBERS, part->members,
                                part->first_chunk, part->chunks, part->numbers, packed));
    packed->words[LFUSE__MULTI_PARTIALS_OFFSET] = part->workspace;
    packed->words[LFUSE__GROUPED_BLOCKS] = (uint64_t)cut->rows | (uint64_t)cut->columns << 16 |
                                           (uint64_t)cut->depth << 32;
    if (!cut->space && part->chunks > cut->groups) /* a group has one tile */
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a launch over products of %lld tiles; at most %lld",
                            (long long)part->chunks, (long long)cut->groups);
    packed->group = cut->group;
    packed->groups = (uint64_t)(part->chunks < cut->groups ? part->chunks : cut->groups);
    return LFUSE_OK;
}

static lfuse_status warm_up(const lfuse__kernel_class *c, const lfuse__facts *facts, lfuse__packed *packed)
{
    const lfuse__grouped_part part = {.members = 1, .chunks = 1, .numbers = lfuse__zeros};
    const lfuse__matmul_sizes one = {1, 1, 1, 1};
    lfuse__grouped_cut cut;
    lfuse__grouped_cut_make(c, facts, 1, &one, &cut);
    return lfuse__grouped_pack(c, facts, &cut, &part, packed);
}

static void key(const lfuse__kernel_class *k, lfuse__kernel_key *key)
{
    lfuse__key_add_product(key, &k->product);
    lfuse__key_add_list(k, key);
}

static unsigned local_bytes(const lfuse__kernel_class *k)
{
    const lfuse__solver *solver = k->product.solver;

    return solver->local_bytes && k->product.phase == LFUSE__GROUPED_PRODUCTS ? solver->local_bytes(k) : 0;
}

const lfuse__kernel_family lfuse__family_grouped = {
    .emit = lfuse__grouped_emit, .key = key, .warm_up = warm_up, .local_bytes = local_bytes, .list_buffers = 3,
    .carry = LFUSE__CARRY_PARTIAL,
};
