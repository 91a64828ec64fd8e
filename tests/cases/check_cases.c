/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every case on every device of the machine, and on the stub; LFUSE_TEST_CASE and LFUSE_TEST_DEVICE leave those whose
 * names begin like that, or like one of several words with commas between.
 */
#include "common/device/device.h"
#include "tests/cases/cases.h"
#include "tests/stub/stub.h"
#include "tests/support/main.h"

enum { MOST_DEVICES = 16 };

static struct opened {
    char name[32];
    lfuse_device *device;
    int ran, declined;
    char last[512]; /* the case that was declined last, with the device's reason */
} opened[MOST_DEVICES];
static int devices;

/* Whether the name begins like one of the words that the environment asks for, if it does. */
static bool wanted(const char *name, const char *variable)
{
    const char *word = getenv(variable);
    while (word && strncmp(name, word, strcspn(word, ","))) {
        word += strcspn(word, ",");
        if (!*word++) return false;
    }
    return true;
}

/*
 * Kernels take long to compile on PoCL and the stub: without a CUDA device a build is given every fourth case, and all
 * that are marked. A build with a sanitizer is given another quarter.
 */
#ifdef __SANITIZE_ADDRESS__
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

/* Whatever LFUSE_TEST_DEVICE asks for. */
static bool has_cuda(void)
{
    static int found = -1;
    lfuse_device_info info;
    int count = 0;
    if (found < 0) {
        found = 0;
        if (lfuse_device_count(&count)) count = 0;
        for (int i = 0; i < count; i++)
            if (!lfuse_device_describe(i, &info) && !strncmp(info.name, "cuda", 4)) found = 1;
    }
    return found;
}

static bool in_turn(const harness_case *c, int number)
{
    return number % 4 == SANITIZED || c->flags & EVERY_WAY || test_all() || getenv("LFUSE_TEST_CASE") || has_cuda();
}

