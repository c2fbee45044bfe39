/* SPDX-License-Identifier: MIT */
/*
 * Coroutines: threads of a simulated run. One runs at a time, switches cost a few nanoseconds, and nothing
 * happens between two switches that another coroutine could see.
 */
#ifndef BATON_SIM_CORO_H
#define BATON_SIM_CORO_H

#include <stddef.h>

struct baton_coro;

typedef void (*baton_coro_fn)(void *arg);

/* A coroutine that has not begun. Null: no memory. The stack has an inaccessible page below it. */
struct baton_coro *baton_coro_create(size_t stack_bytes, baton_coro_fn fn, void *arg);

/* What to return when there was none for thread `index` of `count`: -ENOMEM, with words. */
int baton_coro_lacks(size_t index, size_t count);

/* Frees one that has ended or has not begun, or abandons one in the middle. Not from inside it. */
void baton_coro_destroy(struct baton_coro *coro);

/* Runs it until it yields (true) or ends (false). Called from outside of every coroutine. */
int baton_coro_resume(struct baton_coro *coro);

/* Goes back to who resumed the running coroutine. */
void baton_coro_yield(struct baton_coro *coro);

/*
 * The stack of one that is not running: the part in use, [*from, top). Whoever keeps a copy of those bytes
 * and puts it back, with baton_coro_rewind, takes the coroutine back to that moment. -ENOSYS where contexts
 * are opaque, and under sanitizers that keep stacks or notes of them elsewhere.
 */
int baton_coro_stack(const struct baton_coro *coro, char **from, char **top);
void baton_coro_rewind(struct baton_coro *coro, char *from);

#endif
