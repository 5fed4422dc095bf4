/* Making one batch. */
#include "preprocess/worker/batch_maker.h"

#include "core/base/clock.h"
#include "core/base/line_at.h"
#include "core/base/memory.h"
#include "core/base/utf8.h"
#include "core/wire/sample.h"
#include "preprocess/worker/rows.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAPPED_SAMPLES_MAX = 512 /* taken together */, AHEAD = 16 };

struct batch_maker {
    struct files *files;
    struct crashes *crashes;
    struct batch_maker_read has_read;
    /* One batch at a time: */
    struct rows rows;
    struct weir_buf times; /* event times of the rows, where operators read them */
    struct weir_bits read; /* files that samples were read from */
    struct mapping mappings[FILES_OPEN_MAX]; /* of those files, where there are no more */
    struct mapping_range taken[MAPPED_SAMPLES_MAX];
    bool is_plain; /* nothing is to be said of any sample by itself */
    bool in_place; /* what lies in a mapping is left there for the first operator */
    bool drops;    /* operators gave up rows of the newest batch: perhaps of the next one, too */
    char reason[BATCH_MAKER_REASON_MAX];
    struct failures failures;
    struct kept *kept; /* NULL: nothing is */
    struct kept_rows known;
};

struct batch_maker *preprocess_batch_maker_new(struct crashes *crashes)
{
    struct batch_maker *maker = weir_calloc(1, sizeof(*maker));
    maker->files = preprocess_files_new();
    maker->crashes = crashes;
    return maker;
}

void preprocess_batch_maker_free(struct batch_maker *maker)
{
    if (maker == NULL)
        return;
    preprocess_files_free(maker->files);
    preprocess_rows_fini(&maker->rows);
    weir_buf_fini(&maker->times);
    weir_bits_fini(&maker->read);
    preprocess_kept_rows_fini(&maker->known);
    free(maker);
}

void preprocess_batch_maker_use_kept(struct batch_maker *maker, struct kept *kept)
{
    maker->kept = kept;
}

const struct kept_rows *preprocess_batch_maker_kept(const struct batch_maker *maker)
{
    return &maker->known;
}

struct batch_maker_read preprocess_batch_maker_read(const struct batch_maker *maker)
{
    return maker->has_read;
}

const char *preprocess_batch_maker_reason(const struct batch_maker *maker)
{
    return maker->reason;
}

struct files *preprocess_batch_maker_files(struct batch_maker *maker)
{
    return maker->files;
}

void preprocess_batch_maker_forget_files(struct batch_maker *maker)
{
    preprocess_files_forget(maker->files);
}

void preprocess_batch_maker_wipe(struct batch_maker *maker)
{
    preprocess_files_forget(maker->files);
    preprocess_rows_fini(&maker->rows);
    preprocess_kept_rows_fini(&maker->known);
    explicit_bzero(&maker->failures, sizeof(maker->failures));
    explicit_bzero(maker->reason, sizeof(maker->reason));
}

/* ---- reading ---- */

/* Writes " (line 7 of PATH)", or the byte where there are no lines; leaves "" for what lies in no file (tasks.c). */
static void place_of(const struct batch_request *request, const struct located_sample *sample,
                     char place[BATCH_MAKER_PLACE_MAX])
{
    const char *path = request->located->files[sample->file].path;
    size_t size = strlen(path),
           left_out = size > BATCH_MAKER_PATH_MAX ? size - BATCH_MAKER_PATH_MAX : 0;
    uint64_t line = request->tells_line ? weir_line_at(path, sample->offset) : 0;
    if (size > 0)
        snprintf(place, BATCH_MAKER_PLACE_MAX, " (%s %lu of %s%s)", line > 0 ? "line" : "byte",
                 line > 0 ? line : sample->offset, left_out > 0 ? "..." : "", path + left_out);
}

/* Lists a sample that has failed. */
static void note_failure(struct batch_maker *maker, const struct batch_request *request,
                         const struct located_sample *sample, const char *why)
{
    char place[BATCH_MAKER_PLACE_MAX] = "";
    preprocess_failures_note(&maker->failures, sample->id, why);
    if (maker->failures.count > 1)
        return;
    place_of(request, sample, place);
    weir_utf8_print(maker->reason, sizeof(maker->reason), "sample %lu%s cannot be read: %s",
                    sample->id, place, why);
}

