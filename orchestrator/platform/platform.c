/* Brings the parts up one after the other: data directory, Postgres, services. */
#include "orchestrator/platform/platform.h"

#include "core/base/bytes.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/rpc/rpc.h"
#include "core/service/programs.h"
#include "core/service/service.h"
#include "orchestrator/platform/datadir.h"
#include "orchestrator/platform/jails.h"
#include "orchestrator/platform/placing.h"
#include "orchestrator/platform/postgres.h"
#include "orchestrator/platform/site.h"
#include "orchestrator/processes/environment.h"
#include "orchestrator/processes/spawn.h"
#include "orchestrator/values/listen_address.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const SERVICES[] = {"storage", "selector", "dispatcher"};

enum {
    POSTGRES_POLL_MS = 10,
    POSTGRES_ANSWER_MS = 5000, /* for one answer; the loop hears nothing meanwhile */
    POSTGRES_STOP_MS = 10000,
    PATIENCE_MS = 60000,    /* without progress; recovery of a large database may take most of it */
    START_FAILURES_MAX = 8, /* of one process on end, before the platform gives up coming up */
    HEALTH_REQUEST_MS = 5000, /* then it is asked again */
    RETRY_MS_MIN = 100,       /* between attempts to make the cluster */
    SERVICE_ARGUMENTS_MAX = 8,
    EXIT_USAGE = 2, /* will not get better by trying again */
};

/* Milestones; after the last one, one for each service that has answered. */
enum { STARTED = 1, CLUSTER_MADE, POSTGRES_ANSWERED };

enum phase { STARTING_POSTGRES, STARTING_SERVICES, READY, FAILED, STOPPING };

struct awaited_service {
    struct orchestrator_platform *platform;
    struct weir_rpc_peer *peer;
    uint64_t timer;
    bool has_answered;
};

struct orchestrator_platform {
    struct weir_loop *loop;
    struct orchestrator_platform_events events;
    enum phase phase;
    unsigned reached; /* how far the start has ever come */
    int64_t patience_ms;
    struct weir_error trouble; /* newest, of what is tried again */
    struct weir_error failure;
    char *bin_dir;
    char *log_level;
    char *memory;                        /* of batches on their way, as the dispatcher reads it */
    const struct listen_address *remote; /* NULL: nobody elsewhere is listened to */
    struct orchestrator_jails jails;
    struct orchestrator_datadir *datadir;
    struct orchestrator_supervisor *supervisor;
    struct orchestrator_postgres *postgres; /* NULL: somebody else's server */
    char *conninfo;
    struct orchestrator_placing placing;
    struct awaited_service awaited[WEIR_COUNT(SERVICES)];
    char *postgres_bin_dir; /* NULL: to be found */
    unsigned cluster_attempts;
    uint64_t poll_timer;
    uint64_t patience_timer;
    int64_t cluster_written_ns; /* when patience was over last */
};

static void tell_failed(void *owner)
{
    struct orchestrator_platform *platform = owner;
    platform->events.failed(platform->events.owner, &platform->failure);
}

static void fail(struct orchestrator_platform *platform, const struct weir_error *err)
{
    if (platform->phase > STARTING_SERVICES)
        return;
    platform->phase = FAILED;
    platform->failure = *err;
    weir_loop_cancel(platform->loop, platform->poll_timer);
    weir_loop_cancel(platform->loop, platform->patience_timer);
    platform->poll_timer = platform->patience_timer = 0;
    weir_loop_soon(platform->loop, tell_failed, platform);
}

/* ---- patience ---- */

/* Looks at the cluster that initdb makes, which may take minutes on a busy machine. Returns true when it has written
 * something since the look before. */
static bool look_at_cluster(struct orchestrator_platform *platform)
{
    bool is_making = platform->postgres != NULL && platform->reached < CLUSTER_MADE;
    int64_t before_ns = platform->cluster_written_ns;
    platform->cluster_written_ns =
        is_making ? orchestrator_postgres_written_ns(platform->postgres) : 0;
    return platform->cluster_written_ns > before_ns;
}

