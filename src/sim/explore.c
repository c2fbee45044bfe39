/* SPDX-License-Identifier: MIT */
/* The search of the exhaustive driver: see explore.h for what it is and why it is sound. */
#include "sim/explore_inner.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/clock.h"
#include "base/error.h"

/* ---- States that were seen: 64-bit hashes, open addressing. */

struct seen {
    uint64_t *slot;
    size_t mask, n;
};

#define SEEN_SMALLEST (1u << 14)

static bool seen_make(struct seen *seen, size_t slots)
{
    size_t bytes = slots * sizeof(*seen->slot);
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    (void)madvise(memory, bytes, MADV_HUGEPAGE);
    *seen = (struct seen){memory, slots - 1, 0};
    return true;
}

static void seen_free(struct seen *seen)
{
    if (seen->slot)
        munmap(seen->slot, (seen->mask + 1) * sizeof(*seen->slot));
    seen->slot = NULL;
}

static bool seen_put(struct seen *seen, uint64_t hash)
{
    for (size_t i = hash & seen->mask;; i = (i + 1) & seen->mask) {
        if (seen->slot[i] == hash)
            return false;
        if (!seen->slot[i]) {
            seen->slot[i] = hash;
            seen->n++;
            return true;
        }
    }
}

/* Whether the state is new. */
static bool seen_add(struct explore *x, struct seen *seen, uint64_t hash)
{
    if (seen->n > seen->mask / 8 * 5) {
        struct seen larger;
        if (!seen_make(&larger, 4 * (seen->mask + 1))) {
            x->no_memory = true;
            return false;
        }
        for (size_t i = 0; i <= seen->mask; i++)
            if (seen->slot[i])
                seen_put(&larger, seen->slot[i]);
        seen_free(seen);
        *seen = larger;
    }
    return seen_put(seen, hash);
}

/* ---- What the end of a way means */

/* An error of what the thread has posted, and that nobody has been told; 0: there is none. */
static int untold_error(const struct explore *x, const struct sim_thread *t)
{
    const struct baton_epx *ep = baton_epx(t->ep);
    int rc = 0;
    for (unsigned i = 0; i < x->ids_n && !rc; i++)
        rc = ep->ids[x->ids[i]].rc;
    for (unsigned n = 0; n < x->nodes && !rc; n++)
        rc = baton_epx_peer(ep, n)->rc;
    return rc;
}

static void judge(struct explore *x)
{
    struct sim_explore *ask = x->ask;
    if (explore_done(x)) {
        ask->terminals++;
        for (unsigned t = 0; t < x->threads; t++)
            events_come(x, t);
        const char *wrong = ask->final ? ask->final(ask->arg) : NULL;
        if (wrong)
            explore_violated(x, "%s", wrong);
        for (unsigned t = 0; t < x->threads; t++) {
            int rc = untold_error(x, x->s->threads[t]);
            if (rc)
                explore_violated(x, "thread %u has not waited for an operation that failed: %s", t,
                                 baton_strerror(rc));
        }
        return;
    }
    char who[64] = "";
    for (unsigned t = 0, n = 0; t < x->threads; t++)
        if (x->s->threads[t]->state != SIM_ENDED)
            n += (unsigned)snprintf(who + n, sizeof(who) - n, " %u", t);
    explore_violated(
        x, "deadlock: nothing can happen any more, and these threads have not ended:%s", who);
}

static void forget_reports(struct sim *s)
{
    while (s->reports) {
        struct sim_report *r = s->reports;
        s->reports = r->next;
        free(r);
    }
    s->reports_end = &s->reports;
    s->silent_n = s->told_n = 0;
}

static void begin_again(struct explore *x)
{
    /* All of it: a thread that has not moved may have got a name since. */
    for (unsigned t = 0; t < x->threads; t++)
        touch(x, t);
    image_restore(x, &x->start);
    forget_reports(x->s);
    x->violated = x->stale = false;
    x->last = -1;
    x->preemptions = 0;
}

/* Where all threads are: future_place learns by it. */
static void find_places(struct explore *x)
{
    for (unsigned t = 0; t < x->threads && x->futures; t++)
        future_place(x, x->s->threads[t]);
}

/* ---- Depth first */

struct level {
    struct image image;
    uint64_t hash; /* of the state */
    struct sim_step *steps;
    unsigned n, next, room;
    struct choices choices; /* of the step that is being followed */
    /* That step, with all that was taken at once behind it. */
    struct sim_step *trail;
    size_t trail_n, trail_room;
};

