/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensor maps on NVIDIA's Hopper. OpenCL has no function that encodes one, but PTX has instructions that set its fields
 * ("tensormap.replace" of the PTX manual), so a kernel makes them in memory, from where they are read. Maps are kept:
 * they differ between addresses in their first word alone, which a trial shows when a device is opened, so another
 * address asks nothing of the device.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "backends/opencl/internal.h"

enum {
    MAP_BYTES = LFUSE__TENSOR_MAP_WORDS * 8,
    AXES = LFUSE__TENSOR_MAP_AXES,
    FIELDS = 3 * AXES + 3,           /* behind the map in the cell, 64 bits each */
    CELL = MAP_BYTES + FIELDS * 8,   /* bytes */
    OF_TRIAL = 3,                    /* axes of the trial's map */
    MOST_OF_BOX = 256,               /* elements of a box on an axis */
    KEPT = 64,                       /* maps */
    /* Of the trial: matrices of LINES lines, LINE elements of 16 bits that lie APART bytes apart. */
    LINE = 60, LINES = 6, APART = 128, MATRICES = 2, MATRIX_APART = 1024, BOX_BYTES = 64, BOX_LINES = 8,
    BOX = BOX_BYTES * BOX_LINES, X = 32, Z = 1,
    PLACE = 4096                     /* bytes of what is copied from, and where the box comes to behind them */
};

typedef struct kept_map {
    lfuse__tensor_boxes of; /* its address is that of the map */
    uint64_t map[LFUSE__TENSOR_MAP_WORDS];
} kept_map;

struct lfuse__cl_mapper {
    pthread_mutex_t lock; /* of all below */
    lfuse__cl_probe probe; /* lfuse_map */
    kept_map kept[KEPT];
    unsigned made; /* so many in all; number i is kept[i % KEPT] */
};

/*
 * lfuse_map makes a map in the cell, whose first 128 bytes are 0, of the fields behind it: address, axes less one, the
 * extents of five axes, how far elements of axes 1 to 4 lie apart, elements of a box on each axis, bytes of an element
 * and of a box's line. The last two choose among constants: what tells types and swizzles apart is no register. What is
 * set of axes that a map does not have is of no effect.
 *
 * lfuse_box copies the trial's box to memory, by way of local memory; one work-item runs it.
 */
#define REPLACE "    tensormap.replace.tile."
#define AXIS(i, extent, box)                                                                                           \
    "    ld.global.u32 r, [c+" extent "];\n" REPLACE "global_dim.global.b1024.b32 [c], " i ", r;\n"                    \
    "    ld.global.u32 r, [c+" box "];\n" REPLACE "box_dim.global.b1024.b32 [c], " i ", r;\n"                          \
    REPLACE "element_stride.global.b1024.b32 [c], " i ", 1;\n"
#define APART_OF(i, apart)                                                                                             \
    "    ld.global.u64 w, [c+" apart "];\n" REPLACE "global_stride.global.b1024.b64 [c], " i ", w;\n"
