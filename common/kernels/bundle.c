/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several pointwise or row kernels in one launch. The text of a part is that of its kernel alone, as a block in which
 * the words of the dialect that say where a group stands and what it is given are those of the member whose turn it is.
 *
 * Argument words: work-groups of each member and what divides by that, where all have as many, else 0; first_[0 ...
 * members], the first work-group of each member over all parts and the end, two a word; then of each part the words
 * that its members have in common, and those of each member. An operand's word holds its address where the device has
 * addresses, else its offset and, in the highest byte, its slot. What a member's number picks is read from local memory
 * where the argument block takes no index (facts.staged_arguments).
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/emit.h"

enum {
    SLOT_SHIFT = 56, LOCAL_LINES = 16, LINE = 128,
    EACH_WORD = 0,  /* groups of each member, and the factor of the quotient by them */
    SHIFT_WORD = 1,
    FIRST_WORD = 2  /* first_ */
};

/* Where the words of one part are. */
typedef struct place {
    int first;  /* member, over all parts */
    int words;  /* of a kernel by itself */
    int common, own, nown; /* words; `nown` for each member from `own` on */
    int rank[LFUSE__MAX_WORDS]; /* of each word in its half */
} place;

struct lfuse__bundle {
    int nparts, members, words;
    lfuse__bundle_part *parts;
    place *places; /* [nparts] */
};

static int class_words(const lfuse__kernel_class *k)
{
    return k->form == LFUSE__ROWS_NONE ? lfuse__pointwise_words(k) : lfuse__rows_words(k);
}

static bool has_memory(const lfuse__kernel_class *k, int operand)
{
    return operand < k->noperands && !k->operands[operand].index;
}

/* Operands have a word for each member whatever the class says. */
static bool is_own(const lfuse__bundle_part *part, int word)
{
    return word < part->k.noperands || (part->differs[word / 64] >> (word % 64) & 1);
}

static void find_places(lfuse__bundle *b)
{
    int at;
    for (int i = 0; i < b->nparts; i++) {
        b->places[i].first = b->members;
        b->members += b->parts[i].members;
    }
    at = FIRST_WORD + b->members / 2 + 1;
    for (int i = 0; i < b->nparts; i++) {
        place *o = &b->places[i];
        int common = 0;
        o->words = class_words(&b->parts[i].k);
        for (int w = 0; w < o->words; w++) o->rank[w] = is_own(&b->parts[i], w) ? o->nown++ : common++;
        o->common = at;
        o->own = at + common;
        at = o->own + o->nown * b->parts[i].members;
    }
    b->words = at;
}

static lfuse_status parts_check(int nparts, const lfuse__bundle_part *parts)
{
    if (nparts < 1) return lfuse__error(LFUSE_ERR_INVALID, "a bundle of nothing");
    for (int i = 0; i < nparts; i++) {
        if (parts[i].members < 1)
            return lfuse__error(LFUSE_ERR_INVALID, "part %d of a bundle has %d members", i, parts[i].members);
        if (class_words(&parts[i].k) > LFUSE__MAX_WORDS)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "part %d of a bundle takes %d argument words", i,
                                class_words(&parts[i].k));
    }
    return LFUSE_OK;
}

lfuse_status lfuse__bundle_create(int nparts, const lfuse__bundle_part *parts, lfuse__bundle **bundle)
{
    lfuse__bundle *b;
    LFUSE__TRY(parts_check(nparts, parts));
    b = calloc(1, sizeof *b);
    if (b) {
        b->nparts = nparts;
        b->parts = calloc((size_t)nparts, sizeof *b->parts);
        b->places = calloc((size_t)nparts, sizeof *b->places);
    }
    if (!b || !b->parts || !b->places) {
        lfuse__bundle_destroy(b);
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d parts of a kernel)", nparts);
    }
    memcpy(b->parts, parts, (size_t)nparts * sizeof *parts);
    find_places(b);
    *bundle = b;
    return LFUSE_OK;
}

void lfuse__bundle_destroy(lfuse__bundle *b)
{
    if (!b) return;
    free(b->places);
    free(b->parts);
    free(b);
}

int lfuse__bundle_parts(const lfuse__bundle *b, const lfuse__bundle_part **parts)
{
    *parts = b->parts;
    return b->nparts;
}

