/* What `orchestrator run` shows: events as NDJSON, as plain lines, or, on a terminal, as lines above a block that is
 * drawn again while a trainer works. */
#ifndef ORCHESTRATOR_SCREEN_SCREEN_H
#define ORCHESTRATOR_SCREEN_SCREEN_H

#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/runs/run.h"
#include "orchestrator/screen/output.h"

struct screen {
    bool json;
    bool terminal;
    int block_lines; /* of the progress block on the terminal now */
    int64_t drawn_ms;
    struct output out, err; /* stdout and stderr */
};

void screen_init(struct screen *screen, bool json);
/* Waits until everything is read, or nothing has been for some seconds. */
void screen_end(struct screen *screen);
/* Writes what waits for its reader, as far as it goes without waiting. True when nothing waits any longer. */
bool screen_flush(struct screen *screen);
/* One committed event, a line of JSON. */
void screen_event(struct screen *screen, const char *json);
/* Draws the block anew, at most ten times a second. */
void screen_progress(struct screen *screen, const struct run_progress *progress, int64_t now_ms);
/* Takes the block away. */
void screen_clear(struct screen *screen);
/* One line for people; nothing with --json. */
void screen_say(struct screen *screen, const char *text);
/* A line on stderr. */
void screen_complain(struct screen *screen, const char *text);
/* A failure: on stderr, and as an `error` event with --json. */
void screen_fail(struct screen *screen, const char *text);

#endif
