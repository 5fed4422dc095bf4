/* The check that an approximate order (C18) owes: its tensors beside those of the order as written, on
 * records of the data. */
#ifndef WEIR_PREPROCESS_PREVIEW_NEARLY_H
#define WEIR_PREPROCESS_PREVIEW_NEARLY_H

#include "preprocess/plan/options.h"
#include "preprocess/preview/trial.h"

/* Complains at `node` of each tensor that the approximate order of the trial's chain, which has been fitted, changes
 * by more than the tolerance: root mean square of the differences, as a share of the standard deviation of the
 * numbers; and when other samples come through. */
void preprocess_nearly_check(const struct trial *trial, const struct preprocess_planned *planned,
                             const struct weir_yaml_node *node, const struct records *datasets,
                             size_t count);

#endif
