/* Cells of a binary result. */
#include "core/db/connection.h"

#include "core/base/memory.h"

#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Types of pg_type.dat; they never change. */
enum {
    OID_BOOL = 16,
    OID_INT8 = 20,
    OID_INT2 = 21,
    OID_INT4 = 23,
    OID_OID = 26,
    OID_FLOAT4 = 700,
    OID_FLOAT8 = 701,
    OID_JSONB = 3802,
};

struct weir_rows {
    PGresult *result;
    /* `column`, which readers of a result set as well: the column that was found last */
    int *newest;
    int column;
};

struct weir_rows *weir_rows_wrap(PGresult *result)
{
    struct weir_rows *rows = weir_calloc(1, sizeof(*rows));
    rows->result = result;
    rows->newest = &rows->column;
    return rows;
}

void weir_rows_free(struct weir_rows *rows)
{
    if (rows == NULL)
        return;
    PQclear(rows->result);
    free(rows);
}

size_t weir_rows_count(const struct weir_rows *rows)
{
    return (size_t)PQntuples(rows->result);
}

struct cell {
    int row, column;
    const char *at; /* NULL: the cell is */
    Oid type;
};

WEIR_NORETURN static void fail_name(const struct weir_rows *rows, const char *name)
{
    char text[200];
    const char *first = PQnfields(rows->result) > 0 ? PQfname(rows->result, 0) : "nothing";
    snprintf(text, sizeof(text),
             "no column '%s' in a result of '%s' and others: name it in the statement", name,
             first);
    weir_require_failed(text, __FILE__, __LINE__);
}

static bool is_column(const struct weir_rows *rows, int column, const char *name)
{
    return column < PQnfields(rows->result) && strcmp(PQfname(rows->result, column), name) == 0;
}

/* Results are read down a column, or along a row: the column is most often the last one again, or the next. Else a walk
 * over the names costs less than PQfnumber(), which copies and folds the name. */
static int find_column(const struct weir_rows *rows, const char *name)
{
    int columns = PQnfields(rows->result), column = *rows->newest;
    if (!is_column(rows, column, name) && !is_column(rows, ++column, name)) {
        column = 0;
        while (column < columns && !is_column(rows, column, name))
            column++;
    }
    if (column == columns)
        fail_name(rows, name);
    return *rows->newest = column;
}

static struct cell find_cell(const struct weir_rows *rows, size_t row, const char *name)
{
    weir_require(row < weir_rows_count(rows));
    struct cell cell = {.row = (int)row, .column = find_column(rows, name)};
    cell.type = PQftype(rows->result, cell.column);
    if (!PQgetisnull(rows->result, cell.row, cell.column))
        cell.at = PQgetvalue(rows->result, cell.row, cell.column);
    return cell;
}

bool weir_rows_is_null(const struct weir_rows *rows, size_t row, const char *column)
{
    return find_cell(rows, row, column).at == NULL;
}

WEIR_NORETURN static void fail_type(const char *column, Oid type, const char *wanted)
{
    char text[200];
    snprintf(text, sizeof(text), "column '%s' has type %u: cast it to %s in the statement", column,
             type, wanted);
    weir_require_failed(text, __FILE__, __LINE__);
}

static uint64_t get_be(const char *at, int size)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++)
        value = value << 8 | (uint8_t)at[i];
    return value;
}

static int64_t read_i64(const struct cell *cell, const char *column, const char *wanted)
{
    switch (cell->type) {
    case OID_INT8:
        return (int64_t)get_be(cell->at, 8);
    case OID_INT4:
        return (int32_t)get_be(cell->at, 4);
    case OID_INT2:
        return (int16_t)get_be(cell->at, 2);
    case OID_OID:
        return (int64_t)get_be(cell->at, 4);
    case OID_BOOL:
        return (int64_t)get_be(cell->at, 1);
    default:
        fail_type(column, cell->type, wanted);
    }
}

int64_t weir_rows_i64(const struct weir_rows *rows, size_t row, const char *column)
{
    struct cell cell = find_cell(rows, row, column);
    return cell.at == NULL ? 0 : read_i64(&cell, column, "bigint");
}

double weir_rows_f64(const struct weir_rows *rows, size_t row, const char *column)
{
    struct cell cell = find_cell(rows, row, column);
    if (cell.at == NULL)
        return 0;
    if (cell.type == OID_FLOAT8) {
        uint64_t bits = get_be(cell.at, 8);
        double value;
        memcpy(&value, &bits, sizeof(value));
        return value;
    }
    if (cell.type == OID_FLOAT4) {
        uint32_t bits = (uint32_t)get_be(cell.at, 4);
        float value;
        memcpy(&value, &bits, sizeof(value));
        return (double)value;
    }
    if (cell.type == OID_BOOL)
        fail_type(column, cell.type, "double precision");
    return (double)read_i64(&cell, column, "double precision");
}

bool weir_rows_bool(const struct weir_rows *rows, size_t row, const char *column)
{
    return weir_rows_i64(rows, row, column) != 0;
}

/* libpq ends every cell with a zero byte, binary ones too; a jsonb begins with the byte of its version. */
static const char *read_text(const struct cell *cell)
{
    return cell->type == OID_JSONB ? cell->at + 1 : cell->at;
}

const char *weir_rows_text(const struct weir_rows *rows, size_t row, const char *column)
{
    struct cell cell = find_cell(rows, row, column);
    return cell.at == NULL ? "" : read_text(&cell);
}

const char *weir_rows_text_or_null(const struct weir_rows *rows, size_t row, const char *column)
{
    struct cell cell = find_cell(rows, row, column);
    return cell.at == NULL ? NULL : read_text(&cell);
}

struct weir_bytes weir_rows_bytes(const struct weir_rows *rows, size_t row, const char *column)
{
    struct cell cell = find_cell(rows, row, column);
    if (cell.at == NULL)
        return weir_bytes(NULL, 0);
    return weir_bytes(cell.at, (size_t)PQgetlength(rows->result, cell.row, cell.column));
}
