/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps, which the driver alone encodes. */
#include <string.h>

#include "backends/cuda/internal.h"

enum { SWIZZLE_BYTES = 128 };

_Static_assert(sizeof(CUtensorMap) == LFUSE__TENSOR_MAP_WORDS * sizeof(uint64_t), "a map is copied as words");

/* The driver encodes nothing without a current context. What it finds invalid has no map; all else is an error. */
lfuse_status lfuse__cu_tensor_map(lfuse__bdevice *dev, const lfuse__tensor_boxes *of,
                                  uint64_t map[LFUSE__TENSOR_MAP_WORDS], bool *made)
{
    const cuuint64_t sizes[] = { of->line, of->lines, of->matrices }, strides[] = { of->apart, of->matrix_apart };
    const cuuint32_t box[] = { SWIZZLE_BYTES / of->bytes, of->box_lines, 1 }, steps[] = { 1, 1, 1 };
    /* Elements of 1 and 2 bytes are copied as they are. */
    const CUtensorMapDataType type = of->bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                     : of->bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                                      : CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    CUtensorMap found; /* aligned as the driver wants it */
    CUresult result;
    bool pushed;

    LFUSE__TRY(lfuse__cu_enter(dev, &pushed));
    result = lfuse__cu.TensorMapEncodeTiled(&found, type, 3,
                                            (void *)(uintptr_t)of->address, sizes, strides, box, steps,
                                            CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                            CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    lfuse__cu_leave(pushed);
    *made = result == CUDA_SUCCESS;
    if (*made) memcpy(map, &found, sizeof found);
    else if (result != CUDA_ERROR_INVALID_VALUE)
        return lfuse__cu_error(dev, result, "cuTensorMapEncodeTiled of %llu x %llu x %llu",
                               (unsigned long long)of->matrices, (unsigned long long)of->lines,
                               (unsigned long long)of->line);
    return LFUSE_OK;
}
