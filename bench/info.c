/* SPDX-License-Identifier: Apache-2.0 */
/* lfuse-info: what the library finds on this machine. See man/lfuse-info.1. */
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "bench/json.h"
#include "common/base/env.h"
#include "common/device/device.h"
#include "common/device/registry.h"
#include "common/tune/wisdom.h"
#include "libfuse.h"

enum { MOST_PARTS = 8 };

static const char *kind_name(lfuse_device_kind kind)
{
    return kind == LFUSE_DEVICE_GPU ? "GPU" : kind == LFUSE_DEVICE_CPU ? "CPU" : "other";
}

static const char *yes(int flag) { return flag ? "yes" : "no"; }

static void print_part(const lfuse__part *p)
{
    if (p->reason[0]) printf("    %-14s missing: %s\n", p->name, p->reason);
    else printf("    %-14s %s  %s\n", p->name, p->version, p->path);
}

static void print_backend(const lfuse__backend *b)
{
    lfuse__part parts[MOST_PARTS];
    char reason[512] = "";
    int count = 0;
    if (b->enumerate(&count, reason, sizeof reason)) printf("  %-8s failed: %s\n", b->name, lfuse_last_error());
    else if (count == 0) printf("  %-8s no device: %s\n           to get one: %s\n", b->name, reason, b->hint);
    else printf("  %-8s %d device%s\n", b->name, count, count == 1 ? "" : "s");
    int n = b->parts(parts, MOST_PARTS);
    for (int i = 0; i < n && i < MOST_PARTS; i++) print_part(&parts[i]);
}

static void print_device(const lfuse_device_info *d)
{
    printf("  %-12s %s (%s)\n", d->name, d->product, kind_name(d->kind));
    printf("    driver       %s\n", d->driver);
    printf("    compiler     %s\n", d->compiler);
    printf("    products     %s\n", d->gemm);
    printf("    memory       %.1f GiB, largest block %.1f GiB, cache %.1f MiB, local %.0f KiB\n",
           (double)d->memory_bytes / (1 << 30), (double)d->max_alloc_bytes / (1 << 30),
           (double)d->cache_bytes / (1 << 20), (double)d->local_bytes / 1024);
    printf("    limits       %u compute units, groups of %u, %u bytes of arguments\n", d->compute_units, d->max_group,
           d->max_argument_bytes);
    printf("    capabilities f64 %s, shared pointers %s, exact %s, native graphs %s, tf32 %s\n", yes(d->f64),
           d->svm_concurrent ? "yes, at any time" : yes(d->svm), yes(d->exact), yes(d->native_graph),
           yes(d->tf32));
}

/* Calls `print` for each device that no work can be done on, in the order of preference. */
static void each_unfit(void (*print)(const lfuse__facts *, int))
{
    lfuse__strbuf reasons = LFUSE__STRBUF_INIT;
    lfuse__found *list = NULL;
    int count = 0, printed = 0;
    if (!lfuse__registry_list(NULL, &list, &count, &reasons))
        for (int i = 0; i < count; i++)
            if (list[i].facts.unfit[0]) print(&list[i].facts, printed++);
    free(list);
    lfuse__strbuf_free(&reasons);
}

static void print_unfit(const lfuse__facts *f, int printed)
{
    if (!printed) printf("\ndevices that cannot be used\n");
    printf("  %-12s %s (%s)\n    driver       %s\n    why not      %s\n", f->info.name, f->info.product,
           kind_name(f->info.kind), f->info.driver, f->unfit);
}

/* How many lines apply to the device. */
static size_t count_wise(const lfuse__wisdom *w, const lfuse_device_info *d)
{
    lfuse__strbuf device = LFUSE__STRBUF_INIT;
    size_t n = 0;
    lfuse__wisdom_device(d, &device);
    for (size_t i = 0; i < w->count; i++) n += lfuse__wisdom_applies(&w->lines[i], device.data);
    lfuse__strbuf_free(&device);
    return n;
}

static void print_wisdom(int devices)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse__wisdom w = {0};
    lfuse_device_info info;

    lfuse__wisdom_survey(&w, &text);
    printf("\nwisdom\n  %s: %zu choices\n", text.data, w.count);
    for (int i = 0; i < devices && w.count; i++)
        if (!lfuse_device_describe(i, &info)) printf("    %-12s %zu apply\n", info.name, count_wise(&w, &info));
    lfuse__wisdom_clear(&w);
    lfuse__strbuf_free(&text);
}

static int print_text(void)
{
    const char *name, *text, *value;
    lfuse__strbuf cache = LFUSE__STRBUF_INIT;
    uint64_t entries, bytes;
    int count = 0, failures = 0;

    printf("libfuse %s\n\nbackends\n", lfuse_version_string());
    for (int i = 0; lfuse__registry_at(i); i++) print_backend(lfuse__registry_at(i));
    printf("\ndevices, best first\n");
    if (lfuse_device_count(&count)) failures++;
    for (int i = 0; i < count; i++) {
        lfuse_device_info info;
        if (lfuse_device_describe(i, &info)) {
            printf("  device %d: %s\n", i, lfuse_last_error());
            failures++;
        } else print_device(&info);
    }
    if (count == 0) printf("  none: %s\n", lfuse_last_error());
    each_unfit(print_unfit);
    lfuse__cache_describe(&cache, &entries, &bytes);
    printf("\nkernel cache\n  %s: %llu entries, %.1f MiB\n", cache.data, (unsigned long long)entries,
           (double)bytes / (1 << 20));
    lfuse__strbuf_free(&cache);
    print_wisdom(count);
    printf("\nenvironment\n");
    for (int i = 0; lfuse__env_row(i, &name, &text, &value); i++)
        printf("  %-16s %-12s %s\n", name, value ? value : "(unset)", text);
    return failures ? 1 : 0;
}

