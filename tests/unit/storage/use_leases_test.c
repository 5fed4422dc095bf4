/* The rules at the top of storage/reading/use_leases.h, one by one. */
#include "storage/reading/use_leases.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum { START = 1000, SIGHTED = START + STORAGE_LEASE_KEPT_MAX_MS };

static const uint64_t IDS[] = {11, 12, 13, 14};

static struct use_grant hold(struct use_leases *leases, uint64_t session, uint64_t epoch,
                             int64_t now_ms)
{
    const struct use_request asked = {.session = session, .epoch = epoch};
    struct use_grant grant;
    struct weir_error err;

    assert_int_equal(storage_leases_hold(leases, &asked, now_ms, &grant, &err), WEIR_OK);
    return grant;
}

static void hold_end(struct use_leases *leases, uint64_t session)
{
    const struct use_request asked = {.session = session};

    assert_int_equal(storage_leases_hold_end(leases, &asked, NULL), WEIR_OK);
}

static enum weir_status hold_as(struct use_leases *leases, enum use_kind kind, uint64_t session,
                                int64_t now_ms, struct weir_error *err)
{
    const struct use_request asked = {.session = session, .kind = kind};
    struct use_grant grant;

    return storage_leases_hold(leases, &asked, now_ms, &grant, err);
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
    hold_end(leases, 7);
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
    hold_end(leases, 7);
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
    size_t slots[4];
    struct use_grant quiet;

    (void)state;
    (void)hold(leases, 7, 0, SIGHTED);
    quiet = hold(leases, 8, 0, SIGHTED);
    (void)storage_leases_add(leases, IDS, 4);
    (void)hold(leases, 7, 1, SIGHTED);
    assert_int_equal(storage_leases_hint(leases, SIGHTED + 1, slots, 4), 1);
    assert_int_equal(slots[0], quiet.slot);
    (void)storage_leases_add(leases, IDS, 4);
    assert_int_equal(storage_leases_hint(leases, SIGHTED + STORAGE_LEASE_KEPT_MS, slots, 4), 0);
}

static void holders_are_hinted_a_few_at_a_time_and_each_once_per_epoch(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);
    bool is_hinted[10] = {false};
    size_t slots[4], count;

    (void)state;
    for (uint64_t session = 1; session <= 10; session++)
        (void)hold(leases, session, 0, SIGHTED);
    (void)storage_leases_add(leases, IDS, 1);
    assert_int_equal(storage_leases_hint(leases, SIGHTED, slots, 4), 4);
    (void)storage_leases_add(leases, IDS + 1, 1); /* all are behind this one */
    for (size_t hinted = 0; hinted < 10; hinted += count) {
        count = storage_leases_hint(leases, SIGHTED, slots, 4);
        for (size_t i = 0; i < count; i++) {
            assert_false(is_hinted[slots[i]]);
            is_hinted[slots[i]] = true;
        }
        assert_true(count > 0);
    }
    assert_int_equal(storage_leases_hint(leases, SIGHTED, slots, 4), 0);
}

static void the_last_answer_that_an_epoch_waits_for_is_told_apart(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);

    (void)state;
    (void)hold(leases, 7, 0, SIGHTED);
    (void)hold(leases, 8, 0, SIGHTED);
    assert_false(hold(leases, 7, 0, SIGHTED + 1).is_awaited);
    (void)storage_leases_add(leases, IDS, 1);
    assert_false(hold(leases, 7, 0, SIGHTED + 2).is_awaited);
    assert_false(hold(leases, 7, 1, SIGHTED + 3).is_awaited);
    assert_true(hold(leases, 8, 1, SIGHTED + 4).is_awaited);
    assert_false(hold(leases, 8, 1, SIGHTED + 5).is_awaited);
}

