/* SPDX-License-Identifier: Apache-2.0 */
/* What the kernels of lists share: checks, argument words, and the texts of chunks and of members' operands. */
#include "common/base/error.h"
#include "common/kernels/emit.h"
#include "common/kernels/template.h"

#include "common/kernels/text/group_stride.k.h"
#include "common/kernels/text/list_broadcast.k.h"
#include "common/kernels/text/list_chunk.k.h"
#include "common/kernels/text/list_operand.k.h"

enum { OTHER_WORDS = 16, STAGED_LINE = 8 };

/* Words for numbers; where they go by group, the first members of all groups but the first come before them. */
int lfuse__list_number_words(const lfuse__kernel_class *k)
{
    const int groups = lfuse__class_list(k)->groups;
    return groups ? groups - 1 + groups * k->body->nnumbers : k->body->nnumbers;
}

int lfuse__list_most_words(void)
{
    return LFUSE__ARGUMENT_BYTES / 8 - OTHER_WORDS - 3 - LFUSE__MAX_SLOTS;
}

/* -1: none. */
static int shape_operand(const lfuse__kernel_class *k)
{
    return k->operands[k->noperands - 1].shape ? k->noperands - 1 : -1;
}

lfuse_status lfuse__list_check(const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    const lfuse__list_class *l = lfuse__class_list(k);
    LFUSE__TRY(lfuse__class_check(name, k, facts));
    if (k->index64) return lfuse__error(LFUSE_ERR_INVALID, "a list kernel counts in a chunk: 32-bit indices");
    for (int j = 0; j < k->noperands; j++)
        if (k->operands[j].inner == LFUSE__STRIDE_ANY)
            return lfuse__error(LFUSE_ERR_INVALID, "operand %d of a list kernel has strides", j);
    for (int j = 0; j < k->noperands; j++)
        if (k->operands[j].shape ? j != k->noperands - 1 || k->operands[j].type != LFUSE_I64 || k->operands[j].written
                                 : lfuse__repeats_lines(&k->operands[j]) && shape_operand(k) < 0)
            return lfuse__error(LFUSE_ERR_INVALID, "operand %d of a list kernel: its shape, or lines without one", j);
    for (int j = 0; j < k->noperands; j++)
        if (k->operands[j].gathered || k->operands[j].index)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "operand %d of a list kernel is looked up in", j);
    if (l->carried < 0 || l->carried > LFUSE__CARRIED_MOST)
        return lfuse__error(LFUSE_ERR_INVALID, "%d members in an argument block", l->carried);
    if (l->groups < 0 || l->groups > LFUSE__NUMBER_GROUPS)
        return lfuse__error(LFUSE_ERR_INVALID, "a list kernel for %d groups; at most %d", l->groups,
                            LFUSE__NUMBER_GROUPS);
    const int most = lfuse__list_most_words();
    if (lfuse__list_number_words(k) > most)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a list kernel of %d numbers in %d words; at most %d",
                            k->body->nnumbers, lfuse__list_number_words(k), most);
    return LFUSE_OK;
}

lfuse_status lfuse__list_pack(const lfuse__kernel_class *k, const lfuse__facts *facts, bool single, uint64_t each,
                              int first_number, int64_t members, int64_t first_chunk, int64_t chunks,
                              const double *numbers, lfuse__packed *packed)
{
    if (members < 0 || members > UINT32_MAX || first_chunk < 0 || chunks < 0)
        return lfuse__error(LFUSE_ERR_OVERFLOW, "a list of %lld members in %lld chunks", (long long)members,
                            (long long)chunks);
    for (int i = 0; i < LFUSE__MULTI_FIRST; i++) packed->words[i] = 0;
    packed->words[LFUSE__MULTI_FIRST] = (uint64_t)first_chunk;
    packed->words[LFUSE__MULTI_CHUNKS] = (uint64_t)chunks;
    packed->words[LFUSE__MULTI_MEMBERS] = (uint64_t)members;
    if (!lfuse__class_list(k)->groups) lfuse__numbers_pack(k->body, numbers, packed->words + first_number);
    packed->nwords = (unsigned)(first_number + lfuse__list_number_words(k));
    packed->group = single ? 1 : LFUSE__GROUP;
    packed->groups = lfuse__groups(facts, single, (uint64_t)chunks, each);
    return LFUSE_OK;
}

