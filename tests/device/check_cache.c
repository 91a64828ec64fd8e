/* SPDX-License-Identifier: Apache-2.0 */
/* The disk cache as a store. It opens its folder once: each test is a process of its own, with a folder of its own. */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/log.h"
#include "common/device/device.h"
#include "tests/support/descriptors.h"
#include "tests/support/files.h"
#include "tests/support/main.h"

static char base[PATH_MAX], dir[PATH_MAX + 16];
static int descriptors;

static void setup(void)
{
    static const char *const names[] = { "LFUSE_CACHE", "LFUSE_CACHE_DIR", "XDG_CACHE_HOME", "HOME" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
    make_folder("cache", base, sizeof base);
    snprintf(dir, sizeof dir, "%s/cache", base);
    ck_assert_int_eq(setenv("LFUSE_CACHE_DIR", dir, 1), 0);
    lfuse_log_to(NULL, NULL, LFUSE_LOG_NONE);
    descriptors = test_open_descriptors();
}

/* The folder stays open, nothing else does. */
static void teardown(void)
{
    const char *why;
    bool may_write;
    const bool open = lfuse__cache_folder(&may_write, &why) >= 0;

    ck_assert_int_eq(test_open_descriptors(), descriptors + open);
    remove_folder(base);
}

/* ---- helpers ---- */

static lfuse_status get(const char *key, const char *expected)
{
    lfuse__strbuf value = LFUSE__STRBUF_INIT;
    lfuse_status status = lfuse__cache_read(key, strlen(key), &value);

    if (!status && expected) ck_assert_str_eq(value.data, expected);
    if (status) ck_assert_uint_eq(value.length, 0);
    lfuse__strbuf_free(&value);
    return status;
}

static void put(const char *key, const char *value)
{
    lfuse__cache_write(key, strlen(key), value, strlen(value));
}

/* ---- as a store ---- */

TEST_CASE("cache", .setup = setup, .teardown = teardown)

TEST(round_trip)
{
    ck_assert_int_eq(get("key", NULL), LFUSE_NOT_READY);
    ck_assert_str_eq(lfuse_last_error(), "");
    put("key", "value");
    put("other", "thing");
    put("empty", "");
    ck_assert_int_eq(get("key", "value"), LFUSE_OK);
    ck_assert_int_eq(get("other", "thing"), LFUSE_OK);
    ck_assert_int_eq(get("empty", ""), LFUSE_OK);
    ck_assert_int_eq(get("keys", NULL), LFUSE_NOT_READY);
    put("key", "newer");
    ck_assert_int_eq(get("key", "newer"), LFUSE_OK);
    ck_assert_int_eq(files_in(dir, NULL, 0), 3);
}

TEST(bytes_of_any_value)
{
    lfuse__strbuf value = LFUSE__STRBUF_INIT;
    unsigned char all[3000];

    for (size_t i = 0; i < sizeof all; i++) all[i] = (unsigned char)(i * 7);
    lfuse__cache_write("a\0b", 3, all, sizeof all);
    ck_assert_int_eq(lfuse__cache_read("a\0c", 3, &value), LFUSE_NOT_READY);
    OK(lfuse__cache_read("a\0b", 3, &value));
    ck_assert_uint_eq(value.length, sizeof all);
    ck_assert_mem_eq(value.data, all, sizeof all);
    lfuse__strbuf_free(&value);
}

TEST(described)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    uint64_t entries, bytes;

    put("key", "value");
    put("two", "values");
    lfuse__cache_describe(&text, &entries, &bytes);
    ck_assert_str_eq(text.data, dir);
    ck_assert_uint_eq(entries, 2);
    ck_assert_uint_gt(bytes, 2 * 8);
    lfuse__strbuf_free(&text);
}

/* ---- damage ---- */

TEST(every_flipped_bit)
{
    unsigned char bytes[256];
    char path[PATH_MAX + 300];

    put("the key", "the value");
    ck_assert_int_eq(files_in(dir, path, sizeof path), 1);
    size_t n = read_file(path, bytes, sizeof bytes);
    ck_assert_uint_lt(n, sizeof bytes);
    for (size_t i = 0; i < 8 * n; i++) {
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
        write_file(path, bytes, n);
        ck_assert_msg(get("the key", NULL) == LFUSE_NOT_READY, "bit %zu of byte %zu", i % 8, i / 8);
        bytes[i / 8] ^= (unsigned char)(1 << i % 8);
    }
    write_file(path, bytes, n);
    ck_assert_int_eq(get("the key", "the value"), LFUSE_OK);
}

