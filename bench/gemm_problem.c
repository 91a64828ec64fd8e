/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/gemm_problem.h"

#include <math.h>
#include <string.h>

#include "bench/gemm_check.h"
#include "common/base/error.h"
#include "common/base/precision.h"
#include "common/graph/op.h"

enum { MOST_EXTENT = 1 << 24, MOST_BATCH = 1 << 16 };
static const double most_elements = 0x1p40; /* of a tensor */

static bool take_sizes(const char *word, gemm_problem *p)
{
    long long m, n, k;
    char rest;
    if (p->m || sscanf(word, "%lldx%lldx%lld%c", &m, &n, &k, &rest) != 3) return false;
    if (m < 1 || n < 1 || k < 1 || m > MOST_EXTENT || n > MOST_EXTENT || k > MOST_EXTENT) return false;
    p->m = m, p->n = n, p->k = k;
    return true;
}

static bool take_batch(const char *word, gemm_problem *p)
{
    long long batch;
    char rest;
    if (p->batch || sscanf(word, "b%lld%c", &batch, &rest) != 1 || batch < 1 || batch > MOST_BATCH) return false;
    p->batch = batch;
    return true;
}

static bool take_turns(const char *word, gemm_problem *p)
{
    if (p->turn_a || p->turn_b || strlen(word) != 2 || strspn(word, "nt") != 2) return false;
    p->turn_a = word[0] == 't';
    p->turn_b = word[1] == 't';
    return true;
}

static bool take_type(const char *word, lfuse_type *type)
{
    for (int t = LFUSE_F32; t < LFUSE__TYPES; t++) {
        if (*type != LFUSE_TYPE_NONE || !lfuse__is_floating((lfuse_type)t) ||
            strcmp(word, lfuse_type_name((lfuse_type)t)))
            continue;
        *type = (lfuse_type)t;
        return true;
    }
    return false;
}

static bool take_precision(const char *word, lfuse_precision *precision)
{
    lfuse_precision found;
    if (*precision != LFUSE_PRECISION_FULL || !lfuse__precision_find(word, &found) || !lfuse__is_of_f32(found))
        return false;
    *precision = found;
    return true;
}

static bool take_flag(const char *word, const char *name, bool *flag)
{
    if (*flag || strcmp(word, name)) return false;
    return *flag = true;
}

static bool take_activation(const char *word, bench_activation *activation)
{
    if (*activation != BENCH_RELU) return false;
    if (!strcmp(word, "gelu")) *activation = BENCH_GELU;
    if (!strcmp(word, "gelu_tanh")) *activation = BENCH_GELU_TANH;
    return *activation != BENCH_RELU;
}

static bool take_types(const char *word, gemm_problem *p)
{
    if (!strncmp(word, "to=", 3)) return take_type(word + 3, &p->to);
    return take_precision(word, &p->precision) || take_type(word, &p->type);
}

static bool take_words(const char *text, gemm_problem *p)
{
    char words[BENCH_MAX_PROBLEM], *next = NULL;
    if (strlen(text) >= sizeof words || strncmp(text, "gemm:", 5)) return false;
    snprintf(words, sizeof words, "%s", text + 5);
    for (char *word = strtok_r(words, ":", &next); word; word = strtok_r(NULL, ":", &next))
        if (!take_types(word, p) && !take_turns(word, p) && !take_batch(word, p) &&
            !take_flag(word, "frozen", &p->frozen) && !take_activation(word, &p->activation) &&
            !take_sizes(word, p))
            return false;
    return p->m > 0 && !(p->batch && p->frozen);
}

lfuse_status gemm_problem_parse(const char *text, gemm_problem *p)
{
    *p = (gemm_problem){.type = LFUSE_TYPE_NONE, .to = LFUSE_TYPE_NONE};
    const bool taken = take_words(text, p);
    const double each = fmax((double)p->m * (double)p->n, fmax((double)p->m * (double)p->k,
                                                               (double)p->k * (double)p->n));
    if (!taken || each * (double)gemm_problem_count(p) > most_elements)
        return lfuse__error(LFUSE_ERR_INVALID, "%s: expected gemm:<m>x<n>x<k>[:TYPE][:to=TYPE][:tf32%s]"
                            "[:nt|tn|tt][:b<count>|frozen][:gelu|gelu_tanh]", text,
                            lfuse__precisions_that_split("|").text);
    if (p->type == LFUSE_TYPE_NONE) p->type = LFUSE_F32;
    /* Few sums of numbers of 8 bits fit into 8 bits. */
    if (p->to == LFUSE_TYPE_NONE) p->to = lfuse_type_size(p->type) == 1 ? LFUSE_F32 : p->type;
    if (p->precision != LFUSE_PRECISION_FULL && p->type != LFUSE_F32)
        return lfuse__error(LFUSE_ERR_INVALID, "%s: %s is of f32 operands", text,
                            lfuse__precisions[p->precision].word);
    return LFUSE_OK;
}

