/* Policies that go on where an earlier process has left them, and models that still know what they have learnt. */
#include "preprocess/dispatcher/scaling.h"

#include "core/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

enum { REPORTS = 60, AFTER = 40, BATCHES = 700, KNEE = 6 };

static const struct scale_setting SETTING = {
    .min.at = {1},
    .max.at = {16, 2},
    .trainer_hour = 4.5,
    .worker_hour = {0.35, 0.1},
};

static struct scaling_job job_of(const struct scale_policy *policy)
{
    return (struct scaling_job){.policy = policy};
}

/* The consumer takes all that is made, up to what KNEE workers make; each 13th report is slower, as reports are. */
static void report(struct scaling_job *job, int number)
{
    const uint32_t *size = job->decision.size.at;
    uint32_t workers = size[SCALE_POOL] + size[SCALE_HOST];
    double rate = workers < KNEE ? workers : KNEE;
    double span_s = BATCHES / rate * (number % 13 == 0 ? 1.2 : 1);
    struct scale_maker makers[32];
    weir_require(workers <= WEIR_COUNT(makers));
    for (uint32_t i = 0; i < workers; i++)
        makers[i] = (struct scale_maker){
            .place = i < size[SCALE_POOL] ? SCALE_POOL : SCALE_HOST,
            .batches = (double)BATCHES / workers,
            .busy_s = (double)BATCHES / workers,
        };
    struct scale_taker taker = {
        .batches = BATCHES,
        .wait_s = workers < KNEE ? span_s * (KNEE - rate) / KNEE : 0,
        .queued = workers < KNEE ? 0.2 : 8,
    };
    const struct scale_report taken = {
        .span_s = span_s,
        .workers = {size[SCALE_POOL], size[SCALE_HOST]},
        .makers = makers,
        .maker_count = workers,
        .takers = &taker,
        .taker_count = 1,
    };
    preprocess_scaling_report(job, &SETTING, &taken);
    const struct scale_counters counters = {
        .read_ns = 1e6 * number,
        .read_bytes = 4e6 * number,
        .operators = {{.ns = 3e6 * number,
                       .taken = 4e6 * number,
                       .made = 1e6 * number,
                       .rows = 100.0 * number,
                       .kept = 60.0 * number}},
        .operator_count = 1,
    };
    preprocess_model_counters(&job->model, &counters);
}

static void assert_same(const struct scaling_job *job, const struct scaling_job *other)
{
    const struct scale_decision *a = &job->decision, *b = &other->decision;
    assert_int_equal(a->size.at[SCALE_POOL], b->size.at[SCALE_POOL]);
    assert_int_equal(a->size.at[SCALE_HOST], b->size.at[SCALE_HOST]);
    assert_true(a->need >= b->need && a->need <= b->need);
    assert_int_equal(a->is_settled, b->is_settled);
    assert_int_equal(job->reports, other->reports);
}

/* A part of what explains a plan. */
static void assert_same_mean(const struct scale_moving *a, const struct scale_moving *b)
{
    assert_memory_equal(a, b, sizeof(*a));
}

static void assert_same_model(const struct scale_model *model, const struct scale_model *other)
{
    assert_int_equal(model->operator_count, other->operator_count);
    assert_same_mean(&model->read_ns, &other->read_ns);
    assert_same_mean(&model->own, &other->own);
    assert_same_mean(&model->stall, &other->stall);
    assert_same_mean(&model->made[SCALE_POOL], &other->made[SCALE_POOL]);
    assert_same_mean(&model->operators[0].batch_ns, &other->operators[0].batch_ns);
    assert_same_mean(&model->operators[0].made, &other->operators[0].made);
    assert_same_mean(&model->operators[0].kept, &other->operators[0].kept);
}

/* Kills the process after `reports`, and compares the next one with one that was never killed. */
static void check_resumed(const struct scale_policy *policy, int reports)
{
    struct scaling_job job = job_of(policy), resumed = job_of(policy);
    assert_true(preprocess_scaling_begin(&job, &SETTING));
    for (int i = 1; i <= reports; i++)
        report(&job, i);
    preprocess_scaling_keep(&job, &resumed.kept);
    assert_true(preprocess_scaling_begin(&resumed, &SETTING));
    assert_same(&job, &resumed);
    assert_same_model(&job.model, &resumed.model);
    assert_string_equal(resumed.decision.why, "resumed");
    for (int i = reports + 1; i <= reports + AFTER; i++) {
        report(&job, i);
        report(&resumed, i);
        assert_same(&job, &resumed);
        assert_string_equal(job.decision.why, resumed.decision.why);
    }
    preprocess_scaling_job_fini(&resumed);
    preprocess_scaling_job_fini(&job);
}

