/* SPDX-License-Identifier: MIT */
/* Files and locks of shm clusters, below everything that knows what is in a control file. */
#ifndef BATON_FABRIC_SHM_FILES_H
#define BATON_FABRIC_SHM_FILES_H

#include <stdbool.h>
#include <stdint.h>

#include "fabric/shm.h"

#define SHM_FOLDER "/dev/shm"
#define SHM_GATE 0u
#define SHM_NODE_BYTE(n) (1u + (n))

#define SHM_PATH_MAX 128u

void baton_shm_control_path(char path[SHM_PATH_MAX], const char *name);

/* The file of a segment. */
void baton_shm_segment_path(char path[SHM_PATH_MAX], const char *name, unsigned node,
                            uint64_t base);

/*
 * Makes the file that large and takes all its memory now: a page that can not be had later would kill
 * whoever touches it first.
 */
int baton_shm_reserve(int fd, uint64_t bytes);

bool baton_shm_name_ok(const char *name);

/*
 * Opens (create: or makes) the control file of that name and waits for its gate. The file is this user's
 * and is the one that the folder shows under that name. -ENOENT; -EPERM somebody else's.
 */
int baton_shm_open_gated(const char *name, bool create, int *fd);

/* Takes (wait: waits for) one byte; -EAGAIN another process has it. */
int baton_shm_lock(int fd, unsigned byte, bool wait);
void baton_shm_unlock(int fd, unsigned byte);

/* Whether another process holds one of these bytes. -errno when that can not be known. */
int baton_shm_locked(int fd, unsigned byte, unsigned count);

/* Removes the segments of a node (-1: of all nodes) of that cluster; `removed` may be null. */
void baton_shm_remove_segments(const char *name, int node, baton_shm_removed_fn removed, void *arg);

void baton_shm_remove_control(const char *name, baton_shm_removed_fn removed, void *arg);

#endif
