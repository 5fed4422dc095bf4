/* The change feed, what was refused, the sorted runs of keys, and what erasures marked. */
#include "storage/doctor/doctor_state.h"
#include "storage/keys/id_list.h"
#include "storage/keys/key_store.h"
#include "storage/sql/queries.h"

#include "core/base/memory.h"

#include <inttypes.h>
#include <stdlib.h>

enum {
    FEED_AT_ONCE = 1024,
    FEED_IDS_AT_ONCE = 1 << 16,
    EPOCHS_PER_STEP = 16,
    SEGMENTS_PER_STEP = 16
};

/* ---- feed ---- */

static uint64_t run_count(const struct dataset *dataset, size_t run)
{
    uint64_t end =
        run + 1 < dataset->run_count ? dataset->runs[run + 1].first_row : dataset->next_row;

    return end - dataset->runs[run].first_row;
}

/* An added row says what the chunks say of that change. */
static void check_added(struct doctor *doctor, const struct dataset *dataset, uint64_t sequence,
                        uint64_t first, uint64_t count)
{
    size_t run = storage_dataset_run_after(dataset, sequence - 1);
    uint64_t row = (uint64_t)weir_sample_block(first) << WEIR_ROW_BITS | weir_sample_row(first);

    if (doctor->is_bad[DOCTOR_IDS] || doctor->is_bad[DOCTOR_CHUNKS])
        return; /* said already */
    if (run < dataset->run_count && dataset->runs[run].sequence == sequence &&
        dataset->runs[run].first_row == row && run_count(dataset, run) == count) {
        doctor->added_seen++;
        return;
    }
    doctor_wrong(doctor, DOCTOR_FEED,
                 weir_format("change %" PRIu64 " added %" PRIu64 " samples from row %" PRIu64,
                             sequence, count, row),
                 weir_strdup("the samples that chunks say were added by it"));
}

static void check_dead(struct doctor *doctor, const struct dataset *dataset, uint64_t sequence,
                       uint64_t first, uint64_t count)
{
    for (uint64_t id = first; id < first + count; id++) {
        if (storage_dataset_is_dead(dataset, weir_sample_block(id), weir_sample_row(id)))
            continue;
        doctor_wrong(
            doctor, DOCTOR_FEED,
            weir_format("change %" PRIu64 " ended sample %" PRIu64 ", which is live", sequence, id),
            weir_strdup("a mark on it"));
        return;
    }
}

/* Returns the number of samples that were looked at. */
static uint64_t check_change(struct doctor *doctor, const struct weir_rows *rows, size_t i)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);
    uint64_t sequence = (uint64_t)weir_rows_i64(rows, i, "sequence");
    int64_t kind = weir_rows_i64(rows, i, "kind");
    uint64_t first = (uint64_t)weir_rows_i64(rows, i, "first");
    uint64_t count = (uint64_t)weir_rows_i64(rows, i, "count");

    if (sequence != doctor->feed_at + 1)
        doctor_wrong(doctor, DOCTOR_FEED, weir_format("change %" PRIu64, sequence),
                     weir_format("change %" PRIu64 ": none is missing", doctor->feed_at + 1));
    doctor->feed_at = sequence;
    if (kind == WEIR_CHANGE_ADDED)
        check_added(doctor, dataset, sequence, first, count);
    if (kind != WEIR_CHANGE_REMOVED && kind != WEIR_CHANGE_REPLACED && kind != WEIR_CHANGE_ERASED)
        return 0;
    check_dead(doctor, dataset, sequence, first, count);
    return count;
}

