/* SPDX-License-Identifier: MIT */
/* `baton check lock`: explores a lock with a few threads completely. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "check/schedule.h"

enum {
    OPT_LOCK = 256,
    OPT_LOCAL,
    OPT_REMOTE,
    OPT_ROUNDS,
    OPT_DATA,
    OPT_PARAM,
    OPT_SWAP,
    OPT_FIRST_TICKET,
    OPT_NO_GFENCE,
    OPT_MAX_RUNS,
    OPT_MAX_STATES,
    OPT_TIMEOUT,
    OPT_CONTEXT_BOUND,
    OPT_NO_FCFS,
    OPT_NO_SYMMETRY,
    OPT_SELF_CHECK,
    OPT_NAIVE,
    OPT_DIGESTS,
    OPT_JSON,
    OPT_SCHEDULE,
    OPT_REPLAY,
};

static const struct argp_option options[] = {
    {"lock", OPT_LOCK, "KIND", 0, "kind of lock (default merge); see baton info", 0},
    {"local", OPT_LOCAL, "N", 0, "threads of the host (default 1)", 0},
    {"remote", OPT_REMOTE, "N", 0, "remote threads, each on its own node (default 1)", 0},
    {"rounds", OPT_ROUNDS, "N", 0, "how often each acquires the lock (default 1)", 0},
    {"data", OPT_DATA, "cpu|put|get|other-node", 0, "what the section works on (default cpu)", 0},
    {"param", OPT_PARAM, "NAME=VALUE", 0, "a parameter of the kind, for example slots=1", 0},
    {"swap", OPT_SWAP, NULL, 0, "no chain order: posts that nothing orders may change places", 0},
    {"first-ticket", OPT_FIRST_TICKET, "T", 0, "where tickets start, to reach a wrap", 0},
    {"no-gfence", OPT_NO_GFENCE, NULL, 0, "data on another node without the gfence that it needs",
     0},
    {"max-runs", OPT_MAX_RUNS, "N", 0, "give up after so many runs", 0},
    {"max-states", OPT_MAX_STATES, "N", 0, "give up after so many states", 0},
    {"timeout", OPT_TIMEOUT, "S", 0, "give up after so many seconds", 0},
    {"context-bound", OPT_CONTEXT_BOUND, "N", 0, "only runs with so many preemptions", 0},
    {"no-fcfs", OPT_NO_FCFS, NULL, 0, "do not look at the order of service", 0},
    {"no-symmetry", OPT_NO_SYMMETRY, NULL, 0, "tell threads of one class apart", 0},
    {"self-check", OPT_SELF_CHECK, NULL, 0, "check that equal digests mean equal stacks", 0},
    {"digests", OPT_DIGESTS, NULL, 0, "identify what threads know by what they were told", 0},
    {"naive", OPT_NAIVE, NULL, 0, "take no step at once", 0},
    {"json", OPT_JSON, NULL, 0, "one JSON object", 0},
    {"schedule", OPT_SCHEDULE, "FILE", 0, "where to write the way to a violation", 0},
    {"replay", OPT_REPLAY, "FILE", 0, "follow such a file once, and tell the story", 0},
    {0},
};

struct args {
    struct check_lock config;
    struct sim_explore explore;
    const char *kind;
    const char *params[BATON_LOCK_PARAMS_MAX];
    unsigned params_n;
    bool json;
    const char *schedule, *replay;
};

static uint64_t whole(struct argp_state *state, const char *name, const char *arg, uint64_t most)
{
    char *end;
    errno = 0;
    uint64_t v = strtoull(arg, &end, 0);
    if (!*arg || *end || errno || *arg == '-' || v > most)
        argp_error(state, "--%s %s: a whole number up to %" PRIu64 " is needed", name, arg, most);
    return v;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = state->input;
    struct check_lock *c = &a->config;
    switch (key) {
    case OPT_LOCK:
        a->kind = arg;
        break;
    case OPT_LOCAL:
        c->local = (unsigned)whole(state, "local", arg, SIM_THREADS_MAX);
        break;
    case OPT_REMOTE:
        c->remote = (unsigned)whole(state, "remote", arg, SIM_THREADS_MAX);
        break;
    case OPT_ROUNDS:
        c->rounds = (unsigned)whole(state, "rounds", arg, 8);
        break;
    case OPT_DATA:
        for (c->data = 0; c->data < CHECK_DATA_KINDS; c->data++)
            if (!strcmp(arg, check_data_names[c->data]))
                return 0;
        argp_error(state, "--data %s: there is: cpu put get other-node", arg);
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
        c->first_ticket = whole(state, "first-ticket", arg, UINT64_MAX);
        break;
    case OPT_NO_GFENCE:
        c->no_gfence = true;
        break;
    case OPT_MAX_RUNS:
        a->explore.runs_max = whole(state, "max-runs", arg, UINT64_MAX);
        break;
    case OPT_MAX_STATES:
        a->explore.states_max = whole(state, "max-states", arg, UINT64_MAX);
        break;
    case OPT_TIMEOUT:
        a->explore.seconds_max = strtod(arg, NULL);
        break;
    case OPT_CONTEXT_BOUND:
        a->explore.context_bound = (int)whole(state, "context-bound", arg, 1000);
        break;
    case OPT_NO_FCFS:
        c->no_fcfs = true;
        break;
    case OPT_NO_SYMMETRY:
        c->no_symmetry = true;
        break;
    case OPT_SELF_CHECK:
        a->explore.self_check = true;
        break;
    case OPT_NAIVE:
        a->explore.naive = true;
        break;
    case OPT_DIGESTS:
        a->explore.digests = true;
        break;
    case OPT_JSON:
        a->json = true;
        break;
    case OPT_SCHEDULE:
        a->schedule = arg;
        break;
    case OPT_REPLAY:
        a->replay = arg;
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
    "Explores every schedule and every order that the NIC may choose, for a lock of the library.",
    NULL,
    NULL,
    NULL};

static const char *const verdicts[] = {"Verified", "Violated", "Unknown"};

static void tell(void *arg, const char *line)
{
    unsigned *n = arg;
    if (*line == ' ')
        printf("      %s\n", line);
    else
        printf("%4u  %s\n", ++*n, line);
}

/* Follows the way once more, aloud. */
static int tell_story(struct check_lock *c, struct sim_explore *x)
{
    unsigned n = 0;
    c->tell = tell;
    c->tell_arg = &n;
    x->follow = true;
    int rc = check_lock_run(c, x);
    if (!rc)
        printf("%s: %s\n", verdicts[x->verdict],
               x->verdict == SIM_VERIFIED ? "nothing wrong on this way" : x->text);
    return rc;
}

