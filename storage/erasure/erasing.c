/* The steps of erasures: see erasing.h. */
#include "storage/erasure/erasing.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/erasure/dropping.h"
#include "storage/erasure/open_erasure.h"
#include "storage/erasure/s3_owed.h"
#include "storage/feed/replay.h"
#include "storage/files/scrub_intent.h"
#include "storage/sql/queries.h"

#include <stdlib.h>
#include <string.h>

enum {
    FORCE_POLL_MS = 50,
    SCANS_POLL_MS = 50,
    EPOCHS_PER_QUERY = 64,
    ASKED_TOGETHER_MAX = 262144, /* names and ids */
    PRINTS_DROPPED = 64,         /* rows, of up to a quarter of a megabyte */
};

/* ---- life ---- */

void storage_erasing_free(struct erasing *erasing)
{
    if (!erasing)
        return;
    for (size_t i = 0; i < erasing->count; i++)
        storage_open_erasure_free(erasing->at[i]);
    for (size_t i = erasing->waiting_at; i < erasing->waiting_count; i++)
        storage_erase_request_free(erasing->waiting[i]);
    free(erasing->waiting);
    free(erasing->spent.at);
    free(erasing->at);
    free(erasing);
}

static void add_erasure(struct erasing *erasing, struct open_erasure *erasure)
{
    erasing->at =
        weir_grow(erasing->at, erasing->count, &erasing->capacity, sizeof(struct open_erasure *));
    erasing->at[erasing->count++] = erasure;
}

static void add_waiting(struct erasing *erasing, struct erase_request *request)
{
    erasing->waiting = weir_grow(erasing->waiting, erasing->waiting_count,
                                 &erasing->waiting_capacity, sizeof(struct erase_request *));
    erasing->waiting[erasing->waiting_count++] = request;
}

static void add_erased_names(struct storage *storage, uint32_t dataset,
                             const struct key_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        storage_erased_names_add(&storage->erased, dataset, &names->at[i]);
}

void storage_erasing_take_up(struct storage *storage, struct erase_request *request)
{
    add_waiting(storage->erasing, request);
    storage->erasing->newest_ms = weir_now_ms();
    storage_pump(storage);
}

/* A hole between epochs would move those behind it to lower numbers, which holders have passed. */
static enum weir_status check_epoch(const struct storage *storage, int64_t epoch, size_t count,
                                    struct weir_error *err)
{
    uint64_t expected = storage_erasure_epoch(storage->erasure) + 1;

    if ((uint64_t)epoch == expected && count <= STORAGE_ERASED_MAX)
        return WEIR_OK;
    return weir_fail(
        err, WEIR_CORRUPT,
        "table erasure_ids: found epoch %lld with %zu samples, expected epoch %llu with at most %d: "
        "put the database back from a backup",
        (long long)epoch, count, (unsigned long long)expected, STORAGE_ERASED_MAX);
}

/* Ids of the epoch, of however many requests; those of the next epoch begin at `*ret_at` afterwards. */
static enum weir_status add_epoch(struct storage *storage, const struct weir_rows *rows,
                                  size_t *ret_at, struct weir_error *err)
{
    size_t at = *ret_at;
    int64_t epoch = weir_rows_i64(rows, at, 0);
    struct id_list ids = {0};
    enum weir_status status;

    for (; at < weir_rows_count(rows) && weir_rows_i64(rows, at, 0) == epoch; at++) {
        struct weir_bytes packed = weir_rows_bytes(rows, at, 1);

        for (size_t i = 0; i + sizeof(uint64_t) <= packed.size; i += sizeof(uint64_t))
            storage_id_list_add(&ids, weir_get_u64(packed.at + i));
    }
    storage_id_list_sort(&ids);
    status = check_epoch(storage, epoch, ids.count, err);
    if (status == WEIR_OK)
        (void)storage_erasure_add(storage->erasure, ids.at, ids.count);
    free(ids.at);
    *ret_at = at;
    return status;
}

