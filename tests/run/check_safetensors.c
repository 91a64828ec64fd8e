/* SPDX-License-Identifier: Apache-2.0 */
/* Files of named tensors: there and back on every device, a file whose bytes are known, and all that may be wrong. */
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/base/error.h"
#include "libfuse/safetensors.h"
#include "tests/run/rig.h"
#include "tests/stub/faults.h"
#include "tests/support/descriptors.h"
#include "tests/support/files.h"

static char base[PATH_MAX], path[PATH_MAX + 32];
static int descriptors;

static void make_base(void)
{
    make_folder("safetensors", base, sizeof base);
    snprintf(path, sizeof path, "%s/file", base);
}

static void remove_base(void)
{
    remove_folder(base);
}

static void setup(void)
{
    make_base();
    open_stub();
    descriptors = test_open_descriptors();
}

/* Of tests whose kernels make the library open its cache. */
static void leave(void)
{
    close_stub();
    remove_base();
}

static void teardown(void)
{
    ck_assert_int_eq(test_open_descriptors(), descriptors);
    leave();
}

static void close_file(void *file)
{
    lfuse_safetensors_close(file);
}

static lfuse_safetensors *opened(void)
{
    lfuse_safetensors *file;

    OK(lfuse_safetensors_open(path, &file));
    return objects_own(file, close_file);
}

static void closed(lfuse_safetensors *file)
{
    objects_drop(file, close_file);
}

/* A contiguous tensor whose bytes are first, first + 1 ...; of bools 0 and 1 by turns. */
static lfuse_tensor *counted(lfuse_type type, int rank, const int64_t *shape, int first)
{
    lfuse_tensor *t = new_tensor(dev, type, rank, shape);
    const size_t bytes = (size_t)lfuse_tensor_elements(t) * lfuse_type_size(type);
    unsigned char *host = new_memory(bytes + 1);

    for (size_t i = 0; i < bytes; i++) host[i] = (unsigned char)(type == LFUSE_BOOL ? (i + (size_t)first) & 1
                                                                                    : i + (size_t)first);
    OK(lfuse_tensor_write(t, NULL, host));
    return t;
}

static void ck_same(const lfuse_tensor *a, const lfuse_tensor *b)
{
    const size_t bytes = (size_t)lfuse_tensor_elements(a) * lfuse_type_size(lfuse_tensor_type(a));
    void *x = new_memory(bytes + 1), *y = new_memory(bytes + 1);

    OK(lfuse_tensor_read(a, NULL, x));
    OK(lfuse_tensor_read(b, NULL, y));
    ck_assert(!memcmp(x, y, bytes));
}

/* ---- there and back ---- */

enum { TENSORS = 12 };

static const char *const names[TENSORS] = {
    "layers.0.weight", "layers.0.bias", "h", "b", "counts", "steps", "i8", "bytes", "mask", "number", "none",
    "quoted \"name\" \\ \n \xc3\xa9\xf0\x9f\x98\x80",
};

static void make_tensors(lfuse_tensor **t, int first)
{
    t[0] = counted(F32(3, 5), first);
    t[1] = counted(F64(7), first + 1);
    t[2] = counted(F16(1, 2, 3), first + 2);
    t[3] = counted(BF16(5), first + 3);
    t[4] = counted(I32(2, 2, 2, 1, 1, 1, 1, 3), first + 4);
    t[5] = counted(I64(3), first + 5);
    t[6] = counted(I8(9), first + 6);
    t[7] = counted(U8(11), first + 7);
    t[8] = counted(BOOL(13), first + 8);
    t[9] = counted(LFUSE_F32, 0, NULL, first + 9);
    t[10] = counted(F32(4, 0, 2), 0);
    t[11] = counted(F32(2), first + 10);
}

