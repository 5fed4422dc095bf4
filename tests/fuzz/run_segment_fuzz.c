/* Segments of sorted runs: no bytes crash the decoder, and what it accepts is packed to the same entries. */
#include "storage/keys/sorted_run_segment.h"

#include <stddef.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sorted_run_entry entries[SORTED_RUN_SEGMENT_ENTRIES], again[SORTED_RUN_SEGMENT_ENTRIES];
    WEIR_AUTO_BUF packed = {0};
    struct weir_error err;
    size_t count, count_again = 0;

    if (storage_sorted_run_segment_unpack(weir_bytes(data, size), entries, &count, &err) != WEIR_OK)
        return 0;
    (void)storage_sorted_run_segment_pack(entries, count, &packed);
    weir_require(storage_sorted_run_segment_unpack(weir_buf_view(&packed), again, &count_again,
                                                   &err) == WEIR_OK);
    weir_require(count == count_again && memcmp(entries, again, count * sizeof(*entries)) == 0);
    return 0;
}
