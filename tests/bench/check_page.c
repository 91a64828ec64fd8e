/* SPDX-License-Identifier: Apache-2.0 */
/* Reports: what is read of files, the page, and how it comes into its folder. */
#include "bench/page/page.h"

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/page/form.h"
#include "bench/page/html.h"
#include "common/base/error.h"
#include "tests/bench/xml.h"
#include "tests/support/main.h"

#define EPOCH(name, network, epoch, more)                                                                              \
    "{\"type\":\"epoch\",\"example\":\"train\",\"network\":\"" network "\",\"device\":\"" name "\",\"epoch\":" epoch  \
    more "}\n"

static long longest; /* line of the page that was got last */
static char folder[64], path[96], second[96], out[96], page[128];

#define MACHINE(name, product)                                                                                         \
    "{\"type\":\"machine\",\"device\":\"" name "\",\"backend\":\"cuda\",\"product\":\"" product                        \
    "\",\"driver\":\"d\",\"library\":\"0.1\",\"empty_us\":7,\"copy_gbs\":4000,\"gemm_gflops\":50000,"                  \
    "\"timer_us\":null}\n"
#define RESULT(name, problem, variant, us, more)                                                                       \
    "{\"type\":\"result\",\"case\":\"" problem "\",\"variant\":\"" variant "\",\"device\":\"" name                     \
    "\",\"backend\":\"cuda\",\"wall_us\":9,\"gpu_us\":" us ",\"cold_us\":null,\"bytes\":1e6,\"flops\":2e9" more        \
    ",\"ok\":true}\n"

static void begin(void)
{
    strcpy(folder, "check_page.XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.jsonl", folder);
    snprintf(second, sizeof second, "%s/b.jsonl", folder);
    snprintf(out, sizeof out, "%s/out", folder);
    snprintf(page, sizeof page, "%s/index.html", out);
}

static void end(void)
{
    unlink(page);
    unlink(path);
    unlink(second);
    rmdir(out);
    rmdir(folder);
}

static void put(const char *name, const char *text)
{
    FILE *file = fopen(name, "w");
    ck_assert_ptr_nonnull(file);
    fputs(text, file);
    ck_assert_int_eq(fclose(file), 0);
}

/* Of the page, with spaces for line ends within it; the caller frees it. */
static char *get(void)
{
    FILE *file = fopen(page, "r");
    char *text = calloc(1, 1 << 20);
    ck_assert_ptr_nonnull(file);
    ck_assert_ptr_nonnull(text);
    ck_assert_int_lt(fread(text, 1, (1 << 20) - 1, file), (1 << 20) - 1);
    fclose(file);
    longest = 0;
    for (char *line = text, *end; (end = strchr(line, '\n')) != NULL; line = end + 1) {
        if (end - line > longest) longest = end - line;
        if (end[1]) *end = ' ';
    }
    return text;
}

static lfuse_status report(void)
{
    char *const files[] = {path, second};
    return bench_page_write(out, access(second, F_OK) ? 1 : 2, files);
}

/* What the folder holds beside the page: nothing may be left over. */
static int entries(void)
{
    DIR *d = opendir(out);
    int n = -2;
    ck_assert_ptr_nonnull(d);
    while (readdir(d)) n++;
    closedir(d);
    return n;
}

static int count(const char *text, const char *word)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, word)) != NULL; at++) n++;
    return n;
}

static void check_well_formed(const char *text)
{
    char why[160];
    ck_assert_msg(xml_is_well_formed(text, why), "%s", why);
}

/* What would load something, or run something. */
static void check_self_contained(const char *text)
{
    static const char *const words[] = {"<script", "<link", "<img", "<iframe", "<object", " src=", " href=", "url(",
                                        "@import", " onload=", " onclick="};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        ck_assert_msg(strstr(text, words[i]) == NULL, "the page has %s", words[i]);
}

