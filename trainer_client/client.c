/* The calls of client.h: what the loop's threads do with an open run. Everything here is a short
 * look at the delivery machine under the mutex; waiting is a condition that the I/O thread signals.
 * */
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/base/thread.h"
#include "core/wire/fitted.h"
#include "trainer_client/client_state.h"
#include "trainer_client/digest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

/* STALE or RESTART, of a session that is over. */
static enum weir_status fail_over(const struct weir_client *client, struct weir_error *err)
{
    unsigned long long run = client->run;
    if (trainer_delivery_is_superseded(client->delivery))
        return weir_fail(err, WEIR_STALE, "run %llu: a later session has taken over: stop", run);
    return weir_fail(err, WEIR_RESTART,
                     "run %llu: a rank has returned: close, load the newest state and open again",
                     run);
}

void trainer_client_wake(struct weir_client *client)
{
    uint64_t one = 1;
    ssize_t written = write(client->wake_fd, &one, sizeof(one)); /* full means: awake already */
    (void)written;
}

/* ---- opening and closing ---- */

/* Every opening is a session of its own, unless the caller names one. */
static enum weir_status make_delivery(struct weir_client *client,
                                      const struct weir_client_options *options,
                                      struct weir_error *err)
{
    struct weir_position start = {0};
    enum weir_status status =
        weir_position_unpack(weir_bytes(options->state, options->state_size), &start, err);
    if (status != WEIR_OK)
        return status;
    client->session = options->session != 0 ? options->session : weir_random_u64();
    client->begun_samples = start.tally.delivered;
    client->buffering.is_fixed = options->prefetch_bytes != 0;
    client->delivery = trainer_delivery_new(client->run, client->session, options->prefetch_bytes,
                                            options->state_size > 0 ? &start : NULL);
    trainer_delivery_take_part(client->delivery, client->rank, client->ranks);
    weir_position_fini(&start);
    return WEIR_OK;
}

/* Takes over a pass, which the loop has where the platform is elsewhere. */
static void take_pass(struct weir_client *client, const struct weir_pass *pass)
{
    if (pass->platform == NULL)
        return;
    client->is_elsewhere = client->has_pair = true;
    client->pair = pass->pair;
}

static enum weir_status find_endpoints(struct weir_client *client,
                                       const struct weir_client_options *options,
                                       struct weir_error *err)
{
    struct weir_pass pass;
    enum weir_status status = trainer_options_pass(options, &pass, err);
    if (status != WEIR_OK)
        return status;
    const struct {
        const char *given, *name;
        char **ret_endpoint;
    } services[] = {
        {options->dispatcher, "dispatcher", &client->dispatcher_endpoint},
        {options->storage, "storage", &client->storage_endpoint},
        {options->orchestrator, "orchestrator", &client->orchestrator_endpoint},
    };
    for (size_t i = 0; status == WEIR_OK && i < WEIR_COUNT(services); i++)
        status = trainer_options_endpoint(options, &pass, services[i].given, services[i].name,
                                          services[i].ret_endpoint, err);
    take_pass(client, &pass);
    weir_pass_fini(&pass);
    if (status == WEIR_OK &&
        (client->dispatcher_endpoint == NULL || client->storage_endpoint == NULL))
        status = trainer_options_no_platform(err);
    return status;
}

static enum weir_status configure(struct weir_client *client,
                                  const struct weir_client_options *options, struct weir_error *err)
{
    enum weir_status status = trainer_options_run(options, &client->run, err);
    if (status == WEIR_OK)
        status = trainer_options_rank(options, &client->rank, &client->ranks, err);
    if (status == WEIR_OK)
        status = make_delivery(client, options, err);
    if (status == WEIR_OK)
        status = find_endpoints(client, options, err);
    if (status != WEIR_OK)
        return status;
    client->holder =
        client->ranks == 1
            ? weir_format("trainer-%llu", (unsigned long long)client->run)
            : weir_format("trainer-%llu.%u", (unsigned long long)client->run, client->rank);
    client->token = weir_strdup(options->task != NULL ? task_of_shown(options->task)->token
                                                      : trainer_options_token());
    client->open_timeout_ms = trainer_options_timeout_ms(options);
    client->task = options->task;
    client->keeps_digests = trainer_options_digests(options);
    if (trainer_client_gathers(client) && client->begun_samples > 0)
        return weir_fail(err, WEIR_INVALID,
                         "mode %s begins at the beginning: what was said of the batches in "
                         "weir_client_options.state is lost",
                         client->task->mode);
    return WEIR_OK;
}

