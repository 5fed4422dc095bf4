/* The end of a run: what the dispatcher's books say of it is recorded, or why it is not its end. */
#include "orchestrator/runs/run_state.h"

#include "core/base/memory.h"
#include "orchestrator/context/events.h"
#include "orchestrator/values/json_object.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

/* Appends the samples that failed, with their reasons; nothing when none did. */
static void append_failures(const struct msg_job_is *job, struct weir_buf *out)
{
    if (job->failed_ids.count == 0 || job->failed_ids.count != job->failed_reasons.count)
        return;
    json_t *list = json_array();
    for (size_t i = 0; i < job->failed_ids.count; i++)
        json_array_append_new(list, JSON_FIELDS(JSON_NUMBER("sample", job->failed_ids.at[i]),
                                                JSON_TEXT("reason", job->failed_reasons.at[i])));
    char *text = json_dumps(list, JSON_COMPACT);
    weir_buf_printf(out, ",\"failures\":%s", text);
    free(text);
    json_decref(list);
}

/* Nothing when none were kept. */
static void append_digest(const struct msg_job_is *job, struct weir_buf *out)
{
    struct weir_digest digest;
    char text[WEIR_DIGEST_TEXT_MAX];

    if (job->digests == 0 || job->digest.size != sizeof(digest.bytes))
        return;
    memcpy(digest.bytes, job->digest.at, sizeof(digest.bytes));
    weir_digest_text(&digest, text);
    weir_buf_printf(out, ",\"digests\":%" PRIu64 ",\"digest\":\"%s\"", job->digests, text);
}

/* Puts the event of a run in which the order of the operators, their place, or that of kept rows has changed. */
static enum weir_status put_plan_changed(const struct run *run, const struct msg_job_is *job,
                                         struct weir_error *err)
{
    if (job->plan_state[0] == '\0')
        return WEIR_OK;
    size_t count = job->plan_order.count, sunk = job->plan_sunk < count ? job->plan_sunk : count;
    const struct weir_strs last = {job->plan_order.at + count - sunk, sunk};
    WEIR_AUTO_FREE char *key = weir_format("plan_changed/%" PRId64, run->number);
    return orchestrator_event_put(
        run->context, &(struct event_about){run->pipeline, 0, key, "plan_changed"},
        JSON_FIELDS(JSON_NUMBER("run", run->number), JSON_TEXT("state", job->plan_state),
                    JSON_NEW("order", orchestrator_json_texts(job->plan_order)),
                    JSON_DOUBLE("promised", job->plan_promised),
                    JSON_NEW("in_trainers", orchestrator_json_texts(last)),
                    JSON_TEXT_OR_NULL("kept_after", job->plan_kept_after)),
        err);
}

/* Puts the event of a run whose batches others have wanted as well. */
static enum weir_status put_shared(const struct run *run, const struct msg_job_is *job,
                                   struct weir_error *err)
{
    if (job->shared_jobs == 0)
        return WEIR_OK;
    WEIR_AUTO_FREE char *key = weir_format("batches_shared/%" PRId64, run->number);
    return orchestrator_event_put(
        run->context, &(struct event_about){run->pipeline, 0, key, "batches_shared"},
        JSON_FIELDS(JSON_NUMBER("run", run->number), JSON_NUMBER("runs", job->shared_jobs),
                    JSON_NUMBER("batches", job->shared_batches)),
        err);
}

