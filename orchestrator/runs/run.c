/* A run step by step: the dataset's labels, the job at the dispatcher, the trainer, the audit. Every step may be taken
 * again; whatever goes wrong and may pass starts the run from its front. */
#include "orchestrator/runs/run.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/path.h"
#include "core/service/service.h"
#include "orchestrator/models/content.h"
#include "orchestrator/processes/spawn.h"
#include "orchestrator/runs/run_state.h"
#include "orchestrator/runs/run_watch.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

struct run *orchestrator_run_find(const struct runs *runs, int64_t number)
{
    struct run *run;

    LIST_FOREACH (run, &runs->all, link)
        if (run->number == number)
            return run;
    return NULL;
}

void orchestrator_run_schedule(struct run *run, int64_t delay_ms, weir_loop_timer_fn *step)
{
    weir_loop_cancel(run->context->loop, run->timer);
    run->timer = weir_loop_timer(run->context->loop, delay_ms, 0, step, run);
}

static void forget_calls(struct run *run)
{
    weir_rpc_forget(run->context->storage, run);
    weir_rpc_forget(run->context->dispatcher, run);
    weir_loop_cancel(run->context->loop, run->timer);
    run->timer = 0;
}

static void free_run(struct run *run)
{
    orchestrator_run_drop_rows(run);
    weir_buf_fini(&run->fitted);
    weir_buf_fini(&run->tables);
    weir_arena_free(run->arena);
    free(run->directory);
    free(run->start_from);
    free(run->options);
    free(run->metrics);
    orchestrator_run_outcome_clear(&run->outcome);
    orchestrator_run_part(run);
    free(run);
}

void orchestrator_run_worked(struct runs *runs, int64_t number, const struct run_work *work)
{
    struct run *run = orchestrator_run_find(runs, number);
    if (run != NULL)
        orchestrator_tally_work(orchestrator_tally_of(&runs->tallies, run->outline.id),
                                &run->counted, work);
}

void orchestrator_run_end(struct run *run, const struct weir_error *err)
{
    forget_calls(run);
    LIST_REMOVE(run, link);
    if (err != NULL && run->launched && !run->trained)
        run->runs->trainers.end(run->runs->trainers.owner, run->number);
    orchestrator_run_release_slot(run->runs, run->number);
    struct run_result result;
    if (err == NULL)
        orchestrator_run_result_of(run, &result);
    if (run->done != NULL)
        run->done(run->owner, err == NULL ? &result : NULL, err);
    free_run(run);
}

void orchestrator_run_trouble(struct run *run, enum weir_status status,
                              const struct weir_error *err)
{
    if (orchestrator_may_pass(status)) {
        weir_log(WEIR_LOG_WARN, "run tried again", "run=%" PRId64 " because=\"%s\"", run->number,
                 err->text);
        forget_calls(run);
        run->is_under_way = run->launched || run->trained;
        orchestrator_run_release_slot(run->runs, run->number);
        orchestrator_run_schedule(run, ORCHESTRATOR_AGAIN_MS, orchestrator_run_begin);
        return;
    }
    struct weir_error inner;
    orchestrator_tally_of(&run->runs->tallies, run->outline.id)->failed++;
    if (DB_RUN(run->context->db, Q_run_failed, NULL, &inner, DB_I64(run->number),
               DB_TEXT(err->text)) != WEIR_OK) {
        weir_log(WEIR_LOG_WARN, "failure not recorded", "run=%" PRId64 " because=\"%s\"",
                 run->number, inner.text);
    }
    orchestrator_run_end(run, err);
}

void orchestrator_run_forget(struct runs *runs, const void *owner)
{
    for (struct run *run = LIST_FIRST(&runs->all), *next; run != NULL; run = next) {
        next = LIST_NEXT(run, link);
        if (run->owner != owner)
            continue;
        LIST_REMOVE(run, link);
        forget_calls(run);
        if (run->launched && !run->trained)
            runs->trainers.end(runs->trainers.owner, run->number);
        orchestrator_run_release_slot(runs, run->number);
        free_run(run);
    }
}

