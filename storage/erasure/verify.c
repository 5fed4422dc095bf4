/* The last step of an erasure: see open_erasure.h. Only an attempt that looked at everything, and found nothing, ends
 * it. */
#include "storage/erasure/open_erasure.h"

#include "core/base/clock.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/queries.h"

#include <inttypes.h>
#include <stdlib.h>

enum { PAUSE_FIRST_MS = 500, PAUSE_MAX_MS = 60000 };

bool storage_verify_waits(const struct open_erasure *erasure, int64_t now_ms)
{
    return now_ms < erasure->failing.again_ms;
}

/* Asking for the ids again must yield nothing. */
static enum weir_status count_readable(struct storage *storage, const struct open_erasure *erasure,
                                       uint64_t *ret_count, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    *ret_count = 0;
    for (size_t i = 0; status == WEIR_OK && i < erasure->ids.count; i++) {
        struct located found;

        status = storage_find(storage, erasure->ids.at[i], &found, err);
        *ret_count += status == WEIR_OK && found.state != WEIR_SAMPLE_ERASED;
    }
    return status;
}

/* The log does not name the file: its name may be a person's. */
static void try_again_later(struct open_erasure *erasure, char *trouble)
{
    struct failing *failing = &erasure->failing;
    struct search_result result = storage_search_result(erasure->search);

    if (!failing->trouble)
        weir_log(WEIR_LOG_ERROR, "erasure not verified, which is tried again",
                 "erasure=%" PRIu64 " found=%" PRIu64 " unread=%" PRIu64
                 " see=\"weir erase status %" PRIu64 "\"",
                 erasure->number, result.found, result.unread, erasure->number);
    free(failing->trouble);
    failing->trouble = trouble;
    failing->pause_ms = failing->pause_ms == 0 ? PAUSE_FIRST_MS : 2 * failing->pause_ms;
    failing->pause_ms = failing->pause_ms < PAUSE_MAX_MS ? failing->pause_ms : PAUSE_MAX_MS;
    failing->again_ms = weir_now_ms() + failing->pause_ms;
    storage_search_free(erasure->search);
    erasure->search = NULL;
}

static enum weir_status commit_verified(struct storage *storage, struct open_erasure *erasure,
                                        struct weir_error *err)
{
    struct search_result result = storage_search_result(erasure->search);
    enum weir_status status;

    if (result.shared > 0)
        storage_erasure_remark(erasure, "passages of the erased content also stand in samples of "
                                        "others, which stay: text that they share");
    status = DB_RUN(storage->db, Q_erasure_verified, NULL, err, DB_I64(erasure->number),
                    DB_I64(weir_now_wall_us()), DB_I64(result.bytes), DB_I64(result.found),
                    DB_TEXT(weir_buf_text(&erasure->remarks)));
    if (status != WEIR_OK)
        return status;
    erasure->state = ERASURE_VERIFIED;
    weir_log(WEIR_LOG_INFO, "erasure verified", "erasure=%" PRIu64 " searched=%" PRIu64,
             erasure->number, result.bytes);
    return WEIR_OK;
}

static enum weir_status conclude(struct storage *storage, struct open_erasure *erasure,
                                 struct weir_error *err)
{
    uint64_t readable;
    char *trouble;
    enum weir_status status = count_readable(storage, erasure, &readable, err);

    if (status != WEIR_OK)
        return status;
    trouble = storage_search_trouble(erasure->search);
    if (!trouble && readable > 0)
        trouble = weir_format("%" PRIu64 " of its samples can still be read", readable);
    if (!trouble)
        return commit_verified(storage, erasure, err);
    try_again_later(erasure, trouble);
    return WEIR_OK;
}

enum weir_status storage_verify_step(struct storage *storage, struct open_erasure *erasure,
                                     struct weir_error *err)
{
    bool is_done;
    enum weir_status status;

    if (!erasure->is_deep) {
        storage_scrub_deep(storage, erasure);
        return WEIR_OK;
    }
    if (!erasure->search)
        erasure->search = storage_search_new(storage, &erasure->prints);
    status = storage_search_step(erasure->search, &is_done, err);
    return status == WEIR_OK && is_done ? conclude(storage, erasure, err) : status;
}
