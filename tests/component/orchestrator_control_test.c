/* Orders of people to a pipeline, against real Postgres and scripted services: orders come about, change no model, and
 * survive a death at any moment. */
#include "tests/component/orchestrator_stage.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/db/db.h"
#include "orchestrator/erasures/erasure.h"
#include "orchestrator/pipeline/spending.h"
#include "tests/support/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char PIPELINE[] = "pipeline: {name: p}\n"
                               "datasets: [{name: notes}]\n"
                               "trigger: {policy: amount, samples: 30}\n"
                               "selection: {}\npreprocess: {}\ntraining: {}\n";
static const char OTHER[] = "pipeline: {name: q}\n"
                            "datasets: [{name: notes}]\n"
                            "trigger: {policy: amount, samples: 60}\n"
                            "selection: {}\npreprocess: {}\ntraining: {start_from: p-2}\n";

static struct pipeline *pipeline_of(const struct stage *stage)
{
    struct pipeline *pipeline = orchestrator_pipeline_by_name(&stage->orch->pipelines, "p");
    assert_non_null(pipeline);
    return pipeline;
}

static enum pipeline_state state_of(const struct stage *stage)
{
    return orchestrator_pipeline_state(pipeline_of(stage));
}

static void until_state(struct stage *stage, enum pipeline_state wanted)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    while (state_of(stage) != wanted) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(stage->loop, TEST_STEP_MS);
    }
}

static void die_and_return(struct stage *stage)
{
    stage_kill(stage);
    stage_begin(stage);
}

/* Writes the models of an undisturbed run; the database is empty again afterwards. */
static void expect_models(struct stage *stage, struct weir_buf *expected)
{
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    stage_models(stage, expected);
    stage_begin_again(stage);
}

static void assert_models(struct stage *stage, struct weir_buf *expected)
{
    WEIR_AUTO_BUF models = {0};
    stage_models(stage, &models);
    assert_string_equal(weir_buf_text(&models), weir_buf_text(expected));
}

static void a_pause_waits_for_the_trigger_under_way_whoever_dies(void **state)
{
    struct stage *stage = *state;
    struct weir_error err;
    WEIR_AUTO_BUF expected = {0};
    expect_models(stage, &expected);
    (void)stage_submit(stage, PIPELINE);
    until_state(stage, PIPELINE_TRAINING);
    assert_int_equal(orchestrator_pipeline_pause(pipeline_of(stage), &err), WEIR_OK);
    assert_string_equal(orchestrator_pipeline_order(pipeline_of(stage)), "pause");
    assert_int_equal(state_of(stage), PIPELINE_TRAINING);
    die_and_return(stage);
    until_state(stage, PIPELINE_PAUSED);
    assert_int_equal(stage_reported(stage, "\"event\":\"model_stored\""), 1);
    assert_string_equal(orchestrator_pipeline_order(pipeline_of(stage)), "");
    die_and_return(stage);
    test_loop_rounds(stage->loop, 20);
    assert_int_equal(state_of(stage), PIPELINE_PAUSED);
    assert_int_equal(orchestrator_pipeline_pause(pipeline_of(stage), &err), WEIR_OK);
    assert_int_equal(orchestrator_pipeline_resume(pipeline_of(stage), &err), WEIR_OK);
    until_state(stage, PIPELINE_FINISHED);
    assert_int_equal(stage_reported(stage, "\"event\":\"pipeline_paused\""), 1);
    assert_int_equal(orchestrator_pipeline_resume(pipeline_of(stage), &err), WEIR_UNSUPPORTED);
    assert_models(stage, &expected);
}

static void a_pause_that_has_not_come_about_is_withdrawn(void **state)
{
    struct stage *stage = *state;
    struct weir_error err;
    (void)stage_submit(stage, PIPELINE);
    until_state(stage, PIPELINE_TRAINING);
    assert_int_equal(orchestrator_pipeline_pause(pipeline_of(stage), &err), WEIR_OK);
    assert_int_equal(orchestrator_pipeline_resume(pipeline_of(stage), &err), WEIR_OK);
    until_state(stage, PIPELINE_FINISHED);
    assert_int_equal(stage_reported(stage, "\"event\":\"pipeline_paused\""), 0);
}

