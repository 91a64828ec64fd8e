/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/precision.h"

#include <stdio.h>
#include <string.h>

const lfuse__precision lfuse__precisions[LFUSE__PRECISIONS] = {
    [LFUSE_PRECISION_FULL] = { "f32", "matmul", false, false },
    [LFUSE_PRECISION_TF32] = { "tf32", "matmul_tf32", true, false },
    [LFUSE_PRECISION_F16] = { "f16", "matmul", false, false },
    [LFUSE_PRECISION_BF16] = { "bf16", "matmul", false, false },
    [LFUSE_PRECISION_F32X3] = { "f32x3", "matmul_f32x3", true, true },
    [LFUSE_PRECISION_BF16X6] = { "bf16x6", "matmul_bf16x6", true, true },
};

bool lfuse__precision_find(const char *word, lfuse_precision *precision)
{
    for (int i = 0; i < LFUSE__PRECISIONS; i++) {
        if (strcmp(word, lfuse__precisions[i].word)) continue;
        *precision = (lfuse_precision)i;
        return true;
    }
    return false;
}

lfuse__precision_words lfuse__precisions_of_plans(void)
{
    lfuse__precision_words words = { "" };
    int last = LFUSE__PRECISIONS - 1;

    while (!lfuse__is_of_plans(last)) last--;
    for (int i = 0; i <= last; i++) {
        const size_t length = strlen(words.text);
        if (!lfuse__is_of_plans(i)) continue;
        snprintf(words.text + length, sizeof words.text - length, "%s%s", !length ? "" : i == last ? " or " : ", ",
                 lfuse__precisions[i].word);
    }
    return words;
}
