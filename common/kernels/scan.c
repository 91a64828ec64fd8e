/* SPDX-License-Identifier: Apache-2.0 */
/* Scans along rows: text/scan.k, its parameters, and which mapping is for which sizes. */
#include "common/base/error.h"
#include "common/kernels/emit.h"
#include "common/kernels/families.h"
#include "common/kernels/template.h"

#include "common/kernels/text/scan.k.h"
#include "common/kernels/text/scan_operand.k.h"

enum {
    QUAD = 4,
    WARP_BLOCK = LFUSE__TEAM * QUAD, /* elements of a block */
    BLOCKS = 32,                     /* of a chunk */
    LINE = 16,                       /* elements that a work-item takes of its row at a time */
    MOST_HELD = 4 * QUAD,            /* elements of a work-item at a time */
    ROWS_OF_UNIT = 2 * LFUSE__TEAM,  /* that keep a compute unit busy, one work-item a row */
    MOST_INSTR = 256                 /* of a body */
};

/* A kernel being written. */
typedef struct writer {
    lfuse__text t;
    int scan;                 /* the instruction */
    bool make[MOST_INSTR];    /* what is computed before it, and behind */
    bool finish[MOST_INSTR];
    bool across, lanes;       /* SIDE_BY_SIDE; where a work-item has several lanes */
} writer;

/* ---- operands ---- */

static const lfuse__kernel_operand *operand(const writer *w, int j)
{
    return &w->t.k->operands[j];
}

static const char *type_word(const writer *w, int j)
{
    return lfuse__register_word(operand(w, j)->type);
}

static void put_memory(const void *context, int which, int indent)
{
    const writer *w = context;
    (void)which, (void)indent;
    lfuse__put_memory(&w->t);
}

static bool has_place(const writer *w, int j)
{
    return w->t.loaded[j] || w->t.stored[j] || operand(w, j)->gathered;
}

static void put_bases(const writer *w, int indent)
{
    for (int j = 0; j < w->t.k->noperands; j++)
        if (has_place(w, j)) lfuse__put(w->t.out, indent, "%s b%d;", w->t.ix, j);
    lfuse__put_offsets(&w->t, indent, "row", LFUSE__AT_LOADED | LFUSE__AT_STORED | LFUSE__AT_GATHERED | LFUSE__AT_ROW);
}

static void put_row(const void *context, int which, int indent)
{
    (void)which;
    put_bases(context, indent);
}

/* at<j>[l]: b<j> of lane l. Lanes behind the last row have its elements, and store nothing. */
static void put_lanes(const void *context, int which, int indent)
{
    const writer *w = context;
    lfuse__strbuf *out = w->t.out;
    (void)which;
    for (int j = 0; j < w->t.k->noperands; j++)
        if (has_place(w, j)) lfuse__put(out, indent, "%s at%d[LANES];", w->t.ix, j);
    lfuse__put(out, indent, "for (int l = 0; l < LANES; l++) {");
    lfuse__put(out, indent + 1, "const %s row = (%s)(first + (u64)l < rows ? first + (u64)l : rows - 1);", w->t.ux,
               w->t.ux);
    put_bases(w, indent + 1);
    for (int j = 0; j < w->t.k->noperands; j++)
        if (has_place(w, j)) lfuse__put(out, indent + 1, "at%d[l] = b%d;", j, j);
    lfuse__put(out, indent, "}");
}

static void put_arrays(const void *context, int which, int indent)
{
    const writer *w = context;
    (void)which;
    for (int j = 0; j < w->t.k->noperands; j++) {
        if (w->t.loaded[j]) lfuse__put(w->t.out, indent, "L_%s x%d[%d];", type_word(w, j), j, w->t.slots);
        if (w->t.stored[j])
            lfuse__put(w->t.out, indent, "L_%s y%d[%d];", type_word(w, j), j, w->across ? LINE : QUAD);
    }
}

/* Whether lines of the operand are read, and stored, along the row and transposed. */
static bool transposes(const writer *w, int j)
{
    const lfuse_type type = lfuse__register_type(operand(w, j)->type);
    return w->lanes && lfuse__in_blocks(operand(w, j)) && (type == LFUSE_F32 || type == LFUSE_F64);
}

