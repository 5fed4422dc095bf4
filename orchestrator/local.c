/* Local mode from start to exit code. */
#include "orchestrator/local.h"

#include "core/base/clock.h"
#include "core/base/fault.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "orchestrator/context/events.h"
#include "orchestrator/erasures/receipt_keys.h"
#include "orchestrator/keys/passes.h"
#include "orchestrator/orchestrator.h"
#include "orchestrator/pipeline/rehearsal.h"
#include "orchestrator/platform/platform.h"
#include "orchestrator/processes/spawn.h"
#include "orchestrator/processes/trainer_name.h"
#include "orchestrator/trainer_logs.h"
#include "orchestrator/trainer_memory.h"
#include "orchestrator/watchers.h"
#include "orchestrator/workers.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    EXIT_DONE = 0,
    EXIT_FAILED = 1,
    EXIT_USAGE = 2,
    TRAINER_GRACE_MS = 2000,
    BEGIN_RETRY_MS = 200,
    FLUSH_MS = 50,
    BEGIN_MS_MAX = 60000, /* of trying to begin without coming further */
};

struct local {
    const struct local_options *options;
    struct weir_loop *loop;
    struct orchestrator_platform *platform;
    struct orchestrator *orch;
    struct pipeline *pipeline; /* NULL: serving */
    struct rehearsal *rehearsal;
    struct trainer_memory *memory;
    struct worker_programs workers;
    struct passes passes; /* of trainers on other machines */
    struct watchers watchers;
    struct receipt_key_order new_receipt_key;
    uint64_t begin_timer;
    uint64_t flush_timer;   /* 0: nothing waits for a reader */
    int64_t begin_until_ms; /* 0: nothing has failed since it came further */
    int signal_fd;
    int exit_code;
    bool stopping;
};

static void stop(struct local *local, int exit_code)
{
    if (local->stopping)
        return;
    local->stopping = true;
    local->exit_code = exit_code;
    weir_loop_cancel(local->loop, local->begin_timer);
    orchestrator_screen_clear(local->options->screen);
    if (local->orch != NULL)
        orchestrator_pool_rest(local->orch->pool);
    orchestrator_watchers_detach(&local->watchers);
    orchestrator_platform_stop(local->platform);
}

static void fail(struct local *local, const struct weir_error *err)
{
    orchestrator_screen_fail(local->options->screen, err->text);
    stop(local, EXIT_FAILED);
}

/* ---- trainers ---- */

static bool has_trainer(const void *owner, const char *run)
{
    const struct local *local = owner;
    return orchestrator_run_watch_has(local->orch->runs.watch, strtoll(run, NULL, 10));
}

static void sweep_passes(struct local *local)
{
    if (local->passes.directory != NULL)
        orchestrator_passes_sweep(&local->passes, has_trainer, local);
}

static void on_trainer_exit(void *owner, const struct orchestrator_child_exit *ended)
{
    struct local *local = owner;
    int64_t run = 0;
    uint32_t rank = 0;
    const char *rest = NULL;
    if (local->stopping || local->orch == NULL ||
        !orchestrator_trainer_name_read(ended->name, &run, &rank, &rest))
        return;
    WEIR_AUTO_FREE char *too_large = orchestrator_trainer_memory_end(local->memory, run, rank);
    bool by_signal =
        too_large == NULL && ended->wait_status >= 0 && WIFSIGNALED(ended->wait_status);
    char status[RUN_STATUS_MAX] = "it could not be started";
    if (ended->wait_status >= 0)
        orchestrator_wait_status_text(ended->wait_status, status, sizeof(status));
    struct run_exit reported = {
        .by_signal = by_signal,
        .is_kill = ended->wait_status >= 0 && WIFSIGNALED(ended->wait_status) &&
                   WTERMSIG(ended->wait_status) == SIGKILL,
        .code = ended->wait_status >= 0 && WIFEXITED(ended->wait_status)
                    ? WEXITSTATUS(ended->wait_status)
                    : 1,
        .status = status,
        .why = too_large != NULL    ? too_large
               : ended->why != NULL ? ended->why
                                    : "",
        .said = ended->last_line,
    };
    orchestrator_run_exited(&local->orch->runs, run, rank, &reported);
    local->passes.are_swept = false;
    sweep_passes(local);
}

