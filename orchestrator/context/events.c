/* Writing events beside their effect, and showing the committed ones in order. */
#include "orchestrator/context/events.h"

#include "core/base/clock.h"
#include "core/base/fault.h"

#include <stdlib.h>

/* {"event": …} first, so that the kind of a line is seen at a glance. */
char *orchestrator_event_line(const char *event, json_t *body)
{
    json_t *whole = JSON_FIELDS(JSON_TEXT("event", event));
    json_object_update(whole, body);
    char *text = json_dumps(whole, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
    json_decref(whole);
    json_decref(body);
    weir_require(text != NULL);
    return text;
}

enum weir_status orchestrator_event_put(struct context *context, const struct event_about *about,
                                        json_t *body, struct weir_error *err)
{
    if (body ==
        NULL) /* an edge that is not taken is seen and can be mended; a death comes again with every start */
        return weir_fail(err, WEIR_INTERNAL, "event %s holds a value that JSON cannot hold",
                         about->event);
    char *text = orchestrator_event_line(about->event, body);
    enum weir_status status =
        DB_RUN(context->db, Q_event_add, NULL, err, DB_I64(about->pipeline), DB_I64(about->erasure),
               DB_TEXT(about->key), DB_I64(weir_now_wall_us()), DB_TEXT(text));
    free(text);
    return status;
}

/* ---- showing ---- */

static struct weir_asked newer_events(const struct context *context)
{
    return DB_ASKED(Q_event_after, DB_I64(context->event_shown), DB_I64(0),
                    DB_I64(ORCHESTRATOR_EVENTS_AT_ONCE));
}

/* Returns how many there were. */
static size_t show(struct context *context, const struct weir_rows *rows)
{
    size_t count = weir_rows_count(rows);
    for (size_t i = 0; i < count; i++) {
        context->event_shown = weir_rows_i64(rows, i, "number");
        context->events++;
        if (context->listener.event != NULL) {
            context->listener.event(context->listener.owner, weir_rows_i64(rows, i, "pipeline"),
                                    weir_rows_i64(rows, i, "erasure"),
                                    weir_rows_text(rows, i, "json"));
        }
    }
    return count;
}

/* Events that cannot be read are shown after the next edge. */
static void show_newer(struct context *context)
{
    size_t count = ORCHESTRATOR_EVENTS_AT_ONCE;
    while (count == ORCHESTRATOR_EVENTS_AT_ONCE) {
        struct weir_asked asked = newer_events(context);
        struct weir_error err;
        if (weir_db_ask(context->db, &asked, 1, &err) != WEIR_OK)
            return;
        count = show(context, asked.rows);
        weir_asked_fini(&asked, 1);
    }
}

/* The first of them have come with the commit, as other rows have, which stay good: who listens changes nothing. */
static void show_committed(struct context *context, struct weir_asked *events)
{
    uint64_t changes = weir_db_changes(context->db);
    size_t count = events->rows != NULL ? show(context, events->rows) : 0;
    weir_require(changes == weir_db_changes(context->db));
    weir_asked_fini(events, 1);
    if (count == ORCHESTRATOR_EVENTS_AT_ONCE)
        show_newer(context);
}

enum weir_status orchestrator_events_recall(struct context *context, int64_t pipeline,
                                            struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(context->db, Q_event_of_pipeline, &rows, err, DB_I64(pipeline),
                                     DB_I64(context->event_shown));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        context->listener.event(context->listener.owner, pipeline, 0,
                                weir_rows_text(rows, i, "json"));
    return status;
}

json_t *orchestrator_json_of(const char *text)
{
    json_t *value = json_loads(text, 0, NULL);
    return value == NULL ? json_object() : value;
}

/* ---- the one way to commit ---- */

static enum weir_status commit_with_events(struct context *context, struct weir_asked *asked,
                                           size_t count, struct weir_error *err)
{
    struct weir_asked all[WEIR_ASKED_MAX];
    weir_require(count < WEIR_COUNT(all));
    all[0] = newer_events(context);
    for (size_t i = 0; i < count; i++)
        all[i + 1] = asked[i];
    enum weir_status status = weir_db_commit_and_ask(context->db, all, count + 1, err);
    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < count; i++)
        asked[i] = all[i + 1];
    show_committed(context, &all[0]);
    return WEIR_OK;
}

/* Statements of the effect whose rows it does not look at, the commit and the events take one round trip. */
enum weir_status orchestrator_commit_and_ask(struct context *context,
                                             const struct orchestrator_change *change,
                                             struct weir_asked *asked, size_t count,
                                             struct weir_error *err)
{
    enum weir_status status = weir_db_begin_batch(context->db, err);
    if (status != WEIR_OK)
        return status;
    if (change->effect != NULL)
        status = change->effect(change->subject, change->what, err);
    if (status == WEIR_OK && weir_fault("orchestrator.commit"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault orchestrator.commit");
    if (status == WEIR_OK)
        return commit_with_events(context, asked, count, err);
    weir_db_rollback(context->db);
    return status;
}

enum weir_status orchestrator_commit(struct context *context, orchestrator_effect_fn *effect,
                                     void *subject, const void *what, struct weir_error *err)
{
    const struct orchestrator_change change = {effect, subject, what};
    return orchestrator_commit_and_ask(context, &change, NULL, 0, err);
}
