/* Sources compressed with zstd, as a scan expands them: piece by piece, within what the file may hold. */
#include "storage/files/expand.h"
#include "tests/fuzz/mapped_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mapped_file file;
    struct expansion *expansion = NULL;
    struct weir_bytes piece = {0};
    struct weir_error err;
    uint64_t total = 0, most = EXPAND_FREE_BYTES + (uint64_t)size * EXPAND_RATIO_MAX;

    mapped_file_make(&file, weir_bytes(data, size));
    enum weir_status status = storage_expansion_begin(file.fd, size, &expansion, &err);
    while (status == WEIR_OK && (total == 0 || piece.size > 0)) {
        status = storage_expansion_next(expansion, &piece, &err);
        if (status != WEIR_OK || piece.size == 0)
            break;
        total += piece.size;
        weir_require(total <= most);
    }
    storage_expansion_free(expansion);
    mapped_file_remove(&file);
    return 0;
}
