/* The scripts around the orchestrator. */
#include "tests/component/orchestrator_stage.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample.h"
#include "orchestrator/models/store.h"
#include "orchestrator/runs/run.h"
#include "tests/support/loop.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int64_t DAY_US = INT64_C(86400000000);
static const char *const CLASSES[] = {"no", "yes"};

uint64_t stage_id(size_t row)
{
    return weir_sample_id(1, 0, (uint32_t)row);
}

static int64_t time_of(size_t row)
{
    return (int64_t)row * DAY_US;
}

/* ---- storage ---- */

static void on_declare(void *owner, struct weir_request *request)
{
    (void)owner;
    const uint64_t numbers[] = {1};
    struct msg_dataset_declared answer = {.datasets = {.at = numbers, .count = 1}};
    weir_rpc_reply(request->server, &request->route, MSG_dataset_declared, &answer, NULL);
}

static void on_dataset(void *owner, struct weir_request *request)
{
    (void)owner;
    struct msg_dataset_is answer = {.dataset = 1,
                                    .name = "notes",
                                    .scanned = true,
                                    .sequence = 7,
                                    .live = STAGE_SAMPLES,
                                    .label_kind = WEIR_LABEL_CLASS,
                                    .classes = {.at = CLASSES, .count = 2}};
    weir_rpc_reply(request->server, &request->route, MSG_dataset_is, &answer, NULL);
}

/* All that are lent are anna's. */
static void on_rows_claim(void *owner, struct weir_request *request)
{
    const struct msg_rows_claim *asked = request->message;
    struct weir_error err = {0};
    enum weir_status status = strcmp(asked->key, "anna") == 0
                                  ? WEIR_OK
                                  : weir_fail(&err, WEIR_NOT_FOUND, "these rows are not lent");
    (void)owner;
    weir_rpc_answer(request, status, MSG_rows_claimed, NULL, NULL, &err);
}

/* Pages of seven, so that triggers fall inside and between them. */
static void on_replay(void *owner, struct weir_request *request)
{
    const struct stage *stage = owner;
    const struct msg_replay_read *ask = request->message;
    uint64_t ids[STAGE_SAMPLES];
    int64_t times[STAGE_SAMPLES], labels[STAGE_SAMPLES];
    size_t page = stage->page > 0 ? stage->page : 7;
    size_t row = ask->after_time < 0 ? 0 : (size_t)(ask->after_time / DAY_US) + 1, count = 0;
    for (; row < STAGE_SAMPLES && count < page; row++, count++) {
        ids[count] = stage_id(row);
        times[count] = time_of(row);
        labels[count] = (int64_t)(row % 2);
    }
    struct msg_replay_is answer = {.ids = {ids, count},
                                   .times = {times, count},
                                   .labels = {labels, count},
                                   .end = row == STAGE_SAMPLES};
    weir_rpc_reply(request->server, &request->route, MSG_replay_is, &answer, NULL);
}

/* The first change added the first STAGE_LIVE samples, on 2023-11-14 at 22:13:20; whoever is behind
 * feed_floor has to ask for what is live. */
static void on_feed_read(void *owner, struct weir_request *request)
{
    const struct stage *stage = owner;
    const struct msg_feed_read *ask = request->message;
    const uint64_t one = 1, first = stage_id(0);
    const uint32_t kind = WEIR_CHANGE_ADDED, count = STAGE_LIVE;
    const int64_t visible_us = INT64_C(1700000000000000);
    struct msg_feed_is answer = {.head = 1, .passed = ask->after};
    struct weir_error err;
    if (ask->after == 0) {
        answer = (struct msg_feed_is){.head = 1,
                                      .sequences = {&one, 1},
                                      .kinds = {&kind, 1},
                                      .firsts = {&first, 1},
                                      .counts = {&count, 1},
                                      .passed = 1,
                                      .visible_us = {&visible_us, 1}};
    } else if (ask->after < stage->feed_floor && !ask->snapshot) {
        weir_ignore(weir_fail(&err, WEIR_STALE, "what follows is not kept any more"));
        weir_rpc_refuse(request->server, &request->route, &err);
        return;
    } else if (ask->after < stage->feed_floor) {
        answer = (struct msg_feed_is){
            .head = stage->feed_floor, .passed = stage->feed_floor, .erased = stage->missed};
    }
    weir_rpc_reply(request->server, &request->route, MSG_feed_is, &answer, NULL);
}

