/* SPDX-License-Identifier: Apache-2.0 */
#include "libfuse/safetensors.h"

#include "common/api/need.h"
#include "common/run/safetensors.h"

lfuse_status lfuse_safetensors_save(const char *path, int count, const char *const *names,
                                    lfuse_tensor *const *tensors, int texts, const lfuse_safetensors_text *metadata)
{
    NEED(path);
    if (count > 0) NEED(names);
    if (count > 0) NEED(tensors);
    if (texts > 0) NEED(metadata);
    return lfuse__safetensors_save(path, count, names, tensors, texts, metadata);
}

lfuse_status lfuse_safetensors_open(const char *path, lfuse_safetensors **file)
{
    NEED(path);
    NEED(file);
    return lfuse__safetensors_open(path, file);
}

void lfuse_safetensors_close(lfuse_safetensors *file)
{
    lfuse__safetensors_close(file);
}

int lfuse_safetensors_count(const lfuse_safetensors *file)
{
    return file ? (int)lfuse__safetensors_header_of(file)->nentries : 0;
}

lfuse_status lfuse_safetensors_describe(const lfuse_safetensors *file, int index, lfuse_safetensors_info *info)
{
    NEED(file);
    NEED(info);
    if (index < 0 || index >= lfuse_safetensors_count(file))
        return lfuse__error(LFUSE_ERR_INVALID, "tensor %d of a file of %d", index, lfuse_safetensors_count(file));
    *info = lfuse__safetensors_header_of(file)->entries[index].info;
    return LFUSE_OK;
}

const char *lfuse_safetensors_metadata(const lfuse_safetensors *file, const char *key)
{
    return file && key ? lfuse__safetensors_metadata(file, key) : NULL;
}

lfuse_status lfuse_safetensors_load(lfuse_safetensors *file, int count, const char *const *names,
                                    lfuse_tensor *const *tensors, unsigned switches)
{
    NEED(file);
    if (count > 0) NEED(names);
    if (count > 0) NEED(tensors);
    return lfuse__safetensors_load(file, count, names, tensors, switches);
}
