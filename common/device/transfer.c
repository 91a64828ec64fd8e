/* SPDX-License-Identifier: Apache-2.0 */
/* Writes, reads, copies and fills of ranges. */
#include "common/device/internal.h"

#include <inttypes.h>
#include <stdlib.h>

/* Between devices without a direct way the bytes pass through the host in pieces of this size. */
#define PIECE_BYTES ((uint64_t)16 << 20)

static lfuse_status inside(const lfuse_stream *s, const lfuse__range *range, uint64_t offset, uint64_t bytes)
{
    uint64_t end;

    LFUSE__TRY(lfuse__stream_same_device(s, range->dev, "the memory"));
    if (__builtin_add_overflow(offset, bytes, &end) || (!range->unknown && end > range->bytes))
        return lfuse__error(LFUSE_ERR_INVALID, "%" PRIu64 " bytes from offset %" PRIu64 " are not inside a memory of %"
                            PRIu64, bytes, offset, range->bytes);
    return LFUSE_OK;
}

lfuse_status lfuse__write(lfuse_stream *s, lfuse__range *to, uint64_t offset, const void *host, uint64_t bytes)
{
    LFUSE__TRY(lfuse__stream_usable(s));
    LFUSE__TRY(inside(s, to, offset, bytes));
    if (!bytes) return LFUSE_OK;
    LFUSE__TRY(lfuse__stream_enter(s));
    return lfuse__stream_leave(s, s->dev->backend->write(s->bstream, to->mem, to->offset + offset, host, bytes));
}

lfuse_status lfuse__read(lfuse_stream *s, lfuse__range *from, uint64_t offset, void *host, uint64_t bytes)
{
    LFUSE__TRY(lfuse__stream_usable(s));
    LFUSE__TRY(inside(s, from, offset, bytes));
    if (!bytes) return LFUSE_OK;
    LFUSE__TRY(lfuse__stream_enter(s));
    return lfuse__stream_leave(s, s->dev->backend->read(s->bstream, from->mem, from->offset + offset, host, bytes));
}

lfuse_status lfuse__copy(lfuse_stream *s, lfuse__range *to, uint64_t to_offset, lfuse__range *from,
                         uint64_t from_offset, uint64_t bytes)
{
    uint64_t target = to->address + to_offset, source = from->address + from_offset;

    LFUSE__TRY(lfuse__stream_usable(s));
    LFUSE__TRY(inside(s, to, to_offset, bytes));
    LFUSE__TRY(inside(s, from, from_offset, bytes));
    if (!bytes || (to->space == from->space && target == source)) return LFUSE_OK;
    if (to->space == from->space && target < source + bytes && source < target + bytes)
        return lfuse__error(LFUSE_ERR_OVERLAP, "a copy of %" PRIu64 " bytes onto memory %" PRIu64 " bytes away", bytes,
                            target > source ? target - source : source - target);
    if (s->noting.nodes) {
        LFUSE__TRY(lfuse__note_copy(s, to, to_offset, from, from_offset, bytes));
        if (s->noting.follows) return LFUSE_OK;
    }
    LFUSE__TRY(lfuse__stream_enter(s));
    return lfuse__stream_leave(s, s->dev->backend->copy(s->bstream, to->mem, to->offset + to_offset, from->mem,
                                                        from->offset + from_offset, bytes));
}

lfuse_status lfuse__fill(lfuse_stream *s, lfuse__range *to, uint64_t offset, uint64_t pattern, unsigned pattern_bytes,
                         uint64_t bytes)
{
    LFUSE__TRY(lfuse__stream_usable(s));
    LFUSE__TRY(inside(s, to, offset, bytes));
    if (pattern_bytes != 1 && pattern_bytes != 2 && pattern_bytes != 4 && pattern_bytes != 8)
        return lfuse__error(LFUSE_ERR_INVALID, "a fill pattern of %u bytes", pattern_bytes);
    if ((to->offset + offset) % pattern_bytes || bytes % pattern_bytes)
        return lfuse__error(LFUSE_ERR_INVALID, "%" PRIu64 " bytes from offset %" PRIu64 " are no multiple of a pattern "
                            "of %u bytes", bytes, offset, pattern_bytes);
    if (!bytes) return LFUSE_OK;
    if (s->noting.nodes) {
        LFUSE__TRY(lfuse__note_fill(s, to, offset, pattern, pattern_bytes, bytes));
        if (s->noting.follows) return LFUSE_OK;
    }
    LFUSE__TRY(lfuse__stream_enter(s));
    return lfuse__stream_leave(s, s->dev->backend->fill(s->bstream, to->mem, to->offset + offset, pattern,
                                                        pattern_bytes, bytes));
}

