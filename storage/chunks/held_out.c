/* Bits by block: see held_out.h. */
#include "storage/chunks/held_out.h"

#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/wire/sample.h"
#include "storage/sql/queries.h"

static bool is_held(uint64_t hash, double share)
{
    return (double)(weir_mix64(hash) >> 11) * 0x1p-53 < share;
}

enum weir_status storage_held_out_read(struct weir_db *db, uint64_t dataset, uint64_t block,
                                       struct weir_bits *rows, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) found = NULL;
    enum weir_status status = DB_RUN(db, Q_held_out, &found, err, DB_I64(dataset), DB_I64(block));

    if (status == WEIR_OK && weir_rows_count(found) > 0)
        weir_bits_unpack(rows, weir_rows_bytes(found, 0, "rows"));
    return status;
}

static enum weir_status write_block(struct weir_db *db, uint64_t dataset, uint64_t block,
                                    const struct weir_bits *rows, struct weir_error *err)
{
    WEIR_AUTO_BUF packed = {0};

    weir_bits_pack(rows, &packed);
    return DB_RUN(db, Q_held_out_put, NULL, err, DB_I64(dataset), DB_I64(block),
                  DB_BYTES(weir_buf_view(&packed)));
}

/* Marks entries from `*at` on, as long as they are of one block. */
static enum weir_status add_block(struct weir_db *db, uint64_t dataset, const uint64_t *held,
                                  size_t count, size_t *at, struct weir_error *err)
{
    struct weir_bits rows = {0};
    uint64_t block = held[*at] / WEIR_BLOCK_ROWS;
    enum weir_status status = storage_held_out_read(db, dataset, block, &rows, err);

    for (; *at < count && held[*at] / WEIR_BLOCK_ROWS == block; (*at)++)
        weir_bits_set(&rows, held[*at] % WEIR_BLOCK_ROWS);
    if (status == WEIR_OK)
        status = write_block(db, dataset, block, &rows, err);
    weir_bits_fini(&rows);
    return status;
}

enum weir_status storage_held_out_add(struct weir_db *db, uint64_t dataset,
                                      const struct held_out_rows *rows, struct weir_error *err)
{
    WEIR_AUTO_FREE uint64_t *held = weir_calloc(rows->count + 1, sizeof(*held));
    enum weir_status status = WEIR_OK;
    size_t found = 0;

    for (size_t i = 0; rows->share > 0 && i < rows->count; i++)
        if (is_held(rows->entries[i].hash, rows->share))
            held[found++] = rows->first_row + rows->entries[i].id;
    for (size_t at = 0; status == WEIR_OK && at < found;)
        status = add_block(db, dataset, held, found, &at, err);
    return status;
}
