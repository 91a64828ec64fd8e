/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/precision.h"

#include <stdio.h>
#include <string.h>

#define LFUSE__PRECISION(name, ...)                                                                                    \
    _Static_assert((int)LFUSE_PRECISION_##name == LFUSE__PRECISION_ROW_##name, "rows have the order of numbers");
#include "common/base/precision.def"

const lfuse__precision lfuse__precisions[LFUSE__PRECISIONS] = {
#define LFUSE__PRECISION(name, ...) { __VA_ARGS__ },
#include "common/base/precision.def"
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

lfuse__precision_words lfuse__precisions_that_split(const char *before)
{
    lfuse__precision_words words = { "" };
    size_t length = 0;

    for (int i = 0; i < LFUSE__PRECISIONS && length < sizeof words.text; i++)
        if (lfuse__may_split((lfuse_precision)i))
            length += (size_t)snprintf(words.text + length, sizeof words.text - length, "%s%s", before,
                                       lfuse__precisions[i].word);
    return words;
}
