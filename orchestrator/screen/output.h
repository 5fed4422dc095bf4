/* Lines for a descriptor that perhaps nobody reads. What does not go out at once waits, in bounded memory; beyond that
 * whole lines are dropped, and a line in their place says how many. Only orchestrator_output_end() waits. */
#ifndef ORCHESTRATOR_SCREEN_OUTPUT_H
#define ORCHESTRATOR_SCREEN_OUTPUT_H

#include "core/base/bytes.h"

enum { OUTPUT_WAITING_MAX = 4 << 20 }; /* bytes */

struct output {
    int fd;             /* borrowed; -1: its reader is gone */
    bool json;          /* form in which dropped lines are reported */
    size_t piece_bytes; /* bytes that a writable descriptor takes without a wait */
    struct weir_buf waiting;
    size_t sent;      /* bytes of `waiting` that have gone out */
    uint64_t dropped; /* lines since the last one that was taken */
};

void orchestrator_output_init(struct output *output, int fd, bool json);
void orchestrator_output_fini(struct output *output);
/* `text` is whole lines, or something between two lines that a terminal understands. */
void orchestrator_output_put(struct output *output, struct weir_bytes text);
/* Writes what goes without waiting. True when nothing waits any longer. */
bool orchestrator_output_flush(struct output *output);
/* Writes the rest; gives up when the reader takes nothing for so long. */
void orchestrator_output_end(struct output *output, int patience_ms);

#endif
