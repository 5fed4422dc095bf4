/* The rules of preprocess/worker/flow.h, one by one. The simulation drives them together. */
#include "preprocess/worker/flow.h"

#include "core/base/rng.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { ME = 7, JOB = 3, LOOP = 50, KEY = 9, BYTES = 100, LEASE_MS = 2000 };

static struct worker_flow *begin(void)
{
    struct worker_flow *flow = calloc(1, sizeof(*flow));
    preprocess_flow_init(flow, ME);
    preprocess_flow_held(flow, &(struct msg_hold_is){.lease_ms = LEASE_MS}, 0);
    return flow;
}

static void end(struct worker_flow *flow)
{
    preprocess_flow_drop_all(flow);
    while (preprocess_flow_discarded(flow) != NULL) {
    }
    preprocess_flow_fini(flow);
    free(flow);
}

/* Orders for the groups first … first + count - 1, fences 100 + group. */
static void order_to(struct worker_flow *flow, uint64_t first, size_t count, int64_t sent_ms,
                     bool drains)
{
    uint64_t jobs[8], attempts[8], groups[8], fences[8], sessions[8];
    uint32_t ranks[8] = {0};
    for (size_t i = 0; i < count; i++) {
        jobs[i] = JOB;
        attempts[i] = 1;
        groups[i] = first + i;
        fences[i] = 100 + first + i;
        sessions[i] = LOOP;
    }
    struct msg_worker_orders orders = {.session = ME,
                                       .lease_ms = LEASE_MS,
                                       .jobs = {jobs, count},
                                       .attempts = {attempts, count},
                                       .groups = {groups, count},
                                       .fences = {fences, count},
                                       .sessions = {sessions, count},
                                       .ranks = {ranks, count},
                                       .known = true,
                                       .drains = drains};
    preprocess_flow_orders(flow, &orders, sent_ms);
    for (size_t i = 0; i < count; i++) /* two batches a group */
        preprocess_flow_begin(flow, fences[i], (struct preprocess_range){2 * groups[i], 2});
}

static void order(struct worker_flow *flow, uint64_t first, size_t count, int64_t sent_ms)
{
    order_to(flow, first, count, sent_ms, false);
}

static void credit(struct worker_flow *flow, uint64_t granted, uint64_t taken, uint64_t missing,
                   bool starving)
{
    struct msg_credit message = {.job = JOB,
                                 .attempt = 1,
                                 .session = LOOP,
                                 .granted = granted,
                                 .taken = taken,
                                 .worker_session = ME,
                                 .missing = missing,
                                 .starving = starving};
    assert_int_equal(preprocess_flow_credit(flow, &message, KEY, 1), 0);
}

static const uint64_t IDS[] = {1000, 1001};

/* Makes the batch that is due; -1: none. */
static int64_t make(struct worker_flow *flow)
{
    struct worker_make what;
    if (!preprocess_flow_next_make(flow, &what))
        return -1;
    struct worker_ready ready = {.fence = what.fence,
                                 .batch = what.batch,
                                 .bytes = BYTES,
                                 .ids = IDS,
                                 .id_count = 2,
                                 .payload = flow};
    (void)preprocess_flow_made(flow, &ready);
    return (int64_t)what.batch;
}

/* Sends the batch that may go; -1: none. */
static int64_t send_one(struct worker_flow *flow, int64_t now_ms)
{
    struct worker_send send;
    if (!preprocess_flow_next_send(flow, now_ms, &send))
        return -1;
    int64_t batch = (int64_t)flow->ready[send.ready].batch;
    preprocess_flow_sent(flow, &send, now_ms);
    return batch;
}

