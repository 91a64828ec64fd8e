/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Twenty steps of every rule and option against trajectories that PyTorch (or a script written from the papers) made in
 * f64: tests/data/optim. In f64 ours differ by what rounding makes of another order of operations, which shows every
 * slip of a formula; in f32 by the rounding of f32. On devices that are exact the f32 bits are those of the stub.
 *
 * The bound. A step is at most OPERATIONS operations between reading an element and storing it, each erring by u times
 * what passes through it, which is no larger than `scale`, the largest magnitude of the row; errors of the states are
 * carried on by factors up to 1; so STEPS steps err by STEPS OPERATIONS u scale. Where a rule divides by a difference
 * of near numbers (centered), the bound is 64 times that (`harder`).
 */
#include "tests/optim/rig.h"

enum { STEPS = 20, OPERATIONS = 64, ELEMENTS = 13, MOST_ROWS = 160, MOST_LINES = 12, LINE = 1024 };

typedef struct line {
    bool state;
    int step, count; /* of what: one for each member of some states */
    char name[32];
    double value[ELEMENTS];
} line;

typedef struct row {
    char name[40], rule[16];
    lfuse_rule number;
    lfuse_optimizer_options options;
    lfuse_hyper hyper;
    int halve_at, nlines;
    line lines[MOST_LINES];
    float bits[STEPS][ELEMENTS]; /* of the first device */
} row;

static row rows[MOST_ROWS];
static int nrows;

/* ---- reading ---- */

static unsigned switch_of(const char *word)
{
    static const struct { const char *word; unsigned bit; } switches[] = {
        { "nesterov", LFUSE_OPTIM_NESTEROV }, { "amsgrad", LFUSE_OPTIM_AMSGRAD }, { "centered", LFUSE_OPTIM_CENTERED },
        { "decoupled", LFUSE_OPTIM_DECOUPLED }, { "decay_last", LFUSE_OPTIM_DECAY_LAST },
        { "averaging", LFUSE_OPTIM_GRAD_AVERAGING }, { "maximize", LFUSE_OPTIM_MAXIMIZE },
        { "average", LFUSE_OPTIM_AVERAGE }, { "-", 0 },
    };

    for (size_t i = 0; i < sizeof switches / sizeof *switches; i++)
        if (!strcmp(switches[i].word, word)) return switches[i].bit;
    ck_abort_msg("a switch %s", word);
    return 0;
}

static double *field_of(lfuse_hyper *h, const char *name)
{
#define FIELD(x) { #x, &h->x }
    const struct { const char *name; double *field; } fields[] = {
        FIELD(lr), FIELD(weight_decay), FIELD(momentum), FIELD(dampening), FIELD(beta1), FIELD(beta2), FIELD(eps),
        FIELD(eps2), FIELD(clip_threshold),
        FIELD(alpha), FIELD(rho), FIELD(lr_decay), FIELD(initial_accumulator), FIELD(lambd), FIELD(t0),
        FIELD(momentum_decay), FIELD(eta_minus), FIELD(eta_plus), FIELD(step_min), FIELD(step_max), FIELD(ema_decay),
    };
#undef FIELD

    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!strcmp(fields[i].name, name)) return fields[i].field;
    ck_abort_msg("a number %s", name);
    return NULL;
}

static void read_number(row *r, char *word)
{
    char *equals = strchr(word, '=');

    ck_assert_ptr_nonnull(equals);
    *equals = 0;
    double x = strtod(equals + 1, NULL);
    if (!strcmp(word, "halve_at")) {
        r->halve_at = (int)x;
    } else if (!strcmp(word, "clip_value") || !strcmp(word, "clip_member") || !strcmp(word, "clip_norm")) {
        r->options.clip = !strcmp(word, "clip_value") ? LFUSE_CLIP_VALUE :
                          !strcmp(word, "clip_norm") ? LFUSE_CLIP_GLOBAL_NORM : LFUSE_CLIP_MEMBER_NORM;
        r->options.clip_limit = x;
    } else {
        *field_of(&r->hyper, word) = x;
    }
}

static void read_head(row *r, char *text)
{
    char *rest, *inner, *word = strtok_r(text, " \n", &rest);
    int rule;

    snprintf(r->name, sizeof r->name, "%s", word);
    word = strtok_r(NULL, " \n", &rest);
    for (rule = 1; strcmp(lfuse_rule_name((lfuse_rule)rule), word); rule++) ck_assert_int_lt(rule, 64);
    r->options.rule = (lfuse_rule)rule;
    OK(lfuse_hyper_defaults(r->options.rule, &r->hyper));
    word = strtok_r(NULL, " \n", &rest);
    for (char *s = strtok_r(word, ",", &inner); s; s = strtok_r(NULL, ",", &inner)) r->options.switches |= switch_of(s);
    while ((word = strtok_r(NULL, " \n", &rest))) read_number(r, word);
}

