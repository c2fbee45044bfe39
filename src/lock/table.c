/* SPDX-License-Identifier: MIT */
/*
 * Lock tables: making, opening, closing, and what happens after a death; waiters; and the calls that
 * lead to the kinds. The memory is drawn in table.h.
 *
 * A handle lies in its node's arena and keeps what it last knew of the table's health as a chain of
 * immutable groups, newest first, so that a wait that began under an old one can still be told that
 * it is over. `head` is the newest with a bit that says "look before you use it".
 *
 * On the host the handles reach the locks by CPU, and no NIC refuses them when the memory is gone. So the
 * maker, when it closes the table, makes an end of its node's other handles.
 */
#include <errno.h>
#include <string.h>

#include <baton/lock.h>

#include "fabric/world.h"
#include "lock/ids.h"
#include "lock/table.h"

enum phase { PHASE_NONE, PHASE_HEALTHY, PHASE_BROKEN, PHASE_REPAIR, PHASE_CLOSED };

#define LOOK 1u
#define HANDLES_MAX 0xfffffu
#define INCARNATIONS_MAX 0x7ffu
#define MARK_TRIES 8
#define REPAIR_BYTES 16384u

/*
 * Tickets of one incarnation lie above those of the one before, so that fencing tokens rise over a
 * repair and a ticket from before it fits nothing. Holds for 2^47 acquisitions of one lock between
 * two repairs: fifty days of nothing else, at thirty million a second. With 2047 incarnations tickets
 * stay below 2^58, which leaves the kinds room for tokens made of more than a ticket.
 */
#define INCARNATION_SHIFT 47

struct table_group {
    struct baton_group group;
    struct table_group *older;
};

struct baton_table {
    uint64_t head;   /* struct table_group *, with the bit LOOK */
    uint64_t owed;   /* the state in which the table had to be marked, and could not be; else 0 */
    uint64_t result; /* of what attaches and detaches, which needs no room then */
    struct table_group closed; /* the last, where the maker of the table has closed it */
    struct baton_table *next;  /* of the node's handles */
    const struct baton_lock_ops *ops;
    baton_gptr base;
    baton_gptr lines;
    uint64_t *local; /* lock 0 by CPU, on the host */
    uint64_t count;
    uint64_t line_bytes;
    uint64_t first;
    uint64_t params[BATON_LOCK_PARAMS_MAX];
    unsigned host;
    unsigned nodes;
    uint32_t memory; /* enum baton_lock_memory */
    uint16_t node;
    bool maker;
    char name[BATON_NAME_MAX + 1];
};

/* ---- The state word, the attach words */

static uint64_t state_make(uint64_t incarnation, enum phase phase)
{
    return incarnation << 40 | phase;
}

static enum phase state_phase(uint64_t state)
{
    return (enum phase)(state & 15);
}

static uint64_t state_incarnation(uint64_t state)
{
    return state >> 40;
}

static unsigned state_node(uint64_t state)
{
    return (unsigned)(state >> 4 & 0xffff);
}

static uint64_t state_life(uint64_t state)
{
    return state >> 20 & 0xfffff;
}

static uint64_t own_life(struct baton_ep *ep)
{
    return baton_ep_node(ep)->segments[0].base / BATON_PAGE;
}

static baton_gptr table_at(const struct baton_table *table, unsigned word)
{
    return table->base + 8u * (uint64_t)word;
}

static struct table_group *head_group(uint64_t head)
{
    return (struct table_group *)(uintptr_t)(head & ~(uint64_t)LOOK);
}

static void distrust(struct baton_ep *ep, struct baton_table *table)
{
    uint64_t head = baton_load(ep, &table->head), seen;
    while (!(head & LOOK) && (seen = baton_cas(ep, &table->head, head, head | LOOK)) != head)
        head = seen;
}

static struct baton_group group_make(const struct baton_table *table, uint64_t healthy,
                                     uint64_t deaths)
{
    return (struct baton_group){table_at(table, BATON_TABLE_AT_STATE), healthy,
                                table_at(table, BATON_TABLE_AT_ATTACH), deaths};
}

/* What is known of the table from now on: state `healthy`, and no participant dead up to `deaths`. */
static int trust(struct baton_ep *ep, struct baton_table *table, uint64_t healthy, uint64_t deaths)
{
    uint64_t head = baton_load(ep, &table->head), seen;
    const struct table_group *known = head_group(head);
    /* Nothing new: what is known stays until the handle is closed, and there may be many looks till then. */
    if (known && known->group.healthy == healthy && known->group.deaths == deaths &&
        (!(head & LOOK) || baton_cas(ep, &table->head, head, head & ~(uint64_t)LOOK) == head))
        return 0;
    struct table_group *group = baton_ep_alloc(ep, sizeof *group, 64);
    if (!group)
        return -ENOMEM;
    group->group = group_make(table, healthy, deaths);
    for (;; head = seen) {
        group->older = head_group(head);
        seen = baton_cas(ep, &table->head, head, (uintptr_t)group);
        if (seen == head)
            return 0;
    }
}

static int closed_fail(const struct baton_table *table)
{
    return baton_fail(-EKEYREJECTED, "lock table %s: its maker has closed it", table->name);
}

/* Replaces a word of the header if it is what we think; *seen is what it was. */
static int header_rcas(struct baton_ep *ep, uint64_t *result, const struct baton_table *table,
                       unsigned word, uint64_t expected, uint64_t desired, uint64_t *seen)
{
    baton_rcas(ep, result, table_at(table, word), expected, desired, BATON_ID_TABLE);
    int rc = baton_wait(ep, BATON_ID_TABLE);
    if (!rc)
        *seen = *result;
    return rc;
}

/* ---- Health */

/*
 * State and attach words as they are now, in arena memory that the caller frees: words[0] the state,
 * words[1 + n] of node n.
 */
static int header_get(struct baton_ep *ep, const struct baton_table *table, uint64_t **words)
{
    size_t bytes = 8u * ((size_t)table->nodes + 1);
    uint64_t *memory = baton_ep_alloc(ep, bytes, 64);
    if (!memory)
        return -ENOMEM;
    baton_get(ep, memory, table_at(table, BATON_TABLE_AT_STATE), bytes, BATON_ID_TABLE);
    int rc = baton_wait(ep, BATON_ID_TABLE);
    if (rc == -ENOTCONN && baton_ep_state(ep, table->host) == -EHOSTDOWN)
        rc = -EHOSTDOWN; /* an earlier call has found out, and its error is the table's */
    if (rc)
        baton_ep_free(ep, memory);
    else
        *words = memory;
    return rc;
}

