/* SPDX-License-Identifier: MIT */
/*
 * The fabric contract: one-sided operations on far memory with a written order.
 *
 * The same program runs over every fabric. Locks, objects and transactions of this library use
 * nothing else than what is declared here, and neither should a program that wants to be explored
 * or simulated.
 *
 *     cluster    N numbered nodes that know each other; a process is one of them, or several
 *     segment    memory that a node exports: 8-byte words that anybody addresses by a baton_gptr
 *     endpoint   one thread's way to all nodes; whatever touches memory or waits takes one
 *
 * ORDER. Remote operations are executed by a NIC, independently of the thread that posted them.
 * Posts gather in a chain; flush, wait, wait_all, gfence, settle (if it must), await, relax, close
 * and the 16th operation ring its doorbell; order and rfence do not. Between two operations of one
 * endpoint towards one node, X posted before Y:
 *
 *     X \ Y        put       get       rcas/rfaa
 *     put          order     order     order
 *     get          rfence    rfence    rfence
 *     rcas/rfaa    order     order     order
 *
 *     order    Y takes effect after X where the fabric has the capability chain_order, or where a
 *              baton_order stands between them. Write the baton_order: it is free where it is not
 *              needed.
 *     rfence   Y takes effect after X has read only if a baton_rfence stands between them (or a
 *              wait for X).
 *
 * Operations towards different nodes are never ordered, except through a wait. A CPU store before a
 * post is visible to what was posted; a CPU access after a post is not ordered after it, except
 * through a wait. What an operation fetches is an operand of a later post only after a wait.
 *
 *     wait on put        the source may be reused and the peer has accepted it; it may not be
 *                        visible yet
 *     wait on get        the value is there
 *     wait on rcas/rfaa  the old value is there; the new one may not be visible to the host's CPU
 *     gfence             all that this endpoint did towards those nodes is complete and visible
 *     settled            a waited get, rfaa or rcas (a failed one too) proves complete what "order"
 *                        puts before it, and the gets before an rfence before it; not its own
 *                        write. See baton_settle
 *
 * A NIC's read-modify-write is atomic against those of other NIC operations on that node only: not
 * against the host's CPU, not against puts. A rcas that fails writes nothing. Aligned 8-byte words are
 * never torn where the capability word_atomic is set; where it is not, a rcas that fails may undo a put or a
 * CPU's store.
 * Longer transfers land and are read in 8-byte pieces in any order.
 *
 * COST is counted in waited round trips, which is the same number on every fabric. The endpoint has
 * a round counter c; an operation is stamped c when its doorbell rings; a wait or gfence that
 * covers an operation stamped c adds one to the count and to c, and is free otherwise.
 *
 * WAITING. No code spins by hand. baton_await waits for local words, baton_relax ends a turn of a
 * polling loop that changed nothing, baton_wait_until leaves the polling to the node that is polled, where the
 * fabric can. Natively they spin, pause, yield, then sleep, 50 us up to 1 ms, by which a hand-over to a sleeper may
 * come later; on ucx in mode am, baton_await is woken by what an operation writes. In a simulated run they block.
 *
 * THREADS. Cluster, node, segment and name calls are thread-safe. An endpoint is used by one thread
 * at a time, never from a signal handler and not across fork.
 *
 * NOT LOOKED FOR: a pointer to nothing, but for a name, or to what has been closed, destroyed or freed; an
 * endpoint in two threads at a time.
 *
 * Source: operations, fences and their order are those of RDMA^WAIT with remote read-modify-writes
 * ("Specifying and Verifying RDMA Synchronisation", sections 2 and 3).
 */
#ifndef BATON_FABRIC_H
#define BATON_FABRIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <baton/barrier.h>
#include <baton/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Addresses -------------------------------------------------------------------------------
 *
 *     63         48 47                                            0
 *    +-------------+-----------------------------------------------+
 *    |    node     |  offset in that node's space                  |
 *    +-------------+-----------------------------------------------+
 *
 * 0 is null: the first 4 KiB of every node's space are never memory. Segments lie page-aligned at
 * rising offsets that are not reused while the cluster lives, so that a stale address is an error
 * (-EKEYREJECTED at the wait), not somebody else's data.
 */
typedef uint64_t baton_gptr;