static void few_holders_ask_twice_a_second(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);

    (void)state;
    for (int64_t now_ms = START; now_ms < START + 10000; now_ms += 10)
        assert_int_equal(hold(leases, (uint64_t)(now_ms % 500) + 1, 0, now_ms).pause_ms,
                         STORAGE_HOLD_MS);
}

/* All begin in the same millisecond. Returns requests a second, over the last seven of ten. */
static size_t requests_a_second(size_t holders, int64_t *ret_longest_ms)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);
    int64_t *due_ms = calloc(holders, sizeof(*due_ms));
    size_t requests = 0;

    *ret_longest_ms = 0;
    for (int64_t now_ms = START; now_ms < START + 10000; now_ms++) {
        for (size_t i = 0; i < holders; i++) {
            if (due_ms[i] > now_ms)
                continue;
            due_ms[i] = now_ms + hold(leases, i + 1, 0, now_ms).pause_ms;
            if (due_ms[i] - now_ms > *ret_longest_ms)
                *ret_longest_ms = due_ms[i] - now_ms;
            requests += now_ms >= START + 3000;
        }
    }
    free(due_ms);
    return requests / 7;
}

static void thousands_ask_less_often_but_within_their_leases(void **state)
{
    int64_t longest_ms;

    (void)state;
    assert_in_range(requests_a_second(2500, &longest_ms), 4900, 5100);
    assert_in_range(requests_a_second(10000, &longest_ms), 6000, 7000);
    assert_in_range(requests_a_second(16384, &longest_ms), 10000, 11300);
    assert_true(longest_ms <= STORAGE_HOLD_MAX_MS);
}

static void a_lease_lasts_until_an_answer_can_renew_it(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);

    (void)state;
    for (uint64_t session = 1; session <= 16384; session++) {
        struct use_grant grant = hold(leases, session, 0, SIGHTED);

        assert_in_range(grant.lease_ms, STORAGE_LEASE_MS, STORAGE_LEASE_MAX_MS);
        assert_true(grant.pause_ms + STORAGE_ANSWER_MS <= grant.lease_ms);
    }
    (void)storage_leases_add(leases, IDS, 4);
    assert_int_equal(storage_leases_force(leases, 1, SIGHTED).expected_ms,
                     SIGHTED + STORAGE_LEASE_KEPT_MAX_MS);
}

static void too_many_running_leases_are_refused_and_room_comes_back(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);
    const struct use_request another = {.session = UINT64_MAX};
    struct use_grant grant;
    struct weir_error err;

    (void)state;
    for (uint64_t session = 1; session <= STORAGE_HOLDERS_MAX; session++)
        assert_true(hold(leases, session, 0, SIGHTED).slot < STORAGE_HOLDERS_MAX);
    assert_int_equal(storage_leases_hold(leases, &another, SIGHTED + 1, &grant, &err), WEIR_LIMIT);
    assert_string_equal(err.text, "32768 use leases are running, as many as there can be: expected "
                                  "that one ends before another begins");
    (void)hold(leases, 1, 0, SIGHTED + 1); /* who is known may renew */
    hold_end(leases, 5);
    assert_int_equal(storage_leases_hold(leases, &another, SIGHTED + 1, &grant, &err), WEIR_OK);
    assert_true(grant.slot < STORAGE_HOLDERS_MAX);
    assert_int_equal(hold(leases, 6789, 0, SIGHTED + STORAGE_LEASE_KEPT_MAX_MS).epoch, 0);
}

static void room_comes_back_while_an_epoch_is_not_in_force(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);

    (void)state;
    for (uint64_t session = 1; session <= STORAGE_HOLDERS_MAX; session++)
        (void)hold(leases, session, 0, SIGHTED);
    (void)storage_leases_add(leases, IDS, 4);
    for (uint64_t session = 1; session <= STORAGE_HOLDERS_MAX; session++)
        (void)hold(leases, UINT64_MAX - session, 0, SIGHTED + STORAGE_LEASE_KEPT_MAX_MS);
    assert_false(storage_leases_force(leases, 1, SIGHTED + STORAGE_LEASE_KEPT_MAX_MS).in_force);
    assert_true(storage_leases_force(leases, 1, SIGHTED + 2 * STORAGE_LEASE_KEPT_MAX_MS).in_force);
}

