/* Times of a row as JSON. */
#include "orchestrator/pipeline/timeline.h"

#include "orchestrator/values/json_object.h"

enum step { ARRIVED, FIRED, SEALED, FIRST_BATCH, TRAINED, STORED, EVALUATED, STEPS };

/* Each in the column NAME_us. */
static const struct {
    const char *name, *column;
} OF[STEPS] = {
#define STEP(step, name) [step] = {name, name "_us"}
    STEP(ARRIVED, "arrived"),         STEP(FIRED, "fired"),     STEP(SEALED, "sealed"),
    STEP(FIRST_BATCH, "first_batch"), STEP(TRAINED, "trained"), STEP(STORED, "stored"),
    STEP(EVALUATED, "evaluated"),
#undef STEP
};

json_t *orchestrator_pipeline_timeline_json(const struct weir_rows *rows, size_t row,
                                            int64_t stored_us)
{
    int64_t at_us[STEPS]; /* 0: it is not taken */
    json_t *timeline = json_object();
    for (size_t i = 0; i < STEPS; i++)
        at_us[i] = weir_rows_i64(rows, row, OF[i].column);
    at_us[STORED] = stored_us != 0 ? stored_us : at_us[STORED];
    for (size_t i = 0; i < STEPS; i++)
        json_object_set_new(timeline, OF[i].name,
                            at_us[i] != 0 ? orchestrator_json_time(at_us[i]) : json_null());
    int64_t first_us = at_us[ARRIVED] != 0 ? at_us[ARRIVED] : at_us[FIRED];
    json_object_set_new(timeline, "seconds",
                        at_us[STORED] != 0 ? json_real((double)(at_us[STORED] - first_us) / 1e6)
                                           : json_null());
    json_object_set_new(timeline, "hidden_seconds",
                        json_real((double)weir_rows_i64(rows, row, "hidden_us") / 1e6));
    return timeline;
}
