/* csv_text: one record of comma-separated values → the text of one field. */
#include "preprocess/operators/csv.h"

struct options {
    struct csv_options csv;
    struct cfg_texts field;
    const char *as;
};

static const struct cfg_key OPTIONS[] = {
    CFG_TEXTS(struct options, field, .required = true,
              .doc =
                  "column of the text: a name, or a number from 0; several are joined by blanks"),
    CSV_KEYS(struct options, csv),
    CFG_TEXT(struct options, as, .fallback = "text", .doc = "name of the column"),
    CFG_END,
};

static enum weir_status plan(void *owner, const void *given, const struct operator_schema *schema,
                             struct operator_plan *ret_plan, struct weir_error *err)
{
    const struct options *options = given;
    enum weir_status status =
        preprocess_csv_reader_open(owner, &options->csv, &options->field, schema, ret_plan, err);
    if (status != WEIR_OK)
        return status;
    return preprocess_operator_plan_output(ret_plan, options->as, COLUMN_BYTES, 0, 0, err);
}

static void fini(void *owner)
{
    preprocess_csv_reader_fini(owner);
}

/* A row that fails is left empty. */
static void read_row(void *owner, struct operator_call *call, size_t row)
{
    struct csv_reader *reader = owner;
    struct weir_buf *values = &call->out[0].values;
    size_t begin = values->size;
    struct csv_walk walk = preprocess_csv_walk_begin(reader, call, row);
    while (preprocess_csv_walk_next(reader, &walk, call, row)) {
        if (values->size > begin)
            weir_buf_append_text(values, " ");
        if (!preprocess_csv_walk_is_missing(reader, &walk))
            weir_buf_append(values, walk.text.at, walk.text.size);
    }
    if (walk.has_failed)
        values->size = begin;
}

static void apply(void *owner, struct operator_call *call)
{
    preprocess_operator_read_rows(owner, call, read_row);
}

const struct preprocess_operator preprocess_operator_csv_text = {
    .name = "csv_text",
    .summary = "the text of a field of a csv record, or of several",
    .options = OPTIONS,
    .options_size = sizeof(struct options),
    .state_size = sizeof(struct csv_reader),
    .reads_records = true,
    .plan = plan,
    .apply = apply,
    .by_row = true,
    .fini = fini,
};
