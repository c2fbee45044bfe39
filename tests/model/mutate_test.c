/* SPDX-License-Identifier: MIT */
/*
 * Mutation test of the stamp table: every cell is replaced by every other value, 576 tables in all.
 * Shows that each replacement that changes the outcomes of some generated program is caught by a test
 * in tests/litmus, which then gives another verdict than it states. Those that nothing can tell apart
 * must be exactly the ones listed in mutate.expected.
 *
 *     mutate_test [PROGRAMS [SEED]]    random programs for each replacement that no test catches
 *     mutate_test --list               write what belongs into mutate.expected
 *
 * A replacement that changes a program and is not caught is a failure; a litmus test that catches it
 * is printed, made as small as possible. Seeded; the seed is printed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "model/axioms.h"
#include "model/generate.h"
#include "model/parts.h"
#include "model/shrink.h"

struct mutant {
    enum baton_stamp earlier, later;
    char value;
    struct baton_stamps stamps;
};

static const char values[] = "Ysin-";

static char original(const struct mutant *m)
{
    return baton_stamps_default.cell[m->earlier][m->later];
}

static bool goes_towards_node(enum baton_stamp stamp)
{
    return stamp >= BATON_STAMP_NLR;
}

/* Stamps that operations of the lock libraries and of SC memory have too. */
static bool may_be_of_library(enum baton_stamp stamp)
{
    return stamp == BATON_STAMP_MF || stamp == BATON_STAMP_CW || stamp == BATON_STAMP_GF ||
           stamp == BATON_STAMP_RF || stamp == BATON_STAMP_NRW;
}

/*
 * Some letters are other words for each other. On CPU stamps, which go towards no node, 's' and 'n'
 * promise nothing. Behind a part that is issued and takes effect at one instant the order of issue is
 * the order of effect, but libraries know no order of issue.
 */
static char meaning(const struct mutant *m, char value)
{
    if ((value == 's' || value == 'n') &&
        !(goes_towards_node(m->earlier) && goes_towards_node(m->later)))
        return '-';
    if (baton_stamp_is_instant(m->earlier) && !may_be_of_library(m->earlier) &&
        !may_be_of_library(m->later))
        return value == 'i' ? 'Y' : value == 'n' ? 's' : value;
    return value;
}

static bool means_the_same(const struct mutant *m)
{
    return meaning(m, m->value) == meaning(m, original(m));
}

static void run(const struct baton_program *p, enum baton_model model,
                const struct baton_stamps *stamps, struct baton_outcomes *set)
{
    int rc = baton_axioms_run_stamps(p, model, stamps, NULL, set, NULL);
    if (!rc)
        return;
    printf("%s: %s\n", p->name, strerror(-rc));
    exit(1);
}

static enum baton_verdict verdict_of(const struct baton_program *p, enum baton_model model,
                                     const struct baton_stamps *stamps)
{
    struct baton_outcomes set;
    size_t positive, negative;
    run(p, model, stamps, &set);
    baton_outcomes_count(&set, p, &positive, &negative);
    baton_outcomes_fini(&set);
    return baton_outcomes_verdict(positive, negative);
}

static bool catches(const struct baton_program *p, const struct mutant *m)
{
    for (unsigned r = 0; r < p->n_results; r++)
        if (p->result[r].model != BATON_MODEL_IMPL &&
            verdict_of(p, p->result[r].model, &m->stamps) != p->result[r].verdict)
            return true;
    return false;
}

static bool caught(const struct corpus *corpus, const struct mutant *m)
{
    for (size_t i = 0; i < corpus->n; i++)
        if (catches(&corpus->program[i], m))
            return true;
    return false;
}

/* The model that takes the program: poll exists only under tso. */
static enum baton_model model_of(const struct baton_program *p)
{
    const char *reason;
    return baton_program_supports(p, BATON_MODEL_WAIT, &reason) ? BATON_MODEL_TSO
                                                                : BATON_MODEL_WAIT;
}

static bool changes(const struct baton_program *p, void *arg)
{
    const struct mutant *m = arg;
    struct baton_outcomes before, after;
    run(p, model_of(p), &baton_stamps_default, &before);
    run(p, model_of(p), &m->stamps, &after);
    bool equal = baton_outcomes_equal(&before, &after);
    baton_outcomes_fini(&before);
    baton_outcomes_fini(&after);
    return !equal;
}

/* Operations that have the stamp, as a set of the generator's kinds. */
static uint32_t kinds_with(enum baton_stamp stamp)
{
    static const uint32_t kinds[BATON_STAMP_COUNT] = {
        [BATON_STAMP_CR] = 1u << BATON_GEN_LOAD,
        [BATON_STAMP_CW] = 1u << BATON_GEN_STORE,
        [BATON_STAMP_CAS] = 1u << BATON_GEN_CAS | 1u << BATON_GEN_FAA,
        [BATON_STAMP_MF] = 1u << BATON_GEN_MFENCE,
        [BATON_STAMP_WT] = 1u << BATON_GEN_WAIT | 1u << BATON_GEN_POLL,
        [BATON_STAMP_NLR] = 1u << BATON_GEN_PUT,
        [BATON_STAMP_NRW] = 1u << BATON_GEN_PUT | 1u << BATON_GEN_RFAA,
        [BATON_STAMP_NAR] = 1u << BATON_GEN_RFAA | 1u << BATON_GEN_RCAS,
        [BATON_STAMP_NRR] = 1u << BATON_GEN_GET,
        [BATON_STAMP_NLW] = 1u << BATON_GEN_GET | 1u << BATON_GEN_RFAA,
        [BATON_STAMP_RF] = 1u << BATON_GEN_RFENCE,
        [BATON_STAMP_GF] = 1u << BATON_GEN_GFENCE,
    };
    return kinds[stamp];
}