static bool is_given_up(const struct batch_maker *maker, const struct batch_request *request,
                        uint64_t id, int *ret_signal)
{
    return maker->crashes != NULL &&
           preprocess_crashes_is_given_up(maker->crashes, request->job, id, ret_signal);
}

static bool is_too_large(const struct batch_request *request, const struct located_sample *sample,
                         size_t payload_bytes)
{
    return sample->length > request->plan->options.batch.sample_bytes_max ||
           sample->length > PREPROCESS_PAYLOAD_BYTES_MAX - payload_bytes;
}

/* Returns the state of a sample before it is read. */
static enum weir_sample_state state_of(struct batch_maker *maker,
                                       const struct batch_request *request,
                                       const struct located_sample *sample, size_t payload_bytes)
{
    if (preprocess_flow_is_erased(request->flow, sample->id))
        return WEIR_SAMPLE_ERASED;
    if (sample->state != WEIR_SAMPLE_LIVE)
        return sample->state;
    int signal = 0;
    char why[FAILURE_REASON_MAX];
    if (is_given_up(maker, request, sample->id, &signal))
        snprintf(why, sizeof(why), "reading: it has crashed workers (%s), and is no longer tried",
                 signal == SIGKILL ? "memory ran out" : strsignal(signal));
    else if (is_too_large(request, sample, payload_bytes))
        snprintf(why, sizeof(why),
                 "reading: a sample of %lu bytes, expected at most %lu, and %d in a batch",
                 (uint64_t)sample->length, request->plan->options.batch.sample_bytes_max,
                 PREPROCESS_PAYLOAD_BYTES_MAX);
    else
        return WEIR_SAMPLE_LIVE;
    note_failure(maker, request, sample, why);
    return WEIR_SAMPLE_FAILED;
}

static struct file_range range_of(const struct located *located,
                                  const struct located_sample *sample)
{
    return (struct file_range){
        .file = &located->files[sample->file], .offset = sample->offset, .length = sample->length};
}

/* A file that was read from: if it is mapped now, the batch reads on from there. */
static void note_file(struct batch_maker *maker, const struct batch_request *request, uint32_t file)
{
    const struct mapping *mapping =
        preprocess_files_mapping(maker->files, &request->located->files[file]);
    weir_bits_set(&maker->read, file);
    if (mapping != NULL && request->located->file_count <= FILES_OPEN_MAX)
        maker->mappings[file] = *mapping;
}

/* A file that is not the one located may be so again once it is located again, and is storage's to read
 * after that; one that cannot be opened is so at once. */
static enum weir_status read_file(struct batch_maker *maker, const struct batch_request *request,
                                  const struct located_sample *sample, struct weir_buf *out,
                                  struct weir_error *err)
{
    struct file_range range = range_of(request->located, sample);
    enum weir_status status = preprocess_files_read(maker->files, &range, out, err);
    if (status == WEIR_OK)
        status =
            preprocess_record_sums_check(request->sums, maker->files, &range, sample->id, out, err);
    if (status == WEIR_OK)
        note_file(maker, request, sample->file);
    if (status == WEIR_OK || (status == WEIR_STALE && request->located->tries == 0))
        return status;
    preprocess_fetched_add_file(request->fetched, sample->file);
    return WEIR_UNAVAILABLE;
}

/* Fails when a file has changed since it was read: perhaps the bytes are not those located. */
static enum weir_status check_files(struct batch_maker *maker, const struct batch_request *request,
                                    struct weir_error *err)
{
    const struct located *located = request->located;
    enum weir_status status = WEIR_OK;
    for (uint32_t i = 0; i < located->file_count; i++) {
        if (!weir_bits_get(&maker->read, i) ||
            preprocess_files_check(maker->files, &located->files[i]))
            continue;
        if (located->tries == 0)
            return weir_fail(err, WEIR_STALE, "%s: changed while it was read",
                             located->files[i].path);
        preprocess_fetched_add_file(request->fetched, i);
        status = WEIR_UNAVAILABLE;
    }
    return status;
}

