/* SPDX-License-Identifier: MIT */
/*
 * `baton litmus cross`: runs both engines on generated programs, or on files, and compares the sets of
 * all outcomes. Two independent readings of the model that agree on everything tried are the evidence
 * that either is right; a disagreement is printed as the smallest file that still shows it.
 */
#include "litmus.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "args.h"
#include "base/clock.h"
#include "litmus_file.h"
#include "litmus_size.h"
#include "model/engine.h"
#include "model/parse.h"
#include "model/shrink.h"

enum { JOBS_MAX = 256 };

struct options {
    struct litmus_size size;
    struct litmus_paths files;
    unsigned jobs;
    bool keep_going;
    unsigned variants;        /* of the machine */
    unsigned axioms_variants; /* the same, unless --against makes them differ */
    bool naive;
    uint64_t max_states;
    double timeout; /* seconds for each engine and program; 0: no limit */
};

struct totals {
    uint64_t programs, disagreements, undecided, not_taken, errors;
    uint64_t outcomes, states, candidates;
    double machine, axioms; /* processor seconds */
    double slowest;
    char slowest_name[BATON_NAME_MAX + 1];
};

struct cross {
    const struct options *options;
    pthread_mutex_t lock; /* for everything below, and for standard output */
    struct baton_gen *gen;
    uint64_t next;
    bool stop;
    struct totals total;
};

static bool late(void *deadline)
{
    return baton_clock_s(CLOCK_MONOTONIC) > *(double *)deadline;
}

/* One program through both engines. */
struct both {
    int machine_rc, axioms_rc;
    struct baton_outcomes machine, axioms; /* initialised where the rc is 0 */
    struct baton_engine_stats machine_stats, axioms_stats;
    double machine_seconds, axioms_seconds;
};

typedef int (*engine_fn)(const struct baton_program *, enum baton_model,
                         const struct baton_engine_opts *, struct baton_outcomes *,
                         struct baton_engine_stats *);

static int run_engine(const struct options *o, engine_fn engine, unsigned variants,
                      const struct baton_program *p, struct baton_outcomes *set,
                      struct baton_engine_stats *stats, double *spent)
{
    double begin = baton_clock_s(CLOCK_THREAD_CPUTIME_ID);
    double deadline = baton_clock_s(CLOCK_MONOTONIC) + o->timeout;
    struct baton_engine_opts opts = {
        .variants = variants, .max_states = o->max_states, .naive = o->naive};
    if (o->timeout > 0) {
        opts.stop = late;
        opts.stop_arg = &deadline;
    }
    int rc = engine(p, o->size.model, &opts, set, stats);
    *spent = baton_clock_s(CLOCK_THREAD_CPUTIME_ID) - begin;
    return rc;
}

static void run_both(const struct options *o, const struct baton_program *p, struct both *b)
{
    *b = (struct both){0};
    b->machine_rc = run_engine(o, baton_machine_run, o->variants, p, &b->machine, &b->machine_stats,
                               &b->machine_seconds);
    b->axioms_rc = run_engine(o, baton_axioms_run, o->axioms_variants, p, &b->axioms,
                              &b->axioms_stats, &b->axioms_seconds);
}

static void fini_both(struct both *b)
{
    if (!b->machine_rc)
        baton_outcomes_fini(&b->machine);
    if (!b->axioms_rc)
        baton_outcomes_fini(&b->axioms);
}

static bool disagree(const struct both *b)
{
    return !b->machine_rc && !b->axioms_rc && !baton_outcomes_equal(&b->machine, &b->axioms);
}

static bool shows_disagreement(const struct baton_program *p, void *options)
{
    struct both b;
    run_both(options, p, &b);
    bool yes = disagree(&b);
    fini_both(&b);
    return yes;
}

