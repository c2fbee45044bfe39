/* SPDX-License-Identifier: MIT */
/*
 * What the files of the exhaustive driver share.
 *
 * explore.c         the search
 * explore_step.c    which steps there are, which are taken at once, taking them
 * explore_local.c   what a thread knows
 * explore_future.c  what threads may still do
 * explore_words.c   words: who uses them, what they contribute to the hash; permutations
 * explore_image.c   keeping a state and going back to it
 * explore_tell.c    steps in words
 */
#ifndef BATON_SIM_EXPLORE_INNER_H
#define BATON_SIM_EXPLORE_INNER_H

#include "sim/explore.h"
#include "sim/sim.h"

#define PERMUTATIONS_MAX 36u
#define STEPS_MAX 96u /* that are possible in one state */

enum word_use {
    USE_LOAD = 1,  /* by CPUs */
    USE_WRITE = 2, /* by CPUs */
    USE_LAND = 4,  /* what a NIC fetched lands there */
    USE_SOURCE = 8,
    USE_REMOTE_READ = 16,
    USE_REMOTE_WRITE = 32
};

struct word {
    uint64_t *at;
    uint64_t initial; /* when the exploration began */
    uint8_t uses;
    uint8_t cpus;                   /* mask of threads */
    uint8_t lands;                  /* mask of threads */
    uint16_t lands_from;            /* the node, plus one, that is read into it */
    bool lands_apart;               /* there are several: their order is open */
    bool relied;                    /* a step was taken at once because of what is known of it */
    bool kept;                      /* it lies in memory that is kept as a whole */
    uint8_t local;                  /* mask of threads whose own memory it lies in */
    uint8_t frame[SIM_THREADS_MAX]; /* explore_future.c: as the first of a class has it; plus one */
    uint64_t name[PERMUTATIONS_MAX]; /* its address under each permutation */
};

/* Sets of words that are read and written: the first so many. */
#define USES_PARTS 3u
#define USES_WORDS (64u * USES_PARTS)
#define USES_NONE 254u

struct uses {
    uint64_t bits[2][USES_PARTS];
};

/* What the driver keeps for a thread beside struct sim_thread. */
struct thread_extra {
    uint64_t version; /* changes whenever anything of the thread does */
    bool fresh;       /* `hash` is what explore_hash would compute */
    bool
        relaxes; /* it has been seen to use baton_relax: what its turns read belongs to the state */
    bool named;  /* `name` is that of the place where it is */
    uint32_t name;      /* of the last place that was looked up, plus one */
    struct uses used;   /* since then */
    struct uses flight; /* what it has under way, at that version and number of words */
    uint64_t flight_version;
    unsigned flight_words;
    uint64_t knows[PERMUTATIONS_MAX]; /* if `named`: what its endpoint knows */
    uint64_t digest[PERMUTATIONS_MAX];
    /* For the self-check: what it said last that it knows, with what it was told since; what it was told and
     * has written itself since it went on. */
    uint64_t said, told, wrote;
    uint64_t hash[PERMUTATIONS_MAX];
};

/* Names of digests; see explore_local.c. */
struct names {
    struct name_slot *by_digest, *by_place;
    size_t digest_mask, place_mask, digests_n, places_n;
    uint64_t *digests; /* [name * permutations + permutation], as the first of the class has them */
    size_t count, room;
};

struct region {
    char *at;
    size_t bytes;
    int thread; /* who alone writes there by hand; -1: anybody */
};

struct bytes {
    char *at;
    size_t n, room;
    bool saving, no_memory;
};

/* A thread as it was at some moment. Images share them: a step changes one thread, seldom more. */
struct kept {
    struct kept *next; /* while free */
    unsigned uses;
    uint64_t version;
    struct bytes bytes;
};

struct image {
    struct bytes shared;
    struct kept *threads[SIM_THREADS_MAX];
};

struct choices {
    unsigned given, n;
    uint8_t choice[SIM_CHOICES_MAX], of[SIM_CHOICES_MAX];
};

struct explore {
    struct sim *s;
    struct sim_explore *ask, standard;

