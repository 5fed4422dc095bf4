/* The built-in trainer's life: request a task, open, work, finish, and request the next one. */
#include "trainer_client/trainer.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/service/service.h"
#include "core/wire/position.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    TASK_MS = 60000, /* how long the orchestrator may be away at the start */
    OPEN_MS = 60000,
    TASK_SLICE_MS = 500, /* for the first answer; each time none has come, twice as long */
    NEXT_SLICE_MS = 200, /* how late a signal may be heard by one that has nothing to do */
    SLICE_MS = 20,       /* waiting in one round of the loop: signals are looked at in between */
    FINAL_MS = 30000,    /* for the last commit and its record, before it is tried again */
};

static void fail(struct trainer *trainer, const struct weir_error *err)
{
    weir_log(WEIR_LOG_ERROR, "run failed", "run=%llu error=\"%s\"",
             (unsigned long long)trainer->run, err->text);
    trainer->is_over = true;
    trainer->failure = err->status;
    weir_loop_stop(trainer->loop);
}

static enum weir_status from_client(const struct weir_client_error *error, struct weir_error *err)
{
    return weir_fail(err, (enum weir_status)error->status, "%s", error->text);
}

/* Everything of a task; what is left asks for one. */
static void clear(struct trainer *trainer)
{
    weir_client_close(trainer->client);
    trainer_learner_fini(&trainer->learner);
    free(trainer->class_weights);
    free(trainer->values);
    weir_yaml_free(trainer->origin_options);
    weir_model_file_fini(&trainer->origin);
    trainer_export_mode_fini(&trainer->exporting);
    trainer_run_order_fini(&trainer->order);
    *trainer = (struct trainer){
        .loop = trainer->loop,
        .socket_dir = trainer->socket_dir,
        .run = trainer->run,
        .session = trainer->session,
    };
}

/* ---- finished ---- */

/* A checkpoint that nobody goes on from is only one more place to erase. */
static void remove_checkpoint(const struct trainer *trainer)
{
    WEIR_AUTO_FREE char *path = trainer_run_order_path(&trainer->order, "checkpoint");

    if (unlink(path) < 0 && errno != ENOENT)
        weir_log(WEIR_LOG_WARN, "checkpoint not removed", "errno=%d", errno);
}

/* First the state with everything consumed: a death after this point does no work twice. */
static enum weir_status store(struct trainer *trainer, struct weir_error *err)
{
    enum weir_status status = trainer_checkpoint(trainer, err);

    if (status == WEIR_OK)
        status = trainer_store(trainer, err);
    trainer->is_stored = status == WEIR_OK;
    return status;
}

static enum weir_status finish(struct trainer *trainer, struct weir_error *err)
{
    const struct weir_model_progress *progress = &trainer->progress;
    bool has_model = trainer->mode->learns && learner_has_begun(&trainer->learner);
    struct weir_client_error error;
    struct weir_client_result result = {
        .model = has_model ? "model" : NULL,
        .loss = progress->loss_count > 0.0 ? progress->loss_sum / progress->loss_count : 0.0,
    };
    enum weir_status status = has_model && !trainer->is_stored ? store(trainer, err) : WEIR_OK;
    if (status == WEIR_OK && trainer->mode->end != NULL)
        status = trainer->mode->end(trainer, err);
    if (status != WEIR_OK)
        return status;
    enum weir_client_status finished =
        weir_client_finish(trainer->client, &result, FINAL_MS, &error);
    if (finished == WEIR_CLIENT_TIMEOUT)
        return WEIR_OK; /* the platform is being restarted: the next round tries again */
    if (finished != WEIR_CLIENT_OK)
        return from_client(&error, err);
    weir_log(WEIR_LOG_INFO, "run finished", "run=%llu mode=%s samples=%llu",
             (unsigned long long)trainer->run, trainer->mode->name,
             (unsigned long long)progress->samples);
    if (trainer->mode->learns)
        remove_checkpoint(trainer);
    struct weir_client_task *finished_task = trainer->order.task;
    trainer->order.task = NULL;
    clear(trainer);
    trainer->finished = finished_task;
    return WEIR_OK;
}

/* ---- working ---- */

