/* SPDX-License-Identifier: Apache-2.0 */
/* Row kernels of every form against the canonical fold in host C, bit for bit. */
#include "common/base/error.h"
#include "common/kernels/emit.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/host.h"
#include "tests/kernels/classes.h"
#include "tests/support/main.h"

enum { GUARD = 64 };

/* ---- the fold, as the header of common/kernels/rows.h says it ---- */
typedef struct folded {
    value v;
    int64_t index;
} folded;

static bool is_index(int op)
{
    return op == LFUSE__REDUCE_ARGMAX || op == LFUSE__REDUCE_ARGMIN;
}

static bool less(lfuse_type type, value a, value b)
{
    return type == LFUSE_F64 ? a.f64 < b.f64 : type == LFUSE_I64 ? a.i64 < b.i64
           : lfuse__is_integer(type)                             ? a.i32 < b.i32
                                                                 : a.f32 < b.f32;
}

static bool is_nan(lfuse_type type, value a)
{
    return type == LFUSE_F64 ? a.f64 != a.f64 : lfuse__is_floating(type) && a.f32 != a.f32;
}

/* Present elements alone are folded, so no identity is needed. */
static folded meet(int op, lfuse_type type, folded low, folded high)
{
    static const int operators[] = {LFUSE__OP_add, LFUSE__OP_mul, LFUSE__OP_max, LFUSE__OP_min};
    if (!is_index(op)) return (folded){.v = host_apply(operators[op], type, low.v, high.v)};
    const bool none = is_nan(type, low.v), other = is_nan(type, high.v);
    const bool up = less(type, op == LFUSE__REDUCE_ARGMAX ? low.v : high.v,
                         op == LFUSE__REDUCE_ARGMAX ? high.v : low.v);
    const bool down = less(type, op == LFUSE__REDUCE_ARGMAX ? high.v : low.v,
                           op == LFUSE__REDUCE_ARGMAX ? low.v : high.v);
    if (none || other) return none && (!other || low.index < high.index) ? low : high;
    return up || (!down && high.index < low.index) ? high : low;
}

static folded fold_segment(int op, lfuse_type type, const value *elements, int64_t from, int64_t count)
{
    folded lanes[128];
    for (int64_t e = 0; e < count; e++) {
        const folded one = {.v = elements[from + e], .index = from + e};
        lanes[e % 128] = e < 128 ? one : meet(op, type, lanes[e % 128], one);
    }
    for (int64_t h = 64; h; h /= 2)
        for (int64_t c = 0; c < h; c++)
            if (c + h < count) lanes[c] = meet(op, type, lanes[c], lanes[c + h]);
    return lanes[0];
}

static folded fold_row(int op, lfuse_type type, const value *elements, int64_t length)
{
    int64_t n = (length + LFUSE__SEGMENT - 1) / LFUSE__SEGMENT;
    folded *list = calloc((size_t)n + 1, sizeof *list), total;
    ck_assert_ptr_nonnull(list);
    for (int64_t s = 0; s < n; s++) {
        const int64_t left = length - s * LFUSE__SEGMENT;
        list[s] = fold_segment(op, type, elements, s * LFUSE__SEGMENT, left < LFUSE__SEGMENT ? left : LFUSE__SEGMENT);
    }
    for (; n > 1; n = (n + 1) / 2)
        for (int64_t i = 0; i < n; i += 2) list[i / 2] = i + 1 < n ? meet(op, type, list[i], list[i + 1]) : list[i];
    total = list[0]; /* of an empty row 0 */
    free(list);
    if (length == 0) total.v = host_convert((value){.f64 = op == LFUSE__REDUCE_PROD}, LFUSE_F64, type);
    return total;
}

value row_fold(int op, lfuse_type type, const value *elements, int64_t count)
{
    return fold_row(op, type, elements, count).v;
}

/* ---- one launch ---- */
typedef struct row_case {
    const sample *s;
    lfuse__geometry g;
    double numbers[2];
    arena arenas[LFUSE__MAX_OPERANDS];
    bool edges; /* memory ends with the last element */
} row_case;

static void walk(const lfuse__geometry *g, int from, int to, int64_t linear, int noperands, int64_t *element)
{
    for (int a = to - 1; a >= from; a--) {
        const int64_t i = linear % g->extents[a];
        linear /= g->extents[a];
        for (int j = 0; j < noperands; j++) element[j] += i * g->strides[j][a];
    }
}

