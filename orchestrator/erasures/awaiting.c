/* Listening to storage: what erasures have moved on since it was last asked, of all of them at once. Those that have
 * come into force are noted with their samples and their epoch, many in one transaction: runs that begin from now on
 * never see the samples, and lineage knows it. Those that storage has verified may have their receipts. Erasures that
 * storage accepted while no orchestrator listened become known here as well. */
#include "core/base/bisect.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/wire/erasure.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/erasure_state.h"
#include "orchestrator/models/lineage.h"
#include "orchestrator/pipeline/pipeline.h"

#include <stdlib.h>

enum {
    PAUSE_MAX_MS = 8 * ORCHESTRATOR_POLL_MS,
    /* moves are reported again after this: one may have become visible after a later one */
    REPEAT_MS = 30000,
};

static void request_progress(void *owner);

static void schedule_progress(struct erasures *erasures, int64_t delay_ms)
{
    erasures->progress.is_requesting = false;
    weir_loop_cancel(erasures->context->loop, erasures->progress.timer);
    erasures->progress.timer =
        weir_loop_timer(erasures->context->loop, delay_ms, 0, request_progress, erasures);
}

static void forget_arrived(struct erasures *erasures)
{
    for (size_t i = 0; i < erasures->progress.arrived_count; i++)
        orchestrator_id_blocks_fini(&erasures->progress.arrived[i].ids);
    free(erasures->progress.arrived);
    erasures->progress.arrived = NULL;
    erasures->progress.arrived_count = 0;
}

/* The page is asked for again. */
static void trouble(struct erasures *erasures, const struct weir_error *err)
{
    weir_log(WEIR_LOG_WARN, "cannot follow erasures, trying again", "because=\"%s\"", err->text);
    forget_arrived(erasures);
    schedule_progress(erasures, ORCHESTRATOR_AGAIN_MS);
}

/* ---- in force ---- */

static json_t *in_force_json(const struct erasure_arrived *arrived)
{
    json_t *body = JSON_FIELDS(JSON_NUMBER("samples", arrived->samples),
                               JSON_NUMBER("epoch", arrived->erasure_epoch),
                               JSON_NUMBER("holders_answered", arrived->answered),
                               JSON_NUMBER("holders_expired", arrived->expired));
    json_t *row = JSON_FIELDS(
        JSON_NUMBER("number", arrived->number), JSON_NUMBER("epoch", arrived->erasure_epoch),
        JSON_NUMBER("samples", arrived->samples), JSON_NUMBER("in_force", arrived->in_force_us));
    json_object_set_new(row, "event",
                        orchestrator_erasure_event_line(arrived->number, "in_force", body));
    return row;
}

static enum weir_status effect_in_force(void *subject, const void *what, struct weir_error *err)
{
    const struct erasures *erasures = subject;
    enum weir_status status = WEIR_OK;
    json_t *rows = json_array();
    for (size_t i = 0; status == WEIR_OK && i < erasures->progress.arrived_count; i++) {
        const struct erasure_arrived *arrived = &erasures->progress.arrived[i];
        status = orchestrator_lineage_note_erasure(erasures->context, arrived->number,
                                                   &arrived->ids, err);
        json_array_append_new(rows, in_force_json(arrived));
    }
    WEIR_AUTO_FREE char *text = json_dumps(rows, JSON_COMPACT);
    json_decref(rows);
    (void)what;
    return status == WEIR_OK
               ? DB_RUN(erasures->context->db, Q_erasures_in_force, NULL, err, DB_TEXT(text),
                        DB_TEXT(orchestrator_erasure_state_name(ERASURE_TRACING)),
                        DB_I64(orchestrator_now_us(erasures->context)))
               : status;
}

/* ---- a page ---- */

static void page_done(struct erasures *erasures)
{
    erasures->progress.pause_ms = ORCHESTRATOR_POLL_MS;
    erasures->progress.cursor = erasures->progress.page_cursor;
    forget_arrived(erasures);
    schedule_progress(erasures, 0);
}

static void note_in_force(struct erasures *erasures)
{
    struct weir_error err;
    uint64_t samples = 0;
    for (size_t i = 0; i < erasures->progress.arrived_count; i++)
        samples += (uint64_t)erasures->progress.arrived[i].samples;
    enum weir_status status =
        orchestrator_commit(erasures->context, effect_in_force, erasures, NULL, &err);
    if (status == WEIR_OK)
        status = orchestrator_erasures_count(erasures, &err);
    if (status != WEIR_OK) {
        trouble(erasures, &err);
        return;
    }
    weir_log(WEIR_LOG_INFO, "erasures are in force", "erasures=%zu samples=%llu",
             erasures->progress.arrived_count, (unsigned long long)samples);
    for (struct pipeline *p = erasures->pipelines->first; p != NULL;
         p = orchestrator_pipeline_next(p))
        orchestrator_pipeline_erased(p, samples);
    page_done(erasures);
    orchestrator_erasures_look_again(erasures);
}

