/* SPDX-License-Identifier: MIT */
/* What the lock benchmark prints: a table for people, JSON lines and CSV for programs. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "base/error.h"
#include "bench/lock_bench.h"

#define SCHEMA "baton.bench.lock/1"

static const struct {
    const char *name;
    double part;
} quantiles[] = {
    {"p50_ns", 0.5},      {"p99_ns", 0.99},       {"p999_ns", 0.999},
    {"p9999_ns", 0.9999}, {"p99999_ns", 0.99999},
};
#define QUANTILES (sizeof(quantiles) / sizeof(*quantiles))

static double cov(const struct baton_hist *h)
{
    double mean = baton_hist_mean(h);
    return mean > 0 ? baton_hist_deviation(h) / mean : 0;
}

static double per(uint64_t sum, uint64_t count)
{
    return count ? (double)sum / (double)count : 0;
}

static double hold_ns(const struct bench_result *r)
{
    return per(r->local.hold_ns + r->remote.hold_ns, r->local.holds + r->remote.holds);
}

/* "budget_local=20,budget_remote=5", the form that --param takes; "" for none. */
static void params_text(char *out, size_t bytes, const struct bench_result *r, const char *between)
{
    size_t used = 0;
    *out = 0;
    for (unsigned i = 0; r->kind->params && r->kind->params[i].name && used < bytes; i++) {
        const struct baton_lock_param *p = &r->kind->params[i];
        const char *sep = i ? between : "";
        used += (size_t)(p->on_off ? snprintf(out + used, bytes - used, "%s%s=%s", sep, p->name,
                                              r->params[i] ? "on" : "off")
                                   : snprintf(out + used, bytes - used, "%s%s=%" PRIu64, sep,
                                              p->name, r->params[i]));
    }
}

/* ---- JSON */

static json_t *class_json(const struct bench_class *c)
{
    json_t *o = json_object();
    const struct baton_hist *h = &c->latency;
    json_object_set_new(o, "count", json_integer((json_int_t)h->count));
    for (size_t q = 0; q < QUANTILES; q++)
        json_object_set_new(
            o, quantiles[q].name,
            h->count ? json_integer((json_int_t)baton_hist_quantile(h, quantiles[q].part))
                     : json_null());
    json_object_set_new(o, "max_ns", h->count ? json_integer((json_int_t)h->max) : json_null());
    json_object_set_new(o, "cov", h->count ? json_real(cov(h)) : json_null());
    return o;
}

static json_t *mean_json(uint64_t sum, uint64_t count)
{
    return count ? json_real(per(sum, count)) : json_null();
}

/* Without --real only what seed and options decide. */
static json_t *simulation_json(const struct bench_config *c, const struct bench_result *r)
{
    char unseed[20];
    json_t *o = json_object();
    snprintf(unseed, sizeof(unseed), "%016" PRIx64, r->unseed);
    json_object_set_new(o, "drawn", json_string(r->drawn));
    json_object_set_new(o, "unseed", json_string(unseed));
    json_object_set_new(o, "remote_ops", json_integer((json_int_t)r->sim_ops));
    json_object_set_new(o, "nic_steps", json_integer((json_int_t)r->sim_steps));
    json_object_set_new(o, "ended_threads", json_integer(r->ended));
    if (!c->real)
        return o;
    json_object_set_new(o, "real_s", json_real(r->real_s));
    json_object_set_new(o, "cpu_s", json_real(r->cpu_s));
    json_object_set_new(o, "remote_ops_per_cpu_s",
                        json_real(r->cpu_s > 0 ? (double)r->sim_ops / r->cpu_s : 0));
    return o;
}

