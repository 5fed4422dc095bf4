/* Cumulative counters → reports: the rules of preprocess/scale/spans.h. */
#include "preprocess/scale/rates.h"
#include "preprocess/scale/spans.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

enum { WORKER = 11, LOOP = 21, BEAT_MS = 300 };

/* A worker that makes a batch every `made_ms` it is busy, and a consumer that takes one every `taken_ms` it has any. */
struct life {
    struct spans spans;
    int64_t now_ms;
    double made, taken, busy_s, waited_s;
    uint64_t worker, loop; /* sessions */
};

static struct life life_begin(void)
{
    struct life life = {.now_ms = 100000, .worker = WORKER, .loop = LOOP};
    const struct spans_workers one = {.at = {1, 0}, .sessions = WORKER};
    preprocess_spans_serve(&life.spans, &one, life.now_ms);
    life.now_ms += SPANS_SETTLE_MS;
    return life;
}

static void beat(struct life *life)
{
    preprocess_spans_make(&life->spans, SCALE_POOL,
                          &(struct spans_counters){.session = life->worker,
                                                   .batches = (uint64_t)life->made,
                                                   .ns = (int64_t)(life->busy_s * 1e9),
                                                   .at_ms = life->now_ms});
    preprocess_spans_take(&life->spans, 0,
                          &(struct spans_counters){.session = life->loop,
                                                   .batches = (uint64_t)life->taken,
                                                   .ns = (int64_t)(life->waited_s * 1e9),
                                                   .at_ms = life->now_ms},
                          3);
}

/* Until the next report; rates in batches a second. */
static struct scale_report live(struct life *life, double rate, double busy, double waits)
{
    struct scale_report report;
    bool is_there = false;
    for (int i = 0; i < 100 && !is_there; i++) {
        life->now_ms += BEAT_MS;
        life->made += rate * BEAT_MS / 1e3;
        life->taken += rate * BEAT_MS / 1e3;
        life->busy_s += busy * BEAT_MS / 1e3;
        life->waited_s += waits * BEAT_MS / 1e3;
        beat(life);
        is_there = preprocess_spans_end(&life->spans, life->now_ms, &report);
    }
    assert_true(is_there);
    return report;
}

static void assert_near(double value, double expected)
{
    if (value < 0.95 * expected || value > 1.05 * expected)
        fail_msg("%g, expected about %g", value, expected);
}

static void rates_are_those_of_the_time_between_beats(void **state)
{
    (void)state;
    struct life life = life_begin();
    beat(&life);
    for (int i = 0; i < 5; i++) {
        struct scale_report report = live(&life, 20, 0.5, 0.2);
        assert_int_equal(report.workers[SCALE_POOL], 1);
        assert_int_equal(report.maker_count, 1);
        assert_int_equal(report.taker_count, 1);
        assert_true(report.span_s >= SPANS_MS / 1e3 &&
                    report.span_s < (SPANS_MS + 2 * BEAT_MS) / 1e3);
        assert_near(preprocess_scale_made(&report, SCALE_POOL), 40);
        assert_near(preprocess_scale_wanted(&report), 25);
        assert_near(report.takers[0].queued, 3);
    }
    preprocess_spans_fini(&life.spans);
}

static void a_hundred_batches_end_a_span_early(void **state)
{
    (void)state;
    struct life life = life_begin();
    beat(&life);
    struct scale_report report = live(&life, 1000, 1, 0);
    assert_true(report.span_s >= SPANS_LEAST_MS / 1e3 &&
                report.span_s <= (SPANS_LEAST_MS + BEAT_MS) / 1e3);
    assert_near(preprocess_scale_wanted(&report), 1000);
    preprocess_spans_fini(&life.spans);
}

/* A beat comes less often than spans end: its counters are not lost. */
static void a_worker_that_beats_seldom_counts_when_it_does(void **state)
{
    (void)state;
    struct life life = life_begin();
    double batches = 0;
    beat(&life);
    for (int second = 1; second <= 60; second++) {
        struct scale_report report;
        life.now_ms += 1000;
        life.made += 2;
        life.busy_s += 1;
        preprocess_spans_take(&life.spans, 0,
                              &(struct spans_counters){.session = LOOP, .at_ms = life.now_ms}, 0);
        if (second % 5 == 0)
            beat(&life);
        if (!preprocess_spans_end(&life.spans, life.now_ms, &report) || report.maker_count == 0)
            continue;
        assert_near(preprocess_scale_made(&report, SCALE_POOL), 2);
        batches += report.makers[0].batches;
    }
    assert_true(batches > 0);
    preprocess_spans_fini(&life.spans);
}

static void a_consumer_that_begins_again_throws_the_span_away(void **state)
{
    (void)state;
    struct life life = life_begin();
    struct scale_report report;
    beat(&life);
    (void)live(&life, 20, 1, 0.5);
    life.now_ms += BEAT_MS; /* it counts from 0, and its counters would be smaller than before */
    life.loop++;
    life.taken = life.waited_s = 0;
    beat(&life);
    assert_false(preprocess_spans_end(&life.spans, life.now_ms, &report));
    report = live(&life, 20, 1, 0.5);
    assert_near(preprocess_scale_wanted(&report), 40);
    preprocess_spans_fini(&life.spans);
}

