/* SPDX-License-Identifier: MIT */
/*
 * The simulated world, seen from inside: threads are coroutines with store buffers, and every remote
 * operation goes through the machine of the memory model (model/nic.h), step by step. What happens next is
 * decided by a driver:
 *
 *     timed        every step takes the time that a profile of a NIC generation gives it
 *     random       a seeded choice among all that may happen, with faults
 *     exhaustive   every choice, one after the other (`baton check`)
 *
 * sim.c        threads: what an endpoint does, blocking, waking; clusters
 * sim_nic.c    queue pairs: from posted operations to entries of the machine and back
 * sim_misuse.c what a program must not do to words
 * explore*.c   the exhaustive driver; see explore.h
 * sim_*.c      one file per driver
 *
 * A thread runs until its next visible act. It then says what the act will be (thread->next) and yields; the
 * driver resumes it when the act is to happen. Acts of waiting make it blocked instead.
 */
#ifndef BATON_SIM_SIM_H
#define BATON_SIM_SIM_H

#include "base/pool.h"
#include "base/random.h"
#include "fabric/world.h"
#include "model/nic.h"
#include "sim/coro.h"
#include "sim/local.h"

#define SIM_READS_MAX 32u  /* words that one turn of a polling loop may look at and still block */
#define SIM_BUFFER_MAX 64u /* entries of a store buffer; a full one drains first */
#define SIM_STACK_BYTES (64u << 10)
/* Where memory begins when addresses must be told from numbers by their looks: see explore.h. */
#define SIM_EXPLORE_BASE UINT64_C(0x5ba75ba70000)

struct sim;
struct sim_thread;
struct sim_qp;

enum sim_act {
    SIM_ACT_BEGIN,
    SIM_ACT_LOAD,
    SIM_ACT_STORE,
    SIM_ACT_RMW,
    SIM_ACT_FENCE,
    SIM_ACT_RING,
    SIM_ACT_AWAKE /* goes on after having been blocked */
};

enum sim_state {
    SIM_READY, /* next act may happen at any time (an RMW and a fence: when the buffer is empty) */
    SIM_WORK,  /* until an outstanding operation of its endpoint is done */
    SIM_CONDS, /* until a condition holds */
    SIM_RELAX, /* until a word differs from what this turn read */
    SIM_DELAY, /* until a time */
    SIM_ENDED,
    SIM_KILLED
};

/* A word that a blocked thread watches. */
struct sim_watch {
    const uint64_t *word;
    struct sim_thread *thread;
    struct sim_watch *next, **link;
};

/* An entry of a store buffer: a store, or an operation that was rung. */
struct sim_buffered {
    uint64_t *word; /* null: the operation */
    uint64_t value;
    struct baton_op op;
    struct sim_ep *ep;
};

struct sim_read {
    const uint64_t *word;
    uint64_t value;
};

struct sim_thread {
    struct sim *sim;
    struct baton_coro *coro;
    const struct baton_team *team;
    unsigned index;  /* in its team */
    unsigned number; /* in the run */
    struct baton_ep *ep;
    struct sim_buffered
        *buffer; /* oldest first; from buffer_first, buffer_n of them, SIM_BUFFER_MAX ring */
    void *driver;
    unsigned watches_n;

    /* What it used last, and will use first when it goes on: a driver may ask for it in time. */
    struct {
        const char *stack;
        const struct baton_epx *ep;
        const struct sim_qp *qp;
        const struct baton_epx_peer *peer;
        const void *landing; /* of the last operation that fetches */
    } rests;

    /* From here to `watches`: what a driver that goes back has to keep and put back. */
    int rc;
    enum sim_state state;
    struct {
        enum sim_act act;
        unsigned ops; /* SIM_ACT_RING: the length of the chain */
        const uint64_t *word;
    } next;

    unsigned buffer_first, buffer_n;

    /* While blocked. */
    struct sim_ep *blocked;
    const uint32_t *awaits; /* SIM_WORK: until this is 0; null: until anything is done */
    const struct baton_cond *conds;
    unsigned conds_n;
    struct baton_wait *wait;
    uint64_t until;
    int wake_rc;
    unsigned reads_n;
    struct sim_watch watches[SIM_READS_MAX + 1];
    struct sim_read
        reads[SIM_READS_MAX]; /* since the last await or relax; more are not remembered */
};

