/* SPDX-License-Identifier: MIT */
/*
 * Shows that the axioms engine gives every verdict that the litmus tests state, those for impl over the
 * operations of the implementations; that its pruning loses and invents nothing (whole outcome sets with
 * and without, on random programs); that bounds are kept; and that a changed stamp table changes what it
 * should. Seeded; the seed is printed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "model/axioms.h"
#include "model/generate.h"

static int failures;

#define CHECK(cond, ...)                                                                           \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            failures++;                                                                            \
            printf("%s:%d: ", __FILE__, __LINE__);                                                 \
            printf(__VA_ARGS__);                                                                   \
            printf("\n");                                                                          \
        }                                                                                          \
    } while (0)

static void check_verdicts(const char *folder)
{
    struct corpus corpus;
    corpus_read(&corpus, folder);
    unsigned checked = 0;
    for (size_t i = 0; i < corpus.n; i++) {
        const struct baton_program *p = &corpus.program[i];
        for (unsigned r = 0; r < p->n_results; r++) {
            enum baton_model model = p->result[r].model;
            struct baton_outcomes set;
            int rc = baton_axioms_run(p, model, NULL, &set, NULL);
            CHECK(rc == 0, "%s %s: %s", p->name, baton_model_name(model), strerror(-rc));
            if (rc)
                continue;
            size_t positive, negative;
            baton_outcomes_count(&set, p, &positive, &negative);
            enum baton_verdict verdict = baton_outcomes_verdict(positive, negative);
            CHECK(verdict == p->result[r].verdict, "%s %s: %s", p->name, baton_model_name(model),
                  baton_verdict_name(verdict));
            baton_outcomes_fini(&set);
            checked++;
        }
    }
    printf("%u verdicts of %zu tests\n", checked, corpus.n);
    corpus_free(&corpus);
}

static void check_pruning(uint64_t seed, unsigned n)
{
    struct baton_gen_size size = {.nodes = 3,
                                  .threads = 3,
                                  .ops = 3,
                                  .ops_total = 5,
                                  .locations = 2,
                                  .kinds = (1u << BATON_GEN_KINDS) - 1,
                                  .loopback = true};
    for (unsigned i = 0; i < n; i++) {
        char text[BATON_GEN_TEXT_MAX];
        baton_gen_random(&size, seed, i, "random", text);
        struct baton_program p;
        corpus_parse(text, strlen(text), "random", &p);
        struct baton_engine_opts naive = {.naive = true};
        struct baton_outcomes fast, slow;
        if (baton_axioms_run(&p, BATON_MODEL_TSO, NULL, &fast, NULL) ||
            baton_axioms_run(&p, BATON_MODEL_TSO, &naive, &slow, NULL))
            exit(1);
        CHECK(baton_outcomes_equal(&fast, &slow),
              "seed %llu index %u: %zu outcomes, %zu without "
              "pruning\n%s",
              (unsigned long long)seed, i, fast.n, slow.n, text);
        baton_outcomes_fini(&fast);
        baton_outcomes_fini(&slow);
        baton_program_fini(&p);
    }
    printf("pruning: %u programs, seed %llu\n", n, (unsigned long long)seed);
}

static bool stop_at_once(void *arg)
{
    ++*(unsigned *)arg;
    return true;
}

/* Many loads and stores of one place: enough to explore that any bound is reached. */
static void check_bounds(void)
{
    static const char text[] = "RDMA big\n{\n nodes 1;\n x@1 = 0;\n}\n"
                               " P0@1  | P1@1  | P2@1  ;\n"
                               " x = 1 | x = 2 | x = 3 ;\n a = x | a = x | a = x ;\n"
                               " x = 4 | x = 5 | x = 6 ;\n b = x | b = x | b = x ;\n"
                               " x = 7 | x = 8 | x = 9 ;\n c = x | c = x | c = x ;\n"
                               "exists (x=0)\n";
    struct baton_program p;
    corpus_parse(text, strlen(text), "big", &p);
    struct baton_outcomes set;
    struct baton_engine_stats stats;
    struct baton_engine_opts few = {.max_states = 1000};
    CHECK(baton_axioms_run(&p, BATON_MODEL_WAIT, &few, &set, &stats) == -E2BIG, "no bound");
    CHECK(stats.explored <= 1001, "explored %llu", (unsigned long long)stats.explored);
    unsigned asked = 0;
    struct baton_engine_opts stopped = {.stop = stop_at_once, .stop_arg = &asked};
    CHECK(baton_axioms_run(&p, BATON_MODEL_WAIT, &stopped, &set, NULL) == -ETIME, "not stopped");
    CHECK(asked == 1, "asked %u times", asked);
    baton_program_fini(&p);
}

static size_t count_positive(const char *text, const struct baton_stamps *stamps, unsigned variants)
{
    struct baton_program p;
    struct baton_outcomes set;
    size_t positive, negative;
    struct baton_engine_opts opts = {.variants = variants};
    corpus_parse(text, strlen(text), "cell", &p);
    if (stamps ? baton_axioms_run_stamps(&p, BATON_MODEL_WAIT, stamps, &opts, &set, NULL)
               : baton_axioms_run(&p, BATON_MODEL_WAIT, &opts, &set, NULL))
        exit(1);
    baton_outcomes_count(&set, &p, &positive, &negative);
    baton_outcomes_fini(&set);
    baton_program_fini(&p);
    return positive;
}

static void check_table(void)
{
    static const char puts_in_order[] = "RDMA cell\n{\n nodes 2;\n x@2 = 0;\n y@2 = 0;\n}\n"
                                        " P0@1        | P1@2  ;\n"
                                        " put x, 1 #d | a = y ;\n put y, 1 #d | b = x ;\n"
                                        "exists (1:a=1 /\\ 1:b=0)\n";
    static const char gets_in_order[] = "RDMA cell\n{\n nodes 2;\n x@2 = 0;\n y@2 = 0;\n a@1 = 0;\n"
                                        " b@1 = 0;\n}\n"
                                        " P0@1        | P1@2  ;\n"
                                        " get a, y #d | x = 1 ;\n get b, x #d | y = 1 ;\n"
                                        "exists (a=1 /\\ b=0)\n";
    struct baton_stamps stamps = baton_stamps_default;
    CHECK(count_positive(puts_in_order, &stamps, 0) == 0, "remote writes are not in order");
    stamps.cell[BATON_STAMP_NRW][BATON_STAMP_NRW] = '-';
    CHECK(count_positive(puts_in_order, &stamps, 0) == 1, "the table does not matter");
    CHECK(count_positive(gets_in_order, NULL, 0) == 1, "gets are in order");
    CHECK(count_positive(gets_in_order, NULL, BATON_VARIANT_NRR_NRR) == 0,
          "the variant is ignored");
}

int main(int argc, char **argv)
{
    uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
    check_verdicts(BATON_SOURCE_DIR "/tests/litmus");
    check_pruning(seed, 1500);
    check_bounds();
    check_table();
    return failures != 0;
}
