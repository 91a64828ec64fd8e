/* SPDX-License-Identifier: Apache-2.0 */
/* Programs in memory and on disk, on the stub with a compiler of the test's own that counts, waits and fails. */
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/base/log.h"
#include "common/device/device.h"
#include "libfuse/version.h"
#include "tests/stub/stub.h"
#include "tests/support/files.h"
#include "tests/support/heard.h"
#include "tests/support/main.h"

static lfuse__backend fake;
static lfuse_device *dev;
static char folder[256], key_part[32];
static atomic_int builds, loads, binaries, alive, inside, most_inside;
static int build_milliseconds;
static bool refuse_binaries;
static lfuse_status build_status;

/* ---- the compiler ---- */

static lfuse__bprogram *new_program(void)
{
    atomic_fetch_add(&alive, 1);
    return malloc(1);
}

static lfuse_status build(lfuse__bdevice *bdev, const char *source, lfuse__strbuf *log, lfuse__bprogram **program)
{
    const struct timespec pause = { 0, build_milliseconds * 1000000L };
    int now = atomic_fetch_add(&inside, 1) + 1, most = atomic_load(&most_inside);

    (void)bdev;
    while (now > most && !atomic_compare_exchange_weak(&most_inside, &most, now)) continue;
    atomic_fetch_add(&builds, 1);
    nanosleep(&pause, NULL);
    atomic_fetch_sub(&inside, 1);
    ck_assert(!strncmp(source, "/* prelude */\n", 14));
    if (build_status) {
        lfuse__strbuf_add(log, "line 3: no such word\nline 4: nor this\n");
        return lfuse__error(build_status, "the compiler failed");
    }
    *program = new_program();
    return LFUSE_OK;
}

static lfuse_status load(lfuse__bdevice *bdev, const void *binary, size_t bytes, lfuse__bprogram **program)
{
    (void)bdev;
    ck_assert_uint_eq(bytes, 6);
    ck_assert_mem_eq(binary, "binary", 6);
    if (refuse_binaries) return lfuse__error(LFUSE_ERR_DEVICE, "the driver refuses it");
    atomic_fetch_add(&loads, 1);
    *program = new_program();
    return LFUSE_OK;
}

static lfuse_status binary_of(lfuse__bprogram *program, lfuse__strbuf *binary)
{
    (void)program;
    atomic_fetch_add(&binaries, 1);
    lfuse__strbuf_add(binary, "binary");
    return lfuse__strbuf_check(binary);
}

static lfuse_status key(lfuse__bdevice *bdev, lfuse__strbuf *text)
{
    (void)bdev;
    lfuse__strbuf_add(text, key_part);
    return lfuse__strbuf_check(text);
}

static void destroy(lfuse__bprogram *program)
{
    atomic_fetch_sub(&alive, 1);
    free(program);
}

/* ---- fixtures ---- */

/* Each test has keys of its own, so that it starts with a cache that is empty for it. */
static void setup(void)
{
    static int number;

    lfuse__stub_reset();
    fake = lfuse__stub_backend;
    fake.prelude = "/* prelude */\n";
    fake.program_build = build;
    fake.program_load = load;
    fake.program_binary = binary_of;
    fake.program_key = key;
    fake.program_destroy = destroy;
    lfuse__registry_extra(&fake);
    snprintf(key_part, sizeof key_part, "test %d", ++number);
    builds = loads = binaries = inside = most_inside = 0;
    build_milliseconds = 0;
    refuse_binaries = false;
    build_status = LFUSE_OK;
    OK(lfuse_device_open("stub:0", &dev));
}

static void teardown(void)
{
    lfuse_device_close(dev);
    ck_assert_int_eq(atomic_load(&alive), 0);
    ck_assert_int_eq(lfuse__stub_live_objects(), 0);
    lfuse__registry_extra(NULL);
}

static void private_folders(void)
{
    char cache[300];

    make_folder("program", folder, sizeof folder);
    snprintf(cache, sizeof cache, "%s/cache", folder);
    setenv("LFUSE_CACHE_DIR", cache, 1);
    setenv("LFUSE_DUMP", folder, 1);
    unsetenv("LFUSE_CACHE");
}

static void remove_folders(void)
{
    remove_folder(folder);
}

static lfuse__program *get(const char *body)
{
    lfuse__program *program = NULL;

    OK(lfuse__program_get(dev, body, &program));
    return program;
}

static uint64_t compiles(void)
{
    lfuse_device_counters c;

    OK(lfuse_device_get_counters(dev, &c));
    return c.compiles;
}

