/* The orchestrator against real Postgres and scripted services: what a replay makes of a stream, that dying anywhere
 * changes nothing, and what an erasure does to models. */
#include "tests/component/orchestrator_stage.h"

#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/service/service.h"
#include "orchestrator/erasures/erasure.h"
#include "orchestrator/models/lineage.h"
#include "tests/support/loop.h"

#include <errno.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { KILLS_MAX = 400 };

static const char PIPELINE[] =
    "pipeline: {name: p}\n"
    "datasets: [{name: notes}]\n"
    "trigger: {policy: amount, samples: 30}\n"
    "selection: {}\npreprocess: {}\ntraining: {}\n"
    "evaluation: {name: m, every: 1 month, metrics: [roc_auc, accuracy]}\n";

static void a_replay_trains_stores_and_measures(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    assert_int_equal(stage_reported(stage, "\"event\":\"trigger_fired\""), 3);
    assert_int_equal(stage_reported(stage, "\"event\":\"selection_sealed\""), 3);
    assert_int_equal(stage_reported(stage, "\"event\":\"training_finished\""), 3);
    assert_int_equal(stage_reported(stage, "\"event\":\"model_stored\""), 3);
    assert_int_equal(stage_reported(stage, "\"parent\":\"p-1\""), 1);
    assert_int_equal(stage_reported(stage, "\"parent\":null"), 1);
    /* triggers at 01-30, 03-01 and 03-31: February, April, April, and p-1 was active in March */
    assert_int_equal(stage_reported(stage, "\"metric\":\"roc_auc\",\"value\":1.0"), 4);
    assert_int_equal(stage_reported(stage, "\"event\":\"pipeline_finished\""), 1);
}

/* Of the first training by the selection's word, of the others by the set before each: here all of the past. */
static void trainings_that_samples_will_be_in_are_foretold(void **state)
{
    static const struct {
        double later, seen;
    } WANTED[] = {{1, 0}, {1, 30.0 / 60}, {2, 60.0 / 90}};
    struct stage *stage = *state;
    size_t trained = 0;
    assert_int_equal(stage_run(stage,
                               "pipeline: {name: p}\ndatasets: [{name: notes}]\n"
                               "trigger: {policy: amount, samples: 30}\n"
                               "selection: {tail_triggers: all}\npreprocess: {}\ntraining: {}\n"),
                     PIPELINE_FINISHED);
    for (size_t i = 0; i < stage->job_count; i++) {
        const struct stage_job *job = &stage->jobs[i];
        if (strcmp(job->mode, "train") != 0)
            continue;
        assert_true(trained < WEIR_COUNT(WANTED));
        assert_true(job->later == WANTED[trained].later);
        assert_true(fabs(job->seen - WANTED[trained].seen) < 1e-6);
        trained++;
    }
    assert_int_equal(trained, WEIR_COUNT(WANTED));
}

static void a_finished_pipeline_stays_and_another_file_is_refused(void **state)
{
    struct stage *stage = *state;
    struct pipeline *pipeline = NULL;
    struct weir_error err;
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    unsigned started = stage->trainers_started;
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    assert_int_equal(stage->trainers_started, started);
    WEIR_AUTO_FREE char *other = weir_format("%s# other\n", PIPELINE);
    assert_int_equal(
        orchestrator_pipeline_run(&stage->orch->pipelines,
                                  &(struct pipeline_file){"o.yaml", weir_bytes_of(other), ""},
                                  &pipeline, &err),
        WEIR_EXISTS);
}

static void sets_that_find_no_room_are_told_of_once_and_sealed_when_there_is_some(void **state)
{
    struct stage *stage = *state;
    stage->selects_full = 2;
    stage->intervals_full = 1;
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    assert_int_equal(stage->selects_full + stage->intervals_full, 0);
    assert_int_equal(stage_reported(stage, "the disk is full"), 1);
    assert_int_equal(stage_reported(stage, "\"event\":\"model_stored\""), 3);
    assert_int_equal(stage_reported(stage, "\"metric\":\"roc_auc\",\"value\":1.0"), 4);
}

