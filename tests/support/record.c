/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For tests/same-output, which links this into programs of two revisions of the library, with the linker's --wrap for
 * the functions below. It appends a line to the file $SAME_OUTPUT for each
 *
 *     plan     that is made: its text, or why it is refused
 *     kernel   whose text has come into the folder $LFUSE_DUMP since the last plan: the name, which is a hash of it
 *     choice   that the library's log tells: what was declined, copied or divided
 *     result   that is read from a device: a hash of its bits
 *
 * with the device and the family: the words that begin the steps of the last plan, such as "gemm+rows". It needs the
 * library's public interface alone, so that it goes with every revision. Plans that ask for measured effort are made
 * by estimate unless $SAME_OUTPUT_EFFORT is set: a choice by time is not the same twice. The programs use one thread.
 */
#include <dirent.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libfuse.h"

enum { FAMILY = 128, MOST_KERNELS = 1 << 16, NAME = 64 };

static FILE *out;
static char family[FAMILY] = "none", device[sizeof((lfuse_device_info *)NULL)->name] = "none";
static char (*seen)[NAME]; /* kernels, sorted */
static int nseen;

static void line(const char *kind, const char *value)
{
    if (!out) return;
    fprintf(out, "%s\t%s\t%s\t", kind, device, family);
    for (; *value; value++) fputc(*value == '\n' ? ' ' : *value, out);
    fputc('\n', out);
    fflush(out);
}

static void note_device(lfuse_device *dev)
{
    lfuse_device_info info;

    if (dev && !lfuse_device_get_info(dev, &info)) snprintf(device, sizeof device, "%s", info.name);
}

/* ---- families ---- */

static bool has_word(const char *word, size_t length)
{
    const char *at = family;

    for (; *at; at += strcspn(at, "+"), at += *at == '+')
        if (strcspn(at, "+") == length && !strncmp(at, word, length)) return true;
    return false;
}

/* The words behind brackets that are in no other bracket. */
static void note_family(const char *text)
{
    size_t used = 0;
    int depth = 0;

    *family = '\0';
    for (; *text; text++) {
        if (*text == ')') depth--;
        if (*text != '(' || depth++) continue;
        size_t length = strcspn(text + 1, " ()");
        if (has_word(text + 1, length) || used + length + 2 > sizeof family) continue;
        used += (size_t)snprintf(family + used, sizeof family - used, "%s%.*s", used ? "+" : "", (int)length, text + 1);
    }
}

/* ---- kernels ---- */

static int by_name(const void *a, const void *b)
{
    return strcmp(a, b);
}

static void note_kernels(void)
{
    const char *path = getenv("LFUSE_DUMP");
    DIR *folder = out && path ? opendir(path) : NULL;
    const int before = nseen;
    struct dirent *entry;

    if (!folder) return;
    if (!seen) seen = calloc(MOST_KERNELS, sizeof *seen);
    while (seen && nseen < MOST_KERNELS && (entry = readdir(folder))) {
        if (*entry->d_name == '.' || strlen(entry->d_name) >= NAME) continue;
        if (before && bsearch(entry->d_name, seen, (size_t)before, sizeof *seen, by_name)) continue;
        memcpy(seen[nseen++], entry->d_name, strlen(entry->d_name) + 1);
    }
    closedir(folder);
    qsort(seen[before], (size_t)(nseen - before), sizeof *seen, by_name);
    for (int i = before; i < nseen; i++) line("kernel", seen[i]);
    qsort(seen, (size_t)nseen, sizeof *seen, by_name);
}

/* ---- choices ---- */

static void listen(void *context, lfuse_log_level level, const char *message)
{
    static const char *const told[] = { " declines ", " copied first", " goes through a copy", " launches: ",
                                        " have their own: ", " wisdom names " };

    (void)context, (void)level;
    for (size_t i = 0; i < sizeof told / sizeof *told; i++)
        if (strstr(message, told[i])) line("choice", message);
}

__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("SAME_OUTPUT");

    out = path ? fopen(path, "a") : NULL;
    if (out) lfuse_log_to(listen, NULL, LFUSE_LOG_DEBUG);
}

/* ---- the wrapped functions ---- */

lfuse_status __real_lfuse_plan_create(lfuse_device *dev, const lfuse_graph *graph, const lfuse_plan_options *options,
                                      lfuse_plan **plan);
lfuse_status __wrap_lfuse_plan_create(lfuse_device *dev, const lfuse_graph *graph, const lfuse_plan_options *options,
                                      lfuse_plan **plan);
lfuse_status __real_lfuse_optimizer_create(lfuse_device *dev, const lfuse_optimizer_options *options, int count,
                                           const lfuse_group *groups, lfuse_optimizer **optimizer);
lfuse_status __wrap_lfuse_optimizer_create(lfuse_device *dev, const lfuse_optimizer_options *options, int count,
                                           const lfuse_group *groups, lfuse_optimizer **optimizer);
lfuse_status __real_lfuse_tensor_read(const lfuse_tensor *tensor, lfuse_stream *stream, void *host);
lfuse_status __wrap_lfuse_tensor_read(const lfuse_tensor *tensor, lfuse_stream *stream, void *host);

lfuse_status __wrap_lfuse_plan_create(lfuse_device *dev, const lfuse_graph *graph, const lfuse_plan_options *options,
                                      lfuse_plan **plan)
{
    lfuse_plan_options given = { 0 };

    note_kernels(); /* of what ran since the last plan */
    note_device(dev);
    if (options) given = *options;
    if (!getenv("SAME_OUTPUT_EFFORT")) given.effort = LFUSE_EFFORT_ESTIMATE;
    snprintf(family, sizeof family, "plan");
    lfuse_status status = __real_lfuse_plan_create(dev, graph, &given, plan);
    if (!status) note_family(lfuse_plan_text(*plan));
    line("plan", status ? lfuse_last_error() : lfuse_plan_text(*plan));
    note_kernels();
    return status;
}

lfuse_status __wrap_lfuse_optimizer_create(lfuse_device *dev, const lfuse_optimizer_options *options, int count,
                                           const lfuse_group *groups, lfuse_optimizer **optimizer)
{
    note_kernels();
    note_device(dev);
    snprintf(family, sizeof family, "optimizer");
    lfuse_status status = __real_lfuse_optimizer_create(dev, options, count, groups, optimizer);
    line("plan", status ? lfuse_last_error() : lfuse_optimizer_text(*optimizer));
    note_kernels();
    return status;
}

/* FNV-1a. A device that computes nothing has no results. */
lfuse_status __wrap_lfuse_tensor_read(const lfuse_tensor *tensor, lfuse_stream *stream, void *host)
{
    const lfuse_status status = __real_lfuse_tensor_read(tensor, stream, host);
    size_t bytes = 0;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    char text[64];

    if (status || getenv("SAME_OUTPUT_NO_RESULTS")) return status;
    bytes = (size_t)lfuse_tensor_elements(tensor) * lfuse_type_size(lfuse_tensor_type(tensor));
    note_device(lfuse_tensor_device(tensor));
    for (size_t i = 0; i < bytes; i++) hash = (hash ^ ((const unsigned char *)host)[i]) * UINT64_C(0x100000001b3);
    snprintf(text, sizeof text, "%zu bytes %016" PRIx64, bytes, hash);
    line("result", text);
    return status;
}
