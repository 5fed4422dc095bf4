/* Brings the parts up one after the other: data directory, Postgres, services, workers. */
#include "orchestrator/platform/platform.h"

#include "core/base/bytes.h"
#include "core/base/log.h"
#include "core/base/memory.h"
#include "core/rpc/rpc.h"
#include "core/service/service.h"
#include "orchestrator/launchers/launcher.h"
#include "orchestrator/platform/datadir.h"
#include "orchestrator/platform/environment.h"
#include "orchestrator/platform/postgres.h"
#include "orchestrator/platform/spawn.h"

#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const SERVICES[] = {"storage", "selector", "dispatcher"};

enum {
    POSTGRES_ASK_MS = 10,
    POSTGRES_STOP_MS = 10000,
    START_MS_MAX = 60000,   /* recovery of a large database may take most of it */
    START_FAILURES_MAX = 8, /* of one process, before the platform gives up coming up */
    ARGUMENTS_MAX = 32,
    EXIT_USAGE = 2, /* will not get better by trying again */
};

enum phase { STARTING_POSTGRES, STARTING_SERVICES, READY, FAILED, STOPPING };

struct weir_platform {
    struct weir_loop *loop;
    struct weir_platform_events events;
    enum phase phase;
    struct weir_error failure;
    char *bin_dir;
    char *log_level;
    unsigned workers;
    char *listen, *compress; /* of workers; NULL: as they do by themselves */
    struct weir_datadir *datadir;
    struct weir_supervisor *supervisor;
    struct weir_postgres *postgres; /* NULL: somebody else's server */
    char *conninfo;
    const struct launcher *launcher;
    void *launcher_state;
    struct weir_rpc_peer *peers[WEIR_COUNT(SERVICES)];
    size_t answered;
    uint64_t ask_timer;
    uint64_t patience_timer;
};

static void tell_failed(void *owner)
{
    struct weir_platform *platform = owner;
    platform->events.failed(platform->events.owner, &platform->failure);
}

static void fail(struct weir_platform *platform, const struct weir_error *err)
{
    if (platform->phase > STARTING_SERVICES)
        return;
    platform->phase = FAILED;
    platform->failure = *err;
    weir_loop_cancel(platform->loop, platform->ask_timer);
    weir_loop_cancel(platform->loop, platform->patience_timer);
    platform->ask_timer = platform->patience_timer = 0;
    weir_loop_soon(platform->loop, tell_failed, platform);
}

/* A service that ends because Postgres went away under it says nothing about itself. */
static bool postgres_restarted(const struct weir_platform *platform)
{
    struct weir_child_state states[WEIR_CHILDREN_MAX];
    size_t count = weir_supervisor_list(platform->supervisor, states, WEIR_CHILDREN_MAX);
    for (size_t i = 0; i < count && i < WEIR_CHILDREN_MAX; i++)
        if (weir_str_equal(states[i].name, "postgres"))
            return states[i].restarts > 0;
    return false;
}

/* Before the platform is ready, a process that will not stay up is why it never will be. */
static void on_child_exit(void *owner, const struct weir_child_exit *ended)
{
    struct weir_platform *platform = owner;
    bool hopeless = ended->wait_status == -1 || (WIFEXITED(ended->wait_status) &&
                                                 WEXITSTATUS(ended->wait_status) == EXIT_USAGE);
    if (platform->phase > STARTING_SERVICES || (!hopeless && ended->restarts < START_FAILURES_MAX))
        return;
    bool killed = ended->wait_status >= 0 && WIFSIGNALED(ended->wait_status) &&
                  WTERMSIG(ended->wait_status) == SIGKILL; /* by somebody else */
    bool orphaned = !weir_str_equal(ended->name, "postgres") && postgres_restarted(platform);
    if (!hopeless && (killed || orphaned))
        return; /* START_MS_MAX bounds it */
    char how[64];
    weir_wait_status_text(ended->wait_status, how, sizeof how);
    const char *last =
        ended->last_line[0] != '\0' ? ended->last_line : "it says nothing: is the disk full?";
    struct weir_error err;
    weir_ignore(weir_fail(&err, WEIR_UNAVAILABLE, "%s stops at its start (%s): %s", ended->name,
                          how, last)); /* the status is the error's own */
    fail(platform, &err);
}

