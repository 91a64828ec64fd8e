/* SPDX-License-Identifier: Apache-2.0 */
/* Steps that reduce lists, as two row kernels: bodies, words and memory. members_text.c writes their texts. */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/kernels/members.h"

static lfuse_status check(const lfuse__kernel_class *k)
{
    const lfuse__body *body = k->body;
    int totals = 0;
    if (body->ninstr > LFUSE__MEMBERS_INSTR)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a reduction of lists of %d instructions; at most %d", body->ninstr,
                            LFUSE__MEMBERS_INSTR);
    for (int i = 0; i < body->ninstr; i++) {
        const lfuse__instr *in = &body->instr[i];
        const bool total = in->kind == LFUSE__I_TOTAL;
        totals += total;
        if (!total && in->kind != LFUSE__I_REDUCE) continue;
        if (in->a < 0 || in->a >= i || in->op >= LFUSE__REDUCE_COUNT ||
            lfuse__folds[in->op].type == LFUSE__FOLD_INDEX)
            return lfuse__error(LFUSE_ERR_INVALID, "instruction %d: reduction %d of register %d", i, in->op, in->a);
    }
    for (int i = 0; i < body->nstores; i++)
        if (k->operands[body->stores[i].operand].inner != LFUSE__STRIDE_REPEAT)
            return lfuse__error(LFUSE_ERR_INVALID, "store %d of a reduction: of elements", i);
    if (k->noperands + totals > LFUSE__MAX_OPERANDS || body->nstores + totals > 2 * LFUSE__MAX_OPERANDS)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a reduction of lists of %d operands and %d totals; at most %d",
                            k->noperands, totals, LFUSE__MAX_OPERANDS);
    return LFUSE_OK;
}

static lfuse__kernel_operand number(lfuse_type type, bool written)
{
    return (lfuse__kernel_operand){.type = type, .written = written,
                                   .inner = written ? LFUSE__STRIDE_REPEAT : LFUSE__STRIDE_UNIT};
}

/* What the rows are: stores of one number a member, and what the TOTALs take in. */
static void make_member(lfuse__members *m, const lfuse__kernel_class *k)
{
    lfuse__members_row *to = &m->member;
    bool keep[LFUSE__MEMBERS_INSTR] = {false};
    int16_t place[LFUSE__MEMBERS_INSTR];
    int t = 0;
    for (int i = 0; i < k->body->nstores; i++)
        if (!k->operands[k->body->stores[i].operand].fixed) keep[k->body->stores[i].reg] = true;
    for (int i = 0; i < k->body->ninstr; i++)
        if (k->body->instr[i].kind == LFUSE__I_TOTAL) keep[k->body->instr[i].a] = true;
    lfuse__body_needs(k->body, NULL, keep);
    to->body.ninstr = lfuse__body_keep(k->body, keep, to->instr, place);
    for (int i = 0; i < k->body->nstores; i++) {
        const lfuse__store *s = &k->body->stores[i];
        if (!k->operands[s->operand].fixed)
            to->stores[to->body.nstores++] = (lfuse__store){place[s->reg], s->operand};
    }
    for (int i = 0; i < k->body->ninstr; i++) {
        const lfuse__instr *in = &k->body->instr[i];
        if (in->kind != LFUSE__I_TOTAL) continue;
        to->k.operands[m->first + t] = number(lfuse__register_type(k->body->instr[in->a].type), true);
        to->stores[to->body.nstores++] = (lfuse__store){place[in->a], (int16_t)(m->first + t++)};
    }
}

/* A TOTAL is a load of what waits for it and a REDUCE. */
static void make_list(lfuse__members *m, const lfuse__kernel_class *k)
{
    lfuse__members_row *to = &m->list;
    bool keep[LFUSE__MEMBERS_INSTR] = {false}, stop[LFUSE__MEMBERS_INSTR];
    int16_t place[LFUSE__MEMBERS_INSTR];
    int n = 0, t = 0;
    for (int i = 0; i < k->body->ninstr; i++) stop[i] = k->body->instr[i].kind == LFUSE__I_TOTAL;
    for (int i = 0; i < k->body->nstores; i++)
        if (k->operands[k->body->stores[i].operand].fixed) keep[k->body->stores[i].reg] = true;
    lfuse__body_needs(k->body, stop, keep);
    for (int i = 0; i < k->body->ninstr; i++) {
        lfuse__instr in = k->body->instr[i];
        if (in.kind == LFUSE__I_TOTAL) {
            const lfuse_type type = lfuse__register_type(k->body->instr[in.a].type);
            const int16_t operand = (int16_t)(m->first + t++);
            to->k.operands[operand] = number(type, false);
            if (!keep[i]) continue;
            to->instr[n++] = (lfuse__instr){.kind = LFUSE__I_LOAD, .type = (uint8_t)type, .a = operand, .b = -1,
                                            .c = -1};
            in.kind = LFUSE__I_REDUCE;
            in.a = (int16_t)(n - 1);
        } else if (!keep[i]) {
            continue;
        } else if (in.kind != LFUSE__I_LOAD && in.kind != LFUSE__I_NUMBER) {
            in.a = in.a >= 0 ? place[in.a] : in.a;
            in.b = in.b >= 0 ? place[in.b] : in.b;
            in.c = in.c >= 0 ? place[in.c] : in.c;
        }
        place[i] = (int16_t)n;
        to->instr[n++] = in;
    }
    to->body.ninstr = n;
    for (int i = 0; i < k->body->nstores; i++) {
        const lfuse__store *s = &k->body->stores[i];
        if (k->operands[s->operand].fixed) to->stores[to->body.nstores++] = (lfuse__store){place[s->reg], s->operand};
    }
}