static void on_columns_read(void *owner, struct weir_request *request)
{
    (void)owner;
    const struct msg_columns_read *ask = request->message;
    uint64_t ids[STAGE_SAMPLES];
    int64_t times[STAGE_SAMPLES], labels[STAGE_SAMPLES];
    for (size_t i = 0; i < ask->count; i++) {
        ids[i] = ask->first + i;
        times[i] = time_of(weir_sample_row(ids[i]));
        labels[i] = (int64_t)(i % 2);
    }
    struct msg_columns_is answer = {
        .ids = {ids, ask->count}, .times = {times, ask->count}, .labels = {labels, ask->count}};
    weir_rpc_reply(request->server, &request->route, MSG_columns_is, &answer, NULL);
}

static const struct weir_rpc_handler STORAGE[] = {
    WEIR_ON(dataset_declare, on_declare),
    WEIR_ON(dataset_request, on_dataset),
    WEIR_ON(replay_read, on_replay),
    WEIR_ON(rows_claim, on_rows_claim),
    WEIR_ON(erase_progress_request, stage_on_erase_progress_request),
    WEIR_ON(erase_samples_request, stage_on_erase_samples_request),
    WEIR_ON(erase_reports_request, stage_on_erase_reports_request),
    WEIR_ON(feed_read, on_feed_read),
    WEIR_ON(columns_read, on_columns_read),
    {MSG_none, NULL}};

/* ---- selector ---- */

static void on_selection_open(void *owner, struct weir_request *request)
{
    (void)owner;
    weir_rpc_reply(request->server, &request->route, MSG_selection_opened, NULL, NULL);
}

/* The rows from `first` to before `end`, sealed; `digest` is empty where there are none. */
struct sealed {
    const char *path;
    char digest[WEIR_DIGEST_TEXT_MAX];
    size_t samples;
};

static struct sealed seal(struct stage *stage, size_t first, size_t end)
{
    uint64_t ids[STAGE_SAMPLES];
    char name[64];
    struct weir_error err;
    struct weir_digest digest;
    for (size_t row = first; row < end; row++) {
        ids[row - first] = stage_id(row);
    }
    (void)snprintf(name, sizeof(name), "%zu-%zu.set", first, end);
    struct sealed sealed = {.path = temp_path(&stage->dir, name), .samples = end - first};
    if (end > first) {
        weir_require(weir_sample_set_write(sealed.path, ids, NULL, end - first, &digest, &err) ==
                     WEIR_OK);
        weir_digest_text(&digest, sealed.digest);
    }
    return sealed;
}

static void reply_selected(struct weir_request *request, const struct sealed *sealed,
                           uint32_t period)
{
    struct msg_selected answer = {.digest = sealed->digest,
                                  .samples = sealed->samples,
                                  .path = sealed->path,
                                  .policy = "all",
                                  .reason = sealed->samples > 0 ? "" : "nothing there",
                                  .candidates = sealed->samples,
                                  .period = period};
    weir_rpc_reply(request->server, &request->route, MSG_selected, &answer, NULL);
}

/* Asks for the runs that must precede the answer with the set: see stage.chooses. */
static bool ask_for_models(const struct stage *stage, struct weir_request *request,
                           const struct sealed *sealed)
{
    const struct msg_select *select = request->message;
    if (select->model[0] != '\0' && strcmp(stage->scored, sealed->digest) != 0) {
        struct msg_scores_wanted wanted = {.mode = "score",
                                           .model = select->model,
                                           .digest = sealed->digest,
                                           .samples = sealed->samples,
                                           .path = sealed->path,
                                           .candidates = sealed->samples,
                                           .keeps_to = select->model};
        weir_rpc_reply(request->server, &request->route, MSG_scores_wanted, &wanted, NULL);
        return true;
    }
    if (select->holdouts.count == 0) {
        struct msg_holdout_wanted wanted = {
            .digest = sealed->digest, .samples = sealed->samples, .path = sealed->path};
        weir_rpc_reply(request->server, &request->route, MSG_holdout_wanted, &wanted, NULL);
        return true;
    }
    return false;
}

