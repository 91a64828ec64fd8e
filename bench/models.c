/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/models.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_MEMBERS = 1000000, MOST_OF_MODELS = 256 };

static void add(bench_model *m, int64_t elements)
{
    m->elements[m->count++] = elements;
    m->all += elements;
}

/* A convolution without bias, and scale and shift of the normalisation behind it. */
static void convolution(bench_model *m, int64_t in, int64_t out, int64_t side)
{
    add(m, out * in * side * side);
    add(m, out);
    add(m, out);
}

static void bottleneck(bench_model *m, int64_t in, int64_t width, bool projects)
{
    convolution(m, in, width, 1);
    convolution(m, width, width, 3);
    convolution(m, width, 4 * width, 1);
    if (projects) convolution(m, in, 4 * width, 1);
}

/* He, Zhang, Ren, Sun: Deep Residual Learning for Image Recognition; as torchvision orders it. */
static void resnet50(bench_model *m)
{
    static const int blocks[] = {3, 4, 6, 3};
    int64_t in = 64, width = 64;
    convolution(m, 3, 64, 7);
    for (int stage = 0; stage < 4; stage++, width *= 2) {
        for (int i = 0; i < blocks[stage]; i++) {
            bottleneck(m, in, width, i == 0);
            in = 4 * width;
        }
    }
    add(m, 1000 * 2048);
    add(m, 1000);
}

/* Radford and others: Language Models are Unsupervised Multitask Learners; 12 layers of 768, the head is tied. */
static void gpt2_small(bench_model *m)
{
    const int64_t width = 768;
    add(m, 50257 * width);
    add(m, 1024 * width);
    for (int layer = 0; layer < 12; layer++) {
        add(m, width);
        add(m, width);
        add(m, width * 3 * width);
        add(m, 3 * width);
        add(m, width * width);
        add(m, width);
        add(m, width);
        add(m, width);
        add(m, width * 4 * width);
        add(m, 4 * width);
        add(m, 4 * width * width);
        add(m, width);
    }
    add(m, width);
    add(m, width);
}

bool bench_model_parse(const char *text, bench_model *m)
{
    long long count = 0, elements = 0;
    const bool known = !strcmp(text, "resnet50") || !strcmp(text, "gpt2-small");
    int end = 0;
    *m = (bench_model){0};
    if (!known && (sscanf(text, "%lldx%lld%n", &count, &elements, &end) != 2 || text[end] || count < 1 ||
                   elements < 1 || count > MOST_MEMBERS || elements > INT64_MAX / 64 / count))
        return false;
    m->elements = calloc(known ? MOST_OF_MODELS : (size_t)count, sizeof *m->elements);
    if (!m->elements) return false;
    if (!strcmp(text, "resnet50")) resnet50(m);
    else if (known) gpt2_small(m);
    while (!known && m->count < count) add(m, elements);
    return true;
}

void bench_model_free(bench_model *m)
{
    free(m->elements);
    *m = (bench_model){0};
}
