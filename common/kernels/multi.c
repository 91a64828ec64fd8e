/* SPDX-License-Identifier: Apache-2.0 */
/* Lists: pointwise work chunk by chunk, and what their kernels share. */
#include "common/base/error.h"
#include "common/kernels/emit.h"

enum { FIRST = LFUSE__MULTI_FIRST, CHUNKS = LFUSE__MULTI_CHUNKS, MEMBERS,
       NUMBERS = LFUSE__MULTI_NUMBERS, OTHER_WORDS = 16 };
enum { LAST_TICKET, LAST_ARRIVALS, LAST_MEMBER, LAST_WORDS }; /* of stores by the last group, behind the numbers */

/* Words for numbers; where they go by group, the first members of all groups but the first come before them. */
static int number_words(const lfuse__kernel_class *k)
{
    const int groups = lfuse__class_list(k)->groups;
    return groups ? groups - 1 + groups * k->body->nnumbers : k->body->nnumbers;
}

static int most_words(void)
{
    return LFUSE__ARGUMENT_BYTES / 8 - OTHER_WORDS - 3 - LFUSE__MAX_SLOTS;
}

int lfuse__multi_groups(const lfuse__body *body)
{
    lfuse__kernel_class k = {.family = LFUSE__FAMILY_MULTI, .body = body, .list.groups = LFUSE__NUMBER_GROUPS};
    if (!body->nnumbers) return 0;
    while (k.list.groups > 1 && number_words(&k) > most_words()) k.list.groups--;
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
    return NUMBERS + number_words(k);
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
    const int most = most_words();
    if (number_words(k) > most)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a list kernel of %d numbers in %d words; at most %d",
                            k->body->nnumbers, number_words(k), most);
    return LFUSE_OK;
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

void lfuse__put_entry(lfuse__strbuf *out, int indent, const lfuse__facts *facts, int slots, int j)
{
    if (facts->addresses) {
        lfuse__put(out, indent, "memory p%d = ADDRESS(WORD64(e%d, 0));", j, j);
        return;
    }
    lfuse__put(out, indent, "const u64 s%d = WORD64(e%d, 1);", j, j);
    lfuse__put(out, indent, "memory p%d = BUFFER(%d);", j, slots);
    for (int s = 1; s < LFUSE__MAX_SLOTS; s++)
        lfuse__put(out, indent, "if (s%d == %d) p%d = BUFFER(%d);", j, s, j, slots + s);
    lfuse__put(out, indent, "p%d += WORD64(e%d, 0);", j, j);
}

/* The numbers of the member's group as n<i>: by selections, as words at a place that is computed are slow on OpenCL. */
static void put_group_numbers(const lfuse__text *t, int indent)
{
    const int groups = t->k->list.groups, values = NUMBERS + groups - 1;
    lfuse__put(t->out, indent, "u32 group = 0;");
    for (int g = 1; g < groups; g++) lfuse__put(t->out, indent, "group += member >= W(%d);", NUMBERS + g - 1);
    for (int i = 0; i < t->k->body->nnumbers; i++) {
        lfuse__put(t->out, indent, "u64 n%d = W(%d);", i, values + i * groups);
        for (int g = 1; g < groups; g++)
            lfuse__put(t->out, indent, "if (group == %d) n%d = W(%d);", g, i, values + i * groups + g);
    }
}

static void put_tabled_chunk(lfuse__strbuf *out, int indent, const char *c)
{
    lfuse__put(out, indent, "memory chunk = BUFFER(0) + W(%d) + (W(%d) + %s) * 16;", LFUSE__MULTI_CHUNKS_OFFSET,
               FIRST, c);
    lfuse__put(out, indent, "const u64 member = WORD32(chunk, 0), start_ = WORD64(chunk, 1);");
    lfuse__put(out, indent, "const u32 length = WORD32(chunk, 1);");
}

/* The scratch is a buffer of a reduction's kernel alone. */
static lfuse__carry kernel_of(int slots)
{
    return slots > 2 ? LFUSE__CARRY_PARTIAL : LFUSE__CARRY_CHUNKS;
}

/*
 * NVRTC 13 comes to no end with a product whose pointers are made of nothing but numbers: they are made of a buffer's
 * and the way from there.
 */