static enum weir_status effect_audited(void *subject, const void *what, struct weir_error *err)
{
    const struct run *run = subject;
    const struct msg_job_is *job = what;
    WEIR_AUTO_BUF audit = {0};
    weir_buf_printf(&audit,
                    "{\"set\":%" PRIu64 ",\"delivered\":%" PRIu64 ",\"filtered\":%" PRIu64
                    ",\"failed\":%" PRIu64 ",\"erased\":%" PRIu64 ",\"gone\":%" PRIu64
                    ",\"lost\":%" PRIu64 ",\"duplicated\":%" PRIu64 ",\"replayed\":%" PRIu64
                    ",\"delivery\":\"%s\"",
                    job->set, job->delivered, job->filtered, job->failed, job->erased, job->gone,
                    job->lost, job->duplicated, job->replayed, job->delivery);
    append_digest(job, &audit);
    append_failures(job, &audit);
    weir_buf_append_text(&audit, "}");
    enum weir_status status = put_plan_changed(run, job, err);
    if (status == WEIR_OK)
        status = put_shared(run, job, err);
    if (status != WEIR_OK)
        return status;
    return DB_RUN(run->context->db, Q_run_audited, NULL, err, DB_I64(run->number),
                  DB_TEXT(weir_buf_text(&audit)), DB_I64(job->worker_cpu_ns),
                  DB_I64(job->bytes_read), DB_I64(job->bytes_sent));
}

static enum weir_status record_audit(struct run *run, const struct msg_job_is *job,
                                     struct weir_error *err)
{
    if (!job->kept) {
        return weir_fail(err, WEIR_INTERNAL,
                         "run %" PRId64 ": %" PRIu64 " samples lost, %" PRIu64
                         " delivered twice, which %s does not allow",
                         run->number, job->lost, job->duplicated, job->delivery);
    }
    struct weir_asked asked[RUN_ROWS];
    orchestrator_run_ask_rows(run, asked);
    const struct orchestrator_change change = {effect_audited, run, job};
    enum weir_status status =
        orchestrator_commit_and_ask(run->context, &change, asked, RUN_ROWS, err);
    if (status != WEIR_OK)
        return status;
    if (asked[RUN_ROWS - 1].rows != NULL)
        return orchestrator_run_keep_rows(run, asked, err);
    weir_asked_fini(asked, RUN_ROWS);
    return orchestrator_run_load(run, err);
}

static void audit_step(void *owner)
{
    struct run *run = owner;
    run->timer = 0;
    orchestrator_run_audit(run);
}

static void on_job_is(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct run *run = owner;
    struct weir_error problem;
    if (reply == NULL) {
        orchestrator_run_trouble(run, err->status, err);
        return;
    }
    const struct msg_job_is *job = reply->message;
    if (strcmp(job->state, "open") == 0) {
        orchestrator_run_schedule(run, ORCHESTRATOR_POLL_MS, audit_step);
        return;
    }
    orchestrator_run_keep_digests(run); /* of one that was recorded by a process that died */
    orchestrator_run_worked(run->runs, run->number,
                            &(struct run_work){.cpu_ns = job->worker_cpu_ns,
                                               .bytes_read = job->bytes_read,
                                               .bytes_sent = job->bytes_sent,
                                               .batches = run->batches,
                                               .failed = job->failed});
    enum weir_status status = record_audit(run, job, &problem);
    if (status != WEIR_OK) {
        orchestrator_run_trouble(run, status, &problem);
        return;
    }
    if (run->runs->explains && strcmp(run->mode, "train") == 0)
        orchestrator_run_explain(run);
    else
        orchestrator_run_close(run);
}

void orchestrator_run_close(struct run *run)
{
    struct run_tally *tally = orchestrator_tally_of(&run->runs->tallies, run->outline.id);
    tally->done++;
    tally->evaluated += strcmp(run->mode, "evaluate") == 0;
    weir_rpc_send(run->context->dispatcher, MSG_job_close,
                  &(struct msg_job_close){.job = (uint64_t)run->number});
    orchestrator_pool_stir(run->runs->pool);
    orchestrator_run_end(run, NULL);
}

void orchestrator_run_audit(struct run *run)
{
    weir_loop_cancel(run->context->loop, run->timer); /* of a step that the result has overtaken */
    run->timer = 0;
    struct msg_job_request request = {.job = (uint64_t)run->number};
    weir_rpc_call(run->context->dispatcher, MSG_job_request, &request, ORCHESTRATOR_REQUEST_MS,
                  on_job_is, run);
}