static void make_monitor(struct weir_client *client)
{
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&client->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    pthread_mutex_init(&client->mutex, NULL);
}

/* Starts the I/O thread. */
static enum weir_status start_thread(struct weir_client *client, struct weir_error *err)
{
    client->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (client->wake_fd < 0)
        return weir_fail(err, WEIR_LIMIT, "eventfd: %s", strerror(errno));
    int failed = weir_thread_start(&client->thread, trainer_client_io_run, client);
    if (failed != 0)
        return weir_fail(err, WEIR_LIMIT, "cannot start a thread: %s", strerror(failed));
    client->is_running = true;
    return WEIR_OK;
}

static enum weir_status wait_until_open(struct weir_client *client, struct weir_error *err)
{
    pthread_mutex_lock(&client->mutex);
    while (!client->opened && !client->failed)
        pthread_cond_wait(&client->changed, &client->mutex);
    bool failed = client->failed;
    if (failed)
        *err = client->failure;
    pthread_mutex_unlock(&client->mutex);
    return failed ? err->status : WEIR_OK;
}

static enum weir_status open_digests(struct weir_client *client, struct weir_error *err)
{
    if (!client->keeps_digests || client->task == NULL)
        return WEIR_OK;
    WEIR_AUTO_FREE char *path = weir_format("%s/digests-%u", client->task->directory, client->rank);
    pthread_mutex_lock(&client->mutex);
    enum weir_status status = trainer_digest_list_open(
        &client->digests, path, trainer_delivery_position(client->delivery), err);
    pthread_mutex_unlock(&client->mutex);
    return status;
}

enum weir_client_status weir_client_open(const struct weir_client_options *options,
                                         struct weir_client **ret_client,
                                         struct weir_client_error *ret_error)
{
    struct weir_error err;
    struct weir_client *client = weir_calloc(1, sizeof(*client));
    const char *attended = getenv("WEIR_ATTENDED");
    client->wake_fd = -1;
    for (size_t i = 0; i < DELIVERY_WORKERS_MAX; i++)
        client->workers[i].way = -1;
    client->has_called = true;
    client->is_attended = attended != NULL && *attended != '\0';
    make_monitor(client);
    enum weir_status status = configure(client, options, &err);
    if (status == WEIR_OK)
        status = start_thread(client, &err);
    if (status == WEIR_OK)
        status = wait_until_open(client, &err);
    if (status == WEIR_OK)
        status = open_digests(client, &err);
    if (status != WEIR_OK) {
        uint64_t wanted = client->delivery != NULL ? trainer_delivery_wanted(client->delivery) : 0;
        weir_client_close(client);
        enum weir_client_status failed = trainer_client_give(&err, ret_error);
        if (ret_error != NULL && status == WEIR_RESTART)
            ret_error->batches = wanted;
        return failed;
    }
    trainer_client_restore_reported(client);
    *ret_client = client;
    return WEIR_CLIENT_OK;
}

static void stop_thread(struct weir_client *client)
{
    if (!client->is_running)
        return;
    pthread_mutex_lock(&client->mutex);
    client->closing = true;
    pthread_mutex_unlock(&client->mutex);
    trainer_client_wake(client);
    pthread_join(client->thread, NULL);
}