static enum weir_status load_epochs(struct storage *storage, struct weir_error *err)
{
    for (bool is_through = false; !is_through;) {
        uint64_t known = storage_erasure_epoch(storage->erasure);
        WEIR_AUTO(weir_rows) rows = NULL;
        enum weir_status status = DB_RUN(storage->db, Q_epochs, &rows, err, DB_I64(known),
                                         DB_I64(known + EPOCHS_PER_QUERY));

        if (status != WEIR_OK)
            return status;
        for (size_t at = 0; status == WEIR_OK && at < weir_rows_count(rows);)
            status = add_epoch(storage, rows, &at, err);
        if (status != WEIR_OK)
            return status;
        is_through = weir_rows_count(rows) == 0;
    }
    return WEIR_OK;
}

static enum weir_status load_subjects(struct storage *storage, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(storage->db, Q_erasure_subjects, &rows, err);

    storage_erased_names_fini(&storage->erased);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        struct key_names names = {0};

        status = storage_open_erasure_names(weir_rows_bytes(rows, i, 3),
                                            weir_rows_bytes(rows, i, 1), &names, err);
        add_erased_names(storage, (uint32_t)weir_rows_i64(rows, i, 0), &names);
        free(names.at);
    }
    return status;
}

/* They are begun in the order of their numbers, as if they had come just now. */
static void wait_all(struct erasing *erasing, struct open_erasure *accepted)
{
    for (size_t i = 0; i < accepted->count; i++)
        add_waiting(erasing, accepted->requests[i]);
    accepted->count = 0;
    storage_open_erasure_free(accepted);
}

/* A death may have left them. */
static enum weir_status load_spent(struct storage *storage, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(storage->db, Q_erasure_prints_spent, &rows, err);

    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        storage_id_list_add(&storage->erasing->spent, (uint64_t)weir_rows_i64(rows, i, 0));
    return status;
}

enum weir_status storage_erasing_load(struct storage *storage, struct weir_error *err)
{
    struct open_erasure *by_state[ERASURE_VERIFIED + 1] = {NULL};
    enum weir_status status = load_epochs(storage, err);

    if (status == WEIR_OK)
        status = load_subjects(storage, err);
    if (status == WEIR_OK)
        status = storage_erase_load(storage, by_state, err);
    if (status == WEIR_OK) {
        storage_erasing_free(storage->erasing);
        storage->erasing = weir_calloc(1, sizeof *storage->erasing);
    }
    for (size_t state = 0; state < WEIR_COUNT(by_state); state++) {
        if (!by_state[state])
            continue;
        if (status != WEIR_OK)
            storage_open_erasure_free(by_state[state]);
        else if (state == ERASURE_ACCEPTED)
            wait_all(storage->erasing, by_state[state]);
        else
            add_erasure(storage->erasing, by_state[state]);
    }
    if (status == WEIR_OK)
        status = load_spent(storage, err);
    if (status == WEIR_OK)
        storage_erasing_hint(storage);
    return status;
}

void storage_erasing_hint(struct storage *storage)
{
    size_t slots[STORAGE_HOLDERS_MAX];
    size_t count = storage_erasure_silent(storage->erasure, weir_now_ms(), slots);
    const struct msg_erased hint = {.epoch = storage_erasure_epoch(storage->erasure)};

    for (size_t i = 0; i < count && storage->server; i++) /* a lost hint costs half a second */
        (void)weir_rpc_push(storage->server, &storage->routes[slots[i]], MSG_erased, &hint, NULL);
}

/* ---- from one state to the next ---- */

/* Some requests of it, in a transaction; *ret_done with the last. */
typedef enum weir_status move_fn(struct storage *storage, struct open_erasure *erasure,
                                 const struct id_list *numbers, struct weir_error *err);