static char **command(const struct weir_platform *platform, const struct weir_program *program)
{
    char **argv = weir_calloc(ARGUMENTS_MAX, sizeof *argv);
    size_t count = 0;
    const char *const common[] = {
        "--data-dir", platform->datadir->path, "--socket-dir", platform->datadir->socket_dir,
        "--name",     program->name,
    };
    argv[count++] = weir_format("%s/%s", platform->bin_dir, program->program);
    for (size_t i = 0; i < WEIR_COUNT(common); i++)
        argv[count++] = weir_strdup(common[i]);
    if (platform->log_level) {
        argv[count++] = weir_strdup("--log-level");
        argv[count++] = weir_strdup(platform->log_level);
    }
    weir_require(count + program->argument_count < ARGUMENTS_MAX);
    for (size_t i = 0; i < program->argument_count; i++)
        argv[count++] = weir_strdup(program->arguments[i]);
    return argv;
}

static void command_free(char **argv)
{
    for (size_t i = 0; argv[i]; i++)
        free(argv[i]);
    free(argv);
}

/* Services alone connect to Postgres, and read how from their standard input: a command line and an environment can be
 * seen from outside, and a connection may hold a password. */
static enum weir_status start_service(struct weir_platform *platform, const char *name,
                                      struct weir_error *err)
{
    static const char *const CONNECTION[] = {"--postgres", "-"};
    const struct weir_program program = {.program = name,
                                         .name = name,
                                         .arguments = CONNECTION,
                                         .argument_count = WEIR_COUNT(CONNECTION)};
    char **argv = command(platform, &program);
    const struct weir_child child = {
        .name = name,
        .argv = argv,
        .input = platform->conninfo,
        .restart = true,
        .stage = WEIR_STAGE_SERVICE,
        .exited = on_child_exit,
        .owner = platform,
    };
    enum weir_status status = weir_supervisor_start(platform->supervisor, &child, err);
    command_free(argv);
    return status;
}

static enum weir_status launch(struct weir_platform *platform, const struct weir_program *program,
                               struct weir_error *err)
{
    char **argv = command(platform, program);
    char **env = weir_environment_apart(program->gpus);
    const struct weir_child child = {
        .name = program->name,
        .argv = argv,
        .env = env,
        .restart = program->restart,
        .stage = WEIR_STAGE_LAUNCHED,
        .exited = program->exited,
        .owner = program->owner,
    };
    enum weir_status status = platform->launcher->start(platform->launcher_state, &child, err);
    command_free(argv);
    weir_environment_free(env);
    return status;
}

static size_t worker_arguments(const struct weir_platform *platform, const char *ret_arguments[4])
{
    size_t count = 0;
    if (platform->listen != NULL) {
        ret_arguments[count++] = "--listen";
        ret_arguments[count++] = platform->listen;
    }
    if (platform->compress != NULL) {
        ret_arguments[count++] = "--compress";
        ret_arguments[count++] = platform->compress;
    }
    return count;
}

static enum weir_status start_workers(struct weir_platform *platform, struct weir_error *err)
{
    const char *arguments[4];
    size_t argument_count = worker_arguments(platform, arguments);
    for (unsigned i = 1; i <= platform->workers; i++) {
        char name[32];
        (void)snprintf(name, sizeof name, "worker-%u", i);
        const struct weir_program worker = {
            .program = "worker",
            .name = name,
            .arguments = arguments,
            .argument_count = argument_count,
            .restart = true,
            .exited = on_child_exit,
            .owner = platform,
        };
        enum weir_status status = launch(platform, &worker, err);
        if (status)
            return status;
    }
    return WEIR_OK;
}

static void close_peers(struct weir_platform *platform)
{
    for (size_t i = 0; i < WEIR_COUNT(SERVICES); i++) {
        weir_rpc_peer_close(platform->peers[i]);
        platform->peers[i] = NULL;
    }
}

static void on_all_answered(void *owner)
{
    struct weir_platform *platform = owner;
    if (platform->phase != STARTING_SERVICES)
        return;
    close_peers(platform);
    struct weir_error err;
    if (start_workers(platform, &err) != WEIR_OK) {
        fail(platform, &err);
        return;
    }
    weir_loop_cancel(platform->loop, platform->patience_timer);
    platform->patience_timer = 0;
    platform->phase = READY;
    platform->events.ready(platform->events.owner);
}