static void every_policy_goes_on_where_it_was_left(void **state)
{
    (void)state;
    for (size_t i = 0; i < preprocess_scale_policy_count(); i++)
        for (int reports = 0; reports <= REPORTS; reports++)
            check_resumed(preprocess_scale_policy_at(i), reports);
}

static void assert_begins(const struct scale_policy *policy, struct weir_bytes kept)
{
    struct scaling_job fresh = job_of(policy), job = job_of(policy);
    weir_buf_append(&job.kept, kept.at, kept.size);
    assert_true(preprocess_scaling_begin(&fresh, &SETTING));
    assert_true(preprocess_scaling_begin(&job, &SETTING));
    assert_same(&fresh, &job);
    assert_string_equal(fresh.decision.why, job.decision.why);
    preprocess_scaling_job_fini(&job);
    preprocess_scaling_job_fini(&fresh);
}

static void what_another_policy_has_left_or_a_part_is_not_taken_up(void **state)
{
    (void)state;
    const struct scale_policy *rates = preprocess_scale_policy_find("rates");
    struct scaling_job job = job_of(rates);
    WEIR_AUTO_BUF kept = {0};
    assert_true(preprocess_scaling_begin(&job, &SETTING));
    for (int i = 1; i <= REPORTS; i++)
        report(&job, i);
    preprocess_scaling_keep(&job, &kept);
    assert_begins(rates, weir_bytes(kept.at, kept.size - 1));
    assert_begins(rates, weir_bytes(kept.at, 0));
    kept.at[0] ^= 1; /* by another version */
    assert_begins(rates, weir_buf_view(&kept));
    kept.at[0] ^= 1;
    assert_begins(preprocess_scale_policy_find("cachew"), weir_buf_view(&kept));
    preprocess_scaling_job_fini(&job);
}

/* Workers have gone on meanwhile: the first counters say nothing of the batches in the first report. */
static void a_model_learns_on_after_a_crash(void **state)
{
    (void)state;
    const struct scale_policy *rates = preprocess_scale_policy_find("rates");
    struct scaling_job job = job_of(rates), resumed = job_of(rates);
    assert_true(preprocess_scaling_begin(&job, &SETTING));
    for (int i = 1; i <= REPORTS; i++)
        report(&job, i);
    struct scale_moving known = job.model.read_ns;
    assert_true(known.count > 0);
    preprocess_scaling_keep(&job, &resumed.kept);
    assert_true(resumed.kept.size < 4096);
    assert_true(preprocess_scaling_begin(&resumed, &SETTING));
    report(&resumed, 2 * REPORTS);
    assert_same_mean(&resumed.model.read_ns, &known);
    for (int i = 2 * REPORTS + 1; i <= 3 * REPORTS; i++)
        report(&resumed, i);
    assert_float_equal(resumed.model.read_ns.mean, known.mean, known.mean / 100);
    preprocess_scaling_job_fini(&resumed);
    preprocess_scaling_job_fini(&job);
}

/* A program of the same version, with a policy of the same name and size: the state may mean something else. */
static void what_another_program_has_left_is_not_taken_up(void **state)
{
    (void)state;
    uint8_t left[1 << 16];
    FILE *output = popen(WEIR_TEST_BIN_DIR "/scaling_left", "r");
    assert_non_null(output);
    size_t size = fread(left, 1, sizeof(left), output);
    assert_int_equal(pclose(output), 0);
    assert_in_range(size, 1, sizeof(left) - 1);
    assert_begins(preprocess_scale_policy_find("rates"), weir_bytes(left, size));
}

static void a_size_is_taken_up_within_the_bounds_of_now(void **state)
{
    (void)state;
    const struct scale_policy *rates = preprocess_scale_policy_find("rates");
    struct scale_setting narrow = SETTING;
    struct scaling_job job = job_of(rates), resumed = job_of(rates);
    narrow.max.at[SCALE_POOL] = 2;
    assert_true(preprocess_scaling_begin(&job, &SETTING));
    for (int i = 1; i <= REPORTS; i++)
        report(&job, i);
    assert_true(job.decision.size.at[SCALE_POOL] > 2);
    preprocess_scaling_keep(&job, &resumed.kept);
    assert_true(preprocess_scaling_begin(&resumed, &narrow));
    assert_int_equal(resumed.decision.size.at[SCALE_POOL], 2);
    preprocess_scaling_job_fini(&resumed);
    preprocess_scaling_job_fini(&job);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_policy_goes_on_where_it_was_left),
        cmocka_unit_test(what_another_policy_has_left_or_a_part_is_not_taken_up),
        cmocka_unit_test(a_model_learns_on_after_a_crash),
        cmocka_unit_test(what_another_program_has_left_is_not_taken_up),
        cmocka_unit_test(a_size_is_taken_up_within_the_bounds_of_now),
    };
    return cmocka_run_group_tests_name("scaling", tests, NULL, NULL);
}
