/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The stub's programs: C compiled by the host compiler ($CC with $CFLAGS, cc when unset) into a shared object, which is
 * also the binary. Files lie in a temporary folder only until they are loaded.
 */
#include <dlfcn.h>
#include <errno.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/base/error.h"
#include "tests/stub/internal.h"

extern char **environ;

struct lfuse__bprogram {
    void *library;
    unsigned char *binary;
    size_t bytes;
    lfuse__stub_texts *texts; /* compiled in batches: the kernels of this program; no library then */
    atomic_int references;    /* its kernels and the handle */
};

/*
 * -O0: for kernels over 16 lanes -O1 takes five times as long, which no test's data make up for. $4: lanes(), $5: the
 * form, $6: needs_crews(), $7: wide_registers(). Without libc, which the process that loads the kernels has: reading
 * its symbols would take most of the time of linking.
 */
static const char compile_line[] =
    "exec ${CC:-cc} -std=gnu11 -w -shared -fPIC -O0 -ffp-contract=off -fwrapv -fno-math-errno -fno-strict-aliasing "
    "-DLFUSE_LANES=\"$4\" -DLFUSE_SIMD=\"$5\" -DLFUSE_CREWS=\"$6\" $7 $CFLAGS -nostdlib -o \"$2\" \"$1\" "
    "-lm -lgcc >\"$3\" 2>&1";

lfuse_status lfuse__stub_folder_create(lfuse__stub_folder *f)
{
    const char *where = getenv("TMPDIR");
    int length = snprintf(f->path, sizeof f->path, "%s/lfuse-stub-XXXXXX", where && where[0] == '/' ? where : "/tmp");
    if (length < 0 || (size_t)length >= sizeof f->path || !mkdtemp(f->path))
        return lfuse__error(LFUSE_ERR_IO, "stub: no temporary folder: %s", strerror(errno));
    snprintf(f->source, sizeof f->source, "%s/kernels.c", f->path);
    snprintf(f->object, sizeof f->object, "%s/kernels.so", f->path);
    snprintf(f->log, sizeof f->log, "%s/log", f->path);
    return LFUSE_OK;
}

void lfuse__stub_folder_remove(const lfuse__stub_folder *f)
{
    unlink(f->source);
    unlink(f->object);
    unlink(f->log);
    rmdir(f->path);
}

lfuse_status lfuse__stub_write_file(const char *path, const void *data, size_t bytes)
{
    FILE *out = fopen(path, "wb");
    if (!out) return lfuse__error(LFUSE_ERR_IO, "stub: %s: %s", path, strerror(errno));
    size_t written = fwrite(data, 1, bytes, out);
    if (fclose(out) || written != bytes) return lfuse__error(LFUSE_ERR_IO, "stub: %s: not written", path);
    return LFUSE_OK;
}

lfuse_status lfuse__stub_read_file(const char *path, lfuse__strbuf *out)
{
    char part[4096];
    size_t got;
    FILE *in = fopen(path, "rb");
    if (!in) return lfuse__error(LFUSE_ERR_IO, "stub: %s: %s", path, strerror(errno));
    while ((got = fread(part, 1, sizeof part, in)) > 0) lfuse__strbuf_bytes(out, part, got);
    fclose(in);
    return lfuse__strbuf_check(out);
}

unsigned lfuse__stub_form(void)
{
    return lfuse__stub.vector_lanes ? 0 : lfuse__stub.simd;
}

static const char *lanes(void)
{
    return lfuse__stub.vector_lanes ? "16" : "1";
}

/*
 * 16 lanes are one register of AVX-512, and four of what every x86-64 has: the compiler takes half as long again to
 * spread them over those. Results are the same, as nothing is contracted.
 */
static const char *wide_registers(void)
{
#ifdef __x86_64__
    if (lfuse__stub.vector_lanes && __builtin_cpu_supports("avx512f")) return "-mavx512f";
#endif
    return "";
}

/*
 * Returns "1" where a kernel of the text needs crews.k, else "0". Most do not, and to read it would take the compiler a
 * third of its time for a small kernel.
 */
static const char *needs_crews(const char *source)
{
    static const char *const words[] = {"\nRESIDENT(", "\nKERNEL_OCCUPANCY(", "\nKERNEL_ALIGNED(",
                                        ") KERNEL_OCCUPANCY(" /* of a macro of the text's own */};
    bool needs = lfuse__stub_form() > 1;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) needs |= strstr(source, words[i]) != NULL;
    return needs && !lfuse__stub.vector_lanes ? "1" : "0";
}

