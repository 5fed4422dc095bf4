/* A thread a call; see the header. */
#include "trainer_client/python/errand.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct errand *make(enum weir_client_status (*call)(struct errand *errand))
{
    struct errand *errand = weir_calloc(1, sizeof(*errand));
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&errand->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&errand->mutex, NULL);
    atomic_init(&errand->holders, 1);
    errand->call = call;
    return errand;
}

static void copy_options(struct errand *errand, const struct weir_client_options *options)
{
    errand->options = *options;
    if (options->socket_dir != NULL)
        errand->options.socket_dir = errand->socket_dir = weir_strdup(options->socket_dir);
    if (options->state != NULL) {
        errand->state = weir_calloc(1, options->state_size + 1);
        memcpy(errand->state, options->state, options->state_size);
        errand->options.state = errand->state;
    }
}

/* ---- the calls ---- */

static enum weir_client_status request_task(struct errand *errand)
{
    return weir_client_task(&errand->options, &errand->task, &errand->error);
}

static enum weir_client_status request_next(struct errand *errand)
{
    return weir_client_next_task(&errand->options, -1, &errand->task, &errand->error);
}

static enum weir_client_status open_run(struct errand *errand)
{
    return weir_client_open(&errand->options, &errand->client->client, &errand->error);
}

static enum weir_client_status finish(struct errand *errand)
{
    struct weir_client_result result = {.model = errand->model, .loss = errand->loss};

    return weir_client_finish(errand->client->client, &result, -1, &errand->error);
}

struct errand *trainer_python_errand_task(const struct weir_client_options *options)
{
    struct errand *errand = make(request_task);

    copy_options(errand, options);
    return errand;
}

struct errand *trainer_python_errand_next_task(const struct weir_client_options *options,
                                               struct counted_task *finished)
{
    struct errand *errand = make(request_next);

    copy_options(errand, options);
    errand->finished = trainer_python_task_hold(finished);
    errand->options.task = finished->task;
    return errand;
}

struct errand *trainer_python_errand_open(const struct weir_client_options *options,
                                          struct counted_client *client)
{
    struct errand *errand = make(open_run);

    copy_options(errand, options);
    errand->client = trainer_python_client_hold(client);
    errand->options.task = client->task->task;
    return errand;
}

struct errand *trainer_python_errand_finish(struct counted_client *client, const char *model,
                                            double loss)
{
    struct errand *errand = make(finish);

    errand->client = trainer_python_client_hold(client);
    errand->model = model != NULL ? weir_strdup(model) : NULL;
    errand->loss = loss;
    return errand;
}

/* ---- the thread ---- */

static void *run(void *owner)
{
    struct errand *errand = owner;
    enum weir_client_status status = errand->call(errand);

    pthread_mutex_lock(&errand->mutex);
    errand->status = status;
    errand->is_done = true;
    pthread_cond_broadcast(&errand->changed);
    pthread_mutex_unlock(&errand->mutex);
    trainer_python_errand_drop(errand);
    return NULL;
}

bool trainer_python_errand_start(struct errand *errand)
{
    pthread_t thread;

    atomic_fetch_add(&errand->holders, 1);
    int failed = weir_thread_start(&thread, run, errand);
    if (failed != 0) {
        atomic_fetch_sub(&errand->holders, 1);
        errno = failed;
        return false;
    }
    pthread_detach(thread);
    return true;
}

bool trainer_python_errand_wait(struct errand *errand, int64_t timeout_ms)
{
    int64_t end_ms = weir_now_ms() + timeout_ms;
    struct timespec until = {.tv_sec = end_ms / 1000, .tv_nsec = end_ms % 1000 * 1000000};

    pthread_mutex_lock(&errand->mutex);
    while (!errand->is_done &&
           pthread_cond_timedwait(&errand->changed, &errand->mutex, &until) != ETIMEDOUT)
        ;
    bool is_done = errand->is_done;
    pthread_mutex_unlock(&errand->mutex);
    return is_done;
}

void trainer_python_errand_drop(struct errand *errand)
{
    if (atomic_fetch_sub(&errand->holders, 1) != 1)
        return;
    trainer_python_client_drop(errand->client);
    weir_client_task_free(errand->task);
    if (errand->finished != NULL)
        trainer_python_task_drop(errand->finished);
    free(errand->socket_dir);
    free(errand->state);
    free(errand->model);
    pthread_cond_destroy(&errand->changed);
    pthread_mutex_destroy(&errand->mutex);
    free(errand);
}
