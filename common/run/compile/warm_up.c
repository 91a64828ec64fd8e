/* SPDX-License-Identifier: Apache-2.0 */
/* Launches that do nothing, for devices that compile when a kernel is first launched. */
#include "common/base/error.h"
#include "common/run/compile/body.h"

lfuse_status lfuse__kernel_warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__launch_args *args)
{
    const lfuse__kernel_family *f = lfuse__family_of(k);
    lfuse__packed packed;

    LFUSE__TRY(lfuse__family_warm_up(k, facts, &packed));
    args->groups = 1;
    args->group = packed.group;
    args->nwords = f->list_buffers && lfuse__class_list(k)->carried ? lfuse__carried_words(k, f->carry) : packed.nwords;
    args->nbuffers = (unsigned)lfuse__family_buffers(k, facts);
    return LFUSE_OK;
}

lfuse_status lfuse__bundle_warm_up(const lfuse__bundle *b, const lfuse__facts *facts, lfuse__launch_args *args)
{
    const lfuse__bundle_part *parts;

    lfuse__bundle_parts(b, &parts);
    LFUSE__TRY(lfuse__kernel_warm_up(&parts[0].k, facts, args));
    args->nwords = (unsigned)lfuse__bundle_words(b);
    args->nbuffers = (unsigned)lfuse__bundle_buffers(b, facts);
    return LFUSE_OK;
}