static void expect_row(row_case *c, const int64_t *start, int64_t length)
{
    const lfuse__kernel_class *k = &c->s->k;
    const lfuse__body *body = k->body;
    const int kept = k->rank - k->naxes;
    value r[SAMPLE_INSTR], *taken = malloc((size_t)(length + 1) * sizeof *taken);
    void *from[LFUSE__MAX_OPERANDS];
    ck_assert_ptr_nonnull(taken);
    for (int j = 0; j < k->noperands; j++) from[j] = c->arenas[j].before + c->g.offsets[j];
    memset(r, 0, sizeof r);
    for (int i = 0; i < body->ninstr; i++) {
        const lfuse__instr *instr = &body->instr[i];
        if (instr->kind != LFUSE__I_REDUCE) continue;
        const lfuse_type have = body->instr[instr->a].type, type = is_index(instr->op) ? have : instr->type;
        for (int64_t e = 0; e < length; e++) {
            int64_t element[LFUSE__MAX_OPERANDS];
            memcpy(element, start, sizeof element);
            walk(&c->g, kept, k->rank, e, k->noperands, element);
            host_evaluate(k, c->numbers, from, element, r);
            taken[e] = host_convert(r[instr->a], have, type);
        }
        const folded f = fold_row(instr->op, type, taken, length);
        r[i] = is_index(instr->op) ? (value){.i64 = f.index} : f.v;
    }
    for (int64_t e = 0; e < length || e == 0; e++) {
        int64_t element[LFUSE__MAX_OPERANDS];
        memcpy(element, start, sizeof element);
        if (length) walk(&c->g, kept, k->rank, e, k->noperands, element);
        host_evaluate(k, c->numbers, from, element, r);
        for (int i = 0; i < body->nstores; i++) {
            const int j = body->stores[i].operand;
            if (e < length || c->s->of_row[j])
                host_store(c->arenas[j].expected + c->g.offsets[j], k->operands[j].type, element[j],
                           r[body->stores[i].reg]);
        }
    }
    free(taken);
}

static void fill(unsigned char *memory, lfuse_type type, size_t count, uint64_t seed, bool wild)
{
    host_fill(memory, type, count, seed);
    for (size_t i = 0; i < count; i++) {
        const uint64_t random = host_random(&seed);
        if (wild && random % 16 == 0) continue;
        host_put(memory, type, (int64_t)i, (double)(int64_t)host_random(&seed) * 0x1p-62 * (random & 32 ? 1 : 40));
    }
}

/* Where operand j lies: rows `pitch` apart, elements `step`. */
static void place(row_case *c, int j, int64_t pitch, int64_t step, int shift, int64_t rows, int64_t length, bool wild)
{
    const lfuse__kernel_class *k = &c->s->k;
    const int kept = k->rank - k->naxes;
    const size_t size = lfuse__type_bytes(k->operands[j].type);
    int64_t reach = 1;
    if (c->s->of_row[j]) step = 0;
    for (int a = k->rank - 1, walked = 1; a >= 0; a--) {
        const int64_t stride = a >= kept ? step * walked : pitch * walked;
        c->g.strides[j][a] = k->operands[j].fixed && a < kept ? 0 : stride;
        walked = a == kept ? 1 : walked * (int)c->g.extents[a];
    }
    reach += pitch * (rows - 1) + step * (length ? length - 1 : 0);
    /* Apart from a straight walk: the inner one of two reduced axes skips an element at its end. */
    if (k->operands[j].inner == LFUSE__STRIDE_SPLIT)
        for (int a = kept; a < k->rank - 1; a++) c->g.strides[j][a] += step;
    const size_t around = c->edges ? GUARD + (size_t)shift : (size_t)rows + 2 * GUARD + (size_t)length;
    c->arenas[j] = arena_make(((size_t)reach + around) * size + (c->edges ? 0 : 64), 0x7f);
    c->g.offsets[j] = (GUARD + (uint64_t)shift) * size;
    c->g.addresses[j] = c->g.offsets[j];
    fill(c->arenas[j].memory, k->operands[j].type, c->arenas[j].bytes / size, 3 + (uint64_t)j + (uint64_t)length, wild);
    arena_keep(&c->arenas[j]);
}

