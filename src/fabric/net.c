/* SPDX-License-Identifier: MIT */
/* The calls that worlds use: looks into the store, and changes of what is this process's. */
#include "fabric/net.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "fabric/net_bootstrap.h"
#include "fabric/net_store.h"

static int open_here(const struct baton_cluster_opts *opts, struct baton_net **out)
{
    unsigned nodes = opts->nodes ? opts->nodes : 16;
    unsigned first = opts->first < 0 ? 0 : (unsigned)opts->first;
    if (first >= nodes || opts->local > nodes - first)
        return baton_fail(-EINVAL, "nodes %u to %u: the cluster has %u places", first,
                          first + (opts->local ? opts->local - 1 : 0), nodes);
    int rc = baton_net_store_create(nodes, first, opts->local ? opts->local : nodes - first, out);
    for (unsigned i = 0; !rc && i < (*out)->local; i++)
        baton_net_store_alive(*out, first + i, 1);
    return rc;
}

int baton_net_open(const struct baton_cluster_opts *opts, const char *fabric,
                   struct baton_net **out)
{
    if (opts->nodes > BATON_NET_NODES_MAX)
        return baton_fail(-EINVAL, "%u nodes: a cluster of processes has at most %u", opts->nodes,
                          BATON_NET_NODES_MAX);
    int rc = baton_net_bootstrap(opts, fabric, out);
    if (rc <= 0)
        return rc;
    return open_here(opts, out);
}

void baton_net_close(struct baton_net *net)
{
    if (net->transport)
        net->transport->close(net);
    void (*closed)(void) = net->closed;
    baton_net_store_destroy(net);
    if (closed)
        closed();
}

/* ---- Who is there */

unsigned baton_net_nodes(const struct baton_net *net)
{
    return net->nodes;
}

unsigned baton_net_first(const struct baton_net *net)
{
    return net->first;
}

unsigned baton_net_local(const struct baton_net *net)
{
    return net->local;
}

enum baton_node_state baton_net_state(const struct baton_net *net, unsigned node)
{
    return node < net->nodes ? baton_word_load(&net->node[node].word) & 255 : BATON_NODE_ABSENT;
}

static void loopback(struct sockaddr_storage *out)
{
    memset(out, 0, sizeof(*out));
    out->ss_family = AF_INET;
    ((struct sockaddr_in *)out)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
}

int baton_net_here(struct baton_net *net, struct sockaddr_storage *out)
{
    if (net->transport)
        return net->transport->here(net, out);
    loopback(out);
    return 0;
}

int baton_net_address(struct baton_net *net, unsigned node, struct sockaddr_storage *out)
{
    if (net->transport && !baton_net_is_local(net, node))
        return net->transport->address(net, node, out);
    loopback(out);
    return 0;
}

uint32_t baton_net_life(const struct baton_net *net, unsigned node)
{
    return node < net->nodes ? (uint32_t)(baton_word_load(&net->node[node].word) >> 8) : 0;
}

uint64_t baton_net_base(const struct baton_net *net, unsigned node)
{
    /* 2^40 bytes for each life but the last, which may use all of the rest. */
    return BATON_PAGE + ((uint64_t)(baton_net_life(net, node) - 1) << 40);
}

/* ---- Blobs */

int baton_net_blob_set(struct baton_net *net, unsigned node, unsigned key, const void *bytes,
                       size_t size)
{
    if (!baton_net_is_local(net, node) || key >= BATON_NET_KEYS || size > BATON_NET_BLOB_MAX)
        return baton_fail(-EINVAL, "blob %u of node %u, %zu bytes: not possible", key, node, size);
    int rc = baton_net_store_blob(net, node, key, bytes, size);
    return !rc && net->transport ? net->transport->blob_set(net, node, key) : rc;
}

int baton_net_blob_get(struct baton_net *net, unsigned node, unsigned key, void *out, size_t room,
                       size_t *size, uint64_t deadline_ns)
{
    if (node >= net->nodes || key >= BATON_NET_KEYS)
        return baton_fail(-ERANGE, "blob %u of node %u: the cluster has %u places", key, node,
                          net->nodes);
    const struct net_blob *blob;
    int rc = 0;
    pthread_mutex_lock(&net->lock);
    while (!(blob = net->node[node].blobs[key])) {
        enum baton_node_state state = baton_net_state(net, node);
        if (state == BATON_NODE_DEAD || state == BATON_NODE_LEFT)
            rc = baton_fail(-EHOSTDOWN, "node %u is dead or has left", node);
        else if (!deadline_ns)
            rc = baton_fail(-ENOENT, "node %u is not there yet", node);
        else if (!baton_net_store_wait(net, deadline_ns))
            rc = baton_fail(-ETIMEDOUT, "node %u has not come in time", node);
        if (rc)
            goto unlock;
    }
    if (blob->size > room) {
        rc = baton_fail(-ERANGE, "blob %u of node %u has %zu bytes, not up to %zu", key, node,
                        blob->size, room);
        goto unlock;
    }
    memcpy(out, blob->bytes, blob->size);
    if (size)
        *size = blob->size;
unlock:
    pthread_mutex_unlock(&net->lock);
    return rc;
}

/* ---- Names */

int baton_net_name_publish(struct baton_net *net, unsigned node, const char *name, baton_gptr at)
{
    if (net->transport)
        return net->transport->name_publish(net, node, name, at);
    pthread_mutex_lock(&net->lock);
    int rc = baton_net_store_find(net, name)
                 ? baton_fail(-EEXIST, "the name \"%s\" is published already", name)
                 : baton_net_store_add(net, node, name, at, false);
    pthread_mutex_unlock(&net->lock);
    return rc;
}

int baton_net_name_withdraw(struct baton_net *net, unsigned node, const char *name)
{
    if (net->transport)
        return net->transport->name_withdraw(net, node, name);
    int rc = 0;
    pthread_mutex_lock(&net->lock);
    struct net_name *n = baton_net_store_find_of(net, name, node);
    if (n)
        baton_net_store_drop(net, n);
    else
        rc = baton_fail(-ENOENT, "node %u has not published the name \"%s\"", node, name);
    pthread_mutex_unlock(&net->lock);
    return rc;
}

int baton_net_name_find(struct baton_net *net, const char *name, baton_gptr *at)
{
    int rc = 0;
    pthread_mutex_lock(&net->lock);
    const struct net_name *n = baton_net_store_find(net, name);
    if (n && !n->claim)
        *at = n->at;
    else
        rc = baton_fail(-ENOENT, "nobody has published the name \"%s\"", name);
    pthread_mutex_unlock(&net->lock);
    return rc;
}
