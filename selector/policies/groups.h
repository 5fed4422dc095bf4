/* Candidates by group (class, trigger, component), and a part of each drawn: for policies. */
#ifndef SELECTOR_POLICIES_GROUPS_H
#define SELECTOR_POLICIES_GROUPS_H

#include "selector/policies/policy.h"

#define SELECTION_NO_GROUP UINT32_MAX

struct selection_groups {
    int64_t *keys; /* distinct, ascending */
    size_t *sizes; /* candidates of each */
    size_t count;
    uint32_t *of; /* the group of each candidate, or SELECTION_NO_GROUP */
};

/* One group per distinct key of `count` candidates. Freed by selection_groups_fini(). */
void selection_groups_make(struct selection_groups *groups, const int64_t *keys, size_t count);
void selection_groups_fini(struct selection_groups *groups);
/* The group with this key, or `groups->count`. */
size_t selection_groups_find(const struct selection_groups *groups, int64_t key);

/* Balance: equally many of every group. Unbounded, or with `equal`, every group is cut to the size of
 * the smallest; else the total is the target, and what a group smaller than its fair share leaves is
 * shared by the others. A remainder goes to larger groups first, of equal ones to later keys. */
void selection_groups_balance(const struct selection_groups *groups,
                              const struct selection_input *input, bool equal, size_t *shares);
/* Chooses shares[g] of each group at random; uses up `shares`. */
void selection_groups_draw(const struct selection_groups *groups, size_t *shares, size_t count,
                           struct weir_rng *rng, struct selection_output *output);

#endif