void weir_client_close(struct weir_client *client)
{
    if (client == NULL)
        return;
    stop_thread(client);
    if (client->delivery != NULL) {
        trainer_delivery_discard_all(client->delivery);
        trainer_client_free_discarded(client);
        trainer_delivery_free(client->delivery);
        trainer_lending_fini(&client->lending);
    }
    if (client->wake_fd >= 0)
        close(client->wake_fd);
    pthread_cond_destroy(&client->changed);
    pthread_mutex_destroy(&client->mutex);
    trainer_collector_fini(&client->collector);
    trainer_digest_list_close(&client->digests);
    weir_buf_fini(&client->done.model);
    weir_buf_fini(&client->done.metrics);
    weir_buf_fini(&client->fitted);
    trainer_announced_fini(&client->announced);
    weir_buf_fini(&client->state);
    free(client->dispatcher_endpoint);
    free(client->storage_endpoint);
    free(client->orchestrator_endpoint);
    free(client->holder);
    free(client->token);
    weir_pair_fini(&client->pair);
    free(client);
}

void weir_client_info(const struct weir_client *client, struct weir_client_info *ret_info)
{
    *ret_info = client->info; /* does not change once it is open */
}

enum weir_status trainer_client_announce(struct weir_client *client,
                                         const struct msg_client_opened *opened,
                                         struct weir_error *err)
{
    return client->opened
               ? WEIR_OK
               : trainer_announced_take(&client->announced, client_hides(client), opened, err);
}

const char *weir_client_element_name(const struct weir_client *client, const char *tensor,
                                     uint64_t index)
{
    return trainer_elements_name(&client->announced.elements, tensor, index); /* nor do these */
}

size_t weir_client_tensors(const struct weir_client *client,
                           const struct weir_client_tensor **ret_tensors)
{
    *ret_tensors = client->announced.tensors; /* nor do these */
    return client->announced.count;
}

void weir_client_label_scale(const struct weir_client *client, double *ret_mean,
                             double *ret_deviation)
{
    struct weir_label_scale scale;
    bool is_scaled = weir_fitted_label_scale(weir_buf_view(&client->fitted), &scale);

    *ret_mean = is_scaled ? scale.mean : 0;
    *ret_deviation = is_scaled ? scale.deviation : 1;
}

/* ---- the loop ---- */

/* Waits for a change, at most until `end_ms` (INT64_MAX: no end). False when that has passed. */
bool trainer_client_wait(struct weir_client *client, int64_t end_ms)
{
    struct timespec until = {.tv_sec = end_ms / 1000, .tv_nsec = end_ms % 1000 * 1000000};

    client->is_waiting = client->has_called = true;
    int failed = end_ms == INT64_MAX
                     ? pthread_cond_wait(&client->changed, &client->mutex)
                     : pthread_cond_timedwait(&client->changed, &client->mutex, &until);
    client->is_waiting = false;
    return failed != ETIMEDOUT;
}

/* One look at the machine. */
static enum weir_status look(struct weir_client *client, enum delivery_offer *ret_offer,
                             struct delivery_batch **ret_batch, struct weir_error *err)
{
    if (client->failed) {
        *err = client->failure;
        return err->status;
    }
    if (client->held >= WEIR_BATCHES_HELD_MAX)
        return weir_fail(err, WEIR_LIMIT, "%d batches are in hand: release one first",
                         WEIR_BATCHES_HELD_MAX);
    if (client->unconsumed >= WEIR_BATCHES_UNCONSUMED_MAX)
        return weir_fail(err, WEIR_LIMIT,
                         "%d batches are not consumed: say weir_client_consumed() of each",
                         WEIR_BATCHES_UNCONSUMED_MAX);
    *ret_offer = trainer_delivery_next(client->delivery, weir_now_ms(), ret_batch);
    trainer_client_free_discarded(client);
    if (*ret_offer == DELIVERY_SUPERSEDED || *ret_offer == DELIVERY_REGROUP)
        return fail_over(client, err);
    if (*ret_offer == DELIVERY_WAIT && trainer_delivery_beat_due(client->delivery, weir_now_ms()))
        trainer_client_wake(
            client); /* what waits here is to be listed before the loop may have it */
    return WEIR_OK;
}