/* A training that diverges is a training, and no end of the platform. */
static void a_loss_that_is_no_number_is_told_as_null(void **state)
{
    struct stage *stage = *state;
    stage->loss = NAN;
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    assert_int_equal(stage_reported(stage, "\"event\":\"training_finished\""), 3);
    assert_int_equal(stage_reported(stage, "\"loss\":null"), 3);
    stage_begin_again(stage);
    stage->loss = INFINITY;
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    assert_int_equal(stage_reported(stage, "\"loss\":null"), 3);
}

/* Its row is read again whenever the run takes a step. */
static void progress_of_a_run_is_shown_as_long_as_there_is_one(void **state)
{
    struct stage *stage = *state;
    size_t shown = 0;
    struct pipeline *pipeline = stage_submit(stage, PIPELINE);
    while (orchestrator_pipeline_state(pipeline) != PIPELINE_FINISHED) {
        struct run_progress progress;
        weir_loop_step(stage->loop, 5);
        if (!orchestrator_run_progress(&stage->orch->runs, 0, &progress))
            continue;
        shown++;
        assert_true(strcmp(progress.mode, "train") == 0 || strcmp(progress.mode, "evaluate") == 0);
        assert_string_equal(progress.metrics, "{\"warmth\":1}");
        assert_string_equal(progress.stage, "lecteurs occup"); /* no piece of a character */
    }
    assert_true(shown > 0);
}

/* Dies after every so many rounds of the loop, and goes on. */
static void run_with_deaths(struct stage *stage, int rounds)
{
    struct weir_error err;
    struct pipeline *pipeline = NULL;
    for (int kills = 0; kills < KILLS_MAX; kills++) {
        assert_int_equal(orchestrator_pipeline_run(
                             &stage->orch->pipelines,
                             &(struct pipeline_file){"stage.yaml", weir_bytes_of(PIPELINE), ""},
                             &pipeline, &err),
                         WEIR_OK);
        for (int i = 0; i < rounds; i++) {
            weir_loop_step(stage->loop, 5);
            if (orchestrator_pipeline_state(pipeline) == PIPELINE_FINISHED) {
                return;
            }
        }
        rounds += rounds / 8 + 1; /* so that it ends */
        stage_kill(stage);
        stage_begin(stage);
    }
    fail_msg("never finished");
}

static void dying_anywhere_changes_nothing(void **state)
{
    struct stage *stage = *state;
    WEIR_AUTO_BUF expected = {0};
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    stage_models(stage, &expected);
    for (int rounds = 3; rounds < 24; rounds += 7) {
        WEIR_AUTO_BUF models = {0};
        stage_begin_again(stage);
        run_with_deaths(stage, rounds);
        stage_models(stage, &models);
        assert_string_equal(weir_buf_text(&models), weir_buf_text(&expected));
        assert_true(stage->job_count <=
                    3 + 4); /* nothing is trained or measured under two numbers */
    }
}

static void whoever_lacks_the_token_of_a_run_is_refused_and_disturbs_no_trainer(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    assert_true(stage->trainers_started > 0);
    assert_int_equal(stage->strangers_refused, stage->trainers_started);
}

static void a_trainer_that_fails_is_started_again_a_few_times(void **state)
{
    struct stage *stage = *state;
    stage->trainers_fail = 3;
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    assert_int_equal(stage->job_count, 3 + 4);
}

static void a_trainer_that_had_no_answer_of_the_platform_has_not_failed(void **state)
{
    struct stage *stage = *state;
    stage->exit_code = WEIR_EXIT_UNANSWERED;
    stage->trainers_fail = 6; /* training.retries is 3 */
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    assert_int_equal(stage->trainers_started, 6 + 3 + 4);
}

static void a_trainer_that_always_fails_fails_the_pipeline_until_it_is_run_again(void **state)
{
    struct stage *stage = *state;
    stage->trainers_fail = 100;
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FAILED);
    assert_int_equal(stage_reported(stage, "\"event\":\"error\""), 1);
    assert_int_equal(stage->trainers_started, 4);
    stage->trainers_fail = 0;
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    assert_int_equal(stage_reported(stage, "\"event\":\"trigger_fired\""), 3);
}

