/* Getting leases ready: what their job is, where their samples are, and what only storage can read. */
#include "preprocess/worker/tasks.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "preprocess/worker/jobs.h"
#include "preprocess/worker/sharing.h"

enum {
    WAITS_MAX = 5,  /* some 64 s at most */
    LOOKS_MAX = 16, /* files of a lease that are looked at */
};

static void end_objects(struct worker_task *task)
{
    preprocess_objects_end(task->objects);
    task->objects = NULL;
}

/* Nothing of what it waits for is taken in. */
static void forget(struct worker *worker, struct worker_task *task)
{
    weir_rpc_forget(worker->storage, task);
    if (worker->lent_to == task)
        worker->lent_to = NULL;
    end_objects(task);
    task->is_requesting = false;
}

static void reset(struct worker *worker, struct worker_task *task)
{
    if (task->is_requesting)
        forget(worker, task);
    preprocess_located_end(&task->located);
    preprocess_fetched_fini(&task->fetched);
    preprocess_chain_partial_fini(&task->partial);
    *task = (struct worker_task){.worker = worker, .located = task->located};
}

struct worker_task *preprocess_worker_task_of(struct worker *worker,
                                              const struct worker_lease *lease)
{
    struct worker_task *task = &worker->tasks[lease - worker->flow.leases];
    if (task->fence != lease->fence) {
        reset(worker, task);
        task->fence = lease->fence;
    }
    return task;
}

static void request_next(struct worker *worker, struct worker_task *task);

/* Returns the time-out of a request: twice as long after each one that storage was too slow for, or the answer would
 * never come in time. */
static int64_t patience_ms(const struct worker_task *task)
{
    return (int64_t)WORKER_REQUEST_MS << (task->waits < WAITS_MAX ? task->waits : WAITS_MAX);
}

static void prepare_again(void *owner)
{
    struct worker *worker = owner;
    worker->preparing = false;
    preprocess_worker_prepare(worker);
}

/* Has the other leases wait for what is due before, such as the first batch of the one that is ready. */
static void prepare_soon(struct worker *worker)
{
    if (!worker->preparing)
        weir_loop_soon(worker->loop, prepare_again, worker);
    worker->preparing = true;
}

/* The answer is in, or it was none: then it is asked for again a little later. */
static void answered(struct worker_task *task, enum weir_status status,
                     const struct weir_error *err)
{
    task->is_requesting = false;
    if (status == WEIR_OK) {
        task->waits = 0;
        request_next(task->worker, task);
        prepare_soon(task->worker); /* it may be another's turn */
        return;
    }
    task->waits += err->status == WEIR_TIMEOUT;
    task->retry_ms = weir_loop_now_ms(task->worker->loop) + WORKER_RETRY_MS;
    weir_log(WEIR_LOG_DEBUG, "storage did not answer, asking again", "reason=\"%s\"", err->text);
}

/* Leaves files to storage to read that have no path, or are of another host and not to be seen, or believed, from here.
 * To look at every small file would cost as much as to read it: those after the first are taken to be like the last one
 * looked at, and whichever cannot be read is left to storage then. */
static void leave_to_storage(struct worker_task *task)
{
    struct files *files = preprocess_batch_maker_files(task->worker->batch_maker);
    const struct located *located = &task->located;
    bool is_seen = true;
    unsigned looks = 0;
    for (uint32_t i = 0; i < located->file_count; i++) {
        const struct file_about *about = &located->files[i];
        bool is_elsewhere = *about->path != '\0' && preprocess_files_is_elsewhere(files, about);
        if (is_elsewhere && looks++ < LOOKS_MAX)
            is_seen = preprocess_files_check(files, about);
        bool is_read_here = !is_elsewhere || (is_seen && preprocess_files_trusts(files, about));
        if (*about->path == '\0' && preprocess_files_is_elsewhere(files, about))
            preprocess_fetched_add_object(&task->fetched, i);
        else if (*about->path == '\0' || !is_read_here)
            preprocess_fetched_add_file(&task->fetched, i);
    }
}

