/* SPDX-License-Identifier: MIT */
/* Steps of the exhaustive driver: which are possible, which are taken at once, and taking them. */
#include "sim/explore_inner.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <baton/check.h>

#include "base/error.h"

void explore_violated(struct explore *x, const char *format, ...)
{
    va_list args;
    if (x->violated)
        return;
    x->violated = true;
    va_start(args, format);
    vsnprintf(x->ask->text, sizeof(x->ask->text), format, args);
    va_end(args);
    for (char *c = x->ask->text; *c; c++)
        if ((unsigned char)*c < ' ')
            *c = ' '; /* it is one line of a schedule */
}

void explore_give_up(struct explore *x, const char *text)
{
    if (!x->too_many)
        snprintf(x->ask->text, sizeof(x->ask->text), "%s", text);
    x->too_many = true;
}

/* ---- Recording: the way in full, so that it can be followed without knowing what is taken at once */

static void record(struct explore *x, struct sim_step step)
{
    if (!x->recording)
        return;
    if (x->record_n == x->record_room) {
        size_t room = 2 * x->record_room + 256;
        struct sim_step *more = realloc(x->record, room * sizeof(*more));
        if (!more) {
            x->no_memory = true;
            return;
        }
        x->record = more;
        x->record_room = room;
    }
    x->record[x->record_n++] = step;
}

static void record_quiet(struct explore *x, enum sim_step_kind kind, unsigned thread,
                         enum sim_quiet quiet)
{
    record(x, (struct sim_step){
                  .kind = (uint8_t)kind, .thread = (uint8_t)thread, .quiet = (uint8_t)quiet});
}

/* ---- What the world asks and tells */

/* Whether what a thread does for itself is a step like others. */
static bool acts_are_steps(const struct explore *x)
{
    return x->ask->naive || x->ask->by_hand;
}

static void describe(struct sim *s, char *out, size_t bytes)
{
    snprintf(out, bytes, "every schedule");
}

static uint64_t explore_now(struct sim *s)
{
    return 0;
}

static void thread_saw(struct sim *s, struct sim_thread *t, uint64_t value)
{
    struct explore *x = explore_of(s);
    if (x->constant) {
        x->constant = false;
        return;
    }
    uint64_t *digest = x->extra[t->number].digest;
    touch(x, t->number);
    for (unsigned p = 0; p < x->permutations; p++)
        digest[p] = hash2(digest[p], word_map(x, p, value));
    x->extra[t->number].said = hash2(x->extra[t->number].said, value);
    x->extra[t->number].told = hash2(x->extra[t->number].told, value);
}

static bool load_at_once(struct explore *x, struct sim_thread *t)
{
    struct word *w = word_use(x, t->next.word, USE_LOAD, t->number);
    if (!word_quiet(x, w, USE_LOAD))
        return false;
    /* What never changes tells nothing, and may differ between threads that are exchanged. */
    x->constant = !x->ask->self_check && !(w->uses & (USE_WRITE | USE_LAND | USE_REMOTE_WRITE));
    return true;
}

static bool at_once(struct sim *s, struct sim_thread *t)
{
    struct explore *x = explore_of(s);
    if (t->next.act == SIM_ACT_LOAD || t->next.act == SIM_ACT_RMW)
        future_guard(x, t->number, word_of(x, t->next.word));
    switch (t->next.act) {
    case SIM_ACT_LOAD:
        if (x->starting || x->ask->follow || acts_are_steps(x) || !load_at_once(x, t))
            return false;
        record_quiet(x, SIM_STEP_THREAD, t->number, SIM_QUIET_OWN);
        return true;
    case SIM_ACT_STORE:
        word_use(x, t->next.word, USE_WRITE, t->number);
        return !x->starting && !acts_are_steps(x);
    case SIM_ACT_RING:
    case SIM_ACT_FENCE:
        return !x->starting && !acts_are_steps(x);
    default:
        return false;
    }
}

/* Learned when it is rung, before others can notice. */
static void operation_used(struct explore *x, struct sim_thread *t, const struct baton_op *op)
{
    bool put = op->kind == BATON_OP_PUT;
    const uint64_t *remote = baton_local_word(x->s->cluster, op->remote);
    if (!x->futures || op->remote == baton_gfence_word(op->node))
        return;
    for (unsigned i = 0; i < op->bytes / 8u; i++) {
        struct word *w = remote ? word_of(x, remote + i) : NULL;
        if (w) {
            future_guard(x, t->number, w);
            future_use(x, t->number, w,
                       put                        ? USE_REMOTE_WRITE
                       : op->kind == BATON_OP_GET ? USE_REMOTE_READ
                                                  : USE_REMOTE_READ | USE_REMOTE_WRITE);
        }
        w = op->local && !(put && op->flags & BATON_OPF_INLINE)
                ? word_of(x, (uint64_t *)op->local + i)
                : NULL;
        if (w)
            future_use(x, t->number, w, put ? USE_SOURCE : USE_LAND);
    }
}

