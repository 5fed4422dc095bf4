/* The end of a run: a model that is a directory is packed into a file, the books are closed at the dispatcher, then the
 * orchestrator is told what the run has come to, until that is recorded. Every rank does so; the model and the outputs
 * of all are rank 0's. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/model_pack.h"
#include "trainer_client/client_state.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DONE_MS = 10000 }; /* an unanswered run_done is asked again, without end */

/* ---- the loop's side ---- */

/* A run without a model: what there was to learn from was erased, or its files are gone. Anything else that leaves
 * nothing to learn from is a mistake somebody has to mend. */
static enum weir_status check_hollow(const struct weir_tally *tally, struct weir_error *err)
{
    if (tally->delivered > 0)
        return weir_fail(err, WEIR_INVALID,
                         "finish: a training of %llu samples hands over a model: set "
                         "weir_client_result.model",
                         (unsigned long long)tally->delivered);
    if (tally->erased + tally->gone == 0)
        return weir_fail(err, WEIR_INVALID,
                         "nothing to train on: %llu samples of the set were filtered and %llu "
                         "unreadable, none was left",
                         (unsigned long long)tally->filtered, (unsigned long long)tally->failed);
    return WEIR_OK;
}

/* In the run's directory; it does not outlive the run. */
static const char PACKED[] = "weir-model.tar";

static bool is_name(const char *model)
{
    return model[0] != '\0' && strchr(model, '/') == NULL && strcmp(model, ".") != 0 &&
           strcmp(model, "..") != 0;
}

static enum weir_status check_model(const struct weir_client *client, const char *model,
                                    bool *ret_is_directory, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", client->task->directory, model);
    struct stat about;
    bool is_there = is_name(model) && lstat(path, &about) == 0;

    *ret_is_directory = is_there && S_ISDIR(about.st_mode);
    if (is_there && (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)))
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID,
                     "finish: found no model '%.200s', expected a file or a directory in %s", model,
                     client->task->directory);
}

/* Replaces a directory by the file that it is packed into. */
static enum weir_status pack_model(const struct weir_client *client, const char **model,
                                   struct weir_error *err)
{
    bool is_directory = false;
    enum weir_status status = check_model(client, *model, &is_directory, err);

    if (status != WEIR_OK || !is_directory)
        return status;
    WEIR_AUTO_FREE char *from = weir_format("%s/%s", client->task->directory, *model);
    WEIR_AUTO_FREE char *to = weir_format("%s/%s", client->task->directory, PACKED);
    *model = PACKED;
    return weir_model_pack_write(from, to, err);
}

static enum weir_status check_result(struct weir_client *client, struct weir_client_result *result,
                                     const struct weir_tally *tally, struct weir_error *err)
{
    if (client->task == NULL)
        return weir_fail(err, WEIR_INVALID,
                         "finish: the run was not opened with its task: set "
                         "weir_client_options.task");
    if (!isfinite(result->loss))
        return weir_fail(err, WEIR_INVALID, "finish: the loss is %f, expected a number",
                         result->loss);
    if (!trainer_client_learns(client) || client->rank > 0)
        return WEIR_OK;
    return result->model == NULL ? check_hollow(tally, err)
                                 : pack_model(client, &result->model, err);
}

/* Returns the time left until `end_ms`; negative: for ever. */
static int64_t left_of(int64_t end_ms)
{
    int64_t left_ms = end_ms - weir_now_ms();

    if (end_ms == INT64_MAX)
        return -1;
    return left_ms > 0 ? left_ms : 0;
}

static enum weir_status commit_final(struct weir_client *client, int64_t end_ms,
                                     struct weir_error *err)
{
    struct weir_client_error error;
    const void *state = NULL;
    size_t size = 0;
    enum weir_client_status status = weir_client_state(client, &state, &size, &error);

    if (status == WEIR_CLIENT_OK)
        status = weir_client_commit(client, state, size, 1, left_of(end_ms), &error);
    if (status == WEIR_CLIENT_OK)
        return WEIR_OK;
    return weir_fail(err, (enum weir_status)status, "%s", error.text);
}

static void fill_done(struct weir_client *client, const struct weir_client_result *result,
                      const char *outputs, uint64_t delivered)
{
    bool is_model = trainer_client_learns(client) && client->rank == 0 && result->model != NULL;

    weir_buf_clear(&client->done.model);
    weir_buf_append_text(&client->done.model, is_model ? result->model : "");
    weir_buf_clear(&client->done.metrics);
    trainer_metrics_print(&client->metrics, &client->done.metrics);
    client->done.message = (struct msg_run_done){
        .run = client->run,
        .session = client->task->session,
        .samples = delivered,
        .loss = result->loss,
        .model = weir_buf_text(&client->done.model),
        .outputs = outputs,
        .metrics = weir_buf_text(&client->done.metrics),
        .fitted = client->rank == 0 ? weir_buf_view(&client->fitted) : weir_bytes_of(""),
        .rank = client->rank,
    };
}

