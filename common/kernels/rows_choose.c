/* SPDX-License-Identifier: Apache-2.0 */
/* Which form of a row kernel for which sizes, and on how many work-groups. */
#include "common/base/costs.h"
#include "common/kernels/rows.h"

enum { HELD = LFUSE__SEGMENT / LFUSE__TEAM };

/* What the choice depends on besides sizes. */
typedef struct traits {
    lfuse__rows_costs costs;
    int words;    /* 32-bit registers of one vector of each operand that several sweeps read */
    int varying;  /* of each that differs from row to row */
    bool strided; /* elements are read along strides, none in vectors */
    bool stages;  /* one sweep: segments can be folded by themselves */
    bool gathers; /* looks something up */
    bool sound;   /* there is such a kernel: the rest is of it */
} traits;

/* Of an instance. */
typedef struct sizes {
    uint64_t rows, length;
    bool fixed; /* the length, whatever the sizes are */
} sizes;

static traits traits_of(const lfuse__facts *facts, const lfuse__kernel_class *k, lfuse__rows *r)
{
    traits found = {.costs = lfuse__costs_of(facts).rows};
    int sweeps[LFUSE__MAX_OPERANDS] = {0};
    bool other = false;
    if (lfuse__rows_init(r, NULL, k, &(lfuse__row_mapping){0}, NULL, facts)) return found;
    found.sound = true;
    for (int s = 0; s < r->nsweeps; s++) {
        bool needed[LFUSE__ROW_INSTR], loads[LFUSE__MAX_OPERANDS];
        lfuse__rows_needs(r, s, needed, loads);
        for (int j = 0; j < k->noperands; j++) sweeps[j] += loads[j];
    }
    for (int j = 0; j < k->noperands; j++) {
        const int bytes = (int)lfuse__type_bytes(k->operands[j].type) * LFUSE__ROW_VECTOR;
        if (sweeps[j] > 1) found.words += bytes < 4 ? 1 : bytes / 4;
        if (sweeps[j] && !k->operands[j].fixed) found.varying += bytes < 4 ? 1 : bytes / 4;
        if (sweeps[j] && k->operands[j].inner == LFUSE__STRIDE_ANY) found.strided = true;
        /* What is the same for all rows is read along them whatever the form. */
        if (sweeps[j] && k->operands[j].inner != LFUSE__STRIDE_ANY && !k->operands[j].fixed) other = true;
    }
    found.gathers = lfuse__kernel_gathers(k);
    if (other || found.gathers) found.strided = false;
    found.stages = r->nsweeps == 1 && lfuse__kernel_buffers(k) < LFUSE__MAX_BUFFERS;
    return found;
}

/*
 * The most work-items of a group whose registers have room for HELD elements of what several sweeps read, and for as
 * many registers to compute with; 0: none of LFUSE__GROUP or more.
 */
static int group_most(const traits *of)
{
    const int each = 2 * HELD / LFUSE__ROW_VECTOR * of->words;
    int most = 1024;
    while (most >= LFUSE__GROUP && each * most > of->costs.registers) most /= 2;
    return most < LFUSE__GROUP ? 0 : most;
}

/*
 * Work-items of a group that share a strided row or segment, so that the others, which are neighbours, read so many
 * bytes together. An H200 sums the columns of 4096 x 4096 f32 in 23 us by eight for each segment, which read lines, and
 * in 96 by one; a copy of it takes 35.
 */
static int share_of(int bytes)
{
    return LFUSE__GROUP * (int)sizeof(float) / bytes;
}

static void choose_single(const lfuse__facts *facts, const traits *of, const sizes *s, lfuse__row_mapping *m)
{
    const uint64_t lanes = facts->vector_lanes ? 16 : 1;
    const uint64_t groups = facts->elementwise_groups ? facts->elementwise_groups : LFUSE__LANE_GROUPS;
    const uint64_t units = of->strided ? s->rows / lanes : s->rows;
    m->form = of->strided ? LFUSE__ROWS_ITEM : LFUSE__ROWS_TEAM;
    m->team = 1;
    if (!of->stages || units >= groups || s->length < of->costs.staged_single) return;
    m->form = LFUSE__ROWS_PARTIAL;
    m->team = of->strided ? 0 : 1;
}

static uint64_t segments_of(uint64_t length)
{
    return length / LFUSE__SEGMENT + (length % LFUSE__SEGMENT != 0);
}

