/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Native graphs: none. A replay is a list of launches whose kernels keep their arguments; the list costs what the bare
 * calls cost (on PoCL 0.8 us of the host for each launch).
 *
 * Command buffers (cl_khr_command_buffer) could stand behind these functions, and do not, because they are slower where
 * they exist. PoCL makes each recorded command a command of the queue again, with an event of its own, and one more for
 * all of them:
 *
 *     us to enqueue (and until finished)    list          buffer
 *     PoCL 3.1 (0.9.0),  8 launches         4.7 (60.6)    5.1 (61.5)
 *                       32 launches        12.9 (186)    15.9 (194)
 *     PoCL 5.0 (0.9.4),  8 launches        52.5 (1387)   69.0 (1437)
 *                       32 launches        85.3 (7097)  133   (7171)
 *     Intel's (1.0.0),   8 launches        16.1 (27.7)   27.9 (37.8)
 *                       32 launches        69.8 (110)    99.6 (130)
 *
 * (medians of 400 of each by turns, kernels over 16384 elements; Intel's runtime for CPUs 2026.22 by the benchmark,
 * over 256, the run of three that is best for the buffer). NVIDIA's OpenCL (13.0) does not have the extension. Intel's
 * alone has cl_khr_command_buffer_mutable_dispatch (0.9.3), whose updates would come on top; on PoCL a new address or
 * number would take a new buffer: 1.6 and 10 us for 8 launches. PoCL 3.1 reads a kernel's arguments when the buffer is
 * enqueued, not when the launch is recorded: each recorded launch would need a kernel object of its own.
 * `lfuse-bench --case launch:32` has both ways side by side (bare, bare-buffer) for any driver that is to be judged.
 */
#include "backends/opencl/internal.h"

static lfuse_status declined(void)
{
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "the library makes no native graphs on OpenCL");
}

lfuse_status lfuse__cl_graph_begin(lfuse__bstream *s)
{
    (void)s;
    return declined();
}

lfuse_status lfuse__cl_graph_end(lfuse__bstream *s, lfuse__bgraph **graph)
{
    (void)s, (void)graph;
    return declined();
}

lfuse_status lfuse__cl_graph_launch(lfuse__bstream *s, lfuse__bgraph *graph)
{
    (void)s, (void)graph;
    return declined();
}

lfuse_status lfuse__cl_graph_patch(lfuse__bgraph *graph, unsigned index, lfuse__bkernel *kernel,
                                   const lfuse__launch_args *launch)
{
    (void)graph, (void)index, (void)kernel, (void)launch;
    return declined();
}

void lfuse__cl_graph_destroy(lfuse__bgraph *graph)
{
    (void)graph;
}