int64_t gemm_problem_count(const gemm_problem *p)
{
    return p->batch ? p->batch : 1;
}

double gemm_problem_work(const gemm_problem *p)
{
    return (double)gemm_problem_count(p) * (double)p->m * (double)p->n * (double)p->k;
}

bool gemm_problem_is_large(const bench_device *d, const gemm_problem *p, double most)
{
    return d->info.kind == LFUSE_DEVICE_CPU && !d->named && gemm_problem_work(p) > most;
}

static bench_product product_of(const gemm_problem *p, bool epilogue)
{
    return (bench_product){gemm_problem_count(p), p->m, p->n, p->k, p->type, p->to, p->precision, epilogue,
                           p->activation};
}

static lfuse_value finish(const gemm_problem *p, lfuse_value a, lfuse_value b, const lfuse_value *bias)
{
    const bench_product product = product_of(p, bias != NULL);
    const lfuse_value c = bench_product_of(&product, a, b);
    return bias ? bench_product_end(&product, c, *bias) : c;
}

/* What a device plans: operands as they are stored. */
static void describe_stored(fixture *f, const gemm_problem *p, bool epilogue)
{
    const int64_t left[3] = {p->batch, p->turn_a ? p->k : p->m, p->turn_a ? p->m : p->k};
    const int64_t right[3] = {p->batch, p->turn_b ? p->n : p->k, p->turn_b ? p->k : p->n};
    const int skipped = !p->batch;
    f->stored = lfuse_graph_create();
    lfuse_value a = lfuse_input(f->stored, "a", p->type, 3 - skipped, left + skipped);
    lfuse_value b = (p->frozen ? lfuse_frozen : lfuse_input)(f->stored, "b", p->type, 3 - skipped, right + skipped);
    lfuse_value bias;
    if (epilogue) bias = lfuse_input(f->stored, "bias", p->to, 1, &p->n);
    if (p->turn_a) a = lfuse_transpose(a);
    if (p->turn_b) b = lfuse_transpose(b);
    lfuse_output(f->stored, "c", finish(p, a, b, epilogue ? &bias : NULL));
}

lfuse_status gemm_problem_build(fixture *f, const gemm_problem *p, bool epilogue)
{
    const int64_t left[3] = {p->batch, p->m, p->k}, right[3] = {p->batch, p->k, p->n};
    const int64_t result[3] = {p->batch, p->m, p->n};
    const int skipped = !p->batch, rank = 3 - skipped;
    const fixture_role shared = p->frozen ? FIXTURE_FROZEN : FIXTURE_SHARED;
    const fixture_role role = p->batch ? FIXTURE_INPUT : shared; /* rows are members of the batch, or of a */
    lfuse_value a, b, bias;
    LFUSE__TRY(fixture_tensor(f, "a", FIXTURE_INPUT, p->type, rank, left + skipped, 1, &a));
    LFUSE__TRY(fixture_tensor(f, "b", role, p->type, rank, right + skipped, 1, &b));
    f->io[GEMM_A].turned = p->turn_a;
    f->io[GEMM_B].turned = p->turn_b;
    if (epilogue) LFUSE__TRY(fixture_tensor(f, "bias", FIXTURE_SHARED, p->to, 1, &p->n, sqrt((double)p->k), &bias));
    LFUSE__TRY(fixture_tensor(f, "c", FIXTURE_OUTPUT, p->to, rank, result + skipped, 1, NULL));
    lfuse_output(f->graph, "c", finish(p, a, b, epilogue ? &bias : NULL));
    if (p->turn_a || p->turn_b) describe_stored(f, p, epilogue);
    const bench_product product = product_of(p, epilogue);
    f->precision = p->precision;
    f->activation = p->activation;
    if (bench_product_is_large(&product)) f->verify = bench_product_verify;
    return LFUSE_OK;
}