/* PARTIAL and FOLD, with memory between them that lies behind a guard zone. */
static void launch_stages(rig *r, lfuse__bprogram *program, const char *name, row_case *c, uint64_t rows,
                          uint64_t length, rig_buffer *buffers)
{
    lfuse__kernel_class fold = c->s->k;
    const uint64_t bytes = lfuse__rows_partials(&fold, &r->facts, rows, length);
    lfuse__packed packed;
    char other[64];
    unsigned char *between = rig_memory(bytes + 2 * GUARD, 0xee);
    fold.rows.form = LFUSE__ROWS_FOLD;
    c->g.partials = GUARD;
    buffers[fold.noperands] = (rig_buffer){between, bytes + 2 * GUARD, true};
    OK(lfuse__family_rows.pack(&c->s->k, &r->facts, &c->g, &packed));
    rig_launch(r, program, name, &packed, fold.noperands + 1, buffers);
    OK(lfuse__family_rows.pack(&fold, &r->facts, &c->g, &packed));
    snprintf(other, sizeof other, "%s_fold", name);
    rig_launch(r, program, other, &packed, fold.noperands + 1, buffers);
    for (int i = 0; i < GUARD; i++) ck_assert(between[i] == 0xee && between[bytes + GUARD + (uint64_t)i] == 0xee);
    free(between);
}

static void run_case(rig *r, lfuse__bprogram *program, const char *name, const sample *s, int64_t rows,
                     int64_t length, int shift, bool wild)
{
    const lfuse__kernel_class *k = &s->k;
    const int kept = k->rank - k->naxes;
    row_case c = {.s = s, .numbers = {1.0 / (double)(length ? length : 1), 0.01}, .edges = r->edges};
    rig_buffer buffers[LFUSE__MAX_OPERANDS + 1];
    lfuse__packed packed;
    char what[160];
    snprintf(what, sizeof what, "%s %s: %s: %lld rows of %lld, shift %d", r->facts.info.name,
             lfuse_type_name(k->operands[0].type), name, (long long)rows, (long long)length, shift);
    for (int a = 0; a < k->rank; a++) c.g.extents[a] = 1;
    c.g.extents[0] = rows;
    if (kept == 2) c.g.extents[0] = rows / 3, c.g.extents[1] = 3;
    if (kept == 0) c.g.extents[0] = length;
    c.g.extents[k->rank - 1] = length;
    if (k->naxes == 2) c.g.extents[k->rank - 2] = length % 5 ? 1 : 5, c.g.extents[k->rank - 1] /= length % 5 ? 1 : 5;
    rows = kept == 2 ? rows / 3 * 3 : kept ? rows : 1;
    for (int j = 0; j < k->noperands; j++) {
        const bool any = k->operands[j].inner == LFUSE__STRIDE_ANY;
        const int64_t step = any ? (shift & 1 ? rows + 1 : 3) : 1;
        const int64_t pitch = s->of_row[j] ? 1 : any && shift & 1 ? 1 : (length + 5 * (k->naxes == 2)) * step + shift;
        place(&c, j, pitch, step, shift == 2 ? 4 : shift, rows, length, wild);
        buffers[j] = (rig_buffer){c.arenas[j].memory, c.arenas[j].bytes, k->operands[j].written};
    }
    c.g.numbers = c.numbers;
    ck_assert_msg(!lfuse__family_rows.pack(k, &r->facts, &c.g, &packed), "%s: %s", what, lfuse__error_message());
    for (int64_t row = 0; row < rows; row++) {
        int64_t start[LFUSE__MAX_OPERANDS] = {0};
        walk(&c.g, 0, kept, row, k->noperands, start);
        expect_row(&c, start, length);
    }
    if (k->rows.form == LFUSE__ROWS_PARTIAL)
        launch_stages(r, program, name, &c, (uint64_t)rows, (uint64_t)length, buffers);
    else
        rig_launch(r, program, name, &packed, k->noperands, buffers);
    for (int j = 0; j < k->noperands; j++) {
        const lfuse_type type = k->operands[j].type;
        arena_check(&c.arenas[j], type, (int64_t)(c.g.offsets[j] / lfuse__type_bytes(type)), "%s: operand %d", what, j);
        arena_free(&c.arenas[j]);
    }
}

/* ---- which ---- */
typedef struct form {
    lfuse__row_form form;
    int team, held;
    bool whole;
} form;

/* How rows lie. */
typedef struct lie {
    lfuse__stride_class inner;
    int rank, naxes;
    bool index64;
} lie;
static const lie lies[] = {
    {LFUSE__STRIDE_UNIT, 2, 1, false}, {LFUSE__STRIDE_UNIT, 3, 1, true}, {LFUSE__STRIDE_ANY, 2, 1, false},
    {LFUSE__STRIDE_SPLIT, 4, 2, false}, {LFUSE__STRIDE_UNIT, 1, 1, false}, {LFUSE__STRIDE_SPLIT, 3, 2, true}};
