/* The same number of samples of every class, as far as the classes reach.
 *
 * Without limit and ratio every class is cut to the size of the smallest. With one, the total is
 * exactly the target as long as there are so many candidates: a class smaller than its fair share
 * gives all it has, and what it leaves is shared by the others (water-filling). `equal` cuts every
 * class to the smallest in either case. Which samples of a class are taken is random. */
#include "selector/policies/draw.h"
#include "selector/policies/policy.h"

#include "core/base/memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct label_balanced {
    bool equal;
};

static const struct cfg_key OPTIONS[] = {
    CFG_BOOL(struct label_balanced, equal, .fallback = "false",
             .doc = "cut every class to the smallest even when limit or ratio would allow more"),
    CFG_END,
};

struct group {
    int64_t label;
    size_t size;
    size_t share; /* to be taken, then: still to be taken */
    size_t left;  /* not yet offered */
};

struct groups {
    struct group *at;
    size_t count;
};

static int compare_labels(const void *a, const void *b)
{
    const int64_t *x = a;
    const int64_t *y = b;
    return (*x > *y) - (*x < *y);
}

/* One group per distinct label, ascending; the caller frees `at`. */
static struct groups count_labels(const struct selection_input *input)
{
    WEIR_AUTO_FREE int64_t *sorted = weir_calloc(input->count, sizeof *sorted);
    memcpy(sorted, input->labels, input->count * sizeof *sorted);
    qsort(sorted, input->count, sizeof *sorted, compare_labels);
    struct groups groups = {.at = weir_calloc(input->count, sizeof *groups.at)};
    for (size_t i = 0; i < input->count; i++) {
        if (i == 0 || sorted[i] != sorted[i - 1])
            groups.at[groups.count++].label = sorted[i];
        groups.at[groups.count - 1].size++;
    }
    return groups;
}

static int compare_group_label(const void *key, const void *group)
{
    return compare_labels(key, &((const struct group *)group)->label);
}

static struct group *find_group(const struct groups *groups, int64_t label)
{
    return bsearch(&label, groups->at, groups->count, sizeof *groups->at, compare_group_label);
}

/* Smallest first; equal sizes by label, so that the odd sample left over by a division goes to the
 * same class on every machine. */
static int compare_sizes(const void *a, const void *b)
{
    const struct group *const *x = a;
    const struct group *const *y = b;
    if ((*x)->size != (*y)->size)
        return (*x)->size < (*y)->size ? -1 : 1;
    return compare_labels(&(*x)->label, &(*y)->label);
}

/* Shares out `total`: from the smallest class on, each takes its fair part of what is left or all
 * it has. A class that is not exhausted leaves later ones, which are no smaller, at most one more. */
static void fill(const struct groups *groups, size_t total)
{
    WEIR_AUTO_FREE struct group **by_size = weir_calloc(groups->count, sizeof *by_size);
    for (size_t i = 0; i < groups->count; i++)
        by_size[i] = &groups->at[i];
    qsort(by_size, groups->count, sizeof(struct group *), compare_sizes);
    for (size_t i = 0; i < groups->count; i++) {
        size_t fair = total / (groups->count - i);
        by_size[i]->share = by_size[i]->size < fair ? by_size[i]->size : fair;
        total -= by_size[i]->share;
    }
}

static size_t smallest(const struct groups *groups)
{
    size_t size = groups->at[0].size;
    for (size_t i = 1; i < groups->count; i++)
        if (groups->at[i].size < size)
            size = groups->at[i].size;
    return size;
}

/* False with a reason when balance is impossible: a declared class is empty, or there is only one. */
static bool can_balance(const struct selection_input *input, const struct groups *groups,
                        struct selection_output *output)
{
    for (size_t i = 0; i < input->class_count; i++) {
        if (find_group(groups, (int64_t)i))
            continue;
        (void)snprintf(output->reason, sizeof output->reason, "class '%s' has no samples yet",
                       input->classes[i]);
        return false;
    }
    if (groups->count > 1)
        return true;
    (void)snprintf(output->reason, sizeof output->reason,
                   "all samples have label %" PRId64 ", balancing needs two classes",
                   groups->at[0].label);
    return false;
}

static void draw(const struct selection_input *input, const struct groups *groups,
                 struct weir_rng *rng, struct selection_output *output)
{
    for (size_t i = 0; i < groups->count; i++)
        groups->at[i].left = groups->at[i].size;
    for (size_t i = 0; i < input->count; i++) {
        struct group *group = find_group(groups, input->labels[i]);
        if (selector_draw(rng, group->left--, &group->share))
            output->chosen[output->count++] = i;
    }
}

static void choose(const void *options, const struct selection_input *input, struct weir_rng *rng,
                   struct selection_output *output)
{
    const struct label_balanced *own = options;
    struct groups groups = count_labels(input);
    if (can_balance(input, &groups, output)) {
        size_t total = input->target;
        size_t even = smallest(&groups) * groups.count;
        if ((own->equal || !input->bounded) && even < total)
            total = even;
        fill(&groups, total);
        draw(input, &groups, rng, output);
    }
    free(groups.at);
}

const struct selection_policy selection_label_balanced = {
    .name = "label_balanced",
    .summary = "equally many samples of every class, chosen at random within the class",
    .options = OPTIONS,
    .options_size = sizeof(struct label_balanced),
    .needs_labels = true,
    .choose = choose,
};
