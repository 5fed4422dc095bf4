/* Binary search over the ends of the earlier triggers. */
#include "selector/origin.h"

#include "core/base/memory.h"
#include "selector/queries.h"

#include <inttypes.h>
#include <stdlib.h>

enum weir_status selector_ends_read(struct weir_db *db, const struct selector_pipeline *pipeline,
                                    uint64_t trigger, struct selector_ends *ret_ends,
                                    struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(db, Q_list_ends, &rows, err, DB_TEXT(pipeline->name), DB_I64(trigger));
    if (status)
        return status;
    size_t width = pipeline->dataset_count;
    size_t count = width > 0 ? weir_rows_count(rows) / width : 0;
    if (count != trigger - 1 || count * width != weir_rows_count(rows))
        return weir_fail(err, WEIR_INVALID,
                         "pipeline '%s': expected the selections of all triggers before %" PRIu64
                         " over %zu datasets: triggers are selected in order",
                         pipeline->name, trigger, width);
    struct selector_ends ends = {.count = count};
    ends.times = weir_calloc(count + 1, sizeof *ends.times);
    ends.ids = weir_calloc(count + 1, sizeof *ends.ids);
    ends.positions = weir_calloc(count * width + 1, sizeof *ends.positions);
    for (size_t i = 0; i < count * width; i++) {
        ends.times[i / width] = weir_rows_i64(rows, i, 0);
        ends.ids[i / width] = (uint64_t)weir_rows_i64(rows, i, 1);
        ends.positions[i] = (uint64_t)weir_rows_i64(rows, i, 2);
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
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        bool before =
            ends->times[middle] != time ? ends->times[middle] < time : ends->ids[middle] < id;
        if (before)
            low = middle + 1;
        else
            high = middle;
    }
    return (int64_t)low + 1;
}

/* The first trigger whose position in the `index`-th dataset has reached `sequence`. */
static int64_t trigger_of(const struct selector_ends *ends, size_t width, size_t index,
                          uint64_t sequence)
{
    size_t low = 0, high = ends->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (ends->positions[middle * width + index] < sequence)
            low = middle + 1;
        else
            high = middle;
    }
    return (int64_t)low + 1;
}

static size_t place_of(const struct selector_pipeline *pipeline, uint64_t dataset)
{
    size_t index = 0;
    while (index + 1 < pipeline->dataset_count && pipeline->datasets[index] != dataset)
        index++;
    return index;
}

static void mark_live(struct selector_candidates *candidates,
                      const struct selector_pipeline *pipeline, const struct selector_ends *ends)
{
    WEIR_AUTO_FREE uint64_t *sequences = weir_calloc(WEIR_BLOCK_ROWS, sizeof *sequences);
    uint64_t block = UINT64_MAX;
    size_t index = 0;
    for (size_t i = 0; i < candidates->count; i++) {
        uint64_t id = candidates->ids[i];
        uint64_t dataset = weir_sample_dataset(id);
        if (id - weir_sample_row(id) != block) {
            block = id - weir_sample_row(id);
            index = place_of(pipeline, dataset);
            selector_pool_added(&pipeline->pool, dataset, weir_sample_block(id), sequences);
        }
        candidates->triggers[i] =
            trigger_of(ends, pipeline->dataset_count, index, sequences[weir_sample_row(id)]);
    }
}

void selector_origin_mark(struct selector_candidates *candidates,
                          const struct selector_pipeline *pipeline,
                          const struct selector_ends *ends)
{
    candidates->triggers = weir_calloc(candidates->count + 1, sizeof *candidates->triggers);
    if (!pipeline->replay) {
        mark_live(candidates, pipeline, ends);
        return;
    }
    for (size_t i = 0; i < candidates->count; i++)
        candidates->triggers[i] = trigger_at(ends, candidates->times[i], candidates->ids[i]);
}
