/* Columns of rows that are to be predicted, held against those that operators read: one that is not there counts as
 * missing in each row, a misspelt one too. */
#ifndef CLI_PREDICT_COLUMNS_H
#define CLI_PREDICT_COLUMNS_H

#include "cli/cut.h"

#include <jansson.h>

/* The first rows of an input. */
struct cli_predict_rows {
    const char *place; /* NULL: it has no name */
    const struct cli_cut *cut;
    bool is_json;
    struct weir_bytes bytes;
};

/* `opened` is what the platform says of the pipeline. INVALID when a column of a table is most likely a misspelt one;
 * of others that no row has, stderr is told. */
enum weir_status cli_predict_columns_check(const struct cli_predict_rows *rows,
                                           const json_t *opened,
                                           struct weir_error *err) WEIR_MUST_USE;

#endif