static bool is_answer(enum delivery_offer offer)
{
    return offer == DELIVERY_BATCH || offer == DELIVERY_END;
}

static void begin_wait(struct weir_client *client, int64_t now_ns)
{
    if (client->handed_ns != 0)
        client->stats.busy_ns += now_ns - client->handed_ns;
    client->since_ns = now_ns;
    if (client->has_batch)
        trainer_buffering_worked(&client->buffering, now_ns - client->handed_ns);
}

static void end_wait(struct weir_client *client, int64_t begun_ns)
{
    client->has_called = true;
    client->handed_ns = weir_now_ns();
    client->stats.wait_ns += client->handed_ns - begun_ns;
    client->since_ns = 0;
    if (client->first_ns == 0 && client->held > 0)
        client->first_ns = client->handed_ns;
}

/* Takes the tensors that only tell samples apart out of what the loop is shown. A batch without them goes back. */
static enum weir_status hide_tensors(struct weir_client *client, struct batch *batch,
                                     struct weir_error *err)
{
    const struct groups_wanted *tells = client_hides(client);

    if (tells == NULL || (tells->group[0] == '\0' && tells->slice_count == 0))
        return WEIR_OK;
    enum weir_status status = trainer_groups_take(&batch->groups, tells, &batch->shown, err);
    if (status == WEIR_OK)
        batch->shown = batch->groups.rest;
    else
        weir_batch_release(&batch->shown);
    return status;
}

/* The batch is the loop's: until it is consumed, nobody else looks at its digest. */
static void keep_digest(struct weir_client *client, struct batch *batch)
{
    int64_t begun_ns = weir_now_ns();

    batch->lent.digests =
        (struct weir_digest_sum){.count = 1, .digest = trainer_digest_of(&batch->shown)};
    weir_digest_text(&batch->lent.digests.digest, batch->digest);
    batch->shown.digest = batch->digest;
    trainer_digest_list_add(&client->digests, &batch->shown);
    client->stats.digest_ns += weir_now_ns() - begun_ns;
}

/* Waits for a change, or until it is time to ask for totals again. False when `end_ms` has passed. */
static bool wait_for_batch(struct weir_client *client, enum delivery_offer offer, int64_t end_ms)
{
    int64_t soon_ms = weir_now_ms() + DELIVERY_TOTALS_MS, begun_ns = weir_now_ns();

    if (trainer_delivery_lacks_totals(client->delivery) && soon_ms < end_ms) {
        (void)trainer_client_wait(client, soon_ms);
        return true;
    }
    bool is_changed = trainer_client_wait(client, end_ms);
    if (offer == DELIVERY_WAIT)
        trainer_buffering_waited(&client->buffering, weir_now_ns() - begun_ns);
    return is_changed;
}

enum weir_client_status weir_client_next(struct weir_client *client, int64_t timeout_ms,
                                         struct weir_batch **ret_batch,
                                         struct weir_client_error *ret_error)
{
    struct weir_error err;
    struct delivery_batch *lent = NULL;
    enum delivery_offer offer = DELIVERY_WAIT;
    int64_t begun_ns = weir_now_ns(), end_ms = trainer_options_end_ms(timeout_ms);
    pthread_mutex_lock(&client->mutex);
    begin_wait(client, begun_ns);
    enum weir_status status = look(client, &offer, &lent, &err);
    while (status == WEIR_OK && !is_answer(offer) && wait_for_batch(client, offer, end_ms))
        status = look(client, &offer, &lent, &err);
    if (status == WEIR_OK && !is_answer(offer))
        status =
            weir_fail(&err, WEIR_TIMEOUT, "no batch within %lld ms: %s", (long long)timeout_ms,
                      offer == DELIVERY_LAPSED ? "storage does not answer" : "none has arrived");
    client->held += offer == DELIVERY_BATCH;
    client->unconsumed += offer == DELIVERY_BATCH;
    client->has_batch = offer == DELIVERY_BATCH;
    end_wait(client, begun_ns);
    pthread_mutex_unlock(&client->mutex);
    if (status != WEIR_OK)
        return trainer_client_give(&err, ret_error);
    if (offer == DELIVERY_END)
        return WEIR_CLIENT_END;
    struct batch *batch = batch_of_lent(lent);
    batch->shown.global_samples = lent->total_samples;
    batch->shown.global_weight = lent->total_weight;
    batch->shown.global_longest = lent->total_longest;
    status = hide_tensors(client, batch, &err);
    if (status != WEIR_OK)
        return trainer_client_give(&err, ret_error);
    if (client->keeps_digests)
        keep_digest(client, batch);
    *ret_batch = &batch->shown;
    return WEIR_CLIENT_OK;
}