static enum weir_status move_some(struct storage *storage, struct open_erasure *erasure,
                                  move_fn *move, bool *ret_done, struct weir_error *err)
{
    struct id_list numbers = storage_open_erasure_numbers(erasure, erasure->moved, ERASE_SLICE);
    enum weir_status status = weir_db_begin(storage->db, err);

    if (status == WEIR_OK)
        status = move(storage, erasure, &numbers, err);
    if (status == WEIR_OK)
        status = weir_db_commit(storage->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(storage->db);
    else
        erasure->moved += numbers.count;
    free(numbers.at);
    *ret_done = status == WEIR_OK && erasure->moved == erasure->count;
    if (*ret_done)
        erasure->moved = 0;
    return status;
}

static void tell(const struct open_erasure *erasure, const char *what)
{
    weir_log(WEIR_LOG_INFO, what, "erasures=%zu first=%llu last=%llu epoch=%llu samples=%llu",
             erasure->count, (unsigned long long)erasure->requests[0]->number,
             (unsigned long long)erasure->requests[erasure->count - 1]->number,
             (unsigned long long)erasure->epoch, (unsigned long long)erasure->samples);
}

/* ---- accepted -> tombstoned ---- */

enum weir_status storage_scrub_flush(struct storage *storage, struct weir_error *err)
{
    const struct scan_tools tools = storage_tools(storage);
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < storage->catalog->count; i++)
        status = storage_scan_flush(storage->catalog->datasets[i], &tools, err);
    return status;
}

/* As many of those that wait as are looked up together. From here on what comes in is compared with their names: it is
 * not looked up any more. */
static struct open_erasure *begin_waiting(struct storage *storage)
{
    struct erasing *erasing = storage->erasing;
    struct open_erasure *erasure;
    size_t asked = 0;

    if (erasing->waiting_at == erasing->waiting_count)
        return NULL;
    erasure = storage_open_erasure_new(ERASURE_ACCEPTED);
    while (erasing->waiting_at < erasing->waiting_count && erasure->count < ERASE_REQUESTS_MAX &&
           asked < ASKED_TOGETHER_MAX) {
        struct erase_request *request = erasing->waiting[erasing->waiting_at++];

        asked += request->names.count + request->wanted.count;
        add_erased_names(storage, request->dataset, &request->names);
        storage_open_erasure_add(erasure, request);
    }
    if (erasing->waiting_at == erasing->waiting_count)
        erasing->waiting_at = erasing->waiting_count = 0;
    add_erasure(erasing, erasure);
    return erasure;
}

static enum weir_status move_tombstoned(struct storage *storage, struct open_erasure *erasure,
                                        const struct id_list *numbers, struct weir_error *err)
{
    return DB_RUN(storage->db, Q_erasures_tombstoned, NULL, err,
                  DB_I64S(numbers->at, numbers->count), DB_I64(erasure->epoch));
}

static enum weir_status tombstone(struct storage *storage, struct open_erasure *erasure,
                                  struct weir_error *err)
{
    bool is_done = false;
    enum weir_status status = WEIR_OK;

    if (!erasure->is_resolved) {
        if (!erasure->resolving) {
            status = storage_scrub_flush(storage, err);
            if (status == WEIR_OK)
                status = storage_stop_merge(storage, err);
        }
        return status == WEIR_OK
                   ? storage_tombstone_step(storage, erasure, &erasure->is_resolved, err)
                   : status;
    }
    /* Not in force before what it relies on: others may have taken samples that it means. */
    if (erasure->moved == 0)
        erasure->epoch = storage_erasure_epoch(storage->erasure);
    status = move_some(storage, erasure, move_tombstoned, &is_done, err);
    if (status != WEIR_OK || !is_done)
        return status;
    for (size_t i = 0; i < erasure->count; i++)
        storage_erase_request_forget_names(erasure->requests[i]);
    erasure->state = ERASURE_TOMBSTONED;
    tell(erasure, "erasures tombstoned");
    return storage_erase_load_epochs(storage, erasure, err);
}

static enum weir_status step_accepted(struct storage *storage, bool *ret_more, int64_t *ret_wait_ms,
                                      struct weir_error *err)
{
    struct erasing *erasing = storage->erasing;
    struct open_erasure *erasure = NULL;
    enum weir_status status;

