/* Making one batch. */
#include "preprocess/worker/batch.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAPPED_SAMPLES_MAX = 512 }; /* that are copied together */

struct kitchen {
    struct files *files;
    struct crashes *crashes;
    uint64_t bytes_read;
    int64_t read_ns;
    /* One batch at a time: */
    struct weir_buf rows;  /* const struct located_sample *, one per row of the operators */
    struct weir_buf ids;   /* of those samples */
    struct weir_buf holes; /* struct hole */
    struct weir_bits read; /* files that samples were read from */
    struct mapping_range mapped[MAPPED_SAMPLES_MAX];
    char reason[KITCHEN_REASON_MAX];
    struct failures failures;
};

struct hole {
    uint64_t id;
    uint32_t state;
};

struct kitchen *kitchen_new(struct crashes *crashes)
{
    struct kitchen *kitchen = weir_calloc(1, sizeof(*kitchen));
    kitchen->files = files_new();
    kitchen->crashes = crashes;
    return kitchen;
}

void kitchen_free(struct kitchen *kitchen)
{
    if (kitchen == NULL)
        return;
    files_free(kitchen->files);
    weir_buf_fini(&kitchen->rows);
    weir_buf_fini(&kitchen->ids);
    weir_buf_fini(&kitchen->holes);
    weir_bits_fini(&kitchen->read);
    free(kitchen);
}

uint64_t kitchen_bytes_read(const struct kitchen *kitchen)
{
    return kitchen->bytes_read;
}

int64_t kitchen_read_ns(const struct kitchen *kitchen)
{
    return kitchen->read_ns;
}

const char *kitchen_reason(const struct kitchen *kitchen)
{
    return kitchen->reason;
}

const struct failures *kitchen_failures(const struct kitchen *kitchen)
{
    return &kitchen->failures;
}

void kitchen_forget_files(struct kitchen *kitchen)
{
    files_forget(kitchen->files);
}

void worker_batch_free(struct worker_batch *batch)
{
    if (batch == NULL)
        return;
    weir_frames_clear(&batch->frames);
    free(batch->hole_states);
    free(batch);
}

/* ---- compressing ---- */

static void compress_frame(struct worker_batch *batch, size_t frame, enum weir_compression how)
{
    struct weir_bytes plain = weir_frames_at(&batch->frames, frame);
    size_t size = 0;
    void *bytes = weir_compress(how, plain, &size);
    if (bytes == NULL)
        return;
    batch->compression = how;
    batch->expanded[frame] = plain.size;
    weir_frames_replace(&batch->frames, frame, bytes, size);
}

void worker_batch_compress(struct worker_batch *batch, enum weir_compression how)
{
    size_t frame = WEIR_BATCH_TENSORS;
    if (how == WEIR_COMPRESSION_NONE)
        return;
    for (size_t i = 0; i < batch->tensors; i++) {
        if (batch->tensor[i].kind == COLUMN_RAGGED)
            frame++; /* its offsets */
        compress_frame(batch, frame++, how);
    }
}

/* ---- reading ---- */

static void add_hole(struct kitchen *kitchen, uint64_t id, uint32_t state)
{
    struct hole hole = {.id = id, .state = state};
    weir_buf_append(&kitchen->holes, &hole, sizeof(hole));
}

/* Fails a sample before it is read, for what kitchen->reason says. */
static enum weir_sample_state fail_sample(struct kitchen *kitchen, uint64_t id)
{
    failures_note(&kitchen->failures, id, kitchen->reason);
    return WEIR_SAMPLE_FAILED;
}

static bool is_given_up(const struct kitchen *kitchen, const struct recipe *recipe, uint64_t id,
                        int *ret_signal)
{
    return kitchen->crashes != NULL &&
           crashes_is_given_up(kitchen->crashes, recipe->job, id, ret_signal);
}

static bool is_too_large(const struct recipe *recipe, const struct located_sample *sample,
                         size_t payload_bytes)
{
    return sample->length > recipe->plan->options.batch.sample_bytes_max ||
           sample->length > PREPROCESS_PAYLOAD_BYTES_MAX - payload_bytes;
}

