/* SPDX-License-Identifier: MIT */
/* What the command shows of this user's shm clusters, and how it cleans up behind killed ones. */
#ifndef BATON_FABRIC_SHM_H
#define BATON_FABRIC_SHM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/fabric.h>

struct baton_shm_member {
    unsigned node;
    enum baton_node_state
        state;    /* as its lock says: a killed node is dead before anybody noticed */
    uint64_t pid; /* of the process that is, or last was, this node */
    unsigned segments;
    uint64_t bytes;
};

struct baton_shm_cluster {
    const char *name;
    bool known;       /* false: founded by a version with another layout; the rest is 0 */
    uint64_t version; /* of the layout */
    unsigned places;
    unsigned alive, dead;
    const struct baton_shm_member *members; /* the numbers that were ever taken */
    unsigned members_count;
};

/* Calls `each` for every cluster of this user until it returns something else than 0, and returns that. */
int baton_shm_clusters(int (*each)(void *arg, const struct baton_shm_cluster *cluster), void *arg);

/* A file that was removed, and its size. */
typedef void (*baton_shm_removed_fn)(void *arg, const char *path, uint64_t bytes);

/*
 * Removes what is left of a cluster in which no node is alive, under its exclusive lock. -EBUSY: one is
 * alive, nothing was removed; -ENOENT: nothing of that name; -EPERM.
 */
int baton_shm_clean(const char *name, baton_shm_removed_fn removed, void *arg);

/*
 * Names of this user's clusters that have any file, each once, in order: an array of strings in one
 * allocation that the caller frees. Returns how many, or -errno.
 */
int baton_shm_names(char (**out)[BATON_NAME_MAX + 1]);

#endif
