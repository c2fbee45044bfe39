/* SPDX-License-Identifier: MIT */
/*
 * The world of RDMA NICs: libibverbs, reliable connected queue pairs.
 *
 * Options: device=NAME[+NAME..] (local nodes use them in turn), port=N, gid=N, timeout_ms=N (how long a
 * peer may be silent), allow_torn=1 (locks may open on a device that tears words).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "fabric/verbs_world.h"

#define DEVICES_MAX 16u

/* ---- Names */

struct verbs_names {
    pthread_mutex_t lock;
    struct name {
        struct name *next;
        baton_gptr at;
        unsigned node;
        char text[BATON_NAME_MAX + 1];
    } * first;
};

static struct name **name_at(struct verbs_names *names, const char *text)
{
    struct name **at = &names->first;
    while (*at && strcmp((*at)->text, text))
        at = &(*at)->next;
    return at;
}

static struct verbs_names *names_of(struct baton_node *node)
{
    return ((struct verbs_world *)node->cluster->world)->names;
}

static int world_name_publish(struct baton_node *node, const char *text, baton_gptr at)
{
    struct verbs_names *names = names_of(node);
    struct name *n = calloc(1, sizeof(*n));
    if (!n)
        return -ENOMEM;
    *n = (struct name){.at = at, .node = node->index};
    strncpy(n->text, text, BATON_NAME_MAX);
    pthread_mutex_lock(&names->lock);
    struct name **slot = name_at(names, text);
    bool taken = *slot != NULL;
    if (!taken)
        *slot = n;
    pthread_mutex_unlock(&names->lock);
    if (!taken)
        return 0;
    free(n);
    return baton_fail(-EEXIST, "the name \"%s\" is published already", text);
}

static int world_name_withdraw(struct baton_node *node, const char *text)
{
    struct verbs_names *names = names_of(node);
    pthread_mutex_lock(&names->lock);
    struct name **slot = name_at(names, text), *n = *slot;
    bool ours = n && n->node == node->index;
    if (ours)
        *slot = n->next;
    pthread_mutex_unlock(&names->lock);
    if (!ours)
        return baton_fail(-ENOENT, "node %u has not published the name \"%s\"", node->index, text);
    free(n);
    return 0;
}

static int world_name_find(struct baton_node *node, const char *text, baton_gptr *at)
{
    struct verbs_names *names = names_of(node);
    pthread_mutex_lock(&names->lock);
    struct name *n = *name_at(names, text);
    if (n)
        *at = n->at;
    pthread_mutex_unlock(&names->lock);
    return n ? 0 : baton_fail(-ENOENT, "nobody has published the name \"%s\"", text);
}

/* ---- Nodes */

static enum baton_node_state world_node_state(struct baton_cluster *cluster, unsigned index)
{
    const struct verbs_world *w = cluster->world;
    return index < cluster->nodes && w->nodes[index] ? BATON_NODE_ALIVE : BATON_NODE_ABSENT;
}

int baton_verbs_card(struct verbs_world *w, unsigned node, struct verbs_card *out)
{
    if (world_node_state(w->cluster, node) != BATON_NODE_ALIVE)
        return baton_fail(-EHOSTDOWN, "node %u is dead or absent", node);
    *out = w->nodes[node]->card;
    if (out->magic != VERBS_MAGIC || out->version != VERBS_VERSION)
        return baton_fail(-EOPNOTSUPP,
                          "node %u has another byte order, or another version of this library",
                          node);
    return 0;
}

/* ---- Open, close */

static int number_option(const char *options, const char *name, long least, long most, long *out)
{
    char text[24], *end;
    if (!baton_option(options, name, text, sizeof(text)))
        return 0;
    long value = strtol(text, &end, 10);
    if (!*text || *end || value < least || value > most)
        return baton_fail(-EINVAL, "%s=%s: a number from %ld to %ld is needed", name, text, least,
                          most);
    *out = value;
    return 0;
}

struct settings {
    char devices[256];
    long port, gid, timeout_ms, allow_torn;
};

static int settings_read(const char *options, struct settings *s)
{
    static const char *const known[] = {"device", "port", "gid", "timeout_ms", "allow_torn", NULL};
    *s = (struct settings){.gid = -1, .timeout_ms = 1000};
    int rc = baton_options_check(options, known);
    baton_option(options, "device", s->devices, sizeof(s->devices));
    if (!rc)
        rc = number_option(options, "port", 1, 255, &s->port);
    if (!rc)
        rc = number_option(options, "gid", 0, 255, &s->gid);
    if (!rc)
        rc = number_option(options, "timeout_ms", 10, 600000, &s->timeout_ms);
    if (!rc)
        rc = number_option(options, "allow_torn", 0, 1, &s->allow_torn);
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
    for (unsigned i = 0; w->nodes && i < w->cluster->nodes; i++)
        if (w->nodes[i])
            baton_verbs_node_close(w->nodes[i]);
    for (unsigned i = 0; i < w->devices_n; i++)
        baton_verbs_device_close(&w->devices[i]);
    while (w->names && w->names->first) {
        struct name *n = w->names->first;
        w->names->first = n->next;
        free(n);
    }
    if (w->names)
        pthread_mutex_destroy(&w->names->lock);
    free(w->names);
    free(w->devices);
    free(w->nodes);
    free(w);
}

static int nodes_open(struct verbs_world *w, unsigned first, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        struct baton_node *node = baton_cluster_add_node(w->cluster, first + i);
        if (!node)
            return -ENOMEM;
        int rc =
            baton_verbs_node_open(w, node, &w->devices[i % w->devices_n], &w->nodes[first + i]);
        if (rc)
            return rc;
    }
    return 0;
}

static int world_open(struct baton_cluster *cluster, const struct baton_cluster_opts *opts)
{
    struct settings settings;
    unsigned first = opts->first < 0 ? 0 : (unsigned)opts->first;
    unsigned count = opts->local ? opts->local : cluster->nodes - first;
    int rc = settings_read(opts->options, &settings);
    if (rc)
        return rc;
    if (first >= cluster->nodes || count > cluster->nodes - first)
        return baton_fail(-EINVAL, "nodes %u to %u: the cluster has %u places", first,
                          first + count - 1, cluster->nodes);
    struct verbs_world *w = calloc(1, sizeof(*w));
    if (!w)
        return -ENOMEM;
    w->cluster = cluster;
    w->timeout_ms = (unsigned)settings.timeout_ms;
    w->nodes = calloc(cluster->nodes, sizeof(*w->nodes));
    w->names = calloc(1, sizeof(*w->names));
    cluster->world = w;
    rc = w->nodes && w->names ? -pthread_mutex_init(&w->names->lock, NULL) : -ENOMEM;
    if (!rc)
        rc = devices_open(w, &settings);
    if (!rc)
        cluster->caps = caps_of(w, settings.allow_torn);
    if (!rc)
        rc = nodes_open(w, first, count);
    if (rc)
        world_free(w);
    return rc;
}

static void world_close(struct baton_cluster *cluster)
{
    world_free(cluster->world);
}

static struct verbs_node *node_of(struct baton_node *node)
{
    return ((struct verbs_world *)node->cluster->world)->nodes[node->index];
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
