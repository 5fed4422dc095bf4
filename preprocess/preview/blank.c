/* See blank.h. */
#include "preprocess/preview/blank.h"

#include "core/base/memory.h"
#include "preprocess/operators/csv.h"

#include <stdlib.h>

enum { TOLD_MAX = 5 };

/* The fields that one operator reads. */
struct fields {
    struct csv_reader reader;
    struct cfg_texts names;
    bool *are_met; /* by name */
    size_t unmet;
};

/* ---- operators ---- */

static struct cfg_texts texts_of(const struct weir_yaml_node *node)
{
    return (struct cfg_texts){.count = weir_yaml_length(node), .node = node};
}

/* Names of the fields of an operator that makes something of an empty one; none of any other operator. */
static struct cfg_texts names_of(const struct weir_yaml_node *written)
{
    const char *name = weir_yaml_text(weir_yaml_get(written, "op"));
    bool fills = weir_str_equal(name, "csv_fields") && weir_yaml_get(written, "fill") != NULL;

    if (weir_str_equal(name, "csv_text"))
        return texts_of(weir_yaml_get(written, "field"));
    return fills || weir_str_equal(name, "csv_words") ? texts_of(weir_yaml_get(written, "fields"))
                                                      : (struct cfg_texts){0};
}

static const char *made_of(const struct weir_yaml_node *written)
{
    const char *name = weir_yaml_text(weir_yaml_get(written, "op"));

    if (weir_str_equal(name, "csv_fields"))
        return weir_yaml_text(weir_yaml_get(written, "fill"));
    return weir_str_equal(name, "csv_words") ? "no word" : "an empty text";
}

/* False where the record is not what it reads, or cannot be read so: others complain. */
static bool open_fields(const struct weir_yaml_node *written, const struct operator_records *tables,
                        struct fields *fields)
{
    const char *quotes = weir_yaml_text(weir_yaml_get(written, "quotes"));
    const struct csv_options options = {
        .on = weir_yaml_text(weir_yaml_get(written, "on")),
        .columns = texts_of(weir_yaml_get(written, "columns")),
        .missing = texts_of(weir_yaml_get(written, "missing")),
        .delimiter = weir_yaml_text(weir_yaml_get(written, "delimiter")),
        .quotes = weir_str_equal(quotes, "double") ? 1
                  : weir_str_equal(quotes, "none") ? 2
                                                   : 0,
    };
    const struct operator_schema schema = {
        .count = 1,
        .column = {preprocess_column_about("payload", COLUMN_BYTES, 0, 0)},
        .records = tables,
    };
    struct operator_plan plan = {0};
    struct weir_error err;

    return preprocess_csv_reader_open(&fields->reader, &options, &fields->names, &schema, &plan,
                                      &err) == WEIR_OK;
}

/* ---- records ---- */

static void meet_record(struct fields *fields, const struct column *payload)
{
    uint8_t failed = OPERATOR_ROW_OK;
    struct operator_call call = {.rows = 1, .in = payload, .failed = &failed};
    struct csv_walk walk = preprocess_csv_walk_begin(&fields->reader, &call, 0);

    while (preprocess_csv_walk_next(&fields->reader, &walk, &call, 0)) {
        if (preprocess_csv_walk_is_missing(&fields->reader, &walk))
            continue;
        for (int32_t i = fields->reader.wanted[walk.field]; i >= 0; i = fields->reader.next[i]) {
            fields->unmet -= fields->are_met[i] ? 0 : 1;
            fields->are_met[i] = true;
        }
    }
}

static void meet(struct fields *fields, const struct records *records)
{
    struct column payload = {.about = preprocess_column_about("payload", COLUMN_BYTES, 0, 0)};

    fields->unmet = fields->names.count;
    fields->are_met = weir_calloc(fields->names.count, sizeof(*fields->are_met));
    for (size_t i = 0; i < records->count && fields->unmet > 0; i++) {
        struct weir_bytes record = preprocess_records_bytes(records, i);

        preprocess_column_begin(&payload);
        weir_buf_append(&payload.values, record.at, record.size);
        preprocess_column_end_row(&payload);
        meet_record(fields, &payload);
    }
    preprocess_column_fini(&payload);
}

/* ---- remarks ---- */

static void remark(const struct trial *trial, const struct records *records,
                   const struct weir_yaml_node *written, const struct fields *fields)
{
    WEIR_AUTO_BUF names = {0};
    size_t told = 0;

    for (size_t i = 0; i < fields->names.count && told < TOLD_MAX; i++)
        if (!fields->are_met[i])
            weir_buf_printf(&names, "%s'%s'", told++ > 0 ? ", " : "",
                            weir_yaml_text(weir_yaml_at(fields->names.node, i)));
    if (told < fields->unmet)
        weir_buf_printf(&names, " and %zu more", fields->unmet - told);
    cfg_note_at(trial->complaints, WEIR_OK, written,
                "preprocess.operators: %s: none of %zu records has a value in %s, which is %s in "
                "each then: a model learns nothing from it, expected it left out",
                weir_yaml_text(weir_yaml_get(written, "op")), records->count, weir_buf_text(&names),
                made_of(written));
}

void preprocess_blank_check(const struct trial *trial, const struct operator_records *tables,
                            const struct records *records)
{
    if (tables == NULL || tables->other != NULL || records->count == 0)
        return;
    for (size_t i = 0; i < weir_yaml_length(trial->operators); i++) {
        const struct weir_yaml_node *written = weir_yaml_at(trial->operators, i);
        struct fields fields = {.names = names_of(written)};

        if (fields.names.count > 0 && open_fields(written, tables, &fields))
            meet(&fields, records);
        if (fields.unmet > 0)
            remark(trial, records, written, &fields);
        free(fields.are_met);
        preprocess_csv_reader_fini(&fields.reader);
    }
}
