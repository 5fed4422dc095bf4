/* See prepared.h. */
#include "core/db/prepared.h"

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

enum { NAME_MAX_BYTES = 64 };
enum { ARRAY_HEAD_BYTES = 5 * 4, ARRAY_ELEMENT_BYTES = 4 + 8 };

static void set(struct weir_arguments *arguments, size_t i, Oid type, const void *at, size_t size)
{
    arguments->types[i] = type;
    arguments->values[i] = at != NULL ? at : ""; /* libpq takes NULL for SQL's NULL */
    arguments->lengths[i] = (int)size;
    arguments->formats[i] = 1;
}

static void set_number(struct weir_arguments *arguments, size_t i, Oid type, uint64_t bits)
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
static void set_array(struct weir_arguments *arguments, size_t i, struct weir_bytes words)
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

static void set_param(struct weir_arguments *arguments, size_t i, const struct weir_param *param)
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

enum weir_status weir_arguments_set(struct weir_arguments *arguments, const char *name,
                                    const struct weir_param *params, size_t count,
                                    struct weir_error *err)
{
    enum weir_status status = check_sizes(name, params, count, err);
    if (status != WEIR_OK)
        return status;
    arguments->count = count;
    for (size_t i = 0; i < count; i++)
        set_param(arguments, i, &params[i]);
    return WEIR_OK;
}

void weir_arguments_fini(struct weir_arguments *arguments)
{
    for (size_t i = 0; i < arguments->count; i++)
        free(arguments->arrays[i]);
}

/* ---- names and types at the server ---- */

/* A parameter that was NULL so far may turn out to have a type. */
bool weir_prepared_fits(const struct weir_prepared *prepared,
                        const struct weir_arguments *arguments)
{
    if (!prepared->is_prepared || prepared->count != arguments->count)
        return false;
    for (size_t i = 0; i < arguments->count; i++) {
        if (arguments->types[i] != 0 && arguments->types[i] != prepared->types[i])
            return false;
    }
    return true;
}

static void renew(struct weir_prepared *prepared, const struct weir_arguments *arguments)
{
    prepared->version++;
    prepared->count = arguments->count;
    for (size_t i = 0; i < arguments->count; i++) {
        if (arguments->types[i] != 0 || !prepared->is_prepared)
            prepared->types[i] = arguments->types[i];
    }
}

/* The name that the service gives it: people find it in what the server is told. */
static void format_name(const struct weir_db *db, int query, char name[NAME_MAX_BYTES])
{
    snprintf(name, NAME_MAX_BYTES, "%s/%" PRIu32, db->queries[query].name,
             db->prepared[query].version);
}

/* ---- sending ---- */

int weir_prepared_send(struct weir_db *db, int query, const struct weir_arguments *arguments)
{
    struct weir_prepared *prepared = &db->prepared[query];
    char name[NAME_MAX_BYTES];
    renew(prepared, arguments);
    format_name(db, query, name);
    return PQsendPrepare(db->conn, name, db->queries[query].sql, (int)prepared->count,
                         prepared->types);
}

static bool may_change(const char *sql)
{
    static const char LOOKS[] = "SELECT ";
    return strncmp(sql, LOOKS, sizeof(LOOKS) - 1) != 0;
}

int weir_arguments_send(struct weir_db *db, int query, const struct weir_arguments *arguments)
{
    char name[NAME_MAX_BYTES];
    db->changes += may_change(db->queries[query].sql);
    format_name(db, query, name);
    return PQsendQueryPrepared(db->conn, name, (int)arguments->count, arguments->values,
                               arguments->lengths, arguments->formats, 1);
}
