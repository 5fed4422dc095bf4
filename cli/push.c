/* Pushing: see push.h. A few batches are on their way at a time; the input is read while they are. */
#include "cli/push.h"

#include "cli/answer.h"
#include "cli/page.h"
#include "cli/platform.h"
#include "cli/push_input.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/rpc/rpc.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    WINDOW = 4,         /* batches on their way */
    ANSWER_MS = 120000, /* for one batch; storage may be starting */
    STEP_MS = 200,      /* a slow input is sent on after so much silence */
    TELL_MS = 500,      /* between two lines of progress */
    RETURN_MS = 60000,  /* a platform that stopped may come back */
    REFUSALS_SHOWN = 20,
    CLIENT_TEXT = 65,
};

struct push;

/* A batch that is not acknowledged yet. */
struct push_sent {
    struct push *push;
    uint64_t number;
    struct weir_frames payload;
    uint64_t first_record, header_records;
    uint8_t mark[CLI_PUSH_MARK_BYTES];
};

struct push {
    const char *dataset;
    char client[CLIENT_TEXT];
    int fd;
    struct cli_cut cut;
    struct cli_push_input *input;
    struct cli_platform *platform;
    struct weir_rpc_peer *storage;
    bool is_watching, has_read;

    struct push_sent *window[WINDOW]; /* in the order of their numbers */
    size_t in_flight;
    uint64_t number; /* of the newest batch */
    uint64_t resumed_bytes;

    uint64_t batches, bytes, samples, refused, left_out;
    json_t *refusals;
    int64_t started_ms, reported_ms;
    bool tells;

    enum weir_status status; /* of what cannot be mended */
    struct weir_error err;
};

static void fail(struct push *push, const struct weir_error *err)
{
    if (push->status != WEIR_OK)
        return;
    push->err = *err;
    if (err->status == WEIR_STALE) /* here it is no sign of a platform that left */
        push->err.status = WEIR_INVALID;
    push->status = push->err.status;
}

/* ---- answers ---- */

static void add_refusal(struct push *push, uint64_t record, const char *reason)
{
    if (json_array_size(push->refusals) < REFUSALS_SHOWN) {
        json_array_append_new(push->refusals,
                              json_pack("{sI,ss}", "record", (json_int_t)record, "reason", reason));
    }
}

static void count_answer(struct push *push, const struct push_sent *sent,
                         const struct msg_pushed *answer)
{
    push->samples += answer->samples;
    push->refused += answer->refused;
    push->left_out += answer->left_out;
    for (size_t i = 0; i < answer->records.count && i < answer->reasons.count; i++) {
        uint64_t before = sent->header_records + (cli_cut_counts_lines(&push->cut) ? 1 : 0);
        uint64_t record = answer->records.at[i];
        add_refusal(push, sent->first_record + (record > before ? record - before : 0),
                    answer->reasons.at[i]);
    }
}

static void free_sent(struct push_sent *sent)
{
    weir_frames_clear(&sent->payload);
    free(sent);
}

static void remove_sent(struct push *push, struct push_sent *sent)
{
    size_t i = 0;
    while (push->window[i] != sent)
        i++;
    push->in_flight--;
    memmove(&push->window[i], &push->window[i + 1], (push->in_flight - i) * sizeof(sent));
    free_sent(sent);
}

static void on_pushed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct push_sent *sent = owner;
    struct push *push = sent->push;
    if (reply == NULL) {
        fail(push, err);
        return;
    }
    count_answer(push, sent, reply->message);
    push->batches++;
    push->bytes += weir_frames_bytes(&sent->payload);
    remove_sent(push, sent);
}

/* ---- sending ---- */

static void send_batch(struct push *push, struct push_sent *sent)
{
    struct weir_frames frames = {.count = 0};
    const struct msg_push message = {.dataset = push->dataset,
                                     .client = push->client,
                                     .batch = sent->number,
                                     .mark = weir_bytes(sent->mark, sizeof(sent->mark))};
    weir_frames_share(&frames, &sent->payload);
    weir_rpc_call_framed(push->storage, &(struct weir_framed_call){.type = MSG_push,
                                                                   .message = &message,
                                                                   .frames = &frames,
                                                                   .deadline_ms = ANSWER_MS,
                                                                   .done = on_pushed,
                                                                   .owner = sent});
}

static void send_next(struct push *push, struct cli_push_batch *batch)
{
    struct push_sent *sent = weir_calloc(1, sizeof(*sent));
    sent->push = push;
    sent->number = ++push->number;
    sent->first_record = batch->first_record;
    sent->header_records = batch->header_records;
    cli_push_mark_pack(&batch->end, sent->mark);
    weir_frames_give(&sent->payload, batch->payload.at, batch->payload.size);
    push->window[push->in_flight++] = sent;
    send_batch(push, sent);
}