/* Whether a node that has the table open is dead, or has died since `deaths`. */
static bool participant_died(struct baton_ep *ep, const struct baton_table *table,
                             const uint64_t *attach, uint64_t deaths)
{
    for (unsigned n = 0; n < table->nodes; n++)
        if (attach[n] && (baton_node_state(baton_ep_cluster(ep), n) == BATON_NODE_DEAD ||
                          baton_node_died_since(baton_ep_node(ep), n, deaths)))
            return true;
    return false;
}

static uint64_t deaths_now(struct baton_ep *ep)
{
    struct baton_wait wait;
    baton_wait_begin(ep, &wait, BATON_NEVER, NULL);
    return wait.deaths;
}

/*
 * Deaths that count: those after the last look, as long as the table has not been repaired since.
 * What happened before a repair, or before we opened the table, was the repairer's business.
 */
static uint64_t deaths_known(struct baton_ep *ep, struct baton_table *table, uint64_t state,
                             uint64_t now)
{
    struct table_group *group = head_group(baton_load(ep, &table->head));
    return group && group->group.healthy == state ? group->group.deaths : now;
}

/* Looks whether the table can be used, and marks it if a participant has died. */
static int table_look(struct baton_ep *ep, struct baton_table *table, bool predecessor_died)
{
    uint64_t *words, deaths = deaths_now(ep);
    if (head_group(baton_load(ep, &table->head)) == &table->closed)
        return closed_fail(table);
    int rc = header_get(ep, table, &words);
    if (rc)
        return rc;
    uint64_t state = words[0];
    if (state_phase(state) == PHASE_HEALTHY &&
        (predecessor_died || state == baton_load(ep, &table->owed) ||
         participant_died(ep, table, words + 1, deaths_known(ep, table, state, deaths)))) {
        uint64_t seen, broken = state_make(state_incarnation(state), PHASE_BROKEN);
        rc = header_rcas(ep, &words[0], table, BATON_TABLE_AT_STATE, state, broken, &seen);
        state = broken;
    }
    baton_ep_free(ep, words);
    if (rc)
        return rc;
    if (state_phase(state) == PHASE_CLOSED)
        return closed_fail(table);
    if (state_phase(state) != PHASE_HEALTHY) {
        distrust(ep, table);
        return baton_fail(-ENOTRECOVERABLE,
                          "lock table %s: a participant died or failed; it awaits a reinit",
                          table->name);
    }
    return trust(ep, table, state, deaths);
}

/* A way to the host: the caller's endpoint, or another one where its queue pair is broken, and stays so. */
static int way_open(struct baton_ep *ep, unsigned host, struct baton_ep **way)
{
    *way = ep;
    return baton_ep_state(ep, host) ? baton_ep_open(baton_ep_node(ep), way) : 0;
}

static void way_close(struct baton_ep *ep, struct baton_ep *way)
{
    if (way != ep)
        (void)baton_ep_close(way);
}

/*
 * Marks a table, so that nobody goes on waiting for somebody who will not come. The caller's queue
 * pair towards the host may be what has failed; then the mark goes another way, several
 * times if it must: the mark may be lost like any operation, and without it the others wait for ever.
 * Returns what the state was before: `healthy` if it is marked by us, 0 if it can not be reached.
 */
static uint64_t state_mark(struct baton_ep *ep, baton_gptr state, uint64_t healthy)
{
    unsigned host = baton_gptr_node(state);
    uint64_t was = 0;
    for (int tries = 0; !was && tries < MARK_TRIES; tries++) {
        struct baton_ep *way;
        if (way_open(ep, host, &way))
            return 0;
        uint64_t *result = baton_ep_alloc(way, 8, 8);
        if (result) {
            baton_rcas(way, result, state, healthy,
                       state_make(state_incarnation(healthy), PHASE_BROKEN), BATON_ID_TABLE);
            if (!baton_wait(way, BATON_ID_TABLE))
                was = *result;
            baton_ep_free(way, result);
        }
        way_close(ep, way);
        if (baton_node_state(baton_ep_cluster(ep), host) != BATON_NODE_ALIVE)
            break;
    }
    return was;
}

/* Who next looks by this handle makes the mark. */
static void owe(struct baton_ep *ep, struct baton_table *table, uint64_t healthy)
{
    baton_store(ep, &table->owed, healthy);
    distrust(ep, table);
}

/*
 * Marks a table in which a call gives up its place. A handle that slept through a repair has taken its
 * place in the repaired lock, and finds out when it waits there: that one has to be repaired again. Where the
 * mark can not be made now, it is made later.
 */
static void place_mark(struct baton_ep *ep, struct baton_table *table,
                       const struct baton_group *group, bool placed)
{
    distrust(ep, table);
    uint64_t healthy = group->healthy, was = state_mark(ep, group->state, healthy);
    if (placed && was != healthy && state_phase(was) == PHASE_HEALTHY) {
        healthy = was;
        was = state_mark(ep, group->state, healthy);
    }
    if (!was)
        owe(ep, table, healthy);
}

/* ---- What a release leaves on its way
 *
 * It may be lost when the queue pair breaks before it is proved complete, be it by an operation of the program's.
 * The endpoint counts that, whatever becomes of the queue pair afterwards.
 */

/* Whether something is on its way to that node of which nobody knows that it has arrived. */
static inline bool peer_owes(const struct baton_ep *ep, unsigned node)
{
    const struct baton_ep_peer *peer = ep->peers[node];
    return peer->written > peer->settled;
}

static bool node_is_gone(struct baton_ep *ep, unsigned node, bool dead_too)
{
    enum baton_node_state state = baton_node_state(baton_ep_cluster(ep), node);
    return state == BATON_NODE_LEFT || state == BATON_NODE_ABSENT ||
           (dead_too && state == BATON_NODE_DEAD);
}

int baton_lock_grant(struct baton_ep *ep, struct baton_waiter *waiter, baton_gptr word,
                     uint64_t value)
{
    const unsigned node = baton_gptr_node(word);
    if (__builtin_expect(node >= baton_epx(ep)->nodes, 0)) /* a spoilt word of the lock */
        return baton_put64(ep, word, value, BATON_WID_UNWAITED);
    waiter->handed = 1 + node;
    waiter->lost_there = ep->peers[node]->lost;
    int rc = baton_put64(ep, word, value, BATON_WID_UNWAITED);
    int rung = baton_flush(ep);
    return rc ? rc : rung;
}

