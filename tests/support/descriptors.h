/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_SUPPORT_DESCRIPTORS_H
#define TESTS_SUPPORT_DESCRIPTORS_H

/* How many file descriptors this process has open: a test of files compares the numbers before and after. */
int test_open_descriptors(void);

#endif
