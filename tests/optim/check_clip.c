/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One norm over all groups of an optimizer: against a reference in double, the bits of one list, launches, levels,
 * numbers on the device, replays, addresses that move, and what fails.
 */
#include "tests/optim/run.h"

enum { MOST_GROUPS = 11, LIMIT = 2 };

static const int64_t lengths[4] = { 700, 0, 2500, 5 };

/* Some groups of one optimizer. */
typedef struct groups {
    int count;
    model m[MOST_GROUPS];
    lfuse_group group[MOST_GROUPS];
    lfuse_list *gradients[MOST_GROUPS];
    lfuse_optimizer *o;
} groups;

static lfuse_optimizer_options clipped(lfuse_rule rule, unsigned switches)
{
    lfuse_optimizer_options options = options_of(rule, switches);

    options.clip = LFUSE_CLIP_GLOBAL_NORM;
    options.clip_limit = LIMIT;
    return options;
}

static void make(groups *x, lfuse_device *device, int count, const lfuse_type *types,
                 const lfuse_optimizer_options *options)
{
    x->count = count;
    for (int i = 0; i < count; i++) {
        const lfuse_type type = types[i];
        x->m[i] = model_of(device, type, options->gradient_type ? options->gradient_type : type, 4, lengths);
        x->group[i] = group_of(&x->m[i], options->rule);
        if (options->rule == LFUSE_RULE_SGD) x->group[i].hyper.momentum = 0.5;
        x->gradients[i] = x->m[i].gradients;
    }
    x->o = new_optimizer(device, options, count, x->group);
}

/* Gradients of step t times `factor`, other ones of each group. */
static void write_gradients(const groups *x, int t, double factor)
{
    OK(lfuse_stream_synchronize(x->m[0].stream));
    for (int i = 0; i < x->count; i++) model_gradients(&x->m[i], t + 3 * i, factor);
}

static lfuse_status step(const groups *x, const lfuse_step_inputs *inputs)
{
    const lfuse_status status = lfuse_optimizer_step(x->o, x->m[0].stream, x->count, x->gradients, inputs);

    if (!status) OK(lfuse_stream_synchronize(x->m[0].stream));
    return status;
}

static int64_t read_group(const groups *x, int group, double *to)
{
    return model_parameters(&x->m[group], to);
}

static int64_t read_parameters(const groups *x, double *to)
{
    int64_t n = 0;

    for (int i = 0; i < x->count; i++) n += read_group(x, i, to + n);
    return n;
}

/* ---- against double ---- */

static double norm_of(const groups *x, int t)
{
    double sum = 0;

    for (int i = 0; i < x->count; i++)
        for (int k = 0; k < x->m[i].members; k++)
            for (int64_t e = 0; e < x->m[i].elements[k]; e++)
                sum += rig_gradient(k, e, t + 3 * i) * rig_gradient(k, e, t + 3 * i);
    return sqrt(sum);
}

/*
 * SGD's momentum after the first step is the gradient that the rule saw. A sum of squares rounds each square and adds 8
 * times in a lane, 7 times over the lanes, twice over 3 segments and 10 times over fewer than 1 024 members; those of
 * the types add 7 times at most. The root halves what they err; itself, the sum with 1e-6, quotient and product err
 * once each, and f64 parameters beside narrower gradients take these' error.
 */
static void check_first(const groups *x, int group, double u)
{
    const double norm = norm_of(x, 1), scale = fmin(1, LIMIT / (norm + 1e-6));
    const double bound = ((1 + 8 + 7 + 2 + 10 + 7) / 2.0 + 4) * u;
    lfuse_tensor *state;
    double got[2500];

    ck_assert_double_gt(norm, LIMIT);
    for (int k = 0; k < x->m[group].members; k++) {
        OK(lfuse_optimizer_state(x->o, 0, group, k, &state));
        read_all(&x->m[group], state, got);
        for (int64_t e = 0; e < x->m[group].elements[k]; e++) {
            const double want = scale * rig_gradient(k, e, 1 + 3 * group);
            ck_assert_msg(fabs(got[e] - want) <= bound * fabs(want), "%s, group %d of %s, member %d: element %d is "
                          "%.17g, not %.17g", device_name, group, lfuse_type_name(x->m[group].type), k, (int)e, got[e],
                          want);
        }
        lfuse_tensor_destroy(state);
    }
}

