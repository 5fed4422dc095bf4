/* The rules of preprocess/dispatcher/job.h, one by one. The simulation drives them together. */
#include "core/base/memory.h"
#include "tests/support/lease_job.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

/* 20 samples, 2 a batch, 2 batches a group: 5 groups of one epoch. */
enum { JOB = 4, GROUPS = 5, ONE = 101, TWO = 102 };

struct fixture {
    struct dispatcher_fences fences;
    struct dispatcher_job job;
    uint64_t beat_number;
};

static struct dispatcher_opened open_at(struct fixture *fixture, uint64_t session, uint64_t after,
                                        uint64_t oldest)
{
    struct weir_error err;
    struct dispatcher_opened opened = {0};
    struct weir_position position = {.oldest = oldest, .tally = {.delivered = 2 * oldest}};
    struct dispatcher_claim claim = {.session = session, .after = after, .state = &position};
    assert_int_equal(preprocess_job_client_open(&fixture->job, &claim, &opened, &err), WEIR_OK);
    return opened;
}

/* The consumer of `attempt` has consumed everything below `oldest` and has `waiting` more. */
static struct msg_client_orders consume(struct fixture *fixture, uint64_t session, uint64_t attempt,
                                        uint64_t oldest, uint64_t waiting, int64_t now_ms)
{
    struct weir_error err;
    struct msg_client_orders orders = {0};
    WEIR_AUTO_BUF tally = {0};
    WEIR_AUTO_BUF received = {0};
    struct weir_bits bits = {0};
    for (uint64_t i = 0; i < waiting; i++)
        weir_bits_set(&bits, i);
    weir_bits_pack(&bits, &received);
    weir_tally_pack(&(struct weir_tally){.delivered = 2 * oldest}, &tally);
    struct msg_client_beat beat = {.job = JOB,
                                   .attempt = attempt,
                                   .session = session,
                                   .number = ++fixture->beat_number,
                                   .oldest = oldest,
                                   .received = weir_buf_view(&received),
                                   .tally = weir_buf_view(&tally)};
    assert_int_equal(preprocess_job_client_beat(&fixture->job, &beat, now_ms, &orders, &err),
                     WEIR_OK);
    weir_bits_fini(&bits);
    return orders;
}

/* A beat of a worker; visit() returns how many leases it has afterwards. */
struct visit {
    uint32_t worker;
    uint64_t session;
    uint32_t want;
    int64_t now_ms;
    struct dispatcher_held held[4];
    size_t held_count;
    bool drains;
};

static size_t visit(struct fixture *fixture, const struct visit *visit,
                    struct dispatcher_lease leases[DISPATCHER_LEASES_MAX])
{
    struct dispatcher_visit beat_of = {.worker = visit->worker,
                                       .session = visit->session,
                                       .held = visit->held,
                                       .held_count = visit->held_count,
                                       .drains = visit->drains};
    lease_job(&fixture->job, &beat_of, visit->want, visit->now_ms);
    return preprocess_job_leases(&fixture->job, visit->worker, visit->session, leases);
}

/* ---- what a test begins with ---- */

static int begin(void **state, bool fit)
{
    struct fixture *fixture = weir_calloc(1, sizeof(*fixture));
    struct dispatcher_about about = {
        .job = JOB,
        .geometry = preprocess_geometry_plan(20, 1, 2, PREPROCESS_LAST_SHORT, 2),
        .delivery = WEIR_EXACTLY_ONCE,
        .fit = fit,
    };
    struct dispatcher_record empty = {0};
    fixture->fences.newest = (uint64_t)1 << 32;
    preprocess_job_init(&fixture->job, &about, &fixture->fences);
    preprocess_job_restore(&fixture->job, &empty, false);
    *state = fixture;
    return 0;
}

static int a_job(void **state)
{
    return begin(state, false);
}

static int a_job_and_its_consumer(void **state)
{
    int failed = begin(state, false);
    (void)open_at(*state, ONE, 0, 0);
    return failed;
}

static int a_job_that_fits(void **state)
{
    return begin(state, true);
}

static int end(void **state)
{
    struct fixture *fixture = *state;
    preprocess_job_fini(&fixture->job);
    free(fixture);
    return 0;
}

/* ---- the rules ---- */

