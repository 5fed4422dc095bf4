/* Ranks and delivery modes of preprocess/dispatcher/job.h (rules 1 to 3, 6, 7): who gets a place,
 * where an attempt begins, when a step is committed. The simulation drives them together. */
#include "tests/support/lease_job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* 24 samples, 4 a batch, 1 batch a group: 6 batches of one epoch. */
enum { JOB = 4, BATCHES = 6, A = 101, B = 102, C = 103, D = 104 };

struct fixture {
    struct dispatcher_fences fences;
    struct dispatcher_job job;
    uint64_t beat_number;
    struct weir_error err;
};

static void begin(struct fixture *fixture, uint32_t ranks, enum weir_delivery delivery)
{
    memset(fixture, 0, sizeof(*fixture));
    struct dispatcher_about about = {
        .job = JOB,
        .geometry = preprocess_geometry_plan(24, 1, 4, PREPROCESS_LAST_SHORT, 1),
        .delivery = delivery,
    };
    about.geometry.ranks = ranks;
    preprocess_job_init(&fixture->job, &about, &fixture->fences);
    struct dispatcher_record empty = {0};
    preprocess_job_restore(&fixture->job, &empty, true);
}

static void end(struct fixture *fixture)
{
    preprocess_job_fini(&fixture->job);
}

/* A state that contains the first `batches` batches; a rank of R has 4 / R samples in each. */
static struct weir_position state(const struct fixture *fixture, uint64_t batches)
{
    return (struct weir_position){
        .oldest = batches,
        .tally.delivered = batches * 4 / fixture->job.about.geometry.ranks,
    };
}

/* Answer to the newest claim of a consumer. */
struct consumer {
    uint64_t session;
    uint32_t rank;
    struct dispatcher_opened heard;
};

static struct dispatcher_opened claim(struct fixture *fixture, struct consumer *consumer,
                                      uint64_t batches)
{
    struct weir_position named = state(fixture, batches);
    struct dispatcher_claim claim = {
        .session = consumer->session,
        .rank = consumer->rank,
        .ranks = fixture->job.about.geometry.ranks,
        .after = consumer->heard.newest,
        .joined = consumer->heard.joined,
        .state = &named,
    };
    bool had_place = consumer->heard.joined;
    assert_int_equal(
        preprocess_job_client_open(&fixture->job, &claim, &consumer->heard, &fixture->err),
        WEIR_OK);
    struct dispatcher_opened answer = consumer->heard;
    consumer->heard.joined |= had_place;
    return answer;
}

/* Asks until no newer seats_taken comes back. */
static struct dispatcher_opened come(struct fixture *fixture, struct consumer *consumer,
                                     uint64_t batches)
{
    uint64_t before;
    struct dispatcher_opened answer;
    do {
        before = consumer->heard.newest;
        answer = claim(fixture, consumer, batches);
    } while (answer.attempt == 0 && answer.newest != before && !answer.joined);
    return answer;
}

static struct msg_client_orders beat_with(struct fixture *fixture, const struct consumer *consumer,
                                          uint64_t oldest, uint64_t handed)
{
    struct msg_client_orders orders = {0};
    struct weir_bits bits = {0};
    WEIR_AUTO_BUF tally = {0};
    WEIR_AUTO_BUF packed = {0};
    for (uint64_t i = oldest; i < handed; i++)
        weir_bits_set(&bits, i - oldest);
    weir_bits_pack(&bits, &packed);
    struct weir_position consumed = state(fixture, oldest);
    weir_tally_pack(&consumed.tally, &tally);
    struct msg_client_beat beat = {
        .job = JOB,
        .attempt = consumer->heard.attempt,
        .session = consumer->session,
        .rank = consumer->rank,
        .number = ++fixture->beat_number,
        .oldest = oldest,
        .handed = weir_buf_view(&packed),
        .tally = weir_buf_view(&tally),
    };
    assert_int_equal(preprocess_job_client_beat(&fixture->job, &beat, 1, &orders, &fixture->err),
                     WEIR_OK);
    weir_bits_fini(&bits);
    return orders;
}

