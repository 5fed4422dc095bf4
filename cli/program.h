/* The programs beside this one: run to their end with what they print, or found for a longer stay. */
#ifndef CLI_PROGRAM_H
#define CLI_PROGRAM_H

#include "core/base/bytes.h"
#include "core/base/error.h"

/* DIRECTORY_OF_THIS_EXECUTABLE/NAME in caller's memory. */
char *cli_program_path(const char *name) WEIR_MUST_USE;

struct cli_program_end {
    int exit_code; /* 128 + signal when one killed it */
    struct weir_buf out;
    struct weir_buf complaints;
};
void cli_program_end_fini(struct cli_program_end *end);

/* Runs NAME with `arguments` (NULL-terminated) and waits. NOT_FOUND when it is not there. */
enum weir_status cli_program_run(const char *name, const char *const *arguments,
                                 struct cli_program_end *ret_end,
                                 struct weir_error *err) WEIR_MUST_USE;

#endif