int lfuse__list_buffers(const lfuse__facts *facts, int own)
{
    return own + (facts->addresses ? 0 : LFUSE__MAX_SLOTS);
}

/* Tables; and of kernels that reduce, the scratch. */
static int list_buffers(const lfuse__text *t)
{
    return t->list.carry == LFUSE__CARRY_CHUNKS ? 2 : 3;
}

int lfuse__list_words(const lfuse__text *t)
{
    const lfuse__of_list *l = &t->list;
    return lfuse__class_list(l->k)->carried ? (int)lfuse__carried_words(l->k, l->carry)
                                            : lfuse__carried_chunks(l->k, l->carry);
}

/* ---- the text ---- */

void lfuse__put_group_stride(const void *text, int each, int indent)
{
    const lfuse__text *t = text;
    const lfuse__parameter parameters[] = {{"SINGLE", .number = !each}, {"EACH", .number = each}, {NULL}};
    lfuse__put_text(t->out, indent, lfuse__text_group_stride, parameters, NULL, NULL);
}

const char *lfuse__argument_word(const lfuse__facts *facts)
{
    return facts->staged_arguments ? "STAGED" : "W";
}

void lfuse__put_arguments(lfuse__strbuf *out, int indent, const lfuse__facts *facts, int words, int items)
{
    if (!facts->staged_arguments) return;
    lfuse__put(out, indent, "LOCAL(u64, arguments, %d)", words);
    for (int i = 0; i < words; i += STAGED_LINE) {
        lfuse__strbuf_format(out, "%*sif (ITEM() == %d) {", 4 * indent, "", i / STAGED_LINE * LFUSE__TEAM % items);
        for (int w = i; w < i + STAGED_LINE && w < words; w++)
            lfuse__strbuf_format(out, " arguments[%d] = W(%d);", w, w);
        lfuse__strbuf_add(out, " }\n");
    }
    lfuse__put(out, indent, "SYNC();");
}

void lfuse__put_list_arguments(const void *text, int items, int indent)
{
    const lfuse__text *t = text;
    if (!lfuse__class_list(t->k)->carried) return;
    lfuse__put_arguments(t->out, indent, t->list.facts, lfuse__list_words(t), items);
}

static void put_other_blocks(const void *context, int j, int indent)
{
    const lfuse__text *t = context;
    for (int s = 1; s < LFUSE__MAX_SLOTS; s++)
        lfuse__put(t->out, indent, "if (slot_p%d == %d) p%d = BUFFER(%d);", j, s, j, list_buffers(t) + s);
}

/*
 * NVRTC 13 comes to no end with a product whose pointers are made of nothing but numbers: they are made of a buffer's
 * and the way from there.
 */
void lfuse__put_list_operand(const lfuse__text *t, int indent, int j, const char *member)
{
    const lfuse__of_list *l = &t->list;
    const lfuse__expr p = lfuse__expression("p%d", j);
    const lfuse__parameter parameters[] = {
        {"P", .word = p.text}, {"J", .number = j}, {"MEMBER", .word = member},
        {"ADDRESSES", .number = l->facts->addresses},
        {"FROM_BUFFER", .number = t->k->family == LFUSE__FAMILY_GROUPED},
        {"CARRIED", .number = lfuse__class_list(t->k)->carried}, {"ARGUMENT", .word = lfuse__argument_word(l->facts)},
        {"PLACES", .number = lfuse__carried_first(t->k, l->carry, j)},
        {"FOLD", .number = l->carry == LFUSE__CARRY_FOLD}, {"ENTRIES", .number = LFUSE__MULTI_ADDRESSES_OFFSET},
        {"MEMBERS", .number = LFUSE__MULTI_MEMBERS}, {"BLOCK", .number = list_buffers(t)}, {NULL}};
    const lfuse__text_place places[] = {{"OTHER_BLOCKS", put_other_blocks, j}, {NULL}};
    lfuse__put_text(t->out, indent, lfuse__text_list_operand, parameters, places, t);
}

