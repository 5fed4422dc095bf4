/* The row of a run: found or made by purpose, read, and told as a result. */
#include "orchestrator/runs/run_state.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/base/path.h"
#include "core/wire/sample.h"

#include <stdio.h>
#include <string.h>

/* Columns of Q_run_get. */
enum {
    COL_NUMBER,
    COL_PIPELINE,
    COL_PURPOSE,
    COL_MODE,
    COL_TRIGGER,
    COL_SET_DIGEST,
    COL_SET_PATH,
    COL_EPOCHS,
    COL_SEED,
    COL_BASE_MODEL,
    COL_CLEAN_EPOCH,
    COL_STATE,
    COL_STARTS,
    COL_SAMPLES,
    COL_LOSS,
    COL_BUSY,
    COL_WAIT,
    COL_CPU,
    COL_MODEL_FILE,
    COL_OUTPUTS_FILE,
    COL_AUDIT,
    COL_WORKER_CPU,
    COL_BYTES_READ,
    COL_BYTES_SENT,
    COL_GPU,
    COL_ERROR,
    COL_FITTED,
};

enum weir_status run_load(struct run *run, struct weir_error *err)
{
    struct weir_rows *row = NULL;
    enum weir_status status = DB_RUN(run->context->db, Q_run_get, &row, err, DB_I64(run->number));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(row) == 0) {
        weir_rows_free(row);
        return weir_fail(err, WEIR_NOT_FOUND, "run %lld is not recorded", (long long)run->number);
    }
    weir_rows_free(run->row);
    run->row = row;
    run->pipeline = weir_rows_i64(row, 0, COL_PIPELINE);
    run->purpose = weir_rows_text(row, 0, COL_PURPOSE);
    run->mode = weir_rows_text(row, 0, COL_MODE);
    run->trigger = weir_rows_i64(row, 0, COL_TRIGGER);
    run->set_digest = weir_rows_text(row, 0, COL_SET_DIGEST);
    run->set_path = weir_rows_text(row, 0, COL_SET_PATH);
    run->epochs = (uint64_t)weir_rows_i64(row, 0, COL_EPOCHS);
    run->seed = (uint64_t)weir_rows_i64(row, 0, COL_SEED);
    run->base_model =
        weir_rows_is_null(row, 0, COL_BASE_MODEL) ? NULL : weir_rows_text(row, 0, COL_BASE_MODEL);
    run->clean_epoch = weir_rows_i64(row, 0, COL_CLEAN_EPOCH);
    return WEIR_OK;
}

const char *run_row_state(const struct run *run)
{
    return weir_rows_text(run->row, 0, COL_STATE);
}

struct orchestrator_cost orchestrator_run_cost(const struct weir_rows *rows, size_t row, int column)
{
    return (struct orchestrator_cost){
        .trainer_cpu_ns = weir_rows_i64(rows, row, column),
        .worker_cpu_ns = weir_rows_i64(rows, row, column + 1),
        .bytes_read = (uint64_t)weir_rows_i64(rows, row, column + 2),
        .bytes_sent = (uint64_t)weir_rows_i64(rows, row, column + 3),
        .gpu_ns = weir_rows_i64(rows, row, column + 4),
    };
}

