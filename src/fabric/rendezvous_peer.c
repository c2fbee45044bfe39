/* SPDX-License-Identifier: MIT */
/*
 * The thread of a rendezvous: takes connections, reads what comes, notices who is gone. It blocks all
 * signals: they are the program's.
 *
 * A connection that does not do what it should is closed, and nothing else happens: a stranger was
 * nobody yet, and a member counts as dead.
 */
#include "fabric/rendezvous.h"

#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

#define MS_NS UINT64_C(1000000)

/* ---- Peers */

struct rv_peer *baton_rv_peer_create(int fd)
{
    struct rv_peer *p = calloc(1, sizeof(*p));
    if (p)
        p->fd = fd;
    return p;
}

void baton_rv_peer_destroy(struct rv_peer *p)
{
    close(p->fd);
    baton_net_link_fini(&p->link);
    free(p);
}

int baton_rv_peer_add(struct rv *rv, struct rv_peer *p)
{
    if (rv->peers_n == rv->peers_room) {
        unsigned room = rv->peers_room ? 2 * rv->peers_room : 16;
        struct rv_peer **peers = realloc(rv->peers, room * sizeof(*peers));
        if (!peers)
            return -ENOMEM;
        rv->peers = peers;
        rv->peers_room = room;
    }
    rv->peers[rv->peers_n++] = p;
    return 0;
}

void baton_rv_say(struct rv_peer *p, const struct net_message *m)
{
    if (p->broken)
        return;
    int rc = baton_net_link_send(&p->link, m);
    if (!rc)
        rc = baton_rv_send(p);
    p->broken = rc;
}

void baton_rv_wake(struct rv *rv)
{
    uint64_t one = 1;
    /* It can only fail when the thread has been woken so often that it surely is awake. */
    if (write(rv->wake, &one, sizeof(one)) < 0)
        return;
}

void baton_rv_peer_adopt(struct rv *rv, struct rv_peer *p)
{
    p->member = true;
    for (unsigned i = p->first; i < p->first + p->count; i++)
        baton_net_store_alive(rv->net, i, p->life);
    baton_rv_dump(rv, p);
}

static struct rv_peer *member_of(struct rv *rv, unsigned node)
{
    for (unsigned i = 0; i < rv->peers_n; i++) {
        struct rv_peer *p = rv->peers[i];
        if (p->member && node >= p->first && node - p->first < p->count)
            return p;
    }
    return NULL;
}

/* ---- Who is gone */

static void note_gone(struct rv *rv, const struct rv_peer *p, enum baton_node_state how)
{
    struct rv_gone *g = calloc(1, sizeof(*g));
    if (!g) /* the nodes then seem alive until somebody takes their numbers */
        return;
    *g = (struct rv_gone){.first = p->first, .count = p->count, .how = how};
    *rv->gone_end = g;
    rv->gone_end = &g->next;
}

/* Called with the lock held, and lets it go meanwhile: the watcher may use the net. */
static void tell_gone(struct rv *rv)
{
    struct rv_gone *g = rv->gone;
    rv->gone = NULL;
    rv->gone_end = &rv->gone;
    if (!g)
        return;
    pthread_mutex_unlock(&rv->lock);
    while (g) {
        struct rv_gone *next = g->next;
        for (unsigned i = g->first; i < g->first + g->count; i++)
            baton_net_store_gone(rv->net, i, g->how);
        free(g);
        g = next;
    }
    pthread_mutex_lock(&rv->lock);
}

void baton_rv_drop(struct rv *rv, struct rv_peer *p)
{
    unsigned at = 0;
    while (rv->peers[at] != p)
        at++;
    memmove(rv->peers + at, rv->peers + at + 1, (--rv->peers_n - at) * sizeof(*rv->peers));
    if (p->member) {
        struct net_message gone = {.type = NET_GONE,
                                   .node = (uint16_t)p->first,
                                   .count = (uint16_t)p->count,
                                   .life = p->life};
        note_gone(rv, p, p->bye ? BATON_NODE_LEFT : BATON_NODE_DEAD);
        baton_rv_owes_nothing(rv, p);
        for (unsigned i = 0; rv->founder && i < rv->peers_n; i++)
            if (rv->peers[i]->member)
                baton_rv_say(rv->peers[i], &gone);
    }
    baton_rv_peer_destroy(p);
    pthread_cond_broadcast(&rv->heard);
}

/* ---- What comes */

static void refuse(struct rv_peer *p, int rc)
{
    struct net_message m = {.type = NET_REFUSE, .rc = rc};
    strncpy(m.text, baton_error_detail(), NET_TEXT_MAX);
    baton_rv_say(p, &m);
}