static void begin(lfuse__members_row *row, const lfuse__kernel_class *k, int ntotals)
{
    row->k = *k;
    row->k.noperands = k->noperands + ntotals;
    row->k.rank = row->k.naxes = 1;
    row->k.index64 = false;
    for (int j = 0; j < k->noperands; j++) row->k.operands[j].fixed = false;
    row->body = (lfuse__body){.nnumbers = k->body->nnumbers, .instr = row->instr, .stores = row->stores,
                              .number_types = k->body->number_types};
    row->k.body = &row->body;
}

/* Rows are a team's work, or of one item its lanes'. */
static lfuse_status begin_rows(lfuse__members_row *row, lfuse__strbuf *out, const lfuse__facts *facts,
                               lfuse__row_form form)
{
    const lfuse__row_mapping single = {.form = LFUSE__ROWS_TEAM, .team = 1};
    const lfuse__row_mapping team = {.form = form, .team = form == LFUSE__ROWS_GROUP ? LFUSE__GROUP : LFUSE__TEAM};
    return lfuse__rows_init(&row->rows, out, &row->k, lfuse__single(facts) ? &single : &team, NULL, facts);
}

lfuse_status lfuse__members_create(lfuse__strbuf *out, const lfuse__kernel_class *k, const lfuse__facts *facts,
                                   lfuse__carry carry, lfuse__members **members)
{
    lfuse_status status = check(k);
    LFUSE__TRY(status);
    lfuse__members *m = calloc(1, sizeof *m);
    if (!m) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *m);
    m->first = k->noperands;
    for (int i = 0; i < k->body->ninstr; i++) m->ntotals += k->body->instr[i].kind == LFUSE__I_TOTAL;
    begin(&m->member, k, m->ntotals);
    begin(&m->list, k, m->ntotals);
    make_member(m, k);
    make_list(m, k);
    status = begin_rows(&m->member, out, facts, LFUSE__ROWS_PARTIAL);
    if (!status && m->ntotals) status = begin_rows(&m->list, out, facts, LFUSE__ROWS_GROUP);
    if (!status && (m->member.rows.nsweeps > 1 || m->list.rows.nsweeps > 1))
        status = lfuse__error(LFUSE_ERR_INVALID, "reductions of lists that wait for each other");
    if (status) {
        free(m);
        return status;
    }
    m->member.rows.t.list = m->list.rows.t.list = (lfuse__of_list){k, facts, carry};
    m->member.rows.t.numbers = m->list.rows.t.numbers =
        carry == LFUSE__CARRY_FOLD ? (int)LFUSE__FOLD_NUMBERS : (int)LFUSE__MEMBERS_PARTIAL_NUMBERS;
    *members = m;
    return LFUSE_OK;
}

static bool has(const lfuse__kernel_class *k, lfuse__instr_kind kind)
{
    for (int i = 0; i < k->body->ninstr; i++)
        if (k->body->instr[i].kind == kind) return true;
    return false;
}

bool lfuse__members_reduces(const lfuse__kernel_class *k)
{
    return has(k, LFUSE__I_REDUCE);
}

static uint64_t rounded(int64_t count, uint64_t to)
{
    return ((uint64_t)count + to - 1) / to * to;
}

uint64_t lfuse__members_scratch(const lfuse__kernel_class *k, int64_t members, int64_t chunks, uint64_t *totals)
{
    uint64_t partials = 0, waiting = 0;
    for (int i = 0; i < k->body->ninstr; i++) {
        const lfuse__instr *in = &k->body->instr[i];
        if (in->kind == LFUSE__I_REDUCE) partials += lfuse__type_bytes(lfuse__register_type(in->type));
        if (in->kind == LFUSE__I_TOTAL) waiting += lfuse__type_bytes(lfuse__register_type(k->body->instr[in->a].type));
    }
    *totals = (rounded(chunks, 16) * partials + 255) / 256 * 256;
    return *totals + rounded(members, 16) * waiting;
}

