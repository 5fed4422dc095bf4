/* Tables of JSON lines: every member that is a text, a number, true or false, or a list of such, is a column. */
#include "cli/guessing/table.h"

#include "core/base/lines.h"
#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { DEPTH_MAX = 8 };

static struct cli_guess_column *column_named(struct cli_guess_table *table, const char *name)
{
    for (size_t i = 0; i < table->count; i++)
        if (strcmp(table->columns[i].name, name) == 0)
            return &table->columns[i];
    if (table->count == CLI_GUESS_COLUMNS_MAX)
        return NULL;
    table->columns =
        weir_grow(table->columns, table->count, &table->capacity, sizeof(*table->columns));
    cli_guess_column_init(&table->columns[table->count], weir_bytes_of(name));
    return &table->columns[table->count++];
}

static void add_value(struct cli_guess_column *column, const json_t *value)
{
    WEIR_AUTO_FREE char *number = NULL;

    if (json_is_string(value)) {
        column->quoted++;
        cli_guess_column_add(column,
                             weir_bytes(json_string_value(value), json_string_length(value)));
    } else if (json_is_number(value)) {
        number = json_dumps(value, JSON_ENCODE_ANY);
        cli_guess_column_add(column, weir_bytes_of(number));
    } else {
        cli_guess_column_add(column, weir_bytes_of(json_is_null(value)   ? ""
                                                   : json_is_true(value) ? "1"
                                                                         : "0"));
    }
}

static bool is_scalar(const json_t *value)
{
    return !json_is_object(value) && !json_is_array(value);
}

/* A list of texts and numbers has all of them for values. */
static void add_list(struct cli_guess_table *table, const char *name, const json_t *list)
{
    struct cli_guess_column *column;
    size_t i;
    json_t *value;

    if (json_array_size(list) == 0) /* what it is a list of, others say */
        return;
    json_array_foreach(list, i, value)
    {
        if (!is_scalar(value)) {
            table->lists++;
            return;
        }
    }
    column = column_named(table, name);
    if (column == NULL)
        return;
    column->lists++;
    json_array_foreach(list, i, value)
    {
        add_value(column, value);
    }
}

static void add_object(struct cli_guess_table *table, json_t *object, const char *prefix, int depth)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        WEIR_AUTO_FREE char *name = weir_format("%s%s", prefix, key);
        WEIR_AUTO_FREE char *below = weir_format("%s.", name);

        if (strchr(key, '.') != NULL) {
            table->dotted++;
        } else if (json_is_object(value) && depth < DEPTH_MAX) {
            add_object(table, value, below, depth + 1);
        } else if (json_is_array(value)) {
            add_list(table, name, value);
        } else if (!json_is_object(value)) {
            struct cli_guess_column *column = column_named(table, name);

            if (column != NULL)
                add_value(column, value);
        }
    }
}

void cli_guess_lines_read(struct cli_guess_table *table, struct weir_bytes piece, bool is_last)
{
    table->is_json = true;
    while (piece.size > 0) {
        size_t whole = weir_line(piece), size = whole > 0 ? whole : piece.size;
        struct weir_bytes line = weir_bytes_trim(weir_bytes(piece.at, size));
        json_t *record;

        if (whole == 0 && !is_last)
            break;
        piece = weir_bytes(piece.at + size, piece.size - size);
        if (line.size == 0)
            continue;
        record = json_loadb((const char *)line.at, line.size, 0, NULL);
        table->broken += json_is_object(record) ? 0 : 1;
        table->rows += json_is_object(record) ? 1 : 0;
        table->bytes += size;
        add_object(table, record, "", 0);
        json_decref(record);
    }
}