#define ON_WAY 4096u

struct search {
    struct explore *x;
    struct seen seen, outcomes;
    struct level *levels;
    size_t room, depth;
    double end;
    bool stopped;
    bool endless;            /* a way has come back to where it was */
    uint32_t on_way[ON_WAY]; /* how many levels have a hash with that remainder */
    unsigned suspects;       /* violations that only what was taken at once shows */
    char text[240];          /* of the first, whose way is in `ask->found` */
};

static struct level *level_at(struct search *d, size_t depth)
{
    if (depth >= d->room) {
        size_t room = d->room ? 2 * d->room : 256;
        struct level *more = realloc(d->levels, room * sizeof(*more));
        if (!more) {
            d->x->no_memory = true;
            return NULL;
        }
        memset(more + d->room, 0, (room - d->room) * sizeof(*more));
        d->levels = more;
        d->room = room;
    }
    return &d->levels[depth];
}

/* The step has led back to a state on the way to it; not so if a thread has woken up and must wait on. */
static bool leads_back(const struct search *d, uint64_t hash, const struct sim_step *step)
{
    size_t i = d->on_way[hash % ON_WAY] ? d->depth : 0;
    while (i && d->levels[i - 1].hash != hash)
        i--;
    return i && !(i == d->depth && step->kind == SIM_STEP_THREAD &&
                  d->x->s->threads[step->thread]->state == SIM_WORK);
}

/* Lists the steps of the state we are in; keeps the state if it will be needed again. */
static bool push(struct search *d, uint64_t hash)
{
    struct explore *x = d->x;
    struct sim_step steps[STEPS_MAX];
    struct level *l = level_at(d, d->depth);
    if (!l)
        return false;
    unsigned n = 1;
    if (d->depth)
        n = steps_list(x, steps);
    else
        steps[0] = (struct sim_step){.kind = SIM_STEP_BEGIN};
    if (n > l->room) {
        struct sim_step *more = realloc(l->steps, n * sizeof(*more));
        if (!more) {
            x->no_memory = true;
            return false;
        }
        l->steps = more;
        l->room = n;
    }
    if (n)
        memcpy(l->steps, steps, n * sizeof(*steps));
    l->n = n;
    l->next = 0;
    l->trail_n = 0;
    l->hash = hash;
    d->on_way[hash % ON_WAY]++;
    if (n > 1 || (n && x->chooses))
        image_save(x, &l->image);
    if (!n) {
        x->ask->runs++;
        judge(x);
        uint64_t outcome = memory_outcome(x);
        if (!x->violated && seen_add(x, &d->outcomes, outcome)) {
            x->ask->outcomes++;
            x->ask->outcomes_sum += hash2(outcome, 1);
        }
    }
    d->depth++;
    if (d->depth > x->ask->depth)
        x->ask->depth = d->depth;
    return true;
}

static bool time_is_over(const struct search *d)
{
    return d->x->ask->seconds_max > 0 && baton_clock_s(CLOCK_MONOTONIC) > d->end;
}

static bool at_bound(struct search *d)
{
    struct sim_explore *ask = d->x->ask;
    const char *bound = NULL;
    char text[64];
    if (ask->states_max && ask->states > ask->states_max)
        bound = "states";
    else if (ask->runs_max && ask->runs > ask->runs_max)
        bound = "runs";
    else if (!(ask->transitions & 255) && time_is_over(d))
        bound = "time";
    if (!bound)
        return false;
    snprintf(text, sizeof(text), "the bound on %s was reached", bound);
    snprintf(ask->text, sizeof(ask->text), "%s", text);
    ask->verdict = SIM_UNKNOWN;
    d->stopped = true;
    return true;
}

/* The next way to take the step, with other choices; false: there is none. */
static bool next_choice(const struct choices *c, struct sim_step *step)
{
    unsigned n = c->n;
    while (n && c->choice[n - 1] + 1u >= c->of[n - 1])
        n--;
    if (!n)
        return false;
    memcpy(step->choice, c->choice, n);
    step->choice[n - 1]++;
    step->choices_n = (uint8_t)n;
    return true;
}

