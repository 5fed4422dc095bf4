/* kill -9 of the orchestrator at every edge of the table of pipelines, before the edge is committed
 * and after it, then a new one: the same triggers, the same models, nothing done twice. Each
 * orchestrator is a process, with its services as scripts beside it; what is on record, and what
 * the scripts remember, outlives it. Which edges there are is taken from the table: one that no
 * script comes past fails the test. */
#include "tests/component/orchestrator_stage.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/models/store.h"
#include "orchestrator/pipeline/pipeline_state.h"
#include "tests/support/child.h"
#include "tests/support/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#define FILE_WITH(trigger)                                                                  \
    "pipeline: {name: p}\ndatasets: [{name: notes}]\ntrigger: " trigger "\nselection: {}\n" \
    "preprocess: {}\ntraining: {epochs: 2}\nevaluation: {name: m, every: 1 month, metrics: accuracy}\n"

/* Goes through every state: two policies ask for measures, and the selector for models, and for rounds of training. */
static const char EVERYTHING[] = FILE_WITH(
    "{policy: ensemble, all: [{policy: drift, on: features, samples: 20, reference: 20, current: "
    "20, statistics: [{name: ks, criterion: {policy: threshold, value: 0.9}}]}, {policy: "
    "performance, samples: 20, criteria: [{policy: threshold, value: 1.1}]}]}");
static const char AMOUNT[] = FILE_WITH("{policy: amount, samples: 40}");

enum { AMOUNT_SAMPLES = 40, LIVES_MAX = 400, TRIGGERS_MAX = 1000, OUTCOME_MAX = 4096 };

/* Shared with the processes that die; their pointers are their own. */
struct play {
    struct stage stage;
    const char *yaml;
    const char *faults;
    enum pipeline_event order; /* given at `at`; PIPELINE_EVENTS: none */
    enum pipeline_state at;
    enum pipeline_state found;                    /* where the newest process began */
    char outcome[OUTCOME_MAX];                    /* of the newest one that came to the end */
    bool taken[PIPELINE_STATES][PIPELINE_STATES]; /* edges at which one has died on both sides */
};

/* ---- in a process that may die ---- */

static struct pipeline *pipeline_of(struct play *play)
{
    struct pipeline *pipeline = orchestrator_pipeline_by_name(&play->stage.orch->pipelines, "p");
    return pipeline != NULL ? pipeline : stage_submit(&play->stage, play->yaml);
}

static void until_state(struct play *play, enum pipeline_state wanted)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    while (orchestrator_pipeline_state(pipeline_of(play)) != wanted) {
        weir_require(weir_now_ms() < limit_ms);
        weir_loop_step(play->stage.loop, TEST_STEP_MS);
    }
}

static void give_order(struct pipeline *pipeline, enum pipeline_event event)
{
    struct weir_error err;
    if (event == PIPELINE_ON_PAUSED)
        weir_require(orchestrator_pipeline_pause(pipeline, &err) == WEIR_OK);
    else if (event == PIPELINE_ON_STOPPED)
        weir_require(orchestrator_pipeline_stop(pipeline, &err) == WEIR_OK);
    else if (event == PIPELINE_ON_REMOVED)
        weir_require(orchestrator_pipeline_remove(pipeline, true, &err) == WEIR_OK);
    else if (event == PIPELINE_ON_APPLIED) /* the same once more: it is no less of an edge */
        weir_require(orchestrator_pipeline_apply(pipeline, "stage.yaml",
                                                 orchestrator_pipeline_outline(pipeline).text,
                                                 &err) == WEIR_OK);
    else
        orchestrator_pipeline_trouble(
            pipeline, weir_fail(&err, WEIR_INTERNAL, "something does not pass"), &err);
}

static void resume(struct pipeline *pipeline)
{
    struct weir_error err;
    weir_require(orchestrator_pipeline_resume(pipeline, &err) == WEIR_OK);
}

