/* Names of the numbers of dense tensors (struct column_about, elements), as consumers are told them. */
#ifndef WEIR_PREPROCESS_PLAN_ELEMENTS_H
#define WEIR_PREPROCESS_PLAN_ELEMENTS_H

#include "core/wire/wire.h"
#include "preprocess/operators/chain.h"

/* Sets named_tensors, named_elements and element_names. The first COLUMN_ELEMENTS_MAX numbers that have names count:
 * tensors with more are left out. Lists are in `arena`, texts are the chain's. */
void preprocess_elements_tell(const struct chain *chain, struct weir_arena *arena,
                              struct msg_client_opened *message);

#endif