static void on_located(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct worker_task *task = owner;
    struct weir_error reason = {0};
    enum weir_status status = WEIR_INVALID;
    if (reply != NULL)
        status = preprocess_located_take(&task->located, reply->message, &reason);
    if (status == WEIR_OK)
        leave_to_storage(task);
    answered(task, status, err != NULL ? err : &reason);
}

/* Takes in chunks; locations filled in before count only once storage has confirmed them. */
static enum weir_status take_chunks(struct worker_task *task, const struct weir_reply *reply,
                                    struct weir_error *err)
{
    const struct msg_located_chunks *answer = reply->message;
    struct worker *worker = task->worker;
    struct msg_locate_chunks rest;
    int64_t now_ms = weir_loop_now_ms(worker->loop);
    bool is_changed;
    if (answer->epoch < worker->flow.erasure_epoch)
        return weir_fail(err, WEIR_STALE, "located_chunks: of epoch %lu, expected %lu at least",
                         answer->epoch, worker->flow.erasure_epoch);
    enum weir_status status = preprocess_layouts_take(
        worker->layouts, answer, weir_frames_at(reply->frames, 0), now_ms, &is_changed, err);
    if (status != WEIR_OK)
        return status;
    task->is_placed = !preprocess_layouts_wanted(worker->layouts, &rest) || rest.ids.count == 0;
    if (is_changed && task->is_placed)
        preprocess_layouts_fill(worker->layouts, &task->located, now_ms);
    return WEIR_OK;
}

/* Storage refuses: all is asked for one by one. */
static void place_none(struct worker_task *task)
{
    preprocess_located_forget(&task->located);
    task->is_placed = true;
}

static void on_chunks(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct worker_task *task = owner;
    struct weir_error reason = {0};
    enum weir_status status = WEIR_INVALID;
    if (reply != NULL)
        status = take_chunks(task, reply, &reason);
    if (err != NULL && err->status != WEIR_TIMEOUT) {
        place_none(task);
        status = WEIR_OK;
    }
    if (status == WEIR_OK)
        leave_to_storage(task);
    answered(task, status, err != NULL ? err : &reason);
}

/* Notes what the answer says of the link. */
static void hear_link(struct worker_task *task, const struct msg_read_is *answer, uint64_t payload,
                      uint64_t wire)
{
    preprocess_link_heard(&task->worker->link,
                          &(struct link_answer){.asked_ns = task->read_ns,
                                                .now_ns = weir_now_ns(),
                                                .spent_ns = answer->spent_ns,
                                                .compress_ns = answer->compress_ns,
                                                .payload = payload,
                                                .wire = wire});
}

/* Expands what was compressed on its way, into `out`. */
static enum weir_status expand(const struct msg_read_is *answer, struct weir_bytes *payload,
                               struct weir_buf *out, struct weir_error *err)
{
    if (answer->expanded == 0)
        return WEIR_OK;
    bool is_good = answer->expanded <= PREPROCESS_PAYLOAD_BYTES_MAX &&
                   weir_may_expand(answer->compression, *payload, answer->expanded);
    if (is_good) {
        weir_buf_reserve(out, answer->expanded);
        is_good = weir_expand(answer->compression, *payload, out->at, answer->expanded);
    }
    if (!is_good)
        return weir_fail(err, WEIR_INVALID, "read_is: %zu bytes that do not expand to %lu",
                         payload->size, answer->expanded);
    *payload = weir_bytes(out->at, answer->expanded);
    return WEIR_OK;
}