static enum weir_status end_feed(struct doctor *doctor, struct weir_error *err)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);
    size_t kept = dataset->run_count - storage_dataset_run_after(dataset, dataset->feed_floor);
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(doctor->examined.store->db, Q_consumers_beyond, &rows, err,
                                     DB_I64(dataset->number), DB_I64(dataset->sequence));

    if (doctor->feed_at != dataset->sequence)
        doctor_wrong(doctor, DOCTOR_FEED,
                     weir_format("the feed ends at change %" PRIu64, doctor->feed_at),
                     weir_format("change %" PRIu64, dataset->sequence));
    if (doctor->added_seen != kept && !doctor->is_bad[DOCTOR_FEED] && !doctor->is_bad[DOCTOR_IDS] &&
        !doctor->is_bad[DOCTOR_CHUNKS])
        doctor_wrong(doctor, DOCTOR_FEED,
                     weir_format("%zu changes that added samples", doctor->added_seen),
                     weir_format("%zu, as chunks say", kept));
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        doctor_wrong(doctor, DOCTOR_FEED,
                     weir_format("consumer '%s' has passed change %" PRId64,
                                 weir_rows_text(rows, i, "name"), weir_rows_i64(rows, i, "passed")),
                     weir_format("at most %" PRIu64, dataset->sequence));
    if (!doctor->is_bad[DOCTOR_FEED])
        storage_doctor_say(doctor, DOCTOR_FEED, DOCTOR_FINE,
                           weir_format("changes %" PRIu64 " to %" PRIu64 " without a gap",
                                       dataset->feed_floor + 1, dataset->sequence),
                           NULL);
    return status;
}

enum weir_status storage_doctor_feed(struct doctor *doctor, bool *ret_done, struct weir_error *err)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);
    WEIR_AUTO(weir_rows) rows = NULL;
    uint64_t ids = 0;
    size_t i;
    enum weir_status status;

    if (doctor->at++ == 0)
        doctor->feed_at = dataset->feed_floor;
    status = DB_RUN(doctor->examined.store->db, Q_feed_from, &rows, err, DB_I64(dataset->number),
                    DB_I64(doctor->feed_at), DB_I64(FEED_AT_ONCE));
    if (status != WEIR_OK)
        return status;
    for (i = 0; i < weir_rows_count(rows) && ids < FEED_IDS_AT_ONCE; i++)
        ids += check_change(doctor, rows, i);
    if (i < weir_rows_count(rows) || i == FEED_AT_ONCE)
        return WEIR_OK;
    *ret_done = true;
    return end_feed(doctor, err);
}

/* ---- refused ---- */

enum weir_status storage_doctor_refused(struct doctor *doctor, bool *ret_done,
                                        struct weir_error *err)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);
    WEIR_AUTO(weir_rows) rows = NULL;
    uint64_t listed, met;
    enum weir_status status =
        DB_RUN(doctor->examined.store->db, Q_quarantined, &rows, err, DB_I64(dataset->number));

    *ret_done = true;
    if (status != WEIR_OK)
        return status;
    listed = (uint64_t)weir_rows_i64(rows, 0, "quarantined");
    met = (uint64_t)weir_rows_i64(rows, 0, "blocked") + storage_dataset_met(dataset);
    if (listed != dataset->accounts.quarantined)
        doctor_wrong(doctor, DOCTOR_REFUSED,
                     weir_format("quarantined = %" PRIu64, dataset->accounts.quarantined),
                     weir_format("%" PRIu64 ", the sum of storage.quarantine", listed));
    if (met != dataset->accounts.blocked)
        doctor_wrong(
            doctor, DOCTOR_REFUSED, weir_format("blocked = %" PRIu64, dataset->accounts.blocked),
            weir_format("%" PRIu64 ", what storage.quarantine and storage.blocked say", met));
    if (!doctor->is_bad[DOCTOR_REFUSED])
        storage_doctor_say(doctor, DOCTOR_REFUSED, DOCTOR_FINE,
                           weir_format("%" PRIu64 " quarantined, %" PRIu64 " blocked", listed, met),
                           NULL);
    return WEIR_OK;
}

/* ---- keys ---- */

/* False when the segment is none, or does not follow the one before. */
static bool check_segment(const struct dataset *dataset, struct weir_bytes bytes,
                          struct run_check *check)
{
    struct sorted_run_entry entries[SORTED_RUN_SEGMENT_ENTRIES];
    struct weir_error err;
    size_t count = 0;

    if (bytes.size == 0)
        return true; /* all of it was erased */
    if (storage_sorted_run_segment_unpack(bytes, entries, &count, &err) != WEIR_OK)
        return false;
    for (size_t i = 0; i < count; i++) {
        if ((check->has_last && !sorted_run_entry_before(&check->last, &entries[i])) ||
            entries[i].id >= dataset->next_row)
            return false;
        check->last = entries[i];
        check->has_last = true;
    }
    check->entries += count;
    return true;
}

