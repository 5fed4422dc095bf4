/* Trainers as scripts: a model is the hash of what it was made from. */
#include "tests/component/orchestrator_stage.h"

#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/outputs.h"
#include "core/wire/sample.h"
#include "orchestrator/runs/run.h"
#include "tests/support/loop.h"

#include <stdlib.h>
#include <string.h>

static void leave(void *owner)
{
    struct stage_trainer *trainer = owner;
    weir_rpc_peer_close(trainer->peer);
    trainer->peer = NULL;
    if (trainer->stage->orch != NULL) {
        orchestrator_run_exited(
            &trainer->stage->orch->runs, trainer->run, 0,
            &(struct run_exit){
                .code = trainer->stage->exit_code, .status = "it left", .why = "", .said = "bye"});
    }
}

static void on_noted(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct stage_trainer *trainer = owner;
    (void)err;
    if (reply != NULL)
        stage_find_job(trainer->stage, (uint64_t)trainer->run)->is_noted = true;
    weir_loop_soon(trainer->stage->loop, leave, trainer);
}

/* The model is the hash of its set, the samples it was spared, and the model it started from. */
static void write_model(const struct stage *stage, const struct stage_job *job,
                        const struct weir_sample_set *set, const struct msg_run_is *order)
{
    WEIR_AUTO_BUF from = {0};
    WEIR_AUTO_BUF text = {0};
    struct weir_error err;
    if (order->start_from[0] != '\0') {
        weir_require(weir_file_read(order->start_from, 4096, &from, &err) == WEIR_OK);
    }
    weir_buf_printf(&text, "%s %zu %s", job->set_digest, stage_erased_of(stage, set),
                    weir_buf_text(&from));
    struct weir_digest digest = weir_digest_of(weir_buf_view(&text));
    WEIR_AUTO_FREE char *path = weir_format("%s/model", order->directory);
    weir_require(weir_file_write_atomic(path, weir_bytes(digest.bytes, sizeof(digest.bytes)),
                                        &err) == WEIR_OK);
}

static float say(const char *mode, uint64_t row)
{
    if (strcmp(mode, "embed") != 0 && strcmp(mode, "features") != 0)
        return row % 2 == 1 ? 0.9F : 0.1F;
    return (float)(weir_mix64(row) >> 40) / (float)(1 << 24) + (row < STAGE_CHANGE ? 0.0F : 2.0F);
}

/* Erased samples come to nobody. */
static void write_outputs(struct stage *stage, const struct weir_sample_set *set,
                          const struct msg_run_is *order)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/outputs", order->directory);
    WEIR_AUTO_FREE int64_t *labels = weir_calloc(set->count, sizeof(*labels));
    WEIR_AUTO_FREE float *values = weir_calloc(set->count, sizeof(*values));
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(set->count, sizeof(*ids));
    struct weir_error err;
    size_t count = 0;
    for (size_t i = 0; i < set->count; i++) {
        uint64_t row = weir_sample_row(set->ids[i]);
        if (weir_bits_get(&stage->erased, row))
            continue;
        ids[count] = set->ids[i];
        labels[count] = (int64_t)(row % 2);
        values[count++] = say(order->mode, row);
    }
    stage->measured += count;
    struct weir_outputs outputs = {.ids = ids,
                                   .labels = labels,
                                   .values = values,
                                   .count = count,
                                   .width = 1,
                                   .names = weir_bytes("warmth", sizeof("warmth"))};
    weir_require(weir_outputs_write(path, &outputs, &err) == WEIR_OK);
}

static void on_beaten(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    (void)owner, (void)reply, (void)err;
}

