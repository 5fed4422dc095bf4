/* Messages of trainers: run_request, run_beat, run_done. Each may come twice, and from a trainer
 * whose run is over. */
#include "orchestrator/runs/run_state.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/number.h"
#include "core/base/utf8.h"
#include "core/wire/fitted.h"
#include "core/wire/outputs.h"
#include "orchestrator/runs/run_watch.h"

#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { METRICS_MAX = 64, METRIC_NAME_MAX = 63, METRICS_BYTES_MAX = 64 << 10 };

static void refuse(struct weir_request *request, enum weir_status status, struct weir_error *err)
{
    err->status = status;
    weir_rpc_refuse(request->server, &request->route, err);
}

/* Names of the tensors that only tell samples apart; a trainer reads no more than it knows. */
static struct weir_strs slices_of(const struct run *run, const char *names[WEIR_OUTPUTS_SLICES_MAX])
{
    const struct cfg_texts *slices = &run->outline.config->slices;
    size_t count =
        slices->count < WEIR_OUTPUTS_SLICES_MAX ? slices->count : WEIR_OUTPUTS_SLICES_MAX;

    for (size_t i = 0; i < count; i++)
        names[i] = weir_yaml_text(weir_yaml_at(slices->node, i));
    return (struct weir_strs){.at = names, .count = count};
}

void orchestrator_run_tell(const struct run *run, struct weir_rpc_server *server,
                           const struct weir_route *route)
{
    const char *slices[WEIR_OUTPUTS_SLICES_MAX];
    WEIR_AUTO_BUF options = {0};
    WEIR_AUTO_BUF in_batch = {0};
    bool is_export = orchestrator_run_is_export(run);
    weir_yaml_print_json(run->outline.config->program_options, &options);
    cfg_batch_then_sample_print_json(&run->outline.config->in_batch, &in_batch);
    struct msg_run_is answer = {
        .mode = run->mode,
        .pipeline = run->outline.config->name,
        .file = run->outline.file,
        .config = run->outline.text,
        .job = (uint64_t)run->number,
        .seed = run->seed,
        .start_from = run->start_from,
        .directory = run->directory,
        .classes = {.at = run->classes, .count = run->class_count},
        .label_kind = run->label_kind,
        .outputs = orchestrator_run_outputs(run),
        .group = is_export ? "" : run->outline.config->group, /* an export has all tensors */
        .slices = is_export ? (struct weir_strs){.count = 0} : slices_of(run, slices),
        .reports = run->outline.config->reports,
        .digests = run->outline.config->digests || run->runs->keep_digests,
        .options = run->options != NULL ? run->options : weir_buf_text(&options),
        .token = run->token,
        .batch_then_sample = weir_buf_text(&in_batch),
        .epochs_before = run->epochs_before,
        .epochs_in_all = run->epochs_in_all > 0 ? run->epochs_in_all : run->epochs,
    };
    weir_rpc_reply(server, route, MSG_run_is, &answer, NULL);
}

/* Refuses a key of a tenant in the same words whatever has become of a run that is not its tenant's. */
static enum weir_status check_tenant(struct runs *runs, const struct run *run, uint64_t number,
                                     const struct weir_request *request, struct weir_error *err)
{
    const char *tenant = weir_rpc_sender(request)->tenant;
    const char *owner = run != NULL ? run->outline.tenant : NULL;
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = WEIR_OK;
    if (tenant[0] == '\0')
        return WEIR_OK;
    if (run == NULL)
        status = DB_RUN(runs->context->db, Q_run_owner, &rows, err, DB_I64((int64_t)number));
    if (status != WEIR_OK)
        return status;
    if (run == NULL && weir_rows_count(rows) > 0)
        owner = weir_rows_text(rows, 0, "owner");
    return owner != NULL && strcmp(tenant, owner) == 0
               ? WEIR_OK
               : weir_fail(err, WEIR_DENIED,
                           "run %" PRIu64 " is of another tenant, or there is none", number);
}

