/* SPDX-License-Identifier: MIT */
/* The exhaustive driver's view of memory: who uses which word, what it adds to the hash, permutations. */
#include "sim/explore_inner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- Names of words and values under permutations */

static const struct sim_range *range_of(const struct explore *x, uint64_t at)
{
    for (unsigned i = 0; i < x->ranges_n; i++)
        if (at - x->ranges[i].base < x->ranges[i].bytes)
            return &x->ranges[i];
    return NULL;
}

/* The same place in the memory of another thread: ranges of a thread come in the same order for all. */
static uint64_t range_map(const struct explore *x, const struct sim_range *r, unsigned to,
                          uint64_t at)
{
    unsigned nth = 0;
    for (const struct sim_range *q = x->ranges; q < r; q++)
        nth += q->thread == r->thread;
    for (unsigned i = 0; i < x->ranges_n; i++)
        if (x->ranges[i].thread == to && !nth--)
            return x->ranges[i].base + (at - r->base);
    return at;
}

uint64_t word_map(const struct explore *x, unsigned p, uint64_t value)
{
    uint64_t offset = value & 0xffffffffffffu;
    unsigned node = (unsigned)(value >> 48);
    if (!p || node >= x->nodes || offset - SIM_EXPLORE_BASE >= UINT64_C(1) << 32)
        return value;
    unsigned other = x->node_to[p * x->nodes + node];
    if (other != node)
        return baton_gptr_make(other, offset);
    const struct sim_range *r = range_of(x, value);
    return r ? range_map(x, r, x->to[p][r->thread], value) : value;
}

static uint64_t address_of(struct explore *x, const uint64_t *at)
{
    for (unsigned n = 0; n < x->nodes; n++) {
        struct baton_node *node = x->s->cluster->local[n];
        baton_gptr address = node ? baton_addr(node, at) : BATON_NULL;
        if (address)
            return address;
    }
    return (uint64_t)(uintptr_t)at;
}

static void rename_word(struct explore *x, struct word *w)
{
    uint64_t address = address_of(x, w->at);
    for (unsigned p = 0; p < x->permutations; p++)
        w->name[p] = word_map(x, p, address);
}

void words_rename(struct explore *x)
{
    for (unsigned i = 0; i < x->words_n; i++) {
        rename_word(x, &x->words[i]);
        x->words[i].local = own_memory(x, x->words[i].at);
    }
}

/* ---- The table of words */

static uint32_t slot_of(const struct explore *x, const uint64_t *at)
{
    return (uint32_t)(((uint64_t)(uintptr_t)at >> 3) * 0x9e3779b97f4a7c15u >> 32) & x->index_mask;
}

static bool grow(struct explore *x)
{
    unsigned room = x->words_room ? 2 * x->words_room : 256;
    struct word *words = realloc(x->words, room * sizeof(*words));
    uint64_t *values = realloc(x->values, room * sizeof(*values));
    uint32_t *index = calloc(4 * room, sizeof(*index));
    if (words)
        x->words = words;
    if (values)
        x->values = values;
    if (!words || !values || !index) {
        free(index);
        x->no_memory = true;
        return false;
    }
    free(x->index);
    x->index = index;
    x->index_mask = 4 * room - 1;
    x->words_room = room;
    for (uint32_t i = 0; i < x->words_n; i++) {
        uint32_t slot = slot_of(x, x->words[i].at);
        while (x->index[slot])
            slot = (slot + 1) & x->index_mask;
        x->index[slot] = i + 1;
    }
    return true;
}

static bool is_kept(const struct explore *x, const uint64_t *at)
{
    for (unsigned i = 0; i < x->regions_n; i++)
        if ((size_t)((const char *)at - x->regions[i].at) < x->regions[i].bytes)
            return true;
    return false;
}

static struct word *find(struct explore *x, const uint64_t *at, uint32_t *slot)
{
    *slot = 0;
    if (!x->index)
        return NULL;
    for (*slot = slot_of(x, at); x->index[*slot]; *slot = (*slot + 1) & x->index_mask)
        if (x->words[x->index[*slot] - 1].at == at)
            return &x->words[x->index[*slot] - 1];
    return NULL;
}

struct word *word_find(struct explore *x, const uint64_t *at)
{
    uint32_t slot;
    return find(x, at, &slot);
}

struct word *word_of(struct explore *x, const uint64_t *at)
{
    uint32_t slot;
    struct word *known = find(x, at, &slot);
    if (known)
        return known;
    if (x->words_n == x->words_room) {
        if (!grow(x))
            return NULL;
        slot = slot_of(x, at);
        while (x->index[slot])
            slot = (slot + 1) & x->index_mask;
    }
    struct word *w = &x->words[x->words_n++];
    *w = (struct word){.at = (uint64_t *)(uintptr_t)at,
                       .initial = *at,
                       .kept = is_kept(x, at),
                       .local = own_memory(x, at)};
    x->values[x->words_n - 1] = *at;
    x->uses_changed = true;
    rename_word(x, w);
    x->index[slot] = x->words_n;
    return w;
}

