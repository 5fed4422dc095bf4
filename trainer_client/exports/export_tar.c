/* Format `tar`: shards as WebDataset reads them. The members of a sample share their name up to the first dot, which
 * is the sample's id: KEY.cls is its label where that is a whole number or a class, KEY.NAME.npy any other column. */
#include "core/base/require.h"
#include "core/wire/ustar.h"
#include "trainer_client/exports/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MEMBER_MAX = 100 };

static void append_member(struct weir_buf *out, const char *name, struct weir_bytes head,
                          struct weir_bytes data)
{
    size_t bytes = head.size + data.size;
    size_t padding = (WEIR_TAR_BLOCK - bytes % WEIR_TAR_BLOCK) % WEIR_TAR_BLOCK;

    bool fits = weir_ustar_header(name, bytes, "weir", weir_buf_extend(out, WEIR_TAR_BLOCK));
    weir_require(fits); /* a number, and a column's name */
    weir_buf_append(out, head.at, head.size);
    weir_buf_append(out, data.at, data.size);
    memset(weir_buf_extend(out, padding), 0, padding);
}

static bool is_class(const struct export_column *column, size_t place)
{
    return place == EXPORT_LABEL && column->type == WEIR_TENSOR_I64 && column->rank == 0;
}

static void append_class(struct weir_buf *out, uint64_t id, const struct export_cell *cell)
{
    char name[MEMBER_MAX], text[24];
    int64_t label;

    memcpy(&label, cell->at, sizeof(label));
    (void)snprintf(name, sizeof(name), "%019" PRIu64 ".cls", id);
    int size = snprintf(text, sizeof(text), "%" PRId64, label);
    append_member(out, name, weir_bytes(text, (size_t)size), weir_bytes(NULL, 0));
}

static void append_array(struct export *export, uint64_t id, const struct export_column *column,
                         const struct export_cell *cell)
{
    char name[MEMBER_MAX];
    uint64_t shape[WEIR_TENSOR_RANK_MAX];

    memcpy(shape, column->shape, sizeof(shape));
    if (column->is_ragged)
        shape[0] = cell->length;
    weir_buf_clear(&export->part);
    (void)snprintf(name, sizeof(name), "%019" PRIu64 ".%s.npy", id, column->name);
    trainer_npy_head(trainer_export_type(column->type)->code, column->rank, shape, 0,
                     &export->part);
    append_member(&export->pending, name, weir_buf_view(&export->part),
                  weir_bytes(cell->at, cell->bytes));
}

static void add(struct export *export, const struct export_cell *cells)
{
    uint64_t id = weir_get_u64(cells[EXPORT_ID].at);

    for (size_t i = EXPORT_LABEL; i < export->column_count; i++) {
        if (is_class(&export->columns[i], i))
            append_class(&export->pending, id, &cells[i]);
        else
            append_array(export, id, &export->columns[i], &cells[i]);
    }
}

/* An archive ends with two empty blocks. */
static enum weir_status seal(struct export *export, struct weir_error *err)
{
    memset(weir_buf_extend(&export->pending, (size_t)2 * WEIR_TAR_BLOCK), 0,
           (size_t)2 * WEIR_TAR_BLOCK);
    return trainer_export_write_rows(export, err);
}

const struct export_format trainer_export_tar = {
    .name = "tar",
    .add = add,
    .seal = seal,
};
