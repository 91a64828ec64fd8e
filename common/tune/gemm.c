/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates for one product that are the vendor's algorithms, measured over operands of their own. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/tune/tuner.h"

typedef struct lfuse__gemm_choice {
    struct lfuse__gemm_choice *next;
    lfuse__gemm_desc desc;
    bool measured;
    lfuse__gemm_candidate candidate;
} choice;

typedef struct algorithms {
    lfuse_device *dev;
    const lfuse__gemm_desc *desc;
    int count; /* 0: they are not listed yet */
    lfuse__gemm_candidate all[LFUSE__CANDIDATES];
    lfuse__gemm *prepared[LFUSE__CANDIDATES];
    lfuse__range *memory; /* a, b, c, what the epilogue takes, workspace behind each other */
    lfuse__gemm_args args;
} algorithms;

/* ---- the operands ---- */

static uint64_t aligned(uint64_t bytes)
{
    return (bytes + 255) / 256 * 256;
}

/* Of the matrices of one operand, each of `one` elements. */
static uint64_t span(const lfuse__gemm_desc *d, lfuse_type type, int64_t one, int64_t stride)
{
    const int64_t more = d->batch ? (d->batch - 1) * stride : 0;

    return aligned((uint64_t)(one + more) * (uint64_t)lfuse_type_size(type));
}

/* Of what the epilogue takes. */
static uint64_t bytes_of_input(const lfuse__gemm_desc *d, int i)
{
    const lfuse_type type = lfuse__gemm_result(d);
    const lfuse__gemm_input *in = &d->inputs[i];
    const int64_t rows = lfuse__epilogue_inputs[i].rows ? d->m : 1;
    const int64_t columns = lfuse__epilogue_inputs[i].columns ? d->n : 1;

    if (!in->taken) return 0;
    if (lfuse__epilogue_takes_matrix(i)) return span(d, type, rows * in->ld, in->stride);
    return aligned((uint64_t)(rows * columns) * (uint64_t)lfuse_type_size(type));
}

static lfuse_status set_up(void *context, lfuse_stream *s)
{
    algorithms *p = context;
    const lfuse__gemm_desc *d = p->desc;
    const lfuse_type result = lfuse__gemm_result(d);
    const uint64_t a_bytes = span(d, d->type, (d->ta ? d->k : d->m) * d->lda, d->stride_a);
    const uint64_t b_bytes = span(d, d->type, (d->tb ? d->n : d->k) * d->ldb, d->stride_b);
    const uint64_t c_bytes = span(d, result, d->m * d->ldc, d->stride_c);
    uint64_t results = c_bytes, workspace = 0, at;
    int i;

    for (i = 0; i < LFUSE__EPILOGUE_INPUTS; i++) results += bytes_of_input(d, i);
    for (i = 0; i < p->count; i++)
        if (p->all[i].workspace > workspace) workspace = p->all[i].workspace;
    LFUSE__TRY(lfuse__range_create(p->dev, a_bytes + b_bytes + results + workspace, &p->memory));
    p->args.alpha = 1;
    p->args.beta = d->has_beta ? 0.5 : 0; /* what is added to stays small */
    p->args.a = p->args.b = p->args.c = p->args.workspace = p->memory->mem;
    p->args.a_offset = p->memory->offset;
    p->args.b_offset = p->args.a_offset + a_bytes;
    p->args.c_offset = p->args.b_offset + b_bytes;
    at = p->args.c_offset + c_bytes;
    for (i = 0; i < LFUSE__EPILOGUE_INPUTS; at += bytes_of_input(d, i++)) {
        if (d->inputs[i].taken) p->args.inputs[i] = p->memory->mem;
        p->args.input_offsets[i] = at;
    }
    p->args.workspace_offset = at;
    LFUSE__TRY(lfuse__fill_random(s, p->memory, 0, a_bytes + b_bytes, d->type));
    return lfuse__fill_random(s, p->memory, a_bytes + b_bytes, results, result);
}

static void tear_down(void *context)
{
    algorithms *p = context;

    lfuse__range_release(p->memory);
}

/* ---- the candidates ---- */

static lfuse_status list(void *context, int *count)
{
    algorithms *p = context;

    if (!p->count) LFUSE__TRY(lfuse__gemm_candidates(p->dev, p->desc, LFUSE__CANDIDATES, p->all, &p->count));
    *count = p->count;
    return LFUSE_OK;
}

static lfuse__candidate_name name(void *context, int i)
{
    const algorithms *p = context;

    return (lfuse__candidate_name){ p->all[i].provider, p->all[i].identity };
}

static lfuse_status prepare(void *context, int i)
{
    algorithms *p = context;

    return lfuse__gemm_prepare(p->dev, p->desc, &p->all[i], &p->prepared[i]);
}

static lfuse_status run(void *context, int i, lfuse_stream *s)
{
    algorithms *p = context;

    return lfuse__gemm_run(s, p->prepared[i], &p->args);
}

static void release(void *context, int i)
{
    algorithms *p = context;

    lfuse__gemm_destroy(p->prepared[i]);
}

/* ---- the choice ---- */

/* Appends to a name, which has room for the words and for twelve numbers of any size. */
LFUSE_PRINTF(3, 4)
static void add(char text[LFUSE__PROBLEM_NAME], int *length, const char *format, ...)
{
    va_list values;

    va_start(values, format);
    *length += vsnprintf(text + *length, LFUSE__PROBLEM_NAME - (size_t)*length, format, values);
    va_end(values);
}

