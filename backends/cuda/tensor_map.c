/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps, which the driver alone encodes. */
#include <string.h>

#include "backends/cuda/internal.h"

enum { SWIZZLE_BYTES = 128 };

_Static_assert(sizeof(CUtensorMap) == LFUSE__TENSOR_MAP_WORDS * sizeof(uint64_t), "a map is copied as words");

/* Elements of any type are copied as they are; by their bytes they need no conversion. */
static CUtensorMapDataType type_of(unsigned bytes)
{
    return bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
           : bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                        : CU_TENSOR_MAP_DATA_TYPE_UINT32;
}

/* The driver encodes nothing without a current context. */
bool lfuse__cu_tensor_map(lfuse__bdevice *dev, const lfuse__tensor_boxes *of, uint64_t map[LFUSE__TENSOR_MAP_WORDS])
{
    const cuuint64_t sizes[] = { of->line, of->lines }, strides[] = { of->apart };
    const cuuint32_t box[] = { SWIZZLE_BYTES / of->bytes, of->box_lines }, steps[] = { 1, 1 };
    CUtensorMap made; /* aligned as the driver wants it */
    CUresult result;
    bool pushed;

    if (!lfuse__cu_enter_quietly(dev, &pushed)) return false;
    result = lfuse__cu.TensorMapEncodeTiled(&made, type_of(of->bytes), 2, (void *)(uintptr_t)of->address, sizes,
                                            strides, box, steps, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                            CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                            CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    lfuse__cu_leave(pushed);
    if (result != CUDA_SUCCESS) return false;
    memcpy(map, &made, sizeof made);
    return true;
}
