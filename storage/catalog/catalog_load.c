/* The catalog as Postgres has it. */
#include "core/base/memory.h"
#include "storage/catalog/added_runs.h"
#include "storage/catalog/catalog.h"
#include "storage/keys/key_store.h"
#include "storage/sql/queries.h"

#include <stdlib.h>

enum { GROUPS_PER_QUERY = 64, BLOCKED_PER_QUERY = 65536 };

static enum weir_status load_classes(struct weir_db *db, struct dataset *dataset,
                                     struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_classes, &rows, err, DB_I64(dataset->number));

    if (status != WEIR_OK)
        return status;
    dataset->class_count = weir_rows_count(rows);
    dataset->class_capacity = dataset->class_mark_capacity = dataset->class_count;
    dataset->class_stored = dataset->class_count;
    dataset->classes = weir_calloc(dataset->class_count + 1, sizeof(char *));
    dataset->class_marks = weir_calloc(dataset->class_count + 1, sizeof(*dataset->class_marks));
    for (size_t i = 0; i < dataset->class_count; i++) {
        dataset->classes[i] = weir_strdup(weir_rows_text(rows, i, "name"));
        dataset->class_marks[i] =
            (struct class_mark){.touched_by = (uint64_t)weir_rows_i64(rows, i, "touched_by"),
                                .is_erased = weir_rows_bool(rows, i, "is_erased")};
    }
    storage_dataset_name_classes(dataset);
    return WEIR_OK;
}

/* Chunks ascend and do not overlap, within blocks that ids have room for. */
static enum weir_status check_chunk(const struct dataset *dataset, const struct weir_rows *rows,
                                    size_t i, struct weir_error *err)
{
    int64_t block = weir_rows_i64(rows, i, "block"), row = weir_rows_i64(rows, i, "first_row");
    int64_t count = weir_rows_i64(rows, i, "count");
    bool is_next =
        i == 0 || block > weir_rows_i64(rows, i - 1, "block") ||
        row >= weir_rows_i64(rows, i - 1, "first_row") + weir_rows_i64(rows, i - 1, "count");

    if (block >= 0 && block < INT64_C(1) << WEIR_BLOCK_BITS && row >= 0 && row < WEIR_BLOCK_ROWS &&
        count > 0 && count <= WEIR_BLOCK_ROWS - row && is_next)
        return WEIR_OK;
    return weir_fail(
        err, WEIR_CORRUPT,
        "table chunk: found %lld rows from row %lld of block %lld of dataset %u, expected rows of "
        "their own within a block of %d: put the database back from a backup",
        (long long)count, (long long)row, (long long)block, dataset->number, WEIR_BLOCK_ROWS);
}

static enum weir_status load_chunks(struct weir_db *db, struct dataset *dataset,
                                    struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_chunk_index, &rows, err, DB_I64(dataset->number));

    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        status = check_chunk(dataset, rows, i, err);
        if (status != WEIR_OK)
            return status;
        struct chunk_ref chunk = {
            .block = (uint32_t)weir_rows_i64(rows, i, "block"),
            .first_row = (uint32_t)weir_rows_i64(rows, i, "first_row"),
            .count = (uint32_t)weir_rows_i64(rows, i, "count"),
            .time_min = weir_rows_i64(rows, i, "time_min"),
            .time_max = weir_rows_i64(rows, i, "time_max"),
        };

        storage_dataset_add_chunk(dataset, &chunk);
        status =
            storage_added_runs_unpack(dataset, &chunk, (uint64_t)weir_rows_i64(rows, i, "sequence"),
                                      weir_rows_bytes(rows, i, "runs"), err);
    }
    return status;
}

static enum weir_status load_group(struct dataset *dataset, const struct weir_rows *rows, size_t i,
                                   struct weir_error *err)
{
    struct file_group *group;
    enum weir_status status = storage_file_group_unpack(
        weir_rows_bytes(rows, i, "entries"), (uint64_t)weir_rows_i64(rows, i, "encoding"),
        (size_t)weir_rows_i64(rows, i, "count"), &group, err);

