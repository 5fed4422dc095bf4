/* Binary search over the ends of the earlier triggers. */
#include "selector/pipelines/origin.h"

#include "core/base/bisect.h"
#include "core/base/memory.h"
#include "selector/sql/queries.h"

#include <inttypes.h>
#include <stdlib.h>

enum weir_status selector_ends_read(struct weir_db *db, const struct selector_pipeline *pipeline,
                                    uint64_t trigger, struct selector_ends *ret_ends,
                                    struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(db, Q_list_ends, &rows, err, DB_TEXT(pipeline->name), DB_I64(trigger));
    if (status != WEIR_OK)
        return status;
    size_t width = pipeline->dataset_count;
    size_t count = width > 0 ? weir_rows_count(rows) / width : 0;
    if (count != trigger - 1 || count * width != weir_rows_count(rows))
        return weir_fail(err, WEIR_INVALID,
                         "pipeline '%s': expected the selections of all triggers before %" PRIu64
                         " over %zu datasets: triggers are selected in order",
                         pipeline->name, trigger, width);
    struct selector_ends ends = {.count = count};
    ends.times = weir_calloc(count + 1, sizeof(*ends.times));
    ends.ids = weir_calloc(count + 1, sizeof(*ends.ids));
    ends.positions = weir_calloc(count * width + 1, sizeof(*ends.positions));
    for (size_t i = 0; i < count * width; i++) {
        ends.times[i / width] = weir_rows_i64(rows, i, "until_time");
        ends.ids[i / width] = (uint64_t)weir_rows_i64(rows, i, "until_id");
        ends.positions[i] = (uint64_t)weir_rows_i64(rows, i, "position");
    }
    *ret_ends = ends;
    return WEIR_OK;
}

void selector_ends_fini(struct selector_ends *ends)
{
    free(ends->times);
    free(ends->ids);
    free(ends->positions);
    *ends = (struct selector_ends){0};
}

/* The first trigger that ends at (time, id) or later. */
static int64_t trigger_at(const struct selector_ends *ends, int64_t time, uint64_t id)
{
    size_t low = 0, high = ends->count;
    WEIR_BISECT(low, high, middle,
                ends->times[middle] != time ? ends->times[middle] < time : ends->ids[middle] < id);
    return (int64_t)low + 1;
}

/* The first trigger whose position in the `index`-th dataset has reached `sequence`. */
static int64_t trigger_of(const struct selector_ends *ends, size_t width, size_t index,
                          uint64_t sequence)
{
    size_t low = 0, high = ends->count;
    WEIR_BISECT(low, high, middle, ends->positions[middle * width + index] < sequence);
    return (int64_t)low + 1;
}

static size_t place_of(const struct selector_pipeline *pipeline, uint64_t dataset)
{
    size_t index = 0;
    while (index + 1 < pipeline->dataset_count && pipeline->datasets[index] != dataset)
        index++;
    return index;
}

/* Samples ingested at once have one sequence number, which is looked up once. */
static void mark_live(const struct selector_pipeline *pipeline, const struct selector_ends *ends,
                      const struct selection_run *run, int64_t *triggers)
{
    WEIR_AUTO_FREE uint64_t *sequences = weir_calloc(WEIR_BLOCK_ROWS, sizeof(*sequences));
    uint64_t dataset = weir_sample_dataset(run->ids[0]);
    size_t index = place_of(pipeline, dataset);
    selector_pool_added(&pipeline->pool, dataset, weir_sample_block(run->ids[0]), sequences);
    for (size_t i = 0; i < run->count; i++) {
        uint64_t sequence = sequences[weir_sample_row(run->ids[i])];
        bool again = i > 0 && sequences[weir_sample_row(run->ids[i - 1])] == sequence;
        triggers[i] =
            again ? triggers[i - 1] : trigger_of(ends, pipeline->dataset_count, index, sequence);
    }
}

void selector_origin_mark(const struct selector_pipeline *pipeline,
                          const struct selector_ends *ends, const struct selection_run *run,
                          int64_t *triggers)
{
    if (!pipeline->replay) {
        mark_live(pipeline, ends, run, triggers);
        return;
    }
    for (size_t i = 0; i < run->count; i++)
        triggers[i] = trigger_at(ends, run->times[i], run->ids[i]);
}
