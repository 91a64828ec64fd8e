/* SPDX-License-Identifier: Apache-2.0 */
/* Bundles against the same kernels launched one after the other: equal bits. */
#include "common/base/error.h"
#include "common/kernels/emit.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"
#include "tests/support/main.h"

enum { SLOTS = LFUSE__MAX_SLOTS, ARENA = 1 << 20, MOST_PARTS = 5, MOST_MEMBERS = 48, MOST_WORDS = 512 };

/* Every operand lies somewhere in one of these; a word of reports behind them. */
typedef struct arenas {
    unsigned char *memory[SLOTS];
    uint64_t reports[8];
} arenas;

typedef struct member {
    lfuse__geometry g;
    lfuse__packed packed;
    uint64_t slots[LFUSE__MAX_OPERANDS];
} member;

typedef struct bundle_case {
    const char *name;
    int nparts, members;
    lfuse__bundle_part parts[MOST_PARTS];
    const bool *of_row[MOST_PARTS]; /* NULL: pointwise */
    double numbers[2];
    member of[MOST_MEMBERS];
    size_t used[SLOTS];
    bool alike; /* all members have as many groups, and share one launch */
} bundle_case;

static lfuse__facts slot_facts(const rig *r)
{
    lfuse__facts facts = r->facts;
    facts.addresses = false;
    return facts;
}

static void take_memory(bundle_case *c, member *m, int j, size_t bytes)
{
    const int slot = (int)((m - c->of) * 3 + j) % SLOTS;
    m->slots[j] = (uint64_t)slot;
    m->g.offsets[j] = m->g.addresses[j] = c->used[slot] + (m - c->of == 1 ? 4 : 0); /* once out of line */
    c->used[slot] = (c->used[slot] + bytes + 64 + 15) / 16 * 16;
    ck_assert_uint_le(c->used[slot], ARENA);
}

/* Rows of `width` elements, contiguous. */
static void lay_out(bundle_case *c, int part, member *m, int64_t rows, int64_t width)
{
    const lfuse__kernel_class *k = &c->parts[part].k;
    m->g.numbers = c->numbers;
    m->g.extents[0] = k->rank > 1 ? rows : rows * width;
    m->g.extents[k->rank - 1] = k->rank > 1 ? width : rows * width;
    for (int j = 0; j < k->noperands; j++) {
        const bool of_row = c->of_row[part] && c->of_row[part][j], once = k->operands[j].fixed;
        int64_t outer = of_row ? 1 : width;
        m->g.strides[j][k->rank - 1] = k->operands[j].inner == LFUSE__STRIDE_REPEAT || of_row ? 0 : 1;
        if (k->operands[j].inner == LFUSE__STRIDE_REPEAT) outer = 1;
        if (k->rank > 1) m->g.strides[j][0] = once || k->operands[j].gathered ? 0 : outer;
        m->g.gathered_extents[j] = 7;
        m->g.gathered_strides[j] = width;
        take_memory(c, m, j, (size_t)(rows > 7 ? rows : 7) * (size_t)width * lfuse__type_bytes(k->operands[j].type));
    }
    m->g.reporter = (uint64_t)(m - c->of);
    m->g.reports = 8;
}

static void pack_member(const bundle_case *c, int part, member *m, const lfuse__facts *facts)
{
    const lfuse__kernel_class *k = &c->parts[part].k;
    const lfuse_status status = lfuse__family_of(k)->pack(k, facts, &m->g, &m->packed);
    ck_assert_msg(!status, "%s: %s", c->name, lfuse__error_message());
}

static void fill_arenas(arenas *a)
{
    for (int s = 0; s < SLOTS; s++) {
        a->memory[s] = malloc(ARENA);
        ck_assert_ptr_nonnull(a->memory[s]);
        host_fill(a->memory[s], LFUSE_F32, ARENA / 4, 40 + (uint64_t)s);
        for (int i = 0; i < ARENA / 4; i += 3) /* small integers too, for indices */
            ((uint32_t *)(void *)a->memory[s])[i] = (uint32_t)i / 3 % 9;
    }
    memset(a->reports, 0, sizeof a->reports);
}

static void launch_single(rig *r, lfuse__bprogram *program, const bundle_case *c, int part, const member *m, arenas *a)
{
    const lfuse__kernel_class *k = &c->parts[part].k;
    rig_buffer buffers[LFUSE__MAX_BUFFERS];
    char name[16];
    for (int j = 0; j < k->noperands; j++) buffers[j] = (rig_buffer){a->memory[m->slots[j]], ARENA, true};
    buffers[k->noperands] = (rig_buffer){a->reports, sizeof a->reports, true};
    snprintf(name, sizeof name, "part%d", part);
    rig_launch(r, program, name, &m->packed, lfuse__kernel_buffers(k), buffers);
}