    for (size_t i = 0; i < erasing->count; i++) {
        if (erasing->at[i]->state == ERASURE_ACCEPTED)
            erasure = erasing->at[i];
    }
    if (!erasure && erasing->waiting_at < erasing->waiting_count && storage_awaits_scans(storage)) {
        *ret_wait_ms = SCANS_POLL_MS;
        return WEIR_OK;
    }
    if (!erasure)
        erasure = begin_waiting(storage);
    if (!erasure)
        return WEIR_OK;
    status = tombstone(storage, erasure, err);
    *ret_wait_ms = storage_id_fetch_wait_ms(&erasure->fetch);
    *ret_more = *ret_wait_ms == 0;
    return status;
}

/* ---- tombstoned -> in force ---- */

static enum weir_status move_in_force(struct storage *storage, struct open_erasure *erasure,
                                      const struct id_list *numbers, struct weir_error *err)
{
    struct storage_force force =
        storage_erasure_force(storage->erasure, erasure->epoch, weir_now_ms());

    return DB_RUN(storage->db, Q_erasures_in_force, NULL, err, DB_I64S(numbers->at, numbers->count),
                  DB_I64(weir_now_wall_us()), DB_I64(force.answered), DB_I64(force.expired));
}

static enum weir_status enforce(struct storage *storage, struct open_erasure *erasure,
                                bool *ret_more, int64_t *ret_wait_ms, struct weir_error *err)
{
    int64_t now_ms = weir_now_ms();
    struct storage_force force = storage_erasure_force(storage->erasure, erasure->epoch, now_ms);
    bool is_done = false;
    enum weir_status status;

    if (!force.in_force) {
        int64_t wait_ms = force.expected_ms - now_ms + 1;

        *ret_wait_ms = wait_ms < FORCE_POLL_MS ? wait_ms : FORCE_POLL_MS;
        return WEIR_OK;
    }
    *ret_more = true;
    status = move_some(storage, erasure, move_in_force, &is_done, err);
    if (status != WEIR_OK || !is_done)
        return status;
    erasure->state = ERASURE_IN_FORCE;
    erasure->in_force_ms = now_ms;
    weir_log(WEIR_LOG_INFO, "erasures in force",
             "erasures=%zu first=%llu epoch=%llu answered=%zu expired=%zu", erasure->count,
             (unsigned long long)erasure->requests[0]->number, (unsigned long long)erasure->epoch,
             force.answered, force.expired);
    return WEIR_OK;
}

/* ---- in force -> scrubbed ---- */

/* Times and labels of the erased stand in the orders of replays, and some may be half-made. */
static void drop_orders(struct storage *storage, const struct open_erasure *erasure)
{
    for (size_t i = 0; i < erasure->datasets.count; i++)
        storage_replays_drop(storage->replays, (uint32_t)erasure->datasets.at[i]);
}

/* In a dataset without subjects, reasons for refusing records quote them: whose they were is not known, so that all
 * are dropped. */
static enum weir_status drop_quotes(struct storage *storage, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) any = NULL;
    enum weir_status status = DB_RUN(storage->db, Q_quotes_any, &any, err);

    if (status == WEIR_OK && weir_rows_bool(any, 0, 0))
        status = DB_RUN(storage->db, Q_quarantine_unquote, NULL, err);
    if (status == WEIR_OK && weir_rows_bool(any, 0, 1))
        status = DB_RUN(storage->db, Q_pushed_unquote, NULL, err);
    return status;
}

