/* Numbers of lines, for people who look for a record in its file. */
#ifndef WEIR_BASE_LINE_AT_H
#define WEIR_BASE_LINE_AT_H

#include "core/base/attributes.h"

#include <stdbool.h>
#include <stdint.h>

/* Returns the number, from 1, of the line that begins at `offset`; 0 where none does, at the beginning (the file may
 * have no lines), in what is not text, beyond 64 MiB, and in what cannot be read. Reads the file up to there. */
uint64_t weir_line_at(const char *path, uint64_t offset);
/* Returns the place of the record that begins at `offset` of the file at `path`, which people call `name`:
 * "data/a.csv:17", or where lines are not counted "data/a.bin: byte 4096". free() it. */
char *weir_record_place(const char *name, const char *path, uint64_t offset,
                        bool counts_lines) WEIR_MUST_USE;

#endif