enum { LIES = sizeof lies / sizeof *lies, FORMS = 21, KERNELS = FORMS * LIES * ROW_BODIES };

static const form single[] = {{LFUSE__ROWS_TEAM, 1, 0, false}, {LFUSE__ROWS_ITEM, 1, 0, false},
                              {LFUSE__ROWS_PARTIAL, 0, 0, false}, {LFUSE__ROWS_PARTIAL, 1, 0, false}};
static const form teams[] = {
    {LFUSE__ROWS_TEAM, 1, 4, false},   {LFUSE__ROWS_TEAM, 2, 16, false},  {LFUSE__ROWS_TEAM, 4, 32, true},
    {LFUSE__ROWS_TEAM, 8, 8, false},   {LFUSE__ROWS_TEAM, 16, 4, false},  {LFUSE__ROWS_TEAM, 16, 16, true},
    {LFUSE__ROWS_TEAM, 16, 16, false}, {LFUSE__ROWS_TEAM, 32, 16, false}, {LFUSE__ROWS_TEAM, 32, 32, false},
    {LFUSE__ROWS_GROUP, 64, 32, false},
    {LFUSE__ROWS_GROUP, 256, 32, false}, {LFUSE__ROWS_GROUP, 1024, 32, false}, {LFUSE__ROWS_GROUP, 128, 0, false},
    {LFUSE__ROWS_ITEM, 1, 0, false},  {LFUSE__ROWS_ITEM, 8, 0, false}, {LFUSE__ROWS_PARTIAL, 0, 8, false},
    {LFUSE__ROWS_PARTIAL, 32, 0, false}, {LFUSE__ROWS_ITEM, 32, 0, false}, {LFUSE__ROWS_PARTIAL, 0, 32, false},
    {LFUSE__ROWS_ITEM, 32, 64, true}, {LFUSE__ROWS_ITEM, 8, 1000, true}};

/*
 * Of a form and the strides some body, by turns; in one of three forms for strides that are not the plain ones, of
 * teams none: what compiles at launch are CPUs, which are never offered any.
 */
static bool in_turn(const form *f, int form_index, int lie_index, row_body body)
{
    return (form_index + lie_index + (int)body) % ROW_BODIES == 0 &&
           (lie_index == 0 || (f->team <= 1 && (form_index + lie_index) % 3 == 0));
}

static bool chosen(const form *f, int lie_index, row_body body, lfuse_type type)
{
    /* All kinds of strides for every form, most of them with one body; every body in every form. */
    if (f->whole && f->form != LFUSE__ROWS_ITEM && lie_index > 0) return false;
    if (f->form == LFUSE__ROWS_PARTIAL && body == ROW_NORM) return false;
    if ((f->form == LFUSE__ROWS_ITEM || (f->form == LFUSE__ROWS_PARTIAL && f->team == 0)) && lie_index == 2)
        return true;
    if (lie_index == 0) return true;
    return type == LFUSE_F32 && (int)body == (lie_index + (int)f->form) % ROW_BODIES;
}

/* Extremes of nothing are refused before a kernel is made. */
static bool may_be_empty(const lfuse__body *body)
{
    for (int i = 0; i < body->ninstr; i++)
        if (body->instr[i].kind == LFUSE__I_REDUCE && body->instr[i].op >= LFUSE__REDUCE_MAX) return false;
    return true;
}

/* On CPUs, where they take long, every other one: what one kernel leaves out the next one has. */
static void run_lengths(rig *r, lfuse__bprogram *program, const char *name, const sample *s, int turn)
{
    static const int64_t lengths[] = {0,    1,    3,    31,   127,  128,   129,   1000,
                                      1023, 1024, 1025, 4096, 5000, 16384, 20000, 100000};
    /* What a team holds; of parts of columns `held` says how many share a segment. */
    const uint64_t held = lfuse__rows_held(&s->k.rows);
    const int64_t most = held ? (int64_t)held : INT64_MAX;
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const int64_t n = lengths[i], rows = n > 4000 ? 3 : n > 1000 ? 5 : n > 200 ? 18 : 70;
        if (r->facts.info.kind == LFUSE_DEVICE_CPU && !test_all() && n > 1 && ((int)i + turn) % 2) continue;
        if (n == 0 && s->k.rows.form == LFUSE__ROWS_PARTIAL) continue;
        if (n > most || (s->k.rows.whole && n != most) || (n == 0 && !may_be_empty(&s->body))) continue;
        for (int shift = 0; shift < (n > 2000 ? 1 : 3); shift++)
            run_case(r, program, name, s, rows, n, shift, shift == 1);
    }
    if (most < INT64_MAX) run_case(r, program, name, s, most > 4000 ? 5 : 70, most, 0, false);
}

