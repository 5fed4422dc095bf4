/* The queue of pushed batches, and their way to disk in groups: see push.h. */
#include "storage/push/push_batch.h"

#include "core/base/fault.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/quota.h"
#include "storage/files/copy.h"
#include "storage/formats/format.h"
#include "storage/records/key_identify.h"

#include <stdlib.h>
#include <string.h>

enum { NAMES_MAX = 1000 };

struct pushes {
    const struct scan_tools *tools; /* with the store; to commit what scans have staged before it */
    struct push_queue waiting;
    struct weir_quota quota; /* bytes that wait */
    bool is_scheduled;
    uint64_t lock_timer; /* of a round that waits for the tables; 0: none does */
    struct push_target *targets;
    size_t target_count;
};

/* ---- queues ---- */

static void append(struct push_queue *queue, struct push_batch *batch)
{
    batch->next = NULL;
    if (queue->last != NULL)
        queue->last->next = batch;
    else
        queue->first = batch;
    queue->last = batch;
    queue->count++;
}

static struct push_batch *take_first(struct push_queue *queue)
{
    struct push_batch *batch = queue->first;

    queue->first = batch->next;
    if (queue->first == NULL)
        queue->last = NULL;
    queue->count--;
    return batch;
}

/* Returns what a batch counts while it waits: its bytes, and those that it takes beside them. */
static size_t charge_of(const struct weir_frames *frames)
{
    return weir_frames_bytes(frames) + sizeof(struct push_batch);
}

static void free_batch(struct push_batch *batch)
{
    weir_frames_clear(&batch->frames);
    weir_buf_fini(&batch->answer.reasons);
    free(batch);
}

/* ---- answers ---- */

/* Takes the stored lines apart. */
static void list_reasons(const char *text, struct weir_arena *arena, struct msg_pushed *message)
{
    uint64_t *records = weir_arena_alloc(arena, PUSH_REASONS_MAX * sizeof(*records));
    const char **reasons = weir_arena_alloc(arena, PUSH_REASONS_MAX * sizeof(*reasons));
    size_t count = 0;

    while (*text && count < PUSH_REASONS_MAX) {
        size_t size = strcspn(text, "\n");
        char *reason;

        records[count] = strtoull(text, &reason, 10);
        reason += *reason == ' ';
        reasons[count++] = weir_arena_strndup(arena, reason, size - (size_t)(reason - text));
        text += size + (text[size] == '\n');
    }
    message->records = (struct weir_u64s){records, count};
    message->reasons = (struct weir_strs){reasons, count};
}

static void reply(struct push_batch *batch, const struct dataset *dataset)
{
    struct push_answer *answer = &batch->answer;
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct msg_pushed message = {
        .batch = answer->number,
        .mark = weir_bytes(answer->mark, answer->mark_size),
        .first = answer->first,
        .samples = answer->samples,
        .refused = answer->refused,
        .left_out = answer->left_out,
    };

    storage_push_describe(dataset, &message);
    list_reasons(weir_buf_text(&answer->reasons), arena, &message);
    weir_rpc_reply(batch->server, &batch->route, MSG_pushed, &message, NULL);
    free_batch(batch);
}

static void refuse(struct push_batch *batch, const struct weir_error *err)
{
    weir_rpc_refuse(batch->server, &batch->route, err);
    free_batch(batch);
}

static void refuse_all(struct push_queue *queue, const struct weir_error *err)
{
    while (queue->first != NULL)
        refuse(take_first(queue), err);
}

/* ---- segments ---- */

static struct push_target *target_of(struct pushes *pushes, uint32_t dataset)
{
    for (size_t i = 0; i < pushes->target_count; i++) {
        if (pushes->targets[i].dataset == dataset)
            return &pushes->targets[i];
    }
    pushes->targets =
        weir_realloc(pushes->targets, pushes->target_count + 1, sizeof(*pushes->targets));
    pushes->targets[pushes->target_count] =
        (struct push_target){.dataset = dataset, .segment.fd = -1};
    return &pushes->targets[pushes->target_count++];
}

static struct stored_file *last_file(const struct dataset *dataset)
{
    struct file_group *group = storage_dataset_last_group(dataset);

