/* SPDX-License-Identifier: MIT */
/*
 * Pictures of results, drawn by gnuplot: the latency distribution with its tail (percentiles on the axis that
 * gives each further nine the same room), throughput, and fairness. Each as SVG and PNG.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "bench/lock_bench.h"

static bool have_gnuplot(void)
{
    return system("command -v gnuplot >/dev/null 2>&1") == 0;
}

static FILE *open_in(const char *folder, const char *name, char *path, size_t bytes)
{
    snprintf(path, bytes, "%s/%s", folder, name);
    return fopen(path, "w");
}

/* One block per lock and class: 1/(1-p), microseconds. */
static int write_latency(FILE *f, const struct bench_result *results, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        for (int k = 0; k < 2; k++) {
            const struct baton_hist *h = k ? &results[i].remote.latency : &results[i].local.latency;
            fprintf(f, "\"%s %s\"\n", results[i].kind->name, k ? "remote" : "local");
            for (double inverse = 1; h->count && inverse <= (double)h->count; inverse *= 1.1)
                fprintf(f, "%g %g\n", inverse,
                        (double)baton_hist_quantile(h, 1 - 1 / inverse) / 1000.0);
            if (!h->count)
                fprintf(f, "1 NaN\n");
            fprintf(f, "\n\n");
        }
    return ferror(f) ? -EIO : 0;
}

static int write_bars(FILE *f, const struct bench_result *results, unsigned count)
{
    fprintf(f, "lock throughput jain bypass_share local_p999_us remote_p999_us\n");
    for (unsigned i = 0; i < count; i++) {
        const struct bench_result *r = &results[i];
        double all = (double)(r->local.entries + r->remote.entries);
        fprintf(f, "%s %g %g %g %g %g\n", r->kind->name, (double)r->acquisitions / r->measured_s,
                r->jain, all > 0 ? (double)r->bypasses / all : 0,
                (double)baton_hist_quantile(&r->local.latency, 0.999) / 1000.0,
                (double)baton_hist_quantile(&r->remote.latency, 0.999) / 1000.0);
    }
    return ferror(f) ? -EIO : 0;
}

static void write_script(FILE *f, const struct bench_config *c, const struct bench_result *results,
                         unsigned count, bool svg)
{
    const char *terminal = svg ? "svg size 1000,620 font 'sans,13' background 'white'"
                               : "pngcairo size 1000,620 font 'sans,11'";
    const char *ext = svg ? "svg" : "png";
    char head[160];
    snprintf(head, sizeof(head), "%s, %u nodes, %u threads, %u lock%s, seed %" PRIu64, c->fabric,
             c->nodes, results[0].threads, c->locks, c->locks == 1 ? "" : "s", c->seed);
    fprintf(f, "set terminal %s\nset grid\nset key outside right noenhanced\n", terminal);
    fprintf(f, "set output 'latency.%s'\nset title 'Latency of acquire (%s): %s' noenhanced\n", ext,
            results[0].simulated ? "simulated" : "measured", head);
    fprintf(f,
            "set logscale x\nset logscale y\nset xlabel 'percentile'\nset ylabel 'microseconds'\n");
    fprintf(f, "set xtics ('0' 1, '50' 2, '90' 10, '99' 100, '99.9' 1000, '99.99' 10000, '99.999' "
               "100000, '99.9999' 1000000)\n");
    fprintf(f,
            "plot for [i=0:%u] 'latency.dat' index i using 1:2 with lines lw 2 dt 1 + i %% 2 lc "
            "i / 2 + 1 title columnheader(1)\n",
            2 * count - 1);
    fprintf(
        f,
        "reset\nset terminal %s\nset grid ytics\nset style fill solid 0.8\nset boxwidth 0.7\nset "
        "xtics rotate by -30 noenhanced\n",
        terminal);
    fprintf(f,
            "set output 'throughput.%s'\nset title 'Throughput (%s): %s' noenhanced\nset ylabel "
            "'acquisitions per second'\nset yrange [0:*]\nplot 'bars.dat' using "
            "(column('throughput')):xtic(1) with boxes notitle\n",
            ext, results[0].simulated ? "simulated" : "measured", head);
    fprintf(
        f,
        "set output 'fairness.%s'\nset title 'Fairness (%s): %s' noenhanced\nset ylabel "
        "'share'\nset "
        "yrange [0:1.05]\nset style data histogram\nset style histogram clustered gap 1\nset key "
        "top right\nplot 'bars.dat' using (column('jain')):xtic(1) title 'Jain index of "
        "acquisitions', '' using (column('bypass_share')) title 'waiters bypassed per entry'\n",
        ext, results[0].simulated ? "simulated" : "measured", head);
}

int bench_plot(const char *folder, const struct bench_config *config,
               const struct bench_result *results, unsigned count)
{
    if (!have_gnuplot())
        return baton_fail(-ENOENT, "gnuplot is not installed (package gnuplot-nox)");
    char path[512];
    FILE *f = open_in(folder, "latency.dat", path, sizeof(path));
    int rc = f ? write_latency(f, results, count) : -errno;
    if (f && fclose(f))
        rc = -errno;
    if (!rc) {
        f = open_in(folder, "bars.dat", path, sizeof(path));
        rc = f ? write_bars(f, results, count) : -errno;
        if (f && fclose(f))
            rc = -errno;
    }
    for (int svg = 0; svg < 2 && !rc; svg++) {
        f = open_in(folder, svg ? "svg.gp" : "png.gp", path, sizeof(path));
        if (!f) {
            rc = -errno;
            break;
        }
        write_script(f, config, results, count, svg);
        if (fclose(f))
            rc = -errno;
        char command[640];
        snprintf(command, sizeof(command), "cd '%s' && gnuplot %s", folder,
                 svg ? "svg.gp" : "png.gp");
        if (!rc && system(command))
            return baton_fail(-EIO, "gnuplot failed on %s", path);
    }
    return rc ? baton_fail(rc, "%s: %s", path, strerror(-rc)) : 0;
}
