/* SPDX-License-Identifier: Apache-2.0 */
/* Every operator of every type and every skeleton in every class, compiled by NVRTC; no GPU is needed. */
#include "backends/cuda/internal.h"
#include "backends/cuda/program.h"
#include "common/base/error.h"
#include "common/kernels/families.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/networks.h"
#include "tests/support/main.h"

/* Those of embed.awk, as the backend has them. */
#include "backends/cuda/prelude.k.h"

/*
 * For the first one no code is made, but for a run of everything: the front end says what is wrong with a text in a
 * tenth of the time, and what makes code has the texts of the others.
 */
static const char *const archs[] = {"compute_75", "sm_80", "sm_90a", "sm_120"};
enum { ARCHS = sizeof archs / sizeof *archs, SHARES = 6 * (ARCHS - 1) /* in which later ones take turns */ };

static const char *arch(int i)
{
    return i == 0 && test_all() ? "sm_75" : archs[i];
}

typedef struct writer {
    lfuse__strbuf text;
    lfuse__facts facts;
    int kernels;
} writer;

static const char *next_name(writer *w)
{
    static char name[16];
    snprintf(name, sizeof name, "k%d", w->kernels++);
    return name;
}

/*
 * The first architecture compiles everything. What later ones add is another code generator behind the same front end:
 * where all of it would be many like kernels, each of them compiles those whose turn it is.
 */
static bool in_turn(int arch, int number)
{
    return arch == 0 || test_all() || number % SHARES == arch - 1;
}

/* Several operators a kernel and few elements a work-item: less to compile around each and fewer copies of it. */
static void write_operators(writer *w, lfuse_type type, int arch)
{
    sample s;
    int ops[SAMPLE_STORES], count = 0, n = (int)type;
    for (int op = 0; op < LFUSE__OP_COUNT; op++) {
        if (sample_fits(op, type)) ops[count++] = op;
        if (count == 0 || (count < SAMPLE_STORES && op < LFUSE__OP_COUNT - 1)) continue;
        sample_many(&s, count, ops, type);
        sample_narrow(&s);
        if (in_turn(arch, n++)) OK(lfuse__family_pointwise.emit(&w->text, next_name(w), &s.k, &w->facts));
        count = 0;
    }
    for (lfuse_type to = LFUSE_F32; to < LFUSE__TYPES; to++) {
        sample_cast(&s, type, to);
        sample_narrow(&s);
        if (in_turn(arch, n++)) OK(lfuse__family_pointwise.emit(&w->text, next_name(w), &s.k, &w->facts));
    }
}

/*
 * Whether class number `c` of rank, inner stride and index width is compiled. For the first architecture: every rank
 * with both widths and every inner stride up to rank 2, above it one after the other; other types than f32, whose texts
 * differ in the words of loads and stores alone, at rank 2. Later architectures share these between them.
 */
static bool class_chosen(lfuse_type type, int c, int arch)
{
    const int rank = c / 6 + 1, inner = c / 2 % 3, wide = c % 2;
    if (type != LFUSE_F32) return rank == 2 && in_turn(arch, c + (int)type);
    if (rank <= 2) return in_turn(arch, c);
    return inner == (rank + wide) % 3 && in_turn(arch, rank);
}

static const char *name_of(void *w)
{
    return next_name(w);
}

/* Two parts, of few members and of many, addresses by value or not. */
static void write_bundle(writer *w, lfuse_type type)
{
    sample fused, look_up;
    lfuse__bundle_part parts[2] = {{.members = 5}, {.members = 40}};
    lfuse__bundle *b;
    lfuse__facts facts = w->facts;
    facts.info.max_argument_bytes = 32764;
    facts.addresses = type != LFUSE_F16;
    sample_fused(&fused, type);
    sample_look_up(&look_up, type, false);
    parts[0].k = fused.k;
    parts[1].k = look_up.k;
    parts[0].differs[0] = parts[1].differs[0] = 0xf0f;
    OK(lfuse__bundle_create(2, parts, &b));
    OK(lfuse__bundle_emit(&w->text, next_name(w), b, &facts));
    lfuse__bundle_destroy(b);
}

