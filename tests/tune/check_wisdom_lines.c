/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of wisdom, and what is taken for a file of them. */
#include "common/base/error.h"
#include "common/base/hash.h"
#include "common/tune/wisdom.h"
#include "tests/support/main.h"

#define DEVICE "0.1.0\tbackend\tproduct\t4\tdriver\tcompiler\tlibrary"

static lfuse__wisdom w;

static void none(void)
{
    lfuse__wisdom_clear(&w);
    ck_assert_uint_eq(w.count, 0);
}

static void put(const char *device, const char *what, const char *provider, const char *identity, double us)
{
    lfuse__strbuf line = LFUSE__STRBUF_INIT;

    lfuse__wisdom_compose(device, what, provider, identity, us, &line);
    OK(lfuse__wisdom_put(&w, line.data, line.length));
    lfuse__strbuf_free(&line);
}

static void print(lfuse__strbuf *text)
{
    lfuse__wisdom_print(&w, text);
    OK(lfuse__strbuf_check(text));
}

static void some(lfuse__strbuf *text)
{
    put(DEVICE, "gemm:1", "one", "a", 1.5);
    put(DEVICE, "gemm:2", "two", "b#2", 123456.789);
    put("0.1.0\tother\tproduct\t4\tdriver\tcompiler\tlibrary", "gemm:1", "three", "c", 0);
    print(text);
    none();
}

/* A file of these lines that is whole; `length` because they may hold anything. */
static void whole(lfuse__strbuf *text, const char *lines, size_t length, size_t count)
{
    lfuse__strbuf_clear(text);
    lfuse__strbuf_add(text, "libfuse wisdom 1\n");
    lfuse__strbuf_bytes(text, lines, length);
    lfuse__hash sum = lfuse__hash_bytes(text->data, text->length);
    lfuse__strbuf_format(text, "end %zu %016" PRIx64 "%016" PRIx64 "\n", count, sum.high, sum.low);
    OK(lfuse__strbuf_check(text));
}

/* In memory that ends where the text does, for the address sanitizer. */
static lfuse_status parse(const char *text, size_t length)
{
    char *exact = malloc(length ? length : 1);

    memcpy(exact, text, length);
    lfuse_status status = lfuse__wisdom_parse(exact, length, &w);
    free(exact);
    if (status) ck_assert_uint_eq(w.count, 0);
    return status;
}

TEST_CASE("wisdom lines", .limit = 120)

TEST(there_and_back)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT, again = LFUSE__STRBUF_INIT;
    lfuse__wise_choice c;

    some(&text);
    OK(parse(text.data, text.length));
    ck_assert_uint_eq(w.count, 3);
    ck_assert(lfuse__wisdom_look_up(&w, DEVICE, "gemm:2", &c));
    ck_assert_str_eq(c.provider, "two");
    ck_assert_str_eq(c.identity, "b#2");
    ck_assert_double_eq(c.us, 123456.789);
    ck_assert(!lfuse__wisdom_look_up(&w, DEVICE, "gemm:3", &c));
    ck_assert(!lfuse__wisdom_look_up(&w, DEVICE, "gemm:", &c));
    ck_assert(!lfuse__wisdom_look_up(&w, DEVICE "2", "gemm:2", &c));
    ck_assert(lfuse__wisdom_applies(&w.lines[0], DEVICE));
    ck_assert(!lfuse__wisdom_applies(&w.lines[2], DEVICE));
    ck_assert(!lfuse__wisdom_applies(&w.lines[0], DEVICE "2")); /* another library, whose name begins like it */
    print(&again);
    ck_assert_str_eq(text.data, again.data);
    lfuse__strbuf_free(&text), lfuse__strbuf_free(&again);
    none();
    print(&text);
    OK(parse(text.data, text.length)); /* no choice at all */
    ck_assert_uint_eq(w.count, 0);
    lfuse__strbuf_free(&text);
}

TEST(the_later_choice_stays)
{
    lfuse__wise_choice c;

    put(DEVICE, "gemm:1", "one", "a", 2);
    put(DEVICE, "gemm:2", "one", "a", 2);
    put(DEVICE, "gemm:1", "two", "b", 3);
    ck_assert_uint_eq(w.count, 2);
    ck_assert(lfuse__wisdom_look_up(&w, DEVICE, "gemm:1", &c));
    ck_assert_str_eq(c.provider, "two");
    none();
}

