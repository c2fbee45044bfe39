/* SPDX-License-Identifier: MIT */
/*
 * Our locks for bench/peers: one node holds the lock and does nothing else, each client is a node of its own.
 * KIND is a kind of lock; or rcas, one compare-and-swap that is waited for, which no lock can do without; or chain,
 * what the lock merge sends without its rules: an rfaa and a get in one chain, then a put.
 *
 *   usage: baton_peer NAME WAY VERSION CLIENTS SECONDS FABRIC KIND [OPTIONS]
 */
#include <errno.h>

#include <baton/lock.h>

#include "fabric/net_place.h"
#include "fabric/shm.h"
#include "peer.h"

#define PATIENCE_NS UINT64_C(30000000000)

struct cluster {
    const char *fabric, *kind;
    char name[BATON_NAME_MAX + 1], options[1024];
    unsigned nodes;
};

struct client {
    struct peer_client *peer;
    struct baton_ep *ep;
    struct baton_lock lock;
    struct baton_waiter *waiter;
    baton_gptr word;
    uint64_t *result; /* two words */
};

static int told(int rc, const char *what)
{
    if (rc)
        fprintf(stderr, "%s: %s; %s\n", what, baton_strerror(rc), baton_error_detail());
    return rc;
}

static bool is_lock(const struct cluster *c)
{
    return strcmp(c->kind, "rcas") && strcmp(c->kind, "chain");
}

static int join(const struct cluster *c, unsigned node, struct baton_cluster **out,
                struct baton_ep **ep)
{
    struct baton_cluster_opts o = BATON_CLUSTER_OPTS;
    o.fabric = c->fabric;
    o.name = c->name;
    o.nodes = c->nodes;
    o.first = (int)node;
    o.options = *c->options ? c->options : NULL;
    int rc = told(baton_cluster_open(&o, out), "the cluster");
    return rc ? rc : told(baton_ep_open(baton_cluster_self(*out), ep), "an endpoint");
}

/* Node 0, until a byte comes through the pipe. */
static int hold(const struct cluster *c, int until)
{
    struct baton_cluster *cluster;
    struct baton_ep *ep;
    struct baton_table *table;
    struct baton_table_opts o = {
        .size = sizeof(o), .kind = is_lock(c) ? c->kind : "ts", .count = 1};
    baton_gptr word;
    char byte;
    int rc = join(c, 0, &cluster, &ep);
    if (!rc)
        rc = told(baton_table_create(ep, "peer", &o, &table), "the table");
    if (!rc)
        rc = told(baton_segment_create(baton_cluster_self(cluster), 4096,
                                       BATON_READ | BATON_WRITE | BATON_ATOMIC, NULL, 0, &word),
                  "a segment");
    if (!rc)
        rc = told(baton_name_publish(baton_cluster_self(cluster), "peer.word", word), "a name");
    while (read(until, &byte, 1) < 0 && errno == EINTR)
        ;
    if (!rc)
        rc = told(baton_table_close(ep, table), "the table");
    if (!rc)
        rc = told(baton_ep_close(ep), "the endpoint");
    return rc ? rc : told(baton_cluster_close(cluster), "the cluster");
}

static int pair_lock(void *arg)
{
    struct client *c = ((struct peer_client *)arg)->arg;
    int rc = baton_lock_acquire(&c->lock, c->ep, c->waiter);
    if (rc)
        return told(rc, "acquire");
    peer_section(c->peer);
    return told(baton_lock_release(&c->lock, c->ep, c->waiter), "release");
}

static int pair_rcas(void *arg)
{
    struct client *c = ((struct peer_client *)arg)->arg;
    baton_rcas(c->ep, c->result, c->word, 0, 0, 1);
    return told(baton_wait(c->ep, 1), "rcas");
}

static int pair_chain(void *arg)
{
    struct client *c = ((struct peer_client *)arg)->arg;
    baton_rfaa(c->ep, c->result, c->word, 1, 1);
    baton_get(c->ep, c->result + 1, c->word + 8, 8, 1);
    int rc = baton_wait(c->ep, 1);
    baton_rfence(c->ep, 0);
    baton_put64(c->ep, c->word + 16, 1, 0);
    baton_flush(c->ep);
    return told(rc, "the chain");
}

static int body(struct peer_client *peer)
{
    const struct cluster *cluster = peer->arg;
    struct client c = {.peer = peer};
    struct baton_cluster *mine;
    struct baton_table *table;
    int rc = join(cluster, 1 + peer->number, &mine, &c.ep);
    if (rc)
        return rc;
    uint64_t deadline = baton_now(c.ep) + PATIENCE_NS;
    rc = told(baton_name_lookup(c.ep, "peer.word", deadline, &c.word), "the word");
    if (!rc)
        rc = told(baton_table_open(c.ep, "peer", deadline, &table), "the table");
    if (!rc)
        rc = told(baton_table_lock(table, 0, &c.lock), "the lock");
    if (!rc)
        rc = told(baton_waiter_open(c.ep, &c.waiter), "a waiter");
    c.result = baton_ep_alloc(c.ep, 16, 16);
    if (rc || !c.result)
        return rc ? rc : told(-ENOMEM, "a word for results");
    peer->arg = &c;
    rc = peer_begin(peer, is_lock(cluster)                 ? pair_lock
                          : !strcmp(cluster->kind, "rcas") ? pair_rcas
                                                           : pair_chain);
    if (!rc)
        rc = told(baton_waiter_close(c.ep, c.waiter), "the waiter");
    peer_end(peer);
    if (!rc)
        rc = told(baton_table_close(c.ep, table), "the table");
    baton_ep_free(c.ep, c.result);
    if (!rc)
        rc = told(baton_ep_close(c.ep), "the endpoint");
    return rc ? rc : told(baton_cluster_close(mine), "the cluster");
}

int main(int argc, char **argv)
{
    if (argc < 8)
        return 2;
    struct cluster c = {.fabric = argv[6], .kind = argv[7], .nodes = 1 + (unsigned)atoi(argv[4])};
    struct baton_net_place place;
    const char *given = argc > 8 ? argv[8] : "";
    bool meets = baton_net_meets(c.fabric);
    int until[2], status = 1;
    if (meets && told(baton_net_place_make(&place), "a meeting place"))
        return 1;
    snprintf(c.options, sizeof(c.options), "%s%s%s", meets ? place.options : "",
             meets && *given ? "," : "", given);
    snprintf(c.name, sizeof(c.name), "peers-%ld", (long)getpid());
    if (pipe(until))
        return 1;
    pid_t host = fork();
    if (!host) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        close(until[1]);
        _exit(hold(&c, until[0]) != 0);
    }
    close(until[0]);
    int rc = host < 0 || peer_run(argv[1], argv[2], argv[3], c.nodes - 1, atof(argv[5]), body, &c);
    close(until[1]);
    if (host > 0)
        waitpid(host, &status, 0);
    if (meets)
        baton_net_place_remove(&place);
    if (!strcmp(c.fabric, "shm"))
        (void)baton_shm_clean(c.name, NULL, NULL); /* what a client that failed has left */
    return rc || status;
}
