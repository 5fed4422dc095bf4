/* Refused holders in the log: each key and cause once a minute, and never more lines than there may be. */
#include "storage/erasure/refused_holders.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { START = 1000 };

static void a_key_that_is_refused_often_hides_no_other(void **state)
{
    struct refused_holders refused = {.count = 0};
    uint64_t untold = 0;

    (void)state;
    assert_true(storage_refused_holder(&refused, 1, START, &untold));
    for (int i = 0; i < 100; i++)
        assert_false(storage_refused_holder(&refused, 1, START + i, &untold));
    assert_true(storage_refused_holder(&refused, 2, START + 100, &untold));
    assert_int_equal(untold, 100);
    assert_true(storage_refused_holder(&refused, 1, START + REFUSED_LOG_MS, &untold));
    assert_int_equal(untold, 0);
}

static void a_minute_has_so_many_lines(void **state)
{
    struct refused_holders refused = {.count = 0};
    uint64_t untold = 0;

    (void)state;
    for (uint64_t who = 1; who <= REFUSED_LOGGED_MAX; who++)
        assert_true(storage_refused_holder(&refused, who, START, &untold));
    for (uint64_t who = REFUSED_LOGGED_MAX + 1; who <= 1000; who++)
        assert_false(storage_refused_holder(&refused, who, START, &untold));
    assert_true(storage_refused_holder(&refused, 1000, START + REFUSED_LOG_MS, &untold));
    assert_int_equal(untold, 1000 - REFUSED_LOGGED_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_that_is_refused_often_hides_no_other),
        cmocka_unit_test(a_minute_has_so_many_lines),
    };
    return cmocka_run_group_tests_name("storage: refused holders", tests, NULL, NULL);
}
