/* SPDX-License-Identifier: MIT */
/* The harness of locks for the exhaustive driver; see lock_check.h. */
#include "check/lock_check.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <baton/check.h>

#include "base/error.h"

const char *const check_data_names[] = {"cpu", "put", "get", "other-node"};
const char *const check_enter_names[] = {"acquire", "try", "deadline"};

enum { EVENT_BEGIN = 1, EVENT_LEAVE = 2 };
enum { ID_SECTION = 1, ID_LATE = 2 };
enum part { PART_BEFORE, PART_INSIDE, PART_AFTER }; /* of a round */

/* Of a member's buffer: the last word says where its body is. */
#define BUFFER_PART (BATON_WAITER_WORDS - 1)

/* What the observers keep; a multiple of 8 bytes. */
struct ghost {
    uint8_t inside;                  /* mask: between acquire and release */
    uint8_t waiting;                 /* mask: the doorway has ended, not served yet */
    uint8_t before[SIM_THREADS_MAX]; /* masks: who must be served before this thread */
    uint8_t begun;                   /* mask: has done something that others can see */
    uint8_t pad;
    uint32_t sections; /* where a thread may come away without the lock: how many there were */
};

struct run;

/* What a body is about. */
struct member {
    struct run *run;
    struct baton_lock lock;
    struct baton_waiter *waiter;
    uint64_t *buffer;
    unsigned number;
    bool local;
    enum check_enter enters;
};

struct run {
    const struct check_lock *config;
    struct sim_explore *x;
    struct baton_cluster *cluster;
    struct baton_table *tables[SIM_THREADS_MAX + 2];
    struct baton_ep *eps[SIM_THREADS_MAX + 2];
    struct member members[SIM_THREADS_MAX];
    struct ghost ghost;
    baton_gptr line;
    baton_gptr data; /* counter, owner */
    uint64_t *words; /* the same by CPU, for who may */
    unsigned threads, nodes, data_node;
    bool fcfs;
    bool may_fail; /* somebody tries, or has a deadline */
    void (*tell)(void *arg, const char *line);
    void *tell_arg;
};

static unsigned threads_of(const struct check_lock *config)
{
    return config->local + config->remote;
}

static unsigned node_of(const struct check_lock *config, unsigned thread)
{
    return thread < config->local ? 0 : 1 + thread - config->local;
}

void check_lock_enter_text(const struct check_lock *config, char *out)
{
    const enum check_enter local = config->local_enters, remote = config->remote_enters;
    size_t n = 0;
    *out = 0;
    if (local == remote && local)
        snprintf(out, CHECK_ENTER_TEXT, " %s=all", check_enter_names[local]);
    else if (local)
        n = (size_t)snprintf(out, CHECK_ENTER_TEXT, " %s=local", check_enter_names[local]);
    if (local != remote && remote)
        snprintf(out + n, CHECK_ENTER_TEXT - n, " %s=remote", check_enter_names[remote]);
}

bool check_lock_enter_read(struct check_lock *config, enum check_enter enter, const char *who)
{
    const bool all = !strcmp(who, "all"), local = !strcmp(who, "local"),
               remote = !strcmp(who, "remote");
    if (all || local)
        config->local_enters = enter;
    if (all || remote)
        config->remote_enters = enter;
    return all || local || remote;
}

void check_lock_thread(const struct check_lock *config, unsigned thread, char *out, size_t bytes)
{
    bool local = thread < config->local;
    snprintf(out, bytes, "%c%u", local ? 'L' : 'R', local ? thread : thread - config->local);
}

/* ---- Observers */

static void event(void *arg, unsigned thread, unsigned events)
{
    struct run *r = arg;
    if (events & EVENT_LEAVE)
        r->ghost.inside &= (uint8_t) ~(1u << thread);
    if (events & EVENT_BEGIN) {
        r->ghost.before[thread] = r->ghost.waiting & (uint8_t) ~(1u << thread);
        r->ghost.begun |= (uint8_t)(1u << thread);
    }
}

static void doorway(void *arg, struct baton_ep *ep, struct baton_waiter *waiter)
{
    struct run *r = arg;
    for (unsigned t = 0; r->fcfs && t < threads_of(r->config); t++)
        if (r->members[t].waiter == waiter)
            r->ghost.waiting |= (uint8_t)(1u << t);
}

