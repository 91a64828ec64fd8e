/* SPDX-License-Identifier: Apache-2.0 */
/* JSON texts of a known form: what is read, what is refused and where, and that no byte behind the end is touched. */
#include "common/base/json.h"

#include "common/base/error.h"
#include "tests/support/main.h"

static lfuse__arena arena;

static void free_arena(void)
{
    lfuse__arena_free(&arena);
}

/* The text in memory of exactly its length, so that tools see who reads on. */
static lfuse__json of(const char *text, char **memory)
{
    const size_t length = strlen(text);

    *memory = malloc(length ? length : 1);
    ck_assert_ptr_nonnull(*memory);
    memcpy(*memory, text, length);
    return lfuse__json_of(*memory, length, &arena);
}

/* ---- strings ---- */

typedef struct string_case {
    const char *text, *want; /* want NULL: it is refused, with these words */
    const char *words;
} string_case;

static const string_case strings[] = {
    {"\"\"", "", NULL},
    {" \t\r\n\"abc\"", "abc", NULL},
    {"\"a\\\"b\\\\c\\/d\"", "a\"b\\c/d", NULL},
    {"\"\\b\\f\\n\\r\\t\"", "\b\f\n\r\t", NULL},
    {"\"\\u0041\\u00e9\\u20AC\"", "A\xc3\xa9\xe2\x82\xac", NULL},
    {"\"\\ud83d\\uDE00\"", "\xf0\x9f\x98\x80", NULL},
    {"\"\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\"", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", NULL},
    {"\"\xf4\x8f\xbf\xbf\xed\x9f\xbf\"", "\xf4\x8f\xbf\xbf\xed\x9f\xbf", NULL},
    {"", NULL, "ends where a string is expected"},
    {"abc", NULL, "byte 0: a string is expected"},
    {"'a'", NULL, "byte 0: a string is expected"},
    {"\"", NULL, "ends in a string"},
    {"\"abc", NULL, "ends in a string"},
    {"\"abc\\", NULL, "byte 5: an unknown character behind a backslash"},
    {"\"abc\\\"", NULL, "ends in a string"},
    {"\"a\\x\"", NULL, "byte 3: an unknown character behind a backslash"},
    {"\"a\nb\"", NULL, "byte 2: a control character"},
    {"\"\\u12\"", NULL, "byte 1: \\u without four"},
    {"\"\\u12g4\"", NULL, "byte 1: \\u without four"},
    {"\"\\u12", NULL, "byte 1: \\u without four"},
    {"\"\\u0000\"", NULL, "byte 1: a string holds NUL"},
    {"\"\\ud83d\"", NULL, "byte 1: half of a pair"},
    {"\"\\ud83dabcdef\"", NULL, "byte 1: half of a pair"},
    {"\"\\ud83d\\u0041\"", NULL, "byte 1: half of a pair"},
    {"\"\\ude00\\ud83d\"", NULL, "byte 1: half of a pair"},
    {"\"\\ud83d\\u", NULL, "byte 1: half of a pair"},
    {"\"\x80\"", NULL, "byte 1: no UTF-8"},
    {"\"\xc1\x81\"", NULL, "byte 1: no UTF-8"},         /* two bytes for one of ASCII */
    {"\"\xe0\x9f\xbf\"", NULL, "byte 1: no UTF-8"},     /* three for two */
    {"\"\xf0\x8f\xbf\xbf\"", NULL, "byte 1: no UTF-8"}, /* four for three */
    {"\"\xed\xa0\x80\"", NULL, "byte 1: no UTF-8"},     /* a surrogate */
    {"\"\xf4\x90\x80\x80\"", NULL, "byte 1: no UTF-8"}, /* above U+10FFFF */
    {"\"\xf5\x80\x80\x80\"", NULL, "byte 1: no UTF-8"},
    {"\"\xe2\x82\"", NULL, "byte 1: no UTF-8"},
    {"\"\xe2\x82", NULL, "byte 1: no UTF-8"},
};

TEST_CASE("strings", .teardown = free_arena)

TEST_LOOP(a_string, 0, (int)(sizeof strings / sizeof *strings))
{
    const string_case *c = &strings[_i];
    const char *got = NULL;
    char *memory;
    lfuse__json j = of(c->text, &memory);

    if (c->want) {
        OK(lfuse__json_string(&j, &got));
        ck_assert_str_eq(got, c->want);
        OK(lfuse__json_end(&j));
    } else {
        SAYS(LFUSE_ERR_IO, lfuse__json_string(&j, &got), c->words);
        ck_assert_ptr_null(got);
    }
    free(memory);
}

/* What is written is read back, whatever its characters. */
TEST(strings_there_and_back)
{
    static const char *const texts[] = {"", "layers.0.weight", "\"\\/", "\x01\x1f\n\t\x7f", "\xc3\xa9\xf0\x9f\x98\x80"};

    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        lfuse__strbuf b = LFUSE__STRBUF_INIT;
        const char *got;

        lfuse__json_add_string(&b, texts[i]);
        OK(lfuse__strbuf_check(&b));
        lfuse__json j = lfuse__json_of(b.data, b.length, &arena);
        OK(lfuse__json_string(&j, &got));
        OK(lfuse__json_end(&j));
        ck_assert_str_eq(got, texts[i]);
        lfuse__strbuf_free(&b);
    }
}

TEST(texts_of_utf8)
{
    ck_assert(lfuse__is_utf8(""));
    ck_assert(lfuse__is_utf8("a\xc3\xa9\xf0\x9f\x98\x80z"));
    ck_assert(!lfuse__is_utf8("a\xff"));
    ck_assert(!lfuse__is_utf8("a\xc3"));
}

