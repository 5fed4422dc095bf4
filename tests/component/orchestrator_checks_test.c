/* Trigger policies that measure, in the orchestrator against real Postgres and scripted services:
 * the same decisions however the stream is cut and whoever dies; reference windows are measured
 * once; what is erased goes from all windows; a live pipeline checks by change and ticks by its
 * clock. */
#include "tests/component/orchestrator_stage.h"

#include "core/base/memory.h"
#include "core/wire/outputs.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/erasure.h"
#include "tests/support/loop.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#define FILE_OF(mode, trigger)                                                               \
    "pipeline: {name: p, mode: " mode "}\ndatasets: [{name: notes}]\ntrigger: " trigger "\n" \
    "selection: {}\npreprocess: {}\ntraining: {}\n"

enum { CHECK = 10, REFERENCE = 20, DEATHS_MAX = 400 };
static const int64_t DAY_US = INT64_C(86400000000);

static const char EMBEDDINGS[] =
    FILE_OF("replay", "{policy: drift, on: embeddings, samples: 10, reference: 20, current: 10, "
                      "statistics: [{name: ks, criterion: {policy: threshold, value: 0.9}}]}");
static const char TWO[] = FILE_OF(
    "replay",
    "{policy: ensemble, all: [{policy: drift, on: features, samples: 10, reference: 20, current: "
    "10, statistics: [{name: ks, criterion: {policy: threshold, value: 0.9}}]}, {policy: "
    "performance, samples: 20, criteria: [{policy: threshold, value: 1.1}]}]}");
static const char LABELS[] =
    FILE_OF("replay", "{policy: drift, on: labels, every: 1 month, reference: 20, current: 60d, "
                      "statistics: [{name: psi, criterion: {policy: threshold, value: 0.5}}]}");

/* Two windows whose comparison takes as long as twice 10,000 divisions of 100 rows. */
#define LSDD    "{name: lsdd, permutations: 10000}"
#define FOREVER "statistics: [" LSDD ", " LSDD "], samples: 25, reference: 50, current: 50}"
static const char LONG_MEASURED[] = FILE_OF("replay", "{policy: drift, on: embeddings, " FOREVER);
static const char LONG_TOLD[] =
    FILE_OF("replay", "{policy: drift, on: labels, labels: reals, " FOREVER);

enum { TURN_NS_MAX = 300 * 1000 * 1000 }; /* of CPU */

/* A run that is begun again may have another number. */
static void cut_run(char *line)
{
    char *run = strstr(line, "\"run\":");
    if (run == NULL)
        return;
    run += strlen("\"run\":");
    char *behind = run + strspn(run, "0123456789");
    memmove(run, behind, strlen(behind) + 1);
}

/* Lists the triggers and checks that are kept, whichever process has reported them. */
static void decisions(struct stage *stage, struct weir_buf *out)
{
    char *rest = NULL;
    struct weir_error err;
    const struct pipeline *pipeline = orchestrator_pipeline_by_name(&stage->orch->pipelines, "p");
    weir_buf_clear(&stage->events);
    assert_int_equal(
        orchestrator_events_recall(&stage->orch->context, orchestrator_pipeline_id(pipeline), &err),
        WEIR_OK);
    WEIR_AUTO_FREE char *events = weir_strdup(weir_buf_text(&stage->events));
    for (char *line = strtok_r(events, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest))
        if (strstr(line, "\"trigger_considered\"") != NULL ||
            strstr(line, "\"trigger_fired\"") != NULL) {
            cut_run(line);
            weir_buf_printf(out, "%s\n", line);
        }
}

static void a_change_is_noticed_and_told_with_its_reason(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_run(stage, EMBEDDINGS), PIPELINE_FINISHED);
    assert_int_equal(stage_reported(stage, "\"event\":\"trigger_fired\""), 2);
    assert_int_equal(stage_reported(stage, "drift: nothing to compare with yet"),
                     2); /* and as its reason */
    assert_int_equal(stage_reported(stage,
                                    "\"reason\":\"drift of embeddings: ks 1 >= 0.9; farthest "
                                    "by ks: warmth 1 (mean 0."),
                     1);
    assert_int_equal(stage_reported(stage, "\"moved\":[{\"feature\":\"warmth\",\"distance\":1.0"),
                     1);
    assert_int_equal(stage_reported(stage, "\"samples_new\":60,\"until\""), 1);
    assert_int_equal(stage_reported(stage, "\"event\":\"trigger_considered\""), 8);
}

static void the_cut_of_the_stream_changes_nothing(void **state)
{
    struct stage *stage = *state;
    static const size_t PAGES[] = {13, 1};
    static const char *const FILES[] = {EMBEDDINGS, TWO, LABELS};
    for (size_t file = 0; file < WEIR_COUNT(FILES); file++) {
        WEIR_AUTO_BUF expected = {0};
        for (size_t i = 0; i < WEIR_COUNT(PAGES); i++) {
            WEIR_AUTO_BUF found = {0};
            stage_begin_again(stage);
            stage->page = PAGES[i];
            assert_int_equal(stage_run(stage, FILES[file]), PIPELINE_FINISHED);
            decisions(stage, i == 0 ? &expected : &found);
            if (i > 0)
                assert_string_equal(weir_buf_text(&found), weir_buf_text(&expected));
        }
        assert_non_null(strstr(weir_buf_text(&expected), "trigger_fired"));
    }
}

