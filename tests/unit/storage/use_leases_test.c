/* The rules at the top of storage/reading/use_leases.h, one by one. */
#include "storage/reading/use_leases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { START = 1000, SIGHTED = START + STORAGE_LEASE_KEPT_MS };

static const uint64_t IDS[] = {11, 12, 13, 14};

static struct use_grant hold(struct use_leases *leases, uint64_t session, uint64_t epoch,
                             int64_t now_ms)
{
    struct use_grant grant;

    assert_true(storage_leases_hold(leases, session, epoch, now_ms, &grant));
    return grant;
}

static void a_holder_learns_what_it_does_not_know(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);
    struct use_grant grant;

    (void)state;
    assert_int_equal(storage_leases_add(leases, IDS, 1), 1);
    assert_int_equal(storage_leases_add(leases, IDS + 1, 3), 2);
    grant = hold(leases, 7, 0, START);
    assert_int_equal(grant.epoch, 2);
    assert_int_equal(grant.erased_count, 4);
    assert_int_equal(grant.erased[3], 14);
    assert_int_equal(grant.lease_ms, STORAGE_LEASE_MS);
    grant = hold(leases, 7, 1, START + 1);
    assert_int_equal(grant.erased_count, 3);
    assert_int_equal(grant.erased[0], 12);
    grant = hold(leases, 7, 2, START + 2);
    assert_int_equal(grant.erased_count, 0);
}

static void more_than_an_answer_holds_comes_in_pieces_that_end_with_an_epoch(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);
    uint64_t *many = calloc(STORAGE_ERASED_MAX, sizeof(*many));
    struct use_grant grant;

    (void)state;
    (void)storage_leases_add(leases, IDS, 2);
    (void)storage_leases_add(leases, many, STORAGE_ERASED_MAX);
    grant = hold(leases, 7, 0, START);
    assert_int_equal(grant.epoch, 1);
    assert_int_equal(grant.erased_count, 2);
    grant = hold(leases, 7, 1, START);
    assert_int_equal(grant.epoch, 2);
    assert_int_equal(grant.erased_count, STORAGE_ERASED_MAX);
    free(many);
}

static void in_force_waits_for_every_running_lease(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);
    struct epoch_force force;

    (void)state;
    (void)hold(leases, 7, 0, SIGHTED);
    (void)hold(leases, 8, 0, SIGHTED);
    (void)storage_leases_add(leases, IDS, 4);
    force = storage_leases_force(leases, 1, SIGHTED);
    assert_false(force.in_force);
    assert_int_equal(force.expected_ms, SIGHTED + STORAGE_LEASE_KEPT_MS);
    (void)hold(leases, 7, 1, SIGHTED + 100);
    assert_false(storage_leases_force(leases, 1, SIGHTED + STORAGE_LEASE_KEPT_MS - 1).in_force);
    force = storage_leases_force(leases, 1, SIGHTED + STORAGE_LEASE_KEPT_MS);
    assert_true(force.in_force);
    assert_int_equal(force.answered, 1);
    assert_int_equal(force.expired, 1);
}

static void naming_an_epoch_that_does_not_exist_yet_answers_nothing(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);

    (void)state;
    (void)hold(leases, 7, UINT64_MAX, SIGHTED);
    (void)storage_leases_add(leases, IDS, 4);
    assert_false(storage_leases_force(leases, 1, SIGHTED + 1).in_force);
    assert_false(storage_leases_force(leases, 2, SIGHTED + 99999).in_force);
}

static void a_late_old_question_does_not_take_an_answer_back(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);

    (void)state;
    (void)hold(leases, 7, 0, SIGHTED);
    (void)storage_leases_add(leases, IDS, 4);
    (void)hold(leases, 7, 1, SIGHTED + 1);
    (void)hold(leases, 7, 0, SIGHTED + 2); /* overtaken by the one above */
    assert_true(storage_leases_force(leases, 1, SIGHTED + 3).in_force);
}

static void after_a_restart_all_leases_count_as_running(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);
    struct epoch_force force;

    (void)state;
    (void)storage_leases_add(leases, IDS, 4);
    (void)hold(leases, 7, 1, START);
    force = storage_leases_force(leases, 1, START + 1);
    assert_false(force.in_force);
    assert_int_equal(force.expected_ms, SIGHTED);
    assert_true(storage_leases_force(leases, 1, SIGHTED).in_force);
}