static int keep_way(struct search *d)
{
    struct sim_explore *ask = d->x->ask;
    free(ask->found);
    ask->found_n = ask->found_visible = 0;
    size_t n = 0;
    for (size_t i = 0; i < d->depth; i++)
        n += d->levels[i].trail_n;
    ask->found = calloc(n + 1, sizeof(*ask->found));
    if (!ask->found)
        return -ENOMEM;
    for (size_t i = 0; i < d->depth; i++)
        for (size_t k = 0; k < d->levels[i].trail_n; k++) {
            ask->found[ask->found_n++] = d->levels[i].trail[k];
            ask->found_visible += d->levels[i].trail[k].quiet == SIM_QUIET_NOT;
        }
    return 0;
}

/*
 * Takes the way that was found once more, with everything that was taken at once as a step like others, and
 * nothing else. If that shows the violation again, it is one, whatever was relied on: a state of the observers
 * that comes from their events alone, as late as they were, is right only if the rest was.
 */
static void confirm(struct search *d)
{
    struct explore *x = d->x;
    struct sim_explore *ask = x->ask;
    char text[sizeof(ask->text)];
    memcpy(text, ask->text, sizeof(text));
    const bool self_check = ask->self_check;
    begin_again(x);
    ask->follow = true;
    ask->self_check = false; /* it gives way more often now, so stacks differ */
    for (size_t i = 0; i < ask->found_n && !x->violated; i++) {
        struct sim_step *step = &ask->found[i];
        ask->found_visible += step->quiet == SIM_QUIET_FUTURE;
        step->quiet = step->quiet == SIM_QUIET_OWN ? SIM_QUIET_OWN : SIM_QUIET_NOT;
        step_take(x, step);
    }
    struct sim_step steps[STEPS_MAX];
    if (!x->violated && !steps_list(x, steps))
        judge(x);
    ask->follow = false;
    ask->self_check = self_check;
    if (!x->violated)
        memcpy(ask->text, text, sizeof(text));
}

/* A body that is no function of what it is told: no way through it means anything. */
static bool is_not_itself(const struct explore *x)
{
    return x->violated && !strncmp(x->ask->text, "self-check", 10);
}

/* At most so many ways are looked at again. */
#define SUSPECTS 64u

/* False: it may be one, and will be if what was relied on holds to the end. */
static bool is_violation(struct search *d)
{
    struct explore *x = d->x;
    struct sim_explore *ask = x->ask;
    struct sim_step *first = ask->found;
    size_t first_n = ask->found_n, first_visible = ask->found_visible;
    if (d->suspects >= SUSPECTS) {
        x->violated = false;
        return false;
    }
    ask->found = NULL;
    if (keep_way(d)) {
        x->no_memory = true;
        ask->found = first;
        return false;
    }
    if (!x->futures || is_not_itself(x)) {
        free(first);
        return true;
    }
    struct sim_step *found = ask->found;
    size_t bytes = ask->found_n * sizeof(*found);
    struct sim_step *before = malloc(bytes + 1);
    if (!before) {
        x->no_memory = true;
        return false;
    }
    memcpy(before, found, bytes);
    size_t visible = ask->found_visible;
    confirm(d);
    if (x->violated) {
        free(first);
        free(before);
        return true;
    }
    memcpy(found, before, bytes);
    ask->found_visible = visible;
    free(before);
    if (d->suspects++) {
        free(found);
        ask->found = first;
        ask->found_n = first_n;
        ask->found_visible = first_visible;
    } else {
        free(first);
        memcpy(d->text, ask->text, sizeof(d->text));
    }
    ask->text[0] = 0;
    return false;
}

static bool over(const struct explore *x)
{
    return x->violated || x->stale || x->too_many || x->no_memory;
}

/* All that lies behind the step that was taken last on this level is done. */
static void next_step(struct level *l)
{
    if (!next_choice(&l->choices, &l->steps[l->next]))
        l->next++;
}

/* The deepest level, and the world in its state, which it is in already when `here`. One without a step left ends
 * instead, and null is returned. */
static struct level *top(struct search *d, bool here)
{
    struct level *l = &d->levels[d->depth - 1];
    if (l->next < l->n) {
        if (!here)
            image_restore(d->x, &l->image);
        return l;
    }
    image_drop(d->x, &l->image);
    d->on_way[l->hash % ON_WAY]--;
    if (--d->depth)
        next_step(l - 1);
    return NULL;
}

/* The record of the step becomes the level's. */
static void keep_trail(struct explore *x, struct level *l)
{
    struct sim_step *steps = l->trail;
    size_t room = l->trail_room;
    l->trail = x->record;
    l->trail_n = x->record_n;
    l->trail_room = x->record_room;
    x->record = steps;
    x->record_room = room;
    x->record_n = 0;
}

