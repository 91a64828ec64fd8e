/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several pointwise or row kernels, or several products, in one launch. The text of a part is that of its kernel
 * alone, as a block in which the words of the dialect that say where a group stands and what it is given are those of
 * the member whose turn it is.
 *
 * Argument words: work-groups of each member, where all have as many, else 0; what divides by that; first_[0 ...
 * members], the first work-group of each member over all parts and the end, two a word; then of each part the words
 * that its members have in common, and those of each member. An operand's word holds its address where the device has
 * addresses, else its offset and, in the highest byte, its slot. What a member's number picks is read from local memory
 * where the argument block takes no index (facts.staged_arguments).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/bundle.h"
#include "common/kernels/emit.h"
#include "common/kernels/families.h"

int lfuse__bundle_class_words(const lfuse__kernel_class *k)
{
    const lfuse__kernel_family *family = lfuse__family_of(k);
    lfuse__layout layout;
    if (family->words) return family->words(k);
    lfuse__layout_make(k, &layout);
    return layout.total;
}

/* The layout of a launch in numbers: what tells its members apart, then the words of their kernels. */
static int launch_words(int members, int words)
{
    return LFUSE__BUNDLE_FIRST + members / 2 + 1 + words;
}

static int launch_slots(const lfuse__facts *facts, int operands)
{
    if (facts->addresses) return 0;
    return operands > LFUSE__MAX_SLOTS ? operands : LFUSE__MAX_SLOTS;
}

bool lfuse__bundle_fits(const lfuse__facts *facts, int members, int words, int operands)
{
    const int buffers = launch_slots(facts, operands) + 1;
    return 8 * ((uint64_t)launch_words(members, words) + (uint64_t)buffers) <= facts->info.max_argument_bytes;
}

static void find_places(lfuse__bundle *b)
{
    int at;
    for (int i = 0; i < b->nparts; i++) {
        b->places[i].first = b->members;
        b->members += b->parts[i].members;
        if (b->parts[i].k.noperands > b->operands) b->operands = b->parts[i].k.noperands;
    }
    at = b->head = launch_words(b->members, 0);
    for (int i = 0; i < b->nparts; i++) {
        lfuse__bundle_place *o = &b->places[i];
        int common = 0;
        o->words = lfuse__bundle_class_words(&b->parts[i].k);
        for (int w = 0; w < o->words; w++) o->rank[w] = lfuse__bundle_is_own(&b->parts[i], w) ? o->nown++ : common++;
        o->common = at;
        o->own = at + common;
        at = o->own + o->nown * b->parts[i].members;
    }
    b->words = at;
}

static lfuse_status parts_check(int nparts, const lfuse__bundle_part *parts)
{
    if (nparts < 1) return lfuse__error(LFUSE_ERR_INVALID, "a bundle of nothing");
    for (int i = 0; i < nparts; i++) {
        if (parts[i].members < 1)
            return lfuse__error(LFUSE_ERR_INVALID, "part %d of a bundle has %d members", i, parts[i].members);
        if (lfuse__family_local_bytes(&parts[i].k))
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "part %d of a bundle has dynamic local memory", i);
        if (lfuse__bundle_class_words(&parts[i].k) > LFUSE__MAX_WORDS)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "part %d of a bundle takes %d argument words", i,
                                lfuse__bundle_class_words(&parts[i].k));
    }
    return LFUSE_OK;
}

lfuse_status lfuse__bundle_create(int nparts, const lfuse__bundle_part *parts, lfuse__bundle **bundle)
{
    lfuse__bundle *b;
    LFUSE__TRY(parts_check(nparts, parts));
    b = calloc(1, sizeof *b);
    if (b) {
        b->nparts = nparts;
        b->parts = calloc((size_t)nparts, sizeof *b->parts);
        b->places = calloc((size_t)nparts, sizeof *b->places);
    }
    if (!b || !b->parts || !b->places) {
        lfuse__bundle_destroy(b);
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%d parts of a kernel)", nparts);
    }
    memcpy(b->parts, parts, (size_t)nparts * sizeof *parts);
    find_places(b);
    *bundle = b;
    return LFUSE_OK;
}