static void enter(const struct member *m, struct baton_ep *ep)
{
    struct run *r = m->run;
    struct ghost *g = &r->ghost;
    const unsigned self = m->number;
    baton_check_note(ep, "has the lock");
    sim_explore_now(ep);
    if (g->inside)
        baton_check_fail(ep, "exclusion: two threads are in together");
    g->inside |= (uint8_t)(1u << self);
    g->sections += r->may_fail;
    if (!r->fcfs)
        return;
    if (g->before[self])
        baton_check_fail(ep,
                         "order: a thread whose doorway had ended before this one began has not "
                         "been served yet");
    g->waiting &= (uint8_t) ~(1u << self);
    for (unsigned t = 0; t < SIM_THREADS_MAX; t++)
        g->before[t] &= (uint8_t) ~(1u << self);
}

/* The thread has come away without the lock. */
static void refused(const struct member *m, struct baton_ep *ep)
{
    struct ghost *g = &m->run->ghost;
    baton_check_note(ep, "does not get it");
    sim_explore_now(ep);
    if (m->enters == CHECK_TRY && !(g->begun & ~(1u << m->number)))
        baton_check_fail(ep, "refused: a try of a lock that nobody else has used");
    g->before[m->number] = 0;
}

static uint8_t mask_to(uint8_t mask, const uint8_t *to)
{
    uint8_t out = 0;
    for (unsigned t = 0; mask; t++, mask >>= 1)
        if (mask & 1)
            out |= (uint8_t)(1u << to[t]);
    return out;
}

static uint64_t ghost_hash(void *arg, const uint8_t *to)
{
    const struct run *r = arg;
    const struct ghost *g = &r->ghost;
    uint64_t before = 0;
    uint64_t failing = 0;
    if (r->may_fail) /* who was refused has seen whether somebody had begun */
        failing = (uint64_t)g->sections << 16 | (uint64_t)mask_to(g->begun, to) << 48;
    if (!r->fcfs)
        return mask_to(g->inside, to) | failing;
    for (unsigned t = 0; t < r->threads; t++)
        if (g->before[t])
            before |= (uint64_t)mask_to(g->before[t], to) << 8 * to[t];
    uint64_t h = (before ^ 0x9e3779b97f4a7c15u) * 0xd6e8feb86659fd93u;
    h ^= failing * 0xa0761d6478bd642fu;
    return h ^ h >> 32 ^ (uint64_t)mask_to(g->inside, to) << 8 ^ mask_to(g->waiting, to);
}

static bool inside(void *arg, unsigned thread)
{
    const struct run *r = arg;
    return r->ghost.inside >> thread & 1;
}

static const char *at_end(void *arg)
{
    const struct run *r = arg;
    const struct check_lock *c = r->config;
    uint64_t sections = r->may_fail ? r->ghost.sections : (uint64_t)threads_of(c) * c->rounds;
    if (c->data != CHECK_DATA_GET && r->words[0] != sections)
        return "lost update: the counter is less than the number of sections";
    return r->ghost.inside ? "a thread has ended inside" : NULL;
}

static bool word_name(void *arg, baton_gptr at, char *out, size_t bytes)
{
    const struct run *r = arg;
    char who[8];
    if (at - r->line < 4096) {
        snprintf(out, bytes, "lock[%u]", (unsigned)(at - r->line) / 8);
        return true;
    }
    if (at - r->data < 16) {
        snprintf(out, bytes, at == r->data ? "counter" : "owner");
        return true;
    }
    for (unsigned t = 0; t < threads_of(r->config); t++) {
        uint64_t offset = at - r->members[t].waiter->self;
        check_lock_thread(r->config, t, who, sizeof(who));
        if (offset < sizeof(struct baton_waiter)) {
            static const char *const parts[] = {"word", "result", "own", "rest"};
            snprintf(out, bytes, "%s.%s[%u]", who, parts[offset / 64 < 3 ? offset / 64 : 3],
                     (unsigned)(offset % 64 / 8));
            return true;
        }
    }
    return false;
}

static void thread_name(void *arg, unsigned thread, char *out, size_t bytes)
{
    const struct run *r = arg;
    check_lock_thread(r->config, thread, out, bytes);
}

/* ---- Sections: a read and a write of the counter, in two steps */