/* ---- Use */

struct word *word_use(struct explore *x, const uint64_t *at, enum word_use use, unsigned thread)
{
    struct word *w = word_of(x, at);
    if (!w)
        return NULL;
    uint8_t uses = w->uses | (uint8_t)use, cpus = w->cpus, lands = w->lands;
    if (use & (USE_LOAD | USE_WRITE))
        cpus |= (uint8_t)(1u << thread);
    if (use & (USE_LAND | USE_SOURCE))
        lands |= (uint8_t)(1u << thread);
    if (uses != w->uses || cpus != w->cpus || lands != w->lands) {
        x->stale |= w->relied;
        x->uses_changed = true;
        w->uses = uses;
        w->cpus = cpus;
        w->lands = lands;
    }
    unsigned index = (unsigned)(w - x->words);
    future_use(x, thread, w, use);
    return &x->words[index];
}

/* What comes from one node comes in the order of the queue pair; from two nodes it comes in any. */
void word_lands_from(struct explore *x, struct word *w, unsigned node)
{
    if (!w || w->lands_apart)
        return;
    if (!w->lands_from) {
        w->lands_from = (uint16_t)(node + 1);
    } else if (w->lands_from != node + 1) {
        w->lands_apart = true;
        x->stale |= w->relied;
        x->uses_changed = true;
    }
}

static bool single(uint8_t mask)
{
    return !(mask & (mask - 1));
}

static bool quiet(const struct word *w, enum word_use use)
{
    const unsigned writes = USE_WRITE | USE_LAND | USE_REMOTE_WRITE;
    const unsigned nic = USE_LAND | USE_SOURCE | USE_REMOTE_READ | USE_REMOTE_WRITE;
    bool constant = !(w->uses & writes), one_cpu = !(w->uses & nic) && single(w->cpus);
    switch (use) {
    case USE_LOAD:
        return constant || one_cpu;
    case USE_WRITE:
        return one_cpu;
    case USE_REMOTE_READ:
        return constant;
    case USE_SOURCE:
    case USE_LAND: /* its owner looks after a wait, and by hand */
        return w->uses == use && single(w->lands) && !w->lands_apart;
    default:
        return false;
    }
}

bool word_quiet(struct explore *x, struct word *w, enum word_use use)
{
    if (!w || x->ask->naive || !quiet(w, use))
        return false;
    w->relied = true;
    return true;
}

static uint64_t contribution(const struct explore *x, const struct word *w, unsigned p,
                             uint64_t value)
{
    return value == w->initial ? 0 : hash2(w->name[p], word_map(x, p, value));
}

void word_write(struct sim *s, uint64_t *at, uint64_t value)
{
    struct explore *x = explore_of(s);
    if (!x->threads)
        return;
    if (s->current) {
        struct thread_extra *extra = &x->extra[s->current->number];
        extra->wrote = hash2(hash2(extra->wrote, (uintptr_t)at), value);
    }
    struct word *w = word_of(x, at);
    if (!w || x->values[w - x->words] == value)
        return;
    uint64_t *now = &x->values[w - x->words];
    /* What only its owner looks at belongs to what the owner knows. */
    if (!(word_quiet(x, w, USE_LAND) && (x->ask->digests || w->lands & w->local)))
        for (unsigned p = 0; p < x->permutations; p++)
            x->memory_hash[p] ^= contribution(x, w, p, *now) ^ contribution(x, w, p, value);
    *now = value;
}

/* ---- Permutations */

static bool next_permutation(uint8_t *a, unsigned n)
{
    unsigned i = n - 1, j = n - 1;
    while (i && a[i - 1] >= a[i])
        i--;
    if (!i)
        return false;
    while (a[j] <= a[i - 1])
        j--;
    uint8_t swap = a[i - 1];
    a[i - 1] = a[j];
    a[j] = swap;
    for (j = n - 1; i < j; i++, j--) {
        swap = a[i];
        a[i] = a[j];
        a[j] = swap;
    }
    return true;
}

static bool keeps_classes(const struct explore *x, const uint8_t *to)
{
    for (unsigned t = 0; t < x->threads; t++)
        if (x->ask->classes[t] != x->ask->classes[to[t]])
            return false;
    return true;
}

