/* Rounds over the pages of an erasure: see erasure_record.h. A page is read, what that gave is stored, then it is
 * overwritten. What a file stood in the way of is left to another round. */
#include "storage/erasure/erasure_record.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/erasure/s3_pending.h"
#include "storage/records/key_identify.h"
#include "storage/sums/sums.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SYNCS_PER_STEP = 4,
    SAMPLES_PER_LOOK = 32, /* at the clock */
    BUCKET_PATIENCE_MS = 60000,
};

void storage_scrub_round_fini(struct erasure_record *erasure)
{
    struct weir_error err;

    storage_scrub_group_drop(erasure);
    weir_ignore(storage_scrub_sync(erasure, &err)); /* a page that is not through is repeated */
    erasure->round = (struct scrub_round){0};
}

bool storage_scrub_waits(const struct erasure_record *erasure, int64_t now_ms)
{
    return now_ms < erasure->round.again_ms;
}

const char *storage_scrub_trouble(const struct erase_request *request, struct weir_arena *arena)
{
    if (request->trouble == NULL)
        return "";
    return weir_arena_format(arena,
                             "%zu of %" PRIu64 " samples are in force but not overwritten: %s; "
                             "tried again at least every %d s",
                             request->stuck, request->samples, request->trouble,
                             ERASE_PAUSE_MAX_MS / 1000);
}

void storage_scrub_fail(struct erasure_record *erasure, uint64_t id, const struct weir_error *err)
{
    struct page_row *row = storage_page_row(&erasure->page, id);

    row->is_stuck = true;
    row->request->failed++;
    row->request->saw_unidentified =
        row->request->saw_unidentified || erasure->round.error == ESTALE;
    erasure->round.failed++;
    if (row->request->found == NULL)
        row->request->found = weir_strdup(err->text);
}

/* ---- reading ---- */

/* True when the samples of the page that lie in buckets have been fetched, together. */
static bool is_fetched(struct eraser *eraser, struct erasure_record *erasure)
{
    const struct id_fetching asked = {.ids = erasure->page.ids.at,
                                      .count = erasure->page.ids.count,
                                      .at = erasure->round.at,
                                      .patience_ms = BUCKET_PATIENCE_MS};

    return storage_id_fetch(eraser->store, eraser->from->objects, &erasure->fetch, &asked);
}

/* OK and the sample is in `unread` when a file stands in the way. */
static enum weir_status look(struct eraser *eraser, struct erasure_record *erasure, uint64_t id,
                             struct weir_error *err)
{
    struct erase_page *page = &erasure->page;
    bool was_unread = storage_id_list_has(&page->unread, id);
    enum weir_status status = WEIR_OK;

    if (!was_unread && storage_page_row(page, id)->step >= PAGE_READ)
        return WEIR_OK;
    status = storage_scrub_look(eraser, erasure, id, err);
    if (status == WEIR_OK && was_unread)
        storage_id_list_add(&page->read, id);
    if (status != WEIR_IO)
        return status;
    storage_id_list_add(&page->still_unread, id);
    storage_scrub_fail(erasure, id, err);
    return WEIR_OK;
}

static enum weir_status store_read(struct store *store, struct erasure_record *erasure,
                                   struct weir_error *err)
{
    enum weir_status status = storage_scrub_store_blocked(store, erasure, err);

    if (status == WEIR_OK)
        status = weir_db_begin(store->db, err);
    if (status == WEIR_OK)
        status = storage_page_store_read(store, &erasure->page, err);
    if (status == WEIR_OK)
        status = storage_page_store_remarks(store, &erasure->page, err);
    if (status == WEIR_OK)
        status = weir_db_commit(store->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(store->db);
    return status;
}

static enum weir_status look_at_some(struct eraser *eraser, struct erasure_record *erasure,
                                     struct weir_error *err)
{
    struct erase_page *page = &erasure->page;
    struct scrub_round *round = &erasure->round;
    int64_t until_ms = weir_now_ms() + ERASE_STEP_MS;
    enum weir_status status = WEIR_OK;

