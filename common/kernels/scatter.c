/* SPDX-License-Identifier: Apache-2.0 */
/* Scattered rows: classes, sizes and argument words of the phases. */
#include <inttypes.h>
#include <string.h>

#include "common/base/error.h"
#include "common/kernels/emit.h"
#include "common/kernels/families.h"
#include "common/kernels/template.h"

#include "common/kernels/text/grid_stride.k.h"
#include "common/kernels/text/scatter.k.h"

enum {
    DIGIT_OF_ITEMS = 6, DIGIT_OF_LANES = 8,  /* bits: counts of one run are an array of a work-item */
    RUN_OF_ITEMS = 128, RUN_OF_LANES = 4096, /* slots of a run at least */
    MOST_RUNS = 8192
};

static int digit_bits(const lfuse__facts *facts)
{
    return facts->vector_lanes ? DIGIT_OF_LANES : DIGIT_OF_ITEMS;
}

static int words_of(const lfuse__kernel_class *k)
{
    return k->noperands + LFUSE__SCATTER_SIZES + 2 * lfuse__kernel_gathers(k);
}

static bool is_single(const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    return k->scatter == LFUSE__SCATTER_PREFIX ? lfuse__single(facts) : facts->vector_lanes;
}

int lfuse__scatter_class(lfuse__scatter_phase phase, lfuse_type type, lfuse_type indices, lfuse__kernel_class *k)
{
    static const lfuse__body nothing;
    static const int8_t count[] = {
        [LFUSE__SCATTER_KEYS] = 2,  [LFUSE__SCATTER_COUNT] = 2,  [LFUSE__SCATTER_PREFIX] = 1,
        [LFUSE__SCATTER_PLACE] = 3, [LFUSE__SCATTER_FIRSTS] = 2, [LFUSE__SCATTER_SUM] = 4,
    };
    memset(k, 0, sizeof *k);
    k->family = LFUSE__FAMILY_SCATTER;
    k->body = &nothing;
    k->scatter = phase;
    k->rank = 1;
    k->noperands = count[phase];
    for (int j = 0; j < k->noperands; j++)
        k->operands[j] = (lfuse__kernel_operand){.type = LFUSE_I64, .inner = LFUSE__STRIDE_UNIT};
    k->operands[k->noperands - 1].written = true;
    if (phase == LFUSE__SCATTER_KEYS) {
        k->operands[0].type = indices;
        k->operands[0].gathered = true;
    }
    if (phase == LFUSE__SCATTER_SUM) k->operands[0].type = k->operands[3].type = type;
    return k->noperands;
}

lfuse_status lfuse__scatter_sizes(const lfuse__facts *facts, int64_t positions, int64_t rows, int64_t rest,
                                  int64_t *sizes, int *digits)
{
    const int64_t most = INT64_C(1) << 31, least = facts->vector_lanes ? RUN_OF_LANES : RUN_OF_ITEMS;
    int64_t each, runs;
    if (positions > most || rows >= most)
        return lfuse__error(LFUSE_ERR_UNSUPPORTED,
                            "%" PRId64 " scattered rows are added to %" PRId64 ": at most 2^31 to "
                            "fewer than 2^31", positions, rows);
    sizes[LFUSE__SCATTER_POSITIONS] = positions;
    sizes[LFUSE__SCATTER_SLOTS] = (positions + LFUSE__SEGMENT - 1) / LFUSE__SEGMENT * LFUSE__SEGMENT;
    sizes[LFUSE__SCATTER_ROWS] = rows;
    sizes[LFUSE__SCATTER_REST] = rest;
    each = (sizes[LFUSE__SCATTER_SLOTS] + MOST_RUNS - 1) / MOST_RUNS;
    if (each < least) each = least;
    runs = (sizes[LFUSE__SCATTER_SLOTS] + each - 1) / each;
    sizes[LFUSE__SCATTER_RUNS] = runs;
    sizes[LFUSE__SCATTER_EACH] = each;
    sizes[LFUSE__SCATTER_STARTS] = rows + 1;
    sizes[LFUSE__SCATTER_SHIFT] = 32;
    *digits = 0;
    while (rows >> (*digits * digit_bits(facts))) ++*digits;
    return LFUSE_OK;
}

void lfuse__scatter_digit(const lfuse__facts *facts, int digit, int64_t *sizes)
{
    sizes[LFUSE__SCATTER_SHIFT] = 32 + digit * digit_bits(facts);
}

uint64_t lfuse__scatter_counts(const lfuse__facts *facts, const int64_t *sizes)
{
    return (uint64_t)sizes[LFUSE__SCATTER_RUNS] << digit_bits(facts);
}