static void there_and_back(void)
{
    const lfuse_safetensors_text texts[] = {{"step", "1234"}, {"a \"key\"", "\t\xc3\xa9"}, {"empty", ""}};
    lfuse_tensor *saved[TENSORS], *loaded[TENSORS];
    lfuse_safetensors *file;

    make_tensors(saved, 1);
    make_tensors(loaded, 100);
    OK(lfuse_safetensors_save(path, TENSORS, names, saved, 3, texts));
    ck_assert_int_eq(files_in(base, NULL, 0), 1);
    file = opened();
    ck_assert_int_eq(lfuse_safetensors_count(file), TENSORS);
    ck_assert_str_eq(lfuse_safetensors_metadata(file, "step"), "1234");
    ck_assert_str_eq(lfuse_safetensors_metadata(file, "a \"key\""), "\t\xc3\xa9");
    ck_assert_str_eq(lfuse_safetensors_metadata(file, "empty"), "");
    ck_assert_ptr_null(lfuse_safetensors_metadata(file, "other"));
    OK(lfuse_safetensors_load(file, TENSORS, names, loaded, 0));
    for (int i = 0; i < TENSORS; i++) ck_same(saved[i], loaded[i]);
    closed(file);
}

/* A transposed view is saved as it reads, and loaded into views of any strides. */
static void strided(void)
{
    static const float want[6] = {0, 3, 1, 4, 2, 5};
    const float host[6] = {0, 1, 2, 3, 4, 5};
    const char *name = "x";
    lfuse_tensor *whole = new_tensor(dev, F32(2, 3)), *room = new_tensor(dev, F32(2, 6));
    lfuse_tensor *transposed = new_view(whole, 2, LFUSE_DIMS(3, 2), LFUSE_DIMS(1, 3), 0);
    lfuse_tensor *second = new_view(room, 2, LFUSE_DIMS(3, 2), LFUSE_DIMS(2, 6), 1);
    lfuse_tensor *repeated = new_view(whole, 2, LFUSE_DIMS(3, 2), LFUSE_DIMS(0, 1), 0);
    lfuse_safetensors *file;
    float got[12];

    OK(lfuse_tensor_write(whole, NULL, host));
    OK(lfuse_tensor_fill(room, NULL, -1));
    OK(lfuse_safetensors_save(path, 1, &name, &transposed, 0, NULL));
    file = opened();
    OK(lfuse_safetensors_load(file, 1, &name, &second, 0));
    OK(lfuse_tensor_read(second, NULL, got));
    ck_assert(!memcmp(got, want, sizeof want));
    OK(lfuse_tensor_read(room, NULL, got));
    for (int i = 0; i < 12; i += 2) ck_assert_float_eq(got[i], -1);
    SAYS(LFUSE_ERR_OVERLAP, lfuse_safetensors_load(file, 1, &name, &repeated, 0), "several elements");
    closed(file);
}

TEST_CASE("there and back", .setup = setup, .teardown = leave)

TEST(on_the_stub)
{
    there_and_back();
    strided();
}

TEST_ON_MACHINE(on_devices)
{
    there_and_back();
    strided();
}

/* All 256 numbers of e4m3 and e5m2, and NaNs keep their bits; neither type is the other. */
TEST(every_number_of_fp8)
{
    static const char *const both[2] = {"e4m3", "e5m2"};
    lfuse_tensor *saved[2], *loaded[2], *other;
    lfuse_safetensors *file;

    for (int i = 0; i < 2; i++) {
        saved[i] = counted(TYPED(i ? LFUSE_E5M2 : LFUSE_E4M3, 256), 0);
        loaded[i] = counted(TYPED(i ? LFUSE_E5M2 : LFUSE_E4M3, 256), 7);
    }
    OK(lfuse_safetensors_save(path, 2, both, saved, 0, NULL));
    file = opened();
    OK(lfuse_safetensors_load(file, 2, both, loaded, 0));
    for (int i = 0; i < 2; i++) {
        ck_same(saved[i], loaded[i]);
        other = loaded[1 - i];
        SAYS(LFUSE_ERR_TYPE, lfuse_safetensors_load(file, 1, &both[i], &other, LFUSE_SAFETENSORS_PARTIAL),
             i ? "is F8_E5M2 in the file, the tensor is e4m3" : "is F8_E4M3 in the file, the tensor is e5m2");
        ck_same(saved[1 - i], loaded[1 - i]);
    }
    closed(file);
}

TEST(nothing_at_all)
{
    lfuse_safetensors *file;

    OK(lfuse_safetensors_save(path, 0, NULL, NULL, 0, NULL));
    file = opened();
    ck_assert_int_eq(lfuse_safetensors_count(file), 0);
    ck_assert_ptr_null(lfuse_safetensors_metadata(file, "step"));
    OK(lfuse_safetensors_load(file, 0, NULL, NULL, 0));
    closed(file);
}

