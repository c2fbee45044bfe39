/* SPDX-License-Identifier: MIT */
/* The story of one run: what every step does, and why it may happen now. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "sim/explore_inner.h"

#define NAME_BYTES 64

void tell_line(struct explore *x, const char *format, ...)
{
    char line[320];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    if (x->ask->tell)
        x->ask->tell(x->ask->arg, line);
}

static const char *name_address(struct explore *x, baton_gptr at, char *out)
{
    if (at == baton_gfence_word(baton_gptr_node(at)))
        snprintf(out, NAME_BYTES, "any word of node %u", baton_gptr_node(at));
    else if (!x->ask->name || !x->ask->name(x->ask->arg, at, out, NAME_BYTES))
        snprintf(out, NAME_BYTES, "%u+0x%" PRIx64, baton_gptr_node(at),
                 baton_gptr_offset(at) - SIM_EXPLORE_BASE);
    return out;
}

static const char *name_word(struct explore *x, const uint64_t *at, char *out)
{
    struct word *w = word_of(x, at);
    return name_address(x, w ? w->name[0] : 0, out);
}

/* Values that are addresses are told by name. */
static const char *name_value(struct explore *x, uint64_t value, char *out)
{
    uint64_t offset = value & 0xffffffffffffu;
    if (value >> 48 < x->nodes && offset - SIM_EXPLORE_BASE < UINT64_C(1) << 32) {
        out[0] = '&';
        name_address(x, value, out + 1);
    } else {
        snprintf(out, NAME_BYTES, "%" PRIu64, value);
    }
    return out;
}

static const char *name_thread(const struct explore *x, unsigned thread, char *out)
{
    const struct sim_thread *t = x->s->threads[thread];
    if (x->ask->thread_name)
        x->ask->thread_name(x->ask->arg, thread, out, NAME_BYTES);
    else
        snprintf(out, NAME_BYTES, "thread %u (node %u)", thread, t->team->node);
    return out;
}

static void tell_thread(struct explore *x, struct sim_thread *t, const char *who)
{
    char word[NAME_BYTES], value[NAME_BYTES + 1];
    switch (t->state) {
    case SIM_CONDS:
        tell_line(x, "%s: a condition that it awaits holds, it goes on", who);
        return;
    case SIM_RELAX:
        tell_line(x, "%s: a word that it polls has changed, it polls again", who);
        return;
    case SIM_WORK:
        tell_line(x, "%s: its wait for operations is over", who);
        return;
    default:
        break;
    }
    if (t->next.act == SIM_ACT_LOAD)
        tell_line(x, "%s: loads %s = %s", who, name_word(x, t->next.word, word),
                  name_value(x, explore_seen(t, t->next.word), value));
    else if (t->next.act == SIM_ACT_RMW)
        tell_line(x, "%s: read-modify-write by CPU of %s, which was %s; its store buffer is empty",
                  who, name_word(x, t->next.word, word), name_value(x, *t->next.word, value));
    else
        tell_line(x, "%s: goes on", who);
}

void tell_step(struct explore *x, const struct sim_step *step)
{
    struct sim_thread *t = x->s->threads[step->thread];
    char who[NAME_BYTES], word[NAME_BYTES], value[NAME_BYTES + 1];
    if (step->quiet == SIM_QUIET_OWN)
        return;
    name_thread(x, step->thread, who);
    switch (step->kind) {
    case SIM_STEP_BEGIN:
        tell_line(x, "all threads begin");
        break;
    case SIM_STEP_THREAD:
        tell_thread(x, t, who);
        break;
    case SIM_STEP_TIMEOUT:
        tell_line(x, "%s: its deadline has come", who);
        break;
    case SIM_STEP_STORE: {
        const struct sim_buffered *b = explore_buffered(t, 0);
        if (b->word)
            tell_line(x, "%s: its store %s = %s leaves the store buffer: it is the oldest there",
                      who, name_word(x, b->word, word), name_value(x, b->value, value));
        break;
    }
    default:
        break; /* a step of a NIC is told where it is taken */
    }
}

static const char *const kinds[] = {"put", "get", "rcas", "rfaa", "rfence"};

