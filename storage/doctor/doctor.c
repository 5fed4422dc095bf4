/* The course of an examination, and what it says: see doctor.h. */
#include "storage/chunks/chunk_cache.h"
#include "storage/doctor/doctor_state.h"
#include "storage/sql/queries.h"

#include "core/base/clock.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <unistd.h>

enum { STEP_MS = 10, CACHE_BYTES = 4 << 20 };

static const struct {
    const char *name, *advice;
} CHECKS[DOCTOR_CHECKS] = {
    [DOCTOR_CATALOG] = {"catalog", "restore the database from a backup"},
    [DOCTOR_IDS] = {"ids", "chunks were lost or made outside of Weir: restore the database from a "
                           "backup"},
    [DOCTOR_CHUNKS] = {"chunks",
                       "a chunk in Postgres is damaged: restore the database from a backup"},
    [DOCTOR_ACCOUNTS] = {"accounts", "counts were changed outside of Weir: set the column of "
                                     "storage.dataset to what is expected, or restore a backup"},
    [DOCTOR_FEED] = {"feed",
                     "consumers may have missed a change: restore the database from a backup, "
                     "or run the pipelines of this dataset again"},
    [DOCTOR_REFUSED] = {"refused", "counts were changed outside of Weir: set the column of "
                                   "storage.dataset to what is expected"},
    [DOCTOR_KEYS] = {"keys", "subjects may not be found: restore the database from a backup before "
                             "the next erasure"},
    [DOCTOR_ERASURES] = {"erasures", "erased samples may be in use: submit the erasure again"},
    [DOCTOR_FILES] = {"files", "put the file back as it was, or remove it from the source: its "
                               "samples are then removed from the dataset"},
    [DOCTOR_BYTES] = {"bytes",
                      "the disk or somebody has changed the file: copy it from its source, "
                      "or from a backup"},
};

/* ---- findings ---- */

static void add_finding(struct doctor *doctor, const struct finding *finding)
{
    doctor->is_bad[finding->check] |= finding->verdict == DOCTOR_WRONG;
    if (doctor->finding_count == FINDINGS_MAX && finding->verdict != DOCTOR_FINE) {
        doctor->wrong_unlisted += finding->verdict == DOCTOR_WRONG;
        free(finding->found);
        free(finding->expected);
        return;
    }
    doctor->findings =
        weir_realloc(doctor->findings, doctor->finding_count + 1, sizeof(*doctor->findings));
    doctor->findings[doctor->finding_count++] = *finding;
}

void storage_doctor_say(struct doctor *doctor, enum doctor_check check, enum doctor_verdict verdict,
                        char *found, char *expected)
{
    add_finding(doctor, &(struct finding){.check = check,
                                          .verdict = verdict,
                                          .dataset = doctor->catalog != NULL ? doctor->number : 0,
                                          .file = -1,
                                          .found = found,
                                          .expected = expected});
}

void storage_doctor_say_file(struct doctor *doctor, enum doctor_check check,
                             enum doctor_verdict verdict, const struct stored_file *file,
                             char *found, char *expected)
{
    add_finding(doctor, &(struct finding){.check = check,
                                          .verdict = verdict,
                                          .dataset = doctor->number,
                                          .file = (int64_t)storage_file_number(file),
                                          .found = found,
                                          .expected = expected});
}

static void drop_findings(struct doctor *doctor, size_t kept)
{
    while (doctor->finding_count > kept) {
        struct finding *finding = &doctor->findings[--doctor->finding_count];

        free(finding->found);
        free(finding->expected);
    }
}

/* ---- phases of a dataset ---- */

static enum weir_status confirm(struct doctor *doctor, bool *ret_done, struct weir_error *err);

static const struct {
    doctor_phase_fn *fn;
    const char *doing;
    bool counts; /* the dataset must not change meanwhile */
} PHASES[] = {
    {storage_doctor_chunks, "chunks", true},
    {storage_doctor_accounts, "accounts", true},
    {storage_doctor_feed, "change feed", true},
    {storage_doctor_refused, "refusals", true},
    {storage_doctor_keys, "keys", true},
    {storage_doctor_erasures, "erasures", true},
    {confirm, "counts", true},
    {storage_doctor_files, "files", false},
};

void storage_doctor_close_files(struct doctor *doctor)
{
    if (doctor->fd >= 0)
        close(doctor->fd);
    if (doctor->source_fd >= 0)
        close(doctor->source_fd);
    doctor->fd = doctor->source_fd = -1;
}