static void on_patience_over(void *owner)
{
    struct orchestrator_platform *platform = owner;
    struct weir_error err;
    if (look_at_cluster(platform)) {
        platform->patience_timer =
            weir_loop_timer(platform->loop, platform->patience_ms, 0, on_patience_over, platform);
        return;
    }
    weir_ignore(weir_fail(
        &err, WEIR_TIMEOUT, "%s within %g s: see the logs in %s/log; the newest problem: %s",
        platform->phase == STARTING_POSTGRES ? "Postgres did not answer"
                                             : "not all services answered",
        (double)platform->patience_ms / 1000, platform->datadir->path,
        platform->trouble.text[0] == '\0' ? "none" : platform->trouble.text)); /* err carries it */
    platform->patience_timer = 0;
    fail(platform, &err);
}

/* Retries may go on for as long as the start comes further than before. */
static void note_progress(struct orchestrator_platform *platform, unsigned reached)
{
    if (reached <= platform->reached)
        return;
    platform->reached = reached;
    weir_loop_cancel(platform->loop, platform->patience_timer);
    platform->patience_timer =
        weir_loop_timer(platform->loop, platform->patience_ms, 0, on_patience_over, platform);
}

/* Keeps why something that is tried again failed, for the one line at the end. */
static void note_trouble(struct orchestrator_platform *platform, const struct weir_error *err)
{
    platform->trouble = *err;
}

/* Starting it again would end the same way. */
static bool is_hopeless(const struct orchestrator_child_exit *ended)
{
    if (weir_str_equal(ended->name, "postgres") || ended->wait_status < 0 ||
        !WIFEXITED(ended->wait_status))
        return false;
    return WEXITSTATUS(ended->wait_status) == EXIT_USAGE ||
           WEXITSTATUS(ended->wait_status) == WEIR_EXIT_HOPELESS;
}

/* A service that ends because Postgres went away under it says nothing about itself. How somebody else's Postgres is
 * doing, nobody here knows. */
static bool may_lack_postgres(const struct orchestrator_platform *platform)
{
    if (platform->postgres == NULL)
        return true;
    struct orchestrator_child_state states[ORCHESTRATOR_CHILDREN_MAX];
    size_t count =
        orchestrator_supervisor_list(platform->supervisor, states, ORCHESTRATOR_CHILDREN_MAX);
    for (size_t i = 0; i < count && i < ORCHESTRATOR_CHILDREN_MAX; i++)
        if (weir_str_equal(states[i].name, "postgres"))
            return states[i].restarts > 0;
    return false;
}

/* Before the platform is ready, a process that will not stay up is why it never will be. One that lost its Postgres
 * is not: the platform's patience bounds it. */
static void on_child_exit(void *owner, const struct orchestrator_child_exit *ended)
{
    struct orchestrator_platform *platform = owner;
    if (platform->phase > STARTING_SERVICES)
        return;
    char how[64] = "it cannot be started";
    if (ended->wait_status >= 0)
        orchestrator_wait_status_text(ended->wait_status, how, sizeof(how));
    struct weir_bytes complaint = orchestrator_log_complaint(
        ended->last_line[0] != '\0' ? ended->last_line : "it says nothing: is the disk full?");
    struct weir_error err;
    weir_ignore(weir_fail(&err, WEIR_UNAVAILABLE, "%s stops at its start (%s): %.*s", ended->name,
                          how, (int)complaint.size,
                          (const char *)complaint.at)); /* the status is the error's own */
    note_trouble(platform, &err);
    bool orphaned = !weir_str_equal(ended->name, "postgres") && may_lack_postgres(platform);
    if (is_hopeless(ended) || (ended->failures >= START_FAILURES_MAX && !orphaned))
        fail(platform, &err);
}

/* ---- children ---- */

static struct orchestrator_site site_of(const struct orchestrator_platform *platform)
{
    return (struct orchestrator_site){
        .bin_dir = platform->bin_dir,
        .log_level = platform->log_level,
        .datadir = platform->datadir,
        .jails = &platform->jails,
    };
}

/* Returns how many arguments there are with this option. */
static size_t add(const char *arguments[SERVICE_ARGUMENTS_MAX], size_t count, const char *option,
                  const char *value)
{
    arguments[count] = option;
    arguments[count + 1] = value;
    return count + 2;
}

