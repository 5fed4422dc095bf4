/* See trial.h. */
#include "preprocess/preview/trial.h"

#include "core/base/memory.h"
#include "preprocess/operators/numeric.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { KINDS_MAX = 32 };

/* Records that an operator fails on in the same way. */
struct kind {
    uint32_t step;
    size_t first, count;
    char reason[OPERATOR_REASON_MAX];
};

/* One dataset. */
struct outcome {
    const struct records *records;
    struct kind kinds[KINDS_MAX];
    size_t kind_count;
    size_t failed, filtered;
    size_t odd;          /* first record with a number that is none, of tensor */
    const char *odd_one; /* NULL: there is none */
};

/* The things that come beside the bytes of records. */
struct beside {
    uint64_t ids[TRIAL_ROWS_MAX];
    int64_t times[TRIAL_ROWS_MAX], labels[TRIAL_ROWS_MAX];
};

static struct operator_batch batch_of(const struct trial *trial, const struct records *records,
                                      size_t first, size_t count, struct beside *beside)
{
    for (size_t i = 0; i < count; i++) {
        beside->ids[i] = first + i;
        beside->times[i] = preprocess_records_time(records, first + i);
        beside->labels[i] = preprocess_records_label(records, first + i);
    }
    return (struct operator_batch){.rows = count,
                                   .ids = beside->ids,
                                   .times = beside->times,
                                   .labels = beside->labels,
                                   .label_kind = preprocess_records_label_kind(records),
                                   .trains = trial->trains};
}

static void fill(struct trial *trial, const struct records *records, size_t first, size_t count)
{
    struct column *payload = preprocess_chain_begin(trial->chain);
    for (size_t i = 0; i < count; i++) {
        struct weir_bytes record = preprocess_records_bytes(records, first + i);
        weir_buf_append(&payload->values, record.at, record.size);
        preprocess_column_end_row(payload);
    }
}

/* Operators that wait do so in pieces. */
const uint8_t *preprocess_trial_run_rows(struct trial *trial, const struct records *records,
                                         size_t first, size_t count)
{
    struct beside beside;
    const struct operator_batch batch = batch_of(trial, records, first, count, &beside);
    fill(trial, records, first, count);
    const uint8_t *flags = preprocess_chain_run(trial->chain, &batch);
    while (preprocess_chain_waits(trial->chain))
        flags = preprocess_chain_run(trial->chain, &batch);
    return flags;
}

size_t preprocess_trial_rows_from(const struct records *records, size_t first)
{
    size_t rest = records->count - first;
    return rest < TRIAL_ROWS_MAX ? rest : TRIAL_ROWS_MAX;
}

/* ---- fitting ---- */

static enum weir_status fold(struct trial *trial, const struct records *records, size_t first,
                             struct weir_error *err)
{
    struct beside beside;
    struct chain_partial partial = {0};
    WEIR_AUTO_BUF packed = {0};
    size_t count = preprocess_trial_rows_from(records, first);
    const struct operator_batch batch = batch_of(trial, records, first, count, &beside);
    fill(trial, records, first, count);
    do
        preprocess_chain_fold(trial->chain, &batch, &partial);
    while (preprocess_chain_waits(trial->chain));
    preprocess_chain_partial_pack(&partial, &packed);
    preprocess_chain_partial_fini(&partial);
    return preprocess_chain_fit_merge(trial->chain, weir_buf_view(&packed), err);
}

static enum weir_status fit(struct trial *trial, const struct records *datasets, size_t count,
                            struct weir_error *err)
{
    WEIR_AUTO_BUF fitted = {0};
    enum weir_status status = WEIR_OK;
    bool wants_samples = preprocess_chain_wants_samples(trial->chain);
    for (size_t d = 0; d < count && wants_samples; d++)
        for (size_t i = 0; i < datasets[d].count && status == WEIR_OK; i += TRIAL_ROWS_MAX)
            status = fold(trial, &datasets[d], i, err);
    if (status == WEIR_OK)
        status = preprocess_chain_fit_finish(trial->chain, &fitted, err);
    return status == WEIR_OK ? preprocess_chain_fit_load(trial->chain, weir_buf_view(&fitted), err)
                             : status;
}

