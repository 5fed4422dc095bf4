/* workers: the pool, what each has spent on which operator, who shares it, and what trainers wait for. */
#include "orchestrator/topics/topic.h"

#include "orchestrator/pipeline/pipeline.h"

enum { OPERATORS_MAX = 64 /* of a run that are shown */ };

static bool is_whole(const struct msg_workers_are *pool)
{
    size_t workers = pool->workers.count, rows = pool->operators.count, jobs = pool->jobs.count;
    size_t pipelines = pool->pipelines.count;
    bool is_right =
        pool->leases.count == workers && pool->cpu_ns.count == workers &&
        pool->bytes_sent.count == workers && pool->bytes_read.count == workers &&
        pool->queued.count == workers && pool->operator_workers.count == rows &&
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
    return json_pack("{ss,sI,sI,sf,sI,sI,so,s[]}", "worker", pool->workers.at[i], "leases",
                     (json_int_t)pool->leases.at[i], "queued", (json_int_t)pool->queued.at[i],
                     "cpu_seconds", seconds(pool->cpu_ns.at[i]), "bytes_read", (json_int_t)read,
                     "bytes_sent", (json_int_t)sent, "inflation", inflation_json(read, sent),
                     "operators");
}

/* Time that an operator has spent, and bytes that it took and made. */
struct spent {
    int64_t ns;
    uint64_t in, out;
};

static json_t *operator_json(const char *name, const struct spent *spent)
{
    return json_pack("{ss,sf,sI,sI,so}", "operator", name, "cpu_seconds", seconds(spent->ns),
                     "bytes_in", (json_int_t)spent->in, "bytes_out", (json_int_t)spent->out,
                     "inflation", inflation_json(spent->in, spent->out));
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

static json_t *runs_json(const struct msg_workers_are *pool)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < pool->jobs.count; i++) {
        const char *stage = pool->stages.at[i], *reason = pool->job_reasons.at[i];
        json_array_append_new(runs, json_pack("{sI,sf,ss?,sf,sI,sI,ss?,so}", "run",
                                              (json_int_t)pool->jobs.at[i], "stall_fraction",
                                              pool->stalled.at[i] / 1000.0, "stage",
                                              stage[0] != '\0' ? stage : NULL, "read_seconds",
                                              seconds(pool->read_ns.at[i]), "bytes_read",
                                              (json_int_t)pool->job_bytes_read.at[i], "failed",
                                              (json_int_t)pool->job_failed.at[i], "reason",
                                              reason[0] != '\0' ? reason : NULL, "operators",
                                              run_operators_json(pool, pool->jobs.at[i])));
    }
    return runs;
}

/* Shares of the pipelines in the workers; a pipeline that was removed has no name. */
static json_t *pipelines_json(struct topics *topics, const struct msg_workers_are *pool)
{
    json_t *pipelines = json_array();
    for (size_t i = 0; i < pool->pipelines.count; i++) {
        const struct pipeline *pipeline =
            orchestrator_pipeline_by_id(topics->pipelines, (int64_t)pool->pipelines.at[i]);
        uint32_t bound = pool->pipeline_bounds.at[i];
        json_array_append_new(
            pipelines,
            json_pack("{ss?,sf,so,si,si,sf}", "pipeline",
                      pipeline != NULL ? orchestrator_pipeline_config(pipeline)->name : NULL,
                      "share", pool->pipeline_shares.at[i] / 1000.0, "workers_max",
                      bound > 0 ? json_integer(bound) : json_null(), "workers",
                      (int)pool->pipeline_workers.at[i], "leases", (int)pool->pipeline_leases.at[i],
                      "cpu_seconds", seconds(pool->pipeline_cpu_ns.at[i])));
    }
    return pipelines;
}

static void on_workers(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        topic_refuse(call, err);
        return;
    }
    const struct msg_workers_are *pool = reply->message;
    if (!is_whole(pool)) {
        topic_fail(call, WEIR_INTERNAL, "the dispatcher sent no good list of workers");
        return;
    }
    topic_answer(call, json_pack("{so,so,so}", "workers", workers_json(pool), "runs",
                                 runs_json(pool), "pipelines", pipelines_json(call->all, pool)));
}

void topic_workers(struct topic_call *call)
{
    weir_rpc_call(call->context->dispatcher, MSG_workers_ask, NULL, ORCHESTRATOR_ASK_MS, on_workers,
                  call);
}
