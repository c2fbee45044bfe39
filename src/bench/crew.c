/* SPDX-License-Identifier: MIT */
/* The processes of a given cluster that run one command together. */
#include "bench/crew.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/fabric.h>

#include "base/error.h"
#include "base/options.h"
#include "fabric/net.h"
#include "fabric/net_place.h"

#define COME_MS 60000                  /* for all to come in; the setting join_ms */
#define AGREE_NS UINT64_C(60000000000) /* for what takes no time by itself */
#define LOOK_NS UINT64_C(100000000)    /* between looks at who is there */
#define LEAVE_MS 5000                  /* from the last word to being gone */
#define PIECE ((size_t)256 << 10)      /* of what is gathered */
#define MAIL_MOST ((size_t)1 << 30)    /* of one member */
#define RIGHTS (BATON_READ | BATON_WRITE)

struct fault {
    int64_t rc;
    char text[248];
};

/*
 * What a member exports: this, and behind it three rows with a place for each node. Every word has one writer, and
 * is waited for by its exact value, so that a fabric that tears words does no harm.
 *
 *     here[n]    on node 0: how many meetings node n has come to         (written by n)
 *     word[n]    of crew_share                                           (written by n)
 *     fault[n]   what has gone wrong on node n                           (written by n)
 */
struct post {
    uint64_t stop;    /* 1 + a node that has failed                       (written by it) */
    uint64_t go;      /* how many meetings of this member are over        (written by node 0) */
    uint64_t verdict; /* of crew_end                                      (written by node 0) */
    uint64_t mail[2]; /* where what is gathered lies, and its bytes       (own) */
};

struct crew {
    struct baton_cluster *cluster;
    struct baton_node *node;
    struct baton_ep *ep;
    unsigned self, nodes;
    baton_gptr *posts; /* of all nodes */
    struct post *post; /* the own one */
    uint64_t *met;     /* node 0: meetings of each member; others: [self] */
    char *piece;       /* node 0: what is gathered comes here; others: a fault on its way out */
    struct baton_group group; /* who dies after the beginning is missed */
    bool told;                /* that somebody has failed is known to all */
};

/* ---- Where words are */

static uint64_t here_at(unsigned n)
{
    return sizeof(struct post) + 8u * n;
}

static uint64_t word_at(const struct crew *c, unsigned n)
{
    return sizeof(struct post) + 8u * (c->nodes + n);
}

static uint64_t fault_at(const struct crew *c, unsigned n)
{
    return sizeof(struct post) + 16u * c->nodes + sizeof(struct fault) * n;
}

static void *own(struct crew *c, uint64_t offset)
{
    return (char *)c->post + offset;
}

/* ---- Waiting */

static int hear(struct crew *c)
{
    unsigned n = (unsigned)baton_load(c->ep, &c->post->stop) - 1;
    if (n >= c->nodes)
        return baton_fail(-EPROTO, "a member says nonsense");
    const struct fault *f = own(c, fault_at(c, n));
    c->told = true;
    return baton_fail(f->rc < 0 ? (int)f->rc : -ECANCELED, "node %u: %.*s", n, (int)sizeof(f->text),
                      f->text);
}

/* `rc` if nobody has. */
static int who_died(struct crew *c, int rc)
{
    for (unsigned n = 0; n < c->nodes; n++)
        if (baton_node_state(c->cluster, n) == BATON_NODE_DEAD)
            return baton_fail(-EOWNERDEAD, "node %u has died", n);
    return rc;
}

static bool has_left(const struct crew *c, unsigned node)
{
    return baton_node_state(c->cluster, node) == BATON_NODE_LEFT;
}

static int who_left(unsigned node)
{
    return baton_fail(-ECANCELED, "node %u has left", node);
}

/* All that was put to all is there. Free for those to whom nothing was put since. */
static int settle_all(struct crew *c)
{
    int rc = 0;
    for (unsigned n = 0; n < c->nodes && !rc; n++)
        rc = n == c->self ? 0 : baton_settle(c->ep, n);
    return rc;
}

/*
 * Until the own word has this value. What was put before has not been waited for: if the answer does not come soon, it
 * is looked whether that has arrived.
 */
