/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The object: one launch a step, the same bits on all levels and devices, types in memory, masters, averages, zeroed
 * gradients, a rule of the program's own, and the rule that looks at matrices.
 */
#include "tests/optim/run.h"

/* ---- levels, lists and loops ---- */

TEST_CASE("optimizer", .before = open_devices, .after = close_devices)

TEST_ON_DEVICES(levels_give_equal_bits, lfuse_device *device)
{
    static const lfuse_rule rules[] = { LFUSE_RULE_SGD, LFUSE_RULE_ADAMW, LFUSE_RULE_LAMB, LFUSE_RULE_NOVOGRAD };
    static double fused[ALL], other[ALL], of_fused[MOST_STATES * ALL], of_other[MOST_STATES * ALL];

    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        lfuse_optimizer_options options = options_of(rules[i], 0);
        memset(of_fused, 0, sizeof of_fused);
        memset(of_other, 0, sizeof of_other);
        run(device, &options, LFUSE_F32, MEMBERS, sizes, fused, of_fused);
        for (int level = LFUSE_OPTIM_FOREACH; level <= LFUSE_OPTIM_LOOP; level++) {
            options.level = (lfuse_optimizer_level)level;
            run(device, &options, LFUSE_F32, MEMBERS, sizes, other, of_other);
            same(fused, other, ALL, level == LFUSE_OPTIM_LOOP ? "loop" : "foreach");
            same(of_fused, of_other, MOST_STATES * ALL, "states");
        }
    }
}

TEST_ON_DEVICES(lists_equal_loops, lfuse_device *device)
{
    static double together[ALL], alone[ALL];
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAMW, 0);

    run(device, &options, LFUSE_F32, MEMBERS, sizes, together, NULL);
    run(device, &options, LFUSE_F32, 1, sizes, alone, NULL); /* the formula of elements knows the member's number */
    same(together, alone, sizes[0], "a list of one");
}

TEST_ON_DEVICES(one_launch_a_step, lfuse_device *device)
{
    lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAMW, LFUSE_OPTIM_AMSGRAD | LFUSE_OPTIM_ZERO_GRADIENTS |
                                                                       LFUSE_OPTIM_AVERAGE);
    uint64_t counts[3];

    model m = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    lfuse_group group = group_of(&m, LFUSE_RULE_ADAMW);
    for (int level = LFUSE_OPTIM_FUSED; level <= LFUSE_OPTIM_LOOP; level++) {
        options.level = (lfuse_optimizer_level)level;
        lfuse_optimizer *o = optimizer_of(&m, &options, &group);
        counts[level] = launches_of_step(&m, o);
    }
    ck_assert_uint_eq(counts[LFUSE_OPTIM_FUSED], 1);
    ck_assert_uint_gt(counts[LFUSE_OPTIM_FOREACH], 10);
    ck_assert_uint_eq(counts[LFUSE_OPTIM_LOOP], (MEMBERS - 1) * counts[LFUSE_OPTIM_FOREACH]); /* one is empty */
}

/* ---- types ---- */

TEST_ON_DEVICES(types_in_memory, lfuse_device *device)
{
    static const lfuse_type types[] = { LFUSE_F16, LFUSE_BF16, LFUSE_F32 };
    static double p[ALL], want[ALL], master[ALL], state[ALL];

    for (int i = 0; i < 9; i++) {
        lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAMW, LFUSE_OPTIM_MASTERS);
        options.gradient_type = types[i / 3];
        options.state_type = types[(i + 1) % 3];
        model m = model_of(device, types[i % 3], types[i / 3], MEMBERS, sizes);
        lfuse_group group = group_of(&m, LFUSE_RULE_ADAMW);
        lfuse_optimizer *o = optimizer_of(&m, &options, &group);
        for (int t = 1; t <= STEPS; t++) model_step(&m, o, t);
        model_parameters(&m, p);
        model_state(&m, o, "exp_avg", state);
        if (types[i % 3] != LFUSE_F32) model_state(&m, o, "master", master);
        for (int k = 0; k < ALL && types[i % 3] != LFUSE_F32; k++) {
            const double ulp = types[i % 3] == LFUSE_F16 ? 0x1p-11 : 0x1p-8;
            ck_assert_msg(fabs(p[k] - master[k]) <= ulp * fabs(master[k]) + 0x1p-25, "%s: element %d is %.9g, its "
                          "master %.9g", device_name, k, p[k], master[k]);
        }
        /* With masters, and states of f32, the types of parameters and gradients change nothing: all data is exact. */
        if (options.state_type == LFUSE_F32 && types[i % 3] != LFUSE_F32) {
            options = options_of(LFUSE_RULE_ADAMW, 0);
            run(device, &options, LFUSE_F32, MEMBERS, sizes, want, NULL);
            same(master, want, ALL, "masters");
        }
    }
}

