/* The steps of erasures: see erasure_steps.h. */
#include "storage/erasure/erasure_steps.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/chunks/key_merge.h"
#include "storage/erasure/dropping.h"
#include "storage/erasure/erasure_record.h"
#include "storage/erasure/s3_pending.h"
#include "storage/feed/replay.h"
#include "storage/files/scrub_intent.h"
#include "storage/sql/queries.h"

#include <stdlib.h>
#include <string.h>

enum {
    FORCE_POLL_MS = 50,
    SCANS_POLL_MS = 50,
    EPOCHS_PER_QUERY = 64,
    NAMES_AT_ONCE_MAX = 262144, /* names and ids */
    PRINTS_DROPPED = 64,        /* rows, of up to a quarter of a megabyte */
};

/* ---- life ---- */

static void free_erasing(struct erasures *erasures)
{
    if (erasures == NULL)
        return;
    for (size_t i = 0; i < erasures->count; i++)
        storage_erasure_record_free(erasures->at[i]);
    for (size_t i = erasures->waiting_at; i < erasures->waiting_count; i++)
        storage_erase_request_free(erasures->waiting[i]);
    free(erasures->waiting);
    free(erasures->spent.at);
    free(erasures->at);
    free(erasures);
}

static void add_erasure(struct erasures *erasures, struct erasure_record *erasure)
{
    erasures->at = weir_grow(erasures->at, erasures->count, &erasures->capacity,
                             sizeof(struct erasure_record *));
    erasures->at[erasures->count++] = erasure;
}

static void add_waiting(struct erasures *erasures, struct erase_request *request)
{
    erasures->waiting = weir_grow(erasures->waiting, erasures->waiting_count,
                                  &erasures->waiting_capacity, sizeof(struct erase_request *));
    erasures->waiting[erasures->waiting_count++] = request;
}

static void add_erased_names(struct store *store, uint32_t dataset, const struct key_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        storage_erased_names_add(&store->erased, dataset, &names->at[i]);
}

void storage_erasure_take_up(struct eraser *eraser, struct erase_request *request)
{
    request->taken_up_ms = weir_now_ms();
    eraser->erasures->newest_ms = request->taken_up_ms;
    add_waiting(eraser->erasures, request);
    storage_pump(eraser->store);
}

/* A hole between epochs would move those after it to lower numbers, which holders have passed. */
static enum weir_status check_epoch(const struct eraser *eraser, int64_t epoch, size_t count,
                                    struct weir_error *err)
{
    uint64_t expected = storage_leases_epoch(eraser->leases) + 1;

    if ((uint64_t)epoch == expected && count <= STORAGE_ERASED_MAX)
        return WEIR_OK;
    return weir_fail(
        err, WEIR_CORRUPT,
        "table erasure_ids: found epoch %lld with %zu samples, expected epoch %llu with at most %d: "
        "put the database back from a backup",
        (long long)epoch, count, (unsigned long long)expected, STORAGE_ERASED_MAX);
}

/* Ids of the epoch, of however many requests; those of the next epoch begin at `*ret_at` afterwards. */
static enum weir_status add_epoch(struct eraser *eraser, const struct weir_rows *rows,
                                  size_t *ret_at, struct weir_error *err)
{
    size_t at = *ret_at;
    int64_t epoch = weir_rows_i64(rows, at, "epoch");
    struct id_list ids = {0};
    enum weir_status status;

    for (; at < weir_rows_count(rows) && weir_rows_i64(rows, at, "epoch") == epoch; at++) {
        struct weir_bytes packed = weir_rows_bytes(rows, at, "ids");

        for (size_t i = 0; i + sizeof(uint64_t) <= packed.size; i += sizeof(uint64_t))
            storage_id_list_add(&ids, weir_get_u64(packed.at + i));
    }
    storage_id_list_sort(&ids);
    status = check_epoch(eraser, epoch, ids.count, err);
    if (status == WEIR_OK)
        (void)storage_leases_add(eraser->leases, ids.at, ids.count);
    free(ids.at);
    *ret_at = at;
    return status;
}

