/* SPDX-License-Identifier: MIT */
/* How a process becomes a member, on both sides: the one that comes, and node 0, which numbers it. */
#include "fabric/rendezvous.h"

#include <errno.h>
#include <poll.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/clock.h"

#define RETRY_MS 50

static struct rv *rv_create(const struct rendezvous_opts *opts)
{
    pthread_condattr_t clock;
    struct rv *rv = calloc(1, sizeof(*rv));
    if (!rv)
        return NULL;
    rv->me = (struct net_hello){.version = NET_VERSION, .node = NET_ANY, .to = NET_ANY};
    strncpy(rv->me.fabric, opts->fabric, NET_FABRIC_MAX);
    memcpy(rv->key, opts->key, NET_KEY_BYTES);
    rv->gone_end = &rv->gone;
    rv->gone_life = calloc(BATON_NET_NODES_MAX, sizeof(*rv->gone_life));
    rv->listener = -1;
    rv->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&rv->lock, NULL);
    pthread_condattr_init(&clock);
    pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
    pthread_cond_init(&rv->heard, &clock);
    pthread_condattr_destroy(&clock);
    if (rv->wake < 0 || !rv->gone_life) {
        baton_rv_free(rv);
        return NULL;
    }
    return rv;
}

static int store_create(struct rv *rv, unsigned nodes, unsigned first, unsigned count,
                        uint32_t life)
{
    int rc = baton_net_store_create(nodes, first, count, &rv->net);
    if (rc)
        return rc;
    rv->net->transport = &baton_rv_transport;
    rv->net->wire = rv;
    rv->me.node = (uint16_t)first;
    rv->me.count = (uint16_t)count;
    rv->me.life = life;
    for (unsigned i = first; i < first + count; i++)
        baton_net_store_alive(rv->net, i, life);
    return 0;
}

/* ---- Node 0 */

int baton_rendezvous_found(const struct rendezvous_opts *opts, struct baton_net **out,
                           char where[RENDEZVOUS_ADDRESS])
{
    char host[RENDEZVOUS_ADDRESS], port[8];
    unsigned local = opts->local ? opts->local : 1;
    if (local > opts->nodes)
        return baton_fail(-EINVAL, "%u nodes here: the cluster has %u places", local, opts->nodes);
    int rc = baton_rv_split(opts->at, host, port);
    struct rv *rv = rc ? NULL : rv_create(opts);
    if (!rv)
        return rc ? rc : -ENOMEM;
    rv->founder = true;
    if (sodium_init() < 0) {
        rc = baton_fail(-EIO, "libsodium finds no source of randomness");
        goto free_rv;
    }
    randombytes_buf(rv->me.cluster, NET_CLUSTER_BYTES);
    rc = baton_rv_listen(host, port, &rv->listener);
    if (rc)
        goto free_rv;
    rc = baton_rv_name(rv->listener, host, port);
    if (!rc)
        rc = store_create(rv, opts->nodes, 0, local, 1);
    if (rc)
        goto free_rv;
    if (snprintf(where, RENDEZVOUS_ADDRESS, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port) >=
        (int)RENDEZVOUS_ADDRESS)
        rc = -EINVAL;
    else
        rc = baton_rv_start(rv);
    if (rc)
        goto free_store;
    *out = rv->net;
    return 0;
free_store:
    baton_net_store_destroy(rv->net);
free_rv:
    baton_rv_free(rv);
    return rc;
}

static bool free_range(const struct baton_net *net, unsigned first, unsigned count, bool fresh,
                       uint32_t *life)
{
    *life = 1;
    if (first + count > net->nodes)
        return false;
    for (unsigned i = first; i < first + count; i++) {
        uint32_t lives = baton_net_life(net, i);
        if (baton_net_state(net, i) == BATON_NODE_ALIVE || lives >= RENDEZVOUS_LIVES_MAX ||
            (fresh && lives))
            return false;
        if (lives >= *life)
            *life = lives + 1;
    }
    return true;
}

/* How many of them nobody has, but nobody can take again. */
static unsigned used_up(const struct baton_net *net, unsigned first, unsigned count)
{
    unsigned n = 0;
    for (unsigned i = first; i < first + count && i < net->nodes; i++)
        n += baton_net_state(net, i) != BATON_NODE_ALIVE &&
             baton_net_life(net, i) >= RENDEZVOUS_LIVES_MAX;
    return n;
}

