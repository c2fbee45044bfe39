/* SPDX-License-Identifier: MIT */
/*
 * The name table of a shm cluster. Writers hold the gate; readers hold nothing and look at the turn of an
 * entry before and after. A name counts as long as the incarnation of the node that published it lives,
 * so a killed node's names need no cleaning.
 */
#include <errno.h>
#include <string.h>

#include "base/error.h"
#include "fabric/shm_control.h"

struct key {
    uint64_t words[SHM_NAME_WORDS];
};

static struct key key_of(const char *name)
{
    struct key k;
    char text[sizeof(k)] = {0};
    strncpy(text, name, sizeof(text) - 1);
    memcpy(&k, text, sizeof(k));
    return k;
}

static uint64_t owner_of(const struct shm_control *c, unsigned node)
{
    return shm_incarnation_of(baton_word_load(&c->nodes[node].state)) << 16 | node;
}

static bool owner_lives(const struct shm_control *c, uint64_t owner)
{
    unsigned node = owner & 0xffff;
    if (!owner || node >= c->header->nodes)
        return false;
    uint64_t state = baton_word_load(&c->nodes[node].state);
    return shm_state_of(state) == BATON_NODE_ALIVE && shm_incarnation_of(state) == owner >> 16;
}

/* Whether the entry is this name, of a living node; then its address and owner. */
static bool matches(const struct shm_control *c, const struct shm_name_entry *e,
                    const struct key *k, baton_gptr *at, uint64_t *owner)
{
    uint64_t turn = baton_word_load(&e->turn);
    if (turn & 1)
        return false;
    *owner = baton_word_load(&e->owner);
    *at = baton_word_load(&e->at);
    for (unsigned i = 0; i < SHM_NAME_WORDS; i++)
        if (baton_word_load(&e->name[i]) != k->words[i])
            return false;
    return baton_word_load(&e->turn) == turn && owner_lives(c, *owner);
}

static struct shm_name_entry *find(const struct shm_control *c, const char *name, baton_gptr *at,
                                   uint64_t *owner)
{
    struct key k = key_of(name);
    for (uint64_t i = 0; i < c->header->names; i++)
        if (matches(c, &c->names[i], &k, at, owner))
            return &c->names[i];
    return NULL;
}

int baton_shm_name_find(const struct shm_control *c, const char *name, baton_gptr *at)
{
    uint64_t owner;
    baton_gptr found;
    if (!find(c, name, &found, &owner))
        return baton_fail(-ENOENT, "cluster %s knows no name \"%s\"", c->name, name);
    *at = found;
    return 0;
}

/* An entry that was being written when its writer was killed has an odd turn, and is free. */
static void write_entry(struct shm_name_entry *e, uint64_t owner, baton_gptr at,
                        const struct key *k)
{
    uint64_t turn = baton_word_load(&e->turn) | 1;
    baton_word_store(&e->turn, turn);
    baton_word_store(&e->owner, owner);
    baton_word_store(&e->at, at);
    for (unsigned i = 0; i < SHM_NAME_WORDS; i++)
        baton_word_store(&e->name[i], k->words[i]);
    baton_word_store(&e->turn, turn + 1);
}

int baton_shm_name_publish(struct shm_control *c, unsigned node, const char *name, baton_gptr at)
{
    struct key k = key_of(name);
    uint64_t owner;
    baton_gptr old;
    int rc = baton_shm_gate_enter(c);
    if (rc)
        return rc;
    if (find(c, name, &old, &owner)) {
        rc = baton_fail(-EEXIST, "cluster %s: node %u has published the name \"%s\"", c->name,
                        (unsigned)(owner & 0xffff), name);
    } else {
        struct shm_name_entry *e = c->names, *end = e + c->header->names;
        while (e < end && !(e->turn & 1) && owner_lives(c, e->owner))
            e++;
        if (e < end)
            write_entry(e, owner_of(c, node), at, &k);
        else
            rc = baton_fail(-EBUSY, "cluster %s: its table of %llu names is full", c->name,
                            (unsigned long long)c->header->names);
    }
    baton_shm_gate_leave(c);
    return rc;
}

int baton_shm_name_withdraw(struct shm_control *c, unsigned node, const char *name)
{
    static const struct key nothing;
    uint64_t owner;
    baton_gptr at;
    int rc = baton_shm_gate_enter(c);
    if (rc)
        return rc;
    struct shm_name_entry *e = find(c, name, &at, &owner);
    if (e && owner == owner_of(c, node))
        write_entry(e, 0, BATON_NULL, &nothing);
    else
        rc = baton_fail(-ENOENT, "node %u has not published the name \"%s\"", node, name);
    baton_shm_gate_leave(c);
    return rc;
}

void baton_shm_names_drop(struct shm_control *c, unsigned node)
{
    static const struct key nothing;
    uint64_t owner = owner_of(c, node);
    for (uint64_t i = 0; i < c->header->names; i++)
        if (c->names[i].owner == owner)
            write_entry(&c->names[i], 0, BATON_NULL, &nothing);
}
