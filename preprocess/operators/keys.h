/* The elements of a column as keys of a vocabulary: words, texts, or integers. */
#ifndef WEIR_PREPROCESS_OPERATORS_KEYS_H
#define WEIR_PREPROCESS_OPERATORS_KEYS_H

#include "preprocess/operators/operator.h"

/* A column whose elements are keys. */
struct keys {
    enum column_kind kind;
    enum weir_dtype type;
    uint32_t columns; /* columns with keys of their own: those of a dense tensor, else 1 */
};

/* Describes a column; INVALID when it holds numbers that are no integers. */
enum weir_status preprocess_keys_plan(const struct column_about *about, struct keys *ret_keys,
                                      struct weir_error *err) WEIR_MUST_USE;

/* Chooses and describes the two columns of integers that `on` names, which the plan reads and keeps. INVALID as
 * above, and when they are not two. */
enum weir_status preprocess_keys_plan_both(const struct cfg_texts *on,
                                           const struct operator_schema *schema,
                                           struct keys *const ret_keys[2],
                                           struct operator_plan *plan,
                                           struct weir_error *err) WEIR_MUST_USE;

/* The elements of a row are first … first + count - 1 of its column. */
struct keys_row {
    size_t first, count;
};

struct keys_row preprocess_keys_row(const struct keys *keys, const struct column *in, size_t row);
/* Element `index` as a key; `number` is where a number is put. */
struct weir_bytes preprocess_keys_at(const struct keys *keys, const struct column *in, size_t index,
                                     uint8_t number[8]);

#endif
