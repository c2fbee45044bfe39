/* SPDX-License-Identifier: MIT */
/*
 * Shows that the implementations keep what the axioms of the libraries promise: of random programs
 * over locks and sequentially consistent memory, every outcome that the machine reaches with the
 * implementations (impl) is one that the axioms of the libraries allow (spec). The two sides share
 * no rule, only the program. The other direction does not hold and is counted only: an
 * implementation may give more than is promised.
 *
 * And that both engines say the same of the implementations: the axioms, over the operations that these
 * are made of, have executions for the machine's outcomes and for no other.
 *
 * Arguments: how many programs, and the seed. The seed is printed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "model/engine.h"
#include "model/parse.h"

enum { THREADS = 3, ROWS = 12, TEXT = 8192, CANDIDATES_MAX = 20000 };

struct source {
    struct baton_random random;
    unsigned nodes, threads;
    unsigned node[THREADS];
    char op[THREADS][ROWS][64];
    unsigned n[THREADS];
    unsigned fresh; /* constants, ids and result words are all distinct */
    char decls[1024];
};

static unsigned below(struct source *s, unsigned n)
{
    return (unsigned)baton_random_below(&s->random, n);
}

__attribute__((format(printf, 3, 4))) static void add(struct source *s, unsigned t,
                                                      const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->op[t][s->n[t]++], sizeof(s->op[t][0]), format, args);
    va_end(args);
}

/* One operation on a data word of some node: x<n> is on node n. */
static void add_access(struct source *s, unsigned t)
{
    unsigned k = ++s->fresh, node = 1 + below(s, s->nodes);
    size_t used = strlen(s->decls);
    if (node == s->node[t] && below(s, 2)) {
        if (below(s, 2))
            add(s, t, "x%u = %u", node, k);
        else
            add(s, t, "r%u = x%u", k, node);
        return;
    }
    if (below(s, 2)) {
        add(s, t, "put x%u, %u #d%u", node, k, k);
    } else {
        snprintf(s->decls + used, sizeof(s->decls) - used, " g%u@%u;", k, s->node[t]);
        add(s, t, "get g%u, x%u #d%u", k, node, k);
        if (below(s, 2))
            add(s, t, "wait d%u", k);
    }
}

static void add_sc(struct source *s, unsigned t)
{
    unsigned k = ++s->fresh;
    char name = (char)('a' + below(s, 2));
    switch (below(s, 4)) {
    case 0:
        add(s, t, "scwrite s%c, %u", name, k);
        break;
    case 1:
        add(s, t, "r%u = scread s%c", k, name);
        break;
    case 2:
        add(s, t, "r%u = sccas s%c, 0, %u", k, name, k);
        break;
    default:
        add(s, t, "r%u = scfaa s%c, 1", k, name);
        break;
    }
}

static void write_program(struct source *s, char *text)
{
    static const char *const kinds[] = {"wlock", "slock", "nlock"};
    *s = (struct source){.random = s->random, .nodes = 2 + below(s, 2), .threads = 2};
    unsigned with_sc = below(s, 3) == 0;
    for (unsigned n = 1; n <= s->nodes; n++)
        sprintf(s->decls + strlen(s->decls), " x%u@%u;", n, n);
    if (with_sc)
        sprintf(s->decls + strlen(s->decls), " sc sa@%u; sc sb@%u;", 1 + below(s, s->nodes),
                1 + below(s, s->nodes));
    sprintf(s->decls + strlen(s->decls), " lock l : %s @ %u;", kinds[below(s, 3)],
            1 + below(s, s->nodes));
    for (unsigned t = 0; t < s->threads; t++) {
        s->node[t] = 1 + below(s, s->nodes);
        if (with_sc) {
            add_sc(s, t);
            if (below(s, 2))
                add_sc(s, t);
            else
                add_access(s, t);
            continue;
        }
        if (below(s, 3) == 0)
            add_access(s, t);
        add(s, t, "acq l");
        for (unsigned n = 1 + below(s, 2); n > 0; n--)
            add_access(s, t);
        if (below(s, 4) == 0)
            add(s, t, "gfence %u", 1 + below(s, s->nodes));
        add(s, t, "rel l");
        if (below(s, 3) == 0)
            add_access(s, t);
    }
    char *at = text;
    at += sprintf(at, "RDMA random\n{ nodes %u;%s }\n", s->nodes, s->decls);
    for (unsigned t = 0; t < s->threads; t++)
        at += sprintf(at, "%sP%u@%u", t ? " | " : "", t, s->node[t]);
    at += sprintf(at, " ;\n");
    for (unsigned i = 0; i < ROWS; i++) {
        for (unsigned t = 0; t < s->threads; t++)
            at += sprintf(at, "%s%s", t ? " | " : "", s->op[t][i]);
        at += sprintf(at, " ;\n");
    }
    sprintf(at, "exists (0=0)\n");
}

