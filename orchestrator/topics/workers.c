/* workers: the pool, what each has spent on which operator, and what trainers wait for. */
#include "orchestrator/topics/topic.h"

static bool is_whole(const struct msg_workers_are *pool)
{
    size_t workers = pool->workers.count, rows = pool->operators.count, jobs = pool->jobs.count;
    bool is_right = pool->leases.count == workers && pool->cpu_ns.count == workers &&
                    pool->bytes_sent.count == workers && pool->bytes_read.count == workers &&
                    pool->queued.count == workers && pool->operator_workers.count == rows &&
                    pool->operator_jobs.count == rows && pool->operator_ns.count == rows &&
                    pool->operator_bytes.count == rows && pool->stalled.count == jobs &&
                    pool->stages.count == jobs;
    for (size_t i = 0; is_right && i < rows; i++)
        is_right = pool->operator_workers.at[i] < workers;
    return is_right;
}

static double seconds(int64_t ns)
{
    return (double)ns / 1e9;
}

static json_t *worker_json(const struct msg_workers_are *pool, size_t i)
{
    uint64_t read = pool->bytes_read.at[i], sent = pool->bytes_sent.at[i];
    return json_pack("{ss,sI,sI,sf,sI,sI,so,s[]}", "worker", pool->workers.at[i], "leases",
                     (json_int_t)pool->leases.at[i], "queued", (json_int_t)pool->queued.at[i],
                     "cpu_seconds", seconds(pool->cpu_ns.at[i]), "bytes_read", (json_int_t)read,
                     "bytes_sent", (json_int_t)sent, "inflation",
                     read > 0 ? json_real((double)sent / (double)read) : json_null(), "operators");
}

static json_t *workers_json(const struct msg_workers_are *pool)
{
    json_t *workers = json_array();
    for (size_t i = 0; i < pool->workers.count; i++)
        json_array_append_new(workers, worker_json(pool, i));
    for (size_t i = 0; i < pool->operators.count; i++) {
        json_t *worker = json_array_get(workers, pool->operator_workers.at[i]);
        json_array_append_new(
            json_object_get(worker, "operators"),
            json_pack("{sI,ss,sf,sI}", "run", (json_int_t)pool->operator_jobs.at[i], "operator",
                      pool->operators.at[i], "cpu_seconds", seconds(pool->operator_ns.at[i]),
                      "bytes_out", (json_int_t)pool->operator_bytes.at[i]));
    }
    return workers;
}

static json_t *runs_json(const struct msg_workers_are *pool)
{
    json_t *runs = json_array();
    for (size_t i = 0; i < pool->jobs.count; i++) {
        const char *stage = pool->stages.at[i];
        json_array_append_new(runs, json_pack("{sI,sf,ss?}", "run", (json_int_t)pool->jobs.at[i],
                                              "stall_fraction", pool->stalled.at[i] / 1000.0,
                                              "stage", stage[0] != '\0' ? stage : NULL));
    }
    return runs;
}

static void on_workers(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct topic_call *call = owner;
    if (reply == NULL) {
        topic_refuse(call, err);
        return;
    }
    const struct msg_workers_are *pool = reply->message;
    if (reply->type != MSG_workers_are || !is_whole(pool)) {
        topic_fail(call, WEIR_INTERNAL, "the dispatcher sent no good list of workers");
        return;
    }
    topic_answer(call,
                 json_pack("{so,so}", "workers", workers_json(pool), "runs", runs_json(pool)));
}

void topic_workers(struct topic_call *call)
{
    weir_rpc_call(call->orch->dispatcher, MSG_workers_ask, NULL, ORCHESTRATOR_ASK_MS, on_workers,
                  call);
}
