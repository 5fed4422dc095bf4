/* Tensors of a batch, in words. */
#ifndef WEIR_TRAINER_CLIENT_TENSORS_H
#define WEIR_TRAINER_CLIENT_TENSORS_H

#include <weir/client.h>

/* For messages: "'text' ragged i32, 'x' dense f32". */
void trainer_tensors_describe(const struct weir_batch *batch, char *text, size_t size);

#endif