static bool alone_on_node(const struct explore *x, unsigned thread)
{
    unsigned node = x->s->threads[thread]->team->node;
    for (unsigned t = 0; t < x->threads; t++)
        if (t != thread && x->s->threads[t]->team->node == node)
            return false;
    return true;
}

static void add_permutation(struct explore *x, const uint8_t *to)
{
    unsigned p = x->permutations++;
    memcpy(x->to[p], to, SIM_THREADS_MAX);
    for (unsigned n = 0; n < x->nodes; n++)
        x->node_to[p * x->nodes + n] = (uint16_t)n;
    for (unsigned t = 0; t < x->threads; t++)
        if (to[t] != t && alone_on_node(x, t) && alone_on_node(x, to[t]))
            x->node_to[p * x->nodes + x->s->threads[t]->team->node] =
                (uint16_t)x->s->threads[to[t]]->team->node;
}

static unsigned find_permutation(const struct explore *x, const uint8_t *to)
{
    unsigned p = 0;
    while (memcmp(x->to[p], to, SIM_THREADS_MAX) != 0)
        p++;
    return p;
}

/* A thread in the place of the first of its class: both change places, then the permutation. */
static void find_firsts(struct explore *x)
{
    for (unsigned t = 0; t < x->threads; t++) {
        unsigned first = t;
        for (unsigned u = t; x->permutations > 1 && u-- > 0;)
            if (x->ask->classes[u] == x->ask->classes[t])
                first = u;
        x->first_of[t] = (uint8_t)first;
        for (unsigned p = 0; p < x->permutations; p++) {
            uint8_t to[SIM_THREADS_MAX];
            memcpy(to, x->to[p], SIM_THREADS_MAX);
            to[first] = x->to[p][t];
            to[t] = x->to[p][first];
            x->as_first[t][p] = (uint8_t)find_permutation(x, to);
        }
    }
}

int permutations_find(struct explore *x)
{
    uint8_t to[SIM_THREADS_MAX], identity[SIM_THREADS_MAX];
    for (unsigned t = 0; t < SIM_THREADS_MAX; t++)
        identity[t] = to[t] = (uint8_t)t;
    x->node_to = calloc(PERMUTATIONS_MAX * x->nodes, sizeof(*x->node_to));
    if (!x->node_to)
        return -ENOMEM;
    x->permutations = 0;
    add_permutation(x, to);
    bool wanted = x->ask->classes && x->ask->ghost_hash && !x->ask->self_check && !x->ask->naive;
    while (wanted && next_permutation(to, x->threads)) {
        if (!keeps_classes(x, to))
            continue;
        if (x->permutations == PERMUTATIONS_MAX) {
            /* Some of them are no group: rather none. */
            x->permutations = 0;
            add_permutation(x, identity);
            break;
        }
        add_permutation(x, to);
    }
    find_firsts(x);
    return 0;
}

/* ---- The hash of a state */

static const uint64_t *place_names(struct explore *x, uint64_t local)
{
    static const uint64_t none[PERMUTATIONS_MAX];
    struct word *w = local ? word_of(x, (const uint64_t *)(uintptr_t)local) : NULL;
    return w ? w->name : none;
}

/*
 * A value is about to land there, and the thread to be told of it. Where: else two values that change places,
 * or one that lands and one that a CPU's act returns, would be the same to the digest.
 */
void word_lands(struct explore *x, uint64_t local, unsigned thread)
{
    const uint64_t *names = place_names(x, local);
    uint64_t *digest = x->extra[thread].digest;
    for (unsigned p = 0; p < x->permutations; p++)
        digest[p] = hash2(digest[p] + SIM_EXPLORE_BASE, names[p]);
    x->extra[thread].said = hash2(x->extra[thread].said + SIM_EXPLORE_BASE, names[0]);
}

static void hash_buffered(struct explore *x, const struct sim_buffered *b, uint64_t *out)
{
    const struct baton_op *op = &b->op;
    const uint64_t *names = place_names(x, b->word ? (uintptr_t)b->word : (uintptr_t)op->local);
    uint64_t what =
        (uint64_t)op->id << 48 | (uint64_t)op->kind << 40 | (uint64_t)op->flags << 32 | op->bytes;
    for (unsigned p = 0; p < x->permutations; p++) {
        uint64_t h = hash2(out[p], hash2(names[p], what));
        h = hash2(h, word_map(x, p, b->word ? b->value : op->value));
        out[p] =
            b->word ? h : hash2(hash2(h, word_map(x, p, op->remote)), word_map(x, p, op->expected));
    }
}

