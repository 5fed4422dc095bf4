/* A choice that takes long is made on a thread of its own: what the selector answers meanwhile, and
 * what makes the choice give up. The long choices here would take days, so nothing depends on how
 * fast the machine is. */
#include "core/base/rng.h"
#include "core/wire/outputs.h"
#include "selector/tasks/task.h"
#include "tests/component/selector_lab.h"

enum { CANDIDATES = 20000, WIDTH = 8 };

#define DAYS                                               \
    "{policy: coreset, tail_triggers: all, limit: 10000, " \
    "score: {method: submodular, optimizer: naive}}"

/* A client that waits for the long choice. */
struct waiting {
    bool answered;
    uint64_t samples;
    enum weir_status status;
};

static void on_long(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct waiting *waiting = owner;
    waiting->answered = true;
    waiting->status = reply != NULL ? WEIR_OK : err->status;
    if (reply != NULL && reply->type == MSG_selected)
        waiting->samples = ((const struct msg_selected *)reply->message)->samples;
}

static struct selector *selector_of(const struct fixture *fixture)
{
    return fixture->selector;
}

/* The choice that is being made for a pipeline. */
static const struct selector_task *choice_of(const struct fixture *fixture, const char *pipeline)
{
    const struct selector_task *task = TAILQ_FIRST(&selector_of(fixture)->queue.tasks);
    while (task != NULL && (task->work == NULL || !weir_str_equal(task->pipeline_name, pipeline)))
        task = TAILQ_NEXT(task, link);
    return task;
}

/* Until the method itself has said how far it is. */
static void wait_for_choice(struct fixture *fixture, const char *pipeline)
{
    for (int round = 0;; round++) {
        const struct selector_task *task = choice_of(fixture, pipeline);
        if (task != NULL && weir_work_progress(task->work).total > CANDIDATES / 4)
            return;
        assert_true(round < 1000);
        weir_loop_step(fixture->loop, TEST_STEP_MS);
    }
}

static void open_as(struct fixture *fixture, const char *pipeline, const char *selection)
{
    static const uint64_t DATASETS[] = {DATASET};
    WEIR_AUTO_FREE char *config =
        weir_format("datasets: [{name: mails}]\nselection: %s\n", selection);
    const struct msg_selection_open open = {
        .pipeline = pipeline,
        .file = "quick.yaml",
        .config = weir_bytes_of(config),
        .datasets = {DATASETS, 1},
    };
    assert_int_equal(lab_request(fixture, MSG_selection_open, &open), WEIR_OK);
}

static void bring_gradients(struct fixture *fixture, const char *pipeline)
{
    struct weir_sample_set set = {0};
    struct weir_error err;
    struct weir_rng rng;
    char digest[WEIR_DIGEST_TEXT_MAX];
    weir_rng_init(&rng, 1);
    assert_int_equal(weir_sample_set_open(fixture->path, &set, &err), WEIR_OK);
    WEIR_AUTO_FREE int64_t *labels = weir_calloc(set.count, sizeof(*labels));
    WEIR_AUTO_FREE float *values = weir_calloc(set.count * WIDTH, sizeof(*values));
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(set.count, sizeof(*ids));
    memcpy(ids, set.ids, set.count * sizeof(*ids));
    for (size_t i = 0; i < set.count * WIDTH; i++)
        values[i] = (float)weir_rng_unit(&rng) - 0.5F;
    const struct weir_outputs outputs = {
        .ids = ids, .labels = labels, .values = values, .width = WIDTH, .count = set.count};
    const char *path = temp_path(&fixture->dir, "outputs");
    assert_int_equal(weir_outputs_write(path, &outputs, &err), WEIR_OK);
    weir_sample_set_close(&set);
    (void)snprintf(digest, sizeof(digest), "%s", fixture->digest);
    const struct msg_scores_take take = {.pipeline = pipeline,
                                         .mode = "gradient",
                                         .model = "m-1",
                                         .digest = digest,
                                         .outputs = path};
    assert_int_equal(lab_request(fixture, MSG_scores_take, &take), WEIR_OK);
}