    if (status != WEIR_OK)
        return status;
    storage_dataset_add_group(dataset, group);
    storage_file_group_bound(group);
    storage_file_cache_put(dataset->file_cache, group);
    if (group->number != (uint64_t)weir_rows_i64(rows, i, "number"))
        return weir_fail(err, WEIR_CORRUPT, "file group %llu is missing",
                         (unsigned long long)group->number);
    group->first_file = (uint64_t)weir_rows_i64(rows, i, "first_file");
    return WEIR_OK;
}

/* Each of them is looked at; what the cache has no room for is brought again when it is needed. */
static enum weir_status load_groups(struct weir_db *db, struct dataset *dataset,
                                    struct weir_error *err)
{
    for (bool is_through = false; !is_through;) {
        WEIR_AUTO(weir_rows) rows = NULL;
        enum weir_status status = DB_RUN(db, Q_file_groups, &rows, err, DB_I64(dataset->number),
                                         DB_I64(dataset->group_count), DB_I64(GROUPS_PER_QUERY));

        for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
            status = load_group(dataset, rows, i, err);
        if (status != WEIR_OK)
            return status;
        storage_file_cache_trim(dataset->file_cache);
        is_through = weir_rows_count(rows) < GROUPS_PER_QUERY;
    }
    return WEIR_OK;
}

static enum weir_status load_dead(struct weir_db *db, struct dataset *dataset,
                                  struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_dead, &rows, err, DB_I64(dataset->number));

    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        uint64_t block = (uint64_t)weir_rows_i64(rows, i, "block");

        if (block >> WEIR_BLOCK_BITS != 0)
            return weir_fail(err, WEIR_CORRUPT, "table dead: there is no block %llu",
                             (unsigned long long)block);
        struct dead_rows *dead = storage_dataset_dead(dataset, (uint32_t)block);

        weir_bits_unpack(&dead->erased, weir_rows_bytes(rows, i, "erased"));
        weir_bits_unpack(&dead->removed, weir_rows_bytes(rows, i, "removed"));
        weir_bits_unpack(&dead->replaced, weir_rows_bytes(rows, i, "replaced"));
    }
    return status;
}

static enum weir_status load_blocked(struct weir_db *db, struct dataset *dataset,
                                     struct weir_error *err)
{
    int64_t from = INT64_MIN;

    for (bool is_through = false; !is_through;) {
        WEIR_AUTO(weir_rows) rows = NULL;
        enum weir_status status = DB_RUN(db, Q_blocked, &rows, err, DB_I64(dataset->number),
                                         DB_I64(from), DB_I64(BLOCKED_PER_QUERY));

        if (status != WEIR_OK)
            return status;
        for (size_t i = 0; i < weir_rows_count(rows); i++) {
            from = weir_rows_i64(rows, i, "hash");
            storage_dataset_block(dataset, (uint64_t)from, weir_rows_bool(rows, i, "met"));
        }
        is_through = weir_rows_count(rows) < BLOCKED_PER_QUERY || from == INT64_MAX;
        from += !is_through;
    }
    return WEIR_OK;
}

static enum weir_status load_keys(struct weir_db *db, struct dataset *dataset,
                                  struct weir_error *err)
{
    enum weir_status status = storage_key_store_load(db, dataset->number, &dataset->subjects, err);

    return status == WEIR_OK ? storage_key_store_load(db, dataset->number, &dataset->keys, err)
                             : status;
}

