/* SPDX-License-Identifier: MIT */
/*
 * MPI_Win_lock and MPI_Win_unlock for bench/peers: rank 0 has the window and waits in a barrier, where it serves
 * the others, which are the clients. Before anything is timed they count together under the lock, to see that it
 * excludes. Run by mpirun with one process more than clients.
 *
 *   usage: mpi_peer NAME WAY VERSION SECONDS
 */
#include <mpi.h>

#include "peer.h"

enum { COUNTS = 20 };

static MPI_Win window;

static int pair(void *arg)
{
    (void)arg;
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
    MPI_Win_unlock(0, window);
    return 0;
}

static void count(void)
{
    for (int i = 0; i < COUNTS; i++) {
        long value;
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        MPI_Get(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
        MPI_Win_flush(0, window);
        value++;
        MPI_Put(&value, 1, MPI_LONG, 0, 0, 1, MPI_LONG, window);
        MPI_Win_unlock(0, window);
    }
}

int main(int argc, char **argv)
{
    int rank, size, bad = 0;
    long *counter;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc < 5 || size < 2 || size > (int)PEER_CLIENTS_MAX) {
        MPI_Finalize();
        return 2;
    }
    MPI_Win_allocate(rank ? 0 : sizeof(*counter), sizeof(*counter), MPI_INFO_NULL, MPI_COMM_WORLD,
                     &counter, &window);
    if (!rank)
        *counter = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank)
        count();
    MPI_Barrier(MPI_COMM_WORLD);
    struct peer_times *mine = calloc(1, sizeof(*mine)),
                      *all = rank ? NULL : calloc((size_t)size, sizeof(*all));
    if (rank)
        peer_measure(atof(argv[4]), pair, NULL, mine);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Gather(mine, sizeof(*mine), MPI_BYTE, all, sizeof(*mine), MPI_BYTE, 0, MPI_COMM_WORLD);
    if (!rank) {
        MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
        long seen = *counter;
        MPI_Win_unlock(0, window);
        bad = seen != (long)COUNTS * (size - 1);
        bad |= peer_print(argv[1], argv[2], argv[3], all + 1, (unsigned)size - 1,
                          bad ? "NOT EXCLUSIVE" : "exclusive");
    }
    MPI_Win_free(&window);
    free(mine);
    free(all);
    MPI_Finalize();
    return bad;
}