static void buffered(struct sim *s, struct sim_thread *t)
{
    struct explore *x = explore_of(s);
    struct sim_buffered *b = explore_buffered(t, t->buffer_n - 1);
    unsigned id = baton_id_index(b->op.id);
    b->op.flags |= (uint8_t)(x->armed[t->number] << MARK_SHIFT);
    if (!b->word && !x->ids_known[id]) {
        x->ids_known[id] = 1;
        x->ids[x->ids_n++] = (uint16_t)id;
    }
    if (b->word)
        future_guard(x, t->number, word_of(x, b->word));
    else
        operation_used(x, t, &b->op);
    if (x->telling)
        tell_buffered(x, t, b);
}

static void posted(struct sim *s, struct sim_qp *q, unsigned at)
{
    struct explore *x = explore_of(s);
    if (!x->threads || !q->ep->thread)
        return;
    unsigned thread = q->ep->thread->number;
    for (unsigned i = at; i < q->nic.n; i++) {
        const struct baton_nic_entry *e = &q->entries[i];
        if (q->flags[i] != BATON_NIC_POSTED || e->kind == BATON_NIC_FENCE)
            continue;
        const uint64_t *remote = (const uint64_t *)(uintptr_t)e->remote;
        const uint64_t *local = (const uint64_t *)(uintptr_t)e->local;
        bool put = e->kind == BATON_NIC_PUT;
        if (q->parts[i].extra)
            explore_give_up(x, "a transfer of more than 128 bytes can not be explored");
        if (!put && !is_gfence(&q->parts[i]))
            word_use(x, remote, USE_REMOTE_READ, thread);
        if (e->kind != BATON_NIC_GET)
            word_use(x, remote, USE_REMOTE_WRITE, thread);
        if (local && put)
            word_use(x, local, USE_SOURCE, thread);
        else if (local && is_gfence(&q->parts[i]))
            word_use(x, local, USE_LAND, thread);
        else if (local)
            word_lands_from(x, word_use(x, local, USE_LAND, thread), q->node);
    }
}

static int relax(struct sim *s, struct sim_thread *t, struct baton_wait *wait)
{
    return sim_relax_until_changed(s, t, wait);
}

static unsigned choose(struct sim *s, unsigned n)
{
    struct explore *x = explore_of(s);
    struct choices *c = &x->choices;
    if (n < 2 || !x->threads)
        return 0;
    if (c->n == SIM_CHOICES_MAX) {
        explore_give_up(x, "too many operations change places in one step");
        return 0;
    }
    /* From now on every state is kept before a step: only then can the other choices be taken. */
    if (!x->chooses && !x->ask->follow)
        x->stale = true;
    x->chooses = true;
    if (c->n >= c->given)
        c->choice[c->n] = 0;
    if (c->choice[c->n] >= n) {
        explore_give_up(x,
                        "a choice of the schedule is not possible: it belongs to another program");
        return 0;
    }
    c->of[c->n] = (uint8_t)n;
    if (x->recording && x->record_n) {
        struct sim_step *step = &x->record[x->record_n - 1];
        if (step->choices_n < SIM_CHOICES_MAX)
            step->choice[step->choices_n++] = c->choice[c->n];
    }
    return c->choice[c->n++];
}

/* ---- Threads */

void thread_ended(struct explore *x, const struct sim_thread *t)
{
    if (t->state == SIM_ENDED && t->rc)
        explore_violated(x, "thread %u has failed: %s", t->number, baton_strerror(t->rc));
}

static void resume(struct explore *x, struct sim_thread *t)
{
    const struct said said = x->ask->self_check ? said_begin(x, t) : (struct said){0};
    stack_clean(t);
    sim_resume(x->s, t);
    touch(x, t->number);
    if (t->state == SIM_RELAX && !x->extra[t->number].relaxes) {
        /* Until now what its turns read made no difference, and was not part of the state. */
        x->extra[t->number].relaxes = true;
        x->stale = true;
    }
    if (x->ask->self_check) {
        stack_check(x, t);
        said_check(x, t, &said);
    }
    if (t->state == SIM_CONDS)
        for (unsigned i = 0; i < t->conds_n; i++)
            word_use(x, t->conds[i].word, USE_LOAD, t->number);
    if (t->reads_n == SIM_READS_MAX + 1 && t->state == SIM_RELAX)
        explore_give_up(x, "a turn of a polling loop reads more words than can be remembered");
    thread_ended(x, t);
}