    struct word *words;
    uint64_t *values; /* of words, as last written through the contract */
    unsigned words_n, words_room;
    uint32_t *index; /* of words by address, plus one; 0 none */
    uint32_t index_mask;
    uint64_t memory_hash[PERMUTATIONS_MAX];
    bool constant;    /* what the thread is told now is a constant of the program */
    bool stale;       /* something that was relied on is not so */
    bool futures;     /* what threads may still do is learned and used */
    bool learning;    /* it is not used now */
    bool behind;      /* it was learned too late */
    uint64_t learned; /* changes when something new is */
    bool unguarded;   /* guarded words are used from outside */
    bool no_memory;

    unsigned permutations, threads, nodes;
    uint8_t to[PERMUTATIONS_MAX][SIM_THREADS_MAX];
    uint16_t *node_to; /* [permutation * nodes + node] */
    struct sim_range ranges[4 * SIM_THREADS_MAX];
    unsigned ranges_n;

    struct thread_extra extra[SIM_THREADS_MAX];
    uint64_t armed[SIM_THREADS_MAX]; /* events that wait for the thread's next visible step */
    uint64_t versions;
    struct kept *live[SIM_THREADS_MAX], *free_kept; /* `live`: the thread as it is now, if kept */
    size_t kept_bytes;
    unsigned touched; /* mask of threads that may have something to do at once */
    bool uses_changed;
    struct own_words {
        const uint64_t **at;
        unsigned n, room;
    } own_words[SIM_THREADS_MAX];
    struct names names;
    struct place *places; /* by name */
    size_t places_room;
    /* By thread: the first of its class; which permutation of that one equals permutation p of this one. */
    uint8_t first_of[SIM_THREADS_MAX], as_first[SIM_THREADS_MAX][PERMUTATIONS_MAX];
    uint16_t ids[BATON_IDS]; /* work ids that were used so far */
    unsigned ids_n;
    uint8_t ids_known[BATON_IDS];

    struct region regions[64];
    unsigned regions_n;
    struct image start;

    struct choices choices;
    bool chooses;  /* choices exist: every state is kept before a step is taken */
    bool too_many; /* of something with a fixed bound; `ask->text` says what */

    int last; /* the thread that stepped last, and preemptions so far: with a context bound */
    unsigned preemptions;

    bool starting; /* bodies run to their first act */
    bool violated;
    bool telling;
    bool recording; /* every step goes to `record` */
    struct sim_step *record;
    size_t record_n, record_room;
    uint64_t *stacks; /* self-check: pairs of digest and stack hash, or state and exact hash */
    size_t stacks_mask, stacks_n;
};

static inline struct explore *explore_of(struct sim *s)
{
    return s->driver_state;
}

/* Two words into one; the order matters. */
static inline uint64_t hash2(uint64_t a, uint64_t b)
{
    unsigned __int128 m = (unsigned __int128)(a ^ 0x9e3779b97f4a7c15u) * (b ^ 0xd6e8feb86659fd93u);
    return (uint64_t)m ^ (uint64_t)(m >> 64) ^ a << 1;
}

static inline struct sim_ep *explore_ep(const struct sim_thread *t)
{
    return t->ep ? baton_epx(t->ep)->world.state : NULL;
}

/* Something of the thread is about to change. */
static inline void touch(struct explore *x, unsigned thread)
{
    x->extra[thread].fresh = x->extra[thread].named = false;
    x->extra[thread].version = ++x->versions;
    x->touched |= 1u << thread;
}

static inline struct sim_buffered *explore_buffered(struct sim_thread *t, unsigned i)
{
    return &t->buffer[(t->buffer_first + i) % SIM_BUFFER_MAX];
}

/* In place of the number of words that a turn has read: one of them is not what it was. */
#define TURN_CHANGED (SIM_READS_MAX + 2)

/* How many words the turn remembers that count. */
static inline unsigned explore_reads(const struct sim_thread *t)
{
    return t->reads_n == TURN_CHANGED ? 0 : t->reads_n < SIM_READS_MAX ? t->reads_n : SIM_READS_MAX;
}

/* The word as the thread sees it: its newest store there, or memory. */
static inline uint64_t explore_seen(struct sim_thread *t, const uint64_t *word)
{
    for (unsigned i = t->buffer_n; i-- > 0;)
        if (explore_buffered(t, i)->word == word)
            return explore_buffered(t, i)->value;
    return *word;
}

static inline bool is_gfence(const struct sim_part *part)
{
    return part->op.kind == BATON_OP_GET && part->op.remote == baton_gfence_word(part->op.node);
}

/* Events that wait for an operation or a store are kept in the high bits of its flags. */
#define MARK_SHIFT 5u