/* `flush`: nothing has come for a while, and nothing is on its way. */
static void send_what_is_there(struct push *push, bool flush)
{
    struct cli_push_batch batch;
    while (push->in_flight < WINDOW && cli_push_input_take(push->input, flush, &batch))
        send_next(push, &batch);
}

/* ---- reading ---- */

static void on_readable(void *owner)
{
    struct push *push = owner;
    struct weir_error err;
    push->has_read = true;
    if (cli_push_input_read(push->input, &err) != WEIR_OK)
        fail(push, &err);
}

static void watch_input(struct push *push, bool wanted)
{
    if (wanted == push->is_watching)
        return;
    push->is_watching = wanted;
    if (wanted)
        weir_loop_watch_fd(cli_platform_loop(push->platform), push->fd, POLLIN, on_readable, push);
    else
        weir_loop_unwatch_fd(cli_platform_loop(push->platform), push->fd);
}

/* ---- telling ---- */

static double seconds_since(int64_t start_ms)
{
    return (double)(weir_now_ms() - start_ms) / 1e3;
}

static void tell(struct push *push, const char *end)
{
    WEIR_AUTO_BUF line = {0};
    double seconds = seconds_since(push->started_ms);
    push->reported_ms = weir_now_ms();
    cli_put_count(&line, (int64_t)push->samples);
    weir_buf_append_text(&line, " samples, ");
    cli_put_bytes(&line, (double)push->bytes);
    weir_buf_append_text(&line, ", ");
    cli_put_bytes(&line, seconds > 0 ? (double)push->bytes / seconds : 0);
    weir_buf_append_text(&line, "/s");
    if (push->refused > 0)
        weir_buf_printf(&line, ", %" PRIu64 " refused", push->refused);
    (void)fprintf(stderr, "\r%s: %s\033[K%s", push->dataset, weir_buf_text(&line), end);
}

/* ---- one platform ---- */

static bool is_done(const struct push *push)
{
    return push->in_flight == 0 && cli_push_input_is_done(push->input);
}

/* Until everything is acknowledged, or the platform is gone. */
static enum weir_status pump(struct push *push, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && push->status == WEIR_OK && !is_done(push)) {
        push->has_read = false;
        watch_input(push, cli_push_input_wants(push->input));
        status = cli_platform_step(push->platform, STEP_MS, err);
        send_what_is_there(push, !push->has_read && push->in_flight == 0);
        if (push->tells && weir_now_ms() - push->reported_ms >= TELL_MS)
            tell(push, "");
    }
    watch_input(push, false);
    if (push->status != WEIR_OK) {
        *err = push->err;
        return push->status;
    }
    return status;
}

static enum weir_status connect_storage(struct push *push, struct weir_error *err)
{
    json_t *answer = NULL;
    json_t *arguments = json_pack("{ss}", "dataset", push->dataset);
    enum weir_status status = cli_platform_request(push->platform, "push", arguments, &answer, err);
    json_decref(arguments);
    if (status == WEIR_OK) {
        status =
            cli_platform_connect(push->platform, cli_text(answer, "endpoint"), &push->storage, err);
    }
    json_decref(answer);
    return status;
}

/* Takes over the position of this client, and the layout of batches. */
static enum weir_status take_stand(struct push *push, const struct msg_pushed *stand,
                                   struct weir_error *err)
{
    struct cli_push_mark mark;
    const struct cli_cut_format format = {.name = stand->format,
                                          .record_bytes = stand->record_bytes,
                                          .delimiter = stand->delimiter,
                                          .is_unquoted = stand->unquoted,
                                          .is_headless = stand->headless};
    enum weir_status status = cli_cut_init(&push->cut, &format, err);
    if (status != WEIR_OK)
        return status;
    push->input = cli_push_input_new(push->fd, &push->cut);
    if (stand->batch == 0)
        return WEIR_OK;
    if (!cli_push_mark_unpack(stand->mark, &mark)) {
        return weir_fail(err, WEIR_INVALID,
                         "client '%s' was pushed by another program than weir: give another "
                         "--client",
                         push->client);
    }
    push->number = stand->batch;
    push->resumed_bytes = mark.bytes;
    return cli_push_input_skip(push->input, &mark, err);
}

static void on_stand(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct push *push = owner;
    struct weir_error problem;
    if (reply == NULL)
        fail(push, err);
    else if (take_stand(push, reply->message, &problem) != WEIR_OK)
        fail(push, &problem);
}

static enum weir_status begin(struct push *push, struct weir_error *err)
{
    const struct msg_push message = {.dataset = push->dataset, .client = push->client};
    enum weir_status status = WEIR_OK;
    weir_rpc_call(push->storage, MSG_push, &message, ANSWER_MS, on_stand, push);
    while (status == WEIR_OK && push->status == WEIR_OK && push->input == NULL)
        status = cli_platform_step(push->platform, STEP_MS, err);
    return status;
}

static void disconnect(struct push *push)
{
    weir_rpc_peer_close(push->storage);
    cli_platform_close(push->platform);
    push->storage = NULL;
    push->platform = NULL;
}

