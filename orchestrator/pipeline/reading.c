/* READING: what comes before any sample is looked at. The newest trigger may not be through yet (it failed, was stopped,
 * or its orchestrator died). */
#include "orchestrator/pipeline/pipeline_state.h"

#include <string.h>

static bool is_through(const struct trigger_row *trigger)
{
    return trigger->number == 0 || strcmp(trigger->state, "done") == 0 ||
           strcmp(trigger->state, "skipped") == 0;
}

void pipeline_read(struct pipeline *pipeline)
{
    struct weir_error err;
    enum weir_status status = pipeline_load(pipeline, &err);
    if (status == WEIR_OK)
        status = pipeline_load_newest(pipeline, &err);
    if (status != WEIR_OK) {
        pipeline_trouble(pipeline, status, &err);
        return;
    }
    if (!is_through(&pipeline->newest))
        pipeline_advance(pipeline, PIPELINE_ON_TRIGGERED, NULL, NULL);
    else if (pipeline->config->mode == MODE_LIVE)
        pipeline_read_live(pipeline);
    else
        pipeline_read_replay(pipeline);
}
