/* The built-in trainer in process, from the orchestrator's order to its acknowledgement, against a
 * scripted platform. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/service/service.h"
#include "core/wire/outputs.h"
#include "core/wire/sample.h"
#include "tests/component/scripted_platform.h"
#include "tests/support/temp_dir.h"
#include "trainer_client/trainer.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define TEXT_BAG \
    "training: {model: {name: text_bag, buckets: 64}, epochs: 3, checkpoint: {every: 10ms}}\n"

#define REPORTING                                                                            \
    "training: {model: {name: text_bag, buckets: 64}, epochs: 3, checkpoint: {every: 10ms}," \
    " report_losses: true}\n"

#define ADAM                                                                                      \
    "datasets: [{label: {classes: [even, odd]}}]\n"                                               \
    "training: {model: {name: text_bag, buckets: 64}, epochs: 3, checkpoint: {every: 10ms},"      \
    " optimizer: {name: adam, lr: 0.05}, schedule: {name: cosine, warmup: 7}, clip: {norm: 0.1}," \
    " class_weights: {odd: 3}}\n"

#define WARM(optimizer, carry)                                                  \
    "training: {model: {name: text_bag, buckets: 64}, epochs: 3, carry: " carry \
    ", optimizer: {name: " optimizer ", lr: 0.05}}\n"

#define FM "training: {model: {name: fm, buckets: 64, factors: 4}, epochs: 3}\n"
#define TEXT_EMBEDDING \
    "training: {model: {name: text_embedding, buckets: 64, dimension: 5}, epochs: 3}\n"

struct fixture {
    struct temp_dir sockets, run;
    struct platform *platform;
    char path[600];
};

static void start(struct fixture *fixture, struct platform_script script)
{
    *fixture = (struct fixture){0};
    temp_dir_make(&fixture->sockets);
    temp_dir_make(&fixture->run);
    script.socket_dir = fixture->sockets.path;
    script.directory = fixture->run.path;
    script.config = script.config != NULL ? script.config : TEXT_BAG;
    fixture->platform = platform_start(&script);
}

static void end(struct fixture *fixture)
{
    if (fixture->platform != NULL)
        platform_stop(fixture->platform);
    temp_dir_remove(&fixture->sockets);
    temp_dir_remove(&fixture->run);
}

static const char *file_of(struct fixture *fixture, const char *name)
{
    snprintf(fixture->path, sizeof(fixture->path), "%s/%s", fixture->run.path, name);
    return fixture->path;
}

/* Runs the trainer's loop until it stops by itself, or after `rounds` rounds (0: no limit). */
static bool run_trainer(struct fixture *fixture, int rounds)
{
    struct weir_service_options options = {.socket_dir = fixture->sockets.path, .run = "5"};
    struct weir_loop *loop = weir_loop_new();
    struct weir_error err;
    void *trainer = NULL;
    if (trainer_open(&options, loop, NULL, &trainer, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    for (int i = 0; !weir_loop_stopping(loop) && (rounds == 0 || i < rounds); i++)
        weir_loop_step(loop, 20);
    bool succeeded = weir_loop_stopping(loop) && trainer_exit_code(trainer) == 0;
    trainer_close(trainer);
    weir_loop_free(loop);
    return succeeded;
}

static void read_bytes(struct fixture *fixture, const char *name, struct weir_buf *bytes)
{
    struct weir_error err;
    weir_buf_clear(bytes);
    if (weir_file_read(file_of(fixture, name), 1 << 24, bytes, &err) != WEIR_OK)
        fail_msg("%s", err.text);
}

static void read_model(struct fixture *fixture, struct weir_buf *bytes)
{
    read_bytes(fixture, "model", bytes);
}

static void a_run_makes_a_model_commits_and_reports(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct weir_model_file model;
    struct weir_error err;
    start(&fixture, (struct platform_script){.samples = 200, .epochs = 3, .mode = "train"});
    assert_true(run_trainer(&fixture, 0));
    struct platform_view view = platform_look(fixture.platform);
    assert_true(view.final && view.done);
    assert_true(view.commits > 1); /* checkpoints on the way */
    assert_int_equal(view.done_samples, 600);
    assert_true(view.loss < 0.3);
    assert_int_equal(weir_model_file_read(file_of(&fixture, "model"), &model, &err), WEIR_OK);
    assert_string_equal(model.model, "text_bag");
    assert_int_equal(model.width, 1);
    assert_int_equal(model.rows, 65);
    assert_int_equal(model.classes.count, 2);
    assert_string_equal(model.classes.at[1], "odd");
    assert_int_equal(model.fitted.size, strlen("fitted state"));
    assert_int_equal(model.progress.position.size, 0);
    weir_model_file_fini(&model);
    assert_int_not_equal(access(file_of(&fixture, "checkpoint"), F_OK), 0);
    end(&fixture);
}

static void the_same_run_makes_the_same_bytes_even_when_stopped_on_the_way(void **unused)
{
    (void)unused;
    static const int ROUNDS[] = {0, 20, 40, 90};
    static const char *const CONFIGS[] = {TEXT_BAG, ADAM};
    WEIR_AUTO_BUF first = {0};
    WEIR_AUTO_BUF again = {0};
    for (size_t c = 0; c < WEIR_COUNT(CONFIGS) * WEIR_COUNT(ROUNDS); c++) {
        size_t i = c % WEIR_COUNT(ROUNDS);
        struct fixture fixture;
        start(&fixture, (struct platform_script){.samples = 200,
                                                 .epochs = 3,
                                                 .mode = "train",
                                                 .config = CONFIGS[c / WEIR_COUNT(ROUNDS)]});
        if (ROUNDS[i] > 0)
            assert_false(run_trainer(&fixture, ROUNDS[i]));
        assert_true(run_trainer(&fixture, 0));
        assert_int_equal(platform_look(fixture.platform).done_samples, 600);
        read_model(&fixture, i == 0 ? &first : &again);
        if (i > 0)
            assert_true(weir_bytes_equal(weir_buf_view(&first), weir_buf_view(&again)));
        end(&fixture);
    }
}

/* In the order they were made in, or as they came: each sample of the set is reported once. */
static void what_samples_cost_is_reported_whole_even_when_stopped_on_the_way(void **unused)
{
    (void)unused;
    static const int ROUNDS[] = {0, 20, 40, 90};
    WEIR_AUTO_BUF first = {0};
    WEIR_AUTO_BUF again = {0};
    for (size_t i = 0; i < 2 * WEIR_COUNT(ROUNDS); i++) {
        struct fixture fixture;
        struct weir_outputs outputs;
        struct weir_error err;
        bool relaxed = i >= WEIR_COUNT(ROUNDS);
        int rounds = ROUNDS[i % WEIR_COUNT(ROUNDS)];
        start(&fixture, (struct platform_script){.samples = 200,
                                                 .epochs = 3,
                                                 .mode = "train",
                                                 .relaxed = relaxed,
                                                 .shuffles_sending = relaxed,
                                                 .config = REPORTING});
        if (rounds > 0)
            assert_false(run_trainer(&fixture, rounds));
        assert_true(run_trainer(&fixture, 0));
        assert_int_equal(weir_outputs_open(file_of(&fixture, "outputs"), &outputs, &err), WEIR_OK);
        assert_int_equal(outputs.count, 200);
        for (size_t s = 0; s < outputs.count; s++)
            assert_int_equal(outputs.ids[s], s + 1);
        weir_outputs_close(&outputs);
        assert_int_not_equal(access(file_of(&fixture, "reported"), F_OK), 0);
        read_bytes(&fixture, "outputs", rounds == 0 ? &first : &again);
        if (rounds > 0 && !relaxed)
            assert_true(weir_bytes_equal(weir_buf_view(&first), weir_buf_view(&again)));
        end(&fixture);
    }
}

/* The trainer is stopped when so many batches are consumed, and leaves a checkpoint. */
static void run_until_consumed(struct fixture *fixture, uint64_t batches)
{
    struct weir_service_options options = {.socket_dir = fixture->sockets.path, .run = "5"};
    struct weir_loop *loop = weir_loop_new();
    struct weir_error err;
    void *trainer = NULL;
    platform_hold_batches(fixture->platform, batches);
    assert_int_equal(trainer_open(&options, loop, NULL, &trainer, &err), WEIR_OK);
    while (platform_look(fixture->platform).oldest < batches)
        weir_loop_step(loop, 20);
    trainer_close(trainer);
    weir_loop_free(loop);
    platform_hold_batches(fixture->platform, UINT64_MAX);
}

static void samples_before_and_after_a_stop_in_any_epoch_are_reported_together(void **unused)
{
    (void)unused;
    static const uint64_t STOPS[] = {41, 100, 159, 200, 259, 300}; /* 100 batches an epoch */
    for (size_t i = 0; i < WEIR_COUNT(STOPS); i++) {
        struct fixture fixture;
        struct weir_outputs outputs;
        struct weir_error err;
        start(&fixture, (struct platform_script){
                            .samples = 200, .epochs = 3, .mode = "train", .config = REPORTING});
        run_until_consumed(&fixture, STOPS[i]);
        assert_true(run_trainer(&fixture, 0));
        assert_int_equal(platform_look(fixture.platform).done_samples, 600);
        assert_int_equal(weir_outputs_open(file_of(&fixture, "outputs"), &outputs, &err), WEIR_OK);
        assert_int_equal(outputs.count, 200);
        assert_int_equal(outputs.epoch, 2);
        weir_outputs_close(&outputs);
        end(&fixture);
    }
}

static void a_damaged_checkpoint_is_put_aside(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, (struct platform_script){.samples = 20, .epochs = 3, .mode = "train"});
    assert_int_equal(weir_file_write_atomic(file_of(&fixture, "checkpoint"),
                                            weir_bytes_of("WEIRMDL1 but no more"), NULL),
                     WEIR_OK);
    assert_true(run_trainer(&fixture, 0));
    assert_int_equal(platform_look(fixture.platform).done_samples, 60);
    end(&fixture);
}

/* Trains, keeps the model, and starts the platform again in another mode with that model. */
static void train_then(struct fixture *fixture, const char *config, const char *mode, char *model,
                       size_t size)
{
    start(fixture,
          (struct platform_script){.samples = 200, .epochs = 3, .mode = "train", .config = config});
    assert_true(run_trainer(fixture, 0));
    platform_stop(fixture->platform);
    snprintf(model, size, "%s", file_of(fixture, "model"));
    fixture->platform =
        platform_start(&(struct platform_script){.samples = 101,
                                                 .socket_dir = fixture->sockets.path,
                                                 .directory = fixture->run.path,
                                                 .mode = mode,
                                                 .relaxed = true,
                                                 .shuffles_sending = true,
                                                 .config = config,
                                                 .start_from = model});
}

static void outputs_come_in_id_order_for_every_mode(void **unused)
{
    (void)unused;
    static const struct {
        const char *config, *mode;
        size_t width;
    } CASES[] = {
        {TEXT_BAG, "evaluate", 1},    {TEXT_BAG, "predict", 1},       {FM, "evaluate", 1},
        {FM, "predict", 1},           {TEXT_EMBEDDING, "predict", 1}, {TEXT_BAG, "score", 2},
        {TEXT_BAG, "gradient", 1},    {TEXT_BAG, "embed", 64},        {FM, "embed", 4},
        {TEXT_EMBEDDING, "embed", 5},
    };
    enum { PREDICTING = 5 };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct fixture fixture;
        struct weir_outputs outputs;
        struct weir_error err;
        char model[600];
        train_then(&fixture, CASES[i].config, CASES[i].mode, model, sizeof(model));
        assert_true(run_trainer(&fixture, 0));
        assert_true(platform_look(fixture.platform).final && platform_look(fixture.platform).done);
        assert_int_equal(weir_outputs_open(file_of(&fixture, "outputs"), &outputs, &err), WEIR_OK);
        assert_int_equal(outputs.count, 101);
        assert_int_equal(outputs.width, CASES[i].width);
        for (size_t s = 0; s < outputs.count; s++) {
            assert_int_equal(outputs.ids[s], s + 1);
            assert_int_equal(outputs.labels[s], (s + 1) % 2);
            if (i < PREDICTING)
                assert_true((outputs.values[s] > 0.5f) == ((s + 1) % 2 == 1));
        }
        weir_outputs_close(&outputs);
        end(&fixture);
    }
}

