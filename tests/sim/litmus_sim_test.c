/* SPDX-License-Identifier: MIT */
/*
 * The simulated world and its exhaustive driver against the machine of the memory model: a litmus program as
 * threads on endpoints of the contract, explored completely, has exactly the outcomes that the machine gives
 * the program. The two share the rules of the NIC (model/nic.h) and nothing else: not the CPU's part, not the
 * work ids, fences and waits of the contract, not what is explored and what is left out.
 *
 *     litmus_sim_test files DIR           all tests of a folder
 *     litmus_sim_test all FROM N          N of all programs of two nodes, two threads, two operations each
 *     litmus_sim_test random SEED N       random programs: up to 3 nodes, 4 threads, 8 operations
 *     litmus_sim_test twins SEED N        with a thread that is there twice, and may be exchanged for the other
 *     litmus_sim_test second SEED N       small ones, explored by the driver and by those of second.h
 *     litmus_sim_test kind KIND files DIR the tests that have locks, by a kind of lock of the library
 *
 * Programs with locks or sequentially consistent memory are compared under impl, where the model writes them
 * out; all others under tso. With a kind of lock they are compared under spec: a program that uses the lock has
 * no outcome that the axioms of its locks forbid (it may have fewer). What can not be compared is named and counted, with the reason.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../model/corpus.h"
#include "bench/litmus_plan.h"
#include "litmus_sim.h"
#include "model/engine.h"
#include "model/generate.h"

struct totals {
    unsigned compared, skipped, failed;
    uint64_t outcomes, machine_states, states, runs;
    double seconds, slowest;
    char slowest_name[BATON_NAME_MAX + 1];
};

#define SECONDS_MAX 120
#define SECOND_MOST 300000

static void add(void *arg, const int64_t *row)
{
    if (baton_outcomes_add(arg, row) < 0) {
        printf("no memory\n");
        exit(1);
    }
}

static void print_missing(const struct baton_program *p, const struct baton_outcomes *from,
                          const struct baton_outcomes *in, const char *what)
{
    char name[2 * BATON_NAME_MAX];
    for (size_t i = 0; i < from->n; i++) {
        const int64_t *row = baton_outcomes_row(from, i);
        if (baton_outcomes_has(in, row))
            continue;
        printf("  %s:", what);
        for (unsigned c = 0; c < p->width; c++) {
            baton_program_column_name(p, c, name, sizeof(name));
            printf(" %s=%" PRId64, name, row[c]);
        }
        printf("\n");
    }
}

static bool includes(const struct baton_outcomes *all, const struct baton_outcomes *some)
{
    bool all_there = true;
    for (size_t i = 0; i < some->n; i++)
        all_there &= baton_outcomes_has(all, baton_outcomes_row(some, i));
    return all_there;
}

static bool skip(struct totals *total, const struct baton_program *p, const char *reason)
{
    printf("not compared: %s: %s\n", p->name, reason);
    total->skipped++;
    return true;
}

/* All outcomes once more, with two threads in each other's places. */
static void exchange(struct baton_outcomes *set, const struct baton_thread *a,
                     const struct baton_thread *b)
{
    int64_t *row = malloc((set->width + 1) * sizeof(*row));
    for (size_t i = 0, n = set->n; row && i < n; i++) {
        const int64_t *from = baton_outcomes_row(set, i);
        memcpy(row, from, set->width * sizeof(*row));
        memcpy(row + a->column, from + b->column, a->n_shown * sizeof(*row));
        memcpy(row + b->column, from + a->column, b->n_shown * sizeof(*row));
        add(set, row);
    }
    free(row);
}

