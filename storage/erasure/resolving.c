/* The look-up of an erasure's samples: see resolving.h. */
#include "storage/erasure/resolving.h"

#include "core/base/bisect.h"
#include "core/base/clock.h"
#include "core/base/memory.h"
#include "storage/keys/key_store.h"

#include <stdlib.h>

enum { WANTED_PER_STEP = 65536 };

/* ---- hashes ---- */

static int by_hash(const void *a, const void *b)
{
    const struct requested_hash *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->request > y->request) - (x->request < y->request);
}

static void add_hashes(struct requested_hashes *asked, const struct id_list *hashes,
                       uint32_t request)
{
    if (hashes->count == 0)
        return;
    for (size_t i = 0; i < hashes->count; i++)
        asked->at[asked->count++] = (struct requested_hash){hashes->at[i], request};
}

static void sort_hashes(struct requested_hashes *asked)
{
    if (asked->count > 0)
        qsort(asked->at, asked->count, sizeof(*asked->at), by_hash);
    for (size_t i = 0; i < asked->count; i++) {
        if (i == 0 || asked->at[i - 1].hash != asked->at[i].hash)
            storage_id_list_add(&asked->hashes, asked->at[i].hash);
    }
}

void storage_lookup_init(struct lookup *lookup, const struct erasure_record *erasure)
{
    size_t subjects = 0, keys = 0;

    *lookup = (struct lookup){0};
    for (size_t i = 0; i < erasure->count; i++) {
        subjects += erasure->requests[i]->subjects.count;
        keys += erasure->requests[i]->keys.count;
    }
    lookup->subjects.at = weir_calloc(subjects + 1, sizeof(*lookup->subjects.at));
    lookup->keys.at = weir_calloc(keys + 1, sizeof(*lookup->keys.at));
    for (size_t i = 0; i < erasure->count; i++) {
        add_hashes(&lookup->subjects, &erasure->requests[i]->subjects, (uint32_t)i);
        add_hashes(&lookup->keys, &erasure->requests[i]->keys, (uint32_t)i);
    }
    sort_hashes(&lookup->subjects);
    sort_hashes(&lookup->keys);
}

static void drop_hashes(struct requested_hashes *asked)
{
    free(asked->at);
    free(asked->hashes.at);
    *asked = (struct requested_hashes){0};
}

void storage_lookup_fini(struct lookup *lookup)
{
    drop_hashes(&lookup->subjects);
    drop_hashes(&lookup->keys);
    storage_key_walk_fini(&lookup->walk);
    storage_candidates_fini(&lookup->found);
}

/* ---- candidates ---- */

static void add(const struct store *store, const struct erasure_record *erasure,
                struct lookup *lookup, uint64_t id, uint32_t request)
{
    const struct dataset *dataset = storage_catalog_at(store->catalog, weir_sample_dataset(id));
    uint32_t block = weir_sample_block(id), row = weir_sample_row(id);
    uint32_t asked = erasure->requests[request]->dataset;

    if (dataset != NULL && (asked == 0 || asked == dataset->number) &&
        storage_dataset_chunk(dataset, block, row) != NULL &&
        !storage_dataset_is_erased(dataset, block, row))
        storage_candidates_add(&lookup->found, id, request);
}

/* False when there are no more of them. */
static bool add_wanted(const struct store *store, const struct erasure_record *erasure,
                       struct lookup *lookup)
{
    for (size_t i = 0; i < WANTED_PER_STEP; i++) {
        const struct id_list *wanted;

        if (lookup->request == erasure->count)
            return false;
        wanted = &erasure->requests[lookup->request]->wanted;
        if (lookup->wanted < wanted->count) {
            add(store, erasure, lookup, wanted->at[lookup->wanted++], (uint32_t)lookup->request);
        } else {
            lookup->request++;
            lookup->wanted = 0;
        }
    }
    return true;
}

static size_t first_of(const struct requested_hashes *asked, uint64_t hash)
{
    size_t low = 0, high = asked->count;

    WEIR_BISECT(low, high, middle, asked->at[middle].hash < hash);
    return low;
}

static void add_hits(const struct store *store, const struct erasure_record *erasure,
                     struct lookup *lookup, const struct requested_hashes *asked,
                     const struct key_hits *hits)
{
    const struct dataset *dataset = store->catalog->datasets[lookup->dataset];
    size_t first = 0;

    for (size_t i = 0; i < hits->count; i++) {
        uint64_t hash = hits->at[i].hash, id = storage_dataset_id(dataset, hits->at[i].id);

        if (i == 0 || hits->at[i - 1].hash != hash)
            first = first_of(asked, hash);
        for (size_t a = first; a < asked->count && asked->at[a].hash == hash; a++)
            add(store, erasure, lookup, id, asked->at[a].request);
    }
}

/* The next segments of one index of one dataset. */
static enum weir_status look_up_some(struct store *store, const struct erasure_record *erasure,
                                     struct lookup *lookup, struct weir_error *err)
{
    const struct dataset *dataset = store->catalog->datasets[lookup->dataset];
    const struct requested_hashes *asked = lookup->kind == 0 ? &lookup->subjects : &lookup->keys;
    struct key_reader reader = {.db = store->db};
    const struct key_source source = storage_key_reader_source(&reader);
    struct key_hits hits = {0};
    bool is_through = false;
    enum weir_status status;

    lookup->walk.hashes = asked->hashes.at;
    lookup->walk.hash_count = asked->hashes.count;
    status = storage_key_index_walk(lookup->kind == 0 ? &dataset->subjects : &dataset->keys,
                                    &lookup->walk, &source, &hits, &is_through, err);
    if (status == WEIR_OK)
        add_hits(store, erasure, lookup, asked, &hits);
    storage_key_reader_fini(&reader);
    free(hits.at);
    if (!is_through)
        return status;
    storage_key_walk_fini(&lookup->walk);
    lookup->dataset += lookup->kind == 1;
    lookup->kind = 1 - lookup->kind;
    return status;
}

enum weir_status storage_lookup_step(struct store *store, const struct erasure_record *erasure,
                                     struct lookup *lookup, bool *ret_done, struct weir_error *err)
{
    int64_t until_ms = weir_now_ms() + ERASE_STEP_MS;
    enum weir_status status = WEIR_OK;

    *ret_done = false;
    if (add_wanted(store, erasure, lookup))
        return WEIR_OK;
    do {
        *ret_done = lookup->dataset == store->catalog->count;
        if (!*ret_done)
            status = look_up_some(store, erasure, lookup, err);
    } while (status == WEIR_OK && !*ret_done && weir_now_ms() < until_ms);
    return status;
}