    return group != NULL && group->count > 0 ? &group->files[group->count - 1] : NULL;
}

/* The file that takes the next samples: the newest, as long as it is not complete. */
static struct stored_file *newest_file(const struct dataset *dataset)
{
    struct stored_file *file = last_file(dataset);

    return file != NULL && file->state == FILE_LIVE && file->path != NULL && !file->is_complete
               ? file
               : NULL;
}

static enum weir_status read_head(const struct dataset *dataset, struct push_target *target,
                                  struct weir_error *err)
{
    size_t size = target->used < FORMAT_HEAD_MAX ? (size_t)target->used : FORMAT_HEAD_MAX;
    WEIR_AUTO_FREE uint8_t *bytes = weir_calloc(size + 1, 1);
    struct weir_bytes head;
    enum weir_status status = storage_segment_read(&target->segment, 0, bytes, size, err);

    if (status == WEIR_OK)
        status = storage_push_head(dataset, weir_bytes(bytes, size), &head, err);
    weir_buf_clear(&target->head);
    if (status == WEIR_OK)
        weir_buf_append(&target->head, head.at, head.size);
    return status;
}

/* The target stands where the store says the file ends; opened again if it does not. */
static enum weir_status open_target(const struct dataset *dataset, const struct stored_file *file,
                                    struct push_target *target, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = storage_dataset_path(dataset, file);
    enum weir_status status;

    if (target->segment.fd >= 0 && target->used == file->indexed)
        return WEIR_OK;
    storage_segment_close(&target->segment);
    target->used = file->indexed;
    status = storage_segment_open(path, file->size, file->indexed, &target->segment, err);
    if (status == WEIR_OK)
        status = read_head(dataset, target, err);
    if (status != WEIR_OK)
        storage_segment_close(&target->segment);
    return status;
}

/* Makes an empty segment under the first name that is free: one may be taken by what a batch left that could
 * not be staged. `*ret_name` is the caller's. */
static enum weir_status make_segment(const struct push_group *group, uint64_t size, char **ret_name,
                                     struct weir_error *err)
{
    const struct stored_file *last = last_file(group->dataset);
    unsigned long long number = last != NULL ? storage_file_number(last) + 2 : 1;
    enum weir_status status = WEIR_EXISTS;

    for (int tries = 0; tries < NAMES_MAX && status == WEIR_EXISTS; tries++) {
        WEIR_AUTO_FREE char *name =
            weir_format("%08llu.%s", number++, group->dataset->declaration->format->name);
        WEIR_AUTO_FREE char *path = weir_format("%s/%s", group->dataset->copies, name);

        status = storage_segment_create(path, size, &group->target->segment, err);
        if (status == WEIR_OK)
            *ret_name = WEIR_TAKE(name);
    }
    return status;
}

static enum weir_status new_file(struct push_group *group, struct weir_bytes head,
                                 uint64_t bytes_wanted, struct weir_error *err)
{
    const struct declaration *d = group->dataset->declaration;
    struct push_target *target = group->target;
    WEIR_AUTO_FREE char *name = NULL;
    uint64_t size = bytes_wanted > d->source.segment_bytes ? bytes_wanted : d->source.segment_bytes;
    enum weir_status status;

    storage_segment_close(&target->segment);
    status = make_segment(group, size, &name, err);
    if (status != WEIR_OK)
        return status;
    target->used = 0;
    weir_buf_clear(&target->head);
    weir_buf_append(&target->head, head.at, head.size);
    group->file = storage_batch_file(group->batch, name);
    group->file->size = size;
    group->file->records = d->format->counts_lines ? 1 : 0;
    weir_buf_append(&group->bytes, head.at, head.size);
    return WEIR_OK;
}

/* A file that is full, damaged or has another head takes no more. */
static void complete(struct push_group *group, struct stored_file *file)
{
    file->is_complete = true;
    storage_batch_touch(group->batch, file);
}

static bool has_room(const struct push_group *group, struct weir_bytes head, size_t payload)
{
    const struct push_target *target = group->target;

    return weir_bytes_equal(weir_buf_view(&target->head), head) &&
           payload + 1 <= target->segment.size - target->used - group->bytes.size;
}

