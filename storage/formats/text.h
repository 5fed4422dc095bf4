/* Values and names as text. */
#ifndef WEIR_STORAGE_FORMATS_TEXT_H
#define WEIR_STORAGE_FORMATS_TEXT_H

#include "storage/formats/format.h"

/* A value as text: what classes, subjects and keys are compared by; in `scratch` or borrowed. */
enum { STORAGE_NUMBER_MAX = 64 };
struct weir_bytes storage_value_text(const struct format_value *value, char *scratch);
/* Without the blanks and tabs that people put around values. */
struct weir_bytes storage_value_trim(struct weir_bytes text);
/* `text` with everything but plain characters replaced, in the caller's memory: for places. */
char *storage_printable(const char *text) WEIR_MUST_USE;

#endif
