/* SPDX-License-Identifier: Apache-2.0 */
/* Stub devices that measure: a folder for the file of wisdom, the log, and what was chosen. Each test is a process. */
#ifndef TESTS_TUNE_WISDOM_RIG_H
#define TESTS_TUNE_WISDOM_RIG_H

#include <limits.h>

#include "tests/run/rig.h"
#include "tests/support/files.h"
#include "tests/support/heard.h"

extern char base[PATH_MAX], file[PATH_MAX + 32];

/* Fixtures. A folder of the test's own, and nothing of the library in the environment. */
void make_base(void);
/* The same, LFUSE_WISDOM is `file` in it, and the stub is open, with seven algorithms for products. */
void open_with_file(void);
void close_and_remove(void);

/* Another device, which knows what the file says alone. */
void reopen(void);
/* All algorithms but this one are slow. */
void fastest(int candidate);
/* Of a product of so many rows, by a new plan: the algorithm that it gets, and whether any was timed. */
void check_chosen(lfuse_effort effort, int64_t rows, int candidate, bool measured);

void check_lines(const char *path, size_t count);
void check_text(const char *path, const char *text);

#endif
