/* SPDX-License-Identifier: Apache-2.0 */
#ifndef LIBFUSE_TYPES_H
#define LIBFUSE_TYPES_H

#include <libfuse/base.h>

/**
 * Element types: name, number, text, bytes. Arithmetic on f16 and bf16 is done in f32; bool is 0 or 1 in memory.
 * Integers wrap at their own width.
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
    X(U8, 9, "u8", 1)

typedef enum lfuse_type {
    LFUSE_TYPE_NONE = 0,
#define LFUSE_TYPE_ENUM(name, number, text, bytes) LFUSE_##name = number,
    LFUSE_TYPE_MAP(LFUSE_TYPE_ENUM)
#undef LFUSE_TYPE_ENUM
} lfuse_type;

LFUSE_BEGIN_DECLS

/** "f32" and the like; "?" for a number that is no type. Static. */
LFUSE_API const char *lfuse_type_name(lfuse_type type);
/** Bytes of one element; 0 for a number that is no type. */
LFUSE_API size_t lfuse_type_size(lfuse_type type);

LFUSE_END_DECLS
#endif
