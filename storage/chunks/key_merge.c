/* Merging sorted runs: see key_merge.h. */
#include "storage/chunks/key_merge.h"

#include "core/base/fault.h"
#include "core/base/memory.h"
#include "storage/keys/key_store.h"
#include "storage/keys/sorted_run_policy.h"

#include <stdlib.h>
#include <string.h>

enum { SEGMENTS_AT_ONCE = 8, ENTRIES_AT_ONCE = SEGMENTS_AT_ONCE * SORTED_RUN_SEGMENT_ENTRIES };

/* A run that is read from its beginning to its end. */
struct input {
    uint64_t run;
    size_t segments, next; /* segment to be read */
    struct sorted_run_entry *entries;
    size_t at, count; /* of `entries` */
    bool is_own;
};

struct key_merge {
    struct weir_db *db;
    struct key_index *index;
    uint64_t run; /* run being written */
    bool is_own;
    struct input inputs[SORTED_RUN_FAN_IN_MAX];
    size_t input_count;
    struct sorted_run_writer writer;
    struct sorted_run_entry merged[SORTED_RUN_SEGMENT_ENTRIES];
};

static void free_merge(struct key_merge *merge)
{
    if (merge == NULL)
        return;
    for (size_t i = 0; i < merge->input_count; i++)
        free(merge->inputs[i].entries);
    storage_sorted_run_writer_fini(&merge->writer);
    free(merge);
}
WEIR_DEFINE_AUTO(key_merge, free_merge)

void storage_key_merge_drop(struct store *store)
{
    free_merge(store->merge);
    store->merge = NULL;
}

/* ---- beginning ---- */

static void add_input(struct key_merge *merge, const struct sorted_run *run)
{
    struct input *input = &merge->inputs[merge->input_count++];

    input->run = run->number;
    input->segments = run->segments;
    input->is_own = run->is_own;
    input->entries = weir_calloc(ENTRIES_AT_ONCE, sizeof(*input->entries));
}

static enum weir_status begin(struct weir_db *db, const struct dataset *dataset,
                              struct key_index *index, size_t least, struct key_merge **ret_merge,
                              struct weir_error *err)
{
    WEIR_AUTO_FREE uint64_t *counts = weir_calloc(index->run_count + 1, sizeof(*counts));
    WEIR_AUTO(key_merge) merge = NULL;
    size_t chosen[SORTED_RUN_FAN_IN_MAX], count;
    uint64_t total = 0;
    enum weir_status status;

    for (size_t i = 0; i < index->run_count; i++)
        counts[i] = index->runs[i].count;
    count = storage_sorted_run_choose(counts, index->run_count, least, chosen);
    if (count == 0)
        return WEIR_OK;
    merge = weir_calloc(1, sizeof(*merge));
    merge->db = db;
    merge->index = index;
    for (size_t i = 0; i < count; i++) {
        add_input(merge, &index->runs[chosen[i]]);
        total += counts[chosen[i]];
    }
    storage_sorted_run_writer_init(&merge->writer, total, storage_key_filter_bits(index->kind),
                                   KEY_FILTER_BYTES_MAX);
    merge->is_own = total >= KEY_OWN_PARTITION;
    status =
        storage_key_store_begin(db, dataset->number, index->kind, merge->is_own, &merge->run, err);
    if (status == WEIR_OK)
        *ret_merge = WEIR_TAKE(merge);
    return status;
}

static enum weir_status begin_any(struct store *store, size_t least, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    for (size_t i = 0; status == WEIR_OK && store->merge == NULL && i < store->catalog->count;
         i++) {
        struct dataset *dataset = store->catalog->datasets[i];

        status = begin(store->db, dataset, &dataset->subjects, least, &store->merge, err);
        if (status == WEIR_OK && store->merge == NULL)
            status = begin(store->db, dataset, &dataset->keys, least, &store->merge, err);
    }
    return status;
}

/* ---- merging ---- */

static enum weir_status unpack_all(struct input *input, const struct weir_bytes *bytes,
                                   size_t count, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;

    input->at = input->count = 0;
    for (size_t i = 0; status == WEIR_OK && i < count; i++) {
        size_t here = 0;

        if (bytes[i].size > 0) /* else all of it was erased */
            status = storage_sorted_run_segment_unpack(bytes[i], input->entries + input->count,
                                                       &here, err);
        input->count += here;
    }
    return status;
}

static enum weir_status refill(const struct key_merge *merge, struct input *input,
                               struct weir_error *err)
{
    struct key_reader reader = {.db = merge->db};
    const struct key_source source = storage_key_reader_source(&reader);
    uint64_t numbers[SEGMENTS_AT_ONCE];
    struct weir_bytes bytes[SEGMENTS_AT_ONCE];
    enum weir_status status = WEIR_OK;

