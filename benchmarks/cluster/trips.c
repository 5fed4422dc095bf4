/* Two runs of the same pipeline, real processes both, whose every sample fires a trigger: one on Postgres as it is, one
 * on Postgres farther away. All that does not wait for it takes equally long in both. */
#include "benchmarks/cluster/trips.h"

#include "benchmarks/cluster/far_postgres.h"
#include "benchmarks/points.h"
#include "benchmarks/rig.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "orchestrator/platform/platform.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>

#define WARM_UP 3 /* triggers: a word of a statement, too */
enum { TRIGGERS = 12, FARTHER_NS = 40000000 };

static const char PIPELINE[] = "pipeline: {name: trips, mode: replay}\n" POINTS_SECTIONS
                               "  batch: {samples: 16, last: short}\n";

/* ---- what is run ---- */

struct trips {
    char *folder, *conninfo; /* of a run */
};

static void fini(struct trips *trips)
{
    free(trips->folder);
    free(trips->conninfo);
}

static enum weir_status write_text(const struct trips *trips, const char *name,
                                   struct weir_buf *text, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", trips->folder, name);
    return weir_file_write_atomic(path, weir_buf_view(text), err);
}

static enum weir_status write_inputs(const struct trips *trips, struct weir_error *err)
{
    WEIR_AUTO_FREE char *points = weir_format("%s/points", trips->folder);
    WEIR_AUTO_BUF pipeline = {0};
    WEIR_AUTO_BUF system = {0};
    weir_buf_printf(&pipeline, PIPELINE, points);
    weir_buf_printf(&system, "postgres:\n  connection: >-\n    %s\n", trips->conninfo);
    enum weir_status status = points_write(points, TRIGGERS, err);
    if (status == WEIR_OK)
        status = write_text(trips, "trips.yaml", &pipeline, err);
    return status == WEIR_OK ? write_text(trips, "system.yaml", &system, err) : status;
}

/* The program lies beside this one. */
static enum weir_status run_pipeline(const struct trips *trips, struct weir_error *err)
{
    WEIR_AUTO_FREE char *bin = orchestrator_platform_own_directory();
    WEIR_AUTO_FREE char *orchestrator = weir_format("%s/orchestrator", bin);
    WEIR_AUTO_FREE char *file = weir_format("%s/trips.yaml", trips->folder);
    WEIR_AUTO_FREE char *system = weir_format("%s/system.yaml", trips->folder);
    WEIR_AUTO_FREE char *data_dir = weir_format("%s/data", trips->folder);
    WEIR_AUTO_FREE char *log = weir_format("%s/run.log", trips->folder);
    char *const run[] = {orchestrator, (char[]){"run"},      file,   (char[]){"--data-dir"},
                         data_dir,     (char[]){"--system"}, system, NULL};
    return rig_spawn_wait(&(struct orchestrator_spawn){.argv = run, .log_path = log}, err);
}

/* ---- what came of it ---- */

enum { ALL, SEALED, FIRST_BATCH, TRAINED, STORED, STEPS };
static const char *const STEP[STEPS] = {"begun", "sealed", "first batch", "trained", "stored"};

#define MEDIAN(from, to) \
    "percentile_cont(0.5) WITHIN GROUP (ORDER BY (" #to "_us - " #from "_us) / 1e6)"
#define QUOTED(number)   #number
#define OFFSET_OF(count) "OFFSET " QUOTED(count)
/* A trigger that fires before the model of the one before it is stored begins then. */
// clang-format off
static const char MEDIANS[] =
    "SELECT " MEDIAN(begun, stored) ", "
    MEDIAN(begun, sealed) ", "
    MEDIAN(sealed, first_batch) ", "
    MEDIAN(first_batch, trained) ", "
    MEDIAN(trained, stored) " FROM "
    "(SELECT *, greatest(fired_us, lag(stored_us) OVER (ORDER BY fired_us)) AS begun_us "
    "FROM orchestrator.trigger WHERE stored_us IS NOT NULL ORDER BY fired_us "
    OFFSET_OF(WARM_UP) ") t";
// clang-format on

/* Medians: seconds of the whole way, and of each step from the one before. */
static enum weir_status read_steps(const char *conninfo, double ret_seconds[STEPS],
                                   struct weir_error *err)
{
    PGconn *conn = PQconnectdb(conninfo);
    PGresult *result = PQexec(conn, MEDIANS);
    enum weir_status status = WEIR_OK;
    if (PQresultStatus(result) != PGRES_TUPLES_OK || PQgetisnull(result, 0, ALL))
        status = weir_fail(err, WEIR_IO, "no trigger stored a model: %s", PQerrorMessage(conn));
    for (int i = 0; i < STEPS && status == WEIR_OK; i++)
        ret_seconds[i] = strtod(PQgetvalue(result, 0, i), NULL);
    PQclear(result);
    PQfinish(conn);
    return status;
}

/* ---- runs ---- */

static enum weir_status run_in(const char *directory, const char *conninfo, const char *name,
                               double ret_seconds[STEPS], struct weir_error *err)
{
    struct trips trips = {.folder = weir_format("%s/%s", directory, name),
                          .conninfo = weir_format("%s dbname=%s", conninfo, name)};
    enum weir_status status = far_postgres_make_database(conninfo, name, err);
    if (status == WEIR_OK)
        status = weir_remove_tree(trips.folder, err);
    if (status == WEIR_OK)
        status = write_inputs(&trips, err);
    if (status == WEIR_OK)
        status = run_pipeline(&trips, err);
    if (status == WEIR_OK)
        status = read_steps(trips.conninfo, ret_seconds, err);
    fini(&trips);
    return status;
}

static double trips_of(const double near[STEPS], const double away[STEPS], size_t step)
{
    return (away[step] - near[step]) * 1e9 / FARTHER_NS;
}

static enum weir_status compare(const char *directory, const char *conninfo,
                                const struct far_postgres *postgres, double *ret_trips,
                                struct weir_error *err)
{
    double near[STEPS], away[STEPS];
    enum weir_status status = run_in(directory, conninfo, "trips_near", near, err);
    if (status == WEIR_OK)
        status = run_in(directory, far_postgres_conninfo(postgres), "trips_away", away, err);
    if (status != WEIR_OK)
        return status;
    for (size_t i = SEALED; i < STEPS; i++)
        (void)fprintf(stderr, "%s%s to %s %.1f", i == SEALED ? "round trips: " : ", ", STEP[i - 1],
                      STEP[i], trips_of(near, away, i));
    (void)fprintf(stderr, "\n");
    *ret_trips = trips_of(near, away, ALL);
    return WEIR_OK;
}

enum weir_status trips_count(const char *directory, const char *conninfo, double *ret_trips,
                             struct weir_error *err)
{
    WEIR_AUTO_FREE char *sockets = weir_format("%s/away", directory);
    struct far_postgres *postgres = NULL;
    enum weir_status status = weir_make_directories(sockets, 0700, err);
    if (status == WEIR_OK)
        status = far_postgres_open(sockets, conninfo, FARTHER_NS, &postgres, err);
    if (status == WEIR_OK)
        status = compare(directory, conninfo, postgres, ret_trips, err);
    far_postgres_close(postgres);
    return status;
}