/* Who waits for the lock does not leave: if he has left, he was granted it. */
static __attribute__((cold)) bool grant_lost(struct baton_ep *ep, const struct baton_waiter *waiter)
{
    const unsigned node = waiter->handed - 1;
    return ep->peers[node]->lost != waiter->lost_there && !node_is_gone(ep, node, false);
}

/*
 * A hint may come twice. Not by the endpoint of the caller, which is as the program's operations have left it.
 */
static __attribute__((cold)) int hint_again(struct baton_ep *ep, baton_gptr word)
{
    struct baton_ep *way;
    int rc = baton_ep_open(baton_ep_node(ep), &way);
    if (rc)
        return rc;
    baton_put64(way, word, 1, BATON_ID_LOCK);
    rc = baton_wait(way, BATON_ID_LOCK);
    (void)baton_ep_close(way);
    if (rc == -EKEYREJECTED) /* that memory is not there any more: its process has left */
        return 0;
    return rc == -EHOSTDOWN && node_is_gone(ep, baton_gptr_node(word), true) ? 0 : rc;
}

int baton_lock_hint(struct baton_ep *ep, struct baton_waiter *waiter, baton_gptr who)
{
    const unsigned node = baton_gptr_node(who);
    const baton_gptr word = who + 8 * BATON_WAITER_HINT;
    /* Left: it did not sleep. Dead: the table is marked for that. */
    if (!who || baton_node_state(baton_ep_cluster(ep), node) != BATON_NODE_ALIVE)
        return baton_flush(ep);
    waiter->hinted = word;
    waiter->lost_there = ep->peers[node]->lost;
    int rc = baton_put64(ep, word, 1, BATON_WID_UNWAITED);
    int rung = baton_flush(ep);
    if (rc) {
        waiter->hinted = BATON_NULL;
        rc = hint_again(ep, word);
    }
    return rc ? rc : rung;
}

static __attribute__((cold)) bool hint_lost(struct baton_ep *ep, struct baton_waiter *waiter)
{
    const baton_gptr word = waiter->hinted;
    if (ep->peers[baton_gptr_node(word)]->lost == waiter->lost_there)
        return false;
    waiter->hinted = BATON_NULL;
    return hint_again(ep, word) != 0;
}

/* Whether what the waiter's last release has posted was lost, as far as this endpoint knows: only its own losses. */
static inline bool release_lost(struct baton_ep *ep, struct baton_waiter *waiter)
{
    return waiter->released && waiter->released_by == ep &&
           (ep->peers[baton_gptr_node(waiter->released)]->lost != waiter->lost_host ||
            (waiter->handed && grant_lost(ep, waiter)) ||
            (waiter->hinted && hint_lost(ep, waiter)));
}

/* As place_mark; the table may have been let go of since, and is looked for among those that this node has open. */
static void release_mark(struct baton_ep *ep, struct baton_waiter *waiter)
{
    struct baton_node *node = baton_ep_node(ep);
    if (!state_mark(ep, waiter->released, waiter->released_healthy)) {
        pthread_mutex_lock(&node->lock);
        for (struct baton_table *t = node->tables; t; t = t->next)
            if (table_at(t, BATON_TABLE_AT_STATE) == waiter->released)
                owe(ep, t, waiter->released_healthy);
        pthread_mutex_unlock(&node->lock);
    }
    waiter->released = waiter->hinted = BATON_NULL;
    waiter->handed = 0;
}

/* Until what the last release has put to other waiters can be lost no more, but by what is posted later. */
static void drain_there(struct baton_ep *ep, const struct baton_waiter *waiter)
{
    if (waiter->handed)
        baton_ep_drain(ep, waiter->handed - 1);
    if (waiter->hinted)
        baton_ep_drain(ep, baton_gptr_node(waiter->hinted));
}

/* Before a waiter blocks: nobody else would find out meanwhile. */
static void look_and_block(struct baton_ep *ep, void *arg)
{
    struct baton_waiter *waiter = arg;
    if (!waiter->released)
        return;
    drain_there(ep, waiter);
    baton_ep_drain(ep, baton_gptr_node(waiter->released));
    if (release_lost(ep, waiter))
        release_mark(ep, waiter);
}

/* Before the next release of a waiter, which is remembered instead of the last one. */
static void look_and_forget(struct baton_ep *ep, struct baton_waiter *waiter, unsigned host)
{
    drain_there(ep, waiter);
    if (baton_gptr_node(waiter->released) != host)
        baton_ep_drain(ep, baton_gptr_node(waiter->released));
    if (release_lost(ep, waiter))
        release_mark(ep, waiter);
    waiter->hinted = BATON_NULL;
    waiter->handed = 0;
}

/* ---- Making, opening, closing */

static int kind_find(const char *name, const struct baton_lock_ops **out)
{
    char all[512];
    *out = baton_lock_kind(name);
    if (*out)
        return 0;
    baton_lock_kinds_text(all, sizeof all);
    return baton_fail(-ENOENT, "no lock kind \"%.40s\"; there are: %s", name ? name : "", all);
}

static int line_size(const struct baton_lock_ops *ops, const uint64_t *params, uint64_t *out)
{
    uint64_t bytes = ops->line_bytes ? ops->line_bytes(params) : 64;
    if (!bytes || bytes % 64 || bytes > REPAIR_BYTES)
        return baton_fail(
            -EINVAL, "lock kind %s: a lock of %llu bytes; a multiple of 64 up to %u is possible",
            ops->name, (unsigned long long)bytes, REPAIR_BYTES);
    *out = bytes;
    return 0;
}

static void line_init(const struct baton_lock_ops *ops, const uint64_t *params, uint64_t bytes,
                      uint64_t *words, uint64_t first)
{
    if (ops->init)
        ops->init(params, words, first);
    else
        memset(words, 0, bytes);
}

