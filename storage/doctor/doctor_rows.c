/* Chunks and accounts, counted again from packed columns and bitmaps. */
#include "storage/chunks/chunk_cache.h"
#include "storage/chunks/label_values.h"
#include "storage/doctor/doctor_state.h"
#include "storage/sql/queries.h"

#include "core/base/memory.h"
#include "core/wire/column.h"

#include <inttypes.h>

static uint64_t row_of(const struct chunk_ref *ref)
{
    return (uint64_t)ref->block << WEIR_ROW_BITS | ref->first_row;
}

static char *chunk_text(const struct chunk_ref *ref, const char *what)
{
    return weir_format("chunk %" PRIu32 ":%" PRIu32 ": %s", ref->block, ref->first_row, what);
}

/* Ids are given out without gaps and without overlap. */
static void check_place(struct doctor *doctor, const struct chunk_ref *ref)
{
    if (row_of(ref) != doctor->next_row)
        doctor_wrong(doctor, DOCTOR_IDS, weir_format("a chunk begins at row %" PRIu64, row_of(ref)),
                     weir_format("row %" PRIu64 ", behind the chunk before", doctor->next_row));
    doctor->next_row = row_of(ref) + ref->count;
}

static void check_range(struct doctor *doctor, const struct chunk_ref *ref,
                        const struct chunk *chunk, const int64_t said[2])
{
    int64_t min = INT64_MAX, max = INT64_MIN;

    for (uint32_t i = 0; i < ref->count; i++) {
        int64_t time = weir_column_at(&chunk->times, i);

        min = time < min ? time : min;
        max = time > max ? time : max;
    }
    if (min == said[0] && max == said[1])
        return;
    doctor_wrong(doctor, DOCTOR_CHUNKS,
                 weir_format("chunk %" PRIu32 ":%" PRIu32 ": times from %" PRId64 " to %" PRId64,
                             ref->block, ref->first_row, said[0], said[1]),
                 weir_format("%" PRId64 " to %" PRId64 ", as its column says", min, max));
}

/* Rows of a chunk that say something impossible. */
struct bad_rows {
    uint32_t count, first;
};

static void note_bad(struct bad_rows *bad, uint32_t row)
{
    bad->first = bad->count == 0 ? row : bad->first;
    bad->count++;
}

/* The account that a row belongs to, of `counted`. */
static uint64_t *account_of(struct doctor *doctor, const struct dataset *dataset, uint32_t block,
                            uint32_t row)
{
    const struct dead_rows *dead = block < dataset->dead_count ? &dataset->dead[block] : NULL;

    if (dead != NULL && weir_bits_get(&dead->erased, row))
        return &doctor->counted.erased;
    if (dead != NULL && weir_bits_get(&dead->replaced, row))
        return &doctor->counted.replaced;
    if (dead != NULL && weir_bits_get(&dead->removed, row))
        return &doctor->counted.removed;
    return &doctor->counted.live;
}

static void count_row(struct doctor *doctor, const struct chunk *chunk, uint32_t i,
                      const struct stored_file *file, struct bad_rows *lost, struct bad_rows *stray)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);
    uint32_t row = chunk->first_row + i;
    uint64_t number = (uint64_t)weir_column_at(&chunk->files, i);
    uint64_t offset = (uint64_t)weir_column_at(&chunk->offsets, i);
    uint64_t length = (uint64_t)weir_column_at(&chunk->lengths, i);
    uint64_t *account = account_of(doctor, dataset, chunk->block, row);

    doctor->counted.ingested++;
    (*account)++;
    if (number < doctor->file_count)
        doctor->file_samples[number]++;
    if (account != &doctor->counted.live)
        return;
    doctor->counted.bytes += length;
    if (file == NULL || offset > file->size || length > file->size - offset)
        note_bad(lost, row);
    else if (file->state != FILE_LIVE)
        note_bad(stray, row);
}

