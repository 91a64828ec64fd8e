/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_LOCALE_H
#define TESTS_SUPPORT_LOCALE_H

/*
 * Sets LC_NUMERIC to a locale of this system that writes 0,5; LOCPATH may name a folder of further ones. NULL when
 * there is none, otherwise its name. setlocale(LC_NUMERIC, "C") undoes it.
 */
const char *test_comma_locale(void);

#endif
