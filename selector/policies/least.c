/* Quickselect (Hoare, 1961, "Algorithm 65: Find") whenever the room is full: each cut looks at 2 n items
 * and throws n away, so an offer costs constant time. */
#include "selector/policies/least.h"

#include "core/base/memory.h"

#include <stdlib.h>

enum { ROOM_MIN = 1024 };

void selector_least_init(struct selection_least *least, size_t wanted, size_t offers)
{
    size_t room = wanted < ROOM_MIN / 2 ? ROOM_MIN : 2 * wanted;
    *least = (struct selection_least){.wanted = wanted, .bound = UINT64_MAX};
    least->capacity = room < offers ? room : offers;
    least->items = weir_calloc(least->capacity, sizeof(*least->items));
}

void selector_least_fini(struct selection_least *least)
{
    free(least->items);
    *least = (struct selection_least){0};
}

static bool before(struct selection_keyed a, struct selection_keyed b)
{
    return a.key != b.key ? a.key < b.key : a.index > b.index;
}

static struct selection_keyed median(struct selection_keyed a, struct selection_keyed b,
                                     struct selection_keyed c)
{
    if (before(b, a)) {
        struct selection_keyed swap = a;
        a = b;
        b = swap;
    }
    return before(c, a) ? a : before(b, c) ? b : c;
}

/* Orders items[low … high] around one of them; both parts have at least one. Returns the last of the
 * smaller part. */
static size_t split(struct selection_keyed *items, size_t low, size_t high)
{
    struct selection_keyed pivot = median(items[low], items[low + (high - low) / 2], items[high]);
    for (size_t i = low, k = high;; i++, k--) {
        while (before(items[i], pivot))
            i++;
        while (before(pivot, items[k]))
            k--;
        if (i >= k)
            return i == k ? k - (k == high) : k;
        struct selection_keyed swap = items[i];
        items[i] = items[k];
        items[k] = swap;
    }
}

void selector_least_cut(struct selection_least *least)
{
    if (least->count <= least->wanted)
        return;
    size_t low = 0, high = least->count - 1;
    while (low < high) {
        size_t last = split(least->items, low, high);
        if (least->wanted - 1 <= last)
            high = last;
        else
            low = last + 1;
    }
    least->count = least->wanted;
    least->bound = least->items[low].key;
}

struct selection_keyed selector_least_pop(struct selection_least *least)
{
    size_t last = 0;
    selector_least_cut(least);
    for (size_t i = 1; i < least->count; i++)
        if (before(least->items[last], least->items[i]))
            last = i;
    struct selection_keyed popped = least->items[last];
    least->items[last] = least->items[--least->count];
    return popped;
}

void selector_least_take(struct selection_least *least, struct selection_output *output)
{
    selector_least_cut(least);
    for (size_t i = 0; i < least->count; i++)
        selection_take(output, least->items[i].index);
}
