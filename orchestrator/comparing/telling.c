/* Rows to JSON: see telling.h. */
#include "orchestrator/comparing/telling.h"

#include "core/base/memory.h"
#include "orchestrator/comparing/verdict.h"
#include "orchestrator/context/events.h"
#include "orchestrator/runs/run.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { WINDOWS_TOLD_MAX = 50000 }; /* in one answer, which has a bound */

#define US_PER_SECOND INT64_C(1000000)

/* ---- how far ---- */

struct progress {
    size_t of_state[CELL_STATE_COUNT];
    size_t count;
};

static struct progress progress_of(const struct comparison *comparison)
{
    struct progress progress = {.count = orchestrator_grid_cell_count(comparison->grid)};
    for (size_t i = 0; i < progress.count; i++)
        progress.of_state[comparison->cells[i].state]++;
    return progress;
}

/* RUNNING as long as something goes on by itself. */
static const char *state_of(const struct comparison *comparison, const struct progress *progress,
                            bool is_held)
{
    bool waits = comparison->is_open && progress->of_state[CELL_WAITING] > 0;
    if (progress->of_state[CELL_DONE] == progress->count)
        return "done";
    if (!comparison->is_open)
        return "removed";
    if (is_held)
        return "held";
    if (progress->of_state[CELL_RUNNING] > 0 || (waits && progress->of_state[CELL_RESTING] == 0))
        return "running";
    return progress->of_state[CELL_RESTING] > 0 ? "resting" : "failed";
}

static json_t *running_json(const struct comparisons *comparisons,
                            const struct comparison *comparison)
{
    json_t *list = json_array();
    for (size_t i = 0; i < orchestrator_grid_cell_count(comparison->grid); i++) {
        const struct comparing_cell *cell = &comparison->cells[i];
        const struct pipeline *pipeline =
            orchestrator_pipeline_by_id(comparisons->pipelines, cell->pipeline);
        if (cell->state == CELL_RUNNING && pipeline != NULL)
            json_array_append_new(
                list, JSON_FIELDS(JSON_TEXT("cell", cell->name),
                                  JSON_TEXT("doing", orchestrator_pipeline_state_text(
                                                         orchestrator_pipeline_state(pipeline)))));
    }
    return list;
}

/* Seconds until all is done, by what cells have taken so far; null: none is done yet. */
static json_t *expected_json(const struct comparison *comparison, const struct progress *progress)
{
    double seconds = 0, at_once = (double)comparison->grid->at_once;
    double left = (double)(progress->of_state[CELL_WAITING] + progress->of_state[CELL_RUNNING]);
    size_t done = progress->of_state[CELL_DONE];
    for (size_t i = 0; i < progress->count; i++)
        seconds += (double)comparison->cells[i].took_us / (double)US_PER_SECOND;
    return done == 0 ? json_null() : json_real(seconds / (double)done * ceil(left / at_once));
}

json_t *orchestrator_comparison_brief(const struct comparisons *comparisons,
                                      const struct comparison *comparison)
{
    const struct progress progress = progress_of(comparison);
    return JSON_FIELDS(
        JSON_TEXT("comparison", comparison->grid->name), JSON_TEXT("name", comparison->grid->name),
        JSON_TEXT("file", comparison->file),
        JSON_TEXT("state", state_of(comparison, &progress, comparisons->pipelines->are_held)),
        JSON_NUMBER("left_out", comparison->left_out),
        JSON_NEW("progress",
                 JSON_FIELDS(JSON_NUMBER("of", progress.count),
                             JSON_NUMBER("done", progress.of_state[CELL_DONE]),
                             JSON_NUMBER("failed", progress.of_state[CELL_FAILED]),
                             JSON_NUMBER("resting", progress.of_state[CELL_RESTING]),
                             JSON_NUMBER("waiting", progress.of_state[CELL_WAITING]),
                             JSON_NEW("expected_s", expected_json(comparison, &progress)),
                             JSON_NEW("running", running_json(comparisons, comparison)))));
}

/* ---- a cell ---- */

static size_t find_row(const struct weir_rows *rows, const char *cell)
{
    size_t row = 0;
    while (row < weir_rows_count(rows) && strcmp(weir_rows_text(rows, row, "cell"), cell) != 0)
        row++;
    return row;
}

/* Making of batches by workers. */
struct making {
    int64_t cpu_ns;
    int64_t made, shared; /* samples: those of batches that were made, and of those found made */
};

