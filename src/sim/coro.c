/* SPDX-License-Identifier: MIT */
/*
 * Context switch: callee-saved registers on the stack, stack pointers exchanged. Hand-written for x86-64 and
 * aarch64, ucontext elsewhere. The sanitizers are told of every switch, else they take the jump to another
 * stack for an overflow or a race.
 */
#include "sim/coro.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define CORO_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#include <sanitizer/tsan_interface.h>
#define CORO_TSAN 1
#endif

#if defined(__x86_64__) || defined(__aarch64__)
#define CORO_SWITCH 1
#else
#include <ucontext.h>
#endif

struct baton_coro {
#ifdef CORO_SWITCH
    void *own, *back; /* stack pointers while not running */
#else
    ucontext_t own, back;
#endif
    baton_coro_fn fn;
    void *arg;
    int ended;
    char *
        map; /* an inaccessible page, the stack, and this struct, which is used with the stack's top */
    size_t map_bytes, page;
#ifdef CORO_ASAN
    const void *back_bottom;
    size_t back_bytes;
#endif
#ifdef CORO_TSAN
    void *fiber, *back_fiber;
#endif
};

static void coro_main(struct baton_coro *c);

#if defined(__x86_64__)
/* void baton_coro_switch(void **save, void *load) */
__asm__(".text\n"
        ".hidden baton_coro_switch\n"
        ".globl baton_coro_switch\n"
        ".type baton_coro_switch,@function\n"
        "baton_coro_switch:\n"
        "    pushq %rbp\n"
        "    pushq %rbx\n"
        "    pushq %r12\n"
        "    pushq %r13\n"
        "    pushq %r14\n"
        "    pushq %r15\n"
        "    movq %rsp, (%rdi)\n"
        "    movq %rsi, %rsp\n"
        "    popq %r15\n"
        "    popq %r14\n"
        "    popq %r13\n"
        "    popq %r12\n"
        "    popq %rbx\n"
        "    popq %rbp\n"
        "    ret\n"
        ".size baton_coro_switch,.-baton_coro_switch\n"
        /* First entry: the coroutine was left in r12. */
        ".hidden baton_coro_entry\n"
        ".globl baton_coro_entry\n"
        "baton_coro_entry:\n"
        "    xorl %ebp, %ebp\n"
        "    movq %r12, %rdi\n"
        "    callq *%r13\n"
        "    ud2\n");
#elif defined(__aarch64__)
__asm__(".text\n"
        ".hidden baton_coro_switch\n"
        ".globl baton_coro_switch\n"
        ".type baton_coro_switch,@function\n"
        "baton_coro_switch:\n"
        "    sub sp, sp, #160\n"
        "    stp x19, x20, [sp, #0]\n"
        "    stp x21, x22, [sp, #16]\n"
        "    stp x23, x24, [sp, #32]\n"
        "    stp x25, x26, [sp, #48]\n"
        "    stp x27, x28, [sp, #64]\n"
        "    stp x29, x30, [sp, #80]\n"
        "    stp d8, d9, [sp, #96]\n"
        "    stp d10, d11, [sp, #112]\n"
        "    stp d12, d13, [sp, #128]\n"
        "    stp d14, d15, [sp, #144]\n"
        "    mov x9, sp\n"
        "    str x9, [x0]\n"
        "    mov sp, x1\n"
        "    ldp x19, x20, [sp, #0]\n"
        "    ldp x21, x22, [sp, #16]\n"
        "    ldp x23, x24, [sp, #32]\n"
        "    ldp x25, x26, [sp, #48]\n"
        "    ldp x27, x28, [sp, #64]\n"
        "    ldp x29, x30, [sp, #80]\n"
        "    ldp d8, d9, [sp, #96]\n"
        "    ldp d10, d11, [sp, #112]\n"
        "    ldp d12, d13, [sp, #128]\n"
        "    ldp d14, d15, [sp, #144]\n"
        "    add sp, sp, #160\n"
        "    ret\n"
        ".size baton_coro_switch,.-baton_coro_switch\n"
        ".hidden baton_coro_entry\n"
        ".globl baton_coro_entry\n"
        "baton_coro_entry:\n"
        "    mov x29, xzr\n"
        "    mov x0, x19\n"
        "    blr x20\n"
        "    brk #0\n");
#endif

#ifdef CORO_SWITCH
void baton_coro_switch(void **save, void *load);
extern char baton_coro_entry[];

static void prepare(struct baton_coro *c, char *top)
{
    uint64_t *sp = (uint64_t *)top; /* 16-byte aligned when the entry makes its call */
#if defined(__x86_64__)
    *--sp = (uint64_t)(uintptr_t)baton_coro_entry;
    *--sp = 0;                              /* rbp */
    *--sp = 0;                              /* rbx */
    *--sp = (uint64_t)(uintptr_t)c;         /* r12 */
    *--sp = (uint64_t)(uintptr_t)coro_main; /* r13 */
    *--sp = 0;
    *--sp = 0;
#else
    sp -= 20;
    for (int i = 0; i < 20; i++)
        sp[i] = 0;
    sp[0] = (uint64_t)(uintptr_t)c;
    sp[1] = (uint64_t)(uintptr_t)coro_main;
    sp[11] = (uint64_t)(uintptr_t)baton_coro_entry;
#endif
    c->own = sp;
}
#else
static void trampoline(unsigned high, unsigned low)
{
    coro_main((struct baton_coro *)(((uintptr_t)high << 16 << 16) | low));
}

