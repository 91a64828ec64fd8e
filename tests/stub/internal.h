/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the stub's files. */
#ifndef TESTS_STUB_INTERNAL_H
#define TESTS_STUB_INTERNAL_H

#include <sys/types.h>

#include "tests/stub/stub.h"

/* Counts a call of the slot and fails it when that was asked for: first in every slot that returns a status. */
lfuse_status lfuse__stub_enter(lfuse__stub_slot slot);
#define ENTER(slot) LFUSE__TRY(lfuse__stub_enter(LFUSE__STUB_##slot))

/* Under the stub's lock: adds to one of the counters. */
void lfuse__stub_add(uint64_t *counter, uint64_t n);
void lfuse__stub_live_add(int64_t *counter, int64_t n);
void lfuse__stub_bytes_add(int64_t bytes);
void lfuse__stub_log(const lfuse__stub_call *call);
extern lfuse__stub_counters lfuse__stub_count;
extern lfuse__stub_live lfuse__stub_alive;

struct lfuse__bdevice {
    int index; /* -1: adopted */
    bool native_graph;
};

struct lfuse__bmem {
    lfuse__bdevice *dev;
    unsigned char *base; /* first byte of the memory */
    uint64_t bytes;      /* 0: unknown */
    uint64_t space, address;
    bool own, sparse, host;
};

/* What the prelude makes of a kernel "name": the function "name_part", which runs work-groups [first, last). */
typedef void lfuse__stub_function(unsigned char *const *buffers, const unsigned long *words, unsigned long groups,
                                  unsigned long first, unsigned long last);

/* program.c: a compilation: a temporary folder with the source, what becomes of it, and what the compiler says. */
typedef struct lfuse__stub_folder {
    char path[256], source[288], object[288], log[288];
} lfuse__stub_folder;
lfuse_status lfuse__stub_folder_create(lfuse__stub_folder *f);
void lfuse__stub_folder_remove(const lfuse__stub_folder *f);
lfuse_status lfuse__stub_write_file(const char *path, const void *data, size_t bytes);
lfuse_status lfuse__stub_read_file(const char *path, lfuse__strbuf *out);
/* What else kernels are compiled for: 0 over 16 lanes, else the work-items that step together. */
unsigned lfuse__stub_form(void);
lfuse_status lfuse__stub_compile_start(const lfuse__stub_folder *f, const char *source, pid_t *child);
lfuse_status lfuse__stub_compile_wait(pid_t child, bool *compiled);
/* Loads an object file that was compiled. ERR_MEMORY: the loader does not say why it failed. */
lfuse_status lfuse__stub_library(const char *object, void **library);

/*
 * batch.c: kernels by their text, whatever program they are in; compiled together when the first of them is launched.
 */
typedef struct lfuse__stub_texts lfuse__stub_texts; /* those of a program */
typedef struct lfuse__stub_text lfuse__stub_text;
lfuse_status lfuse__stub_batch_add(const char *source, lfuse__stub_texts **texts);
void lfuse__stub_texts_free(lfuse__stub_texts *texts);
/* The kernel is going to be launched. NULL: the program has none of that name. */
const lfuse__stub_text *lfuse__stub_texts_want(const lfuse__stub_texts *texts, const char *name);
lfuse_status lfuse__stub_text_function(const lfuse__stub_text *text, lfuse__stub_function **function);

struct lfuse__bkernel {
    struct lfuse__bprogram *program;
    lfuse__stub_function *function; /* NULL: not compiled yet, `text` tells */
    const lfuse__stub_text *text;
    char name[64];
};

struct lfuse__bgemm {
    lfuse__gemm_desc desc;
    uint64_t workspace;
    int candidate;
};

typedef enum command_kind { COMMAND_COPY, COMMAND_FILL, COMMAND_LAUNCH, COMMAND_GEMM, COMMAND_WAIT } command_kind;

typedef struct queue queue; /* of a lazy stream */

/* What a stream does, with addresses resolved, so that it can be done again. */
typedef struct command {
    command_kind kind;
    void *to;
    const void *from;
    uint64_t bytes, pattern;
    unsigned pattern_bytes;
    lfuse__stub_function *function;
    unsigned long groups;
    unsigned char *buffers[LFUSE__MAX_BUFFERS];
    unsigned long words[4096]; /* what 32 764 bytes hold */
    lfuse__gemm_desc gemm;
    bool slow;
    double alpha, beta;
    void *a, *b, *c, *inputs[LFUSE__EPILOGUE_INPUTS];
    void *workspace;
    uint64_t workspace_bytes;
    queue *awaited; /* holds a reference */
    size_t awaited_count;
} command;

/* Does the command, or keeps it while the stream captures or because it is lazy. */
lfuse_status lfuse__stub_submit(lfuse__bstream *s, const command *c);
/* What a product computes (gemm.c). */
void lfuse__stub_gemm_do(const command *c);
/* Address of a byte of memory; ERR_INVALID when [offset, offset + bytes) reaches outside what is known. */
lfuse_status lfuse__stub_address(lfuse__bmem *mem, uint64_t offset, uint64_t bytes, void **address);

