/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/kernels/rig.h"

#include <sys/mman.h>
#include <unistd.h>

#include "common/base/error.h"
#include "tests/support/main.h"

static void must(lfuse_status status, const char *what, const char *more)
{
    if (status == LFUSE_OK) return;
    printf("Bail out! %s: %s%s%s\n", what, lfuse__error_message(), more ? "\n" : "", more ? more : "");
    exit(EXIT_FAILURE);
}

void rig_open(rig *r, const lfuse__backend *backend, int device)
{
    *r = (rig){.backend = backend};
    must(backend->open(device, &r->dev), "open", NULL);
    must(backend->facts(r->dev, &r->facts), "facts", NULL);
    must(backend->stream_create(r->dev, &r->stream), "stream_create", NULL);
}

void rig_close(rig *r)
{
    r->backend->stream_destroy(r->stream);
    r->backend->close(r->dev);
}

lfuse__bprogram *rig_program(rig *r, lfuse__strbuf *text)
{
    lfuse__strbuf source = LFUSE__STRBUF_INIT, log = LFUSE__STRBUF_INIT;
    lfuse__bprogram *program = NULL;
    if (r->before) lfuse__strbuf_add(&source, r->before);
    lfuse__strbuf_add(&source, r->backend->prelude);
    lfuse__strbuf_add(&source, text->data);
    must(lfuse__strbuf_check(&source), "text", NULL);
    lfuse_status status = r->backend->program_build(r->dev, source.data, &log, &program);
    must(status, "program_build", log.data);
    lfuse__strbuf_free(&source);
    lfuse__strbuf_free(&log);
    lfuse__strbuf_free(text);
    return program;
}

static int first_of(const rig_buffer *buffers, int i)
{
    int j = 0;
    while (buffers[j].host != buffers[i].host) j++;
    return j;
}

/* Whole pages for so many bytes, and one behind them. */
static size_t edge_bytes(size_t bytes, size_t page)
{
    return (bytes + page - 1) / page * page + page;
}

/* So many bytes up to a page that nobody may touch. */
static void take_edge(rig *r, size_t bytes, lfuse__bmem **memory)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), all = edge_bytes(bytes, page);
    unsigned char *map = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(map != MAP_FAILED && !mprotect(map + all - page, page, PROT_NONE));
    must(r->backend->wrap(r->dev, LFUSE_MEMORY_POINTER, (uint64_t)(uintptr_t)(map + all - page - bytes), bytes, memory),
         "wrap", NULL);
}

static void take(rig *r, size_t bytes, lfuse__bmem **memory)
{
    if (r->edges) take_edge(r, bytes, memory);
    else must(r->backend->alloc(r->dev, LFUSE__ALLOC_DEVICE, bytes, memory), "alloc", NULL);
}

static void give_back(rig *r, lfuse__bmem *memory)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    lfuse__mem_info info;
    r->backend->mem_info(memory, &info);
    r->backend->free(memory);
    if (!r->edges) return;
    const size_t all = edge_bytes(info.bytes, page);
    munmap((unsigned char *)info.host + info.bytes + page - all, all);
}

void rig_launch(rig *r, lfuse__bprogram *program, const char *kernel, const lfuse__packed *packed, int count,
                const rig_buffer *buffers)
{
    const lfuse__launch_args args = {.groups = packed->groups, .group = packed->group, .nwords = packed->nwords,
                                     .words = packed->words};
    rig_launch_words(r, program, kernel, &args, count, buffers);
}

/* Memory of a launch, filled. */
static void place(rig *r, int count, const rig_buffer *buffers, lfuse__bmem **memory)
{
    for (int i = 0; i < count; i++) {
        if (!buffers[i].host) continue;
        const int j = first_of(buffers, i);
        memory[i] = memory[j];
        if (j < i) continue;
        take(r, buffers[i].bytes, &memory[i]);
        must(r->backend->write(r->stream, memory[i], 0, buffers[i].host, buffers[i].bytes), "write", NULL);
    }
}

static void run_placed(rig *r, lfuse__bprogram *program, const char *kernel, const lfuse__launch_args *launch,
                       int count, const rig_buffer *buffers, lfuse__bmem **memory)
{
    lfuse__bkernel *k;
    lfuse__launch_args args = *launch;
    args.nbuffers = (unsigned)count;
    args.buffers = memory;
    must(r->backend->kernel_create(program, kernel, &k), "kernel_create", kernel);
    must(r->backend->launch(r->stream, k, &args), "launch", kernel);
    for (int i = 0; i < count; i++)
        if (buffers[i].out) must(r->backend->read(r->stream, memory[i], 0, buffers[i].host, buffers[i].bytes), "read",
                                 NULL);
    must(r->backend->stream_sync(r->stream), "stream_sync", kernel);
    r->backend->kernel_destroy(k);
}

static void displace(rig *r, int count, const rig_buffer *buffers, lfuse__bmem **memory)
{
    for (int i = 0; i < count; i++)
        if (buffers[i].host && first_of(buffers, i) == i) give_back(r, memory[i]);
}

void rig_launch_words(rig *r, lfuse__bprogram *program, const char *kernel, const lfuse__launch_args *launch, int count,
                      const rig_buffer *buffers)
{
    lfuse__bmem *memory[LFUSE__MAX_BUFFERS] = {NULL};
    place(r, count, buffers, memory);
    run_placed(r, program, kernel, launch, count, buffers, memory);
    displace(r, count, buffers, memory);
}

