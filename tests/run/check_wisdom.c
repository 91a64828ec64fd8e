/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that know what was measured, on the stub. The environment is read once: each test is a process of its own. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <dirent.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/run/wisdom.h"
#include "tests/run/rig.h"

static char base[PATH_MAX], file[PATH_MAX + 32];
static char heard[1 << 16];

/* Every line of the log. */
static void listen(void *data, lfuse_log_level level, const char *message)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    size_t length;

    (void)data;
    pthread_mutex_lock(&lock);
    length = strlen(heard);
    snprintf(heard + length, sizeof heard - length, "%s%s\n", level == LFUSE_LOG_WARN ? "warning: " : "", message);
    pthread_mutex_unlock(&lock);
}

static void remove_folder(const char *path)
{
    char inner[PATH_MAX + 300];
    DIR *open_dir = opendir(path);
    struct dirent *d;

    while (open_dir && (d = readdir(open_dir))) {
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..")) continue;
        snprintf(inner, sizeof inner, "%s/%s", path, d->d_name);
        if (unlink(inner)) remove_folder(inner);
    }
    if (open_dir) closedir(open_dir);
    rmdir(path);
}

static void make_base(void)
{
    static const char *const names[] = { "LFUSE_WISDOM", "LFUSE_EFFORT", "LFUSE_CACHE", "LFUSE_CACHE_DIR", "HOME",
                                         "XDG_CACHE_HOME" };
    const char *where = getenv("TMPDIR");
    size_t i;

    for (i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
    setenv("LFUSE_PROVIDER", "vendor", 1); /* whose algorithms are chosen among; the stub is a CPU */
    snprintf(base, sizeof base, "%s/lfuse-wisdom-XXXXXX", where && *where == '/' ? where : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(base));
    lfuse_log_to(listen, NULL, LFUSE_LOG_DEBUG);
}

/* With LFUSE_WISDOM, which the tests of the other case set themselves. */
static void open_with_file(void)
{
    make_base();
    snprintf(file, sizeof file, "%s/file", base);
    setenv("LFUSE_WISDOM", file, 1);
    open_stub();
    lfuse__stub.gemm_candidates = 7;
    lfuse__stub.gemm_workspace = 0;
}

static void close_and_remove(void)
{
    if (dev) close_stub();
    remove_folder(base);
}

static uint64_t calls(lfuse__stub_slot slot)
{
    lfuse__stub_counters c;

    lfuse__stub_counters_get(&c);
    return c.calls[slot];
}

static void fastest(int candidate)
{
    lfuse__stub.gemm_slow = ~(1u << candidate);
}

static void reopen(void)
{
    lfuse_stream_destroy(stream);
    lfuse_device_close(dev);
    OK(lfuse_device_open("stub:0", &dev));
    OK(lfuse_stream_create(dev, &stream));
}

/* The algorithm that a product of so many rows gets from a new plan; *timed: runs beside the product's own. */
static int chosen(lfuse_effort effort, int64_t rows, uint64_t *timed)
{
    const lfuse_plan_options options = { .effort = effort };
    uint64_t before = calls(LFUSE__STUB_gemm_run), graphs = calls(LFUSE__STUB_graph_begin);
    lfuse__stub_call call;
    lfuse_graph *graph = g;
    lfuse_plan *plan;

    g = lfuse_graph_create();
    dense_graph();
    OK(lfuse_plan_create(dev, g, effort == LFUSE_EFFORT_DEFAULT ? NULL : &options, &plan));
    check_dense(plan, rows, ANY);
    lfuse_plan_destroy(plan);
    lfuse_graph_destroy(g);
    g = graph;
    ck_assert(lfuse__stub_call_get(0, &call));
    ck_assert_str_eq(call.kernel, "gemm");
    *timed = calls(LFUSE__STUB_gemm_run) - before - 1 + calls(LFUSE__STUB_graph_begin) - graphs;
    return call.candidate;
}

static void check_chosen(lfuse_effort effort, int64_t rows, int candidate, bool measured)
{
    uint64_t timed;

    ck_assert_int_eq(chosen(effort, rows, &timed), candidate);
    ck_assert(measured == (timed > 0));
}

static void check_lines(const char *path, size_t count)
{
    lfuse__wisdom_place place;
    lfuse__wisdom w = { 0 };

    OK(lfuse__wisdom_place_at(path, &place));
    OK(lfuse__wisdom_load(&place, &w));
    ck_assert_uint_eq(w.count, count);
    lfuse__wisdom_clear(&w);
    lfuse__wisdom_place_close(&place);
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "wb");

    ck_assert_ptr_nonnull(f);
    ck_assert_int_ge(fputs(text, f), 0);
    fclose(f);
    chmod(path, 0600);
}

