/* SPDX-License-Identifier: MIT */
/* The copy of a net's knowledge that every process of it holds. */
#include "fabric/net_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

int baton_net_store_create(unsigned nodes, unsigned first, unsigned local, struct baton_net **out)
{
    pthread_condattr_t clock;
    struct baton_net *net = calloc(1, sizeof(*net));
    struct net_node *node = calloc(nodes, sizeof(*node));
    if (!net || !node) {
        free(net);
        free(node);
        return -ENOMEM;
    }
    net->nodes = nodes;
    net->first = first;
    net->local = local;
    net->node = node;
    pthread_mutex_init(&net->lock, NULL);
    pthread_mutex_init(&net->watch_lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&net->changed, &clock);
    pthread_condattr_destroy(&clock);
    *out = net;
    return 0;
}

static void drop_blobs(struct net_node *n)
{
    for (unsigned k = 0; k < BATON_NET_KEYS; k++) {
        free(n->blobs[k]);
        n->blobs[k] = NULL;
    }
}

void baton_net_store_destroy(struct baton_net *net)
{
    while (net->names)
        baton_net_store_drop(net, net->names);
    for (unsigned i = 0; i < net->nodes; i++)
        drop_blobs(&net->node[i]);
    pthread_cond_destroy(&net->changed);
    pthread_mutex_destroy(&net->watch_lock);
    pthread_mutex_destroy(&net->lock);
    free(net->node);
    free(net);
}

bool baton_net_is_local(const struct baton_net *net, unsigned node)
{
    return node >= net->first && node - net->first < net->local;
}

void baton_net_store_alive(struct baton_net *net, unsigned node, uint32_t life)
{
    pthread_mutex_lock(&net->lock);
    baton_word_store(&net->node[node].word, (uint64_t)life << 8 | BATON_NODE_ALIVE);
    pthread_cond_broadcast(&net->changed);
    pthread_mutex_unlock(&net->lock);
}

/* Called with watch_lock held. */
static void tell(struct baton_net *net, unsigned node, enum baton_node_state how)
{
    for (unsigned i = net->first; i < net->first + net->local; i++)
        if (how == BATON_NODE_DEAD && net->cluster->local[i])
            baton_node_note_death(net->cluster->local[i], node);
    if (net->gone)
        net->gone(net->gone_arg, node, how);
}

void baton_net_store_gone(struct baton_net *net, unsigned node, enum baton_node_state how)
{
    struct net_node *n = &net->node[node];
    pthread_mutex_lock(&net->watch_lock);
    pthread_mutex_lock(&net->lock);
    baton_word_store(&n->word, (baton_word_peek(&n->word) & ~UINT64_C(255)) | (uint64_t)how);
    drop_blobs(n);
    for (struct net_name *name = net->names, *next; name; name = next) {
        next = name->next;
        if (name->node == node)
            baton_net_store_drop(net, name);
    }
    pthread_cond_broadcast(&net->changed);
    pthread_mutex_unlock(&net->lock);
    if (net->cluster)
        tell(net, node, how);
    else
        n->untold = true;
    pthread_mutex_unlock(&net->watch_lock);
}

void baton_net_watch(struct baton_net *net, struct baton_cluster *cluster, baton_net_gone_fn *gone,
                     void *arg)
{
    pthread_mutex_lock(&net->watch_lock);
    net->cluster = cluster;
    net->gone = gone;
    net->gone_arg = arg;
    for (unsigned i = 0; i < net->nodes; i++)
        if (net->node[i].untold) {
            net->node[i].untold = false;
            tell(net, i, baton_net_state(net, i));
        }
    pthread_mutex_unlock(&net->watch_lock);
}

int baton_net_store_blob(struct baton_net *net, unsigned node, unsigned key, const void *bytes,
                         size_t size)
{
    struct net_blob *blob = malloc(sizeof(*blob) + size);
    if (!blob)
        return -ENOMEM;
    blob->size = size;
    if (size)
        memcpy(blob->bytes, bytes, size);
    pthread_mutex_lock(&net->lock);
    free(net->node[node].blobs[key]);
    net->node[node].blobs[key] = blob;
    pthread_cond_broadcast(&net->changed);
    pthread_mutex_unlock(&net->lock);
    return 0;
}

struct net_name *baton_net_store_find(struct baton_net *net, const char *text)
{
    struct net_name *n = net->names;
    while (n && strcmp(n->text, text))
        n = n->next;
    return n;
}

struct net_name *baton_net_store_find_of(struct baton_net *net, const char *text, unsigned node)
{
    struct net_name *n = net->names;
    while (n && (n->node != node || strcmp(n->text, text)))
        n = n->next;
    return n;
}

int baton_net_store_add(struct baton_net *net, unsigned node, const char *text, baton_gptr at,
                        bool claim)
{
    struct net_name *n = calloc(1, sizeof(*n));
    if (!n)
        return -ENOMEM;
    n->next = net->names;
    n->at = at;
    n->node = node;
    n->claim = claim;
    strncpy(n->text, text, BATON_NAME_MAX);
    net->names = n;
    pthread_cond_broadcast(&net->changed);
    return 0;
}

void baton_net_store_drop(struct baton_net *net, struct net_name *name)
{
    struct net_name **at = &net->names;
    while (*at != name)
        at = &(*at)->next;
    *at = name->next;
    free(name);
}

bool baton_net_store_wait(struct baton_net *net, uint64_t deadline_ns)
{
    /* Far deadlines do not fit into a time; waking up once in an hour for nothing does no harm. */
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    uint64_t at = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
    if (at >= deadline_ns)
        return false;
    uint64_t until = deadline_ns - at < 3600000000000u ? deadline_ns : at + 3600000000000u;
    struct timespec t = {(time_t)(until / 1000000000u), (long)(until % 1000000000u)};
    pthread_cond_timedwait(&net->changed, &net->lock, &t);
    return true;
}
