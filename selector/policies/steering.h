/* Shares that follow the losses of training: components whose samples still have a high loss get more of the next set.
 *
 * Each share is multiplied by e^(rate (loss - mean)), all are brought to add up to 1, and `smoothing` of the declared
 * shares is mixed in, so that no component dies out. The step is the one for the weights of groups in Sagawa et al.,
 * Distributionally Robust Neural Networks for Group Shifts (ICLR 2020, Algorithm 1), the mixing in that of Xie et al.,
 * DoReMi (NeurIPS 2023, Algorithm 1); here a step is a trigger, and the loss the mean that its training reported. What
 * Mixtera runs (Jiang et al., Adaptive Data Optimization, ICLR 2025) fits a law to thousands of losses of one training,
 * and one loss for each trigger is no such curve. Pure, and the same on any machine. */
#ifndef SELECTOR_POLICIES_STEERING_H
#define SELECTOR_POLICIES_STEERING_H

#include "selector/policies/policy.h"

struct selection_steering {
    double rate;      /* >= 0 */
    double smoothing; /* in [0, 1] */
};

/* Fills `shares` (count) from the declared ones, which are above 0. A component of which nothing was reported keeps
 * its share before smoothing; when nothing was reported of any, the shares are those of the trigger before, or, for the
 * first one, the declared. They add up to 1. */
void selector_steer(const struct selection_steering *rule, const struct selection_losses *losses,
                    const double *declared, size_t count, double *shares);

#endif