int lfuse__bundle_words(const lfuse__bundle *b)
{
    return b->words;
}

int lfuse__bundle_slots(const lfuse__bundle *b, const lfuse__facts *facts)
{
    int slots = LFUSE__MAX_SLOTS;
    if (facts->addresses) return 0;
    for (int i = 0; i < b->nparts; i++)
        if (b->parts[i].k.noperands > slots) slots = b->parts[i].k.noperands;
    return slots;
}

int lfuse__bundle_buffers(const lfuse__bundle *b, const lfuse__facts *facts)
{
    return lfuse__bundle_slots(b, facts) + 1;
}

/* Whether words and buffers fit the device's argument block. */
static bool fits(const lfuse__bundle *b, const lfuse__facts *facts)
{
    const uint64_t bytes = 8 * (uint64_t)(lfuse__bundle_words(b) + lfuse__bundle_buffers(b, facts));
    return bytes <= facts->info.max_argument_bytes;
}

/* ---- text ---- */

/* One part being rewritten. */
typedef struct rewriting {
    lfuse__strbuf *out;
    const lfuse__bundle_part *part;
    const place *at;
    const lfuse__facts *facts;
    int slots;
    unsigned group;
    int nlocals;
    char locals[LOCAL_LINES][LINE]; /* declarations that have to stand at the head of the kernel */
} rewriting;

static void word_text(const rewriting *r, int word, char *text, size_t size)
{
    if (is_own(r->part, word))
        snprintf(text, size, r->facts->staged_arguments ? "arguments[%d + m_ * %d]" : "W(%d + m_ * %d)",
                 r->at->own + r->at->rank[word], r->at->nown);
    else
        snprintf(text, size, "W(%d)", r->at->common + r->at->rank[word]);
}

static void put_word(const rewriting *r, int word)
{
    char text[48];
    word_text(r, word, text, sizeof text);
    if (!has_memory(&r->part->k, word))
        lfuse__strbuf_add(r->out, text);
    else if (r->slots)
        lfuse__strbuf_format(r->out, "(%s & 0x%llxul)", text, (1ull << SLOT_SHIFT) - 1);
    else
        lfuse__strbuf_add(r->out, "0");
}

static void put_buffer(const rewriting *r, int operand)
{
    char text[48];
    if (operand == r->part->k.noperands) {
        lfuse__strbuf_format(r->out, "BUFFER(%d)", r->slots);
        return;
    }
    word_text(r, operand, text, sizeof text);
    if (!r->slots) {
        lfuse__strbuf_format(r->out, "ADDRESS(%s)", text);
        return;
    }
    lfuse__strbuf_add(r->out, "(");
    for (int s = r->slots - 1; s > 0; s--)
        lfuse__strbuf_format(r->out, "(u32)(%s >> %d) == %du ? BUFFER(%d) : ", text, SLOT_SHIFT, s, s);
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

static lfuse_status odd_text(const char *text)
{
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a kernel text that no bundle can take, at \"%.40s\"", text);
}

