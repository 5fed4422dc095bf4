/* Counting is one pass through a hash table: only the distinct keys are sorted. */
#include "selector/policies/groups.h"

#include "core/base/memory.h"
#include "selector/policies/draw.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { GROUPS_MIN = 32, DIRECT_SPAN_MAX = 1 << 16 };

enum weir_status selector_groups_check(size_t candidates, struct weir_error *err)
{
    if (candidates <= SELECTION_GROUPED_MAX)
        return WEIR_OK;
    return weir_fail(err, WEIR_LIMIT,
                     "found %zu candidates to divide into groups, expected at most %" PRIu32
                     ": choose among fewer datasets, or by another policy",
                     candidates, SELECTION_GROUPED_MAX);
}

static uint64_t hash_of(const struct selection_groups *groups, int64_t key)
{
    return weir_mix64((uint64_t)key ^ groups->index.seed);
}

static uint32_t find(const struct selection_groups *groups, int64_t key)
{
    struct weir_index_search search = weir_index_search(&groups->index, hash_of(groups, key));
    uint32_t group;
    while (weir_index_next(&search, &group))
        if (groups->keys[group] == key)
            return group;
    return SELECTION_NO_GROUP;
}

static uint32_t add_group(struct selection_groups *groups, int64_t key)
{
    weir_require(groups->count < SELECTION_NO_GROUP - 1); /* selector_groups_check() */
    if (groups->count == groups->capacity) {
        groups->capacity = groups->capacity ? groups->capacity * 2 : GROUPS_MIN;
        groups->keys = weir_realloc(groups->keys, groups->capacity, sizeof(*groups->keys));
        groups->sizes = weir_realloc(groups->sizes, groups->capacity, sizeof(*groups->sizes));
    }
    groups->keys[groups->count] = key;
    groups->sizes[groups->count] = 0;
    weir_index_add(&groups->index, hash_of(groups, key), (uint32_t)groups->count);
    return (uint32_t)groups->count++;
}

static void count_key(struct selection_groups *groups, int64_t key, size_t times)
{
    uint32_t group = find(groups, key);
    if (group == SELECTION_NO_GROUP)
        group = add_group(groups, key);
    groups->sizes[group] += times;
}

/* Small numbers, as classes have, are counted without a search. */
void selector_groups_count(struct selection_groups *groups, const int64_t *keys, size_t count)
{
    if (groups->small == NULL)
        groups->small = weir_calloc(SELECTION_SMALL, sizeof(*groups->small));
    weir_index_draw_seed(&groups->index);
    for (size_t i = 0; i < count; i++) {
        if ((uint64_t)keys[i] < SELECTION_SMALL)
            groups->small[keys[i]]++;
        else
            count_key(groups, keys[i], 1);
    }
}

static void add_small(struct selection_groups *groups)
{
    for (int64_t key = 0; groups->small != NULL && key < SELECTION_SMALL; key++)
        if (groups->small[key] > 0)
            count_key(groups, key, groups->small[key]);
    free(groups->small);
    groups->small = NULL;
}

struct place {
    int64_t key;
    size_t size;
    uint32_t was;
};

static int by_key(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

/* By key where keys lie close together, by hash otherwise. */
static void index_groups(struct selection_groups *groups)
{
    uint64_t last = (uint64_t)groups->keys[groups->count - 1] - (uint64_t)groups->keys[0];
    weir_index_clear(&groups->index);
    if (last < DIRECT_SPAN_MAX) {
        groups->direct_count = last + 1;
        groups->direct = weir_calloc(groups->direct_count, sizeof(*groups->direct));
    }
    for (size_t i = 0; i < groups->count; i++) {
        if (groups->direct != NULL)
            groups->direct[(uint64_t)groups->keys[i] - (uint64_t)groups->keys[0]] = (uint32_t)i + 1;
        else
            weir_index_add(&groups->index, hash_of(groups, groups->keys[i]), (uint32_t)i);
    }
}

void selector_groups_sort(struct selection_groups *groups)
{
    add_small(groups);
    if (groups->count == 0)
        return;
    WEIR_AUTO_FREE struct place *places = weir_calloc(groups->count, sizeof(*places));
    for (size_t i = 0; i < groups->count; i++)
        places[i] = (struct place){.key = groups->keys[i], .size = groups->sizes[i]};
    qsort(places, groups->count, sizeof(*places), by_key);
    for (size_t i = 0; i < groups->count; i++) {
        groups->keys[i] = places[i].key;
        groups->sizes[i] = places[i].size;
    }
    index_groups(groups);
}

void selector_groups_fini(struct selection_groups *groups)
{
    free(groups->keys);
    free(groups->sizes);
    free(groups->direct);
    weir_index_fini(&groups->index);
    free(groups->small);
    *groups = (struct selection_groups){0};
}

uint32_t selector_groups_find(const struct selection_groups *groups, int64_t key)
{
    if (groups->direct == NULL)
        return find(groups, key);
    uint64_t at = (uint64_t)key - (uint64_t)groups->keys[0];
    uint32_t group = at < groups->direct_count ? groups->direct[at] : 0;
    return group - 1; /* 0 becomes no group */
}

/* ---- shares ---- */

/* Smallest first; equal sizes by key, so that the odd sample left over by a division goes to the
 * same group on every machine. */
static int by_size(const void *a, const void *b)
{
    const struct place *x = a;
    const struct place *y = b;
    if (x->size != y->size)
        return x->size < y->size ? -1 : 1;
    return (x->key > y->key) - (x->key < y->key);
}

/* Water-filling: from the smallest group on, each takes its fair part of what is left or all it has.
 * A group that is not exhausted leaves later ones, which are no smaller, at most one more. */
static void fill(struct place *sorted, size_t count, size_t total, size_t *shares)
{
    for (size_t i = 0; i < count; i++) {
        size_t fair = total / (count - i);
        size_t share = sorted[i].size < fair ? sorted[i].size : fair;
        shares[sorted[i].was] = share;
        total -= share;
    }
}

void selector_groups_balance(const struct selection_groups *groups,
                             const struct selection_input *input, bool equal, size_t *shares)
{
    WEIR_AUTO_FREE struct place *sorted = weir_calloc(groups->count + 1, sizeof(*sorted));
    for (size_t i = 0; i < groups->count; i++)
        sorted[i] = (struct place){groups->keys[i], groups->sizes[i], (uint32_t)i};
    qsort(sorted, groups->count, sizeof(*sorted), by_size);
    size_t total = input->target;
    size_t even = sorted[0].size * groups->count;
    if ((equal || !input->bounded) && even < total)
        total = even;
    fill(sorted, groups->count, total, shares);
}

void selector_groups_draw(const struct selection_grouping *grouping,
                          const struct selection_input *input, size_t *shares, struct weir_rng *rng,
                          struct selection_output *output)
{
    WEIR_AUTO_FREE size_t *left = weir_calloc(grouping->count + 1, sizeof(*left));
    memcpy(left, grouping->sizes, grouping->count * sizeof(*left));
    SELECTION_RUNS(input, run)
    for (size_t i = 0; i < run.count; i++) {
        uint32_t group = grouping->of(grouping, &run, i);
        if (group != SELECTION_NO_GROUP && selector_draw(rng, left[group]--, &shares[group]))
            selection_take(output, run.first + i);
    }
}
