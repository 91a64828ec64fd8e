/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Products of the members of lists, by panels and by tiles: sizes that no block divides, several matrices, nothing;
 * rows that are whole chunks, rows that are not and are packed, and rows that are not and are read where they lie;
 * what follows with numbers of columns, rows, matrices and elements. Small integers: results are compared by ==.
 */
#include "common/base/error.h"
#include "common/matmul/grouped.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"
#include "tests/support/check.h"
#include "tests/support/main.h"

enum { A, B, SUM, COLUMN, ROW, MATRIX, RESIDUAL, OUT, SHAPE, OPERANDS, GUARD = 64, MEMBERS = 11,
       MORE = 32 /* additions of a body that is too long for a copy at every sum */ };

typedef struct grouped {
    sample s;
    bool more;
    lfuse__grouped_cut cut;
    uint64_t packed; /* bytes of the workspace */
    int64_t starts[OPERANDS][MEMBERS], chunks;
    lfuse__chunk *table;
    uint64_t *entries;
    void *memory[OPERANDS], *expected;
    size_t bytes[OPERANDS];
} grouped;

static const lfuse__matmul_sizes sizes[MEMBERS] = {
    {70, 140, 33, 1}, {5, 7, 9, 2}, {0, 5, 4, 1}, {3, 0, 4, 1}, {4, 6, 0, 1}, {1, 1, 1, 1}, {13, 36, 64, 1},
    {2, 8, 4, 3}, {128, 64, 16, 1}, {72, 144, 272, 2},
    {24, 40, 15, 1}};

static void make_class(grouped *g, lfuse_type type, bool ta, bool tb, bool more)
{
    static const lfuse__stride_class inner[] = {
        LFUSE__STRIDE_UNIT,   LFUSE__STRIDE_UNIT, LFUSE__STRIDE_UNIT, LFUSE__STRIDE_COLUMN, LFUSE__STRIDE_ROW,
        LFUSE__STRIDE_MATRIX, LFUSE__STRIDE_UNIT, LFUSE__STRIDE_UNIT, LFUSE__STRIDE_REPEAT};
    const lfuse_type wide = lfuse__register_type(type);
    sample *s = &g->s;
    int x = 0;
    memset(g, 0, sizeof *g);
    g->more = more;
    sample_start(s, LFUSE__FAMILY_GROUPED, 1, 0);
    s->k.product.ta = ta, s->k.product.tb = tb;
    for (int j = 0; j < OPERANDS; j++)
        sample_operand(s, j == SHAPE ? LFUSE_I64 : j == SUM || (j > B && lfuse__is_fp8(type)) ? wide : type, j == OUT,
                       inner[j]);
    if (type == LFUSE_E5M2) s->k.operands[B].type = LFUSE_E4M3;
    s->k.operands[SHAPE].shape = true;
    for (int j = SUM; j <= RESIDUAL; j++) {
        const int y = sample_load(s, j);
        x = j == SUM ? y : sample_apply(s, j == RESIDUAL ? LFUSE__OP_max : LFUSE__OP_add, wide, x, y);
    }
    for (int i = 0; i < MORE && more; i++) x = sample_apply(s, LFUSE__OP_add, wide, x, 1); /* COLUMN's register */
    sample_store(s, x, OUT);
}

static int64_t size_of(int operand, int m)
{
    const lfuse__matmul_sizes *s = &sizes[m];
    switch (operand) {
    case A: return s->matrices * s->m * s->k;
    case B: return s->matrices * s->k * s->n;
    case COLUMN: return s->matrices * s->n;
    case ROW: return s->matrices * s->m;
    case MATRIX: return s->matrices;
    case SHAPE: return lfuse__grouped_shape(OPERANDS);
    default: return s->matrices * s->m * s->n;
    }
}

/*
 * How the matrices of operand j of member m lie: without gaps, rows a vector or an element longer than they need, or
 * those of all matrices side by side.
 */
typedef struct lie {
    int64_t rows, columns, ld, apart;
} lie;

