/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel families: what the library asks of a kernel without knowing which one it is. A C file of the family has
 * its lfuse__family_<name>.
 */
#ifndef COMMON_KERNELS_FAMILIES_H
#define COMMON_KERNELS_FAMILIES_H

#include "common/kernels/key.h"

typedef struct lfuse__kernel_family {
    /* Appends the text of a kernel `name` of the class. NULL: BUNDLE, whose text is of several classes. */
    lfuse_status (*emit)(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts);
    /* Adds to the key what the family alone knows of the class. NULL: nothing. */
    void (*key)(const lfuse__kernel_class *k, lfuse__kernel_key *key);
    /*
     * Words and groups of a launch for a geometry. `rebind` does so again for the same sizes at other addresses or with
     * other scalars; NULL: pack does. Both NULL: the launches are not described by a geometry (lists, networks).
     * ERR_OVERFLOW: an extent, a stride or an offset does not fit the class.
     */
    lfuse_status (*pack)(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed);
    void (*rebind)(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__geometry *g,
                   lfuse__packed *packed);
    /*
     * Sets in the class what the sizes of an instance decide: of kernels over rows, so many of this length, which is
     * `fixed` where all sizes give this one. It decides alike for all sizes between two powers of 2, unless `fixed`.
     * NULL: nothing is decided by sizes, or the family has other callers for that.
     */
    void (*choose)(const lfuse__facts *facts, uint64_t rows, uint64_t length, bool fixed, lfuse__kernel_class *k);
    /*
     * Words and groups of a launch of one group that, with words of 0, touches no memory: for devices that compile a
     * kernel when it is first launched. NULL: what `pack` gives for one element; without `pack` too, the family is of
     * devices that compile when they are asked to, alone.
     */
    lfuse_status (*warm_up)(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__packed *packed);
    /* Returns how many argument words a kernel has. NULL: those of a layout (emit.h). */
    int (*words)(const lfuse__kernel_class *k);
    /* Returns how many memory arguments a kernel has. Those of list kernels are list_buffers, and the blocks. */
    int (*buffers)(const lfuse__kernel_class *k);
    /* Returns the bytes of dynamic local memory that a launch asks for. NULL: none. */
    unsigned (*local_bytes)(const lfuse__kernel_class *k);
    int list_buffers;
    lfuse__carry carry; /* list kernels: which of them finds its members in the argument block */
    bool counted;       /* a launch has a group for each tile. Else groups go through what there is to do, and a bundle
                           may give a kernel fewer */
    bool moves_addresses; /* a bundle with such a kernel reads addresses by MOVED_ADDRESS of the dialect */
    bool launches;      /* an operation always launches: without elements there is no operation */
    const char *late;   /* what a kernel is for that no plan has foreseen, in messages; NULL: other strides or sizes */
} lfuse__kernel_family;

#define LFUSE__FAMILY(name, lower, ...) extern const lfuse__kernel_family lfuse__family_##lower;
#include "common/plan/families.def"

const lfuse__kernel_family *lfuse__family_of(const lfuse__kernel_class *k);

/* The launch that `warm_up` describes. ERR_UNSUPPORTED: the family has none. */
lfuse_status lfuse__family_warm_up(const lfuse__kernel_class *k, const lfuse__facts *facts, lfuse__packed *packed);

/* Returns the bytes of dynamic local memory that a launch asks for. */
unsigned lfuse__family_local_bytes(const lfuse__kernel_class *k);

/* Returns how many memory arguments a kernel has, of a family that has such a launch. */
int lfuse__family_buffers(const lfuse__kernel_class *k, const lfuse__facts *facts);

#endif
