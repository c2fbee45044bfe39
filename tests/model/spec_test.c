/* SPDX-License-Identifier: MIT */
/*
 * Shows that the lock libraries and SC memory promise no more than their implementations keep: on every
 * litmus test that takes them and on random programs around critical sections, each outcome of the
 * implementation (the machine, impl) is an outcome of the axioms (spec). Seeded; the seed is printed.
 *
 *     spec_test [PROGRAMS [SEED]]
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "corpus.h"
#include "model/engine.h"

static unsigned failures, compared, unknown;

static void print_outcome(const struct baton_program *p, const int64_t *row)
{
    char name[128];
    for (unsigned column = 0; column < p->width; column++) {
        baton_program_column_name(p, column, name, sizeof(name));
        printf(" %s=%" PRId64, name, row[column]);
    }
    printf("\n");
}

static void compare(const struct baton_program *p)
{
    struct baton_engine_opts opts = {.max_states = 200000};
    struct baton_outcomes spec, impl;
    if (baton_axioms_run(p, BATON_MODEL_SPEC, &opts, &spec, NULL)) {
        unknown++;
        return;
    }
    if (baton_machine_run(p, BATON_MODEL_IMPL, &opts, &impl, NULL)) {
        baton_outcomes_fini(&spec);
        unknown++;
        return;
    }
    compared++;
    for (size_t i = 0; i < impl.n; i++) {
        if (baton_outcomes_has(&spec, baton_outcomes_row(&impl, i)))
            continue;
        failures++;
        printf("%s: implemented but not specified:", p->name);
        print_outcome(p, baton_outcomes_row(&impl, i));
        baton_program_print(p, stdout);
        break;
    }
    baton_outcomes_fini(&spec);
    baton_outcomes_fini(&impl);
}

/* One operation on node `node`; x and u are on node 1, y and v on node 2, a and b take results. */
static void random_op(struct baton_random *random, unsigned node, unsigned number, char *op,
                      size_t size)
{
    static const char *const places[2][2] = {{"x", "u"}, {"y", "v"}};
    const char *mine = places[node - 1][baton_random_below(random, 2)];
    const char *any = places[baton_random_below(random, 2)][baton_random_below(random, 2)];
    const char *result = node == 1 ? "a" : "b", *sc = baton_random_below(random, 2) ? "s" : "t";
    switch (baton_random_below(random, 14)) {
    case 0:
        snprintf(op, size, "%s = %u", mine, number);
        break;
    case 1:
    case 2:
        snprintf(op, size, "r%u = %s", number, mine);
        break;
    case 3:
        snprintf(op, size, "put %s, %u #d", any, number);
        break;
    case 4:
        snprintf(op, size, "put %s, %s #d", any, mine);
        break;
    case 5:
    case 6:
        snprintf(op, size, "get %s, %s #d", result, any);
        break;
    case 7:
        snprintf(op, size, "rfaa %s, %s, %u #d", result, any, number);
        break;
    case 8:
        snprintf(op, size, "wait d");
        break;
    case 9:
        snprintf(op, size, "r%u = faa %s, %u", number, mine, number);
        break;
    case 10:
        snprintf(op, size, "scwrite %s, %u", sc, number);
        break;
    case 11:
        snprintf(op, size, "r%u = scfaa %s, %u", number, sc, number);
        break;
    case 12:
        snprintf(op, size, "r%u = sccas %s, 0, %u", number, sc, number);
        break;
    default:
        snprintf(op, size, "r%u = scread %s", number, sc);
        break;
    }
}

static void random_program(struct baton_random *random, char *text, size_t size)
{
    static const char *const kinds[] = {"wlock", "slock", "nlock"};
    enum { ROWS = 4 };
    char op[2][ROWS][64];
    unsigned node[2];
    for (unsigned t = 0; t < 2; t++) {
        unsigned number = 1 + 4 * t;
        node[t] = 1 + (t && baton_random_below(random, 3));
        /* Which rows hold the acquire and the release. */
        unsigned acquire = (unsigned)baton_random_below(random, 2);
        unsigned release = acquire + 1 + (unsigned)baton_random_below(random, ROWS - 1 - acquire);
        for (unsigned row = 0; row < ROWS; row++)
            if (row == acquire || row == release)
                snprintf(op[t][row], sizeof(op[t][row]), "%s l", row == acquire ? "acq" : "rel");
            else
                random_op(random, node[t], number + row, op[t][row], sizeof(op[t][row]));
    }
    int n = snprintf(text, size,
                     "RDMA random\n{\n nodes 2;\n x@1 = 0;\n u@1 = 0;\n y@2 = 0;\n v@2 = 0;\n"
                     " a@1 = 0;\n b@2 = 0;\n sc s@1 = 0;\n sc t@2 = 0;\n lock l : %s @ %u;\n}\n"
                     " P0@%u | P1@%u ;\n",
                     kinds[baton_random_below(random, 3)],
                     1 + (unsigned)baton_random_below(random, 2), node[0], node[1]);
    for (unsigned row = 0; row < ROWS; row++)
        n += snprintf(text + n, size - (size_t)n, " %s | %s ;\n", op[0][row], op[1][row]);
    snprintf(text + n, size - (size_t)n, "exists (0=0)\n");
}

int main(int argc, char **argv)
{
    unsigned programs = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 0) : 400;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    struct corpus corpus;
    corpus_read(&corpus, BATON_SOURCE_DIR "/tests/litmus");
    for (size_t i = 0; i < corpus.n; i++) {
        bool library = false;
        for (unsigned r = 0; r < corpus.program[i].n_results; r++)
            library = library || corpus.program[i].result[r].model == BATON_MODEL_SPEC;
        if (library)
            compare(&corpus.program[i]);
    }
    corpus_free(&corpus);
    struct baton_random random;
    baton_random_init(&random, seed);
    for (unsigned i = 0; i < programs; i++) {
        char text[2048];
        struct baton_program p;
        random_program(&random, text, sizeof(text));
        corpus_parse(text, strlen(text), "random", &p);
        compare(&p);
        baton_program_fini(&p);
    }
    printf("%u programs compared, %u too large, %u failures, seed %" PRIu64 "\n", compared, unknown,
           failures, seed);
    return failures || !compared;
}
