/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first:<problem>: the first result of a new process. Each figure is of a process that lfuse-bench starts for it:
 * "cold" with the caches of the library and of the drivers in an empty folder, "disk" with what such a process has left
 * there. Medians of three, with --quick of one.
 */
#include <errno.h>
#include <ftw.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/first.h"
#include "bench/json.h"
#include "bench/timer.h"
#include "common/base/error.h"

enum { TURNS = 3, LINE = 2048, FOLDER = 256 };
extern char **environ;

/* ---- the process ---- */

int bench_first_process(const char *device, const char *problem)
{
    bench_first_figures f = {0};
    bench_first p;
    lfuse_status status = bench_first_parse(problem, &p);
    if (!status) status = bench_first_run(device, &p, &f);
    if (status) printf("status %d %s\n", (int)status, lfuse_last_error());
    else printf("first %.1f %.1f %.1f %llu %d\n", f.open_us, f.first_us, f.build_us, f.compiles, f.ok);
    return status != LFUSE_OK;
}

/* What the process finds of its surroundings: caches in `folder` alone. */
static char **surroundings(const char *folder, char texts[4][FOLDER + 64])
{
    static const char *const ours[] = {"LFUSE_CACHE=", "LFUSE_CACHE_DIR=", "CUDA_CACHE_PATH=", "CUDA_CACHE_DISABLE=",
                                       "POCL_CACHE_DIR="};
    size_t count = 0, kept = 0;
    while (environ[count]) count++;
    char **all = malloc((count + 5) * sizeof *all);
    for (size_t i = 0; all && i < count; i++) {
        bool mine = false;
        for (size_t k = 0; k < sizeof ours / sizeof *ours; k++)
            mine = mine || !strncmp(environ[i], ours[k], strlen(ours[k]));
        if (!mine) all[kept++] = environ[i];
    }
    snprintf(texts[0], sizeof texts[0], "LFUSE_CACHE=rw");
    snprintf(texts[1], sizeof texts[1], "LFUSE_CACHE_DIR=%s/libfuse", folder);
    snprintf(texts[2], sizeof texts[2], "CUDA_CACHE_PATH=%s/cuda", folder);
    snprintf(texts[3], sizeof texts[3], "POCL_CACHE_DIR=%s/pocl", folder);
    for (int i = 0; all && i < 4; i++) all[kept++] = texts[i];
    if (all) all[kept] = NULL;
    return all;
}

static lfuse_status start(const bench_device *d, const char *problem, const char *folder, int out, pid_t *pid)
{
    char self[4096], texts[4][FOLDER + 64];
    const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    char *arguments[] = {"lfuse-bench", "--first", "--device", (char *)d->info.name, "--case", (char *)problem, NULL};
    posix_spawn_file_actions_t actions;
    if (length < 0) return lfuse__error(LFUSE_ERR_UNSUPPORTED, "lfuse-bench does not find itself: /proc/self/exe: %m");
    self[length] = '\0';
    char **environment = surroundings(folder, texts);
    if (!environment) return lfuse__error(LFUSE_ERR_MEMORY, "out of memory for a process");
    int error = posix_spawn_file_actions_init(&actions);
    if (!error) {
        error = posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
        if (!error) error = posix_spawn(pid, self, &actions, NULL, arguments, environment);
        posix_spawn_file_actions_destroy(&actions);
    }
    free(environment);
    return error ? lfuse__error(LFUSE_ERR_IO, "%s: no process: %s", self, strerror(error)) : LFUSE_OK;
}

static lfuse_status understand(const char *line, int exit_status, bench_first_figures *f)
{
    int status = 0, ok = 0, at = 0;
    if (sscanf(line, "first %lf %lf %lf %llu %d", &f->open_us, &f->first_us, &f->build_us, &f->compiles, &ok) == 5) {
        f->ok = ok;
        return LFUSE_OK;
    }
    if (sscanf(line, "status %d %n", &status, &at) == 1 && status > 0 && at > 0)
        return lfuse__error((lfuse_status)status, "%.*s", (int)strcspn(line + at, "\n"), line + at);
    return lfuse__error(LFUSE_ERR_DEVICE, "the process of a first result ended with status %d and said \"%.100s\"",
                        exit_status, line);
}

