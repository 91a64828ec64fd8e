/* SPDX-License-Identifier: Apache-2.0 */
/* Classes of kernels for products that follow each other in one launch, by what plans tell and by actual sizes. */
#include <string.h>

#include "common/base/error.h"
#include "common/matmul/mlp.h"
#include "common/run/compile/body.h"

void lfuse__network_class_of(const lfuse__step *step, lfuse__kernel_class *k)
{
    int i;

    memset(k, 0, sizeof *k);
    k->family = LFUSE__FAMILY_NETWORK;
    k->body = &step->body;
    k->rank = 2;
    k->noperands = step->noperands;
    for (i = 0; i < step->noperands; i++) {
        k->operands[i].type = step->operands[i].type;
        k->operands[i].written = step->operands[i].written;
        k->operands[i].inner = LFUSE__STRIDE_ANY;
    }
}

lfuse_status lfuse__network_shape(const lfuse__facts *facts, lfuse__network *network, lfuse__kernel_class *k)
{
    lfuse_status status;

    if (network->nlayers < 2)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "no two layers of which a launch can hold both");
    do status = lfuse__network_choose(facts, network, k);
    while (status == LFUSE_ERR_UNSUPPORTED && network->nlayers-- > 2);
    return status;
}

/* Whether the weights lie so, where tensors are contiguous as declared. */
static bool by_columns(const lfuse__plan_body *plan, const lfuse__step *step)
{
    int i;

    for (i = 0; i < step->nchildren; i++) {
        const lfuse__step *layer = &step->children[i];
        const lfuse__operand *b = &layer->operands[LFUSE__PRODUCT_B];
        if (lfuse__plan_stepping(plan, b, 1) != LFUSE__STEPPING_UNIT && layer->product.n != 1)
            return lfuse__plan_stepping(plan, b, 0) == LFUSE__STEPPING_UNIT;
    }
    return false;
}

bool lfuse__network_class(const lfuse__plan_body *plan, const lfuse__step *step, const lfuse__facts *facts,
                          lfuse__kernel_class *k, bool *whole)
{
    lfuse__network_layer layers[LFUSE__NETWORK_LAYERS_MOST];
    lfuse__network network = { .nlayers = step->nchildren, .layers = layers };
    lfuse__saved_error before;
    int64_t low, high;
    bool chosen;
    int i;

    *whole = false;
    lfuse__size_bounds(plan->graph, step->children[0].product.m, &low, &high);
    if (low != high || low < 1 || low > LFUSE__NETWORK_ROWS_MOST || step->nchildren > LFUSE__NETWORK_LAYERS_MOST)
        return false;
    memset(layers, 0, sizeof layers);
    for (i = 0; i < step->nchildren; i++) {
        layers[i].n = step->children[i].product.n; /* numbers: network.c of common/plan/ */
        layers[i].k = step->children[i].product.k;
    }
    network.m = low;
    lfuse__network_class_of(step, k);
    k->product.tb = by_columns(plan, step);
    lfuse__error_save(&before);
    chosen = !lfuse__network_shape(facts, &network, k);
    lfuse__error_restore(&before);
    *whole = chosen && network.nlayers == step->nchildren;
    return chosen;
}
