/* SPDX-License-Identifier: Apache-2.0 */
/* Mistakes: the graph keeps the first one, and which call of a builder made it. */
#include "common/graph/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"

static const char *ending(int32_t n)
{
    static const char *const endings[] = {"th", "st", "nd", "rd"};

    return n % 10 < 4 && n / 10 % 10 != 1 ? endings[n % 10] : "th";
}

/*
 * "the 57th lfuse_add (output "y"): " in place of "lfuse_add: ", where that builder was called several times. The
 * builder that found the mistake stays where another one called it: "lfuse_glu: lfuse_mul: ".
 */
static lfuse_status say(const lfuse_graph *g)
{
    const char *rest = g->message, *name;
    char number[24] = "", output[LFUSE__MAX_NAME + 16] = "";
    size_t length;

    if (g->failed_call < 0) return lfuse__error(g->status, "%s", g->message);
    name = g->calls[g->failed_call].name;
    length = strlen(name);
    if (!strncmp(rest, name, length) && !strncmp(rest + length, ": ", 2)) rest += length + 2;
    if (g->calls[g->failed_call].count > 1) {
        snprintf(number, sizeof number, "the %d%s ", (int)g->failed_number, ending(g->failed_number));
        if (*g->failed_output) snprintf(output, sizeof output, " (output \"%s\")", g->failed_output);
    }
    return lfuse__error(g->status, "%s%s%s: %s", number, name, output, rest);
}

lfuse_status lfuse_graph_check(const lfuse_graph *g)
{
    if (!g) return lfuse__error(LFUSE_ERR_INVALID, "the graph is NULL");
    return g->status ? say(g) : LFUSE_OK;
}

void lfuse__build_begin(lfuse_graph *g, const char *call)
{
    int32_t i;

    if (!g || g->nested) return;
    for (i = 0; i < g->ncalls && g->calls[i].name != call; i++) continue;
    for (i = i < g->ncalls ? i : 0; i < g->ncalls && strcmp(g->calls[i].name, call); i++) continue;
    g->call = -1;
    if (i == g->ncalls) {
        if (!lfuse__build_grow((void **)&g->calls, g->ncalls, &g->call_capacity, sizeof *g->calls))
            return; /* messages then do without the number */
        g->calls[g->ncalls++] = (lfuse__call){call, 0};
    }
    g->call = i;
    g->calls[i].count++;
}

lfuse_value lfuse__graph_poison(lfuse_graph *g, lfuse_status status, const char *format, ...)
{
    va_list args;

    if (g) g->mistakes++;
    if (g && !g->status) {
        g->status = status;
        g->failed_call = g->call;
        g->failed_number = g->call < 0 ? 0 : g->calls[g->call].count;
        va_start(args, format);
        vsnprintf(g->message, sizeof g->message, format, args);
        va_end(args);
    }
    return LFUSE__POISONED(g);
}

bool lfuse__build_grow(void **array, int32_t count, int32_t *capacity, size_t element)
{
    int32_t larger;
    void *moved;

    if (count < *capacity) return true;
    larger = *capacity ? *capacity * 2 : 16;
    moved = realloc(*array, (size_t)larger * element);
    if (!moved) return false;
    *array = moved;
    *capacity = larger;
    return true;
}
