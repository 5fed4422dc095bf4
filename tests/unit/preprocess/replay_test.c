/* A recorded run, replayed: through the policy that decided in it, and through the model of its job. The run is that of
 * a simulated job, whose consumer takes 10 batches a second and from the middle on 20; a batch of 64 rows takes 0.1 s
 * to read and 0.2, 0.06 and 0.04 s in its operators, of which the second keeps half of the rows.
 *
 * WEIR_UPDATE_GOLDEN=1 records it anew. */
#include "core/base/elementary.h"
#include "core/base/file.h"
#include "core/base/lines.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "preprocess/scale/model.h"
#include "tests/unit/preprocess/recorded_line.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

static const char PATH[] = WEIR_SOURCE_DIR "/tests/unit/preprocess/golden/scaling_run.txt";
enum { REPORTS = 80, OPERATORS = 3, BATCH_ROWS = 64, FILE_MAX = 1 << 20 };
static const double READ_S = 0.1, OPERATOR_S[OPERATORS] = {0.2, 0.06, 0.04}, NOISE = 0.05;
static const double TAKEN_BYTES[OPERATORS] = {1000, 4000, 4000}, MADE_BYTES[] = {4000, 2000, 1000};
static const double KEPT[OPERATORS] = {1, 0.5, 1}, ROWS[OPERATORS] = {64, 64, 32};

/* ---- recording ---- */

static double noise(struct weir_rng *rng)
{
    double radius = sqrt(-2 * weir_ln(1 - weir_rng_unit(rng)));
    return weir_exp(NOISE * radius * weir_cospi(2 * weir_rng_unit(rng)));
}

/* To a number that is short in decimals too. */
static double rounded(double value)
{
    return floor(value * 256) / 256;
}

static double batch_s(void)
{
    return READ_S + OPERATOR_S[0] + OPERATOR_S[1] + OPERATOR_S[2];
}

struct recorder {
    struct weir_rng rng;
    struct recording_stamp stamp;
    struct scale_setting setting;
    struct scale_decision decision;
    struct scale_counters counters;
    struct weir_buf *out;
    void *state;
};

static void record_cost(struct recorder *recorder, double batches)
{
    struct scale_counters *counters = &recorder->counters;
    counters->read_ns += rounded(batches * READ_S * 1e9 * noise(&recorder->rng));
    counters->read_bytes += batches * BATCH_ROWS * TAKEN_BYTES[0];
    counters->queued_ns += rounded(batches * 1e6);
    counters->sent_bytes += batches * BATCH_ROWS / 2 * MADE_BYTES[OPERATORS - 1];
    counters->operator_count = OPERATORS;
    for (size_t i = 0; i < OPERATORS; i++) {
        struct ordering_cost *cost = &counters->operators[i];
        cost->ns += rounded(batches * OPERATOR_S[i] * 1e9 * noise(&recorder->rng));
        cost->rows += batches * ROWS[i];
        cost->kept += batches * ROWS[i] * KEPT[i];
        cost->taken += batches * ROWS[i] * TAKEN_BYTES[i];
        cost->made += batches * ROWS[i] * MADE_BYTES[i];
    }
    preprocess_recording_cost(recorder->stamp, counters, recorder->out);
}

static void record_report(struct recorder *recorder, const struct scale_policy *policy,
                          double wanted)
{
    enum { WORKERS_MAX = 32 };
    uint32_t workers = recorder->decision.size.at[SCALE_POOL];
    struct scale_maker makers[WORKERS_MAX];
    double rate = fmin(workers / batch_s(), wanted) * noise(&recorder->rng);
    double batches = rounded(2 * rate);
    struct scale_taker taker = {batches, rounded(fmax(2 - batches / wanted, 0)), 0};
    struct scale_report report = {.span_s = 2,
                                  .workers = {workers, 0},
                                  .makers = makers,
                                  .maker_count = workers,
                                  .takers = &taker,
                                  .taker_count = 1};
    for (uint32_t i = 0; i < workers; i++)
        makers[i] = (struct scale_maker){
            SCALE_POOL, batches / workers,
            rounded(fmin(2, batches / workers * batch_s() * noise(&recorder->rng)))};
    recorder->stamp.at_ms += 2000;
    preprocess_recording_report(recorder->stamp, &report, recorder->out);
    policy->report(recorder->state, &recorder->setting, &report, &recorder->decision);
    preprocess_recording_decision(recorder->stamp, &recorder->decision, recorder->out);
    record_cost(recorder, batches);
}

