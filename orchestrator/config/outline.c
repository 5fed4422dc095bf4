/* The file that goes with a trigger: see outline.h. */
#include "orchestrator/config/outline.h"

struct pipeline_outline orchestrator_outline_at(struct pipeline_outline outline, int64_t trigger)
{
    const struct pipeline_edition *found = NULL;

    for (const struct pipeline_edition *at = outline.before; at != NULL; at = at->before)
        if (at->until >= trigger)
            found =
                at; /* the oldest of them: editions ascend, and one that made nothing is skipped */
    if (found == NULL)
        return outline;
    outline.file = found->file;
    outline.text = weir_buf_view(&found->text);
    outline.config = found->config;
    return outline;
}