void preprocess_trial_fit(struct trial *trial, const struct records *datasets, size_t count)
{
    trial->is_unfit = !trial->is_cut && preprocess_chain_wants_fit(trial->chain) &&
                      fit(trial, datasets, count, &trial->unfit) != WEIR_OK;
    trial->is_cut = trial->is_cut || trial->is_unfit;
    if (trial->is_unfit)
        preprocess_chain_stop_before(trial->chain, preprocess_chain_operators(trial->chain));
}

void preprocess_trial_end(struct trial *trial)
{
    struct weir_error err;
    if (trial->is_unfit && trial->failed == 0 &&
        preprocess_chain_check_files(trial->chain, &err) == WEIR_OK) /* else check() says it */
        cfg_note_at(trial->complaints, WEIR_INVALID, trial->operators, "preprocess.operators: %s",
                    trial->unfit.text);
}

/* ---- what fails ---- */

/* Returns the reason without the place in the record that it may begin with. */
static const char *placeless(const char *reason)
{
    size_t place = strlen("byte ");

    if (strncmp(reason, "byte ", place) != 0)
        return reason;
    return reason + place + strspn(reason + place, "0123456789");
}

static void note_failure(struct outcome *outcome, size_t row,
                         const struct operator_failure *failure)
{
    const char *reason = placeless(failure->reason);
    size_t prefix = cfg_reason_kind(reason), at = 0;
    while (at < outcome->kind_count &&
           (outcome->kinds[at].step != failure->step ||
            strncmp(placeless(outcome->kinds[at].reason), reason, prefix) != 0))
        at++;
    if (at == KINDS_MAX)
        return;
    struct kind *kind = &outcome->kinds[at];
    if (at == outcome->kind_count) {
        *kind = (struct kind){.step = failure->step, .first = row};
        memcpy(kind->reason, failure->reason, sizeof(kind->reason));
        outcome->kind_count++;
    }
    kind->count++;
}

static void count_flags(struct outcome *outcome, const uint8_t *flags, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        outcome->failed += flags[i] == OPERATOR_ROW_FAILED;
        outcome->filtered += flags[i] == OPERATOR_ROW_FILTERED;
    }
}

static void complain(const struct trial *trial, const struct outcome *outcome,
                     const struct kind *kind)
{
    const struct records *records = outcome->records;
    bool bears = trial->on_error.action != CFG_ON_ERROR_FAIL;
    bool has_good = bears && outcome->failed < records->count;
    bool is_borne =
        has_good && (double)outcome->failed <= trial->on_error.share * (double)records->count;
    bool is_remark = is_borne || (has_good && trial->is_lenient);
    WEIR_AUTO_FREE char *place = preprocess_records_place(records, kind->first);
    WEIR_AUTO_FREE char *count = weir_format("%zu of %zu: ", kind->count, records->count);
    cfg_note_at(trial->complaints, is_remark ? WEIR_OK : WEIR_INVALID,
                weir_yaml_at(trial->operators, kind->step), "preprocess.operators: %s: %s%s: %s%s",
                preprocess_chain_cost(trial->chain, kind->step).name, kind->count > 1 ? count : "",
                place, kind->reason, is_borne ? " (preprocess.on_error bears as many)" : "");
}

/* ---- what is made ---- */

/* The integer as a bound of those up to it; 0 for one below zero, and for bytes. */
static uint64_t bound_of(const struct column *column, size_t index)
{
    int64_t number = weir_element_get_integer(column->about.type, column->values.at, index);
    return column->about.type == WEIR_U8 || number < 0 ? 0 : (uint64_t)number + 1;
}

static bool is_finite(const struct column *column, size_t index)
{
    return isfinite(weir_element_get(column->about.type, column->values.at, index));
}

static double size_of(const struct column *column, size_t index)
{
    return fabs(weir_element_get(column->about.type, column->values.at, index));
}