/* Of scan_operand.k. */
typedef struct access {
    const lfuse__text *t;
    int j;
} access;

enum { OFFSET, OFFSET_OF_I, LOAD_QUAD, STORE_QUAD };

static void put_access(const void *context, int which, int indent)
{
    const access *a = context;
    const lfuse__expr at = lfuse__expression("o%d", a->j), quad = lfuse__expression("q%d", a->j);
    switch (which) {
    case OFFSET: lfuse__put_row_place(a->t, indent, a->j, "e"); break;
    case OFFSET_OF_I: lfuse__put_row_place(a->t, indent, a->j, "(e + i)"); break;
    case LOAD_QUAD: lfuse__put_block_load(a->t, indent, a->j, "0", at.text); break;
    case STORE_QUAD: lfuse__put_block_store(a->t, indent, a->j, quad.text); break;
    }
}

enum { LOAD, STORE, LOAD_LANES, STORE_LANES };

static void put_operand(const writer *w, int which, int indent, int j)
{
    static const lfuse__text_place places[] = {
        {"OFFSET", put_access, OFFSET}, {"OFFSET_OF_I", put_access, OFFSET_OF_I},
        {"LOAD_QUAD", put_access, LOAD_QUAD}, {"STORE_QUAD", put_access, STORE_QUAD}, {NULL, NULL, 0},
    };
    const access one = {&w->t, j};
    const lfuse__expr p = lfuse__expression("p%d", j), b = lfuse__expression("b%d", j), o = lfuse__expression("o%d", j);
    const lfuse__expr x = lfuse__expression("x%d", j), y = lfuse__expression("y%d", j), q = lfuse__expression("q%d", j);
    const lfuse__expr at = lfuse__expression("at%d", j), element = lfuse__load(&w->t, j, o.text);
    const lfuse__parameter parameters[] = {
        {"LOAD", .number = which == LOAD}, {"STORE", .number = which == STORE},
        {"LOAD_LANES", .number = which == LOAD_LANES}, {"STORE_LANES", .number = which == STORE_LANES},
        {"P", .word = p.text}, {"B", .word = b.text}, {"O", .word = o.text}, {"AT", .word = at.text},
        {"X", .word = x.text}, {"Y", .word = y.text}, {"Q", .word = q.text}, {"ELEMENT", .word = element.text},
        {"TYPE", .word = lfuse__memory_word(operand(w, j)->type)}, {"T", .word = type_word(w, j)},
        {"UX", .word = w->t.ux}, {"IX", .word = w->t.ix}, {"WORDS", .number = lfuse__block_words(&w->t, j)},
        {"BLOCKS", .number = lfuse__in_blocks(operand(w, j))}, {"FLAGS", .number = w->t.layout->flags},
        {"TRANSPOSES", .number = which >= LOAD_LANES && transposes(w, j)}, {NULL},
    };
    lfuse__put_text(w->t.out, indent, lfuse__text_scan_operand, parameters, places, &one);
}

static void put_loads(const void *context, int which, int indent)
{
    const writer *w = context;
    for (int j = 0; j < w->t.k->noperands; j++)
        if (w->t.loaded[j]) put_operand(w, which, indent, j);
}

static void put_stores(const void *context, int which, int indent)
{
    const writer *w = context;
    for (int j = 0; j < w->t.k->noperands; j++)
        if (w->t.stored[j]) put_operand(w, which, indent, j);
}

/* ---- the body ---- */