/* All of the description, in the words of lfuse-bench: what differs in the least is another product. */
static void name_product(const lfuse__gemm_desc *d, char text[LFUSE__PROBLEM_NAME])
{
    const char *function = lfuse__epilogue_words[d->epilogue];
    int length = 0, i;

    add(text, &length, "gemm:%" PRId64 "x%" PRId64 "x%" PRId64 ":%s:%c%c:ld%" PRId64 ",%" PRId64 ",%" PRId64 "%s",
        d->m, d->n, d->k, lfuse_type_name(d->type), d->ta ? 't' : 'n', d->tb ? 't' : 'n', d->lda, d->ldb, d->ldc,
        d->has_beta ? ":beta" : "");
    for (i = LFUSE__EPILOGUE_INPUTS - 1; i >= 0; i--)
        if (d->inputs[i].taken) add(text, &length, "%s", lfuse__epilogue_inputs[i].word);
    if (function)
        add(text, &length, "%s%s", d->inputs[LFUSE__INPUT_BIAS].taken ? "+" : ":ep=", function);
    add(text, &length, "%s%s", d->wide ? ":to=f32" : "", d->tf32 ? ":tf32" : "");
    if (d->batch)
        add(text, &length, ":batch%" PRId64 ":stride%" PRId64 ",%" PRId64 ",%" PRId64, d->batch, d->stride_a,
            d->stride_b, d->stride_c);
    for (i = 0; i < LFUSE__EPILOGUE_INPUTS; i++)
        if (d->inputs[i].ld) add(text, &length, ":add%" PRId64 ",%" PRId64, d->inputs[i].ld, d->inputs[i].stride);
}

static lfuse_status choose(lfuse_device *dev, lfuse_stream *busy, bool measured, const lfuse__gemm_desc *desc,
                           lfuse__gemm_candidate *candidate)
{
    char problem[LFUSE__PROBLEM_NAME], title[96];
    algorithms p = { .dev = dev, .desc = desc };
    const lfuse__candidates c = { .problem = problem, .title = title, .measure = measured, .required = true,
                                  .context = &p, .list = list, .name = name, .set_up = set_up, .tear_down = tear_down,
                                  .prepare = prepare, .release = release, .run = run };
    int chosen;

    name_product(desc, problem);
    snprintf(title, sizeof title, "product %" PRId64 " x %" PRId64 " x %" PRId64, desc->m, desc->n, desc->k);
    LFUSE__TRY(lfuse__tune(dev, busy, &c, &chosen));
    if (!p.count) LFUSE__TRY(lfuse__gemm_candidates(dev, desc, 1, p.all, &p.count));
    *candidate = p.all[chosen < 0 ? 0 : chosen];
    return LFUSE_OK;
}

lfuse_status lfuse__gemm_choose_low_memory(lfuse_device *dev, const lfuse__gemm_desc *desc,
                                           lfuse__gemm_candidate *candidate)
{
    lfuse__gemm_candidate all[LFUSE__CANDIDATES];
    char text[LFUSE__PROBLEM_NAME];
    int count, i;

    LFUSE__TRY(lfuse__gemm_candidates(dev, desc, LFUSE__CANDIDATES, all, &count));
    for (i = 0; i < count && all[i].workspace; i++) continue;
    if (i < count) {
        *candidate = all[i];
        return LFUSE_OK;
    }
    name_product(desc, text);
    return lfuse__error(LFUSE_ERR_DEVICE_MEMORY, "%s: no algorithm of %d does without workspace, for which there is no "
                        "memory", text, count);
}

/* ---- choices that were made ---- */

void lfuse__gemm_choices_forget(lfuse__tuner *t)
{
    while (t->gemms) {
        choice *c = t->gemms;
        t->gemms = c->next;
        free(c);
    }
}

static bool recall(lfuse__tuner *t, bool measured, const lfuse__gemm_desc *desc, lfuse__gemm_candidate *candidate)
{
    const choice *c;

    pthread_mutex_lock(&t->lock);
    for (c = t->gemms; c; c = c->next)
        if (c->measured == measured && !memcmp(&c->desc, desc, sizeof *desc)) break;
    if (c) *candidate = c->candidate;
    pthread_mutex_unlock(&t->lock);
    return c != NULL;
}

/* Without memory it is chosen again the next time. */
static void remember(lfuse__tuner *t, bool measured, const lfuse__gemm_desc *desc,
                     const lfuse__gemm_candidate *candidate)
{
    choice *c = malloc(sizeof *c);

    if (!c) return;
    memcpy(&c->desc, desc, sizeof *desc); /* with the padding, as it is compared */
    c->measured = measured;
    c->candidate = *candidate;
    pthread_mutex_lock(&t->lock);
    c->next = t->gemms;
    t->gemms = c;
    pthread_mutex_unlock(&t->lock);
}

lfuse_status lfuse__gemm_choose(lfuse_device *dev, lfuse_stream *busy, bool measured, const lfuse__gemm_desc *desc,
                                lfuse__gemm_candidate *candidate)
{
    lfuse_status status = LFUSE_OK;
    lfuse__tuner *t;

    LFUSE__TRY(lfuse__tuner_get(dev, &t));
    if (recall(t, measured, desc, candidate)) return LFUSE_OK;
    pthread_mutex_lock(&t->measuring);
    if (!recall(t, measured, desc, candidate)) { /* nobody has chosen it while this one waited */
        status = choose(dev, busy, measured, desc, candidate);
        if (!status) remember(t, measured, desc, candidate);
    }
    pthread_mutex_unlock(&t->measuring);
    return status;
}