static lie lie_of(const grouped *g, int operand, int m)
{
    const lfuse__matmul_sizes *s = &sizes[m];
    const bool transposed = operand == A ? g->s.k.product.ta : g->s.k.product.tb;
    lie l = {operand == A ? s->m : operand == B ? s->k : s->m, operand == A ? s->k : s->n, 0, 0};
    if (operand < SUM && transposed) l = (lie){l.columns, l.rows, 0, 0};
    l.ld = l.columns + ((m + operand) % 3 == 1 ? 8 : (m + operand) % 3 == 2 ? 1 : 0);
    l.apart = l.rows * l.ld + (m == 7 ? 5 : 0);
    if (m == 1) l.apart = l.ld, l.ld *= s->matrices;
    if (m == 10) l.ld = l.columns + 1; /* 16 for 15: whole chunks apart, but with an end within one */
    return l;
}

static bool of_rows(int operand)
{
    return operand == A || operand == B || operand == RESIDUAL || operand == OUT;
}

/* From the first element to the last. */
static int64_t span_of(const grouped *g, int operand, int m)
{
    const lie l = lie_of(g, operand, m);
    if (!of_rows(operand) || !size_of(operand, m)) return size_of(operand, m);
    return (sizes[m].matrices - 1) * l.apart + (l.rows - 1) * l.ld + l.columns;
}

/* Where the copy of A or B begins. Some members are read where they lie, as after they have moved. */
static int64_t place_of(grouped *g, int operand, int m)
{
    const lie l = lie_of(g, operand, m);
    const uint64_t begins = g->entries[2 * (operand * MEMBERS + m)];
    const lfuse__grouped_layout of = {l.ld, l.apart, begins};
    const uint64_t bytes = m % 4 == 2 ? 0 : lfuse__grouped_packed_bytes(&g->s.k, operand, &sizes[m], &of);
    const uint64_t at = g->packed;
    g->packed += bytes;
    return bytes ? (int64_t)at : -1;
}

static void put_shape(grouped *g, int m, int64_t *to)
{
    to[0] = sizes[m].matrices, to[1] = sizes[m].m, to[2] = sizes[m].n, to[3] = sizes[m].k;
    for (int j = A; j <= B; j++) to[LFUSE__GROUPED_PACKED + j] = place_of(g, j, m);
    for (int j = 0; j < SHAPE; j++)
        if (of_rows(j)) {
            const lie l = lie_of(g, j, m);
            to[lfuse__grouped_stride(j)] = l.ld, to[lfuse__grouped_stride(j) + 1] = l.apart;
        }
}

static void make_lists(grouped *g)
{
    int64_t chunk = 0;
    uint64_t slot = 0, seed = 5;
    g->entries = rig_memory(2 * OPERANDS * MEMBERS * sizeof *g->entries, 0);
    for (int j = 0; j < OPERANDS; j++) {
        const size_t size = lfuse_type_size(g->s.k.operands[j].type);
        int64_t at = GUARD;
        if (j == SUM) continue;
        for (int m = 0; m < MEMBERS; m++) {
            g->starts[j][m] = at;
            g->entries[2 * (j * MEMBERS + m)] = (uint64_t)at * size;
            g->entries[2 * (j * MEMBERS + m) + 1] = slot;
            at = (at + span_of(g, j, m) + 15) / 8 * 8 + (m % 3 == 1);
        }
        slot++;
        g->bytes[j] = ((size_t)(at + GUARD) * size + 7) / 8 * 8;
        g->memory[j] = rig_memory(g->bytes[j], 0);
        for (int64_t i = 0; i < at && j != SHAPE; i++)
            host_put(g->memory[j], g->s.k.operands[j].type, i, (double)(host_random(&seed) >> 32 & 3) - 1);
    }
    for (int m = 0; m < MEMBERS; m++) {
        put_shape(g, m, (int64_t *)g->memory[SHAPE] + g->starts[SHAPE][m]);
        g->chunks += lfuse__grouped_blocks(&g->cut, &sizes[m]);
    }
    g->table = rig_memory((size_t)g->chunks * sizeof *g->table, 0);
    for (int m = 0; m < MEMBERS; m++)
        for (int64_t i = 0; i < lfuse__grouped_blocks(&g->cut, &sizes[m]); i++)
            g->table[chunk++] = (lfuse__chunk){(uint32_t)m, 1, (uint64_t)i};
    g->expected = rig_memory(g->bytes[OUT], 0);
    memcpy(g->expected, g->memory[OUT], g->bytes[OUT]);
}

