/* SPDX-License-Identifier: Apache-2.0 */
/* Files of wisdom: which are trusted, and what many writers make of one. Each test has a folder of its own. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"
#include "common/tune/wisdom.h"
#include "libfuse/log.h"
#include "tests/support/descriptors.h"
#include "tests/support/files.h"
#include "tests/support/main.h"

#define DEVICE "0.1.0\tbackend\tproduct\t4\tdriver\tcompiler\tlibrary"

static char base[PATH_MAX], file[PATH_MAX + 16], other[PATH_MAX + 16];
static int descriptors;

static void setup(void)
{
    make_folder("wisdom", base, sizeof base);
    snprintf(file, sizeof file, "%s/file", base);
    snprintf(other, sizeof other, "%s/other", base);
    lfuse_log_to(NULL, NULL, LFUSE_LOG_NONE);
    descriptors = test_open_descriptors();
}

static void teardown(void)
{
    ck_assert_int_eq(test_open_descriptors(), descriptors);
    remove_folder(base);
}

/* `choices` lines, of the products number*1000 and up. */
static lfuse_status save(const char *path, int number, int choices)
{
    lfuse__wisdom_place place;
    lfuse__wisdom w = { 0 };
    char line[200];
    lfuse_status status = lfuse__wisdom_place_at(path, &place);

    if (status) return status;
    for (int i = 0; i < choices && !status; i++) {
        snprintf(line, sizeof line, DEVICE "\tgemm:%d\tone\ta%d\t1.5", number * 1000 + i, number);
        status = lfuse__wisdom_put(&w, line, strlen(line));
    }
    if (!status) status = lfuse__wisdom_save(&place, &w);
    lfuse__wisdom_clear(&w);
    lfuse__wisdom_place_close(&place);
    return status;
}

static lfuse_status load(const char *path, lfuse__wisdom *w)
{
    lfuse__wisdom_place place;
    lfuse_status status = lfuse__wisdom_place_at(path, &place);

    if (status) return status;
    status = lfuse__wisdom_load(&place, w);
    lfuse__wisdom_place_close(&place);
    return status;
}

static void check_count(const char *path, size_t count)
{
    lfuse__wisdom w = { 0 };

    OK(load(path, &w));
    ck_assert_uint_eq(w.count, count);
    lfuse__wisdom_clear(&w);
}

/* Neither read nor written, and left as it is. */
static void check_refused(const char *path, lfuse_status status, const char *words)
{
    lfuse__wisdom w = { 0 };
    struct stat before, after;
    const int n = files_in(base, NULL, 0);
    const bool there = !lstat(path, &before);

    ck_assert_int_eq(load(path, &w), status);
    ck_says(words);
    ck_says(path);
    ck_assert_uint_eq(w.count, 0);
    ck_assert_int_eq(save(path, 1, 1), status);
    ck_says(words);
    ck_assert_int_eq(files_in(base, NULL, 0), n);
    if (!there) return;
    ck_assert_int_eq(lstat(path, &after), 0);
    ck_assert(before.st_ino == after.st_ino && before.st_size == after.st_size && before.st_mode == after.st_mode);
}

TEST_CASE("wisdom files", .setup = setup, .teardown = teardown, .limit = 120)

TEST(writes_and_reads)
{
    lfuse__wisdom w = { 0 };
    struct stat st;

    ck_assert_int_eq(load(file, &w), LFUSE_NOT_READY);
    ck_assert_str_eq(lfuse__error_message(), "");
    OK(save(file, 1, 3));
    check_count(file, 3);
    ck_assert_int_eq(stat(file, &st), 0);
    ck_assert_uint_eq(st.st_mode & 07777, 0600);
    OK(save(file, 2, 4)); /* what is there stays */
    OK(save(file, 2, 5));
    check_count(file, 8);
    ck_assert_int_eq(files_in(base, NULL, 0), 1);
    ck_assert_int_eq(chdir(base), 0);
    OK(save("file", 3, 1));
    OK(save("./file", 4, 1));
    check_count("file", 10);
    write_text(other, "");
    OK(save(other, 1, 1)); /* a name that the caller made */
    check_count(other, 1);
}

TEST(who_is_not_trusted)
{
    OK(save(file, 1, 1));
    ck_assert_int_eq(symlink(file, other), 0);
    check_refused(other, LFUSE_ERR_IO, "it is a symbolic link");
    unlink(other);
    ck_assert_int_eq(mkfifo(other, 0600), 0);
    check_refused(other, LFUSE_ERR_IO, "it is no regular file");
    unlink(other);
    ck_assert_int_eq(mkdir(other, 0700), 0);
    {
        lfuse__wisdom w = { 0 };
        ck_assert_int_eq(load(other, &w), LFUSE_ERR_IO);
        ck_assert_int_eq(save(other, 1, 1), LFUSE_ERR_IO);
    }
    ck_assert_int_eq(chmod(file, 0620), 0);
    check_refused(file, LFUSE_ERR_IO, "others may write it");
    ck_assert_int_eq(chmod(file, 0602), 0);
    check_refused(file, LFUSE_ERR_IO, "others may write it");
    ck_assert_int_eq(chmod(file, 0644), 0);
    check_count(file, 1);
    if (geteuid() == 0) {
        ck_assert_int_eq(chown(file, 12345, 12345), 0);
        check_refused(file, LFUSE_ERR_IO, "it belongs to another user");
    }
}

