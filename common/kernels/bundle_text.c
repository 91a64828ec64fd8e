/* SPDX-License-Identifier: Apache-2.0 */
/* The text of a bundle: that of each part's kernel alone, with the words of the member whose turn it is. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/bundle.h"
#include "common/kernels/emit.h"
#include "common/kernels/families.h"

enum { LOCAL_LINES = 16, LINE = 128, NAME = 32 };

/* One part being rewritten. */
typedef struct rewriting {
    lfuse__strbuf *out;
    const lfuse__bundle_part *part;
    const lfuse__bundle_place *at;
    const lfuse__facts *facts;
    int slots;
    const char *address; /* the dialect's word for an address from an argument word */
    unsigned group, groups; /* work-items of a group; groups that a compute unit's registers suffice for, 0: no limit */
    int nlocals;
    char locals[LOCAL_LINES][LINE]; /* declarations that have to stand at the head of the kernel */
    int number;                     /* of the part */
    int nrenamed;
    char renamed[LOCAL_LINES][NAME]; /* names of local memory that get the part's number as a suffix */
} rewriting;

static lfuse__expr word_text(const rewriting *r, int word)
{
    if (!lfuse__bundle_is_own(r->part, word)) return lfuse__expression("W(%d)", r->at->common + r->at->rank[word]);
    return lfuse__expression("%s(%d + m_ * %d)", lfuse__argument_word(r->facts), r->at->own + r->at->rank[word],
                             r->at->nown);
}

static void put_word(const rewriting *r, int word)
{
    const lfuse__expr text = word_text(r, word);
    if (!lfuse__bundle_has_memory(&r->part->k, word))
        lfuse__strbuf_add(r->out, text.text);
    else if (r->slots)
        lfuse__strbuf_format(r->out, "(%s & 0x%llxul)", text.text, (1ull << LFUSE__BUNDLE_SLOT_SHIFT) - 1);
    else
        lfuse__strbuf_add(r->out, "0");
}

static void put_buffer(const rewriting *r, int operand)
{
    const lfuse__expr text = word_text(r, operand);
    if (operand == r->part->k.noperands) {
        lfuse__strbuf_format(r->out, "BUFFER(%d)", r->slots);
        return;
    }
    if (!r->slots) {
        lfuse__strbuf_format(r->out, "%s(%s)", r->address, text.text);
        return;
    }
    lfuse__strbuf_add(r->out, "(");
    for (int s = r->slots - 1; s > 0; s--)
        lfuse__strbuf_format(r->out, "(u32)(%s >> %d) == %du ? BUFFER(%d) : ", text.text,
                             LFUSE__BUNDLE_SLOT_SHIFT, s, s);
    lfuse__strbuf_add(r->out, "BUFFER(0))");
}

/* The number in "(number)", and what follows; NULL when it is none. */
static const char *argument(const char *text, int *number)
{
    char *end;
    if (*text != '(' || !isdigit((unsigned char)text[1])) return NULL;
    *number = (int)strtol(text + 1, &end, 10);
    return *end == ')' ? end + 1 : NULL;
}

static lfuse_status unknown_text(const char *text)
{
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a kernel text that no bundle can take, at \"%.40s\"", text);
}

static bool is_renamed(const rewriting *r, const char *name, size_t length)
{
    for (int i = 0; i < r->nrenamed; i++)
        if (strlen(r->renamed[i]) == length && !memcmp(r->renamed[i], name, length)) return true;
    return false;
}