struct tally {
    uint64_t fewer, outcomes, compared, too_large;
};

/* Some programs have too many candidates for a test that runs every day. */
static int compare_engines(const struct baton_program *program, const struct baton_outcomes *impl,
                           const char *text, struct tally *tally)
{
    struct baton_engine_opts opts = {.max_states = CANDIDATES_MAX};
    struct baton_outcomes axioms;
    int rc = baton_axioms_run(program, BATON_MODEL_IMPL, &opts, &axioms, NULL);
    if (rc == -E2BIG) {
        tally->too_large++;
        return 0;
    }
    if (rc)
        return rc;
    tally->compared++;
    if (!baton_outcomes_equal(impl, &axioms)) {
        fprintf(stderr, "of impl the machine has %zu outcomes, the axioms %zu:\n%s", impl->n,
                axioms.n, text);
        rc = 1;
    }
    baton_outcomes_fini(&axioms);
    return rc;
}

static int check(const char *text, struct tally *tally)
{
    struct baton_program program;
    struct baton_parse_error error;
    if (baton_program_parse(text, strlen(text), &program, &error)) {
        baton_parse_error_print(&error, "(random)", stderr);
        return 1;
    }
    struct baton_outcomes impl, spec;
    int rc = baton_machine_run(&program, BATON_MODEL_IMPL, NULL, &impl, NULL);
    int bad = rc != 0;
    if (!rc) {
        rc = baton_axioms_run(&program, BATON_MODEL_SPEC, NULL, &spec, NULL);
        bad = rc != 0;
        for (size_t i = 0; !rc && i < impl.n; i++)
            bad |= !baton_outcomes_has(&spec, baton_outcomes_row(&impl, i));
        if (!rc) {
            tally->fewer += impl.n < spec.n;
            tally->outcomes += impl.n;
            if (bad)
                fprintf(stderr, "impl has %zu outcomes, spec %zu, and not all of impl's:\n%s",
                        impl.n, spec.n, text);
            baton_outcomes_fini(&spec);
            rc = compare_engines(&program, &impl, text, tally);
            bad |= rc != 0;
        }
        baton_outcomes_fini(&impl);
    }
    if (rc < 0)
        fprintf(stderr, "an engine failed: %s\n%s", strerror(-rc), text);
    baton_program_fini(&program);
    return bad;
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct tally tally = {0};
    uint64_t i;
    static char text[TEXT];
    struct source source;
    baton_random_init(&source.random, seed);
    int bad = 0;
    printf("seed %" PRIu64 "\n", seed);
    for (i = 0; i < n && !bad; i++) {
        write_program(&source, text);
        bad = check(text, &tally);
    }
    printf("%" PRIu64 " programs, %" PRIu64 " outcomes; in %" PRIu64
           " the axioms allow more than the implementations give\n",
           i, tally.outcomes, tally.fewer);
    printf("engines compared on the implementations of %" PRIu64 ", %" PRIu64 " were too large\n",
           tally.compared, tally.too_large);
    return bad;
}
