/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of products: what is neither plain nor transposed, or unevenly spaced in its batch, is copied first. */
#include <inttypes.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/instantiate/matrix.h"
#include "common/run/operations/operations.h"

/* The axes of the batch as one: strides along extents of 1 are free. Backwards is no order that libraries know. */
static void find_stride(lfuse__matrix *m)
{
    int64_t next = 0;
    int i;

    m->even = true;
    m->stride = 0;
    for (i = m->rank - 3; i >= 0 && m->even; i--) {
        if (m->extents[i] == 1) continue;
        if (!next) m->stride = m->walk.strides[i];
        else m->even = m->walk.strides[i] == next * m->stride;
        next = next ? next * m->extents[i] : m->extents[i];
    }
    if (m->stride < 0) m->even = false;
}

lfuse_status lfuse__matrix_open(lfuse_instance *in, const lfuse__operand *o, int rank, const int64_t *extents,
                                int64_t rows, int64_t columns, lfuse__stand_ins *copies, lfuse__matrix *m)
{
    memset(m, 0, sizeof *m);
    m->rank = rank;
    memcpy(m->extents, extents, (size_t)(rank - 2) * sizeof *extents);
    m->extents[rank - 2] = rows;
    m->extents[rank - 1] = columns;
    LFUSE__TRY(lfuse__walk_open(in, o, rank, m->extents, copies, &m->walk));
    find_stride(m);
    return LFUSE_OK;
}

lfuse_status lfuse__matrix_count(int rank, const int64_t *extents, int64_t *count)
{
    int i;

    *count = 1;
    for (i = 0; i < rank - 2; i++)
        if (__builtin_mul_overflow(*count, extents[i], count))
            return lfuse__error(LFUSE_ERR_OVERFLOW, "a batch of more than 2^63 - 1 products");
    return LFUSE_OK;
}

/* Whether axis `inner` has stride 1 and the other one is a leading dimension; strides along an extent of 1 are free. */
static bool fits(const lfuse__matrix *m, int outer, int inner, int64_t *ld)
{
    const int64_t *strides = lfuse__matrix_strides(m), *extents = m->extents + m->rank - 2;

    if (!m->even || (extents[inner] != 1 && strides[inner] != 1)) return false;
    *ld = extents[outer] == 1 ? extents[inner] : strides[outer];
    return *ld >= extents[inner];
}

static bool is_transposed(lfuse__matrix *m)
{
    m->transposed = fits(m, 1, 0, &m->ld);
    return m->transposed;
}

bool lfuse__matrix_is_stored(lfuse__matrix *m, bool may_transpose, bool transposed)
{
    if (transposed && is_transposed(m)) return true;
    m->transposed = false;
    return fits(m, 0, 1, &m->ld) || (may_transpose && is_transposed(m));
}

/* How many matrices there are in memory along axis i of the batch. */
static int64_t stored_extent(const lfuse__matrix *m, int i)
{
    return i < m->rank - 2 && m->even && !m->stride ? 1 : m->extents[i];
}

lfuse_status lfuse__matrix_like(lfuse_instance *in, const lfuse__matrix *m, lfuse__matrix *plain)
{
    int64_t elements = 1;
    uint64_t bytes;
    int i;

    *plain = *m;
    for (i = m->rank - 1; i >= 0; i--) {
        const int64_t extent = stored_extent(m, i);
        plain->walk.strides[i] = extent == 1 && i < m->rank - 2 ? 0 : elements;
        if (__builtin_mul_overflow(elements, extent, &elements)) goto err_overflow;
    }
    if (__builtin_mul_overflow((uint64_t)elements, (uint64_t)lfuse_type_size(m->walk.type), &bytes)) goto err_overflow;
    plain->walk.memory.place = LFUSE__PLACE_SCRATCH;
    plain->walk.offset = 0;
    plain->ld = m->extents[m->rank - 1];
    plain->transposed = false;
    find_stride(plain);
    return lfuse__add_buffer(in, LFUSE__PLACE_SCRATCH, bytes, &plain->walk.memory.index);

err_overflow:
    return lfuse__error(LFUSE_ERR_OVERFLOW, "a copy of %" PRId64 " x %" PRId64 " elements, or of a batch of them, is "
                        "too large", m->extents[m->rank - 2], m->extents[m->rank - 1]);
}

lfuse_status lfuse__matrix_copy(lfuse__instantiation *ctx, const lfuse__step *step, const lfuse__matrix *to,
                                const lfuse__matrix *from)
{
    lfuse__walk target = to->walk, source = from->walk;
    int64_t extents[LFUSE_MAX_RANK];
    int i;

    for (i = 0; i < to->rank; i++) extents[i] = stored_extent(to, i);
    target.written = true;
    source.written = false;
    return lfuse__instantiate_copy(ctx, step, to->rank, extents, &target, &source);
}

lfuse_status lfuse__matrix_straighten(lfuse__instantiation *ctx, const lfuse__step *step, bool transposed,
                                      lfuse__matrix *m)
{
    const int64_t *strides = lfuse__matrix_strides(m);
    const lfuse__matrix original = *m;

    if (lfuse__matrix_is_stored(m, true, transposed)) return LFUSE_OK;
    lfuse__log(LFUSE_LOG_DEBUG, "a product's operand with strides %" PRId64 " and %" PRId64 "%s is copied first",
               strides[0], strides[1], m->even ? "" : ", in a batch of no single stride,");
    LFUSE__TRY(lfuse__matrix_like(ctx->in, &original, m));
    return lfuse__matrix_copy(ctx, step, m, &original);
}
