/* The steps of an erasure: see erasing.h. */
#include "storage/erasure/erasing.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/catalog/tombstones.h"
#include "storage/erasure/open_erasure.h"
#include "storage/feed/replay.h"
#include "storage/keys/key_identify.h"
#include "storage/objects/s3_owed.h"
#include "storage/queries.h"

#include <stdlib.h>
#include <string.h>

enum { FORCE_POLL_MS = 50 };

static const char *const STATES[] = {"accepted", "tombstoned", "in_force", "scrubbed", "verified"};

struct erasing {
    struct open_erasure **at; /* by number */
    size_t count;
};

/* ---- life ---- */

void storage_open_erasure_free(struct open_erasure *erasure)
{
    storage_key_identifier_free(erasure->identifier);
    storage_id_fetch_fini(&erasure->fetch);
    free(erasure->names.at);
    free(erasure->hashes.at);
    free(erasure->subjects.at);
    free(erasure->keys.at);
    free(erasure->wanted.at);
    free(erasure->ids.at);
    free(erasure->blocked.at);
    free(erasure->unread.at);
    weir_buf_fini(&erasure->head.bytes);
    storage_scrub_round_fini(erasure);
    free(erasure->parent);
    storage_fingerprints_fini(&erasure->prints);
    storage_search_free(erasure->search);
    free(erasure->failing.trouble);
    weir_buf_fini(&erasure->remarks);
    free(erasure);
}

void storage_erasing_free(struct erasing *erasing)
{
    if (!erasing)
        return;
    for (size_t i = 0; i < erasing->count; i++)
        storage_open_erasure_free(erasing->at[i]);
    free(erasing->at);
    free(erasing);
}

static void add_erasure(struct erasing *erasing, struct open_erasure *erasure)
{
    erasing->at = weir_realloc(erasing->at, erasing->count + 1, sizeof(struct open_erasure *));
    erasing->at[erasing->count++] = erasure;
}

static void add_erased_names(struct storage *storage, uint32_t dataset,
                             const struct key_names *names)
{
    for (size_t i = 0; i < names->count; i++)
        storage_erased_names_add(&storage->erased, dataset, &names->at[i]);
}

enum weir_status storage_open_erasure_names(struct weir_bytes proofs, struct weir_bytes subjects,
                                            struct key_names *names, struct weir_error *err)
{
    if (proofs.size > 0)
        return storage_key_names_unpack(proofs, names, err);
    for (size_t at = 0; at + sizeof(uint64_t) <= subjects.size; at += sizeof(uint64_t))
        storage_key_names_add(names, &(struct key_name){.domain = HASH_SUBJECT,
                                                        .hash = weir_get_u64(subjects.at + at)});
    return WEIR_OK;
}

void storage_open_erasure_list(struct open_erasure *erasure)
{
    for (size_t i = 0; i < erasure->names.count; i++) {
        const struct key_name *name = &erasure->names.at[i];

        storage_id_list_add(name->domain == HASH_SUBJECT ? &erasure->subjects : &erasure->keys,
                            name->hash);
    }
    storage_id_list_sort(&erasure->subjects);
    storage_id_list_sort(&erasure->keys);
}

void storage_erasing_take_up(struct storage *storage, struct open_erasure *erasure)
{
    add_erased_names(storage, erasure->dataset, &erasure->names);
    add_erasure(storage->erasing, erasure);
    storage_pump(storage);
}

static enum erasure_state state_of(const char *name)
{
    size_t i = 0;

    while (i < ERASURE_VERIFIED && strcmp(STATES[i], name) != 0)
        i++;
    return (enum erasure_state)i;
}

static enum weir_status read_erasure(const struct weir_rows *rows, size_t i,
                                     struct open_erasure **ret_erasure, struct weir_error *err)
{
    struct open_erasure *erasure = weir_calloc(1, sizeof *erasure);
    struct weir_bytes prints = weir_rows_bytes(rows, i, 6);
    enum weir_status status;