static void a_warm_start_goes_on_from_the_model(void **unused)
{
    (void)unused;
    struct fixture fixture;
    char model[600];
    WEIR_AUTO_BUF before = {0};
    WEIR_AUTO_BUF after = {0};
    train_then(&fixture, TEXT_BAG, "train", model, sizeof(model));
    read_model(&fixture, &before);
    assert_true(run_trainer(&fixture, 0));
    read_model(&fixture, &after);
    assert_false(weir_bytes_equal(weir_buf_view(&before), weir_buf_view(&after)));
    assert_true(platform_look(fixture.platform).loss <
                0.3); /* one epoch would not do from scratch */
    end(&fixture);
}

/* Steps behind the optimizer's state in the model of a second training that starts from the first one's. */
static uint64_t steps_after_two(const char *first, const char *second)
{
    struct fixture fixture;
    struct weir_model_file model;
    struct weir_error err;
    char path[600];
    start(&fixture,
          (struct platform_script){.samples = 200, .epochs = 3, .mode = "train", .config = first});
    assert_true(run_trainer(&fixture, 0));
    platform_stop(fixture.platform);
    snprintf(path, sizeof(path), "%s", file_of(&fixture, "model"));
    fixture.platform = platform_start(&(struct platform_script){.samples = 200,
                                                                .epochs = 3,
                                                                .socket_dir = fixture.sockets.path,
                                                                .directory = fixture.run.path,
                                                                .mode = "train",
                                                                .config = second,
                                                                .start_from = path});
    assert_true(run_trainer(&fixture, 0));
    assert_int_equal(weir_model_file_read(file_of(&fixture, "model"), &model, &err), WEIR_OK);
    uint64_t steps = model.steps;
    weir_model_file_fini(&model);
    end(&fixture);
    return steps;
}

