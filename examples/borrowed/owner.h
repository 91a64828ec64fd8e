/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Somebody else's memory: a stand-in for the framework or solver that owns a model's buffers. It talks to the driver by
 * itself (OpenCL or CUDA, loaded by name) and knows nothing of libfuse.
 */
#ifndef OWNER_H
#define OWNER_H

#include <stddef.h>
#include <stdint.h>

typedef struct owner owner;

/* The first device of "opencl" or "cuda"; NULL: there is none. */
owner *owner_open(const char *backend);
void owner_close(owner *o);
/* What libfuse is given: the context with its device (OpenCL), and the queue or stream. */
void *owner_context(const owner *o);
void *owner_device(const owner *o);
void *owner_queue(const owner *o);
/* A buffer: a cl_mem or a CUdeviceptr as a number; 0: out of memory. Freed with the owner. */
uint64_t owner_buffer(owner *o, size_t bytes);
/* Through the owner's queue; 0: done and finished. */
int owner_write(owner *o, uint64_t buffer, const void *host, size_t bytes);
int owner_read(owner *o, uint64_t buffer, void *host, size_t bytes);

#endif