static void batches_are_made_and_sent_in_order_within_credit(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    order(flow, 0, 2, 0);
    assert_int_equal(make(flow), 0);
    assert_int_equal(make(flow), 1);
    assert_int_equal(make(flow), -1);        /* enough wait */
    assert_int_equal(send_one(flow, 1), -1); /* nobody has given credit */
    credit(flow, 250, 0, 0, false);
    assert_int_equal(send_one(flow, 1), 0);
    assert_int_equal(make(flow), 2);
    assert_int_equal(send_one(flow, 1), 1);
    assert_int_equal(make(flow), 3);
    assert_int_equal(send_one(flow, 1), -1); /* 200 of 250 are in flight */
    credit(flow, 350, 100, 2, false);
    assert_int_equal(send_one(flow, 1), 2);
    assert_int_equal(send_one(flow, 1), -1);
    end(flow);
}

static void one_batch_always_passes(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    order(flow, 5, 1, 0);
    credit(flow, 10, 0, 3, false);
    assert_int_equal(make(flow), 10);
    assert_int_equal(send_one(flow, 1), 10); /* nothing was in flight */
    assert_int_equal(make(flow), 11);
    assert_int_equal(send_one(flow, 1), -1);
    credit(flow, 10, 0, 11, true); /* the loop cannot go on without it */
    assert_int_equal(send_one(flow, 1), 11);
    end(flow);
}

static void what_would_wait_is_known_before_it_is_made(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    struct worker_make what;
    order(flow, 0, 2, 0);
    assert_true(preprocess_flow_next_make(flow, &what));
    assert_int_equal(preprocess_flow_would_send(flow, &what, BYTES, 1),
                     -1); /* there is no credit */
    credit(flow, 250, 0, 0, false);
    assert_int_equal(preprocess_flow_would_send(flow, &what, BYTES, 1), 0);
    assert_int_equal(preprocess_flow_would_send(flow, &what, 300, 1), 0); /* one always passes */
    assert_int_equal(preprocess_flow_would_send(flow, &what, BYTES, LEASE_MS), -1);
    assert_int_equal(make(flow), 0);
    assert_true(preprocess_flow_next_make(flow, &what));
    assert_int_equal(preprocess_flow_would_send(flow, &what, BYTES, 1),
                     -1); /* it is not its turn */
    assert_int_equal(send_one(flow, 1), 0);
    assert_int_equal(preprocess_flow_would_send(flow, &what, BYTES, 1), 0);
    assert_int_equal(preprocess_flow_would_send(flow, &what, 151, 1),
                     -1); /* 100 of 250 are in flight */
    preprocess_flow_hint(flow, 1);
    assert_int_equal(preprocess_flow_would_send(flow, &what, BYTES, 1),
                     -1); /* something was erased */
    end(flow);
}

/* From a byte to a gigabyte, in a window of 64 kB: what is in flight stays within it but for one
 * batch, and nothing waits that could go. */
static void batches_of_all_sizes_pass_one_by_one_or_within_the_window(void **state)
{
    enum { WINDOW = 64 << 10, GROUPS = 200 };
    (void)state;
    struct worker_flow *flow = begin();
    struct worker_make what;
    struct worker_send send;
    struct weir_rng rng;
    uint64_t sizes[2 * GROUPS], taken = 0, next = 0; /* the batch that the consumer takes next */
    weir_rng_init(&rng, 9);
    for (size_t i = 0; i < WEIR_COUNT(sizes); i++)
        sizes[i] = UINT64_C(1) << weir_rng_below(&rng, 31);
    while (next < WEIR_COUNT(sizes)) {
        order(flow, next / 2, next / 2 + 4 < GROUPS ? 4 : GROUPS - next / 2, 0);
        credit(flow, taken + WINDOW, taken, next, false);
        while (preprocess_flow_next_make(flow, &what))
            (void)preprocess_flow_made(flow, &(struct worker_ready){.fence = what.fence,
                                                                    .batch = what.batch,
                                                                    .bytes = sizes[what.batch],
                                                                    .ids = IDS,
                                                                    .id_count = 2,
                                                                    .payload = flow});
        if (preprocess_flow_next_send(flow, 1, &send)) {
            uint64_t bytes = flow->ready[send.ready].bytes;
            assert_true(send.sent == taken || send.sent + bytes <= taken + WINDOW);
            preprocess_flow_sent(flow, &send, 1);
            continue;
        }
        assert_true(flow->consumers[0].sent > taken); /* or nothing would ever go on */
        taken += sizes[next++];
    }
    assert_true(flow->consumers[0].sent == taken);
    end(flow);
}

