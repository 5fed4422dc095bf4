/* Datasets that are tables: see tables.h. */
#include "preprocess/plan/tables.h"

#include "core/base/memory.h"
#include "core/config/sections.h"
#include "core/wire/file_formats.h"

#include <stdlib.h>
#include <string.h>

static const struct file_format {
    const char *name;
    bool is_table;
} FORMATS[] = {
#define X(name, is_table) {#name, is_table},
    FILE_FORMATS(X)
#undef X
};

struct preprocess_tables {
    struct operator_records records;
    struct weir_arena *arena;
};

/* Columns of one dataset. */
struct columns {
    const char **at;
    size_t count;
};

/* ---- what storage has found ---- */

/* Takes the next line off `*rest`; false at the end. */
static bool take_line(struct weir_bytes *rest, struct weir_bytes *ret_line)
{
    const uint8_t *end = rest->size > 0 ? memchr(rest->at, '\n', rest->size) : NULL;
    if (end == NULL)
        return false;
    size_t size = (size_t)(end - rest->at);
    *ret_line = weir_bytes(rest->at, size);
    *rest = weir_bytes(rest->at + size + 1, rest->size - size - 1);
    return true;
}

/* The lines behind the name of the dataset; empty when it is not there. */
static struct weir_bytes find(struct weir_bytes found, const char *dataset)
{
    while (found.size > 0) {
        const uint8_t *end = memchr(found.at, '\0', found.size);
        size_t size = end != NULL ? (size_t)(end - found.at) : found.size;
        struct weir_bytes entry = weir_bytes(found.at, size), name;
        if (take_line(&entry, &name) && weir_bytes_equal(name, weir_bytes_of(dataset)))
            return entry;
        size += end != NULL;
        found = weir_bytes(found.at + size, found.size - size);
    }
    return weir_bytes(NULL, 0);
}

static struct columns columns_found(struct weir_arena *arena, struct weir_bytes lines)
{
    struct columns columns = {0};
    struct weir_bytes rest = lines, name;
    while (take_line(&rest, &name))
        columns.count++;
    columns.at = weir_arena_alloc(arena, (columns.count + 1) * sizeof(*columns.at));
    for (size_t i = 0; take_line(&lines, &name); i++)
        columns.at[i] = weir_arena_strndup(arena, (const char *)name.at, name.size);
    return columns;
}

static struct columns columns_declared(struct weir_arena *arena, const struct cfg_texts *names)
{
    struct columns columns = {.count = names->count};
    columns.at = weir_arena_alloc(arena, (columns.count + 1) * sizeof(*columns.at));
    for (size_t i = 0; i < names->count; i++) {
        const char *name = weir_yaml_text(weir_yaml_at(names->node, i));
        columns.at[i] = name != NULL ? name : "";
    }
    return columns;
}

/* ---- what they have in common ---- */

/* Of columns that are known, those that both have: one may have more. */
static void join_columns(struct operator_records *records, const char *dataset,
                         const struct columns *columns)
{
    size_t both = columns->count < records->column_count ? columns->count : records->column_count;
    for (size_t i = 0; i < both; i++) {
        if (!weir_str_equal(columns->at[i], records->columns[i]))
            records->other = dataset;
    }
    if (records->column_count == 0) {
        records->columns = columns->at;
        records->column_count = columns->count;
    } else if (columns->count > 0) {
        records->column_count = both;
    }
}

static bool has_missing(const struct operator_records *records, const char *text)
{
    size_t i = 0;
    while (i < records->missing_count && !weir_str_equal(records->missing[i], text))
        i++;
    return i < records->missing_count;
}

static void join_missing(struct preprocess_tables *tables, const struct cfg_texts *texts)
{
    struct operator_records *records = &tables->records;
    size_t room = records->missing_count + texts->count + 1;
    const char **all = weir_arena_alloc(tables->arena, room * sizeof(*all));
    if (records->missing_count > 0)
        memcpy(all, records->missing, records->missing_count * sizeof(*all));
    records->missing = all;
    for (size_t i = 0; i < texts->count; i++) {
        const char *text = weir_yaml_text(weir_yaml_at(texts->node, i));
        if (text != NULL && !has_missing(records, text))
            all[records->missing_count++] = text;
    }
}

/* ---- a dataset ---- */

static struct cfg_table table_of(const struct weir_yaml_node *source)
{
    struct cfg_table table = {0};
    struct weir_error err;
    if (cfg_read(CFG_TABLE_KEYS, CFG_OPEN, source, "", NULL, &table, &err) != WEIR_OK)
        table = (struct cfg_table){.dialect.delimiter = ",", .header = true};
    if (cfg_csv_check(&table.dialect, "", &err) != WEIR_OK)
        table.dialect.delimiter = ",";
    return table;
}

/* Returns NULL for a format that is unknown, or missing: storage complains of it, and it may be meant to be a table. */
static const struct file_format *format_of(const struct weir_yaml_node *source)
{
    const char *format = weir_yaml_text(weir_yaml_get(source, "format"));
    for (size_t i = 0; i < WEIR_COUNT(FORMATS); i++)
        if (weir_str_equal(format, FORMATS[i].name))
            return &FORMATS[i];
    return NULL;
}

static void add_dataset(struct preprocess_tables *tables, const struct weir_yaml_node *dataset,
                        const struct weir_bytes *found)
{
    const char *name = weir_yaml_text(weir_yaml_get(dataset, "name"));
    const struct weir_yaml_node *source = weir_yaml_get(dataset, "source");
    const struct file_format *format = format_of(source);
    if (name == NULL || weir_yaml_get(dataset, "updates") != NULL ||
        (format != NULL && !format->is_table))
        return;
    const struct cfg_table table = table_of(source);
    struct columns columns =
        columns_found(tables->arena, found != NULL ? find(*found, name) : weir_bytes(NULL, 0));
    if (columns.count == 0 && !table.header)
        columns = columns_declared(tables->arena, &table.columns);
    struct operator_records *records = &tables->records;
    if (records->dataset == NULL)
        *records = (struct operator_records){.dataset = name, .dialect = table.dialect};
    records->are_awaited |= format == NULL || (found == NULL && table.header);
    join_columns(records, name, &columns);
    join_missing(tables, &table.missing);
}

struct preprocess_tables *preprocess_tables_read(const struct weir_yaml_node *root,
                                                 const struct weir_bytes *found)
{
    const struct weir_yaml_node *list = cfg_datasets(root);
    struct preprocess_tables *tables = weir_calloc(1, sizeof(*tables));
    tables->arena = weir_arena_new();
    for (size_t i = 0; i < weir_yaml_length(list); i++)
        add_dataset(tables, weir_yaml_at(list, i), found);
    return tables;
}

void preprocess_tables_free(struct preprocess_tables *tables)
{
    if (tables == NULL)
        return;
    weir_arena_free(tables->arena);
    free(tables);
}

const struct operator_records *preprocess_tables_records(const struct preprocess_tables *tables)
{
    return tables->records.dataset != NULL ? &tables->records : NULL;
}