/* One name of the text; `next` is what follows it. */
static lfuse_status put_name(const rewriting *r, const char *name, size_t length, const char **next)
{
    const bool word = length == 1 && *name == 'W', buffer = length == 6 && !strncmp(name, "BUFFER", 6);
    int number;
    if (word || buffer) {
        *next = argument(*next, &number);
        if (!*next || number < 0 || number >= (word ? r->at->words : r->part->k.noperands + 1))
            return unknown_text(name);
        if (word) put_word(r, number);
        else put_buffer(r, number);
    } else if ((length == 5 && !strncmp(name, "GROUP", 5)) || (length == 6 && !strncmp(name, "GROUPS", 6))) {
        if (strncmp(*next, "()", 2)) return unknown_text(name);
        lfuse__strbuf_add(r->out, length == 5 ? "group_" : "groups_");
        *next += 2;
    } else {
        lfuse__strbuf_bytes(r->out, name, length);
        if (is_renamed(r, name, length)) lfuse__strbuf_format(r->out, "_%d", r->number);
    }
    return LFUSE_OK;
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static lfuse_status rewrite_line(const rewriting *r, const char *text, const char *end)
{
    lfuse__strbuf_add(r->out, "    "); /* a kernel's first and last lines have no indent */
    while (text < end) {
        const char *name = text;
        while (text < end && is_name(*text)) text++;
        if (text > name) {
            LFUSE__TRY(put_name(r, name, (size_t)(text - name), &text));
        } else {
            lfuse__strbuf_bytes(r->out, text++, 1);
        }
    }
    return LFUSE_OK;
}

/*
 * Local memory is declared in the outermost block of a kernel. Parts with equal declarations share one. Where a part
 * declares a name that an earlier part has declared in another way, the name gets the part's number as a suffix.
 */
static bool is_local(const char *text)
{
    while (*text == ' ') text++;
    return !strncmp(text, "TEAM", 4) || !strncmp(text, "LOCAL", 5) || !strncmp(text, "TILE_", 5);
}

/* The name in LOCAL(<type>, <name>, <count>); false: it is no such line. */
static bool name_of(const char *line, char name[NAME])
{
    return sscanf(line, " LOCAL(%*[^,], %31[a-z0-9_]", name) == 1;
}

static bool is_taken(const rewriting *r, const char *name)
{
    char kept[NAME];
    for (int i = 0; i < r->nlocals; i++)
        if (name_of(r->locals[i], kept) && !strcmp(kept, name)) return true;
    return false;
}

static lfuse_status keep_local(rewriting *r, const char *line, size_t length)
{
    char name[NAME];
    for (int i = 0; i < r->nlocals; i++)
        if (strlen(r->locals[i]) == length && !memcmp(r->locals[i], line, length)) return LFUSE_OK;
    if (length + NAME >= LINE || r->nlocals == LOCAL_LINES) return unknown_text(line);
    if (name_of(line, name) && is_taken(r, name)) {
        const int before = (int)(strstr(line, name) - line) + (int)strlen(name);
        memcpy(r->renamed[r->nrenamed++], name, sizeof name);
        snprintf(r->locals[r->nlocals++], LINE, "%.*s_%d%.*s", before, line, r->number, (int)length - before,
                 line + before);
        return LFUSE_OK;
    }
    memcpy(r->locals[r->nlocals], line, length);
    r->locals[r->nlocals++][length] = '\0';
    return LFUSE_OK;
}

/* The bundle's own stands before all parts. */
static bool is_begin(const char *text)
{
    while (*text == ' ') text++;
    return !strncmp(text, LFUSE__BEGIN "\n", sizeof LFUSE__BEGIN);
}

/* From the head of a kernel, "KERNEL(name, group, ..." or "KERNEL_OCCUPANCY(name, group, groups, ...". */
static lfuse_status take_head(rewriting *r, const char *text)
{
    unsigned group, groups;
    if (sscanf(text, "KERNEL_OCCUPANCY(%*[a-z0-9_], %u, %u,", &group, &groups) == 2) {
        if (!r->groups || groups < r->groups) r->groups = groups;
    } else if (sscanf(text, "KERNEL(%*[a-z0-9_], %u,", &group) != 1) return unknown_text(text);
    if (r->group && r->group != group)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "groups of %u and %u work-items share no launch", r->group, group);
    r->group = group;
    return LFUSE_OK;
}

static lfuse_status rewrite(rewriting *r, const char *text)
{
    const char *end;
    for (bool head = true; *text; text = end, head = false) {
        end = strchr(text, '\n');
        if (!end) return unknown_text(text);
        end++;
        if (head) LFUSE__TRY(take_head(r, text));
        else if (is_local(text)) LFUSE__TRY(keep_local(r, text, (size_t)(end - text)));
        else if (!is_begin(text)) LFUSE__TRY(rewrite_line(r, text, end));
    }
    return LFUSE_OK;
}

/* Without what stands before the kernel: functions, which the bundle has once. */
static const char *kernel_text(const char *text)
{
    const char *line = text;
    while (line && strncmp(line, "KERNEL", 6)) {
        line = strchr(line, '\n');
        if (line) line++;
    }
    return line ? line : text;
}

static lfuse_status put_part(rewriting *r, const lfuse__bundle *b, int i, const lfuse__facts *facts)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    const lfuse__kernel_class *k = &b->parts[i].k;
    lfuse_status status = lfuse__family_of(k)->emit(&text, "part", k, facts);
    r->part = &b->parts[i];
    r->at = &b->places[i];
    r->number = i;
    r->nrenamed = 0;
    if (b->nparts > 1 && i + 1 < b->nparts)
        lfuse__put(r->out, 1, "if (member_ < %d) {", b->places[i].first + b->parts[i].members);
    else
        lfuse__put(r->out, 1, "{");
    lfuse__put(r->out, 1, "const u32 m_ = member_ - %d;", b->places[i].first);
    if (!status) status = rewrite(r, kernel_text(text.data));
    lfuse__put(r->out, 1, "}%s", i + 1 < b->nparts ? " else" : "");
    lfuse__strbuf_free(&text);
    return status;
}