static void the_state_of_the_optimizer_goes_on_where_it_is_carried(void **unused)
{
    (void)unused;
    uint64_t fresh = steps_after_two(WARM("adam", "[weights]"), WARM("adam", "[weights]"));
    uint64_t carried = steps_after_two(WARM("adam", "[weights]"), WARM("adam", "optimizer"));
    uint64_t of_another = steps_after_two(WARM("adamw", "[weights]"), WARM("adam", "optimizer"));
    assert_true(fresh > 0);
    assert_int_equal(carried, 2 * fresh);
    assert_int_equal(of_another, fresh);
}

static void a_run_that_cannot_be_done_fails(void **unused)
{
    (void)unused;
    static const struct platform_script CASES[] = {
        {.samples = 20, .mode = "evaluate"},                                     /* no model */
        {.samples = 20, .mode = "dance"},                                        /* unknown mode */
        {.samples = 20, .mode = "train", .config = "training: {model: nope}\n"}, /* bad section */
        {.samples = 20, .mode = "train", .start_from = "/nonexistent/model"},
        {.samples = 0, .mode = "train"}, /* nothing to train on */
        {.samples = 20,
         .mode = "train",
         .config = "training: {model: {name: text_bag, buckets: 3}}\n"}, /* tokens beyond */
    };
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct fixture fixture;
        start(&fixture, CASES[i]);
        assert_false(run_trainer(&fixture, 0));
        assert_false(platform_look(fixture.platform).done);
        end(&fixture);
    }
}