/* The cases that have the flags, counted through; NULL behind the last one. */
static const harness_case *case_at(int index, int flags)
{
    int number = 0;
    for (const harness_case *c = harness_cases; c; c = c->next)
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

/* Names the devices that cases run on; -1 when they cannot be told. */
static int name_devices(void)
{
    int count, named = 0;
    lfuse_device_info info;
    lfuse__stub_reset();
    lfuse__stub.batched = lfuse__stub.tf32 = true;
    lfuse__registry_extra(&lfuse__stub_backend);
    if (lfuse_device_count(&count)) return -1;
    for (int i = 0; i < count && named < MOST_DEVICES; i++) {
        if (lfuse_device_describe(i, &info)) return -1;
        if (!strcmp(info.name, "stub:1") || !wanted(info.name, "LFUSE_TEST_DEVICE")) continue;
        snprintf(opened[named++].name, sizeof info.name, "%s", info.name);
    }
    return named;
}

static void open_devices(void)
{
    if (devices) return; /* the programs of the cases serve the exact ones again */
    const int named = name_devices();
    ck_assert_msg(named >= 0, "%s", lfuse_last_error());
    for (; devices < named; devices++)
        OK(lfuse_device_open(opened[devices].name, &opened[devices].device));
}

static void close_devices(void)
{
    for (int i = 0; i < devices; i++) lfuse_device_close(opened[i].device);
    devices = 0;
}

static bool is_stub(const struct opened *o) { return !strncmp(o->name, "stub", 4); }

/*
 * Without fusion, and with each pass alone off: with a sanitizer for what is marked alone. So it is for a driver that
 * takes a tenth of a second for a kernel, which is given one plan of the others.
 */
static harness_ways ways_on(const harness_case *c, const struct opened *o)
{
    if (lfuse__device_facts(o->device)->compiles_at_launch) return c->flags & EVERY_WAY ? AND_UNFUSED : FUSED;
    if (SANITIZED) return c->flags & EVERY_WAY ? AND_EACH : FUSED;
    if (is_stub(o)) return c->flags & TWO_WAYS ? AND_UNFUSED : AND_EACH;
    return c->flags & EVERY_WAY ? AND_EACH : AND_UNFUSED;
}

/* So many cases' kernels the stub compiles together. */
enum { TOGETHER = 16 };

static void foresee(int first)
{
    const harness_case *c;
    for (int d = 0; d < devices; d++)
        for (int i = first; is_stub(&opened[d]) && i < first + TOGETHER && (c = case_at(i, 0)) != NULL; i++)
            harness_foresee(c, opened[d].device, ways_on(c, &opened[d]));
}

TEST_CASE("cases", .before = open_devices)

/* One test for each case: Check's loop index is the case. */
TEST_LOOP(every_device, 0, count_cases(0))
{
    const harness_case *c = case_at(_i, 0);
    char words[512];
    int ran = 0, last = -1;
    if (_i % TOGETHER == 0) foresee(_i);
    for (int i = 0; i < devices; i++) {
        struct opened *o = &opened[i];
        lfuse_status status = harness_run(c, o->device, ways_on(c, o), words, sizeof words);
        if (status == LFUSE_ERR_UNSUPPORTED || status == LFUSE_ERR_TYPE) {
            snprintf(o->last, sizeof o->last, "%s: %.300s", c->name, words);
            o->declined++;
            last = i;
            continue;
        }
        ck_assert_msg(status == LFUSE_OK, "%s on %s: %s", c->name, o->name, words);
        o->ran++;
        ran++;
    }
    if (!ran && last < 0) TEST_SKIP("no device of that name");
    if (!ran) TEST_SKIP("%.30s: %s", opened[last].name, opened[last].last);
}

/* One test for each device, behind its cases. What it declined while others ran it is said, not passed over. */
TEST_LOOP(declined_by_device, 0, name_devices())
{
    const struct opened *o = &opened[_i];
    ck_assert_int_lt(_i, devices);
    ck_assert_msg(o->ran > 0 || getenv("LFUSE_TEST_CASE"), "%s ran none of the cases", o->name);
    if (o->declined) TEST_SKIP("%s declines %d of %d cases, the last %s", o->name, o->declined, o->ran + o->declined,
                               o->last);
}

TEST_CASE("devices", .before = open_devices)

/* What is missing on this machine is said, not passed over. */
TEST(cuda_device_found)
{
    for (int i = 0; i < devices; i++)
        if (!strncmp(opened[i].name, "cuda:", 5)) return;
    TEST_SKIP("no CUDA device: its cases did not run");
}

TEST(opencl_device_found)
{
    for (int i = 0; i < devices; i++)
        if (!strncmp(opened[i].name, "opencl:", 7)) return;
    TEST_SKIP("no OpenCL device: its cases did not run");
}

TEST_CASE("exact", .before = open_devices, .after = close_devices)

TEST(same_bits_on_cuda)
{
    for (int i = 0; i < devices; i++)
        if (!strncmp(opened[i].name, "cuda:", 5)) return; /* one of same_bits_everywhere */
    TEST_SKIP("no CUDA device: its bits were not compared");
}

/* D3: where devices are exact, results of the exact cases are the same bits on all of them. */
TEST_LOOP(same_bits_everywhere, 0, count_cases(EXACT))
{
    char words[512];
    const harness_case *c = case_at(_i, EXACT);
    uint64_t hash = 0;
    const struct opened *first = NULL;
    if (!devices) TEST_SKIP("no device of that name");
    for (int i = 0; i < devices; i++) {
        lfuse_device_info info;
        OK(lfuse_device_get_info(opened[i].device, &info));
        if (!info.exact) continue;
        lfuse_status status = harness_run(c, opened[i].device, FUSED, words, sizeof words);
        ck_assert_msg(status == LFUSE_OK, "%s on %s: %s", c->name, opened[i].name, words);
        if (!first) {
            first = &opened[i];
            hash = harness_result_hash();
        }
        ck_assert_msg(harness_result_hash() == hash, "%s: %s and %s differ in their bits", c->name, first->name,
                      opened[i].name);
    }
    if (!first) TEST_SKIP("%s: no device is exact", c->name);
}

/* ---- the stub as GPUs of other makers ---- */

TEST_CASE("gpus")

static const unsigned widths[] = {8, 64}; /* work-items that step together: Intel's, AMD's */

/* Work-items run in groups, whose teams meet through local memory. */
static lfuse_device *open_gpu(unsigned width)
{
    lfuse_device *gpu;
    lfuse__stub_reset();
    lfuse__stub.batched = lfuse__stub.tf32 = true;
    lfuse__stub.vector_lanes = false;
    lfuse__stub.simd = width;
    lfuse__stub.compute_units = 16;
    lfuse__registry_extra(&lfuse__stub_backend);
    OK(lfuse_device_open("stub:0", &gpu));
    return gpu;
}

/* Kernels are the same for both widths, so that each is given every second case. */
static bool has_turn(int width, int number)
{
    return number % LENGTH(widths) == width || test_all();
}

static harness_ways ways_on_gpu(const harness_case *c)
{
    return c->flags & EVERY_WAY ? AND_UNFUSED : FUSED;
}

static void foresee_on_gpus(int first)
{
    const harness_case *c;
    for (int w = 0; w < LENGTH(widths); w++) {
        lfuse_device *gpu = open_gpu(widths[w]);
        for (int i = first; i < first + TOGETHER && (c = case_at(i, 0)) != NULL; i++)
            if (has_turn(w, i)) harness_foresee(c, gpu, ways_on_gpu(c));
        lfuse_device_close(gpu);
    }
}

TEST_LOOP(other_gpus, 0, count_cases(0))
{
    const harness_case *c = case_at(_i, 0);
    char words[512];
    if (!wanted("stub:0", "LFUSE_TEST_DEVICE")) TEST_SKIP("no device of that name");
    if (_i % TOGETHER == 0) foresee_on_gpus(_i);
    for (int w = 0; w < LENGTH(widths); w++) {
        if (!has_turn(w, _i)) continue;
        lfuse_device *gpu = open_gpu(widths[w]);
        lfuse_status status = harness_run(c, gpu, ways_on_gpu(c), words, sizeof words);
        lfuse_device_close(gpu);
        ck_assert_msg(status == LFUSE_OK, "%s, %u work-items in step: %s", c->name, widths[w], words);
    }
}

TEST_SUITE("cases", CK_NOFORK)
