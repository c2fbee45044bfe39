/* SPDX-License-Identifier: MIT */
/*
 * `baton litmus run`: runs tests many times on a fabric, prints what was seen in the form of litmus7, and compares
 * it with what the model allows.
 */
#include "litmus.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <baton/error.h>

#include "args.h"
#include "base/clock.h"
#include "base/error.h"
#include "litmus_file.h"
#include "litmus_print.h"
#include "litmus_size.h"
#include "litmus_trial.h"
#include "members.h"

#define ARENA_BYTES ((size_t)4 << 20) /* of a node of a given cluster */

enum { MODELS = 4 };

struct state {
    struct litmus_trials all;
    enum baton_model models[MODELS]; /* as asked for; none: what fits the test */
    unsigned models_n;
    struct members members;
    unsigned nodes; /* 0: not given */
    struct litmus_paths paths;
    struct litmus_trial *trial;
    size_t trials_n;
    int status;
};

enum {
    OPT_FABRIC = 'f',
    OPT_MODEL = 'm',
    OPT_RUNS = 'n',
    OPT_SEED = 's',
    OPT_OPTIONS = 256,
    OPT_LOCK,
    OPT_BATCH,
    OPT_ROUND,
    OPT_SHOW,
    OPT_JSON,
    OPT_IN_PROCESS,
    OPT_SWAP,
    OPT_PATIENCE,
    OPT_MAX_STATES,
    OPT_NODES,
};

static const struct argp_option options[] = {
    {"fabric", OPT_FABRIC, "NAME", 0, "Run on this fabric (shm); see baton info", 0},
    {"options", OPT_OPTIONS, "NAME=VALUE,..", 0, "Settings of the fabric, such as device=mlx5_0",
     0},
    {"nodes", OPT_NODES, "N", 0,
     "Nodes of the cluster (as many as the tests need); with --rendezvous: be node 0, and found it",
     0},
    {"model", OPT_MODEL, "MODEL", 0,
     "Compare with tso, wait, spec or impl, or with several, each given so; else with tso, and "
     "with "
     "spec where a test has locks or sequentially consistent memory",
     0},
    {"lock", OPT_LOCK, "KIND", 0, "Under spec, locks are of this kind (ticket); see baton info", 0},
    {"runs", OPT_RUNS, "N", 0, "Run each test N times (10000)", 0},
    {"seed", OPT_SEED, "S", 0, "Seed of what disturbs the threads (1)", 0},
    {"batch", OPT_BATCH, "N", 0, "Instances of a test under way together, in one round (64)", 0},
    {"round", OPT_ROUND, "R", 0, "Disturb every round as round R of the seed", 0},
    {"show", OPT_SHOW, "cond|all", 0,
     "Of every state what the condition speaks of (default), or every register and location", 0},
    {"json", OPT_JSON, NULL, 0, "One JSON object a line for each test", 0},
    {"in-process", OPT_IN_PROCESS, NULL, 0, "The nodes are threads of one process", 0},
    {"swap", OPT_SWAP, NULL, 0, "step, sim: operations that nothing orders may change places", 0},
    {"patience", OPT_PATIENCE, "SECONDS", 0,
     "A thread that has to wait so long for the others fails (60)", 0},
    {"max-states", OPT_MAX_STATES, "N", 0,
     "Give up on what the model allows after N states of its machine", 0},
    {0},
};

static void choose_fabric(struct argp_state *state, struct state *s, const char *name)
{
    const char *missing = litmus_fabric_missing(name);
    if (missing)
        argp_error(state, "nothing runs on the fabric \"%s\": %s", name, missing);
    s->all.fleet.fabric = name;
}

static void choose_model(struct argp_state *state, struct state *s, const char *name)
{
    int model = baton_model_parse(name);
    if (model < 0)
        argp_error(state, "--model takes tso, wait, spec or impl, not \"%s\"", name);
    for (unsigned i = 0; i < s->models_n; i++)
        if (s->models[i] == (enum baton_model)model)
            return;
    s->models[s->models_n++] = (enum baton_model)model;
}