static void fire(struct explore *x, unsigned thread, unsigned events, bool quiet)
{
    if (quiet)
        return;
    events &= (unsigned)x->armed[thread];
    if (!events)
        return;
    x->armed[thread] &= ~(uint64_t)events;
    if (x->ask->event)
        x->ask->event(x->ask->arg, thread, events);
}

void events_come(struct explore *x, unsigned thread)
{
    fire(x, thread, ~0u, false);
}

static void flush(struct explore *x, struct sim_thread *t)
{
    touch(x, t->number);
    sim_flush(x->s, t);
}

static enum sim_quiet can_flush_quietly(struct explore *x, struct sim_thread *t)
{
    if (!t->buffer_n || x->ask->naive)
        return SIM_QUIET_NOT;
    const struct sim_buffered *b = explore_buffered(t, 0);
    if (b->word ? word_quiet(x, word_of(x, b->word), USE_WRITE) : sim_can_flush(x->s, t))
        return SIM_QUIET_OWN;
    return b->word && future_flush(x, t, b->word) ? SIM_QUIET_FUTURE : SIM_QUIET_NOT;
}

static bool can_go_alone(struct explore *x, struct sim_thread *t)
{
    if (acts_are_steps(x))
        return false;
    if (t->state == SIM_WORK || t->state == SIM_RELAX)
        return sim_has_come(x->s, t);
    if (t->state != SIM_READY)
        return false;
    switch (t->next.act) {
    case SIM_ACT_LOAD:
        return load_at_once(x, t);
    case SIM_ACT_FENCE:
        return !t->buffer_n;
    case SIM_ACT_RMW:
        return false;
    default:
        return true;
    }
}

static bool cond_stays(struct explore *x, struct sim_thread *t, const struct baton_cond *c)
{
    return ((explore_seen(t, c->word) & c->mask) == c->value) != (c->negate != 0) &&
           future_act(x, t, c->word, false);
}

static enum sim_quiet can_go_quietly(struct explore *x, struct sim_thread *t)
{
    bool quiet = false;
    if (can_go_alone(x, t))
        return SIM_QUIET_OWN;
    if (t->state == SIM_READY && t->next.act == SIM_ACT_LOAD)
        quiet = future_act(x, t, t->next.word, false);
    else if (t->state == SIM_READY && t->next.act == SIM_ACT_RMW && !t->buffer_n)
        quiet = future_act(x, t, t->next.word, true);
    else if (t->state == SIM_CONDS && t->wait->deadline_ns == BATON_NEVER)
        for (unsigned i = 0; i < t->conds_n && !quiet; i++)
            quiet = cond_stays(x, t, &t->conds[i]);
    return quiet ? SIM_QUIET_FUTURE : SIM_QUIET_NOT;
}

static void used_by_act(struct explore *x, const struct sim_thread *t)
{
    if (t->state == SIM_READY && (t->next.act == SIM_ACT_LOAD || t->next.act == SIM_ACT_RMW))
        word_use(x, t->next.word, t->next.act == SIM_ACT_LOAD ? USE_LOAD : USE_LOAD | USE_WRITE,
                 t->number);
}

static void go(struct explore *x, struct sim_thread *t)
{
    if (t->state != SIM_READY) {
        t->state = SIM_READY;
        t->next.act = SIM_ACT_AWAKE;
    }
    /* Not all acts are told something: where it stands before one and behind it must not look the same. */
    if (acts_are_steps(x))
        thread_saw(x->s, t, t->next.act);
    resume(x, t);
}

static bool over(const struct explore *x)
{
    return x->violated || x->stale || x->too_many || x->no_memory;
}

static bool settle_thread(struct explore *x, struct sim_thread *t)
{
    bool any = false;
    while (!over(x)) {
        enum sim_quiet quiet = can_flush_quietly(x, t);
        if (quiet) {
            record_quiet(x, SIM_STEP_STORE, t->number, quiet);
            flush(x, t);
        } else if ((quiet = can_go_quietly(x, t))) {
            record_quiet(x, SIM_STEP_THREAD, t->number, quiet);
            /* Its condition decides how its wait ends. */
            if (t->state != SIM_READY)
                (void)sim_has_come(x->s, t);
            used_by_act(x, t);
            go(x, t);
        } else {
            break;
        }
        any = true;
    }
    return any;
}