static void record_run(const struct scale_policy *policy, struct weir_buf *out)
{
    struct recorder recorder = {
        .stamp = {.job = 7},
        .setting = {.min = {{1, 0}}, .max = {{16, 0}}, .trainer_hour = 5, .worker_hour = {0.25, 0}},
        .out = out,
        .state = weir_calloc(1, policy->state_size)};
    weir_rng_init(&recorder.rng, 20);
    preprocess_recording_setting(recorder.stamp, policy->name, &recorder.setting, out);
    policy->begin(recorder.state, &recorder.setting, &recorder.decision);
    preprocess_recording_decision(recorder.stamp, &recorder.decision, out);
    record_cost(&recorder, 0);
    for (size_t i = 0; i < REPORTS; i++)
        record_report(&recorder, policy, i < REPORTS / 2 ? 10 : 20);
    free(recorder.state);
}

/* ---- replaying ---- */

struct replayed {
    const struct scale_policy *policy;
    void *state;
    struct scale_setting setting;
    struct scale_decision decision;
    struct scale_model model;
    size_t decisions;
    double own_middle; /* as of the model, before the consumer changed */
};

static void replay(struct replayed *run, const struct recorded_line *line)
{
    switch (line->kind) {
    case RECORDED_SETTING:
        run->setting = line->setting;
        run->policy = preprocess_scale_policy_find(line->policy);
        assert_non_null(run->policy);
        run->state = weir_calloc(1, run->policy->state_size);
        run->policy->begin(run->state, &run->setting, &run->decision);
        break;
    case RECORDED_REPORT:
        assert_non_null(run->policy);
        run->policy->report(run->state, &run->setting, &line->report, &run->decision);
        preprocess_model_report(&run->model, &line->report);
        break;
    case RECORDED_COST:
        preprocess_model_counters(&run->model, &line->counters);
        break;
    case RECORDED_DECISION:
        assert_memory_equal(&run->decision.size, &line->decision.size, sizeof(struct scale_size));
        assert_memory_equal(&run->decision.need, &line->decision.need, sizeof(double));
        assert_string_equal(run->decision.why, line->decision.why);
        assert_int_equal(run->decision.is_settled, line->decision.is_settled);
        if (++run->decisions == REPORTS / 2 + 1)
            run->own_middle = run->model.own.mean;
        break;
    case RECORDED_KINDS:
        break;
    }
}

static void replay_file(struct replayed *run)
{
    WEIR_AUTO_BUF text = {0};
    struct recorded_line line = {0};
    struct weir_error err = {0};
    assert_int_equal(weir_file_read(PATH, FILE_MAX, &text, &err), WEIR_OK);
    struct weir_bytes rest = weir_buf_view(&text);
    for (size_t size = weir_line(rest); size > 0; size = weir_line(rest)) {
        struct weir_bytes of = weir_chomp(weir_bytes(rest.at, size));
        if (read_recorded_line(&line, of, &err) != WEIR_OK)
            fail_msg("%s", err.text);
        replay(run, &line);
        rest = weir_bytes(rest.at + size, rest.size - size);
    }
    assert_int_equal(rest.size, 0);
    fini_recorded_line(&line);
    free(run->state);
}

static void expect_about(double found, double expected, double tolerance)
{
    if (!(fabs(found - expected) <= tolerance * expected))
        fail_msg("expected about %g, found %g", expected, found);
}

static void the_policy_decides_as_it_did(void **state)
{
    (void)state;
    struct replayed run = {0};
    replay_file(&run);
    assert_int_equal(run.decisions, REPORTS + 1);
    assert_in_range(run.decision.size.at[SCALE_POOL], 7, 9);
}

