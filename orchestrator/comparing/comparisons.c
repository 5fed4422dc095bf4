/* Rows, timer, and the edges of cells: see comparisons.h. */
#include "orchestrator/comparing/comparisons.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "orchestrator/comparing/harvest.h"
#include "orchestrator/config/parse.h"
#include "orchestrator/context/events.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 100 };

static void watch(struct comparisons *comparisons);

/* ---- in memory ---- */

static void free_comparison(struct comparison *comparison)
{
    size_t count = comparison->grid == NULL ? 0 : orchestrator_grid_cell_count(comparison->grid);
    for (size_t i = 0; comparison->cells != NULL && i < count; i++) {
        free(comparison->cells[i].name);
        free(comparison->cells[i].error);
    }
    free(comparison->cells);
    orchestrator_grid_free(comparison->grid);
    free(comparison->file);
    free(comparison->owner);
    free(comparison);
}

static void auto_free_comparison(struct comparison **comparison)
{
    if (*comparison != NULL)
        free_comparison(*comparison);
}
#define AUTO_COMPARISON __attribute__((cleanup(auto_free_comparison))) struct comparison

static void digest_of(struct weir_bytes text, char ret_text[WEIR_DIGEST_TEXT_MAX])
{
    struct weir_digest digest = weir_digest_of(text);
    weir_digest_text(&digest, ret_text);
}

/* A comparison that is in no list yet, whose cells all wait. */
static struct comparison *new_comparison(const struct grid_files *files, const char *owner,
                                         struct comparison_grid *grid)
{
    struct comparison *comparison = weir_calloc(1, sizeof(*comparison));
    size_t count = orchestrator_grid_cell_count(grid);
    comparison->owner = weir_strdup(owner);
    comparison->file = weir_strdup(files->file);
    comparison->grid = grid;
    comparison->is_open = true;
    comparison->cells = weir_calloc(count, sizeof(*comparison->cells));
    for (size_t i = 0; i < count; i++) {
        WEIR_AUTO_BUF name = {0};
        WEIR_AUTO_BUF text = {0};
        orchestrator_grid_cell_name(grid, i, &name);
        orchestrator_grid_cell_text(grid, i, &text);
        comparison->cells[i] = (struct comparing_cell){.name = weir_strdup(weir_buf_text(&name)),
                                                       .state = CELL_WAITING,
                                                       .error = weir_strdup("")};
        digest_of(weir_buf_view(&text), comparison->cells[i].digest);
    }
    return comparison;
}

/* NULL: there is none. */
static struct comparison *by_name(const struct comparisons *comparisons, const char *name)
{
    struct comparison *comparison = comparisons->first;
    while (comparison != NULL && strcmp(comparison->grid->name, name) != 0)
        comparison = comparison->next;
    return comparison;
}

char *orchestrator_comparison_pipeline_name(const struct comparison *comparison, size_t cell)
{
    return weir_format("%s-%s", comparison->grid->name, comparison->cells[cell].name);
}

static void set_error(struct comparing_cell *cell, const char *error)
{
    char *copy = weir_strdup(error);
    free(cell->error);
    cell->error = copy;
}

/* ---- rows ---- */

/* Takes over what Postgres knows of the cells. */
static enum weir_status load_cells(struct context *context, struct comparison *comparison,
                                   struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    size_t count = orchestrator_grid_cell_count(comparison->grid);
    enum weir_status status =
        DB_RUN(context->db, Q_cells_of, &rows, err, DB_I64(comparison->number));
    comparison->left_out = 0;
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++) {
        const char *state = weir_rows_text(rows, i, "state");
        size_t at = 0;
        while (at < count &&
               strcmp(comparison->cells[at].name, weir_rows_text(rows, i, "cell")) != 0)
            at++;
        if (at == count) {
            comparison->left_out += orchestrator_cell_state_of(state) == CELL_DONE;
            continue;
        }
        struct comparing_cell *cell = &comparison->cells[at];
        cell->state = orchestrator_cell_state_of(state);
        cell->pipeline = weir_rows_i64(rows, i, "pipeline");
        (void)snprintf(cell->digest, sizeof(cell->digest), "%s",
                       weir_rows_text(rows, i, "config_digest"));
        cell->began_us = weir_rows_i64(rows, i, "started_us");
        cell->took_us =
            cell->state == CELL_DONE ? weir_rows_i64(rows, i, "finished_us") - cell->began_us : 0;
        set_error(cell, weir_rows_text(rows, i, "error"));
        if (cell->state == CELL_STATE_COUNT)
            return weir_fail(
                err, WEIR_UNSUPPORTED,
                "comparison %s: cell %s is in state %s, which this program does not know",
                comparison->grid->name, cell->name, state);
    }
    return status;
}