/* ---- a file whose bytes are known ---- */

/*
 * By the format's description: the length of the header (144: 139 characters and 5 blanks), the header, {1, -2} in f32
 * (0x3f800000, 0xc0000000) and the truths 1, 0, 1. safetensors 0.8 of Python reads it so, and writes these bytes.
 */
static const char known[8 + 144 + 11] =
    "\x90\0\0\0\0\0\0\0"
    "{\"__metadata__\":{\"step\":\"7\"},\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
    "\"a\":{\"dtype\":\"BOOL\",\"shape\":[3,1],\"data_offsets\":[8,11]}}     "
    "\0\0\x80\x3f\0\0\0\xc0\x01\0\x01";

TEST_CASE("known bytes", .setup = setup, .teardown = teardown)

TEST(known_bytes_are_read)
{
    static const char *const both[] = {"b", "a"};
    lfuse_tensor *t[2];
    lfuse_safetensors_info info;
    lfuse_safetensors *file;
    float b[2];
    unsigned char a[3];

    write_file(path, known, sizeof known);
    file = opened();
    ck_assert_int_eq(lfuse_safetensors_count(file), 2);
    OK(lfuse_safetensors_describe(file, 0, &info));
    ck_assert_str_eq(info.name, "a");
    ck_assert_str_eq(info.dtype, "BOOL");
    ck_assert_int_eq(info.type, LFUSE_BOOL);
    ck_assert_int_eq(info.rank, 2);
    ck_assert(info.shape[0] == 3 && info.shape[1] == 1 && info.bytes == 3);
    OK(lfuse_safetensors_describe(file, 1, &info));
    ck_assert_str_eq(info.name, "b");
    ck_assert(info.type == LFUSE_F32 && info.rank == 1 && info.shape[0] == 2 && info.bytes == 8);
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_describe(file, 2, &info));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_describe(file, -1, &info));
    ck_assert_str_eq(lfuse_safetensors_metadata(file, "step"), "7");
    t[0] = new_tensor(dev, F32(2));
    t[1] = new_tensor(dev, BOOL(3, 1));
    OK(lfuse_safetensors_load(file, 2, both, t, 0));
    OK(lfuse_tensor_read(t[0], NULL, b));
    OK(lfuse_tensor_read(t[1], NULL, a));
    ck_assert(b[0] == 1 && b[1] == -2);
    ck_assert(a[0] == 1 && a[1] == 0 && a[2] == 1);
    closed(file);
}

/* In whatever order they are given. */
TEST_LOOP(known_bytes_are_written, 0, 2)
{
    static const char *const both[] = {"a", "b", "a"};
    static const float b[] = {1, -2};
    static const unsigned char a[] = {1, 0, 1};
    lfuse_tensor *truths = new_tensor(dev, BOOL(3, 1)), *numbers = new_tensor(dev, F32(2));
    lfuse_tensor *const t[] = {truths, numbers, truths};
    char got[sizeof known + 9];

    OK(lfuse_tensor_write(truths, NULL, a));
    OK(lfuse_tensor_write(numbers, NULL, b));
    OK(lfuse_safetensors_save(path, 2, both + _i, t + _i, 1, &(lfuse_safetensors_text){"step", "7"}));
    ck_assert_uint_eq(read_file(path, got, sizeof got), sizeof known);
    ck_assert(!memcmp(got, known, sizeof known));
}

/* ---- files that are wrong ---- */

/* Headers in front of 8 bytes of elements. */
typedef struct bad_header {
    const char *text;
    const char *words;
    lfuse_status status; /* OK: ERR_IO */
} bad_header;

#define ENTRY(dtype, shape, offsets) "{\"dtype\":" dtype ",\"shape\":" shape ",\"data_offsets\":" offsets "}"
#define X "\"x\":" ENTRY("\"F32\"", "[2]", "[0,8]")