/* Keeps the source of a direct copy until the target's streams have passed it: its own device knows nothing of them. */
typedef struct borrowed {
    lfuse__pending pending;
    lfuse__range *range;
} borrowed;

static void finish_borrowed(lfuse__pending *p)
{
    borrowed *b = (borrowed *)p;

    lfuse__range_release(b->range);
    free(b);
}

static lfuse_status copy_directly(lfuse_stream *s, lfuse__range *to, uint64_t to_offset, lfuse__range *from,
                                  uint64_t from_offset, uint64_t bytes)
{
    lfuse_device *other = from->dev;
    borrowed *b;
    lfuse_status status;

    if (s->dev->backend != other->backend)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "no direct copy from %s to %s", other->facts.info.name,
                            s->dev->facts.info.name);
    b = calloc(1, sizeof *b);
    if (!b) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *b);
    status = lfuse__stream_enter(s);
    if (status) {
        free(b);
        return status;
    }
    status = lfuse__stream_leave(s, s->dev->backend->copy_peer(s->bstream, to->mem, to->offset + to_offset,
                                                               other->bdev, from->mem, from->offset + from_offset,
                                                               bytes));
    lfuse__range_retain(from);
    b->range = from;
    b->pending.finish = finish_borrowed;
    lfuse__defer(s->dev, &b->pending);
    return status;
}

static lfuse_status copy_piece(lfuse_stream *s, lfuse__range *to, uint64_t to_offset, lfuse_stream *source,
                               lfuse__range *from, uint64_t from_offset, void *host, uint64_t bytes)
{
    LFUSE__TRY(lfuse__read(source, from, from_offset, host, bytes));
    LFUSE__TRY(lfuse__stream_sync(source));
    LFUSE__TRY(lfuse__write(s, to, to_offset, host, bytes));
    return lfuse__stream_sync(s);
}

/* On a stream made for it: two threads that copy crosswise would wait for each other's device stream. */
static lfuse_status copy_through_host(lfuse_stream *s, lfuse__range *to, uint64_t to_offset, lfuse__range *from,
                                      uint64_t from_offset, uint64_t bytes)
{
    uint64_t size = bytes < PIECE_BYTES ? bytes : PIECE_BYTES, done, piece;
    lfuse_stream *source;
    void *host = malloc(size);
    lfuse_status status;

    if (!host) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%" PRIu64 " bytes)", size);
    status = lfuse__stream_create(from->dev, &source);
    if (status) goto err_free;
    for (done = 0; done < bytes && !status; done += piece) {
        piece = bytes - done < size ? bytes - done : size;
        status = copy_piece(s, to, to_offset + done, source, from, from_offset + done, host, piece);
    }
    lfuse__stream_destroy(source);
err_free:
    free(host);
    return status;
}

lfuse_status lfuse__copy_across(lfuse_stream *s, lfuse__range *to, uint64_t to_offset, lfuse__range *from,
                                uint64_t from_offset, uint64_t bytes)
{
    lfuse__saved_error before;
    lfuse_status status;
    uint64_t end;

    if (to->dev == from->dev) return lfuse__copy(s, to, to_offset, from, from_offset, bytes);
    LFUSE__TRY(lfuse__stream_usable(s));
    LFUSE__TRY(lfuse__device_usable(from->dev));
    LFUSE__TRY(inside(s, to, to_offset, bytes));
    if (__builtin_add_overflow(from_offset, bytes, &end) || (!from->unknown && end > from->bytes))
        return lfuse__error(LFUSE_ERR_INVALID, "%" PRIu64 " bytes from offset %" PRIu64 " are not inside a memory of %"
                            PRIu64, bytes, from_offset, from->bytes);
    if (!bytes) return LFUSE_OK;
    lfuse__error_save(&before);
    status = copy_directly(s, to, to_offset, from, from_offset, bytes);
    if (status != LFUSE_ERR_UNSUPPORTED) return status;
    lfuse__error_restore(&before);
    return copy_through_host(s, to, to_offset, from, from_offset, bytes);
}
