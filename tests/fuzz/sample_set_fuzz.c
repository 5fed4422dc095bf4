/* Sample set files. An odd first byte asks for right checksums, so that what lies behind them is
 * reached. */
#include "core/wire/sample_set.h"
#include "tests/fuzz/mapped_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void repair(struct weir_buf *file)
{
    WEIR_AUTO(weir_hasher) hasher = weir_hasher_new();
    weir_hasher_add(hasher, file->at + 8, 12); /* count and flags */
    weir_hasher_add(hasher, file->at + MAPPED_HEADER_BYTES, file->size - MAPPED_HEADER_BYTES);
    mapped_file_repair(file, "WEIRSET1", weir_hasher_digest(hasher));
}

static void check(const struct weir_sample_set *set)
{
    float sum = 0;
    for (size_t i = 0; i < set->count; i++) {
        weir_require(weir_sample_set_find(set, set->ids[i]) == (int64_t)i);
        sum += set->weights != NULL ? set->weights[i] : 1;
    }
    weir_require(sum >= 0 || sum < 0 || sum != sum); /* every weight was read */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct mapped_file file;
    struct weir_sample_set set;
    struct weir_error err;
    WEIR_AUTO_BUF bytes = {0};
    if (size == 0)
        return 0;
    weir_buf_append(&bytes, data + 1, size - 1);
    if (data[0] % 2 == 1 && bytes.size >= MAPPED_HEADER_BYTES)
        repair(&bytes);
    mapped_file_make(&file, weir_buf_view(&bytes));
    if (weir_sample_set_open(file.path, &set, &err) == WEIR_OK) {
        check(&set);
        weir_sample_set_close(&set);
    }
    mapped_file_remove(&file);
    return 0;
}