/* ---- numbers ---- */

typedef struct number_case {
    const char *text;
    int64_t want; /* -1: it is refused, with these words */
    const char *words;
} number_case;

static const number_case numbers[] = {
    {"0", 0, NULL},
    {" 42", 42, NULL},
    {"9223372036854775807", INT64_MAX, NULL},
    {"9223372036854775808", -1, "more than 63 bits"},
    {"99999999999999999999999", -1, "more than 63 bits"},
    {"", -1, "ends where a whole number"},
    {"-1", -1, "byte 0: a whole number that is not negative"},
    {"+1", -1, "byte 0: a whole number"},
    {"x", -1, "byte 0: a whole number"},
    {"007", -1, "byte 0: a number that begins with 0"},
    {"1.0", -1, "byte 0: a number that is not whole"},
    {"1e3", -1, "byte 0: a number that is not whole"},
    {"1E3", -1, "byte 0: a number that is not whole"},
};

TEST_CASE("numbers", .teardown = free_arena)

TEST_LOOP(a_number, 0, (int)(sizeof numbers / sizeof *numbers))
{
    const number_case *c = &numbers[_i];
    int64_t got = -7;
    char *memory;
    lfuse__json j = of(c->text, &memory);

    if (c->words) {
        SAYS(LFUSE_ERR_IO, lfuse__json_whole(&j, &got), c->words);
        ck_assert_int_eq(got, -7);
    } else {
        OK(lfuse__json_whole(&j, &got));
        ck_assert_int_eq(got, c->want);
        OK(lfuse__json_end(&j));
    }
    free(memory);
}

/* ---- objects and arrays ---- */

/* An object of arrays of numbers: the sum of them all. */
static lfuse_status sum_of(lfuse__json *j, int64_t *sum)
{
    const char *key;
    int64_t n;
    bool more;

    *sum = 0;
    LFUSE__TRY(lfuse__json_open(j, '{'));
    for (;;) {
        LFUSE__TRY(lfuse__json_more(j, '}', &more));
        if (!more) return lfuse__json_end(j);
        LFUSE__TRY(lfuse__json_key(j, &key));
        LFUSE__TRY(lfuse__json_open(j, '['));
        for (;;) {
            LFUSE__TRY(lfuse__json_more(j, ']', &more));
            if (!more) break;
            LFUSE__TRY(lfuse__json_whole(j, &n));
            *sum += n;
        }
    }
}

static const number_case objects[] = {
    {"{}", 0, NULL},
    {" { } ", 0, NULL},
    {"{\"a\":[]}", 0, NULL},
    {"{\"a\" : [ 1 , 2 ] , \"b\" : [ 3 ] } \n", 6, NULL},
    {"{\"a\":[],\"b\":[4]}", 4, NULL},
    {"", -1, "ends where '{'"},
    {"{", -1, "ends where a string"},
    {"[]", -1, "byte 0: '{' is expected"},
    {"{,}", -1, "byte 1: a string is expected"},
    {"{\"a\"}", -1, "byte 4: ':' is expected"},
    {"{\"a\":}", -1, "byte 5: '[' is expected"},
    {"{\"a\":[1,]}", -1, "byte 8: a whole number"},
    {"{\"a\":[,1]}", -1, "byte 6: a whole number"},
    {"{\"a\":[1 2]}", -1, "byte 8: ',' is expected"},
    {"{\"a\":[1}", -1, "byte 7: ',' is expected"},
    {"{\"a\":[[1]]}", -1, "byte 6: a whole number"},
    {"{\"a\":[1]", -1, "ends where ','"},
    {"{\"a\":[1],}", -1, "byte 9: a string is expected"},
    {"{\"a\":[1]}}", -1, "byte 9: something follows"},
    {"{\"a\":[1]} {}", -1, "byte 10: something follows"},
    {"{\"a\":[1],\"b\"", -1, "ends where ':'"},
};

TEST_CASE("objects", .teardown = free_arena)

TEST_LOOP(an_object, 0, (int)(sizeof objects / sizeof *objects))
{
    const number_case *c = &objects[_i];
    int64_t got;
    char *memory;
    lfuse__json j = of(c->text, &memory);

    if (c->words) SAYS(LFUSE_ERR_IO, sum_of(&j, &got), c->words);
    else {
        OK(sum_of(&j, &got));
        ck_assert_int_eq(got, c->want);
    }
    free(memory);
}

/* Every beginning of a text, and the text with every byte changed in turn: an answer comes, good or bad. */
TEST(damaged_objects)
{
    static const char text[] = "{\"a\\u00e9\" : [ 1 , 22 ] ,\"\xc3\xa9\":[ 3 ]}";
    static const char bytes[] = "\"\\{}[],:u0\x80\xc3\x01 ";
    int64_t got;

    for (size_t n = 0; n + 1 < sizeof text; n++) {
        char *cut = malloc(n ? n : 1);
        memcpy(cut, text, n);
        lfuse__json j = lfuse__json_of(cut, n, &arena);
        FAILS(LFUSE_ERR_IO, sum_of(&j, &got));
        free(cut);
    }
    for (size_t n = 0; n + 1 < sizeof text; n++)
        for (size_t b = 0; b + 1 < sizeof bytes; b++) {
            char changed[sizeof text - 1];
            memcpy(changed, text, sizeof changed);
            changed[n] = bytes[b];
            lfuse__json j = lfuse__json_of(changed, sizeof changed, &arena);
            const lfuse_status status = sum_of(&j, &got);
            ck_assert_msg(!status || status == LFUSE_ERR_IO, "byte %zu", n);
        }
}

TEST_SUITE("json", CK_FORK_GETENV)
