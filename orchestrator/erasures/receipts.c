/* Writing receipts: those of a batch whose erasures storage has verified, many at a time. Their files are synced
 * together and then one transaction finishes their erasures. After a death between the two they are written again. */
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/erasures/receipt_keys.h"
#include "orchestrator/erasures/sealing.h"
#include "orchestrator/erasures/wiping.h"
#include "orchestrator/models/lineage.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { RECEIPTS_AT_ONCE = 512, DUE_MAX = 65536 };

/* Receipts on their way. */
struct receipts {
    struct erasure_batch *batch;
    const struct weir_rows *due;
    const struct msg_erase_reports *reports;
    struct erasure_context context;
    struct receipt_key key;
    char previous[RECEIPT_HASH_MAX]; /* hash of the newest receipt */
    struct id_blocks *ids;           /* of each */
    json_t *rows;                    /* number, receipt, hash, event of each */
    char **paths;                    /* of the files so far */
    size_t path_count;
};

/* ---- gathering ---- */

static enum weir_status load_previous(struct receipts *receipts, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(receipts->batch->context->db, Q_erasure_last_receipt, &rows, err);
    if (status == WEIR_OK && weir_rows_count(rows) > 0)
        (void)snprintf(receipts->previous, sizeof(receipts->previous), "%s",
                       weir_rows_text(rows, 0, "receipt_hash"));
    return status;
}

/* Rows of both come by number. */
static enum weir_status load_ids(struct receipts *receipts, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    size_t count = weir_rows_count(receipts->due), at = 0;
    WEIR_AUTO_FREE int64_t *numbers = weir_calloc(count, sizeof(*numbers));
    for (size_t i = 0; i < count; i++)
        numbers[i] = weir_rows_i64(receipts->due, i, "number");
    receipts->ids = weir_calloc(count, sizeof(*receipts->ids));
    enum weir_status status = DB_RUN(receipts->batch->context->db, Q_erasure_blocks_of, &rows, err,
                                     DB_I64S(numbers, count));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        while (numbers[at] != weir_rows_i64(rows, i, "erasure"))
            at++;
        orchestrator_lineage_take_block(rows, i, &receipts->ids[at]);
    }
    return status;
}

/* ---- writing ---- */

static enum weir_status write_one(struct receipts *receipts, size_t row, struct weir_error *err)
{
    int64_t number = weir_rows_i64(receipts->due, row, "number");
    char name[48], hash[RECEIPT_HASH_MAX];
    (void)snprintf(name, sizeof(name), "%" PRId64 ".json", number);
    json_t *body = orchestrator_erasure_receipt_json(&receipts->context, receipts->due, row,
                                                     receipts->reports, row, &receipts->ids[row]);
    json_object_set_new(body, "previous", json_string(receipts->previous));
    orchestrator_receipt_sign(body, &receipts->key, hash);
    WEIR_AUTO_FREE char *text = json_dumps(body, JSON_INDENT(2) | JSON_PRESERVE_ORDER);
    char *path = orchestrator_path(receipts->batch->context, "receipts", name);
    receipts->paths[receipts->path_count++] = path;
    json_decref(body);
    weir_require(text != NULL);
    (void)snprintf(receipts->previous, sizeof(receipts->previous), "%s", hash);
    json_t *line = JSON_FIELDS(JSON_NUMBER("number", number), JSON_TEXT("receipt", text),
                               JSON_TEXT("hash", hash));
    json_object_set_new(
        line, "event",
        orchestrator_erasure_event_line(number, "receipt", JSON_FIELDS(JSON_TEXT("hash", hash))));
    json_array_append_new(receipts->rows, line);
    return weir_file_write_unsynced(path, weir_bytes_of(text), err);
}

static enum weir_status effect_finished(void *subject, const void *what, struct weir_error *err)
{
    const struct receipts *receipts = subject;
    WEIR_AUTO_FREE char *text = json_dumps(receipts->rows, JSON_COMPACT);
    (void)what;
    return DB_RUN(receipts->batch->context->db, Q_erasures_finished, NULL, err, DB_TEXT(text),
                  DB_TEXT(orchestrator_erasure_state_name(ERASURE_FINISHED)),
                  DB_I64(weir_now_wall_us()));
}

static enum weir_status write_all(struct receipts *receipts, struct weir_error *err)
{
    struct erasures *all = receipts->batch->all;
    WEIR_AUTO_FREE char *directory = orchestrator_path(all->context, "receipts", ".");
    enum weir_status status = weir_make_directories(directory, 0700, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(receipts->due); i++)
        status = write_one(receipts, i, err);
    if (status == WEIR_OK)
        status = weir_files_sync(receipts->paths, receipts->path_count, err);
    return status == WEIR_OK
               ? orchestrator_commit(all->context, effect_finished, receipts, NULL, err)
               : status;
}

static enum weir_status make_all(struct receipts *receipts, struct weir_error *err)
{
    enum weir_status status =
        orchestrator_erasure_context_load(receipts->batch, &receipts->context, err);
    receipts->rows = json_array();
    receipts->paths = weir_calloc(weir_rows_count(receipts->due), sizeof(*receipts->paths));
    if (status == WEIR_OK)
        status = load_previous(receipts, err);
    if (status == WEIR_OK)
        status = load_ids(receipts, err);
    if (status == WEIR_OK)
        status = orchestrator_receipt_key(receipts->batch->context, &receipts->key, err);
    if (status == WEIR_OK)
        status = write_all(receipts, err);
    orchestrator_receipt_key_fini(&receipts->key);
    for (size_t i = 0; receipts->ids != NULL && i < weir_rows_count(receipts->due); i++)
        orchestrator_id_blocks_fini(&receipts->ids[i]);
    free(receipts->ids);
    while (receipts->path_count > 0)
        free(receipts->paths[--receipts->path_count]);
    free(receipts->paths);
    json_decref(receipts->rows);
    orchestrator_erasure_context_fini(&receipts->context);
    return status;
}

