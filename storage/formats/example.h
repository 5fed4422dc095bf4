/* Features of a tf.train.Example, walked over in place: no generated code, nothing is allocated. An Example
 * is a map from names to lists of bytes, floats or integers, in protobuf's encoding; the context of a
 * SequenceExample has the same shape and is read the same. */
#ifndef WEIR_STORAGE_FORMATS_EXAMPLE_H
#define WEIR_STORAGE_FORMATS_EXAMPLE_H

#include "storage/formats/format.h"

/* Reads the values of an Example under the names of `fields`: a list of one is its value, unless a list was declared;
 * a name that is not there, and several texts, are ABSENT. Of features with one name the last counts, as
 * in protobuf. Values point into `record` and into `lists`. False when `record` is no Example. */
bool storage_example_read(struct weir_bytes record, const struct format_fields *fields,
                          double (*lists)[FORMAT_LIST_MAX],
                          struct format_value ret_values[FORMAT_ROLES]) WEIR_MUST_USE;

#endif
