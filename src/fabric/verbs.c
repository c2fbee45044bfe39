/* SPDX-License-Identifier: MIT */
/*
 * The world of RDMA NICs: libibverbs, reliable connected queue pairs.
 *
 * Options: device=NAME[+NAME..] (local nodes use them in turn), port=N, gid=N, timeout_ms=N (how long a
 * peer may be silent; to a request to connect, four times that), allow_torn=1 (locks may open on a
 * device that tears words), and those of net.h.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "fabric/verbs_world.h"

#define DEVICES_MAX 16u

#define CARD_KEY 0u

static struct verbs_world *world_of(struct baton_node *node)
{
    return node->cluster->world;
}

/* ---- Names */

static int world_name_publish(struct baton_node *node, const char *text, baton_gptr at)
{
    return baton_net_name_publish(world_of(node)->net, node->index, text, at);
}

static int world_name_withdraw(struct baton_node *node, const char *text)
{
    return baton_net_name_withdraw(world_of(node)->net, node->index, text);
}

static int world_name_find(struct baton_node *node, const char *text, baton_gptr *at)
{
    return baton_net_name_find(world_of(node)->net, text, at);
}

/* ---- Nodes */

static enum baton_node_state world_node_state(struct baton_cluster *cluster, unsigned index)
{
    const struct verbs_world *w = cluster->world;
    return baton_net_state(w->net, index);
}

int baton_verbs_card(struct verbs_world *w, unsigned node, uint64_t deadline_ns,
                     struct verbs_card *out)
{
    size_t size;
    if (baton_net_state(w->net, node) != BATON_NODE_ALIVE)
        return baton_fail(-EHOSTDOWN, "node %u is dead or absent", node);
    int rc = baton_net_blob_get(w->net, node, CARD_KEY, out, sizeof(*out), &size, deadline_ns);
    if (rc == -ETIMEDOUT || rc == -ENOENT)
        return -EHOSTDOWN;
    if (!rc && (size != sizeof(*out) || out->magic != VERBS_MAGIC || out->version != VERBS_VERSION))
        rc = -ERANGE;
    return rc == -ERANGE
               ? baton_fail(-EOPNOTSUPP,
                            "node %u has another byte order, or another version of this library",
                            node)
               : rc;
}

/* The far ends of who has gone are of no use any more. */
static void on_gone(void *arg, unsigned node, enum baton_node_state how)
{
    struct verbs_world *w = arg;
    pthread_mutex_lock(&w->lock);
    for (unsigned i = 0; !w->closing && i < w->cluster->nodes; i++)
        if (w->nodes[i])
            baton_verbs_service_sweep(w->nodes[i]);
    pthread_mutex_unlock(&w->lock);
}

/* ---- Open, close */

struct settings {
    char devices[256];
    long port, gid, timeout_ms, allow_torn;
};

static int settings_read(const char *options, struct settings *s)
{
    static const char *const known[] = {
        "device", "port", "gid", "timeout_ms", "allow_torn", BATON_NET_OPTIONS, NULL};
    *s = (struct settings){.gid = -1, .timeout_ms = 1000};
    int rc = baton_options_check(options, known);
    baton_option(options, "device", s->devices, sizeof(s->devices));
    if (!rc)
        rc = baton_option_number(options, "port", 1, 255, &s->port);
    if (!rc)
        rc = baton_option_number(options, "gid", 0, 255, &s->gid);
    if (!rc)
        rc = baton_option_number(options, "timeout_ms", 10, 600000, &s->timeout_ms);
    if (!rc)
        rc = baton_option_number(options, "allow_torn", 0, 1, &s->allow_torn);
    return rc;
}

static int devices_open(struct verbs_world *w, struct settings *s)
{
    char *save = NULL, *name = *s->devices ? strtok_r(s->devices, "+", &save) : NULL;
    w->devices = calloc(DEVICES_MAX, sizeof(*w->devices));
    if (!w->devices)
        return -ENOMEM;
    do {
        if (w->devices_n == DEVICES_MAX)
            return baton_fail(-EINVAL, "more than %u devices", DEVICES_MAX);
        int rc = baton_verbs_device_open(name, (unsigned)s->port, (int)s->gid,
                                         &w->devices[w->devices_n]);
        if (rc)
            return rc;
        w->devices_n++;
    } while (name && (name = strtok_r(NULL, "+", &save)));
    return 0;
}

