/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kernels/cases.h"

#include "common/base/error.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"
#include "tests/support/check.h"

enum { GUARD = 64 };

bool rig_has(const rig *r, lfuse_type type)
{
    return type != LFUSE_F64 || r->facts.info.f64;
}

/* Numbers of every kind. */
static arena arena_of(lfuse_type type, size_t elements, uint64_t seed)
{
    arena a = arena_make((elements * lfuse_type_size(type) + 7) / 8 * 8, 0);
    host_fill(a.memory, type, a.bytes / lfuse_type_size(type), seed);
    arena_keep(&a);
    return a;
}

/* One pointwise launch over arenas; same[j] >= 0: operand j is the memory of that operand. */
typedef struct pointwise {
    const sample *s;
    lfuse__geometry g;
    double numbers[2];
    arena arenas[LFUSE__MAX_OPERANDS];
    int same[LFUSE__MAX_OPERANDS];
} pointwise;

static void expect(pointwise *p)
{
    const lfuse__kernel_class *k = &p->s->k;
    void *from[LFUSE__MAX_OPERANDS], *to[LFUSE__MAX_OPERANDS];
    int64_t index[LFUSE_MAX_RANK] = {0}, total = 1;
    for (int j = 0; j < k->noperands; j++) {
        const arena *a = &p->arenas[p->same[j] >= 0 ? p->same[j] : j];
        from[j] = a->before + p->g.offsets[j];
        to[j] = a->expected + p->g.offsets[j];
    }
    for (int a = 0; a < k->rank; a++) total *= p->g.extents[a];
    for (int64_t n = 0; n < total; n++) {
        int64_t element[LFUSE__MAX_OPERANDS];
        for (int j = 0; j < k->noperands; j++) {
            element[j] = 0;
            for (int a = 0; a < k->rank; a++) element[j] += index[a] * p->g.strides[j][a];
        }
        host_body(k, p->numbers, from, to, element);
        for (int a = k->rank - 1; a >= 0 && ++index[a] == p->g.extents[a]; a--) index[a] = 0;
    }
}

static void pointwise_run(rig *r, lfuse__bprogram *program, const char *name, pointwise *p, const char *what)
{
    const lfuse__kernel_class *k = &p->s->k;
    lfuse__packed packed;
    rig_buffer buffers[LFUSE__MAX_OPERANDS];
    p->g.numbers = p->numbers;
    for (int j = 0; j < k->noperands; j++) {
        const arena *a = &p->arenas[p->same[j] >= 0 ? p->same[j] : j];
        buffers[j] = (rig_buffer){a->memory, a->bytes, k->operands[j].written};
        p->g.addresses[j] = p->g.offsets[j];
    }
    ck_assert_msg(!lfuse__family_pointwise.pack(k, &r->facts, &p->g, &packed), "%s: %s", what, lfuse__error_message());
    expect(p);
    rig_launch(r, program, name, &packed, k->noperands, buffers);
    for (int j = 0; j < k->noperands; j++)
        if (p->same[j] < 0 && k->operands[j].written)
            arena_check(&p->arenas[j], k->operands[j].type, 0, "%s: operand %d", what, j);
}

/* Contiguous operands of n elements, operand j from element first[j] on. */
static void pointwise_flat(rig *r, lfuse__bprogram *program, const char *name, const sample *s, int64_t n,
                           const int *first, int in_place, const char *what)
{
    pointwise p = {.s = s, .numbers = {1.37, -2.5}};
    p.g.extents[0] = n;
    for (int j = 0; j < s->k.noperands; j++) {
        const lfuse_type type = s->k.operands[j].type;
        p.same[j] = -1;
        p.g.strides[j][0] = 1;
        p.g.offsets[j] = (uint64_t)(GUARD + first[j]) * lfuse_type_size(type);
        p.arenas[j] = arena_of(type, (size_t)n + 2 * GUARD + (size_t)first[j], 77 + (uint64_t)j * 1000 + (uint64_t)n);
    }
    if (in_place) { /* operand 2 is operand 0 */
        p.same[0] = 2;
        p.g.offsets[0] = p.g.offsets[2];
    }
    pointwise_run(r, program, name, &p, what);
    for (int j = 0; j < s->k.noperands; j++) arena_free(&p.arenas[j]);
}

