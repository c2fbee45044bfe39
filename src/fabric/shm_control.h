/* SPDX-License-Identifier: MIT */
/*
 * The control file of a shm cluster: who is in it, which segments they export, which names are known.
 *
 *     /dev/shm/baton.UID.NAME.ctl            this file, mapped by every process of the cluster
 *     /dev/shm/baton.UID.NAME.NODE.BASE      one segment; BASE in hexadecimal, never used twice
 *
 * Its locks are open-file-description locks on bytes that need not exist. The kernel gives them back
 * when a process ends, however it ends, so nothing that a dead process held can stay held:
 *
 *     byte 0         the gate: whoever founds, joins, leaves, cleans, or changes names holds it
 *     byte 1 + n     held by the process that is node n, as long as it lives
 *
 * A process may be killed between any two stores into this file, with the gate held. So every change is
 * made visible by one last store, and what was begun and not finished looks as if it had never begun.
 *
 * Magic, version and the two kinds of locks stay what they are in every future layout, so that any
 * version can tell a cluster in use from what a killed one left behind.
 */
#ifndef BATON_FABRIC_SHM_CONTROL_H
#define BATON_FABRIC_SHM_CONTROL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include <baton/fabric.h>

#include "fabric/shm.h"

#define SHM_MAGIC UINT64_C(0x006e6f7461423a29)
#define SHM_VERSION 1u

struct shm_header {
    uint64_t magic; /* stored last */
    uint64_t version;
    uint64_t nodes; /* places, as the founder wanted */
    uint64_t names; /* entries of the name table */
    uint64_t used;  /* no number from this on was ever taken */
    uint64_t pad[3];
};

struct shm_segment_entry {
    uint64_t base; /* 0: free. Stored last when made, cleared first when destroyed */
    uint64_t bytes;
    uint64_t rights;
    uint64_t pad;
};

struct shm_node_entry {
    /*
     *     63          33 32          2 1       0
     *    +--------------+-------------+---------+
     *    | incarnation  |   deaths    |  state  |
     *    +--------------+-------------+---------+
     *
     * One word, so that a death is noticed exactly once by all of those who look for it, and so that
     * nobody takes the number's next owner for the one who died.
     */
    uint64_t state;
    uint64_t pid;
    uint64_t next_base; /* only rises, also when the number changes hands */
    uint64_t pad[5];
    struct shm_segment_entry segments[BATON_SEGMENTS_MAX];
};

#define SHM_NAME_WORDS ((BATON_NAME_MAX + 1) / 8)

struct shm_name_entry {
    uint64_t turn;  /* odd while somebody writes it, or died writing it */
    uint64_t owner; /* number and incarnation of the node; the name dies with it. 0: free */
    uint64_t at;
    uint64_t pad;
    uint64_t name[SHM_NAME_WORDS];
};

struct shm_control {
    char name[BATON_NAME_MAX + 1];
    int fd;
    size_t bytes;
    unsigned own_first, own_count; /* the numbers that this process is */
    struct shm_header *header;
    struct shm_node_entry *nodes;
    struct shm_name_entry *names;
    pthread_mutex_t gate; /* the file's gate is one per process; this one is for its threads */
};

BATON_INLINE enum baton_node_state shm_state_of(uint64_t word)
{
    return (enum baton_node_state)(word & 3);
}

BATON_INLINE uint64_t shm_deaths_of(uint64_t word)
{
    return word >> 2 & 0x7fffffff;
}

BATON_INLINE uint64_t shm_incarnation_of(uint64_t word)
{
    return word >> 33;
}

BATON_INLINE uint64_t shm_state_make(enum baton_node_state state, uint64_t deaths,
                                     uint64_t incarnation)
{
    return incarnation << 33 | (deaths & 0x7fffffff) << 2 | (uint64_t)state;
}

/* Joins the cluster, founding it when there is none, as `count` nodes from number `first` (-1: any). */
int baton_shm_control_open(struct shm_control *c, const char *name, unsigned places, int first,
                           unsigned count);

/* Leaves. The last one removes all files of the cluster. */
void baton_shm_control_close(struct shm_control *c);

int baton_shm_gate_enter(struct shm_control *c);
void baton_shm_gate_leave(struct shm_control *c);

/* Marks the nodes whose process is gone as dead; true if there were some. Waits for nobody. */
bool baton_shm_mark_deaths(struct shm_control *c);

/*
 * Removes the files that dead nodes have left; false if somebody else has the gate, who may be stopped. Those
 * that nobody comes to remove go with the number's next owner, or with the last one to leave.
 */
bool baton_shm_clean_dead(struct shm_control *c);

bool baton_shm_is_own(const struct shm_control *c, unsigned node);

int baton_shm_name_publish(struct shm_control *c, unsigned node, const char *name, baton_gptr at);
int baton_shm_name_withdraw(struct shm_control *c, unsigned node, const char *name);
int baton_shm_name_find(const struct shm_control *c, const char *name, baton_gptr *at);

/* Forgets all names of a node. */
void baton_shm_names_drop(struct shm_control *c, unsigned node);

#endif