static void say_bad(struct doctor *doctor, enum doctor_check check, const struct chunk_ref *ref,
                    const struct bad_rows *bad, const char *what)
{
    if (bad->count > 0)
        doctor_wrong(doctor, check,
                     weir_format("chunk %" PRIu32 ":%" PRIu32 ": %" PRIu32
                                 " live samples, the first in row %" PRIu32 ", %s",
                                 ref->block, ref->first_row, bad->count, bad->first, what),
                     weir_strdup("each live sample inside a live file"));
}

static void say_endless(struct doctor *doctor, const struct chunk_ref *ref,
                        const struct bad_rows *bad)
{
    if (bad->count > 0)
        doctor_wrong(doctor, DOCTOR_CHUNKS,
                     weir_format("chunk %" PRIu32 ":%" PRIu32 ": %" PRIu32
                                 " labels, the first in row %" PRIu32 ", hold what is no number",
                                 ref->block, ref->first_row, bad->count, bad->first),
                     weir_strdup("finite numbers"));
}

static enum weir_status check_rows(struct doctor *doctor, const struct chunk_ref *ref,
                                   const struct chunk *chunk, struct weir_error *err)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);
    const struct declaration *d = dataset->declaration;
    size_t bytes = storage_declaration_value_bytes(d);
    struct bad_rows lost = {0}, stray = {0}, endless = {0};

    for (uint32_t i = 0; i < ref->count; i++) {
        struct stored_file *file;
        enum weir_status status =
            storage_dataset_file(dataset, (uint64_t)weir_column_at(&chunk->files, i), &file, err);

        if (status != WEIR_OK)
            return status;
        count_row(doctor, chunk, i, file, &lost, &stray);
        storage_file_cache_trim(dataset->file_cache);
        if (!storage_values_are_finite(d, storage_values_at(chunk->values, bytes, i)))
            note_bad(&endless, chunk->first_row + i);
    }
    say_endless(doctor, ref, &endless);
    say_bad(doctor, DOCTOR_CHUNKS, ref, &lost, "lie in no file, or beyond its end");
    say_bad(doctor, DOCTOR_ACCOUNTS, ref, &stray, "lie in a file that was removed or replaced");
    return WEIR_OK;
}

static enum weir_status check_chunk(struct doctor *doctor, const struct chunk_ref *ref,
                                    struct weir_error *err)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);
    WEIR_AUTO(weir_rows) rows = NULL;
    const struct chunk *chunk;
    int64_t said[2];
    enum weir_status status =
        DB_RUN(doctor->examined.store->db, Q_chunk_times, &rows, err, DB_I64(dataset->number),
               DB_I64(ref->block), DB_I64(ref->first_row));

    if (status == WEIR_OK)
        status = storage_chunk_cache_get(doctor->cache, doctor->examined.store->db, dataset, ref,
                                         &chunk, err);
    if (status == WEIR_CORRUPT || (status == WEIR_OK && weir_rows_count(rows) != 1)) {
        doctor_wrong(doctor, DOCTOR_CHUNKS,
                     chunk_text(ref, status == WEIR_OK ? "it is gone" : err->text),
                     weir_strdup("columns that decode"));
        return WEIR_OK;
    }
    if (status != WEIR_OK)
        return status;
    said[0] = weir_rows_i64(rows, 0, "time_min");
    said[1] = weir_rows_i64(rows, 0, "time_max");
    check_range(doctor, ref, chunk, said);
    return check_rows(doctor, ref, chunk, err);
}

enum weir_status storage_doctor_chunks(struct doctor *doctor, bool *ret_done,
                                       struct weir_error *err)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);

    if (doctor->at < dataset->chunk_count) {
        const struct chunk_ref *ref = &dataset->chunks[doctor->at++];

        check_place(doctor, ref);
        return check_chunk(doctor, ref, err);
    }
    *ret_done = true;
    if (doctor->next_row != dataset->next_row)
        doctor_wrong(doctor, DOCTOR_IDS,
                     weir_format("chunks end at row %" PRIu64, doctor->next_row),
                     weir_format("row %" PRIu64 ", which the next sample gets", dataset->next_row));
    if (!doctor->is_bad[DOCTOR_IDS])
        storage_doctor_say(doctor, DOCTOR_IDS, DOCTOR_FINE,
                           weir_format("%" PRIu64 " ids without a gap", doctor->next_row), NULL);
    if (!doctor->is_bad[DOCTOR_CHUNKS])
        storage_doctor_say(doctor, DOCTOR_CHUNKS, DOCTOR_FINE,
                           weir_format("%zu chunks decode, and lie in files", dataset->chunk_count),
                           NULL);
    return WEIR_OK;
}