/* Types of some groups, those of gradients where they are others, and launches: of the sums, two a type, and others. */
typedef struct mixture {
    int count;
    lfuse_type types[6], gradients;
    int launches;
} mixture;

static const mixture mixtures[] = {
    { 2, { LFUSE_F32, LFUSE_F32 }, LFUSE_TYPE_NONE, 2 + 1 },
    { 1, { LFUSE_F32 }, LFUSE_TYPE_NONE, 2 + 1 }, /* by the group's own plan, but in loops */
    { 2, { LFUSE_BF16, LFUSE_BF16 }, LFUSE_TYPE_NONE, 2 + 1 },
    { 2, { LFUSE_BF16, LFUSE_F32 }, LFUSE_F32, 2 + 2 },
    { 2, { LFUSE_F32, LFUSE_BF16 }, LFUSE_TYPE_NONE, 4 + 2 },
    { 4, { LFUSE_BF16, LFUSE_F32, LFUSE_F32, LFUSE_BF16 }, LFUSE_TYPE_NONE, 4 + 3 },
    { 3, { LFUSE_F16, LFUSE_F32, LFUSE_BF16 }, LFUSE_TYPE_NONE, 6 + 3 },
    { 2, { LFUSE_F64, LFUSE_F64 }, LFUSE_TYPE_NONE, 2 + 1 },
    { 2, { LFUSE_F64, LFUSE_F32 }, LFUSE_F32, 4 + 2 }, /* computed in f64 and in f32 */
    { 6, { LFUSE_F64, LFUSE_F32, LFUSE_F16, LFUSE_BF16, LFUSE_F64, LFUSE_F32 }, LFUSE_TYPE_NONE, 8 + 6 },
};
enum { MIXTURES = sizeof mixtures / sizeof *mixtures, MOST = 6 * 3205 };

static bool has_f64(const mixture *x, bool all)
{
    int n = 0;

    for (int i = 0; i < x->count; i++) n += x->types[i] == LFUSE_F64;
    return all ? n == x->count : n > 0;
}

/* Where kernels take long to compile, every second mixture. */
static int turn(lfuse_device *device)
{
    return lfuse__device_facts(device)->compiles_at_launch && !test_all() ? 2 : 1;
}

TEST_CASE("clip", .before = open_devices, .after = close_devices)

TEST_ON_DEVICES(one_norm_over_types, lfuse_device *device)
{
    groups x;

    const lfuse_device_info info = info_of(device);
    for (int i = 0; i < MIXTURES; i += turn(device)) {
        lfuse_optimizer_options options = clipped(LFUSE_RULE_SGD, 0);
        if (has_f64(&mixtures[i], false) && !info.f64) continue;
        options.gradient_type = mixtures[i].gradients;
        make(&x, device, mixtures[i].count, mixtures[i].types, &options);
        write_gradients(&x, 1, 1);
        OK(step(&x, NULL));
        for (int k = 0; k < x.count; k++) check_first(&x, k, has_f64(&mixtures[i], true) ? 0x1p-53 : 0x1p-24);
        uint64_t before = launches_of(device);
        OK(step(&x, NULL));
        ck_assert_msg(launches_of(device) - before == (uint64_t)mixtures[i].launches, "%s, groups %d: %d launches",
                      device_name, i, (int)(launches_of(device) - before));
    }
}

/* ---- bits ---- */

/* Parameters of STEPS steps. */
static int64_t steps(lfuse_device *device, const mixture *of, lfuse_optimizer_options options, double *to)
{
    groups x;

    options.gradient_type = of->gradients;
    make(&x, device, of->count, of->types, &options);
    for (int t = 1; t <= STEPS; t++) {
        write_gradients(&x, t, 1);
        OK(step(&x, NULL));
    }
    int64_t n = read_parameters(&x, to);
    return n;
}