static void check_text(const char *path, const char *text)
{
    char is[4096] = "";
    FILE *f = fopen(path, "rb");

    ck_assert_ptr_nonnull(f);
    is[fread(is, 1, sizeof is - 1, f)] = '\0';
    fclose(f);
    ck_assert_str_eq(is, text);
}

START_TEST(measured_once_for_all_devices)
{
    lfuse_effort effort;

    check_chosen(LFUSE_EFFORT_ESTIMATE, 4, 0, false);
    fastest(3);
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    check_lines(file, 1);
    fastest(5); /* which nobody will notice */
    for (effort = LFUSE_EFFORT_DEFAULT; effort <= LFUSE_EFFORT_MEASURE; effort++) {
        reopen();
        check_chosen(effort, 4, 3, false);
    }
    check_chosen(LFUSE_EFFORT_ESTIMATE, 5, 0, false); /* another size */
    check_chosen(LFUSE_EFFORT_MEASURE, 6, 5, true);
    check_lines(file, 2);
    ck_assert_ptr_null(strstr(heard, "warning"));
}
END_TEST

/* What the file says of another driver is kept for it. */
START_TEST(of_another_driver)
{
    fastest(3);
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    lfuse__stub.driver = 2;
    fastest(5);
    reopen();
    check_chosen(LFUSE_EFFORT_ESTIMATE, 4, 0, false);
    reopen();
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 5, true);
    check_lines(file, 2);
    lfuse__stub.driver = 1;
    reopen();
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, false);
    check_lines(file, 2);
}
END_TEST

START_TEST(an_algorithm_that_is_gone)
{
    fastest(6);
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 6, true);
    lfuse__stub.gemm_candidates = 4;
    fastest(2);
    reopen();
    check_chosen(LFUSE_EFFORT_ESTIMATE, 4, 0, false);
    ck_assert_msg(strstr(heard, "wisdom names stub stub-6, which is not there any more: the estimate is taken") != NULL,
                  "%s", heard);
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 2, true);
    ck_assert_ptr_nonnull(strstr(heard, "which is not there any more: it is measured anew"));
    check_lines(file, 1);
    reopen();
    check_chosen(LFUSE_EFFORT_ESTIMATE, 4, 2, false);
}
END_TEST

/* Nothing of it is used, it stays as it is, and plans work. */
START_TEST(a_default_file_that_is_none)
{
    static const struct { const char *text, *words; } cases[] = {
        { "precious\n", "holds no wisdom" },
        { "libfuse wisdom 2\n", "is of version 2" },
        { "libfuse wisdom 1\n", "is cut short" },
    };
    size_t i;

    fastest(3);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(file, cases[i].text);
        memset(heard, 0, sizeof heard);
        reopen();
        check_chosen(LFUSE_EFFORT_ESTIMATE, 4, 0, false);
        ck_assert_ptr_nonnull(strstr(heard, "warning: wisdom "));
        ck_assert_msg(strstr(heard, cases[i].words) != NULL, "%s", heard);
        check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
        ck_assert_ptr_nonnull(strstr(heard, "warning: a measured choice is not kept: "));
        ck_assert_str_eq(lfuse_last_error(), "");
        check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, false); /* the device knows */
        check_text(file, cases[i].text);
    }
}
END_TEST