static int await(struct crew *c, const uint64_t *word, uint64_t value, unsigned from,
                 uint64_t patience_ns)
{
    const struct baton_cond conds[] = {baton_until_is(word, UINT64_MAX, value),
                                       baton_until_not(&c->post->stop, UINT64_MAX, 0)};
    const uint64_t deadline = baton_now(c->ep) + patience_ns;
    struct baton_wait wait;
    int rc = -ETIMEDOUT;
    baton_wait_begin(c->ep, &wait, 0, &c->group);
    while (rc == -ETIMEDOUT) {
        uint64_t look = baton_now(c->ep) + LOOK_NS;
        wait.deadline_ns = look < deadline ? look : deadline;
        rc = baton_await(c->ep, conds, 2, &wait);
        if (baton_load(c->ep, &c->post->stop))
            return hear(c);
        if (rc == -EOWNERDEAD)
            return who_died(c, rc);
        if (rc != -ETIMEDOUT)
            return rc;
        bool left = has_left(c, from); /* before the last look at his word */
        int lost_rc = settle_all(c);
        if (baton_load(c->ep, word) == value)
            return 0;
        if (lost_rc)
            return lost_rc;
        if (left)
            return who_left(from);
        if (wait.deadline_ns == deadline)
            break;
    }
    return baton_fail(-ETIMEDOUT, "nothing was heard of node %u for %.0f s", from,
                      (double)patience_ns / 1e9);
}

/* ---- Coming in */

bool crew_is_simulated(const char *fabric)
{
    return !strcmp(fabric, "step") || !strcmp(fabric, "sim");
}

bool crew_is_given(const char *fabric, const char *options)
{
    return baton_net_meets(fabric) && baton_net_given(options);
}

static int open_cluster(struct crew *c, const struct crew_opts *opts)
{
    struct baton_cluster_opts o = BATON_CLUSTER_OPTS;
    o.fabric = opts->fabric;
    o.options = opts->options;
    o.local = 1;
    o.arena_bytes = opts->arena_bytes + 2 * PIECE;
    /* A launcher knows how many there are. */
    char at[2];
    bool found = opts->nodes && baton_option(opts->options, "rendezvous", at, sizeof(at));
    o.nodes = found ? opts->nodes : 0;
    o.first = found ? 0 : -1;
    int rc = baton_cluster_open(&o, &c->cluster);
    if (rc)
        return rc;
    c->node = baton_cluster_self(c->cluster);
    c->self = baton_node_index(c->node);
    c->nodes = baton_cluster_nodes(c->cluster);
    if (opts->nodes && opts->nodes != c->nodes)
        return baton_fail(-EINVAL, "%u nodes are asked for, and %u processes have been started",
                          opts->nodes, c->nodes);
    return 0;
}

static void name_of(char name[BATON_NAME_MAX + 1], unsigned node)
{
    snprintf(name, BATON_NAME_MAX + 1, "crew.%u", node);
}

static int open_post(struct crew *c)
{
    char name[BATON_NAME_MAX + 1];
    void *memory;
    size_t bytes = fault_at(c, c->nodes);
    int rc = baton_ep_open(c->node, &c->ep);
    if (rc)
        return rc;
    c->posts = calloc(c->nodes, sizeof(*c->posts));
    c->met = calloc(c->nodes, sizeof(*c->met));
    c->piece = baton_ep_alloc(c->ep, PIECE, 64);
    if (!c->posts || !c->met || !c->piece)
        return -ENOMEM;
    rc = baton_segment_create(c->node, bytes, RIGHTS, NULL, 0, &c->posts[c->self]);
    if (!rc)
        rc = baton_ptr(c->node, c->posts[c->self], bytes, &memory);
    if (rc)
        return rc;
    c->post = memory;
    name_of(name, c->self);
    return baton_name_publish(c->node, name, c->posts[c->self]);
}

/* A node that dies before it has told where its words are is not waited for. */
static int find_post(struct crew *c, unsigned node, uint64_t deadline)
{
    char name[BATON_NAME_MAX + 1];
    int rc;
    name_of(name, node);
    do {
        uint64_t look = baton_now(c->ep) + LOOK_NS;
        if (crew_stopped(c))
            return hear(c);
        if (baton_node_state(c->cluster, node) == BATON_NODE_DEAD)
            return who_died(c, -EOWNERDEAD);
        if (has_left(c, node))
            return who_left(node);
        rc = baton_name_lookup(c->ep, name, look < deadline ? look : deadline, &c->posts[node]);
    } while (rc == -ETIMEDOUT && baton_now(c->ep) < deadline);
    return rc;
}

static int find_posts(struct crew *c, long come_ms)
{
    uint64_t deadline = baton_now(c->ep) + (uint64_t)come_ms * 1000000;
    struct baton_wait now;
    int rc = 0;
    for (unsigned n = 0; n < c->nodes && !rc; n++) {
        if (n != c->self)
            rc = find_post(c, n, deadline);
        if (rc == -ETIMEDOUT)
            rc = baton_node_state(c->cluster, n) == BATON_NODE_ALIVE
                     ? baton_fail(rc, "node %u is there, but does not take part in this command", n)
                     : baton_fail(rc, "node %u of %u has not come in %.0f s", n, c->nodes,
                                  (double)come_ms / 1e3);
    }
    baton_wait_begin(c->ep, &now, 0, NULL);
    c->group.deaths = now.deaths;
    return rc;
}

