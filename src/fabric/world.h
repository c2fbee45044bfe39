/* SPDX-License-Identifier: MIT */
/*
 * What a fabric ("world") implements, and what the contract's common part does for it.
 *
 * The common part (endpoint.c) checks arguments, gathers chains, keeps work ids, sticky errors,
 * what is settled and the counters, and finds out whether a local operand is known memory. A world
 * executes operations, provides memory, names, time and blocking. Two tables, because wrappers
 * (tracing, faults) replace only the second:
 *
 *     struct baton_world_ops    clusters, nodes, segments, names       one per fabric
 *     struct baton_ep_ops       everything that an endpoint does       a stack of layers per
 * endpoint
 *
 * The first field of each table is its size, so that a table compiled against an older header is
 * known to lack the later calls; a missing call is -ENOSYS.
 */
#ifndef BATON_FABRIC_WORLD_H
#define BATON_FABRIC_WORLD_H

#include <pthread.h>

#include <baton/fabric.h>

#include "base/error.h"

/* ---- Operations as the worlds get them
 * ------------------------------------------------------------------*/

enum baton_op_flags {
    BATON_OPF_ORDER = 1,  /* a baton_order (or rfence) stands before this one, towards its node */
    BATON_OPF_RFENCE = 2, /* a baton_rfence stands before this one */
    BATON_OPF_INLINE = 4, /* put: the source is `value`, not `local` */
    BATON_OPF_MASKED = 8  /* rcas: masks in cmask, smask; rfaa: boundary in cmask */
};

struct baton_op {
    uint8_t kind; /* enum baton_op_kind */
    uint8_t flags;
    baton_wid id;
    uint16_t node;
    uint32_t bytes;
    baton_gptr remote;
    void *local;    /* put: source; others: where the result goes */
    uint64_t value; /* put: inline source; rfaa: addend; rcas: desired */
    uint64_t expected;
    uint64_t cmask, smask;
    uint64_t seq; /* rises per (endpoint, node); even */
};

/* ---- Layers of an endpoint
 * ------------------------------------------------------------------------------*/

struct baton_epx;
struct baton_layer;

struct baton_ep_ops {
    size_t size;

    /* Takes n operations (at most BATON_CHAIN_MAX), each of which will be given to baton_op_done
     * once. */
    void (*ring)(struct baton_layer *, struct baton_epx *, const struct baton_op *ops, unsigned n);

    /*
     * Progress for this endpoint: blocks until at least one outstanding operation is done. The caller has set
     * ep->awaits, and will come again until that is reached: a world may block for so long.
     */
    void (*advance)(struct baton_layer *, struct baton_epx *);

    /* An outstanding queue pair towards `node` is made new. Nothing is outstanding on it. */
    int (*reset)(struct baton_layer *, struct baton_epx *, unsigned node);

    uint64_t (*load)(struct baton_layer *, struct baton_epx *, const uint64_t *word);
    void (*store)(struct baton_layer *, struct baton_epx *, uint64_t *word, uint64_t value);
    uint64_t (*swap)(struct baton_layer *, struct baton_epx *, uint64_t *word, uint64_t value);
    uint64_t (*cas)(struct baton_layer *, struct baton_epx *, uint64_t *word, uint64_t expected,
                    uint64_t desired);
    uint64_t (*faa)(struct baton_layer *, struct baton_epx *, uint64_t *word, uint64_t add);
    void (*mfence)(struct baton_layer *, struct baton_epx *);

    uint64_t (*now)(struct baton_layer *, struct baton_epx *);
    void (*delay)(struct baton_layer *, struct baton_epx *, uint64_t ns);
    int (*await)(struct baton_layer *, struct baton_epx *, const struct baton_cond *, unsigned n,
                 struct baton_wait *);
    int (*relax)(struct baton_layer *, struct baton_epx *, struct baton_wait *);

    /* A wrapper that sees every call of the common part, for its words: "wait 3". May be null. */
    void (*note)(struct baton_layer *, struct baton_epx *, const char *what, uint64_t value,
                 int rc);

    /* The endpoint closes: frees the layer's state. May be null. */
    void (*fini)(struct baton_layer *, struct baton_epx *);
};

struct baton_layer {
    const struct baton_ep_ops *ops;
    struct baton_layer *inner; /* null for the world's own */
    void *state;
};

/* ---- Endpoints
 * ------------------------------------------------------------------------------------------*/

/* Work ids in use: 0 .. 63 for programs; of the library's the first 16 and the last 8. */
#define BATON_IDS_LOW 16u
#define BATON_IDS_HIGH 8u
#define BATON_IDS (BATON_WID_USER_MAX + 1 + BATON_IDS_LOW + BATON_IDS_HIGH)

