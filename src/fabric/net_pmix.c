/* SPDX-License-Identifier: MIT */
/*
 * A net of the processes that mpirun or Slurm has started. Rank 0 founds it with a secret of its own
 * making, and the launcher, which knows its processes, hands address and secret to the others; from
 * there on it is a rendezvous like any other. Rank r is the nodes r * local and those behind it.
 *
 * The ties to the launcher are kept until the net is closed: a process can not always take them up
 * again, and may want to, for MPI.
 */
#include "fabric/net_bootstrap.h"

#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <pmix.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "fabric/rendezvous.h"

/* "host:port key" of node 0, or "!words" when it has failed. */
#define NOTE_BYTES 256u

bool baton_net_has_pmix(void)
{
    return true;
}

bool baton_net_pmix_present(void)
{
    return getenv("PMIX_NAMESPACE") && getenv("PMIX_RANK");
}

static int fail(pmix_status_t status, const char *doing)
{
    return baton_fail(-EIO, "%s through PMIx: %s", doing, PMIx_Error_string(status));
}

static int number_of_job(const pmix_proc_t *me, const char *key, unsigned *out)
{
    pmix_proc_t job;
    pmix_value_t *value;
    PMIX_PROC_LOAD(&job, me->nspace, PMIX_RANK_WILDCARD);
    pmix_status_t status = PMIx_Get(&job, key, NULL, 0, &value);
    if (status != PMIX_SUCCESS)
        return fail(status, "asking for the size of the job");
    int rc =
        value->type == PMIX_UINT32 ? 0 : baton_fail(-EIO, "the launcher's %s is no number", key);
    if (!rc)
        *out = value->data.uint32;
    PMIX_VALUE_RELEASE(value);
    return rc;
}

/* The first address of this machine that others may know: IPv4, else IPv6 of a wider scope. */
static int own_address(char out[RENDEZVOUS_ADDRESS])
{
    struct ifaddrs *list;
    int rc = -EADDRNOTAVAIL;
    if (getifaddrs(&list))
        return baton_fail(-errno, "the addresses of this machine: %s", strerror(errno));
    for (const struct ifaddrs *i = list; i && rc; i = i->ifa_next) {
        if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET || i->ifa_flags & IFF_LOOPBACK ||
            !(i->ifa_flags & IFF_UP))
            continue;
        rc = getnameinfo(i->ifa_addr, sizeof(struct sockaddr_in), out, RENDEZVOUS_ADDRESS - 8, NULL,
                         0, NI_NUMERICHOST)
                 ? -EADDRNOTAVAIL
                 : 0;
    }
    freeifaddrs(list);
    return rc ? baton_fail(rc, "this machine has no address for others; pmix=HOST sets one") : 0;
}

static int found(struct rendezvous_opts *opts, const pmix_proc_t *me, const char *host,
                 unsigned ranks, char note[NOTE_BYTES], struct baton_net **out)
{
    char address[RENDEZVOUS_ADDRESS] = "127.0.0.1", at[RENDEZVOUS_ADDRESS + 8];
    char where[RENDEZVOUS_ADDRESS], key[2 * NET_KEY_BYTES + 1];
    unsigned here;
    int rc = sodium_init() < 0 ? baton_fail(-EIO, "libsodium finds no source of randomness")
                               : number_of_job(me, PMIX_LOCAL_SIZE, &here);
    if (!rc && host)
        snprintf(address, sizeof(address), "%s", host);
    else if (!rc && here != ranks)
        rc = own_address(address);
    if (rc)
        return rc;
    randombytes_buf(opts->key, sizeof(opts->key));
    snprintf(at, sizeof(at), strchr(address, ':') ? "[%s]:0" : "%s:0", address);
    opts->at = at;
    rc = baton_rendezvous_found(opts, out, where);
    sodium_bin2hex(key, sizeof(key), opts->key, sizeof(opts->key));
    if (!rc)
        snprintf(note, NOTE_BYTES, "%s %s", where, key);
    sodium_memzero(key, sizeof(key));
    return rc;
}

static int put_note(const char *name, char *note)
{
    pmix_value_t value;
    PMIX_VALUE_LOAD(&value, note, PMIX_STRING);
    pmix_status_t status = PMIx_Put(PMIX_GLOBAL, name, &value);
    PMIX_VALUE_DESTRUCT(&value);
    if (status == PMIX_SUCCESS)
        status = PMIx_Commit();
    return status == PMIX_SUCCESS ? 0 : fail(status, "telling where node 0 is");
}

