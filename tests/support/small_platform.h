/* A platform without services, for cases in processes of their own (platform_case.h). */
#ifndef WEIR_TESTS_SUPPORT_SMALL_PLATFORM_H
#define WEIR_TESTS_SUPPORT_SMALL_PLATFORM_H

#include "orchestrator/platform/datadir.h"
#include "orchestrator/platform/postgres.h"
#include "tests/support/platform_case.h"

#include <libpq-fe.h>

static inline struct orchestrator_datadir *open_datadir(const struct fixture *fixture)
{
    struct weir_error err;
    struct orchestrator_datadir *datadir = NULL;
    const struct orchestrator_datadir_options options = {.path = fixture->data_dir};
    if (orchestrator_datadir_open(&options, &datadir, &err) != WEIR_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        _exit(1);
    }
    return datadir;
}
/* A platform without services: the data directory, the supervisor, Postgres. */
struct small {
    struct weir_loop *loop;
    struct orchestrator_datadir *datadir;
    struct orchestrator_supervisor *supervisor;
    struct orchestrator_postgres *postgres;
};

static inline void clear_stale(void *owner)
{
    struct small *small = owner;
    orchestrator_postgres_clear_stale(small->postgres);
}

/* initdb has ended. */
static inline void finish_cluster(void *owner, const struct orchestrator_child_exit *ended)
{
    const struct small *small = owner;
    struct weir_error err;
    if (orchestrator_postgres_finish_cluster(small->postgres, ended, &err) != WEIR_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        _exit(1);
    }
}

static inline void make_cluster(struct small *small)
{
    const struct orchestrator_cluster_maker maker = {
        .supervisor = small->supervisor, .exited = finish_cluster, .owner = small};
    struct weir_error err;
    expect(orchestrator_postgres_begin_cluster(small->postgres, &maker, &err) == WEIR_OK);
    for (int64_t end_ms = weir_now_ms() + TEST_PATIENCE_MS;
         !orchestrator_postgres_has_cluster(small->postgres);
         weir_loop_step(small->loop, TEST_STEP_MS))
        expect(weir_now_ms() < end_ms);
}

static inline void start_small(struct small *small, const struct fixture *fixture)
{
    struct weir_error err = {0};
    small->loop = weir_loop_new();
    small->datadir = open_datadir(fixture);
    WEIR_AUTO_FREE char *log_dir = orchestrator_datadir_file(small->datadir, "log");
    WEIR_AUTO_FREE char *log_path = orchestrator_datadir_file(small->datadir, "log/postgres.log");
    small->supervisor = orchestrator_supervisor_new(small->loop, log_dir);
    const struct orchestrator_postgres_options options = {
        .bin_dir = getenv("WEIR_POSTGRES_BIN"),
        .cluster = small->datadir->cluster,
        .socket_dir = small->datadir->cluster_socket_dir,
        .log_path = log_path,
        .identity = small->datadir->cluster_drops ? &small->datadir->identity : NULL,
    };
    enum weir_status status = orchestrator_postgres_prepare(&options, &small->postgres, &err);
    if (status == WEIR_OK && !orchestrator_postgres_has_cluster(small->postgres))
        make_cluster(small);
    const struct orchestrator_child child = {
        .name = "postgres",
        .argv = status != WEIR_OK ? NULL : orchestrator_postgres_argv(small->postgres),
        .env = status != WEIR_OK ? NULL : orchestrator_postgres_env(small->postgres),
        .directory = "/",
        .identity = options.identity,
        .restart = true,
        .stage = ORCHESTRATOR_STAGE_DATABASE,
        .stop_signal = SIGINT,
        .kill_signal = SIGQUIT,
        .before_start = clear_stale,
        .owner = small,
    };
    if (status != WEIR_OK ||
        orchestrator_supervisor_start(small->supervisor, &child, &err) != WEIR_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        _exit(1);
    }
    for (int64_t end_ms = weir_now_ms() + TEST_PATIENCE_MS;
         orchestrator_postgres_probe(small->postgres, TEST_PATIENCE_MS, &err) != WEIR_OK;
         weir_loop_step(small->loop, TEST_STEP_MS))
        expect(weir_now_ms() < end_ms);
}

static inline void stop_small(struct small *small)
{
    bool stopped = false;
    orchestrator_supervisor_stop_all(small->supervisor, raise_flag, &stopped);
    step_until(small->loop, &stopped);
    orchestrator_supervisor_free(small->supervisor);
    orchestrator_postgres_free(small->postgres);
    orchestrator_datadir_close(small->datadir);
    weir_loop_free(small->loop);
}

static inline void query(const struct small *small, const char *sql, const char *expected)
{
    PGconn *connection = PQconnectdb(orchestrator_postgres_conninfo(small->postgres));
    PGresult *result = PQexec(connection, sql);
    expect(PQresultStatus(result) == (expected != NULL ? PGRES_TUPLES_OK : PGRES_COMMAND_OK));
    expect(expected == NULL || strcmp(PQgetvalue(result, 0, 0), expected) == 0);
    PQclear(result);
    PQfinish(connection);
}

#endif
