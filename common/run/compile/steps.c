/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of steps of common/plan/families.def. */
#include "common/run/compile/steps.h"

const lfuse__step_row lfuse__step_rows[LFUSE__STEP_KINDS] = {
#define LFUSE__STEP(kind, word, print, over, family, classes, want, share, instantiate, launches, members)             \
    [LFUSE__STEP_##kind] = {LFUSE__FAMILY_##family, lfuse__classes_of_##classes, lfuse__want_##want,                   \
                            lfuse__share_##share, launches},
#include "common/plan/families.def"
};