/* In whole lines of the cache. */
static inline size_t sim_lines(size_t bytes)
{
    return (bytes + 63) & ~(size_t)63;
}

/* The driver's part of a thread, which t->driver shows too. */
static inline void *sim_thread_own(const struct sim_thread *t)
{
    return (char *)(uintptr_t)t + sim_lines(sizeof(*t));
}

#define SIM_PIECES_MAX 16u /* entries of one transfer; longer ones move several words at a time */
#define SIM_QP_MAX 48u /* entries of a queue pair; what does not fit stays in the store buffer */
#define SIM_QP_FEW 4u  /* that it has memory for to begin with */
#define SIM_WAYS 16u   /* queue pairs that an endpoint knows one by the other */

/* What an entry of a queue pair belongs to. Pieces of one operation share its number. */
struct sim_part {
    struct baton_op op; /* of the first piece; the others look there */
    uint32_t number;    /* of the operation on this queue pair; a fence has none: 0 */
    uint32_t pieces;    /* first piece: entries of the operation that are not done */
    uint32_t words;     /* that this entry moves */
    uint8_t first, wrote;
    uint8_t late;    /* steps whose time has come, and that were not ready; the timed driver's */
    uint64_t *extra; /* all words on their way, if there are several */
};

/*
 * A queue pair: one endpoint's way to one node. `nic` is the machine's view of the same entries. Entries
 * that are done with are dropped from the front.
 */
struct sim_qp {
    struct sim_ep *ep;
    unsigned node;
    uint32_t numbers;
    uint64_t dropped; /* entries that have left the front so far */
    struct baton_nic_qp nic;
    struct baton_nic_entry *entries; /* these four have `room` places */
    struct baton_nic_value *values;
    struct sim_part *parts;
    uint8_t *flags;
    unsigned room;
    bool broken;
    size_t place;  /* in sim->busy, while it has entries */
    void *driver;  /* qp_bytes of the driver's own */
    uint64_t held; /* no step before this time; the random driver's */
    struct sim_qp *next_dead;
};

#define SIM_QP_FLAGS(room) (((room) + 7u) & ~7u) /* their bytes */
/* Behind the driver's part: what the first entry uses of the four, and most queue pairs ever use. */
#define SIM_QP_FIRST_BYTES                                                                         \
    (SIM_QP_FEW * (sizeof(struct baton_nic_value) + sizeof(struct baton_nic_entry)) +              \
     SIM_QP_FLAGS(SIM_QP_FEW) + sizeof(struct sim_part))

struct sim_ep {
    struct baton_epx *epx;     /* null: abandoned, its operations go on without anybody who waits */
    struct sim_thread *thread; /* who rang last */
    struct sim_thread *owner;  /* who opened it; null: code outside of baton_run */
    struct sim_ep *next, **link; /* of all that are open, or of all that were abandoned */
    unsigned node;
    unsigned busy;          /* queue pairs with entries */
    bool closing;           /* its thread waits until there are none */
    struct sim_qp *last;    /* that was posted to; null: none was */
    void *landing;          /* of the last operation that fetches */
    struct sim_qp **ways[]; /* queue pairs by node, SIM_WAYS together; made when first used */
};

/* The endpoint's queue pair to the node; null: it has not been used. */
static inline struct sim_qp *sim_qp_known(const struct sim_ep *e, unsigned node)
{
    if (e->last && e->last->node == node)
        return e->last;
    struct sim_qp **some = e->ways[node / SIM_WAYS];
    return some ? some[node % SIM_WAYS] : NULL;
}

/* What a driver does. Calls that may be null are marked. */
struct sim_driver {
    const char *name;
    int (*open)(struct sim *, const char *options);
    void (*close)(struct sim *);
    int (*run)(struct sim *); /* until all threads have ended and all entries are done */

    uint64_t (*now)(struct sim *);

