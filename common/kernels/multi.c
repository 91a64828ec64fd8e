/* SPDX-License-Identifier: Apache-2.0 */
/* Pointwise work on the members of lists: the kernel is text/list_pointwise.k. */
#include "common/base/error.h"
#include "common/kernels/emit.h"
#include "common/kernels/families.h"
#include "common/kernels/template.h"

#include "common/kernels/text/list_pointwise.k.h"

enum { NUMBERS = LFUSE__MULTI_NUMBERS };
enum { LAST_TICKET, LAST_ARRIVALS, LAST_MEMBER, LAST_WORDS }; /* of stores by the last group, behind the numbers */

int lfuse__multi_groups(const lfuse__body *body)
{
    lfuse__kernel_class k = {.family = LFUSE__FAMILY_MULTI, .body = body, .list.groups = LFUSE__NUMBER_GROUPS};
    if (!body->nnumbers) return 0;
    while (k.list.groups > 1 && lfuse__list_number_words(&k) > lfuse__list_most_words()) k.list.groups--;
    return k.list.groups > 1 ? k.list.groups : 0;
}

void lfuse__multi_pack_groups(const lfuse__kernel_class *k, int count, const int64_t *first, int64_t base,
                              const double *numbers, lfuse__packed *packed)
{
    const int n = k->body->nnumbers, groups = k->list.groups, values = NUMBERS + groups - 1;
    for (int g = 1; g < groups; g++)
        packed->words[NUMBERS + g - 1] = g >= count ? UINT64_MAX : first[g] < base ? 0 : (uint64_t)(first[g] - base);
    for (int g = 0; g < groups; g++)
        for (int i = 0; i < n; i++)
            packed->words[values + i * groups + g] =
                lfuse__number_word(k->body->number_types[i], numbers[(g < count ? g : 0) * n + i]);
}

static bool counted(const lfuse__kernel_operand *o)
{
    return o->written && o->fixed;
}

bool lfuse__multi_counts(const lfuse__kernel_class *k)
{
    for (int j = 0; j < k->noperands; j++)
        if (counted(&k->operands[j])) return true;
    return false;
}

static int last_word(const lfuse__kernel_class *k)
{
    return NUMBERS + lfuse__list_number_words(k);
}

int lfuse__multi_words(const lfuse__kernel_class *k)
{
    return last_word(k) + (lfuse__multi_counts(k) ? LAST_WORDS : 0);
}

/* What the last group stores is the same whichever member it is looked at from. */
static lfuse_status check_counts(const lfuse__kernel_class *k)
{
    for (int i = 0; i < k->body->nstores; i++) {
        bool needed[LFUSE__MAX_INSTRUCTIONS] = {false};
        const lfuse__store *s = &k->body->stores[i];
        if (!counted(&k->operands[s->operand])) continue;
        needed[s->reg] = true;
        lfuse__body_needs(k->body, NULL, needed);
        for (int n = 0; n < k->body->ninstr; n++) {
            const lfuse__instr *in = &k->body->instr[n];
            const bool element = in->kind == LFUSE__I_LOAD && k->operands[in->a].inner != LFUSE__STRIDE_REPEAT;
            if (needed[n] && (element || in->kind == LFUSE__I_NUMBER))
                return lfuse__error(LFUSE_ERR_INVALID, "store %d of a list kernel: to what all members share, and made "
                                    "of their elements or numbers", i);
        }
    }
    return LFUSE_OK;
}

static void text_init(lfuse__text *t, lfuse__strbuf *out, const lfuse__kernel_class *k)
{
    lfuse__text_init(t, out, k, NULL);
    t->numbers = NUMBERS;
    t->grouped = k->list.groups > 0;
    for (int j = 0; j < k->noperands; j++) t->stored[j] = t->stored[j] && !counted(&k->operands[j]);
    lfuse__uniform_find(t);
}

/* ---- the text: text/list_pointwise.k ---- */

/* What is stored once for the list is made of values that are loaded here, whatever the other groups have. */
static void put_once_body(const void *text, int which, int indent)
{
    const lfuse__text *t = text;
    const lfuse__kernel_class *k = t->k;
    bool needed[LFUSE__MAX_INSTRUCTIONS] = {false}, reached[LFUSE__MAX_OPERANDS] = {false};
    (void)which;
    for (int i = 0; i < k->body->nstores; i++)
        if (counted(&k->operands[k->body->stores[i].operand])) needed[k->body->stores[i].reg] = true;
    lfuse__body_needs(k->body, NULL, needed);
    for (int i = 0; i < k->body->ninstr; i++)
        if (needed[i] && k->body->instr[i].kind == LFUSE__I_LOAD) reached[k->body->instr[i].a] = true;
    for (int j = 0; j < k->noperands; j++)
        if (reached[j] || counted(&k->operands[j])) lfuse__put_list_operand(t, indent, j, "member");
    for (int j = 0; j < k->noperands; j++)
        if (reached[j]) lfuse__put_steady(t, indent, j);
    for (int i = 0; i < k->body->ninstr; i++)
        if (needed[i]) lfuse__put_instr(t, indent, i, "");
}