static const char full[] =
    MACHINE("cuda:0", "GPU A") RESULT("cuda:0", "gemm:256x256x256", "plan", "2", "")
    RESULT("cuda:0", "gemm:256x256x256", "plan+ep", "2.5", "") RESULT("cuda:0", "gemm:512x512x512", "plan", "4", "")
    RESULT("cuda:0", "gemm:1024x1024x1024", "plan", "30", "") RESULT("cuda:0", "embed:1x2x3", "unfused", "40", "")
    RESULT("cuda:0", "embed:1x2x3", "fused", "10", ",\"note\":\"a note\"")
    "{\"type\":\"first\",\"case\":\"empty-cache\",\"device\":\"cuda:0\",\"first_us\":90000,\"build_us\":1}\n"
    "{\"type\":\"skipped\",\"case\":\"gemm:9x9x9\",\"device\":\"cuda:0\",\"reason\":\"too large\"}\n"
    "{\"type\":\"skipped\",\"case\":\"dense:L1:H4:B4:f16\",\"variant\":\"strassen1\",\"device\":\"cuda:0\","
    "\"reason\":\"it is <declined>\"}\n"
    MACHINE("cuda:1", "GPU B") RESULT("cuda:1", "gemm:512x512x512", "plan", "6", "")
    RESULT("cuda:1", "gemm:256x256x256", "plan", "3", "") RESULT("cuda:1", "dense:L8:H32:B1", "fused", "9", "")
    RESULT("cuda:1", "dense:L8:H32:B1", "strassen1", "6", "");

TEST_CASE("page", .setup = begin, .teardown = end)

TEST(a_page_with_every_figure)
{
    put(path, full);
    ck_assert_msg(report() == LFUSE_OK, "%s", lfuse_last_error());
    char *text = get();
    check_well_formed(text);
    check_self_contained(text);
    ck_assert_int_le(longest, 120);
    ck_assert_ptr_nonnull(strstr(text, "Roofline of GPU A, cuda"));
    ck_assert_ptr_nonnull(strstr(text, "extent of square matrices, m = n = k"));
    ck_assert_ptr_nonnull(strstr(text, "Fused against unfused on GPU A"));
    ck_assert_ptr_nonnull(strstr(text, "1 where the epilogue is free"));
    ck_assert_ptr_nonnull(strstr(text, "Device against device, gemm"));
    ck_assert_ptr_nonnull(strstr(text, "on all devices, the fastest variant of each: performance"));
    ck_assert_ptr_nonnull(strstr(text, "Strassen&#39;s algorithm on GPU B"));
    ck_assert_ptr_nonnull(strstr(text, ">1.50</text>")); /* 9 us over 6 */
    ck_assert_ptr_nonnull(strstr(text, "<li>gemm:9x9x9: too large</li>"));
    ck_assert_ptr_nonnull(strstr(text, "<li>dense:L1:H4:B4:f16 strassen1: it is &lt;declined&gt;</li>"));
    ck_assert_ptr_nonnull(strstr(text, "a note"));
    ck_assert_ptr_nonnull(strstr(text, ">4.00</text>")); /* 40 us over 10 */
    ck_assert_ptr_nonnull(strstr(text, ">0.80</text>")); /* 2 us over 2.5 */
    ck_assert_int_eq(count(text, "<svg "), count(text, "</svg>"));
    ck_assert_int_eq(count(text, "<svg "), 8); /* two rooflines, two of sizes, fused, epilogues, Strassen, devices */
    ck_assert_int_eq(entries(), 1);
    free(text);
}

/* Number `cell` of the row of a table in which the text is found first; as text. */
static const char *cell_behind(const char *text, const char *row, const char *cell, int number)
{
    static char found[32];
    const char *at = strstr(text, row);
    for (int i = 0; i <= number && at; i++) at = (at = strstr(at, cell)) ? at + strlen(cell) : NULL;
    ck_assert_ptr_nonnull(at);
    snprintf(found, sizeof found, "%.*s", (int)strcspn(at, "<"), at);
    return found;
}

/* What older versions did not measure has no member, and what was not measured is null. */
TEST(figures_below_their_headings)
{
    enum { COLD = 2, SUSTAINED };
    put(path, MACHINE("cuda:0", "GPU A") RESULT("cuda:0", "gemm:1x1x1", "plan", "2", ",\"sustained_us\":27.5")
              RESULT("cuda:0", "gemm:2x2x2", "plan", "2", ",\"sustained_us\":null")
              RESULT("cuda:0", "gemm:3x3x3", "plan", "2", ""));
    ck_assert_msg(report() == LFUSE_OK, "%s", lfuse_last_error());
    char *text = get();
    ck_assert_str_eq(cell_behind(text, "<th>wall us</th>", "<th>", COLD), "cold us");
    ck_assert_str_eq(cell_behind(text, "<th>wall us</th>", "<th>", SUSTAINED), "sustained us");
    ck_assert_str_eq(cell_behind(text, ">gemm:1x1x1<", "<td>", 0), "9");
    ck_assert_str_eq(cell_behind(text, ">gemm:1x1x1<", "<td>", SUSTAINED), "27.5");
    ck_assert_str_eq(cell_behind(text, ">gemm:2x2x2<", "<td>", SUSTAINED), "-");
    ck_assert_str_eq(cell_behind(text, ">gemm:3x3x3<", "<td>", SUSTAINED), "-");
    free(text);
}

