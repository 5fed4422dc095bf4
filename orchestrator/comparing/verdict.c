/* See verdict.h. */
#include "orchestrator/comparing/verdict.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

/* ---- windows ---- */

static bool is_same_interval(const struct measured_window *one, const struct measured_window *other)
{
    return one->from == other->from && one->until == other->until &&
           strcmp(one->evaluation, other->evaluation) == 0 &&
           strcmp(one->metric, other->metric) == 0;
}

size_t orchestrator_windows_in_use(struct measured_window *windows, size_t count)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        const struct measured_window *last = kept > 0 ? &windows[kept - 1] : NULL;
        bool is_same = last != NULL && is_same_interval(last, &windows[i]);
        if (windows[i].known_until >= windows[i].from)
            continue;
        windows[is_same ? kept - 1 : kept] = windows[i];
        kept += is_same ? 0 : 1;
    }
    return kept;
}

static bool is_within(const struct measured_window *window, const struct window_span *within)
{
    return window->is_defined && window->from >= within->from && window->until <= within->until;
}

size_t orchestrator_windows_within(const struct cell_windows *windows,
                                   const struct window_span *within)
{
    size_t count = 0;
    for (size_t i = 0; i < windows->count; i++)
        count += is_within(&windows->at[i], within);
    return count;
}

static bool is_before(const struct measured_window *window, const struct window_span *span)
{
    return window->from != span->from ? window->from < span->from : window->until < span->until;
}

/* Returns the first of the windows from `at` on that is not before the span. */
static size_t reach(const struct cell_windows *windows, size_t at, const struct window_span *span)
{
    while (at < windows->count && is_before(&windows->at[at], span))
        at++;
    return at;
}

/* Returns the window of the span, at `at` or nowhere; NULL: there is none that is defined. */
static const struct measured_window *find_window(const struct cell_windows *windows, size_t at,
                                                 const struct window_span *span)
{
    const struct measured_window *window = at < windows->count ? &windows->at[at] : NULL;
    bool is_it = window != NULL && window->is_defined && window->from == span->from &&
                 window->until == span->until;
    return is_it ? window : NULL;
}

static size_t list_spans(const struct cell_windows *windows, const struct window_span *within,
                         struct window_span *ret_spans)
{
    size_t count = 0;
    for (size_t i = 0; i < windows->count; i++)
        if (is_within(&windows->at[i], within))
            ret_spans[count++] = (struct window_span){windows->at[i].from, windows->at[i].until};
    return count;
}

/* Returns how many of the spans are left. */
static size_t keep_those_of(const struct cell_windows *windows, struct window_span *spans,
                            size_t count)
{
    size_t kept = 0, at = 0;
    for (size_t i = 0; i < count; i++) {
        at = reach(windows, at, &spans[i]);
        if (find_window(windows, at, &spans[i]) != NULL)
            spans[kept++] = spans[i];
    }
    return kept;
}

size_t orchestrator_windows_shared(const struct cell_windows *cells, size_t count,
                                   const struct window_span *within, struct window_span *ret_spans)
{
    size_t shared = 0;
    bool is_first = true;
    for (size_t i = 0; i < count; i++) {
        if (orchestrator_windows_within(&cells[i], within) == 0)
            continue;
        shared = is_first ? list_spans(&cells[i], within, ret_spans)
                          : keep_those_of(&cells[i], ret_spans, shared);
        is_first = false;
    }
    return shared;
}

bool orchestrator_windows_mean(const struct cell_windows *windows, const struct window_span *spans,
                               size_t span_count, double *ret_mean)
{
    double sum = 0;
    size_t found = 0, at = 0;
    for (size_t i = 0; i < span_count; i++) {
        at = reach(windows, at, &spans[i]);
        const struct measured_window *window = find_window(windows, at, &spans[i]);
        sum += window != NULL ? window->value : 0;
        found += window != NULL;
    }
    *ret_mean = found > 0 ? sum / (double)found : 0;
    return found > 0;
}