lfuse_status lfuse__members_partial_pack(const lfuse__kernel_class *k, const lfuse__facts *facts,
                                         const lfuse__members_part *part, lfuse__packed *packed)
{
    const bool single = lfuse__single(facts);
    LFUSE__TRY(lfuse__list_pack(k, facts, single, single ? 1 : LFUSE__GROUP / LFUSE__TEAM,
                                LFUSE__MEMBERS_PARTIAL_NUMBERS, part->all, part->first_chunk, part->chunks,
                                part->numbers, packed));
    packed->words[LFUSE__MULTI_PARTIALS_OFFSET] = part->scratch;
    packed->words[LFUSE__MEMBERS_CELLS] = rounded(part->all_chunks, 16);
    return LFUSE_OK;
}

uint64_t lfuse__members_groups(const lfuse__facts *facts, int64_t members)
{
    const bool single = lfuse__single(facts);
    const uint64_t groups = lfuse__groups(facts, single, (uint64_t)members, single ? 1 : LFUSE__GROUP / LFUSE__TEAM);
    return groups ? groups : 1;
}

lfuse_status lfuse__members_fold_pack(const lfuse__kernel_class *k, const lfuse__facts *facts,
                                      const lfuse__members_part *part, lfuse__packed *packed)
{
    uint64_t totals;
    if (part->members < 0 || part->all > UINT32_MAX)
        return lfuse__error(LFUSE_ERR_INVALID, "%lld members of a list of %lld", (long long)part->members,
                            (long long)part->all);
    lfuse__members_scratch(k, part->all, part->all_chunks, &totals);
    packed->words[LFUSE__FOLD_PARTIALS] = part->scratch;
    packed->words[LFUSE__FOLD_TOTALS] = part->scratch + totals;
    packed->words[LFUSE__FOLD_TABLE] = part->table;
    packed->words[LFUSE__FOLD_ENTRIES] = part->entries;
    packed->words[LFUSE__FOLD_TICKET] = part->ticket;
    packed->words[LFUSE__FOLD_MEMBERS] = (uint64_t)part->members;
    packed->words[LFUSE__FOLD_FIRST] = (uint64_t)part->first_member;
    packed->words[LFUSE__FOLD_STRIDE] = (uint64_t)part->stride;
    packed->words[LFUSE__FOLD_ALL] = (uint64_t)part->all;
    packed->words[LFUSE__FOLD_CELLS] = rounded(part->all_chunks, 16);
    packed->words[LFUSE__FOLD_ARRIVALS] = has(k, LFUSE__I_TOTAL) ? part->arrivals : 0;
    lfuse__numbers_pack(k->body, part->numbers, packed->words + LFUSE__FOLD_NUMBERS);
    packed->nwords = (unsigned)(LFUSE__FOLD_NUMBERS + k->body->nnumbers);
    packed->group = lfuse__single(facts) ? 1 : LFUSE__GROUP;
    packed->groups = lfuse__members_groups(facts, part->members);
    return LFUSE_OK;
}

/* ---- rows and columns of members ---- */

enum { LENGTH_SHIFT = 48 /* of the chunk, in the word of cells */ };

int64_t lfuse__lines_count(const lfuse__kernel_class *k, int64_t matrices, int64_t rows, int64_t columns)
{
    if (k->list.walk != LFUSE__WALK_ELEMENTS) return matrices;
    return matrices * (k->list.columns ? columns : rows);
}

int64_t lfuse__lines_cells(const lfuse__kernel_class *k, int64_t matrices, int64_t rows, int64_t columns)
{
    const int64_t line = k->list.columns || k->list.walk == LFUSE__WALK_ROWS ? rows : columns;
    const int64_t segments = line / LFUSE__SEGMENT + (line % LFUSE__SEGMENT != 0);
    return lfuse__lines_count(k, matrices, rows, columns) * (segments ? segments : 1);
}

static uint64_t cells_of(int64_t chunks, int64_t length)
{
    return ((uint64_t)chunks * (uint64_t)length + 15) / 16 * 16;
}

uint64_t lfuse__lines_scratch(const lfuse__kernel_class *k, int64_t chunks, int64_t length)
{
    for (int i = 0; i < k->body->ninstr; i++)
        if (k->body->instr[i].kind == LFUSE__I_REDUCE)
            return cells_of(chunks, length) * lfuse__type_bytes(lfuse__register_type(k->body->instr[i].type));
    return 0;
}

lfuse_status lfuse__lines_pack(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__lines_part *part,
                               lfuse__packed *packed)
{
    const uint64_t cells = cells_of(part->all_chunks, part->length);
    LFUSE__TRY(lfuse__list_pack(k, facts, lfuse__single(facts), 1, LFUSE__MEMBERS_PARTIAL_NUMBERS, part->members,
                                part->first_chunk, part->chunks, part->numbers, packed));
    if (cells >> LENGTH_SHIFT)
        return lfuse__error(LFUSE_ERR_OVERFLOW, "%llu segments of rows or columns", (unsigned long long)cells);
    packed->words[LFUSE__MULTI_PARTIALS_OFFSET] = part->scratch;
    packed->words[LFUSE__MEMBERS_CELLS] = cells | (uint64_t)part->length << LENGTH_SHIFT;
    return LFUSE_OK;
}