TEST(no_such_place)
{
    lfuse__wisdom w = { 0 };
    char path[PATH_MAX + 32];

    snprintf(path, sizeof path, "%s/none/file", base);
    SAYS(LFUSE_ERR_IO, load(path, &w), "its folder: No such file");
    ck_assert_int_eq(save(path, 1, 1), LFUSE_ERR_IO);
    SAYS(LFUSE_ERR_IO, load("", &w), "names no file");
    snprintf(path, sizeof path, "%s/", base);
    SAYS(LFUSE_ERR_IO, load(path, &w), "names no file");
}

TEST(what_is_no_wisdom)
{
    lfuse__wisdom w = { 0 };

    write_text(file, "precious\n");
    check_refused(file, LFUSE_ERR_IO, "holds no wisdom");
    write_text(file, "libfuse wisdom 2\nfrom the future\n");
    check_refused(file, LFUSE_ERR_UNSUPPORTED, "is of version 2");
    write_text(file, "libfuse wisdom 1\nend 0 0\n");
    check_refused(file, LFUSE_ERR_IO, "is damaged");
    ck_assert_int_eq(truncate(file, 0), 0);
    SAYS(LFUSE_ERR_IO, load(file, &w), "is empty");
    ck_assert_int_eq(truncate(file, LFUSE__WISDOM_FILE_BYTES + 1), 0);
    check_refused(file, LFUSE_ERR_IO, "it is too large");
    ck_assert_int_eq(truncate(file, LFUSE__WISDOM_FILE_BYTES), 0);
    check_refused(file, LFUSE_ERR_IO, "holds no wisdom");
}

/* The disk is full: the old file stays, and nothing else. */
TEST(a_write_that_fails)
{
    const struct rlimit little = { 100, RLIM_INFINITY }, all = { RLIM_INFINITY, RLIM_INFINITY };

    OK(save(file, 1, 2));
    signal(SIGXFSZ, SIG_IGN);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &little), 0);
    SAYS(LFUSE_ERR_IO, save(file, 2, 2), "File too large");
    ck_assert_int_eq(save(other, 2, 2), LFUSE_ERR_IO);
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &all), 0);
    check_count(file, 2);
    ck_assert_int_eq(files_in(base, NULL, 0), 1);
}

enum { WRITERS = 8, TURNS = 5 };

static void *write_turns(void *data)
{
    const int number = *(int *)data;

    for (int turn = 0; turn < TURNS; turn++)
        if (save(file, number, 2 + turn)) return (void *)lfuse__error_message();
    return NULL;
}

/* Cold: all of them find no file and make one. */
TEST(threads_lose_nothing)
{
    pthread_t threads[WRITERS];
    int numbers[WRITERS];
    void *failed;

    for (int i = 0; i < WRITERS; i++) {
        numbers[i] = i + 1;
        ck_assert(!pthread_create(&threads[i], NULL, write_turns, &numbers[i]));
    }
    for (int i = 0; i < WRITERS; i++) {
        ck_assert(!pthread_join(threads[i], &failed));
        ck_assert_ptr_null(failed);
    }
    check_count(file, WRITERS * (1 + TURNS));
    ck_assert_int_eq(files_in(base, NULL, 0), 1);
}

TEST(processes_lose_nothing)
{
    pid_t children[WRITERS];
    int state;

    for (int i = 0; i < WRITERS; i++) {
        children[i] = fork();
        ck_assert_int_ge(children[i], 0);
        if (children[i]) continue;
        int number = i + 1;
        _exit(write_turns(&number) != NULL);
    }
    for (int i = 0; i < WRITERS; i++) {
        ck_assert_int_eq(waitpid(children[i], &state, 0), children[i]);
        ck_assert(WIFEXITED(state) && WEXITSTATUS(state) == 0);
    }
    check_count(file, WRITERS * (1 + TURNS));
    ck_assert_int_eq(files_in(base, NULL, 0), 1);
}

/* Somebody who may read the file keeps it locked: writers give up, readers do not notice. */
TEST(a_lock_for_ever)
{
    OK(save(file, 1, 1));
    int held = open(file, O_RDONLY | O_CLOEXEC);
    ck_assert_int_ge(held, 0);
    ck_assert_int_eq(flock(held, LOCK_EX), 0);
    SAYS(LFUSE_ERR_IO, save(file, 2, 1), "keeps it locked");
    check_count(file, 1);
    close(held);
    OK(save(file, 2, 1));
    check_count(file, 2);
}

TEST_SUITE("run", CK_FORK_GETENV)