static void put_product_member(const lfuse__text *t, int indent, const lfuse__facts *facts, int slots, int j)
{
    if (lfuse__class_list(t->k)->carried) {
        lfuse__strbuf_format(t->out, "%*smemory p%d = BUFFER(0) + (", 4 * indent, "", j);
        lfuse__put_argument(t->out, facts, lfuse__carried_first(t->k, kernel_of(slots), j), "member");
    } else {
        lfuse__strbuf_format(t->out, "%*smemory p%d = BUFFER(0) + (WORD64(BUFFER(1) + W(%d) + (W(%d) * %d + member) * "
                             "16, 0)", 4 * indent, "", j, LFUSE__MULTI_ADDRESSES_OFFSET, MEMBERS, j);
    }
    lfuse__strbuf_add(t->out, " - (u64)BUFFER(0));\n");
}

void lfuse__put_member(const lfuse__text *t, int indent, const lfuse__facts *facts, int slots, int j)
{
    if (t->k->family == LFUSE__FAMILY_GROUPED && facts->addresses) {
        put_product_member(t, indent, facts, slots, j);
        return;
    }
    if (lfuse__class_list(t->k)->carried) {
        lfuse__put_carried_entry(t->out, indent, facts, slots, j, lfuse__carried_first(t->k, kernel_of(slots), j),
                                 "member");
        return;
    }
    lfuse__put(t->out, indent, "memory e%d = BUFFER(1) + W(%d) + (W(%d) * %d + member) * 16;", j,
               LFUSE__MULTI_ADDRESSES_OFFSET, MEMBERS, j);
    lfuse__put_entry(t->out, indent, facts, slots, j);
}

/*
 * rows_, columns_ of a matrix of the member and matrices_, from p<j> of the shape. A number of a row, among those of
 * the rows of a matrix, is as an element in a row.
 */
static void put_shape(const lfuse__text *t, int indent)
{
    const int j = shape_operand(t->k);
    const lfuse__list_kind walk = lfuse__class_list(t->k)->walk;
    lfuse__put(t->out, indent, "const u64 matrices_ = (u64)LOAD_i64(p%d, 0);", j);
    if (walk == LFUSE__WALK_ELEMENTS) lfuse__put(t->out, indent, "const u64 rows_ = (u64)LOAD_i64(p%d, 1);", j);
    else lfuse__put(t->out, indent, "const u64 rows_ = 1;");
    lfuse__put(t->out, indent, "const u64 columns_ = (u64)LOAD_i64(p%d, %d);", j, walk == LFUSE__WALK_ROWS ? 1 : 2);
}

