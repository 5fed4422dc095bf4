/* Ids in ascending order: any spread, any length, equals in the order they came. */
#include "storage/reading/id_order.h"

#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { MANY = 4096 };

static void check(const uint64_t *ids, uint32_t count)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    const uint32_t *order = storage_id_order(ids, count, arena);
    uint8_t seen[MANY] = {0};

    for (uint32_t i = 0; i < count; i++) {
        assert_true(order[i] < count);
        assert_int_equal(seen[order[i]]++, 0);
        if (i == 0)
            continue;
        assert_true(ids[order[i - 1]] <= ids[order[i]]);
        if (ids[order[i - 1]] == ids[order[i]])
            assert_true(order[i - 1] < order[i]);
    }
}

static void any_ids_are_put_in_order(void **state)
{
    static const uint64_t SPANS[] = {1, 2, 100, 2048, 1 << 24, UINT64_C(1) << 44, UINT64_MAX};
    static uint64_t ids[MANY];
    struct weir_rng rng;

    (void)state;
    weir_rng_init(&rng, 4711);
    for (size_t s = 0; s < WEIR_COUNT(SPANS); s++) {
        for (uint32_t i = 0; i < MANY; i++)
            ids[i] = UINT64_MAX - SPANS[s] + weir_rng_below(&rng, SPANS[s]);
        check(ids, MANY);
        check(ids, 3);
    }
}

static void none_one_and_extremes_are_fine(void **state)
{
    static const uint64_t EXTREMES[] = {UINT64_MAX, 0, 5, UINT64_MAX, 0};

    (void)state;
    check(EXTREMES, 0);
    check(EXTREMES, 1);
    check(EXTREMES, WEIR_COUNT(EXTREMES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_ids_are_put_in_order),
        cmocka_unit_test(none_one_and_extremes_are_fine),
    };
    return cmocka_run_group_tests_name("storage: order of ids", tests, NULL, NULL);
}