/* g<i>: what load i of the body, which is looked up, finds for each lane. */
static void put_gather(const writer *w, int indent, int i)
{
    const lfuse__instr *instr = &w->t.k->body->instr[i];
    const int j = instr->a;
    const char *index = lfuse__register_word(w->t.k->body->instr[instr->b].type), *own = type_word(w, j);
    const char *element = w->across ? "(first + (u64)l) * length + e" : "(u64)row * length + e";
    lfuse__put(w->t.out, indent, "L_%s g%d;", own, i);
    lfuse__put(w->t.out, indent, "{");
    lfuse__put(w->t.out, indent + 1, "S_%s m_[LANES];", index);
    lfuse__put(w->t.out, indent + 1, "S_%s s_[LANES];", own);
    lfuse__put(w->t.out, indent + 1, "SPREAD_%s(m_, r%d);", index, instr->b);
    lfuse__put(w->t.out, indent + 1, "for (int l = 0; l < LANES; l++) {");
    lfuse__put(w->t.out, indent + 2, "s_[l] = ZERO_%s;", own);
    if (w->across) lfuse__put(w->t.out, indent + 2, "const %s b%d = at%d[l];", w->t.ix, j, j);
    lfuse__put(w->t.out, indent + 2, w->across ? "if (first + (u64)l < rows) {" : "if (active && e < length) {");
    lfuse__put_look_up(&w->t, indent + 3, i, "m_[l]", element);
    lfuse__put_row_place(&w->t, indent + 3, j, "e");
    lfuse__put(w->t.out, indent + 3, "if (n%d >= 0) s_[l] = LOAD_%s(p%d, o%d + %s);", i,
               lfuse__memory_word(operand(w, j)->type), j, j, lfuse__look_up_offset(&w->t, i).text);
    lfuse__put(w->t.out, indent + 2, "}");
    lfuse__put(w->t.out, indent + 1, "}");
    lfuse__put(w->t.out, indent + 1, "g%d = LANES_%s(s_);", i, own);
    lfuse__put(w->t.out, indent, "}");
}

static void put_body(const writer *w, int indent, const bool *needed)
{
    for (int i = 0; i < w->t.k->body->ninstr; i++) {
        if (!needed[i] || i == w->scan) continue;
        if (lfuse__is_gather(w->t.k, &w->t.k->body->instr[i])) {
            put_gather(w, indent, i);
            lfuse__put_instr(&w->t, indent, i, "");
        } else {
            lfuse__put_instr(&w->t, indent, i, "[k]");
        }
    }
}

static void put_make(const void *context, int which, int indent)
{
    const writer *w = context;
    (void)which;
    put_body(w, indent, w->make);
}

static void put_finish(const void *context, int which, int indent)
{
    const writer *w = context;
    const lfuse__body *body = w->t.k->body;
    (void)which;
    put_body(w, indent, w->finish);
    for (int i = 0; i < body->nstores; i++)
        lfuse__put(w->t.out, indent, w->across ? "y%d[k] = r%d;" : "y%d[i] = r%d;", body->stores[i].operand,
                   body->stores[i].reg);
}

/* ---- the kernel ---- */

/* Work-items of a group: where each has a row, few, as rows may be few and all compute units are to have some. */
static int items(const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    if (lfuse__single(facts)) return 1;
    if (!k->scan.team) return 2 * LFUSE__TEAM;
    return k->scan.team > LFUSE__TEAM ? k->scan.team : LFUSE__GROUP;
}

/* <name>_combine, which puts two values together. */
static void put_combine(const writer *w, const char *name)
{
    const lfuse__instr *scan = &w->t.k->body->instr[w->scan];
    const uint8_t type = scan->type;
    lfuse__instr instr[] = {
        {.kind = LFUSE__I_LOAD, .type = type, .a = 0, .b = -1, .c = -1},
        {.kind = LFUSE__I_LOAD, .type = type, .a = 1, .b = -1, .c = -1},
        {.kind = LFUSE__I_APPLY, .op = (uint8_t)lfuse__scan_op((lfuse__reduce)scan->op), .type = type, .a = 0, .b = 1,
         .c = -1},
    };
    const lfuse__body body = {.ninstr = 3, .instr = instr};
    const lfuse__kernel_class two = {.body = &body, .noperands = 2};
    const char *word = lfuse__register_word((lfuse_type)type);
    lfuse__text t;
    lfuse__text_init(&t, w->t.out, &two, NULL);
    lfuse__put(t.out, 0, "FN L_%s %s_combine(L_%s r0, L_%s r1)", word, name, word, word);
    lfuse__put(t.out, 0, "{");
    lfuse__put_instr(&t, 1, 2, "");
    lfuse__put(t.out, 1, "return r2;");
    lfuse__put(t.out, 0, "}");
}