static const bad_header bad_headers[] = {
    {"", "does not begin with '{'", 0},
    {" {" X "}", "does not begin with '{'", 0},
    {"[]", "does not begin with '{'", 0},
    {"{" X, "ends where ','", 0},
    {"{" X "}}", "something follows", 0},
    {"{" X "," X "}", "begins at byte 0", 0},
    {"{\"x\":" ENTRY("\"F32\"", "[1]", "[0,4]") ",\"x\":" ENTRY("\"F32\"", "[1]", "[4,8]") "}",
     "\"x\" stands there twice", 0},
    {"{" X ",\"__metadata__\":{\"a\":\"1\",\"a\":\"2\"}}", "key \"a\" stands there twice", 0},
    {"{\"__metadata__\":{}," X ",\"__metadata__\":{}}", "\"__metadata__\" stands there twice", 0},
    {"{" X ",\"__metadata__\":{\"a\":1}}", "a string is expected", 0},
    {"{" X ",\"__metadata__\":[]}", "'{' is expected", 0},
    {"{\"\":" ENTRY("\"F32\"", "[2]", "[0,8]") "}", "a name is empty", 0},
    {"{\"x\":{}}", "\"x\": it needs a dtype", 0},
    {"{\"x\":{\"dtype\":\"F32\",\"shape\":[2]}}", "it needs a dtype", 0},
    {"{\"x\":{\"dtype\":\"F32\",\"data_offsets\":[0,8]}}", "it needs a dtype", 0},
    {"{\"x\":{\"shape\":[2],\"data_offsets\":[0,8]}}", "it needs a dtype", 0},
    {"{\"x\":{\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", "\"dtype\" is unknown", 0},
    {"{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"shape\":[2],\"data_offsets\":[0,8]}}", "\"shape\" is unknown or", 0},
    {"{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"data_offsets\":[0,8]}}",
     "\"data_offsets\" is unknown or", 0},
    {"{\"x\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8],\"more\":1}}", "\"more\" is unknown or", 0},
    {"{\"x\":" ENTRY("\"F33\"", "[2]", "[0,8]") "}", "dtype \"F33\" is unknown", 0},
    {"{\"x\":" ENTRY("4", "[2]", "[0,8]") "}", "a string is expected", 0},
    {"{\"x\":" ENTRY("\"F32\"", "2", "[0,8]") "}", "'[' is expected", 0},
    {"{\"x\":" ENTRY("\"F32\"", "[-2]", "[0,8]") "}", "not negative", 0},
    {"{\"x\":" ENTRY("\"F32\"", "[2.0]", "[0,8]") "}", "not whole", 0},
    {"{\"x\":" ENTRY("\"F32\"", "[[2]]", "[0,8]") "}", "a whole number", 0},
    {"{\"x\":" ENTRY("\"F32\"", "[2]", "[0]") "}", "it needs a dtype", 0},
    {"{\"x\":" ENTRY("\"F32\"", "[2]", "[0,4,8]") "}", "it needs a dtype", 0},
    {"{\"x\":" ENTRY("\"F32\"", "[2]", "[8,0]") "}", "data_offsets [8, 0] of a tensor of 8 bytes", 0},
    {"{\"x\":" ENTRY("\"F32\"", "[2]", "[0,4]") "}", "data_offsets [0, 4] of a tensor of 8 bytes", 0},
    {"{\"x\":" ENTRY("\"F32\"", "[1]", "[0,4]") "}", "4 of 8 bytes", 0},
    {"{\"x\":" ENTRY("\"F32\"", "[1]", "[4,8]") "}", "begins at byte 4", 0},
    {"{\"x\":" ENTRY("\"F32\"", "[3]", "[0,12]") "}", "ends at byte 12 of 8", 0},
    {"{\"x\":" ENTRY("\"F32\"", "[2]", "[8,16]") "}", "begins at byte 8", 0},
    {"{\"x\":" ENTRY("\"U8\"", "[5]", "[0,5]") ",\"y\":" ENTRY("\"U8\"", "[5]", "[3,8]") "}",
     "\"y\" begins at byte 3", 0},
    {"{\"x\":" ENTRY("\"U8\"", "[3]", "[0,3]") ",\"y\":" ENTRY("\"U8\"", "[3]", "[5,8]") "}",
     "\"y\" begins at byte 5", 0},
    {"{" X ",\"y\":" ENTRY("\"U8\"", "[0]", "[3,3]") "}", "begins at byte 3", 0},
    {"{\"x\":" ENTRY("\"F32\"", "[4294967296,4294967296]", "[0,8]") "}", "too many elements", 0},
    {"{\"x\":" ENTRY("\"F64\"", "[2305843009213693952]", "[0,8]") "}", "too many elements", 0},
    {"{\"x\":" ENTRY("\"U8\"", "[9223372036854775807]", "[0,9223372036854775807]") "}", "ends at byte", 0},
    {"{\"x\":" ENTRY("\"F32\"", "[1,1,1,1,1,1,1,1,2]", "[0,8]") "}", "rank 9", LFUSE_ERR_RANK},
};

