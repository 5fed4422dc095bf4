/* Cutting a set: every position belongs to exactly one batch, every batch to exactly one group. */
#include "preprocess/order/geometry.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

static const struct {
    uint64_t samples;
    uint32_t epochs, batch, group;
    enum preprocess_last last;
    uint64_t batches_per_epoch, positions;
} CASES[] = {
    {1, 1, 1, 0, PREPROCESS_LAST_SHORT, 1, 1},
    {1000, 2, 32, 0, PREPROCESS_LAST_SHORT, 32, 1000},
    {1000, 2, 32, 0, PREPROCESS_LAST_DROP, 31, 992},
    {1000, 2, 32, 0, PREPROCESS_LAST_REPEAT, 32, 1024},
    {33, 3, 4, 2, PREPROCESS_LAST_SHORT, 9, 33},
    {3, 2, 10, 5, PREPROCESS_LAST_SHORT, 1, 3},
    {3, 2, 10, 5, PREPROCESS_LAST_DROP, 0, 0},
    {3, 1, 10, 0, PREPROCESS_LAST_REPEAT, 1, 10},
    {100000, 1, 16, 64, PREPROCESS_LAST_SHORT, 6250, 100000},
};

static struct preprocess_geometry plan(size_t i)
{
    return preprocess_geometry_plan(CASES[i].samples, CASES[i].epochs, CASES[i].batch,
                                    CASES[i].last, CASES[i].group);
}

static void sizes_follow_from_the_last_batch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct preprocess_geometry geometry = plan(i);
        assert_int_equal(geometry.batches_per_epoch, CASES[i].batches_per_epoch);
        assert_int_equal(preprocess_epoch_positions(&geometry), CASES[i].positions);
    }
}

static void groups_hold_every_batch_once_and_never_straddle_epochs(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct preprocess_geometry geometry = plan(i);
        uint64_t next = 0;
        for (uint64_t group = 0; group < preprocess_groups(&geometry); group++) {
            struct preprocess_range batches = preprocess_group(&geometry, group);
            assert_int_equal(batches.first, next);
            assert_in_range(batches.count, 1, geometry.group_batches);
            for (uint32_t k = 0; k < batches.count; k++)
                assert_int_equal(preprocess_group_of(&geometry, batches.first + k), group);
            assert_int_equal(preprocess_epoch_of(&geometry, batches.first),
                             preprocess_epoch_of(&geometry, batches.first + batches.count - 1));
            next += batches.count;
        }
        assert_int_equal(next, preprocess_batches(&geometry));
    }
}

static void batches_hold_every_position_once(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct preprocess_geometry geometry = plan(i);
        uint64_t next = 0;
        for (uint64_t batch = 0; batch < preprocess_batches(&geometry); batch++) {
            struct preprocess_range positions = preprocess_positions(&geometry, batch);
            if (batch % geometry.batches_per_epoch == 0)
                next = 0;
            assert_int_equal(positions.first, next);
            assert_in_range(positions.count, 1, geometry.batch_samples);
            next += positions.count;
            if ((batch + 1) % geometry.batches_per_epoch == 0)
                assert_int_equal(next, preprocess_epoch_positions(&geometry));
        }
    }
}

static void a_group_is_a_sixteenth_of_an_epoch_within_limits(void **state)
{
    (void)state;
    assert_int_equal(preprocess_geometry_plan(320, 1, 1, 0, 0).group_batches, 20);
    assert_int_equal(preprocess_geometry_plan(15, 1, 1, 0, 0).group_batches, 1);
    assert_int_equal(preprocess_geometry_plan(1 << 20, 1, 1, 0, 0).group_batches, 64);
    assert_int_equal(preprocess_geometry_plan(1 << 20, 1, 1 << 14, 0, 64).group_batches, 4);
    assert_int_equal(preprocess_geometry_plan(1 << 24, 1, 1 << 20, 0, 0).group_batches, 1);
    struct preprocess_geometry geometry = preprocess_geometry_plan(320, 1, 1, 0, 0);
    preprocess_geometry_limit_groups(&geometry, 21);
    assert_int_equal(geometry.group_batches, 20);
    preprocess_geometry_limit_groups(&geometry, 7);
    assert_int_equal(geometry.group_batches, 7);
    assert_int_equal(preprocess_groups(&geometry), 46);
    assert_int_equal(preprocess_group(&geometry, 45).count, 320 - 45 * 7);
}

static void slices_end_to_end_are_the_batch(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct preprocess_geometry geometry = plan(i);
        for (geometry.ranks = 1; geometry.ranks <= 5; geometry.ranks++) {
            for (uint64_t batch = 0; batch < preprocess_batches(&geometry); batch++) {
                struct preprocess_range whole = preprocess_positions(&geometry, batch);
                uint64_t next = whole.first;
                for (uint32_t rank = 0; rank < geometry.ranks; rank++) {
                    struct preprocess_range slice = preprocess_slice(&geometry, batch, rank);
                    assert_int_equal(slice.first, next);
                    assert_in_range(slice.count, whole.count / geometry.ranks,
                                    (whole.count + geometry.ranks - 1) / geometry.ranks);
                    next += slice.count;
                }
                assert_int_equal(next, whole.first + whole.count);
            }
        }
    }
}

static void the_slices_in_a_position_are_counted(void **state)
{
    (void)state;
    struct preprocess_geometry geometry = preprocess_geometry_plan(33, 3, 4, 0, 2);
    struct weir_position position = {0};
    geometry.ranks = 3;
    uint64_t counted[3] = {0};
    for (uint64_t i = 0; i < preprocess_batches(&geometry); i++) { /* 27: 10, 20, 3, 13, 23, … */
        uint64_t batch = (10 * i + 10) % 27;
        assert_true(weir_position_consume(&position, batch));
        for (uint32_t rank = 0; rank < 3; rank++) {
            counted[rank] += preprocess_slice(&geometry, batch, rank).count;
            assert_int_equal(preprocess_slices_in(&geometry, rank, &position), counted[rank]);
        }
    }
    assert_int_equal(counted[0] + counted[1] + counted[2], 99);
    weir_position_fini(&position);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_follow_from_the_last_batch),
        cmocka_unit_test(groups_hold_every_batch_once_and_never_straddle_epochs),
        cmocka_unit_test(batches_hold_every_position_once),
        cmocka_unit_test(slices_end_to_end_are_the_batch),
        cmocka_unit_test(the_slices_in_a_position_are_counted),
        cmocka_unit_test(a_group_is_a_sixteenth_of_an_epoch_within_limits),
    };
    return cmocka_run_group_tests_name("geometry", tests, NULL, NULL);
}
