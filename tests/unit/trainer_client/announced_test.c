/* The tensors of a run, as the dispatcher announces them. */
#include "trainer_client/announced.h"

#include "core/wire/tensor.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static const char *const NAMES[] = {"air", "user", "words"};
static const uint32_t TYPES[] = {WEIR_F32, WEIR_I32, WEIR_I32};
static const uint32_t RANKS[] = {2, 1, 0};
static const uint32_t EXTENTS[] = {4, 5, 1};
static const uint64_t BELOW[] = {0, 10, 7}, BEFORE[] = {0, 0, 5};

static struct msg_client_opened announcement(void)
{
    return (struct msg_client_opened){
        .tensors = {NAMES, 3},
        .tensor_types = {TYPES, 3},
        .tensor_ranks = {RANKS, 3},
        .tensor_extents = {EXTENTS, 3},
        .tensors_below = {BELOW, 3},
        .tensors_below_before = {BEFORE, 3},
    };
}

static void tensors_have_types_shapes_and_bounds(void **state)
{
    (void)state;
    struct weir_error err;
    struct announced announced = {0};
    struct msg_client_opened opened = announcement();
    assert_int_equal(trainer_announced_take(&announced, NULL, &opened, &err), WEIR_OK);
    assert_int_equal(announced.count, 3);
    const struct weir_client_tensor *air = &announced.tensors[0], *words = &announced.tensors[2];
    assert_string_equal(air->name, "air");
    assert_int_equal(air->type, WEIR_TENSOR_F32);
    assert_true(air->rank == 2 && air->shape[0] == 4 && air->shape[1] == 5);
    assert_true(!air->is_ragged && air->below == 0);
    assert_true(words->is_ragged && words->rank == 0);
    assert_true(words->below == 7 && words->below_before == 5);
    opened.tensors_below_before.count = 0; /* it goes on from no model */
    assert_int_equal(trainer_announced_take(&announced, NULL, &opened, &err), WEIR_OK);
    assert_int_equal(announced.tensors[2].below_before, 0);
    trainer_announced_fini(&announced);
}

static void tensors_that_the_loop_is_not_shown_are_not_announced_to_it(void **state)
{
    (void)state;
    struct weir_error err;
    struct announced announced = {0};
    const struct msg_client_opened opened = announcement();
    const struct groups_wanted hidden = {.group = "user", .slices = {"air"}, .slice_count = 1};
    assert_int_equal(trainer_announced_take(&announced, &hidden, &opened, &err), WEIR_OK);
    assert_int_equal(announced.count, 1);
    assert_string_equal(announced.tensors[0].name, "words");
    trainer_announced_fini(&announced);
}

static void lists_that_do_not_fit_each_other_are_refused(void **state)
{
    (void)state;
    static const uint32_t TOO_MANY[] = {2, 4, 0}, UNKNOWN[] = {WEIR_F32, 99, WEIR_I32};
    struct msg_client_opened wrong[6];
    struct weir_error err;
    for (size_t i = 0; i < WEIR_COUNT(wrong); i++)
        wrong[i] = announcement();
    wrong[0].tensor_types.count = 2;
    wrong[1].tensor_ranks.at = TOO_MANY;
    wrong[2].tensor_types.at = UNKNOWN;
    wrong[3].tensor_extents.count = 2;
    wrong[4].tensors_below.count = 0;
    wrong[5].tensors_below_before.count = 1;
    for (size_t i = 0; i < WEIR_COUNT(wrong); i++) {
        struct announced announced = {0};
        assert_int_equal(trainer_announced_take(&announced, NULL, &wrong[i], &err), WEIR_INVALID);
        assert_null(announced.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tensors_have_types_shapes_and_bounds),
        cmocka_unit_test(tensors_that_the_loop_is_not_shown_are_not_announced_to_it),
        cmocka_unit_test(lists_that_do_not_fit_each_other_are_refused),
    };
    return cmocka_run_group_tests_name("announced", tests, NULL, NULL);
}
