/* Lines of text: see digest_list.h. */
#include "trainer_client/digest_list.h"

#include "core/base/file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* True when the line, which ends where the next one begins, is whole and its batch is in the position. */
static bool is_kept(struct weir_bytes line, const struct weir_position *position)
{
    char text[64] = {0};
    uint64_t epoch = 0, number = 0;

    if (line.size >= sizeof(text) || line.at[line.size - 1] != '\n')
        return false;
    memcpy(text, line.at, line.size);
    return sscanf(text, "%" SCNu64 " %" SCNu64, &epoch, &number) == 2 &&
           weir_position_consumed(position, number);
}

static void keep_lines(struct weir_bytes all, const struct weir_position *position,
                       struct weir_buf *kept)
{
    while (all.size > 0) {
        const uint8_t *end = memchr(all.at, '\n', all.size);
        size_t size = end != NULL ? (size_t)(end - all.at) + 1 : all.size;
        if (is_kept(weir_bytes(all.at, size), position))
            weir_buf_append(kept, all.at, size);
        all = weir_bytes(all.at + size, all.size - size);
    }
}

enum weir_status trainer_digest_list_open(struct digest_list *list, const char *path,
                                          const struct weir_position *position,
                                          struct weir_error *err)
{
    WEIR_AUTO_BUF kept = {0};
    void *at = NULL;
    size_t size = 0;
    enum weir_status status = weir_file_map(path, &at, &size, err);

    if (status == WEIR_OK)
        keep_lines(weir_bytes(at, size), position, &kept);
    weir_file_unmap(at, size);
    if (status == WEIR_OK || status == WEIR_NOT_FOUND)
        status = weir_file_write_unsynced(path, weir_buf_view(&kept), err);
    if (status != WEIR_OK)
        return status;
    list->file = fopen(path, "ae");
    return list->file != NULL ? WEIR_OK : weir_fail(err, WEIR_IO, "%s: %s", path, strerror(errno));
}

void trainer_digest_list_add(struct digest_list *list, const struct weir_batch *batch)
{
    if (list->file != NULL)
        (void)fprintf(list->file, "%" PRIu64 " %" PRIu64 " %s\n", batch->epoch, batch->number,
                      batch->digest);
}

enum weir_status trainer_digest_list_flush(struct digest_list *list, struct weir_error *err)
{
    if (list->file != NULL && (fflush(list->file) != 0 || ferror(list->file)))
        return weir_fail(err, WEIR_LIMIT, "the list of digests cannot be written: %s",
                         strerror(errno));
    return WEIR_OK;
}

void trainer_digest_list_close(struct digest_list *list)
{
    if (list->file != NULL)
        (void)fclose(list->file);
    list->file = NULL;
}