/* What becomes of a sample before it is read. */
static enum weir_sample_state state_of(struct kitchen *kitchen, const struct recipe *recipe,
                                       const struct located_sample *sample, size_t payload_bytes)
{
    if (worker_flow_is_erased(recipe->flow, sample->id))
        return WEIR_SAMPLE_ERASED;
    if (sample->state != WEIR_SAMPLE_LIVE)
        return sample->state;
    int signal = 0;
    if (is_given_up(kitchen, recipe, sample->id, &signal)) {
        snprintf(kitchen->reason, sizeof(kitchen->reason),
                 "reading: it has crashed workers (%s), and is not tried any more",
                 strsignal(signal));
        return fail_sample(kitchen, sample->id);
    }
    if (!is_too_large(recipe, sample, payload_bytes))
        return WEIR_SAMPLE_LIVE;
    snprintf(kitchen->reason, sizeof(kitchen->reason),
             "reading: a sample of %lu bytes, expected at most %lu, and %d in a batch",
             sample->length, recipe->plan->options.batch.sample_bytes_max,
             PREPROCESS_PAYLOAD_BYTES_MAX);
    return fail_sample(kitchen, sample->id);
}

static struct file_range range_of(const struct located *located,
                                  const struct located_sample *sample)
{
    return (struct file_range){
        .file = &located->files[sample->file], .offset = sample->offset, .length = sample->length};
}

/* A file that is not the one located may be so again once it is located again, and is storage's to read
 * after that; one that cannot be opened is so at once. */
static enum weir_status read_file(struct kitchen *kitchen, const struct recipe *recipe,
                                  const struct located_sample *sample, struct weir_buf *out,
                                  struct weir_error *err)
{
    struct file_range range = range_of(recipe->located, sample);
    enum weir_status status = files_read(kitchen->files, &range, out, err);
    if (status == WEIR_OK)
        weir_bits_set(&kitchen->read, sample->file);
    if (status == WEIR_OK || (status == WEIR_STALE && recipe->located->tries == 0))
        return status;
    fetched_add_file(recipe->fetched, sample->file);
    return WEIR_UNAVAILABLE;
}

/* What was read from a file that has changed since is not what was located, perhaps. */
static enum weir_status check_files(struct kitchen *kitchen, const struct recipe *recipe,
                                    struct weir_error *err)
{
    const struct located *located = recipe->located;
    enum weir_status status = WEIR_OK;
    for (uint32_t i = 0; i < located->file_count; i++) {
        if (!weir_bits_get(&kitchen->read, i) || files_check(kitchen->files, &located->files[i]))
            continue;
        if (located->tries == 0)
            return weir_fail(err, WEIR_STALE, "%s: changed while it was read",
                             located->files[i].path);
        fetched_add_file(recipe->fetched, i);
        status = WEIR_UNAVAILABLE;
    }
    return status;
}

static enum weir_status read_fetched(const struct recipe *recipe,
                                     const struct located_sample *sample, struct weir_buf *out,
                                     enum weir_sample_state *ret_state)
{
    if (!fetched_has_batch(recipe->fetched, recipe->batch))
        return WEIR_UNAVAILABLE;
    const struct fetched_sample *found = fetched_next(recipe->fetched, sample->id);
    *ret_state = found != NULL ? found->state : WEIR_SAMPLE_GONE;
    if (*ret_state == WEIR_SAMPLE_GONE && recipe->located->tries < LOCATE_TRIES_MAX)
        return WEIR_STALE;
    if (*ret_state == WEIR_SAMPLE_LIVE)
        weir_buf_append(out, recipe->fetched->bytes.at + found->offset, found->length);
    return WEIR_OK;
}