static enum weir_status load_epochs(struct eraser *eraser, struct weir_error *err)
{
    for (bool is_through = false; !is_through;) {
        uint64_t known = storage_leases_epoch(eraser->leases);
        WEIR_AUTO(weir_rows) rows = NULL;
        enum weir_status status = DB_RUN(eraser->store->db, Q_epochs, &rows, err, DB_I64(known),
                                         DB_I64(known + EPOCHS_PER_QUERY));

        if (status != WEIR_OK)
            return status;
        for (size_t at = 0; status == WEIR_OK && at < weir_rows_count(rows);)
            status = add_epoch(eraser, rows, &at, err);
        if (status != WEIR_OK)
            return status;
        is_through = weir_rows_count(rows) == 0;
    }
    return WEIR_OK;
}

static enum weir_status load_subjects(struct store *store, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(store->db, Q_erasure_subjects, &rows, err);

    storage_erased_names_fini(&store->erased);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        struct key_names names = {0};

        status = storage_erasure_record_names(weir_rows_bytes(rows, i, "proofs"),
                                              weir_rows_bytes(rows, i, "subjects"), &names, err);
        add_erased_names(store, (uint32_t)weir_rows_i64(rows, i, "dataset"), &names);
        free(names.at);
    }
    return status;
}

/* They are begun in the order of their numbers, as if they had come just now. */
static void wait_all(struct erasures *erasures, struct erasure_record *accepted)
{
    for (size_t i = 0; i < accepted->count; i++)
        add_waiting(erasures, accepted->requests[i]);
    accepted->count = 0;
    storage_erasure_record_free(accepted);
}

/* A death may have left them. */
static enum weir_status load_spent(struct eraser *eraser, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(eraser->store->db, Q_erasure_prints_spent, &rows, err);

    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        storage_id_list_add(&eraser->erasures->spent, (uint64_t)weir_rows_i64(rows, i, "erasure"));
    return status;
}

enum weir_status storage_erasure_load(struct eraser *eraser, struct weir_error *err)
{
    struct erasure_record *by_state[WEIR_ERASURE_STATES] = {NULL};
    enum weir_status status = load_epochs(eraser, err);

    if (status == WEIR_OK)
        status = load_subjects(eraser->store, err);
    if (status == WEIR_OK)
        status = storage_erase_load(eraser->store, by_state, err);
    if (status == WEIR_OK) {
        free_erasing(eraser->erasures);
        eraser->erasures = weir_calloc(1, sizeof(*eraser->erasures));
    }
    for (size_t state = 0; state < WEIR_COUNT(by_state); state++) {
        if (by_state[state] == NULL)
            continue;
        if (status != WEIR_OK)
            storage_erasure_record_free(by_state[state]);
        else if (state == WEIR_ERASURE_ACCEPTED)
            wait_all(eraser->erasures, by_state[state]);
        else
            add_erasure(eraser->erasures, by_state[state]);
    }
    if (status == WEIR_OK)
        status = load_spent(eraser, err);
    if (status == WEIR_OK)
        storage_erasure_hint(eraser);
    return status;
}

/* ---- from one state to the next ---- */

/* Some requests of it, in a transaction; *ret_done with the last. */
typedef enum weir_status move_fn(struct eraser *eraser, struct erasure_record *erasure,
                                 const struct id_list *numbers, struct weir_error *err);

static enum weir_status move_some(struct eraser *eraser, struct erasure_record *erasure,
                                  move_fn *move, bool *ret_done, struct weir_error *err)
{
    struct id_list numbers = storage_erasure_record_numbers(erasure, erasure->moved, ERASE_SLICE);
    enum weir_status status = weir_db_begin(eraser->store->db, err);

    if (status == WEIR_OK)
        status = move(eraser, erasure, &numbers, err);
    if (status == WEIR_OK)
        status = weir_db_commit(eraser->store->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(eraser->store->db);
    else
        erasure->moved += numbers.count;
    free(numbers.at);
    *ret_done = status == WEIR_OK && erasure->moved == erasure->count;
    if (*ret_done)
        erasure->moved = 0;
    return status;
}

static void tell(const struct erasure_record *erasure, const char *what)
{
    weir_log(WEIR_LOG_INFO, what, "erasures=%zu first=%llu last=%llu epoch=%llu samples=%llu",
             erasure->count, (unsigned long long)erasure->requests[0]->number,
             (unsigned long long)erasure->requests[erasure->count - 1]->number,
             (unsigned long long)erasure->erasure_epoch, (unsigned long long)erasure->samples);
}

/* ---- accepted -> tombstoned ---- */

enum weir_status storage_scrub_flush(struct eraser *eraser, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < eraser->store->catalog->count; i++)
        status = storage_scan_flush(eraser->store->catalog->datasets[i],
                                    storage_scanner_tools(eraser->scanner), err);
    return status;
}