/* What the kind says of one lock, said of all of them. */
static int words_declare(const struct baton_lock_ops *ops, const uint64_t *params, uint64_t header,
                         uint64_t line, uint64_t count, struct baton_words *out, unsigned *n)
{
    struct baton_words one[BATON_LOCK_WORDS_MAX];
    unsigned records = ops->words ? ops->words(params, one, BATON_LOCK_WORDS_MAX) : 0;
    if (records > BATON_LOCK_WORDS_MAX)
        return baton_fail(-EINVAL, "lock kind %s: declares %u kinds of words, %u are possible",
                          ops->name, records, BATON_LOCK_WORDS_MAX);
    *n = 0;
    for (unsigned i = 0; i < records; i++) {
        for (uint64_t j = 0; j < one[i].count; j++) {
            uint64_t offset = one[i].offset + j * one[i].stride;
            if (*n == BATON_LOCK_WORDS_MAX || offset % 8 || offset > line - 8)
                return baton_fail(-EINVAL, "lock kind %s: its declaration of words does not fit",
                                  ops->name);
            out[(*n)++] =
                (struct baton_words){header + offset, line, count, one[i].kind, one[i].type};
        }
    }
    return 0;
}

/*
 * A lock's words change by one bit or by many, and a reader who gets half of an old and half of a new
 * one may take the lock of another. Those of the lock are at the host, those of waiters at their own node.
 */
static int words_check(struct baton_ep *ep, const char *whose, bool whole)
{
    if (whole || ep->caps->torn_allowed)
        return 0;
    return baton_fail(-EOPNOTSUPP,
                      "the device of %s may tear 8-byte words, which breaks locks; for tests "
                      "the cluster's option allow_torn=1 opens them all the same",
                      whose);
}

static uint64_t memory_of(const struct baton_caps *caps)
{
    return (caps->word_atomic ? BATON_LOCK_WHOLE_WORDS : 0u) |
           (caps->in_order_placement ? BATON_LOCK_RISING_PUTS : 0u);
}

static int opts_check(const struct baton_table_opts *opts, const struct baton_lock_ops **ops,
                      uint64_t *params)
{
    if (!opts || opts->size != sizeof *opts)
        return baton_fail(-EINVAL, "lock table: options of %zu bytes, %zu are needed",
                          opts ? opts->size : 0, sizeof *opts);
    int rc = kind_find(opts->kind, ops);
    if (rc)
        return rc;
    baton_lock_param_defaults(*ops, params);
    if (opts->params)
        memcpy(params, opts->params, BATON_LOCK_PARAMS_MAX * sizeof *params);
    rc = baton_lock_params_check(*ops, params);
    if (rc)
        return rc;
    if (!opts->count || opts->count > (uint64_t)1 << 32)
        return baton_fail(-EINVAL, "lock table: %llu locks; 1 to 2^32 are possible",
                          (unsigned long long)opts->count);
    return 0;
}

static void handle_fill(struct baton_table *table, struct baton_ep *ep, const char *name,
                        const struct baton_lock_ops *ops, baton_gptr base, const uint64_t *header)
{
    table->head = LOOK;
    table->ops = ops;
    table->base = base;
    table->host = baton_gptr_node(base);
    table->node = (uint16_t)baton_node_index(baton_ep_node(ep));
    table->lines = base + header[BATON_TABLE_AT_HEADER];
    table->count = header[BATON_TABLE_AT_COUNT];
    table->line_bytes = header[BATON_TABLE_AT_LINE];
    table->nodes = (unsigned)header[BATON_TABLE_AT_NODES];
    table->first = header[BATON_TABLE_AT_FIRST];
    table->memory = (uint32_t)header[BATON_TABLE_AT_MEMORY];
    memcpy(table->params, header + BATON_TABLE_AT_PARAMS, sizeof table->params);
    strncpy(table->name, name, BATON_NAME_MAX);
}

/* On the host the locks are reached by CPU too. */
static int handle_localise(struct baton_table *table, struct baton_ep *ep)
{
    void *memory;
    if (table->host != table->node)
        return 0;
    int rc = baton_ptr(baton_ep_node(ep), table->lines, table->count * table->line_bytes, &memory);
    if (!rc)
        table->local = memory;
    return rc;
}

/* Enters this handle in the node's attach word; tells whether a dead process's entry was there. */
static int attach(struct baton_ep *ep, struct baton_table *table, bool *predecessor_died)
{
    unsigned word = BATON_TABLE_AT_ATTACH + table->node;
    uint64_t mine = own_life(ep) << 20, guess, seen = 0, next;
    int rc;
    do {
        guess = seen;
        *predecessor_died = guess && guess >> 20 != mine >> 20;
        next = guess && !*predecessor_died ? guess + 1 : mine | 1;
        rc = (next & HANDLES_MAX) == 0
                 ? baton_fail(-EBUSY, "lock table %s: too many handles", table->name)
                 : header_rcas(ep, &table->result, table, word, guess, next, &seen);
    } while (!rc && seen != guess);
    return rc;
}

/* 0 also when there is nothing left to be detached from, or no entry of ours any more. */
static int detach(struct baton_ep *ep, struct baton_table *table)
{
    unsigned word = BATON_TABLE_AT_ATTACH + table->node;
    uint64_t mine = own_life(ep) << 20, guess, seen = mine | 1;
    struct baton_ep *way;
    baton_ep_drain(ep, table->host); /* what the program has posted may fail, and break the way */
    int rc = way_open(ep, table->host, &way);
    if (rc)
        return rc;
    if (baton_load(ep, &table->owed))
        (void)table_look(way, table, false);
    do {
        guess = seen;
        rc = header_rcas(way, &table->result, table, word, guess,
                         (guess & HANDLES_MAX) == 1 ? 0 : guess - 1, &seen);
    } while (!rc && seen != guess && seen >> 20 == mine >> 20);
    way_close(ep, way);
    return rc == -EKEYREJECTED || rc == -EHOSTDOWN || rc == -ENOTCONN ? 0 : rc;
}

/* ---- The handles of a node
 *
 * Not in a simulated run: all nodes are in one process, and nobody is left when it leaves; and its threads may be
 * explored, which a list in memory that is not explored does not survive.
 */

static bool handles_are_listed(const struct baton_node *node)
{
    return !node->cluster->ops->run;
}

static void handle_enter(struct baton_node *node, struct baton_table *table)
{
    if (!handles_are_listed(node))
        return;
    pthread_mutex_lock(&node->lock);
    table->next = node->tables;
    node->tables = table;
    pthread_mutex_unlock(&node->lock);
}

/* Its last group is one of a table that is no more, and it has to look, which tells so. */
static void handle_end(struct baton_ep *ep, struct baton_table *table)
{
    uint64_t head = baton_load(ep, &table->head), seen;
    table->closed.group = group_make(table, PHASE_CLOSED, 0);
    for (;; head = seen) {
        table->closed.older = head_group(head);
        seen = baton_cas(ep, &table->head, head, (uintptr_t)&table->closed | LOOK);
        if (seen == head)
            return;
    }
}