/* What was learned too late is used too late; some of the rest is worth learning before all begins again. */
static bool too_late(const struct explore *x, uint64_t *since)
{
    if (!x->behind)
        return false;
    if (!*since)
        *since = x->ask->states + 1;
    return x->ask->states > 2 * *since + 1000;
}

static uint64_t checked_hash(struct explore *x)
{
    uint64_t hash = explore_hash(x);
    if (x->ask->self_check)
        state_check(x, hash);
    return hash;
}

static void depth_first(struct search *d)
{
    struct explore *x = d->x;
    struct sim_explore *ask = x->ask;
    uint64_t since = 0;
    x->recording = true;
    find_places(x);
    d->suspects = 0;
    d->endless = false;
    memset(d->on_way, 0, sizeof(d->on_way));
    bool here = push(d, 0); /* the world is in the state of the top level */
    while (d->depth && !over(x) && !at_bound(d) && !too_late(x, &since)) {
        struct level *l = top(d, here);
        here = false;
        if (!l)
            continue;
        x->record_n = 0;
        step_take(x, &l->steps[l->next]);
        l->choices = x->choices;
        ask->transitions++;
        if (x->violated) {
            keep_trail(x, l);
            if (is_violation(d))
                break;
            next_step(l);
            continue;
        }
        if (over(x))
            break;
        uint64_t hash = checked_hash(x);
        if (seen_add(x, &d->seen, hash)) {
            ask->states++;
            keep_trail(x, l);
            here = push(d, hash);
            if (x->violated) {
                here = false;
                if (is_violation(d))
                    break;
            }
        } else {
            ask->runs++;
            d->endless |= leads_back(d, hash, &l->steps[l->next]);
            next_step(l);
        }
    }
    x->recording = false;
    if (d->suspects && !over(x) && !x->behind && !d->stopped) {
        memcpy(ask->text, d->text, sizeof(ask->text));
        x->violated = true;
    }
}

/* ---- Breadth first: fewest steps. A state is kept as the way to it, which is taken again. */

struct node {
    uint32_t parent;
    struct sim_step step;
};

#define NODES_MAX (1u << 24)
#define SHORTEST_SECONDS 20

static void way_to(struct explore *x, const struct node *nodes, uint32_t at)
{
    uint32_t way[4096];
    unsigned n = 0;
    for (; at; at = nodes[at].parent)
        if (n < 4096)
            way[n++] = at;
    begin_again(x);
    while (n && !over(x))
        step_take(x, &nodes[way[--n]].step);
}

static int keep_nodes(struct sim_explore *ask, const struct node *nodes, uint32_t at)
{
    size_t n = 0;
    for (uint32_t i = at; i; i = nodes[i].parent)
        n++;
    struct sim_step *found = calloc(n + 1, sizeof(*found));
    if (!found)
        return -ENOMEM;
    ask->found_n = n;
    for (uint32_t i = at; i; i = nodes[i].parent)
        found[--n] = nodes[i].step;
    free(ask->found);
    ask->found = found;
    return 0;
}

/* Finds a violation with fewest steps, if there is one within the time. False: it was not found. */
static bool breadth_first(struct explore *x, double end)
{
    struct sim_step steps[STEPS_MAX];
    struct seen seen = {0};
    struct image image = {0};
    size_t room = 1024;
    uint32_t n = 1;
    struct node *nodes = calloc(room, sizeof(*nodes));
    bool found = false;
    if (!nodes || !seen_make(&seen, SEEN_SMALLEST))
        goto out;
    for (uint32_t at = 0; at < n && !found && baton_clock_s(CLOCK_MONOTONIC) < end; at++) {
        unsigned count = 1;
        way_to(x, nodes, at);
        steps[0] = (struct sim_step){.kind = SIM_STEP_BEGIN};
        if (at)
            count = steps_list(x, steps);
        if (!count) {
            judge(x);
            found = x->violated && !keep_nodes(x->ask, nodes, at);
        }
        image_save(x, &image);
        for (unsigned i = 0; i < count && !found; i++) {
            struct choices choices;
            do {
                image_restore(x, &image);
                step_take(x, &steps[i]);
                choices = x->choices;
                if (x->stale || x->too_many || x->no_memory || n == NODES_MAX)
                    goto out;
                if (!x->violated && !seen_add(x, &seen, explore_hash(x)))
                    continue;
                if (n == room) {
                    struct node *more = realloc(nodes, 2 * room * sizeof(*nodes));
                    if (!more)
                        goto out;
                    nodes = more;
                    room *= 2;
                }
                nodes[n] = (struct node){at, steps[i]};
                if (x->violated) {
                    found = !keep_nodes(x->ask, nodes, n);
                    break;
                }
                n++;
            } while (next_choice(&choices, &steps[i]));
        }
    }
out:
    free(nodes);
    images_free(x, &image);
    seen_free(&seen);
    return found;
}

