/* SPDX-License-Identifier: Apache-2.0 */
#include "common/base/real.h"

#include <locale.h>

#include "tests/support/locale.h"
#include "tests/support/main.h"

static const struct {
    double x;
    const char *text;
} prints[] = {{0, "0"},          {-0.0, "-0"},       {0.5, "0.5"},           {-1.25e-30, "-1.25e-30"},
              {1e300, "1e+300"}, {1.0 / 3, "0.333333333"}, {INFINITY, "inf"}, {-INFINITY, "-inf"}};

static const struct {
    const char *text;
    double x;
    int length;
} parses[] = {{"0.5)", 0.5, 3},        {"1, 2", 1, 1},           {"-0.70710678118654752)", -0.70710678118654752, 20},
              {"1.25e-3;", 1.25e-3, 7}, {"2.)", 2, 2},            {".5", 0.5, 2},
              {"1.5.5", 1.5, 3},        {"x", 0, 0},              {"3 0.5", 3, 1},
              {"7e2,5", 700, 3},        {"1.5957691216057308", 1.5957691216057308, 18}};

static void check_all(void)
{
    for (size_t i = 0; i < sizeof prints / sizeof *prints; i++) {
        lfuse__strbuf out = LFUSE__STRBUF_INIT;
        lfuse__real_add(&out, prints[i].x);
        ck_assert_str_eq(out.data, prints[i].text);
        lfuse__strbuf_free(&out);
    }
    for (size_t i = 0; i < sizeof parses / sizeof *parses; i++) {
        const char *end;
        const double x = lfuse__real_parse(parses[i].text, &end);
        ck_assert_msg(x == parses[i].x && end - parses[i].text == parses[i].length, "\"%s\": %.17g of %d characters",
                      parses[i].text, x, (int)(end - parses[i].text));
    }
}

TEST_CASE("real")

TEST(points)
{
    check_all();
}

TEST(points_in_comma_locale)
{
    if (!test_comma_locale()) TEST_SKIP("no locale with a decimal comma is installed");
    check_all();
    setlocale(LC_NUMERIC, "C");
}

TEST_SUITE("real", CK_FORK_GETENV)