static void a_dispatcher_that_has_restarted_counts_from_what_it_hears_first(void **state)
{
    (void)state;
    struct life life = life_begin();
    life.made = life.taken = 1000000;
    life.busy_s = life.waited_s = 5000;
    beat(&life);
    struct scale_report report = live(&life, 20, 1, 0.5);
    assert_near(preprocess_scale_made(&report, SCALE_POOL), 20);
    assert_near(preprocess_scale_wanted(&report), 40);
    preprocess_spans_fini(&life.spans);
}

/* Another worker comes amidst the span: none of the report is of before. */
static void a_change_of_size_throws_the_span_away(void **state)
{
    (void)state;
    struct life life = life_begin();
    beat(&life);
    (void)live(&life, 20, 1, 0.5);
    life.now_ms += BEAT_MS;
    beat(&life);
    int64_t changed_ms = life.now_ms;
    const struct spans_workers two = {.at = {2, 0}, .sessions = WORKER + 12};
    preprocess_spans_serve(&life.spans, &two, changed_ms);
    struct scale_report report = live(&life, 40, 1, 0);
    assert_int_equal(report.workers[SCALE_POOL], 2);
    assert_true(life.now_ms - (int64_t)(report.span_s * 1e3) >= changed_ms + SPANS_SETTLE_MS);
    assert_near(preprocess_scale_wanted(&report), 40);
    preprocess_spans_fini(&life.spans);
}

static void a_pool_that_changes_all_the_time_is_reported_of_nevertheless(void **state)
{
    (void)state;
    struct life life = life_begin();
    struct scale_report report;
    int reports = 0;
    beat(&life);
    for (uint32_t i = 1; i <= 100; i++) {
        const struct spans_workers others = {.at = {1 + i % 3, 0}, .sessions = i};
        life.now_ms += BEAT_MS;
        life.taken += 3;
        beat(&life);
        preprocess_spans_serve(&life.spans, &others, life.now_ms);
        reports += preprocess_spans_end(&life.spans, life.now_ms, &report);
    }
    assert_true(reports > 0);
    preprocess_spans_fini(&life.spans);
}

/* Lags for as long; returns the beats until a report, which is of afterwards. */
static int beats_held(struct life *life, int64_t lags_ms)
{
    struct scale_report report;
    int64_t until_ms = life->now_ms + lags_ms;
    int beats = 0;
    bool is_there = false;
    while (!is_there) {
        life->now_ms += BEAT_MS;
        life->taken += 3;
        beat(life);
        preprocess_spans_hold(&life->spans, life->now_ms < until_ms, life->now_ms);
        is_there = preprocess_spans_end(&life->spans, life->now_ms, &report);
        beats++;
    }
    assert_true(report.span_s <= (SPANS_MS + 2 * BEAT_MS) / 1e3);
    return beats;
}

static void while_batches_of_workers_before_come_there_is_no_report_for_a_minute(void **state)
{
    (void)state;
    struct life life = life_begin();
    beat(&life);
    int until_report = beats_held(&life, 0);
    assert_int_equal(beats_held(&life, 30000), until_report + 30000 / BEAT_MS - 1);
    assert_true(beats_held(&life, 10 * SPANS_HELD_MS) <=
                until_report + SPANS_HELD_MS / BEAT_MS + 1);
    preprocess_spans_fini(&life.spans);
}

static void without_a_consumer_there_is_no_report(void **state)
{
    (void)state;
    struct life life = life_begin();
    struct scale_report report;
    beat(&life);
    for (int i = 0; i < 50; i++) {
        life.now_ms += BEAT_MS;
        preprocess_spans_make(&life.spans, SCALE_POOL,
                              &(struct spans_counters){.session = WORKER, .at_ms = life.now_ms});
        assert_false(preprocess_spans_end(&life.spans, life.now_ms, &report));
    }
    preprocess_spans_fini(&life.spans);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rates_are_those_of_the_time_between_beats),
        cmocka_unit_test(a_hundred_batches_end_a_span_early),
        cmocka_unit_test(a_worker_that_beats_seldom_counts_when_it_does),
        cmocka_unit_test(a_consumer_that_begins_again_throws_the_span_away),
        cmocka_unit_test(a_dispatcher_that_has_restarted_counts_from_what_it_hears_first),
        cmocka_unit_test(a_change_of_size_throws_the_span_away),
        cmocka_unit_test(a_pool_that_changes_all_the_time_is_reported_of_nevertheless),
        cmocka_unit_test(while_batches_of_workers_before_come_there_is_no_report_for_a_minute),
        cmocka_unit_test(without_a_consumer_there_is_no_report),
    };
    return cmocka_run_group_tests_name("spans", tests, NULL, NULL);
}
