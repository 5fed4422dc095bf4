/* The output of `orchestrator run`: events as NDJSON, as plain lines, or, on a terminal, as lines above a block that is
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

void orchestrator_screen_init(struct screen *screen, bool json);
/* Waits until everything is read, or nothing has been for some seconds. */
void orchestrator_screen_end(struct screen *screen);
/* Writes what waits for its reader, as far as it goes without waiting. True when nothing waits any longer. */
bool orchestrator_screen_flush(struct screen *screen);
/* One committed event, a line of JSON. */
void orchestrator_screen_event(struct screen *screen, const char *json);
/* Draws the block again, at most ten times a second. */
void orchestrator_screen_progress(struct screen *screen, const struct run_progress *progress,
                                  int64_t now_ms);
/* Takes the block away. */
void orchestrator_screen_clear(struct screen *screen);
/* One line for people; nothing with --json. */
void orchestrator_screen_say(struct screen *screen, const char *text);
/* A line on stderr. */
void orchestrator_screen_complain(struct screen *screen, const char *text);
/* A failure: on stderr, and as an `error` event with --json. */
void orchestrator_screen_fail(struct screen *screen, const char *text);

#endif
