/* Running statements: parameters in binary, prepared at their first use, plus one-off texts and COPY. */
#include "core/db/connection.h"

#include "core/base/fault.h"
#include "core/base/memory.h"

#include <endian.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Types of pg_type.dat; they never change. */
enum {
    OID_BOOL = 16,
    OID_BYTEA = 17,
    OID_INT8 = 20,
    OID_TEXT = 25,
    OID_FLOAT8 = 701,
    OID_INT8_ARRAY = 1016
};

enum { NAME_MAX_BYTES = 32 };
enum { ARRAY_HEAD_BYTES = 5 * 4, ARRAY_ELEMENT_BYTES = 4 + 8 };

/* The parameters as PQsendQueryPrepared wants them. */
struct arguments {
    const char *values[WEIR_PARAMS_MAX];
    int lengths[WEIR_PARAMS_MAX];
    int formats[WEIR_PARAMS_MAX];
    Oid types[WEIR_PARAMS_MAX];
    uint64_t words[WEIR_PARAMS_MAX]; /* where numbers are kept in network order */
    void *arrays[WEIR_PARAMS_MAX];   /* owned */
    size_t count;
};

static void free_arguments(const struct arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free(arguments->arrays[i]);
}

static void set(struct arguments *arguments, size_t i, Oid type, const void *at, size_t size)
{
    arguments->types[i] = type;
    arguments->values[i] = at != NULL ? at : ""; /* libpq takes NULL for SQL's NULL */
    arguments->lengths[i] = (int)size;
    arguments->formats[i] = 1;
}

static void set_number(struct arguments *arguments, size_t i, Oid type, uint64_t bits)
{
    arguments->words[i] = htobe64(bits);
    set(arguments, i, type, &arguments->words[i], sizeof(arguments->words[i]));
}

static void put_be32(uint8_t **at, uint32_t value)
{
    value = htobe32(value);
    memcpy(*at, &value, sizeof(value));
    *at += sizeof(value);
}

/* An array on the wire: dimensions, has nulls, element type, length, lower bound, then (size, value) each. */
static void set_array(struct arguments *arguments, size_t i, struct weir_bytes words)
{
    size_t count = words.size / sizeof(int64_t);
    uint8_t *array = weir_calloc(1, ARRAY_HEAD_BYTES + count * ARRAY_ELEMENT_BYTES);
    uint8_t *at = array;
    put_be32(&at, count > 0 ? 1 : 0);
    put_be32(&at, 0);
    put_be32(&at, OID_INT8);
    if (count > 0) {
        put_be32(&at, (uint32_t)count);
        put_be32(&at, 1);
    }
    for (size_t k = 0; k < count; k++) {
        uint64_t word;
        memcpy(&word, words.at + k * sizeof(word), sizeof(word));
        word = htobe64(word);
        put_be32(&at, sizeof(word));
        memcpy(at, &word, sizeof(word));
        at += sizeof(word);
    }
    arguments->arrays[i] = array;
    set(arguments, i, OID_INT8_ARRAY, array, (size_t)(at - array));
}

static void set_param(struct arguments *arguments, size_t i, const struct weir_param *param)
{
    static const uint8_t BOOLS[2] = {0, 1};
    uint64_t bits;
    switch (param->kind) {
    case WEIR_PARAM_NULL:
        break;
    case WEIR_PARAM_I64:
        set_number(arguments, i, OID_INT8, (uint64_t)param->i64);
        break;
    case WEIR_PARAM_F64:
        memcpy(&bits, &param->f64, sizeof(bits));
        set_number(arguments, i, OID_FLOAT8, bits);
        break;
    case WEIR_PARAM_TEXT:
        set(arguments, i, OID_TEXT, param->bytes.at, param->bytes.size);
        break;
    case WEIR_PARAM_BYTES:
        set(arguments, i, OID_BYTEA, param->bytes.at, param->bytes.size);
        break;
    case WEIR_PARAM_BOOL:
        set(arguments, i, OID_BOOL, &BOOLS[param->i64 != 0], 1);
        break;
    case WEIR_PARAM_I64S:
        set_array(arguments, i, param->bytes);
        break;
    }
}

static size_t param_bytes(const struct weir_param *param)
{
    return param->kind != WEIR_PARAM_I64S
               ? param->bytes.size
               : ARRAY_HEAD_BYTES + param->bytes.size / sizeof(int64_t) * ARRAY_ELEMENT_BYTES;
}

/* The lengths of a message are of 32 bits, and the server takes less than 1 GiB of it. */
static enum weir_status check_sizes(const char *name, const struct weir_param *params, size_t count,
                                    struct weir_error *err)
{
    size_t sum = 0;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = param_bytes(&params[i]);
        sum = bytes <= WEIR_PARAMS_BYTES_MAX ? sum + bytes : SIZE_MAX / WEIR_PARAMS_MAX;
    }
    if (sum <= WEIR_PARAMS_BYTES_MAX)
        return WEIR_OK;
    return weir_fail(err, WEIR_LIMIT, "%s: more than %d MiB for one statement", name,
                     WEIR_PARAMS_BYTES_MAX >> 20);
}

