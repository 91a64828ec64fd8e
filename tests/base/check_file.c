/* SPDX-License-Identifier: Apache-2.0 */
/* Files by names from outside: what is no regular file is refused at once, whatever it is asked for. */
#include "common/base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "tests/support/files.h"
#include "tests/support/main.h"

static char base[64], at[96];

static void setup(void)
{
    strcpy(base, "/tmp/lfuse-file-XXXXXX"); /* short: a socket's name is */
    ck_assert_ptr_nonnull(mkdtemp(base));
    snprintf(at, sizeof at, "%s/it", base);
}

static void teardown(void)
{
    remove_folder(base);
}

/* ---- what may have a name ---- */

static int reader = -1;

static void make_pipe(void) { ck_assert_int_eq(mkfifo(at, 0600), 0); }

/* A writer's open succeeds. */
static void make_pipe_with_reader(void)
{
    make_pipe();
    reader = open(at, O_RDONLY | O_NONBLOCK);
    ck_assert_int_ge(reader, 0);
}

static void make_folder_at(void) { ck_assert_int_eq(mkdir(at, 0700), 0); }

static void make_socket(void)
{
    struct sockaddr_un name = { .sun_family = AF_UNIX };
    const int s = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(name.sun_path, sizeof name.sun_path, "%s", at);
    ck_assert_int_ge(s, 0);
    ck_assert_int_eq(bind(s, (const struct sockaddr *)&name, sizeof name), 0);
    close(s);
}

static void link_to(const char *target) { ck_assert_int_eq(symlink(target, at), 0); }
static void link_to_nothing(void) { link_to("nothing"); }
static void link_to_device(void) { link_to("/dev/zero"); }

static void link_to_file(void)
{
    char other[96];

    snprintf(other, sizeof other, "%s/other", base);
    int file = open(other, O_WRONLY | O_CREAT, 0600);
    ck_assert_int_ge(file, 0);
    close(file);
    link_to("other");
}

static const struct {
    void (*make)(void);
    const char *path, *why; /* path NULL: `at` */
} things[] = {
    { make_pipe, NULL, "it is no regular file" },
    { make_pipe_with_reader, NULL, "it is no regular file" },
    { make_folder_at, NULL, "it is no regular file" },
    { make_socket, NULL, "it is no regular file" },
    { link_to_nothing, NULL, "it is a symbolic link" },
    { link_to_device, NULL, "it is a symbolic link" },
    { link_to_file, NULL, "it is a symbolic link" },
    { NULL, "/dev/full", "it is no regular file" },
    { NULL, "/dev/zero", "it is no regular file" },
    { NULL, "/dev/null", "it is no regular file" },
    { NULL, "/dev/tty", "" }, /* opened or not: either is no file */
    { NULL, "/dev/fd", "" },
};
static const int flags[] = { O_RDONLY, O_WRONLY, O_RDWR, O_WRONLY | O_CREAT, O_RDWR | O_CREAT };
enum { THINGS = sizeof things / sizeof *things, FLAGS = sizeof flags / sizeof *flags };

static int descriptors(void)
{
    int n = 0;

    for (int i = 0; i < 256; i++) n += fcntl(i, F_GETFD) >= 0;
    return n;
}

static void check_kept(const char *path, const struct stat *before)
{
    struct stat after;

    ck_assert_int_eq(lstat(path, &after), 0);
    ck_assert(after.st_ino == before->st_ino && after.st_mode == before->st_mode && after.st_size == before->st_size);
}

TEST_CASE("file", .setup = setup, .teardown = teardown, .limit = 10)

TEST_LOOP(what_is_no_file, 0, THINGS)
{
    const char *path = things[_i].path ? things[_i].path : at;
    struct stat before, st;

    if (things[_i].make) things[_i].make();
    ck_assert_int_eq(lstat(path, &before), 0);
    int open_ones = descriptors();
    for (int f = 0; f < FLAGS; f++) {
        const char *why = NULL;
        errno = EBADF;
        ck_assert_msg(lfuse__file_open(AT_FDCWD, path, flags[f], &st, &why) == -1, "%s, flags %d", path, flags[f]);
        ck_assert_ptr_nonnull(why);
        if (*things[_i].why) {
            ck_assert_str_eq(why, things[_i].why);
            ck_assert_int_eq(errno, 0);
        }
        check_kept(path, &before);
    }
    ck_assert_int_eq(descriptors(), open_ones);
    if (reader >= 0) close(reader);
}

