/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many results differ from host C, on every device: a million pairs of arbitrary bit patterns through the operators
 * whose bits are promised, casts, and canonical sums. Prints one line a kernel with differences, and a total a device.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/base/error.h"
#include "tests/kernels/cases.h"
#include "tests/kernels/classes.h"
#include "tests/kernels/host.h"

enum { PAIRS = 1 << 20, ROW = 5000, ROWS = PAIRS / ROW };

static int64_t differing;

static void must(lfuse_status status)
{
    if (status == LFUSE_OK) return;
    fprintf(stderr, "probe-d3: %s\n", lfuse__error_message());
    exit(EXIT_FAILURE);
}

/* Elements that differ; the first of them is printed. */
static void compare(const char *what, lfuse_type type, const unsigned char *got, const unsigned char *want,
                    size_t count)
{
    const size_t size = lfuse_type_size(type);
    int64_t differ = 0;
    for (size_t i = 0; i < count; i++) {
        if (host_compare(got + i * size, want + i * size, type, size) < 0) continue;
        if (differ++ == 0) {
            unsigned long long g = 0, w = 0;
            memcpy(&g, got + i * size, size);
            memcpy(&w, want + i * size, size);
            printf("  %s: first at %zu: %llx, host %llx\n", what, i, g, w);
        }
    }
    if (differ) printf("  %s: %lld of %zu differ\n", what, (long long)differ, count);
    differing += differ;
}

static void probe(rig *r, lfuse__bprogram *program, const char *name, const sample *s)
{
    static unsigned char storage[LFUSE__MAX_OPERANDS][PAIRS * 8], want[PAIRS * 8];
    const int inputs = s->k.noperands - 1;
    lfuse__geometry g = {.extents = {PAIRS}};
    lfuse__packed packed;
    rig_buffer buffers[4];
    void *from[4], *to[4] = {NULL};
    for (int j = 0; j <= inputs; j++) {
        const lfuse_type type = s->k.operands[j].type;
        uint64_t seed = 1000 + (uint64_t)j;
        if (j & 1 || type == LFUSE_BOOL)
            host_fill(storage[j], type, PAIRS, seed);
        else
            for (size_t i = 0; i < PAIRS * lfuse_type_size(type); i++)
                storage[j][i] = (unsigned char)(host_random(&seed) >> 40);
        g.strides[j][0] = 1;
        buffers[j] = (rig_buffer){storage[j], PAIRS * lfuse_type_size(type), j == inputs};
        from[j] = storage[j];
    }
    to[inputs] = want;
    for (int64_t i = 0; i < PAIRS; i++) host_body(&s->k, NULL, from, to, (const int64_t[4]){i, i, i, i});
    must(lfuse__family_pointwise.pack(&s->k, &r->facts, &g, &packed));
    rig_launch(r, program, name, &packed, inputs + 1, buffers);
    compare(name, s->k.operands[inputs].type, storage[inputs], want, PAIRS);
}

static void probe_operators(rig *r, lfuse_type type)
{
    static sample samples[LFUSE__OP_COUNT];
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    char name[48];
    for (int op = 0; op < LFUSE__OP_COUNT; op++) {
        if (!sample_fits(op, type) || !host_exact(op)) continue;
        snprintf(name, sizeof name, "op_%s_%d", lfuse__ops[op].name, (int)type);
        sample_op(&samples[op], op, type);
        must(lfuse__family_pointwise.emit(&text, name, &samples[op].k, &r->facts));
    }
    lfuse__bprogram *program = rig_program(r, &text);
    for (int op = 0; op < LFUSE__OP_COUNT; op++) {
        if (!sample_fits(op, type) || !host_exact(op)) continue;
        snprintf(name, sizeof name, "op_%s_%d", lfuse__ops[op].name, (int)type);
        probe(r, program, name, &samples[op]);
    }
    r->backend->program_destroy(program);
}

static void probe_casts(rig *r, lfuse_type from)
{
    sample samples[LFUSE__TYPES];
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    char name[48];
    for (lfuse_type to = LFUSE_F32; to < LFUSE__TYPES; to++) {
        if (!rig_has(r, to)) continue;
        snprintf(name, sizeof name, "cast_%d_%d", (int)from, (int)to);
        sample_cast(&samples[to], from, to);
        must(lfuse__family_pointwise.emit(&text, name, &samples[to].k, &r->facts));
    }
    lfuse__bprogram *program = rig_program(r, &text);
    for (lfuse_type to = LFUSE_F32; to < LFUSE__TYPES; to++) {
        if (!rig_has(r, to)) continue;
        snprintf(name, sizeof name, "cast_%d_%d", (int)from, (int)to);
        probe(r, program, name, &samples[to]);
    }
    r->backend->program_destroy(program);
}

static void probe_sums(rig *r, lfuse_type type)
{
    static unsigned char storage[PAIRS * 8], got[ROWS * 8], want[ROWS * 8];
    lfuse__geometry g = {.extents = {ROWS, ROW}, .strides = {{ROW, 1}, {1, 0}}};
    lfuse__packed packed;
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    uint64_t seed = 7;
    const lfuse_type wide = lfuse__register_type(type);
    sample s;
    sample_square(&s, type);
    s.stores[0].reg = (int16_t)sample_reduce(&s, LFUSE__REDUCE_SUM, wide, s.stores[0].reg);
    s.k.family = LFUSE__FAMILY_ROWS;
    s.k.rank = 2;
    s.k.naxes = 1;
    s.k.operands[1].inner = LFUSE__STRIDE_REPEAT;
    lfuse__rows_choose(&r->facts, ROWS, ROW, false, &s.k);
    must(lfuse__family_rows.emit(&text, "sum_rows", &s.k, &r->facts));
    lfuse__bprogram *program = rig_program(r, &text);
    for (int64_t i = 0; i < PAIRS; i++) host_put(storage, type, i, (double)(int64_t)host_random(&seed) * 0x1p-63);
    for (int64_t i = 0; i < ROWS; i++) {
        value squares[ROW];
        for (int64_t e = 0; e < ROW; e++) {
            const value x = host_load(storage, type, i * ROW + e);
            squares[e] = host_apply(LFUSE__OP_mul, wide, x, x);
        }
        host_store(want, type, i, row_fold(LFUSE__REDUCE_SUM, wide, squares, ROW));
    }
    must(lfuse__family_rows.pack(&s.k, &r->facts, &g, &packed));
    const rig_buffer buffers[2] = {{storage, PAIRS * lfuse_type_size(type), false},
                                   {got, ROWS * lfuse_type_size(type), true}};
    rig_launch(r, program, "sum_rows", &packed, 2, buffers);
    compare("canonical sums", type, got, want, ROWS);
    r->backend->program_destroy(program);
}

static void probe_device(rig *r)
{
    differing = 0;
    printf("%s (%s)\n", r->facts.info.name, r->facts.info.product);
    for (lfuse_type type = LFUSE_F32; type < LFUSE__TYPES; type++) {
        if (!rig_has(r, type)) continue;
        probe_operators(r, type);
        probe_casts(r, type);
        if (lfuse__is_floating(type)) probe_sums(r, type);
    }
    printf("  %lld results differ from the host's\n", (long long)differing);
    fflush(stdout);
}

int main(void)
{
    if (rig_every_device(probe_device) == 0) puts("no device on this machine");
    return EXIT_SUCCESS;
}
