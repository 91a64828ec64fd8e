/* SPDX-License-Identifier: Apache-2.0 */
/* Where the file of wisdom is, and which effort and precision plans have, by the environment: the tests set it. */
#include <sys/stat.h>
#include <unistd.h>

#include "common/run/run.h"
#include "tests/tune/wisdom_rig.h"

static void open_as(const char *variable, const char *value)
{
    setenv(variable, value, 1);
    open_stub();
    lfuse__stub.gemm_candidates = 7;
    lfuse__stub.gemm_workspace = 0;
    fastest(3);
}

static void open_in_cache(void)
{
    char dir[PATH_MAX + 16];

    snprintf(dir, sizeof dir, "%s/cache", base);
    snprintf(file, sizeof file, "%s/cache/wisdom", base);
    setenv("LFUSE_WISDOM", "", 1); /* as if it were not set, which open_stub would change */
    open_as("LFUSE_CACHE_DIR", dir);
}

TEST_CASE("wisdom place", .setup = make_base, .teardown = close_and_remove, .limit = 120)

TEST(in_the_folder_of_the_cache)
{
    open_in_cache();
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    check_lines(file, 1);
    fastest(5);
    reopen();
    check_chosen(LFUSE_EFFORT_DEFAULT, 4, 3, false);
}

/* It may be removed at any time, and so it is replaced; but what a newer library wrote is not. */
TEST(damaged_in_the_folder_of_the_cache)
{
    open_in_cache();
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    write_text(file, "libfuse wisdom 1\nx\n");
    reopen();
    check_chosen(LFUSE_EFFORT_MEASURE, 5, 3, true);
    ck_heard("warning: wisdom ");
    ck_heard("is cut short: it is replaced");
    check_lines(file, 1);
    write_text(file, "libfuse wisdom 2\n");
    reopen();
    check_chosen(LFUSE_EFFORT_MEASURE, 5, 3, true);
    check_text(file, "libfuse wisdom 2\n");
}

TEST(import_from_the_cache)
{
    int64_t count;

    open_in_cache();
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    OK(lfuse_wisdom_import(dev, NULL, &count));
    ck_assert_int_eq(count, 1);
}

TEST(a_read_only_cache)
{
    char dir[PATH_MAX + 16];

    snprintf(dir, sizeof dir, "%s/cache", base);
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    setenv("LFUSE_CACHE", "ro", 1);
    open_in_cache();
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    ck_assert_int_ne(access(file, F_OK), 0);
    ck_heard("the cache is read only");
    ck_assert_ptr_null(strstr(heard, "warning"));
    FAILS(LFUSE_ERR_IO, lfuse_wisdom_export(dev, NULL));
}

static void check_none(const char *words)
{
    int64_t count;

    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, false);
    reopen();
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    SAYS(LFUSE_ERR_IO, lfuse_wisdom_import(dev, NULL, &count), words);
    SAYS(LFUSE_ERR_IO, lfuse_wisdom_export(dev, NULL), words);
}

TEST(off)
{
    open_as("LFUSE_WISDOM", "0");
    check_none("off (LFUSE_WISDOM=0)");
}

TEST(no_cache)
{
    setenv("LFUSE_CACHE", "0", 1);
    open_as("LFUSE_WISDOM", "");
    check_none("LFUSE_CACHE=0");
}

TEST(a_relative_path)
{
    open_as("LFUSE_WISDOM", "file");
    check_none("\"file\" is no absolute path");
}

TEST(effort_by_environment)
{
    setenv("LFUSE_EFFORT", "measure", 1);
    open_as("LFUSE_WISDOM", "0");
    check_chosen(LFUSE_EFFORT_ESTIMATE, 4, 0, false);
    check_chosen(LFUSE_EFFORT_DEFAULT, 4, 3, true);
    ck_assert_ptr_null(strstr(heard, "warning"));
}

TEST(no_such_effort)
{
    setenv("LFUSE_EFFORT", "Measure", 1);
    open_as("LFUSE_WISDOM", "0");
    check_chosen(LFUSE_EFFORT_DEFAULT, 4, 0, false);
    ck_heard("warning: LFUSE_EFFORT takes estimate or measure, not \"Measure\"");
}

/* ---- which precision plans have ---- */

TEST(no_precision)
{
    const lfuse_plan_options given = { .precision = LFUSE_PRECISION_F32X3 };
    lfuse_plan_options o;

    unsetenv("LFUSE_PRECISION");
    OK(lfuse__options_settle(NULL, &o));
    ck_assert_int_eq(o.precision, LFUSE_PRECISION_FULL);
    OK(lfuse__options_settle(&given, &o));
    ck_assert_int_eq(o.precision, LFUSE_PRECISION_F32X3);
}

TEST_LOOP(precision_by_environment, 0, 3)
{
    static const struct {
        const char *word;
        lfuse_precision precision;
    } all[] = { { "f32", LFUSE_PRECISION_FULL }, { "f32x3", LFUSE_PRECISION_F32X3 },
                { "bf16x6", LFUSE_PRECISION_BF16X6 } };
    const lfuse_plan_options given = { .provider = LFUSE_PROVIDER_NATIVE };
    lfuse_plan_options o;

    setenv("LFUSE_PRECISION", all[_i].word, 1);
    OK(lfuse__options_settle(NULL, &o));
    ck_assert_int_eq(o.precision, all[_i].precision);
    OK(lfuse__options_settle(&given, &o));
    ck_assert_int_eq(o.precision, all[_i].precision);
    ck_assert_ptr_null(strstr(heard, "warning"));
}

TEST(no_such_precision)
{
    lfuse_plan_options o;

    setenv("LFUSE_PRECISION", "tf32", 1);
    OK(lfuse__options_settle(NULL, &o));
    ck_assert_int_eq(o.precision, LFUSE_PRECISION_FULL);
    ck_heard("warning: LFUSE_PRECISION takes f32, f32x3, bf16x6");
    ck_heard(", not \"tf32\"");
}

TEST_SUITE("run", CK_FORK_GETENV)
