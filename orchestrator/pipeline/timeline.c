/* Times of a row as JSON. */
#include "orchestrator/pipeline/timeline.h"

#include "orchestrator/context/events.h"

static const char *const STEPS[] = {"arrived", "fired",  "sealed",   "first_batch",
                                    "trained", "stored", "evaluated"};
enum { ARRIVED, FIRED, STORED = 5 };

json_t *pipeline_timeline_json(const struct weir_rows *rows, size_t row, int column)
{
    json_t *timeline = json_object();
    for (int i = 0; i < (int)WEIR_COUNT(STEPS); i++) {
        bool is_taken = !weir_rows_is_null(rows, row, column + i);
        json_object_set_new(timeline, STEPS[i],
                            is_taken ? orchestrator_json_time(weir_rows_i64(rows, row, column + i))
                                     : json_null());
    }
    int first = weir_rows_is_null(rows, row, column + ARRIVED) ? FIRED : ARRIVED;
    bool is_stored = !weir_rows_is_null(rows, row, column + STORED);
    int64_t took_us = is_stored ? weir_rows_i64(rows, row, column + STORED) -
                                      weir_rows_i64(rows, row, column + first)
                                : 0;
    json_object_set_new(timeline, "seconds",
                        is_stored ? json_real((double)took_us / 1e6) : json_null());
    return timeline;
}