static enum weir_status take(struct trainer *trainer, struct weir_batch *batch,
                             struct weir_error *err)
{
    struct weir_client_error error;
    enum weir_status status =
        trainer->is_checked ? WEIR_OK : trainer_check_batch(trainer, batch, err);

    if (status == WEIR_OK)
        status = trainer->mode->take(trainer, batch, err);
    trainer->progress.samples += batch->samples;
    if (status == WEIR_OK &&
        weir_client_consumed(trainer->client, batch->number, &error) != WEIR_CLIENT_OK)
        status = from_client(&error, err);
    weir_batch_release(batch);
    return status;
}

static enum weir_status work(struct trainer *trainer, struct weir_error *err)
{
    struct weir_batch *batch = NULL;
    struct weir_client_error error;
    enum weir_client_status got = weir_client_next(trainer->client, SLICE_MS, &batch, &error);
    if (got == WEIR_CLIENT_END)
        return finish(trainer, err);
    if (got == WEIR_CLIENT_TIMEOUT)
        return WEIR_OK;
    if (got != WEIR_CLIENT_OK)
        return from_client(&error, err);
    enum weir_status status = take(trainer, batch, err);
    if (status == WEIR_OK && trainer->mode->keep != NULL)
        status = trainer->mode->keep(trainer, err);
    return status;
}

/* ---- requesting a task ---- */

static enum weir_status open_client(struct trainer *trainer, struct weir_error *err)
{
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    struct weir_client_error error;
    options.task = trainer->order.task;
    options.socket_dir = trainer->socket_dir;
    /* Without a checkpoint its weights are fresh: the beginning, whatever was committed before. */
    WEIR_AUTO_BUF beginning = {0};
    weir_position_pack(&(struct weir_position){0}, &beginning);
    bool has_position = trainer->progress.position.size > 0;
    options.state = has_position ? trainer->progress.position.at : beginning.at;
    options.state_size = has_position ? trainer->progress.position.size : beginning.size;
    options.open_timeout_ms = OPEN_MS;
    if (weir_client_open(&options, &trainer->client, &error) != WEIR_CLIENT_OK)
        return from_client(&error, err);
    trainer->checkpoint_ms = weir_now_ms() + trainer->order.training.checkpoint_us / 1000;
    return WEIR_OK;
}

static enum weir_status begin(struct trainer *trainer, struct weir_client_task *task,
                              struct weir_error *err)
{
    enum weir_status status = trainer_run_order_take(task, &trainer->order, err);
    if (status != WEIR_OK)
        return status;
    trainer->mode = trainer_run_mode_find(trainer->order.task->mode);
    if (trainer->mode == NULL)
        return weir_fail(err, WEIR_UNSUPPORTED, "mode '%s' is unknown to this program",
                         trainer->order.task->mode);
    if (trainer->mode->needs_model && trainer->order.training.model == NULL)
        return weir_fail(err, WEIR_UNSUPPORTED, "mode %s is a matter of program '%s'",
                         trainer->order.task->mode, trainer->order.training.keys.program);
    status = trainer_restore(trainer, err);
    if (status == WEIR_OK && trainer->mode->begin != NULL)
        status = trainer->mode->begin(trainer, err);
    trainer->width = trainer->mode->width(trainer);
    if (status == WEIR_OK)
        status = open_client(trainer, err);
    if (status != WEIR_OK)
        return status;
    weir_log(WEIR_LOG_INFO, "run begins", "run=%llu mode=%s samples_before=%llu",
             (unsigned long long)trainer->run, trainer->mode->name,
             (unsigned long long)trainer->progress.samples);
    return WEIR_OK;
}

/* Requests the task for a short while; the orchestrator may be away for longer. */
static enum weir_status request_task(struct trainer *trainer, struct weir_error *err)
{
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    struct weir_client_task *task = NULL;
    struct weir_client_error error;
    options.run = trainer->run;
    options.session = trainer->session;
    options.socket_dir = trainer->socket_dir;
    options.open_timeout_ms = trainer->task_slice_ms;
    enum weir_client_status status = weir_client_task(&options, &task, &error);
    trainer->task_slice_ms *= 2;
    if (status == WEIR_CLIENT_UNAVAILABLE && weir_now_ms() < trainer->task_end_ms)
        return WEIR_OK;
    return status == WEIR_CLIENT_OK ? begin(trainer, task, err) : from_client(&error, err);
}

