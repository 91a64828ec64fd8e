/* SPDX-License-Identifier: Apache-2.0 */
/* Which form of a row kernel for which sizes, and on how many work-groups. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "common/kernels/rows.h"

enum {
    HELD = LFUSE__SEGMENT / LFUSE__TEAM,
    STREAM_TEAM = 512,   /* of rows that no group holds */
    TEAM_ITEMS = 2048    /* a compute unit: teams load their next row ahead, so they stay for several */
};

/* What the choice depends on beside sizes. */
typedef struct traits {
    int words;    /* 32-bit registers of one vector of each operand that several sweeps read */
    bool strided; /* elements are read, and none in vectors */
} traits;

static traits traits_of(const lfuse__facts *facts, const lfuse__kernel_class *k)
{
    lfuse__rows r;
    traits found = {0};
    int sweeps[LFUSE__MAX_OPERANDS] = {0};
    bool unit = false;
    if (lfuse__rows_init(&r, NULL, k, NULL, facts)) return found;
    for (int s = 0; s < r.nsweeps; s++) {
        bool needed[LFUSE__ROW_INSTR], loads[LFUSE__MAX_OPERANDS];
        lfuse__rows_needs(&r, s, needed, loads);
        for (int j = 0; j < k->noperands; j++) sweeps[j] += loads[j];
    }
    for (int j = 0; j < k->noperands; j++) {
        const int bytes = (int)lfuse__type_bytes(k->operands[j].type) * LFUSE__ROW_VECTOR;
        if (sweeps[j] > 1) found.words += bytes < 4 ? 1 : bytes / 4;
        if (sweeps[j]) found.strided = true;
        if (sweeps[j] && k->operands[j].inner == LFUSE__STRIDE_UNIT) unit = true;
    }
    if (unit) found.strided = false;
    return found;
}

/* Work-items of a group whose registers hold what several sweeps read. */
static int group_most(const traits *of)
{
    return of->words <= 4 ? 1024 : of->words <= 8 ? 512 : of->words <= 16 ? 256 : 0;
}

static void choose(const lfuse__facts *facts, const traits *of, uint64_t length, lfuse__kernel_class *k)
{
    const bool may = k->whole;
    k->whole = false;
    k->form = LFUSE__ROWS_TEAM;
    k->team = 1;
    k->held = 0;
    if (lfuse__single(facts)) return;
    k->held = LFUSE__ROW_VECTOR;
    while (k->team < LFUSE__TEAM && (uint64_t)(k->team * k->held) < length) k->team *= 2;
    while (k->held < HELD && (uint64_t)(k->team * k->held) < length) k->held *= 2;
    if (length > LFUSE__SEGMENT) {
        k->form = LFUSE__ROWS_GROUP;
        while (k->team < 1024 && (uint64_t)(k->team * k->held) < length) k->team *= 2;
        if ((uint64_t)(k->team * k->held) < length || k->team > group_most(of) ||
            (facts->info.max_group && (uint32_t)k->team > facts->info.max_group)) {
            k->team = STREAM_TEAM;
            k->held = 0;
        }
    }
    k->whole = may && (uint64_t)(k->team * k->held) == length;
}

void lfuse__rows_choose(const lfuse__facts *facts, uint64_t rows, uint64_t length, lfuse__kernel_class *k)
{
    const traits of = traits_of(facts, k);
    (void)rows;
    choose(facts, &of, length, k);
}

static int add(const lfuse__kernel_class *one, lfuse__kernel_class *forms, int count)
{
    for (int i = 0; i < count; i++)
        if (forms[i].form == one->form && forms[i].team == one->team && forms[i].held == one->held &&
            forms[i].whole == one->whole)
            return count;
    if (count < LFUSE__ROW_FORMS) forms[count++] = *one;
    return count;
}

/* The answers change behind powers of two alone: each of them within the bounds, what follows it, and the bounds. */
static int points(const uint64_t bounds[2], uint64_t *list)
{
    int count = 0;
    list[count++] = bounds[0];
    for (int b = 0; b < 40; b++)
        for (uint64_t p = (uint64_t)1 << b; p <= ((uint64_t)1 << b) + 1; p++)
            if (p > bounds[0] && p < bounds[1]) list[count++] = p;
    if (bounds[1] != bounds[0]) list[count++] = bounds[1];
    return count;
}

int lfuse__rows_forms(const lfuse__facts *facts, const uint64_t rows[2], const uint64_t length[2],
                      const lfuse__kernel_class *k, lfuse__kernel_class *forms)
{
    const traits of = traits_of(facts, k);
    uint64_t lengths[96];
    const int nlengths = points(length, lengths);
    int count = 0;
    (void)rows;
    for (int i = 0; i < nlengths; i++) {
        lfuse__kernel_class one = *k;
        one.whole = length[0] == length[1];
        choose(facts, &of, lengths[i], &one);
        count = add(&one, forms, count);
    }
    return count;
}

uint64_t lfuse__rows_groups(const lfuse__facts *facts, const lfuse__kernel_class *k, uint64_t rows)
{
    const uint64_t units = facts->info.compute_units;
    uint64_t each = 1, bound = LFUSE__GROUP_BOUND;
    if (lfuse__single(facts)) return lfuse__groups(facts, true, rows, 1);
    if (k->form == LFUSE__ROWS_TEAM) each = (uint64_t)(LFUSE__GROUP / k->team);
    if (units && k->form == LFUSE__ROWS_TEAM) bound = units * (TEAM_ITEMS / LFUSE__GROUP);
    const uint64_t groups = rows / each + (rows % each != 0);
    return groups < bound ? groups : bound;
}