/* The file that a batch goes into; *ret_fits false: the group must be committed first. */
static enum weir_status choose_file(struct push_group *group, const struct push_batch *batch,
                                    bool *ret_fits, struct weir_error *err)
{
    struct weir_bytes payload = weir_frames_at(&batch->frames, 0);
    struct stored_file *newest = newest_file(group->dataset);
    struct weir_bytes head;
    enum weir_status status = storage_push_head(group->dataset, payload, &head, err);

    *ret_fits = true;
    if (status != WEIR_OK)
        return status;
    if (group->file != NULL) {
        *ret_fits = has_room(group, head, payload.size);
        return WEIR_OK;
    }
    if (newest != NULL) {
        status = open_target(group->dataset, newest, group->target, err);
        if (status == WEIR_OK && has_room(group, head, payload.size)) {
            group->file = newest;
            storage_batch_touch(group->batch, newest);
            return WEIR_OK;
        }
        if (status != WEIR_OK)
            weir_log(WEIR_LOG_WARN, "segment is damaged, beginning the next one",
                     "dataset=%s error=\"%s\"", group->dataset->name, err->text);
        complete(group, newest);
    }
    return new_file(group, head, payload.size + 1 + head.size, err);
}

/* ---- one batch ---- */

/* The newest number of the batch's client, among those that are staged and those on disk. */
static enum weir_status newest_of(const struct push_group *group, const struct push_batch *batch,
                                  struct push_answer *ret_newest, bool *ret_is_staged,
                                  struct weir_error *err)
{
    *ret_is_staged = false;
    for (const struct push_batch *at = group->staged.first; at != NULL; at = at->next) {
        if (strcmp(at->client, batch->client) == 0) {
            ret_newest->number = at->answer.number;
            *ret_is_staged = true;
        }
    }
    if (*ret_is_staged)
        return WEIR_OK;
    return storage_push_log_newest(group->tools->store->db, batch->dataset, batch->client,
                                   ret_newest, err);
}

static enum weir_status stage(struct push_group *group, struct push_batch *batch, bool *ret_fits,
                              struct weir_error *err)
{
    uint64_t next = group->dataset->next_row + storage_batch_rows(group->batch);
    enum weir_status status = choose_file(group, batch, ret_fits, err);

    if (status != WEIR_OK || !*ret_fits)
        return status;
    status = storage_push_stage(group, batch, err);
    if (status != WEIR_OK)
        return status;
    if (batch->answer.samples > 0)
        batch->answer.first = (uint64_t)batch->dataset << (WEIR_BLOCK_BITS + WEIR_ROW_BITS) | next;
    return WEIR_OK;
}

/* Settles a batch: staged, answered, refused, or left for the next group (false). */
static bool handle(struct push_group *group, struct push_batch *batch)
{
    struct push_answer newest = {.number = 0};
    struct weir_error err;
    bool is_staged = false, fits = true;
    enum weir_status status = newest_of(group, batch, &newest, &is_staged, &err);

    if (status == WEIR_OK && batch->answer.number <= newest.number) {
        if (is_staged)
            return false;
        status = storage_push_log_find(group->tools->store->db, batch->dataset, batch->client,
                                       &batch->answer, &err);
        if (status == WEIR_OK) {
            reply(batch, group->dataset);
            return true;
        }
    } else if (status == WEIR_OK && batch->answer.number > newest.number + 1) {
        status = weir_fail(&err, WEIR_UNAVAILABLE,
                           "batch %llu of client '%s' is not here yet, or the client is forgotten: "
                           "found batch %llu",
                           (unsigned long long)newest.number + 1, batch->client,
                           (unsigned long long)batch->answer.number);
    } else if (status == WEIR_OK) {
        status = stage(group, batch, &fits, &err);
        if (status == WEIR_OK && fits)
            append(&group->staged, batch);
    }
    if (status == WEIR_OK)
        return fits;
    refuse(batch, &err);
    return true;
}

/* ---- a group ---- */

static enum weir_status log_all(void *owner, struct weir_db *db, struct weir_error *err)
{
    const struct push_group *group = owner;
    enum weir_status status = WEIR_OK;

    for (const struct push_batch *at = group->staged.first; status == WEIR_OK && at != NULL;
         at = at->next)
        status = storage_push_log_add(db, at, err);
    return status;
}