int64_t orchestrator_run_pipeline(const struct runs *runs, int64_t number)
{
    const struct run *run = orchestrator_run_find(runs, number);
    return run != NULL ? run->outline.id : 0;
}

size_t orchestrator_runs_in_flight(const struct runs *runs, int64_t pipeline)
{
    size_t count = 0;
    const struct run *run;

    LIST_FOREACH (run, &runs->all, link)
        count += run->outline.id == pipeline;
    return count;
}

bool orchestrator_runs_under_way(const struct runs *runs)
{
    const struct run *run;

    LIST_FOREACH (run, &runs->all, link)
        if (run->is_under_way)
            return true;
    return false;
}

size_t orchestrator_runs_waiting(const struct runs *runs, int64_t **ret_numbers)
{
    size_t count = 0, capacity = 0;
    int64_t *numbers = NULL;
    const struct run *run;

    LIST_FOREACH (run, &runs->all, link) {
        if (run->is_under_way)
            continue;
        numbers = weir_grow(numbers, count, &capacity, sizeof(*numbers));
        numbers[count++] = run->number;
    }
    *ret_numbers = numbers;
    return count;
}

void orchestrator_runs_free(struct runs *runs)
{
    while (!LIST_EMPTY(&runs->all)) {
        struct run *run = LIST_FIRST(&runs->all);
        LIST_REMOVE(run, link);
        forget_calls(run);
        free_run(run);
    }
    orchestrator_tallies_free(&runs->tallies);
}

/* ---- the trainer ---- */

bool orchestrator_run_is_export(const struct run *run)
{
    return strcmp(run->mode, "export") == 0;
}

uint64_t orchestrator_run_gpus(const struct run *run)
{
    return orchestrator_run_is_export(run) ? 0 : run->outline.config->gpus;
}

/* Nobody's program is needed to see what the operators made of samples. */
const char *orchestrator_run_program(const struct run *run)
{
    const char *program = run->outline.config->program;

    return program[0] == '\0' || strcmp(run->mode, "features") == 0 ||
                   orchestrator_run_is_export(run)
               ? NULL
               : program;
}

struct orchestrator_trainer orchestrator_run_trainer(const struct run *run)
{
    return (struct orchestrator_trainer){
        .run = run->number,
        .ranks = orchestrator_run_ranks(run),
        .gpus = orchestrator_arbiter_gpus(run->runs->arbiter, run->number),
        .base = run->start_from,
        .program = orchestrator_run_program(run),
        .mode = run->mode,
        .token = run->token,
    };
}

static void start_trainer(struct run *run);

static void start_again(void *owner)
{
    struct run *run = owner;
    run->timer = 0;
    start_trainer(run);
}

static void start_trainer(struct run *run)
{
    enum { LOOK_MS = 2 };
    struct weir_error err;
    if (run->launched)
        return;
    if (orchestrator_warm_is_coming(run->runs->warm, run)) {
        orchestrator_run_schedule(run, LOOK_MS, start_again);
        return;
    }
    if (orchestrator_warm_must_end(run->runs->warm, run)) {
        orchestrator_run_schedule(run, ORCHESTRATOR_POLL_MS, orchestrator_run_begin);
        return;
    }
    enum weir_status status = WEIR_OK;
    /* An idle trainer may write only to what was allowed it when it was started. */
    if (orchestrator_run_is_export(run) || !orchestrator_warm_give(run->runs->warm, run))
        status = orchestrator_run_launch(run, &err);
    if (status == WEIR_EXISTS) { /* one is just ending */
        orchestrator_run_schedule(run, ORCHESTRATOR_AGAIN_MS, orchestrator_run_begin);
        return;
    }
    if (status != WEIR_OK) {
        orchestrator_run_trouble(run, status, &err);
        return;
    }
    run->launched = true;
}

/* After each failure twice as long; one that was not its own says nothing against the next process. */
static int64_t backoff_ms(unsigned exits)
{
    enum { DOUBLINGS_MAX = 7 };
    unsigned doublings = exits == 0 ? 0 : exits - 1;
    return (int64_t)ORCHESTRATOR_AGAIN_MS
           << (doublings < DOUBLINGS_MAX ? doublings : DOUBLINGS_MAX);
}