static const char *overtaken(const struct sim_qp *q, unsigned at, enum baton_nic_step step)
{
    for (unsigned i = 0; i < at; i++) {
        enum baton_nic_kind kind = q->entries[i].kind;
        unsigned flags = q->flags[i];
        if (step == BATON_NIC_READ && kind == BATON_NIC_GET &&
            !(flags & baton_nic_bit(BATON_NIC_READ)))
            return "; an older get has not read yet, which nothing asks for";
        if (step == BATON_NIC_COMMIT && kind == BATON_NIC_GET &&
            !(flags & baton_nic_bit(BATON_NIC_READ)))
            return "; an older get has not read yet: only an rfence or a wait would keep them in "
                   "order";
    }
    return "";
}

void tell_nic(struct explore *x, struct sim_qp *q, unsigned at, enum baton_nic_step step)
{
    const struct baton_nic_entry *e = &q->entries[at];
    const char *kind = kinds[e->kind], *late = overtaken(q, at, step);
    char where[NAME_BYTES], value[NAME_BYTES + 1], nic[NAME_BYTES], who[NAME_BYTES];
    uint64_t *remote = (uint64_t *)(uintptr_t)e->remote;
    if (e->kind == BATON_NIC_FENCE)
        return;
    snprintf(nic, sizeof(nic), "NIC of %.32s to node %u",
             name_thread(x, q->ep->thread->number, who), q->node);
    name_word(x, remote, where);
    switch (step) {
    case BATON_NIC_READ:
        if (e->kind == BATON_NIC_PUT) {
            if (!e->constant)
                tell_line(x, "%s: put to %s reads its source: %s", nic, where,
                          name_value(x, *(uint64_t *)(uintptr_t)e->local, value));
            break;
        }
        tell_line(x,
                  "%s: %s reads %s = %s: no earlier put or rmw of this queue pair is on its way%s",
                  nic, kind, where, name_value(x, *remote, value), late);
        break;
    case BATON_NIC_START:
        if (e->kind == BATON_NIC_PUT)
            tell_line(x,
                      "    (%s: put to %s is accepted: it may be waited for, and is not visible)",
                      nic, where);
        break;
    case BATON_NIC_COMMIT:
        tell_line(x, "%s: %s writes %s = %s: it is the oldest write on this queue pair%s", nic,
                  kind, where, name_value(x, (uint64_t)q->values[at].to_remote, value), late);
        break;
    case BATON_NIC_LAND:
        tell_line(x, "    (%s: what %s fetched from %s is there: %s)", nic, kind, where,
                  name_value(x, (uint64_t)q->values[at].to_local, value));
        break;
    default:
        break;
    }
}

void tell_buffered(struct explore *x, struct sim_thread *t, const struct sim_buffered *b)
{
    static const char *const ops[] = {"put", "get", "rcas", "rfaa"};
    char who[NAME_BYTES], where[NAME_BYTES], value[NAME_BYTES + 1];
    name_thread(x, t->number, who);
    if (b->word)
        tell_line(x, "    (%s: stores %s = %s, into its store buffer)", who,
                  name_word(x, b->word, where), name_value(x, b->value, value));
    else
        tell_line(x, "    (%s: posts %s %s%s%s)", who, ops[b->op.kind],
                  name_address(x, b->op.remote, where), b->op.flags & BATON_OPF_INLINE ? " = " : "",
                  b->op.flags & BATON_OPF_INLINE ? name_value(x, b->op.value, value) : "");
}

void tell_blocked(struct explore *x)
{
    char who[NAME_BYTES], word[NAME_BYTES], value[NAME_BYTES + 1];
    for (unsigned i = 0; i < x->threads; i++) {
        struct sim_thread *t = x->s->threads[i];
        name_thread(x, i, who);
        if (t->state == SIM_CONDS)
            for (unsigned c = 0; c < t->conds_n; c++)
                tell_line(x, "%s: awaits a change of %s, which is %s", who,
                          name_word(x, t->conds[c].word, word),
                          name_value(x, *t->conds[c].word, value));
        else if (t->state == SIM_RELAX)
            for (unsigned r = 0; r < explore_reads(t); r++)
                tell_line(x, "%s: polls %s, which is %s", who, name_word(x, t->reads[r].word, word),
                          name_value(x, *t->reads[r].word, value));
        else if (t->state != SIM_ENDED)
            tell_line(x, "%s: can not go on", who);
    }
}

void tell_note(struct explore *x, unsigned thread, const char *text)
{
    char who[NAME_BYTES];
    tell_line(x, "%s: %s", name_thread(x, thread, who), text);
}