static enum weir_status move_scrubbed(struct storage *storage, struct open_erasure *erasure,
                                      const struct id_list *numbers, struct weir_error *err)
{
    enum weir_status status =
        DB_RUN(storage->db, Q_erasures_scrubbed, NULL, err, DB_I64S(numbers->at, numbers->count),
               DB_I64(weir_now_wall_us()));

    if (status == WEIR_OK && erasure->owing.is_any)
        status = storage_owed_remark(storage, erasure, numbers, err);
    if (status == WEIR_OK && erasure->owing.is_any)
        status =
            DB_RUN(storage->db, Q_owed_drop_done, NULL, err, DB_I64S(numbers->at, numbers->count));
    if (status == WEIR_OK && weir_fault("storage.erase.scrub"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.erase.scrub");
    return status;
}

/* What it owes to buckets, once files are overwritten: waits until that is done, or has failed often enough. */
static enum weir_status settle_buckets(struct storage *storage, struct open_erasure *erasure,
                                       struct weir_error *err)
{
    struct owing *owing = &erasure->owing;
    enum weir_status status = WEIR_OK;

    if (!owing->is_due)
        status = storage_owed_release(storage, erasure, err);
    if (status == WEIR_OK && owing->is_any)
        status = storage_owed_is_settled(storage, erasure, &erasure->is_settled, err);
    else if (status == WEIR_OK)
        erasure->is_settled = true;
    owing->is_waiting = status == WEIR_OK && !erasure->is_settled;
    if (erasure->is_settled)
        storage_page_rewind(erasure);
    return status;
}

/* Those that a file stands in the way of come later. */
static void part(struct storage *storage, struct open_erasure *erasure)
{
    struct open_erasure *stuck = storage_scrub_part(erasure);

    if (stuck)
        add_erasure(storage->erasing, stuck);
    if (erasure->is_overwritten && !storage_erasing_is_half_way(storage))
        storage_scrub_intend_nothing(storage->data_dir);
}

static enum weir_status overwrite(struct storage *storage, struct open_erasure *erasure,
                                  struct weir_error *err)
{
    bool is_through;
    enum weir_status status = storage_scrub_step(storage, erasure, &is_through, err);

    if (status == WEIR_OK && is_through)
        part(storage, erasure);
    return status;
}

static enum weir_status drop(struct storage *storage, struct open_erasure *erasure,
                             struct weir_error *err)
{
    struct open_erasure *parted = storage_drop_part(erasure);

    if (!parted)
        return storage_drop_step(storage, erasure, err);
    add_erasure(storage->erasing, parted);
    return WEIR_OK;
}

static enum weir_status scrub(struct storage *storage, struct open_erasure *erasure,
                              struct weir_error *err)
{
    bool is_done = false;
    enum weir_status status;

    if (!erasure->is_overwritten)
        return overwrite(storage, erasure, err);
    if (!erasure->is_settled)
        return settle_buckets(storage, erasure, err);
    if (!erasure->is_blank) {
        status = storage_scrub_flush(storage, err); /* no rows of it are only staged */
        return status == WEIR_OK ? storage_scrub_records(storage, erasure, &erasure->is_blank, err)
                                 : status;
    }
    if (!erasure->is_thin)
        return storage_scrub_runs(storage, erasure, &erasure->is_thin, err);
    if (!erasure->is_renamed)
        return storage_scrub_classes(storage, erasure, &erasure->is_renamed, err);
    if (erasure->drops > 0 && !erasure->is_dropped)
        return drop(storage, erasure, err);
    if (erasure->moved == 0) {
        drop_orders(storage, erasure);
        status = drop_quotes(storage, err);
        if (status != WEIR_OK)
            return status;
    }
    status = move_some(storage, erasure, move_scrubbed, &is_done, err);
    if (status != WEIR_OK || !is_done)
        return status;
    storage_chunk_cache_clear(storage->cache);
    storage_open_files_clear(storage->files);
    storage_page_rewind(erasure);
    erasure->state = ERASURE_SCRUBBED;
    tell(erasure, "erasures scrubbed");
    return WEIR_OK;
}

/* ---- scrubbed -> verified ---- */

/* Those of which something was found are tried again. */
static void part_found(struct storage *storage, struct open_erasure *erasure)
{
    struct open_erasure *found = storage_verify_part(erasure);

    if (found)
        add_erasure(storage->erasing, found);
}

static enum weir_status verify(struct storage *storage, struct open_erasure *erasure,
                               struct weir_error *err)
{
    bool is_done = false;
    enum weir_status status;

    if (!erasure->is_attributed) {
        status = storage_verify_step(storage, erasure, err);
        if (status == WEIR_OK && erasure->is_attributed)
            part_found(storage, erasure);
        return status;
    }
    status = move_some(storage, erasure, storage_move_verified, &is_done, err);
    if (status != WEIR_OK || !is_done)
        return status;
    erasure->state = ERASURE_VERIFIED;
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
static enum weir_status step_bytes(struct storage *storage, bool *ret_more, int64_t *ret_wait_ms,
                                   struct weir_error *err)
{
    struct erasing *erasing = storage->erasing;
    enum weir_status status = WEIR_OK;

    call_within(storage_erasing_begin_bytes(storage, weir_now_ms()), ret_wait_ms);
    for (size_t i = 0; status == WEIR_OK && !*ret_more && i < erasing->count; i++) {
        struct open_erasure *erasure = erasing->at[erasing->turn++ % erasing->count];
        int64_t now_ms = weir_now_ms();

        if (!storage_erasing_has_bytes_to_do(erasure) ||
            (erasure->state == ERASURE_IN_FORCE && !erasure->is_begun))
            continue;
        if (erasure->state == ERASURE_IN_FORCE && storage_scrub_waits(erasure, now_ms)) {
            call_within(erasure->round.again_ms - now_ms, ret_wait_ms);
            continue;
        }
        if (erasure->state == ERASURE_SCRUBBED && !erasure->is_sealed)
            continue; /* storage_erase_search() goes on with it */
        if (erasure->state == ERASURE_SCRUBBED && storage_verify_waits(erasure, now_ms)) {
            call_within(erasure->failing.again_ms - now_ms, ret_wait_ms);
            continue;
        }
        storage_erasing_search_together(erasing, erasure);
        status = erasure->state == ERASURE_IN_FORCE ? scrub(storage, erasure, err)
                                                    : verify(storage, erasure, err);
        call_within(storage_id_fetch_wait_ms(&erasure->fetch), ret_wait_ms);
        *ret_more = !erasure->owing.is_waiting && storage_id_fetch_wait_ms(&erasure->fetch) == 0;
        if (erasure->state != ERASURE_VERIFIED)
            continue;
        storage_erasing_remove(erasing, erasure);
        storage_open_erasure_free(erasure);
    }
    return status;
}

/* ---- after the end ---- */

/* Fingerprints of what is verified, row by row: of millions of samples they are hundreds of megabytes. */
static enum weir_status drop_prints(struct storage *storage, bool *ret_more, struct weir_error *err)
{
    struct id_list *spent = &storage->erasing->spent;
    size_t count = spent->count < ERASE_SLICE ? spent->count : ERASE_SLICE;
    WEIR_AUTO(weir_rows) dropped = NULL;
    enum weir_status status;

    if (count == 0)
        return WEIR_OK;
    status = DB_RUN(storage->db, Q_erasure_prints_drop, &dropped, err,
                    DB_I64S(spent->at + spent->count - count, count), DB_I64(PRINTS_DROPPED));
    if (status == WEIR_OK && weir_rows_count(dropped) < PRINTS_DROPPED)
        spent->count -= count;
    *ret_more = *ret_more || spent->count > 0;
    return status;
}

/* What protects people comes first: tombstones of all, then force of all, then bytes. */
enum weir_status storage_erasing_step(struct storage *storage, bool *ret_more, int64_t *ret_wait_ms,
                                      struct weir_error *err)
{
    const struct erasing *erasing = storage->erasing;
    bool is_busy = false;
    enum weir_status status;

    *ret_more = false;
    *ret_wait_ms = 0;
    status = step_accepted(storage, ret_more, ret_wait_ms, err);
    for (size_t i = 0; status == WEIR_OK && i < erasing->count; i++) {
        int64_t wait_ms = 0;

        if (erasing->at[i]->state == ERASURE_TOMBSTONED)
            status = enforce(storage, erasing->at[i], ret_more, &wait_ms, err);
        call_within(wait_ms, ret_wait_ms);
    }
    if (status == WEIR_OK)
        status = step_bytes(storage, &is_busy, ret_wait_ms, err);
    *ret_more = *ret_more || is_busy;
    return status == WEIR_OK ? drop_prints(storage, ret_more, err) : status;
}
