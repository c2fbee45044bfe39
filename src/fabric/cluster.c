/* SPDX-License-Identifier: MIT */
/* Clusters and their local nodes: what is the same for every world. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/world.h"

static const struct baton_world_ops *world_find(const char *name)
{
    for (const struct baton_world_ops *const *w = baton_worlds; *w; w++)
        if (name && !strcmp((*w)->name, name))
            return *w;
    return NULL;
}

const char *baton_fabric_unavailable(const char *fabric)
{
    const struct baton_world_ops *w = world_find(fabric);
    if (!w)
        return "this build has no such fabric";
    return w->unavailable ? w->unavailable() : NULL;
}

struct baton_node *baton_cluster_add_node(struct baton_cluster *cluster, unsigned index)
{
    struct baton_node *node = calloc(1, sizeof(*node));
    if (!node)
        return NULL;
    node->died_at = calloc(cluster->nodes, sizeof(*node->died_at));
    if (!node->died_at || pthread_mutex_init(&node->lock, NULL)) {
        free(node->died_at);
        free(node);
        return NULL;
    }
    node->cluster = cluster;
    node->index = index;
    node->next_base = BATON_PAGE;
    cluster->local[index] = node;
    if (!cluster->local_count++ || index < cluster->first)
        cluster->first = index;
    return node;
}

static void free_nodes(struct baton_cluster *cluster)
{
    for (unsigned i = 0; i < cluster->nodes; i++) {
        struct baton_node *node = cluster->local[i];
        if (!node)
            continue;
        baton_memory_fini(node);
        pthread_mutex_destroy(&node->lock);
        free(node->died_at);
        free(node);
    }
    free(cluster->local);
}

static int check_opts(const struct baton_cluster_opts *opts)
{
    if (!opts || opts->size > sizeof(*opts) ||
        opts->size < offsetof(struct baton_cluster_opts, name))
        return baton_fail(-EINVAL, "the options are of another version of this library");
    if (opts->nodes > BATON_NODES_MAX)
        return baton_fail(-EINVAL, "%u nodes: at most %u are possible", opts->nodes,
                          BATON_NODES_MAX);
    if (opts->flags & ~BATON_CLUSTER_SWAP)
        return baton_fail(-EINVAL, "cluster flags 0x%x: only BATON_CLUSTER_SWAP has a meaning",
                          opts->flags);
    if (opts->first < -1 || opts->first >= (int)BATON_NODES_MAX)
        return baton_fail(-EINVAL, "node %d: numbers are -1 (any) to %u", opts->first,
                          BATON_NODES_MAX - 1);
    return 0;
}

static int no_fabric(const char *name)
{
    char all[64] = "";
    for (const char *const *f = baton_fabrics(); *f; f++) {
        strncat(all, " ", sizeof(all) - strlen(all) - 1);
        strncat(all, *f, sizeof(all) - strlen(all) - 1);
    }
    return baton_fail(-ENOENT, "no fabric \"%.60s\" in this build; there is:%s", name, all);
}

int baton_cluster_open(const struct baton_cluster_opts *given, struct baton_cluster **out)
{
    int rc = check_opts(given);
    if (rc)
        return rc;
    struct baton_cluster_opts own = {0}, *opts = &own;
    memcpy(opts, given, given->size);
    opts->size = sizeof(*opts);
    const char *name = opts->fabric ? opts->fabric : "shm";
    const struct baton_world_ops *world = world_find(name);
    if (!world)
        return no_fabric(name);
    const char *why = baton_fabric_unavailable(name);
    if (why)
        return baton_fail(-EOPNOTSUPP, "fabric %s: %s", name, why);

    struct baton_cluster *cluster = calloc(1, sizeof(*cluster));
    if (!cluster)
        return -ENOMEM;
    cluster->ops = world;
    cluster->nodes = opts->nodes ? opts->nodes : 16;
    cluster->arena_bytes = opts->arena_bytes ? opts->arena_bytes : (size_t)4 << 20;
    cluster->local = calloc(BATON_NODES_MAX, sizeof(*cluster->local));
    if (!cluster->local) {
        free(cluster);
        return -ENOMEM;
    }
    rc = world->open(cluster, opts);
    if (rc) {
        free_nodes(cluster);
        free(cluster);
        return rc;
    }
    for (unsigned i = 0; i < cluster->nodes && !rc; i++)
        if (cluster->local[i])
            rc = baton_arena_init(cluster->local[i], cluster->arena_bytes);
    if (rc) {
        baton_cluster_close(cluster);
        return rc;
    }
    *out = cluster;
    return 0;
}

int baton_cluster_close(struct baton_cluster *cluster)
{
    for (unsigned i = 0; i < cluster->nodes; i++) {
        const struct baton_node *node = cluster->local[i];
        if (node && baton_word_load(&node->endpoints))
            return baton_fail(-EBUSY, "node %u has open endpoints", i);
        /* Who leaves has not died: others would wait for ever for a lock that he has kept. */
        if (node && node->tables)
            return baton_fail(-EBUSY, "node %u has open tables of locks", i);
    }
    for (unsigned i = 0; i < cluster->nodes; i++)
        if (cluster->local[i])
            baton_memory_fini(cluster->local[i]);
    cluster->ops->close(cluster);
    free_nodes(cluster);
    free(cluster);
    return 0;
}