static void write_header(const char *text, int elements)
{
    const size_t length = strlen(text);
    char *file = new_memory(8 + length + (size_t)elements + 1);

    for (int i = 0; i < 8; i++) file[i] = (char)((uint64_t)length >> 8 * i);
    memcpy(file + 8, text, length);
    write_file(path, file, 8 + length + (size_t)elements);
    objects_drop(file, free);
}

TEST_CASE("bad files", .setup = setup, .teardown = teardown)

TEST_LOOP(a_bad_header, 0, (int)(sizeof bad_headers / sizeof *bad_headers))
{
    const bad_header *b = &bad_headers[_i];
    lfuse_safetensors *file = NULL;

    write_header(b->text, 8);
    SAYS(b->status ? b->status : LFUSE_ERR_IO, lfuse_safetensors_open(path, &file), b->words);
    ck_says(path);
    ck_assert_ptr_null(file);
}

/* Types that the library lacks are listed and not loaded; a tensor beside them is. */
TEST(foreign_types)
{
    static const char *const both[] = {"x", "y"};
    lfuse_tensor *t[2] = {counted(U8(3), 0), counted(I8(4), 9)};
    lfuse_safetensors_info info;
    lfuse_safetensors *file;

    write_header("{\"x\":" ENTRY("\"U8\"", "[3]", "[0,3]") ",\"z\":" ENTRY("\"U8\"", "[0]", "[3,3]")
                 ",\"y\":" ENTRY("\"F8_E8M0\"", "[4]", "[3,7]") "} \t\r\n", 7);
    file = opened();
    OK(lfuse_safetensors_describe(file, 1, &info));
    ck_assert_str_eq(info.name, "y");
    ck_assert_str_eq(info.dtype, "F8_E8M0");
    ck_assert_int_eq(info.type, LFUSE_TYPE_NONE);
    SAYS(LFUSE_ERR_TYPE, lfuse_safetensors_load(file, 2, both, t, LFUSE_SAFETENSORS_PARTIAL), "F8_E8M0");
    OK(lfuse_safetensors_load(file, 1, both, t, LFUSE_SAFETENSORS_PARTIAL));
    closed(file);
}

TEST(short_files)
{
    lfuse_safetensors *file;

    for (size_t n = 0; n < sizeof known; n++) {
        write_file(path, known, n);
        FAILS(LFUSE_ERR_IO, lfuse_safetensors_open(path, &file));
    }
    write_file(path, known, 7);
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_open(path, &file), "7 bytes: no header");
    write_file(path, known, 100);
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_open(path, &file), "a header of 144 bytes in a file of 100");
    write_file(path, known, sizeof known - 1);
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_open(path, &file), "ends at byte 11 of 10");
}

TEST(lengths_of_headers)
{
    lfuse_safetensors *file;
    char bytes[sizeof known];

    memcpy(bytes, known, sizeof bytes);
    memcpy(bytes, "\x01\xe1\xf5\x05\0\0\0\0", 8);
    write_file(path, bytes, sizeof bytes);
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_open(path, &file), "100000001 bytes, where 100000000");
    memcpy(bytes, "\0\xe1\xf5\x05\0\0\0\0", 8);
    write_file(path, bytes, sizeof bytes);
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_open(path, &file), "100000000 bytes in a file of 163");
    memset(bytes, 0xff, 8);
    write_file(path, bytes, sizeof bytes);
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_open(path, &file), "18446744073709551615 bytes, where");
    memset(bytes, 0, 8);
    write_file(path, bytes, sizeof bytes);
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_open(path, &file), "does not begin with '{'");
}

