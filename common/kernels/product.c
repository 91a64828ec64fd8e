/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products: what the forms share. */
#include "common/kernels/product.h"
#include "common/kernels/product_tiles.h"

#include <stdio.h>
#include <string.h>

#include "common/base/error.h"

static const lfuse__product_family *const families[] = {
    [LFUSE__PRODUCT_PANELS] = &lfuse__product_panels,
    [LFUSE__PRODUCT_TILES] = &lfuse__product_tiles,
};

static lfuse__product_form form_for(const lfuse__facts *facts)
{
    return facts->vector_lanes ? LFUSE__PRODUCT_PANELS : LFUSE__PRODUCT_TILES;
}

/* f16 and bf16 are stored; what they hold is multiplied and added as f32. */
static void complete(const lfuse__facts *facts, lfuse__kernel_class *c)
{
    c->product.form = form_for(facts);
    c->product.summed = !c->naxes ? 0 : c->body->ninstr > LFUSE__TILES_SHORT ? 2 : 1;
    c->product.sum = lfuse__register_type(c->operands[LFUSE__PRODUCT_A].type);
    c->product.units = lfuse__units_serve(facts, c);
    c->rank = 2;
}

lfuse_status lfuse__product_choose(const lfuse__facts *facts, const int64_t *extents, bool others,
                                   lfuse__kernel_class *c)
{
    lfuse_status status;

    complete(facts, c);
    status = families[c->product.form]->choose(facts, extents, others, c);
    c->product.unsized = false;
    return status;
}

int lfuse__product_classes(const lfuse__facts *facts, const int64_t *low, const int64_t *high,
                           const lfuse__kernel_class *c, lfuse__kernel_class *classes)
{
    lfuse__kernel_class question = *c;

    complete(facts, &question);
    return families[question.product.form]->classes(facts, low, high, &question, classes);
}

int lfuse__product_tilings(const lfuse__facts *facts, const int64_t *extents, const lfuse__kernel_class *c,
                           lfuse__product_tiling *all)
{
    lfuse__kernel_class question = *c;

    complete(facts, &question);
    return families[question.product.form]->tilings(facts, extents, &question, all);
}

lfuse_status lfuse__product_lean(const lfuse__facts *facts, const int64_t *extents, lfuse__kernel_class *c)
{
    const bool unsized = c->product.unsized;

    LFUSE__TRY(lfuse__product_choose(facts, extents, false, c));
    if (families[c->product.form] != &lfuse__product_tiles) return LFUSE_OK;
    c->product.unsized = unsized;
    lfuse__tiles_lean(facts, extents, c);
    c->product.unsized = false;
    return LFUSE_OK;
}

lfuse_status lfuse__product_take(const lfuse__facts *facts, const int64_t *extents,
                                 const lfuse__product_tiling *tiling, lfuse__kernel_class *c)
{
    complete(facts, c);
    return families[c->product.form]->take(facts, extents, tiling, c);
}

void lfuse__product_tiling_print(const lfuse__product_tiling *t, char name[LFUSE__TILING_NAME])
{
    snprintf(name, LFUSE__TILING_NAME, "%dx%dx%d:%dx%d:%d:%d", t->rows, t->columns, t->depth, t->item_rows,
             t->item_columns, t->slices, t->parts);
}

bool lfuse__product_tiling_parse(const char *name, lfuse__product_tiling *t)
{
    char again[LFUSE__TILING_NAME];

    memset(t, 0, sizeof *t);
    if (strlen(name) >= sizeof again) return false; /* so that no number overflows unseen */
    if (sscanf(name, "%9dx%9dx%9d:%9dx%9d:%9d:%9d", &t->rows, &t->columns, &t->depth, &t->item_rows, &t->item_columns,
               &t->slices, &t->parts) != 7)
        return false;
    lfuse__product_tiling_print(t, again);
    return !strcmp(name, again);
}

int lfuse__product_phases(const lfuse__kernel_class *c)
{
    return families[c->product.form]->phases(c);
}

uint64_t lfuse__product_tickets(const lfuse__kernel_class *c)
{
    return families[c->product.form]->tickets(c);
}

uint64_t lfuse__product_workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g)
{
    return families[c->product.form]->workspace(c, facts, g);
}