static const char *const ptx =
    ".version 8.6\n"
    ".target sm_90a, texmode_independent\n"
    ".address_size 64\n"
    ".entry lfuse_map(.param .u64 .ptr .global .align 128 cell)\n"
    "{\n"
    "    .reg .b64 c, w;\n"
    "    .reg .b32 r;\n"
    "    .reg .pred p;\n"
    "    ld.param.u64 c, [cell];\n"
    "    ld.global.u64 w, [c+128];\n"
    REPLACE "global_address.global.b1024.b64 [c], w;\n"
    "    ld.global.u32 r, [c+136];\n"
    REPLACE "rank.global.b1024.b32 [c], r;\n"
    AXIS("0", "144", "216") AXIS("1", "152", "224") AXIS("2", "160", "232") AXIS("3", "168", "240")
    AXIS("4", "176", "248")
    APART_OF("0", "184") APART_OF("1", "192") APART_OF("2", "200") APART_OF("3", "208")
    REPLACE "interleave_layout.global.b1024.b32 [c], 0;\n"
    REPLACE "fill_mode.global.b1024.b32 [c], 0;\n"
    "    ld.global.u32 r, [c+256];\n"
    "    setp.eq.u32 p, r, 1;\n"
    "    @p tensormap.replace.tile.elemtype.global.b1024.b32 [c], 0;\n"  /* u8 */
    "    setp.eq.u32 p, r, 2;\n"
    "    @p tensormap.replace.tile.elemtype.global.b1024.b32 [c], 1;\n"  /* u16 */
    "    setp.eq.u32 p, r, 4;\n"
    "    @p tensormap.replace.tile.elemtype.global.b1024.b32 [c], 11;\n" /* tf32 */
    "    ld.global.u32 r, [c+264];\n"
    "    setp.eq.u32 p, r, 32;\n"
    "    @p tensormap.replace.tile.swizzle_mode.global.b1024.b32 [c], 1;\n"
    "    setp.eq.u32 p, r, 64;\n"
    "    @p tensormap.replace.tile.swizzle_mode.global.b1024.b32 [c], 2;\n"
    "    setp.eq.u32 p, r, 128;\n"
    "    @p tensormap.replace.tile.swizzle_mode.global.b1024.b32 [c], 3;\n"
    "    ret;\n"
    "}\n"
    ".entry lfuse_box(.param .align 64 .b8 map[128], .param .u64 .ptr .global .align 16 to)\n"
    "{\n"
    "    .reg .b64 m, t, w;\n"
    "    .reg .b32 b, l, i;\n"
    "    .reg .pred p;\n"
    "    .shared .align 1024 .b8 box[512];\n"
    "    .shared .align 8 .b64 barrier;\n"
    "    mov.b64 m, map;\n"
    "    cvta.param.u64 m, m;\n"
    "    ld.param.u64 t, [to];\n"
    "    mov.b32 b, barrier;\n"
    "    mov.b32 l, box;\n"
    "    mbarrier.init.shared::cta.b64 [b], 1;\n"
    "    fence.mbarrier_init.release.cluster;\n"
    "    mbarrier.arrive.expect_tx.shared::cta.b64 _, [b], 512;\n"
    "    cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes [l], [m, {32, 0, 1}], [b];\n"
    "wait:\n"
    "    mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 p, [b], 0;\n"
    "    @!p bra wait;\n"
    "    mov.b32 i, 0;\n"
    "more:\n"
    "    ld.shared.u64 w, [l];\n"
    "    st.global.u64 [t], w;\n"
    "    add.u32 l, l, 8;\n"
    "    add.u64 t, t, 8;\n"
    "    add.u32 i, i, 8;\n"
    "    setp.lt.u32 p, i, 512;\n"
    "    @p bra more;\n"
    "    ret;\n"
    "}\n";

_Static_assert(BOX == 512 && X == 32 && Z == 1 && MAP_BYTES == 128, "numbers in the text");

static const char *name_of(const lfuse__bdevice *dev)
{
    return dev->device.facts.info.name;
}

static void destroy(lfuse__cl_mapper *m)
{
    lfuse__cl_probe_destroy(&m->probe);
    pthread_mutex_destroy(&m->lock);
    free(m);
}

/* With the lock held, or before anybody else knows of it. */
static cl_int make(const lfuse__cl_probe *p, const lfuse__tensor_boxes *of, uint64_t map[LFUSE__TENSOR_MAP_WORDS])
{
    enum { UNREAD = 16 /* bytes, between elements of an axis that a map does not have */ };
    uint64_t cell[LFUSE__TENSOR_MAP_WORDS + FIELDS] = { 0 }, *const fields = cell + LFUSE__TENSOR_MAP_WORDS;
    uint64_t *const extents = fields + 2, *const apart = extents + AXES - 1, *const boxes = apart + AXES;
    cl_int code;

    fields[0] = of->address, fields[1] = of->axes - 1;
    for (unsigned i = 0; i < AXES; i++) {
        extents[i] = i < of->axes ? of->axis[i].extent : 1;
        boxes[i] = i < of->axes ? of->axis[i].box : 1;
        if (i > 0) apart[i] = i < of->axes ? of->axis[i].apart : UNREAD;
    }
    fields[FIELDS - 2] = of->bytes, fields[FIELDS - 1] = of->axis[0].box * of->bytes;
    code = lfuse__cl.EnqueueWriteBuffer(p->queue, p->cell, CL_TRUE, 0, sizeof cell, cell, 0, NULL, NULL);
    if (code == CL_SUCCESS) code = lfuse__cl.SetKernelArg(p->kernel, 0, sizeof p->cell, &p->cell);
    if (code == CL_SUCCESS) code = lfuse__cl_probe_run(p, p->kernel, 1);
    return code == CL_SUCCESS ? lfuse__cl_probe_read(p, 0, MAP_BYTES, map) : code;
}

