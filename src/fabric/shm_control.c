/* SPDX-License-Identifier: MIT */
/* The life of a shm cluster: founding, joining, leaving, noticing deaths, cleaning. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error.h"
#include "fabric/shm_control.h"
#include "fabric/shm_files.h"
#include "fabric/world.h"

static size_t names_offset(uint64_t nodes)
{
    return sizeof(struct shm_header) + nodes * sizeof(struct shm_node_entry);
}

static size_t control_bytes(uint64_t nodes, uint64_t names)
{
    return names_offset(nodes) + names * sizeof(struct shm_name_entry);
}

static int map_control(struct shm_control *c, uint64_t nodes, size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, c->fd, 0);
    if (memory == MAP_FAILED)
        return baton_fail(-ENOMEM, "cluster %s: %zu bytes of control file can not be mapped: %s",
                          c->name, bytes, strerror(errno));
    c->bytes = bytes;
    c->header = memory;
    c->nodes = (struct shm_node_entry *)((char *)memory + sizeof(struct shm_header));
    c->names = (struct shm_name_entry *)((char *)memory + names_offset(nodes));
    return 0;
}

static void unmap_control(struct shm_control *c)
{
    if (c->header)
        munmap(c->header, c->bytes);
    c->header = NULL;
}

int baton_shm_gate_enter(struct shm_control *c)
{
    pthread_mutex_lock(&c->gate);
    int rc = baton_shm_lock(c->fd, SHM_GATE, true);
    if (rc)
        pthread_mutex_unlock(&c->gate);
    return rc;
}

void baton_shm_gate_leave(struct shm_control *c)
{
    baton_shm_unlock(c->fd, SHM_GATE);
    pthread_mutex_unlock(&c->gate);
}

bool baton_shm_is_own(const struct shm_control *c, unsigned node)
{
    return node - c->own_first < c->own_count;
}

/* ---- Founding (the gate is held) */

static int found(struct shm_control *c, unsigned places)
{
    uint64_t nodes = places ? places : 16, names = 256 + nodes;
    size_t bytes = control_bytes(nodes, names);
    int rc = baton_shm_reserve(c->fd, bytes);
    if (rc)
        return baton_fail(-ENOMEM, "cluster %s: no room for %zu bytes in " SHM_FOLDER ": %s",
                          c->name, bytes, strerror(-rc));
    rc = map_control(c, nodes, bytes);
    if (rc)
        return rc;
    c->header->version = SHM_VERSION;
    c->header->nodes = nodes;
    c->header->names = names;
    baton_word_store(&c->header->magic, SHM_MAGIC);
    return 0;
}

/* A file that living nodes hold: theirs must be our layout. */
static int recognise(struct shm_control *c, off_t size)
{
    struct shm_header h;
    if (pread(c->fd, &h, sizeof(h), 0) != sizeof(h) || h.magic != SHM_MAGIC)
        return baton_fail(-EOPNOTSUPP, "cluster %s: its control file is of an unknown kind",
                          c->name);
    if (h.version != SHM_VERSION)
        return baton_fail(-EOPNOTSUPP, "cluster %s: layout %llu, this library speaks layout %u",
                          c->name, (unsigned long long)h.version, SHM_VERSION);
    if (!h.nodes || h.nodes > BATON_NODES_MAX || h.names > 1u << 20 ||
        control_bytes(h.nodes, h.names) > (uint64_t)size)
        return baton_fail(-EOPNOTSUPP, "cluster %s: its control file is damaged", c->name);
    return map_control(c, h.nodes, control_bytes(h.nodes, h.names));
}

