/* Parts of a source: what lies in them, and what they are bounded by. */
#include "storage/catalog/scope.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void a_path_means_the_file_and_all_below_it(void **state)
{
    struct scope scope = {0};
    size_t range;

    (void)state;
    storage_scope_add(&scope, "a/b");
    storage_scope_seal(&scope);
    assert_true(storage_scope_find(&scope, "a/b", &range));
    assert_true(storage_scope_find(&scope, "a/b/c/d", &range));
    assert_false(storage_scope_find(&scope, "a/b.c", &range)); /* sorts between the two */
    assert_int_equal(range, 1);
    assert_false(storage_scope_find(&scope, "a", &range));
    assert_int_equal(range, 0);
    assert_false(storage_scope_find(&scope, "a/c", &range));
    assert_int_equal(range, 2);
    storage_scope_fini(&scope);
}

static void what_lies_in_another_range_is_dropped(void **state)
{
    struct scope scope = {0};

    (void)state;
    storage_scope_add(&scope, "x/y/z");
    storage_scope_add(&scope, "x");
    storage_scope_add(&scope, "x/y");
    storage_scope_add(&scope, "x");
    storage_scope_seal(&scope);
    assert_int_equal(scope.count, 2);
    assert_string_equal(scope.ranges[0], "x");
    assert_string_equal(scope.ranges[1], "x/");
    storage_scope_fini(&scope);
}

static void too_many_paths_are_the_whole_source(void **state)
{
    struct scope scope = {0};
    size_t range;

    (void)state;
    for (int i = 0; i < 3 * SCOPE_PATHS_MAX && !scope.is_whole; i++) {
        char path[32];

        snprintf(path, sizeof(path), "f%d", i);
        storage_scope_add(&scope, path);
        assert_true(scope.count <= 2 * SCOPE_PATHS_MAX);
    }
    assert_true(scope.is_whole);
    storage_scope_seal(&scope);
    assert_int_equal(scope.count, 1);
    assert_true(storage_scope_find(&scope, "anything", &range));
    storage_scope_fini(&scope);
}

static void a_file_that_is_named_again_and_again_is_one(void **state)
{
    struct scope scope = {0};

    (void)state;
    for (int i = 0; i < 10 * SCOPE_PATHS_MAX; i++)
        storage_scope_add(&scope, i % 2 ? "log" : "other");
    assert_false(scope.is_whole);
    storage_scope_seal(&scope);
    assert_int_equal(scope.count, 4);
    storage_scope_fini(&scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_means_the_file_and_all_below_it),
        cmocka_unit_test(what_lies_in_another_range_is_dropped),
        cmocka_unit_test(too_many_paths_are_the_whole_source),
        cmocka_unit_test(a_file_that_is_named_again_and_again_is_one),
    };
    return cmocka_run_group_tests_name("scope", tests, NULL, NULL);
}