#define BATON_NULL ((baton_gptr)0)
#define BATON_NODES_MAX 65535u        /* nodes are numbered from 0 */
#define BATON_SEGMENTS_MAX 64u        /* a node */
#define BATON_NAME_MAX 47u            /* characters of a cluster's or a published name */
#define BATON_CHAIN_MAX 16u           /* operations that one doorbell covers */
#define BATON_TRANSFER_MAX (1u << 30) /* bytes of one put or get */
#define BATON_NEVER UINT64_MAX        /* a deadline that does not come */

BATON_INLINE baton_gptr baton_gptr_make(unsigned node, uint64_t offset)
{
    return ((uint64_t)node << 48) | offset;
}

BATON_INLINE unsigned baton_gptr_node(baton_gptr at)
{
    return (unsigned)(at >> 48);
}

BATON_INLINE uint64_t baton_gptr_offset(baton_gptr at)
{
    return at & 0xffffffffffffu;
}

/* ---- Clusters and nodes
 * ---------------------------------------------------------------------------------*/

struct baton_cluster; /* this process's view of a cluster, with the nodes that this process is */
struct baton_node;    /* a node that this process is */

#define BATON_CLUSTER_SWAP                                                                         \
    1u /* step: what is not ordered by the table above without chain_order may swap */

struct baton_cluster_opts {
    size_t size; /* sizeof(struct baton_cluster_opts); a smaller one is completed with zeros */
    const char *fabric; /* one of baton_fabrics; null: "shm" */
    const char *name;   /* shm: the cluster to join or found; [a-z0-9_-]{1,47}. Others ignore it */
    unsigned nodes; /* places in the cluster; 0: 16. Where processes meet, the founder's holds */
    unsigned local; /* nodes that this process is; 0: 1 where processes meet, else all of them */
    int first; /* number of the first of them; -1: the lowest that is free. 0 founds at a rendezvous */
    unsigned flags;     /* BATON_CLUSTER_SWAP */
    size_t arena_bytes; /* memory of one node for endpoints' local operands and waiters; 0: 4 MiB */
    uint64_t seed;      /* step, sim: of the schedule */
    /*
     * "name=value,.." of the fabric, each once: baton(7) for ucx and verbs, baton/sim.h for sim; shm and step have
     * none. On ucx and verbs also where processes meet, rendezvous=HOST:PORT,secret=FILE, see baton-node(1): without
     * that, and without a launcher, all nodes are in this process, and nobody can join.
     */
    const char *options;
};

#define BATON_CLUSTER_OPTS                                                                         \
    {                                                                                              \
        sizeof(struct baton_cluster_opts), 0, 0, 0, 0, -1, 0, 0, 1, 0                              \
    }

/*
 * Founds or joins a cluster. Processes may start in any order and join late.
 * -ENOENT no such fabric; -EINVAL; -EPERM the name belongs to another user; -EBUSY no place free,
 * or the wanted number is taken; -EOPNOTSUPP founded by a version with another layout; -ENOMEM.
 */
int baton_cluster_open(const struct baton_cluster_opts *opts, struct baton_cluster **out);

/*
 * Leaves in an orderly way. All endpoints must be closed, and all tables of locks (baton/lock.h): -EBUSY
 * otherwise, and nothing has changed.
 */
int baton_cluster_close(struct baton_cluster *cluster);

/*
 * Makes a file with a new secret, which only its user may read: what a process has to know to join a
 * cluster over a rendezvous. -EEXIST, and others of open and write.
 */
int baton_secret_create(const char *path);

/* The node of that number if this process is it, else null. */
struct baton_node *baton_cluster_node(struct baton_cluster *cluster, unsigned index);

/* The lowest-numbered node that this process is. */
struct baton_node *baton_cluster_self(struct baton_cluster *cluster);

unsigned baton_cluster_nodes(const struct baton_cluster *cluster); /* places */
unsigned baton_node_index(const struct baton_node *node);

enum baton_node_state { BATON_NODE_ABSENT, BATON_NODE_ALIVE, BATON_NODE_DEAD, BATON_NODE_LEFT };
enum baton_node_state baton_node_state(struct baton_cluster *cluster, unsigned index);

enum baton_atomics {
    BATON_ATOMICS_NONE,
    BATON_ATOMICS_HCA, /* atomic among operations through one NIC */
    BATON_ATOMICS_GLOB /* atomic with the host's CPU too. Portable code does not use that */
};