static double number(const grouped *g, int operand, int m, int64_t i)
{
    return host_get(g->memory[operand], g->s.k.operands[operand].type, g->starts[operand][m] + i);
}

static double entry(const grouped *g, int operand, int m, int64_t matrix, int64_t i, int64_t j)
{
    const lie l = lie_of(g, operand, m);
    return number(g, operand, m, matrix * l.apart + i * l.ld + j);
}

static void expect(grouped *g, int m)
{
    const lfuse__matmul_sizes *s = &sizes[m];
    const bool ta = g->s.k.product.ta, tb = g->s.k.product.tb;
    const lie out = lie_of(g, OUT, m);
    for (int64_t e = 0; e < size_of(OUT, m); e++) {
        const int64_t matrix = e / (s->m * s->n), i = e / s->n % s->m, j = e % s->n;
        const double column = number(g, COLUMN, m, matrix * s->n + j), residual = entry(g, RESIDUAL, m, matrix, i, j);
        double sum = 0;
        for (int64_t l = 0; l < s->k; l++)
            sum += entry(g, A, m, matrix, ta ? l : i, ta ? i : l) * entry(g, B, m, matrix, tb ? j : l, tb ? l : j);
        sum += column + number(g, ROW, m, matrix * s->m + i) + number(g, MATRIX, m, matrix);
        if (sum < residual) sum = residual;
        if (g->more) sum += MORE * column;
        host_put(g->expected, g->s.k.operands[OUT].type, g->starts[OUT][m] + matrix * out.apart + i * out.ld + j, sum);
    }
}

/* Launches `phase` in two parts, as lists in many blocks have them. */
static void launch(rig *r, lfuse__bprogram *program, grouped *g, const lfuse__facts *facts, int phase,
                   unsigned char *workspace, size_t space)
{
    rig_buffer buffers[LFUSE__MAX_BUFFERS];
    lfuse__packed packed;
    g->s.k.product.phase = phase;
    for (int part = 0; part < 2; part++) {
        const int64_t first = part ? g->chunks / 2 : 0, chunks = part ? g->chunks - first : g->chunks / 2;
        const lfuse__grouped_part p = {.members = MEMBERS, .first_chunk = first, .chunks = chunks, .workspace = 256};
        lfuse__launch_args args;
        int slot = 3;
        OK(lfuse__grouped_pack(&g->s.k, facts, &g->cut, &p, &packed));
        buffers[0] = (rig_buffer){g->table, (size_t)g->chunks * sizeof *g->table, false};
        buffers[1] = (rig_buffer){g->entries, 2 * OPERANDS * MEMBERS * sizeof *g->entries, false};
        buffers[2] = (rig_buffer){workspace, space, true};
        for (int j = 0; j < OPERANDS; j++)
            if (j != SUM) buffers[slot++] = (rig_buffer){g->memory[j], g->bytes[j], g->s.k.operands[j].written};
        ck_assert_int_eq(slot, 3 + LFUSE__MAX_SLOTS);
        args = (lfuse__launch_args){.groups = packed.groups, .group = packed.group, .nwords = packed.nwords,
                                    .words = packed.words, .local_bytes = lfuse__family_local_bytes(&g->s.k)};
        rig_launch_words(r, program, phase ? "pack" : "grouped", &args, slot, buffers);
    }
    g->s.k.product.phase = LFUSE__GROUPED_PRODUCTS;
}

static void check(const grouped *g)
{
    const lfuse__kernel_class *k = &g->s.k;
    const int64_t wrong = host_compare(g->memory[OUT], g->expected, k->operands[OUT].type, g->bytes[OUT]);
    int m = 0;
    while (m + 1 < MEMBERS && g->starts[OUT][m + 1] <= wrong) m++;
    ck_assert_msg(wrong < 0, "%s by %s, blocks of %lld x %lld, ta %d, tb %d: element %lld of member %d differs",
                  lfuse_type_name(k->operands[A].type), k->product.solver->name, (long long)g->cut.rows,
                  (long long)g->cut.columns, k->product.ta, k->product.tb, (long long)(wrong - g->starts[OUT][m]), m);
}

