/* Laying bins out and counting: see bins.h. */
#include "orchestrator/drift/bins.h"

#include "core/base/memory.h"
#include "orchestrator/drift/merge.h"

#include <stdlib.h>

/* Inner edges, ascending, no two alike; a number is in the bin after the last edge that is not above it. */
static size_t edges_of(const struct drift_bins_options *options,
                       const struct drift_feature *feature, double *ret_edges)
{
    const double *sorted = feature->reference;
    size_t n = feature->reference_count;
    size_t count = 0;
    for (size_t i = 1; i < options->bins && n > 0; i++) {
        double share = (double)i / (double)options->bins;
        double edge = options->by == DRIFT_BINS_BY_QUANTILE
                          ? sorted[i * n / options->bins]
                          : sorted[0] + (sorted[n - 1] - sorted[0]) * share;
        if (edge > sorted[0] && (count == 0 || edge > ret_edges[count - 1]))
            ret_edges[count++] = edge;
    }
    return count;
}

/* The classes there are but for the smallest: edges between them. */
static size_t classes_of(const struct drift_feature *feature, double *ret_edges)
{
    size_t count = 0;
    struct drift_merge merge = {0};
    if (!orchestrator_merge_next(&merge, feature))
        return 0;
    while (orchestrator_merge_next(&merge, feature))
        ret_edges[count++] = merge.at;
    return count;
}

static void count_into(const double *sorted, size_t count, const double *edges, size_t edge_count,
                       double *ret_counts)
{
    for (size_t i = 0, bin = 0; i < count; i++) {
        while (bin < edge_count && edges[bin] <= sorted[i])
            bin++;
        ret_counts[bin]++;
    }
}

static void leave_out_empty(struct drift_bins *bins, size_t laid_out)
{
    for (size_t i = 0; i < laid_out; i++) {
        if (bins->reference[i] + bins->current[i] <= 0)
            continue;
        bins->reference[bins->count] = bins->reference[i];
        bins->current[bins->count++] = bins->current[i];
    }
}

void orchestrator_bins_init(struct drift_bins *bins, const struct drift_bins_options *options,
                            const struct drift_feature *feature)
{
    size_t room = feature->classes ? feature->reference_count + feature->current_count
                                   : (size_t)options->bins;
    WEIR_AUTO_FREE double *edges = weir_calloc(room + 1, sizeof(*edges));
    size_t edge_count =
        feature->classes ? classes_of(feature, edges) : edges_of(options, feature, edges);
    *bins = (struct drift_bins){
        .reference = weir_calloc(edge_count + 2, sizeof(*bins->reference)),
        .current = weir_calloc(edge_count + 2, sizeof(*bins->current)),
        .reference_total = (double)(feature->reference_count + feature->reference_missing),
        .current_total = (double)(feature->current_count + feature->current_missing),
    };
    count_into(feature->reference, feature->reference_count, edges, edge_count, bins->reference);
    count_into(feature->current, feature->current_count, edges, edge_count, bins->current);
    bins->reference[edge_count + 1] = (double)feature->reference_missing;
    bins->current[edge_count + 1] = (double)feature->current_missing;
    leave_out_empty(bins, edge_count + 2);
}

void orchestrator_bins_fini(struct drift_bins *bins)
{
    free(bins->reference);
    free(bins->current);
    *bins = (struct drift_bins){0};
}

void orchestrator_bins_share(struct drift_bins *bins, double unseen)
{
    double more = unseen * (double)bins->count;
    for (size_t i = 0; i < bins->count; i++) {
        bins->reference[i] = (bins->reference[i] + unseen) / (bins->reference_total + more);
        bins->current[i] = (bins->current[i] + unseen) / (bins->current_total + more);
    }
}