/* Services alone connect to Postgres, and read how from their standard input: a command line and an environment can be
 * seen from outside, and a connection may hold a password. */
static enum weir_status start_service(struct orchestrator_platform *platform, const char *name,
                                      struct weir_error *err)
{
    const char *arguments[SERVICE_ARGUMENTS_MAX] = {"--postgres", "-"};
    size_t count = 2;
    WEIR_AUTO_FREE char *endpoint = NULL;
    if (strcmp(name, "dispatcher") == 0)
        count = add(arguments, count, "--memory", platform->memory);
    if (platform->remote != NULL) {
        endpoint = orchestrator_listen_address_of(platform->remote, name);
        count = add(arguments, count, "--remote", endpoint);
        count = add(arguments, count, "--advertise", platform->remote->advertise);
    }
    const struct orchestrator_program program = {
        .program = name, .name = name, .arguments = arguments, .argument_count = count};
    const struct orchestrator_site site = site_of(platform);
    char **argv = orchestrator_site_command(&site, &program);
    char **env = strcmp(name, "storage") == 0 ? NULL : orchestrator_environment_of_service();
    const struct orchestrator_child child = {
        .name = name,
        .argv = argv,
        .env = env,
        .input = platform->conninfo,
        .restart = true,
        .stage = ORCHESTRATOR_STAGE_SERVICE,
        .exited = on_child_exit,
        .owner = platform,
    };
    enum weir_status status = orchestrator_supervisor_start(platform->supervisor, &child, err);
    orchestrator_site_command_free(argv);
    orchestrator_environment_free(env);
    return status;
}

/* Hands the launcher of their place a group of programs, to be started or adopted. */
static enum weir_status hand_over(struct orchestrator_platform *platform, bool is_new,
                                  const struct orchestrator_programs *programs,
                                  struct weir_error *err)
{
    const struct orchestrator_site site = site_of(platform);
    struct orchestrator_launched *launched = weir_calloc(programs->count, sizeof(*launched));
    struct orchestrator_child *members = weir_calloc(programs->count, sizeof(*members));
    for (size_t i = 0; i < programs->count; i++)
        members[i] = orchestrator_site_child(&site, &programs->at[i], &launched[i]);
    const struct launcher_group group = {
        .name = programs->group,
        .place = programs->place,
        .each = {.cores = programs->cores, .gpus = programs->gpus, .memory = programs->memory},
        .key = programs->key,
        .members = members,
        .count = programs->count,
        .is_gang = programs->is_gang,
    };
    enum weir_status status =
        is_new ? orchestrator_placing_start(&platform->placing, programs->launcher, &group, err)
               : orchestrator_placing_adopt(&platform->placing, programs->launcher, &group, err);
    for (size_t i = 0; i < programs->count; i++)
        orchestrator_site_child_fini(&launched[i]);
    free(members);
    free(launched);
    return status;
}

static void close_peers(struct orchestrator_platform *platform)
{
    for (size_t i = 0; i < WEIR_COUNT(SERVICES); i++) {
        struct awaited_service *awaited = &platform->awaited[i];
        weir_loop_cancel(platform->loop, awaited->timer);
        awaited->timer = 0;
        weir_rpc_peer_close(awaited->peer);
        awaited->peer = NULL;
    }
}

static void on_all_answered(void *owner)
{
    struct orchestrator_platform *platform = owner;
    if (platform->phase != STARTING_SERVICES)
        return;
    close_peers(platform);
    weir_loop_cancel(platform->loop, platform->patience_timer);
    platform->patience_timer = 0;
    platform->phase = READY;
    platform->events.ready(platform->events.owner);
}

static void request_health(void *owner);

static void on_health(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct awaited_service *awaited = owner;
    struct orchestrator_platform *platform = awaited->platform;
    if (platform->phase != STARTING_SERVICES)
        return;
    if (reply == NULL) {
        note_trouble(platform, err);
        awaited->timer = weir_loop_timer(platform->loop, RETRY_MS_MIN, 0, request_health, awaited);
        return;
    }
    size_t answered = 0;
    awaited->has_answered = true;
    for (size_t i = 0; i < WEIR_COUNT(SERVICES); i++)
        answered += platform->awaited[i].has_answered;
    note_progress(platform, POSTGRES_ANSWERED + (unsigned)answered);
    if (answered == WEIR_COUNT(SERVICES)) /* peers are closed outside their callback */
        weir_loop_soon(platform->loop, on_all_answered, platform);
}