/* "0,2" */
static void list_gpus(uint64_t gpus, struct weir_buf *out)
{
    weir_buf_append_text(out, "");
    for (int i = 0; i < CFG_GPUS_MAX; i++)
        if ((gpus >> i & 1) != 0)
            weir_buf_printf(out, "%s%d", out->size == 0 ? "" : ",", i);
}

/* The user's program, when it is one, and does what is wanted. */
static enum weir_status find_program(const struct orchestrator_trainer *trainer,
                                     struct weir_allowed *ret_allowed, struct weir_error *err)
{
    if (trainer->program == NULL)
        return WEIR_OK;
    enum weir_status status = weir_programs_find(trainer->program, ret_allowed, err);
    if (status == WEIR_OK && !weir_allowed_has_mode(ret_allowed, trainer->mode))
        status =
            weir_fail(err, WEIR_INVALID,
                      "program '%s' does not do mode %s: expected it in programs.%s.modes of the "
                      "system file",
                      trainer->program, trainer->mode, trainer->program);
    return status;
}

/* One process of a run, with the texts and lists that its program borrows. */
struct rank_program {
    char name[ORCHESTRATOR_TRAINER_NAME_SIZE], number[24];
    const char *arguments[2], *open[2], *readable[2];
    struct weir_buf gpus;
};

static struct orchestrator_program program_of(struct local *local,
                                              const struct orchestrator_trainer *trainer,
                                              const struct weir_allowed *allowed,
                                              const char *directory, struct rank_program *of)
{
    list_gpus(trainer->gpus, &of->gpus);
    orchestrator_trainer_name(trainer->run, trainer->rank, of->name);
    (void)snprintf(of->number, sizeof(of->number), "%" PRId64, trainer->run);
    of->arguments[0] = "--run";
    of->arguments[1] = of->number;
    of->open[0] = directory;
    of->readable[0] = trainer->base;
    return (struct orchestrator_program){
        .program = "trainer",
        .name = of->name,
        .is_elsewhere = local->passes.directory != NULL,
        .arguments = of->arguments,
        .argument_count = WEIR_COUNT(of->arguments),
        .foreign = trainer->program != NULL ? allowed : NULL,
        .run = of->number,
        .token = trainer->token,
        .rank = {.rank = trainer->rank,
                 .ranks = trainer->ranks,
                 .port = trainer->port,
                 .has_gpus = trainer->gpus != 0},
        .open = of->open,
        .readable = of->readable,
        .gpus = local->options->system->sharing.gpus > 0 ? weir_buf_text(&of->gpus) : NULL,
        .exited = on_trainer_exit,
        .owner = local,
    };
}

/* Unique for all time, and of this platform as those of its workers are. */
static char *group_of(const struct local *local, int64_t run)
{
    const struct pool_shown pool = orchestrator_pool_shown(local->orch->pool);
    return weir_format("weir-%s-run-%" PRId64 "-%016" PRIx64, pool.standing->token, run,
                       weir_random_u64());
}

/* The pass of a run's trainers, at `*ret_path`. */
static enum weir_status issue_pass(struct local *local, int64_t run, char **ret_path,
                                   struct weir_error *err)
{
    char subject[24];
    (void)snprintf(subject, sizeof(subject), "%" PRId64, run);
    *ret_path = orchestrator_pass_path(&local->passes, subject);
    return orchestrator_pass_issue(&local->passes, subject, err);
}

static enum weir_status launch_trainers(struct local *local,
                                        const struct orchestrator_trainer *trainers,
                                        const struct weir_allowed *allowed, struct weir_error *err)
{
    uint32_t ranks = trainers[0].ranks;
    WEIR_AUTO_FREE struct rank_program *of = weir_calloc(ranks, sizeof(*of));
    WEIR_AUTO_FREE struct orchestrator_program *programs = weir_calloc(ranks, sizeof(*programs));
    WEIR_AUTO_FREE char *group = group_of(local, trainers[0].run);
    WEIR_AUTO_FREE char *key = NULL;
    enum weir_status status =
        local->passes.directory != NULL ? issue_pass(local, trainers[0].run, &key, err) : WEIR_OK;
    if (status != WEIR_OK)
        return status;
    WEIR_AUTO_FREE char *directory = weir_format(
        "%s/runs/%" PRId64, orchestrator_platform_data_dir(local->platform), trainers[0].run);
    for (uint32_t i = 0; i < ranks; i++)
        programs[i] = program_of(local, &trainers[i], allowed, directory, &of[i]);
    const struct orchestrator_programs all = {
        .group = group,
        .place = "trainer",
        .key = key,
        .gpus = (unsigned)__builtin_popcountll(trainers[0].gpus),
        .memory = allowed->resident_max,
        .at = programs,
        .count = ranks,
        .is_gang = true,
    };
    status = orchestrator_platform_launch(local->platform, &all, err);
    for (uint32_t i = 0; i < ranks; i++)
        weir_buf_fini(&of[i].gpus);
    return status;
}

