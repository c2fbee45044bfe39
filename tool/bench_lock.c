/* SPDX-License-Identifier: MIT */
/* `baton bench lock`: the closed-loop lock benchmark from the command line. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "args.h"
#include "base/error.h"
#include "bench.h"
#include "bench/arrivals.h"
#include "bench/lock_bench.h"
#include "bench/timeline.h"
#include "members.h"

enum {
    OPT_FABRIC = 256,
    OPT_OPTIONS,
    OPT_NODES,
    OPT_THREADS,
    OPT_LOCAL,
    OPT_REMOTE,
    OPT_LOCKS,
    OPT_ZIPF,
    OPT_LOCK,
    OPT_PARAM,
    OPT_LOCAL_CS,
    OPT_REMOTE_CS,
    OPT_DURATION,
    OPT_WARMUP,
    OPT_HOST,
    OPT_PIN,
    OPT_SEED,
    OPT_FORMAT,
    OPT_HGRM,
    OPT_PLOT,
    OPT_IN_PROCESS,
    OPT_SWAP,
    OPT_PROFILE,
    OPT_DRIVER,
    OPT_NO_PAIR,
    OPT_FAULTS,
    OPT_REPLAY,
    OPT_REAL,
    OPT_ARRIVALS,
    OPT_TRACE,
};

static const struct argp_option options[] = {
    {"fabric", OPT_FABRIC, "NAME", 0, "shm (default) or another; see baton info", 0},
    {"options", OPT_OPTIONS, "NAME=VALUE,..", 0, "settings of the fabric, such as device=mlx5_0",
     0},
    {"nodes", OPT_NODES, "N", 0,
     "nodes of the cluster (default 2); with --rendezvous: be node 0, and found it", 0},
    {"threads", OPT_THREADS, "T", 0, "threads on every node (default 2)", 0},
    {"local", OPT_LOCAL, "N", 0, "threads on the host node, instead of --threads", 0},
    {"remote", OPT_REMOTE, "N", 0, "threads on every other node, instead of --threads", 0},
    {"locks", OPT_LOCKS, "K", 0, "locks to choose from (default 1)", 0},
    {"zipf", OPT_ZIPF, "S", 0, "choose them with a Zipf distribution, not uniformly", 0},
    {"lock", OPT_LOCK, "KIND,..", 0, "kinds to run, or all (default merge)", 0},
    {"param", OPT_PARAM, "KIND.NAME=VALUE", 0, "a parameter of a kind, for example merge.slots=2",
     0},
    {"local-cs", OPT_LOCAL_CS, "NS", 0, "critical section of local threads (default 100)", 0},
    {"remote-cs", OPT_REMOTE_CS, "NS", 0, "critical section of remote threads (default 5000)", 0},
    {"duration", OPT_DURATION, "S", 0, "seconds measured (default 2); virtual when simulated", 0},
    {"warmup", OPT_WARMUP, "S", 0, "seconds before that (default 0.1)", 0},
    {"host", OPT_HOST, "N|spread", 0, "node that holds the locks (default 0), or all nodes", 0},
    {"pin", OPT_PIN, NULL, 0, "pin threads to CPUs in turn", 0},
    {"seed", OPT_SEED, "S", 0, "of the choice of locks and of simulated schedules (default 1)", 0},
    {"format", OPT_FORMAT, "FORMAT", 0, "table (default), json or csv", 0},
    {"hgrm", OPT_HGRM, "DIR", 0, "write the latency histograms there (.hgrm in us, and .csv)", 0},
    {"plot", OPT_PLOT, "DIR", 0, "draw latency, throughput and fairness there (needs gnuplot)", 0},
    {"in-process", OPT_IN_PROCESS, NULL, 0, "the nodes are threads of one process", 0},
    {"swap", OPT_SWAP, NULL, 0, "step: operations that nothing orders may change places", 0},
    {"profile", OPT_PROFILE, "NAME", 0, "sim: cx3, cx5, cx6 (default) or a file; see baton info",
     0},
    {"driver", OPT_DRIVER, "NAME", 0, "sim: timed (default) or random", 0},
    {"faults", OPT_FAULTS, "FAULT,..", 0,
     "sim, with --driver random: kill-thread, kill-node, drop (an operation is lost), delay, "
     "pause, or all; "
     "how often is drawn from the seed",
     0},
    {"replay", OPT_REPLAY, "SEED:UNSEED", 0,
     "sim: runs that seed, and fails unless it ends in that unseed", 0},
    {"real", OPT_REAL, NULL, 0,
     "sim: real times in the JSON too; stdout then differs from run to run", 0},
    {"arrivals", OPT_ARRIVALS, "FILE|12local-12remote", 0,
     "sim: no closed loop: threads come once, in this order (a file has lines \"nanoseconds "
     "node\"), while "
     "another holds the lock; prints in which order they were served",
     0},
    {"trace", OPT_TRACE, "FILE", 0,
     "sim: write a timeline of every acquisition there, for Perfetto or chrome://tracing", 0},
    {"no-pair", OPT_NO_PAIR, NULL, 0, "do not measure pair_ns", 0},
    {0},
};

#define KINDS_MAX 64

struct args {
    struct bench_config config;
    struct members members;
    unsigned nodes; /* 0: not given */
    long threads, local, remote;
    const char *kinds;
    enum bench_format format;
    const char *hgrm, *plot, *profile, *driver;
    const char *settings;
    char options[512], faults[128];
    const char *arrivals, *trace;
    bool replay;
    uint64_t unseed;
};