/* Where in its matrix the first element of the chunk is. */
static void put_place_of_chunk(const lfuse__text *t, int indent, const lfuse__facts *facts, int slots)
{
    if (shape_operand(t->k) < 0) return;
    lfuse__put_member(t, indent, facts, slots, shape_operand(t->k));
    put_shape(t, indent);
    if (t->still) return;
    lfuse__put(t->out, indent, "const u64 line_ = start_ / columns_, column_ = start_ %% columns_;");
    lfuse__put(t->out, indent, "const u64 matrix_ = line_ / rows_, row_ = line_ %% rows_;");
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

/*
 * Places relative to those of a chunk's first element, which is in row_ and column_ of its matrix: a chunk is short, so
 * that 32 bits count what comes behind.
 */
static void put_line_functions(lfuse__strbuf *out, const lfuse__kernel_class *k)
{
    if (shape_operand(k) < 0) return;
    lfuse__strbuf_add(out,
        "#ifndef LINES_\n#define LINES_\n"
        "FN u32 borders_(u32 e, u64 left, u64 extent)\n"
        "{\n"
        "    return e < left ? 0 : 1 + (e - (u32)left) / (extent > 0xffffffffu ? 0xffffffffu : (u32)extent);\n"
        "}\n"
        "FN i64 row_of_(u32 e, u64 column, u64 columns, u64 row, u64 rows)\n"
        "{\n"
        "    return (i64)borders_(e, columns - column, columns) + (i64)(0 * (row + rows));\n"
        "}\n"
        "FN i64 matrix_of_(u32 e, u64 column, u64 columns, u64 row, u64 rows)\n"
        "{\n"
        "    return (i64)borders_(borders_(e, columns - column, columns), rows - row, rows);\n"
        "}\n"
        "FN i64 column_of_(u32 e, u64 column, u64 columns, u64 row, u64 rows)\n"
        "{\n"
        "    const u32 lines = borders_(e, columns - column, columns);\n"
        "    const u64 at = column + e - lines * columns;\n"
        "    return (i64)(borders_(lines, rows - row, rows) * columns + at);\n"
        "}\n"
        "#endif\n");
}

void lfuse__put_chunk_place(const lfuse__text *t, int indent, const lfuse__facts *facts, int slots, const char *c)
{
    if (lfuse__class_list(t->k)->carried) lfuse__put_carried_chunk(t, indent, facts, kernel_of(slots), c);
    else put_tabled_chunk(t->out, indent, c);
}

void lfuse__put_chunk(const lfuse__text *t, int indent, const lfuse__facts *facts, int slots, const char *c, int vector)
{
    lfuse__strbuf *out = t->out;
    lfuse__put_chunk_place(t, indent, facts, slots, c);
    if (vector > 1)
        lfuse__put(out, indent, "u32 bits = length %% %d;", vector);
    else
        lfuse__put(out, indent, "u32 bits = 0;");
    put_place_of_chunk(t, indent, facts, slots);
    for (int j = 0; j < t->k->noperands; j++) {
        const unsigned size = lfuse__type_bytes(t->k->operands[j].type);
        const unsigned run = size * (unsigned)t->vector;
        const bool unit = t->k->operands[j].inner == LFUSE__STRIDE_UNIT;
        if (!t->loaded[j] && !t->stored[j] && !t->steady[j]) continue;
        lfuse__put_member(t, indent, facts, slots, j);
        if (lfuse__repeats_lines(&t->k->operands[j])) put_line_start(t, indent, j);
        if (!unit) continue;
        if (!t->still) lfuse__put(out, indent, "p%d += start_ * %u;", j, size);
        lfuse__put(out, indent, "bits |= POINTER_BITS(p%d) & %u;", j, run < 16 ? run - 1 : 15);
    }
    lfuse__put(out, indent, "const u32 vectors = bits == 0;");
    if (t->grouped) put_group_numbers(t, indent);
    lfuse__put_uniform(t, indent);
}

int lfuse__list_buffers(const lfuse__facts *facts, int own)
{
    return own + (facts->addresses ? 0 : LFUSE__MAX_SLOTS);
}

static void put_head(const lfuse__text *t, const char *name, const lfuse__facts *facts, int group)
{
    const bool carried = t->k->list.carried;
    const int words = carried ? (int)lfuse__carried_words(t->k, LFUSE__CARRY_CHUNKS) : lfuse__multi_words(t->k);
    lfuse__put_powers(t->out, t->k->body);
    put_line_functions(t->out, t->k);
    lfuse__put_kernel(t->out, name, group, words, lfuse__list_buffers(facts, 2));
    if (carried) lfuse__put_arguments(t->out, facts, words, LFUSE__GROUP);
    if (lfuse__multi_counts(t->k)) lfuse__put(t->out, 1, "TICKET");
    lfuse__put(t->out, 1, "const u64 chunks = W(%d);", CHUNKS);
}

/* Every group comes here, behind all that it reads. */
static void put_last(const lfuse__text *t, const lfuse__facts *facts)
{
    const lfuse__kernel_class *k = t->k;
    const int word = last_word(k);
    bool needed[LFUSE__MAX_INSTRUCTIONS] = {false}, reached[LFUSE__MAX_OPERANDS] = {false};
    for (int i = 0; i < k->body->nstores; i++)
        if (counted(&k->operands[k->body->stores[i].operand])) needed[k->body->stores[i].reg] = true;
    lfuse__body_needs(k->body, NULL, needed);
    for (int i = 0; i < k->body->ninstr; i++)
        if (needed[i] && k->body->instr[i].kind == LFUSE__I_LOAD) reached[k->body->instr[i].a] = true;
    lfuse__put(t->out, 1, "if (W(%d) && ARRIVE(BUFFER(0) + W(%d), W(%d))) {", word + LAST_ARRIVALS, word + LAST_TICKET,
               word + LAST_ARRIVALS);
    lfuse__put(t->out, 2, "const u32 member = (u32)W(%d);", word + LAST_MEMBER);
    for (int j = 0; j < k->noperands; j++)
        if (reached[j] || counted(&k->operands[j])) lfuse__put_member(t, 2, facts, 2, j);
    for (int j = 0; j < k->noperands; j++)
        if (reached[j])
            lfuse__put(t->out, 2, "const L_%s x%d = SPLAT_%s(LOAD_%s(p%d, 0));",
                       lfuse__register_word(k->operands[j].type), j, lfuse__register_word(k->operands[j].type),
                       lfuse__memory_word(k->operands[j].type), j);
    for (int i = 0; i < k->body->ninstr; i++)
        if (needed[i]) lfuse__put_instr(t, 2, i, "");
    lfuse__put(t->out, 2, "if (ITEM() == 0) {");
    for (int i = 0; i < k->body->nstores; i++) {
        const lfuse_type type = k->operands[k->body->stores[i].operand].type;
        if (counted(&k->operands[k->body->stores[i].operand]))
            lfuse__put(t->out, 3, "STORE_%s(p%d, 0, FIRST_%s(r%d));", lfuse__memory_word(type),
                       k->body->stores[i].operand, lfuse__register_word(type), k->body->stores[i].reg);
    }
    lfuse__put(t->out, 2, "}");
    lfuse__put(t->out, 1, "}");
}

lfuse_status lfuse__multi_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                               const lfuse__facts *facts)
{
    lfuse__text t;
    LFUSE__TRY(lfuse__list_check(name, k, facts));
    LFUSE__TRY(check_counts(k));
    text_init(&t, out, k);
    lfuse__items_shape(&t, 0);
    put_head(&t, name, facts, facts->vector_lanes ? 1 : LFUSE__GROUP);
    if (facts->vector_lanes) {
        lfuse__put(out, 1, "const u64 share = (chunks + GROUPS() - 1) / GROUPS();");
        lfuse__put(out, 1, "for (u64 c = GROUP() * share; c < chunks && c < (GROUP() + 1) * share; c++) {");
        lfuse__put_chunk(&t, 2, facts, 2, "c", 1);
        lfuse__put(out, 2, "const u32 first = 0, last = length;");
        lfuse__put_lanes_run(&t, 2);
    } else {
        lfuse__put(out, 1, "for (u64 c = GROUP(); c < chunks; c += GROUPS()) {");
        lfuse__put_chunk(&t, 2, facts, 2, "c", 1);
        lfuse__put(out, 2, "const u32 n = length;");
        lfuse__put(out, 2, "for (u32 start = 0; start < n; start += %u) {", lfuse__items_tile(&t));
        lfuse__put_tile(&t, 3);
        lfuse__put(out, 2, "}");
    }
    lfuse__put(out, 1, "}");
    if (lfuse__multi_counts(k)) put_last(&t, facts);
    lfuse__put(out, 0, "}");
    return lfuse__strbuf_check(out);
}

