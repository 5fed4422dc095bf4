/* Format `mds`: MosaicML's shards (streaming, version 2) and their index.json. A shard is
 *
 *     count u32 | offsets u32 x (count + 1) | JSON of the columns | samples
 *
 * and a sample is the sizes (u32) of its columns of variable size, then all columns end to end. Encodings are those of
 * streaming/base/format/mds/encodings.py: a number is `int64`, a dense column `ndarray:float32:13`, a ragged one
 * `ndarray:int32`, which says its shape itself: (dimensions << 2 | width of a length) u8, the lengths, the elements. */
#include "core/base/file.h"
#include "core/base/memory.h"
#include "trainer_client/exports/export.h"

#include <inttypes.h>
#include <stdlib.h>

/* ---- columns ---- */

static void append_encoding(const struct export_column *column, struct weir_buf *out)
{
    const char *type = trainer_export_type(column->type)->name;

    weir_buf_printf(out, column->rank == 0 ? "\"%s" : "\"ndarray:%s", type);
    for (uint32_t i = 0; i < column->rank && !column->is_ragged; i++)
        weir_buf_printf(out, "%c%" PRIu64, i == 0 ? ':' : ',', column->shape[i]);
    weir_buf_append_text(out, "\"");
}

/* Appends `"column_names": [...], ...` and the rest of what every shard says of itself. */
static void append_config(const struct export *export, struct weir_buf *out)
{
    const char *comma = "";

    weir_buf_append_text(out, "\"column_encodings\": [");
    for (size_t i = 0; i < export->column_count; i++, comma = ", ") {
        weir_buf_append_text(out, comma);
        append_encoding(&export->columns[i], out);
    }
    weir_buf_append_text(out, "], \"column_names\": [");
    comma = "";
    for (size_t i = 0; i < export->column_count; i++, comma = ", ")
        weir_buf_printf(out, "%s\"%s\"", comma, export->columns[i].name);
    weir_buf_append_text(out, "], \"column_sizes\": [");
    comma = "";
    for (size_t i = 0; i < export->column_count; i++, comma = ", ") {
        if (export->columns[i].is_ragged)
            weir_buf_printf(out, "%snull", comma);
        else
            weir_buf_printf(out, "%s%zu", comma, trainer_export_stride(&export->columns[i]));
    }
    weir_buf_printf(out,
                    "], \"compression\": null, \"format\": \"mds\", \"hashes\": [], "
                    "\"size_limit\": %" PRIu64 ", \"version\": 2",
                    export->shard_bytes);
}

/* ---- samples ---- */

static size_t bytes_of_length(uint64_t length)
{
    return length <= UINT8_MAX ? 1 : length <= UINT16_MAX ? 2 : 4;
}

/* The longest dimension decides how wide all of them are written. */
static size_t width_of(const struct export_column *column, const struct export_cell *cell)
{
    size_t width = bytes_of_length(cell->length);

    for (uint32_t i = 1; i < column->rank; i++) {
        size_t other = bytes_of_length(column->shape[i]);
        width = other > width ? other : width;
    }
    return width;
}

static size_t bytes_of(const struct export_column *column, const struct export_cell *cell)
{
    return column->is_ragged ? 1 + width_of(column, cell) * column->rank + cell->bytes
                             : cell->bytes;
}

static void append_shape(const struct export_column *column, const struct export_cell *cell,
                         struct weir_buf *out)
{
    size_t width = width_of(column, cell);
    uint8_t code = (uint8_t)(column->rank << 2 | (width == 1 ? 0u : width == 2 ? 1u : 2u));

    weir_buf_append(out, &code, 1);
    for (uint32_t i = 0; i < column->rank; i++) {
        uint32_t length = (uint32_t)(i == 0 ? cell->length : column->shape[i]);
        weir_buf_append(out, &length, width); /* little-endian, like everything here */
    }
}

static void add(struct export *export, const struct export_cell *cells)
{
    struct weir_buf *out = &export->pending;

    for (size_t i = 0; i < export->column_count; i++)
        if (export->columns[i].is_ragged)
            weir_buf_append_u32(out, (uint32_t)bytes_of(&export->columns[i], &cells[i]));
    for (size_t i = 0; i < export->column_count; i++) {
        if (export->columns[i].is_ragged)
            append_shape(&export->columns[i], &cells[i], out);
        weir_buf_append(out, cells[i].at, cells[i].bytes);
    }
    trainer_export_end_row(export);
}

/* ---- shards ---- */

static enum weir_status seal(struct export *export, struct weir_error *err)
{
    WEIR_AUTO_BUF config = {0};
    WEIR_AUTO_BUF head = {0};

    weir_buf_append_text(&config, "{");
    append_config(export, &config);
    weir_buf_append_text(&config, "}");
    uint64_t data = (2 + export->pending_rows) * sizeof(uint32_t) + config.size;
    if (data + export->pending.size > UINT32_MAX)
        return weir_fail(err, WEIR_LIMIT,
                         "a shard of %" PRIu64
                         " bytes: mds counts to 4 GiB: expected smaller shards "
                         "or batches",
                         data + export->pending.size);
    weir_buf_append_u32(&head, (uint32_t) export->pending_rows);
    weir_buf_append_u32(&head, (uint32_t)data);
    for (uint64_t i = 0; i < export->pending_rows; i++)
        weir_buf_append_u32(
            &head, (uint32_t)(data + weir_get_u64(export->ends.at + i * sizeof(uint64_t))));
    weir_buf_append(&head, config.at, config.size);
    return trainer_export_write_shard(export, weir_buf_view(&head), err);
}

static enum weir_status finish(struct export *export, struct weir_error *err)
{
    WEIR_AUTO_BUF index = {0};

    weir_buf_append_text(&index, "{\"shards\": [");
    for (size_t i = 0; i < export->shard_count; i++) {
        WEIR_AUTO_FREE char *name = trainer_export_shard_name(export, i);
        weir_buf_append_text(&index, i == 0 ? "{" : ", {");
        append_config(export, &index);
        weir_buf_printf(&index,
                        ", \"raw_data\": {\"basename\": \"%s\", \"bytes\": %" PRIu64
                        ", \"hashes\": {}}, \"samples\": %" PRIu64 ", \"zip_data\": null}",
                        name, export->shards[i].bytes, export->shards[i].rows);
    }
    weir_buf_append_text(&index, "], \"version\": 2}\n");
    WEIR_AUTO_FREE char *path = weir_format("%s/index.json", export->folder);
    return weir_file_write_atomic(path, weir_buf_view(&index), err);
}

const struct export_format trainer_export_mds = {
    .name = "mds",
    .add = add,
    .seal = seal,
    .finish = finish,
};
