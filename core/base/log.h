/* One line per event on stderr: `2026-01-31T12:00:00.123Z info storage "scan finished"
 * dataset=mails files=12`. Only code that decides logs (handlers, service mains); everything below
 * returns errors. Never logs payload bytes, subjects or keys. The level and the process name are
 * mutable globals, set once; only core/base/fault.c has others. */
#ifndef WEIR_BASE_LOG_H
#define WEIR_BASE_LOG_H

#include "core/base/attributes.h"

#include <stdbool.h>

enum weir_log_level { WEIR_LOG_DEBUG, WEIR_LOG_INFO, WEIR_LOG_WARN, WEIR_LOG_ERROR };

void weir_log_setup(const char *process, enum weir_log_level level);
bool weir_log_level_from_name(const char *name, enum weir_log_level *ret_level);

/* `sentence` is fixed text; `format` gives the fields: weir_log(WEIR_LOG_INFO, "scan finished",
 * "files=%zu", n). Pass "%s", "" for no fields. A line that is longer than 2 KiB is cut, and ends in "…". */
void weir_log(enum weir_log_level level, const char *sentence, const char *format, ...)
    WEIR_PRINTF(3, 4);

#endif
