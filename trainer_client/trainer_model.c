/* Loading a trainer's learner (from a checkpoint, a model to start from, nothing) and saving it (as
 * checkpoint, as model). */
#include "core/base/log.h"
#include "core/base/memory.h"
#include "trainer_client/trainer.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { COMMIT_MS = 5000 };

/* ---- from files ---- */

/* Reads the options that the file's model was made with. */
static enum weir_status read_options(struct trainer *trainer, const struct model *model,
                                     struct weir_error *err)
{
    weir_yaml_free(trainer->origin_options);
    trainer->origin_options = NULL;
    enum weir_status status = weir_yaml_parse(
        "model options", weir_bytes_of(trainer->origin.options), &trainer->origin_options, err);
    if (status != WEIR_OK)
        return status;
    return trainer_training_read_model(model, weir_yaml_root(trainer->origin_options),
                                       trainer->origin_model_options, err);
}

/* Shapes of the file's blocks, which must be those of the model, by name. */
static enum weir_status read_shape(const struct weir_model_file *origin, struct model_plan *plan,
                                   struct weir_error *err)
{
    size_t count = trainer_model_block_count(plan->model);
    bool same = origin->block_count == count;
    for (size_t i = 0; i < count && same; i++) {
        const struct weir_model_block *block = &origin->blocks[i];
        uint32_t share = plan->model->blocks[i].by_output ? plan->width : 1;
        same = strcmp(block->name, plan->model->blocks[i].name) == 0 && block->width % share == 0;
        plan->shape[i] = (struct model_shape){block->rows, block->width / share};
    }
    if (same)
        return WEIR_OK;
    return weir_fail(err, WEIR_UNSUPPORTED, "the parameter blocks are not those of model '%s'",
                     plan->model->name);
}

/* Fills the learner's blocks from trainer->origin. */
static enum weir_status adopt(struct trainer *trainer, bool with_optimizer, struct weir_error *err)
{
    const struct weir_model_file *origin = &trainer->origin;
    struct learner *learner = &trainer->learner;
    learner->plan = (struct model_plan){
        .model = model_find(origin->model),
        .options = trainer->origin_model_options,
        .width = origin->width,
        .embedding = origin->embedding,
    };
    if (learner->plan.model == NULL)
        return weir_fail(err, WEIR_UNSUPPORTED, "model '%s' is unknown to this program",
                         origin->model);
    enum weir_status status = read_options(trainer, learner->plan.model, err);
    if (status == WEIR_OK)
        status = read_shape(origin, &learner->plan, err);
    if (status == WEIR_OK)
        status = trainer_learner_allocate(learner, err);
    if (status != WEIR_OK)
        return status;
    size_t bytes = trainer_model_floats(&learner->plan) * sizeof(float);
    memcpy(learner->parameters, origin->parameters, bytes);
    if (with_optimizer && origin->state_blocks > 0 &&
        learner->state_blocks == origin->state_blocks) {
        memcpy(learner->optimizer_state, origin->optimizer_state, bytes * origin->state_blocks);
        learner->steps = origin->steps;
    }
    return WEIR_OK;
}

/* Goes on where an earlier session of this run stopped. NOT_FOUND: there is nothing of use. */
static enum weir_status resume(struct trainer *trainer, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = trainer_run_order_path(&trainer->order, "checkpoint");
    struct model_plan fresh = trainer->learner.plan;
    enum weir_status status = weir_model_file_read(path, &trainer->origin, err);
    if (status == WEIR_OK && trainer->origin.progress.run != trainer->run)
        status = weir_fail(err, WEIR_NOT_FOUND, "checkpoint of run %llu",
                           (unsigned long long)trainer->origin.progress.run);
    if (status == WEIR_OK)
        status = adopt(trainer, true, err);
    if (status == WEIR_OK) {
        trainer->progress = trainer->origin.progress;
        return WEIR_OK;
    }
    if (status != WEIR_NOT_FOUND)
        weir_log(WEIR_LOG_WARN, "checkpoint unusable, beginning anew", "error=\"%s\"", err->text);
    weir_model_file_fini(&trainer->origin);
    trainer->learner.plan = fresh;
    return WEIR_NOT_FOUND;
}

