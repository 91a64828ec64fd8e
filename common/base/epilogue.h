/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The epilogue of a vendor's product: what it computes of alpha times the sum of one element. The inputs that it takes
 * come first, each by its operator, in the order from the table's last row to its first; then one function.
 */
#ifndef COMMON_BASE_EPILOGUE_H
#define COMMON_BASE_EPILOGUE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The function at the end. Without gelu: where a library has one (cuBLASLt), it loses all digits of small results to
 * cancellation, which the contract's form does not.
 */
typedef enum lfuse__epilogue {
    LFUSE__EP_NONE,
    LFUSE__EP_RELU, /* max(..., 0) */
    LFUSE__EPILOGUES
} lfuse__epilogue;

static const char *const lfuse__epilogue_words[LFUSE__EPILOGUES] = { NULL, "relu" };

/* What a vendor's product reads besides A and B. */
typedef enum lfuse__epilogue_input {
    LFUSE__INPUT_BIAS,
    LFUSE__INPUT_ADDEND, /* times beta; absent where it is D itself */
    LFUSE__INPUT_SCALE,  /* in place of alpha, which is 1 then */
    LFUSE__EPILOGUE_INPUTS
} lfuse__epilogue_input;

static const struct {
    bool rows, columns;  /* it has an element for each row of D, for each column; for both: it is a matrix as D is; else
                            its elements have no gaps, and all products of a batch read the same */
    const char *op;      /* the operator that joins it to the value so far: the sum, then the rows below in turn */
    const char *word;    /* in the names of problems for wisdom */
    const char *subject; /* in messages */
} lfuse__epilogue_inputs[LFUSE__EPILOGUE_INPUTS] = {
    [LFUSE__INPUT_BIAS] = { false, true, "add", ":ep=bias", "the bias" },
    [LFUSE__INPUT_ADDEND] = { true, true, "add", ":apart", "what is added" },
    [LFUSE__INPUT_SCALE] = { false, false, "mul", ":scale", "the scale" },
};

static inline bool lfuse__epilogue_takes_matrix(int input)
{
    return lfuse__epilogue_inputs[input].rows && lfuse__epilogue_inputs[input].columns;
}

#endif