static enum weir_status read_sample(struct kitchen *kitchen, const struct recipe *recipe,
                                    const struct located_sample *sample, struct column *payload,
                                    struct weir_error *err)
{
    enum weir_sample_state state = state_of(kitchen, recipe, sample, payload->values.size);
    enum weir_status status = WEIR_OK;
    size_t before = payload->values.size;
    if (state == WEIR_SAMPLE_LIVE && fetched_has_file(recipe->fetched, sample->file))
        status = read_fetched(recipe, sample, &payload->values, &state);
    else if (state == WEIR_SAMPLE_LIVE)
        status = read_file(kitchen, recipe, sample, &payload->values, err);
    if (status != WEIR_OK)
        return status;
    if (state != WEIR_SAMPLE_LIVE) {
        add_hole(kitchen, sample->id, state);
        return WEIR_OK;
    }
    kitchen->bytes_read += payload->values.size - before;
    weir_buf_append(&kitchen->rows, &sample, sizeof(struct located_sample *));
    weir_buf_append(&kitchen->ids, &sample->id, sizeof(sample->id));
    column_end_row(payload);
    return WEIR_OK;
}

/* ---- from memory ---- */

/* Nothing is to be said of it, and it is small, in a file that is mapped. */
static bool is_in_memory(struct kitchen *kitchen, const struct recipe *recipe,
                         const struct located_sample *sample, size_t payload_bytes,
                         struct mapping_range *ret_mapped)
{
    int signal;
    if (sample->state != WEIR_SAMPLE_LIVE || fetched_has_file(recipe->fetched, sample->file) ||
        worker_flow_is_erased(recipe->flow, sample->id) ||
        is_given_up(kitchen, recipe, sample->id, &signal) ||
        is_too_large(recipe, sample, payload_bytes))
        return false;
    struct file_range range = range_of(recipe->located, sample);
    return files_mapped(kitchen->files, &range, ret_mapped);
}

static void add_rows(struct kitchen *kitchen, const struct located_sample *samples, size_t count,
                     struct column *payload)
{
    size_t rows = kitchen->rows.size / sizeof(samples), end = payload->values.size;
    weir_buf_reserve(&kitchen->rows, count * sizeof(samples));
    weir_buf_reserve(&kitchen->ids, count * sizeof(samples->id));
    weir_buf_reserve(&payload->offsets, count * sizeof(uint32_t));
    const struct located_sample **row = (const struct located_sample **)(void *)kitchen->rows.at;
    uint64_t *ids = (uint64_t *)(void *)kitchen->ids.at;
    uint32_t *offsets = (uint32_t *)(void *)payload->offsets.at;
    for (size_t i = 0; i < count; i++) {
        end += samples[i].length;
        row[rows + i] = &samples[i];
        ids[rows + i] = samples[i].id;
        offsets[rows + i + 1] = (uint32_t)end;
    }
    kitchen->rows.size += count * sizeof(samples);
    kitchen->ids.size += count * sizeof(samples->id);
    payload->offsets.size += count * sizeof(uint32_t);
    kitchen->bytes_read += end - payload->values.size;
    payload->values.size = end;
}

/* Reads samples from the first on for as long as they lie in memory; returns how many: nearly all of a batch
 * of small ones. What it does not read, read_sample() does. */
static size_t read_mapped(struct kitchen *kitchen, const struct recipe *recipe,
                          const struct located_sample *samples, size_t count,
                          struct column *payload)
{
    size_t found = 0, end = payload->values.size;
    size_t most = count < MAPPED_SAMPLES_MAX ? count : MAPPED_SAMPLES_MAX;
    while (found < most &&
           is_in_memory(kitchen, recipe, &samples[found], end, &kitchen->mapped[found]))
        end += samples[found++].length;
    weir_buf_reserve(&payload->values, end - payload->values.size);
    if (!mapping_copy(kitchen->mapped, found, payload->values.at + payload->values.size))
        return 0;
    add_rows(kitchen, samples, found, payload);
    return found;
}

/* ---- all of a batch ---- */

/* Fills the payload column with the live samples of the batch; returns how many through ret_rows. Goes on
 * behind what storage has to read, so that it is asked for all of it at once. */
