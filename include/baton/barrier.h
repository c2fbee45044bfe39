/* SPDX-License-Identifier: MIT */
/*
 * Memory order by purpose. This is the only file of the tree that names atomics; everything else
 * says what it wants in the words below. All are for aligned 8-byte words.
 *
 * The two observers are always named: two CPUs, or a CPU and a NIC that reads and writes the host's
 * memory. On x86-64 loads, stores and read-modify-writes need no further instruction for a NIC to
 * see them in the order that a CPU would; on ARM a device is outside the inner shareable domain,
 * which is why the two fences below use the outer one there.
 */
#ifndef BATON_BARRIER_H
#define BATON_BARRIER_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef BATON_INLINE
#define BATON_INLINE static inline
#endif

#if defined(__SANITIZE_THREAD__)
#define BATON_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define BATON_TSAN 1
#endif
#endif

/*
 * Message received: what the writer of the value did before its baton_word_store is visible after
 * this. while (!baton_word_load(&flag)) ...;  read data;
 */
BATON_INLINE uint64_t baton_word_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* A value that nobody orders anything by: statistics, a guess, a value checked again later. */
BATON_INLINE uint64_t baton_word_peek(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* Message sent: all that this thread did before is visible to who loads the value. */
BATON_INLINE void baton_word_store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/* A value that nobody orders anything by. */
BATON_INLINE void baton_word_poke(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* Take what is there and leave `value`, in one step among CPUs (never among CPUs and a NIC). Full
 * order. */
BATON_INLINE uint64_t baton_word_swap(uint64_t *word, uint64_t value)
{
    return __atomic_exchange_n(word, value, __ATOMIC_SEQ_CST);
}

/* Replaces `expected` by `desired`; returns what was there (equal to `expected` iff it was
 * replaced). */
BATON_INLINE uint64_t baton_word_cas(uint64_t *word, uint64_t expected, uint64_t desired)
{
    __atomic_compare_exchange_n(word, &expected, desired, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return expected;
}

/* Adds, returns what was there before. */
BATON_INLINE uint64_t baton_word_faa(uint64_t *word, uint64_t add)
{
    return __atomic_fetch_add(word, add, __ATOMIC_SEQ_CST);
}

#ifdef BATON_TSAN
extern uint64_t baton_tsan_fence_word;
#endif

/*
 * Dekker: my stores before are visible before my loads after take their value. Two threads that
 * each store their own word, fence, and load the other's can not both miss the other. store mine;
 * baton_fence_full(); load yours;
 */
BATON_INLINE void baton_fence_full(void)
{
#ifdef BATON_TSAN
    /* The race detector does not model fences; a read-modify-write of one common word has the same
     * effect. */
    __atomic_fetch_add(&baton_tsan_fence_word, 1, __ATOMIC_SEQ_CST);
#elif defined(__aarch64__)
    __asm__ __volatile__("dmb osh" ::: "memory");
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/*
 * Dekker whose load is the read-modify-write just behind, also one that fails and stores nothing:
 * nothing on x86-64.
 */
BATON_INLINE void baton_fence_before_rmw(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ __volatile__("" ::: "memory");
#else
    baton_fence_full();
#endif
}

/*
 * Dekker whose store is the read-modify-write just before: nothing on x86-64, where that
 * instruction is a full fence already; on ARM an acquire-release read-modify-write is not one.
 */
BATON_INLINE void baton_fence_after_rmw(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ __volatile__("" ::: "memory");
#else
    baton_fence_full();
#endif
}

/* Tells the CPU that this is a spin, so that a sibling hyper-thread gets the execution units. */
BATON_INLINE void baton_cpu_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __asm__ __volatile__("pause" ::: "memory");
#elif defined(__aarch64__)
    __asm__ __volatile__("isb" ::: "memory");
#else
    __asm__ __volatile__("" ::: "memory");
#endif
}

#ifdef __cplusplus
}
#endif
#endif