/* Multiplies by the class's solver. */
static void run(rig *r, grouped *g, const lfuse__facts *facts)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse__grouped_cut_make(&g->s.k, facts, MEMBERS, sizes, &g->cut);
    make_lists(g);
    for (int m = 0; m < MEMBERS; m++) expect(g, m);
    OK(lfuse__grouped_emit(&text, "grouped", &g->s.k, facts));
    if (g->packed) {
        g->s.k.product.phase = LFUSE__GROUPED_PACK;
        OK(lfuse__grouped_emit(&text, "pack", &g->s.k, facts));
    }
    lfuse__bprogram *program = rig_program(r, &text);
    const int64_t groups = g->cut.groups < g->chunks ? g->cut.groups : g->chunks;
    const size_t space = (size_t)g->cut.space * (size_t)groups + g->packed + 512;
    unsigned char *workspace = rig_memory(space, 0xff); /* NaN, of all types */
    if (g->packed) launch(r, program, g, facts, LFUSE__GROUPED_PACK, workspace, space);
    launch(r, program, g, facts, LFUSE__GROUPED_PRODUCTS, workspace, space);
    r->backend->program_destroy(program);
    check(g);
    free(workspace);
    for (int j = 0; j < OPERANDS; j++) free(g->memory[j]);
    free(g->expected);
    free(g->entries);
    free(g->table);
}

/* Tiles of f32 as few units have them, of other types as many have. */
void case_grouped(rig *r, lfuse_type type)
{
    lfuse__facts facts = r->facts; /* tables of slots and offsets work on every device */
    grouped g;
    facts.addresses = false;
    if (!facts.vector_lanes) facts.info.compute_units = type == LFUSE_F32 ? 1 : 1000;
    make_class(&g, type, type != LFUSE_F32, type == LFUSE_F32 || type == LFUSE_F64, type == LFUSE_BF16);
    OK(lfuse__grouped_choose(&facts, MEMBERS, sizes, &g.s.k));
    run(r, &g, &facts);
}

/* A solver with tensor cores and its shapes of a list: the `last` is run with other types than f16. */
static const struct {
    const lfuse__solver *solver;
    int shapes, last;
} units[] = {{&lfuse__mma, 2, 1}, {&lfuse__wgmma, 5, 2}, {&lfuse__mma_fp8, 2, 1}, {&lfuse__wgmma_fp8, 2, 1}};
enum { UNITS = sizeof units / sizeof *units, WAYS = 3 /* candidates of a shape: k whole, split, shared out */ };

/* Sets the class to that shape of units[i]; false where the device has no room for it, or such lists are declined. */
static bool make_unit(grouped *g, const lfuse__facts *facts, int i, int shape, lfuse_type type, int way)
{
    const lfuse__solver *s = units[i].solver;
    const lfuse__matmul_desc desc = {.types = {type, type == LFUSE_E5M2 ? LFUSE_E4M3 : type}, .list = true};
    if (!lfuse__solver_takes(s, facts, &desc)) return false;
    /* Warpgroups take lines of 8 bits along k alone. */
    const bool along = s == &lfuse__wgmma_fp8;
    make_class(g, type, !along && way & 1, along || way >> 1 & 1, way % 3 == 2);
    g->s.k.product.sum = LFUSE_F32;
    ck_assert(s->candidate(s, shape * WAYS, &g->s.k.product));
    return !s->has || s->has(&g->s.k.product, facts);
}

void case_grouped_units(rig *r, lfuse_type type)
{
    lfuse__facts facts = r->facts;
    int way = type == LFUSE_F16 ? 0 : 2;
    facts.addresses = false;
    for (int i = 0; i < UNITS; i++)
        for (int shape = 0; shape < units[i].shapes; shape++, way += type == LFUSE_F16 ? 1 : 3) {
            grouped g;
            if (!test_all() && (shape == units[i].last) == (type == LFUSE_F16)) continue;
            if (make_unit(&g, &facts, i, shape, type, way)) run(r, &g, &facts);
        }
}