static void choose_fabric(struct argp_state *state, struct args *a, const char *name)
{
    for (const char *const *f = baton_fabrics(); *f; f++)
        if (!strcmp(*f, name)) {
            if (baton_fabric_unavailable(name))
                argp_error(state, "--fabric %s: %s", name, baton_fabric_unavailable(name));
            a->config.fabric = name;
            return;
        }
    char all[128] = "";
    for (const char *const *f = baton_fabrics(); *f; f++) {
        strncat(all, " ", sizeof(all) - strlen(all) - 1);
        strncat(all, *f, sizeof(all) - strlen(all) - 1);
    }
    argp_error(state, "no fabric \"%s\" in this build; there is:%s", name, all);
}

static void take_param(struct argp_state *state, struct args *a, const char *arg)
{
    char kind[64];
    const char *dot = strchr(arg, '.');
    if (!dot || (size_t)(dot - arg) >= sizeof(kind))
        argp_error(state, "--param %s: KIND.NAME=VALUE is needed, for example merge.slots=2", arg);
    snprintf(kind, sizeof(kind), "%.*s", (int)(dot - arg), arg);
    const struct baton_lock_ops *ops = baton_lock_kind(kind);
    uint64_t values[BATON_LOCK_PARAMS_MAX];
    if (!ops)
        argp_error(state, "--param %s: no lock \"%s\"", arg, kind);
    baton_lock_param_defaults(ops, values);
    if (baton_lock_param_set(ops, values, dot + 1))
        argp_error(state, "--param %s: %s", arg, baton_error_detail());
    if (a->config.params_count == BENCH_PARAMS_MAX)
        argp_error(state, "at most %d parameters", BENCH_PARAMS_MAX);
    a->config.params[a->config.params_count++] = arg;
}

static void take_replay(struct argp_state *state, struct args *a, const char *arg)
{
    char *end;
    errno = 0;
    a->config.seed = strtoull(arg, &end, 10);
    if (!errno && end != arg && *end == ':') {
        const char *unseed = end + 1;
        a->unseed = strtoull(unseed, &end, 16);
        a->replay = end != unseed && !*end && !errno;
    }
    if (!a->replay)
        argp_error(state, "--replay %s: SEED:UNSEED is needed, as an earlier run has printed them",
                   arg);
}