/* Opens the file with the gate held; founds when nobody is there, after removing what the dead left. */
static int open_control(struct shm_control *c, unsigned places)
{
    for (;;) {
        int rc = baton_shm_open_gated(c->name, true, &c->fd);
        if (rc)
            return rc;
        struct stat st;
        int alive = baton_shm_locked(c->fd, SHM_NODE_BYTE(0), BATON_NODES_MAX);
        if (alive < 0 || fstat(c->fd, &st)) {
            rc = alive < 0 ? alive : -errno;
            baton_fail(rc, "cluster %s: its control file can not be looked at: %s", c->name,
                       strerror(-rc));
        } else if (alive) {
            rc = recognise(c, st.st_size);
        } else {
            baton_shm_remove_segments(c->name, -1, NULL, NULL);
            if (!st.st_size) {
                rc = found(c, places);
                if (rc)
                    baton_shm_remove_control(c->name, NULL, NULL);
            } else {
                /* A new file instead of this one: others may have it mapped to look at it. */
                baton_shm_remove_control(c->name, NULL, NULL);
                close(c->fd);
                continue;
            }
        }
        if (rc)
            close(c->fd);
        return rc;
    }
}

/* ---- Joining (the gate is held) */

/* A number whose owner died is given away last: others may still be sorting out what he left. */
static bool is_free(const struct shm_control *c, unsigned node, bool dead_too)
{
    enum baton_node_state s = shm_state_of(baton_word_load(&c->nodes[node].state));
    return s != BATON_NODE_ALIVE && (dead_too || s != BATON_NODE_DEAD);
}

static int pick_numbers(const struct shm_control *c, int first, unsigned count, unsigned *out)
{
    unsigned places = (unsigned)c->header->nodes;
    if (count > places || (first >= 0 && (unsigned)first > places - count))
        return baton_fail(-EINVAL, "cluster %s has %u places: no room for %u from number %d",
                          c->name, places, count, first < 0 ? 0 : first);
    if (first >= 0) {
        for (unsigned i = (unsigned)first; i < (unsigned)first + count; i++)
            if (!is_free(c, i, true))
                return baton_fail(-EBUSY, "cluster %s: number %u is taken by process %llu", c->name,
                                  i, (unsigned long long)baton_word_load(&c->nodes[i].pid));
        *out = (unsigned)first;
        return 0;
    }
    for (int dead_too = 0; dead_too < 2; dead_too++) {
        unsigned run = 0;
        for (unsigned i = 0; i < places; i++) {
            run = is_free(c, i, dead_too) ? run + 1 : 0;
            if (run == count) {
                *out = i + 1 - count;
                return 0;
            }
        }
    }
    unsigned taken = 0;
    for (unsigned i = 0; i < places; i++)
        taken += !is_free(c, i, true);
    return baton_fail(-EBUSY, "cluster %s has %u places, %u are taken: no room for %u more",
                      c->name, places, taken, count);
}

static void forget_segments(struct shm_control *c, unsigned node)
{
    for (unsigned s = 0; s < BATON_SEGMENTS_MAX; s++)
        baton_word_store(&c->nodes[node].segments[s].base, 0);
    baton_shm_remove_segments(c->name, (int)node, NULL, NULL);
}

static int take_number(struct shm_control *c, unsigned node)
{
    struct shm_node_entry *e = &c->nodes[node];
    int rc = baton_shm_lock(c->fd, SHM_NODE_BYTE(node), false);
    if (rc)
        return baton_fail(rc == -EAGAIN ? -EBUSY : rc, "cluster %s: number %u can not be taken: %s",
                          c->name, node, strerror(-rc));
    forget_segments(c, node);
    if (!e->next_base)
        baton_word_store(&e->next_base, BATON_PAGE);
    if (baton_word_load(&c->header->used) <= node)
        baton_word_store(&c->header->used, node + 1);
    baton_word_store(&e->pid, (uint64_t)getpid());
    uint64_t was = baton_word_load(&e->state);
    baton_word_store(&e->state, shm_state_make(BATON_NODE_ALIVE, shm_deaths_of(was),
                                               shm_incarnation_of(was) + 1));
    return 0;
}

