/* SPDX-License-Identifier: Apache-2.0 */
/* Which device is the default, which are counted, and what is said where there is none. */
#include "common/base/error.h"
#include "common/device/device.h"
#include "tests/stub/stub.h"
#include "tests/support/heard.h"
#include "tests/support/main.h"

typedef struct row {
    lfuse_device_kind kind;
    uint32_t units;
    const char *unfit;
} row;

static const row *rows;
static int nrows;

static lfuse_status enumerate_rows(int *count, char *reason, size_t size)
{
    *count = nrows;
    if (!nrows) snprintf(reason, size, "none was made");
    return LFUSE_OK;
}

static lfuse_status describing; /* what the description of the last row comes to */

static lfuse_status describe_row(int i, lfuse__facts *facts)
{
    if (describing && i == nrows - 1) return lfuse__error(describing, "row %d is not told", i);
    lfuse_status status = lfuse__stub_backend.describe(0, facts);
    if (status) return status;
    snprintf(facts->info.name, sizeof facts->info.name, "made:%d", i);
    facts->info.kind = rows[i].kind;
    facts->info.compute_units = rows[i].units;
    snprintf(facts->unfit, sizeof facts->unfit, "%s", rows[i].unfit);
    return LFUSE_OK;
}

static int opened;

static lfuse_status open_row(int i, lfuse__bdevice **dev)
{
    opened = i;
    return lfuse__stub_backend.open(0, dev);
}

static lfuse__backend made;

/* A process of its own with no driver: what there is are the rows. */
static void setup(void)
{
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    setenv("OCL_ICD_FILENAMES", "", 1);
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    unsetenv("LFUSE_DEVICE");
    made = lfuse__stub_backend;
    made.name = "made";
    made.hint = "the package made-driver";
    made.enumerate = enumerate_rows;
    made.describe = describe_row;
    made.open = open_row;
    lfuse__registry_extra(&made);
}

static void make(const row *of, int count)
{
    rows = of;
    nrows = count;
    describing = LFUSE_OK;
}

static const row mixed[] = {{LFUSE_DEVICE_GPU, 500, "it is out of order"},
                            {LFUSE_DEVICE_CPU, 900, ""},
                            {LFUSE_DEVICE_GPU, 10, ""},
                            {LFUSE_DEVICE_OTHER, 900, ""},
                            {LFUSE_DEVICE_GPU, 20, ""},
                            {LFUSE_DEVICE_GPU, 20, ""},
                            {LFUSE_DEVICE_CPU, 901, "it has no compiler"}};
enum { MIXED = sizeof mixed / sizeof *mixed };

static void check_order(void)
{
    static const char *const expected[] = {"made:4", "made:5", "made:2", "made:3", "made:1"};
    enum { FIT = sizeof expected / sizeof *expected };
    lfuse_device_info info;
    int count = -1;
    OK(lfuse_device_count(&count));
    ck_assert_int_eq(count, FIT);
    for (int i = 0; i < FIT; i++) {
        OK(lfuse_device_describe(i, &info));
        ck_assert_str_eq(info.name, expected[i]);
    }
    SAYS(LFUSE_ERR_INVALID, lfuse_device_describe(FIT, &info), "device index 5 is not in 0 ... 4");
}

TEST_CASE("devices", .setup = setup)

TEST(test_order)
{
    lfuse_device *device;
    make(mixed, MIXED);
    check_order();
    OK(lfuse_device_open(NULL, &device));
    ck_assert_int_eq(opened, 4);
    lfuse_device_close(device);
    OK(lfuse_device_open("made:1", &device));
    ck_assert_int_eq(opened, 1);
    lfuse_device_close(device);
}

TEST(test_unfit_by_name)
{
    lfuse_device *device = NULL;
    make(mixed, MIXED);
    opened = -1;
    SAYS(LFUSE_ERR_UNSUPPORTED, lfuse_device_open("made:6", &device), "device made:6");
    ck_says("it has no compiler");
    ck_assert_int_eq(opened, -1);
    ck_assert_ptr_null(device);
    SAYS(LFUSE_ERR_NO_DEVICE, lfuse_device_open("made:7", &device), "no device \"made:7\"");
    ck_says("made:0: it is out of order");
}

TEST(test_all_unfit)
{
    static const row all[] = {{LFUSE_DEVICE_GPU, 1, "it is out of order"}, {LFUSE_DEVICE_CPU, 1, "it has no compiler"}};
    lfuse_device_info info;
    lfuse_device *device;
    int count = -1;
    make(all, 2);
    OK(lfuse_device_count(&count));
    ck_assert_int_eq(count, 0);
    ck_says("made:1: it has no compiler (the package made-driver)");
    FAILS(LFUSE_ERR_NO_DEVICE, lfuse_device_describe(0, &info));
    SAYS(LFUSE_ERR_NO_DEVICE, lfuse_device_open(NULL, &device), "made:0: it is out of order (the package made-driver)");
}

/* Every backend of this build says what would give a device. */
static void check_hints(void)
{
    ck_says("no device: ");
    ck_says("made: none was made (the package made-driver)");
#ifdef HAVE_CUDA
    ck_says("cuda: ");
    ck_says("nvidia-driver");
#endif
#ifdef HAVE_OPENCL
    ck_says("opencl: ");
    ck_says("ocl-icd-libopencl1");
    ck_says("pocl-opencl-icd");
#endif
}

TEST(test_no_device)
{
    lfuse_device_info info;
    lfuse_device *device = NULL;
    int count = -1;
    make(NULL, 0);
    OK(lfuse_device_count(&count));
    ck_assert_int_eq(count, 0);
    check_hints();
    FAILS(LFUSE_ERR_NO_DEVICE, lfuse_device_describe(0, &info));
    check_hints();
    FAILS(LFUSE_ERR_NO_DEVICE, lfuse_device_open(NULL, &device));
    check_hints();
    ck_assert_ptr_null(device);
    FAILS(LFUSE_ERR_NO_DEVICE, lfuse_device_open("cloud:0", &device));
    ck_says("no device \"cloud:0\"; there are: none; this build has no backend of that name");
}

/* For want of memory nobody is told of fewer devices; what is told is not kept. */
TEST_LOOP(test_shortage, 0, 2)
{
    static const lfuse_status shortages[] = {LFUSE_ERR_MEMORY, LFUSE_ERR_DEVICE_MEMORY};
    lfuse_device_info info;
    lfuse_device *device = NULL;
    int count = -1;
    make(mixed, MIXED);
    describing = shortages[_i];
    SAYS(shortages[_i], lfuse_device_count(&count), "row 6 is not told");
    ck_assert_int_eq(count, -1);
    FAILS(shortages[_i], lfuse_device_describe(0, &info));
    FAILS(shortages[_i], lfuse_device_open(NULL, &device));
    FAILS(shortages[_i], lfuse_device_open("made:1", &device));
    ck_assert_ptr_null(device);
    describing = LFUSE_OK;
    check_order();
}

/* A backend does not do that (lfuse__facts_unknown); if it does, it is heard of. */
TEST(test_left_out)
{
    int count = -1;
    make(mixed, 3);
    describing = LFUSE_ERR_DEVICE;
    hear(LFUSE_LOG_WARN);
    OK(lfuse_device_count(&count));
    ck_assert_int_eq(count, 1);
    ck_heard("made device 2 is left out: row 2 is not told");
}

TEST_SUITE("registry", CK_FORK_GETENV)