/* Whatever keeps it from another task, it has done its own. */
static enum weir_status request_next(struct trainer *trainer, struct weir_error *err)
{
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    struct weir_client_task *task = NULL;
    options.task = trainer->finished;
    options.socket_dir = trainer->socket_dir;
    (void)weir_fault("trainer.ask");
    enum weir_client_status status = weir_client_next_task(&options, NEXT_SLICE_MS, &task, NULL);
    if (status == WEIR_CLIENT_TIMEOUT)
        return WEIR_OK;
    weir_client_task_free(trainer->finished);
    trainer->finished = NULL;
    if (status == WEIR_CLIENT_OK) {
        (void)weir_fault("trainer.next");
        trainer->run = task->run;
        return begin(trainer, task, err);
    }
    trainer->is_over = true;
    weir_loop_stop(trainer->loop);
    return WEIR_OK;
}

static enum weir_status do_round(struct trainer *trainer, struct weir_error *err)
{
    if (trainer->finished != NULL)
        return request_next(trainer, err);
    if (trainer->client == NULL)
        return request_task(trainer, err);
    if (!weir_client_stopping(trainer->client))
        return work(trainer, err);
    weir_log(WEIR_LOG_INFO, "stopping", "run=%llu by=orchestrator",
             (unsigned long long)trainer->run);
    weir_loop_stop(trainer->loop);
    return WEIR_OK;
}

static void on_round(void *owner)
{
    struct trainer *trainer = owner;
    struct weir_error err;

    if (do_round(trainer, &err) != WEIR_OK)
        fail(trainer, &err);
    else if (!trainer->is_over)
        weir_loop_soon(trainer->loop, on_round, trainer);
}

static enum weir_status parse_run(const char *text, uint64_t *ret_run, struct weir_error *err)
{
    char *end = NULL;
    errno = 0;
    unsigned long long run = text != NULL ? strtoull(text, &end, 10) : 0;
    if (text == NULL || errno != 0 || *end != '\0' || text[0] == '-' || run == 0)
        return weir_fail(err, WEIR_INVALID, "--run: expected the number of a run, found '%s'",
                         text != NULL ? text : "");
    *ret_run = run;
    return WEIR_OK;
}

enum weir_status trainer_open(const struct weir_service_options *options, struct weir_loop *loop,
                              struct weir_rpc_server *server, void **ret_state,
                              struct weir_error *err)
{
    (void)server; /* nobody calls a trainer */
    uint64_t run = 0;
    enum weir_status status = parse_run(options->run, &run, err);
    if (status != WEIR_OK)
        return status;
    struct trainer *trainer = weir_calloc(1, sizeof(*trainer));
    trainer->loop = loop;
    trainer->socket_dir = options->socket_dir;
    trainer->run = run;
    trainer->session = weir_random_u64();
    *ret_state = trainer;
    trainer->task_end_ms = weir_now_ms() + TASK_MS;
    trainer->task_slice_ms = TASK_SLICE_MS;
    weir_loop_soon(loop, on_round, trainer);
    return WEIR_OK;
}

static void save_on_stop(struct trainer *trainer)
{
    struct weir_error err;
    if (trainer->client == NULL || trainer->is_over || !trainer->mode->learns ||
        !learner_has_begun(&trainer->learner))
        return;
    if (trainer_checkpoint(trainer, &err) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "no checkpoint on stopping", "error=\"%s\"", err.text);
}

void trainer_close(void *state)
{
    struct trainer *trainer = state;
    save_on_stop(trainer);
    weir_client_task_free(trainer->finished);
    clear(trainer);
    free(trainer);
}

int trainer_exit_code(const void *state)
{
    const struct trainer *trainer = state;
    bool is_unanswered = trainer->failure == WEIR_UNAVAILABLE || trainer->failure == WEIR_TIMEOUT;
    return trainer->failure == WEIR_OK ? 0 : is_unanswered ? WEIR_EXIT_UNANSWERED : 1;
}
