/* Names that an erasure is requested by: subjects, keys and sample numbers, from options and from a CSV of them. */
#ifndef CLI_ERASE_NAMES_H
#define CLI_ERASE_NAMES_H

#include "cli/command.h"

enum { CLI_NAMES_MAX = 65536, CLI_CSV_BYTES_MAX = 64 << 20 };

/* Two objects alike: {"subjects": […], "keys": […], "ids": […]}. */
struct erase_names {
    json_t *lists; /* the names */
    json_t *lines; /* the line of its file that each stands on; 0: an option of the command line */
};

/* Their lists, or NULL with INVALID in `err`: "FILE:line: …". `command` is named when there are none or too many.
 * `ret_lines` may be NULL. */
json_t *cli_erase_names(const struct cli_call *call, const char *command, json_t **ret_lines,
                        struct weir_error *err);
struct erase_names cli_erase_names_new(void);
void cli_erase_names_fini(struct erase_names *names);
/* Adds the rows of a CSV (RFC 4180) whose header names columns `subject`, `key` and `id`, one of them or more; empty
 * fields are nobody. */
enum weir_status cli_erase_names_csv(const char *file, struct weir_bytes text,
                                     const struct erase_names *names,
                                     struct weir_error *err) WEIR_MUST_USE;

#endif