/* The one at doctor->dataset, from its beginning; none when there is none (any more). */
static void begin_dataset(struct doctor *doctor)
{
    const struct dataset *dataset =
        doctor->dataset < doctor->catalog->count ? storage_doctor_dataset(doctor) : NULL;

    storage_doctor_close_files(doctor);
    free(doctor->file_samples);
    doctor->file_count = dataset != NULL ? storage_dataset_file_end(dataset) : 0;
    doctor->file_samples = weir_calloc(doctor->file_count + 1, sizeof(*doctor->file_samples));
    doctor->number = dataset != NULL ? dataset->number : UINT32_MAX;
    doctor->sequence = dataset != NULL ? dataset->sequence : 0;
    doctor->run = (struct run_check){0};
    doctor->phase = 0;
    doctor->at = 0;
    doctor->next_row = doctor->feed_at = doctor->entries = doctor->files = doctor->bytes = 0;
    doctor->summed = doctor->unsummed = doctor->unproven = 0;
    doctor->added_seen = 0;
    doctor->counted = (struct accounts){0};
    for (int i = 0; i < DOCTOR_CHECKS; i++)
        doctor->is_bad[i] = false;
}

/* All that it has read of the store: names of files and classes, times and labels. */
static void let_go(struct doctor *doctor)
{
    storage_catalog_free(doctor->catalog);
    doctor->catalog = NULL;
    storage_chunk_cache_clear(doctor->cache);
}

/* Begins what stands at doctor->dataset; what was found before stays. */
static void next_dataset(struct doctor *doctor)
{
    doctor->kept = doctor->finding_count;
    doctor->tries = 0;
    begin_dataset(doctor);
}

/* Pushes and erasures go on: what was counted while one of them committed is counted again, unless that happens too
 * often: then its files are next. */
static void count_again(struct doctor *doctor)
{
    drop_findings(doctor, doctor->kept);
    begin_dataset(doctor);
    if (++doctor->tries < DOCTOR_TRIES_MAX)
        return;
    storage_doctor_say(doctor, DOCTOR_ACCOUNTS, DOCTOR_NOTE,
                       weir_strdup("the dataset changed whenever it was being counted"),
                       weir_strdup("a moment without pushes"));
    while (PHASES[doctor->phase].counts)
        doctor->phase++;
}

static enum weir_status confirm(struct doctor *doctor, bool *ret_done, struct weir_error *err)
{
    const struct dataset *dataset = storage_doctor_dataset(doctor);
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status =
        DB_RUN(doctor->examined.store->db, Q_dataset_sequence, &rows, err, DB_I64(dataset->number));

    *ret_done = true;
    if (status != WEIR_OK || (weir_rows_count(rows) == 1 &&
                              (uint64_t)weir_rows_i64(rows, 0, "sequence") == dataset->sequence))
        return status;
    *ret_done = false;
    let_go(doctor);
    return WEIR_OK;
}

/* Reads the catalog, and goes on where the examination stood when it was last let go. */
static enum weir_status take_up(struct doctor *doctor, struct weir_error *err)
{
    enum weir_status status = storage_catalog_load(
        doctor->examined.store->db, doctor->examined.store->data_dir, &doctor->catalog, err);

    if (status != WEIR_OK)
        return status;
    doctor->dataset = 0;
    while (doctor->dataset < doctor->catalog->count &&
           storage_doctor_dataset(doctor)->number < doctor->number)
        doctor->dataset++;
    if (doctor->dataset == doctor->catalog->count ||
        storage_doctor_dataset(doctor)->number != doctor->number)
        next_dataset(doctor);
    else if (PHASES[doctor->phase].counts &&
             storage_doctor_dataset(doctor)->sequence != doctor->sequence)
        count_again(doctor);
    return WEIR_OK;
}

static enum weir_status examine(struct doctor *doctor, struct weir_error *err)
{
    bool is_done = false;
    enum weir_status status = doctor->catalog == NULL ? take_up(doctor, err) : WEIR_OK;

    if (status != WEIR_OK)
        return status;
    if (doctor->dataset >= doctor->catalog->count) { /* fewer: some were removed meanwhile */
        doctor->is_done = true;
        return WEIR_OK;
    }
    status = PHASES[doctor->phase].fn(doctor, &is_done, err);
    if (status != WEIR_OK || !is_done)
        return status;
    doctor->at = 0;
    if (++doctor->phase < (int)WEIR_COUNT(PHASES))
        return WEIR_OK;
    doctor->dataset++;
    next_dataset(doctor);
    return WEIR_OK;
}

/* ---- life ---- */

void storage_doctor_free(struct doctor *doctor)
{
    if (doctor == NULL)
        return;
    drop_findings(doctor, 0);
    free(doctor->findings);
    free(doctor->file_samples);
    free(doctor->sums);
    storage_doctor_close_files(doctor);
    storage_chunk_cache_free(doctor->cache);
    storage_catalog_free(doctor->catalog);
    free(doctor);
}

