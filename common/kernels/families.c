/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kernel families. */
#include "common/kernels/families.h"

#include "common/kernels/emit.h"

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

static void choose_rows(const lfuse__facts *facts, uint64_t rows, uint64_t length, bool fixed, lfuse__kernel_class *k)
{
    lfuse__rows_choose(facts, rows, length, fixed, true, k);
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

/* ---- the families ---- */

const lfuse__kernel_family lfuse__family_pointwise = {
    .emit = lfuse__pointwise_emit, .pack = lfuse__pointwise_pack, .rebind = lfuse__pointwise_rebind,
    .warm_up = lfuse__pointwise_warm_up, .buffers = lfuse__kernel_buffers, .launches = true,
};
const lfuse__kernel_family lfuse__family_rows = {
    .emit = lfuse__rows_emit, .key = rows_key, .choose = choose_rows, .pack = lfuse__rows_pack,
    .rebind = lfuse__rows_rebind, .warm_up = lfuse__rows_warm_up, .buffers = lfuse__kernel_buffers, .launches = true,
};
const lfuse__kernel_family lfuse__family_scatter = {
    .emit = lfuse__scatter_emit, .key = scatter_key, .pack = lfuse__scatter_pack, .warm_up = lfuse__scatter_warm_up,
    .buffers = lfuse__kernel_buffers,
};
const lfuse__kernel_family lfuse__family_multi = {
    .emit = lfuse__multi_emit, .key = list_key, .warm_up = lfuse__multi_warm_up, .own_buffers = 2,
    .carry = LFUSE__CARRY_CHUNKS,
};
const lfuse__kernel_family lfuse__family_partial = {
    .emit = lfuse__members_partial_emit, .key = list_key, .warm_up = lfuse__members_partial_warm_up,
    .own_buffers = 3, .carry = LFUSE__CARRY_PARTIAL,
};
const lfuse__kernel_family lfuse__family_fold = {
    .emit = lfuse__members_fold_emit, .key = list_key, .warm_up = lfuse__members_fold_warm_up, .own_buffers = 3,
    .carry = LFUSE__CARRY_FOLD,
};
const lfuse__kernel_family lfuse__family_lines = {
    .emit = lfuse__lines_emit, .key = list_key, .warm_up = lfuse__lines_warm_up, .own_buffers = 3,
    .carry = LFUSE__CARRY_PARTIAL,
};
const lfuse__kernel_family lfuse__family_lines_fold = {
    .emit = lfuse__lines_fold_emit, .key = list_key, .warm_up = lfuse__lines_warm_up, .own_buffers = 3,
    .carry = LFUSE__CARRY_PARTIAL,
};
const lfuse__kernel_family lfuse__family_table = {
    .emit = emit_table, .warm_up = lfuse__table_warm_up, .buffers = table_buffers,
};
/* Its text is of several classes: bundle.h. */
const lfuse__kernel_family lfuse__family_bundle = {0};

const lfuse__kernel_family *lfuse__family_of(const lfuse__kernel_class *k)
{
    static const lfuse__kernel_family *const families[LFUSE__FAMILIES] = {
#define LFUSE__FAMILY(name, lower, ...) [LFUSE__FAMILY_##name] = &lfuse__family_##lower,
#include "common/plan/families.def"
    };

    return families[k->family];
}

int lfuse__family_buffers(const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    const lfuse__kernel_family *f = lfuse__family_of(k);
    return f->own_buffers ? lfuse__list_buffers(facts, f->own_buffers) : f->buffers(k);
}
