/* The built-in trainer: runs one after the other, each from its task to the end, a piece per round of the loop, by the
 * calls of weir/client.h alone. Its life is a circle: requesting -> working -> finished -> requesting; dying
 * anywhere costs what was done since the newest checkpoint, and the next session goes on from there. */
#ifndef WEIR_TRAINER_CLIENT_TRAINER_H
#define WEIR_TRAINER_CLIENT_TRAINER_H

#include "core/loop/loop.h"
#include "core/wire/model_file.h"
#include "trainer_client/exports/export.h"
#include "trainer_client/learner.h"
#include "trainer_client/run_order.h"

#include <weir/client.h>

/* Options of a task of mode `export`, as the orchestrator says them. */
struct exporting_options {
    const char *to;
    const char *format;
    uint64_t shard_bytes;
};

/* An export under way. */
struct exporting {
    struct weir_yaml *document; /* owner of the texts of `options` */
    struct exporting_options options;
    struct export export;
    struct weir_buf state; /* of the client, after the newest complete shard */
};

struct trainer {
    struct weir_loop *loop;
    const char *socket_dir;
    uint64_t run, session;
    int64_t task_end_ms; /* deadline of the request for a task */
    uint32_t task_slice_ms;
    /* the task before, while the next one is requested; NULL: one is at work */
    struct weir_client_task *finished;

    struct run_order order; /* from here on: once the task is there */
    const struct run_mode *mode;
    struct weir_client *client;
    struct learner learner;
    double *class_weights; /* the learner's */
    /* the file that the learner was restored from, and its options */
    struct weir_model_file origin;
    struct weir_yaml *origin_options;
    _Alignas(16) uint8_t origin_model_options[MODEL_OPTIONS_MAX];
    struct exporting exporting; /* of mode export */
    struct weir_model_progress progress;
    double recent_loss; /* moving mean, for people */
    uint32_t width;     /* outputs per sample; 0: none, or not known yet */
    float *values;      /* outputs of the batch at hand */
    size_t values_max;
    bool is_checked; /* the learner has met a batch of this job */
    int64_t checkpoint_ms;
    bool is_stored; /* the model is written, to be handed over */
    bool is_over;   /* nothing is left to do, or it has failed: no checkpoint is written */
    enum weir_status failure; /* OK: it has not failed */
};

/* A mode of a run, by what it does with a batch. */
struct run_mode {
    const char *name;
    bool learns;      /* makes a model */
    bool needs_model; /* trains one, or uses one */
    enum weir_output kind;
    /* Returns the outputs per sample, in floats; 0: none. */
    uint32_t (*width)(const struct trainer *trainer);
    enum weir_status (*take)(struct trainer *trainer, const struct weir_batch *batch,
                             struct weir_error *err);
    /* Optional: goes on with what an earlier session left; after each batch, makes durable what is to be; after the
     * last one, as often as the run is told to be finished. */
    enum weir_status (*begin)(struct trainer *trainer, struct weir_error *err);
    enum weir_status (*keep)(struct trainer *trainer, struct weir_error *err);
    enum weir_status (*end)(struct trainer *trainer, struct weir_error *err);
};
const struct run_mode *trainer_run_mode_find(const char *name); /* NULL: there is none */

/* ---- trainer_model.c: where the learner comes from and goes to ---- */

/* Restores the learner from the run's checkpoint, else from the model to start from, else leaves it
 * to the first batch. Sets trainer->progress. A checkpoint that cannot be read is put aside with a
 * warning. */
enum weir_status trainer_restore(struct trainer *trainer, struct weir_error *err) WEIR_MUST_USE;
/* Begins the learner with the first batch, or checks that a restored one fits it. */
enum weir_status trainer_check_batch(struct trainer *trainer, const struct weir_batch *batch,
                                     struct weir_error *err) WEIR_MUST_USE;
/* Makes the state of the learner and everything released so far durable as DIRECTORY/checkpoint,
 * then commits it. */
enum weir_status trainer_checkpoint(struct trainer *trainer, struct weir_error *err) WEIR_MUST_USE;
/* Writes DIRECTORY/model. */
enum weir_status trainer_store(struct trainer *trainer, struct weir_error *err) WEIR_MUST_USE;

/* ---- trainer_export.c: the mode `export`, which learns nothing and writes a folder (exports/export.h) ---- */

/* Goes on after the shards that an earlier session completed, or removes what one left. Sets trainer->progress. */
enum weir_status trainer_export_mode_begin(struct trainer *trainer,
                                           struct weir_error *err) WEIR_MUST_USE;
enum weir_status trainer_export_mode_take(struct trainer *trainer, const struct weir_batch *batch,
                                          struct weir_error *err) WEIR_MUST_USE;
/* Completes the shard when it is full, and commits. */
enum weir_status trainer_export_mode_keep(struct trainer *trainer,
                                          struct weir_error *err) WEIR_MUST_USE;
/* Completes the last shard, and closes the folder; may be repeated. */
enum weir_status trainer_export_mode_end(struct trainer *trainer,
                                         struct weir_error *err) WEIR_MUST_USE;
void trainer_export_mode_fini(struct exporting *exporting);

/* ---- trainer.c ---- */

struct weir_rpc_server;
struct weir_service_options;
enum weir_status trainer_open(const struct weir_service_options *options, struct weir_loop *loop,
                              struct weir_rpc_server *server, void **ret_state,
                              struct weir_error *err);
/* Stopped in the middle of training, it saves a checkpoint first. */
void trainer_close(void *state);
/* 0 after a stop on request, too; WEIR_EXIT_UNANSWERED when it gave up waiting for the platform. */
int trainer_exit_code(const void *state);

#endif