static void reopen(void)
{
    lfuse_device_close(dev);
    OK(lfuse_device_open("stub:0", &dev));
}

/* ---- in memory ---- */

TEST_CASE("program", .setup = setup, .teardown = teardown, .before = private_folders, .after = remove_folders)

TEST(equal_sources_share)
{
    lfuse__program *a = get("one"), *b = get("one"), *c = get("two");

    ck_assert_ptr_eq(a, b);
    ck_assert_ptr_ne(a, c);
    ck_assert_uint_eq(compiles(), 2);
    lfuse__program_release(a);
    lfuse__program_release(b);
    lfuse__program_release(c);
    lfuse__program_release(NULL);
    a = get("one"); /* kept though nobody used it */
    ck_assert_uint_eq(compiles(), 2);
    lfuse__program_release(a);
}

TEST(bounded_by_last_use)
{
    lfuse__program *used = get("used");
    char body[32];
    int i;

    for (i = 0; i < 600; i++) {
        snprintf(body, sizeof body, "body %d", i);
        lfuse__program_release(get(body));
        lfuse__program_release(get("often"));
    }
    ck_assert_int_le(atomic_load(&alive), 512);
    ck_assert_int_ge(atomic_load(&alive), 500);
    i = atomic_load(&builds) + atomic_load(&loads);
    lfuse__program_release(get("used"));
    lfuse__program_release(get("often"));
    lfuse__program_release(get("body 599"));
    ck_assert_int_eq(atomic_load(&builds) + atomic_load(&loads), i);
    lfuse__program_release(get("body 0"));
    ck_assert_int_eq(atomic_load(&builds) + atomic_load(&loads), i + 1);
    lfuse__program_release(used);
}

TEST(programs_outlive_the_handle)
{
    lfuse__program *program = get("one"), *none = NULL;

    lfuse_device_close(dev);
    ck_assert_int_eq(lfuse__program_get(dev, "one", &none), LFUSE_ERR_CLOSED);
    ck_assert_int_eq(atomic_load(&alive), 1);
    lfuse__program_release(program);
    ck_assert_int_eq(atomic_load(&alive), 0);
    dev = NULL;
}

static void *get_shared(void *body)
{
    lfuse__program *program = NULL;
    lfuse_status status = lfuse__program_get(dev, body, &program);

    lfuse__program_release(program);
    if (status == LFUSE_ERR_COMPILE) ck_says("no such word");
    return status ? dev : NULL;
}

/* How many of eight threads failed. */
static int eight_threads(const char *const *bodies)
{
    pthread_t threads[8];
    void *failed;
    int n = 0;

    for (int i = 0; i < 8; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, get_shared, (void *)(uintptr_t)bodies[i]), 0);
    for (int i = 0; i < 8; i++) {
        pthread_join(threads[i], &failed);
        n += failed != NULL;
    }
    return n;
}

static const char *const same[8] = { "x", "x", "x", "x", "x", "x", "x", "x" };
static const char *const different[8] = { "a", "b", "c", "d", "e", "f", "g", "h" };

TEST(one_flight)
{
    build_milliseconds = 50;
    ck_assert_int_eq(eight_threads(same), 0);
    ck_assert_int_eq(atomic_load(&builds), 1);
}

TEST(different_ones_at_once)
{
    build_milliseconds = 300;
    ck_assert_int_eq(eight_threads(different), 0);
    ck_assert_int_eq(atomic_load(&builds), 8);
    ck_assert_int_gt(atomic_load(&most_inside), 1);
}

/* Those that waited get the error too; the next call tries again. */
TEST(failure_is_shared_and_forgotten)
{
    build_milliseconds = 50;
    build_status = LFUSE_ERR_COMPILE;
    ck_assert_int_eq(eight_threads(same), 8);
    ck_assert_int_lt(atomic_load(&builds), 8);
    build_status = LFUSE_OK;
    lfuse__program_release(get("x"));
}

TEST(compile_error_tells_why)
{
    lfuse__program *none = NULL;

    build_status = LFUSE_ERR_COMPILE;
    ck_assert_int_eq(lfuse__program_get(dev, "bad", &none), LFUSE_ERR_COMPILE);
    ck_assert_ptr_null(none);
    ck_says("stub:0");
    ck_says("line 3: no such word");
    build_status = LFUSE_OK;
    reopen(); /* a failure is not cached on disk either */
    lfuse__program_release(get("bad"));
    ck_assert_uint_eq(compiles(), 1);
}

/* ---- on disk ---- */

TEST(second_handle_loads)
{
    lfuse__program_release(get("one"));
    reopen();
    lfuse__program_release(get("one"));
    ck_assert_uint_eq(compiles(), 0);
    ck_assert_int_eq(atomic_load(&loads), 1);
}