/* Rule 11: what it has not begun is another's at once; what it has sent is its own until the consumer has it. */
static void a_worker_that_drains_gets_nothing_and_gives_up_what_it_does_not_list(void **state)
{
    struct fixture *fixture = *state;
    struct dispatcher_lease leases[DISPATCHER_LEASES_MAX];
    consume(fixture, ONE, 1, 0, 0, 0);
    assert_int_equal(visit(fixture, &(struct visit){.session = 1, .want = 3}, leases), 3);
    uint64_t fence = leases[0].fence;
    const struct visit drains = {.session = 1,
                                 .want = 3,
                                 .held = {{.group = 0, .fence = fence}},
                                 .held_count = 1,
                                 .now_ms = 10,
                                 .drains = true};
    assert_int_equal(visit(fixture, &drains, leases), 1);
    assert_int_equal(leases[0].group, 0);
    const struct visit other = {.worker = 1, .session = 2, .want = 2, .now_ms = 11};
    assert_int_equal(visit(fixture, &other, leases), 2);
    assert_int_equal(leases[0].group, 1);
    assert_true(preprocess_job_holds(&fixture->job, 0, 1, 12));
    const struct visit sent = {.session = 1,
                               .held = {{.group = 0, .fence = fence, .sent = true}},
                               .held_count = 1,
                               .now_ms = 20,
                               .drains = true};
    assert_int_equal(visit(fixture, &sent, leases), 0);
    assert_true(preprocess_job_holds(&fixture->job, 0, 1, 21));
    assert_false(preprocess_job_holds(&fixture->job, 0, 1, 20 + DISPATCHER_SENT_PATIENCE_MS));
    consume(fixture, ONE, 1, 0, 2, 22);
    assert_false(preprocess_job_holds(&fixture->job, 0, 1, 22));
}

static void no_lease_before_a_consumer_came(void **state)
{
    struct fixture *fixture = *state;
    struct dispatcher_lease leases[DISPATCHER_LEASES_MAX];
    assert_int_equal(visit(fixture, &(struct visit){.session = 1, .want = 2}, leases), 0);
    assert_int_equal(open_at(fixture, ONE, 0, 0).attempt, 1);
    assert_true(fixture->job.unsaved);
    assert_int_equal(visit(fixture, &(struct visit){.session = 1, .want = 2}, leases), 2);
    assert_int_equal(leases[0].group, 0);
    assert_int_equal(leases[1].group, 1);
    assert_true(leases[1].fence > leases[0].fence);
    assert_true(leases[0].fence > fixture->job.open_fence);
}

static void a_lost_answer_is_repeated_and_not_doubled(void **state)
{
    struct fixture *fixture = *state;
    struct dispatcher_lease first[DISPATCHER_LEASES_MAX], again[DISPATCHER_LEASES_MAX];
    assert_int_equal(visit(fixture, &(struct visit){.session = 1, .want = 2}, first), 2);
    assert_int_equal(visit(fixture, &(struct visit){.session = 1, .want = 2, .now_ms = 50}, again),
                     2);
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(again[i].group, first[i].group);
        assert_int_equal(again[i].fence, first[i].fence);
    }
}

static void a_lease_expires_unless_it_is_listed(void **state)
{
    struct fixture *fixture = *state;
    struct dispatcher_lease a[DISPATCHER_LEASES_MAX], b[DISPATCHER_LEASES_MAX];
    (void)visit(fixture, &(struct visit){.session = 1, .want = 2}, a);
    struct visit renewing = {
        .session = 1, .now_ms = 1900, .held = {{a[0].group, a[0].fence, false}}, .held_count = 1};
    (void)visit(fixture, &renewing, a);
    /* Group 1 was not listed: 2 s later it goes to somebody else, under a higher fence. */
    assert_int_equal(
        visit(fixture, &(struct visit){.worker = 1, .session = 2, .want = 1, .now_ms = 2100}, b),
        1);
    assert_int_equal(b[0].group, 1);
    assert_true(b[0].fence > a[1].fence);
    assert_int_equal(visit(fixture, &renewing, a), 1);
}

static void a_new_session_in_the_slot_voids_the_old_leases(void **state)
{
    struct fixture *fixture = *state;
    struct dispatcher_lease a[DISPATCHER_LEASES_MAX], b[DISPATCHER_LEASES_MAX];
    (void)visit(fixture, &(struct visit){.session = 1, .want = 2}, a);
    assert_int_equal(visit(fixture, &(struct visit){.session = 9, .want = 2, .now_ms = 10}, b), 2);
    assert_int_equal(b[0].group, 0);
    assert_true(b[0].fence > a[1].fence);
}