static void on_health(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct weir_platform *platform = owner;
    if (!reply) {
        fail(platform, err);
        return;
    }
    if (++platform->answered == WEIR_COUNT(SERVICES)) /* peers are closed outside their callback */
        weir_loop_soon(platform->loop, on_all_answered, platform);
}

static enum weir_status ask_service(struct weir_platform *platform, size_t index,
                                    struct weir_error *err)
{
    WEIR_AUTO_FREE char *endpoint =
        weir_service_endpoint(platform->datadir->socket_dir, SERVICES[index]);
    enum weir_status status =
        weir_rpc_connect(platform->loop, endpoint, NULL, NULL, &platform->peers[index], err);
    if (status)
        return status;
    weir_rpc_call(platform->peers[index], MSG_health, NULL, START_MS_MAX, on_health, platform);
    return WEIR_OK;
}

static enum weir_status start_services(struct weir_platform *platform, struct weir_error *err)
{
    platform->phase = STARTING_SERVICES;
    for (size_t i = 0; i < WEIR_COUNT(SERVICES); i++) {
        enum weir_status status = start_service(platform, SERVICES[i], err);
        if (!status)
            status = ask_service(platform, i, err);
        if (status)
            return status;
    }
    return WEIR_OK;
}

static void on_ask_postgres(void *owner)
{
    struct weir_platform *platform = owner;
    struct weir_error err;
    enum weir_status status = weir_postgres_ask(platform->postgres, &err);
    if (status == WEIR_UNAVAILABLE)
        return;
    weir_loop_cancel(platform->loop, platform->ask_timer);
    platform->ask_timer = 0;
    if (!status)
        status = start_services(platform, &err);
    if (status)
        fail(platform, &err);
}

static void on_patience_over(void *owner)
{
    struct weir_platform *platform = owner;
    struct weir_error err;
    weir_ignore(weir_fail(&err, WEIR_TIMEOUT, "%s within %d s: see the logs in %s/log",
                          platform->phase == STARTING_POSTGRES ? "Postgres did not answer"
                                                               : "not all services answered",
                          START_MS_MAX / 1000, platform->datadir->path)); /* err carries it */
    platform->patience_timer = 0;
    fail(platform, &err);
}

static void before_postgres(void *owner)
{
    struct weir_platform *platform = owner;
    weir_postgres_clear_stale(platform->postgres);
}

static enum weir_status start_postgres(struct weir_platform *platform,
                                       const struct weir_platform_options *options,
                                       struct weir_error *err)
{
    const struct weir_datadir *datadir = platform->datadir;
    WEIR_AUTO_FREE char *log_path = weir_datadir_file(datadir, "log/postgres.log");
    const struct weir_identity *identity = datadir->cluster_drops ? &datadir->identity : NULL;
    const struct weir_postgres_options settings = {
        .bin_dir = options->postgres_bin_dir,
        .cluster = datadir->cluster,
        .socket_dir = datadir->cluster_socket_dir,
        .log_path = log_path,
        .identity = identity,
    };
    enum weir_status status = weir_postgres_prepare(&settings, &platform->postgres, err);
    if (status)
        return status;
    platform->conninfo = weir_strdup(weir_postgres_conninfo(platform->postgres));
    const struct weir_child child = {
        .name = "postgres",
        .argv = weir_postgres_argv(platform->postgres),
        .env = weir_postgres_env(platform->postgres),
        .directory = "/",
        .identity = identity,
        .restart = true,
        .stage = WEIR_STAGE_DATABASE,
        .stop_signal = SIGINT,
        .kill_signal = SIGQUIT,
        .stop_ms = POSTGRES_STOP_MS,
        .before_start = before_postgres,
        .exited = on_child_exit,
        .owner = platform,
    };
    platform->ask_timer = weir_loop_timer(platform->loop, POSTGRES_ASK_MS, POSTGRES_ASK_MS,
                                          on_ask_postgres, platform);
    return weir_supervisor_start(platform->supervisor, &child, err);
}

static enum weir_status choose_launcher(struct weir_platform *platform, const char *name,
                                        struct weir_error *err)
{
    platform->launcher = launcher_find(name ? name : "local");
    if (!platform->launcher)
        return weir_fail(err, WEIR_INVALID, "launcher '%s' is unknown: there is 'local'", name);
    platform->launcher_state = weir_calloc(1, platform->launcher->state_size);
    return platform->launcher->init(platform->launcher_state, platform->supervisor, err);
}