/* A model that would be taken from elsewhere. */
static void a_trainer_hands_over_files_of_its_run_alone(void **state)
{
    static const char *const NAMES[] = {"../../receipt.key", "/etc/passwd", "..", "a/b"};
    struct stage *stage = *state;
    WEIR_AUTO_FREE char *key = weir_format("%s/receipt.key", stage->dir.path);
    struct weir_error err;
    assert_int_equal(weir_file_write_atomic(key, weir_bytes_of("a key"), &err), WEIR_OK);
    for (size_t i = 0; i < WEIR_COUNT(NAMES); i++) {
        stage->model_name = NAMES[i];
        assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FAILED);
        assert_int_equal(access(key, F_OK), 0);
    }
    stage->model_name = "model";
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
}

static void plant_link(const struct stage *stage, const char *path)
{
    WEIR_AUTO_FREE char *key = weir_format("%s/receipt.key", stage->dir.path);
    assert_true(symlink(key, path) == 0 || errno == EEXIST); /* by the attempt before */
}

static void plant_second_name(const struct stage *stage, const char *path)
{
    WEIR_AUTO_FREE char *key = weir_format("%s/receipt.key", stage->dir.path);
    assert_true(link(key, path) == 0 || errno == EEXIST);
}

static void plant_directory(const struct stage *stage, const char *path)
{
    (void)stage;
    assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
}

static void plant_pipe(const struct stage *stage, const char *path)
{
    (void)stage;
    assert_true(mkfifo(path, 0600) == 0 || errno == EEXIST);
}

/* Whatever else lies under a name of its own in the run's directory. */
static void a_model_is_no_link_no_second_name_and_no_other_kind_of_file(void **state)
{
    static void (*const PLANTS[])(const struct stage *, const char *) = {
        plant_link, plant_second_name, plant_directory, plant_pipe};
    struct stage *stage = *state;
    WEIR_AUTO_FREE char *key = weir_format("%s/receipt.key", stage->dir.path);
    WEIR_AUTO_BUF text = {0};
    struct weir_error err;
    assert_int_equal(weir_file_write_atomic(key, weir_bytes_of("a key"), &err), WEIR_OK);
    stage->model_name = "planted";
    for (size_t i = 0; i < WEIR_COUNT(PLANTS); i++) {
        stage->plant = PLANTS[i];
        assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FAILED);
        assert_int_equal(stage_reported(stage, "model_stored"), 0);
    }
    assert_int_equal(weir_file_read(key, 100, &text, &err), WEIR_OK);
    assert_string_equal(weir_buf_text(&text), "a key");
    stage->plant = NULL;
    stage->model_name = "model";
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
}

static void a_lost_sample_fails_the_pipeline(void **state)
{
    struct stage *stage = *state;
    stage->lost = 2;
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FAILED);
    assert_int_equal(stage_reported(stage, "2 samples lost"), 1);
    assert_int_equal(stage_reported(stage, "model_stored"), 0);
}

/* ---- erasures ---- */

static void erase(struct stage *stage, size_t row)
{
    weir_bits_set(&stage->erased, row);
    stage->erasures = 1;
    stage_accept(stage, 1, "file 7");
}

static void until_erased(struct stage *stage)
{
    bool idle = false;
    for (int i = 0; i < 3000 && !idle; i++) {
        weir_loop_step(stage->loop, 5);
        idle = orchestrator_erasures_idle(stage->orch->erasures);
    }
    assert_true(idle);
}

/* Each replacement has the evaluations of what it replaced, and the receipt names none that is missing. */
static const char MEASURED_AGAIN[] =
    "DO $$ BEGIN SET LOCAL search_path = orchestrator; "
    "ASSERT (SELECT count(DISTINCT model) FROM evaluation WHERE model IN ('p-2', 'p-3')) = 2; "
    "ASSERT NOT EXISTS (SELECT model || '-e1', name, from_time, to_time, metric FROM evaluation "
    "WHERE model IN ('p-2', 'p-3') EXCEPT SELECT model, name, from_time, to_time, metric FROM evaluation); "
    "ASSERT NOT EXISTS (SELECT 1 FROM erasure WHERE receipt::json ->> 'not_measured_again' <> '[]'); END $$";