static void request_health(void *owner)
{
    struct awaited_service *awaited = owner;
    awaited->timer = 0;
    weir_rpc_call(awaited->peer, MSG_health, NULL, HEALTH_REQUEST_MS, on_health, awaited);
}

static enum weir_status watch_service(struct orchestrator_platform *platform, size_t index,
                                      struct weir_error *err)
{
    struct awaited_service *awaited = &platform->awaited[index];
    WEIR_AUTO_FREE char *endpoint =
        weir_service_endpoint(platform->datadir->socket_dir, SERVICES[index]);
    awaited->platform = platform;
    enum weir_status status =
        weir_rpc_connect(platform->loop, endpoint, NULL, NULL, &awaited->peer, err);
    if (status == WEIR_OK)
        request_health(awaited);
    return status;
}

static enum weir_status start_services(struct orchestrator_platform *platform,
                                       struct weir_error *err)
{
    platform->phase = STARTING_SERVICES;
    for (size_t i = 0; i < WEIR_COUNT(SERVICES); i++) {
        enum weir_status status = start_service(platform, SERVICES[i], err);
        if (status == WEIR_OK)
            status = watch_service(platform, i, err);
        if (status != WEIR_OK)
            return status;
    }
    return WEIR_OK;
}

static void on_poll_postgres(void *owner)
{
    struct orchestrator_platform *platform = owner;
    struct weir_error err;
    enum weir_status status =
        orchestrator_postgres_probe(platform->postgres, POSTGRES_ANSWER_MS, &err);
    if (status == WEIR_UNAVAILABLE) {
        note_trouble(platform, &err);
        return;
    }
    weir_loop_cancel(platform->loop, platform->poll_timer);
    platform->poll_timer = 0;
    note_progress(platform, POSTGRES_ANSWERED);
    if (status == WEIR_OK)
        status = start_services(platform, &err);
    if (status != WEIR_OK)
        fail(platform, &err);
}

static void before_postgres(void *owner)
{
    struct orchestrator_platform *platform = owner;
    orchestrator_postgres_clear_stale(platform->postgres);
}

static enum weir_status run_postgres(struct orchestrator_platform *platform, struct weir_error *err)
{
    const struct orchestrator_datadir *datadir = platform->datadir;
    platform->conninfo = weir_strdup(orchestrator_postgres_conninfo(platform->postgres));
    const struct orchestrator_child child = {
        .name = "postgres",
        .argv = orchestrator_postgres_argv(platform->postgres),
        .env = orchestrator_postgres_env(platform->postgres),
        .directory = "/",
        .identity = datadir->cluster_drops ? &datadir->identity : NULL,
        .restart = true,
        .stage = ORCHESTRATOR_STAGE_DATABASE,
        .stop_signal = SIGINT,
        .kill_signal = SIGQUIT,
        .stop_ms = POSTGRES_STOP_MS,
        .before_start = before_postgres,
        .exited = on_child_exit,
        .owner = platform,
    };
    platform->poll_timer = weir_loop_timer(platform->loop, POSTGRES_POLL_MS, POSTGRES_POLL_MS,
                                           on_poll_postgres, platform);
    return orchestrator_supervisor_start(platform->supervisor, &child, err);
}

/* Storage has opened it once (storage/home.h), which takes a database. */
static bool is_used(const struct orchestrator_datadir *datadir)
{
    WEIR_AUTO_FREE char *path = orchestrator_datadir_file(datadir, "storage/.home");
    return access(path, F_OK) == 0;
}

static void make_cluster(void *owner);

/* A cluster that was killed while it was made is made again, a few times: its disk may be full for good. */
static void retry_cluster(struct orchestrator_platform *platform, enum weir_status status,
                          const struct weir_error *err)
{
    note_trouble(platform, err);
    if (status != WEIR_IO || ++platform->cluster_attempts >= START_FAILURES_MAX) {
        fail(platform, err);
        return;
    }
    weir_log(WEIR_LOG_WARN, "the database cannot be made, trying it again", "error=\"%s\"",
             err->text);
    platform->poll_timer =
        weir_loop_timer(platform->loop, (int64_t)RETRY_MS_MIN * platform->cluster_attempts, 0,
                        make_cluster, platform);
}