/* Each check measures the current window, and the reference once for each trigger before it. */
static void a_reference_window_is_measured_once(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_run(stage, EMBEDDINGS), PIPELINE_FINISHED);
    assert_int_equal(stage->measured, 9 * CHECK + CHECK + REFERENCE);
    assert_int_equal(stage->job_count, 2 + 9);
}

static void dying_anywhere_decides_the_same(void **state)
{
    struct stage *stage = *state;
    WEIR_AUTO_BUF expected = {0};
    WEIR_AUTO_BUF models = {0};
    assert_int_equal(stage_run(stage, TWO), PIPELINE_FINISHED);
    decisions(stage, &expected);
    stage_models(stage, &models);
    size_t jobs = stage->job_count;
    for (int rounds = 2; rounds < 20; rounds += 9) {
        WEIR_AUTO_BUF found = {0};
        WEIR_AUTO_BUF found_models = {0};
        stage_begin_again(stage);
        struct pipeline *pipeline = stage_submit(stage, TWO);
        for (int deaths = 0; orchestrator_pipeline_state(pipeline) != PIPELINE_FINISHED; deaths++) {
            assert_true(deaths < DEATHS_MAX);
            test_loop_rounds(stage->loop, rounds + deaths / 8);
            stage_kill(stage);
            stage_begin(stage);
            pipeline = stage_submit(stage, TWO);
        }
        decisions(stage, &found);
        stage_models(stage, &found_models);
        assert_string_equal(weir_buf_text(&found), weir_buf_text(&expected));
        assert_string_equal(weir_buf_text(&found_models), weir_buf_text(&models));
        assert_int_equal(stage->job_count, jobs); /* nothing is measured or trained twice */
    }
}

/* CPU of the loop's thread alone: other processes may do with the machine what they like. */
struct longest_turn {
    int64_t before_ns, longest_ns;
};

static int64_t cpu_ns(void)
{
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return now.tv_sec * INT64_C(1000000000) + now.tv_nsec;
}

static void note_turn(void *owner)
{
    struct longest_turn *turn = owner;
    int64_t now_ns = cpu_ns();
    if (now_ns - turn->before_ns > turn->longest_ns)
        turn->longest_ns = now_ns - turn->before_ns;
    turn->before_ns = now_ns;
}

static void the_loop_turns_while_windows_are_compared(void **state)
{
    struct stage *stage = *state;
    static const char *const FILES[] = {LONG_MEASURED, LONG_TOLD};
    for (size_t file = 0; file < WEIR_COUNT(FILES); file++) {
        struct longest_turn turn = {.before_ns = cpu_ns()};
        stage_begin_again(stage);
        uint64_t timer = weir_loop_timer(stage->loop, 0, 1, note_turn, &turn);
        assert_int_equal(stage_run(stage, FILES[file]), PIPELINE_FINISHED);
        weir_loop_cancel(stage->loop, timer);
        assert_true(stage_reported(stage, "lsdd") > 0);
        print_message("longest turn: %.3f s of CPU\n", (double)turn.longest_ns / 1e9);
        assert_true(turn.longest_ns < TURN_NS_MAX);
    }
}

/* The file of the reference window that is kept; NULL: none is. */
static char *kept_reference(struct stage *stage)
{
    char *path = NULL;
    DIR *folder = opendir(temp_path(&stage->dir, "probes"));
    const struct dirent *entry = NULL;
    while (folder != NULL && (entry = readdir(folder)) != NULL)
        if (strstr(entry->d_name, "embeddings") != NULL && strstr(entry->d_name, ".new") == NULL)
            path = weir_format("%s/%s", temp_path(&stage->dir, "probes"), entry->d_name);
    if (folder != NULL)
        (void)closedir(folder);
    return path;
}

/* Adds samples to a kept window that nobody asks for, and returns what it takes to open it now, in CPU. */
static int64_t make_large(const char *path)
{
    enum { LARGE = 12000000 };
    struct weir_error err;
    struct weir_outputs kept;
    assert_int_equal(weir_outputs_open(path, &kept, &err), WEIR_OK);
    size_t count = kept.count + LARGE;
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(count, sizeof(*ids));
    WEIR_AUTO_FREE int64_t *labels = weir_calloc(count, sizeof(*labels));
    WEIR_AUTO_FREE float *values = weir_calloc(count, sizeof(*values));
    memcpy(ids, kept.ids, kept.count * sizeof(*ids));
    memcpy(labels, kept.labels, kept.count * sizeof(*labels));
    memcpy(values, kept.values, kept.count * sizeof(*values));
    for (size_t i = kept.count; i < count; i++)
        ids[i] = ids[i - 1] + 1000;
    const struct weir_outputs large = {.ids = ids,
                                       .labels = labels,
                                       .values = values,
                                       .count = count,
                                       .width = kept.width,
                                       .label_kind = kept.label_kind,
                                       .names = kept.names};
    assert_int_equal(weir_outputs_write(path, &large, &err), WEIR_OK);
    weir_outputs_close(&kept);
    int64_t before_ns = cpu_ns();
    assert_int_equal(weir_outputs_open(path, &kept, &err), WEIR_OK);
    int64_t took_ns = cpu_ns() - before_ns;
    weir_outputs_close(&kept);
    return took_ns;
}