static void report_json(FILE *to, const struct bench_config *c, const struct bench_result *r)
{
    json_t *o = json_object(), *params = json_object();
    for (unsigned i = 0; r->kind->params && r->kind->params[i].name; i++)
        json_object_set_new(params, r->kind->params[i].name,
                            r->kind->params[i].on_off ? json_boolean(r->params[i] != 0)
                                                      : json_integer((json_int_t)r->params[i]));
    json_object_set_new(o, "schema", json_string(SCHEMA));
    json_object_set_new(o, "fabric", json_string(c->fabric));
    json_object_set_new(o, "simulated", json_boolean(r->simulated));
    json_object_set_new(o, "lock", json_string(r->kind->name));
    json_object_set_new(o, "params", params);
    json_object_set_new(
        o, "host", c->host == BENCH_HOST_SPREAD ? json_string("spread") : json_integer(c->host));
    json_object_set_new(o, "seed", json_integer((json_int_t)c->seed));
    json_object_set_new(o, "nodes", json_integer(c->nodes));
    json_object_set_new(o, "threads", json_integer(r->threads));
    json_object_set_new(o, "locks", json_integer(c->locks));
    json_object_set_new(o, "acquisitions", json_integer((json_int_t)r->acquisitions));
    json_object_set_new(o, "throughput_per_s", json_real((double)r->acquisitions / r->measured_s));
    json_object_set_new(o, "local", class_json(&r->local));
    json_object_set_new(o, "remote", class_json(&r->remote));
    json_object_set_new(o, "hold_ns", json_real(hold_ns(r)));
    json_object_set_new(o, "cycle_ns", json_real(r->cycle_ns));
    json_object_set_new(o, "exclusion_violations",
                        json_integer((json_int_t)r->exclusion_violations));
    json_object_set_new(o, "lost_updates", json_integer((json_int_t)r->lost_updates));
    json_object_set_new(o, "bypasses", json_integer((json_int_t)r->bypasses));
    json_object_set_new(o, "overlap", json_real(r->overlap));
    json_object_set_new(o, "jain", json_real(r->jain));
    const struct bench_class *m = &r->remote;
    json_object_set_new(o, "waited_round_trips_per_acquire",
                        mean_json(m->round_trips_acquire, m->entries));
    json_object_set_new(o, "waited_round_trips_per_release",
                        mean_json(m->round_trips_release, m->entries));
    json_object_set_new(o, "remote_ops_per_acquire", mean_json(m->ops_acquire, m->entries));
    json_object_set_new(o, "remote_ops_per_release", mean_json(m->ops_release, m->entries));
    json_object_set_new(o, "pair_ns", r->pair_ns > 0 ? json_real(r->pair_ns) : json_null());
    if (*r->drawn)
        json_object_set_new(o, "simulation", simulation_json(c, r));
    char *text = json_dumps(o, JSON_COMPACT | JSON_REAL_PRECISION(9));
    if (text)
        fprintf(to, "%s\n", text);
    free(text);
    json_decref(o);
}

/* ---- CSV */

static void class_csv(FILE *to, const struct bench_class *c)
{
    const struct baton_hist *h = &c->latency;
    fprintf(to, ",%" PRIu64, h->count);
    for (size_t q = 0; q < QUANTILES; q++)
        if (h->count)
            fprintf(to, ",%" PRIu64, baton_hist_quantile(h, quantiles[q].part));
        else
            fprintf(to, ",");
    if (h->count)
        fprintf(to, ",%" PRIu64 ",%.4f", h->max, cov(h));
    else
        fprintf(to, ",,");
}

static void report_csv(FILE *to, const struct bench_config *c, const struct bench_result *r,
                       bool first)
{
    char params[128], host[16];
    params_text(params, sizeof(params), r, ";");
    if (first) {
        fprintf(to,
                "schema,fabric,simulated,lock,params,host,seed,nodes,threads,locks,acquisitions,"
                "throughput_per_s");
        for (int k = 0; k < 2; k++) {
            const char *class = k ? "remote" : "local";
            fprintf(to, ",%s_count", class);
            for (size_t q = 0; q < QUANTILES; q++)
                fprintf(to, ",%s_%s", class, quantiles[q].name);
            fprintf(to, ",%s_max_ns,%s_cov", class, class);
        }
        fprintf(to, ",hold_ns,cycle_ns,exclusion_violations,lost_updates,bypasses,overlap,jain,"
                    "waited_round_trips_per_acquire,waited_round_trips_per_release,"
                    "remote_ops_per_acquire,remote_ops_per_release,pair_ns\n");
    }
    snprintf(host, sizeof(host), "%d", c->host);
    fprintf(to, "%s,%s,%s,%s,%s,%s,%" PRIu64 ",%u,%u,%u,%" PRIu64 ",%.1f", SCHEMA, c->fabric,
            r->simulated ? "true" : "false", r->kind->name, params,
            c->host == BENCH_HOST_SPREAD ? "spread" : host, c->seed, c->nodes, r->threads, c->locks,
            r->acquisitions, (double)r->acquisitions / r->measured_s);
    class_csv(to, &r->local);
    class_csv(to, &r->remote);
    fprintf(to, ",%.1f,%.1f,%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.5f,%.5f", hold_ns(r), r->cycle_ns,
            r->exclusion_violations, r->lost_updates, r->bypasses, r->overlap, r->jain);
    const struct bench_class *m = &r->remote;
    if (m->entries)
        fprintf(to, ",%.3f,%.3f,%.3f,%.3f", per(m->round_trips_acquire, m->entries),
                per(m->round_trips_release, m->entries), per(m->ops_acquire, m->entries),
                per(m->ops_release, m->entries));
    else
        fprintf(to, ",,,,");
    if (r->pair_ns > 0)
        fprintf(to, ",%.2f\n", r->pair_ns);
    else
        fprintf(to, ",\n");
}

/* ---- Table */