static void an_older_batch_is_made_though_enough_wait(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    order(flow, 5, 2, 0);
    assert_int_equal(make(flow), 10);
    assert_int_equal(make(flow), 11);
    assert_int_equal(make(flow), -1);
    order(flow, 4, 3, 0);
    assert_int_equal(make(flow), 8);
    end(flow);
}

static void void_leases_go_with_their_batches(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    order(flow, 0, 2, 0);
    credit(flow, 1000, 0, 0, false);
    assert_int_equal(make(flow), 0);
    order(flow, 1, 1, 10); /* group 0 is no longer listed */
    assert_int_equal(flow->ready_count, 0);
    assert_ptr_equal(preprocess_flow_discarded(flow), flow);
    assert_null(preprocess_flow_lease(flow, 100));
    struct worker_ready late = {.fence = 100, .batch = 1, .ids = IDS, .id_count = 2};
    assert_false(preprocess_flow_made(flow, &late));
    preprocess_flow_expire(flow, 10 + LEASE_MS);
    assert_null(preprocess_flow_lease(flow, 101));
    end(flow);
}

static void a_worker_that_has_nothing_to_make_wants_more(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    order(flow, 0, 2, 0);
    assert_int_equal(preprocess_flow_want(flow), WORKER_LEASES_WANTED - 2);
    assert_int_equal(make(flow), 0);
    assert_int_equal(make(flow), 1);
    assert_int_equal(make(flow), -1); /* the consumer gives no credit: another one may */
    assert_int_equal(preprocess_flow_want(flow), WORKER_LEASES_WANTED);
    credit(flow, 1000, 0, 0, false);
    assert_int_equal(send_one(flow, 1), 0);
    assert_int_equal(preprocess_flow_want(flow), WORKER_LEASES_WANTED - 1);
    end(flow);
}

/* Leases of two jobs: 100 of a batch that is far ahead, younger ones of a job that has just begun. */
static void the_older_lease_is_made_whatever_comes_behind_it(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    struct worker_make what;
    uint64_t jobs[] = {JOB + 1, JOB}, fences[] = {200, 100}, groups[] = {0, 70};
    uint64_t attempts[] = {1, 1}, sessions[] = {LOOP + 1, LOOP};
    uint32_t ranks[] = {0, 0};
    preprocess_flow_orders(flow,
                           &(struct msg_worker_orders){.session = ME,
                                                       .lease_ms = LEASE_MS,
                                                       .jobs = {jobs, 2},
                                                       .attempts = {attempts, 2},
                                                       .groups = {groups, 2},
                                                       .fences = {fences, 2},
                                                       .sessions = {sessions, 2},
                                                       .ranks = {ranks, 2},
                                                       .known = true},
                           0);
    preprocess_flow_begin(flow, 200, (struct preprocess_range){0, 2});
    preprocess_flow_begin(flow, 100, (struct preprocess_range){140, 2});
    assert_true(preprocess_flow_next_make(flow, &what));
    assert_int_equal(what.fence, 100);
    end(flow);
}

static void a_worker_wants_more_when_it_has_sent(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    assert_int_equal(preprocess_flow_want(flow), WORKER_LEASES_WANTED);
    order(flow, 0, 1, 0);
    credit(flow, 1000, 0, 0, false);
    assert_int_equal(preprocess_flow_want(flow), WORKER_LEASES_WANTED - 1);
    for (int64_t batch = 0; batch < 2; batch++) {
        assert_int_equal(make(flow), batch);
        assert_int_equal(send_one(flow, 1), batch);
    }
    assert_true(preprocess_worker_lease_done(preprocess_flow_lease(flow, 100)));
    assert_int_equal(preprocess_flow_want(flow), WORKER_LEASES_WANTED);
    end(flow);
}