/* Lists by tables, and of f32 by arguments of both limits; of other types the rest of the text is another. */
static void write_lists(writer *w, lfuse_type type)
{
    static const uint32_t bytes[] = {0, 4096, 32764};
    for (int i = 0; i < (type == LFUSE_F32 ? 3 : 1); i++) {
        sample fused;
        lfuse__facts facts = w->facts;
        facts.addresses = i < 2;
        sample_fused(&fused, type);
        fused.k.list.carried = lfuse__carried_most(&fused.k, LFUSE__CARRY_CHUNKS, &facts, bytes[i]);
        OK(lfuse__family_multi.emit(&w->text, next_name(w), &fused.k, &facts));
        fused.k.list.groups = 3;
        fused.k.list.carried = lfuse__carried_most(&fused.k, LFUSE__CARRY_CHUNKS, &facts, bytes[i]);
        OK(lfuse__family_multi.emit(&w->text, next_name(w), &fused.k, &facts));
    }
    sample uniform;
    sample_uniform(&uniform);
    if (type == LFUSE_F32) OK(lfuse__family_multi.emit(&w->text, next_name(w), &uniform.k, &w->facts));
    for (int i = 0; i < 3 && type == LFUSE_F32; i++) {
        sample counted;
        lfuse__facts facts = w->facts;
        facts.addresses = i < 2;
        sample_counted(&counted);
        counted.k.list.carried = lfuse__carried_most(&counted.k, LFUSE__CARRY_CHUNKS, &facts, bytes[i]);
        OK(lfuse__family_multi.emit(&w->text, next_name(w), &counted.k, &facts));
    }
    for (int i = 0; i < (type == LFUSE_F32 ? 3 : 1); i++) {
        char partial[24], last[24];
        lfuse__facts facts = w->facts;
        facts.addresses = i < 2;
        snprintf(partial, sizeof partial, "%s", next_name(w));
        snprintf(last, sizeof last, "%s", next_name(w));
        members_emit(&w->text, partial, last, type, &facts, bytes[i]);
        lines_emit(&w->text, name_of, w, type, &facts, bytes[i]);
        if (type <= LFUSE_F64) grouped_emit(&w->text, next_name(w), type, &facts, bytes[i]);
    }
}

/* Of other types than f32 the sums alone are other texts. */
static void write_scatter(writer *w, lfuse_type type)
{
    for (int phase = LFUSE__SCATTER_KEYS; phase <= LFUSE__SCATTER_SUM; phase++) {
        lfuse__kernel_class k;
        if (type != LFUSE_F32 && phase != LFUSE__SCATTER_SUM) continue;
        lfuse__scatter_class((lfuse__scatter_phase)phase, type, LFUSE_I32, &k);
        OK(lfuse__family_scatter.emit(&w->text, next_name(w), &k, &w->facts));
    }
}

static void write_skeletons(writer *w, lfuse_type type, int arch)
{
    sample s;
    for (int c = 0; c < 3 * 2 * LFUSE_MAX_RANK; c++) {
        const int rank = c / 6 + 1, inner = c / 2 % 3, wide = c % 2;
        if (!class_chosen(type, c, arch)) continue;
        sample_fused(&s, type);
        if (rank > 2) sample_narrow(&s);
        s.k.rank = rank, s.k.index64 = wide, s.k.operands[1].inner = (lfuse__stride_class)inner;
        OK(lfuse__family_pointwise.emit(&w->text, next_name(w), &s.k, &w->facts));
    }
    for (int wide = 0; wide < 2; wide++) {
        sample_look_up(&s, type, wide);
        s.k.index64 = wide;
        if (in_turn(arch, 2 * (int)type + wide))
            OK(lfuse__family_pointwise.emit(&w->text, next_name(w), &s.k, &w->facts));
    }
    if (in_turn(arch, (int)type)) write_bundle(w, type);
    if (in_turn(arch, (int)type)) write_lists(w, type);
    if (in_turn(arch, (int)type + 1)) write_scatter(w, type);
}

