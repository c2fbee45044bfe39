/* SPDX-License-Identifier: MIT */
/*
 * The exhaustive driver: every schedule and every order that the NIC may choose, of one run of a program.
 *
 * A cluster is opened with the options "driver=exhaustive", a struct sim_explore is attached, and baton_run
 * then explores instead of running once. What the program must do for that:
 *
 *   - bodies keep what they know in local variables, in memory that they got from the contract and that
 *     nobody else writes by hand, and in the ghost; they neither allocate nor open anything after their first
 *     act that others can see, and touch no static variable, file or clock;
 *   - they wait through baton_await and baton_relax only.
 *
 * A STATE is simulated memory, store buffers, queue pairs, the ghost, and per thread a digest of all that the
 * contract has told it: a body is a deterministic function of that, so two states with equal digests have
 * equal local variables. Digests that are seen to lead to the same place get the same name, which makes them
 * forget what the body has forgotten (explore_local.c). Going back means copying back (explore_image.c).
 * States are told apart by 64-bit hashes: among n states a pair that is confused has probability n^2 / 2^65.
 *
 * WHAT BRANCHES AND WHAT DOES NOT. A step is visible if its order against steps of others can matter:
 *
 *     a CPU load, swap, cas, faa; the end of an await or relax; a store that leaves the store buffer; a NIC's
 *     read of a remote word, or of the source of a put; a write that leaves for remote memory; a fetched value
 *     that lands in memory that CPUs look at without waiting for it
 *
 * All others are taken at once, whoever's they are, until none is left: a store or a post into the own
 * buffer; a post that leaves it; an empty fence; a put or the write of a read-modify-write entering the write
 * buffer; leaving the pipe; a fetched value that lands where only its owner looks, after a wait; the end of a
 * wait; the end of a relax. Each of these touches only what belongs to its thread or queue pair, stays possible until it is
 * taken, and makes nothing impossible that was possible; so in every run it can be moved to the front without
 * a difference for anybody, and no property is checked on what it changes. Entering the write buffer makes a
 * put acknowledged, which only allows its thread more; older gets do not look at younger writes (model/nic.h).
 * Where posts may change places (BATON_CLUSTER_SWAP) an operation that was touched keeps its place, so there
 * the first step of a put branches too.
 *
 * Words that nobody writes, and words that only one thread's CPU uses, need no branching either: loads of
 * them and stores to them are taken at once. Which words those are is found out: it is assumed of every word,
 * and when a step contradicts what has been relied on, the exploration starts again, knowing better. The
 * assumption holds for all runs when it holds for all runs that were explored: take the shortest run that
 * breaks it; all before the break is explored with a right assumption, so the break is met.
 *
 * AWAIT AND RELAX are no loops here. An await is a visible step that is possible while its condition holds. A
 * relax ends at once when a word that its turn has read has changed: what the next turn sees is decided by
 * the reads of that turn, which are steps of their own and may come any time later. A turn that has changed
 * nothing makes no new state (explore_step.c). So a wake-up that is lost is a deadlock.
 *
 * SYMMETRY. Threads of one class run the same code. For every permutation of them there is a hash, in which
 * threads change places, addresses of their nodes and of their own memory change with them, and so do values
 * that are such addresses; the least of the hashes stands for all. Addresses are told from numbers by their
 * looks: memory begins at an offset that no ticket and no counter reaches.
 */
#ifndef BATON_SIM_EXPLORE_H
#define BATON_SIM_EXPLORE_H

#include <baton/fabric.h>

enum sim_verdict { SIM_VERIFIED, SIM_VIOLATED, SIM_UNKNOWN };

enum sim_step_kind {
    SIM_STEP_THREAD,  /* the thread takes its next act, or goes on after an await or relax */
    SIM_STEP_TIMEOUT, /* the deadline of the thread's wait has come */
    SIM_STEP_STORE,   /* the oldest store of the thread's buffer goes to memory */
    SIM_STEP_BEGIN,   /* all threads go to their first visible act */
    SIM_STEP_NIC      /* entry `at` of the queue pair from the thread to the node takes a step */
};

