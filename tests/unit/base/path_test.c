/* Paths that rows keep survive a move of the directory they lie in. */
#include "core/base/path.h"

#include "core/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

static void a_path_below_the_directory_is_kept_without_it(void **state)
{
    (void)state;
    assert_string_equal(weir_path_below("/data/a", "/data/a/sets/1.set"), "sets/1.set");
    assert_string_equal(weir_path_below("/data/a/", "/data/a//sets/1.set"), "sets/1.set");
}

static void a_path_elsewhere_is_kept_as_it_is(void **state)
{
    (void)state;
    assert_string_equal(weir_path_below("/data/a", "/data/ab/1.set"), "/data/ab/1.set");
    assert_string_equal(weir_path_below("/data/a", "/data/a"), "/data/a");
    assert_string_equal(weir_path_below("/data/a", "sets/1.set"), "sets/1.set");
}

static void a_kept_path_leads_into_the_directory_of_today(void **state)
{
    WEIR_AUTO_FREE char *moved = weir_path_in("/data/b", "sets/1.set");
    WEIR_AUTO_FREE char *elsewhere = weir_path_in("/data/b", "/other/1.set");
    WEIR_AUTO_FREE char *none = weir_path_in("/data/b", "");

    (void)state;
    assert_string_equal(moved, "/data/b/sets/1.set");
    assert_string_equal(elsewhere, "/other/1.set");
    assert_string_equal(none, "");
}

static void a_path_is_named_by_its_last_part(void **state)
{
    (void)state;
    assert_string_equal(weir_path_name("/data/a/1.set"), "1.set");
    assert_string_equal(weir_path_name("1.set"), "1.set");
    assert_string_equal(weir_path_name("/data/a/"), "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_path_below_the_directory_is_kept_without_it),
        cmocka_unit_test(a_path_elsewhere_is_kept_as_it_is),
        cmocka_unit_test(a_kept_path_leads_into_the_directory_of_today),
        cmocka_unit_test(a_path_is_named_by_its_last_part),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