static struct msg_client_orders beat(struct fixture *fixture, const struct consumer *consumer,
                                     uint64_t oldest)
{
    return beat_with(fixture, consumer, oldest, oldest);
}

static struct msg_client_committed commit(struct fixture *fixture, const struct consumer *consumer,
                                          uint64_t batches, bool final)
{
    struct msg_client_committed answer = {0};
    struct weir_position position = state(fixture, batches);
    WEIR_AUTO_BUF packed = {0};
    weir_position_pack(&position, &packed);
    struct msg_client_commit message = {
        .job = JOB,
        .attempt = consumer->heard.attempt,
        .session = consumer->session,
        .rank = consumer->rank,
        .position = weir_buf_view(&packed),
        .final = final,
    };
    assert_int_equal(preprocess_job_client_commit(&fixture->job, &message, &answer, &fixture->err),
                     WEIR_OK);
    return answer;
}

/* A batch that the job does not have was neither received nor handed out. */
static void a_beat_that_speaks_of_batches_beyond_the_last_is_refused(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct consumer first = {A, 0, {0}};
    begin(&fixture, 1, WEIR_AT_MOST_ONCE);
    (void)come(&fixture, &first, 0);
    uint64_t batches = preprocess_batches(&fixture.job.about.geometry);
    struct weir_bits bits = {0};
    WEIR_AUTO_BUF packed = {0};
    weir_bits_set(&bits, batches);
    weir_bits_pack(&bits, &packed);
    const struct weir_bytes beyond = weir_buf_view(&packed);
    static const uint8_t ZEROS[WEIR_AHEAD_MAX / 8 + 1]; /* bits of none, but many of them */
    const struct weir_bytes zeros = weir_bytes(ZEROS, sizeof(ZEROS));
    const struct msg_client_beat BEATS[] = {
        {.handed = zeros},
        {.received = zeros},
        {.consumed = zeros},
        {.handed = beyond},
        {.received = beyond},
        {.consumed = beyond},
        {.oldest = batches + 1},
        {.announced = batches,
         .announced_samples = {&batches, 1},
         .announced_weights = {&batches, 1},
         .announced_longest = {&batches, 1}},
        {.announced_samples = {&batches, 1}},
    };
    for (size_t i = 0; i < WEIR_COUNT(BEATS); i++) {
        struct msg_client_orders orders;
        struct msg_client_beat beat = BEATS[i];
        beat.job = JOB;
        beat.attempt = first.heard.attempt;
        beat.session = first.session;
        beat.number = ++fixture.beat_number;
        assert_int_equal(preprocess_job_client_beat(&fixture.job, &beat, 1, &orders, &fixture.err),
                         WEIR_INVALID);
    }
    (void)beat_with(&fixture, &first, 0, batches); /* all of them, to the last */
    weir_bits_fini(&bits);
    end(&fixture);
}

/* ---- places ---- */

static void an_attempt_begins_once_every_rank_has_come(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct dispatcher_lease leases[DISPATCHER_LEASES_MAX];
    struct dispatcher_visit visit = {.worker = 0, .session = 1};
    struct consumer first = {A, 0, {0}}, second = {B, 1, {0}};
    begin(&fixture, 2, WEIR_EXACTLY_ONCE);
    struct dispatcher_opened answer = come(&fixture, &first, 0);
    assert_int_equal(answer.attempt, 0);
    assert_true(answer.joined);
    assert_true(fixture.job.unsaved);
    lease_job(&fixture.job, &visit, 4, 0);
    assert_int_equal(preprocess_job_leases(&fixture.job, 0, 1, leases), 0);
    assert_int_equal(come(&fixture, &second, 0).attempt, 1);
    assert_int_equal(claim(&fixture, &first, 0).attempt, 1);
    lease_job(&fixture.job, &visit, 4, 0);
    assert_int_equal(preprocess_job_leases(&fixture.job, 0, 1, leases), 4);
    for (size_t i = 0; i < 4; i++) { /* both ranks at the same pace */
        assert_int_equal(leases[i].rank, i / 2);
        assert_int_equal(leases[i].group, i % 2);
    }
    end(&fixture);
}