/*
 * All ranks come here, also those that have failed: nobody must wait for them for ever. Some may have failed before
 * that, or be busy with something else.
 */
static int meet(unsigned join_ms)
{
    pmix_info_t info[2];
    bool collect = true;
    int seconds = (int)((join_ms + 999) / 1000);
    PMIX_INFO_LOAD(&info[0], PMIX_COLLECT_DATA, &collect, PMIX_BOOL);
    PMIX_INFO_LOAD(&info[1], PMIX_TIMEOUT, &seconds, PMIX_INT);
    pmix_status_t status = PMIx_Fence(NULL, 0, info, 2);
    PMIX_INFO_DESTRUCT(&info[0]);
    PMIX_INFO_DESTRUCT(&info[1]);
    if (status == PMIX_ERR_TIMEOUT)
        return baton_fail(-ETIMEDOUT, "not all ranks have come in %d s (join_ms)", seconds);
    return status == PMIX_SUCCESS ? 0 : fail(status, "meeting the other ranks");
}

static int get_note(const pmix_proc_t *me, const char *name, char note[NOTE_BYTES])
{
    pmix_proc_t rank_0;
    pmix_value_t *value;
    PMIX_PROC_LOAD(&rank_0, me->nspace, 0);
    pmix_status_t status = PMIx_Get(&rank_0, name, NULL, 0, &value);
    if (status != PMIX_SUCCESS)
        return fail(status, "asking where node 0 is");
    if (value->type == PMIX_STRING)
        snprintf(note, NOTE_BYTES, "%s", value->data.string);
    PMIX_VALUE_RELEASE(value);
    return *note ? 0 : baton_fail(-EIO, "rank 0 has not told where node 0 is");
}

static int join(struct rendezvous_opts *opts, char note[NOTE_BYTES], struct baton_net **out)
{
    size_t size;
    char *space = strchr(note, ' ');
    if (*note == '!')
        return baton_fail(-EHOSTDOWN, "rank 0 has failed: %s", note + 1);
    if (!space ||
        sodium_hex2bin(opts->key, sizeof(opts->key), space + 1, strlen(space + 1), NULL, &size,
                       NULL) ||
        size != sizeof(opts->key))
        return baton_fail(-EPROTO, "rank 0 runs another version of this library");
    *space = 0;
    opts->at = note;
    return baton_rendezvous_join(opts, out);
}

static void finalize(void)
{
    PMIx_Finalize(NULL, 0);
}

int baton_net_pmix_open(const struct baton_cluster_opts *given, const char *fabric,
                        unsigned join_ms, const char *host, struct baton_net **out)
{
    pmix_proc_t me;
    unsigned ranks = 0, local = given->local ? given->local : 1;
    char note[NOTE_BYTES] = "", name[128];
    int rc;
    if (!baton_net_pmix_present())
        return baton_fail(-EOPNOTSUPP, "no launcher that speaks PMIx has started this process");
    pmix_status_t status = PMIx_Init(&me, NULL, 0);
    if (status != PMIX_SUCCESS)
        return fail(status, "speaking to the launcher");
    snprintf(name, sizeof(name), "baton.%s.%s", fabric, given->name ? given->name : "");
    rc = number_of_job(&me, PMIX_JOB_SIZE, &ranks);
    struct rendezvous_opts opts = {.fabric = fabric,
                                   .nodes = given->nodes ? given->nodes : ranks * local,
                                   .local = local,
                                   .join_ms = join_ms};
    if (!rc && opts.nodes > BATON_NET_NODES_MAX)
        rc = baton_fail(-EINVAL, "%u nodes: a cluster of processes has at most %u", opts.nodes,
                        BATON_NET_NODES_MAX);
    if (me.rank == 0) {
        if (!rc)
            rc = found(&opts, &me, host, ranks, note, out);
        if (rc)
            snprintf(note, sizeof(note), "!%s", baton_error_detail());
        int put_rc = put_note(name, note);
        int meet_rc = meet(join_ms);
        if (!rc && (put_rc || meet_rc)) {
            baton_net_close(*out);
            rc = put_rc ? put_rc : meet_rc;
        }
    } else {
        int meet_rc = meet(join_ms);
        opts.first = (int)(me.rank * local);
        if (!rc)
            rc = meet_rc ? meet_rc : get_note(&me, name, note);
        if (!rc)
            rc = join(&opts, note, out);
    }
    sodium_memzero(note, sizeof(note));
    sodium_memzero(opts.key, sizeof(opts.key));
    if (rc)
        finalize();
    else
        (*out)->closed = finalize;
    return rc;
}
