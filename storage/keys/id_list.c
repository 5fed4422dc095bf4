/* Growing lists of ids or hashes. */
#include "storage/keys/id_list.h"

#include "core/base/memory.h"

#include <stdlib.h>

void storage_id_list_add(struct id_list *ids, uint64_t id)
{
    ids->at = weir_grow(ids->at, ids->count, &ids->capacity, sizeof(*ids->at));
    ids->at[ids->count++] = id;
}

static int by_value(const void *a, const void *b)
{
    const uint64_t *x = a, *y = b;

    return (*x > *y) - (*x < *y);
}

void storage_id_list_sort(struct id_list *ids)
{
    size_t kept = 0;

    if (ids->count == 0)
        return;
    qsort(ids->at, ids->count, sizeof(*ids->at), by_value);
    for (size_t i = 0; i < ids->count; i++) {
        if (kept == 0 || ids->at[kept - 1] != ids->at[i])
            ids->at[kept++] = ids->at[i];
    }
    ids->count = kept;
}

bool storage_id_list_has(const struct id_list *ids, uint64_t id)
{
    return ids->count > 0 && bsearch(&id, ids->at, ids->count, sizeof(*ids->at), by_value) != NULL;
}

void storage_id_list_pack(const struct id_list *ids, struct weir_buf *out)
{
    for (size_t i = 0; i < ids->count; i++)
        weir_buf_append_u64(out, ids->at[i]);
}

void storage_id_list_unpack(struct weir_bytes packed, struct id_list *ids)
{
    ids->count = 0;
    for (size_t at = 0; at + 8 <= packed.size; at += 8)
        storage_id_list_add(ids, weir_get_u64(packed.at + at));
}