static void a_stop_breaks_off_any_state_and_changes_no_model(void **state)
{
    static const enum pipeline_state STATES[] = {PIPELINE_SCANNING, PIPELINE_READING,
                                                 PIPELINE_SELECTING, PIPELINE_TRAINING,
                                                 PIPELINE_STORING};
    struct stage *stage = *state;
    struct weir_error err;
    WEIR_AUTO_BUF expected = {0};
    expect_models(stage, &expected);
    (void)stage_submit(stage, PIPELINE);
    for (size_t i = 0; i < WEIR_COUNT(STATES); i++) {
        until_state(stage, STATES[i]);
        assert_int_equal(orchestrator_pipeline_stop(pipeline_of(stage), &err), WEIR_OK);
        assert_int_equal(state_of(stage), PIPELINE_STOPPED);
        assert_true(LIST_EMPTY(&stage->orch->runs.all));
        if (i % 2 == 0)
            die_and_return(stage);
        test_loop_rounds(stage->loop, 10);
        assert_int_equal(state_of(stage), PIPELINE_STOPPED);
        assert_int_equal(orchestrator_pipeline_stop(pipeline_of(stage), &err), WEIR_OK);
        assert_int_equal(orchestrator_pipeline_resume(pipeline_of(stage), &err), WEIR_OK);
    }
    until_state(stage, PIPELINE_FINISHED);
    assert_int_equal(orchestrator_pipeline_stop(pipeline_of(stage), &err), WEIR_UNSUPPORTED);
    assert_models(stage, &expected);
}

static void a_removal_keeps_what_other_pipelines_came_from_whoever_dies(void **state)
{
    struct stage *stage = *state;
    struct weir_error err;
    for (int rounds = 1; rounds < 8; rounds += 3) {
        WEIR_AUTO_BUF models = {0};
        assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
        assert_int_equal(stage_run(stage, OTHER), PIPELINE_FINISHED);
        int64_t number = orchestrator_pipeline_id(pipeline_of(stage));
        assert_int_equal(orchestrator_pipeline_remove(pipeline_of(stage), false, &err), WEIR_OK);
        for (int step = rounds; orchestrator_pipeline_by_name(&stage->orch->pipelines, "p") != NULL;
             step += step / 8 + 1) {
            test_loop_rounds(stage->loop, step);
            die_and_return(stage);
        }
        assert_true(stage->forgotten > 0);
        assert_int_equal(orchestrator_pipeline_state(
                             orchestrator_pipeline_by_id(&stage->orch->pipelines, number)),
                         PIPELINE_REMOVED);
        stage_models(stage, &models);
        assert_non_null(strstr(weir_buf_text(&models), "p-1 stored")); /* p-2 came from it */
        assert_non_null(strstr(weir_buf_text(&models), "p-2 stored"));
        assert_non_null(strstr(weir_buf_text(&models), "p-3 dropped"));
        assert_non_null(strstr(weir_buf_text(&models), "q-1 stored"));
        assert_int_equal(
            stage_reported(stage, "\"models_dropped\":[\"p-3\"],\"models_kept\":[\"p-1\""), 1);
        stage_begin_again(stage);
    }
}

