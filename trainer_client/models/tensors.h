/* Tensors of a batch: which a model reads, and in words. */
#ifndef WEIR_TRAINER_CLIENT_TENSORS_H
#define WEIR_TRAINER_CLIENT_TENSORS_H

#include <stdbool.h>

#include <weir/client.h>

#include "core/base/error.h"

/* For messages: "'text' ragged i32, 'x' dense f32". */
void trainer_tensors_describe(const struct weir_batch *batch, char *text, size_t size);
/* The same of one of them. */
void trainer_tensors_describe_one(const struct weir_tensor *tensor, char *text, size_t size);

/* Numbers of one sample of a dense tensor. */
size_t trainer_tensors_columns(const struct weir_tensor *tensor);
/* Bytes of one step of the first dimension: of a sample, or of an element of a ragged tensor. */
size_t trainer_tensors_row_bytes(const struct weir_tensor *tensor);
/* True for dense f32: features. */
bool trainer_tensors_is_dense(const struct weir_tensor *tensor);
/* True for ragged i32 of one number per element: tokens, categories. */
bool trainer_tensors_is_bag(const struct weir_tensor *tensor);
/* The first bag of a batch; NULL: it has none. */
const struct weir_tensor *trainer_tensors_bag(const struct weir_batch *batch);
/* True for that one: what models of text read. */
bool trainer_tensors_is_first_bag(const struct weir_batch *batch, const struct weir_tensor *tensor);
/* Numbers of one sample in all dense f32 tensors of a batch. */
size_t trainer_tensors_features(const struct weir_batch *batch);

/* ---- tokens: the first bag, as the text models read it; errors name `model` ---- */

/* For a plan: INVALID, with what to add, when the batch has no bag. */
enum weir_status trainer_tensors_plan_tokens(const char *model, const struct weir_batch *batch,
                                             struct weir_error *err) WEIR_MUST_USE;
/* For a batch of a planned model: the bag. INVALID: it has none. */
enum weir_status trainer_tensors_tokens(const char *model, const struct weir_batch *batch,
                                        const struct weir_tensor **ret_tensor,
                                        struct weir_error *err) WEIR_MUST_USE;
/* INVALID when a token of the `s`-th sample is not below `buckets`. */
enum weir_status trainer_tensors_check_tokens(const char *model, const struct weir_batch *batch,
                                              const struct weir_tensor *tensor, size_t s,
                                              uint64_t buckets,
                                              struct weir_error *err) WEIR_MUST_USE;

#endif
