/* SPDX-License-Identifier: Apache-2.0 */
#include "common/tune/wisdom.h"
#include "tests/tune/wisdom_rig.h"

char base[PATH_MAX], file[PATH_MAX + 32];

void make_base(void)
{
    static const char *const names[] = { "LFUSE_WISDOM", "LFUSE_EFFORT", "LFUSE_CACHE", "LFUSE_CACHE_DIR", "HOME",
                                         "XDG_CACHE_HOME" };

    for (size_t i = 0; i < sizeof names / sizeof *names; i++) unsetenv(names[i]);
    setenv("LFUSE_PROVIDER", "vendor", 1); /* whose algorithms are chosen among; the stub is a CPU */
    make_folder("wisdom", base, sizeof base);
    hear(LFUSE_LOG_DEBUG);
}

void open_with_file(void)
{
    make_base();
    snprintf(file, sizeof file, "%s/file", base);
    setenv("LFUSE_WISDOM", file, 1);
    open_stub();
    lfuse__stub.gemm_candidates = 7;
    lfuse__stub.gemm_workspace = 0;
}

void close_and_remove(void)
{
    if (dev) close_stub();
    remove_folder(base);
}

void fastest(int candidate)
{
    lfuse__stub.gemm_slow = ~(1u << candidate);
}

void reopen(void)
{
    lfuse_stream_destroy(stream);
    lfuse_device_close(dev);
    OK(lfuse_device_open("stub:0", &dev));
    OK(lfuse_stream_create(dev, &stream));
}

/* Without epilogues there is no other way than a product and a kernel. *timed: runs beside the product's own. */
static int chosen(lfuse_effort effort, int64_t rows, uint64_t *timed)
{
    const lfuse_plan_options options = { .effort = effort, .disable = LFUSE_NO_EPILOGUE };
    uint64_t before = lfuse__stub_calls(LFUSE__STUB_gemm_run), graphs = lfuse__stub_calls(LFUSE__STUB_graph_begin);
    lfuse__stub_call call;
    lfuse_graph *graph = g;
    lfuse_plan *plan;

    g = lfuse_graph_create();
    dense_graph();
    OK(lfuse_plan_create(dev, g, &options, &plan));
    check_dense(plan, rows, ANY);
    lfuse_plan_destroy(plan);
    lfuse_graph_destroy(g);
    g = graph;
    ck_assert(lfuse__stub_call_get(1, &call));
    ck_assert_str_eq(call.kernel, "gemm");
    *timed = lfuse__stub_calls(LFUSE__STUB_gemm_run) - before - 1 + lfuse__stub_calls(LFUSE__STUB_graph_begin) - graphs;
    return call.candidate;
}

void check_chosen(lfuse_effort effort, int64_t rows, int candidate, bool measured)
{
    uint64_t timed;

    ck_assert_int_eq(chosen(effort, rows, &timed), candidate);
    ck_assert(measured == (timed > 0));
}

void check_lines(const char *path, size_t count)
{
    lfuse__wisdom_place place;
    lfuse__wisdom w = { 0 };

    OK(lfuse__wisdom_place_at(path, &place));
    OK(lfuse__wisdom_load(&place, &w));
    ck_assert_uint_eq(w.count, count);
    lfuse__wisdom_clear(&w);
    lfuse__wisdom_place_close(&place);
}

void check_text(const char *path, const char *text)
{
    char is[4096];

    read_file(path, is, sizeof is);
    ck_assert_str_eq(is, text);
}
