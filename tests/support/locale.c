/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/support/locale.h"

#include <locale.h>
#include <stdio.h>
#include <string.h>

const char *test_comma_locale(void)
{
    static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "de_DE", "fr_FR.UTF-8", "fr_FR.utf8", "fr_FR",
                                        "es_ES.UTF-8", "es_ES.utf8", "it_IT.UTF-8", "pt_BR.UTF-8", "ru_RU.UTF-8",
                                        "pl_PL.UTF-8", "nl_NL.UTF-8", "sv_SE.UTF-8", "da_DK.UTF-8", "cs_CZ.UTF-8"};
    char text[16];

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (!setlocale(LC_NUMERIC, names[i])) continue;
        snprintf(text, sizeof text, "%.1f", 0.5);
        if (!strcmp(text, "0,5")) return names[i];
    }
    setlocale(LC_NUMERIC, "C");
    return NULL;
}
