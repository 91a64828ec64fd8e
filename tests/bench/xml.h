/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A strict check that a text is well-formed XML, of what a report needs: elements that end in order, attributes in
 * double quotes that occur once, the five entities, one root, a document type. No comments, sections or
 * instructions: there are none in a report.
 */
#ifndef TESTS_BENCH_XML_H
#define TESTS_BENCH_XML_H

#include <stdbool.h>

/* What is wrong, with the byte where it is, in `why` of 160 bytes. */
bool xml_is_well_formed(const char *text, char *why);

#endif
