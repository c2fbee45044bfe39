/* SPDX-License-Identifier: MIT */
#define baton_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
