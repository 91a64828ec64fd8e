/* SPDX-License-Identifier: Apache-2.0 */
/* Gradients of what is there. */
#include "tests/random/generate.h"

/* A floating value, of several the one that was made last. */
static lfuse_value late(gen *s)
{
    lfuse_value best = nothing(s);
    for (int i = 0; i < 4; i++) {
        const lfuse_value v = any(s);
        if (floating(s, v) && v.id > best.id) best = v;
    }
    return best;
}

/* By one or two values that need not be on the way to it. */
void make_gradients(gen *s)
{
    const lfuse_value y = late(s);
    lfuse_value wrt[2], d[2];
    int count = 0;
    for (int i = 0; i < 8 && count < 2; i++) {
        const lfuse_value v = any(s);
        if (floating(s, v) && v.id <= y.id) wrt[count++] = v;
        if (count && chance(s, 2)) break;
    }
    if (y.id < 0 || !count) return;
    lfuse_gradient(y, chance(s, 2) ? lfuse_none() : lfuse_stop(lfuse_tanh(y)), count, wrt, d);
    for (int i = 0; i < count; i++) keep(s, node(s, d[i])->list ? d[i] : tame(s, d[i]));
}
