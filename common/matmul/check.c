/* SPDX-License-Identifier: Apache-2.0 */
/* What the class of a product has to be, whoever solves it. */
#include "common/base/error.h"
#include "common/matmul/solver.h"

/* What A or B is made of. */
static lfuse_status check_made(const lfuse__kernel_class *c, int i)
{
    const lfuse__body *body = c->body;
    const int made = c->product.prologue[i];
    bool needed[LFUSE__MAX_INSTRUCTIONS] = {false}, loaded[LFUSE__MAX_OPERANDS] = {false};
    int8_t sides[LFUSE__MAX_OPERANDS];
    int k;

    if (!made) return LFUSE_OK;
    if (made < 0 || made > body->ninstr || c->product.batched || c->family == LFUSE__FAMILY_GROUPED ||
        lfuse__register_type(body->instr[made - 1].type) != c->product.sum)
        return lfuse__error(LFUSE_ERR_INVALID, "operand %d of a product is register %d of %d, or of another type", i,
                            made - 1, body->ninstr);
    for (k = 0; k < body->nstores; k++) needed[body->stores[k].reg] = true;
    if (c->product.prologue[1 - i]) needed[c->product.prologue[1 - i] - 1] = true;
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
    if (sums != c->naxes || !c->product.column_sums != !sums ||
        (sums && (c->product.batched || c->family == LFUSE__FAMILY_GROUPED)))
        return lfuse__error(LFUSE_ERR_INVALID, "a product by %s with %d sums of columns, %d reduced axes",
                            c->product.solver->name, sums, c->naxes);
    return LFUSE_OK;
}

lfuse_status lfuse__product_check_types(const lfuse__kernel_class *c)
{
    int j;

    if (c->product.sum != LFUSE_F32 && c->product.sum != LFUSE_F64)
        return lfuse__error(LFUSE_ERR_TYPE, "a product whose sums are of type %d", (int)c->product.sum);
    for (j = 0; j < LFUSE__PRODUCT_SUM; j++)
        if (lfuse__register_type(c->operands[j].type) != c->product.sum || c->operands[j].written)
            return lfuse__error(LFUSE_ERR_TYPE, "a product of %s with sums of %s",
                                lfuse__memory_word(c->operands[j].type), lfuse__memory_word(c->product.sum));
    if (c->operands[LFUSE__PRODUCT_SUM].type != c->product.sum || c->operands[LFUSE__PRODUCT_SUM].written)
        return lfuse__error(LFUSE_ERR_TYPE, "the sums of a product are read as %s",
                            lfuse__memory_word(c->operands[LFUSE__PRODUCT_SUM].type));
    return LFUSE_OK;
}

lfuse_status lfuse__product_check(const char *name, const lfuse__kernel_class *c, const lfuse__facts *facts)
{
    int j;

    LFUSE__TRY(lfuse__class_check(name, c, facts));
    if (c->noperands < LFUSE__PRODUCT_OWN || c->rank != 2 || c->naxes > 1 || c->index64)
        return lfuse__error(LFUSE_ERR_INVALID, "a product of %d operands, rank %d, %d reduced axes", c->noperands,
                            c->rank, c->naxes);
    LFUSE__TRY(lfuse__product_check_types(c));
    for (j = 0; j < LFUSE__PRODUCT_SUM; j++) LFUSE__TRY(check_made(c, j));
    LFUSE__TRY(check_summed(c));
    for (j = 0; j < c->noperands; j++)
        if (c->operands[j].gathered || (c->operands[j].index && c->product.batched))
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "operand %d of a product is looked up in, or is an index in a "
                                "batch", j);
    return LFUSE_OK;
}
