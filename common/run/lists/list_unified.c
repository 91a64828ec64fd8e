/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The transport `unified`: the address table in memory that host and device share, written by the host. A table that a
 * submitted run may read is never written again before that run has finished: new addresses go into another version,
 * and an event that follows the last run of the old one tells when it may be used anew. A version that was captured is
 * read by whoever launches the capture, whenever that is: it stays as it is while the instance lives.
 */
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/lists/list_op.h"

struct lfuse__list_version {
    lfuse__range *range;
    lfuse_event *left;  /* recorded where its last run ended */
    lfuse_stream *user; /* of its runs, one reference; NULL: none yet */
    bool leaving;       /* `left` is recorded and was not yet seen done */
    bool kept;          /* captured, or used on streams that are not ordered for us */
    int nstale;         /* what moved since it was written; -1: anything */
    lfuse__list_span stale[LFUSE__LIST_SPANS];
};

static uint64_t table_bytes(const lfuse__list_op *op)
{
    return 2 * (uint64_t)op->nentries * (uint64_t)op->step->noperands * sizeof *op->fresh;
}

void lfuse__list_versions_destroy(lfuse__list_op *op)
{
    for (int i = 0; i < op->nversions; i++) {
        lfuse__stream_release(op->versions[i].user);
        lfuse__event_destroy(op->versions[i].left);
        lfuse__range_release(op->versions[i].range);
    }
    free(op->versions);
}

lfuse_status lfuse__list_version_add(lfuse_instance *in, lfuse__list_op *op)
{
    lfuse__list_version *p = realloc(op->versions, ((size_t)op->nversions + 1) * sizeof *p), v = { .nstale = -1 };
    lfuse_status status;

    if (!p) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d tables)", op->nversions + 1);
    op->versions = p;
    LFUSE__TRY(lfuse__range_create_unified(in->plan->dev, table_bytes(op), &v.range));
    status = lfuse__event_create(in->plan->dev, &v.left);
    if (status) {
        lfuse__range_release(v.range);
        return status;
    }
    op->versions[op->nversions++] = v;
    return LFUSE_OK;
}

/* Later work is not of this version; what was submitted may still read it. */
static lfuse_status leave(lfuse__list_version *v, lfuse_stream *s, bool capturing)
{
    if (capturing || v->user != s) v->kept = true;
    if (v->kept) return LFUSE_OK;
    LFUSE__TRY(lfuse__event_record(v->left, s));
    v->leaving = true;
    return LFUSE_OK;
}

static bool is_free(lfuse__list_version *v)
{
    if (v->kept) return false;
    if (v->leaving && lfuse__event_query(v->left) == LFUSE_OK) v->leaving = false;
    return !v->leaving;
}

/* A version that nobody reads; the last resort is to make one. */
static lfuse_status find(lfuse_instance *in, lfuse__list_op *op, int *found)
{
    lfuse__saved_error before;
    int i;

    lfuse__error_save(&before);
    for (i = 0; i < op->nversions; i++)
        if (i != op->version && is_free(&op->versions[i])) break;
    lfuse__error_restore(&before);
    if (i == op->nversions) {
        LFUSE__TRY(lfuse__list_version_add(in, op));
        lfuse__log(LFUSE_LOG_DEBUG, "%s: table %d of a list of %lld members in shared memory: the earlier ones are in "
                   "use", in->facts->info.name, op->nversions, (long long)op->members);
    }
    *found = i;
    return LFUSE_OK;
}

/* What has moved is missing in every version. */
static void note_stale(lfuse__list_op *op)
{
    for (int i = 0; i < op->nversions; i++) {
        lfuse__list_version *v = &op->versions[i];
        if (v->nstale < 0 || op->nspans < 0 || v->nstale + op->nspans > LFUSE__LIST_SPANS) {
            v->nstale = -1;
            continue;
        }
        memcpy(v->stale + v->nstale, op->spans, (size_t)op->nspans * sizeof *v->stale);
        v->nstale += op->nspans;
    }
}

static lfuse_status write_bytes(lfuse_instance *in, const lfuse__list_op *op, const lfuse__list_version *v,
                                uint64_t offset, uint64_t bytes)
{
    const char *from = (const char *)op->fresh + offset;

    if (!v->range->host) return lfuse__table_upload(in->plan->dev, v->range, offset, from, bytes);
    memcpy((char *)v->range->host + offset, from, bytes);
    return LFUSE_OK;
}

static lfuse_status write_version(lfuse_instance *in, const lfuse__list_op *op, lfuse__list_version *v)
{
    const uint64_t entry = 2 * sizeof *op->fresh;

    if (!v->range->host && v->nstale > 1) v->nstale = -1; /* each copy would be waited for */
    if (v->nstale < 0) LFUSE__TRY(write_bytes(in, op, v, 0, table_bytes(op)));
    for (int i = 0; i < v->nstale; i++)
        LFUSE__TRY(write_bytes(in, op, v, entry * (uint64_t)(v->stale[i].operand * op->members + v->stale[i].first),
                               entry * (uint64_t)v->stale[i].count));
    v->nstale = 0;
    return LFUSE_OK;
}

/* A version that no run has read may be written in place. */
static lfuse_status renew(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s, bool capturing)
{
    lfuse__list_version *now = op->version < 0 ? NULL : &op->versions[op->version];
    int next = op->version;

    if (now && now->user) {
        LFUSE__TRY(leave(now, s, capturing));
        LFUSE__TRY(find(in, op, &next));
    } else if (!now) {
        LFUSE__TRY(find(in, op, &next));
    }
    op->version = next;
    lfuse__stream_release(op->versions[next].user);
    op->versions[next].user = NULL;
    LFUSE__TRY(write_version(in, op, &op->versions[next]));
    op->valid = true;
    return LFUSE_OK;
}

lfuse_status lfuse__list_publish(lfuse_instance *in, lfuse__list_op *op, lfuse_stream *s)
{
    bool capturing = false;
    lfuse__list_version *v;

    if (s) LFUSE__TRY(lfuse__stream_capturing(s, &capturing));
    if (op->moved || !op->valid) {
        note_stale(op);
        LFUSE__TRY(renew(in, op, s, capturing));
    }
    if (!s) return LFUSE_OK;
    v = &op->versions[op->version];
    if (capturing || (v->user && v->user != s)) v->kept = true;
    if (!v->user) {
        lfuse__stream_retain(s);
        v->user = s;
    }
    return LFUSE_OK;
}

const lfuse__range *lfuse__list_version_range(const lfuse__list_op *op)
{
    return op->versions[op->version].range;
}
