/* SPDX-License-Identifier: MIT */
/*
 * The study of fairness, on logs made by hand whose bounds, overtaking and waiting can be worked out on
 * paper, and on a simulated run of a lock that is known to be first come, first served: nobody in it is
 * quicker than the bound, and nobody is overtaken by more than what takes its place at the same time.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/fair.h"
#include "bench/lock_bench.h"

#define ONE_WAY 1000u

static void check(bool ok, const char *what, uint64_t found)
{
    if (ok)
        return;
    printf("not so: %s (found %" PRIu64 ")\n", what, found);
    exit(1);
}

static void study(const struct bench_entry *entries, size_t count, struct bench_fair *out)
{
    struct bench_log log = {0};
    memset(out, 0, sizeof(*out));
    for (size_t i = 0; i < count; i++)
        check(bench_log_add(&log, &entries[i]) == 0, "memory for a log", i);
    check(bench_fair_study(&log, 1, 1e-6, ONE_WAY, out) == 0, "the study succeeds", 0);
    bench_log_free(&log);
}

/* The histogram keeps the greatest value exactly. */
static void greatest(const struct baton_hist *h, uint64_t count, uint64_t value, const char *what)
{
    check(h->count == count, what, h->count);
    check(h->max == value, what, h->max);
}

#define E(b, d, e, l, t, is_local)                                                                 \
    {                                                                                              \
        .begin = (b), .doorway = (d), .entered = (e), .leaving = (l), .thread = (t),               \
        .local = (is_local), .measured = 1                                                         \
    }

static void by_hand(void)
{
    static struct bench_fair f;
    /* Alone: a local thread enters at once, a remote one after a round trip. */
    const struct bench_entry alone[] = {E(0, 0, 5, 100, 0, 1), E(9000, 9500, 12000, 12100, 1, 0)};
    study(alone, 2, &f);
    greatest(&f.class_bound[FAIR_LOCAL], 1, 0, "a free lock keeps no local thread waiting");
    greatest(&f.class_bound[FAIR_REMOTE], 1, 2 * ONE_WAY, "a remote thread needs a round trip");
    greatest(&f.doorway[FAIR_REMOTE], 1, 500, "time in the doorway");
    greatest(&f.ticketed[FAIR_REMOTE], 1, 2500, "time with a ticket");
    check(f.switches == 1, "one change of class", f.switches);

    /*
     * L holds until 100. R, S are remote and begin at 50 and 60, M is local and begins at 70, sections of
     * 5000 and 100. R: a round trip, 2050. S: R is out at 7050, three ways, 10050. M: S is out at 15050, one
     * way, 16050.
     */
    const struct bench_entry queue[] = {E(0, 0, 0, 100, 0, 1), E(50, 60, 2050, 7050, 1, 0),
                                        E(60, 70, 10050, 15050, 2, 0),
                                        E(70, 70, 16050, 16150, 3, 1)};
    study(queue, 4, &f);
    greatest(&f.class_bound[FAIR_REMOTE], 2, 10050 - 60, "bound behind a remote thread");
    greatest(&f.class_bound[FAIR_LOCAL], 2, 16050 - 70, "bound behind two remote threads");
    greatest(&f.overtaken[FAIR_REMOTE], 2, 0, "nobody is overtaken");
    check(f.bound.max == f.latency.max, "this run is at its bound", f.latency.max);

    /* M goes before S. Its bound is what it was; S has been overtaken once. */
    const struct bench_entry unfair[] = {E(0, 0, 0, 100, 0, 1), E(50, UINT64_MAX, 2050, 7050, 1, 0),
                                         E(70, UINT64_MAX, 8050, 8150, 3, 1),
                                         E(60, UINT64_MAX, 9150, 14150, 2, 0)};
    study(unfair, 4, &f);
    greatest(&f.class_bound[FAIR_LOCAL], 2, 16050 - 70,
             "the bound asks who began, not who entered");
    greatest(&f.overtaken[FAIR_REMOTE], 2, 1, "one is overtaken by one");
    check(f.doorway[FAIR_REMOTE].count == 0, "no doorway, no time in it", 0);
    check(f.switches == 3, "three changes of class", f.switches);
}

static void simulated(const char *lock)
{
    static struct bench_fair f;
    static struct bench_result result;
    struct bench_log log = {0};
    struct bench_config c = {.fabric = "sim",
                             .nodes = 4,
                             .local_threads = 4,
                             .remote_threads = 4,
                             .locks = 1,
                             .local_cs_ns = 100,
                             .remote_cs_ns = 5000,
                             .duration_s = 0.004,
                             .warmup_s = 0.001,
                             .cooldown_s = 0.001,
                             .options = "driver=timed,profile=cx6",
                             .seed = 1,
                             .log = &log};
    memset(&f, 0, sizeof(f));
    check(bench_lock_run(&c, baton_lock_kind(lock), &result) == 0, "the run succeeds", 0);
    check(log.count == result.local.entries + result.remote.entries, "a record an entry",
          log.count);
    uint64_t measured = result.acquisitions;
    /* No message is this quick, on any profile: it is a bound that must hold. */
    check(bench_fair_study(&log, 1, c.duration_s, 300, &f) == 0, "the study succeeds", 0);
    check(f.entries == measured && measured > 100, "all that was measured is studied", f.entries);
    for (double part = 0; part <= 1; part += 0.125)
        check(baton_hist_quantile(&f.bound, part) <= baton_hist_quantile(&f.latency, part),
              "no percentile is below its bound", baton_hist_quantile(&f.latency, part));
    check(f.overtaken[FAIR_LOCAL].max + f.overtaken[FAIR_REMOTE].max < 16,
          "nobody is overtaken for long", f.overtaken[FAIR_LOCAL].max);
    check(bench_fair_tickets(&f, FAIR_REMOTE) > bench_fair_unticketed(&f, FAIR_REMOTE),
          "waiting is behind the doorway", f.entries);
    bench_log_free(&log);
}

int main(void)
{
    by_hand();
    simulated("ticket");
    simulated("mcs");
    simulated("merge");
    return 0;
}
