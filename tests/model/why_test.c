/* SPDX-License-Identifier: MIT */
/*
 * Shows that explanations are there exactly when the axioms engine says "impossible", that each story
 * ends in a contradiction, and that a picture can be drawn; on every litmus test, for the proposition
 * and for its negation, also of the implementations of locks, and on random programs that ask for one
 * whole outcome. One story is compared
 * word by word. Seeded; the seed is printed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "corpus.h"
#include "model/axioms.h"
#include "model/dot.h"
#include "model/generate.h"
#include "model/why.h"

static int failures;

static void fail(const struct baton_program *p, enum baton_model model, const char *what)
{
    printf("%s %s: %s\n", p->name, baton_model_name(model), what);
    failures++;
}

static unsigned count_words(const char *text, const char *words)
{
    unsigned n = 0;
    while ((text = strstr(text, words))) {
        n++;
        text += strlen(words);
    }
    return n;
}

static void check_picture(const struct baton_program *p, enum baton_model model, bool negate,
                          bool possible, bool unanswered)
{
    char *picture;
    size_t size;
    FILE *to = open_memstream(&picture, &size);
    int rc = to ? baton_dot(p, model, NULL, negate, to) : -1;
    fclose(to);
    if (rc >= 0 ? rc != possible || !strstr(picture, "digraph") ||
                      !strstr(picture, "color=red") != (possible || unanswered)
                : possible || *picture)
        fail(p, model, "the picture is not of this");
    free(picture);
}

static void check(const struct baton_program *p, enum baton_model model, bool negate)
{
    struct baton_outcomes set;
    if (baton_axioms_run(p, model, NULL, &set, NULL)) {
        fail(p, model, "no outcomes");
        return;
    }
    size_t count[2];
    baton_outcomes_count(&set, p, &count[0], &count[1]);
    baton_outcomes_fini(&set);
    bool possible = count[negate] > 0;

    char *text;
    size_t size;
    bool unanswered = false; /* a poll never returns: then there is no cycle, in words or in red */
    FILE *to = open_memstream(&text, &size);
    int rc = to ? baton_why(p, model, NULL, negate, to) : -1;
    fclose(to);
    if (rc != possible)
        fail(p, model, "the explanation and the engine disagree");
    if (possible && *text)
        fail(p, model, "explains what is possible");
    if (!possible) {
        unsigned stories = count_words(text, "  Suppose that\n") + count_words(text, "- if ") / 2;
        unanswered = strstr(text, "a poll has no operation to answer it");
        if (count_words(text, ", a contradiction\n") < stories ||
            (!stories && !unanswered && !strstr(text, "No way") &&
             !strstr(text, "Whatever is read")))
            fail(p, model, "a story does not end in a contradiction");
    }
    free(text);
    if (model != BATON_MODEL_IMPL) /* of runs there are stories, not pictures */
        check_picture(p, model, negate, possible, unanswered);
}

static void check_words(void)
{
    static const char test[] = "RDMA order\n{\n nodes 2;\n x@1 = 0;\n z@2 = 0;\n}\n"
                               " P0@1        ;\n put z, x #d ;\n wait d      ;\n x = 1       ;\n"
                               "exists (z=1)\n";
    static const char expected[] =
        "exists (z=1): under wait no execution makes this proposition true.\n"
        "  Suppose that\n"
        "    P0 \"put z, x #d\" reads x = 1, written by P0 \"x = 1\"\n"
        "  Look at\n"
        "    A  P0 \"put z, x #d\": NIC local read of x\n"
        "    B  P0 \"put z, x #d\": NIC remote write of z\n"
        "    C  P0 \"wait d\": wait\n"
        "    D  P0 \"x = 1\": CPU write of x\n"
        "  A is issued before B, because one operation reads before it writes\n"
        "  B is issued before C, because C waits until the remote write has been issued\n"
        "  C is issued before D, because a wait stays before a later CPU write\n"
        "  D is issued before A, because A reads the value that D wrote\n"
        "  so A would be issued before itself, a contradiction\n";
    struct baton_program p;
    corpus_parse(test, strlen(test), "order", &p);
    char *text;
    size_t size;
    FILE *to = open_memstream(&text, &size);
    if (!to || baton_why(&p, BATON_MODEL_WAIT, NULL, false, to) || fclose(to))
        exit(1);
    if (strcmp(text, expected)) {
        fail(&p, BATON_MODEL_WAIT, "another story than expected:");
        fputs(text, stdout);
    }
    free(text);
    baton_program_fini(&p);
}

/* Makes the condition ask for this outcome, all of it. */
static void ask_for(struct baton_program *p, const int64_t *row)
{
    int root = -1;
    p->n_conds = 0;
    for (unsigned column = 0; column < p->width; column++) {
        struct baton_cond equal = {.kind = BATON_COND_EQ,
                                   .a = {.is_column = true, .value = column},
                                   .b = {.value = row[column]}};
        int leaf = baton_program_add_cond(p, &equal);
        struct baton_cond both = {
            .kind = BATON_COND_AND, .left = (unsigned)root, .right = (unsigned)leaf};
        root = root < 0 ? leaf : baton_program_add_cond(p, &both);
        if (leaf < 0 || root < 0)
            exit(1);
    }
    p->cond_root = (unsigned)root;
}

/* Asks for an outcome made of columns of two possible ones: often impossible, and by a hair. */
static void check_random(uint64_t seed, unsigned n)
{
    struct baton_gen_size size = {.nodes = 2,
                                  .threads = 3,
                                  .ops = 3,
                                  .ops_total = 6,
                                  .locations = 2,
                                  .kinds = (1u << BATON_GEN_KINDS) - 1,
                                  .loopback = true};
    struct baton_random random;
    baton_random_init(&random, seed);
    for (unsigned i = 0; i < n; i++) {
        char text[BATON_GEN_TEXT_MAX];
        struct baton_program p;
        struct baton_outcomes set;
        baton_gen_random(&size, seed, i, "random", text);
        corpus_parse(text, strlen(text), "random", &p);
        int64_t *row = calloc(p.width + 1, sizeof(*row));
        if (!row || baton_axioms_run(&p, BATON_MODEL_TSO, NULL, &set, NULL))
            exit(1);
        if (set.n) {
            size_t a = baton_random_below(&random, set.n), b = baton_random_below(&random, set.n);
            for (unsigned column = 0; column < p.width; column++)
                row[column] =
                    baton_outcomes_row(&set, baton_random_below(&random, 2) ? a : b)[column];
            ask_for(&p, row);
            check(&p, BATON_MODEL_TSO, false);
        }
        free(row);
        baton_outcomes_fini(&set);
        baton_program_fini(&p);
    }
    printf("%u random programs, seed %llu\n", n, (unsigned long long)seed);
}

int main(int argc, char **argv)
{
    struct corpus corpus;
    corpus_read(&corpus, BATON_SOURCE_DIR "/tests/litmus");
    for (size_t i = 0; i < corpus.n; i++)
        for (unsigned r = 0; r < corpus.program[i].n_results; r++)
            for (int negate = 0; negate < 2; negate++)
                check(&corpus.program[i], corpus.program[i].result[r].model, negate);
    corpus_free(&corpus);
    check_words();
    check_random(argc > 1 ? strtoull(argv[1], NULL, 0) : 1, 1000);
    return failures != 0;
}