static struct msg_select first_trigger(const char *pipeline)
{
    static const uint64_t POSITION = 1;
    return (struct msg_select){
        .pipeline = pipeline, .trigger = 1, .positions = {&POSITION, 1}, .model = "m-1"};
}

/* `ret_waiting` hears of it. */
static void begin_long_choice(struct fixture *fixture, const char *pipeline,
                              struct waiting *ret_waiting)
{
    const struct msg_select select = first_trigger(pipeline);
    *ret_waiting = (struct waiting){0};
    weir_rpc_call(fixture->peer, MSG_select, &select, TEST_PATIENCE_MS, on_long, ret_waiting);
    wait_for_choice(fixture, pipeline);
}

/* A choice that takes days has begun. */
static void begin_long(struct fixture *fixture, const char *pipeline, struct waiting *ret_waiting)
{
    const struct msg_select select = first_trigger(pipeline);
    open_as(fixture, pipeline, DAYS);
    assert_int_equal(lab_request(fixture, MSG_select, &select), WEIR_OK);
    assert_string_equal(fixture->mode, "gradient");
    bring_gradients(fixture, pipeline);
    begin_long_choice(fixture, pipeline, ret_waiting);
}

static enum weir_status purge(struct fixture *fixture, const char *pipeline)
{
    const struct msg_scores_purge asked = {.pipeline = pipeline};
    return lab_request(fixture, MSG_scores_purge, &asked);
}

struct reported {
    bool answered;
    char pipeline[16];
    uint64_t trigger, done, total;
};

static void on_sets(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct reported *reported = owner;
    (void)err;
    assert_non_null(reply);
    const struct msg_sets_are *sets = reply->message;
    reported->answered = true;
    assert_int_equal(sets->choosing.count, 1);
    (void)snprintf(reported->pipeline, sizeof(reported->pipeline), "%s", sets->choosing.at[0]);
    reported->trigger = sets->choosing_triggers.at[0];
    reported->done = sets->choosing_done.at[0];
    reported->total = sets->choosing_total.at[0];
}

static void how_far_a_choice_is_can_be_asked(void **state)
{
    struct fixture *fixture = *state;
    struct waiting waiting;
    struct reported reported = {0};
    const struct msg_sets_request asked = {.pipeline = "long"};
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, CANDIDATES);
    begin_long(fixture, "long", &waiting);
    weir_rpc_call(fixture->peer, MSG_sets_request, &asked, TEST_PATIENCE_MS, on_sets, &reported);
    test_loop_until(fixture->loop, &reported.answered);
    assert_string_equal(reported.pipeline, "long");
    assert_int_equal(reported.trigger, 1);
    assert_int_equal(reported.total, 10000);
    assert_true(reported.done < reported.total);
}

static void while_a_choice_takes_long_all_else_is_answered(void **state)
{
    struct fixture *fixture = *state;
    struct waiting waiting;
    uint64_t position = 2;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, CANDIDATES);
    begin_long(fixture, "long", &waiting);
    lab_change(fixture, WEIR_CHANGE_ADDED, CANDIDATES, 10);

    open_as(fixture, "short", "{policy: new_data, tail_triggers: all, limit: 7}");
    const struct msg_select select = {
        .pipeline = "short", .trigger = 1, .positions = {&position, 1}};
    assert_int_equal(lab_request(fixture, MSG_select, &select), WEIR_OK);
    assert_int_equal(fixture->samples, 7);
    const struct msg_set_read read = {.digest = fixture->digest, .count = 7};
    assert_int_equal(lab_request(fixture, MSG_set_read, &read), WEIR_OK);
    const struct msg_preview preview = {.pipeline = "short", .positions = {&position, 1}};
    assert_int_equal(lab_request(fixture, MSG_preview, &preview), WEIR_OK);
    assert_int_equal(fixture->candidates, CANDIDATES + 10);
    const struct msg_interval_seal seal = {
        .pipeline = "long", .from_time = 1000, .to_time = 1005, .positions = {&position, 1}};
    assert_int_equal(lab_request(fixture, MSG_interval_seal, &seal), WEIR_OK);
    assert_int_equal(fixture->samples, 5);
    assert_int_equal(purge(fixture, "long"), WEIR_OK); /* nothing is gone */
    const struct selector_task *task = choice_of(fixture, "long");
    assert_non_null(task);
    assert_int_equal(task->pipeline->cursors[0], 2); /* the feed was read */
    assert_int_equal(task->restarts, 0);
    assert_false(waiting.answered);
}

