/* Jobs in Postgres. */
#include "preprocess/dispatcher/store_queries.h"

#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/path.h"

#include <stdlib.h>
#include <string.h>

static const struct weir_query QUERIES[] = {
#define QUERY(name, sql) {#name, sql},
#include "preprocess/sql/queries.def"
#undef QUERY
};

extern const struct weir_migration PREPROCESS_MIGRATIONS[];
extern const size_t PREPROCESS_MIGRATIONS_count;

enum weir_status preprocess_store_open(const char *conninfo, struct weir_db **ret_db,
                                       uint64_t *ret_incarnation, struct weir_error *err)
{
    WEIR_AUTO(weir_db) db = NULL;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        weir_db_open(conninfo, "preprocess", QUERIES, WEIR_COUNT(QUERIES), &db, err);
    if (status == WEIR_OK)
        status = weir_db_migrate(db, PREPROCESS_MIGRATIONS, PREPROCESS_MIGRATIONS_count, err);
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_incarnation_next, &rows, err);
    if (status != WEIR_OK)
        return status;
    *ret_incarnation = (uint64_t)weir_rows_i64(rows, 0, "number");
    *ret_db = WEIR_TAKE(db);
    return WEIR_OK;
}

enum weir_status preprocess_store_list(struct weir_db *db, uint64_t **ret_numbers,
                                       size_t *ret_count, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_jobs_open, &rows, err);
    if (status != WEIR_OK)
        return status;
    *ret_count = weir_rows_count(rows);
    *ret_numbers = weir_calloc(*ret_count + 1, sizeof(uint64_t));
    for (size_t i = 0; i < *ret_count; i++)
        (*ret_numbers)[i] = (uint64_t)weir_rows_i64(rows, i, "job");
    return WEIR_OK;
}

/* ---- loading ---- */

static struct dispatcher_entry *read_entry(const struct weir_rows *rows, const char *data_dir,
                                           uint64_t number)
{
    WEIR_AUTO_FREE char *set_path = weir_path_in(data_dir, weir_rows_text(rows, 0, "set_path"));
    struct dispatcher_entry *entry = preprocess_entry_reload(&(struct msg_job_open){
        .job = number,
        .file = weir_rows_text(rows, 0, "file"),
        .config = weir_rows_bytes(rows, 0, "config"),
        .set_path = set_path,
        .set_digest = weir_rows_text(rows, 0, "set_digest"),
        .epochs = (uint32_t)weir_rows_i64(rows, 0, "epochs"),
        .seed = (uint64_t)weir_rows_i64(rows, 0, "seed"),
        .mode = weir_rows_text(rows, 0, "mode"),
        .fitted = weir_rows_bytes(rows, 0, "fitted"),
        .ranks = (uint32_t)weir_rows_i64(rows, 0, "ranks"),
        .pipeline = (uint64_t)weir_rows_i64(rows, 0, "pipeline"),
        .share = weir_rows_f64(rows, 0, "share"),
        .workers = (uint32_t)weir_rows_i64(rows, 0, "workers"),
        .token = weir_rows_text(rows, 0, "token"),
        .tables = weir_rows_bytes(rows, 0, "tables"),
        .later = weir_rows_f64(rows, 0, "later"),
        .seen = weir_rows_f64(rows, 0, "seen"),
        .tenant = weir_rows_text(rows, 0, "tenant"),
    });
    const struct weir_bytes scaling = weir_rows_bytes(rows, 0, "scaling");
    weir_buf_append(&entry->scaling.kept, scaling.at, scaling.size);
    entry->closed = weir_rows_bool(rows, 0, "closed");
    entry->silent_ms = entry->silent_stored_ms = weir_rows_i64(rows, 0, "silent_ms");
    entry->abandoned = weir_rows_bool(rows, 0, "abandoned");
    entry->has_expected = entry->is_expected_stored = !weir_rows_is_null(rows, 0, "expected");
    if (entry->has_expected)
        entry->expected = (uint64_t)weir_rows_i64(rows, 0, "expected");
    return entry;
}

static void read_record(const struct weir_rows *rows, struct dispatcher_record *record)
{
    record->attempt = (uint64_t)weir_rows_i64(rows, 0, "attempt");
    record->seats_taken = (uint64_t)weir_rows_i64(rows, 0, "turn");
    record->replayed = (uint64_t)weir_rows_i64(rows, 0, "replayed");
    record->duplicated = (uint64_t)weir_rows_i64(rows, 0, "duplicated");
    record->final = weir_rows_bool(rows, 0, "final");
}