static enum weir_status check_same_model(const struct trainer *trainer, struct weir_error *err)
{
    const struct model *wanted = trainer->order.training.model;
    if (strcmp(trainer->origin.model, wanted->name) == 0)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID,
                     "training.start_from: the model to start from is a %s, training.model says "
                     "%s: set start_from: scratch",
                     trainer->origin.model, wanted->name);
}

/* Starts from a stored model: its weights, more columns if there are more classes now, and the
 * optimizer's state when it is to be carried, as by a training that goes on, and is of the same kind. */
static enum weir_status start_from_model(struct trainer *trainer, struct weir_error *err)
{
    const struct training *training = &trainer->order.training;
    enum weir_status status =
        weir_model_file_read(trainer->order.task->start_from, &trainer->origin, err);
    if (status != WEIR_OK)
        return status;
    if (!trainer->mode->learns) {
        trainer->learner.loss = trainer_loss_find(trainer->origin.loss);
        if (trainer->learner.loss == NULL)
            return weir_fail(err, WEIR_UNSUPPORTED, "loss '%s' is unknown to this program",
                             trainer->origin.loss);
        return adopt(trainer, false, err);
    }
    uint32_t width = trainer->learner.plan.width;
    bool same_optimizer = strcmp(trainer->origin.optimizer, trainer->learner.optimizer->name) == 0;
    bool carries = training->carries_optimizer || trainer->order.task->epochs_before > 0;
    if (carries && !same_optimizer)
        weir_log(WEIR_LOG_WARN, "optimizer state not carried", "found=%s expected=%s",
                 trainer->origin.optimizer, trainer->learner.optimizer->name);
    status = check_same_model(trainer, err);
    if (status == WEIR_OK)
        status = adopt(trainer, carries && same_optimizer, err);
    if (status == WEIR_OK)
        status = trainer_learner_widen(&trainer->learner, width, err);
    if (status == WEIR_OK)
        trainer->learner.plan.options =
            training->model_options; /* trainer_check_batch() checks the rows */
    return status;
}

static enum weir_status weigh_classes(struct trainer *trainer, struct weir_error *err)
{
    const struct weir_client_task *task = trainer->order.task;
    const struct weir_yaml_node *node = trainer->order.training.learning.class_weights;
    struct learner *learner = &trainer->learner;
    bool is_named = task->class_count > 0;
    size_t numbers = learner->plan.width > 2 ? learner->plan.width : 2;
    if (node == NULL)
        return WEIR_OK;
    learner->class_count = is_named ? task->class_count : numbers;
    enum weir_status status = trainer_learning_class_weights(
        node, is_named ? task->classes : NULL, learner->class_count, &trainer->class_weights, err);
    learner->class_weights = trainer->class_weights;
    return status;
}

static enum weir_status configure_learner(struct trainer *trainer, struct weir_error *err)
{
    const struct training *training = &trainer->order.training;
    struct learner *learner = &trainer->learner;
    learner->seed = trainer->order.task->seed;
    learner->choice = training->choice;
    learner->threads_wanted = (uint32_t)training->keys.threads;
    learner->plan.model = training->model;
    learner->plan.options = training->model_options;
    learner->loss = training->loss;
    learner->optimizer = training->learning.optimizer;
    learner->optimizer_options = training->learning.optimizer_options;
    learner->clip = training->learning.clip;
    if (!trainer->mode->learns)
        return WEIR_OK; /* the model's own width counts */
    enum weir_status status = learner->loss->width(
        trainer->order.task->class_count, trainer->order.task->outputs, &learner->plan.width, err);
    return status == WEIR_OK ? weigh_classes(trainer, err) : status;
}

enum weir_status trainer_restore(struct trainer *trainer, struct weir_error *err)
{
    if (!trainer->mode->needs_model)
        return WEIR_OK;
    enum weir_status status = configure_learner(trainer, err);
    if (status != WEIR_OK)
        return status;
    if (trainer->mode->learns && resume(trainer, err) == WEIR_OK)
        return WEIR_OK;
    if (trainer->order.task->start_from != NULL)
        return start_from_model(trainer, err);
    if (!trainer->mode->learns)
        return weir_fail(err, WEIR_INVALID,
                         "mode %s needs a model to start from, and none is named",
                         trainer->mode->name);
    return WEIR_OK;
}