static void read_numbers(struct dataset *dataset, const struct weir_rows *rows, size_t i)
{
    struct accounts *accounts = &dataset->accounts;
    const struct {
        const char *column;
        uint64_t *account;
    } COUNTERS[] = {
        {"ingested", &accounts->ingested},   {"live", &accounts->live},
        {"erased", &accounts->erased},       {"removed", &accounts->removed},
        {"replaced", &accounts->replaced},   {"quarantined", &accounts->quarantined},
        {"duplicate", &accounts->duplicate}, {"blocked", &accounts->blocked},
        {"bytes", &accounts->bytes},         {"returned", &accounts->returned},
    };

    dataset->number = (uint32_t)weir_rows_i64(rows, i, "number");
    dataset->is_scanned = weir_rows_bool(rows, i, "scanned") || dataset->declaration->is_pushed;
    dataset->next_row = (uint64_t)weir_rows_i64(rows, i, "next_row");
    dataset->sequence = (uint64_t)weir_rows_i64(rows, i, "sequence");
    dataset->feed_floor = (uint64_t)weir_rows_i64(rows, i, "feed_floor");
    for (size_t k = 0; k < WEIR_COUNT(COUNTERS); k++)
        *COUNTERS[k].account = (uint64_t)weir_rows_i64(rows, i, COUNTERS[k].column);
    dataset->accepts_returns = weir_rows_bool(rows, i, "accepts_returns");
    dataset->tenants = weir_strdup(weir_rows_text(rows, i, "tenants"));
    if (weir_rows_text(rows, i, "columns")[0] != '\0')
        dataset->columns = weir_strdup(weir_rows_text(rows, i, "columns"));
}

/* An older Weir did not say in the row of a dataset what its labels are, which the view has to know. */
static enum weir_status tell_label(struct weir_db *db, const struct dataset *dataset,
                                   struct weir_error *err)
{
    const struct declaration *d = dataset->declaration;

    return DB_RUN(db, Q_dataset_label, NULL, err, DB_I64(dataset->number), DB_I64(d->label_kind),
                  DB_I64(d->label_width), DB_I64(weir_dtype_bytes(d->value_type)));
}

static enum weir_status load_dataset(struct weir_db *db, struct catalog *catalog,
                                     const struct weir_rows *rows, size_t i, struct weir_error *err)
{
    WEIR_AUTO(dataset) dataset = NULL;
    const struct dataset_origin origin = {
        .name = weir_rows_text(rows, i, "name"),
        .file = weir_rows_text(rows, i, "file"),
        .config = weir_rows_bytes(rows, i, "config"),
        .root = weir_rows_text(rows, i, "root"),
    };
    enum weir_status status = storage_dataset_new(catalog, &origin, &dataset, err);

    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "dataset '%s'", weir_rows_text(rows, i, "name"));
    read_numbers(dataset, rows, i);
    if (dataset->number <= catalog->last_number)
        return weir_fail(
            err, WEIR_CORRUPT,
            "table dataset: '%s' has number %u, expected one above %u: put the database back from a "
            "backup",
            dataset->name, dataset->number, catalog->last_number);
    status = load_classes(db, dataset, err);
    if (status == WEIR_OK)
        status = load_chunks(db, dataset, err);
    if (status == WEIR_OK)
        status = load_groups(db, dataset, err);
    if (status == WEIR_OK)
        status = load_dead(db, dataset, err);
    if (status == WEIR_OK)
        status = load_blocked(db, dataset, err);
    if (status == WEIR_OK)
        status = load_keys(db, dataset, err);
    if (status == WEIR_OK && weir_rows_bool(rows, i, "lacks_label"))
        status = tell_label(db, dataset, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "dataset '%s'", dataset->name);
    storage_catalog_add(catalog, WEIR_TAKE(dataset));
    return WEIR_OK;
}

/* Numbers of datasets that were removed are not given again. */
static enum weir_status load_last_removed(struct weir_db *db, struct catalog *catalog,
                                          struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_last_removed, &rows, err);

    if (status == WEIR_OK && weir_rows_i64(rows, 0, "number") > catalog->last_number)
        catalog->last_number = (uint32_t)weir_rows_i64(rows, 0, "number");
    return status;
}

enum weir_status storage_catalog_load(struct weir_db *db, const char *data_dir,
                                      struct catalog **ret_catalog, struct weir_error *err)
{
    WEIR_AUTO(catalog) catalog = storage_catalog_new(data_dir);
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(db, Q_datasets, &rows, err);

    catalog->file_cache->db = db;
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = load_dataset(db, catalog, rows, i, err);
    if (status == WEIR_OK)
        status = load_last_removed(db, catalog, err);
    if (status == WEIR_OK)
        *ret_catalog = WEIR_TAKE(catalog);
    return status;
}
