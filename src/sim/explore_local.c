/* SPDX-License-Identifier: MIT */
/*
 * What a thread knows, and that it has forgotten.
 *
 * A digest is a hash of all that the contract has told a thread. It says where the body is, because a body is
 * a function of that; but it remembers what the body has forgotten, so that two histories that lead to the
 * same place stay two states: every turn of a polling loop is a new one.
 *
 * So a digest has a name, and digests get the same name when they are seen to lead to the same place: when all
 * that the body goes on from, its stack, the memory that it writes by hand and what its endpoint still owes, is
 * the same byte by byte. From there on the digest is that of the name. Dead places of a stack that differ only
 * keep names apart that could be one. Names are shared by the threads of a class: a digest of one is looked
 * up as the digest that the first of the class would have, had it been in its place.
 *
 * That joins places too, by the digests that they have in common, so a digest must have one place. It has,
 * together with what the endpoint owes (a put is accepted without telling the thread) and whether the body has
 * ended, if it also holds where a value has landed (word_lands). For the same reason the digest of a name holds
 * what the endpoint owes there.
 *
 * The self-check looks whether two histories with the same digest ever leave different stacks: then the body
 * knows something that the contract did not tell it, and neither going back nor following a schedule would be
 * right. And whether a state that has been seen has the same stacks and the same memory, byte by byte. It does
 * not believe what bodies say of what they know (sim_explore_knows), but follows it beside the digest: who knows
 * the same by what was said, and is told the same, must write and post the same, stop at the same, and say the
 * same again.
 */
#include "sim/explore_inner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static uint64_t stack_hash(const struct sim_thread *t)
{
    char *from, *top;
    if (baton_coro_stack(t->coro, &from, &top))
        return 0;
    const uint64_t *word = (uint64_t *)from, *end = (uint64_t *)top;
    /* Four chains, because each link of one waits for the multiplication before it. */
    uint64_t a = (uint64_t)(top - from), b = 1, c = 2, d = 3;
    for (; end - word >= 4; word += 4) {
        a = hash2(a, word[0]);
        b = hash2(b, word[1]);
        c = hash2(c, word[2]);
        d = hash2(d, word[3]);
    }
    for (; word < end; word++)
        a = hash2(a, *word);
    return hash2(hash2(a, b), hash2(c, d));
}

/* ---- Memory that threads write by hand */

uint8_t own_memory(struct explore *x, const uint64_t *at)
{
    uint8_t mask = 0;
    for (unsigned t = 0; t < x->threads; t++) {
        struct baton_node *node = x->s->cluster->local[x->s->threads[t]->team->node];
        baton_gptr address = baton_addr(node, at);
        if (!address)
            continue;
        if (!x->ask->ranges_n &&
            (size_t)((const char *)at - node->segments[0].memory) < baton_arena_extent(node))
            mask |= (uint8_t)(1u << t);
        for (unsigned i = 0; i < x->ranges_n; i++)
            if (x->ranges[i].thread == t && address - x->ranges[i].base < x->ranges[i].bytes)
                mask |= (uint8_t)(1u << t);
    }
    return mask;
}

static void own_words_add(struct explore *x, unsigned t, const uint64_t *from, size_t bytes)
{
    struct own_words *own = &x->own_words[t];
    for (const uint64_t *word = from; word < from + bytes / 8; word++) {
        /* What others may look at is part of memory, not of what the thread knows. */
        const struct word *w = word_find(x, word);
        if (w && w->uses & ~(USE_LAND | USE_SOURCE))
            continue;
        if (own->n == own->room) {
            unsigned room = 2 * own->room + 64;
            const uint64_t **more = realloc(own->at, room * sizeof(*more));
            if (!more) {
                x->no_memory = true;
                return;
            }
            own->at = more;
            own->room = room;
        }
        own->at[own->n++] = word;
    }
}

static void own_words_find(struct explore *x)
{
    x->uses_changed = false;
    for (unsigned t = 0; t < x->threads; t++) {
        struct baton_node *node = x->s->cluster->local[x->s->threads[t]->team->node];
        x->own_words[t].n = 0;
        if (!x->ask->ranges_n)
            own_words_add(x, t, (uint64_t *)node->segments[0].memory, baton_arena_extent(node));
    }
    for (unsigned i = 0; i < x->ranges_n && x->ask->ranges_n; i++) {
        const struct sim_range *r = &x->ranges[i];
        void *at;
        if (!baton_ptr(x->s->cluster->local[x->s->threads[r->thread]->team->node], r->base,
                       r->bytes, &at))
            own_words_add(x, r->thread, at, r->bytes);
    }
}

