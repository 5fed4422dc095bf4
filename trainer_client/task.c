/* Asking what a run is to do, and what comes after it: one request on a loop of its own, while no run is open. */
#include "trainer_client/task.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/rng.h"
#include "core/loop/loop.h"
#include "core/rpc/rpc.h"
#include "core/wire/model_pack.h"
#include "trainer_client/options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NEXT_MS = 24 * 3600 * 1000 }; /* a request for the next task is answered when there is one */

/* A request for a task, from its sending to its answer. */
struct task_request {
    struct weir_loop *loop;
    struct weir_rpc_peer *orchestrator;
    bool is_elsewhere;         /* it comes by a pass */
    uint64_t session;          /* session for the next task */
    bool is_answered, is_last; /* nothing is left to do */
    struct task *task;         /* NULL: no answer yet, or none of use */
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
    task->next = weir_arena_alloc(task->arena, sizeof(struct task_request *));
    *task->next = NULL;
    keep_tells(task, message);
    task->token = copy(task, message->token);
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
        .digests = message->digests,
        .class_count = message->classes.count,
        .classes = copy_names(task, message->classes),
        .batch_then_sample =
            copy(task, message->batch_then_sample[0] != '\0' ? message->batch_then_sample : "null"),
        .epochs_before = message->epochs_before,
        .epochs_in_all = message->epochs_in_all,
    };
    return task;
}

/* ---- the request ---- */

static void on_answer(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct task_request *request = owner;

    request->is_answered = true;
    if (reply == NULL)
        request->failure = *err;
    else if (((const struct msg_run_is *)reply->message)->job == 0)
        request->is_last = true;
    else
        request->task = keep(reply->message);
}

/* The run is this process's only once it asks for its task, like the first: one that is frozen by now never does, and
 * another process is found soon. */
static void on_next(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct task_request *request = owner;
    const struct msg_run_is *next = reply != NULL ? reply->message : NULL;

    if (next == NULL || next->job == 0) {
        on_answer(owner, reply, err);
        return;
    }
    (void)weir_fault("task.given");
    const struct msg_run_request message = {
        .run = next->job, .session = request->session, .token = next->token};
    weir_rpc_call(request->orchestrator, MSG_run_request, &message, NEXT_MS, on_answer, request);
}

static void request_free(struct task_request *request)
{
    if (request == NULL)
        return;
    weir_rpc_peer_close(request->orchestrator);
    weir_loop_free(request->loop);
    free(request);
}
WEIR_DEFINE_AUTO(task_request, request_free)

static enum weir_status request_new(const struct weir_client_options *options,
                                    struct task_request **ret_request, struct weir_error *err)
{
    WEIR_AUTO(task_request) request = weir_calloc(1, sizeof(*request));
    struct weir_pass pass;
    WEIR_AUTO_FREE char *address = NULL;

    enum weir_status status = trainer_options_pass(options, &pass, err);
    if (status == WEIR_OK)
        status = trainer_options_endpoint(options, &pass, options->orchestrator, "orchestrator",
                                          &address, err);
    if (status == WEIR_OK && address == NULL)
        status = trainer_options_no_platform(err);
    if (status == WEIR_OK) {
        request->loop = weir_loop_new();
        request->is_elsewhere = pass.platform != NULL;
        status =
            weir_rpc_connect_as(request->loop, address, pass.platform != NULL ? &pass.pair : NULL,
                                NULL, request, &request->orchestrator, err);
    }
    weir_pass_fini(&pass);
    if (status == WEIR_OK)
        *ret_request = WEIR_TAKE(request);
    return status;
}

/* OK once it is answered; TIMEOUT. */
static enum weir_status await(struct task_request *request, int64_t timeout_ms,
                              struct weir_error *err)
{
    int64_t end_ms = trainer_options_end_ms(timeout_ms), now_ms = weir_now_ms();

