/* SPDX-License-Identifier: MIT */
/*
 * Segments in this process's address space. A segment of another process is mapped when it is first
 * used; one of this process is used where its owner has it, which also lets a race detector see both.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fabric/shm_files.h"
#include "fabric/shm_world.h"

static void put_locked(struct shm_map *map)
{
    if (--map->refs)
        return;
    munmap(map->memory, map->bytes);
    free(map);
}

static int maps_of(struct shm_world *w, unsigned node, struct shm_maps **out)
{
    if (!w->maps[node])
        w->maps[node] = calloc(1, sizeof(**out));
    *out = w->maps[node];
    return *out ? 0 : -ENOMEM;
}

/* Maps the file with one reference. */
static int map_file(int fd, int prot, struct shm_map map, struct shm_map **out)
{
    struct shm_map *m = malloc(sizeof(*m));
    if (!m)
        return -ENOMEM;
    *m = map;
    m->refs = 1;
    m->memory = mmap(NULL, m->bytes, prot, MAP_SHARED, fd, 0);
    if (m->memory == MAP_FAILED) {
        free(m);
        return -ENOMEM;
    }
    *out = m;
    return 0;
}

/* ---- Own segments */

static int create_file(struct shm_world *w, const char *path, uint64_t bytes)
{
    int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return baton_fail(errno == EEXIST ? -EPERM : -errno, "%s can not be made: %s", path,
                          strerror(errno));
    int rc = baton_shm_reserve(fd, bytes);
    if (rc) {
        unlink(path);
        close(fd);
        return baton_fail(-ENOMEM,
                          "cluster %s: no room for a segment of %llu bytes in " SHM_FOLDER ": %s",
                          w->control.name, (unsigned long long)bytes, strerror(-rc));
    }
    return fd;
}

int baton_shm_map_create(struct shm_world *w, unsigned node, unsigned slot, struct baton_segment *s)
{
    struct shm_node_entry *n = &w->control.nodes[node];
    struct shm_segment_entry *e = &n->segments[slot];
    struct shm_map *map;
    struct shm_maps *maps;
    char path[SHM_PATH_MAX];

    baton_shm_segment_path(path, w->control.name, node, s->base);
    int fd = create_file(w, path, s->bytes);
    if (fd < 0)
        return fd;
    int rc = map_file(
        fd, PROT_READ | PROT_WRITE,
        (struct shm_map){.base = s->base, .bytes = s->bytes, .rights = s->rights, .live = &e->base},
        &map);
    close(fd);
    if (rc)
        goto no_map;
    pthread_mutex_lock(&w->lock);
    rc = maps_of(w, node, &maps);
    if (!rc) {
        if (maps->slots[slot])
            put_locked(maps->slots[slot]);
        maps->slots[slot] = map;
        map->refs++;
    }
    pthread_mutex_unlock(&w->lock);
    if (rc)
        goto no_maps;

    /* First the room is used up for ever, then the segment appears: no base is ever given out twice. */
    baton_word_store(&n->next_base, s->base + s->bytes + BATON_PAGE);
    baton_word_store(&e->bytes, s->bytes);
    baton_word_store(&e->rights, s->rights);
    baton_word_store(&e->base, s->base);
    s->memory = map->memory;
    s->world = map;
    return 0;
no_maps:
    baton_shm_map_put(w, map);
no_map:
    unlink(path);
    return baton_fail(rc, "cluster %s: a segment of %llu bytes can not be mapped", w->control.name,
                      (unsigned long long)s->bytes);
}

/* The file keeps its size: who has it mapped and is in the middle of an operation must not be killed. */
void baton_shm_map_destroy(struct shm_world *w, unsigned node, unsigned slot, struct shm_map *map)
{
    char path[SHM_PATH_MAX];
    baton_word_store(&w->control.nodes[node].segments[slot].base, 0);
    baton_shm_segment_path(path, w->control.name, node, map->base);
    unlink(path);
    pthread_mutex_lock(&w->lock);
    struct shm_maps *maps = w->maps[node];
    if (maps->slots[slot] == map) {
        maps->slots[slot] = NULL;
        map->refs--;
    }
    put_locked(map);
    pthread_mutex_unlock(&w->lock);
}

/* ---- Anybody's segments */

static int map_remote(struct shm_world *w, unsigned node, const struct shm_segment_entry *e,
                      uint64_t base, struct shm_map **out)
{
    char path[SHM_PATH_MAX];
    struct stat st;
    struct shm_map map = {.base = base,
                          .bytes = baton_word_load(&e->bytes),
                          .rights = (unsigned)baton_word_load(&e->rights),
                          .live = &e->base};
    baton_shm_segment_path(path, w->control.name, node, base);
    int fd = open(path, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return errno == ENOENT ? -EKEYREJECTED : -errno;
    int rc = -EKEYREJECTED;
    /* Bytes and rights are this base's if the base has not changed: it is stored last, and only once. */
    if (!fstat(fd, &st) && st.st_uid == geteuid() && baton_word_load(&e->base) == base &&
        (uint64_t)st.st_size >= map.bytes) {
        bool writes = map.rights & (BATON_WRITE | BATON_ATOMIC);
        rc = map_file(fd, writes ? PROT_READ | PROT_WRITE : PROT_READ, map, out);
    }
    close(fd);
    return rc;
}

static int get_locked(struct shm_world *w, unsigned node, uint64_t offset, struct shm_map **out)
{
    struct shm_node_entry *n = &w->control.nodes[node];
    struct shm_maps *maps;
    int rc = maps_of(w, node, &maps), found = -1;
    if (rc)
        return rc;
    for (unsigned s = 0; s < BATON_SEGMENTS_MAX; s++) {
        const struct shm_segment_entry *e = &n->segments[s];
        uint64_t base = baton_word_load(&e->base);
        if (maps->slots[s] && maps->slots[s]->base != base) {
            put_locked(maps->slots[s]);
            maps->slots[s] = NULL;
        }
        if (base && offset >= base && offset - base < baton_word_load(&e->bytes))
            found = (int)s;
    }
    if (found < 0)
        return -EKEYREJECTED;
    struct shm_map **slot = &maps->slots[found];
    if (!*slot) {
        const struct shm_segment_entry *e = &n->segments[found];
        rc = map_remote(w, node, e, baton_word_load(&e->base), slot);
        if (rc)
            return rc;
    }
    (*slot)->refs++;
    *out = *slot;
    return 0;
}

int baton_shm_map_get(struct shm_world *w, unsigned node, uint64_t offset, struct shm_map **out)
{
    pthread_mutex_lock(&w->lock);
    int rc = get_locked(w, node, offset, out);
    pthread_mutex_unlock(&w->lock);
    /* A node that leaves or dies takes its segments along: then that is the cause. */
    if (rc == -EKEYREJECTED &&
        shm_state_of(baton_word_load(&w->control.nodes[node].state)) != BATON_NODE_ALIVE)
        return -EHOSTDOWN;
    return rc;
}

void baton_shm_map_put(struct shm_world *w, struct shm_map *map)
{
    pthread_mutex_lock(&w->lock);
    put_locked(map);
    pthread_mutex_unlock(&w->lock);
}

void baton_shm_map_fini(struct shm_world *w)
{
    for (unsigned node = 0; node < w->cluster->nodes; node++) {
        if (!w->maps[node])
            continue;
        for (unsigned s = 0; s < BATON_SEGMENTS_MAX; s++)
            if (w->maps[node]->slots[s])
                put_locked(w->maps[node]->slots[s]);
        free(w->maps[node]);
    }
    free(w->maps);
}