lfuse_status lfuse__stub_compile_start(const lfuse__stub_folder *f, const char *source, pid_t *child)
{
    char form[16];
    const char *const arguments[] = {"sh",    "-c", compile_line,        "sh",             f->source, f->object, f->log,
                                     lanes(), form, needs_crews(source), wide_registers(), NULL};
    LFUSE__TRY(lfuse__stub_write_file(f->source, source, strlen(source)));
    snprintf(form, sizeof form, "%u", lfuse__stub_form());
    int failed = posix_spawn(child, "/bin/sh", NULL, NULL, (char *const *)arguments, environ);
    if (failed) return lfuse__error(LFUSE_ERR_LIBRARY, "stub: /bin/sh: %s", strerror(failed));
    return LFUSE_OK;
}

lfuse_status lfuse__stub_compile_wait(pid_t child, bool *compiled)
{
    int result = 0;
    while (waitpid(child, &result, 0) < 0)
        if (errno != EINTR) return lfuse__error(LFUSE_ERR_LIBRARY, "stub: waiting for cc: %s", strerror(errno));
    *compiled = WIFEXITED(result) && WEXITSTATUS(result) == 0;
    return LFUSE_OK;
}

static lfuse_status compile(const lfuse__stub_folder *f, const char *source, bool *compiled)
{
    pid_t child;
    LFUSE__TRY(lfuse__stub_compile_start(f, source, &child));
    return lfuse__stub_compile_wait(child, compiled);
}

lfuse_status lfuse__stub_library(const char *object, void **library)
{
    *library = dlopen(object, RTLD_NOW | RTLD_LOCAL);
    if (*library) return LFUSE_OK;
    const char *why = dlerror();
    if (!why) return lfuse__error(LFUSE_ERR_MEMORY, "stub: no memory to load %s", object);
    return lfuse__error(LFUSE_ERR_COMPILE, "stub: %s", why);
}

/* Loads the object file of the folder and keeps its bytes. */
static lfuse_status load(const lfuse__stub_folder *f, lfuse__bprogram **program)
{
    lfuse__strbuf bytes = LFUSE__STRBUF_INIT;
    lfuse_status status = lfuse__stub_read_file(f->object, &bytes);
    if (status != LFUSE_OK) goto err_free_bytes;
    lfuse__bprogram *p = calloc(1, sizeof *p);
    unsigned char *binary = malloc(bytes.length ? bytes.length : 1);
    if (!p || !binary) {
        status = lfuse__error(LFUSE_ERR_MEMORY, "stub: no memory for a program of %zu bytes", bytes.length);
        goto err_free_program;
    }
    memcpy(binary, bytes.data, bytes.length);
    p->binary = binary;
    p->bytes = bytes.length;
    status = lfuse__stub_library(f->object, &p->library);
    if (status) goto err_free_program;
    atomic_init(&p->references, 1);
    lfuse__strbuf_free(&bytes);
    lfuse__stub_live_add(&lfuse__stub_alive.programs, 1);
    *program = p;
    return LFUSE_OK;

err_free_program:
    free(binary);
    free(p);
err_free_bytes:
    lfuse__strbuf_free(&bytes);
    return status;
}

lfuse_status lfuse__stub_program_key(lfuse__bdevice *dev, lfuse__strbuf *key)
{
    (void)dev;
    ENTER(program_key);
    const char *cc = getenv("CC"), *cflags = getenv("CFLAGS");
    lfuse__strbuf_format(key, "stub %s [%s] [%s] %s lanes %u %s", __VERSION__, cc ? cc : "cc",
                         cflags ? cflags : "", lanes(), lfuse__stub_form(), wide_registers());
    return lfuse__strbuf_check(key);
}

/* A program whose kernels are compiled with those of others. */
static lfuse_status build_later(const char *source, lfuse__bprogram **program)
{
    lfuse__bprogram *p = calloc(1, sizeof *p);
    if (!p) return lfuse__error(LFUSE_ERR_MEMORY, "stub: no memory for a program");
    lfuse_status status = lfuse__stub_batch_add(source, &p->texts);
    if (status != LFUSE_OK) {
        free(p);
        return status;
    }
    atomic_init(&p->references, 1);
    lfuse__stub_live_add(&lfuse__stub_alive.programs, 1);
    *program = p;
    return LFUSE_OK;
}

static uint64_t kernels_of(const char *source)
{
    uint64_t count = 0;
    for (const char *at = source; (at = strchr(at, '\n')); at++)
        count += !strncmp(at + 1, "KERNEL(", 7) || !strncmp(at + 1, "KERNEL_OCCUPANCY(", 17);
    return count;
}

lfuse_status lfuse__stub_program_build(lfuse__bdevice *dev, const char *source, lfuse__strbuf *log,
                                       lfuse__bprogram **program)
{
    lfuse__stub_folder f;
    bool compiled = false;
    (void)dev;
    ENTER(program_build);
    lfuse__stub_add(&lfuse__stub_count.kernels, kernels_of(source));
    if (lfuse__stub.batched) return build_later(source, program);
    LFUSE__TRY(lfuse__stub_folder_create(&f));
    lfuse_status status = compile(&f, source, &compiled);
    if (status == LFUSE_OK && !compiled) {
        status = lfuse__stub_read_file(f.log, log);
        if (status == LFUSE_OK) status = lfuse__error(LFUSE_ERR_COMPILE, "stub: the host compiler refuses the source");
    }
    if (status == LFUSE_OK) status = load(&f, program);
    lfuse__stub_folder_remove(&f);
    return status;
}