static enum weir_status read_samples(struct kitchen *kitchen, const struct recipe *recipe,
                                     size_t *ret_rows, struct weir_error *err)
{
    size_t count;
    const struct located_sample *samples =
        located_batch(recipe->located, recipe->plan, recipe->batch, &count);
    struct column *payload = chain_begin(recipe->plan->chain);
    bool is_whole = true;
    weir_buf_clear(&kitchen->rows);
    weir_buf_clear(&kitchen->ids);
    weir_buf_clear(&kitchen->holes);
    kitchen->failures.count = 0;
    weir_bits_clear(&kitchen->read);
    files_begin(kitchen->files);
    fetched_rewind(recipe->fetched);
    for (size_t i = 0; i < count;) {
        i += read_mapped(kitchen, recipe, samples + i, count - i, payload);
        if (i == count)
            break;
        enum weir_status status = read_sample(kitchen, recipe, &samples[i++], payload, err);
        if (status != WEIR_OK && status != WEIR_UNAVAILABLE)
            return status;
        is_whole = is_whole && status == WEIR_OK;
    }
    *ret_rows = kitchen->rows.size / sizeof(struct located_sample *);
    return is_whole ? check_files(kitchen, recipe, err) : WEIR_UNAVAILABLE;
}

static enum weir_status read_timed(struct kitchen *kitchen, const struct recipe *recipe,
                                   size_t *ret_rows, struct weir_error *err)
{
    int64_t begun_ns = weir_now_ns();
    enum weir_status status = read_samples(kitchen, recipe, ret_rows, err);
    kitchen->read_ns += weir_now_ns() - begun_ns;
    return status;
}

/* ---- frames ---- */

static const struct located_sample *const *rows_of(const struct kitchen *kitchen)
{
    return (const struct located_sample *const *)(const void *)kitchen->rows.at;
}

/* Names the samples that operators could not read; the last one has the newest reason. */
static void keep_reasons(struct kitchen *kitchen, const struct chain *chain)
{
    const struct operator_failures *failures = chain_failures(chain);
    for (size_t i = 0; i < failures->count; i++) {
        const struct operator_failure *failure = &failures->of[i];
        snprintf(kitchen->reason, sizeof(kitchen->reason), "%s: %s",
                 chain_cost(chain, failure->step).name, failure->reason);
        failures_note(&kitchen->failures, rows_of(kitchen)[failure->row]->id, kitchen->reason);
    }
}

static bool all_are_ok(const uint8_t *flags, size_t rows)
{
    size_t i = 0;
    while (i < rows && flags[i] == OPERATOR_ROW_OK)
        i++;
    return i == rows;
}

/* Rows that an operator could not read, or dropped, leave all columns and become holes. Returns the
 * rows left. */
static size_t drop_rows(struct kitchen *kitchen, struct chain *chain, size_t rows,
                        const uint8_t *flags)
{
    static const uint32_t HOLES[] = {
        [OPERATOR_ROW_FAILED] = WEIR_SAMPLE_FAILED, [OPERATOR_ROW_FILTERED] = WEIR_SAMPLE_FILTERED};
    if (all_are_ok(flags, rows))
        return rows;
    keep_reasons(kitchen, chain);
    for (size_t i = 0; i < chain_outputs(chain); i++)
        column_drop_rows(chain_output(chain, i), rows, flags);
    const struct located_sample **kept = (const struct located_sample **)(void *)kitchen->rows.at;
    size_t left = 0;
    for (size_t i = 0; i < rows; i++) {
        if (flags[i] == OPERATOR_ROW_OK)
            kept[left++] = kept[i];
        else
            add_hole(kitchen, kept[i]->id, HOLES[flags[i]]);
    }
    return left;
}

static void give(struct worker_batch *batch, void *bytes, size_t size)
{
    batch->bytes += size;
    weir_frames_give(&batch->frames, bytes, size);
}

static void give_samples(struct worker_batch *batch, const struct kitchen *kitchen,
                         const struct preprocess_plan *plan)
{
    const struct located_sample *const *rows = rows_of(kitchen);
    size_t count = batch->samples;
    uint64_t *ids = weir_calloc(count + 1, sizeof(*ids));
    int64_t *labels = weir_calloc(count + 1, sizeof(*labels));
    float *weights = weir_calloc(count + 1, sizeof(*weights));
    for (size_t i = 0; i < count; i++) {
        ids[i] = rows[i]->id;
        labels[i] = rows[i]->label;
        weights[i] = rows[i]->weight;
    }
    give(batch, ids, count * sizeof(*ids));
    give(batch, labels, count * sizeof(*labels));
    give(batch, weights, plan->set.weights != NULL ? count * sizeof(*weights) : 0);
}

