/* SPDX-License-Identifier: Apache-2.0 */
/* Groups of members with numbers of their own: the bits of separate runs, in one launch for up to eight of them. */
#include "tests/run/rig.h"

enum { MEMBERS = 12, MOST_GROUPS = 9, LONGEST = 3000 };
static const int64_t sizes[MEMBERS] = { 3, 1030, 0, 2500, 1, 17, 0, LONGEST, 64, 5, 700, 2 };
static const int64_t two[] = { 0, 4 }, nine[] = { 0, 1, 3, 3, 5, 7, 8, 9, 11 };
static const double rates[MOST_GROUPS] = { 1e-3, 0.3, 0.07, 1e-4, 2, 0.01, 0.5, 0.025, 0.9 };
static const double decays[MOST_GROUPS] = { 0, 0.01, 0.1, 0.5, 0.02, 0.3, 0, 1e-3, 0.2 };

/* w = w (1 - rate decay) - rate / (1 - 0.9^step) g, and what the members of w decay sum up to. */
static void describe(void)
{
    const lfuse_value w = lfuse_list_input(g, "w", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value gradient = lfuse_list_input(g, "g", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value rate = lfuse_scalar(g, "rate"), decay = lfuse_scalar(g, "decay"), one = lfuse_constant(g, 1);
    const lfuse_value steps = lfuse_powi(lfuse_constant(g, 0.9), lfuse_scalar(g, "step"));
    const lfuse_value kept = lfuse_mul(w, lfuse_sub(one, lfuse_mul(rate, decay)));

    lfuse_update(w, lfuse_sub(kept, lfuse_mul(gradient, lfuse_div(rate, lfuse_sub(one, steps)))));
    lfuse_output(g, "norms", lfuse_member_sum(lfuse_mul(w, decay)));
}

typedef struct lists {
    lfuse_tensor *w[MEMBERS], *g[MEMBERS], *n[MEMBERS];
    lfuse_list *lw, *lg, *ln;
} lists;

static void make_range(lists *l, int from, int to)
{
    for (int i = from; i < to; i++) {
        l->w[i] = ramp(1, &sizes[i], 1 + (float)i, 0.001f);
        l->g[i] = ramp(1, &sizes[i], -2, 0.003f);
        l->n[i] = tensor(0, NULL);
    }
    l->lw = new_list(dev, LFUSE_F32, to - from, l->w + from);
    l->lg = new_list(dev, LFUSE_F32, to - from, l->g + from);
    l->ln = new_list(dev, LFUSE_F32, to - from, l->n + from);
}

static void destroy_range(lists *l, int from, int to)
{
    for (int i = from; i < to; i++)
        drop(l->w[i]), drop(l->g[i]), drop(l->n[i]);
    drop(l->lw), drop(l->lg), drop(l->ln);
}

enum { BINDINGS = 6 };
static void bind(lfuse_binding *b, const lists *l, lfuse_binding rate, lfuse_binding decay)
{
    b[0] = BIND("w", l->lw), b[1] = BIND("g", l->lg), b[2] = BIND("norms", l->ln);
    b[3] = rate, b[4] = decay, b[5] = lfuse_bind_scalar("step", 7);
}

/* Members and sums after two runs. */
typedef struct results {
    float w[MEMBERS][LONGEST], n[MEMBERS];
} results;

static void read_range(const lists *l, int from, int to, results *r)
{
    for (int i = from; i < to; i++) {
        memcpy(r->w[i], values(l->w[i]), (size_t)sizes[i] * sizeof(float));
        r->n[i] = values(l->n[i])[0];
    }
}

static void apart(lfuse_plan *plan, int groups, const int64_t *first, results *r)
{
    lfuse_binding b[BINDINGS];
    lists l;

    memset(r, 0, sizeof *r);
    for (int i = 0; i < groups; i++) {
        const int from = (int)first[i], to = i + 1 < groups ? (int)first[i + 1] : MEMBERS;
        make_range(&l, from, to);
        bind(b, &l, lfuse_bind_scalar("rate", rates[i]), lfuse_bind_scalar("decay", decays[i]));
        for (int k = 0; k < 2; k++) OK(lfuse_plan_run(plan, stream, b, BINDINGS));
        read_range(&l, from, to, r);
        destroy_range(&l, from, to);
    }
}

/* `grouped`: bit 0: w has the groups, bit 1: g has. */
static void together(lfuse_plan *plan, int groups, const int64_t *first, int grouped, uint64_t launched, results *r)
{
    lfuse_binding b[BINDINGS];
    lists l;

    memset(r, 0, sizeof *r);
    make_range(&l, 0, MEMBERS);
    if (grouped & 1) OK(lfuse_list_set_groups(l.lw, groups, first));
    if (grouped & 2) OK(lfuse_list_set_groups(l.lg, groups, first));
    bind(b, &l, lfuse_bind_scalars("rate", groups, rates), lfuse_bind_scalars("decay", groups, decays));
    OK(lfuse_plan_run(plan, stream, b, BINDINGS));
    uint64_t before = launches();
    OK(lfuse_plan_run(plan, stream, b, BINDINGS));
    if (launched) ck_assert_uint_eq(launches() - before, launched);
    read_range(&l, 0, MEMBERS, r);
    destroy_range(&l, 0, MEMBERS);
}

/*
 * `count`: whether launches are counted: the sum has two a group (one of nine is empty), the update one for up to
 * eight.
 */
static void compare(lfuse_transport transport, bool count)
{
    static results one_by_one, at_once;
    const lfuse_plan_options options = { .transport = transport };

    g = lfuse_graph_create();
    describe();
    lfuse_plan *plan = new_plan(dev, g, &options);
    apart(plan, 2, two, &one_by_one);
    together(plan, 2, two, 1, count ? 5 : 0, &at_once);
    ck_assert(!memcmp(&one_by_one, &at_once, sizeof at_once));
    apart(plan, 9, nine, &one_by_one);
    together(plan, 9, nine, 3, count ? 18 : 0, &at_once);
    ck_assert(!memcmp(&one_by_one, &at_once, sizeof at_once));
    ck_assert_float_ne(at_once.w[3][0], 0);
    drop(plan);
}

TEST_CASE("groups", .setup = open_stub, .teardown = close_stub)

/* By every transport, in both forms of kernels. */
TEST_LOOP(on_the_stub, 0, 8)
{
    reopen_stub_as(_i);
    compare((lfuse_transport)(_i / 2), _i / 2 == LFUSE_TRANSPORT_TABLE);
}

TEST_ON_MACHINE(on_devices)
{
    compare(LFUSE_TRANSPORT_DEFAULT, false);
    compare(LFUSE_TRANSPORT_TABLE, false);
}

/* What a recording binds stays as it was, and a replay binds other numbers: all of them, then the last one alone. */
TEST(recorded)
{
    static results plain, replayed;
    double own[2] = { rates[0], rates[1] };
    const double others[2] = { rates[2], rates[3] }, last[2] = { rates[2], rates[4] };
    lfuse_binding b[BINDINGS];
    lists l;

    describe();
    lfuse_plan *plan = plan_with(0);
    for (int pass = 0; pass < 2; pass++) {
        results *r = pass ? &replayed : &plain;
        memset(r, 0, sizeof *r);
        own[0] = rates[0];
        make_range(&l, 0, MEMBERS);
        OK(lfuse_list_set_groups(l.lw, 2, two));
        bind(b, &l, lfuse_bind_scalars("rate", 2, own), lfuse_bind_scalars("decay", 2, decays));
        if (!pass) {
            OK(lfuse_plan_run(plan, stream, b, BINDINGS));
            b[3] = lfuse_bind_scalars("rate", 2, others);
            OK(lfuse_plan_run(plan, stream, b, BINDINGS));
            b[3] = lfuse_bind_scalars("rate", 2, last);
            OK(lfuse_plan_run(plan, stream, b, BINDINGS));
        } else {
            const lfuse_binding anew = lfuse_bind_scalars("rate", 2, others);
            const lfuse_binding anew_again = lfuse_bind_scalars("rate", 2, last);
            const lfuse_binding wrong = lfuse_bind_scalars("rate", 3, rates);
            OK(lfuse_record_begin(stream));
            OK(lfuse_plan_run(plan, stream, b, BINDINGS));
            lfuse_recording *recording = new_recording(stream);
            own[0] = 1e30; /* is not read any more */
            OK(lfuse_recording_replay(recording, stream, NULL, 0));
            FAILS(LFUSE_ERR_BINDING, lfuse_recording_replay(recording, stream, &wrong, 1));
            OK(lfuse_recording_replay(recording, stream, &anew, 1));
            OK(lfuse_recording_replay(recording, stream, &anew_again, 1));
            drop(recording);
        }
        read_range(&l, 0, MEMBERS, r);
        destroy_range(&l, 0, MEMBERS);
    }
    ck_assert(!memcmp(&plain, &replayed, sizeof plain));
}

TEST(refusals)
{
    lfuse_binding b[BINDINGS];
    lists l;

    describe();
    lfuse_plan *plan = plan_with(0);
    make_range(&l, 0, MEMBERS);
    FAILS(LFUSE_ERR_INVALID, lfuse_list_set_groups(NULL, 2, two));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_set_groups(l.lw, 2, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_set_groups(l.lw, 0, two));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_set_groups(l.lw, -1, two));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_set_groups(l.lw, 2, LFUSE_DIMS(1, 4)));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_set_groups(l.lw, 3, LFUSE_DIMS(0, 5, 4)));
    FAILS(LFUSE_ERR_INVALID, lfuse_list_set_groups(l.lw, 2, LFUSE_DIMS(0, MEMBERS + 1)));
    /* Numbers without groups; as many as there are groups, and NULL. */
    bind(b, &l, lfuse_bind_scalars("rate", 2, rates), lfuse_bind_scalar("decay", 0.1));
    FAILS(LFUSE_ERR_BINDING, lfuse_plan_run(plan, stream, b, BINDINGS));
    b[3] = lfuse_bind_scalars("rate", 1, rates); /* is one number */
    OK(lfuse_plan_run(plan, stream, b, BINDINGS));
    FAILS(LFUSE_ERR_STATE, lfuse_list_set_groups(l.lw, 2, two));
    b[3] = lfuse_bind_scalars("rate", 0, rates);
    FAILS(LFUSE_ERR_BINDING, lfuse_plan_run(plan, stream, b, BINDINGS));
    b[3] = lfuse_bind_scalars("rate", 2, NULL);
    FAILS(LFUSE_ERR_BINDING, lfuse_plan_run(plan, stream, b, BINDINGS));
    b[3] = lfuse_bind_scalars("g", 2, rates);
    FAILS(LFUSE_ERR_BINDING, lfuse_plan_run(plan, stream, b, BINDINGS));
    destroy_range(&l, 0, MEMBERS);

    make_range(&l, 0, MEMBERS);
    OK(lfuse_list_set_groups(l.lw, 9, nine));
    OK(lfuse_list_set_groups(l.lw, 1, nine)); /* none again */
    OK(lfuse_list_set_groups(l.lw, 2, two));
    OK(lfuse_list_set_groups(l.lg, 9, nine));
    bind(b, &l, lfuse_bind_scalars("rate", 2, rates), lfuse_bind_scalar("decay", 0.1));
    FAILS(LFUSE_ERR_SHAPE, lfuse_plan_run(plan, stream, b, BINDINGS));
    ck_assert_str_eq(lfuse_last_error(), "list \"w\" has 2 groups, \"g\" 9");
    OK(lfuse_list_set_groups(l.lg, 2, LFUSE_DIMS(0, 5)));
    FAILS(LFUSE_ERR_SHAPE, lfuse_plan_run(plan, stream, b, BINDINGS));
    OK(lfuse_list_set_groups(l.lg, 2, two));
    b[3] = lfuse_bind_scalars("rate", 3, rates);
    FAILS(LFUSE_ERR_BINDING, lfuse_plan_run(plan, stream, b, BINDINGS));
    ck_assert_str_eq(lfuse_last_error(), "\"rate\" is bound to 3 numbers, and its lists have 2 groups");
    b[3] = lfuse_bind_scalar("rate", 0.5); /* one for all */
    OK(lfuse_plan_run(plan, stream, b, BINDINGS));
    destroy_range(&l, 0, MEMBERS);
}

