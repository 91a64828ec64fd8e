/* SPDX-License-Identifier: Apache-2.0 */
/* Native graphs: OpenCL has none; a recording is a prepared list of launches there. */
#ifdef HAVE_CONFIG_H
#include "config.h"
#endif

#include "backends/opencl/internal.h"

static lfuse_status declined(void)
{
    return lfuse__error(LFUSE_ERR_UNSUPPORTED, "OpenCL has no native graphs");
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