/* Windows of a time, by which policies are judged, or one is chosen: those that all cells share. */
struct judging {
    struct window_span within;
    struct window_span *spans; /* owned */
    size_t count, left_out;    /* left out: at most so many that a cell has besides */
    const char *fewest;        /* policy that has the fewest; NULL: nothing is left out */
};

/* A comparison that is being told. */
struct telling {
    const struct comparisons *comparisons;
    const struct comparison *comparison;
    const struct orchestrator_prices *prices;
    const struct weir_rows *rows;
    size_t *row_of; /* each cell's; as many as there are: it has none */
    /* of each policy; of those with the same operators together, at the first of them */
    struct making *makings;
    json_t **lists;               /* of each cell, the texts of its windows */
    struct cell_windows *windows; /* of each cell */
    struct judging judged_on, chosen_on;
    json_t *cells;
    struct verdict_cell *judged; /* of the cells that are done */
    size_t judged_count;
};

static json_t *axes_json(const struct grid_policy *policy, uint64_t seed)
{
    json_t *axes = json_object();
    for (size_t i = 0; i < GRID_AXES; i++)
        if (policy->entries[i] != NULL)
            json_object_set_new(axes, ORCHESTRATOR_GRID_AXES[i], json_string(policy->entries[i]));
    if (seed != 0)
        json_object_set_new(axes, "seed", json_integer((json_int_t)seed));
    return axes;
}

static bool is_priced(const struct orchestrator_prices *prices)
{
    return prices->cpu_hour > 0 || prices->gpu_hour > 0 || prices->gigabyte_read > 0 ||
           prices->gigabyte_sent > 0;
}

/* Money where anything has a price, else seconds of processors. */
static double cost_of(const struct orchestrator_prices *prices,
                      const struct orchestrator_cost *cost)
{
    return is_priced(prices) ? orchestrator_money(prices, cost) : orchestrator_cpu_seconds(cost);
}

static json_t *cost_json(const struct orchestrator_prices *prices,
                         const struct orchestrator_cost *cost)
{
    return JSON_FIELDS(JSON_DOUBLE("cpu_s", orchestrator_cpu_seconds(cost)),
                       JSON_DOUBLE("gpu_s", (double)cost->gpu_ns / 1e9),
                       JSON_NUMBER("bytes", cost->bytes_read),
                       JSON_DOUBLE("money", orchestrator_money(prices, cost)));
}

/* The windows of the judged evaluation and metric; texts are borrowed from `list`. */
static struct measured_window *windows_of(const struct telling *telling, const json_t *list,
                                          size_t *ret_count)
{
    const struct grid_judge *judge = &telling->comparison->grid->judge;
    struct measured_window *windows = weir_calloc(json_array_size(list) + 1, sizeof(*windows));
    *ret_count = 0;
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *window = json_array_get(list, i), *value = json_object_get(window, "value");
        if (!weir_str_equal(json_string_value(json_object_get(window, "evaluation")),
                            judge->evaluation) ||
            !weir_str_equal(json_string_value(json_object_get(window, "metric")), judge->metric))
            continue;
        windows[(*ret_count)++] = (struct measured_window){
            .from = json_integer_value(json_object_get(window, "from_us")),
            .until = json_integer_value(json_object_get(window, "until_us")),
            .trigger = json_integer_value(json_object_get(window, "trigger")),
            .model = json_string_value(json_object_get(window, "model")),
            .samples = json_integer_value(json_object_get(window, "samples")),
            .is_defined = json_is_number(value),
            .value = json_number_value(value),
        };
    }
    return windows;
}

static void read_windows(struct telling *telling)
{
    size_t count = orchestrator_grid_cell_count(telling->comparison->grid);
    for (size_t i = 0; i < count; i++) {
        size_t row = telling->row_of[i];
        if (telling->comparison->cells[i].state != CELL_DONE ||
            row == weir_rows_count(telling->rows))
            continue;
        telling->lists[i] = json_loads(weir_rows_text(telling->rows, row, "windows"), 0, NULL);
        telling->windows[i].at = windows_of(telling, telling->lists[i], &telling->windows[i].count);
    }
}

static void forget_windows(const struct telling *telling)
{
    size_t count = orchestrator_grid_cell_count(telling->comparison->grid);
    for (size_t i = 0; i < count; i++) {
        json_decref(telling->lists[i]);
        free(telling->windows[i].at);
    }
    free(telling->judged_on.spans);
    free(telling->chosen_on.spans);
}