static void read_line(row *r, char *text)
{
    char *rest, *word = strtok_r(text, " \n", &rest);
    line *l = &r->lines[r->nlines++];
    int i;

    ck_assert_int_le(r->nlines, MOST_LINES);
    l->state = !strcmp(word, "state");
    word = strtok_r(NULL, " \n", &rest);
    snprintf(l->name, sizeof l->name, "%s", word);
    l->step = l->state ? STEPS : atoi(word);
    for (i = 0; i < ELEMENTS && (word = strtok_r(NULL, " \n", &rest)); i++) l->value[i] = strtod(word, NULL);
    l->count = i;
    ck_assert(i == ELEMENTS || (l->state && i >= 2)); /* of some states one for each member, row or column */
}

static void read_rows(void)
{
    char path[1024], text[LINE];
    const char *top = getenv("top_srcdir");

    snprintf(path, sizeof path, "%s/tests/data/optim/trajectories.txt", top ? top : TOP_SRCDIR);
    FILE *f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s cannot be read", path);
    while (fgets(text, sizeof text, f)) {
        if (*text == '#') continue;
        if (!strncmp(text, "row ", 4)) {
            ck_assert_int_lt(nrows, MOST_ROWS);
            read_head(&rows[nrows++], text + 4);
        } else {
            ck_assert_int_gt(nrows, 0);
            read_line(&rows[nrows - 1], text);
        }
    }
    fclose(f);
    ck_assert_int_gt(nrows, 60);
}

static void set_up(void)
{
    read_rows();
    open_devices();
}

/* ---- comparing ---- */

static double scale_of(const row *r)
{
    double scale = 1;

    for (int i = 0; i < r->nlines; i++)
        for (int k = 0; k < ELEMENTS; k++) scale = fmax(scale, fabs(r->lines[i].value[k]));
    return scale;
}

static double harder(const row *r)
{
    return r->options.switches & LFUSE_OPTIM_CENTERED ? 64 : 1;
}

static void compare(const row *r, const line *l, lfuse_type type, const double *got)
{
    const double u = type == LFUSE_F64 ? 0x1p-53 : 0x1p-24, bound = STEPS * OPERATIONS * u * scale_of(r) * harder(r);

    for (int i = 0; i < l->count; i++)
        ck_assert_msg(fabs(got[i] - l->value[i]) <= bound, "%s, %s, %s: %s%s, element %d is %.17g, not %.17g (%.3g of "
                      "the bound)", device_name, r->name, lfuse_type_name(type), l->state ? "" : "parameters of step ",
                      l->name, i, got[i], l->value[i], fabs(got[i] - l->value[i]) / bound);
}

static void run_row(row *r, lfuse_device *device, lfuse_type type, double *all)
{
    static const int64_t elements[] = { 7, 6 }, columns[] = { 0, 3 };
    double got[ELEMENTS];

    model m = model_shaped(device, type, type, 2, elements, columns);
    lfuse_group group = (lfuse_group){ m.parameters, r->hyper };
    lfuse_optimizer *o = optimizer_of(&m, &r->options, &group);
    for (int t = 1; t <= STEPS; t++) {
        if (t == r->halve_at) OK(lfuse_optimizer_set_lr(o, -1, r->hyper.lr / 2));
        model_step(&m, o, t);
        model_parameters(&m, all + (t - 1) * ELEMENTS);
    }
    for (int i = 0; i < r->nlines; i++) {
        const line *l = &r->lines[i];
        if (l->state) ck_assert_int_eq(model_state(&m, o, l->name, got), l->count);
        compare(r, l, type, l->state ? got : all + (l->step - 1) * ELEMENTS);
    }
}

static void check_bits(row *r, lfuse_device *device, const double *all)
{
    lfuse_device_info info = info_of(device);
    for (int i = 0; i < STEPS * ELEMENTS; i++) {
        float *bits = &r->bits[0][0] + i;
        if (device == devices[0]) *bits = (float)all[i];
        ck_assert_msg(!info.exact || *bits == (float)all[i], "%s, %s: element %d of step %d is %.9g, on the stub %.9g",
                      device_name, r->name, i % ELEMENTS, i / ELEMENTS + 1, all[i], (double)*bits);
    }
}

TEST_CASE("trajectories", .before = set_up, .after = close_devices)

TEST_ON_DEVICES(trajectories_in_f32, lfuse_device *device)
{
    double all[STEPS * ELEMENTS];

    for (int i = 0; i < nrows; i++) {
        run_row(&rows[i], device, LFUSE_F32, all);
        check_bits(&rows[i], device, all);
    }
}

TEST_ON_DEVICES(trajectories_in_f64, lfuse_device *device)
{
    double all[STEPS * ELEMENTS];

    lfuse_device_info info = info_of(device);
    for (int i = 0; i < nrows && info.f64; i += lfuse__device_facts(device)->compiles_at_launch && !test_all() ? 4 : 1)
        run_row(&rows[i], device, LFUSE_F64, all);
}

TEST_SUITE("optim", CK_NOFORK)
