/* A commented pipeline file for guessed data, and a few lines about what was seen, guessed and should be looked at.
 * Pure. */
#ifndef CLI_GUESSING_PIPELINE_H
#define CLI_GUESSING_PIPELINE_H

#include "cli/guessing/plan.h"

/* Appends the file; `head` are its first lines, comments. */
void cli_guess_write(const struct cli_guess *guess, const char *name, const char *head,
                     struct weir_buf *out);
/* Appends preprocess and training to it. */
void cli_guess_write_learning(const struct cli_guess *guess, const struct cli_guess_plan *plan,
                              struct weir_buf *out);
/* Returns {saw: [text, …], guessed: […], look: […]}. */
json_t *cli_guess_notes(const struct cli_guess *guess);

/* ---- pieces that both write ---- */

/* Appends the names of the columns of a role, divided by commas; as YAML where `is_yaml`. */
void cli_guess_put_columns(const struct cli_guess *guess, enum cli_guess_role role, bool is_yaml,
                           struct weir_buf *out);
/* True when a number that is learnt from is written as 12,5. */
bool cli_guess_has_commas(const struct cli_guess *guess);
/* Appends "2024-01-01 to 2024-03-01". */
void cli_guess_put_span(struct cli_guess_span span, struct weir_buf *out);
/* Appends what is learnt, in words. */
void cli_guess_put_label(const struct cli_guess *guess, const struct cli_guess_plan *plan,
                         struct weir_buf *out);

#endif
