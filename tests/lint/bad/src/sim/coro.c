/* SPDX-License-Identifier: MIT */
#include "model/nic.h"
__asm__("coro_switch: ret");
