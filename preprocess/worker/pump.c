/* Making and sending: one batch a round, so that messages are never kept waiting for longer. */
#include "preprocess/worker/pump.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/utf8.h"
#include "preprocess/worker/beat.h"
#include "preprocess/worker/busy.h"
#include "preprocess/worker/jobs.h"
#include "preprocess/worker/sharing.h"
#include "preprocess/worker/tasks.h"

#include <string.h>

/* ---- memory of consumers ---- */

/* Claims a loan with room for a batch of `bytes`; false when there is none. It stays listed, for it may be given
 * back; it cannot be claimed twice. */
static bool claim(struct worker *worker, size_t consumer, uint64_t bytes, struct batch_loan *loan)
{
    struct worker_loans *loans = &worker->loans[consumer];
    uint64_t room = bytes + WEIR_WIRE_FRAMES_MAX * BATCH_LENT_ALIGNMENT;
    if (bytes < WEIR_LENT_BATCH_BYTES_MIN || worker->compression != WEIR_COMPRESSION_NONE)
        return false;
    for (; loans->count > 0; loans->count--) {
        memcpy(loan->sent, loans->at[loans->count - 1], WEIR_LOAN_BYTES);
        loan->claimed_ms = weir_now_ms();
        bool is_claimed = weir_loan_claim(worker->borrowed, weir_bytes(loan->sent, WEIR_LOAN_BYTES),
                                          &loan->memory);
        if (is_claimed && loan->memory.size >= room)
            return true;
        if (is_claimed)
            weir_loan_end(&loan->memory, false);
    }
    return false;
}

/* Returns the bytes of a batch, as far as they are known before it is made. */
static uint64_t bytes_of(const struct batch_request *request)
{
    size_t samples;
    (void)preprocess_located_batch(request->located, request->plan, request->batch, &samples);
    return samples * (preprocess_plan_row_bytes(request->plan) +
                      request->located->label_width * sizeof(float));
}

/* Claims one for a batch that can be sent as soon as it is made. What would wait for credit waits in memory of its own:
 * nobody else can use a loan that is claimed. */
static void claim_early(struct worker *worker, const struct worker_make *what,
                        const struct batch_request *request)
{
    if (preprocess_chain_left(request->plan->chain)->count > 0)
        return; /* what is not finished is not the consumer's yet */
    uint64_t bytes = bytes_of(request);
    int consumer = preprocess_flow_would_send(&worker->flow, what, bytes, weir_now_ms());
    if (consumer >= 0)
        (void)claim(worker, (size_t)consumer, bytes, request->loan);
}

/* Takes batches that were to be sent at once, and were not, out of lent memory. */
static void leave_loans(struct worker *worker)
{
    for (size_t i = 0; i < worker->flow.ready_count; i++)
        preprocess_batch_leave_loan(worker->flow.ready[i].payload);
}

/* ---- making ---- */

/* Notes why samples failed. True when that fails the run: the batch is never sent then, so that
 * the run cannot end well, and it is reported to the dispatcher at once. */
static bool fails_run(struct worker *worker, struct worker_job *job,
                      const struct worker_batch *batch)
{
    if (batch->failed == 0)
        return false;
    if (job->reason[0] == '\0') {
        weir_utf8_print(job->reason, sizeof(job->reason), "%s", batch->reason);
        /* Its file, and the reason, may name a person: `weir workers` shows them until an erasure. */
        weir_log(WEIR_LOG_WARN, "samples cannot be read", "job=%lu sample=%lu", job->number,
                 batch->failures->of[0].id);
    }
    const struct failures *failures = batch->failures;
    for (size_t i = 0; i < failures->count; i++)
        preprocess_failures_note(&job->failures, failures->of[i].id, failures->of[i].reason);
    worker->reasons += job->failures.is_changed;
    worker->beat_due |= job->failures.is_changed;
    job->failures.is_changed = false;
    worker->beat_due |= job->plan.options.on_error.action == CFG_ON_ERROR_FAIL;
    return job->plan.options.on_error.action == CFG_ON_ERROR_FAIL;
}

/* Notes why samples have no part in the fit: should nothing be left to fit on, the dispatcher says so. */
static void folded(struct worker *worker, struct worker_job *job, const struct worker_make *what)
{
    const char *reason = preprocess_batch_maker_reason(worker->batch_maker);
    if (job->reason[0] == '\0')
        weir_utf8_print(job->reason, sizeof(job->reason), "%s", reason);
    preprocess_flow_folded(&worker->flow, what->fence, what->batch);
}