/* What holds for all devices. */
static struct baton_caps caps_of(const struct verbs_world *w, bool torn_allowed)
{
    struct baton_caps c = {.atomics = BATON_ATOMICS_GLOB,
                           .word_atomic = true,
                           .torn_allowed = torn_allowed,
                           .in_order_placement = true,
                           .chain_order = true,
                           .reads_max = UINT8_MAX,
                           .inline_max = UINT32_MAX};
    for (unsigned i = 0; i < w->devices_n; i++) {
        const struct verbs_device *d = &w->devices[i];
        unsigned reads = d->reads_out < d->reads_in ? d->reads_out : d->reads_in;
        if (d->attr.atomic_cap == IBV_ATOMIC_NONE)
            c.atomics = BATON_ATOMICS_NONE;
        else if (d->attr.atomic_cap == IBV_ATOMIC_HCA && c.atomics == BATON_ATOMICS_GLOB)
            c.atomics = BATON_ATOMICS_HCA;
        c.word_atomic &= !d->software;
        c.in_order_placement &= d->in_order;
        if (reads < c.reads_max)
            c.reads_max = reads;
        if (d->inline_max < c.inline_max)
            c.inline_max = d->inline_max;
    }
    return c;
}

static void world_free(struct verbs_world *w)
{
    pthread_mutex_lock(&w->lock);
    w->closing = true;
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; w->nodes && i < w->cluster->nodes; i++)
        if (w->nodes[i])
            baton_verbs_node_close(w->nodes[i]);
    for (unsigned i = 0; i < w->devices_n; i++)
        baton_verbs_device_close(&w->devices[i]);
    if (w->net)
        baton_net_close(w->net);
    pthread_mutex_destroy(&w->lock);
    free(w->devices);
    free(w->nodes);
    free(w);
}

static int nodes_open(struct verbs_world *w)
{
    unsigned first = baton_net_first(w->net);
    w->nodes = calloc(w->cluster->nodes, sizeof(*w->nodes));
    if (!w->nodes)
        return -ENOMEM;
    for (unsigned i = 0; i < baton_net_local(w->net); i++) {
        struct baton_node *node = baton_cluster_add_node(w->cluster, first + i);
        if (!node)
            return -ENOMEM;
        node->next_base = baton_net_base(w->net, first + i);
        struct verbs_node **n = &w->nodes[first + i];
        int rc = baton_verbs_node_open(w, node, &w->devices[i % w->devices_n], n);
        if (!rc)
            rc = baton_net_blob_set(w->net, first + i, CARD_KEY, &(*n)->card, sizeof((*n)->card));
        if (rc)
            return rc;
    }
    return 0;
}

static int world_open(struct baton_cluster *cluster, const struct baton_cluster_opts *opts)
{
    struct settings settings;
    int rc = settings_read(opts->options, &settings);
    if (rc)
        return rc;
    struct verbs_world *w = calloc(1, sizeof(*w));
    if (!w || pthread_mutex_init(&w->lock, NULL)) {
        free(w);
        return -ENOMEM;
    }
    w->cluster = cluster;
    w->timeout_ms = (unsigned)settings.timeout_ms;
    cluster->world = w;
    rc = devices_open(w, &settings);
    if (!rc)
        rc = baton_net_open(opts, "verbs", &w->net);
    if (!rc) {
        cluster->nodes = baton_net_nodes(w->net);
        cluster->caps = caps_of(w, settings.allow_torn);
        rc = nodes_open(w);
    }
    if (rc)
        world_free(w);
    else
        baton_net_watch(w->net, cluster, on_gone, w);
    return rc;
}

static void world_close(struct baton_cluster *cluster)
{
    world_free(cluster->world);
}

static struct verbs_node *node_of(struct baton_node *node)
{
    return world_of(node)->nodes[node->index];
}

static int world_segment_create(struct baton_node *node, unsigned slot, struct baton_segment *s)
{
    return baton_verbs_segment_create(node_of(node), slot, s);
}

static void world_segment_destroy(struct baton_node *node, unsigned slot, struct baton_segment *s)
{
    baton_verbs_segment_destroy(node_of(node), slot, s);
}

const struct baton_world_ops baton_world_verbs = {.size = sizeof(baton_world_verbs),
                                                  .name = "verbs",
                                                  .unavailable = baton_verbs_unavailable,
                                                  .open = world_open,
                                                  .close = world_close,
                                                  .node_state = world_node_state,
                                                  .segment_create = world_segment_create,
                                                  .segment_destroy = world_segment_destroy,
                                                  .name_publish = world_name_publish,
                                                  .name_withdraw = world_name_withdraw,
                                                  .name_find = world_name_find,
                                                  .ep_open = baton_verbs_ep_open,
                                                  .ep_close = baton_verbs_ep_close};
