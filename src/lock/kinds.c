/* SPDX-License-Identifier: MIT */
/* The kinds of lock by name: this library's and those that a program adds; and their parameters. */
#include <ctype.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <baton/lock.h>

#include "fabric/world.h"
#include "lock/alock.h"
#include "lock/farlock.h"
#include "lock/mcs.h"
#include "lock/merge.h"
#include "lock/table.h"
#include "lock/ticket.h"
#include "lock/ts.h"

/* Room for a process's own kinds; the array is never moved, so that lists that were handed out stay
 * good. The last place stays null. */
#define KINDS_MAX 64

static pthread_mutex_t kinds_lock = PTHREAD_MUTEX_INITIALIZER;
static const struct baton_lock_ops *kinds[KINDS_MAX + 1] = {
    &baton_lock_ts,      &baton_lock_ticket,    &baton_lock_mcs,   &baton_lock_alock,
    &baton_lock_farlock, &baton_lock_farlock_g, &baton_lock_merge,
};

const struct baton_lock_ops *const *baton_lock_kinds(void)
{
    return kinds;
}

/* The place of that name, or the first free one. */
static unsigned kind_place(const char *name)
{
    unsigned i = 0;
    while (kinds[i] && strcmp(kinds[i]->name, name))
        i++;
    return i;
}

const struct baton_lock_ops *baton_lock_kind(const char *name)
{
    if (!name)
        return NULL;
    pthread_mutex_lock(&kinds_lock);
    const struct baton_lock_ops *found = kinds[kind_place(name)];
    pthread_mutex_unlock(&kinds_lock);
    return found;
}