static void an_erasure_replaces_the_chain_from_the_newest_clean_model(void **state)
{
    struct stage *stage = *state;
    WEIR_AUTO_BUF models = {0};
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    erase(stage, 40); /* in the sets of the second and third trigger */
    test_loop_rounds(stage->loop, 40);
    assert_false(orchestrator_erasures_idle(stage->orch->erasures)); /* it waits for storage */
    stage->in_force = true;
    until_erased(stage);
    stage_models(stage, &models);
    const char *text = weir_buf_text(&models);
    assert_non_null(strstr(text, "p-1 stored"));
    assert_non_null(strstr(text, "p-2 replaced"));
    assert_non_null(strstr(text, "p-3 replaced"));
    assert_non_null(strstr(text, "p-2-e1 stored"));
    assert_non_null(strstr(strstr(text, "p-2-e1 stored"), "from p-1\n"));
    assert_non_null(strstr(strstr(text, "p-3-e1 stored"), "from p-2-e1\n"));
    assert_int_not_equal(access(temp_path(&stage->dir, "models/p-2.weirmodel"), F_OK), 0);
    assert_int_equal(access(temp_path(&stage->dir, "models/p-3-e1.weirmodel"), F_OK), 0);
    assert_int_equal(access(temp_path(&stage->dir, "receipts/1.json"), F_OK), 0);
    assert_int_equal(stage_reported(stage, "\"step\":\"receipt\""), 1);
    weir_test_postgres_sql(&stage->postgres, MEASURED_AGAIN);
}

static void accept_another(struct stage *stage)
{
    stage->erasures++;
    stage_accept(stage, (int64_t)stage->erasures, "another file");
}

static void what_an_erasure_measures_outlives_the_purge_of_a_later_one(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    stage->in_force = true;
    stage->measures_wait = true;
    erase(stage, 40);
    while (stage->measures_requested == 0)
        weir_loop_step(stage->loop, 5);
    accept_another(stage);
    stage_until_reported(stage, "\"step\":\"traced\"", 2);
    test_loop_rounds(stage->loop, 100);
    assert_int_equal(stage_reported(stage, "\"step\":\"purged\""), 1); /* it lets the runs end */
    stage->measures_wait = false;
    until_erased(stage);
    assert_int_equal(stage_reported(stage, "\"step\":\"purged\""), 2);
    weir_test_postgres_sql(&stage->postgres, MEASURED_AGAIN);
}

static void storage_is_asked_for_a_report_once(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    stage->reports_wait = true;
    erase(stage, 40);
    accept_another(stage);
    stage->in_force = true;
    stage->unverified = 1;
    while (stage->reports_requested == 0)
        weir_loop_step(stage->loop, 5);
    stage->unverified = 0;
    stage->moves = 1;
    while (stage->followed < 3 * stage->erasures)
        weir_loop_step(stage->loop, 5);
    test_loop_rounds(stage->loop, 40);
    assert_int_equal(stage->reports_requested, 1);
    stage->reports_wait = false;
    until_erased(stage);
    assert_int_equal(stage_reported(stage, "\"step\":\"receipt\""), 2);
}

static void an_erasure_of_several_pages_is_taken_in_whole(void **state)
{
    static const size_t ROWS[] = {3, 11, 40, 52, 53};
    struct stage *stage = *state;
    struct id_blocks ids = {0};
    struct weir_error err;
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    stage->in_force = true;
    for (size_t i = 1; i < WEIR_COUNT(ROWS); i++)
        weir_bits_set(&stage->erased, ROWS[i]);
    erase(stage, ROWS[0]);
    until_erased(stage);
    assert_int_equal(orchestrator_lineage_of_erasure(&stage->orch->context, 1, &ids, &err),
                     WEIR_OK);
    assert_int_equal(orchestrator_id_blocks_population(&ids), WEIR_COUNT(ROWS));
    assert_int_equal(ids.count, 1);
    for (size_t i = 0; i < WEIR_COUNT(ROWS); i++)
        assert_true(weir_bits_get(&ids.at[0].rows, ROWS[i]));
    orchestrator_id_blocks_fini(&ids);
}