/* What A or B is made of. */
static lfuse_status check_made(const lfuse__kernel_class *c, int i)
{
    const lfuse__body *body = c->body;
    const int made = c->product.made[i];
    bool needed[LFUSE__MAX_INSTRUCTIONS] = {false}, loaded[LFUSE__MAX_OPERANDS] = {false};
    int8_t sides[LFUSE__MAX_OPERANDS];
    int k;

    if (!made) return LFUSE_OK;
    if (made < 0 || made > body->ninstr || c->product.batched || c->family == LFUSE__FAMILY_GROUPED ||
        lfuse__register_type(body->instr[made - 1].type) != c->product.sum)
        return lfuse__error(LFUSE_ERR_INVALID, "operand %d of a product is register %d of %d, or of another type", i,
                            made - 1, body->ninstr);
    for (k = 0; k < body->nstores; k++) needed[body->stores[k].reg] = true;
    if (c->product.made[1 - i]) needed[c->product.made[1 - i] - 1] = true;
    lfuse__body_needs(body, NULL, needed);
    for (k = 0; k < body->ninstr; k++)
        if (needed[k] && body->instr[k].kind == LFUSE__I_LOAD) loaded[body->instr[k].a] = true;
    lfuse__product_sides(c, sides);
    for (k = 0; k < c->noperands; k++)
        if (sides[k] == i && (loaded[k] || k < LFUSE__PRODUCT_OWN))
            return lfuse__error(LFUSE_ERR_INVALID, "operand %d of a product is made of operand %d, which is somebody "
                                "else's", i, k);
    return LFUSE_OK;
}

/* Sums of columns: one of f32, of what no sum is part of. What is stored of them repeats along the rows. */
static lfuse_status check_summed(const lfuse__kernel_class *c)
{
    const lfuse__body *body = c->body;
    int i, sums = 0;

    for (i = 0; i < body->ninstr; i++) {
        const lfuse__instr *in = &body->instr[i];
        if (in->kind != LFUSE__I_REDUCE && in->kind != LFUSE__I_TOTAL) continue;
        sums++;
        if (in->kind == LFUSE__I_TOTAL || in->op != LFUSE__REDUCE_SUM || (lfuse_type)in->type != LFUSE_F32 ||
            lfuse__register_type((lfuse_type)body->instr[in->a].type) != LFUSE_F32 || sums > 1)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a product of which instruction %d reduces: it sums f32, once",
                                i);
    }
    if (sums != c->naxes || !c->product.summed != !sums ||
        (sums && (c->product.form != LFUSE__PRODUCT_TILES || c->product.batched ||
                  c->family == LFUSE__FAMILY_GROUPED)))
        return lfuse__error(LFUSE_ERR_INVALID, "a product of form %d with %d sums of columns, %d reduced axes",
                            (int)c->product.form, sums, c->naxes);
    return LFUSE_OK;
}

static lfuse_status check(const char *name, const lfuse__kernel_class *c, const lfuse__facts *facts)
{
    int j;

    LFUSE__TRY(lfuse__class_check(name, c, facts));
    if (c->noperands < LFUSE__PRODUCT_OWN || c->rank != 2 || c->naxes > 1 || c->index64)
        return lfuse__error(LFUSE_ERR_INVALID, "a product of %d operands, rank %d, %d reduced axes", c->noperands,
                            c->rank, c->naxes);
    if (c->product.sum != LFUSE_F32 && c->product.sum != LFUSE_F64)
        return lfuse__error(LFUSE_ERR_TYPE, "a product whose sums are of type %d", (int)c->product.sum);
    for (j = 0; j < LFUSE__PRODUCT_SUM; j++)
        if (lfuse__register_type(c->operands[j].type) != c->product.sum)
            return lfuse__error(LFUSE_ERR_TYPE, "a product of %s with sums of %s",
                                lfuse__memory_word(c->operands[j].type), lfuse__memory_word(c->product.sum));
    if (c->operands[LFUSE__PRODUCT_SUM].type != c->product.sum || c->operands[LFUSE__PRODUCT_SUM].written)
        return lfuse__error(LFUSE_ERR_TYPE, "the sums of a product are read as %s",
                            lfuse__memory_word(c->operands[LFUSE__PRODUCT_SUM].type));
    for (j = 0; j < LFUSE__PRODUCT_SUM; j++) LFUSE__TRY(check_made(c, j));
    LFUSE__TRY(check_summed(c));
    for (j = 0; j < c->noperands; j++)
        if (c->operands[j].gathered || (c->operands[j].index && c->product.batched))
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "operand %d of a product is looked up in, or is an index in a "
                                "batch", j);
    return LFUSE_OK;
}

lfuse_status lfuse__product_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c,
                                 const lfuse__facts *facts)
{
    if (c->product.form != form_for(facts))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "product form %d is none of this device", (int)c->product.form);
    LFUSE__TRY(check(name, c, facts));
    LFUSE__TRY(families[c->product.form]->emit(out, name, c, facts));
    return lfuse__strbuf_check(out);
}

lfuse_status lfuse__product_pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                                 lfuse__packed *packed)
{
    return families[c->product.form]->pack(c, facts, g, packed);
}

lfuse_status lfuse__product_warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__packed *packed)
{
    lfuse__geometry g;
    lfuse__geometry_of_one(&g);
    return lfuse__product_pack(k, facts, &g, packed);
}
