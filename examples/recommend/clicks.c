/* SPDX-License-Identifier: Apache-2.0 */
#include "clicks.h"

#include <math.h>

const int64_t heights[FEATURES] = {64, 48, 24};

/* What numbers are for: each use has a stream of its own. */
enum { STREAM_WEIGHT, STREAM_EMBEDDING, STREAM_START, STREAM_TRAIN, STREAM_HELD, STREAM_CLICK };

/* Number `index` of a stream, in [0, 1): the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014). */
static double uniform(uint64_t stream, uint64_t index)
{
    uint64_t z = ((stream << 32) + index + 1) * UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

static float within(double bound, uint64_t stream, uint64_t index)
{
    return (float)(bound * (2 * uniform(stream, index) - 1));
}

static void fill_embeddings(machine *m, double bound, uint64_t stream)
{
    for (int f = 0; f < FEATURES; f++)
        for (int i = 0; i < HIGHEST; i++)
            for (int k = 0; k < WIDTH; k++)
                m->embedding[f][i][k] = within(bound, stream, (uint64_t)((f * HIGHEST + i) * WIDTH + k));
}

int machine_parameters(void)
{
    int count = 1;
    for (int f = 0; f < FEATURES; f++) count += (int)heights[f] * (1 + WIDTH);
    return count;
}

void machine_start(machine *m)
{
    *m = (machine){0};
    fill_embeddings(m, 0.3, STREAM_START);
}

static void make_truth(machine *m)
{
    m->bias = -1;
    for (int f = 0; f < FEATURES; f++)
        for (int i = 0; i < HIGHEST; i++) m->weight[f][i] = within(1, STREAM_WEIGHT, (uint64_t)(f * HIGHEST + i));
    fill_embeddings(m, 1.2, STREAM_EMBEDDING);
}

static double dot(const float *a, const float *b)
{
    double sum = 0;
    for (int k = 0; k < WIDTH; k++) sum += (double)a[k] * b[k];
    return sum;
}

static double logit(const machine *m, const int32_t row[FEATURES])
{
    double sum = m->bias;
    for (int f = 0; f < FEATURES; f++) {
        sum += m->weight[f][row[f]];
        for (int h = f + 1; h < FEATURES; h++) sum += dot(m->embedding[f][row[f]], m->embedding[h][row[h]]);
    }
    return sum;
}

/* Indices of one row, uniform over what each feature has. */
static void make_row(uint64_t stream, int number, int32_t row[FEATURES])
{
    for (int f = 0; f < FEATURES; f++)
        row[f] = (int32_t)((double)heights[f] * uniform(stream, (uint64_t)(number * FEATURES + f)));
}

static double probability_of(double z)
{
    return 1 / (1 + exp(-z));
}

void clicks_make(clicks *c)
{
    int32_t row[FEATURES];
    make_truth(&c->truth);
    for (int i = 0; i < TRAIN_ROWS; i++) {
        make_row(STREAM_TRAIN, i, row);
        for (int f = 0; f < FEATURES; f++) c->train[f][i] = row[f];
        c->clicked[i] = uniform(STREAM_CLICK, (uint64_t)i) < probability_of(logit(&c->truth, row));
    }
    for (int i = 0; i < HELD_ROWS; i++) {
        make_row(STREAM_HELD, i, row);
        for (int f = 0; f < FEATURES; f++) c->held[f][i] = row[f];
        c->probability[i] = (float)probability_of(logit(&c->truth, row));
    }
}

/* log(1 + exp(z)), without overflow. */
static double softplus(double z)
{
    return (z > 0 ? z : 0) + log1p(exp(-fabs(z)));
}

double expected_loss(const clicks *c, const machine *m)
{
    double sum = 0;
    for (int i = 0; i < HELD_ROWS; i++) {
        int32_t row[FEATURES];
        for (int f = 0; f < FEATURES; f++) row[f] = c->held[f][i];
        double z = logit(m, row), p = probability_of(logit(&c->truth, row));
        sum += p * softplus(-z) + (1 - p) * softplus(z);
    }
    return sum / HELD_ROWS;
}

double loss_of_mean(const clicks *c)
{
    double p = 0;
    for (int i = 0; i < HELD_ROWS; i++) p += c->probability[i] / (double)HELD_ROWS;
    return -p * log(p) - (1 - p) * log(1 - p);
}

double excess_bound(void)
{
    double freedom = machine_parameters();
    return (freedom + 4 * sqrt(2 * freedom)) / (2.0 * TRAIN_ROWS);
}