/* Everything that may be begun again on the platform that comes next. */
static enum weir_status push_to_platform(struct push *push, const struct cli_place *place,
                                         struct weir_error *err)
{
    enum weir_status status = cli_platform_open(place, &push->platform, err);
    if (status == WEIR_OK)
        status = connect_storage(push, err);
    if (status == WEIR_OK && push->input == NULL)
        status = begin(push, err);
    for (size_t i = 0; status == WEIR_OK && i < push->in_flight; i++)
        send_batch(push, push->window[i]);
    if (status == WEIR_OK)
        status = pump(push, err);
    disconnect(push);
    return status;
}

/* ---- all of it ---- */

static enum weir_status open_input(const struct cli_call *call, int *ret_fd, struct weir_error *err)
{
    *ret_fd = STDIN_FILENO;
    if (call->operand_count < 2 || strcmp(call->operands[1], "-") == 0)
        return WEIR_OK;
    *ret_fd = open(call->operands[1], O_RDONLY | O_CLOEXEC);
    return *ret_fd >= 0
               ? WEIR_OK
               : weir_fail(err, WEIR_INVALID, "%s: %s", call->operands[1], strerror(errno));
}

static enum weir_status name_client(const struct cli_call *call, struct push *push,
                                    struct weir_error *err)
{
    const char *name = call->options.client;
    if (name != NULL && strlen(name) >= sizeof(push->client)) {
        return weir_fail(err, WEIR_INVALID,
                         "--client: expected at most %d characters, found '%.80s'", CLIENT_TEXT - 1,
                         name);
    }
    if (name != NULL)
        (void)snprintf(push->client, sizeof(push->client), "%s", name);
    else
        (void)snprintf(push->client, sizeof(push->client), "weir-%016" PRIx64, weir_random_u64());
    return WEIR_OK;
}

/* A platform that stopped may be started again: its successor is pushed to, with the same numbers. */
static enum weir_status push_all(struct push *push, const struct cli_place *place,
                                 struct weir_error *err)
{
    enum weir_status status = push_to_platform(push, place, err);
    while (status == WEIR_STALE) {
        if (push->tells)
            tell(push, "; waiting for the platform\n");
        status = cli_platform_await(place, RETURN_MS, err);
        if (status == WEIR_OK)
            status = push_to_platform(push, place, err);
    }
    return status;
}

static void count_too_long(struct push *push)
{
    uint64_t first;
    uint64_t count = push->input == NULL ? 0 : cli_push_input_left_out(push->input, &first);
    if (count == 0)
        return;
    push->refused += count;
    add_refusal(push, first, "found a record beyond 16 MiB, expected less");
}

static json_t *answer_of(const struct push *push)
{
    return json_pack("{ss,ss,sI,sI,sI,sI,sI,sI,sf,sO}", "dataset", push->dataset, "client",
                     push->client, "samples", (json_int_t)push->samples, "refused",
                     (json_int_t)push->refused, "left_out", (json_int_t)push->left_out, "batches",
                     (json_int_t)push->batches, "bytes", (json_int_t)push->bytes, "resumed_bytes",
                     (json_int_t)push->resumed_bytes, "seconds", seconds_since(push->started_ms),
                     "refusals", push->refusals);
}

/* Says that acknowledged samples stay, and how to go on with the rest. */
static enum weir_status explain(const struct push *push, enum weir_status status,
                                struct weir_error *err)
{
    if (push->batches == 0)
        return status;
    return weir_error_wrap(
        err, status, "after %" PRIu64 " samples (the rest: the same command with --client %s)",
        push->samples, push->client);
}

static void fini(struct push *push)
{
    for (size_t i = 0; i < push->in_flight; i++)
        free_sent(push->window[i]);
    cli_push_input_free(push->input);
    json_decref(push->refusals);
    if (push->fd != STDIN_FILENO && push->fd >= 0)
        (void)close(push->fd);
}

enum weir_status cli_answer_push(const struct cli_call *call, json_t **ret_answer,
                                 struct weir_error *err)
{
    struct push push = {.dataset = call->operands[0],
                        .fd = STDIN_FILENO,
                        .refusals = json_array(),
                        .started_ms = weir_now_ms(),
                        .tells = isatty(STDERR_FILENO) && !call->options.json};
    enum weir_status status = name_client(call, &push, err);
    if (status == WEIR_OK)
        status = open_input(call, &push.fd, err);
    if (status == WEIR_OK)
        status = push_all(&push, &call->options.place, err);
    if (push.tells)
        tell(&push, "\n");
    count_too_long(&push);
    if (status == WEIR_OK)
        *ret_answer = answer_of(&push);
    else
        status = explain(&push, status, err);
    fini(&push);
    return status;
}

int cli_exit_of_push(const json_t *answer)
{
    return cli_number(answer, "refused") > 0 ? CLI_EXIT_FAILED : CLI_EXIT_DONE;
}