void own_words_free(struct explore *x)
{
    for (unsigned t = 0; t < SIM_THREADS_MAX; t++) {
        free(x->own_words[t].at);
        x->own_words[t] = (struct own_words){0};
    }
}

static uint64_t hash_own_memory(struct explore *x, const struct sim_thread *t)
{
    if (x->uses_changed)
        own_words_find(x);
    const struct own_words *own = &x->own_words[t->number];
    uint64_t h = own->n;
    for (unsigned i = 0; i < own->n; i++)
        if (*own->at[i])
            h = hash2(h, *own->at[i] + (uint64_t)i * 0x9fb21c651e98df25u);
    return h;
}

/* ---- The endpoint */

/* What it knows of its work and still can make a difference, whatever its numbers have grown to. */
uint64_t ep_knows(struct explore *x, const struct baton_epx *ep, unsigned p)
{
    uint64_t sum = 0;
    for (unsigned n = 0; n < ep->nodes; n++) {
        const struct baton_epx_peer *peer = baton_epx_peer(ep, n);
        const struct baton_ep_peer *known = &peer->pub;
        bool owes = known->written > known->settled;
        uint64_t h = (uint64_t)peer->pending << 48 | (uint64_t)known->fetches << 16 |
                     (uint64_t)peer->flags << 8 | (owes && peer->fence >= known->written) << 3 |
                     owes << 2 | (peer->broken != 0) << 1 | (peer->rc != 0);
        if (peer->loose)
            h = hash2(h, (peer->gen - peer->loose_gen) << 32 | peer->loose);
        if (h)
            sum += hash2(h, x->node_to[p * x->nodes + n]);
    }
    for (unsigned i = 0; i < x->ids_n; i++) {
        const struct baton_epx_id *id = &ep->ids[x->ids[i]];
        if (!id->pending && !id->open && !id->fetches && !id->rc)
            continue;
        const struct baton_epx_peer *peer = baton_epx_peer(ep, id->node);
        const struct baton_ep_peer *known = &peer->pub;
        uint64_t proof = id->pending && id->proof ? peer->seq - id->proof : 0;
        uint64_t h = hash2((uint64_t)id->pending << 32 | id->open,
                           (uint64_t)id->fetches << 32 | (uint64_t)id->mixed << 2 |
                               (id->proof >= known->written) << 1 | (id->rc != 0));
        if (id->fetches)
            h += peer->gen - id->gen;
        sum +=
            hash2(hash2(h, proof), (uint64_t)x->ids[i] << 32 | x->node_to[p * x->nodes + id->node]);
    }
    /* Posted and not rung. */
    for (unsigned i = 0; i < ep->chain_n; i++) {
        const struct baton_op *op = &ep->chain[i];
        uint64_t h = hash2(word_map(x, p, op->remote),
                           (uint64_t)op->id << 16 | (uint64_t)op->flags << 8 | op->kind);
        h = hash2(h, word_map(x, p, op->value));
        h = hash2(h, word_map(x, p, op->expected));
        sum = hash2(hash2(sum, h), (uintptr_t)op->local);
    }
    return sum;
}

/* ---- Stacks */

void stack_clean(struct sim_thread *t)
{
    /* What is left of earlier calls must not look like a difference. */
    char *from, *top;
    if (!baton_coro_stack(t->coro, &from, &top)) {
        size_t below = SIM_STACK_BYTES - (size_t)(top - from);
        size_t clean = below < 2048 ? below : 2048;
        memset(from - clean, 0, clean);
    }
}

#define STACKS (1u << 24)

/* New memory is zeroed when it is used; clearing what there is would take longer than most checks. */
void stacks_begin(struct explore *x)
{
    free(x->stacks);
    x->stacks = calloc(2 * STACKS, sizeof(*x->stacks));
    x->stacks_mask = STACKS - 1;
    x->stacks_n = 0;
    x->no_memory |= !x->stacks;
}

