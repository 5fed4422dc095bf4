/* Figures about drawing from pools of one, ten and a hundred million candidates. */
#include "benchmarks/selector/bench.h"
#include "benchmarks/weight.h"
#include "core/base/clock.h"

#include <stdio.h>
#include <string.h>

enum { ONE, TEN, HUNDRED };

static const size_t SIZES[CROWDS] = {1000000, 10000000, 100000000};
static const double POOL_MAX = 64 << 20;

static enum weir_status need_crowd(struct selector_bench *bench, size_t which,
                                   struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    if (bench->rig == NULL)
        status = rig_start(bench->directory, 0, &bench->rig, err);
    if (status != WEIR_OK || bench->crowds[which].samples > 0)
        return status;
    size_t samples = (size_t)((double)SIZES[which] * bench->scale) + 1;
    return crowd_make(bench->rig, bench->directory, &bench->crowds[which], samples, err);
}

/* The pipeline that selects so from that crowd, opened when it is asked for first. */
static enum weir_status need_pipeline(struct selector_bench *bench, size_t which,
                                      const char *selection, struct crowd_pipeline **ret_pipeline,
                                      struct weir_error *err)
{
    enum weir_status status = need_crowd(bench, which, err);
    const struct crowd *crowd = &bench->crowds[which];
    for (size_t i = 0; i < bench->pipeline_count; i++) {
        *ret_pipeline = &bench->pipelines[i];
        if ((*ret_pipeline)->crowd == crowd && strcmp((*ret_pipeline)->selection, selection) == 0)
            return status;
    }
    if (status != WEIR_OK)
        return status;
    weir_require(bench->pipeline_count < PIPELINES_MAX);
    *ret_pipeline = &bench->pipelines[bench->pipeline_count];
    **ret_pipeline = (struct crowd_pipeline){.crowd = crowd, .selection = selection};
    (void)snprintf((*ret_pipeline)->name, sizeof(*ret_pipeline)->name, "pipeline-%zu",
                   bench->pipeline_count++);
    return crowd_open(bench->rig, *ret_pipeline, err);
}

/* Candidates a second, or with `by_chosen` chosen samples a second. */
static enum weir_status timed_select(struct selector_bench *bench, size_t which,
                                     const char *selection, bool by_chosen, double *ret_rate,
                                     struct weir_error *err)
{
    struct crowd_pipeline *pipeline = NULL;
    struct msg_selected selected;
    double seconds = 0;
    enum weir_status status = need_pipeline(bench, which, selection, &pipeline, err);
    if (status == WEIR_OK)
        status = crowd_select(bench->rig, pipeline, &selected, &seconds, err);
    if (status == WEIR_OK)
        *ret_rate = (double)(by_chosen ? selected.samples : selected.candidates) / seconds;
    return status;
}

static const char RANDOM[] = "{policy: random, ratio: 0.1, tail_triggers: all}";
static const char BALANCED[] = "{policy: label_balanced, ratio: 0.1, tail_triggers: all}";
static const char EVERYTHING[] = "{policy: new_data, tail_triggers: all}";

enum weir_status draw_ten(void *state, double *ret_rate, struct weir_error *err)
{
    return timed_select(state, TEN, RANDOM, false, ret_rate, err);
}

enum weir_status balance_ten(void *state, double *ret_rate, struct weir_error *err)
{
    return timed_select(state, TEN, BALANCED, false, ret_rate, err);
}

enum weir_status draw_one(void *state, double *ret_rate, struct weir_error *err)
{
    return timed_select(state, ONE, RANDOM, false, ret_rate, err);
}

enum weir_status draw_hundred(void *state, double *ret_rate, struct weir_error *err)
{
    return timed_select(state, HUNDRED, RANDOM, false, ret_rate, err);
}

enum weir_status seal_all(void *state, double *ret_rate, struct weir_error *err)
{
    return timed_select(state, HUNDRED, EVERYTHING, true, ret_rate, err);
}

/* In parts of half a million, one after the other. */
enum weir_status serve_all(void *state, double *ret_rate, struct weir_error *err)
{
    struct selector_bench *bench = state;
    struct msg_set_read read = {.digest = bench->digest, .count = 1 << 19};
    const struct rig_call call = {RIG_SELECTOR, MSG_set_read, &read, MSG_set_part};
    struct msg_set_part part = {.samples = 1};
    enum weir_status status = WEIR_OK;
    int64_t started = weir_now_ns();
    for (; status == WEIR_OK && read.first < part.samples; read.first += part.ids.count)
        status = rig_request(bench->rig, &call, &part, err);
    *ret_rate = (double)read.first * 1e9 / (double)(weir_now_ns() - started);
    return status;
}

enum weir_status prepare_serving(void *state, struct weir_error *err)
{
    struct selector_bench *bench = state;
    struct crowd_pipeline *pipeline = NULL;
    struct msg_selected selected;
    double seconds = 0;
    enum weir_status status = prepare_hundred(bench, err);
    if (status == WEIR_OK)
        status = need_pipeline(bench, HUNDRED, EVERYTHING, &pipeline, err);
    if (status == WEIR_OK)
        status = crowd_select(bench->rig, pipeline, &selected, &seconds, err);
    if (status == WEIR_OK)
        (void)snprintf(bench->digest, sizeof(bench->digest), "%s", selected.digest);
    return status;
}