/* Reads on from where doctor->run stands; false when the run is through, or damaged. */
static bool check_segments(struct doctor *doctor, const struct sorted_run *run,
                           const struct key_source *source)
{
    struct run_check *check = &doctor->run;

    for (int i = 0; i < SEGMENTS_PER_STEP && check->segment < run->segments; i++) {
        struct weir_bytes bytes;
        struct weir_error err;

        if (source->segments(source->owner, run->number, &check->segment, 1, &bytes, &err) !=
                WEIR_OK ||
            !check_segment(storage_doctor_dataset(doctor), bytes, check)) {
            doctor_wrong(doctor, DOCTOR_KEYS,
                         weir_format("segment %" PRIu64 " of sorted run %" PRIu64 " is damaged",
                                     check->segment, run->number),
                         weir_strdup("ascending entries of known samples"));
            return false;
        }
        check->segment++;
    }
    return check->segment < run->segments;
}

static void end_run(struct doctor *doctor, const struct sorted_run *run)
{
    if (doctor->run.segment == run->segments)
        doctor->entries += doctor->run.entries;
    if (doctor->run.entries > run->count)
        doctor_wrong(doctor, DOCTOR_KEYS,
                     weir_format("sorted run %" PRIu64 " holds %" PRIu64 " entries", run->number,
                                 doctor->run.entries),
                     weir_format("at most %" PRIu64, run->count));
    doctor->run = (struct run_check){0};
    doctor->at++;
}

enum weir_status storage_doctor_keys(struct doctor *doctor, bool *ret_done, struct weir_error *err)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);
    struct key_reader reader = {.db = doctor->examined.store->db};
    const struct key_source source = storage_key_reader_source(&reader);
    const struct key_index *index = &dataset->subjects;
    size_t at = doctor->at;

    (void)err;
    if (at >= index->run_count) {
        at -= index->run_count;
        index = &dataset->keys;
    }
    if (at < index->run_count) {
        if (!check_segments(doctor, &index->runs[at], &source))
            end_run(doctor, &index->runs[at]);
        storage_key_reader_fini(&reader);
        return WEIR_OK;
    }
    *ret_done = true;
    if (!doctor->is_bad[DOCTOR_KEYS])
        storage_doctor_say(doctor, DOCTOR_KEYS, DOCTOR_FINE,
                           weir_format("%zu sorted runs of %" PRIu64 " entries",
                                       dataset->subjects.run_count + dataset->keys.run_count,
                                       doctor->entries),
                           NULL);
    return WEIR_OK;
}

/* ---- erasures ---- */

/* Pages of some epochs, from doctor->at on. */
static void look_at_pages(struct doctor *doctor, const struct weir_rows *rows)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);

    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        struct id_list ids = {0};
        uint64_t missing = 0;

        storage_id_list_unpack(weir_rows_bytes(rows, i, "ids"), &ids);
        for (size_t k = 0; k < ids.count; k++) {
            if (weir_sample_dataset(ids.at[k]) != dataset->number)
                continue;
            doctor->marked++;
            missing += !storage_dataset_is_erased(dataset, weir_sample_block(ids.at[k]),
                                                  weir_sample_row(ids.at[k]));
        }
        free(ids.at);
        if (missing > 0)
            doctor_wrong(doctor, DOCTOR_ERASURES,
                         weir_format("%" PRIu64 " samples of erasure epoch %" PRId64
                                     " are not marked as erased",
                                     missing, weir_rows_i64(rows, i, "epoch")),
                         weir_strdup("a mark on each"));
    }
}

enum weir_status storage_doctor_erasures(struct doctor *doctor, bool *ret_done,
                                         struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(doctor->examined.store->db, Q_epochs, &rows, err,
                                     DB_I64(doctor->at), DB_I64(doctor->at + EPOCHS_PER_STEP));

    if (status != WEIR_OK)
        return status;
    doctor->marked = doctor->at == 0 ? 0 : doctor->marked;
    doctor->at += EPOCHS_PER_STEP;
    look_at_pages(doctor, rows);
    *ret_done = doctor->at >= storage_leases_epoch(doctor->examined.leases);
    if (*ret_done && !doctor->is_bad[DOCTOR_ERASURES])
        storage_doctor_say(doctor, DOCTOR_ERASURES, DOCTOR_FINE,
                           weir_format("%" PRIu64 " samples erased, each marked", doctor->marked),
                           NULL);
    return WEIR_OK;
}