/* Takes the way that was found once more, and writes all of its steps down. */
static int expand(struct explore *x)
{
    struct sim_explore *ask = x->ask;
    begin_again(x);
    x->recording = true;
    x->record_n = 0;
    for (size_t i = 0; i < ask->found_n && !over(x); i++)
        step_take(x, &ask->found[i]);
    x->recording = false;
    if (x->no_memory)
        return -ENOMEM;
    free(ask->found);
    ask->found_visible = ask->found_n;
    ask->found = x->record;
    ask->found_n = x->record_n;
    x->record = NULL;
    x->record_room = x->record_n = 0;
    x->violated = true;
    return 0;
}

/* ---- One run by a schedule */

static bool same_step(const struct sim_step *a, const struct sim_step *b)
{
    return a->kind == b->kind && a->thread == b->thread &&
           (a->kind != SIM_STEP_NIC ||
            (a->at == b->at && a->step == b->step && a->node == b->node));
}

static void follow(struct explore *x)
{
    struct sim_explore *ask = x->ask;
    struct sim_step steps[STEPS_MAX];
    unsigned n = 1;
    steps[0] = (struct sim_step){.kind = SIM_STEP_BEGIN};
    x->telling = true;
    for (size_t i = 0; i < ask->steps_n && !over(x); i++) {
        unsigned k = 0;
        while (k < n && !same_step(&steps[k], &ask->steps[i]))
            k++;
        if (k == n) {
            snprintf(ask->text, sizeof(ask->text),
                     "step %zu of the schedule is not possible: it belongs to another program",
                     i + 1);
            ask->verdict = SIM_UNKNOWN;
            break;
        }
        step_take(x, &ask->steps[i]);
        ask->transitions++;
        n = over(x) ? 0 : steps_list(x, steps);
    }
    if (!over(x) && !n) {
        judge(x);
        if (x->violated)
            tell_blocked(x);
    }
    if (x->too_many)
        ask->verdict = SIM_UNKNOWN;
    ask->runs = 1;
    x->telling = false;
}

/* ---- A whole exploration */

/* Some runs at random, to find out how words are used before anything relies on it. */
#define LOOKS 64
/* And what threads may still do from where they are: as long as there is something new, and at most so many. */
#define LOOKS_FAR 4096
#define LOOK_STEPS 20000u /* of one of them, which need not end */

static void begin_pass(struct explore *x)
{
    begin_again(x);
    for (unsigned w = 0; w < x->words_n; w++)
        x->words[w].relied = false;
    x->behind = false;
}

static void run_at_random(struct search *d, struct baton_random *random)
{
    struct explore *x = d->x;
    struct sim_step steps[STEPS_MAX];
    unsigned n = 1;
    steps[0] = (struct sim_step){.kind = SIM_STEP_BEGIN};
    find_places(x);
    for (unsigned i = 0; n && i < LOOK_STEPS && !x->violated && !x->too_many && !x->no_memory;
         i++) {
        if ((i & 255) == 255 && time_is_over(d))
            break;
        step_take(x, &steps[baton_random_below(random, n)]);
        find_places(x);
        n = steps_list(x, steps);
    }
}

static void look_around(struct search *d)
{
    struct explore *x = d->x;
    struct baton_random random;
    baton_random_init(&random, 1);
    for (unsigned i = 0; i < LOOKS && !x->too_many && !x->no_memory && !time_is_over(d); i++) {
        begin_pass(x);
        run_at_random(d, &random);
    }
}