/* The triggers of the newest pipeline and the models it has made of them. A rerun calls them otherwise. */
static void write_outcome(struct play *play)
{
    WEIR_AUTO_BUF out = {0};
    WEIR_AUTO(weir_rows) models = NULL;
    WEIR_AUTO(weir_rows) triggers = NULL;
    struct weir_error err;
    struct orchestrator *orch = play->stage.orch;
    int64_t id = orchestrator_pipeline_id(pipeline_of(play));
    weir_require(orchestrator_model_all(&orch->context, id, &models, &err) == WEIR_OK);
    for (size_t i = 0; i < weir_rows_count(models); i++) {
        struct stored_model model;
        orchestrator_model_row(models, i, &model);
        weir_buf_printf(&out, "%lld %s %s\n", (long long)model.trigger, model.state,
                        model.checksum);
    }
    weir_require(DB_RUN(orch->context.db, Q_triggers_newest, &triggers, &err, DB_I64(id),
                        DB_I64(TRIGGERS_MAX)) == WEIR_OK);
    for (size_t i = 0; i < weir_rows_count(triggers); i++)
        weir_buf_printf(&out, "%s %s %lld %lld\n", weir_rows_text(triggers, i, "state"),
                        weir_rows_text(triggers, i, "reason"),
                        (long long)weir_rows_i64(triggers, i, "samples_new"),
                        (long long)weir_rows_i64(triggers, i, "until_time"));
    weir_require(out.size < sizeof(play->outcome));
    memcpy(play->outcome, weir_buf_text(&out), out.size + 1);
}

static int live(const void *argument)
{
    struct play *play = (struct play *)(uintptr_t)argument;
    weir_require(setenv("WEIR_FAULTS", play->faults, 1) == 0);
    weir_log_setup("orchestrator", WEIR_LOG_ERROR);
    stage_serve(&play->stage);
    stage_begin(&play->stage);
    struct pipeline *pipeline = pipeline_of(play);
    play->found = orchestrator_pipeline_state(pipeline);
    bool rests = play->found == PIPELINE_PAUSED || play->found == PIPELINE_STOPPED ||
                 play->found == PIPELINE_FAILED;
    bool is_ordered = play->order < PIPELINE_EVENTS;
    if (rests && !(is_ordered && play->at == play->found))
        resume(pipeline);
    if (is_ordered) {
        until_state(play, play->at);
        pipeline = pipeline_of(play);
        give_order(pipeline, play->order);
        while (orchestrator_pipeline_state(pipeline) == play->at)
            weir_loop_step(play->stage.loop, TEST_STEP_MS);
    }
    until_state(play, PIPELINE_FINISHED);
    write_outcome(play);
    _exit(0); /* without a word to anybody, as the others */
}

/* ---- in the test ---- */

/* One life of the orchestrator; whether it died at the fault, or came to the end. */
static bool dies(struct play *play, const char *faults)
{
    struct child child;
    play->faults = faults;
    child_run(&child, live, play);
    play->stage.events = (struct weir_buf){0}; /* its memory is gone */
    memset(play->stage.trainers, 0, sizeof(play->stage.trainers));
    if (!child_died_of(&child, SIGKILL) && !child_left_with(&child, 0)) {
        print_error("%s: order %d at %d, from %d\n", faults, (int)play->order, (int)play->at,
                    (int)play->found);
        fail_msg("%s", child.errors);
    }
    return child_died_of(&child, SIGKILL);
}

static void begin_with(struct play *play, const char *yaml)
{
    weir_test_postgres_reset(&play->stage.postgres);
    play->stage.job_count = 0;
    play->stage.scored[0] = '\0';
    play->yaml = yaml;
    play->order = PIPELINE_EVENTS;
}

/* Writes the outcome of an undisturbed life; the database is empty again afterwards. */
static size_t expect(struct play *play, const char *yaml, char *outcome)
{
    begin_with(play, yaml);
    assert_false(dies(play, ""));
    size_t jobs = play->stage.job_count;
    memcpy(outcome, play->outcome, OUTCOME_MAX);
    begin_with(play, yaml);
    return jobs;
}

/* ---- deaths ---- */

/* Each process dies at the first edge it takes: before it is committed, and the next one after it. */
static void die_on_the_way(struct play *play)
{
    enum pipeline_state from = play->found = PIPELINE_DECLARING;
    for (int lives = 0; dies(play, "pipeline.edge=!1"); lives++) {
        assert_true(lives < LIVES_MAX);
        play->taken[from][play->found] |= lives > 0;
        from = play->found;
        assert_true(dies(play, "pipeline.edged=!1"));
        assert_int_equal(play->found, from); /* nothing of it had come about */
    }
    play->taken[from][play->found] = true;
}

static void assert_recorded(struct play *play, enum pipeline_state state)
{
    WEIR_AUTO_FREE char *sql = weir_format(
        "DO $$ BEGIN ASSERT (SELECT state FROM orchestrator.pipeline ORDER BY id DESC LIMIT 1) = "
        "'%s'; END $$",
        orchestrator_pipeline_state_name(state));
    weir_test_postgres_sql(&play->stage.postgres, sql);
}