static int section_cpu_local(struct run *r, struct baton_ep *ep, uint64_t self)
{
    baton_store(ep, &r->words[1], self);
    uint64_t v = baton_load(ep, &r->words[0]);
    baton_store(ep, &r->words[0], v + 1);
    if (baton_load(ep, &r->words[1]) != self)
        baton_check_fail(ep, "exclusion: the owner's mark was overwritten");
    return 0;
}

static int section_cpu_remote(struct run *r, struct baton_ep *ep, uint64_t self, uint64_t *buffer)
{
    baton_put64(ep, r->data + 8, self, 0);
    baton_get(ep, &buffer[0], r->data, 8, ID_SECTION);
    int rc = baton_wait(ep, ID_SECTION);
    baton_put64(ep, r->data, buffer[0] + 1, 0);
    baton_order(ep, r->data_node);
    baton_get(ep, &buffer[1], r->data + 8, 8, ID_SECTION);
    rc = rc ? rc : baton_wait(ep, ID_SECTION);
    if (!rc && buffer[1] != self)
        baton_check_fail(ep, "exclusion: the owner's mark was overwritten");
    return rc;
}

static int section_put(struct run *r, struct baton_ep *ep, uint64_t *buffer)
{
    uint16_t node = (uint16_t)r->data_node;
    baton_get(ep, &buffer[0], r->data, 8, ID_SECTION);
    int rc = baton_wait(ep, ID_SECTION);
    baton_put64(ep, r->data, buffer[0] + 1, 0);
    if (r->data_node && !r->config->no_gfence)
        rc = rc ? rc : baton_gfence(ep, &node, 1);
    return rc;
}

static void section_get(struct run *r, struct baton_ep *ep, uint64_t tag, uint64_t *buffer)
{
    baton_put64(ep, r->data, tag, 0);
    baton_order(ep, r->data_node);
    baton_get(ep, &buffer[0], r->data, 8, ID_LATE);
}

static int section(const struct member *m, struct baton_ep *ep, uint64_t tag)
{
    struct run *r = m->run;
    switch (r->config->data) {
    case CHECK_DATA_CPU:
        return m->local ? section_cpu_local(r, ep, m->waiter->self)
                        : section_cpu_remote(r, ep, m->waiter->self, m->buffer);
    case CHECK_DATA_GET:
        section_get(r, ep, tag, m->buffer);
        return 0;
    default:
        return section_put(r, ep, m->buffer);
    }
}

/* ---- Threads */

#define KEPT_WORDS (BATON_WAITER_WORDS + 6)
#define KNOWN_MAX 16u

/* What a waiter holds beside what was fetched, and where this body is. */
static unsigned kept(const struct member *m, uint64_t *values)
{
    const struct baton_waiter *w = m->waiter;
    unsigned n = 0;
    for (; n < BATON_WAITER_WORDS; n++)
        values[n] = w->own[n];
    values[n++] = w->token;
    values[n++] = w->line;
    values[n++] = w->released;
    values[n++] = w->hinted;
    values[n++] = (uint64_t)w->handed << 32 | w->committed;
    values[n++] = m->buffer[BUFFER_PART];
    return n;
}

/* Between two calls a kind keeps nothing else; and before an acquire nothing of the time when it had the lock. */
static void forget(const struct member *m, struct baton_ep *ep, unsigned round, enum part part)
{
    struct baton_waiter *w = m->waiter;
    uint64_t values[KEPT_WORDS];
    for (unsigned n = 0; n < BATON_WAITER_WORDS; n++) {
        if (part == PART_BEFORE && n < BATON_WAITER_OWN)
            w->own[n] = 0;
        if (!m->run->config->no_forget) {
            w->result[n] = 0; /* nobody looks at what was fetched in an earlier call */
            m->buffer[n] = 0;
        }
    }
    if (part == PART_BEFORE)
        w->token = 0;
    m->buffer[BUFFER_PART] = 4 * (uint64_t)round + part;
    if (!m->run->config->no_forget)
        sim_explore_forget(ep, values, kept(m, values));
}

/* What the kind says that it knows while it waits. */
static void knows(void *arg, struct baton_ep *ep, struct baton_waiter *waiter, bool turn,
                  const uint64_t *values, unsigned n)
{
    const struct run *r = arg;
    uint64_t all[KEPT_WORDS + KNOWN_MAX];
    for (unsigned t = 0; t < r->threads; t++)
        if (r->members[t].waiter == waiter && n <= KNOWN_MAX) {
            unsigned k = kept(&r->members[t], all);
            memcpy(all + k, values, n * sizeof(*values));
            if (turn)
                sim_explore_forget(ep, all, k + n);
            else
                sim_explore_knows(ep, all, k + n);
        }
}