/*
 * Members `from` ... `to` - 1 in one launch; the first gets fewer groups than it would have where groups are a bound.
 */
static void launch_bundle(rig *r, lfuse__bprogram *program, const bundle_case *c, const lfuse__bundle *b,
                          const lfuse__facts *facts, int from, int to, arenas *a)
{
    uint64_t words[MOST_WORDS];
    lfuse__bundle_member members[MOST_MEMBERS] = {{0}};
    lfuse__bundle_launch launch = {.words = words};
    rig_buffer buffers[LFUSE__MAX_BUFFERS] = {{0}};
    const int slots = lfuse__bundle_slots(b, facts);
    ck_assert_int_le(lfuse__bundle_words(b), MOST_WORDS);
    for (int i = from; i < to; i++) {
        members[i] = (lfuse__bundle_member){&c->of[i].packed, c->of[i].packed.groups, c->of[i].slots};
        if (facts->elementwise_groups && i == from && members[i].groups > 1 && !c->alike) members[i].groups--;
        ck_assert(!c->alike || members[i].groups == members[from].groups);
    }
    ck_assert_msg(!lfuse__bundle_pack(b, facts, members, &launch), "%s: %s", c->name, lfuse__error_message());
    for (int s = 0; s < SLOTS; s++) buffers[s] = (rig_buffer){a->memory[s], ARENA, true};
    buffers[slots] = (rig_buffer){a->reports, sizeof a->reports, true};
    rig_launch_words(r, program, "whole", &(lfuse__launch_args){.groups = launch.groups, .group = launch.group,
                                                                 .nwords = launch.nwords, .words = words},
                     slots + 1, buffers);
}

static void compare(const bundle_case *c, const arenas *a, const arenas *b)
{
    for (int s = 0; s < SLOTS; s++)
        for (size_t i = 0; i < ARENA; i += 4)
            ck_assert_msg(!memcmp(a->memory[s] + i, b->memory[s] + i, 4), "%s: slot %d differs at byte %zu of %zu used",
                          c->name, s, i, c->used[s]);
    ck_assert_msg((uint32_t)a->reports[1] == (uint32_t)b->reports[1], "%s: reported %d and %d", c->name,
                  (int)(uint32_t)a->reports[1], (int)(uint32_t)b->reports[1]);
}

/* Teams of one work-item are groups of one, which cannot stand beside others. */
static void refuse(const bundle_case *c, const lfuse__facts *facts)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse__bundle *b;
    ck_assert(!lfuse__bundle_create(c->nparts, c->parts, &b));
    ck_assert_int_eq(lfuse__bundle_emit(&text, "whole", b, facts), LFUSE_ERR_UNSUPPORTED);
    ck_assert_uint_eq(text.length, 0);
    lfuse__bundle_destroy(b);
}

/* Words of the argument block are named by numbers alone. */
static void check_staged(const char *text)
{
    for (const char *at = text; (at = strstr(at, "W(")); at++)
        if (at > text && (at[-1] == ' ' || at[-1] == '('))
            ck_assert_msg(at[2 + strspn(at + 2, "0123456789")] == ')', "%.30s", at);
}

static void run(rig *r, bundle_case *c)
{
    const lfuse__facts facts = slot_facts(r);
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse__bundle *b;
    arenas alone, together;
    char name[16];
    int n = 0;
    ck_assert_msg(!lfuse__bundle_create(c->nparts, c->parts, &b), "%s: %s", c->name, lfuse__error_message());
    ck_assert_msg(!lfuse__bundle_emit(&text, "whole", b, &facts), "%s: %s", c->name, lfuse__error_message());
    if (facts.staged_arguments) check_staged(text.data);
    for (int i = 0; i < c->nparts; i++) {
        const lfuse__kernel_class *k = &c->parts[i].k;
        snprintf(name, sizeof name, "part%d", i);
        ck_assert(!lfuse__family_of(k)->emit(&text, name, k, &facts));
    }
    lfuse__bprogram *program = rig_program(r, &text);
    fill_arenas(&alone);
    fill_arenas(&together);
    for (int i = 0; i < c->nparts; i++)
        for (int m = 0; m < c->parts[i].members; m++, n++) {
            pack_member(c, i, &c->of[n], &facts);
            launch_single(r, program, c, i, &c->of[n], &alone);
        }
    if (c->alike) {
        launch_bundle(r, program, c, b, &facts, 0, c->members, &together);
    } else {
        launch_bundle(r, program, c, b, &facts, 0, c->members / 2, &together);
        launch_bundle(r, program, c, b, &facts, c->members / 2, c->members, &together);
    }
    compare(c, &alone, &together);
    for (int s = 0; s < SLOTS; s++) {
        free(alone.memory[s]);
        free(together.memory[s]);
    }
    lfuse__bundle_destroy(b);
    r->backend->program_destroy(program);
}

