/* SPDX-License-Identifier: Apache-2.0 */
/* Chains of products in one launch: shapes for sizes, argument words. The kernel is text/mlp.k. */
#include "common/base/costs.h"
#include "common/base/error.h"
#include "common/kernels/families.h"
#include "common/matmul/mlp.h"
#include "common/matmul/solver.h"

enum {
    DEEPEST = 16,           /* vectors of weights that a work-item holds: 64 registers */
    READERS = 16,           /* groups that read one copy of tagged words */
    OTHER_BYTES = 2 << 10,  /* of local memory, for what a group has beside sums and rows */
    VECTOR = 4,
    TEAMS = LFUSE__GROUP / LFUSE__TEAM,
    HALF = 2                /* of the device's cache: weights that are sent for early have to stay there */
};

_Static_assert(LFUSE__NETWORK_HEAD + LFUSE__NETWORK_OWN * LFUSE__NETWORK_PLACES_MOST <= LFUSE__MAX_WORDS, "words");

/* ---- the solver ---- */

bool lfuse__network_runs_on(const lfuse__facts *facts)
{
    return facts->resident_groups && facts->addresses && !facts->vector_lanes;
}

/* All matrices have one type, and their sums are of f32. */
static const char *declines(const lfuse__facts *facts, const lfuse__matmul_desc *desc)
{
    const lfuse_type type = desc->types[0];

    (void)facts;
    if (desc->batched) return "it takes no batches";
    if (desc->prologue) return "its operands have to lie in memory";
    if (desc->types[1] != type || desc->result != type) return "its matrices are of one type";
    return type == LFUSE_F32 || type == LFUSE_F16 || type == LFUSE_BF16 ? NULL : "its sums are of f32";
}

bool lfuse__network_pays(const lfuse__facts *facts, lfuse_type type, int count, const lfuse__matmul_sizes *layers)
{
    uint64_t elements = 0, more;
    int i;

    for (i = 0; i < count; i++)
        if (__builtin_mul_overflow((uint64_t)layers[i].n, (uint64_t)layers[i].k, &more) ||
            __builtin_add_overflow(elements, more, &elements))
            return false;
    return elements <= facts->info.cache_bytes / HALF / lfuse__type_bytes(type);
}

const lfuse__solver lfuse__mlp = {.name = "mlp", .runs_on = lfuse__network_runs_on, .declines = declines};

/* ---- the class ---- */

int lfuse__network_slot(const lfuse__kernel_class *c, int j)
{
    int i, at = LFUSE__NETWORK_OWN;

    for (i = LFUSE__PRODUCT_OWN; i < j; i++)
        if (!c->operands[i].written) at += 3;
    return at;
}

int lfuse__network_record(const lfuse__kernel_class *c)
{
    return lfuse__network_slot(c, c->noperands);
}

int lfuse__network_head(const lfuse__kernel_class *c)
{
    return LFUSE__NETWORK_HEAD + c->body->nnumbers;
}

/* Whether the argument words of so many layers fit. */
static bool fits(const lfuse__kernel_class *c, int nlayers)
{
    return nlayers <= LFUSE__NETWORK_LAYERS_MOST &&
           lfuse__network_head(c) + nlayers * lfuse__network_record(c) <= LFUSE__MAX_WORDS;
}

/* Returns the rows, and the largest n and k of all layers. */
static lfuse__matmul_sizes largest(const lfuse__network *w)
{
    lfuse__matmul_sizes most = { .m = w->m };
    int i;

    for (i = 0; i < w->nlayers; i++) {
        if (w->layers[i].n > most.n) most.n = w->layers[i].n;
        if (w->layers[i].k > most.k) most.k = w->layers[i].k;
    }
    return most;
}

/* Local memory: sums of each team, and the rows of A, transposed, where there are several. */
static int64_t local_bytes(const lfuse__product_class *p)
{
    const int64_t deep = (int64_t)lfuse__network_pitch(p) * p->depth;

    return 4 * ((int64_t)TEAMS * p->rows * p->columns * (p->rows == 1 ? 2 : 1) + (p->rows > 1 ? deep * p->rows : 0));
}

/* How many sums a team's work-items exchange: WARP_SUMS of text/mlp.k. */
static int exchanges(const lfuse__product_class *p)
{
    int count = VECTOR * p->rows, distance, all = 0;

    for (distance = 16; distance >= p->columns / VECTOR; distance /= 2) {
        if (count > 1) count /= 2;
        all += count;
    }
    return all;
}

