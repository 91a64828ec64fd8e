/* SPDX-License-Identifier: Apache-2.0 */
/* Names of inputs, outputs and size variables: each stands for one of them. */
#include "common/graph/build.h"

#include <string.h>

static bool name_taken(const lfuse_graph *g, const char *text)
{
    int32_t i;

    for (i = 0; i < g->nnames; i++)
        if (!strcmp(g->names[i].text, text)) return true;
    for (i = 0; i < g->nsizes; i++)
        if (g->sizes[i].kind == LFUSE__SIZE_VAR && !strcmp(g->sizes[i].name, text)) return true;
    return false;
}

bool lfuse__build_check_name(lfuse_graph *g, const char *call, const char *text)
{
    size_t length;
    const char *p;

    if (!text) {
        lfuse__graph_poison(g, LFUSE_ERR_INVALID, "%s: the name is NULL", call);
        return false;
    }
    length = strnlen(text, LFUSE__MAX_NAME + 1);
    if (!length || length > LFUSE__MAX_NAME) {
        lfuse__graph_poison(g, LFUSE_ERR_NAME, "%s: a name has 1 to %d characters, not %s", call, LFUSE__MAX_NAME,
                            length ? "more" : "none");
        return false;
    }
    for (p = text; *p; p++)
        if ((unsigned char)*p < 32 || *p == 127) {
            lfuse__graph_poison(g, LFUSE_ERR_NAME, "%s: the name has a control character (code %d) at %d", call, *p,
                                (int)(p - text));
            return false;
        }
    if (name_taken(g, text)) {
        lfuse__graph_poison(g, LFUSE_ERR_NAME, "%s: the name \"%s\" is already taken", call, text);
        return false;
    }
    return true;
}

int32_t lfuse__build_name(lfuse_graph *g, const char *call, const char *text, lfuse__name_kind kind, int32_t node)
{
    lfuse__name *n;

    if (!lfuse__build_check_name(g, call, text)) return -1;
    if (g->nnames >= LFUSE__MAX_NODES) {
        lfuse__graph_poison(g, LFUSE_ERR_OVERFLOW, "%s: more than %d names", call, LFUSE__MAX_NODES);
        return -1;
    }
    if (!lfuse__build_grow((void **)&g->names, g->nnames, &g->name_capacity, sizeof *g->names)) {
        lfuse__graph_poison(g, LFUSE_ERR_MEMORY, "%s: no memory for the name \"%s\"", call, text);
        return -1;
    }
    n = &g->names[g->nnames];
    memset(n, 0, sizeof *n);
    memcpy(n->text, text, strlen(text));
    n->kind = kind;
    n->node = node;
    n->update = -1;
    return g->nnames++;
}
