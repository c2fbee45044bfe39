/* SPDX-License-Identifier: MIT */
/*
 * A tree of runs with sleep sets; see second.h.
 *
 * At a node of the tree every step that is possible is followed, one after the other. A step that was followed
 * goes to sleep for its younger siblings, and stays asleep as long as only steps are taken that it is
 * independent of: what would come of it then has come already. Two steps are independent if no place that one
 * of them writes is read or written by the other. Places are words of memory, store buffers, read-modify-write
 * units, per thread all that it knows, its endpoint included, and three things of a queue pair:
 *
 *     whether it is empty    a post behind an rfence looks
 *     its remote writes      a remote read must not come between the start of a write and its end
 *     its local writes       the source of a put must not be read while what older fetches brought has not landed
 *
 * Otherwise what one entry does only makes more possible for the others.
 */
#include "second.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PLACES_MAX 40u

struct touched {
    unsigned n;
    struct {
        uintptr_t place;
        bool written;
    } at[PLACES_MAX];
};

struct asleep {
    struct second_step step;
    struct touched touched;
};

struct node {
    struct second_step step[SECOND_STEPS_MAX];
    struct touched touched[SECOND_STEPS_MAX]; /* of steps that have been followed */
    bool skip[SECOND_STEPS_MAX];              /* asleep when the node was reached */
    unsigned n, next;
    struct asleep *sleep; /* when the node was reached */
    unsigned sleep_n, sleep_room;
};

struct tree {
    struct node **node;
    size_t depth, room;
};

/* ---- What a step touches */

static void touch(struct touched *t, const void *place, bool written)
{
    if (t->n == PLACES_MAX)
        abort();
    t->at[t->n].place = (uintptr_t)place;
    t->at[t->n++].written = written;
}

static void touch_thread(struct sim_thread *t, struct touched *out)
{
    touch(out, t, true);
    switch (t->state) {
    case SIM_READY:
        if (t->next.act == SIM_ACT_LOAD || t->next.act == SIM_ACT_RMW)
            touch(out, t->next.word, t->next.act == SIM_ACT_RMW);
        break;
    case SIM_CONDS:
        for (unsigned i = 0; i < t->conds_n; i++)
            touch(out, t->conds[i].word, false);
        break;
    case SIM_RELAX:
        for (unsigned i = 0; i < t->reads_n && i < SIM_READS_MAX; i++)
            touch(out, t->reads[i].word, false);
        break;
    default:
        break;
    }
}

static void touch_nic(struct second *w, const struct second_step *step, struct touched *out)
{
    struct sim_thread *thread = w->s->threads[step->thread];
    unsigned at;
    struct sim_qp *q = second_qp(w, step, &at);
    const struct baton_nic_entry *e = &q->entries[at];
    const void *remote = (const void *)(uintptr_t)e->remote;
    const void *local = (const void *)(uintptr_t)e->local;
    bool put = e->kind == BATON_NIC_PUT,
         rmw = e->kind == BATON_NIC_RCAS || e->kind == BATON_NIC_RFAA;
    touch(out, q, false);
    switch (step->step) {
    case BATON_NIC_READ:
        touch(out, put ? &q->values : (void *)&q->entries, false);
        if (!put || local)
            touch(out, put ? local : remote, false);
        if (rmw)
            touch(out, &w->s->units[step->node], true);
        if (!put && w->p->polls)
            touch(out, thread, true); /* its turn has read that */
        break;
    case BATON_NIC_START:
        touch(out, &q->entries, true);
        if (put)
            touch(out, thread, true); /* it is accepted */
        break;
    case BATON_NIC_LEAVE:
        if (!put)
            touch(out, &q->values, true);
        break;
    case BATON_NIC_COMMIT:
        touch(out, remote, true);
        if (rmw)
            touch(out, &w->s->units[step->node], true);
        break;
    case BATON_NIC_LAND:
        touch(out, local, true);
        touch(out, thread, true);
        break;
    default:
        break;
    }
}

/* Asked before the step is taken. */
static void touches(struct second *w, const struct second_step *step, struct touched *out)
{
    struct sim_thread *t = w->s->threads[step->thread];
    out->n = 0;
    if (step->kind == SECOND_THREAD) {
        touch_thread(t, out);
    } else if (step->kind == SECOND_STORE) {
        const struct sim_buffered *b = &t->buffer[t->buffer_first];
        touch(out, t->buffer, true);
        if (b->word)
            touch(out, b->word, true);
        else
            touch(out, sim_qp_known(b->ep, b->op.node), b->op.flags & BATON_OPF_RFENCE);
    } else {
        touch_nic(w, step, out);
    }
}

