/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that are files: what is written of them. */
#include <string.h>

#include "common/kernels/emit.h"
#include "common/kernels/template.h"
#include "tests/support/main.h"

static lfuse__strbuf out;

static void put_body(const void *context, int which, int indent)
{
    lfuse__put(&out, indent, "%s%d;", (const char *)context, which);
}

static bool put_call(const void *context, int indent, const char *call)
{
    if (strncmp(call, "CALL(", 5)) return false;
    lfuse__put(&out, indent, "%s: %s", (const char *)context, call);
    return true;
}

static const char *written(const char *text)
{
    static const lfuse__parameter parameters[] = {
        {"NAME", .word = "k1"}, {"T", .word = "f32"},  {"ROWS", .number = 8},
        {"ON", .number = 1},    {"OFF", .number = 0}, {"TWO", .number = 2}, {"CALL", .number = 0}, {NULL}};
    static const lfuse__text_place places[] = {{"BODY", put_body, 0}, {"END", put_body, 1}, {NULL}};
    lfuse__strbuf_clear(&out);
    lfuse__put_text_of(&out, 1, text, parameters, places, put_call, "body");
    return out.data;
}

TEST_CASE("texts")

TEST(head_is_left_out)
{
    ck_assert_str_eq(written("/* ROWS */\n/* more */\n\nx;\n\ny;\n"), "    x;\n\n    y;\n");
}

TEST(parameters_are_words)
{
    ck_assert_str_eq(written("\n\nADD_T(x, ROWS) + W(ROWS);\n"), "    ADD_f32(x, 8) + W(8);\n");
    ck_assert_str_eq(written("\n\nsum_NAME T ROWS_x ROWST T_ _T 0xT\n"), "    sum_k1 f32 ROWS_x ROWST T_ _f32 0xT\n");
}

TEST(conditions)
{
    static const char text[] = "\n\n#if ON\na\n#if OFF\nb\n#else\nc\n#endif\nd\n"
                               "#else\ne\n#if ON\nf\n#else\ng\n#endif\n#endif\n"
                               "#if !OFF\nh\n#endif\n#if OFF\ni\n#if ON\n@BODY@\n#endif\n#endif\nj\n";
    ck_assert_str_eq(written(text), "    a\n    c\n    d\n    h\n    j\n");
}

TEST(repeated_lines)
{
    ck_assert_str_eq(written("\n\n#repeat i TWO\nx[i] = x_i + i1;\n#endrepeat\n"),
                     "    x[0] = x_0 + i1;\n    x[1] = x_1 + i1;\n");
    ck_assert_str_eq(written("\n\n#repeat i TWO\n#repeat j TWO\n#if OFF\na\n#else\ni j\n#endif\n#endrepeat\n"
                             "#endrepeat\n#repeat k OFF\nk\n#endrepeat\n"),
                     "    0 0\n    0 1\n    1 0\n    1 1\n");
    ck_assert_str_eq(written("\n\n#repeat i TWO\n#if i\na\n#else\nb\n#endif\n#endrepeat\n"), "    b\n    a\n");
}

TEST(places)
{
    ck_assert_str_eq(written("\n\n{\n    @BODY@\n}\n#pragma unroll\n@END@\n"),
                     "    {\n        body0;\n    }\n#pragma unroll\n    body1;\n");
}

TEST(statements)
{
    ck_assert_str_eq(written("\n\n{\n    @CALL(x_T[ROWS], f(y))@\n}\n"),
                     "    {\n        body: CALL(x_f32[8], f(y))\n    }\n");
    ck_assert_str_eq(written("\n\n#repeat i TWO\n@CALL(x, i)@\n#endrepeat\n"),
                     "    body: CALL(x, 0)\n    body: CALL(x, 1)\n");
}

TEST(unknown_names)
{
    ck_assert_str_eq(written("\n\n@OTHER@\n"), "#error \"OTHER is no place\"\n");
    ck_assert_str_eq(written("\n\n@CALL@\n@BODY(x)@\n"),
                     "#error \"CALL is no place\"\n#error \"BODY is no place\"\n");
    ck_assert_str_eq(written("\n\n#if !OTHER\nx\n#endif\n"), "#error \"OTHER is no parameter\"\n");
}

TEST_SUITE("tests/kernels/check_template.c", CK_NOFORK)
