/* Binary search, against a search from the first to the last. */
#include "core/base/bisect.h"

#include "core/base/attributes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

enum { SIZE_MOST = 40 };

/* Every sorted array of `size` numbers of which each second one comes twice: 0 0 2 3 3 5 … */
static void fill(unsigned *at, size_t size)
{
    for (size_t i = 0; i < size; i++)
        at[i] = (unsigned)(i % 3 == 1 ? i - 1 : i);
}

static size_t search(const unsigned *at, size_t begin, size_t end, unsigned key, unsigned *steps)
{
    size_t low = begin, high = end;
    WEIR_BISECT(low, high, i, ((*steps)++, at[i] < key));
    assert_int_equal(low, high);
    return low;
}

static void the_first_place_that_is_not_before_is_found_in_every_array(void **state)
{
    unsigned at[SIZE_MOST], steps;
    (void)state;
    fill(at, SIZE_MOST);
    for (size_t begin = 0; begin < SIZE_MOST; begin++) {
        for (size_t end = begin; end <= SIZE_MOST; end++) {
            for (unsigned key = 0; key <= SIZE_MOST; key++) {
                size_t expected = begin;
                while (expected < end && at[expected] < key)
                    expected++;
                steps = 0;
                assert_int_equal(search(at, begin, end, key, &steps), expected);
                assert_true((1U << steps) <= 2 * (end - begin) + 1);
            }
        }
    }
}

static void indices_near_the_largest_do_not_overflow(void **state)
{
    size_t low = SIZE_MAX - 9, high = SIZE_MAX;
    (void)state;
    WEIR_BISECT(low, high, i, i < SIZE_MAX - 2);
    assert_true(low == SIZE_MAX - 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_place_that_is_not_before_is_found_in_every_array),
        cmocka_unit_test(indices_near_the_largest_do_not_overflow),
    };
    return cmocka_run_group_tests_name("bisect", tests, NULL, NULL);
}
