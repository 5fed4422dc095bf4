/* The sets that were sealed, united. */
#include "selector/pipelines/history.h"

#include "core/base/memory.h"
#include "core/wire/sample_set.h"
#include "selector/policies/policy.h"
#include "selector/sql/queries.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void selector_history_fini(struct selector_history *history)
{
    selector_set_fini(&history->used);
    selector_set_fini(&history->drawn);
    history->upto = 0;
}

/* Adds a draw: samples that are drawn again begin the next epoch, and are all that was drawn in it. */
static void add_draw(struct selector_set *drawn, const struct selector_set *set)
{
    struct selector_set repeated = {0};
    selector_set_combine(&repeated, SELECTOR_UNION, drawn);
    selector_set_combine(&repeated, SELECTOR_INTERSECTION, set);
    if (repeated.count == 0) {
        selector_set_combine(drawn, SELECTOR_UNION, set);
        selector_set_fini(&repeated);
        return;
    }
    selector_set_fini(drawn);
    *drawn = repeated;
}

void selector_history_add(struct selector_history *history, uint64_t trigger, const uint64_t *ids,
                          size_t count)
{
    struct selector_set set;
    selector_set_of_ids(&set, ids, count);
    selector_set_combine(&history->used, SELECTOR_UNION, &set);
    if (trigger > history->warmup && trigger == history->upto) /* a later round of its training */
        selector_set_combine(&history->drawn, SELECTOR_UNION, &set);
    else if (trigger > history->warmup)
        add_draw(&history->drawn, &set);
    history->upto = trigger;
    selector_set_fini(&set);
}

static enum weir_status add_file(struct selector_history *history, const char *data_dir,
                                 uint64_t trigger, const char *digest, struct weir_error *err)
{
    struct weir_sample_set set = {0};
    WEIR_AUTO_FREE char *path = weir_format("%s/sets/%s.set", data_dir, digest);
    enum weir_status status = weir_sample_set_open(path, &set, err);
    if (status != WEIR_OK)
        return status;
    selector_history_add(history, trigger, set.ids, set.count);
    weir_sample_set_close(&set);
    return WEIR_OK;
}

enum weir_status selector_history_reach(struct selector_history *history, struct weir_db *db,
                                        const char *data_dir, const char *pipeline,
                                        uint64_t trigger, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    if (history->upto >= trigger)
        selector_history_fini(history);
    enum weir_status status = DB_RUN(db, Q_list_sets, &rows, err, DB_TEXT(pipeline),
                                     DB_I64(history->upto), DB_I64(trigger));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = add_file(history, data_dir, (uint64_t)weir_rows_i64(rows, i, "trigger"),
                          weir_rows_text(rows, i, "digest"), err);
    if (status != WEIR_OK) {
        selector_history_fini(history);
        return weir_error_wrap(err, status, "the earlier sets of pipeline '%s'", pipeline);
    }
    history->upto = trigger - 1;
    return WEIR_OK;
}

static void mark(const struct selector_set *set, const uint64_t *ids, size_t count, uint8_t flag,
                 uint8_t *past)
{
    uint64_t mask[SELECTOR_MASK_WORDS];
    selector_set_mask(set, ids[0] - weir_sample_row(ids[0]), mask);
    for (size_t i = 0; i < count; i++) {
        uint32_t row = weir_sample_row(ids[i]);
        if (mask[row / 64] >> (row % 64) & 1)
            past[i] |= flag;
    }
}

void selector_history_mark(const struct selector_history *history, const uint64_t *ids,
                           size_t count, uint8_t *past)
{
    memset(past, 0, count);
    if (count == 0)
        return;
    mark(&history->used, ids, count, SELECTION_USED, past);
    mark(&history->drawn, ids, count, SELECTION_DRAWN, past);
}
