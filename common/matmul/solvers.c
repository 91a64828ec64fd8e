/* SPDX-License-Identifier: Apache-2.0 */
/* The table of solvers, and what the family of products' kernels asks of the one that a class names. */
#include "common/kernels/families.h"
#include "common/matmul/emulated.h"

#include "common/base/error.h"

const lfuse__solver *const lfuse__solvers[] = {
#define LFUSE__SOLVER(name) &lfuse__##name,
#include "common/matmul/solvers.def"
    NULL,
};

/* Returns whether it has tiles, and operands, for sums of columns. */
static bool sums_columns(const lfuse__solver *solver)
{
    return solver->tile && solver->tile->sums_columns && (!solver->source || solver->source->columns);
}

static const char *own_reason(const lfuse__solver *solver, const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    if (solver->source) return lfuse__pipeline_declines(solver, facts, desc);
    return solver->declines ? solver->declines(facts, desc) : NULL;
}

const char *lfuse__solver_declines(const lfuse__solver *solver, const lfuse__facts *facts,
                                   const lfuse__matmul_desc *desc)
{
    const char *why;

    if (desc->precision == LFUSE_PRECISION_TF32 && !solver->tf32) return "it rounds nothing to tf32";
    if (solver->emulation && solver->emulation->precision != desc->precision) return "operands are not to be split so";
    if (desc->list && !solver->grouped_emit) return "it takes no lists";
    why = own_reason(solver, facts, desc);
    if (why) return why;
    return desc->column_sums && !sums_columns(solver) ? "it does not sum columns" : NULL;
}

bool lfuse__solver_takes(const lfuse__solver *solver, const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    return solver->candidate && solver->runs_on(facts) && !lfuse__solver_declines(solver, facts, desc);
}

bool lfuse__solver_pays(const lfuse__solver *solver, const lfuse__facts *facts)
{
    return !solver->pays || solver->pays(facts);
}

/* Returns the solver's number in the table; -1: it is in none. */
static int number_of(const lfuse__solver *solver)
{
    int i = 0;

    while (lfuse__solvers[i] && lfuse__solvers[i] != solver) i++;
    return lfuse__solvers[i] ? i : -1;
}

void lfuse__key_add_product(lfuse__kernel_key *key, const lfuse__product_class *p)
{
    const int32_t words[] = {
        number_of(p->solver), p->ta, p->tb, (int32_t)p->sum, p->rows, p->columns, p->depth, p->item_rows,
        p->item_columns, p->slices, p->prefetch, p->occupancy, p->split, p->phase, p->batched, p->prologue[0],
        p->prologue[1], p->column_sums, p->counted, p->kept,
    };

    _Static_assert(sizeof words / sizeof *words == LFUSE__KEY_PRODUCT, "as many as key.h has room for");
    for (int i = 0; i < LFUSE__KEY_PRODUCT; i++) lfuse__key_add(key, words[i]);
}

int lfuse__product_first(const lfuse__kernel_class *c)
{
    return c->product.solver->first ? c->product.solver->first(c) : 0;
}

int lfuse__product_phases(const lfuse__kernel_class *c)
{
    return c->product.solver->phases + (c->product.kept > 0);
}

bool lfuse__product_prepares(const lfuse__kernel_class *c)
{
    return c->product.phase >= c->product.solver->phases;
}

uint64_t lfuse__product_tickets(const lfuse__kernel_class *c)
{
    return c->product.solver->tickets ? c->product.solver->tickets(c) : 0;
}

uint64_t lfuse__product_workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g)
{
    return c->product.solver->workspace(c, facts, g);
}

uint64_t lfuse__product_kept(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g)
{
    return c->product.kept ? c->product.solver->kept(c, facts, g) : 0;
}

lfuse_status lfuse__product_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c,
                                 const lfuse__facts *facts)
{
    const lfuse__solver *solver = c->product.solver;

    if (!solver || !solver->runs_on(facts))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s multiplies no matrices by solver \"%s\"", facts->arch,
                            solver ? solver->name : "");
    LFUSE__TRY(lfuse__product_check(name, c, facts));
    LFUSE__TRY(solver->emit(out, name, c, facts));
    return lfuse__strbuf_check(out);
}

lfuse_status lfuse__product_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                 lfuse__packed *packed)
{
    return c->product.solver->pack(c, facts, g, packed);
}

static unsigned local_bytes(const lfuse__kernel_class *k)
{
    const lfuse__solver *solver = k->product.solver;

    return solver->local_bytes ? solver->local_bytes(k) : 0;
}

static lfuse_status warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__packed *packed)
{
    lfuse__geometry g;

    lfuse__geometry_of_one(&g);
    return lfuse__product_pack(k, facts, &g, packed);
}

static void key(const lfuse__kernel_class *k, lfuse__kernel_key *key)
{
    lfuse__key_add_product(key, &k->product);
}

static int words(const lfuse__kernel_class *k)
{
    lfuse__product_layout layout;

    lfuse__product_layout_make(k, &layout);
    return lfuse__tiles_words(&k->product, &layout);
}

const lfuse__kernel_family lfuse__family_product = {
    .counted = true, .moves_addresses = true,
    .words = words, .emit = lfuse__product_emit, .key = key, .pack = lfuse__product_pack, .warm_up = warm_up,
    .buffers = lfuse__kernel_buffers, .local_bytes = local_bytes, .launches = true, .late = "a product of these sizes",
};
