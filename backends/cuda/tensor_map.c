/* SPDX-License-Identifier: Apache-2.0 */
/* Tensor maps, which the driver alone encodes. */
#include <string.h>

#include "backends/cuda/internal.h"

_Static_assert(sizeof(CUtensorMap) == LFUSE__TENSOR_MAP_WORDS * sizeof(uint64_t), "a map is copied as words");

/* The driver encodes nothing without a current context. What it finds invalid has no map; all else is an error. */
lfuse_status lfuse__cu_tensor_map(lfuse__bdevice *dev, const lfuse__tensor_boxes *of,
                                  uint64_t map[LFUSE__TENSOR_MAP_WORDS], bool *made)
{
    cuuint64_t sizes[LFUSE__TENSOR_MAP_AXES], strides[LFUSE__TENSOR_MAP_AXES];
    cuuint32_t box[LFUSE__TENSOR_MAP_AXES], steps[LFUSE__TENSOR_MAP_AXES];
    /* Elements of 1 and 2 bytes are copied as they are. */
    const CUtensorMapDataType type = of->bytes == 1   ? CU_TENSOR_MAP_DATA_TYPE_UINT8
                                     : of->bytes == 2 ? CU_TENSOR_MAP_DATA_TYPE_UINT16
                                                      : CU_TENSOR_MAP_DATA_TYPE_TFLOAT32;
    const unsigned box_line = of->axis[0].box * of->bytes;
    const CUtensorMapSwizzle swizzle = box_line == 32   ? CU_TENSOR_MAP_SWIZZLE_32B
                                       : box_line == 64 ? CU_TENSOR_MAP_SWIZZLE_64B
                                                        : CU_TENSOR_MAP_SWIZZLE_128B;
    CUtensorMap found; /* aligned as the driver wants it */
    CUresult result;
    bool pushed;

    for (unsigned i = 0; i < of->axes; i++) {
        sizes[i] = of->axis[i].extent;
        box[i] = of->axis[i].box;
        steps[i] = 1;
        if (i) strides[i - 1] = of->axis[i].apart;
    }
    LFUSE__TRY(lfuse__cu_enter(dev, &pushed));
    result = lfuse__cu.TensorMapEncodeTiled(&found, type, of->axes,
                                            (void *)(uintptr_t)of->address, sizes, strides, box, steps,
                                            CU_TENSOR_MAP_INTERLEAVE_NONE, swizzle,
                                            CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    lfuse__cu_leave(pushed);
    *made = result == CUDA_SUCCESS;
    if (*made) memcpy(map, &found, sizeof found);
    else if (result != CUDA_ERROR_INVALID_VALUE)
        return lfuse__cu_error(dev, result, "cuTensorMapEncodeTiled of %u axes, lines of %llu", of->axes,
                               (unsigned long long)of->axis[0].extent);
    return LFUSE_OK;
}