static void what_a_worker_leaves_is_anothers_at_once(void **state)
{
    struct fixture *fixture = *state;
    struct dispatcher_lease a[DISPATCHER_LEASES_MAX], b[DISPATCHER_LEASES_MAX];
    (void)visit(fixture, &(struct visit){.session = 1, .want = 3}, a);
    struct visit sent = {
        .session = 1, .now_ms = 5, .held = {{a[0].group, a[0].fence, true}}, .held_count = 1};
    (void)visit(fixture, &sent, a); /* which dies with the queue it is in */
    preprocess_job_worker_leave(&fixture->job, 0, 2);
    assert_int_equal(
        visit(fixture, &(struct visit){.worker = 1, .session = 7, .want = 1, .now_ms = 10}, b), 1);
    assert_int_equal(b[0].group, 3);
    preprocess_job_worker_leave(&fixture->job, 0, 1);
    assert_int_equal(
        visit(fixture, &(struct visit){.worker = 1, .session = 7, .want = 4, .now_ms = 20}, b), 4);
    for (uint64_t i = 0; i < 4; i++)
        assert_int_equal(b[i].group, i);
}

static void a_consumer_lags_until_it_has_what_was_leased_before(void **state)
{
    struct fixture *fixture = *state;
    struct dispatcher_lease leases[DISPATCHER_LEASES_MAX];
    (void)consume(fixture, ONE, 1, 0, 0, 0);
    assert_false(
        preprocess_job_lags(&fixture->job, fixture->fences.newest)); /* nothing is leased */
    assert_int_equal(visit(fixture, &(struct visit){.session = 7, .want = 2}, leases), 2);
    uint64_t before = fixture->fences.newest;
    assert_int_equal(visit(fixture, &(struct visit){.worker = 1, .session = 8, .want = 2}, leases),
                     2);
    assert_true(preprocess_job_lags(&fixture->job, before));
    (void)consume(fixture, ONE, 1, 0, 2, 10);
    assert_true(
        preprocess_job_lags(&fixture->job, before)); /* the second group is of before, too */
    (void)consume(fixture, ONE, 1, 0, 4, 20);
    assert_false(preprocess_job_lags(&fixture->job, before));
    assert_true(preprocess_job_lags(&fixture->job, fixture->fences.newest));
    preprocess_job_worker_leave(&fixture->job, 1, 8);
    assert_false(preprocess_job_lags(&fixture->job, fixture->fences.newest)); /* nobody makes it */
}

static void sent_groups_rest_until_patience_is_over(void **state)
{
    struct fixture *fixture = *state;
    struct dispatcher_lease a[DISPATCHER_LEASES_MAX];
    (void)visit(fixture, &(struct visit){.session = 1, .want = 1}, a);
    struct visit sent = {
        .session = 1, .now_ms = 100, .held = {{a[0].group, a[0].fence, true}}, .held_count = 1};
    assert_int_equal(visit(fixture, &sent, a), 0);
    (void)consume(fixture, ONE, 1, 0, 1, 2000); /* one of its two batches is here */
    assert_int_equal(fixture->job.ranks[0].groups[0].state, DISPATCHER_GROUP_SENT);
    (void)consume(fixture, ONE, 1, 0, 1, 100 + DISPATCHER_SENT_PATIENCE_MS);
    assert_int_equal(fixture->job.ranks[0].groups[0].state, DISPATCHER_GROUP_OPEN);
    assert_int_equal(
        visit(fixture, &(struct visit){.worker = 1, .session = 2, .want = 1, .now_ms = 4200}, a),
        1);
    assert_int_equal(a[0].group, 0);
}

static void full_hands_get_the_group_that_holds_everybody_up(void **state)
{
    struct fixture *fixture = *state;
    struct dispatcher_lease a[DISPATCHER_LEASES_MAX];
    (void)visit(fixture, &(struct visit){.session = 1, .want = 1}, a);
    struct visit full = {.worker = 1, .session = 2, .want = 4};
    assert_int_equal(visit(fixture, &full, a), 4);
    for (size_t i = 0; i < 4; i++)
        full.held[full.held_count++] = (struct dispatcher_held){a[i].group, a[i].fence, false};
    (void)consume(fixture, ONE, 1, 0, 0, 1900);
    full.want = 1;
    full.now_ms = 1900;
    assert_int_equal(visit(fixture, &full, a), 4); /* group 0 is made elsewhere */
    full.now_ms = DISPATCHER_LEASE_MS;             /* not any more */
    assert_int_equal(visit(fixture, &full, a), 5);
    assert_int_equal(a[0].group, 0);
}

