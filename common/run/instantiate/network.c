/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products that follow each other, in one launch. Its workspace is zeroed when its operation is made, and then kept by
 * the kernel itself. It is the instance's own, whose runs follow each other on its stream. A recording is replayed
 * on any stream, beside those: its runs have a workspace in the recording's scratch, where others leave things too, so
 * that it is zeroed before each of them.
 */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/matmul/mlp.h"
#include "common/run/instantiate/loop.h"
#include "common/run/operations/operations.h"

struct lfuse__network_op {
    lfuse__kernel *kernel;
    lfuse__kernel_class k;
    lfuse__network network;
    lfuse__network_layer *layers;
    lfuse__start (*starts)[LFUSE__MAX_OPERANDS]; /* [nlayers] */
    lfuse__range *workspace;
    const int *which;   /* [k.body->nnumbers] of the instance's */
    double *numbers;
    uint64_t bytes;
    int lent;          /* buffer: the workspace in scratch that is lent */
    lfuse__bmem *buffer;
    lfuse__packed packed;
};

static void destroy_network_op(lfuse__network_op *op)
{
    if (!op) return;
    lfuse__kernel_destroy(op->kernel);
    lfuse__range_release(op->workspace);
    free(op->numbers);
    free(op->starts);
    free(op->layers);
    free(op);
}

/* ---- runs ---- */

static lfuse_status set_args(lfuse_instance *in, lfuse__operation *operation, const lfuse__slot *slots)
{
    lfuse__network_op *op = operation->as.network;
    lfuse__location at;
    int i, j;

    (void)slots;
    for (i = 0; i < op->network.nlayers; i++)
        for (j = 0; j < op->k.noperands; j++) {
            lfuse__start_at(in, &op->starts[i][j], &at);
            op->layers[i].operands[j].address = at.address;
        }
    at = (lfuse__location){ op->workspace->mem, op->workspace->offset, op->workspace->address };
    if (in->lent) lfuse__memory_at(in, &(lfuse__memory){ LFUSE__PLACE_SCRATCH, op->lent }, &at);
    op->buffer = at.mem;
    op->network.workspace = at.offset;
    for (i = 0; i < op->k.body->nnumbers; i++) op->numbers[i] = in->numbers[op->which[i]];
    lfuse__network_pack(&op->k, &op->network, &op->packed);
    return LFUSE_OK;
}

static lfuse_status launch(lfuse_instance *in, const lfuse__operation *operation, lfuse_stream *s)
{
    const lfuse__network_op *op = operation->as.network;
    const lfuse__launch_args args = { .groups = op->packed.groups, .group = op->packed.group, .nbuffers = 1,
                                      .nwords = op->packed.nwords, .buffers = &op->buffer, .words = op->packed.words,
                                      .resident = true };

    if (in->lent) LFUSE__TRY(lfuse__fill(s, in->lent, in->buffers[op->lent].offset, 0, 8, op->bytes));
    return lfuse__launch(s, op->kernel, &args);
}

static void destroy(lfuse__operation *op)
{
    destroy_network_op(op->as.network);
}

static const lfuse__operation_row network_operation = {
    .set_args = set_args, .launch = launch, .destroy = destroy
};

/* ---- instantiating ---- */

static lfuse_status new_op(const lfuse__step *step, int nlayers, lfuse__network_op **made)
{
    lfuse__network_op *op = calloc(1, sizeof *op);

    if (op) {
        op->layers = calloc((size_t)nlayers, sizeof *op->layers);
        op->starts = calloc((size_t)nlayers, sizeof *op->starts);
        op->numbers = calloc((size_t)step->body.nnumbers + 1, sizeof *op->numbers);
        op->which = step->numbers;
        op->network = (lfuse__network){ .nlayers = nlayers, .layers = op->layers, .numbers = op->numbers };
        if (op->layers && op->starts && op->numbers) {
            *made = op;
            return LFUSE_OK;
        }
    }
    destroy_network_op(op);
    return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d layers in one launch)", nlayers);
}

static lfuse_status open_operand(lfuse_instance *in, lfuse__network_op *op, const lfuse__step *step, int layer,
                                 int operand)
{
    lfuse__network_layer *l = &op->layers[layer];
    const int64_t extents[2] = { operand == LFUSE__PRODUCT_B ? l->k : op->network.m,
                                 operand == LFUSE__PRODUCT_A ? l->k : l->n };
    const int slot = step->layer.slots[operand];
    lfuse__stand_ins copies = { 0 };
    lfuse__walk w;

    LFUSE__TRY(lfuse__walk_open(in, &step->operands[operand], 2, extents, &copies, &w));
    if (copies.count)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "operand %d of layer %d would go through a copy", operand, layer);
    op->starts[layer][slot] = lfuse__start_of(&w);
    l->operands[slot].row = w.strides[0];
    l->operands[slot].column = w.strides[1];
    return LFUSE_OK;
}

