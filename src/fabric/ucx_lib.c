/* SPDX-License-Identifier: MIT */
/* Loads UCX and makes it quiet. */
#include "fabric/ucx_lib.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LIBRARY "libucp.so.0"

struct ucx_calls baton_ucx_calls;
static char failure[160];
static const char *verdict;

/* What UCX itself reads from UCX_NAME when it is loaded. */
static const struct {
    const char *variable, *name, *value;
} quiet[] = {{"UCX_LOG_LEVEL", "LOG_LEVEL", "fatal"},
             {"UCX_HANDLE_ERRORS", "HANDLE_ERRORS", "none"},
             {"UCX_WARN_UNUSED_ENV_VARS", "WARN_UNUSED_ENV_VARS", "n"},
             {"UCX_MEMTYPE_CACHE", "MEMTYPE_CACHE", "n"}};

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);
    return value && *value;
}

static void be_quiet(void *library)
{
    ucs_status_t (*set)(const char *, const char *);
    void (*give_back)(void);
    *(void **)&set = dlsym(library, "ucs_global_opts_set_value");
    *(void **)&give_back = dlsym(library, "ucs_debug_disable_signals");
    if (give_back && !is_set("UCX_ERROR_SIGNALS"))
        give_back();
    for (size_t i = 0; set && i < sizeof(quiet) / sizeof(quiet[0]); i++)
        if (!is_set(quiet[i].variable))
            set(quiet[i].name, quiet[i].value);
}

static void load(void)
{
    void *there = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    void *library = there ? there : dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        verdict = LIBRARY " can not be loaded; install libucx0";
        return;
    }
    if (!there)
        be_quiet(library);
#define UCX_CALL(call)                                                                             \
    *(void **)&baton_ucx_calls.call = dlsym(library, #call);                                       \
    if (!baton_ucx_calls.call)                                                                     \
        snprintf(failure, sizeof(failure), LIBRARY " is too old: it has no %s", #call);
    UCX_CALLS(UCX_CALL)
#undef UCX_CALL
    if (*failure)
        verdict = failure;
}

const char *baton_ucx_load(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, load);
    return verdict;
}