/* A member that we do not know says who it is; the hello is proved. */
static int meet(struct rv *rv, struct rv_peer *p)
{
    const struct net_hello *h = &p->link.peer;
    if (rv->founder || memcmp(h->cluster, rv->me.cluster, NET_CLUSTER_BYTES))
        return baton_fail(-EPROTO, "it is of another cluster");
    if (h->to != rv->me.node || h->to_life != rv->me.life)
        return baton_fail(-EPROTO, "it wants node %u in life %u", h->to, (unsigned)h->to_life);
    if (!h->count || h->node >= rv->net->nodes || h->count > rv->net->nodes - h->node)
        return baton_fail(-EPROTO, "it is nodes %u to %u", h->node, h->node + h->count - 1);
    for (unsigned i = h->node; i < (unsigned)h->node + h->count; i++) {
        if (baton_net_is_local(rv->net, i) || h->life <= baton_net_life(rv->net, i))
            return baton_fail(-EPROTO, "node %u is somebody else", i);
        /* Node 0 has given the number away again, so whoever had it is no more. */
        struct rv_peer *before = member_of(rv, i);
        if (before)
            baton_rv_drop(rv, before);
    }
    tell_gone(rv);
    p->first = h->node;
    p->count = h->count;
    p->life = h->life;
    baton_rv_peer_adopt(rv, p);
    return 0;
}

static int stranger_says(struct rv *rv, struct rv_peer *p, const struct net_message *m)
{
    const struct net_hello *h = &p->link.peer;
    if (m->type == NET_OPENED && h->purpose == NET_TO_MEET)
        return meet(rv, p);
    if (m->type == NET_OPENED && h->purpose == NET_TO_JOIN)
        return 0;
    if (m->type == NET_JOIN && h->purpose == NET_TO_JOIN)
        return rv->founder
                   ? baton_rv_admit(rv, p, m)
                   : baton_fail(-EOPNOTSUPP, "node %u is not node 0, which lets others join",
                                rv->me.node);
    return baton_fail(-EPROTO, "a message of type %u from a stranger", m->type);
}

static int member_says(struct rv *rv, struct rv_peer *p, const struct net_message *m)
{
    bool about = m->type == NET_BLOB || m->type == NET_CLAIM || m->type == NET_NAME ||
                 m->type == NET_WITHDRAW;
    if (about && (m->node < p->first || m->node - p->first >= p->count))
        return baton_fail(-EPROTO, "node %u speaks for node %u", p->first, m->node);
    switch (m->type) {
    case NET_BLOB:
        return baton_net_store_blob(rv->net, m->node, m->key, m->bytes, m->size);
    case NET_SYNCED:
        p->synced = true;
        pthread_cond_broadcast(&rv->heard);
        return 0;
    case NET_CLAIM:
        baton_rv_claim(rv, p, m);
        return 0;
    case NET_NAME:
        baton_rv_name_came(rv, p, m);
        return 0;
    case NET_WITHDRAW:
        baton_rv_withdrawn(rv, p, m);
        return 0;
    case NET_ANSWER:
        baton_rv_answer(rv, p, m);
        return 0;
    case NET_GONE:
        if (p->first == 0 && rv->gone_life[m->node] < m->life)
            rv->gone_life[m->node] = m->life;
        pthread_cond_broadcast(&rv->heard);
        return 0;
    case NET_BYE:
        p->bye = true;
        return baton_fail(-ECONNRESET, "node %u leaves", p->first);
    default:
        return baton_fail(-EPROTO, "a message of type %u from a member", m->type);
    }
}

int baton_rv_hear(struct rv *rv, struct rv_peer *p)
{
    struct net_message m;
    int rc;
    while ((rc = baton_net_link_next(&p->link, &m)) > 0) {
        if (p->member) {
            rc = member_says(rv, p, &m);
        } else {
            rc = stranger_says(rv, p, &m);
            if (rc < 0)
                refuse(p, rc);
        }
        if (rc < 0)
            return rc;
        /* Sending is what makes room for more to send. */
        if (p->broken)
            return p->broken;
    }
    if (rc == 0)
        rc = baton_rv_send(p);
    return rc;
}