static enum weir_status read_seat(const struct weir_rows *rows, size_t row,
                                  struct dispatcher_record *record, struct weir_error *err)
{
    int64_t rank = weir_rows_i64(rows, row, "rank");
    if (rank < 0 || rank >= WEIR_RANKS_MAX)
        return weir_fail(err, WEIR_CORRUPT, "a job with a rank %ld, expected 0 … %d", rank,
                         WEIR_RANKS_MAX - 1);
    struct dispatcher_seat *seat = &record->seats[rank];
    const struct {
        const char *column;
        struct weir_position *position;
    } POSITIONS[] = {
        {"begun", &seat->begun},
        {"committed", &seat->committed},
        {"pending", &seat->pending},
        {"reported", &seat->reported},
    };
    seat->session = (uint64_t)weir_rows_i64(rows, row, "session");
    seat->final = weir_rows_bool(rows, row, "final");
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < WEIR_COUNT(POSITIONS) && status == WEIR_OK; i++)
        status = weir_position_unpack(weir_rows_bytes(rows, row, POSITIONS[i].column),
                                      POSITIONS[i].position, err);
    return status;
}

static enum weir_status load_seats(struct weir_db *db, uint64_t number,
                                   struct dispatcher_record *record, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_ranks, &rows, err, DB_I64(number));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = read_seat(rows, i, record, err);
    return status;
}

/* An array of 64-bit numbers in bytea; what is missing is 0. */
static uint64_t word_at(struct weir_bytes words, size_t index)
{
    uint64_t word = 0;
    if (index < words.size / sizeof(word))
        memcpy(&word, words.at + index * sizeof(word), sizeof(word));
    return word;
}

static void load_cost(const struct weir_rows *rows, size_t row, struct dispatcher_costs *costs)
{
    const struct weir_bytes ns = weir_rows_bytes(rows, row, "operator_ns");
    const struct weir_bytes bytes = weir_rows_bytes(rows, row, "operator_bytes");
    struct dispatcher_cost cost = {
        .session = (uint64_t)weir_rows_i64(rows, row, "session"),
        .cpu_ns = weir_rows_i64(rows, row, "cpu_ns"),
        .bytes_read = (uint64_t)weir_rows_i64(rows, row, "bytes_read"),
        .bytes_sent = (uint64_t)weir_rows_i64(rows, row, "bytes_sent"),
        .kept = {.key = (uint64_t)weir_rows_i64(rows, row, "kept_key"),
                 .hits = (uint64_t)weir_rows_i64(rows, row, "kept_hits"),
                 .misses = (uint64_t)weir_rows_i64(rows, row, "kept_misses"),
                 .damaged = (uint64_t)weir_rows_i64(rows, row, "kept_damaged"),
                 .made_ns = weir_rows_i64(rows, row, "kept_made_ns"),
                 .read_ns = weir_rows_i64(rows, row, "kept_read_ns")},
    };
    preprocess_costs_have(costs, ns.size / sizeof(uint64_t));
    for (size_t i = 0; i < costs->operators; i++) {
        cost.of[i].ns = (int64_t)word_at(ns, i);
        cost.of[i].bytes = word_at(bytes, i);
    }
    preprocess_costs_put(costs, &cost);
}

static enum weir_status load_costs(struct weir_db *db, struct dispatcher_entry *entry,
                                   struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_costs, &rows, err, DB_I64(entry->number));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        load_cost(rows, i, &entry->costs);
    return status;
}

static enum weir_status load_failures(struct weir_db *db, struct dispatcher_entry *entry,
                                      struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_failures, &rows, err, DB_I64(entry->number));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        preprocess_failures_note(&entry->failures, (uint64_t)weir_rows_i64(rows, i, "sample"),
                                 weir_rows_text(rows, i, "reason"));
    entry->failures.is_changed = false;
    return status;
}

enum weir_status preprocess_store_load(struct weir_db *db, const char *data_dir, uint64_t number,
                                       struct dispatcher_entry **ret_entry,
                                       struct dispatcher_record *ret_record, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_job_find, &rows, err, DB_I64(number));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) == 0)
        return weir_fail(err, WEIR_NOT_FOUND, "there is no job %lu", number);
    WEIR_AUTO(dispatcher_entry) entry = read_entry(rows, data_dir, number);
    read_record(rows, ret_record);
    status = load_seats(db, number, ret_record, err);
    if (status == WEIR_OK)
        status = load_costs(db, entry, err);
    if (status == WEIR_OK)
        status = load_failures(db, entry, err);
    if (status == WEIR_OK)
        *ret_entry = WEIR_TAKE(entry);
    return status;
}