static void hash_qp(struct explore *x, const struct sim_qp *q, uint64_t *sums)
{
    uint64_t out[PERMUTATIONS_MAX] = {0};
    for (unsigned i = 0; i < q->nic.n; i++) {
        const struct baton_nic_entry *e = &q->entries[i];
        const struct sim_part *part = &q->parts[i];
        const uint64_t *remote = place_names(x, e->remote), *local = place_names(x, e->local);
        uint64_t id = part->pieces ? part->op.id : 0; /* who waits for it will be told */
        uint64_t what = id << 40 | (uint64_t)e->kind << 32 | (uint64_t)q->flags[i] << 16 |
                        (uint64_t)part->op.flags << 8 | (uint64_t)part->first << 2 |
                        (uint64_t)(part->pieces != 0) << 1 | part->wrote;
        for (unsigned p = 0; p < x->permutations; p++) {
            uint64_t h = hash2(hash2(out[p], what), remote[p]);
            h = hash2(hash2(h, local[p]), word_map(x, p, (uint64_t)q->values[i].to_local));
            out[p] = hash2(h, word_map(x, p, (uint64_t)q->values[i].to_remote));
        }
    }
    for (unsigned p = 0; p < x->permutations; p++)
        sums[p] += hash2(x->node_to[p * x->nodes + q->node], out[p]);
}

/* Whoever polls is woken by changes of what his turn has read. What never changes wakes nobody. */
static void hash_reads(struct explore *x, const struct sim_thread *t, uint64_t *sums)
{
    for (unsigned p = 0; t->reads_n == TURN_CHANGED && p < x->permutations; p++)
        sums[p]++;
    for (unsigned i = 0; i < explore_reads(t); i++) {
        struct word *w = word_of(x, t->reads[i].word);
        for (unsigned p = 0; w && !word_quiet(x, w, USE_REMOTE_READ) && p < x->permutations; p++)
            sums[p] += hash2(w->name[p], word_map(x, p, t->reads[i].value));
    }
}

static void hash_thread(struct explore *x, unsigned t)
{
    struct thread_extra *extra = &x->extra[t];
    struct sim_thread *thread = x->s->threads[t];
    struct sim_ep *e = explore_ep(thread);
    uint64_t sums[PERMUTATIONS_MAX] = {0}, h[PERMUTATIONS_MAX];
    future_place(x, thread);
    for (unsigned p = 0; p < x->permutations; p++)
        h[p] = hash2(hash2(extra->digest[p], extra->knows[p]), thread->state == SIM_ENDED);
    for (unsigned i = 0; i < thread->buffer_n; i++)
        hash_buffered(x, explore_buffered(thread, i), h);
    for (unsigned n = 0; e && e->busy && n < x->nodes; n++) {
        const struct sim_qp *q = sim_qp_known(e, n);
        if (q && q->nic.n)
            hash_qp(x, q, sums);
    }
    if (extra->relaxes && !x->ask->digests)
        hash_reads(x, thread, sums);
    for (unsigned p = 0; p < x->permutations; p++)
        extra->hash[p] = hash2(hash2(h[p], sums[p]), x->to[p][t]);
    extra->fresh = true;
}

static uint64_t hash_bytes(const void *memory, size_t bytes)
{
    const uint64_t *word = memory;
    uint64_t h = bytes;
    for (size_t i = 0; i < bytes / 8; i++)
        h = hash2(h, word[i]);
    return h;
}

uint64_t explore_hash(struct explore *x)
{
    const struct sim_explore *ask = x->ask;
    uint64_t least = UINT64_MAX;
    for (unsigned t = 0; t < x->threads; t++)
        if (!x->extra[t].fresh)
            hash_thread(x, t);
    for (unsigned p = 0; p < x->permutations; p++) {
        uint64_t h = 0;
        for (unsigned t = 0; t < x->threads; t++)
            h += hash2(x->extra[t].hash[p], x->armed[t]);
        h = hash2(h, x->memory_hash[p]);
        if (ask->ghost_hash)
            h = hash2(h, ask->ghost_hash(ask->arg, x->to[p]));
        else if (ask->ghost_bytes)
            h = hash2(h, hash_bytes(ask->ghost, ask->ghost_bytes));
        if (ask->context_bound >= 0)
            h = hash2(h, (uint64_t)x->preemptions << 8 |
                             (x->last < 0 ? 255u : (unsigned)x->to[p][x->last]));
        if (h < least)
            least = h;
    }
    return least ? least : 1;
}

uint64_t memory_outcome(const struct explore *x)
{
    uint64_t least = UINT64_MAX;
    for (unsigned p = 0; p < x->permutations; p++) {
        uint64_t h = 1;
        for (unsigned i = 0; i < x->words_n; i++) {
            const struct word *w = &x->words[i];
            if (!w->local && *w->at != w->initial)
                h += hash2(w->name[p], word_map(x, p, *w->at));
        }
        least = h < least ? h : least;
    }
    return least | 1;
}