/* Several operators to a kernel: compilers spend more on what is around each than on itself. */
enum { TOGETHER = 6 };

typedef struct bunch {
    sample s;
    char name[16], what[200];
} bunch;

static int bunches_of(const rig *r, lfuse_type type, bunch *bunches, lfuse__strbuf *text)
{
    int ops[TOGETHER], count = 0, n = 0;
    for (int op = 0; op <= LFUSE__OP_COUNT; op++) {
        const bool more = op < LFUSE__OP_COUNT;
        if (more && sample_fits(op, type) && host_exact(op)) ops[count++] = op;
        if (count == 0 || (more && count < TOGETHER)) continue;
        bunch *b = &bunches[n++];
        sample_many(&b->s, count, ops, type);
        snprintf(b->name, sizeof b->name, "ops_%d", n);
        size_t used = (size_t)snprintf(b->what, sizeof b->what, "%s:", lfuse_type_name(type));
        for (int i = 0; i < count; i++)
            used += (size_t)snprintf(b->what + used, sizeof b->what - used, " %s", lfuse__ops[ops[i]].name);
        OK(lfuse__family_pointwise.emit(text, b->name, &b->s.k, &r->facts));
        count = 0;
    }
    return n;
}

void case_operators(rig *r, lfuse_type type)
{
    static const int nowhere[LFUSE__MAX_OPERANDS];
    static bunch bunches[LFUSE__OP_COUNT];
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    const int count = bunches_of(r, type, bunches, &text);
    lfuse__bprogram *program = rig_program(r, &text);
    for (int i = 0; i < count; i++)
        pointwise_flat(r, program, bunches[i].name, &bunches[i].s, 100003, nowhere, 0, bunches[i].what);
    r->backend->program_destroy(program);
}

void case_casts(rig *r)
{
    static const int nowhere[LFUSE__MAX_OPERANDS];
    sample samples[LFUSE__TYPES];
    char name[32];
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    for (lfuse_type from = LFUSE_F32; from < LFUSE__TYPES; from++) {
        if (!rig_has(r, from)) continue;
        snprintf(name, sizeof name, "casts_%s", lfuse_type_name(from));
        sample_casts(&samples[from], from, r->facts.info.f64);
        OK(lfuse__family_pointwise.emit(&text, name, &samples[from].k, &r->facts));
    }
    lfuse__bprogram *program = rig_program(r, &text);
    for (lfuse_type from = LFUSE_F32; from < LFUSE__TYPES; from++) {
        if (!rig_has(r, from)) continue;
        snprintf(name, sizeof name, "casts_%s", lfuse_type_name(from));
        pointwise_flat(r, program, name, &samples[from], 140003, nowhere, 0, name);
    }
    r->backend->program_destroy(program);
}

void case_tails(rig *r, lfuse_type type)
{
    static const int64_t more[] = {127, 128, 129, 1023, 2047, 2048, 2049, 4096, 5001};
    sample s;
    char what[64];
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    sample_fused(&s, type);
    OK(lfuse__family_pointwise.emit(&text, "fused", &s.k, &r->facts));
    lfuse__bprogram *program = rig_program(r, &text);
    for (int64_t i = 1; i < 68 + (int64_t)(sizeof more / sizeof *more); i++) {
        const int64_t n = i < 68 ? i : more[i - 68];
        for (int shift = 0; shift < 4; shift++) {
            const int first[LFUSE__MAX_OPERANDS] = {shift & 1, shift == 3 ? 2 : shift, shift == 2, shift};
            snprintf(what, sizeof what, "length %lld, shift %d", (long long)n, shift);
            pointwise_flat(r, program, "fused", &s, n, first, shift == 1, what);
        }
    }
    r->backend->program_destroy(program);
}