/* Every byte of the head changed to some others: a file opens or is refused, and what opens is loaded or refused. */
TEST(damaged_files)
{
    static const char others[] = "\"\\{}[],:9-\x80 ";
    static const char *const both[] = {"b", "a"};
    lfuse_tensor *t[2] = {new_tensor(dev, F32(2)), new_tensor(dev, BOOL(3, 1))};
    int opens = 0;

    for (size_t at = 0; at < sizeof known; at++)
        for (size_t k = 0; k < sizeof others; k++) {
            lfuse_safetensors *file;
            char bytes[sizeof known];
            memcpy(bytes, known, sizeof bytes);
            bytes[at] = others[k];
            write_file(path, bytes, sizeof bytes);
            const lfuse_status status = lfuse_safetensors_open(path, &file);
            ck_assert_msg(!status || status == LFUSE_ERR_IO, "byte %zu as %02x", at, (unsigned char)others[k]);
            if (status) continue;
            opens++;
            (void)!lfuse_safetensors_load(file, 2, both, t, 0);
            lfuse_safetensors_close(file);
        }
    ck_assert_int_gt(opens, 0); /* names, texts and elements may be others */
}

TEST(what_is_no_file)
{
    lfuse_safetensors *file;
    char link[PATH_MAX + 64];

    SAYS(LFUSE_ERR_IO, lfuse_safetensors_open(path, &file), "No such file");
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_open(base, &file), "no regular file");
    ck_assert_int_eq(mkfifo(path, 0600), 0);
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_open(path, &file), "no regular file");
    ck_assert_int_eq(unlink(path), 0);
    snprintf(link, sizeof link, "%s/other", base);
    write_file(link, known, sizeof known);
    ck_assert_int_eq(symlink("other", path), 0);
    closed(opened());
}

TEST(null_arguments)
{
    const char *const one[] = {"x"}, *const none[] = {NULL};
    lfuse_tensor *t = counted(F32(2), 0), *nothing = NULL;
    lfuse_safetensors_info info;
    lfuse_safetensors *file;

    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_save(NULL, 0, NULL, NULL, 0, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_save(path, 1, NULL, &t, 0, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_save(path, 1, one, NULL, 0, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_save(path, 1, none, &t, 0, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_save(path, 1, one, &nothing, 0, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_save(path, -1, one, &t, 0, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_save(path, 1, one, &t, -1, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_save(path, 1, one, &t, 1, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_save(path, 1, one, &t, 1, &(lfuse_safetensors_text){"k", NULL}));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_save(path, 1, one, &t, 1, &(lfuse_safetensors_text){NULL, "v"}));
    ck_assert_int_eq(files_in(base, NULL, 0), 0);
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_open(NULL, &file));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_open(path, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_describe(NULL, 0, &info));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_load(NULL, 0, NULL, NULL, 0));
    lfuse_safetensors_close(NULL);
    ck_assert_int_eq(lfuse_safetensors_count(NULL), 0);
    ck_assert_ptr_null(lfuse_safetensors_metadata(NULL, "x"));
    write_file(path, known, sizeof known);
    file = opened();
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_describe(file, 0, NULL));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_load(file, -1, one, &t, 0));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_load(file, 1, NULL, &t, 0));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_load(file, 1, one, NULL, 0));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_load(file, 1, none, &t, 0));
    FAILS(LFUSE_ERR_INVALID, lfuse_safetensors_load(file, 0, NULL, NULL, 2));
    ck_assert_ptr_null(lfuse_safetensors_metadata(file, NULL));
    closed(file);
}

/* ---- what is asked for ---- */

/* Two names and tensors that do not fit the known file: nothing is written, of the first one neither. */
typedef struct mismatch {
    const char *names[2];
    lfuse_type type;
    int rank;
    int64_t shape[2]; /* of the second one */
    unsigned switches;
    lfuse_status status;
    const char *words;
} mismatch;