static bool finds_no_room(struct weir_request *request, unsigned *times)
{
    struct weir_error err;
    if (*times == 0)
        return false;
    (*times)--;
    weir_ignore(weir_fail(&err, WEIR_IO, "sets/sealing.set: the disk is full"));
    weir_rpc_refuse(request->server, &request->route, &err);
    return true;
}

static void on_select(void *owner, struct weir_request *request)
{
    struct stage *stage = owner;
    if (finds_no_room(request, &stage->selects_full))
        return;
    const struct msg_select *select = request->message;
    size_t end = select->trigger == stage->skips ? 0 : weir_sample_row(select->until_id) + 1;
    struct sealed sealed = seal(stage, 0, end);
    if (!stage->chooses || !ask_for_models(stage, request, &sealed))
        reply_selected(request, &sealed, stage->chooses ? 1 : 0);
}

static void on_scores_take(void *owner, struct weir_request *request)
{
    struct stage *stage = owner;
    const struct msg_scores_take *take = request->message;
    const struct msg_scores_noted noted = {.samples = 1};
    (void)snprintf(stage->scored, sizeof(stage->scored), "%s", take->digest);
    weir_rpc_reply(request->server, &request->route, MSG_scores_noted, &noted, NULL);
}

static void on_interval(void *owner, struct weir_request *request)
{
    struct stage *stage = owner;
    if (finds_no_room(request, &stage->intervals_full))
        return;
    const struct msg_interval_seal *interval = request->message;
    size_t first = (size_t)(interval->from_time / DAY_US),
           end = (size_t)(interval->to_time / DAY_US);
    end = end < STAGE_SAMPLES ? end : STAGE_SAMPLES;
    struct sealed sealed = seal(owner, first < end ? first : end, end);
    reply_selected(request, &sealed, 0);
}

static void on_window(void *owner, struct weir_request *request)
{
    struct stage *stage = owner;
    const struct msg_window_seal *window = request->message;
    char text[WEIR_DIGEST_TEXT_MAX];
    struct weir_error err;
    struct weir_digest digest;
    WEIR_AUTO_FREE char *path = weir_format("%s/sealing.set", stage->dir.path);
    weir_require(weir_sample_set_write(path, window->ids.at, NULL, window->ids.count, &digest,
                                       &err) == WEIR_OK);
    weir_digest_text(&digest, text);
    WEIR_AUTO_FREE char *kept = weir_format("%s/%s.set", stage->dir.path, text);
    weir_require(rename(path, kept) == 0);
    struct msg_selected answer = {
        .digest = text, .samples = window->ids.count, .path = kept, .policy = "window"};
    weir_rpc_reply(request->server, &request->route, MSG_selected, &answer, NULL);
}

/* There are no scores, so none had to go. */
static void on_scores_purge(void *owner, struct weir_request *request)
{
    (void)owner;
    const struct msg_scores_noted none = {0};
    weir_rpc_reply(request->server, &request->route, MSG_scores_noted, &none, NULL);
}

static void on_selection_forget(void *owner, struct weir_request *request)
{
    struct stage *stage = owner;
    struct msg_selection_forgotten forgotten = {.sets = 1, .bytes = 64};
    struct weir_error err;
    if (stage->forgets_fail > 0) {
        stage->forgets_fail--;
        weir_ignore(weir_fail(&err, WEIR_INTERNAL, "a set cannot be removed"));
        weir_rpc_refuse(request->server, &request->route, &err);
        return;
    }
    stage->forgotten++;
    stage->scored[0] = '\0';
    weir_rpc_reply(request->server, &request->route, MSG_selection_forgotten, &forgotten, NULL);
}

static const struct weir_rpc_handler SELECTOR[] = {WEIR_ON(scores_purge, on_scores_purge),
                                                   WEIR_ON(selection_forget, on_selection_forget),
                                                   WEIR_ON(selection_open, on_selection_open),
                                                   WEIR_ON(select, on_select),
                                                   WEIR_ON(scores_take, on_scores_take),
                                                   WEIR_ON(interval_seal, on_interval),
                                                   WEIR_ON(window_seal, on_window),
                                                   {MSG_none, NULL}};

/* ---- dispatcher ---- */

struct stage_job *stage_find_job(struct stage *stage, uint64_t number)
{
    for (size_t i = 0; i < stage->job_count; i++) {
        if (stage->jobs[i].number == number) {
            return &stage->jobs[i];
        }
    }
    return NULL;
}

