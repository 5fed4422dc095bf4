/* Making one batch. */
#include "preprocess/worker/kitchen.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "preprocess/worker/rows.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MAPPED_SAMPLES_MAX = 512 /* that are taken together */, AHEAD = 16 };

struct kitchen {
    struct files *files;
    struct crashes *crashes;
    uint64_t bytes_read;
    int64_t read_ns;
    /* One batch at a time: */
    struct rows rows;
    struct weir_bits read;                   /* files that samples were read from */
    struct mapping mappings[FILES_OPEN_MAX]; /* of those files, where there are no more */
    struct mapping_range taken[MAPPED_SAMPLES_MAX];
    bool is_plain; /* nothing is to be said of any sample by itself */
    bool in_place; /* what lies in a mapping is left there for the first operator */
    bool drops;    /* operators gave up rows of the newest batch: perhaps of the next one, too */
    char reason[KITCHEN_REASON_MAX];
    struct failures failures;
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
    rows_fini(&kitchen->rows);
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

void kitchen_wipe(struct kitchen *kitchen)
{
    files_forget(kitchen->files);
    rows_fini(&kitchen->rows);
    explicit_bzero(&kitchen->failures, sizeof(kitchen->failures));
    explicit_bzero(kitchen->reason, sizeof(kitchen->reason));
}

/* ---- reading ---- */

/* Lists a sample that has failed. What no path is told of (tasks.c) lies in no file. */
static void note_failure(struct kitchen *kitchen, const struct located *located,
                         const struct located_sample *sample, const char *why)
{
    char place[KITCHEN_PATH_MAX + 50] = "";
    const char *path = located->files[sample->file].path;
    size_t size = strlen(path), left_out = size > KITCHEN_PATH_MAX ? size - KITCHEN_PATH_MAX : 0;
    if (size > 0)
        snprintf(place, sizeof(place), " (byte %lu of %s%s)", sample->offset,
                 left_out > 0 ? "..." : "", path + left_out);
    failures_note(&kitchen->failures, sample->id, why);
    snprintf(kitchen->reason, sizeof(kitchen->reason), "sample %lu%s cannot be read: %s",
             sample->id, place, why);
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
    char why[FAILURE_REASON_MAX];
    if (is_given_up(kitchen, recipe, sample->id, &signal))
        snprintf(why, sizeof(why),
                 "reading: it has crashed workers (%s), and is not tried any more",
                 signal == SIGKILL ? "memory ran out" : strsignal(signal));
    else if (is_too_large(recipe, sample, payload_bytes))
        snprintf(why, sizeof(why),
                 "reading: a sample of %lu bytes, expected at most %lu, and %d in a batch",
                 (uint64_t)sample->length, recipe->plan->options.batch.sample_bytes_max,
                 PREPROCESS_PAYLOAD_BYTES_MAX);
    else
        return WEIR_SAMPLE_LIVE;
    note_failure(kitchen, recipe->located, sample, why);
    return WEIR_SAMPLE_FAILED;
}

static struct file_range range_of(const struct located *located,
                                  const struct located_sample *sample)
{
    return (struct file_range){
        .file = &located->files[sample->file], .offset = sample->offset, .length = sample->length};
}

/* A file that was read from: if it is mapped now, the batch reads on from there. */
static void note_file(struct kitchen *kitchen, const struct recipe *recipe, uint32_t file)
{
    const struct mapping *mapping = files_mapping(kitchen->files, &recipe->located->files[file]);
    weir_bits_set(&kitchen->read, file);
    if (mapping != NULL && recipe->located->file_count <= FILES_OPEN_MAX)
        kitchen->mappings[file] = *mapping;
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
        note_file(kitchen, recipe, sample->file);
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

/* Rows that are not left where they lie get their places once all are read, for they still move. */
static void end_row(struct kitchen *kitchen, struct column *payload)
{
    if (kitchen->in_place)
        weir_buf_append(&payload->places, &(const uint8_t *){NULL}, sizeof(const uint8_t *));
    column_end_row(payload);
}

static enum weir_status read_sample(struct kitchen *kitchen, const struct recipe *recipe,
                                    const struct located_sample *sample, size_t place,
                                    struct column *payload, struct weir_error *err)
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
        rows_add_hole(&kitchen->rows, sample->id, state);
        return WEIR_OK;
    }
    kitchen->bytes_read += payload->values.size - before;
    rows_add(&kitchen->rows, sample, place, 1);
    end_row(kitchen, payload);
    return WEIR_OK;
}

/* ---- from memory ---- */