/* Null: what was asked for goes together with the number of nodes. */
static const char *wrong_nodes(const struct bench_config *c)
{
    static char words[80];
    if (c->host >= (int)c->nodes) {
        snprintf(words, sizeof(words), "--host %d: the nodes are 0 to %u", c->host, c->nodes - 1);
        return words;
    }
    return bench_threads(c) ? NULL : "there is no thread to run";
}

/* In a given cluster nothing is known of them yet. */
static void choose_nodes(struct argp_state *state, struct args *a)
{
    struct bench_config *c = &a->config;
    bool apart = !c->in_process && !crew_is_simulated(c->fabric);
    a->nodes = members_check(state, &a->members, c->fabric, a->settings, a->nodes, apart);
    if (a->members.given)
        return;
    c->nodes = a->nodes ? a->nodes : 2;
    if (wrong_nodes(c))
        argp_error(state, "%s", wrong_nodes(c));
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct args *a = state->input;
    struct bench_config *c = &a->config;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &a->members;
        break;
    case OPT_FABRIC:
        choose_fabric(state, a, arg);
        break;
    case OPT_OPTIONS:
        a->settings = arg;
        break;
    case OPT_NODES:
        a->nodes = (unsigned)arg_whole(state, "nodes", arg, 1, 4096);
        break;
    case OPT_THREADS:
        a->threads = (long)arg_whole(state, "threads", arg, 0, 4096);
        break;
    case OPT_LOCAL:
        a->local = (long)arg_whole(state, "local", arg, 0, 4096);
        break;
    case OPT_REMOTE:
        a->remote = (long)arg_whole(state, "remote", arg, 0, 4096);
        break;
    case OPT_LOCKS:
        c->locks = (unsigned)arg_whole(state, "locks", arg, 1, 10000000);
        break;
    case OPT_ZIPF:
        c->zipf = arg_number(state, "zipf", arg, 0, 10);
        break;
    case OPT_LOCK:
        a->kinds = arg;
        break;
    case OPT_PARAM:
        take_param(state, a, arg);
        break;
    case OPT_LOCAL_CS:
        c->local_cs_ns = arg_whole(state, "local-cs", arg, 0, 1000000000);
        break;
    case OPT_REMOTE_CS:
        c->remote_cs_ns = arg_whole(state, "remote-cs", arg, 0, 1000000000);
        break;
    case OPT_DURATION:
        c->duration_s = arg_number(state, "duration", arg, 0.0001, 1e6);
        break;
    case OPT_WARMUP:
        c->warmup_s = arg_number(state, "warmup", arg, 0, 1e6);
        break;
    case OPT_HOST:
        c->host =
            strcmp(arg, "spread") ? (int)arg_whole(state, "host", arg, 0, 4095) : BENCH_HOST_SPREAD;
        break;
    case OPT_PIN:
        c->pin = true;
        break;
    case OPT_SEED:
        c->seed = arg_whole(state, "seed", arg, 0, 0x7fffffffffffffff);
        break;
    case OPT_FORMAT:
        if (!strcmp(arg, "table"))
            a->format = BENCH_TABLE;
        else if (!strcmp(arg, "json"))
            a->format = BENCH_JSON;
        else if (!strcmp(arg, "csv"))
            a->format = BENCH_CSV;
        else
            argp_error(state, "no format \"%s\"; there is: table json csv", arg);
        break;
    case OPT_HGRM:
        a->hgrm = arg;
        break;
    case OPT_PLOT:
        a->plot = arg;
        break;
    case OPT_IN_PROCESS:
        c->in_process = true;
        break;
    case OPT_SWAP:
        c->swap = true;
        break;
    case OPT_PROFILE:
        a->profile = arg_setting(state, "profile", arg);
        break;
    case OPT_DRIVER:
        if (strcmp(arg, "timed") && strcmp(arg, "random"))
            argp_error(state, "--driver %s: timed or random is needed", arg);
        a->driver = arg;
        break;
    case OPT_FAULTS:
        if (!*arg || strlen(arg) >= sizeof(a->faults))
            argp_error(state, "--faults %s: names of faults with commas between are needed", arg);
        snprintf(a->faults, sizeof(a->faults), "%s", arg);
        for (char *p = a->faults; *p; p++)
            if (*p == ',')
                *p = '+';
        c->faults = true;
        break;
    case OPT_REPLAY:
        take_replay(state, a, arg);
        break;
    case OPT_ARRIVALS:
        a->arrivals = arg;
        break;
    case OPT_TRACE:
        a->trace = arg;
        break;
    case OPT_REAL:
        c->real = true;
        break;
    case OPT_NO_PAIR:
        c->pair = false;
        break;
    case ARGP_KEY_ARG:
        argp_error(state, "unexpected \"%s\"; all is said by options", arg);
        break;
    case ARGP_KEY_END:
        if ((a->profile || a->driver || c->faults || a->replay || c->real) &&
            strcmp(c->fabric, "sim"))
            argp_error(state,
                       "--profile, --driver, --faults, --replay and --real go with --fabric sim");
        if (a->arrivals && (strcmp(c->fabric, "sim") || c->host == BENCH_HOST_SPREAD))
            argp_error(state, "--arrivals goes with --fabric sim and one --host");
        if (a->arrivals && (c->faults || c->real || a->plot || a->hgrm))
            argp_error(state, "--faults, --real, --plot and --hgrm do not go with --arrivals");
        if (a->trace && (strcmp(c->fabric, "sim") || a->arrivals))
            argp_error(state, "--trace goes with --fabric sim, and not with --arrivals");
        if (c->faults && (!a->driver || strcmp(a->driver, "random")))
            argp_error(state, "--faults goes with --driver random");
        if (a->profile && a->driver && strcmp(a->driver, "timed"))
            argp_error(state, "--profile goes with --driver timed: the random one has no times");
        if (a->settings && crew_is_simulated(c->fabric))
            argp_error(state, "--options is for fabrics that are not simulated");
        c->options = a->settings;
        if (!strcmp(c->fabric, "sim")) {
            snprintf(a->options, sizeof(a->options), "driver=%s,profile=%s%s%s",
                     a->driver ? a->driver : "timed", a->profile ? a->profile : "cx6",
                     c->faults ? ",faults=" : "", a->faults);
            c->options = a->options;
        }
        c->local_threads = (unsigned)(a->local >= 0 ? a->local : a->threads);
        c->remote_threads = (unsigned)(a->remote >= 0 ? a->remote : a->threads);
        if (c->host == BENCH_HOST_SPREAD && (a->local >= 0 || a->remote >= 0))
            argp_error(state,
                       "--local and --remote need one host; with --host spread use --threads");
        choose_nodes(state, a);
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static const struct argp_child children[] = {{.argp = &members_argp}, {0}};

static const struct argp argp = {options,
                                 parse,
                                 NULL,
                                 "Threads on the nodes of a cluster choose a lock, acquire it, "
                                 "hold it, release it, and start again. "
                                 "Prints latency percentiles of acquire for threads on the lock's "
                                 "host node (local) and elsewhere "
                                 "(remote), and checks all the time that nobody is in together, "
                                 "that no update is lost, and that "
                                 "nobody is passed by who came later."
                                 "\vExit status: 0; 1 when two threads were in together, an update "
                                 "was lost, or a kind that promises "
                                 "first come, first served let somebody pass; 2 for wrong use.\n",
                                 children,
                                 NULL,
                                 NULL};

static bool wanted(const char *list, const struct baton_lock_ops *kind, bool shm)
{
    if (!strcmp(list, "all"))
        return shm || !bench_is_baseline(kind);
    size_t n = strlen(kind->name);
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == n && !strncmp(p, kind->name, n))
            return true;
    return false;
}