/* Compiles as far as code for the linker's optimiser, which is what the front end hands on. */
static lfuse_status translate(const char *source, const char *arch, lfuse__strbuf *log)
{
    char architecture[64], words[4096] = "";
    const char *const options[] = {architecture, "--std=c++17", "-dlto"};
    nvrtcProgram program;
    size_t size = 0;
    LFUSE__TRY(lfuse__cu_load_compiler());
    snprintf(architecture, sizeof architecture, "--gpu-architecture=%s", arch);
    ck_assert_int_eq(lfuse__nvrtc.CreateProgram(&program, source, "libfuse.cu", 0, NULL, NULL), NVRTC_SUCCESS);
    const nvrtcResult result = lfuse__nvrtc.CompileProgram(program, (int)(sizeof options / sizeof *options), options);
    if (lfuse__nvrtc.GetProgramLogSize(program, &size) == NVRTC_SUCCESS && size <= sizeof words)
        lfuse__nvrtc.GetProgramLog(program, words);
    lfuse__strbuf_add(log, words);
    lfuse__nvrtc.DestroyProgram(&program);
    return result == NVRTC_SUCCESS ? LFUSE_OK
                                   : lfuse__error(LFUSE_ERR_COMPILE, "%s", lfuse__nvrtc.GetErrorString(result));
}

/* False when there is no NVRTC here, with the reason as this thread's message. */
static bool compile(const writer *w, const char *arch, lfuse__strbuf *binary)
{
    lfuse__strbuf source = LFUSE__STRBUF_INIT, log = LFUSE__STRBUF_INIT;
    lfuse__strbuf_add(&source, lfuse__text_prelude);
    lfuse__strbuf_add(&source, w->text.data);
    const bool code = arch != archs[0];
    const lfuse_status status = code ? lfuse__cuda_compile(source.data, arch, &log, binary)
                                     : translate(source.data, arch, &log);
    ck_assert_msg(status == LFUSE_OK || status == LFUSE_ERR_LIBRARY, "%s, %d kernels: %s\n%s", arch, w->kernels,
                  lfuse__error_message(), log.data);
    if (status == LFUSE_OK && code) ck_assert_uint_gt(binary->length, 1000);
    lfuse__strbuf_free(&source);
    lfuse__strbuf_free(&log);
    return status == LFUSE_OK;
}

static bool compiles(writer *w, const char *arch)
{
    lfuse__strbuf binary = LFUSE__STRBUF_INIT;
    const bool done = compile(w, arch, &binary);
    lfuse__strbuf_free(&binary);
    lfuse__strbuf_free(&w->text);
    return done;
}

TEST_CASE("cubin")

TEST_LOOP(operators, 0, ARCHS)
{
    writer w = {.text = LFUSE__STRBUF_INIT, .facts = facts_items(true)};
    for (lfuse_type type = LFUSE_F32; type < LFUSE__TYPES; type++) write_operators(&w, type, _i);
    if (!compiles(&w, arch(_i))) TEST_SKIP("%s", lfuse__error_message());
}

TEST_LOOP(skeletons, 0, ARCHS)
{
    writer w = {.text = LFUSE__STRBUF_INIT, .facts = facts_items(true)};
    for (lfuse_type type = LFUSE_F32; type <= LFUSE_F64; type++) write_skeletons(&w, type, _i);
    OK(lfuse__family_table.emit(&w.text, next_name(&w), NULL, &w.facts));
    arrive_emit(&w.text);
    if (!compiles(&w, arch(_i))) TEST_SKIP("%s", lfuse__error_message());
}