static void the_model_knows_what_a_batch_costs_and_who_takes_it(void **state)
{
    (void)state;
    struct replayed run = {0};
    replay_file(&run);
    const struct scale_model *model = &run.model;
    expect_about(run.own_middle, 10, 0.05);
    expect_about(model->own.mean, 20, 0.05);
    expect_about(model->made[SCALE_POOL].mean, 1 / batch_s(), 0.05);
    expect_about(model->read_ns.mean, READ_S * 1e9, 0.05);
    assert_int_equal(model->operator_count, OPERATORS);
    for (size_t i = 0; i < OPERATORS; i++) {
        expect_about(model->operators[i].batch_ns.mean, OPERATOR_S[i] * 1e9, 0.05);
        expect_about(model->operators[i].kept.mean, KEPT[i], 1e-9);
        expect_about(model->operators[i].taken.mean, TAKEN_BYTES[i], 1e-9);
        expect_about(model->operators[i].made.mean, MADE_BYTES[i], 1e-9);
        expect_about(sqrt(model->operators[i].batch_ns.variance),
                     NOISE * model->operators[i].batch_ns.mean, 0.6);
    }
    assert_true(model->stall.mean < 0.1);
}

static void its_optimum_names_the_limit_and_what_would_bring_more(void **state)
{
    (void)state;
    struct replayed run = {0};
    struct optimum_problem problem;
    struct optimum optimum;
    struct optimum_otherwise otherwise;
    struct optimum_stage cache[OPTIMUM_STAGES_MAX];
    replay_file(&run);
    struct scale_surroundings surroundings = {.cores = 3};
    assert_true(preprocess_model_problem(&run.model, &surroundings, &problem));
    preprocess_optimum_solve(&problem, &optimum);
    expect_about(optimum.rate, 3 / 0.3, 0.05);
    assert_int_equal(optimum.limit, OPTIMUM_CORES);
    assert_int_equal(optimum.stage, 1);
    for (size_t i = 0; i < problem.stage_count; i++)
        cache[i] = preprocess_model_cache(&run.model, &problem, i);
    expect_about(cache[1].bytes, 4 * BATCH_ROWS * TAKEN_BYTES[0], 1e-6);
    preprocess_optimum_otherwise(&problem, cache, &otherwise);
    expect_about(otherwise.one_more_core, 4 / 0.3, 0.05);
    expect_about(otherwise.cached[1], 20, 0.05); /* the consumer takes no more */
    surroundings.sequential = 1 << 1;
    surroundings.cores = 8;
    assert_true(preprocess_model_problem(&run.model, &surroundings, &problem));
    preprocess_optimum_solve(&problem, &optimum);
    expect_about(optimum.rate, 1 / OPERATOR_S[1], 0.05);
    assert_int_equal(optimum.limit, OPTIMUM_STAGE);
    assert_int_equal(optimum.stage, 2);
}

static void counters_that_fall_begin_again(void **state)
{
    (void)state;
    struct scale_model model = {0};
    struct scale_maker maker = {SCALE_POOL, 10, 1};
    struct scale_taker taker = {10, 0, 1};
    struct scale_report report = {
        .span_s = 1, .makers = &maker, .maker_count = 1, .takers = &taker, .taker_count = 1};
    struct scale_counters counters = {.read_ns = 5e9};
    preprocess_model_counters(&model, &counters);
    preprocess_model_report(&model, &report);
    counters.read_ns = 1e9; /* of another start of the dispatcher */
    preprocess_model_counters(&model, &counters);
    expect_about(model.read_ns.count + 1, 1, 1e-9);
    preprocess_model_report(&model, &report);
    counters.read_ns = 2e9;
    preprocess_model_counters(&model, &counters);
    expect_about(model.read_ns.mean, 1e8, 1e-9);
    preprocess_model_report(&model, &report);
    counters.operator_count = 1; /* of another chain */
    counters.read_ns = 9e9;
    preprocess_model_counters(&model, &counters);
    expect_about(model.read_ns.mean, 1e8, 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_policy_decides_as_it_did),
        cmocka_unit_test(the_model_knows_what_a_batch_costs_and_who_takes_it),
        cmocka_unit_test(its_optimum_names_the_limit_and_what_would_bring_more),
        cmocka_unit_test(counters_that_fall_begin_again),
    };
    if (getenv("WEIR_UPDATE_GOLDEN") != NULL) {
        WEIR_AUTO_BUF text = {0};
        struct weir_error err = {0};
        record_run(preprocess_scale_policy_find("rates"), &text);
        if (weir_file_write_atomic(PATH, weir_buf_view(&text), &err) != WEIR_OK) {
            fprintf(stderr, "%s\n", err.text);
            return 1;
        }
    }
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