/* Its end was not its own doing: it was killed, or a platform that is busy has not answered it in time. */
static bool is_blameless(const struct run_exit *ended)
{
    return ended->by_signal || ended->code == WEIR_EXIT_UNANSWERED;
}

/* Says why its trainer has ended. */
static void explain_end(const struct run *run, struct weir_error *ret_why)
{
    int64_t silent_ms = run->group.cause.silent_ms;
    if (silent_ms > 0)
        weir_ignore(weir_fail(ret_why, WEIR_TIMEOUT,
                              "it said nothing for %" PRId64 " s (training.patience)",
                              silent_ms / 1000));
    else
        orchestrator_group_explain(&run->group.cause.ended, run->outline.config->program[0] != '\0',
                                   ret_why);
    if (run->group.ranks > 1)
        weir_ignore(weir_error_wrap(ret_why, ret_why->status, "rank %u of %u",
                                    run->group.cause.rank, run->group.ranks));
}

/* Counts the end of its trainer, and returns true when there were too many. One that was ended because it hung has
 * failed by itself. */
static bool count_end(struct run *run)
{
    bool is_own = run->group.cause.silent_ms > 0 || !is_blameless(&run->group.cause.ended);
    run->exits += is_own;
    run->deaths += !is_own;
    return run->exits > run->outline.config->retries || run->deaths > RUN_DEATHS_MAX;
}

static void try_again(struct run *run)
{
    run->is_under_way = false;
    orchestrator_tally_of(&run->runs->tallies, run->outline.id)->retries++;
    weir_log(WEIR_LOG_WARN, "trainer started again", "run=%" PRId64 " because=\"%s\"", run->number,
             run->failure.text);
    orchestrator_run_schedule(run, backoff_ms(run->exits), orchestrator_run_begin);
}

/* Samples that no operator could read say more than a trainer that got none. */
static void give_up(struct run *run, const struct msg_job_is *job)
{
    struct weir_bytes complaint = orchestrator_log_complaint(run->failure.text);
    struct weir_error failure;
    bool has_reason = job != NULL && job->failed_reasons.count > 0;
    weir_ignore(weir_fail(
        &failure, WEIR_INTERNAL, "trainer failed %u times, the last time: %.*s%s%s",
        run->exits + run->deaths, (int)complaint.size, (const char *)complaint.at,
        has_reason ? "; of one sample: " : "", has_reason ? job->failed_reasons.at[0] : ""));
    orchestrator_run_trouble(run, WEIR_INTERNAL, &failure);
}

/* A job that nothing will ever be delivered of is the trainer's fault no more, nor any help to the next one. */
static void on_failed_job(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct run *run = owner;
    if (err != NULL && err->status == WEIR_INVALID)
        orchestrator_run_trouble(run, WEIR_INVALID, err);
    else if (run->is_over)
        give_up(run, reply != NULL ? reply->message : NULL);
    else
        try_again(run);
}

/* All of its processes are gone, and it is not done. */
static void judge(struct run *run)
{
    const struct run_exit *ended = &run->group.cause.ended;
    struct weir_error err;

    run->launched = false;
    if (run->is_unheard) { /* it was leaving when it was given the run, or had not noticed yet */
        run->is_under_way = false;
        orchestrator_run_schedule(run, 0, orchestrator_run_begin);
        return;
    }
    explain_end(run, &run->failure);
    run->is_over = count_end(run);
    if (ended->code == 2 && !ended->by_signal) {
        orchestrator_run_trouble(
            run, weir_fail(&err, WEIR_INVALID, "trainer: %s", run->failure.text), &err);
    } else if (is_blameless(ended) && !run->is_over) {
        try_again(run);
    } else {
        weir_rpc_call(run->context->dispatcher, MSG_job_request,
                      &(struct msg_job_request){.job = (uint64_t)run->number},
                      ORCHESTRATOR_REQUEST_MS, on_failed_job, run);
    }
}

