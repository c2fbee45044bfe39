/* SPDX-License-Identifier: MIT */
/* `baton check lock`: explores a lock with a few threads completely. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "check/standing.h"
#include "args.h"
#include "check_common.h"

enum {
    OPT_LOCK = 256,
    OPT_LOCAL,
    OPT_REMOTE,
    OPT_ROUNDS,
    OPT_DATA,
    OPT_TRY,
    OPT_DEADLINE,
    OPT_PARAM,
    OPT_SWAP,
    OPT_FIRST_TICKET,
    OPT_NO_GFENCE,
    OPT_NO_FCFS,
    OPT_NO_SYMMETRY,
    OPT_ALL,
    OPT_QUICK,
    OPT_JOBS,
};

static const struct argp_option options[] = {
    {"lock", OPT_LOCK, "KIND", 0, "kind of lock (default merge); see baton info", 0},
    {"local", OPT_LOCAL, "N", 0, "threads of the host (default 1)", 0},
    {"remote", OPT_REMOTE, "N", 0, "remote threads, each on its own node (default 1)", 0},
    {"rounds", OPT_ROUNDS, "N", 0, "how often each acquires the lock (default 1)", 0},
    {"data", OPT_DATA, "cpu|put|get|other-node", 0, "what the section works on (default cpu)", 0},
    {"try", OPT_TRY, "all|local|remote", 0, "these threads try; who is refused goes on", 0},
    {"deadline", OPT_DEADLINE, "all|local|remote", 0,
     "these threads have a deadline, which comes at any moment", 0},
    {"param", OPT_PARAM, "NAME=VALUE", 0, "a parameter of the kind, for example slots=1", 0},
    {"swap", OPT_SWAP, NULL, 0, "no chain order: posts that nothing orders may change places", 0},
    {"first-ticket", OPT_FIRST_TICKET, "T", 0, "where tickets start, to reach a wrap", 0},
    {"no-gfence", OPT_NO_GFENCE, NULL, 0, "data on another node without the fence that it needs",
     0},
    {"no-fcfs", OPT_NO_FCFS, NULL, 0, "do not look at the order of service", 0},
    {"no-symmetry", OPT_NO_SYMMETRY, NULL, 0, "tell threads of one class apart", 0},
    {"all", OPT_ALL, NULL, 0, "the standing set, of all kinds, or of those named by --lock", 0},
    {"quick", OPT_QUICK, NULL, 0, "the part of the standing set that takes a minute", 0},
    {"jobs", OPT_JOBS, "N", 0, "explore so many of the set at a time (default 1)", 0},
    CHECK_COMMON_OPTIONS,
    {0},
};

struct args {
    struct check_lock config;
    struct check_common common;
    const char *kind;
    const char *params[BATON_LOCK_PARAMS_MAX];
    unsigned params_n, jobs;
    bool all, quick;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = state->input;
    struct check_lock *c = &a->config;
    if (check_common_option(key, arg, state, &a->common))
        return 0;
    switch (key) {
    case OPT_LOCK:
        a->kind = arg;
        break;
    case OPT_LOCAL:
        c->local = (unsigned)arg_whole(state, "local", arg, 0, SIM_THREADS_MAX);
        break;
    case OPT_REMOTE:
        c->remote = (unsigned)arg_whole(state, "remote", arg, 0, SIM_THREADS_MAX);
        break;
    case OPT_ROUNDS:
        c->rounds = (unsigned)arg_whole(state, "rounds", arg, 0, 8);
        break;
    case OPT_DATA:
        for (c->data = 0; c->data < CHECK_DATA_KINDS; c->data++)
            if (!strcmp(arg, check_data_names[c->data]))
                return 0;
        argp_error(state, "--data %s: there is: cpu put get other-node", arg);
        break;
    case OPT_TRY:
        if (!check_lock_enter_read(c, CHECK_TRY, arg))
            argp_error(state, "--try %s: there is: all local remote", arg);
        break;
    case OPT_DEADLINE:
        if (!check_lock_enter_read(c, CHECK_DEADLINE, arg))
            argp_error(state, "--deadline %s: there is: all local remote", arg);
        break;
    case OPT_PARAM:
        if (a->params_n == BATON_LOCK_PARAMS_MAX)
            argp_error(state, "at most %d parameters", BATON_LOCK_PARAMS_MAX);
        a->params[a->params_n++] = arg;
        break;
    case OPT_SWAP:
        c->swap = true;
        break;
    case OPT_FIRST_TICKET:
        c->first_ticket = arg_whole(state, "first-ticket", arg, 0, UINT64_MAX);
        break;
    case OPT_NO_GFENCE:
        c->no_gfence = true;
        break;
    case OPT_NO_FCFS:
        c->no_fcfs = true;
        break;
    case OPT_NO_SYMMETRY:
        c->no_symmetry = true;
        break;
    case OPT_ALL:
        a->all = true;
        break;
    case OPT_QUICK:
        a->all = a->quick = true;
        break;
    case OPT_JOBS:
        a->jobs = (unsigned)arg_whole(state, "jobs", arg, 0, 256);
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected \"%s\"; all is said by options", arg);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp argp = {
    options,
    parse,
    NULL,
    "Explores the code of a lock with a few threads: every schedule, and every order that the NIC "
    "may choose. Looks for two threads inside together, lost updates, deadlocks, gets that leave "
    "the section, and, in kinds that promise it, service that is not first come, first served."
    "\vExit status: 0 Verified, 1 Violated, 2 wrong use, 3 Unknown: a bound was reached.",
    NULL,
    NULL,
    NULL};

/* ---- One exploration */

