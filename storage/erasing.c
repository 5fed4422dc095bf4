/* The steps of an erasure: see erasing.h. */
#include "storage/erasing.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "storage/open_erasure.h"
#include "storage/queries.h"
#include "storage/replay.h"
#include "storage/tombstones.h"

#include <stdlib.h>
#include <string.h>

enum { FORCE_POLL_MS = 50, UUID_MAX = 64, REFERENCE_MAX = 1000 };

static const char *const STATES[] = {"accepted", "tombstoned", "in_force", "scrubbed", "verified"};

struct erasing {
    struct open_erasure **at; /* by number */
    size_t count;
};

/* ---- life ---- */

static void free_erasure(struct open_erasure *erasure)
{
    free(erasure->subjects.at);
    free(erasure->keys.at);
    free(erasure->wanted.at);
    free(erasure->ids.at);
    free(erasure->blocked.at);
    free(erasure->parent);
    storage_fingerprints_fini(&erasure->prints);
    storage_search_free(erasure->search);
    weir_buf_fini(&erasure->remarks);
    free(erasure);
}

void storage_erasing_free(struct erasing *erasing)
{
    if (!erasing)
        return;
    for (size_t i = 0; i < erasing->count; i++)
        free_erasure(erasing->at[i]);
    free(erasing->at);
    free(erasing);
}

static void add_erasure(struct erasing *erasing, struct open_erasure *erasure)
{
    erasing->at = weir_realloc(erasing->at, erasing->count + 1, sizeof(struct open_erasure *));
    erasing->at[erasing->count++] = erasure;
}

static void add_erased_subjects(struct storage *storage, uint32_t dataset, int64_t accepted_us,
                                const struct id_list *subjects)
{
    struct erased_subjects *erased = &storage->erased;

    if (subjects->count == 0)
        return;
    erased->at = weir_realloc(erased->at, erased->count + subjects->count, sizeof *erased->at);
    for (size_t i = 0; i < subjects->count; i++)
        erased->at[erased->count++] = (struct erased_subject){
            .hash = subjects->at[i], .dataset = dataset, .accepted_us = accepted_us};
}

static enum erasure_state state_of(const char *name)
{
    size_t i = 0;

    while (i < ERASURE_VERIFIED && strcmp(STATES[i], name) != 0)
        i++;
    return (enum erasure_state)i;
}

static struct open_erasure *read_erasure(const struct weir_rows *rows, size_t i)
{
    struct open_erasure *erasure = weir_calloc(1, sizeof *erasure);
    struct weir_bytes prints = weir_rows_bytes(rows, i, 6);

    erasure->number = (uint64_t)weir_rows_i64(rows, i, 0);
    erasure->dataset = (uint32_t)weir_rows_i64(rows, i, 1);
    erasure->state = state_of(weir_rows_text(rows, i, 2));
    storage_id_list_unpack(weir_rows_bytes(rows, i, 3), &erasure->subjects);
    storage_id_list_unpack(weir_rows_bytes(rows, i, 4), &erasure->wanted);
    storage_id_list_unpack(weir_rows_bytes(rows, i, 5), &erasure->ids);
    erasure->is_prepared = prints.size > 0 && storage_fingerprints_unpack(prints, &erasure->prints);
    erasure->epoch = (uint64_t)weir_rows_i64(rows, i, 7);
    erasure->accepted_us = weir_rows_i64(rows, i, 8);
    weir_buf_append_text(&erasure->remarks, weir_rows_text(rows, i, 9));
    return erasure;
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

    storage->erased.count = 0;
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        struct id_list subjects = {0};

        storage_id_list_unpack(weir_rows_bytes(rows, i, 1), &subjects);
        add_erased_subjects(storage, (uint32_t)weir_rows_i64(rows, i, 0), weir_rows_i64(rows, i, 2),
                            &subjects);
        free(subjects.at);
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
    for (size_t i = 0; i < weir_rows_count(rows); i++)
        add_erasure(storage->erasing, read_erasure(rows, i));
    storage_erasing_hint(storage);
    return WEIR_OK;
}

void storage_erasing_hint(struct storage *storage)
{
    size_t slots[STORAGE_HOLDERS_MAX];
    size_t count = storage_erasure_silent(storage->erasure, weir_now_ms(), slots);
    const struct msg_erased hint = {.epoch = storage_erasure_epoch(storage->erasure)};

    for (size_t i = 0; i < count && storage->server; i++) /* a lost hint costs half a second */
        (void)weir_rpc_push(storage->server, &storage->routes[slots[i]], MSG_erased, &hint, NULL);
}

