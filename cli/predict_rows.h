/* `weir predict` of rows that are not stored: files or stdin to storage's memory, in pieces, each through a run of the
 * model; a line of JSON for each row, in the order of the input, as soon as its piece is through. */
#ifndef CLI_PREDICT_ROWS_H
#define CLI_PREDICT_ROWS_H

#include "cli/command.h"

/* True when there are files, or a file or pipe at stdin and no interval of stored samples. */
bool cli_predicts_rows(const struct cli_call *call);
/* {"rows", "without"}: rows without a prediction. */
cli_answer_fn cli_answer_predict_rows;
/* 1 when a row has no prediction. */
cli_exit_fn cli_exit_of_predict_rows;

#endif
