/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a plan, with what the environment adds to them. */
#include <string.h>

#include "common/base/env.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/base/precision.h"
#include "common/run/run.h"

/* What a variable of the environment may say, and what that means. */
typedef struct word {
    const char *text;
    int means;
} word;

static const word passes[] = {
    { "pointwise", LFUSE_NO_POINTWISE_FUSION }, { "epilogue", LFUSE_NO_EPILOGUE },
    { "views", LFUSE_NO_VIEW_FUSION },          { "rows", LFUSE_NO_ROW_FUSION },
    { "products", LFUSE_NO_SMALL_PRODUCTS },    { "gathers", LFUSE_NO_GATHER_FUSION },
    { "bundles", LFUSE_NO_BUNDLES },            { "recompute", LFUSE_NO_RECOMPUTE },
    { "replay", LFUSE_NO_REPLAY },              { "network", LFUSE_NO_NETWORK },
    { "prologue", LFUSE_NO_PROLOGUE },          { "sums", LFUSE_NO_COLUMN_SUMS },
};
static const word efforts[] = { { "estimate", LFUSE_EFFORT_ESTIMATE }, { "measure", LFUSE_EFFORT_MEASURE } };
static const word providers[] = { { "native", LFUSE_PROVIDER_NATIVE }, { "vendor", LFUSE_PROVIDER_VENDOR } };
static const word levels[] = { { "off", LFUSE_STRASSEN_OFF }, { "auto", LFUSE_STRASSEN_AUTO },
                               { "1", LFUSE_STRASSEN_ONE },   { "2", LFUSE_STRASSEN_TWO } };
#define COUNT(words) (sizeof words / sizeof *words)

static unsigned all_passes(void)
{
    unsigned bits = 0;
    size_t i;

    for (i = 0; i < COUNT(passes); i++) bits |= (unsigned)passes[i].means;
    return bits;
}

/* NULL: it is none of the words. */
static const word *find(const char *text, size_t length, const word *words, size_t count)
{
    size_t i;

    for (i = 0; i < count; i++)
        if (strlen(words[i].text) == length && !memcmp(words[i].text, text, length)) return &words[i];
    return NULL;
}

/* LFUSE_FUSE: "none", or passes to leave out, each with a minus. */
static unsigned disabled_by_environment(const char *text)
{
    unsigned bits = 0;

    if (!text) return 0;
    if (!strcmp(text, "none")) return all_passes();
    while (*text) {
        const size_t length = strcspn(text, ",");
        const word *pass = *text == '-' ? find(text + 1, length - 1, passes, COUNT(passes)) : NULL;
        if (length && !pass) lfuse__log(LFUSE_LOG_WARN, "LFUSE_FUSE: \"%.*s\" leaves out no pass", (int)length, text);
        if (pass) bits |= (unsigned)pass->means;
        text += length + (text[length] == ',');
    }
    return bits;
}

/* `otherwise` where the variable is not set, or says something else, which is logged. */
static int by_environment(const char *takes, const char *text, const word *words, size_t count, int otherwise)
{
    const word *found = text ? find(text, strlen(text), words, count) : NULL;

    if (text && *text && !found) lfuse__log(LFUSE_LOG_WARN, "%s, not \"%s\"", takes, text);
    return found ? found->means : otherwise;
}

/* FULL where the variable is not set, or says something else, which is logged. */
static lfuse_precision precision_by_environment(const char *text)
{
    lfuse_precision precision = LFUSE_PRECISION_FULL;

    if (!text || !*text || (lfuse__precision_find(text, &precision) && lfuse__is_of_plans((int)precision)))
        return precision;
    lfuse__log(LFUSE_LOG_WARN, "LFUSE_PRECISION takes f32%s, not \"%s\"", lfuse__precisions_that_split(", ").text,
               text);
    return LFUSE_PRECISION_FULL;
}

static lfuse_status check_choice(const char *option, int value, int last)
{
    if (value >= 0 && value <= last) return LFUSE_OK;
    return lfuse__error(LFUSE_ERR_INVALID, "%s %d is none", option, value);
}

static lfuse_status check(const lfuse_plan_options *o)
{
    LFUSE__TRY(check_choice("effort", (int)o->effort, LFUSE_EFFORT_MEASURE));
    LFUSE__TRY(check_choice("transport", (int)o->transport, LFUSE_TRANSPORT_UNIFIED));
    LFUSE__TRY(check_choice("provider", (int)o->provider, LFUSE_PROVIDER_VENDOR));
    LFUSE__TRY(check_choice("strassen", (int)o->strassen, LFUSE_STRASSEN_TWO));
    if (!lfuse__is_of_plans((int)o->precision))
        return lfuse__error(LFUSE_ERR_INVALID, "precision %d is none of a plan's, which has f32%s; lfuse_matmul_as "
                            "takes the others", (int)o->precision, lfuse__precisions_that_split(", ").text);
    if (o->disable & ~all_passes())
        return lfuse__error(LFUSE_ERR_INVALID, "disable 0x%x names passes that are none (0x%x are)", o->disable,
                            all_passes());
    return LFUSE_OK;
}

lfuse_status lfuse__options_settle(const lfuse_plan_options *given, lfuse_plan_options *o)
{
    const lfuse__env *env = lfuse__env_get();

    if (given) LFUSE__TRY(check(given));
    memset(o, 0, sizeof *o);
    if (given) *o = *given;
    o->disable |= disabled_by_environment(env->fuse);
    if (o->effort == LFUSE_EFFORT_DEFAULT)
        o->effort = by_environment("LFUSE_EFFORT takes estimate or measure", env->effort, efforts, COUNT(efforts),
                                   LFUSE_EFFORT_ESTIMATE);
    if (o->strassen == LFUSE_STRASSEN_DEFAULT)
        o->strassen = by_environment("LFUSE_STRASSEN takes off, auto, 1 or 2", env->strassen, levels, COUNT(levels),
                                     LFUSE_STRASSEN_OFF);
    if (o->precision == LFUSE_PRECISION_FULL)
        o->precision = precision_by_environment(env->precision);
    if (o->provider == LFUSE_PROVIDER_DEFAULT)
        o->provider = by_environment("LFUSE_PROVIDER takes native or vendor", env->provider, providers,
                                     COUNT(providers), LFUSE_PROVIDER_DEFAULT);
    return LFUSE_OK;
}