static enum weir_status fault(const char *point, struct weir_error *err)
{
    return weir_fault(point) ? weir_fail(err, WEIR_UNAVAILABLE, "fault %s", point) : WEIR_OK;
}

/* Everything that is staged reaches the disk, in two writes: a death between them leaves a torn end. */
static enum weir_status write_group(const struct push_group *group, struct weir_error *err)
{
    const struct push_target *target = group->target;
    struct weir_bytes bytes = weir_buf_view(&group->bytes);
    size_t half = bytes.size / 2;
    enum weir_status status = fault("storage.push.write", err);

    if (bytes.size == 0) /* all of it was refused or left out */
        return status;
    if (status == WEIR_OK)
        status =
            storage_segment_write(&target->segment, target->used, weir_bytes(bytes.at, half), err);
    if (status == WEIR_OK)
        status = fault("storage.push.torn", err);
    if (status == WEIR_OK)
        status = storage_segment_write(&target->segment, target->used + half,
                                       weir_bytes(bytes.at + half, bytes.size - half), err);
    if (status == WEIR_OK)
        status = fault("storage.push.sync", err);
    return status == WEIR_OK ? storage_segment_sync(&target->segment, err) : status;
}

static enum weir_status describe_file(const struct push_group *group, struct weir_error *err)
{
    struct stored_file *file = group->file;
    struct stat found;
    enum weir_status status = storage_segment_describe(&group->target->segment, &found, err);

    if (status != WEIR_OK)
        return status;
    file->device = found.st_dev;
    file->inode = file->source_inode = found.st_ino;
    file->mtime_ns = 0;
    file->indexed = group->target->used + group->bytes.size;
    return WEIR_OK;
}

static enum weir_status commit(struct push_group *group, struct weir_error *err)
{
    struct store *store = group->tools->store;
    WEIR_AUTO(key_identifier) identifier = storage_key_identifier_new(group->tools->from);
    enum weir_status status = write_group(group, err);

    if (status == WEIR_OK)
        status = describe_file(group, err);
    if (status == WEIR_OK && group->dataset->updates != NULL)
        status = storage_scan_flush(group->dataset->updates, group->tools, err);
    if (status == WEIR_OK) {
        storage_batch_identify(group->batch, identifier);
        storage_batch_also(group->batch, log_all, group);
        status = storage_batch_commit(group->batch, store->db, store->cache, err);
    }
    if (status != WEIR_OK)
        return status;
    group->target->used += group->bytes.size;
    return fault("storage.push.reply", err);
}

static void finish(struct push_group *group)
{
    struct weir_error err;
    enum weir_status status;

    if (group->staged.count == 0) {
        if (group->file != NULL) /* it was begun for a batch that could not be staged */
            storage_doubt(group->tools->store);
        return;
    }
    status = commit(group, &err);
    if (status == WEIR_OK) {
        while (group->staged.first != NULL)
            reply(take_first(&group->staged), group->dataset);
        return;
    }
    weir_log(WEIR_LOG_WARN, "pushed samples are not on disk", "dataset=%s error=\"%s\"",
             group->dataset->name, err.text);
    if (status != WEIR_LIMIT)
        err.status = WEIR_UNAVAILABLE; /* asked again: the answer is found, or it is done again */
    refuse_all(&group->staged, &err);
    storage_segment_close(&group->target->segment);
    storage_doubt(group->tools->store);
}

static bool is_full(const struct push_group *group)
{
    return group->staged.count >= PUSH_GROUP_BATCHES_MAX ||
           group->bytes.size >= PUSH_GROUP_BYTES_MAX || storage_batch_is_full(group->batch);
}

/* Batches of the first one's dataset, in their order; the others stay. */
static void run_group(struct pushes *pushes, struct push_group *group)
{
    struct push_queue waiting = pushes->waiting;
    bool goes_on = true;

    pushes->waiting = (struct push_queue){0};
    while (waiting.first != NULL) {
        struct push_batch *batch = take_first(&waiting);
        uint64_t key = batch->key, charge = charge_of(&batch->frames);

        goes_on = goes_on && !is_full(group);
        if (!goes_on || batch->dataset != group->dataset->number) {
            append(&pushes->waiting, batch);
            continue;
        }
        goes_on = handle(group, batch);
        if (goes_on)
            weir_quota_give(&pushes->quota, key, charge);
        else
            append(&pushes->waiting, batch);
    }
    finish(group);
}