static void watch_memory(const struct local *local, const struct orchestrator_trainer *trainer,
                         const struct weir_allowed *allowed)
{
    char name[ORCHESTRATOR_TRAINER_NAME_SIZE];
    orchestrator_trainer_name(trainer->run, trainer->rank, name);
    pid_t pid =
        orchestrator_supervisor_pid(orchestrator_platform_supervisor(local->platform), name);
    if (allowed->resident_max > 0 && pid > 0)
        orchestrator_trainer_memory_begin(local->memory, trainer->run, trainer->rank, pid,
                                          allowed->resident_max, allowed->name);
}

/* At once: it has no memory left to be given time in. */
static void end_large_trainer(void *owner, int64_t run, uint32_t rank)
{
    const struct local *local = owner;
    char name[ORCHESTRATOR_TRAINER_NAME_SIZE];
    orchestrator_trainer_name(run, rank, name);
    orchestrator_platform_end(local->platform, name, 0);
}

static void remove_old_logs(const struct local *local, int64_t run)
{
    WEIR_AUTO_FREE char *logs =
        weir_format("%s/log", orchestrator_platform_data_dir(local->platform));
    orchestrator_trainer_logs_remove_old(logs, run);
}

static enum weir_status start_trainers(void *owner, const struct orchestrator_trainer *trainers,
                                       struct weir_error *err)
{
    struct local *local = owner;
    struct weir_allowed allowed = {0};
    remove_old_logs(local, trainers[0].run);
    enum weir_status status = find_program(&trainers[0], &allowed, err);
    if (status == WEIR_OK)
        status = launch_trainers(local, trainers, &allowed, err);
    for (uint32_t i = 0; status == WEIR_OK && i < trainers[0].ranks; i++)
        watch_memory(local, &trainers[i], &allowed);
    weir_allowed_fini(&allowed);
    return status;
}

static enum weir_status pass_trainer(void *owner, int64_t before,
                                     const struct orchestrator_trainer *trainer,
                                     struct weir_error *err)
{
    const struct local *local = owner;
    struct weir_allowed allowed = {0};
    if (local->passes.directory != NULL)
        return weir_fail(err, WEIR_NOT_FOUND, "a trainer elsewhere has a key for one run alone");
    char from[ORCHESTRATOR_TRAINER_NAME_SIZE], to[ORCHESTRATOR_TRAINER_NAME_SIZE];
    orchestrator_trainer_name(before, 0, from);
    orchestrator_trainer_name(trainer->run, 0, to);
    remove_old_logs(local, trainer->run);
    enum weir_status status = find_program(trainer, &allowed, err);
    if (status == WEIR_OK)
        status = orchestrator_platform_rename(local->platform, from, to, err);
    if (status == WEIR_OK)
        orchestrator_trainer_memory_pass(local->memory, before, trainer->run);
    weir_allowed_fini(&allowed);
    return status;
}

static void end_trainer(void *owner, int64_t run)
{
    const struct local *local = owner;
    char name[ORCHESTRATOR_TRAINER_NAME_SIZE];
    for (uint32_t rank = 0; rank < CFG_RANKS_MAX; rank++) { /* those that there are not are fine */
        orchestrator_trainer_name(run, rank, name);
        orchestrator_platform_end(local->platform, name, TRAINER_GRACE_MS);
    }
}

static bool waits_trainer(void *owner, int64_t run, uint32_t rank)
{
    const struct local *local = owner;
    enum { PROCESSES_MAX = 2 * ORCHESTRATOR_CHILDREN_MAX };
    struct launcher_process processes[PROCESSES_MAX];
    char name[ORCHESTRATOR_TRAINER_NAME_SIZE];
    orchestrator_trainer_name(run, rank, name);
    size_t count = orchestrator_platform_list(local->platform, processes, PROCESSES_MAX);
    for (size_t i = 0; i < count && i < PROCESSES_MAX; i++)
        if (weir_str_equal(processes[i].name, name))
            return processes[i].state == LAUNCHER_PENDING;
    return false;
}