/* One name of the text; `next` is what follows it. */
static lfuse_status put_name(const rewriting *r, const char *name, size_t length, const char **next)
{
    const bool word = length == 1 && *name == 'W', buffer = length == 6 && !strncmp(name, "BUFFER", 6);
    int number;
    if (word || buffer) {
        *next = argument(*next, &number);
        if (!*next || number < 0 || number >= (word ? r->at->words : r->part->k.noperands + 1)) return odd_text(name);
        if (word) put_word(r, number);
        else put_buffer(r, number);
    } else if ((length == 5 && !strncmp(name, "GROUP", 5)) || (length == 6 && !strncmp(name, "GROUPS", 6))) {
        if (strncmp(*next, "()", 2)) return odd_text(name);
        lfuse__strbuf_add(r->out, length == 5 ? "group_" : "groups_");
        *next += 2;
    } else {
        lfuse__strbuf_bytes(r->out, name, length);
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

/* Local memory is declared in the outermost block of a kernel; equal declarations of the parts are one. */
static bool is_local(const char *text)
{
    while (*text == ' ') text++;
    return !strncmp(text, "TEAM", 4) || !strncmp(text, "LOCAL", 5);
}

static bool same_name(const char *a, const char *b)
{
    char names[2][32] = {"", ""};
    return sscanf(a, " LOCAL(%*[^,], %31[a-z0-9_]", names[0]) == 1 &&
           sscanf(b, " LOCAL(%*[^,], %31[a-z0-9_]", names[1]) == 1 && !strcmp(names[0], names[1]);
}

static lfuse_status keep_local(rewriting *r, const char *line, size_t length)
{
    if (length >= LINE) return odd_text(line);
    for (int i = 0; i < r->nlocals; i++) {
        if (strlen(r->locals[i]) == length && !memcmp(r->locals[i], line, length)) return LFUSE_OK;
        if (same_name(r->locals[i], line))
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "two kernels with local memory of unlike kinds share no launch");
    }
    if (r->nlocals == LOCAL_LINES) return odd_text(line);
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

/* Group size from the head of a kernel: "KERNEL(name, size, ...". */
static lfuse_status take_head(rewriting *r, const char *text)
{
    unsigned group;
    if (sscanf(text, "KERNEL(%*[a-z0-9_], %u,", &group) != 1) return odd_text(text);
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
        if (!end) return odd_text(text);
        end++;
        if (head) LFUSE__TRY(take_head(r, text));
        else if (is_local(text)) LFUSE__TRY(keep_local(r, text, (size_t)(end - text)));
        else if (!is_begin(text)) LFUSE__TRY(rewrite_line(r, text, end));
    }
    return LFUSE_OK;
}

static lfuse_status emit_class(lfuse__strbuf *out, const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    return k->form == LFUSE__ROWS_NONE ? lfuse__pointwise_emit(out, "part", k, facts)
                                       : lfuse__rows_emit(out, "part", k, facts);
}

/* Without what stands before the kernel: functions, which the bundle has once. */
static const char *kernel_text(const char *text)
{
    const char *line = strncmp(text, "KERNEL(", 7) ? strstr(text, "\nKERNEL(") : text - 1;
    return line ? line + 1 : text;
}

static lfuse_status put_part(rewriting *r, const lfuse__bundle *b, int i, const lfuse__facts *facts)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_status status = emit_class(&text, &b->parts[i].k, facts);
    r->part = &b->parts[i];
    r->at = &b->places[i];
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
    const char *words = facts->staged_arguments ? "arguments[" : "W(", *end = facts->staged_arguments ? "]" : ")";
    lfuse__put(out, 1, "const u32 unit_ = (u32)GROUP(), each_ = (u32)W(%d);", EACH_WORD);
    lfuse__put(out, 1, "u32 member_ = 0, first_ = 0, size_ = each_;");
    lfuse__put(out, 1, "if (each_) {");
    lfuse__put(out, 2, "member_ = DIV32(unit_, W(%d) >> 32, (u32)W(%d));", EACH_WORD, SHIFT_WORD);
    lfuse__put(out, 2, "first_ = member_ * each_;");
    lfuse__put(out, 1, "} else {");
    lfuse__put(out, 2, "for (u32 end_ = %d; end_ - member_ > 1;) {", members);
    lfuse__put(out, 3, "const u32 middle_ = (member_ + end_) / 2;");
    lfuse__put(out, 3, "if (unit_ >= (u32)(%s%d + middle_ / 2%s >> middle_ %% 2 * 32)) member_ = middle_;", words,
               FIRST_WORD, end);
    lfuse__put(out, 3, "else end_ = middle_;");
    lfuse__put(out, 2, "}");
    lfuse__put(out, 2, "first_ = (u32)(%s%d + member_ / 2%s >> member_ %% 2 * 32);", words, FIRST_WORD, end);
    lfuse__put(out, 2, "size_ = (u32)(%s%d + (member_ + 1) / 2%s >> (member_ + 1) %% 2 * 32) - first_;", words,
               FIRST_WORD, end);
    lfuse__put(out, 2, "if (!size_) size_ = 1;"); /* in an idle launch */
    lfuse__put(out, 1, "}");
    lfuse__put(out, 1, "const u64 group_ = unit_ - first_, groups_ = size_;");
}

