/* SPDX-License-Identifier: MIT */
/*
 * Locks in far memory, of several kinds behind one interface.
 *
 * A lock table holds K locks of one kind in one segment of a host node, under a name. A thread
 * opens the table on its node, picks a lock by index, and passes an endpoint and a waiter (one per
 * lock that it holds).
 *
 *     struct baton_table *table;                      // on every node
 *     baton_table_open(ep, "accounts", BATON_NEVER, &table);
 *     struct baton_lock lock;
 *     baton_table_lock(table, 17, &lock);
 *     struct baton_waiter *waiter;                    // one per lock held at a time
 *     baton_waiter_open(ep, &waiter);
 *     if (!baton_lock_acquire(&lock, ep, waiter)) {
 *         ...
 *         baton_lock_release(&lock, ep, waiter);
 *     }
 *
 * WHAT RELEASE COVERS (every kind here): all that the holder did towards the lock's host node, by
 * CPU or by NIC, is visible to the next holder. Operations towards other nodes are not, unless the
 * holder calls baton_gfence for them before the release.
 *
 * LOCAL AND REMOTE. A thread on the host node is local. ts, ticket and mcs send local threads
 * through the NIC too, because a NIC's and a CPU's read-modify-writes of one word are not atomic
 * against each other; alock, farlock, farlock-g and merge exist to avoid that.
 *
 * DEATH. When a node that has the table open dies, or an acquire fails after it has taken its place
 * in the queue, calls in progress return -EOWNERDEAD and later ones -ENOTRECOVERABLE until one
 * survivor calls baton_table_reinit. Nothing is repaired before that: data that the dead holder was
 * changing may be half done. Every survivor should call it: a handle that did nothing while the table
 * failed and was repaired finds out late, see there. When the host dies the table is gone
 * (-EHOSTDOWN). An orderly baton_table_close is not a death, and without it a node can not leave the cluster.
 *
 * ERRORS of all calls that reach the fabric: those of baton_wait. An acquire that returns an error
 * does not hold the lock. A release that returns one holds it no longer, and what it covers is in
 * doubt; where the queue pair towards the host is or gets broken before the release has taken
 * effect, the table is marked as after a death, so that nobody waits for ever. A release does not
 * wait for the fabric; what goes wrong after it has returned is noticed by the waiter's next call with the
 * same endpoint. Errors of the program's own operations stay for the program to collect.
 */
#ifndef BATON_LOCK_H
#define BATON_LOCK_H

#include <baton/fabric.h>