TEST_CASE("rows")

/*
 * Row kernels by form: every body of f32 in each for the first architecture, an eighth of the other types there, and a
 * part of all for each of the others, which share the look-ups.
 */
TEST_LOOP(rows, 0, ARCHS)
{
    static const struct {
        lfuse__row_form form;
        int team, held;
        bool whole;
    } forms[] = {{LFUSE__ROWS_TEAM, 1, 4, false},  {LFUSE__ROWS_TEAM, 8, 8, false}, {LFUSE__ROWS_TEAM, 16, 16, true},
                 {LFUSE__ROWS_TEAM, 32, 32, false}, {LFUSE__ROWS_GROUP, 128, 32, true},
                 {LFUSE__ROWS_GROUP, 512, 0, false}, {LFUSE__ROWS_GROUP, 1024, 32, false},
                 {LFUSE__ROWS_ITEM, 1, 0, false},    {LFUSE__ROWS_ITEM, 8, 0, false},
                 {LFUSE__ROWS_ITEM, 32, 64, true},
                 {LFUSE__ROWS_PARTIAL, 0, 8, false}, {LFUSE__ROWS_PARTIAL, 32, 0, false},
                 {LFUSE__ROWS_FOLD, 0, 8, false}};
    const bool shares = _i && !test_all();
    writer w = {.text = LFUSE__STRBUF_INIT, .facts = facts_items(true)};
    for (lfuse_type type = LFUSE_F32; type < LFUSE__TYPES; type++)
        for (int f = 0; f < (int)(sizeof forms / sizeof *forms); f++)
            for (row_body b = 0; b < ROW_BODIES; b++) {
                sample s;
                if (forms[f].form >= LFUSE__ROWS_PARTIAL && b == ROW_NORM) continue;
                const int share = test_all() || (type == LFUSE_F32 && !_i) ? 1 : _i ? 24 : 8;
                if (!row_body_fits(b, type) || (f + (int)type + _i) % share) continue;
                sample_rows(&s, b, type);
                s.k.rows = (lfuse__row_mapping){.form = forms[f].form, .team = forms[f].team, .held = forms[f].held,
                                                .whole = forms[f].whole};
                s.k.index64 = (f + (int)b) % 2;
                if (f % 2 && !s.k.rows.whole) {
                    sample_rows_inner(&s, f % 3 ? LFUSE__STRIDE_SPLIT : LFUSE__STRIDE_ANY);
                    s.k.rank = 4, s.k.naxes = f % 3 ? 2 : 1;
                }
                OK(lfuse__family_rows.emit(&w.text, next_name(&w), &s.k, &w.facts));
            }
    row_look_ups_emit(&w.text, &w.facts, shares ? _i - 1 : 0, shares ? SHARES : 1);
    if (!compiles(&w, arch(_i))) TEST_SKIP("%s", lfuse__error_message());
}

TEST_CASE("scans")

/* Bytes of the frames of all kernels: attributes of their code, 04 11 08 00, which kernel, how many bytes. */
static uint32_t frames(const lfuse__strbuf *binary, int *kernels)
{
    static const unsigned char attribute[] = {0x04, 0x11, 0x08, 0x00};
    uint32_t sum = 0, bytes;
    *kernels = 0;
    for (size_t i = 0; i + 12 <= binary->length; i += 4) {
        if (memcmp(binary->data + i, attribute, sizeof attribute)) continue;
        memcpy(&bytes, binary->data + i + 8, sizeof bytes);
        sum += bytes;
        ++*kernels;
    }
    return sum;
}

/* x * x scanned, and what that gives less x: a factor that has an element for each is loaded beside it. */
static void scan_make(sample *s, lfuse__reduce scan, lfuse_type type)
{
    const lfuse_type wide = lfuse__register_type(type);
    sample_square(s, type);
    s->k.family = LFUSE__FAMILY_SCAN;
    s->k.rank = 2, s->k.naxes = 1;
    const int sum = sample_reduce(s, scan, wide, 1);
    s->stores[0].reg = (int16_t)sample_apply(s, LFUSE__OP_sub, wide, sum, 0);
}

