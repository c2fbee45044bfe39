/* SPDX-License-Identifier: MIT */
/* What a process keeps of a shm cluster: the control file, mapped segments, the watcher. */
#ifndef BATON_FABRIC_SHM_WORLD_H
#define BATON_FABRIC_SHM_WORLD_H

#include "fabric/shm_control.h"
#include "fabric/world.h"

/*
 * A segment in this process's address space. Shared by the table below and by all endpoints that have
 * used it; whoever gives back the last reference unmaps it. Until then its memory stays, so that an
 * operation that is under way while the segment is destroyed hits memory that nobody else has.
 */
struct shm_map {
    uint64_t base, bytes;
    unsigned rights;
    char *memory;
    const uint64_t *live; /* in the control file: equal to `base` as long as the segment exists */
    uint64_t refs;        /* under shm_world.lock */
};

struct shm_maps {
    struct shm_map *slots[BATON_SEGMENTS_MAX];
};

struct shm_world {
    struct shm_control control;
    struct baton_cluster *cluster;
    pthread_mutex_t lock;   /* maps */
    struct shm_maps **maps; /* by node; null until the first use */

    pthread_t watcher;
    pthread_mutex_t watch_lock;
    pthread_cond_t watch_end;
    bool watch_stop;
    uint64_t *deaths; /* by node; the watcher's: what local nodes have been told */
};

/* Makes the memory of a local node's segment and shows it to the cluster; gives one reference. */
int baton_shm_map_create(struct shm_world *w, unsigned node, unsigned slot,
                         struct baton_segment *s);
void baton_shm_map_destroy(struct shm_world *w, unsigned node, unsigned slot, struct shm_map *map);

/* A reference to the segment of a node that holds `offset`. -EHOSTDOWN, -EKEYREJECTED, -ENOMEM. */
int baton_shm_map_get(struct shm_world *w, unsigned node, uint64_t offset, struct shm_map **out);
void baton_shm_map_put(struct shm_world *w, struct shm_map *map);

/* All that the table holds; no endpoint is open any more. */
void baton_shm_map_fini(struct shm_world *w);

int baton_shm_ep_open(struct baton_epx *ep);
void baton_shm_ep_close(struct baton_epx *ep);

int baton_shm_watch_begin(struct shm_world *w);
void baton_shm_watch_end(struct shm_world *w);

#endif
