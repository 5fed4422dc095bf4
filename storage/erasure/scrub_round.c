/* Rounds over the samples of an erasure: see open_erasure.h. A round reads and overwrites what it can; what a file
 * stood in the way of is left to the next one. After a death the first round goes over all samples again. */
#include "storage/erasure/open_erasure.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/erasure/scrub_intent.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    SAMPLES_PER_STEP = 512,
    SYNCS_PER_STEP = 16,
    PAUSE_FIRST_MS = 500,
    PAUSE_MAX_MS = 60000,
    BUCKET_PATIENCE_MS = 60000,
};

static void forget_list(struct id_list *list)
{
    free(list->at);
    *list = (struct id_list){0};
}

static struct id_list take_list(struct id_list *list)
{
    struct id_list taken = *list;

    *list = (struct id_list){0};
    return taken;
}

void storage_scrub_round_fini(struct open_erasure *erasure)
{
    struct scrub_round *round = &erasure->round;
    struct weir_error err;

    storage_scrub_group_drop(erasure);
    weir_ignore(storage_scrub_sync(erasure, &err)); /* a round that is not through is repeated */
    forget_list(&round->todo);
    forget_list(&round->reread);
    forget_list(&round->failed);
    free(round->found);
    free(round->trouble);
    *round = (struct scrub_round){0};
}

bool storage_scrub_waits(const struct open_erasure *erasure, int64_t now_ms)
{
    return now_ms < erasure->round.again_ms;
}

const char *storage_scrub_trouble(const struct open_erasure *erasure, struct weir_arena *arena)
{
    const struct scrub_round *round = &erasure->round;

    if (!round->trouble)
        return "";
    return weir_arena_format(arena,
                             "%zu of %zu samples are in force but not overwritten: %s; tried again "
                             "at least every %d s",
                             round->waiting, erasure->ids.count, round->trouble,
                             PAUSE_MAX_MS / 1000);
}

void storage_scrub_note_failure(struct open_erasure *erasure, const struct weir_error *err)
{
    if (!erasure->round.found)
        erasure->round.found = weir_strdup(err->text);
}

/* ---- reading ---- */

/* OK and the sample is in `unread` when a file stands in the way. */
static enum weir_status look(struct storage *storage, struct open_erasure *erasure, uint64_t id,
                             struct weir_error *err)
{
    enum weir_status status = storage_scrub_look(storage, erasure, id, err);

    if (status != WEIR_IO)
        return status;
    storage_scrub_note_failure(erasure, err);
    storage_id_list_add(&erasure->unread, id);
    return WEIR_OK;
}

/* What lies in buckets comes together. */
static bool is_fetched(struct storage *storage, struct open_erasure *erasure,
                       const struct id_list *list)
{
    const struct id_fetching asked = {.ids = list->at,
                                      .count = list->count,
                                      .at = erasure->round.at,
                                      .patience_ms = BUCKET_PATIENCE_MS};

    return storage_id_fetch(storage, &erasure->fetch, &asked);
}

static enum weir_status look_at_some(struct storage *storage, struct open_erasure *erasure,
                                     struct weir_error *err)
{
    struct scrub_round *round = &erasure->round;
    const struct id_list *list = erasure->is_prepared ? &round->reread : &erasure->ids;
    enum weir_status status = WEIR_OK;

    if (!is_fetched(storage, erasure, list))
        return WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < SAMPLES_PER_STEP && round->at < list->count &&
                       round->at < erasure->fetch.upto;
         i++)
        status = look(storage, erasure, list->at[round->at++], err);
    if (status != WEIR_OK || round->at < list->count)
        return status;
    status = storage_scrub_store(storage, erasure, err);
    if (status != WEIR_OK)
        return status;
    erasure->is_prepared = round->is_read = true;
    storage_id_fetch_fini(&erasure->fetch);
    forget_list(&round->reread);
    round->at = round->synced = 0;
    return WEIR_OK;
}

/* ---- overwriting ---- */

static const struct id_list *list_of(const struct open_erasure *erasure)
{
    return erasure->round.is_again ? &erasure->round.todo : &erasure->ids;
}

