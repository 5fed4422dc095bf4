/* Pieces are sorted, then merged two by two until there is one. */
#include "core/loop/work_sort.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

struct sort {
    struct weir_work *work;
    size_t count, size;
    int (*order)(const void *, const void *);
};

static size_t lower(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool sort_pieces(const struct sort *sort, uint8_t *elements)
{
    for (size_t at = 0; at < sort->count; at += WEIR_WORK_SORT_PIECE) {
        if (!weir_work_goes_on(sort->work, 0, 0))
            return false;
        qsort(elements + at * sort->size, lower(WEIR_WORK_SORT_PIECE, sort->count - at), sort->size,
              sort->order);
    }
    return true;
}

/* Merges the runs that begin at `low` and at `middle` and end before `middle` and `high`; of equal elements the first
 * stays first. */
static bool merge(const struct sort *sort, const uint8_t *from, size_t low, size_t middle,
                  size_t high, uint8_t *to)
{
    size_t left = low, right = middle, size = sort->size;
    for (size_t at = low; at < high; at++) {
        if (at % WEIR_WORK_SORT_PIECE == 0 && !weir_work_goes_on(sort->work, 0, 0))
            return false;
        bool is_left = right == high ||
                       (left < middle && sort->order(from + left * size, from + right * size) <= 0);
        memcpy(to + at * size, from + (is_left ? left++ : right++) * size, size);
    }
    return true;
}

static bool merge_all(const struct sort *sort, const uint8_t *from, size_t run, uint8_t *to)
{
    for (size_t low = 0; low < sort->count; low += 2 * run) {
        size_t middle = lower(low + run, sort->count), high = lower(low + 2 * run, sort->count);
        if (!merge(sort, from, low, middle, high, to))
            return false;
    }
    return true;
}

bool weir_work_sort(struct weir_work *work, void *elements, size_t count, size_t size,
                    int (*order)(const void *, const void *))
{
    const struct sort sort = {work, count, size, order};
    if (!sort_pieces(&sort, elements) || count <= WEIR_WORK_SORT_PIECE)
        return weir_work_goes_on(work, 0, 0);
    WEIR_AUTO_FREE uint8_t *room = weir_calloc(count, size);
    uint8_t *from = elements, *to = room;
    for (size_t run = WEIR_WORK_SORT_PIECE; run < count; run *= 2) {
        if (!merge_all(&sort, from, run, to))
            return false;
        uint8_t *merged = to;
        to = from;
        from = merged;
    }
    if (from == room)
        memcpy(elements, room, count * size);
    return true;
}
