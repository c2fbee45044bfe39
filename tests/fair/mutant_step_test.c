/* SPDX-License-Identifier: MIT */
/*
 * Every fence of farlock, farlock-g and merge is needed: with one left out, some crowd in swap mode goes
 * wrong; with none left out, none does. crowd.h says what can go wrong.
 *
 * Three places are left alone, two of them in remote_grant of farlock.c. The settle there is for puts that fail, which
 * none does here. The order between pass and granted, two puts to a successor, prevents what random
 * schedules hardly reach: a late pass hurts only if the successor has by then released, come again, and
 * found a predecessor without a ticket. None of 2.4 million entries did. Nor is the order behind a waiter's
 * slot in remote_queue of merge.c: without it a put would have to stay behind three later gets that are each
 * waited for, which none of 120,000 crowds did.
 *
 * mutant_step_test [SEEDS]: how many schedules of each combination may be tried before a mutant counts as
 * not noticed.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "crowd.h"
#include "mutant.h"

int mutant_place = -1, mutant_line;

static const unsigned sizes[][2] = {{1, 1}, {2, 2}, {1, 2}, {0, 3}, {3, 3}, {0, 6}};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

struct variant {
    const char *kind;
    const char *setting[3];
    bool fcfs;
};

static const struct variant merge[] = {{"merge-mutant", {"slots=1"}, true},
                                       {"merge-mutant", {"slots=8"}, true}};
static const struct variant farlock[] = {
    {"farlock-mutant", {NULL}, true},
    {"farlock-g-mutant", {"group_local=2", "group_remote=3"}, false}};

struct places {
    int first, last;
};
static const struct places farlock_unseen = {6, 7}, merge_unseen = {2, 2};

/* The first crowd that goes wrong, after how many; 0: none. */
static uint64_t search(const struct variant *variants, uint64_t seeds)
{
    uint64_t runs = 0;
    for (uint64_t seed = 1; seed <= seeds; seed++)
        for (unsigned v = 0; v < 2; v++)
            for (unsigned s = 0; s < SIZES; s++) {
                struct crowd crowd = {
                    .kind = variants[v].kind,
                    .setting = {variants[v].setting[0], variants[v].setting[1]},
                    .local = sizes[s][0],
                    .remote = sizes[s][1],
                    .rounds = 4,
                    .swap = true,
                    .spread = seed & 1,
                    .fcfs = variants[v].fcfs,
                    .seed = seed,
                };
                struct crowd_result result;
                runs++;
                crowd_run(&crowd, &result);
                if (!crowd_good(&result)) {
                    crowd_print(&crowd, &result);
                    return runs;
                }
            }
    return 0;
}

static unsigned mutate(const char *source, int places, struct places unseen,
                       const struct variant *variants, uint64_t seeds)
{
    unsigned wrong = 0;
    for (mutant_place = -1; mutant_place < places; mutant_place++) {
        if (mutant_place >= unseen.first && mutant_place <= unseen.last)
            continue;
        mutant_line = 0;
        uint64_t runs = search(variants, mutant_place < 0 ? seeds / 80 + 1 : seeds);
        bool good = mutant_place < 0 ? !runs : runs;
        if (mutant_place < 0)
            printf("%s as it is: %s\n", source, good ? "good" : "FAILS");
        else if (good)
            printf("%s without the fence in line %d: wrong in run %" PRIu64 "\n", source,
                   mutant_line, runs);
        else
            printf("%s without the fence in line %d: NOT NOTICED\n", source, mutant_line);
        wrong += !good;
    }
    return wrong;
}

static int add(struct baton_lock_ops *copy, const struct baton_lock_ops *ops, const char *name)
{
    *copy = *ops;
    copy->name = name;
    return baton_lock_register(copy);
}

int main(int argc, char **argv)
{
    static struct baton_lock_ops copies[3];
    const uint64_t seeds = argc > 1 ? strtoull(argv[1], NULL, 0) : 8000;
    unsigned wrong = 0;
    if (add(&copies[0], &mutant_merge, "merge-mutant") ||
        add(&copies[1], &mutant_farlock, "farlock-mutant") ||
        add(&copies[2], &mutant_farlock_g, "farlock-g-mutant")) {
        printf("the mutants could not be registered\n");
        return 1;
    }
    wrong += mutate("merge.c", mutant_merge_places, merge_unseen, merge, seeds);
    wrong += mutate("farlock.c", mutant_farlock_places, farlock_unseen, farlock, seeds);
    printf("%u of the mutants and originals behave as they should not\n", wrong);
    return wrong != 0;
}