enum weir_client_status weir_client_consumed(struct weir_client *client, uint64_t number,
                                             struct weir_client_error *ret_error)
{
    struct weir_error err;

    pthread_mutex_lock(&client->mutex);
    bool was_handed = trainer_delivery_consume(client->delivery, number);
    client->has_called = true;
    client->unconsumed -= was_handed;
    bool is_end = trainer_delivery_is_complete(client->delivery);
    pthread_mutex_unlock(&client->mutex);
    if (is_end) /* the dispatcher is told at once; all else with the next beat */
        trainer_client_wake(client);
    if (was_handed)
        return WEIR_CLIENT_OK;
    weir_ignore(weir_fail(&err, WEIR_INVALID, /* given below, not returned */
                          "batch %llu: expected one that was handed out and is not consumed yet",
                          (unsigned long long)number));
    return trainer_client_give(&err, ret_error);
}

void weir_batch_release(struct weir_batch *shown)
{
    if (shown == NULL)
        return;
    struct batch *batch = (struct batch *)shown; /* `shown` is its first member */
    struct weir_client *client = batch->client;
    pthread_mutex_lock(&client->mutex);
    client->held--;
    client->stats.batches++;
    client->stats.samples += shown->samples;
    client->stats.bytes += batch->lent.bytes;
    trainer_delivery_release(client->delivery, &batch->lent);
    trainer_client_free_batch(batch);
    pthread_mutex_unlock(&client->mutex);
    trainer_client_wake(client); /* credit, an epoch to acknowledge, or the end */
}

enum weir_client_status weir_client_metric(struct weir_client *client, const char *name,
                                           double value, struct weir_client_error *ret_error)
{
    struct weir_error err;

    pthread_mutex_lock(&client->mutex);
    enum weir_status status = trainer_metrics_set(&client->metrics, name, value, &err);
    client->has_called = true;
    pthread_mutex_unlock(&client->mutex);
    return status == WEIR_OK ? WEIR_CLIENT_OK : trainer_client_give(&err, ret_error);
}

int weir_client_stopping(struct weir_client *client)
{
    pthread_mutex_lock(&client->mutex);
    bool stopping = client->stop_ordered;
    pthread_mutex_unlock(&client->mutex);
    return stopping;
}

int weir_client_restarting(struct weir_client *client)
{
    pthread_mutex_lock(&client->mutex);
    bool restarting = trainer_delivery_must_regroup(client->delivery);
    pthread_mutex_unlock(&client->mutex);
    return restarting;
}

void weir_client_stats(struct weir_client *client, struct weir_client_stats *ret_stats)
{
    pthread_mutex_lock(&client->mutex);
    *ret_stats = client->stats;
    ret_stats->waiting = trainer_delivery_waiting(client->delivery);
    ret_stats->common = trainer_delivery_common(client->delivery);
    const struct weir_digest_sum *digests =
        &trainer_delivery_position(client->delivery)->tally.digests;
    ret_stats->digests = digests->count;
    weir_digest_text(&digests->digest, ret_stats->digest);
    pthread_mutex_unlock(&client->mutex);
}