/* Extents, and strides of a view of memory whose axes are permuted, reversed or repeated; sizes for the arenas. */
static void random_view(const lfuse__kernel_class *k, const int64_t *extents, int operand, uint64_t *seed,
                        lfuse__geometry *g, size_t *elements)
{
    int order[LFUSE_MAX_RANK], outer = k->rank - 1;
    int64_t span = 1, low = 0;
    const bool written = k->operands[operand].written;
    for (int a = 0; a < k->rank; a++) order[a] = a;
    for (int a = outer - 1; a > 0; a--) {
        const int b = (int)(host_random(seed) % (uint64_t)(a + 1)), t = order[a];
        order[a] = order[b];
        order[b] = t;
    }
    for (int n = outer; n >= 0; n--) {
        const int a = order[n];
        int64_t stride = span;
        const lfuse__stride_class inner = k->operands[operand].inner;
        if (a == outer && inner == LFUSE__STRIDE_REPEAT) stride = 0;
        if (a == outer && inner == LFUSE__STRIDE_ANY) stride = 3;
        if (a != outer && !written && host_random(seed) % 4 == 0) stride = 0;
        if (stride) span = stride * (extents[a] + (a != outer && host_random(seed) % 3 == 0));
        if ((a != outer || inner == LFUSE__STRIDE_ANY) && stride && host_random(seed) % 3 == 0) stride = -stride;
        if (stride < 0) low -= stride * (extents[a] - 1);
        g->strides[operand][a] = stride;
    }
    g->offsets[operand] = (uint64_t)(GUARD + low) * lfuse_type_size(k->operands[operand].type);
    *elements = (size_t)span + (size_t)low + 2 * GUARD;
}

void case_strides(rig *r, lfuse_type type)
{
    enum { CLASSES = 8 * 2 * 4 };
    static const lfuse__stride_class inner[4][4] = {
        {LFUSE__STRIDE_UNIT, LFUSE__STRIDE_UNIT, LFUSE__STRIDE_UNIT, LFUSE__STRIDE_UNIT},
        {LFUSE__STRIDE_REPEAT, LFUSE__STRIDE_UNIT, LFUSE__STRIDE_UNIT, LFUSE__STRIDE_ANY},
        {LFUSE__STRIDE_ANY, LFUSE__STRIDE_REPEAT, LFUSE__STRIDE_ANY, LFUSE__STRIDE_UNIT},
        {LFUSE__STRIDE_UNIT, LFUSE__STRIDE_ANY, LFUSE__STRIDE_UNIT, LFUSE__STRIDE_UNIT}};
    static sample samples[CLASSES];
    char name[32], what[96];
    uint64_t seed = 5;
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    for (int c = 0; c < CLASSES; c++) {
        sample_fused(&samples[c], type);
        samples[c].k.rank = c % 8 + 1;
        samples[c].k.index64 = c / 8 % 2;
        for (int j = 0; j < 4; j++) samples[c].k.operands[j].inner = inner[c / 16][j];
        snprintf(name, sizeof name, "class_%d", c);
        if (c % 3 == 0) OK(lfuse__family_pointwise.emit(&text, name, &samples[c].k, &r->facts));
    }
    lfuse__bprogram *program = rig_program(r, &text);
    for (int c = 0; c < CLASSES; c += 3)
        for (int turn = 0; turn < 3; turn++) {
            const int rank = samples[c].k.rank;
            pointwise p = {.s = &samples[c], .numbers = {1.37, -2.5}};
            for (int a = 0; a < rank; a++)
                p.g.extents[a] = 1 + (int64_t)(host_random(&seed) % (rank > 4 ? 4 : a == rank - 1 ? 70 : 9));
            if (turn == 2) p.g.extents[rank - 1] = 32;
            for (int j = 0; j < 4; j++) {
                size_t elements;
                p.same[j] = -1;
                random_view(&samples[c].k, p.g.extents, j, &seed, &p.g, &elements);
                p.arenas[j] = arena_of(type, elements, seed + (uint64_t)j);
            }
            snprintf(name, sizeof name, "class_%d", c);
            snprintf(what, sizeof what, "class %d, turn %d, rank %d, inner extent %lld", c, turn, rank,
                     (long long)p.g.extents[rank - 1]);
            pointwise_run(r, program, name, &p, what);
            for (int j = 0; j < 4; j++) arena_free(&p.arenas[j]);
        }
    r->backend->program_destroy(program);
}

/* A list in one allocation an operand, as the run layer lays it out; chunks of at most `most` elements. */
typedef struct list {
    int64_t members, chunks, partials;
    int64_t sizes[64];
    lfuse__chunk table[256];
    uint64_t first[65]; /* partial of each member */
} list;