enum weir_status twenty_million(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 20e6;
    return WEIR_OK;
}

/* ---- memory ---- */

enum weir_status pool_memory(void *state, double *ret_rate, struct weir_error *err)
{
    struct selector_bench *bench = state;
    struct weight_memory memory;
    double rate = 0;
    enum weir_status status = draw_hundred(state, &rate, err);
    if (status == WEIR_OK)
        status = weight_resident(rig_pid(bench->rig, RIG_SELECTOR), &memory, err);
    if (status == WEIR_OK)
        *ret_rate = 1 / (double)memory.peak;
    return status;
}

enum weir_status allowed_pool(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    (void)err;
    *ret_rate = 1 / POOL_MAX;
    return WEIR_OK;
}

enum weir_status prepare_ten(void *state, struct weir_error *err)
{
    return need_crowd(state, TEN, err);
}

enum weir_status prepare_hundred(void *state, struct weir_error *err)
{
    enum weir_status status = need_crowd(state, ONE, err);
    return status == WEIR_OK ? need_crowd(state, HUNDRED, err) : status;
}

/* ---- the table of rows ---- */

static void no_row(const void *owner, size_t sample, struct table_row *ret_row)
{
    (void)owner;
    (void)sample;
    *ret_row = (struct table_row){0};
}

/* Has Postgres itself make as many rows as there are candidates, and settle them. */
enum weir_status prepare_rows(void *state, struct weir_error *err)
{
    struct selector_bench *bench = state;
    enum weir_status status = need_crowd(bench, TEN, err);
    if (status != WEIR_OK || bench->table != NULL)
        return status;
    const struct table_plan plan = {.name = "rows", .row = no_row};
    WEIR_AUTO_FREE char *fill =
        weir_format("INSERT INTO bench.rows SELECT i, 1, i / 1250000, (100 * random() ^ 3)::int,"
                    " 1767225600000000 + i FROM generate_series(1, %zu) AS i",
                    bench->crowds[TEN].samples);
    status = table_open(rig_postgres(bench->rig), &plan, &bench->table, err);
    if (status == WEIR_OK)
        status = table_execute(bench->table, fill, err);
    if (status == WEIR_OK)
        status = table_execute(bench->table, "VACUUM ANALYZE bench.rows", err);
    return status == WEIR_OK ? table_settle(bench->table, err) : status;
}

static enum weir_status timed_copy(struct selector_bench *bench, const char *select,
                                   double *ret_rate, struct weir_error *err)
{
    WEIR_AUTO_FREE char *sql = weir_format("COPY (%s) TO '%s/chosen.copy' (FORMAT binary)", select,
                                           rig_data_dir(bench->rig));
    int64_t started = weir_now_ns();
    enum weir_status status = table_execute(bench->table, sql, err);
    *ret_rate = (double)bench->crowds[TEN].samples * 1e9 / (double)(weir_now_ns() - started);
    return status;
}

enum weir_status sort_rows(void *state, double *ret_rate, struct weir_error *err)
{
    struct selector_bench *bench = state;
    WEIR_AUTO_FREE char *select = weir_format(
        "SELECT id FROM bench.rows ORDER BY random() LIMIT %zu", bench->crowds[TEN].samples / 10);
    return timed_copy(bench, select, ret_rate, err);
}

enum weir_status sample_rows(void *state, double *ret_rate, struct weir_error *err)
{
    return timed_copy(state, "SELECT id FROM bench.rows TABLESAMPLE BERNOULLI (10)", ret_rate, err);
}

/* ---- Postgres at its best ---- */

static const char TUNE[] = "SET work_mem = '1GB'; SET jit = off;"
                           " SET max_parallel_workers_per_gather = 8; SET parallel_setup_cost = 0";
static const char UNTUNE[] = "RESET ALL";

/* The other figures are stated for a database as it is installed. */
static enum weir_status tuned(struct selector_bench *bench, bench_side_fn *query, double *ret_rate,
                              struct weir_error *err)
{
    enum weir_status status = table_execute(bench->table, TUNE, err);
    if (status == WEIR_OK)
        status = query(bench, ret_rate, err);
    return status == WEIR_OK ? table_execute(bench->table, UNTUNE, err) : status;
}

enum weir_status sort_rows_in_memory(void *state, double *ret_rate, struct weir_error *err)
{
    return tuned(state, sort_rows, ret_rate, err);
}

/* As many of each label as label_balanced would take if every label had enough. */
static enum weir_status number_rows(void *state, double *ret_rate, struct weir_error *err)
{
    struct selector_bench *bench = state;
    WEIR_AUTO_FREE char *select = weir_format(
        "SELECT id FROM (SELECT id, row_number() OVER (PARTITION BY label ORDER BY random()) AS n"
        " FROM bench.rows) AS numbered WHERE n <= %zu",
        bench->crowds[TEN].samples / 10 / CROWD_CLASSES);
    return timed_copy(bench, select, ret_rate, err);
}

enum weir_status balance_rows(void *state, double *ret_rate, struct weir_error *err)
{
    return tuned(state, number_rows, ret_rate, err);
}