struct baton_node *baton_cluster_node(struct baton_cluster *cluster, unsigned index)
{
    return index < cluster->nodes ? cluster->local[index] : NULL;
}

struct baton_node *baton_cluster_self(struct baton_cluster *cluster)
{
    return cluster->local[cluster->first];
}

unsigned baton_cluster_nodes(const struct baton_cluster *cluster)
{
    return cluster->nodes;
}

unsigned baton_node_index(const struct baton_node *node)
{
    return node->index;
}

enum baton_node_state baton_node_state(struct baton_cluster *cluster, unsigned index)
{
    return index < cluster->nodes ? cluster->ops->node_state(cluster, index) : BATON_NODE_ABSENT;
}

void baton_cluster_caps(const struct baton_cluster *cluster, struct baton_caps *out)
{
    *out = cluster->caps;
}

void baton_node_count_endpoint(struct baton_node *node, int change)
{
    baton_word_faa(&node->endpoints, (uint64_t)(int64_t)change);
}

void baton_node_note_death(struct baton_node *node, unsigned dead)
{
    uint64_t deaths = baton_word_peek(&node->deaths) + 1;
    baton_word_store(&node->died_at[dead], deaths);
    baton_word_store(&node->deaths, deaths);
}

bool baton_node_died_since(const struct baton_node *node, unsigned index, uint64_t deaths)
{
    return baton_word_load(&node->died_at[index]) > deaths;
}

/* ---- Names */

int baton_name_check(const char *name)
{
    size_t n = name ? strnlen(name, BATON_NAME_MAX + 1) : 0;
    if (!n || n > BATON_NAME_MAX)
        return baton_fail(-EINVAL, "a name has 1 to %u characters", BATON_NAME_MAX);
    return 0;
}

int baton_name_publish(struct baton_node *node, const char *name, baton_gptr at)
{
    int rc = baton_name_check(name);
    return rc ? rc : node->cluster->ops->name_publish(node, name, at);
}

int baton_name_withdraw(struct baton_node *node, const char *name)
{
    int rc = baton_name_check(name);
    return rc ? rc : node->cluster->ops->name_withdraw(node, name);
}

int baton_name_lookup(struct baton_ep *ep, const char *name, uint64_t deadline_ns, baton_gptr *out)
{
    struct baton_node *node = baton_ep_node(ep);
    int rc = baton_name_check(name);
    if (rc)
        return rc;
    for (;;) {
        baton_gptr at;
        rc = node->cluster->ops->name_find(node, name, &at);
        if (!rc)
            *out = at;
        if (rc != -ENOENT || !deadline_ns)
            return rc;
        if (baton_now(ep) >= deadline_ns)
            return baton_fail(-ETIMEDOUT, "nobody has published the name \"%s\"", name);
        /* Names are for set-up: a plain pause is enough, and works the same in virtual time. */
        baton_delay(ep, 200000);
    }
}

int baton_team_member(struct baton_cluster *cluster, const struct baton_team *team, unsigned index)
{
    struct baton_ep *ep;
    int rc = baton_ep_open(cluster->local[team->node], &ep);
    if (rc)
        return rc;
    rc = team->body(ep, index, team->arg);
    int close_rc = baton_ep_close(ep);
    return rc ? rc : close_rc;
}

int baton_run(struct baton_cluster *cluster, const struct baton_team *teams, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        if (!baton_cluster_node(cluster, teams[i].node) || !teams[i].body)
            return baton_fail(-EINVAL, "team %u: this process is not node %u, or it has no body", i,
                              teams[i].node);
    return cluster->ops->run ? cluster->ops->run(cluster, teams, count)
                             : baton_run_threads(cluster, teams, count);
}