/* ---- around the rule ---- */

TEST_ON_DEVICES(averages_and_zeroed_gradients, lfuse_device *device)
{
    static double before[ALL], after[ALL], average[ALL];
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_SGD,
                                                       LFUSE_OPTIM_AVERAGE | LFUSE_OPTIM_ZERO_GRADIENTS);
    double zeros[16];

    model m = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    lfuse_group group = group_of(&m, LFUSE_RULE_SGD);
    group.hyper.lr = 0.5;
    group.hyper.ema_decay = 0.75;
    lfuse_optimizer *o = optimizer_of(&m, &options, &group);
    model_parameters(&m, before);
    model_step(&m, o, 1);
    model_parameters(&m, after);
    model_state(&m, o, "average", average);
    for (int i = 0; i < ALL; i++)
        ck_assert_double_eq(average[i], before[i] + 0.25 * (after[i] - before[i])); /* exact */
    read_all(&m, m.g[0], zeros);
    for (int i = 0; i < sizes[0]; i++) ck_assert_double_eq(zeros[i], 0);
}

/* Less than 8 MB. */
TEST_ON_DEVICES(states_in_shared_memory, lfuse_device *device)
{
    static double want[ALL], got[ALL];
    const lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAM, LFUSE_OPTIM_PAGED);
    const lfuse_optimizer_options plain = options_of(LFUSE_RULE_ADAM, 0);
    lfuse_optimizer *o;

    const lfuse_device_info info = info_of(device);
    if (info.svm) {
        run(device, &plain, LFUSE_F32, MEMBERS, sizes, want, NULL);
        run(device, &options, LFUSE_F32, MEMBERS, sizes, got, NULL);
        same(got, want, ALL, "states in shared memory");
        return;
    }
    model m = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    lfuse_group group = group_of(&m, LFUSE_RULE_ADAM);
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse_optimizer_create(device, &options, 1, &group, &o));
}

/* ---- where states lie ---- */

/* Each begins whole 256 bytes behind the first one, so that kernels can take vectors of it. */
TEST_ON_DEVICES(states_are_aligned, lfuse_device *device)
{
    lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAM, LFUSE_OPTIM_PAGED);
    const unsigned char *first = NULL;
    lfuse_tensor *state;

    const lfuse_device_info info = info_of(device);
    if (!info.svm_concurrent) return;
    options.state_type = LFUSE_F16;
    model m = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    lfuse_group group = group_of(&m, LFUSE_RULE_ADAM);
    lfuse_optimizer *o = optimizer_of(&m, &options, &group);
    for (int i = 0; i < MEMBERS; i++) {
        OK(lfuse_optimizer_state(o, 0, 0, i, &state));
        const unsigned char *at = lfuse_tensor_host(state);
        if (!i) first = at;
        if (at) ck_assert_msg((at - first) % 256 == 0, "%s: the state of member %d lies %lld bytes behind the first",
                              device_name, i, (long long)(at - first));
        lfuse_tensor_destroy(state);
    }
    ck_assert_ptr_nonnull(first);
}

/*
 * Two members of f64 fill an allocation of the most bytes, the third goes to another. Other devices have too much
 * memory for that: the stub is given little while it is opened.
 */
TEST(states_of_several_allocations)
{
    static const int64_t elements[] = { 4096, 4096, 4096 };
    static double p[2][3 * 4096], states[2][MOST_STATES * 3 * 4096];
    const uint64_t all = lfuse__stub.memory_bytes;
    lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAM, 0);

    options.state_type = LFUSE_F64;
    lfuse__stub.memory_bytes = 2 * 4096 * sizeof(double);
    lfuse_device *small = new_device("stub:0");
    lfuse__stub.memory_bytes = all;
    run(devices[0], &options, LFUSE_F32, 3, elements, p[0], states[0]);
    run(small, &options, LFUSE_F32, 3, elements, p[1], states[1]);
    same(p[0], p[1], 3 * 4096, "in several allocations");
    same(states[0], states[1], MOST_STATES * 3 * 4096, "states in several allocations");
}

/* ---- a rule of the program's own ---- */

