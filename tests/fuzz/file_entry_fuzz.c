/* Files of a group, entry after entry, each in terms of the one before it: whatever is read can be written and read
 * again. */
#include "core/base/memory.h"
#include "core/base/require.h"
#include "storage/catalog/file_entry.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_again(const struct stored_file *before, const struct stored_file *file)
{
    WEIR_AUTO_BUF packed = {0}, again = {0};
    struct stored_file other = {0};
    storage_file_pack(before, file, &packed);
    weir_require(storage_file_unpack(before, weir_buf_view(&packed), &other) == packed.size);
    storage_file_pack(before, &other, &again);
    weir_require(weir_bytes_equal(weir_buf_view(&packed), weir_buf_view(&again)));
    weir_require((file->path == NULL) == (other.path == NULL) && file->size == other.size);
    weir_require(file->path == NULL || strcmp(file->path, other.path) == 0);
    free(other.path);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct weir_bytes left = weir_bytes(data, size);
    struct stored_file before = {0}, file = {0};
    bool has_before = false;
    size_t used;
    while ((used = storage_file_unpack(has_before ? &before : NULL, left, &file)) > 0) {
        weir_require(used <= left.size);
        check_again(has_before ? &before : NULL, &file);
        left = weir_bytes(left.at + used, left.size - used);
        free(before.path);
        before = file;
        has_before = true;
        file = (struct stored_file){0};
    }
    free(before.path);
    return 0;
}