/* "9.7us": three digits and the unit that makes them least. */
static const char *scaled(char *out, size_t bytes, double v, const char *const units[4])
{
    unsigned u = 0;
    while (v >= 999.5 && u < 3) {
        v /= 1000;
        u++;
    }
    snprintf(out, bytes,
             v < 9.95 && u   ? "%.2f%s"
             : v < 99.5 && u ? "%.1f%s"
                             : "%.0f%s",
             v, units[u]);
    return out;
}

static const char *duration(char *out, size_t bytes, uint64_t ns)
{
    static const char *const units[] = {"ns", "us", "ms", "s"};
    return scaled(out, bytes, (double)ns, units);
}

static const char *count_text(char *out, size_t bytes, double v)
{
    static const char *const units[] = {"", "k", "M", "G"};
    return scaled(out, bytes, v, units);
}

static void class_table(FILE *to, const struct bench_class *c)
{
    static const unsigned shown[] = {0, 1, 2, 3};
    char text[24];
    for (unsigned i = 0; i < 4; i++)
        fprintf(to, " %7s",
                c->latency.count
                    ? duration(text, sizeof(text),
                               baton_hist_quantile(&c->latency, quantiles[shown[i]].part))
                    : "-");
}

static void report_table(FILE *to, const struct bench_config *c, const struct bench_result *r,
                         bool first)
{
    char text[24], pair[24] = "-";
    if (first) {
        fprintf(to,
                "fabric %s%s, %u nodes, %u threads, %u lock%s, seed %" PRIu64
                ", %.3g s measured; latency of acquire%s\n",
                c->fabric, r->simulated ? " (simulated)" : "", c->nodes, r->threads, c->locks,
                c->locks == 1 ? "" : "s", c->seed, c->duration_s,
                r->simulated ? ", in virtual time" : "");
        fprintf(to, "%-14s %8s | %-31s | %-31s | %4s %4s %6s %5s | %5s %6s\n", "", "acquire/",
                "local p50     p99   p99.9  p99.99", "remote p50    p99   p99.9  p99.99", "in",
                "lost", "by-", "over-", "round", "pair");
        fprintf(to, "%-14s %8s | %31s | %31s | %4s %4s %6s %5s | %5s %6s\n", "lock", "second", "",
                "", "2gthr", "upd", "passes", "lap", "trips", "ns");
    }
    if (r->pair_ns > 0)
        snprintf(pair, sizeof(pair), "%.1f", r->pair_ns);
    fprintf(to, "%-14s %8s |", r->kind->name,
            count_text(text, sizeof(text), (double)r->acquisitions / r->measured_s));
    class_table(to, &r->local);
    fprintf(to, " |");
    class_table(to, &r->remote);
    const struct bench_class *m = &r->remote;
    char trips[24] = "-";
    if (m->entries && !bench_is_baseline(r->kind))
        snprintf(trips, sizeof(trips), "%.1f+%.1f", per(m->round_trips_acquire, m->entries),
                 per(m->round_trips_release, m->entries));
    fprintf(to, " | %4" PRIu64 " %4" PRIu64 " %6s %4.0f%% | %7s %6s\n", r->exclusion_violations,
            r->lost_updates, count_text(text, sizeof(text), (double)r->bypasses), 100 * r->overlap,
            trips, pair);
    if (*r->drawn)
        fprintf(to, "  %s; unseed %016" PRIx64, r->drawn, r->unseed);
    if (r->ended)
        fprintf(to, "; %u of %u threads ended early", r->ended, r->threads);
    if (*r->drawn)
        fprintf(to, "\n");
}

void bench_report(FILE *to, enum bench_format format, const struct bench_config *config,
                  const struct bench_result *r, bool first)
{
    if (format == BENCH_JSON)
        report_json(to, config, r);
    else if (format == BENCH_CSV)
        report_csv(to, config, r, first);
    else
        report_table(to, config, r, first);
    fflush(to);
}

/* ---- Files of histograms */

static int write_one(const char *folder, const char *lock, const char *class,
                     const struct baton_hist *h)
{
    for (int csv = 0; csv < 2; csv++) {
        char path[512];
        snprintf(path, sizeof(path), "%s/%s.%s.%s", folder, lock, class, csv ? "csv" : "hgrm");
        FILE *f = fopen(path, "w");
        if (!f)
            return baton_fail(-errno, "%s: %s", path, strerror(errno));
        int rc = csv ? baton_hist_write_csv(h, f) : baton_hist_write_hgrm(h, f, 0.001);
        if (fclose(f) && !rc)
            rc = -errno;
        if (rc)
            return baton_fail(rc, "%s could not be written", path);
    }
    return 0;
}

int bench_write_hgrm(const char *folder, const struct bench_result *r)
{
    int rc = write_one(folder, r->kind->name, "local", &r->local.latency);
    return rc ? rc : write_one(folder, r->kind->name, "remote", &r->remote.latency);
}