/* The run that a trainer may do, with its token and of its tenant. */
static enum weir_status check_request(struct runs *runs, const struct run *run,
                                      const struct weir_request *request, struct weir_error *err)
{
    const struct msg_run_request *message = request->message;
    enum weir_status status = check_tenant(runs, run, message->run, request, err);
    if (status != WEIR_OK)
        return status;
    if (run == NULL || run->trained || run->row == NULL)
        return weir_fail(err, WEIR_NOT_FOUND, "run %" PRIu64 " is not to be done", message->run);
    if (message->rank >= run->group.ranks)
        return weir_fail(err, WEIR_INVALID, "run %" PRIu64 " has %u ranks, from 0: found rank %u",
                         message->run, run->group.ranks, message->rank);
    if (!weir_str_equal_secretly(run->token, message->token))
        return weir_fail(err, WEIR_DENIED,
                         "run %" PRIu64 ": the trainer does not have its token (WEIR_TOKEN)",
                         message->run);
    return WEIR_OK;
}

void orchestrator_run_assign(struct runs *runs, struct weir_request *request)
{
    const struct msg_run_request *message = request->message;
    struct run *run = orchestrator_run_find(runs, (int64_t)message->run);
    struct weir_error err;
    if (check_request(runs, run, request, &err) != WEIR_OK) {
        weir_rpc_refuse(request->server, &request->route, &err);
        return;
    }
    run->group.members[message->rank].session = message->session;
    run->group.members[message->rank].key = weir_rpc_quota_key(request);
    orchestrator_warm_hear(runs->warm, run);
    orchestrator_run_watch_hear(runs->watch, run->number, message->rank);
    orchestrator_run_tell(run, request->server, &request->route);
}

/* A trainer may be anybody's program: what is kept of it is an object of a few numbers. */
static enum weir_status check_metrics(const char *text, struct weir_error *err)
{
    bool is_short = strlen(text) <= METRICS_BYTES_MAX;
    json_t *metrics = is_short ? json_loads(text[0] != '\0' ? text : "{}", 0, NULL) : NULL, *value;
    bool is_good = json_is_object(metrics) && json_object_size(metrics) <= METRICS_MAX;
    const char *name;

    json_object_foreach(metrics, name, value) is_good =
        is_good && json_is_number(value) && strlen(name) <= METRIC_NAME_MAX;
    json_decref(metrics);
    return is_good ? WEIR_OK
                   : weir_fail(err, WEIR_INVALID,
                               "run_done: metrics: expected a JSON object of at most %d numbers",
                               METRICS_MAX);
}

/* Those that make no sense are not shown. */
static void keep_metrics(struct run *run, const char *metrics)
{
    struct weir_error err;

    free(run->metrics);
    run->metrics = check_metrics(metrics, &err) == WEIR_OK ? weir_strdup(metrics) : NULL;
}

/* Takes in what a trainer says it has done so far. */
static void take_figures(struct run *run, struct group_member *member, uint64_t samples,
                         const struct run_times *times)
{
    struct run_tally *tally = orchestrator_tally_of(&run->runs->tallies, run->outline.id);
    const struct run_times before = {member->busy_ns, member->wait_ns};
    orchestrator_tally_times(tally, before, *times, orchestrator_run_stage_of(run->progress.stage));
    member->samples = samples;
    member->busy_ns = times->busy_ns;
    member->wait_ns = times->wait_ns;
    orchestrator_tally_samples(tally, &run->counted, orchestrator_group_sum(&run->group).samples);
}

/* Samples are those of all ranks; what else is shown is rank 0's. */
static void note_progress(struct run *run, const struct msg_run_beat *beat)
{
    const struct group_member sum = orchestrator_group_sum(&run->group);

    run->progress.number = run->number;
    run->progress.pipeline = run->pipeline;
    run->progress.trigger = run->trigger;
    run->progress.samples = sum.samples;
    run->progress.samples_total = beat->samples_total;
    run->progress.busy_ns = sum.busy_ns;
    run->progress.wait_ns = sum.wait_ns;
    if (beat->rank > 0)
        return;
    run->progress.loss = beat->loss;
    keep_metrics(run, beat->metrics);
}

