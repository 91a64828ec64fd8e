/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every call of the library to libc fails once, and from then on: see scenario.c, which is one turn of the loop in a
 * process of its own. After each the same work succeeds, with right results, and nothing more is left than without a
 * failure: no block of memory, descriptor, thread or temporary file.
 *
 * In make check each call fails once on the stub, which finds everything in the disk cache, and on the fake driver and
 * OpenCL each of those that load libraries; the other turns are sampled. LFUSE_TEST_ALL=1 has all of them.
 */
#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/files.h"
#include "tests/support/main.h"

extern char **environ;

enum { UNUSABLE = 77, MOST_WORDS = 4096, ALL = 1 << 20, OPENING = 24 /* calls, until the libraries are loaded */ };

#define INTERPOSE FAULTS_FOLDER "/.libs/interpose.so"

static char base[64];

typedef struct outcome {
    int result;             /* of the process: its exit status, or 128 and the signal */
    char words[MOST_WORDS]; /* stdout and stderr */
    unsigned long long seen, failed;
    long long live;
    int files, threads;
} outcome;

static pid_t start(char *const *argv, int to)
{
    posix_spawn_file_actions_t actions;
    pid_t child = -1;

    ck_assert_int_eq(posix_spawn_file_actions_init(&actions), 0);
    posix_spawn_file_actions_adddup2(&actions, to, 1);
    posix_spawn_file_actions_adddup2(&actions, to, 2);
    posix_spawn_file_actions_addclose(&actions, to);
    setenv("LD_PRELOAD", INTERPOSE, 1);
    ck_assert_int_eq(posix_spawn(&child, argv[0], &actions, NULL, argv, environ), 0);
    unsetenv("LD_PRELOAD");
    posix_spawn_file_actions_destroy(&actions);
    return child;
}

static void collect(int from, outcome *o)
{
    size_t length = 0;

    while (length < sizeof o->words - 1) {
        ssize_t n = read(from, o->words + length, sizeof o->words - 1 - length);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        length += (size_t)n;
    }
    o->words[length] = '\0';
}

/* A turn that hangs is ended by its alarm (scenario.c). */
static void turn(const char *device, unsigned long long n, bool always, const char *folder, outcome *o)
{
    char number[24];
    char *const argv[] = { (char *)FAULTS_FOLDER "/scenario", (char *)device, number, always ? "always" : "once",
                           (char *)folder, NULL };
    int ends[2], status = 0;

    memset(o, 0, sizeof *o);
    snprintf(number, sizeof number, "%llu", n);
    ck_assert_int_eq(pipe(ends), 0);
    pid_t child = start(argv, ends[1]);
    close(ends[1]);
    collect(ends[0], o);
    close(ends[0]);
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    o->result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    const char *line = strstr(o->words, "seen=");
    if (line && sscanf(line, "seen=%llu failed=%llu live=%lld files=%d threads=%d", &o->seen, &o->failed, &o->live,
                       &o->files, &o->threads) != 5)
        o->result = 126;
}

static void check_turn(const char *device, unsigned long long n, bool always, const outcome *o, const outcome *well)
{
    const char *mode = always ? "always" : "once";

    ck_assert_msg(o->result == 0, "scenario %s %llu %s: ended with %d: %s", device, n, mode, o->result, o->words);
    ck_assert_msg(o->failed > 0, "scenario %s %llu %s: nothing failed: %s", device, n, mode, o->words);
    ck_assert_msg(o->live <= well->live && o->files <= well->files && o->threads <= well->threads,
                  "scenario %s %llu %s: left behind: live %lld of %lld, files %d of %d, threads %d of %d: %s", device,
                  n, mode, o->live, well->live, o->files, well->files, o->threads, well->threads, o->words);
}

/* Without a failure, twice, so that the second finds in caches what the first has left there. False: no such device. */
static bool go_well(const char *device, const char *folder, outcome *well)
{
    turn(device, 0, false, folder, well);
    if (well->result == UNUSABLE) return false;
    turn(device, 0, false, folder, well);
    ck_assert_msg(well->result == 0 && well->seen > 50, "%s: %d: %s", device, well->result, well->words);
    return true;
}