/* At the edge that `event` takes from `from`, on both its sides. */
static void die_at(struct play *play, enum pipeline_state from, enum pipeline_event event)
{
    static const char *const POINTS[] = {"pipeline.edge", "pipeline.edged"};
    enum pipeline_state to = from;
    assert_true(orchestrator_pipeline_next_state(from, event, &to));
    for (size_t i = 0; i < WEIR_COUNT(POINTS); i++) {
        WEIR_AUTO_FREE char *faults =
            weir_format("%s.%s=!1", POINTS[i], orchestrator_pipeline_event_name(event));
        assert_true(dies(play, faults));
        if (to != PIPELINE_REMOVED) /* then the newest one is what follows it */
            assert_recorded(play, i == 0 ? from : to);
    }
    play->taken[from][to] = true;
}

static void die_at_order(struct play *play, enum pipeline_state from, enum pipeline_event order)
{
    play->order = order;
    play->at = from;
    die_at(play, from, order);
    play->order = PIPELINE_EVENTS;
}

/* Given in every state in which work is done and the order may be. */
static void die_at_orders(struct play *play, enum pipeline_event order)
{
    for (int i = 0; i < PIPELINE_STATES; i++) {
        enum pipeline_state from = (enum pipeline_state)i, to;
        if (!orchestrator_pipeline_at_rest(from) &&
            orchestrator_pipeline_next_state(from, order, &to))
            die_at_order(play, from, order);
    }
}

/* ---- the tests ---- */

static void a_pipeline_that_is_left_alone_makes_the_same(void **state)
{
    struct play *play = *state;
    char outcome[OUTCOME_MAX];
    play->stage.chooses = true;
    size_t jobs = expect(play, EVERYTHING, outcome);
    die_on_the_way(play);
    assert_string_equal(play->outcome, outcome);
    assert_int_equal(play->stage.job_count, jobs);
}

/* The samples of the first trigger are erased, and of those of the second one the selector wants none. */
static void a_pipeline_without_anything_to_train_on_makes_the_same(void **state)
{
    struct play *play = *state;
    char outcome[OUTCOME_MAX];
    play->stage.chooses = false;
    play->stage.skips = 2;
    for (size_t row = 0; row < AMOUNT_SAMPLES; row++)
        weir_bits_set(&play->stage.erased, row);
    size_t jobs = expect(play, AMOUNT, outcome);
    die_on_the_way(play);
    assert_string_equal(play->outcome, outcome);
    assert_int_equal(play->stage.job_count, jobs);
    weir_bits_clear(&play->stage.erased);
    play->stage.skips = 0;
}

/* The second trigger fires while the first one is trained on. */
static void a_pipeline_that_is_ahead_of_its_training_makes_the_same(void **state)
{
    struct play *play = *state;
    char outcome[OUTCOME_MAX];
    play->stage.chooses = false;
    play->stage.fires_first = 2;
    size_t jobs = expect(play, AMOUNT, outcome);
    assert_true(dies(play, "pipeline.edge.TRIGGERED=!2"));
    assert_recorded(play, PIPELINE_EVALUATING);
    play->stage.fires_first = 0; /* they have */
    die_at(play, PIPELINE_EVALUATING, PIPELINE_ON_TRIGGERED);
    assert_false(dies(play, ""));
    assert_string_equal(play->outcome, outcome);
    assert_int_equal(play->stage.job_count, jobs);
}

static void die_at_orders_and_go_on(struct play *play, enum pipeline_event order)
{
    char outcome[OUTCOME_MAX];
    enum pipeline_state rest = PIPELINE_READING;
    play->stage.chooses = true;
    size_t jobs = expect(play, EVERYTHING, outcome);
    die_at_orders(play, order);
    assert_true(orchestrator_pipeline_next_state(PIPELINE_READING, order, &rest));
    die_at(play, rest, PIPELINE_ON_RESUMED);
    assert_false(dies(play, ""));
    assert_string_equal(play->outcome, outcome);
    assert_int_equal(play->stage.job_count, jobs);
}

static void a_pipeline_that_is_stopped_anywhere_makes_the_same(void **state)
{
    die_at_orders_and_go_on(*state, PIPELINE_ON_STOPPED);
}

static void a_pipeline_that_is_paused_anywhere_makes_the_same(void **state)
{
    die_at_orders_and_go_on(*state, PIPELINE_ON_PAUSED);
}

static void a_pipeline_that_fails_anywhere_makes_the_same(void **state)
{
    die_at_orders_and_go_on(*state, PIPELINE_ON_FAILED);
}