static int run_lock(void *arg, struct sim_explore *x)
{
    struct check_lock *c = arg;
    c->tell = x->tell;
    c->tell_arg = x->arg;
    return check_lock_run(c, x);
}

static bool looks_at_order(const struct check_lock *c)
{
    return baton_lock_caps(c->kind, c->params) & BATON_LOCK_FCFS && !c->no_fcfs;
}

static struct check_subject subject_of(struct check_lock *c)
{
    struct check_subject s = {.run = run_lock, .arg = c, .head = {.config = *c}};
    char enters[CHECK_ENTER_TEXT];
    size_t text, json;
    check_lock_enter_text(c, enters);
    text = (size_t)snprintf(s.text, sizeof(s.text), "%s %u+%ux%u %s%s%s%s", c->kind->name, c->local,
                            c->remote, c->rounds, check_data_names[c->data], enters,
                            c->swap ? " swap" : "", looks_at_order(c) ? " order" : "");
    json = (size_t)snprintf(
        s.json, sizeof(s.json),
        "\"lock\":\"%s\",\"local\":%u,\"remote\":%u,\"rounds\":%u,"
        "\"data\":\"%s\",\"local_enters\":\"%s\",\"remote_enters\":\"%s\",\"order\":%s,\"chain_"
        "order\":%s,\"first_ticket\":%" PRIu64 ",\"params\":{",
        c->kind->name, c->local, c->remote, c->rounds, check_data_names[c->data],
        check_enter_names[c->local_enters], check_enter_names[c->remote_enters],
        looks_at_order(c) ? "true" : "false", c->swap ? "false" : "true", c->first_ticket);
    if (c->first_ticket)
        text += (size_t)snprintf(s.text + text, sizeof(s.text) - text, " from %" PRIu64,
                                 c->first_ticket);
    for (unsigned i = 0; c->kind->params && c->kind->params[i].name; i++) {
        const struct baton_lock_param *p = &c->kind->params[i];
        json += (size_t)snprintf(s.json + json, sizeof(s.json) - json, "%s\"%s\":%" PRIu64,
                                 i ? "," : "", p->name, c->params[i]);
        if (c->params[i] != p->standard)
            text += (size_t)snprintf(s.text + text, sizeof(s.text) - text, " %s=%" PRIu64, p->name,
                                     c->params[i]);
    }
    snprintf(s.json + json, sizeof(s.json) - json, "},");
    return s;
}

