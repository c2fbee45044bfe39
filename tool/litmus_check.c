/* SPDX-License-Identifier: MIT */
/*
 * `baton litmus check`: runs tests through both engines, compares the engines with each other and
 * with what the tests state, and prints in the form of herd7, so that scripts written for herd work
 * here.
 *
 * The work is a list of checks, one for each test and model. Threads take them from the list; what
 * a check prints goes to memory first and comes out in the order of the list, so that -j changes
 * nothing but the time.
 */
#include "litmus.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "args.h"
#include "base/clock.h"
#include "litmus_file.h"
#include "litmus_print.h"
#include "litmus_size.h"
#include "model/dot.h"
#include "model/engine.h"
#include "model/explain.h"
#include "model/why.h"

enum engine { MACHINE, AXIOMS, ENGINES };

enum { EXPLAIN_STATES_MAX = 1000000 }; /* candidates, for reasons under impl: about a second */

static const char *const engine_names[] = {"machine", "axioms"};

struct options {
    bool models[BATON_MODELS], any_model;
    unsigned variants, jobs;
    uint64_t max_states;
    double timeout_s;
    bool json, show_all, explain;
    const char *dot, *svg; /* folders */
};

/* What one engine said. */
struct answer {
    bool ran;
    int rc; /* of the engine; below, only meaningful when it is 0 */
    struct baton_outcomes outcomes;
    struct baton_engine_stats stats;
    size_t positive, negative;
    double seconds;
};

struct check {
    const struct options *options;
    const struct baton_program *program;
    enum baton_model model;
    int expected; /* enum baton_verdict, or -1 when the test says nothing */
    struct answer answer[ENGINES];
    int status; /* CMD_* */
    char *text;
    size_t text_size;
    bool finished;
};

struct state {
    struct options options;
    struct litmus_paths paths;
    int status;
    struct baton_program *program; /* one per path */
    struct check *check;
    size_t n_checks, n_tests,
        n_not_taken; /* the last: programs in folders that are none of the model */

    size_t next; /* check to take; with everything that tells of progress, under the mutex */
    pthread_mutex_t mutex;
    pthread_cond_t done;
};

enum { OPT_MAX_STATES = 256, OPT_TIMEOUT, OPT_JSON, OPT_SHOW, OPT_EXPLAIN, OPT_DOT, OPT_SVG };