/* `ends`: so does the table. Under the lock, so that none of them is closed meanwhile. */
static void handle_leave(struct baton_ep *ep, struct baton_table *table, bool ends)
{
    struct baton_node *node = baton_ep_node(ep);
    if (!handles_are_listed(node))
        return;
    pthread_mutex_lock(&node->lock);
    struct baton_table **at = &node->tables;
    while (*at != table)
        at = &(*at)->next;
    *at = table->next;
    for (struct baton_table *t = node->tables; t && ends; t = t->next)
        if (t->base == table->base)
            handle_end(ep, t);
    pthread_mutex_unlock(&node->lock);
}

static void handle_free(struct baton_ep *ep, struct baton_table *table)
{
    struct table_group *group = head_group(table->head), *older;
    for (; group; group = older) {
        older = group->older;
        if (group != &table->closed)
            baton_ep_free(ep, group);
    }
    baton_ep_free(ep, table);
}

int baton_table_create(struct baton_ep *ep, const char *name, const struct baton_table_opts *opts,
                       struct baton_table **out)
{
    struct baton_node *node = baton_ep_node(ep);
    const struct baton_lock_ops *ops = NULL;
    struct baton_words words[BATON_LOCK_WORDS_MAX + 1];
    uint64_t header[BATON_TABLE_AT_ATTACH] = {0}, *memory;
    uint64_t params[BATON_LOCK_PARAMS_MAX], line, nodes = baton_cluster_nodes(baton_ep_cluster(ep));
    uint64_t bytes =
        (8 * (BATON_TABLE_AT_ATTACH + nodes) + BATON_PAGE - 1) / BATON_PAGE * BATON_PAGE;
    unsigned declared = 0;
    baton_gptr base;
    bool predecessor_died;
    void *pointer;

    int rc = baton_name_check(name);
    if (!rc)
        rc = opts_check(opts, &ops, params);
    if (!rc)
        rc = words_check(ep, "this node", ep->caps->word_atomic);
    if (!rc)
        rc = line_size(ops, params, &line);
    if (!rc)
        rc = words_declare(ops, params, bytes, line, opts->count, words, &declared);
    if (rc)
        return rc;
    words[declared++] = (struct baton_words){8 * BATON_TABLE_AT_STATE, 8, 1 + nodes,
                                             BATON_WORD_NIC_RMW, BATON_WORD_VALUE};
    rc = baton_segment_create(node, bytes + opts->count * line,
                              BATON_READ | BATON_WRITE | BATON_ATOMIC, words, declared, &base);
    if (rc)
        return rc;
    rc = baton_ptr(node, base, bytes + opts->count * line, &pointer);
    if (rc)
        goto destroy;
    memory = pointer;

    header[BATON_TABLE_AT_MAGIC] = BATON_TABLE_MAGIC;
    header[BATON_TABLE_AT_VERSION] = BATON_TABLE_VERSION;
    header[BATON_TABLE_AT_COUNT] = opts->count;
    header[BATON_TABLE_AT_LINE] = line;
    header[BATON_TABLE_AT_HEADER] = bytes;
    header[BATON_TABLE_AT_NODES] = nodes;
    header[BATON_TABLE_AT_FIRST] = opts->first_ticket;
    memcpy(header + BATON_TABLE_AT_PARAMS, params, sizeof params);
    strncpy((char *)(header + BATON_TABLE_AT_KIND), ops->name, BATON_KIND_NAME_MAX);
    header[BATON_TABLE_AT_MEMORY] = memory_of(ep->caps);
    header[BATON_TABLE_AT_STATE] = state_make(0, PHASE_HEALTHY);
    for (uint64_t i = 0; i < opts->count; i++)
        line_init(ops, params, line, memory + (bytes + i * line) / 8, opts->first_ticket);
    for (unsigned i = 0; i < BATON_TABLE_AT_ATTACH; i++)
        baton_store(ep, &memory[i], header[i]);

    struct baton_table *table = baton_ep_alloc(ep, sizeof *table, 64);
    if (!table) {
        rc = -ENOMEM;
        goto destroy;
    }
    handle_fill(table, ep, name, ops, base, header);
    table->maker = true;
    rc = handle_localise(table, ep);
    if (!rc)
        rc = attach(ep, table, &predecessor_died);
    if (!rc)
        rc = table_look(ep, table, false);
    if (!rc)
        rc = baton_name_publish(node, name, base);
    if (rc) {
        handle_free(ep, table);
        goto destroy;
    }
    handle_enter(node, table);
    *out = table;
    return 0;

destroy:
    (void)baton_segment_destroy(node, base);
    return rc;
}

/* Whether the header is one that this process can work with. */
static int header_check(const char *name, const uint64_t *header, const struct baton_lock_ops **ops)
{
    uint64_t line;
    char kind[BATON_KIND_NAME_MAX + 1];
    if (header[BATON_TABLE_AT_MAGIC] != BATON_TABLE_MAGIC)
        return baton_fail(-EINVAL, "\"%s\" is not the name of a lock table", name);
    if (header[BATON_TABLE_AT_VERSION] != BATON_TABLE_VERSION)
        return baton_fail(-EOPNOTSUPP, "lock table %s: layout %llu, this library speaks %u", name,
                          (unsigned long long)header[BATON_TABLE_AT_VERSION], BATON_TABLE_VERSION);
    memcpy(kind, header + BATON_TABLE_AT_KIND, sizeof kind);
    kind[BATON_KIND_NAME_MAX] = 0;
    int rc = kind_find(kind, ops);
    if (rc)
        return rc;
    rc = line_size(*ops, header + BATON_TABLE_AT_PARAMS, &line);
    if (rc)
        return rc;
    if (line != header[BATON_TABLE_AT_LINE])
        return baton_fail(
            -EOPNOTSUPP, "lock table %s: a lock of kind %s has %llu bytes there and %llu here",
            name, kind, (unsigned long long)header[BATON_TABLE_AT_LINE], (unsigned long long)line);
    return 0;
}

