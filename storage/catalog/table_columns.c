/* Columns of tables: see table_columns.h. */
#include "storage/catalog/table_columns.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { TOLD_MAX = 160 };

static enum weir_status read_columns(const struct dataset *dataset,
                                     const struct format_fields *fields,
                                     const struct format_input *input, struct weir_buf *out,
                                     struct weir_error *err)
{
    const struct declaration *d = dataset->declaration;

    return d->format->columns == NULL ? WEIR_OK
                                      : d->format->columns(input, d->options, fields, out, err);
}

/* Names that end with a line feed each, with commas instead. */
static char *listed(const char *columns)
{
    size_t size = strlen(columns), told = size < TOLD_MAX ? size : TOLD_MAX;
    char *list =
        weir_format("%.*s%s", (int)(told > 0 ? told - 1 : 0), columns, told < size ? "…" : "");

    for (char *at = list; *at; at++)
        *at = *at == '\n' ? ',' : *at;
    return list;
}

static bool have_names(const char *columns)
{
    return columns[strspn(columns, "\n")] != '\0';
}

/* True when columns of a file are those of the dataset, or nothing is known of either. */
static bool agree(const struct dataset *dataset, struct weir_buf *found)
{
    const char *known = dataset->columns;

    return found->size == 0 || known == NULL || !have_names(known) ||
           strncmp(weir_buf_text(found), known, strlen(known)) == 0;
}

/* True while a file that has the columns of the dataset has samples: else it may get others. Looks at all files of the
 * dataset, where a file with other columns is about to be refused. */
static bool are_held(const struct dataset *dataset)
{
    uint64_t end = storage_dataset_file_end(dataset);
    struct stored_file *file;
    struct weir_error err;

    for (uint64_t i = 0; i < end && !dataset->columns_are_staged; i++) {
        if (storage_dataset_file(dataset, i, &file, &err) != WEIR_OK ||
            (file != NULL && file->state == FILE_LIVE && file->samples > 0))
            return true;
    }
    return dataset->columns_are_staged;
}

/* `expected` says which of the dataset's. */
static enum weir_status fail_other(const struct dataset *dataset, struct weir_buf *found,
                                   const char *expected, struct weir_error *err)
{
    bool may_tell = !dataset->declaration->has_subject;
    WEIR_AUTO_FREE char *is = listed(may_tell ? weir_buf_text(found) : "others\n");
    WEIR_AUTO_FREE char *was = listed(dataset->columns);

    return weir_fail(err, WEIR_INVALID,
                     "line 1: found the columns %s, expected %s: %s; more may follow", is, expected,
                     was);
}

enum weir_status storage_table_columns_check(const struct dataset *dataset, struct weir_bytes head,
                                             uint64_t size, struct weir_error *err)
{
    const struct format_input input = {.head = head, .size = size};
    WEIR_AUTO_BUF found = {0};
    enum weir_status status =
        read_columns(dataset, &dataset->declaration->fields, &input, &found, err);

    return status == WEIR_OK && !agree(dataset, &found) && are_held(dataset)
               ? fail_other(dataset, &found, "those of the dataset, in their order", err)
               : status;
}
void storage_table_columns_adopt(struct dataset *dataset, struct weir_bytes head, uint64_t size)
{
    const struct format_input input = {.head = head, .size = size};
    WEIR_AUTO_BUF found = {0};
    struct weir_error err;

    if (dataset->columns_are_staged ||
        read_columns(dataset, &dataset->declaration->fields, &input, &found, &err) != WEIR_OK ||
        found.size == 0)
        return;
    dataset->columns_are_staged = true;
    if (dataset->columns != NULL && agree(dataset, &found))
        return;
    free(dataset->columns);
    dataset->columns = weir_strdup(weir_buf_text(&found));
}

/* ---- rows with other columns ---- */

static size_t count_lines(const char *lines)
{
    size_t count = 0;

    for (; *lines; lines++)
        count += *lines == '\n';
    return count;
}

/* Index of a line that is `size` bytes long and begins at `line`, or -1. */
static int find_line(const char *lines, const char *line, size_t size)
{
    for (int i = 0; *lines; i++) {
        size_t length = strcspn(lines, "\n");

        if (length == size && memcmp(lines, line, size) == 0)
            return i;
        lines += length + 1;
    }
    return -1;
}

enum weir_status storage_table_columns_order(const struct dataset *dataset, struct weir_bytes head,
                                             uint64_t size, struct table_columns_order *ret_order,
                                             struct weir_error *err)
{
    static const struct format_fields NONE;
    const struct format_input input = {.head = head, .size = size};
    WEIR_AUTO_BUF found = {0};
    const char *line = dataset->columns;
    size_t matched = 0;
    enum weir_status status = read_columns(dataset, &NONE, &input, &found, err);

    *ret_order = (struct table_columns_order){0};
    if (status != WEIR_OK || agree(dataset, &found))
        return status;
    size_t count = count_lines(dataset->columns);
    WEIR_AUTO_FREE int *order = weir_calloc(count, sizeof(*order));

    for (size_t i = 0; i < count; i++) {
        size_t length = strcspn(line, "\n");

        order[i] = find_line(weir_buf_text(&found), line, length);
        matched += order[i] >= 0;
        line += length + 1;
    }
    if (matched == 0)
        return fail_other(dataset, &found,
                          "some of those of the dataset, in any order, divided as in its files",
                          err);
    *ret_order = (struct table_columns_order){.order = WEIR_TAKE(order), .count = count};
    return WEIR_OK;
}