static lfuse_status writer_init(writer *w, lfuse__strbuf *out, const lfuse__kernel_class *k,
                                const lfuse__layout *layout, const lfuse__facts *facts)
{
    const lfuse__body *body = k->body;
    bool stop[MOST_INSTR] = {false};
    *w = (writer){.scan = -1, .across = !k->scan.team, .lanes = facts->vector_lanes};
    if (body->ninstr > MOST_INSTR)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a scan of %d instructions; at most %d", body->ninstr, MOST_INSTR);
    for (int i = 0; i < body->ninstr; i++) {
        if (body->instr[i].kind != LFUSE__I_REDUCE) continue;
        if (w->scan >= 0 || body->instr[i].op < LFUSE__REDUCE_COUNT)
            return lfuse__error(LFUSE_ERR_INVALID, "instruction %d: a kernel has one scan, and no reduction", i);
        w->scan = i;
    }
    if (w->scan < 0 || k->naxes != 1) return lfuse__error(LFUSE_ERR_INVALID, "a scan along %d axes", k->naxes);
    lfuse__text_init(&w->t, out, k, layout);
    w->t.vector = QUAD;
    w->t.slots = w->across ? LINE : k->scan.held;
    w->make[body->instr[w->scan].a] = true;
    lfuse__body_needs(body, NULL, w->make);
    stop[w->scan] = true;
    for (int i = 0; i < body->nstores; i++) w->finish[body->stores[i].reg] = true;
    lfuse__body_needs(body, stop, w->finish);
    return LFUSE_OK;
}

/* Whether the texts are written for such a mapping. */
static lfuse_status mapping_check(const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    const int team = k->scan.team, held = k->scan.held;
    const bool power = !(team & (team - 1)) && !(held & (held - 1));
    const bool several = team > LFUSE__TEAM;
    if (!team ? !held
              : !lfuse__single(facts) && power && team <= 1024 && held >= QUAD && held <= MOST_HELD &&
                    (several ? team * held <= BLOCKS * WARP_BLOCK : held == QUAD))
        return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_INVALID, "scans by %d work-items that hold %d elements", team, held);
}

static lfuse_status emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    static const lfuse__text_place places[] = {
        {"MEMORY", put_memory, 0}, {"ROW", put_row, 0}, {"LANES", put_lanes, 0}, {"ARRAYS", put_arrays, 0},
        {"LOAD", put_loads, LOAD}, {"LOAD_LANES", put_loads, LOAD_LANES}, {"MAKE", put_make, 0},
        {"FINISH", put_finish, 0}, {"STORE", put_stores, STORE}, {"STORE_LANES", put_stores, STORE_LANES},
        {NULL, NULL, 0},
    };
    const int team = k->scan.team, shuffled = team < LFUSE__TEAM ? team : LFUSE__TEAM;
    const int warps = team > LFUSE__TEAM ? team / LFUSE__TEAM : 1;
    lfuse__layout layout;
    writer w;

    LFUSE__TRY(lfuse__class_check(name, k, facts));
    LFUSE__TRY(mapping_check(k, facts));
    lfuse__layout_make(k, &layout);
    LFUSE__TRY(lfuse__layout_check(k, &layout));
    LFUSE__TRY(writer_init(&w, out, k, &layout, facts));
    const lfuse__expr value = lfuse__expression("r%d", k->body->instr[w.scan].a);
    const lfuse__expr result = lfuse__expression("r%d", w.scan), combine = lfuse__expression("%s_combine", name);
    const lfuse__parameter parameters[] = {
        {"NAME", .word = name}, {"ITEMS", .number = items(k, facts)}, {"WORDS", .number = layout.total},
        {"BUFFERS", .number = lfuse__kernel_buffers(k)}, {"SIDE_BY_SIDE", .number = !team},
        {"SINGLE", .number = lfuse__single(facts)},
        {"T", .word = lfuse__register_word((lfuse_type)k->body->instr[w.scan].type)}, {"UX", .word = w.t.ux},
        {"VALUE", .word = value.text}, {"RESULT", .word = result.text}, {"COMBINE", .word = combine.text},
        {"ROWS", .number = layout.count}, {"LENGTH", .number = layout.length}, {"WIDTH", .number = shuffled},
        {"SEVERAL", .number = team > LFUSE__TEAM}, {"WARPS", .number = warps},
        {"TEAMS", .number = team && team < LFUSE__GROUP && warps == 1 ? LFUSE__GROUP / team : 1},
        {"BLOCKS", .number = warps * (k->scan.held ? k->scan.held / QUAD : 1)},
        {"HELD", .number = k->scan.held / QUAD}, {NULL},
    };
    lfuse__put_powers(out, k->body);
    put_combine(&w, name);
    lfuse__put_text(out, 0, lfuse__text_scan, parameters, places, &w);
    return lfuse__strbuf_check(out);
}