static int check_kinds(const char *name, const char *list, bool shm)
{
    if (!strcmp(list, "all"))
        return CMD_OK;
    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
        char kind[64];
        snprintf(kind, sizeof(kind), "%.*s", (int)strcspn(p, ","), p);
        const struct baton_lock_ops *ops = baton_lock_kind(kind);
        if (ops && (shm || !bench_is_baseline(ops)))
            continue;
        fprintf(stderr,
                ops ? "%s: %s is a lock of one machine: only with --fabric shm\n"
                    : "%s: no lock \"%s\"; there is: all",
                name, kind);
        if (ops)
            return CMD_USAGE;
        for (const struct baton_lock_ops *const *k = baton_lock_kinds(); *k; k++)
            if (shm || !bench_is_baseline(*k))
                fprintf(stderr, " %s", (*k)->name);
        fprintf(stderr, "\n");
        return CMD_USAGE;
    }
    return CMD_OK;
}

static void progress(const struct bench_config *c, const char *lock, double done)
{
    fprintf(stderr, "\r%-16s %3.0f %%\033[K", lock, done < 1 ? 100 * done : 100);
    if (done >= 1)
        fprintf(stderr, "\r\033[K");
}

static int check_replay(const char *name, const struct args *a, const struct baton_lock_ops *kind,
                        uint64_t unseed)
{
    if (!a->replay || unseed == a->unseed)
        return CMD_OK;
    fprintf(
        stderr,
        "%s: %s: the run ended in unseed %016llx, not %016llx: other options, another version, or "
        "something that does not depend on the seed alone\n",
        name, kind->name, (unsigned long long)unseed, (unsigned long long)a->unseed);
    return CMD_NOT_AS_EXPECTED;
}

