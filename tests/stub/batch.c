/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels of many programs, compiled together: starting the compiler costs more than a small kernel does. A kernel's
 * text is what lies between the end of the kernel before it and its own end, with its name left out: equal texts are
 * compiled once. What somebody makes a kernel of waits; nothing is compiled before one of those that wait is launched.
 * What was compiled stays until the process ends.
 */
#include <ctype.h>
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "common/base/error.h"
#include "common/base/hash.h"
#include "tests/stub/internal.h"

enum { BUCKETS = 4096, WORKERS = 2, ALONE = 8 /* so many kernels are not worth a second compiler */ };

struct lfuse__stub_text {
    lfuse__stub_text *next;    /* of the bucket */
    lfuse__stub_text *waiting; /* of those to be compiled */
    bool wanted;               /* is or was among them */
    unsigned form;             /* lfuse__stub_form() that it is compiled for */
    char *text;                /* of the kernel `symbol` */
    lfuse__hash hash;
    char symbol[24];
    lfuse__stub_function *function;
    lfuse_status status; /* of its compilation */
    char message[512];
};

struct lfuse__stub_texts {
    int count;
    struct { char name[64]; lfuse__stub_text *text; } kernels[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static lfuse__stub_text *buckets[BUCKETS], *waiting;
static uint64_t texts_asked, texts_made, texts_compiled;
static double compile_seconds;

void lfuse__stub_batch_cost(uint64_t *asked, uint64_t *compiled, double *seconds)
{
    pthread_mutex_lock(&lock);
    *asked = texts_asked;
    *compiled = texts_compiled;
    *seconds = compile_seconds;
    pthread_mutex_unlock(&lock);
}

/* ---- texts ---- */

/* The text with `to` for the kernel's name, also where that is a part of another name: k1, k1_row and pack_a_k1. */
static void rename_kernel(const char *text, size_t length, const char *name, const char *to, lfuse__strbuf *out)
{
    size_t own = strlen(name), from = 0, i = 0;
    while (i < length) {
        const bool begins = !i || !isalnum((unsigned char)text[i - 1]);
        if (begins && i + own <= length && !strncmp(text + i, name, own) &&
            (i + own == length || !isalnum((unsigned char)text[i + own]))) {
            lfuse__strbuf_bytes(out, text + from, i - from);
            lfuse__strbuf_add(out, to);
            i += own;
            from = i;
        } else i++;
    }
    lfuse__strbuf_bytes(out, text + from, length - from);
}

static bool kernel_name(const char *line, char name[64])
{
    return sscanf(line, "KERNEL(%63[a-zA-Z0-9_]", name) == 1 || sscanf(line, "RESIDENT(%63[a-zA-Z0-9_]", name) == 1 ||
           sscanf(line, "KERNEL_OCCUPANCY(%63[a-zA-Z0-9_]", name) == 1;
}

/* End of the next kernel's text and its name; NULL at the end of the program. */
static const char *next_text(const char *at, char name[64])
{
    bool inside = false;
    while (*at) {
        const char *line = at, *end = strchr(at, '\n');
        at = end ? end + 1 : at + strlen(at);
        if (!inside) inside = kernel_name(line, name);
        if (inside && *line == '}') return at;
    }
    return NULL;
}

static lfuse_status intern(const char *text, size_t length, const char *name, lfuse__stub_text **found)
{
    lfuse__strbuf plain = LFUSE__STRBUF_INIT, own = LFUSE__STRBUF_INIT;
    lfuse_status status = LFUSE_ERR_MEMORY;
    rename_kernel(text, length, name, "@", &plain);
    if (plain.failed) goto err_free_texts;
    lfuse__strbuf_format(&plain, "form %u", lfuse__stub_form());
    lfuse__hash hash = lfuse__hash_bytes(plain.data, plain.length);
    lfuse__stub_text *t = buckets[hash.low % BUCKETS];
    while (t && memcmp(&t->hash, &hash, sizeof hash)) t = t->next;
    if (!t) {
        if (!(t = calloc(1, sizeof *t))) goto err_free_texts;
        snprintf(t->symbol, sizeof t->symbol, "kernel_%llu", (unsigned long long)texts_made);
        rename_kernel(text, length, name, t->symbol, &own);
        t->text = own.failed ? NULL : strdup(own.data);
        if (!t->text) {
            free(t);
            goto err_free_texts;
        }
        t->hash = hash;
        t->next = buckets[hash.low % BUCKETS];
        buckets[hash.low % BUCKETS] = t;
        t->form = lfuse__stub_form();
        texts_made++;
    }
    *found = t;
    status = LFUSE_OK;
err_free_texts:
    lfuse__strbuf_free(&own);
    lfuse__strbuf_free(&plain);
    return status ? lfuse__error(status, "stub: no memory for the text of %s", name) : LFUSE_OK;
}

lfuse_status lfuse__stub_batch_add(const char *source, lfuse__stub_texts **texts)
{
    const char *body = source + strlen(lfuse__stub_backend.prelude), *at, *end;
    lfuse_status status = LFUSE_OK;
    char name[64];
    int count = 0;
    for (at = body; (end = next_text(at, name)); at = end) count++;
    if (!count) return lfuse__error(LFUSE_ERR_COMPILE, "stub: a program without kernels");
    lfuse__stub_texts *made = calloc(1, sizeof *made + (size_t)count * sizeof made->kernels[0]);
    if (!made) return lfuse__error(LFUSE_ERR_MEMORY, "stub: no memory for %d kernels", count);
    pthread_mutex_lock(&lock);
    for (at = body; !status && (end = next_text(at, name)); at = end) {
        memcpy(made->kernels[made->count].name, name, sizeof name);
        status = intern(at, (size_t)(end - at), name, &made->kernels[made->count].text);
        made->count++;
        texts_asked++;
    }
    pthread_mutex_unlock(&lock);
    if (status) free(made);
    else *texts = made;
    return status;
}

void lfuse__stub_texts_free(lfuse__stub_texts *texts) { free(texts); }

const lfuse__stub_text *lfuse__stub_texts_want(const lfuse__stub_texts *texts, const char *name)
{
    lfuse__stub_text *t = NULL;
    for (int i = 0; i < texts->count && !t; i++)
        if (!strcmp(texts->kernels[i].name, name)) t = texts->kernels[i].text;
    pthread_mutex_lock(&lock);
    if (t && !t->wanted) {
        t->wanted = true;
        t->waiting = waiting;
        waiting = t;
        texts_compiled++;
    }
    pthread_mutex_unlock(&lock);
    return t;
}

/* ---- compiling ---- */

typedef struct job {
    lfuse__stub_folder folder;
    lfuse__stub_text *texts; /* linked by `waiting` */
    pid_t child;
    bool started;
} job;

static lfuse_status start(job *j)
{
    lfuse__strbuf source = LFUSE__STRBUF_INIT;
    LFUSE__TRY(lfuse__stub_folder_create(&j->folder));
    lfuse__strbuf_add(&source, lfuse__stub_backend.prelude);
    for (const lfuse__stub_text *t = j->texts; t; t = t->waiting) lfuse__strbuf_add(&source, t->text);
    lfuse_status status = lfuse__strbuf_check(&source);
    if (!status) status = lfuse__stub_compile_start(&j->folder, source.data, &j->child);
    lfuse__strbuf_free(&source);
    if (status) lfuse__stub_folder_remove(&j->folder);
    j->started = !status;
    return status;
}

static lfuse_status resolve(job *j)
{
    char part[40];
    void *library; /* stays */
    LFUSE__TRY(lfuse__stub_library(j->folder.object, &library));
    for (lfuse__stub_text *t = j->texts; t; t = t->waiting) {
        snprintf(part, sizeof part, "%s_part", t->symbol);
        void *symbol = dlsym(library, part);
        if (!symbol) return lfuse__error(LFUSE_ERR_COMPILE, "stub: the batch has no %s", part);
        memcpy(&t->function, &symbol, sizeof symbol);
    }
    return LFUSE_OK;
}

/* What the compiler, or the linker, says of a single kernel. */
static void blame(job *j)
{
    lfuse__strbuf log = LFUSE__STRBUF_INIT;
    lfuse__stub_text *t = j->texts;
    t->status = LFUSE_ERR_COMPILE;
    if (!lfuse__stub_read_file(j->folder.log, &log))
        snprintf(t->message, sizeof t->message, "%.*s", (int)(sizeof t->message - 1), log.data ? log.data : "");
    lfuse__strbuf_free(&log);
}

static void finish(job *j);

/* One kernel of many does not compile: each by itself, so that the others run. */
static void one_by_one(job *j)
{
    lfuse__stub_text *next;
    for (lfuse__stub_text *t = j->texts; t; t = next) {
        job own = {.texts = t};
        next = t->waiting;
        t->waiting = NULL;
        if ((t->status = start(&own)) == LFUSE_OK) finish(&own);
    }
}

static void finish(job *j)
{
    bool compiled = false;
    lfuse_status status = lfuse__stub_compile_wait(j->child, &compiled);
    if (!status && compiled) status = resolve(j);
    if (status || !compiled) {
        if (j->texts->waiting) one_by_one(j);
        else blame(j);
    }
    lfuse__stub_folder_remove(&j->folder);
}

static void compile_waiting(void)
{
    struct timespec before, after;
    job jobs[WORKERS] = {{.started = false}};
    lfuse__stub_text *left = NULL; /* for other forms */
    int count = 0, workers;
    clock_gettime(CLOCK_MONOTONIC, &before);
    for (lfuse__stub_text *t = waiting; t; t = t->waiting) count++;
    workers = count > ALONE ? WORKERS : 1;
    for (int i = 0; waiting; i++) {
        lfuse__stub_text *t = waiting;
        lfuse__stub_text **to = t->form == lfuse__stub_form() ? &jobs[i % workers].texts : &left;
        waiting = t->waiting;
        t->waiting = *to;
        *to = t;
    }
    waiting = left;
    for (int i = 0; i < workers; i++)
        if (jobs[i].texts && start(&jobs[i])) one_by_one(&jobs[i]);
    for (int i = 0; i < workers; i++)
        if (jobs[i].started) finish(&jobs[i]);
    clock_gettime(CLOCK_MONOTONIC, &after);
    compile_seconds += (double)(after.tv_sec - before.tv_sec) + 1e-9 * (double)(after.tv_nsec - before.tv_nsec);
}

lfuse_status lfuse__stub_text_function(const lfuse__stub_text *text, lfuse__stub_function **function)
{
    lfuse_status status = LFUSE_OK;
    pthread_mutex_lock(&lock);
    if (!text->function && !text->status) compile_waiting();
    if (text->function) *function = text->function;
    else status = lfuse__error(LFUSE_ERR_COMPILE, "stub: a kernel of a batch did not compile: %s", text->message);
    pthread_mutex_unlock(&lock);
    return status;
}