/* ---- the trial ---- */

static bool differ_in_address_alone(const uint64_t *a, const uint64_t *b, uint64_t address_a, uint64_t address_b)
{
    return a[0] == address_a && b[0] == address_b && memcmp(a + 1, b + 1, MAP_BYTES - sizeof *a) == 0;
}

/* Element e of line i of the box, as its place in memory numbers it, or 0 beyond the ends. */
static uint16_t element(int i, int e)
{
    return i < LINES && X + e < LINE ? (uint16_t)(Z * MATRIX_APART / 2 + i * APART / 2 + X + e) : 0;
}

/* Lines of 64 bytes are swizzled in chunks of 16: by XOR with half their number. */
static bool is_box(const uint16_t *found)
{
    enum { CHUNK = 8, OF_LINE = BOX_BYTES / 2 };

    for (int i = 0; i < BOX_LINES; i++)
        for (int e = 0; e < OF_LINE; e++)
            if (found[i * OF_LINE + ((e / CHUNK ^ i / 2 % 4) * CHUNK) + e % CHUNK] != element(i, e)) return false;
    return true;
}

static cl_int copy_box(const lfuse__cl_probe *p, const uint64_t *map, cl_mem to)
{
    cl_int code;
    cl_kernel kernel = lfuse__cl.CreateKernel(p->program, "lfuse_box", &code);

    if (kernel == NULL) return code;
    code = lfuse__cl.SetKernelArg(kernel, 0, MAP_BYTES, map);
    if (code == CL_SUCCESS) code = lfuse__cl.SetKernelArg(kernel, 1, sizeof to, &to);
    if (code == CL_SUCCESS) code = lfuse__cl_probe_run(p, kernel, 1);
    if (code == CL_SUCCESS) code = lfuse__cl.Finish(p->queue);
    lfuse__cl.ReleaseKernel(kernel);
    return code;
}

/* Whether maps that the kernel makes copy what they should, and are kept for other addresses rightly. */
static lfuse_status attempt(lfuse__bdevice *dev, void *with)
{
    lfuse__cl_probe *const p = with;
    lfuse__tensor_boxes of = { .bytes = 2, .axes = OF_TRIAL,
                               .axis = { { .extent = LINE, .box = BOX_BYTES / 2 }, { LINES, APART, BOX_LINES },
                                         { MATRICES, MATRIX_APART, 1 } } };
    uint64_t map[LFUSE__TENSOR_MAP_WORDS], other[LFUSE__TENSOR_MAP_WORDS];
    uint16_t from[PLACE / 2], found[BOX / 2];
    lfuse__bmem *mem;
    cl_int code;

    for (int i = 0; i < PLACE / 2; i++) from[i] = (uint16_t)i;
    memset(found, 0, sizeof found);
    LFUSE__TRY(lfuse__cl_probe_make(dev, ptx, true, "lfuse_map", CELL, p));
    LFUSE__TRY(lfuse__cl_alloc(dev, LFUSE__ALLOC_DEVICE, PLACE, &mem));
    code = lfuse__cl.EnqueueWriteBuffer(p->queue, mem->buffer, CL_TRUE, 0, sizeof from, from, 0, NULL, NULL);
    of.address = mem->address + PLACE;
    if (code == CL_SUCCESS) code = make(p, &of, other);
    of.address = mem->address;
    if (code == CL_SUCCESS) code = make(p, &of, map);
    if (code == CL_SUCCESS && differ_in_address_alone(map, other, of.address, of.address + PLACE)) {
        code = copy_box(p, map, mem->buffer);
        if (code == CL_SUCCESS)
            code = lfuse__cl.EnqueueReadBuffer(p->queue, mem->buffer, CL_TRUE, 0, sizeof found, found, 0, NULL, NULL);
    }
    lfuse__cl_free(mem);
    if (code != CL_SUCCESS) return lfuse__cl_error(code, "%s: making a tensor map", name_of(dev));
    return is_box(found) ? LFUSE_OK
                         : lfuse__error(LFUSE_ERR_UNSUPPORTED, "%s: a tensor map does not copy what it should",
                                        name_of(dev));
}