static void a_rank_that_does_not_exist_is_refused(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct dispatcher_opened opened;
    begin(&fixture, 2, WEIR_EXACTLY_ONCE);
    const struct dispatcher_claim CLAIMS[] = {{.session = A, .rank = 2, .ranks = 2},
                                              {.session = A, .rank = 0, .ranks = 3},
                                              {.session = A, .rank = 0, .ranks = 0}};
    for (size_t i = 0; i < 3; i++)
        assert_int_equal(
            preprocess_job_client_open(&fixture.job, &CLAIMS[i], &opened, &fixture.err),
            WEIR_INVALID);
    assert_string_equal(fixture.err.text, "job 4 has 2 ranks, from 0: found rank 0 of 1");
    end(&fixture);
}

static void a_consumer_without_a_session_takes_no_place(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct dispatcher_opened opened;
    begin(&fixture, 1, WEIR_EXACTLY_ONCE);
    const struct dispatcher_claim claim = {.ranks = 1};
    assert_int_equal(preprocess_job_client_open(&fixture.job, &claim, &opened, &fixture.err),
                     WEIR_INVALID);
    assert_int_equal(fixture.job.record.seats_taken, 0);
    assert_false(fixture.job.unsaved);
    end(&fixture);
}

static void a_rank_that_returns_makes_the_others_regroup(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct consumer lived = {A, 0, {0}}, died = {B, 1, {0}}, back = {C, 1, {0}};
    begin(&fixture, 2, WEIR_EXACTLY_ONCE);
    (void)come(&fixture, &lived, 0);
    (void)come(&fixture, &died, 0);
    (void)claim(&fixture, &lived, 0);
    (void)beat(&fixture, &lived, 4);
    assert_int_equal(come(&fixture, &back, 2).attempt, 0);
    struct msg_client_orders orders = beat(&fixture, &lived, 5);
    assert_true(orders.regroup);
    assert_false(orders.superseded);
    assert_true(beat(&fixture, &died, 3).superseded);
    struct dispatcher_lease leases[DISPATCHER_LEASES_MAX];
    struct dispatcher_visit visit = {.worker = 0, .session = 1};
    lease_job(&fixture.job, &visit, 4, 2);
    assert_int_equal(preprocess_job_leases(&fixture.job, 0, 1, leases), 0);
    /* It loads the state that the other has, under a new session. */
    struct consumer again = {D, 0, {0}};
    assert_int_equal(come(&fixture, &again, 2).attempt, 2);
    assert_int_equal(fixture.job.record.replayed, 4); /* 8 samples were reported, 4 are kept */
    end(&fixture);
}

static void states_of_different_steps_meet_at_the_older_one(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct consumer first = {A, 0, {0}}, second = {B, 1, {0}}, third = {C, 2, {0}};
    begin(&fixture, 3, WEIR_EXACTLY_ONCE);
    (void)come(&fixture, &first, 3);
    struct dispatcher_opened answer = come(&fixture, &second, 5); /* the others lack step 5 */
    assert_true(answer.reload);
    assert_int_equal(answer.batches, 3);
    assert_true(come(&fixture, &second, 3).joined);
    assert_true(come(&fixture, &third, 1).joined);
    answer = come(&fixture, &first, 3); /* and now they lack step 3 */
    assert_true(answer.reload);
    assert_int_equal(answer.batches, 1);
    struct consumer first_again = {D, 0, {0}}, second_again = {D + 1, 1, {0}};
    assert_int_equal(come(&fixture, &first_again, 1).attempt, 0);
    assert_int_equal(come(&fixture, &second_again, 1).attempt, 1);
    assert_int_equal(fixture.job.record.seats[0].begun.oldest, 1);
    end(&fixture);
}