void orchestrator_run_exited(struct runs *runs, int64_t number, uint32_t rank,
                             const struct run_exit *ended)
{
    struct run *run = orchestrator_run_find(runs, number);
    int64_t silent_ms = orchestrator_run_watch_end(runs->watch, number, rank);

    orchestrator_warm_exited(runs->warm, number);
    runs->trainers_alive--;
    orchestrator_run_release_slot(runs, number);
    if (run == NULL || run->trained || !run->launched)
        return;
    bool was_ending = run->group.is_ending;
    orchestrator_group_exited(&run->group, rank, silent_ms, ended, weir_now_ms());
    orchestrator_run_settle(run);
    if (run->trained)
        return;
    if (orchestrator_group_is_gone(&run->group))
        judge(run);
    else if (run->group.is_ending && !was_ending)
        runs->trainers.end(runs->trainers.owner, number);
}

/* ---- the job ---- */

static void on_job_opened(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct run *run = owner;
    if (reply == NULL) {
        orchestrator_run_trouble(run, err->status, err);
        return;
    }
    const struct msg_job_opened *job = reply->message;
    run->batches = job->batches;
    orchestrator_pool_stir(run->runs->pool);
    start_trainer(run);
}

/* Its trainer is as good as started; the dispatcher opens the job meanwhile. */
static void note_start(struct run *run)
{
    struct weir_error err;
    enum weir_status status =
        DB_RUN(run->context->db, Q_run_started, NULL, &err, DB_I64(run->number),
               DB_I64(weir_now_wall_us()), DB_I64(orchestrator_run_gpus(run)));
    if (status != WEIR_OK)
        orchestrator_run_trouble(run, status, &err);
}

static void open_job(struct run *run)
{
    const struct orchestrator_quota quota =
        orchestrator_quota_of(&run->context->sharing, run->outline.config->name);
    const struct run_foresight foresight = orchestrator_run_foresee(run);
    WEIR_AUTO_FREE char *set_path = weir_path_in(run->context->data_dir, run->set_path);
    struct msg_job_open message = {
        .job = (uint64_t)run->number,
        .file = run->outline.file,
        .config = run->outline.text,
        .set_path = set_path,
        .set_digest = run->set_digest,
        .epochs = (uint32_t)run->epochs,
        .seed = run->seed,
        .mode = run->mode,
        .fitted = weir_buf_view(&run->fitted),
        .pipeline = (uint64_t)run->pipeline,
        .share = quota.share,
        .workers = (uint32_t)quota.workers,
        .ranks = orchestrator_run_ranks(run),
        .token = run->token,
        .tables = weir_buf_view(&run->tables),
        .later = foresight.later,
        .seen = foresight.seen,
        .tenant = run->outline.tenant,
    };
    weir_rpc_call(run->context->dispatcher, MSG_job_open, &message, ORCHESTRATOR_REQUEST_MS,
                  on_job_opened, run);
    note_start(run);
}

/* ---- what it starts from ---- */

/* A model that is only used keeps the fitted state it was made with; one that learns on is fitted on its own set,
 * but its vocabularies go on from those it had (C16). */
static enum weir_status load_base(struct run *run, struct weir_error *err)
{
    weir_buf_clear(&run->fitted);
    if (run->base_model == NULL)
        return WEIR_OK;
    struct stored_model model;
    char *path = NULL;
    if (orchestrator_model_is_path(run->base_model)) {
        enum weir_status given = orchestrator_model_given_file(run->base_model, run->directory,
                                                               &path, &run->fitted, err);
        free(run->start_from);
        run->start_from = given == WEIR_OK ? path : weir_strdup("");
        return given;
    }
    if (weir_rows_count(run->base) == 0)
        return orchestrator_model_is_missing(run->base_model, err);
    orchestrator_model_row(run->base, 0, &model);
    enum weir_status status =
        orchestrator_model_file(run->context, &model, run->directory, &path, err);
    if (status == WEIR_OK) {
        free(run->start_from);
        run->start_from = path;
        status = orchestrator_model_fitted(run->context, &model, &run->fitted, err);
    }
    return status;
}

/* Names that came with samples may be people's: storage alone knows them, and replaces them when it has to. Trainers
 * learn the numbers. */