static void share_windows(const struct telling *telling, struct judging *judging)
{
    const struct comparison_grid *grid = telling->comparison->grid;
    size_t count = orchestrator_grid_cell_count(grid), most = 0, fewest = SIZE_MAX;
    for (size_t i = 0; i < count; i++) {
        size_t own = orchestrator_windows_within(&telling->windows[i], &judging->within);
        most = own > most ? own : most;
        if (own > 0 && own < fewest) {
            fewest = own;
            judging->fewest = orchestrator_grid_policy_of(grid, i)->name;
        }
    }
    judging->spans = weir_calloc(most + 1, sizeof(*judging->spans));
    judging->count =
        orchestrator_windows_shared(telling->windows, count, &judging->within, judging->spans);
    judging->left_out = most - judging->count;
    if (judging->left_out == 0)
        judging->fewest = NULL;
}

/* Those from the `first` on. */
static json_t *windows_json(const struct measured_window *windows, size_t first, size_t count)
{
    json_t *list = json_array();
    for (size_t i = first; i < count; i++)
        json_array_append_new(
            list,
            JSON_FIELDS(JSON_TIME("from", windows[i].from), JSON_TIME("until", windows[i].until),
                        JSON_TEXT("model", windows[i].model),
                        JSON_NUMBER("trigger", windows[i].trigger),
                        JSON_NUMBER("samples", windows[i].samples),
                        JSON_NEW("value", windows[i].is_defined ? json_real(windows[i].value)
                                                                : json_null())));
    return list;
}

static json_t *real_or_null(bool is_there, double value)
{
    return is_there ? json_real(value) : json_null();
}

/* A time that bounds nothing is null. */
static json_t *time_or_null(int64_t time_us)
{
    return time_us == INT64_MIN || time_us == INT64_MAX ? json_null()
                                                        : orchestrator_json_time(time_us);
}

static void tell_quality(const struct telling *telling, const struct cell_windows *windows,
                         struct verdict_cell *verdict, json_t *cell)
{
    const struct grid_judge *judge = &telling->comparison->grid->judge;
    const struct judging *judged = &telling->judged_on, *chosen = &telling->chosen_on;
    verdict->is_judged =
        orchestrator_windows_mean(windows, judged->spans, judged->count, &verdict->judged);
    verdict->is_chosen_by =
        orchestrator_windows_mean(windows, chosen->spans, chosen->count, &verdict->chosen_by);
    json_object_set_new(
        cell, "quality",
        JSON_FIELDS(
            JSON_TEXT("metric", judge->metric), JSON_NEW("judged_from", time_or_null(judge->from)),
            JSON_NEW("judged_until", time_or_null(judge->until)),
            JSON_NEW("value", real_or_null(verdict->is_judged, verdict->judged)),
            JSON_NEW("chosen_by", real_or_null(verdict->is_chosen_by, verdict->chosen_by))));
    size_t most = WINDOWS_TOLD_MAX / orchestrator_grid_cell_count(telling->comparison->grid);
    size_t left_out = windows->count > most ? windows->count - most : 0;
    json_object_set_new(cell, "windows", windows_json(windows->at, left_out, windows->count));
    json_object_set_new(cell, "windows_left_out", json_integer((json_int_t)left_out));
}

/* Of all cells whose samples go through the same operators as those of cell `index`. */
static struct making *making_of(const struct telling *telling, size_t index)
{
    const struct comparison_grid *grid = telling->comparison->grid;
    const struct grid_policy *policy = orchestrator_grid_policy_of(grid, index);
    size_t first = 0;
    while (grid->policies[first].values[GRID_PREPROCESS] != policy->values[GRID_PREPROCESS])
        first++;
    return &telling->makings[first];
}

static void sum_makings(const struct telling *telling)
{
    const struct comparison_grid *grid = telling->comparison->grid;
    for (size_t i = 0; i < orchestrator_grid_cell_count(grid); i++) {
        size_t row = telling->row_of[i];
        struct making *making = making_of(telling, i);
        if (row == weir_rows_count(telling->rows))
            continue;
        int64_t read = weir_rows_i64(telling->rows, row, "read_samples");
        int64_t shared = weir_rows_i64(telling->rows, row, "shared_batches") *
                         (int64_t)orchestrator_grid_batch_of(grid, i);
        making->cpu_ns += weir_rows_i64(telling->rows, row, "worker_cpu_ns");
        making->shared += shared < read ? shared : read;
        making->made += shared < read ? read - shared : 0;
    }
}

