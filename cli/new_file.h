/* Files that a person gets written: new ones alone. */
#ifndef CLI_NEW_FILE_H
#define CLI_NEW_FILE_H

#include "core/base/bytes.h"
#include "core/base/error.h"

/* Writes a file that is not there yet. EXISTS, IO. */
enum weir_status cli_new_file(const char *path, struct weir_bytes text,
                              struct weir_error *err) WEIR_MUST_USE;

#endif
