/* See blank.h. */
#include "preprocess/preview/blank.h"

#include "core/base/hash.h"
#include "core/base/memory.h"
#include "preprocess/operators/csv.h"
#include "preprocess/operators/number.h"

#include <stdlib.h>

enum { TOLD_MAX = 5 };

/* A field, by its name. */
struct met {
    bool has_value;  /* in some record */
    uint64_t newest; /* hash of its newest value that is a large integer, */
    float number;    /* and what f32 makes of it */
    size_t lost;     /* such integers that become the number of another one before them */
};

/* The fields that one operator reads. */
struct fields {
    struct csv_reader reader;
    struct cfg_texts names;
    bool are_numbers;
    struct met *met; /* by name */
    size_t unmet;
};

/* ---- operators ---- */

static struct cfg_texts texts_of(const struct weir_yaml_node *node)
{
    return (struct cfg_texts){.count = weir_yaml_length(node), .node = node};
}

static bool is_op(const struct weir_yaml_node *written, const char *name)
{
    return weir_str_equal(weir_yaml_text(weir_yaml_get(written, "op")), name);
}

/* Names of the fields of an operator that reads CSV; none of any other operator. */
static struct cfg_texts names_of(const struct weir_yaml_node *written)
{
    if (is_op(written, "csv_text"))
        return texts_of(weir_yaml_get(written, "field"));
    return is_op(written, "csv_fields") || is_op(written, "csv_words")
               ? texts_of(weir_yaml_get(written, "fields"))
               : (struct cfg_texts){0};
}

/* True for one that makes something of an empty field. */
static bool bears_blanks(const struct weir_yaml_node *written)
{
    return !is_op(written, "csv_fields") || weir_yaml_get(written, "fill") != NULL;
}

static const char *made_of(const struct weir_yaml_node *written)
{
    if (is_op(written, "csv_fields"))
        return weir_yaml_text(weir_yaml_get(written, "fill"));
    return is_op(written, "csv_words") ? "no word" : "an empty text";
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

/* Integers in a row that differ and become one number: what they name can be told apart no more. */
static void compare(struct met *met, struct weir_bytes text)
{
    static const float EXACT = 0x1p24f; /* beyond: not every integer is a f32 */
    float number;

    text = weir_bytes_trim(text);
    for (size_t i = 0; i < text.size; i++)
        if (text.at[i] < '0' || text.at[i] > '9')
            return;
    if (!preprocess_number_read_f32(text, &number) || number <= EXACT)
        return;
    uint64_t hash = weir_hash64(text, 0);
    met->lost += hash != met->newest && number == met->number ? 1 : 0;
    met->newest = hash;
    met->number = number;
}

static void meet_record(struct fields *fields, const struct column *payload)
{
    uint8_t failed = OPERATOR_ROW_OK;
    struct operator_call call = {.rows = 1, .in = payload, .failed = &failed};
    struct csv_walk walk = preprocess_csv_walk_begin(&fields->reader, &call, 0);

    while (preprocess_csv_walk_next(&fields->reader, &walk, &call, 0)) {
        if (preprocess_csv_walk_is_missing(&fields->reader, &walk))
            continue;
        for (int32_t i = fields->reader.wanted[walk.field]; i >= 0; i = fields->reader.next[i]) {
            fields->unmet -= fields->met[i].has_value ? 0 : 1;
            fields->met[i].has_value = true;
            if (fields->are_numbers)
                compare(&fields->met[i], walk.text);
        }
    }
}

static void meet(struct fields *fields, const struct records *records)
{
    struct column payload = {.about = preprocess_column_about("payload", COLUMN_BYTES, 0, 0)};

    fields->unmet = fields->names.count;
    fields->met = weir_calloc(fields->names.count, sizeof(*fields->met));
    for (size_t i = 0; i < records->count && (fields->unmet > 0 || fields->are_numbers); i++) {
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
        if (!fields->met[i].has_value)
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

static void remark_lost(const struct trial *trial, const struct records *records,
                        const struct weir_yaml_node *written, const struct fields *fields)
{
    for (size_t i = 0; i < fields->names.count; i++)
        if (fields->met[i].lost * 10 > records->count)
            cfg_note_at(trial->complaints, WEIR_OK, written,
                        "preprocess.operators: csv_fields: %zu of %zu integers of '%s' become the "
                        "number of another one before them, as f32 holds 24 bits: csv_words takes "
                        "what names something, calendar what is a time",
                        fields->met[i].lost, records->count,
                        weir_yaml_text(weir_yaml_at(fields->names.node, i)));
}

void preprocess_blank_check(const struct trial *trial, const struct operator_records *tables,
                            const struct records *records)
{
    if (tables == NULL || tables->other != NULL || records->count == 0)
        return;
    for (size_t i = 0; i < weir_yaml_length(trial->operators); i++) {
        const struct weir_yaml_node *written = weir_yaml_at(trial->operators, i);
        struct fields fields = {.names = names_of(written),
                                .are_numbers = is_op(written, "csv_fields")};

        if (fields.names.count > 0 && open_fields(written, tables, &fields)) {
            meet(&fields, records);
            remark_lost(trial, records, written, &fields);
        }
        if (fields.unmet > 0 && bears_blanks(written))
            remark(trial, records, written, &fields);
        free(fields.met);
        preprocess_csv_reader_fini(&fields.reader);
    }
}