static int serve(struct rv *rv, struct rv_peer *p, short events)
{
    int rc = p->broken;
    if (!rc && events & POLLOUT)
        rc = baton_rv_send(p);
    if (!rc && events & (POLLIN | POLLHUP | POLLERR)) {
        rc = baton_rv_receive(p);
        if (rc > 0)
            rc = baton_rv_hear(rv, p);
    }
    if (!rc && !p->member && baton_clock_ns() >= p->deadline_ns)
        rc = -ETIMEDOUT;
    return rc < 0 ? rc : 0;
}

static void take_stranger(struct rv *rv)
{
    unsigned strangers = 0;
    struct rv_peer *oldest = NULL;
    int fd = accept4(rv->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        /* Without descriptors the connection stays in the queue, and poll would not wait. */
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            poll(NULL, 0, 10);
        return;
    }
    baton_rv_tune(fd);
    for (unsigned i = rv->peers_n; i-- > 0;)
        if (!rv->peers[i]->member) {
            strangers++;
            oldest = rv->peers[i];
        }
    if (strangers >= RENDEZVOUS_STRANGERS_MAX)
        baton_rv_drop(rv, oldest);
    struct rv_peer *p = baton_rv_peer_create(fd);
    if (!p) {
        close(fd);
        return;
    }
    p->deadline_ns = baton_clock_ns() + RENDEZVOUS_PROOF_MS * MS_NS;
    if (baton_net_link_init(&p->link, true, rv->key, &rv->me) || baton_rv_peer_add(rv, p))
        baton_rv_peer_destroy(p);
}

/* ---- The thread */

/*
 * Ends members whose machines do not answer. The second look is for machines that stood still themselves:
 * all others seem silent to them, until the kernel has asked again.
 */
static void look_for_silence(struct rv *rv)
{
    uint64_t now = baton_clock_ns(), next = RENDEZVOUS_SILENT_MS;
    if (now < rv->look_ns)
        return;
    for (unsigned i = 0; i < rv->peers_n; i++) {
        struct rv_peer *p = rv->peers[i];
        bool asked;
        unsigned ms = p->member ? baton_rv_silence(p, &asked) : 0;
        uint64_t wait = ms < RENDEZVOUS_SILENT_MS ? RENDEZVOUS_SILENT_MS - ms : RENDEZVOUS_SURE_MS;
        if (ms < RENDEZVOUS_SILENT_MS)
            p->silent_ns = 0;
        else if (!p->silent_ns)
            p->silent_ns = now;
        else if (asked && now - p->silent_ns >= RENDEZVOUS_SURE_MS * MS_NS && !p->broken)
            p->broken = -ETIMEDOUT;
        if (wait < next)
            next = wait;
    }
    rv->look_ns = now + next * MS_NS;
}

/* What poll shall watch; also how soon a time is over: a stranger's, or that until the next look. */
static struct pollfd *watch_list(struct rv *rv, nfds_t *n, int *ms)
{
    struct pollfd *list = calloc(rv->peers_n + 2, sizeof(*list));
    uint64_t now = baton_clock_ns(), first = UINT64_MAX;
    if (!list)
        return NULL;
    list[0] = (struct pollfd){rv->wake, POLLIN, 0};
    list[1] = (struct pollfd){rv->listener, POLLIN, 0};
    for (unsigned i = 0; i < rv->peers_n; i++) {
        const struct rv_peer *p = rv->peers[i];
        list[2 + i] = (struct pollfd){p->fd, p->link.out_size ? POLLIN | POLLOUT : POLLIN, 0};
        if (p->broken)
            first = now;
        else if (!p->member && p->deadline_ns < first)
            first = p->deadline_ns;
        else if (p->member && rv->look_ns < first)
            first = rv->look_ns;
    }
    *n = rv->peers_n + 2;
    *ms = first == UINT64_MAX ? -1 : first <= now ? 0 : (int)((first - now) / MS_NS) + 1;
    return list;
}

static void turn(struct rv *rv)
{
    nfds_t n;
    int ms;
    uint64_t count;
    look_for_silence(rv);
    struct pollfd *list = watch_list(rv, &n, &ms);
    if (!list) { /* no memory: what is there stays, and is looked at again */
        pthread_mutex_unlock(&rv->lock);
        poll(NULL, 0, 10);
        pthread_mutex_lock(&rv->lock);
        return;
    }
    pthread_mutex_unlock(&rv->lock);
    int ready = poll(list, n, ms);
    pthread_mutex_lock(&rv->lock);
    if (ready >= 0) {
        if (list[0].revents && read(rv->wake, &count, sizeof(count)) < 0)
            count = 0;
        /* The list is by descriptor, since members may have been dropped on the way. */
        for (nfds_t i = 2; i < n; i++) {
            struct rv_peer *p = NULL;
            for (unsigned k = 0; k < rv->peers_n && !p; k++)
                if (rv->peers[k]->fd == list[i].fd)
                    p = rv->peers[k];
            if (p && serve(rv, p, list[i].revents)) {
                baton_rv_drop(rv, p);
                tell_gone(rv);
            }
        }
        if (list[1].revents)
            take_stranger(rv);
    }
    free(list);
}