TEST(every_other_length)
{
    unsigned char bytes[256] = { 0 };
    char path[PATH_MAX + 300];

    put("the key", "the value");
    files_in(dir, path, sizeof path);
    size_t n = read_file(path, bytes, sizeof bytes);
    for (size_t i = 0; i < n + 20; i++) {
        write_file(path, bytes, i);
        ck_assert_int_eq(get("the key", NULL), i == n ? LFUSE_OK : LFUSE_NOT_READY);
    }
    put("the key", "the value");
    ck_assert_int_eq(get("the key", "the value"), LFUSE_OK);
}

/* Two keys whose names collide: the whole key decides. */
TEST(entry_of_another_key)
{
    unsigned char bytes[256];
    char path[PATH_MAX + 300];

    put("key A", "value A");
    files_in(dir, path, sizeof path);
    size_t n = read_file(path, bytes, sizeof bytes);
    unlink(path);
    put("key B", "value B");
    files_in(dir, path, sizeof path);
    write_file(path, bytes, n);
    ck_assert_int_eq(get("key B", NULL), LFUSE_NOT_READY);
    put("key B", "value B");
    ck_assert_int_eq(get("key B", "value B"), LFUSE_OK);
}

/*
 * Keys of other lengths, all else as it should be: the entry of "the key!" begins with "the key", and its sum is the
 * one of "the key" and the value. Only the length tells them apart.
 */
TEST(entry_of_a_longer_key)
{
    enum { MAGIC_BYTES = 8, HEADER_BYTES = 40 };
    unsigned char bytes[256];
    char path[PATH_MAX + 300];
    uint64_t length;

    put("the key", "the value");
    files_in(dir, path, sizeof path);
    size_t n = read_file(path, bytes, sizeof bytes);
    ck_assert_uint_eq(n, HEADER_BYTES + strlen("the key") + strlen("the value"));
    memcpy(&length, bytes + MAGIC_BYTES, sizeof length);
    ck_assert_uint_eq(length, strlen("the key"));
    length++;
    memcpy(bytes + MAGIC_BYTES, &length, sizeof length);
    bytes[n] = '!';
    write_file(path, bytes, n + 1);
    ck_assert_int_eq(get("the key", NULL), LFUSE_NOT_READY);
}

/* ---- what is not a plain file of ours ---- */

TEST(links_pipes_and_folders)
{
    char path[PATH_MAX + 300], target[PATH_MAX + 32];

    snprintf(target, sizeof target, "%s/elsewhere", base);
    put("key", "value");
    files_in(dir, path, sizeof path);
    ck_assert_int_eq(rename(path, target), 0);
    ck_assert_int_eq(symlink(target, path), 0);
    ck_assert_int_eq(get("key", NULL), LFUSE_NOT_READY);
    put("key", "new");
    ck_assert_int_eq(get("key", "new"), LFUSE_OK);
    unlink(path);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    ck_assert_int_eq(get("key", NULL), LFUSE_NOT_READY);
    put("key", "newer");
    ck_assert_int_eq(get("key", "newer"), LFUSE_OK);
    unlink(path);
    ck_assert_int_eq(mkdir(path, 0700), 0);
    ck_assert_int_eq(get("key", NULL), LFUSE_NOT_READY);
    put("key", "no way");
    ck_assert_int_eq(get("key", NULL), LFUSE_NOT_READY);
    ck_assert_int_eq(files_in(dir, NULL, 0), 1);
}

TEST(entry_that_others_may_write)
{
    char path[PATH_MAX + 300];

    put("key", "value");
    files_in(dir, path, sizeof path);
    ck_assert_int_eq(chmod(path, 0622), 0);
    ck_assert_int_eq(get("key", NULL), LFUSE_NOT_READY);
}

/* ---- the folder ---- */