static void choose_kind(struct argp_state *state, struct state *s, const char *name)
{
    const char *others = litmus_kind_missing(name);
    if (others)
        argp_error(state, "no lock \"%s\"; there is:%s", name, others);
    s->all.fleet.kind = name;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct state *s = state->input;
    struct litmus_fleet_opts *fleet = &s->all.fleet;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &s->members;
        state->child_inputs[1] = &s->paths;
        return 0;
    case OPT_FABRIC:
        choose_fabric(state, s, arg);
        return 0;
    case OPT_NODES:
        s->nodes = (unsigned)arg_whole(state, "nodes", arg, 1, LITMUS_NODES_MAX);
        return 0;
    case OPT_OPTIONS:
        fleet->options = arg;
        return 0;
    case OPT_MODEL:
        choose_model(state, s, arg);
        return 0;
    case OPT_LOCK:
        choose_kind(state, s, arg);
        return 0;
    case OPT_RUNS:
        s->all.runs = arg_whole(state, "runs", arg, 1, UINT64_C(1000000000000));
        return 0;
    case OPT_SEED:
        fleet->settings.seed = arg_whole(state, "seed", arg, 0, UINT64_MAX);
        return 0;
    case OPT_BATCH:
        fleet->settings.batch = (unsigned)arg_whole(state, "batch", arg, 1, 4096);
        return 0;
    case OPT_ROUND:
        fleet->settings.round = (int64_t)arg_whole(state, "round", arg, 0, INT64_MAX);
        return 0;
    case OPT_SHOW:
        if (strcmp(arg, "cond") && strcmp(arg, "all"))
            argp_error(state, "--show takes cond or all, found \"%s\"", arg);
        s->all.show_all = !strcmp(arg, "all");
        return 0;
    case OPT_JSON:
        s->all.json = true;
        return 0;
    case OPT_IN_PROCESS:
        fleet->in_process = true;
        return 0;
    case OPT_SWAP:
        fleet->swap = true;
        return 0;
    case OPT_PATIENCE:
        fleet->settings.patience_ns = arg_whole(state, "patience", arg, 1, 100000) * 1000000000u;
        return 0;
    case OPT_MAX_STATES:
        s->all.max_states = arg_whole(state, "max-states", arg, 1, UINT64_MAX);
        return 0;
    case ARGP_KEY_END:
        if (fleet->swap && !crew_is_simulated(fleet->fabric))
            argp_error(state, "--swap goes with --fabric step and sim");
        s->nodes = members_check(state, &s->members, fleet->fabric, fleet->options, s->nodes,
                                 !fleet->in_process && !crew_is_simulated(fleet->fabric));
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {
    {.argp = &members_argp}, {.argp = &litmus_paths_argp}, {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = children,
    .args_doc = "FILE|DIR...",
    .doc =
        "Runs each test many times on a fabric, its threads on the nodes that it names, disturbed "
        "in their timing. Prints how often each final state was seen, as litmus7 does, and "
        "compares with the final states that the model allows."
        "\vExit status: 0 nothing was seen that the model forbids or the test denies, 1 "
        "something was, or the fabric failed, 2 bad input or no such fabric, 3 the model gave "
        "up at a limit.",
};

/* ---- Before anything runs */

/* One trial for each test and model. */
static void read_all(struct state *s)
{
    unsigned models = s->models_n ? s->models_n : 1;
    s->trial = calloc(s->paths.n * models + 1, sizeof(*s->trial));
    if (!s->trial) {
        fprintf(stderr, "%s\n", strerror(ENOMEM));
        exit(CMD_USAGE);
    }
    for (size_t i = 0; i < s->paths.n * models; i++) {
        struct litmus_trial *t = &s->trial[s->trials_n];
        if (litmus_read(s->paths.path[i / models], &t->program)) {
            s->status = CMD_USAGE;
            i += models - 1; /* it is told once */
            continue;
        }
        t->all = &s->all;
        t->path = s->paths.path[i / models];
        t->engine_rc = -ENODATA;
        litmus_trial_ask(t, s->models_n ? &s->models[i % models] : NULL);
        s->trials_n++;
    }
}

/* ---- A given cluster */

/* What all members have to be told alike. */
static char *terms_of(const struct state *s)
{
    const struct litmus_fleet_opts *f = &s->all.fleet;
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fprintf(to, "baton " BATON_VERSION " litmus run\n");
    for (unsigned i = 0; i < s->models_n; i++)
        fprintf(to, "--model %s\n", baton_model_name(s->models[i]));
    fprintf(to, "--lock %s\n--runs %" PRIu64 "\n", f->kind, s->all.runs);
    fprintf(to, "--seed %" PRIu64 "\n--batch %u\n--round %" PRId64 "\n", f->settings.seed,
            f->settings.batch, f->settings.round);
    for (size_t i = 0; i < s->trials_n; i++) {
        fprintf(to, "%s ", s->trial[i].program.name);
        litmus_print_hash(&s->trial[i].program, to);
    }
    return fclose(to) ? NULL : text;
}

static int join(const char *name, struct state *s)
{
    struct crew **crew = &s->all.fleet.given;
    *crew = members_open(name, &s->members, s->all.fleet.fabric, s->nodes, ARENA_BYTES);
    if (!*crew)
        return CMD_NOT_AS_EXPECTED;
    char *terms = terms_of(s);
    int rc = terms ? crew_agree(*crew, terms) : -ENOMEM;
    free(terms);
    if (!rc)
        return CMD_OK;
    fprintf(stderr, "%s: %s\n", name,
            *baton_error_detail() ? baton_error_detail() : baton_strerror(rc));
    crew_fail(*crew, rc);
    *crew = NULL;
    return CMD_USAGE;
}

/* Of a given cluster node 0 tells what was seen. */
static bool tells(const struct state *s)
{
    return !s->all.fleet.given || !crew_self(s->all.fleet.given);
}

/* Without the cluster there is nothing to run the other tests on. */
static void give_up(struct state *s, int rc, size_t next)
{
    size_t left = 0;
    for (size_t i = next; i < s->trials_n; i++) {
        struct litmus_trial *t = &s->trial[i];
        if (t->skipped || *t->error)
            continue;
        snprintf(t->error, sizeof(t->error), "the cluster has failed before");
        left++;
    }
    if (left && tells(s))
        fprintf(s->all.json ? stderr : stdout, "Not run, since the cluster has failed: %zu tests\n",
                left);
    crew_fail(s->all.fleet.given, rc);
    s->all.fleet.given = NULL;
}

/* ---- Fleets */

static void failed(struct litmus_trial *t, int rc)
{
    const char *detail = baton_error_detail();
    snprintf(t->error, sizeof(t->error), "%s%s%s", baton_strerror(rc), *detail ? "; " : "", detail);
}

static enum litmus_model plan_model(enum baton_model model)
{
    return model == BATON_MODEL_IMPL   ? LITMUS_IMPL
           : model == BATON_MODEL_SPEC ? LITMUS_SPEC
                                       : LITMUS_PRIMITIVE;
}

/* The same runs serve both: the test and what of it runs are the same, and only the model is another. */
static bool same_runs(const struct litmus_trial *a, const struct litmus_trial *b)
{
    return a->path == b->path && plan_model(a->model) == plan_model(b->model);
}

/*
 * Adds what can run of the trials from `i` on, at most `most` tests; returns how many trials were looked at. Trials
 * with the same number have the same runs.
 */
static size_t enlist(struct state *s, struct litmus_fleet *fleet, size_t i, size_t most,
                     int *numbers)
{
    size_t begin = i;
    for (; i < s->trials_n; i++) {
        struct litmus_trial *t = &s->trial[i];
        const char *reason = NULL;
        bool again = i > begin && numbers[i - 1] >= 0 && same_runs(t - 1, t);
        numbers[i] = again && !t->skipped ? numbers[i - 1] : -1;
        if (t->skipped || again)
            continue;
        if (!most)
            break;
        numbers[i] =
            litmus_fleet_add(fleet, &t->program, plan_model(t->model), s->all.runs, &reason);
        if (numbers[i] == -EOPNOTSUPP)
            t->skipped = reason;
        else if (numbers[i] < 0)
            failed(t, numbers[i]);
        else
            most--;
    }
    return i - begin;
}

/* Runs what all trials of this number ask for; returns how many have been served, at least one. */
static size_t run_one(struct state *s, struct litmus_fleet *fleet, size_t at, size_t end,
                      const int *numbers, int *broken)
{
    const struct litmus_tally *tally = NULL;
    double begin = baton_clock_s(CLOCK_MONOTONIC);
    int number = numbers[at],
        rc = number < 0 ? 0 : litmus_fleet_run(fleet, (unsigned)number, &tally);
    double seconds = baton_clock_s(CLOCK_MONOTONIC) - begin;
    size_t i = at;
    *broken = rc;
    do {
        struct litmus_trial *t = &s->trial[i];
        t->seconds = seconds;
        if (rc)
            failed(t, rc);
        if (!tells(s))
            continue;
        if (litmus_trial_judge(t, tally))
            failed(t, -ENOMEM);
        litmus_trial_print(t, stdout);
        fflush(stdout);  /* the next one may take its time */
        t->tally = NULL; /* the next test counts there */
    } while (++i < end && number >= 0 && numbers[i] == number);
    return i - at;
}

static void progress(const struct state *s, size_t at)
{
    if (isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO))
        fprintf(stderr, "\r\033[K[%zu/%zu] %s", at, s->trials_n, s->trial[at].program.name);
}

/* A fleet fails with a test; the tests after it get another one. */
static int run_all(struct state *s)
{
    bool alone = crew_is_simulated(s->all.fleet.fabric);
    int *numbers = calloc(s->trials_n + 1, sizeof(*numbers)), rc = numbers ? 0 : -ENOMEM;
    for (size_t i = 0; i < s->trials_n && !rc;) {
        struct litmus_fleet *fleet = litmus_fleet_create(&s->all.fleet);
        if (!fleet) {
            rc = -ENOMEM;
            break;
        }
        size_t end = i + enlist(s, fleet, i, alone ? 1 : SIZE_MAX, numbers);
        bool any = false;
        for (size_t k = i; k < end; k++)
            any |= numbers[k] >= 0;
        rc = any ? litmus_fleet_start(fleet) : 0;
        int broken = rc;
        while (i < end && !broken) {
            progress(s, i);
            i += run_one(s, fleet, i, end, numbers, &broken);
        }
        char words[256];
        snprintf(words, sizeof(words), "%s", baton_error_detail());
        litmus_fleet_destroy(fleet); /* which has words of its own */
        if (broken)
            baton_fail(broken, "%s", words);
        if (broken && s->all.fleet.given) {
            give_up(s, broken, i);
            break;
        }
    }
    if (isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO))
        fputs("\r\033[K", stderr);
    free(numbers);
    return rc;
}

