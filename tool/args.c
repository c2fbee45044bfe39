/* SPDX-License-Identifier: MIT */
/* Numbers, settings and folders given to options. */
#include "args.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include <baton/error.h>
#include <baton/fabric.h>

#include "cmd.h"

double arg_number(struct argp_state *state, const char *option, const char *arg, double least,
                  double most)
{
    char *end;
    errno = 0;
    double v = strtod(arg, &end);
    if (!*arg || *end || errno || !(v >= least && v <= most))
        argp_error(state, "--%s takes a number from %.12g to %.12g, not \"%s\"", option, least,
                   most, arg);
    return v;
}

uint64_t arg_whole(struct argp_state *state, const char *option, const char *arg, uint64_t least,
                   uint64_t most)
{
    char *end;
    errno = 0;
    unsigned long long v = strtoull(arg, &end, strncasecmp(arg, "0x", 2) ? 10 : 16);
    if (!isdigit((unsigned char)*arg) || *end || errno || v < least || v > most)
        argp_error(state, "--%s takes a whole number from %" PRIu64 " to %" PRIu64 ", not \"%s\"",
                   option, least, most, arg);
    return v;
}

double arg_seconds(struct argp_state *state, const char *option, const char *arg)
{
    char *end;
    double v = strtod(arg, &end);
    if (end == arg || *end || !(v > 0 && v <= 1e9))
        argp_error(state, "--%s takes a number of seconds, not \"%s\"", option, arg);
    return v;
}

const char *arg_setting(struct argp_state *state, const char *option, const char *arg)
{
    if (!*arg || strchr(arg, ',') || strlen(arg) > ARG_SETTING_MAX)
        argp_error(state, "--%s %s: 1 to %d characters without a comma are needed", option, arg,
                   ARG_SETTING_MAX);
    return arg;
}

int arg_sim(const char *command, const char *settings)
{
    struct baton_cluster_opts opts = BATON_CLUSTER_OPTS;
    struct baton_cluster *cluster;
    opts.fabric = "sim";
    opts.name = "trial";
    opts.nodes = opts.local = 1;
    opts.options = settings;
    int rc = baton_cluster_open(&opts, &cluster);
    if (!rc) {
        baton_cluster_close(cluster);
        return CMD_OK;
    }
    fprintf(stderr, "%s: %s\n", command,
            *baton_error_detail() ? baton_error_detail() : baton_strerror(rc));
    return CMD_USAGE;
}

int arg_folder(const char *command, const char *path)
{
    struct stat is;
    int error = 0;
    if (mkdir(path, 0777) && (errno != EEXIST || stat(path, &is)))
        error = errno;
    else if (!stat(path, &is) && !S_ISDIR(is.st_mode))
        error = ENOTDIR;
    else if (access(path, W_OK | X_OK))
        error = errno;
    if (error)
        fprintf(stderr, "%s: %s: %s\n", command, path, strerror(error));
    return error ? CMD_USAGE : CMD_OK;
}