/* The time that workers would have taken for a cell alone, by what a sample took that was made. The cost of a batch
 * that several need is split over them, whoever it was made for first. */
static int64_t alone_ns(const struct telling *telling, size_t row, size_t index)
{
    int64_t own = weir_rows_i64(telling->rows, row, "worker_cpu_ns");
    const struct making *making = making_of(telling, index);
    if (making->shared == 0 || making->made == 0)
        return own;
    double alone = (double)weir_rows_i64(telling->rows, row, "read_samples") *
                   (double)making->cpu_ns / (double)making->made;
    return alone > (double)own ? (int64_t)alone : own;
}

static void tell_cost(const struct telling *telling, size_t row, size_t index,
                      struct verdict_cell *verdict, json_t *cell)
{
    struct orchestrator_cost cost = orchestrator_run_cost(telling->rows, row);
    struct orchestrator_cost alone = cost;
    alone.worker_cpu_ns = alone_ns(telling, row, index);
    verdict->cost = cost_of(telling->prices, &alone);
    json_t *own = cost_json(telling->prices, &alone);
    json_object_update(cell, own);
    json_decref(own);
    json_object_set_new(cell, "currency", json_string(telling->prices->currency));
    json_t *reused = cost_json(telling->prices, &cost);
    json_object_set_new(
        reused, "shared_batches",
        json_integer((json_int_t)weir_rows_i64(telling->rows, row, "shared_batches")));
    json_object_set_new(cell, "reused", reused);
}

static void tell_result(struct telling *telling, size_t row, size_t index, json_t *cell)
{
    const struct weir_rows *rows = telling->rows;
    const struct comparison_grid *grid = telling->comparison->grid;
    struct verdict_cell *verdict = &telling->judged[telling->judged_count++];
    *verdict = (struct verdict_cell){
        .policy = (size_t)(orchestrator_grid_policy_of(grid, index) - grid->policies),
        .seed = orchestrator_grid_seed_of(grid, index)};
    tell_quality(telling, &telling->windows[index], verdict, cell);
    tell_cost(telling, row, index, verdict, cell);
    json_t *facts =
        JSON_FIELDS(JSON_NUMBER("triggers", weir_rows_i64(rows, row, "triggers")),
                    JSON_NUMBER("samples", weir_rows_i64(rows, row, "samples")),
                    JSON_DOUBLE("seconds", (double)(weir_rows_i64(rows, row, "finished_us") -
                                                    weir_rows_i64(rows, row, "started_us")) /
                                               (double)US_PER_SECOND),
                    JSON_TEXT("weir", weir_rows_text(rows, row, "weir")),
                    JSON_TEXT("machine", weir_rows_text(rows, row, "machine")),
                    JSON_TEXT("model_digest", weir_rows_text(rows, row, "model_digest")));
    json_object_update(cell, facts);
    json_decref(facts);
}

static const char *error_of(const struct telling *telling, const struct comparing_cell *cell)
{
    const struct pipeline *pipeline =
        orchestrator_pipeline_by_id(telling->comparisons->pipelines, cell->pipeline);
    if (cell->state != CELL_FAILED || *cell->error != '\0')
        return cell->error;
    return pipeline == NULL || *orchestrator_pipeline_error(pipeline) == '\0'
               ? "its pipeline was removed"
               : orchestrator_pipeline_error(pipeline);
}

static void tell_cell(struct telling *telling, size_t index)
{
    const struct comparison *comparison = telling->comparison;
    const struct comparing_cell *cell = &comparison->cells[index];
    const struct grid_policy *policy = orchestrator_grid_policy_of(comparison->grid, index);
    size_t row = telling->row_of[index];
    WEIR_AUTO_FREE char *pipeline = orchestrator_comparison_pipeline_name(comparison, index);
    json_t *json = JSON_FIELDS(
        JSON_TEXT("cell", cell->name), JSON_TEXT("policy", policy->name),
        JSON_NEW("axes", axes_json(policy, orchestrator_grid_seed_of(comparison->grid, index))),
        JSON_TEXT("pipeline", pipeline),
        JSON_TEXT("state", orchestrator_cell_state_name(cell->state)),
        JSON_TEXT("error", error_of(telling, cell)), JSON_TEXT("config_digest", cell->digest));
    if (cell->state == CELL_DONE && row < weir_rows_count(telling->rows))
        tell_result(telling, row, index, json);
    json_array_append_new(telling->cells, json);
}