static enum weir_status read_fetched(const struct batch_request *request,
                                     const struct located_sample *sample, struct weir_buf *out,
                                     enum weir_sample_state *ret_state)
{
    if (!preprocess_fetched_has_batch(request->fetched, request->batch))
        return WEIR_UNAVAILABLE;
    const struct fetched_sample *found = preprocess_fetched_next(request->fetched, sample->id);
    if (found == NULL) { /* it was not asked for, as its row was still there */
        preprocess_fetched_drop(request->fetched);
        return WEIR_UNAVAILABLE;
    }
    *ret_state = found->state;
    if (*ret_state == WEIR_SAMPLE_GONE && request->located->tries < LOCATE_TRIES_MAX)
        return WEIR_STALE;
    if (*ret_state == WEIR_SAMPLE_LIVE)
        weir_buf_append(out, request->fetched->bytes.at + found->offset, found->length);
    return WEIR_OK;
}

/* Rows that are not left where they lie get their places once all are read, for they still move. */
static void end_row(struct batch_maker *maker, struct column *payload)
{
    if (maker->in_place)
        weir_buf_append(&payload->places, &(const uint8_t *){NULL}, sizeof(const uint8_t *));
    preprocess_column_end_row(payload);
}

static enum weir_status read_sample(struct batch_maker *maker, const struct batch_request *request,
                                    const struct located_sample *sample, size_t place,
                                    struct column *payload, struct weir_error *err)
{
    enum weir_sample_state state =
        state_of(maker, request, sample, payload->values.size + maker->known.spared_bytes);
    enum weir_status status = WEIR_OK;
    size_t before = payload->values.size;
    if (state == WEIR_SAMPLE_LIVE &&
        preprocess_kept_rows_take(&maker->known, place, sample->length, &payload->values)) {
        preprocess_rows_add(&maker->rows, sample, place, 1);
        end_row(maker, payload);
        return WEIR_OK;
    }
    bool is_fetched = preprocess_fetched_has_file(request->fetched, sample->file);
    if (state == WEIR_SAMPLE_LIVE && is_fetched)
        status = read_fetched(request, sample, &payload->values, &state);
    else if (state == WEIR_SAMPLE_LIVE)
        status = read_file(maker, request, sample, &payload->values, err);
    if (status != WEIR_OK)
        return status;
    if (state != WEIR_SAMPLE_LIVE) {
        preprocess_rows_add_hole(&maker->rows, sample->id, state);
        return WEIR_OK;
    }
    maker->has_read.bytes += payload->values.size - before;
    if (is_fetched)
        preprocess_kept_rows_add(&maker->known, sample->id, &payload->values, before);
    preprocess_rows_add(&maker->rows, sample, place, 1);
    end_row(maker, payload);
    return WEIR_OK;
}

/* ---- from memory ---- */

/* True when no sample of the batch is given up, erased, or storage's to read. */
static bool is_plain(const struct batch_maker *maker, const struct batch_request *request)
{
    return (maker->crashes == NULL || !preprocess_crashes_any(maker->crashes)) &&
           request->flow->erased_count == 0 && request->fetched->files.count == 0;
}

static bool is_odd(const struct batch_maker *maker, const struct batch_request *request,
                   const struct located_sample *sample)
{
    int signal;
    return preprocess_fetched_has_file(request->fetched, sample->file) ||
           preprocess_flow_is_erased(request->flow, sample->id) ||
           is_given_up(maker, request, sample->id, &signal);
}

/* Returns the place in memory of an ordinary small sample in a mapped file; else NULL. */
static const uint8_t *find_in_memory(const struct batch_maker *maker,
                                     const struct batch_request *request,
                                     const struct located_sample *sample, size_t place,
                                     size_t payload_bytes)
{
    payload_bytes += maker->known.spared_bytes;
    if (sample->state != WEIR_SAMPLE_LIVE || sample->length > FILES_SMALL_BYTES_MAX ||
        preprocess_kept_rows_has(&maker->known, place) ||
        is_too_large(request, sample, payload_bytes) || sample->file >= FILES_OPEN_MAX ||
        (!maker->is_plain && is_odd(maker, request, sample)))
        return NULL;
    return mapping_at(&maker->mappings[sample->file], sample->offset, sample->length);
}