static enum weir_status load_one(struct comparisons *comparisons, const struct weir_rows *rows,
                                 size_t row, struct weir_error *err)
{
    struct comparison_grid *grid = NULL;
    const struct grid_files files = {
        .file = weir_rows_text(rows, row, "file"),
        .text = weir_rows_bytes(rows, row, "grid"),
        .base_file = weir_rows_text(rows, row, "base_file"),
        .base_text = weir_rows_bytes(rows, row, "base"),
    };
    enum weir_status status = orchestrator_grid_parse(&files, &grid, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "recorded comparison %s",
                               weir_rows_text(rows, row, "name"));
    struct comparison *comparison =
        new_comparison(&files, weir_rows_text(rows, row, "owner"), grid);
    comparison->number = weir_rows_i64(rows, row, "number");
    comparison->is_open = weir_rows_bool(rows, row, "is_open");
    comparison->next = comparisons->first;
    comparisons->first = comparison;
    return load_cells(comparisons->context, comparison, err);
}

enum weir_status orchestrator_comparisons_load(struct comparisons *comparisons,
                                               struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(comparisons->context->db, Q_comparison_all, &rows, err);
    for (size_t i = 0; status == WEIR_OK && i < weir_rows_count(rows); i++)
        status = load_one(comparisons, rows, i, err);
    watch(comparisons);
    return status;
}

void orchestrator_comparisons_free(struct comparisons *comparisons)
{
    weir_loop_cancel(comparisons->context->loop, comparisons->timer);
    while (comparisons->first != NULL) {
        struct comparison *comparison = comparisons->first;
        comparisons->first = comparison->next;
        free_comparison(comparison);
    }
}

/* ---- beginning a cell ---- */

/* A cell at hand. */
struct handled {
    struct comparisons *all;
    struct comparison *comparison;
    size_t index;
    struct comparing_cell *cell;
    const struct pipeline_file *file;         /* of one that begins */
    const struct orchestrator_config *config; /* likewise */
};

static enum weir_status effect_started(void *subject, const void *what, struct weir_error *err)
{
    const struct handled *handled = what;
    int64_t *pipeline = subject;
    enum weir_status status = orchestrator_pipeline_add_row(handled->all->pipelines, handled->file,
                                                            handled->config, pipeline, err);
    return status == WEIR_OK
               ? DB_RUN(handled->all->context->db, Q_cell_started, NULL, err,
                        DB_I64(handled->comparison->number), DB_TEXT(handled->cell->name),
                        DB_I64(*pipeline), DB_I64(weir_now_wall_us()))
               : status;
}

static enum weir_status begin_pipeline(struct handled *handled, struct orchestrator_config *config,
                                       struct weir_error *err)
{
    int64_t pipeline = 0;
    handled->config = config;
    enum weir_status status =
        orchestrator_commit(handled->all->context, effect_started, &pipeline, handled, err);
    if (status != WEIR_OK) {
        orchestrator_config_free(config);
        return status;
    }
    (void)weir_fault("comparison.started"); /* committed: only death can come between */
    handled->cell->pipeline = pipeline;
    handled->cell->state = CELL_RUNNING;
    handled->cell->began_us = weir_now_wall_us();
    return orchestrator_pipeline_begin_new(handled->all->pipelines, pipeline, handled->file, config,
                                           err);
}