/* ---- launches ---- */

/* Whether elements lie apart along the row, so that those of neighbouring rows are neighbours. */
static bool strided(const lfuse__kernel_class *k)
{
    bool any = false;
    for (int j = 0; j < k->noperands; j++) {
        if (k->operands[j].inner == LFUSE__STRIDE_UNIT && !k->operands[j].index && !k->operands[j].fixed) return false;
        any = any || k->operands[j].inner == LFUSE__STRIDE_ANY;
    }
    return any;
}

/*
 * Rows of a block at most are a team's; longer ones a work-group's, whose work-items have one quad of up to eight
 * blocks, then several. Where rows are fewer than compute units all blocks of a chunk are work-items' of their own, as
 * far as the device has groups so large. Strided rows are a work-item's, so that neighbours read neighbours, where
 * there are enough of them.
 */
static void choose(const lfuse__facts *facts, uint64_t rows, uint64_t length, bool fixed, lfuse__kernel_class *k)
{
    const uint64_t units = facts->info.compute_units;
    int most = rows < units ? BLOCKS * LFUSE__TEAM : LFUSE__GROUP, team = 1, held = QUAD;
    (void)fixed;
    k->scan.team = k->scan.held = 0;
    if (lfuse__single(facts) || (strided(k) && rows >= units * ROWS_OF_UNIT)) return;
    while (facts->info.max_group && (unsigned)most > facts->info.max_group) most /= 2;
    while (team < most && (uint64_t)team * QUAD < length) team *= 2;
    while (held < MOST_HELD && team > LFUSE__TEAM && (uint64_t)team * (uint64_t)held < length &&
           team * held < BLOCKS * WARP_BLOCK)
        held *= 2;
    k->scan.team = team;
    k->scan.held = held;
}

static void rebind(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__geometry *g,
                   lfuse__packed *packed)
{
    lfuse__layout layout;
    lfuse__layout_make(k, &layout);
    lfuse__geometry_rebind(k, &layout, g, lfuse__single(facts) ? 0 : QUAD, packed);
}

static lfuse_status pack(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed)
{
    const uint64_t lanes = facts->vector_lanes ? 16 : 1;
    const int group = items(k, facts), team = k->scan.team;
    lfuse__layout layout;
    uint64_t each = 1;

    LFUSE__TRY(mapping_check(k, facts));
    lfuse__layout_make(k, &layout);
    LFUSE__TRY(lfuse__geometry_pack(k, &layout, g, packed));
    rebind(k, facts, g, packed);
    const uint64_t most = (uint64_t)team * (uint64_t)k->scan.held;
    if (team && most < BLOCKS * WARP_BLOCK && packed->words[layout.length] > most)
        return lfuse__error(LFUSE_ERR_INVALID, "rows of %llu elements in a kernel that holds %llu",
                            (unsigned long long)packed->words[layout.length], (unsigned long long)most);
    if (!team) each = (uint64_t)group * lanes;
    else if (team <= LFUSE__TEAM) each = (uint64_t)(LFUSE__GROUP / team);
    packed->group = (unsigned)group;
    packed->groups = lfuse__groups(facts, lfuse__single(facts), packed->words[layout.count], each);
    return LFUSE_OK;
}

static void key(const lfuse__kernel_class *k, lfuse__kernel_key *key)
{
    lfuse__key_add(key, k->scan.team);
    lfuse__key_add(key, k->scan.held);
}

const lfuse__kernel_family lfuse__family_scan = {
    .emit = emit, .key = key, .choose = choose, .pack = pack, .rebind = rebind,
    .buffers = lfuse__kernel_buffers, .launches = true,
};
