/* Asks Postgres and /proc. */
#include "benchmarks/weight.h"

#include "core/base/file.h"
#include "core/base/memory.h"

#include <libpq-fe.h>
#include <stdlib.h>
#include <string.h>

enum { PROC_FILE_MAX = 64 << 10, BYTES_PER_KB = 1024 };

static const char STORED[] =
    "SELECT coalesce(sum(pg_total_relation_size(oid)), 0)::bigint FROM pg_class "
    "WHERE relnamespace = 'storage'::regnamespace AND relkind = 'r'";

enum weir_status weight_stored(const char *conninfo, uint64_t *ret_bytes, struct weir_error *err)
{
    PGconn *conn = PQconnectdb(conninfo);
    PGresult *result = PQexec(conn, STORED);
    enum weir_status status = WEIR_OK;
    if (PQresultStatus(result) == PGRES_TUPLES_OK)
        *ret_bytes = strtoull(PQgetvalue(result, 0, 0), NULL, 10);
    else
        status = weir_fail(err, WEIR_INTERNAL, "Postgres: %s", PQerrorMessage(conn));
    PQclear(result);
    PQfinish(conn);
    return status;
}

/* The number after `key` in /proc/PID/status; false when it is not there. */
static bool status_number(pid_t pid, const char *key, uint64_t *ret_value)
{
    WEIR_AUTO_FREE char *path = weir_format("/proc/%d/status", (int)pid);
    WEIR_AUTO_BUF text = {0};
    struct weir_error err;
    if (weir_file_read(path, PROC_FILE_MAX, &text, &err) != WEIR_OK)
        return false;
    const char *found = strstr(weir_buf_text(&text), key);
    if (found == NULL)
        return false;
    *ret_value = strtoull(found + strlen(key), NULL, 10);
    return true;
}

enum weir_status weight_resident(pid_t pid, struct weight_memory *ret_memory,
                                 struct weir_error *err)
{
    if (!status_number(pid, "\nVmRSS:", &ret_memory->now) ||
        !status_number(pid, "\nVmHWM:", &ret_memory->peak))
        return weir_fail(err, WEIR_NOT_FOUND, "/proc/%d/status does not tell resident memory",
                         (int)pid);
    ret_memory->now *= BYTES_PER_KB;
    ret_memory->peak *= BYTES_PER_KB;
    return WEIR_OK;
}
