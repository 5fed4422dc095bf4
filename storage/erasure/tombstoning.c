/* From accepted to tombstoned: candidates are looked at block by block, those that are meant are put under tombstones
 * page by page. A page is a transaction and an epoch, whosever samples are in it. */
#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/memory.h"
#include "storage/chunks/tombstones.h"
#include "storage/erasure/erasure_steps.h"
#include "storage/erasure/resolving.h"
#include "storage/files/owned.h"
#include "storage/records/key_identify.h"
#include "storage/sql/queries.h"

#include <stdlib.h>

enum {
    BLOCKS_PER_PAGE = 16, /* blocks whose chunks and dead rows one transaction changes */
    HASHES_MAX = 1 << 18, /* beyond, all segments of the sorted runs are looked into */
    PATIENCE_MS = 1000,
};

struct resolving {
    struct lookup lookup;
    bool is_looked_up;
    struct key_identifier *identifier;
    size_t block;       /* of the candidates, being looked at */
    struct id_list ids; /* … its samples, */
    size_t at;          /* the next of them */
    size_t pair;        /* and its candidates */

    struct id_list taken; /* of the next page, ascending */
    struct id_list takers;
    size_t blocks; /* blocks of these samples */
};

void storage_resolving_free(struct resolving *resolving)
{
    if (resolving == NULL)
        return;
    storage_lookup_fini(&resolving->lookup);
    storage_key_identifier_free(resolving->identifier);
    free(resolving->ids.at);
    free(resolving->taken.at);
    free(resolving->takers.at);
    free(resolving);
}

/* ---- by what records say ---- */

/* Places of the samples in the sorted runs, as long as that spares looking everywhere. */
static void note_hashes(struct erasure_record *erasure, const struct key_identity *identity)
{
    if (!identity->is_known || erasure->hashes.count >= HASHES_MAX)
        erasure->is_blind = true;
    if (erasure->is_blind)
        return;
    if (identity->has_subject)
        storage_id_list_add(&erasure->hashes, identity->subject.hash);
    if (identity->has_key)
        storage_id_list_add(&erasure->hashes, identity->key.hash);
}

/* False when a hash of the request led to a file of Weir's own whose record has another one: it is not what was
 * indexed there. */
static bool is_as_indexed(const struct erase_request *request, const struct located *found,
                          uint64_t id, const struct key_identity *identity)
{
    return !storage_owns(found->dataset) || storage_id_list_has(&request->wanted, id) ||
           !storage_key_any_is_named(found->dataset->declaration) ||
           (identity->has_subject &&
            storage_id_list_has(&request->subjects, identity->subject.hash)) ||
           (identity->has_key && storage_id_list_has(&request->keys, identity->key.hash));
}

/* Another's hash may be the same by chance: then the sample stays. One whose record can no longer be read counts as
 * meant. */
static bool is_meant(const struct erase_request *request, uint64_t id,
                     const struct key_identity *identity)
{
    return !identity->is_known || storage_id_list_has(&request->wanted, id) ||
           (identity->has_subject && storage_key_names_have(&request->names, &identity->subject)) ||
           (identity->has_key && storage_key_names_have(&request->names, &identity->key));
}

static enum weir_status check_one(struct store *store, struct erasure_record *erasure,
                                  const struct candidate_block *block, struct weir_error *err)
{
    struct resolving *resolving = erasure->resolving;
    uint64_t id = resolving->ids.at[resolving->at++];
    struct key_identity read;
    struct located found;
    bool is_taken = false;
    enum weir_status status = storage_find(store, id, &found, err);

    if (status != WEIR_OK)
        return status;
    read = storage_key_identify(resolving->identifier, &found);
    for (;
         resolving->pair < block->count && block->at[resolving->pair] >> 16 == weir_sample_row(id);
         resolving->pair++) {
        uint32_t request = block->at[resolving->pair] & (ERASE_REQUESTS_MAX - 1);
        struct key_identity identity = read;

        identity.is_known =
            read.is_known && is_as_indexed(erasure->requests[request], &found, id, &read);
        if (is_taken || !is_meant(erasure->requests[request], id, &identity))
            continue;
        is_taken = true; /* by the first that means it */
        storage_id_list_add(&resolving->taken, id);
        storage_id_list_add(&resolving->takers, request);
        note_hashes(erasure, &identity);
    }
    return WEIR_OK;
}