/* The points of the n-th line that is drawn, "x,y x,y ..."; how many they are. */
static int points_of(const char *text, int n, double (*points)[2], int most)
{
    const char *at = text;
    int count = 0;
    for (int i = 0; i <= n && at; i++) {
        at = strstr(at, "<polyline class=\"line");
        at = at ? strstr(at, "points=\"") : NULL;
        at = at ? at + strlen("points=\"") : NULL;
    }
    for (int length = 0; at && count < most; at += length, count++)
        if (sscanf(at, " %lf,%lf%n", &points[count][0], &points[count][1], &length) != 2) break;
    return count;
}

/* A figure for each network, a curve for each device and set. Epochs are put in order, and the last line counts. */
TEST(losses_of_trainings)
{
    double p[8][2];
    put(path, MACHINE("cuda:0", "GPU A") EPOCH("cuda:0", "relu", "10", ",\"loss\":0.1,\"held_loss\":1")
        EPOCH("cuda:0", "relu", "0", ",\"loss\":7,\"accuracy\":0.125") EPOCH("cuda:0", "relu", "5", ",\"loss\":1")
        EPOCH("cuda:0", "relu", "0", ",\"loss\":10,\"accuracy\":0.125") EPOCH("cuda:0", "<norm>", "1", ",\"loss\":3"));
    put(second, MACHINE("cuda:1", "GPU B") EPOCH("cuda:1", "relu", "0", ",\"loss\":2")
        EPOCH("cuda:1", "relu", "1", ",\"loss\":null,\"held_loss\":null"));
    ck_assert_msg(report() == LFUSE_OK, "%s", lfuse_last_error());
    char *text = get();
    check_well_formed(text);
    ck_assert_int_eq(count(text, "<svg "), 2);
    ck_assert_int_eq(count(text, "<polyline class=\"line"), 4);
    ck_assert_ptr_nonnull(strstr(text, "Losses of train, relu"));
    ck_assert_ptr_nonnull(strstr(text, "Losses of train, &lt;norm&gt;"));
    ck_assert_ptr_nonnull(strstr(text, ">GPU A, cuda, training</text>"));
    ck_assert_ptr_nonnull(strstr(text, ">GPU A, cuda, held out</text>"));
    ck_assert_ptr_null(strstr(text, "GPU B, cuda, held out"));
    ck_assert_ptr_nonnull(strstr(text, "GPU A, cuda, training, epoch 0: loss 10, 12.5 % right"));
    ck_assert_ptr_null(strstr(text, "loss 7"));
    ck_assert_int_eq(points_of(text, 1, p, 8), 3); /* behind the one of <norm> */
    ck_assert(fabs(p[0][0] + p[2][0] - 2 * p[1][0]) < 0.2 && p[0][0] < p[1][0]);   /* linear across, */
    ck_assert(fabs(p[0][1] + p[2][1] - 2 * p[1][1]) < 0.2 && p[0][1] < p[1][1]);   /* logarithmic upwards */
    ck_assert_ptr_nonnull(strstr(text, ">0</text>")); /* the start is marked */
    ck_assert_ptr_null(strstr(text, "<summary>")); /* of results, which there are none of */
    free(text);
}

TEST(contents_are_escaped)
{
    put(path, MACHINE("cuda:0", "<script>alert('1')</script>&amp;]]>\\u0001\\uffff\\\"")
        RESULT("cuda:0", "gemm:2x2x2:\\\"><svg onload=x>", "</td><img src=x>", "2", ",\"note\":\"\\u0008<!--\""));
    put(second, MACHINE("cuda:0", "plain") RESULT("cuda:0", "gemm:2x2x2:\\\"><svg onload=x>", "</title>", "2", ""));
    ck_assert_msg(report() == LFUSE_OK, "%s", lfuse_last_error());
    char *text = get();
    check_well_formed(text);
    ck_assert_ptr_null(strstr(text, "<script"));
    ck_assert_ptr_null(strstr(text, "<img"));
    ck_assert_ptr_null(strstr(text, "<svg onload"));
    ck_assert_ptr_null(strstr(text, "<!--"));
    ck_assert_ptr_nonnull(strstr(text, "&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;amp;]]&gt;"));
    free(text);
}