static void add_places(const struct batch_maker *maker, size_t count, struct column *payload)
{
    weir_buf_reserve(&payload->places, count * sizeof(const uint8_t *));
    const uint8_t **places = (const uint8_t **)(void *)(payload->places.at + payload->places.size);
    for (size_t i = 0; i < count; i++)
        places[i] = maker->taken[i].from;
    payload->places.size += count * sizeof(*places);
}

/* Rows of samples whose bytes are there, or lie where `taken` says. */
static void add_rows(struct batch_maker *maker, const struct located_sample *samples, size_t first,
                     size_t count, struct column *payload)
{
    size_t end = payload->values.size, before = payload->offsets.size / sizeof(uint32_t);
    weir_buf_reserve(&payload->offsets, count * sizeof(uint32_t));
    uint32_t *offsets = (uint32_t *)(void *)payload->offsets.at + before;
    for (size_t i = 0; i < count; i++) {
        end += maker->taken[i].length;
        offsets[i] = (uint32_t)end;
    }
    preprocess_rows_add(&maker->rows, samples + first, first, count);
    if (maker->in_place)
        add_places(maker, count, payload);
    payload->offsets.size += count * sizeof(uint32_t);
    maker->has_read.bytes += end - payload->values.size;
    payload->values.size = end;
}

/* Takes samples from `first` on for as long as they lie in memory; returns how many. read_sample() reads the others. */
static size_t take_mapped(struct batch_maker *maker, const struct batch_request *request,
                          const struct located_sample *samples, size_t first, size_t count,
                          struct column *payload)
{
    size_t found = 0, end = payload->values.size;
    size_t most = count - first < MAPPED_SAMPLES_MAX ? count - first : MAPPED_SAMPLES_MAX;
    for (; found < most; found++) {
        const struct located_sample *sample = &samples[first + found];
        __builtin_prefetch(sample + AHEAD);
        const uint8_t *at = find_in_memory(maker, request, sample, first + found, end);
        if (at == NULL)
            break;
        maker->taken[found] = (struct mapping_range){at, sample->length};
        end += sample->length;
    }
    if (found == 0)
        return 0;
    weir_buf_reserve(&payload->values, end - payload->values.size);
    if (!maker->in_place &&
        !preprocess_mapping_copy(maker->taken, found, payload->values.at + payload->values.size))
        return 0;
    add_rows(maker, samples, first, found, payload);
    return found;
}

/* ---- all of a batch ---- */

static void begin(struct batch_maker *maker, const struct batch_request *request, size_t count)
{
    preprocess_rows_begin(&maker->rows, count, request->plan->set.weights != NULL);
    memset(maker->mappings, 0, sizeof(maker->mappings));
    maker->is_plain = is_plain(maker, request);
    maker->failures.count = 0;
    weir_bits_clear(&maker->read);
    preprocess_files_begin(maker->files);
    preprocess_fetched_rewind(request->fetched);
}

static void settle_places(struct column *payload, size_t rows)
{
    const uint32_t *offsets = column_offsets(payload);
    const uint8_t **places = (const uint8_t **)(void *)payload->places.at;
    for (size_t i = 0; i < rows && payload->places.size > 0; i++) {
        if (places[i] == NULL)
            places[i] = payload->values.at + offsets[i];
    }
}

/* Fills the payload column with the live samples of the batch. Goes on after what storage has to read, so that
 * it is asked for all of it at once. */
static enum weir_status read_samples(struct batch_maker *maker, const struct batch_request *request,
                                     struct weir_error *err)
{
    size_t count;
    const struct located_sample *samples =
        preprocess_located_batch(request->located, request->plan, request->batch, &count);
    struct column *payload = preprocess_chain_begin(request->plan->chain);
    bool is_whole = true;
    begin(maker, request, count);
    for (size_t i = 0; i < count; i++) {
        i += take_mapped(maker, request, samples, i, count, payload);
        if (i == count)
            break;
        enum weir_status status = read_sample(maker, request, &samples[i], i, payload, err);
        if (status != WEIR_OK && status != WEIR_UNAVAILABLE)
            return status;
        is_whole = is_whole && status == WEIR_OK;
    }
    settle_places(payload, maker->rows.count);
    return is_whole ? WEIR_OK : WEIR_UNAVAILABLE;
}