/* Whether all is well. */
static bool compare(struct totals *total, const struct baton_program *p,
                    const struct litmus_sim_opts *opts)
{
    enum baton_model model = BATON_MODEL_TSO;
    const struct baton_engine_opts limits = {.max_states = 4000000};
    struct baton_engine_stats stats = {0};
    struct baton_outcomes machine, sim;
    struct litmus_sim_result result;
    struct litmus_plan plan;
    const char *reason = "too large";
    if (opts->kind)
        model = BATON_MODEL_SPEC;
    else if (baton_program_supports(p, model, &reason))
        model = BATON_MODEL_IMPL;
    int rc = litmus_plan_init(&plan, p,
                              opts->kind                 ? LITMUS_SPEC
                              : model == BATON_MODEL_TSO ? LITMUS_PRIMITIVE
                                                         : LITMUS_IMPL,
                              &reason);
    if (rc)
        return skip(total, p, rc == -EOPNOTSUPP ? reason : strerror(-rc));
    if (opts->kind && !litmus_plan_has(&plan, LITMUS_ACQUIRE)) {
        litmus_plan_fini(&plan);
        return true;
    }
    rc = opts->kind ? baton_axioms_run(p, model, &limits, &machine, &stats)
                    : baton_machine_run(p, model, &limits, &machine, &stats);
    if (rc) {
        litmus_plan_fini(&plan);
        return skip(total, p, "the model has more than 4,000,000 states");
    }
    baton_outcomes_init(&sim, p->width);
    rc = litmus_sim_run(&plan, opts, add, &sim, &result);
    bool right = true;
    if (opts->twin)
        exchange(&sim, &p->thread[0], &p->thread[opts->twin]);
    if (rc == -ETIME) {
        skip(total, p, result.text);
    } else if (rc) {
        right = false;
        printf("%s: %s: %s\n", p->name, strerror(-rc), result.text);
    } else {
        total->compared++;
        /* Where posts may change places, reads are freer than in the model too. */
        right = opts->kind   ? includes(&machine, &sim) && sim.n
                : opts->swap ? includes(&sim, &machine)
                             : baton_outcomes_equal(&machine, &sim);
        if (!right)
            printf("%s: outcomes of the machine %zu, of the simulated world %zu\n", p->name,
                   machine.n, sim.n);
        if (!opts->kind)
            print_missing(p, &machine, &sim, "only the machine");
        if (!opts->swap)
            print_missing(p, &sim, &machine, "only the simulated world");
    }
    total->failed += !right;
    total->outcomes += machine.n;
    total->machine_states += stats.explored;
    total->states += result.states;
    total->runs += result.runs;
    total->seconds += result.seconds;
    if (result.seconds > total->slowest) {
        total->slowest = result.seconds;
        memcpy(total->slowest_name, p->name, sizeof(p->name));
    }
    baton_outcomes_fini(&machine);
    baton_outcomes_fini(&sim);
    litmus_plan_fini(&plan);
    return right;
}

static void compare_text(struct totals *total, const char *text, const char *name,
                         const struct litmus_sim_opts *opts)
{
    struct baton_program p;
    corpus_parse(text, strlen(text), name, &p);
    if (!compare(total, &p, opts))
        printf("%s\n", text);
    baton_program_fini(&p);
}

static void files(struct totals *total, const char *folder, const struct litmus_sim_opts *opts)
{
    struct corpus corpus;
    corpus_read(&corpus, folder);
    for (size_t i = 0; i < corpus.n; i++)
        compare(total, &corpus.program[i], opts);
    corpus_free(&corpus);
}

static int all(struct totals *total, unsigned long from, unsigned long n,
               const struct litmus_sim_opts *opts)
{
    const struct baton_gen_size size = {
        .nodes = 2, .threads = 2, .ops = 2, .locations = 1, .kinds = BATON_GEN_KINDS_DEFAULT};
    char text[BATON_GEN_TEXT_MAX], name[64];
    struct baton_gen *gen;
    if (baton_gen_create(&size, &gen))
        return 1;
    for (unsigned long i = 0; i < from + n; i++) {
        snprintf(name, sizeof(name), "all-%lu", i);
        if (baton_gen_next(gen, name, i < from ? NULL : text) != 1)
            break;
        if (i >= from)
            compare_text(total, text, name, opts);
    }
    baton_gen_destroy(gen);
    return 0;
}

/* Small ones, by the driver and both second explorers. */
static void second(struct totals *total, unsigned long seed, unsigned long n)
{
    const struct baton_gen_size size = {.nodes = 2,
                                        .threads = 3,
                                        .ops = 3,
                                        .ops_total = 4,
                                        .locations = 1,
                                        .kinds = (1u << BATON_GEN_KINDS) - 1,
                                        .loopback = true};
    char text[BATON_GEN_TEXT_MAX], name[64];
    for (unsigned long i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "small-%lu-%lu", seed, i);
        baton_gen_random(&size, seed, i, name, text);
        for (int by = LITMUS_SIM_REAL; by <= LITMUS_SIM_SLEEP; by++) {
            const struct litmus_sim_opts opts = {
                .by = by, .most = SECOND_MOST, .seconds_max = SECONDS_MAX};
            compare_text(&total[by], text, name, &opts);
        }
    }
    printf("small random programs of seed %lu\n", seed);
}

/*
 * Puts one more thread behind the others that is the same as the first, into the head and all rows of a
 * program, which are the lines between the "}" and the condition. Returns its number.
 */
static unsigned add_twin(const char *text, char *out)
{
    unsigned threads = 1;
    bool in_rows = false, head = false;
    for (const char *line = text, *next; *line; line = next) {
        next = strchr(line, '\n') + 1;
        const char *end = in_rows ? memchr(line, ';', (size_t)(next - line)) : NULL;
        if (!end) {
            in_rows = *line == '}';
            head = in_rows;
            out += sprintf(out, "%.*s", (int)(next - line), line);
            continue;
        }
        const char *bar = memchr(line, '|', (size_t)(end - line));
        for (const char *c = line; head && c < end; c++)
            threads += *c == '|';
        out += sprintf(out, "%.*s|", (int)(end - line), line);
        if (head)
            out +=
                sprintf(out, "P%u%.*s;\n", threads, (int)((bar ? bar : end) - line - 3), line + 3);
        else
            out += sprintf(out, "%.*s;\n", (int)((bar ? bar : end) - line), line);
        head = false;
    }
    return threads;
}