/* As many of those that wait as are looked up together. From here on what comes in is compared with their names: it is
 * no longer looked up. */
static struct erasure_record *begin_waiting(struct eraser *eraser)
{
    struct erasures *erasures = eraser->erasures;
    struct erasure_record *erasure;
    size_t asked = 0;

    if (erasures->waiting_at == erasures->waiting_count)
        return NULL;
    erasure = storage_erasure_record_new(WEIR_ERASURE_ACCEPTED);
    while (erasures->waiting_at < erasures->waiting_count && erasure->count < ERASE_REQUESTS_MAX &&
           asked < NAMES_AT_ONCE_MAX) {
        struct erase_request *request = erasures->waiting[erasures->waiting_at++];

        asked += request->names.count + request->wanted.count;
        add_erased_names(eraser->store, request->dataset, &request->names);
        storage_erasure_record_add(erasure, request);
    }
    if (erasures->waiting_at == erasures->waiting_count)
        erasures->waiting_at = erasures->waiting_count = 0;
    add_erasure(erasures, erasure);
    return erasure;
}

static enum weir_status move_tombstoned(struct eraser *eraser, struct erasure_record *erasure,
                                        const struct id_list *numbers, struct weir_error *err)
{
    return DB_RUN(eraser->store->db, Q_erasures_tombstoned, NULL, err,
                  DB_I64S(numbers->at, numbers->count), DB_I64(erasure->erasure_epoch));
}

static enum weir_status tombstone(struct eraser *eraser, struct erasure_record *erasure,
                                  struct weir_error *err)
{
    bool is_done = false;
    enum weir_status status = WEIR_OK;

    if (!erasure->is_resolved) {
        if (erasure->resolving == NULL) {
            status = storage_scrub_flush(eraser, err);
            if (status == WEIR_OK)
                status = storage_key_merge_stop(eraser->store, err);
        }
        return status == WEIR_OK
                   ? storage_tombstone_step(eraser, erasure, &erasure->is_resolved, err)
                   : status;
    }
    /* Not in force before what it relies on: others may have taken samples that it means. */
    if (erasure->moved == 0)
        erasure->erasure_epoch = storage_leases_epoch(eraser->leases);
    status = move_some(eraser, erasure, move_tombstoned, &is_done, err);
    if (status != WEIR_OK || !is_done)
        return status;
    for (size_t i = 0; i < erasure->count; i++)
        storage_erase_request_forget_names(erasure->requests[i]);
    erasure->state = WEIR_ERASURE_TOMBSTONED;
    tell(erasure, "erasures tombstoned");
    return storage_erase_load_epochs(eraser->store, erasure, err);
}

static enum weir_status step_accepted(struct eraser *eraser, bool *ret_more, int64_t *ret_wait_ms,
                                      struct weir_error *err)
{
    struct erasures *erasures = eraser->erasures;
    struct erasure_record *erasure = NULL;
    enum weir_status status;

    for (size_t i = 0; i < erasures->count; i++) {
        if (erasures->at[i]->state == WEIR_ERASURE_ACCEPTED)
            erasure = erasures->at[i];
    }
    if (erasure == NULL && erasures->waiting_at < erasures->waiting_count &&
        storage_scanner_is_first(eraser->scanner)) {
        *ret_wait_ms = SCANS_POLL_MS;
        return WEIR_OK;
    }
    if (erasure == NULL)
        erasure = begin_waiting(eraser);
    if (erasure == NULL)
        return WEIR_OK;
    status = tombstone(eraser, erasure, err);
    *ret_wait_ms = storage_id_fetch_wait_ms(&erasure->fetch);
    *ret_more = *ret_wait_ms == 0;
    return status;
}

/* ---- tombstoned -> in force ---- */

static enum weir_status move_in_force(struct eraser *eraser, struct erasure_record *erasure,
                                      const struct id_list *numbers, struct weir_error *err)
{
    struct epoch_force force =
        storage_leases_force(eraser->leases, erasure->erasure_epoch, weir_now_ms());

    return DB_RUN(eraser->store->db, Q_erasures_in_force, NULL, err,
                  DB_I64S(numbers->at, numbers->count), DB_I64(weir_now_wall_us()),
                  DB_I64(force.answered), DB_I64(force.expired));
}

