/* workers: the pool, what each has spent on which operator, who shares it, and what trainers wait for. */
#include "orchestrator/topics/topic.h"

#include "orchestrator/pipeline/pipeline.h"
#include "orchestrator/runs/run.h"
#include "orchestrator/topics/workers_jobs.h"
#include "orchestrator/topics/workers_pool.h"
#include "orchestrator/values/json_object.h"

enum { OPERATORS_MAX = 64 /* of a run that are shown */ };

static bool is_whole(const struct msg_workers_are *pool)
{
    size_t workers = pool->workers.count, rows = pool->operators.count, jobs = pool->jobs.count;
    size_t pipelines = pool->pipelines.count;
    bool is_right =
        pool->leases.count == workers && pool->cpu_ns.count == workers &&
        pool->bytes_sent.count == workers && pool->bytes_read.count == workers &&
        pool->queued.count == workers && pool->mismatches.count == workers &&
        pool->unreached.count == workers && pool->granted.count == workers &&
        pool->refused.count == workers && pool->operator_workers.count == rows &&
        pool->operator_jobs.count == rows && pool->operator_ns.count == rows &&
        pool->operator_bytes.count == rows && pool->operator_taken.count == rows &&
        pool->stalled.count == jobs && pool->stages.count == jobs && pool->read_ns.count == jobs &&
        pool->job_bytes_read.count == jobs && pool->job_failed.count == jobs &&
        pool->job_reasons.count == jobs && pool->pipeline_shares.count == pipelines &&
        pool->pipeline_bounds.count == pipelines && pool->pipeline_workers.count == pipelines &&
        pool->pipeline_leases.count == pipelines && pool->pipeline_cpu_ns.count == pipelines;
    for (size_t i = 0; is_right && i < rows; i++)
        is_right = pool->operator_workers.at[i] < workers;
    return is_right;
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

/* Bytes out for each byte in. */
static json_t *inflation_json(uint64_t in, uint64_t out)
{
    return in > 0 ? json_real((double)out / (double)in) : json_null();
}

static json_t *worker_json(const struct msg_workers_are *pool, size_t i)
{
    uint64_t read = pool->bytes_read.at[i], sent = pool->bytes_sent.at[i];
    return JSON_FIELDS(
        JSON_TEXT("worker", pool->workers.at[i]), JSON_NUMBER("leases", pool->leases.at[i]),
        JSON_NUMBER("queued", pool->queued.at[i]),
        JSON_DOUBLE("cpu_seconds", seconds(pool->cpu_ns.at[i])), JSON_NUMBER("bytes_read", read),
        JSON_NUMBER("bytes_sent", sent), JSON_NEW("inflation", inflation_json(read, sent)),
        JSON_NUMBER("mismatches", pool->mismatches.at[i]),
        JSON_NUMBER("granted", pool->granted.at[i]), JSON_NUMBER("refused", pool->refused.at[i]),
        JSON_NEW("unreached", json_boolean(pool->unreached.at[i] != 0)),
        JSON_NEW("operators", json_array()));
}

/* Time that an operator has spent, and bytes that it took and made. */
struct spent {
    int64_t ns;
    uint64_t in, out;
};

static json_t *operator_json(const char *name, const struct spent *spent)
{
    return JSON_FIELDS(JSON_TEXT("operator", name), JSON_DOUBLE("cpu_seconds", seconds(spent->ns)),
                       JSON_NUMBER("bytes_in", spent->in), JSON_NUMBER("bytes_out", spent->out),
                       JSON_NEW("inflation", inflation_json(spent->in, spent->out)));
}

static struct spent spent_in(const struct msg_workers_are *pool, size_t row)
{
    return (struct spent){pool->operator_ns.at[row], pool->operator_taken.at[row],
                          pool->operator_bytes.at[row]};
}

static json_t *workers_json(const struct msg_workers_are *pool)
{
    json_t *workers = json_array();
    for (size_t i = 0; i < pool->workers.count; i++)
        json_array_append_new(workers, worker_json(pool, i));
    for (size_t i = 0; i < pool->operators.count; i++) {
        json_t *worker = json_array_get(workers, pool->operator_workers.at[i]);
        struct spent spent = spent_in(pool, i);
        json_t *operator= operator_json(pool->operators.at[i], &spent);
        json_object_set_new(operator, "run", json_integer((json_int_t)pool->operator_jobs.at[i]));
        json_array_append_new(json_object_get(worker, "operators"), operator);
    }
    return workers;
}

/* Rows of one worker and job stand together, in the order of its operators. */
static size_t place_of(const struct msg_workers_are *pool, size_t row)
{
    size_t first = row;
    while (first > 0 && pool->operator_jobs.at[first - 1] == pool->operator_jobs.at[row] &&
           pool->operator_workers.at[first - 1] == pool->operator_workers.at[row])
        first--;
    return row - first;
}

/* The operators of a run, each with what all workers have spent on it. */
static json_t *run_operators_json(const struct msg_workers_are *pool, uint64_t job)
{
    const char *names[OPERATORS_MAX];
    struct spent of[OPERATORS_MAX] = {0};
    size_t count = 0;
    for (size_t i = 0; i < pool->operators.count; i++) {
        size_t place = pool->operator_jobs.at[i] == job ? place_of(pool, i) : OPERATORS_MAX;
        if (place >= OPERATORS_MAX)
            continue;
        struct spent spent = spent_in(pool, i);
        names[place] = pool->operators.at[i];
        of[place].ns += spent.ns;
        of[place].in += spent.in;
        of[place].out += spent.out;
        count = place < count ? count : place + 1;
    }
    json_t *operators = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(operators, operator_json(names[i], &of[i]));
    return operators;
}

static json_t *runs_json(const struct topic_call *call, const struct msg_workers_are *pool)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < pool->jobs.count; i++) {
        const char *stage = pool->stages.at[i], *reason = pool->job_reasons.at[i];
        int64_t of = orchestrator_run_pipeline(call->all->runs, (int64_t)pool->jobs.at[i]);
        if (!orchestrator_topic_sees_number(call, of))
            continue;
        json_array_append_new(
            runs, JSON_FIELDS(JSON_NUMBER("run", pool->jobs.at[i]),
                              JSON_DOUBLE("stall_fraction", pool->stalled.at[i] / 1000.0),
                              JSON_TEXT_OR_NULL("stage", stage[0] != '\0' ? stage : NULL),
                              JSON_DOUBLE("read_seconds", seconds(pool->read_ns.at[i])),
                              JSON_NUMBER("bytes_read", pool->job_bytes_read.at[i]),
                              JSON_NUMBER("failed", pool->job_failed.at[i]),
                              JSON_TEXT_OR_NULL("reason", reason[0] != '\0' ? reason : NULL),
                              JSON_NEW("scaling", orchestrator_topic_scaling_json(pool, i)),
                              JSON_NEW("operators", run_operators_json(pool, pool->jobs.at[i]))));
    }
    return runs;
}

