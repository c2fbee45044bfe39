/* SPDX-License-Identifier: MIT */
/* The way to a violation as a picture: a column for each thread and each NIC, time goes down. */
#ifndef BATON_TOOL_CHECK_PICTURE_H
#define BATON_TOOL_CHECK_PICTURE_H

#include <stdio.h>

struct check_picture;

struct check_picture *check_picture_begin(const char *title); /* null: no memory */

/* A line of the story: "who: what". Lines that begin with a space are left out. */
void check_picture_line(struct check_picture *picture, const char *line);

/* Writes graphviz's language, and frees. */
void check_picture_end(struct check_picture *picture, FILE *to);

#endif
