/* Starts the platform of orchestrator/platform in a scratch directory and speaks to its services. */
#include "benchmarks/rig.h"

#include "core/base/file.h"
#include "core/base/log.h"
#include "core/base/rng.h"
#include "core/service/service.h"
#include "orchestrator/platform/platform.h"
#include "orchestrator/values/listen_address.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

enum {
    ANSWER_MS = 60000,
    POLL_NS = 2000000,
    STEP_MS = 100,
    SHARE_BYTES = 256 << 20,
    FIRST_PORT = 20000, /* those from 32768 on are given to whoever connects */
    PORTS = 12000,
    PORT_TRIES = 100,
    SCHEDSTAT_MAX = 256,
};

static const char *const NAMES[RIG_SERVICES] = {"storage", "selector", "dispatcher"};

struct rig {
    struct weir_loop *loop;
    struct orchestrator_platform *platform;
    struct weir_rpc_peer *peers[RIG_SERVICES];
    struct weir_arena *arena;
    char *data_dir;
    struct listen_address remote; /* port 0: nobody elsewhere is listened to */
    bool is_ready, has_failed, is_stopped;
    struct weir_error failure;
};

static void on_ready(void *owner)
{
    ((struct rig *)owner)->is_ready = true;
}

static void on_failed(void *owner, const struct weir_error *err)
{
    struct rig *rig = owner;
    rig->has_failed = true;
    rig->failure = *err;
}

static void on_stopped(void *owner)
{
    ((struct rig *)owner)->is_stopped = true;
}

static enum weir_status connect_peers(struct rig *rig, struct weir_error *err)
{
    for (size_t i = 0; i < RIG_SERVICES; i++) {
        WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(rig_socket_dir(rig), NAMES[i]);
        enum weir_status status =
            weir_rpc_connect(rig->loop, endpoint, NULL, NULL, &rig->peers[i], err);
        if (status != WEIR_OK)
            return status;
    }
    return WEIR_OK;
}

static enum weir_status start_workers(struct rig *rig, unsigned workers, const char *listen,
                                      struct weir_error *err)
{
    WEIR_AUTO_FREE char *share = weir_format("%d", SHARE_BYTES);
    const char *const arguments[] = {"--share", share, "--listen", listen};
    size_t argument_count = listen != NULL ? WEIR_COUNT(arguments) : WEIR_COUNT(arguments) - 2;
    enum weir_status status = WEIR_OK;
    for (unsigned i = 1; status == WEIR_OK && i <= workers; i++) {
        WEIR_AUTO_FREE char *name = weir_format("worker-%u", i);
        const struct orchestrator_program worker = {
            .program = "worker",
            .name = name,
            .arguments = arguments,
            .argument_count = argument_count,
            .restart = true,
        };
        const struct orchestrator_programs alone = {
            .group = name, .place = "pool", .at = &worker, .count = 1};
        status = orchestrator_platform_launch(rig->platform, &alone, err);
    }
    return status;
}

static enum weir_status start(struct rig *rig, unsigned workers, const char *listen,
                              struct weir_error *err)
{
    const struct orchestrator_platform_options options = {
        .data_dir = rig->data_dir,
        .log_level = "warn",
        .has_tcp = listen != NULL,
        .remote = rig->remote.port != 0 ? &rig->remote : NULL,
    };
    const struct orchestrator_platform_events events = {
        .owner = rig, .ready = on_ready, .failed = on_failed, .stopped = on_stopped};
    enum weir_status status =
        orchestrator_platform_start(rig->loop, &options, &events, &rig->platform, err);
    while (status == WEIR_OK && !rig->is_ready && !rig->has_failed)
        weir_loop_step(rig->loop, STEP_MS);
    if (rig->has_failed) {
        *err = rig->failure;
        status = err->status;
    }
    if (status == WEIR_OK)
        status = start_workers(rig, workers, listen, err);
    return status == WEIR_OK ? connect_peers(rig, err) : status;
}

/* Finds four ports in a row that nobody listens at now. */
static enum weir_status find_ports(struct listen_address *ret_address, struct weir_error *err)
{
    enum weir_status status = WEIR_IO;

    for (int i = 0; i < PORT_TRIES && status != WEIR_OK; i++) {
        WEIR_AUTO_FREE char *text =
            weir_format("tcp://127.0.0.1:%u", FIRST_PORT + (unsigned)(weir_random_u64() % PORTS));

        status = orchestrator_listen_address_read(text, NULL, ret_address, err);
        if (status == WEIR_OK)
            status = orchestrator_listen_address_try(ret_address, err);
    }
    return status;
}