static void on_initdb_exit(void *owner, const struct orchestrator_child_exit *ended)
{
    struct orchestrator_platform *platform = owner;
    if (platform->phase != STARTING_POSTGRES)
        return;
    struct weir_error err;
    enum weir_status status = orchestrator_postgres_finish_cluster(platform->postgres, ended, &err);
    if (status != WEIR_OK) {
        retry_cluster(platform, status, &err);
        return;
    }
    note_progress(platform, CLUSTER_MADE);
    if (run_postgres(platform, &err) != WEIR_OK)
        fail(platform, &err);
}

static void make_cluster(void *owner)
{
    struct orchestrator_platform *platform = owner;
    const struct orchestrator_cluster_maker maker = {
        .supervisor = platform->supervisor,
        .exited = on_initdb_exit,
        .owner = platform,
    };
    struct weir_error err;
    platform->poll_timer = 0;
    enum weir_status status = orchestrator_postgres_begin_cluster(platform->postgres, &maker, &err);
    if (status != WEIR_OK)
        retry_cluster(platform, status, &err);
}

static enum weir_status start_postgres(struct orchestrator_platform *platform,
                                       struct weir_error *err)
{
    const struct orchestrator_datadir *datadir = platform->datadir;
    WEIR_AUTO_FREE char *log_path = orchestrator_datadir_file(datadir, "log/postgres.log");
    const struct orchestrator_postgres_options settings = {
        .bin_dir = platform->postgres_bin_dir,
        .cluster = datadir->cluster,
        .socket_dir = datadir->cluster_socket_dir,
        .log_path = log_path,
        .identity = datadir->cluster_drops ? &datadir->identity : NULL,
        .is_used = is_used(datadir),
    };
    enum weir_status status = orchestrator_postgres_prepare(&settings, &platform->postgres, err);
    if (status != WEIR_OK)
        return status;
    if (orchestrator_postgres_has_cluster(platform->postgres))
        return run_postgres(platform, err);
    make_cluster(platform);
    return WEIR_OK;
}

static enum weir_status start_steps(struct orchestrator_platform *platform,
                                    const struct orchestrator_platform_options *options,
                                    struct weir_error *err)
{
    const struct orchestrator_datadir_options place = {
        .path = options->data_dir,
        .user = options->user,
        .bin_dir = platform->bin_dir,
    };
    enum weir_status status = orchestrator_datadir_open(&place, &platform->datadir, err);
    if (status != WEIR_OK)
        return status;
    orchestrator_jails_prepare(platform->datadir,
                               orchestrator_launching_folder(platform->placing.launching),
                               options->has_tcp, &platform->jails);
    WEIR_AUTO_FREE char *log_dir = orchestrator_datadir_file(platform->datadir, "log");
    platform->supervisor = orchestrator_supervisor_new(platform->loop, log_dir);
    platform->placing.context = (struct launcher_context){
        .loop = platform->loop,
        .supervisor = platform->supervisor,
        .bin_dir = platform->bin_dir,
        .data_dir = platform->datadir->path,
    };
    status = orchestrator_placing_open(&platform->placing, err);
    if (status != WEIR_OK)
        return status;
    note_progress(platform, STARTED);
    if (options->postgres == NULL)
        return start_postgres(platform, err);
    platform->conninfo = weir_strdup(options->postgres);
    return start_services(platform, err);
}