/* ---- Queue pairs */

static bool lands_quietly(struct explore *x, const struct sim_qp *q, unsigned at)
{
    return word_quiet(x, word_of(x, (const uint64_t *)(uintptr_t)q->entries[at].local), USE_LAND);
}

/* Nothing that has left the pipe waits to land: else what leaves now would keep a put from reading. */
static bool all_landed(const struct sim_qp *q, unsigned at)
{
    for (unsigned i = 0; i < at; i++)
        if (baton_nic_has(q->entries[i].kind, BATON_NIC_LAND) &&
            !(q->flags[i] & baton_nic_bit(BATON_NIC_LAND)))
            return false;
    return true;
}

/* A write that starts would keep an older get from reading until it is in memory. */
static bool starts_quietly(const struct sim_qp *q, unsigned at)
{
    for (unsigned i = 0; i < at && !q->nic.free_reads; i++)
        if (q->entries[i].kind == BATON_NIC_GET && !(q->flags[i] & baton_nic_bit(BATON_NIC_READ)))
            return false;
    return true;
}

static bool nic_quiet(struct explore *x, const struct sim_qp *q, unsigned at,
                      enum baton_nic_step step)
{
    const struct baton_nic_entry *e = &q->entries[at];
    bool fetches = baton_nic_has(e->kind, BATON_NIC_LAND);
    if (x->ask->naive)
        return false;
    switch (step) {
    case BATON_NIC_READ:
        if (e->kind == BATON_NIC_PUT)
            return !x->s->swap &&
                   (e->constant ||
                    word_quiet(x, word_of(x, (const uint64_t *)(uintptr_t)e->local), USE_SOURCE));
        return e->kind == BATON_NIC_GET &&
               (is_gfence(&q->parts[at]) ||
                word_quiet(x, word_of(x, (const uint64_t *)(uintptr_t)e->remote),
                           USE_REMOTE_READ) ||
                future_nic(x, q, at, step));
    case BATON_NIC_START:
        return starts_quietly(q, at);
    case BATON_NIC_LEAVE:
        return !fetches || (all_landed(q, at) && lands_quietly(x, q, at));
    case BATON_NIC_LAND:
        return lands_quietly(x, q, at);
    case BATON_NIC_COMMIT:
        return future_nic(x, q, at, step);
    default:
        return false;
    }
}

static void nic_take(struct explore *x, struct sim_qp *q, unsigned at, enum baton_nic_step step)
{
    const struct sim_part *part = &q->parts[at];
    unsigned thread = q->ep->thread->number;
    /* The value of a gfence's get means nothing. */
    bool gfence = is_gfence(part);
    if (x->telling)
        tell_nic(x, q, at, step);
    if (gfence && step == BATON_NIC_LAND) {
        q->values[at].to_local = 0;
        x->constant = true;
    }
    touch(x, thread);
    if (!gfence && step == BATON_NIC_LAND)
        word_lands(x, q->entries[at].local, thread);
    sim_nic_apply(x->s, q, at, step);
    x->constant = false;
    if (x->s->silent_n)
        explore_violated(x, "thread %u: %s", thread, sim_silent_text(x->s));
}

static bool settle_qp(struct explore *x, struct sim_qp *q)
{
    bool any = false;
again:
    for (unsigned at = 0; at < q->nic.n && !over(x); at++)
        for (int step = 0; step < BATON_NIC_POLL; step++)
            if (!(q->flags[at] >> step & 1) &&
                sim_nic_ready(x->s, q, at, (enum baton_nic_step)step, NULL) &&
                nic_quiet(x, q, at, (enum baton_nic_step)step)) {
                record(x, (struct sim_step){.kind = SIM_STEP_NIC,
                                            .thread = (uint8_t)q->ep->thread->number,
                                            .at = (uint8_t)at,
                                            .step = (uint8_t)step,
                                            .quiet = 1,
                                            .node = (uint16_t)q->node});
                nic_take(x, q, at, (enum baton_nic_step)step);
                any = true;
                goto again;
            }
    return any;
}

