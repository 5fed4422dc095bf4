/* Asking what a run is to do: one question on a loop of its own, before the run is opened. */
#include "trainer_client/task.h"

#include "core/base/file.h"
#include "core/base/rng.h"
#include "core/loop/loop.h"
#include "core/rpc/rpc.h"
#include "core/wire/model_pack.h"
#include "trainer_client/options.h"

#include <stdlib.h>
#include <string.h>

struct question {
    struct weir_loop *loop;
    struct task *task; /* NULL: no answer yet, or none of use */
    struct weir_error failure;
};

/* ---- the answer, kept ---- */

static const char *copy(struct task *task, const char *text)
{
    return weir_arena_strndup(task->arena, text, strlen(text));
}

static const char *const *copy_names(struct task *task, struct weir_strs names)
{
    const char **kept = weir_arena_alloc(task->arena, (names.count + 1) * sizeof(*kept));

    for (size_t i = 0; i < names.count; i++)
        kept[i] = copy(task, names.at[i]);
    return kept;
}

static void keep_tells(struct task *task, const struct msg_run_is *message)
{
    task->tells.group = copy(task, message->group);
    for (size_t i = 0; i < message->slices.count && i < WEIR_OUTPUTS_SLICES_MAX; i++)
        task->tells.slices[task->tells.slice_count++] = copy(task, message->slices.at[i]);
}

static struct task *keep(const struct msg_run_is *message)
{
    struct task *task = weir_calloc(1, sizeof(*task));

    task->arena = weir_arena_new();
    keep_tells(task, message);
    task->shown = (struct weir_client_task){
        .run = message->job,
        .mode = copy(task, message->mode),
        .pipeline = copy(task, message->pipeline),
        .file = copy(task, message->file),
        .config =
            weir_arena_strndup(task->arena, (const char *)message->config.at, message->config.size),
        .config_size = message->config.size,
        .options = copy(task, message->options[0] != '\0' ? message->options : "null"),
        .directory = copy(task, message->directory),
        .start_from = message->start_from[0] != '\0' ? copy(task, message->start_from) : NULL,
        .seed = message->seed,
        .label_type = (enum weir_label_type)message->label_kind,
        .outputs = message->outputs,
        .reports = message->reports,
        .class_count = message->classes.count,
        .classes = copy_names(task, message->classes),
    };
    return task;
}

/* ---- the question ---- */

static void on_answer(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct question *question = owner;

    if (reply != NULL)
        question->task = keep(reply->message);
    else
        question->failure = *err;
    weir_loop_stop(question->loop);
}

static enum weir_status ask(struct question *question, const char *endpoint,
                            const struct msg_run_ask *message, int64_t timeout_ms,
                            struct weir_error *err)
{
    struct weir_rpc_peer *orchestrator = NULL;
    enum weir_status status =
        weir_rpc_connect(question->loop, endpoint, NULL, question, &orchestrator, err);

    if (status != WEIR_OK)
        return status;
    weir_rpc_call(orchestrator, MSG_run_ask, message, timeout_ms, on_answer, question);
    weir_loop_run(question->loop);
    weir_rpc_peer_close(orchestrator);
    if (question->task != NULL)
        return WEIR_OK;
    *err = question->failure;
    if (err->status == WEIR_TIMEOUT)
        return weir_fail(err, WEIR_UNAVAILABLE,
                         "the orchestrator at %s does not answer: is the platform running?",
                         endpoint);
    return err->status;
}

/* ---- a model that is a directory ---- */

/* Of each rank by itself: they stand in the same directory. */
static const char *directory_of(const struct task *task, uint32_t rank)
{
    return rank == 0
               ? weir_arena_format(task->arena, "%s/start-from", task->shown.directory)
               : weir_arena_format(task->arena, "%s/start-from-%u", task->shown.directory, rank);
}

/* Unpacks the model to start from, if it is one, and names the directory in its place. */
static enum weir_status unpack_model(const struct weir_client_options *options, struct task *task,
                                     struct weir_error *err)
{
    void *at = NULL;
    size_t size = 0;
    uint32_t rank = 0, ranks = 1;
    struct weir_error missing;

    if (task->shown.start_from == NULL ||
        weir_file_map(task->shown.start_from, &at, &size, &missing) != WEIR_OK)
        return WEIR_OK; /* whoever loads it says what is wrong */
    enum weir_status status = trainer_options_rank(options, &rank, &ranks, err);
    if (status == WEIR_OK && weir_model_pack_begins(weir_bytes(at, size))) {
        task->shown.start_from = directory_of(task, rank);
        status = weir_remove_tree(task->shown.start_from, err); /* of an earlier life */
        if (status == WEIR_OK)
            status = weir_model_pack_unpack(weir_bytes(at, size), task->shown.start_from, err);
    }
    weir_file_unmap(at, size);
    return status;
}

static enum weir_status take_task(const struct weir_client_options *options, struct task **ret_task,
                                  struct weir_error *err)
{
    struct msg_run_ask message = {.session = options->session};
    enum weir_status status = trainer_options_run(options, &message.run, err);

    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *endpoint =
        trainer_options_endpoint(options, options->orchestrator, "orchestrator");
    if (endpoint == NULL)
        return trainer_options_no_platform(err);
    if (message.session == 0)
        message.session = weir_random_u64();
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    struct question question = {.loop = loop};
    status = ask(&question, endpoint, &message, trainer_options_timeout_ms(options), err);
    if (status != WEIR_OK)
        return status;
    question.task->shown.session = message.session;
    status = unpack_model(options, question.task, err);
    if (status == WEIR_OK)
        *ret_task = question.task;
    else
        weir_client_task_free(&question.task->shown);
    return status;
}

enum weir_client_status weir_client_task(const struct weir_client_options *options,
                                         struct weir_client_task **ret_task,
                                         struct weir_client_error *ret_error)
{
    struct weir_error err;
    struct task *task = NULL;

    if (take_task(options, &task, &err) != WEIR_OK)
        return trainer_client_give(&err, ret_error);
    *ret_task = &task->shown;
    return WEIR_CLIENT_OK;
}

void weir_client_task_free(struct weir_client_task *shown)
{
    struct task *task = (struct task *)shown; /* `shown` is its first member */

    if (task == NULL)
        return;
    weir_arena_free(task->arena);
    free(task);
}