static int tell_simulation(const char *name, const struct args *a, const struct bench_result *r)
{
    if (!*r->drawn)
        return CMD_OK;
    fprintf(stderr,
            "%s: %s: %.3g million remote operations simulated in %.3g s of CPU, %.3g million a "
            "second\n",
            name, r->kind->name, (double)r->sim_ops / 1e6, r->cpu_s,
            r->cpu_s > 0 ? (double)r->sim_ops / r->cpu_s / 1e6 : 0);
    return check_replay(name, a, r->kind, r->unseed);
}

static void explain_failure(const char *name, const struct bench_result *r)
{
    if (r->exclusion_violations)
        fprintf(stderr, "%s: %s: somebody was inside together with another %llu times\n", name,
                r->kind->name, (unsigned long long)r->exclusion_violations);
    if (r->lost_updates)
        fprintf(stderr, "%s: %s: %llu updates were lost\n", name, r->kind->name,
                (unsigned long long)r->lost_updates);
    if (r->bypasses && baton_lock_caps(r->kind, r->params) & BATON_LOCK_FCFS)
        fprintf(stderr,
                "%s: %s promises first come, first served, and let %llu waiters be passed\n", name,
                r->kind->name, (unsigned long long)r->bypasses);
}

static int run_arrivals(const char *name, const struct args *a)
{
    struct bench_arrivals arrivals;
    int status = CMD_OK;
    bool first = true;
    if (bench_arrivals_read(a->arrivals, &a->config, &arrivals)) {
        fprintf(stderr, "%s: %s\n", name, baton_error_detail());
        return CMD_USAGE;
    }
    for (const struct baton_lock_ops *const *k = baton_lock_kinds(); *k; k++) {
        if (!wanted(a->kinds, *k, false))
            continue;
        int rc = bench_arrivals_run(&a->config, *k, &arrivals);
        if (rc) {
            fprintf(stderr, "%s: %s: %s%s%s\n", name, (*k)->name, baton_strerror(rc),
                    *baton_error_detail() ? "; " : "", baton_error_detail());
            status = CMD_NOT_AS_EXPECTED;
            continue;
        }
        bench_arrivals_report(stdout, a->format, &a->config, *k, &arrivals, first);
        first = false;
        if (check_replay(name, a, *k, arrivals.unseed))
            status = CMD_NOT_AS_EXPECTED;
    }
    bench_arrivals_free(&arrivals);
    return status;
}