void grouped_units_emit(lfuse__strbuf *out, const lfuse__facts *facts)
{
    static const lfuse_type types[] = {LFUSE_F16, LFUSE_E5M2};
    for (int i = 0; i < 2 * UNITS; i++)
        for (int shape = 0; shape < units[i / 2].shapes; shape++) {
            char name[32];
            grouped g;
            const lfuse__solver *solver = units[i / 2].solver;
            /* On Hopper mma_fp8 converts, and spills; mma's texts are those of architectures without warpgroups. */
            if (facts->wgmma && (solver == &lfuse__mma_fp8 || (solver == &lfuse__mma && !test_all()))) continue;
            if (!make_unit(&g, facts, i / 2, shape, types[i % 2], i + shape)) continue;
            if (shape) g.s.k.members.carried = lfuse__carried_most(&g.s.k, LFUSE__CARRY_PARTIAL, facts, 4096);
            snprintf(name, sizeof name, "list_%s_%d", units[i / 2].solver->name, shape);
            OK(lfuse__grouped_emit(out, name, &g.s.k, facts));
            snprintf(name, sizeof name, "pack_%s_%d", units[i / 2].solver->name, shape);
            g.s.k.product.phase = LFUSE__GROUPED_PACK;
            OK(lfuse__grouped_emit(out, name, &g.s.k, facts));
        }
}

void grouped_emit(lfuse__strbuf *out, const char *name, lfuse_type type, const lfuse__facts *device, uint32_t bytes)
{
    lfuse__facts facts = *device;
    grouped g;
    facts.info.local_bytes = 48 * 1024, facts.info.max_group = 1024, facts.info.compute_units = bytes ? 1 : 1000;
    make_class(&g, type, bytes, !bytes, type == LFUSE_F64);
    OK(lfuse__grouped_choose(&facts, MEMBERS, sizes, &g.s.k));
    if (bytes) g.s.k.members.carried = lfuse__carried_most(&g.s.k, LFUSE__CARRY_PARTIAL, &facts, bytes);
    OK(lfuse__grouped_emit(out, name, &g.s.k, &facts));
}

/* What the emitter takes for granted is refused where it is not so. */
void case_grouped_refusals(const lfuse__facts *device)
{
    const lfuse__matmul_sizes large = {(int64_t)1 << 31, 1, 1, 1};
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse__facts facts = *device;
    grouped g;
    make_class(&g, LFUSE_F32, false, false, false);
    ck_assert_int_eq(lfuse__grouped_choose(&facts, 1, &large, &g.s.k), LFUSE_ERR_UNSUPPORTED);
    ck_says("member 0 is a product of 2147483648 x 1 x 1");
    facts.info.local_bytes = 48 * 1024, facts.info.max_group = 1024, facts.info.compute_units = 4;
    for (int i = 0; i < 4; i++) {
        static const lfuse_status wanted[] = {LFUSE_ERR_INVALID, LFUSE_ERR_TYPE, LFUSE_ERR_TYPE, LFUSE_ERR_UNSUPPORTED};
        make_class(&g, LFUSE_F32, false, false, false);
        OK(lfuse__grouped_choose(&facts, MEMBERS, sizes, &g.s.k));
        if (i == 0) g.s.k.operands[SHAPE].shape = false, g.s.k.operands[SHAPE].type = LFUSE_F32;
        if (i == 1) g.s.k.operands[B].type = LFUSE_F64;
        if (i == 2) g.s.k.operands[A].written = true;
        if (i == 3) g.s.k.product.solver = NULL;
        if (i == 0)
            for (int j = COLUMN; j <= MATRIX; j++) g.s.k.operands[j].inner = LFUSE__STRIDE_UNIT;
        ck_assert_int_eq(lfuse__grouped_emit(&text, "k", &g.s.k, &facts), wanted[i]);
    }
    lfuse__strbuf_free(&text);
}
