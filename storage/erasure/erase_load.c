/* Rows of erasures that are not verified, when a store is opened or a commit was in doubt. */
#include "core/base/memory.h"
#include "storage/erasure/erasure_record.h"
#include "storage/sql/queries.h"

#include <stdlib.h>
#include <string.h>

enum { REQUESTS_PER_QUERY = 1024, ACCEPTED_PER_QUERY = 64 };

enum weir_status storage_erasure_record_names(struct weir_bytes proofs, struct weir_bytes subjects,
                                              struct key_names *names, struct weir_error *err)
{
    if (proofs.size > 0)
        return storage_key_names_unpack(proofs, names, err);
    for (size_t at = 0; at + sizeof(uint64_t) <= subjects.size; at += sizeof(uint64_t))
        storage_key_names_add(names, &(struct key_name){.domain = HASH_SUBJECT,
                                                        .hash = weir_get_u64(subjects.at + at)});
    return WEIR_OK;
}

void storage_erasure_record_list(struct erase_request *request)
{
    storage_key_names_sort(&request->names);
    for (size_t i = 0; i < request->names.count; i++) {
        const struct key_name *name = &request->names.at[i];

        storage_id_list_add(name->domain == HASH_SUBJECT ? &request->subjects : &request->keys,
                            name->hash);
    }
    storage_id_list_sort(&request->subjects);
    storage_id_list_sort(&request->keys);
}

static void read_request(const struct weir_rows *rows, size_t i, struct erasure_record **by_state)
{
    struct erase_request *request = weir_calloc(1, sizeof(*request));
    enum weir_erasure_state state = storage_erasure_state(weir_rows_text(rows, i, "state"));
    struct erasure_record *erasure;
    uint64_t erasure_epoch = (uint64_t)weir_rows_i64(rows, i, "epoch");

    request->number = (uint64_t)weir_rows_i64(rows, i, "number");
    request->dataset = (uint32_t)weir_rows_i64(rows, i, "dataset");
    request->accepted_us = weir_rows_i64(rows, i, "accepted_us");
    weir_buf_append_text(&request->remarks, weir_rows_text(rows, i, "remarks"));
    request->samples = (uint64_t)weir_rows_i64(rows, i, "samples");
    request->pages = (uint64_t)weir_rows_i64(rows, i, "pages");
    request->drops_refused = weir_rows_bool(rows, i, "drops_refused");
    if (by_state[state] == NULL)
        by_state[state] = storage_erasure_record_new(state);
    erasure = by_state[state];
    if (erasure->erasure_epoch < erasure_epoch)
        erasure->erasure_epoch = erasure_epoch;
    storage_erasure_record_add(erasure, request);
}

static enum weir_status load_requests(struct store *store, struct erasure_record **by_state,
                                      struct weir_error *err)
{
    int64_t after = 0;

    for (bool is_through = false; !is_through;) {
        WEIR_AUTO(weir_rows) rows = NULL;
        enum weir_status status = DB_RUN(store->db, Q_erasures_open, &rows, err, DB_I64(after),
                                         DB_I64(REQUESTS_PER_QUERY));

        if (status != WEIR_OK)
            return status;
        for (size_t i = 0; i < weir_rows_count(rows); i++) {
            read_request(rows, i, by_state);
            after = weir_rows_i64(rows, i, "number");
        }
        is_through = weir_rows_count(rows) < REQUESTS_PER_QUERY;
    }
    return WEIR_OK;
}

/* The names they ask for: until it is known which samples that is. */
static enum weir_status load_accepted(struct store *store, struct erasure_record *accepted,
                                      struct weir_error *err)
{
    int64_t after = 0;

    for (bool is_through = false; !is_through;) {
        WEIR_AUTO(weir_rows) rows = NULL;
        enum weir_status status = DB_RUN(store->db, Q_erasures_accepted, &rows, err, DB_I64(after),
                                         DB_I64(ACCEPTED_PER_QUERY));

        for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
            struct erase_request *request;

            after = weir_rows_i64(rows, i, "number");
            request = storage_erasure_record_find(accepted, (uint64_t)after);
            if (request == NULL)
                continue;
            storage_id_list_unpack(weir_rows_bytes(rows, i, "wanted"), &request->wanted);
            status = storage_erasure_record_names(weir_rows_bytes(rows, i, "proofs"),
                                                  weir_rows_bytes(rows, i, "subjects"),
                                                  &request->names, err);
            storage_erasure_record_list(request);
        }
        if (status != WEIR_OK)
            return status;
        is_through = weir_rows_count(rows) < ACCEPTED_PER_QUERY;
    }
    return WEIR_OK;
}

static enum weir_status load_some_epochs(struct store *store, struct erasure_record *erasure,
                                         size_t from, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct id_list numbers = storage_erasure_record_numbers(erasure, from, REQUESTS_PER_QUERY);
    enum weir_status status =
        DB_RUN(store->db, Q_erasure_epochs, &rows, err, DB_I64S(numbers.at, numbers.count));

    free(numbers.at);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        uint64_t epoch = (uint64_t)weir_rows_i64(rows, i, "epoch");

        storage_id_list_add(&erasure->epochs, epoch);
        if (weir_rows_bool(rows, i, "is_done") && erasure->inherited < epoch)
            erasure->inherited = epoch;
    }
    return status;
}

enum weir_status storage_erase_load_epochs(struct store *store, struct erasure_record *erasure,
                                           struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    erasure->epochs.count = 0;
    for (size_t from = 0; status == WEIR_OK && from < erasure->count; from += REQUESTS_PER_QUERY)
        status = load_some_epochs(store, erasure, from, err);
    storage_id_list_sort(&erasure->epochs);
    return status;
}

enum weir_status storage_erase_load(struct store *store, struct erasure_record **by_state,
                                    struct weir_error *err)
{
    enum weir_status status = load_requests(store, by_state, err);

    if (status == WEIR_OK && by_state[WEIR_ERASURE_ACCEPTED] != NULL)
        status = load_accepted(store, by_state[WEIR_ERASURE_ACCEPTED], err);
    for (int state = WEIR_ERASURE_TOMBSTONED; status == WEIR_OK && state < WEIR_ERASURE_VERIFIED;
         state++) {
        if (by_state[state] != NULL)
            status = storage_erase_load_epochs(store, by_state[state], err);
        if (by_state[state] != NULL)
            by_state[state]->is_blind = true; /* where it stands in runs was not stored */
    }
    return status;
}