int baton_table_open(struct baton_ep *ep, const char *name, uint64_t deadline_ns,
                     struct baton_table **out)
{
    const struct baton_lock_ops *ops = NULL;
    struct baton_table *table;
    baton_gptr base;
    bool predecessor_died;
    int rc = words_check(ep, "this node", ep->caps->word_atomic);
    if (!rc)
        rc = baton_name_lookup(ep, name, deadline_ns, &base);
    if (rc)
        return rc;
    uint64_t *header = baton_ep_alloc(ep, BATON_TABLE_AT_ATTACH * 8, 64);
    if (!header)
        return -ENOMEM;
    baton_get(ep, header, base, BATON_TABLE_AT_ATTACH * 8, BATON_ID_TABLE);
    rc = baton_wait(ep, BATON_ID_TABLE);
    if (!rc)
        rc = header_check(name, header, &ops);
    if (!rc)
        rc = words_check(ep, "its host", header[BATON_TABLE_AT_MEMORY] & BATON_LOCK_WHOLE_WORDS);
    if (rc)
        goto free_header;
    table = baton_ep_alloc(ep, sizeof *table, 64);
    if (!table) {
        rc = -ENOMEM;
        goto free_header;
    }
    handle_fill(table, ep, name, ops, base, header);
    rc = handle_localise(table, ep);
    if (!rc)
        rc = attach(ep, table, &predecessor_died);
    if (rc)
        goto free_table;
    /* A table that awaits a reinit can be opened: somebody has to do it. */
    rc = table_look(ep, table, predecessor_died);
    if (rc && rc != -ENOTRECOVERABLE) {
        (void)detach(ep, table);
        goto free_table;
    }
    baton_ep_free(ep, header);
    handle_enter(baton_ep_node(ep), table);
    *out = table;
    return 0;

free_table:
    handle_free(ep, table);
free_header:
    baton_ep_free(ep, header);
    return rc;
}

int baton_table_close(struct baton_ep *ep, struct baton_table *table)
{
    struct baton_node *node = baton_ep_node(ep);
    int rc;
    if (baton_node_index(node) != table->node)
        return baton_fail(-EINVAL, "lock table %s: a handle of node %u, an endpoint of node %u",
                          table->name, table->node, baton_node_index(node));
    if (table->maker) {
        /* Whoever waits for a lock of it in spite of the rules learns that there is none. */
        baton_put64(ep, table_at(table, BATON_TABLE_AT_STATE), PHASE_CLOSED, BATON_ID_TABLE);
        (void)baton_wait(ep, BATON_ID_TABLE);
        (void)baton_settle(ep, table->node);
        rc = baton_name_withdraw(node, table->name);
        handle_leave(ep, table, true);
        int destroyed = baton_segment_destroy(node, table->base);
        rc = rc ? rc : destroyed;
    } else {
        handle_leave(ep, table, false);
        rc = detach(ep, table);
    }
    handle_free(ep, table);
    return rc;
}

/* ---- Repair */

/* Whether the one who took the repair upon itself is still there to finish it. */
static bool repairer_lives(struct baton_ep *ep, const struct baton_table *table, uint64_t state,
                           const uint64_t *attach_words)
{
    unsigned node = state_node(state);
    if (node == table->node)
        return state_life(state) == (own_life(ep) & 0xfffff);
    return node < table->nodes &&
           baton_node_state(baton_ep_cluster(ep), node) == BATON_NODE_ALIVE &&
           (attach_words[node] >> 20 & 0xfffff) == state_life(state);
}

/* Participants that are gone take no part in what follows. */
static int forget_the_dead(struct baton_ep *ep, const struct baton_table *table,
                           const uint64_t *attach_words, uint64_t *result)
{
    uint64_t seen;
    for (unsigned n = 0; n < table->nodes; n++) {
        enum baton_node_state state = baton_node_state(baton_ep_cluster(ep), n);
        if (!attach_words[n] || state == BATON_NODE_ALIVE)
            continue;
        int rc =
            header_rcas(ep, result, table, BATON_TABLE_AT_ATTACH + n, attach_words[n], 0, &seen);
        if (rc)
            return rc;
    }
    return 0;
}

static int lines_renew(struct baton_ep *ep, const struct baton_table *table, uint64_t first)
{
    uint64_t at_once = REPAIR_BYTES / table->line_bytes;
    if (at_once > table->count)
        at_once = table->count;
    uint64_t *lines = baton_ep_alloc(ep, at_once * table->line_bytes, 64);
    if (!lines)
        return -ENOMEM;
    int rc = 0;
    for (uint64_t i = 0; i < at_once; i++)
        line_init(table->ops, table->params, table->line_bytes, lines + i * table->line_bytes / 8,
                  first);
    for (uint64_t i = 0; !rc && i < table->count; i += at_once) {
        uint64_t n = table->count - i < at_once ? table->count - i : at_once;
        baton_put(ep, table->lines + i * table->line_bytes, lines, n * table->line_bytes,
                  BATON_ID_TABLE);
        rc = baton_wait(ep, BATON_ID_TABLE);
    }
    if (!rc)
        rc = baton_settle(ep, table->host);
    baton_ep_free(ep, lines);
    return rc;
}

/* The repair proper, by the one whose name stands in the state word. */
static int table_repair(struct baton_ep *ep, struct baton_table *table, uint64_t mine,
                        const uint64_t *attach_words, uint64_t *result)
{
    uint64_t seen, deaths = deaths_now(ep), incarnation = state_incarnation(mine) + 1;
    uint64_t healthy = state_make(incarnation, PHASE_HEALTHY);
    int rc = forget_the_dead(ep, table, attach_words, result);
    if (!rc)
        rc = lines_renew(ep, table, table->first + (incarnation << INCARNATION_SHIFT));
    if (!rc)
        rc = header_rcas(ep, result, table, BATON_TABLE_AT_STATE, mine, healthy, &seen);
    if (rc)
        return rc;
    if (seen != mine)
        return baton_fail(-EAGAIN, "lock table %s: another node has taken the repair over",
                          table->name);
    /* That rcas has answered; others must also find what it wrote. */
    rc = baton_settle(ep, table->host);
    if (rc)
        return rc;
    return trust(ep, table, healthy, deaths);
}