void weir_client_holes(struct weir_client *client, struct weir_client_holes *ret_holes)
{
    pthread_mutex_lock(&client->mutex);
    const struct weir_tally *tally = &trainer_delivery_position(client->delivery)->tally;
    *ret_holes = (struct weir_client_holes){.erased = tally->erased,
                                            .gone = tally->gone,
                                            .filtered = tally->filtered,
                                            .failed = tally->failed};
    pthread_mutex_unlock(&client->mutex);
}

/* ---- state and commit ---- */

enum weir_client_status weir_client_state(struct weir_client *client, const void **ret_state,
                                          size_t *ret_size, struct weir_client_error *ret_error)
{
    struct weir_error err;

    if (trainer_client_save_reported(client, &err) != WEIR_OK ||
        trainer_digest_list_flush(&client->digests, &err) != WEIR_OK)
        return trainer_client_give(&err, ret_error);
    pthread_mutex_lock(&client->mutex);
    weir_buf_clear(&client->state);
    weir_position_pack(trainer_delivery_position(client->delivery), &client->state);
    pthread_mutex_unlock(&client->mutex);
    *ret_state = client->state.at;
    *ret_size = client->state.size;
    return WEIR_CLIENT_OK;
}

/* Waits until the commit is answered. Under `mutex`. */
static enum weir_status wait_for_commit(struct weir_client *client, int64_t end_ms,
                                        struct weir_error *err)
{
    struct msg_client_commit message;
    while (trainer_delivery_commit_open(client->delivery, &message) != 0) {
        if (trainer_delivery_is_superseded(client->delivery) ||
            trainer_delivery_must_regroup(client->delivery))
            return fail_over(client, err);
        if (client->failed) {
            *err = client->failure;
            return err->status;
        }
        if (!trainer_client_wait(client, end_ms))
            return weir_fail(err, WEIR_TIMEOUT, "commit: the dispatcher does not answer");
    }
    if (client->commit_error.status != WEIR_OK) {
        *err = client->commit_error;
        return weir_error_wrap(err, err->status, "commit");
    }
    return WEIR_OK;
}

/* Without it, a power cut could give a file that was saved and renamed its former content back. A directory that is
 * gone is a run that is over, as the platform will say. */
static enum weir_status sync_names(const struct weir_client *client, struct weir_error *err)
{
    if (client->task == NULL)
        return WEIR_OK;
    WEIR_AUTO_FREE char *in_it = weir_format("%s/checkpoint", client->task->directory);
    enum weir_status status = weir_sync_parent(in_it, err);
    return status == WEIR_NOT_FOUND ? WEIR_OK : status;
}

enum weir_client_status weir_client_commit(struct weir_client *client, const void *state,
                                           size_t state_size, int final, int64_t timeout_ms,
                                           struct weir_client_error *ret_error)
{
    struct weir_error err;
    struct weir_position position = {0};
    int64_t end_ms = trainer_options_end_ms(timeout_ms);
    enum weir_status status = sync_names(client, &err);
    if (status == WEIR_OK)
        status = weir_position_unpack(weir_bytes(state, state_size), &position, &err);
    if (status != WEIR_OK)
        return trainer_client_give(&err, ret_error);
    pthread_mutex_lock(&client->mutex);
    client->commit_error.status = WEIR_OK;
    status = trainer_delivery_commit(client->delivery, &position, final != 0, &err);
    trainer_client_wake(client);
    if (status == WEIR_OK)
        status = wait_for_commit(client, end_ms, &err);
    pthread_mutex_unlock(&client->mutex);
    weir_position_fini(&position);
    return status == WEIR_OK ? WEIR_CLIENT_OK : trainer_client_give(&err, ret_error);
}

uint64_t weir_client_state_batches(const void *state, size_t state_size)
{
    struct weir_position position = {0};
    uint64_t batches = 0;
    if (weir_position_unpack(weir_bytes(state, state_size), &position, NULL) == WEIR_OK)
        batches = weir_position_batches(&position);
    weir_position_fini(&position);
    return batches;
}