static void what_the_consumer_has_is_not_leased(void **state)
{
    struct fixture *fixture = *state;
    struct dispatcher_lease a[DISPATCHER_LEASES_MAX];
    (void)visit(fixture, &(struct visit){.session = 1, .want = 2}, a);
    (void)consume(fixture, ONE, 1, 2, 2, 10); /* group 0 consumed, group 1 waiting there */
    assert_int_equal(visit(fixture, &(struct visit){.session = 1, .want = 1, .now_ms = 20}, a), 1);
    assert_int_equal(a[0].group, 2);
}

static void again_opens_the_group_only_under_its_fence(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    struct msg_client_orders orders;
    struct dispatcher_lease a[DISPATCHER_LEASES_MAX];
    WEIR_AUTO_BUF tally = {0};
    (void)visit(fixture, &(struct visit){.session = 1, .want = 1}, a);
    weir_tally_pack(&(struct weir_tally){0}, &tally);
    uint64_t group = 0, fence = a[0].fence - 1;
    struct msg_client_beat ask = {.job = JOB,
                                  .attempt = 1,
                                  .session = ONE,
                                  .number = 1,
                                  .again_groups = {&group, 1},
                                  .again_fences = {&fence, 1},
                                  .tally = weir_buf_view(&tally)};
    assert_int_equal(preprocess_job_client_beat(&fixture->job, &ask, 5, &orders, &err), WEIR_OK);
    assert_int_equal(fixture->job.ranks[0].groups[0].state, DISPATCHER_GROUP_LEASED);
    fence = a[0].fence;
    ask.number = 2;
    assert_int_equal(preprocess_job_client_beat(&fixture->job, &ask, 6, &orders, &err), WEIR_OK);
    assert_int_equal(fixture->job.ranks[0].groups[0].state, DISPATCHER_GROUP_OPEN);
}

static void a_new_consumer_takes_over_and_counts_what_is_replayed(void **state)
{
    struct fixture *fixture = *state;
    struct dispatcher_opened first = open_at(fixture, ONE, 0, 0);
    assert_int_equal(open_at(fixture, ONE, 0, 0).fence, first.fence); /* the answer was lost */
    (void)consume(fixture, ONE, 1, 6, 0, 10);
    /* A request left behind by an older consumer changes nothing and is told so. */
    assert_int_equal(open_at(fixture, TWO, 0, 2).attempt, 0);
    assert_int_equal(open_at(fixture, TWO, 0, 2).newest, 1);
    struct dispatcher_opened second = open_at(fixture, TWO, 1, 2);
    assert_int_equal(second.attempt, 2);
    assert_true(second.fence > first.fence);
    assert_int_equal(fixture->job.record.replayed, 8); /* 12 consumed, 4 in the position */
    assert_true(consume(fixture, ONE, 1, 7, 0, 20).superseded);
    assert_false(consume(fixture, TWO, 2, 2, 0, 30).superseded);
}

static enum weir_status commit(struct fixture *fixture, uint64_t session, uint64_t oldest,
                               struct weir_tally tally, bool final)
{
    struct weir_error err;
    WEIR_AUTO_BUF packed = {0};
    struct weir_position position = {.oldest = oldest, .tally = tally};
    weir_position_pack(&position, &packed);
    struct msg_client_commit message = {.job = JOB,
                                        .attempt = fixture->job.record.attempt,
                                        .session = session,
                                        .position = weir_buf_view(&packed),
                                        .final = final};
    struct msg_client_committed answer;
    return preprocess_job_client_commit(&fixture->job, &message, &answer, &err);
}

static void commits_move_forward_and_the_audit_adds_up(void **state)
{
    struct fixture *fixture = *state;
    struct weir_tally half = {.delivered = 10}, most = {.delivered = 17, .erased = 2, .failed = 1};
    assert_int_equal(commit(fixture, ONE, 5, half, false), WEIR_OK);
    assert_int_equal(commit(fixture, ONE, 3, (struct weir_tally){.delivered = 6}, false), WEIR_OK);
    assert_int_equal(fixture->job.record.seats[0].committed.oldest, 5);
    assert_int_equal(commit(fixture, TWO, 10, most, true), WEIR_STALE);
    assert_int_equal(commit(fixture, ONE, 11, most, true), WEIR_INVALID);
    assert_int_equal(commit(fixture, ONE, 3, half, true), WEIR_INVALID);
    most.fingerprint = 42;
    assert_int_equal(commit(fixture, ONE, 10, most, true), WEIR_OK);
    struct dispatcher_audit audit = preprocess_job_audit(&fixture->job, 42);
    assert_int_equal(audit.set, 20);
    assert_int_equal(audit.lost, 0);
    assert_int_equal(audit.duplicated, 0);
    audit = preprocess_job_audit(&fixture->job, 43); /* as many, but others */
    assert_int_equal(audit.lost, 1);
    assert_int_equal(audit.duplicated, 1);
}