int baton_table_reinit(struct baton_ep *ep, struct baton_table *table)
{
    uint64_t *words, seen = 0;
    int rc = table_look(ep, table, false);
    if (rc != -ENOTRECOVERABLE)
        return rc;
    rc = header_get(ep, table, &words);
    if (rc)
        return rc;
    uint64_t state = words[0];
    enum phase phase = state_phase(state);
    uint64_t mine = state_make(state_incarnation(state), PHASE_REPAIR) |
                    (uint64_t)table->node << 4 | (own_life(ep) & 0xfffff) << 20;
    if (phase == PHASE_CLOSED)
        rc = closed_fail(table);
    else if (phase == PHASE_HEALTHY)
        rc = baton_fail(-EAGAIN, "lock table %s: another node has just repaired it", table->name);
    else if (phase == PHASE_REPAIR && repairer_lives(ep, table, state, words + 1))
        rc = baton_fail(-EAGAIN, "lock table %s: node %u repairs it", table->name,
                        state_node(state));
    else if (state_incarnation(state) == INCARNATIONS_MAX)
        rc = baton_fail(-ENOTRECOVERABLE, "lock table %s: it has been repaired %u times",
                        table->name, INCARNATIONS_MAX);
    else
        rc = header_rcas(ep, &words[0], table, BATON_TABLE_AT_STATE, state, mine, &seen);
    if (!rc)
        rc = seen == state
                 ? table_repair(ep, table, mine, words + 1, &words[0])
                 : baton_fail(-EAGAIN, "lock table %s: another node repairs it", table->name);
    baton_ep_free(ep, words);
    return rc;
}

/* ---- What a table says of itself */

const struct baton_lock_ops *baton_table_kind(const struct baton_table *table)
{
    return table->ops;
}

uint64_t baton_table_count(const struct baton_table *table)
{
    return table->count;
}

unsigned baton_table_host(const struct baton_table *table)
{
    return table->host;
}

const uint64_t *baton_table_params(const struct baton_table *table)
{
    return table->params;
}

int baton_table_lock(struct baton_table *table, uint64_t index, struct baton_lock *out)
{
    if (index >= table->count)
        return baton_fail(-ERANGE, "lock table %s: lock %llu of %llu", table->name,
                          (unsigned long long)index, (unsigned long long)table->count);
    uint64_t offset = index * table->line_bytes;
    *out = (struct baton_lock){
        .ops = table->ops,
        .table = table,
        .params = table->params,
        .line = table->lines + offset,
        .local = table->local ? table->local + offset / 8 : NULL,
        .host = (uint16_t)table->host,
        .node = table->node,
        .memory = table->memory,
    };
    return 0;
}

/* ---- Waiters
 *
 * Once a waiter's address has been published, a hint may come to its word[7] at any later time. So the
 * memory of closed waiters goes to the next ones of the node and to nothing else.
 */

static struct baton_waiter *waiter_again(struct baton_node *node)
{
    pthread_mutex_lock(&node->lock);
    struct baton_waiter *waiter = node->waiters;
    if (waiter)
        node->waiters = (void *)(uintptr_t)waiter->own[0];
    pthread_mutex_unlock(&node->lock);
    return waiter;
}

static void waiter_keep(struct baton_node *node, struct baton_waiter *waiter)
{
    pthread_mutex_lock(&node->lock);
    waiter->own[0] = (uintptr_t)node->waiters;
    node->waiters = waiter;
    pthread_mutex_unlock(&node->lock);
}

int baton_waiter_open(struct baton_ep *ep, struct baton_waiter **out)
{
    struct baton_waiter *waiter = waiter_again(baton_ep_node(ep));
    if (waiter) {
        for (unsigned i = 0; i < BATON_WAITER_WORDS - 1; i++)
            waiter->word[i] = 0;
        memset(waiter->result, 0, sizeof *waiter - offsetof(struct baton_waiter, result));
    } else {
        waiter = baton_ep_alloc(ep, sizeof *waiter, 64);
        if (!waiter)
            return -ENOMEM;
    }
    waiter->self = baton_addr(baton_ep_node(ep), waiter->word);
    *out = waiter;
    return 0;
}

int baton_waiter_close(struct baton_ep *ep, struct baton_waiter *waiter)
{
    int rc = 0;
    if (waiter->line)
        return baton_fail(-EBUSY, "the waiter holds the lock at %u+0x%llx",
                          baton_gptr_node(waiter->line),
                          (unsigned long long)baton_gptr_offset(waiter->line));
    if (waiter->released) {
        int handed = waiter->handed ? baton_settle(ep, waiter->handed - 1) : 0;
        if (waiter->hinted)
            (void)baton_settle(ep, baton_gptr_node(waiter->hinted));
        rc = baton_settle(ep, baton_gptr_node(waiter->released));
        if (handed && !node_is_gone(ep, waiter->handed - 1, false))
            rc = rc ? rc : handed;
        if (release_lost(ep, waiter)) {
            release_mark(ep, waiter);
            rc = rc ? rc : -ECANCELED;
        }
    }
    /* Others may still have the address of a spent waiter, and write there: its memory is not used
     * for anything else while the node lives. */
    if (!waiter->committed)
        waiter_keep(baton_ep_node(ep), waiter);
    return rc;
}

/* ---- Locks */

/* Others may reach the waiter's words, and a second acquire would reset them. */
static void waiter_reused(struct baton_ep *ep, const struct baton_waiter *waiter)
{
    const struct baton_world_ops *world = baton_ep_cluster(ep)->ops;
    if (world->misused)
        world->misused(baton_epx(ep),
                       waiter->line
                           ? "a waiter reused while it holds a lock"
                           : "a waiter reused while it is linked, or after a call that left it so",
                       waiter->self);
}

static int acquire_misused(const struct baton_lock *lock, struct baton_ep *ep,
                           const struct baton_waiter *waiter)
{
    if (waiter->line || waiter->committed)
        waiter_reused(ep, waiter);
    if (waiter->line)
        return baton_fail(-EINVAL, "the waiter holds a lock already");
    if (waiter->committed)
        return baton_fail(-EINVAL,
                          "the waiter is spent: a call failed that had its place in a queue");
    return baton_fail(-EINVAL,
                      "a lock handle of node %u, an endpoint of node %u, a waiter of node %u",
                      lock->node, ep->node, baton_gptr_node(waiter->self));
}

/* Looks, and makes the wait start from what was seen: who dies from then on ends it. */
static int table_usable(struct baton_ep *ep, struct baton_table *table, struct baton_wait *wait,
                        uint64_t *head)
{
    int rc = table_look(ep, table, false);
    if (rc)
        return rc;
    *head = baton_load(ep, &table->head);
    wait->deaths = head_group(*head)->group.deaths;
    return 0;
}

