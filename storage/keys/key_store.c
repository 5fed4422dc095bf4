/* Sorted runs in Postgres: see key_store.h. */
#include "storage/keys/key_store.h"

#include "core/base/memory.h"
#include "storage/keys/sorted_run_sort.h"
#include "storage/sql/queries.h"

#include <stdlib.h>
#include <string.h>

enum { OLD_ENTRY_BYTES = 16, ENTRIES_AT_ONCE = 1 << 16 };
static const uint64_t ID_MASK = (UINT64_C(1) << SORTED_RUN_ID_BITS) - 1;

/* ---- reading segments ---- */

void storage_key_reader_fini(struct key_reader *reader)
{
    weir_rows_free(reader->rows);
    reader->rows = NULL;
}

static enum weir_status read_segments(void *owner, uint64_t run, const uint64_t *numbers,
                                      size_t count, struct weir_bytes *ret_bytes,
                                      struct weir_error *err)
{
    struct key_reader *reader = owner;
    enum weir_status status;

    storage_key_reader_fini(reader);
    status = DB_RUN(reader->db, Q_run_segments, &reader->rows, err, DB_I64(run),
                    DB_I64S(numbers, count));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(reader->rows) != count)
        return weir_fail(err, WEIR_CORRUPT, "sorted run %llu: %zu segments of %zu are missing",
                         (unsigned long long)run, count - weir_rows_count(reader->rows), count);
    for (size_t i = 0; i < count; i++)
        ret_bytes[i] = weir_rows_bytes(reader->rows, i, "bytes");
    return WEIR_OK;
}

struct key_source storage_key_reader_source(struct key_reader *reader)
{
    return (struct key_source){.owner = reader, .segments = read_segments};
}

enum weir_status storage_key_store_find(struct weir_db *db, const struct key_index *index,
                                        const struct id_list *hashes, size_t max,
                                        struct key_hits *hits, struct weir_error *err)
{
    struct key_reader reader = {.db = db};
    const struct key_source source = storage_key_reader_source(&reader);
    struct key_walk walk = {.hashes = hashes->at, .hash_count = hashes->count};
    enum weir_status status = WEIR_OK;

    for (bool is_done = false; status == WEIR_OK && !is_done && hits->count < max;) {
        status = storage_key_index_walk(index, &walk, &source, hits, &is_done, err);
        weir_db_go_on_now(db);
    }
    storage_key_walk_fini(&walk);
    storage_key_reader_fini(&reader);
    return status;
}

/* ---- writing ---- */

enum weir_status storage_key_store_begin(struct weir_db *db, uint32_t dataset, enum key_kind kind,
                                         bool is_own, uint64_t *ret_run, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO_FREE char *sql = NULL;
    enum weir_status status =
        DB_RUN(db, Q_run_begin, &rows, err, DB_I64(dataset), DB_I64(kind), DB_BOOL(is_own));

    if (status != WEIR_OK)
        return status;
    *ret_run = (uint64_t)weir_rows_i64(rows, 0, "number");
    if (!is_own)
        return WEIR_OK;
    sql =
        weir_format("CREATE TABLE run_segment_%llu PARTITION OF run_segment FOR VALUES IN (%llu); "
                    "CREATE SEQUENCE changes_of_run_segment_%llu OWNED BY run_segment_%llu.run",
                    (unsigned long long)*ret_run, (unsigned long long)*ret_run,
                    (unsigned long long)*ret_run, (unsigned long long)*ret_run);
    return weir_db_exec(db, sql, err);
}

enum weir_status storage_key_store_segments(struct weir_db *db, uint64_t run,
                                            struct sorted_run_writer *writer,
                                            struct weir_error *err)
{
    size_t count = writer->sizes.count;
    WEIR_AUTO_FREE uint64_t *offsets = weir_calloc(count + 1, sizeof(*offsets));
    enum weir_status status;

    for (size_t i = 0; i < count; i++)
        offsets[i + 1] = offsets[i] + writer->sizes.at[i];
    if (count == 0)
        return WEIR_OK;
    status = DB_RUN(db, Q_run_segments_add, NULL, err, DB_I64(run), DB_I64(writer->taken),
                    DB_BYTES(weir_buf_view(&writer->bytes)), DB_I64S(offsets, count),
                    DB_I64S(writer->sizes.at, count));
    if (status == WEIR_OK)
        storage_sorted_run_writer_take(writer);
    return status;
}

enum weir_status storage_key_store_complete(struct weir_db *db, uint64_t run,
                                            const struct sorted_run_writer *writer,
                                            struct weir_error *err)
{
    return DB_RUN(db, Q_run_complete, NULL, err, DB_I64(run), DB_I64(writer->count),
                  DB_BYTES(weir_buf_view(&writer->fences)),
                  DB_BYTES(storage_sorted_run_filter_view(&writer->filter)));
}