/* The same for the future of places; false: words are used otherwise than was relied on. */
static bool look_far(struct search *d)
{
    struct explore *x = d->x;
    struct baton_random random;
    baton_random_init(&random, 2);
    names_clear(x);
    futures_clear(x);
    x->learning = true;
    begin_pass(x);
    for (unsigned i = 0, news = 0; i < LOOKS_FAR && i < news + LOOKS && !time_is_over(d); i++) {
        uint64_t before = x->learned;
        run_at_random(d, &random);
        if (x->stale || x->too_many || x->no_memory || is_not_itself(x))
            break;
        news = x->learned != before ? i : news;
        begin_again(x);
    }
    x->learning = false;
    return !x->stale || is_not_itself(x);
}

/*
 * A pass learns slowly: depth first, it sees many states that differ little, and what it learns too late costs a
 * pass. So before the next one there is a search that goes on only from states in which two threads are as they
 * have not been seen together yet, in an order that is another one each time. What it relies on may be wrong, and
 * nothing is concluded from what it finds.
 */
#define TOGETHER_MOST 400000u /* steps */

static bool seen_together(struct explore *x, struct seen *pairs)
{
    bool any = false;
    (void)explore_hash(x);
    for (unsigned t = 0; t < x->threads; t++)
        for (unsigned u = 0; u < t; u++) {
            uint64_t pair = hash2(x->extra[t].hash[0], x->extra[u].hash[0]);
            any |= seen_add(x, pairs, hash2(pair, SIM_THREADS_MAX * t + u) | 1);
        }
    return any;
}

static void shuffle(struct baton_random *random, struct level *l)
{
    for (unsigned i = l->n; i > 1; i--) {
        unsigned k = (unsigned)baton_random_below(random, i);
        struct sim_step step = l->steps[k];
        l->steps[k] = l->steps[i - 1];
        l->steps[i - 1] = step;
    }
}

/* False: words are used otherwise than was relied on. */
static bool look_together(struct search *d)
{
    struct explore *x = d->x;
    struct baton_random random;
    struct seen pairs;
    unsigned n = 0;
    if (!seen_make(&pairs, SEEN_SMALLEST)) {
        x->no_memory = true;
        return true;
    }
    baton_random_init(&random, x->ask->passes);
    begin_pass(x);
    find_places(x);
    d->depth = 0;
    bool here = push(d, 0);
    while (d->depth && n < TOGETHER_MOST && !x->stale && !x->too_many && !x->no_memory) {
        struct level *l = top(d, here);
        here = false;
        if (!l)
            continue;
        step_take(x, &l->steps[l->next]);
        l->choices = x->choices;
        if (!x->violated && !x->stale && seen_together(x, &pairs) && push(d, 0)) {
            shuffle(&random, &d->levels[d->depth - 1]);
            here = !x->violated;
        } else {
            next_step(&d->levels[d->depth - 1]);
        }
        x->violated = false;
        if (!(++n & 255) && time_is_over(d))
            break;
    }
    while (d->depth)
        image_drop(x, &d->levels[--d->depth].image);
    seen_free(&pairs);
    return !x->stale;
}