static void erasures_that_the_feed_no_longer_tells_are_told_once(void **state)
{
    static const char FIRED[] = "\"event\":\"trigger_fired\"";
    struct stage *stage = *state;
    (void)stage_submit(stage, "pipeline: {name: p, mode: live}\n"
                              "datasets: [{name: notes}]\n"
                              "trigger: {policy: ensemble, any: [{policy: amount, samples: 30},\n"
                              "                                  {policy: deletion, samples: 3}]}\n"
                              "selection: {}\npreprocess: {}\ntraining: {}\n");
    stage_until_reported(stage, FIRED, 1);
    stage_until_reported(stage, "\"event\":\"model_stored\"", 1);
    assert_int_equal(stage_reported(stage, "\"arrived\":\"2023-11-14T22:13:20"), 1);
    stage->missed = 2; /* one too few */
    stage->feed_floor = 5;
    test_loop_rounds(stage->loop, 40);
    stage_kill(stage); /* what is counted stays counted */
    stage_begin(stage);
    test_loop_rounds(stage->loop, 40);
    assert_int_equal(stage_reported(stage, FIRED), 1);
    stage->missed = 1;
    stage->feed_floor = 9;
    stage_until_reported(stage, FIRED, 2);
    assert_int_equal(stage_reported(stage, "3 samples erased"), 1);
}

static void the_deletion_policy_decides_what_becomes_of_models(void **state)
{
    struct stage *stage = *state;
    static const struct {
        const char *policy, *there, *gone;
    } CASES[] = {{"keep", "p-3 stored", "p-1-e1"}, {"retire", "p-2 retired", "p-2 stored"}};
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_BUF models = {0};
        WEIR_AUTO_FREE char *yaml =
            weir_format("%sdeletion: {policy: %s}\n", PIPELINE, CASES[i].policy);
        assert_int_equal(stage_run(stage, yaml), PIPELINE_FINISHED);
        stage->in_force = true;
        erase(stage, 40);
        until_erased(stage);
        stage_models(stage, &models);
        assert_non_null(strstr(weir_buf_text(&models), CASES[i].there));
        assert_non_null(strstr(weir_buf_text(&models), "p-1 stored"));
        assert_null(strstr(weir_buf_text(&models), CASES[i].gone));
        stage_begin_again(stage);
    }
}

static void lineage_tells_who_has_seen_a_sample(void **state)
{
    struct stage *stage = *state;
    struct weir_error err;
    struct id_blocks ids = {0};
    struct lineage_answer answer = {0};
    uint64_t id = stage_id(70); /* only in the third set */
    assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
    orchestrator_id_blocks_add(&ids, &id, 1);
    assert_int_equal(orchestrator_lineage_query(&stage->orch->context, &ids, &answer, &err),
                     WEIR_OK);
    assert_int_equal(answer.count, 1);
    assert_string_equal(answer.at[0].model, "p-3");
    orchestrator_lineage_answer_fini(&answer);
    orchestrator_id_blocks_fini(&ids);
    id = stage_id(0); /* in all */
    orchestrator_id_blocks_add(&ids, &id, 1);
    assert_int_equal(orchestrator_lineage_query(&stage->orch->context, &ids, &answer, &err),
                     WEIR_OK);
    assert_int_equal(answer.count, 3);
    orchestrator_lineage_answer_fini(&answer);
    orchestrator_id_blocks_fini(&ids);
}

static void an_erasure_survives_dying_anywhere(void **state)
{
    struct stage *stage = *state;
    WEIR_AUTO_BUF expected = {0};
    for (int rounds = 1; rounds < 20; rounds += 6) {
        WEIR_AUTO_BUF models = {0};
        assert_int_equal(stage_run(stage, PIPELINE), PIPELINE_FINISHED);
        stage->in_force = true;
        erase(stage, 10);
        for (int step = rounds; !orchestrator_erasures_idle(stage->orch->erasures);
             step += step / 8 + 1) {
            test_loop_rounds(stage->loop, step);
            stage_kill(stage);
            stage_begin(stage);
        }
        stage_models(stage, &models);
        if (rounds == 1) {
            weir_buf_append(&expected, models.at, models.size);
        }
        assert_string_equal(weir_buf_text(&models), weir_buf_text(&expected));
        assert_non_null(strstr(weir_buf_text(&models), "p-3-e1 stored"));
        stage_begin_again(stage);
    }
}