/* Says who has died since, if it is known here: whoever noticed it first marks the table for all. */
static int owner_dead(const struct baton_lock *lock, struct baton_ep *ep, uint64_t deaths)
{
    const struct baton_table *table = lock->table;
    for (unsigned n = 0; n < table->nodes; n++)
        if (baton_node_died_since(baton_ep_node(ep), n, deaths))
            return baton_fail(-EOWNERDEAD, "lock table %s: node %u has died", table->name, n);
    return baton_fail(-EOWNERDEAD, "lock table %s: a participant died or failed", table->name);
}

/*
 * What failed because a node is gone says who: the host, of which another operation may hear first, or one
 * who takes part and was to be handed something.
 */
static __attribute__((cold)) int by_death(const struct baton_lock *lock, struct baton_ep *ep,
                                          int rc, uint64_t deaths)
{
    struct baton_ep_fault fault;
    if (rc == -EOWNERDEAD)
        return owner_dead(lock, ep, deaths);
    if (rc != -EHOSTDOWN && rc != -ENOTCONN && rc != -ECANCELED && rc != -EKEYREJECTED)
        return rc;
    baton_ep_error(ep, &fault);
    if (!baton_ep_state(ep, lock->host))
        (void)baton_settle_slow(ep, lock->host);
    int host = baton_ep_state(ep, lock->host);
    if (host)
        return host == -EHOSTDOWN ? host : rc;
    if (fault.node == lock->host)
        return rc;
    /* The memory of who took part is gone when another process has his number already. */
    const bool gone = fault.rc == -EHOSTDOWN || (rc == -EKEYREJECTED && fault.rc == rc);
    return gone ? owner_dead(lock, ep, deaths) : rc;
}

typedef int (*acquire_fn)(const struct baton_lock *, struct baton_ep *, struct baton_waiter *,
                          struct baton_wait *);

static inline __attribute__((always_inline)) int
acquire_by(acquire_fn acquire, const struct baton_lock *lock, struct baton_ep *ep,
           struct baton_waiter *waiter, uint64_t deadline_ns)
{
    struct baton_wait wait;
    if (__builtin_expect((waiter->line | waiter->committed | (ep->node ^ lock->node) |
                          (baton_gptr_node(waiter->self) ^ lock->node)) != 0,
                         0))
        return acquire_misused(lock, ep, waiter);
    if (__builtin_expect(waiter->released != 0, 0) && release_lost(ep, waiter))
        release_mark(ep, waiter);

    uint64_t head = baton_load(ep, &lock->table->head);
    baton_wait_begin(ep, &wait, deadline_ns, NULL); /* without a group it takes the count of now */
    if (__builtin_expect((head & LOOK) || head_group(head)->group.deaths != wait.deaths, 0)) {
        int rc = table_usable(ep, lock->table, &wait, &head);
        if (rc)
            return rc;
    }
    wait.group = &head_group(head)->group;
    if (waiter->released) {
        wait.first = look_and_block;
        wait.first_arg = waiter;
    }
    waiter->token = 0;
    int rc = acquire(lock, ep, waiter, &wait);
    if (__builtin_expect(rc != 0, 0)) {
        /* If a place may have been taken, nobody will come to that place. */
        rc = by_death(lock, ep, rc, wait.deaths);
        if (waiter->committed || rc == -EOWNERDEAD)
            place_mark(ep, lock->table, wait.group, waiter->committed);
        return rc;
    }
    waiter->committed = 0;
    waiter->line = lock->line;
    waiter->healthy = wait.group->healthy;
    return 0;
}

int baton_lock_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter)
{
    return acquire_by(lock->ops->acquire, lock, ep, waiter, BATON_NEVER);
}

int baton_lock_try(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *waiter)
{
    if (!(lock->ops->caps & BATON_LOCK_TRY))
        return baton_fail(-EOPNOTSUPP, "lock kind %s has no try", lock->ops->name);
    return acquire_by(lock->ops->try_acquire, lock, ep, waiter, BATON_NEVER);
}

int baton_lock_acquire_until(const struct baton_lock *lock, struct baton_ep *ep,
                             struct baton_waiter *waiter, uint64_t deadline_ns)
{
    if (!(lock->ops->caps & BATON_LOCK_DEADLINE))
        return baton_fail(-EOPNOTSUPP, "lock kind %s can not give up its place in the queue",
                          lock->ops->name);
    return acquire_by(lock->ops->acquire, lock, ep, waiter, deadline_ns);
}

int baton_lock_release(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter)
{
    if (__builtin_expect(waiter->line != lock->line || ep->node != lock->node, 0))
        return baton_fail(-EINVAL, "the waiter does not hold this lock");
    waiter->line = BATON_NULL;

    /* After a repair the lock belongs to others, and its words must not hear of the old holder. */
    const struct baton_group *group = &head_group(baton_load(ep, &lock->table->head))->group;
    if (__builtin_expect(group->healthy != waiter->healthy, 0)) {
        waiter->committed = 1;
        if (group->healthy == PHASE_CLOSED)
            return closed_fail(lock->table);
        return baton_fail(-EOWNERDEAD, "the lock table was repaired while the lock was held");
    }

    if (waiter->released)
        look_and_forget(ep, waiter, lock->host);
    const uint32_t lost = ep->peers[lock->host]->lost;
    int rc = lock->ops->release(lock, ep, waiter);
    /* A queue pair that has been made new since owes nothing, and what was lost on it counts. */
    if (__builtin_expect(!rc && !(waiter->handed | waiter->hinted) && !peer_owes(ep, lock->host) &&
                             ep->peers[lock->host]->lost == lost,
                         1)) {
        waiter->released = BATON_NULL;
        return 0;
    }
    waiter->released = group->state;
    waiter->released_healthy = waiter->healthy;
    waiter->released_by = ep;
    waiter->lost_host = lost;
    if (__builtin_expect(rc || release_lost(ep, waiter), 0)) {
        place_mark(ep, lock->table, group, true);
        waiter->released = BATON_NULL;
        waiter->committed = 1; /* a successor may still come to link itself */
        if (!rc)
            rc = baton_ep_state(ep, lock->host);
        if (!rc && waiter->handed)
            rc = baton_ep_state(ep, waiter->handed - 1);
        rc = by_death(lock, ep, rc ? rc : -ECANCELED, group->deaths);
    }
    return rc;
}

void baton_lock_wait_begin(const struct baton_lock *lock, struct baton_ep *ep,
                           struct baton_wait *wait)
{
    baton_wait_begin(ep, wait, BATON_NEVER, &head_group(baton_load(ep, &lock->table->head))->group);
}