static bool settle_qps(struct explore *x, struct sim_thread *t)
{
    struct sim_ep *e = explore_ep(t);
    bool any = false;
    for (unsigned n = 0; e && e->busy && n < x->nodes; n++) {
        struct sim_qp *q = sim_qp_known(e, n);
        if (q && q->nic.n)
            any |= settle_qp(x, q);
    }
    return any;
}

/*
 * A turn that has read what is no longer so: the relax at its end will return at once, whatever else it has
 * read, and even if the word becomes again what it was: to return is always allowed. So what it has read is
 * of no importance any more.
 */
static void forget_changed_turns(struct explore *x)
{
    for (unsigned i = 0; i < x->threads; i++) {
        struct sim_thread *t = x->s->threads[i];
        if (x->extra[i].relaxes && t->reads_n && t->reads_n <= SIM_READS_MAX &&
            sim_turn_changed(t)) {
            touch(x, i);
            t->reads_n = TURN_CHANGED;
        }
    }
}

void steps_settle(struct explore *x)
{
    struct sim *s = x->s;
    bool any = !over(x) && !x->ask->follow;
    while (any) {
        any = false;
        for (unsigned t = 0; t < x->threads; t++) {
            /* What a thread and its queue pairs can do at once depends on themselves only, but for the end
             * of a relax, which depends on memory. */
            if (!x->futures && !(x->touched >> t & 1) && s->threads[t]->state != SIM_RELAX)
                continue;
            bool moved = settle_thread(x, s->threads[t]);
            moved |= settle_qps(x, s->threads[t]);
            if (moved)
                any = true;
            else
                x->touched &= ~(1u << t);
        }
        any &= !over(x);
    }
}

/* ---- Visible steps */

static bool can_step(struct explore *x, struct sim_thread *t)
{
    switch (t->state) {
    case SIM_READY:
        return !t->buffer_n || (t->next.act != SIM_ACT_RMW && t->next.act != SIM_ACT_FENCE);
    case SIM_WORK:
    case SIM_CONDS:
    case SIM_RELAX:
        return sim_has_come(x->s, t);
    default:
        return false;
    }
}

static bool can_time_out(const struct sim_thread *t)
{
    return (t->state == SIM_CONDS || t->state == SIM_RELAX) && t->wait->deadline_ns != BATON_NEVER;
}

static bool can_preempt(struct explore *x, struct sim_thread *t)
{
    return x->ask->context_bound < 0 || x->last < 0 || (unsigned)x->last == t->number ||
           x->preemptions < (unsigned)x->ask->context_bound || !can_step(x, x->s->threads[x->last]);
}

static void list_add(struct explore *x, struct sim_step *out, unsigned *n, struct sim_step step)
{
    if (*n == STEPS_MAX)
        explore_give_up(x, "too many steps are possible in one state");
    else
        out[(*n)++] = step;
}

unsigned steps_list(struct explore *x, struct sim_step *out)
{
    unsigned n = 0;
    for (uint8_t i = 0; i < x->threads; i++) {
        struct sim_thread *t = x->s->threads[i];
        struct sim_ep *e = explore_ep(t);
        if (can_step(x, t)) {
            if (can_preempt(x, t))
                list_add(x, out, &n, (struct sim_step){.kind = SIM_STEP_THREAD, .thread = i});
            else
                x->ask->verdict = SIM_UNKNOWN;
        }
        if (can_time_out(t))
            list_add(x, out, &n, (struct sim_step){.kind = SIM_STEP_TIMEOUT, .thread = i});
        if (sim_can_flush(x->s, t))
            list_add(x, out, &n, (struct sim_step){.kind = SIM_STEP_STORE, .thread = i});
        for (unsigned node = 0; e && node < x->nodes; node++) {
            struct sim_qp *q = sim_qp_known(e, node);
            for (unsigned at = 0; q && at < q->nic.n; at++)
                for (uint8_t step = 0; step < BATON_NIC_POLL; step++)
                    if (!(q->flags[at] >> step & 1) &&
                        sim_nic_ready(x->s, q, at, (enum baton_nic_step)step, NULL))
                        list_add(x, out, &n,
                                 (struct sim_step){.kind = SIM_STEP_NIC,
                                                   .thread = i,
                                                   .at = (uint8_t)at,
                                                   .step = step,
                                                   .node = (uint16_t)node});
        }
    }
    return n;
}

static void take_thread(struct explore *x, struct sim_thread *t, int wake_rc)
{
    used_by_act(x, t);
    if (wake_rc)
        t->wake_rc = wake_rc;
    if (x->ask->context_bound >= 0) {
        if (x->last >= 0 && (unsigned)x->last != t->number && can_step(x, x->s->threads[x->last]))
            x->preemptions++;
        x->last = (int)t->number;
    }
    go(x, t);
}

