/* Erasures that storage has accepted become rows, all that arrived in one round of the loop in one transaction. */
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/erasure_state.h"

#include <stdlib.h>

enum {
    GROUP_MAX = 1024, /* requests in a transaction */
    CROWD_MIN = 17,
    CROWD_QUIET_MS = 1000, /* after the last one of a crowd */
    CROWD_PATIENCE_MS = 10000,
    PUT_OFF_MS = 100,       /* between two tries … */
    PUT_OFF_MAX_MS = 10000, /* … and how long for, until those who ask are told */
};

json_t *orchestrator_erasure_row_json(int64_t number, const char *dataset, const char *reference)
{
    json_t *row = JSON_FIELDS(JSON_NUMBER("number", number), JSON_TEXT("dataset", dataset),
                              JSON_TEXT("reference", reference));
    json_object_set_new(row, "event",
                        orchestrator_erasure_event_line(
                            number, "accepted", JSON_FIELDS(JSON_TEXT("reference", reference))));
    return row;
}

static enum weir_status add_rows(void *subject, const void *what, struct weir_error *err)
{
    const struct erasures *erasures = subject;
    return DB_RUN(erasures->context->db, Q_erasures_add, NULL, err, DB_TEXT(what),
                  DB_TEXT(orchestrator_erasure_state_name(ERASURE_ACCEPTED)),
                  DB_I64(weir_now_wall_us()));
}

static void note_crowd(struct erasures *erasures, size_t count)
{
    int64_t now_ms = weir_loop_now_ms(erasures->context->loop);
    if (erasures->crowd.count == 0)
        erasures->crowd.since_ms = now_ms;
    erasures->crowd.count += count;
    erasures->crowd.last_ms = now_ms;
}

bool orchestrator_erasures_still_come(const struct erasures *erasures)
{
    int64_t now_ms = weir_loop_now_ms(erasures->context->loop);
    return erasures->crowd.count >= CROWD_MIN &&
           now_ms - erasures->crowd.last_ms < CROWD_QUIET_MS &&
           now_ms - erasures->crowd.since_ms < CROWD_PATIENCE_MS;
}

enum weir_status orchestrator_erasures_record(struct erasures *erasures, json_t *rows,
                                              struct weir_error *err)
{
    WEIR_AUTO_FREE char *text = json_dumps(rows, JSON_COMPACT);
    enum weir_status status = orchestrator_commit(erasures->context, add_rows, erasures, text, err);
    if (status != WEIR_OK)
        return status;
    note_crowd(erasures, json_array_size(rows));
    status = orchestrator_erasures_count(erasures, err);
    if (status == WEIR_OK)
        orchestrator_erasures_listen_soon(erasures);
    return status;
}

/* ---- the queue ---- */

static void record(void *owner)
{
    (void)orchestrator_erasures_record_accepted(owner);
}

/* Puts off requests that storage has accepted while tables are rewritten for receipts, which takes a moment. Returns
 * false when `status` has another cause, or they were put off for long. */
static bool put_off(struct erasures *erasures, enum weir_status status)
{
    int64_t now_ms = weir_loop_now_ms(erasures->context->loop);
    if (status != WEIR_UNAVAILABLE)
        return false;
    if (erasures->accepted.put_off_ms == 0)
        erasures->accepted.put_off_ms = now_ms;
    return now_ms - erasures->accepted.put_off_ms < PUT_OFF_MAX_MS;
}

bool orchestrator_erasures_record_accepted(struct erasures *erasures)
{
    struct erasure_accepted *first = erasures->accepted.first;
    struct weir_error err;
    if (first == NULL)
        return true;
    json_t *rows = json_array();
    for (const struct erasure_accepted *at = first; at != NULL; at = at->next)
        json_array_append_new(
            rows, orchestrator_erasure_row_json(at->number, at->dataset, at->reference));
    enum weir_status status = orchestrator_erasures_record(erasures, rows, &err);
    json_decref(rows);
    weir_loop_cancel(erasures->context->loop, erasures->accepted.timer);
    erasures->accepted.timer = 0;
    if (put_off(erasures, status)) {
        erasures->accepted.timer =
            weir_loop_timer(erasures->context->loop, PUT_OFF_MS, 0, record, erasures);
        return false;
    }
    erasures->accepted.first = erasures->accepted.last = NULL;
    erasures->accepted.count = erasures->accepted.seen = 0;
    erasures->accepted.put_off_ms = 0;
    while (first != NULL) {
        struct erasure_accepted *accepted = first;
        first = first->next;
        accepted->done(accepted->owner, status == WEIR_OK ? NULL : &err);
        free(accepted);
    }
    return true;
}

/* While more come with each round, they share the transaction. */
static void on_round(void *owner)
{
    struct erasures *erasures = owner;
    bool is_growing = erasures->accepted.count > erasures->accepted.seen;
    if (!is_growing || erasures->accepted.count >= GROUP_MAX) {
        record(erasures);
        return;
    }
    erasures->accepted.seen = erasures->accepted.count;
    erasures->accepted.timer = weir_loop_timer(erasures->context->loop, 0, 0, on_round, erasures);
}

void orchestrator_erasure_note(struct erasures *erasures, const struct erasure_names *names,
                               orchestrator_erasure_accepted_fn *done, void *owner)
{
    struct erasure_accepted *accepted = weir_calloc(1, sizeof(*accepted));
    *accepted = (struct erasure_accepted){.number = names->number,
                                          .dataset = names->dataset,
                                          .reference = names->reference,
                                          .done = done,
                                          .owner = owner};
    if (erasures->accepted.last != NULL)
        erasures->accepted.last->next = accepted;
    else
        erasures->accepted.first = accepted;
    erasures->accepted.last = accepted;
    erasures->accepted.count++;
    if (erasures->accepted.timer == 0)
        erasures->accepted.timer =
            weir_loop_timer(erasures->context->loop, 0, 0, on_round, erasures);
}

void orchestrator_erasures_drop_accepted(struct erasures *erasures)
{
    weir_loop_cancel(erasures->context->loop, erasures->accepted.timer);
    while (erasures->accepted.first != NULL) {
        struct erasure_accepted *accepted = erasures->accepted.first;
        erasures->accepted.first = accepted->next;
        free(accepted);
    }
}
