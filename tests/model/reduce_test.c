/* SPDX-License-Identifier: MIT */
/*
 * Shows that the machine's reduction loses and invents no outcome: random programs are explored
 * twice, once with every enabled step from every state and nothing fused, once reduced, and the
 * sets of all outcomes are compared. Programs of primitive operations run under tso and wait with
 * every combination of the variants; programs of locks and sequentially consistent memory run under
 * impl, whose loops and awaited values the reduction treats apart. Two conflicts are so rare in
 * random programs that programs made for them come first.
 *
 * Arguments: how many programs of each sort, and the seed. The seed is printed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "model/engine.h"
#include "model/generate.h"
#include "model/parse.h"

enum { STATES_MAX = 1000000, VARIANTS = 8 };

struct tally {
    uint64_t compared, too_large, reduced, naive, outcomes;
};

static int compare(const char *text, enum baton_model model, unsigned variants, struct tally *tally)
{
    struct baton_program program;
    struct baton_parse_error error;
    if (baton_program_parse(text, strlen(text), &program, &error)) {
        baton_parse_error_print(&error, "(random)", stderr);
        fputs(text, stderr);
        return 1;
    }
    struct baton_engine_opts opts = {.variants = variants};
    struct baton_outcomes reduced, all;
    struct baton_engine_stats stats;
    int bad = 0, rc = baton_machine_run(&program, model, &opts, &reduced, &stats);
    if (rc) {
        fprintf(stderr, "the machine failed: %s\n%s", strerror(-rc), text);
        baton_program_fini(&program);
        return 1;
    }
    tally->reduced += stats.explored;
    opts.naive = true;
    opts.max_states = STATES_MAX;
    rc = baton_machine_run(&program, model, &opts, &all, &stats);
    if (rc == -E2BIG) {
        tally->too_large++;
    } else if (rc) {
        fprintf(stderr, "the machine failed: %s\n%s", strerror(-rc), text);
        bad = 1;
    } else {
        tally->compared++;
        tally->naive += stats.explored;
        tally->outcomes += all.n;
        if (!baton_outcomes_equal(&reduced, &all)) {
            fprintf(stderr, "%zu outcomes, and %zu with the reduction; %s, variants %u:\n%s", all.n,
                    reduced.n, baton_model_name(model), variants, text);
            bad = 1;
        }
        baton_outcomes_fini(&all);
    }
    baton_outcomes_fini(&reduced);
    baton_program_fini(&program);
    return bad;
}

static int primitive(uint64_t n, uint64_t seed, enum baton_model model, struct tally *tally)
{
    static char text[BATON_GEN_TEXT_MAX];
    struct baton_gen_size size = {.nodes = 3,
                                  .threads = 3,
                                  .ops = 4,
                                  .ops_total = 5,
                                  .locations = 2,
                                  .kinds = (1u << BATON_GEN_KINDS) - 1,
                                  .loopback = true};
    if (model == BATON_MODEL_WAIT)
        size.kinds &= ~(1u << BATON_GEN_POLL);
    int bad = 0;
    for (uint64_t i = 0; i < n && !bad; i++) {
        baton_gen_random(&size, seed, i, "random", text);
        bad = compare(text, model, i % VARIANTS, tally);
    }
    return bad;
}

/* Two threads, each with one section of a lock around one operation, or one access of an sc
 * location. */
static void library_program(struct baton_random *r, char *text, size_t size)
{
    static const char *const bodies[] = {"put y, 1 #d", "get g%u, y #d", "put x, 2 #d",
                                         "get g%u, x #d", "rfaa g%u, y, 3 #d"};
    static const char *const sc[] = {"scwrite s, %u", "r = scread s", "r = sccas s, 0, %u",
                                     "r = scfaa s, %u"};
    static const char *const locks[] = {"wlock", "slock", "nlock"};
    unsigned nodes = 2, place[2] = {1 + (unsigned)baton_random_below(r, 2),
                                    1 + (unsigned)baton_random_below(r, 2)};
    char op[2][3][64] = {0};
    for (unsigned t = 0; t < 2; t++) {
        if (baton_random_below(r, 3) == 0) {
            snprintf(op[t][1], sizeof(op[t][1]), sc[baton_random_below(r, 4)], t + 1);
            continue;
        }
        snprintf(op[t][1], sizeof(op[t][1]), bodies[baton_random_below(r, 5)], t);
        if (baton_random_below(r, 4)) {
            strcpy(op[t][0], "acq l");
            strcpy(op[t][2], "rel l");
        }
    }
    snprintf(text, size,
             "RDMA random\n{ nodes %u; x@1; y@2; g0@%u; g1@%u; sc s@%u; lock l : %s @ %u; }\n"
             "P0@%u | P1@%u ;\n%s | %s ;\n%s | %s ;\n%s | %s ;\nexists (0=0)\n",
             nodes, place[0], place[1], 1 + (unsigned)baton_random_below(r, 2),
             locks[baton_random_below(r, 3)], 1 + (unsigned)baton_random_below(r, 2), place[0],
             place[1], op[0][0], op[1][0], op[0][1], op[1][1], op[0][2], op[1][2]);
}

static int libraries(uint64_t n, uint64_t seed, struct tally *tally)
{
    char text[1024];
    struct baton_random r;
    baton_random_init(&r, seed);
    int bad = 0;
    for (uint64_t i = 0; i < n && !bad; i++) {
        library_program(&r, text, sizeof(text));
        bad = compare(text, BATON_MODEL_IMPL, 0, tally);
    }
    return bad;
}

/*
 * The RMW unit: were the first RMW to take it early for no reason, the second could not be over
 * while y is still 0. A local write in wbL: were the get to leave the pipe early for no reason, the
 * put could not read w before a lands.
 */
static const char *const made[] = {
    "RDMA unit\n{ nodes 2; x@2; y@2; a@1; b@2; }\nP0@1 | P1@2 ;\nrfaa a, y, 1 #d | rfaa b, x, 1 #d "
    ";\n"
    "| wait d ;\n| c = y ;\nexists (1:c=0)\n",
    "RDMA flush\n{ nodes 2; x@2 = 1; z@2 = 7; a@1; w@1; }\nP0@1 | P1@1 ;\nget a, x | w = 1 ;\n"
    "put z, w | mfence ;\nrfence 2 | r = a ;\nexists (1:r=0 /\\ z=0)\n",
};

static int made_for_it(struct tally *tally)
{
    int bad = 0;
    for (size_t i = 0; i < sizeof(made) / sizeof(*made); i++)
        bad |= compare(made[i], BATON_MODEL_WAIT, 0, tally);
    return bad;
}

static void report(const char *what, const struct tally *t)
{
    printf("%s: %" PRIu64 " programs compared, %" PRIu64
           " too large without the reduction; %" PRIu64 " outcomes; %" PRIu64
           " states without it, %" PRIu64 " with it\n",
           what, t->compared, t->too_large, t->outcomes, t->naive, t->reduced);
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 500;
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 10) : 1;
    struct tally fixed = {0}, tso = {0}, wait = {0}, impl = {0};
    printf("seed %" PRIu64 "\n", seed);
    int bad = made_for_it(&fixed) || primitive(n, seed, BATON_MODEL_TSO, &tso) ||
              primitive(n, seed, BATON_MODEL_WAIT, &wait) || libraries(n / 10, seed, &impl);
    report("made", &fixed);
    report("tso", &tso);
    report("wait", &wait);
    report("impl", &impl);
    return bad;
}