struct baton_caps {
    enum baton_atomics atomics;
    bool masked;       /* masked rcas and rfaa natively */
    bool word_atomic;  /* aligned 8-byte words are never torn */
    bool torn_allowed; /* where they may be: the opener of the cluster accepts that for locks */
    bool in_order_placement; /* a put's bytes land in rising order */
    bool chain_order;        /* "order" in the table above holds without baton_order */
    bool held_gets;          /* baton_wait_until waits at the node that is asked */
    unsigned reads_max;      /* gets, rcas and rfaa outstanding towards one node; 0: no limit */
    unsigned inline_max;     /* bytes of a put that need no read of the source by the NIC */
};
void baton_cluster_caps(const struct baton_cluster *cluster, struct baton_caps *out);

/* The names of the fabrics of this build, ended by null; and why one can not be used here (null: it
 * can). */
const char *const *baton_fabrics(void);
const char *baton_fabric_unavailable(const char *fabric);

/* ---- Segments and names
 * ---------------------------------------------------------------------------------*/

enum baton_rights { BATON_READ = 1, BATON_WRITE = 2, BATON_ATOMIC = 4 };

/* Who may write a word, and how. A simulated fabric reports what breaks the declaration. */
enum baton_word_kind {
    BATON_WORD_PLAIN,   /* CPU loads and stores, gets and puts */
    BATON_WORD_NIC_RMW, /* rcas, rfaa and puts; CPU loads */
    BATON_WORD_CPU_RMW, /* CPU swap, cas, faa and stores; gets */
    BATON_WORD_GUARDED  /* several of these, excluded from each other by a protocol */
};

/* What the word's value names, which an explorer needs to know when it exchanges threads of one
 * class. */
enum baton_word_type { BATON_WORD_VALUE, BATON_WORD_THREAD, BATON_WORD_ADDRESS };

/* Words at offset, offset + stride, ... (count of them) of a segment; what is not declared is
 * PLAIN. */
struct baton_words {
    uint64_t offset;
    uint64_t stride;
    uint64_t count;
    enum baton_word_kind kind;
    enum baton_word_type type;
};

/*
 * Exports `bytes` (rounded up to pages) of zeroed memory. The declarations are copied.
 * -EINVAL, -ENOMEM, -EBUSY (BATON_SEGMENTS_MAX are in use).
 */
int baton_segment_create(struct baton_node *node, size_t bytes, unsigned rights,
                         const struct baton_words *words, unsigned words_count, baton_gptr *out);
/*
 * Remote operations under way happen or do not, later ones get -EKEYREJECTED; none touches the
 * memory after the return. Pointers from baton_ptr end. Names of it stay until withdrawn.
 * -EREMOTE another node's, -EKEYREJECTED no segment begins there, -EINVAL the arena.
 */
int baton_segment_destroy(struct baton_node *node, baton_gptr base);

/* CPU pointer to own-node memory [at, at + bytes). -EREMOTE another node's, -EKEYREJECTED, -ERANGE.
 */
int baton_ptr(struct baton_node *node, baton_gptr at, size_t bytes, void **out);

/* The address of memory of this node that the contract knows (a segment or the arena), else
 * BATON_NULL. */
baton_gptr baton_addr(struct baton_node *node, const void *pointer);

struct baton_ep;

/* Makes an address known to the cluster under a name, until withdrawn or the node leaves or dies.
 * -EEXIST. */
int baton_name_publish(struct baton_node *node, const char *name, baton_gptr at);
int baton_name_withdraw(struct baton_node *node, const char *name);

/* Waits for the name until the deadline (0: looks once). -ENOENT (looked once), -ETIMEDOUT. */
int baton_name_lookup(struct baton_ep *ep, const char *name, uint64_t deadline_ns, baton_gptr *out);

/* ---- Endpoints
 * ------------------------------------------------------------------------------------------*/

/*
 * Work ids. Programs use 1 .. 63. Kinds of lock, the library's and users' own, use BATON_WID_LOCK
 * .. + 7: a lock call leaves nothing behind under them. 0 names no work: only wait_all, gfence,
 * settle and close cover it. BATON_WID_UNWAITED is for what a release posts and does not wait for: as 0,
 * but its errors are not the program's to collect, and a queue pair that nothing else was lost on is made
 * new by itself; the waiter's next calls notice what was lost. The rest of 0xff00 .. 0xffff is the library's.
 */
typedef uint16_t baton_wid;
#define BATON_WID_USER_MAX 63u
#define BATON_WID_LIBRARY 0xff00u
#define BATON_WID_LOCK 0xff00u
#define BATON_WID_UNWAITED 0xff0fu