/* Prints the smallest program that still shows the disagreement. Called with the lock held. */
static int report(const struct options *o, const struct baton_program *program)
{
    struct baton_program p;
    int rc = baton_program_shrink(program, shows_disagreement, (void *)o, &p);
    if (rc)
        return rc;
    struct both b;
    run_both(o, &p, &b);
    rc = baton_program_tell_apart(&p, &b.machine, &b.axioms);
    if (rc > 0) {
        const char *has[] = {"machine", "axioms"}, *lacks[] = {"axioms", "machine"};
        printf("%s, under %s: the %s can end like this, the %s cannot; %zu and %zu outcomes\n",
               program->name, baton_model_name(o->size.model), has[rc - 1], lacks[rc - 1],
               b.machine.n, b.axioms.n);
        baton_program_print(&p, stdout);
        printf("\n");
        fflush(stdout);
        rc = 0;
    }
    fini_both(&b);
    baton_program_fini(&p);
    return rc;
}

/*
 * The next program of the run: 1 and an initialised `p`, 0 at the end, or an error that has been
 * reported. Random programs are made outside the lock: they cost more than taking a number.
 */
static int next_program(struct cross *c, struct baton_program *p)
{
    const struct options *o = c->options;
    const struct litmus_size *s = &o->size;
    char text[BATON_GEN_TEXT_MAX], name[LITMUS_NAME_MAX];
    struct baton_parse_error error;
    uint64_t index = 0;
    bool got = false;
    pthread_mutex_lock(&c->lock);
    if (!c->stop) {
        index = c->next++;
        if (o->files.n) {
            got = index < o->files.n;
        } else if (s->random) {
            got = index < s->count;
        } else {
            while (index < s->from && baton_gen_next(c->gen, "", NULL))
                index = c->next++;
            litmus_size_name(s, index, name);
            got = index - s->from < s->limit && baton_gen_next(c->gen, name, text);
        }
    }
    pthread_mutex_unlock(&c->lock);
    if (!got)
        return 0;
    if (o->files.n) {
        int rc = litmus_read(o->files.path[index], p);
        return rc ? rc : 1;
    }
    if (s->random) {
        litmus_size_name(s, s->from + index, name);
        baton_gen_random(&s->size, s->seed, s->from + index, name, text);
    }
    int rc = baton_program_parse(text, strlen(text), p, &error);
    if (rc == -EINVAL)
        baton_parse_error_print(&error, name, stderr);
    return rc ? rc : 1;
}

static void compare(struct cross *c, const struct baton_program *p, struct totals *t)
{
    const struct options *o = c->options;
    const char *reason;
    t->programs++;
    if (baton_program_supports(p, o->size.model, &reason)) {
        t->not_taken++;
        return;
    }
    struct both b;
    run_both(o, p, &b);
    t->machine += b.machine_seconds;
    t->axioms += b.axioms_seconds;
    t->states += b.machine_stats.explored;
    t->candidates += b.axioms_stats.explored;
    if (b.machine_seconds + b.axioms_seconds > t->slowest) {
        t->slowest = b.machine_seconds + b.axioms_seconds;
        memcpy(t->slowest_name, p->name, sizeof(t->slowest_name));
    }
    int rc = b.machine_rc ? b.machine_rc : b.axioms_rc;
    if (rc == -E2BIG || rc == -ETIME) {
        t->undecided++;
        pthread_mutex_lock(&c->lock);
        fprintf(stderr, "%s: not decided, the %s reached the limit of %s\n", p->name,
                b.machine_rc ? "machine" : "axioms", rc == -ETIME ? "time" : "states");
        pthread_mutex_unlock(&c->lock);
    } else if (rc) {
        t->errors++;
        pthread_mutex_lock(&c->lock);
        fprintf(stderr, "%s: the %s failed: %s\n", p->name, b.machine_rc ? "machine" : "axioms",
                strerror(-rc));
        pthread_mutex_unlock(&c->lock);
    } else {
        t->outcomes += b.machine.n;
        if (disagree(&b)) {
            t->disagreements++;
            pthread_mutex_lock(&c->lock);
            if (!c->stop)
                rc = report(o, p);
            c->stop = !o->keep_going;
            pthread_mutex_unlock(&c->lock);
            t->errors += rc != 0;
        }
    }
    fini_both(&b);
}

