/* SPDX-License-Identifier: Apache-2.0 */
/* Options of a plan, with what the environment adds to them. */
#include <string.h>

#include "common/base/env.h"
#include "common/base/error.h"
#include "common/base/log.h"
#include "common/run/run.h"

static const struct pass {
    const char *name;
    unsigned bit;
} passes[] = {
    { "pointwise", LFUSE_NO_POINTWISE_FUSION }, { "epilogue", LFUSE_NO_EPILOGUE },
    { "views", LFUSE_NO_VIEW_FUSION },          { "rows", LFUSE_NO_ROW_FUSION },
    { "products", LFUSE_NO_SMALL_PRODUCTS },    { "gathers", LFUSE_NO_GATHER_FUSION },
    { "bundles", LFUSE_NO_BUNDLES },           { "recompute", LFUSE_NO_RECOMPUTE },
    { "replay", LFUSE_NO_REPLAY },             { "network", LFUSE_NO_NETWORK },
    { "prologue", LFUSE_NO_PROLOGUE },         { "sums", LFUSE_NO_COLUMN_SUMS },
};
enum { PASSES = sizeof passes / sizeof passes[0] };

static unsigned all_passes(void)
{
    unsigned bits = 0;
    int i;

    for (i = 0; i < PASSES; i++) bits |= passes[i].bit;
    return bits;
}

static unsigned bit_of(const char *name, size_t length)
{
    int i;

    for (i = 0; i < PASSES; i++)
        if (strlen(passes[i].name) == length && !memcmp(passes[i].name, name, length)) return passes[i].bit;
    return 0;
}

/* LFUSE_FUSE: "none", or passes to leave out, each with a minus. */
static unsigned disabled_by_environment(const char *text)
{
    unsigned bits = 0, bit;

    if (!text) return 0;
    if (!strcmp(text, "none")) return all_passes();
    while (*text) {
        const size_t length = strcspn(text, ",");
        bit = *text == '-' ? bit_of(text + 1, length - 1) : 0;
        if (length && !bit) lfuse__log(LFUSE_LOG_WARN, "LFUSE_FUSE: \"%.*s\" leaves out no pass", (int)length, text);
        bits |= bit;
        text += length + (text[length] == ',');
    }
    return bits;
}

static lfuse_provider provider_of_environment(const char *text)
{
    if (!text || !*text) return LFUSE_PROVIDER_DEFAULT;
    if (!strcmp(text, "native")) return LFUSE_PROVIDER_NATIVE;
    if (!strcmp(text, "vendor")) return LFUSE_PROVIDER_VENDOR;
    lfuse__log(LFUSE_LOG_WARN, "LFUSE_PROVIDER: \"%s\" is none", text);
    return LFUSE_PROVIDER_DEFAULT;
}

static lfuse_strassen strassen_of_environment(const char *text)
{
    static const struct {
        const char *word;
        lfuse_strassen means;
    } words[] = { { "off", LFUSE_STRASSEN_OFF }, { "auto", LFUSE_STRASSEN_AUTO }, { "1", LFUSE_STRASSEN_ONE },
                  { "2", LFUSE_STRASSEN_TWO } };
    size_t i;

    if (!text || !*text) return LFUSE_STRASSEN_OFF;
    for (i = 0; i < sizeof words / sizeof *words; i++)
        if (!strcmp(text, words[i].word)) return words[i].means;
    lfuse__log(LFUSE_LOG_WARN, "LFUSE_STRASSEN takes off, auto, 1 or 2, not \"%s\"", text);
    return LFUSE_STRASSEN_OFF;
}

static lfuse_status check(const lfuse_plan_options *o)
{
    if (o->effort > LFUSE_EFFORT_MEASURE || (int)o->effort < 0)
        return lfuse__error(LFUSE_ERR_INVALID, "effort %d is none", (int)o->effort);
    if (o->transport > LFUSE_TRANSPORT_UNIFIED || (int)o->transport < 0)
        return lfuse__error(LFUSE_ERR_INVALID, "transport %d is none", (int)o->transport);
    if (o->provider > LFUSE_PROVIDER_VENDOR || (int)o->provider < 0)
        return lfuse__error(LFUSE_ERR_INVALID, "provider %d is none", (int)o->provider);
    if (o->strassen > LFUSE_STRASSEN_TWO || (int)o->strassen < 0)
        return lfuse__error(LFUSE_ERR_INVALID, "strassen %d is none", (int)o->strassen);
    if (o->disable & ~all_passes())
        return lfuse__error(LFUSE_ERR_INVALID, "disable 0x%x names passes that are none (0x%x are)", o->disable,
                            all_passes());
    return LFUSE_OK;
}

static lfuse_effort effort_of_environment(const char *text)
{
    if (text && !strcmp(text, "measure")) return LFUSE_EFFORT_MEASURE;
    if (text && *text && strcmp(text, "estimate") != 0)
        lfuse__log(LFUSE_LOG_WARN, "LFUSE_EFFORT takes estimate or measure, not \"%s\"", text);
    return LFUSE_EFFORT_ESTIMATE;
}

lfuse_status lfuse__options_settle(const lfuse_plan_options *given, lfuse_plan_options *o)
{
    const lfuse__env *env = lfuse__env_get();

    if (given) LFUSE__TRY(check(given));
    memset(o, 0, sizeof *o);
    if (given) *o = *given;
    o->disable |= disabled_by_environment(env->fuse);
    if (o->effort == LFUSE_EFFORT_DEFAULT) o->effort = effort_of_environment(env->effort);
    if (o->strassen == LFUSE_STRASSEN_DEFAULT) o->strassen = strassen_of_environment(env->strassen);
    if (o->provider == LFUSE_PROVIDER_DEFAULT) o->provider = provider_of_environment(env->provider);
    return LFUSE_OK;
}