/* Runs one kind, with a record for the timeline if there is one. */
static int run_kind(struct args *a, const struct baton_lock_ops *kind,
                    struct bench_timeline *timeline, struct bench_result *out)
{
    struct bench_log log = {0};
    a->config.log = timeline->file ? &log : NULL;
    int rc = bench_lock_run(&a->config, kind, out);
    if (timeline->file)
        bench_timeline_add(timeline, &a->config, kind, &log);
    bench_log_free(&log);
    return rc;
}

/* ---- A given cluster */

/* What all members have to be told alike. */
static char *terms_of(const struct args *a)
{
    const struct bench_config *c = &a->config;
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return NULL;
    fprintf(to, "baton " BATON_VERSION " bench lock\n--lock %s\n--local %u\n--remote %u\n",
            a->kinds, c->local_threads, c->remote_threads);
    fprintf(to, "--locks %u\n--zipf %.17g\n", c->locks, c->zipf);
    if (c->host == BENCH_HOST_SPREAD)
        fprintf(to, "--host spread\n");
    else
        fprintf(to, "--host %d\n", c->host);
    fprintf(to, "--local-cs %llu\n--remote-cs %llu\n", (unsigned long long)c->local_cs_ns,
            (unsigned long long)c->remote_cs_ns);
    fprintf(to, "--duration %.17g\n--warmup %.17g\n--seed %llu\n", c->duration_s, c->warmup_s,
            (unsigned long long)c->seed);
    for (unsigned i = 0; i < c->params_count; i++)
        fprintf(to, "--param %s\n", c->params[i]);
    return fclose(to) ? NULL : text;
}

static int fail(const char *name, const struct args *a)
{
    fprintf(stderr, "%s: %s\n", name, baton_error_detail());
    crew_fail(a->config.given, -EINVAL);
    return CMD_USAGE;
}

/* Comes in, and learns how many there are. */
static int join(const char *name, struct args *a)
{
    struct bench_config *c = &a->config;
    c->given = members_open(name, &a->members, c->fabric, a->nodes, bench_arena_bytes(c));
    if (!c->given)
        return CMD_NOT_AS_EXPECTED;
    c->nodes = crew_nodes(c->given);
    if (crew_self(c->given))
        c->progress = NULL;
    char *terms = terms_of(a);
    int rc = terms ? crew_agree(c->given, terms) : -ENOMEM;
    free(terms);
    if (!rc && wrong_nodes(c))
        rc = baton_fail(-EINVAL, "%s", wrong_nodes(c));
    return rc ? fail(name, a) : CMD_OK;
}

/* ---- All kinds */

/* What came of one kind; in a given cluster node 0 tells it. */
static int tell(const char *name, const struct args *a, const struct bench_result *r, bool first)
{
    int status = CMD_OK;
    bench_report(stdout, a->format, &a->config, r, first);
    if (tell_simulation(name, a, r))
        status = CMD_NOT_AS_EXPECTED;
    if (bench_failed(r)) {
        explain_failure(name, r);
        status = CMD_NOT_AS_EXPECTED;
    }
    if (a->hgrm && bench_write_hgrm(a->hgrm, r)) {
        fprintf(stderr, "%s: %s\n", name, baton_error_detail());
        status = CMD_NOT_AS_EXPECTED;
    }
    return status;
}

