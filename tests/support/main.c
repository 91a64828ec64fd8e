/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Check writes TAP but knows no skipped tests, and a test that crashes without a fork of its own would take the report
 * with it. So the tests run in a child process, and the parent passes its report on: it adds the directive to a test
 * that said that it was skipped, and reports a child that died or stopped reporting.
 */
#include "tests/support/main.h"

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/support/objects.h"

#define SKIP_MARK "@skip "
#define LINE_BYTES 4096

typedef struct report {
    char line[LINE_BYTES];
    size_t length;
    char reason[LINE_BYTES]; /* of the test that runs; empty: not skipped */
    int failures;            /* tests that failed, and one for a run that did not end as it should */
    int silent;              /* seconds without a line after which the child was ended, or 0 */
} report;

char device_name[32];

const char *test_at(void)
{
    static char at[sizeof device_name + 2];

    snprintf(at, sizeof at, "%s%s", device_name, *device_name ? ": " : "");
    return at;
}

void test_skipped(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fputs(SKIP_MARK, stdout);
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    fflush(stdout);
}

int test_all(void)
{
    return getenv("LFUSE_TEST_ALL") != NULL;
}

void test_without_optimisation(bool without)
{
    /* Read at every build, and part of the keys of PoCL's cache. */
    static const char variable[] = "POCL_EXTRA_BUILD_FLAGS";
    if (without && !test_all())
        setenv(variable, "-cl-opt-disable", 1);
    else
        unsetenv(variable);
}

void test_without_cache(void)
{
    setenv("LFUSE_CACHE", "0", 1);
}

static test_item *items; /* in the order of the file */

/* Constructors run in any order. */
void test_register(test_item *item)
{
    test_item **at = &items;
    while (*at && (*at)->place < item->place)
        at = &(*at)->next;
    item->next = *at;
    *at = item;
}

static TCase *case_of(const test_case *c)
{
    TCase *tcase = tcase_create(c->name);
    tcase_add_checked_fixture(tcase, objects_begin, NULL);
    tcase_add_checked_fixture(tcase, c->setup, c->teardown);
    tcase_add_checked_fixture(tcase, NULL, drop_all); /* runs in front of the other teardown */
    tcase_add_unchecked_fixture(tcase, c->before, c->after);
    if (c->limit)
        tcase_set_timeout(tcase, c->limit == TEST_NO_LIMIT ? 0 : c->limit);
    return tcase;
}

Suite *test_suite(const char *name)
{
    Suite *suite = suite_create(name);
    TCase *tcase = NULL;
    for (const test_item *item = items; item; item = item->next) {
        if (item->begins.name)
            suite_add_tcase(suite, tcase = case_of(&item->begins));
        else
            item->add(tcase);
    }
    return suite;
}

/* What the tests found is in the report alone: another exit status than 0 comes from outside, as from a sanitizer. */
static void run_suite(enum fork_status fork_status, test_suite_maker *maker)
{
    test_without_optimisation(true);
    SRunner *runner = srunner_create(maker());
    srunner_set_fork_status(runner, fork_status);
    srunner_set_tap(runner, "-");
    srunner_run_all(runner, CK_SILENT);
    srunner_free(runner);
}

/* Of LeakSanitizer, where it is linked in: what the drivers' compilers keep is not ours to release. */
const char *__lsan_default_suppressions(void) __attribute__((visibility("default")));
const char *__lsan_default_suppressions(void)
{
    return "leak:libpocl\nleak:libLLVM\nleak:libclang\nleak:libclblast\nleak:libOpenCL\nleak:libcuda\nleak:libnvrtc\n"
           "leak:libnvidia\nleak:libcublas\n";
}

/*
 * Of AddressSanitizer: its leak check takes a block of a library's thread-local variables for one with a header where
 * it begins 16 bytes behind a page, and crashes on a wild address. No test has what hangs on such variables alone.
 */
const char *__asan_default_options(void) __attribute__((visibility("default")));
const char *__asan_default_options(void)
{
    return "intercept_tls_get_addr=0";
}

static void pass_on_line(report *r)
{
    r->line[r->length] = '\0';
    r->length = 0;
    if (!strncmp(r->line, SKIP_MARK, strlen(SKIP_MARK))) {
        strcpy(r->reason, r->line + strlen(SKIP_MARK));
        return;
    }
    int passed = !strncmp(r->line, "ok ", 3), failed = !strncmp(r->line, "not ok ", 7);
    if (passed && r->reason[0])
        printf("%s # SKIP %s\n", r->line, r->reason);
    else
        puts(r->line);
    if (passed || failed)
        r->reason[0] = '\0';
    r->failures += failed;
    fflush(stdout);
}

static void pass_on(report *r, const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        if (text[i] == '\n' || r->length == LINE_BYTES - 1)
            pass_on_line(r);
        if (text[i] != '\n')
            r->line[r->length++] = text[i];
    }
}

/*
 * Longest time without a line, in seconds, before the child counts as hung. No test takes a minute alone on two cores:
 * the rest is for slower machines, and for what else they do.
 */
static int silence_limit(void)
{
    const char *text = getenv("TEST_SILENCE_LIMIT");
    int seconds = text ? atoi(text) : 0;
    return seconds > 0 ? seconds : 600;
}

static void bail_out(report *r, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void bail_out(report *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    printf("Bail out! ");
    vprintf(format, arguments);
    putchar('\n');
    va_end(arguments);
    r->failures++;
}

static void pass_on_all(report *r, int from, pid_t child)
{
    struct pollfd waited = {.fd = from, .events = POLLIN};
    int limit = silence_limit(), ready;
    ssize_t got = 0;
    char text[LINE_BYTES];
    while ((ready = poll(&waited, 1, limit * 1000)) > 0 && (got = read(from, text, sizeof text)) > 0)
        pass_on(r, text, (size_t)got);
    if (r->length)
        pass_on_line(r);
    if (ready == 0) {
        r->silent = limit;
        kill(child, SIGKILL);
    }
}

static void wait_for(report *r, pid_t child)
{
    int status = 0;
    waitpid(child, &status, 0);
    if (r->silent)
        bail_out(r, "no result for %d seconds", r->silent);
    else if (WIFSIGNALED(status))
        bail_out(r, "killed by signal %d (%s)", WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        bail_out(r, "exit status %d", WEXITSTATUS(status));
}

int test_main(enum fork_status fork_status, test_suite_maker *maker)
{
    report r = {.length = 0};
    int ends[2];
    pid_t child;
    if (pipe(ends) || (child = fork()) < 0) {
        printf("Bail out! no pipe or process for the tests\n");
        return EXIT_FAILURE;
    }
    if (child == 0) {
        dup2(ends[1], STDOUT_FILENO);
        close(ends[0]);
        close(ends[1]);
        run_suite(fork_status, maker);
        exit(EXIT_SUCCESS);
    }
    close(ends[1]);
    pass_on_all(&r, ends[0], child);
    wait_for(&r, child);
    return r.failures && !getenv("TEST_HARNESS") ? EXIT_FAILURE : EXIT_SUCCESS;
}