/* A scalar that also meets a tensor has one number. */
TEST(beside_tensors)
{
    const lfuse_value w = lfuse_list_input(g, "w", LFUSE_F32, LFUSE_RANK_ANY), s = lfuse_scalar(g, "s");
    const lfuse_value x = lfuse_input(g, "x", F32(5)), t = lfuse_scalar(g, "t");
    lfuse_tensor *tx = ramp(SHAPE(5), 1, 1);
    lists l;

    lfuse_update(w, lfuse_mul(lfuse_mul(w, s), t));
    lfuse_update(x, lfuse_mul(x, s));
    lfuse_plan *plan = plan_with(0);
    make_range(&l, 0, MEMBERS);
    OK(lfuse_list_set_groups(l.lw, 2, two));
    {
        lfuse_binding b[] = { BIND("w", l.lw), lfuse_bind_scalar("s", 2), BIND("x", tx),
                              lfuse_bind_scalars("t", 2, rates) };
        OK(lfuse_plan_run(plan, stream, b, 4));
        b[1] = lfuse_bind_scalars("s", 2, rates);
        FAILS(LFUSE_ERR_BINDING, lfuse_plan_run(plan, stream, b, 4));
    }
    ck_assert_float_eq(values(tx)[1], 4);
    ck_assert_float_eq(values(l.w[5])[0], 12 * 0.3f);
    destroy_range(&l, 0, MEMBERS);
}

TEST_SUITE("groups", CK_NOFORK)