/* ---- saving ---- */

enum weir_status preprocess_store_add(struct weir_db *db, const char *data_dir,
                                      const struct dispatcher_entry *entry, bool *ret_is_new,
                                      struct weir_error *err)
{
    WEIR_AUTO_BUF fit = {0};
    WEIR_AUTO(weir_rows) rows = NULL;
    preprocess_entry_keep_fit(entry, &fit);
    enum weir_status status =
        DB_RUN(db, Q_job_add, &rows, err, DB_I64(entry->number), DB_TEXT(entry->file),
               DB_BYTES(weir_buf_view(&entry->config)),
               DB_TEXT(weir_path_below(data_dir, entry->set_path)), DB_TEXT(entry->set_digest),
               DB_I64(entry->epochs), DB_I64(entry->seed), DB_TEXT(entry->mode),
               DB_BYTES(weir_buf_view(&fit)), DB_I64(entry->ranks), DB_I64(entry->quota.pipeline),
               DB_F64(entry->quota.share), DB_I64(entry->quota.workers), DB_TEXT(entry->token),
               DB_BYTES(weir_buf_view(&entry->tables)), DB_F64(entry->later), DB_F64(entry->seen),
               DB_TEXT(entry->tenant));
    *ret_is_new = status == WEIR_OK && weir_rows_count(rows) > 0;
    return status;
}

enum weir_status preprocess_store_token(struct weir_db *db, uint64_t number, const char *token,
                                        struct weir_error *err)
{
    return DB_RUN(db, Q_job_token, NULL, err, DB_I64(number), DB_TEXT(token));
}

enum weir_status preprocess_store_quota(struct weir_db *db, uint64_t number,
                                        const struct shares_quota *quota, struct weir_error *err)
{
    return DB_RUN(db, Q_job_quota, NULL, err, DB_I64(number), DB_I64(quota->pipeline),
                  DB_F64(quota->share), DB_I64(quota->workers));
}

static enum weir_status save_expected(struct weir_db *db, const struct dispatcher_image *image,
                                      struct weir_error *err)
{
    return image->has_expected
               ? DB_RUN(db, Q_job_expect, NULL, err, DB_I64(image->number), DB_I64(image->expected))
               : WEIR_OK;
}

static enum weir_status save_seat(struct weir_db *db, const struct dispatcher_image *image,
                                  uint32_t rank, struct weir_error *err)
{
    const struct dispatcher_seat *seat = &image->record->seats[rank];
    WEIR_AUTO_BUF begun = {0};
    WEIR_AUTO_BUF committed = {0};
    WEIR_AUTO_BUF pending = {0};
    WEIR_AUTO_BUF reported = {0};
    weir_position_pack(&seat->begun, &begun);
    weir_position_pack(&seat->committed, &committed);
    weir_position_pack(&seat->pending, &pending);
    weir_position_pack(&seat->reported, &reported);
    return DB_RUN(db, Q_rank_save, NULL, err, DB_I64(image->number), DB_I64(rank),
                  DB_I64(seat->session), DB_BYTES(weir_buf_view(&begun)),
                  DB_BYTES(weir_buf_view(&committed)), DB_BYTES(weir_buf_view(&pending)),
                  DB_BYTES(weir_buf_view(&reported)), DB_BOOL(seat->final));
}

static enum weir_status save_record(struct weir_db *db, const struct dispatcher_image *image,
                                    struct weir_error *err)
{
    const struct dispatcher_record *record = image->record;
    enum weir_status status =
        DB_RUN(db, Q_job_save, NULL, err, DB_I64(image->number), DB_I64(record->attempt),
               DB_I64(record->seats_taken), DB_I64(record->replayed), DB_I64(record->duplicated),
               DB_BOOL(record->final));
    for (uint32_t rank = 0; rank < image->ranks && status == WEIR_OK; rank++)
        status = save_seat(db, image, rank, err);
    return status == WEIR_OK ? save_expected(db, image, err) : status;
}

/* Ends a transaction, by a commit when all went well. */
static enum weir_status end(struct weir_db *db, enum weir_status status, struct weir_error *err)
{
    if (status == WEIR_OK)
        return weir_db_commit(db, err);
    weir_db_rollback(db);
    return status;
}

typedef enum weir_status store_image_fn(struct weir_db *db, const struct dispatcher_image *image,
                                        struct weir_error *err);

