/* Worker slots: one name, one living session. */
#include "preprocess/dispatcher/pool.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static int hear(struct pool *pool, const char *name, uint64_t session, int64_t now_ms, bool *known)
{
    struct pool_beat beat = {.name = name, .endpoint = "ipc://x", .session = session};
    return pool_hear(pool, &beat, now_ms, known);
}

static void a_restarted_worker_replaces_its_former_self(void **state)
{
    (void)state;
    struct pool *pool = calloc(1, sizeof(*pool));
    bool known;
    assert_int_equal(hear(pool, "worker-1", 5, 0, &known), 0);
    assert_false(known);
    assert_int_equal(hear(pool, "worker-2", 6, 0, &known), 1);
    assert_int_equal(hear(pool, "worker-1", 5, 10, &known), 0);
    assert_true(known);
    assert_int_equal(hear(pool, "worker-1", 7, 20, &known), 0);
    assert_false(known);
    assert_int_equal(hear(pool, "worker-1", 5, 30, &known), -1); /* a beat that came late */
    pool_fini(pool);
    free(pool);
}

static void a_silent_worker_is_not_shown(void **state)
{
    (void)state;
    struct pool *pool = calloc(1, sizeof(*pool));
    bool known;
    (void)hear(pool, "worker-1", 5, 1000, &known);
    assert_true(pool_is_heard(pool, 0, 1000 + POOL_SILENT_MS - 1));
    assert_false(pool_is_heard(pool, 0, 1000 + POOL_SILENT_MS));
    pool_fini(pool);
    free(pool);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_restarted_worker_replaces_its_former_self),
        cmocka_unit_test(a_silent_worker_is_not_shown),
    };
    return cmocka_run_group_tests_name("pool", tests, NULL, NULL);
}