/* Where there are tensor maps, the geometry has to have the true addresses; else what it says of their alignment. */
static void find_addresses(const rig *r, int count, lfuse__bmem **memory, lfuse__geometry *g)
{
    lfuse__mem_info info;
    for (int i = 0; i < count && r->facts.tensor_map; i++) {
        if (!memory[i]) continue;
        r->backend->mem_info(memory[i], &info);
        g->addresses[i] = info.address + g->offsets[i];
    }
}

lfuse_status rig_launch_product(rig *r, lfuse__bprogram *program, const char *kernel, const lfuse__kernel_class *k,
                                const lfuse__geometry *g, const rig_buffer *buffers)
{
    lfuse__bmem *memory[LFUSE__MAX_BUFFERS] = {NULL};
    lfuse__geometry placed = *g;
    lfuse__packed packed;
    place(r, k->noperands + 1, buffers, memory);
    find_addresses(r, k->noperands, memory, &placed);
    const lfuse_status status = lfuse__product_pack(k, &r->facts, &placed, &packed);
    const lfuse__launch_args args = {.groups = packed.groups, .group = packed.group,
                                     .local_bytes = lfuse__family_local_bytes(k), .nwords = packed.nwords,
                                     .words = packed.words};
    if (!status) run_placed(r, program, kernel, &args, k->noperands + 1, buffers, memory);
    displace(r, k->noperands + 1, buffers, memory);
    return status;
}

lfuse__bprogram *rig_product_program(rig *r, const lfuse__kernel_class *k, const char *what)
{
    lfuse__kernel_class phase = *k;
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    char name[16];
    for (int i = lfuse__product_first(k); i < lfuse__product_phases(k); i++) {
        phase.product.phase = i;
        snprintf(name, sizeof name, "k%d", phase.product.phase);
        ck_assert_msg(!lfuse__product_emit(&text, name, &phase, &r->facts), "%s: %s", what, lfuse__error_message());
    }
    return rig_program(r, &text);
}

void rig_run_product(rig *r, lfuse__bprogram *program, const lfuse__kernel_class *k, const lfuse__geometry *g,
                     rig_buffer *buffers, int times, const char *what)
{
    const size_t bytes = (size_t)lfuse__product_workspace(k, &r->facts, g), tickets = lfuse__product_tickets(k);
    const int first = lfuse__product_first(k), phases = lfuse__product_phases(k) - (k->product.kept > 0) - first;
    unsigned char *workspace = rig_memory(bytes, 0xff);
    lfuse__kernel_class phase = *k;
    char name[16];
    memset(workspace, 0, tickets);
    buffers[k->noperands] = bytes ? (rig_buffer){workspace, bytes, true} : (rig_buffer){NULL, 0, false};
    for (int i = 0; i < phases * times; i++) {
        phase.product.phase = first + i % phases;
        snprintf(name, sizeof name, "k%d", phase.product.phase);
        ck_assert_msg(!rig_launch_product(r, program, name, &phase, g, buffers), "%s: %s", what,
                      lfuse__error_message());
    }
    for (size_t b = 0; b < tickets; b++) ck_assert_msg(!workspace[b], "%s: a ticket stays", what);
    free(workspace);
}

void rig_prepare_product(rig *r, lfuse__bprogram *program, const lfuse__kernel_class *k, const lfuse__geometry *g,
                         const rig_buffer *buffers, const char *what)
{
    const int operand = k->product.kept - 1;
    rig_buffer some[LFUSE__MAX_BUFFERS] = {{NULL, 0, false}};
    lfuse__kernel_class phase = *k;
    char name[16];
    phase.product.phase = lfuse__product_phases(k) - 1;
    ck_assert_msg(lfuse__product_prepares(&phase), "%s: nothing is kept", what);
    some[operand] = buffers[operand], some[LFUSE__PRODUCT_SUM] = buffers[LFUSE__PRODUCT_SUM];
    snprintf(name, sizeof name, "k%d", phase.product.phase);
    ck_assert_msg(!rig_launch_product(r, program, name, &phase, g, some), "%s: %s", what, lfuse__error_message());
}

void rig_product(rig *r, const lfuse__kernel_class *k, const lfuse__geometry *g, rig_buffer *buffers, int times,
                 const char *what)
{
    lfuse__bprogram *program = rig_product_program(r, k, what);
    const size_t first = (size_t)g->offsets[LFUSE__PRODUCT_SUM], bytes = (size_t)lfuse__product_kept(k, &r->facts, g);
    unsigned char *kept = rig_memory(first + bytes, 0xff);
    if (bytes) {
        buffers[LFUSE__PRODUCT_SUM] = (rig_buffer){kept, first + bytes, true};
        rig_prepare_product(r, program, k, g, buffers, what);
    }
    rig_run_product(r, program, k, g, buffers, times, what);
    free(kept);
    r->backend->program_destroy(program);
}

void *rig_memory(size_t bytes, int byte)
{
    void *memory = malloc(bytes + 1);
    ck_assert_ptr_nonnull(memory);
    return memset(memory, byte, bytes);
}

int rig_every_device(void (*use)(rig *r))
{
    const char *only = getenv("LFUSE_TEST_DEVICE");
    int devices = 0;
    for (int b = 0; lfuse__backends[b]; b++) {
        int count = 0;
        char reason[256] = "";
        must(lfuse__backends[b]->enumerate(&count, reason, sizeof reason), "enumerate", NULL);
        for (int i = 0; i < count; i++) {
            rig r;
            rig_open(&r, lfuse__backends[b], i);
            if (!only || !strncmp(r.facts.info.name, only, strlen(only))) {
                test_without_optimisation(false);
                use(&r);
                devices++;
            }
            rig_close(&r);
        }
    }
    return devices;
}
