/* Events as lines for people. Pure. */
#ifndef ORCHESTRATOR_SCREEN_LINES_H
#define ORCHESTRATOR_SCREEN_LINES_H

#include "core/base/bytes.h"

#include <jansson.h>

/* Appends the line of an event without its end; nothing for an event that people need not see. */
void orchestrator_screen_line_of(const json_t *event, struct weir_buf *out);

#endif