static enum weir_status store_images(struct weir_db *db, const struct dispatcher_image *images,
                                     size_t count, store_image_fn *store, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < count && status == WEIR_OK; i++)
        status = store(db, &images[i], err);
    return status;
}

/* In one transaction, whose statements are on their way together. */
static enum weir_status store_together(struct weir_db *db, const struct dispatcher_image *images,
                                       size_t count, store_image_fn *store, struct weir_error *err)
{
    enum weir_status status = weir_db_begin_batch(db, err);
    return status == WEIR_OK ? end(db, store_images(db, images, count, store, err), err) : status;
}

/* One job that cannot be stored is not to stop the others. */
static enum weir_status store_each(struct weir_db *db, struct dispatcher_images *images,
                                   store_image_fn *store, struct weir_error *err)
{
    enum weir_status all = WEIR_OK;
    for (size_t i = 0; i < images->count; i++) {
        struct dispatcher_image *image = &images->at[i];
        struct weir_error its;
        image->status = store_together(db, image, 1, store, &its);
        if (image->status == WEIR_OK)
            continue;
        weir_log(WEIR_LOG_WARN, "job not stored, trying again", "job=%lu reason=\"%s\"",
                 image->number, its.text);
        *err = its;
        all = image->status;
    }
    return all;
}

static enum weir_status store_all(struct weir_db *db, struct dispatcher_images *images,
                                  store_image_fn *store, struct weir_error *err)
{
    enum weir_status status = store_together(db, images->at, images->count, store, err);
    if (status != WEIR_OK && status != WEIR_UNAVAILABLE)
        return store_each(db, images, store, err);
    for (size_t i = 0; i < images->count; i++)
        images->at[i].status = status;
    return status;
}

enum weir_status preprocess_store_save(struct weir_db *db, struct dispatcher_images *images,
                                       struct weir_error *err)
{
    return store_all(db, images, save_record, err);
}

/* ---- reports ---- */

static enum weir_status save_reported(struct weir_db *db, const struct dispatcher_image *image,
                                      struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (uint32_t rank = 0; rank < image->ranks && status == WEIR_OK; rank++) {
        WEIR_AUTO_BUF reported = {0};
        weir_position_pack(&image->record->seats[rank].reported, &reported);
        status = DB_RUN(db, Q_rank_report, NULL, err, DB_I64(image->number), DB_I64(rank),
                        DB_BYTES(weir_buf_view(&reported)));
    }
    return status;
}

static enum weir_status save_cost(struct weir_db *db, const struct dispatcher_image *image,
                                  const struct dispatcher_cost *cost, struct weir_error *err)
{
    const struct dispatcher_kept *kept = &cost->kept;
    size_t operators = image->costs.operators;
    int64_t ns[CHAIN_OPERATORS_MAX];
    uint64_t bytes[CHAIN_OPERATORS_MAX];
    for (size_t i = 0; i < operators; i++) {
        ns[i] = cost->of[i].ns;
        bytes[i] = cost->of[i].bytes;
    }
    return DB_RUN(db, Q_cost_save, NULL, err, DB_I64(image->number), DB_I64(cost->session),
                  DB_I64(cost->cpu_ns), DB_I64(cost->bytes_read), DB_I64(cost->bytes_sent),
                  DB_BYTES(weir_bytes(ns, operators * sizeof(*ns))),
                  DB_BYTES(weir_bytes(bytes, operators * sizeof(*bytes))), DB_I64(kept->key),
                  DB_TEXT(image->kept), DB_I64(kept->hits), DB_I64(kept->misses),
                  DB_I64(kept->damaged), DB_I64(kept->made_ns), DB_I64(kept->read_ns));
}

static enum weir_status save_costs(struct weir_db *db, const struct dispatcher_image *image,
                                   struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < image->costs.count && status == WEIR_OK; i++) {
        const struct dispatcher_cost cost = preprocess_costs_at(&image->costs, i);
        status = save_cost(db, image, &cost, err);
    }
    return status;
}

/* Rows were put together: all or none, or what they stand for would count twice. */
static enum weir_status replace_costs(struct weir_db *db, const struct dispatcher_image *image,
                                      struct weir_error *err)
{
    enum weir_status status = DB_RUN(db, Q_cost_drop, NULL, err, DB_I64(image->number));
    return status == WEIR_OK ? save_costs(db, image, err) : status;
}