static int write_schedule(const char *file, const struct check_lock *c, const struct sim_explore *x)
{
    struct check_schedule schedule = {.config = *c, .steps = x->found, .steps_n = x->found_n};
    FILE *to = fopen(file, "w");
    if (!to)
        return -errno;
    snprintf(schedule.violation, sizeof(schedule.violation), "%s", x->text);
    int rc = check_schedule_write(to, &schedule);
    return fclose(to) && !rc ? -errno : rc;
}

static int replay(const char *name, const char *file)
{
    struct check_schedule schedule;
    struct sim_explore x = SIM_EXPLORE_STANDARD;
    FILE *from = fopen(file, "r");
    int rc = from ? check_schedule_read(from, &schedule) : -errno;
    if (from)
        fclose(from);
    if (!rc && !schedule.config.kind)
        rc = -EINVAL;
    if (!rc) {
        x.steps = schedule.steps;
        x.steps_n = schedule.steps_n;
        rc = tell_story(&schedule.config, &x);
        free(schedule.steps);
    }
    if (rc) {
        fprintf(stderr, "%s: %s: %s; %s\n", name, file, baton_strerror(rc), baton_error_detail());
        return CMD_USAGE;
    }
    return x.verdict == SIM_VIOLATED ? CMD_NOT_AS_EXPECTED : CMD_OK;
}