/* ---- workers ---- */

static void on_worker_exit(void *owner, const struct orchestrator_child_exit *ended)
{
    const struct local *local = owner;
    (void)ended;
    if (!local->stopping && local->orch != NULL)
        orchestrator_pool_look(local->orch->pool);
}

/* ---- what the orchestrator tells ---- */

/* Somebody reads slowly, or not at all. */
static void on_flush_time(void *owner)
{
    struct local *local = owner;
    local->flush_timer = 0;
    if (!orchestrator_screen_flush(local->options->screen))
        local->flush_timer = weir_loop_timer(local->loop, FLUSH_MS, 0, on_flush_time, local);
}

static void on_event(void *owner, int64_t pipeline, int64_t erasure, const char *json)
{
    struct local *local = owner;
    orchestrator_live_happened(local->watchers.live, erasure != 0 ? 0 : pipeline);
    bool wanted =
        local->options->pipeline_file == NULL || erasure != 0 || pipeline == 0 ||
        (local->pipeline != NULL && orchestrator_pipeline_id(local->pipeline) == pipeline);
    if (!wanted)
        return;
    orchestrator_screen_event(local->options->screen, json);
    if (local->flush_timer == 0)
        on_flush_time(local);
}

static void on_progress(void *owner)
{
    struct local *local = owner;
    struct run_progress progress;
    if (local->orch != NULL && orchestrator_run_progress(&local->orch->runs, 0, &progress))
        orchestrator_screen_progress(local->options->screen, &progress, weir_now_ms());
}

/* A pipeline that had no trigger yet has made room for the file: what comes after it is followed from here on. */
static bool follow_successor(struct local *local)
{
    struct weir_error unseen;
    const char *name = orchestrator_pipeline_config(local->pipeline)->name;
    struct pipeline *next = orchestrator_pipeline_by_name(&local->orch->pipelines, name);
    if (next == NULL)
        return false;
    local->pipeline = next;
    if (orchestrator_events_recall(&local->orch->context, orchestrator_pipeline_id(next),
                                   &unseen) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "earlier events are not shown", "because=\"%s\"", unseen.text);
    return true;
}

/* `run` ends when its pipeline is at rest and no erasure is under way. */
static void on_rest(void *owner)
{
    struct local *local = owner;
    if (local->pipeline == NULL || !orchestrator_erasures_idle(local->orch->erasures))
        return;
    if (orchestrator_pipeline_state(local->pipeline) == PIPELINE_REMOVED && follow_successor(local))
        return;
    enum pipeline_state state = orchestrator_pipeline_state(local->pipeline);
    if (state == PIPELINE_FAILED) {
        orchestrator_screen_complain(local->options->screen,
                                     orchestrator_pipeline_error(local->pipeline));
        stop(local, EXIT_FAILED);
    } else if (orchestrator_pipeline_at_rest(state)) {
        stop(local, EXIT_DONE);
    }
}

/* ---- the platform ---- */

static enum weir_status submit(struct local *local, struct weir_error *err)
{
    struct weir_error unseen;
    const struct local_options *options = local->options;
    struct pipeline *pipeline = NULL;
    const struct pipeline_file file = {options->pipeline_file, options->pipeline_text, ""};
    enum weir_status status =
        orchestrator_pipeline_run(&local->orch->pipelines, &file, &pipeline, err);
    if (status != WEIR_OK)
        return status;
    local->pipeline = pipeline;
    if (orchestrator_pipeline_order(pipeline)[0] != '\0') {
        orchestrator_screen_say(options->screen,
                                "its pipeline had had no trigger: this file takes its place");
        return WEIR_OK;
    }
    if (orchestrator_pipeline_state(pipeline) == PIPELINE_FINISHED) {
        WEIR_AUTO_FREE char *text =
            weir_format("pipeline %s is finished on this data directory; this is what happened:",
                        orchestrator_pipeline_config(pipeline)->name);
        orchestrator_screen_say(options->screen, text);
    }
    if (orchestrator_events_recall(&local->orch->context, orchestrator_pipeline_id(pipeline),
                                   &unseen) != WEIR_OK)
        weir_log(WEIR_LOG_WARN, "earlier events are not shown", "because=\"%s\"", unseen.text);
    return WEIR_OK;
}