/* All levels, and all devices that are exact, give the same. */
TEST_ON_DEVICES(levels_give_equal_bits, lfuse_device *device)
{
    static double first[MIXTURES][MOST], got[MOST];

    const lfuse_device_info info = info_of(device);
    for (int i = 0; i < MIXTURES; i += turn(device)) {
        lfuse_optimizer_options options = clipped(LFUSE_RULE_ADAMW, 0);
        if (has_f64(&mixtures[i], false) && !info.f64) continue;
        for (int level = LFUSE_OPTIM_FUSED; level <= LFUSE_OPTIM_LOOP; level++) {
            options.level = (lfuse_optimizer_level)level;
            int64_t n = steps(device, &mixtures[i], options, level || device != devices[0] ? got : first[i]);
            if (level || (device != devices[0] && info.exact)) same(got, first[i], n, "levels of a norm over groups");
            if (turn(device) > 1) break;
        }
    }
}

/* Eleven groups have the bits of one group of all their members, whose norm its own plan makes. */
TEST_ON_DEVICES(groups_have_the_bits_of_one, lfuse_device *device)
{
    static const lfuse_type types[MOST_GROUPS] = {
        LFUSE_F32, LFUSE_F32, LFUSE_F32, LFUSE_F32, LFUSE_F32, LFUSE_F32, LFUSE_F32, LFUSE_F32, LFUSE_F32, LFUSE_F32,
        LFUSE_F32,
    };
    static double want[MOST_GROUPS * 3205], got[MOST_GROUPS * 3205];
    const lfuse_optimizer_options options = clipped(LFUSE_RULE_LION, 0);
    lfuse_tensor *p[4 * MOST_GROUPS], *g[4 * MOST_GROUPS];
    uint64_t before = 0;
    groups x, y;

    make(&x, device, MOST_GROUPS, types, &options);
    make(&y, device, MOST_GROUPS, types, &options);
    for (int i = 0; i < 4 * MOST_GROUPS; i++) p[i] = y.m[i / 4].p[i % 4], g[i] = y.m[i / 4].g[i % 4];
    lfuse_list *parameters = new_list(device, LFUSE_F32, 4 * MOST_GROUPS, p);
    lfuse_list *gradients = new_list(device, LFUSE_F32, 4 * MOST_GROUPS, g);
    lfuse_group group = y.group[0];
    group.parameters = parameters;
    lfuse_optimizer *o = new_optimizer(device, &options, 1, &group);
    for (int t = 1; t <= STEPS; t++) {
        write_gradients(&x, t, 1);
        write_gradients(&y, t, 1);
        OK(lfuse_optimizer_step(o, y.m[0].stream, 1, &gradients, NULL));
        OK(lfuse_stream_synchronize(y.m[0].stream));
        before = launches_of(device);
        OK(step(&x, NULL));
    }
    if (device == devices[0]) ck_assert_uint_eq(launches_of(device) - before, 2 + 2); /* eight groups, and three */
    int64_t n = read_parameters(&x, got);
    read_parameters(&y, want);
    same(got, want, n, "eleven groups and one");
}

/* Decay and no decay, under a limit that does not clip: as without a limit. */
TEST_ON_DEVICES(decay_and_no_decay, lfuse_device *device)
{
    static const lfuse_type types[2] = { LFUSE_F32, LFUSE_F32 };
    static double got[MOST], want[MOST];
    lfuse_optimizer_options options = clipped(LFUSE_RULE_ADAMW, 0);
    lfuse_hyper hyper;
    groups x;
    int64_t n;

    for (int k = 0; k < 2; k++) {
        options.clip = k ? LFUSE_CLIP_NONE : LFUSE_CLIP_GLOBAL_NORM;
        options.clip_limit = k ? 0 : 1e6;
        make(&x, device, 2, types, &options);
        OK(lfuse_optimizer_get_hyper(x.o, 1, &hyper));
        hyper.weight_decay = 0;
        hyper.lr = 0.5;
        OK(lfuse_optimizer_set_hyper(x.o, 1, &hyper));
        for (int t = 1; t <= STEPS; t++) {
            write_gradients(&x, t, 1);
            OK(step(&x, NULL));
        }
        n = read_parameters(&x, k ? want : got);
    }
    same(got, want, n, "decay and no decay");
}