    /* Whether the current thread may go on with its next act without giving way. Null: never. */
    bool (*at_once)(struct sim *, struct sim_thread *);
    /* The thread has become SIM_READY, for its next act. Null: the driver looks itself. */
    void (*ready)(struct sim *, struct sim_thread *);
    /*
     * An operation of the thread, which waits for its work, is done. Null: the thread goes on whenever one
     * is; else not before what it waits for is there.
     */
    void (*found)(struct sim *, struct sim_thread *);
    /* The thread has a new entry in its store buffer. Null. */
    void (*buffered)(struct sim *, struct sim_thread *);
    /* Entries from `at` on are new in the queue pair. Null. */
    void (*posted)(struct sim *, struct sim_qp *, unsigned at);
    size_t thread_bytes; /* its own part of a thread, zeroed */
    size_t qp_bytes;     /* its own part of a queue pair, zeroed */
    /* Whether what is rung with nothing in the store buffer before it may skip that. */
    bool straight;
    /* Whether all words of an operation move at the same time: it needs but one entry. */
    bool whole;
    /* Whether relax looks at what the turn has read, which is kept for it then. */
    bool reads;
    /* A polling loop ends a turn: blocks the current thread and returns how it goes on. */
    int (*relax)(struct sim *, struct sim_thread *, struct baton_wait *);
    /* The RMW unit of the node has become free otherwise than by the last step of an RMW. Null. */
    void (*unit_freed)(struct sim *, unsigned node);
    /* No more faults from now on. Null: there are none. */
    void (*calm)(struct sim *);
    /* What was drawn for this run, in words. */
    void (*describe)(struct sim *, char *out, size_t bytes);
    /*
     * The driver finds out by itself who may go on, and may go back: nobody watches words, who is blocked
     * stays so until the driver resumes him, a delay takes no time, and a thread whose body has ended
     * keeps its stack and its endpoint.
     */
    bool looks;
    /* looks: memory is about to be written; the thread has been told a value. */
    void (*write)(struct sim *, uint64_t *word, uint64_t value);
    void (*saw)(struct sim *, struct sim_thread *, uint64_t value);
    /* One of n possibilities: where operations that nothing orders, or pieces, change places. */
    unsigned (*choose)(struct sim *, unsigned n);
};

struct sim_report {
    struct sim_report *next;
    bool told; /* by the error of a call or an operation */
    char text[200];
};

struct sim {
    struct baton_local local; /* first: what the calls of sim/local.h find */
    struct baton_cluster *cluster;
    const struct sim_driver *driver;
    void *driver_state;
    struct baton_random random;
    uint64_t seed, now;
    bool swap;
    bool misuse_ignored;
    bool
        immediate_ack; /* a put is done when it starts its write, a fetch when it lands; else when it leaves */
    uint8_t *dead;         /* by node */
    uint8_t *units;        /* by node: its RMW unit is taken */
    uint64_t **unit_words; /* by node: the word of the RMW between its read and its write */
    struct sim_thread **threads;
    size_t threads_n, alive;
    void *thread_memory;
    struct sim_buffered *buffers;
    struct baton_pool ep_pool, peer_pool; /* the cluster's */
    struct baton_pool own_ep_pool, ways_pool, qp_pool;
    struct sim_thread *current; /* null: code outside of baton_run */
    struct sim_qp **busy;       /* queue pairs with entries */
    size_t busy_n, busy_room, qps_n;
    struct sim_ep *eps, *abandoned;
    struct sim_qp *dead_qps; /* of closed endpoints: events may still name them */
    uint64_t
        *spare_words; /* memory for SIM_PIECES_MAX words on their way; the first shows the next */
    struct sim_watch **watch; /* hash of words */
    size_t watch_mask;
    bool hopeless;
    struct sim_report *reports, **reports_end;
    unsigned silent_n, told_n; /* misuses that no error has told the program of, and that one has */
    uint64_t steps, ops;       /* machine steps; remote operations */
    uint64_t trail;            /* a function of every word that a NIC has moved, in order */
};

/* Where in s->watch those stand who watch the word. */
static inline size_t sim_watch_hash(const struct sim *s, const uint64_t *word)
{
    uint64_t h = (uint64_t)(uintptr_t)word >> 3;
    return (h * 0x9e3779b97f4a7c15u >> 32) & s->watch_mask;
}

static inline struct sim *sim_of(struct baton_epx *ep)
{
    return ep->nodep->cluster->world;
}

/* ---- sim.c: what drivers do with threads */

/* Whether the thread can take its next act now: ready, buffer empty if the act needs that, and so on. */
bool sim_runnable(struct sim *s, struct sim_thread *t);
void sim_resume(struct sim *s, struct sim_thread *t);

/* The oldest entry of the buffer goes to memory or to its queue pair, if there is room. */
bool sim_can_flush(struct sim *s, struct sim_thread *t);
void sim_flush(struct sim *s, struct sim_thread *t);

