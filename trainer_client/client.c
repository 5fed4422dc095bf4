/* The calls of client.h: what the loop's threads do with an open run. Everything here is a short
 * look at the delivery machine under the mutex; waiting is a condition that the I/O thread signals.
 * */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "trainer_client/client_state.h"

#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define SAME(name)                                             \
    static_assert((int)WEIR_CLIENT_##name == (int)WEIR_##name, \
                  "statuses of client.h are Weir's own")
SAME(OK);
SAME(INVALID);
SAME(NOT_FOUND);
SAME(LIMIT);
SAME(TIMEOUT);
SAME(UNAVAILABLE);
SAME(STALE);
SAME(DENIED);
SAME(UNSUPPORTED);
SAME(INTERNAL);
SAME(RESTART);
static_assert(sizeof(((struct weir_client_error *)0)->text) >= WEIR_ERROR_TEXT_MAX,
              "an error's text fits");

enum { OPEN_TIMEOUT_MS = 60000 };

static enum weir_status fail_over(const struct weir_client *client, struct weir_error *err)
{
    unsigned long long run = client->run;
    if (trainer_delivery_is_superseded(client->delivery))
        return weir_fail(err, WEIR_STALE, "run %llu: a later session has taken over: stop", run);
    return weir_fail(err, WEIR_RESTART,
                     "run %llu: a rank has returned: close, load the newest state and open again",
                     run);
}

static enum weir_client_status give_error(const struct weir_error *err,
                                          struct weir_client_error *ret_error)
{
    if (ret_error != NULL) {
        ret_error->status = (enum weir_client_status)err->status;
        ret_error->batches = 0;
        memcpy(ret_error->text, err->text, sizeof(err->text));
    }
    return (enum weir_client_status)err->status;
}

static void wake(struct weir_client *client)
{
    uint64_t one = 1;
    ssize_t written = write(client->wake_fd, &one, sizeof(one)); /* full means: awake already */
    (void)written;
}

/* ---- opening and closing ---- */

static const char *or_environment(const char *given, const char *variable)
{
    const char *value = given != NULL ? given : getenv(variable);
    return value != NULL && value[0] != '\0' ? value : NULL;
}

/* The variable `name` as a number of at least `least`; `otherwise` when it is not set. */
static enum weir_status read_number(const char *name, uint64_t least, uint64_t otherwise,
                                    uint64_t *ret_number, struct weir_error *err)
{
    const char *text = getenv(name);
    char *end = NULL;
    *ret_number = otherwise;
    if (text == NULL)
        return WEIR_OK;
    errno = 0;
    unsigned long long number = strtoull(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || text[0] == '-' || number < least)
        return weir_fail(err, WEIR_INVALID, "%s is '%s', expected a number of at least %llu", name,
                         text, (unsigned long long)least);
    *ret_number = number;
    return WEIR_OK;
}

static enum weir_status find_run(const struct weir_client_options *options, uint64_t *ret_run,
                                 struct weir_error *err)
{
    *ret_run = options->run;
    if (options->run != 0)
        return WEIR_OK;
    enum weir_status status = read_number("WEIR_RUN", 1, 0, ret_run, err);
    if (status == WEIR_OK && *ret_run == 0)
        return weir_fail(err, WEIR_INVALID,
                         "no run: expected weir_client_options.run or the variable WEIR_RUN");
    return status;
}

static enum weir_status find_rank(const struct weir_client_options *options,
                                  struct weir_client *client, struct weir_error *err)
{
    uint64_t rank = options->rank, ranks = options->ranks;
    enum weir_status status = WEIR_OK;
    if (options->ranks == 0) {
        status = read_number("WEIR_RANKS", 1, 1, &ranks, err);
        if (status == WEIR_OK)
            status = read_number("WEIR_RANK", 0, 0, &rank, err);
    }
    if (status == WEIR_OK && (ranks > WEIR_RANKS_MAX || rank >= ranks))
        status =
            weir_fail(err, WEIR_INVALID, "rank %llu of %llu: expected 0 … ranks - 1 of at most %d",
                      (unsigned long long)rank, (unsigned long long)ranks, WEIR_RANKS_MAX);
    client->rank = (uint32_t)rank;
    client->ranks = (uint32_t)ranks;
    return status;
}

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
    client->delivery = trainer_delivery_new(client->run, client->session, options->prefetch_bytes,
                                            options->state_size > 0 ? &start : NULL);
    trainer_delivery_take_part(client->delivery, client->rank, client->ranks);
    weir_position_fini(&start);
    return WEIR_OK;
}

