/* SPDX-License-Identifier: Apache-2.0 */
#include "common/device/internal.h"

#include <stdlib.h>
#include <string.h>

#include "common/base/env.h"
#include "common/base/log.h"
#include "common/device/registry.h"

static const lfuse__backend *extra;

void lfuse__registry_extra(const lfuse__backend *backend)
{
    extra = backend;
}

const lfuse__backend *lfuse__registry_at(int i)
{
    int at;

    if (i < 0) return NULL;
    if (extra && i-- == 0) return extra;
    for (at = 0; at < i && lfuse__backends[at]; at++) continue;
    return lfuse__backends[at];
}

const lfuse__backend *lfuse__registry_find(const char *name)
{
    const lfuse__backend *backend;
    int i;

    for (i = 0; (backend = lfuse__registry_at(i)); i++)
        if (!strcmp(backend->name, name)) return backend;
    return NULL;
}

lfuse_status lfuse__registry_enumerate(const lfuse__backend *backend, int *count, lfuse__strbuf *reason)
{
    char text[512] = "";

    LFUSE__TRY(lfuse__fork_watch());
    LFUSE__TRY(backend->enumerate(count, text, sizeof text));
    if (!*count) lfuse__strbuf_add(reason, text[0] ? text : "no device");
    return LFUSE_OK;
}

/* `what`: the backend's name or a device's. */
static void why_not(lfuse__strbuf *reasons, const lfuse__backend *backend, const char *what, const char *reason)
{
    if (reasons->length) lfuse__strbuf_add(reasons, "; ");
    lfuse__strbuf_format(reasons, "%s: %s", what, reason);
    if (backend->hint && *backend->hint) lfuse__strbuf_format(reasons, " (%s)", backend->hint);
}

/* A backend that fails, for a reason of its driver's that may stay, hides no other backend's devices. */
static void backend_fails(lfuse__strbuf *reasons, const lfuse__backend *backend)
{
    why_not(reasons, backend, backend->name, lfuse__error_message());
    lfuse__log(LFUSE_LOG_WARN, "%s: its devices are left out: %s", backend->name, lfuse__error_message());
}

/*
 * The devices of one backend onto the list. Who asks is not told less for want of memory: then the call fails. Which
 * devices are of no use the backend says itself.
 */
static lfuse_status add_backend(lfuse__found **list, int *count, const lfuse__backend *backend, int order,
                                lfuse__strbuf *reasons)
{
    lfuse__strbuf reason = LFUSE__STRBUF_INIT;
    lfuse__saved_error before;
    lfuse__found *grown;
    lfuse_status status;
    int i, n = 0;

    lfuse__error_save(&before);
    status = lfuse__registry_enumerate(backend, &n, &reason);
    if (!status) status = lfuse__strbuf_check(&reason);
    if (lfuse__is_shortage(status)) goto out;
    if (status || n <= 0) {
        if (status) backend_fails(reasons, backend);
        else why_not(reasons, backend, backend->name, reason.data);
        lfuse__error_restore(&before);
        status = LFUSE_OK;
        goto out;
    }
    grown = realloc(*list, ((size_t)*count + (size_t)n) * sizeof **list);
    if (!grown) {
        status = lfuse__error(LFUSE_ERR_MEMORY, "out of host memory for a list of %d devices", *count + n);
        goto out;
    }
    *list = grown;
    for (i = 0; i < n; i++) {
        lfuse__found *found = &grown[*count];
        memset(found, 0, sizeof *found);
        status = backend->describe(i, &found->facts);
        if (lfuse__is_shortage(status)) goto out;
        if (status) {
            why_not(reasons, backend, backend->name, lfuse__error_message());
            lfuse__log(LFUSE_LOG_WARN, "%s device %d is left out: %s", backend->name, i, lfuse__error_message());
            continue;
        }
        found->backend = backend;
        found->index = i;
        found->order = order;
        if (found->facts.unfit[0]) why_not(reasons, backend, found->facts.info.name, found->facts.unfit);
        ++*count;
    }
    lfuse__error_restore(&before); /* what a backend looked for in vain is no failure of this call */
    status = LFUSE_OK;
out:
    lfuse__strbuf_free(&reason);
    return status;
}

static int rank(lfuse_device_kind kind)
{
    return kind == LFUSE_DEVICE_GPU ? 0 : kind == LFUSE_DEVICE_CPU ? 2 : 1;
}

static bool is_unfit(const lfuse__found *found)
{
    return found->facts.unfit[0] != '\0';
}

/* The rule of libfuse/device.h: whether it is of use, kind, backend, compute units, index. */
static int by_preference(const void *a, const void *b)
{
    const lfuse__found *x = a, *y = b;
    const lfuse_device_info *p = &x->facts.info, *q = &y->facts.info;

    if (is_unfit(x) != is_unfit(y)) return is_unfit(x) - is_unfit(y);
    if (rank(p->kind) != rank(q->kind)) return rank(p->kind) - rank(q->kind);
    if (x->order != y->order) return x->order - y->order;
    if (p->compute_units != q->compute_units) return p->compute_units > q->compute_units ? -1 : 1;
    return x->index - y->index;
}