static void nothing_is_sent_without_a_use_lease_or_behind_the_epoch(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    order(flow, 0, 1, 0);
    credit(flow, 1000, 0, 0, false);
    (void)make(flow);
    assert_int_equal(send_one(flow, LEASE_MS), -1);
    preprocess_flow_hint(flow, 1);
    assert_true(preprocess_flow_is_behind(flow));
    assert_int_equal(send_one(flow, 1), -1);
    preprocess_flow_held(flow, &(struct msg_hold_is){.epoch = 1, .lease_ms = LEASE_MS}, 500);
    assert_int_equal(send_one(flow, LEASE_MS), 0);
    end(flow);
}

static void batches_with_erased_ids_are_made_again(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    order(flow, 0, 1, 0);
    credit(flow, 1000, 0, 0, false);
    assert_int_equal(make(flow), 0);
    uint64_t erased[] = {1001, 4};
    preprocess_flow_held(
        flow, &(struct msg_hold_is){.epoch = 3, .lease_ms = LEASE_MS, .erased = {erased, 2}}, 100);
    assert_int_equal(flow->erasure_epoch, 3);
    assert_ptr_equal(preprocess_flow_discarded(flow), flow);
    assert_true(preprocess_flow_is_erased(flow, 1001));
    assert_true(preprocess_flow_is_erased(flow, 4));
    assert_false(preprocess_flow_is_erased(flow, 1000));
    assert_int_equal(make(flow), 0); /* due again, and refused while it holds the id */
    assert_int_equal(flow->ready_count, 0);
    end(flow);
}

static void a_lost_batch_is_made_again_after_a_while(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    order(flow, 0, 1, 0);
    credit(flow, 10000, 0, 0, false);
    assert_int_equal(make(flow), 0);
    assert_int_equal(send_one(flow, 1), 0);
    struct msg_credit lacking = {
        .job = JOB, .session = LOOP, .worker_session = ME, .granted = 10000};
    (void)preprocess_flow_credit(flow, &lacking, KEY, 1 + WORKER_RESEND_MS - 1);
    assert_int_equal(make(flow), 1);
    (void)preprocess_flow_credit(flow, &lacking, KEY, 1 + WORKER_RESEND_MS);
    assert_int_equal(make(flow), 0);
    end(flow);
}

static void what_the_consumer_has_is_skipped(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    order(flow, 0, 2, 0);
    credit(flow, 1000, 0, 3, false);
    assert_int_equal(make(flow), 3);
    assert_int_equal(make(flow), -1);
    end(flow);
}

static void counters_of_another_worker_session_do_not_count(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    order(flow, 0, 1, 0);
    struct msg_credit foreign = {
        .job = JOB, .session = LOOP, .worker_session = ME + 1, .granted = 10000, .taken = 9000};
    (void)preprocess_flow_credit(flow, &foreign, KEY, 1);
    assert_int_equal(flow->consumers[0].granted, 0);
    assert_int_equal(flow->consumers[0].taken, 0);
    end(flow);
}

/* Sessions that the dispatcher does not know take the place of nobody who is served. */
static void strangers_do_not_crowd_out_who_is_served(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    struct msg_credit stranger = {.job = JOB, .worker_session = ME, .granted = 1};
    for (uint64_t i = 0; i < 2 * WORKER_CONSUMERS_MAX; i++) {
        stranger.session = 1000 + i;
        int slot = preprocess_flow_credit(flow, &stranger, KEY, (int64_t)i);
        assert_int_equal(slot, i < WORKER_CONSUMERS_MAX ? (int)i : -1);
    }
    struct msg_credit served = {.job = JOB, .session = LOOP, .worker_session = ME, .granted = 1000};
    assert_int_equal(preprocess_flow_credit(flow, &served, KEY, 1), -1); /* not yet */
    order(flow, 0, 1, 0);
    assert_int_equal(preprocess_flow_credit(flow, &served, KEY, 1),
                     0); /* of the one silent for longest */
    assert_int_equal(make(flow), 0);
    assert_int_equal(send_one(flow, 1), 0);
    stranger.session = 1000;
    assert_int_equal(preprocess_flow_credit(flow, &stranger, KEY, 1000), -1);
    end(flow);
}