static void what_stands_in_the_way_of_a_removal_is_told_once_and_it_is_tried_again(void **state)
{
    struct stage *stage = *state;
    struct weir_error err;
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    stage->forgets_fail = 3;
    assert_int_equal(orchestrator_pipeline_remove(pipeline_of(stage), false, &err), WEIR_OK);
    stage_until_reported(stage, "\"event\":\"error\"", 1);
    assert_int_equal(state_of(stage), PIPELINE_REMOVING);
    assert_non_null(strstr(orchestrator_pipeline_error(pipeline_of(stage)), "a set cannot be"));
    die_and_return(stage);
    assert_non_null(strstr(orchestrator_pipeline_error(pipeline_of(stage)), "a set cannot be"));
    while (orchestrator_pipeline_by_name(&stage->orch->pipelines, "p") != NULL)
        weir_loop_step(stage->loop, TEST_STEP_MS);
    assert_int_equal(stage->forgets_fail, 0);
    assert_int_equal(stage_reported(stage, "\"event\":\"error\""), 1);
    assert_int_equal(stage_reported(stage, "\"event\":\"pipeline_removed\""), 1);
}

/* Row 40 is in the set of the second trigger of p, and in that of q. */
static void an_erasure_retires_models_of_a_removed_pipeline_and_replaces_the_others(void **state)
{
    struct stage *stage = *state;
    struct weir_error err;
    WEIR_AUTO_BUF models = {0};
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    assert_int_equal(stage_run(stage, OTHER), PIPELINE_FINISHED);
    assert_int_equal(orchestrator_pipeline_remove(pipeline_of(stage), false, &err), WEIR_OK);
    while (orchestrator_pipeline_by_name(&stage->orch->pipelines, "p") != NULL)
        weir_loop_step(stage->loop, TEST_STEP_MS);
    weir_bits_set(&stage->erased, 40);
    stage->erasures = 1;
    stage->in_force = true;
    stage_accept(stage, 1, "file 7");
    stage_until_reported(stage, "\"step\":\"receipt\"", 1);
    stage_models(stage, &models);
    assert_non_null(strstr(weir_buf_text(&models), "p-1 stored"));
    assert_non_null(strstr(weir_buf_text(&models), "p-2 retired"));
    assert_non_null(strstr(weir_buf_text(&models), "p-3 dropped"));
    assert_non_null(strstr(weir_buf_text(&models), "q-1 replaced"));
    assert_non_null(strstr(weir_buf_text(&models), "q-1-e1 stored"));
}

static void on_noted(void *owner, const struct weir_error *err)
{
    assert_null(err);
    ++*(size_t *)owner;
}

static void requests_wait_while_their_table_is_rewritten(void **state)
{
    enum { REQUESTS = 3, STEPS = 60 };
    struct stage *stage = *state;
    struct weir_error err;
    struct weir_db *other = NULL;
    size_t noted = 0;
    assert_int_equal(weir_db_open(stage->postgres.conninfo, "orchestrator", NULL, 0, &other, &err),
                     WEIR_OK);
    assert_int_equal(weir_db_exec(other,
                                  "BEGIN; LOCK TABLE orchestrator.erasure IN ACCESS EXCLUSIVE MODE",
                                  &err),
                     WEIR_OK);
    for (int64_t i = 1; i <= REQUESTS; i++) {
        const struct erasure_names names = {.number = i, .dataset = "notes", .reference = "file"};
        orchestrator_erasure_note(stage->orch->erasures, &names, on_noted, &noted);
    }
    for (size_t i = 0; i < STEPS; i++) /* several tries */
        weir_loop_step(stage->loop, TEST_STEP_MS);
    assert_int_equal(noted, 0);
    weir_db_close(other);
    while (noted < REQUESTS)
        weir_loop_step(stage->loop, TEST_STEP_MS);
    stage_until_reported(stage, "\"step\":\"accepted\"", REQUESTS);
}