static uint64_t key_of(const struct batch_request *request)
{
    if (!request->plan->keeps_records)
        return request->plan->kept_key;
    return request->fetched->files.count > 0 ? WEIR_CACHE_RECORDS : 0;
}

/* Finds the rows that are kept, of a batch that is to be made: a fit is made of all of them. */
static void find_kept(struct batch_maker *maker, const struct batch_request *request, bool is_made)
{
    size_t count;
    const struct located_sample *samples =
        preprocess_located_batch(request->located, request->plan, request->batch, &count);
    preprocess_kept_rows_begin(&maker->known, maker->kept, is_made ? key_of(request) : 0, samples,
                               count);
}

static enum weir_status read_timed(struct batch_maker *maker, const struct batch_request *request,
                                   struct weir_error *err)
{
    int64_t begun_ns = weir_now_ns();
    enum weir_status status = read_samples(maker, request, err);
    maker->has_read.ns += weir_now_ns() - begun_ns;
    return status;
}

/* ---- frames ---- */

/* Names the samples that operators could not read; the last one has the newest reason. */
static void keep_reasons(struct batch_maker *maker, const struct batch_request *request)
{
    size_t count;
    const struct operator_failures *failures = preprocess_chain_failures(request->plan->chain);
    const struct located_sample *samples =
        preprocess_located_batch(request->located, request->plan, request->batch, &count);
    for (size_t i = 0; i < failures->count; i++) {
        const struct operator_failure *failure = &failures->of[i];
        char why[FAILURE_REASON_MAX];
        const struct located_sample *sample = &samples[maker->rows.samples[failure->row]];
        bool is_lent = weir_sample_dataset(sample->id) == WEIR_DATASET_LENT; /* reasons are kept */
        weir_utf8_print(why, sizeof(why), "%s: %s",
                        preprocess_chain_cost(request->plan->chain, failure->step).name,
                        is_lent ? "the reason is not kept" : failure->reason);
        note_failure(maker, request, sample, why);
    }
}

static bool all_are_ok(const uint8_t *flags, size_t rows)
{
    size_t i = 0;
    while (i < rows && flags[i] == OPERATOR_ROW_OK)
        i++;
    return i == rows;
}

/* Rows that an operator could not read, or dropped, have left the columns and become holes. */
static void drop_rows(struct batch_maker *maker, const struct batch_request *request,
                      const uint8_t *flags)
{
    maker->drops = !all_are_ok(flags, maker->rows.count);
    if (!maker->drops)
        return;
    keep_reasons(maker, request);
    preprocess_rows_drop(&maker->rows, flags);
}

static size_t weight_bytes(const struct rows *rows)
{
    return rows->weights != NULL ? rows->count * sizeof(*rows->weights) : 0;
}

/* Has dense tensors made where they are sent from: after the frames of give_rows(), up to the first whose size is not
 * known. Where rows leave the batch afterwards everything moves, and it is copied as a whole. */
static void lend_tensors(const struct batch_maker *maker, const struct batch_request *request)
{
    const struct rows *rows = &maker->rows;
    if (request->loan == NULL || maker->drops)
        return;
    const struct weir_loan *loan = &request->loan->memory;
    size_t at = worker_batch_step(rows->count * sizeof(*rows->ids)) +
                worker_batch_step(rows->count * sizeof(*rows->labels)) +
                worker_batch_step(weight_bytes(rows)) +
                worker_batch_step(rows->holes * sizeof(*rows->hole_ids));
    for (size_t i = 0; i < preprocess_chain_outputs(request->plan->chain); i++) {
        struct column *column = preprocess_chain_output(request->plan->chain, i);
        size_t size = rows->count * column_row_bytes(column);
        if (column->about.kind != COLUMN_DENSE || at > loan->size || size > loan->size - at)
            return;
        weir_buf_lend(&column->values, loan->at + at, size);
        at += worker_batch_step(size);
    }
}