static void a_store_without_samples_waits_for_nobody_from_before(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);

    (void)state;
    storage_leases_none_before(leases);
    (void)hold(leases, 7, 0, START);
    (void)storage_leases_add(leases, IDS, 4);
    assert_false(storage_leases_force(leases, 1, START + 1).in_force);
    (void)hold(leases, 7, 1, START + 2);
    assert_true(storage_leases_force(leases, 1, START + 3).in_force);
}

static void a_holder_that_ended_holds_nothing(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);
    struct epoch_force force;

    (void)state;
    (void)hold(leases, 7, 0, SIGHTED);
    (void)storage_leases_add(leases, IDS, 4);
    storage_leases_hold_end(leases, 7, SIGHTED + 1);
    force = storage_leases_force(leases, 1, SIGHTED + 2);
    assert_true(force.in_force);
    assert_int_equal(force.answered, 1);
}

static void a_question_behind_the_end_counts_as_a_silent_holder(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);

    (void)state;
    (void)hold(leases, 7, 0, SIGHTED);
    (void)storage_leases_add(leases, IDS, 4);
    storage_leases_hold_end(leases, 7, SIGHTED + 1);
    (void)hold(leases, 7, 0, SIGHTED + 2);
    assert_false(storage_leases_force(leases, 1, SIGHTED + 3).in_force);
}

static void in_force_stays_in_force_whoever_comes_later(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);

    (void)state;
    (void)storage_leases_add(leases, IDS, 4);
    assert_true(storage_leases_force(leases, 1, SIGHTED).in_force);
    (void)hold(leases, 9, 0, SIGHTED + 1);
    assert_true(storage_leases_force(leases, 1, SIGHTED + 2).in_force);
}

static void only_silent_holders_are_hinted(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);
    size_t slots[STORAGE_HOLDERS_MAX];
    struct use_grant quiet;

    (void)state;
    (void)hold(leases, 7, 0, SIGHTED);
    quiet = hold(leases, 8, 0, SIGHTED);
    (void)storage_leases_add(leases, IDS, 4);
    (void)hold(leases, 7, 1, SIGHTED);
    assert_int_equal(storage_leases_silent(leases, SIGHTED + 1, slots), 1);
    assert_int_equal(slots[0], quiet.slot);
    assert_int_equal(storage_leases_silent(leases, SIGHTED + STORAGE_LEASE_KEPT_MS, slots), 0);
}

static void too_many_running_leases_are_refused_and_room_comes_back(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);
    struct use_grant grant;

    (void)state;
    for (uint64_t session = 1; session <= STORAGE_HOLDERS_MAX; session++)
        (void)hold(leases, session, 0, SIGHTED);
    assert_false(storage_leases_hold(leases, 9999, 0, SIGHTED + 1, &grant));
    assert_true(storage_leases_hold(leases, 9999, 0, SIGHTED + STORAGE_LEASE_KEPT_MS, &grant));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_holder_learns_what_it_does_not_know),
        cmocka_unit_test(more_than_an_answer_holds_comes_in_pieces_that_end_with_an_epoch),
        cmocka_unit_test(in_force_waits_for_every_running_lease),
        cmocka_unit_test(naming_an_epoch_that_does_not_exist_yet_answers_nothing),
        cmocka_unit_test(a_late_old_question_does_not_take_an_answer_back),
        cmocka_unit_test(after_a_restart_all_leases_count_as_running),
        cmocka_unit_test(a_store_without_samples_waits_for_nobody_from_before),
        cmocka_unit_test(a_holder_that_ended_holds_nothing),
        cmocka_unit_test(a_question_behind_the_end_counts_as_a_silent_holder),
        cmocka_unit_test(in_force_stays_in_force_whoever_comes_later),
        cmocka_unit_test(only_silent_holders_are_hinted),
        cmocka_unit_test(too_many_running_leases_are_refused_and_room_comes_back),
    };
    return cmocka_run_group_tests_name("storage: erasure rules", tests, NULL, NULL);
}