static const char *const *copy_classes(const struct run *run, const struct msg_dataset_is *dataset)
{
    const char **classes =
        weir_arena_alloc(run->arena, (dataset->classes.count + 1) * sizeof(*classes));
    for (size_t i = 0; i < dataset->classes.count; i++)
        classes[i] = dataset->classes_grow
                         ? weir_arena_format(run->arena, "%zu", i)
                         : weir_arena_format(run->arena, "%s", dataset->classes.at[i]);
    return classes;
}

/* Keeps the labels of the first dataset: those of the others are the same. */
static void take_labels(struct run *run, const struct msg_dataset_is *dataset)
{
    weir_arena_clear(run->arena);
    run->classes = copy_classes(run, dataset);
    run->class_count = dataset->classes.count;
    run->label_kind = dataset->label_kind;
    run->label_width = dataset->label_width;
}

static void take_columns(struct run *run, const struct msg_dataset_is *dataset)
{
    if (dataset->columns[0] == '\0')
        return;
    weir_buf_printf(&run->tables, "%s\n%s", dataset->name, dataset->columns);
    weir_buf_append(&run->tables, "", 1);
}

static void request_dataset(struct run *run);

static void on_dataset(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct run *run = owner;
    struct weir_error problem;
    if (reply == NULL) {
        orchestrator_run_trouble(run, err->status, err);
        return;
    }
    const struct msg_dataset_is *dataset = reply->message;
    if (dataset->dataset == 0) {
        orchestrator_run_trouble(
            run,
            weir_fail(&problem, WEIR_NOT_FOUND, "storage does not know the pipeline's dataset"),
            &problem);
        return;
    }
    if (run->described == 0)
        take_labels(run, dataset);
    take_columns(run, dataset);
    if (++run->described < run->outline.config->dataset_count)
        request_dataset(run);
    else
        open_job(run);
}

static void request_dataset(struct run *run)
{
    const struct msg_dataset_request request = {.name =
                                                    run->outline.config->datasets[run->described]};
    weir_rpc_call(run->context->storage, MSG_dataset_request, &request, ORCHESTRATOR_REQUEST_MS,
                  on_dataset, run);
}

/* A trainer that an earlier process has started is counted from now on. */
static void begin_counting(struct run *run)
{
    bool was_begun = weir_rows_i64(run->row, 0, "starts") > 0;
    if (run->is_counted)
        return;
    run->is_counted = true;
    run->counted.skips_samples = run->counted.skips_work = was_begun;
}

void orchestrator_run_begin(void *owner)
{
    struct run *run = owner;
    struct weir_error err;
    run->timer = 0;
    run->is_under_way = run->launched || run->trained;
    if (run->runs->are_held && !run->is_under_way) {
        orchestrator_run_schedule(run, ORCHESTRATOR_POLL_MS, orchestrator_run_begin);
        return;
    }
    enum weir_status status = orchestrator_run_load(run, &err);
    if (status == WEIR_NOT_FOUND) { /* an erasure has purged it: whoever wants it starts another */
        err.status = WEIR_UNAVAILABLE;
        orchestrator_run_end(run, &err);
        return;
    }
    if (status == WEIR_OK && strcmp(orchestrator_run_row_state(run), "done") == 0) {
        orchestrator_run_end(run, NULL);
        return;
    }
    if (status == WEIR_OK && strcmp(orchestrator_run_row_state(run), "trained") == 0) {
        begin_counting(run);
        run->is_under_way = true;
        run->trained = true;
        orchestrator_run_audit(run);
        return;
    }
    if (status == WEIR_OK)
        begin_counting(run);
    bool has_slot = true;
    if (status == WEIR_OK)
        status = orchestrator_run_request_slot(run, &has_slot, &err);
    if (!has_slot)
        return;
    run->is_under_way = true;
    if (status == WEIR_OK)
        status = load_base(run, &err);
    if (status != WEIR_OK) {
        orchestrator_run_trouble(run, status, &err);
        return;
    }
    weir_buf_clear(&run->tables);
    run->described = 0;
    request_dataset(run);
}