/* True when no sample of the batch is given up, erased, or storage's to read. */
static bool is_plain(const struct kitchen *kitchen, const struct recipe *recipe)
{
    return (kitchen->crashes == NULL || !crashes_any(kitchen->crashes)) &&
           recipe->flow->erased_count == 0 && recipe->fetched->files.count == 0;
}

static bool is_odd(const struct kitchen *kitchen, const struct recipe *recipe,
                   const struct located_sample *sample)
{
    int signal;
    return fetched_has_file(recipe->fetched, sample->file) ||
           worker_flow_is_erased(recipe->flow, sample->id) ||
           is_given_up(kitchen, recipe, sample->id, &signal);
}

/* Where it lies in memory: nothing is to be said of it, and it is small, in a file that is mapped. Else NULL. */
static const uint8_t *find_in_memory(const struct kitchen *kitchen, const struct recipe *recipe,
                                     const struct located_sample *sample, size_t payload_bytes)
{
    if (sample->state != WEIR_SAMPLE_LIVE || sample->length > FILES_SMALL_BYTES_MAX ||
        is_too_large(recipe, sample, payload_bytes) || sample->file >= FILES_OPEN_MAX ||
        (!kitchen->is_plain && is_odd(kitchen, recipe, sample)))
        return NULL;
    return mapping_at(&kitchen->mappings[sample->file], sample->offset, sample->length);
}

static void add_places(const struct kitchen *kitchen, size_t count, struct column *payload)
{
    weir_buf_reserve(&payload->places, count * sizeof(const uint8_t *));
    const uint8_t **places = (const uint8_t **)(void *)(payload->places.at + payload->places.size);
    for (size_t i = 0; i < count; i++)
        places[i] = kitchen->taken[i].from;
    payload->places.size += count * sizeof(*places);
}

/* Rows of samples whose bytes are there, or lie where `taken` says. */
static void add_rows(struct kitchen *kitchen, const struct located_sample *samples, size_t first,
                     size_t count, struct column *payload)
{
    size_t end = payload->values.size, before = payload->offsets.size / sizeof(uint32_t);
    weir_buf_reserve(&payload->offsets, count * sizeof(uint32_t));
    uint32_t *offsets = (uint32_t *)(void *)payload->offsets.at + before;
    for (size_t i = 0; i < count; i++) {
        end += kitchen->taken[i].length;
        offsets[i] = (uint32_t)end;
    }
    rows_add(&kitchen->rows, samples + first, first, count);
    if (kitchen->in_place)
        add_places(kitchen, count, payload);
    payload->offsets.size += count * sizeof(uint32_t);
    kitchen->bytes_read += end - payload->values.size;
    payload->values.size = end;
}

/* Takes samples from `first` on for as long as they lie in memory; returns how many: nearly all of a batch of
 * small ones. What it does not take, read_sample() reads. */
static size_t take_mapped(struct kitchen *kitchen, const struct recipe *recipe,
                          const struct located_sample *samples, size_t first, size_t count,
                          struct column *payload)
{
    size_t found = 0, end = payload->values.size;
    size_t most = count - first < MAPPED_SAMPLES_MAX ? count - first : MAPPED_SAMPLES_MAX;
    for (; found < most; found++) {
        const struct located_sample *sample = &samples[first + found];
        __builtin_prefetch(sample + AHEAD);
        const uint8_t *at = find_in_memory(kitchen, recipe, sample, end);
        if (at == NULL)
            break;
        kitchen->taken[found] = (struct mapping_range){at, sample->length};
        end += sample->length;
    }
    if (found == 0)
        return 0;
    weir_buf_reserve(&payload->values, end - payload->values.size);
    if (!kitchen->in_place &&
        !mapping_copy(kitchen->taken, found, payload->values.at + payload->values.size))
        return 0;
    add_rows(kitchen, samples, first, found, payload);
    return found;
}

/* ---- all of a batch ---- */