static void give_rows(struct worker_batch *batch, struct rows *rows)
{
    batch->samples = rows->count;
    batch->holes = rows->holes;
    batch->hole_states = WEIR_TAKE(rows->hole_states);
    for (size_t i = 0; i < batch->holes; i++)
        batch->failed += batch->hole_states[i] == WEIR_SAMPLE_FAILED;
    size_t weights = weight_bytes(rows); /* before they are taken */
    preprocess_batch_give(batch, WEIR_TAKE(rows->ids), rows->count * sizeof(*rows->ids));
    preprocess_batch_give(batch, WEIR_TAKE(rows->labels), rows->count * sizeof(*rows->labels));
    preprocess_batch_give(batch, WEIR_TAKE(rows->weights), weights);
    preprocess_batch_give(batch, WEIR_TAKE(rows->hole_ids), rows->holes * sizeof(*rows->hole_ids));
}

/* The last frame, when labels are vectors. */
static void give_values(struct worker_batch *batch, const struct batch_maker *maker,
                        const struct batch_request *request)
{
    size_t width = batch->label_width, count;
    if (width == 0)
        return;
    const struct located_sample *samples =
        preprocess_located_batch(request->located, request->plan, request->batch, &count);
    float *values = weir_calloc(batch->samples * width + 1, sizeof(*values));
    for (size_t i = 0; i < batch->samples; i++)
        memcpy(values + i * width,
               preprocess_located_values(request->located, &samples[maker->rows.samples[i]]),
               width * sizeof(*values));
    preprocess_batch_give(batch, values, batch->samples * width * sizeof(*values));
}

/* Returns the event times of the rows; NULL: no operator reads them. */
static const int64_t *gather_times(struct batch_maker *maker, const struct batch_request *request)
{
    const struct located *located = request->located;
    size_t count, rows = maker->rows.count;
    if (located->times == NULL)
        return NULL;
    const struct located_sample *samples =
        preprocess_located_batch(located, request->plan, request->batch, &count);
    weir_buf_clear(&maker->times);
    weir_buf_reserve(&maker->times, rows * sizeof(int64_t));
    int64_t *times = (int64_t *)(void *)maker->times.at;
    for (size_t i = 0; i < rows; i++)
        times[i] = located->times[samples - located->samples + maker->rows.samples[i]];
    return times;
}

static struct operator_batch about_batch(struct batch_maker *maker,
                                         const struct batch_request *request)
{
    return (struct operator_batch){
        .rows = maker->rows.count,
        .ids = maker->rows.ids,
        .times = gather_times(maker, request),
        .labels = maker->rows.labels,
        .label_kind = request->located->label_kind,
        .seed = request->plan->seed,
        .epoch = preprocess_epoch_of(&request->plan->geometry, request->batch),
        .trains = request->plan->trains,
        .drops = true,
        .under_way =
            maker->crashes != NULL ? preprocess_crashes_watch(maker->crashes, request->job) : NULL,
    };
}

/* ---- making ---- */

/* A batch on its way through the operators. */
struct work {
    struct chain *chain;
    struct operator_batch about;
    struct chain_partial *partial; /* to fold it into; NULL: it is to be made */
    struct kept_rows *known;
    const uint8_t *flags;
    bool is_lost; /* a row that is kept could not be read where it lies */
};

static void run_chain(void *owner)
{
    struct work *work = owner;
    preprocess_chain_use_kept(work->chain, preprocess_kept_rows_at_cut(work->known));
    if (work->partial == NULL)
        work->flags = preprocess_chain_run(work->chain, &work->about);
    else if (work->about.rows > 0)
        preprocess_chain_fold(work->chain, &work->about, work->partial);
}

/* Works on copies: files are checked before an operator sees bytes that may be half written. */
static enum weir_status work_on_copies(struct batch_maker *maker,
                                       const struct batch_request *request, struct work *work,
                                       struct weir_error *err)
{
    maker->in_place = false;
    enum weir_status status = read_timed(maker, request, err);
    if (status == WEIR_OK)
        status = check_files(maker, request, err);
    if (status != WEIR_OK)
        return status;
    work->about = about_batch(maker, request);
    lend_tensors(maker, request);
    preprocess_kept_rows_place(&maker->known, &maker->rows);
    work->is_lost = !preprocess_mapping_watch(run_chain, work);
    return WEIR_OK;
}

