/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions along rows, and what is computed of them: forms, words and launches. */
#include "common/base/error.h"
#include "common/kernels/families.h"
#include "common/kernels/rows.h"

enum { CHUNK = LFUSE__ROW_LANES, HELD = LFUSE__SEGMENT / LFUSE__TEAM };

static bool power(int n)
{
    return n > 0 && (n & (n - 1)) == 0;
}

/* Team and held as the texts take them for granted. */
static lfuse_status form_check(const lfuse__row_mapping *m, const lfuse__facts *facts)
{
    bool good = false;
    switch (m->form) {
    case LFUSE__ROWS_TEAM:
        good = lfuse__single(facts) ? m->team == 1
                                    : power(m->team) && m->team <= LFUSE__TEAM && power(m->held) &&
                                          m->held >= LFUSE__ROW_VECTOR && m->held <= HELD;
        break;
    case LFUSE__ROWS_GROUP:
        good = !lfuse__single(facts) && power(m->team) && m->team > LFUSE__TEAM && m->team <= 1024 &&
               (m->held == HELD || m->held == 0);
        break;
    case LFUSE__ROWS_ITEM:
        good = m->held >= 0 && m->held <= LFUSE__SEGMENT && m->whole == (m->held != 0) &&
               (lfuse__single(facts) ? m->team == 1 : power(m->team) && m->team <= LFUSE__TEAM);
        break;
    case LFUSE__ROWS_PARTIAL:
    case LFUSE__ROWS_FOLD:
        good = m->team == 0 && !lfuse__single(facts) ? !m->held || (power(m->held) && m->held <= LFUSE__TEAM)
               : m->held == 0 && (m->team == 0 || m->team == (lfuse__single(facts) ? 1 : LFUSE__TEAM));
        break;
    case LFUSE__ROWS_NONE: break;
    }
    return good ? LFUSE_OK
                : lfuse__error(LFUSE_ERR_INVALID, "row form %d of %d work-items that hold %d elements", (int)m->form,
                               m->team, m->held);
}

static lfuse_status emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    const lfuse__row_mapping *m = &k->rows;
    const bool staged = lfuse__rows_staged(m);
    lfuse__layout layout;
    lfuse__rows rows;
    LFUSE__TRY(lfuse__class_check(name, k, facts));
    LFUSE__TRY(form_check(m, facts));
    lfuse__layout_make(k, &layout);
    LFUSE__TRY(lfuse__layout_check(k, &layout));
    LFUSE__TRY(lfuse__rows_init(&rows, out, k, m, &layout, facts));
    if (staged && (rows.nsweeps != 1 || lfuse__kernel_buffers(k) > LFUSE__MAX_BUFFERS))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "segments by themselves: a body of %d sweeps over %d buffers",
                            rows.nsweeps, lfuse__kernel_buffers(k));
    if (lfuse__kernel_gathers(k) && (m->form == LFUSE__ROWS_ITEM || (staged && m->team == 0)))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "look-ups in rows that lie side by side");
    if (m->form == LFUSE__ROWS_FOLD)
        lfuse__rows_emit_fold(&rows, name);
    else if (m->form == LFUSE__ROWS_ITEM || (m->form == LFUSE__ROWS_PARTIAL && m->team == 0))
        lfuse__rows_emit_item(&rows, name);
    else if (lfuse__single(facts))
        lfuse__rows_emit_single(&rows, name);
    else
        lfuse__rows_emit_team(&rows, name);
    return lfuse__strbuf_check(out);
}

static void rebind(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__geometry *g,
                   lfuse__packed *packed)
{
    lfuse__layout layout;
    lfuse__layout_make(k, &layout);
    lfuse__geometry_rebind(k, &layout, g, lfuse__single(facts) ? 0 : LFUSE__ROW_VECTOR, packed);
}

static lfuse_status pack(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed)
{
    const lfuse__row_mapping *m = &k->rows;
    lfuse__layout layout;
    const bool single = lfuse__single(facts);
    LFUSE__TRY(form_check(m, facts));
    lfuse__layout_make(k, &layout);
    LFUSE__TRY(lfuse__geometry_pack(k, &layout, g, packed));
    rebind(k, facts, g, packed);
    const uint64_t rows = packed->words[layout.count], length = packed->words[layout.length];
    const uint64_t most = lfuse__rows_held(m);
    if (!single && m->held && !lfuse__rows_staged(m) && (length > most || (m->whole && length != most)))
        return lfuse__error(LFUSE_ERR_INVALID, "rows of %llu elements in a kernel that holds %llu",
                            (unsigned long long)length, (unsigned long long)most);
    if (lfuse__rows_staged(m)) packed->words[layout.segments] = (length + LFUSE__SEGMENT - 1) / LFUSE__SEGMENT;
    packed->group = single ? 1 : m->form == LFUSE__ROWS_GROUP ? (unsigned)m->team : LFUSE__GROUP;
    packed->groups = lfuse__rows_groups(facts, k, rows, length);
    return LFUSE_OK;
}

/* A row of a kernel for whole rows has a length of its own. */
static lfuse_status warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__packed *packed)
{
    lfuse__geometry g;
    lfuse__geometry_of_one(&g);
    if (k->rows.whole) g.extents[k->rank - 1] = (int64_t)lfuse__rows_held(&k->rows);
    return pack(k, facts, &g, packed);
}

/* Residents are no part of the text. */
static void key(const lfuse__kernel_class *k, lfuse__kernel_key *to)
{
    lfuse__key_add(to, (int32_t)k->rows.form);
    lfuse__key_add(to, k->rows.team);
    lfuse__key_add(to, k->rows.held);
    lfuse__key_add(to, k->rows.whole);
}

const lfuse__kernel_family lfuse__family_rows = {
    .emit = emit, .key = key, .choose = lfuse__rows_choose, .pack = pack, .rebind = rebind, .warm_up = warm_up,
    .buffers = lfuse__kernel_buffers, .launches = true,
};