/* What it reads; what layers hand on has no memory of its own. */
static lfuse_status open_layer(lfuse_instance *in, lfuse__network_op *op, const lfuse__step *step, int layer)
{
    int i;

    op->layers[layer].kind = step->layer.kind;
    LFUSE__TRY(lfuse__extent_of(in, step->product.n, &op->layers[layer].n));
    LFUSE__TRY(lfuse__extent_of(in, step->product.k, &op->layers[layer].k));
    for (i = 0; i < op->k.noperands; i++)
        op->starts[layer][i].memory.place = LFUSE__PLACE_INDEX; /* nowhere */
    for (i = 0; i < step->noperands; i++) {
        if (i == LFUSE__PRODUCT_SUM || step->operands[i].written || (i == LFUSE__PRODUCT_A && layer > 0)) continue;
        LFUSE__TRY(open_operand(in, op, step, layer, i));
    }
    return LFUSE_OK;
}

/* The layers whose operands a launch can read, from the first on: so many of the network's. */
static lfuse_status open_layers(lfuse_instance *in, lfuse__network_op *op, const lfuse__step *children)
{
    lfuse_status status = LFUSE_OK;
    int i;

    for (i = 0; i < op->network.nlayers && !status; i++) status = open_layer(in, op, &children[i], i);
    if (status != LFUSE_ERR_UNSUPPORTED || i < 3) return status;
    op->network.nlayers = i - 1;
    return LFUSE_OK;
}

/* Weights lie row by row or column by column, in all layers alike: in as many as are taken. */
static lfuse_status find_order(lfuse__network_op *op)
{
    bool rows = true, columns = true;
    int i;

    for (i = 0; i < op->network.nlayers; i++) {
        const lfuse__network_layer *l = &op->layers[i];
        const lfuse__network_place *b = &l->operands[LFUSE__PRODUCT_B];
        const bool was = rows;
        rows = rows && b->row >= 0 && (b->column == 1 || l->n == 1);
        columns = columns && b->column >= 0 && (b->row == 1 || l->k == 1);
        if (!rows && !columns) {
            rows = was;
            break;
        }
    }
    if (i < 2)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "the weights of layer %d lie otherwise than those before it, or "
                            "neither rows nor columns are contiguous", i);
    op->network.nlayers = i;
    op->k.product.tb = !rows;
    return LFUSE_OK;
}

static lfuse_status open_result(lfuse_instance *in, lfuse__network_op *op, const lfuse__step *children)
{
    const int last = op->network.nlayers - 1;
    const lfuse__step *step = &children[last];

    return open_operand(in, op, step, last, step->body.stores[0].operand);
}

static void use_memory(lfuse_instance *in, const lfuse__network_op *op)
{
    const lfuse__memory lent = { LFUSE__PLACE_SCRATCH, op->lent };
    int i, j;

    for (i = 0; i < op->network.nlayers; i++)
        for (j = 0; j < op->k.noperands; j++) lfuse__use_memory(in, &op->starts[i][j].memory);
    lfuse__use_memory(in, &lent);
}

/* Sizes and what is read: the layers from number `first` on, `count` or as many less as it takes. */
static lfuse_status prepare(lfuse_instance *in, const lfuse__step *step, int first, int count, lfuse__network_op **made)
{
    const lfuse__step *children = step->children + first;
    lfuse__network_op *op;
    lfuse_status status;

    LFUSE__TRY(new_op(step, count, &op));
    status = lfuse__extent_of(in, children[0].product.m, &op->network.m);
    if (!status && (op->network.m < 1 || op->network.m > LFUSE__NETWORK_ROWS_MOST))
        status = lfuse__error(LFUSE_ERR_UNSUPPORTED, "%lld rows; products of 1 to %d share a launch",
                              (long long)op->network.m, LFUSE__NETWORK_ROWS_MOST);
    lfuse__network_class_of(step, &op->k);
    if (!status) status = open_layers(in, op, children);
    if (!status) status = find_order(op);
    if (!status) status = lfuse__network_shape(in->facts, &op->network, &op->k);
    if (!status) status = open_result(in, op, children);
    if (status) destroy_network_op(op);
    else *made = op;
    return status;
}

lfuse_status lfuse__network_part(lfuse_instance *in, const lfuse__step *step, int first, int *count)
{
    lfuse__network_op *op;

    LFUSE__TRY(prepare(in, step, first, step->nchildren - first, &op));
    *count = op->network.nlayers;
    destroy_network_op(op);
    return LFUSE_OK;
}

static lfuse_status complete(lfuse_instance *in, lfuse__network_op *op)
{
    LFUSE__TRY(lfuse__body_kernel(in->plan->body, in->plan->dev, &op->k, &op->kernel));
    op->bytes = (lfuse__network_workspace(&op->k, &op->network) + 255) / 256 * 256;
    LFUSE__TRY(lfuse__range_create(in->plan->dev, op->bytes, &op->workspace));
    LFUSE__TRY(lfuse__fill(in->stream, op->workspace, 0, 0, 8, op->bytes));
    return lfuse__add_buffer(in, LFUSE__PLACE_SCRATCH, op->bytes, &op->lent);
}

lfuse_status lfuse__instantiate_network(lfuse__instantiation *ctx, const lfuse__step *step, int first, int count)
{
    lfuse_instance *in = ctx->in;
    lfuse__network_op *op;
    lfuse__operation *operation;
    lfuse_status status;

    LFUSE__TRY(prepare(in, step, first, count, &op));
    status = complete(in, op);
    if (!status) status = lfuse__add_operation(in, step, &network_operation, &operation);
    if (status) {
        destroy_network_op(op);
        return status;
    }
    operation->as.network = op;
    use_memory(in, op);
    return LFUSE_OK;
}
