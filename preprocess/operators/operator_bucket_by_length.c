/* bucket_by_length: gives every sample of the set a length class, so that batches are made of samples of like
 * length, within a group (preprocess/order/buckets.h). The column stays as it is. The classes are fitted on the set
 * (C16) and sealed: which batch a sample is in does not change when another one is erased, or cannot be read.
 *
 * Partial fit: struct measured per sample. Fitted: u64 how many borders, u32 each of them (a class ends with
 * its border, the last one has none), u64 samples, then by id one byte per sample: its class in the high four
 * bits, in the low ones how far its id is from the one before; 0: as LEB128 in the bytes that follow. */
#include "preprocess/operators/number.h"
#include "preprocess/operators/operator.h"

#include "core/base/memory.h"
#include "preprocess/order/buckets.h"

#include <stdlib.h>
#include <string.h>

enum {
    SAMPLES_MAX = 1 << 23, /* of a set */
    LENGTH_MAX = 1 << 30,
    BORDERS_MAX = BUCKETS_CLASSES_MAX - 1,
    NEAR_MAX = 15,
};

struct options {
    const char *on;
    uint64_t classes;
    struct cfg_texts borders;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXT(struct options, on, .doc = "column; by default the newest of words, ragged or text"),
    CFG_U64(struct options, classes, .fallback = "16", .min = 2, .max = BUCKETS_CLASSES_MAX,
            .doc = "length classes that hold equally much, fitted on the set"),
    CFG_TEXTS(
        struct options, borders,
        .doc =
            "instead of `classes`: lengths that rise, each the last of its class; the set is still gone through "
            "once before training, to measure which class each sample is of"),
    CFG_END,
};

/* A sample as it was folded. */
struct measured {
    uint64_t id;
    uint64_t length;
};

struct borders {
    size_t count;
    uint32_t at[BORDERS_MAX];
};

struct state {
    size_t classes;
    struct borders given; /* none: to be fitted */
    struct weir_buf merged;
    uint64_t left_out; /* samples that merged has no room for */
    struct weir_buf fitted;
};

/* ---- planning ---- */

static enum weir_status read_borders(const struct options *options, struct borders *borders,
                                     struct weir_error *err)
{
    if (options->borders.count > BORDERS_MAX)
        return weir_fail(err, WEIR_INVALID, "found %zu borders, expected at most %d",
                         options->borders.count, BORDERS_MAX);
    for (size_t i = 0; i < options->borders.count; i++) {
        const char *text = weir_yaml_text(weir_yaml_at(options->borders.node, i));
        double number = 0, least = i > 0 ? borders->at[i - 1] + 1.0 : 0;
        bool is_number = text != NULL && preprocess_number_read(weir_bytes_of(text), &number);
        if (!is_number || number < least || number > LENGTH_MAX ||
            number != (double)(uint32_t)number)
            return weir_fail(err, WEIR_INVALID,
                             "border '%s', expected whole numbers that rise, at most %d",
                             text != NULL ? text : "", LENGTH_MAX);
        borders->at[borders->count++] = (uint32_t)number;
    }
    return WEIR_OK;
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    state->classes = options->classes;
    enum weir_status status = read_borders(options, &state->given, err);
    if (status != WEIR_OK)
        return status;
    return preprocess_operator_schema_pick(schema, options->on,
                                           1u << COLUMN_TOKENS | 1u << COLUMN_RAGGED |
                                               1u << COLUMN_TEXT | 1u << COLUMN_BYTES,
                                           &ret_plan->in, err);
}

static void apply(void *state, struct operator_call *call)
{
    (void)state;
    (void)call;
}

static void fini(void *owner)
{
    struct state *state = owner;
    weir_buf_fini(&state->merged);
    weir_buf_fini(&state->fitted);
}

/* ---- fitting ---- */

static void fold(void *state, const struct operator_call *call, struct weir_buf *partial)
{
    (void)state;
    const uint32_t *offsets = column_offsets(call->in);
    size_t size_max = call->partial_bytes_max - sizeof(struct measured);
    for (size_t i = 0; i < call->rows && partial->size <= size_max; i++) {
        struct measured measured = {.id = call->ids != NULL ? call->ids[i] : i,
                                    .length = offsets[i + 1] - offsets[i]};
        if (call->failed[i] == OPERATOR_ROW_OK)
            weir_buf_append(partial, &measured, sizeof(measured));
    }
}

static enum weir_status merge(void *owner, struct weir_bytes partial, struct weir_error *err)
{
    struct state *state = owner;
    if (partial.size % sizeof(struct measured) != 0)
        return weir_fail(err, WEIR_INVALID,
                         "bucket_by_length: partial fit of %zu bytes, expected a multiple of %zu",
                         partial.size, sizeof(struct measured));
    if (state->merged.size + partial.size > SAMPLES_MAX * sizeof(struct measured))
        state->left_out += partial.size / sizeof(struct measured);
    else
        weir_buf_append(&state->merged, partial.at, partial.size);
    return WEIR_OK;
}

static int compare_ids(const void *a, const void *b)
{
    const struct measured *left = a, *right = b;
    return (left->id > right->id) - (left->id < right->id);
}

static int compare_lengths(const void *a, const void *b)
{
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    return (left > right) - (left < right);
}

/* In the order of ids, each once: a batch that is filled up folds samples again. Returns how many. */
static size_t sort_samples(struct measured *samples, size_t count)
{
    size_t kept = 0;
    qsort(samples, count, sizeof(*samples), compare_ids);
    for (size_t i = 0; i < count; i++) {
        if (kept == 0 || samples[kept - 1].id != samples[i].id)
            samples[kept++] = samples[i];
    }
    return kept;
}

