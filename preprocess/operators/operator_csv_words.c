/* csv_words: one record of comma-separated values → words `NAME=VALUE`, one for each field that
 * holds something. Hashed by tokenize_hash, they are what a linear model over categories learns
 * from; runs of two of them are crosses of neighbours. */
#include "preprocess/operators/csv.h"
#include "preprocess/operators/number.h"

#include "core/base/elementary.h"
#include "core/base/memory.h"

#include <math.h>
#include <stdlib.h>

enum { SCALES_MAX = 2 };

struct options {
    struct csv_options csv;
    struct cfg_texts fields;
    struct cfg_texts coarse;
    uint64_t coarse_scales;
    bool keep_empty;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXTS(
        struct options, fields, .required = true,
        .doc = "fields that become words: names, or numbers from 0; words come in the order of the "
               "record"),
    CFG_TEXTS(struct options, coarse,
              .doc = "of these the counts: numbers above 2 are called by the whole part of their "
                     "squared logarithm, so that large ones share a word with their like"),
    CFG_U64(struct options, coarse_scales, .fallback = "1", .min = 1, .max = SCALES_MAX,
            .doc = "words of each count in coarse: the second is of the logarithm itself, so that "
                   "more of them share it"),
    CFG_BOOL(
        struct options, keep_empty, .fallback = "false",
        .doc =
            "a field that holds nothing is the word NAME=, so that each record has as many words"),
    CSV_KEYS(struct options, csv),
    CFG_TEXT(struct options, as, .fallback = "words", .doc = "name of the column"),
    CFG_END,
};

struct state {
    struct csv_reader csv;
    struct cfg_texts fields;
    bool *is_coarse; /* per field */
    uint64_t coarse_scales;
    bool keeps_empty;
};

static enum weir_status find_coarse(struct state *state, const struct cfg_texts *coarse,
                                    struct weir_error *err)
{
    state->is_coarse = weir_calloc(state->fields.count, sizeof(bool));
    for (size_t i = 0; i < coarse->count; i++) {
        const struct weir_yaml_node *node = weir_yaml_at(coarse->node, i);
        const char *name = weir_yaml_text(node);
        bool is_known = false;
        for (size_t k = 0; k < state->fields.count; k++) {
            bool is_it = weir_str_equal(name, weir_yaml_text(weir_yaml_at(state->fields.node, k)));
            state->is_coarse[k] |= is_it;
            is_known |= is_it;
        }
        if (!is_known)
            return weir_yaml_fail(node, err, "coarse: found '%s', expected one of fields",
                                  name != NULL ? name : "");
    }
    return WEIR_OK;
}

static uint64_t words_of_field(const struct state *state, int32_t name)
{
    return state->is_coarse[name] ? state->coarse_scales : 1;
}

/* Returns the words of a record that has all fields: one that is named twice counts once. */
static uint32_t words_of_record(const struct state *state)
{
    uint64_t words = 0;
    for (size_t i = 0; i < state->csv.fields; i++)
        if (state->csv.wanted[i] >= 0)
            words += words_of_field(state, state->csv.wanted[i]);
    return (uint32_t)words;
}

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    state->fields = options->fields;
    enum weir_status status = preprocess_csv_reader_open(&state->csv, &options->csv,
                                                         &options->fields, schema, ret_plan, err);
    if (status == WEIR_OK)
        status = find_coarse(state, &options->coarse, err);
    if (status != WEIR_OK)
        return status;
    state->keeps_empty = options->keep_empty;
    state->coarse_scales = options->coarse_scales;
    return preprocess_operator_plan_output(ret_plan, options->as, COLUMN_TOKENS, 0,
                                           options->keep_empty ? words_of_record(state) : 0, err);
}

static void fini(void *owner)
{
    struct state *state = owner;
    preprocess_csv_reader_fini(&state->csv);
    free(state->is_coarse);
}

/* The first scale is the transformation of counts by which a linear model over hashed fields won the display
 * advertising challenge of 2014 (Juan, Zhuang, Chin and Lin). */
static bool put_coarse(struct weir_bytes text, uint64_t scale, struct weir_buf *out)
{
    double number;
    if (!preprocess_number_read(text, &number) || number <= 2)
        return false;
    double logarithm = weir_ln(number);
    weir_buf_printf(out, "~%.0f", floor(scale == 0 ? logarithm * logarithm : logarithm));
    return true;
}

/* Words of the second scale begin with NAME~=, so that they are none of the first. */
static void add_word(const struct state *state, const struct csv_walk *walk, uint64_t scale,
                     struct column *out)
{
    int32_t name = state->csv.wanted[walk->field];
    struct weir_span span = {.start = (uint32_t)out->values.size};
    weir_buf_append_text(&out->values,
                         weir_yaml_text(weir_yaml_at(state->fields.node, (size_t)name)));
    weir_buf_append_text(&out->values, scale == 0 ? "=" : "~=");
    if (!state->is_coarse[name] || !put_coarse(walk->text, scale, &out->values))
        weir_buf_append(&out->values, walk->text.at, walk->text.size);
    span.size = (uint32_t)out->values.size - span.start;
    weir_buf_append(&out->spans, &span, sizeof(span));
}

static void add_field(const struct state *state, const struct csv_walk *walk, struct column *out)
{
    uint64_t words = words_of_field(state, state->csv.wanted[walk->field]);
    for (uint64_t scale = 0; scale < words; scale++)
        add_word(state, walk, scale, out);
}

/* A row that fails is left empty. */
static void read_row(void *owner, struct operator_call *call, size_t row)
{
    struct state *state = owner;
    struct column *out = &call->out[0];
    size_t values = out->values.size, spans = out->spans.size;
    struct csv_walk walk = preprocess_csv_walk_begin(&state->csv, call, row);
    while (preprocess_csv_walk_next(&state->csv, &walk, call, row)) {
        bool is_missing = preprocess_csv_walk_is_missing(&state->csv, &walk);
        if (is_missing)
            walk.text.size = 0;
        if (!is_missing || state->keeps_empty)
            add_field(state, &walk, out);
    }
    if (walk.has_failed) {
        out->values.size = values;
        out->spans.size = spans;
    }
}

static void apply(void *owner, struct operator_call *call)
{
    preprocess_operator_read_rows(owner, call, read_row);
}

const struct preprocess_operator preprocess_operator_csv_words = {
    .name = "csv_words",
    .summary = "fields of a csv record to words, NAME=VALUE each",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .reads_records = true,
    .plan = plan,
    .apply = apply,
    .fini = fini,
};