static void give_holes(struct worker_batch *batch, const struct kitchen *kitchen)
{
    const struct hole *holes = (const struct hole *)(const void *)kitchen->holes.at;
    uint64_t *ids = weir_calloc(batch->holes + 1, sizeof(*ids));
    batch->hole_states = weir_calloc(batch->holes + 1, sizeof(*batch->hole_states));
    for (size_t i = 0; i < batch->holes; i++) {
        ids[i] = holes[i].id;
        batch->hole_states[i] = holes[i].state;
        batch->failed += holes[i].state == WEIR_SAMPLE_FAILED;
    }
    give(batch, ids, batch->holes * sizeof(*ids));
}

/* The last frame, when labels are vectors. */
static void give_values(struct worker_batch *batch, const struct kitchen *kitchen,
                        const struct located *located)
{
    const struct located_sample *const *rows = rows_of(kitchen);
    size_t width = batch->label_width;
    if (width == 0)
        return;
    float *values = weir_calloc(batch->samples * width + 1, sizeof(*values));
    for (size_t i = 0; i < batch->samples; i++)
        memcpy(values + i * width, located_values(located, rows[i]), width * sizeof(*values));
    give(batch, values, batch->samples * width * sizeof(*values));
}

/* Takes the buffers out of the columns: nothing is copied between operator and socket. */
static void give_tensor(struct worker_batch *batch, struct column *column)
{
    batch->tensor[batch->tensors++] = column->about;
    if (column->about.kind == COLUMN_RAGGED) {
        give(batch, column->offsets.at, column->offsets.size);
        column->offsets = (struct weir_buf){0};
    }
    give(batch, column->values.at, column->values.size);
    column->values = (struct weir_buf){0};
}

static struct operator_batch about_batch(const struct kitchen *kitchen, const struct recipe *recipe,
                                         size_t rows)
{
    return (struct operator_batch){
        .rows = rows,
        .ids = (const uint64_t *)(const void *)kitchen->ids.at,
        .seed = recipe->plan->seed,
        .epoch = preprocess_epoch_of(&recipe->plan->geometry, recipe->batch),
        .trains = recipe->plan->trains,
        .under_way = kitchen->crashes != NULL ? crashes_watch(kitchen->crashes, recipe->job) : NULL,
    };
}

enum weir_status kitchen_make(struct kitchen *kitchen, const struct recipe *recipe,
                              struct worker_batch **ret_batch, struct weir_error *err)
{
    struct chain *chain = recipe->plan->chain;
    size_t rows;
    enum weir_status status = read_timed(kitchen, recipe, &rows, err);
    if (status != WEIR_OK)
        return status;
    const struct operator_batch about = about_batch(kitchen, recipe, rows);
    const uint8_t *flags = chain_run(chain, &about);
    if (chain_waits(chain))
        return weir_fail(err, WEIR_TIMEOUT, "an operator is not done with it yet");
    struct worker_batch *batch = weir_calloc(1, sizeof(*batch));
    batch->samples = drop_rows(kitchen, chain, rows, flags);
    batch->holes = kitchen->holes.size / sizeof(struct hole);
    batch->label_kind = recipe->located->label_kind;
    batch->label_width = recipe->located->label_width;
    give_samples(batch, kitchen, recipe->plan);
    give_holes(batch, kitchen);
    for (size_t i = 0; i < chain_outputs(chain); i++)
        give_tensor(batch, chain_output(chain, i));
    give_values(batch, kitchen, recipe->located);
    *ret_batch = batch;
    return WEIR_OK;
}

enum weir_status kitchen_fold(struct kitchen *kitchen, const struct recipe *recipe,
                              struct chain_partial *partial, struct weir_error *err)
{
    size_t rows;
    enum weir_status status = read_timed(kitchen, recipe, &rows, err);
    if (status != WEIR_OK || rows == 0)
        return status;
    const struct operator_batch about = about_batch(kitchen, recipe, rows);
    chain_fold(recipe->plan->chain, &about, partial);
    if (chain_waits(recipe->plan->chain))
        return weir_fail(err, WEIR_TIMEOUT, "an operator is not done with it yet");
    return WEIR_OK;
}
