/* SPDX-License-Identifier: MIT */
/*
 * What a stranger or a member can say to a process, without sockets and threads between. The first
 * byte chooses:
 *
 *     0  raw bytes to the listener's end of a connection
 *     1  raw bytes to the dialler's end
 *     2  a message as it is read after it has been opened
 *     3  a holder of the secret who means ill: a hello, then messages of its own or of the member
 *        that is there already, each with every field as it likes. Odd second byte: to node 0
 *
 * Nothing may crash, hang or leak; a refused stranger leaves no trace in what the process knows.
 */
#include <assert.h>
#include <sodium.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "fabric/rendezvous.h"

enum { NODES = 6 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const uint8_t key[NET_KEY_BYTES] = {7};

struct input {
    const uint8_t *at, *end;
};

static uint64_t take(struct input *in, unsigned bytes)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < bytes && in->at < in->end; i++)
        value |= (uint64_t)*in->at++ << 8 * i;
    return value;
}

static void raw(bool listener, struct input *in)
{
    static struct net_link link;
    struct net_hello mine = {.version = NET_VERSION};
    struct net_message m;
    int rc = 0;
    if (baton_net_link_init(&link, listener, key, &mine))
        return;
    while (in->at < in->end && rc >= 0) {
        size_t room, n = (size_t)(in->end - in->at);
        uint8_t *to = baton_net_link_room(&link, &room);
        assert(room);
        if (n > room)
            n = room;
        memcpy(to, in->at, n);
        in->at += n;
        baton_net_link_came(&link, n);
        while ((rc = baton_net_link_next(&link, &m)) > 0)
            ;
    }
    /* Nobody opens a connection by chance. */
    assert(link.stage != NET_OPEN);
    baton_net_link_fini(&link);
}

static void message(struct input *in)
{
    static uint8_t out[NET_MESSAGE_MAX];
    struct net_message m;
    size_t size = (size_t)(in->end - in->at);
    if (!baton_net_message_read(in->at, size, &m))
        assert(baton_net_message_write(&m, out) == size && !memcmp(out, in->at, size));
}

/* ---- Against a whole process */

struct side {
    struct rv_peer *peer; /* null: dropped */
    struct net_link mine;
    int fd;
};

static struct rv *process_make(bool founder)
{
    struct rv *rv = calloc(1, sizeof(*rv));
    rv->founder = founder;
    rv->me = (struct net_hello){.version = NET_VERSION,
                                .node = founder ? 0 : 1,
                                .count = 1,
                                .life = 1,
                                .to = NET_ANY,
                                .cluster = {9},
                                .fabric = "fuzz"};
    memcpy(rv->key, key, sizeof(key));
    rv->gone_end = &rv->gone;
    rv->listener = -1;
    rv->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    pthread_mutex_init(&rv->lock, NULL);
    pthread_cond_init(&rv->heard, NULL);
    rv->gone_life = calloc(BATON_NET_NODES_MAX, sizeof(*rv->gone_life));
    if (baton_net_store_create(NODES, rv->me.node, 1, &rv->net))
        abort();
    rv->net->transport = &baton_rv_transport;
    rv->net->wire = rv;
    baton_net_store_alive(rv->net, rv->me.node, 1);
    return rv;
}

static void shake_hands(struct rv *rv, struct side *s, const struct net_hello *hello)
{
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair))
        abort();
    s->fd = pair[1];
    s->peer = baton_rv_peer_create(pair[0]);
    if (baton_net_link_init(&s->peer->link, true, key, &rv->me) ||
        baton_net_link_init(&s->mine, false, key, hello) || baton_rv_peer_add(rv, s->peer))
        abort();
}

/* What waits at one end goes to the other. */
static void move(struct net_link *from, struct net_link *to)
{
    while (from->out_size) {
        size_t room;
        uint8_t *at = baton_net_link_room(to, &room);
        if (room > from->out_size)
            room = from->out_size;
        if (!room)
            return;
        memcpy(at, from->out, room);
        baton_net_link_came(to, room);
        baton_net_link_left(from, room);
    }
}

/* Lets the process hear what we have said, and forgets its answers. */
static void hear(struct rv *rv, struct side *s)
{
    char rest[4096];
    if (!s->peer)
        return;
    move(&s->mine, &s->peer->link);
    int rc = baton_rv_hear(rv, s->peer);
    while (recv(s->fd, rest, sizeof(rest), MSG_DONTWAIT) > 0)
        ;
    if (rc < 0) {
        baton_rv_drop(rv, s->peer);
        s->peer = NULL;
    }
}

static void open_hands(struct rv *rv, struct side *s)
{
    struct net_message m;
    uint8_t bytes[256];
    for (int i = 0; i < 4 && s->peer && s->mine.stage != NET_OPEN; i++) {
        size_t room;
        move(&s->mine, &s->peer->link);
        if (baton_rv_hear(rv, s->peer) < 0) {
            baton_rv_drop(rv, s->peer);
            s->peer = NULL;
            return;
        }
        ssize_t n = recv(s->fd, bytes, sizeof(bytes), MSG_DONTWAIT);
        uint8_t *at = baton_net_link_room(&s->mine, &room);
        if (n <= 0 || (size_t)n > room)
            continue;
        memcpy(at, bytes, (size_t)n);
        baton_net_link_came(&s->mine, (size_t)n);
        baton_net_link_next(&s->mine, &m);
    }
}