void run_result_of(const struct run *run, struct run_result *ret_result)
{
    const struct weir_rows *row = run->row;
    *ret_result = (struct run_result){
        .number = run->number,
        .pipeline = run->pipeline,
        .trigger = run->trigger,
        .mode = run->mode,
        .purpose = run->purpose,
        .set_digest = run->set_digest,
        .base_model = run->base_model,
        .clean_epoch = run->clean_epoch,
        .samples = (uint64_t)weir_rows_i64(row, 0, COL_SAMPLES),
        .loss = weir_rows_f64(row, 0, COL_LOSS),
        .busy_ns = weir_rows_i64(row, 0, COL_BUSY),
        .wait_ns = weir_rows_i64(row, 0, COL_WAIT),
        .cost = {.trainer_cpu_ns = weir_rows_i64(row, 0, COL_CPU),
                 .worker_cpu_ns = weir_rows_i64(row, 0, COL_WORKER_CPU),
                 .bytes_read = (uint64_t)weir_rows_i64(row, 0, COL_BYTES_READ),
                 .bytes_sent = (uint64_t)weir_rows_i64(row, 0, COL_BYTES_SENT),
                 .gpu_ns = weir_rows_i64(row, 0, COL_GPU)},
        .audit = weir_rows_text(row, 0, COL_AUDIT),
        .directory = run->directory,
        .model_file = weir_rows_text(row, 0, COL_MODEL_FILE),
        .outputs_file = weir_rows_text(row, 0, COL_OUTPUTS_FILE),
        .fitted = weir_rows_bytes(row, 0, COL_FITTED),
    };
}

static enum weir_status find_or_add(struct runs *runs, const struct run_wanted *wanted,
                                    int64_t *ret_number, struct weir_error *err)
{
    enum weir_status status = DB_RUN(
        runs->context->db, Q_run_add, NULL, err, DB_I64(wanted->pipeline.id),
        DB_TEXT(wanted->purpose), DB_TEXT(wanted->mode), DB_I64(wanted->trigger),
        DB_TEXT(wanted->set_digest),
        DB_TEXT(weir_path_below(runs->context->data_dir, wanted->set_path)), DB_I64(wanted->epochs),
        DB_I64(wanted->seed), wanted->base_model == NULL ? DB_NULL : DB_TEXT(wanted->base_model),
        DB_I64(weir_now_wall_us()));
    WEIR_AUTO(weir_rows) rows = NULL;
    if (status == WEIR_OK) {
        status = DB_RUN(runs->context->db, Q_run_by_purpose, &rows, err,
                        DB_I64(wanted->pipeline.id), DB_TEXT(wanted->purpose));
    }
    if (status == WEIR_OK)
        *ret_number = weir_rows_i64(rows, 0, 0);
    return status;
}

enum weir_status orchestrator_run_start(struct runs *runs, const struct run_wanted *wanted,
                                        run_done_fn *done, void *owner, struct weir_error *err)
{
    int64_t number = 0;
    enum weir_status status = find_or_add(runs, wanted, &number, err);
    if (status == WEIR_OK)
        status = DB_RUN(runs->context->db, Q_run_reopen, NULL, err, DB_I64(number));
    if (status != WEIR_OK)
        return status;
    struct run *run = run_find(runs, number);
    if (run == NULL) {
        char name[32];
        (void)snprintf(name, sizeof name, "%lld", (long long)number);
        run = weir_calloc(1, sizeof *run);
        run->runs = runs;
        run->context = runs->context;
        run->number = number;
        run->directory = orchestrator_path(runs->context, "runs", name);
        run->start_from = weir_strdup("");
        run->arena = weir_arena_new();
        run->next = runs->first;
        runs->first = run;
        run_schedule(run, 0, run_begin);
    }
    if (run->owner != NULL && run->owner != owner) {
        return weir_fail(err, WEIR_UNAVAILABLE, "run %lld is in work for somebody else",
                         (long long)number);
    }
    run->outline = wanted->pipeline;
    run->done = done;
    run->owner = owner;
    return WEIR_OK;
}

enum weir_status orchestrator_run_remove_files(const struct context *context, int64_t number,
                                               struct weir_error *err)
{
    char name[32];
    (void)snprintf(name, sizeof name, "%lld", (long long)number);
    WEIR_AUTO_FREE char *directory = orchestrator_path(context, "runs", name);
    return weir_remove_tree(directory, err);
}

uint32_t run_outputs(const struct run *run)
{
    if (run->label_kind == WEIR_LABEL_CLASS && run->class_count > 2)
        return (uint32_t)run->class_count;
    if (run->label_kind == WEIR_LABEL_VALUES)
        return run->label_width;
    return 1;
}