static void twins(struct totals *total, unsigned long seed, unsigned long n,
                  const struct litmus_sim_opts *opts)
{
    const struct baton_gen_size size = {.nodes = 2,
                                        .threads = 2,
                                        .ops = 3,
                                        .ops_total = 5,
                                        .locations = 1,
                                        .kinds = (1u << BATON_GEN_KINDS) - 1,
                                        .loopback = true};
    char text[BATON_GEN_TEXT_MAX], twice[2 * BATON_GEN_TEXT_MAX], name[64];
    struct litmus_sim_opts with_twin = *opts;
    for (unsigned long i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "twins-%lu-%lu", seed, i);
        baton_gen_random(&size, seed, i, name, text);
        with_twin.twin = add_twin(text, twice);
        compare_text(total, twice, name, &with_twin);
    }
    printf("programs with twins of seed %lu\n", seed);
}

static void random_programs(struct totals *total, unsigned long seed, unsigned long n,
                            const struct litmus_sim_opts *opts)
{
    const struct baton_gen_size size = {.nodes = 3,
                                        .threads = 4,
                                        .ops = 5,
                                        .ops_total = 8,
                                        .locations = 2,
                                        .kinds = (1u << BATON_GEN_KINDS) - 1,
                                        .loopback = true};
    char text[BATON_GEN_TEXT_MAX], name[64];
    for (unsigned long i = 0; i < n; i++) {
        snprintf(name, sizeof(name), "random-%lu-%lu", seed, i);
        baton_gen_random(&size, seed, i, name, text);
        compare_text(total, text, name, opts);
    }
    printf("random programs of seed %lu\n", seed);
}

static void print_total(const struct totals *t, const char *who)
{
    printf("%s: %u programs compared, %u not, %u differ; %" PRIu64
           " outcomes; states of the machine %" PRIu64 ", here %" PRIu64 ", runs %" PRIu64
           ", %.2f s, slowest %s %.2f s\n",
           who, t->compared, t->skipped, t->failed, t->outcomes, t->machine_states, t->states,
           t->runs, t->seconds, t->slowest_name, t->slowest);
}

/* Words in front of the others say how the simulated world is to be explored. */
static bool how(struct litmus_sim_opts *opts, const char *word)
{
    bool naive = !strcmp(word, "naive"), digests = !strcmp(word, "digests");
    bool self_check = !strcmp(word, "self-check"), swap = !strcmp(word, "swap");
    opts->naive |= naive;
    opts->digests |= digests;
    opts->self_check |= self_check;
    bool future = !strcmp(word, "future");
    opts->swap |= swap;
    opts->future |= future;
    return future || naive || digests || self_check || swap;
}

int main(int argc, char **argv)
{
    struct litmus_sim_opts opts = {.seconds_max = SECONDS_MAX};
    while (argc > 1 && how(&opts, argv[1])) {
        argv++;
        argc--;
    }
    if (argc > 2 && !strcmp(argv[1], "kind")) {
        opts.kind = argv[2];
        argv += 2;
        argc -= 2;
    }
    static const char *const names[] = {"the driver", "naively", "a tree of runs"};
    struct totals total[3] = {0};
    const char *what = argc > 1 ? argv[1] : "";
    unsigned long a = argc > 2 ? strtoul(argv[2], NULL, 10) : 0;
    unsigned long b = argc > 3 ? strtoul(argv[3], NULL, 10) : 0;
    if (!strcmp(what, "files") && argc == 3) {
        files(total, argv[2], &opts);
    } else if (!strcmp(what, "all") && argc == 4) {
        if (all(total, a, b, &opts))
            return 1;
    } else if (!strcmp(what, "random") && argc == 4) {
        random_programs(total, a, b, &opts);
    } else if (!strcmp(what, "twins") && argc == 4) {
        twins(total, a, b, &opts);
    } else if (!strcmp(what, "second") && argc == 4) {
        second(total, a, b);
    } else {
        printf("usage: litmus_sim_test [naive] [digests] [self-check] [swap] [future] [kind KIND] "
               "files DIR | "
               "all FROM "
               "N | random "
               "SEED N | second SEED N | twins SEED N\n");
        return 2;
    }
    unsigned failed = 0, explorers = !strcmp(what, "second") ? 3 : 1;
    for (unsigned by = 0; by < explorers; by++) {
        print_total(&total[by], names[by]);
        failed += total[by].failed || !total[by].compared;
    }
    return failed != 0;
}
