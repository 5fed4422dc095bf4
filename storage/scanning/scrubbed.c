/* Scrubbed files that were changed since: see scrubbed.h. */
#include "storage/scanning/scrubbed.h"

#include "core/base/file.h"
#include "storage/files/extent.h"
#include "storage/files/source.h"

enum { LOOKS_MAX = 4096 }; /* some 10 ms */

bool storage_scrubbed_is_changed(const struct stored_file *file, const struct stat *found)
{
    return file->scrubbed_ns != 0 && file->scrubbed_ns != weir_ctime_ns(found);
}

struct look {
    const struct dataset *dataset;
    const struct scan_tools *tools;
    const struct stored_file *file;
    int64_t number; /* of the file */
    int fd;
    struct weir_buf head, content;
    size_t looks;
    bool is_back;
};

static bool is_over(const struct look *look)
{
    return look->is_back || look->looks > LOOKS_MAX;
}

/* A file that became shorter does not hold it. */
static void look_at(struct look *look, struct format_range payload)
{
    struct weir_error err;

    look->looks++;
    look->is_back =
        storage_range_read(look->fd, payload, &look->content, &err) == WEIR_OK &&
        storage_guard_blocked(&look->tools->store->secret, look->dataset, look->file->path,
                              weir_buf_view(&look->head), weir_buf_view(&look->content));
}

static void look_into(struct look *look, const struct chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->count && !is_over(look); i++) {
        if (storage_dataset_is_erased(look->dataset, chunk->block, chunk->first_row + i) &&
            weir_column_at(&chunk->files, i) == look->number)
            look_at(look, (struct format_range){(uint64_t)weir_column_at(&chunk->offsets, i),
                                                (uint64_t)weir_column_at(&chunk->lengths, i)});
    }
}

static enum weir_status look_into_all(struct look *look, struct weir_error *err)
{
    struct chunk_span span = storage_dataset_chunks_of(look->dataset, look->file);
    enum weir_status status = WEIR_OK;

    for (size_t i = span.first; status == WEIR_OK && i < span.end && !is_over(look); i++) {
        const struct chunk *chunk;

        status = storage_chunk_cache_get(look->tools->store->cache, look->tools->store->db,
                                         look->dataset, &look->dataset->chunks[i], &chunk, err);
        if (status == WEIR_OK)
            look_into(look, chunk);
    }
    return status;
}

enum weir_status storage_scrubbed_look(const struct dataset *dataset,
                                       const struct scan_tools *tools,
                                       const struct stored_file *file, const struct stat *found,
                                       enum scrubbed *ret_scrubbed, struct weir_error *err)
{
    WEIR_AUTO_FD int fd = -1;
    struct look look = {.dataset = dataset,
                        .tools = tools,
                        .file = file,
                        .number = (int64_t)storage_file_number(file)};
    enum weir_status status = storage_source_open(dataset, file->path, found, &fd, err);

    if (status != WEIR_OK)
        return status;
    look.fd = fd;
    status = storage_head_read(dataset->declaration->format, fd, (uint64_t)found->st_size,
                               &look.head, err);
    if (status == WEIR_OK)
        status = look_into_all(&look, err);
    *ret_scrubbed = look.is_back             ? SCRUBBED_BACK
                    : look.looks > LOOKS_MAX ? SCRUBBED_MANY
                                             : SCRUBBED_STILL;
    weir_buf_fini(&look.head);
    weir_buf_fini(&look.content);
    return status;
}
