/* Batches to rows of cells, and the folder around the shards. */
#include "trainer_client/exports/export.h"

#include "core/base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns ---- */

const struct export_type *trainer_export_type(enum weir_tensor_type type)
{
    static const struct export_type TYPES[] = {
        [WEIR_TENSOR_U8] = {"uint8", "|u1", 1},    [WEIR_TENSOR_I32] = {"int32", "<i4", 4},
        [WEIR_TENSOR_I64] = {"int64", "<i8", 8},   [WEIR_TENSOR_F32] = {"float32", "<f4", 4},
        [WEIR_TENSOR_F64] = {"float64", "<f8", 8}, [WEIR_TENSOR_U32] = {"uint32", "<u4", 4},
    };
    return &TYPES[type];
}

size_t trainer_export_stride(const struct export_column *column)
{
    size_t bytes = trainer_export_type(column->type)->bytes;

    for (uint32_t i = column->is_ragged ? 1 : 0; i < column->rank; i++)
        bytes *= column->shape[i];
    return bytes;
}

/* Ids, labels and weights as tensors, then the tensors. */
static size_t tensors_of(const struct weir_batch *batch,
                         struct weir_tensor ret_tensors[EXPORT_COLUMNS_MAX])
{
    const uint64_t samples = batch->samples;
    struct weir_tensor label = {.name = "label",
                                .type = WEIR_TENSOR_I64,
                                .rank = 1,
                                .shape = {samples},
                                .data = batch->labels};

    if (batch->label_type == WEIR_LABELS_FLOAT) /* the bits of one */
        label.type = WEIR_TENSOR_F64;
    if (batch->label_type == WEIR_LABELS_VALUES)
        label = (struct weir_tensor){.name = "label",
                                     .type = WEIR_TENSOR_F32,
                                     .rank = 2,
                                     .shape = {samples, batch->label_width},
                                     .data = batch->label_values};
    ret_tensors[EXPORT_ID] = (struct weir_tensor){
        .name = "id", .type = WEIR_TENSOR_I64, .rank = 1, .shape = {samples}, .data = batch->ids};
    ret_tensors[EXPORT_LABEL] = label;
    ret_tensors[EXPORT_WEIGHT] = (struct weir_tensor){.name = "weight",
                                                      .type = WEIR_TENSOR_F32,
                                                      .rank = 1,
                                                      .shape = {samples},
                                                      .data = batch->weights};
    size_t count = EXPORT_TENSORS;
    for (size_t i = 0; i < batch->tensor_count && count < EXPORT_COLUMNS_MAX; i++)
        ret_tensors[count++] = batch->tensors[i];
    return count;
}

static struct export_column column_of(const struct weir_tensor *tensor)
{
    struct export_column column = {.type = tensor->type, .is_ragged = tensor->offsets != NULL};

    (void)snprintf(column.name, sizeof(column.name), "%s", tensor->name);
    column.rank = tensor->rank - (column.is_ragged ? 0 : 1);
    for (uint32_t i = column.is_ragged ? 1 : 0; i < column.rank; i++)
        column.shape[i] = tensor->shape[i + (column.is_ragged ? 0 : 1)];
    return column;
}