/* ---- numbers on the device ---- */

/* A scale, and a step with an infinite gradient that found_inf stops. */
TEST_ON_DEVICES(scale_and_found_inf, lfuse_device *device)
{
    enum { SCALE = 1024, BAD = 2 };
    static const mixture of = { 2, { LFUSE_F32, LFUSE_BF16 }, LFUSE_TYPE_NONE, 0 };
    static double got[MOST], want[MOST];
    const lfuse_optimizer_options options = clipped(LFUSE_RULE_ADAMW, LFUSE_OPTIM_GRAD_SCALE | LFUSE_OPTIM_FOUND_INF);
    const lfuse_optimizer_options plain = clipped(LFUSE_RULE_ADAMW, 0);
    lfuse_step_inputs inputs;
    int64_t counted;
    groups x, y;

    const lfuse_device_info info = info_of(device);
    if (!info.f64) return;
    make(&x, device, of.count, of.types, &options);
    make(&y, device, of.count, of.types, &plain);
    FAILS(LFUSE_ERR_INVALID, step(&x, NULL));
    for (int t = 1; t <= STEPS; t++) {
        inputs = (lfuse_step_inputs){ .grad_scale = number(device, SCALE), .found_inf = number(device, t == BAD) };
        write_gradients(&x, t, t == BAD ? INFINITY : SCALE);
        OK(step(&x, &inputs));
        write_gradients(&y, t, 1);
        if (t != BAD) OK(step(&y, NULL));
    }
    OK(lfuse_optimizer_get_steps(x.o, &counted));
    ck_assert_int_eq(counted, STEPS - 1);
    int64_t n = read_parameters(&x, got);
    read_parameters(&y, want);
    if (info.exact) same(got, want, n, "a scale and an infinity beside a norm over groups");
}

TEST_ON_DEVICES(replays, lfuse_device *device)
{
    static const mixture of = { 3, { LFUSE_F32, LFUSE_BF16, LFUSE_F32 }, LFUSE_TYPE_NONE, 0 };
    static double got[MOST], want[MOST];
    const lfuse_optimizer_options options = clipped(LFUSE_RULE_ADAMW, LFUSE_OPTIM_DEVICE_STEPS);
    groups x;

    const lfuse_device_info info = info_of(device);
    if (!info.f64) return;
    make(&x, device, of.count, of.types, &options);
    write_gradients(&x, 1, 1);
    OK(step(&x, NULL));
    OK(lfuse_record_begin(x.m[0].stream));
    OK(lfuse_optimizer_step(x.o, x.m[0].stream, x.count, x.gradients, NULL));
    lfuse_recording *recording = new_recording(x.m[0].stream);
    for (int t = 2; t <= STEPS; t++) {
        write_gradients(&x, t, 1);
        OK(lfuse_recording_replay(recording, x.m[0].stream, NULL, 0));
        OK(lfuse_stream_synchronize(x.m[0].stream));
    }
    int64_t n = read_parameters(&x, got);
    steps(device, &of, clipped(LFUSE_RULE_ADAMW, 0), want);
    if (info.exact) same(got, want, n, "replayed norms over groups");
}

/* ---- addresses, refusals, failures ---- */

