/* The life of a part: begun, ended, shown. */
#include "orchestrator/monitoring/parts.h"

static void drop(struct figures **figures)
{
    orchestrator_figures_free(*figures);
    *figures = NULL;
}

void orchestrator_monitor_part_begin(struct monitor_part *part)
{
    int64_t now_ms = weir_loop_clock_ms(part->loop);
    if (part->shown != NULL && now_ms - part->shown_ms > MONITOR_STALE_MS)
        drop(&part->shown);
    bool is_young = part->shown != NULL && now_ms - part->shown_ms < part->source->fresh_ms;
    if (part->draft != NULL || is_young)
        return;
    part->begun_ms = now_ms;
    part->draft = orchestrator_figures_new();
    part->source->begin(part);
}

void orchestrator_monitor_part_end(struct monitor_part *part, bool is_shown, bool is_good)
{
    int64_t now_ms = weir_loop_clock_ms(part->loop);
    part->is_good = is_good;
    if (is_shown) {
        drop(&part->shown);
        part->shown = WEIR_TAKE(part->draft);
        part->shown_ms = now_ms;
        part->took_ms = now_ms - part->begun_ms;
    }
    drop(&part->draft);
    part->ended(part->owner);
}

void orchestrator_monitor_part_clear(struct monitor_part *part)
{
    part->source->forget(part);
    part->is_good = false;
    drop(&part->draft);
    drop(&part->shown);
}