/* Has the batch wait until its consumer can be sent it. Returns false when nobody wants it now. */
static bool wait_for_credit(struct worker *worker, const struct worker_make *what,
                            struct worker_batch *batch)
{
    batch->made_ns = weir_now_ns();
    struct worker_ready ready = {
        .fence = what->fence,
        .batch = what->batch,
        .bytes = batch->bytes,
        .ids = worker_batch_ids(batch),
        .id_count = batch->samples,
        .payload = batch,
    };
    bool is_wanted = preprocess_flow_made(&worker->flow, &ready);
    if (!is_wanted)
        preprocess_batch_free(batch);
    return is_wanted;
}

/* Has others find it, too. */
static void keep(struct worker *worker, const struct worker_make *what,
                 const struct sharing *sharing, struct worker_batch *batch)
{
    preprocess_sharing_give(worker, preprocess_flow_lease(&worker->flow, what->fence), sharing,
                            what->batch, batch);
    (void)wait_for_credit(worker, what, batch);
}

/* Asks storage for the missing samples before anything else is made of this lease. */
static void get_missing(struct worker *worker, struct worker_task *task, uint64_t batch,
                        enum weir_status status)
{
    preprocess_flow_suspend(&worker->flow, task->fence);
    if (status == WEIR_UNAVAILABLE) {
        preprocess_worker_fetch(worker, task, batch);
        return;
    }
    /* No word of why: a file may be called after a person. */
    weir_log(WEIR_LOG_INFO, "locating samples again", "batch=%lu", batch);
    preprocess_worker_locate_again(worker, task);
}

/* A sample that cannot be read may be half written: what storage says of it is asked for again. */
static bool is_to_retry(const struct worker_job *job, const struct worker_task *task,
                        const struct worker_batch *batch)
{
    return batch->failed > 0 && job->plan.options.on_error.action == CFG_ON_ERROR_RETRY &&
           task->located.tries < LOCATE_TRIES_MAX;
}

static void retry(struct worker *worker, struct worker_task *task, struct worker_batch *batch)
{
    weir_log(WEIR_LOG_INFO, "reading samples again", "sample=%lu", batch->failures->of[0].id);
    preprocess_batch_free(batch);
    preprocess_flow_suspend(&worker->flow, task->fence);
    preprocess_worker_locate_again(worker, task);
}

/* Makes it where its consumer reads it, if there is such a place. */
static enum weir_status make_lent(struct worker *worker, const struct worker_make *what,
                                  struct batch_request *request, struct worker_batch **ret_batch,
                                  struct weir_error *err)
{
    struct batch_loan loan = {.claimed_ms = 0};
    request->loan = &loan;
    claim_early(worker, what, request);
    enum weir_status status =
        preprocess_batch_maker_make(worker->batch_maker, request, ret_batch, err);
    weir_loan_end(&loan.memory, false); /* unless the batch has it */
    if (status == WEIR_OK && weir_now_ms() - (*ret_batch)->loan.claimed_ms >= WORKER_LOAN_MS)
        preprocess_batch_leave_loan(*ret_batch);
    return status;
}

/* Memory for a batch that the consumers of a production read; NULL: it is made in the worker's own. */
static struct weir_published *publish(struct worker *worker, uint64_t production,
                                      const struct batch_request *request)
{
    uint64_t bytes = bytes_of(request);
    bool is_finished = preprocess_chain_left(request->plan->chain)->count == 0;
    if (worker->ways == NULL || worker->compression != WEIR_COMPRESSION_NONE || !is_finished ||
        bytes < WORKER_PUBLISHED_BYTES_MIN)
        return NULL;
    return preprocess_sharing_memory(worker, production,
                                     bytes + WEIR_WIRE_FRAMES_MAX * BATCH_LENT_ALIGNMENT);
}

/* Makes it for several consumers, where each of them reads it, if that can be. */
static enum weir_status make_shared(struct worker *worker, uint64_t production,
                                    struct batch_request *request, struct worker_batch **ret_batch,
                                    struct weir_error *err)
{
    struct weir_published *published = publish(worker, production, request);
    struct batch_loan loan = {.claimed_ms = 0};
    if (published != NULL)
        loan.memory = (struct weir_loan){
            .at = published->at, .size = published->size, .word = &published->word};
    request->loan = &loan;
    enum weir_status status =
        preprocess_batch_maker_make(worker->batch_maker, request, ret_batch, err);
    weir_loan_end(&loan.memory, false); /* unless the batch has it */
    if (status == WEIR_OK && published != NULL)
        preprocess_batch_publish(*ret_batch, published);
    else
        weir_published_free(published);
    return status;
}

