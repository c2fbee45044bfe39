/* SPDX-License-Identifier: MIT */
/* Errors in words, and the detail of the last failed call of a thread. */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include <baton/error.h>

#include "base/error.h"

static _Thread_local char detail[256];

int baton_fail(int rc, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(detail, sizeof(detail), format, args);
    va_end(args);
    return rc;
}

const char *baton_error_detail(void)
{
    return detail;
}

const char *baton_strerror(int rc)
{
    switch (rc < 0 ? -rc : rc) {
    case 0:
        return "success";
    case EINVAL:
        return "a parameter has no meaning here";
    case EFAULT:
        return "the local operand is not memory of this node that the library knows";
    case ENOMEM:
        return "no memory";
    case ENOENT:
        return "there is nothing of that name";
    case EEXIST:
        return "the name is taken";
    case EPERM:
        return "it belongs to another user";
    case EAGAIN:
        return "not now, try again";
    case ENOSYS:
        return "this fabric has no such call";
    case EOPNOTSUPP:
        return "this kind, fabric or device can not do that";
    case EHOSTDOWN:
        return "the node is dead or absent";
    case ETIMEDOUT:
        return "the deadline has passed";
    case EKEYREJECTED:
        return "there is no segment at that address (any more)";
    case ERANGE:
        return "outside the segment, or a number out of range";
    case EACCES:
        return "the segment does not grant that right";
    case ECANCELED:
        return "an earlier operation towards that node failed, this one may or may not have "
               "happened";
    case ENOTCONN:
        return "the queue pair towards that node is broken until baton_ep_reset";
    case EOWNERDEAD:
        return "a participant died during the call";
    case ENOTRECOVERABLE:
        return "a participant has died: the lock table awaits baton_table_reinit";
    case EBUSY:
        return "held, in use, or full";
    case EREMOTE:
        return "the memory is another node's";
    case EDEADLK:
        return "all threads of the run wait for something that can not come";
    default:
        return "an error of the operating system";
    }
}