/* Where an id stands in the table of an endpoint; BATON_IDS: nowhere. */
BATON_INLINE unsigned baton_id_index(baton_wid id)
{
    if (id <= BATON_WID_USER_MAX)
        return id;
    if (id > 0xffffu - BATON_IDS_HIGH)
        return BATON_IDS - 1 - (0xffffu - id);
    return id >= BATON_WID_LIBRARY && id < BATON_WID_LIBRARY + BATON_IDS_LOW
               ? BATON_WID_USER_MAX + 1 + (id - BATON_WID_LIBRARY)
               : BATON_IDS;
}

/* Whether somebody waits for operations of this id by its name. */
BATON_INLINE bool baton_id_is_waited(baton_wid id)
{
    return id && id != BATON_WID_UNWAITED;
}

/* What a chain that is being rung waits for at its node; see baton_wait_until. */
struct baton_hold {
    const struct baton_until *until;
    uint64_t count;
    uint64_t deadline_ns;
};

struct baton_epx_id {
    uint64_t stamp; /* round in which the last operation with this id was rung */
    uint64_t proof; /* the operations below this number, towards `node`, are complete once waited */
    uint32_t pending; /* rung, not done */
    uint32_t open;    /* posted, not rung */
    uint64_t gen;     /* of its last fetch */
    uint32_t fetches; /* done or not, but not waited for */
    uint16_t node;
    uint16_t mixed; /* several nodes: proves nothing */
    int rc;         /* first error that no wait has reported */
};

/* What an endpoint keeps of a node. In the first line of the cache is what most operations use. */
struct baton_epx_peer {
    struct baton_ep_peer pub;
    uint64_t seq;   /* the next operation's number; 0: there was none yet */
    uint64_t fence; /* what is below stands before the last order, rfence */
    uint64_t gen;   /* generation of fetches: an rfence begins one if some may not have read */
    uint32_t loose; /* fetches without an id that may not have read */
    uint32_t pending;
    int broken;    /* 0, or the error that broke the queue pair */
    uint8_t flags; /* BATON_OPF_ORDER, _RFENCE for the next operation */
    bool missed;   /* since it broke, something failed or was refused that others may wait for */
    uint64_t unwaited;  /* behind the last operation with BATON_WID_UNWAITED */
    uint64_t loose_gen; /* of the last fetch without an id */
    int rc;             /* of operations without id, not reported yet */
};

/* An endpoint in full. `pub` is what programs hold, and its address is the endpoint's. */
struct baton_epx {
    struct baton_ep pub;
    struct baton_layer *top;
    struct baton_layer world;
    struct baton_node *nodep;
    unsigned nodes;
    bool chain_order, masked;
    uint64_t round;                /* c of the contract; starts at 1 */
    uint64_t any_stamp;            /* round in which anything was last rung */
    uint64_t pending;              /* rung, not done, all ids */
    const uint32_t *awaits;        /* advance is called until this is 0; null: until all are done */
    const struct baton_hold *hold; /* of the chain that is being rung; null: does not wait */
    unsigned chain_n;
    uint64_t *scratch; /* arena: results of gfence and of emulated operations */
    struct baton_stats stats;
    struct baton_op chain[BATON_CHAIN_MAX];
    struct baton_epx_id ids[BATON_IDS];
    struct baton_ep_fault fault;
};

BATON_INLINE struct baton_epx *baton_epx(struct baton_ep *ep)
{
    return (struct baton_epx *)ep;
}

/* Only to be read where nothing was posted to the node: it is all zero, and not the endpoint's own. */
BATON_INLINE struct baton_epx_peer *baton_epx_peer(const struct baton_epx *ep, unsigned node)
{
    return (struct baton_epx_peer *)ep->pub.peers[node];
}

/* The endpoint's own, made when first asked for. Null: no memory. */
struct baton_epx_peer *baton_epx_peer_own(struct baton_epx *ep, unsigned node);

/*
 * A world says that an operation is done. `wrote`: it was a rcas that replaced. `text`: the cause
 * in words, may be null. The first failure on a queue pair breaks it; the world then ends the rest
 * with -ECANCELED.
 */
void baton_op_done(struct baton_epx *ep, const struct baton_op *op, int rc, bool wrote,
                   const char *text);

/*
 * What a rcas or rfaa (masked or not) makes of `old`: true if it writes *desired. For worlds that
 * execute operations themselves.
 */
bool baton_op_apply(const struct baton_op *op, uint64_t old, uint64_t *desired);

