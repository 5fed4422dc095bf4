/* Operators that make one tensor of one other by a step that the consumer of a batch could take as well
 * (core/wire/tensor_step.h): what they share. */
#ifndef WEIR_PREPROCESS_OPERATORS_TENSOR_MAKER_H
#define WEIR_PREPROCESS_OPERATORS_TENSOR_MAKER_H

#include "preprocess/operators/operator.h"

/* Their state, or the beginning of it. */
struct tensor_maker {
    struct weir_tensor_step step;
    struct weir_tensor_form taken, made;
};

/* Plans `step` on a column of numbers, which it replaces. INVALID when it does not take them. */
enum weir_status preprocess_tensor_maker_plan(struct tensor_maker *maker,
                                              const struct column_about *about,
                                              struct operator_plan *plan,
                                              struct weir_error *err) WEIR_MUST_USE;
/* struct preprocess_operator.apply: appends the rows that it makes. */
void preprocess_tensor_maker_apply(void *maker, struct operator_call *call);
/* struct preprocess_operator.step */
const struct weir_tensor_step *preprocess_tensor_maker_step(const void *maker);

#endif