lfuse_status lfuse__list_pack(const lfuse__kernel_class *k, const lfuse__facts *facts, bool single, uint64_t each,
                              int first_number, int64_t members, int64_t first_chunk, int64_t chunks,
                              const double *numbers, lfuse__packed *packed)
{
    if (members < 0 || members > UINT32_MAX || first_chunk < 0 || chunks < 0)
        return lfuse__error(LFUSE_ERR_OVERFLOW, "a list of %lld members in %lld chunks", (long long)members,
                            (long long)chunks);
    for (int i = 0; i < FIRST; i++) packed->words[i] = 0;
    packed->words[FIRST] = (uint64_t)first_chunk;
    packed->words[CHUNKS] = (uint64_t)chunks;
    packed->words[MEMBERS] = (uint64_t)members;
    if (!lfuse__class_list(k)->groups) lfuse__numbers_pack(k->body, numbers, packed->words + first_number);
    packed->nwords = (unsigned)(first_number + number_words(k));
    packed->group = single ? 1 : LFUSE__GROUP;
    packed->groups = lfuse__groups(facts, single, (uint64_t)chunks, each);
    return LFUSE_OK;
}

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

lfuse_status lfuse__multi_warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__packed *packed)
{
    return lfuse__multi_pack(k, facts, 1, 0, 1, lfuse__zeros, packed);
}
