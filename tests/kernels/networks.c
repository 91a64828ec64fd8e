/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/error.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/networks.h"
#include "tests/support/main.h"

void network_class(lfuse__kernel_class *c)
{
    static lfuse__instr instr[] = {
        {.kind = LFUSE__I_LOAD, .type = LFUSE_F32, .a = LFUSE__PRODUCT_SUM, .b = -1, .c = -1},
        {.kind = LFUSE__I_LOAD, .type = LFUSE_F32, .a = NETWORK_BIAS, .b = -1, .c = -1},
        {.kind = LFUSE__I_APPLY, .op = LFUSE__OP_add, .type = LFUSE_F32, .a = 0, .b = 1, .c = -1},
        {.kind = LFUSE__I_APPLY, .op = LFUSE__OP_relu, .type = LFUSE_F32, .a = 2, .b = -1, .c = -1},
    };
    static lfuse__store store = {.reg = 3, .operand = NETWORK_RESULT};
    static lfuse__body body = {.ninstr = 4, .nstores = 1, .instr = instr, .stores = &store};
    memset(c, 0, sizeof *c);
    c->family = LFUSE__FAMILY_NETWORK;
    c->body = &body;
    c->rank = 2;
    c->noperands = NETWORK_OPERANDS;
    for (int j = 0; j < NETWORK_OPERANDS; j++)
        c->operands[j] = (lfuse__kernel_operand){.type = LFUSE_F32, .written = j == NETWORK_RESULT,
                                                 .inner = LFUSE__STRIDE_ANY};
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
    static lfuse__instr instr[] = {
        {.kind = LFUSE__I_LOAD, .type = LFUSE_F32, .a = LFUSE__PRODUCT_SUM, .b = -1, .c = -1},
        {.kind = LFUSE__I_LOAD, .type = LFUSE_F32, .a = NETWORK_BIAS, .b = -1, .c = -1},
        {.kind = LFUSE__I_APPLY, .op = LFUSE__OP_add, .type = LFUSE_F32, .a = 0, .b = 1, .c = -1},
        {.kind = LFUSE__I_APPLY, .op = LFUSE__OP_relu, .type = LFUSE_F32, .a = 2, .b = -1, .c = -1},
        {.kind = LFUSE__I_LOAD, .type = LFUSE_F32, .a = LFUSE__PRODUCT_SUM, .b = -1, .c = -1},
        {.kind = LFUSE__I_LOAD, .type = LFUSE_F32, .a = LFUSE__PRODUCT_SUM, .b = -1, .c = -1},
        {.kind = LFUSE__I_LOAD, .type = LFUSE_F32, .a = NETWORK_FACTOR, .b = -1, .c = -1},
        {.kind = LFUSE__I_APPLY, .op = LFUSE__OP_mul, .type = LFUSE_F32, .a = 5, .b = 6, .c = -1},
        {.kind = LFUSE__I_NUMBER, .type = LFUSE_F32, .a = 0, .b = -1, .c = -1},
        {.kind = LFUSE__I_APPLY, .op = LFUSE__OP_mul, .type = LFUSE_F32, .a = 7, .b = 8, .c = -1},
        {.kind = LFUSE__I_APPLY, .op = LFUSE__OP_tanh, .type = LFUSE_F32, .a = 9, .b = -1, .c = -1},
    };
    static lfuse__store stores[] = {{3, NETWORK_RESULT}, {4, NETWORK_RESULT}, {10, NETWORK_RESULT}};
    static lfuse_type number = LFUSE_F32;
    static lfuse__body body = {.ninstr = 11, .nstores = 3, .nnumbers = 1, .instr = instr, .stores = stores,
                               .number_types = &number};
    network_class(c);
    c->family = LFUSE__FAMILY_NETWORK;
    c->body = &body;
    c->operands[c->noperands++] = (lfuse__kernel_operand){.type = LFUSE_F32, .inner = LFUSE__STRIDE_ANY};
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
        ck_assert_msg(!lfuse__network_emit(out, name(data), &c, &facts), "%s", lfuse__error_message());
    }
}