static void add_part(bundle_case *c, const lfuse__kernel_class *k, const bool *of_row, int members, int64_t rows,
                     int64_t width)
{
    const int part = c->nparts++;
    c->parts[part] = (lfuse__bundle_part){.k = *k, .members = members};
    memset(c->parts[part].differs, 0xff, sizeof c->parts[part].differs);
    c->of_row[part] = of_row;
    for (int i = 0; i < members; i++) lay_out(c, part, &c->of[c->members++], rows + 7 * (i % 5), width);
}

/* Words of a part that came out the same for all members are said to be. */
static void share_equal(bundle_case *c, const lfuse__facts *facts)
{
    int first = 0;
    for (int i = 0; i < c->nparts; first += c->parts[i++].members) {
        memset(c->parts[i].differs, 0, sizeof c->parts[i].differs);
        for (int m = 0; m < c->parts[i].members; m++) {
            pack_member(c, i, &c->of[first + m], facts);
            for (unsigned w = 0; w < c->of[first].packed.nwords; w++)
                if (c->of[first + m].packed.words[w] != c->of[first].packed.words[w])
                    c->parts[i].differs[w / 64] |= (uint64_t)1 << w % 64;
        }
    }
}

static void row_class(sample *s, const lfuse__facts *facts, uint64_t length)
{
    sample_rows(s, ROW_NORM, LFUSE_F32);
    lfuse__rows_choose(facts, 20, length, false, &s->k);
}

void case_bundles(rig *r)
{
    static bundle_case c;
    static sample fused, look_up;
    static sample row;
    const lfuse__facts facts = slot_facts(r);
    sample_fused(&fused, LFUSE_F32);
    sample_look_up(&look_up, LFUSE_F32, false);
    row_class(&row, &facts, 96);
    for (int shared = facts.compiles_at_launch && !test_all(); shared < 2; shared++) {
        c = (bundle_case){.name = "equals", .numbers = {0.5, 0.25}};
        add_part(&c, &fused.k, NULL, 6, 20, 64);
        if (shared) share_equal(&c, &facts);
        run(r, &c);
        c = (bundle_case){.name = "rows", .numbers = {0.5, 0.25}};
        add_part(&c, &row.k, row.of_row, 3, 20, 96);
        if (shared) share_equal(&c, &facts);
        run(r, &c);
    }
    c = (bundle_case){.name = "look-ups", .numbers = {0.5, 0.25}};
    add_part(&c, &look_up.k, NULL, 4, 50, 32);
    share_equal(&c, &facts);
    run(r, &c);
    c = (bundle_case){.name = "alike", .numbers = {0.5, 0.25}, .alike = true};
    for (int i = 0; i < 5; i++) add_part(&c, &fused.k, NULL, 1, 110, 64);
    run(r, &c);
    c = (bundle_case){.name = "unlike", .numbers = {0.5, 0.25}};
    add_part(&c, &fused.k, NULL, 2, 33, 20);
    add_part(&c, &row.k, row.of_row, 1, 5, 96);
    add_part(&c, &look_up.k, NULL, 2, 9, 17);
    share_equal(&c, &facts);
    if (lfuse__single(&facts) == facts.vector_lanes) run(r, &c);
    else refuse(&c, &facts);
    if (!lfuse__single(&facts)) { /* each has local memory of one name, and of other sizes */
        static sample sum, columns;
        sample_rows(&sum, ROW_SUM, LFUSE_F32);
        sum.k.rows = (lfuse__row_mapping){.form = LFUSE__ROWS_GROUP, .team = LFUSE__GROUP};
        sample_rows(&columns, ROW_SUM, LFUSE_F32);
        sample_rows_inner(&columns, LFUSE__STRIDE_ANY);
        columns.k.rows = (lfuse__row_mapping){.form = LFUSE__ROWS_ITEM, .team = 32};
        c = (bundle_case){.name = "locals"};
        add_part(&c, &sum.k, sum.of_row, 2, 3, 1500);
        add_part(&c, &columns.k, columns.of_row, 2, 20, 96);
        share_equal(&c, &facts);
        run(r, &c);
    }
    if (r->facts.info.max_argument_bytes < 4096) return;
    c = (bundle_case){.name = "many", .numbers = {0.5, 0.25}};
    add_part(&c, &fused.k, NULL, 45, 3, 64);
    share_equal(&c, &facts);
    run(r, &c);
}
