/* Labels that are vectors: the numbers of one row after the other, f32 or f64 as declared, little-endian.
 * They lie beside the packed columns of a chunk, and travel in the same bytes. Pure. */
#ifndef WEIR_STORAGE_LABEL_VALUES_H
#define WEIR_STORAGE_LABEL_VALUES_H

#include "storage/catalog/declaration.h"

enum {
    CHUNK_VALUES_BYTES = 16 << 20, /* of a chunk that is committed; a merge may make twice of it */
    BATCH_VALUES_BYTES = 64 << 20, /* of a batch: then it is full */
    ANSWER_VALUES_BYTES = 8 << 20, /* of a message, which holds WEIR_WIRE_HEADER_MAX */
};

/* Rows whose numbers take at most `bytes`: one at least; UINT32_MAX when labels are no vectors. */
uint32_t storage_values_rows(const struct declaration *declaration, size_t bytes);
/* `to` has room for storage_declaration_value_bytes(). False when one of the numbers is none, or becomes
 * none as f32. */
bool storage_values_pack(const struct declaration *declaration, const double *numbers, uint8_t *to);
/* The place of the numbers of a row among those of many. */
static inline struct weir_bytes storage_values_at(struct weir_bytes values, size_t row_bytes,
                                                  size_t row)
{
    return row_bytes > 0 ? weir_bytes(values.at + row * row_bytes, row_bytes) : weir_bytes(NULL, 0);
}
/* True when every number is one. */
bool storage_values_are_finite(const struct declaration *declaration, struct weir_bytes row);

#endif
