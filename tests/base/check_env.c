/* SPDX-License-Identifier: Apache-2.0 */
/* The environment is read once, so each test is a process of its own. */
#include "common/base/env.h"

#include "tests/support/main.h"

static void clear(void)
{
    static const char *const names[] = {
        "LFUSE_DEVICE", "LFUSE_LOG", "LFUSE_CACHE", "LFUSE_CACHE_DIR", "LFUSE_DUMP", "LFUSE_FUSE", "LFUSE_EFFORT",
        "LFUSE_WISDOM", "LFUSE_PROVIDER", "LFUSE_STRASSEN", "LFUSE_PRECISION", "LFUSE_SYNC", "LFUSE_ADDRESSES",
        "LFUSE_OVERLAP", "XDG_CACHE_HOME", "HOME",
    };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
}

TEST_CASE("env")

TEST(unset_is_null)
{
    clear();
    const lfuse__env *env = lfuse__env_get();
    ck_assert_ptr_null(env->device);
    ck_assert_ptr_null(env->log);
    ck_assert_ptr_null(env->cache);
    ck_assert_ptr_null(env->cache_dir);
    ck_assert_ptr_null(env->dump);
    ck_assert(!env->sync);
    ck_assert(env->overlap);
    ck_assert_int_eq(env->addresses, LFUSE__ADDRESSES_NVIDIA);
}

TEST(read_once)
{
    clear();
    setenv("LFUSE_DEVICE", "cuda:1", 1);
    setenv("LFUSE_SYNC", "1", 1);
    ck_assert_str_eq(lfuse__env_get()->device, "cuda:1");
    setenv("LFUSE_DEVICE", "opencl:0:0", 1);
    unsetenv("LFUSE_SYNC");
    ck_assert_str_eq(lfuse__env_get()->device, "cuda:1");
    ck_assert(lfuse__env_get()->sync);
}

TEST(sync_zero_is_off)
{
    clear();
    setenv("LFUSE_SYNC", "0", 1);
    ck_assert(!lfuse__env_get()->sync);
}

TEST(sync_empty_is_off)
{
    clear();
    setenv("LFUSE_SYNC", "", 1);
    ck_assert(!lfuse__env_get()->sync);
}

TEST(overlap_zero_is_off)
{
    clear();
    setenv("LFUSE_OVERLAP", "0", 1);
    ck_assert(!lfuse__env_get()->overlap);
}

TEST(overlap_other_is_on)
{
    clear();
    setenv("LFUSE_OVERLAP", "", 1);
    ck_assert(lfuse__env_get()->overlap);
}

TEST_LOOP(words_of_addresses, 0, 4)
{
    static const struct { const char *text; lfuse__addresses_word word; } words[] = {
        { "never", LFUSE__ADDRESSES_NEVER }, { "all", LFUSE__ADDRESSES_ALL }, { "nvidia", LFUSE__ADDRESSES_NVIDIA },
        { "0", LFUSE__ADDRESSES_NVIDIA },
    };

    clear();
    setenv("LFUSE_ADDRESSES", words[_i].text, 1);
    ck_assert_int_eq(lfuse__env_get()->addresses, words[_i].word);
}

TEST(cache_dir_given)
{
    clear();
    setenv("LFUSE_CACHE_DIR", "/given", 1);
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    setenv("HOME", "/home/me", 1);
    ck_assert_str_eq(lfuse__env_get()->cache_dir, "/given");
}

TEST(cache_dir_xdg)
{
    clear();
    setenv("XDG_CACHE_HOME", "/xdg", 1);
    setenv("HOME", "/home/me", 1);
    ck_assert_str_eq(lfuse__env_get()->cache_dir, "/xdg/libfuse");
}

TEST(cache_dir_home)
{
    clear();
    setenv("LFUSE_CACHE_DIR", "", 1);
    setenv("XDG_CACHE_HOME", "relative/is/ignored", 1);
    setenv("HOME", "/home/me", 1);
    ck_assert_str_eq(lfuse__env_get()->cache_dir, "/home/me/.cache/libfuse");
}

/* A folder whose name has no room is passed over as a whole: a name without its end would be another folder. */
TEST_LOOP(cache_dir_too_long, 0, 4)
{
    enum { ROOM = 4096, REST = sizeof "/libfuse" - 1 };
    char base[ROOM + 1];
    const size_t length = (size_t)(ROOM - REST - 2 + _i); /* of base; with the rest: 4094 ... 4097 */

    clear();
    memset(base, 'x', sizeof base);
    base[0] = '/';
    base[length] = '\0';
    setenv("XDG_CACHE_HOME", base, 1);
    setenv("HOME", "/home/me", 1);
    if (length + REST < ROOM) {
        ck_assert_uint_eq(strlen(lfuse__env_get()->cache_dir), length + REST);
        ck_assert_str_eq(lfuse__env_get()->cache_dir + length, "/libfuse");
    } else {
        ck_assert_str_eq(lfuse__env_get()->cache_dir, "/home/me/.cache/libfuse");
    }
}

TEST(rows_list_every_variable)
{
    const char *name, *text, *value;
    int i, devices = 0;

    clear();
    setenv("LFUSE_DEVICE", "stub:0", 1);
    for (i = 0; lfuse__env_row(i, &name, &text, &value); i++) {
        ck_assert(!strncmp(name, "LFUSE_", 6));
        ck_assert_uint_gt(strlen(text), 5);
        if (strcmp(name, "LFUSE_DEVICE") != 0) {
            ck_assert_ptr_null(value);
            continue;
        }
        ck_assert_str_eq(value, "stub:0");
        devices++;
    }
    ck_assert_int_eq(i, 14);
    ck_assert_int_eq(devices, 1);
    ck_assert(!lfuse__env_row(-1, &name, &text, &value));
}

TEST_SUITE("env", CK_FORK)
