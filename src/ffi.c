/* SPDX-License-Identifier: MIT */
/*
 * Real symbols for the inline functions of the public headers, so that languages which can not read
 * them can call everything. C programs never need this file.
 */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#define BATON_INLINE

#include <baton/barrier.h>
#include <baton/error.h>
#include <baton/fabric.h>
#include <baton/lock.h>
