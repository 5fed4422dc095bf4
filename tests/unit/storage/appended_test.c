/* Files that are no longer waited for: those that only grow, for long. */
#include "storage/scanning/appended.h"

#include "core/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

enum { PATIENCE_MS = 1000, LOOK_MS = 100 };

static bool look(struct appended *appended, const char *path, off_t size, int64_t now_ms)
{
    const struct stat found = {.st_size = size, .st_mtim = {.tv_sec = now_ms / LOOK_MS}};

    return storage_appended_is_ripe(appended, path, &found, now_ms, PATIENCE_MS);
}

static void what_grows_with_every_look_is_ripe_once_a_patience(void **state)
{
    struct appended appended = {0};
    int ripe = 0;

    (void)state;
    for (int i = 0; i <= 30; i++) {
        bool is_ripe = look(&appended, "log", 10 + i, i * LOOK_MS);

        assert_int_equal(is_ripe, i > 0 && i * LOOK_MS % PATIENCE_MS == 0);
        ripe += is_ripe;
    }
    assert_int_equal(ripe, 3);
}

static void what_does_not_grow_or_shrinks_waits_anew(void **state)
{
    static const off_t SIZES[] = {10, 9}; /* the size it had; fewer */

    (void)state;
    for (size_t s = 0; s < WEIR_COUNT(SIZES); s++) {
        struct appended appended = {0};

        for (int i = 0; i < 9; i++)
            assert_false(look(&appended, "x", 2 + i, i * LOOK_MS));
        assert_false(look(&appended, "x", SIZES[s], 950));
        assert_false(look(&appended, "x", 11, 1100));
        assert_true(look(&appended, "x", 12, 1950));
    }
}

static void looking_twice_at_the_same_changes_nothing(void **state)
{
    struct appended appended = {0};

    (void)state;
    assert_false(look(&appended, "x", 1, 0));
    assert_false(look(&appended, "x", 2, 900));
    assert_false(look(&appended, "x", 2, 901)); /* not written since */
    assert_true(look(&appended, "x", 3, 1000));
}

static void who_was_left_alone_waits_from_its_next_write_on(void **state)
{
    struct appended appended = {0};

    (void)state;
    assert_false(look(&appended, "x", 1, 0));
    assert_false(look(&appended, "y", 1, 0));
    storage_appended_forget(&appended, "x");
    storage_appended_forget(&appended, "z");
    assert_false(look(&appended, "x", 2, 5000));
    assert_true(look(&appended, "y", 2, 5000));
}

static void too_many_files_wait_as_all_others_do(void **state)
{
    struct appended appended = {0};

    (void)state;
    for (int i = 0; i < 3 * APPENDED_MAX; i++) {
        char path[16];

        snprintf(path, sizeof(path), "%d", i);
        assert_false(look(&appended, path, 1, i));
    }
    assert_int_equal(appended.count, APPENDED_MAX);
    assert_false(look(&appended, "0", 2, 5000)); /* forgotten */
    assert_true(look(&appended, "700", 2, 5000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_grows_with_every_look_is_ripe_once_a_patience),
        cmocka_unit_test(what_does_not_grow_or_shrinks_waits_anew),
        cmocka_unit_test(looking_twice_at_the_same_changes_nothing),
        cmocka_unit_test(who_was_left_alone_waits_from_its_next_write_on),
        cmocka_unit_test(too_many_files_wait_as_all_others_do),
    };
    return cmocka_run_group_tests_name("appended files", tests, NULL, NULL);
}