TEST(files)
{
    const char *why = NULL;
    struct stat st;
    char text[16] = "";

    ck_assert_int_eq(lfuse__file_open(AT_FDCWD, at, O_RDONLY, &st, &why), -1);
    ck_assert_int_eq(errno, ENOENT);
    ck_assert_str_eq(why, strerror(ENOENT));
    int file = lfuse__file_open(AT_FDCWD, at, O_WRONLY | O_CREAT, &st, &why);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(st.st_size, 0);
    ck_assert_uint_eq(st.st_mode & 0133, 0);
    ck_assert_int_ne(fcntl(file, F_GETFD) & FD_CLOEXEC, 0);
    ck_assert(lfuse__write_all(file, "one\ntwo\n", 8));
    close(file);
    file = lfuse__file_open(AT_FDCWD, at, O_RDONLY, &st, &why);
    ck_assert_int_ge(file, 0);
    ck_assert_int_eq(st.st_size, 8);
    ck_assert(lfuse__read_all(file, text, 8));
    ck_assert_str_eq(text, "one\ntwo\n");
    ck_assert(!lfuse__read_all(file, text, 1));
    ck_assert_int_eq(errno, ENODATA);
    close(file);
}

TEST(first_lines)
{
    const char *why;
    struct stat st;
    char text[8] = "before";
    int file = lfuse__file_open(AT_FDCWD, at, O_WRONLY | O_CREAT, &st, &why);

    ck_assert_int_ge(file, 0);
    ck_assert(lfuse__file_line(at, text, sizeof text));
    ck_assert_str_eq(text, "");
    ck_assert(lfuse__write_all(file, "12.3\n4", 6));
    ck_assert(lfuse__file_line(at, text, sizeof text));
    ck_assert_str_eq(text, "12.3");
    ck_assert(lfuse__file_line(at, text, 3));
    ck_assert_str_eq(text, "12");
    close(file);
    ck_assert(!lfuse__file_line("/dev/zero", text, sizeof text));
    unlink(at);
    make_pipe();
    ck_assert(!lfuse__file_line(at, text, sizeof text));
    ck_assert_str_eq(text, "12");
}

/* A folder is asked for as a folder: what else has the name is refused before it is opened. */
TEST(folders)
{
    make_pipe();
    ck_assert_int_eq(lfuse__folder_open(at, true), -1);
    ck_assert_int_eq(errno, ENOTDIR);
    unlink(at);
    ck_assert_int_eq(symlink(base, at), 0);
    ck_assert_int_eq(lfuse__folder_open(at, false), -1);
    int folder = lfuse__folder_open(at, true);
    ck_assert_int_ge(folder, 0);
    close(folder);
}

TEST(files_in_folders)
{
    char path[128];
    int folder;

    ck_assert_str_eq(lfuse__file_name("/a/b/file"), "file");
    ck_assert_str_eq(lfuse__file_name("file"), "file");
    ck_assert_str_eq(lfuse__file_name("/file"), "file");
    ck_assert_str_eq(lfuse__file_name("a/"), "");
    ck_assert_str_eq(lfuse__file_name(""), "");
    snprintf(path, sizeof path, "%s/none/file", base);
    ck_assert_int_eq(lfuse__folder_of(path), -1);
    ck_assert_int_eq(errno, ENOENT);
    write_text(at, "it");
    folder = lfuse__folder_of(at);
    ck_assert_int_ge(folder, 0);
    ck_assert_int_eq(faccessat(folder, "it", F_OK, 0), 0);
    close(folder);
    folder = lfuse__folder_of("/file");
    ck_assert_int_ge(folder, 0);
    ck_assert_int_eq(faccessat(folder, "tmp", F_OK, 0), 0);
    close(folder);
    folder = lfuse__folder_of("file");
    ck_assert_int_ge(folder, 0);
    close(folder);
}

/* Whoever may read a temporary file, the user's mask has the last word. */
TEST(modes_of_temporary_files)
{
    static const mode_t asked[] = {0600, 0666}, got[] = {0600, 0640};
    const mode_t mask = umask(027);
    const int folder = lfuse__folder_of(at);
    struct stat st;

    ck_assert_int_ge(folder, 0);
    for (int i = 0; i < 2; i++) {
        char name[96];
        const int file = lfuse__temporary_file(folder, asked[i], name, sizeof name);
        ck_assert_int_ge(file, 0);
        ck_assert_int_eq(fstat(file, &st), 0);
        ck_assert_int_eq(st.st_mode & 0777, got[i]);
        close(file);
    }
    close(folder);
    umask(mask);
}

TEST(a_full_disk)
{
    const int file = open("/dev/full", O_WRONLY | O_CLOEXEC);

    if (file < 0) TEST_SKIP("no /dev/full");
    ck_assert(!lfuse__write_all(file, "text", 4));
    ck_assert_int_eq(errno, ENOSPC);
    close(file);
}

TEST_SUITE("file", CK_FORK_GETENV)