static void of_two_processes_with_one_rank_the_later_stays(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct consumer other = {A, 0, {0}}, early = {B, 1, {0}}, late = {C, 1, {0}};
    begin(&fixture, 2, WEIR_EXACTLY_ONCE);
    assert_true(come(&fixture, &early, 0).joined);
    assert_true(come(&fixture, &late, 0).joined);
    assert_true(claim(&fixture, &early, 0).superseded);
    early.heard.newest =
        fixture.job.record.seats_taken; /* even if it knows the newest seats_taken */
    assert_true(claim(&fixture, &early, 0).superseded);
    assert_int_equal(come(&fixture, &other, 0).attempt, 2);
    assert_int_equal(claim(&fixture, &late, 0).attempt, 2);
    end(&fixture);
}

static void a_request_that_a_dead_process_left_takes_no_place(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct consumer dead = {A, 0, {0}}, living = {B, 0, {0}};
    begin(&fixture, 2, WEIR_EXACTLY_ONCE);
    struct consumer left_behind = dead; /* a copy of its request, still under way */
    (void)come(&fixture, &dead, 0);
    (void)come(&fixture, &living, 0);
    assert_false(claim(&fixture, &left_behind, 0).joined);
    assert_true(claim(&fixture, &living, 0).joined);
    end(&fixture);
}

/* ---- commits ---- */

static void a_step_is_committed_when_all_ranks_have(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct consumer first = {A, 0, {0}}, second = {B, 1, {0}};
    begin(&fixture, 2, WEIR_EXACTLY_ONCE);
    (void)come(&fixture, &first, 0);
    (void)come(&fixture, &second, 0);
    (void)claim(&fixture, &first, 0);
    assert_int_equal(commit(&fixture, &first, 2, false).batches, 0);
    assert_int_equal(commit(&fixture, &second, 2, false).batches, 2);
    assert_int_equal(commit(&fixture, &second, 4, false).batches, 2);
    assert_int_equal(commit(&fixture, &first, 3, false).batches, 2); /* not the same step */
    assert_int_equal(commit(&fixture, &first, 4, false).batches, 4);
    assert_false(commit(&fixture, &first, BATCHES, true).final);
    assert_int_equal(preprocess_job_audit(&fixture.job, 0).tally.delivered, 16);
    assert_false(commit(&fixture, &second, BATCHES, false).final); /* it may not be the last */
    assert_true(commit(&fixture, &second, BATCHES, true).final);
    struct dispatcher_audit audit = preprocess_job_audit(&fixture.job, 0);
    assert_int_equal(audit.tally.delivered, 24);
    assert_true(audit.kept);
    end(&fixture);
}

static void who_returns_to_a_finished_job_only_has_to_say_so(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct consumer first = {A, 0, {0}}, second = {B, 1, {0}}, back = {C, 1, {0}};
    begin(&fixture, 2, WEIR_EXACTLY_ONCE);
    (void)come(&fixture, &first, 0);
    (void)come(&fixture, &second, 0);
    (void)claim(&fixture, &first, 0);
    (void)commit(&fixture, &first, BATCHES, true);
    (void)commit(&fixture, &second, BATCHES, true);
    struct dispatcher_opened answer = come(&fixture, &back, BATCHES);
    assert_int_equal(answer.attempt, 1); /* nobody has to begin again */
    assert_int_equal(answer.begun->oldest, BATCHES);
    assert_true(commit(&fixture, &back, BATCHES, true).final);
    end(&fixture);
}

/* ---- modes ---- */

static void at_least_once_counts_what_is_delivered_again(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct consumer first = {A, 0, {0}};
    struct dispatcher_opened opened;
    begin(&fixture, 1, WEIR_AT_LEAST_ONCE);
    (void)come(&fixture, &first, 0);
    (void)commit(&fixture, &first, 2, false);
    (void)beat(&fixture, &first, 5);
    /* It names no state: what it had not committed comes again. */
    struct dispatcher_claim nothing = {.session = B, .after = 1};
    assert_int_equal(preprocess_job_client_open(&fixture.job, &nothing, &opened, &fixture.err),
                     WEIR_OK);
    assert_int_equal(opened.attempt, 2);
    assert_int_equal(opened.begun->oldest, 2);
    struct consumer second = {B, 0, opened};
    (void)commit(&fixture, &second, BATCHES, true);
    struct dispatcher_audit audit = preprocess_job_audit(&fixture.job, 0);
    assert_int_equal(audit.duplicated, 12);
    assert_int_equal(audit.replayed, 0);
    assert_int_equal(audit.lost, 0);
    assert_true(audit.kept);
    end(&fixture);
}