void step_take(struct explore *x, const struct sim_step *step)
{
    struct sim_thread *t = x->s->threads[step->thread];
    x->choices.n = 0;
    x->choices.given = step->choices_n;
    memcpy(x->choices.choice, step->choice, step->choices_n);
    if (x->recording) {
        struct sim_step alone = *step;
        alone.choices_n = 0;
        record(x, alone);
    }
    if (x->telling)
        tell_step(x, step);
    switch (step->kind) {
    case SIM_STEP_THREAD:
        fire(x, step->thread, ~0u, step->quiet);
        /* Its condition decides how its wait ends. */
        if (t->state != SIM_READY)
            (void)sim_has_come(x->s, t);
        take_thread(x, t, 0);
        break;
    case SIM_STEP_TIMEOUT:
        fire(x, step->thread, ~0u, step->quiet);
        take_thread(x, t, -ETIMEDOUT);
        break;
    case SIM_STEP_STORE:
        fire(x, step->thread, explore_buffered(t, 0)->op.flags >> MARK_SHIFT, step->quiet);
        flush(x, t);
        break;
    case SIM_STEP_NIC: {
        struct sim_qp *q = sim_qp_known(explore_ep(t), step->node);
        fire(x, step->thread, q->parts[step->at].op.flags >> MARK_SHIFT, step->quiet);
        nic_take(x, q, step->at, (enum baton_nic_step)step->step);
        break;
    }
    default:
        break;
    }
    if (x->s->silent_n)
        explore_violated(x, "thread %u: %s", step->thread, sim_silent_text(x->s));
    steps_settle(x);
    forget_changed_turns(x);
}

bool explore_done(const struct explore *x)
{
    bool done = !x->s->alive && !x->s->busy_n;
    for (unsigned t = 0; t < x->threads; t++)
        done &= !x->s->threads[t]->buffer_n;
    return done;
}

/* ---- What bodies and observers say */

static struct explore *running(struct baton_ep *ep)
{
    struct baton_cluster *cluster = baton_ep_cluster(ep);
    struct sim *s = cluster->ops == &baton_world_sim ? cluster->world : NULL;
    return s && s->driver == &sim_driver_exhaustive && s->current ? explore_of(s) : NULL;
}

void baton_check_fail(struct baton_ep *ep, const char *text)
{
    struct explore *x = running(ep);
    if (x)
        explore_violated(x, "%s", text ? text : "the body says so");
}

void sim_explore_when(struct baton_ep *ep, unsigned events)
{
    struct explore *x = running(ep);
    if (x)
        x->armed[x->s->current->number] |= events;
}

void sim_explore_now(struct baton_ep *ep)
{
    struct explore *x = running(ep);
    if (x)
        events_come(x, x->s->current->number);
}

void baton_check_note(struct baton_ep *ep, const char *text)
{
    struct explore *x = running(ep);
    if (x && x->telling && text)
        tell_note(x, x->s->current->number, text);
}

void sim_explore_knows(struct baton_ep *ep, const uint64_t *values, unsigned n)
{
    struct explore *x = running(ep);
    if (!x)
        return;
    struct thread_extra *extra = &x->extra[x->s->current->number];
    for (unsigned p = 0; p < x->permutations; p++) {
        uint64_t h = n;
        for (unsigned i = 0; i < n; i++)
            h = hash2(h, word_map(x, p, values[i]));
        h = hash2(h, ep_knows(x, baton_epx(ep), p));
        if (x->ask->self_check)
            extra->said = h;
        else
            extra->digest[p] = h;
    }
}

void sim_explore_forget(struct baton_ep *ep, const uint64_t *values, unsigned n)
{
    struct explore *x = running(ep);
    if (!x)
        return;
    if (!x->ask->self_check)
        x->s->current->reads_n = 0;
    sim_explore_knows(ep, values, n);
}

/* ---- The driver's table; what opens and runs is in explore.c */

const struct sim_driver sim_driver_exhaustive = {
    .name = "exhaustive",
    .open = explore_open,
    .close = explore_close,
    .run = explore_run,
    .now = explore_now,
    .at_once = at_once,
    .buffered = buffered,
    .posted = posted,
    .relax = relax,
    .reads = true,
    .describe = describe,
    .choose = choose,
    .looks = true,
    .write = word_write,
    .saw = thread_saw,
};