static enum weir_status hold_under(struct use_leases *leases, enum use_kind kind, const char *key,
                                   uint64_t session, struct weir_error *err)
{
    const struct use_request asked = {.session = session, .kind = kind, .key = key};
    struct use_grant grant;

    return storage_leases_hold(leases, &asked, SIGHTED, &grant, err);
}

/* `most` of a kind hold, each under a key of its own, none of whom may be another one's place. */
static void assert_bounded(enum use_kind kind, size_t most, const char *words)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);
    struct weir_error err;

    for (uint64_t session = 1; session <= most; session++) {
        char key[32];

        (void)snprintf(key, sizeof(key), "key-%lu", session);
        assert_int_equal(hold_under(leases, kind, key, session, &err), WEIR_OK);
    }
    assert_int_equal(hold_as(leases, kind, UINT64_MAX, SIGHTED + 1, &err), WEIR_LIMIT);
    assert_string_equal(err.text, words);
    for (int other = 0; other < USE_KINDS; other++)
        if (other != (int)kind)
            assert_int_equal(hold_as(leases, (enum use_kind)other, UINT64_MAX - 1 - (uint64_t)other,
                                     SIGHTED + 1, &err),
                             WEIR_OK);
    assert_int_equal(hold_under(leases, kind, "key-1", 1, &err), WEIR_OK); /* a renewal */
    assert_int_equal(hold_as(leases, kind, UINT64_MAX, SIGHTED + STORAGE_LEASE_KEPT_MAX_MS, &err),
                     WEIR_OK);
}

static void trainers_leave_room_for_others(void **state)
{
    (void)state;
    assert_bounded(USE_OF_TRAINER, STORAGE_TRAINERS_MAX,
                   "8192 use leases of trainers are running, as many as there can be: expected "
                   "that one ends before another begins");
}

static void workers_elsewhere_leave_room_for_others(void **state)
{
    (void)state;
    assert_bounded(USE_OF_WORKER_ELSEWHERE, STORAGE_ELSEWHERE_MAX,
                   "16384 use leases of workers elsewhere are running, as many as there can be: "
                   "expected that one ends before another begins");
}

/* Takes as many as it is given. Returns their number. */
static size_t take_all(struct use_leases *leases, enum use_kind kind, const char *key,
                       uint64_t session, struct weir_error *err)
{
    size_t count = 0;

    while (hold_under(leases, kind, key, session + count, err) == WEIR_OK)
        count++;
    assert_int_equal(err->status, WEIR_LIMIT);
    return count;
}

static void a_key_of_trainers_leaves_as_many_as_it_has(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);
    struct weir_error err;

    (void)state;
    assert_int_equal(take_all(leases, USE_OF_TRAINER, "mallory", 1, &err),
                     STORAGE_TRAINERS_MAX / 2);
    assert_string_equal(err.text, "4096 use leases of trainers are running under key 'mallory', as "
                                  "many as there can be while 4096 are left for everybody: "
                                  "expected that one ends before another begins");
    assert_int_equal(take_all(leases, USE_OF_TRAINER, "rosa", 100000, &err),
                     STORAGE_TRAINERS_MAX / 4);
    assert_int_equal(take_all(leases, USE_OF_TRAINER, "", 200000, &err), STORAGE_TRAINERS_MAX / 8);
    assert_string_equal(err.text, "1024 use leases of trainers are running on this host, as many "
                                  "as there can be while 1024 are left for everybody: expected "
                                  "that one ends before another begins");
    assert_int_equal(hold_under(leases, USE_OF_TRAINER, "mallory", 1, &err), WEIR_OK);
}