/* Looks whether a blocked thread can go on; if so it becomes ready. */
bool sim_try_wake(struct sim *s, struct sim_thread *t);

/* Whether what a blocked thread waits for is there, or its wait is over with t->wake_rc. Changes nothing else. */
bool sim_has_come(struct sim *s, struct sim_thread *t);

/* Whether a word that this turn of the thread has read is not what it was then. */
bool sim_turn_changed(struct sim_thread *t);

/* Makes the current thread blocked, and yields. Returns the thread's wake_rc. */
int sim_block(struct sim *s, struct sim_ep *e, enum sim_state state, uint64_t until);

/* A thread that was woken by a condition that holds no more waits on. */
void sim_rewatch(struct sim *s, struct sim_thread *t);

/* Whether waiting has become senseless: 0, or what the wait returns. */
int sim_wait_over(struct sim *s, struct sim_thread *t, struct baton_wait *wait);

/*
 * Deaths. A thread's death is that of a program's thread which nobody notices; what it has rung goes on. A
 * node's is that of its program and its NIC: the others' operations there fail, and they are told. The
 * current thread must yield at once if it was among the dead.
 */
void sim_kill_thread(struct sim *s, struct sim_thread *t);
void sim_kill_node(struct sim *s, unsigned node);

/* A relax that blocks until something that this turn read has changed. */
int sim_relax_until_changed(struct sim *s, struct sim_thread *t, struct baton_wait *wait);

/* All writes to simulated memory, by whom it may be. */
void sim_write(struct sim *s, uint64_t *word, uint64_t value);

/* The contract has told the thread something; null: code outside of baton_run. */
void sim_told(struct sim *s, struct sim_thread *t, uint64_t value);

/* ---- sim_nic.c */

struct sim_qp *sim_qp_of(struct sim_ep *e,
                         unsigned node); /* made when first used; null: no memory */
size_t sim_qp_bytes(const struct sim *s);
void sim_qp_free(struct sim_qp *q);
bool sim_qp_has_room(const struct sim *s, const struct sim_qp *q, const struct baton_op *op);
void sim_qp_post(struct sim *s, struct sim_qp *q, const struct baton_op *op);
bool sim_nic_ready(struct sim *s, struct sim_qp *q, unsigned at, enum baton_nic_step step,
                   struct baton_nic_blocker *why);
/* Takes a step that is ready. Entries that are done with leave the front of the queue pair. */
void sim_nic_apply(struct sim *s, struct sim_qp *q, unsigned at, enum baton_nic_step step);
/* Both: takes the step if it is ready, and tells whether it was. */
bool sim_nic_attempt(struct sim *s, struct sim_qp *q, unsigned at, enum baton_nic_step step,
                     struct baton_nic_blocker *why);
/*
 * Breaks the queue pair: everything outstanding ends, the entry `at` with this error and the rest with
 * -ECANCELED. Writes that have started still reach memory, unless it is a dead node's: somebody may have been
 * told that they were accepted.
 */
void sim_qp_fail(struct sim *s, struct sim_qp *q, unsigned at, int rc, const char *text);
/* Lets everything outstanding happen, in some order: for code outside of baton_run, and at close. */
void sim_drain(struct sim *s);

/* ---- sim_misuse.c */

/* A segment with a byte per word that says its kind, for what is not too large. */
int sim_segment_create(struct baton_node *node, unsigned slot, struct baton_segment *segment);

enum sim_writer {
    SIM_WRITER_CPU_STORE,
    SIM_WRITER_CPU_RMW,
    SIM_WRITER_PUT,
    SIM_WRITER_NIC_RMW,
    SIM_WRITER_RENEWAL
};

/* Checks a write to a word of that node against its declared kind and RMWs that are under way. */
void sim_misuse_write(struct sim *s, unsigned node, const uint64_t *word, enum sim_writer who);
void sim_misuse(struct sim *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* In words, the first that fails the run; they may have got lost for want of memory. */
const char *sim_silent_text(const struct sim *s);
/* An operation was refused by the memory that it names. */
void sim_misuse_access(struct sim *s, const struct baton_op *op, int rc);
/* The world's `misused`. */
void sim_misused(struct baton_epx *ep, const char *what, baton_gptr at);

/* ---- Drivers */

extern const struct sim_driver sim_driver_random;
extern const struct sim_driver sim_driver_timed;
extern const struct sim_driver sim_driver_exhaustive;

#endif
