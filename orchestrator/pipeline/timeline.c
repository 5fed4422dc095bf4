/* Times of a row as JSON. */
#include "orchestrator/pipeline/timeline.h"

#include "orchestrator/context/events.h"

/* Each in the column NAME_us. */
static const struct {
    const char *name, *column;
} STEPS[] = {
#define STEP(name)         \
    {                      \
#name, #name "_us" \
    }
    STEP(arrived), STEP(fired),  STEP(sealed),    STEP(first_batch),
    STEP(trained), STEP(stored), STEP(evaluated),
#undef STEP
};

json_t *orchestrator_pipeline_timeline_json(const struct weir_rows *rows, size_t row)
{
    const char *first = weir_rows_is_null(rows, row, "arrived_us") ? "fired_us" : "arrived_us";
    bool is_stored = !weir_rows_is_null(rows, row, "stored_us");
    int64_t took_us =
        is_stored ? weir_rows_i64(rows, row, "stored_us") - weir_rows_i64(rows, row, first) : 0;
    json_t *timeline = json_object();

    for (size_t i = 0; i < WEIR_COUNT(STEPS); i++) {
        bool is_taken = !weir_rows_is_null(rows, row, STEPS[i].column);
        json_object_set_new(timeline, STEPS[i].name,
                            is_taken
                                ? orchestrator_json_time(weir_rows_i64(rows, row, STEPS[i].column))
                                : json_null());
    }
    json_object_set_new(timeline, "seconds",
                        is_stored ? json_real((double)took_us / 1e6) : json_null());
    json_object_set_new(timeline, "hidden_seconds",
                        json_real((double)weir_rows_i64(rows, row, "hidden_us") / 1e6));
    return timeline;
}