static void begin_block(struct resolving *resolving, struct candidate_block *block)
{
    storage_candidates_sort(block);
    resolving->ids.count = resolving->at = resolving->pair = 0;
    for (size_t i = 0; i < block->count; i++) {
        uint64_t id = block->block << WEIR_ROW_BITS | block->at[i] >> 16;

        if (i == 0 || block->at[i - 1] >> 16 != block->at[i] >> 16)
            storage_id_list_add(&resolving->ids, id);
    }
    resolving->blocks++;
}

/* Records in buckets, a few at a time. Nobody waits long for them: one that cannot be distinguished counts as meant. */
static bool is_fetched(struct eraser *eraser, struct erasure_record *erasure)
{
    const struct resolving *resolving = erasure->resolving;
    const struct id_fetching asked = {.ids = resolving->ids.at,
                                      .count = resolving->ids.count,
                                      .at = resolving->at,
                                      .wants_head = true,
                                      .patience_ms = PATIENCE_MS};

    return storage_id_fetch(eraser->store, eraser->from->objects, &erasure->fetch, &asked);
}

/* ---- pages ---- */

static enum weir_status tombstone_datasets(struct store *store, const struct id_list *ids,
                                           struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    size_t end;

    for (size_t at = 0; status == WEIR_OK && at < ids->count; at = end) {
        uint32_t number = weir_sample_dataset(ids->at[at]);
        struct dataset *dataset = storage_catalog_at(store->catalog, number);
        uint64_t before = dataset->sequence;

        for (end = at; end < ids->count && weir_sample_dataset(ids->at[end]) == number;)
            end++;
        status = storage_tombstones_write(store->db, store->cache, dataset, WEIR_CHANGE_ERASED,
                                          &(struct weir_u64s){ids->at + at, end - at}, err);
        if (status == WEIR_OK)
            status = storage_dataset_store(store->db, dataset, before, err);
    }
    return status;
}

struct taken {
    uint32_t request;
    uint64_t id;
};

