/* SPDX-License-Identifier: Apache-2.0 */
/* The form of GPUs: not there yet. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "common/base/error.h"
#include "common/kernels/product.h"

static lfuse_status none(void)
{
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "there are no kernels of the library's own for products on a GPU");
}

static lfuse_status choose(const lfuse__facts *facts, int64_t m, int64_t n, int64_t k, bool others,
                           lfuse__kernel_class *c)
{
    (void)facts, (void)m, (void)n, (void)k, (void)others, (void)c;
    return none();
}

static int classes(const lfuse__facts *facts, const int64_t m[2], const int64_t n[2], const int64_t k[2],
                   const lfuse__kernel_class *c, lfuse__kernel_class *all)
{
    (void)facts, (void)m, (void)n, (void)k, (void)c, (void)all;
    return 0;
}

static int phases(const lfuse__kernel_class *c)
{
    (void)c;
    return 1;
}

static uint64_t workspace(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g)
{
    (void)c, (void)facts, (void)g;
    return 0;
}

static lfuse_status emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *c, const lfuse__facts *facts)
{
    (void)out, (void)name, (void)c, (void)facts;
    return none();
}

static lfuse_status pack(const lfuse__kernel_class *c, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed)
{
    (void)c, (void)facts, (void)g, (void)packed;
    return none();
}

const lfuse__product_family lfuse__product_tiles = { choose, classes, phases, workspace, emit, pack };
