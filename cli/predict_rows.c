/* Predicting rows: see predict_rows.h. The loan of a piece is renewed while its run lasts, and ends with it; storage
 * ends it by itself when this process is gone. */
#include "cli/predict_rows.h"

#include "cli/answer.h"
#include "cli/platform.h"
#include "cli/predict_columns.h"
#include "cli/push_input.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/rpc/rpc.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LEND_MS = 120000, /* storage may be starting */
    RETURN_MS = 5000,
    RENEW_MS = 10000,
    STEP_MS = 200,             /* a slow input is sent on after so much silence */
    FILES_BYTES = 16 << 20,    /* of files that are a row each, in one piece */
    FILE_BYTES_MAX = 16 << 20, /* as storage has it */
};

struct predicting {
    const struct cli_call *call;
    struct cli_platform *platform;
    struct weir_rpc_peer *storage;
    json_t *opened; /* pipeline, dataset, model, classes */
    bool whole_files, is_json;
    struct cli_cut cut;
    bool is_compared; /* the columns of the input, with those that are read */

    uint64_t loan; /* of the piece; 0: the format is asked for */
    uint64_t first;
    bool is_answered;
    enum weir_status status; /* of that answer */
    struct weir_error err;

    /* The piece, and where it stands in the input. */
    const char *path;   /* of its file; NULL: it has none */
    const char *name;   /* the same where there are several; else NULL */
    char *const *paths; /* of its rows, where each is a file; else NULL */
    uint64_t first_record, skipped;
    struct weir_arena *texts;
    const uint64_t *records, *refused;
    const char *const *keys, *const *reasons;
    size_t count, key_count, refused_count, reason_count;
    size_t refused_printed;

    int64_t rows, without;
};

/* ---- storage ---- */

static void *copy(struct predicting *all, const void *at, size_t bytes)
{
    return bytes == 0 ? NULL : weir_arena_copy(all->texts, at, bytes);
}

static const char *const *copy_texts(struct predicting *all, const struct weir_strs *texts)
{
    const char **copies = weir_arena_alloc(all->texts, (texts->count + 1) * sizeof(*copies));
    for (size_t i = 0; i < texts->count; i++)
        copies[i] = weir_arena_strndup(all->texts, texts->at[i], strlen(texts->at[i]));
    return copies;
}

static void take_rows(struct predicting *all, const struct msg_rows_lent *lent)
{
    all->first = lent->first;
    all->count = lent->records.count;
    all->key_count = lent->keys.count;
    all->refused_count = lent->refused.count;
    all->reason_count = lent->reasons.count;
    all->records = copy(all, lent->records.at, lent->records.count * sizeof(*all->records));
    all->refused = copy(all, lent->refused.at, lent->refused.count * sizeof(*all->refused));
    all->keys = copy_texts(all, &lent->keys);
    all->reasons = copy_texts(all, &lent->reasons);
}

static enum weir_status take_format(struct predicting *all, const struct msg_rows_lent *lent)
{
    const struct cli_cut_format format = {.name = lent->format,
                                          .record_bytes = lent->record_bytes,
                                          .delimiter = lent->delimiter,
                                          .is_unquoted = lent->unquoted,
                                          .is_headless = lent->headless};
    all->whole_files = lent->whole_files;
    all->is_json = strcmp(lent->format, "jsonl") == 0;
    return all->whole_files ? WEIR_OK : cli_cut_init(&all->cut, &format, &all->err);
}

static void on_lent(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct predicting *all = owner;
    all->is_answered = true;
    if (reply == NULL) {
        all->err = *err;
        all->status = err->status;
    } else if (all->loan == 0) {
        all->status = take_format(all, reply->message);
    } else {
        take_rows(all, reply->message);
    }
}

static enum weir_status await(struct predicting *all, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && !all->is_answered)
        status = cli_platform_step(all->platform, STEP_MS, err);
    if (status == WEIR_OK && all->status != WEIR_OK)
        *err = all->err;
    return status == WEIR_OK ? all->status : status;
}

static struct msg_rows_lend lending(const struct predicting *all)
{
    return (struct msg_rows_lend){.dataset = cli_text(all->opened, "dataset"), .loan = all->loan};
}