static void *run(void *arg)
{
    struct rv *rv = arg;
    pthread_mutex_lock(&rv->lock);
    while (!rv->stop)
        turn(rv);
    pthread_mutex_unlock(&rv->lock);
    return NULL;
}

int baton_rv_start(struct rv *rv)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = -pthread_create(&rv->thread, NULL, run, rv);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? baton_fail(rc, "the thread of the rendezvous can not be made") : 0;
}

/* ---- The end */

void baton_rv_free(struct rv *rv)
{
    while (rv->peers_n)
        baton_rv_peer_destroy(rv->peers[--rv->peers_n]);
    while (rv->gone) {
        struct rv_gone *g = rv->gone;
        rv->gone = g->next;
        free(g);
    }
    if (rv->listener >= 0)
        close(rv->listener);
    if (rv->wake >= 0)
        close(rv->wake);
    pthread_cond_destroy(&rv->heard);
    pthread_mutex_destroy(&rv->lock);
    free(rv->peers);
    free(rv->gone_life);
    sodium_memzero(rv->key, sizeof(rv->key));
    free(rv);
}

/*
 * Says goodbye and waits, for a second at most, until the others have closed: a socket that is closed
 * while something comes in would take the goodbye back.
 */
static void say_bye(struct rv *rv)
{
    uint64_t end = baton_clock_ns() + UINT64_C(1000000000);
    unsigned open = 0;
    for (unsigned i = 0; i < rv->peers_n; i++) {
        struct rv_peer *p = rv->peers[i];
        if (!p->member)
            continue;
        baton_rv_say(p, &(struct net_message){.type = NET_BYE});
        open += !p->broken;
    }
    while (open && baton_clock_ns() < end) {
        open = 0;
        for (unsigned i = 0; i < rv->peers_n; i++) {
            struct rv_peer *p = rv->peers[i];
            char rest[4096];
            if (!p->member || p->broken)
                continue;
            ssize_t n = recv(p->fd, rest, sizeof(rest), MSG_DONTWAIT);
            if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR) || baton_rv_send(p))
                p->broken = -ECONNRESET;
            open += !p->broken;
        }
        if (open)
            poll(NULL, 0, 1);
    }
}

static void transport_close(struct baton_net *net)
{
    struct rv *rv = net->wire;
    pthread_mutex_lock(&rv->lock);
    rv->stop = true;
    pthread_mutex_unlock(&rv->lock);
    baton_rv_wake(rv);
    pthread_join(rv->thread, NULL);
    close(rv->listener); /* who dials now must not wait for us */
    rv->listener = -1;
    say_bye(rv);
    baton_rv_free(rv);
}

/* ---- Addresses */

static int keep_ip(struct sockaddr_storage *out, int rc)
{
    if (rc)
        return baton_fail(-errno, "the address of a connection: %s", strerror(errno));
    if (out->ss_family == AF_INET6)
        ((struct sockaddr_in6 *)out)->sin6_port = 0;
    else
        ((struct sockaddr_in *)out)->sin_port = 0;
    return 0;
}

static int transport_here(struct baton_net *net, struct sockaddr_storage *out)
{
    const struct rv *rv = net->wire;
    socklen_t size = sizeof(*out);
    return keep_ip(out, getsockname(rv->listener, (struct sockaddr *)out, &size));
}

static int transport_address(struct baton_net *net, unsigned node, struct sockaddr_storage *out)
{
    struct rv *rv = net->wire;
    socklen_t size = sizeof(*out);
    pthread_mutex_lock(&rv->lock);
    const struct rv_peer *p = member_of(rv, node);
    int rc = p ? keep_ip(out, getpeername(p->fd, (struct sockaddr *)out, &size))
               : baton_fail(-EHOSTDOWN, "node %u is dead or has left", node);
    pthread_mutex_unlock(&rv->lock);
    return rc;
}

const struct net_transport baton_rv_transport = {.close = transport_close,
                                                 .here = transport_here,
                                                 .address = transport_address,
                                                 .blob_set = baton_rv_blob_set,
                                                 .name_publish = baton_rv_name_publish,
                                                 .name_withdraw = baton_rv_name_withdraw};