static void list_make(list *l, uint32_t most)
{
    static const int64_t sizes[] = {1, 5, 0, 16, 17, 1024, 1025, 3000, 40000, 128, 0, 2, 1023, 70000, 7};
    memset(l, 0, sizeof *l);
    l->members = sizeof sizes / sizeof *sizes;
    for (int64_t m = 0; m < l->members; m++) {
        l->sizes[m] = sizes[m];
        l->first[m] = (uint64_t)l->chunks;
        for (int64_t at = 0; at < sizes[m]; at += most)
            l->table[l->chunks++] = (lfuse__chunk){(uint32_t)m, (uint32_t)(sizes[m] - at < most ? sizes[m] - at : most),
                                                   (uint64_t)at};
    }
    l->first[l->members] = (uint64_t)l->chunks;
}

/* Element that member m starts at: members lie apart, some at odd places. */
static int64_t member_start(const list *l, int64_t m)
{
    int64_t at = GUARD;
    for (int64_t i = 0; i < m; i++) at += (l->sizes[i] + 15) / 8 * 8 + (i % 3 == 1);
    return at;
}

/* Runs a list kernel whose operand memories are in (slot, offset) form; buffers before the blocks are the caller's. */
static void list_launch(rig *r, lfuse__bprogram *program, const char *name, const sample *s, const list *l,
                        lfuse__packed *packed, rig_buffer *buffers, int own, const arena *arenas)
{
    uint64_t addresses[LFUSE__MAX_OPERANDS * 64 * 2] = {0};
    for (int j = 0; j < s->k.noperands; j++)
        for (int64_t m = 0; m < l->members; m++) {
            const bool number = s->k.operands[j].inner == LFUSE__STRIDE_REPEAT;
            uint64_t *entry = &addresses[2 * (j * l->members + m)];
            entry[0] = (uint64_t)(number ? m : member_start(l, m)) * lfuse_type_size(s->k.operands[j].type);
            entry[1] = (uint64_t)j;
        }
    packed->words[LFUSE__MULTI_CHUNKS_OFFSET] = 0;
    packed->words[LFUSE__MULTI_ADDRESSES_OFFSET] = 0;
    buffers[0] = (rig_buffer){(void *)l->table, sizeof l->table, false};
    buffers[1] = (rig_buffer){addresses, sizeof addresses, false};
    for (int j = 0; j < LFUSE__MAX_SLOTS; j++)
        buffers[own + j] = j < s->k.noperands ? (rig_buffer){arenas[j].memory, arenas[j].bytes,
                                                             s->k.operands[j].written}
                                              : (rig_buffer){NULL, 0, false};
    rig_launch(r, program, name, packed, own + LFUSE__MAX_SLOTS, buffers);
}

/* Tables of slots and offsets work on every device; addresses are the run layer's tests'. */
static lfuse__facts slot_facts(const rig *r)
{
    lfuse__facts facts = r->facts;
    facts.addresses = false;
    return facts;
}

/* One launch over members [from, end), whose places are words: chunks of LFUSE__CHUNK, blocks as of list_launch. */
static void carried_launch(rig *r, lfuse__bprogram *program, const sample *s, const list *l, int64_t from, int64_t end,
                           const double *numbers, const arena *arenas)
{
    static uint64_t words[LFUSE__CARRIED_MOST];
    const lfuse__facts facts = slot_facts(r);
    rig_buffer buffers[2 + LFUSE__MAX_SLOTS] = {{NULL, 0, false}};
    lfuse__packed packed;
    lfuse__launch_args args = {.words = words, .nwords = lfuse__carried_words(&s->k, LFUSE__CARRY_CHUNKS)};
    OK(lfuse__multi_pack(&s->k, &facts, end - from, 0, (int64_t)(l->first[end] - l->first[from]), numbers, &packed));
    memset(words, 0, sizeof words);
    memcpy(words, packed.words, packed.nwords * sizeof *words);
    words[LFUSE__MULTI_LENGTH] = LFUSE__CHUNK;
    for (int64_t m = from; m < end; m++) {
        uint64_t entries[LFUSE__MAX_OPERANDS][2];
        const uint32_t beyond = (uint32_t)(l->sizes[m] % LFUSE__CHUNK);
        for (int j = 0; j < s->k.noperands; j++) {
            const bool number = s->k.operands[j].inner == LFUSE__STRIDE_REPEAT;
            entries[j][0] = (uint64_t)(number ? m : member_start(l, m)) * lfuse_type_size(s->k.operands[j].type);
            entries[j][1] = (uint64_t)j;
        }
        lfuse__carried_place(&s->k, LFUSE__CARRY_CHUNKS, (int)(m - from), l->first[m] - l->first[from],
                             beyond ? beyond : LFUSE__CHUNK, entries[0], 2, words);
    }
    lfuse__carried_end(&s->k, LFUSE__CARRY_CHUNKS, (int)(end - from), l->first[end] - l->first[from], words);
    for (int j = 0; j < s->k.noperands; j++)
        buffers[2 + j] = (rig_buffer){arenas[j].memory, arenas[j].bytes, s->k.operands[j].written};
    args.groups = packed.groups;
    args.group = packed.group;
    rig_launch_words(r, program, "list", &args, 2 + LFUSE__MAX_SLOTS, buffers);
}

