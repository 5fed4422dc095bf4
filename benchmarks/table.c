/* COPY … (FORMAT binary) of one row per sample, and the SELECT that reads them back. */
#include "benchmarks/table.h"

#include "core/base/bytes.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"

#include <endian.h>
#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

enum {
    COPY_PIECE_BYTES = 1 << 20,
    ROW_COLUMNS = 5,
    DATASET = 1,
};

static const char MAKE_TABLE[] =
    "SET client_min_messages = warning; CREATE SCHEMA IF NOT EXISTS bench;"
    "CREATE TABLE bench.%s (id bigint PRIMARY KEY, dataset integer NOT NULL,"
    " file integer NOT NULL, label integer NOT NULL, time bigint NOT NULL%s);"
    "CREATE INDEX ON bench.%s (time)";
static const char SUBJECT_COLUMN[] = ", subject bigint NOT NULL";
static const char SUBJECT_INDEX[] = "CREATE INDEX ON bench.%s (subject)";

/* The signature ends in a zero; then no flags and no extension, four bytes each. */
static const char COPY_HEAD[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0";

struct table {
    PGconn *conn;
    char *name;
    struct weir_buf rows; /* a whole COPY stream */
};

static void append_u16(struct weir_buf *out, uint16_t value)
{
    value = htobe16(value);
    weir_buf_append(out, &value, sizeof(value));
}

static void append_i32(struct weir_buf *out, uint32_t value)
{
    const uint32_t field[] = {htobe32(sizeof(value)), htobe32(value)};
    weir_buf_append(out, field, sizeof(field));
}

static void append_i64(struct weir_buf *out, uint64_t value)
{
    const uint32_t size = htobe32(sizeof(value));
    value = htobe64(value);
    weir_buf_append(out, &size, sizeof(size));
    weir_buf_append(out, &value, sizeof(value));
}

static void encode(const struct table_plan *plan, struct weir_buf *out)
{
    uint16_t columns = plan->has_subject ? ROW_COLUMNS + 1 : ROW_COLUMNS;
    weir_buf_append(out, COPY_HEAD, sizeof(COPY_HEAD) - 1);
    for (size_t i = 0; i < plan->count; i++) {
        struct table_row row;
        plan->row(plan->owner, i, &row);
        append_u16(out, columns);
        append_i64(out, weir_sample_id(DATASET, (uint32_t)(i / WEIR_BLOCK_ROWS),
                                       (uint32_t)(i % WEIR_BLOCK_ROWS)));
        append_i32(out, DATASET);
        append_i32(out, (uint32_t)row.file);
        append_i32(out, (uint32_t)row.label);
        append_i64(out, (uint64_t)row.time_us);
        if (plan->has_subject)
            append_i64(out, row.subject);
    }
    append_u16(out, UINT16_MAX);
}

static enum weir_status run(struct table *table, const char *sql, struct weir_error *err)
{
    PGresult *result = PQexec(table->conn, sql);
    ExecStatusType found = PQresultStatus(result);
    PQclear(result);
    if (found != PGRES_COMMAND_OK && found != PGRES_TUPLES_OK && found != PGRES_COPY_IN)
        return weir_fail(err, WEIR_INTERNAL, "Postgres: %s", PQerrorMessage(table->conn));
    return WEIR_OK;
}

static enum weir_status make(struct table *table, const struct table_plan *plan,
                             struct weir_error *err)
{
    WEIR_AUTO_FREE char *sql =
        weir_format(MAKE_TABLE, plan->name, plan->has_subject ? SUBJECT_COLUMN : "", plan->name);
    WEIR_AUTO_FREE char *index = weir_format(SUBJECT_INDEX, plan->name);
    enum weir_status status = run(table, sql, err);
    return status == WEIR_OK && plan->has_subject ? run(table, index, err) : status;
}

enum weir_status table_open(const char *conninfo, const struct table_plan *plan,
                            struct table **ret_table, struct weir_error *err)
{
    struct table *table = weir_calloc(1, sizeof(*table));
    table->name = weir_strdup(plan->name);
    table->conn = PQconnectdb(conninfo);
    enum weir_status status = WEIR_OK;
    if (PQstatus(table->conn) != CONNECTION_OK)
        status = weir_fail(err, WEIR_UNAVAILABLE, "Postgres: %s", PQerrorMessage(table->conn));
    if (status == WEIR_OK)
        status = make(table, plan, err);
    if (status != WEIR_OK) {
        table_close(table);
        return status;
    }
    encode(plan, &table->rows);
    *ret_table = table;
    return WEIR_OK;
}

void table_close(struct table *table)
{
    if (table == NULL)
        return;
    PQfinish(table->conn);
    weir_buf_fini(&table->rows);
    free(table->name);
    free(table);
}

enum weir_status table_clear(struct table *table, struct weir_error *err)
{
    WEIR_AUTO_FREE char *sql = weir_format("TRUNCATE bench.%s", table->name);
    return run(table, sql, err);
}

enum weir_status table_execute(struct table *table, const char *sql, struct weir_error *err)
{
    return run(table, sql, err);
}

void table_forget_rows(struct table *table)
{
    weir_buf_fini(&table->rows);
}

enum weir_status table_settle(struct table *table, struct weir_error *err)
{
    return run(table, "CHECKPOINT", err);
}

static bool send_rows(struct table *table)
{
    for (size_t at = 0; at < table->rows.size; at += COPY_PIECE_BYTES) {
        size_t rest = table->rows.size - at;
        int size = (int)(rest < COPY_PIECE_BYTES ? rest : COPY_PIECE_BYTES);
        if (PQputCopyData(table->conn, (const char *)table->rows.at + at, size) != 1)
            return false;
    }
    return PQputCopyEnd(table->conn, NULL) == 1;
}

enum weir_status table_copy(struct table *table, struct weir_error *err)
{
    WEIR_AUTO_FREE char *sql = weir_format("COPY bench.%s FROM STDIN (FORMAT binary)", table->name);
    enum weir_status status = run(table, sql, err);
    if (status != WEIR_OK)
        return status;
    bool is_sent = send_rows(table);
    PGresult *result;
    while ((result = PQgetResult(table->conn)) != NULL) {
        is_sent = is_sent && PQresultStatus(result) == PGRES_COMMAND_OK;
        PQclear(result);
    }
    if (!is_sent)
        return weir_fail(err, WEIR_INTERNAL, "COPY: %s", PQerrorMessage(table->conn));
    return WEIR_OK;
}

static uint64_t field_u64(const PGresult *result, int column)
{
    uint64_t value;
    memcpy(&value, PQgetvalue(result, 0, column), sizeof(value));
    return be64toh(value);
}

static void take_row(const PGresult *result, size_t at, struct table_columns *columns)
{
    uint32_t label;
    columns->ids[at] = field_u64(result, 0);
    columns->times_us[at] = (int64_t)field_u64(result, 1);
    memcpy(&label, PQgetvalue(result, 0, 2), sizeof(label));
    columns->labels[at] = (int32_t)be32toh(label);
}

enum weir_status table_select(struct table *table, struct table_columns *columns,
                              struct weir_error *err)
{
    WEIR_AUTO_FREE char *sql = weir_format(
        "SELECT id, time, label FROM bench.%s WHERE time BETWEEN $1 AND $2", table->name);
    const char *const range[] = {"0", "9223372036854775807"};
    size_t found = 0;
    if (!PQsendQueryParams(table->conn, sql, 2, NULL, range, NULL, NULL, 1) ||
        !PQsetSingleRowMode(table->conn))
        return weir_fail(err, WEIR_INTERNAL, "SELECT: %s", PQerrorMessage(table->conn));
    for (PGresult *result; (result = PQgetResult(table->conn)) != NULL; PQclear(result)) {
        if (PQresultStatus(result) == PGRES_SINGLE_TUPLE && found < columns->count)
            take_row(result, found++, columns);
    }
    if (found != columns->count)
        return weir_fail(err, WEIR_INTERNAL, "SELECT found %zu rows, expected %zu: %s", found,
                         columns->count, PQerrorMessage(table->conn));
    return WEIR_OK;
}
