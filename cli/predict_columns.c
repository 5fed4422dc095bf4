/* See predict_columns.h. */
#include "cli/predict_columns.h"

#include "core/base/csv.h"
#include "core/base/json.h"
#include "core/base/memory.h"
#include "core/config/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Names that operators read and no row has, and those that rows have and the dataset does not. */
struct difference {
    json_t *absent, *strange;
};

static bool holds(const json_t *names, const char *name, size_t size)
{
    const json_t *one;
    size_t i;

    json_array_foreach(names, i, one)
    {
        const char *text = json_string_value(one);
        if (text != NULL && strlen(text) == size && memcmp(text, name, size) == 0)
            return true;
    }
    return false;
}

static void add_strange(struct difference *difference, const json_t *opened, struct weir_bytes name)
{
    const char *text = (const char *)name.at;

    if (!holds(json_object_get(opened, "columns"), text, name.size) &&
        !holds(json_object_get(opened, "reads"), text, name.size))
        json_array_append_new(difference->strange, json_stringn(text, name.size));
}

/* ---- csv ---- */

static void compare_header(struct difference *difference, const json_t *opened,
                           const struct cli_predict_rows *rows)
{
    WEIR_AUTO_BUF scratch = {0};
    WEIR_AUTO_FREE struct weir_csv_record *header = weir_calloc(1, sizeof(*header));
    json_t *name;
    size_t i;

    if (weir_csv_read(rows->bytes, rows->cut->dialect, true, header) != WEIR_CSV_RECORD)
        return;
    json_array_foreach(json_object_get(opened, "reads"), i, name)
    {
        if (weir_csv_find(header, json_string_value(name), 0) < 0)
            json_array_append(difference->absent, name);
    }
    for (i = 0; i < header->count; i++)
        add_strange(difference, opened, weir_csv_value(header->fields[i], &scratch));
}

/* ---- lines of JSON ---- */

static struct weir_bytes next_line(struct weir_bytes *rest)
{
    const uint8_t *end = memchr(rest->at, '\n', rest->size);
    struct weir_bytes line =
        weir_bytes(rest->at, end != NULL ? (size_t)(end - rest->at) : rest->size);

    size_t passed = line.size + (end != NULL ? 1 : 0);
    *rest = weir_bytes(rest->at + passed, rest->size - passed);
    return line;
}

/* Marks those that a row has; returns how many are still to be found. */
static size_t find_fields(struct weir_json *json, struct weir_bytes line, bool *found, size_t count)
{
    size_t left = 0;
    bool is_row = weir_json_read(json, line);

    for (size_t i = 0; i < count; i++) {
        found[i] = found[i] || (is_row && weir_json_found(json, i).at != NULL);
        left += !found[i];
    }
    return left;
}

/* Names of members of members are a.b. */
static void add_members(struct difference *difference, const json_t *opened, const char *outer,
                        json_t *object)
{
    const char *name;
    json_t *value;

    json_object_foreach(object, name, value)
    {
        WEIR_AUTO_FREE char *full = weir_format("%s%s%s", outer, *outer != '\0' ? "." : "", name);

        if (json_is_object(value))
            add_members(difference, opened, full, value);
        else
            add_strange(difference, opened, weir_bytes_of(full));
    }
}

static void add_first_row(struct difference *difference, const json_t *opened,
                          struct weir_bytes rows)
{
    struct weir_bytes line = next_line(&rows);
    json_t *row = json_loadb((const char *)line.at, line.size, 0, NULL);

    add_members(difference, opened, "", row);
    json_decref(row);
}

static void compare_fields(struct difference *difference, const json_t *opened,
                           const struct cli_predict_rows *rows)
{
    const json_t *reads = json_object_get(opened, "reads");
    size_t count = json_array_size(reads), left = count;
    WEIR_AUTO_FREE const char **names = weir_calloc(count + 1, sizeof(*names));
    WEIR_AUTO_FREE bool *found = weir_calloc(count + 1, sizeof(*found));
    struct weir_bytes rest = rows->bytes;

    for (size_t i = 0; i < count; i++)
        names[i] = json_string_value(json_array_get(reads, i));
    WEIR_AUTO(weir_json) json = weir_json_new(names, count);
    while (left > 0 && rest.size > 0)
        left = find_fields(json, next_line(&rest), found, count);
    for (size_t i = 0; i < count; i++)
        if (!found[i])
            json_array_append(difference->absent, json_array_get(reads, i));
    add_first_row(difference, opened, rows->bytes);
}

/* ---- what is said ---- */

/* A name that none of the dataset's columns has is a mistake where it is near to one; JSON has no list of them, and the
 * name may be that of a field which nobody reads. */
static enum weir_status tell(const struct cli_predict_rows *rows, const char *absent,
                             const char *const *strange, struct weir_error *err)
{
    const char *near = cfg_nearest(absent, strange);
    const char *place = rows->place != NULL ? rows->place : "stdin";

    if (near != NULL && !rows->is_json)
        return weir_fail(err, WEIR_INVALID,
                         "%s: found no column '%s', which operators read, but '%s': expected it by "
                         "its name",
                         place, absent, near);
    (void)fprintf(stderr,
                  "weir: %s: found no %s '%s', which operators read: it counts as missing in each "
                  "row%s%s%s\n",
                  place, rows->is_json ? "field" : "column", absent,
                  near != NULL ? " (is it '" : "", near != NULL ? near : "",
                  near != NULL ? "'?)" : "");
    return WEIR_OK;
}

enum weir_status cli_predict_columns_check(const struct cli_predict_rows *rows,
                                           const json_t *opened, struct weir_error *err)
{
    struct difference difference = {.absent = json_array(), .strange = json_array()};
    enum weir_status status = WEIR_OK;

    if (rows->is_json)
        compare_fields(&difference, opened, rows);
    else if (rows->cut->has_header)
        compare_header(&difference, opened, rows);
    size_t count = json_array_size(difference.strange);
    WEIR_AUTO_FREE const char **strange = weir_calloc(count + 1, sizeof(*strange));

    for (size_t i = 0; i < count; i++)
        strange[i] = json_string_value(json_array_get(difference.strange, i));
    for (size_t i = 0; status == WEIR_OK && i < json_array_size(difference.absent); i++)
        status = tell(rows, json_string_value(json_array_get(difference.absent, i)), strange, err);
    json_decref(difference.absent);
    json_decref(difference.strange);
    return status;
}