/* One process, with its caches in `folder`. */
static lfuse_status once(const bench_device *d, const char *problem, const char *folder, bench_first_figures *f)
{
    char line[LINE] = "";
    int ends[2], exit_status = 0;
    size_t length = 0;
    pid_t pid = 0;
    if (pipe(ends)) return lfuse__error(LFUSE_ERR_IO, "no pipe: %m");
    lfuse_status status = start(d, problem, folder, ends[1], &pid);
    close(ends[1]);
    for (ssize_t n = 1; !status && n > 0 && length < sizeof line - 1; length += n > 0 ? (size_t)n : 0)
        n = read(ends[0], line + length, sizeof line - 1 - length);
    close(ends[0]);
    while (!status && waitpid(pid, &exit_status, 0) < 0 && errno == EINTR) continue;
    return status ? status : understand(line, exit_status, f);
}

/* ---- folders ---- */

static lfuse_status make_folder(char folder[FOLDER])
{
    const char *where = getenv("TMPDIR");
    snprintf(folder, FOLDER, "%.200s/lfuse-first-XXXXXX", where && *where ? where : "/tmp");
    return mkdtemp(folder) ? LFUSE_OK : lfuse__error(LFUSE_ERR_IO, "%s: %m", folder);
}

static int remove_one(const char *path, const struct stat *s, int kind, struct FTW *at)
{
    (void)s, (void)kind, (void)at;
    return remove(path);
}

/* ---- the suite ---- */

enum { COLD, DISK, VARIANTS };
static const char *const names[VARIANTS] = {"cold", "disk"};

static lfuse_status turn(const bench_device *d, const char *problem, bench_first_figures f[VARIANTS])
{
    char folder[FOLDER];
    LFUSE__TRY(make_folder(folder));
    lfuse_status status = once(d, problem, folder, &f[COLD]);
    if (!status) status = once(d, problem, folder, &f[DISK]);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
    return status;
}

static void number(FILE *json, const char *key, double value)
{
    fprintf(json, ",\"%s\":%.6g", key, value);
}

static void report(const bench_device *d, const char *problem, const char *variant, const bench_first_figures *f,
                   FILE *json)
{
    printf("  %-28s %-12s first %9.1f ms, of it compiling and loading %9.1f ms (%llu programs); device %7.1f ms  %s\n",
           problem, variant, 1e-3 * f->first_us, 1e-3 * f->build_us, f->compiles, 1e-3 * f->open_us,
           f->ok ? "ok" : "WRONG");
    if (!json) return;
    fputs("{\"type\":\"first\"", json);
    json_text(json, "case", problem);
    json_text(json, "variant", variant);
    json_text(json, "device", d->info.name);
    json_text(json, "backend", d->info.backend);
    number(json, "first_us", f->first_us);
    number(json, "build_us", f->build_us);
    number(json, "open_us", f->open_us);
    fprintf(json, ",\"compiles\":%llu,\"ok\":%s}\n", f->compiles, f->ok ? "true" : "false");
    fflush(json);
}

/* Of each figure by itself; what was compiled is the same in all turns. */
static bench_first_figures middle(bench_first_figures all[][VARIANTS], int turns, int variant)
{
    double open[TURNS], first[TURNS], build[TURNS];
    bench_first_figures f = all[0][variant];
    for (int i = 0; i < turns; i++) {
        open[i] = all[i][variant].open_us, first[i] = all[i][variant].first_us, build[i] = all[i][variant].build_us;
        f.ok = f.ok && all[i][variant].ok;
    }
    f.open_us = bench_quantile(open, turns, 0.5);
    f.first_us = bench_quantile(first, turns, 0.5);
    f.build_us = bench_quantile(build, turns, 0.5);
    return f;
}

static lfuse_status perform(bench_device *d, const char *problem, const char *only, FILE *json, int *good, int *wrong)
{
    bench_first_figures all[TURNS][VARIANTS];
    const int turns = d->quick ? 1 : TURNS;
    bench_first p;
    LFUSE__TRY(bench_first_parse(problem, &p));
    for (int i = 0; i < turns; i++) LFUSE__TRY(turn(d, problem, all[i]));
    for (int v = 0; v < VARIANTS; v++) {
        const bench_first_figures f = middle(all, turns, v);
        if (only && strcmp(only, names[v])) continue;
        report(d, problem, names[v], &f, json);
        ++*(f.ok ? good : wrong);
    }
    fflush(stdout);
    return LFUSE_OK;
}

static const char *const problems[] = {"first:pointwise:4096", "first:gemm:64x64x64", "first:gemm:2048x2048x2048",
                                       "first:dense:L8:H512:B64", "first:batch:L8:H512:B64", "first:train:L8:H512:B64",
                                       NULL};
static const char *const quick[] = {"first:pointwise:4096", "first:gemm:64x64x64", NULL};
const bench_suite bench_suite_first = {.name = "first", .problems = problems, .quick = quick, .perform = perform};