    if (!is_fetched(eraser, erasure))
        return WEIR_OK;
    while (status == WEIR_OK && round->at < page->ids.count && round->at < erasure->fetch.upto) {
        status = look(eraser, erasure, page->ids.at[round->at++], err);
        if (round->at % SAMPLES_PER_LOOK == 0 && weir_now_ms() >= until_ms)
            break;
    }
    storage_scrub_look_end(erasure);
    if (status == WEIR_OK && erasure->blocked.count >= ERASE_PAGE_IDS)
        status = storage_scrub_store_blocked(eraser->store, erasure, err);
    if (status != WEIR_OK || round->at < page->ids.count)
        return status;
    status = store_read(eraser->store, erasure, err);
    if (status != WEIR_OK)
        return status;
    storage_id_fetch_fini(&erasure->fetch);
    storage_key_identifier_free(erasure->identifier);
    erasure->identifier = NULL;
    erasure->pending_progress.pass = 0;
    erasure->pending_progress.at = 0;
    round->at = round->synced = 0;
    page->stage = PAGE_IS_READ;
    return WEIR_OK;
}

/* ---- overwriting ---- */

/* Syncs the files overwritten so far; false when some could not be: they do not count as overwritten. */
static bool sync_all(struct erasure_record *erasure)
{
    struct scrub_round *round = &erasure->round;
    struct weir_error err;

    if (storage_scrub_sync(erasure, &err) == WEIR_OK) {
        round->synced = round->at;
        return true;
    }
    while (round->synced < round->at)
        storage_scrub_fail(erasure, erasure->page.ids.at[round->synced++], &err);
    return false;
}

static enum weir_status overwrite(struct eraser *eraser, struct erasure_record *erasure,
                                  uint64_t id, struct weir_error *err)
{
    enum weir_status status;

    if (storage_id_list_has(&erasure->page.unread, id))
        return WEIR_OK; /* failed already */
    status = storage_scrub_one(eraser, erasure, id, err);
    if (status != WEIR_IO)
        return status;
    storage_scrub_fail(erasure, id, err);
    return WEIR_OK;
}

static enum weir_status open_sums(struct eraser *eraser, struct erasure_record *erasure,
                                  struct weir_error *err)
{
    bool is_open = false;
    enum weir_status status = storage_scrub_open_sums(eraser, erasure, &is_open, err);

    if (!is_open)
        return status;
    erasure->round.at = 0;
    erasure->page.stage = PAGE_IS_OPEN;
    return WEIR_OK;
}

static enum weir_status store_overwritten(struct eraser *eraser, struct erasure_record *erasure,
                                          struct weir_error *err)
{
    enum weir_status status = storage_scrub_flush(eraser, err);

    if (status == WEIR_OK && weir_fault("storage.erase.overwritten"))
        return weir_fail(err, WEIR_UNAVAILABLE, "fault storage.erase.overwritten");
    if (status == WEIR_OK)
        status = weir_db_begin(eraser->store->db, err);
    if (status == WEIR_OK)
        status = storage_scrub_write_groups(eraser->store, erasure, err);
    if (status == WEIR_OK)
        status = storage_page_store_remarks(eraser->store, &erasure->page, err);
    if (status == WEIR_OK)
        status = storage_page_store_step(eraser->store, &erasure->page, PAGE_OVERWRITTEN, err);
    if (status == WEIR_OK)
        status = weir_db_commit(eraser->store->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(eraser->store->db);
    return status;
}

static enum weir_status overwrite_some(struct eraser *eraser, struct erasure_record *erasure,
                                       struct weir_error *err)
{
    const struct erase_page *page = &erasure->page;
    struct scrub_round *round = &erasure->round;
    int64_t until_ms = weir_now_ms() + ERASE_STEP_MS;
    enum weir_status status = WEIR_OK;