/* ---- policies ---- */

struct lists {
    double *judged, *chosen_by, *cost, *difference;
};

static const struct verdict_cell *find(const struct verdict_cell *cells, size_t count,
                                       size_t policy, uint64_t seed)
{
    for (size_t i = 0; i < count; i++)
        if (cells[i].policy == policy && cells[i].seed == seed && cells[i].is_judged)
            return &cells[i];
    return NULL;
}

static void sum_up(const struct verdict_cell *cells, size_t count,
                   const struct verdict_rules *rules, size_t policy, const struct lists *lists,
                   struct verdict_policy *ret_policy)
{
    size_t judged = 0, chosen_by = 0, costs = 0, differences = 0;
    for (size_t i = 0; i < count; i++) {
        const struct verdict_cell *cell = &cells[i];
        if (cell->policy != policy)
            continue;
        const struct verdict_cell *base = find(cells, count, rules->baseline, cell->seed);
        lists->cost[costs++] = cell->cost;
        if (cell->is_judged)
            lists->judged[judged++] = cell->judged;
        if (cell->is_chosen_by)
            lists->chosen_by[chosen_by++] = cell->chosen_by;
        if (cell->is_judged && base != NULL)
            lists->difference[differences++] = cell->judged - base->judged;
    }
    *ret_policy = (struct verdict_policy){
        .judged = orchestrator_interval_of(lists->judged, judged),
        .chosen_by = orchestrator_interval_of(lists->chosen_by, chosen_by),
        .cost = orchestrator_interval_of(lists->cost, costs),
        .difference = orchestrator_interval_of(lists->difference, differences),
    };
}

/* A value of which more is better. */
static double worth(const struct verdict_rules *rules, double value)
{
    return rules->higher_is_better ? value : -value;
}

static bool beats(const struct verdict_rules *rules, const struct verdict_policy *one,
                  const struct verdict_policy *other)
{
    double gain = worth(rules, one->judged.mean) - worth(rules, other->judged.mean);
    double saving = other->cost.mean - one->cost.mean;
    return one->judged.count > 0 && gain >= 0 && saving >= 0 && (gain > 0 || saving > 0);
}

static void mark_optimal(const struct verdict_rules *rules, struct verdict_policy *policies)
{
    for (size_t i = 0; i < rules->policy_count; i++) {
        policies[i].is_optimal = policies[i].judged.count > 0;
        for (size_t j = 0; j < rules->policy_count; j++)
            if (beats(rules, &policies[j], &policies[i]))
                policies[i].is_optimal = false;
    }
}

/* The best on the earlier time, and the cheaper one of equals. */
static size_t choose(const struct verdict_rules *rules, const struct verdict_policy *policies)
{
    size_t best = rules->policy_count;
    for (size_t i = 0; i < rules->policy_count; i++) {
        double gain = best < rules->policy_count ? worth(rules, policies[i].chosen_by.mean) -
                                                       worth(rules, policies[best].chosen_by.mean)
                                                 : 1;
        bool is_cheaper =
            best < rules->policy_count && policies[i].cost.mean < policies[best].cost.mean;
        if (policies[i].chosen_by.count > 0 && (gain > 0 || (gain >= 0 && is_cheaper)))
            best = i;
    }
    return best;
}

size_t orchestrator_verdict(const struct verdict_cell *cells, size_t count,
                            const struct verdict_rules *rules, struct verdict_policy *ret_policies)
{
    WEIR_AUTO_FREE double *memory = weir_calloc(4 * count + 1, sizeof(*memory));
    const struct lists lists = {memory, memory + count, memory + 2 * count, memory + 3 * count};
    for (size_t i = 0; i < rules->policy_count; i++)
        sum_up(cells, count, rules, i, &lists, &ret_policies[i]);
    mark_optimal(rules, ret_policies);
    return choose(rules, ret_policies);
}