static int come_in(const struct member *m, struct baton_ep *ep)
{
    switch (m->enters) {
    case CHECK_TRY:
        baton_check_note(ep, "tries");
        return baton_lock_try(&m->lock, ep, m->waiter);
    case CHECK_DEADLINE:
        baton_check_note(ep, "calls acquire with a deadline");
        return baton_lock_acquire_until(&m->lock, ep, m->waiter, BATON_NEVER - 1);
    default:
        baton_check_note(ep, "calls acquire");
        return baton_lock_acquire(&m->lock, ep, m->waiter);
    }
}

static int one_round(const struct member *m, struct baton_ep *ep, unsigned round)
{
    struct run *r = m->run;
    bool late = r->config->data == CHECK_DATA_GET;
    uint64_t tag = m->waiter->self + 8 * (uint64_t)round;
    forget(m, ep, round, PART_BEFORE);
    if (r->fcfs || r->may_fail)
        sim_explore_when(ep, EVENT_BEGIN);
    int rc = come_in(m, ep);
    if ((rc == -EBUSY && m->enters == CHECK_TRY) ||
        (rc == -ETIMEDOUT && m->enters == CHECK_DEADLINE)) {
        refused(m, ep);
        return 0;
    }
    if (rc)
        return rc;
    enter(m, ep);
    forget(m, ep, round, PART_INSIDE);
    rc = section(m, ep, tag);
    if (rc)
        return rc;
    if (!late)
        forget(m, ep, round, PART_AFTER);
    baton_check_note(ep, "calls release");
    sim_explore_when(ep, EVENT_LEAVE);
    rc = baton_lock_release(&m->lock, ep, m->waiter);
    if (!rc && late) {
        rc = baton_wait(ep, ID_LATE);
        if (!rc && m->buffer[0] != tag)
            baton_check_fail(ep, "late get: a get of the section has read after the section");
    }
    return rc;
}

static int body(struct baton_ep *ep, unsigned thread, void *arg)
{
    const struct member *m = arg;
    for (unsigned round = 0; round < m->run->config->rounds; round++) {
        int rc = one_round(m, ep, round);
        if (rc)
            return rc;
    }
    forget(m, ep, m->run->config->rounds, PART_BEFORE);
    baton_check_note(ep, "has ended");
    return 0;
}

/* ---- Setting up */

static int open_nodes(struct run *r)
{
    const struct check_lock *c = r->config;
    struct baton_table_opts opts = {.size = sizeof(opts),
                                    .kind = c->kind->name,
                                    .count = 1,
                                    .params = c->params,
                                    .first_ticket = c->first_ticket};
    int rc = 0;
    for (unsigned n = 0; n < r->nodes && !rc; n++) {
        rc = baton_ep_open(baton_cluster_node(r->cluster, n), &r->eps[n]);
        if (!rc && n == 0)
            rc = baton_table_create(r->eps[n], "lock", &opts, &r->tables[n]);
        else if (!rc)
            rc = baton_table_open(r->eps[n], "lock", BATON_NEVER, &r->tables[n]);
    }
    return rc;
}

static int open_threads(struct run *r)
{
    for (unsigned t = 0; t < threads_of(r->config); t++) {
        struct member *m = &r->members[t];
        unsigned node = node_of(r->config, t);
        int rc = baton_waiter_open(r->eps[node], &m->waiter);
        if (!rc)
            rc = baton_table_lock(r->tables[node], 0, &m->lock);
        if (rc)
            return rc;
        m->run = r;
        m->number = t;
        m->local = t < r->config->local;
        m->enters = m->local ? r->config->local_enters : r->config->remote_enters;
        m->waiter->doorway = doorway;
        m->waiter->doorway_arg = r;
        m->waiter->knows = r->config->no_forget ? NULL : knows;
        m->buffer = baton_ep_alloc(r->eps[node], 64, 64);
        if (!m->buffer)
            return -ENOMEM;
        r->line = m->lock.line;
    }
    return 0;
}

static int open_data(struct run *r)
{
    struct baton_node *node = baton_cluster_node(r->cluster, r->data_node);
    void *memory;
    int rc = baton_segment_create(node, 16, BATON_READ | BATON_WRITE, NULL, 0, &r->data);
    if (!rc)
        rc = baton_ptr(node, r->data, 16, &memory);
    if (!rc)
        r->words = memory;
    return rc;
}

