/* An index of entries by the hash of their keys. */
#include "core/base/attributes.h"
#include "core/base/index.h"
#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { ENTRIES_MAX = 5000, NONE = -1 };

/* Hashes of many keys are equal where few bits are kept. */
static uint64_t hash_of(uint64_t key, unsigned bits)
{
    return weir_mix64(key) >> (64 - bits) << 32;
}

static int find(const struct weir_index *index, const uint64_t *keys, uint64_t key, unsigned bits)
{
    struct weir_index_search search = weir_index_search(index, hash_of(key, bits));
    uint32_t entry;
    while (weir_index_next(&search, &entry)) {
        if (keys[entry] == key)
            return (int)entry;
    }
    return NONE;
}

static void an_empty_index_offers_nothing(void **state)
{
    (void)state;
    struct weir_index index = {.count = 0};
    uint32_t entry = 7;
    struct weir_index_search search = weir_index_search(&index, 0);
    assert_false(weir_index_next(&search, &entry));
    search = weir_index_search(&index, UINT64_MAX);
    assert_false(weir_index_next(&search, &entry));
    assert_int_equal(entry, 7);
    weir_index_clear(&index);
    weir_index_fini(&index);
}

static void all_entries_of_a_hash_are_offered_once(void **state)
{
    (void)state;
    static const uint64_t HASHES[] = {0, UINT64_C(1) << 32, UINT64_MAX};
    for (size_t i = 0; i < WEIR_COUNT(HASHES); i++) {
        struct weir_index index = {.count = 0};
        bool is_offered[1000] = {false};
        uint32_t entry = 0;
        for (uint32_t added = 0; added < WEIR_COUNT(is_offered); added++)
            weir_index_add(&index, HASHES[i], added);
        struct weir_index_search search = weir_index_search(&index, HASHES[i]);
        for (size_t offered = 0; offered < WEIR_COUNT(is_offered); offered++) {
            assert_true(weir_index_next(&search, &entry));
            assert_true(entry < WEIR_COUNT(is_offered) && !is_offered[entry]);
            is_offered[entry] = true;
        }
        assert_false(weir_index_next(&search, &entry));
        search = weir_index_search(&index, UINT64_C(5) << 32);
        assert_false(weir_index_next(&search, &entry));
        weir_index_fini(&index);
    }
}

static void the_largest_entry_is_found(void **state)
{
    (void)state;
    struct weir_index index = {.count = 0};
    uint32_t entry = 0;
    weir_index_add(&index, UINT64_MAX, UINT32_MAX - 1);
    struct weir_index_search search = weir_index_search(&index, UINT64_MAX);
    assert_true(weir_index_next(&search, &entry));
    assert_true(entry == UINT32_MAX - 1);
    weir_index_fini(&index);
}

static void at_most_half_of_the_slots_are_taken_and_an_eighth_after_growth(void **state)
{
    (void)state;
    struct weir_index index = {.count = 0};
    for (uint32_t entry = 0; entry < 100000; entry++) {
        weir_index_add(&index, hash_of(entry, 32), entry);
        assert_int_equal(index.count, entry + 1);
        assert_true(index.count * 2 <= index.slot_count);
        assert_true(index.slot_count == 64 || index.slot_count <= 8 * index.count);
    }
    weir_index_fini(&index);
}

static void a_seed_is_drawn_once_and_outlives_clearing(void **state)
{
    (void)state;
    struct weir_index index = {.count = 0}, other = {.count = 0};
    weir_index_draw_seed(&index);
    weir_index_draw_seed(&other);
    uint64_t seed = index.seed;
    assert_true(seed != 0 && other.seed != 0 && seed != other.seed);
    weir_index_add(&index, seed, 1);
    weir_index_clear(&index);
    weir_index_draw_seed(&index);
    assert_true(index.seed == seed);
    weir_index_fini(&index);
    assert_true(index.seed == 0);
}

/* Adds, finds and now and then clears; a walk over all keys is what is right. */
static void compare_with_an_array(unsigned bits, uint64_t seed)
{
    static uint64_t keys[ENTRIES_MAX];
    struct weir_index index = {.count = 0};
    struct weir_rng rng;
    weir_rng_init(&rng, seed);
    for (int i = 0; i < ENTRIES_MAX; i++) {
        uint64_t key = weir_rng_below(&rng, 2 * ENTRIES_MAX);
        int expected = NONE;
        for (size_t k = 0; k < index.count && expected == NONE; k++)
            expected = keys[k] == key ? (int)k : NONE;
        assert_int_equal(find(&index, keys, key, bits), expected);
        if (weir_rng_below(&rng, ENTRIES_MAX) == 0) {
            weir_index_clear(&index);
        } else if (expected == NONE) {
            keys[index.count] = key;
            weir_index_add(&index, hash_of(key, bits), (uint32_t)index.count);
        }
    }
    weir_index_fini(&index);
}

static void keys_are_found_as_by_a_walk_over_all_of_them(void **state)
{
    (void)state;
    static const unsigned BITS[] = {32, 12, 6, 1};
    for (size_t i = 0; i < WEIR_COUNT(BITS); i++)
        for (uint64_t seed = 1; seed <= 2; seed++)
            compare_with_an_array(BITS[i], seed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_index_offers_nothing),
        cmocka_unit_test(all_entries_of_a_hash_are_offered_once),
        cmocka_unit_test(the_largest_entry_is_found),
        cmocka_unit_test(at_most_half_of_the_slots_are_taken_and_an_eighth_after_growth),
        cmocka_unit_test(a_seed_is_drawn_once_and_outlives_clearing),
        cmocka_unit_test(keys_are_found_as_by_a_walk_over_all_of_them),
    };
    return cmocka_run_group_tests_name("index", tests, NULL, NULL);
}
