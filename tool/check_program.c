/* SPDX-License-Identifier: MIT */
/* `baton check PROGRAM.so`: explores a user's program; see baton/check.h. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "check/program.h"
#include "check_common.h"

static const struct argp_option options[] = {CHECK_COMMON_OPTIONS, {0}};

struct args {
    struct check_common common;
    const char *file;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = state->input;
    if (check_common_option(key, arg, state, &a->common))
        return 0;
    switch (key) {
    case ARGP_KEY_ARG:
        if (a->file)
            argp_error(state, "one program at a time");
        a->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (!a->file)
            argp_error(state, "a shared object is needed; see baton/check.h");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static const struct argp argp = {
    options,
    parse,
    "PROGRAM.so",
    "Explores every schedule of a program's threads, and every order that the NIC may choose. "
    "baton/check.h tells what a program is."
    "\vExit status: 0 Verified, 1 Violated, 2 wrong use, 3 Unknown: a bound was reached.",
    NULL,
    NULL,
    NULL};

static int run_program(void *arg, struct sim_explore *x)
{
    return check_program_run(arg, x);
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct args a = {.common = CHECK_COMMON};
    struct check_schedule schedule = {0};
    char path[4096];
    int status;
    if (argp_parse(&argp, argc, argv, 0, NULL, &a))
        return CMD_USAGE;
    snprintf(path, sizeof(path), "%s%s", strchr(a.file, '/') ? "" : "./", a.file);
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    struct baton_check_program *program = object ? dlsym(object, BATON_CHECK_SYMBOL) : NULL;
    if (!program) {
        fprintf(stderr, "%s: %s\n", argv[0], dlerror());
        return CMD_USAGE;
    }
    struct check_subject subject = {.run = run_program, .arg = program};
    snprintf(subject.text, sizeof(subject.text), "%s", program->name);
    snprintf(subject.json, sizeof(subject.json), "\"program\":\"%s\",", program->name);
    snprintf(subject.head.program, sizeof(subject.head.program), "%s", program->name);
    if (!a.common.replay)
        status = check_common_explore(argv[0], &a.common, &subject);
    else if (check_common_read(argv[0], a.common.replay, &schedule))
        status = check_common_follow(argv[0], &a.common, &schedule, &subject);
    else
        status = CMD_USAGE;
    free(schedule.steps);
    dlclose(object);
    return status;
}

const struct cmd check_program_cmd = {
    .name = "program",
    .summary = "explore a program of yours, a shared object; the word may be left out",
    .argp = &argp,
    .run = run,
};