static void close_all(struct run *r)
{
    for (unsigned n = r->nodes; n-- > 0;) {
        if (r->tables[n])
            (void)baton_table_close(r->eps[n], r->tables[n]);
        if (r->eps[n])
            (void)baton_ep_close(r->eps[n]);
    }
    (void)baton_cluster_close(r->cluster);
}

static void tell(void *arg, const char *line)
{
    struct run *r = arg;
    if (r->tell)
        r->tell(r->tell_arg, line);
}

static int explore(struct run *r)
{
    const struct check_lock *c = r->config;
    struct baton_team teams[SIM_THREADS_MAX];
    struct sim_range ranges[2 * SIM_THREADS_MAX];
    uint8_t classes[SIM_THREADS_MAX];
    struct sim_explore *x = r->x;
    unsigned ranges_n = 0;
    for (unsigned t = 0; t < threads_of(c); t++) {
        struct member *m = &r->members[t];
        baton_gptr buffer = baton_addr(baton_cluster_node(r->cluster, node_of(c, t)), m->buffer);
        teams[t] = (struct baton_team){node_of(c, t), 1, body, m};
        classes[t] = !m->local;
        ranges[ranges_n++] = (struct sim_range){t, m->waiter->self, sizeof(struct baton_waiter)};
        ranges[ranges_n++] = (struct sim_range){t, buffer, 64};
    }
    x->tell = tell;
    x->ghost = &r->ghost;
    x->ghost_bytes = sizeof(r->ghost);
    x->ghost_hash = ghost_hash;
    x->event = event;
    x->guarded = r->data;
    x->guarded_bytes = 16;
    x->inside = inside;
    x->final = at_end;
    x->name = word_name;
    x->thread_name = thread_name;
    x->arg = r;
    x->classes = c->no_symmetry ? NULL : classes;
    x->ranges = ranges;
    x->ranges_n = ranges_n;
    int rc = sim_explore_attach(r->cluster, x);
    if (!rc)
        rc = baton_run(r->cluster, teams, threads_of(c));
    x->classes = NULL;
    x->ranges = NULL;
    return rc == -EPROTO && x->verdict == SIM_VIOLATED ? 0 : rc;
}

static int enters_check(const struct baton_lock_ops *kind, enum check_enter enters)
{
    if (enters == CHECK_TRY && !(kind->caps & BATON_LOCK_TRY))
        return baton_fail(-EOPNOTSUPP, "lock kind %s has no try", kind->name);
    if (enters == CHECK_DEADLINE && !(kind->caps & BATON_LOCK_DEADLINE))
        return baton_fail(-EOPNOTSUPP, "lock kind %s can not give up its place in the queue",
                          kind->name);
    return 0;
}

int check_lock_run(const struct check_lock *config, struct sim_explore *x)
{
    struct run run = {.config = config, .x = x, .tell = config->tell, .tell_arg = config->tell_arg};
    bool other = config->data == CHECK_DATA_OTHER_NODE;
    if (!config->kind || !threads_of(config) || threads_of(config) > SIM_THREADS_MAX ||
        !config->rounds)
        return baton_fail(-EINVAL, "1 to %u threads, at least one round", SIM_THREADS_MAX);
    int rc = enters_check(config->kind, config->local_enters);
    if (!rc)
        rc = enters_check(config->kind, config->remote_enters);
    if (rc)
        return rc;
    run.may_fail = config->local_enters || config->remote_enters;
    run.threads = threads_of(config);
    run.nodes = 1 + config->remote + other;
    run.data_node = other ? run.nodes - 1 : 0;
    run.fcfs = baton_lock_caps(config->kind, config->params) & BATON_LOCK_FCFS && !config->no_fcfs;
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    opts.fabric = "sim";
    opts.options = "driver=exhaustive";
    opts.nodes = run.nodes;
    opts.arena_bytes = 64 << 10;
    opts.flags = config->swap ? BATON_CLUSTER_SWAP : 0;
    rc = baton_cluster_open(&opts, &run.cluster);
    if (rc)
        return rc;
    rc = open_nodes(&run);
    if (!rc)
        rc = open_threads(&run);
    if (!rc)
        rc = open_data(&run);
    if (!rc)
        rc = explore(&run);
    close_all(&run);
    return rc;
}