static void a_rerun_begins_anew_and_keeps_the_models_of_the_earlier_run(void **state)
{
    struct stage *stage = *state;
    struct weir_error err;
    WEIR_AUTO_BUF models = {0};
    (void)stage_submit(stage, PIPELINE);
    until_state(stage, PIPELINE_TRAINING);
    stage_until_reported(stage, "\"event\":\"model_stored\"", 1);
    int64_t number = orchestrator_pipeline_id(pipeline_of(stage));
    assert_int_equal(orchestrator_pipeline_remove(pipeline_of(stage), true, &err), WEIR_OK);
    assert_int_equal(orchestrator_pipeline_remove(pipeline_of(stage), true, &err), WEIR_OK);
    assert_int_equal(orchestrator_pipeline_remove(pipeline_of(stage), false, &err),
                     WEIR_UNSUPPORTED);
    die_and_return(stage);
    while (orchestrator_pipeline_id(pipeline_of(stage)) == number)
        weir_loop_step(stage->loop, TEST_STEP_MS);
    until_state(stage, PIPELINE_FINISHED);
    stage_models(stage, &models);
    assert_non_null(strstr(weir_buf_text(&models), "p-1 stored"));
    assert_null(strstr(weir_buf_text(&models), "p-3 "));
    assert_non_null(strstr(weir_buf_text(&models), "p.2-3 stored"));
    assert_null(strstr(weir_buf_text(&models), "from p-1"));
}

static const char WITH_GPUS[] = "pipeline: {name: p}\n"
                                "datasets: [{name: notes}]\n"
                                "trigger: {policy: amount, samples: 30}\n"
                                "selection: {}\npreprocess: {}\ntraining: {gpus: 2}\n";

/* By the stage's prices a GPU second costs a million. */
static const char HELD[] =
    "DO $$ BEGIN SET LOCAL search_path = orchestrator; "
    "ASSERT (SELECT count(*) FROM run WHERE gpus = 2 AND held_ns > 0 AND started_us > 0) = 3; "
    "ASSERT (SELECT bool_and((cost::json ->> 'gpu_seconds')::float8 > 0) FROM model); "
    "ASSERT (SELECT abs(sum((cost::json ->> 'money')::float8) - "
    "(SELECT sum(gpus * held_ns) / 1e3 FROM run)) < 0.01 FROM model); END $$";

static void a_training_holds_the_gpus_that_it_wants_and_is_charged_for_them(void **state)
{
    struct stage *stage = *state;
    struct weir_error err;
    enum pipeline_submitted how;
    struct pipeline *pipeline = NULL;
    const struct pipeline_file file = {"stage.yaml", weir_bytes_of(WITH_GPUS), ""};
    assert_int_equal(
        orchestrator_pipeline_submit(&stage->orch->pipelines, &file, &pipeline, &how, &err),
        WEIR_INVALID);
    assert_non_null(strstr(err.text, "stage.yaml:6:18: training.gpus: found 2, and the system "
                                     "file has no GPU slots"));
    assert_null(orchestrator_pipeline_by_name(&stage->orch->pipelines, "p"));
    stage->sharing.gpus = 3;
    die_and_return(stage);
    assert_int_equal(stage_run(stage, WITH_GPUS), PIPELINE_FINISHED);
    assert_int_equal(stage->gpus, 3); /* the first and the second one */
    weir_test_postgres_sql(&stage->postgres, HELD);
    stage->sharing.gpus = 0;
    die_and_return(stage); /* what was held is recalled */
}

/* ---- the wall clock ---- */

static const int64_t YEAR_US = INT64_C(365) * 24 * 3600 * 1000000;
static const int64_t NOON_US = INT64_C(1767268800) * 1000000; /* 2026-01-01 */

static void an_erasure_is_overdue_by_the_clock_alone_wherever_it_jumps(void **state)
{
    struct stage *stage = *state;
    static const char WITHIN[] = "deletion: {within: 30d}\n";
    WEIR_AUTO_FREE char *yaml = weir_format("%s%s", PIPELINE, WITHIN);
    assert_int_equal(stage_run(stage, yaml), PIPELINE_FINISHED);
    const struct context *context = &stage->orch->context;
    int64_t due_us = orchestrator_erasure_due_us(&stage->orch->pipelines, NOON_US);
    assert_int_equal(due_us - NOON_US, 30 * YEAR_US / 365);
    stage->now_us = due_us;
    assert_false(orchestrator_erasure_is_overdue(context, due_us));
    for (int years = 1; years <= 50; years++) {
        stage->now_us = due_us + years * YEAR_US;
        assert_true(orchestrator_erasure_is_overdue(context, due_us));
        assert_false(orchestrator_erasure_is_overdue(context, 0)); /* nobody promises when */
        stage->now_us = due_us - years * YEAR_US;
        assert_false(orchestrator_erasure_is_overdue(context, due_us));
    }
}