static uint64_t units(const lfuse__kernel_class *k, bool single, const int64_t *sizes)
{
    switch (k->scatter) {
    case LFUSE__SCATTER_KEYS: return (uint64_t)sizes[LFUSE__SCATTER_SLOTS];
    case LFUSE__SCATTER_COUNT:
    case LFUSE__SCATTER_PLACE: return (uint64_t)sizes[LFUSE__SCATTER_RUNS];
    case LFUSE__SCATTER_FIRSTS: return (uint64_t)sizes[LFUSE__SCATTER_STARTS];
    case LFUSE__SCATTER_SUM:
        return (uint64_t)sizes[LFUSE__SCATTER_ROWS] * (single ? 1 : (uint64_t)sizes[LFUSE__SCATTER_REST]);
    case LFUSE__SCATTER_PREFIX:
    case LFUSE__SCATTER_PHASES: break;
    }
    return 1;
}

static lfuse_status pack(const lfuse__kernel_class *k, const lfuse__facts *facts, const lfuse__geometry *g,
                         lfuse__packed *packed)
{
    const bool single = is_single(k, facts);
    int at = 0;
    for (int j = 0; j < k->noperands; j++) packed->words[at++] = g->offsets[j];
    for (int i = 0; i < LFUSE__SCATTER_SIZES; i++) packed->words[at++] = (uint64_t)g->extents[i];
    if (lfuse__kernel_gathers(k)) {
        packed->words[at++] = g->reporter;
        packed->words[at++] = g->reports;
    }
    packed->nwords = (unsigned)at;
    packed->group = single ? 1 : LFUSE__GROUP;
    packed->groups = lfuse__groups(facts, single, units(k, single, g->extents), packed->group);
    return LFUSE_OK;
}

/* ---- the text ---- */

typedef struct writer {
    lfuse__strbuf *out;
    const lfuse__parameter *parameters;
} writer;

static void put_grid_stride(const void *context, int which, int indent)
{
    const writer *w = context;
    (void)which;
    lfuse__put_text(w->out, indent, lfuse__text_grid_stride, w->parameters, NULL, NULL);
}

static lfuse_status emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k, const lfuse__facts *facts)
{
    static const lfuse__text_place places[] = {{"GRID_STRIDE", put_grid_stride, 0}, {NULL}};
    const bool single = is_single(k, facts);
    const int sizes = k->noperands;
    const lfuse__parameter parameters[] = {
        {"NAME", .word = name}, {"ITEMS", .number = single ? 1 : LFUSE__GROUP},
        {"WORDS", .number = words_of(k)}, {"BUFFERS", .number = lfuse__kernel_buffers(k)},
        {"SINGLE", .number = single}, {"DIGITS", .number = 1 << digit_bits(facts)},
        {"TYPE", .word = lfuse__memory_word(k->operands[0].type)},
        {"T", .word = lfuse__register_word(k->operands[0].type)},
        {"PHASE_KEYS", .number = k->scatter == LFUSE__SCATTER_KEYS},
        {"PHASE_COUNT", .number = k->scatter == LFUSE__SCATTER_COUNT},
        {"PHASE_PREFIX", .number = k->scatter == LFUSE__SCATTER_PREFIX},
        {"PHASE_PLACE", .number = k->scatter == LFUSE__SCATTER_PLACE},
        {"PHASE_STARTS", .number = k->scatter == LFUSE__SCATTER_FIRSTS},
        {"PHASE_SUM", .number = k->scatter == LFUSE__SCATTER_SUM},
        {"POSITIONS", .number = sizes + LFUSE__SCATTER_POSITIONS},
        {"SLOTS", .number = sizes + LFUSE__SCATTER_SLOTS}, {"ROWS", .number = sizes + LFUSE__SCATTER_ROWS},
        {"REST", .number = sizes + LFUSE__SCATTER_REST}, {"RUNS", .number = sizes + LFUSE__SCATTER_RUNS},
        {"EACH", .number = sizes + LFUSE__SCATTER_EACH}, {"SHIFT", .number = sizes + LFUSE__SCATTER_SHIFT},
        {"STARTS", .number = sizes + LFUSE__SCATTER_STARTS}, {"REPORTER", .number = sizes + LFUSE__SCATTER_SIZES},
        {"REPORTS", .number = sizes + LFUSE__SCATTER_SIZES + 1}, {NULL},
    };
    const writer w = {out, parameters};

    LFUSE__TRY(lfuse__class_check(name, k, facts));
    lfuse__put_text(out, 0, lfuse__text_scatter, parameters, places, &w);
    return lfuse__strbuf_check(out);
}

static void key(const lfuse__kernel_class *k, lfuse__kernel_key *to)
{
    lfuse__key_add(to, (int32_t)k->scatter);
}

const lfuse__kernel_family lfuse__family_scatter = {
    .emit = emit, .key = key, .pack = pack, .buffers = lfuse__kernel_buffers,
};
