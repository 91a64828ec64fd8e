/* SPDX-License-Identifier: Apache-2.0 */
/* Trainings in files of safetensors. */
#include <stdlib.h>

#include "common/base/error.h"
#include "common/optim/train.h"
#include "common/run/safetensors.h"

/* What files are written and read by: entries side by side. */
typedef struct columns {
    const char **names;
    lfuse_tensor **tensors;
} columns;

static void drop(columns *c)
{
    free(c->names);
    free(c->tensors);
}

/* Waits for the steps of the stream. */
static lfuse_status prepare(lfuse_training *t, lfuse_stream *stream, columns *c)
{
    const size_t n = (size_t)t->nentries;
    size_t i;

    LFUSE__TRY(lfuse__stream_usable(stream));
    LFUSE__TRY(lfuse__stream_same_device(stream, t->dev, "the training"));
    LFUSE__TRY(lfuse__stream_settle(stream));
    c->names = calloc(n, sizeof *c->names);
    c->tensors = calloc(n, sizeof *c->tensors);
    if (!c->names || !c->tensors) {
        drop(c);
        return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu names)", n);
    }
    for (i = 0; i < n; i++) {
        c->names[i] = t->entries[i].name;
        c->tensors[i] = t->entries[i].tensor;
    }
    return LFUSE_OK;
}

lfuse_status lfuse__train_save(lfuse_training *t, lfuse_stream *stream, const char *path)
{
    static const lfuse_safetensors_text format = { "format", "pt" }; /* that readers for PyTorch look for */
    lfuse_status status;
    columns c;

    if (t->micro)
        return lfuse__error(LFUSE_ERR_STATE, "the step at work has %d of %d micro-batches", t->micro,
                            t->options.micro_batches);
    LFUSE__TRY(prepare(t, stream, &c));
    status = lfuse__safetensors_save(path, t->nentries, c.names, c.tensors, 1, &format);
    drop(&c);
    return status;
}

lfuse_status lfuse__train_load(lfuse_training *t, lfuse_stream *stream, const char *path)
{
    lfuse_safetensors *file = NULL;
    lfuse_status status;
    columns c;

    LFUSE__TRY(prepare(t, stream, &c));
    status = lfuse__safetensors_open(path, &file);
    if (!status) status = lfuse__safetensors_load(file, t->nentries, c.names, c.tensors, 0);
    if (!status) status = lfuse__train_resume(t);
    lfuse__safetensors_close(file);
    drop(&c);
    return status;
}