bool storage_doctor_counts(const struct doctor *doctor)
{
    return doctor != NULL && !doctor->is_done && PHASES[doctor->phase].counts;
}

void storage_doctor_forget(struct doctor *doctor)
{
    if (doctor != NULL)
        let_go(doctor);
}

bool storage_doctor_step(struct doctor *doctor)
{
    int64_t began_ms = weir_now_ms();

    if (doctor == NULL || doctor->is_done)
        return false;
    do {
        struct weir_error err;

        if (examine(doctor, &err) == WEIR_OK)
            continue;
        doctor_wrong(doctor, DOCTOR_CATALOG, weir_strdup(err.text),
                     weir_strdup("a store that can be read"));
        doctor->is_done = true;
    } while (!doctor->is_done && weir_now_ms() < began_ms + doctor->step_ms);
    if (doctor->is_done)
        let_go(doctor);
    return !doctor->is_done;
}

static struct doctor *begin(const struct examined *examined, const struct msg_doctor_request *asked)
{
    struct doctor *doctor = weir_calloc(1, sizeof(*doctor));

    doctor->examined = *examined;
    doctor->session = asked->session;
    doctor->is_deep = asked->deep;
    doctor->cache = storage_chunk_cache_new(CACHE_BYTES);
    doctor->fd = doctor->source_fd = -1;
    doctor->step_ms = STEP_MS;
    return doctor;
}

/* ---- answering ---- */

/* A finding about a file names it as it is called now: nothing, once its samples are erased. */
static const char *found_of(const struct finding *finding, const struct dataset *dataset,
                            struct weir_arena *arena)
{
    struct stored_file *file = NULL;
    struct weir_error err;

    if (finding->file < 0)
        return weir_arena_format(arena, "%s", finding->found);
    if (dataset != NULL &&
        storage_dataset_file(dataset, (uint64_t)finding->file, &file, &err) != WEIR_OK)
        file = NULL;
    return weir_arena_format(arena, "%s: %s",
                             file != NULL && file->path != NULL ? file->path : "(erased)",
                             finding->found);
}

static void fill(const struct doctor *doctor, struct weir_arena *arena,
                 struct msg_doctor_is *answer)
{
    size_t count = doctor->finding_count;
    const char **texts[5];
    uint32_t *verdicts = weir_arena_alloc(arena, (count + 1) * sizeof(*verdicts));

    for (size_t k = 0; k < WEIR_COUNT(texts); k++)
        texts[k] = weir_arena_alloc(arena, (count + 1) * sizeof(**texts));
    for (size_t i = 0; i < count; i++) {
        const struct finding *finding = &doctor->findings[i];
        const struct dataset *dataset =
            storage_catalog_at(doctor->examined.store->catalog, finding->dataset);

        verdicts[i] = finding->verdict;
        texts[0][i] = CHECKS[finding->check].name;
        texts[1][i] = weir_arena_format(arena, "%s", dataset != NULL ? dataset->name : "");
        texts[2][i] = found_of(finding, dataset, arena);
        texts[3][i] =
            weir_arena_format(arena, "%s", finding->expected != NULL ? finding->expected : "");
        texts[4][i] = finding->verdict == DOCTOR_WRONG ? CHECKS[finding->check].advice : "";
    }
    answer->checks = (struct weir_strs){texts[0], count};
    answer->datasets = (struct weir_strs){texts[1], count};
    answer->verdicts = (struct weir_u32s){verdicts, count};
    answer->found = (struct weir_strs){texts[2], count};
    answer->expected = (struct weir_strs){texts[3], count};
    answer->advice = (struct weir_strs){texts[4], count};
}

enum weir_status storage_doctor_report(struct doctor **newest, const struct examined *examined,
                                       const struct msg_doctor_request *asked,
                                       struct weir_arena *arena, struct msg_doctor_is *answer,
                                       struct weir_error *err)
{
    struct doctor *doctor = *newest;
    enum weir_status status = storage_ready(examined->store, err);

    if (status != WEIR_OK)
        return status;
    if (doctor == NULL || doctor->session != asked->session) {
        storage_doctor_free(doctor);
        *newest = doctor = begin(examined, asked);
        storage_pump(examined->store);
    }
    answer->done = doctor->is_done;
    answer->doing =
        doctor->is_done || doctor->catalog == NULL || doctor->dataset >= doctor->catalog->count
            ? ""
            : weir_arena_format(arena, "%s: %s", storage_doctor_dataset(doctor)->name,
                                PHASES[doctor->phase].doing);
    answer->unlisted = doctor->wrong_unlisted;
    if (doctor->is_done)
        fill(doctor, arena, answer);
    return WEIR_OK;
}
