/* Differences between two YAML values: the places, in order, and what stands there. */
#include "core/base/memory.h"
#include "core/config/difference.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void tell(void *owner, const struct cfg_difference *difference)
{
    struct weir_buf *out = owner;

    weir_buf_printf(out, "%s: ", difference->path);
    weir_yaml_print(difference->was, out);
    weir_buf_append_text(out, " -> ");
    weir_yaml_print(difference->is, out);
    weir_buf_append_text(out, "\n");
}

static void differ(const char *was, const char *is, const char *expected)
{
    WEIR_AUTO(weir_yaml) one = NULL;
    WEIR_AUTO(weir_yaml) other = NULL;
    WEIR_AUTO_BUF found = {0};
    struct weir_error err;

    assert_int_equal(weir_yaml_parse("was", weir_bytes_of(was), &one, &err), WEIR_OK);
    assert_int_equal(weir_yaml_parse("is", weir_bytes_of(is), &other, &err), WEIR_OK);
    cfg_differences("", weir_yaml_root(one), weir_yaml_root(other), tell, &found);
    assert_string_equal(weir_buf_text(&found), expected);
}

static void equal_values_differ_nowhere_however_they_are_written(void **state)
{
    (void)state;
    differ("a: {b: 1, c: [x, y]}\n", "a:\n  b: 1\n  c:\n    - x\n    - y\n", "");
}

static void each_leaf_that_differs_is_told_with_its_path(void **state)
{
    (void)state;
    differ("a: {b: 1, c: 2}\nd: 3\n", "a: {b: 1, c: 4}\nd: 3\n", "a.c: 2 -> 4\n");
    differ("o: {name: sgd, lr: 1}\n", "o: {name: adagrad, lr: 1}\n", "o.name: sgd -> adagrad\n");
}

static void what_goes_and_what_comes_has_nothing_on_the_other_side(void **state)
{
    (void)state;
    differ("a: 1\nb: 2\n", "b: 2\nc: {d: 3}\n", "a: 1 -> null\nc: null -> {d: 3}\n");
}

static void named_elements_are_compared_by_name_and_other_lists_as_a_whole(void **state)
{
    (void)state;
    differ("e: [{name: x, v: 1}, {name: y, v: 2}]\n", "e: [{name: y, v: 3}, {name: z, v: 1}]\n",
           "e[x]: {name: x, v: 1} -> null\ne[y].v: 2 -> 3\ne[z]: null -> {name: z, v: 1}\n");
    differ("e: [1, 2]\n", "e: [2, 1]\n", "e: [1, 2] -> [2, 1]\n");
    differ("e: [a]\n", "e: {f: a}\n", "e: [a] -> {f: a}\n");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equal_values_differ_nowhere_however_they_are_written),
        cmocka_unit_test(each_leaf_that_differs_is_told_with_its_path),
        cmocka_unit_test(what_goes_and_what_comes_has_nothing_on_the_other_side),
        cmocka_unit_test(named_elements_are_compared_by_name_and_other_lists_as_a_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
