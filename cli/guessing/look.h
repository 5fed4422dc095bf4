/* A look at unknown data: the beginning and the end of its files are read, and what they hold is guessed. */
#ifndef CLI_GUESSING_LOOK_H
#define CLI_GUESSING_LOOK_H

#include "cli/guessing/folder.h"
#include "cli/guessing/roles.h"

struct cli_guess {
    struct cli_guess_folder folder;
    bool is_table;                /* CSV or JSON lines; otherwise a picture or text a file */
    struct cli_guess_table table; /* or its manifest, where it has one */
    struct cli_guess_roles roles; /* of a table */
    uint64_t rows;                /* samples; estimated unless `is_whole` */
    bool is_whole;                /* every record was read */
    size_t odd_files;             /* files of the table with other columns, which will be refused */
    char *days;                   /* pattern of a day in the names of files, or NULL */
    bool has_time;                /* samples have times that differ */
    struct cli_guess_span span;   /* of these */
};

/* `path` is a folder or a file. NOT_FOUND, IO; INVALID where nothing can be learnt from it, with what to do. */
enum weir_status cli_guess_look(const char *path, struct cli_guess *ret_guess,
                                struct weir_error *err) WEIR_MUST_USE;
/* The same of a table in memory, as if it lay in a file of this path. */
enum weir_status cli_guess_look_at(const char *path, struct weir_bytes text,
                                   struct cli_guess *ret_guess,
                                   struct weir_error *err) WEIR_MUST_USE;
void cli_guess_fini(struct cli_guess *guess);

#endif
