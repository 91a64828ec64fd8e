/* SPDX-License-Identifier: Apache-2.0 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

/* Matrices of products: what is neither plain nor transposed is copied first. */
#include <inttypes.h>
#include <string.h>

#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/matrix.h"

lfuse_status lfuse__matrix_open(lfuse_instance *in, const lfuse__operand *o, int64_t rows, int64_t columns,
                                lfuse__stand_ins *copies, lfuse__matrix *m)
{
    memset(m, 0, sizeof *m);
    m->extents[0] = rows;
    m->extents[1] = columns;
    return lfuse__walk_open(in, o, 2, m->extents, copies, &m->walk);
}

/* Whether axis `inner` has stride 1 and the other one is a leading dimension; strides along an extent of 1 are free. */
static bool fits(const lfuse__matrix *m, int outer, int inner, int64_t *ld)
{
    if (m->extents[inner] != 1 && m->walk.strides[inner] != 1) return false;
    *ld = m->extents[outer] == 1 ? m->extents[inner] : m->walk.strides[outer];
    return *ld >= m->extents[inner];
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

lfuse_status lfuse__matrix_like(lfuse_instance *in, const lfuse__matrix *m, lfuse__matrix *plain)
{
    uint64_t bytes;

    if (__builtin_mul_overflow((uint64_t)m->extents[0], (uint64_t)m->extents[1], &bytes) ||
        __builtin_mul_overflow(bytes, (uint64_t)lfuse_type_size(m->walk.type), &bytes))
        return lfuse__error(LFUSE_ERR_OVERFLOW, "a copy of %" PRId64 " x %" PRId64 " elements is too large",
                            m->extents[0], m->extents[1]);
    *plain = *m;
    plain->walk.memory.place = LFUSE__PLACE_SCRATCH;
    plain->walk.offset = 0;
    plain->walk.strides[0] = plain->ld = m->extents[1];
    plain->walk.strides[1] = 1;
    plain->transposed = false;
    return lfuse__add_buffer(in, LFUSE__PLACE_SCRATCH, bytes, &plain->walk.memory.index);
}

lfuse_status lfuse__matrix_copy(lfuse_instance *in, const lfuse__step *step, const lfuse__matrix *to,
                                const lfuse__matrix *from)
{
    lfuse__walk target = to->walk, source = from->walk;

    target.written = true;
    source.written = false;
    return lfuse__furnish_copy(in, step, 2, to->extents, &target, &source);
}

lfuse_status lfuse__matrix_straighten(lfuse_instance *in, const lfuse__step *step, bool transposed, lfuse__matrix *m)
{
    const lfuse__matrix odd = *m;

    if (lfuse__matrix_is_stored(m, true, transposed)) return LFUSE_OK;
    lfuse__log(LFUSE_LOG_DEBUG, "a product's operand with strides %" PRId64 " and %" PRId64 " is copied first",
               m->walk.strides[0], m->walk.strides[1]);
    LFUSE__TRY(lfuse__matrix_like(in, &odd, m));
    return lfuse__matrix_copy(in, step, m, &odd);
}
