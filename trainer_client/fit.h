/* The section `training`, also against the tensors of its batches, before there is a batch. */
#ifndef WEIR_TRAINER_CLIENT_FIT_H
#define WEIR_TRAINER_CLIENT_FIT_H

#include "core/service/service.h"

/* Checks the section against what was found, if there is any: `tensors`, a list of {name, type, shape (of one sample)
 * or ragged: true, below (of integers, if it is known)}, and `labels`, as storage/preview/look.h has them; either may
 * be missing. Adds what the model cannot work on, names of tensors that there are not, and labels that the loss does
 * not take. */
void trainer_fit_look(const struct weir_look *look);

#endif