static void print_json(const struct check_lock *c, const struct sim_explore *x)
{
    printf("{\"lock\":\"%s\",\"local\":%u,\"remote\":%u,\"rounds\":%u,\"data\":\"%s\","
           "\"chain_order\":%s,\"params\":{",
           c->kind->name, c->local, c->remote, c->rounds, check_data_names[c->data],
           c->swap ? "false" : "true");
    for (unsigned i = 0; c->kind->params && c->kind->params[i].name; i++)
        printf("%s\"%s\":%" PRIu64, i ? "," : "", c->kind->params[i].name, c->params[i]);
    printf("},\"verdict\":\"%s\",\"text\":\"%s\",\"runs\":%" PRIu64 ",\"states\":%" PRIu64
           ",\"transitions\":%" PRIu64 ",\"depth\":%" PRIu64
           ",\"seconds\":%.3f,\"memory_bytes\":%zu,\"reduction\":\"%s\",\"permutations\":%u,"
           "\"bounds\":{",
           verdicts[x->verdict], x->text, x->runs, x->states, x->transitions, x->depth, x->seconds,
           x->memory, x->naive ? "states" : "states, eager steps, symmetry", x->permutations);
    const char *comma = "";
    if (x->runs_max)
        printf("\"runs\":%" PRIu64, x->runs_max), comma = ",";
    if (x->states_max)
        printf("%s\"states\":%" PRIu64, comma, x->states_max), comma = ",";
    if (x->seconds_max > 0)
        printf("%s\"seconds\":%.12g", comma, x->seconds_max), comma = ",";
    if (x->context_bound >= 0)
        printf("%s\"preemptions\":%d", comma, x->context_bound);
    printf("}}\n");
}

static void print_text(const struct check_lock *c, const struct sim_explore *x)
{
    printf("%s %u+%ux%u %s: %s%s%s; %" PRIu64 " states, %" PRIu64 " runs, depth %" PRIu64
           ", %.2f s, %zu MiB\n",
           c->kind->name, c->local, c->remote, c->rounds, check_data_names[c->data],
           verdicts[x->verdict], x->text[0] ? ": " : "", x->text, x->states, x->runs, x->depth,
           x->seconds, x->memory >> 20);
}

static int explore(const char *name, struct args *a)
{
    struct check_lock *c = &a->config;
    struct sim_explore *x = &a->explore;
    int rc = check_lock_run(c, x);
    if (!rc && a->json)
        print_json(c, x);
    else if (!rc)
        print_text(c, x);
    if (!rc && x->verdict == SIM_VIOLATED) {
        struct sim_explore again = SIM_EXPLORE_STANDARD;
        again.steps = x->found;
        again.steps_n = x->found_n;
        if (a->schedule)
            rc = write_schedule(a->schedule, c, x);
        if (!rc && !a->json)
            rc = tell_story(c, &again);
    }
    free(x->found);
    if (rc) {
        fprintf(stderr, "%s: %s; %s\n", name, baton_strerror(rc), baton_error_detail());
        return CMD_USAGE;
    }
    return x->verdict == SIM_VERIFIED   ? CMD_OK
           : x->verdict == SIM_VIOLATED ? CMD_NOT_AS_EXPECTED
                                        : CMD_GAVE_UP;
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct args a = {.config = {.local = 1, .remote = 1, .rounds = 1},
                     .explore = SIM_EXPLORE_STANDARD,
                     .kind = "merge"};
    struct check_lock *c = &a.config;
    a.explore.shortest = true;
    if (argp_parse(&argp, argc, argv, 0, NULL, &a))
        return CMD_USAGE;
    if (a.replay)
        return replay(argv[0], a.replay);
    c->kind = baton_lock_kind(a.kind);
    if (!c->kind) {
        fprintf(stderr, "%s: no lock \"%s\"; baton info tells what there is\n", argv[0], a.kind);
        return CMD_USAGE;
    }
    baton_lock_param_defaults(c->kind, c->params);
    for (unsigned i = 0; i < a.params_n; i++)
        if (baton_lock_param_set(c->kind, c->params, a.params[i])) {
            fprintf(stderr, "%s: %s\n", argv[0], baton_error_detail());
            return CMD_USAGE;
        }
    return explore(argv[0], &a);
}

const struct cmd check_lock_cmd = {
    .name = "lock",
    .summary = "explore a lock with a few threads",
    .argp = &argp,
    .run = run,
};
