/* Answers about many erasures at once: which have moved on, their samples, what was done for them. Each
 * answer is one statement. */
#include "storage/erasure/erasure_record.h"
#include "storage/erasure/erasure_steps.h"
#include "storage/sql/queries.h"

#include "core/base/memory.h"

#include <string.h>

enum { PAGE_ERASURES = 1024, PAGE_IDS = 262144, PAGE_EPOCHS = 4096 };

/* ---- columns of rows ---- */

static struct weir_u64s u64s(const struct weir_rows *rows, const char *column,
                             struct weir_arena *arena)
{
    size_t count = weir_rows_count(rows);
    uint64_t *at = weir_arena_alloc(arena, (count + 1) * sizeof(*at));

    for (size_t i = 0; i < count; i++)
        at[i] = (uint64_t)weir_rows_i64(rows, i, column);
    return (struct weir_u64s){at, count};
}

static struct weir_i64s i64s(const struct weir_rows *rows, const char *column,
                             struct weir_arena *arena)
{
    size_t count = weir_rows_count(rows);
    int64_t *at = weir_arena_alloc(arena, (count + 1) * sizeof(*at));

    for (size_t i = 0; i < count; i++)
        at[i] = weir_rows_i64(rows, i, column);
    return (struct weir_i64s){at, count};
}

static struct weir_u32s states(const struct weir_rows *rows, const char *column,
                               struct weir_arena *arena)
{
    size_t count = weir_rows_count(rows);
    uint32_t *at = weir_arena_alloc(arena, (count + 1) * sizeof(*at));

    for (size_t i = 0; i < count; i++)
        at[i] = storage_erasure_state(weir_rows_text(rows, i, column));
    return (struct weir_u32s){at, count};
}

static struct weir_strs strs(const struct weir_rows *rows, const char *column,
                             struct weir_arena *arena)
{
    size_t count = weir_rows_count(rows);
    const char **at = weir_arena_alloc(arena, (count + 1) * sizeof(*at));

    for (size_t i = 0; i < count; i++)
        at[i] = weir_arena_format(arena, "%s", weir_rows_text(rows, i, column));
    return (struct weir_strs){at, count};
}

static enum weir_status check_count(const char *message, size_t count, struct weir_error *err)
{
    return count <= PAGE_ERASURES
               ? WEIR_OK
               : weir_fail(err, WEIR_LIMIT, "%s: found %zu erasures, expected at most %d", message,
                           count, PAGE_ERASURES);
}

/* ---- answers ---- */

enum weir_status storage_erase_progress(struct store *store,
                                        const struct msg_erase_progress_request *asked,
                                        struct weir_arena *arena, struct msg_erase_progress *answer,
                                        struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(store->db, Q_erasures_moved, &rows, err, DB_I64(asked->after),
                                     DB_I64(asked->first), DB_I64(PAGE_ERASURES));
    size_t count = status == WEIR_OK ? weir_rows_count(rows) : 0;

    if (status != WEIR_OK)
        return status;
    *answer = (struct msg_erase_progress){
        .cursor = count > 0 ? (uint64_t)weir_rows_i64(rows, count - 1, "moved") : asked->after,
        .erasures = u64s(rows, "number", arena),
        .states = states(rows, "state", arena),
        .epochs = u64s(rows, "epoch", arena),
        .samples = u64s(rows, "samples", arena),
        .in_force_us = i64s(rows, "in_force_us", arena),
        .holders_answered = u64s(rows, "holders_answered", arena),
        .holders_expired = u64s(rows, "holders_expired", arena),
        .references = strs(rows, "reference", arena),
        .end = count < PAGE_ERASURES,
    };
    return WEIR_OK;
}

/* The ids of all rows end to end, and how many are of each. */
static void join_ids(const struct weir_rows *rows, struct weir_arena *arena,
                     struct msg_erase_samples *answer)
{
    size_t rows_count = weir_rows_count(rows), bytes = 0, at = 0;
    uint64_t *counts = weir_arena_alloc(arena, (rows_count + 1) * sizeof(*counts));
    uint8_t *ids;

    for (size_t i = 0; i < rows_count; i++) {
        counts[i] = weir_rows_bytes(rows, i, "ids").size / sizeof(uint64_t);
        bytes += counts[i] * sizeof(uint64_t);
    }
    ids = weir_arena_alloc(arena, bytes + sizeof(uint64_t));
    for (size_t i = 0; i < rows_count; i++) {
        if (counts[i] > 0)
            memcpy(ids + at, weir_rows_bytes(rows, i, "ids").at, counts[i] * sizeof(uint64_t));
        at += counts[i] * sizeof(uint64_t);
    }
    answer->counts = (struct weir_u64s){counts, rows_count};
    answer->ids = (struct weir_u64s){(const uint64_t *)(const void *)ids, bytes / sizeof(uint64_t)};
}

enum weir_status storage_erase_samples(struct store *store,
                                       const struct msg_erase_samples_request *asked,
                                       struct weir_arena *arena, struct msg_erase_samples *answer,
                                       struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = check_count("erase_samples_request", asked->erasures.count, err);
    size_t count;

    if (status == WEIR_OK)
        status = DB_RUN(store->db, Q_erasures_samples, &rows, err,
                        DB_I64S(asked->erasures.at, asked->erasures.count), DB_I64(asked->after),
                        DB_I64(PAGE_IDS * sizeof(uint64_t)), DB_I64(PAGE_EPOCHS));
    if (status != WEIR_OK)
        return status;
    count = weir_rows_count(rows);
    answer->cursor = count > 0 ? (uint64_t)weir_rows_i64(rows, count - 1, "epoch") : asked->after;
    answer->erasures = u64s(rows, "erasure", arena);
    join_ids(rows, arena, answer);
    answer->end = count < PAGE_EPOCHS && answer->ids.count < PAGE_IDS;
    return WEIR_OK;
}

enum weir_status storage_erase_reports(struct store *store,
                                       const struct msg_erase_reports_request *asked,
                                       struct weir_arena *arena, struct msg_erase_reports *answer,
                                       struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = check_count("erase_reports_request", asked->erasures.count, err);

    if (status == WEIR_OK)
        status = DB_RUN(store->db, Q_erasures_report, &rows, err,
                        DB_I64S(asked->erasures.at, asked->erasures.count));
    if (status != WEIR_OK)
        return status;
    *answer = (struct msg_erase_reports){
        .erasures = u64s(rows, "number", arena),
        .states = states(rows, "state", arena),
        .epochs = u64s(rows, "epoch", arena),
        .samples = u64s(rows, "samples", arena),
        .accepted_us = i64s(rows, "accepted_us", arena),
        .in_force_us = i64s(rows, "in_force_us", arena),
        .scrubbed_us = i64s(rows, "scrubbed_us", arena),
        .verified_us = i64s(rows, "verified_us", arena),
        .records_scrubbed = u64s(rows, "records_scrubbed", arena),
        .files_scrubbed = u64s(rows, "files_scrubbed", arena),
        .bytes_scrubbed = u64s(rows, "bytes_scrubbed", arena),
        .objects_cleaned = u64s(rows, "objects_cleaned", arena),
        .bytes_searched = u64s(rows, "bytes_searched", arena),
        .found = u64s(rows, "found", arena),
        .remarks = strs(rows, "remarks", arena),
        .holders_answered = u64s(rows, "holders_answered", arena),
        .holders_expired = u64s(rows, "holders_expired", arena),
        .dropped = strs(rows, "dropped", arena),
        .places = strs(rows, "places", arena),
    };
    return WEIR_OK;
}
