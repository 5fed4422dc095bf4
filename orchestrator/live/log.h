/* The newest lines of events, each with the number of its event, in its order. Whoever is sent the lines after the one
 * that came last has all of them in the end, unless more have come meanwhile than are kept. Pure. */
#ifndef ORCHESTRATOR_LIVE_LOG_H
#define ORCHESTRATOR_LIVE_LOG_H

#include "orchestrator/live/text.h"

#include <stdint.h>

enum { LIVE_LINES_MAX = 200 };

struct live_line {
    int64_t number;
    struct live_text *text;
};

/* All zeros: there is none yet. */
struct live_log {
    int64_t number; /* of the newest event that was looked at, shown or not */
    struct live_line lines[LIVE_LINES_MAX];
    size_t count; /* of lines that there ever were */
};

/* Numbers grow. The oldest line goes when there are as many as are kept. */
void orchestrator_live_log_add(struct live_log *log, int64_t number, struct weir_bytes text);
/* The oldest line after that number; NULL: there is none. */
const struct live_line *orchestrator_live_log_after(const struct live_log *log, int64_t number);
void orchestrator_live_log_fini(struct live_log *log);

#endif