/* Names become names of files, of members of archives, and texts in JSON. */
static bool is_plain(const char *name)
{
    static const char LETTERS[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";

    return name[0] != '\0' && strlen(name) <= EXPORT_NAME_MAX &&
           name[strspn(name, LETTERS)] == '\0';
}

static enum weir_status check_name(const struct export *export, const char *name,
                                   struct weir_error *err)
{
    if (!is_plain(name))
        return weir_fail(err, WEIR_INVALID,
                         "tensor '%.80s': an export needs a name of 1 to %d letters, digits and _: "
                         "give it another one (as: NAME)",
                         name, EXPORT_NAME_MAX);
    for (size_t i = 0; i < export->column_count; i++)
        if (strcmp(export->columns[i].name, name) == 0)
            return weir_fail(err, WEIR_INVALID,
                             "tensor '%s': an export has a column of that name already: give the "
                             "tensor another one (as: NAME)",
                             name);
    return WEIR_OK;
}

static enum weir_status begin(struct export *export, const struct weir_batch *batch,
                              const struct weir_tensor *tensors, size_t count,
                              struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    if (batch->tensor_count > EXPORT_COLUMNS_MAX - EXPORT_TENSORS)
        return weir_fail(err, WEIR_LIMIT, "found %zu tensors, an export has at most %d",
                         batch->tensor_count, EXPORT_COLUMNS_MAX - EXPORT_TENSORS);
    for (size_t i = 0; i < count && status == WEIR_OK; i++) {
        status = check_name(export, tensors[i].name, err);
        export->columns[i] = column_of(&tensors[i]);
        export->column_count += status == WEIR_OK;
    }
    return status;
}

static enum weir_status check_same(const struct export *export, const struct weir_tensor *tensors,
                                   size_t count, struct weir_error *err)
{
    bool same = count == export->column_count;

    for (size_t i = 0; i < count && same; i++) {
        const struct export_column found = column_of(&tensors[i]), *known = &export->columns[i];
        same = strcmp(found.name, known->name) == 0 && found.type == known->type &&
               found.is_ragged == known->is_ragged && found.rank == known->rank &&
               memcmp(found.shape, known->shape, sizeof(found.shape)) == 0;
        if (!same)
            return weir_fail(
                err, WEIR_UNSUPPORTED,
                "tensor '%.80s': its shape differs from batch to batch, which an "
                "export has no place for: make it one (truncate, pad, or a ragged one)",
                found.name);
    }
    return same ? WEIR_OK
                : weir_fail(err, WEIR_INTERNAL, "found %zu tensors, the first batch had %zu", count,
                            export->column_count);
}

/* ---- rows ---- */

static struct export_cell cell_of(const struct export_column *column,
                                  const struct weir_tensor *tensor, size_t row)
{
    size_t stride = trainer_export_stride(column);
    uint64_t first = tensor->offsets != NULL ? tensor->offsets[row] : row;
    uint64_t length = tensor->offsets != NULL ? tensor->offsets[row + 1] - first : 1;

    return (struct export_cell){.at = (const uint8_t *)tensor->data + first * stride,
                                .bytes = (size_t)length * stride,
                                .length = length};
}

enum weir_status trainer_export_add(struct export *export, const struct weir_batch *batch,
                                    struct weir_error *err)
{
    struct weir_tensor tensors[EXPORT_COLUMNS_MAX];
    struct export_cell cells[EXPORT_COLUMNS_MAX];
    size_t count = tensors_of(batch, tensors);
    enum weir_status status = export->column_count == 0 ? begin(export, batch, tensors, count, err)
                                                        : check_same(export, tensors, count, err);

    for (size_t row = 0; row < batch->samples && status == WEIR_OK; row++) {
        for (size_t i = 0; i < count; i++)
            cells[i] = cell_of(&export->columns[i], &tensors[i], row);
        export->format->add(export, cells);
        export->pending_rows++;
    }
    return status;
}

bool trainer_export_is_full(const struct export *export)
{
    size_t bytes = export->pending.size;

    for (size_t i = 0; i < export->column_count; i++)
        bytes += export->values[i].size + export->lengths[i].size;
    return bytes >= export->shard_bytes;
}

static void clear_pending(struct export *export)
{
    export->pending_rows = 0;
    weir_buf_clear(&export->pending);
    weir_buf_clear(&export->ends);
    for (size_t i = 0; i < EXPORT_COLUMNS_MAX; i++) {
        weir_buf_clear(&export->values[i]);
        weir_buf_clear(&export->lengths[i]);
    }
}

enum weir_status trainer_export_seal(struct export *export, struct weir_error *err)
{
    if (export->pending_rows == 0)
        return WEIR_OK;
    enum weir_status status = export->format->seal(export, err);
    if (status != WEIR_OK)
        return status;
    export->rows += export->pending_rows;
    clear_pending(export);
    return WEIR_OK;
}

/* ---- the folder ---- */

enum weir_status trainer_export_finish(struct export *export, struct weir_error *err)
{
    return export->format->finish != NULL ? export->format->finish(export, err) : WEIR_OK;
}

void trainer_export_fini(struct export *export)
{
    free(export->shards);
    weir_buf_fini(&export->pending);
    weir_buf_fini(&export->ends);
    weir_buf_fini(&export->row);
    weir_buf_fini(&export->part);
    for (size_t i = 0; i < EXPORT_COLUMNS_MAX; i++) {
        weir_buf_fini(&export->values[i]);
        weir_buf_fini(&export->lengths[i]);
    }
}