static void summarize(const struct state *s, double seconds)
{
    size_t skipped = 0, forbidden = 0, torn = 0, undone = 0, failures = 0, unknown = 0, seen = 0,
           allowed = 0;
    for (size_t i = 0; i < s->trials_n; i++) {
        const struct litmus_trial *t = &s->trial[i];
        skipped += t->skipped != NULL;
        forbidden += t->count[LITMUS_FORBIDDEN] != 0;
        torn += t->count[LITMUS_TORN] != 0;
        undone += t->count[LITMUS_UNDONE] != 0;
        failures += *t->error != 0;
        unknown += !t->skipped && t->engine_rc;
        if (t->skipped || t->engine_rc)
            continue;
        seen += t->allowed_seen;
        allowed += t->allowed.n;
    }
    fprintf(s->all.json ? stderr : stdout,
            "%zu tests, %zu skipped, %zu with a forbidden state, %zu torn, %zu undone, %zu failed, "
            "%zu unknown; "
            "%zu of %zu allowed states seen, %.2f s\n",
            s->trials_n, skipped, forbidden, torn, undone, failures, unknown, seen, allowed,
            seconds);
}

/* Bad input outweighs a wrong result, and that outweighs an unknown one. */
static int worse(int a, int b)
{
    static const int weight[] = {
        [CMD_OK] = 0, [CMD_GAVE_UP] = 1, [CMD_NOT_AS_EXPECTED] = 2, [CMD_USAGE] = 3};
    return weight[a] >= weight[b] ? a : b;
}