static void choose_strided(const lfuse__facts *facts, const traits *of, const sizes *s, lfuse__row_mapping *m)
{
    const uint64_t units = facts->info.compute_units ? facts->info.compute_units : 16;
    const uint64_t items = units * (uint64_t)of->costs.unit_items;
    const int few = share_of(of->costs.line_bytes), most = share_of(of->costs.sector_bytes);
    m->form = LFUSE__ROWS_ITEM;
    m->held = s->fixed && s->length <= LFUSE__SEGMENT ? (int)s->length : 0;
    m->team = 1;
    while (m->team < few && s->rows * (uint64_t)m->team < items) m->team *= 2;
    if (s->rows * (uint64_t)m->team >= items) return;
    if (!of->stages || s->length < of->costs.staged_item) {
        if (s->length >= 2 * (uint64_t)most) m->team = most;
        return;
    }
    m->form = LFUSE__ROWS_PARTIAL;
    m->team = 0;
    m->held = s->rows * segments_of(s->length) * (uint64_t)few < items / 2 ? most : few;
}

static void choose_team(const lfuse__facts *facts, const traits *of, const sizes *s, lfuse__row_mapping *m)
{
    const uint64_t units = facts->info.compute_units ? facts->info.compute_units : 16;
    m->form = LFUSE__ROWS_TEAM;
    const int most = of->varying <= LFUSE__ROW_VECTOR ? 4 * LFUSE__ROW_VECTOR : LFUSE__ROW_VECTOR;
    /* Half a line for rows that are looked up: more rows are under way, for fewer instructions. */
    const int line = of->costs.line_bytes / LFUSE__ROW_VECTOR / (int)sizeof(float) / (of->gathers ? 2 : 1);
    m->team = 1;
    m->held = LFUSE__ROW_VECTOR;
    /* First a line of memory, then what registers take besides the row that is loaded ahead, then more work-items. */
    while (m->team < line && (uint64_t)(m->team * m->held) < s->length) m->team *= 2;
    while (m->held < most && (uint64_t)(m->team * m->held) < s->length) m->held *= 2;
    while (m->team < LFUSE__TEAM && (uint64_t)(m->team * m->held) < s->length) m->team *= 2;
    while (m->held < HELD && (uint64_t)(m->team * m->held) < s->length) m->held *= 2;
    if (s->length <= LFUSE__SEGMENT) return;
    if (of->stages && s->rows < units && s->length >= of->costs.staged_team) {
        m->form = LFUSE__ROWS_PARTIAL;
        m->team = LFUSE__TEAM;
        m->held = 0;
        return;
    }
    m->form = LFUSE__ROWS_GROUP;
    while (m->team < 1024 && (uint64_t)(m->team * m->held) < s->length) m->team *= 2;
    if ((uint64_t)(m->team * m->held) < s->length || m->team > group_most(of) ||
        (facts->info.max_group && (uint32_t)m->team > facts->info.max_group)) {
        m->team = of->costs.stream_items;
        while (facts->info.max_group && (uint32_t)m->team > facts->info.max_group) m->team /= 2;
        m->held = 0;
    }
}

static lfuse__row_mapping choose(const lfuse__facts *facts, const traits *of, const sizes *s)
{
    lfuse__row_mapping m = {0};
    if (lfuse__single(facts)) choose_single(facts, of, s, &m);
    else if (of->strided) choose_strided(facts, of, s, &m);
    else choose_team(facts, of, s, &m);
    m.whole = s->fixed && m.held && !lfuse__rows_staged(&m) && lfuse__rows_held(&m) == s->length;
    return m;
}

void lfuse__rows_choose(const lfuse__facts *facts, uint64_t rows, uint64_t length, bool fixed, lfuse__kernel_class *k)
{
    lfuse__rows r;
    const traits of = traits_of(facts, k, &r);
    const sizes s = {rows, length, fixed};
    k->rows = choose(facts, &of, &s);
    if (of.sound && k->rows.form == LFUSE__ROWS_TEAM && !lfuse__single(facts))
        k->rows.residents = lfuse__rows_residents(&r, k->rows.held / LFUSE__ROW_VECTOR);
}

/*
 * The elements of the longest row that one group takes in a shared launch. An H200 takes 30 us for 65536 of them, as
 * few loads of one group are under way; a launch of its own with more work-items takes less than 10.
 */
enum { ONE_GROUP = 16384 };

void lfuse__rows_choose_shared(const lfuse__facts *facts, uint64_t length, lfuse__kernel_class *k)
{
    lfuse__rows r;
    const bool staged = k->rows.form == LFUSE__ROWS_PARTIAL && k->rows.team == LFUSE__TEAM;
    const bool wide = k->rows.form == LFUSE__ROWS_GROUP && k->rows.team > LFUSE__GROUP;
    if ((!staged && !wide) || length > ONE_GROUP || !traits_of(facts, k, &r).stages) return;
    k->rows = (lfuse__row_mapping){.form = LFUSE__ROWS_GROUP, .team = LFUSE__GROUP};
}

static bool same(const lfuse__row_mapping *a, const lfuse__row_mapping *b)
{
    return a->form == b->form && a->team == b->team && a->held == b->held && a->whole == b->whole;
}