int crew_open(const struct crew_opts *opts, struct crew **out)
{
    struct crew *c = calloc(1, sizeof(*c));
    if (!c)
        return -ENOMEM;
    long come_ms = COME_MS;
    int rc = baton_option_number(opts->options, "join_ms", 1, 3600000, &come_ms);
    if (!rc)
        rc = open_cluster(c, opts);
    if (!rc)
        rc = open_post(c);
    if (!rc)
        rc = find_posts(c, come_ms);
    if (!rc)
        rc = crew_meet(c, c->nodes, AGREE_NS);
    if (rc)
        crew_fail(c, rc);
    else
        *out = c;
    return rc;
}

struct baton_cluster *crew_cluster(struct crew *c)
{
    return c->cluster;
}

struct baton_ep *crew_ep(struct crew *c)
{
    return c->ep;
}

unsigned crew_self(const struct crew *c)
{
    return c->self;
}

unsigned crew_nodes(const struct crew *c)
{
    return c->nodes;
}

/* ---- Together */

int crew_meet(struct crew *c, unsigned members, uint64_t patience_ns)
{
    int rc = 0;
    if (c->self >= members)
        return 0;
    baton_mfence(c->ep);
    if (c->self) {
        baton_order(c->ep, 0);
        rc = baton_put64(c->ep, c->posts[0] + here_at(c->self), ++c->met[c->self], 0);
        return rc ? rc : await(c, &c->post->go, c->met[c->self], 0, patience_ns);
    }
    for (unsigned n = 1; n < members && !rc; n++)
        rc = await(c, own(c, here_at(n)), ++c->met[n], n, patience_ns);
    for (unsigned n = 1; n < members && !rc; n++) {
        baton_order(c->ep, n);
        rc = baton_put64(c->ep, c->posts[n] + offsetof(struct post, go), c->met[n], 0);
    }
    return rc ? rc : baton_flush(c->ep);
}

int crew_share(struct crew *c, uint64_t word, uint64_t *all, uint64_t patience_ns)
{
    int rc = 0;
    baton_store(c->ep, own(c, word_at(c, c->self)), word);
    for (unsigned n = 0; n < c->nodes && !rc; n++)
        if (n != c->self)
            rc = baton_put64(c->ep, c->posts[n] + word_at(c, c->self), word, 0);
    if (!rc)
        rc = settle_all(c);
    if (!rc)
        rc = crew_meet(c, c->nodes, patience_ns);
    for (unsigned n = 0; n < c->nodes && !rc; n++)
        all[n] = baton_load(c->ep, own(c, word_at(c, n)));
    /* Nobody writes the next word before all have read this one. */
    return rc ? rc : crew_meet(c, c->nodes, patience_ns);
}

static int fetch(struct crew *c, baton_gptr from, char *to, size_t bytes)
{
    int rc = 0;
    for (size_t done = 0; done < bytes && !rc; done += PIECE) {
        size_t n = bytes - done < PIECE ? bytes - done : PIECE;
        rc = baton_get(c->ep, c->piece, from + done, (n + 7) & ~(size_t)7, 1);
        if (!rc)
            rc = baton_wait(c->ep, 1);
        if (!rc)
            memcpy(to + done, c->piece, n);
    }
    return rc;
}

static int take_one(struct crew *c, unsigned node, crew_take_fn *take, void *arg)
{
    uint64_t mail[2];
    int rc = fetch(c, c->posts[node] + offsetof(struct post, mail), (char *)mail, sizeof(mail));
    if (rc)
        return rc;
    if (mail[1] > MAIL_MOST)
        return baton_fail(-EPROTO, "node %u has %llu bytes of results", node,
                          (unsigned long long)mail[1]);
    char *bytes = malloc(mail[1] + 1);
    rc = bytes ? fetch(c, mail[0], bytes, mail[1]) : -ENOMEM;
    if (!rc)
        rc = take(arg, node, bytes, mail[1]);
    free(bytes);
    return rc;
}

int crew_gather(struct crew *c, const void *bytes, size_t size, uint64_t patience_ns,
                crew_take_fn *take, void *arg)
{
    baton_gptr at = BATON_NULL;
    void *memory;
    int rc = 0;
    if (c->self) {
        rc = baton_segment_create(c->node, size + 8, BATON_READ, NULL, 0, &at);
        if (!rc)
            rc = baton_ptr(c->node, at, size + 8, &memory);
        if (rc)
            return rc;
        memcpy(memory, bytes, size);
        c->post->mail[0] = at;
        c->post->mail[1] = size;
    }
    rc = crew_meet(c, c->nodes, patience_ns);
    for (unsigned n = 1; n < c->nodes && !c->self && !rc; n++)
        rc = take_one(c, n, take, arg);
    if (!rc)
        rc = crew_meet(c, c->nodes, patience_ns);
    int destroy_rc = at ? baton_segment_destroy(c->node, at) : 0;
    return rc ? rc : destroy_rc;
}