START_TEST(export_and_import)
{
    char other[PATH_MAX + 32];
    int64_t count = 77;

    snprintf(other, sizeof other, "%s/other", base);
    FAILS(LFUSE_ERR_IO, lfuse_wisdom_import(dev, other, &count));
    ck_assert_ptr_nonnull(strstr(lfuse_last_error(), "there is no such file"));
    ck_assert_int_eq(count, 77);
    fastest(3);
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    check_chosen(LFUSE_EFFORT_MEASURE, 5, 3, true);
    OK(lfuse_wisdom_export(dev, other));
    check_lines(other, 2);
    lfuse__stub.driver = 2;
    unlink(file);
    reopen();
    fastest(1);
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 1, true);
    OK(lfuse_wisdom_export(dev, other));
    check_lines(other, 3);
    OK(lfuse_wisdom_export(dev, NULL));
    check_lines(file, 1);
    lfuse__stub.driver = 1;
    reopen();
    check_chosen(LFUSE_EFFORT_ESTIMATE, 4, 0, false);
    OK(lfuse_wisdom_import(dev, other, &count));
    ck_assert_int_eq(count, 2);
    check_chosen(LFUSE_EFFORT_ESTIMATE, 4, 3, false); /* though it was chosen before */
    check_chosen(LFUSE_EFFORT_MEASURE, 5, 3, false);
    OK(lfuse_wisdom_import(dev, NULL, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_wisdom_import(NULL, other, &count));
    FAILS(LFUSE_ERR_INVALID, lfuse_wisdom_export(NULL, other));
}
END_TEST

/* Whole or not at all, and what was known before is known still. */
START_TEST(a_refused_import)
{
    char other[PATH_MAX + 32];
    int64_t count = 77;

    snprintf(other, sizeof other, "%s/other", base);
    fastest(3);
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    OK(lfuse_wisdom_export(dev, other));
    {
        struct stat st;
        ck_assert_int_eq(stat(other, &st), 0);
        ck_assert_int_eq(truncate(other, st.st_size - 1), 0);
    }
    FAILS(LFUSE_ERR_IO, lfuse_wisdom_import(dev, other, &count));
    ck_assert_ptr_nonnull(strstr(lfuse_last_error(), "is cut short"));
    FAILS(LFUSE_ERR_IO, lfuse_wisdom_export(dev, other));
    write_text(other, "libfuse wisdom 3\n");
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse_wisdom_import(dev, other, &count));
    FAILS(LFUSE_ERR_UNSUPPORTED, lfuse_wisdom_export(dev, other));
    ck_assert_int_eq(count, 77);
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, false);
    lfuse_device_close(dev);
    FAILS(LFUSE_ERR_CLOSED, lfuse_wisdom_import(dev, file, &count));
    lfuse_stream_destroy(stream);
    OK(lfuse_device_open("stub:0", &dev));
    OK(lfuse_stream_create(dev, &stream));
}
END_TEST

/* A device that fails while it is asked who it is. */
START_TEST(failing_calls)
{
    int64_t count;

    OK(lfuse_wisdom_export(dev, NULL));
    reopen();
    lfuse__stub_fail(LFUSE__STUB_facts, 1, false, LFUSE_ERR_DEVICE);
    FAILS(LFUSE_ERR_DEVICE, lfuse_wisdom_import(dev, NULL, &count));
    lfuse__stub_no_failure();
    OK(lfuse_wisdom_import(dev, NULL, &count));
    ck_assert_int_eq(count, 0);
}
END_TEST

enum { THREADS = 8 };

typedef struct job {
    pthread_t thread;
    lfuse_device *device;
    lfuse_plan *plan;
    int64_t rows;
    bool good;
} job;

static void *measure_a_product(void *data)
{
    job *j = data;
    lfuse_stream *s = NULL;
    lfuse_tensor *t[4] = { NULL, NULL, NULL, NULL };
    const int64_t shapes[4][2] = { { j->rows, 8 }, { 8, 6 }, { 6, 0 }, { j->rows, 6 } };
    int i;

    j->good = !lfuse_stream_create(j->device, &s);
    for (i = 0; i < 4 && j->good; i++)
        j->good = !lfuse_tensor_create(j->device, LFUSE_F32, i == 2 ? 1 : 2, shapes[i], &t[i]) &&
                  !lfuse_tensor_fill(t[i], s, 1);
    if (j->good) {
        const lfuse_binding b[] = { lfuse_bind_tensor("x", t[0]), lfuse_bind_tensor("w", t[1]),
                                    lfuse_bind_tensor("b", t[2]), lfuse_bind_tensor("y", t[3]) };
        j->good = !lfuse_plan_run(j->plan, s, b, 4) && !lfuse_stream_synchronize(s);
    }
    if (j->good) j->good = !lfuse_wisdom_export(j->device, NULL);
    for (i = 0; i < 4; i++) lfuse_tensor_destroy(t[i]);
    lfuse_stream_destroy(s);
    return NULL;
}

