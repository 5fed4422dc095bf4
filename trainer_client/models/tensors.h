/* Tensors of a batch: which a model reads, and in words. */
#ifndef WEIR_TRAINER_CLIENT_TENSORS_H
#define WEIR_TRAINER_CLIENT_TENSORS_H

#include <stdbool.h>

#include <weir/client.h>

/* For messages: "'text' ragged i32, 'x' dense f32". */
void trainer_tensors_describe(const struct weir_batch *batch, char *text, size_t size);

/* Numbers of one sample of a dense tensor. */
size_t trainer_tensors_columns(const struct weir_tensor *tensor);
/* True for dense f32: features. */
bool trainer_tensors_is_dense(const struct weir_tensor *tensor);
/* True for ragged i32 of one number per element: tokens, categories. */
bool trainer_tensors_is_bag(const struct weir_tensor *tensor);
/* The first bag of a batch; NULL: it has none. */
const struct weir_tensor *trainer_tensors_bag(const struct weir_batch *batch);

#endif