#ifdef __cplusplus
extern "C" {
#endif

struct baton_lock;
struct baton_table;
struct baton_waiter;

/* ---- Kinds
 * ----------------------------------------------------------------------------------------------*/

enum baton_lock_caps {
    BATON_LOCK_TRY = 1, /* try exists; if the lock looks free it commits and may wait for a racer */
    BATON_LOCK_TRY_EXACT = 2, /* a failed try changes no byte */
    BATON_LOCK_DEADLINE = 4,  /* acquire_until exists */
    BATON_LOCK_FCFS = 8,      /* served in the order in which doorways end (baton_doorway) */
    BATON_LOCK_TOKEN = 16     /* the waiter's token is a fencing token */
};

/* A parameter of a kind: "alock.budget_local". Fixed when the table is made, kept in its header. */
struct baton_lock_param {
    const char *name; /* without the kind: "budget_local" */
    uint64_t standard;
    uint64_t least;
    uint64_t most;
    bool on_off; /* written and read as "on" and "off" */
};

#define BATON_LOCK_PARAMS_MAX 4
#define BATON_LOCK_WORDS_MAX 16

/*
 * A kind of lock. Users may plug in their own: fill one in (examples/own_lock.c) and
 * baton_lock_register it. All calls go through the fabric contract only, wait through baton_await
 * and baton_relax only, and keep everything that they write in the lock's line, the waiter and the
 * stack.
 */
struct baton_lock_ops {
    size_t size; /* sizeof(struct baton_lock_ops) */
    const char *name;
    const char *summary;
    unsigned caps;

    /* Parameters, ended by a null name; null: none. */
    const struct baton_lock_param *params;

    /* Bytes of one lock: a multiple of 64. Null: 64. */
    size_t (*line_bytes)(const uint64_t *params);

    /* Declares the words of one lock, offsets from its start. Returns how many records (<= max). */
    unsigned (*words)(const uint64_t *params, struct baton_words *out, unsigned max);

    /*
     * Makes `words` (line_bytes, whatever they held) a free lock whose next ticket is `first` (kinds
     * without tickets ignore it). The words may be copied to the host afterwards: nothing depends
     * on their address.
     */
    void (*init)(const uint64_t *params, uint64_t *words, uint64_t first);

    /*
     * `wait` is begun and carries the deadline. acquire sets waiter->committed before it rings what
     * may take its place in the queue, and clears it when it knows that this did not happen (a
     * failed rcas, an error at post). An error with committed set breaks the table. release begins
     * a wait of its own if it needs one: baton_lock_wait_begin. What release posts and does not wait
     * for has the id BATON_WID_UNWAITED, or is a baton_lock_grant, so that its loss is noticed.
     */
    int (*acquire)(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *waiter,
                   struct baton_wait *wait);
    int (*try_acquire)(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter, struct baton_wait *wait);
    int (*release)(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *waiter);

    /* What `caps` are with these parameters. Null: no parameter changes them. */
    unsigned (*caps_with)(const uint64_t *params);
};

/* The capabilities of a kind with these parameters; those of the standard ones are in caps. */
BATON_INLINE unsigned baton_lock_caps(const struct baton_lock_ops *ops, const uint64_t *params)
{
    return ops->caps_with ? ops->caps_with(params) : ops->caps;
}

/* The kind of that name, or null. The kinds of this library are always there. */
const struct baton_lock_ops *baton_lock_kind(const char *name);
const struct baton_lock_ops *const *baton_lock_kinds(void); /* all, ended by null */

/* Adds a kind for this process; it must stay valid. -EEXIST, -EINVAL (incomplete), -ENOMEM. */
int baton_lock_register(const struct baton_lock_ops *ops);

/* Parses "budget_local=7" for a kind into params; -EINVAL with what is possible in the error
 * detail. */
int baton_lock_param_set(const struct baton_lock_ops *ops, uint64_t *params, const char *setting);
void baton_lock_param_defaults(const struct baton_lock_ops *ops, uint64_t *params);

/* ---- Tables
 * ---------------------------------------------------------------------------------------------*/

struct baton_table_opts {
    size_t size;            /* sizeof(struct baton_table_opts) */
    const char *kind;       /* "merge" */
    uint64_t count;         /* K >= 1 */
    const uint64_t *params; /* BATON_LOCK_PARAMS_MAX values, or null: the standard ones */
    uint64_t first_ticket;  /* where tickets start; a test's way to a wrap. Normally 0 */
};

/*
 * Makes a table on the endpoint's node and publishes it. It lives until its maker closes it.
 * -EOPNOTSUPP on a device without the capability word_atomic, unless torn_allowed is set.
 */
int baton_table_create(struct baton_ep *ep, const char *name, const struct baton_table_opts *opts,
                       struct baton_table **out);

/*
 * Opens a table by name, waiting for it until the deadline (0: looks once). A handle serves all
 * threads of its node. -ENOENT also when this process does not know the kind, -EOPNOTSUPP when it
 * knows another layout of it, or as above, for this node's device or the host's.
 */
int baton_table_open(struct baton_ep *ep, const char *name, uint64_t deadline_ns,
                     struct baton_table **out);

/*
 * Orderly detach. Each handle is closed once; nobody may hold or wait for a lock through it. The
 * maker's call ends the table: what others do with it afterwards gives -EKEYREJECTED. On the maker's node
 * none of them may be inside of a call meanwhile, as the memory of the locks goes at once there; in a simulated
 * run nor later.
 */
int baton_table_close(struct baton_ep *ep, struct baton_table *table);

/*
 * After a death: makes all locks of the table free again and the table usable, for everybody. One
 * survivor wins (an rcas decides), the others get -EAGAIN and find the table usable soon after. The
 * caller must know that no survivor still believes to hold a lock of it: calls in progress have
 * returned -EOWNERDEAD, holders have been told by other means. Every survivor should call it, each
 * through its handle: where no node has died a handle that had nothing to do at the time learns of the
 * repair only by its own call, else when it next has to wait for a lock, by one more -EOWNERDEAD, which
 * breaks the table again. (An acquire does not look at the table's state, which would cost it a round
 * trip, and the place that it has taken can not be given back.) Tickets go on above all earlier ones,
 * so fencing tokens rise for the life of the table. If the call fails or its caller dies halfway,
 * another survivor's call takes over. 0 also when there was nothing to do.
 */
int baton_table_reinit(struct baton_ep *ep, struct baton_table *table);

const struct baton_lock_ops *baton_table_kind(const struct baton_table *table);
uint64_t baton_table_count(const struct baton_table *table);
unsigned baton_table_host(const struct baton_table *table);
const uint64_t *baton_table_params(const struct baton_table *table);

/* ---- Locks and waiters
 * ----------------------------------------------------------------------------------*/

/*
 * What the device of a table's host does to the words there, whoever posts: processes of a cluster may have
 * different devices, and the capabilities of an endpoint are those of its own.
 */
enum baton_lock_memory {
    BATON_LOCK_WHOLE_WORDS = 1, /* as the capability word_atomic */
    BATON_LOCK_RISING_PUTS = 2  /* as in_order_placement */
};

/* A handle: cheap, copied freely, never changes. Fields are for the kinds. */
struct baton_lock {
    const struct baton_lock_ops *ops;
    struct baton_table *table;
    const uint64_t *params;
    baton_gptr line; /* the lock's words on the host */
    uint64_t *local; /* the same by CPU on the host node, else null */
    uint16_t host;
    uint16_t node;   /* whose handle it is */
    uint32_t memory; /* enum baton_lock_memory */
};

/* -ERANGE: no lock of that index. */
int baton_table_lock(struct baton_table *table, uint64_t index, struct baton_lock *out);

/*
 * One thread's part in one lock, in its node's arena. `word` may be written by others, remotely;
 * the rest is the owner's. May be used again as soon as release has returned 0, for any lock of any
 * kind, because the words are quiet by then, but for word[7]: that is for hints only, in every kind;
 * it may change at any time and only wakes, even after the close: a closed waiter's memory is used for nothing
 * but the node's next waiters. After an acquire that failed having taken its place, or a
 * release that failed, the waiter is spent (-EINVAL): close it and open another. Others may still
 * write into it, so its memory stays out of use until the node leaves.
 */
#define BATON_WAITER_WORDS 8
#define BATON_WAITER_OWN 6 /* words of `own` that mean nothing from release to acquire */
#define BATON_WAITER_IDLE                                                                          \
    (BATON_WAITER_WORDS - 1) /* result that no kind reads: for fetches that nobody waits for */
struct baton_waiter {
    uint64_t word[BATON_WAITER_WORDS]; /* on a cache line of its own */
    uint64_t
        result[BATON_WAITER_WORDS]; /* where gets, rcas and rfaa of the kinds put what they fetch */
    /* The kind's, from acquire to release; the last two may hold hints beyond. */
    uint64_t own[BATON_WAITER_WORDS];
    uint64_t token;  /* see baton_lock_token */
    baton_gptr self; /* address of `word` */
    baton_gptr line; /* of the lock that it holds, else null */
    uint32_t committed;
    uint32_t handed; /* private: 1 + the node of the waiter that release has put a grant to */
    void (*doorway)(void *arg, struct baton_ep *ep, struct baton_waiter *waiter);
    void (*knows)(void *arg, struct baton_ep *ep, struct baton_waiter *waiter, bool turn,
                  const uint64_t *values, unsigned n);
    void *doorway_arg;         /* of both; they are null where nobody observes */
    uint64_t healthy;          /* private: the state of the table when the lock was acquired */
    baton_gptr released;       /* private: the state word of the table of the last release */
    uint64_t released_healthy; /* private: and its state then */
    const struct baton_ep *released_by; /* private: by which endpoint */
    baton_gptr hinted;                  /* private: the word that release has put a hint to */
    uint32_t lost_host;  /* private: what had been lost on the way to the host before, */
    uint32_t lost_there; /* and on the way to the other waiter */
};

int baton_waiter_open(struct baton_ep *ep,
                      struct baton_waiter **out); /* -ENOMEM: the arena is full */

/*
 * -EBUSY: it holds a lock. Waits until what its last release has posted is complete; an error of that
 * is returned, the waiter is closed all the same, and the table is marked.
 */
int baton_waiter_close(struct baton_ep *ep, struct baton_waiter *waiter);

/*
 * All four: -EINVAL, and nothing has happened, when endpoint or waiter are of another node than the
 * handle, when the waiter holds a lock already, or (release) does not hold this one.
 */

int baton_lock_acquire(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter);

/* -EBUSY: held or queued for. -EOPNOTSUPP: this kind has no try. */
int baton_lock_try(const struct baton_lock *lock, struct baton_ep *ep, struct baton_waiter *waiter);

/* -ETIMEDOUT. -EOPNOTSUPP: this kind can not give up its place in the queue. */
int baton_lock_acquire_until(const struct baton_lock *lock, struct baton_ep *ep,
                             struct baton_waiter *waiter, uint64_t deadline_ns);

/* May queue a put that rings before it returns; waits for nobody unless the kind's header says so.
 */
int baton_lock_release(const struct baton_lock *lock, struct baton_ep *ep,
                       struct baton_waiter *waiter);

/* For kinds whose release must wait for somebody: a wait without deadline, in the table's group. */
void baton_lock_wait_begin(const struct baton_lock *lock, struct baton_ep *ep,
                           struct baton_wait *wait);

/*
 * For the release of kinds: puts the grant into a word of the next waiter, and rings. Nobody waits for it;
 * whether it was lost is looked at by the waiter's next calls. The errors are those of baton_put64.
 */
int baton_lock_grant(struct baton_ep *ep, struct baton_waiter *waiter, baton_gptr word,
                     uint64_t value);

/*
 * The fencing token of the lock just acquired: greater than that of every earlier holder of this
 * lock since the table was made or reinitialised. 0 where the kind has none.
 */
BATON_INLINE uint64_t baton_lock_token(const struct baton_waiter *waiter)
{
    return waiter->token;
}

/* A kind calls this where its doorway ends: from here on, who starts later is served later (if
 * FCFS). */
BATON_INLINE void baton_doorway(struct baton_ep *ep, struct baton_waiter *waiter)
{
    if (__builtin_expect(waiter->doorway != 0, 0))
        waiter->doorway(waiter->doorway_arg, ep, waiter);
}

/*
 * A kind may say this where it waits: what it does from here on, until acquire or release returns, depends on
 * these values, on `own`, on its arguments, on what it has under way, and on what it will read; on nothing else
 * that it has read or fetched before. An exploration takes for one what is one then, and its self-check finds a
 * value that is missing. Addresses of far memory are values, pointers are not.
 */
#define baton_knows(ep, waiter, ...) baton_says((ep), (waiter), false, __VA_ARGS__)

/*
 * The same where a turn of polling begins. Whether it ends with baton_relax is decided by these values and by
 * what the turn reads from here on, and one that has ended so, and finds nothing changed, would end so again: then
 * nothing that was read before needs to wake it.
 */
#define baton_turn(ep, waiter, ...) baton_says((ep), (waiter), true, __VA_ARGS__)

#define baton_says(ep, waiter, turn, ...)                                                          \
    do {                                                                                           \
        if (__builtin_expect((waiter)->knows != 0, 0)) {                                           \
            const uint64_t baton_known[] = {__LINE__, __VA_ARGS__};                                \
            (waiter)->knows((waiter)->doorway_arg, ep, waiter, turn, baton_known,                  \
                            sizeof(baton_known) / sizeof(*baton_known));                           \
        }                                                                                          \
    } while (0)

#ifdef __cplusplus
}
#endif
#endif