/* Every scan by every mapping: in registers, whatever the row's length is. */
TEST_LOOP(scans, 0, ARCHS)
{
    static const struct {
        int team, held;
    } mappings[] = {{0, 0}, {1, 4}, {16, 4}, {32, 4}, {128, 4}, {256, 8}, {256, 16}, {1024, 4}};
    static const lfuse_type types[] = {LFUSE_F32, LFUSE_F16, LFUSE_F64, LFUSE_I64};
    writer w = {.text = LFUSE__STRBUF_INIT, .facts = facts_items(true)};
    lfuse__strbuf binary = LFUSE__STRBUF_INIT;
    int kernels, scan;
    for (int m = 0; m < (int)(sizeof mappings / sizeof *mappings); m++)
        for (int t = 0; t < (int)(sizeof types / sizeof *types); t++)
            for (scan = LFUSE__REDUCE_COUNT + 1; scan < LFUSE__FOLD_COUNT; scan++) {
                sample s;
                if (!lfuse__op_takes(lfuse__scan_op((lfuse__reduce)scan), types[t])) continue;
                if (t && (m + scan) % 5) continue;
                scan_make(&s, (lfuse__reduce)scan, types[t]);
                s.k.scan.team = mappings[m].team, s.k.scan.held = mappings[m].held;
                s.k.index64 = m % 2;
                if (m % 3 == 0) s.k.operands[0].inner = LFUSE__STRIDE_ANY;
                if (in_turn(_i, m + scan))
                    OK(lfuse__family_of(&s.k)->emit(&w.text, next_name(&w), &s.k, &w.facts));
            }
    const bool done = compile(&w, arch(_i), &binary);
    lfuse__strbuf_free(&w.text);
    if (!done) TEST_SKIP("%s", lfuse__error_message());
    if (_i || test_all()) ck_assert_uint_eq(frames(&binary, &kernels), 0);
    lfuse__strbuf_free(&binary);
}

TEST_CASE("tiles")

/* Of like texts a third for the first architecture: devices have all of them. */
TEST_LOOP(tiles, 0, ARCHS)
{
    const int share = test_all() || !_i ? 0 : _i - 1, shares = test_all() ? 1 : _i ? SHARES : 3;
    writer w = {.text = LFUSE__STRBUF_INIT, .facts = facts_items(true)};
    w.facts.steps = true; /* as the backend says of every device */
    tiles_emit(&w.text, &w.facts, share, shares);
    sums_emit(&w.text, &w.facts, share, shares);
    if (_i == 0) prologues_emit(&w.text, &w.facts);
    if (!compiles(&w, arch(_i))) TEST_SKIP("%s", lfuse__error_message());
}

/*
 * An optimizer's step behind a product has all that it loads in registers: to put some of it aside, a compiler would
 * let each load be waited for before the next one.
 */
TEST_LOOP(steps, 1, ARCHS)
{
    writer w = {.text = LFUSE__STRBUF_INIT, .facts = facts_items(true)};
    lfuse__strbuf binary = LFUSE__STRBUF_INIT;
    int kernels;
    w.facts.steps = true;
    steps_emit(&w.text, &w.facts, false);
    const bool done = compile(&w, arch(_i), &binary);
    lfuse__strbuf_free(&w.text);
    if (!done) TEST_SKIP("%s", lfuse__error_message());
    const uint32_t bytes = frames(&binary, &kernels);
    ck_assert_int_ge(kernels, 2);
    ck_assert_msg(bytes == 0, "%s: %u bytes of frames", arch(_i), bytes);
    lfuse__strbuf_free(&binary);
}

