/* Fields of a JSON object, as the operators that take them apart are told of them and read them. */
#ifndef WEIR_PREPROCESS_JSON_H
#define WEIR_PREPROCESS_JSON_H

#include "preprocess/operators/operator.h"

#include "core/base/json.h"

/* Fills `names` with the fields.count names that are written; they live as long as the file. */
enum weir_status preprocess_json_names(const struct cfg_texts *fields, const char **names,
                                       struct weir_error *err) WEIR_MUST_USE;
/* Reads the object that a row is. False: it is none, and the row has failed. */
bool preprocess_json_read_row(struct weir_json *json, struct operator_call *call,
                              size_t row) WEIR_MUST_USE;

#endif