static void look_at(struct trial *trial, struct outcome *outcome, size_t output, size_t row,
                    size_t record)
{
    const struct column *column = preprocess_chain_output(trial->chain, output);
    bool is_dense = column->about.kind == COLUMN_DENSE;
    size_t width = column->about.width;
    size_t first = is_dense ? row * width : column_offsets(column)[row];
    size_t end = is_dense ? first + width : column_offsets(column)[row + 1];
    bool is_real = (OPERATOR_FLOATS & 1u << column->about.type) != 0;
    for (size_t i = first; i < end; i++) {
        uint64_t bound = is_real ? 0 : bound_of(column, i);
        if (is_real && !is_finite(column, i) && outcome->odd_one == NULL) {
            outcome->odd_one = column->about.name;
            outcome->odd = record;
        }
        if (bound > trial->seen.below[output])
            trial->seen.below[output] = bound;
        if (is_real && is_finite(column, i))
            trial->seen.size[output] = fmax(trial->seen.size[output], size_of(column, i));
    }
}

static void look_at_rows(struct trial *trial, struct outcome *outcome, const uint8_t *flags,
                         size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++)
        for (size_t k = 0; flags[i] == OPERATOR_ROW_OK && !trial->is_cut &&
                           k < preprocess_chain_outputs(trial->chain);
             k++)
            look_at(trial, outcome, k, i, first + i);
}

/* A record that is too large is not even handed to the operators. */
static void complain_of_size(const struct trial *trial, const struct records *records)
{
    size_t first = 0, count = 0;
    for (size_t i = records->count; i-- > 0 && trial->sample_bytes_max > 0;) {
        if (preprocess_records_bytes(records, i).size <= trial->sample_bytes_max)
            continue;
        first = i;
        count++;
    }
    if (count == 0)
        return;
    WEIR_AUTO_FREE char *place = preprocess_records_place(records, first);
    bool is_remark = count < records->count && trial->is_lenient;
    cfg_note_at(trial->complaints, is_remark ? WEIR_OK : WEIR_INVALID, trial->bytes_node,
                "preprocess.batch.sample_bytes_max: %zu of %zu: %s: a record of %zu bytes, "
                "expected at most %llu",
                count, records->count, place, preprocess_records_bytes(records, first).size,
                (unsigned long long)trial->sample_bytes_max);
}

static void complain_of_all(const struct trial *trial, const struct outcome *outcome)
{
    const struct records *records = outcome->records;
    complain_of_size(trial, records);
    for (size_t i = 0; i < outcome->kind_count; i++)
        complain(trial, outcome, &outcome->kinds[i]);
    if (outcome->odd_one != NULL) {
        WEIR_AUTO_FREE char *place = preprocess_records_place(records, outcome->odd);
        cfg_note_at(trial->complaints, WEIR_INVALID, trial->operators,
                    "preprocess.operators: %s: tensor '%s' holds a number that is none (infinite, "
                    "or 0/0), from which no model learns: expected clamp or fill_missing before it",
                    place, outcome->odd_one);
    }
    if (records->count > 0 && outcome->filtered == records->count)
        cfg_note_at(trial->complaints, records->is_whole ? WEIR_INVALID : WEIR_OK, trial->operators,
                    "preprocess.operators: all of %zu records of dataset '%s' are filtered out",
                    records->count, json_string_value(json_object_get(records->dataset, "name")));
}

void preprocess_trial_run(struct trial *trial, const struct records *records)
{
    struct outcome outcome = {.records = records};
    for (size_t first = 0; first < records->count; first += TRIAL_ROWS_MAX) {
        size_t count = preprocess_trial_rows_from(records, first);
        const uint8_t *flags = preprocess_trial_run_rows(trial, records, first, count);
        const struct operator_failures *failures = preprocess_chain_failures(trial->chain);
        for (size_t i = 0; i < failures->count; i++)
            note_failure(&outcome, first + failures->of[i].row, &failures->of[i]);
        count_flags(&outcome, flags, count);
        look_at_rows(trial, &outcome, flags, first, count);
    }
    complain_of_all(trial, &outcome);
    trial->failed += outcome.failed;
}

uint8_t preprocess_trial_run_one(struct trial *trial, const struct records *records, size_t index)
{
    return preprocess_trial_run_rows(trial, records, index, 1)[0];
}