/* The numbers that the new member gets: those that nobody has had yet come first. */
static int assign(const struct baton_net *net, const struct net_message *m, unsigned *first,
                  uint32_t *life)
{
    if (m->node != NET_ANY) {
        *first = m->node;
        if (free_range(net, m->node, m->count, false, life))
            return 0;
        if (used_up(net, m->node, m->count))
            return baton_fail(-EBUSY,
                              "node %u has been taken %u times, no number can be more often: take "
                              "another one, or found a new cluster",
                              m->node, RENDEZVOUS_LIVES_MAX);
        return baton_fail(-EBUSY, "node %u is taken, or is no place of this cluster of %u", m->node,
                          net->nodes);
    }
    for (int fresh = 1; fresh >= 0; fresh--)
        for (*first = 0; *first < net->nodes; ++*first)
            if (free_range(net, *first, m->count, fresh, life))
                return 0;
    unsigned used = used_up(net, 0, net->nodes);
    if (used)
        return baton_fail(-EBUSY,
                          "no room: %u of the %u numbers have been taken %u times, and can not be "
                          "again: found a new cluster",
                          used, net->nodes, RENDEZVOUS_LIVES_MAX);
    return baton_fail(-EBUSY, "all %u places of the cluster are taken", net->nodes);
}

static void tell_member(struct rv_peer *to, unsigned first, unsigned count, uint32_t life,
                        const char *address)
{
    struct net_message m = {
        .type = NET_MEMBER, .node = (uint16_t)first, .count = (uint16_t)count, .life = life};
    strcpy(m.text, address);
    baton_rv_say(to, &m);
}

int baton_rv_admit(struct rv *rv, struct rv_peer *p, const struct net_message *m)
{
    if (strncmp(p->link.peer.fabric, rv->me.fabric, NET_FABRIC_MAX))
        return baton_fail(-EOPNOTSUPP, "this cluster's fabric is %s", rv->me.fabric);
    if (!m->count || strlen(m->text) >= RENDEZVOUS_ADDRESS || !strchr(m->text, ' '))
        return baton_fail(-EPROTO, "a wish to join without a number of nodes or an address");
    int rc = assign(rv->net, m, &p->first, &p->life);
    if (rc)
        return rc;
    p->count = m->count;
    strcpy(p->address, m->text);
    tell_member(p, rv->me.node, rv->me.count, rv->me.life, "");
    for (unsigned i = 0; i < rv->peers_n; i++) {
        const struct rv_peer *q = rv->peers[i];
        if (q->member)
            tell_member(p, q->first, q->count, q->life, q->address);
    }
    struct net_message welcome = {.type = NET_WELCOME,
                                  .node = (uint16_t)p->first,
                                  .count = (uint16_t)p->count,
                                  .nodes = (uint16_t)rv->net->nodes,
                                  .life = p->life,
                                  .bytes = rv->me.cluster,
                                  .size = NET_CLUSTER_BYTES};
    baton_rv_say(p, &welcome);
    baton_rv_peer_adopt(rv, p);
    return 0;
}

/* ---- The one that comes */

struct member {
    unsigned first, count;
    uint32_t life;
    bool missed; /* could not be reached */
    char address[RENDEZVOUS_ADDRESS];
};

/* What node 0 says about the others and about us. */
struct welcome {
    struct member list[BATON_NET_NODES_MAX];
    unsigned n;
    struct net_message last;
    uint8_t cluster[NET_CLUSTER_BYTES];
};

static int open_link(struct rv *rv, const char *host, const char *port,
                     const struct net_hello *hello, uint64_t deadline, struct rv_peer **out)
{
    int fd, rc = baton_rv_dial(host, port, deadline, &fd);
    if (rc)
        return rc;
    struct rv_peer *p = baton_rv_peer_create(fd);
    struct net_message m;
    if (!p)
        return -ENOMEM;
    rc = baton_net_link_init(&p->link, false, rv->key, hello);
    if (!rc)
        rc = baton_rv_await(p, deadline, &m);
    if (rc == -ECONNRESET && p->link.stage == NET_WAIT_PROOF)
        rc = baton_fail(-EPERM, "%s port %s does not accept our proof: the secrets differ", host,
                        port);
    if (rc)
        baton_rv_peer_destroy(p);
    else
        *out = p;
    return rc;
}