/* member_, and the group's number and the number of groups among those of the member. */
static void put_search(lfuse__strbuf *out, int members, const lfuse__facts *facts)
{
    const char *word = lfuse__argument_word(facts);
    lfuse__put(out, 1, "const u32 unit_ = (u32)GROUP(), each_ = (u32)W(%d);", LFUSE__BUNDLE_EACH);
    lfuse__put(out, 1, "u32 member_ = 0, first_ = 0, size_ = each_;");
    lfuse__put(out, 1, "if (each_) {");
    lfuse__put(out, 2, "member_ = DIV32(unit_, (u32)W(%d), (u32)(W(%d) >> 32));", LFUSE__BUNDLE_BY_EACH,
               LFUSE__BUNDLE_BY_EACH);
    lfuse__put(out, 2, "first_ = member_ * each_;");
    lfuse__put(out, 1, "} else {");
    lfuse__put(out, 2, "for (u32 end_ = %d; end_ - member_ > 1;) {", members);
    lfuse__put(out, 3, "const u32 middle_ = (member_ + end_) / 2;");
    lfuse__put(out, 3, "if (unit_ >= (u32)(%s(%d + middle_ / 2) >> middle_ %% 2 * 32)) member_ = middle_;", word,
               LFUSE__BUNDLE_FIRST);
    lfuse__put(out, 3, "else end_ = middle_;");
    lfuse__put(out, 2, "}");
    lfuse__put(out, 2, "first_ = (u32)(%s(%d + member_ / 2) >> member_ %% 2 * 32);", word, LFUSE__BUNDLE_FIRST);
    lfuse__put(out, 2, "size_ = (u32)(%s(%d + (member_ + 1) / 2) >> (member_ + 1) %% 2 * 32) - first_;", word,
               LFUSE__BUNDLE_FIRST);
    lfuse__put(out, 2, "if (!size_) size_ = 1;"); /* in an idle launch */
    lfuse__put(out, 1, "}");
    lfuse__put(out, 1, "const u64 group_ = unit_ - first_, groups_ = size_;");
}

static void put_head(lfuse__strbuf *out, const char *name, const rewriting *r, int words, int buffers)
{
    if (!r->groups) {
        lfuse__put_kernel(out, name, (int)r->group, words, buffers);
        return;
    }
    lfuse__put(out, 0, "KERNEL_OCCUPANCY(%s, %u, %u, %d, PARAMS_%d)", name, r->group, r->groups, words, buffers);
    lfuse__put(out, 0, "{");
    lfuse__put(out, 1, LFUSE__BEGIN);
}

static lfuse_status emit(lfuse__strbuf *out, const char *name, const lfuse__bundle *b, const lfuse__facts *facts)
{
    lfuse__strbuf parts = LFUSE__STRBUF_INIT;
    rewriting r = {.out = &parts, .facts = facts, .slots = lfuse__bundle_slots(b, facts), .address = "ADDRESS"};
    lfuse_status status = LFUSE_OK;
    for (int i = 0; i < b->nparts; i++)
        if (lfuse__family_of(&b->parts[i].k)->moves_addresses) r.address = "MOVED_ADDRESS";
    for (int i = 0; i < b->nparts && !status; i++) status = put_part(&r, b, i, facts);
    if (!status) status = lfuse__strbuf_check(&parts);
    if (!status) {
        for (int i = 0; i < b->nparts; i++) lfuse__put_powers(out, b->parts[i].k.body);
        put_head(out, name, &r, b->words, lfuse__bundle_buffers(b, facts));
        for (int i = 0; i < r.nlocals; i++) lfuse__strbuf_add(out, r.locals[i]);
        lfuse__put_arguments(out, 1, facts, b->words, (int)r.group);
        put_search(out, b->members, facts);
        lfuse__strbuf_add(out, parts.data);
        lfuse__put(out, 0, "}");
        status = lfuse__strbuf_check(out);
    }
    lfuse__strbuf_free(&parts);
    return status;
}

lfuse_status lfuse__bundle_emit(lfuse__strbuf *out, const char *name, const lfuse__bundle *b,
                                const lfuse__facts *facts)
{
    if (!lfuse__bundle_fits(facts, b->members, b->words - b->head, b->operands))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a bundle of %d argument words and %d buffers; %s takes %u bytes",
                            b->words, lfuse__bundle_buffers(b, facts), facts->info.name,
                            facts->info.max_argument_bytes);
    return emit(out, name, b, facts);
}
