/* Weir's side: a job at the dispatcher, two worker processes, and a loop on the client library. */
#include "benchmarks/slice/workload.h"

#include "core/base/clock.h"
#include "trainer_client/include/weir/client.h"

enum { PATIENCE_MS = 60000 };

enum weir_status workload_open(const struct workload *workload, struct rig *rig,
                               const struct workload_job *job, struct weir_error *err)
{
    struct msg_job_opened opened;
    const struct msg_job_open open = {
        .job = job->number,
        .file = "bench.yaml",
        .config = weir_bytes_of(workload->config),
        .set_path = workload->set_path,
        .set_digest = workload->set_digest,
        .epochs = workload->epochs,
        .seed = job->seed,
        .ranks = job->ranks,
        .mode = "train",
    };
    const struct rig_call call = {RIG_DISPATCHER, MSG_job_open, &open, MSG_job_opened};
    return rig_request(rig, &call, &opened, err);
}

static enum weir_status translate(const struct weir_client_error *from, struct weir_error *err)
{
    return weir_fail(err, (enum weir_status)from->status, "client: %s", from->text);
}

static void consume(const struct weir_batch *batch, struct tally *tally)
{
    tally_begin(tally, batch->number, batch->samples);
    tally_bytes(tally, batch->ids, batch->samples * sizeof(*batch->ids));
    tally_bytes(tally, batch->labels, batch->samples * sizeof(*batch->labels));
    tally_bytes(tally, batch->weights, batch->samples * sizeof(*batch->weights));
    for (size_t i = 0; i < batch->tensor_count; i++) {
        const struct weir_tensor *tensor = &batch->tensors[i];
        if (tensor->offsets != NULL) {
            tally_bytes(tally, tensor->offsets, (batch->samples + 1) * sizeof(*tensor->offsets));
            tally_rows(tally, tensor->offsets, batch->samples);
        }
        tally_bytes(tally, tensor->data, tensor->bytes);
    }
    tally_end(tally);
}

static double seconds_since(int64_t started_ns)
{
    return (double)(weir_now_ns() - started_ns) / 1e9;
}

static enum weir_status take_batches(struct weir_client *client, struct rig *rig,
                                     struct workload_run *run, int64_t started_ns,
                                     struct weir_error *err)
{
    struct weir_client_error failure;
    struct weir_batch *batch;
    enum weir_client_status status;
    while ((status = weir_client_next(client, PATIENCE_MS, &batch, &failure)) == WEIR_CLIENT_OK) {
        if (run->tally.batches == 0)
            run->first_s = seconds_since(started_ns);
        consume(batch, &run->tally);
        weir_client_consumed(client, batch->number, NULL);
        weir_batch_release(batch);
        if (run->on_batch != NULL)
            run->on_batch(rig, run->tally.batches);
    }
    run->seconds = seconds_since(started_ns);
    return status == WEIR_CLIENT_END ? WEIR_OK : translate(&failure, err);
}

static void take_stats(struct weir_client *client, struct workload_run *run)
{
    struct weir_client_stats stats;

    weir_client_stats(client, &stats);
    run->digest_ns = stats.digest_ns;
    run->batch_bytes = stats.bytes;
}

/* States that the model is made, so that the dispatcher closes its books. */
static enum weir_status commit(struct weir_client *client, struct weir_error *err)
{
    struct weir_client_error failure;
    const void *state;
    size_t size;
    if (weir_client_state(client, &state, &size, &failure) != WEIR_CLIENT_OK ||
        weir_client_commit(client, state, size, 1, PATIENCE_MS, &failure) != WEIR_CLIENT_OK)
        return translate(&failure, err);
    return WEIR_OK;
}

static enum weir_status audit(struct rig *rig, uint64_t job, uint64_t *ret_sent_bytes,
                              struct weir_error *err)
{
    struct msg_job_is is;
    const struct msg_job_request ask = {.job = job};
    const struct rig_call call = {RIG_DISPATCHER, MSG_job_request, &ask, MSG_job_is};
    enum weir_status status = rig_request(rig, &call, &is, err);
    if (status == WEIR_OK)
        *ret_sent_bytes = is.bytes_sent;
    if (status == WEIR_OK && (is.lost > 0 || is.duplicated > 0 || is.delivered != is.set))
        status = weir_fail(err, WEIR_INTERNAL,
                           "audit: %llu of %llu delivered, %llu lost, %llu duplicated",
                           (unsigned long long)is.delivered, (unsigned long long)is.set,
                           (unsigned long long)is.lost, (unsigned long long)is.duplicated);
    return status;
}

enum weir_status workload_run_there(const struct workload *workload, struct rig *rig,
                                    struct workload_run *run, struct weir_error *err)
{
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    options.run = run->job;
    options.socket_dir = rig_socket_dir(rig);
    options.digests = run->keep_digests;
    struct weir_client *client = NULL;
    struct weir_client_error failure;
    int64_t started = weir_now_ns();
    enum weir_status status = workload_open(
        workload, rig, &(struct workload_job){.number = run->job, .seed = WORKLOAD_SEED}, err);
    if (status != WEIR_OK)
        return status;
    if (weir_client_open(&options, &client, &failure) != WEIR_CLIENT_OK)
        return translate(&failure, err);
    status = take_batches(client, rig, run, started, err);
    if (status == WEIR_OK)
        status = commit(client, err);
    if (status == WEIR_OK)
        status = audit(rig, run->job, &run->sent_bytes, err);
    run->audited_s = seconds_since(started);
    take_stats(client, run);
    weir_client_close(client);
    rig_tell(rig, RIG_DISPATCHER, MSG_job_close, &(struct msg_job_close){.job = run->job});
    return status;
}
