/* SPDX-License-Identifier: MIT */
/*
 * What a program must not do to words, found as it happens: a CPU's read-modify-write of a word declared for
 * the NIC's and the reverse, and, whatever the declaration, a foreign write between the read and the write of
 * a NIC's read-modify-write, which that write would undo.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/sim.h"

#define REPORTS_MAX 32u

void sim_misuse(struct sim *s, const char *format, ...)
{
    va_list args;
    if (s->reports_n++ >= REPORTS_MAX)
        return;
    struct sim_report *r = calloc(1, sizeof(*r));
    if (!r)
        return;
    va_start(args, format);
    vsnprintf(r->text, sizeof(r->text), format, args);
    va_end(args);
    *s->reports_end = r;
    s->reports_end = &r->next;
}

/* The segment of some node that holds the word, its node, and its offset there. */
static const struct baton_segment *segment_of(struct sim *s, const uint64_t *word, unsigned *node,
                                              uint64_t *offset)
{
    for (unsigned n = 0; n < s->cluster->nodes; n++) {
        struct baton_node *local = s->cluster->local[n];
        baton_gptr at = local ? baton_addr(local, word) : BATON_NULL;
        int rc;
        if (!at)
            continue;
        *node = n;
        const struct baton_segment *g = baton_segment_find(local, baton_gptr_offset(at), 8, &rc);
        *offset = g ? baton_gptr_offset(at) - g->base : 0;
        return g;
    }
    return NULL;
}

static enum baton_word_kind kind_of(const struct baton_segment *g, uint64_t offset)
{
    for (unsigned i = 0; i < g->words_count; i++) {
        const struct baton_words *w = &g->words[i];
        uint64_t d = offset - w->offset;
        if (offset < w->offset || (w->stride ? d % w->stride || d / w->stride >= w->count : d))
            continue;
        return w->kind;
    }
    return BATON_WORD_PLAIN;
}

static const char *const writers[] = {"a CPU's store", "a CPU's read-modify-write", "a put",
                                      "a NIC's read-modify-write"};
static const char *const kinds[] = {"plain", "for the NIC's read-modify-writes",
                                    "for the CPU's read-modify-writes", "guarded"};

/* By kind: who may write. */
static const unsigned allowed[] = {
    [BATON_WORD_PLAIN] = 1 << SIM_WRITER_CPU_STORE | 1 << SIM_WRITER_PUT | 1 << SIM_WRITER_CPU_RMW |
                         1 << SIM_WRITER_NIC_RMW,
    [BATON_WORD_NIC_RMW] = 1 << SIM_WRITER_PUT | 1 << SIM_WRITER_NIC_RMW,
    [BATON_WORD_CPU_RMW] = 1 << SIM_WRITER_CPU_STORE | 1 << SIM_WRITER_CPU_RMW,
    [BATON_WORD_GUARDED] = 1 << SIM_WRITER_CPU_STORE | 1 << SIM_WRITER_PUT |
                           1 << SIM_WRITER_CPU_RMW | 1 << SIM_WRITER_NIC_RMW,
};

void sim_misuse_write(struct sim *s, const uint64_t *word, enum sim_writer who)
{
    unsigned node;
    uint64_t offset;
    for (unsigned n = 0; n < s->cluster->nodes; n++)
        if (s->unit_words[n] == word)
            sim_misuse(s,
                       "%s of node %u's memory between the read and the write of a NIC's "
                       "read-modify-write of the same word: one of them is lost",
                       writers[who], n);
    const struct baton_segment *g = segment_of(s, word, &node, &offset);
    if (!g || !g->words_count)
        return;
    enum baton_word_kind kind = kind_of(g, offset);
    if (!(allowed[kind] >> who & 1))
        sim_misuse(s, "%s of the word at %u+0x%" PRIx64 ", which is declared %s", writers[who],
                   node, g->base + offset, kinds[kind]);
}