/* The samples that the batches of a lease are made of: its own, or those that another one has located. */
struct source {
    struct worker_lease *lease;
    struct worker_task *task;
    struct worker_job *job;
};

/* False when there is none, or not yet: the lease begins again. */
static bool find_source(struct worker *worker, const struct worker_lease *lease,
                        struct source *ret_source)
{
    struct worker_lease *donor = preprocess_sharing_donor(worker, lease);
    if (donor == NULL || donor->batches.count == 0)
        return false;
    ret_source->lease = donor;
    ret_source->task = preprocess_worker_task_of(worker, donor);
    ret_source->job = preprocess_worker_job_for(worker, donor);
    return ret_source->job != NULL;
}

/* Compresses a batch that was made at `made_ns` of the thread's CPU time; returns that time after it. */
static int64_t compress(struct worker *worker, struct worker_batch *batch, int64_t made_ns)
{
    if (worker->compression == WEIR_COMPRESSION_NONE)
        return made_ns;
    preprocess_batch_compress(batch, worker->compression);
    int64_t after_ns = weir_cpu_thread_ns();
    worker->compress_ns += after_ns - made_ns;
    return after_ns;
}

/* A batch that is made, or a part of a fit, on its way. */
struct making {
    const struct worker_make *what;
    struct worker_lease *lease;
    struct worker_job *job;
    struct source source;
    struct sharing sharing;
    struct worker_batch *batch; /* NULL: it failed, or is folded into the fit */
};

/* Returns true for a part of a fit, of which no batch comes. */
static bool is_fit(const struct making *making)
{
    return making->lease->attempt == 0;
}

/* Makes the batch where its consumers are to read it. WEIR_TIMEOUT: the next round goes on with it. */
static enum weir_status make_somewhere(struct worker *worker, struct making *making,
                                       struct batch_request *request, struct weir_error *err)
{
    if (is_fit(making))
        return preprocess_batch_maker_fold(worker->batch_maker, request,
                                           &making->source.task->partial, err);
    if (making->sharing.count > 1)
        return make_shared(worker, making->lease->production, request, &making->batch, err);
    return make_lent(worker, making->what, request, &making->batch, err);
}

/* Charges the job with what making takes: CPU time, also to those that share it, and reading. */
static enum weir_status make_charged(struct worker *worker, struct making *making,
                                     struct batch_request *request, struct weir_error *err)
{
    struct worker_job *job = making->job;
    int64_t before_ns = weir_cpu_thread_ns();
    struct batch_maker_read before_read = preprocess_batch_maker_read(worker->batch_maker);
    struct kept_tally before_kept = preprocess_batch_maker_kept(worker->batch_maker)->tally;
    enum weir_status status = make_somewhere(worker, making, request, err);
    int64_t after_ns = weir_cpu_thread_ns();
    if (status == WEIR_OK && !is_fit(making))
        after_ns = compress(worker, making->batch, after_ns);
    preprocess_sharing_charge(&making->sharing, after_ns - before_ns);
    struct batch_maker_read read = preprocess_batch_maker_read(worker->batch_maker);
    struct kept_tally kept = preprocess_batch_maker_kept(worker->batch_maker)->tally;
    job->bytes_read += read.bytes - before_read.bytes;
    job->read_ns += read.ns - before_read.ns;
    preprocess_kept_tally_add(&job->kept, &before_kept, &kept);
    return status;
}

/* Passes on what was made. */
static void finish(struct worker *worker, struct making *making)
{
    struct worker_task *task = making->source.task;
    making->job->batches++;
    if (is_fit(making))
        folded(worker, making->job, making->what);
    else if (is_to_retry(making->job, task, making->batch))
        retry(worker, task, making->batch);
    else if (!fails_run(worker, making->job, making->batch))
        keep(worker, making->what, &making->sharing, making->batch);
    else
        preprocess_batch_free(making->batch);
}

static void make(struct worker *worker, const struct worker_make *what)
{
    struct making making = {.what = what,
                            .lease = preprocess_flow_lease(&worker->flow, what->fence)};
    making.job = preprocess_worker_job_for(worker, making.lease);
    if (making.job == NULL || !find_source(worker, making.lease, &making.source)) {
        preprocess_flow_suspend(&worker->flow, what->fence); /* closed, or described again */
        return;
    }
    struct batch_request request = {.job = making.source.job->number,
                                    .plan = &making.source.job->plan,
                                    .located = &making.source.task->located,
                                    .fetched = &making.source.task->fetched,
                                    .sums = &worker->sums,
                                    .flow = &worker->flow,
                                    .batch = what->batch,
                                    .tells_line = making.job->reason[0] == '\0'};
    preprocess_sharing_find(worker, making.lease, making.job, what->batch, bytes_of(&request),
                            &making.sharing);
    preprocess_worker_busy_with(worker, &making.sharing);
    struct weir_error err = {.text = "storage cannot read it either"};
    enum weir_status status = make_charged(worker, &making, &request, &err);
    if (status == WEIR_TIMEOUT)
        return; /* the next round goes on with it */
    if (status == WEIR_OK)
        finish(worker, &making);
    else
        get_missing(worker, making.source.task, what->batch, status);
    if (preprocess_worker_lease_done(making.lease))
        worker->beat_due = true;
}