/* Rings, and waits until nothing is outstanding towards the node. Counts no round trip, takes no error. */
void baton_ep_drain(struct baton_ep *ep, unsigned node);

/*
 * Frees the endpoint of a thread that is no more, at once. What it had rung may still happen, so the arena
 * memory that results go to stays taken.
 */
void baton_ep_abandon(struct baton_epx *ep);

/* ---- Memory of a node ----------------------------------------------------------------------
 *
 * Kept by the common part for the nodes of this process. Segment 0 is the arena.
 */
struct baton_segment {
    uint64_t base; /* offset in the node's space; 0: unused slot */
    uint64_t bytes;
    char *memory;
    unsigned rights;
    struct baton_words *words;
    unsigned words_count;
    void *world; /* the world's own */
};

struct baton_arena_block;

struct baton_node {
    struct baton_cluster *cluster;
    unsigned index;
    uint64_t deaths;   /* deaths noticed so far: see baton_node_note_death */
    uint64_t *died_at; /* by node: the value of `deaths` when its death was noticed; 0: never */
    uint64_t sleepers, wakes; /* see baton_native_wake */
    uint64_t endpoints;
    pthread_mutex_t lock; /* segments, arena, waiters, tables */
    uint64_t next_base;   /* a world that remembers earlier lives of this number raises it */
    struct baton_segment segments[BATON_SEGMENTS_MAX];
    struct baton_arena_block *arena;
    void *waiters;              /* closed ones, for who opens one: see src/lock/table.c */
    struct baton_table *tables; /* handles that are open, but for simulated runs: see there */
    void *world;
};

#define BATON_PAGE 4096u

/*
 * Where a gfence's get goes: a word of the page that is never memory, which every world lets
 * everybody get (it maps it to some word that the node exports; the value does not matter).
 */
BATON_INLINE baton_gptr baton_gfence_word(unsigned node)
{
    return baton_gptr_make(node, 8);
}

/* The segment of this node that holds [offset, offset + bytes), or null; *rc then says what is
 * wrong. */
const struct baton_segment *baton_segment_find(const struct baton_node *node, uint64_t offset,
                                               uint64_t bytes, int *rc);

/* Whether [pointer, pointer + bytes) is memory of this node that the contract knows. */
bool baton_node_knows(const struct baton_node *node, const void *pointer, uint64_t bytes);

/* Zeroed; null when the arena is full or `align` is no power of two up to a page. */
void *baton_arena_alloc(struct baton_node *node, size_t bytes, size_t align);
void baton_arena_free(struct baton_node *node, void *memory);
size_t baton_arena_extent(const struct baton_node *node); /* behind it nothing is in use */

int baton_arena_init(struct baton_node *node, size_t bytes);
void baton_memory_fini(struct baton_node *node); /* destroys all segments */

void baton_node_count_endpoint(struct baton_node *node, int change);

/* Called by one thread at a time per node: makes waits end that concern node `dead`. */
void baton_node_note_death(struct baton_node *node, unsigned dead);
bool baton_node_died_since(const struct baton_node *node, unsigned index, uint64_t deaths);

/* ---- Clusters
 * -------------------------------------------------------------------------------------------*/

struct baton_world_ops {
    size_t size;
    const char *name;
    const char *(*unavailable)(void); /* null result: usable here; a missing call: always */

    /*
     * Fills cluster->nodes, caps, world, and for every local node calls baton_cluster_add_node once
     * the number is known. On failure leaves nothing behind.
     */
    int (*open)(struct baton_cluster *cluster, const struct baton_cluster_opts *opts);
    void (*close)(struct baton_cluster *cluster);
    enum baton_node_state (*node_state)(struct baton_cluster *cluster, unsigned index);

    /* Memory for a segment whose base, bytes and rights are set (slot `slot` of the node); zeroed.
     */
    int (*segment_create)(struct baton_node *node, unsigned slot, struct baton_segment *segment);
    void (*segment_destroy)(struct baton_node *node, unsigned slot, struct baton_segment *segment);

    int (*name_publish)(struct baton_node *node, const char *name, baton_gptr at);
    int (*name_withdraw)(struct baton_node *node, const char *name);
    int (*name_find)(struct baton_node *node, const char *name, baton_gptr *at); /* -ENOENT */

    int (*ep_open)(struct baton_epx *ep); /* sets ep->world.ops, .state and pub.native */
    void (*ep_close)(struct baton_epx *ep);

    /* Teams; null: one pthread per thread (baton_run_threads). */
    int (*run)(struct baton_cluster *cluster, const struct baton_team *teams, unsigned count);