/* Adam as a program writes it over lists: the same launch, the same bits as the one in the library. */
TEST_ON_DEVICES(a_rule_of_ones_own, lfuse_device *device)
{
    static double want[ALL], got[ALL];
    const double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8;
    lfuse_graph *g = new_graph();
    const lfuse_value p = lfuse_list_input(g, "p", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value d = lfuse_list_input(g, "g", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value m0 = lfuse_list_input(g, "m", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value v0 = lfuse_list_input(g, "v", LFUSE_F32, LFUSE_RANK_ANY);
    const lfuse_value one = lfuse_constant(g, 1), t = lfuse_scalar(g, "t");
    const lfuse_value b1 = lfuse_constant(g, beta1), b2 = lfuse_constant(g, beta2);
    const lfuse_value m1 = lfuse_lerp(m0, d, lfuse_sub(one, b1));
    const lfuse_value v1 = lfuse_addcmul(lfuse_mul(v0, b2), d, d, lfuse_sub(one, b2));
    const lfuse_value rate = lfuse_div(lfuse_constant(g, lr), lfuse_sub(one, lfuse_pow(b1, t)));
    const lfuse_value root = lfuse_div(lfuse_sqrt(v1), lfuse_sqrt(lfuse_sub(one, lfuse_pow(b2, t))));
    const lfuse_value step = lfuse_div(m1, lfuse_add(root, lfuse_constant(g, eps)));
    uint64_t before = 0;

    lfuse_update(p, lfuse_sub(p, lfuse_mul(rate, step)));
    lfuse_update(m0, m1);
    lfuse_update(v0, v1);
    run(device, &(lfuse_optimizer_options){ .rule = LFUSE_RULE_ADAM }, LFUSE_F32, MEMBERS, sizes, want, NULL);
    lfuse_plan *plan = new_plan(device, g, NULL);
    model of = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    model moments = model_of(device, LFUSE_F32, LFUSE_F32, MEMBERS, sizes);
    for (int i = 0; i < MEMBERS; i++) {
        OK(lfuse_tensor_fill(moments.p[i], NULL, 0));
        OK(lfuse_tensor_fill(moments.g[i], NULL, 0));
    }
    for (int k = 1; k <= STEPS; k++) {
        model_gradients(&of, k, 1);
        before = launches_of(device);
        RUN(plan, of.stream, BIND("p", of.parameters), BIND("g", of.gradients), BIND("m", moments.parameters),
            BIND("v", moments.gradients), lfuse_bind_scalar("t", k));
    }
    ck_assert_uint_eq(launches_of(device) - before, 1);
    model_parameters(&of, got);
    same(got, want, ALL, "a rule of the program's own");
}

/* ---- matrices: a number a row and a column ---- */

static const int64_t of_matrices[] = { 7, 6, 4000, 1030, 12, 0 }, their_columns[] = { 0, 3, 50, 2, 12, 0 };
enum { MATRICES = sizeof of_matrices / sizeof *of_matrices };

static uint64_t factored(lfuse_device *device, lfuse_optimizer_level level, int members, double *all)
{
    lfuse_optimizer_options options = options_of(LFUSE_RULE_ADAFACTOR, LFUSE_OPTIM_AVERAGE);

    model m = model_shaped(device, LFUSE_F32, LFUSE_F32, members, of_matrices, their_columns);
    options.level = level;
    lfuse_group group = group_of(&m, LFUSE_RULE_ADAFACTOR);
    group.hyper.ema_decay = 0.5;
    lfuse_optimizer *o = optimizer_of(&m, &options, &group);
    for (int t = 1; t <= 3; t++) model_step(&m, o, t);
    uint64_t launches = launches_of_step(&m, o);
    all += model_parameters(&m, all);
    all += model_state(&m, o, "row_var", all);
    all += model_state(&m, o, "col_var", all);
    model_state(&m, o, "average", all);
    return launches;
}

TEST_ON_DEVICES(matrices_are_factored, lfuse_device *device)
{
    static double fused[4 * MOST_ELEMENTS], other[4 * MOST_ELEMENTS];

    memset(fused, 0, sizeof fused);
    memset(other, 0, sizeof other);
    uint64_t launches = factored(device, LFUSE_OPTIM_FUSED, MATRICES, fused);
    ck_assert_msg(launches <= 16, "%s: %d launches", device_name, (int)launches);
    ck_assert_uint_eq(factored(device, LFUSE_OPTIM_FUSED, 2, other), launches);
    memset(other, 0, sizeof other);
    factored(device, LFUSE_OPTIM_FOREACH, MATRICES, other);
    ck_assert_mem_eq(fused, other, sizeof fused);
    memset(other, 0, sizeof other);
    factored(device, LFUSE_OPTIM_LOOP, MATRICES, other);
    ck_assert_mem_eq(fused, other, sizeof fused);
}

TEST_SUITE("optim", CK_NOFORK)