static enum weir_status take_read(struct worker_task *task, const struct weir_reply *reply,
                                  struct weir_error *err)
{
    const struct msg_read_is *answer = reply->message;
    const struct worker *worker = task->worker;
    const struct weir_segment *lent = worker->lent_to == task ? worker->lent : NULL;
    struct weir_bytes payload = weir_segment_answer(lent, answer->written, reply->frames);
    WEIR_AUTO_BUF expanded = {0};
    if (answer->epoch < worker->flow.erasure_epoch)
        return weir_fail(err, WEIR_STALE, "read_is: of epoch %lu, expected %lu at least",
                         answer->epoch, worker->flow.erasure_epoch);
    uint64_t wire = payload.size;
    enum weir_status status = expand(answer, &payload, &expanded, err);
    if (status == WEIR_OK && lent == NULL)
        hear_link(task, answer, payload.size, wire);
    return status == WEIR_OK ? preprocess_fetched_take(&task->fetched, answer, payload, err)
                             : status;
}

/* Charges the job for the time that storage has read for it, as for its own files. */
static void charge_read(struct worker_task *task)
{
    struct worker *worker = task->worker;
    struct worker_lease *lease = preprocess_flow_lease(&worker->flow, task->fence);
    struct worker_job *job = lease != NULL ? preprocess_worker_job_for(worker, lease) : NULL;
    if (job != NULL)
        job->read_ns += weir_now_ns() - task->read_ns;
}

static void on_read(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct worker_task *task = owner;
    struct weir_error reason = {0};
    enum weir_status status = WEIR_INVALID;
    if (reply != NULL)
        status = take_read(task, reply, &reason);
    if (task->worker->lent_to == task)
        task->worker->lent_to = NULL;
    charge_read(task);
    if (err != NULL && err->status != WEIR_TIMEOUT) {
        preprocess_fetched_give_up(&task->fetched);
        status = WEIR_OK;
    }
    answered(task, status, err != NULL ? err : &reason);
}

/* True for a sample that is read here, from a file of another host, and whose sum is not known yet. */
static bool needs_sum(const struct worker_task *task, const struct located_sample *sample)
{
    const struct worker *worker = task->worker;
    return sample->state == WEIR_SAMPLE_LIVE &&
           !preprocess_fetched_has_file(&task->fetched, sample->file) &&
           preprocess_files_is_elsewhere(preprocess_batch_maker_files(worker->batch_maker),
                                         &task->located.files[sample->file]) &&
           !preprocess_record_sums_has(&worker->sums, sample->id);
}

/* True when a file of the lease is of another host. */
static bool reads_from_elsewhere(const struct worker_task *task)
{
    const struct files *files = preprocess_batch_maker_files(task->worker->batch_maker);
    size_t i = 0, count = task->located.file_count;
    while (i < count && !preprocess_files_is_elsewhere(files, &task->located.files[i]))
        i++;
    return i < count;
}

/* Lists the next samples whose sums are needed; 0: there are none. */
static size_t sums_wanted(struct worker_task *task, uint64_t ids[FETCH_IDS_MAX])
{
    const struct located *located = &task->located;
    if (!reads_from_elsewhere(task))
        return 0;
    size_t count = 0, i = task->summed;
    for (; i < located->count && count < FETCH_IDS_MAX; i++) {
        if (needs_sum(task, &located->samples[i]))
            ids[count++] = located->samples[i].id;
    }
    if (count == 0)
        task->summed = i;
    return count;
}

/* Takes in sums of samples in the order of their places. A file whose sample storage cannot read either is storage's to
 * say so of. */
static enum weir_status take_sums(struct worker_task *task, const struct msg_read_is *answer,
                                  struct weir_error *err)
{
    const struct located *located = &task->located;
    size_t count = answer->ids.count, taken = 0, i = task->summed;
    bool is_right = count > 0 && answer->sums.count == count && answer->states.count == count;
    for (; is_right && i < located->count && taken < count; i++) {
        const struct located_sample *sample = &located->samples[i];
        if (sample->id != answer->ids.at[taken])
            continue;
        if (answer->states.at[taken] == WEIR_SAMPLE_LIVE)
            preprocess_record_sums_put(&task->worker->sums, sample->id, answer->sums.at[taken]);
        else
            preprocess_fetched_add_file(&task->fetched, sample->file);
        taken++;
    }
    if (!is_right || taken < count)
        return weir_fail(err, WEIR_INVALID, "read_is: sums of %zu samples that were not asked for",
                         count - taken);
    task->summed = i;
    return WEIR_OK;
}