lfuse_status lfuse__stub_program_load(lfuse__bdevice *dev, const void *binary, size_t bytes,
                                      lfuse__bprogram **program)
{
    lfuse__stub_folder f;
    (void)dev;
    ENTER(program_load);
    LFUSE__TRY(lfuse__stub_folder_create(&f));
    lfuse_status status = lfuse__stub_write_file(f.object, binary, bytes);
    if (status == LFUSE_OK) status = load(&f, program);
    lfuse__stub_folder_remove(&f);
    return status;
}

lfuse_status lfuse__stub_program_binary(lfuse__bprogram *program, lfuse__strbuf *binary)
{
    ENTER(program_binary);
    lfuse__strbuf_bytes(binary, program->binary, program->bytes);
    return lfuse__strbuf_check(binary);
}

static void program_release(lfuse__bprogram *program)
{
    if (atomic_fetch_sub(&program->references, 1) != 1) return;
    if (program->library) dlclose(program->library);
    lfuse__stub_texts_free(program->texts);
    free(program->binary);
    free(program);
}

void lfuse__stub_program_destroy(lfuse__bprogram *program)
{
    lfuse__stub_live_add(&lfuse__stub_alive.programs, -1);
    program_release(program);
}

lfuse_status lfuse__stub_kernel_create(lfuse__bprogram *program, const char *name, lfuse__bkernel **kernel)
{
    ENTER(kernel_create);
    char part[80];
    snprintf(part, sizeof part, "%s_part", name);
    void *symbol = program->library ? dlsym(program->library, part) : NULL;
    const lfuse__stub_text *text = program->texts ? lfuse__stub_texts_want(program->texts, name) : NULL;
    if (!symbol && !text) return lfuse__error(LFUSE_ERR_COMPILE, "stub: the program has no kernel %s", name);
    lfuse__bkernel *k = calloc(1, sizeof *k);
    if (!k) return lfuse__error(LFUSE_ERR_MEMORY, "stub: no memory for a kernel");
    memcpy(&k->function, &symbol, sizeof symbol);
    k->text = text;
    snprintf(k->name, sizeof k->name, "%s", name);
    k->program = program;
    atomic_fetch_add(&program->references, 1);
    lfuse__stub_live_add(&lfuse__stub_alive.kernels, 1);
    *kernel = k;
    return LFUSE_OK;
}

void lfuse__stub_kernel_destroy(lfuse__bkernel *kernel)
{
    lfuse__stub_live_add(&lfuse__stub_alive.kernels, -1);
    program_release(kernel->program);
    free(kernel);
}

lfuse_status lfuse__stub_launch(lfuse__bstream *s, lfuse__bkernel *kernel, const lfuse__launch_args *launch)
{
    command c = {.kind = COMMAND_LAUNCH, .groups = launch->groups};
    lfuse__stub_call call = {.groups = launch->groups, .group = launch->group, .nbuffers = launch->nbuffers,
                             .nwords = launch->nwords};
    ENTER(launch);
    if (launch->resident && (launch->groups > lfuse__stub.resident_groups || lfuse__stub.vector_lanes))
        return lfuse__error(LFUSE_ERR_UNSUPPORTED, "stub: kernel %s: %llu groups at the same time, of at most %u",
                            kernel->name, (unsigned long long)launch->groups, lfuse__stub.resident_groups);
    if (!kernel->function) LFUSE__TRY(lfuse__stub_text_function(kernel->text, &kernel->function));
    c.function = kernel->function;
    uint64_t bytes = 8 * ((uint64_t)launch->nbuffers + launch->nwords);
    if (launch->nbuffers > LFUSE__MAX_BUFFERS || launch->nwords > sizeof c.words / 8 ||
        bytes > lfuse__stub.max_argument_bytes || launch->group == 0 || launch->group > lfuse__stub.max_group)
        return lfuse__error(LFUSE_ERR_INVALID, "stub: kernel %s: group %u, %u buffers, %u words", kernel->name,
                            launch->group, launch->nbuffers, launch->nwords);
    for (unsigned i = 0; i < launch->nbuffers; i++) c.buffers[i] = launch->buffers[i] ? launch->buffers[i]->base : NULL;
    if (launch->nwords) {
        memcpy(c.words, launch->words, launch->nwords * sizeof c.words[0]);
        const size_t noted = launch->nwords * sizeof c.words[0];
        memcpy(call.words, launch->words, noted < sizeof call.words ? noted : sizeof call.words);
    }
    memcpy(call.kernel, kernel->name, sizeof call.kernel);
    lfuse__stub_log(&call);
    return lfuse__stub_submit(s, &c);
}
