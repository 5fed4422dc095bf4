/* Labels by key: see late_labels.h. */
#include "storage/intake/late_labels.h"

#include "core/base/index.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "storage/keys/key_store.h"
#include "storage/records/key_identify.h"

#include <stdlib.h>

enum { SAMPLES_AT_ONCE = 64 }; /* read before others are answered */

static uint32_t block_of(uint64_t place)
{
    return (uint32_t)(place >> WEIR_ROW_BITS);
}

static uint32_t row_of(uint64_t place)
{
    return (uint32_t)place & (WEIR_BLOCK_ROWS - 1);
}

/* Every entry of the batch's keys in `index`, by hash, then by place. */
static enum weir_status look_up(struct batch *batch, struct weir_db *db,
                                const struct key_index *index, struct key_hits *hits,
                                struct weir_error *err)
{
    WEIR_AUTO_FREE uint64_t *hashes = weir_calloc(batch->keys.count + 1, sizeof(*hashes));
    size_t count = 0;
    enum weir_status status;

    if (batch->keys.count > 0)
        storage_key_store_sort(db, batch->keys.at, batch->keys.count);
    for (size_t i = 0; i < batch->keys.count; i++) {
        if (count == 0 || hashes[count - 1] != batch->keys.at[i].hash)
            hashes[count++] = batch->keys.at[i].hash;
    }
    status =
        storage_key_store_find(db, index, &(struct id_list){hashes, count, 0}, SIZE_MAX, hits, err);
    if (hits->count > 0)
        storage_key_store_sort(db, hits->at, hits->count);
    return status;
}

struct place {
    const struct chunk *chunk;
    uint32_t i; /* in it */
};

static enum weir_status open_place(struct weir_db *db, struct chunk_cache *cache,
                                   const struct dataset *dataset, uint64_t place,
                                   struct place *ret_place, struct weir_error *err)
{
    const struct chunk_ref *ref = storage_dataset_chunk(dataset, block_of(place), row_of(place));

    if (ref == NULL)
        return weir_fail(err, WEIR_CORRUPT, "dataset '%s': no chunk holds a sample of its keys",
                         dataset->name);
    ret_place->i = row_of(place) - ref->first_row;
    return storage_chunk_cache_get(cache, db, dataset, ref, &ret_place->chunk, err);
}

/* ---- labels that were there before their samples ---- */

/* The newest live row of each hash: hits ascend. */
static size_t newest_live(const struct dataset *updates, struct key_hits *hits)
{
    size_t kept = 0;

    for (size_t i = 0; i < hits->count; i++) {
        if (storage_dataset_is_dead(updates, block_of(hits->at[i].id), row_of(hits->at[i].id)))
            continue;
        if (kept > 0 && hits->at[kept - 1].hash == hits->at[i].hash)
            kept--;
        hits->at[kept++] = hits->at[i];
    }
    return kept;
}

enum weir_status storage_late_labels_fill(struct batch *batch, struct weir_db *db,
                                          struct chunk_cache *cache, uint64_t first_row,
                                          struct id_list *waiting, struct weir_error *err)
{
    const struct dataset *updates = batch->dataset->updated_by;
    struct key_hits hits = {0};
    size_t count = 0, at = 0;
    enum weir_status status =
        updates != NULL ? look_up(batch, db, &updates->keys, &hits, err) : WEIR_OK;

    if (status == WEIR_OK && updates != NULL)
        count = newest_live(updates, &hits);
    for (size_t i = 0; status == WEIR_OK && i < batch->keys.count; i++) {
        const struct sorted_run_entry *key = &batch->keys.at[i];
        struct place place;

        while (at < count && hits.at[at].hash < key->hash)
            at++;
        if (at == count || hits.at[at].hash != key->hash) {
            storage_id_list_add(waiting, first_row + key->id);
            continue;
        }
        status = open_place(db, cache, updates, hits.at[at].id, &place, err);
        if (status == WEIR_OK)
            batch->columns[BATCH_LABEL][key->id] = weir_column_at(&place.chunk->labels, place.i);
    }
    storage_id_list_sort(waiting);
    free(hits.at);
    return status;
}

/* ---- samples that were there before their labels ---- */

struct stager {
    struct weir_db *db;
    struct chunk_cache *cache;
    struct dataset *dataset; /* receiver of the labels */
    struct batch *late;
    struct key_identifier *identifier;
    struct weir_error *err;
};

static uint64_t number_of(const struct place *place)
{
    return (uint64_t)weir_column_at(&place->chunk->files, place->i);
}

