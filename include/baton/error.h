/* SPDX-License-Identifier: MIT */
/*
 * Errors. Calls return 0 (or a count) on success and -errno on failure; outputs are written on
 * success only. The library never prints, exits, aborts or installs a signal handler.
 *
 *   EINVAL       a parameter has no meaning here       EFAULT       local operand outside known
 * memory ENOMEM       no memory                             ENOENT       no such name, fabric, lock
 * kind EEXIST       the name is taken                     EPERM        belongs to another user
 *   EAGAIN       try again later                       ENOSYS       this fabric has no such call
 *   EOPNOTSUPP   this kind or device can not do that   EHOSTDOWN    the peer is dead or absent
 *   ETIMEDOUT    the deadline has passed               EKEYREJECTED no such segment (stale or wrong
 * address) ERANGE       outside the segment, or out of range  EACCES       the segment does not
 * grant that right ECANCELED    an earlier operation failed           ENOTCONN     that peer's
 * queue pair is broken EOWNERDEAD   a participant died during the call    ENOTRECOVERABLE  the lock
 * table awaits baton_table_reinit EBUSY        held, in use, or full                 EREMOTE not
 * this node's memory EDEADLK      all threads of a simulated run wait for ever
 */
#ifndef BATON_ERROR_H
#define BATON_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

/* A sentence for a return value of this library. Never null. Thread-safe. */
const char *baton_strerror(int rc);

/*
 * What exactly went wrong in the last failed call of this thread ("cluster demo: layout 7, this
 * library speaks 3"), or "" when it had nothing to add to baton_strerror. Valid until the next
 * call.
 */
const char *baton_error_detail(void);

#ifdef __cplusplus
}
#endif
#endif
