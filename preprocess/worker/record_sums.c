/* Checksums of records: see record_sums.h. */
#include "preprocess/worker/record_sums.h"

#include "core/base/crc32c.h"
#include "core/base/memory.h"
#include "core/base/rng.h"

#include <stdlib.h>

void preprocess_record_sums_fini(struct record_sums *sums)
{
    weir_index_fini(&sums->by_id);
    free(sums->at);
    *sums = (struct record_sums){0};
}

static struct record_sum *find(const struct record_sums *sums, uint64_t id)
{
    struct weir_index_search search = weir_index_search(&sums->by_id, weir_mix64(id));
    uint32_t at;
    while (weir_index_next(&search, &at)) {
        if (sums->at[at].id == id)
            return &sums->at[at];
    }
    return NULL;
}

void preprocess_record_sums_put(struct record_sums *sums, uint64_t id, uint32_t crc)
{
    struct record_sum *known = find(sums, id);
    if (known != NULL) {
        known->crc = crc;
        return;
    }
    if (sums->count == RECORD_SUMS_MAX)
        preprocess_record_sums_fini(sums);
    sums->at = weir_grow(sums->at, sums->count, &sums->capacity, sizeof(*sums->at));
    weir_index_add(&sums->by_id, weir_mix64(id), (uint32_t)sums->count);
    sums->at[sums->count++] = (struct record_sum){id, crc};
}

bool preprocess_record_sums_has(const struct record_sums *sums, uint64_t id)
{
    return find(sums, id) != NULL;
}

bool preprocess_record_sums_agree(const struct record_sums *sums, uint64_t id,
                                  struct weir_bytes bytes)
{
    const struct record_sum *known = find(sums, id);
    return known != NULL && known->crc == weir_crc32c(bytes);
}

enum weir_status preprocess_record_sums_check(const struct record_sums *sums, struct files *files,
                                              const struct file_range *range, uint64_t id,
                                              struct weir_buf *out, struct weir_error *err)
{
    struct weir_bytes bytes = weir_bytes(out->at + out->size - range->length, range->length);
    if (!preprocess_files_is_elsewhere(files, range->file) ||
        preprocess_record_sums_agree(sums, id, bytes))
        return WEIR_OK;
    if (preprocess_record_sums_has(sums, id))
        preprocess_files_distrust(files, range->file);
    out->size -= range->length;
    return weir_fail(err, WEIR_STALE, "%s: sample %lu is not what storage has there",
                     range->file->path, id);
}