/* `given`, or NAME.sock in the socket directory, or NULL. */
static char *find_endpoint(const char *given, const char *socket_dir, const char *name)
{
    if (given != NULL)
        return weir_strdup(given);
    return socket_dir != NULL ? weir_format("ipc://%s/%s.sock", socket_dir, name) : NULL;
}

static enum weir_status configure(struct weir_client *client,
                                  const struct weir_client_options *options, struct weir_error *err)
{
    if (options->version != WEIR_CLIENT_VERSION)
        return weir_fail(err, WEIR_UNSUPPORTED, "interface version %u, this library has %d",
                         options->version, WEIR_CLIENT_VERSION);
    enum weir_status status = find_run(options, &client->run, err);
    if (status == WEIR_OK)
        status = find_rank(options, client, err);
    if (status == WEIR_OK)
        status = make_delivery(client, options, err);
    if (status != WEIR_OK)
        return status;
    const char *dir = or_environment(options->socket_dir, "WEIR_SOCKET_DIR");
    client->dispatcher_endpoint = find_endpoint(options->dispatcher, dir, "dispatcher");
    client->storage_endpoint = find_endpoint(options->storage, dir, "storage");
    client->orchestrator_endpoint = find_endpoint(options->orchestrator, dir, "orchestrator");
    if (client->dispatcher_endpoint == NULL || client->storage_endpoint == NULL)
        return weir_fail(err, WEIR_INVALID,
                         "no platform: expected weir_client_options.socket_dir or the variable "
                         "WEIR_SOCKET_DIR");
    client->holder =
        client->ranks == 1
            ? weir_format("trainer-%llu", (unsigned long long)client->run)
            : weir_format("trainer-%llu.%u", (unsigned long long)client->run, client->rank);
    client->open_timeout_ms =
        options->open_timeout_ms != 0 ? (int64_t)options->open_timeout_ms : OPEN_TIMEOUT_MS;
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

/* Starts the I/O thread with every signal blocked: signals are for the loop's own threads. */
static enum weir_status start_thread(struct weir_client *client, struct weir_error *err)
{
    client->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (client->wake_fd < 0)
        return weir_fail(err, WEIR_LIMIT, "eventfd: %s", strerror(errno));
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int failed = pthread_create(&client->thread, NULL, trainer_client_io_run, client);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
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

enum weir_client_status weir_client_open(const struct weir_client_options *options,
                                         struct weir_client **ret_client,
                                         struct weir_client_error *ret_error)
{
    struct weir_error err;
    struct weir_client *client = weir_calloc(1, sizeof(*client));
    client->wake_fd = -1;
    make_monitor(client);
    enum weir_status status = configure(client, options, &err);
    if (status == WEIR_OK)
        status = start_thread(client, &err);
    if (status == WEIR_OK)
        status = wait_until_open(client, &err);
    if (status != WEIR_OK) {
        uint64_t wanted = client->delivery != NULL ? trainer_delivery_wanted(client->delivery) : 0;
        weir_client_close(client);
        enum weir_client_status failed = give_error(&err, ret_error);
        if (ret_error != NULL && status == WEIR_RESTART)
            ret_error->batches = wanted;
        return failed;
    }
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
    wake(client);
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
    weir_buf_fini(&client->fitted);
    weir_buf_fini(&client->state);
    free(client->dispatcher_endpoint);
    free(client->storage_endpoint);
    free(client->orchestrator_endpoint);
    free(client->holder);
    free(client);
}

void weir_client_info(const struct weir_client *client, struct weir_client_info *ret_info)
{
    *ret_info = client->info; /* does not change once it is open */
}

/* ---- the loop ---- */

/* Waits for a change, at most until `end_ms` (INT64_MAX: no end). False when that has passed. */
static bool wait_for_change(struct weir_client *client, int64_t end_ms)
{
    if (end_ms == INT64_MAX) {
        pthread_cond_wait(&client->changed, &client->mutex);
        return true;
    }
    struct timespec until = {.tv_sec = end_ms / 1000, .tv_nsec = end_ms % 1000 * 1000000};
    return pthread_cond_timedwait(&client->changed, &client->mutex, &until) != ETIMEDOUT;
}

static int64_t end_of(int64_t timeout_ms)
{
    int64_t now_ms = weir_now_ms();
    return timeout_ms < 0 || timeout_ms > INT64_MAX - now_ms ? INT64_MAX : now_ms + timeout_ms;
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
        wake(client); /* what waits here is to be listed before the loop may have it */
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
}

static void end_wait(struct weir_client *client, int64_t begun_ns)
{
    client->handed_ns = weir_now_ns();
    client->stats.wait_ns += client->handed_ns - begun_ns;
}

enum weir_client_status weir_client_next(struct weir_client *client, int64_t timeout_ms,
                                         struct weir_batch **ret_batch,
                                         struct weir_client_error *ret_error)
{
    struct weir_error err;
    struct delivery_batch *lent = NULL;
    enum delivery_offer offer = DELIVERY_WAIT;
    int64_t begun_ns = weir_now_ns(), end_ms = end_of(timeout_ms);
    pthread_mutex_lock(&client->mutex);
    begin_wait(client, begun_ns);
    enum weir_status status = look(client, &offer, &lent, &err);
    while (status == WEIR_OK && !is_answer(offer) && wait_for_change(client, end_ms))
        status = look(client, &offer, &lent, &err);
    if (status == WEIR_OK && !is_answer(offer))
        status =
            weir_fail(&err, WEIR_TIMEOUT, "no batch within %lld ms: %s", (long long)timeout_ms,
                      offer == DELIVERY_LAPSED ? "storage does not answer" : "none has arrived");
    client->held += offer == DELIVERY_BATCH;
    client->unconsumed += offer == DELIVERY_BATCH;
    end_wait(client, begun_ns);
    pthread_mutex_unlock(&client->mutex);
    if (status != WEIR_OK)
        return give_error(&err, ret_error);
    if (offer == DELIVERY_END)
        return WEIR_CLIENT_END;
    *ret_batch = &batch_of_lent(lent)->shown;
    return WEIR_CLIENT_OK;
}

enum weir_client_status weir_client_consumed(struct weir_client *client, uint64_t number,
                                             struct weir_client_error *ret_error)
{
    struct weir_error err;

    pthread_mutex_lock(&client->mutex);
    bool was_handed = trainer_delivery_consume(client->delivery, number);
    client->unconsumed -= was_handed;
    pthread_mutex_unlock(&client->mutex);
    wake(client); /* the end may be near */
    if (was_handed)
        return WEIR_CLIENT_OK;
    weir_ignore(weir_fail(&err, WEIR_INVALID, /* given below, not returned */
                          "batch %llu: expected one that was handed out and is not consumed yet",
                          (unsigned long long)number));
    return give_error(&err, ret_error);
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
    wake(client); /* credit, an epoch to acknowledge, or the end */
}

void weir_client_report(struct weir_client *client, uint64_t samples_done, uint64_t samples_total,
                        double loss)
{
    pthread_mutex_lock(&client->mutex);
    client->samples_done = samples_done;
    client->samples_total = samples_total;
    client->loss = loss;
    pthread_mutex_unlock(&client->mutex);
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

void weir_client_state(struct weir_client *client, const void **ret_state, size_t *ret_size)
{
    pthread_mutex_lock(&client->mutex);
    weir_buf_clear(&client->state);
    weir_position_pack(trainer_delivery_position(client->delivery), &client->state);
    pthread_mutex_unlock(&client->mutex);
    *ret_state = client->state.at;
    *ret_size = client->state.size;
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
        if (!wait_for_change(client, end_ms))
            return weir_fail(err, WEIR_TIMEOUT, "commit: the dispatcher does not answer");
    }
    if (client->commit_error.status != WEIR_OK) {
        *err = client->commit_error;
        return weir_error_wrap(err, err->status, "commit");
    }
    return WEIR_OK;
}

enum weir_client_status weir_client_commit(struct weir_client *client, const void *state,
                                           size_t state_size, int final, int64_t timeout_ms,
                                           struct weir_client_error *ret_error)
{
    struct weir_error err;
    struct weir_position position = {0};
    int64_t end_ms = end_of(timeout_ms);
    enum weir_status status = weir_position_unpack(weir_bytes(state, state_size), &position, &err);
    if (status != WEIR_OK)
        return give_error(&err, ret_error);
    pthread_mutex_lock(&client->mutex);
    client->commit_error.status = WEIR_OK;
    status = trainer_delivery_commit(client->delivery, &position, final != 0, &err);
    wake(client);
    if (status == WEIR_OK)
        status = wait_for_commit(client, end_ms, &err);
    pthread_mutex_unlock(&client->mutex);
    weir_position_fini(&position);
    return status == WEIR_OK ? WEIR_CLIENT_OK : give_error(&err, ret_error);
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