    erasure->number = (uint64_t)weir_rows_i64(rows, i, 0);
    erasure->dataset = (uint32_t)weir_rows_i64(rows, i, 1);
    erasure->state = state_of(weir_rows_text(rows, i, 2));
    status = storage_open_erasure_names(weir_rows_bytes(rows, i, 10), weir_rows_bytes(rows, i, 3),
                                        &erasure->names, err);
    storage_open_erasure_list(erasure);
    storage_id_list_unpack(weir_rows_bytes(rows, i, 4), &erasure->wanted);
    storage_id_list_unpack(weir_rows_bytes(rows, i, 5), &erasure->ids);
    erasure->is_prepared =
        prints.size > 0 && storage_fingerprints_unpack(&prints, &erasure->prints);
    if (erasure->is_prepared)
        storage_id_list_unpack(prints, &erasure->unread);
    erasure->epoch = (uint64_t)weir_rows_i64(rows, i, 7);
    erasure->accepted_us = weir_rows_i64(rows, i, 8);
    weir_buf_append_text(&erasure->remarks, weir_rows_text(rows, i, 9));
    storage_id_list_unpack(weir_rows_bytes(rows, i, 11), &erasure->hashes);
    if (status == WEIR_OK)
        *ret_erasure = erasure;
    else
        storage_open_erasure_free(erasure);
    return status;
}

static enum weir_status load_epochs(struct storage *storage, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(storage->db, Q_epochs, &rows, err, DB_I64(storage_erasure_epoch(storage->erasure)));

    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        struct id_list ids = {0};

        storage_id_list_unpack(weir_rows_bytes(rows, i, 1), &ids);
        (void)storage_erasure_add(storage->erasure, ids.at, ids.count);
        free(ids.at);
    }
    return status;
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

enum weir_status storage_erasing_load(struct storage *storage, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = load_epochs(storage, err);

    if (status == WEIR_OK)
        status = load_subjects(storage, err);
    if (status == WEIR_OK)
        status = DB_RUN(storage->db, Q_erasures_open, &rows, err);
    if (status != WEIR_OK)
        return status;
    storage_erasing_free(storage->erasing);
    storage->erasing = weir_calloc(1, sizeof *storage->erasing);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        struct open_erasure *erasure;

        status = read_erasure(rows, i, &erasure, err);
        if (status == WEIR_OK)
            add_erasure(storage->erasing, erasure);
    }
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

static struct open_erasure *find_erasure(const struct storage *storage, uint64_t number)
{
    for (size_t i = 0; storage->erasing && i < storage->erasing->count; i++) {
        if (storage->erasing->at[i]->number == number)
            return storage->erasing->at[i];
    }
    return NULL;
}

bool storage_erasing_is_open(const struct storage *storage, uint64_t number)
{
    const struct open_erasure *erasure = find_erasure(storage, number);

    return erasure && erasure->state < ERASURE_SCRUBBED;
}

bool storage_erasing_is_scrubbing(const struct storage *storage)
{
    for (size_t i = 0; i < storage->erasing->count; i++) {
        const struct open_erasure *erasure = storage->erasing->at[i];

        if (erasure->state == ERASURE_IN_FORCE && !erasure->is_overwritten &&
            !storage_scrub_waits(erasure, weir_now_ms()))
            return true;
    }
    return false;
}

bool storage_erasing_is_half_way(const struct storage *storage)
{
    for (size_t i = 0; i < storage->erasing->count; i++) {
        const struct open_erasure *erasure = storage->erasing->at[i];

        if (erasure->state == ERASURE_IN_FORCE && !erasure->is_overwritten)
            return true;
    }
    return false;
}

/* ---- accepted -> tombstoned ---- */

static enum weir_status flush_scans(struct storage *storage, struct weir_error *err)
{
    const struct scan_tools tools = storage_tools(storage);
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && i < storage->catalog->count; i++)
        status = storage_scan_flush(storage->catalog->datasets[i], &tools, err);
    return status;
}