static void *work(void *arg)
{
    struct cross *c = arg;
    struct totals t = {0};
    struct baton_program p;
    int rc;
    while ((rc = next_program(c, &p)) != 0) {
        if (rc < 0) {
            t.errors++;
            continue;
        }
        compare(c, &p, &t);
        baton_program_fini(&p);
    }
    pthread_mutex_lock(&c->lock);
    struct totals *all = &c->total;
    all->programs += t.programs;
    all->disagreements += t.disagreements;
    all->undecided += t.undecided;
    all->not_taken += t.not_taken;
    all->errors += t.errors;
    all->outcomes += t.outcomes;
    all->states += t.states;
    all->candidates += t.candidates;
    all->machine += t.machine;
    all->axioms += t.axioms;
    if (t.slowest > all->slowest) {
        all->slowest = t.slowest;
        memcpy(all->slowest_name, t.slowest_name, sizeof(all->slowest_name));
    }
    pthread_mutex_unlock(&c->lock);
    return NULL;
}

/* Waits for a worker; on a terminal it says how far the run is. */
static void join(struct cross *c, pthread_t worker)
{
    if (!isatty(STDERR_FILENO)) {
        pthread_join(worker, NULL);
        return;
    }
    for (;;) {
        struct timespec t;
        clock_gettime(CLOCK_REALTIME, &t);
        t.tv_sec++;
        if (pthread_timedjoin_np(worker, NULL, &t) != ETIMEDOUT)
            break;
        pthread_mutex_lock(&c->lock);
        fprintf(stderr, "\r%" PRIu64 " programs", c->next);
        pthread_mutex_unlock(&c->lock);
    }
    fprintf(stderr, "\r\033[K");
}

static int run_workers(struct cross *c)
{
    pthread_t worker[JOBS_MAX];
    unsigned started = 0;
    int rc = 0;
    while (started < c->options->jobs && !rc) {
        rc = pthread_create(&worker[started], NULL, work, c);
        started += !rc;
    }
    for (unsigned i = 0; i < started; i++)
        join(c, worker[i]);
    return started ? 0 : -rc;
}

static void print_totals(const struct options *o, const struct totals *t, double wall)
{
    char what[256];
    if (o->files.n)
        snprintf(what, sizeof(what), "%zu files", o->files.n);
    else
        litmus_size_describe(&o->size, what, sizeof(what));
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("Cross %s: %s\n", baton_model_name(o->size.model), what);
    printf("Programs %" PRIu64 ", disagreements %" PRIu64 ", not decided %" PRIu64, t->programs,
           t->disagreements, t->undecided);
    if (t->not_taken)
        printf(", not programs of this model %" PRIu64, t->not_taken);
    if (t->errors)
        printf(", errors %" PRIu64, t->errors);
    printf("\nOutcomes %" PRIu64 "; machine: %" PRIu64 " states, %.2f s; axioms: %" PRIu64
           " candidates, %.2f s\n",
           t->outcomes, t->states, t->machine, t->candidates, t->axioms);
    if (t->slowest_name[0])
        printf("Slowest %s, %.3f s\n", t->slowest_name, t->slowest);
    printf("Time %.2f s, jobs %u, memory at most %.1f MiB\n", wall, o->jobs,
           (double)usage.ru_maxrss / 1024);
}

/* The keys of the shared options begin at 256: these stay clear of them. */
enum {
    OPT_JOBS = 'j',
    OPT_KEEP_GOING = 'k',
    OPT_VARIANT = 'v',
    OPT_MAX_STATES = 512,
    OPT_TIMEOUT,
    OPT_AGAINST,
    OPT_NAIVE,
};