enum weir_status storage_key_store_drop(struct weir_db *db, uint64_t run, bool is_own,
                                        struct weir_error *err)
{
    WEIR_AUTO_FREE char *sql =
        weir_format("DROP TABLE IF EXISTS run_segment_%llu", (unsigned long long)run);
    enum weir_status status = DB_RUN(db, Q_run_drop, NULL, err, DB_I64(run));

    if (status != WEIR_OK)
        return status;
    return is_own ? weir_db_exec(db, sql, err)
                  : DB_RUN(db, Q_run_segments_drop, NULL, err, DB_I64(run));
}

struct sorted_run storage_key_store_run(uint64_t number, bool is_own,
                                        struct sorted_run_writer *writer)
{
    struct sorted_run run = {.number = number,
                             .count = writer->count,
                             .is_own = is_own,
                             .segments = writer->fences.size / sizeof(uint32_t),
                             .filter = writer->filter};

    run.fences = weir_calloc(run.segments + 1, sizeof(*run.fences));
    memcpy(run.fences, writer->fences.at, writer->fences.size);
    writer->filter = (struct sorted_run_filter){0};
    return run;
}

static enum weir_status write_segments(struct weir_db *db, uint64_t run,
                                       struct sorted_run_writer *writer,
                                       const struct sorted_run_entry *entries, size_t count,
                                       struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t at = 0, here; status == WEIR_OK && at < count; at += here) {
        here = count - at < ENTRIES_AT_ONCE ? count - at : ENTRIES_AT_ONCE;
        storage_sorted_run_writer_add(writer, entries + at, here);
        if (at + here == count)
            storage_sorted_run_writer_end(writer);
        status = storage_key_store_segments(db, run, writer, err);
    }
    return status;
}

static void go_on(void *owner)
{
    weir_db_go_on_now(owner);
}

void storage_key_store_sort(struct weir_db *db, struct sorted_run_entry *entries, size_t count)
{
    storage_sorted_run_sort(entries, count, (struct sorted_run_pause){go_on, db});
}

enum weir_status storage_key_store_add(struct weir_db *db, uint32_t dataset,
                                       struct key_index *index, struct sorted_run_entry *entries,
                                       size_t count, struct weir_error *err)
{
    bool is_own = count >= KEY_OWN_PARTITION;
    struct sorted_run_writer writer;
    uint64_t number = 0;
    enum weir_status status;

    if (count == 0)
        return WEIR_OK;
    storage_key_store_sort(db, entries, count);
    storage_sorted_run_writer_init(&writer, count, storage_key_filter_bits(index->kind),
                                   KEY_FILTER_BYTES_MAX);
    status = storage_key_store_begin(db, dataset, index->kind, is_own, &number, err);
    if (status == WEIR_OK)
        status = write_segments(db, number, &writer, entries, count, err);
    if (status == WEIR_OK)
        status = storage_key_store_complete(db, number, &writer, err);
    if (status == WEIR_OK) {
        struct sorted_run run = storage_key_store_run(number, is_own, &writer);

        storage_key_index_add(index, &run);
    }
    storage_sorted_run_writer_fini(&writer);
    return status;
}

/* ---- erasing ---- */

static enum weir_status thin_segment(struct weir_db *db, struct sorted_run *run, uint64_t segment,
                                     struct weir_bytes packed, const struct key_erasure *erasure,
                                     struct weir_error *err)
{
    struct sorted_run_entry entries[SORTED_RUN_SEGMENT_ENTRIES];
    WEIR_AUTO_BUF thinned = {0};
    size_t count = 0, kept = 0;
    enum weir_status status =
        packed.size > 0 ? storage_sorted_run_segment_unpack(packed, entries, &count, err) : WEIR_OK;

    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        if (!erasure->is_erased(erasure->owner, entries[i].id))
            entries[kept++] = entries[i];
    }
    if (kept == count)
        return WEIR_OK;
    if (kept > 0)
        (void)storage_sorted_run_segment_pack(entries, kept, &thinned);
    run->count -= count - kept;
    return DB_RUN(db, Q_run_segment_put, NULL, err, DB_I64(run->number), DB_I64(segment),
                  DB_BYTES(weir_buf_view(&thinned)));
}

