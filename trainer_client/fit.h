/* The section `training` against the tensors of its batches, before there is a batch. */
#ifndef WEIR_TRAINER_CLIENT_FIT_H
#define WEIR_TRAINER_CLIENT_FIT_H

#include "core/config/complaints.h"
#include "core/config/yaml.h"

/* `tensors`: a list of {name, type, shape (of one sample) or ragged: true, below (of integers, if it is known)}. Adds
 * what the model cannot work on, and names of tensors that there are not. */
void trainer_fit_check(const struct weir_yaml_node *root, const struct weir_yaml_node *tensors,
                       struct cfg_complaints *complaints);

#endif
