/* The row of a run: found or made by purpose, read, and returned as a result. */
#include "orchestrator/runs/run_state.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/path.h"
#include "core/base/rng.h"
#include "core/wire/sample.h"
#include "orchestrator/models/store.h"
#include "orchestrator/runs/warm_folder.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

/* By purpose: one that is just added is found in the same round trip. */
static void ask_rows(int64_t pipeline, const char *purpose, struct weir_asked asked[RUN_ROWS])
{
    static const int QUERIES[RUN_ROWS] = {[RUN_ROW] = Q_run_of_purpose,
                                          [RUN_BASE] = Q_run_base,
                                          [RUN_BEFORE] = Q_run_training_before};
    for (size_t i = 0; i < RUN_ROWS; i++)
        asked[i] = DB_ASKED(QUERIES[i], DB_I64(pipeline), DB_TEXT(purpose));
}

void orchestrator_run_ask_rows(const struct run *run, struct weir_asked asked[RUN_ROWS])
{
    ask_rows(run->pipeline, run->purpose, asked);
}

void orchestrator_run_drop_rows(struct run *run)
{
    weir_rows_free(run->row);
    weir_rows_free(run->base);
    weir_rows_free(run->before);
    run->row = run->base = run->before = NULL;
}

static void take_row(struct run *run, struct weir_rows *row)
{
    run->row = row;
    run->pipeline = weir_rows_i64(row, 0, "pipeline");
    run->purpose = weir_rows_text(row, 0, "purpose");
    run->mode = weir_rows_text(row, 0, "mode");
    run->trigger = weir_rows_i64(row, 0, "trigger");
    run->set_digest = weir_rows_text(row, 0, "set_digest");
    run->set_path = weir_rows_text(row, 0, "set_path");
    run->epochs = (uint64_t)weir_rows_i64(row, 0, "epochs");
    run->epochs_before = (uint64_t)weir_rows_i64(row, 0, "epochs_before");
    run->epochs_in_all = (uint64_t)weir_rows_i64(row, 0, "epochs_in_all");
    run->seed = (uint64_t)weir_rows_i64(row, 0, "seed");
    run->base_model = weir_rows_text_or_null(row, 0, "base_model");
    run->clean_epoch = weir_rows_i64(row, 0, "clean_epoch");
    run->changes = weir_db_changes(run->context->db);
}

enum weir_status orchestrator_run_keep_rows(struct run *run,
                                            const struct weir_asked asked[RUN_ROWS],
                                            struct weir_error *err)
{
    struct weir_rows *row = asked[RUN_ROW].rows;
    if (weir_rows_count(row) == 0 || weir_rows_i64(row, 0, "number") != run->number) {
        for (size_t i = 0; i < RUN_ROWS; i++)
            weir_rows_free(asked[i].rows);
        return weir_fail(err, WEIR_NOT_FOUND, "run %lld is not recorded", (long long)run->number);
    }
    orchestrator_run_drop_rows(run);
    take_row(run, row);
    run->base = asked[RUN_BASE].rows;
    run->before = asked[RUN_BEFORE].rows;
    return WEIR_OK;
}

enum weir_status orchestrator_run_load(struct run *run, struct weir_error *err)
{
    struct weir_asked asked[RUN_ROWS];
    if (run->changes == weir_db_changes(run->context->db))
        return WEIR_OK;
    orchestrator_run_ask_rows(run, asked);
    enum weir_status status = weir_db_ask(run->context->db, asked, RUN_ROWS, err);
    return status == WEIR_OK ? orchestrator_run_keep_rows(run, asked, err) : status;
}

enum weir_status orchestrator_run_change(struct run *run, struct weir_asked change,
                                         struct weir_error *err)
{
    struct weir_asked asked[1 + RUN_ROWS] = {change};
    orchestrator_run_ask_rows(run, &asked[1]);
    enum weir_status status = weir_db_ask(run->context->db, asked, WEIR_COUNT(asked), err);
    if (status != WEIR_OK)
        return status;
    weir_asked_fini(asked, 1);
    return orchestrator_run_keep_rows(run, &asked[1], err);
}

const char *orchestrator_run_row_state(const struct run *run)
{
    return weir_rows_text(run->row, 0, "state");
}

struct orchestrator_cost orchestrator_run_cost(const struct weir_rows *rows, size_t row)
{
    return (struct orchestrator_cost){
        .trainer_cpu_ns = weir_rows_i64(rows, row, "cpu_ns"),
        .worker_cpu_ns = weir_rows_i64(rows, row, "worker_cpu_ns"),
        .bytes_read = (uint64_t)weir_rows_i64(rows, row, "bytes_read"),
        .bytes_sent = (uint64_t)weir_rows_i64(rows, row, "bytes_sent"),
        .gpu_ns = weir_rows_i64(rows, row, "gpu_ns"),
    };
}