static int run_and_tell(const char *name, struct state *s, double begin)
{
    bool first = tells(s);
    int rc = run_all(s), status = s->status;
    if (rc) {
        fprintf(stderr, "%s: the fabric %s: %s%s%s\n", name, s->all.fleet.fabric,
                baton_strerror(rc), *baton_error_detail() ? "; " : "", baton_error_detail());
        status = CMD_USAGE;
    }
    if (first)
        summarize(s, baton_clock_s(CLOCK_MONOTONIC) - begin);
    for (size_t i = 0; i < s->trials_n; i++)
        status = worse(status, litmus_trial_status(&s->trial[i]));
    if (s->all.fleet.given && (rc = crew_end(s->all.fleet.given, &status))) {
        fprintf(stderr, "%s: %s\n", name, baton_error_detail());
        status = CMD_NOT_AS_EXPECTED;
    }
    return status;
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct state s = {.all = {.fleet = {.fabric = "shm",
                                        .kind = "ticket",
                                        .settings = {.seed = 1,
                                                     .batch = 64,
                                                     .round = -1,
                                                     .patience_ns = 60000000000u}},
                              .runs = 10000}};
    double begin = baton_clock_s(CLOCK_MONOTONIC);
    argp_parse(self->argp, argc, argv, 0, NULL, &s);
    s.status = s.paths.failed ? CMD_USAGE : CMD_OK;
    read_all(&s);
    s.all.fleet.nodes = s.nodes;
    int status = s.members.given ? join(argv[0], &s) : CMD_OK;
    if (!status)
        status = run_and_tell(argv[0], &s, begin);
    for (size_t i = 0; i < s.trials_n; i++)
        litmus_trial_fini(&s.trial[i]);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "standard output: %s\n", strerror(errno));
        status = CMD_USAGE;
    }
    free(s.trial);
    litmus_paths_fini(&s.paths);
    return status;
}

const struct cmd litmus_run_cmd = {
    .name = "run",
    .summary = "run litmus tests on a fabric, and compare with the model",
    .argp = &argp,
    .run = run,
};
