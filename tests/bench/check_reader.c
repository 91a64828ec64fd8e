/* SPDX-License-Identifier: Apache-2.0 */
#include "bench/page/reader.h"

#include "common/base/error.h"
#include "tests/support/main.h"

static bench_json_line line;

/* From memory that ends where the line does. */
static lfuse_status parse_bytes(const char *text, size_t length)
{
    static char *copy;
    free(copy);
    copy = malloc(length + 1);
    ck_assert_ptr_nonnull(copy);
    memcpy(copy, text, length);
    copy[length] = '"'; /* what is behind the line is not read */
    return bench_json_parse(copy, length, &line);
}

static lfuse_status parse(const char *text)
{
    return parse_bytes(text, strlen(text));
}

static void check_error(const char *text, const char *expected)
{
    ck_assert_msg(parse(text) == LFUSE_ERR_INVALID, "accepted: %s", text);
    ck_assert_msg(strstr(lfuse_last_error(), expected) != NULL, "%s: %s", text, lfuse_last_error());
}

TEST_CASE("reader")

TEST(members_of_every_kind)
{
    static const char text[] =
        " { \"a\" : \"x\" ,\"b\":-1.5e+3,\"c\":null,\"d\":true,\"e\":false, \"f\":0,\"g\":\"\"}\r";
    ck_assert_int_eq(parse(text), 0);
    ck_assert_int_eq(line.count, 7);
    ck_assert_str_eq(bench_json_find(&line, "a")->text, "x");
    ck_assert(bench_json_find(&line, "b")->number == -1500);
    ck_assert_int_eq(bench_json_find(&line, "c")->kind, BENCH_JSON_NULL);
    ck_assert(isnan(bench_json_find(&line, "c")->number));
    ck_assert(bench_json_find(&line, "d")->yes);
    ck_assert_int_eq(bench_json_find(&line, "e")->kind, BENCH_JSON_BOOL);
    ck_assert(!bench_json_find(&line, "e")->yes);
    ck_assert(bench_json_find(&line, "f")->number == 0);
    ck_assert_str_eq(bench_json_find(&line, "g")->text, "");
    ck_assert_ptr_null(bench_json_find(&line, "h"));
    ck_assert_int_eq(parse("{}"), 0);
    ck_assert_int_eq(line.count, 0);
}

TEST(texts_are_unescaped)
{
    ck_assert_int_eq(parse("{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\u20ac\\ud83d\\ude00\xc3\xa9\"}"), 0);
    ck_assert_str_eq(line.members[0].text, "\"\\/\b\f\n\r\t\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xc3\xa9");
}

TEST(what_is_no_object)
{
    check_error("", "column 1: the line ends early");
    check_error("[]", "no JSON object");
    check_error("{\"a\":1", "ends early");
    check_error("{\"a\"", "ends early");
    check_error("{\"a\" 1}", "column 6: a colon is missing");
    check_error("{\"a\":1,}", "a text in quotes");
    check_error("{\"a\":1 \"b\":2}", "neither a comma");
    check_error("{\"a\":1}x", "column 8: something behind");
    check_error("{\"a\":1}{", "something behind");
    check_error("{a:1}", "a text in quotes");
    check_error("{\"a\":1,\"a\":2}", "column 8: a name for the second time");
    check_error("{\"a\":[1]}", "neither a text nor a number");
    check_error("{\"a\":{}}", "neither a text nor a number");
    check_error("{\"a\":nul}", "neither a text nor a number");
    check_error("{\"a\":NaN}", "neither a text nor a number");
}

TEST(what_is_no_number)
{
    check_error("{\"a\":01}", "neither a comma");
    check_error("{\"a\":+1}", "neither");
    check_error("{\"a\":.5}", "neither");
    check_error("{\"a\":-}", "a digit");
    check_error("{\"a\":1.}", "a digit");
    check_error("{\"a\":1e}", "a digit");
    check_error("{\"a\":0x10}", "neither a comma");
    check_error("{\"a\":1e999}", "too large");
    check_error("{\"a\":1111111111111111111111111111111111111111111111111111111111111111111111}", "so many digits");
}

TEST(what_is_no_text)
{
    static const char nul[] = "{\"a\":\"x\0y\"}";
    check_error("{\"a\":\"x}", "ends early");
    check_error("{\"a\":\"x\\", "ends early");
    check_error("{\"a\":\"\\x\"}", "no such escape");
    check_error("{\"a\":\"\\u12g4\"}", "four hexadecimal digits");
    check_error("{\"a\":\"\\u12", "ends early");
    check_error("{\"a\":\"\\u0000\"}", "a NUL");
    check_error("{\"a\":\"\\ud800\"}", "surrogate");
    check_error("{\"a\":\"\\ud800\\u0041\"}", "surrogate");
    check_error("{\"a\":\"\\udc00\"}", "surrogate");
    check_error("{\"a\":\"\x01\"}", "control character");
    check_error("{\"a\":\"\xff\"}", "no UTF-8");
    check_error("{\"a\":\"\xc0\x80\"}", "no UTF-8");
    check_error("{\"a\":\"\xe0\x80\x80\"}", "no UTF-8");
    check_error("{\"a\":\"\xed\xa0\x80\"}", "no UTF-8");
    check_error("{\"a\":\"\xf4\x90\x80\x80\"}", "no UTF-8");
    check_error("{\"a\":\"\xe2\x82\"}", "no UTF-8");
    ck_assert_int_eq(parse_bytes(nul, sizeof nul - 1), LFUSE_ERR_INVALID);
}

/* Every beginning of a line is an error, and none reads behind its end. */
TEST(truncated_lines)
{
    static const char whole[] =
        "{\"a\":\"\\u00e9\xc3\xa9\",\"b\":-1.5e3,\"c\":null,\"d\":true,\"e\":\"\\ud83d\\ude00\"}";
    ck_assert_int_eq(parse(whole), 0);
    for (size_t i = 0; i < sizeof whole - 1; i++) ck_assert_int_eq(parse_bytes(whole, i), LFUSE_ERR_INVALID);
}

TEST(more_members_than_a_line_has)
{
    char text[1024] = "{";
    for (int i = 0; i <= BENCH_JSON_MEMBERS; i++) sprintf(text + strlen(text), "%s\"m%d\":1", i ? "," : "", i);
    strcat(text, "}");
    check_error(text, "more members");
}

TEST_SUITE("reader", CK_FORK_GETENV)