/* Works on samples where they lie: only after the operators is it known that they were those located. So this
 * makes batches, which can be dropped, and folds none. */
static enum weir_status work_in_place(struct batch_maker *maker,
                                      const struct batch_request *request, struct work *work,
                                      struct weir_error *err)
{
    maker->in_place = true;
    enum weir_status status = read_timed(maker, request, err);
    if (status != WEIR_OK)
        return status;
    work->about = about_batch(maker, request);
    lend_tensors(maker, request);
    preprocess_kept_rows_place(&maker->known, &maker->rows);
    if (!preprocess_mapping_watch(run_chain, work)) { /* a file has ended meanwhile */
        preprocess_kept_rows_settle(&maker->known, false, 0);
        find_kept(maker, request, true);
        return work_on_copies(maker, request, work, err);
    }
    return check_files(maker, request, err);
}

/* Until no row is lost that was kept: each time, a segment is. */
static enum weir_status work_through(struct batch_maker *maker, const struct batch_request *request,
                                     struct work *work, struct weir_error *err)
{
    bool is_good = false;
    enum weir_status status = WEIR_OK;
    int64_t before_ns = preprocess_kept_rows_spent_ns(work->chain);
    while (status == WEIR_OK && !is_good) {
        if (work->is_lost)
            preprocess_kept_give_up_shorter(maker->kept);
        work->is_lost = false;
        find_kept(maker, request, true);
        status = preprocess_chain_reads_in_place(work->chain)
                     ? work_in_place(maker, request, work, err)
                     : work_on_copies(maker, request, work, err);
        is_good = status == WEIR_OK && !work->is_lost && !preprocess_chain_has_lost(work->chain);
        preprocess_kept_rows_settle(&maker->known, is_good && !preprocess_chain_waits(work->chain),
                                    preprocess_kept_rows_spent_ns(work->chain) - before_ns);
    }
    return status;
}

enum weir_status preprocess_batch_maker_make(struct batch_maker *maker,
                                             const struct batch_request *request,
                                             struct worker_batch **ret_batch,
                                             struct weir_error *err)
{
    struct chain *chain = request->plan->chain;
    struct work work = {.known = &maker->known, .chain = chain};
    enum weir_status status = work_through(maker, request, &work, err);
    if (status != WEIR_OK)
        return status;
    if (preprocess_chain_waits(chain))
        return weir_fail(err, WEIR_TIMEOUT, "an operator is not done with it yet");
    struct worker_batch *batch = weir_calloc(1, sizeof(*batch));
    if (request->loan != NULL) {
        batch->loan = *request->loan;
        request->loan->memory.at = NULL;
    }
    drop_rows(maker, request, work.flags);
    batch->label_kind = request->located->label_kind;
    batch->label_width = request->located->label_width;
    give_rows(batch, &maker->rows);
    preprocess_batch_give_reasons(batch, maker->reason, &maker->failures);
    for (size_t i = 0; i < preprocess_chain_outputs(chain); i++)
        preprocess_batch_give_tensor(batch, preprocess_chain_output(chain, i));
    if (preprocess_chain_left(chain)->count > 0)
        preprocess_batch_leave_steps(batch, preprocess_chain_left(chain));
    give_values(batch, maker, request);
    if (maker->drops && batch->in_loan != 0)
        preprocess_batch_leave_loan(batch);
    *ret_batch = batch;
    return WEIR_OK;
}

enum weir_status preprocess_batch_maker_fold(struct batch_maker *maker,
                                             const struct batch_request *request,
                                             struct chain_partial *partial, struct weir_error *err)
{
    struct work work = {.known = &maker->known, .chain = request->plan->chain, .partial = partial};
    find_kept(maker, request, false);
    enum weir_status status = work_on_copies(maker, request, &work, err);
    if (status != WEIR_OK || work.about.rows == 0)
        return status;
    if (preprocess_chain_waits(work.chain))
        return weir_fail(err, WEIR_TIMEOUT, "an operator is not done with it yet");
    keep_reasons(maker, request);
    return WEIR_OK;
}
