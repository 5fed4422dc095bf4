/* The names of a folder: sorted as the paths behind them, complete, and within their bound. */
#include "storage/files/name_window.h"

#include "core/base/memory.h"
#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 50000 };

static void a_folder_sorts_as_its_files_do(void **state)
{
    WEIR_AUTO(name_window) window = storage_name_window_new(0);

    (void)state;
    storage_name_window_add(window, "a", true);
    storage_name_window_add(window, "a0", false);
    storage_name_window_add(window, "a.b", false);
    storage_name_window_add(window, "\xff", false);
    storage_name_window_add(window, "a b", true);
    assert_string_equal(storage_name_window_next(window), "a b/");
    assert_string_equal(storage_name_window_next(window), "a.b");
    assert_string_equal(storage_name_window_next(window), "a/");
    assert_string_equal(storage_name_window_next(window), "a0");
    assert_string_equal(storage_name_window_next(window), "\xff");
    assert_null(storage_name_window_next(window));
    assert_false(storage_name_window_again(window));
}

static void a_name_that_is_told_twice_is_given_once(void **state)
{
    WEIR_AUTO(name_window) window = storage_name_window_new(0);

    (void)state;
    storage_name_window_add(window, "x", false);
    storage_name_window_add(window, "x", false);
    assert_string_equal(storage_name_window_next(window), "x");
    assert_null(storage_name_window_next(window));
}

static void add_all(struct name_window *window, const uint32_t *order)
{
    for (size_t i = 0; i < MANY; i++) {
        char name[32];

        snprintf(name, sizeof(name), "file-%06u.txt", order[i]);
        storage_name_window_add(window, name, false);
    }
}

static void more_names_than_fit_come_in_several_passes(void **state)
{
    WEIR_AUTO(name_window) window = storage_name_window_new(NAME_WINDOW_BYTES_MIN);
    uint32_t *order = calloc(MANY, sizeof(*order));
    struct weir_rng rng;
    size_t given = 0, passes = 0;

    (void)state;
    weir_rng_init(&rng, 7);
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t other = (uint32_t)weir_rng_below(&rng, i + 1);

        order[i] = order[other];
        order[other] = i;
    }
    do {
        const char *name;

        add_all(window, order);
        while ((name = storage_name_window_next(window)) != NULL) {
            char expected[32];

            snprintf(expected, sizeof(expected), "file-%06zu.txt", given++);
            assert_string_equal(name, expected);
        }
        passes++;
    } while (storage_name_window_again(window));
    assert_int_equal(given, MANY);
    assert_in_range(passes, 10, 200); /* 1.3 MB of names in windows of 64 KiB */
    free(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_folder_sorts_as_its_files_do),
        cmocka_unit_test(a_name_that_is_told_twice_is_given_once),
        cmocka_unit_test(more_names_than_fit_come_in_several_passes),
    };
    return cmocka_run_group_tests_name("name window", tests, NULL, NULL);
}