/* NVRTC did not come to an end with those of several layers, whose addresses are among their argument words. */
TEST_LOOP(steps_together, 2, 3)
{
    writer w = {.text = LFUSE__STRBUF_INIT, .facts = facts_items(true)};
    w.facts.steps = true;
    steps_emit(&w.text, &w.facts, true);
    if (!compiles(&w, arch(_i))) TEST_SKIP("%s", lfuse__error_message());
}

/* Operands that are computed where tensor cores multiply them, on the oldest device that has these. */
TEST(unit_prologues)
{
    writer w = {.text = LFUSE__STRBUF_INIT, .facts = facts_items(true)};
    unit_prologues_emit(&w.text, &w.facts);
    if (!compiles(&w, "sm_80")) TEST_SKIP("%s", lfuse__error_message());
}

/*
 * Nor sums on tensor cores; but the large tiles of f32x3_mma and of mma_fp8, also of lists, and those of wgmma_fp8's
 * lists, take all registers that a thread can have, and may spill a few words, which are no sums: mma_fp8 reads two of
 * them for each k-tile. Those that sum columns have a stack of 32 sums of segments.
 */
TEST_LOOP(units, 1, ARCHS)
{
    enum { SPILLED = 20 * 4, STACKS = 4 * 32 * 4 };
    writer w = {.text = LFUSE__STRBUF_INIT, .facts = facts_items(true)};
    lfuse__strbuf binary = LFUSE__STRBUF_INIT;
    int kernels;
    w.facts.mma_fp8 = strcmp(arch(_i), "sm_80") != 0;
    units_emit(&w.text, &w.facts, !strcmp(arch(_i), "sm_90a"));
    const bool done = compile(&w, arch(_i), &binary);
    lfuse__strbuf_free(&w.text);
    if (!done) TEST_SKIP("%s", lfuse__error_message());
    const uint32_t bytes = frames(&binary, &kernels);
    ck_assert_int_ge(kernels, strcmp(arch(_i), "sm_90a") ? 9 + 4 + 9 * w.facts.mma_fp8 : 6 + 3 + 6 + 4 + 1 + 5 + 2);
    ck_assert_msg(bytes <= SPILLED + (strcmp(arch(_i), "sm_90a") ? 0 : STACKS), "%s: %u bytes of frames", arch(_i),
                  bytes);
    lfuse__strbuf_free(&binary);
}

/* Nothing that a Strassen kernel holds is put aside into memory, which is what bounds its speed. */
TEST(strassen)
{
    writer w = {.text = LFUSE__STRBUF_INIT, .facts = facts_items(true)};
    lfuse__strbuf binary = LFUSE__STRBUF_INIT;
    int kernels;
    w.kernels = strassen_emit(&w.text, &w.facts);
    const bool done = compile(&w, "sm_90a", &binary);
    lfuse__strbuf_free(&w.text);
    if (!done) TEST_SKIP("%s", lfuse__error_message());
    ck_assert_uint_eq(frames(&binary, &kernels), 0);
    ck_assert_int_eq(kernels, w.kernels);
    lfuse__strbuf_free(&binary);
}

/* Chains of products, which keep everything in registers. */
TEST_LOOP(networks, 1, ARCHS)
{
    lfuse__strbuf binary = LFUSE__STRBUF_INIT;
    writer w = {.text = LFUSE__STRBUF_INIT, .facts = facts_items(true)};
    int kernels;
    networks_emit(&w.text, name_of, &w);
    const bool done = compile(&w, arch(_i), &binary);
    lfuse__strbuf_free(&w.text);
    if (!done) TEST_SKIP("%s", lfuse__error_message());
    ck_assert_uint_eq(frames(&binary, &kernels), 0);
    ck_assert_int_ge(kernels, w.kernels);
    lfuse__strbuf_free(&binary);
}

