/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_LAYER_ANSWERS_H
#define TESTS_LAYER_ANSWERS_H

#include <CL/cl.h>

/*
 * Changes what a driver has answered of a device where LFUSE_LAYER_SAYS=NUMBER:WORD says so, of the device that is
 * asked for as the NUMBER-th (from 0): "available" and "compiler" (it is not, it has none), "version" (it is of OpenCL
 * 1.1), "gpu" (it is one, of a driver that does not tell how many work-items step together), "other" (neither CPU nor
 * GPU).
 */
void lfuse_layer_answer(cl_device_id d, cl_device_info what, size_t size, void *value);

#endif