static void check_refused(const char *text, const char *where)
{
    struct stat before, after;
    put(path, full);
    ck_assert_int_eq(report(), LFUSE_OK);
    ck_assert_int_eq(stat(page, &before), 0);
    put(path, text);
    SAYS(LFUSE_ERR_INVALID, report(), where);
    ck_assert_msg(!strncmp(lfuse_last_error(), path, strlen(path)), "%s", lfuse_last_error());
    ck_assert_int_eq(stat(page, &after), 0); /* the page that was there */
    ck_assert_int_eq(before.st_ino, after.st_ino);
    ck_assert_int_eq(before.st_size, after.st_size);
    ck_assert_int_eq(entries(), 1);
}

TEST(lines_that_are_wrong)
{
    check_refused("", ":1: the file is empty");
    check_refused("\n", ":1: column 1: the line ends early");
    check_refused(MACHINE("cuda:0", "A") "{\"type\":\"result\",\"case\":\"gem", ":2: column 29: the line ends early");
    check_refused(MACHINE("cuda:0", "A") "{\"type\":\"figure\"}\n", ":2: no line has the type \"figure\"");
    check_refused(MACHINE("cuda:0", "A") "{\"case\":\"x\"}\n", ":2: no member \"type\"");
    check_refused(RESULT("cuda:0", "a:1", "v", "1", ""), ":1: device \"cuda:0\" has no line");
    check_refused(MACHINE("cuda:0", "A") RESULT("cuda:1", "a:1", "v", "1", ""), ":2: device \"cuda:1\" has no line");
    check_refused(MACHINE("cuda:0", "A") RESULT("cuda:0", "a:1", "v", "true", ""), ":2: member \"gpu_us\" is no num");
    check_refused(MACHINE("cuda:0", "A") RESULT("cuda:0", "a:1", "v", "-1", ""), ":2: member \"gpu_us\" is negative");
    check_refused(MACHINE("cuda:0", "A") "{\"type\":\"result\",\"case\":\"a\",\"variant\":\"v\",\"device\":\"cuda:0\"}",
                  ":2: no member \"ok\"");
    check_refused(EPOCH("cuda:0", "n", "1", ",\"loss\":1"), ":1: device \"cuda:0\" has no line");
    check_refused(MACHINE("cuda:0", "A") EPOCH("cuda:0", "n", "null", ""), ":2: no member \"epoch\", a number");
    check_refused(MACHINE("cuda:0", "A") EPOCH("cuda:0", "n", "1", ",\"loss\":\"\""), ":2: member \"loss\" is no num");
    check_refused("{\"type\":\"machine\",\"device\":\"a\",\"backend\":\"b\"}\n", ":1: no member \"product\"");
    check_refused("{\"type\":\"machine\",\"device\":1}\n", ":1: member \"device\" is no text");
    check_refused("\x7f" "ELF", ":1: column 1: no JSON object");
}

TEST(files_and_folders_that_are_not_there)
{
    char *const missing[] = {second}, *const itself[] = {folder};
    SAYS(LFUSE_ERR_IO, bench_page_write(out, 1, missing), second);
    ck_assert_int_eq(bench_page_write(out, 1, itself), LFUSE_ERR_IO);
    ck_assert_int_ne(access(out, F_OK), 0); /* nothing is made for nothing */
    put(path, full);
    char *const files[] = {path};
    char deep[160];
    snprintf(deep, sizeof deep, "%s/no/such", folder);
    ck_assert_int_eq(bench_page_write(deep, 1, files), LFUSE_ERR_IO);
    ck_assert_int_eq(bench_page_write(path, 1, files), LFUSE_ERR_IO);
}