static int explore(const char *name, const struct check_common *common, struct check_lock *c)
{
    struct check_subject s = subject_of(c);
    return check_common_explore(name, common, &s);
}

static int replay(const char *name, const struct check_common *common)
{
    const char *file = common->replay;
    struct check_schedule schedule;
    int status = CMD_USAGE;
    if (!check_common_read(name, file, &schedule))
        return status;
    if (schedule.config.kind) {
        struct check_subject s = subject_of(&schedule.config);
        status = check_common_follow(name, common, &schedule, &s);
    } else {
        fprintf(stderr, "%s: %s is a schedule of the program %s\n", name, file, schedule.program);
    }
    free(schedule.steps);
    return status;
}

/* ---- The standing set */

/* Every process takes the next case that none has taken; they share the counter through a pipe. */
static int explore_some(const char *name, const struct args *a, const int *turn)
{
    struct check_lock c;
    unsigned index;
    int worst = CMD_OK;
    while (read(turn[0], &index, sizeof(index)) == sizeof(index)) {
        unsigned next = index + 1;
        if (write(turn[1], &next, sizeof(next)) != sizeof(next))
            return CMD_USAGE;
        if (!check_standing(a->quick ? CHECK_QUICK : CHECK_FULL, index, &c))
            break;
        if (a->kind && strcmp(a->kind, c.kind->name) != 0)
            continue;
        int status = explore(name, &a->common, &c);
        /* What is wrong counts more than what is not known. */
        if (status == CMD_USAGE || (status && worst != CMD_USAGE && worst != CMD_NOT_AS_EXPECTED))
            worst = status;
        fflush(stdout);
    }
    return worst;
}

static int explore_all(const char *name, const struct args *a)
{
    int turn[2], worst = CMD_OK, status;
    unsigned first = 0;
    if (pipe(turn) || write(turn[1], &first, sizeof(first)) != sizeof(first)) {
        perror(name);
        return CMD_USAGE;
    }
    if (a->jobs < 2)
        return explore_some(name, a, turn);
    fflush(stdout);
    setvbuf(stdout, NULL, _IOFBF, 1 << 20); /* whole verdicts at a time */
    for (unsigned i = 0; i < a->jobs; i++) {
        pid_t pid = fork();
        if (pid < 0) {
            perror(name);
            return CMD_USAGE;
        }
        if (!pid) {
            status = explore_some(name, a, turn);
            fflush(stdout);
            _exit(status);
        }
    }
    while (wait(&status) > 0) {
        int one = WIFEXITED(status) ? WEXITSTATUS(status) : CMD_USAGE;
        if (one == CMD_USAGE || (one && worst != CMD_USAGE && worst != CMD_NOT_AS_EXPECTED))
            worst = one;
    }
    return worst;
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct args a = {.config = {.local = 1, .remote = 1, .rounds = 1}, .common = CHECK_COMMON};
    struct check_lock *c = &a.config;
    if (argp_parse(&argp, argc, argv, 0, NULL, &a))
        return CMD_USAGE;
    if (a.common.replay)
        return replay(argv[0], &a.common);
    c->kind = baton_lock_kind(a.kind ? a.kind : "merge");
    if (!c->kind) {
        fprintf(stderr, "%s: no lock \"%s\"; baton info tells what there is\n", argv[0], a.kind);
        return CMD_USAGE;
    }
    if (a.all)
        return explore_all(argv[0], &a);
    baton_lock_param_defaults(c->kind, c->params);
    for (unsigned i = 0; i < a.params_n; i++)
        if (baton_lock_param_set(c->kind, c->params, a.params[i])) {
            fprintf(stderr, "%s: %s\n", argv[0], baton_error_detail());
            return CMD_USAGE;
        }
    return explore(argv[0], &a.common, c);
}

const struct cmd check_lock_cmd = {
    .name = "lock",
    .summary = "explore a lock with a few threads",
    .argp = &argp,
    .run = run,
};
