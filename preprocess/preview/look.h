/* The operators of a pipeline file, tried on the first records of its datasets. */
#ifndef WEIR_PREPROCESS_PREVIEW_LOOK_H
#define WEIR_PREPROCESS_PREVIEW_LOOK_H

#include "core/service/service.h"

/* Reads what storage has found (storage/preview/look.h), fits the operators on all of it, applies them, and appends
 *
 *     {"tensors": [as tensors.h has them], "shown": [{"dataset", "records", "samples": [
 *         {"place", "about", "steps": [[operator, "column: value"], …]}]}]}
 *
 * Steps begin with the record itself, under no operator. */
void preprocess_look(const struct weir_look *look);

#endif