static const struct argp_option argp_options[] = {
    {"jobs", OPT_JOBS, "N", 0, "Use N threads (1)", 0},
    {"keep-going", OPT_KEEP_GOING, NULL, 0, "Go on after a disagreement", 0},
    {"variant", OPT_VARIANT, "VARIANT", 0,
     "Settle an open entry of the model the other way: nrr-nrr, nar-nrr or nar-nlr", 0},
    {"against", OPT_AGAINST, "VARIANT", 0,
     "Settle it so in the axioms only, to see the smallest program that tells the two apart", 0},
    {"naive", OPT_NAIVE, NULL, 0,
     "Run both engines without any reduction or pruning: slow, to test those", 0},
    {"max-states", OPT_MAX_STATES, "N", 0, "Give up on a program after N states or candidates", 0},
    {"timeout", OPT_TIMEOUT, "SECONDS", 0, "Give up on a program after so long in one engine", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    int variant;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &o->size;
        return 0;
    case OPT_JOBS:
        o->jobs = (unsigned)arg_whole(state, "jobs", arg, 1, JOBS_MAX);
        return 0;
    case OPT_KEEP_GOING:
        o->keep_going = true;
        return 0;
    case OPT_VARIANT:
    case OPT_AGAINST:
        variant = baton_variant_parse(arg);
        if (variant < 0)
            argp_error(state, "no variant \"%s\"; there is: nrr-nrr nar-nrr nar-nlr", arg);
        o->axioms_variants |= (unsigned)variant;
        if (key == OPT_VARIANT)
            o->variants |= (unsigned)variant;
        return 0;
    case OPT_NAIVE:
        o->naive = true;
        return 0;
    case OPT_MAX_STATES:
        o->max_states = arg_whole(state, "max-states", arg, 1, UINT64_MAX);
        return 0;
    case OPT_TIMEOUT:
        o->timeout = arg_seconds(state, "timeout", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (litmus_paths_add(&o->files, arg))
            exit(CMD_USAGE);
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {{&litmus_size_argp, 0, "Which programs:", 1}, {0}};

static const struct argp argp = {
    .options = argp_options,
    .parser = parse,
    .args_doc = "[FILE..|DIR..]",
    .children = children,
    .doc = "Runs the machine and the axioms on generated programs, or on FILEs and the tests in "
           "DIRs, and compares the "
           "sets of all outcomes. Exit status: 0 no disagreement, 1 a disagreement, 2 wrong use or "
           "bad input, 3 no disagreement but some program was not decided within the limits.",
};

static int run(const struct cmd *self, int argc, char **argv)
{
    struct options o = {.jobs = 1};
    struct cross c = {.options = &o, .lock = PTHREAD_MUTEX_INITIALIZER};
    litmus_size_init(&o.size);
    argp_parse(self->argp, argc, argv, 0, NULL, &o);
    litmus_size_finish(&o.size);
    double begin = baton_clock_s(CLOCK_MONOTONIC);
    int rc = 0;
    if (!o.files.n && !o.size.random)
        rc = baton_gen_create(&o.size.size, &c.gen);
    if (!rc)
        rc = run_workers(&c);
    baton_gen_destroy(c.gen);
    if (!rc)
        print_totals(&o, &c.total, baton_clock_s(CLOCK_MONOTONIC) - begin);
    else
        fprintf(stderr, "%s: %s\n", argv[0], strerror(-rc));
    litmus_paths_fini(&o.files);
    if (rc)
        return CMD_USAGE;
    if (c.total.errors)
        return CMD_USAGE;
    if (c.total.disagreements)
        return CMD_NOT_AS_EXPECTED;
    return c.total.undecided ? CMD_GAVE_UP : CMD_OK;
}

const struct cmd litmus_cross_cmd = {
    .name = "cross",
    .summary = "compare the two engines on generated programs or on files",
    .argp = &argp,
    .run = run,
};
