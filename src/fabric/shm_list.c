/* SPDX-License-Identifier: MIT */
/* What the command wants to know of this user's clusters, and cleaning behind killed ones. */
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

static void read_member(const struct shm_node_entry *e, int fd, unsigned node,
                        struct baton_shm_member *out)
{
    *out = (struct baton_shm_member){.node = node,
                                     .state = shm_state_of(baton_word_load(&e->state)),
                                     .pid = baton_word_load(&e->pid)};
    if (out->state == BATON_NODE_ALIVE && baton_shm_locked(fd, SHM_NODE_BYTE(node), 1) == 0)
        out->state = BATON_NODE_DEAD;
    for (unsigned s = 0; s < BATON_SEGMENTS_MAX; s++)
        if (baton_word_load(&e->segments[s].base)) {
            out->segments++;
            out->bytes += baton_word_load(&e->segments[s].bytes);
        }
}

/* The file is mapped without any lock: a control file never shrinks, it is only replaced. */
static int show(const char *name, int fd, const struct shm_header *h, size_t bytes,
                int (*each)(void *, const struct baton_shm_cluster *), void *arg)
{
    struct baton_shm_cluster c = {.name = name};
    struct baton_shm_member *members = NULL;
    const struct shm_node_entry *nodes = (const struct shm_node_entry *)(h + 1);
    uint64_t used = 0;
    if (baton_word_load(&h->magic) == SHM_MAGIC) {
        c.version = h->version;
        c.known = h->version == SHM_VERSION && h->nodes <= (bytes - sizeof(*h)) / sizeof(*nodes);
    }
    if (c.known) {
        c.places = (unsigned)h->nodes;
        used = baton_word_load(&h->used);
        used = used < h->nodes ? used : h->nodes;
        members = calloc(used ? used : 1, sizeof(*members));
        if (!members)
            return -ENOMEM;
    }
    for (unsigned i = 0; i < used; i++) {
        struct baton_shm_member *m = &members[c.members_count];
        read_member(&nodes[i], fd, i, m);
        c.alive += m->state == BATON_NODE_ALIVE;
        c.dead += m->state == BATON_NODE_DEAD;
        c.members_count += m->state != BATON_NODE_ABSENT;
    }
    c.members = members;
    int rc = each(arg, &c);
    free(members);
    return rc;
}

static int show_file(const char *name, int (*each)(void *, const struct baton_shm_cluster *),
                     void *arg)
{
    char path[SHM_PATH_MAX];
    baton_shm_control_path(path, name);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK), rc = 0;
    if (fd < 0)
        return 0; /* gone since the folder was read */
    struct stat st;
    if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid() &&
        (size_t)st.st_size >= sizeof(struct shm_header)) {
        void *memory = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
        if (memory != MAP_FAILED) {
            rc = show(name, fd, memory, (size_t)st.st_size, each, arg);
            munmap(memory, (size_t)st.st_size);
        }
    }
    close(fd);
    return rc;
}

int baton_shm_clusters(int (*each)(void *arg, const struct baton_shm_cluster *cluster), void *arg)
{
    char(*names)[BATON_NAME_MAX + 1];
    int n = baton_shm_names(&names), rc = 0;
    if (n < 0)
        return n;
    for (int i = 0; i < n && !rc; i++)
        rc = show_file(names[i], each, arg);
    free(names);
    return rc;
}

static bool has_files(const char *name)
{
    char(*names)[BATON_NAME_MAX + 1];
    int n = baton_shm_names(&names);
    bool found = false;
    for (int i = 0; i < n; i++)
        found |= !strcmp(names[i], name);
    if (n >= 0)
        free(names);
    return found;
}

int baton_shm_clean(const char *name, baton_shm_removed_fn removed, void *arg)
{
    if (!baton_shm_name_ok(name))
        return baton_fail(-EINVAL, "cluster name \"%.60s\": 1 to %u of a-z 0-9 _ - are possible",
                          name, BATON_NAME_MAX);
    if (!has_files(name))
        return baton_fail(-ENOENT, "there is no cluster \"%s\" of this user", name);
    /* Segments without a control file: making one is the way to lock others out. */
    int fd, rc = baton_shm_open_gated(name, false, &fd);
    bool made = rc == -ENOENT;
    if (made)
        rc = baton_shm_open_gated(name, true, &fd);
    if (rc)
        return rc;
    rc = baton_shm_locked(fd, SHM_NODE_BYTE(0), BATON_NODES_MAX);
    if (rc > 0) {
        rc = baton_fail(-EBUSY, "cluster %s: a node is alive", name);
    } else if (!rc) {
        baton_shm_remove_segments(name, -1, removed, arg);
        baton_shm_remove_control(name, made ? NULL : removed, arg);
    }
    close(fd);
    return rc;
}
