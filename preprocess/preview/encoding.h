/* Texts that are no UTF-8, of which operators that read text make something else than was written. */
#ifndef WEIR_PREPROCESS_PREVIEW_ENCODING_H
#define WEIR_PREPROCESS_PREVIEW_ENCODING_H

#include "preprocess/preview/trial.h"

/* Remarks on each operator that would repair texts of the records: how many, the first of them, and what to do. The
 * chain has been fitted. */
void preprocess_encoding_check(struct trial *trial, const struct records *records);

#endif