static void on_job_open(void *owner, struct weir_request *request)
{
    struct stage *stage = owner;
    const struct msg_job_open *open = request->message;
    if (stage->measures_wait && strcmp(open->mode, "evaluate") == 0) {
        stage->measures_requested++;
        return;
    }
    if (stage_find_job(stage, open->job) == NULL) {
        weir_require(stage->job_count < STAGE_JOBS_MAX);
        struct stage_job *job = &stage->jobs[stage->job_count++];
        *job = (struct stage_job){.number = open->job, .later = open->later, .seen = open->seen};
        (void)snprintf(job->set_path, sizeof(job->set_path), "%s", open->set_path);
        (void)snprintf(job->set_digest, sizeof(job->set_digest), "%s", open->set_digest);
        (void)snprintf(job->mode, sizeof(job->mode), "%s", open->mode);
    }
    struct msg_job_opened answer = {.samples = 1, .batches = 1};
    weir_rpc_reply(request->server, &request->route, MSG_job_opened, &answer, NULL);
}

size_t stage_erased_of(const struct stage *stage, const struct weir_sample_set *set)
{
    size_t erased = 0;
    for (size_t i = 0; i < set->count; i++) {
        erased += weir_bits_get(&stage->erased, weir_sample_row(set->ids[i]));
    }
    return erased;
}

static void on_job_request(void *owner, struct weir_request *request)
{
    struct stage *stage = owner;
    const struct msg_job_request *ask = request->message;
    const struct stage_job *job = stage_find_job(stage, ask->job);
    struct weir_sample_set set = {0};
    struct weir_error err;
    weir_require(weir_sample_set_open(job->set_path, &set, &err) == WEIR_OK);
    size_t erased = stage_erased_of(stage, &set);
    struct msg_job_is answer = {.state = "finished",
                                .set = set.count,
                                .delivered = set.count - erased,
                                .erased = erased,
                                .lost = stage->lost,
                                .delivery = "exactly_once",
                                .kept = stage->lost == 0};
    weir_sample_set_close(&set);
    weir_rpc_reply(request->server, &request->route, MSG_job_is, &answer, NULL);
}

static void on_job_close(void *owner, struct weir_request *request)
{
    (void)owner, (void)request;
}

static void on_jobs_purge(void *owner, struct weir_request *request)
{
    static const struct msg_jobs_purged NONE;
    (void)owner;
    weir_rpc_reply(request->server, &request->route, MSG_jobs_purged, &NONE, NULL);
}

static const struct weir_rpc_handler DISPATCHER[] = {WEIR_ON(job_open, on_job_open),
                                                     WEIR_ON(job_request, on_job_request),
                                                     WEIR_ON(job_close, on_job_close),
                                                     WEIR_ON(jobs_purge, on_jobs_purge),
                                                     {MSG_none, NULL}};

/* ---- the orchestrator ---- */

static void on_event(void *owner, int64_t pipeline, int64_t erasure, const char *json)
{
    struct stage *stage = owner;
    (void)pipeline;
    (void)erasure;
    weir_buf_printf(&stage->events, "%s\n", json);
}

static void on_rest(void *owner)
{
    ((struct stage *)owner)->rests = true;
}

static void serve(struct stage *stage, const char *name, const struct weir_rpc_handler *handlers,
                  struct weir_rpc_server **ret_server)
{
    struct weir_error err;
    WEIR_AUTO_FREE char *endpoint = weir_format("ipc://%s/%s.sock", stage->dir.path, name);
    weir_require(weir_rpc_serve(stage->loop, endpoint, handlers, stage, ret_server, &err) ==
                 WEIR_OK);
}

void stage_found(struct stage *stage)
{
    static const char *const FOLDERS[] = {"runs", "models", "fitted", "receipts"};
    struct weir_error err;
    *stage = (struct stage){.model_name = "model"};
    weir_test_postgres_start(&stage->postgres);
    temp_dir_make(&stage->dir);
    for (size_t i = 0; i < WEIR_COUNT(FOLDERS); i++) {
        weir_require(weir_make_directories(temp_path(&stage->dir, FOLDERS[i]), 0700, &err) ==
                     WEIR_OK);
    }
}

void stage_serve(struct stage *stage)
{
    stage->loop = weir_loop_new();
    serve(stage, "storage", STORAGE, &stage->storage);
    serve(stage, "selector", SELECTOR, &stage->selector);
    serve(stage, "dispatcher", DISPATCHER, &stage->dispatcher);
}