static int by_request(const void *a, const void *b)
{
    const struct taken *x = a, *y = b;

    if (x->request != y->request)
        return x->request < y->request ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

static struct taken *sort_taken(const struct resolving *resolving)
{
    size_t count = resolving->taken.count;
    struct taken *taken = weir_calloc(count + 1, sizeof(*taken));

    for (size_t i = 0; i < count; i++)
        taken[i] = (struct taken){(uint32_t)resolving->takers.at[i], resolving->taken.at[i]};
    qsort(taken, count, sizeof(*taken), by_request);
    return taken;
}

/* A row for each request, with its next page. */
static enum weir_status write_rows(struct store *store, struct erasure_record *erasure,
                                   uint64_t epoch, struct weir_error *err)
{
    WEIR_AUTO_FREE struct taken *taken = sort_taken(erasure->resolving);
    size_t count = erasure->resolving->taken.count, end;
    struct id_list numbers = {0}, pages = {0}, firsts = {0};
    struct pieces ids = {0};
    enum weir_status status;

    for (size_t at = 0; at < count; at = end) {
        struct erase_request *request = erasure->requests[taken[at].request];
        struct id_list mine = {0};
        WEIR_AUTO_BUF packed = {0};

        for (end = at; end < count && taken[end].request == taken[at].request; end++)
            storage_id_list_add(&mine, taken[end].id);
        storage_id_list_pack(&mine, &packed);
        free(mine.at);
        storage_pieces_add(&ids, weir_buf_view(&packed));
        storage_id_list_add(&numbers, request->number);
        storage_id_list_add(&pages, ++request->pages);
        storage_id_list_add(&firsts, request->samples);
        request->samples += end - at;
    }
    status = DB_RUN(store->db, Q_erasure_ids_add, NULL, err, DB_I64(epoch),
                    DB_BYTES(weir_buf_view(&ids.bytes)), DB_I64S(numbers.at, numbers.count),
                    DB_I64S(pages.at, pages.count), DB_I64S(firsts.at, firsts.count),
                    DB_I64S(ids.at.at, ids.at.count), DB_I64S(ids.sizes.at, ids.sizes.count));
    if (status == WEIR_OK)
        status = DB_RUN(store->db, Q_erasure_grown, NULL, err, DB_I64(epoch),
                        DB_I64S(numbers.at, numbers.count), DB_I64S(ids.sizes.at, ids.sizes.count));
    storage_pieces_fini(&ids);
    free(numbers.at);
    free(pages.at);
    free(firsts.at);
    return status;
}

static enum weir_status commit_page(struct store *store, struct erasure_record *erasure,
                                    uint64_t epoch, struct weir_error *err)
{
    enum weir_status status = weir_db_begin(store->db, err);

    if (status == WEIR_OK)
        status = tombstone_datasets(store, &erasure->resolving->taken, err);
    if (status == WEIR_OK)
        status = write_rows(store, erasure, epoch, err);
    if (status == WEIR_OK && weir_fault("storage.erase.tombstone"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.erase.tombstone");
    if (status == WEIR_OK)
        status = weir_db_commit(store->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(store->db);
    return status;
}

static enum weir_status end_page(struct eraser *eraser, struct erasure_record *erasure,
                                 struct weir_error *err)
{
    struct resolving *resolving = erasure->resolving;
    uint64_t epoch = storage_leases_epoch(eraser->leases) + 1;
    enum weir_status status = commit_page(eraser->store, erasure, epoch, err);

    if (status != WEIR_OK)
        return status;
    (void)storage_leases_add(eraser->leases, resolving->taken.at, resolving->taken.count);
    storage_id_list_add(&erasure->epochs, epoch);
    erasure->samples += resolving->taken.count;
    resolving->taken.count = resolving->takers.count = 0;
    resolving->blocks = 0;
    storage_erasure_hint(eraser);
    return WEIR_OK;
}

/* ---- steps ---- */

/* False: the page is full, or something is waited for, or it takes too long. */
static bool check_some(struct eraser *eraser, struct erasure_record *erasure, int64_t until_ms,
                       enum weir_status *ret_status, struct weir_error *err)
{
    struct resolving *resolving = erasure->resolving;
    struct candidate_block *block = &resolving->lookup.found.blocks[resolving->block];

    if (resolving->ids.count == 0)
        begin_block(resolving, block);
    if (!is_fetched(eraser, erasure))
        return false;
    while (*ret_status == WEIR_OK && resolving->at < resolving->ids.count &&
           resolving->at < erasure->fetch.upto && resolving->taken.count < eraser->epoch_ids) {
        *ret_status = check_one(eraser->store, erasure, block, err);
        if (resolving->at % 64 == 0 && weir_now_ms() >= until_ms)
            break;
    }
    if (*ret_status == WEIR_OK && resolving->at == resolving->ids.count) {
        storage_candidates_drop(block);
        storage_id_fetch_fini(&erasure->fetch);
        resolving->ids.count = 0;
        resolving->block++;
    }
    return *ret_status == WEIR_OK && weir_now_ms() < until_ms;
}

static bool is_full(const struct eraser *eraser, const struct resolving *resolving)
{
    return resolving->taken.count >= eraser->epoch_ids ||
           (resolving->ids.count == 0 && resolving->blocks >= BLOCKS_PER_PAGE);
}

static bool is_through(const struct resolving *resolving)
{
    return resolving->block == resolving->lookup.found.count;
}

static enum weir_status take_some(struct eraser *eraser, struct erasure_record *erasure,
                                  bool *ret_done, struct weir_error *err)
{
    struct resolving *resolving = erasure->resolving;
    int64_t until_ms = weir_now_ms() + ERASE_STEP_MS;
    enum weir_status status = WEIR_OK;

    while (!is_through(resolving) && !is_full(eraser, resolving) &&
           check_some(eraser, erasure, until_ms, &status, err))
        ;
    if (status == WEIR_OK && resolving->taken.count > 0 &&
        (is_through(resolving) || is_full(eraser, resolving)))
        status = end_page(eraser, erasure, err);
    if (status == WEIR_OK && is_full(eraser, resolving))
        resolving->blocks = 0; /* nothing of them is meant */
    *ret_done = status == WEIR_OK && is_through(resolving);
    return status;
}

static void begin(struct eraser *eraser, struct erasure_record *erasure)
{
    storage_id_fetch_fini(&erasure->fetch);
    erasure->resolving = weir_calloc(1, sizeof(*erasure->resolving));
    erasure->resolving->identifier = storage_key_identifier_new(eraser->from);
    storage_lookup_init(&erasure->resolving->lookup, erasure);
}

enum weir_status storage_tombstone_step(struct eraser *eraser, struct erasure_record *erasure,
                                        bool *ret_done, struct weir_error *err)
{
    enum weir_status status;

    *ret_done = false;
    if (erasure->resolving == NULL)
        begin(eraser, erasure);
    if (!erasure->resolving->is_looked_up)
        return storage_lookup_step(eraser->store, erasure, &erasure->resolving->lookup,
                                   &erasure->resolving->is_looked_up, err);
    status = take_some(eraser, erasure, ret_done, err);
    if (status != WEIR_OK || !*ret_done)
        return status;
    storage_resolving_free(erasure->resolving);
    erasure->resolving = NULL;
    storage_id_fetch_fini(&erasure->fetch);
    storage_id_list_sort(&erasure->hashes);
    return WEIR_OK;
}
