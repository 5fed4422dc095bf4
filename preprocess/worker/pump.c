/* Making and sending: one batch a round, so that messages are never kept waiting for longer. */
#include "preprocess/worker/worker.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"

#include <string.h>

enum { ROW_BYTES = sizeof(uint64_t) + sizeof(int64_t) + sizeof(float) /* id, label, weight */ };

void worker_free_discarded(struct worker *worker)
{
    for (void *batch; (batch = worker_flow_discarded(&worker->flow)) != NULL;)
        worker_batch_free(batch);
}

/* ---- memory of consumers ---- */

/* Claims a loan with room for a batch of so many bytes; false when there is none. It stays listed, for it may be given
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

/* Claims one for a batch that can be sent as soon as it is made. What would wait for credit waits in memory of its own:
 * nobody else can use a loan that is claimed. */
static void claim_early(struct worker *worker, const struct worker_make *what,
                        const struct recipe *recipe)
{
    const struct located *located = recipe->located;
    size_t samples;
    (void)located_batch(located, recipe->plan, recipe->batch, &samples);
    uint64_t bytes = samples * (chain_row_bytes(recipe->plan->chain) + ROW_BYTES +
                                located->label_width * sizeof(float));
    int consumer = worker_flow_would_send(&worker->flow, what, bytes, weir_now_ms());
    if (consumer >= 0)
        (void)claim(worker, (size_t)consumer, bytes, recipe->loan);
}

/* What was to be sent as soon as it was made, and was not. */
static void leave_loans(struct worker *worker)
{
    for (size_t i = 0; i < worker->flow.ready_count; i++)
        worker_batch_leave_loan(worker->flow.ready[i].payload);
}

/* ---- making ---- */

static const uint64_t *ids_of(const struct worker_batch *batch)
{
    return (const uint64_t *)(const void *)weir_frames_at(&batch->frames, 0).at;
}

/* Notes why samples failed. True when that fails the run: the batch is never sent then, so that
 * the run cannot end well, and the dispatcher is told at once. */
static bool fails_run(struct worker *worker, struct worker_job *job,
                      const struct worker_batch *batch)
{
    if (batch->failed == 0)
        return false;
    if (job->reason[0] == '\0')
        weir_log(WEIR_LOG_WARN, "samples cannot be read", "job=%lu reason=\"%s\"", job->number,
                 kitchen_reason(worker->kitchen));
    memcpy(job->reason, kitchen_reason(worker->kitchen), sizeof(job->reason));
    const struct failures *failures = kitchen_failures(worker->kitchen);
    for (size_t i = 0; i < failures->count; i++)
        failures_note(&job->failures, failures->of[i].id, failures->of[i].reason);
    worker->beat_due |= job->plan.options.on_error == PREPROCESS_FAIL;
    return job->plan.options.on_error == PREPROCESS_FAIL;
}

static void keep(struct worker *worker, const struct worker_make *what, struct worker_batch *batch)
{
    batch->made_ns = weir_now_ns();
    struct worker_ready ready = {
        .fence = what->fence,
        .batch = what->batch,
        .bytes = batch->bytes,
        .ids = ids_of(batch),
        .id_count = batch->samples,
        .payload = batch,
    };
    if (!worker_flow_made(&worker->flow, &ready))
        worker_batch_free(batch);
}

/* What is missing: ask storage before anything else is made of this lease. */
static void get_missing(struct worker *worker, struct worker_task *task, uint64_t batch,
                        enum weir_status status, const struct weir_error *err)
{
    worker_flow_suspend(&worker->flow, task->fence);
    if (status == WEIR_UNAVAILABLE) {
        worker_fetch(worker, task, batch);
        return;
    }
    weir_log(WEIR_LOG_INFO, "locating samples again", "reason=\"%s\"", err->text);
    worker_locate_again(worker, task);
}

/* A sample that cannot be read may be half written: what storage says of it is asked for again. */
static bool is_to_retry(const struct worker_job *job, const struct worker_task *task,
                        const struct worker_batch *batch)
{
    return batch->failed > 0 && job->plan.options.on_error == PREPROCESS_RETRY &&
           task->located.tries < LOCATE_TRIES_MAX;
}

static void retry(struct worker *worker, struct worker_task *task, struct worker_batch *batch)
{
    weir_log(WEIR_LOG_INFO, "reading samples again", "reason=\"%s\"",
             kitchen_reason(worker->kitchen));
    worker_batch_free(batch);
    worker_flow_suspend(&worker->flow, task->fence);
    worker_locate_again(worker, task);
}

/* Makes it where its consumer reads it, if there is such a place. */
static enum weir_status make_lent(struct worker *worker, const struct worker_make *what,
                                  struct recipe *recipe, struct worker_batch **ret_batch,
                                  struct weir_error *err)
{
    struct batch_loan loan = {.claimed_ms = 0};
    recipe->loan = &loan;
    claim_early(worker, what, recipe);
    enum weir_status status = kitchen_make(worker->kitchen, recipe, ret_batch, err);
    weir_loan_end(&loan.memory, false); /* unless the batch has it */
    if (status == WEIR_OK && weir_now_ms() - (*ret_batch)->loan.claimed_ms >= WORKER_LOAN_MS)
        worker_batch_leave_loan(*ret_batch);
    return status;
}