static void say(struct side *s, struct input *in)
{
    struct net_message m = {.type = (uint8_t)(1 + take(in, 1) % NET_TYPES)};
    m.key = (uint8_t)take(in, 1);
    m.node = (uint16_t)take(in, 2);
    m.count = (uint16_t)take(in, 2);
    m.nodes = (uint16_t)take(in, 2);
    m.life = (uint32_t)take(in, 1);
    m.ticket = (uint32_t)take(in, 1);
    m.rc = -(int32_t)take(in, 1);
    m.at = take(in, 1);
    size_t text = take(in, 1) % 64;
    for (size_t i = 0; i < text; i++)
        m.text[i] = (char)take(in, 1);
    size_t size = take(in, 1);
    if (size > (size_t)(in->end - in->at))
        size = (size_t)(in->end - in->at);
    m.bytes = in->at;
    m.size = size;
    in->at += size;
    if (s->peer && s->mine.stage == NET_OPEN)
        baton_net_link_send(&s->mine, &m);
}

static void check(struct rv *rv)
{
    struct baton_net *net = rv->net;
    for (const struct net_name *n = net->names; n; n = n->next) {
        assert(n->node < NODES && *n->text && strlen(n->text) <= BATON_NAME_MAX);
        for (const struct net_name *k = n->next; k; k = k->next)
            assert(n->node != k->node || strcmp(n->text, k->text));
    }
    for (unsigned i = 0; i < rv->peers_n; i++) {
        const struct rv_peer *p = rv->peers[i];
        if (p->member) {
            assert(p->count && p->first + p->count <= NODES);
            assert(!(rv->me.node >= p->first && rv->me.node < p->first + p->count));
        }
    }
    assert(baton_net_state(net, rv->me.node) == BATON_NODE_ALIVE);
    assert(baton_net_life(net, rv->me.node) == 1);
}

static bool still_there(const struct rv *rv, const struct rv_peer *p)
{
    for (unsigned i = 0; i < rv->peers_n; i++)
        if (rv->peers[i] == p)
            return true;
    return false;
}

static void process(struct input *in)
{
    bool founder = take(in, 1) & 1;
    struct rv *rv = process_make(founder);
    static struct side there, comes;
    struct net_hello known = {.version = NET_VERSION,
                              .purpose = NET_TO_MEET,
                              .node = 3,
                              .count = 2,
                              .life = 1,
                              .to = rv->me.node,
                              .to_life = 1,
                              .cluster = {9},
                              .fabric = "fuzz"};
    struct net_hello hello = {.version = NET_VERSION, .cluster = {9}, .fabric = "fuzz"};
    hello.purpose = (uint8_t)take(in, 1);
    hello.node = (uint16_t)take(in, 2);
    hello.count = (uint16_t)take(in, 2);
    hello.to = (uint16_t)take(in, 2);
    hello.life = (uint32_t)take(in, 1);
    hello.to_life = (uint32_t)take(in, 1);
    hello.cluster[1] = (uint8_t)take(in, 1);
    pthread_mutex_lock(&rv->lock);
    rv->founder = false; /* the member that is there has come as members come to each other */
    shake_hands(rv, &there, &known);
    open_hands(rv, &there);
    hear(rv, &there);
    assert(there.peer && there.peer->member);
    rv->founder = founder;
    struct rv_call call = {.ticket = 1, .waiting = 1, .name = "n"};
    call.owes[3] = true;
    rv->calls = &call;
    pthread_mutex_lock(&rv->net->lock);
    baton_net_store_add(rv->net, rv->me.node, "n", 8, true);
    baton_net_store_add(rv->net, rv->me.node, "m", 16, false);
    pthread_mutex_unlock(&rv->net->lock);
    shake_hands(rv, &comes, &hello);
    open_hands(rv, &comes);
    hear(rv, &comes);
    if (!still_there(rv, there.peer)) /* the newcomer has its number */
        there.peer = NULL;
    check(rv);
    while (in->at < in->end) {
        struct side *s = take(in, 1) & 1 ? &comes : &there;
        say(s, in);
        hear(rv, s);
        if (!still_there(rv, there.peer))
            there.peer = NULL;
        check(rv);
    }
    assert(call.waiting <= 1);
    pthread_mutex_unlock(&rv->lock);
    close(there.fd);
    close(comes.fd);
    baton_net_link_fini(&there.mine);
    baton_net_link_fini(&comes.mine);
    baton_net_store_destroy(rv->net);
    baton_rv_free(rv);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {data, data + size};
    if (sodium_init() < 0)
        return 0;
    switch (take(&in, 1) % 4) {
    case 0:
        raw(true, &in);
        break;
    case 1:
        raw(false, &in);
        break;
    case 2:
        message(&in);
        break;
    default:
        process(&in);
    }
    return 0;
}