/* It would be sent the batches of the one that opened the session, and free them of what they wait for. */
static void whoever_knows_a_session_of_another_key_gives_no_credit(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    order(flow, 0, 1, 0);
    credit(flow, 0, 0, 0, false);
    const struct msg_credit knowing = {
        .job = JOB, .session = LOOP, .worker_session = ME, .granted = 10000, .missing = 2};
    assert_int_equal(preprocess_flow_credit(flow, &knowing, KEY + 1, 1), -1);
    assert_int_equal(flow->consumers[0].granted, 0);
    assert_int_equal(make(flow), 0); /* it is not skipped */
    assert_int_equal(preprocess_flow_credit(flow, &knowing, KEY, 1), 0);
    end(flow);
}

static void a_job_needs_what_its_consumer_lacks_and_the_first_before_it_comes(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    assert_true(preprocess_flow_needs(flow, JOB, 2, 2, true));
    assert_false(preprocess_flow_needs(flow, JOB, 3, 2, true));
    assert_false(preprocess_flow_needs(flow, JOB, 2, 2, false)); /* its consumer has gone */
    order(flow, 0, 1, 0);
    credit(flow, 0, 0, 5, false);
    assert_false(preprocess_flow_needs(flow, JOB, 2, 2, true));
    assert_true(preprocess_flow_needs(flow, JOB, 7, 2, false));
    assert_false(preprocess_flow_needs(flow, JOB, 8, 2, true));
    end(flow);
}

static void what_a_job_has_leased_and_not_made_is_to_be_made(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    assert_false(preprocess_flow_is_to_make(flow, JOB, 0, 0, 0));
    order(flow, 0, 1, 0);
    assert_true(preprocess_flow_is_to_make(flow, JOB, 0, 0, 0));
    assert_false(preprocess_flow_is_to_make(flow, JOB + 1, 0, 0, 0));
    assert_false(preprocess_flow_is_to_make(flow, JOB, 0, 1, 0));
    assert_false(preprocess_flow_is_to_make(flow, JOB, 1, 0, 4));
    assert_int_equal(make(flow), 0);
    assert_false(preprocess_flow_is_to_make(flow, JOB, 0, 0, 0));
    assert_true(preprocess_flow_is_to_make(flow, JOB, 0, 0, 1));
    preprocess_flow_suspend(flow, 100); /* located again: as if it had not begun */
    assert_true(preprocess_flow_is_to_make(flow, JOB, 0, 0, 1));
    end(flow);
}

static void a_suspended_lease_waits_until_it_begins_again(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    order(flow, 0, 1, 0);
    assert_int_equal(make(flow), 0);
    preprocess_flow_suspend(flow, 100);
    assert_int_equal(make(flow), -1);
    preprocess_flow_begin(flow, 100, (struct preprocess_range){0, 2});
    assert_int_equal(make(flow), 1);
    end(flow);
}

static size_t leases_of(const struct worker_flow *flow)
{
    size_t count = 0;
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++)
        count += flow->leases[i].fence != 0;
    return count;
}

static void a_worker_that_drains_ends_what_it_has_begun_and_gives_up_the_rest(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    credit(flow, 1000, 0, 0, false);
    order(flow, 0, 3, 0);
    assert_int_equal(make(flow), 0);
    assert_int_equal(send_one(flow, 1), 0);
    order_to(flow, 0, 3, 1, true);
    assert_int_equal(leases_of(flow), 1);
    assert_non_null(preprocess_flow_lease(flow, 100));
    assert_int_equal(preprocess_flow_want(flow), 0);
    assert_int_equal(make(flow), 1);
    assert_int_equal(send_one(flow, 1), 1);
    assert_true(preprocess_worker_lease_done(preprocess_flow_lease(flow, 100)));
    order_to(flow, 0, 0, 2, true);
    assert_int_equal(leases_of(flow), 0);
    assert_int_equal(preprocess_flow_want(flow), 0);
    order(flow, 3, 0, 3); /* it is to stay after all */
    assert_int_equal(preprocess_flow_want(flow), WORKER_LEASES_WANTED);
    end(flow);
}