static void the_loop_turns_while_a_kept_reference_is_opened(void **state)
{
    struct stage *stage = *state;
    char *path = NULL;
    struct pipeline *pipeline = stage_submit(stage, EMBEDDINGS);
    while (path == NULL) {
        weir_loop_step(stage->loop, TEST_STEP_MS);
        path = kept_reference(stage);
    }
    int64_t opening_ns = make_large(path);
    free(path);
    struct longest_turn turn = {.before_ns = cpu_ns()};
    uint64_t timer = weir_loop_timer(stage->loop, 0, 1, note_turn, &turn);
    while (orchestrator_pipeline_state(pipeline) != PIPELINE_FINISHED)
        weir_loop_step(stage->loop, TEST_STEP_MS);
    weir_loop_cancel(stage->loop, timer);
    print_message("opening: %.3f s of CPU, longest turn: %.3f\n", (double)opening_ns / 1e9,
                  (double)turn.longest_ns / 1e9);
    assert_true(turn.longest_ns < opening_ns);
    assert_int_equal(stage->measured, 9 * CHECK + CHECK + REFERENCE); /* it was used all the same */
}

/* Its windows are compared when it dies: the thread gives up, and the next one decides. */
static void what_dies_while_windows_are_compared_decides_later(void **state)
{
    struct stage *stage = *state;
    struct pipeline *pipeline = stage_submit(stage, LONG_TOLD);
    while (weir_work_queue_is_idle(stage->orch->context.decisions))
        weir_loop_step(stage->loop, TEST_STEP_MS);
    stage_kill(stage);
    stage_begin(stage);
    pipeline = stage_submit(stage, LONG_TOLD);
    while (orchestrator_pipeline_state(pipeline) != PIPELINE_FINISHED)
        weir_loop_step(stage->loop, TEST_STEP_MS);
    assert_true(stage_reported(stage, "lsdd") > 0);
}

static bool is_empty(const char *folder)
{
    return rmdir(folder) == 0;
}

static void what_is_erased_goes_from_all_windows(void **state)
{
    struct stage *stage = *state;
    assert_int_equal(stage_run(stage, EMBEDDINGS), PIPELINE_FINISHED);
    assert_false(is_empty(temp_path(&stage->dir, "probes")));
    weir_bits_set(&stage->erased, 60);
    stage->erasures = 1;
    stage->in_force = true;
    stage_accept(stage, 1, "file 7");
    while (!orchestrator_erasures_idle(stage->orch->erasures))
        weir_loop_step(stage->loop, 5);
    assert_true(is_empty(temp_path(&stage->dir, "probes")));
}

/* Everything came with one change: one check at its end, then periods end by the clock. */
static void a_live_pipeline_checks_by_change_and_ticks_by_its_clock(void **state)
{
    static const char FIRED[] = "\"event\":\"trigger_fired\"";
    struct stage *stage = *state;
    stage->now_us = 20 * DAY_US;
    (void)stage_submit(stage, FILE_OF("live", "{policy: time, every: 1 month}"));
    test_loop_rounds(stage->loop, 60);
    assert_int_equal(stage_reported(stage, FIRED), 0);
    stage->now_us = 40 * DAY_US;
    stage_until_reported(stage, FIRED, 1);
    assert_int_equal(
        stage_reported(stage,
                       "\"reason\":\"1970-02-01 has passed (every 1 month)\",\"samples_new\":30"),
        1);
    stage_until_reported(stage, "\"event\":\"model_stored\"", 1);
    stage->now_us = 400 * DAY_US; /* nothing came: nothing fires */
    test_loop_rounds(stage->loop, 60);
    assert_int_equal(stage_reported(stage, FIRED), 1);
    stage_begin_again(stage);
    (void)stage_submit(stage,
                       FILE_OF("live", "{policy: performance, samples: 25, criteria: [{policy: "
                                       "threshold, value: 0.5}]}"));
    stage_until_reported(stage, FIRED, 1);
    assert_int_equal(stage_reported(stage, "there is no model yet\",\"samples_new\":30"), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_change_is_noticed_and_told_with_its_reason, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(the_cut_of_the_stream_changes_nothing, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(a_reference_window_is_measured_once, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(dying_anywhere_decides_the_same, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(what_is_erased_goes_from_all_windows, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(a_live_pipeline_checks_by_change_and_ticks_by_its_clock,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(the_loop_turns_while_windows_are_compared, stage_setup,
                                        stage_teardown),
        cmocka_unit_test_setup_teardown(the_loop_turns_while_a_kept_reference_is_opened,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(what_dies_while_windows_are_compared_decides_later,
                                        stage_setup, stage_teardown),
    };
    return cmocka_run_group_tests_name("orchestrator_checks", tests, NULL, NULL);
}
