/* Binary heaps in an array of the caller's. */
#include "core/base/attributes.h"
#include "core/base/heap.h"
#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ELEMENTS_MAX = 200 };

/* As large as elements may be. */
struct element {
    uint64_t due;
    uint64_t name;
    uint64_t payload[2];
};

static bool is_before(const void *a, const void *b, const void *owner)
{
    const struct element *x = a, *y = b;
    (void)owner;
    return x->due < y->due;
}

static const struct weir_heap_order BY_DUE = {.element_bytes = sizeof(struct element),
                                              .is_before = is_before};

static struct element element(uint64_t due, uint64_t name)
{
    return (struct element){.due = due, .name = name, .payload = {due + name, due ^ name}};
}

static struct element take_first(struct element *heap, size_t *count)
{
    struct element first = heap[0];
    heap[0] = heap[--*count];
    weir_heap_sink(&BY_DUE, heap, *count, 0, NULL);
    return first;
}

static void elements_that_rose_are_taken_in_order(void **state)
{
    (void)state;
    static const uint64_t DUES[] = {5, 3, 9, 3, 1, 7, 0, 8};
    static const uint64_t SORTED[] = {0, 1, 3, 3, 5, 7, 8, 9};
    struct element heap[WEIR_COUNT(DUES)];
    size_t count = 0;
    for (size_t i = 0; i < WEIR_COUNT(DUES); i++) {
        heap[count++] = element(DUES[i], i);
        weir_heap_rise(&BY_DUE, heap, count - 1, NULL);
    }
    for (size_t i = 0; i < WEIR_COUNT(SORTED); i++)
        assert_int_equal(take_first(heap, &count).due, SORTED[i]);
    assert_int_equal(count, 0);
}

static void rising_returns_the_place(void **state)
{
    (void)state;
    struct element heap[] = {element(1, 0), element(2, 1), element(3, 2), element(0, 3)};
    assert_int_equal(weir_heap_rise(&BY_DUE, heap, 1, NULL), 1); /* belongs there */
    assert_int_equal(weir_heap_rise(&BY_DUE, heap, 3, NULL), 0);
    assert_int_equal(heap[0].name, 3);
    assert_int_equal(heap[1].name, 0);
    assert_int_equal(heap[3].name, 1);
}

static void sinking_touches_nothing_from_the_count_on(void **state)
{
    (void)state;
    struct element heap[] = {element(4, 0), element(2, 1), element(1, 2)};
    weir_heap_sink(&BY_DUE, heap, 0, 0, NULL);
    assert_int_equal(heap[0].name, 0);
    weir_heap_sink(&BY_DUE, heap, 2, 0, NULL);
    assert_int_equal(heap[0].name, 1);
    assert_int_equal(heap[1].name, 0);
    assert_int_equal(heap[2].name, 2);
}

static void elements_in_any_order_become_a_heap(void **state)
{
    (void)state;
    struct element heap[ELEMENTS_MAX];
    struct weir_rng rng;
    weir_rng_init(&rng, 5);
    for (size_t made = 0; made <= ELEMENTS_MAX; made++) {
        size_t count = made;
        uint64_t last = 0, names = 0;
        for (size_t i = 0; i < count; i++)
            heap[i] = element(weir_rng_below(&rng, 50), i);
        weir_heap_make(&BY_DUE, heap, count, NULL);
        while (count > 0) {
            struct element first = take_first(heap, &count);
            assert_true(first.due >= last);
            last = first.due;
            names += first.name;
        }
        assert_int_equal(names, made * (made - (made > 0)) / 2); /* each once */
    }
}

/* Indices of `due`, and where in the heap each of them is. */
struct world {
    uint64_t due[ELEMENTS_MAX];
    bool is_in[ELEMENTS_MAX];
    size_t place[ELEMENTS_MAX];
    uint16_t heap[ELEMENTS_MAX];
    size_t count;
};

static bool is_due_before(const void *a, const void *b, const void *owner)
{
    const struct world *world = owner;
    return world->due[*(const uint16_t *)a] < world->due[*(const uint16_t *)b];
}

static void note_place(void *owner, const void *name, size_t to)
{
    ((struct world *)owner)->place[*(const uint16_t *)name] = to;
}

static const struct weir_heap_order WITH_PLACES = {sizeof(uint16_t), is_due_before, note_place};

static void sift(struct world *world, size_t at)
{
    at = weir_heap_rise(&WITH_PLACES, world->heap, at, world);
    weir_heap_sink(&WITH_PLACES, world->heap, world->count, at, world);
}

/* Adds the element, removes it, or changes when it is due. */
static void step(struct world *world, uint16_t name, uint64_t due, bool is_removed)
{
    if (!world->is_in[name]) {
        world->due[name] = due;
        world->heap[world->count++] = name;
        weir_heap_rise(&WITH_PLACES, world->heap, world->count - 1, world);
        world->is_in[name] = true;
    } else if (is_removed) {
        size_t at = world->place[name];
        world->is_in[name] = false;
        world->heap[at] = world->heap[--world->count];
        if (at < world->count)
            sift(world, at);
    } else {
        world->due[name] = due;
        sift(world, world->place[name]);
    }
}

static void assert_places_and_first(const struct world *world)
{
    uint64_t least = UINT64_MAX;
    for (uint16_t name = 0; name < ELEMENTS_MAX; name++) {
        if (!world->is_in[name])
            continue;
        assert_true(world->place[name] < world->count);
        assert_int_equal(world->heap[world->place[name]], name);
        least = world->due[name] < least ? world->due[name] : least;
    }
    if (world->count > 0)
        assert_int_equal(world->due[world->heap[0]], least);
}

static void the_first_is_the_least_whatever_is_added_removed_or_changed(void **state)
{
    (void)state;
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct world world = {.count = 0};
        struct weir_rng rng;
        weir_rng_init(&rng, seed);
        for (int i = 0; i < 1000; i++) {
            step(&world, (uint16_t)weir_rng_below(&rng, ELEMENTS_MAX), weir_rng_below(&rng, 100),
                 weir_rng_below(&rng, 2));
            assert_places_and_first(&world);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_that_rose_are_taken_in_order),
        cmocka_unit_test(rising_returns_the_place),
        cmocka_unit_test(sinking_touches_nothing_from_the_count_on),
        cmocka_unit_test(elements_in_any_order_become_a_heap),
        cmocka_unit_test(the_first_is_the_least_whatever_is_added_removed_or_changed),
    };
    return cmocka_run_group_tests_name("heap", tests, NULL, NULL);
}