/* Work is not thrown away; a lease behind a consumer that takes nothing is given up. */
static void a_worker_that_drains_keeps_the_batch_that_it_makes(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    order(flow, 0, 3, 0);
    order_to(flow, 0, 3, 1, true);
    assert_int_equal(leases_of(flow), 1);
    assert_non_null(preprocess_flow_lease(flow, 100));
    end(flow);
    flow = begin();
    order(flow, 0, 3, 0);
    assert_int_equal(make(flow), 0);
    assert_int_equal(make(flow), 1);
    assert_int_equal(make(flow), -1);
    order_to(flow, 0, 3, 1, true);
    assert_int_equal(leases_of(flow), 1);
    end(flow);
}

static uint64_t work_of(const struct worker_flow *flow)
{
    const struct worker_lease *lease = preprocess_flow_work(flow);
    return lease != NULL ? lease->fence : 0;
}

static void a_worker_is_busy_with_what_it_makes_or_waits_for_and_not_with_credit(void **state)
{
    (void)state;
    struct worker_flow *flow = begin();
    assert_int_equal(work_of(flow), 0);
    order(flow, 0, 2, 0);
    assert_int_equal(work_of(flow), 100);
    preprocess_flow_suspend(flow, 100); /* its samples are located; the next is at work */
    assert_int_equal(work_of(flow), 101);
    preprocess_flow_suspend(flow, 101);
    assert_int_equal(work_of(flow), 100);
    preprocess_flow_begin(flow, 100, (struct preprocess_range){0, 2});
    assert_int_equal(make(flow), 0);
    assert_int_equal(make(flow), 1);
    assert_int_equal(work_of(flow), 0); /* enough wait, whatever is located meanwhile */
    credit(flow, 1000, 0, 0, false);
    assert_int_equal(send_one(flow, 1), 0);
    assert_int_equal(work_of(flow), 101);
    end(flow);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(batches_are_made_and_sent_in_order_within_credit),
        cmocka_unit_test(one_batch_always_passes),
        cmocka_unit_test(what_would_wait_is_known_before_it_is_made),
        cmocka_unit_test(batches_of_all_sizes_pass_one_by_one_or_within_the_window),
        cmocka_unit_test(an_older_batch_is_made_though_enough_wait),
        cmocka_unit_test(void_leases_go_with_their_batches),
        cmocka_unit_test(a_worker_wants_more_when_it_has_sent),
        cmocka_unit_test(a_worker_that_has_nothing_to_make_wants_more),
        cmocka_unit_test(the_older_lease_is_made_whatever_comes_behind_it),
        cmocka_unit_test(nothing_is_sent_without_a_use_lease_or_behind_the_epoch),
        cmocka_unit_test(batches_with_erased_ids_are_made_again),
        cmocka_unit_test(a_lost_batch_is_made_again_after_a_while),
        cmocka_unit_test(what_the_consumer_has_is_skipped),
        cmocka_unit_test(counters_of_another_worker_session_do_not_count),
        cmocka_unit_test(strangers_do_not_crowd_out_who_is_served),
        cmocka_unit_test(whoever_knows_a_session_of_another_key_gives_no_credit),
        cmocka_unit_test(a_job_needs_what_its_consumer_lacks_and_the_first_before_it_comes),
        cmocka_unit_test(what_a_job_has_leased_and_not_made_is_to_be_made),
        cmocka_unit_test(a_suspended_lease_waits_until_it_begins_again),
        cmocka_unit_test(a_worker_that_drains_ends_what_it_has_begun_and_gives_up_the_rest),
        cmocka_unit_test(a_worker_that_drains_keeps_the_batch_that_it_makes),
        cmocka_unit_test(a_worker_is_busy_with_what_it_makes_or_waits_for_and_not_with_credit),
    };
    return cmocka_run_group_tests_name("flow", tests, NULL, NULL);
}