static void at_most_once_begins_behind_what_any_rank_may_have_had(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct consumer first = {A, 0, {0}}, second = {B, 1, {0}};
    begin(&fixture, 2, WEIR_AT_MOST_ONCE);
    (void)come(&fixture, &first, 0);
    (void)come(&fixture, &second, 0);
    (void)claim(&fixture, &first, 0);
    fixture.job.unsaved = false;
    (void)beat_with(&fixture, &first, 1, 2); /* one consumed, one more handed out */
    assert_true(fixture.job.unsaved);        /* before the beat is acknowledged */
    (void)beat_with(&fixture, &second, 2, 4);
    struct consumer first_again = {C, 0, {0}}, second_again = {D, 1, {0}};
    (void)come(&fixture, &first_again, 1);
    struct dispatcher_opened answer = come(&fixture, &second_again, 1);
    assert_int_equal(answer.attempt, 2);
    assert_int_equal(answer.begun->oldest, 4);
    assert_int_equal(answer.begun->tally.delivered, 2);
    (void)claim(&fixture, &first_again, 1);
    assert_int_equal(first_again.heard.begun->oldest, 4);
    assert_int_equal(preprocess_job_audit(&fixture.job, 0).lost, 12); /* batches 1, 2, 3 */
    end(&fixture);
}

static void at_most_once_is_not_kept_when_more_is_missing(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct consumer first = {A, 0, {0}}, back = {B, 0, {0}};
    begin(&fixture, 1, WEIR_AT_MOST_ONCE);
    (void)come(&fixture, &first, 0);
    (void)beat_with(&fixture, &first, 1, 2);
    assert_int_equal(come(&fixture, &back, 1).begun->oldest, 2);
    assert_int_equal(preprocess_job_audit(&fixture.job, 0).lost, 4);
    /* `state` says 6 batches of 4, but batch 1 was never delivered: one is in it twice. */
    (void)commit(&fixture, &back, BATCHES, true);
    struct dispatcher_audit audit = preprocess_job_audit(&fixture.job, 0);
    assert_int_equal(audit.duplicated, 4);
    assert_false(audit.kept);
    fixture.job.record.seats[0].committed.tally.delivered = 20;
    assert_true(preprocess_job_audit(&fixture.job, 0).kept);
    fixture.job.record.seats[0].committed.tally.delivered = 19;
    assert_false(preprocess_job_audit(&fixture.job, 0).kept);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_attempt_begins_once_every_rank_has_come),
        cmocka_unit_test(a_beat_that_speaks_of_batches_beyond_the_last_is_refused),
        cmocka_unit_test(a_rank_that_does_not_exist_is_refused),
        cmocka_unit_test(a_consumer_without_a_session_takes_no_place),
        cmocka_unit_test(a_rank_that_returns_makes_the_others_regroup),
        cmocka_unit_test(states_of_different_steps_meet_at_the_older_one),
        cmocka_unit_test(of_two_processes_with_one_rank_the_later_stays),
        cmocka_unit_test(a_request_that_a_dead_process_left_takes_no_place),
        cmocka_unit_test(a_step_is_committed_when_all_ranks_have),
        cmocka_unit_test(who_returns_to_a_finished_job_only_has_to_say_so),
        cmocka_unit_test(at_least_once_counts_what_is_delivered_again),
        cmocka_unit_test(at_most_once_begins_behind_what_any_rank_may_have_had),
        cmocka_unit_test(at_most_once_is_not_kept_when_more_is_missing),
    };
    return cmocka_run_group_tests_name("attempts of a job", tests, NULL, NULL);
}
