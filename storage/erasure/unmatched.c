/* Names that match nothing: see unmatched.h. */
#include "storage/erasure/unmatched.h"

#include "storage/files/owned.h"
#include "storage/keys/key_store.h"
#include "storage/sql/queries.h"

#include <stdlib.h>

/* Entries that are looked at together: names that have more take further rounds, without those that were seen. */
enum { HITS_MAX = 65536 };

void storage_unmatched_fini(struct unmatched *unmatched)
{
    free(unmatched->subjects.at);
    free(unmatched->keys.at);
    free(unmatched->ids.at);
    *unmatched = (struct unmatched){0};
}

/* Takes those out of `left` that are in `seen` (sorted). */
static void strike_out(struct id_list *left, const struct id_list *seen)
{
    size_t kept = 0;

    for (size_t i = 0; i < left->count; i++) {
        if (!storage_id_list_has(seen, left->at[i]))
            left->at[kept++] = left->at[i];
    }
    left->count = kept;
}

static enum weir_status strike_out_indexed(struct store *store, const struct key_index *index,
                                           struct id_list *left, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (bool is_done = false; status == WEIR_OK && !is_done && left->count > 0;) {
        struct key_hits hits = {0};
        struct id_list seen = {0};

        status = storage_key_store_find(store->db, index, left, HITS_MAX, &hits, err);
        is_done = hits.count < HITS_MAX;
        for (size_t i = 0; i < hits.count; i++)
            storage_id_list_add(&seen, hits.at[i].hash);
        storage_id_list_sort(&seen);
        strike_out(left, &seen);
        free(hits.at);
        free(seen.at);
    }
    return status;
}

/* Names of records that were refused, and stand in a mirror. */
static enum weir_status strike_out_refused(struct store *store, const struct dataset *dataset,
                                           struct id_list *left, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    WEIR_AUTO_BUF packed = {0};
    struct id_list seen = {0};
    enum weir_status status;

    if (left->count == 0 || !storage_mirrors(dataset))
        return WEIR_OK;
    storage_id_list_pack(left, &packed);
    status = DB_RUN(store->db, Q_refused_names_known, &rows, err, DB_I64(dataset->number),
                    DB_BYTES(weir_buf_view(&packed)));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        storage_id_list_add(&seen, left->at[weir_rows_i64(rows, i, "place")]);
    storage_id_list_sort(&seen);
    strike_out(left, &seen);
    free(seen.at);
    return status;
}

/* Takes out the names that a record of the dataset has. */
static enum weir_status strike_out_known(struct store *store, const struct dataset *dataset,
                                         struct unmatched *unmatched, struct weir_error *err)
{
    enum weir_status status =
        strike_out_indexed(store, &dataset->subjects, &unmatched->subjects, err);

    if (status == WEIR_OK)
        status = strike_out_indexed(store, &dataset->keys, &unmatched->keys, err);
    if (status == WEIR_OK)
        status = strike_out_refused(store, dataset, &unmatched->subjects, err);
    return status == WEIR_OK ? strike_out_refused(store, dataset, &unmatched->keys, err) : status;
}

/* Subjects and keys that no erasure was asked for before. */
static void list_new_names(const struct store *store, const struct erase_request *request,
                           struct unmatched *unmatched)
{
    for (size_t i = 0; i < request->names.count; i++) {
        const struct key_name *name = &request->names.at[i];

        if (!storage_erased_names_know(&store->erased, request->dataset, name))
            storage_id_list_add(
                name->domain == HASH_SUBJECT ? &unmatched->subjects : &unmatched->keys, name->hash);
    }
    storage_id_list_sort(&unmatched->subjects);
    storage_id_list_sort(&unmatched->keys);
}

static bool is_given(const struct store *store, uint32_t only_dataset, uint64_t id)
{
    const struct dataset *dataset = storage_catalog_at(store->catalog, weir_sample_dataset(id));

    return dataset != NULL && (only_dataset == 0 || only_dataset == dataset->number) &&
           storage_dataset_chunk(dataset, weir_sample_block(id), weir_sample_row(id)) != NULL;
}

enum weir_status storage_unmatched_find(struct store *store, const struct erase_request *request,
                                        uint64_t matched, struct unmatched *ret_unmatched,
                                        struct weir_error *err)
{
    size_t names = request->subjects.count + request->keys.count + request->wanted.count;
    enum weir_status status = WEIR_OK;

    if (names == 1 && matched > 0) /* nothing to look up: the rule for many small requests */
        return WEIR_OK;
    list_new_names(store, request, ret_unmatched);
    for (size_t i = 0; i < request->wanted.count; i++) {
        if (!is_given(store, request->dataset, request->wanted.at[i]))
            storage_id_list_add(&ret_unmatched->ids, request->wanted.at[i]);
    }
    for (size_t i = 0; status == WEIR_OK && i < store->catalog->count; i++) {
        const struct dataset *dataset = store->catalog->datasets[i];

        if (request->dataset == 0 || request->dataset == dataset->number)
            status = strike_out_known(store, dataset, ret_unmatched, err);
    }
    ret_unmatched->is_all =
        ret_unmatched->subjects.count + ret_unmatched->keys.count + ret_unmatched->ids.count ==
        names;
    return status;
}

/* ---- telling ---- */

static struct weir_u32s places_of(const struct storage_secret *secret,
                                  enum storage_hash_domain domain, const struct id_list *hashes,
                                  const struct weir_strs *asked, struct weir_arena *arena)
{
    uint32_t *at = weir_arena_alloc(arena, (asked->count + 1) * sizeof(*at));
    size_t count = 0;

    for (size_t i = 0; hashes->count > 0 && i < asked->count; i++) {
        struct key_name name = storage_key_name(secret, domain, weir_bytes_of(asked->at[i]));

        if (storage_id_list_has(hashes, name.hash))
            at[count++] = (uint32_t)i;
    }
    return (struct weir_u32s){at, count};
}

void storage_unmatched_tell(const struct storage_secret *secret, const struct unmatched *unmatched,
                            const struct msg_erase_accept *asked, struct weir_arena *arena,
                            struct msg_erase_accepted *answer)
{
    uint32_t *ids = weir_arena_alloc(arena, (asked->ids.count + 1) * sizeof(*ids));
    size_t count = 0;

    for (size_t i = 0; unmatched->ids.count > 0 && i < asked->ids.count; i++) {
        if (storage_id_list_has(&unmatched->ids, asked->ids.at[i]))
            ids[count++] = (uint32_t)i;
    }
    answer->unmatched_ids = (struct weir_u32s){ids, count};
    answer->unmatched_subjects =
        places_of(secret, HASH_SUBJECT, &unmatched->subjects, &asked->subjects, arena);
    answer->unmatched_keys = places_of(secret, HASH_KEY, &unmatched->keys, &asked->keys, arena);
}