lfuse_status lfuse__cl_probe_tensor_maps(lfuse__bdevice *dev)
{
    lfuse__cl_mapper *m;
    lfuse_status status;
    bool works;

    if (!dev->device.facts.wgmma || dev->addresser == NULL) return LFUSE_OK;
    m = calloc(1, sizeof *m);
    if (m == NULL) return lfuse__error(LFUSE_ERR_MEMORY, "out of host memory (%zu bytes)", sizeof *m);
    pthread_mutex_init(&m->lock, NULL);
    status = lfuse__cl_try(dev, attempt, &m->probe, "no tensor maps", &works);
    if (works) {
        dev->mapper = m;
        dev->device.facts.tensor_map = lfuse__cl_tensor_map;
        dev->device.facts.maps_of = dev;
    } else {
        destroy(m);
    }
    return status;
}

void lfuse__cl_mapper_destroy(lfuse__cl_mapper *m)
{
    if (m != NULL) destroy(m);
}

/* ---- maps ---- */

static bool is_size(uint64_t size)
{
    return size > 0 && size <= UINT32_MAX;
}

static bool is_stride(uint64_t bytes)
{
    return bytes % 16 == 0 && bytes < (uint64_t)1 << 40;
}

static bool is_box_line(unsigned bytes)
{
    return bytes == 32 || bytes == 64 || bytes == 128;
}

/* What CUDA's own function would take. Elements of 8 and 16 bits are copied as they are. */
static bool has_map(const lfuse__tensor_boxes *of)
{
    if ((of->bytes != 1 && of->bytes != 2 && of->bytes != 4) || of->axes < 1 || of->axes > AXES) return false;
    if (of->address == 0 || of->address % 16) return false;
    for (unsigned i = 0; i < of->axes; i++)
        if (!is_size(of->axis[i].extent) || of->axis[i].box < 1 || of->axis[i].box > MOST_OF_BOX ||
            (i > 0 && !is_stride(of->axis[i].apart))) return false;
    return is_box_line(of->axis[0].box * of->bytes);
}

/* Whether both, which have maps, differ in their addresses at most. */
static bool is_alike(const lfuse__tensor_boxes *a, const lfuse__tensor_boxes *b)
{
    if (a->bytes != b->bytes || a->axes != b->axes) return false;
    for (unsigned i = 0; i < a->axes; i++)
        if (a->axis[i].extent != b->axis[i].extent || a->axis[i].box != b->axis[i].box ||
            (i > 0 && a->axis[i].apart != b->axis[i].apart)) return false;
    return true;
}

/* With the lock held: returns the kept map of such boxes, or NULL. */
static const kept_map *find(const lfuse__cl_mapper *m, const lfuse__tensor_boxes *of)
{
    const unsigned count = m->made < KEPT ? m->made : KEPT;

    for (unsigned i = 0; i < count; i++)
        if (is_alike(&m->kept[i].of, of)) return &m->kept[i];
    return NULL;
}

lfuse_status lfuse__cl_tensor_map(lfuse__bdevice *dev, const lfuse__tensor_boxes *of,
                                  uint64_t map[LFUSE__TENSOR_MAP_WORDS], bool *made)
{
    lfuse__cl_mapper *m = dev->mapper;
    const kept_map *kept;
    cl_int code = CL_SUCCESS;

    if (!has_map(of)) {
        *made = false;
        return LFUSE_OK;
    }
    pthread_mutex_lock(&m->lock);
    kept = find(m, of);
    if (kept == NULL) {
        kept_map *fresh = &m->kept[m->made % KEPT];
        uint64_t found[LFUSE__TENSOR_MAP_WORDS];
        code = make(&m->probe, of, found);
        if (code == CL_SUCCESS) {
            fresh->of = *of;
            memcpy(fresh->map, found, MAP_BYTES);
            m->made = m->made + 1 < 2 * KEPT ? m->made + 1 : KEPT;
            kept = fresh;
        }
    }
    if (kept != NULL) memcpy(map, kept->map, MAP_BYTES);
    pthread_mutex_unlock(&m->lock);
    if (code != CL_SUCCESS)
        return lfuse__cl_queue_error(dev, m->probe.queue, code, "%s: making a tensor map of %u axes, lines of %llu",
                                     name_of(dev), of->axes, (unsigned long long)of->axis[0].extent);
    map[0] = of->address;
    *made = true;
    return LFUSE_OK;
}
