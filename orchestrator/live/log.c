/* A ring: line `count % LIVE_LINES_MAX` is the next to be written. */
#include "orchestrator/live/log.h"

#include "core/base/require.h"

void orchestrator_live_log_add(struct live_log *log, int64_t number, struct weir_bytes text)
{
    struct live_line *line = &log->lines[log->count++ % LIVE_LINES_MAX];
    weir_require(number > log->number);
    orchestrator_live_text_free(line->text);
    *line = (struct live_line){number, orchestrator_live_text_new(text)};
    log->number = number;
}

const struct live_line *orchestrator_live_log_after(const struct live_log *log, int64_t number)
{
    size_t kept = log->count < LIVE_LINES_MAX ? log->count : LIVE_LINES_MAX;
    for (size_t i = log->count - kept; i < log->count; i++) {
        const struct live_line *line = &log->lines[i % LIVE_LINES_MAX];
        if (line->number > number)
            return line;
    }
    return NULL;
}

void orchestrator_live_log_fini(struct live_log *log)
{
    for (size_t i = 0; i < LIVE_LINES_MAX; i++)
        orchestrator_live_text_free(log->lines[i].text);
    *log = (struct live_log){.number = 0};
}
