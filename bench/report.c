/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "bench/bench.h"
#include "bench/json.h"

static void number(FILE *json, const char *key, double value)
{
    if (value < 0 || value != value) fprintf(json, ",\"%s\":null", key);
    else fprintf(json, ",\"%s\":%.6g", key, value);
}

void bench_write_machine(const bench_device *d, FILE *json)
{
    const bench_machine *m = &d->machine;
    fputs("{\"type\":\"machine\"", json);
    json_text(json, "device", d->info.name);
    json_text(json, "backend", d->info.backend);
    json_text(json, "product", d->info.product);
    json_text(json, "driver", d->info.driver);
    json_text(json, "compiler", d->info.compiler);
    json_text(json, "gemm", d->info.gemm);
    json_text(json, "library", lfuse_version_string());
    number(json, "empty_us", m->empty_us);
    number(json, "copy_gbs", m->copy_gbs);
    number(json, "gemm_gflops", m->gemm_gflops > 0 ? m->gemm_gflops : -1);
    number(json, "timer_us", m->timer_us);
    fputs("}\n", json);
}

void bench_report_machine(const bench_device *d, FILE *json)
{
    const bench_machine *m = &d->machine;
    printf("\n%s  %s\n  %s\n", d->info.name, d->info.product, d->info.driver);
    printf("  copy %.0f GB/s, f32 product %.0f GFLOP/s, empty launch and synchronisation %.1f us\n\n", m->copy_gbs,
           m->gemm_gflops, m->empty_us);
    printf("  %-28s %-12s %10s %10s %10s %10s %10s %9s %8s %9s %9s  %s\n", "problem", "variant", "wall us", "gpu us",
           "cold us", "sustained", "enqueue us", "floor us", "launches", "GFLOP/s", "err/tol", "");
    if (json) bench_write_machine(d, json);
}

static void figure(double value)
{
    if (value < 0) printf(" %10s", "-");
    else printf(" %10.*f", value < 100 ? 2 : 1, value);
}

static void row(const bench_case *c, const bench_variant *v, const bench_figures *f)
{
    const double us = f->cold.us > 0 ? f->cold.us : f->gpu.us;
    printf("  %-28s %-12s", c->problem, v->name);
    figure(f->wall.us);
    figure(f->gpu.us);
    figure(f->cold.us);
    figure(f->sustained.us);
    figure(f->enqueue.us);
    printf(" %9.2f %8llu", f->floor_us, f->launches);
    if (v->flops > 0 && us > 0) printf(" %9.*f", us * 1e5 > v->flops ? 1 : 0, 1e-3 * v->flops / us);
    else printf(" %9s", "-");
    if (v->tol > 0) printf(" %9.2f", v->max_err / v->tol);
    else printf(" %9s", "-");
    printf("  %s%s%s%s\n", v->ok ? "ok" : "WRONG", v->note ? " (" : "", v->note ? v->note : "", v->note ? ")" : "");
}

/* "wall_us", "wall_us_20" and "wall_us_80". */
static void spread(FILE *json, const char *key, const bench_time *t)
{
    char text[32];
    number(json, key, t->us);
    snprintf(text, sizeof text, "%s_20", key);
    number(json, text, t->low);
    snprintf(text, sizeof text, "%s_80", key);
    number(json, text, t->high);
}

static void line(const bench_device *d, const bench_case *c, const bench_variant *v, const bench_figures *f, FILE *json)
{
    fputs("{\"type\":\"result\"", json);
    json_text(json, "case", c->problem);
    json_text(json, "variant", v->name);
    json_text(json, "device", d->info.name);
    json_text(json, "backend", d->info.backend);
    spread(json, "wall_us", &f->wall);
    spread(json, "gpu_us", &f->gpu);
    spread(json, "cold_us", &f->cold);
    spread(json, "sustained_us", &f->sustained);
    spread(json, "enqueue_us", &f->enqueue);
    number(json, "first_us", v->first_us);
    number(json, "floor_us", f->floor_us);
    fprintf(json, ",\"launches\":%llu", f->launches);
    number(json, "bytes", v->bytes);
    number(json, "flops", v->flops);
    number(json, "scratch", v->scratch);
    number(json, "max_err", v->max_err);
    number(json, "tol", v->tol);
    if (v->note) json_text(json, "note", v->note);
    fprintf(json, ",\"ok\":%s}\n", v->ok ? "true" : "false");
}

static void left_out(const bench_device *d, const bench_case *c, const bench_left_out *l, FILE *json)
{
    printf("  %-28s %-12s left out: %s\n", c->problem, l->name, l->reason);
    if (!json) return;
    fputs("{\"type\":\"skipped\"", json);
    json_text(json, "case", c->problem);
    json_text(json, "variant", l->name);
    json_text(json, "device", d->info.name);
    json_text(json, "reason", l->reason);
    fputs("}\n", json);
}

void bench_report_case(const bench_device *d, const bench_case *c, const char *only, const bench_figures *figures,
                       FILE *json)
{
    for (int i = 0; i < c->nvariants; i++) {
        const bench_variant *v = &c->variants[i];
        if (only && strcmp(only, v->name)) continue;
        row(c, v, &figures[i]);
        if (json) line(d, c, v, &figures[i], json);
    }
    for (int i = 0; i < c->nleft; i++)
        if (!only || !strcmp(only, c->left[i].name)) left_out(d, c, &c->left[i], json);
    fflush(stdout);
    if (json) fflush(json);
}

void bench_report_skipped(const bench_device *d, const char *problem, const char *reason, FILE *json)
{
    printf("  %-28s skipped: %s\n", problem, reason);
    if (!json) return;
    fputs("{\"type\":\"skipped\"", json);
    json_text(json, "case", problem);
    json_text(json, "device", d->info.name);
    json_text(json, "reason", reason);
    fputs("}\n", json);
}
