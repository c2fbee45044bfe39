/* SPDX-License-Identifier: MIT */
/*
 * farlock, farlock-g and merge with crowds of 1 + 1 to 3 + 3 threads (local + remote), of one class alone, and
 * of enough remote ones for some to sleep; in the world step and under the random driver of sim; in chain
 * order and in swap mode; with their parameters at the ends of their ranges, also starting just below the
 * places where fields of their words wrap. crowd.h says what is checked.
 *
 * fair_step_test [SEEDS [FIRST]]: so many schedules for each of the combinations. Without them and with
 * BATON_SOAK_SECONDS set, seeds that depend on the clock, until that time is over.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "crowd.h"

#define ONE ((uint64_t)1)

static const struct variant {
    const char *kind;
    const char *setting[3];
    bool fcfs;
    unsigned bypass;
} variants[] = {
    {"farlock", {NULL}, true, 0},
    {"farlock", {"chain=off"}, true, 0},
    {"farlock-g", {NULL}, false, 0},
    {"farlock-g", {"group_local=1"}, false, 0},
    {"farlock-g", {"group_local=2", "group_remote=2"}, false, 0},
    {"farlock-g", {"group_remote=20", "chain=off"}, false, 0},
    {"merge", {NULL}, true, 0},
    {"merge", {"slots=2"}, true, 0},
    {"merge", {"slots=1"}, true, 0},
    {"merge", {"slots=4"}, true, 0},
    {"merge", {"bypass=1"}, true, 1},
    {"merge", {"bypass=3", "slots=1"}, true, 3},
    {"merge", {"bypass=127", "slots=4"}, true, 127},
};

static const unsigned sizes[][2] = {{1, 0}, {0, 1}, {1, 1}, {2, 1}, {1, 2}, {2, 2}, {3, 1},
                                    {1, 3}, {3, 3}, {3, 0}, {0, 3}, {0, 5}, {1, 6}, {2, 5}};

/* The last is where the 2047th repair of a table leaves tickets. */
static const uint64_t presets[] = {0,
                                   (ONE << 20) - 3,
                                   (ONE << 28) - 3,
                                   (ONE << 44) - 3,
                                   (ONE << 47) - 3,
                                   (ONE << 58) - (ONE << 47)};

static unsigned bad;

static void run_seeds(uint64_t first, uint64_t seeds)
{
    for (unsigned v = 0; v < sizeof(variants) / sizeof(variants[0]); v++) {
        uint64_t runs = 0, entries = 0, contended = 0, sleeps = 0, passed = 0;
        for (unsigned s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++)
            for (unsigned swap = 0; swap < 2; swap++)
                for (uint64_t seed = first; seed < first + seeds; seed++, runs++) {
                    struct crowd crowd = {
                        .kind = variants[v].kind,
                        .setting = {variants[v].setting[0], variants[v].setting[1]},
                        .local = sizes[s][0],
                        .remote = sizes[s][1],
                        .rounds = 4,
                        .sim = seed >> 2 & 1,
                        .swap = swap,
                        .spread = seed & 1,
                        .fcfs = variants[v].fcfs,
                        .bypass = variants[v].bypass,
                        .first_ticket = presets[seed / 2 % 6],
                        .seed = seed,
                    };
                    struct crowd_result result;
                    crowd_run(&crowd, &result);
                    if (!crowd_good(&result) && ++bad <= 20) {
                        crowd_print(&crowd, &result);
                        printf("    again with: fair_step_test 1 %" PRIu64 "\n", seed);
                    }
                    entries += result.entries;
                    contended += result.contended;
                    sleeps += result.sleeps;
                    passed += result.passed;
                }
        printf("%-9s %-13s %-14s %" PRIu64 " runs, %" PRIu64 " entries, %.2f of them contended, "
               "%" PRIu64 " remote sleeps, %" PRIu64 " passed\n",
               variants[v].kind, variants[v].setting[0] ? variants[v].setting[0] : "",
               variants[v].setting[1] ? variants[v].setting[1] : "", runs, entries,
               (double)contended / (double)entries, sleeps, passed);
    }
    printf("seeds %" PRIu64 " from %" PRIu64 ", %u runs failed so far\n", seeds, first, bad);
}

int main(int argc, char **argv)
{
    const char *soak = getenv("BATON_SOAK_SECONDS");
    uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 0) : 24;
    uint64_t first = argc > 2 ? strtoull(argv[2], NULL, 0) : 1;
    if (!soak || argc > 1) {
        run_seeds(first, seeds);
        return bad != 0;
    }
    time_t begin = time(NULL);
    first = (uint64_t)begin << 20;
    do {
        run_seeds(first, 40);
        first += 40;
    } while (!bad && time(NULL) - begin < strtoll(soak, NULL, 0));
    return bad != 0;
}