static const struct argp_option options[] = {
    {"model", 'm', "MODEL", 0,
     "Check under tso, wait, spec or impl, whatever the tests say (may be repeated)", 0},
    {"variant", 'v', "VARIANT", 0,
     "Settle an open entry of the model the other way: nrr-nrr, nar-nrr or nar-nlr", 0},
    {"jobs", 'j', "N", 0, "Use N threads", 0},
    {"show", OPT_SHOW, "WHAT", 0,
     "cond: of every state what the condition speaks of (default); all: every register and "
     "location",
     0},
    {"explain", OPT_EXPLAIN, NULL, 0,
     "For a possible outcome, a shortest run step by step; for an impossible one, why", 0},
    {"json", OPT_JSON, NULL, 0, "One JSON object a line for each test, model and engine", 0},
    {"dot", OPT_DOT, "DIR", 0, "Draw an execution of each check into DIR, for graphviz", 0},
    {"svg", OPT_SVG, "DIR", 0, "The same as SVG; needs the program dot", 0},
    {"max-states", OPT_MAX_STATES, "N", 0, "Give up on a check after N states or candidates", 0},
    {"timeout", OPT_TIMEOUT, "SECONDS", 0, "Give up on a check after so long in one engine", 0},
    {0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
    struct state *s = state->input;
    struct options *o = &s->options;
    int value;
    switch (key) {
    case ARGP_KEY_INIT:
        state->child_inputs[0] = &s->paths;
        return 0;
    case 'm':
        value = baton_model_parse(arg);
        if (value < 0)
            argp_error(state, "there is no model \"%s\"; there is tso, wait, spec and impl", arg);
        o->models[value] = o->any_model = true;
        return 0;
    case 'v':
        value = baton_variant_parse(arg);
        if (value < 0)
            argp_error(state, "there is no variant \"%s\"; there is nrr-nrr, nar-nrr and nar-nlr",
                       arg);
        o->variants |= (unsigned)value;
        return 0;
    case 'j':
        o->jobs = (unsigned)arg_whole(state, "jobs", arg, 1, 1024);
        return 0;
    case OPT_MAX_STATES:
        o->max_states = arg_whole(state, "max-states", arg, 1, UINT64_MAX);
        return 0;
    case OPT_TIMEOUT:
        o->timeout_s = arg_seconds(state, "timeout", arg);
        return 0;
    case OPT_JSON:
        o->json = true;
        return 0;
    case OPT_SHOW:
        if (strcmp(arg, "cond") && strcmp(arg, "all"))
            argp_error(state, "--show takes cond or all, found \"%s\"", arg);
        o->show_all = !strcmp(arg, "all");
        return 0;
    case OPT_EXPLAIN:
        o->explain = true;
        return 0;
    case OPT_DOT:
        o->dot = arg;
        return 0;
    case OPT_SVG:
        o->svg = arg;
        return 0;
    case ARGP_KEY_END:
        if (o->json && o->explain)
            argp_error(state, "--explain writes text and does not go with --json");
        return 0;
    }
    return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {{.argp = &litmus_paths_argp}, {0}};

static const struct argp argp = {
    .options = options,
    .parser = parse,
    .children = children,
    .args_doc = "FILE|DIR...",
    .doc = "Decides for each test which outcomes are possible, under every model that the test "
           "states a "
           "result for, with both engines, and compares. A test that states no result is checked "
           "under the "
           "models that take it; then ~exists and forall are statements, and exists is a question."
           "\vExit status: 0 all as stated, 1 not, 2 bad input, 3 gave up at a limit.",
};

static bool past_deadline(void *arg)
{
    return baton_clock_s(CLOCK_MONOTONIC) > *(const double *)arg;
}

/* The deadline is one per call of an engine; `deadline` must live as long as the options. */
static struct baton_engine_opts engine_opts(const struct options *o, double *deadline)
{
    struct baton_engine_opts opts = {.variants = o->variants, .max_states = o->max_states};
    if (o->timeout_s > 0) {
        *deadline = baton_clock_s(CLOCK_MONOTONIC) + o->timeout_s;
        opts.stop = past_deadline;
        opts.stop_arg = deadline;
    }
    return opts;
}

static void ask(struct check *c, enum engine engine)
{
    struct answer *a = &c->answer[engine];
    double deadline, start = baton_clock_s(CLOCK_MONOTONIC);
    struct baton_engine_opts opts = engine_opts(c->options, &deadline);
    a->ran = true;
    a->rc = (engine == MACHINE ? baton_machine_run : baton_axioms_run)(c->program, c->model, &opts,
                                                                       &a->outcomes, &a->stats);
    a->seconds = baton_clock_s(CLOCK_MONOTONIC) - start;
    if (a->rc)
        return;
    baton_outcomes_sort(&a->outcomes);
    baton_outcomes_count(&a->outcomes, c->program, &a->positive, &a->negative);
}

/* Is what this engine found what the test states? */
static bool as_stated(const struct check *c, const struct answer *a)
{
    if (c->expected >= 0)
        return (int)baton_outcomes_verdict(a->positive, a->negative) == c->expected;
    return c->program->quantifier == BATON_EXISTS ||
           baton_quantifier_holds(c->program->quantifier, a->positive, a->negative);
}

static void print_only_in(const struct check *c, enum engine in, enum engine out, FILE *to)
{
    const struct baton_outcomes *set = &c->answer[in].outcomes;
    for (size_t i = 0; i < set->n; i++) {
        const int64_t *row = baton_outcomes_row(set, i);
        if (baton_outcomes_has(&c->answer[out].outcomes, row))
            continue;
        fprintf(to, "Only the %s: ", engine_names[in]);
        litmus_print_values(c->program, row, true, to);
        putc('\n', to);
    }
}

static const char *gave_up(const struct options *o, int rc)
{
    switch (rc) {
    case -E2BIG:
        return o->max_states ? "gave up at the limit of states"
                             : "the program is larger than this engine takes";
    case -ETIME:
        return "gave up at the limit of time";
    default:
        return strerror(-rc);
    }
}

static bool agree(const struct check *c)
{
    const struct answer *m = &c->answer[MACHINE], *a = &c->answer[AXIOMS];
    return !m->ran || !a->ran || m->rc || a->rc || baton_outcomes_equal(&m->outcomes, &a->outcomes);
}

/* The engine whose answer is printed: the first that has one. */
static const struct answer *best_answer(const struct check *c)
{
    for (int e = 0; e < ENGINES; e++)
        if (c->answer[e].ran && !c->answer[e].rc)
            return &c->answer[e];
    return NULL;
}

static void print_model_line(const struct check *c, FILE *to)
{
    fprintf(to, "Model %s", baton_model_name(c->model));
    for (unsigned bit = 1; bit && bit <= c->options->variants; bit <<= 1)
        if (c->options->variants & bit)
            fprintf(to, " %s", baton_variant_name(bit));
    const char *between = " (";
    for (int e = 0; e < ENGINES; e++) {
        const struct answer *a = &c->answer[e];
        if (!a->ran)
            continue;
        fprintf(to, "%s%s: ", between, engine_names[e]);
        if (a->rc)
            fputs(gave_up(c->options, a->rc), to);
        else
            fprintf(to, "%" PRIu64 " %s", a->stats.explored,
                    e == MACHINE ? "states" : "candidates");
        between = ", ";
    }
    fputs(")\n", to);
}

static void print_block(const struct check *c, FILE *to)
{
    static const char *const kinds[] = {"Allowed", "Forbidden", "Required"};
    const struct baton_program *p = c->program;
    const struct answer *a = best_answer(c);
    struct baton_outcomes states = {0};
    char *cond = baton_cond_text(p);
    fprintf(to, "Test %s %s\n", p->name, kinds[p->quantifier]);
    if (!a || !cond || litmus_project(c->program, &a->outcomes, c->options->show_all, &states)) {
        fprintf(to, "Observation %s Unknown\n", p->name);
        print_model_line(c, to);
        putc('\n', to);
        free(cond);
        return;
    }
    fprintf(to, "States %zu\n", states.n);
    for (size_t i = 0; i < states.n; i++) {
        litmus_print_values(p, baton_outcomes_row(&states, i), c->options->show_all, to);
        putc('\n', to);
    }
    bool holds = baton_quantifier_holds(p->quantifier, a->positive, a->negative);
    /* As in herd7: a witness of ~exists is a state in which the proposition does not hold. */
    bool swap = p->quantifier == BATON_NOT_EXISTS;
    fprintf(to, "%s\nWitnesses\nPositive: %zu Negative: %zu\nCondition %s\n", holds ? "Ok" : "No",
            swap ? a->negative : a->positive, swap ? a->positive : a->negative, cond);
    fprintf(to, "Observation %s %s %zu %zu\n", p->name,
            baton_verdict_name(baton_outcomes_verdict(a->positive, a->negative)), a->positive,
            a->negative);
    fprintf(to, "Time %s %.2f\n", p->name, c->answer[MACHINE].seconds + c->answer[AXIOMS].seconds);
    litmus_print_hash(p, to);
    print_model_line(c, to);
    if (!a->outcomes.n)
        fputs("Warning: no run of this program comes to an end, so nothing was observed\n", to);
    if (c->expected >= 0 && !as_stated(c, a))
        fprintf(to, "Not as stated: Result %s: %s\n", baton_model_name(c->model),
                baton_verdict_name((enum baton_verdict)c->expected));
    if (!agree(c)) {
        fputs("The engines disagree\n", to);
        print_only_in(c, MACHINE, AXIOMS, to);
        print_only_in(c, AXIOMS, MACHINE, to);
    }
    putc('\n', to);
    baton_outcomes_fini(&states);
    free(cond);
}

/* Names hold no character that JSON would want escaped. */
static void print_json(const struct check *c, enum engine engine, FILE *to)
{
    const struct answer *a = &c->answer[engine];
    struct baton_outcomes states = {0};
    bool known = !a->rc && !litmus_project(c->program, &a->outcomes, c->options->show_all, &states);
    fprintf(to, "{\"test\":\"%s\",\"model\":\"%s\",\"engine\":\"%s\",\"observation\":\"%s\"",
            c->program->name, baton_model_name(c->model), engine_names[engine],
            known ? baton_verdict_name(baton_outcomes_verdict(a->positive, a->negative))
                  : "Unknown");
    if (known)
        fprintf(to, ",\"positive\":%zu,\"negative\":%zu", a->positive, a->negative);
    else
        fputs(",\"positive\":null,\"negative\":null", to);
    if (c->expected >= 0)
        fprintf(to, ",\"expected\":\"%s\"", baton_verdict_name((enum baton_verdict)c->expected));
    else
        fputs(",\"expected\":null", to);
    fprintf(to, ",\"ok\":%s,\"states\":[",
            !known                        ? "null"
            : as_stated(c, a) && agree(c) ? "true"
                                          : "false");
    for (size_t i = 0; i < states.n; i++) {
        if (i)
            putc(',', to);
        litmus_print_json_values(c->program, baton_outcomes_row(&states, i), c->options->show_all,
                                 to);
    }
    fprintf(to, "],\"explored\":%" PRIu64 ",\"seconds\":%.6f}\n", a->stats.explored, a->seconds);
    baton_outcomes_fini(&states);
}

/* What is worth explaining: what the condition asks for, or what breaks a forall. */
static bool explains_negation(const struct baton_program *program)
{
    return program->quantifier == BATON_FORALL;
}

/*
 * The machine has answered; the axioms, over the operations of the implementations, say why. These can be
 * so many that it takes too long.
 */
static int explain_impossible_impl(struct check *c, struct baton_engine_opts opts, bool negate,
                                   FILE *to)
{
    if (!opts.max_states)
        opts.max_states = EXPLAIN_STATES_MAX;
    int rc = baton_why(c->program, c->model, &opts, negate, to);
    if (rc == 1) {
        fputs("The engines disagree: by the axioms the implementations can end so\n", to);
        c->status = CMD_NOT_AS_EXPECTED;
        rc = 0;
    }
    if (rc < 0)
        fprintf(to, "Impossible: none of the %" PRIu64 " states of the machine leads there\n",
                best_answer(c)->stats.explored);
    return rc;
}

static void explain(struct check *c, FILE *to)
{
    const struct answer *a = best_answer(c);
    if (!a)
        return;
    bool negate = explains_negation(c->program);
    size_t hits = negate ? a->negative : a->positive;
    double deadline;
    struct baton_engine_opts opts = engine_opts(c->options, &deadline);
    int rc;
    if (!hits && c->model == BATON_MODEL_IMPL) {
        rc = explain_impossible_impl(c, opts, negate, to);
    } else if (!hits) {
        rc = baton_why(c->program, c->model, &opts, negate, to);
    } else if (c->model == BATON_MODEL_SPEC) {
        /* The machine runs implementations. Mostly they show what the axioms of the libraries
         * allow. */
        rc = baton_explain(c->program, BATON_MODEL_IMPL, &opts, negate, to);
        if (rc == -ENOENT) {
            fputs("Possible by the axioms of the libraries, which promise less than the "
                  "implementations give: no run of those ends so. --dot draws the execution.\n",
                  to);
            rc = 0;
        }
    } else {
        rc = baton_explain(c->program, c->model, &opts, negate, to);
    }
    if (rc < 0)
        fprintf(to, "No explanation: %s\n",
                rc == -E2BIG && !c->options->max_states ? "there is too much to look at"
                                                        : gave_up(c->options, rc));
    putc('\n', to);
}

enum { NOTHING_TO_DRAW = 2 };

/* Writes the picture to a file. 0 and 1 as baton_dot says, NOTHING_TO_DRAW, or a negative errno. */
static int draw(const struct check *c, const char *path)
{
    double deadline;
    struct baton_engine_opts opts = engine_opts(c->options, &deadline);
    char *text = NULL;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to)
        return -ENOMEM;
    int rc = baton_dot(c->program, c->model, &opts, explains_negation(c->program), to);
    if (fclose(to) && rc >= 0)
        rc = -ENOMEM;
    if (rc == -ENOENT)
        rc = NOTHING_TO_DRAW;
    FILE *f = rc == 0 || rc == 1 ? fopen(path, "w") : NULL;
    if ((rc == 0 || rc == 1) && !f)
        rc = -errno;
    if (f) {
        if (fwrite(text, 1, size, f) != size)
            rc = -EIO;
        if (fclose(f) && rc >= 0)
            rc = -EIO;
    }
    free(text);
    return rc;
}

extern char **environ;

static int run_dot(const char *from, const char *to)
{
    char *const argv[] = {"dot", "-Tsvg", "-o", (char *)to, (char *)from, NULL};
    pid_t pid;
    int status, rc = posix_spawnp(&pid, "dot", NULL, NULL, argv, environ);
    if (rc)
        return -rc;
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -errno;
    return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : -EIO;
}

static void draw_into(struct check *c, FILE *to)
{
    /* The picture is made from the text, which goes again unless it was asked for. */
    const char *folder = c->options->dot ? c->options->dot : c->options->svg;
    char dot[4096], svg[4096];
    int n = snprintf(dot, sizeof(dot), "%s/%s-%s.dot", folder, c->program->name,
                     baton_model_name(c->model));
    int n_svg = snprintf(svg, sizeof(svg), "%s/%s-%s.svg", c->options->svg ? c->options->svg : "",
                         c->program->name, baton_model_name(c->model));
    if (c->model == BATON_MODEL_IMPL) /* the machine has runs, not executions */
        return;
    bool fit = (size_t)n < sizeof(dot) && (size_t)n_svg < sizeof(svg);
    int rc = fit ? draw(c, dot) : -ENAMETOOLONG;
    if (rc == NOTHING_TO_DRAW && !c->options->json)
        fprintf(to, "No picture of %s: no values satisfy the condition\n\n", c->program->name);
    if (rc < 0) {
        fprintf(stderr, "%s: %s\n", dot, gave_up(c->options, rc));
    } else if (rc != NOTHING_TO_DRAW && c->options->svg) {
        rc = run_dot(dot, svg);
        if (rc)
            fprintf(stderr, "%s: the program dot (graphviz) failed: %s\n", svg, strerror(-rc));
        if (!c->options->dot)
            unlink(dot);
    }
    if (rc < 0)
        c->status = CMD_USAGE;
}

static int status_of(const struct check *c)
{
    int status = CMD_OK;
    for (int e = 0; e < ENGINES; e++) {
        const struct answer *a = &c->answer[e];
        if (!a->ran)
            continue;
        if (!a->rc && !as_stated(c, a))
            return CMD_NOT_AS_EXPECTED;
        if (a->rc)
            status = CMD_GAVE_UP;
    }
    return agree(c) ? status : CMD_NOT_AS_EXPECTED;
}

static void run_check(struct check *c)
{
    if (c->model != BATON_MODEL_SPEC)
        ask(c, MACHINE);
    if (c->model != BATON_MODEL_IMPL)
        ask(c, AXIOMS);
    c->status = status_of(c);
    FILE *to = open_memstream(&c->text, &c->text_size);
    if (to) {
        if (c->options->json) {
            for (enum engine e = 0; e < ENGINES; e++)
                if (c->answer[e].ran)
                    print_json(c, e, to);
        } else {
            print_block(c, to);
            if (c->options->explain)
                explain(c, to);
        }
        if (c->options->dot || c->options->svg)
            draw_into(c, to);
        fclose(to);
    }
    for (int e = 0; e < ENGINES; e++)
        if (c->answer[e].ran && !c->answer[e].rc)
            baton_outcomes_fini(&c->answer[e].outcomes);
}

static void *work(void *arg)
{
    struct state *s = arg;
    pthread_mutex_lock(&s->mutex);
    while (s->next < s->n_checks) {
        size_t i = s->next++;
        pthread_mutex_unlock(&s->mutex);
        run_check(&s->check[i]);
        pthread_mutex_lock(&s->mutex);
        s->check[i].finished = true;
        pthread_cond_signal(&s->done);
    }
    pthread_mutex_unlock(&s->mutex);
    return NULL;
}

/* A line on a terminal that is written over; nothing elsewhere. */
static void progress(const struct state *s, size_t at, bool wanted)
{
    if (!wanted)
        return;
    fprintf(stderr, "\r\033[K[%zu/%zu] %s %s", at, s->n_checks, s->check[at].program->name,
            baton_model_name(s->check[at].model));
}

static void print_in_order(struct state *s)
{
    /* Where the output itself scrolls by, it is progress enough. */
    bool wanted = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
    for (size_t i = 0; i < s->n_checks; i++) {
        struct check *c = &s->check[i];
        pthread_mutex_lock(&s->mutex);
        if (!c->finished)
            progress(s, i, wanted);
        while (!c->finished)
            pthread_cond_wait(&s->done, &s->mutex);
        pthread_mutex_unlock(&s->mutex);
        fwrite(c->text, 1, c->text_size, stdout);
        free(c->text);
        c->text = NULL;
    }
    if (wanted)
        fputs("\r\033[K", stderr);
}

/* -ENOMEM when not one thread could be had. */
static int run_all(struct state *s)
{
    unsigned n = s->options.jobs, started = 0;
    pthread_t thread[1024];
    pthread_mutex_init(&s->mutex, NULL);
    pthread_cond_init(&s->done, NULL);
    if (n > s->n_checks)
        n = (unsigned)s->n_checks;
    while (started < n && !pthread_create(&thread[started], NULL, work, s))
        started++;
    if (started)
        print_in_order(s);
    for (unsigned i = 0; i < started; i++)
        pthread_join(thread[i], NULL);
    pthread_cond_destroy(&s->done);
    pthread_mutex_destroy(&s->mutex);
    return started || !n ? 0 : -ENOMEM;
}

static void add_check(struct state *s, size_t test, enum baton_model model, int expected)
{
    const char *reason;
    if (baton_program_supports(&s->program[test], model, &reason)) {
        if (s->paths.found[test] && s->options.any_model) {
            s->n_not_taken++;
            return;
        }
        litmus_refuse(s->paths.path[test], model, reason);
        s->status = CMD_USAGE;
        return;
    }
    s->check[s->n_checks++] = (struct check){
        .options = &s->options, .program = &s->program[test], .model = model, .expected = expected};
}

static int expected_of(const struct baton_program *p, enum baton_model model)
{
    for (unsigned i = 0; i < p->n_results; i++)
        if (p->result[i].model == model)
            return (int)p->result[i].verdict;
    return -1;
}

static void add_checks(struct state *s, size_t test)
{
    const struct baton_program *p = &s->program[test];
    const char *reason;
    if (s->options.any_model) {
        for (int m = 0; m < BATON_MODELS; m++)
            if (s->options.models[m])
                add_check(s, test, m, expected_of(p, m));
    } else if (p->n_results) {
        for (unsigned i = 0; i < p->n_results; i++)
            add_check(s, test, p->result[i].model, (int)p->result[i].verdict);
    } else {
        /* tso and wait take primitive programs; only what they refuse needs the libraries' models.
         */
        bool primitive = !baton_program_supports(p, BATON_MODEL_TSO, &reason);
        for (int m = 0; m < BATON_MODELS; m++)
            if ((m == BATON_MODEL_TSO || m == BATON_MODEL_WAIT) == primitive &&
                !baton_program_supports(p, m, &reason))
                add_check(s, test, m, -1);
        if (!primitive && baton_program_supports(p, BATON_MODEL_IMPL, &reason))
            add_check(s, test, BATON_MODEL_IMPL, -1);
    }
}

static void read_all(struct state *s)
{
    s->program = calloc(s->paths.n + 1, sizeof(*s->program));
    s->check = calloc(s->paths.n * BATON_MODELS + 1, sizeof(*s->check));
    if (!s->program || !s->check) {
        fprintf(stderr, "%s\n", strerror(ENOMEM));
        exit(CMD_USAGE);
    }
    for (size_t i = 0; i < s->paths.n; i++) {
        if (litmus_read(s->paths.path[i], &s->program[i])) {
            s->status = CMD_USAGE;
            continue;
        }
        s->n_tests++;
        add_checks(s, i);
    }
}

/* "Unknown: fig5 under tso, axioms: gave up at the limit of time". */
static void print_undecided(const struct check *c, FILE *to)
{
    fprintf(to, "Unknown: %s under %s", c->program->name, baton_model_name(c->model));
    for (int e = 0; e < ENGINES; e++)
        if (c->answer[e].ran && c->answer[e].rc)
            fprintf(to, ", %s: %s", engine_names[e], gave_up(c->options, c->answer[e].rc));
    putc('\n', to);
}

static void summarize(const struct state *s, double seconds)
{
    size_t n[4] = {0};
    uint64_t explored[ENGINES] = {0};
    for (size_t i = 0; i < s->n_checks; i++) {
        n[s->check[i].status]++;
        for (int e = 0; e < ENGINES; e++)
            explored[e] += s->check[i].answer[e].stats.explored;
    }
    /* In JSON mode standard output holds objects only. */
    FILE *to = s->options.json ? stderr : stdout;
    for (size_t i = 0; i < s->n_checks; i++)
        if (s->check[i].status == CMD_GAVE_UP)
            print_undecided(&s->check[i], to);
    fprintf(to, "%zu tests, %zu checks: %zu as stated, %zu not, %zu unknown", s->n_tests,
            s->n_checks, n[CMD_OK] + n[CMD_USAGE], n[CMD_NOT_AS_EXPECTED], n[CMD_GAVE_UP]);
    if (s->n_not_taken)
        fprintf(to, ", %zu skipped that are no programs of the model", s->n_not_taken);
    if (s->paths.n_others)
        fprintf(to, ", %zu files skipped that are no tests", s->paths.n_others);
    fprintf(to, "; %" PRIu64 " states, %" PRIu64 " candidates, %.2f s\n", explored[MACHINE],
            explored[AXIOMS], seconds);
}

/* Bad input outweighs a wrong result, and that outweighs an unknown one. */
static int worse(int a, int b)
{
    static const int weight[] = {
        [CMD_OK] = 0, [CMD_GAVE_UP] = 1, [CMD_NOT_AS_EXPECTED] = 2, [CMD_USAGE] = 3};
    return weight[a] >= weight[b] ? a : b;
}

static int run(const struct cmd *self, int argc, char **argv)
{
    struct state s = {.options = {.jobs = 1}};
    double start = baton_clock_s(CLOCK_MONOTONIC);
    argp_parse(self->argp, argc, argv, 0, NULL, &s);
    if ((s.options.dot && arg_folder(argv[0], s.options.dot)) ||
        (s.options.svg && arg_folder(argv[0], s.options.svg))) {
        litmus_paths_fini(&s.paths);
        return CMD_USAGE;
    }
    s.status = s.paths.failed ? CMD_USAGE : CMD_OK;
    read_all(&s);
    if (run_all(&s)) {
        fputs("no thread could be started\n", stderr);
        s.status = CMD_USAGE;
    }
    summarize(&s, baton_clock_s(CLOCK_MONOTONIC) - start);
    int status = s.status;
    for (size_t i = 0; i < s.n_checks; i++)
        status = worse(status, s.check[i].status);
    if (fflush(stdout) || ferror(stdout)) {
        fprintf(stderr, "standard output: %s\n", strerror(errno));
        status = CMD_USAGE;
    }
    for (size_t i = 0; i < s.paths.n; i++)
        baton_program_fini(&s.program[i]);
    free(s.program);
    free(s.check);
    litmus_paths_fini(&s.paths);
    return status;
}

const struct cmd litmus_check_cmd = {
    .name = "check",
    .summary = "which outcomes of litmus tests are possible, and are they as stated",
    .argp = &argp,
    .run = run,
};