static void request_samples(struct erasures *erasures);

static struct erasure_arrived *arrived_of(const struct erasures *erasures, uint64_t number)
{
    size_t from = 0, to = erasures->progress.arrived_count;
    WEIR_BISECT(from, to, middle, (uint64_t)erasures->progress.arrived[middle].number < number);
    struct erasure_arrived *found = &erasures->progress.arrived[from];
    return from < erasures->progress.arrived_count && (uint64_t)found->number == number ? found
                                                                                        : NULL;
}

static void on_samples(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct erasures *erasures = owner;
    if (reply == NULL) {
        trouble(erasures, err);
        return;
    }
    const struct msg_erase_samples *page = reply->message;
    size_t at = 0;
    for (size_t i = 0; i < page->erasures.count && i < page->counts.count; i++) {
        struct erasure_arrived *arrived = arrived_of(erasures, page->erasures.at[i]);
        size_t rest = page->ids.count - at;
        size_t count = page->counts.at[i] < rest ? (size_t)page->counts.at[i] : rest;
        if (arrived != NULL)
            orchestrator_id_blocks_add(&arrived->ids, page->ids.at + at, count);
        at += count;
    }
    erasures->progress.ids_cursor = page->cursor;
    if (page->end)
        note_in_force(erasures);
    else
        request_samples(erasures);
}

static void request_samples(struct erasures *erasures)
{
    size_t count = erasures->progress.arrived_count;
    WEIR_AUTO_FREE uint64_t *numbers = weir_calloc(count, sizeof(*numbers));
    for (size_t i = 0; i < count; i++)
        numbers[i] = (uint64_t)erasures->progress.arrived[i].number;
    const struct msg_erase_samples_request request = {.erasures = {numbers, count},
                                                      .after = erasures->progress.ids_cursor};
    weir_rpc_call(erasures->context->storage, MSG_erase_samples_request, &request,
                  ORCHESTRATOR_REQUEST_MS, on_samples, erasures);
}

/* Those of the page that are in force and have not been noted. */
static enum weir_status find_arrived(struct erasures *erasures,
                                     const struct msg_erase_progress *page, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(erasures->context->db, Q_erasures_unnoted, &rows, err,
                                     DB_I64S(page->erasures.at, page->erasures.count));
    size_t known = status == WEIR_OK ? weir_rows_count(rows) : 0;
    forget_arrived(erasures);
    erasures->progress.arrived = weir_calloc(known + 1, sizeof(*erasures->progress.arrived));
    for (size_t row = 0; row < known; row++) {
        int64_t number = weir_rows_i64(rows, row, "number");
        for (size_t i = 0; i < page->erasures.count; i++) {
            if (page->erasures.at[i] != (uint64_t)number ||
                page->states.at[i] < WEIR_ERASURE_IN_FORCE)
                continue;
            erasures->progress.arrived[erasures->progress.arrived_count++] =
                (struct erasure_arrived){.number = number,
                                         .erasure_epoch = (int64_t)page->epochs.at[i],
                                         .samples = (int64_t)page->samples.at[i],
                                         .in_force_us = page->in_force_us.at[i],
                                         .answered = (int64_t)page->holders_answered.at[i],
                                         .expired = (int64_t)page->holders_expired.at[i]};
        }
    }
    return status;
}

/* Lets the batches go on that wait for storage alone. */
static enum weir_status note_verified(struct erasures *erasures,
                                      const struct msg_erase_progress *page, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO_FREE uint64_t *numbers = weir_calloc(page->erasures.count + 1, sizeof(*numbers));
    size_t count = 0;
    for (size_t i = 0; i < page->erasures.count; i++)
        if (page->states.at[i] >= WEIR_ERASURE_VERIFIED)
            numbers[count++] = page->erasures.at[i];
    if (count == 0)
        return WEIR_OK;
    enum weir_status status =
        DB_RUN(erasures->context->db, Q_erasures_verified, &rows, err, DB_I64S(numbers, count));
    if (status != WEIR_OK || weir_rows_count(rows) == 0)
        return status;
    struct erasure_batch *batch;
    LIST_FOREACH (batch, &erasures->batches, link)
        if (batch->state == ERASURE_VERIFYING && batch->is_checked)
            orchestrator_erasure_begin_after(batch, 0);
    return WEIR_OK;
}