/* A rig that is to be started: of `listen` NULL, batches go over local sockets. */
struct rig_plan {
    const char *directory;
    unsigned workers;
    const char *listen;
    bool is_elsewhere;
};

static enum weir_status start_rig(const struct rig_plan *plan, struct rig **ret_rig,
                                  struct weir_error *err)
{
    WEIR_AUTO(rig) rig = weir_calloc(1, sizeof(*rig));
    enum weir_status status = plan->is_elsewhere ? find_ports(&rig->remote, err) : WEIR_OK;

    weir_log_setup("bench", WEIR_LOG_WARN);
    weir_memory_keep();
    rig->loop = weir_loop_new();
    rig->arena = weir_arena_new();
    rig->data_dir = weir_format("%s/weir", plan->directory);
    if (status == WEIR_OK)
        status = start(rig, plan->workers, plan->listen, err);
    if (status != WEIR_OK)
        return weir_error_wrap(err, status, "the platform for the benchmark");
    /* The platform closes its process to others; this one is a trainer too, whose memory workers write to. */
    (void)prctl(PR_SET_DUMPABLE, plan->listen == NULL);
    *ret_rig = WEIR_TAKE(rig);
    return WEIR_OK;
}

enum weir_status rig_start(const char *directory, unsigned workers, struct rig **ret_rig,
                           struct weir_error *err)
{
    return start_rig(&(struct rig_plan){.directory = directory, .workers = workers}, ret_rig, err);
}

enum weir_status rig_start_apart(const char *directory, unsigned workers, struct rig **ret_rig,
                                 struct weir_error *err)
{
    return start_rig(&(struct rig_plan){.directory = directory,
                                        .workers = workers,
                                        .listen = "tcp://127.0.0.1:*"},
                     ret_rig, err);
}

enum weir_status rig_start_elsewhere(const char *directory, struct rig **ret_rig,
                                     struct weir_error *err)
{
    return start_rig(&(struct rig_plan){.directory = directory, .is_elsewhere = true}, ret_rig,
                     err);
}

void rig_stop(struct rig *rig)
{
    if (rig == NULL)
        return;
    for (size_t i = 0; i < RIG_SERVICES; i++)
        weir_rpc_peer_close(rig->peers[i]);
    if (rig->platform != NULL)
        orchestrator_platform_stop(rig->platform);
    while (rig->platform != NULL && !rig->is_stopped)
        weir_loop_step(rig->loop, STEP_MS);
    orchestrator_platform_free(rig->platform);
    weir_loop_free(rig->loop);
    weir_arena_free(rig->arena);
    free(rig->data_dir);
    free(rig);
}

enum weir_status rig_request(struct rig *rig, const struct rig_call *call, void *ret_answer,
                             struct weir_error *err)
{
    weir_arena_clear(rig->arena);
    return weir_rpc_request(rig->peers[call->service], call->type, call->message, ANSWER_MS,
                            call->expected, rig->arena, ret_answer, err);
}

void rig_tell(struct rig *rig, enum rig_service service, enum weir_message type,
              const void *message)
{
    weir_rpc_send(rig->peers[service], type, message);
}

struct weir_rpc_peer *rig_peer(struct rig *rig, enum rig_service service)
{
    return rig->peers[service];
}

pid_t rig_pid(const struct rig *rig, enum rig_service service)
{
    return orchestrator_supervisor_pid(orchestrator_platform_supervisor(rig->platform),
                                       NAMES[service]);
}

int64_t rig_process_cpu_ns(pid_t pid)
{
    clockid_t clock;
    struct timespec spent;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &spent) != 0)
        return 0;
    return spent.tv_sec * INT64_C(1000000000) + spent.tv_nsec;
}

int64_t rig_cpu_ns(const struct rig *rig, enum rig_service service)
{
    return rig_process_cpu_ns(rig_pid(rig, service));
}

/* Returns what the kernel has counted for a thread, whose folder is below `tasks`; 0: it is gone. */
static int64_t thread_ns(const char *tasks, const char *thread)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s/schedstat", tasks, thread);
    WEIR_AUTO_BUF text = {0};
    struct weir_error err;
    return weir_file_read(path, SCHEDSTAT_MAX, &text, &err) == WEIR_OK
               ? strtoll(weir_buf_text(&text), NULL, 10)
               : 0;
}