static void on_sums(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct worker_task *task = owner;
    struct weir_error reason = {0};
    enum weir_status status = WEIR_INVALID;
    if (reply != NULL)
        status = take_sums(task, reply->message, &reason);
    charge_read(task);
    answered(task, status, err != NULL ? err : &reason);
}

/* ---- objects ---- */

/* Takes in what has come; storage reads the rest. */
static void on_objects(void *owner)
{
    struct worker_task *task = owner;
    size_t count;
    const struct object_part *parts = preprocess_objects_parts(task->objects, &count);
    for (size_t i = 0; i < count; i++) {
        if (parts[i].is_there)
            preprocess_fetched_put(&task->fetched, parts[i].sample, parts[i].bytes);
    }
    end_objects(task);
    charge_read(task);
    answered(task, WEIR_OK, NULL);
}

static void on_authority(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct worker_task *task = owner;
    struct weir_error reason = {0};
    enum weir_status status = WEIR_INVALID;
    if (reply != NULL) {
        const struct msg_authority_is *answer = reply->message;
        status =
            preprocess_objects_learn(task->worker->objects, task->authority, answer->pem, &reason);
    }
    if (status != WEIR_OK)
        preprocess_fetched_end_grants(&task->fetched);
    answered(task, WEIR_OK, err);
}

/* Asks for certificates that are not known; grants are asked for again then, since these end meanwhile. False: all are
 * known, or other leases, which need others, have them forgotten all the time: storage reads what they vouch for. */
static bool request_authority(struct worker_task *task, const struct msg_granted *answer)
{
    struct worker *worker = task->worker;
    const char *lacking = preprocess_objects_lack(worker->objects, answer);
    if (lacking == NULL || task->authorities_asked == AUTHORITIES_MAX)
        return false;
    task->authorities_asked++;
    snprintf(task->authority, sizeof(task->authority), "%s", lacking);
    weir_rpc_call(worker->storage, MSG_authority, &(struct msg_authority){.hash = task->authority},
                  patience_ms(task), on_authority, task);
    return true;
}

static enum weir_status take_grants(struct worker_task *task, const struct msg_granted *answer,
                                    struct weir_error *err)
{
    struct worker *worker = task->worker;
    WEIR_AUTO_FREE uint32_t *samples = weir_calloc(FETCH_IDS_MAX, sizeof(*samples));
    if (answer->epoch < worker->flow.erasure_epoch)
        return weir_fail(err, WEIR_STALE, "granted: of epoch %lu, expected %lu at least",
                         answer->epoch, worker->flow.erasure_epoch);
    enum weir_status status = preprocess_fetched_note_grants(&task->fetched, answer, samples, err);
    if (status == WEIR_OK)
        status = preprocess_objects_read(
            worker->objects,
            &(struct objects_job){
                .answer = answer, .samples = samples, .done = on_objects, .owner = task},
            &task->objects, err);
    return status;
}

static void on_granted(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct worker_task *task = owner;
    struct weir_error reason = {0};
    enum weir_status status = WEIR_OK;
    if (reply != NULL && request_authority(task, reply->message))
        return;
    if (reply != NULL)
        status = take_grants(task, reply->message, &reason);
    if (task->objects != NULL)
        return;
    charge_read(task);
    if (reply == NULL) /* storage reads them, then */
        preprocess_fetched_end_grants(&task->fetched);
    answered(task, status, err != NULL ? err : &reason);
}

/* Asks for grants of objects that are worth a request of their own; false: there are none. */
static bool request_grants(struct worker_task *task, uint64_t ids[FETCH_IDS_MAX])
{
    struct worker *worker = task->worker;
    size_t count = preprocess_objects_use_grants(worker->objects)
                       ? preprocess_fetched_grantable(&task->fetched, ids)
                       : 0;
    if (count > 0)
        weir_rpc_call(worker->storage, MSG_grant, &(struct msg_grant){.ids = {ids, count}},
                      patience_ms(task), on_granted, task);
    return count > 0;
}

