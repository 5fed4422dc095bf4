/* The task protocol of weir/client.h against a scripted platform: what a program asks, says and hands over, and what is
 * refused before the platform hears of it. */
#include "core/base/bytes.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/wire/outputs.h"
#include "tests/component/scripted_platform.h"
#include "tests/support/consume.h"
#include "tests/support/loop.h"
#include "tests/support/temp_dir.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <weir/client.h>

#include <cmocka.h>

#define SECTION "training: {model: {name: text_bag, buckets: 64}}\n"

static _Atomic(ino_t) synced; /* the newest file that fsync() was asked for */

int fsync(int fd)
{
    struct stat file = {0};

    assert_int_equal(fstat(fd, &file), 0);
    synced = file.st_ino;
    return (int)syscall(SYS_fsync, fd);
}

struct fixture {
    struct temp_dir sockets, run;
    struct platform *platform;
    struct weir_client_task *task;
    struct weir_client *client;
    struct weir_client_error error;
};

static void start(struct fixture *fixture, struct platform_script script)
{
    *fixture = (struct fixture){0};
    temp_dir_make(&fixture->sockets);
    temp_dir_make(&fixture->run);
    script.socket_dir = fixture->sockets.path;
    script.directory = fixture->run.path;
    script.config = script.config != NULL ? script.config : SECTION;
    script.samples = 20;
    fixture->platform = platform_start(&script);
}

static void end(struct fixture *fixture)
{
    weir_client_close(fixture->client);
    weir_client_task_free(fixture->task);
    platform_stop(fixture->platform);
    temp_dir_remove(&fixture->sockets);
    temp_dir_remove(&fixture->run);
}

static struct weir_client_options options_of(struct fixture *fixture)
{
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;

    options.run = 5;
    options.socket_dir = fixture->sockets.path;
    options.open_timeout_ms = TEST_PATIENCE_MS;
    return options;
}

static void open_task(struct fixture *fixture)
{
    struct weir_client_options options = options_of(fixture);

    if (weir_client_task(&options, &fixture->task, &fixture->error) != WEIR_CLIENT_OK)
        fail_msg("%s", fixture->error.text);
    options.task = fixture->task;
    if (weir_client_open(&options, &fixture->client, &fixture->error) != WEIR_CLIENT_OK)
        fail_msg("%s", fixture->error.text);
}

static struct weir_batch *next(struct fixture *fixture)
{
    struct weir_batch *batch = NULL;
    enum weir_client_status status =
        weir_client_next(fixture->client, TEST_PATIENCE_MS, &batch, &fixture->error);

    if (status == WEIR_CLIENT_END)
        return NULL;
    if (status != WEIR_CLIENT_OK)
        fail_msg("%s", fixture->error.text);
    return batch;
}

/* Consumes what is left; with `width` above 0 it says so many numbers of each sample. */
static void take_all(struct fixture *fixture, enum weir_output kind, uint32_t width)
{
    float values[64] = {0};

    for (struct weir_batch *batch = next(fixture); batch != NULL; batch = next(fixture)) {
        for (size_t i = 0; i < batch->samples * width; i++)
            values[i] = (float)batch->ids[i / width];
        if (width > 0 && weir_client_output(fixture->client, batch, kind, width, values,
                                            &fixture->error) != WEIR_CLIENT_OK)
            fail_msg("%s", fixture->error.text);
        consume_batch(fixture->client, batch);
    }
}

static void write_model(struct fixture *fixture)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/weights", fixture->run.path);
    struct weir_error err;

    assert_int_equal(weir_file_write_atomic(path, weir_bytes_of("w"), &err), WEIR_OK);
}

static void remove_model(struct fixture *fixture)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/weights", fixture->run.path);

    assert_int_equal(unlink(path), 0);
}

static enum weir_client_status finish(struct fixture *fixture, const char *model, double loss)
{
    const struct weir_client_result result = {model, loss};

    return weir_client_finish(fixture->client, &result, TEST_PATIENCE_MS, &fixture->error);
}

static void expect_refused(struct fixture *fixture, const char *model, double loss,
                           const char *words)
{
    assert_int_equal(finish(fixture, model, loss), WEIR_CLIENT_INVALID);
    if (strstr(fixture->error.text, words) == NULL)
        fail_msg("expected '%s' in '%s'", words, fixture->error.text);
    assert_false(platform_look(fixture->platform).done);
}

static void a_task_says_what_is_wanted(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, (struct platform_script){.mode = "train"});
    open_task(&fixture);
    const struct weir_client_task *task = fixture.task;
    assert_int_equal(task->run, 5);
    assert_string_equal(task->mode, "train");
    assert_string_equal(task->directory, fixture.run.path);
    assert_string_equal(task->file, "scripted.yaml");
    assert_int_equal(task->config_size, strlen(SECTION));
    assert_memory_equal(task->config, SECTION, task->config_size);
    assert_string_equal(task->options, "null");
    assert_null(task->start_from);
    assert_int_equal(task->class_count, 2);
    assert_string_equal(task->classes[1], "odd");
    assert_int_equal(task->label_type, WEIR_LABELS_CLASS);
    end(&fixture);
}