/* ---- asking ---- */

/* It reports of those that are due, and nothing is missing. */
static bool is_about(const struct msg_erase_reports *reports, const struct weir_rows *due)
{
    size_t count = weir_rows_count(due);
    bool is_whole =
        reports->erasures.count == count && reports->epochs.count == count &&
        reports->samples.count == count && reports->accepted_us.count == count &&
        reports->in_force_us.count == count && reports->scrubbed_us.count == count &&
        reports->verified_us.count == count && reports->records_scrubbed.count == count &&
        reports->files_scrubbed.count == count && reports->bytes_scrubbed.count == count &&
        reports->objects_cleaned.count == count && reports->bytes_searched.count == count &&
        reports->found.count == count && reports->remarks.count == count &&
        reports->dropped.count == count && reports->places.count == count &&
        reports->holders_answered.count == count && reports->holders_expired.count == count;
    for (size_t i = 0; is_whole && i < count; i++)
        is_whole = reports->erasures.at[i] == (uint64_t)weir_rows_i64(due, i, "number");
    return is_whole;
}

static size_t group_size(const struct erasure_batch *batch)
{
    size_t left = batch->due.count - batch->due.done;
    return left < RECEIPTS_AT_ONCE ? left : RECEIPTS_AT_ONCE;
}

static const int64_t *group_of(const struct erasure_batch *batch)
{
    return batch->due.numbers + batch->due.done;
}

static void on_reports(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct receipts receipts = {.batch = owner};
    struct erasure_batch *batch = owner;
    WEIR_AUTO(weir_rows) due = NULL;
    struct weir_error problem;
    if (reply == NULL) {
        orchestrator_erasure_trouble(batch, err);
        return;
    }
    batch->due.is_requesting = false;
    receipts.reports = reply->message;
    enum weir_status status = DB_RUN(batch->context->db, Q_erasure_receipts_of, &due, &problem,
                                     DB_I64S(group_of(batch), group_size(batch)));
    receipts.due = due;
    if (status == WEIR_OK && weir_rows_count(due) > 0) { /* else a lost answer had written them */
        status = is_about(receipts.reports, due)
                     ? make_all(&receipts, &problem)
                     : weir_fail(&problem, WEIR_UNAVAILABLE,
                                 "storage does not report of all erasures that it has verified");
    }
    if (status != WEIR_OK) {
        batch->due.done = batch->due.count; /* found again */
        orchestrator_erasure_trouble(batch, &problem);
        return;
    }
    batch->due.done += group_size(batch);
    orchestrator_erasure_begin_after(batch, 0);
}

static void request_reports(struct erasure_batch *batch)
{
    const struct msg_erase_reports_request request = {
        .erasures = {(const uint64_t *)group_of(batch), group_size(batch)}};
    batch->due.is_requesting = true;
    weir_rpc_call(batch->context->storage, MSG_erase_reports_request, &request,
                  ORCHESTRATOR_REQUEST_MS, on_reports, batch);
}

/* Nothing reads what was erased once storage has verified it: memory is clean once it was wiped after that. */
static enum weir_status find_due(struct erasure_batch *batch, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(batch->context->db, Q_erasure_receipts_due, &rows, err,
                                     DB_I64(batch->number), DB_I64(DUE_MAX));
    size_t count = status == WEIR_OK ? weir_rows_count(rows) : 0;
    if (count == 0)
        return status;
    batch->due.numbers = weir_realloc(batch->due.numbers, count, sizeof(*batch->due.numbers));
    for (size_t i = 0; i < count; i++)
        batch->due.numbers[i] = weir_rows_i64(rows, i, "number");
    batch->due.count = count;
    batch->due.done = 0;
    batch->due.wipe = orchestrator_wiping_wanted(batch->all->wiping);
    return WEIR_OK;
}

void orchestrator_erasure_write_receipts(struct erasure_batch *batch)
{
    struct weir_error err;
    WEIR_AUTO(weir_rows) unfinished = NULL;
    if (batch->due.is_requesting)
        return; /* woken by another erasure that is verified: on_reports() goes on */
    enum weir_status status = group_size(batch) > 0 ? WEIR_OK : find_due(batch, &err);
    if (status == WEIR_OK && group_size(batch) > 0) {
        if (orchestrator_wiping_is_done(batch->all->wiping, batch->due.wipe))
            request_reports(batch);
        else
            orchestrator_erasure_begin_after(batch, ORCHESTRATOR_POLL_MS);
        return;
    }
    if (status == WEIR_OK)
        status = DB_RUN(batch->context->db, Q_erasure_unfinished, &unfinished, &err,
                        DB_I64(batch->number));
    if (status != WEIR_OK)
        orchestrator_erasure_trouble(batch, &err);
    else if (!weir_rows_bool(unfinished, 0, "any_unfinished"))
        orchestrator_erasure_batch_finish(batch);
    else { /* storage has not verified the others: some wait for a seal, or it is searching */
        orchestrator_sealing_look(batch->all->sealing);
        orchestrator_erasure_begin_after(batch, ORCHESTRATOR_POLL_MS);
    }
}