static void make(struct worker *worker, const struct worker_make *what)
{
    struct worker_lease *lease = worker_flow_lease(&worker->flow, what->fence);
    struct worker_task *task = worker_task_of(worker, lease);
    struct worker_job *job = worker_job_for(worker, lease);
    if (job == NULL || !task->begun) { /* it was closed, or described anew: begin again */
        worker_flow_suspend(&worker->flow, what->fence);
        return;
    }
    struct recipe recipe = {.job = job->number,
                            .plan = &job->plan,
                            .located = &task->located,
                            .fetched = &task->fetched,
                            .flow = &worker->flow,
                            .batch = what->batch};
    struct worker_batch *batch = NULL;
    struct weir_error err = {.text = "storage cannot read it either"};
    enum weir_status status;
    int64_t before_ns = weir_cpu_thread_ns();
    uint64_t before_bytes = kitchen_bytes_read(worker->kitchen);
    int64_t before_read_ns = kitchen_read_ns(worker->kitchen);
    if (lease->attempt == 0)
        status = kitchen_fold(worker->kitchen, &recipe, &task->partial, &err);
    else
        status = make_lent(worker, what, &recipe, &batch, &err);
    if (status == WEIR_OK && lease->attempt != 0)
        worker_batch_compress(batch, worker->compression);
    job->cpu_ns += weir_cpu_thread_ns() - before_ns;
    job->bytes_read += kitchen_bytes_read(worker->kitchen) - before_bytes;
    job->read_ns += kitchen_read_ns(worker->kitchen) - before_read_ns;
    if (status == WEIR_TIMEOUT)
        return; /* the next round goes on with it */
    if (status != WEIR_OK)
        get_missing(worker, task, what->batch, status, &err);
    else if (lease->attempt == 0)
        worker_flow_folded(&worker->flow, what->fence, what->batch);
    else if (is_to_retry(job, task, batch))
        retry(worker, task, batch);
    else if (!fails_run(worker, job, batch))
        keep(worker, what, batch);
    else
        worker_batch_free(batch);
    if (worker_lease_done(lease))
        worker->beat_due = true;
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

/* What the message says of the tensors; arrays live in the arena. */
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
    message->compression = batch->compression;
    if (batch->compression != WEIR_COMPRESSION_NONE)
        message->expanded = (struct weir_u64s){batch->expanded, batch->frames.count};
}

/* Writes the batch to memory of its consumer if that lends any that is large enough. */
static bool lend_out(struct worker *worker, const struct worker_send *send,
                     struct worker_batch *batch, struct weir_arena *arena,
                     struct msg_batch *message)
{
    struct batch_loan *loan = &batch->loan;
    uint64_t *written = weir_arena_alloc(arena, WEIR_WIRE_FRAMES_MAX * sizeof *written);
    bool is_written = false;
    while (!is_written &&
           (loan->memory.at != NULL || claim(worker, send->consumer, batch->bytes, loan)))
        is_written = worker_batch_write(batch, written);
    if (is_written) {
        message->loan = weir_bytes(loan->sent, WEIR_LOAN_BYTES);
        message->written = (struct weir_u64s){written, batch->frames.count};
    }
    return is_written;
}

/* False when the consumer cannot be reached now. */
static bool send_one(struct worker *worker, const struct worker_send *send)
{
    const struct worker_ready *ready = &worker->flow.ready[send->ready];
    const struct worker_consumer *consumer = &worker->flow.consumers[send->consumer];
    struct worker_lease *lease = worker_flow_lease(&worker->flow, ready->fence);
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
        .erasure_epoch = send->epoch,
        .samples = (uint32_t)batch->samples,
        .hole_states = {batch->hole_states, batch->holes},
        .label_kind = batch->label_kind,
        .bytes = ready->bytes,
        .sent = send->sent,
        .label_width = batch->label_width,
    };
    describe_tensors(batch, arena, &message);
    bool is_lent = lend_out(worker, send, batch, arena, &message);
    uint64_t sent_bytes = weir_frames_bytes(&batch->frames);
    if (!weir_rpc_push(worker->server, &worker->routes[send->consumer], MSG_batch, &message,
                       is_lent ? NULL : &batch->frames)) {
        worker_batch_leave_loan(batch);
        return false;
    }
    struct worker_job *job = worker_job_for(worker, lease);
    if (job != NULL) {
        job->bytes_sent += sent_bytes;
        job->queued_ns += weir_now_ns() - batch->made_ns;
    }
    worker_flow_sent(&worker->flow, send, weir_loop_now_ms(worker->loop));
    worker_batch_free(batch);
    if (worker_lease_done(lease))
        worker->beat_due = true;
    return true;
}

void worker_send(struct worker *worker)
{
    struct worker_send send;
    /* The true time: making a batch may have taken long, and the use lease may be over since. */
    while (worker_flow_next_send(&worker->flow, weir_now_ms(), &send)) {
        if (!send_one(worker, &send))
            return; /* the next tick tries again, beginning with the next consumer */
    }
}

/* ---- the pump ---- */

static void pump(void *owner)
{
    struct worker *worker = owner;
    struct worker_make what;
    worker->pumping = false;
    worker_send(worker);
    if (worker_flow_next_make(&worker->flow, &what)) {
        make(worker, &what);
        worker_send(worker);
        leave_loans(worker);
        worker_pump_soon(worker);
    }
    worker_free_discarded(worker);
    worker_beat(worker);
}

void worker_pump_soon(struct worker *worker)
{
    if (worker->pumping)
        return;
    worker->pumping = true;
    weir_loop_soon(worker->loop, pump, worker);
}