static enum weir_status tombstone_datasets(struct storage *storage, const struct id_list *ids,
                                           struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    size_t end;

    for (size_t at = 0; status == WEIR_OK && at < ids->count; at = end) {
        uint32_t number = weir_sample_dataset(ids->at[at]);
        struct dataset *dataset = storage_catalog_at(storage->catalog, number);
        uint64_t before = dataset->sequence;

        for (end = at; end < ids->count && weir_sample_dataset(ids->at[end]) == number;)
            end++;
        status = storage_tombstones_write(storage->db, storage->cache, dataset, WEIR_CHANGE_ERASED,
                                          &(struct weir_u64s){ids->at + at, end - at}, err);
        if (status == WEIR_OK)
            status = storage_dataset_store(storage->db, dataset, before, err);
    }
    return status;
}

/* The ids of one epoch, borrowed. */
static struct id_list piece_at(const struct storage *storage, const struct open_erasure *erasure,
                               size_t at)
{
    size_t rest = erasure->ids.count - at;

    return (struct id_list){.at = erasure->ids.at + at,
                            .count = rest < storage->epoch_ids ? rest : storage->epoch_ids};
}

static enum weir_status write_epochs(struct storage *storage, const struct open_erasure *erasure,
                                     uint64_t *ret_last, struct weir_error *err)
{
    uint64_t epoch = storage_erasure_epoch(storage->erasure);
    enum weir_status status = WEIR_OK;

    for (size_t at = 0; status == WEIR_OK && at < erasure->ids.count; at += storage->epoch_ids) {
        struct id_list piece = piece_at(storage, erasure, at);
        WEIR_AUTO_BUF packed = {0};

        storage_id_list_pack(&piece, &packed);
        status = DB_RUN(storage->db, Q_epoch_add, NULL, err, DB_I64(++epoch),
                        DB_I64(erasure->number), DB_BYTES(weir_buf_view(&packed)));
    }
    *ret_last = epoch;
    return status;
}

static enum weir_status commit_tombstones(struct storage *storage, struct open_erasure *erasure,
                                          struct weir_error *err)
{
    WEIR_AUTO_BUF packed = {0};
    WEIR_AUTO_BUF hashes = {0};
    enum weir_status status = weir_db_begin(storage->db, err);