void orchestrator_run_result_of(const struct run *run, struct run_result *ret_result)
{
    const struct weir_rows *row = run->row;
    *ret_result = (struct run_result){
        .number = run->number,
        .pipeline = run->pipeline,
        .trigger = run->trigger,
        .mode = run->mode,
        .purpose = run->purpose,
        .set_digest = run->set_digest,
        .parent = orchestrator_model_is_path(run->base_model) ? NULL : run->base_model,
        .clean_epoch = run->clean_epoch,
        .samples = (uint64_t)weir_rows_i64(row, 0, "samples"),
        .loss = weir_rows_f64(row, 0, "loss"),
        .metrics = weir_rows_text(row, 0, "metrics"),
        .busy_ns = weir_rows_i64(row, 0, "busy_ns"),
        .wait_ns = weir_rows_i64(row, 0, "wait_ns"),
        .cost = orchestrator_run_cost(row, 0),
        .audit = weir_rows_text(row, 0, "audit"),
        .directory = run->directory,
        .model_file = weir_rows_text(row, 0, "model_file"),
        .outputs_file = weir_rows_text(row, 0, "outputs_file"),
        .fitted = weir_rows_bytes(row, 0, "fitted"),
    };
}

enum weir_status orchestrator_run_number(const struct runs *runs, const struct run_wanted *wanted,
                                         int64_t *ret_number, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(runs->context->db, Q_run_of_purpose, &rows, err,
                                     DB_I64(wanted->pipeline.id), DB_TEXT(wanted->purpose));
    if (status == WEIR_OK)
        *ret_number = weir_rows_i64(rows, 0, "number");
    return status;
}

/* ---- starting ---- */

static struct weir_asked add(const struct runs *runs, const struct run_wanted *wanted)
{
    return DB_ASKED(
        Q_run_add, DB_I64(wanted->pipeline.id), DB_TEXT(wanted->purpose), DB_TEXT(wanted->mode),
        DB_I64(wanted->trigger), DB_TEXT(wanted->set_digest),
        DB_TEXT(weir_path_below(runs->context->data_dir, wanted->set_path)), DB_I64(wanted->epochs),
        DB_I64(wanted->seed), wanted->base_model == NULL ? DB_NULL : DB_TEXT(wanted->base_model),
        DB_I64(weir_now_wall_us()), DB_I64(wanted->epochs_before), DB_I64(wanted->epochs_in_all));
}

enum weir_status orchestrator_run_add(const struct runs *runs, const struct run_wanted *wanted,
                                      struct weir_error *err)
{
    const struct weir_asked asked = add(runs, wanted);
    return weir_db_run(runs->context->db, asked.query, asked.params, asked.count, NULL, err);
}

/* One that was begun, or has failed, may have to be opened again. */
static bool is_settled(const struct weir_rows *run)
{
    const char *state = weir_rows_text(run, 0, "state");
    return weir_str_equal(state, "done") ||
           (weir_str_equal(state, "open") && weir_rows_i64(run, 0, "starts") == 0);
}

static bool take_known(const struct run_wanted *wanted, struct weir_asked rows[RUN_ROWS])
{
    struct weir_rows **known = wanted->known;
    if (known == NULL || known[RUN_ROW] == NULL || weir_rows_count(known[RUN_ROW]) == 0 ||
        !weir_str_equal(weir_rows_text(known[RUN_ROW], 0, "purpose"), wanted->purpose) ||
        !is_settled(known[RUN_ROW]))
        return false;
    for (size_t i = 0; i < RUN_ROWS; i++)
        rows[i].rows = WEIR_TAKE(known[i]);
    return true;
}

static enum weir_status find_or_add(const struct runs *runs, const struct run_wanted *wanted,
                                    struct weir_asked rows[RUN_ROWS], struct weir_error *err)
{
    enum { ADD, REOPEN, CHANGES };
    struct weir_asked asked[CHANGES + RUN_ROWS] = {
        [ADD] = add(runs, wanted),
        [REOPEN] = DB_ASKED(Q_run_reopen, DB_I64(wanted->pipeline.id), DB_TEXT(wanted->purpose))};
    if (take_known(wanted, rows))
        return WEIR_OK;
    ask_rows(wanted->pipeline.id, wanted->purpose, &asked[CHANGES]);
    enum weir_status status = weir_db_ask(runs->context->db, asked, WEIR_COUNT(asked), err);
    if (status != WEIR_OK)
        return status;
    weir_asked_fini(asked, CHANGES);
    for (size_t i = 0; i < RUN_ROWS; i++)
        rows[i] = asked[CHANGES + i];
    return WEIR_OK;
}

static void draw_token(struct run *run)
{
    struct weir_digest drawn;
    weir_random_bytes(drawn.bytes, sizeof(drawn.bytes));
    weir_digest_text(&drawn, run->token);
}