/* EXISTS when a pipeline of its name is there; UNAVAILABLE while that is being removed. */
static enum weir_status check_name(const struct comparisons *comparisons, const char *name,
                                   struct weir_error *err)
{
    const struct pipeline *known = orchestrator_pipeline_by_name(comparisons->pipelines, name);
    if (known == NULL)
        return WEIR_OK;
    return orchestrator_pipeline_is_leaving(known)
               ? weir_fail(err, WEIR_UNAVAILABLE, "pipeline %s is being removed: try again", name)
               : weir_fail(err, WEIR_EXISTS,
                           "there is a pipeline %s already: remove it, or give the comparison "
                           "another name",
                           name);
}

static enum weir_status begin_cell(struct handled *handled, struct weir_error *err)
{
    WEIR_AUTO_BUF text = {0};
    WEIR_AUTO(orchestrator_config) config = NULL;
    orchestrator_grid_cell_text(handled->comparison->grid, handled->index, &text);
    const struct pipeline_file file = {.name = handled->comparison->file,
                                       .text = weir_buf_view(&text),
                                       .owner = handled->comparison->owner};
    const struct orchestrator_site site = orchestrator_site_of(handled->all->context);
    handled->file = &file;
    enum weir_status status = orchestrator_config_parse(file.name, file.text, &config, err);
    if (status == WEIR_OK)
        status = orchestrator_config_check_system(config, &site, err);
    if (status == WEIR_OK)
        status = check_name(handled->all, config->name, err);
    return status == WEIR_OK ? begin_pipeline(handled, WEIR_TAKE(config), err) : status;
}

/* ---- the edges of a cell ---- */

static enum weir_status put_state(struct handled *handled, enum cell_state state, const char *error,
                                  struct weir_error *err)
{
    struct comparing_cell *cell = handled->cell;
    enum weir_status status = DB_RUN(handled->all->context->db, Q_cell_state, NULL, err,
                                     DB_I64(handled->comparison->number), DB_TEXT(cell->name),
                                     DB_TEXT(orchestrator_cell_state_name(state)), DB_TEXT(error));
    if (status != WEIR_OK)
        return status;
    cell->state = state;
    set_error(cell, error);
    return WEIR_OK;
}

static enum cell_state state_after(const struct pipeline *pipeline)
{
    enum pipeline_state state =
        pipeline == NULL ? PIPELINE_REMOVED : orchestrator_pipeline_state(pipeline);
    if (state == PIPELINE_FINISHED)
        return CELL_DONE;
    if (state == PIPELINE_PAUSED || state == PIPELINE_STOPPED)
        return CELL_RESTING;
    return state == PIPELINE_FAILED || state == PIPELINE_REMOVING || state == PIPELINE_REMOVED
               ? CELL_FAILED
               : CELL_RUNNING;
}

/* Keeps what came of a pipeline that is through. */
static enum weir_status end_cell(struct handled *handled, struct weir_error *err)
{
    struct comparing_cell *cell = handled->cell;
    if (weir_fault("comparison.end"))
        return weir_fail(err, WEIR_UNAVAILABLE, "fault comparison.end");
    enum weir_status status = orchestrator_cell_harvest(
        handled->all->context, handled->comparison->number, cell->name, cell->pipeline, err);
    if (status != WEIR_OK)
        return status;
    cell->state = CELL_DONE;
    cell->took_us = weir_now_wall_us() - cell->began_us;
    return WEIR_OK;
}

static enum weir_status look_at(struct handled *handled, struct weir_error *err)
{
    struct comparing_cell *cell = handled->cell;
    if (cell->pipeline == 0 || cell->state == CELL_DONE)
        return WEIR_OK;
    enum cell_state state =
        state_after(orchestrator_pipeline_by_id(handled->all->pipelines, cell->pipeline));
    if (state == CELL_DONE)
        return end_cell(handled, err);
    if (state == CELL_RESTING) /* a state of the pipeline alone */
        cell->state = state;
    return state == cell->state ? WEIR_OK : put_state(handled, state, "", err);
}

