/* SPDX-License-Identifier: Apache-2.0 */
#include "common/device/internal.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common/base/clock.h"
#include "common/base/env.h"
#include "common/base/file.h"
#include "common/base/log.h"
#include "libfuse/version.h"

/* Raised when what is stored under a key changes its meaning. */
#define KEY_VERSION 1
/* Of the compiler's words, so much goes into the error message; all of them go to the debug log. */
#define MESSAGE_LOG_BYTES 1200

static lfuse_status make_key(lfuse_device *dev, const char *source, lfuse__strbuf *key)
{
    lfuse__strbuf_format(key, "libfuse program %d\n%s\n%s\n", KEY_VERSION, LFUSE_VERSION_STRING, dev->backend->name);
    LFUSE__TRY(lfuse__device_note(dev, dev->backend->program_key(dev->bdev, key)));
    lfuse__strbuf_add(key, "\n");
    lfuse__strbuf_add(key, source);
    return lfuse__strbuf_check(key);
}

/* NULL: the source is in the file of that path, whole; else why not. */
static const char *dump_to(const char *path, const char *source)
{
    const char *why;
    struct stat st;
    const int file = lfuse__file_open(AT_FDCWD, path, O_WRONLY | O_CREAT, &st, &why);
    bool written;

    if (file < 0) return why;
    written = !ftruncate(file, 0) && lfuse__write_all(file, source, strlen(source));
    why = strerror(errno);
    if (close(file) && written) {
        written = false;
        why = strerror(errno);
    }
    if (written) return NULL;
    unlink(path);
    return why;
}

/* LFUSE_DUMP */
static void dump(const lfuse_device *dev, const char *source)
{
    const char *folder = lfuse__env_get()->dump, *why;
    lfuse__hash hash = lfuse__hash_bytes(source, strlen(source));
    lfuse__strbuf path = LFUSE__STRBUF_INIT;

    if (!folder || !*folder) return;
    lfuse__strbuf_format(&path, "%s/%016" PRIx64 "%016" PRIx64 ".%s.k", folder, hash.high, hash.low,
                         dev->backend->name);
    why = path.failed ? "out of host memory" : dump_to(path.data, source);
    if (why) lfuse__log(LFUSE_LOG_WARN, "LFUSE_DUMP: %s: %s", path.failed ? folder : path.data, why);
    lfuse__strbuf_free(&path);
}

static void log_lines(const char *text, bool numbered)
{
    size_t length;
    int line;

    for (line = 1; *text; line++) {
        length = strcspn(text, "\n");
        if (numbered) lfuse__log(LFUSE_LOG_DEBUG, "%5d  %.*s", line, (int)length, text);
        else lfuse__log(LFUSE_LOG_DEBUG, "%.*s", (int)length, text);
        text += length;
        if (*text) text++;
    }
}

static lfuse_status compile(lfuse_device *dev, const char *source, lfuse__bprogram **program)
{
    lfuse__strbuf log = LFUSE__STRBUF_INIT;
    lfuse_status status;

    uint64_t start = lfuse__nanoseconds();

    atomic_fetch_add(&dev->compiles, 1);
    status = lfuse__device_note(dev, dev->backend->program_build(dev->bdev, source, &log, program));
    atomic_fetch_add(&dev->build_ns, lfuse__nanoseconds() - start);
    if ((status == LFUSE_ERR_COMPILE || log.length) && lfuse__log_on(LFUSE_LOG_DEBUG)) {
        log_lines(source, true);
        log_lines(log.data, false);
    }
    if (status == LFUSE_ERR_COMPILE && log.length)
        lfuse__error(status, "%s: a kernel did not compile: %.*s", dev->facts.info.name, MESSAGE_LOG_BYTES, log.data);
    lfuse__strbuf_free(&log);
    return status;
}

/* False when there is no entry, or one that the driver does not take any more. */
static bool from_cache(lfuse_device *dev, const lfuse__strbuf *key, lfuse__bprogram **program)
{
    lfuse__strbuf binary = LFUSE__STRBUF_INIT;
    lfuse__saved_error before;
    bool loaded = false;

    lfuse__error_save(&before);
    if (!lfuse__cache_read(key->data, key->length, &binary)) {
        uint64_t start = lfuse__nanoseconds();
        loaded = !lfuse__device_note(dev, dev->backend->program_load(dev->bdev, binary.data, binary.length, program));
        atomic_fetch_add(&dev->build_ns, lfuse__nanoseconds() - start);
        if (!loaded)
            lfuse__log(LFUSE_LOG_DEBUG, "%s: a cached program was refused: %s", dev->facts.info.name,
                       lfuse__error_message());
    }
    lfuse__error_restore(&before);
    lfuse__strbuf_free(&binary);
    return loaded;
}

/*
 * A driver that compiles at launch is not asked for binaries: for one it compiles every kernel once more, in a form
 * that it does not launch, which doubles a cold start; what it does launch is kept by a cache of its own.
 */
static void to_cache(lfuse_device *dev, const lfuse__strbuf *key, lfuse__bprogram *program)
{
    lfuse__strbuf binary = LFUSE__STRBUF_INIT;
    lfuse__saved_error before;

    if (dev->facts.compiles_at_launch || !lfuse__cache_takes()) return;
    lfuse__error_save(&before);
    if (lfuse__device_note(dev, dev->backend->program_binary(program, &binary)) || binary.failed)
        lfuse__log(LFUSE_LOG_DEBUG, "%s: a program is not cached: %s", dev->facts.info.name, lfuse__error_message());
    else if (binary.length) lfuse__cache_write(key->data, key->length, binary.data, binary.length);
    lfuse__error_restore(&before);
    lfuse__strbuf_free(&binary);
}

lfuse_status lfuse__build(lfuse_device *dev, const char *body, lfuse__bprogram **program)
{
    lfuse__strbuf source = LFUSE__STRBUF_INIT, key = LFUSE__STRBUF_INIT;
    lfuse_status status;

    lfuse__strbuf_add(&source, dev->backend->prelude);
    lfuse__strbuf_add(&source, body);
    status = lfuse__strbuf_check(&source);
    if (!status) status = make_key(dev, source.data, &key);
    if (status) goto out;
    dump(dev, source.data);
    if (from_cache(dev, &key, program)) goto out;
    status = compile(dev, source.data, program);
    if (!status) to_cache(dev, &key, *program);
out:
    lfuse__strbuf_free(&key);
    lfuse__strbuf_free(&source);
    return status;
}