static void json_member(const char *key, const char *text, const char *before)
{
    printf("%s\"%s\":", before, key);
    json_string(stdout, text);
}

static void json_backend(const lfuse__backend *b)
{
    lfuse__part parts[MOST_PARTS];
    char reason[512] = "";
    int count = 0;
    lfuse_status status = b->enumerate(&count, reason, sizeof reason);
    json_member("name", b->name, "{");
    printf(",\"devices\":%d", count);
    json_member("reason", status ? lfuse_last_error() : reason, ",");
    printf(",\"parts\":[");
    int n = b->parts(parts, MOST_PARTS);
    for (int i = 0; i < n && i < MOST_PARTS; i++) {
        json_member("name", parts[i].name, i ? ",{" : "{");
        json_member("path", parts[i].path, ",");
        json_member("version", parts[i].version, ",");
        json_member("reason", parts[i].reason, ",");
        putchar('}');
    }
    printf("]}");
}

static void json_device(const lfuse_device_info *d)
{
    json_member("name", d->name, "{");
    json_member("backend", d->backend, ",");
    json_member("product", d->product, ",");
    json_member("kind", kind_name(d->kind), ",");
    json_member("driver", d->driver, ",");
    json_member("compiler", d->compiler, ",");
    json_member("gemm", d->gemm, ",");
    printf(",\"compute_units\":%u,\"max_group\":%u,\"max_argument_bytes\":%u", d->compute_units, d->max_group,
           d->max_argument_bytes);
    printf(",\"memory_bytes\":%llu,\"max_alloc_bytes\":%llu,\"local_bytes\":%llu,\"cache_bytes\":%llu",
           (unsigned long long)d->memory_bytes, (unsigned long long)d->max_alloc_bytes,
           (unsigned long long)d->local_bytes, (unsigned long long)d->cache_bytes);
    printf(",\"f64\":%s,\"svm\":%s,\"svm_concurrent\":%s,\"exact\":%s,\"native_graph\":%s,\"tf32\":%s}",
           d->f64 ? "true" : "false", d->svm ? "true" : "false", d->svm_concurrent ? "true" : "false",
           d->exact ? "true" : "false", d->native_graph ? "true" : "false",
           d->tf32 ? "true" : "false");
}

static void json_unfit(const lfuse__facts *f, int printed)
{
    json_member("name", f->info.name, printed ? ",{" : "{");
    json_member("backend", f->info.backend, ",");
    json_member("product", f->info.product, ",");
    json_member("kind", kind_name(f->info.kind), ",");
    json_member("driver", f->info.driver, ",");
    json_member("reason", f->unfit, ",");
    putchar('}');
}

static void json_wisdom(int devices)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse__wisdom w = {0};
    lfuse_device_info info;

    lfuse__wisdom_survey(&w, &text);
    json_member("file", text.data, ",\"wisdom\":{");
    printf(",\"choices\":%zu,\"apply\":{", w.count);
    for (int i = 0, printed = 0; i < devices; i++) {
        if (lfuse_device_describe(i, &info)) continue;
        if (printed++) putchar(',');
        json_string(stdout, info.name);
        printf(":%zu", count_wise(&w, &info));
    }
    fputs("}}", stdout);
    lfuse__wisdom_clear(&w);
    lfuse__strbuf_free(&text);
}

static int print_json(void)
{
    const char *name, *text, *value;
    lfuse__strbuf cache = LFUSE__STRBUF_INIT;
    uint64_t entries, bytes;
    int count = 0, failures = 0;

    json_member("version", lfuse_version_string(), "{");
    printf(",\"backends\":[");
    for (int i = 0; lfuse__registry_at(i); i++) {
        if (i) putchar(',');
        json_backend(lfuse__registry_at(i));
    }
    printf("],\"devices\":[");
    if (lfuse_device_count(&count)) failures++;
    for (int i = 0, printed = 0; i < count; i++) {
        lfuse_device_info info;
        if (lfuse_device_describe(i, &info)) {
            failures++;
            continue;
        }
        if (printed++) putchar(',');
        json_device(&info);
    }
    printf("],\"unusable\":[");
    each_unfit(json_unfit);
    lfuse__cache_describe(&cache, &entries, &bytes);
    json_member("cache", cache.data, "],");
    lfuse__strbuf_free(&cache);
    printf(",\"cache_entries\":%llu,\"cache_bytes\":%llu", (unsigned long long)entries, (unsigned long long)bytes);
    json_wisdom(count);
    printf(",\"environment\":{");
    for (int i = 0; lfuse__env_row(i, &name, &text, &value); i++) {
        if (value) json_member(name, value, i ? "," : "");
        else printf("%s\"%s\":null", i ? "," : "", name);
    }
    puts("}}");
    return failures ? 1 : 0;
}

int main(int argc, char **argv)
{
    static const struct option known[] = {{"json", no_argument, NULL, 'j'}, {"help", no_argument, NULL, 'h'},
                                          {"version", no_argument, NULL, 'v'}, {NULL, 0, NULL, 0}};
    bool json = false;
    for (int c; (c = getopt_long(argc, argv, "", known, NULL)) != -1;) {
        if (c == 'j') json = true;
        else if (c == 'v') return printf("lfuse-info (libfuse) %s\n", lfuse_version_string()) < 0;
        else {
            fputs("usage: lfuse-info [--json] [--help] [--version]\n", c == 'h' ? stdout : stderr);
            return c == 'h' ? 0 : 2;
        }
    }
    return json ? print_json() : print_text();
}
