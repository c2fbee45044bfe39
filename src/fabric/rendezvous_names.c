/* SPDX-License-Identifier: MIT */
/*
 * Blobs and names among processes.
 *
 * To publish: claim the name in our own store, ask all members, and when none has refused, tell them
 * and wait until all know. A member refuses when one of its own nodes has the name, or claims it and
 * is the lower one; if it is the higher one it gives up its claim. So it does not matter who else is
 * there or dies meanwhile: of two that both succeed, one would have had to agree while it held the
 * name.
 */
#include "fabric/rendezvous.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"

static struct rv *rv_of(struct baton_net *net)
{
    return net->wire;
}

/* ---- Telling */

static void say_blob(struct rv *rv, struct rv_peer *p, unsigned node, unsigned key)
{
    const struct net_blob *b = rv->net->node[node].blobs[key];
    struct net_message m = {.type = NET_BLOB,
                            .node = (uint16_t)node,
                            .key = (uint8_t)key,
                            .bytes = b->bytes,
                            .size = b->size};
    baton_rv_say(p, &m);
}

static struct net_message about_name(uint8_t type, unsigned node, const char *name, baton_gptr at,
                                     uint32_t ticket)
{
    struct net_message m = {.type = type, .node = (uint16_t)node, .at = at, .ticket = ticket};
    snprintf(m.text, sizeof(m.text), "%.*s", (int)BATON_NAME_MAX, name);
    return m;
}

/* All that a new acquaintance has to know of our nodes. */
void baton_rv_dump(struct rv *rv, struct rv_peer *p)
{
    struct baton_net *net = rv->net;
    pthread_mutex_lock(&net->lock);
    for (unsigned i = net->first; i < net->first + net->local; i++)
        for (unsigned k = 0; k < BATON_NET_KEYS; k++)
            if (net->node[i].blobs[k])
                say_blob(rv, p, i, k);
    for (const struct net_name *n = net->names; n; n = n->next)
        if (!n->claim && baton_net_is_local(net, n->node)) {
            struct net_message m = about_name(NET_NAME, n->node, n->text, n->at, 0);
            baton_rv_say(p, &m);
        }
    pthread_mutex_unlock(&net->lock);
    baton_rv_say(p, &(struct net_message){.type = NET_SYNCED});
}

int baton_rv_blob_set(struct baton_net *net, unsigned node, unsigned key)
{
    struct rv *rv = rv_of(net);
    pthread_mutex_lock(&rv->lock);
    pthread_mutex_lock(&net->lock);
    for (unsigned i = 0; i < rv->peers_n; i++)
        if (rv->peers[i]->member)
            say_blob(rv, rv->peers[i], node, key);
    pthread_mutex_unlock(&net->lock);
    pthread_mutex_unlock(&rv->lock);
    baton_rv_wake(rv);
    return 0;
}

/* ---- Answering */

static void answer(struct rv_peer *p, uint32_t ticket, int rc)
{
    if (ticket)
        baton_rv_say(p, &(struct net_message){.type = NET_ANSWER, .ticket = ticket, .rc = rc});
}

/* What a local node has or claims under that name, or null. */
static struct net_name *own(const struct baton_net *net, const char *text)
{
    struct net_name *n = net->names;
    while (n && (!baton_net_is_local(net, n->node) || strcmp(n->text, text)))
        n = n->next;
    return n;
}

/* A claim of a local node gives way. */
static void give_up(struct rv *rv, struct net_name *n)
{
    for (struct rv_call *c = rv->calls; c; c = c->next)
        if (!strcmp(c->name, n->text))
            c->rc = -EEXIST;
    baton_net_store_drop(rv->net, n);
}

void baton_rv_claim(struct rv *rv, struct rv_peer *p, const struct net_message *m)
{
    int rc = 0;
    pthread_mutex_lock(&rv->net->lock);
    struct net_name *n = own(rv->net, m->text);
    if (n && n->claim && m->node < n->node)
        give_up(rv, n);
    else if (n)
        rc = -EEXIST;
    pthread_mutex_unlock(&rv->net->lock);
    answer(p, m->ticket, rc);
}

void baton_rv_name_came(struct rv *rv, struct rv_peer *p, const struct net_message *m)
{
    struct baton_net *net = rv->net;
    pthread_mutex_lock(&net->lock);
    struct net_name *n = own(net, m->text);
    if (n && n->claim)
        give_up(rv, n);
    n = baton_net_store_find_of(net, m->text, m->node);
    if (n)
        baton_net_store_drop(net, n);
    int rc = baton_net_store_add(net, m->node, m->text, m->at, false);
    pthread_mutex_unlock(&net->lock);
    answer(p, m->ticket, rc);
}

void baton_rv_withdrawn(struct rv *rv, struct rv_peer *p, const struct net_message *m)
{
    struct baton_net *net = rv->net;
    pthread_mutex_lock(&net->lock);
    struct net_name *n = baton_net_store_find_of(net, m->text, m->node);
    if (n)
        baton_net_store_drop(net, n);
    pthread_mutex_unlock(&net->lock);
    answer(p, m->ticket, 0);
}

