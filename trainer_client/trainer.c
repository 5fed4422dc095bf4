/* The built-in trainer's life: ask, open, work, finish, report. */
#include "trainer_client/trainer.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/service/service.h"
#include "core/wire/position.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

enum {
    ASK_MS = 60000,  /* how long the orchestrator may be away at the start */
    DONE_MS = 10000, /* an unanswered run_done is asked again, without end */
    OPEN_MS = 60000,
    SLICE_MS =
        20, /* waiting for a batch in one round of the loop: signals are looked at in between */
    FINAL_MS = 30000, /* for the last commit */
};

static void fail(struct trainer *trainer, const struct weir_error *err)
{
    weir_log(WEIR_LOG_ERROR, "run failed", "run=%llu error=\"%s\"",
             (unsigned long long)trainer->run, err->text);
    trainer->is_working = false;
    trainer->has_failed = true;
    weir_loop_stop(trainer->loop);
}

static enum weir_status from_client(const struct weir_client_error *error, struct weir_error *err)
{
    return weir_fail(err, (enum weir_status)error->status, "%s", error->text);
}

/* ---- reported ---- */

static void report(struct trainer *trainer);

/* State that nobody goes on from is only one more place to erase. */
static void remove_state(const struct trainer *trainer)
{
    static const char *const FILES[] = {"checkpoint", "reported"};
    for (size_t i = 0; i < WEIR_COUNT(FILES); i++)
        if (unlink(trainer_run_order_path(&trainer->order, FILES[i])) < 0 && errno != ENOENT)
            weir_log(WEIR_LOG_WARN, "state not removed", "file=%s errno=%d", FILES[i], errno);
}

static void on_noted(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct trainer *trainer = owner;
    if (reply == NULL && (err->status == WEIR_TIMEOUT || err->status == WEIR_UNAVAILABLE)) {
        report(trainer); /* the orchestrator is being restarted */
        return;
    }
    if (reply == NULL) {
        fail(trainer, err);
        return;
    }
    if (trainer->mode->learns)
        remove_state(trainer);
    weir_loop_stop(trainer->loop);
}

static void report(struct trainer *trainer)
{
    struct weir_client_stats stats;
    struct weir_client_info info;
    weir_client_stats(trainer->client, &stats);
    weir_client_info(trainer->client, &info);
    const struct weir_model_progress *progress = &trainer->progress;
    struct msg_run_done done = {
        .run = trainer->run,
        .session = trainer->session,
        .samples = progress->samples,
        .loss = progress->loss_count > 0.0 ? progress->loss_sum / progress->loss_count : 0.0,
        .busy_ns = stats.busy_ns,
        .wait_ns = stats.wait_ns,
        .cpu_ns = weir_cpu_ns(),
        .model = trainer->mode->learns && learner_has_begun(&trainer->learner) ? "model" : "",
        .outputs = trainer->collector.width > 0 ? "outputs" : "",
        .fitted = weir_bytes(info.fitted, info.fitted_size),
        .since_first_ns =
            trainer->first_batch_ns == 0 ? 0 : weir_now_ns() - trainer->first_batch_ns,
    };
    weir_rpc_call(trainer->orchestrator, MSG_run_done, &done, DONE_MS, on_noted, trainer);
}

/* ---- finished ---- */

/* Without a model: what there was to learn from was erased, or its files are gone. Anything else that leaves nothing
 * to learn from is a mistake somebody has to mend. */
static enum weir_status end_hollow(struct trainer *trainer, struct weir_error *err)
{
    struct weir_client_holes holes;
    weir_client_holes(trainer->client, &holes);
    if (holes.erased + holes.gone == 0)
        return weir_fail(err, WEIR_INVALID,
                         "nothing to train on: %llu samples of the set were filtered and %llu "
                         "unreadable, none was left",
                         (unsigned long long)holes.filtered, (unsigned long long)holes.failed);
    weir_log(WEIR_LOG_WARN, "run ends without a model", "run=%llu erased=%llu gone=%llu",
             (unsigned long long)trainer->run, (unsigned long long)holes.erased,
             (unsigned long long)holes.gone);
    return WEIR_OK;
}

static enum weir_status make_durable(struct trainer *trainer, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    if (trainer->collector.width > 0)
        status = trainer_collector_write(&trainer->collector,
                                         trainer_run_order_path(&trainer->order, "outputs"), err);
    if (status != WEIR_OK || !trainer->mode->learns)
        return status;
    if (!learner_has_begun(&trainer->learner))
        return end_hollow(trainer, err);
    /* First the state with everything consumed: a death after this point does no work twice. */
    status = trainer_checkpoint(trainer, err);
    return status == WEIR_OK ? trainer_store(trainer, err) : status;
}

static enum weir_status finish(struct trainer *trainer, struct weir_error *err)
{
    const void *state = NULL;
    size_t size = 0;
    struct weir_client_error error;
    trainer->is_working = false;
    enum weir_status status = make_durable(trainer, err);
    if (status != WEIR_OK)
        return status;
    weir_client_state(trainer->client, &state, &size);
    if (weir_client_commit(trainer->client, state, size, 1, FINAL_MS, &error) != WEIR_CLIENT_OK)
        return from_client(&error, err);
    weir_log(WEIR_LOG_INFO, "run finished", "run=%llu mode=%s samples=%llu",
             (unsigned long long)trainer->run, trainer->mode->name,
             (unsigned long long)trainer->progress.samples);
    report(trainer);
    return WEIR_OK;
}

/* ---- working ---- */