/* Returns how many results there are; those of a given cluster end with the first failure. */
static unsigned run_kinds(const char *name, struct args *a, struct bench_timeline *timeline,
                          struct bench_result *results, int *status)
{
    bool shm = !strcmp(a->config.fabric, "shm");
    unsigned n = 0;
    for (const struct baton_lock_ops *const *k = baton_lock_kinds(); *k && n < KINDS_MAX; k++) {
        if (!wanted(a->kinds, *k, shm))
            continue;
        int rc = run_kind(a, *k, timeline, &results[n]);
        if (rc && a->config.given)
            rc = crew_tell(a->config.given, rc);
        if (rc) {
            fprintf(stderr, "%s: %s: %s%s%s\n", name, (*k)->name, baton_strerror(rc),
                    *baton_error_detail() ? "; " : "", baton_error_detail());
            *status = CMD_NOT_AS_EXPECTED;
            if (!a->config.given)
                continue;
            crew_fail(a->config.given, rc);
            a->config.given = NULL;
            break;
        }
        if (a->config.given && crew_self(a->config.given))
            continue;
        if (tell(name, a, &results[n], n == 0))
            *status = CMD_NOT_AS_EXPECTED;
        n++;
    }
    return n;
}

static int finish(const char *name, const struct args *a, struct bench_timeline *timeline,
                  const struct bench_result *results, unsigned n)
{
    int status = CMD_OK;
    if (a->plot && n && bench_plot(a->plot, &a->config, results, n)) {
        fprintf(stderr, "%s: %s\n", name, baton_error_detail());
        status = CMD_NOT_AS_EXPECTED;
    }
    if (timeline->file && bench_timeline_close(timeline)) {
        fprintf(stderr, "%s: %s\n", name, baton_error_detail());
        status = CMD_NOT_AS_EXPECTED;
    }
    return status;
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct args a = {
        .config = {.fabric = "shm",
                   .locks = 1,
                   .local_cs_ns = 100,
                   .remote_cs_ns = 5000,
                   .duration_s = 2,
                   .warmup_s = 0.1,
                   .pair = true,
                   .seed = 1},
        .threads = 2,
        .local = -1,
        .remote = -1,
        .kinds = "merge",
    };
    if (bench_register_baselines())
        return CMD_NOT_AS_EXPECTED;
    argp_parse(&argp, argc, argv, 0, NULL, &a);
    bool shm = !strcmp(a.config.fabric, "shm");
    if (check_kinds(argv[0], a.kinds, shm) ||
        (!strcmp(a.config.fabric, "sim") && arg_sim(argv[0], a.options)) ||
        (a.hgrm && arg_folder(argv[0], a.hgrm)) || (a.plot && arg_folder(argv[0], a.plot)))
        return CMD_USAGE;
    if (a.arrivals)
        return run_arrivals(argv[0], &a);
    if (isatty(STDERR_FILENO))
        a.config.progress = progress;
    if (shm && !strcmp(a.kinds, "all") && bench_ck_missing())
        fprintf(stderr, "%s: ck-ticket and ck-mcs are left out: %s\n", argv[0], bench_ck_missing());
    int status = a.members.given ? join(argv[0], &a) : CMD_OK;
    if (status)
        return status;
    struct bench_result *results = calloc(KINDS_MAX, sizeof(*results));
    if (!results || bench_baseline_prepare(a.config.locks, bench_threads(&a.config))) {
        fprintf(stderr, "%s: no memory\n", argv[0]);
        free(results);
        crew_fail(a.config.given, -ENOMEM);
        return CMD_NOT_AS_EXPECTED;
    }
    struct bench_timeline timeline = {0};
    if (a.trace && bench_timeline_open(&timeline, a.trace)) {
        fprintf(stderr, "%s: %s\n", argv[0], baton_error_detail());
        free(results);
        return CMD_USAGE;
    }
    unsigned n = run_kinds(argv[0], &a, &timeline, results, &status);
    if (finish(argv[0], &a, &timeline, results, n))
        status = CMD_NOT_AS_EXPECTED;
    if (a.config.given && crew_end(a.config.given, &status)) {
        fprintf(stderr, "%s: %s\n", argv[0], baton_error_detail());
        status = CMD_NOT_AS_EXPECTED;
    }
    bench_baseline_finish();
    free(results);
    return status;
}

const struct cmd bench_lock_cmd = {"lock", "locks under contention, with checks and tails", NULL,
                                   &argp, run};