/* Consumes the frames; none: asks for the format. */
static enum weir_status lend(struct predicting *all, struct weir_frames *frames,
                             struct weir_error *err)
{
    const struct msg_rows_lend message = lending(all);
    all->is_answered = false;
    all->status = WEIR_OK;
    weir_rpc_call_framed(all->storage, &(struct weir_framed_call){.type = MSG_rows_lend,
                                                                  .message = &message,
                                                                  .frames = frames,
                                                                  .deadline_ms = LEND_MS,
                                                                  .done = on_lent,
                                                                  .owner = all});
    return await(all, err);
}

static void on_renewed(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    (void)owner, (void)reply, (void)err; /* what is no longer lent, the run tells */
}

static void renew(void *owner)
{
    struct predicting *all = owner;
    const struct msg_rows_lend message = lending(all);
    weir_rpc_call(all->storage, MSG_rows_lend, &message, RENEW_MS, on_renewed, all);
}

static void on_returned(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct predicting *all = owner;
    (void)reply, (void)err; /* storage ends the loan by itself, too */
    all->is_answered = true;
}

static void give_back(struct predicting *all)
{
    struct weir_error err;
    all->is_answered = false;
    all->status = WEIR_OK;
    weir_rpc_call(all->storage, MSG_rows_return, &(struct msg_rows_return){.loan = all->loan},
                  RETURN_MS, on_returned, all);
    weir_ignore(await(all, &err));
}

/* ---- lines ---- */

/* Number of a record of the piece in the input. */
static uint64_t place_of(const struct predicting *all, uint64_t record)
{
    return all->first_record + (record > all->skipped ? record - all->skipped : 0);
}

static void put_line(struct predicting *all, json_t *id, json_t *values, const char *reason)
{
    json_t *line = json_object();
    all->rows++;
    if (all->name != NULL)
        json_object_set_new(line, "file", json_string(all->name));
    json_object_set_new(line, "id", id);
    const char *class = cli_class_of(json_object_get(all->opened, "classes"), values);
    if (*class != '\0')
        json_object_set_new(line, "class", json_string(class));
    json_object_set_new(line, "values", values == NULL ? json_null() : values);
    if (values == NULL) {
        all->without++;
        json_object_set_new(line, "reason", json_string(reason));
    }
    char *text = json_dumps(line, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(9));
    printf("%s\n", text == NULL ? "{}" : text);
    free(text);
    json_decref(line);
}

static void put_refused(struct predicting *all, uint64_t before)
{
    for (; all->refused_printed < all->refused_count; all->refused_printed++) {
        uint64_t record = all->refused[all->refused_printed];
        if (record >= before)
            return;
        bool has_reason = all->refused_printed < all->reason_count;
        put_line(all, json_integer((json_int_t)place_of(all, record)), NULL,
                 has_reason ? all->reasons[all->refused_printed] : "malformed");
    }
}

static json_t *id_of(const struct predicting *all, size_t row)
{
    if (all->paths != NULL)
        return json_string(all->paths[row]);
    if (row < all->key_count && all->keys[row][0] != '\0')
        return json_string(all->keys[row]);
    return json_integer((json_int_t)place_of(all, all->records[row]));
}

static json_t *values_of(const json_t *values, size_t at, size_t width)
{
    json_t *found = json_array();
    for (size_t i = 0; i < width; i++)
        json_array_append(found, json_array_get(values, at * width + i));
    return found;
}

/* Lines of the rows that the answer covers, from `from` on; returns how many these are. */
static size_t put_answer(struct predicting *all, size_t from, const json_t *answer)
{
    const json_t *rows = json_object_get(answer, "rows");
    const json_t *values = json_object_get(answer, "values");
    size_t answered = (size_t)cli_number(answer, "answered");
    size_t width = (size_t)cli_number(answer, "width"), next = 0;
    for (size_t i = 0; i < answered && from + i < all->count; i++) {
        bool is_predicted =
            next < json_array_size(rows) && cli_number_of(json_array_get(rows, next)) == (int64_t)i;
        put_refused(all, all->records[from + i]);
        put_line(all, id_of(all, from + i), is_predicted ? values_of(values, next, width) : NULL,
                 "an operator left it out or could not read it");
        next += is_predicted;
    }
    return answered;
}

/* ---- a piece ---- */

