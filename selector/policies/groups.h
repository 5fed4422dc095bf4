/* Candidates by group (class, trigger, component), and a part of each drawn: for policies. */
#ifndef SELECTOR_POLICIES_GROUPS_H
#define SELECTOR_POLICIES_GROUPS_H

#include "core/base/index.h"
#include "selector/policies/policy.h"

#define SELECTION_NO_GROUP UINT32_MAX
/* Candidates that can be told apart by groups: each may be a group of its own. */
#define SELECTION_GROUPED_MAX (UINT32_MAX - 2)
enum { SELECTION_SMALL = 4096 };

/* LIMIT when there are more candidates than SELECTION_GROUPED_MAX. Call before they are counted. */
enum weir_status selector_groups_check(size_t candidates, struct weir_error *err) WEIR_MUST_USE;

/* Zero-initialised is empty. First every key is counted, then they are sorted, then asked for. */
struct selection_groups {
    int64_t *keys; /* distinct; ascending once sorted */
    size_t *sizes; /* counts of each */
    size_t count;
    /* Private. */
    size_t capacity;
    struct weir_index index; /* by key */
    uint32_t *direct; /* where keys lie close together: group + 1 by key - keys[0], 0: none */
    size_t direct_count;
    size_t *small; /* while counting: counts of keys 0 … SELECTION_SMALL - 1 */
};

void selector_groups_count(struct selection_groups *groups, const int64_t *keys, size_t count);
void selector_groups_sort(struct selection_groups *groups);
void selector_groups_fini(struct selection_groups *groups);
/* The group with this key, or SELECTION_NO_GROUP. */
uint32_t selector_groups_find(const struct selection_groups *groups, int64_t key);

/* Balance: equally many of every group. Unbounded, or with `equal`, every group is cut to the size of
 * the smallest; else the total is the target, and the rest of the fair share of a smaller group is
 * shared by the others. A remainder goes to larger groups first, of equal ones to later keys. */
void selector_groups_balance(const struct selection_groups *groups,
                             const struct selection_input *input, bool equal, size_t *shares);

/* Groups that candidates are drawn by. `of` returns the group of a candidate, or SELECTION_NO_GROUP. */
struct selection_grouping {
    uint32_t (*of)(const struct selection_grouping *grouping, const struct selection_run *run,
                   size_t i);
    const struct selection_groups *groups; /* of `of` */
    const void *owner;                     /* the same */
    const size_t *sizes;
    size_t count;
};
/* Chooses shares[g] of each group at random; uses up `shares`. */
void selector_groups_draw(const struct selection_grouping *grouping,
                          const struct selection_input *input, size_t *shares, struct weir_rng *rng,
                          struct selection_output *output);

#endif