struct baton_ep_peer { /* private: what is known of this endpoint's work towards one node */
    uint64_t written, settled;
    uint32_t fetches;
    uint32_t
        lost; /* how often the queue pair broke while one with BATON_WID_UNWAITED was unproven */
};

struct baton_ep { /* private: the part that the inline calls below need */
    uint32_t native;
    uint32_t node;
    struct baton_ep_peer **peers; /* by node; those that nothing was posted to share one */
    const uint64_t *deaths;
    const struct baton_caps *caps;
    uint64_t lost; /* sum of those of the peers */
};

int baton_ep_open(struct baton_node *node, struct baton_ep **out);

/* Rings, waits for everything outstanding, frees. The first error that nobody has collected is
 * returned. */
int baton_ep_close(struct baton_ep *ep);

struct baton_node *baton_ep_node(const struct baton_ep *ep);
struct baton_cluster *baton_ep_cluster(const struct baton_ep *ep);

/*
 * Zeroed memory of the node's arena, for local operands and for words that others put into. `align`
 * is a power of two up to 4096. Null when the arena is full. Not for hot paths. Freed by any
 * endpoint of the node.
 */
void *baton_ep_alloc(struct baton_ep *ep, size_t bytes, size_t align);
void baton_ep_free(struct baton_ep *ep, void *memory);

/* ---- Remote operations
 * ----------------------------------------------------------------------------------
 *
 * All return 0 or an error at post: -EINVAL (alignment, length, id), -EFAULT (the local operand is
 * not memory of this node that the contract knows), -ENOTCONN (broken queue pair), -ERANGE (no such
 * node), -EOPNOTSUPP. An error at post with an id is also returned by the next wait for that id (with 0: by
 * the next wait_all, gfence or close), so code may check there alone. Faults of the peer come at the wait: -EHOSTDOWN, -EKEYREJECTED, -ERANGE,
 * -EACCES; -ECANCELED for what was posted behind the failed operation and has perhaps not happened.
 * A post blocks only when a queue is full.
 *
 * Remote words are 8-byte aligned. Lengths of put and get are multiples of 8. Local memory must stay as
 * it is until the wait; result words are undefined until then. A wait that reports an error has
 * waited for all that it covers: results of what succeeded are valid, those of failed operations
 * are as they were.
 */
int baton_put(struct baton_ep *ep, baton_gptr to, const void *from, size_t bytes, baton_wid id);
int baton_put64(struct baton_ep *ep, baton_gptr to, uint64_t value,
                baton_wid id); /* copied at post */
int baton_get(struct baton_ep *ep, void *to, baton_gptr from, size_t bytes, baton_wid id);

/* Replaces `expected` by `desired`. The old value goes to *result: equal to `expected` iff
 * replaced. */
int baton_rcas(struct baton_ep *ep, uint64_t *result, baton_gptr word, uint64_t expected,
               uint64_t desired, baton_wid id);

/* Adds, modulo 2^64. The old value goes to *result. */
int baton_rfaa(struct baton_ep *ep, uint64_t *result, baton_gptr word, uint64_t add, baton_wid id);

/*
 * Masked forms: compares and replaces only the bits of the masks; success is
 * (old & compare_mask) == (expected & compare_mask). The masked add treats every run of bits up to
 * and including a bit set in `boundary` as a field of its own that does not carry into the next.
 * Without the capability `masked`: -EOPNOTSUPP, or, with BATON_EMULATE, a loop of at most 64
 * full-word rcas (at least two waited round trips, all of them inside the post; -EAGAIN when the
 * bound is reached).
 */
#define BATON_EMULATE 1u
int baton_rcas_masked(struct baton_ep *ep, uint64_t *result, baton_gptr word, uint64_t expected,
                      uint64_t compare_mask, uint64_t desired, uint64_t swap_mask, unsigned flags,
                      baton_wid id);
int baton_rfaa_masked(struct baton_ep *ep, uint64_t *result, baton_gptr word, uint64_t add,
                      uint64_t boundary, unsigned flags, baton_wid id);

/* What is posted later towards `node` takes effect after what is before, as "order" in the table
 * above. */
int baton_order(struct baton_ep *ep, unsigned node);

/* As baton_order, and after all earlier gets, rcas and rfaa have read. */
int baton_rfence(struct baton_ep *ep, unsigned node);

