/* SPDX-License-Identifier: Apache-2.0 */
/* Folds each member's partial sums pairwise by index. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "common/base/error.h"
#include "common/kernels/emit.h"

enum { PARTIALS, TABLE, ENTRIES, MEMBERS, WORDS, CARRIED = WORDS, TEAMS = LFUSE__GROUP / LFUSE__TEAM };
/* A team takes 256 partials at a time, 8 a work-item: a whole subtree. */
enum { BLOCK = 8 * LFUSE__TEAM };

/* Where the members' partials and sums lie: in tables, or `carried` of them in the argument block. */
static void put_tables(lfuse__strbuf *out, const lfuse__facts *facts, int carried)
{
    if (!carried) {
        lfuse__put(out, 1, "memory table = BUFFER(1) + W(%d);", TABLE);
        lfuse__put(out, 1, "memory entries = BUFFER(2) + W(%d);", ENTRIES);
        return;
    }
    lfuse__put_arguments(out, facts, CARRIED + 2 * carried + 1);
}

/* A line: `head`, the first partial of a member, `tail`. */
static void put_from(lfuse__strbuf *out, int indent, const lfuse__facts *facts, int carried, const char *head,
                     const char *member, const char *tail)
{
    lfuse__strbuf_format(out, "%*s%s", 4 * indent, "", head);
    if (carried) lfuse__put_argument(out, facts, CARRIED, member);
    else lfuse__strbuf_format(out, "WORD64(table, %s)", member);
    lfuse__strbuf_format(out, "%s\n", tail);
}

static void put_store(lfuse__strbuf *out, int indent, const char *memory, const lfuse__facts *facts, int carried)
{
    if (carried) {
        lfuse__put_carried_entry(out, indent, facts, 3, 0, CARRIED + carried + 1, "member");
    } else {
        lfuse__put(out, indent, "memory e0 = entries + member * 16;");
        lfuse__put_entry(out, indent, facts, 3, 0);
    }
    lfuse__put(out, indent, "STORE_%s(p0, 0, total);", memory);
}

static void emit_items(lfuse__strbuf *out, const char *word, const char *memory, const lfuse__facts *facts, int carried)
{
    const char *absent = word[1] == '6' ? "K_f64(0x8000000000000000ul)" : "K_f32(0x80000000u)";
    lfuse__put(out, 1, "TEAM_%s", word);
    lfuse__put_teams(out, 1);
    lfuse__put(out, 1, "for (u64 unit = GROUP() * %d; unit < members; unit += GROUPS() * %d) {", TEAMS, TEAMS);
    lfuse__put(out, 2, "const int active = unit + team < members;");
    lfuse__put(out, 2, "const u64 member = active ? unit + team : unit;");
    put_from(out, 2, facts, carried, "const u64 from = ", "member", ";");
    put_from(out, 2, facts, carried, "const u64 count = !active ? 0 : ", "member + 1", " - from;");
    lfuse__put(out, 2, "u64 most = 0; /* of the group's members: all of it comes to each fold */");
    lfuse__put(out, 2, "for (u64 m = unit; m < members && m < unit + %d; m++) {", TEAMS);
    put_from(out, 3, facts, carried, "u64 length = ", "m + 1", ";");
    put_from(out, 3, facts, carried, "length -= ", "m", ";");
    lfuse__put(out, 3, "if (length > most) most = length;");
    lfuse__put(out, 2, "}");
    lfuse__put_counter_begin(out, 2, word);
    lfuse__put(out, 2, "for (u64 at = 0; at < most; at += %d) {", BLOCK);
    lfuse__put(out, 3, "S_%s v[8];", word);
    lfuse__put(out, 0, "#pragma unroll");
    lfuse__put(out, 3, "for (u32 i = 0; i < 8; i++) {");
    lfuse__put(out, 4, "const u64 place = at + rank * 8 + i;");
    lfuse__put(out, 4, "v[i] = %s;", absent);
    lfuse__put(out, 4, "if (place < count) v[i] = LOAD_%s(partials, from + place);", word);
    lfuse__put(out, 3, "}");
    lfuse__put(out, 3, "total = ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));");
    lfuse__put(out, 3, "total = TREE_%s(total);", word);
    lfuse__put(out, 3, "if (at < count) {");
    lfuse__put_counter_add(out, 4);
    lfuse__put(out, 3, "}");
    lfuse__put(out, 2, "}");
    lfuse__put(out, 2, "total = ZERO_%s;", word);
    lfuse__put_counter_end(out, 2);
    lfuse__put(out, 2, "if (active && rank == 0) {");
    put_store(out, 3, memory, facts, carried);
    lfuse__put(out, 2, "}");
    lfuse__put(out, 1, "}");
}