static void a_budget_counts_the_day_that_the_clock_shows_wherever_it_jumps(void **state)
{
    struct stage *stage = *state;
    WEIR_AUTO_FREE char *yaml = weir_format("%sbudget: {money: 5, per: day}\n", PIPELINE);
    assert_int_equal(stage_run(stage, yaml), PIPELINE_FINISHED);
    for (int years = -50; years <= 50; years++) {
        struct pipeline_spending spending[PIPELINE_BUDGETS_MAX];
        struct weir_error err;
        size_t count = 0;
        stage->now_us = weir_time_add_months(NOON_US, INT64_C(12) * years);
        assert_int_equal(orchestrator_pipeline_spending(pipeline_of(stage), spending, &count, &err),
                         WEIR_OK);
        assert_int_equal(count, 1);
        assert_int_equal(spending[0].since_us, stage->now_us - YEAR_US / 365 / 2);
        assert_false(spending[0].over);
    }
}

static void a_budget_of_money_is_refused_where_nothing_costs_any(void **state)
{
    struct stage *stage = *state;
    static const char TEXT[] = "pipeline: {name: p}\ndatasets: [{name: notes}]\n"
                               "trigger: {policy: amount, samples: 30}\nselection: {}\n"
                               "preprocess: {}\ntraining: {}\nbudget: {money: 5}\n";
    const struct pipeline_file file = {"stage.yaml", weir_bytes_of(TEXT), ""};
    struct pipeline *pipeline = NULL;
    enum pipeline_submitted how;
    struct weir_error err;
    stage->orch->context.prices = (struct orchestrator_prices){.worker_hour = 1};
    assert_int_equal(
        orchestrator_pipeline_submit(&stage->orch->pipelines, &file, &pipeline, &how, &err),
        WEIR_INVALID);
    assert_non_null(strstr(err.text, "stage.yaml:7:17: budget.money: expected prices"));
    assert_null(orchestrator_pipeline_by_name(&stage->orch->pipelines, "p"));
    stage->orch->context.prices.cpu_hour = 1;
    assert_int_equal(
        orchestrator_pipeline_submit(&stage->orch->pipelines, &file, &pipeline, &how, &err),
        WEIR_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_budget_of_money_is_refused_where_nothing_costs_any,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(a_pause_waits_for_the_trigger_under_way_whoever_dies,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(a_pause_that_has_not_come_about_is_withdrawn, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(a_stop_breaks_off_any_state_and_changes_no_model,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(a_removal_keeps_what_other_pipelines_came_from_whoever_dies,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(
            what_stands_in_the_way_of_a_removal_is_told_once_and_it_is_tried_again, stage_setup,
            stage_teardown),
        cmocka_unit_test_setup_teardown(
            an_erasure_retires_models_of_a_removed_pipeline_and_replaces_the_others, stage_setup,
            stage_teardown),
        cmocka_unit_test_setup_teardown(requests_wait_while_their_table_is_rewritten, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(a_rerun_begins_anew_and_keeps_the_models_of_the_earlier_run,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(
            a_training_holds_the_gpus_that_it_wants_and_is_charged_for_them, stage_setup,
            stage_teardown),
        cmocka_unit_test_setup_teardown(an_erasure_is_overdue_by_the_clock_alone_wherever_it_jumps,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(
            a_budget_counts_the_day_that_the_clock_shows_wherever_it_jumps, stage_setup,
            stage_teardown),
    };
    return cmocka_run_group_tests_name("orchestrator_control", tests, NULL, NULL);
}