/* A cell that cannot be begun, but for what passes, has failed. */
static enum weir_status start(struct handled *handled, struct weir_error *err)
{
    struct weir_error why;
    enum weir_status status = begin_cell(handled, &why);
    if (status == WEIR_OK || handled->cell->state == CELL_RUNNING)
        return WEIR_OK;
    if (!orchestrator_may_pass(status))
        return put_state(handled, CELL_FAILED, why.text, err);
    *err = why;
    return status;
}

/* ---- watching ---- */

static enum weir_status start_more(struct comparisons *comparisons, struct comparison *comparison,
                                   struct weir_error *err)
{
    size_t count = orchestrator_grid_cell_count(comparison->grid);
    size_t picked[GRID_AT_ONCE_MAX];
    WEIR_AUTO_FREE enum cell_state *states = weir_calloc(count, sizeof(*states));
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; i < count; i++)
        states[i] = comparison->cells[i].state;
    size_t starts = orchestrator_comparing_starts(states, count, comparison->grid->at_once, picked);
    for (size_t i = 0; status == WEIR_OK && i < starts; i++) {
        struct handled handled = {comparisons, comparison, picked[i], &comparison->cells[picked[i]],
                                  NULL,        NULL};
        status = start(&handled, err);
    }
    return status;
}

static enum weir_status look(struct comparisons *comparisons, struct comparison *comparison,
                             struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < orchestrator_grid_cell_count(comparison->grid);
         i++) {
        struct handled handled = {comparisons, comparison, i, &comparison->cells[i], NULL, NULL};
        status = look_at(&handled, err);
    }
    return status == WEIR_OK && comparison->is_open && !comparisons->pipelines->are_held
               ? start_more(comparisons, comparison, err)
               : status;
}

static bool is_through(const struct comparison *comparison)
{
    for (size_t i = 0; i < orchestrator_grid_cell_count(comparison->grid); i++) {
        enum cell_state state = comparison->cells[i].state;
        bool is_over = state == CELL_DONE || (!comparison->is_open && state != CELL_RUNNING);
        if (!is_over)
            return false;
    }
    return true;
}

static void on_look(void *owner)
{
    struct comparisons *comparisons = owner;
    bool all = true;
    for (struct comparison *comparison = comparisons->first; comparison != NULL;
         comparison = comparison->next) {
        struct weir_error err;
        if (is_through(comparison))
            continue;
        if (look(comparisons, comparison, &err) != WEIR_OK)
            weir_log(WEIR_LOG_WARN, "comparison tries again", "comparison=%s because=\"%s\"",
                     comparison->grid->name, err.text);
        all = all && is_through(comparison);
    }
    if (!all)
        return;
    weir_loop_cancel(comparisons->context->loop, comparisons->timer);
    comparisons->timer = 0;
}

static void watch(struct comparisons *comparisons)
{
    if (comparisons->timer == 0)
        comparisons->timer =
            weir_loop_timer(comparisons->context->loop, LOOK_MS, LOOK_MS, on_look, comparisons);
}

/* ---- taking in ---- */

/* Its row; as many as there are: it has none. */
static size_t row_of(const struct weir_rows *rows, const char *cell)
{
    size_t row = 0, count = rows == NULL ? 0 : weir_rows_count(rows);
    while (row < count && strcmp(weir_rows_text(rows, row, "cell"), cell) != 0)
        row++;
    return row;
}