static void the_audit_tells_lost_from_duplicated(void **state)
{
    struct fixture *fixture = *state;
    assert_int_equal(commit(fixture, ONE, 10, (struct weir_tally){.delivered = 17}, true), WEIR_OK);
    assert_int_equal(preprocess_job_audit(&fixture->job, 0).lost, 3);
    fixture->job.record.seats[0].committed.tally.delivered = 24;
    assert_int_equal(preprocess_job_audit(&fixture->job, 0).duplicated, 4);
}

static void a_restarted_dispatcher_waits_for_its_consumer(void **state)
{
    struct fixture *fixture = *state;
    struct dispatcher_lease a[DISPATCHER_LEASES_MAX];
    (void)commit(fixture, ONE, 4, (struct weir_tally){.delivered = 8}, false);
    (void)visit(fixture, &(struct visit){.session = 1, .want = 1}, a);

    struct dispatcher_fences fences = {.newest = (uint64_t)2 << 32};
    struct dispatcher_job job;
    struct dispatcher_about same = fixture->job.about;
    preprocess_job_init(&job, &same, &fences);
    preprocess_job_restore(&job, &fixture->job.record, true);
    preprocess_job_fini(&fixture->job);
    fixture->job = job;
    fixture->job.fences = &fences;
    struct visit held = {.session = 1,
                         .want = 1,
                         .now_ms = 10,
                         .held = {{a[0].group, a[0].fence, false}},
                         .held_count = 1};
    assert_int_equal(visit(fixture, &held, a), 0); /* what it holds is void */
    fixture->beat_number = 50;
    (void)consume(fixture, ONE, 1, 2, 0, 15); /* sent before the restart, and before the commit */
    assert_int_equal(fixture->job.ranks[0].oldest, 4);
    (void)consume(fixture, ONE, 1, 6, 0, 20);
    assert_int_equal(visit(fixture, &held, a), 1);
    assert_int_equal(a[0].group, 3);
    assert_true(a[0].fence > (uint64_t)2 << 32);
}

static void a_silent_consumer_holds_no_leases(void **state)
{
    struct fixture *fixture = *state;
    struct dispatcher_lease a[DISPATCHER_LEASES_MAX];
    (void)visit(fixture, &(struct visit){.session = 1, .want = 1}, a);
    int64_t now_ms = 0;
    struct visit renewing = {
        .session = 1, .want = 1, .held = {{a[0].group, a[0].fence, false}}, .held_count = 1};
    for (; now_ms < DISPATCHER_SILENT_MS + DISPATCHER_LEASE_MS; now_ms += 300) {
        renewing.now_ms = now_ms;
        (void)visit(fixture, &renewing, a);
    }
    renewing.now_ms = now_ms;
    assert_int_equal(visit(fixture, &renewing, a), 0);
    (void)consume(fixture, ONE, 1, 0, 0, now_ms); /* it was only slow */
    assert_int_equal(visit(fixture, &renewing, a), 1);
}

static void partial_fits_are_taken_in_group_order(void **state)
{
    struct fixture *fixture = *state;
    struct weir_error err;
    struct dispatcher_opened opened;
    struct weir_position beginning = {0};
    struct dispatcher_lease a[DISPATCHER_LEASES_MAX];
    uint64_t group;
    struct dispatcher_claim claim = {.session = ONE, .state = &beginning};
    assert_int_equal(preprocess_job_client_open(&fixture->job, &claim, &opened, &err),
                     WEIR_UNAVAILABLE);
    assert_int_equal(visit(fixture, &(struct visit){.session = 1, .want = 9}, a), GROUPS);
    for (uint64_t i = GROUPS; i-- > 1;)
        assert_true(preprocess_job_fit(&fixture->job, i, 1));
    assert_false(preprocess_job_fit(&fixture->job, 1, 1)); /* repeated */
    assert_false(preprocess_job_fit_take(&fixture->job, &group));
    assert_true(preprocess_job_fit(&fixture->job, 0, 1));
    for (uint64_t i = 0; i < GROUPS; i++) {
        assert_false(preprocess_job_fit_complete(&fixture->job));
        assert_true(preprocess_job_fit_take(&fixture->job, &group));
        assert_int_equal(group, i);
    }
    assert_true(preprocess_job_fit_complete(&fixture->job));
    preprocess_job_fitted(&fixture->job);
    assert_int_equal(open_at(fixture, ONE, 0, 0).attempt, 1);
}