static enum weir_status request_predictions(struct predicting *all, size_t from,
                                            size_t *ret_answered, struct weir_error *err)
{
    json_t *answer = NULL;
    json_t *arguments =
        json_pack("{ss,ss,sI,sI}", "pipeline", cli_text(all->opened, "pipeline"), "model",
                  cli_text(all->opened, "model"), "first", (json_int_t)(all->first + from), "count",
                  (json_int_t)(all->count - from));
    enum weir_status status =
        cli_platform_request(all->platform, "predict_rows", arguments, &answer, err);
    json_decref(arguments);
    if (status == WEIR_OK)
        *ret_answered = put_answer(all, from, answer);
    if (status == WEIR_OK && *ret_answered == 0)
        status = weir_fail(err, WEIR_INTERNAL, "predict_rows: an answer about no row");
    json_decref(answer);
    return status;
}

/* Consumes the frames. */
static enum weir_status predict(struct predicting *all, struct weir_frames *frames,
                                struct weir_error *err)
{
    struct weir_loop *loop = cli_platform_loop(all->platform);
    all->loan = weir_random_u64() | 1;
    all->refused_printed = 0;
    weir_arena_clear(all->texts);
    enum weir_status status = lend(all, frames, err);
    uint64_t timer = weir_loop_timer(loop, RENEW_MS, RENEW_MS, renew, all);
    for (size_t from = 0, answered = 0; status == WEIR_OK && from < all->count; from += answered)
        status = request_predictions(all, from, &answered, err);
    weir_loop_cancel(loop, timer);
    give_back(all);
    if (status != WEIR_OK)
        return status;
    put_refused(all, UINT64_MAX);
    return fflush(stdout) == 0 ? WEIR_OK : weir_fail(err, WEIR_IO, "stdout: %s", strerror(errno));
}

/* ---- input ---- */

/* Looks at the columns of an input once. */
static enum weir_status compare_columns(struct predicting *all, struct weir_bytes bytes,
                                        struct weir_error *err)
{
    const struct cli_predict_rows rows = {
        .place = all->path, .cut = &all->cut, .is_json = all->is_json, .bytes = bytes};
    if (all->is_compared)
        return WEIR_OK;
    all->is_compared = true;
    return cli_predict_columns_check(&rows, all->opened, err);
}

static enum weir_status predict_batch(struct predicting *all, struct cli_push_batch *batch,
                                      struct weir_error *err)
{
    struct weir_frames frames = {.count = 0};
    enum weir_status status = compare_columns(all, weir_buf_view(&batch->payload), err);
    if (status != WEIR_OK) {
        weir_buf_fini(&batch->payload);
        return status;
    }
    all->first_record = batch->first_record;
    all->skipped = batch->header_records + (cli_cut_counts_lines(&all->cut) ? 1 : 0);
    weir_frames_give(&frames, batch->payload.at, batch->payload.size);
    return predict(all, &frames, err);
}

/* Reads once if there is something; false in `ret_read` after STEP_MS of silence. */
static enum weir_status read_some(struct predicting *all, struct cli_push_input *input, int fd,
                                  bool *ret_read, struct weir_error *err)
{
    struct pollfd ready = {.fd = fd, .events = POLLIN};
    *ret_read = poll(&ready, 1, STEP_MS) > 0;
    enum weir_status status = *ret_read ? cli_push_input_read(input, err) : WEIR_OK;
    return status == WEIR_OK ? cli_platform_step(all->platform, 0, err) : status;
}

static enum weir_status predict_input(struct predicting *all, int fd, struct weir_error *err)
{
    WEIR_AUTO(cli_push_input) input = cli_push_input_new(fd, &all->cut);
    struct cli_push_batch batch;
    enum weir_status status = WEIR_OK;
    uint64_t record;
    all->is_compared = false;
    while (status == WEIR_OK && !cli_push_input_is_done(input)) {
        bool has_read = true;
        if (cli_push_input_wants(input))
            status = read_some(all, input, fd, &has_read, err);
        if (status == WEIR_OK && cli_push_input_take(input, !has_read, &batch))
            status = predict_batch(all, &batch, err);
    }
    if (status == WEIR_OK && cli_push_input_left_out(input, &record) > 0)
        status = weir_fail(err, WEIR_LIMIT,
                           "record %llu: found more than 16 MiB, expected less; it has no line",
                           (unsigned long long)record);
    return status;
}

