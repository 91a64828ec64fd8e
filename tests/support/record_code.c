/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the run code-cuda of tests/same-output, which links this into tests/kernels/check_nvrtc of two revisions with the
 * linker's --wrap. It appends to the file $SAME_OUTPUT what NVRTC made of each kernel, lines for
 *
 *     code    a hash of its machine code, and how many instructions that is
 *     needs   how many registers it takes, and how many bytes of memory for what finds no room in them
 *
 * with the architecture and the kernel's name. Of PTX there is one line, of all kernels together.
 */
#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "backends/cuda/program.h"

enum {
    INSTRUCTION = 16,        /* bytes */
    REGISTERS = 0x00082f04,  /* begins an attribute in .nv.info: then come a symbol and how many */
    FRAME = 0x00081104       /* the same, of bytes */
};

lfuse_status __real_lfuse__cuda_compile(const char *source, const char *arch, lfuse__strbuf *log,
                                        lfuse__strbuf *binary);
lfuse_status __wrap_lfuse__cuda_compile(const char *source, const char *arch, lfuse__strbuf *log,
                                        lfuse__strbuf *binary);

/* FNV-1a. */
static uint64_t hash_of(const char *data, size_t bytes)
{
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    for (size_t i = 0; i < bytes; i++) hash = (hash ^ (unsigned char)data[i]) * UINT64_C(0x100000001b3);
    return hash;
}

/* An ELF file. */
typedef struct cubin {
    const char *image, *names;
    const Elf64_Shdr *sections;
    size_t count;
} cubin;

static cubin cubin_of(const char *image)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + head->e_shoff);

    return (cubin){image, image + sections[head->e_shstrndx].sh_offset, sections, head->e_shnum};
}

static const Elf64_Shdr *find_section(const cubin *c, const char *name)
{
    for (size_t i = 0; i < c->count; i++)
        if (!strcmp(c->names + c->sections[i].sh_name, name)) return &c->sections[i];
    return NULL;
}

static void note_code(FILE *out, const char *arch, const cubin *c)
{
    for (size_t i = 0; i < c->count; i++) {
        const Elf64_Shdr *s = &c->sections[i];
        const char *name = c->names + s->sh_name;

        if (strncmp(name, ".text.", strlen(".text."))) continue;
        fprintf(out, "code\t%s\t%s\t%016" PRIx64 " of %" PRIu64 " instructions\n", arch, name + strlen(".text."),
                hash_of(c->image + s->sh_offset, s->sh_size), s->sh_size / INSTRUCTION);
    }
}

static void note_needs(FILE *out, const char *arch, const cubin *c)
{
    const Elf64_Shdr *symbols = find_section(c, ".symtab"), *names = find_section(c, ".strtab"),
                     *info = find_section(c, ".nv.info");
    uint32_t words[3];

    if (!symbols || !names || !info) return;
    for (size_t i = 0; i + sizeof words <= info->sh_size; i += sizeof *words) {
        memcpy(words, c->image + info->sh_offset + i, sizeof words);
        if (words[0] != REGISTERS && words[0] != FRAME) continue;
        const Elf64_Sym *symbol = (const Elf64_Sym *)(c->image + symbols->sh_offset) + words[1];
        fprintf(out, "needs\t%s\t%s\t%" PRIu32 " %s\n", arch, c->image + names->sh_offset + symbol->st_name, words[2],
                words[0] == FRAME ? "bytes" : "registers");
    }
}

lfuse_status __wrap_lfuse__cuda_compile(const char *source, const char *arch, lfuse__strbuf *log,
                                        lfuse__strbuf *binary)
{
    const char *path = getenv("SAME_OUTPUT");
    const size_t before = binary->length;
    const lfuse_status status = __real_lfuse__cuda_compile(source, arch, log, binary);
    const char *image = binary->data + before;
    FILE *out = status || !path ? NULL : fopen(path, "a");

    if (!out) return status;
    if (memcmp(image, ELFMAG, SELFMAG)) {
        fprintf(out, "code\t%s\tPTX\t%016" PRIx64 "\n", arch, hash_of(image, binary->length - before));
    } else {
        const cubin c = cubin_of(image);
        note_code(out, arch, &c);
        note_needs(out, arch, &c);
    }
    fclose(out);
    return status;
}
