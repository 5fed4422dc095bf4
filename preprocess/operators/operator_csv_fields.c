/* csv_fields: one record of comma-separated values (RFC 4180) → dense f32 `features`. The fields
 * are named, with the file's columns listed in order, or numbered from 0. */
#include "preprocess/operators/csv.h"
#include "preprocess/operators/number.h"

struct options {
    struct csv_options csv;
    struct cfg_texts fields;
    const char *fill;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXTS(struct options, fields, .required = true,
              .doc = "numeric fields, in the order of the tensor: names, or numbers from 0"),
    CSV_KEYS(struct options, csv),
    CFG_TEXT(struct options, fill,
             .doc = "number for empty fields, or nan; without it they are failures"),
    CFG_TEXT(struct options, as, .fallback = "features", .doc = "name of the tensor"),
    CFG_END,
};

struct state {
    struct csv_reader csv;
    struct number_fill fill;
    size_t width;
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status =
        preprocess_csv_reader_open(&state->csv, &options->csv, &options->fields, err);
    if (status == WEIR_OK)
        status = preprocess_number_fill_option(options->fill, &state->fill, err);
    if (status == WEIR_OK)
        status = preprocess_operator_schema_check_name(options->as, err);
    if (status != WEIR_OK)
        return status;
    state->width = options->fields.count;
    ret_plan->outputs = 1;
    ret_plan->output[0] =
        preprocess_column_about(options->as, COLUMN_DENSE, WEIR_F32, (uint32_t)state->width);
    return preprocess_operator_schema_pick(
        schema, options->csv.on, 1u << COLUMN_BYTES | 1u << COLUMN_TEXT, &ret_plan->in, err);
}

static void fini(void *owner)
{
    preprocess_csv_reader_fini(&((struct state *)owner)->csv);
}

static bool read_value(const struct state *state, struct weir_bytes field, float *ret_value)
{
    *ret_value = state->fill.value;
    return (field.size == 0 && state->fill.is_given) ||
           preprocess_number_read_f32(field, ret_value);
}

static void read_row(void *owner, struct operator_call *call, size_t row, float *to)
{
    struct state *state = owner;
    struct csv_walk walk = preprocess_csv_walk_begin(&state->csv, call, row);
    while (preprocess_csv_walk_next(&state->csv, &walk, call, row)) {
        float value;
        if (!read_value(state, walk.text, &value)) {
            preprocess_operator_fail_row(call, row, "field %zu: found %zu bytes, expected a number",
                                         walk.field, walk.text.size);
            return;
        }
        for (int32_t i = state->csv.wanted[walk.field]; i >= 0; i = state->csv.next[i])
            to[i] = value;
    }
}

static void apply(void *owner, struct operator_call *call)
{
    preprocess_operator_read_numbers(owner, call, ((const struct state *)owner)->width, read_row);
}

const struct preprocess_operator preprocess_operator_csv_fields = {
    .name = "csv_fields",
    .summary = "numeric fields of a csv record to a dense tensor",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct state),
    .plan = plan,
    .apply = apply,
    .fini = fini,
};