static const mismatch mismatches[] = {
    {{"b", "c"}, LFUSE_BOOL, 2, {3, 1}, 0, LFUSE_ERR_NAME, "no tensor \"c\""},
    {{"b", "c"}, LFUSE_BOOL, 2, {3, 1}, LFUSE_SAFETENSORS_PARTIAL, LFUSE_ERR_NAME, "no tensor \"c\""},
    {{"b", "step"}, LFUSE_BOOL, 2, {3, 1}, 0, LFUSE_ERR_NAME, "no tensor \"step\""},
    {{"b", "b"}, LFUSE_F32, 1, {2}, 0, LFUSE_ERR_NAME, "asked for twice"},
    {{"b", "a"}, LFUSE_U8, 2, {3, 1}, 0, LFUSE_ERR_TYPE, "\"a\" is BOOL in the file, the tensor is u8"},
    {{"b", "a"}, LFUSE_BOOL, 1, {3}, 0, LFUSE_ERR_RANK, "rank 2 in the file, the tensor has rank 1"},
    {{"b", "a"}, LFUSE_BOOL, 2, {1, 3}, 0, LFUSE_ERR_SHAPE, "axis 0 of \"a\" has extent 3 in the file, 1"},
    {{"b", "a"}, LFUSE_BOOL, 2, {3, 2}, 0, LFUSE_ERR_SHAPE, "axis 1 of \"a\" has extent 1 in the file, 2"},
    {{"b", NULL}, LFUSE_BOOL, 2, {3, 1}, 0, LFUSE_ERR_NAME, "holds a tensor \"a\", which is not asked for"},
};

TEST_CASE("names", .setup = setup, .teardown = teardown)

TEST_LOOP(what_does_not_fit, 0, (int)(sizeof mismatches / sizeof *mismatches))
{
    const mismatch *m = &mismatches[_i];
    lfuse_tensor *t[2] = {counted(F32(2), 33), counted(m->type, m->rank, m->shape, 1)};
    lfuse_tensor *const before = counted(F32(2), 33);
    lfuse_safetensors *file;

    write_file(path, known, sizeof known);
    file = opened();
    SAYS(m->status, lfuse_safetensors_load(file, m->names[1] ? 2 : 1, m->names, t, m->switches), m->words);
    ck_says(path);
    ck_same(t[0], before);
    closed(file);
}

TEST(a_part_of_a_file)
{
    const char *name = "b";
    lfuse_tensor *t = new_tensor(dev, F32(2));
    lfuse_safetensors *file;
    float b[2];

    write_file(path, known, sizeof known);
    file = opened();
    OK(lfuse_safetensors_load(file, 1, &name, &t, LFUSE_SAFETENSORS_PARTIAL));
    OK(lfuse_tensor_read(t, NULL, b));
    ck_assert(b[0] == 1 && b[1] == -2);
    closed(file);
}

TEST(truths_are_0_or_1)
{
    const char *name = "a";
    lfuse_tensor *t = new_tensor(dev, BOOL(3, 1));
    lfuse_safetensors *file;
    char bytes[sizeof known];

    memcpy(bytes, known, sizeof bytes);
    bytes[sizeof bytes - 2] = 2;
    write_file(path, bytes, sizeof bytes);
    file = opened();
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_load(file, 1, &name, &t, LFUSE_SAFETENSORS_PARTIAL), "element 1 of \"a\"");
    closed(file);
}

TEST(a_file_that_is_cut_while_it_is_open)
{
    const char *name = "a";
    lfuse_tensor *t = new_tensor(dev, BOOL(3, 1));
    lfuse_safetensors *file;

    write_file(path, known, sizeof known);
    file = opened();
    ck_assert_int_eq(truncate(path, sizeof known - 1), 0);
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_load(file, 1, &name, &t, LFUSE_SAFETENSORS_PARTIAL), "\"a\": ");
    closed(file);
}