static void a_training_hands_its_model_over_once_it_is_whole(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, (struct platform_script){.mode = "train"});
    open_task(&fixture);
    consume_batch(fixture.client, next(&fixture));
    write_model(&fixture);
    expect_refused(&fixture, "weights", 0.5, "final commit: 9 of 10 batches are not consumed");
    take_all(&fixture, WEIR_OUTPUT_SCORES, 0);
    expect_refused(&fixture, "nobody", 0.5, "finish: found no model 'nobody'");
    expect_refused(&fixture, "../weights", 0.5, "finish: found no model '../weights'");
    expect_refused(&fixture, NULL, 0.5, "a training of 20 samples hands over a model");
    expect_refused(&fixture, "weights", (double)NAN, "the loss is nan");
    assert_int_equal(finish(&fixture, "weights", 0.5), WEIR_CLIENT_OK);
    remove_model(&fixture);                                             /* the platform has it */
    assert_int_equal(finish(&fixture, "weights", 0.5), WEIR_CLIENT_OK); /* harmless */
    struct platform_view view = platform_look(fixture.platform);
    assert_true(view.final && view.done && view.has_model);
    assert_int_equal(view.done_samples, 20);
    end(&fixture);
}

static void what_a_committed_file_is_called_survives_a_power_cut(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct stat directory;
    const void *state;
    size_t size;
    start(&fixture, (struct platform_script){.mode = "train"});
    open_task(&fixture);
    consume_batch(fixture.client, next(&fixture));
    assert_int_equal(weir_client_state(fixture.client, &state, &size, &fixture.error),
                     WEIR_CLIENT_OK);
    assert_int_equal(stat(fixture.run.path, &directory), 0);
    synced = 0;
    assert_int_equal(
        weir_client_commit(fixture.client, state, size, 0, TEST_PATIENCE_MS, &fixture.error),
        WEIR_CLIENT_OK);
    assert_int_equal(synced, directory.st_ino);
    end(&fixture);
}

static void outputs_are_those_of_every_sample(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct weir_outputs outputs;
    struct weir_error err;
    start(&fixture, (struct platform_script){.mode = "evaluate", .start_from = "/nowhere"});
    open_task(&fixture);
    assert_string_equal(fixture.task->start_from, "/nowhere");
    consume_batch(fixture.client, next(&fixture)); /* nothing is said of it */
    take_all(&fixture, WEIR_OUTPUT_PREDICTIONS, 3);
    expect_refused(&fixture, NULL, 0, "outputs: found those of 18 samples, expected 20");
    end(&fixture);

    start(&fixture, (struct platform_script){.mode = "evaluate", .start_from = "/nowhere"});
    open_task(&fixture);
    take_all(&fixture, WEIR_OUTPUT_PREDICTIONS, 3);
    assert_int_equal(finish(&fixture, NULL, 0), WEIR_CLIENT_OK);
    WEIR_AUTO_FREE char *path = weir_format("%s/outputs", fixture.run.path);
    assert_int_equal(weir_outputs_open(path, &outputs, &err), WEIR_OK);
    assert_int_equal(outputs.count, 20);
    assert_int_equal(outputs.width, 3);
    for (size_t i = 0; i < 20; i++)
        assert_true(outputs.ids[i] == i + 1 && outputs.values[i * 3 + 2] == (float)(i + 1));
    weir_outputs_close(&outputs);
    end(&fixture);
}

static void outputs_that_nobody_asked_for_are_refused(void **unused)
{
    (void)unused;
    struct fixture fixture;
    float values[64] = {0};
    start(&fixture, (struct platform_script){.mode = "train"});
    open_task(&fixture);
    struct weir_batch *batch = next(&fixture);
    assert_int_equal(
        weir_client_output(fixture.client, batch, WEIR_OUTPUT_SCORES, 2, values, &fixture.error),
        WEIR_CLIENT_INVALID);
    assert_non_null(strstr(fixture.error.text, "weir_client_task.reports is 0"));
    end(&fixture);

    start(&fixture, (struct platform_script){.mode = "score", .start_from = "/nowhere"});
    open_task(&fixture);
    batch = next(&fixture);
    assert_int_equal(weir_client_output(fixture.client, batch, WEIR_OUTPUT_PREDICTIONS, 2, values,
                                        &fixture.error),
                     WEIR_CLIENT_INVALID);
    assert_string_equal(fixture.error.text,
                        "outputs: mode score expects WEIR_OUTPUT_SCORES, found kind 1");
    assert_int_equal(
        weir_client_output(fixture.client, batch, WEIR_OUTPUT_SCORES, 3, values, &fixture.error),
        WEIR_CLIENT_INVALID);
    assert_string_equal(fixture.error.text, "outputs: found 3 numbers per sample, expected 2");
    end(&fixture);
}