/* Whether what belongs to the key is what belonged to it before. */
static bool same_as_before(struct explore *x, uint64_t key, uint64_t value)
{
    if (!x->stacks)
        return true; /* no memory: the search ends */
    value |= 1;
    x->ask->checked++;
    for (size_t i = key & x->stacks_mask;; i = (i + 1) & x->stacks_mask) {
        uint64_t *pair = &x->stacks[2 * i];
        if (!pair[1]) {
            if (x->stacks_n++ > x->stacks_mask / 2) {
                explore_give_up(x, "the self-check's table is full");
                return true;
            }
            pair[0] = key;
            pair[1] = value;
            return true;
        }
        if (pair[0] == key)
            return pair[1] == value;
    }
}

void stack_check(struct explore *x, struct sim_thread *t)
{
    if (t->state == SIM_ENDED)
        return;
    uint64_t key = hash2(x->extra[t->number].digest[0], ep_knows(x, baton_epx(t->ep), 0));
    if (!same_as_before(x, hash2(key, t->number), stack_hash(t)))
        explore_violated(x,
                         "self-check: thread %u has been told the same and its stack is "
                         "another: it knows something that the contract did not tell it",
                         t->number);
}

struct said said_begin(struct explore *x, const struct sim_thread *t)
{
    struct thread_extra *extra = &x->extra[t->number];
    extra->told = extra->wrote = 0;
    return (struct said){extra->said, ep_knows(x, baton_epx(t->ep), 0), t->buffer_n};
}

/* What the thread has done since, and stands before now. */
static uint64_t deeds(struct explore *x, struct sim_thread *t, const struct said *before)
{
    uint64_t h = hash2(x->extra[t->number].wrote, (uint64_t)t->state);
    h = hash2(h, x->extra[t->number].said);
    /* Without chain order, proofs that are of no importance yet come to light as distances between numbers. */
    const struct baton_epx *ep = baton_epx(t->ep);
    if (ep->chain_order)
        h = hash2(h, ep_knows(x, ep, 0));
    for (unsigned i = 0; i < ep->chain_n; i++)
        h = hash2(hash2(h, ep->chain[i].remote), ep->chain[i].flags);
    if (t->state == SIM_READY)
        h = hash2(hash2(h, t->next.act), (uintptr_t)t->next.word);
    if (t->state == SIM_CONDS)
        h = hash2(h, t->conds_n);
    for (unsigned i = 0; t->state == SIM_CONDS && i < t->conds_n; i++)
        h = hash2(hash2(h, (uintptr_t)t->conds[i].word),
                  hash2(t->conds[i].mask, t->conds[i].value) + (t->conds[i].negate != 0));
    for (unsigned i = before->buffer_n; i < t->buffer_n; i++) {
        const struct sim_buffered *b = explore_buffered(t, i);
        h = hash2(hash2(h, (uintptr_t)b->word), b->word ? b->value : b->op.value);
        if (!b->word)
            h = hash2(hash2(h, b->op.remote), hash2((uintptr_t)b->op.local, b->op.expected));
    }
    return h;
}

void said_check(struct explore *x, struct sim_thread *t, const struct said *before)
{
    if (!x->recording)
        return; /* not all work ids are known yet */
    uint64_t key = hash2(hash2(before->said, x->extra[t->number].told), before->knows);
    if (!same_as_before(x, hash2(key, SIM_THREADS_MAX + 1 + t->number), deeds(x, t, before)))
        explore_violated(
            x,
            "self-check: thread %u goes on otherwise than before, and has said that it "
            "knows the same, and was told the same",
            t->number);
}

/* What somebody may still look at. */
static bool matters(const struct explore *x, const struct word *w)
{
    bool any = w->uses & ~(USE_LAND | USE_SOURCE);
    for (unsigned t = 0; t < x->threads && !any; t++)
        any = w->lands >> t & 1 && x->s->threads[t]->state != SIM_ENDED;
    return any;
}

/* What a thread that has ended has left in memory of its node, where another one's is, too, is of no importance. */
static bool has_left_things(const struct explore *x, const struct sim_thread *at)
{
    for (unsigned t = 0; t < x->threads && !x->ask->ranges_n; t++)
        if (x->s->threads[t]->state == SIM_ENDED && x->s->threads[t]->team->node == at->team->node)
            return true;
    return false;
}