/* Takes the batch as it was made for another job. False when it is to be made. */
static bool take(struct worker *worker, const struct worker_make *what)
{
    struct worker_lease *lease = preprocess_flow_lease(&worker->flow, what->fence);
    struct worker_batch *batch = preprocess_sharing_take(worker, lease, what->batch);
    struct worker_job *job = batch != NULL ? preprocess_worker_job_for(worker, lease) : NULL;
    if (job != NULL) {
        job->shared++;
        job->batches++;
        (void)fails_run(worker, job, batch); /* such a one was not shared */
    }
    return batch != NULL && wait_for_credit(worker, what, batch);
}

/* ---- sending ---- */

/* Appends the dimensions of a tensor, and returns how many they are. */
static uint32_t describe_shape(const struct column_about *about, size_t samples, uint64_t *shape)
{
    uint32_t rank = 0;
    shape[rank++] = samples;
    if (about->kind == COLUMN_DENSE && about->shape[0] == 0)
        shape[rank++] = about->width;
    for (size_t i = 0; i < COLUMN_SHAPE_MAX && about->shape[0] != 0; i++)
        shape[rank++] = about->shape[i];
    return rank;
}

/* Describes the tensors in the message; arrays live in the arena. */
static void describe_tensors(const struct worker_batch *batch, struct weir_arena *arena,
                             struct msg_batch *message)
{
    size_t room = (COLUMNS_MAX + 1) * sizeof(uint64_t), dimensions = 0;
    const char **names = weir_arena_alloc(arena, room);
    uint32_t *types = weir_arena_alloc(arena, room), *ranks = weir_arena_alloc(arena, room);
    uint32_t *ragged = weir_arena_alloc(arena, room);
    uint64_t *shape = weir_arena_alloc(arena, (1 + COLUMN_SHAPE_MAX) * room);
    for (size_t i = 0; i < batch->tensors; i++) {
        const struct column_about *about = &batch->tensor[i];
        names[i] = about->name;
        types[i] = about->type;
        ragged[i] = about->kind == COLUMN_RAGGED;
        ranks[i] = describe_shape(about, batch->samples, shape + dimensions);
        dimensions += ranks[i];
    }
    message->names = (struct weir_strs){names, batch->tensors};
    message->types = (struct weir_u32s){types, batch->tensors};
    message->ranks = (struct weir_u32s){ranks, batch->tensors};
    message->shape = (struct weir_u64s){shape, dimensions};
    message->ragged = (struct weir_u32s){ragged, batch->tensors};
    if (batch->left != NULL)
        message->steps = weir_tensor_steps_words(batch->left);
    message->compression = batch->compression;
    if (batch->compression != WEIR_COMPRESSION_NONE)
        message->expanded = (struct weir_u64s){batch->expanded, batch->frames.count};
}

/* Names the frames' sizes in memory that is lent, or published. */
static void describe_frames(const struct worker_batch *batch, struct weir_arena *arena,
                            struct msg_batch *message)
{
    uint64_t *written = weir_arena_alloc(arena, WEIR_WIRE_FRAMES_MAX * sizeof(*written));
    for (size_t i = 0; i < batch->frames.count; i++)
        written[i] = weir_frames_at(&batch->frames, i).size;
    message->written = (struct weir_u64s){written, batch->frames.count};
}

/* Has the consumer map the batch, if it was made for several. Who cannot be reached so gets a copy. */
static bool hand_out(struct worker *worker, const struct worker_send *send,
                     const struct worker_batch *batch, struct weir_arena *arena,
                     struct msg_batch *message)
{
    uint64_t reader = worker->flow.consumers[send->consumer].session;
    if (batch->published == NULL || !weir_ways_send(worker->ways, reader, batch->published))
        return false;
    message->published = batch->published->key;
    describe_frames(batch, arena, message);
    return true;
}