/* ---- Agreeing */

struct agreement {
    const char *terms;
};

static int agree_one(void *arg, unsigned node, const void *bytes, size_t size)
{
    const char *ours = ((const struct agreement *)arg)->terms, *theirs = bytes;
    const char *end = theirs + size;
    for (;;) {
        size_t a = strcspn(ours, "\n"), b = 0;
        while (theirs + b < end && theirs[b] != '\n' && theirs[b])
            b++;
        if (a != b || memcmp(ours, theirs, a))
            return baton_fail(-EINVAL,
                              "not all have been told the same: node 0 \"%.*s\", node %u \"%.*s\"",
                              (int)a, ours, node, (int)b, theirs);
        ours += a + (ours[a] == '\n');
        theirs += b + (theirs + b < end);
        if (!*ours && theirs >= end)
            return 0;
    }
}

int crew_agree(struct crew *c, const char *terms)
{
    struct agreement a = {terms};
    return crew_gather(c, terms, strlen(terms), AGREE_NS, agree_one, &a);
}

/* ---- Leaving */

bool crew_stopped(const struct crew *c)
{
    return baton_word_load(&c->post->stop) != 0;
}

/* The last word to somebody may find him gone, who has heard it: no error. */
static int leave(struct crew *c)
{
    if (c->piece)
        baton_ep_free(c->ep, c->piece);
    if (c->ep)
        (void)baton_ep_close(c->ep);
    int rc = c->cluster ? baton_cluster_close(c->cluster) : 0;
    free(c->posts);
    free(c->met);
    free(c);
    return rc;
}

static bool leaves(const struct crew *c, unsigned node)
{
    for (int ms = 0; ms < LEAVE_MS && baton_node_state(c->cluster, node) == BATON_NODE_ALIVE; ms++)
        poll(NULL, 0, 1);
    return has_left(c, node);
}

/* Node 0 stays until all have heard its last word; who has may be gone before that is known. */
static int see_off(struct crew *c)
{
    int rc = 0;
    for (unsigned n = 1; n < c->nodes && !c->self && !rc; n++) {
        rc = baton_settle(c->ep, n);
        if (rc && leaves(c, n))
            rc = 0;
    }
    return rc;
}

int crew_end(struct crew *c, int *status)
{
    int rc = 0;
    for (unsigned n = 1; n < c->nodes && !c->self && !rc; n++)
        rc = baton_put64(c->ep, c->posts[n] + offsetof(struct post, verdict), (uint64_t)*status, 0);
    if (!rc)
        rc = crew_meet(c, c->nodes, CREW_ALWAYS);
    if (!rc)
        rc = see_off(c);
    if (rc) {
        crew_fail(c, rc);
        return rc;
    }
    if (c->self)
        *status = (int)baton_load(c->ep, &c->post->verdict);
    return leave(c);
}

static void tell(struct crew *c, unsigned node, const struct fault *f)
{
    if (baton_ep_state(c->ep, node))
        (void)baton_ep_reset(c->ep, node);
    baton_put(c->ep, c->posts[node] + fault_at(c, c->self), f, sizeof(*f), 0);
    baton_order(c->ep, node);
    baton_put64(c->ep, c->posts[node] + offsetof(struct post, stop), c->self + 1, 0);
}

/* What is lost is told once more. Who does not hear it then either sees that this one leaves. */
static void tell_all(struct crew *c, int rc)
{
    struct fault *f = (struct fault *)c->piece;
    const char *words = baton_error_detail();
    f->rc = rc;
    snprintf(f->text, sizeof(f->text), "%s", *words ? words : baton_strerror(rc));
    for (unsigned n = 0; n < c->nodes; n++)
        if (n != c->self && c->posts[n])
            tell(c, n, f);
    for (unsigned n = 0; n < c->nodes; n++)
        if (n != c->self && c->posts[n] && baton_settle(c->ep, n) &&
            baton_node_state(c->cluster, n) == BATON_NODE_ALIVE) {
            tell(c, n, f);
            (void)baton_settle(c->ep, n);
        }
}

int crew_tell(struct crew *c, int rc)
{
    char words[240];
    if (c->told || !c->post)
        return rc;
    c->told = true;
    rc = crew_stopped(c) ? hear(c) : who_died(c, rc);
    snprintf(words, sizeof(words), "%s", baton_error_detail());
    if (!crew_stopped(c))
        tell_all(c, rc);
    return baton_fail(rc, "%s", words);
}

void crew_fail(struct crew *c, int rc)
{
    char words[240];
    if (!c)
        return;
    rc = crew_tell(c, rc);
    snprintf(words, sizeof(words), "%s", baton_error_detail());
    leave(c);
    baton_fail(rc, "%s", words);
}