static enum weir_status predict_file(struct predicting *all, const char *path,
                                     struct weir_error *err)
{
    all->name = all->call->operand_count > 1 ? path : NULL;
    all->path = strcmp(path, "-") == 0 ? NULL : path;
    if (all->path == NULL)
        return predict_input(all, STDIN_FILENO, err);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return weir_fail(err, WEIR_INVALID, "%s: %s", path, strerror(errno));
    enum weir_status status = predict_input(all, fd, err);
    (void)close(fd);
    return status;
}

/* Adds as many files as a piece holds, each a frame; one at least. */
static enum weir_status gather_files(char *const *paths, size_t count, struct weir_frames *frames,
                                     struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    while (status == WEIR_OK && frames->count < count && frames->count < WEIR_WIRE_FRAMES_MAX - 1 &&
           weir_frames_bytes(frames) < FILES_BYTES) {
        struct weir_buf bytes = {0};
        weir_buf_reserve(&bytes, 1);
        status = weir_file_read(paths[frames->count], FILE_BYTES_MAX, &bytes, err);
        if (status == WEIR_OK)
            weir_frames_give(frames, bytes.at, bytes.size);
        else
            weir_buf_fini(&bytes);
    }
    return status;
}

static enum weir_status predict_files(struct predicting *all, struct weir_error *err)
{
    size_t count = all->call->operand_count;
    enum weir_status status = WEIR_OK;
    if (count == 0)
        return weir_fail(err, WEIR_INVALID, "dataset '%s': a file is a sample: name the files",
                         cli_text(all->opened, "dataset"));
    for (size_t at = 0, taken = 0; status == WEIR_OK && at < count; at += taken) {
        struct weir_frames frames = {.count = 0};
        all->paths = all->call->operands + at;
        status = gather_files(all->paths, count - at, &frames, err);
        taken = frames.count;
        if (status == WEIR_OK)
            status = predict(all, &frames, err);
        weir_frames_clear(&frames);
    }
    return status;
}

static enum weir_status predict_all(struct predicting *all, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    if (all->whole_files)
        return predict_files(all, err);
    if (all->call->operand_count == 0)
        return predict_input(all, STDIN_FILENO, err);
    for (size_t i = 0; status == WEIR_OK && i < all->call->operand_count; i++)
        status = predict_file(all, all->call->operands[i], err);
    return status;
}

/* ---- all of it ---- */

static enum weir_status open_all(struct predicting *all, struct weir_error *err)
{
    const struct cli_options *options = &all->call->options;
    struct weir_frames none = {.count = 0};
    enum weir_status status = cli_platform_open(&options->place, &all->platform, err);
    json_t *arguments = json_pack("{ss*,ss*,ss*}", "pipeline", options->pipeline, "model",
                                  options->model, "dataset", options->dataset);
    if (status == WEIR_OK)
        status = cli_platform_request(all->platform, "predict_open", arguments, &all->opened, err);
    json_decref(arguments);
    if (status == WEIR_OK)
        status = cli_platform_connect(all->platform, cli_text(all->opened, "endpoint"),
                                      &all->storage, err);
    return status == WEIR_OK ? lend(all, &none, err) : status;
}

bool cli_predicts_rows(const struct cli_call *call)
{
    const struct cli_options *options = &call->options;
    struct stat about;
    if (call->operand_count > 0)
        return true;
    return options->from == NULL && options->to == NULL && options->limit == NULL &&
           fstat(STDIN_FILENO, &about) == 0 && (S_ISREG(about.st_mode) || S_ISFIFO(about.st_mode));
}

enum weir_status cli_answer_predict_rows(const struct cli_call *call, json_t **ret_answer,
                                         struct weir_error *err)
{
    struct predicting all = {.call = call, .texts = weir_arena_new()};
    enum weir_status status = open_all(&all, err);
    if (status == WEIR_OK)
        status = predict_all(&all, err);
    if (status == WEIR_OK)
        *ret_answer =
            json_pack("{sI,sI}", "rows", (json_int_t)all.rows, "without", (json_int_t)all.without);
    weir_rpc_peer_close(all.storage);
    cli_platform_close(all.platform);
    json_decref(all.opened);
    weir_arena_free(all.texts);
    return status;
}

int cli_exit_of_predict_rows(const json_t *answer)
{
    return cli_number(answer, "without") > 0 ? CLI_EXIT_FAILED : CLI_EXIT_DONE;
}
