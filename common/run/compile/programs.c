/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels into programs. Where the device's compiler works for several threads at a time they become several programs,
 * compiled side by side: each has its share of the compiler's fixed cost (25 ms of NVRTC 13, of which a part is done
 * for one thread at a time), so that short kernels stay together. The kernel that writes tables is the same for all
 * plans and has a program for itself, which the second plan finds made.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "common/base/arena.h"
#include "common/base/error.h"
#include "common/run/compile/bundle.h"
#include "common/run/compile/entry.h"

enum { PROGRAM_TEXT = 7000 /* characters from which on a program takes no more kernels */, MOST_PROGRAMS = 16,
       PROGRAMS = MOST_PROGRAMS + 1 /* and the one that writes tables */ };

typedef struct job {
    lfuse_device *dev;
    lfuse__strbuf text;
    pthread_t thread;
    bool started;
    lfuse__program *made; /* one reference */
    lfuse_status status;
    lfuse__saved_error error; /* of its thread, where there is one */
} job;

static lfuse_status emit(lfuse__strbuf *out, const lfuse__compiled *c, const lfuse__facts *facts)
{
    if (c->bundle) return lfuse__bundle_emit(out, c->name, c->bundle, facts);
    return lfuse__family_of(&c->k)->emit(out, c->name, &c->k, facts);
}

/* Devices that compile at the first launch of a kernel (PoCL) do so now: a launch that does nothing. */
static lfuse_status warm_up(lfuse_device *dev, const lfuse__compiled *c)
{
    static const uint64_t nothing[4096]; /* more than any argument block has */
    lfuse__bmem *none[LFUSE__MAX_BUFFERS] = { NULL };
    lfuse__launch_args args = { 0 };
    lfuse__kernel *kernel;
    lfuse_stream *s;
    lfuse_status status;

    LFUSE__TRY(c->bundle ? lfuse__bundle_warm_up(c->bundle, lfuse__device_facts(dev), &args)
                         : lfuse__kernel_warm_up(&c->k, lfuse__device_facts(dev), &args));
    args.words = nothing;
    args.buffers = none;
    LFUSE__TRY(lfuse__device_stream(dev, &s));
    LFUSE__TRY(lfuse__kernel_create(c->program, c->name, &kernel));
    lfuse__device_lock_sync(dev);
    status = lfuse__build_by_launch(s, kernel, &args);
    lfuse__device_unlock_sync(dev);
    lfuse__kernel_destroy(kernel);
    return status;
}

/* ---- several at a time ---- */

/* Returns how many programs there may be but that of tables; 1: one for all kernels. */
static int most_programs(const lfuse__facts *facts)
{
    const long cpus = facts->concurrent_builds ? sysconf(_SC_NPROCESSORS_ONLN) : 1;

    return cpus < 1 ? 1 : cpus > MOST_PROGRAMS ? MOST_PROGRAMS : (int)cpus;
}

/* The shortest text but that of tables, -1: there is none. */
static int shortest(const job *all, int count, int table)
{
    int i, least = -1;

    for (i = 0; i < count; i++)
        if (i != table && (least < 0 || all[i].text.length < all[least].text.length)) least = i;
    return least;
}

/* Texts, and which of them each kernel is in. */
static lfuse_status write_texts(const lfuse__facts *facts, lfuse__compiled *first, job *all, int *place, int *count)
{
    const int most = most_programs(facts);
    int n = 0, table = -1, i = 0;
    lfuse__compiled *c;

    for (c = first; c; c = c->next, i++) {
        if (c->k.family == LFUSE__FAMILY_TABLE && most > 1) {
            strcpy(c->name, "table");
            if (table < 0) table = n++;
            place[i] = table;
        } else {
            place[i] = shortest(all, n, table);
            if (place[i] < 0 || (all[place[i]].text.length >= PROGRAM_TEXT && n - (table >= 0) < most)) place[i] = n++;
        }
        LFUSE__TRY(emit(&all[place[i]].text, c, facts));
        LFUSE__TRY(lfuse__strbuf_check(&all[place[i]].text));
    }
    *count = n;
    return LFUSE_OK;
}

static void *build(void *argument)
{
    job *j = argument;

    j->status = lfuse__program_get(j->dev, j->text.data, &j->made);
    if (j->status) lfuse__error_save(&j->error);
    return NULL;
}

/* Signals are for the program's own threads. The first error is the caller's. */
static lfuse_status build_all(job *all, int count)
{
    sigset_t every, before;
    int i;

    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    for (i = 1; i < count; i++) all[i].started = !pthread_create(&all[i].thread, NULL, build, &all[i]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    for (i = 0; i < count; i++)
        if (!all[i].started) build(&all[i]);
    for (i = 1; i < count; i++)
        if (all[i].started) pthread_join(all[i].thread, NULL);
    for (i = 0; i < count; i++) {
        if (!all[i].status) continue;
        lfuse__error_restore(&all[i].error);
        return all[i].status;
    }
    return LFUSE_OK;
}

static lfuse_status build_list(lfuse_device *dev, lfuse__compiled *first, job *all, int *place)
{
    const lfuse__facts *facts = lfuse__device_facts(dev);
    lfuse_status status;
    lfuse__compiled *c;
    int i, count = 0;

    for (i = 0; i < PROGRAMS; i++) all[i] = (job){ .dev = dev, .text = LFUSE__STRBUF_INIT };
    status = write_texts(facts, first, all, place, &count);
    if (!status) status = build_all(all, count);
    for (c = first, i = 0; c && !status; c = c->next, i++) {
        c->program = all[place[i]].made;
        lfuse__program_retain(c->program);
    }
    for (c = first; c && !status && facts->compiles_at_launch; c = c->next) status = warm_up(dev, c);
    for (i = 0; i < PROGRAMS; i++) {
        lfuse__program_release(all[i].made);
        lfuse__strbuf_free(&all[i].text);
    }
    return status;
}

lfuse_status lfuse__compiled_build(lfuse_device *dev, lfuse__compiled *first)
{
    lfuse__arena memory = { NULL };
    job *all = lfuse__arena_array(&memory, PROGRAMS, sizeof *all);
    lfuse__compiled *c;
    lfuse_status status;
    size_t count = 0;
    int *place;

    for (c = first; c; c = c->next) count++;
    place = lfuse__arena_array(&memory, count, sizeof *place);
    status = all && place ? build_list(dev, first, all, place) : LFUSE_ERR_MEMORY;
    lfuse__arena_free(&memory);
    return status;
}
