/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/files.h"

#include <dirent.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/support/check.h"

void make_folder(const char *name, char *path, size_t size)
{
    const char *where = getenv("TMPDIR");

    snprintf(path, size, "%s/lfuse-%s-XXXXXX", where && *where == '/' ? where : "/tmp", name);
    ck_assert_ptr_nonnull(mkdtemp(path));
}

/* The next path in the folder, false behind the last one. */
static bool next(DIR *open_dir, const char *folder, char *path, size_t size)
{
    struct dirent *d;

    while (open_dir && (d = readdir(open_dir))) {
        if (!strcmp(d->d_name, ".") || !strcmp(d->d_name, "..")) continue;
        snprintf(path, size, "%s/%s", folder, d->d_name);
        return true;
    }
    if (open_dir) closedir(open_dir);
    return false;
}

void remove_folder(const char *path)
{
    char inner[PATH_MAX + 300];

    chmod(path, 0700);
    DIR *open_dir = opendir(path);
    while (next(open_dir, path, inner, sizeof inner))
        if (unlink(inner)) remove_folder(inner);
    rmdir(path);
}

int files_in(const char *folder, char *path, size_t size)
{
    char found[PATH_MAX + 300];
    DIR *open_dir = opendir(folder);
    int n = 0;

    for (; next(open_dir, folder, found, sizeof found); n++)
        if (path) snprintf(path, size, "%s", found);
    return n;
}

size_t read_file(const char *path, void *bytes, size_t size)
{
    FILE *file = fopen(path, "rb");

    ck_assert_msg(file != NULL, "no file %s", path);
    size_t n = fread(bytes, 1, size - 1, file);
    fclose(file);
    ((char *)bytes)[n] = '\0';
    return n;
}

void write_file(const char *path, const void *bytes, size_t size)
{
    FILE *file = fopen(path, "wb");

    ck_assert_msg(file != NULL, "no file %s", path);
    ck_assert_uint_eq(fwrite(bytes, 1, size, file), size);
    ck_assert_int_eq(fclose(file), 0);
    chmod(path, 0600);
}

void write_text(const char *path, const char *text)
{
    write_file(path, text, strlen(text));
}