static lfuse_status emit(lfuse__strbuf *out, const char *name, const lfuse__bundle *b, const lfuse__facts *facts)
{
    lfuse__strbuf parts = LFUSE__STRBUF_INIT;
    rewriting r = {.out = &parts, .facts = facts, .slots = lfuse__bundle_slots(b, facts)};
    lfuse_status status = LFUSE_OK;
    for (int i = 0; i < b->nparts && !status; i++) status = put_part(&r, b, i, facts);
    if (!status) status = lfuse__strbuf_check(&parts);
    if (!status) {
        for (int i = 0; i < b->nparts; i++) lfuse__put_powers(out, b->parts[i].k.body);
        lfuse__put_kernel(out, name, (int)r.group, b->words, lfuse__bundle_buffers(b, facts));
        for (int i = 0; i < r.nlocals; i++) lfuse__strbuf_add(out, r.locals[i]);
        lfuse__put_arguments(out, facts, b->words, r.group);
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
    if (!fits(b, facts))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a bundle of %d argument words and %d buffers; %s takes %u bytes",
                            b->words, lfuse__bundle_buffers(b, facts), facts->info.name,
                            facts->info.max_argument_bytes);
    return emit(out, name, b, facts);
}

/* ---- words ---- */

static lfuse_status pack_member(const lfuse__bundle_part *part, const place *at, int index,
                                const lfuse__bundle_member *m, bool first, const lfuse__facts *facts, uint64_t *words)
{
    for (int w = 0; w < at->words; w++) {
        uint64_t *own = &words[at->own + index * at->nown + at->rank[w]], *common = &words[at->common + at->rank[w]];
        const uint64_t word = m->packed->words[w];
        if (has_memory(&part->k, w))
            *own = facts->addresses ? m->memory[w] : word | m->memory[w] << SLOT_SHIFT;
        else if (is_own(part, w))
            *own = word;
        else if (first)
            *common = word;
        else if (*common != word)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "argument word %d of a bundle's members differs: %" PRIu64
                                " and %" PRIu64, w, *common, word);
    }
    return LFUSE_OK;
}

static lfuse_status pack_part(const lfuse__bundle *b, int i, const lfuse__bundle_member *members,
                              const lfuse__facts *facts, lfuse__bundle_launch *launch)
{
    const lfuse__bundle_part *part = &b->parts[i];
    bool first = true;
    for (int n = 0; n < part->members; n++) {
        const lfuse__bundle_member *m = &members[b->places[i].first + n];
        if (!m->groups) continue;
        if (launch->group && launch->group != m->packed->group)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "groups of %u and %u work-items share no launch",
                                launch->group, m->packed->group);
        launch->group = m->packed->group;
        LFUSE__TRY(pack_member(part, &b->places[i], n, m, first, facts, launch->words));
        first = false;
    }
    return LFUSE_OK;
}

/* n / each = n * factor >> shift for n < 2^31, as in layout.c. */
static void pack_quotient(uint64_t each, uint64_t *words)
{
    int shift = 31;
    while ((uint64_t)1 << (shift - 31) < each) shift++;
    words[EACH_WORD] = each | (((uint64_t)1 << shift) / each + 1) << 32;
    words[SHIFT_WORD] = (uint64_t)shift;
}

static lfuse_status pack_groups(const lfuse__bundle *b, const lfuse__bundle_member *members,
                                lfuse__bundle_launch *launch)
{
    launch->groups = 0;
    bool alike = true;
    for (int n = 0; n <= b->members; n++) {
        launch->words[FIRST_WORD + n / 2] |= launch->groups << n % 2 * 32;
        if (n < b->members) launch->groups += members[n].groups;
        if (n < b->members) alike = alike && members[n].groups == members[0].groups;
        if (launch->groups > LFUSE__GROUP_BOUND)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a bundle of more than %d work-groups", LFUSE__GROUP_BOUND);
    }
    if (alike && launch->groups) pack_quotient(members[0].groups, launch->words);
    return LFUSE_OK;
}

lfuse_status lfuse__bundle_pack(const lfuse__bundle *b, const lfuse__facts *facts,
                                const lfuse__bundle_member *members, lfuse__bundle_launch *launch)
{
    memset(launch->words, 0, (size_t)b->words * sizeof *launch->words);
    launch->nwords = (unsigned)b->words;
    launch->group = 0;
    LFUSE__TRY(pack_groups(b, members, launch));
    for (int i = 0; i < b->nparts; i++) LFUSE__TRY(pack_part(b, i, members, facts, launch));
    return LFUSE_OK;
}