/* ---- requests ---- */

/* One task at a time has the memory, where storage can reach it; others are answered with frames. */
static struct weir_bytes lend(struct worker *worker, const struct worker_task *task)
{
    if (worker->lent_to != NULL || worker->sets != NULL)
        return weir_bytes(NULL, 0);
    worker->lent_to = task;
    return weir_segment_lend(worker->lent);
}

/* Asks for chunks, and whether those that are held still hold; false when that is of no use. What proved
 * stale is asked for sample by sample. */
static bool request_chunks(struct worker *worker, struct worker_task *task)
{
    struct msg_locate_chunks request;
    if (task->is_placed || task->located.tries > 0)
        return false;
    preprocess_layouts_fill(worker->layouts, &task->located, weir_loop_now_ms(worker->loop));
    task->is_placed = !preprocess_layouts_wanted(worker->layouts, &request);
    if (!task->is_placed)
        weir_rpc_call(worker->storage, MSG_locate_chunks, &request, patience_ms(task), on_chunks,
                      task);
    return !task->is_placed;
}

/* Asks for the next piece of what is not known; false when there is none. */
static bool request_storage(struct worker *worker, struct worker_task *task)
{
    if (request_chunks(worker, task))
        return true;
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(LOCATE_IDS_MAX, sizeof(*ids));
    size_t count = preprocess_located_wanted(&task->located, ids);
    if (count > 0) {
        weir_rpc_call(worker->storage, MSG_locate, &(struct msg_locate){.ids = {ids, count}},
                      patience_ms(task), on_located, task);
        return true;
    }
    task->read_ns = weir_now_ns();
    count = sums_wanted(task, ids);
    if (count > 0) {
        weir_rpc_call(worker->storage, MSG_read,
                      &(struct msg_read){.ids = {ids, count}, .sums = true}, patience_ms(task),
                      on_sums, task);
        return true;
    }
    if (request_grants(task, ids))
        return true;
    count = preprocess_fetched_wanted(&task->fetched, ids);
    if (count > 0)
        weir_rpc_call(worker->storage, MSG_read,
                      &(struct msg_read){.ids = {ids, count},
                                         .loan = lend(worker, task),
                                         .compression = preprocess_link_choose(&worker->link)},
                      patience_ms(task), on_read, task);
    return count > 0;
}

static bool is_unlocated(const struct worker_task *task)
{
    bool is_placed = task->is_placed || task->located.tries > 0;
    return task->begun && !(is_placed && preprocess_located_is_known(&task->located));
}

/* One lease at a time is located, the lowest group first: all at once would keep storage busy with
 * what is needed later, and the first batch waiting. */
static bool must_wait(struct worker *worker, const struct worker_task *task, uint64_t group)
{
    int64_t now_ms = weir_loop_now_ms(worker->loop);
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        const struct worker_task *other = &worker->tasks[i];
        const struct worker_lease *lease = &worker->flow.leases[i];
        if (other == task || lease->fence == 0 || lease->fence != other->fence ||
            !is_unlocated(other))
            continue;
        if (other->is_requesting || (lease->group < group && now_ms >= other->retry_ms))
            return true;
    }
    return false;
}

/* Asks on; when everything is known, the lease begins. */
static void request_next(struct worker *worker, struct worker_task *task)
{
    struct worker_lease *lease = preprocess_flow_lease(&worker->flow, task->fence);
    if (task->is_requesting || lease == NULL || weir_loop_now_ms(worker->loop) < task->retry_ms ||
        (is_unlocated(task) && must_wait(worker, task, lease->group)))
        return;
    task->is_requesting = request_storage(worker, task);
    if (task->is_requesting)
        return;
    struct worker_job *job = preprocess_worker_job_for(worker, lease);
    if (job == NULL)
        return;
    preprocess_flow_begin(&worker->flow, lease->fence,
                          preprocess_group(&job->plan.geometry, lease->group));
    preprocess_worker_pump_soon(worker);
}

