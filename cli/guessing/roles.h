/* Roles of the columns of a table: which one tells the time, which one is to be learnt, and how the others are read.
 * Pure. */
#ifndef CLI_GUESSING_ROLES_H
#define CLI_GUESSING_ROLES_H

#include "cli/guessing/table.h"

enum cli_guess_role {
    CLI_GUESS_UNUSED, /* `why` says why */
    CLI_GUESS_TIME,
    CLI_GUESS_LABEL,
    CLI_GUESS_NUMBER,
    CLI_GUESS_CATEGORY,
    CLI_GUESS_TEXT,
    CLI_GUESS_ROLES
};

enum cli_guess_task {
    CLI_GUESS_YES_OR_NO, /* two classes */
    CLI_GUESS_CLASSES,
    CLI_GUESS_AMOUNT, /* a number */
};

struct cli_guess_roles {
    enum cli_guess_role *role; /* of each column */
    const char **why;          /* of each column: NULL, or static */
    size_t time, label;        /* columns; that of the time may be SIZE_MAX: none */
    bool label_by_name; /* it is called what labels are called; otherwise by its place and values */
    size_t subject;     /* column that seems to name a person, or SIZE_MAX */
    size_t unread_time; /* column that is called like a time and reads as none, or SIZE_MAX */
    /* of the time */
    const char *pattern; /* NULL: RFC 3339, or a number */
    const char *rival;   /* another pattern that reads all values as well, or NULL */
    const char *unit;    /* of numbers, or NULL */
    struct cli_guess_span span;
    /* of the label */
    enum cli_guess_task task;
    bool are_named;               /* the classes are texts, or numbers that do not count from 0 */
    size_t used[CLI_GUESS_ROLES]; /* number of columns of each role */
};

/* INVALID when no column can be learnt, or nothing is left to learn it from. */
enum weir_status cli_guess_roles_find(const struct cli_guess_table *table,
                                      struct cli_guess_roles *ret_roles,
                                      struct weir_error *err) WEIR_MUST_USE;
void cli_guess_roles_fini(struct cli_guess_roles *roles);

#endif
