/* SPDX-License-Identifier: Apache-2.0 */
/* A part of a buffer, by a function that the library itself has no use for. */
#ifndef TESTS_BACKENDS_SUB_BUFFER_H
#define TESTS_BACKENDS_SUB_BUFFER_H

#include <dlfcn.h>

#include "backends/opencl/internal.h"
#include "tests/support/check.h"

static inline cl_mem sub_buffer(cl_mem parent, size_t origin, size_t size)
{
    void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
    __typeof__(clCreateSubBuffer) *create;
    cl_buffer_region region = { origin, size };
    cl_int code = -1;

    ck_assert_ptr_nonnull(library);
    *(void **)&create = dlsym(library, "clCreateSubBuffer");
    cl_mem sub = create(parent, CL_MEM_READ_WRITE, CL_BUFFER_CREATE_TYPE_REGION, &region, &code);
    ck_assert_int_eq(code, CL_SUCCESS);
    dlclose(library);
    return sub;
}

#define HANDLE(object) ((uint64_t)(uintptr_t)(object))

#endif