static int add(const lfuse__kernel_class *k, const lfuse__row_mapping *m, lfuse__kernel_class *forms, int count)
{
    for (int i = 0; i < count; i++)
        if (same(&forms[i].rows, m)) return count;
    if (count == LFUSE__ROW_FORMS) return count;
    forms[count] = *k;
    forms[count].rows = *m;
    return count + 1;
}

/* The answers change behind powers of two, and behind such times the compute units: those within the bounds. */
enum { POINTS = 160 };
static int points(const lfuse__facts *facts, const uint64_t bounds[2], uint64_t *list)
{
    const uint64_t units = facts->info.compute_units ? facts->info.compute_units : 16;
    const uint64_t groups = facts->elementwise_groups ? facts->elementwise_groups : LFUSE__LANE_GROUPS;
    const uint64_t bases[] = {1, units, groups};
    int count = 0;
    list[count++] = bounds[0];
    for (int n = 0; n < 3; n++)
        for (int b = 0; b < 24; b++)
            for (uint64_t p = bases[n] << b; p <= (bases[n] << b) + 1 && (n == 0 || b < 12); p++)
                if (p > bounds[0] && p < bounds[1]) list[count++] = p;
    if (bounds[1] != bounds[0]) list[count++] = bounds[1];
    return count;
}

int lfuse__rows_forms(const lfuse__facts *facts, const uint64_t rows[2], const uint64_t length[2],
                      const lfuse__kernel_class *k, lfuse__kernel_class *forms)
{
    lfuse__rows r;
    const traits of = traits_of(facts, k, &r);
    uint64_t lengths[POINTS], counts[POINTS];
    const int nlengths = points(facts, length, lengths), ncounts = points(facts, rows, counts);
    int count = 0;
    for (int i = 0; i < nlengths; i++)
        for (int n = 0; n < ncounts; n++) {
            const sizes s = {counts[n], lengths[i], length[0] == length[1]};
            const lfuse__row_mapping m = choose(facts, &of, &s);
            count = add(k, &m, forms, count);
        }
    return count;
}

static uint64_t share(uint64_t units, uint64_t each, uint64_t bound)
{
    const uint64_t groups = units / each + (units % each != 0);
    return groups < bound ? groups : bound;
}

uint64_t lfuse__rows_bound(const lfuse__facts *facts, const lfuse__kernel_class *k)
{
    const int items = lfuse__costs_of(facts).rows.unit_items;
    const uint64_t residents = (uint64_t)(k->rows.residents ? k->rows.residents : items / LFUSE__GROUP);
    return lfuse__single(facts) ? 0 : facts->info.compute_units * residents;
}

uint64_t lfuse__rows_even(uint64_t units, uint64_t bound)
{
    const uint64_t each = share(units, bound, UINT64_MAX);
    return each ? share(units, each, UINT64_MAX) : 0;
}

uint64_t lfuse__rows_groups(const lfuse__facts *facts, const lfuse__kernel_class *k, uint64_t rows, uint64_t length)
{
    const lfuse__row_mapping *m = &k->rows;
    const uint64_t segments = segments_of(length);
    const bool single = lfuse__single(facts);
    const uint64_t lanes = facts->vector_lanes ? 16 : 1, columns = single ? lanes : (uint64_t)LFUSE__GROUP;
    const uint64_t most = lfuse__rows_bound(facts, k), bound = most ? most : LFUSE__GROUP_BOUND;
    uint64_t groups = rows;
    switch (m->form) {
    case LFUSE__ROWS_ITEM:
        groups = share(rows, single ? lanes : columns / (uint64_t)m->team, LFUSE__GROUP_BOUND);
        break;
    case LFUSE__ROWS_TEAM:
        if (!single) groups = lfuse__rows_even(share(rows, (uint64_t)(LFUSE__GROUP / m->team), UINT64_MAX), bound);
        break;
    case LFUSE__ROWS_GROUP: groups = share(rows, 1, LFUSE__GROUP_BOUND); break;
    case LFUSE__ROWS_PARTIAL:
        groups = rows * segments;
        if (m->team == 0)
            groups = share(rows, m->held ? columns / (uint64_t)m->held : columns, LFUSE__GROUP_BOUND) * segments;
        groups = share(groups, m->team > 1 ? LFUSE__GROUP / LFUSE__TEAM : 1, LFUSE__GROUP_BOUND);
        break;
    case LFUSE__ROWS_FOLD:
        groups = share(rows, m->team == 0 && !single && segments <= LFUSE__FOLD_FEW ? LFUSE__GROUP : 1, bound);
        break;
    case LFUSE__ROWS_NONE: break;
    }
    if (single) groups = lfuse__groups(facts, true, groups, 1);
    return groups ? groups : 1;
}