/* Writes the batch to memory of its consumer if that lends any that is large enough. */
static bool lend_out(struct worker *worker, const struct worker_send *send,
                     struct worker_batch *batch, struct weir_arena *arena,
                     struct msg_batch *message)
{
    struct batch_loan *loan = &batch->loan;
    uint64_t *written = weir_arena_alloc(arena, WEIR_WIRE_FRAMES_MAX * sizeof(*written));
    bool is_written = false;
    while (batch->left == NULL && !is_written &&
           (loan->memory.at != NULL || claim(worker, send->consumer, batch->bytes, loan)))
        is_written = preprocess_batch_write(batch, written);
    if (is_written) {
        message->loan = weir_bytes(loan->sent, WEIR_LOAN_BYTES);
        message->written = (struct weir_u64s){written, batch->frames.count};
    }
    return is_written;
}

/* Hands the batch to the transport: in memory that the consumer reads, or through the socket. False when the consumer
 * cannot be reached now. */
static bool transport(struct worker *worker, const struct worker_send *send,
                      struct worker_batch *batch, struct weir_arena *arena,
                      struct msg_batch *message)
{
    uint64_t made_bytes = preprocess_batch_made_bytes(batch);
    bool is_lent = hand_out(worker, send, batch, arena, message) ||
                   lend_out(worker, send, batch, arena, message);
    if (!is_lent)
        preprocess_batch_unpublish(batch); /* it is sent after the batch is gone */
    bool is_sent = weir_rpc_push(worker->server, &worker->routes[send->consumer], MSG_batch,
                                 message, is_lent ? NULL : &batch->frames);
    if (is_sent)
        *(is_lent ? &worker->lent_bytes : &worker->socket_bytes) += made_bytes;
    else
        preprocess_batch_leave_loan(batch);
    return is_sent;
}

/* False when the consumer cannot be reached now. */
static bool send_one(struct worker *worker, const struct worker_send *send)
{
    const struct worker_ready *ready = &worker->flow.ready[send->ready];
    const struct worker_consumer *consumer = &worker->flow.consumers[send->consumer];
    struct worker_lease *lease = preprocess_flow_lease(&worker->flow, ready->fence);
    struct worker_batch *batch = ready->payload;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct msg_batch message = {
        .job = consumer->job,
        .attempt = lease->attempt,
        .session = consumer->session,
        .worker_session = worker->flow.session,
        .batch = ready->batch,
        .group = lease->group,
        .fence = ready->fence,
        .erasure_epoch = send->erasure_epoch,
        .samples = (uint32_t)batch->samples,
        .hole_states = {batch->hole_states, batch->holes},
        .label_kind = batch->label_kind,
        .bytes = ready->bytes,
        .sent = send->sent,
        .label_width = batch->label_width,
    };
    describe_tensors(batch, arena, &message);
    preprocess_worker_busy_on(worker, lease);
    uint64_t sent_bytes = weir_frames_bytes(&batch->frames);
    if (!transport(worker, send, batch, arena, &message))
        return false;
    struct worker_job *job = preprocess_worker_job_for(worker, lease);
    if (job != NULL) {
        job->bytes_sent += sent_bytes;
        job->queued_ns += weir_now_ns() - batch->made_ns;
    }
    preprocess_flow_sent(&worker->flow, send, weir_loop_now_ms(worker->loop));
    preprocess_batch_free(batch);
    if (preprocess_worker_lease_done(lease))
        worker->beat_due = true;
    return true;
}

/* Sends nothing before the dispatcher knows why samples failed: a run may end with this batch, and its
 * audit gives the reasons. */
static void send_ready(struct worker *worker)
{
    struct worker_send send;
    if (worker->reasons_known != worker->reasons)
        return;
    /* The true time: making a batch may have taken long, and the use lease may be over since. */
    while (preprocess_flow_next_send(&worker->flow, weir_now_ms(), &send)) {
        if (!send_one(worker, &send))
            return; /* the next tick tries again, beginning with the next consumer */
    }
}

/* ---- the pump ---- */

void preprocess_worker_pump(void *owner)
{
    struct worker *worker = owner;
    struct worker_make what;
    worker->pumping = false;
    preprocess_worker_busy_on(worker, preprocess_flow_work(&worker->flow));
    send_ready(worker);
    bool has_work = preprocess_flow_next_make(&worker->flow, &what);
    while (has_work && take(worker, &what)) {
        send_ready(worker);
        has_work = preprocess_flow_next_make(&worker->flow, &what);
    }
    if (has_work) {
        make(worker, &what);
        send_ready(worker);
        leave_loans(worker);
        preprocess_worker_pump_soon(worker);
    }
    preprocess_worker_busy_on(worker, preprocess_flow_work(&worker->flow));
    preprocess_worker_free_discarded(worker);
    preprocess_worker_beat(worker);
}