void state_check(struct explore *x, uint64_t hash)
{
    uint64_t all = 0;
    for (unsigned t = 0; t < x->threads; t++) {
        const struct sim_thread *thread = x->s->threads[t];
        uint64_t own = has_left_things(x, thread) ? 0 : hash_own_memory(x, thread);
        if (thread->state != SIM_ENDED)
            all += hash2(hash2(stack_hash(thread), own), t);
    }
    for (unsigned i = 0; i < x->words_n; i++)
        if (matters(x, &x->words[i]))
            all += hash2(*x->words[i].at, i);
    if (!same_as_before(x, hash2(hash, SIM_THREADS_MAX), all))
        explore_violated(x, "self-check: two states are taken for one, and their stacks or their "
                            "memory are not the same");
}

/* ---- Names */

struct name_slot {
    uint64_t key;
    uint32_t name; /* plus one; 0: free */
};

static bool slots_grow(struct name_slot **slots, size_t *mask)
{
    size_t larger = *slots ? 2 * (*mask + 1) : 4096;
    struct name_slot *more = calloc(larger, sizeof(*more));
    if (!more)
        return false;
    for (size_t i = 0; *slots && i <= *mask; i++)
        if ((*slots)[i].name) {
            size_t at = (*slots)[i].key & (larger - 1);
            while (more[at].name)
                at = (at + 1) & (larger - 1);
            more[at] = (*slots)[i];
        }
    free(*slots);
    *slots = more;
    *mask = larger - 1;
    return true;
}

static struct name_slot *slot_find(struct name_slot *slots, size_t mask, uint64_t key)
{
    size_t at = key & mask;
    while (slots[at].name && slots[at].key != key)
        at = (at + 1) & mask;
    return &slots[at];
}

void names_clear(struct explore *x)
{
    struct names *n = &x->names;
    free(n->by_digest);
    free(n->by_place);
    free(n->digests);
    *n = (struct names){0};
}

static bool names_room(struct explore *x)
{
    struct names *n = &x->names;
    if (n->count == n->room) {
        size_t room = n->room ? 2 * n->room : 1024;
        uint64_t *more = realloc(n->digests, room * x->permutations * sizeof(*more));
        if (!more)
            return false;
        n->digests = more;
        n->room = room;
    }
    return (n->digests_n <= n->digest_mask / 2 && n->by_digest) ||
           slots_grow(&n->by_digest, &n->digest_mask);
}

static bool places_room(struct names *n)
{
    return (n->places_n <= n->place_mask / 2 && n->by_place) ||
           slots_grow(&n->by_place, &n->place_mask);
}

/* Where the body is: all that it goes on from. */
static uint64_t place_of(struct explore *x, const struct sim_thread *t, uint64_t knows)
{
    if (t->state == SIM_ENDED)
        return t->number + 1;
    uint64_t h = hash2(stack_hash(t), hash_own_memory(x, t));
    return hash2(hash2(h, knows), t->number);
}

uint32_t name_thread_state(struct explore *x, struct sim_thread *t, const uint64_t *knows)
{
    struct names *n = &x->names;
    uint64_t *digest = x->extra[t->number].digest;
    const uint8_t *as_first = x->as_first[t->number];
    if (!names_room(x) || !places_room(n)) {
        x->no_memory = true;
        return 0;
    }
    /* Permutation as_first[p] of the first of the class is permutation p of this one. */
    uint64_t key = 0;
    for (unsigned p = 0; p < x->permutations; p++)
        if (as_first[p] == 0)
            key = hash2(digest[p], knows[p]);
    key = hash2(hash2(key, x->first_of[t->number]), t->state == SIM_ENDED);
    struct name_slot *d = slot_find(n->by_digest, n->digest_mask, key);
    uint64_t place = place_of(x, t, knows[0]);
    struct name_slot *at = slot_find(n->by_place, n->place_mask, place);
    uint32_t name =
        d->name && at->name ? (d->name < at->name ? d->name : at->name) : d->name | at->name;
    if (!name) {
        for (unsigned p = 0; p < x->permutations; p++)
            n->digests[n->count * x->permutations + as_first[p]] =
                hash2(digest[p] + SIM_EXPLORE_BASE, knows[p] + SIM_EXPLORE_BASE);
        name = (uint32_t)++n->count;
    }
    n->digests_n += !d->name;
    n->places_n += !at->name;
    *d = (struct name_slot){key, name};
    *at = (struct name_slot){place, name};
    for (unsigned p = 0; p < x->permutations; p++)
        digest[p] = n->digests[(name - 1) * x->permutations + as_first[p]];
    return name;
}
