/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/page/form.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* By the words that a problem begins with: the first row that fits. */
static const struct {
    const char *words, *axes[BENCH_FORM_NUMBERS];
} suites[] = {
    {"gemm", {"rows m", "columns n", "inner extent k"}},
    {"dense", {"layers", "width of the layers", "rows (batch)"}},
    {"stack", {"slices", "rows of a slice", "elements of a row"}},
    {"rows", {"rows", "elements of a row"}},
    {"embed", {"look-ups", "rows of a look-up", "elements of a row"}},
    {"foreach", {"tensors in the list", "elements of a tensor"}},
    {"adamw", {"tensors in the list", "elements of a tensor"}},
    {"sgd", {"tensors in the list", "elements of a tensor"}},
    {"lamb", {"tensors in the list", "elements of a tensor"}},
    {"clip+adamw", {"tensors in the list", "elements of a tensor"}},
    {"train:layer", {"width of the layer", "rows (batch)"}},
    {"train:transformer", {"width", "heads", "blocks", "tokens", "sequences (batch)"}},
    {"train", {"layers", "width of the layers", "rows (batch)"}},
    {"pointwise", {"elements"}},
    {"launch", {"kernels in a row"}},
};

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Digits behind a colon, an x that follows a size, or a capital letter: not those of f32, f32x3, resnet50 or gpt2. */
static bool is_size(const char *problem, size_t i)
{
    if (i == 0 || !is_digit(problem[i])) return false;
    const char before = problem[--i];
    if (before != 'x') return before == ':' || (before >= 'A' && before <= 'Z');
    while (i > 0 && is_digit(problem[i - 1])) i--;
    return is_size(problem, i);
}

void bench_form_of(const char *problem, bench_form *form)
{
    size_t length = 0;
    form->n = 0;
    for (size_t i = 0; problem[i] && length < sizeof form->text - 1;) {
        if (form->n == BENCH_FORM_NUMBERS || !is_size(problem, i)) {
            form->text[length++] = problem[i++];
            continue;
        }
        double number = 0;
        while (is_digit(problem[i])) number = 10 * number + (problem[i++] - '0');
        form->numbers[form->n++] = number;
        form->text[length++] = '#';
    }
    form->text[length] = 0;
}

void bench_form_suite(const char *problem, char *suite, int size)
{
    int length = 0;
    while (problem[length] && problem[length] != ':' && length < size - 1) length++;
    memcpy(suite, problem, (size_t)length);
    suite[length] = 0;
}

static bool begins_with(const char *text, const char *words)
{
    const size_t length = strlen(words);
    return !strncmp(text, words, length) && text[length] == ':';
}

const char *bench_form_axis(const bench_form *form, int i)
{
    for (size_t s = 0; s < sizeof suites / sizeof *suites; s++)
        if (begins_with(form->text, suites[s].words))
            return i < BENCH_FORM_NUMBERS && suites[s].axes[i] ? suites[s].axes[i] : "size";
    return "size";
}
