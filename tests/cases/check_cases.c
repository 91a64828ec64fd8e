/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every case on every device of the machine, and on the stub; LFUSE_TEST_CASE and LFUSE_TEST_DEVICE leave those whose
 * names begin like that.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/device/device.h"
#include "tests/cases/cases.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"

enum { MOST_DEVICES = 16 };

static struct opened {
    char name[32];
    lfuse_device *device;
} opened[MOST_DEVICES];
static int devices;

static const harness_case *const tables[] = {harness_basic_cases, harness_view_cases, harness_row_cases,
                                             harness_join_cases, harness_batch_cases, harness_product_cases,
                                             harness_prologue_cases, harness_strassen_cases, harness_grouped_cases,
                                             harness_member_cases, harness_line_cases};

/* Whether the name begins like what the environment asks for, if it does. */
static bool wanted(const char *name, const char *variable)
{
    const char *prefix = getenv(variable);
    return !prefix || !strncmp(name, prefix, strlen(prefix));
}

/* With a sanitizer kernels take long to compile: it is given every second case, and all that are marked. */
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

static bool in_turn(const harness_case *c, int number)
{
    return !SANITIZED || number % 2 == 0 || c->flags & EVERY_WAY || test_all() || getenv("LFUSE_TEST_CASE");
}

/* The cases of all tables that have the flags, counted through; NULL behind the last one. */
static const harness_case *case_at(int index, int flags)
{
    int number = 0;
    for (int t = 0; t < LENGTH(tables); t++)
        for (const harness_case *c = tables[t]; c->name; c++)
            if ((c->flags & flags) == flags && in_turn(c, number++) && wanted(c->name, "LFUSE_TEST_CASE") && !index--)
                return c;
    return NULL;
}

static int count_cases(int flags)
{
    int count = 0;
    while (case_at(count, flags)) count++;
    return count;
}

static void open_devices(void)
{
    int count;
    lfuse_device_info info;
    if (devices) return; /* the programs of the cases serve the exact ones again */
    lfuse__stub_reset();
    lfuse__stub.batched = lfuse__stub.tf32 = true;
    lfuse__registry_extra(&lfuse__stub_backend);
    ck_assert_int_eq(lfuse_device_count(&count), LFUSE_OK);
    for (int i = 0; i < count && devices < MOST_DEVICES; i++) {
        ck_assert_int_eq(lfuse_device_describe(i, &info), LFUSE_OK);
        if (!strcmp(info.name, "stub:1") || !wanted(info.name, "LFUSE_TEST_DEVICE")) continue;
        struct opened *o = &opened[devices++];
        snprintf(o->name, sizeof o->name, "%s", info.name);
        ck_assert_msg(lfuse_device_open(info.name, &o->device) == LFUSE_OK, "%s", lfuse_last_error());
    }
}

static void close_devices(void)
{
    for (int i = 0; i < devices; i++) lfuse_device_close(opened[i].device);
    devices = 0;
}

/*
 * Without fusion, and with each pass alone off: with a sanitizer for what is marked alone. So it is for a driver that
 * takes a tenth of a second for a kernel, which is given one plan of the others.
 */
static harness_ways ways_on(const harness_case *c, const struct opened *o)
{
    if (lfuse__device_facts(o->device)->compiles_at_launch) return c->flags & EVERY_WAY ? AND_UNFUSED : FUSED;
    if (SANITIZED) return c->flags & EVERY_WAY ? AND_EACH : FUSED;
    if (!strncmp(o->name, "stub", 4)) return c->flags & TWO_WAYS ? AND_UNFUSED : AND_EACH;
    return c->flags & EVERY_WAY ? AND_EACH : AND_UNFUSED;
}

/* One test for each case: Check's loop index is the case. */
START_TEST(every_device)
{
    const harness_case *c = case_at(_i, 0);
    char words[512], declined[512] = "";
    int ran = 0;
    for (int i = 0; i < devices; i++) {
        lfuse_status status = harness_run(c, opened[i].device, ways_on(c, &opened[i]), words, sizeof words);
        if (status == LFUSE_ERR_UNSUPPORTED || status == LFUSE_ERR_TYPE) {
            snprintf(declined, sizeof declined, "%s on %.30s: %.300s", c->name, opened[i].name, words);
            continue;
        }
        ck_assert_msg(status == LFUSE_OK, "%s on %s: %s", c->name, opened[i].name, words);
        ran++;
    }
    if (!ran) TEST_SKIP("%s", declined);
}
END_TEST

/* What is missing on this machine is said, not passed over. */
START_TEST(cuda_device_found)
{
    for (int i = 0; i < devices; i++)
        if (!strncmp(opened[i].name, "cuda:", 5)) return;
    TEST_SKIP("no CUDA device: its cases did not run");
}
END_TEST

START_TEST(opencl_device_found)
{
    for (int i = 0; i < devices; i++)
        if (!strncmp(opened[i].name, "opencl:", 7)) return;
    TEST_SKIP("no OpenCL device: its cases did not run");
}
END_TEST

/* D3: where devices are exact, results of the exact cases are the same bits on all of them. */
START_TEST(same_bits_everywhere)
{
    char words[512];
    const harness_case *c = case_at(_i, EXACT);
    uint64_t first = 0;
    int ran = 0;
    for (int i = 0; i < devices; i++) {
        lfuse_device_info info;
        ck_assert_int_eq(lfuse_device_get_info(opened[i].device, &info), LFUSE_OK);
        if (!info.exact) continue;
        lfuse_status status = harness_run(c, opened[i].device, FUSED, words, sizeof words);
        ck_assert_msg(status == LFUSE_OK, "%s on %s: %s", c->name, opened[i].name, words);
        if (!ran++) first = harness_result_hash();
        ck_assert_msg(harness_result_hash() == first, "%s: %s and %s differ in their bits", c->name, opened[0].name,
                      opened[i].name);
    }
    ck_assert_int_ge(ran, 1);
}
END_TEST

static Suite *suite_cases(void)
{
    Suite *s = suite_create("cases");
    TCase *found = tcase_create("devices"), *all = tcase_create("cases"), *exact = tcase_create("exact");
    tcase_add_unchecked_fixture(found, open_devices, NULL);
    tcase_add_unchecked_fixture(all, open_devices, NULL);
    tcase_add_unchecked_fixture(exact, open_devices, close_devices);
    tcase_add_test(found, cuda_device_found);
    tcase_add_test(found, opencl_device_found);
    tcase_add_loop_test(all, every_device, 0, count_cases(0));
    tcase_add_loop_test(exact, same_bits_everywhere, 0, count_cases(EXACT));
    tcase_set_timeout(all, 0);
    tcase_set_timeout(exact, 0);
    suite_add_tcase(s, found);
    suite_add_tcase(s, all);
    suite_add_tcase(s, exact);
    return s;
}

TEST_MAIN(CK_NOFORK, suite_cases)
