/* SPDX-License-Identifier: MIT */
/*
 * Errors. Calls return 0 (or a count) on success and -errno on failure; outputs are written on
 * success only. The library never prints, exits, aborts or installs a signal handler.
 *
 *   EINVAL           a parameter has no meaning here
 *   EFAULT           the local operand is not memory of this node that the library knows
 *   ENOMEM           no memory
 *   ENOENT           no such name, fabric, kind of lock
 *   EEXIST           the name is taken
 *   EPERM            it belongs to another user
 *   EAGAIN           not now, try again
 *   ENOSYS           this fabric has no such call
 *   EOPNOTSUPP       this kind, fabric or device can not do that
 *   EHOSTDOWN        the node is dead or absent
 *   ETIMEDOUT        the deadline has passed
 *   EKEYREJECTED     there is no segment at that address (any more)
 *   ERANGE           outside the segment, or a number out of range
 *   EACCES           the segment does not grant that right
 *   ECANCELED        an earlier operation failed; this one may or may not have happened
 *   ENOTCONN         the queue pair towards that node is broken until baton_ep_reset
 *   EOWNERDEAD       a participant died during the call
 *   ENOTRECOVERABLE  a participant has died: the lock table awaits baton_table_reinit
 *   EBUSY            held, in use, or full
 *   EREMOTE          the memory is another node's
 *   EDEADLK          all threads of a simulated run wait for something that can not come
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