/* Classes whose lengths sum up to the same; fewer when lengths are equal. Against classes of equally many
 * samples, the long ones, of which there are few, have finer classes: less is to be filled up. */
static struct borders fit_borders(size_t classes, const struct measured *samples, size_t count)
{
    struct borders borders = {0};
    uint64_t total = 0, below = 0;
    WEIR_AUTO_FREE uint32_t *lengths = weir_calloc(count + 1, sizeof(*lengths));
    for (size_t i = 0; i < count; i++) {
        lengths[i] = (uint32_t)samples[i].length;
        total += lengths[i];
    }
    qsort(lengths, count, sizeof(*lengths), compare_lengths);
    for (size_t i = 0, k = 1; i < count && k < classes; i++) {
        below += lengths[i];
        for (; k < classes && below >= total / classes * k; k++) {
            if (borders.count == 0 || lengths[i] > borders.at[borders.count - 1])
                borders.at[borders.count++] = lengths[i];
        }
    }
    return borders;
}

static uint8_t class_of(const struct borders *borders, uint64_t length)
{
    uint8_t passed = 0;
    while (passed < borders->count && length > borders->at[passed])
        passed++;
    return passed;
}

static void append_samples(const struct borders *borders, const struct measured *samples,
                           size_t count, struct weir_buf *out)
{
    weir_buf_append_u64(out, count);
    for (size_t i = 0; i < count; i++) {
        uint64_t distance = samples[i].id - (i > 0 ? samples[i - 1].id : 0);
        bool is_near = distance > 0 && distance <= NEAR_MAX;
        unsigned class = class_of(borders, samples[i].length);
        uint8_t byte = (uint8_t)(class << 4 | (is_near ? (unsigned)distance : 0));
        weir_buf_append(out, &byte, 1);
        if (!is_near)
            weir_buf_append_varint(out, distance);
    }
}

static enum weir_status finish(void *owner, struct weir_buf *fitted, struct weir_error *err)
{
    struct state *state = owner;
    struct measured *samples = (struct measured *)(void *)state->merged.at;
    size_t found = state->merged.size / sizeof(*samples);
    if (state->left_out > 0)
        return weir_fail(err, WEIR_LIMIT,
                         "bucket_by_length: found %zu samples, expected at most %d",
                         found + state->left_out, SAMPLES_MAX);
    size_t count = found > 0 ? sort_samples(samples, found) : 0;
    struct borders borders = state->given;
    if (borders.count == 0)
        borders = fit_borders(state->classes, samples, count);
    weir_buf_append_u64(fitted, borders.count);
    for (size_t i = 0; i < borders.count; i++)
        weir_buf_append_u32(fitted, borders.at[i]);
    append_samples(&borders, samples, count, fitted);
    return WEIR_OK;
}

/* ---- what is sealed ---- */

/* Goes through the samples of fitted state. */
struct sealed {
    struct weir_bytes rest;
    uint64_t left; /* samples */
    uint64_t id;
    uint8_t class;
};

static bool begin_sealed(struct weir_bytes fitted, struct sealed *ret_sealed)
{
    uint64_t count, left;
    struct weir_bytes borders;
    if (!weir_take_u64(&fitted, &count) || count > BORDERS_MAX ||
        !weir_take(&fitted, 4 * count, &borders) || !weir_take_u64(&fitted, &left))
        return false;
    *ret_sealed = (struct sealed){.rest = fitted, .left = left};
    return left <= fitted.size;
}

/* False at the end, and for what is malformed. */
static bool next_sealed(struct sealed *sealed)
{
    struct weir_bytes byte;
    if (sealed->left == 0 || !weir_take(&sealed->rest, 1, &byte))
        return false;
    uint64_t distance = *byte.at & NEAR_MAX;
    if (distance == 0 && !weir_take_varint(&sealed->rest, &distance))
        return false;
    sealed->left--;
    sealed->id += distance;
    sealed->class = *byte.at >> 4;
    return true;
}

static enum weir_status load(void *owner, struct weir_bytes fitted, struct weir_error *err)
{
    struct state *state = owner;
    struct sealed sealed;
    bool is_whole = begin_sealed(fitted, &sealed);
    while (is_whole && next_sealed(&sealed))
        continue;
    if (!is_whole || sealed.left > 0 || sealed.rest.size > 0)
        return weir_fail(err, WEIR_INVALID,
                         "bucket_by_length: fitted state of %zu bytes, expected length classes",
                         fitted.size);
    weir_buf_clear(&state->fitted);
    weir_buf_append(&state->fitted, fitted.at, fitted.size);
    return WEIR_OK;
}

static void classify(const void *owner, const uint64_t *ids, size_t count, uint8_t *ret_classes)
{
    const struct state *state = owner;
    struct sealed sealed = {0};
    bool is_there = begin_sealed(weir_buf_view(&state->fitted), &sealed) && next_sealed(&sealed);
    for (size_t i = 0; i < count; i++) {
        while (is_there && sealed.id < ids[i])
            is_there = next_sealed(&sealed);
        ret_classes[i] = is_there && sealed.id == ids[i] ? sealed.class : 0;
    }
}

static const struct operator_fit FIT = {
    .fold = fold,
    .merge = merge,
    .finish = finish,
    .load = load,
    .classify = classify,
};

const struct preprocess_operator preprocess_operator_bucket_by_length = {
    .name = "bucket_by_length",
    .summary = "batches of samples of like length, by length classes fitted on the set",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .fit = &FIT,
    .traits = OPERATOR_TOTAL,
    .plan = plan,
    .apply = apply,
    .fini = fini,
};
