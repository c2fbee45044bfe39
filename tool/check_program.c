/* SPDX-License-Identifier: MIT */
/* `baton check PROGRAM.so`: explores a user's program; see baton/check.h. */
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

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
    "\vExit status: 0 Verified, 1 Violated, 2 wrong use, 3 Unknown: a bound was reached, or a run "
    "need not end.",
    NULL,
    NULL,
    NULL};

static int run_program(void *arg, struct sim_explore *x)
{
    return check_program_run(arg, x);
}

static int replay(const char *name, const struct args *a, struct check_subject *subject)
{
    struct check_schedule schedule;
    int status = CMD_USAGE;
    if (!check_common_read(name, a->common.replay, &schedule))
        return status;
    if (strcmp(schedule.program, subject->head.program) != 0)
        fprintf(stderr, "%s: %s is a schedule of the %s %s\n", name, a->common.replay,
                schedule.config.kind ? "lock" : "program",
                schedule.config.kind ? schedule.kind : schedule.program);
    else
        status = check_common_follow(name, &a->common, &schedule, subject);
    free(schedule.steps);
    return status;
}

static int load_and_run(const char *name, const struct args *a)
{
    char path[4096];
    int status;
    snprintf(path, sizeof(path), "%s%s", strchr(a->file, '/') ? "" : "./", a->file);
    void *object = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    struct baton_check_program *program = object ? dlsym(object, BATON_CHECK_SYMBOL) : NULL;
    if (!program) {
        fprintf(stderr, "%s: %s\n", name, dlerror());
        return CMD_USAGE;
    }
    struct check_subject subject = {.run = run_program, .arg = program};
    const char *title =
        program->size == sizeof(*program) && program->name ? program->name : a->file;
    snprintf(subject.text, sizeof(subject.text), "%s", title);
    for (char *c = subject.text; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' ';
    snprintf(subject.head.program, sizeof(subject.head.program), "%s", subject.text);
    if (a->common.replay)
        status = replay(name, a, &subject);
    else
        status = check_common_explore(name, &a->common, &subject);
    dlclose(object);
    return status;
}

/* ---- In a process of its own: what a body does to it must not pass for a verdict */

#define LATE_SECONDS 30 /* for the shortest way, which is looked for when the time is over */

/* Waits until the process has said that it has come to its end, by a byte, or has died. */
static int watch(const char *name, const struct args *a, pid_t pid, int told)
{
    struct pollfd fd = {told, POLLIN, 0};
    double most = a->common.explore.seconds_max;
    int ready, state = 0;
    char byte;
    do
        ready = poll(&fd, 1, most > 0 && most < 1e6 ? (int)(1000 * (most + LATE_SECONDS)) : -1);
    while (ready < 0 && errno == EINTR);
    if (!ready)
        (void)kill(pid, SIGKILL);
    bool ended = ready > 0 && read(told, &byte, 1) == 1;
    (void)waitpid(pid, &state, 0);
    if (!ready) {
        fprintf(stderr,
                "%s: %s: Unknown: the bound on time was reached, and a body has not come "
                "back\n",
                name, a->file);
        return CMD_GAVE_UP;
    }
    if (ended && WIFEXITED(state))
        return WEXITSTATUS(state);
    if (WIFSIGNALED(state) && WTERMSIG(state) == SIGPIPE)
        (void)raise(SIGPIPE);
    if (WIFSIGNALED(state))
        fprintf(stderr, "%s: %s: the program has crashed: %s\n", name, a->file,
                strsignal(WTERMSIG(state)));
    else
        fprintf(stderr, "%s: %s: the program has ended the process; bodies must return\n", name,
                a->file);
    return CMD_USAGE;
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct args a = {.common = CHECK_COMMON};
    int told[2];
    if (argp_parse(&argp, argc, argv, 0, NULL, &a))
        return CMD_USAGE;
    if (a.common.replay) /* for debuggers, too */
        return load_and_run(argv[0], &a);
    fflush(NULL);
    pid_t pid = pipe(told) ? -1 : fork();
    if (pid < 0) {
        perror(argv[0]);
        return CMD_USAGE;
    }
    (void)close(told[pid ? 1 : 0]);
    if (pid) {
        int status = watch(argv[0], &a, pid, told[0]);
        (void)close(told[0]);
        return status;
    }
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    int status = load_and_run(argv[0], &a);
    (void)!write(told[1], "", 1);
    return status;
}

const struct cmd check_program_cmd = {
    .name = "program",
    .summary = "explore a program of yours, a shared object; the word may be left out",
    .argp = &argp,
    .run = run,
};