static void an_erasure_in_the_midst_of_a_replay_lets_it_go_on_clean(void **state)
{
    struct stage *stage = *state;
    struct weir_error err;
    struct pipeline *pipeline = NULL;
    WEIR_AUTO_BUF models = {0};
    assert_int_equal(orchestrator_pipeline_run(
                         &stage->orch->pipelines,
                         &(struct pipeline_file){"stage.yaml", weir_bytes_of(PIPELINE), ""},
                         &pipeline, &err),
                     WEIR_OK);
    while (stage_reported(stage, "\"event\":\"model_stored\"") == 0) {
        weir_loop_step(stage->loop, 5);
    }
    stage->in_force = true;
    erase(stage, 3);
    until_erased(stage);
    stage->rests = orchestrator_pipeline_state(pipeline) == PIPELINE_FINISHED;
    test_loop_until(stage->loop, &stage->rests);
    assert_int_equal(orchestrator_pipeline_state(pipeline), PIPELINE_FINISHED);
    stage_models(stage, &models);
    assert_non_null(strstr(weir_buf_text(&models), "p-1-e1 stored"));
    assert_null(strstr(weir_buf_text(&models), "p-1 stored"));
    struct id_blocks ids = {0};
    struct lineage_answer answer = {0};
    uint64_t id = stage_id(3);
    orchestrator_id_blocks_add(&ids, &id, 1);
    assert_int_equal(orchestrator_lineage_query(&stage->orch->context, &ids, &answer, &err),
                     WEIR_OK);
    for (size_t i = 0; i < answer.count; i++) {
        assert_false(answer.at[i].live);
    }
    orchestrator_lineage_answer_fini(&answer);
    orchestrator_id_blocks_fini(&ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_replay_trains_stores_and_measures, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(trainings_that_samples_will_be_in_are_foretold, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(
            sets_that_find_no_room_are_told_of_once_and_sealed_when_there_is_some, stage_setup,
            stage_teardown),
        cmocka_unit_test_setup_teardown(a_finished_pipeline_stays_and_another_file_is_refused,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(a_loss_that_is_no_number_is_told_as_null, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(progress_of_a_run_is_shown_as_long_as_there_is_one,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(dying_anywhere_changes_nothing, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(
            whoever_lacks_the_token_of_a_run_is_refused_and_disturbs_no_trainer, stage_setup,
            stage_teardown),
        cmocka_unit_test_setup_teardown(a_trainer_that_fails_is_started_again_a_few_times,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(a_trainer_that_had_no_answer_of_the_platform_has_not_failed,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(
            a_trainer_that_always_fails_fails_the_pipeline_until_it_is_run_again, stage_setup,
            stage_teardown),
        cmocka_unit_test_setup_teardown(a_model_is_no_link_no_second_name_and_no_other_kind_of_file,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(a_trainer_hands_over_files_of_its_run_alone, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(a_lost_sample_fails_the_pipeline, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(lineage_tells_who_has_seen_a_sample, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(erasures_that_the_feed_no_longer_tells_are_told_once,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(an_erasure_of_several_pages_is_taken_in_whole, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(an_erasure_replaces_the_chain_from_the_newest_clean_model,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(what_an_erasure_measures_outlives_the_purge_of_a_later_one,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(storage_is_asked_for_a_report_once, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(the_deletion_policy_decides_what_becomes_of_models,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(an_erasure_survives_dying_anywhere, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(an_erasure_in_the_midst_of_a_replay_lets_it_go_on_clean,
                                        stage_setup, stage_teardown),
    };
    return cmocka_run_group_tests_name("orchestrator", tests, NULL, NULL);
}
