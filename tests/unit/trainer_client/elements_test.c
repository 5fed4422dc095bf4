/* Names of numbers, as the dispatcher tells them. */
#include "trainer_client/elements.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *const TENSORS[] = {"air", "sea"};
static const uint32_t COUNTS[] = {2, 1};
static const char *const NAMES[] = {"temp", "", "tide"};

static struct msg_client_opened opened_of(size_t tensors, size_t counts, size_t names)
{
    return (struct msg_client_opened){
        .named_tensors = {TENSORS, tensors},
        .named_elements = {COUNTS, counts},
        .element_names = {NAMES, names},
    };
}

static void a_number_is_found_by_its_tensor_and_place(void **state)
{
    (void)state;
    struct weir_error err;
    struct elements elements = {0};
    const struct msg_client_opened opened = opened_of(2, 2, 3), none = opened_of(0, 0, 0);
    assert_null(trainer_elements_name(&elements, "air", 0));
    assert_int_equal(trainer_elements_take(&elements, &opened, &err), WEIR_OK);
    assert_string_equal(trainer_elements_name(&elements, "air", 0), "temp");
    assert_null(trainer_elements_name(&elements, "air", 1)); /* it has none */
    assert_null(trainer_elements_name(&elements, "air", 2));
    assert_string_equal(trainer_elements_name(&elements, "sea", 0), "tide");
    assert_null(trainer_elements_name(&elements, "land", 0));
    assert_int_equal(trainer_elements_take(&elements, &none, &err), WEIR_OK);
    assert_null(trainer_elements_name(&elements, "air", 0));
    trainer_elements_fini(&elements);
}

static void lists_that_do_not_fit_each_other_are_refused(void **state)
{
    (void)state;
    struct weir_error err;
    static const size_t COUNTS_OF[][3] = {{2, 1, 3}, {1, 2, 3}, {2, 2, 2}, {1, 1, 3}, {0, 0, 1}};
    for (size_t i = 0; i < WEIR_COUNT(COUNTS_OF); i++) {
        struct elements elements = {0};
        const struct msg_client_opened opened =
            opened_of(COUNTS_OF[i][0], COUNTS_OF[i][1], COUNTS_OF[i][2]);
        assert_int_equal(trainer_elements_take(&elements, &opened, &err), WEIR_INVALID);
        assert_null(elements.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_number_is_found_by_its_tensor_and_place),
        cmocka_unit_test(lists_that_do_not_fit_each_other_are_refused),
    };
    return cmocka_run_group_tests_name("elements", tests, NULL, NULL);
}
