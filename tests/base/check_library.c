/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/library.h"

#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/files.h"
#include "tests/support/main.h"

TEST_CASE("library")

TEST(first_that_loads)
{
    static const char *const names[] = { "libno-such-library.so.9", "libm.so.6", "libc.so.6", NULL };
    lfuse__library *library = NULL;
    double (*root)(double);

    OK(lfuse__library_open(names, NULL, &library));
    ck_assert_int_eq(lfuse__library_path(library)[0], '/');
    ck_assert_ptr_nonnull(strstr(lfuse__library_path(library), "libm"));
    *(void **)&root = lfuse__library_symbol(library, "sqrt");
    ck_assert_ptr_nonnull(root);
    ck_assert(root(9.0) == 3.0);
    ck_assert_ptr_null(lfuse__library_symbol(library, "no_such_symbol_anywhere"));
    lfuse__library_close(library);
    lfuse__library_close(NULL);
}

/* A library that nobody else has loaded is gone after it was closed. */
TEST(closed_is_unloaded)
{
    static const char *const names[] = { "libresolv.so.2", "libanl.so.1", "libutil.so.1", NULL };
    const char *one[] = { NULL, NULL };
    lfuse__library *library = NULL;

    for (int i = 0; names[i] && !library; i++) {
        one[0] = names[i];
        if (!dlopen(names[i], RTLD_NOW | RTLD_NOLOAD)) (void)lfuse__library_open(one, NULL, &library);
    }
    if (!library) TEST_SKIP("all libraries of this system that are looked for are loaded, or none is there");
    lfuse__library_close(library);
    ck_assert_ptr_null(dlopen(one[0], RTLD_NOW | RTLD_NOLOAD));
}

TEST(message_lists_attempts)
{
    static const char *const names[] = { "libno-such-library.so.9", "libno-such-library.so.8", NULL };
    static const char *const folders[] = { "relative/folder", "/no/such/folder", NULL };
    lfuse__library *library = NULL;

    ck_assert_int_eq(lfuse__library_open(names, folders, &library), LFUSE_ERR_LIBRARY);
    ck_assert_ptr_null(library);
    ck_says("libno-such-library.so.9");
    ck_says("libno-such-library.so.8");
    ck_says("/no/such/folder/libno-such-library.so.8");
    ck_assert_ptr_null(strstr(lfuse_last_error(), "relative/folder"));
}

static void limit_to(int resource, rlim_t value, rlim_t *before)
{
    struct rlimit limit;

    ck_assert_int_eq(getrlimit(resource, &limit), 0);
    if (before) *before = limit.rlim_cur;
    limit.rlim_cur = value;
    ck_assert_int_eq(setrlimit(resource, &limit), 0);
}

/* What runs short is neither a missing library nor a reason to take another one that comes behind it. */
TEST_LOOP(shortages, 0, 2)
{
    static const char *const names[] = { "libanl.so.1", "libm.so.6", NULL }; /* the first is not loaded yet */
    static const char *const missing[] = { "libno-such-library.so.9", NULL };
    const int resource = _i ? RLIMIT_AS : RLIMIT_NOFILE;
    lfuse__library *library = NULL;
    rlim_t before;

#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    if (_i) TEST_SKIP("sanitizers need the address space");
#endif
    limit_to(resource, _i ? 4096 : 0, &before);
    lfuse_status status = lfuse__library_open(names, NULL, &library);
    lfuse_status absent = lfuse__library_open(missing, NULL, &library);
    limit_to(resource, before, NULL);
    ck_assert_msg(status == LFUSE_ERR_MEMORY, "%s: %s", lfuse_status_name(status), lfuse_last_error());
    ck_assert_ptr_null(library);
    /* Without descriptors nobody can say what is there. */
    ck_assert_int_eq(absent, _i ? LFUSE_ERR_LIBRARY : LFUSE_ERR_MEMORY);
    OK(lfuse__library_open(names, NULL, &library));
    if (!strstr(lfuse__library_path(library), "libanl")) TEST_SKIP("no %s", names[0]);
    lfuse__library_close(library);
}

/* The dynamic linker would wait for somebody to write to the pipe. */
TEST(a_pipe_in_the_folder)
{
    static const char *const names[] = { "libpipe.so.1", NULL };
    char folder[256], path[300];
    const char *const folders[] = { folder, NULL };
    lfuse__library *library = NULL;

    make_folder("library", folder, sizeof folder);
    snprintf(path, sizeof path, "%s/libpipe.so.1", folder);
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    lfuse_status status = lfuse__library_open(names, folders, &library);
    remove_folder(folder);
    ck_assert_int_eq(status, LFUSE_ERR_LIBRARY);
    ck_says("it is no regular file");
    ck_says(path);
}

TEST_SUITE("library", CK_FORK_GETENV)
