/* Dividing a total over components by shares, exactly: the parts add up, remainders go to the largest, of equal ones to
 * the first. What differs is what happens when a component has fewer samples than its part. Pure; for policies. */
#ifndef SELECTOR_POLICIES_SHARES_H
#define SELECTOR_POLICIES_SHARES_H

#include "selector/policies/policy.h"

struct selection_shares {
    const double *shares; /* above 0, in proportion */
    const size_t *sizes;  /* samples of each */
    size_t count;         /* at most SELECTION_COMPONENTS_MAX */
};

/* The others share what it leaves. */
void selection_shares_fill(const struct selection_shares *of, size_t total, size_t *quotas);
/* Nobody gets what it leaves. */
void selection_shares_cut(const struct selection_shares *of, size_t total, size_t *quotas);
/* It does not happen: the total is the largest up to `total` at which nobody runs short. */
void selection_shares_fit(const struct selection_shares *of, size_t total, size_t *quotas);

#endif