static void on_round(void *owner);

static void schedule(struct pushes *pushes)
{
    if (pushes->is_scheduled || pushes->waiting.count == 0)
        return;
    pushes->is_scheduled = true;
    weir_loop_soon(pushes->tools->store->loop, on_round, pushes);
}

static void run_round(struct pushes *pushes)
{
    struct store *store = pushes->tools->store;
    struct push_group group = {.tools = pushes->tools};
    struct weir_error err;
    enum weir_status status = storage_ready(store, &err);

    if (status == WEIR_OK)
        group.dataset = storage_catalog_at(store->catalog, pushes->waiting.first->dataset);
    if (status == WEIR_OK && group.dataset == NULL)
        status = weir_fail(&err, WEIR_UNAVAILABLE, "the dataset has just been removed");
    if (status != WEIR_OK) { /* whoever asks again is told which */
        weir_quota_fini(&pushes->quota);
        refuse_all(&pushes->waiting, &err);
        return;
    }
    group.target = target_of(pushes, group.dataset->number);
    group.batch = storage_batch_new(group.dataset);
    run_group(pushes, &group);
    storage_batch_free(group.batch);
    weir_buf_fini(&group.bytes);
}

static void on_round(void *owner)
{
    struct pushes *pushes = owner;
    struct store *store = pushes->tools->store;

    if (!storage_tables_share(store)) {
        pushes->lock_timer =
            weir_loop_timer(store->loop, STORAGE_LOCK_RETRY_MS, 0, on_round, pushes);
        return;
    }
    pushes->lock_timer = 0;
    pushes->is_scheduled = false;
    run_round(pushes);
    storage_tables_unshare(store);
    schedule(pushes);
}

/* ---- requests ---- */

static bool is_client(const char *name)
{
    size_t size = strlen(name);

    return size > 0 && size <= PUSH_CLIENT_MAX &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.:") ==
               size;
}

static enum weir_status check(const struct store *store, const struct msg_push *asked,
                              const struct dataset **ret_dataset, struct weir_error *err)
{
    const struct dataset *dataset = storage_catalog_find(store->catalog, asked->dataset);

    if (dataset == NULL)
        return weir_fail(err, WEIR_NOT_FOUND,
                         "dataset '%.64s': there is none; a pipeline's first run declares its "
                         "datasets",
                         asked->dataset);
    if (!dataset->declaration->is_pushed)
        return weir_fail(
            err, WEIR_INVALID,
            "dataset '%s' is read from %s: only one declared with source: {push: true} "
            "can be pushed to",
            dataset->name, dataset->root);
    if (!is_client(asked->client))
        return weir_fail(err, WEIR_INVALID,
                         "push.client: found '%.80s', expected at most %d letters, digits, _ - . :",
                         asked->client, PUSH_CLIENT_MAX);
    if (asked->mark.size > PUSH_MARK_MAX)
        return weir_fail(err, WEIR_LIMIT, "push.mark: found %zu bytes, expected at most %d",
                         asked->mark.size, PUSH_MARK_MAX);
    *ret_dataset = dataset;
    return WEIR_OK;
}

static enum weir_status check_payload(const struct pushes *pushes, struct weir_request *request,
                                      struct weir_error *err)
{
    size_t size = weir_frames_bytes(request->frames);

    if (request->frames->count != 1 || size == 0)
        return weir_fail(err, WEIR_INVALID,
                         "push: found %zu frames of %zu bytes, expected samples "
                         "in one frame",
                         request->frames->count, size);
    if (size > PUSH_BYTES_MAX)
        return weir_fail(err, WEIR_LIMIT, "push: found a batch of %zu bytes, expected at most %d",
                         size, PUSH_BYTES_MAX);
    if (!weir_quota_allows(&pushes->quota, weir_rpc_quota_key(request), charge_of(request->frames),
                           PUSH_WAITING_BYTES_MAX))
        return weir_fail(err, WEIR_UNAVAILABLE, "%zu bytes of pushed samples wait for the disk",
                         pushes->quota.keys.size);
    return WEIR_OK;
}

