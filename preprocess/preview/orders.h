/* The check that legal orders of the operators (C18) make the same batches, on records of the data: those
 * that a plan may choose one of. */
#ifndef WEIR_PREPROCESS_PREVIEW_ORDERS_H
#define WEIR_PREPROCESS_PREVIEW_ORDERS_H

#include "preprocess/preview/trial.h"

/* Runs the trial's chain, which has been fitted, in as many legal orders as two seconds of CPU time allow, and
 * compares tensors, holes and reasons of failures, to the bit. Complains of one that differs; returns how many were
 * tried besides the order as it is. */
size_t preprocess_orders_check(const struct trial *trial, const struct records *datasets,
                               size_t count);

#endif