/* Eight threads with cold wisdom, of one device or each of its own, with the same product or each with its own. */
static void race_of_threads(bool own_device, bool own_product)
{
    const lfuse_plan_options measuring = { .effort = LFUSE_EFFORT_MEASURE };
    const uint64_t asked = calls(LFUSE__STUB_gemm_candidates);
    job jobs[THREADS];
    int i;

    lfuse__stub.gemm_candidates = 2;
    unlink(file);
    reopen();
    for (i = 0; i < THREADS; i++) {
        jobs[i].device = dev;
        if (own_device) OK(lfuse_device_open("stub:0", &jobs[i].device));
        jobs[i].rows = own_product ? 2 + i : 4;
        OK(lfuse_plan_create(jobs[i].device, g, &measuring, &jobs[i].plan));
    }
    for (i = 0; i < THREADS; i++) ck_assert(!pthread_create(&jobs[i].thread, NULL, measure_a_product, &jobs[i]));
    for (i = 0; i < THREADS; i++) {
        ck_assert(!pthread_join(jobs[i].thread, NULL));
        ck_assert(jobs[i].good);
        lfuse_plan_destroy(jobs[i].plan);
        if (own_device) lfuse_device_close(jobs[i].device);
    }
    if (!own_device) ck_assert_uint_eq(calls(LFUSE__STUB_gemm_candidates) - asked, own_product ? THREADS : 1);
    check_lines(file, own_product ? THREADS : 1);
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 1, false);
}

START_TEST(threads_with_cold_wisdom)
{
    int way;

    dense_graph();
    lfuse__stub.gemm_slow = 1;
    for (way = 0; way < 4; way++) {
        race_of_threads(way & 1, way & 2);
        if (way & 1) reopen();
    }
}
END_TEST

/* ---- where the file is; these set the environment before the library reads it ---- */

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

START_TEST(in_the_folder_of_the_cache)
{
    open_in_cache();
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    check_lines(file, 1);
    fastest(5);
    reopen();
    check_chosen(LFUSE_EFFORT_DEFAULT, 4, 3, false);
}
END_TEST

/* It may be removed at any time, and so it is replaced; but what a newer library wrote is not. */
START_TEST(damaged_in_the_folder_of_the_cache)
{
    open_in_cache();
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    write_text(file, "libfuse wisdom 1\nx\n");
    reopen();
    check_chosen(LFUSE_EFFORT_MEASURE, 5, 3, true);
    ck_assert_ptr_nonnull(strstr(heard, "warning: wisdom "));
    ck_assert_ptr_nonnull(strstr(heard, "is cut short: it is replaced"));
    check_lines(file, 1);
    write_text(file, "libfuse wisdom 2\n");
    reopen();
    check_chosen(LFUSE_EFFORT_MEASURE, 5, 3, true);
    check_text(file, "libfuse wisdom 2\n");
}
END_TEST

START_TEST(import_from_the_cache)
{
    int64_t count;

    open_in_cache();
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    OK(lfuse_wisdom_import(dev, NULL, &count));
    ck_assert_int_eq(count, 1);
}
END_TEST

START_TEST(a_read_only_cache)
{
    char dir[PATH_MAX + 16];

    snprintf(dir, sizeof dir, "%s/cache", base);
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    setenv("LFUSE_CACHE", "ro", 1);
    open_in_cache();
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    ck_assert_int_ne(access(file, F_OK), 0);
    ck_assert_ptr_nonnull(strstr(heard, "the cache is read only"));
    ck_assert_ptr_null(strstr(heard, "warning"));
    FAILS(LFUSE_ERR_IO, lfuse_wisdom_export(dev, NULL));
}
END_TEST

static void check_none(const char *words)
{
    int64_t count;

    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, false);
    reopen();
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    FAILS(LFUSE_ERR_IO, lfuse_wisdom_import(dev, NULL, &count));
    ck_assert_msg(strstr(lfuse_last_error(), words) != NULL, "%s", lfuse_last_error());
    FAILS(LFUSE_ERR_IO, lfuse_wisdom_export(dev, NULL));
    ck_assert_msg(strstr(lfuse_last_error(), words) != NULL, "%s", lfuse_last_error());
}

