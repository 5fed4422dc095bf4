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
};

struct weir_rows *weir_rows_wrap(PGresult *result)
{
    struct weir_rows *rows = weir_calloc(1, sizeof *rows);
    rows->result = result;
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

static void check_cell(const struct weir_rows *rows, size_t row, int column)
{
    weir_require(row < weir_rows_count(rows));
    weir_require(column >= 0 && column < PQnfields(rows->result));
}

bool weir_rows_is_null(const struct weir_rows *rows, size_t row, int column)
{
    check_cell(rows, row, column);
    return PQgetisnull(rows->result, (int)row, column) != 0;
}

WEIR_NORETURN static void fail_type(const struct weir_rows *rows, int column, const char *wanted)
{
    char text[200];
    snprintf(text, sizeof text, "column '%s' has type %u: cast it to %s in the statement",
             PQfname(rows->result, column), PQftype(rows->result, column), wanted);
    weir_require_failed(text, __FILE__, __LINE__);
}

static uint64_t get_be(const char *at, int size)
{
    uint64_t value = 0;
    for (int i = 0; i < size; i++)
        value = value << 8 | (uint8_t)at[i];
    return value;
}

int64_t weir_rows_i64(const struct weir_rows *rows, size_t row, int column)
{
    if (weir_rows_is_null(rows, row, column))
        return 0;
    const char *cell = PQgetvalue(rows->result, (int)row, column);
    switch (PQftype(rows->result, column)) {
    case OID_INT8:
        return (int64_t)get_be(cell, 8);
    case OID_INT4:
        return (int32_t)get_be(cell, 4);
    case OID_INT2:
        return (int16_t)get_be(cell, 2);
    case OID_OID:
        return (int64_t)get_be(cell, 4);
    case OID_BOOL:
        return (int64_t)get_be(cell, 1);
    default:
        fail_type(rows, column, "bigint");
    }
}

double weir_rows_f64(const struct weir_rows *rows, size_t row, int column)
{
    if (weir_rows_is_null(rows, row, column))
        return 0;
    const char *cell = PQgetvalue(rows->result, (int)row, column);
    if (PQftype(rows->result, column) == OID_FLOAT8) {
        uint64_t bits = get_be(cell, 8);
        double value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    if (PQftype(rows->result, column) == OID_FLOAT4) {
        uint32_t bits = (uint32_t)get_be(cell, 4);
        float value;
        memcpy(&value, &bits, sizeof value);
        return (double)value;
    }
    if (PQftype(rows->result, column) == OID_BOOL)
        fail_type(rows, column, "double precision");
    return (double)weir_rows_i64(rows, row, column);
}

bool weir_rows_bool(const struct weir_rows *rows, size_t row, int column)
{
    return weir_rows_i64(rows, row, column) != 0;
}

/* libpq ends every cell with a zero byte, binary ones too. */
const char *weir_rows_text(const struct weir_rows *rows, size_t row, int column)
{
    if (weir_rows_is_null(rows, row, column))
        return "";
    const char *cell = PQgetvalue(rows->result, (int)row, column);
    return PQftype(rows->result, column) == OID_JSONB ? cell + 1
                                                      : cell; /* after its version byte */
}

struct weir_bytes weir_rows_bytes(const struct weir_rows *rows, size_t row, int column)
{
    if (weir_rows_is_null(rows, row, column))
        return weir_bytes(NULL, 0);
    return weir_bytes(PQgetvalue(rows->result, (int)row, column),
                      (size_t)PQgetlength(rows->result, (int)row, column));
}