/* Shows the mode its part of a batch. */
static enum weir_status look_at(struct trainer *trainer, const struct weir_batch *batch,
                                const struct weir_batch **ret_shown, struct weir_error *err)
{
    const struct groups_wanted *wanted = &trainer->order.training.tells;
    *ret_shown = batch;
    if (wanted->group[0] == '\0' && wanted->slice_count == 0)
        return WEIR_OK;
    *ret_shown = &trainer->groups.rest;
    enum weir_status status = trainer_groups_take(&trainer->groups, wanted, batch, err);
    trainer->collector.batch_groups = trainer->groups.at;
    trainer->collector.batch_slices = trainer->groups.slices;
    trainer->collector.slice_columns = wanted->slice_count;
    return status;
}

static enum weir_status take(struct trainer *trainer, struct weir_batch *batch,
                             struct weir_error *err)
{
    const struct weir_batch *shown = NULL;
    enum weir_status status = look_at(trainer, batch, &shown, err);
    if (status == WEIR_OK && !trainer->is_checked)
        status = trainer_check_batch(trainer, shown, err);
    if (status == WEIR_OK)
        status = trainer->mode->take(trainer, shown, err);
    trainer->progress.samples += batch->samples;
    struct weir_client_error error;
    if (status == WEIR_OK &&
        weir_client_consumed(trainer->client, batch->number, &error) != WEIR_CLIENT_OK)
        status = from_client(&error, err);
    weir_batch_release(batch);
    return status;
}

static void tell(struct trainer *trainer)
{
    struct weir_client_info info;
    weir_client_info(trainer->client, &info);
    weir_client_report(trainer->client, trainer->progress.samples, info.samples * info.epochs,
                       trainer->recent_loss);
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
    if (trainer->first_batch_ns == 0)
        trainer->first_batch_ns = weir_now_ns();
    enum weir_status status = take(trainer, batch, err);
    if (status != WEIR_OK)
        return status;
    tell(trainer);
    int64_t now_ms = weir_now_ms();
    if (!trainer->mode->learns || now_ms < trainer->checkpoint_ms)
        return WEIR_OK;
    status = trainer_checkpoint(trainer, err);
    trainer->checkpoint_ms =
        trainer_training_next_checkpoint_ms(&trainer->order.training, now_ms, weir_now_ms());
    return status;
}

static void on_round(void *owner)
{
    struct trainer *trainer = owner;
    struct weir_error err;
    if (weir_client_stopping(trainer->client)) {
        weir_log(WEIR_LOG_INFO, "stopping", "run=%llu by=orchestrator",
                 (unsigned long long)trainer->run);
        weir_loop_stop(trainer->loop);
        return;
    }
    if (work(trainer, &err) != WEIR_OK)
        fail(trainer, &err);
    else if (trainer->is_working)
        weir_loop_soon(trainer->loop, on_round, trainer);
}

/* ---- asked ---- */

static enum weir_status open_client(struct trainer *trainer, struct weir_error *err)
{
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    struct weir_client_error error;
    options.run = trainer->order.job;
    options.session = trainer->session;
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

static enum weir_status begin(struct trainer *trainer, const struct msg_run_is *message,
                              struct weir_error *err)
{
    enum weir_status status = trainer_run_order_take(message, &trainer->order, err);
    if (status != WEIR_OK)
        return status;
    trainer->mode = trainer_run_mode_find(trainer->order.mode);
    if (trainer->mode == NULL)
        return weir_fail(err, WEIR_UNSUPPORTED, "mode '%s' is unknown to this program",
                         trainer->order.mode);
    status = trainer_restore(trainer, err);
    trainer->collector.width = trainer->mode->width(trainer);
    if (status == WEIR_OK)
        trainer_restore_reported(trainer);
    if (status == WEIR_OK)
        status = open_client(trainer, err);
    if (status != WEIR_OK)
        return status;
    weir_log(WEIR_LOG_INFO, "run begins", "run=%llu mode=%s samples_before=%llu",
             (unsigned long long)trainer->run, trainer->mode->name,
             (unsigned long long)trainer->progress.samples);
    trainer->is_working = true;
    weir_loop_soon(trainer->loop, on_round, trainer);
    return WEIR_OK;
}

static void on_run(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct trainer *trainer = owner;
    struct weir_error failure;
    if (reply == NULL) {
        fail(trainer, err);
    } else if (begin(trainer, reply->message, &failure) != WEIR_OK) {
        fail(trainer, &failure);
    }
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
    (void)server; /* a trainer only asks */
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
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(options->socket_dir, "orchestrator");
    status = weir_rpc_connect(loop, endpoint, NULL, trainer, &trainer->orchestrator, err);
    if (status != WEIR_OK)
        return status;
    struct msg_run_ask ask = {.run = run, .session = trainer->session};
    weir_rpc_call(trainer->orchestrator, MSG_run_ask, &ask, ASK_MS, on_run, trainer);
    return WEIR_OK;
}

static void save_on_stop(struct trainer *trainer)
{
    struct weir_error err;
    if (!trainer->is_working || !trainer->mode->learns || !learner_has_begun(&trainer->learner))
        return;
    if (trainer_checkpoint(trainer, &err) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "no checkpoint on stopping", "error=\"%s\"", err.text);
}

void trainer_close(void *state)
{
    struct trainer *trainer = state;
    save_on_stop(trainer);
    weir_client_close(trainer->client);
    weir_rpc_peer_close(trainer->orchestrator);
    trainer_learner_fini(&trainer->learner);
    trainer_collector_fini(&trainer->collector);
    trainer_groups_fini(&trainer->groups);
    free(trainer->values);
    weir_yaml_free(trainer->origin_options);
    weir_model_file_fini(&trainer->origin);
    trainer_run_order_fini(&trainer->order);
    free(trainer);
}

bool trainer_succeeded(const void *state)
{
    const struct trainer *trainer = state;
    return !trainer->has_failed;
}