void lfuse__bundle_destroy(lfuse__bundle *b)
{
    if (!b) return;
    free(b->places);
    free(b->parts);
    free(b);
}

int lfuse__bundle_parts(const lfuse__bundle *b, const lfuse__bundle_part **parts)
{
    *parts = b->parts;
    return b->nparts;
}

int lfuse__bundle_words(const lfuse__bundle *b)
{
    return b->words;
}

int lfuse__bundle_slots(const lfuse__bundle *b, const lfuse__facts *facts)
{
    return launch_slots(facts, b->operands);
}

int lfuse__bundle_buffers(const lfuse__bundle *b, const lfuse__facts *facts)
{
    return lfuse__bundle_slots(b, facts) + 1;
}

static lfuse_status pack_member(const lfuse__bundle_part *part, const lfuse__bundle_place *at, int index,
                                const lfuse__bundle_member *m, bool first, const lfuse__facts *facts, uint64_t *words)
{
    for (int w = 0; w < at->words; w++) {
        uint64_t *own = &words[at->own + index * at->nown + at->rank[w]], *common = &words[at->common + at->rank[w]];
        const uint64_t word = m->packed->words[w];
        if (lfuse__bundle_has_memory(&part->k, w))
            *own = facts->addresses ? m->memory[w] : word | m->memory[w] << LFUSE__BUNDLE_SLOT_SHIFT;
        else if (lfuse__bundle_is_own(part, w))
            *own = word;
        else if (first)
            *common = word;
        else if (*common != word)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "argument word %d of a bundle's members differs: %" PRIu64
                                " and %" PRIu64, w, *common, word);
    }
    return LFUSE_OK;
}

static lfuse_status pack_part(const lfuse__bundle *b, int i, const lfuse__bundle_member *members,
                              const lfuse__facts *facts, lfuse__bundle_launch *launch)
{
    const lfuse__bundle_part *part = &b->parts[i];
    bool first = true;
    for (int n = 0; n < part->members; n++) {
        const lfuse__bundle_member *m = &members[b->places[i].first + n];
        if (!m->groups) continue;
        if (launch->group && launch->group != m->packed->group)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "groups of %u and %u work-items share no launch",
                                launch->group, m->packed->group);
        launch->group = m->packed->group;
        LFUSE__TRY(pack_member(part, &b->places[i], n, m, first, facts, launch->words));
        first = false;
    }
    return LFUSE_OK;
}

static lfuse_status pack_groups(const lfuse__bundle *b, const lfuse__bundle_member *members,
                                lfuse__bundle_launch *launch)
{
    launch->groups = 0;
    bool alike = true;
    for (int n = 0; n <= b->members; n++) {
        launch->words[LFUSE__BUNDLE_FIRST + n / 2] |= launch->groups << n % 2 * 32;
        if (n < b->members) launch->groups += members[n].groups;
        if (n < b->members) alike = alike && members[n].groups == members[0].groups;
        if (launch->groups > LFUSE__GROUP_BOUND)
            return lfuse__error(LFUSE_ERR_UNSUPPORTED, "a bundle of more than %d work-groups", LFUSE__GROUP_BOUND);
    }
    if (alike && launch->groups) {
        launch->words[LFUSE__BUNDLE_EACH] = members[0].groups;
        launch->words[LFUSE__BUNDLE_BY_EACH] = lfuse__division32(members[0].groups);
    }
    return LFUSE_OK;
}

lfuse_status lfuse__bundle_pack(const lfuse__bundle *b, const lfuse__facts *facts,
                                const lfuse__bundle_member *members, lfuse__bundle_launch *launch)
{
    memset(launch->words, 0, (size_t)b->words * sizeof *launch->words);
    launch->nwords = (unsigned)b->words;
    launch->group = 0;
    LFUSE__TRY(pack_groups(b, members, launch));
    for (int i = 0; i < b->nparts; i++) LFUSE__TRY(pack_part(b, i, members, facts, launch));
    return LFUSE_OK;
}