/* Processes start in any order, so node 0 may take a while. */
static int reach_node_0(struct rv *rv, const char *at, uint64_t deadline, struct rv_peer **out)
{
    char host[RENDEZVOUS_ADDRESS], port[8];
    struct net_hello hello = rv->me;
    hello.purpose = NET_TO_JOIN;
    int rc = baton_rv_split(at, host, port);
    while (!rc) {
        rc = open_link(rv, host, port, &hello, deadline, out);
        bool early =
            rc == -ECONNREFUSED || rc == -ECONNRESET || rc == -EHOSTUNREACH || rc == -ENETUNREACH;
        if (!early)
            return rc;
        if (baton_clock_ns() + RETRY_MS * UINT64_C(1000000) >= deadline)
            return baton_fail(-ETIMEDOUT, "nobody answers at the rendezvous %s", at);
        poll(NULL, 0, RETRY_MS);
        rc = 0;
    }
    return rc;
}

/* We listen where node 0 reaches us: at our end of the connection to it. */
static int listen_near(struct rv *rv, const struct rv_peer *node_0, char text[NET_TEXT_MAX + 1])
{
    char host[RENDEZVOUS_ADDRESS], port[8];
    int rc = baton_rv_name(node_0->fd, host, port);
    if (!rc)
        rc = baton_rv_listen(host, "0", &rv->listener);
    if (!rc)
        rc = baton_rv_name(rv->listener, host, port);
    if (!rc && snprintf(text, RENDEZVOUS_ADDRESS, "%s %s", host, port) >= (int)RENDEZVOUS_ADDRESS)
        rc = baton_fail(-EINVAL, "the address %s is too long", host);
    return rc;
}

static int refusal(const struct net_message *m)
{
    char text[NET_TEXT_MAX + 1];
    size_t n = 0;
    for (const char *p = m->text; *p; p++)
        text[n++] = *p >= ' ' && *p <= '~' ? *p : '?';
    text[n] = 0;
    return baton_fail(m->rc ? m->rc : -EPROTO, "node 0 refuses: %s", text);
}

static bool all_fit(const struct welcome *w, unsigned nodes)
{
    for (unsigned i = 0; i < w->n; i++)
        if (w->list[i].first + w->list[i].count > nodes)
            return false;
    return true;
}

static int ask_node_0(struct rv *rv, struct rv_peer *node_0, const struct rendezvous_opts *opts,
                      uint64_t deadline, struct welcome *w)
{
    struct net_message m = {.type = NET_JOIN,
                            .node = opts->first < 0 ? NET_ANY : (uint16_t)opts->first,
                            .count = (uint16_t)(opts->local ? opts->local : 1)};
    int rc = listen_near(rv, node_0, m.text);
    if (rc)
        return rc;
    baton_rv_say(node_0, &m);
    for (;;) {
        rc = baton_rv_await(node_0, deadline, &m);
        if (rc)
            return rc;
        if (m.type == NET_REFUSE)
            return refusal(&m);
        if (m.type == NET_MEMBER && w->n < BATON_NET_NODES_MAX && m.count &&
            strlen(m.text) < RENDEZVOUS_ADDRESS) {
            struct member *one = &w->list[w->n++];
            *one = (struct member){.first = m.node, .count = m.count, .life = m.life};
            strcpy(one->address, m.text);
        } else if (m.type == NET_WELCOME && m.size == NET_CLUSTER_BYTES && w->n && m.count &&
                   m.node + m.count <= m.nodes && all_fit(w, m.nodes)) {
            memcpy(w->cluster, m.bytes, NET_CLUSTER_BYTES);
            w->last = m;
            return 0;
        } else {
            return baton_fail(-EPROTO, "node 0 sends a message of type %u to a new member", m.type);
        }
    }
}

/*
 * Makes it a member, unless the number has had a later life since: that one has met us already. More
 * may have come in than the hand-shake.
 */
static int keep(struct rv *rv, struct rv_peer *p, const struct member *who)
{
    int rc = 0;
    pthread_mutex_lock(&rv->lock);
    p->first = who->first;
    p->count = who->count;
    p->life = who->life;
    bool late = false;
    for (unsigned i = p->first; i < p->first + p->count; i++)
        late |= baton_net_life(rv->net, i) >= p->life;
    if (!late)
        rc = baton_rv_peer_add(rv, p);
    if (!late && !rc) {
        baton_rv_peer_adopt(rv, p);
        rc = baton_rv_hear(rv, p);
        if (rc < 0 && !p->broken)
            p->broken = rc;
        rc = 0;
    } else {
        baton_rv_peer_destroy(p);
    }
    pthread_mutex_unlock(&rv->lock);
    baton_rv_wake(rv);
    return rc;
}