static int search(struct explore *x)
{
    struct sim_explore *ask = x->ask;
    struct search d = {.x = x, .end = baton_clock_s(CLOCK_MONOTONIC) + ask->seconds_max};
    char text[sizeof(ask->text)];
    int rc = 0;
    look_around(&d);
    bool known = false;
    x->futures = !ask->digests && !ask->naive && ask->context_bound < 0 && !ask->no_future &&
                 (!ask->ghost_bytes || ask->inside);
    do {
        ask->passes++;
        begin_pass(x);
        if (known && x->futures) {
            known = look_together(&d);
            begin_pass(x);
        }
        if (!known) {
            while (x->futures && !look_far(&d))
                continue;
            if (is_not_itself(x))
                break;
            if (!x->futures)
                names_clear(x);
            begin_pass(x);
        }
        ask->states = ask->transitions = ask->runs = ask->terminals = ask->depth = 0;
        ask->outcomes = ask->outcomes_sum = 0;
        ask->verdict = SIM_VERIFIED;
        ask->text[0] = x->too_many ? ask->text[0] : 0;
        futures_forget_relied(x);
        if (ask->self_check)
            stacks_begin(x);
        ask->checked = 0;
        seen_free(&d.seen);
        seen_free(&d.outcomes);
        d.depth = 0;
        if (!seen_make(&d.seen, SEEN_SMALLEST) || !seen_make(&d.outcomes, SEEN_SMALLEST))
            x->no_memory = true;
        else
            depth_first(&d);
        known = !x->stale;
    } while ((x->stale || x->behind) && !x->violated && !x->too_many && !x->no_memory &&
             !d.stopped);
    x->futures = false;

    ask->memory = (d.seen.mask + 1) * sizeof(*d.seen.slot) + x->kept_bytes;
    for (size_t i = 0; i < d.room; i++)
        ask->memory += d.levels[i].image.shared.room;
    if (x->violated) {
        if (ask->shortest) {
            memcpy(text, ask->text, sizeof(text));
            seen_free(&d.seen);
            if (breadth_first(x, baton_clock_s(CLOCK_MONOTONIC) + SHORTEST_SECONDS)) {
                memcpy(text, ask->text, sizeof(text));
                rc = expand(x);
            }
            memcpy(ask->text, text, sizeof(text));
        }
        ask->verdict = SIM_VIOLATED;
    } else if (x->too_many) {
        ask->verdict = SIM_UNKNOWN;
    } else if (ask->verdict == SIM_UNKNOWN && !d.stopped) {
        snprintf(ask->text, sizeof(ask->text), "the bound on preemptions was reached");
    } else if (d.endless && !d.stopped) {
        snprintf(ask->text, sizeof(ask->text),
                 "not every run ends: somebody goes round and round, or waits neither in "
                 "baton_await nor in baton_relax");
        ask->verdict = SIM_UNKNOWN;
    }
    seen_free(&d.seen);
    seen_free(&d.outcomes);
    for (size_t i = 0; i < d.room; i++) {
        images_free(x, &d.levels[i].image);
        free(d.levels[i].steps);
        free(d.levels[i].trail);
    }
    free(d.levels);
    return x->no_memory ? -ENOMEM : rc;
}

/* The endpoints of threads that were left in the middle, and what they have under way. */
static void abandon(struct explore *x)
{
    struct sim *s = x->s;
    s->busy_n = 0;
    for (unsigned t = 0; t < x->threads; t++) {
        struct sim_thread *thread = s->threads[t];
        if (!thread->ep)
            continue;
        struct baton_epx *ep = baton_epx(thread->ep);
        struct sim_ep *e = ep->world.state;
        for (unsigned n = 0; n < x->nodes; n++) {
            struct sim_qp *q = sim_qp_known(e, n);
            if (q)
                q->nic.n = 0;
        }
        e->busy = 0;
        ep->pending = 0;
        ep->chain_n = 0;
        (void)baton_ep_close(thread->ep);
    }
    for (unsigned n = 0; n < x->nodes; n++) {
        s->units[n] = 0;
        s->unit_words[n] = NULL;
    }
    forget_reports(s);
}

static void forget_images(struct explore *x)
{
    images_free(x, &x->start);
    for (unsigned t = 0; t < SIM_THREADS_MAX; t++) {
        if (x->live[t] && !--x->live[t]->uses) {
            x->live[t]->next = x->free_kept;
            x->free_kept = x->live[t];
        }
        x->live[t] = NULL;
    }
    while (x->free_kept) {
        struct kept *k = x->free_kept;
        x->free_kept = k->next;
        free(k->bytes.at);
        free(k);
    }
    x->kept_bytes = 0;
}

/* Threads on one node have their private memory of the library there, too. */
static void ranges_find(struct explore *x)
{
    const struct sim_explore *ask = x->ask;
    x->ranges_n = 0;
    for (unsigned i = 0; i < ask->ranges_n && i < 3 * SIM_THREADS_MAX; i++)
        x->ranges[x->ranges_n++] = ask->ranges[i];
    for (unsigned t = 0; t < x->threads; t++) {
        struct sim_thread *thread = x->s->threads[t];
        struct baton_epx *ep = baton_epx(thread->ep);
        x->ranges[x->ranges_n++] = (struct sim_range){t, baton_addr(ep->nodep, ep->scratch), 64};
    }
}

/* Bodies run to their first act; what they allocate before that is theirs for the whole exploration. */
static int start(struct explore *x)
{
    struct sim *s = x->s;
    x->starting = true;
    for (unsigned t = 0; t < x->threads; t++) {
        for (unsigned p = 0; p < PERMUTATIONS_MAX; p++)
            x->extra[t].digest[p] = 1;
        x->armed[t] = 0;
        touch(x, t);
        x->extra[t].relaxes = false;
        x->extra[t].name = 0;
        sim_resume(s, s->threads[t]);
        if (!s->threads[t]->ep)
            return s->threads[t]->rc ? s->threads[t]->rc : -ENOMEM;
        thread_ended(x, s->threads[t]);
    }
    x->starting = false;
    ranges_find(x);
    int rc = regions_find(x);
    words_rename(x);
    if (!rc && !x->ask->follow)
        image_save(x, &x->start);
    return rc;
}