/* A run that trains uses the file of its trigger; any other that of the trigger that made its model (C16). */
static enum weir_status find_outline(const struct runs *runs, const struct run_wanted *wanted,
                                     struct pipeline_outline *ret_outline, struct weir_error *err)
{
    bool is_used = strcmp(wanted->mode, "train") != 0 && wanted->base_model != NULL;
    int64_t trigger = is_used ? 0 : wanted->trigger;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = WEIR_OK;
    if (is_used && wanted->pipeline.before != NULL)
        status = DB_RUN(runs->context->db, Q_model_trigger, &rows, err, DB_TEXT(wanted->base_model),
                        DB_I64(wanted->pipeline.id));
    if (status == WEIR_OK && rows != NULL && weir_rows_count(rows) > 0)
        trigger = weir_rows_i64(rows, 0, "trigger");
    if (status == WEIR_OK)
        *ret_outline =
            trigger > 0 ? orchestrator_outline_at(wanted->pipeline, trigger) : wanted->pipeline;
    return status;
}

static struct run *begin_new(struct runs *runs, int64_t number)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "%lld", (long long)number);
    struct run *run = weir_calloc(1, sizeof(*run));
    run->runs = runs;
    run->context = runs->context;
    run->number = number;
    run->port_holder = -1;
    draw_token(run);
    run->directory = orchestrator_path(runs->context, "runs", name);
    run->start_from = weir_strdup("");
    run->arena = weir_arena_new();
    LIST_INSERT_HEAD(&runs->all, run, link);
    orchestrator_run_schedule(run, 0, orchestrator_run_begin);
    return run;
}

enum weir_status orchestrator_run_start(struct runs *runs, const struct run_wanted *wanted,
                                        run_done_fn *done, void *owner, struct weir_error *err)
{
    struct pipeline_outline outline;
    struct weir_asked rows[RUN_ROWS] = {{.rows = NULL}};
    enum weir_status status = find_outline(runs, wanted, &outline, err);
    if (status == WEIR_OK)
        status = find_or_add(runs, wanted, rows, err);
    if (status != WEIR_OK)
        return status;
    int64_t number = weir_rows_i64(rows[RUN_ROW].rows, 0, "number");
    struct run *run = orchestrator_run_find(runs, number);
    if (run == NULL)
        run = begin_new(runs, number);
    status = orchestrator_run_keep_rows(run, rows, err);
    if (status != WEIR_OK)
        return status;
    if (run->owner != NULL && run->owner != owner) {
        return weir_fail(err, WEIR_UNAVAILABLE, "run %lld is in work for somebody else",
                         (long long)number);
    }
    free(run->options);
    run->options = wanted->options != NULL ? weir_strdup(wanted->options) : NULL;
    run->outline = outline;
    run->done = done;
    run->owner = owner;
    return WEIR_OK;
}

enum weir_status orchestrator_run_remove_files(const struct context *context, int64_t number,
                                               struct weir_error *err)
{
    char name[32];
    (void)snprintf(name, sizeof(name), "%lld", (long long)number);
    WEIR_AUTO_FREE char *directory = orchestrator_path(context, "runs", name);
    enum weir_status status = weir_remove_tree(directory, err);
    if (status == WEIR_OK)
        status = weir_sync_parent(directory, err); /* a power cut must not bring them back */
    return status == WEIR_NOT_FOUND ? WEIR_OK : status;
}

static enum weir_status is_abandoned(const struct runs *runs, int64_t number, bool *ret_is,
                                     struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(runs->context->db, Q_run_predicts, &rows, err, DB_I64(number));
    *ret_is = status == WEIR_OK && weir_rows_count(rows) > 0;
    return status;
}

enum weir_status orchestrator_runs_sweep(const struct runs *runs, struct weir_error *err)
{
    WEIR_AUTO_FREE char *folder = orchestrator_path(runs->context, "runs", ".");
    DIR *directory = opendir(folder);
    enum weir_status status = WEIR_OK;
    const struct dirent *entry;
    if (directory == NULL)
        return WEIR_OK; /* there was no run yet */
    while (status == WEIR_OK && (entry = readdir(directory)) != NULL) {
        WEIR_AUTO_FREE char *path = orchestrator_path(runs->context, "runs", entry->d_name);
        int64_t number = strtoll(entry->d_name, NULL, 10);
        bool is = false;
        if (orchestrator_warm_folder_is_left(entry->d_name))
            status = weir_remove_tree(path, err);
        if (number > 0)
            status = is_abandoned(runs, number, &is, err);
        if (is)
            status = orchestrator_run_remove_files(runs->context, number, err);
    }
    (void)closedir(directory);
    return status;
}

uint32_t orchestrator_run_outputs(const struct run *run)
{
    if (run->label_kind == WEIR_LABEL_CLASS && run->class_count > 2)
        return (uint32_t)run->class_count;
    if (run->label_kind == WEIR_LABEL_VALUES)
        return run->label_width;
    return 1;
}
