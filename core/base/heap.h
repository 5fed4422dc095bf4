/* A binary heap in an array of the caller's, who owns the array and its count, and makes room before adding. The first
 * element lies at index 0:
 *
 *     array[count++] = element;      weir_heap_rise(&ORDER, array, count - 1, owner);
 *     first = array[0];
 *     array[0] = array[--count];     weir_heap_sink(&ORDER, array, count, 0, owner);
 *
 * Rising and sinking take O(log count) comparisons. Nothing fails, and the same calls leave the same array on any
 * machine. All is inline, so that the comparison of a `static const` order is inlined too: bpe sifts for each pair of
 * tokens. */
#ifndef WEIR_BASE_HEAP_H
#define WEIR_BASE_HEAP_H

#include "core/base/error.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { WEIR_HEAP_ELEMENT_MAX = 32 };

struct weir_heap_order {
    size_t element_bytes; /* at most WEIR_HEAP_ELEMENT_MAX */
    bool (*is_before)(const void *a, const void *b, const void *owner); /* false for equals */
    void (*moved)(void *owner, const void *element, size_t to); /* NULL: nobody keeps places */
};

/* Moves the element at `at` towards index 0 as far as it belongs. Returns its place. */
static WEIR_ALWAYS_INLINE size_t weir_heap_rise(const struct weir_heap_order *order, void *array,
                                                size_t at, void *owner)
{
    alignas(max_align_t) uint8_t element[WEIR_HEAP_ELEMENT_MAX];
    uint8_t *bytes = array;
    size_t size = order->element_bytes;

    weir_require(size <= sizeof(element));
    memcpy(element, bytes + at * size, size);
    for (size_t parent; at > 0; at = parent) {
        parent = (at - 1) / 2;
        if (!order->is_before(element, bytes + parent * size, owner))
            break;
        memcpy(bytes + at * size, bytes + parent * size, size);
        if (order->moved)
            order->moved(owner, bytes + at * size, at);
    }
    memcpy(bytes + at * size, element, size);
    if (order->moved)
        order->moved(owner, element, at);
    return at;
}

/* Moves the element at `at` away from index 0 as far as it belongs. Does nothing where `at` is
 * `count` or more. */
static WEIR_ALWAYS_INLINE void weir_heap_sink(const struct weir_heap_order *order, void *array,
                                              size_t count, size_t at, void *owner)
{
    alignas(max_align_t) uint8_t element[WEIR_HEAP_ELEMENT_MAX];
    uint8_t *bytes = array;
    size_t size = order->element_bytes;

    weir_require(size <= sizeof(element));
    if (at >= count)
        return;
    memcpy(element, bytes + at * size, size);
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count &&
                 order->is_before(bytes + (child + 1) * size, bytes + child * size, owner);
        if (!order->is_before(bytes + child * size, element, owner))
            break;
        memcpy(bytes + at * size, bytes + child * size, size);
        if (order->moved)
            order->moved(owner, bytes + at * size, at);
    }
    memcpy(bytes + at * size, element, size);
    if (order->moved)
        order->moved(owner, element, at);
}

/* Makes a heap of `count` elements in any order: O(count). */
static WEIR_ALWAYS_INLINE void weir_heap_make(const struct weir_heap_order *order, void *array,
                                              size_t count, void *owner)
{
    for (size_t at = count / 2; at-- > 0;)
        weir_heap_sink(order, array, count, at, owner);
}

#endif