static void end_training(void *owner)
{
    struct stage_trainer *trainer = owner;
    struct stage *stage = trainer->stage;
    if (trainer->peer == NULL) /* it was ended meanwhile */
        return;
    if (stage_reported(stage, "\"trigger_fired\"") < stage->fires_first) {
        weir_loop_timer(stage->loop, TEST_STEP_MS, 0, end_training, trainer);
        return;
    }
    struct msg_run_done done = {.run = (uint64_t)trainer->run,
                                .session = trainer->session,
                                .loss = stage->loss,
                                .busy_ns = 1000,
                                .metrics = "{}",
                                .model = trainer->learns ? stage->model_name : "",
                                .outputs = trainer->learns ? "" : "outputs"};
    const struct msg_run_beat beat = {.run = done.run,
                                      .session = done.session,
                                      .stage = "lecteurs occup\u00e9s",
                                      .metrics = "{\"warmth\":1}"};
    weir_rpc_call(trainer->peer, MSG_run_beat, &beat, 5000, on_beaten, trainer);
    weir_rpc_call(trainer->peer, MSG_run_done, &done, 5000, on_noted, trainer);
}

static void on_order(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct stage_trainer *trainer = owner;
    struct weir_sample_set set = {0};
    struct weir_error problem;
    (void)err;
    if (reply == NULL || trainer->stage->trainers_fail > 0) {
        trainer->stage->trainers_fail -= trainer->stage->trainers_fail > 0;
        weir_loop_soon(trainer->stage->loop, leave, trainer);
        return;
    }
    const struct msg_run_is *order = reply->message;
    const struct stage_job *job = stage_find_job(trainer->stage, order->job);
    weir_require(!job->is_noted); /* nothing is done again that is on record */
    bool learns = trainer->learns = strcmp(order->mode, "train") == 0;
    weir_require(weir_sample_set_open(job->set_path, &set, &problem) == WEIR_OK);
    if (learns)
        write_model(trainer->stage, job, &set, order);
    else
        write_outputs(trainer->stage, &set, order);
    weir_sample_set_close(&set);
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", order->directory, trainer->stage->model_name);
    if (learns && trainer->stage->plant != NULL)
        trainer->stage->plant(trainer->stage, path);
    end_training(trainer);
}

/* Somebody who knows the number of the run, and not its token. */
static void on_stranger(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct stage *stage = owner;
    weir_require(reply == NULL);
    stage->strangers_refused += err->status == WEIR_DENIED;
}

enum weir_status stage_start_trainer(void *owner, const struct orchestrator_trainer *wanted,
                                     struct weir_error *err)
{
    struct stage *stage = owner;
    struct stage_trainer *trainer = stage->trainers;
    stage->gpus = wanted->gpus;
    while (trainer->peer != NULL)
        weir_require(++trainer < stage->trainers + STAGE_TRAINERS_MAX);
    *trainer =
        (struct stage_trainer){.stage = stage, .run = wanted->run, .session = weir_random_u64()};
    WEIR_AUTO_FREE char *endpoint = weir_format("ipc://%s/orchestrator.sock", stage->dir.path);
    enum weir_status status =
        weir_rpc_connect(stage->loop, endpoint, NULL, trainer, &trainer->peer, err);
    weir_require(status == WEIR_OK);
    stage->trainers_started++;
    struct msg_run_request ask = {
        .run = (uint64_t)wanted->run, .session = ~trainer->session, .token = "a stranger's"};
    weir_rpc_call(trainer->peer, MSG_run_request, &ask, TEST_PATIENCE_MS, on_stranger, stage);
    ask.session = trainer->session;
    ask.token = wanted->token;
    weir_rpc_call(trainer->peer, MSG_run_request, &ask, TEST_PATIENCE_MS, on_order, trainer);
    return WEIR_OK;
}

void stage_end_trainer(void *owner, int64_t run)
{
    struct stage *stage = owner;
    for (size_t i = 0; i < STAGE_TRAINERS_MAX; i++) {
        if (stage->trainers[i].peer != NULL && stage->trainers[i].run == run) {
            weir_rpc_forget(stage->trainers[i].peer, &stage->trainers[i]);
            weir_loop_soon(stage->loop, leave, &stage->trainers[i]);
        }
    }
}