static bool independent(const struct touched *a, const struct touched *b)
{
    for (unsigned i = 0; i < a->n; i++)
        for (unsigned j = 0; j < b->n; j++)
            if (a->at[i].place == b->at[j].place && (a->at[i].written || b->at[j].written))
                return false;
    return true;
}

static bool same(const struct second_step *a, const struct second_step *b)
{
    return a->kind == b->kind && a->thread == b->thread && a->choice == b->choice &&
           (a->kind != SECOND_NIC ||
            (a->node == b->node && a->entry == b->entry && a->step == b->step));
}

/* ---- The tree */

static void sleep_add(struct node *n, const struct second_step *step, const struct touched *touched)
{
    if (n->sleep_n == n->sleep_room) {
        n->sleep_room = n->sleep_room ? 2 * n->sleep_room : 16;
        n->sleep = realloc(n->sleep, n->sleep_room * sizeof(*n->sleep));
        if (!n->sleep)
            abort();
    }
    n->sleep[n->sleep_n++] = (struct asleep){*step, *touched};
}

/* Behind the step that the parent has just followed; null: the root. */
static void push(struct second *w, struct tree *tree, const struct node *parent)
{
    if (tree->depth == tree->room) {
        size_t room = tree->room ? 2 * tree->room : 64;
        tree->node = realloc(tree->node, room * sizeof(struct node *));
        if (!tree->node)
            abort();
        memset(tree->node + tree->room, 0, (room - tree->room) * sizeof(struct node *));
        tree->room = room;
    }
    if (!tree->node[tree->depth])
        tree->node[tree->depth] = calloc(1, sizeof(struct node));
    struct node *n = tree->node[tree->depth++];
    if (!n)
        abort();
    n->n = second_steps(w, n->step);
    n->next = 0;
    n->sleep_n = 0;
    memset(n->skip, 0, sizeof(n->skip));
    if (!n->n) {
        w->out->runs++;
        if (second_ended(w))
            w->p->end(w->p->arg);
        else
            w->out->stuck = true;
    }
    if (!parent)
        return;
    unsigned taken = parent->next - 1;
    for (unsigned i = 0; i < parent->sleep_n; i++)
        if (independent(&parent->sleep[i].touched, &parent->touched[taken]))
            sleep_add(n, &parent->sleep[i].step, &parent->sleep[i].touched);
    for (unsigned i = 0; i < taken; i++)
        if (!parent->skip[i] && independent(&parent->touched[i], &parent->touched[taken]))
            sleep_add(n, &parent->step[i], &parent->touched[i]);
    for (unsigned i = 0; i < n->n; i++)
        for (unsigned k = 0; k < n->sleep_n; k++)
            n->skip[i] |= same(&n->step[i], &n->sleep[k].step);
}

/* To the node on top, from the beginning. */
static void replay(struct second *w, const struct tree *tree)
{
    second_load(w, &w->first);
    for (size_t i = 0; i + 1 < tree->depth; i++)
        second_take(w, &tree->node[i]->step[tree->node[i]->next - 1]);
}

static void search(struct second *w)
{
    struct tree tree = {0};
    bool here = true;
    push(w, &tree, NULL);
    while (tree.depth && !w->out->failed && w->out->complete) {
        struct node *n = tree.node[tree.depth - 1];
        while (n->next < n->n && n->skip[n->next])
            n->next++;
        if (n->next == n->n) {
            tree.depth--;
            here = false;
            continue;
        }
        if (!here)
            replay(w, &tree);
        unsigned i = n->next++;
        touches(w, &n->step[i], &n->touched[i]);
        second_take(w, &n->step[i]);
        push(w, &tree, n);
        here = true;
        w->out->complete = w->out->runs < w->bound && w->out->steps < 50 * w->bound;
    }
    if (!w->out->complete)
        snprintf(w->out->text, sizeof(w->out->text), "the bound on runs was reached");
    for (size_t i = 0; i < tree.room && tree.node[i]; i++) {
        free(tree.node[i]->sleep);
        free(tree.node[i]);
    }
    free(tree.node);
}

int second_sleep(const struct second_program *p, uint64_t runs_max, struct second_result *out)
{
    struct second w = {.p = p, .search = search, .out = out, .bound = runs_max};
    *out = (struct second_result){0};
    return second_run(&w);
}
