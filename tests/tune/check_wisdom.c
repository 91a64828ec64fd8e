/* SPDX-License-Identifier: Apache-2.0 */
/* Devices that know what was measured, on the stub. */
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/tune/wisdom.h"
#include "tests/tune/wisdom_rig.h"

TEST_CASE("wisdom", .setup = open_with_file, .teardown = close_and_remove, .limit = 120)

TEST(measured_once_for_all_devices)
{
    check_chosen(LFUSE_EFFORT_ESTIMATE, 4, 0, false);
    fastest(3);
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
    check_lines(file, 1);
    fastest(5); /* which nobody will notice */
    for (lfuse_effort effort = LFUSE_EFFORT_DEFAULT; effort <= LFUSE_EFFORT_MEASURE; effort++) {
        reopen();
        check_chosen(effort, 4, 3, false);
    }
    check_chosen(LFUSE_EFFORT_ESTIMATE, 5, 0, false); /* another size */
    check_chosen(LFUSE_EFFORT_MEASURE, 6, 5, true);
    check_lines(file, 2);
    ck_assert_ptr_null(strstr(heard, "warning"));
}

/* What the file says of another driver is kept for it. */
TEST(of_another_driver)
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

TEST(an_algorithm_that_is_gone)
{
    fastest(6);
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 6, true);
    lfuse__stub.gemm_candidates = 4;
    fastest(2);
    reopen();
    check_chosen(LFUSE_EFFORT_ESTIMATE, 4, 0, false);
    ck_heard("wisdom names stub stub-6, which is not there any more: the estimate is taken");
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 2, true);
    ck_heard("which is not there any more: it is measured anew");
    check_lines(file, 1);
    reopen();
    check_chosen(LFUSE_EFFORT_ESTIMATE, 4, 2, false);
}

/* Nothing of it is used, it stays as it is, and plans work. */
TEST(a_default_file_that_is_none)
{
    static const struct { const char *text, *words; } cases[] = {
        { "precious\n", "holds no wisdom" },
        { "libfuse wisdom 2\n", "is of version 2" },
        { "libfuse wisdom 1\n", "is cut short" },
    };

    fastest(3);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        write_text(file, cases[i].text);
        memset(heard, 0, sizeof heard);
        reopen();
        check_chosen(LFUSE_EFFORT_ESTIMATE, 4, 0, false);
        ck_heard("warning: wisdom ");
        ck_heard(cases[i].words);
        check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, true);
        ck_heard("warning: a measured choice is not kept: ");
        ck_assert_str_eq(lfuse_last_error(), "");
        check_chosen(LFUSE_EFFORT_MEASURE, 4, 3, false); /* the device knows */
        check_text(file, cases[i].text);
    }
}

TEST(export_and_import)
{
    char other[PATH_MAX + 32];
    int64_t count = 77;

    snprintf(other, sizeof other, "%s/other", base);
    SAYS(LFUSE_ERR_IO, lfuse_wisdom_import(dev, other, &count), "there is no such file");
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

/* Whole or not at all, and what was known before is known still. */
TEST(a_refused_import)
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
    SAYS(LFUSE_ERR_IO, lfuse_wisdom_import(dev, other, &count), "is cut short");
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

/* A device that fails while it is asked who it is. */
TEST(failing_calls)
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

    j->good = !lfuse_stream_create(j->device, &s);
    for (int i = 0; i < 4 && j->good; i++)
        j->good = !lfuse_tensor_create(j->device, LFUSE_F32, i == 2 ? 1 : 2, shapes[i], &t[i]) &&
                  !lfuse_tensor_fill(t[i], s, 1);
    if (j->good) {
        j->good = !lfuse_plan_run(j->plan, s, BINDINGS(BIND("x", t[0]), BIND("w", t[1]), BIND("b", t[2]),
                                                       BIND("y", t[3]))) && !lfuse_stream_synchronize(s);
    }
    if (j->good) j->good = !lfuse_wisdom_export(j->device, NULL);
    for (int i = 0; i < 4; i++) lfuse_tensor_destroy(t[i]);
    lfuse_stream_destroy(s);
    return NULL;
}

/* Eight threads with cold wisdom, of one device or each of its own, with the same product or each with its own. */
static void race_of_threads(bool own_device, bool own_product)
{
    const lfuse_plan_options measuring = { .effort = LFUSE_EFFORT_MEASURE, .disable = LFUSE_NO_EPILOGUE };
    const uint64_t asked = lfuse__stub_calls(LFUSE__STUB_gemm_candidates);
    job jobs[THREADS];

    lfuse__stub.gemm_candidates = 2;
    unlink(file);
    reopen();
    for (int i = 0; i < THREADS; i++) {
        jobs[i].device = dev;
        if (own_device) OK(lfuse_device_open("stub:0", &jobs[i].device));
        jobs[i].rows = own_product ? 2 + i : 4;
        OK(lfuse_plan_create(jobs[i].device, g, &measuring, &jobs[i].plan));
    }
    for (int i = 0; i < THREADS; i++) ck_assert(!pthread_create(&jobs[i].thread, NULL, measure_a_product, &jobs[i]));
    for (int i = 0; i < THREADS; i++) {
        ck_assert(!pthread_join(jobs[i].thread, NULL));
        ck_assert(jobs[i].good);
        lfuse_plan_destroy(jobs[i].plan);
        if (own_device) lfuse_device_close(jobs[i].device);
    }
    if (!own_device)
        ck_assert_uint_eq(lfuse__stub_calls(LFUSE__STUB_gemm_candidates) - asked, own_product ? THREADS : 1);
    check_lines(file, own_product ? THREADS : 1);
    check_chosen(LFUSE_EFFORT_MEASURE, 4, 1, false);
}

TEST(threads_with_cold_wisdom)
{
    dense_graph();
    lfuse__stub.gemm_slow = 1;
    for (int way = 0; way < 4; way++) {
        race_of_threads(way & 1, way & 2);
        if (way & 1) reopen();
    }
}

/* What lfuse-info asks for. */
TEST(survey)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT, device = LFUSE__STRBUF_INIT;
    lfuse__wisdom w = { 0 };

    lfuse_device_info info = info_of(dev); /* the machine may have devices of its own, in front of the stub */
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

TEST_SUITE("run", CK_FORK_GETENV)
