/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/error.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/networks.h"
#include "tests/support/main.h"

/* What all have, without a body. */
static void start(sample *s, int noperands)
{
    sample_start(s, LFUSE__FAMILY_NETWORK, 2, 0);
    for (int j = 0; j < noperands; j++) sample_operand(s, LFUSE_F32, j == NETWORK_RESULT, LFUSE__STRIDE_ANY);
}

/* relu(sum + bias), stored. */
static void add_layer(sample *s)
{
    const int sum = sample_load(s, LFUSE__PRODUCT_SUM), bias = sample_load(s, NETWORK_BIAS);
    const int x = sample_apply(s, LFUSE__OP_add, LFUSE_F32, sum, bias);
    sample_store(s, sample_apply(s, LFUSE__OP_relu, LFUSE_F32, x, -1), NETWORK_RESULT);
}

void network_class(lfuse__kernel_class *c)
{
    static sample s;
    start(&s, NETWORK_OPERANDS);
    add_layer(&s);
    *c = s.k;
}

void network_type(lfuse__kernel_class *c, lfuse_type type)
{
    static lfuse__instr instr[4];
    static lfuse__body body;
    memmove(instr, c->body->instr, sizeof instr);
    body = *c->body;
    body.instr = instr;
    instr[1].type = type;
    c->family = LFUSE__FAMILY_NETWORK;
    c->body = &body;
    for (int j = 0; j < NETWORK_OPERANDS; j++)
        if (j != LFUSE__PRODUCT_SUM) c->operands[j].type = type;
}

void network_class_of_three(lfuse__kernel_class *c)
{
    static sample s;
    start(&s, NETWORK_FACTOR + 1);
    add_layer(&s);
    sample_store(&s, sample_load(&s, LFUSE__PRODUCT_SUM), NETWORK_RESULT);
    const int sum = sample_load(&s, LFUSE__PRODUCT_SUM), factor = sample_load(&s, NETWORK_FACTOR);
    int x = sample_apply(&s, LFUSE__OP_mul, LFUSE_F32, sum, factor);
    x = sample_apply(&s, LFUSE__OP_mul, LFUSE_F32, x, sample_number(&s, LFUSE_F32));
    sample_store(&s, sample_apply(&s, LFUSE__OP_tanh, LFUSE_F32, x, -1), NETWORK_RESULT);
    *c = s.k;
}

lfuse__facts network_facts(unsigned resident)
{
    lfuse__facts facts = facts_items(true);
    facts.resident_groups = resident;
    facts.info.local_bytes = 48 * 1024, facts.info.max_group = 1024;
    return facts;
}

void network_square(lfuse__network *w, lfuse__network_layer *layers, int count, int64_t rows, int64_t width)
{
    memset(layers, 0, (size_t)count * sizeof *layers);
    for (int i = 0; i < count; i++) layers[i].n = layers[i].k = width;
    *w = (lfuse__network){.m = rows, .nlayers = count, .layers = layers};
}

void networks_emit(lfuse__strbuf *out, const char *(*name)(void *data), void *data)
{
    static const struct {
        int rows, columns, depth;
        bool counted, three;
        lfuse_type type;
        bool tb;
    } shapes[] = {
        {1, 4, 2, false, true, LFUSE_F32, false},    {1, 8, 8, false, false, LFUSE_F32, false},
        {4, 16, 1, false, false, LFUSE_F32, false},  {8, 8, 4, false, false, LFUSE_F32, false},
        {8, 32, 16, true, true, LFUSE_F32, false},   {1, 4, 2, true, false, LFUSE_F32, false},
        {16, 16, 8, true, true, LFUSE_F32, false},   {16, 32, 1, false, false, LFUSE_F32, false},
        {1, 8, 8, true, false, LFUSE_F16, false},    {8, 16, 4, false, false, LFUSE_BF16, false},
        {1, 4, 2, true, false, LFUSE_F32, true},     {8, 32, 16, true, false, LFUSE_F32, true},
        {8, 8, 2, false, false, LFUSE_F16, true},
    };
    const lfuse__facts facts = network_facts(132);
    lfuse__kernel_class c;
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        if (shapes[i].three) network_class_of_three(&c);
        else network_class(&c), network_type(&c, shapes[i].type);
        c.product.sum = LFUSE_F32;
        c.product.rows = shapes[i].rows, c.product.columns = shapes[i].columns, c.product.depth = shapes[i].depth;
        c.product.counted = shapes[i].counted, c.product.tb = shapes[i].tb;
        OK(lfuse__network_emit(out, name(data), &c, &facts));
    }
}
