/* SPDX-License-Identifier: Apache-2.0 */
/* The table of kernel families. */
#include "common/kernels/families.h"

#include "common/base/error.h"
#include "common/kernels/emit.h"

/* Its text is of several classes: bundle.h. */
const lfuse__kernel_family lfuse__family_bundle = {0};

const lfuse__kernel_family *lfuse__family_of(const lfuse__kernel_class *k)
{
    static const lfuse__kernel_family *const families[LFUSE__FAMILIES] = {
#define LFUSE__FAMILY(name, lower, ...) [LFUSE__FAMILY_##name] = &lfuse__family_##lower,
#include "common/plan/families.def"
    };

    return families[k->family];
}

int lfuse__family_buffers(const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    const lfuse__kernel_family *f = lfuse__family_of(k);
    return f->list_buffers ? lfuse__list_buffers(facts, f->list_buffers) : f->buffers(k);
}

unsigned lfuse__family_local_bytes(const lfuse__kernel_class *k)
{
    const lfuse__kernel_family *f = lfuse__family_of(k);

    return f->local_bytes ? f->local_bytes(k) : 0;
}

lfuse_status lfuse__family_warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__packed *packed)
{
    const lfuse__kernel_family *f = lfuse__family_of(k);
    lfuse__geometry one;
    if (f->warm_up) return f->warm_up(k, facts, packed);
    if (!f->pack)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s compiles at the first launch: kernels of family %d are for "
                            "devices that do not", facts->info.name, (int)k->family);
    lfuse__geometry_of_one(&one);
    return f->pack(k, facts, &one, packed);
}
