/* Steps between the first answer and the page: waiting for an erasure, or an examination, to end. */
#ifndef CLI_FOLLOW_H
#define CLI_FOLLOW_H

#include "cli/command.h"

/* With --wait: asks erase_status until the receipt is written, each new step a line on stderr. Without: says who
 * goes on with it. */
cli_follow_fn cli_follow_erasure;
/* Goes through the pages of all erasures. Of more than one page only what is not fine is kept, and no more than
 * CLI_FINDINGS_MAX of it; `fine` counts the rest. */
enum { CLI_FINDINGS_MAX = 10000 };
cli_follow_fn cli_follow_verify;
/* Asks doctor until all is examined; what is examined goes to stderr. */
cli_follow_fn cli_follow_doctor;
/* Until the export is done, or has failed; who interrupts it only stops looking. */
cli_follow_fn cli_follow_materialize;
/* Puts the file that the platform has written where it is wanted. */
cli_follow_fn cli_follow_export;

/* With --wait: until a pause has come about. */
cli_follow_fn cli_follow_pause;
/* Until the pipeline is removed. */
cli_follow_fn cli_follow_removal;
/* The same with --rerun; else until the file is taken, unless a trigger is under way. */
cli_follow_fn cli_follow_apply;
/* The same of one that the file takes the place of. */
cli_follow_fn cli_follow_submit;

#endif