/* ---- all of them ---- */

static json_t *interval_json(const struct mean_interval *interval)
{
    if (interval->count == 0)
        return json_null();
    return JSON_FIELDS(JSON_NUMBER("n", interval->count), JSON_DOUBLE("mean", interval->mean),
                       JSON_NEW("low", real_or_null(interval->has_interval, interval->low)),
                       JSON_NEW("high", real_or_null(interval->has_interval, interval->high)));
}

/* The mean over the cells of a policy that have the number, in their member `inside` (NULL: of their own); NULL: none
 * has. */
static json_t *mean_of(const struct telling *telling, size_t policy, const char *inside,
                       const char *key)
{
    size_t seeds = orchestrator_grid_seeds(telling->comparison->grid), count = 0;
    double sum = 0;
    for (size_t i = policy * seeds; i < (policy + 1) * seeds; i++) {
        const json_t *cell = json_array_get(telling->cells, i);
        const json_t *value =
            json_object_get(inside == NULL ? cell : json_object_get(cell, inside), key);
        if (value == NULL)
            continue;
        sum += json_number_value(value);
        count++;
    }
    return count == 0 ? NULL : json_real(sum / (double)count);
}

/* Of a cell alone. */
static json_t *mean_costs(const struct telling *telling, size_t policy)
{
    static const char *const KEYS[] = {"triggers", "samples", "cpu_s", "gpu_s", "bytes", "money"};
    json_t *costs = json_object();
    for (size_t k = 0; k < WEIR_COUNT(KEYS); k++) {
        json_t *mean = mean_of(telling, policy, NULL, KEYS[k]);
        if (mean != NULL)
            json_object_set_new(costs, KEYS[k], mean);
    }
    return costs;
}

/* With reuse: what was really spent. */
static json_t *mean_reused(const struct telling *telling, size_t policy)
{
    json_t *cpu_s = mean_of(telling, policy, "reused", "cpu_s");
    return cpu_s == NULL
               ? json_null()
               : JSON_FIELDS(JSON_NEW("cpu_s", cpu_s),
                             JSON_NEW("money", mean_of(telling, policy, "reused", "money")));
}

static json_t *policy_json(const struct telling *telling, size_t index,
                           const struct verdict_policy *verdict, bool is_chosen)
{
    const struct comparison_grid *grid = telling->comparison->grid;
    const struct grid_policy *policy = &grid->policies[index];
    json_t *against = interval_json(&verdict->difference);
    if (policy != grid->baseline && json_is_object(against))
        json_object_set_new(against, "baseline", json_string(grid->baseline->name));
    bool is_compared = policy != grid->baseline && json_is_object(against);
    if (!is_compared)
        json_decref(against);
    return JSON_FIELDS(JSON_TEXT("policy", policy->name), JSON_NEW("axes", axes_json(policy, 0)),
                       JSON_NUMBER("seeds", verdict->cost.count),
                       JSON_NEW("quality", interval_json(&verdict->judged)),
                       JSON_NEW("chosen_by", interval_json(&verdict->chosen_by)),
                       JSON_NEW("costs", mean_costs(telling, index)),
                       JSON_NEW("reused", mean_reused(telling, index)),
                       JSON_FLAG("pareto", verdict->is_optimal), JSON_FLAG("chosen", is_chosen),
                       JSON_FLAG("baseline", policy == grid->baseline),
                       JSON_NEW("against", is_compared ? against : json_null()));
}

static void tell_policies(struct telling *telling, json_t *json)
{
    const struct comparison_grid *grid = telling->comparison->grid;
    const struct verdict_rules rules = {
        .policy_count = grid->policy_count,
        .baseline = (size_t)(grid->baseline - grid->policies),
        .higher_is_better = grid->judge.higher_is_better,
    };
    WEIR_AUTO_FREE struct verdict_policy *verdicts =
        weir_calloc(grid->policy_count, sizeof(*verdicts));
    size_t chosen = orchestrator_verdict(telling->judged, telling->judged_count, &rules, verdicts);
    json_t *policies = json_array();
    for (size_t i = 0; i < grid->policy_count; i++)
        json_array_append_new(policies, policy_json(telling, i, &verdicts[i], i == chosen));
    json_object_set_new(json, "policies", policies);
    json_object_set_new(json, "chosen",
                        chosen < grid->policy_count ? json_string(grid->policies[chosen].name)
                                                    : json_null());
}