/*
 * What a layer takes of a group, in cycles: fma of four to a work-item's vector, by the lanes of a compute unit; values
 * that are handed on, and weights, of `size` bytes each, at what a compute unit gets from the cache; folding of the
 * sums; and that each group of a block of rows waits for all others of it, in tagged words, which all of them read, or
 * behind a counter, whose way there and back is longer, whatever they are.
 */
static double cost(const lfuse__costs *costs, const lfuse__product_class *p, const lfuse__matmul_sizes *most,
                   unsigned size)
{
    const double k = (double)most->k, groups = (double)lfuse__ceil_div(most->n, p->columns);
    const lfuse__network_costs *of = &costs->network;
    const double fma = LFUSE__GROUP / costs->lanes * VECTOR * p->rows * p->depth;
    const double bytes = (p->counted ? 4.0 : 8.0) * k * p->rows + of->weights * size * k * p->columns;

    return fma + bytes / of->cache_bytes + of->exchange * exchanges(p) +
           (p->counted ? of->counter + of->arrival * groups : of->tag * groups);
}

static bool shape(const lfuse__facts *facts, const lfuse__network_costs *costs, const lfuse__matmul_sizes *most,
                  int rows, int columns, lfuse__product_class *p)
{
    const int64_t each = LFUSE__GROUP / (columns / VECTOR);
    const int64_t deep = lfuse__ceil_div(most->k, each), across = lfuse__ceil_div(most->n, columns);
    int depth = 1;

    if (deep > DEEPEST) return false;
    while (depth < deep) depth *= 2;
    p->sum = LFUSE_F32;
    p->rows = rows;
    p->columns = columns;
    p->depth = depth;
    p->counted = rows * most->k > costs->tagged_values || across > costs->tagged_readers;
    return lfuse__ceil_div(most->m, rows) * across <= (int64_t)facts->resident_groups &&
           local_bytes(p) + OTHER_BYTES <= (int64_t)facts->info.local_bytes;
}

/* By products of f16 and bf16: those of the device's maker, and tiles where they can. This kernel does not use them. */
static bool tensor_cores_are_used(const lfuse__facts *facts)
{
    return facts->products == LFUSE__PRODUCTS_TUNED || facts->tensor_cores;
}

lfuse_status lfuse__network_choose(const lfuse__facts *facts, const lfuse__network *w, lfuse__kernel_class *c)
{
    static const int rows[] = { 1, 4, 8, 16 };
    const lfuse__costs costs = lfuse__costs_of(facts);
    const unsigned size = lfuse__type_bytes(c->operands[LFUSE__PRODUCT_B].type);
    const lfuse__matmul_sizes most = largest(w);
    lfuse__product_class tried = c->product, best = tried;
    bool found = false;
    size_t i;
    int columns;

    if (!lfuse__network_runs_on(facts))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s does not say which work-groups run at the same time",
                            facts->info.name);
    if (!fits(c, w->nlayers))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%d layers take more argument words than a launch has", w->nlayers);
    if (size < sizeof(float) && tensor_cores_are_used(facts) &&
        (double)most.m * (double)most.k * (double)most.n > costs.network.narrow_products)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%lld rows of layers of up to %lld x %lld: tensor cores are "
                            "taken for faster", (long long)w->m, (long long)most.k, (long long)most.n);
    for (i = 0; i < sizeof rows / sizeof *rows; i++)
        for (columns = VECTOR; columns <= 8 * VECTOR; columns *= 2) {
            if (!shape(facts, &costs.network, &most, rows[i], columns, &tried)) continue;
            if (found && cost(&costs, &tried, &most, size) >= cost(&costs, &best, &most, size)) continue;
            best = tried;
            found = true;
        }
    if (!found)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%lld rows of layers of up to %lld x %lld are more than the %u "
                            "work-groups hold that run at the same time", (long long)w->m, (long long)most.k,
                            (long long)most.n, facts->resident_groups);
    if (cost(&costs, &best, &most, size) > costs.network.most)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "%d layers of %lld rows, up to %lld x %lld: launches of their own "
                            "are taken for faster", w->nlayers, (long long)w->m, (long long)most.k,
                            (long long)most.n);
    c->rank = 2;
    c->product = best;
    return LFUSE_OK;
}

/* The workspace: counters of all blocks of rows, then `copies` of two halves of values, which layers take by turns. */
typedef struct space {
    uint64_t counters, block, half; /* bytes; of a block's values: whole vectors of 16 */
    uint64_t down, across, copies;  /* blocks of rows, groups of each */
} space;