/* One device in two files, whose later figures count; and devices that only their names or drivers tell apart. */
TEST(devices_of_several_files)
{
    bench_records r = {0};
    put(path, MACHINE("cuda:0", "A") RESULT("cuda:0", "a:1", "v", "1", "") RESULT("cuda:0", "a:2", "v", "2", ""));
    put(second, MACHINE("cuda:0", "A") RESULT("cuda:0", "a:1", "v", "3", "") MACHINE("cuda:1", "A") MACHINE("x", "C"));
    ck_assert_int_eq(bench_records_read(&r, path), 0);
    ck_assert_int_eq(bench_records_read(&r, second), 0);
    bench_records_label(&r);
    ck_assert_int_eq(r.ndevices, 3);
    ck_assert_int_eq(r.nresults, 2);
    ck_assert(bench_device_us(&r.results[0]) == 3);
    ck_assert(bench_gflops(&r.results[0]) == 2e9 * 1e-3 / 3);
    ck_assert_str_eq(r.devices[0].label, "A, cuda cuda:0");
    ck_assert_str_eq(r.devices[1].label, "A, cuda cuda:1");
    ck_assert_str_eq(r.devices[2].label, "C, cuda");
    bench_records_free(&r);
}

TEST(problems_by_name_and_size)
{
    static const char *const want[] = {"a:2 v", "a:2 u", "a:10 v", "a:10:f16 v", "b:1 v"};
    bench_records r = {0};
    put(path, MACHINE("x", "A") RESULT("x", "b:1", "v", "1", "") RESULT("x", "a:10:f16", "v", "1", "")
        RESULT("x", "a:10", "v", "1", "") RESULT("x", "a:2", "v", "1", "") RESULT("x", "a:2", "u", "1", ""));
    ck_assert_int_eq(bench_records_read(&r, path), 0);
    bench_records_sort(&r);
    ck_assert_int_eq(r.nresults, 5);
    for (int i = 0; i < 5; i++) {
        char name[64];
        snprintf(name, sizeof name, "%s %s", r.results[i].problem, r.results[i].variant);
        ck_assert_str_eq(name, want[i]);
    }
    bench_records_free(&r);
}

TEST(sizes_of_problems)
{
    bench_form f;
    bench_form_of("gemm:16x4096x4096:f16", &f);
    ck_assert_str_eq(f.text, "gemm:#x#x#:f16");
    ck_assert_int_eq(f.n, 3);
    ck_assert(f.numbers[0] == 16 && f.numbers[2] == 4096);
    ck_assert_str_eq(bench_form_axis(&f, 0), "rows m");
    bench_form_of("gemm:16x4096x4096:f32x3:nt", &f);
    ck_assert_str_eq(f.text, "gemm:#x#x#:f32x3:nt");
    ck_assert_int_eq(f.n, 3);
    bench_form_of("dense:L8:H512:B1", &f);
    ck_assert_str_eq(f.text, "dense:L#:H#:B#");
    ck_assert_str_eq(bench_form_axis(&f, 1), "width of the layers");
    bench_form_of("train:transformer:D256:H4:L2:T128:B16", &f);
    ck_assert_str_eq(bench_form_axis(&f, 3), "tokens");
    bench_form_of("train:layer:H1024:B64", &f);
    ck_assert_str_eq(bench_form_axis(&f, 1), "rows (batch)");
    bench_form_of("train:L8:H1024:B64", &f);
    ck_assert_str_eq(bench_form_axis(&f, 1), "width of the layers");
    bench_form_of("adamw:resnet50", &f);
    ck_assert_str_eq(f.text, "adamw:resnet50");
    ck_assert_int_eq(f.n, 0);
    bench_form_of("clip+adamw:gpt2-small", &f);
    ck_assert_int_eq(f.n, 0);
    bench_form_of("other:1x2x3x4x5x6x7x8", &f);
    ck_assert_int_eq(f.n, BENCH_FORM_NUMBERS);
    ck_assert_str_eq(f.text, "other:#x#x#x#x#x#x7x8");
    ck_assert_str_eq(bench_form_axis(&f, 5), "size");
}

TEST(the_check_of_xml_is_strict)
{
    static const char *const wrong[] = {"", "x", "<a>", "<a></b>", "<a/><b/>", "<a b=1/>", "<a b=\"1\" b=\"2\"/>",
                                        "<a>&nbsp;</a>", "<a>&</a>", "<a>\x01</a>", "<a>\xff</a>", "<a b=\"<\"/>",
                                        "<a>\xef\xbf\xbf</a>", "<a b=\"1\"c=\"2\"/>", "</a>", "<a b=\"1/>"};
    char why[160];
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(!xml_is_well_formed(wrong[i], why), "accepted: %s", wrong[i]);
    ck_assert_msg(xml_is_well_formed("<!DOCTYPE html>\n<a b=\"&lt;1\"><c/>x&amp;\xc3\xa9</a>\n", why), "%s", why);
}

TEST_SUITE("page", CK_FORK_GETENV)
