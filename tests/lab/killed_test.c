/* SPDX-License-Identifier: MIT */
/*
 * Shows that the other processes of a benchmark do not wait for one that is killed: they close their tables when
 * all the living have done so, although the dead one never said that it had. A run of a minute on three nodes, one
 * of which is killed soon, has to be over before the time that they would wait for somebody who is alive,
 * and says which process was killed.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "bench/lock_bench.h"

#include "../late.h"
#include "../plain_check.h"

enum { NODES = 3, LIMIT_S = 4 };

static uint64_t killed_ns;

/*
 * Called while the run goes on: kills the process of the last node, the newest child, and keeps the benchmark busy
 * until the others have noticed, so that they are the first to say so.
 */
static void kill_one(const struct bench_config *c, const char *lock, double done)
{
    char path[64];
    long pid, last = 0;
    if (killed_ns || done <= 0)
        return;
    snprintf(path, sizeof(path), "/proc/self/task/%ld/children", (long)getpid());
    FILE *f = fopen(path, "r");
    CHECK(f);
    while (fscanf(f, "%ld", &pid) == 1)
        last = pid;
    fclose(f);
    CHECK(last && !kill((pid_t)last, SIGKILL));
    killed_ns = baton_clock_ns();
    usleep(500000);
}

int main(void)
{
    struct bench_config c = {.fabric = "shm",
                             .nodes = NODES,
                             .local_threads = 1,
                             .remote_threads = 1,
                             .locks = 1,
                             .duration_s = 60,
                             .progress = kill_one};
    struct bench_result result;
    late_watch();
    CHECK(bench_lock_run(&c, baton_lock_kind("ts"), &result) == -ECHILD && killed_ns);
    CHECK(!strcmp(baton_error_detail(), "the process of node 2 died of signal 9"));
    double s = (double)(baton_clock_ns() - killed_ns) / 1e9,
           most = LIMIT_S + (double)late_ns() / 1e9;
    printf("over %.2f s after the death; at most %.2f s\n", s, most);
    return s > most;
}