/* Calls 1 ... `every` fail once each, and of all calls about `samples` once and from then on; or all of them. */
static void loop(const char *device, const char *folder, unsigned long long every, unsigned samples,
                 const outcome *well)
{
    const unsigned long long step = test_all() ? 1 : well->seen / samples + 1;

    for (int always = 0; always <= 1; always++) {
        unsigned long long n = 1;
        while (n <= well->seen) {
            outcome o;
            turn(device, n, always, folder, &o);
            /* Where threads are at work the number of calls is not always the same. */
            if (o.result == 0 && !o.failed && n + 10 > well->seen) break;
            check_turn(device, n, always, &o, well);
            n += !always && n < every ? 1 : step;
        }
    }
}

static void setup(void)
{
    make_folder("faults", base, sizeof base);
    setenv("LFUSE_CACHE_DIR", base, 1);
    setenv("OCL_ICD_VENDORS", "/nonexistent", 1);
    setenv("OCL_ICD_FILENAMES", "", 1);
    setenv("CUDA_VISIBLE_DEVICES", "", 1);
    unsetenv("FAULTS_FAKE");
}

static void teardown(void)
{
    remove_folder(base);
}

/* A sanitizer's run-time library refuses to come behind another one that is preloaded. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define NEED_PRELOAD() TEST_SKIP("built with a sanitizer")
#else
#define NEED_PRELOAD() if (access(INTERPOSE, R_OK)) TEST_SKIP("this build has no shared libraries")
#endif

static const char *empty_folder(char *path, size_t size)
{
    snprintf(path, size, "%s/cold", base);
    ck_assert(!mkdir(path, 0700));
    return path;
}

TEST_CASE("libc", .setup = setup, .teardown = teardown, .limit = TEST_NO_LIMIT)

TEST(on_the_stub)
{
    outcome well;

    NEED_PRELOAD();
    ck_assert(go_well("stub:0", NULL, &well));
    loop("stub:0", NULL, ALL, 100, &well);
}

TEST(on_the_stub_with_an_empty_cache)
{
    char path[96];
    outcome well;

    NEED_PRELOAD();
    const char *folder = empty_folder(path, sizeof path);
    ck_assert(go_well("stub:0", folder, &well));
    loop("stub:0", folder, 0, 6, &well);
}

/* Sources are dumped, and choices measured and kept in a file. */
TEST(with_all_files_that_are_written)
{
    char path[96], dump[96];
    outcome well;

    NEED_PRELOAD();
    const char *folder = empty_folder(path, sizeof path);
    snprintf(dump, sizeof dump, "%s/dump", base);
    ck_assert(!mkdir(dump, 0700));
    setenv("LFUSE_DUMP", dump, 1);
    setenv("LFUSE_EFFORT", "measure", 1);
    setenv("LFUSE_PROVIDER", "vendor", 1);
    unsetenv("LFUSE_WISDOM");
    ck_assert(go_well("stub:0", folder, &well));
    loop("stub:0", folder, 0, 6, &well);
}

#ifdef HAVE_CUDA
TEST(on_the_fake_driver)
{
    outcome well;

    NEED_PRELOAD();
    setenv("FAULTS_FAKE", FAULTS_FAKE, 1);
    setenv("FAKECUDA_QUICK", "1", 1);
    if (!go_well("cuda:0", NULL, &well)) TEST_SKIP("%s", well.words);
    loop("cuda:0", NULL, 64, 80, &well);
}
#endif

#ifdef HAVE_OPENCL
TEST(on_opencl)
{
    outcome well;

    NEED_PRELOAD();
    unsetenv("OCL_ICD_VENDORS");
    unsetenv("OCL_ICD_FILENAMES");
    if (!go_well("opencl:0:0", NULL, &well)) TEST_SKIP("%s", well.words);
    loop("opencl:0:0", NULL, OPENING, 6, &well);
}
#endif

TEST_SUITE("faults", CK_FORK_GETENV)