static void expect_reason(const char *part)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    uint64_t entries = 7, bytes = 7;

    put("key", "value");
    ck_assert_int_eq(get("key", NULL), LFUSE_NOT_READY);
    lfuse__cache_describe(&text, &entries, &bytes);
    ck_assert_msg(strstr(text.data, part) != NULL, "\"%s\" has no \"%s\"", text.data, part);
    ck_assert_uint_eq(entries, 0);
    ck_assert_uint_eq(bytes, 0);
    lfuse__strbuf_free(&text);
}

TEST(made_private)
{
    struct stat st;

    put("key", "value");
    ck_assert_int_eq(stat(dir, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0700);
}

TEST(open_to_others)
{
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    ck_assert_int_eq(chmod(dir, 0755), 0);
    expect_reason("0755");
    ck_assert_int_eq(files_in(dir, NULL, 0), 0);
}

TEST(of_another_user)
{
    if (geteuid() != 0) TEST_SKIP("only root can give a folder away");
    ck_assert_int_eq(mkdir(dir, 0700), 0);
    ck_assert_int_eq(chown(dir, 12345, 12345), 0);
    expect_reason("another user");
}

TEST(folder_is_a_link)
{
    char target[PATH_MAX + 32];

    snprintf(target, sizeof target, "%s/target", base);
    ck_assert_int_eq(mkdir(target, 0700), 0);
    ck_assert_int_eq(symlink(target, dir), 0);
    expect_reason(dir);
}

TEST(folder_is_a_file)
{
    write_text(dir, "x");
    expect_reason(dir);
}

TEST(relative_folder)
{
    setenv("LFUSE_CACHE_DIR", "some/where", 1);
    expect_reason("absolute");
}

TEST(no_home)
{
    unsetenv("LFUSE_CACHE_DIR");
    expect_reason("HOME");
}

TEST(below_home)
{
    struct stat st;
    char path[PATH_MAX + 64];

    unsetenv("LFUSE_CACHE_DIR");
    setenv("HOME", base, 1);
    put("key", "value");
    ck_assert_int_eq(get("key", "value"), LFUSE_OK);
    snprintf(path, sizeof path, "%s/.cache/libfuse", base);
    ck_assert_int_eq(stat(path, &st), 0);
}

TEST(switched_off)
{
    setenv("LFUSE_CACHE", "0", 1);
    expect_reason("off");
    ck_assert_int_ne(access(dir, F_OK), 0);
}

TEST(unknown_mode)
{
    setenv("LFUSE_CACHE", "perhaps", 1);
    expect_reason("perhaps");
}

/* Runs `body` in a process whose cache is opened anew. */
static int in_process(void (*body)(void))
{
    int result = -1;
    pid_t child = fork();

    if (child == 0) {
        body();
        _exit(0);
    }
    waitpid(child, &result, 0);
    return result;
}

static void fill_it(void)
{
    put("key", "value");
}

TEST(read_only_mode)
{
    ck_assert_int_eq(in_process(fill_it), 0);
    setenv("LFUSE_CACHE", "ro", 1);
    ck_assert_int_eq(get("key", "value"), LFUSE_OK);
    put("key", "changed");
    put("more", "value");
    ck_assert_int_eq(get("key", "value"), LFUSE_OK);
    ck_assert_int_eq(files_in(dir, NULL, 0), 1);
}

TEST(read_only_mode_makes_no_folder)
{
    setenv("LFUSE_CACHE", "ro", 1);
    ck_assert_int_eq(get("key", NULL), LFUSE_NOT_READY);
    ck_assert_int_ne(access(dir, F_OK), 0);
}

TEST(read_only_folder)
{
    if (geteuid() == 0) TEST_SKIP("root writes to any folder");
    ck_assert_int_eq(in_process(fill_it), 0);
    ck_assert_int_eq(chmod(dir, 0500), 0);
    ck_assert_int_eq(get("key", "value"), LFUSE_OK);
    put("key", "changed");
    ck_assert_int_eq(get("key", "value"), LFUSE_OK);
    ck_assert_int_eq(files_in(dir, NULL, 0), 1);
}

/* The folder is removed while it is in use: nothing fails but the cache. */
TEST(folder_goes_away)
{
    put("key", "value");
    remove_folder(dir);
    ck_assert_int_eq(get("key", NULL), LFUSE_NOT_READY);
    put("key", "value");
    ck_assert_int_eq(get("key", NULL), LFUSE_NOT_READY);
}

/* ---- many at once ---- */

enum { PROCESSES = 8, KEYS = 12, ROUNDS = 150, VALUE_BYTES = 20000 };

/* The value of a key is made of its number, with a length of its writer's choice: a mixture would show. */
static void write_and_read(unsigned seed)
{
    static char value[VALUE_BYTES + 1];
    lfuse__strbuf found = LFUSE__STRBUF_INIT;
    char key[16];

    for (int round = 0; round < ROUNDS; round++) {
        int k = rand_r(&seed) % KEYS;
        snprintf(key, sizeof key, "key %d", k);
        if (rand_r(&seed) % 2) {
            memset(value, 'a' + k, VALUE_BYTES);
            lfuse__cache_write(key, strlen(key), value, 1 + (size_t)rand_r(&seed) % VALUE_BYTES);
            continue;
        }
        lfuse__strbuf_clear(&found);
        if (lfuse__cache_read(key, strlen(key), &found)) continue;
        if (!found.length) _exit(1);
        for (size_t at = 0; at < found.length; at++)
            if (found.data[at] != 'a' + k) _exit(2);
    }
    lfuse__strbuf_free(&found);
}

TEST(processes_at_once)
{
    pid_t children[PROCESSES];
    char path[PATH_MAX + 300];
    int result;

    for (int i = 0; i < PROCESSES; i++) {
        children[i] = fork();
        ck_assert_int_ge(children[i], 0);
        if (children[i]) continue;
        write_and_read((unsigned)i + 1);
        _exit(0);
    }
    for (int i = 0; i < PROCESSES; i++) {
        ck_assert_int_eq(waitpid(children[i], &result, 0), children[i]);
        ck_assert_int_eq(result, 0);
    }
    ck_assert_int_le(files_in(dir, path, sizeof path), KEYS);
    ck_assert_ptr_null(strstr(path, "tmp-"));
}

/* ---- size ---- */

TEST(bounded)
{
    enum { ENTRIES = 24, BYTES = 4 << 20 };
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    char *value = malloc(BYTES), key[16];
    uint64_t entries, bytes;

    ck_assert_ptr_nonnull(value);
    memset(value, 'v', BYTES);
    for (int i = 0; i < ENTRIES; i++) {
        snprintf(key, sizeof key, "key %d", i);
        lfuse__cache_write(key, strlen(key), value, BYTES);
    }
    free(value);
    lfuse__cache_describe(&text, &entries, &bytes);
    ck_assert_uint_le(bytes, (uint64_t)80 << 20);
    ck_assert_uint_lt(entries, ENTRIES);
    ck_assert_int_eq(get("key 0", NULL), LFUSE_NOT_READY);
    ck_assert_int_eq(get(key, NULL), LFUSE_OK);
    lfuse__strbuf_free(&text);
}

TEST(too_large_for_an_entry)
{
    size_t size = (size_t)40 << 20;
    char *value = calloc(1, size);

    ck_assert_ptr_nonnull(value);
    lfuse__cache_write("key", 3, value, size);
    free(value);
    ck_assert_int_eq(get("key", NULL), LFUSE_NOT_READY);
    ck_assert_int_eq(files_in(dir, NULL, 0), 0);
}

TEST(leftovers_are_swept)
{
    const struct timespec old[2] = { { 1000000000, 0 }, { 1000000000, 0 } };
    char stale[PATH_MAX + 64], fresh[PATH_MAX + 64];

    ck_assert_int_eq(mkdir(dir, 0700), 0);
    snprintf(stale, sizeof stale, "%s/tmp-1-2-3-0", dir);
    snprintf(fresh, sizeof fresh, "%s/tmp-1-2-4-0", dir);
    write_text(stale, "x");
    write_text(fresh, "x");
    ck_assert_int_eq(utimensat(AT_FDCWD, stale, old, 0), 0);
    put("key", "value");
    ck_assert_int_ne(access(stale, F_OK), 0);
    ck_assert_int_eq(access(fresh, F_OK), 0);
}

TEST_SUITE("cache", CK_FORK)
