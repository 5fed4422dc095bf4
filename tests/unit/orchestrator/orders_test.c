/* Orders that come again: their places are shared by keys. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "orchestrator/topics/orders.h"

enum { ANNA = 7, BEN = 8 };

static struct weir_route route_of(uint64_t request)
{
    return (struct weir_route){.identity = {1}, .identity_size = 1, .request = request};
}

static void wait_for(struct topic_orders *orders, uint64_t key, int64_t number)
{
    orchestrator_topic_order_waits(orders,
                                   &(struct topic_order){route_of((uint64_t)number), key, number});
}

static int64_t again(struct topic_orders *orders, uint64_t request)
{
    const struct weir_route route = route_of(request);
    return orchestrator_topic_order_again(orders, &route);
}

static void an_order_that_comes_again_is_the_one_that_waits(void **state)
{
    struct topic_orders orders = {0};
    (void)state;
    wait_for(&orders, ANNA, 1);
    wait_for(&orders, BEN, 2);
    assert_int_equal(again(&orders, 2), 2);
    assert_int_equal(again(&orders, 2), 0);
    assert_int_equal(again(&orders, 1), 1);
}

static void a_key_with_many_orders_takes_no_place_of_another(void **state)
{
    struct topic_orders orders = {0};
    (void)state;
    wait_for(&orders, ANNA, 1);
    for (int64_t number = 2; number < 10 * TOPIC_ORDERS_MAX; number++)
        wait_for(&orders, BEN, number);
    assert_int_equal(again(&orders, 1), 1);
    assert_int_equal(again(&orders, 10 * TOPIC_ORDERS_MAX - 1), 10 * TOPIC_ORDERS_MAX - 1);
    assert_int_equal(again(&orders, 2), 0); /* its own oldest went */
}

static void keys_end_with_as_many_each(void **state)
{
    struct topic_orders orders = {0};
    size_t kept = 0;
    (void)state;
    for (int64_t number = 1; number <= TOPIC_ORDERS_MAX; number++)
        wait_for(&orders, BEN, number);
    for (int64_t number = 1001; number <= 1000 + TOPIC_ORDERS_MAX; number++)
        wait_for(&orders, ANNA, number);
    for (uint64_t number = 1001; number <= 1000 + TOPIC_ORDERS_MAX; number++)
        kept += again(&orders, number) != 0;
    assert_in_range(kept, TOPIC_ORDERS_MAX / 2, TOPIC_ORDERS_MAX / 2 + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_order_that_comes_again_is_the_one_that_waits),
        cmocka_unit_test(a_key_with_many_orders_takes_no_place_of_another),
        cmocka_unit_test(keys_end_with_as_many_each),
    };
    return cmocka_run_group_tests_name("orders that wait", tests, NULL, NULL);
}