bool storage_erasing_is_scrubbing(const struct storage *storage)
{
    for (size_t i = 0; i < storage->erasing->count; i++) {
        if (storage->erasing->at[i]->state == ERASURE_IN_FORCE)
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

static enum weir_status write_epochs(struct storage *storage, const struct open_erasure *erasure,
                                     uint64_t *ret_last, struct weir_error *err)
{
    uint64_t epoch = storage_erasure_epoch(storage->erasure);
    enum weir_status status = WEIR_OK;

    for (size_t at = 0; status == WEIR_OK && at < erasure->ids.count; at += STORAGE_ERASED_MAX) {
        size_t rest = erasure->ids.count - at;
        struct id_list piece = {.at = erasure->ids.at + at,
                                .count = rest < STORAGE_ERASED_MAX ? rest : STORAGE_ERASED_MAX};
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
    enum weir_status status = weir_db_begin(storage->db, err);

    storage_id_list_pack(&erasure->ids, &packed);
    if (status == WEIR_OK)
        status = tombstone_datasets(storage, &erasure->ids, err);
    if (status == WEIR_OK)
        status = write_epochs(storage, erasure, &erasure->epoch, err);
    if (status == WEIR_OK)
        status = DB_RUN(storage->db, Q_erasure_tombstoned, NULL, err, DB_I64(erasure->number),
                        DB_BYTES(weir_buf_view(&packed)), DB_I64(erasure->epoch));
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
    enum weir_status status = flush_scans(storage, err);

    erasure->ids.count = 0;
    if (status == WEIR_OK)
        status = storage_resolve(storage, erasure, &erasure->ids, err);
    if (status == WEIR_OK)
        status = commit_tombstones(storage, erasure, err);
    if (status != WEIR_OK)
        return status;
    for (size_t at = 0; at < erasure->ids.count; at += STORAGE_ERASED_MAX) {
        size_t rest = erasure->ids.count - at;

        (void)storage_erasure_add(storage->erasure, erasure->ids.at + at,
                                  rest < STORAGE_ERASED_MAX ? rest : STORAGE_ERASED_MAX);
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
                        DB_I64(erasure->bytes_scrubbed), DB_TEXT(weir_buf_text(&erasure->remarks)));
    if (status == WEIR_OK && weir_fault("storage.erase.scrub"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.erase.scrub");
    if (status == WEIR_OK)
        status = weir_db_commit(storage->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(storage->db);
    return status;
}

static enum weir_status scrub(struct storage *storage, struct open_erasure *erasure,
                              struct weir_error *err)
{
    bool is_done = false;
    enum weir_status status;

    if (!erasure->is_prepared)
        return storage_scrub_prepare(storage, erasure, &is_done, err);
    status = storage_scrub_bytes(storage, erasure, &is_done, err);
    if (status != WEIR_OK || !is_done)
        return status;
    drop_orders(storage, erasure);
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

/* ---- scrubbed -> verified ---- */

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

static enum weir_status conclude(struct storage *storage, struct open_erasure *erasure,
                                 struct weir_error *err)
{
    struct search_result result = storage_search_result(erasure->search);
    uint64_t readable;
    enum weir_status status = count_readable(storage, erasure, &readable, err);

    if (status != WEIR_OK)
        return status;
    if (result.shared > 0)
        storage_erasure_remark(erasure, "passages of the erased content also stand in samples of "
                                        "others, which stay: text that they share");
    result.found += readable + erasure->not_gone;
    status = DB_RUN(storage->db, Q_erasure_verified, NULL, err, DB_I64(erasure->number),
                    DB_I64(weir_now_wall_us()), DB_I64(result.bytes), DB_I64(result.found),
                    DB_TEXT(weir_buf_text(&erasure->remarks)));
    if (status != WEIR_OK)
        return status;
    erasure->state = ERASURE_VERIFIED;
    weir_log(result.found > 0 ? WEIR_LOG_ERROR : WEIR_LOG_INFO, "erasure verified",
             "erasure=%llu searched=%llu found=%llu", (unsigned long long)erasure->number,
             (unsigned long long)result.bytes, (unsigned long long)result.found);
    return WEIR_OK;
}

static enum weir_status verify(struct storage *storage, struct open_erasure *erasure,
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

/* ---- steps ---- */

static void forget_verified(struct erasing *erasing)
{
    size_t kept = 0;

    for (size_t i = 0; i < erasing->count; i++) {
        if (erasing->at[i]->state == ERASURE_VERIFIED)
            free_erasure(erasing->at[i]);
        else
            erasing->at[kept++] = erasing->at[i];
    }
    erasing->count = kept;
}

/* What protects people comes first: tombstones of all, then force of all, then bytes one by one. */
enum weir_status storage_erasing_step(struct storage *storage, bool *ret_more, int64_t *ret_wait_ms,
                                      struct weir_error *err)
{
    struct erasing *erasing = storage->erasing;
    enum weir_status status = WEIR_OK;
    int64_t wait_ms = 0;

    *ret_more = false;
    *ret_wait_ms = 0;
    for (size_t i = 0; status == WEIR_OK && i < erasing->count; i++) {
        if (erasing->at[i]->state == ERASURE_ACCEPTED)
            status = tombstone(storage, erasing->at[i], err);
    }
    for (size_t i = 0; status == WEIR_OK && i < erasing->count; i++) {
        if (erasing->at[i]->state == ERASURE_TOMBSTONED)
            status = enforce(storage, erasing->at[i], &wait_ms, err);
        if (wait_ms > 0 && (*ret_wait_ms == 0 || wait_ms < *ret_wait_ms))
            *ret_wait_ms = wait_ms;
    }
    for (size_t i = 0; status == WEIR_OK && !*ret_more && i < erasing->count; i++) {
        struct open_erasure *erasure = erasing->at[i];

        *ret_more = erasure->state == ERASURE_IN_FORCE || erasure->state == ERASURE_SCRUBBED;
        if (erasure->state == ERASURE_IN_FORCE)
            status = scrub(storage, erasure, err);
        else if (erasure->state == ERASURE_SCRUBBED)
            status = verify(storage, erasure, err);
    }
    forget_verified(erasing);
    return status;
}

/* ---- requests ---- */

static enum weir_status check_accept(const struct storage *storage,
                                     const struct msg_erase_accept *asked, uint32_t *ret_dataset,
                                     struct weir_error *err)
{
    const struct dataset *dataset = storage_catalog_find(storage->catalog, asked->dataset);
    size_t size = strlen(asked->uuid);

    if (size == 0 || size > UUID_MAX || strlen(asked->reference) > REFERENCE_MAX)
        return weir_fail(err, WEIR_INVALID,
                         "erase_accept: expected a uuid of 1 to %d and a reference of at most %d "
                         "characters",
                         UUID_MAX, REFERENCE_MAX);
    if (asked->subjects.count > ERASE_SUBJECTS_MAX || asked->ids.count > ERASE_IDS_MAX)
        return weir_fail(err, WEIR_LIMIT,
                         "erase_accept: expected at most %d subjects and %d ids: split the request",
                         ERASE_SUBJECTS_MAX, ERASE_IDS_MAX);
    if (asked->subjects.count + asked->ids.count == 0)
        return weir_fail(err, WEIR_INVALID, "erase_accept: found no subject and no id");
    if (*asked->dataset && !dataset)
        return weir_fail(err, WEIR_NOT_FOUND, "no dataset '%.80s': `weir datasets` lists them",
                         asked->dataset);
    *ret_dataset = dataset ? dataset->number : 0;
    return WEIR_OK;
}

static enum weir_status insert(struct storage *storage, struct open_erasure *erasure,
                               const struct msg_erase_accept *asked, struct weir_error *err)
{
    WEIR_AUTO_BUF subjects = {0};
    WEIR_AUTO_BUF wanted = {0};
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status;

    storage_id_list_pack(&erasure->subjects, &subjects);
    storage_id_list_pack(&erasure->wanted, &wanted);
    status = DB_RUN(storage->db, Q_erasure_add, &rows, err, DB_TEXT(asked->uuid),
                    DB_I64(erasure->dataset), DB_TEXT(asked->reference),
                    DB_BYTES(weir_buf_view(&subjects)), DB_BYTES(weir_buf_view(&wanted)),
                    DB_I64(erasure->accepted_us));
    if (status == WEIR_OK)
        erasure->number = (uint64_t)weir_rows_i64(rows, 0, 0);
    else
        storage_doubt(storage);
    return status;
}

/* The same request again: its number, and what it means by now. */
static enum weir_status accepted_before(struct storage *storage, uint64_t number,
                                        struct msg_erase_accepted *answer, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(storage->db, Q_erasure_get, &rows, err, DB_I64(number));

    answer->erasure = number;
    if (status == WEIR_OK)
        answer->matched = weir_rows_bytes(rows, 0, 2).size / sizeof(uint64_t);
    return status;
}

static enum weir_status accept_new(struct storage *storage, const struct msg_erase_accept *asked,
                                   uint32_t dataset, struct msg_erase_accepted *answer,
                                   struct weir_error *err)
{
    struct open_erasure *erasure = weir_calloc(1, sizeof *erasure);
    struct id_list matched = {0};
    enum weir_status status;

    erasure->dataset = dataset;
    erasure->accepted_us = weir_now_wall_us();
    for (size_t i = 0; i < asked->subjects.count; i++)
        storage_id_list_add(&erasure->subjects, storage_hash(&storage->secret, HASH_SUBJECT,
                                                             weir_bytes_of(asked->subjects.at[i])));
    for (size_t i = 0; i < asked->ids.count; i++)
        storage_id_list_add(&erasure->wanted, asked->ids.at[i]);
    storage_id_list_sort(&erasure->subjects);
    storage_id_list_sort(&erasure->wanted);
    status = storage_resolve(storage, erasure, &matched, err);
    answer->matched = matched.count;
    free(matched.at);
    if (status == WEIR_OK)
        status = insert(storage, erasure, asked, err);
    if (status != WEIR_OK) {
        free_erasure(erasure);
        return status;
    }
    answer->erasure = erasure->number;
    add_erased_subjects(storage, dataset, erasure->accepted_us, &erasure->subjects);
    add_erasure(storage->erasing, erasure);
    storage_pump(storage);
    return WEIR_OK;
}

enum weir_status storage_erase_accept(struct storage *storage, const struct msg_erase_accept *asked,
                                      struct msg_erase_accepted *answer, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    uint32_t dataset = 0; /* every one */
    enum weir_status status = storage_ready(storage, err);

    if (status == WEIR_OK)
        status = check_accept(storage, asked, &dataset, err);
    if (status == WEIR_OK)
        status = DB_RUN(storage->db, Q_erasure_find, &rows, err, DB_TEXT(asked->uuid));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) == 1)
        return accepted_before(storage, (uint64_t)weir_rows_i64(rows, 0, 0), answer, err);
    return accept_new(storage, asked, dataset, answer, err);
}

static struct weir_strs split_lines(const char *text, struct weir_arena *arena)
{
    size_t count = 0, capacity = 1;
    const char **lines;

    for (const char *c = text; *c; c++)
        capacity += *c == '\n';
    lines = weir_arena_alloc(arena, capacity * sizeof *lines);
    while (*text) {
        size_t size = strcspn(text, "\n");

        lines[count++] = weir_arena_strndup(arena, text, size);
        text += size + (text[size] == '\n');
    }
    return (struct weir_strs){lines, count};
}

enum weir_status storage_erase_ask(struct storage *storage, const struct msg_erase_ask *asked,
                                   struct weir_arena *arena, struct msg_erase_is *answer,
                                   struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_bytes ids;
    enum weir_status status =
        DB_RUN(storage->db, Q_erasure_get, &rows, err, DB_I64(asked->erasure));

    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) == 0)
        return weir_fail(err, WEIR_NOT_FOUND, "no erasure %llu",
                         (unsigned long long)asked->erasure);
    ids = weir_rows_bytes(rows, 0, 2);
    *answer = (struct msg_erase_is){
        .state = weir_arena_format(arena, "%s", weir_rows_text(rows, 0, 0)),
        .epoch = (uint64_t)weir_rows_i64(rows, 0, 1),
        .ids = {weir_arena_copy(arena, ids.at, ids.size), ids.size / sizeof(uint64_t)},
        .accepted_us = weir_rows_i64(rows, 0, 3),
        .in_force_us = weir_rows_i64(rows, 0, 4),
        .scrubbed_us = weir_rows_i64(rows, 0, 5),
        .verified_us = weir_rows_i64(rows, 0, 6),
        .files_scrubbed = (uint64_t)weir_rows_i64(rows, 0, 7),
        .bytes_scrubbed = (uint64_t)weir_rows_i64(rows, 0, 8),
        .bytes_searched = (uint64_t)weir_rows_i64(rows, 0, 9),
        .found = (uint64_t)weir_rows_i64(rows, 0, 10),
        .remarks = split_lines(weir_rows_text(rows, 0, 11), arena),
        .holders_answered = (uint64_t)weir_rows_i64(rows, 0, 12),
        .holders_expired = (uint64_t)weir_rows_i64(rows, 0, 13),
    };
    return WEIR_OK;
}
