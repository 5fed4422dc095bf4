/* Quotas by key: what one takes, and what it leaves. */
#include "core/base/quota.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { WHOLE = 600 };

/* Takes one by one, as much as it is given. Returns how much that is. */
static size_t take_all(struct weir_quota *quota, uint64_t key)
{
    size_t count = 0;

    for (; weir_quota_allows(quota, key, 1, WHOLE); count++)
        weir_quota_take(quota, key, 1);
    return count;
}

static void a_key_leaves_as_much_as_it_has(void **state)
{
    uint64_t mallory = weir_quota_key("mallory"), rosa = weir_quota_key("rosa");
    struct weir_quota quota = {.keys.size = 0};

    (void)state;
    assert_int_equal(take_all(&quota, mallory), WHOLE / 2);
    assert_int_equal(take_all(&quota, rosa), WHOLE / 4);
    weir_quota_give(&quota, mallory, WHOLE / 2);
    assert_int_equal(quota.keys.size, WHOLE / 4);
    assert_int_equal(take_all(&quota, mallory), (WHOLE - WHOLE / 4) / 2);
    weir_quota_fini(&quota);
}

static void this_host_may_take_all_that_is_left(void **state)
{
    uint64_t mallory = weir_quota_key("mallory"), host = weir_quota_key("");
    struct weir_quota quota = {.keys.size = 0};

    (void)state;
    assert_int_equal(take_all(&quota, mallory), WHOLE / 2);
    assert_int_equal(take_all(&quota, host), WHOLE / 2);
    assert_false(weir_quota_allows(&quota, host, 1, WHOLE));
    weir_quota_fini(&quota);
}

static void an_amount_that_is_more_than_the_whole_is_refused(void **state)
{
    struct weir_quota quota = {.keys.size = 0};

    (void)state;
    assert_false(weir_quota_allows(&quota, 0, WHOLE + 1, WHOLE));
    assert_false(weir_quota_allows(&quota, 0, SIZE_MAX, WHOLE));
    assert_false(weir_quota_allows(&quota, 1, WHOLE / 2 + 1, WHOLE));
    assert_true(weir_quota_allows(&quota, 1, WHOLE / 2, WHOLE));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_key_leaves_as_much_as_it_has),
        cmocka_unit_test(this_host_may_take_all_that_is_left),
        cmocka_unit_test(an_amount_that_is_more_than_the_whole_is_refused),
    };
    return cmocka_run_group_tests_name("quota", tests, NULL, NULL);
}