/* Words of drivers cannot end a field or a line. */
TEST(devices_by_name)
{
    lfuse_device_info info = { .backend = "opencl", .product = "A\tB\nC", .driver = "\x7f\x01", .compute_units = 7,
                               .compiler = "", .gemm = "caf\xc3\xa9" };
    lfuse__strbuf text = LFUSE__STRBUF_INIT;

    lfuse__wisdom_device(&info, &text);
    ck_assert_msg(strstr(text.data, "\topencl\tA B C\t7\t  \t\tcaf\xc3\xa9") != NULL, "%s", text.data);
    put(text.data, "gemm:1", "one", "a", 1);
    ck_assert(lfuse__wisdom_applies(&w.lines[0], text.data));
    lfuse__strbuf_free(&text);
    none();
}

TEST(every_shorter_file)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;

    some(&text);
    for (size_t length = 0; length < text.length; length++) {
        ck_assert_int_eq(parse(text.data, length), LFUSE_ERR_IO);
        ck_says(length ? "" : "is empty");
    }
    lfuse__strbuf_free(&text);
}

TEST(every_changed_byte)
{
    static const char others[] = { 0, '\n', '\t', '0', '9', 'z', (char)0xff };
    lfuse__strbuf text = LFUSE__STRBUF_INIT;

    some(&text);
    for (size_t i = 0; i < text.length; i++)
        for (size_t k = 0; k < sizeof others; k++) {
            const char was = text.data[i];
            if (was == others[k]) continue;
            text.data[i] = others[k];
            ck_assert_msg(parse(text.data, text.length) != LFUSE_OK, "byte %zu may be 0x%02x", i,
                          (unsigned char)others[k]);
            text.data[i] = was;
        }
    lfuse__strbuf_add(&text, "\n");
    ck_assert_int_eq(parse(text.data, text.length), LFUSE_ERR_IO);
    lfuse__strbuf_free(&text);
}

TEST(other_versions)
{
    static const char *const texts[] = { "libfuse wisdom 2\nwhatever\n", "libfuse wisdom 10\n", "libfuse wisdom 0\n" };

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        SAYS(LFUSE_ERR_UNSUPPORTED, parse(texts[i], strlen(texts[i])), "version");
    }
    SAYS(LFUSE_ERR_IO, parse("libfuse wisdom \x1b[2J\n", 21), "is of no version");
    SAYS(LFUSE_ERR_IO, parse("PNG", 3), "holds no wisdom");
    SAYS(LFUSE_ERR_IO, parse("libfuse wisdom 1", 16), "cut short");
}

#define KEY DEVICE "\tgemm:1\t"
#define SIXTEEN "0123456789abcdef"

/* Whole, with a checksum that fits, and wrong. */
TEST(hostile_lines)
{
    static const struct { const char *line, *words; } cases[] = {
        { "", "less than 11 fields" },
        { "end 0 0", "less than 11 fields" },
        { DEVICE "\tgemm:1\tone\ta", "less than 11 fields" },
        { KEY "one\ta\t1\t", "more than 11 fields" },
        { KEY "one\ta\t", "is no time" },
        { KEY "one\ta\t1x", "is no time" },
        { KEY "one\ta\t1 ", "is no time" },
        { KEY "one\ta\tnan", "is no time" },
        { KEY "one\ta\tinf", "is no time" },
        { KEY "one\ta\t1e999", "is no time" },
        { KEY "one\ta\t1e13", "is no time" },
        { KEY "one\ta\t-1", "is no time" },
        { KEY "one\ta\t0x10", "is no time" },
        { KEY "\ta\t1", "provider has 0 bytes" },
        { KEY SIXTEEN "\ta\t1", "provider has 16 bytes" },
        { KEY "one\t\t1", "identity has 0 bytes" },
        { KEY "one\t" SIXTEEN SIXTEEN SIXTEEN SIXTEEN "\t1", "identity has 64 bytes" },
        { KEY "one\ta\x1b[2J\t1", "holds the byte 0x1b" },
        { KEY "one\ta\x7f\t1", "holds the byte 0x7f" },
        { KEY "one\ta\t1\r", "holds the byte 0x0d" },
    };
    lfuse__strbuf lines = LFUSE__STRBUF_INIT, text = LFUSE__STRBUF_INIT;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        lfuse__strbuf_clear(&lines);
        lfuse__strbuf_format(&lines, KEY "one\ta\t1\n%s\n", cases[i].line);
        whole(&text, lines.data, lines.length, 2);
        SAYS(LFUSE_ERR_IO, parse(text.data, text.length), "is no good at line 3: ");
        ck_says(cases[i].words);
        ck_assert_int_eq(lfuse__wisdom_put(&w, cases[i].line, strlen(cases[i].line)), LFUSE_ERR_IO);
        ck_assert_uint_eq(w.count, 0);
    }
    whole(&text, KEY "one\ta\0b\t1\n", sizeof KEY "one\ta\0b\t1\n" - 1, 1);
    SAYS(LFUSE_ERR_IO, parse(text.data, text.length), "holds the byte 0x00");
    whole(&text, KEY "one\ta\t1\n", strlen(KEY "one\ta\t1\n"), 2);
    SAYS(LFUSE_ERR_IO, parse(text.data, text.length), "damaged");
    whole(&text, KEY "one\ta\t1\n", strlen(KEY "one\ta\t1\n"), 1);
    OK(parse(text.data, text.length));
    none();
    lfuse__strbuf_free(&lines), lfuse__strbuf_free(&text);
}