/* One group's gradients are replaced, another's list is another one. */
TEST_ON_DEVICES(addresses_that_move, lfuse_device *device)
{
    static const mixture of = { 3, { LFUSE_F32, LFUSE_BF16, LFUSE_F32 }, LFUSE_TYPE_NONE, 0 };
    static double got[MOST], want[MOST];
    const lfuse_optimizer_options options = clipped(LFUSE_RULE_ADAMW, 0);
    groups x, y;

    make(&x, device, of.count, of.types, &options);
    make(&y, device, of.count, of.types, &options);
    for (int t = 1; t <= STEPS; t++) {
        if (t == 2) OK(lfuse_list_replace(x.gradients[0], 1, 3, y.m[0].g + 1));
        if (t == 3) x.gradients[1] = y.gradients[1];
        if (t == 4) x.gradients[2] = y.gradients[2];
        write_gradients(&x, t, t < 3 ? 1 : 1e3); /* what is not looked at any more */
        if (t < 3) model_gradients(&y.m[0], t, 1);
        else write_gradients(&y, t, 1);
        if (t == 3) model_gradients(&x.m[2], t + 6, 1);
        if (t >= 2) OK(lfuse_tensor_write(x.m[0].g[0], NULL, &(float[700]){ 0 }));
        if (t >= 2) OK(lfuse_tensor_write(y.m[0].g[0], NULL, &(float[700]){ 0 }));
        OK(step(&x, NULL));
    }
    int64_t n = read_parameters(&x, got);
    make(&x, device, of.count, of.types, &options);
    for (int t = 1; t <= STEPS; t++) {
        write_gradients(&x, t, 1);
        if (t >= 2) OK(lfuse_tensor_write(x.m[0].g[0], NULL, &(float[700]){ 0 }));
        OK(step(&x, NULL));
    }
    read_parameters(&x, want);
    same(got, want, n, "gradients that move, and their norm");
}

/* Whatever fails while the optimizer is made, or in its first step: nothing is launched, changed or left behind. */
TEST(failures)
{
    static const lfuse_type types[2] = { LFUSE_F32, LFUSE_BF16 };
    static const lfuse__stub_slot slots[] = { LFUSE__STUB_program_build, LFUSE__STUB_kernel_create, LFUSE__STUB_alloc,
                                              LFUSE__STUB_write };
    static double before[MOST], after[MOST];
    const lfuse_optimizer_options options = clipped(LFUSE_RULE_ADAM, 0);
    lfuse_optimizer *o = NULL;
    int64_t counted;
    int refusals = 0, nth;
    lfuse_status status;
    groups x;

    make(&x, devices[0], 2, types, &options);
    for (nth = 1; nth < 1000 && !o; nth++) {
        lfuse__stub_fail(LFUSE__STUB_ANY, (uint64_t)nth, false, LFUSE_ERR_DEVICE);
        status = lfuse_optimizer_create(devices[0], &options, 2, x.group, &o);
        lfuse__stub_no_failure();
        ck_assert(status == LFUSE_OK || o == NULL);
    }
    ck_assert_int_gt(nth, 10);
    lfuse_optimizer_destroy(o);
    for (size_t i = 0; i < sizeof slots / sizeof *slots; i++) {
        for (nth = 1, status = LFUSE_ERR_DEVICE; status && nth < 100; nth++) {
            make(&x, devices[0], 2, types, &options);
            write_gradients(&x, 1, 1);
            int64_t n = read_parameters(&x, before);
            uint64_t launches = launches_of(devices[0]);
            lfuse__stub_fail(slots[i], (uint64_t)nth, false, LFUSE_ERR_DEVICE_MEMORY);
            status = step(&x, NULL);
            lfuse__stub_no_failure();
            refusals += status != LFUSE_OK;
            if (status) {
                ck_assert_uint_eq(launches_of(devices[0]), launches);
                OK(lfuse_optimizer_get_steps(x.o, &counted));
                ck_assert_int_eq(counted, 0);
                read_parameters(&x, after);
                same(after, before, n, "after a step that was refused");
                OK(step(&x, NULL));
            }
        }
        ck_assert_int_eq(status, LFUSE_OK);
    }
    ck_assert_int_gt(refusals, 8);
}

TEST_SUITE("optim", CK_NOFORK)
