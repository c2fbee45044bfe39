/* SPDX-License-Identifier: MIT */
/*
 * shmem_set_lock and shmem_clear_lock of OpenSHMEM for bench/peers. Where a lock lives is the library's business,
 * so each of a row of locks is tried for a moment, and the slowest for PE 1 is taken: it lives elsewhere. PE 0 waits
 * in a barrier; the others are the clients. Before anything is timed they count together under the lock, to see
 * that it excludes. Run by oshrun with one process more than clients.
 *
 *   usage: shmem_peer NAME WAY VERSION SECONDS
 */
#include <shmem.h>

#include "peer.h"

enum { COUNTS = 20, TRIES = 200, LOCKS = (int)PEER_CLIENTS_MAX };

static long locks[LOCKS];
static long counter, chosen;
static struct peer_times times;

static int pair(void *arg)
{
    long *lock = arg;
    shmem_set_lock(lock);
    shmem_clear_lock(lock);
    return 0;
}

static long slowest(int n)
{
    uint64_t most = 0;
    long which = 0;
    for (int i = 0; i < n; i++) {
        uint64_t begin = peer_now();
        for (int k = 0; k < TRIES; k++)
            pair(&locks[i]);
        uint64_t took = peer_now() - begin;
        if (took > most) {
            most = took;
            which = i;
        }
    }
    return which;
}

static void count(long *lock)
{
    for (int i = 0; i < COUNTS; i++) {
        shmem_set_lock(lock);
        long value = shmem_long_g(&counter, 0);
        shmem_long_p(&counter, value + 1, 0);
        shmem_quiet();
        shmem_clear_lock(lock);
    }
}

int main(int argc, char **argv)
{
    shmem_init();
    int me = shmem_my_pe(), n = shmem_n_pes(), bad = 0;
    if (argc < 5 || n < 2 || n > (int)PEER_CLIENTS_MAX) {
        shmem_finalize();
        return 2;
    }
    shmem_barrier_all();
    if (me == 1) {
        long which = slowest(n);
        for (int pe = 0; pe < n; pe++)
            shmem_long_p(&chosen, which, pe);
    }
    shmem_barrier_all();
    if (me)
        count(&locks[chosen]);
    shmem_barrier_all();
    if (me)
        peer_measure(atof(argv[4]), pair, &locks[chosen], &times);
    shmem_barrier_all();
    if (!me) {
        struct peer_times *all = calloc((size_t)n, sizeof(*all));
        for (int pe = 1; pe < n; pe++)
            shmem_getmem(&all[pe - 1], &times, sizeof(times), pe);
        bad = counter != (long)COUNTS * (n - 1);
        bad |= peer_print(argv[1], argv[2], argv[3], all, (unsigned)n - 1,
                          bad ? "NOT EXCLUSIVE" : "exclusive");
        free(all);
    }
    shmem_barrier_all();
    /* Ends all of them. Not shmem_finalize, in which Open MPI 4.1.4 is killed by a signal here. */
    shmem_global_exit(bad);
    return bad;
}