static enum weir_status save_failures(struct weir_db *db, const struct dispatcher_image *image,
                                      struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    const struct failures *failures = &image->failures;
    for (size_t i = 0; i < failures->count && status == WEIR_OK; i++)
        status = DB_RUN(db, Q_failure_save, NULL, err, DB_I64(image->number),
                        DB_I64(failures->of[i].id), DB_TEXT(failures->of[i].reason));
    return status;
}

static enum weir_status save_report(struct weir_db *db, const struct dispatcher_image *image,
                                    struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    if (image->has_silence)
        status =
            DB_RUN(db, Q_job_silent, NULL, err, DB_I64(image->number), DB_I64(image->silent_ms));
    if (status == WEIR_OK && image->has_report)
        status = save_reported(db, image, err);
    if (status == WEIR_OK)
        status = image->replaces_costs ? replace_costs(db, image, err) : save_costs(db, image, err);
    if (status == WEIR_OK && image->has_failures)
        status = save_failures(db, image, err);
    if (status == WEIR_OK && image->scaling.size > 0)
        status = DB_RUN(db, Q_job_scaling, NULL, err, DB_I64(image->number),
                        DB_BYTES(weir_buf_view(&image->scaling)));
    return status;
}

enum weir_status preprocess_store_reports(struct weir_db *db, struct dispatcher_images *images,
                                          struct weir_error *err)
{
    return store_all(db, images, save_report, err);
}

enum weir_status preprocess_store_fitted(struct weir_db *db, uint64_t number,
                                         struct weir_bytes fitted, struct weir_error *err)
{
    return DB_RUN(db, Q_job_fitted, NULL, err, DB_I64(number), DB_BYTES(fitted));
}

/* ---- endings ---- */

static enum weir_status compact(struct weir_db *db, const struct dispatcher_image *image,
                                struct weir_error *err)
{
    enum weir_status status = DB_RUN(db, Q_job_close, NULL, err, DB_I64(image->number));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_rank_close, NULL, err, DB_I64(image->number));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_failures_drop, NULL, err, DB_I64(image->number));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_cost_drop, NULL, err, DB_I64(image->number));
    if (status == WEIR_OK)
        status = save_cost(db, image, &image->total, err);
    return status == WEIR_OK ? save_expected(db, image, err) : status;
}

/* Everything of an abandoned job is kept, for an owner that returns after all and opens it again. */
static enum weir_status abandon(struct weir_db *db, const struct dispatcher_image *image,
                                struct weir_error *err)
{
    enum weir_status status = save_report(db, image, err);
    if (status == WEIR_OK)
        status = save_expected(db, image, err);
    return status == WEIR_OK ? DB_RUN(db, Q_job_abandon, NULL, err, DB_I64(image->number)) : status;
}

enum weir_status preprocess_store_end(struct weir_db *db, const struct dispatcher_images *images,
                                      struct weir_error *err)
{
    bool is_abandoned = images->count == 1 && images->at[0].is_abandoned;
    return store_together(db, images->at, images->count, is_abandoned ? abandon : compact, err);
}

static enum weir_status purge(struct weir_db *db, uint64_t upto, struct msg_jobs_purged *ret_purged,
                              struct weir_error *err)
{
    WEIR_AUTO(weir_rows) fits = NULL;
    WEIR_AUTO(weir_rows) reasons = NULL;
    enum weir_status status = DB_RUN(db, Q_purge_fits, &fits, err, DB_I64(upto));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_purge_failures, &reasons, err, DB_I64(upto));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_purge_digests, NULL, err, DB_I64(upto));
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_purge_abandoned, NULL, err, DB_I64(upto));
    if (status != WEIR_OK)
        return status;
    *ret_purged = (struct msg_jobs_purged){.fits = weir_rows_count(fits),
                                           .reasons = weir_rows_count(reasons)};
    return WEIR_OK;
}

enum weir_status preprocess_store_purge(struct weir_db *db, const struct dispatcher_images *images,
                                        uint64_t upto, struct msg_jobs_purged *ret_purged,
                                        struct weir_error *err)
{
    enum weir_status status = weir_db_begin(db, err);
    if (status != WEIR_OK)
        return status;
    status = store_images(db, images->at, images->count, compact, err);
    if (status == WEIR_OK)
        status = purge(db, upto, ret_purged, err);
    return end(db, status, err);
}

enum weir_status preprocess_store_reopen(struct weir_db *db, uint64_t number,
                                         struct weir_error *err)
{
    return DB_RUN(db, Q_job_reopen, NULL, err, DB_I64(number));
}