static void begin(struct kitchen *kitchen, const struct recipe *recipe, size_t count)
{
    rows_begin(&kitchen->rows, count, recipe->plan->set.weights != NULL);
    memset(kitchen->mappings, 0, sizeof(kitchen->mappings));
    kitchen->is_plain = is_plain(kitchen, recipe);
    kitchen->failures.count = 0;
    weir_bits_clear(&kitchen->read);
    files_begin(kitchen->files);
    fetched_rewind(recipe->fetched);
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

/* Fills the payload column with the live samples of the batch. Goes on behind what storage has to read, so that
 * it is asked for all of it at once. */
static enum weir_status read_samples(struct kitchen *kitchen, const struct recipe *recipe,
                                     struct weir_error *err)
{
    size_t count;
    const struct located_sample *samples =
        located_batch(recipe->located, recipe->plan, recipe->batch, &count);
    struct column *payload = chain_begin(recipe->plan->chain);
    bool is_whole = true;
    begin(kitchen, recipe, count);
    for (size_t i = 0; i < count; i++) {
        i += take_mapped(kitchen, recipe, samples, i, count, payload);
        if (i == count)
            break;
        enum weir_status status = read_sample(kitchen, recipe, &samples[i], i, payload, err);
        if (status != WEIR_OK && status != WEIR_UNAVAILABLE)
            return status;
        is_whole = is_whole && status == WEIR_OK;
    }
    settle_places(payload, kitchen->rows.count);
    return is_whole ? WEIR_OK : WEIR_UNAVAILABLE;
}

static enum weir_status read_timed(struct kitchen *kitchen, const struct recipe *recipe,
                                   struct weir_error *err)
{
    int64_t begun_ns = weir_now_ns();
    enum weir_status status = read_samples(kitchen, recipe, err);
    kitchen->read_ns += weir_now_ns() - begun_ns;
    return status;
}

/* ---- frames ---- */

/* Names the samples that operators could not read; the last one has the newest reason. */
static void keep_reasons(struct kitchen *kitchen, const struct recipe *recipe)
{
    size_t count;
    const struct chain *chain = recipe->plan->chain;
    const struct operator_failures *failures = chain_failures(chain);
    const struct located_sample *samples =
        located_batch(recipe->located, recipe->plan, recipe->batch, &count);
    for (size_t i = 0; i < failures->count; i++) {
        const struct operator_failure *failure = &failures->of[i];
        char why[FAILURE_REASON_MAX];
        snprintf(why, sizeof(why), "%s: %s", chain_cost(chain, failure->step).name,
                 failure->reason);
        note_failure(kitchen, recipe->located, &samples[kitchen->rows.samples[failure->row]], why);
    }
}

static bool all_are_ok(const uint8_t *flags, size_t rows)
{
    size_t i = 0;
    while (i < rows && flags[i] == OPERATOR_ROW_OK)
        i++;
    return i == rows;
}

/* Rows that an operator could not read, or dropped, leave all columns and become holes. */
static void drop_rows(struct kitchen *kitchen, const struct recipe *recipe, const uint8_t *flags)
{
    struct chain *chain = recipe->plan->chain;
    kitchen->drops = !all_are_ok(flags, kitchen->rows.count);
    if (!kitchen->drops)
        return;
    keep_reasons(kitchen, recipe);
    for (size_t i = 0; i < chain_outputs(chain); i++)
        column_drop_rows(chain_output(chain, i), kitchen->rows.count, flags);
    rows_drop(&kitchen->rows, flags);
}

static size_t weight_bytes(const struct rows *rows)
{
    return rows->weights != NULL ? rows->count * sizeof(*rows->weights) : 0;
}

/* Has dense tensors made where they are sent from: behind the frames of give_rows(), up to the first whose size is not
 * known. Where rows leave the batch afterwards everything moves, and it is copied as a whole. */
static void lend_tensors(const struct kitchen *kitchen, const struct recipe *recipe)
{
    const struct rows *rows = &kitchen->rows;
    if (recipe->loan == NULL || kitchen->drops)
        return;
    const struct weir_loan *loan = &recipe->loan->memory;
    size_t at = worker_batch_step(rows->count * sizeof(*rows->ids)) +
                worker_batch_step(rows->count * sizeof(*rows->labels)) +
                worker_batch_step(weight_bytes(rows)) +
                worker_batch_step(rows->holes * sizeof(*rows->hole_ids));
    for (size_t i = 0; i < chain_outputs(recipe->plan->chain); i++) {
        struct column *column = chain_output(recipe->plan->chain, i);
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
    worker_batch_give(batch, WEIR_TAKE(rows->ids), rows->count * sizeof(*rows->ids));
    worker_batch_give(batch, WEIR_TAKE(rows->labels), rows->count * sizeof(*rows->labels));
    worker_batch_give(batch, WEIR_TAKE(rows->weights), weights);
    worker_batch_give(batch, WEIR_TAKE(rows->hole_ids), rows->holes * sizeof(*rows->hole_ids));
}

/* The last frame, when labels are vectors. */
static void give_values(struct worker_batch *batch, const struct kitchen *kitchen,
                        const struct recipe *recipe)
{
    size_t width = batch->label_width, count;
    if (width == 0)
        return;
    const struct located_sample *samples =
        located_batch(recipe->located, recipe->plan, recipe->batch, &count);
    float *values = weir_calloc(batch->samples * width + 1, sizeof(*values));
    for (size_t i = 0; i < batch->samples; i++)
        memcpy(values + i * width,
               located_values(recipe->located, &samples[kitchen->rows.samples[i]]),
               width * sizeof(*values));
    worker_batch_give(batch, values, batch->samples * width * sizeof(*values));
}

static struct operator_batch about_batch(const struct kitchen *kitchen, const struct recipe *recipe)
{
    return (struct operator_batch){
        .rows = kitchen->rows.count,
        .ids = kitchen->rows.ids,
        .seed = recipe->plan->seed,
        .epoch = preprocess_epoch_of(&recipe->plan->geometry, recipe->batch),
        .trains = recipe->plan->trains,
        .under_way = kitchen->crashes != NULL ? crashes_watch(kitchen->crashes, recipe->job) : NULL,
    };
}

/* ---- making ---- */

/* A batch on its way through the operators. */
struct work {
    struct chain *chain;
    struct operator_batch about;
    struct chain_partial *partial; /* to fold it into; NULL: it is to be made */
    const uint8_t *flags;
};

static void run_chain(void *owner)
{
    struct work *work = owner;
    if (work->partial == NULL)
        work->flags = chain_run(work->chain, &work->about);
    else if (work->about.rows > 0)
        chain_fold(work->chain, &work->about, work->partial);
}

/* What is half written is noticed before an operator meets it. */
static enum weir_status work_on_copies(struct kitchen *kitchen, const struct recipe *recipe,
                                       struct work *work, struct weir_error *err)
{
    kitchen->in_place = false;
    enum weir_status status = read_timed(kitchen, recipe, err);
    if (status == WEIR_OK)
        status = check_files(kitchen, recipe, err);
    if (status != WEIR_OK)
        return status;
    work->about = about_batch(kitchen, recipe);
    lend_tensors(kitchen, recipe);
    run_chain(work);
    return WEIR_OK;
}

/* Whether samples were those located is known only behind the operators that read them where they lie: so this
 * makes batches, which can be dropped, and folds none. */
static enum weir_status work_in_place(struct kitchen *kitchen, const struct recipe *recipe,
                                      struct work *work, struct weir_error *err)
{
    kitchen->in_place = true;
    enum weir_status status = read_timed(kitchen, recipe, err);
    if (status != WEIR_OK)
        return status;
    work->about = about_batch(kitchen, recipe);
    lend_tensors(kitchen, recipe);
    if (!mapping_watch(run_chain, work)) /* a file has ended meanwhile */
        return work_on_copies(kitchen, recipe, work, err);
    return check_files(kitchen, recipe, err);
}

enum weir_status kitchen_make(struct kitchen *kitchen, const struct recipe *recipe,
                              struct worker_batch **ret_batch, struct weir_error *err)
{
    struct chain *chain = recipe->plan->chain;
    struct work work = {.chain = chain};
    enum weir_status status = chain_reads_in_place(chain)
                                  ? work_in_place(kitchen, recipe, &work, err)
                                  : work_on_copies(kitchen, recipe, &work, err);
    if (status != WEIR_OK)
        return status;
    if (chain_waits(chain))
        return weir_fail(err, WEIR_TIMEOUT, "an operator is not done with it yet");
    struct worker_batch *batch = weir_calloc(1, sizeof(*batch));
    if (recipe->loan != NULL) {
        batch->loan = *recipe->loan;
        recipe->loan->memory.at = NULL;
    }
    drop_rows(kitchen, recipe, work.flags);
    batch->label_kind = recipe->located->label_kind;
    batch->label_width = recipe->located->label_width;
    give_rows(batch, &kitchen->rows);
    for (size_t i = 0; i < chain_outputs(chain); i++)
        worker_batch_give_tensor(batch, chain_output(chain, i));
    give_values(batch, kitchen, recipe);
    if (kitchen->drops && batch->in_loan != 0)
        worker_batch_leave_loan(batch);
    *ret_batch = batch;
    return WEIR_OK;
}

enum weir_status kitchen_fold(struct kitchen *kitchen, const struct recipe *recipe,
                              struct chain_partial *partial, struct weir_error *err)
{
    struct work work = {.chain = recipe->plan->chain, .partial = partial};
    enum weir_status status = work_on_copies(kitchen, recipe, &work, err);
    if (status == WEIR_OK && work.about.rows > 0 && chain_waits(work.chain))
        status = weir_fail(err, WEIR_TIMEOUT, "an operator is not done with it yet");
    return status;
}
