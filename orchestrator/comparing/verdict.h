/* The cells of a comparison taken together: quality and cost of each policy over its seeds, which policies no other
 * beats in both, the one that an earlier time would have chosen, and differences from the baseline. Pure. */
#ifndef ORCHESTRATOR_COMPARING_VERDICT_H
#define ORCHESTRATOR_COMPARING_VERDICT_H

#include "orchestrator/comparing/intervals.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A model on an interval of time, by one metric. */
struct measured_window {
    const char *evaluation, *metric;
    int64_t from, until;
    int64_t trigger;
    int64_t known_until; /* newest sample of its trigger */
    const char *model;
    bool is_defined;
    double value;
    int64_t samples;
};

/* Keeps, of windows in the order of (evaluation, metric, from, until, trigger), one for each interval: that of the
 * newest model whose samples all lie before it, which is the one that would have been in use. Returns how many are
 * kept. */
size_t orchestrator_windows_in_use(struct measured_window *windows, size_t count);

struct window_span {
    int64_t from, until;
};

/* Windows of a cell by one evaluation and metric, ascending, none twice. */
struct cell_windows {
    struct measured_window *at;
    size_t count;
};

/* Returns how many of the windows lie within `within` and are defined. */
size_t orchestrator_windows_within(const struct cell_windows *windows,
                                   const struct window_span *within);
/* Fills `ret_spans` with those that all cells have which have any within `within`: policies are compared on the same
 * windows. Room for as many as the cell with the most has. Returns how many there are. */
size_t orchestrator_windows_shared(const struct cell_windows *cells, size_t count,
                                   const struct window_span *within, struct window_span *ret_spans);
/* The mean over the windows that are among `spans`, which ascend, each weighing the same; false: there is none that is
 * defined. */
bool orchestrator_windows_mean(const struct cell_windows *windows, const struct window_span *spans,
                               size_t span_count, double *ret_mean);

/* A cell that is done. */
struct verdict_cell {
    size_t policy;
    uint64_t seed;
    bool is_judged, is_chosen_by; /* there are windows on the judged time, and on the earlier one */
    double judged, chosen_by;
    double cost;
};

struct verdict_policy {
    struct mean_interval judged, chosen_by, cost;
    struct mean_interval difference; /* judged, minus the baseline's with the same seed */
    bool is_optimal; /* none has better quality at no more cost, or the same at less */
};

struct verdict_rules {
    size_t policy_count, baseline;
    bool higher_is_better;
};

/* Fills `ret_policies`, of `policy_count`. Returns the policy that the earlier time chooses; `policy_count`: none. */
size_t orchestrator_verdict(const struct verdict_cell *cells, size_t count,
                            const struct verdict_rules *rules, struct verdict_policy *ret_policies);

#endif