static void without_its_task_a_run_hands_nothing_over(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct weir_client_options options;
    start(&fixture, (struct platform_script){.mode = "train"});
    options = options_of(&fixture);
    assert_int_equal(weir_client_open(&options, &fixture.client, &fixture.error), WEIR_CLIENT_OK);
    take_all(&fixture, WEIR_OUTPUT_SCORES, 0);
    expect_refused(&fixture, "weights", 0, "set weir_client_options.task");
    end(&fixture);
}

static void a_batch_is_consumed_once_and_in_any_order(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, (struct platform_script){.mode = "train"});
    open_task(&fixture);
    struct weir_batch *first = next(&fixture), *second = next(&fixture);
    uint64_t number = first->number;
    assert_int_equal(weir_client_consumed(fixture.client, second->number, NULL), WEIR_CLIENT_OK);
    weir_batch_release(first);
    assert_int_equal(weir_client_consumed(fixture.client, number, NULL), WEIR_CLIENT_OK);
    assert_int_equal(weir_client_consumed(fixture.client, number, &fixture.error),
                     WEIR_CLIENT_INVALID);
    assert_string_equal(fixture.error.text,
                        "batch 0: expected one that was handed out and is not consumed yet");
    assert_int_equal(weir_client_consumed(fixture.client, 7, NULL), WEIR_CLIENT_INVALID);
    weir_batch_release(second);
    end(&fixture);
}

static enum weir_client_status ask_next(struct fixture *fixture, int64_t timeout_ms,
                                        struct weir_client_task **ret_next)
{
    struct weir_client_options options = options_of(fixture);

    options.task = fixture->task;
    return weir_client_next_task(&options, timeout_ms, ret_next, &fixture->error);
}

static void a_program_that_stays_waits_for_its_next_task(void **unused)
{
    (void)unused;
    struct fixture fixture;
    struct weir_client_task *next_task = NULL;
    start(&fixture, (struct platform_script){.mode = "train"});
    assert_int_equal(ask_next(&fixture, 0, &next_task), WEIR_CLIENT_INVALID); /* after what? */
    open_task(&fixture);
    weir_client_close(fixture.client);
    fixture.client = NULL;
    platform_set_next(fixture.platform, PLATFORM_UNDECIDED);
    for (int i = 0; i < 3; i++)
        assert_int_equal(ask_next(&fixture, 10, &next_task), WEIR_CLIENT_TIMEOUT);
    assert_null(next_task);
    platform_set_next(fixture.platform, 6);
    assert_int_equal(ask_next(&fixture, TEST_PATIENCE_MS, &next_task), WEIR_CLIENT_OK);
    assert_true(next_task->run == 6 && next_task->session == fixture.task->session);
    weir_client_task_free(fixture.task);
    fixture.task = next_task;
    platform_set_next(fixture.platform, 0);
    assert_int_equal(ask_next(&fixture, -1, &next_task), WEIR_CLIENT_END);
    platform_set_next(fixture.platform, PLATFORM_UNDECIDED);
    assert_int_equal(ask_next(&fixture, 10, &next_task), WEIR_CLIENT_TIMEOUT);
    end(&fixture); /* gives up the request, too */
}

static void a_platform_that_does_not_answer_is_named(void **unused)
{
    (void)unused;
    struct fixture fixture;
    start(&fixture, (struct platform_script){.mode = "train"});
    struct weir_client_options options = options_of(&fixture);
    options.open_timeout_ms = 50;
    options.socket_dir = "/nonexistent";
    assert_int_equal(weir_client_task(&options, &fixture.task, &fixture.error),
                     WEIR_CLIENT_UNAVAILABLE);
    assert_non_null(strstr(fixture.error.text, "/nonexistent/orchestrator.sock"));
    end(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_task_says_what_is_wanted),
        cmocka_unit_test(a_training_hands_its_model_over_once_it_is_whole),
        cmocka_unit_test(what_a_committed_file_is_called_survives_a_power_cut),
        cmocka_unit_test(outputs_are_those_of_every_sample),
        cmocka_unit_test(outputs_that_nobody_asked_for_are_refused),
        cmocka_unit_test(without_its_task_a_run_hands_nothing_over),
        cmocka_unit_test(a_batch_is_consumed_once_and_in_any_order),
        cmocka_unit_test(a_program_that_stays_waits_for_its_next_task),
        cmocka_unit_test(a_platform_that_does_not_answer_is_named),
    };
    return cmocka_run_group_tests_name("client: tasks", tests, NULL, NULL);
}
