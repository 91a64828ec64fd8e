/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COMMON_BASE_EPILOGUE_H
#define COMMON_BASE_EPILOGUE_H

/* What a vendor's product computes at its end, over the accumulator of one element in column j. The closed list. */
typedef enum lfuse__epilogue {
    LFUSE__EP_NONE,      /* alpha * acc + beta * c; where beta is 0, c is not read */
    LFUSE__EP_BIAS,      /* alpha * acc + beta * c + bias[j] */
    LFUSE__EP_RELU,      /* max(..., 0) */
    LFUSE__EP_BIAS_RELU, /* max(... + bias[j], 0) */
    LFUSE__EP_BIAS_GELU_TANH,
    LFUSE__EPILOGUES
} lfuse__epilogue;

#endif