static void sample_of(sample *s, const form *f, const lie *l, row_body body, lfuse_type type)
{
    sample_rows(s, body, type);
    sample_rows_inner(s, l->inner);
    s->k.rank = l->rank, s->k.naxes = l->naxes, s->k.index64 = l->index64;
    s->k.rows = (lfuse__row_mapping){.form = f->form, .team = f->team, .held = f->held, .whole = f->whole};
}

/* The kernel, and what folds its parts. */
static void emit(const rig *r, lfuse__strbuf *text, const char *name, const sample *s)
{
    lfuse__kernel_class fold = s->k;
    char other[64];
    ck_assert_msg(!lfuse__family_rows.emit(text, name, &s->k, &r->facts), "%s: %s", name, lfuse__error_message());
    if (s->k.rows.form != LFUSE__ROWS_PARTIAL) return;
    fold.rows.form = LFUSE__ROWS_FOLD;
    snprintf(other, sizeof other, "%s_fold", name);
    ck_assert_msg(!lfuse__family_rows.emit(text, other, &fold, &r->facts), "%s: %s", other, lfuse__error_message());
}

static void run_forms(rig *r, lfuse_type type, const form *forms, int count)
{
    static sample samples[KERNELS];
    static char names[KERNELS][48];
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    int n = 0;
    for (int f = 0; f < count; f++)
        for (int l = 0; l < LIES; l++)
            for (row_body b = 0; b < ROW_BODIES; b++) {
                sample *s = &samples[n];
                if (!row_body_fits(b, type) || !chosen(&forms[f], l, b, type)) continue;
                if (r->facts.compiles_at_launch && !test_all() && !in_turn(&forms[f], f, l, b)) continue;
                sample_of(s, &forms[f], &lies[l], b, type);
                snprintf(names[n], sizeof names[n], "rows_f%d_t%d_h%d%s_lie%d_body%d", (int)forms[f].form,
                         forms[f].team, forms[f].held, forms[f].whole ? "w" : "", l, (int)b);
                emit(r, &text, names[n], s);
                n++;
            }
    lfuse__bprogram *program = rig_program(r, &text);
    for (int i = 0; i < n; i++) run_lengths(r, program, names[i], &samples[i], i);
    r->backend->program_destroy(program);
}

void case_rows(rig *r, lfuse_type type)
{
    if (lfuse__single(&r->facts))
        run_forms(r, type, single, sizeof single / sizeof *single);
    else
        run_forms(r, type, teams, sizeof teams / sizeof *teams);
}

/* Lengths within a team's 64 elements, in vectors and one by one, between guards and at the end of memory. */
static void run_held(rig *r, lfuse__bprogram *program, const char *name, const sample *s)
{
    static const int64_t lengths[] = {1, 31, 64};
    for (int i = 0; i < 6; i++) {
        r->edges = i % 2;
        run_case(r, program, name, s, 5, lengths[i / 2], 0, false);
    }
    r->edges = false;
}

void case_rows_by_teams(rig *r)
{
    /* The stub's words for work-items that all run at the same time, which those of teams have to. */
    static const char words[] = "#undef KERNEL\n"
                                "#define KERNEL(name, size, nwords, p) KERNEL_OCCUPANCY(name, size, 1, nwords, p)\n"
                                "#define TEAM(size)\n";
    static const form team = {LFUSE__ROWS_TEAM, 8, 8, false}, partial = {LFUSE__ROWS_PARTIAL, 0, 8, false};
    static sample held, parts;
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    sample_of(&held, &team, &lies[0], ROW_SUM, LFUSE_F32);
    sample_of(&parts, &partial, &lies[2], ROW_SUM, LFUSE_F32);
    lfuse__strbuf_add(&text, words);
    emit(r, &text, "held", &held);
    emit(r, &text, "parts", &parts);
    lfuse__bprogram *program = rig_program(r, &text);
    run_held(r, program, "held", &held);
    run_case(r, program, "parts", &parts, 5, 2500, 0, false); /* of 3 segments, where a work-item folds up to 8 */
    r->backend->program_destroy(program);
}