static bool kind_name_good(const char *name)
{
    size_t n = name ? strlen(name) : 0;
    if (n < 1 || n > BATON_KIND_NAME_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        if (!islower((unsigned char)name[i]) && !isdigit((unsigned char)name[i]) &&
            name[i] != '-' && name[i] != '_')
            return false;
    return true;
}

static int kind_check(const struct baton_lock_ops *ops)
{
    if (ops->size < sizeof *ops)
        return baton_fail(-EINVAL, "lock kind: its table of calls has %zu bytes, %zu are needed",
                          ops->size, sizeof *ops);
    if (!kind_name_good(ops->name))
        return baton_fail(-EINVAL, "lock kind: a name has 1 to %u characters of a-z, 0-9, - and _",
                          BATON_KIND_NAME_MAX);
    if (!ops->acquire || !ops->release)
        return baton_fail(-EINVAL, "lock kind %s: acquire and release are needed", ops->name);
    if (((ops->caps & BATON_LOCK_TRY) != 0) != (ops->try_acquire != NULL))
        return baton_fail(
            -EINVAL, "lock kind %s: the capability to try and try_acquire go together", ops->name);
    for (unsigned i = 0; ops->params && ops->params[i].name; i++) {
        const struct baton_lock_param *p = &ops->params[i];
        if (i == BATON_LOCK_PARAMS_MAX)
            return baton_fail(-EINVAL, "lock kind %s: more than %d parameters", ops->name,
                              BATON_LOCK_PARAMS_MAX);
        if (p->standard < p->least || p->standard > p->most || (p->on_off && p->most > 1))
            return baton_fail(-EINVAL,
                              "lock kind %s: parameter %s: its standard value is not one "
                              "of its values",
                              ops->name, p->name);
    }
    return 0;
}

int baton_lock_register(const struct baton_lock_ops *ops)
{
    if (!ops)
        return baton_fail(-EINVAL, "lock kind: null");
    int rc = kind_check(ops);
    if (rc)
        return rc;
    pthread_mutex_lock(&kinds_lock);
    unsigned place = kind_place(ops->name);
    if (kinds[place])
        rc = baton_fail(-EEXIST, "lock kind %s: there is one of that name", ops->name);
    else if (place == KINDS_MAX)
        rc = baton_fail(-ENOMEM, "lock kind %s: there are %d kinds already", ops->name, KINDS_MAX);
    else
        kinds[place] = ops;
    pthread_mutex_unlock(&kinds_lock);
    return rc;
}

void baton_lock_kinds_text(char *out, size_t bytes)
{
    size_t n = 0;
    out[0] = 0;
    for (unsigned i = 0; kinds[i] && n < bytes; i++)
        n += (size_t)snprintf(out + n, bytes - n, "%s%s", i ? ", " : "", kinds[i]->name);
}

/* ---- Parameters */

void baton_lock_param_defaults(const struct baton_lock_ops *ops, uint64_t *params)
{
    memset(params, 0, BATON_LOCK_PARAMS_MAX * sizeof *params);
    for (unsigned i = 0; ops->params && ops->params[i].name; i++)
        params[i] = ops->params[i].standard;
}

static void param_text(const struct baton_lock_param *p, char *out, size_t bytes)
{
    if (p->on_off)
        snprintf(out, bytes, "%s (on or off)", p->name);
    else
        snprintf(out, bytes, "%s (%llu to %llu)", p->name, (unsigned long long)p->least,
                 (unsigned long long)p->most);
}

static int params_unknown(const struct baton_lock_ops *ops, const char *name, size_t length)
{
    char all[256] = "none", one[96];
    size_t n = 0;
    for (unsigned i = 0; ops->params && ops->params[i].name && n < sizeof all; i++) {
        param_text(&ops->params[i], one, sizeof one);
        n += (size_t)snprintf(all + n, sizeof all - n, "%s%s", i ? ", " : "", one);
    }
    return baton_fail(-EINVAL, "lock kind %s has no parameter \"%.*s\"; it has: %s", ops->name,
                      (int)(length < 64 ? length : 64), name, all);
}

/* Digits only: no sign, no blank, no other base. */
static bool number_parse(const char *text, uint64_t *out)
{
    uint64_t value = 0;
    if (!*text)
        return false;
    for (; *text; text++) {
        unsigned digit = (unsigned)(unsigned char)*text - '0';
        if (digit > 9 || value > (UINT64_MAX - digit) / 10)
            return false;
        value = value * 10 + digit;
    }
    *out = value;
    return true;
}

int baton_lock_param_set(const struct baton_lock_ops *ops, uint64_t *params, const char *setting)
{
    const char *equals = strchr(setting, '=');
    size_t length = equals ? (size_t)(equals - setting) : strlen(setting);
    unsigned i = 0;
    while (ops->params && ops->params[i].name &&
           (strlen(ops->params[i].name) != length || memcmp(ops->params[i].name, setting, length)))
        i++;
    if (!ops->params || !ops->params[i].name)
        return params_unknown(ops, setting, length);

    const struct baton_lock_param *p = &ops->params[i];
    const char *text = equals ? equals + 1 : "";
    uint64_t value;
    bool good;
    if (p->on_off) {
        value = !strcmp(text, "on");
        good = value || !strcmp(text, "off");
    } else {
        good = number_parse(text, &value) && value >= p->least && value <= p->most;
    }
    if (!good) {
        char one[96];
        param_text(p, one, sizeof one);
        return baton_fail(-EINVAL, "lock kind %s: \"%.64s\" is no setting of %s", ops->name,
                          setting, one);
    }
    params[i] = value;
    return 0;
}

int baton_lock_params_check(const struct baton_lock_ops *ops, const uint64_t *params)
{
    for (unsigned i = 0; ops->params && ops->params[i].name; i++) {
        const struct baton_lock_param *p = &ops->params[i];
        if (params[i] < p->least || params[i] > p->most) {
            char one[96];
            param_text(p, one, sizeof one);
            return baton_fail(-EINVAL, "lock kind %s: %llu is no value of %s", ops->name,
                              (unsigned long long)params[i], one);
        }
    }
    return 0;
}