/* What is wrong before the first act of all is wrong in every run. */
static int found_at_start(struct sim_explore *ask)
{
    if (ask->follow)
        return 0;
    ask->found = calloc(1, sizeof(*ask->found));
    if (!ask->found)
        return -ENOMEM;
    *ask->found = (struct sim_step){.kind = SIM_STEP_BEGIN};
    ask->found_n = ask->found_visible = 1;
    return 0;
}

static int prepare(struct explore *x)
{
    struct sim *s = x->s;
    char *from, *top;
    x->threads = (unsigned)s->threads_n;
    x->nodes = s->cluster->nodes;
    x->words_n = x->regions_n = x->ids_n = 0;
    x->violated = x->stale = x->too_many = x->no_memory = x->chooses = false;
    x->futures = x->behind = x->unguarded = false;
    memset(x->ids_known, 0, sizeof(x->ids_known));
    memset(x->memory_hash, 0, sizeof(x->memory_hash));
    if (x->index)
        memset(x->index, 0, ((size_t)x->index_mask + 1) * sizeof(*x->index));
    x->ids_known[0] = 1;
    x->ids[x->ids_n++] = 0;
    x->last = -1;
    x->preemptions = 0;
    if (!x->ask->follow && x->threads && baton_coro_stack(s->threads[0]->coro, &from, &top))
        return baton_fail(-ENOSYS,
                          "this build can not go back to an earlier state of a thread: only "
                          "schedules can be followed");
    if (x->ask->self_check)
        stacks_begin(x);
    return x->no_memory ? -ENOMEM : permutations_find(x);
}

int explore_run(struct sim *s)
{
    struct explore *x = explore_of(s);
    struct sim_explore *ask = x->ask;
    double begin = baton_clock_s(CLOCK_MONOTONIC);
    if (s->threads_n > SIM_THREADS_MAX)
        return baton_fail(-EINVAL, "%zu threads: at most %u can be explored", s->threads_n,
                          SIM_THREADS_MAX);
    ask->verdict = SIM_VERIFIED;
    ask->text[0] = 0;
    ask->passes = ask->states = ask->transitions = ask->runs = ask->terminals = ask->depth = 0;
    ask->checked = 0;
    int rc = prepare(x);
    if (!rc)
        rc = start(x);
    if (!rc && x->violated)
        rc = found_at_start(ask);
    else if (!rc && ask->follow)
        follow(x);
    else if (!rc)
        rc = search(x);
    if (!rc && x->violated)
        ask->verdict = SIM_VIOLATED;
    ask->words = x->words_n;
    ask->permutations = x->permutations;
    ask->seconds = baton_clock_s(CLOCK_MONOTONIC) - begin;
    abandon(x);
    forget_images(x);
    for (size_t i = 0; i < s->threads_n; i++)
        s->threads[i]->rc = 0;
    x->threads = 0;
    names_clear(x);
    futures_clear(x);
    own_words_free(x);
    free(x->node_to);
    x->node_to = NULL;
    free(x->stacks);
    x->stacks = NULL;
    if (!rc && ask->verdict == SIM_VIOLATED)
        rc = baton_fail(-EPROTO, "%s", ask->text);
    return rc;
}

int explore_open(struct sim *s, const char *options)
{
    struct explore *x = calloc(1, sizeof(*x));
    if (!x)
        return -ENOMEM;
    x->s = s;
    x->standard.context_bound = -1;
    x->ask = &x->standard;
    s->driver_state = x;
    s->immediate_ack = true;
    return 0;
}

void explore_close(struct sim *s)
{
    struct explore *x = explore_of(s);
    free(x->standard.found);
    free(x->record);
    free(x->words);
    free(x->values);
    free(x->index);
    free(x);
}

int sim_explore_attach(struct baton_cluster *cluster, struct sim_explore *ask)
{
    struct sim *s = cluster->ops == &baton_world_sim ? cluster->world : NULL;
    if (!s || s->driver != &sim_driver_exhaustive)
        return baton_fail(-EINVAL, "the cluster was not opened with driver=exhaustive");
    explore_of(s)->ask = ask;
    return 0;
}
