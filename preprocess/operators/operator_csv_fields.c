/* csv_fields: one record of comma-separated values (RFC 4180) → dense f32 `features`. The fields
 * are named, or numbered from 0. */
#include "core/base/shape.h"
#include "core/config/csv.h"
#include "preprocess/operators/csv.h"
#include "preprocess/operators/number.h"

struct options {
    struct csv_options csv;
    struct cfg_texts fields;
    const char *fill;
    int decimal;
    const char *as;
};

enum { DECIMAL_POINT, DECIMAL_COMMA };
static const char *const DECIMALS[] = {"point", "comma", NULL};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXTS(struct options, fields, .required = true,
              .doc = "numeric fields, in the order of the tensor: names, or numbers from 0"),
    CSV_KEYS(struct options, csv),
    CFG_TEXT(
        struct options, fill,
        .doc = "number for fields that are empty or missing, or nan; without it they are failures"),
    CFG_CHOICE(struct options, decimal, .choices = DECIMALS, .fallback = "point",
               .doc = "mark before the fraction of a number: comma reads 12,5, and no point"),
    CFG_TEXT(struct options, as, .fallback = "features", .doc = "name of the tensor"),
    CFG_END,
};

struct state {
    struct csv_reader csv;
    struct number_fill fill;
    size_t width;
    bool has_commas; /* 12,5 */
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    struct state *state = owner;
    const struct options *options = given;
    enum weir_status status = preprocess_csv_reader_open(&state->csv, &options->csv,
                                                         &options->fields, schema, ret_plan, err);
    if (status == WEIR_OK)
        status = preprocess_number_fill_option(options->fill, &state->fill, err);
    if (status != WEIR_OK)
        return status;
    if (options->csv.missing.count > 0 && !state->fill.is_given)
        return weir_yaml_fail(options->csv.missing.node, err,
                              "missing: found no fill beside it, expected fill: nan, or a number");
    state->has_commas = options->decimal == DECIMAL_COMMA;
    state->width = options->fields.count;
    status = preprocess_operator_plan_output(ret_plan, options->as, COLUMN_DENSE, WEIR_F32,
                                             (uint32_t)state->width, err);
    ret_plan->output[0].elements =
        preprocess_csv_reader_elements(&state->csv, &options->fields, schema->arena);
    return status;
}

static void fini(void *owner)
{
    preprocess_csv_reader_fini(&((struct state *)owner)->csv);
}

static bool read_number(const struct state *state, struct weir_bytes text, float *ret_value)
{
    uint8_t copy[NUMBER_TEXT_MAX];

    if (!state->has_commas)
        return preprocess_number_read_f32(text, ret_value);
    if (text.size > sizeof(copy))
        return false;
    for (size_t i = 0; i < text.size; i++)
        copy[i] = text.at[i] == ',' ? '.' : text.at[i] == '.' ? ',' : text.at[i];
    return preprocess_number_read_f32(weir_bytes(copy, text.size), ret_value);
}

/* Returns what the reason goes on with where a value is a number after all. */
static const char *explain(const struct state *state, struct weir_bytes text)
{
    struct state other = {.has_commas = !state->has_commas};
    double number;
    float value;

    if (read_number(&other, text, &value))
        return state->has_commas ? " without a point, as decimal: comma says"
                                 : "; decimal: comma takes it, if that is no mark of thousands";
    return preprocess_number_read(text, &number) ? " that f32 can hold" : "";
}

/* Marks the row. A short word is quoted if it is one of those that say that there is nothing; of others the form is
 * shown. */
static void refuse(const struct state *state, struct operator_call *call, size_t row,
                   const struct csv_walk *walk)
{
    char name[CSV_FIELD_NAME_MAX], shape[WEIR_SHAPE_MAX + 1];
    preprocess_csv_reader_field(&state->csv, walk->field, name);
    if (preprocess_csv_walk_is_missing(&state->csv, walk)) {
        preprocess_operator_fail_row(call, row,
                                     "%s: found nothing%s, expected a number: fill takes it", name,
                                     walk->text.size > 0 ? " (what is declared missing)" : "");
        return;
    }
    if (cfg_csv_is_blank_word(walk->text)) {
        int size = (int)walk->text.size;
        preprocess_operator_fail_row(
            call, row, "%s: found '%.*s', expected a number: missing: ['%.*s'] and fill take it",
            name, size, (const char *)walk->text.at, size, (const char *)walk->text.at);
        return;
    }
    weir_shape(walk->text, shape);
    preprocess_operator_fail_row(
        call, row, "%s: found \"%s\" (9: a digit, A and a: letters), expected a number%s", name,
        shape, explain(state, walk->text));
}

static bool read_value(const struct state *state, const struct csv_walk *walk, float *ret_value)
{
    *ret_value = state->fill.value;
    return (state->fill.is_given && preprocess_csv_walk_is_missing(&state->csv, walk)) ||
           read_number(state, walk->text, ret_value);
}

static void read_row(void *owner, struct operator_call *call, size_t row, float *to)
{
    struct state *state = owner;
    struct csv_walk walk = preprocess_csv_walk_begin(&state->csv, call, row);
    while (preprocess_csv_walk_next(&state->csv, &walk, call, row)) {
        float value;
        if (!read_value(state, &walk, &value)) {
            refuse(state, call, row, &walk);
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
    .reads_records = true,
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .fini = fini,
};