/* Its answer would cost as much as the build did. */
TEST(compiler_at_launch_is_asked_for_no_binary)
{
    lfuse__program_release(get("one"));
    ck_assert_int_eq(atomic_load(&binaries), 1);
    lfuse__stub.compiles_at_launch = true;
    reopen();
    lfuse__program_release(get("another"));
    ck_assert_uint_eq(compiles(), 1);
    ck_assert_int_eq(atomic_load(&binaries), 1);
}

TEST(other_driver_misses)
{
    lfuse__program_release(get("one"));
    strcat(key_part, " newer");
    reopen();
    lfuse__program_release(get("one"));
    ck_assert_uint_eq(compiles(), 1);
}

/* The key of an entry tells all that the binary depends on, whoever asks. */
TEST(key_tells_who_made_it)
{
    lfuse__strbuf whole = LFUSE__STRBUF_INIT, value = LFUSE__STRBUF_INIT;

    lfuse__strbuf_format(&whole, "libfuse program 1\n%s\nstub\n%s\n/* prelude */\none", lfuse_version_string(),
                         key_part);
    ck_assert_int_eq(lfuse__cache_read(whole.data, whole.length, &value), LFUSE_NOT_READY);
    lfuse__program_release(get("one"));
    OK(lfuse__cache_read(whole.data, whole.length, &value));
    ck_assert_str_eq(value.data, "binary");
    lfuse__strbuf_free(&value);
    lfuse__strbuf_free(&whole);
}

TEST(refused_binary_is_compiled)
{
    lfuse__program_release(get("one"));
    refuse_binaries = true;
    reopen();
    lfuse__error(LFUSE_ERR_IO, "from before");
    lfuse__program_release(get("one"));
    ck_assert_uint_eq(compiles(), 1);
    ck_assert_str_eq(lfuse_last_error(), "from before");
}

/* The path of the only dump that the source makes. */
static void dump_of(const char *source, char *path, size_t size)
{
    char text[128];

    snprintf(text, sizeof text, "/* prelude */\n%s", source);
    lfuse__hash h = lfuse__hash_bytes(text, strlen(text));
    snprintf(path, size, "%s/%016" PRIx64 "%016" PRIx64 ".stub.k", folder, h.high, h.low);
}

TEST(sources_are_dumped)
{
    char path[512], text[64];

    lfuse__program_release(get("this is dumped"));
    dump_of("this is dumped", path, sizeof path);
    read_file(path, text, sizeof text);
    ck_assert_str_eq(text, "/* prelude */\nthis is dumped");
}

/* ---- what others put in the place of a dump ---- */

/* Makes something at the path; the words with which the dump is refused. */
static const char *block(int kind, const char *path)
{
    switch (kind) {
    case 0: ck_assert_int_eq(mkfifo(path, 0600), 0); return "it is no regular file";
    case 1: ck_assert_int_eq(mkdir(path, 0700), 0); return "it is no regular file";
    case 2: ck_assert_int_eq(symlink("/dev/full", path), 0); return "it is a symbolic link";
    default: ck_assert_int_eq(symlink("/dev/zero", path), 0); return "it is a symbolic link";
    }
}

/* Nobody reads the pipe: opening it as a file would wait for ever. The program is made all the same. */
TEST_LOOP(a_dump_that_is_no_file, 0, 4)
{
    char path[512], source[32];
    struct stat before, after;

    snprintf(source, sizeof source, "in the way %d", _i);
    dump_of(source, path, sizeof path);
    const char *words = block(_i, path);
    ck_assert_int_eq(lstat(path, &before), 0);
    hear(LFUSE_LOG_WARN);
    lfuse__program_release(get(source));
    hear(LFUSE_LOG_NONE);
    ck_heard(words);
    ck_heard(path);
    ck_assert_int_eq(lstat(path, &after), 0);
    ck_assert(before.st_ino == after.st_ino && before.st_mode == after.st_mode);
    if (unlink(path)) rmdir(path);
}

/* A longer text of that name is replaced as a whole. */
TEST(a_dump_that_is_there)
{
    char path[512], text[64], longer[1500];

    dump_of("replaced", path, sizeof path);
    memset(longer, 'x', sizeof longer);
    write_file(path, longer, sizeof longer);
    lfuse__program_release(get("replaced"));
    read_file(path, text, sizeof text);
    ck_assert_str_eq(text, "/* prelude */\nreplaced");
}

/* The environment is read at the first call, which is still to come. */
TEST_SUITE("program", CK_NOFORK)