enum weir_status orchestrator_platform_start(struct weir_loop *loop,
                                             const struct orchestrator_platform_options *options,
                                             const struct orchestrator_platform_events *events,
                                             struct orchestrator_platform **ret_platform,
                                             struct weir_error *err)
{
    WEIR_AUTO(orchestrator_platform) platform = weir_calloc(1, sizeof(*platform));
    platform->loop = loop;
    static const struct launching LOCAL = {.workers = NULL};
    platform->events = *events;
    platform->placing.launching = options->launching != NULL ? options->launching : &LOCAL;
    platform->bin_dir = options->bin_dir != NULL ? weir_strdup(options->bin_dir)
                                                 : orchestrator_platform_own_directory();
    platform->postgres_bin_dir =
        options->postgres_bin_dir != NULL ? weir_strdup(options->postgres_bin_dir) : NULL;
    platform->log_level = options->log_level != NULL ? weir_strdup(options->log_level) : NULL;
    platform->memory = weir_format("%lu", options->batches_memory);
    platform->remote = options->remote;
    platform->patience_ms = options->patience_ms != 0 ? options->patience_ms : PATIENCE_MS;
    enum weir_status status = start_steps(platform, options, err);
    if (status != WEIR_OK)
        return status;
    *ret_platform = WEIR_TAKE(platform);
    return WEIR_OK;
}

static void on_stopped(void *owner)
{
    struct orchestrator_platform *platform = owner;
    platform->events.stopped(platform->events.owner);
}

static void on_left(void *owner)
{
    struct orchestrator_platform *platform = owner;
    orchestrator_supervisor_stop_all(platform->supervisor, on_stopped, platform);
}

void orchestrator_platform_stop(struct orchestrator_platform *platform)
{
    if (platform->phase == STOPPING)
        return;
    platform->phase = STOPPING;
    weir_loop_cancel(platform->loop, platform->poll_timer);
    weir_loop_cancel(platform->loop, platform->patience_timer);
    platform->poll_timer = platform->patience_timer = 0;
    orchestrator_placing_leave(&platform->placing, on_left, platform);
}

void orchestrator_platform_free(struct orchestrator_platform *platform)
{
    if (platform == NULL)
        return;
    weir_loop_cancel(platform->loop, platform->poll_timer);
    weir_loop_cancel(platform->loop, platform->patience_timer);
    close_peers(platform);
    orchestrator_placing_fini(&platform->placing);
    orchestrator_supervisor_free(platform->supervisor);
    orchestrator_postgres_free(platform->postgres);
    orchestrator_datadir_close(platform->datadir);
    free(platform->conninfo);
    free(platform->postgres_bin_dir);
    free(platform->log_level);
    free(platform->memory);
    free(platform->bin_dir);
    free(platform);
}

enum weir_status orchestrator_platform_launch(struct orchestrator_platform *platform,
                                              const struct orchestrator_programs *programs,
                                              struct weir_error *err)
{
    return hand_over(platform, true, programs, err);
}

enum weir_status orchestrator_platform_adopt(struct orchestrator_platform *platform,
                                             const struct orchestrator_programs *programs,
                                             struct weir_error *err)
{
    return hand_over(platform, false, programs, err);
}

size_t orchestrator_platform_list(const struct orchestrator_platform *platform,
                                  struct launcher_process *processes, size_t max)
{
    return orchestrator_placing_list(&platform->placing, processes, max);
}

enum weir_status orchestrator_platform_rename(struct orchestrator_platform *platform,
                                              const char *from, const char *to,
                                              struct weir_error *err)
{
    return orchestrator_placing_rename(&platform->placing, from, to, err);
}

void orchestrator_platform_end(struct orchestrator_platform *platform, const char *name,
                               int64_t grace_ms)
{
    orchestrator_placing_stop(&platform->placing, name, grace_ms);
}

const char *orchestrator_platform_data_dir(const struct orchestrator_platform *platform)
{
    return platform->datadir->path;
}

const char *orchestrator_platform_socket_dir(const struct orchestrator_platform *platform)
{
    return platform->datadir->socket_dir;
}

const char *orchestrator_platform_postgres(const struct orchestrator_platform *platform)
{
    return platform->conninfo;
}

const char *orchestrator_platform_cluster(const struct orchestrator_platform *platform)
{
    return platform->postgres != NULL ? platform->datadir->cluster : NULL;
}

struct orchestrator_supervisor *orchestrator_platform_supervisor(
    struct orchestrator_platform *platform)
{
    return platform->supervisor;
}

char *orchestrator_platform_own_directory(void)
{
    char *path = realpath("/proc/self/exe", NULL);
    char *slash = path != NULL ? strrchr(path, '/') : NULL;
    if (slash != NULL)
        *slash = '\0';
    return path != NULL ? path : weir_strdup(".");
}