/* What could not be synced is not overwritten. */
static bool sync_all(struct open_erasure *erasure)
{
    struct scrub_round *round = &erasure->round;
    struct weir_error err;

    if (storage_scrub_sync(erasure, &err) == WEIR_OK) {
        round->synced = round->at;
        return true;
    }
    storage_scrub_note_failure(erasure, &err);
    while (round->synced < round->at)
        storage_id_list_add(&round->failed, list_of(erasure)->at[round->synced++]);
    return false;
}

static enum weir_status overwrite(struct storage *storage, struct open_erasure *erasure,
                                  uint64_t id, struct weir_error *err)
{
    struct scrub_round *round = &erasure->round;
    enum weir_status status = WEIR_OK;

    if (!storage_id_list_has(&erasure->unread, id)) {
        status = storage_scrub_one(storage, erasure, id, err);
        if (status != WEIR_IO)
            return status;
        storage_scrub_note_failure(erasure, err);
    }
    storage_id_list_add(&round->failed, id);
    return WEIR_OK;
}

/* ---- between rounds ---- */

static void begin_round(struct open_erasure *erasure)
{
    struct scrub_round *round = &erasure->round;

    round->again_ms = 0;
    round->at = round->synced = 0;
    if (!erasure->is_prepared)
        return;
    forget_list(&round->reread);
    round->reread = take_list(&erasure->unread);
    round->is_read = round->reread.count == 0;
}

/* The log does not name the file: its name may be a person's. */
static void tell_waiting(const struct open_erasure *erasure)
{
    weir_log(WEIR_LOG_WARN, "a file stands in the way of an erasure, which comes back to it",
             "erasure=%" PRIu64 " samples=%zu because=\"%s\" see=\"weir erase status %" PRIu64 "\"",
             erasure->number, erasure->round.waiting, strerror(erasure->round.error),
             erasure->number);
}

static void wait_for_next(struct open_erasure *erasure)
{
    struct scrub_round *round = &erasure->round;
    bool is_first = !round->trouble;

    storage_id_list_sort(&round->failed);
    forget_list(&round->todo);
    round->todo = take_list(&round->failed);
    round->waiting = round->todo.count;
    free(round->trouble);
    round->trouble = WEIR_TAKE(round->found);
    round->is_unidentified = round->meets_unidentified;
    round->meets_unidentified = false;
    round->is_again = true;
    round->is_read = false;
    round->at = 0;
    round->pause_ms = round->pause_ms == 0 ? PAUSE_FIRST_MS : 2 * round->pause_ms;
    round->pause_ms = round->pause_ms < PAUSE_MAX_MS ? round->pause_ms : PAUSE_MAX_MS;
    round->again_ms = weir_now_ms() + round->pause_ms;
    if (is_first)
        tell_waiting(erasure);
}

static bool end_round(const struct storage *storage, struct open_erasure *erasure)
{
    struct scrub_round *round = &erasure->round;

    if (sync_all(erasure) && round->failed.count == 0) {
        storage_scrub_round_fini(erasure);
        erasure->is_overwritten = true;
        if (!storage_erasing_is_half_way(storage))
            storage_scrub_intend_nothing(storage->data_dir);
        return true;
    }
    wait_for_next(erasure);
    return false;
}

enum weir_status storage_scrub_step(struct storage *storage, struct open_erasure *erasure,
                                    bool *ret_done, struct weir_error *err)
{
    struct scrub_round *round = &erasure->round;
    const struct id_list *list;
    enum weir_status status = WEIR_OK;

    *ret_done = erasure->is_overwritten;
    if (*ret_done)
        return WEIR_OK;
    if (round->at == 0 && !round->is_read && erasure->fetch.upto == 0)
        begin_round(erasure);
    if (!round->is_read)
        return look_at_some(storage, erasure, err);
    list = list_of(erasure);
    erasure->target.syncs = 0;
    for (size_t i = 0; status == WEIR_OK && i < SAMPLES_PER_STEP && round->at < list->count &&
                       erasure->target.syncs < SYNCS_PER_STEP;
         i++)
        status = overwrite(storage, erasure, list->at[round->at++], err);
    if (status == WEIR_OK && round->at == list->count)
        *ret_done = end_round(storage, erasure);
    else if (status == WEIR_OK)
        (void)sync_all(erasure); /* what failed is tried again */
    return status;
}