    /* The thread is no more: forgets `ep` without waiting for anything. Only where that can happen. */
    void (*ep_abandon)(struct baton_epx *ep);

    /*
     * A call on `ep` was refused because the program has broken the contract; `at` is what it has misused.
     * For worlds that keep count; else null.
     */
    void (*misused)(struct baton_epx *ep, const char *what, baton_gptr at);
};

struct baton_cluster {
    const struct baton_world_ops *ops;
    unsigned nodes;
    unsigned local_count;
    struct baton_node **local; /* by number; null where this process is not that node */
    unsigned first;            /* lowest local number */
    struct baton_caps caps;
    size_t arena_bytes;
    void *world;
    /* A world's: memory of endpoints, and of what they keep of a node, comes from there; null: from the heap. */
    struct baton_pool *ep_pool, *peer_pool;
};

/* Bytes of an endpoint, without what it keeps of the nodes that it uses. */
size_t baton_ep_bytes(const struct baton_cluster *cluster);

/* Makes the common part of a local node: locks, tables. The arena follows in baton_cluster_open. */
struct baton_node *baton_cluster_add_node(struct baton_cluster *cluster, unsigned index);

/* -EINVAL when it is no name that can be published. */
int baton_name_check(const char *name);

/* All worlds of this build, ended by null. */
extern const struct baton_world_ops *const baton_worlds[];

extern const struct baton_world_ops baton_world_shm;
extern const struct baton_world_ops baton_world_verbs;
extern const struct baton_world_ops baton_world_ucx;
extern const struct baton_world_ops baton_world_step;
extern const struct baton_world_ops baton_world_sim;

/* ---- For worlds whose threads are real
 * ------------------------------------------------------------------*/

uint64_t baton_native_now(struct baton_layer *, struct baton_epx *);
void baton_native_delay(struct baton_layer *, struct baton_epx *, uint64_t ns);
int baton_native_await(struct baton_layer *, struct baton_epx *, const struct baton_cond *,
                       unsigned n, struct baton_wait *);
int baton_native_relax(struct baton_layer *, struct baton_epx *, struct baton_wait *);
uint64_t baton_native_load(struct baton_layer *, struct baton_epx *, const uint64_t *word);
void baton_native_store(struct baton_layer *, struct baton_epx *, uint64_t *word, uint64_t value);
uint64_t baton_native_swap(struct baton_layer *, struct baton_epx *, uint64_t *word,
                           uint64_t value);
uint64_t baton_native_cas(struct baton_layer *, struct baton_epx *, uint64_t *word,
                          uint64_t expected, uint64_t desired);
uint64_t baton_native_faa(struct baton_layer *, struct baton_epx *, uint64_t *word, uint64_t add);
void baton_native_mfence(struct baton_layer *, struct baton_epx *);

/*
 * Threads of this process have written words of the node, of these kinds, by remote operations: wakes those who
 * sleep in an await for such. Who can not tell what has been written need not: nobody sleeps for long.
 */
void baton_native_wake(struct baton_node *node, uint32_t kinds);

/* Of which of 32 kinds words are: by their addresses, so that of many sleepers few wake in vain. */
BATON_INLINE uint32_t baton_native_kinds(const uint64_t *word, uint32_t bytes)
{
    uint32_t kinds = 0;
    for (uint32_t i = 0; i < bytes / 8 && ~kinds; i++)
        kinds |= UINT32_C(1) << ((uintptr_t)(word + i) * UINT64_C(0x9e3779b97f4a7c15) >> 59);
    return kinds;
}

/* What a world with real threads puts into its struct baton_ep_ops, behind the calls of its own. */
#define BATON_NATIVE_EP_OPS                                                                        \
    .load = baton_native_load, .store = baton_native_store, .swap = baton_native_swap,             \
    .cas = baton_native_cas, .faa = baton_native_faa, .mfence = baton_native_mfence,               \
    .now = baton_native_now, .delay = baton_native_delay, .await = baton_native_await,             \
    .relax = baton_native_relax

/* What a thread of a team does: an endpoint, the body, the end of the endpoint. Its first error. */
int baton_team_member(struct baton_cluster *cluster, const struct baton_team *team, unsigned index);

int baton_run_threads(struct baton_cluster *cluster, const struct baton_team *teams,
                      unsigned count);

/*
 * Whether a wait may go on: 0, -EOWNERDEAD or the error that kept it from looking. Rings nothing
 * and keeps the caller's chain and counters as they are. Worlds call it rarely.
 */
int baton_group_check(struct baton_epx *ep, struct baton_wait *wait);

#endif
