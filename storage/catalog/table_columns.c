/* Columns of tables: see table_columns.h. */
#include "storage/catalog/table_columns.h"

#include "core/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { TOLD_MAX = 160 };

static enum weir_status read_columns(const struct dataset *dataset, struct weir_bytes head,
                                     uint64_t size, struct weir_buf *out, struct weir_error *err)
{
    const struct declaration *d = dataset->declaration;
    const struct format_input input = {.head = head, .size = size};

    return d->format->columns == NULL
               ? WEIR_OK
               : d->format->columns(&input, d->options, &d->fields, out, err);
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

enum weir_status storage_table_columns_check(const struct dataset *dataset, struct weir_bytes head,
                                             uint64_t size, struct weir_error *err)
{
    const char *known = dataset->columns;
    WEIR_AUTO_BUF found = {0};
    enum weir_status status = read_columns(dataset, head, size, &found, err);

    if (status != WEIR_OK || found.size == 0 || known == NULL || !have_names(known) ||
        strncmp(weir_buf_text(&found), known, strlen(known)) == 0)
        return status;
    bool may_tell = !dataset->declaration->has_subject;
    WEIR_AUTO_FREE char *is = listed(may_tell ? weir_buf_text(&found) : "others\n");
    WEIR_AUTO_FREE char *was = listed(known);

    return weir_fail(err, WEIR_INVALID,
                     "line 1: found the columns %s, expected those of the dataset, in their order: "
                     "%s; more may follow",
                     is, was);
}

void storage_table_columns_adopt(struct dataset *dataset, struct weir_bytes head, uint64_t size)
{
    WEIR_AUTO_BUF found = {0};
    struct weir_error err;

    if (dataset->columns != NULL || read_columns(dataset, head, size, &found, &err) != WEIR_OK ||
        found.size == 0)
        return;
    dataset->columns = weir_strdup(weir_buf_text(&found));
    dataset->columns_are_new = true;
}
