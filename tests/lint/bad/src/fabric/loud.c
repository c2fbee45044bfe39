/* SPDX-License-Identifier: MIT */
#include <baton/fabric.h>
#include <baton/lock.h>
#include "lock/mcs.h"

void baton_loud(void)
{
    fprintf(stderr, "no\n");
    __asm__("" ::: "memory");
    exit(1);
}