static void an_orchestrator_that_is_slow_is_waited_for(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture,
          (struct platform_script){.samples = 20, .epochs = 1, .mode = "train", .slow_ms = 1200});
    assert_true(run_trainer(&fixture, 0));
    end(&fixture);
}

static void a_set_that_is_erased_or_gone_ends_the_run_without_a_model(void **unused)
{
    (void)unused;
    static const struct {
        uint32_t holes;
        bool is_done;
    } CASES[] = {{WEIR_SAMPLE_ERASED, true},
                 {WEIR_SAMPLE_GONE, true},
                 {WEIR_SAMPLE_FILTERED, false},
                 {WEIR_SAMPLE_FAILED, false}};
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        struct fixture fixture;
        start(&fixture, (struct platform_script){
                            .samples = 20, .all_holes = CASES[i].holes, .mode = "train"});
        assert_true(run_trainer(&fixture, 0) == CASES[i].is_done);
        struct platform_view view = platform_look(fixture.platform);
        assert_true(view.final == CASES[i].is_done && view.done == CASES[i].is_done);
        assert_false(view.has_model);
        assert_int_not_equal(access(file_of(&fixture, "model"), F_OK), 0);
        end(&fixture);
    }
}

static void the_orchestrator_can_stop_a_run(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, (struct platform_script){.samples = 4000, .epochs = 3, .mode = "train"});
    platform_pause_worker(fixture.platform, true);
    platform_stop_run(fixture.platform);
    assert_true(run_trainer(&fixture, 0));
    assert_false(platform_look(fixture.platform).done);
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_makes_a_model_commits_and_reports),
        cmocka_unit_test(the_same_run_makes_the_same_bytes_even_when_stopped_on_the_way),
        cmocka_unit_test(what_samples_cost_is_reported_whole_even_when_stopped_on_the_way),
        cmocka_unit_test(samples_before_and_after_a_stop_in_any_epoch_are_reported_together),
        cmocka_unit_test(a_damaged_checkpoint_is_put_aside),
        cmocka_unit_test(outputs_come_in_id_order_for_every_mode),
        cmocka_unit_test(a_warm_start_goes_on_from_the_model),
        cmocka_unit_test(the_state_of_the_optimizer_goes_on_where_it_is_carried),
        cmocka_unit_test(a_run_that_cannot_be_done_fails),
        cmocka_unit_test(an_orchestrator_that_is_slow_is_waited_for),
        cmocka_unit_test(a_set_that_is_erased_or_gone_ends_the_run_without_a_model),
        cmocka_unit_test(the_orchestrator_can_stop_a_run),
    };
    return cmocka_run_group_tests_name("trainer_run", tests, NULL, NULL);
}
