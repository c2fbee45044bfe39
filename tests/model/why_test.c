/* SPDX-License-Identifier: MIT */
/*
 * Shows that explanations are there exactly when the axioms engine says "impossible", that each story
 * ends in a contradiction, and that a picture can be drawn; on every litmus test, for the proposition
 * and for its negation. One story is compared word by word.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "corpus.h"
#include "model/axioms.h"
#include "model/dot.h"
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

    char *text, *picture;
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
            (!stories && !unanswered && !strstr(text, "No way")))
            fail(p, model, "a story does not end in a contradiction");
    }
    free(text);

    to = open_memstream(&picture, &size);
    rc = to ? baton_dot(p, model, NULL, negate, to) : -1;
    fclose(to);
    if (rc >= 0 ? rc != possible || !strstr(picture, "digraph") ||
                      !strstr(picture, "color=red") != (possible || unanswered)
                : possible || *picture)
        fail(p, model, "the picture is not of this");
    free(picture);
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

int main(void)
{
    struct corpus corpus;
    corpus_read(&corpus, BATON_SOURCE_DIR "/tests/litmus");
    for (size_t i = 0; i < corpus.n; i++)
        for (unsigned r = 0; r < corpus.program[i].n_results; r++)
            for (int negate = 0; negate < 2; negate++)
                if (corpus.program[i].result[r].model != BATON_MODEL_IMPL)
                    check(&corpus.program[i], corpus.program[i].result[r].model, negate);
    corpus_free(&corpus);
    check_words();
    return failures != 0;
}