static struct push_batch *new_batch(struct weir_request *request, const struct dataset *dataset)
{
    const struct msg_push *asked = request->message;
    struct push_batch *batch = weir_calloc(1, sizeof(*batch));

    batch->server = request->server;
    batch->route = request->route;
    batch->key = weir_rpc_quota_key(request);
    batch->dataset = dataset->number;
    memcpy(batch->client, asked->client, strlen(asked->client));
    weir_frames_move(&batch->frames, request->frames);
    batch->answer.number = asked->batch;
    batch->answer.digest = weir_hash64(weir_frames_at(&batch->frames, 0), 0);
    batch->answer.mark_size = asked->mark.size;
    if (asked->mark.size > 0)
        memcpy(batch->answer.mark, asked->mark.at, asked->mark.size);
    return batch;
}

/* Answers how far the client is; a batch of its that waits makes the answer wait, too. */
static enum weir_status tell_newest(struct store *store, struct weir_request *request,
                                    const struct dataset *dataset, struct weir_error *err)
{
    struct push_batch *batch = new_batch(request, dataset);
    enum weir_status status =
        storage_push_log_newest(store->db, dataset->number, batch->client, &batch->answer, err);

    if (status == WEIR_OK)
        reply(batch, dataset);
    else
        free_batch(batch);
    return status;
}

void storage_push(struct pushes *pushes, struct weir_request *request)
{
    struct store *store = pushes->tools->store;
    const struct msg_push *asked = request->message;
    const struct dataset *dataset = NULL;
    struct weir_error err;
    enum weir_status status = storage_ready(store, &err);

    if (status == WEIR_OK)
        status = check(store, asked, &dataset, &err);
    if (status == WEIR_OK && asked->batch == 0) {
        status = tell_newest(store, request, dataset, &err);
    } else if (status == WEIR_OK) {
        status = check_payload(pushes, request, &err);
        if (status == WEIR_OK) {
            struct push_batch *batch = new_batch(request, dataset);

            weir_quota_take(&pushes->quota, batch->key, charge_of(&batch->frames));
            append(&pushes->waiting, batch);
            schedule(pushes);
        }
    }
    if (status != WEIR_OK)
        weir_rpc_refuse(request->server, &request->route, &err);
}

/* ---- life ---- */

struct pushes *storage_pushes_new(const struct scan_tools *tools)
{
    struct pushes *pushes = weir_calloc(1, sizeof(*pushes));

    pushes->tools = tools;
    return pushes;
}

void storage_pushes_free(struct pushes *pushes)
{
    if (pushes == NULL)
        return;
    weir_loop_cancel(pushes->tools->store->loop, pushes->lock_timer);
    while (pushes->waiting.first != NULL)
        free_batch(take_first(&pushes->waiting));
    weir_quota_fini(&pushes->quota);
    for (size_t i = 0; i < pushes->target_count; i++) {
        storage_segment_close(&pushes->targets[i].segment);
        weir_buf_fini(&pushes->targets[i].head);
    }
    free(pushes->targets);
    free(pushes);
}

static enum weir_status recover(struct pushes *pushes, const struct dataset *dataset,
                                struct weir_error *err)
{
    const struct stored_file *file = newest_file(dataset);
    struct push_target *target = target_of(pushes, dataset->number);
    enum weir_status status = WEIR_OK;

    if (file != NULL)
        status = open_target(dataset, file, target, err);
    storage_segment_close(&target->segment);
    return status == WEIR_OK ? storage_copy_sweep(dataset, err) : status;
}

void storage_pushes_recover(struct pushes *pushes)
{
    const struct catalog *catalog = pushes->tools->store->catalog;

    for (size_t i = 0; i < pushes->target_count; i++)
        storage_segment_close(&pushes->targets[i].segment);
    for (size_t i = 0; i < catalog->count; i++) {
        const struct dataset *dataset = catalog->datasets[i];
        struct weir_error err;

        if (dataset->declaration->is_pushed && recover(pushes, dataset, &err) != WEIR_OK)
            weir_log(WEIR_LOG_WARN, "segments are damaged", "dataset=%s error=\"%s\"",
                     dataset->name, err.text);
    }
}