TEST(long_lines)
{
    lfuse__strbuf line = LFUSE__STRBUF_INIT, text = LFUSE__STRBUF_INIT;
    const size_t around = strlen(DEVICE "\t" "\tone\ta\t1");

    for (int over = 0; over < 2; over++) {
        const size_t most = LFUSE__WISDOM_LINE_BYTES - 1 - around + (size_t)over;
        lfuse__strbuf_clear(&line);
        lfuse__strbuf_format(&line, DEVICE "\t%0*d\tone\ta\t1", (int)most, 1);
        ck_assert_int_eq(lfuse__wisdom_put(&w, line.data, line.length), over ? LFUSE_ERR_IO : LFUSE_OK);
        none();
        lfuse__strbuf_add(&line, "\n");
        whole(&text, line.data, line.length, 1);
        ck_assert_int_eq(parse(text.data, text.length), over ? LFUSE_ERR_IO : LFUSE_OK);
        none();
    }
    ck_says("more than 2047 bytes");
    lfuse__strbuf_free(&line), lfuse__strbuf_free(&text);
}

TEST(the_oldest_go)
{
    lfuse__strbuf text = LFUSE__STRBUF_INIT;
    lfuse__wise_choice c;
    char what[1600];

    for (int i = 0; i < LFUSE__WISDOM_MOST_LINES + 2; i++) {
        snprintf(what, sizeof what, "gemm:%d", i);
        put(DEVICE, what, "one", "a", 1);
    }
    ck_assert_uint_eq(w.count, LFUSE__WISDOM_MOST_LINES);
    ck_assert(!lfuse__wisdom_look_up(&w, DEVICE, "gemm:1", &c));
    ck_assert(lfuse__wisdom_look_up(&w, DEVICE, "gemm:2", &c));
    print(&text);
    none();
    OK(parse(text.data, text.length));
    ck_assert_uint_eq(w.count, LFUSE__WISDOM_MOST_LINES);
    none();
    for (int i = 0; i < 8000; i++) { /* of so many bytes that not all of them fit into a file */
        snprintf(what, sizeof what, "gemm:%01500d", i);
        put(DEVICE, what, "one", "a", 1);
    }
    lfuse__strbuf_free(&text);
    print(&text);
    ck_assert_uint_le(text.length, LFUSE__WISDOM_FILE_BYTES);
    ck_assert_uint_ge(text.length, LFUSE__WISDOM_FILE_BYTES - 2048);
    none();
    OK(parse(text.data, text.length));
    ck_assert(lfuse__wisdom_look_up(&w, DEVICE, what, &c));
    ck_assert_uint_lt(w.count, 8000);
    none();
    lfuse__strbuf_free(&text);
}

TEST(more_lines_than_a_file_has)
{
    lfuse__strbuf lines = LFUSE__STRBUF_INIT, text = LFUSE__STRBUF_INIT;

    for (int i = 0; i <= LFUSE__WISDOM_MOST_LINES; i++) lfuse__strbuf_add(&lines, "\t\t\t\t\t\t\t\tp\ti\t1\n");
    whole(&text, lines.data, lines.length, LFUSE__WISDOM_MOST_LINES + 1);
    SAYS(LFUSE_ERR_IO, parse(text.data, text.length), "holds 16385 choices");
    lfuse__strbuf_free(&lines), lfuse__strbuf_free(&text);
}

TEST_SUITE("run", CK_FORK_GETENV)