static int64_t read_clock(void *owner)
{
    return ((const struct stage *)owner)->now_us;
}

void stage_begin(struct stage *stage)
{
    struct weir_error err;
    struct orchestrator_options options = {
        .data_dir = stage->dir.path,
        .socket_dir = stage->dir.path,
        .postgres = stage->postgres.conninfo,
        .prices = {.currency = "EUR", .gpu_hour = 3.6e9},
        .sharing = stage->sharing,
        .trainers = {.owner = stage, .start = stage_start_trainer, .end = stage_end_trainer},
        .listener = {.owner = stage, .event = on_event, .rest = on_rest},
        .clock = {.owner = stage, .now_us = read_clock},
    };
    stage->rests = false;
    if (orchestrator_open(stage->loop, &options, &stage->orch, &err) != WEIR_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        weir_require(false);
    }
}

void stage_kill(struct stage *stage)
{
    struct orchestrator *orch = stage->orch;
    stage->orch = NULL; /* trainers that end now tell nobody */
    orchestrator_close(orch);
    weir_loop_step(stage->loop, 0);
    for (size_t i = 0; i < STAGE_TRAINERS_MAX; i++) {
        weir_rpc_peer_close(stage->trainers[i].peer);
        stage->trainers[i].peer = NULL;
    }
}

int stage_setup(void **state)
{
    struct stage *stage = weir_calloc(1, sizeof(*stage));
    stage_found(stage);
    stage_serve(stage);
    stage_begin(stage);
    *state = stage;
    return 0;
}

int stage_teardown(void **state)
{
    struct stage *stage = *state;
    stage_kill(stage);
    weir_rpc_server_close(stage->storage);
    weir_rpc_server_close(stage->selector);
    weir_rpc_server_close(stage->dispatcher);
    weir_loop_free(stage->loop);
    stage_end(stage);
    free(stage);
    return 0;
}

void stage_end(struct stage *stage)
{
    weir_buf_fini(&stage->events);
    weir_bits_fini(&stage->erased);
    weir_test_postgres_stop(&stage->postgres);
    temp_dir_remove(&stage->dir);
}

void stage_begin_again(struct stage *stage)
{
    stage_kill(stage);
    weir_test_postgres_reset(&stage->postgres);
    weir_buf_clear(&stage->events);
    weir_bits_clear(&stage->erased);
    stage->job_count = 0;
    stage->erasures = 0;
    stage->measured = 0;
    stage_begin(stage);
}

struct pipeline *stage_submit(struct stage *stage, const char *yaml)
{
    struct weir_error err;
    struct pipeline *pipeline = NULL;
    enum weir_status status = orchestrator_pipeline_run(
        &stage->orch->pipelines, &(struct pipeline_file){"stage.yaml", weir_bytes_of(yaml), ""},
        &pipeline, &err);
    if (status != WEIR_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        weir_require(false);
    }
    return pipeline;
}

enum pipeline_state stage_run(struct stage *stage, const char *yaml)
{
    struct pipeline *pipeline = stage_submit(stage, yaml);
    stage->rests = false;
    test_loop_until(stage->loop, &stage->rests);
    return orchestrator_pipeline_state(pipeline);
}

void stage_models(struct stage *stage, struct weir_buf *out)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    struct weir_error err;
    weir_require(orchestrator_model_all(&stage->orch->context, 0, &rows, &err) == WEIR_OK);
    for (size_t i = 0; i < weir_rows_count(rows); i++) {
        struct stored_model model;
        orchestrator_model_row(rows, i, &model);
        weir_buf_printf(out, "%s %s %s from %s\n", model.id, model.state, model.checksum,
                        model.parent == NULL ? "nothing" : model.parent);
    }
}

size_t stage_reported(struct stage *stage, const char *text)
{
    size_t count = 0;
    for (const char *at = weir_buf_text(&stage->events); (at = strstr(at, text)) != NULL; at++) {
        count++;
    }
    return count;
}

void stage_until_reported(struct stage *stage, const char *text, size_t count)
{
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;
    while (stage_reported(stage, text) < count) {
        weir_require(weir_now_ms() < limit_ms);
        weir_loop_step(stage->loop, TEST_STEP_MS);
    }
}