/* ---- Asking */

static void hear(struct rv *rv, struct rv_call *c, const struct rv_peer *p, int rc)
{
    if (!c->owes[p->first])
        return;
    c->owes[p->first] = false;
    c->waiting--;
    if (rc && !c->rc)
        c->rc = rc;
    pthread_cond_broadcast(&rv->heard);
}

void baton_rv_answer(struct rv *rv, struct rv_peer *p, const struct net_message *m)
{
    for (struct rv_call *c = rv->calls; c; c = c->next)
        if (c->ticket == m->ticket)
            hear(rv, c, p, m->rc);
}

/* Whoever is gone agrees with everything. */
void baton_rv_owes_nothing(struct rv *rv, const struct rv_peer *p)
{
    for (struct rv_call *c = rv->calls; c; c = c->next)
        hear(rv, c, p, 0);
}

static int wait_until(struct rv *rv, uint64_t deadline_ns)
{
    struct timespec t = {(time_t)(deadline_ns / 1000000000u), (long)(deadline_ns % 1000000000u)};
    return pthread_cond_timedwait(&rv->heard, &rv->lock, &t);
}

/* Says it to all members and waits for their answers. Called with the lock held. */
static int ask(struct rv *rv, uint8_t type, unsigned node, const char *name, baton_gptr at)
{
    struct rv_call c = {.ticket = ++rv->tickets ? rv->tickets : ++rv->tickets};
    struct net_message m = about_name(type, node, name, at, c.ticket);
    uint64_t deadline = baton_clock_ns() + RENDEZVOUS_ANSWER_MS * UINT64_C(1000000);
    int late = 0;
    snprintf(c.name, sizeof(c.name), "%s", name);
    c.next = rv->calls;
    rv->calls = &c;
    for (unsigned i = 0; i < rv->peers_n; i++)
        if (rv->peers[i]->member) {
            c.owes[rv->peers[i]->first] = true;
            c.waiting++;
            baton_rv_say(rv->peers[i], &m);
        }
    baton_rv_wake(rv);
    while (c.waiting && !late)
        late = wait_until(rv, deadline);
    struct rv_call **at_call = &rv->calls;
    while (*at_call != &c)
        at_call = &(*at_call)->next;
    *at_call = c.next;
    if (c.rc)
        return baton_fail(c.rc, "the name \"%s\" is published already", name);
    return c.waiting ? baton_fail(-ETIMEDOUT, "%u nodes do not answer, but are not dead", c.waiting)
                     : 0;
}

/* Ends the claim of our node, if it still has one: it is the node's name now, or nobody's. */
static bool claim_end(struct baton_net *net, unsigned node, const char *name, bool good)
{
    pthread_mutex_lock(&net->lock);
    struct net_name *n = baton_net_store_find_of(net, name, node);
    bool ours = n && n->claim;
    if (ours && good)
        n->claim = false;
    else if (ours)
        baton_net_store_drop(net, n);
    pthread_mutex_unlock(&net->lock);
    return ours;
}

int baton_rv_name_publish(struct baton_net *net, unsigned node, const char *name, baton_gptr at)
{
    struct rv *rv = rv_of(net);
    pthread_mutex_lock(&rv->lock);
    pthread_mutex_lock(&net->lock);
    int rc = baton_net_store_find(net, name)
                 ? baton_fail(-EEXIST, "the name \"%s\" is published already", name)
                 : baton_net_store_add(net, node, name, at, true);
    pthread_mutex_unlock(&net->lock);
    if (rc)
        goto unlock;
    rc = ask(rv, NET_CLAIM, node, name, at);
    if (!claim_end(net, node, name, !rc) && !rc)
        rc = baton_fail(-EEXIST, "the name \"%s\" is published already", name);
    /* It is ours now, whoever does not answer; that one knows it before anything that we say later. */
    if (!rc && (rc = ask(rv, NET_NAME, node, name, at)) == -ETIMEDOUT)
        rc = 0;
unlock:
    pthread_mutex_unlock(&rv->lock);
    return rc;
}

int baton_rv_name_withdraw(struct baton_net *net, unsigned node, const char *name)
{
    struct rv *rv = rv_of(net);
    int rc = 0;
    pthread_mutex_lock(&rv->lock);
    pthread_mutex_lock(&net->lock);
    struct net_name *n = baton_net_store_find_of(net, name, node);
    if (n && !n->claim)
        baton_net_store_drop(net, n);
    else
        rc = baton_fail(-ENOENT, "node %u has not published the name \"%s\"", node, name);
    pthread_mutex_unlock(&net->lock);
    if (!rc && (rc = ask(rv, NET_WITHDRAW, node, name, 0)) == -ETIMEDOUT)
        rc = 0;
    pthread_mutex_unlock(&rv->lock);
    return rc;
}