    storage_id_list_pack(&erasure->ids, &packed);
    storage_id_list_pack(&erasure->hashes, &hashes);
    if (status == WEIR_OK)
        status = tombstone_datasets(storage, &erasure->ids, err);
    if (status == WEIR_OK)
        status = write_epochs(storage, erasure, &erasure->epoch, err);
    if (status == WEIR_OK)
        status = DB_RUN(storage->db, Q_erasure_tombstoned, NULL, err, DB_I64(erasure->number),
                        DB_BYTES(weir_buf_view(&packed)), DB_I64(erasure->epoch),
                        DB_BYTES(weir_buf_view(&hashes)));
    if (status == WEIR_OK && weir_fault("storage.erase.tombstone"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.erase.tombstone");
    if (status == WEIR_OK)
        status = weir_db_commit(storage->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(storage->db);
    return status;
}

static enum weir_status tombstone(struct storage *storage, struct open_erasure *erasure,
                                  struct weir_error *err)
{
    bool is_done = false;
    enum weir_status status = erasure->identifier ? WEIR_OK : flush_scans(storage, err);

    if (status == WEIR_OK)
        status = storage_resolve_step(storage, erasure, &is_done, err);
    if (status == WEIR_OK && is_done)
        status = commit_tombstones(storage, erasure, err);
    if (status != WEIR_OK || !is_done)
        return status;
    for (size_t at = 0; at < erasure->ids.count; at += storage->epoch_ids) {
        const struct id_list piece = piece_at(storage, erasure, at);

        (void)storage_erasure_add(storage->erasure, piece.at, piece.count);
    }
    erasure->state = ERASURE_TOMBSTONED;
    weir_log(WEIR_LOG_INFO, "erasure tombstoned", "erasure=%llu epoch=%llu samples=%zu",
             (unsigned long long)erasure->number, (unsigned long long)erasure->epoch,
             erasure->ids.count);
    storage_erasing_hint(storage);
    return WEIR_OK;
}

/* ---- tombstoned -> in force ---- */

static enum weir_status enforce(struct storage *storage, struct open_erasure *erasure,
                                int64_t *ret_wait_ms, struct weir_error *err)
{
    int64_t now_ms = weir_now_ms();
    struct storage_force force = storage_erasure_force(storage->erasure, erasure->epoch, now_ms);
    enum weir_status status;

    if (!force.in_force) {
        int64_t wait_ms = force.expected_ms - now_ms + 1;

        *ret_wait_ms = wait_ms < FORCE_POLL_MS ? wait_ms : FORCE_POLL_MS;
        return WEIR_OK;
    }
    status = DB_RUN(storage->db, Q_erasure_in_force, NULL, err, DB_I64(erasure->number),
                    DB_I64(weir_now_wall_us()), DB_I64(force.answered), DB_I64(force.expired));
    if (status != WEIR_OK)
        return status;
    erasure->state = ERASURE_IN_FORCE;
    weir_log(WEIR_LOG_INFO, "erasure in force", "erasure=%llu epoch=%llu answered=%zu expired=%zu",
             (unsigned long long)erasure->number, (unsigned long long)erasure->epoch,
             force.answered, force.expired);
    return WEIR_OK;
}

/* ---- in force -> scrubbed ---- */

/* Times and labels of the erased stand in the orders of replays, and some may be half-made. */
static void drop_orders(struct storage *storage, const struct open_erasure *erasure)
{
    uint32_t dropped = 0;

    for (size_t i = 0; i < erasure->ids.count; i++) {
        uint32_t dataset = weir_sample_dataset(erasure->ids.at[i]);

        if (dataset != dropped)
            storage_replays_drop(storage->replays, dataset);
        dropped = dataset;
    }
}

static enum weir_status commit_scrubbed(struct storage *storage, struct open_erasure *erasure,
                                        struct weir_error *err)
{
    enum weir_status status = weir_db_begin(storage->db, err);

    if (status == WEIR_OK)
        status = storage_stop_merge(storage, err);
    if (status == WEIR_OK)
        status = storage_scrub_rows(storage, erasure, err);
    if (status == WEIR_OK)
        status = DB_RUN(storage->db, Q_erasure_scrubbed, NULL, err, DB_I64(erasure->number),
                        DB_I64(weir_now_wall_us()), DB_I64(erasure->files_scrubbed),
                        DB_I64(erasure->bytes_scrubbed), DB_TEXT(weir_buf_text(&erasure->remarks)),
                        DB_I64(erasure->owing.cleaned));
    if (status == WEIR_OK)
        status = DB_RUN(storage->db, Q_owed_drop_done, NULL, err, DB_I64(erasure->number));
    if (status == WEIR_OK && weir_fault("storage.erase.scrub"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.erase.scrub");
    if (status == WEIR_OK)
        status = weir_db_commit(storage->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(storage->db);
    return status;
}

/* What it owes to buckets, once files are overwritten: waits until that is done, or has failed often enough. */
static enum weir_status settle_buckets(struct storage *storage, struct open_erasure *erasure,
                                       bool *ret_done, struct weir_error *err)
{
    struct owing *owing = &erasure->owing;
    enum weir_status status = WEIR_OK;

    *ret_done = !owing->is_any;
    if (*ret_done)
        return WEIR_OK;
    if (!owing->is_due)
        status = storage_owed_release(storage, erasure, err);
    if (status == WEIR_OK)
        status = storage_owed_is_settled(storage, erasure, ret_done, err);
    owing->is_waiting = status == WEIR_OK && !*ret_done;
    return status == WEIR_OK && *ret_done ? storage_owed_remark(storage, erasure, err) : status;
}

static enum weir_status scrub(struct storage *storage, struct open_erasure *erasure,
                              struct weir_error *err)
{
    bool is_done = false;
    enum weir_status status;

    if (!erasure->owing.is_planned)
        return storage_owed_plan(storage, erasure, err);
    status = storage_scrub_step(storage, erasure, &is_done, err);
    if (status == WEIR_OK && is_done)
        status = settle_buckets(storage, erasure, &is_done, err);
    if (status == WEIR_OK && is_done && erasure->blanked == 0)
        status = flush_scans(storage, err); /* no rows of it are only staged */
    if (status == WEIR_OK && is_done)
        status = storage_scrub_columns(storage, erasure, &is_done, err);
    if (status != WEIR_OK || !is_done)
        return status;
    drop_orders(storage, erasure);
    status = flush_scans(storage,
                         err); /* file groups are written: none with rows that are only staged */
    if (status == WEIR_OK)
        status = commit_scrubbed(storage, erasure, err);
    if (status != WEIR_OK)
        return status;
    storage_chunk_cache_clear(storage->cache);
    storage_open_files_clear(storage->files);
    erasure->state = ERASURE_SCRUBBED;
    weir_log(WEIR_LOG_INFO, "erasure scrubbed", "erasure=%llu files=%llu bytes=%llu",
             (unsigned long long)erasure->number, (unsigned long long)erasure->files_scrubbed,
             (unsigned long long)erasure->bytes_scrubbed);
    return WEIR_OK;
}

/* ---- steps ---- */

static void forget_verified(struct erasing *erasing)
{
    size_t kept = 0;

    for (size_t i = 0; i < erasing->count; i++) {
        if (erasing->at[i]->state == ERASURE_VERIFIED)
            storage_open_erasure_free(erasing->at[i]);
        else
            erasing->at[kept++] = erasing->at[i];
    }
    erasing->count = kept;
}

static void call_within(int64_t wait_ms, int64_t *ret_wait_ms)
{
    if (wait_ms > 0 && (*ret_wait_ms == 0 || wait_ms < *ret_wait_ms))
        *ret_wait_ms = wait_ms;
}

/* The bytes of the first erasure that has nothing to wait for. */
static enum weir_status step_bytes(struct storage *storage, bool *ret_more, int64_t *ret_wait_ms,
                                   struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && !*ret_more && i < storage->erasing->count; i++) {
        struct open_erasure *erasure = storage->erasing->at[i];
        int64_t now_ms = weir_now_ms();

        if (erasure->state == ERASURE_IN_FORCE && storage_scrub_waits(erasure, now_ms)) {
            call_within(erasure->round.again_ms - now_ms, ret_wait_ms);
            continue;
        }
        if (erasure->state == ERASURE_SCRUBBED && storage_verify_waits(erasure, now_ms)) {
            call_within(erasure->failing.again_ms - now_ms, ret_wait_ms);
            continue;
        }
        if (erasure->state == ERASURE_IN_FORCE)
            status = scrub(storage, erasure, err);
        else if (erasure->state == ERASURE_SCRUBBED)
            status = storage_verify_step(storage, erasure, err);
        else
            continue;
        call_within(storage_id_fetch_wait_ms(&erasure->fetch), ret_wait_ms);
        *ret_more = !erasure->owing.is_waiting && storage_id_fetch_wait_ms(&erasure->fetch) == 0;
    }
    return status;
}

/* What protects people comes first: tombstones of all, then force of all, then bytes one by one. */
enum weir_status storage_erasing_step(struct storage *storage, bool *ret_more, int64_t *ret_wait_ms,
                                      struct weir_error *err)
{
    struct erasing *erasing = storage->erasing;
    enum weir_status status = WEIR_OK;

    *ret_more = false;
    *ret_wait_ms = 0;
    for (size_t i = 0; status == WEIR_OK && i < erasing->count; i++) {
        if (erasing->at[i]->state == ERASURE_ACCEPTED)
            status = tombstone(storage, erasing->at[i], err);
        call_within(storage_id_fetch_wait_ms(&erasing->at[i]->fetch), ret_wait_ms);
        *ret_more = *ret_more || (erasing->at[i]->state == ERASURE_ACCEPTED &&
                                  storage_id_fetch_wait_ms(&erasing->at[i]->fetch) == 0);
    }
    for (size_t i = 0; status == WEIR_OK && i < erasing->count; i++) {
        int64_t wait_ms = 0;

        if (erasing->at[i]->state == ERASURE_TOMBSTONED)
            status = enforce(storage, erasing->at[i], &wait_ms, err);
        call_within(wait_ms, ret_wait_ms);
    }
    if (status == WEIR_OK && !*ret_more)
        status = step_bytes(storage, ret_more, ret_wait_ms, err);
    forget_verified(erasing);
    return status;
}

/* Nothing else stands in the way of an erasure that is being verified. */
static const char *trouble_of(const struct open_erasure *erasure, struct weir_arena *arena)
{
    if (erasure->failing.trouble)
        return weir_arena_format(arena,
                                 "it is not verified: %s; let the user that Weir runs as read what "
                                 "is there, or remove it; tried again at least every minute",
                                 erasure->failing.trouble);
    return storage_scrub_trouble(erasure, arena);
}

static bool is_unverified(const struct open_erasure *erasure)
{
    return erasure->failing.trouble || erasure->round.is_unidentified;
}

enum weir_status storage_erasing_trouble(struct storage *storage, uint64_t number,
                                         struct weir_arena *arena, struct msg_erase_is *answer,
                                         struct weir_error *err)
{
    const struct open_erasure *erasure = find_erasure(storage, number);
    struct owed_troubles owed = {0};
    enum weir_status status = WEIR_OK;

    answer->trouble = erasure ? trouble_of(erasure, arena) : "";
    answer->unverified = erasure && is_unverified(erasure);
    if (!*answer->trouble)
        status = storage_owed_troubles(storage, arena, &owed, err);
    for (size_t i = 0; i < owed.count; i++) {
        if (owed.at[i].erasure == number)
            answer->trouble = owed.at[i].text;
    }
    return status;
}

enum weir_status storage_erasing_troubles(struct storage *storage, struct weir_arena *arena,
                                          struct msg_erase_troubles *answer, struct weir_error *err)
{
    size_t open = storage->erasing ? storage->erasing->count : 0, count = 0, failed = 0;
    struct owed_troubles owed = {0};
    enum weir_status status = storage_owed_troubles(storage, arena, &owed, err);
    uint64_t *erasures = weir_arena_alloc(arena, (open + owed.count + 1) * sizeof *erasures);
    uint64_t *unverified = weir_arena_alloc(arena, (open + 1) * sizeof *unverified);
    const char **texts = weir_arena_alloc(arena, (open + owed.count + 1) * sizeof *texts);

    for (size_t i = 0; i < open; i++) {
        texts[count] = trouble_of(storage->erasing->at[i], arena);
        erasures[count] = storage->erasing->at[i]->number;
        if (is_unverified(storage->erasing->at[i]))
            unverified[failed++] = erasures[count];
        count += *texts[count] != '\0';
    }
    for (size_t i = 0; i < owed.count; i++) {
        texts[count] = owed.at[i].text;
        erasures[count++] = owed.at[i].erasure;
    }
    *answer = (struct msg_erase_troubles){.erasures = {erasures, count},
                                          .troubles = {texts, count},
                                          .unverified = {unverified, failed}};
    return status;
}