/* Shares of the pipelines in the workers; a pipeline that was removed has no name. */
static json_t *pipelines_json(const struct topic_call *call, const struct msg_workers_are *pool)
{
    json_t *pipelines = json_array();
    for (size_t i = 0; i < pool->pipelines.count; i++) {
        int64_t number = (int64_t)pool->pipelines.at[i];
        const struct pipeline *pipeline = orchestrator_pipeline_by_id(call->all->pipelines, number);
        uint32_t bound = pool->pipeline_bounds.at[i];
        if (!orchestrator_topic_sees_number(call, number))
            continue;
        json_array_append_new(
            pipelines,
            JSON_FIELDS(JSON_TEXT_OR_NULL(
                            "pipeline",
                            pipeline != NULL ? orchestrator_pipeline_config(pipeline)->name : NULL),
                        JSON_DOUBLE("share", pool->pipeline_shares.at[i] / 1000.0),
                        JSON_NEW("workers_max", bound > 0 ? json_integer(bound) : json_null()),
                        JSON_NUMBER("workers", (int)pool->pipeline_workers.at[i]),
                        JSON_NUMBER("leases", (int)pool->pipeline_leases.at[i]),
                        JSON_DOUBLE("cpu_seconds", seconds(pool->pipeline_cpu_ns.at[i]))));
    }
    return pipelines;
}

static void on_workers(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        orchestrator_topic_refuse(call, err);
        return;
    }
    const struct msg_workers_are *pool = reply->message;
    if (!is_whole(pool) || !orchestrator_topic_scaling_is_whole(pool)) {
        topic_fail(call, WEIR_INTERNAL, "the dispatcher sent no good list of workers");
        return;
    }
    bool is_tenant = call->sender.tenant[0] != '\0'; /* processes are the whole platform's */
    orchestrator_topic_answer(
        call, JSON_FIELDS(JSON_NEW("workers", is_tenant ? json_array() : workers_json(pool)),
                          JSON_NEW("runs", runs_json(call, pool)),
                          JSON_NEW("pipelines", pipelines_json(call, pool)),
                          JSON_NEW("pool", is_tenant ? json_null()
                                                     : orchestrator_topic_pool_json(call->all))));
}

void orchestrator_topic_workers(struct topic_call *call)
{
    weir_rpc_call(call->context->dispatcher, MSG_workers_request, NULL, ORCHESTRATOR_REQUEST_MS,
                  on_workers, call);
}