static void put_once_stores(const void *text, int which, int indent)
{
    const lfuse__text *t = text;
    (void)which;
    for (int i = 0; i < t->k->body->nstores; i++) {
        const lfuse__store *s = &t->k->body->stores[i];
        const lfuse_type type = t->k->operands[s->operand].type;
        if (counted(&t->k->operands[s->operand]))
            lfuse__put(t->out, indent, "STORE_%s(p%d, 0, FIRST_%s(r%d));", lfuse__memory_word(type), s->operand,
                       lfuse__register_word(type), s->reg);
    }
}

static lfuse_status emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    const bool single = facts->vector_lanes;
    const int items = single ? 1 : LFUSE__GROUP;
    const lfuse__text_place places[] = {
        {"ARGUMENTS", lfuse__put_list_arguments, items}, {"GROUP_STRIDE", lfuse__put_group_stride, !single},
        {"CHUNK", lfuse__put_list_chunk, 1}, {"ELEMENTS", single ? lfuse__put_lanes : lfuse__put_tile, 0},
        {"ONCE_BODY", put_once_body, 0}, {"ONCE_STORES", put_once_stores, 0}, {NULL}};
    lfuse__text t;
    LFUSE__TRY(lfuse__list_check(name, k, facts));
    LFUSE__TRY(check_counts(k));
    text_init(&t, out, k);
    lfuse__items_shape(&t, 0);
    t.list = (lfuse__of_list){k, facts, LFUSE__CARRY_CHUNKS};
    const lfuse__parameter parameters[] = {
        {"NAME", .word = name}, {"ITEMS", .number = items}, {"WORDS", .number = lfuse__list_words(&t)},
        {"BUFFERS", .number = lfuse__list_buffers(facts, 2)}, {"SINGLE", .number = single},
        {"TILE", .number = (int)lfuse__items_tile(&t)}, {"ONCE", .number = lfuse__multi_counts(k)},
        {"CHUNKS", .number = LFUSE__MULTI_CHUNKS}, {"COUNTER", .number = last_word(k) + LAST_TICKET},
        {"ARRIVALS", .number = last_word(k) + LAST_ARRIVALS}, {"MEMBER", .number = last_word(k) + LAST_MEMBER}, {NULL}};
    lfuse__put_powers(out, k->body);
    lfuse__put_line_functions(out, k);
    lfuse__put_text(out, 0, lfuse__text_list_pointwise, parameters, places, &t);
    return lfuse__strbuf_check(out);
}

/* ---- sizes and words ---- */

int64_t lfuse__multi_chunk(const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    lfuse__text t;
    if (facts->vector_lanes) return LFUSE__CHUNK;
    text_init(&t, NULL, k);
    lfuse__items_shape(&t, 0);
    const int64_t tile = lfuse__items_tile(&t);
    return tile < LFUSE__SEGMENT ? LFUSE__SEGMENT : tile;
}

lfuse_status lfuse__multi_pack(const lfuse__kernel_class *k, const lfuse__facts *facts, int64_t members,
                               int64_t first_chunk, int64_t chunks, const double *numbers, lfuse__packed *packed)
{
    LFUSE__TRY(lfuse__list_pack(k, facts, facts->vector_lanes, 1, NUMBERS, members, first_chunk, chunks, numbers,
                                packed));
    for (; packed->nwords < (unsigned)lfuse__multi_words(k); packed->nwords++) packed->words[packed->nwords] = 0;
    return LFUSE_OK;
}

void lfuse__multi_pack_last(const lfuse__kernel_class *k, uint64_t ticket, uint64_t member, lfuse__packed *packed)
{
    uint64_t *words = packed->words + last_word(k);
    if (!packed->groups) packed->groups = 1;
    words[LAST_TICKET] = ticket;
    words[LAST_ARRIVALS] = packed->groups;
    words[LAST_MEMBER] = member;
}

static lfuse_status warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__packed *packed)
{
    return lfuse__multi_pack(k, facts, 1, 0, 1, lfuse__zeros, packed);
}

const lfuse__kernel_family lfuse__family_multi = {
    .emit = emit, .key = lfuse__key_add_list, .warm_up = warm_up, .list_buffers = 2, .carry = LFUSE__CARRY_CHUNKS,
};