int64_t rig_busiest_thread_ns(const struct rig *rig, enum rig_service service)
{
    WEIR_AUTO_FREE char *tasks = weir_format("/proc/%d/task", (int)rig_pid(rig, service));
    int64_t most_ns = 0;
    DIR *threads = opendir(tasks);
    const struct dirent *thread;
    while (threads != NULL && (thread = readdir(threads)) != NULL) {
        int64_t ns = thread->d_name[0] != '.' ? thread_ns(tasks, thread->d_name) : 0;
        most_ns = ns > most_ns ? ns : most_ns;
    }
    if (threads != NULL)
        (void)closedir(threads);
    return most_ns;
}

pid_t rig_worker_pid(const struct rig *rig, unsigned number)
{
    WEIR_AUTO_FREE char *name = weir_format("worker-%u", number);
    return orchestrator_supervisor_pid(orchestrator_platform_supervisor(rig->platform), name);
}

int64_t rig_workers_cpu_ns(const struct rig *rig, unsigned workers)
{
    int64_t sum_ns = 0;
    for (unsigned i = 1; i <= workers; i++)
        sum_ns += rig_process_cpu_ns(rig_worker_pid(rig, i));
    return sum_ns;
}

void rig_step(struct rig *rig)
{
    weir_loop_step(rig->loop, STEP_MS);
}

enum weir_status rig_address(const struct rig *rig, enum rig_service service, char **ret_address,
                             struct weir_error *err)
{
    WEIR_AUTO_FREE char *path = weir_service_pair_path(rig_data_dir(rig));
    WEIR_AUTO_FREE char *endpoint = orchestrator_listen_address_of(&rig->remote, NAMES[service]);
    struct weir_pair pair;
    enum weir_status status = weir_pair_keep(path, &pair, err);

    if (status != WEIR_OK)
        return status;
    *ret_address = weir_format("%s#%s", endpoint, pair.public);
    weir_pair_fini(&pair);
    return WEIR_OK;
}

const char *rig_data_dir(const struct rig *rig)
{
    return orchestrator_platform_data_dir(rig->platform);
}

const char *rig_socket_dir(const struct rig *rig)
{
    return orchestrator_platform_socket_dir(rig->platform);
}

const char *rig_postgres(const struct rig *rig)
{
    return orchestrator_platform_postgres(rig->platform);
}

enum weir_status rig_scan(struct rig *rig, const char *config, const char *name,
                          struct msg_dataset_is *ret_dataset, struct weir_error *err)
{
    const struct msg_dataset_declare declare = {.file = "bench.yaml",
                                                .config = weir_bytes_of(config)};
    const struct rig_call first = {RIG_STORAGE, MSG_dataset_declare, &declare,
                                   MSG_dataset_declared};
    const struct msg_dataset_request request = {.name = name};
    const struct rig_call then = {RIG_STORAGE, MSG_dataset_request, &request, MSG_dataset_is};
    struct msg_dataset_declared declared;
    struct msg_dataset_is dataset = {0};
    enum weir_status status = rig_request(rig, &first, &declared, err);
    while (status == WEIR_OK) {
        status = rig_request(rig, &then, &dataset, err);
        if (status != WEIR_OK || dataset.scanned)
            break;
        nanosleep(&(struct timespec){.tv_nsec = POLL_NS}, NULL);
    }
    *ret_dataset = dataset;
    return status;
}

enum weir_status rig_spawn_ended(const struct orchestrator_spawn *spawn, int *ret_ended,
                                 struct weir_error *err)
{
    pid_t pid = 0;
    enum weir_status status = orchestrator_spawn(spawn, &pid, err);
    if (status != WEIR_OK)
        return status;
    while (waitpid(pid, ret_ended, 0) < 0)
        if (errno != EINTR)
            return weir_fail(err, WEIR_INTERNAL, "lost sight of %s", spawn->argv[0]);
    return WEIR_OK;
}

enum weir_status rig_spawn_wait(const struct orchestrator_spawn *spawn, struct weir_error *err)
{
    int ended = 0;
    char line[256];
    char how[64];
    enum weir_status status = rig_spawn_ended(spawn, &ended, err);
    if (status != WEIR_OK || (WIFEXITED(ended) && WEXITSTATUS(ended) == 0))
        return status;
    orchestrator_log_last_line(spawn->log_path, line, sizeof(line));
    orchestrator_wait_status_text(ended, how, sizeof(how));
    return weir_fail(err, WEIR_IO, "%s failed (%s): %s", spawn->argv[0], how, line);
}
