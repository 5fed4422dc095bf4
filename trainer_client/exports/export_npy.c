/* Format `npy`: one NumPy array per column over all rows. A dense column is NAME.npy (rows, …); a ragged one is
 * NAME.values.npy (elements, …) and NAME.offsets.npy (rows + 1): row i is values[offsets[i]:offsets[i + 1]].
 *
 * Each grows under NAME.npy.tmp, behind room for its header, and gets its name when its length is known. What lies
 * beyond the rows that the state knows of is written again in its place. */
#include "core/base/file.h"
#include "core/base/full_disk.h"
#include "core/base/memory.h"
#include "trainer_client/exports/export.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { HEAD_BYTES = 512 }; /* 9 dimensions of 20 digits fit in */

/* One array. */
struct array {
    const char *code;
    uint32_t rank;
    uint64_t shape[WEIR_TENSOR_RANK_MAX + 1];
    uint64_t stride; /* bytes along the first dimension */
    char *path;      /* "FOLDER/NAME.npy" */
    bool is_offsets; /* its first element is a 0 that no row has written */
};

static void add(struct export *export, const struct export_cell *cells)
{
    for (size_t i = 0; i < export->column_count; i++) {
        weir_buf_append(&export->values[i], cells[i].at, cells[i].bytes);
        if (export->columns[i].is_ragged)
            weir_buf_append_u64(&export->lengths[i], cells[i].length);
    }
}

/* ---- arrays ---- */

static struct array array_of(const struct export *export, const struct export_column *column)
{
    struct array array = {
        .code = trainer_export_type(column->type)->code,
        .rank = column->rank + (column->is_ragged ? 0 : 1),
        .shape = {column->is_ragged ? column->elements : export->rows},
        .stride = trainer_export_stride(column),
        .path = weir_format("%s/%s%s.npy", export->folder, column->name,
                            column->is_ragged ? ".values" : ""),
    };
    for (uint32_t i = 1; i < array.rank; i++)
        array.shape[i] = column->shape[i - (column->is_ragged ? 0 : 1)];
    return array;
}

static struct array offsets_of(const struct export *export, const struct export_column *column)
{
    return (struct array){
        .code = "<i8",
        .rank = 1,
        .shape = {export->rows + 1},
        .stride = sizeof(int64_t),
        .path = weir_format("%s/%s.offsets.npy", export->folder, column->name),
        .is_offsets = true,
    };
}

static enum weir_status io_error(const char *path, const char *what, struct weir_error *err)
{
    int code = errno;

    return weir_fail(err, weir_disk_is_full(code) ? WEIR_LIMIT : WEIR_IO, "%s: %s: %s%s", path,
                     what, strerror(code), weir_disk_advice(code));
}

static enum weir_status write_at(int fd, const char *path, struct weir_bytes bytes, uint64_t offset,
                                 struct weir_error *err)
{
    if (lseek(fd, (off_t)offset, SEEK_SET) < 0 || !weir_write_all(fd, bytes))
        return io_error(path, "cannot be written", err);
    return WEIR_OK;
}

/* Adds elements behind the first `count` ones, and syncs. */
static enum weir_status append(const struct array *array, uint64_t count, struct weir_bytes bytes,
                               struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s.tmp", array->path);
    WEIR_AUTO_FD int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);

    if (fd < 0)
        return io_error(path, "cannot be opened", err);
    enum weir_status status = write_at(fd, path, bytes, HEAD_BYTES + count * array->stride, err);
    if (status == WEIR_OK && fdatasync(fd) != 0)
        status = io_error(path, "cannot be synced", err);
    return status;
}

/* ---- sealing ---- */

/* The ends of the pending rows, counted over all rows. */
static enum weir_status append_offsets(const struct export *export, size_t column,
                                       uint64_t *ret_elements, struct weir_error *err)
{
    WEIR_AUTO_BUF ends = {0};
    struct array offsets = offsets_of(export, &export->columns[column]);
    uint64_t elements = export->columns[column].elements;

    for (uint64_t row = 0; row < export->pending_rows; row++) {
        elements += weir_get_u64(export->lengths[column].at + row * sizeof(uint64_t));
        weir_buf_append_u64(&ends, elements);
    }
    *ret_elements = elements;
    enum weir_status status = append(&offsets, export->rows + 1, weir_buf_view(&ends), err);
    free(offsets.path);
    return status;
}

static enum weir_status seal(struct export *export, struct weir_error *err)
{
    uint64_t elements[EXPORT_COLUMNS_MAX] = {0};
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < export->column_count && status == WEIR_OK; i++) {
        struct array array = array_of(export, &export->columns[i]);
        status = append(&array, array.shape[0], weir_buf_view(&export->values[i]), err);
        free(array.path);
        if (status == WEIR_OK && export->columns[i].is_ragged)
            status = append_offsets(export, i, &elements[i], err);
    }
    WEIR_AUTO_FREE char *inside = weir_format("%s/.", export->folder);
    if (status == WEIR_OK && export->rows == 0) /* the files are new */
        status = weir_sync_parent(inside, err);
    for (size_t i = 0; i < export->column_count && status == WEIR_OK; i++)
        export->columns[i].elements = elements[i];
    return status;
}

/* ---- finishing ---- */

static enum weir_status close_file(int fd, const char *path, const struct array *array,
                                   struct weir_error *err)
{
    static const uint8_t FIRST_OFFSET[sizeof(int64_t)] = {0};
    WEIR_AUTO_BUF head = {0};

    trainer_npy_head(array->code, array->rank, array->shape, HEAD_BYTES, &head);
    enum weir_status status = write_at(fd, path, weir_buf_view(&head), 0, err);
    if (status == WEIR_OK && array->is_offsets)
        status =
            write_at(fd, path, weir_bytes(FIRST_OFFSET, sizeof(FIRST_OFFSET)), HEAD_BYTES, err);
    if (status == WEIR_OK &&
        (ftruncate(fd, (off_t)(HEAD_BYTES + array->shape[0] * array->stride)) != 0 ||
         fsync(fd) != 0))
        status = io_error(path, "cannot be synced", err);
    return status;
}

/* One that has its name already was closed by a writer that died after it. */
static enum weir_status close_array(struct array array, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = array.path;
    WEIR_AUTO_FREE char *draft = weir_format("%s.tmp", path);
    WEIR_AUTO_FD int fd = open(draft, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);

    if (fd < 0 && errno == ENOENT && access(path, F_OK) == 0)
        return WEIR_OK;
    if (fd < 0)
        return io_error(draft, "cannot be opened", err);
    enum weir_status status = close_file(fd, draft, &array, err);
    if (status == WEIR_OK && rename(draft, path) != 0)
        status = io_error(draft, "cannot be renamed", err);
    return status == WEIR_OK ? weir_sync_parent(path, err) : status;
}

static enum weir_status finish(struct export *export, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; i < export->column_count && status == WEIR_OK; i++) {
        const struct export_column *column = &export->columns[i];
        status = close_array(array_of(export, column), err);
        if (status == WEIR_OK && column->is_ragged)
            status = close_array(offsets_of(export, column), err);
    }
    return status;
}

const struct export_format trainer_export_npy = {
    .name = "npy",
    .add = add,
    .seal = seal,
    .finish = finish,
};