    while (status == WEIR_OK && input->at == input->count && input->next < input->segments) {
        size_t count = 0;

        while (count < SEGMENTS_AT_ONCE && input->next < input->segments)
            numbers[count++] = input->next++;
        status = source.segments(source.owner, input->run, numbers, count, bytes, err);
        if (status == WEIR_OK)
            status = unpack_all(input, bytes, count, err);
    }
    storage_key_reader_fini(&reader);
    return status;
}

static struct input *least_input(struct key_merge *merge)
{
    struct input *least = NULL;

    for (size_t i = 0; i < merge->input_count; i++) {
        struct input *input = &merge->inputs[i];

        if (input->at < input->count &&
            (least == NULL ||
             sorted_run_entry_before(&input->entries[input->at], &least->entries[least->at])))
            least = input;
    }
    return least;
}

/* Fills merge->merged; 0 entries: all inputs are at their end. */
static enum weir_status merge_some(struct key_merge *merge, size_t *ret_count,
                                   struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    size_t count = 0;
    struct input *least;

    for (size_t i = 0; status == WEIR_OK && i < merge->input_count; i++)
        status = refill(merge, &merge->inputs[i], err);
    while (status == WEIR_OK && count < SORTED_RUN_SEGMENT_ENTRIES &&
           (least = least_input(merge)) != NULL) {
        merge->merged[count++] = least->entries[least->at++];
        if (least->at == least->count)
            status = refill(merge, least, err);
    }
    *ret_count = count;
    return status;
}

static enum weir_status replace(struct key_merge *merge, struct weir_error *err)
{
    enum weir_status status = weir_db_begin(merge->db, err);

    if (status == WEIR_OK)
        status = storage_key_store_segments(merge->db, merge->run, &merge->writer, err);
    if (status == WEIR_OK)
        status = storage_key_store_complete(merge->db, merge->run, &merge->writer, err);
    for (size_t i = 0; status == WEIR_OK && i < merge->input_count; i++)
        status =
            storage_key_store_drop(merge->db, merge->inputs[i].run, merge->inputs[i].is_own, err);
    if (status == WEIR_OK && weir_fault("storage.key.merge"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.key.merge");
    if (status == WEIR_OK)
        status = weir_db_commit(merge->db, err);
    if (status != WEIR_OK)
        weir_db_rollback(merge->db);
    return status;
}

static enum weir_status finish(struct key_merge *merge, struct weir_error *err)
{
    struct sorted_run run;
    enum weir_status status;

    storage_sorted_run_writer_end(&merge->writer);
    status = replace(merge, err);
    if (status != WEIR_OK)
        return status;
    for (size_t i = 0; i < merge->input_count; i++)
        storage_key_index_drop(merge->index, merge->inputs[i].run);
    run = storage_key_store_run(merge->run, merge->is_own, &merge->writer);
    storage_key_index_add(merge->index, &run);
    return WEIR_OK;
}

static enum weir_status step(struct key_merge *merge, bool *ret_done, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    size_t count = 1;

    for (size_t done = 0; status == WEIR_OK && count > 0 && done < KEY_MERGE_ENTRIES;
         done += count) {
        status = merge_some(merge, &count, err);
        if (status == WEIR_OK)
            storage_sorted_run_writer_add(&merge->writer, merge->merged, count);
    }
    *ret_done = count == 0;
    if (status == WEIR_OK && weir_fault("storage.key.step"))
        status = weir_fail(err, WEIR_UNAVAILABLE, "fault storage.key.step");
    if (status != WEIR_OK)
        return status;
    return count == 0 ? finish(merge, err)
                      : storage_key_store_segments(merge->db, merge->run, &merge->writer, err);
}

enum weir_status storage_key_merge_step(struct store *store, size_t least, bool *ret_more,
                                        struct weir_error *err)
{
    enum weir_status status = store->merge != NULL ? WEIR_OK : begin_any(store, least, err);
    bool is_done = false;

    *ret_more = store->merge != NULL;
    if (status == WEIR_OK && store->merge != NULL)
        status = step(store->merge, &is_done, err);
    if (status == WEIR_OK && is_done)
        storage_key_merge_drop(store);
    return status;
}

enum weir_status storage_key_merge_stop(struct store *store, struct weir_error *err)
{
    const struct key_merge *merge = store->merge;
    enum weir_status status = WEIR_OK;

    if (merge != NULL)
        status = storage_key_store_drop(merge->db, merge->run, merge->is_own, err);
    storage_key_merge_drop(store);
    return status;
}