static enum weir_status enforce(struct eraser *eraser, struct erasure_record *erasure,
                                bool *ret_more, int64_t *ret_wait_ms, struct weir_error *err)
{
    int64_t now_ms = weir_now_ms();
    struct epoch_force force = storage_leases_force(eraser->leases, erasure->erasure_epoch, now_ms);
    bool is_done = false;
    enum weir_status status;

    if (!force.in_force) {
        int64_t wait_ms = force.expected_ms - now_ms + 1;

        *ret_wait_ms = wait_ms < FORCE_POLL_MS ? wait_ms : FORCE_POLL_MS;
        return WEIR_OK;
    }
    *ret_more = true;
    status = move_some(eraser, erasure, move_in_force, &is_done, err);
    if (status != WEIR_OK || !is_done)
        return status;
    erasure->state = WEIR_ERASURE_IN_FORCE;
    erasure->in_force_ms = now_ms;
    weir_log(WEIR_LOG_INFO, "erasures in force",
             "erasures=%zu first=%llu epoch=%llu answered=%zu expired=%zu", erasure->count,
             (unsigned long long)erasure->requests[0]->number,
             (unsigned long long)erasure->erasure_epoch, force.answered, force.expired);
    return WEIR_OK;
}

/* ---- in force -> scrubbed ---- */

/* Times and labels of the erased stand in the orders of replays, and some may be half-made. */
static void drop_orders(struct eraser *eraser, const struct erasure_record *erasure)
{
    for (size_t i = 0; i < erasure->datasets.count; i++)
        storage_replays_drop(eraser->replays, (uint32_t)erasure->datasets.at[i]);
}

/* In a dataset without subjects, reasons for refusing records quote them: whose they were is not known, so that all
 * are dropped. */
static enum weir_status drop_quotes(struct store *store, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) any = NULL;
    enum weir_status status = DB_RUN(store->db, Q_quotes_any, &any, err);

    if (status == WEIR_OK && weir_rows_bool(any, 0, "in_quarantine"))
        status = DB_RUN(store->db, Q_quarantine_unquote, NULL, err);
    if (status == WEIR_OK && weir_rows_bool(any, 0, "in_pushed"))
        status = DB_RUN(store->db, Q_pushed_unquote, NULL, err);
    return status;
}

