/* SPDX-License-Identifier: MIT */
/*
 * What a program must not do to words, found as it happens: a CPU's read-modify-write of a word declared for
 * the NIC's and the reverse, and, whatever the declaration, a foreign write between the read and the write of
 * a NIC's read-modify-write, which that write would undo. Nothing tells a program of these: they fail the run.
 *
 * Reported too, and counted apart because an error tells the program already and it may have asked for that:
 * operations on memory that no segment has or that may not be used so, and calls that a library refused.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "sim/sim.h"

#define REPORTS_MAX 32u

static struct sim_report *report_add(struct sim *s, bool told)
{
    unsigned *count = told ? &s->told_n : &s->silent_n;
    if ((*count)++ >= REPORTS_MAX)
        return NULL;
    struct sim_report *r = calloc(1, sizeof(*r));
    if (!r)
        return NULL;
    r->told = told;
    *s->reports_end = r;
    s->reports_end = &r->next;
    return r;
}

void sim_misuse(struct sim *s, const char *format, ...)
{
    va_list args;
    struct sim_report *r = report_add(s, false);
    if (!r)
        return;
    va_start(args, format);
    vsnprintf(r->text, sizeof(r->text), format, args);
    va_end(args);
}

const char *sim_silent_text(const struct sim *s)
{
    const struct sim_report *r = s->reports;
    while (r && r->told)
        r = r->next;
    return r ? r->text : "words were misused";
}

void sim_misuse_access(struct sim *s, const struct baton_op *op, int rc)
{
    static const char *const kinds[BATON_OP_KINDS] = {"a put", "a get", "an rcas", "an rfaa"};
    const char *why = rc == -EKEYREJECTED ? "outside of every segment"
                      : rc == -ERANGE     ? "across the end of its segment"
                      : rc == -EACCES     ? "which the segment's rights forbid"
                                          : NULL;
    struct sim_report *r = why ? report_add(s, true) : NULL;
    if (r)
        snprintf(r->text, sizeof(r->text), "%s of %" PRIu32 " bytes at %u+0x%" PRIx64 ", %s",
                 kinds[op->kind], op->bytes, op->node, baton_gptr_offset(op->remote), why);
}

void sim_misused(struct baton_epx *ep, const char *what, baton_gptr at)
{
    struct sim_report *r = report_add(sim_of(ep), true);
    if (r)
        snprintf(r->text, sizeof(r->text), "%s, at %u+0x%" PRIx64, what, baton_gptr_node(at),
                 baton_gptr_offset(at));
}

/* Segments up to this size have a byte per word that says its kind. */
#define KINDS_BYTES_MAX (UINT64_C(64) << 20)

int sim_segment_create(struct baton_node *node, unsigned slot, struct baton_segment *segment)
{
    uint64_t words = segment->bytes / 8;
    int rc = baton_local_segment_create(node, slot, segment);
    if (rc || !segment->words_count || segment->bytes > KINDS_BYTES_MAX)
        return rc;
    uint8_t *kinds = baton_local_segment_notes(segment, words);
    if (!kinds)
        return 0; /* misuse of this segment stays unnoticed, nothing else */
    for (unsigned i = 0; i < segment->words_count; i++) {
        const struct baton_words *w = &segment->words[i];
        for (uint64_t k = 0; k < w->count; k++)
            kinds[(w->offset + k * w->stride) / 8] = (uint8_t)w->kind;
    }
    return 0;
}

static const char *const writers[] = {"a CPU's store", "a CPU's read-modify-write", "a put",
                                      "a NIC's read-modify-write", "a put of several words"};
static const char *const kind_names[] = {"plain", "for the NIC's read-modify-writes",
                                         "for the CPU's read-modify-writes", "guarded"};

/* By kind: who may not write. */
static const uint8_t forbidden[] = {
    [BATON_WORD_PLAIN] = 0,
    [BATON_WORD_NIC_RMW] = 1 << SIM_WRITER_CPU_STORE | 1 << SIM_WRITER_CPU_RMW,
    [BATON_WORD_CPU_RMW] = 1 << SIM_WRITER_PUT | 1 << SIM_WRITER_NIC_RMW,
    [BATON_WORD_GUARDED] = 0,
};

void sim_misuse_write(struct sim *s, unsigned node, const uint64_t *word, enum sim_writer who)
{
    const struct baton_node *n = s->cluster->local[node];
    if (s->misuse_ignored)
        return;
    if (s->unit_words[node] == word)
        sim_misuse(s,
                   "%s of a word of node %u between the read and the write of a NIC's "
                   "read-modify-write of it: one of them is lost",
                   writers[who], node);
    for (unsigned i = 1; i < BATON_SEGMENTS_MAX && n->segments[i].base; i++) {
        const struct baton_segment *g = &n->segments[i];
        uint64_t offset = (uint64_t)(uintptr_t)word - (uint64_t)(uintptr_t)g->memory;
        const uint8_t *kinds = offset < g->bytes ? baton_local_segment_notes(g, 0) : NULL;
        if (kinds && forbidden[kinds[offset / 8]] >> who & 1)
            sim_misuse(s, "%s of the word at %u+0x%" PRIx64 ", which is declared %s", writers[who],
                       node, g->base + offset, kind_names[kinds[offset / 8]]);
    }
}
