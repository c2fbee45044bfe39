/* SPDX-License-Identifier: MIT */
/* Numbers given to options. */
#include "args.h"

#include <errno.h>
#include <stdlib.h>

double arg_number(struct argp_state *state, const char *option, const char *arg, double least,
                  double most)
{
    char *end;
    errno = 0;
    double v = strtod(arg, &end);
    if (!*arg || *end || errno || !(v >= least && v <= most))
        argp_error(state, "--%s %s: a number from %.12g to %.12g is needed", option, arg, least,
                   most);
    return v;
}

long arg_whole(struct argp_state *state, const char *option, const char *arg, long least, long most)
{
    char *end;
    errno = 0;
    long v = strtol(arg, &end, 10);
    if (!*arg || *end || errno || v < least || v > most)
        argp_error(state, "--%s %s: a whole number from %ld to %ld is needed", option, arg, least,
                   most);
    return v;
}
