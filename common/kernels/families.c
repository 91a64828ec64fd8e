/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kernel families. */
#include "common/kernels/families.h"

#include "common/kernels/emit.h"
#include "common/matmul/mlp.h"
#include "common/matmul/grouped.h"
#include "common/matmul/strassen.h"

static lfuse_status emit_table(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                               const lfuse__facts *facts)
{
    (void)k;
    return lfuse__table_emit(out, name, facts);
}

static int table_buffers(const lfuse__kernel_class *k)
{
    (void)k;
    return 1;
}

/* ---- keys ---- */

/* Residents are no part of the text. */
static void rows_key(const lfuse__kernel_class *k, lfuse__kernel_key *key)
{
    lfuse__key_add(key, (int32_t)k->rows.form);
    lfuse__key_add(key, k->rows.team);
    lfuse__key_add(key, k->rows.held);
    lfuse__key_add(key, k->rows.whole);
}

static void list_key(const lfuse__kernel_class *k, lfuse__kernel_key *key)
{
    lfuse__key_add_list(key, &k->list);
}

static void scatter_key(const lfuse__kernel_class *k, lfuse__kernel_key *key)
{
    lfuse__key_add(key, (int32_t)k->scatter);
}

static void product_key(const lfuse__kernel_class *k, lfuse__kernel_key *key)
{
    lfuse__key_add_product(key, &k->product);
}

static void grouped_key(const lfuse__kernel_class *k, lfuse__kernel_key *key)
{
    lfuse__key_add_product(key, &k->product);
    lfuse__key_add_list(key, &k->members);
}

static void strassen_key(const lfuse__kernel_class *k, lfuse__kernel_key *key)
{
    lfuse__key_add_product(key, &k->product);
    lfuse__key_add(key, k->strassen.levels_in);
    lfuse__key_add(key, k->strassen.levels_out);
    lfuse__key_add(key, k->strassen.right);
    lfuse__key_add(key, k->strassen.turned);
}

/* ---- the table ---- */

const lfuse__kernel_family lfuse__kernel_families[LFUSE__FAMILIES] = {
    [LFUSE__FAMILY_POINTWISE] = {.emit = lfuse__pointwise_emit, .pack = lfuse__pointwise_pack,
                                 .rebind = lfuse__pointwise_rebind, .warm_up = lfuse__pointwise_warm_up,
                                 .buffers = lfuse__kernel_buffers, .launches = true},
    [LFUSE__FAMILY_ROWS] = {.emit = lfuse__rows_emit, .key = rows_key, .pack = lfuse__rows_pack,
                            .rebind = lfuse__rows_rebind, .warm_up = lfuse__rows_warm_up,
                            .buffers = lfuse__kernel_buffers, .launches = true},
    [LFUSE__FAMILY_SCATTER] = {.emit = lfuse__scatter_emit, .key = scatter_key, .pack = lfuse__scatter_pack,
                               .warm_up = lfuse__scatter_warm_up, .buffers = lfuse__kernel_buffers},
    [LFUSE__FAMILY_PRODUCT] = {.emit = lfuse__product_emit, .key = product_key, .pack = lfuse__product_pack,
                               .warm_up = lfuse__product_warm_up, .buffers = lfuse__kernel_buffers, .launches = true,
                               .late = "a product of these sizes"},
    [LFUSE__FAMILY_STRASSEN] = {.emit = lfuse__strassen_emit, .key = strassen_key, .pack = lfuse__strassen_pack,
                                .warm_up = lfuse__strassen_warm_up, .buffers = lfuse__kernel_buffers},
    [LFUSE__FAMILY_MULTI] = {.emit = lfuse__multi_emit, .key = list_key, .warm_up = lfuse__multi_warm_up,
                             .own_buffers = 2, .carry = LFUSE__CARRY_CHUNKS},
    [LFUSE__FAMILY_PARTIAL] = {.emit = lfuse__members_partial_emit, .key = list_key,
                               .warm_up = lfuse__members_partial_warm_up, .own_buffers = 3,
                               .carry = LFUSE__CARRY_PARTIAL},
    [LFUSE__FAMILY_FOLD] = {.emit = lfuse__members_fold_emit, .key = list_key,
                            .warm_up = lfuse__members_fold_warm_up, .own_buffers = 3, .carry = LFUSE__CARRY_FOLD},
    [LFUSE__FAMILY_LINES] = {.emit = lfuse__lines_emit, .key = list_key, .warm_up = lfuse__lines_warm_up,
                             .own_buffers = 3, .carry = LFUSE__CARRY_PARTIAL},
    [LFUSE__FAMILY_LINES_FOLD] = {.emit = lfuse__lines_fold_emit, .key = list_key, .warm_up = lfuse__lines_warm_up,
                                  .own_buffers = 3, .carry = LFUSE__CARRY_PARTIAL},
    [LFUSE__FAMILY_GROUPED] = {.emit = lfuse__grouped_emit, .key = grouped_key, .warm_up = lfuse__grouped_warm_up,
                               .own_buffers = 3, .carry = LFUSE__CARRY_PARTIAL},
    [LFUSE__FAMILY_NETWORK] = {.emit = lfuse__network_emit, .key = product_key,
                               .late = "layers of these rows in one launch"},
    [LFUSE__FAMILY_TABLE] = {.emit = emit_table, .warm_up = lfuse__table_warm_up, .buffers = table_buffers},
};

int lfuse__family_buffers(const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    const lfuse__kernel_family *f = &lfuse__kernel_families[k->family];
    return f->own_buffers ? lfuse__list_buffers(facts, f->own_buffers) : f->buffers(k);
}