/* The state is that of a kill: the same request leads to a new choice. */
static void a_choice_that_is_closed_upon_gives_up(void **state)
{
    struct fixture *fixture = *state;
    struct waiting waiting;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, CANDIDATES);
    begin_long(fixture, "long", &waiting);
    lab_restart(fixture);
    assert_true(TAILQ_EMPTY(&selector_of(fixture)->queue.tasks));
    begin_long_choice(fixture, "long", &waiting);
    assert_false(waiting.answered);
}

static void what_is_erased_meanwhile_is_not_chosen(void **state)
{
    struct fixture *fixture = *state;
    struct waiting waiting;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, CANDIDATES);
    begin_long(fixture, "long", &waiting);
    lab_change(fixture, WEIR_CHANGE_ERASED, 12, CANDIDATES - 12);
    assert_int_equal(purge(fixture, "long"), WEIR_OK);
    assert_int_equal(fixture->samples, CANDIDATES - 12); /* scores that were forgotten */
    test_loop_until(fixture->loop, &waiting.answered);
    assert_int_equal(waiting.status, WEIR_OK);
    assert_int_equal(waiting.samples, 12);
}

static void erasures_do_not_keep_a_choice_from_its_end(void **state)
{
    struct fixture *fixture = *state;
    struct waiting waiting;
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, CANDIDATES);
    begin_long(fixture, "long", &waiting);
    for (uint32_t i = 1; i <= SELECTOR_RESTARTS_MAX + 2; i++) {
        lab_change(fixture, WEIR_CHANGE_ERASED, i, 1);
        assert_int_equal(purge(fixture, "long"), WEIR_OK);
        wait_for_choice(fixture, "long");
        assert_int_equal(choice_of(fixture, "long")->restarts,
                         i < SELECTOR_RESTARTS_MAX ? i : SELECTOR_RESTARTS_MAX);
    }
    assert_false(waiting.answered);
}

static void two_are_chosen_for_at_a_time(void **state)
{
    struct fixture *fixture = *state;
    struct waiting first, second;
    const struct msg_interval_seal seal = {
        .pipeline = "a", .from_time = 1000, .to_time = 1005, .positions = {(uint64_t[]){1}, 1}};
    lab_change(fixture, WEIR_CHANGE_ADDED, 0, CANDIDATES);
    begin_long(fixture, "a", &first);
    begin_long(fixture, "b", &second);
    struct waiting third = {0};
    weir_rpc_call(fixture->peer, MSG_interval_seal, &seal, TEST_PATIENCE_MS, on_long, &third);
    assert_int_equal(purge(fixture, "a"), WEIR_OK);
    assert_int_equal(purge(fixture, "b"), WEIR_OK);
    assert_false(third.answered);
    lab_change(fixture, WEIR_CHANGE_ERASED, 12, CANDIDATES - 12);
    assert_int_equal(purge(fixture, "b"), WEIR_OK);
    test_loop_until(fixture->loop, &second.answered);
    test_loop_until(fixture->loop, &third.answered);
    assert_int_equal(third.samples, 5);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, lab_setup, lab_teardown)
    const struct CMUnitTest tests[] = {
        TEST(while_a_choice_takes_long_all_else_is_answered),
        TEST(how_far_a_choice_is_can_be_asked),
        TEST(a_choice_that_is_closed_upon_gives_up),
        TEST(what_is_erased_meanwhile_is_not_chosen),
        TEST(erasures_do_not_keep_a_choice_from_its_end),
        TEST(two_are_chosen_for_at_a_time),
    };
    return cmocka_run_group_tests(tests, lab_setup_group, lab_teardown_group);
}
