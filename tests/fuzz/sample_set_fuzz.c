/* Sample set files. An odd first byte asks for right checksums, so that what lies after them is
 * reached. */
#include "core/wire/sample_set.h"
#include "tests/fuzz/mapped_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void repair(struct weir_buf *file)
{
    WEIR_AUTO(weir_hasher) hasher = weir_hasher_new();
    uint32_t flags = weir_get_u32(file->at + 16);
    size_t body = file->size - MAPPED_HEADER_BYTES;
    const struct weir_epoch_parts parts = {
        .count = weir_get_u32(file->at + WEIR_SET_PARTS_AT),
        .samples = weir_get_u64(file->at + WEIR_SET_PART_SAMPLES_AT),
    };
    size_t tail = flags & WEIR_SET_PARTS ? weir_epoch_parts_bytes(&parts) : 0;
    tail = tail < body ? tail : body;
    uint8_t head[12];
    memcpy(head, file->at + 8, sizeof(head));
    weir_put_u32(head + 8, flags & ~(uint32_t)WEIR_SET_PARTS);
    weir_hasher_add(hasher, head, sizeof(head));
    weir_hasher_add(hasher, file->at + MAPPED_HEADER_BYTES, body - tail);
    if (flags & WEIR_SET_PARTS) {
        weir_hasher_add(hasher, file->at + WEIR_SET_PARTS_AT, sizeof(parts.count));
        weir_hasher_add(hasher, file->at + WEIR_SET_PART_SAMPLES_AT, sizeof(parts.samples));
    }
    weir_hasher_add(hasher, file->at + file->size - tail, tail);
    mapped_file_repair(file, "WEIRSET1", weir_hasher_digest(hasher));
}

static void check(const struct weir_sample_set *set)
{
    float sum = 0;
    for (size_t i = 0; i < set->count; i++) {
        weir_require(weir_sample_set_find(set, set->ids[i]) == (int64_t)i);
        sum += set->weights != NULL ? set->weights[i] : 1;
    }
    for (size_t i = 0; i < set->parts.count * set->parts.samples; i++)
        weir_require(set->parts.indices[i] < set->count);
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