/* The sample of the hit, if its bytes are still what the store says. */
static enum weir_status locate(const struct stager *s, uint64_t place, struct located *ret_found,
                               bool *ret_is_there)
{
    const struct dead_rows *dead = storage_dataset_dead(s->dataset, block_of(place));
    struct stored_file *file = NULL;
    struct place at;
    enum weir_status status = open_place(s->db, s->cache, s->dataset, place, &at, s->err);

    if (status == WEIR_OK)
        status = storage_dataset_file(s->dataset, number_of(&at), &file, s->err);
    if (status != WEIR_OK)
        return status;
    *ret_found = (struct located){
        .dataset = s->dataset,
        .file = file,
        .number = number_of(&at),
        .offset = (uint64_t)weir_column_at(&at.chunk->offsets, at.i),
        .length = (uint64_t)weir_column_at(&at.chunk->lengths, at.i),
        .time = weir_column_at(&at.chunk->times, at.i),
    };
    *ret_is_there = !weir_bits_get(&dead->erased, row_of(place)) &&
                    !weir_bits_get(&dead->removed, row_of(place)) && ret_found->file != NULL &&
                    ret_found->file->state == FILE_LIVE;
    return WEIR_OK;
}

/* Under a new id the sample must be found by its subject as before: one whose record cannot be read keeps its id, and
 * the label that it has. Returns true when it gets a new one. */
static bool stage(const struct stager *s, const struct located *found, uint64_t hash, int64_t label)
{
    struct batch_row row = {.time = found->time,
                            .label = label,
                            .offset = found->offset,
                            .length = found->length,
                            .key = hash,
                            .has_key = true};

    if (s->dataset->declaration->has_subject) {
        struct key_identity identity = storage_key_identify(s->identifier, found);

        if (!identity.is_known)
            return false;
        row.has_subject = identity.has_subject;
        row.subject = identity.subject.hash;
    }
    storage_batch_touch(s->late, found->file);
    storage_batch_row(s->late, found->file, &row);
    return true;
}

struct met_bytes {
    uint64_t file; /* by number: its memory may be another file's by then */
    uint64_t offset;
};

/* Bytes that were met under an id: samples of one key may be very many. */
struct met {
    struct met_bytes *at;
    size_t count, capacity;
    struct weir_index index;
};

static void met_fini(struct met *met)
{
    weir_index_fini(&met->index);
    free(met->at);
}

/* Returns false when a newer id of the same bytes was met: hits of one hash are visited from the last. */
static bool meet(struct met *met, const struct located *found)
{
    uint64_t hash = weir_mix64(weir_mix64(found->number) ^ found->offset);
    struct weir_index_search search = weir_index_search(&met->index, hash);
    uint32_t entry;

    while (weir_index_next(&search, &entry)) {
        if (met->at[entry].file == found->number && met->at[entry].offset == found->offset)
            return false;
    }
    met->at = weir_grow(met->at, met->count, &met->capacity, sizeof(*met->at));
    weir_index_add(&met->index, hash, (uint32_t)met->count);
    met->at[met->count++] = (struct met_bytes){found->number, found->offset};
    return true;
}

/* All samples of one key, hits[0 … count). */
static enum weir_status stage_key(const struct stager *s, const struct sorted_run_entry *hits,
                                  size_t count, int64_t label)
{
    struct met met = {0};
    enum weir_status status = WEIR_OK;

    for (size_t i = count; status == WEIR_OK && i-- > 0;) {
        struct located found;
        bool is_there;

        if (i % SAMPLES_AT_ONCE == SAMPLES_AT_ONCE - 1)
            weir_db_go_on_now(s->db);
        status = locate(s, hits[i].id, &found, &is_there);
        if (status != WEIR_OK || !is_there || !meet(&met, &found))
            continue;
        if (stage(s, &found, hits[i].hash, label) &&
            !storage_dataset_is_dead(s->dataset, block_of(hits[i].id), row_of(hits[i].id)))
            storage_id_list_add(&s->late->replaced, hits[i].id);
    }
    met_fini(&met);
    return status;
}

enum weir_status storage_late_labels_stage(struct batch *batch, struct weir_db *db,
                                           struct chunk_cache *cache, uint64_t first_row,
                                           struct batch *late, struct weir_error *err)
{
    const struct stager s = {db, cache, late->dataset, late, batch->identifier, err};
    struct key_hits hits = {0};
    size_t at = 0;
    enum weir_status status = look_up(batch, db, &late->dataset->keys, &hits, err);

    for (size_t i = 0; status == WEIR_OK && i < batch->keys.count; i++) {
        const struct sorted_run_entry *key = &batch->keys.at[i];
        size_t end;

        if (i + 1 < batch->keys.count && key[1].hash == key->hash)
            continue;
        while (at < hits.count && hits.at[at].hash < key->hash)
            at++;
        for (end = at; end < hits.count && hits.at[end].hash == key->hash;)
            end++;
        status =
            stage_key(&s, hits.at + at, end - at, batch->columns[BATCH_LABEL][key->id - first_row]);
        at = end;
    }
    storage_id_list_sort(&late->replaced);
    free(hits.at);
    return status;
}