    for (; !request->is_answered && now_ms < end_ms; now_ms = weir_now_ms())
        weir_loop_step(request->loop, end_ms - now_ms);
    if (!request->is_answered)
        return weir_fail(err, WEIR_TIMEOUT, "no task within %lld ms", (long long)timeout_ms);
    if (request->task != NULL || request->is_last)
        return WEIR_OK;
    *err = request->failure;
    if (err->status == WEIR_TIMEOUT)
        return weir_fail(err, WEIR_UNAVAILABLE,
                         "the orchestrator at %s does not answer: is the platform running?",
                         weir_rpc_peer_endpoint(request->orchestrator));
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

/* Checkpoints, outputs and models go through this folder, not through messages. */
static enum weir_status see_directory(const struct task *task, struct weir_error *err)
{
    if (access(task->shown.directory, R_OK | W_OK | X_OK) == 0)
        return WEIR_OK;
    return weir_fail(err, WEIR_UNSUPPORTED,
                     "run %llu: its folder %s cannot be used on this host (%s): a trainer "
                     "elsewhere needs the platform's data directory on a file system that both "
                     "hosts have, at the same path, open to its user",
                     (unsigned long long)task->shown.run, task->shown.directory, strerror(errno));
}

/* The answer of a request, complete. */
static enum weir_status take_answer(const struct weir_client_options *options,
                                    struct task_request *request, uint64_t session,
                                    struct task **ret_task, struct weir_error *err)
{
    struct task *task = request->task;

    task->shown.session = session;
    enum weir_status status = request->is_elsewhere ? see_directory(task, err) : WEIR_OK;
    if (status == WEIR_OK)
        status = unpack_model(options, task, err);
    if (status == WEIR_OK)
        *ret_task = task;
    else
        weir_client_task_free(&task->shown);
    return status;
}

static enum weir_status take_task(const struct weir_client_options *options, struct task **ret_task,
                                  struct weir_error *err)
{
    struct msg_run_request message = {.session = options->session,
                                      .token = trainer_options_token()};
    WEIR_AUTO(task_request) request = NULL;
    uint32_t ranks = 1;
    enum weir_status status = trainer_options_run(options, &message.run, err);

    if (status == WEIR_OK)
        status = trainer_options_rank(options, &message.rank, &ranks, err);
    if (status == WEIR_OK)
        status = request_new(options, &request, err);
    if (status != WEIR_OK)
        return status;
    if (message.session == 0)
        message.session = weir_random_u64();
    weir_rpc_call(request->orchestrator, MSG_run_request, &message,
                  trainer_options_timeout_ms(options), on_answer, request);
    status = await(request, -1, err);
    return status == WEIR_OK ? take_answer(options, request, message.session, ret_task, err)
                             : status;
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

/* ---- the next one ---- */

/* A request that is not answered yet stays with the task before. */
static enum weir_status request_next(const struct weir_client_options *options,
                                     const struct task *finished, struct weir_error *err)
{
    const struct msg_run_next message = {.run = finished->shown.run,
                                         .session = finished->shown.session};

    if (*finished->next != NULL)
        return WEIR_OK;
    enum weir_status status = request_new(options, finished->next, err);
    if (status != WEIR_OK)
        return status;
    (*finished->next)->session = message.session;
    weir_rpc_call((*finished->next)->orchestrator, MSG_run_next, &message, NEXT_MS, on_next,
                  *finished->next);
    return WEIR_OK;
}

/* `*ret_task` stays as it is when nothing is left to do. */
static enum weir_status take_next(const struct weir_client_options *options, int64_t timeout_ms,
                                  struct task **ret_task, struct weir_error *err)
{
    uint64_t run = 0;
    enum weir_status status = trainer_options_run(options, &run, err);

    if (status != WEIR_OK)
        return status;
    if (options->task == NULL)
        return weir_fail(err, WEIR_INVALID,
                         "next task: expected weir_client_options.task, the one that is finished");
    const struct task *finished = task_of_shown(options->task);
    status = request_next(options, finished, err);
    if (status == WEIR_OK)
        status = await(*finished->next, timeout_ms, err);
    if (status == WEIR_TIMEOUT)
        return status;
    if (status == WEIR_OK && !(*finished->next)->is_last)
        status = take_answer(options, *finished->next, finished->shown.session, ret_task, err);
    if (status == WEIR_OK && *ret_task != NULL)
        (*ret_task)->begun_cpu_ns = weir_cpu_ns();
    request_free(*finished->next);
    *finished->next = NULL;
    return status;
}

enum weir_client_status weir_client_next_task(const struct weir_client_options *options,
                                              int64_t timeout_ms,
                                              struct weir_client_task **ret_task,
                                              struct weir_client_error *ret_error)
{
    struct weir_error err;
    struct task *task = NULL;

    if (take_next(options, timeout_ms, &task, &err) != WEIR_OK)
        return trainer_client_give(&err, ret_error);
    if (task == NULL)
        return WEIR_CLIENT_END;
    *ret_task = &task->shown;
    return WEIR_CLIENT_OK;
}

void weir_client_task_free(struct weir_client_task *shown)
{
    struct task *task = (struct task *)shown; /* `shown` is its first member */

    if (task == NULL)
        return;
    request_free(*task->next);
    weir_arena_free(task->arena);
    free(task);
}
