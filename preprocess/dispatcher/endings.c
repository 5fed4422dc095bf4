/* How jobs end: what their audit must add up to, and what is kept of them. */
#include "preprocess/dispatcher/dispatcher.h"

#include "core/base/log.h"
#include "core/base/memory.h"

#include <stdlib.h>

/* ---- audits ---- */

enum weir_status preprocess_dispatcher_expect(struct dispatcher *dispatcher,
                                              struct dispatcher_entry *entry,
                                              struct weir_error *err)
{
    if (!entry->job.record.final)
        return WEIR_OK;
    if (preprocess_entry_expect(entry))
        return WEIR_OK;
    preprocess_dispatcher_settle(dispatcher);
    return weir_fail(err, WEIR_UNAVAILABLE, "job %lu: its audit is being worked out",
                     entry->number);
}

void preprocess_dispatcher_expect_ahead(struct dispatcher *dispatcher)
{
    for (size_t i = 0; i < dispatcher->entry_count; i++) {
        if (!preprocess_entry_may_expect(dispatcher->entries[i]))
            continue;
        (void)preprocess_entry_expect(dispatcher->entries[i]);
        return;
    }
}

/* ---- closing ---- */

struct ending {
    struct dispatcher *dispatcher;
    struct dispatcher_images images;
    struct dispatcher_asking *asking; /* to purge; NULL: nobody, a job is closed */
    struct msg_jobs_purged purged;
};

static void add(struct ending *ending, struct dispatcher_entry *entry)
{
    entry->is_ending = true;
    preprocess_image_of_end(&ending->images, entry);
}

static enum weir_status end(void *owner, struct weir_db *db, struct weir_error *err)
{
    struct ending *ending = owner;
    if (ending->asking == NULL)
        return preprocess_store_end(db, &ending->images, err);
    const struct msg_jobs_purge *asked = ending->asking->request.message;
    return preprocess_store_purge(db, &ending->images, asked->upto, &ending->purged, err);
}

void preprocess_dispatcher_leave_production(struct dispatcher *dispatcher,
                                            struct dispatcher_entry *entry)
{
    preprocess_production_leave(&dispatcher->productions, entry->job.production);
    entry->job.production = NULL;
}

/* The last entry takes its place. */
static void forget(struct dispatcher *dispatcher, struct dispatcher_entry *entry)
{
    size_t at = 0;
    while (dispatcher->entries[at] != entry)
        at++;
    if (entry->scaling.is_used)
        preprocess_dispatcher_end_use(dispatcher, entry);
    preprocess_shares_leave(&dispatcher->shares, entry->account);
    preprocess_dispatcher_leave_production(dispatcher, entry);
    preprocess_entry_free(entry);
    dispatcher->entries[at] = dispatcher->entries[--dispatcher->entry_count];
}

static void settle_image(struct ending *ending, const struct dispatcher_image *image,
                         const struct weir_error *err)
{
    struct dispatcher_entry *entry =
        preprocess_dispatcher_in_memory(ending->dispatcher, image->number);
    if (entry == NULL)
        return;
    entry->is_ending = false;
    if (err != NULL)
        preprocess_image_put_back(image, entry);
    else
        forget(ending->dispatcher, entry);
}

static void on_ended(void *owner, const struct weir_error *err)
{
    struct ending *ending = owner;
    for (size_t i = 0; i < ending->images.count; i++)
        settle_image(ending, &ending->images.at[i], err);
    if (ending->asking != NULL)
        weir_rpc_answer(&ending->asking->request, err != NULL ? err->status : WEIR_OK,
                        MSG_jobs_purged, &ending->purged, NULL, err);
    else if (err != NULL)
        weir_log(WEIR_LOG_DEBUG, "not settled, trying again", "reason=\"%s\"", err->text);
}

static void drop(void *owner)
{
    struct ending *ending = owner;
    preprocess_images_fini(&ending->images);
    preprocess_asking_free(ending->asking);
    free(ending);
}

static struct ending *begin(struct dispatcher *dispatcher)
{
    struct ending *ending = weir_calloc(1, sizeof(*ending));
    ending->dispatcher = dispatcher;
    return ending;
}

static void run(struct ending *ending)
{
    weir_db_thread_run(ending->dispatcher->thread,
                       &(struct weir_db_job){end, on_ended, drop, ending});
}

static void close_job(struct dispatcher *dispatcher, struct dispatcher_entry *entry)
{
    struct ending *ending = begin(dispatcher);
    add(ending, entry);
    run(ending);
}

static void settle_entry(struct dispatcher *dispatcher, struct dispatcher_entry *entry)
{
    struct weir_error err;
    if (preprocess_dispatcher_expect(dispatcher, entry, &err) != WEIR_OK)
        return;
    if (entry->has_expected && !entry->is_expected_stored && entry->job.record.final)
        entry->job.unsaved |= DISPATCHER_COMMITS;
    if (entry->closing && !entry->is_ending && preprocess_entry_unsaved(entry) == 0)
        close_job(dispatcher, entry);
}

static void settle(void *owner)
{
    struct dispatcher *dispatcher = owner;
    dispatcher->settling = false;
    for (size_t i = dispatcher->entry_count; i > 0; i--) /* one may be gone at once */
        settle_entry(dispatcher, dispatcher->entries[i - 1]);
    preprocess_dispatcher_flush(dispatcher);
}

void preprocess_dispatcher_settle(struct dispatcher *dispatcher)
{
    if (dispatcher->settling)
        return;
    dispatcher->settling = true;
    weir_loop_soon(dispatcher->loop, settle, dispatcher);
}

/* Closes the jobs whose runs are over, and deletes what they hold of people. Nobody asks for their audits, so these are
 * not worked out. Idempotent. */
void preprocess_dispatcher_on_jobs_purge(void *state, struct weir_request *request)
{
    struct dispatcher *dispatcher = state;
    const struct msg_jobs_purge *asked = request->message;
    struct ending *ending = begin(dispatcher);
    ending->asking =
        preprocess_asking_keep(dispatcher, request, preprocess_dispatcher_on_jobs_purge);
    for (size_t i = 0; i < dispatcher->entry_count; i++) {
        if (dispatcher->entries[i]->number <= asked->upto)
            add(ending, dispatcher->entries[i]);
    }
    run(ending);
}

/* ---- silence ---- */

void preprocess_dispatcher_note_silence(struct dispatcher_entry *entry, int64_t passed_ms)
{
    entry->silent_ms += passed_ms;
    if (entry->silent_ms < DISPATCHER_ABANDONED_MS || entry->closing)
        return;
    weir_log(WEIR_LOG_WARN, "nobody asks for this job, closing it", "job=%lu", entry->number);
    entry->closing = entry->abandoned = true;
}
