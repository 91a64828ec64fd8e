/* SPDX-License-Identifier: Apache-2.0 */
/*
 * first-run DEVICE [NAME]: what the first use of a plan costs in a new process whose device is open. Prints one JSON
 * line: first_us, from lfuse_plan_create to the first result of a pointwise graph on the host, and build_us, the part
 * of it spent in the vendor's compiler and loader. Run it with an empty LFUSE_CACHE_DIR, then again with what that
 * left.
 */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include <stdio.h>

#include "bench/timer.h"
#include "libfuse.h"

enum { N = 4096 };

static int fail(const char *what)
{
    fprintf(stderr, "first-run: %s: %s\n", what, lfuse_last_error());
    return 1;
}

static lfuse_graph *describe(void)
{
    lfuse_graph *g = lfuse_graph_create();
    lfuse_value x = lfuse_input(g, "x", LFUSE_F32, 1, LFUSE_DIMS(N));
    lfuse_output(g, "y", lfuse_gelu(lfuse_add(lfuse_mul(x, x), lfuse_constant(g, 0.5))));
    return g;
}

int main(int argc, char **argv)
{
    static float host[N];
    lfuse_device *device;
    lfuse_device_info info;
    lfuse_device_counters before, after;
    lfuse_stream *stream;
    lfuse_tensor *x, *y;
    lfuse_plan *plan;
    if (argc < 2) {
        fputs("usage: first-run DEVICE [NAME]\n", stderr);
        return 2;
    }
    for (int i = 0; i < N; i++) host[i] = (float)i / N;
    if (lfuse_device_open(argv[1], &device) || lfuse_device_get_info(device, &info)) return fail("open");
    if (lfuse_stream_create(device, &stream)) return fail("stream");
    if (lfuse_tensor_create(device, LFUSE_F32, 1, LFUSE_DIMS(N), &x) || lfuse_tensor_write(x, NULL, host) ||
        lfuse_tensor_create(device, LFUSE_F32, 1, LFUSE_DIMS(N), &y))
        return fail("tensors");
    lfuse_graph *g = describe();
    lfuse_binding bindings[2] = {lfuse_bind_tensor("x", x), lfuse_bind_tensor("y", y)};
    if (lfuse_device_get_counters(device, &before)) return fail("counters");

    double start = bench_now_us();
    if (lfuse_plan_create(device, g, NULL, &plan)) return fail("plan");
    if (lfuse_plan_run(plan, stream, bindings, 2)) return fail("run");
    if (lfuse_tensor_read(y, stream, host) || lfuse_stream_synchronize(stream)) return fail("read");
    double first = bench_now_us() - start;

    if (lfuse_device_get_counters(device, &after)) return fail("counters");
    printf("{\"type\":\"first\",\"case\":\"%s\",\"device\":\"%s\",\"first_us\":%.1f,\"build_us\":%llu,"
           "\"compiles\":%llu,"
           "\"value\":%.6f}\n", argc > 2 ? argv[2] : "pointwise", info.name, first,
           (unsigned long long)(after.build_us - before.build_us),
           (unsigned long long)(after.compiles - before.compiles), (double)host[N - 1]);
    lfuse_plan_destroy(plan);
    lfuse_graph_destroy(g);
    lfuse_tensor_destroy(x);
    lfuse_tensor_destroy(y);
    lfuse_stream_destroy(stream);
    lfuse_device_close(device);
    return 0;
}
