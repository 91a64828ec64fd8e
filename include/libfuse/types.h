/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBFUSE_TYPES_H
#define LIBFUSE_TYPES_H

#include <libfuse/base.h>

/**
 * Element types: name, number, text, bytes. Arithmetic on f16, bf16, e4m3 and e5m2 is done in f32; bool is 0 or 1 in
 * memory. Integers wrap at their own width. What these headers say of f16 and bf16 holds of e4m3 and e5m2 too, where
 * they are not named, but for Strassen's algorithm (lfuse_strassen), which they do not have, and for sums of products
 * (lfuse_matmul_as).
 *
 * e4m3 and e5m2 are the 8-bit formats of the Open Compute Project (OFP8 1.0), PyTorch's float8_e4m3fn and float8_e5m2:
 *   - e4m3 has 3 bits behind the point, numbers from 2^-9 up to 448, no infinities, and NaN as 0x7f and 0xff;
 *   - e5m2 has 2 bits, numbers from 2^-16 up to 57 344, infinities and NaNs, as the upper half of an f16 has.
 * What rounds beyond the largest number (above 464 of e4m3, from 61 440 on of e5m2) becomes NaN in e4m3, when it is
 * stored or cast, and infinite in e5m2; lfuse_cast_saturated gives the largest number instead.
 */
#define LFUSE_TYPE_MAP(X)                                                                                              \
    X(F32, 1, "f32", 4)                                                                                                \
    X(F16, 2, "f16", 2)                                                                                                \
    X(BF16, 3, "bf16", 2)                                                                                              \
    X(F64, 4, "f64", 8)                                                                                                \
    X(I32, 5, "i32", 4)                                                                                                \
    X(BOOL, 6, "bool", 1)                                                                                              \
    X(I64, 7, "i64", 8)                                                                                                \
    X(I8, 8, "i8", 1)                                                                                                  \
    X(U8, 9, "u8", 1)                                                                                                  \
    X(E4M3, 10, "e4m3", 1)                                                                                             \
    X(E5M2, 11, "e5m2", 1)

typedef enum lfuse_type {
    LFUSE_TYPE_NONE = 0,
#define LFUSE_TYPE_ENUM(name, number, text, bytes) LFUSE_##name = number,
    LFUSE_TYPE_MAP(LFUSE_TYPE_ENUM)
#undef LFUSE_TYPE_ENUM
} lfuse_type;

/**
 * What the operands of a matrix product are rounded to before they are multiplied (lfuse_matmul_as). Sums are formed in
 * f32 with all of them, and of f64 in f64. Of e4m3 and e5m2 Hopper's tensor cores keep 14 bits within 128 products:
 * lfuse(7).
 */
typedef enum lfuse_precision {
    LFUSE_PRECISION_FULL = 0, /**< nothing is rounded: f32 is f32 */
    /**
     * f32 operands keep 10 bits behind the point: what NVIDIA's tensor cores take, on devices of compute capability 8.0
     * and above (lfuse_device_info.tf32). The library's own kernels round to nearest, through CUDA and NVIDIA's OpenCL;
     * cuBLASLt may cut off. On other devices, and with LFUSE_PROVIDER_VENDOR where there is no cuBLASLt, making a plan
     * is ERR_UNSUPPORTED.
     */
    LFUSE_PRECISION_TF32 = 1,
    LFUSE_PRECISION_F16 = 2,  /**< operands are cast to f16 (10 bits, up to 65 504), those that are frozen once */
    LFUSE_PRECISION_BF16 = 3, /**< operands are cast to bf16 (7 bits, the range of f32) */
    /**
     * f32 operands may be split into two f16 words each, and three products of words be added on tensor cores, with an
     * error like that of a product in f32. Operands are scaled by powers of two, rows of the left and columns of the
     * right one, so that none overflows. Where a device gains nothing by it, and for k below 256, products are computed
     * in f32. Those that are frozen are split once; the instance keeps 4 bytes an element for it
     * (lfuse_instance_prepared). lfuse(7) has the bound, and what small elements lose beside large ones.
     */
    LFUSE_PRECISION_F32X3 = 4,
    /**
     * The same with three bf16 words for each operand, and six products of words, at about half the rate of F32X3. bf16
     * has the range of f32: elements keep all of their 24 bits whatever else is in their row or column, down to 2^-78
     * of the largest there. So the bound is that of a product in f32, element by element. lfuse(7) has what the
     * smallest and the largest numbers of f32 lose. Those that are frozen take 6 bytes an element.
     */
    LFUSE_PRECISION_BF16X6 = 5
} lfuse_precision;

LFUSE_BEGIN_DECLS

/** "f32" and the like; "?" for a number that is no type. Static. */
LFUSE_API const char *lfuse_type_name(lfuse_type type);
/** Bytes of one element; 0 for a number that is no type. */
LFUSE_API size_t lfuse_type_size(lfuse_type type);

LFUSE_END_DECLS
#endif