/* The slots, by file. */
lfuse_status lfuse__stub_alloc(lfuse__bdevice *dev, lfuse__alloc_kind kind, uint64_t bytes, lfuse__bmem **mem);
lfuse_status lfuse__stub_wrap(lfuse__bdevice *dev, lfuse_memory_kind kind, uint64_t handle, uint64_t bytes,
                              lfuse__bmem **mem);
void lfuse__stub_free(lfuse__bmem *mem);
void lfuse__stub_mem_info(lfuse__bmem *mem, lfuse__mem_info *info);

lfuse_status lfuse__stub_write(lfuse__bstream *s, lfuse__bmem *to, uint64_t offset, const void *host, uint64_t bytes);
lfuse_status lfuse__stub_read(lfuse__bstream *s, lfuse__bmem *from, uint64_t offset, void *host, uint64_t bytes);
lfuse_status lfuse__stub_copy(lfuse__bstream *s, lfuse__bmem *to, uint64_t to_offset, lfuse__bmem *from,
                              uint64_t from_offset, uint64_t bytes);
lfuse_status lfuse__stub_copy_peer(lfuse__bstream *s, lfuse__bmem *to, uint64_t to_offset, lfuse__bdevice *from_dev,
                                   lfuse__bmem *from, uint64_t from_offset, uint64_t bytes);
lfuse_status lfuse__stub_fill(lfuse__bstream *s, lfuse__bmem *to, uint64_t offset, uint64_t pattern,
                              unsigned pattern_bytes, uint64_t bytes);
lfuse_status lfuse__stub_stream_create(lfuse__bdevice *dev, lfuse__bstream **s);
lfuse_status lfuse__stub_stream_wrap(lfuse__bdevice *dev, void *native, lfuse__bstream **s);
void lfuse__stub_stream_destroy(lfuse__bstream *s);
void *lfuse__stub_stream_native(lfuse__bstream *s);
lfuse_status lfuse__stub_stream_flush(lfuse__bstream *s);
lfuse_status lfuse__stub_stream_query(lfuse__bstream *s);
lfuse_status lfuse__stub_stream_sync(lfuse__bstream *s);
lfuse_status lfuse__stub_stream_capturing(lfuse__bstream *s, bool *capturing);
lfuse_status lfuse__stub_graph_begin(lfuse__bstream *s);
lfuse_status lfuse__stub_graph_end(lfuse__bstream *s, lfuse__bgraph **graph);
lfuse_status lfuse__stub_graph_launch(lfuse__bstream *s, lfuse__bgraph *graph);
lfuse_status lfuse__stub_graph_patch(lfuse__bgraph *graph, unsigned index, lfuse__bkernel *kernel,
                                     const lfuse__launch_args *launch);
void lfuse__stub_graph_destroy(lfuse__bgraph *graph);

lfuse_status lfuse__stub_event_create(lfuse__bdevice *dev, lfuse__bevent **e);
void lfuse__stub_event_destroy(lfuse__bevent *e);
lfuse_status lfuse__stub_event_record(lfuse__bevent *e, lfuse__bstream *s);
lfuse_status lfuse__stub_event_wait(lfuse__bevent *e, lfuse__bstream *s);
lfuse_status lfuse__stub_event_query(lfuse__bevent *e);
lfuse_status lfuse__stub_event_elapsed(lfuse__bevent *first, lfuse__bevent *second, double *us);

lfuse_status lfuse__stub_program_key(lfuse__bdevice *dev, lfuse__strbuf *key);
lfuse_status lfuse__stub_program_build(lfuse__bdevice *dev, const char *source, lfuse__strbuf *log,
                                       lfuse__bprogram **program);
lfuse_status lfuse__stub_program_load(lfuse__bdevice *dev, const void *binary, size_t bytes,
                                      lfuse__bprogram **program);
lfuse_status lfuse__stub_program_binary(lfuse__bprogram *program, lfuse__strbuf *binary);
void lfuse__stub_program_destroy(lfuse__bprogram *program);
lfuse_status lfuse__stub_kernel_create(lfuse__bprogram *program, const char *name, lfuse__bkernel **kernel);
void lfuse__stub_kernel_destroy(lfuse__bkernel *kernel);
lfuse_status lfuse__stub_launch(lfuse__bstream *s, lfuse__bkernel *kernel, const lfuse__launch_args *launch);

lfuse_status lfuse__stub_gemm_candidates(lfuse__bdevice *dev, const lfuse__gemm_desc *desc, int max,
                                         lfuse__gemm_candidate *candidates, int *count);
lfuse_status lfuse__stub_gemm_prepare(lfuse__bdevice *dev, const lfuse__gemm_desc *desc,
                                      const lfuse__gemm_candidate *candidate, lfuse__bgemm **gemm);
lfuse_status lfuse__stub_gemm_run(lfuse__bstream *s, lfuse__bgemm *gemm, const lfuse__gemm_args *args);
void lfuse__stub_gemm_destroy(lfuse__bgemm *gemm);

#endif
