/* Columns of CSV that an operator bears to be empty, and that are so in every record; and integers that are one number
 * once they are read. */
#ifndef WEIR_PREPROCESS_PREVIEW_BLANK_H
#define WEIR_PREPROCESS_PREVIEW_BLANK_H

#include "preprocess/preview/trial.h"

/* Remarks on each operator that reads such columns. `tables`: as preprocess_tables_records() says; NULL: no dataset is
 * a table. */
void preprocess_blank_check(const struct trial *trial, const struct operator_records *tables,
                            const struct records *records);

#endif
