/* SPDX-License-Identifier: Apache-2.0 */
/* OpenCL's codes as statuses and words. The library itself names none of them. */
#include <stdarg.h>
#include <stdio.h>

#include "backends/opencl/internal.h"

enum { NVIDIA_FAULT = -9999 /* undocumented: an illegal access of a kernel */ };

typedef struct code_row {
    cl_int code;
    lfuse_status status;
    const char *name;
} code_row;

#define ROW(code, status) { code, LFUSE_##status, #code }
static const code_row rows[] = {
    ROW(CL_DEVICE_NOT_FOUND, ERR_NO_DEVICE),
    ROW(CL_DEVICE_NOT_AVAILABLE, ERR_DEVICE),
    ROW(CL_COMPILER_NOT_AVAILABLE, ERR_UNSUPPORTED),
    ROW(CL_MEM_OBJECT_ALLOCATION_FAILURE, ERR_DEVICE_MEMORY),
    ROW(CL_OUT_OF_RESOURCES, ERR_DEVICE_MEMORY), /* deferred allocation: any command may find that memory ran out */
    ROW(CL_OUT_OF_HOST_MEMORY, ERR_MEMORY),
    ROW(CL_PROFILING_INFO_NOT_AVAILABLE, ERR_UNSUPPORTED),
    ROW(CL_MEM_COPY_OVERLAP, ERR_OVERLAP),
    ROW(CL_BUILD_PROGRAM_FAILURE, ERR_COMPILE),
    ROW(CL_MAP_FAILURE, ERR_DEVICE_MEMORY),
    ROW(CL_MISALIGNED_SUB_BUFFER_OFFSET, ERR_DEVICE),
    ROW(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, ERR_DEVICE),
    ROW(CL_INVALID_VALUE, ERR_DEVICE),
    ROW(CL_INVALID_PLATFORM, ERR_DEVICE),
    ROW(CL_INVALID_DEVICE, ERR_DEVICE),
    ROW(CL_INVALID_CONTEXT, ERR_CONTEXT),
    ROW(CL_INVALID_QUEUE_PROPERTIES, ERR_UNSUPPORTED),
    ROW(CL_INVALID_COMMAND_QUEUE, ERR_DEVICE),
    ROW(CL_INVALID_MEM_OBJECT, ERR_DEVICE),
    ROW(CL_INVALID_BINARY, ERR_COMPILE),
    ROW(CL_INVALID_BUILD_OPTIONS, ERR_COMPILE),
    ROW(CL_INVALID_PROGRAM, ERR_DEVICE),
    ROW(CL_INVALID_PROGRAM_EXECUTABLE, ERR_DEVICE),
    ROW(CL_INVALID_KERNEL_NAME, ERR_NAME),
    ROW(CL_INVALID_KERNEL_DEFINITION, ERR_DEVICE),
    ROW(CL_INVALID_KERNEL, ERR_DEVICE),
    ROW(CL_INVALID_ARG_INDEX, ERR_DEVICE),
    ROW(CL_INVALID_ARG_VALUE, ERR_DEVICE),
    ROW(CL_INVALID_ARG_SIZE, ERR_DEVICE),
    ROW(CL_INVALID_KERNEL_ARGS, ERR_DEVICE),
    ROW(CL_INVALID_WORK_DIMENSION, ERR_DEVICE),
    ROW(CL_INVALID_WORK_GROUP_SIZE, ERR_DEVICE),
    ROW(CL_INVALID_WORK_ITEM_SIZE, ERR_DEVICE),
    ROW(CL_INVALID_GLOBAL_OFFSET, ERR_DEVICE),
    ROW(CL_INVALID_EVENT_WAIT_LIST, ERR_DEVICE),
    ROW(CL_INVALID_EVENT, ERR_DEVICE),
    ROW(CL_INVALID_OPERATION, ERR_DEVICE),
    ROW(CL_INVALID_BUFFER_SIZE, ERR_DEVICE_MEMORY), /* larger than the largest block */
    ROW(CL_INVALID_GLOBAL_WORK_SIZE, ERR_DEVICE),
    ROW(CL_INVALID_PROPERTY, ERR_DEVICE),
    { NVIDIA_FAULT, LFUSE_ERR_DEVICE, "an illegal access in a kernel" },
};
#undef ROW

static const code_row *find(cl_int code)
{
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (rows[i].code == code) return &rows[i];
    return NULL;
}

const char *lfuse__cl_code_name(cl_int code)
{
    const code_row *row = find(code);
    return row != NULL ? row->name : "unknown code";
}

static lfuse_status record(lfuse_status status, cl_int code, const char *format, va_list args)
{
    char words[512];

    vsnprintf(words, sizeof words, format, args);
    return lfuse__error(status, "%s: %s (%d)", words, lfuse__cl_code_name(code), (int)code);
}

lfuse_status lfuse__cl_error(cl_int code, const char *format, ...)
{
    const code_row *row = find(code);
    va_list args;
    lfuse_status status;

    va_start(args, format);
    status = record(row != NULL ? row->status : LFUSE_ERR_DEVICE, code, format, args);
    va_end(args);
    return status;
}

static bool may_be_lost(cl_int code)
{
    return code == CL_OUT_OF_RESOURCES || code == CL_INVALID_COMMAND_QUEUE || code == NVIDIA_FAULT;
}

lfuse_status lfuse__cl_queue_error(lfuse__bdevice *dev, cl_command_queue queue, cl_int code, const char *format, ...)
{
    const code_row *row = find(code);
    lfuse_status status = row != NULL ? row->status : LFUSE_ERR_DEVICE;
    va_list args;

    if (dev->device.nvidia && may_be_lost(code) && lfuse__cl.Finish(queue) != CL_SUCCESS) {
        int alive = 0;
        atomic_compare_exchange_strong(&dev->lost, &alive, (int)code);
        status = LFUSE_ERR_DEVICE_LOST;
    }
    va_start(args, format);
    status = record(status, code, format, args);
    va_end(args);
    return status;
}
