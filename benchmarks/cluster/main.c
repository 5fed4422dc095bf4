/* bench_cluster: what leaves a host (C15, C21). */
#include "benchmarks/cluster/link.h"
#include "benchmarks/harness.h"

#include "core/base/clock.h"
#include "core/base/memory.h"

#include <stdlib.h>

enum { BATCHES = 200 };

struct cluster_bench {
    struct cluster_link *link; /* NULL: not asked for yet */
    uint64_t batches;
};

static enum weir_status open_cluster(const char *directory, double scale, void **ret_state,
                                     struct weir_error *err)
{
    struct cluster_bench *bench = weir_calloc(1, sizeof(*bench));
    (void)directory;
    (void)err;
    bench->batches = (uint64_t)(BATCHES * scale) + 1;
    *ret_state = bench;
    return WEIR_OK;
}

static void close_cluster(void *state)
{
    struct cluster_bench *bench = state;
    cluster_link_close(bench->link);
    free(bench);
}

static enum weir_status prepare_link(void *state, struct weir_error *err)
{
    struct cluster_bench *bench = state;
    return bench->link != NULL ? WEIR_OK : cluster_link_open(&bench->link, err);
}

static double rate_of(const struct cluster_bench *bench, int64_t begun_ns)
{
    return (double)bench->batches * LINK_BATCH_BYTES / 1e6 /
           ((double)(weir_now_ns() - begun_ns) / 1e9);
}

static enum weir_status fetch_batches(void *state, double *ret_rate, struct weir_error *err)
{
    struct cluster_bench *bench = state;
    int64_t begun_ns = weir_now_ns();
    enum weir_status status = cluster_link_batches(bench->link, bench->batches, err);
    *ret_rate = rate_of(bench, begun_ns);
    return status;
}

static enum weir_status fetch_plain(void *state, double *ret_rate, struct weir_error *err)
{
    struct cluster_bench *bench = state;
    int64_t begun_ns = weir_now_ns();
    enum weir_status status =
        cluster_link_plain(bench->link, bench->batches * LINK_BATCH_BYTES, err);
    *ret_rate = rate_of(bench, begun_ns);
    return status;
}

static const struct bench_figure FIGURES[] = {
    {.name = "cluster.link.batches",
     .against = "plain TCP over the same link of 1 Gbit/s and 1 ms",
     .unit = "MB/s",
     .bar = 0.9,
     .prepare = prepare_link,
     .ours = fetch_batches,
     .theirs = fetch_plain},
};

static const struct bench CLUSTER = {
    .name = "cluster",
    .summary = "batches of 600 kB between two network namespaces, under keys, against plain TCP",
    .figures = FIGURES,
    .figure_count = WEIR_COUNT(FIGURES),
    .open = open_cluster,
    .close = close_cluster,
};

int main(int argc, char **argv)
{
    return bench_main(&CLUSTER, argc, argv);
}
