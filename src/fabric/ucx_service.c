/* SPDX-License-Identifier: MIT */
/*
 * The service of a node: a worker and its thread, which executes what comes in, and sleeps when nothing
 * does. In mode rma UCX executes by itself while this thread makes progress, and only hellos and looks come
 * in here.
 *
 * Requests are bytes of another process until their lengths and places fit; one that makes no sense is
 * dropped, and who waits for its answer runs into a deadline.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "fabric/ucx_service.h"

/*
 * Turns without an event before it sleeps: some tens of microseconds. More while somebody waits for what a
 * message will change: to be woken for it would be on the way of every hand-over.
 */
enum { SPINS = 64, SPINS_HELD = 160 };

/* How long nothing has come before those are told that were not answered. */
#define QUIET_NS 5000000u

/* How long it sleeps while something is held. */
#define NAP_LEAST_NS 50000u
#define NAP_MOST_NS 1000000u

/* ---- rma: where memory is */

static size_t add_memory(struct ucx_service *s, const void *memory, const struct ucx_key *key,
                         struct ucx_answer *a)
{
    struct ucx_memory *m = (struct ucx_memory *)(a + 1);
    size_t size = sizeof(*a) + sizeof(*m) + key->bytes;
    if (size > UCX_MESSAGE_MAX)
        return 0;
    *m = (struct ucx_memory){(uintptr_t)memory, *s->n->gone, key->bytes};
    memcpy(m->key, key->packed, key->bytes);
    return size;
}

static size_t on_look(struct ucx_service *s, const struct ucx_request *q, struct ucx_answer *a)
{
    struct baton_segment there;
    if (!baton_ucx_find(s->n, q->offset, &there)) {
        a->rc = -EKEYREJECTED;
        return sizeof(*a);
    }
    a->base = there.base;
    a->bytes = there.bytes;
    a->rights = there.rights;
    return there.world ? add_memory(s, there.memory, there.world, a) : 0;
}

/* ---- What comes in */

static size_t on_kind(struct ucx_service *s, const struct ucx_request *q, const char *end,
                      struct ucx_inbound *from, struct ucx_answer *a)
{
    if (q->kind == UCX_HELLO) {
        a->rc = q->life == s->n->life ? 0 : -EHOSTDOWN;
        return a->rc || !s->n->gone_key ? sizeof(*a) : add_memory(s, s->n->gone, s->n->gone_key, a);
    }
    if (q->life != s->n->life)
        return 0;
    return q->kind == UCX_CHAIN  ? baton_ucx_chain(s, q, end, from, a)
           : q->kind == UCX_LOOK ? on_look(s, q, a)
                                 : 0;
}

void baton_ucx_service_request(struct ucx_inbound *from, const struct ucx_request *q,
                               const char *end)
{
    struct ucx_service *s = from->service;
    struct ucx_answer *a = baton_ucx_answer_begin(s, q->token, q->number, q->kind);
    size_t size = a ? on_kind(s, q, end, from, a) : 0;
    if (size && q->flags & UCX_QUIET && !a->rc) {
        from->quiet = q->number;
        s->quiet = true;
    } else if (size) {
        from->quiet = 0;
        baton_ucx_answer(s, from->ucp, size);
    }
    if (q->kind == UCX_CHAIN)
        baton_ucx_held_look(s);
}

static void on_request(void *arg, const void *message, size_t bytes)
{
    struct ucx_service *s = arg;
    const struct ucx_request *q = message;
    if (bytes < sizeof(*q) || q->from >= s->n->world->cluster->nodes)
        return;
    if (q->kind == UCX_HELLO) {
        baton_ucx_inbound_hello(s, q, bytes - sizeof(*q));
        return;
    }
    struct ucx_inbound *from = baton_ucx_inbound_find(s, q);
    if (from)
        baton_ucx_service_request(from, q, (const char *)q + bytes);
}