static void put_shape(const void *text, int j, int indent)
{
    lfuse__put_list_operand(text, indent, j, "member");
}

/* To what the first element of the chunk reads of an operand that repeats. */
static void put_line_start(const lfuse__text *t, int indent, int j)
{
    const unsigned size = lfuse__type_bytes(t->k->operands[j].type);
    const lfuse__stride_class inner = t->k->operands[j].inner;
    const bool matrix = inner == LFUSE__STRIDE_MATRIX && lfuse__class_list(t->k)->walk == LFUSE__WALK_ELEMENTS;
    if (inner == LFUSE__STRIDE_COLUMN) lfuse__put(t->out, indent, "p%d += matrix_ * columns_ * %u;", j, size);
    else lfuse__put(t->out, indent, matrix ? "p%d += matrix_ * %u;" : "p%d += line_ * %u;", j, size);
}

static void put_operands(const void *text, int which, int indent)
{
    const lfuse__text *t = text;
    (void)which;
    for (int j = 0; j < t->k->noperands; j++) {
        const unsigned size = lfuse__type_bytes(t->k->operands[j].type);
        const unsigned run = size * (unsigned)t->vector;
        if (!t->loaded[j] && !t->stored[j] && !t->steady[j]) continue;
        lfuse__put_list_operand(t, indent, j, "member");
        if (lfuse__repeats_lines(&t->k->operands[j])) put_line_start(t, indent, j);
        if (t->k->operands[j].inner != LFUSE__STRIDE_UNIT) continue;
        if (!t->still) lfuse__put(t->out, indent, "p%d += start_ * %u;", j, size);
        lfuse__put(t->out, indent, "bits |= POINTER_BITS(p%d) & %u;", j, run < 16 ? run - 1 : 15);
    }
}

void lfuse__put_list_chunk(const void *text, int vector, int indent)
{
    const lfuse__text *t = text;
    const lfuse__list_class *l = lfuse__class_list(t->k);
    const int shape = shape_operand(t->k), groups = t->grouped ? l->groups : 0;
    const lfuse__text_place places[] = {
        {"SHAPE_OPERAND", put_shape, shape}, {"OPERANDS", put_operands, 0}, {"UNIFORM", lfuse__put_uniform, 0}, {NULL}};
    const lfuse__expr p = lfuse__expression("p%d", shape);
    int steps = 0;
    while (1 << steps < l->carried) steps++;
    const lfuse__parameter parameters[] = {
        {"CARRIED", .number = l->carried}, {"PLACES", .number = lfuse__carried_chunks(t->k, t->list.carry)},
        {"STEPS", .number = steps}, {"HALF", .number = 1 << steps >> 1},
        {"ARGUMENT", .word = lfuse__argument_word(t->list.facts)}, {"LENGTH", .number = LFUSE__MULTI_LENGTH},
        {"TABLE", .number = LFUSE__MULTI_CHUNKS_OFFSET}, {"FIRST", .number = LFUSE__MULTI_FIRST},
        {"ALL", .number = vector}, {"VECTOR", .number = vector}, {"SHAPED", .number = shape >= 0},
        {"SHAPE", .word = p.text},
        {"ELEMENTS", .number = l->walk == LFUSE__WALK_ELEMENTS},
        {"COLUMNS", .number = l->walk == LFUSE__WALK_ROWS ? 1 : 2}, {"IN_SHAPE", .number = !t->still},
        {"GROUPS", .number = groups}, {"NUMBERS", .number = t->k->body->nnumbers},
        {"GROUP_FIRSTS", .number = t->numbers}, {"GROUP_NUMBERS", .number = t->numbers + groups - 1}, {NULL}};
    lfuse__put_text(t->out, indent, lfuse__text_list_chunk, parameters, places, t);
}

void lfuse__put_line_functions(lfuse__strbuf *out, const lfuse__kernel_class *k)
{
    static const lfuse__parameter none[] = {{NULL}};
    if (shape_operand(k) < 0) return;
    lfuse__put(out, 0, "#ifndef LINES_\n#define LINES_");
    lfuse__put_text(out, 0, lfuse__text_list_broadcast, none, NULL, NULL);
    lfuse__put(out, 0, "#endif");
}