/* ---- accounts ---- */

static enum weir_status check_file(struct doctor *doctor, const struct dataset *dataset,
                                   uint64_t number, struct weir_error *err)
{
    struct stored_file *file;
    enum weir_status status;

    storage_file_cache_trim(dataset->file_cache);
    status = storage_dataset_file(dataset, number, &file, err);
    if (status == WEIR_OK && file != NULL && file->samples != doctor->file_samples[number])
        storage_doctor_say_file(
            doctor, DOCTOR_ACCOUNTS, DOCTOR_WRONG, file,
            weir_format("gave %" PRIu64 " samples", file->samples),
            weir_format("%" PRIu64 ", which chunks hold of it", doctor->file_samples[number]));
    return status;
}

static void check_dead_end(struct doctor *doctor, const struct dataset *dataset)
{
    size_t blocks = (size_t)((dataset->next_row + WEIR_BLOCK_ROWS - 1) >> WEIR_ROW_BITS);
    uint64_t marked = 0;

    for (size_t b = 0; b < dataset->dead_count; b++)
        marked += weir_bits_population(&dataset->dead[b].removed) +
                  weir_bits_population(&dataset->dead[b].replaced);
    if (dataset->dead_count > blocks)
        doctor_wrong(doctor, DOCTOR_ACCOUNTS,
                     weir_format("block %zu has dead rows", dataset->dead_count - 1),
                     weir_format("at most %zu blocks", blocks));
    if (marked < doctor->counted.removed + doctor->counted.replaced)
        doctor_wrong(doctor, DOCTOR_ACCOUNTS, weir_strdup("fewer marks than dead samples"), NULL);
}

static void check_accounts(struct doctor *doctor, const struct dataset *dataset)
{
    const struct accounts *said = &dataset->accounts, *counted = &doctor->counted;
    const struct {
        const char *name;
        uint64_t said, counted;
    } ACCOUNTS[] = {
        {"ingested", said->ingested, counted->ingested},
        {"live", said->live, counted->live},
        {"erased", said->erased, counted->erased},
        {"removed", said->removed, counted->removed},
        {"replaced", said->replaced, counted->replaced},
        {"bytes", said->bytes, counted->bytes},
    };

    for (size_t i = 0; i < WEIR_COUNT(ACCOUNTS); i++) {
        if (ACCOUNTS[i].said != ACCOUNTS[i].counted)
            doctor_wrong(
                doctor, DOCTOR_ACCOUNTS,
                weir_format("%s = %" PRIu64, ACCOUNTS[i].name, ACCOUNTS[i].said),
                weir_format("%" PRIu64 ", counted from chunks and marks", ACCOUNTS[i].counted));
    }
    check_dead_end(doctor, dataset);
    if (!doctor->is_bad[DOCTOR_ACCOUNTS])
        storage_doctor_say(doctor, DOCTOR_ACCOUNTS, DOCTOR_FINE,
                           weir_format("%" PRIu64 " ingested = %" PRIu64 " live + %" PRIu64
                                       " erased + %" PRIu64 " removed + %" PRIu64 " replaced",
                                       said->ingested, said->live, said->erased, said->removed,
                                       said->replaced),
                           NULL);
}

enum weir_status storage_doctor_accounts(struct doctor *doctor, bool *ret_done,
                                         struct weir_error *err)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);

    *ret_done = true;
    if (doctor->is_bad[DOCTOR_CHUNKS] || doctor->is_bad[DOCTOR_IDS])
        return WEIR_OK; /* what cannot be read cannot be counted */
    if (doctor->at < doctor->file_count) {
        *ret_done = false;
        return check_file(doctor, dataset, doctor->at++, err);
    }
    check_accounts(doctor, dataset);
    return WEIR_OK;
}