static void a_pipeline_that_takes_a_file_anywhere_makes_the_same(void **state)
{
    static const enum pipeline_event RESTS[] = {PIPELINE_ON_STOPPED, PIPELINE_ON_FAILED,
                                                PIPELINE_ON_PAUSED};
    struct play *play = *state;
    char outcome[OUTCOME_MAX];
    enum pipeline_state rest = PIPELINE_READING;
    play->stage.chooses = true;
    (void)expect(play, EVERYTHING, outcome);
    die_at_orders(play, PIPELINE_ON_APPLIED);
    for (size_t i = 0; i < WEIR_COUNT(RESTS); i++) {
        die_at_order(play, PIPELINE_READING, RESTS[i]);
        assert_true(orchestrator_pipeline_next_state(PIPELINE_READING, RESTS[i], &rest));
        die_at_order(play, rest, PIPELINE_ON_APPLIED);
    }
    assert_false(dies(play, ""));
    assert_string_equal(play->outcome, outcome);
    die_at_order(play, PIPELINE_FINISHED, PIPELINE_ON_APPLIED);
    assert_false(dies(play, ""));
    assert_string_equal(play->outcome, outcome);
}

static void a_pipeline_that_is_run_again_from_anywhere_makes_the_same(void **state)
{
    static const enum pipeline_event RESTS[] = {PIPELINE_ON_STOPPED, PIPELINE_ON_FAILED,
                                                PIPELINE_ON_PAUSED};
    struct play *play = *state;
    char outcome[OUTCOME_MAX];
    enum pipeline_state rest = PIPELINE_READING;
    (void)expect(play, EVERYTHING, outcome);
    die_at_orders(play, PIPELINE_ON_REMOVED);
    for (size_t i = 0; i < WEIR_COUNT(RESTS); i++) {
        die_at_order(play, PIPELINE_READING, RESTS[i]);
        assert_true(orchestrator_pipeline_next_state(PIPELINE_READING, RESTS[i], &rest));
        if (rest == PIPELINE_PAUSED) {
            die_at_order(play, rest, PIPELINE_ON_STOPPED);
            die_at(play, PIPELINE_STOPPED, PIPELINE_ON_RESUMED);
            die_at_order(play, PIPELINE_READING, PIPELINE_ON_PAUSED);
        }
        die_at_order(play, rest, PIPELINE_ON_REMOVED);
    }
    die_at(play, PIPELINE_REMOVING, PIPELINE_ON_CLEARED);
    assert_false(dies(play, ""));
    assert_string_equal(play->outcome, outcome);
    die_at_order(play, PIPELINE_FINISHED, PIPELINE_ON_REMOVED);
    assert_false(dies(play, ""));
    assert_string_equal(play->outcome, outcome);
}

/* After the tests above. Two events do not lead from one state to the same other one, so that the states tell them. */
static void every_edge_of_the_table_was_among_them(void **state)
{
    const struct play *play = *state;
    for (int from = 0; from < PIPELINE_STATES; from++) {
        bool leads[PIPELINE_STATES] = {false};
        for (int event = 0; event < PIPELINE_EVENTS; event++) {
            enum pipeline_state to;
            if (!orchestrator_pipeline_next_state((enum pipeline_state)from,
                                                  (enum pipeline_event)event, &to))
                continue;
            assert_false(leads[to]);
            leads[to] = true;
            if (!play->taken[from][to])
                fail_msg("nobody has died at %s, on %s",
                         orchestrator_pipeline_state_name((enum pipeline_state)from),
                         orchestrator_pipeline_event_name((enum pipeline_event)event));
        }
    }
}

static int make(void **state)
{
    struct play *play =
        mmap(NULL, sizeof(*play), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(play != MAP_FAILED);
    stage_found(&play->stage);
    *state = play;
    return 0;
}

static int drop(void **state)
{
    struct play *play = *state;
    stage_end(&play->stage);
    return munmap(play, sizeof(*play));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pipeline_that_is_left_alone_makes_the_same),
        cmocka_unit_test(a_pipeline_without_anything_to_train_on_makes_the_same),
        cmocka_unit_test(a_pipeline_that_is_ahead_of_its_training_makes_the_same),
        cmocka_unit_test(a_pipeline_that_is_stopped_anywhere_makes_the_same),
        cmocka_unit_test(a_pipeline_that_is_paused_anywhere_makes_the_same),
        cmocka_unit_test(a_pipeline_that_fails_anywhere_makes_the_same),
        cmocka_unit_test(a_pipeline_that_takes_a_file_anywhere_makes_the_same),
        cmocka_unit_test(a_pipeline_that_is_run_again_from_anywhere_makes_the_same),
        cmocka_unit_test(every_edge_of_the_table_was_among_them),
    };
    return cmocka_run_group_tests_name("orchestrator_edges", tests, make, drop);
}
