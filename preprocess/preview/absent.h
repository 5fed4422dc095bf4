/* Fields of JSON that an operator bears to miss, and that no record has: a misspelt one would be missing for ever. */
#ifndef WEIR_PREPROCESS_PREVIEW_ABSENT_H
#define WEIR_PREPROCESS_PREVIEW_ABSENT_H

#include "preprocess/preview/trial.h"

/* Remarks on each operator that reads such fields, with those that the first record has instead. */
void preprocess_absent_check(const struct trial *trial, const struct records *records);

#endif