/* A process of another cluster may have got the port of one that has died. */
static bool is(const struct rv *rv, const struct rv_peer *p, const struct member *who)
{
    const struct net_hello *h = &p->link.peer;
    return !memcmp(h->cluster, rv->me.cluster, NET_CLUSTER_BYTES) && h->node == who->first &&
           h->count == who->count && h->life == who->life;
}

/* To all that came before us. Our thread runs, so that those who have met us do not wait. */
static int meet_all(struct rv *rv, struct welcome *w, uint64_t deadline)
{
    for (unsigned i = 1; i < w->n; i++) {
        struct member *who = &w->list[i];
        char host[RENDEZVOUS_ADDRESS];
        struct net_hello hello = rv->me;
        struct rv_peer *p = NULL;
        const char *space = strchr(who->address, ' ');
        if (!space)
            return baton_fail(-EPROTO, "node 0 does not tell where node %u is", who->first);
        snprintf(host, sizeof(host), "%.*s", (int)(space - who->address), who->address);
        hello.purpose = NET_TO_MEET;
        hello.to = (uint16_t)who->first;
        hello.to_life = who->life;
        if (open_link(rv, host, space + 1, &hello, deadline, &p)) {
            who->missed = true;
        } else if (!is(rv, p, who)) {
            baton_rv_peer_destroy(p);
            who->missed = true;
        } else {
            int rc = keep(rv, p, who);
            if (rc)
                return rc;
        }
    }
    return 0;
}

/* One that could not be reached has to be reported gone by node 0, or to have come back. */
static bool excused(const struct rv *rv, const struct member *who)
{
    return !who->missed || rv->gone_life[who->first] >= who->life ||
           baton_net_life(rv->net, who->first) > who->life;
}

static bool all_synced(const struct rv *rv, const struct welcome *w)
{
    for (unsigned i = 0; i < rv->peers_n; i++)
        if (rv->peers[i]->member && !rv->peers[i]->synced)
            return false;
    for (unsigned i = 0; i < w->n; i++)
        if (!excused(rv, &w->list[i]))
            return false;
    return true;
}

static int wait_for_all(struct rv *rv, const struct welcome *w, uint64_t deadline)
{
    struct timespec t = {(time_t)(deadline / 1000000000u), (long)(deadline % 1000000000u)};
    int late = 0, rc = 0;
    pthread_mutex_lock(&rv->lock);
    while (!all_synced(rv, w) && !late)
        late = pthread_cond_timedwait(&rv->heard, &rv->lock, &t);
    for (unsigned i = 0; i < w->n && !rc; i++)
        if (!excused(rv, &w->list[i]))
            rc = baton_fail(-EHOSTUNREACH, "node 0 is there, but node %u can not be reached",
                            w->list[i].first);
    if (!rc && !all_synced(rv, w))
        rc = baton_fail(-ETIMEDOUT, "a member does not answer");
    pthread_mutex_unlock(&rv->lock);
    return rc;
}

int baton_rendezvous_join(const struct rendezvous_opts *opts, struct baton_net **out)
{
    uint64_t deadline = baton_clock_ns() + opts->join_ms * UINT64_C(1000000);
    struct rv_peer *node_0 = NULL;
    struct rv *rv = rv_create(opts);
    struct welcome *w = calloc(1, sizeof(*w));
    int rc = rv && w ? 0 : -ENOMEM;
    if (!rc)
        rc = reach_node_0(rv, opts->at, deadline, &node_0);
    if (!rc)
        rc = ask_node_0(rv, node_0, opts, deadline, w);
    if (!rc)
        rc = store_create(rv, w->last.nodes, w->last.node, w->last.count, w->last.life);
    if (rc)
        goto free_node_0;
    memcpy(rv->me.cluster, w->cluster, NET_CLUSTER_BYTES);
    rc = baton_rv_start(rv);
    if (rc)
        goto free_store;
    rc = keep(rv, node_0, &w->list[0]);
    if (!rc)
        rc = meet_all(rv, w, deadline);
    if (!rc)
        rc = wait_for_all(rv, w, deadline);
    free(w);
    if (rc)
        baton_net_close(rv->net);
    else
        *out = rv->net;
    return rc;
free_store:
    baton_net_store_destroy(rv->net);
free_node_0:
    if (node_0)
        baton_rv_peer_destroy(node_0);
    if (rv)
        baton_rv_free(rv);
    free(w);
    return rc;
}