/* ---- explore_words.c */

struct word *word_find(struct explore *x, const uint64_t *at); /* null: not used so far */
struct word *word_of(struct explore *x, const uint64_t *at);   /* null: no memory */
uint64_t word_map(const struct explore *x, unsigned permutation, uint64_t value);
/* The word is used so by the thread; breaks what was relied on, perhaps. */
struct word *word_use(struct explore *x, const uint64_t *at, enum word_use use, unsigned thread);
/* Whether such a use of it needs no branching. */
bool word_quiet(struct explore *x, struct word *w, enum word_use use);
void word_write(struct sim *s, uint64_t *at, uint64_t value);
void word_lands(struct explore *x, uint64_t local, unsigned thread);
void word_lands_from(struct explore *x, struct word *w, unsigned node);
void words_rename(struct explore *x); /* when permutations have been found */
int permutations_find(struct explore *x);
uint64_t explore_hash(struct explore *x);
uint64_t memory_outcome(const struct explore *x); /* of what is in memory for all to see */

/* ---- explore_local.c */

uint8_t own_memory(struct explore *x,
                   const uint64_t *at); /* mask of threads whose own memory it is in */
/* `knows`: what its endpoint knows, under each permutation. */
uint32_t name_thread_state(struct explore *x, struct sim_thread *t, const uint64_t *knows);
void names_clear(struct explore *x);
void own_words_free(struct explore *x);
uint64_t ep_knows(struct explore *x, const struct baton_epx *ep, unsigned p);
void stack_clean(struct sim_thread *t);
void stacks_begin(struct explore *x); /* the self-check knows of nothing */
void stack_check(struct explore *x, struct sim_thread *t);
/* Whether who knows the same, by what was said, does the same: begins before the thread goes on. */
struct said {
    uint64_t said, knows;
    unsigned buffer_n;
};
struct said said_begin(struct explore *x, const struct sim_thread *t);
void said_check(struct explore *x, struct sim_thread *t, const struct said *before);
void state_check(struct explore *x, uint64_t hash); /* when it has been computed of this state */

/* ---- explore_future.c */

void futures_clear(struct explore *x);
void futures_forget_relied(struct explore *x);
void future_use(struct explore *x, unsigned thread, struct word *w, enum word_use use);
/* The thread is about to use the word: from inside, if it is guarded. */
void future_guard(struct explore *x, unsigned thread, const struct word *w);
/* Finds out where the thread is. */
void future_place(struct explore *x, struct sim_thread *t);
/* Whether this needs no branching: the thread's load, RMW or await; a store leaving; a step of a NIC. */
bool future_act(struct explore *x, struct sim_thread *t, const uint64_t *at, bool write);
bool future_flush(struct explore *x, struct sim_thread *t, const uint64_t *at);
bool future_nic(struct explore *x, const struct sim_qp *q, unsigned at, enum baton_nic_step step);

/* ---- explore_image.c */

int regions_find(struct explore *x);
void image_save(struct explore *x, struct image *image);
void image_restore(struct explore *x, struct image *image);
void image_drop(struct explore *x, struct image *image); /* it is not needed again */
void images_free(struct explore *x, struct image *image);

/* ---- explore_step.c */

void steps_settle(struct explore *x); /* takes all that is taken at once */
unsigned steps_list(struct explore *x, struct sim_step *out);
void step_take(struct explore *x, const struct sim_step *step);
/* Events that nobody has seen the moment of come now. */
void events_come(struct explore *x, unsigned thread);
void thread_ended(struct explore *x, const struct sim_thread *t); /* perhaps: it has failed then */
bool explore_done(const struct explore *x); /* all threads have ended and nothing is on its way */
void explore_give_up(struct explore *x, const char *text);
void explore_violated(struct explore *x, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* ---- explore.c */

int explore_open(struct sim *s, const char *options);
void explore_close(struct sim *s);
int explore_run(struct sim *s);

/* ---- explore_tell.c */

void tell_buffered(struct explore *x, struct sim_thread *t, const struct sim_buffered *b);

void tell_step(struct explore *x, const struct sim_step *step);
void tell_nic(struct explore *x, struct sim_qp *q, unsigned at, enum baton_nic_step step);
void tell_line(struct explore *x, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tell_blocked(struct explore *x);
void tell_note(struct explore *x, unsigned thread, const char *text);

#endif
