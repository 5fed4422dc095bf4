/* Labels as the numbers that operators are fitted to. */
#ifndef WEIR_PREPROCESS_OPERATORS_LABELS_H
#define WEIR_PREPROCESS_OPERATORS_LABELS_H

#include "preprocess/operators/operator.h"

/* Reads the label of a row: a finite number or, where `takes_classes`, the first (0) or second (1) of two classes.
 * False for anything else. */
bool preprocess_label_read(const struct operator_batch *batch, size_t row, bool takes_classes,
                           double *ret_label);

#endif
