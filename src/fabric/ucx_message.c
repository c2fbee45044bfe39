/* SPDX-License-Identifier: MIT */
/*
 * Messages between workers: who sends has a connection of its own to the other worker, made from its address,
 * so two that talk have one each.
 *
 * What UCX 1.13 does itself about two ends of one connection does not survive that a peer is killed meanwhile:
 * its listeners and the addresses that it sends around for replies end the process by an assertion now and then.
 * Neither is used here, nor anything that needs to know the other end (active messages): a connection is made
 * by connecting a socket, which does not block (ucx.c), and tagged messages go over it that are not larger
 * than what UCX sends in one piece.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "fabric/ucx_world.h"

#define WHOLE_TAG UINT64_MAX

/* A message of which a piece is missing: its sender may be gone. */
struct ucx_part {
    struct ucx_part *next;
    ucs_status_ptr_t request;
    size_t bytes;
    uint64_t *buffer;
};

int baton_ucx_worker_open(struct ucx_world *w, ucp_worker_h *out)
{
    ucp_worker_params_t p = {.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE,
                             .thread_mode = UCS_THREAD_MODE_SERIALIZED};
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    ucs_status_t status = UCX(ucp_worker_create)(w->context, &p, out);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return status ? baton_fail(-ENOMEM, "UCX makes no worker: %s; look at ulimit -n",
                               UCX(ucs_status_string)(status))
                  : 0;
}

int baton_ucx_ear_open(struct ucx_ear *e)
{
    e->parts = NULL;
    e->address = NULL;
    e->buffer = malloc(UCX_MESSAGE_MAX);
    if (!e->buffer)
        return -ENOMEM;
    ucs_status_t status = UCX(ucp_worker_get_efd)(e->worker, &e->wake);
    if (!status)
        status = UCX(ucp_worker_get_address)(e->worker, &e->address, &e->address_bytes);
    if (!status && e->address_bytes <= UCX_ADDRESS_MAX)
        return 0;
    free(e->buffer);
    e->buffer = NULL;
    if (status)
        return baton_fail(baton_ucx_errno(status), "no events or no address: %s",
                          UCX(ucs_status_string)(status));
    UCX(ucp_worker_release_address)(e->worker, e->address);
    return baton_fail(-E2BIG,
                      "UCX's address has %zu bytes, of at most %u; name fewer devices with dev=",
                      e->address_bytes, UCX_ADDRESS_MAX);
}

void baton_ucx_ear_close(struct ucx_ear *e)
{
    UCX(ucp_worker_release_address)(e->worker, e->address);
    UCX(ucp_worker_destroy)(e->worker);
    e->worker = NULL;
    while (e->parts) {
        struct ucx_part *p = e->parts;
        e->parts = p->next;
        free(p->buffer);
        free(p);
    }
    free(e->buffer);
    e->buffer = NULL;
}

/* ---- Receiving */

/* Those whose last piece has come. */
static bool hear_parts(struct ucx_ear *e)
{
    bool any = false;
    for (struct ucx_part **at = &e->parts; *at;) {
        struct ucx_part *p = *at;
        ucs_status_t status = UCX(ucp_request_check_status)(p->request);
        if (status == UCS_INPROGRESS) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        UCX(ucp_request_free)(p->request);
        if (!status)
            e->heard(e->arg, p->buffer, p->bytes);
        free(p->buffer);
        free(p);
        any = true;
    }
    return any;
}

/* The buffer goes with it. Without memory for another one the message is lost, as if its sender were. */
static void keep_part(struct ucx_ear *e, ucs_status_ptr_t request, size_t bytes)
{
    struct ucx_part *p = malloc(sizeof(*p)), **end = &e->parts;
    uint64_t *buffer = malloc(UCX_MESSAGE_MAX);
    if (!p || !buffer) {
        free(p);
        free(buffer);
        return;
    }
    while (*end)
        end = &(*end)->next;
    *p = (struct ucx_part){.request = request, .bytes = bytes, .buffer = e->buffer};
    *end = p;
    e->buffer = buffer;
}

bool baton_ucx_ear_progress(struct ucx_ear *e)
{
    const ucp_request_param_t p = {0};
    ucp_tag_recv_info_t info;
    ucp_tag_message_h message;
    bool any = UCX(ucp_worker_progress)(e->worker) != 0;
    if (e->parts)
        any |= hear_parts(e);
    while ((message = UCX(ucp_tag_probe_nb)(e->worker, e->tag, WHOLE_TAG, 1, &info))) {
        ucs_status_ptr_t r =
            UCX(ucp_tag_msg_recv_nbx)(e->worker, e->buffer, UCX_MESSAGE_MAX, message, &p);
        any = true;
        if (UCS_PTR_IS_PTR(r))
            keep_part(e, r, info.length);
        else if (!r)
            e->heard(e->arg, e->buffer, info.length);
    }
    return any;
}