static enum weir_status start_steps(struct weir_platform *platform,
                                    const struct weir_platform_options *options,
                                    struct weir_error *err)
{
    const struct weir_datadir_options place = {
        .path = options->data_dir,
        .user = options->user,
        .bin_dir = platform->bin_dir,
    };
    enum weir_status status = weir_datadir_open(&place, &platform->datadir, err);
    if (status)
        return status;
    WEIR_AUTO_FREE char *log_dir = weir_datadir_file(platform->datadir, "log");
    platform->supervisor = weir_supervisor_new(platform->loop, log_dir);
    status = choose_launcher(platform, options->launcher, err);
    if (status)
        return status;
    platform->patience_timer =
        weir_loop_timer(platform->loop, START_MS_MAX, 0, on_patience_over, platform);
    if (!options->postgres)
        return start_postgres(platform, options, err);
    platform->conninfo = weir_strdup(options->postgres);
    return start_services(platform, err);
}

enum weir_status weir_platform_start(struct weir_loop *loop,
                                     const struct weir_platform_options *options,
                                     const struct weir_platform_events *events,
                                     struct weir_platform **ret_platform, struct weir_error *err)
{
    WEIR_AUTO(weir_platform) platform = weir_calloc(1, sizeof *platform);
    platform->loop = loop;
    platform->events = *events;
    platform->bin_dir =
        options->bin_dir ? weir_strdup(options->bin_dir) : weir_platform_own_directory();
    platform->log_level = options->log_level ? weir_strdup(options->log_level) : NULL;
    platform->workers = options->workers;
    platform->listen = options->listen ? weir_strdup(options->listen) : NULL;
    platform->compress = options->compress ? weir_strdup(options->compress) : NULL;
    enum weir_status status = start_steps(platform, options, err);
    if (status)
        return status;
    *ret_platform = WEIR_TAKE(platform);
    return WEIR_OK;
}

static void on_stopped(void *owner)
{
    struct weir_platform *platform = owner;
    platform->events.stopped(platform->events.owner);
}

void weir_platform_stop(struct weir_platform *platform)
{
    if (platform->phase == STOPPING)
        return;
    platform->phase = STOPPING;
    weir_loop_cancel(platform->loop, platform->ask_timer);
    weir_loop_cancel(platform->loop, platform->patience_timer);
    platform->ask_timer = platform->patience_timer = 0;
    weir_supervisor_stop_all(platform->supervisor, on_stopped, platform);
}

void weir_platform_free(struct weir_platform *platform)
{
    if (!platform)
        return;
    weir_loop_cancel(platform->loop, platform->ask_timer);
    weir_loop_cancel(platform->loop, platform->patience_timer);
    close_peers(platform);
    if (platform->launcher_state && platform->launcher->fini)
        platform->launcher->fini(platform->launcher_state);
    free(platform->launcher_state);
    weir_supervisor_free(platform->supervisor);
    weir_postgres_free(platform->postgres);
    weir_datadir_close(platform->datadir);
    free(platform->conninfo);
    free(platform->log_level);
    free(platform->listen);
    free(platform->compress);
    free(platform->bin_dir);
    free(platform);
}

enum weir_status weir_platform_launch(struct weir_platform *platform,
                                      const struct weir_program *program, struct weir_error *err)
{
    return launch(platform, program, err);
}

void weir_platform_end(struct weir_platform *platform, const char *name, int64_t grace_ms)
{
    platform->launcher->stop(platform->launcher_state, name, grace_ms);
}

const char *weir_platform_data_dir(const struct weir_platform *platform)
{
    return platform->datadir->path;
}

const char *weir_platform_socket_dir(const struct weir_platform *platform)
{
    return platform->datadir->socket_dir;
}

const char *weir_platform_postgres(const struct weir_platform *platform)
{
    return platform->conninfo;
}

struct weir_supervisor *weir_platform_supervisor(struct weir_platform *platform)
{
    return platform->supervisor;
}

char *weir_platform_own_directory(void)
{
    char *path = realpath("/proc/self/exe", NULL);
    char *slash = path ? strrchr(path, '/') : NULL;
    if (slash)
        *slash = '\0';
    return path ? path : weir_strdup(".");
}
