/* Grouping is one pass through a hash table: only the distinct keys are sorted. */
#include "selector/policies/groups.h"

#include "core/base/memory.h"
#include "selector/policies/draw.h"

#include <stdlib.h>
#include <string.h>

enum { SLOTS_MIN = 64 };

/* Open addressing over groups in the order of their first candidate. */
struct table {
    uint32_t *slots; /* group + 1; 0: free */
    size_t slot_count;
    struct selection_groups *groups;
};

static uint32_t *find_slot(const struct table *table, int64_t key)
{
    size_t at = weir_mix64((uint64_t)key) & (table->slot_count - 1);
    while (table->slots[at] != 0 && table->groups->keys[table->slots[at] - 1] != key)
        at = (at + 1) & (table->slot_count - 1);
    return &table->slots[at];
}

/* At most half full, so that searches end soon. */
static void grow(struct table *table)
{
    struct selection_groups *groups = table->groups;
    table->slot_count = table->slot_count ? table->slot_count * 2 : SLOTS_MIN;
    free(table->slots);
    table->slots = weir_calloc(table->slot_count, sizeof *table->slots);
    groups->keys = weir_realloc(groups->keys, table->slot_count / 2, sizeof *groups->keys);
    groups->sizes = weir_realloc(groups->sizes, table->slot_count / 2, sizeof *groups->sizes);
    for (size_t i = 0; i < groups->count; i++)
        *find_slot(table, groups->keys[i]) = (uint32_t)i + 1;
}

static uint32_t reach_group(struct table *table, int64_t key)
{
    struct selection_groups *groups = table->groups;
    uint32_t *slot = find_slot(table, key);
    if (*slot != 0)
        return *slot - 1;
    if (groups->count == table->slot_count / 2) {
        grow(table);
        slot = find_slot(table, key);
    }
    groups->keys[groups->count] = key;
    groups->sizes[groups->count] = 0;
    *slot = (uint32_t)++groups->count;
    return *slot - 1;
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

static void sort_groups(struct selection_groups *groups, size_t count)
{
    WEIR_AUTO_FREE struct place *places = weir_calloc(groups->count + 1, sizeof *places);
    WEIR_AUTO_FREE uint32_t *now = weir_calloc(groups->count + 1, sizeof *now);
    for (size_t i = 0; i < groups->count; i++)
        places[i] = (struct place){groups->keys[i], groups->sizes[i], (uint32_t)i};
    qsort(places, groups->count, sizeof *places, by_key);
    for (size_t i = 0; i < groups->count; i++) {
        groups->keys[i] = places[i].key;
        groups->sizes[i] = places[i].size;
        now[places[i].was] = (uint32_t)i;
    }
    for (size_t i = 0; i < count; i++)
        groups->of[i] = now[groups->of[i]];
}

void selection_groups_make(struct selection_groups *groups, const int64_t *keys, size_t count)
{
    weir_require(count < SELECTION_NO_GROUP);
    *groups = (struct selection_groups){.of = weir_calloc(count + 1, sizeof *groups->of)};
    struct table table = {.groups = groups};
    grow(&table);
    for (size_t i = 0; i < count; i++) {
        groups->of[i] = reach_group(&table, keys[i]);
        groups->sizes[groups->of[i]]++;
    }
    free(table.slots);
    sort_groups(groups, count);
}

void selection_groups_fini(struct selection_groups *groups)
{
    free(groups->keys);
    free(groups->sizes);
    free(groups->of);
    *groups = (struct selection_groups){0};
}

size_t selection_groups_find(const struct selection_groups *groups, int64_t key)
{
    size_t low = 0, high = groups->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (groups->keys[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < groups->count && groups->keys[low] == key ? low : groups->count;
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

void selection_groups_balance(const struct selection_groups *groups,
                              const struct selection_input *input, bool equal, size_t *shares)
{
    WEIR_AUTO_FREE struct place *sorted = weir_calloc(groups->count + 1, sizeof *sorted);
    for (size_t i = 0; i < groups->count; i++)
        sorted[i] = (struct place){groups->keys[i], groups->sizes[i], (uint32_t)i};
    qsort(sorted, groups->count, sizeof *sorted, by_size);
    size_t total = input->target;
    size_t even = sorted[0].size * groups->count;
    if ((equal || !input->bounded) && even < total)
        total = even;
    fill(sorted, groups->count, total, shares);
}

void selection_groups_draw(const struct selection_groups *groups, size_t *shares, size_t count,
                           struct weir_rng *rng, struct selection_output *output)
{
    WEIR_AUTO_FREE size_t *left = weir_calloc(groups->count + 1, sizeof *left);
    memcpy(left, groups->sizes, groups->count * sizeof *left);
    for (size_t i = 0; i < count; i++) {
        uint32_t group = groups->of[i];
        if (group != SELECTION_NO_GROUP && selector_draw(rng, left[group]--, &shares[group]))
            output->chosen[output->count++] = i;
    }
}
