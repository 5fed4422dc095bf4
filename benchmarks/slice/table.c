/* COPY … (FORMAT binary) of one row per sample. */
#include "benchmarks/slice/table.h"

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
    "CREATE SCHEMA bench;"
    "CREATE TABLE bench.sample (id bigint PRIMARY KEY, dataset integer NOT NULL,"
    " file integer NOT NULL, label integer NOT NULL, time bigint NOT NULL);"
    "CREATE INDEX ON bench.sample (time)";
static const char COPY_IN[] = "COPY bench.sample FROM STDIN (FORMAT binary)";

/* The signature ends in a zero; then no flags and no extension, four bytes each. */
static const char COPY_HEAD[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0";

struct table {
    PGconn *conn;
    struct weir_buf rows; /* a whole COPY stream */
};

static void append_u16(struct weir_buf *out, uint16_t value)
{
    value = htobe16(value);
    weir_buf_append(out, &value, sizeof value);
}

static void append_i32(struct weir_buf *out, uint32_t value)
{
    const uint32_t field[] = {htobe32(sizeof value), htobe32(value)};
    weir_buf_append(out, field, sizeof field);
}

static void append_i64(struct weir_buf *out, uint64_t value)
{
    const uint32_t size = htobe32(sizeof value);
    value = htobe64(value);
    weir_buf_append(out, &size, sizeof size);
    weir_buf_append(out, &value, sizeof value);
}

static void encode(const struct corpus *corpus, struct weir_buf *out)
{
    weir_buf_append(out, COPY_HEAD, sizeof COPY_HEAD - 1);
    for (size_t i = 0; i < corpus->samples; i++) {
        append_u16(out, ROW_COLUMNS);
        append_i64(out, weir_sample_id(DATASET, (uint32_t)(i / WEIR_BLOCK_ROWS),
                                       (uint32_t)(i % WEIR_BLOCK_ROWS)));
        append_i32(out, DATASET);
        append_i32(out, corpus->files[i]);
        append_i32(out, (uint32_t)corpus->labels[i]);
        append_i64(out, (uint64_t)corpus->times_us[corpus->files[i]]);
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

enum weir_status table_open(const char *conninfo, const struct corpus *corpus,
                            struct table **ret_table, struct weir_error *err)
{
    struct table *table = weir_calloc(1, sizeof *table);
    table->conn = PQconnectdb(conninfo);
    enum weir_status status = WEIR_OK;
    if (PQstatus(table->conn) != CONNECTION_OK)
        status = weir_fail(err, WEIR_UNAVAILABLE, "Postgres: %s", PQerrorMessage(table->conn));
    if (status == WEIR_OK)
        status = run(table, MAKE_TABLE, err);
    if (status != WEIR_OK) {
        table_close(table);
        return status;
    }
    encode(corpus, &table->rows);
    *ret_table = table;
    return WEIR_OK;
}

void table_close(struct table *table)
{
    if (!table)
        return;
    PQfinish(table->conn);
    weir_buf_fini(&table->rows);
    free(table);
}

enum weir_status table_clear(struct table *table, struct weir_error *err)
{
    return run(table, "TRUNCATE bench.sample", err);
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
    enum weir_status status = run(table, COPY_IN, err);
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