/* Windows of the time that count, and that do not because a policy lacks them. */
static json_t *judging_json(const struct judging *judging)
{
    return JSON_FIELDS(
        JSON_NUMBER("windows", judging->count), JSON_NUMBER("left_out", judging->left_out),
        JSON_NEW("fewest", judging->fewest != NULL ? json_string(judging->fewest) : json_null()));
}

static json_t *judge_json(const struct telling *telling)
{
    const struct grid_judge *judge = &telling->comparison->grid->judge;
    return JSON_FIELDS(
        JSON_TEXT("evaluation", judge->evaluation), JSON_TEXT("metric", judge->metric),
        JSON_TEXT("better", judge->higher_is_better ? "higher" : "lower"),
        JSON_NEW("from", time_or_null(judge->from)), JSON_NEW("until", time_or_null(judge->until)),
        JSON_NEW("choose_from", time_or_null(judge->choose_from)),
        JSON_NEW("choose_until", time_or_null(judge->choose_until)),
        JSON_NEW("judged_on", judging_json(&telling->judged_on)),
        JSON_NEW("chosen_on", judging_json(&telling->chosen_on)));
}

static void tell_grid(const struct telling *telling, json_t *json)
{
    const struct comparison_grid *grid = telling->comparison->grid;
    WEIR_AUTO_BUF axes = {0};
    weir_yaml_print_json(grid->axes, &axes);
    json_object_set_new(json, "grid", orchestrator_json_of(weir_buf_text(&axes)));
    json_object_set_new(json, "judge", judge_json(telling));
}

/* Fills `json` with all that is told beyond the brief. The lists of `telling` are zeroed, and big enough. */
static void tell_all(struct telling *telling, json_t *json)
{
    read_windows(telling);
    share_windows(telling, &telling->judged_on);
    share_windows(telling, &telling->chosen_on);
    tell_grid(telling, json);
    sum_makings(telling);
    for (size_t i = 0; i < orchestrator_grid_cell_count(telling->comparison->grid); i++)
        tell_cell(telling, i);
    tell_policies(telling, json);
    json_object_set_new(json, "currency", json_string(telling->prices->currency));
    json_object_set_new(json, "priced", json_boolean(is_priced(telling->prices)));
    json_object_set_new(json, "cells", telling->cells);
    forget_windows(telling);
}

enum weir_status orchestrator_comparison_tell(const struct comparisons *comparisons,
                                              const struct comparison *comparison,
                                              json_t **ret_json, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    const struct comparison_grid *grid = comparison->grid;
    size_t count = orchestrator_grid_cell_count(grid);
    enum weir_status status =
        DB_RUN(comparisons->context->db, Q_cell_results, &rows, err, DB_I64(comparison->number));
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE struct verdict_cell *judged = weir_calloc(count, sizeof(*judged));
    WEIR_AUTO_FREE size_t *row_of = weir_calloc(count, sizeof(*row_of));
    WEIR_AUTO_FREE struct making *makings = weir_calloc(grid->policy_count, sizeof(*makings));
    WEIR_AUTO_FREE json_t **lists = weir_calloc(count, sizeof(*lists));
    WEIR_AUTO_FREE struct cell_windows *windows = weir_calloc(count, sizeof(*windows));
    for (size_t i = 0; i < count; i++)
        row_of[i] = find_row(rows, comparison->cells[i].name);
    struct telling telling = {
        .comparisons = comparisons,
        .comparison = comparison,
        .prices = grid->has_prices ? &grid->prices : &comparisons->context->prices,
        .rows = rows,
        .row_of = row_of,
        .makings = makings,
        .lists = lists,
        .windows = windows,
        .judged_on = {.within = {grid->judge.from, grid->judge.until}},
        .chosen_on = {.within = {grid->judge.choose_from, grid->judge.choose_until}},
        .cells = json_array(),
        .judged = judged,
    };
    *ret_json = orchestrator_comparison_brief(comparisons, comparison);
    tell_all(&telling, *ret_json);
    return WEIR_OK;
}