/* ---- The thread */

static bool progress(struct ucx_service *s)
{
    pthread_rwlock_rdlock(&s->n->memory);
    bool any = baton_ucx_ear_progress(&s->ear);
    if (!any)
        baton_ucx_held_look(s); /* what came in has looked itself */
    pthread_rwlock_unlock(&s->n->memory);
    baton_native_wake(s->n->node, s->wrote);
    s->wrote = 0;
    baton_ucx_inbound_close(s, false);
    return any;
}

/*
 * Until something comes in. What threads of the host do to words that somebody waits for tells nobody, so these
 * are looked at ever more seldom, from *nap_ns on. Who was not answered is told when nothing else is to do.
 */
static void sleep_here(struct ucx_service *s, uint64_t *nap_ns)
{
    const uint64_t ns = s->held_n ? *nap_ns : s->quiet ? QUIET_NS : BATON_NEVER;
    if (baton_word_load(&s->stop) || baton_ucx_sleep(&s->ear, ns))
        return;
    *nap_ns = ns < NAP_MOST_NS ? 2 * ns : NAP_MOST_NS;
    if (!s->held_n)
        baton_ucx_answer_quiet(s);
}

static void *serve(void *arg)
{
    struct ucx_service *s = arg;
    uint64_t nap_ns = NAP_LEAST_NS;
    for (unsigned idle = 0; !baton_word_load(&s->stop);) {
        if (progress(s)) {
            idle = 0;
            nap_ns = NAP_LEAST_NS;
        } else if (++idle < (s->held_n ? SPINS_HELD : SPINS)) {
            baton_cpu_pause();
        } else {
            sleep_here(s, &nap_ns);
            idle = 0;
        }
        if (baton_word_load(&s->sweep) && baton_word_swap(&s->sweep, 0))
            baton_ucx_inbound_sweep(s);
    }
    baton_ucx_answer_quiet(s);
    do { /* one more may come meanwhile */
        baton_ucx_inbound_close(s, true);
        progress(s);
    } while (s->closing || s->inbound_n);
    return NULL;
}

static void wake(struct ucx_service *s, uint64_t *flag)
{
    baton_word_store(flag, 1);
    UCX(ucp_worker_signal)(s->ear.worker);
}

void baton_ucx_service_sweep(struct ucx_node *n)
{
    wake(n->service, &n->service->sweep);
}

/* ---- Open, close */

static int start(struct ucx_service *s)
{
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int rc = -pthread_create(&s->thread, NULL, serve, s);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc ? baton_fail(rc, "the thread that serves node %u could not be made: %s",
                           s->n->node->index, strerror(-rc))
              : 0;
}

int baton_ucx_service_open(struct ucx_node *n, struct ucx_card *card)
{
    struct ucx_service *s = calloc(1, sizeof(*s));
    if (!s)
        return -ENOMEM;
    s->n = n;
    n->service = s;
    s->ear = (struct ucx_ear){.tag = UCX_TAG_REQUEST, .heard = on_request, .arg = s};
    int rc = baton_ucx_worker_open(n->world, &s->ear.worker);
    if (rc)
        goto no_worker;
    rc = baton_ucx_ear_open(&s->ear);
    if (rc)
        goto no_ear;
    card->bytes = s->ear.address_bytes;
    memcpy(card->address, s->ear.address, s->ear.address_bytes);
    rc = start(s);
    if (!rc)
        return 0;
    baton_ucx_ear_close(&s->ear);
    goto no_worker;
no_ear:
    UCX(ucp_worker_destroy)(s->ear.worker);
no_worker:
    free(s);
    return rc;
}

void baton_ucx_service_close(struct ucx_node *n)
{
    struct ucx_service *s = n->service;
    wake(s, &s->stop);
    pthread_join(s->thread, NULL);
    baton_ucx_ear_close(&s->ear);
    free(s->out);
    free(s);
}