/* Rings the doorbell of the open chain and does nothing else. */
int baton_flush(struct baton_ep *ep);

/*
 * Waits until all earlier operations with this id are done (see "wait on" above). At most one round
 * trip. Returns the first error among them, at post or later; they are forgotten then.
 */
int baton_wait(struct baton_ep *ep, baton_wid id);
int baton_wait_all(struct baton_ep *ep);

/*
 * Everything before, towards these nodes, is complete and visible. One 8-byte get each, one round
 * trip, even if nothing was outstanding. Returns the first error towards them; -ENOTCONN where that
 * queue pair is broken.
 */
int baton_gfence(struct baton_ep *ep, const uint16_t *nodes, unsigned count);

int baton_settle_slow(struct baton_ep *ep, unsigned node);

/*
 * Everything before, towards this node, is complete and visible: at once when it is known, else by one
 * get as of a gfence. Else the first error towards it that nobody has collected, -ENOTCONN when there is
 * none; it stays to be collected, so that who has to settle in the middle takes nobody's errors away. `node`
 * is a place of the cluster: that is not looked at.
 */
BATON_INLINE int baton_settle(struct baton_ep *ep, unsigned node)
{
    const struct baton_ep_peer *p = ep->peers[node];
    return p->written <= p->settled && !p->fetches ? 0 : baton_settle_slow(ep, node);
}

/*
 * After an error the queue pair towards that node is broken (-ENOTCONN) and all others are
 * untouched, until this call, which first waits for what is still outstanding. -EHOSTDOWN: the node
 * is dead or absent.
 */
int baton_ep_reset(struct baton_ep *ep, unsigned node);

/* 0, or the error that broke the queue pair towards that node. Never blocks. */
int baton_ep_state(const struct baton_ep *ep, unsigned node);

enum baton_op_kind { BATON_OP_PUT, BATON_OP_GET, BATON_OP_RCAS, BATON_OP_RFAA, BATON_OP_KINDS };

/* The last failed operation of this endpoint, in data and in words. rc 0: none yet. */
struct baton_ep_fault {
    int rc;
    enum baton_op_kind kind;
    unsigned node;
    baton_gptr at;
    char text[160];
};
void baton_ep_error(const struct baton_ep *ep, struct baton_ep_fault *out);

/* ---- This node's words
 * ----------------------------------------------------------------------------------
 *
 * CPU access to 8-byte aligned words that other threads or NICs use too. load is an acquire, store
 * a release, the read-modify-writes are sequentially consistent among CPUs. The pointer comes from
 * baton_ptr, baton_ep_alloc or (natively, and in a simulated run for words that no NIC touches)
 * from anywhere.
 */
uint64_t baton_ep_load(struct baton_ep *ep, const uint64_t *word);
void baton_ep_store(struct baton_ep *ep, uint64_t *word, uint64_t value);
uint64_t baton_ep_swap(struct baton_ep *ep, uint64_t *word, uint64_t value);
uint64_t baton_ep_cas(struct baton_ep *ep, uint64_t *word, uint64_t expected, uint64_t desired);
uint64_t baton_ep_faa(struct baton_ep *ep, uint64_t *word, uint64_t add);
void baton_ep_mfence(struct baton_ep *ep);

BATON_INLINE uint64_t baton_load(struct baton_ep *ep, const uint64_t *word)
{
    return __builtin_expect(ep->native != 0, 1) ? baton_word_load(word) : baton_ep_load(ep, word);
}

BATON_INLINE void baton_store(struct baton_ep *ep, uint64_t *word, uint64_t value)
{
    if (__builtin_expect(ep->native != 0, 1))
        baton_word_store(word, value);
    else
        baton_ep_store(ep, word, value);
}

BATON_INLINE uint64_t baton_swap(struct baton_ep *ep, uint64_t *word, uint64_t value)
{
    return __builtin_expect(ep->native != 0, 1) ? baton_word_swap(word, value)
                                                : baton_ep_swap(ep, word, value);
}

/* Returns what was there: equal to `expected` iff it was replaced. */
BATON_INLINE uint64_t baton_cas(struct baton_ep *ep, uint64_t *word, uint64_t expected,
                                uint64_t desired)
{
    return __builtin_expect(ep->native != 0, 1) ? baton_word_cas(word, expected, desired)
                                                : baton_ep_cas(ep, word, expected, desired);
}