/* Worker 1 stands still on the lowest group; what others make meanwhile has a bound. */
static void partial_fits_that_wait_for_a_slow_worker_are_bounded(void **state)
{
    struct fixture *fixture = *state;
    struct dispatcher_lease leases[DISPATCHER_LEASES_MAX];
    const struct visit slow = {.worker = 1, .session = 1, .want = 1};
    struct visit other = {.worker = 2, .session = 2, .want = 1};
    uint64_t group;
    assert_int_equal(visit(fixture, &slow, leases), 1);
    assert_int_equal(leases[0].group, 0);
    assert_int_equal(visit(fixture, &other, leases), 1);
    assert_true(preprocess_job_fit(&fixture->job, leases[0].group, DISPATCHER_FITS_BYTES_MAX));
    assert_int_equal(visit(fixture, &other, leases), 0);
    other.now_ms = DISPATCHER_LEASE_MS; /* by now the lowest group is another's to make */
    assert_int_equal(visit(fixture, &other, leases), 1);
    assert_int_equal(leases[0].group, 0);
    assert_true(preprocess_job_fit(&fixture->job, 0, 1));
    assert_true(preprocess_job_fit_take(&fixture->job, &group));
    assert_int_equal(visit(fixture, &other, leases), 0);
    assert_true(preprocess_job_fit_take(&fixture->job, &group));
    assert_int_equal(visit(fixture, &other, leases), 1);
    assert_int_equal(leases[0].group, 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(no_lease_before_a_consumer_came, a_job, end),
        cmocka_unit_test_setup_teardown(a_lost_answer_is_repeated_and_not_doubled,
                                        a_job_and_its_consumer, end),
        cmocka_unit_test_setup_teardown(a_lease_expires_unless_it_is_listed, a_job_and_its_consumer,
                                        end),
        cmocka_unit_test_setup_teardown(a_new_session_in_the_slot_voids_the_old_leases,
                                        a_job_and_its_consumer, end),
        cmocka_unit_test_setup_teardown(what_a_worker_leaves_is_anothers_at_once,
                                        a_job_and_its_consumer, end),
        cmocka_unit_test_setup_teardown(a_consumer_lags_until_it_has_what_was_leased_before,
                                        a_job_and_its_consumer, end),
        cmocka_unit_test_setup_teardown(sent_groups_rest_until_patience_is_over,
                                        a_job_and_its_consumer, end),
        cmocka_unit_test_setup_teardown(full_hands_get_the_group_that_holds_everybody_up,
                                        a_job_and_its_consumer, end),
        cmocka_unit_test_setup_teardown(what_the_consumer_has_is_not_leased, a_job_and_its_consumer,
                                        end),
        cmocka_unit_test_setup_teardown(again_opens_the_group_only_under_its_fence,
                                        a_job_and_its_consumer, end),
        cmocka_unit_test_setup_teardown(a_new_consumer_takes_over_and_counts_what_is_replayed,
                                        a_job, end),
        cmocka_unit_test_setup_teardown(commits_move_forward_and_the_audit_adds_up,
                                        a_job_and_its_consumer, end),
        cmocka_unit_test_setup_teardown(the_audit_tells_lost_from_duplicated,
                                        a_job_and_its_consumer, end),
        cmocka_unit_test_setup_teardown(a_restarted_dispatcher_waits_for_its_consumer,
                                        a_job_and_its_consumer, end),
        cmocka_unit_test_setup_teardown(
            a_worker_that_drains_gets_nothing_and_gives_up_what_it_does_not_list,
            a_job_and_its_consumer, end),
        cmocka_unit_test_setup_teardown(a_silent_consumer_holds_no_leases, a_job_and_its_consumer,
                                        end),
        cmocka_unit_test_setup_teardown(partial_fits_that_wait_for_a_slow_worker_are_bounded,
                                        a_job_that_fits, end),
        cmocka_unit_test_setup_teardown(partial_fits_are_taken_in_group_order, a_job_that_fits,
                                        end),
    };
    return cmocka_run_group_tests_name("job", tests, NULL, NULL);
}