static enum weir_status check_same_shape(const struct model_plan *origin,
                                         const struct model_plan *plan, struct weir_error *err)
{
    for (size_t i = 0; i < trainer_model_block_count(plan->model); i++) {
        const struct model_shape *one = &origin->shape[i], *other = &plan->shape[i];
        if (one->rows != other->rows)
            return weir_fail(
                err, WEIR_INVALID,
                "the model to start from has %llu inputs, this run %llu: the operators or the "
                "options of the model differ; set start_from: scratch",
                (unsigned long long)one->rows, (unsigned long long)other->rows);
        if (one->columns != other->columns)
            return weir_fail(err, WEIR_INVALID,
                             "the model to start from has %u numbers per input in '%s', this run "
                             "%u: the options of the model differ; set start_from: scratch",
                             one->columns, plan->model->blocks[i].name, other->columns);
    }
    return WEIR_OK;
}

enum weir_status trainer_check_batch(struct trainer *trainer, const struct weir_batch *batch,
                                     struct weir_error *err)
{
    struct learner *learner = &trainer->learner;
    trainer->is_checked = true;
    if (!trainer->mode->needs_model)
        return WEIR_OK;
    weir_client_label_scale(trainer->client, &learner->scale.mean, &learner->scale.deviation);
    if (!learner_has_begun(learner))
        return trainer_learner_begin(learner, batch, err);
    struct model_plan plan = learner->plan;
    enum weir_status status = plan.model->plan(&plan, batch, err);
    if (status != WEIR_OK)
        return status;
    status = check_same_shape(&learner->plan, &plan, err);
    learner->plan.embedding = plan.embedding;
    return status;
}

/* ---- to files ---- */

static enum weir_status write_model(struct trainer *trainer, const char *name,
                                    const struct weir_model_progress *progress,
                                    struct weir_error *err)
{
    const struct learner *learner = &trainer->learner;
    struct weir_client_info info;
    WEIR_AUTO_BUF options = {0};
    weir_client_info(trainer->client, &info);
    cfg_print(learner->plan.model->options, learner->plan.options, 0, &options);
    struct weir_model_file file = {
        .model = learner->plan.model->name,
        .options = weir_buf_text(&options),
        .loss = learner->loss->name,
        .optimizer = learner->optimizer->name,
        .width = learner->plan.width,
        .embedding = learner->plan.embedding,
        .label_kind = (uint32_t)trainer->order.task->label_type,
        .classes = {.at = trainer->order.task->classes, .count = trainer->order.task->class_count},
        .fitted = weir_bytes(info.fitted, info.fitted_size),
        .progress = *progress,
        .parameters = learner->parameters,
        .optimizer_state = learner->optimizer_state,
        .state_blocks = learner->state_blocks,
        .steps = learner->steps,
    };
    trainer_model_describe(&learner->plan, &file);
    WEIR_AUTO_FREE char *path = trainer_run_order_path(&trainer->order, name);
    return weir_model_file_write(path, &file, err);
}

enum weir_status trainer_checkpoint(struct trainer *trainer, struct weir_error *err)
{
    const void *state = NULL;
    size_t size = 0;
    struct weir_client_error error;
    if (weir_client_state(trainer->client, &state, &size, &error) != WEIR_CLIENT_OK)
        return weir_fail(err, (enum weir_status)error.status, "%s", error.text);
    struct weir_model_progress progress = trainer->progress;
    progress.run = trainer->run;
    progress.position = weir_bytes(state, size);
    enum weir_status status = write_model(trainer, "checkpoint", &progress, err);
    if (status != WEIR_OK)
        return status;
    enum weir_client_status committed =
        weir_client_commit(trainer->client, state, size, 0, COMMIT_MS, &error);
    if (committed == WEIR_CLIENT_OK)
        return WEIR_OK;
    if (committed != WEIR_CLIENT_TIMEOUT)
        return weir_fail(err, (enum weir_status)committed, "%s", error.text);
    /* The checkpoint is durable all the same; the next commit contains this one. */
    weir_log(WEIR_LOG_WARN, "checkpoint not acknowledged, going on", "error=\"%s\"", error.text);
    return WEIR_OK;
}

enum weir_status trainer_store(struct trainer *trainer, struct weir_error *err)
{
    return write_model(trainer, "model", &(struct weir_model_progress){0}, err);
}