/* One kernel of each family and form, in f32. */
static void write_families(writer *w)
{
    static const lfuse__row_form forms[] = {LFUSE__ROWS_TEAM, LFUSE__ROWS_GROUP, LFUSE__ROWS_ITEM, LFUSE__ROWS_PARTIAL,
                                            LFUSE__ROWS_FOLD};
    static const int teams[] = {16, 128, 1, 0, 0}, held[] = {16, 32, 0, 0, 0};
    sample s;
    sample_fused(&s, LFUSE_F32);
    OK(lfuse__family_pointwise.emit(&w->text, next_name(w), &s.k, &w->facts));
    sample_look_up(&s, LFUSE_F32, false);
    OK(lfuse__family_pointwise.emit(&w->text, next_name(w), &s.k, &w->facts));
    write_bundle(w, LFUSE_F32);
    write_lists(w, LFUSE_F32);
    write_scatter(w, LFUSE_F32);
    OK(lfuse__family_table.emit(&w->text, next_name(w), NULL, &w->facts));
    for (int f = 0; f < (int)(sizeof forms / sizeof *forms); f++) {
        sample r;
        sample_rows(&r, ROW_SUM, LFUSE_F32);
        r.k.rows.form = forms[f], r.k.rows.team = teams[f], r.k.rows.held = held[f];
        OK(lfuse__family_rows.emit(&w->text, next_name(w), &r.k, &w->facts));
    }
    row_look_ups_emit(&w->text, &w->facts, 0, 1);
    tiles_emit(&w->text, &w->facts, 1, 7);
}

/* One pointwise, one of rows, a few of tiles. */
static void write_few(writer *w)
{
    sample s;
    sample r;
    sample_fused(&s, LFUSE_F32);
    OK(lfuse__family_pointwise.emit(&w->text, next_name(w), &s.k, &w->facts));
    sample_rows(&r, ROW_SUM, LFUSE_F32);
    r.k.rows.form = LFUSE__ROWS_GROUP, r.k.rows.team = 128, r.k.rows.held = 32;
    OK(lfuse__family_rows.emit(&w->text, next_name(w), &r.k, &w->facts));
    tiles_emit(&w->text, &w->facts, 1, 70);
}

/*
 * Up to the wait that every work-item comes to: no branch, no end, no memory but parameters. Products by tiles, which
 * have `hands` behind it, may go round a load before it, from the device's cache alone.
 */
static void check_start(const char *ptx, const char *wait, const char *hands)
{
    static const char *const words[] = {"bra", "ld.global", "ret;", "exit;", "ld.u", "ld.f", "ld.v", "ld.b", "ld.s",
                                        "st.", "atom", "red.", "bar.", "call"};
    for (size_t i = hands ? 2 : 0; i < sizeof words / sizeof *words; i++) {
        const char *at = strstr(ptx, words[i]);
        ck_assert_msg(!at || at > wait, "%s before the wait of %.60s", words[i], ptx);
    }
    for (const char *at = ptx; hands && (at = strstr(at, "ld.global")) != NULL && at < wait; at++)
        ck_assert_msg(!strncmp(at, "ld.global.cg", 12), "%.40s before the wait of %.60s", at, ptx);
    ck_assert_msg(!hands || hands > wait, "no wait before what follows may come up: %.60s", ptx);
}

TEST_CASE("waits")

/*
 * Where launches overlap, every kernel waits for those before it; where they cannot, none has words for it: those are
 * the prelude's alone, and a few kernels show what it makes of them.
 */