static void note_stage(struct run *run, const struct msg_run_beat *beat)
{
    if (beat->rank == 0)
        weir_utf8_print(run->progress.stage, sizeof(run->progress.stage), "%s", beat->stage);
}

static void take_beat(struct run *run, struct group_member *member, const struct msg_run_beat *beat)
{
    const struct runs *runs = run->runs;
    run->is_unheard = false;
    orchestrator_run_watch_hear(runs->watch, run->number, beat->rank);
    note_stage(run, beat);
    take_figures(run, member, beat->samples, &(struct run_times){beat->busy_ns, beat->wait_ns});
    note_progress(run, beat);
    if (runs->context->listener.progress != NULL)
        runs->context->listener.progress(runs->context->listener.owner);
}

void orchestrator_run_beats(struct runs *runs, struct weir_request *request)
{
    const struct msg_run_beat *beat = request->message;
    struct run *run = orchestrator_run_find(runs, (int64_t)beat->run);
    struct group_member *member =
        run == NULL ? NULL
                    : orchestrator_group_member(&run->group, beat->rank, beat->session,
                                                weir_rpc_quota_key(request));
    struct weir_error err;
    if (!weir_can_be_spent(beat->busy_ns) || !weir_can_be_spent(beat->wait_ns)) {
        refuse(request,
               weir_fail(&err, WEIR_INVALID, "run_beat: expected times that can have been spent"),
               &err);
        return;
    }
    if (member != NULL)
        take_beat(run, member, beat);
    struct msg_run_orders orders = {.stop = member == NULL};
    weir_rpc_reply(request->server, &request->route, MSG_run_orders, &orders, NULL);
}

/* OK: reported before, by a trainer that missed the answer. */
static enum weir_status check_over(struct runs *runs, const struct run *run, uint64_t number,
                                   struct weir_error *err)
{
    WEIR_AUTO(weir_rows) rows = NULL;
    enum weir_status status = WEIR_OK;
    const char *state = "";
    if (run != NULL)
        return WEIR_OK;
    status = DB_RUN(runs->context->db, Q_run_get, &rows, err, DB_I64((int64_t)number));
    if (status != WEIR_OK)
        return status;
    if (weir_rows_count(rows) > 0)
        state = weir_rows_text(rows, 0, "state");
    return strcmp(state, "trained") == 0 || strcmp(state, "done") == 0
               ? WEIR_OK
               : weir_fail(err, WEIR_NOT_FOUND, "run %" PRIu64 " is not to be done", number);
}

/* A trainer that returned with nothing left to do has said nothing: then what the one before it said. */
static const char *last_metrics(const struct run *run, const struct msg_run_done *done)
{
    bool has_said = done->metrics[0] != '\0' && strcmp(done->metrics, "{}") != 0;

    if (has_said || run->metrics == NULL)
        return has_said ? done->metrics : "{}";
    return run->metrics;
}

/* A trainer hands over files of its own, in the run's directory: no name leads elsewhere. */
static enum weir_status check_file(const struct run *run, const char *name, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", run->directory, name);
    struct stat about;
    bool is_plain = strchr(name, '/') == NULL && strcmp(name, ".") != 0 && strcmp(name, "..") != 0;
    if (*name == '\0' ||
        (is_plain && lstat(path, &about) != 0)) /* what is missing is missed later */
        return WEIR_OK;
    if (is_plain && S_ISREG(about.st_mode) && about.st_nlink == 1)
        return WEIR_OK;
    return weir_fail(
        err, WEIR_INVALID,
        "run_done: found '%.200s', expected a regular file in %s, without another name or a "
        "link on the way",
        name, run->directory);
}

