/* SPDX-License-Identifier: Apache-2.0 */
/* Sums of scattered rows: the kernels are text/scatter.k. */
#include "common/base/error.h"
#include "common/kernels/emit.h"
#include "common/kernels/template.h"

#include "common/kernels/text/grid_stride.k.h"
#include "common/kernels/text/scatter.k.h"

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

lfuse_status lfuse__scatter_emit(lfuse__strbuf *out, const char *name, const lfuse__kernel_class *k,
                                 const lfuse__facts *facts)
{
    static const lfuse__place places[] = {{"GRID_STRIDE", put_grid_stride, 0}, {NULL}};
    const bool single = lfuse__scatter_single(k, facts);
    const int sizes = k->noperands;
    const lfuse__parameter parameters[] = {
        {"NAME", .word = name}, {"ITEMS", .number = single ? 1 : LFUSE__GROUP},
        {"WORDS", .number = lfuse__scatter_words(k)}, {"BUFFERS", .number = lfuse__kernel_buffers(k)},
        {"SINGLE", .number = single}, {"DIGITS", .number = 1 << lfuse__scatter_bits(facts)},
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
