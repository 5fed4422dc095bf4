/* A training cut into rounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "orchestrator/pipeline/rounds.h"

/* Cuts a training; returns how many rounds it has, and their epochs. */
static size_t cut(uint64_t in_all, uint64_t period, uint64_t epochs[16])
{
    struct round_length length = {0};
    uint64_t before = 0;
    size_t count = 0;
    for (; !length.is_last && count < 16; before += length.epochs) {
        length = orchestrator_round_length(in_all, before, period);
        epochs[count++] = length.epochs;
    }
    assert_int_equal(before, in_all);
    return count;
}

static void rounds_are_all_of_a_training(void **state)
{
    (void)state;
    uint64_t epochs[16];
    assert_int_equal(cut(6, 2, epochs), 3);
    assert_true(epochs[0] == 2 && epochs[1] == 2 && epochs[2] == 2);
    assert_int_equal(cut(5, 2, epochs), 3);
    assert_int_equal(epochs[2], 1);
    assert_int_equal(cut(3, 1, epochs), 3);
    assert_int_equal(cut(3, 3, epochs), 1);
    assert_int_equal(cut(3, 7, epochs), 1);
    assert_int_equal(cut(3, 0, epochs), 1);
    assert_int_equal(epochs[0], 3);
}

static void a_file_with_fewer_epochs_ends_a_training_with_its_next_round(void **state)
{
    (void)state;
    struct round_length length = orchestrator_round_length(2, 4, 2);
    assert_true(length.is_last && length.epochs == 1);
}

static void the_first_round_has_the_seed_and_each_other_one_of_its_own(void **state)
{
    (void)state;
    assert_int_equal(orchestrator_round_seed(7, 0), 7);
    assert_int_not_equal(orchestrator_round_seed(7, 1), orchestrator_round_seed(7, 2));
    assert_int_not_equal(orchestrator_round_seed(7, 1), orchestrator_round_seed(8, 1));
    for (int64_t round = 1; round < 100; round++)
        assert_true(orchestrator_round_seed(UINT64_MAX, round) < UINT64_C(1) << 31);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rounds_are_all_of_a_training),
        cmocka_unit_test(a_file_with_fewer_epochs_ends_a_training_with_its_next_round),
        cmocka_unit_test(the_first_round_has_the_seed_and_each_other_one_of_its_own),
    };
    return cmocka_run_group_tests_name("orchestrator/rounds", tests, NULL, NULL);
}
