/* SPDX-License-Identifier: MIT */
/* How the library's own code gives a failed call its words. */
#ifndef BATON_BASE_ERROR_H
#define BATON_BASE_ERROR_H

/* Keeps the words for baton_error_detail and returns rc. Whoever first knows the cause calls it, once. */
int baton_fail(int rc, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