#define SIM_CHOICES_MAX 12u

struct sim_step {
    uint8_t kind; /* enum sim_step_kind */
    uint8_t thread;
    uint8_t at;
    uint8_t step;  /* enum baton_nic_step */
    uint8_t quiet; /* it was taken at once */
    uint16_t node;
    /* Where posts or pieces changed places on the way to the next step: which possibility. */
    uint8_t choices_n;
    uint8_t choice[SIM_CHOICES_MAX];
};

#define SIM_THREADS_MAX 8u

/* Memory that belongs to a thread among several on one node, for symmetry. */
struct sim_range {
    unsigned thread;
    baton_gptr base;
    uint64_t bytes;
};

struct sim_explore {
    /* ---- What to do */

    /* Follows `steps` once instead of searching, and nothing else happens. `tell` gets a line for each. */
    bool follow;
    const struct sim_step *steps;
    size_t steps_n;
    void (*tell)(void *arg, const char *line);

    uint64_t states_max; /* 0: no bound */
    uint64_t runs_max;
    double seconds_max;
    int context_bound; /* most preemptions of a thread that could go on; negative: no bound */
    bool shortest;     /* breadth first: a violation comes with fewest steps */
    bool naive;        /* nothing is taken at once */
    bool digests;      /* what a thread knows is identified by what it was told */
    bool
        self_check; /* equal digests must mean equal stacks, equal states equal bytes; no symmetry */

    /*
     * The ghost: what observers of the program keep. It is part of the state. The bodies change it by hand, at
     * the moments that sim_explore_when gives them or right after a call of the contract returns.
     */
    void *ghost;
    size_t ghost_bytes;
    /* Its hash when thread t is called to[t]; null: of its bytes, and threads are not exchanged. */
    uint64_t (*ghost_hash)(void *arg, const uint8_t *to);
    /* One of the events of sim_explore_when has come. */
    void (*event)(void *arg, unsigned thread, unsigned events);
    /* All threads have ended and all is done: what is wrong, or null. */
    const char *(*final)(void *arg);
    /* The name of a word, for stories; null: its address. */
    bool (*name)(void *arg, baton_gptr word, char *out, size_t bytes);
    /* The name of a thread; null: its number and node. */
    void (*thread_name)(void *arg, unsigned thread, char *out, size_t bytes);
    void *arg;

    /* Threads with equal numbers are interchangeable; null: no symmetry. */
    const uint8_t *classes;
    const struct sim_range *ranges;
    unsigned ranges_n;

    /* ---- What was found */

    enum sim_verdict verdict;
    char text[240]; /* what is violated; or which bound was hit */
    struct sim_step
        *found; /* the way to the violation, with all steps; to be freed by the caller */
    size_t found_n;
    size_t found_visible; /* how many of them branch */
    uint64_t states, transitions, runs, terminals;
    uint64_t depth;  /* longest way, in steps */
    uint64_t passes; /* how often the exploration began */
    uint64_t checked, words;
    unsigned permutations;
    double seconds;
    size_t memory; /* bytes of the table of states and of what is kept to go back */
};

/* Where to start from when filling one in. */
#define SIM_EXPLORE_STANDARD                                                                       \
    {                                                                                              \
        .context_bound = -1                                                                        \
    }

/* The next baton_run of the cluster does what `x` says. -EINVAL: not opened with driver=exhaustive. */
int sim_explore_attach(struct baton_cluster *cluster, struct sim_explore *x);

/* ---- For bodies, by the endpoint of the running thread; see baton/check.h for more. Elsewhere they do nothing. */

/*
 * The events (a mask) come as late as they can: right before the first visible step of what this thread does
 * from here on. For moments whose meaning is "not later than": a call begins, a section has ended.
 */
void sim_explore_when(struct baton_ep *ep, unsigned events);

/* From here on the body depends on nothing that it has been told but these values. */
void sim_explore_forget(struct baton_ep *ep, const uint64_t *values, unsigned n);

#endif