static void emit_lanes(lfuse__strbuf *out, const char *word, const char *memory, const lfuse__facts *facts, int carried)
{
    lfuse__put(out, 1, "const u64 share = (members + GROUPS() - 1) / GROUPS();");
    lfuse__put(out, 1,
               "for (u64 member = GROUP() * share; member < members && member < (GROUP() + 1) * share; member++) {");
    lfuse__put_counter_begin(out, 2, word);
    put_from(out, 2, facts, carried, "const u64 from = ", "member", ";");
    put_from(out, 2, facts, carried, "const u64 until = ", "member + 1", ";");
    lfuse__put(out, 2, "for (u64 at = from; at < until; at++) {");
    lfuse__put(out, 3, "total = LOAD_%s(partials, at);", word);
    lfuse__put_counter_add(out, 3);
    lfuse__put(out, 2, "}");
    lfuse__put_counter_end(out, 2);
    put_store(out, 2, memory, facts, carried);
    lfuse__put(out, 1, "}");
}

lfuse_status lfuse__member_fold_emit(lfuse__strbuf *out, const char *name, lfuse_type type, int carried,
                                     const lfuse__facts *facts)
{
    const int words = carried ? CARRIED + 2 * carried + 1 : WORDS;
    const bool single = lfuse__single(facts);
    const char *word = type == LFUSE_F64 ? "f64" : "f32";
    if (type < LFUSE_F32 || type > LFUSE_F64)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "sums of element type %d", (int)type);
    lfuse__put_kernel(out, name, single ? 1 : LFUSE__GROUP, words, 3 + (facts->addresses ? 0 : LFUSE__MAX_SLOTS));
    lfuse__put(out, 0, "{");
    lfuse__put(out, 1, "memory partials = BUFFER(0) + W(%d);", PARTIALS);
    put_tables(out, facts, carried);
    lfuse__put(out, 1, "const u64 members = W(%d);", MEMBERS);
    if (single)
        emit_lanes(out, word, lfuse__memory_word(type), facts, carried);
    else
        emit_items(out, word, lfuse__memory_word(type), facts, carried);
    lfuse__put(out, 0, "}");
    return lfuse__strbuf_check(out);
}

lfuse_status lfuse__member_fold_pack(const lfuse__facts *facts, int64_t members, uint64_t partials_offset,
                                     uint64_t table_offset, uint64_t entries_offset, lfuse__packed *packed)
{
    const bool single = lfuse__single(facts);
    if (members < 0) return lfuse__error(LFUSE_ERR_INVALID, "a list of %lld members", (long long)members);
    packed->words[PARTIALS] = partials_offset;
    packed->words[TABLE] = table_offset;
    packed->words[ENTRIES] = entries_offset;
    packed->words[MEMBERS] = (uint64_t)members;
    packed->nwords = WORDS;
    packed->group = single ? 1 : LFUSE__GROUP;
    packed->groups = lfuse__groups(facts, single, (uint64_t)members, single ? 1 : TEAMS);
    return LFUSE_OK;
}

unsigned lfuse__member_fold_words(int carried)
{
    return (unsigned)(CARRIED + 2 * carried + 1);
}

void lfuse__member_fold_place(int carried, int place, uint64_t first, const uint64_t entry[2], uint64_t *words)
{
    words[CARRIED + place] = first;
    words[CARRIED + carried + 1 + place] = entry[0] | entry[1] << 56;
}

void lfuse__member_fold_end(int members, uint64_t end, uint64_t *words)
{
    words[CARRIED + members] = end;
}

int lfuse__member_fold_most(const lfuse__facts *facts, uint32_t bytes)
{
    const int buffers = 3 + (facts->addresses ? 0 : LFUSE__MAX_SLOTS), room = (int)(bytes / 8) - buffers - CARRIED - 1;
    return room < 0 ? 0 : room / 2;
}