lfuse_status lfuse__registry_list(const lfuse__backend *only, lfuse__found **list, int *count, lfuse__strbuf *reasons)
{
    const lfuse__backend *backend;
    lfuse__found *found = NULL;
    lfuse_status status;
    int i, n = 0;

    for (i = 0; (backend = lfuse__registry_at(i)); i++) {
        if (only && backend != only) continue;
        status = add_backend(&found, &n, backend, i, reasons);
        if (!status) status = lfuse__strbuf_check(reasons);
        if (status) {
            free(found);
            return status;
        }
    }
    if (n > 1) qsort(found, (size_t)n, sizeof *found, by_preference);
    *list = found;
    *count = n;
    return LFUSE_OK;
}

static int count_fit(const lfuse__found *list, int count)
{
    while (count > 0 && is_unfit(&list[count - 1])) count--;
    return count;
}

static lfuse_status no_device(const lfuse__strbuf *reasons)
{
    return lfuse__error(LFUSE_ERR_NO_DEVICE, "no device: %s",
                        reasons->length ? reasons->data : "this build has no backend");
}

lfuse_status lfuse__device_count(int *count)
{
    lfuse__strbuf reasons = LFUSE__STRBUF_INIT;
    lfuse__found *list = NULL;
    lfuse_status status;
    int n = 0;

    LFUSE__TRY(lfuse__check_fork());
    status = lfuse__registry_list(NULL, &list, &n, &reasons);
    if (!status) {
        *count = count_fit(list, n);
        if (!*count) no_device(&reasons);
    }
    free(list);
    lfuse__strbuf_free(&reasons);
    return status;
}

lfuse_status lfuse__device_describe(int index, lfuse_device_info *info)
{
    lfuse__strbuf reasons = LFUSE__STRBUF_INIT;
    lfuse__found *list = NULL;
    lfuse_status status;
    int n = 0;

    LFUSE__TRY(lfuse__check_fork());
    status = lfuse__registry_list(NULL, &list, &n, &reasons);
    n = count_fit(list, n);
    if (!status && !n) status = no_device(&reasons);
    else if (!status && (index < 0 || index >= n))
        status = lfuse__error(LFUSE_ERR_INVALID, "device index %d is not in 0 ... %d", index, n - 1);
    if (!status) *info = list[index].facts.info;
    free(list);
    lfuse__strbuf_free(&reasons);
    return status;
}

/* "cuda:0" needs no other backend than cuda: the others' libraries are not even loaded. */
static const lfuse__backend *backend_of(const char *name)
{
    char backend[sizeof(((lfuse_device_info *)0)->name)];
    size_t length = strcspn(name, ":");

    if (length >= sizeof backend) return NULL;
    memcpy(backend, name, length);
    backend[length] = '\0';
    return lfuse__registry_find(backend);
}

static lfuse_status unknown_name(const char *name, const char *origin, const lfuse__found *list, int count,
                                 const lfuse__strbuf *reasons)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse_status status;
    int i;

    lfuse__strbuf_format(&text, "no device \"%.64s\"%s; there are:", name, origin);
    for (i = 0; i < count; i++) lfuse__strbuf_format(&text, " %s", list[i].facts.info.name);
    if (!count) lfuse__strbuf_add(&text, " none");
    if (!backend_of(name)) lfuse__strbuf_add(&text, "; this build has no backend of that name");
    if (reasons->length) lfuse__strbuf_format(&text, "; %s", reasons->data);
    status = lfuse__strbuf_check(&text);
    if (!status) status = lfuse__error(LFUSE_ERR_NO_DEVICE, "%s", text.data);
    lfuse__strbuf_free(&text);
    return status;
}

static lfuse_status unfit_name(const lfuse__found *found, const char *origin)
{
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "device %s%s, %s, cannot be used: %s", found->facts.info.name, origin,
                        found->facts.info.product, found->facts.unfit);
}

lfuse_status lfuse__registry_choose(const char *name, lfuse__found *found)
{
    lfuse__strbuf reasons = LFUSE__STRBUF_INIT;
    const char *origin = "";
    lfuse__found *list = NULL;
    lfuse_status status;
    int i, n = 0;

    if (!name || !*name) {
        name = lfuse__env_get()->device;
        origin = " (from LFUSE_DEVICE)";
    }
    if (name && !*name) name = NULL;
    status = lfuse__registry_list(name ? backend_of(name) : NULL, &list, &n, &reasons);
    if (status) goto out;
    if (!name) {
        if (count_fit(list, n)) *found = list[0];
        else status = no_device(&reasons);
        goto out;
    }
    for (i = 0; i < n && strcmp(list[i].facts.info.name, name) != 0; i++) continue;
    if (i < n && is_unfit(&list[i])) status = unfit_name(&list[i], origin);
    else if (i < n) *found = list[i];
    else status = unknown_name(name, origin, list, n, &reasons);
out:
    free(list);
    lfuse__strbuf_free(&reasons);
    return status;
}