/* Waits until the orchestrator has recorded it. Under `mutex`. */
static enum weir_status wait_until_noted(struct weir_client *client, int64_t end_ms,
                                         struct weir_error *err)
{
    while (!client->done.is_noted) {
        if (client->failed) {
            *err = client->failure;
            return err->status;
        }
        if (!trainer_client_wait(client, end_ms))
            return weir_fail(err, WEIR_TIMEOUT, "finish: the orchestrator does not answer");
    }
    *err = client->done.failure;
    return err->status;
}

/* Begun by an earlier call: whatever was in the task's directory may be the platform's by now. */
static bool is_begun(struct weir_client *client)
{
    pthread_mutex_lock(&client->mutex);
    bool begun =
        client->done.is_wanted || (client->done.is_noted && client->done.failure.status == WEIR_OK);
    pthread_mutex_unlock(&client->mutex);
    return begun;
}

static void begin_hand_over(struct weir_client *client, const struct weir_client_result *result,
                            const char *outputs, uint64_t delivered)
{
    pthread_mutex_lock(&client->mutex);
    fill_done(client, result, outputs, delivered);
    client->done.is_wanted = true;
    client->done.is_noted = false;
    client->done.failure.status = WEIR_OK;
    pthread_mutex_unlock(&client->mutex);
    trainer_client_wake(client);
}

static enum weir_status end_hand_over(struct weir_client *client, int64_t end_ms,
                                      struct weir_error *err)
{
    pthread_mutex_lock(&client->mutex);
    enum weir_status status = wait_until_noted(client, end_ms, err);
    pthread_mutex_unlock(&client->mutex);
    if (status == WEIR_OK)
        trainer_client_remove_reported(client);
    return status;
}

/* `result` is the caller's copy. */
static enum weir_status finish(struct weir_client *client, struct weir_client_result *result,
                               int64_t end_ms, struct weir_error *err)
{
    if (is_begun(client))
        return end_hand_over(client, end_ms, err);
    pthread_mutex_lock(&client->mutex);
    struct weir_tally tally = trainer_delivery_position(client->delivery)->tally;
    pthread_mutex_unlock(&client->mutex);
    const char *outputs = "";
    enum weir_status status = check_result(client, result, &tally, err);
    if (status == WEIR_OK)
        status = trainer_client_write_outputs(client, tally.delivered, &outputs, err);
    if (status == WEIR_OK)
        status = commit_final(client, end_ms, err);
    if (status == WEIR_OK) /* those of the others are written: their commits are final too */
        status = trainer_client_join_outputs(client, &outputs, err);
    if (status != WEIR_OK)
        return status;
    begin_hand_over(client, result, outputs, tally.delivered);
    return end_hand_over(client, end_ms, err);
}

enum weir_client_status weir_client_finish(struct weir_client *client,
                                           const struct weir_client_result *result,
                                           int64_t timeout_ms, struct weir_client_error *ret_error)
{
    struct weir_error err;
    struct weir_client_result handed = *result;

    if (finish(client, &handed, trainer_options_end_ms(timeout_ms), &err) != WEIR_OK)
        return trainer_client_give(&err, ret_error);
    return WEIR_CLIENT_OK;
}

/* ---- the I/O thread's side ---- */

static void on_noted(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct weir_client *client = owner;

    pthread_mutex_lock(&client->mutex);
    client->done.is_open = false;
    /* Away, or being restarted: told again. */
    if (reply != NULL || (err->status != WEIR_TIMEOUT && err->status != WEIR_UNAVAILABLE)) {
        client->done.is_wanted = false;
        client->done.is_noted = true;
        if (reply == NULL)
            client->done.failure = *err;
    }
    pthread_cond_broadcast(&client->changed);
    pthread_mutex_unlock(&client->mutex);
}

void trainer_client_send_done(struct weir_client *client)
{
    struct msg_run_done *message = &client->done.message;

    if (!client->done.is_wanted || client->done.is_open || client->orchestrator == NULL)
        return;
    message->busy_ns = client->stats.busy_ns;
    message->wait_ns = client->stats.wait_ns;
    message->cpu_ns = weir_cpu_ns() - task_of_shown(client->task)->begun_cpu_ns;
    message->since_first_ns = client->first_ns == 0 ? 0 : weir_now_ns() - client->first_ns;
    client->done.is_open = true;
    weir_rpc_call(client->orchestrator, MSG_run_done, message, DONE_MS, on_noted, client);
}