static void a_key_of_workers_leaves_half_of_what_it_has(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);
    struct weir_error err;

    (void)state;
    assert_in_range(take_all(leases, USE_OF_WORKER_ELSEWHERE, "slurm-1", 1, &err), 10000,
                    STORAGE_ELSEWHERE_MAX - 5000);
    assert_int_equal(hold_under(leases, USE_OF_WORKER_ELSEWHERE, "rosa", UINT64_MAX, &err),
                     WEIR_OK);
}

static void what_a_key_has_given_back_it_may_take_again(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);
    const struct use_request ended = {.session = 7, .kind = USE_OF_TRAINER, .key = "mallory"};
    struct use_request again = {.session = 1, .kind = USE_OF_TRAINER, .key = "mallory"};
    struct use_grant grant;
    struct weir_error err;

    (void)state;
    (void)take_all(leases, USE_OF_TRAINER, "mallory", 1, &err);
    assert_int_equal(storage_leases_hold_end(leases, &ended, &err), WEIR_OK);
    assert_int_equal(take_all(leases, USE_OF_TRAINER, "mallory", 100000, &err), 1);
    for (uint64_t i = 0; i < STORAGE_TRAINERS_MAX / 2; i++) {
        again.session = 200000 + i; /* all of before are over */
        assert_int_equal(
            storage_leases_hold(leases, &again, SIGHTED + STORAGE_LEASE_KEPT_MAX_MS, &grant, &err),
            WEIR_OK);
    }
}

static void a_session_is_of_the_key_that_took_it(void **state)
{
    WEIR_AUTO(use_leases) leases = storage_leases_new(START);
    struct use_request thief = {.session = 7, .epoch = 1, .kind = USE_OF_TRAINER, .key = "mallory"};
    struct use_grant grant;
    struct weir_error err;

    (void)state;
    assert_int_equal(hold_under(leases, USE_OF_TRAINER, "rosa", 7, &err), WEIR_OK);
    (void)storage_leases_add(leases, IDS, 4);
    assert_int_equal(storage_leases_hold(leases, &thief, SIGHTED, &grant, &err), WEIR_DENIED);
    assert_string_equal(err.text, "session 7 holds samples under another key: expected a session "
                                  "of its own");
    assert_int_equal(storage_leases_hold_end(leases, &thief, &err), WEIR_DENIED);
    thief.key = "rosa";
    thief.kind = USE_OF_WORKER_ELSEWHERE;
    assert_int_equal(storage_leases_hold_end(leases, &thief, &err), WEIR_DENIED);
    assert_false(storage_leases_force(leases, 1, SIGHTED + 1).in_force);
    assert_int_equal(hold_under(leases, USE_OF_TRAINER, "rosa", 7, &err), WEIR_OK);
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
        cmocka_unit_test(holders_are_hinted_a_few_at_a_time_and_each_once_per_epoch),
        cmocka_unit_test(the_last_answer_that_an_epoch_waits_for_is_told_apart),
        cmocka_unit_test(few_holders_ask_twice_a_second),
        cmocka_unit_test(thousands_ask_less_often_but_within_their_leases),
        cmocka_unit_test(a_lease_lasts_until_an_answer_can_renew_it),
        cmocka_unit_test(too_many_running_leases_are_refused_and_room_comes_back),
        cmocka_unit_test(room_comes_back_while_an_epoch_is_not_in_force),
        cmocka_unit_test(trainers_leave_room_for_others),
        cmocka_unit_test(workers_elsewhere_leave_room_for_others),
        cmocka_unit_test(a_key_of_trainers_leaves_as_many_as_it_has),
        cmocka_unit_test(a_key_of_workers_leaves_half_of_what_it_has),
        cmocka_unit_test(what_a_key_has_given_back_it_may_take_again),
        cmocka_unit_test(a_session_is_of_the_key_that_took_it),
    };
    return cmocka_run_group_tests_name("storage: erasure rules", tests, NULL, NULL);
}