static enum weir_status learn(struct erasures *erasures, const struct msg_erase_progress *page,
                              struct weir_error *err)
{
    WEIR_AUTO(weir_rows) unknown = NULL;
    enum weir_status status = DB_RUN(erasures->context->db, Q_erasures_unknown, &unknown, err,
                                     DB_I64S(page->erasures.at, page->erasures.count));
    if (status != WEIR_OK || weir_rows_count(unknown) == 0)
        return status;
    json_t *rows = json_array();
    for (size_t i = 0; i < weir_rows_count(unknown); i++) {
        size_t at = 0;
        while (page->erasures.at[at] != (uint64_t)weir_rows_i64(unknown, i, "number"))
            at++;
        json_array_append_new(rows,
                              orchestrator_erasure_row_json(weir_rows_i64(unknown, i, "number"), "",
                                                            page->references.at[at]));
    }
    status = orchestrator_erasures_record(erasures, rows, err);
    json_decref(rows);
    return status;
}

/* Columns of one length. */
static bool is_whole(const struct msg_erase_progress *page)
{
    size_t count = page->erasures.count;
    return page->states.count == count && page->epochs.count == count &&
           page->samples.count == count && page->in_force_us.count == count &&
           page->holders_answered.count == count && page->holders_expired.count == count &&
           page->references.count == count;
}

static void rest(struct erasures *erasures)
{
    int64_t pause_ms = erasures->progress.pause_ms;
    erasures->progress.pause_ms = 2 * pause_ms < PAUSE_MAX_MS ? 2 * pause_ms : PAUSE_MAX_MS;
    erasures->progress.is_requesting = false;
    if (erasures->has_open)
        schedule_progress(erasures, pause_ms);
}

static void on_progress(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct erasures *erasures = owner;
    struct weir_error problem;
    if (reply == NULL) {
        trouble(erasures, err);
        return;
    }
    const struct msg_erase_progress *page = reply->message;
    bool is_recorded = orchestrator_erasures_record_accepted(erasures); /* before their moves */
    if (!is_recorded || page->erasures.count == 0) {
        rest(erasures);
        return;
    }
    enum weir_status status =
        is_whole(page)
            ? learn(erasures, page, &problem)
            : weir_fail(&problem, WEIR_CORRUPT, "columns of erase_progress differ in length");
    if (status == WEIR_OK)
        status = note_verified(erasures, page, &problem);
    if (status == WEIR_OK)
        status = find_arrived(erasures, page, &problem);
    if (status != WEIR_OK) {
        trouble(erasures, &problem);
        return;
    }
    erasures->progress.page_cursor = page->cursor;
    erasures->progress.ids_cursor = 0;
    if (erasures->progress.arrived_count == 0)
        page_done(erasures);
    else
        request_samples(erasures);
}

static void request_progress(void *owner)
{
    struct erasures *erasures = owner;
    int64_t now_ms = weir_loop_now_ms(erasures->context->loop);
    if (now_ms >= erasures->progress.repeat_ms) {
        uint64_t cursor = erasures->progress.cursor;
        erasures->progress.cursor = erasures->progress.behind;
        erasures->progress.behind = cursor;
        erasures->progress.repeat_ms = now_ms + REPEAT_MS;
    }
    const struct msg_erase_progress_request request = {.after = erasures->progress.cursor,
                                                       .first = erasures->progress.first};
    erasures->progress.timer = 0;
    erasures->progress.is_requesting = true;
    weir_rpc_call(erasures->context->storage, MSG_erase_progress_request, &request,
                  ORCHESTRATOR_REQUEST_MS, on_progress, erasures);
}

void orchestrator_erasures_listen(struct erasures *erasures)
{
    erasures->progress.pause_ms = ORCHESTRATOR_POLL_MS;
    erasures->progress.repeat_ms = weir_loop_now_ms(erasures->context->loop) + REPEAT_MS;
    schedule_progress(erasures, 0);
}

void orchestrator_erasures_listen_soon(struct erasures *erasures)
{
    erasures->progress.pause_ms = ORCHESTRATOR_POLL_MS;
    if (erasures->progress.timer == 0 && !erasures->progress.is_requesting)
        schedule_progress(erasures, ORCHESTRATOR_POLL_MS);
}

void orchestrator_erasures_doubt(struct erasures *erasures)
{
    orchestrator_erasures_listen_soon(erasures);
}

void orchestrator_erasures_stop_listening(struct erasures *erasures)
{
    weir_loop_cancel(erasures->context->loop, erasures->progress.timer);
    weir_rpc_forget(erasures->context->storage, erasures);
    forget_arrived(erasures);
}
