/* Places of samples: see drop_claims.h. */
#include "storage/erasure/drop_claims.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

static uint64_t place_of(uint64_t id)
{
    return (uint64_t)weir_sample_block(id) << WEIR_ROW_BITS | weir_sample_row(id);
}

void storage_drop_claims_begin(struct drop_claims *claims, const struct stored_file *file)
{
    claims->file = storage_file_number(file);
    claims->next = place_of(file->first_id);
    claims->last = place_of(file->last_id);
    claims->is_through = file->samples == 0;
    if (file->last_id == 0) { /* registered before spans were kept */
        claims->next = 0;
        claims->last = UINT64_MAX;
    }
}

void storage_drop_claims_fini(struct drop_claims *claims)
{
    free(claims->at);
    *claims = (struct drop_claims){0};
}

static void add(struct drop_claims *claims, struct drop_claim claim)
{
    claims->is_unordered = claims->is_unordered || claim.offset < claims->behind;
    claims->behind = claim.offset + 1;
    claims->at = weir_grow(claims->at, claims->count, &claims->capacity, sizeof(*claims->at));
    claims->at[claims->count++] = claim;
}

static void add_chunk(struct drop_claims *claims, const struct chunk *chunk)
{
    uint64_t first = (uint64_t)chunk->block << WEIR_ROW_BITS | chunk->first_row;
    uint32_t from = claims->next > first ? (uint32_t)(claims->next - first) : 0;

    for (uint32_t i = from; i < chunk->count; i++) {
        if ((uint64_t)weir_column_at(&chunk->files, i) == claims->file)
            add(claims,
                (struct drop_claim){.offset = (uint64_t)weir_column_at(&chunk->offsets, i),
                                    .is_erased = storage_dataset_is_erased(
                                        claims->dataset, chunk->block, chunk->first_row + i)});
    }
    claims->next = first + chunk->count;
    claims->is_through = claims->next > claims->last;
}

static void forget_passed(struct drop_claims *claims)
{
    claims->count -= claims->head;
    if (claims->count > 0)
        memmove(claims->at, claims->at + claims->head, claims->count * sizeof(*claims->at));
    claims->head = 0;
}

enum weir_status storage_drop_claims_fill(struct drop_claims *claims, uint64_t upto, bool *ret_full,
                                          struct weir_error *err)
{
    const struct dataset *dataset = claims->dataset;
    const struct chunk *chunk;
    size_t index;
    enum weir_status status;

    *ret_full = claims->is_through ||
                (claims->count > claims->head && claims->at[claims->count - 1].offset >= upto);
    if (*ret_full)
        return WEIR_OK;
    forget_passed(claims);
    index = storage_dataset_chunk_from(dataset, claims->next);
    if (index == dataset->chunk_count) {
        claims->is_through = true;
        return WEIR_OK;
    }
    status = storage_chunk_cache_get(claims->cache, claims->db, dataset, &dataset->chunks[index],
                                     &chunk, err);
    if (status == WEIR_OK)
        add_chunk(claims, chunk);
    return status;
}

bool storage_drop_claims_pass(struct drop_claims *claims, uint64_t upto)
{
    bool is_erased = true;

    for (; claims->head < claims->count && claims->at[claims->head].offset < upto; claims->head++)
        is_erased = is_erased && claims->at[claims->head].is_erased;
    return is_erased;
}

bool storage_drop_claims_take(struct drop_claims *claims, uint64_t offset)
{
    bool is_there = claims->head < claims->count && claims->at[claims->head].offset == offset;

    claims->head += is_there;
    return is_there;
}
