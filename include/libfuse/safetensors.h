/* SPDX-License-Identifier: Apache-2.0 */
/**
 * Files of named tensors in the format of safetensors, which PyTorch, JAX and others read and write: 8 bytes with the
 * length of a header, a header in JSON, and the elements in row-major order, little-endian
 * (https://github.com/huggingface/safetensors#format).
 *
 * Types: F64, F32, F16, BF16, F8_E4M3, F8_E5M2, I64, I32, I8, U8 and BOOL are those of types.h. A file may hold tensors
 * of the format's other types (I16, U16, U32, U64, C64, F8_E8M0): they are listed, but not loaded.
 *
 * Names are UTF-8, not empty and not "__metadata__". A file may hold texts beside its tensors, "metadata", which a
 * training uses for what is no tensor (the number of the step).
 *
 * Files are regular ones. What is wrong with a file is ERR_IO, and the message tells the file and where.
 */
#ifndef LIBFUSE_SAFETENSORS_H
#define LIBFUSE_SAFETENSORS_H

#include <libfuse/base.h>
#include <libfuse/status.h>
#include <libfuse/tensor.h>
#include <libfuse/types.h>

/** A file that was opened for reading. One thread at a time uses it. */
typedef struct lfuse_safetensors lfuse_safetensors;

/** A text of the metadata; keys and values are UTF-8. */
typedef struct lfuse_safetensors_text {
    const char *key, *value;
} lfuse_safetensors_text;

/** What the file says of a tensor. */
typedef struct lfuse_safetensors_info {
    const char *name;  /**< valid as long as the file is open; so the next */
    const char *dtype; /**< the type's name in the file, "F32" */
    lfuse_type type;   /**< LFUSE_TYPE_NONE where the library has no such type */
    int rank;
    int64_t shape[LFUSE_MAX_RANK];
    uint64_t bytes;
} lfuse_safetensors_info;

/** Switches of lfuse_safetensors_load. */
enum {
    LFUSE_SAFETENSORS_PARTIAL = 1 /**< the file may hold other tensors too, which are left alone */
};

LFUSE_BEGIN_DECLS

/**
 * Writes `count` tensors of any devices and strides under their names, and `texts` texts (`metadata` may be NULL where
 * there are none). Waits for each tensor's copy to the host; work on other streams must have finished before. Host
 * memory of the size of the largest tensor is used meanwhile.
 *
 * The file is complete or not there: it is written under a temporary name in its folder ("tmp-..."), synchronised with
 * the disk and then renamed to `path`, in place of a regular file of that name; a former one stays as it is when
 * anything fails. The user's mask says who may read it. Tensors lie in the file in the order of their element sizes,
 * the largest first, and of their names, so that each is aligned to its elements; equal tensors, names and texts give
 * equal bytes.
 *
 * ERR_NAME: a name or key is empty, no UTF-8, "__metadata__" or used twice. ERR_OVERFLOW: the header would be longer
 * than the format allows (100 000 000 bytes). ERR_IO: the file cannot be written.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_safetensors_save(const char *path, int count, const char *const *names,
                                                               lfuse_tensor *const *tensors, int texts,
                                                               const lfuse_safetensors_text *metadata);

/**
 * Opens a file and checks all of its header: that it is JSON of the format, names occur once, types are the format's,
 * every tensor has as many bytes as its type and shape say, and the tensors fill the file without gaps or overlaps.
 * `path` may be a symbolic link. ERR_RANK: a tensor of a rank above LFUSE_MAX_RANK.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_safetensors_open(const char *path, lfuse_safetensors **file);
LFUSE_API void lfuse_safetensors_close(lfuse_safetensors *file);

/** How many tensors the file holds; 0 for NULL. */
LFUSE_API int lfuse_safetensors_count(const lfuse_safetensors *file);
/** The tensor of an index from 0 on, in the order of the names' bytes. ERR_INVALID: there is none. */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_safetensors_describe(const lfuse_safetensors *file, int index,
                                                                   lfuse_safetensors_info *info);
/** The metadata's text of a key, valid as long as the file is open; NULL: there is none. */
LFUSE_API const char *lfuse_safetensors_metadata(const lfuse_safetensors *file, const char *key);

/**
 * Reads `count` tensors, of any devices and strides, by their names. Before the first of them is written, all are
 * checked. Waits for each tensor's copy; work on other streams that uses the tensors must have finished before. When
 * reading the file or a copy fails after that, some of the tensors have their new contents.
 *
 * ERR_NAME: the file has no tensor of a name, a name is asked for twice, or the file has a tensor that is not asked for
 * (unless LFUSE_SAFETENSORS_PARTIAL). ERR_TYPE, ERR_RANK, ERR_SHAPE: a tensor differs from the file's. ERR_OVERLAP: a
 * tensor's strides put several elements in one place. ERR_IO: the file cannot be read, or an element of type bool is
 * neither 0 nor 1.
 */
LFUSE_API LFUSE_MUST_CHECK lfuse_status lfuse_safetensors_load(lfuse_safetensors *file, int count,
                                                               const char *const *names,
                                                               lfuse_tensor *const *tensors, unsigned switches);

LFUSE_END_DECLS
#endif