static space space_of(const lfuse__product_class *p, const lfuse__network *w)
{
    const lfuse__matmul_sizes most = largest(w);
    space s = { .down = (uint64_t)lfuse__ceil_div(w->m, p->rows),
                .across = (uint64_t)lfuse__ceil_div(most.n, p->columns) };

    s.counters = s.down * LFUSE__NETWORK_APART;
    s.block = (uint64_t)lfuse__ceil_div(most.n * p->rows, VECTOR) * VECTOR * (p->counted ? 4 : 8);
    s.half = s.down * s.block;
    s.copies = p->counted ? 1 : (uint64_t)lfuse__ceil_div((int64_t)s.across, READERS);
    return s;
}

uint64_t lfuse__network_workspace(const lfuse__kernel_class *c, const lfuse__network *w)
{
    const space s = space_of(&c->product, w);

    return s.counters + 2 * s.half * s.copies;
}

static void put_place(const lfuse__network_place *from, uint64_t *words)
{
    words[0] = from->address;
    words[1] = (uint64_t)from->row;
    words[2] = (uint64_t)from->column;
}

static void pack_layer(const lfuse__kernel_class *c, const lfuse__network_layer *layer, uint64_t *words)
{
    const lfuse__network_place *b = &layer->operands[LFUSE__PRODUCT_B];
    const int64_t vector = c->product.tb ? lfuse__network_along(&c->product) : VECTOR;
    const int64_t apart = c->product.tb ? b->column : b->row, length = c->product.tb ? layer->k : layer->n;
    const uint64_t bytes = (uint64_t)vector * lfuse__type_bytes(c->operands[LFUSE__PRODUCT_B].type);
    const bool vectors = b->address % bytes == 0 && apart % vector == 0 && length % vector == 0;
    int j;

    words[LFUSE__NETWORK_B] = b->address;
    words[LFUSE__NETWORK_SIZES] = (uint64_t)layer->n | (uint64_t)layer->k << 32;
    words[LFUSE__NETWORK_LD] = (uint64_t)apart << LFUSE__NETWORK_STEP | (uint64_t)layer->kind << LFUSE__NETWORK_KIND |
                               (uint64_t)vectors << LFUSE__NETWORK_VECTORS;
    for (j = LFUSE__PRODUCT_OWN; j < c->noperands; j++)
        if (!c->operands[j].written) put_place(&layer->operands[j], words + lfuse__network_slot(c, j));
}

void lfuse__network_pack(const lfuse__kernel_class *c, const lfuse__network *w, lfuse__packed *packed)
{
    const lfuse__network_layer *last = &w->layers[w->nlayers - 1];
    const space s = space_of(&c->product, w);
    uint64_t *words = packed->words;
    int i, j;

    packed->groups = s.down * s.across;
    packed->group = LFUSE__GROUP;
    packed->nwords = (unsigned)(lfuse__network_head(c) + w->nlayers * lfuse__network_record(c));
    words[LFUSE__NETWORK_ROWS] = (uint64_t)w->m;
    words[LFUSE__NETWORK_ACROSS] = s.across;
    words[LFUSE__NETWORK_COUNT] = (uint64_t)w->nlayers;
    words[LFUSE__NETWORK_SPACE] = w->workspace;
    words[LFUSE__NETWORK_DATA] = s.counters;
    words[LFUSE__NETWORK_BLOCK] = s.block;
    words[LFUSE__NETWORK_HALF] = s.half;
    words[LFUSE__NETWORK_COPY] = 2 * s.half;
    words[LFUSE__NETWORK_COPIES] = s.copies;
    put_place(&w->layers[0].operands[LFUSE__PRODUCT_A], words + LFUSE__NETWORK_A);
    for (j = LFUSE__PRODUCT_OWN; j < c->noperands; j++)
        if (c->operands[j].written) put_place(&last->operands[j], words + LFUSE__NETWORK_OUT);
    lfuse__numbers_pack(c->body, w->numbers, words + LFUSE__NETWORK_HEAD);
    for (i = 0; i < w->nlayers; i++)
        pack_layer(c, &w->layers[i], words + lfuse__network_head(c) + i * lfuse__network_record(c));
}

static void key(const lfuse__kernel_class *k, lfuse__kernel_key *key)
{
    lfuse__key_add_product(key, &k->product);
}

const lfuse__kernel_family lfuse__family_network = {
    .emit = lfuse__network_emit, .key = key, .late = "layers of these rows in one launch",
};