static void give_number_back(struct shm_control *c, unsigned node)
{
    struct shm_node_entry *e = &c->nodes[node];
    baton_shm_names_drop(c, node);
    forget_segments(c, node);
    uint64_t was = baton_word_load(&e->state);
    baton_word_store(&e->state,
                     shm_state_make(BATON_NODE_LEFT, shm_deaths_of(was), shm_incarnation_of(was)));
    baton_shm_unlock(c->fd, SHM_NODE_BYTE(node));
}

/* Whoever finds no living node under the gate is the last one, and leaves nothing. */
static void remove_if_empty(struct shm_control *c)
{
    if (baton_shm_locked(c->fd, SHM_NODE_BYTE(0), BATON_NODES_MAX) != 0)
        return;
    baton_shm_remove_segments(c->name, -1, NULL, NULL);
    baton_shm_remove_control(c->name, NULL, NULL);
}

/* ---- Deaths */

/* Only the state is changed without the gate: by one compare-and-swap, which one of all lookers wins. */
bool baton_shm_mark_deaths(struct shm_control *c)
{
    bool any = false;
    unsigned used = (unsigned)baton_word_load(&c->header->used);
    for (unsigned i = 0; i < used; i++) {
        uint64_t was = baton_word_load(&c->nodes[i].state);
        if (shm_state_of(was) != BATON_NODE_ALIVE || baton_shm_is_own(c, i) ||
            baton_shm_locked(c->fd, SHM_NODE_BYTE(i), 1) != 0)
            continue;
        uint64_t dead =
            shm_state_make(BATON_NODE_DEAD, shm_deaths_of(was) + 1, shm_incarnation_of(was));
        any |= baton_word_cas(&c->nodes[i].state, was, dead) == was;
    }
    return any;
}

bool baton_shm_clean_dead(struct shm_control *c)
{
    if (pthread_mutex_trylock(&c->gate))
        return false;
    bool entered = !baton_shm_lock(c->fd, SHM_GATE, false);
    unsigned used = entered ? (unsigned)baton_word_load(&c->header->used) : 0;
    for (unsigned i = 0; i < used; i++)
        if (shm_state_of(baton_word_load(&c->nodes[i].state)) == BATON_NODE_DEAD)
            forget_segments(c, i);
    if (entered)
        baton_shm_unlock(c->fd, SHM_GATE);
    pthread_mutex_unlock(&c->gate);
    return entered;
}

/* ---- Open and close */

int baton_shm_control_open(struct shm_control *c, const char *name, unsigned places, int first,
                           unsigned count)
{
    unsigned start = 0, taken = 0;
    memset(c, 0, sizeof(*c));
    if (!name || !baton_shm_name_ok(name))
        return baton_fail(-EINVAL, "cluster name \"%.60s\": 1 to %u of a-z 0-9 _ - are possible",
                          name ? name : "", BATON_NAME_MAX);
    strcpy(c->name, name);
    int rc = -pthread_mutex_init(&c->gate, NULL);
    if (rc)
        return rc;
    rc = open_control(c, places);
    if (rc)
        goto no_file;
    baton_shm_mark_deaths(c);
    rc = pick_numbers(c, first, count, &start);
    for (; !rc && taken < count; taken++)
        if ((rc = take_number(c, start + taken)))
            break;
    if (rc)
        goto no_number;
    c->own_first = start;
    c->own_count = count;
    baton_shm_unlock(c->fd, SHM_GATE);
    return 0;
no_number:
    while (taken--)
        give_number_back(c, start + taken);
    remove_if_empty(c);
    unmap_control(c);
    close(c->fd);
no_file:
    pthread_mutex_destroy(&c->gate);
    return rc;
}

void baton_shm_control_close(struct shm_control *c)
{
    /* Without the gate nothing may be changed; the others then see this node die, which is safe. */
    if (!baton_shm_gate_enter(c)) {
        for (unsigned i = 0; i < c->own_count; i++)
            give_number_back(c, c->own_first + i);
        remove_if_empty(c);
        baton_shm_gate_leave(c);
    }
    unmap_control(c);
    close(c->fd);
    pthread_mutex_destroy(&c->gate);
}