static void lists(rig *r, lfuse_type type, bool carried)
{
    static list l;
    const lfuse__facts facts = slot_facts(r);
    sample s;
    pointwise p = {.s = &s, .numbers = {1.37, 0}};
    lfuse__packed packed;
    rig_buffer buffers[LFUSE__MAX_BUFFERS];
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    list_make(&l, LFUSE__CHUNK);
    sample_fused(&s, type);
    s.k.operands[1].inner = LFUSE__STRIDE_REPEAT;
    if (carried) s.k.list.carried = lfuse__carried_most(&s.k, LFUSE__CARRY_CHUNKS, &facts, LFUSE__ARGUMENT_BYTES);
    OK(lfuse__family_multi.emit(&text, "list", &s.k, &facts));
    lfuse__bprogram *program = rig_program(r, &text);
    for (int j = 0; j < 4; j++) p.arenas[j] = arena_of(type, (size_t)member_start(&l, l.members) + GUARD,
                                                         9 + (uint64_t)j);
    for (int64_t m = 0; m < l.members; m++) {
        void *from[4], *to[4];
        for (int j = 0; j < 4; j++) from[j] = p.arenas[j].before, to[j] = p.arenas[j].expected;
        for (int64_t i = 0; i < l.sizes[m]; i++) {
            const int64_t at = member_start(&l, m) + i, element[4] = {at, m, at, at};
            host_body(&s.k, p.numbers, from, to, element);
        }
    }
    /* In two launches, as a recording may split it. */
    const int64_t middle = l.chunks / 2;
    for (int part = 0; part < 2 && carried; part++)
        carried_launch(r, program, &s, &l, part ? 7 : 0, part ? l.members : 7, p.numbers, p.arenas);
    for (int part = 0; part < 2 && !carried; part++) {
        OK(lfuse__multi_pack(&s.k, &facts, l.members, part ? middle : 0, part ? l.chunks - middle : middle, p.numbers,
                             &packed));
        list_launch(r, program, "list", &s, &l, &packed, buffers, 2, p.arenas);
    }
    for (int j = 2; j < 4; j++) arena_check(&p.arenas[j], type, 0, "list: operand %d", j);
    for (int j = 0; j < 4; j++) arena_free(&p.arenas[j]);
    r->backend->program_destroy(program);
}

void case_lists(rig *r, lfuse_type type)
{
    lists(r, type, false);
}

void case_carried_lists(rig *r, lfuse_type type)
{
    lists(r, type, true);
}

void case_table(rig *r)
{
    uint64_t values[LFUSE__TABLE_WORDS], memory[LFUSE__TABLE_WORDS + 4];
    lfuse__packed packed;
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    OK(lfuse__family_table.emit(&text, "table", NULL, &r->facts));
    lfuse__bprogram *program = rig_program(r, &text);
    for (int count = 1; count <= LFUSE__TABLE_WORDS; count += 19) {
        const rig_buffer buffer = {memory, sizeof memory, true};
        for (int i = 0; i < LFUSE__TABLE_WORDS; i++) values[i] = 0x0123456789abcdefu * (uint64_t)(i + 1);
        memset(memory, 0xee, sizeof memory);
        OK(lfuse__table_pack(&r->facts, 16, values, count, &packed));
        rig_launch(r, program, "table", &packed, 1, &buffer);
        for (int i = 0; i < LFUSE__TABLE_WORDS + 4; i++)
            ck_assert_uint_eq(memory[i], i >= 2 && i < count + 2 ? values[i - 2] : 0xeeeeeeeeeeeeeeeeu);
    }
    r->backend->program_destroy(program);
}