static void on_rehearsed(void *owner, json_t *json, const struct weir_error *err)
{
    struct local *local = owner;
    if (json == NULL) {
        fail(local, err);
        return;
    }
    char *text = json_dumps(json, JSON_COMPACT | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(15));
    orchestrator_screen_event(local->options->screen, text);
    free(text);
    json_decref(json);
    stop(local, EXIT_DONE);
}

static enum weir_status rehearse(struct local *local, struct weir_error *err)
{
    const struct local_options *options = local->options;
    enum weir_status status =
        orchestrator_rehearse(&local->orch->context, options->pipeline_file, options->pipeline_text,
                              true, &local->rehearsal, err);
    if (status == WEIR_OK)
        orchestrator_rehearsal_begin(local->rehearsal, on_rehearsed, local);
    return status;
}

/* Keys that an earlier process has made for trainers end: those are not adopted. */
static void open_passes(struct local *local)
{
    const struct local_options *options = local->options;
    const char *launcher = options->system->launching.trainers;
    if (options->remote == NULL || launcher == NULL || weir_str_equal(launcher, "local"))
        return;
    local->passes =
        (struct passes){.keys = local->orch->keys, .kind = "run", .role = WEIR_ROLE_TRAINER};
    orchestrator_passes_open(&local->passes, orchestrator_platform_data_dir(local->platform));
    sweep_passes(local);
}

static enum weir_status open_orchestrator(struct local *local, struct weir_error *err)
{
    const struct local_options *options = local->options;
    local->workers = (struct worker_programs){local->platform, options->system,
                                              options->remote != NULL, on_worker_exit, local};
    const struct orchestrator_crew crew = orchestrator_worker_crew(&local->workers);
    const struct orchestrator_options opening = {
        .data_dir = orchestrator_platform_data_dir(local->platform),
        .socket_dir = orchestrator_platform_socket_dir(local->platform),
        .remote = options->remote,
        .postgres = orchestrator_platform_postgres(local->platform),
        .cluster = orchestrator_platform_cluster(local->platform),
        .prices = options->system->prices,
        .cache_bytes = options->system->cache_bytes,
        .trainers = {.owner = local,
                     .start = start_trainers,
                     .end = end_trainer,
                     .waits = waits_trainer,
                     .pass = pass_trainer},
        .crew = &crew,
        .workers = options->workers,
        .listener = {.owner = local, .event = on_event, .progress = on_progress, .rest = on_rest},
        .sharing = options->system->sharing,
        .budgets = options->system->budgets,
        .webhooks = options->system->webhooks,
        .hold = options->hold,
        .digests = options->digests,
        .explain = options->explain,
        .new_receipt_key = &local->new_receipt_key,
    };
    enum weir_status status = orchestrator_open(local->loop, &opening, &local->orch, err);
    if (status != WEIR_OK)
        return status;
    local->begin_until_ms = 0;
    open_passes(local);
    orchestrator_watchers_attach(&local->watchers, local->orch,
                                 orchestrator_platform_postgres(local->platform));
    return WEIR_OK;
}

static enum weir_status begin(struct local *local, struct weir_error *err)
{
    const struct local_options *options = local->options;
    enum weir_status status = local->orch == NULL ? open_orchestrator(local, err) : WEIR_OK;
    if (status != WEIR_OK)
        return status;
    if (options->dry_run)
        return rehearse(local, err);
    if (options->pipeline_file != NULL)
        return submit(local, err);
    WEIR_AUTO_FREE char *text =
        weir_format("serving %s", orchestrator_platform_data_dir(local->platform));
    orchestrator_screen_say(options->screen, text);
    return WEIR_OK;
}