static enum weir_status check_cell(const struct comparisons *comparisons,
                                   const struct comparison *comparison, size_t index,
                                   const struct weir_rows *rows, struct weir_error *err)
{
    const struct comparing_cell *cell = &comparison->cells[index];
    size_t row = row_of(rows, cell->name);
    bool is_known = rows != NULL && row < weir_rows_count(rows);
    WEIR_AUTO_FREE char *name = orchestrator_comparison_pipeline_name(comparison, index);
    if (!is_known ||
        orchestrator_cell_state_of(weir_rows_text(rows, row, "state")) == CELL_WAITING) {
        enum weir_status status = check_name(comparisons, name, err);
        return status == WEIR_UNAVAILABLE ? WEIR_OK : status;
    }
    return strcmp(weir_rows_text(rows, row, "config_digest"), cell->digest) == 0
               ? WEIR_OK
               : weir_fail(err, WEIR_EXISTS,
                           "%s: cell %s of comparison %s was begun with another pipeline: its "
                           "base or its entries of the axes have changed; give the comparison "
                           "another name",
                           comparison->file, cell->name, comparison->grid->name);
}

/* Cells that the grid of before has left out are known, too. */
static enum weir_status check_cells(const struct comparisons *comparisons,
                                    const struct comparison *comparison,
                                    const struct comparison *known, struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = known == NULL ? WEIR_OK
                                            : DB_RUN(comparisons->context->db, Q_cells_of, &rows,
                                                     err, DB_I64(known->number));
    for (size_t i = 0; status == WEIR_OK && i < orchestrator_grid_cell_count(comparison->grid); i++)
        status = check_cell(comparisons, comparison, i, rows, err);
    return status;
}

/* A grid on its way into Postgres. */
struct submission {
    struct comparisons *all;
    struct comparison *comparison;
    const struct grid_files *files;
};

static enum weir_status put_cells(const struct submission *submitted, struct weir_error *err)
{
    const struct comparison *comparison = submitted->comparison;
    struct weir_db *db = submitted->all->context->db;
    WEIR_AUTO_BUF names = {0};
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < orchestrator_grid_cell_count(comparison->grid);
         i++) {
        WEIR_AUTO_BUF text = {0};
        const struct comparing_cell *cell = &comparison->cells[i];
        orchestrator_grid_cell_text(comparison->grid, i, &text);
        weir_buf_printf(&names, "%s%s", i == 0 ? "" : "\n", cell->name);
        status = DB_RUN(db, Q_cell_put, NULL, err, DB_I64(comparison->number), DB_TEXT(cell->name),
                        DB_BYTES(weir_buf_view(&text)), DB_TEXT(cell->digest));
    }
    return status == WEIR_OK ? DB_RUN(db, Q_cells_drop, NULL, err, DB_I64(comparison->number),
                                      DB_TEXT(weir_buf_text(&names)))
                             : status;
}

/* Cells that failed and whose pipelines are gone wait again. */
static enum weir_status put_back(const struct submission *submitted, struct weir_error *err)
{
    struct comparison *comparison = submitted->comparison;
    enum weir_status status = load_cells(submitted->all->context, comparison, err);
    for (size_t i = 0; status == WEIR_OK && i < orchestrator_grid_cell_count(comparison->grid);
         i++) {
        struct comparing_cell *cell = &comparison->cells[i];
        const struct pipeline *pipeline =
            orchestrator_pipeline_by_id(submitted->all->pipelines, cell->pipeline);
        bool is_gone = pipeline == NULL || orchestrator_pipeline_is_leaving(pipeline);
        bool is_over = cell->state == CELL_DONE || cell->state == CELL_WAITING;
        if (is_over || !is_gone)
            continue;
        status = DB_RUN(submitted->all->context->db, Q_cell_again, NULL, err,
                        DB_I64(comparison->number), DB_TEXT(cell->name));
        cell->state = CELL_WAITING;
        cell->pipeline = 0;
        set_error(cell, "");
    }
    return status;
}