void preprocess_worker_fetch(struct worker *worker, struct worker_task *task, uint64_t batch)
{
    struct worker_lease *lease = preprocess_flow_lease(&worker->flow, task->fence);
    struct worker_job *job = lease != NULL ? preprocess_worker_job_for(worker, lease) : NULL;
    size_t count;
    if (job == NULL)
        return;
    const struct located_sample *samples =
        preprocess_located_batch(&task->located, &job->plan, batch, &count);
    preprocess_fetched_begin(&task->fetched, batch, samples, count,
                             preprocess_batch_maker_kept(worker->batch_maker));
    task->authorities_asked = 0;
    request_next(worker, task);
}

void preprocess_worker_locate_again(struct worker *worker, struct worker_task *task)
{
    task->retry_ms =
        weir_loop_now_ms(worker->loop) + ((int64_t)LOCATE_PAUSE_MS << task->located.tries);
    preprocess_located_again(&task->located);
    task->summed = 0;
    if (task->objects != NULL)
        forget(worker, task);
    preprocess_record_sums_fini(&worker->sums);
    preprocess_layouts_clear(worker->layouts);
    preprocess_fetched_fini(&task->fetched);
    preprocess_worker_prepare(worker);
}

void preprocess_worker_tasks_drop_fetched(struct worker *worker)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        struct worker_task *task = &worker->tasks[i];
        bool is_reading = task->is_requesting && task->fetched.known < task->fetched.count;
        if (is_reading)
            forget(worker, task);
        preprocess_fetched_drop(&task->fetched);
    }
}

static bool is_sensible(const struct worker_lease *lease, const struct preprocess_plan *plan)
{
    bool is_whole = lease->attempt == 0;
    return lease->group < preprocess_groups(&plan->geometry) &&
           (is_whole || lease->rank < plan->geometry.ranks);
}

static void prepare(struct worker *worker, const struct worker_lease *lease)
{
    struct worker_task *task = preprocess_worker_task_of(worker, lease);
    struct worker_job *job = preprocess_worker_job_for(worker, lease);
    if (job == NULL || lease->batches.count > 0)
        return;
    preprocess_flow_share(&worker->flow, lease->fence, lease->attempt == 0 ? 0 : job->production);
    if (!task->begun && preprocess_sharing_begin(worker, lease, job))
        return;
    if (!task->begun) {
        if (!is_sensible(lease, &job->plan) || must_wait(worker, task, lease->group))
            return;
        preprocess_located_begin(&task->located, &job->plan, lease->group,
                                 lease->attempt == 0 ? LOCATED_WHOLE : lease->rank);
        task->begun = true;
    }
    request_next(worker, task);
}

void preprocess_worker_prepare(struct worker *worker)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        const struct worker_lease *lease = &worker->flow.leases[i];
        bool was_ready = lease->batches.count > 0;
        if (lease->fence != 0)
            prepare(worker, lease);
        else if (worker->tasks[i].fence != 0)
            reset(worker, &worker->tasks[i]);
        if (!was_ready && lease->batches.count > 0) {
            prepare_soon(worker);
            return;
        }
    }
}

void preprocess_worker_tasks_wipe(struct worker *worker)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        if (worker->tasks[i].fence == 0)
            preprocess_located_fini(&worker->tasks[i].located);
    }
}

void preprocess_worker_tasks_close(struct worker *worker)
{
    for (size_t i = 0; i < WORKER_LEASES_MAX; i++) {
        end_objects(&worker->tasks[i]);
        preprocess_located_fini(&worker->tasks[i].located);
        preprocess_fetched_fini(&worker->tasks[i].fetched);
        preprocess_chain_partial_fini(&worker->tasks[i].partial);
    }
}