BATON_INLINE uint64_t baton_faa(struct baton_ep *ep, uint64_t *word, uint64_t add)
{
    return __builtin_expect(ep->native != 0, 1) ? baton_word_faa(word, add)
                                                : baton_ep_faa(ep, word, add);
}

/* Stores before it are visible before loads after it are made (Dekker). */
BATON_INLINE void baton_mfence(struct baton_ep *ep)
{
    if (__builtin_expect(ep->native != 0, 1))
        baton_fence_full();
    else
        baton_ep_mfence(ep);
}

/* The same when a swap, cas or faa stands right before it: nothing on x86-64. */
BATON_INLINE void baton_mfence_after_rmw(struct baton_ep *ep)
{
    if (__builtin_expect(ep->native != 0, 1))
        baton_fence_after_rmw();
    else
        baton_ep_mfence(ep);
}

/* ---- Time and waiting
 * -----------------------------------------------------------------------------------*/

/* Nanoseconds of a clock that only goes forward and is the same for all threads of a machine. */
uint64_t baton_now(struct baton_ep *ep);

/* Passes that many nanoseconds, as work would: natively a busy loop, virtually a jump of this
 * thread. */
void baton_delay(struct baton_ep *ep, uint64_t ns);

/*
 * What waiters of one object have in common: a word that has the value `healthy` as long as waiting
 * makes sense, and a row of words, one a node, that are not 0 for the nodes that take part (null:
 * all do). A wait with a group ends with -EOWNERDEAD when the word has changed, or when a node that
 * takes part has died after the node's death count was `deaths`; with -EHOSTDOWN when these words
 * can not be reached any more. The library looks rarely (natively a few times a second, or when a
 * node has died), with gets of its own that are not counted, so the words may be far away.
 */
struct baton_group {
    baton_gptr state;
    uint64_t healthy;
    baton_gptr members;
    uint64_t deaths;
};

/*
 * One per call that may wait for others, handed to all waits of that call. `ahead`: how many must be
 * served before us as far as is known, a hint for the back-off of baton_relax. The rest is private.
 */
struct baton_wait {
    uint64_t deadline_ns;      /* of baton_now; BATON_NEVER */
    struct baton_group *group; /* or null */
    uint64_t deaths;
    uint64_t checked_ns;
    uint32_t turns;
    uint32_t seed;
    uint32_t ahead;
    void (*first)(struct baton_ep *ep, void *arg); /* called before it first blocks; or null */
    void *first_arg;
};

/* Reads no clock: cheap enough for every lock call. */
BATON_INLINE void baton_wait_begin(struct baton_ep *ep, struct baton_wait *wait,
                                   uint64_t deadline_ns, struct baton_group *group)
{
    wait->deadline_ns = deadline_ns;
    wait->group = group;
    wait->deaths = group ? group->deaths : baton_word_load(ep->deaths);
    wait->checked_ns = 0;
    wait->turns = 0;
    wait->seed = 0;
    wait->ahead = 0;
    wait->first = 0;
    wait->first_arg = 0;
}

/* What is waited for has come nearer: back-off starts again. */
BATON_INLINE void baton_wait_moved(struct baton_wait *wait)
{
    wait->turns = 0;
}

/* A condition on one word of this node: (word & mask) == value, or != value. */
struct baton_cond {
    const uint64_t *word;
    uint64_t mask;
    uint64_t value;
    uint32_t negate;
};

BATON_INLINE struct baton_cond baton_until_is(const uint64_t *word, uint64_t mask, uint64_t value)
{
    struct baton_cond c = {word, mask, value, 0};
    return c;
}

BATON_INLINE struct baton_cond baton_until_not(const uint64_t *word, uint64_t mask, uint64_t value)
{
    struct baton_cond c = {word, mask, value, 1};
    return c;
}

#define BATON_CONDS_MAX 4u

/*
 * Rings, then returns 0 when at least one condition holds; the caller loads the words again.
 * -ETIMEDOUT, -EOWNERDEAD; -EINVAL for no or too many conditions. Never counts as a round trip.
 */
int baton_await(struct baton_ep *ep, const struct baton_cond *conds, unsigned count,
                struct baton_wait *wait);

/*
 * Rings, then ends a turn of a polling loop whose next turn would do the same: only when this turn
 * changed nothing. (A rcas retried with the value that it just returned is progress and takes no
 * relax.) In a simulated run it blocks until a word differs from the value that this turn read.
 * -ETIMEDOUT, -EOWNERDEAD.
 */