    erasure->target.syncs = 0;
    while (status == WEIR_OK && round->at < page->ids.count &&
           erasure->target.syncs < SYNCS_PER_STEP) {
        status = overwrite(eraser, erasure, page->ids.at[round->at++], err);
        if (round->at % SAMPLES_PER_LOOK == 0 && weir_now_ms() >= until_ms)
            break;
    }
    if (status != WEIR_OK)
        return status;
    (void)sync_all(erasure); /* what failed is tried again */
    if (round->at < page->ids.count)
        return WEIR_OK;
    status = store_overwritten(eraser, erasure, err);
    storage_sums_close(eraser->sums, erasure);
    storage_page_fini(&erasure->page);
    return status;
}

/* ---- between rounds ---- */

/* The log does not name the file: its name may be a person's. */
static void tell_waiting(const struct erasure_record *erasure)
{
    weir_log(WEIR_LOG_WARN, "a file stands in the way of an erasure, which comes back to it",
             "erasure=%" PRIu64 " samples=%zu because=\"%s\" see=\"weir erase status %" PRIu64 "\"",
             erasure->requests[0]->number, erasure->requests[0]->stuck,
             strerror(erasure->round.error), erasure->requests[0]->number);
}

static void wait_for_next(struct erasure_record *erasure)
{
    struct scrub_round *round = &erasure->round;
    bool is_first = round->pause_ms == 0;

    storage_page_rewind(erasure);
    round->failed = 0;
    round->kept_out = (struct kept_out){0};
    round->pause_ms = storage_erase_pause(round->pause_ms);
    round->again_ms = weir_now_ms() + round->pause_ms;
    if (is_first)
        tell_waiting(erasure);
}

/* Told until another round is over. */
static void note_stuck(struct erase_request *request)
{
    free(request->trouble);
    request->trouble = WEIR_TAKE(request->found);
    request->stuck = request->failed;
    request->is_unidentified = request->saw_unidentified;
    request->saw_unidentified = false;
    request->failed = 0;
}

static bool is_stuck(const struct erase_request *request)
{
    return request->stuck > 0;
}

static struct erasure_record *part_stuck(struct erasure_record *erasure)
{
    struct erasure_record *stuck;

    for (size_t i = 0; i < erasure->count; i++)
        note_stuck(erasure->requests[i]);
    stuck = storage_erasure_record_part(erasure, is_stuck);
    stuck->round.pause_ms = erasure->round.pause_ms;
    stuck->round.error = erasure->round.error;
    return stuck;
}

/* All are stuck: it waits as it is. */
static void take_back(struct erasure_record *erasure, struct erasure_record *stuck)
{
    for (size_t i = 0; i < stuck->count; i++)
        storage_erasure_record_add(erasure, stuck->requests[i]);
    stuck->count = 0;
    storage_erasure_record_free(stuck);
    wait_for_next(erasure);
}

struct erasure_record *storage_scrub_part(struct erasure_record *erasure)
{
    struct erasure_record *stuck = part_stuck(erasure);

    if (erasure->count == 0 && stuck->count > 0) {
        take_back(erasure, stuck);
        return NULL;
    }
    storage_scrub_round_fini(erasure);
    erasure->is_overwritten = true;
    if (stuck->count > 0) {
        wait_for_next(stuck);
        return stuck;
    }
    storage_erasure_record_free(stuck);
    return NULL;
}

enum weir_status storage_scrub_step(struct eraser *eraser, struct erasure_record *erasure,
                                    bool *ret_done, struct weir_error *err)
{
    enum weir_status status;
    bool is_planned = false;

    *ret_done = false;
    erasure->round.again_ms = 0;
    if (erasure->page.erasure_epoch == 0) {
        status = storage_page_next(eraser->store, erasure, PAGE_OVERWRITTEN, ret_done, err);
        erasure->round.at = 0;
        if (erasure->page.erasure_epoch > erasure->inherited)
            erasure->inherited = 0;
        return status;
    }
    switch (erasure->page.stage) {
    case PAGE_IS_NEW:
        return look_at_some(eraser, erasure, err);
    case PAGE_IS_READ:
        status = storage_pending_plan(eraser->store, erasure, &is_planned, err);
        erasure->page.stage = is_planned ? PAGE_IS_PLANNED : PAGE_IS_READ;
        return status;
    case PAGE_IS_PLANNED:
        return open_sums(eraser, erasure, err);
    case PAGE_IS_OPEN:
        return overwrite_some(eraser, erasure, err);
    }
    return WEIR_OK;
}