/* Postgres may go away under it at any point, and comes back. */
static void try_to_begin(void *owner)
{
    struct local *local = owner;
    struct weir_error err;
    local->begin_timer = 0;
    enum weir_status status = begin(local, &err);
    if (status == WEIR_OK)
        return;
    int64_t now_ms = weir_now_ms();
    if (local->begin_until_ms == 0)
        local->begin_until_ms = now_ms + (weir_fault("local.impatient") ? 0 : BEGIN_MS_MAX);
    if (orchestrator_may_pass(status) && now_ms < local->begin_until_ms) {
        weir_log(WEIR_LOG_WARN, "cannot begin yet, trying it again", "error=\"%s\"", err.text);
        local->begin_timer = weir_loop_timer(local->loop, BEGIN_RETRY_MS, 0, try_to_begin, local);
        return;
    }
    orchestrator_screen_fail(local->options->screen, err.text);
    bool is_usage = local->orch != NULL && (status == WEIR_EXISTS || status == WEIR_INVALID);
    stop(local, is_usage ? EXIT_USAGE : EXIT_FAILED);
}

static void on_ready(void *owner)
{
    try_to_begin(owner);
}

static void on_failed(void *owner, const struct weir_error *err)
{
    fail(owner, err);
}

static void on_stopped(void *owner)
{
    struct local *local = owner;
    weir_loop_stop(local->loop);
}

/* ---- signals ---- */

static void on_signal(void *owner)
{
    struct local *local = owner;
    struct signalfd_siginfo info;
    if (read(local->signal_fd, &info, sizeof(info)) != (ssize_t)sizeof(info))
        return;
    bool serving = local->options->pipeline_file == NULL;
    if (!serving && !local->stopping)
        orchestrator_screen_complain(local->options->screen,
                                     "stopped; the same command goes on from here");
    stop(local, serving ? EXIT_DONE : EXIT_FAILED);
}

/* Blocked before the first thread starts, so that none of ZeroMQ's threads takes them. */
static enum weir_status open_signals(struct local *local, struct weir_error *err)
{
    sigset_t signals;
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigaddset(&signals, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    local->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
    return local->signal_fd >= 0 ? WEIR_OK
                                 : weir_fail(err, WEIR_IO, "signalfd: %s", strerror(errno));
}

static enum weir_status start(struct local *local, struct weir_error *err)
{
    const struct orchestrator_system *system = local->options->system;
    struct orchestrator_platform_options platform = {
        .data_dir = local->options->data_dir,
        .user = system->user,
        .postgres = system->postgres,
        .postgres_bin_dir = system->postgres_bin_dir,
        .launching = &system->launching,
        .log_level = system->log_level,
        .has_tcp = system->listen != NULL || local->options->remote != NULL, /* workers elsewhere */
        .remote = local->options->remote,
        .batches_memory = system->batches_memory,
    };
    struct orchestrator_platform_events events = {
        .owner = local, .ready = on_ready, .failed = on_failed, .stopped = on_stopped};
    enum weir_status status = open_signals(local, err);
    if (status == WEIR_OK && local->options->remote != NULL)
        status = orchestrator_listen_address_try(local->options->remote, err);
    if (status != WEIR_OK)
        return status;
    local->loop = weir_loop_new();
    local->memory = orchestrator_trainer_memory_new(local->loop, end_large_trainer, local);
    weir_loop_watch_fd(local->loop, local->signal_fd, POLLIN, on_signal, local);
    status = orchestrator_watchers_open(&local->watchers, local->loop, &local->options->watchers,
                                        local->options->screen, err);
    if (status == WEIR_OK)
        status =
            orchestrator_platform_start(local->loop, &platform, &events, &local->platform, err);
    if (status == WEIR_OK && local->watchers.monitor != NULL)
        orchestrator_monitor_watch(local->watchers.monitor,
                                   orchestrator_platform_supervisor(local->platform));
    return status;
}

int orchestrator_local(const struct local_options *options)
{
    struct local local = {
        .options = options,
        .new_receipt_key = {.is_given = options->new_receipt_key},
        .signal_fd = -1,
        .exit_code = EXIT_FAILED,
    };
    struct weir_error err;
    if (start(&local, &err) == WEIR_OK)
        weir_loop_run(local.loop);
    else
        orchestrator_screen_fail(options->screen, err.text);
    orchestrator_rehearsal_free(local.rehearsal);
    orchestrator_watchers_close(&local.watchers);
    orchestrator_close(local.orch);
    orchestrator_passes_fini(&local.passes);
    orchestrator_platform_free(local.platform);
    orchestrator_trainer_memory_free(local.memory);
    weir_loop_free(local.loop);
    if (local.signal_fd >= 0)
        (void)close(local.signal_fd);
    return local.exit_code;
}