/* All of it is kept, or summed up. */
static enum weir_status check_bounds(const struct msg_run_done *done, struct weir_error *err)
{
    bool can_be = weir_can_be_spent(done->busy_ns) && weir_can_be_spent(done->wait_ns) &&
                  weir_can_be_spent(done->cpu_ns) && weir_can_be_spent(done->since_first_ns);
    if (can_be && strlen(done->model) <= NAME_MAX && strlen(done->outputs) <= NAME_MAX &&
        done->fitted.size <= WEIR_FITTED_MAX)
        return WEIR_OK;
    return weir_fail(err, WEIR_INVALID,
                     "run_done: expected times that can have been spent, names of files of at most "
                     "%d bytes, and fitted state of at most %d",
                     NAME_MAX, WEIR_FITTED_MAX);
}

static enum weir_status check_done(const struct run *run, const struct msg_run_done *done,
                                   struct weir_error *err)
{
    enum weir_status status = check_bounds(done, err);
    if (status == WEIR_OK)
        status = check_metrics(done->metrics, err);
    if (status == WEIR_OK)
        status = check_file(run, done->model, err);
    return status == WEIR_OK ? check_file(run, done->outputs, err) : status;
}

static void keep_outcome(struct run *run, const struct msg_run_done *done)
{
    orchestrator_run_outcome_clear(&run->outcome);
    run->outcome.loss = done->loss;
    run->outcome.model = weir_strdup(done->model);
    run->outcome.outputs = weir_strdup(done->outputs);
    run->outcome.metrics = weir_strdup(last_metrics(run, done));
    weir_buf_append(&run->outcome.fitted, done->fitted.at, done->fitted.size);
    if (done->since_first_ns > 0)
        run->outcome.first_us = weir_now_wall_us() - done->since_first_ns / 1000;
}

static void note_done(struct run *run, struct group_member *member, const struct msg_run_done *done,
                      const struct weir_request *request)
{
    if (done->rank == 0)
        keep_outcome(run, done);
    run->outcome.server = request->server;
    member->is_done = true;
    member->route = request->route;
    take_figures(run, member, done->samples, &(struct run_times){done->busy_ns, done->wait_ns});
    member->cpu_ns = done->cpu_ns;
}

void orchestrator_run_finished(struct runs *runs, struct weir_request *request)
{
    const struct msg_run_done *done = request->message;
    struct run *run = orchestrator_run_find(runs, (int64_t)done->run);
    struct weir_error err;
    enum weir_status status = check_tenant(runs, run, done->run, request, &err);
    if (status != WEIR_OK) {
        refuse(request, status, &err);
        return;
    }
    if (run == NULL || run->trained) {
        status = check_over(runs, run, done->run, &err);
        weir_rpc_answer(request, status, MSG_run_noted, NULL, NULL, &err);
        return;
    }
    struct group_member *member = orchestrator_group_member(&run->group, done->rank, done->session,
                                                            weir_rpc_quota_key(request));
    if (member == NULL) {
        refuse(request,
               weir_fail(&err, WEIR_STALE, "run %" PRIu64 " is done by a later trainer", done->run),
               &err);
        return;
    }
    status = check_done(run, done, &err);
    if (status != WEIR_OK) {
        refuse(request, status, &err);
        return;
    }
    note_done(run, member, done, request);
    orchestrator_run_settle(run);
}

/* Texts are the run's, as they are now: rows that are read again take the place of those of the newest message. */
static void show(const struct run *run, struct run_progress *ret_progress)
{
    *ret_progress = run->progress;
    ret_progress->mode = run->mode;
    ret_progress->metrics = run->metrics;
}

bool orchestrator_run_progress_of(const struct runs *runs, int64_t number,
                                  struct run_progress *ret_progress)
{
    const struct run *run = orchestrator_run_find(runs, number);

    if (run == NULL || run->progress.number == 0)
        return false;
    show(run, ret_progress);
    return true;
}

bool orchestrator_run_progress(const struct runs *runs, int64_t pipeline,
                               struct run_progress *ret_progress)
{
    const struct run *run;

    LIST_FOREACH (run, &runs->all, link) {
        if (run->progress.number != 0 && (pipeline == 0 || pipeline == run->pipeline)) {
            show(run, ret_progress);
            return true;
        }
    }
    return false;
}