enum weir_status storage_key_store_erase(struct weir_db *db, struct key_index *index,
                                         const struct key_erasure *erasure, struct key_walk *walk,
                                         bool *ret_done, struct weir_error *err)
{
    struct key_reader reader = {.db = db};
    struct weir_bytes bytes[KEY_SEGMENTS_AT_ONCE];
    size_t first = 0, count;
    struct sorted_run *run = storage_key_walk_next(index, walk, &first);
    uint64_t before = run != NULL ? run->count : 0;
    enum weir_status status = WEIR_OK;

    count = walk->at - first;
    *ret_done = run == NULL;
    if (run == NULL || count == 0)
        return WEIR_OK;
    status = read_segments(&reader, run->number, walk->segments + first, count, bytes, err);
    for (size_t i = 0; status == WEIR_OK && i < count; i++)
        status = thin_segment(db, run, walk->segments[first + i], bytes[i], erasure, err);
    storage_key_reader_fini(&reader);
    if (status == WEIR_OK && run->count != before)
        status = DB_RUN(db, Q_run_thinned, NULL, err, DB_I64(run->number), DB_I64(run->count));
    return status;
}

/* ---- loading ---- */

/* Content of a store of before this layout: (hash, id) in 16 bytes each. */
static enum weir_status adopt_old_run(struct weir_db *db, uint32_t dataset, struct key_index *index,
                                      int64_t number, struct weir_bytes packed,
                                      struct weir_error *err)
{
    size_t count = packed.size / OLD_ENTRY_BYTES;
    WEIR_AUTO_FREE struct sorted_run_entry *entries = weir_calloc(count + 1, sizeof(*entries));
    enum weir_status status = weir_db_begin(db, err);

    for (size_t i = 0; i < count; i++)
        entries[i] = (struct sorted_run_entry){
            .hash = weir_get_u64(packed.at + i * OLD_ENTRY_BYTES),
            .id = weir_get_u64(packed.at + i * OLD_ENTRY_BYTES + 8) & ID_MASK};
    if (status == WEIR_OK)
        status = storage_key_store_add(db, dataset, index, entries, count, err);
    if (status == WEIR_OK)
        status = DB_RUN(db, Q_subject_run_drop, NULL, err, DB_I64(number));
    if (status == WEIR_OK)
        status = weir_db_commit(db, err);
    if (status != WEIR_OK)
        weir_db_rollback(db);
    return status;
}

static enum weir_status adopt_old_runs(struct weir_db *db, uint32_t dataset,
                                       struct key_index *index, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_subject_runs, &rows, err, DB_I64(dataset));

    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = adopt_old_run(db, dataset, index, weir_rows_i64(rows, i, "number"),
                               weir_rows_bytes(rows, i, "entries"), err);
    return status;
}

/* A filter that there is no room for is not even read. */
static enum weir_status load_filter(struct weir_db *db, const struct key_index *index,
                                    struct sorted_run *run, size_t bytes, struct weir_error *err)
{
    const struct key_budget *budget = index->budget;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status;

    if (bytes == 0 || (budget != NULL && budget->bytes + bytes > budget->bytes_max))
        return WEIR_OK;
    status = DB_RUN(db, Q_run_filter, &rows, err, DB_I64(run->number));
    if (status == WEIR_OK &&
        (weir_rows_count(rows) != 1 ||
         !storage_sorted_run_filter_load(&run->filter, weir_rows_bytes(rows, 0, "filter"))))
        return weir_fail(err, WEIR_CORRUPT, "sorted run %llu: %zu bytes are no filter",
                         (unsigned long long)run->number, bytes);
    return status;
}

static enum weir_status load_run(struct weir_db *db, struct key_index *index,
                                 const struct weir_rows *rows, size_t i, struct weir_error *err)
{
    struct weir_bytes fences = weir_rows_bytes(rows, i, "fences");
    struct sorted_run run = {.number = (uint64_t)weir_rows_i64(rows, i, "number"),
                             .count = (uint64_t)weir_rows_i64(rows, i, "count"),
                             .is_own = weir_rows_bool(rows, i, "is_own")};
    enum weir_status status;

    if (!weir_rows_bool(rows, i, "is_complete"))
        return storage_key_store_drop(db, run.number, run.is_own, err);
    run.segments = fences.size / sizeof(*run.fences);
    run.fences = weir_calloc(run.segments + 1, sizeof(*run.fences));
    memcpy(run.fences, fences.at, run.segments * sizeof(*run.fences));
    status = load_filter(db, index, &run, (size_t)weir_rows_i64(rows, i, "filter_bytes"), err);
    if (status == WEIR_OK)
        storage_key_index_add(index, &run);
    storage_sorted_run_fini(&run);
    return status;
}

enum weir_status storage_key_store_load(struct weir_db *db, uint32_t dataset,
                                        struct key_index *index, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_runs, &rows, err, DB_I64(dataset), DB_I64(index->kind));

    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = load_run(db, index, rows, i, err);
    if (status == WEIR_OK && index->kind == KEY_SUBJECT)
        status = adopt_old_runs(db, dataset, index, err);
    return status;
}
