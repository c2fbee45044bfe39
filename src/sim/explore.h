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
 * forget what the body has forgotten (explore_local.c); and a body may say what it still knows, which is what the
 * compiler has left in registers and on the stack and nobody will look at again (sim_explore_knows). Going back means copying back (explore_image.c).
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
 * WHAT THREADS MAY STILL DO (explore_future.c). A step on a word that no other thread will ever touch again, or
 * will only read when the step reads, needs no branching either, be it a load, a CPU's RMW, an await that is
 * over, a store that leaves, a get's read or a put's write. Who else may touch a word is known from what he has
 * under way, which is seen, and from where his body is: places (explore_local.c) are the nodes of a graph, the
 * steps between them are learned as they are taken, and from a place everything may be used that is used on
 * some way from it. A place that nobody has left yet may use anything. The step must also be alone among what
 * its own thread has under way, and, for a step of a NIC, among what its thread may do, unless the thread can
 * not go on before it. Then every run from here that does not take the step can take it first, with no
 * difference for anybody: the step alone is a persistent set. It can not be put off for ever, since it is taken.
 *
 * What is learned is relied on. When it turns out to be more, the exploration starts again with it, so in the
 * last one nothing that was relied on has been contradicted. Assume it were wrong nevertheless; of all moments
 * at which a step was taken at once and somebody could still touch its word, take the one from which this
 * somebody needs the fewest steps. The steps before his touch do not conflict with any step that was taken at
 * once on the way, or that would be a moment with fewer. So they can all be taken behind it; the exploration
 * takes them, up to exchanges that change nothing, and learns of the touch: a contradiction.
 *
 * Guarded words are touched by whoever is inside only, and two inside are a violation. So for a step on them of
 * who is inside, what others will do later does not count: he who comes in before the step is a violation that
 * is met just as well behind it. What counts is what they have under way. Two things must not be hidden by that:
 * what its own thread does next must not let others in before the step, so a step of a NIC counts only while
 * its thread waits and has not begun to leave; a store that leaves the buffer is before all that its thread does
 * later, but for loads, which let nobody in.
 *
 * Events of the observers (sim_explore_when) pass over such steps: they come as late as they can. So a violation
 * that is met before the end of what is learned may be one only by what was wrongly relied on. Each is taken
 * again with all its steps as steps like others. If it is not found that way, it waits until the end of the
 * pass: if nothing was contradicted, it is one, and else the pass begins again.
 *
 * All this is not done when bodies change the ghost by hand and nobody says who is inside: what the ghost
 * orders is not seen. Nor with `naive`, `digests`, a bound on preemptions, or `no_future`. That verdicts and
 * outcomes are the same without it is a test (tests/check/outcomes_test.c).
 *
 * With `by_hand` every act of a thread branches, a store into its own buffer, too: what the body does to the ghost
 * behind it may be what others look at. Steps of the card are taken at once as always.
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

enum sim_quiet {
    SIM_QUIET_NOT,   /* it branches */
    SIM_QUIET_OWN,   /* it was taken at once: it touches only what belongs to the thread */
    SIM_QUIET_FUTURE /* it was taken at once: nobody will see the difference */
};

#define SIM_CHOICES_MAX 12u

struct sim_step {
    uint8_t kind; /* enum sim_step_kind */
    uint8_t thread;
    uint8_t at;
    uint8_t step;  /* enum baton_nic_step */
    uint8_t quiet; /* enum sim_quiet */
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
    bool no_future;    /* what threads may still do is not looked at */
    bool digests;      /* what a thread knows is identified by what it was told */
    bool
        self_check; /* equal digests must mean equal stacks, equal states equal bytes; no symmetry */

    /*
     * The ghost: what observers of the program keep. It is part of the state. The bodies change it by hand, at
     * the moments that sim_explore_when gives them or right after a call of the contract returns (see by_hand).
     */
    void *ghost;
    size_t ghost_bytes;
    bool by_hand; /* bodies look at it and change it after every call */
    /* Its hash when thread t is called to[t]; null: of its bytes, and threads are not exchanged. */
    uint64_t (*ghost_hash)(void *arg, const uint8_t *to);
    /* One of the events of sim_explore_when has come. */
    void (*event)(void *arg, unsigned thread, unsigned events);
    /*
     * Words that only who is `inside` uses, and two threads inside are a violation that the observers report:
     * then no other thread's future uses of them count. 0 bytes: there are none. It is looked after: when
     * somebody who is not inside uses one, they are words like others.
     */
    baton_gptr guarded;
    uint64_t guarded_bytes;
    bool (*inside)(void *arg, unsigned thread);
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
    uint64_t depth;                  /* longest way, in steps */
    uint64_t passes;                 /* how often the exploration began */
    uint64_t outcomes, outcomes_sum; /* different final memories, but for what is a thread's own */
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

/* The events that still wait for such a step come now. */
void sim_explore_now(struct baton_ep *ep);

/*
 * From here on the body depends on nothing that it has been told but these values, and on what it will be
 * told. The self-check follows both, what was said and what was told, and looks whether it is so.
 */
void sim_explore_knows(struct baton_ep *ep, const uint64_t *values, unsigned n);

/* The same at the beginning of a turn: what the thread has read so far will not wake it. */
void sim_explore_forget(struct baton_ep *ep, const uint64_t *values, unsigned n);

#endif