/*
 * Looks for a program that the replacement changes. Programs are made of operations that have the two
 * stamps and of those that observe; every third one of everything.
 */
static bool find_change(const struct mutant *m, uint64_t seed, unsigned n,
                        struct baton_program *found)
{
    const uint32_t observers =
        1u << BATON_GEN_STORE | 1u << BATON_GEN_LOAD | 1u << BATON_GEN_PUT | 1u << BATON_GEN_GET;
    const uint32_t everything = (1u << BATON_GEN_KINDS) - 1;
    uint32_t stamps = kinds_with(m->earlier) | kinds_with(m->later);
    for (unsigned i = 0; i < n; i++) {
        struct baton_gen_size size = {.nodes = 2 + (int)(i / 2 % 2),
                                      .threads = 3,
                                      .ops = 4,
                                      .ops_total = 4 + (int)(i % 5),
                                      .locations = 1 + (int)(i / 3 % 2),
                                      .kinds = i % 3 == 0 ? everything
                                               : i % 3 == 1
                                                   ? stamps | observers
                                                   : stamps | observers | 1u << BATON_GEN_WAIT |
                                                         1u << BATON_GEN_MFENCE,
                                      .loopback = true};
        char text[BATON_GEN_TEXT_MAX];
        baton_gen_random(&size, seed, i, "found", text);
        corpus_parse(text, strlen(text), "found", found);
        if (changes(found, (void *)m))
            return true;
        baton_program_fini(found);
    }
    return false;
}

/* Turns a program that the replacement changes into a test that catches it, and prints it. */
static void print_test(const struct baton_program *program, const struct mutant *m)
{
    struct baton_program p;
    struct baton_outcomes before, after;
    if (baton_program_shrink(program, changes, (void *)m, &p))
        exit(1);
    enum baton_model model = model_of(&p);
    run(&p, model, &baton_stamps_default, &before);
    run(&p, model, &m->stamps, &after);
    if (baton_program_tell_apart(&p, &before, &after) <= 0)
        exit(1);
    for (int k = BATON_MODEL_TSO; k <= (int)model; k++)
        p.result[p.n_results++] = (struct baton_result){
            (enum baton_model)k, verdict_of(&p, (enum baton_model)k, &baton_stamps_default)};
    baton_program_print(&p, stdout);
    printf("\n");
    baton_outcomes_fini(&before);
    baton_outcomes_fini(&after);
    baton_program_fini(&p);
}

static void print_mutant(const struct mutant *m, FILE *to)
{
    fprintf(to, "%-3s %-3s  %c -> %c", baton_stamp_name(m->earlier), baton_stamp_name(m->later),
            original(m), m->value);
}

/* The listed replacements, as --list writes them, after the lines that begin with '#'. */
static bool compare_list(const char *path, const char *list)
{
    char line[256];
    FILE *file = fopen(path, "r");
    if (!file) {
        perror(path);
        return false;
    }
    bool equal = true;
    while (equal && fgets(line, sizeof(line), file)) {
        size_t n = strlen(line);
        if (line[0] == '#')
            continue;
        equal = !strncmp(list, line, n);
        list += equal ? n : 0;
    }
    fclose(file);
    if (equal && !*list)
        return true;
    printf("%s is not the list of what no test catches; from here on it should be:\n%s", path,
           list);
    return false;
}

int main(int argc, char **argv)
{
    bool only_list = argc > 1 && !strcmp(argv[1], "--list");
    unsigned programs = argc > 1 && !only_list ? (unsigned)strtoul(argv[1], NULL, 0) : 300;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    struct corpus corpus;
    corpus_read(&corpus, BATON_SOURCE_DIR "/tests/litmus");

    char *list;
    size_t list_size;
    FILE *to = open_memstream(&list, &list_size);
    if (!to)
        return 1;
    unsigned all = 0, n_caught = 0, missed = 0;
    for (unsigned cell = 0; cell < BATON_STAMP_COUNT * BATON_STAMP_COUNT; cell++)
        for (const char *value = values; *value; value++) {
            struct mutant m = {.earlier = cell / BATON_STAMP_COUNT,
                               .later = cell % BATON_STAMP_COUNT,
                               .value = *value,
                               .stamps = baton_stamps_default};
            if (original(&m) == *value)
                continue;
            m.stamps.cell[m.earlier][m.later] = *value;
            all++;
            if (caught(&corpus, &m)) {
                n_caught++;
                continue;
            }
            struct baton_program found;
            print_mutant(&m, to);
            fprintf(to, "  %s\n",
                    means_the_same(&m) ? "the same by definition" : "no program tells");
            if (only_list || means_the_same(&m) || !find_change(&m, seed, programs, &found))
                continue;
            missed++;
            print_mutant(&m, stdout);
            printf(" changes a program and no test catches it; this one would:\n");
            print_test(&found, &m);
            baton_program_fini(&found);
        }
    fclose(to);
    if (only_list)
        fputs(list, stdout);
    else
        printf(
            "%u replacements, %u caught by %zu tests, %u missed; %u programs for each other one, "
            "seed %" PRIu64 "\n",
            all, n_caught, corpus.n, missed, programs, seed);
    bool ok = !missed &&
              (only_list || compare_list(BATON_SOURCE_DIR "/tests/model/mutate.expected", list));
    free(list);
    corpus_free(&corpus);
    return !ok;
}