START_TEST(off)
{
    open_as("LFUSE_WISDOM", "0");
    check_none("off (LFUSE_WISDOM=0)");
}
END_TEST

START_TEST(no_cache)
{
    setenv("LFUSE_CACHE", "0", 1);
    open_as("LFUSE_WISDOM", "");
    check_none("LFUSE_CACHE=0");
}
END_TEST

START_TEST(a_relative_path)
{
    open_as("LFUSE_WISDOM", "file");
    check_none("\"file\" is no absolute path");
}
END_TEST

START_TEST(effort_by_environment)
{
    setenv("LFUSE_EFFORT", "measure", 1);
    open_as("LFUSE_WISDOM", "0");
    check_chosen(LFUSE_EFFORT_ESTIMATE, 4, 0, false);
    check_chosen(LFUSE_EFFORT_DEFAULT, 4, 3, true);
    ck_assert_ptr_null(strstr(heard, "warning"));
}
END_TEST

START_TEST(no_such_effort)
{
    setenv("LFUSE_EFFORT", "Measure", 1);
    open_as("LFUSE_WISDOM", "0");
    check_chosen(LFUSE_EFFORT_DEFAULT, 4, 0, false);
    ck_assert_ptr_nonnull(strstr(heard, "warning: LFUSE_EFFORT takes estimate or measure, not \"Measure\""));
}
END_TEST

/* What lfuse-info asks for. */
START_TEST(survey)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT, device = LFUSE__STRBUF_INIT;
    lfuse__wisdom w = { 0 };
    lfuse_device_info info;

    OK(lfuse_device_describe(0, &info));
    lfuse__wisdom_device(&info, &device);
    lfuse__wisdom_survey(&w, &text);
    ck_assert_msg(strstr(text.data, "(not there yet)") != NULL, "%s", text.data);
    fastest(3);
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    lfuse__strbuf_free(&text);
    lfuse__wisdom_survey(&w, &text);
    ck_assert_str_eq(text.data, file);
    ck_assert_uint_eq(w.count, 1);
    ck_assert(lfuse__wisdom_applies(&w.lines[0], device.data));
    lfuse__wisdom_clear(&w);
    write_text(file, "precious\n");
    lfuse__strbuf_free(&text);
    lfuse__wisdom_survey(&w, &text);
    ck_assert_msg(strstr(text.data, "not used: ") && strstr(text.data, "holds no wisdom"), "%s", text.data);
    ck_assert_uint_eq(w.count, 0);
    ck_assert_str_eq(lfuse_last_error(), "");
    lfuse__strbuf_free(&text), lfuse__strbuf_free(&device);
}
END_TEST

static Suite *suite_wisdom(void)
{
    Suite *s = suite_create("run");
    TCase *c = tcase_create("wisdom"), *where = tcase_create("wisdom file");

    tcase_add_checked_fixture(c, open_with_file, close_and_remove);
    tcase_set_timeout(c, 120);
    tcase_add_test(c, measured_once_for_all_devices);
    tcase_add_test(c, of_another_driver);
    tcase_add_test(c, an_algorithm_that_is_gone);
    tcase_add_test(c, a_default_file_that_is_none);
    tcase_add_test(c, export_and_import);
    tcase_add_test(c, a_refused_import);
    tcase_add_test(c, failing_calls);
    tcase_add_test(c, threads_with_cold_wisdom);
    tcase_add_test(c, survey);
    suite_add_tcase(s, c);
    tcase_add_checked_fixture(where, make_base, close_and_remove);
    tcase_set_timeout(where, 120);
    tcase_add_test(where, in_the_folder_of_the_cache);
    tcase_add_test(where, damaged_in_the_folder_of_the_cache);
    tcase_add_test(where, import_from_the_cache);
    tcase_add_test(where, a_read_only_cache);
    tcase_add_test(where, off);
    tcase_add_test(where, no_cache);
    tcase_add_test(where, a_relative_path);
    tcase_add_test(where, effort_by_environment);
    tcase_add_test(where, no_such_effort);
    suite_add_tcase(s, where);
    return s;
}

TEST_MAIN(CK_FORK_GETENV, suite_wisdom)