static void prepare(struct baton_coro *c, char *top)
{
    uintptr_t p = (uintptr_t)c;
    getcontext(&c->own);
    c->own.uc_stack.ss_sp = c->map + c->page;
    c->own.uc_stack.ss_size = (size_t)(top - (c->map + c->page));
    c->own.uc_link = NULL;
    makecontext(&c->own, (void (*)(void))trampoline, 2, (unsigned)(p >> 16 >> 16), (unsigned)p);
}
#endif

#ifdef CORO_ASAN
static size_t stack_bytes_of(const struct baton_coro *c)
{
    return (size_t)((const char *)c - (c->map + c->page));
}
#endif

static void jump_in(struct baton_coro *c)
{
#ifdef CORO_TSAN
    c->back_fiber = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(c->fiber, 0);
#endif
#ifdef CORO_ASAN
    void *fake;
    __sanitizer_start_switch_fiber(&fake, c->map + c->page, stack_bytes_of(c));
#endif
#ifdef CORO_SWITCH
    baton_coro_switch(&c->back, c->own);
#else
    swapcontext(&c->back, &c->own);
#endif
#ifdef CORO_ASAN
    __sanitizer_finish_switch_fiber(fake, NULL, NULL);
#endif
}

static void jump_out(struct baton_coro *c)
{
#ifdef CORO_TSAN
    __tsan_switch_to_fiber(c->back_fiber, 0);
#endif
#ifdef CORO_ASAN
    void *fake;
    __sanitizer_start_switch_fiber(c->ended ? NULL : &fake, c->back_bottom, c->back_bytes);
#endif
#ifdef CORO_SWITCH
    baton_coro_switch(&c->own, c->back);
#else
    swapcontext(&c->own, &c->back);
#endif
#ifdef CORO_ASAN
    __sanitizer_finish_switch_fiber(fake, &c->back_bottom, &c->back_bytes);
#endif
}

static void coro_main(struct baton_coro *c)
{
#ifdef CORO_ASAN
    __sanitizer_finish_switch_fiber(NULL, &c->back_bottom, &c->back_bytes);
#endif
    c->fn(c->arg);
    c->ended = 1;
    jump_out(c);
}

struct baton_coro *baton_coro_create(size_t stack_bytes, baton_coro_fn fn, void *arg)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE),
                 own = (sizeof(struct baton_coro) + 63) & ~(size_t)63;
    const size_t map_bytes = page + ((stack_bytes + own + page - 1) & ~(page - 1));
    char *map = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    if (mprotect(map, page, PROT_NONE)) {
        munmap(map, map_bytes);
        return NULL;
    }
    struct baton_coro *c = (struct baton_coro *)(map + map_bytes - own);
    c->map = map;
    c->map_bytes = map_bytes;
    c->page = page;
    c->fn = fn;
    c->arg = arg;
#ifdef CORO_TSAN
    c->fiber = __tsan_create_fiber(0);
#endif
    prepare(c, (char *)c);
    return c;
}

/* The kernel joins no two stacks: below each is a page with other rights. */
int baton_coro_lacks(size_t index, size_t count)
{
    return baton_fail(-ENOMEM,
                      "no memory for the stack of thread %zu of %zu; each takes two of the "
                      "mappings that a process may have (vm.max_map_count)",
                      index + 1, count);
}

void baton_coro_destroy(struct baton_coro *c)
{
#ifdef CORO_TSAN
    __tsan_destroy_fiber(c->fiber);
#endif
#ifdef CORO_ASAN
    /* One that is abandoned leaves marks of its frames, which would outlive the mapping. */
    __asan_unpoison_memory_region(c->map + c->page, stack_bytes_of(c));
#endif
    munmap(c->map, c->map_bytes);
}

int baton_coro_resume(struct baton_coro *c)
{
    jump_in(c);
    return !c->ended;
}

void baton_coro_yield(struct baton_coro *c)
{
    jump_out(c);
}

#if defined(CORO_SWITCH) && !defined(CORO_TSAN)
int baton_coro_stack(const struct baton_coro *c, char **from, char **top)
{
#ifdef CORO_ASAN
    /* With stacks elsewhere there is nothing here to keep. */
    if (__asan_get_current_fake_stack())
        return -ENOSYS;
    /* Who keeps it reads what lies between variables, too; later frames get their marks again. */
    __asan_unpoison_memory_region(c->map + c->page, c->map_bytes - c->page);
#endif
    *from = c->own;
    *top = (char *)(uintptr_t)c;
    return 0;
}

void baton_coro_rewind(struct baton_coro *c, char *from)
{
    c->own = from;
}
#else
int baton_coro_stack(const struct baton_coro *c, char **from, char **top)
{
    return -ENOSYS;
}

void baton_coro_rewind(struct baton_coro *c, char *from) {}
#endif