TEST(names_that_are_refused)
{
    static const char *const wrong[][2] = {{"x", ""}, {"x", "\xff"}, {"x", "__metadata__"}, {"x", "x"}};
    lfuse_tensor *const t[] = {counted(F32(2), 0), counted(F32(3), 0)};

    write_text(path, "former");
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        FAILS(LFUSE_ERR_NAME, lfuse_safetensors_save(path, 2, wrong[i], t, 0, NULL));
    const lfuse_safetensors_text texts[][2] = {
        {{"", "v"}, {"k", "v"}}, {{"k", "\xff"}, {"l", "v"}}, {{"\xff", "v"}, {"k", "v"}}, {{"k", "1"}, {"k", "2"}},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        FAILS(LFUSE_ERR_NAME, lfuse_safetensors_save(path, 0, NULL, NULL, 2, texts[i]));
    char got[16];
    ck_assert_uint_eq(read_file(path, got, sizeof got), 6);
    ck_assert_int_eq(files_in(base, NULL, 0), 1);
}

/* ---- the file that is written ---- */

TEST_CASE("writing", .setup = setup, .teardown = teardown)

TEST(a_former_file_is_replaced)
{
    const char *name = "x";
    lfuse_tensor *t = counted(F32(2), 0);

    write_text(path, "former");
    OK(lfuse_safetensors_save(path, 1, &name, &t, 0, NULL));
    ck_assert_int_eq(files_in(base, NULL, 0), 1);
    closed(opened());
}

TEST(who_may_read_it)
{
    const mode_t mask = umask(027);
    struct stat st;

    OK(lfuse_safetensors_save(path, 0, NULL, NULL, 0, NULL));
    umask(mask);
    ck_assert_int_eq(stat(path, &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0640);
}

TEST(where_nothing_can_be_written)
{
    char inner[PATH_MAX + 64];

    snprintf(inner, sizeof inner, "%s/none/file", base);
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_save(inner, 0, NULL, NULL, 0, NULL), "No such file");
    snprintf(inner, sizeof inner, "%s/", base);
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_save(inner, 0, NULL, NULL, 0, NULL), "names no file");
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_save("", 0, NULL, NULL, 0, NULL), "names no file");
    ck_assert_int_eq(mkdir(path, 0700), 0);
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_save(path, 0, NULL, NULL, 0, NULL), "no regular file");
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_int_eq(symlink("/dev/null", path), 0);
    SAYS(LFUSE_ERR_IO, lfuse_safetensors_save(path, 0, NULL, NULL, 0, NULL), "no regular file");
    ck_assert_int_eq(files_in(base, NULL, 0), 1);
}

/* ---- devices that fail ---- */

/* There is no file, or a complete one alone. */
static bool intact(void)
{
    lfuse_safetensors *file;
    int count;

    if (!files_in(base, NULL, 0)) return true;
    if (files_in(base, NULL, 0) > 1 || lfuse_safetensors_open(path, &file)) return false;
    count = lfuse_safetensors_count(file);
    lfuse_safetensors_close(file);
    return count == 1;
}

static lfuse_status save_and_load(lfuse_tensor *from, lfuse_tensor *to)
{
    static const float want[2] = {1, -2};
    const char *name = "x";
    lfuse_safetensors *file;
    float got[2] = {0};

    LFUSE__TRY(lfuse_tensor_write(from, NULL, want));
    const lfuse_status saved = lfuse_safetensors_save(path, 1, &name, &from, 0, NULL);
    if (saved) return intact() ? saved : LFUSE_ERR_IO;
    LFUSE__TRY(lfuse_safetensors_open(path, &file));
    const lfuse_status loaded = lfuse_safetensors_load(file, 1, &name, &to, 0);
    lfuse_safetensors_close(file);
    if (loaded) return loaded;
    LFUSE__TRY(lfuse_tensor_read(to, NULL, got));
    return got[0] == 1 && got[1] == -2 && files_in(base, NULL, 0) == 1 ? LFUSE_OK : LFUSE_ERR_IO;
}

static lfuse_status saving(lfuse_device *device)
{
    lfuse_tensor *from = NULL, *to = NULL;
    lfuse_status status = lfuse_tensor_create(device, F32(2), &from);

    if (!status) status = lfuse_tensor_create(device, F32(2), &to);
    if (!status) status = save_and_load(from, to);
    lfuse_tensor_destroy(from);
    lfuse_tensor_destroy(to);
    return status;
}

TEST_CASE("failures", .setup = make_base, .teardown = remove_base)

TEST(devices_that_fail)
{
    test_faults(saving, LFUSE_ERR_DEVICE, NULL);
    test_faults(saving, LFUSE_ERR_DEVICE_MEMORY, NULL);
}

TEST_SUITE("safetensors", CK_NOFORK)