int baton_relax(struct baton_ep *ep, struct baton_wait *wait);

/*
 * A condition on what a chain fetches: (word & mask) == (((plus ? *plus : 0) << shift) + value) & mask, or !=.
 * `word` is fetched by a get at the end of the chain, `plus` is the result of an operation before these.
 */
struct baton_until {
    const uint64_t *word;
    uint64_t mask;
    uint64_t value;
    const uint64_t *plus;
    uint32_t shift;
    uint32_t negate;
};

/*
 * As baton_wait(id), by who is going to post the gets at the end of the open chain again and again until one of
 * the conditions holds. Where the fabric has the capability held_gets the node that is asked does that, and
 * answers when one holds: one round trip in place of many. Elsewhere, and when the node's patience or the deadline
 * is over, this is baton_wait. So the caller looks, and goes on as in any polling loop:
 *
 *     baton_rfaa(ep, &ticket, line, 1, id);
 *     baton_get(ep, &serving, line + 8, 8, id);
 *     rc = baton_wait_until(ep, id, &serving_is_ticket, 1, &wait);
 *     while (!rc && serving != ticket && !(rc = baton_relax(ep, &wait))) {
 *         baton_get(ep, &serving, line + 8, 8, id);
 *         rc = baton_wait_until(ep, id, &serving_is_ticket, 1, &wait);
 *     }
 *
 * A get that is held is one that takes effect late, after all that stands before it in the chain, so nothing else
 * is to be proved of it. What a condition waits for has to stay so until the caller acts: a state that passes may
 * be missed. What the node's own threads store is noticed as late as baton_await may notice it.
 */
int baton_wait_until(struct baton_ep *ep, baton_wid id, const struct baton_until *until,
                     unsigned count, struct baton_wait *wait);

/* ---- Teams of threads
 * -----------------------------------------------------------------------------------*/

typedef int (*baton_thread_fn)(struct baton_ep *ep, unsigned thread, void *arg);

/* `threads` threads on the node `node` (which this process must be); thread numbers count from 0 in
 * a team. */
struct baton_team {
    unsigned node;
    unsigned threads;
    baton_thread_fn body;
    void *arg;
};

/*
 * Runs all teams, each thread with an endpoint of its own, and returns when all are done: the first
 * result that is not 0, in order of teams and threads, or an error of closing the endpoints. When not all
 * threads can be made, no body has started. -EINVAL inside a body.
 *
 * On step they are coroutines, one running at a time; when all of them wait for something that can
 * not come, their waits return -EDEADLK. Outside of baton_run an endpoint of a simulated world runs
 * alone: a wait lets its operations take effect, and what would block on somebody else ends at its
 * deadline, or with -EDEADLK when it has none.
 */
int baton_run(struct baton_cluster *cluster, const struct baton_team *teams, unsigned count);

/* ---- Counting and wrapping
 * ------------------------------------------------------------------------------*/

struct baton_stats {
    uint64_t ops[BATON_OP_KINDS]; /* posted, by kind; the gets of a gfence too */
    uint64_t bytes_put;
    uint64_t bytes_got;
    uint64_t doorbells; /* one per chain and node */
    uint64_t waited_round_trips;
    uint64_t awaits_blocked;
    uint64_t relaxes;
    uint64_t stalls; /* posts that found a full queue */
};
void baton_ep_stats(const struct baton_ep *ep, struct baton_stats *out);

/*
 * Tracing: `fn` is called after the fact, by the endpoint's thread, with one line of plain words
 * per remote operation, CPU access, wait and await ("put 8 bytes to 1+0x1040 id 0"). It must not
 * use the endpoint. CPU accesses are no longer inline. Ends with the endpoint.
 */
typedef void (*baton_trace_fn)(void *arg, const struct baton_ep *ep, uint64_t now_ns,
                               const char *line);
int baton_ep_trace(struct baton_ep *ep, baton_trace_fn fn, void *arg);

/* Fault injection: the `nth` (from 1) operation of that kind rung from now on fails with rc, or is
 * late. */
struct baton_fault_rule {
    enum baton_op_kind kind;
    uint64_t nth;
    int rc;            /* 0: no failure, only the delay; else one of the faults of the peer above */
    uint64_t delay_ns; /* before it is handed to the fabric */
};
int baton_ep_faults(struct baton_ep *ep, const struct baton_fault_rule *rules, unsigned count);

#ifdef __cplusplus
}
#endif
#endif