TEST_LOOP(waits, 0, 2)
{
    writer w = {.text = LFUSE__STRBUF_INIT, .facts = facts_items(true)};
    lfuse__strbuf ptx = LFUSE__STRBUF_INIT;
    int kernels = 0, early = 0;
    w.facts.overlaps = _i;
    write_families(&w);
    if (!_i) {
        ck_assert(!strstr(w.text.data, "griddepcontrol"));
        lfuse__strbuf_free(&w.text);
        w.kernels = 0;
        write_few(&w);
    }
    const bool done = compile(&w, _i ? "compute_90" : "compute_80", &ptx);
    lfuse__strbuf_free(&w.text);
    if (!done) TEST_SKIP("%s", lfuse__error_message());
    if (!_i) ck_assert(!strstr(ptx.data, "griddepcontrol"));
    for (const char *at = strstr(ptx.data, ".entry "); at; kernels++) {
        const char *next = strstr(at + 1, ".entry "), *wait = strstr(at, "griddepcontrol.wait;");
        const char *body = strchr(at, '{');
        ck_assert(body != NULL);
        if (_i) {
            ck_assert_msg(wait && (!next || wait < next), "no wait in %.60s", at);
            const char *second = strstr(wait + 1, "griddepcontrol.wait;");
            const char *hands = strstr(body, "griddepcontrol.launch_dependents;");
            if (next && second > next) second = NULL;
            if (next && hands > next) hands = NULL;
            ck_assert_msg(!second == !hands, "%s in %.60s", second ? "two waits" : "one wait alone", at);
            check_start(body, second ? second : wait, hands);
            early += hands != NULL;
        }
        at = next;
    }
    ck_assert_int_ge(kernels, w.kernels);
    ck_assert(_i ? early > 0 : early == 0);
    lfuse__strbuf_free(&ptx);
}

/* How often the word occurs in kernel number `kernel`. */
static int occurs(const char *ptx, int kernel, const char *word)
{
    char entry[32];
    int times = 0;
    snprintf(entry, sizeof entry, ".entry k%d(", kernel);
    const char *at = strstr(ptx, entry);
    ck_assert_msg(at, "no %s in the text", entry);
    const char *end = strstr(at + 1, ".entry ");
    for (; (at = strstr(at + 1, word)) != NULL && (!end || at < end);) times++;
    return times;
}

TEST_CASE("activations")

/* What products have as epilogues divides by no instruction, and has no more branches and calls than neg has. */
TEST(activations)
{
    static const int ops[] = {LFUSE__OP_neg, LFUSE__OP_sigmoid, LFUSE__OP_gelu, LFUSE__OP_gelu_tanh,
                              LFUSE__OP_gelu_quick, LFUSE__OP_silu, LFUSE__OP_softplus, LFUSE__OP_logsigmoid,
                              LFUSE__OP_mish, LFUSE__OP_elu, LFUSE__OP_selu, LFUSE__OP_selu_with, LFUSE__OP_tanh,
                              LFUSE__OP_expm1, LFUSE__OP_erfc, LFUSE__OP_hardsigmoid, LFUSE__OP_hardswish};
    static const char *const words[] = {"bra", "call", "div."};
    enum { OPS = sizeof ops / sizeof *ops };
    writer w = {.text = LFUSE__STRBUF_INIT, .facts = facts_items(true)};
    lfuse__strbuf ptx = LFUSE__STRBUF_INIT;
    for (int i = 0; i < OPS; i++) {
        sample s;
        sample_many(&s, 1, ops + i, LFUSE_F32);
        sample_narrow(&s);
        OK(lfuse__family_pointwise.emit(&w.text, next_name(&w), &s.k, &w.facts));
    }
    const bool done = compile(&w, "compute_90", &ptx);
    lfuse__strbuf_free(&w.text);
    if (!done) TEST_SKIP("%s", lfuse__error_message());
    for (int i = 1; i < OPS; i++)
        for (size_t j = 0; j < sizeof words / sizeof *words; j++)
            ck_assert_msg(occurs(ptx.data, i, words[j]) == occurs(ptx.data, 0, words[j]), "%s has %d %s, not %d",
                          lfuse__ops[ops[i]].name, occurs(ptx.data, i, words[j]), words[j],
                          occurs(ptx.data, 0, words[j]));
    lfuse__strbuf_free(&ptx);
}

TEST_SUITE("kernels by NVRTC", CK_NOFORK)