/* ---- preparing ---- */

/* A parameter that was NULL so far may turn out to have a type. */
static bool fits(const struct weir_prepared *prepared, const struct arguments *arguments)
{
    if (!prepared->is_prepared || prepared->count != arguments->count)
        return false;
    for (size_t i = 0; i < arguments->count; i++) {
        if (arguments->types[i] != 0 && arguments->types[i] != prepared->types[i])
            return false;
    }
    return true;
}

static void format_name(int query, const struct weir_prepared *prepared, char name[NAME_MAX_BYTES])
{
    snprintf(name, NAME_MAX_BYTES, "q%d_%" PRIu32, query, prepared->version);
}

static enum weir_status prepare(struct weir_db *db, int query, const struct arguments *arguments,
                                struct weir_error *err)
{
    struct weir_prepared *prepared = &db->prepared[query];
    if (fits(prepared, arguments))
        return WEIR_OK;
    prepared->version++;
    prepared->count = arguments->count;
    for (size_t i = 0; i < arguments->count; i++) {
        if (arguments->types[i] != 0 || !prepared->is_prepared)
            prepared->types[i] = arguments->types[i];
    }
    char name[NAME_MAX_BYTES];
    format_name(query, prepared, name);
    int is_sent = PQsendPrepare(db->conn, name, db->queries[query].sql, (int)prepared->count,
                                prepared->types);
    PGresult *result = weir_db_await(db, is_sent);
    enum weir_status status = weir_db_check(db, result, db->queries[query].name, err);
    PQclear(result);
    prepared->is_prepared = status == WEIR_OK;
    return status;
}

static enum weir_status execute(struct weir_db *db, int query, const struct arguments *arguments,
                                struct weir_rows **ret_rows, struct weir_error *err)
{
    char name[NAME_MAX_BYTES];
    enum weir_status status = weir_db_ensure(db, err);
    if (status == WEIR_OK)
        status = prepare(db, query, arguments, err);
    if (status != WEIR_OK)
        return status;
    format_name(query, &db->prepared[query], name);
    int is_sent = PQsendQueryPrepared(db->conn, name, (int)arguments->count, arguments->values,
                                      arguments->lengths, arguments->formats, 1);
    PGresult *result = weir_db_await(db, is_sent);
    status = weir_db_check(db, result, db->queries[query].name, err);
    if (status == WEIR_OK && ret_rows != NULL)
        *ret_rows = weir_rows_wrap(result);
    else
        PQclear(result);
    return status;
}

enum weir_status weir_db_run(struct weir_db *db, int query, const struct weir_param *params,
                             size_t count, struct weir_rows **ret_rows, struct weir_error *err)
{
    weir_require(query >= 0 && (size_t)query < db->query_count);
    weir_require(count <= WEIR_PARAMS_MAX);
    if (!db->is_waiting && weir_fault("db.run")) {
        weir_db_drop(db);
        return weir_fail(err, WEIR_UNAVAILABLE, "%s: fault db.run", db->queries[query].name);
    }
    enum weir_status status = check_sizes(db->queries[query].name, params, count, err);
    if (status != WEIR_OK)
        return status;
    struct arguments arguments;
    memset(&arguments, 0, sizeof(arguments));
    arguments.count = count;
    for (size_t i = 0; i < count; i++)
        set_param(&arguments, i, &params[i]);
    status = execute(db, query, &arguments, ret_rows, err);
    free_arguments(&arguments);
    return status;
}

/* ---- one-off texts ---- */

/* Not bounded by lock_timeout: an autovacuum gives way to who changes tables after a second. */
static enum weir_status exec_inside(struct weir_db *db, const char *sql, struct weir_error *err)
{
    enum weir_status status = weir_db_simple(db, "SET LOCAL " WEIR_DB_LOCK_UNBOUND, "session", err);
    if (status == WEIR_OK)
        status = weir_db_simple(db, sql, "statement", err);
    if (status == WEIR_OK)
        status = weir_db_simple(db, "SET LOCAL " WEIR_DB_LOCK_BOUND, "session", err);
    return status;
}

enum weir_status weir_db_exec(struct weir_db *db, const char *sql, struct weir_error *err)
{
    enum weir_status status = weir_db_ensure(db, err);
    if (status != WEIR_OK)
        return status;
    if (db->in_transaction)
        return exec_inside(db, sql, err);
    status = weir_db_simple(db, WEIR_DB_UNBOUND, "session", err);
    if (status == WEIR_OK)
        status = weir_db_simple(db, sql, "statement", err);
    /* A connection that cannot be bounded again is not kept. */
    if (db->conn != NULL && weir_db_simple(db, WEIR_DB_BOUND, "session", NULL) != WEIR_OK)
        weir_db_drop(db);
    return status;
}