static enum weir_status move_scrubbed(struct eraser *eraser, struct erasure_record *erasure,
                                      const struct id_list *numbers, struct weir_error *err)
{
    enum weir_status status =
        DB_RUN(eraser->store->db, Q_erasures_scrubbed, NULL, err,
               DB_I64S(numbers->at, numbers->count), DB_I64(weir_now_wall_us()));

    if (status == WEIR_OK && erasure->pending_progress.is_any)
        status = storage_pending_remark(eraser->store, erasure, numbers, err);
    if (status == WEIR_OK && erasure->pending_progress.is_any)
        status = DB_RUN(eraser->store->db, Q_owed_drop_done, NULL, err,
                        DB_I64S(numbers->at, numbers->count));
    if (status == WEIR_OK && weir_fault("storage.erase.scrub"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.erase.scrub");
    return status;
}

/* Releases its writes to buckets, once files are overwritten: waits until they are done, or have failed often
 * enough. */
static enum weir_status settle_buckets(struct eraser *eraser, struct erasure_record *erasure,
                                       struct weir_error *err)
{
    struct pending_progress *pending_progress = &erasure->pending_progress;
    enum weir_status status = WEIR_OK;

    if (!pending_progress->is_due)
        status = storage_pending_release(eraser, erasure, err);
    if (status == WEIR_OK && pending_progress->is_any)
        status = storage_pending_is_settled(eraser, erasure, &erasure->is_settled, err);
    else if (status == WEIR_OK)
        erasure->is_settled = true;
    pending_progress->is_waiting = status == WEIR_OK && !erasure->is_settled;
    if (erasure->is_settled)
        storage_page_rewind(erasure);
    return status;
}

/* Intents are kept as long as any file may be half-way. */
static void end_intents(const struct eraser *eraser)
{
    if (!storage_erasure_is_half_way(eraser))
        storage_scrub_intend_nothing(eraser->store->data_dir);
}

/* Those that a file stands in the way of come later. */
static void part(struct eraser *eraser, struct erasure_record *erasure)
{
    struct erasure_record *stuck = storage_scrub_part(erasure);

    if (stuck != NULL)
        add_erasure(eraser->erasures, stuck);
    if (erasure->is_overwritten)
        end_intents(eraser);
}

static enum weir_status overwrite(struct eraser *eraser, struct erasure_record *erasure,
                                  struct weir_error *err)
{
    bool is_through;
    enum weir_status status = storage_scrub_step(eraser, erasure, &is_through, err);

    if (status == WEIR_OK && is_through)
        part(eraser, erasure);
    return status;
}

static enum weir_status drop(struct eraser *eraser, struct erasure_record *erasure,
                             struct weir_error *err)
{
    struct erasure_record *parted = storage_drop_part(erasure);
    enum weir_status status = WEIR_OK;

    if (parted != NULL)
        add_erasure(eraser->erasures, parted);
    else
        status = storage_drop_step(eraser, erasure, err);
    if (erasure->is_dropped)
        end_intents(eraser);
    return status;
}

static enum weir_status drop_erased(struct eraser *eraser, struct erasure_record *erasure,
                                    struct weir_error *err)
{
    enum weir_status status = storage_drop_erased_step(eraser, erasure, err);

    if (erasure->is_unrefused)
        end_intents(eraser);
    return status;
}

static enum weir_status scrub(struct eraser *eraser, struct erasure_record *erasure,
                              struct weir_error *err)
{
    bool is_done = false;
    enum weir_status status;

    if (!erasure->is_overwritten)
        return overwrite(eraser, erasure, err);
    if (!erasure->is_unrefused) /* before objects are written again from mirrors */
        return drop_erased(eraser, erasure, err);
    if (!erasure->is_settled)
        return settle_buckets(eraser, erasure, err);
    if (!erasure->is_blank) {
        status = storage_scrub_flush(eraser, err); /* no rows of it are only staged */
        return status == WEIR_OK
                   ? storage_scrub_records(eraser->store, erasure, &erasure->is_blank, err)
                   : status;
    }
    if (!erasure->is_thin)
        return storage_scrub_runs(eraser->store, erasure, &erasure->is_thin, err);
    if (!erasure->is_renamed)
        return storage_scrub_classes(eraser, erasure, &erasure->is_renamed, err);
    if (erasure->drops > 0 && !erasure->is_dropped)
        return drop(eraser, erasure, err);
    if (erasure->moved == 0) {
        drop_orders(eraser, erasure);
        status = drop_quotes(eraser->store, err);
        if (status != WEIR_OK)
            return status;
    }
    status = move_some(eraser, erasure, move_scrubbed, &is_done, err);
    if (status != WEIR_OK || !is_done)
        return status;
    storage_chunk_cache_clear(eraser->store->cache);
    storage_open_files_clear(eraser->from->files);
    storage_page_rewind(erasure);
    erasure->state = WEIR_ERASURE_SCRUBBED;
    tell(erasure, "erasures scrubbed");
    return WEIR_OK;
}

/* ---- scrubbed -> verified ---- */

/* Those of which something was found are tried again. */
static void part_found(struct eraser *eraser, struct erasure_record *erasure)
{
    struct erasure_record *found =
        storage_verify_part(erasure, storage_erasure_is_any_unscrubbed(eraser->erasures));

    if (found != NULL)
        add_erasure(eraser->erasures, found);
}

static enum weir_status verify(struct eraser *eraser, struct erasure_record *erasure,
                               struct weir_error *err)
{
    bool is_done = false;
    enum weir_status status;

    if (!erasure->is_attributed) {
        status = storage_verify_step(eraser, erasure, err);
        if (status == WEIR_OK && erasure->is_attributed)
            part_found(eraser, erasure);
        return status;
    }
    status = move_some(eraser, erasure, storage_move_verified, &is_done, err);
    if (status != WEIR_OK || !is_done)
        return status;
    erasure->state = WEIR_ERASURE_VERIFIED;
    tell(erasure, "erasures verified");
    return WEIR_OK;
}

/* ---- steps ---- */

static void call_within(int64_t wait_ms, int64_t *ret_wait_ms)
{
    if (wait_ms > 0 && (*ret_wait_ms == 0 || wait_ms < *ret_wait_ms))
        *ret_wait_ms = wait_ms;
}

/* One piece of the bytes of the next erasure that has nothing to wait for. */
static enum weir_status step_bytes(struct eraser *eraser, bool *ret_more, int64_t *ret_wait_ms,
                                   struct weir_error *err)
{
    struct erasures *erasures = eraser->erasures;
    enum weir_status status = WEIR_OK;

    call_within(storage_erasure_begin_bytes(eraser, weir_now_ms()), ret_wait_ms);
    for (size_t i = 0; status == WEIR_OK && !*ret_more && i < erasures->count; i++) {
        struct erasure_record *erasure = erasures->at[erasures->rotation++ % erasures->count];
        int64_t now_ms = weir_now_ms();

        if (!storage_erasure_has_bytes_to_do(erasure) ||
            (erasure->state == WEIR_ERASURE_IN_FORCE && !erasure->is_begun))
            continue;
        if (erasure->state == WEIR_ERASURE_IN_FORCE && storage_scrub_waits(erasure, now_ms)) {
            call_within(erasure->round.again_ms - now_ms, ret_wait_ms);
            continue;
        }
        if (erasure->state == WEIR_ERASURE_SCRUBBED && !erasure->is_sealed)
            continue; /* storage_erase_search() goes on with it */
        if (erasure->state == WEIR_ERASURE_SCRUBBED && storage_verify_waits(erasure, now_ms)) {
            call_within(erasure->failing.again_ms - now_ms, ret_wait_ms);
            continue;
        }
        storage_erasure_search_together(erasures, erasure);
        status = erasure->state == WEIR_ERASURE_IN_FORCE ? scrub(eraser, erasure, err)
                                                         : verify(eraser, erasure, err);
        call_within(storage_id_fetch_wait_ms(&erasure->fetch), ret_wait_ms);
        *ret_more =
            !erasure->pending_progress.is_waiting && storage_id_fetch_wait_ms(&erasure->fetch) == 0;
        if (erasure->state != WEIR_ERASURE_VERIFIED)
            continue;
        storage_erasure_remove(erasures, erasure);
        storage_erasure_record_free(erasure);
    }
    return status;
}

/* ---- after the end ---- */

/* Fingerprints of what is verified, row by row: of millions of samples they are hundreds of megabytes. */
static enum weir_status drop_prints(struct eraser *eraser, bool *ret_more, struct weir_error *err)
{
    struct id_list *spent = &eraser->erasures->spent;
    size_t count = spent->count < ERASE_SLICE ? spent->count : ERASE_SLICE;
    WEIR_AUTO(weir_rows) dropped = NULL;
    enum weir_status status;

    if (count == 0)
        return WEIR_OK;
    status = DB_RUN(eraser->store->db, Q_erasure_prints_drop, &dropped, err,
                    DB_I64S(spent->at + spent->count - count, count), DB_I64(PRINTS_DROPPED));
    if (status == WEIR_OK && weir_rows_count(dropped) < PRINTS_DROPPED)
        spent->count -= count;
    *ret_more = *ret_more || spent->count > 0;
    return status;
}

/* Steps in the order that protects people: tombstones of all, then force of all, then bytes. */
enum weir_status storage_erasure_step(struct eraser *eraser, bool *ret_more, int64_t *ret_wait_ms,
                                      struct weir_error *err)
{
    const struct erasures *erasures = eraser->erasures;
    bool is_busy = false;
    enum weir_status status;

    *ret_more = false;
    *ret_wait_ms = 0;
    status = step_accepted(eraser, ret_more, ret_wait_ms, err);
    for (size_t i = 0; status == WEIR_OK && i < erasures->count; i++) {
        int64_t wait_ms = 0;

        if (erasures->at[i]->state == WEIR_ERASURE_TOMBSTONED)
            status = enforce(eraser, erasures->at[i], ret_more, &wait_ms, err);
        call_within(wait_ms, ret_wait_ms);
    }
    if (status == WEIR_OK)
        status = step_bytes(eraser, &is_busy, ret_wait_ms, err);
    *ret_more = *ret_more || is_busy;
    return status == WEIR_OK ? drop_prints(eraser, ret_more, err) : status;
}

/* ---- life ---- */

void storage_eraser_begin(struct eraser *eraser)
{
    eraser->epoch_ids = ERASE_PAGE_IDS;
    eraser->accepts = storage_accepts_new(eraser);
    eraser->pending = storage_pending_new(eraser);
}

void storage_eraser_fini(struct eraser *eraser)
{
    storage_accepts_free(eraser->accepts);
    storage_pending_free(eraser->pending);
    storage_id_fetch_fini(&eraser->check.fetch);
    free_erasing(eraser->erasures);
    if (eraser->hint_timer != 0)
        weir_loop_cancel(eraser->store->loop, eraser->hint_timer);
    free(eraser->routes);
    free(eraser->cluster);
    free(eraser->places);
}
