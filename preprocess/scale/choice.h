/* The choice of a size by what its batches cost: trainer and workers are paid by the hour, so a size is as good as its
 * price times the time of a batch. Where that is least is the knee (Pecan's inequality, ATC 2024, is the same for one
 * step). Where no prices are given, a worker is taken to cost a fiftieth of what waits for it: then the knee is
 * the smallest size at which consumers hardly wait. Pure. */
#ifndef WEIR_PREPROCESS_SCALE_CHOICE_H
#define WEIR_PREPROCESS_SCALE_CHOICE_H

#include "preprocess/scale/response.h"

/* Returns the price of an hour with a size; in units of a trainer's, where no prices are given. */
double preprocess_choice_hour(const struct scale_setting *setting, const struct scale_size *size);
/* Returns the size within the setting's bounds whose batches cost least; the smaller one of equals. */
struct scale_size preprocess_choice_best(const struct scale_setting *setting,
                                         const struct scale_forecast *forecast);
/* Returns the price of a batch. */
double preprocess_choice_price(const struct scale_setting *setting,
                               const struct scale_forecast *forecast,
                               const struct scale_size *size);
/* Adds a size to the decision's options, unless it is there. */
void preprocess_choice_note(const struct scale_setting *setting,
                            const struct scale_forecast *forecast, const struct scale_size *size,
                            struct scale_decision *decision);

#endif
