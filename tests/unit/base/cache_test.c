/* The frame of bounded caches: found by hash, and what was not used since makes room first. */
#include "core/base/cache.h"

#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { MANY = 1000 };

struct number {
    struct weir_cache_entry entry;
    uint64_t value;
};

static void add(struct weir_cache *cache, struct number *number, uint64_t value, uint64_t hash)
{
    number->value = value;
    weir_cache_add(cache, &number->entry, hash, 1, number);
}

static struct number *find(const struct weir_cache *cache, uint64_t value, uint64_t hash)
{
    struct weir_cache_entry *entry = weir_cache_find(cache, hash);

    while (entry != NULL && ((struct number *)entry->owner)->value != value)
        entry = weir_cache_find_next(entry);
    return entry != NULL ? entry->owner : NULL;
}

static void nothing_is_in_an_empty_one(void **state)
{
    struct weir_cache cache = {0};

    (void)state;
    assert_null(weir_cache_find(&cache, 1));
    assert_null(weir_cache_oldest(&cache));
    weir_cache_fini(&cache);
}

static void entries_are_found_until_they_are_removed(void **state)
{
    static struct number numbers[MANY];
    struct weir_cache cache = {0};

    (void)state;
    for (uint64_t i = 0; i < MANY; i++)
        add(&cache, &numbers[i], i, weir_mix64(i));
    assert_int_equal(cache.count, MANY);
    for (uint64_t i = 0; i < MANY; i += 2)
        weir_cache_remove(&cache, &numbers[i].entry);
    assert_int_equal(cache.size, MANY / 2);
    for (uint64_t i = 0; i < MANY; i++)
        assert_ptr_equal(find(&cache, i, weir_mix64(i)), i % 2 == 1 ? &numbers[i] : NULL);
    weir_cache_fini(&cache);
}

static void entries_of_one_hash_are_told_apart(void **state)
{
    struct weir_cache cache = {0};
    struct number numbers[3];

    (void)state;
    for (uint64_t i = 0; i < 3; i++)
        add(&cache, &numbers[i], i, 7);
    for (uint64_t i = 0; i < 3; i++)
        assert_ptr_equal(find(&cache, i, 7), &numbers[i]);
    assert_null(find(&cache, 3, 7));
    weir_cache_fini(&cache);
}

static void the_first_that_was_not_used_makes_room(void **state)
{
    struct weir_cache cache = {0};
    struct number numbers[3];

    (void)state;
    for (uint64_t i = 0; i < 3; i++)
        add(&cache, &numbers[i], i, i);
    numbers[0].entry.is_used = true;
    assert_ptr_equal(weir_cache_oldest(&cache), &numbers[1]);
    weir_cache_remove(&cache, &numbers[1].entry);
    assert_ptr_equal(weir_cache_oldest(&cache), &numbers[2]);
    weir_cache_remove(&cache, &numbers[2].entry);
    assert_ptr_equal(weir_cache_oldest(&cache), &numbers[0]); /* it was spared once */
    weir_cache_fini(&cache);
}

static void when_all_were_used_the_first_makes_room(void **state)
{
    struct weir_cache cache = {0};
    struct number numbers[3];

    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        add(&cache, &numbers[i], i, i);
        numbers[i].entry.is_used = true;
    }
    assert_ptr_equal(weir_cache_oldest(&cache), &numbers[0]);
    weir_cache_fini(&cache);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_in_an_empty_one),
        cmocka_unit_test(entries_are_found_until_they_are_removed),
        cmocka_unit_test(entries_of_one_hash_are_told_apart),
        cmocka_unit_test(the_first_that_was_not_used_makes_room),
        cmocka_unit_test(when_all_were_used_the_first_makes_room),
    };

    return cmocka_run_group_tests_name("bounded caches", tests, NULL, NULL);
}