static enum weir_status effect_taken(void *subject, const void *what, struct weir_error *err)
{
    const struct submission *submitted = what;
    struct comparison *comparison = subject;
    const struct grid_files *files = submitted->files;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = DB_RUN(
        submitted->all->context->db, Q_comparison_put, &rows, err, DB_TEXT(comparison->grid->name),
        DB_TEXT(comparison->owner), DB_TEXT(files->file), DB_BYTES(files->text),
        DB_TEXT(files->base_file), DB_BYTES(files->base_text), DB_I64(weir_now_wall_us()));
    if (status != WEIR_OK)
        return status;
    comparison->number = weir_rows_i64(rows, 0, "number");
    status = put_cells(submitted, err);
    return status == WEIR_OK ? put_back(submitted, err) : status;
}

/* In the place of the one of its name, if there is one. */
static void keep(struct comparisons *comparisons, struct comparison *comparison)
{
    struct comparison **at = &comparisons->first;
    while (*at != NULL && strcmp((*at)->grid->name, comparison->grid->name) != 0)
        at = &(*at)->next;
    struct comparison *before = *at;
    if (before != NULL) {
        *at = before->next;
        free_comparison(before);
    }
    comparison->next = comparisons->first;
    comparisons->first = comparison;
}

/* Pipelines of cells that failed, or that a person has stopped, are tried again. */
static enum weir_status resume_cells(const struct comparisons *comparisons,
                                     const struct comparison *comparison, struct weir_error *err)
{
    enum weir_status status = WEIR_OK;
    for (size_t i = 0; status == WEIR_OK && i < orchestrator_grid_cell_count(comparison->grid);
         i++) {
        struct pipeline *pipeline =
            orchestrator_pipeline_by_id(comparisons->pipelines, comparison->cells[i].pipeline);
        if (pipeline == NULL || comparison->cells[i].state == CELL_DONE)
            continue;
        enum cell_state state = state_after(pipeline);
        if (state == CELL_FAILED || state == CELL_RESTING)
            status = orchestrator_pipeline_resume(pipeline, err);
    }
    return status;
}

enum weir_status orchestrator_comparison_submit(struct comparisons *comparisons,
                                                const struct grid_files *files, const char *owner,
                                                struct comparison **ret_comparison,
                                                struct weir_error *err)
{
    struct comparison_grid *grid = NULL;
    enum weir_status status = orchestrator_grid_parse(files, &grid, err);
    if (status != WEIR_OK)
        return status;
    const struct comparison *known = by_name(comparisons, grid->name);
    AUTO_COMPARISON *comparison = new_comparison(files, owner, grid);
    if (known != NULL && strcmp(known->owner, owner) != 0)
        return weir_fail(err, WEIR_EXISTS, "comparison %s is somebody else's: give it another name",
                         grid->name);
    status = check_cells(comparisons, comparison, known, err);
    if (status != WEIR_OK)
        return status;
    const struct submission submitted = {comparisons, comparison, files};
    status = orchestrator_commit(comparisons->context, effect_taken, comparison, &submitted, err);
    if (status != WEIR_OK)
        return status;
    *ret_comparison = WEIR_TAKE(comparison);
    keep(comparisons, *ret_comparison);
    watch(comparisons);
    return resume_cells(comparisons, *ret_comparison, err);
}

enum weir_status orchestrator_comparison_remove(struct comparisons *comparisons,
                                                struct comparison *comparison, size_t *ret_removed,
                                                struct weir_error *err)
{
    enum weir_status status =
        DB_RUN(comparisons->context->db, Q_comparison_close, NULL, err, DB_I64(comparison->number));
    if (status != WEIR_OK)
        return status;
    comparison->is_open = false;
    *ret_removed = 0;
    for (size_t i = 0; status == WEIR_OK && i < orchestrator_grid_cell_count(comparison->grid);
         i++) {
        struct pipeline *pipeline =
            orchestrator_pipeline_by_id(comparisons->pipelines, comparison->cells[i].pipeline);
        if (pipeline == NULL || orchestrator_pipeline_state(pipeline) == PIPELINE_REMOVED)
            continue;
        status = orchestrator_pipeline_remove(pipeline, false, err);
        ++*ret_removed;
    }
    return status;
}
