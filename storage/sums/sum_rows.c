/* Rows of sums: see sum_rows.h. */
#include "storage/sums/sum_rows.h"

#include "storage/sql/queries.h"

static enum weir_status write_row(struct weir_db *db, struct sum_row *row, struct weir_error *err)
{
    const struct sum_key *key = &row->key;
    WEIR_AUTO_BUF packed = {0};
    enum weir_status status;

    if (!row->is_changed)
        return WEIR_OK;
    storage_sums_pack(row->sums, &packed);
    if (packed.size == 0)
        status = DB_RUN(db, Q_block_sum_drop, NULL, err, DB_I64(key->dataset), DB_I64(key->file),
                        DB_I64(key->part));
    else
        status = DB_RUN(db, Q_block_sum_put, NULL, err, DB_I64(key->dataset), DB_I64(key->file),
                        DB_I64(key->part), DB_BYTES(weir_buf_view(&packed)));
    row->is_changed = status != WEIR_OK;
    return status;
}

static enum weir_status read_row(struct weir_db *db, const struct sum_key *key, struct sum_row *row,
                                 struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_bytes packed = weir_bytes(NULL, 0);
    enum weir_status status = DB_RUN(db, Q_block_sum, &rows, err, DB_I64(key->dataset),
                                     DB_I64(key->file), DB_I64(key->part));

    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) > 0)
        packed = weir_rows_bytes(rows, 0, "sums");
    status = storage_sums_unpack(packed, row->sums, err);
    row->key = *key;
    row->is_there = status == WEIR_OK;
    return status;
}

static enum weir_status move_to(struct sum_rows *rows, const struct block_at *at,
                                struct sum_row **ret_row, struct weir_error *err)
{
    struct sum_key key = storage_sum_key(at);
    struct sum_row *row = key.part == 0 ? &rows->firsts : &rows->others;
    enum weir_status status = WEIR_OK;

    *ret_row = row;
    if (row->is_there && storage_sum_key_equal(&row->key, &key))
        return WEIR_OK;
    if (row->is_there)
        status = write_row(rows->db, row, err);
    row->is_there = false;
    return status == WEIR_OK ? read_row(rows->db, &key, row, err) : status;
}

enum weir_status storage_sum_rows_get(struct sum_rows *rows, const struct block_at *at,
                                      struct block_sum *ret_sum, struct weir_error *err)
{
    struct sum_row *row;
    enum weir_status status = move_to(rows, at, &row, err);

    if (status == WEIR_OK)
        *ret_sum = row->sums[storage_sum_slot(at)];
    return status;
}

enum weir_status storage_sum_rows_put(struct sum_rows *rows, const struct block_at *at,
                                      struct block_sum sum, struct weir_error *err)
{
    struct sum_row *row;
    enum weir_status status = move_to(rows, at, &row, err);

    if (status != WEIR_OK)
        return status;
    row->sums[storage_sum_slot(at)] = sum;
    row->is_changed = true;
    return WEIR_OK;
}

enum weir_status storage_sum_rows_write(struct sum_rows *rows, struct weir_error *err)
{
    enum weir_status status = write_row(rows->db, &rows->firsts, err);

    return status == WEIR_OK ? write_row(rows->db, &rows->others, err) : status;
}

enum weir_status storage_sum_rows_drop(struct weir_db *db, uint32_t dataset, uint64_t file,
                                       struct weir_error *err)
{
    struct sum_rows rows = {.db = db};
    const struct block_at first = {.dataset = dataset, .file = file};
    struct block_sum known;
    enum weir_status status = storage_sum_rows_get(&rows, &first, &known, err);

    if (status == WEIR_OK && (known.length > 0 || known.is_unproven))
        status = storage_sum_rows_put(&rows, &first, (struct block_sum){0}, err);
    if (status == WEIR_OK)
        status = storage_sum_rows_write(&rows, err);
    return status == WEIR_OK
               ? DB_RUN(db, Q_block_sums_drop, NULL, err, DB_I64(dataset), DB_I64(file))
               : status;
}
