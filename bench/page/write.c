/* SPDX-License-Identifier: Apache-2.0 */
/* From files to the page in its folder. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/page/html.h"
#include "bench/page/page.h"
#include "common/base/error.h"
#include "common/base/file.h"

static const char page[] = "index.html";

static lfuse_status io_error(const char *folder)
{
    return lfuse__error(LFUSE_ERR_IO, "%s/%s: %s", folder, page, strerror(errno));
}

static lfuse_status fill(int file, const lfuse__strbuf *text)
{
    return lfuse__write_all(file, text->data, text->length) && fsync(file) == 0 ? LFUSE_OK : LFUSE_ERR_IO;
}

static lfuse_status put(int folder, const char *path, const lfuse__strbuf *text)
{
    char name[64];
    /* Readable by whom the user's mask lets read it, unlike other temporary files. */
    const int file = lfuse__temporary_file(folder, 0666, name, sizeof name);
    if (file < 0) return io_error(path);
    lfuse_status status = fill(file, text) ? io_error(path) : LFUSE_OK;
    if (close(file) && !status) status = io_error(path);
    if (!status && renameat(folder, name, folder, page)) status = io_error(path);
    if (status) unlinkat(folder, name, 0);
    return status;
}

static lfuse_status put_in_folder(const char *path, const lfuse__strbuf *text)
{
    if (mkdir(path, 0777) && errno != EEXIST) return lfuse__error(LFUSE_ERR_IO, "%s: %s", path, strerror(errno));
    const int folder = lfuse__folder_open(path, true);
    if (folder < 0) return lfuse__error(LFUSE_ERR_IO, "%s: %s", path, strerror(errno));
    lfuse_status status = put(folder, path, text);
    close(folder);
    return status;
}

lfuse_status bench_page_write(const char *folder, int nfiles, char *const *files)
{
    bench_records r = {0};
    lfuse__strbuf text = LFUSE__STRBUF_INIT, lines = LFUSE__STRBUF_INIT;
    lfuse_status status = LFUSE_OK;
    for (int i = 0; i < nfiles && !status; i++) status = bench_records_read(&r, files[i]);
    if (!status) {
        bench_records_label(&r);
        bench_records_sort(&r);
        status = bench_page_text(&text, &r);
    }
    if (!status) {
        bench_html_wrap(&lines, text.data);
        status = lfuse__strbuf_check(&lines);
    }
    if (!status) status = put_in_folder(folder, &lines);
    lfuse__strbuf_free(&lines);
    lfuse__strbuf_free(&text);
    bench_records_free(&r);
    return status;
}
