/* Dividing a total over components by shares, exactly: the parts add up, remainders go to the largest, of equal ones to
 * the first. The three ways differ when a component has fewer samples than its part. Pure; for policies. */
#ifndef SELECTOR_POLICIES_SHARES_H
#define SELECTOR_POLICIES_SHARES_H

#include "selector/policies/policy.h"

struct selection_shares {
    const double *shares; /* above 0, in proportion */
    const size_t *sizes;  /* samples of each */
    size_t count;         /* at most SELECTION_COMPONENTS_MAX */
};

/* Gives the rest of such a part to the other components. */
void selector_shares_fill(const struct selection_shares *of, size_t total, size_t *quotas);
/* Gives the rest of such a part to none. */
void selector_shares_cut(const struct selection_shares *of, size_t total, size_t *quotas);
/* Avoids the case: the total is the largest up to `total` at which no component runs short. */
void selector_shares_fit(const struct selection_shares *of, size_t total, size_t *quotas);

#endif
