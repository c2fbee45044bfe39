/* SPDX-License-Identifier: MIT */
/*
 * Calls of the C library that take longer now and then, before they do something and after it, so that what
 * happens only in between two of them happens often. The program exports them: UCX, which it loads, finds
 * these first.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "slow_calls.h"

enum { ONE_OF = 8, MOST_NS = 2000000 };

static uint64_t seed; /* 0: nothing is slow */
static __thread uint64_t state;

void slow_calls(uint64_t from)
{
    seed = from;
    state = 0;
}

static void linger(void)
{
    const int before = errno;
    if (!seed)
        return;
    if (!state)
        state = seed ^ ((uint64_t)getpid() << 32 | (uint64_t)gettid()) * 0x9e3779b97f4a7c15u;
    state = state * 6364136223846793005u + 1442695040888963407u;
    if ((state >> 40) % ONE_OF == 0)
        nanosleep(&(struct timespec){0, (long)((state >> 33) % MOST_NS)}, NULL);
    errno = before;
}

#define SLOW(type, name, parameters, arguments)                                                    \
    type name parameters                                                                           \
    {                                                                                              \
        static __typeof__(&name) real;                                                             \
        if (!real)                                                                                 \
            *(void **)&real = dlsym(RTLD_NEXT, #name);                                             \
        linger();                                                                                  \
        type result = real arguments;                                                              \
        linger();                                                                                  \
        return result;                                                                             \
    }

SLOW(int, close, (int fd), (fd))
SLOW(int, shutdown, (int fd, int how), (fd, how))
SLOW(int, connect, (int fd, const struct sockaddr *to, socklen_t n), (fd, to, n))
SLOW(int, accept, (int fd, struct sockaddr *from, socklen_t *n), (fd, from, n))
SLOW(ssize_t, send, (int fd, const void *bytes, size_t n, int flags), (fd, bytes, n, flags))
SLOW(ssize_t, recv, (int fd, void *bytes, size_t n, int flags), (fd, bytes, n, flags))
SLOW(ssize_t, sendmsg, (int fd, const struct msghdr *m, int flags), (fd, m, flags))
SLOW(int, epoll_ctl, (int set, int op, int fd, struct epoll_event *e), (set, op, fd, e))
