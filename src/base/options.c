/* SPDX-License-Identifier: MIT */
/* Settings in one string. */
#include "base/options.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static const char *next_setting(const char *p)
{
    p += strcspn(p, ",");
    return *p ? p + 1 : p;
}

bool baton_option(const char *options, const char *name, char *out, size_t bytes)
{
    size_t n = strlen(name);
    for (const char *p = options ? options : ""; *p; p = next_setting(p))
        if (!strncmp(p, name, n) && p[n] == '=') {
            p += n + 1;
            snprintf(out, bytes, "%.*s", (int)strcspn(p, ","), p);
            return true;
        }
    return false;
}

int baton_option_number(const char *options, const char *name, long least, long most, long *out)
{
    char text[24], *end;
    if (!baton_option(options, name, text, sizeof(text)))
        return 0;
    long value = strtol(text, &end, 10);
    /* What fills the room may have been longer. */
    if (!*text || *end || strlen(text) == sizeof(text) - 1 || value < least || value > most)
        return baton_fail(-EINVAL, "%s=%s: a number from %ld to %ld is needed", name, text, least,
                          most);
    *out = value;
    return 0;
}

/* Whether there is a setting of the name at `p`, n characters long, between `options` and `end`. */
static bool stands(const char *options, const char *end, const char *p, size_t n)
{
    for (const char *q = options; q < end; q = next_setting(q))
        if (strcspn(q, "=,") == n && !strncmp(q, p, n))
            return true;
    return false;
}

int baton_options_check(const char *options, const char *const *known)
{
    for (const char *p = options ? options : ""; *p; p = next_setting(p)) {
        size_t n = strcspn(p, "=,");
        const char *const *k = known;
        while (*k && (strlen(*k) != n || strncmp(p, *k, n)))
            k++;
        if (*k && p[n] == '=' && !stands(options, p, p, n))
            continue;
        if (*k && p[n] == '=')
            return baton_fail(-EINVAL, "the setting \"%s\" is given twice", *k);
        if (!*known)
            return baton_fail(-EINVAL, "no setting \"%.*s\": this fabric has none", (int)n, p);
        char all[160] = "";
        for (k = known; *k; k++) {
            strncat(all, " ", sizeof(all) - strlen(all) - 1);
            strncat(all, *k, sizeof(all) - strlen(all) - 1);
        }
        return baton_fail(-EINVAL, "no setting \"%.*s\"; name=value with one of:%s", (int)n, p,
                          all);
    }
    return 0;
}

int baton_options_join(char *out, size_t bytes, const char *standard, const char *own)
{
    size_t n = 0;
    own = own ? own : "";
    for (const char *p = standard ? standard : ""; *p && n < bytes; p = next_setting(p))
        if (!stands(own, own + strlen(own), p, strcspn(p, "=,")))
            n += (size_t)snprintf(out + n, bytes - n, "%.*s,", (int)strcspn(p, ","), p);
    if (n < bytes)
        n += (size_t)snprintf(out + n, bytes - n, "%s", own);
    if (n >= bytes)
        return baton_fail(-EINVAL, "the fabric's settings are too long");
    if (n && !*own)
        out[n - 1] = '\0'; /* the last comma */
    return 0;
}
