/* See far_storage.h. */
#include "benchmarks/cluster/far_storage.h"

#include "benchmarks/cluster/far_postgres.h"
#include "benchmarks/cluster/far_times.h"
#include "benchmarks/rig.h"
#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/service/service.h"
#include "orchestrator/platform/platform.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

enum { HOLDERS = 16, ROUND_MS = 20, ANSWER_MS = 60000 };

#define DATABASE "far_storage"

static const char CONFIG[] = "datasets:\n"
                             "  - name: far\n"
                             "    source: {path: %s, format: jsonl, settle: 20ms}\n"
                             "    time: {from: field, field: ts}\n";

/* A message that is not answered yet. */
struct question {
    struct far_storage *far;
    enum far_question question;
    int64_t sent_ns;
    bool is_open;
};

struct far_storage {
    char *folder, *source;
    pid_t pid; /* 0: it has not been started */
    struct weir_loop *loop;
    struct weir_rpc_peer *peer;
    struct weir_arena *arena;
    struct question holds[HOLDERS], locate;
    struct far_times times[FAR_QUESTIONS];
    uint64_t files, timer;
    bool has_failed;
    struct weir_error err;
};

/* ---- what is asked ---- */

static void on_answer(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct question *question = owner;
    struct far_storage *far = question->far;
    question->is_open = false;
    if (reply != NULL) {
        far_times_note(&far->times[question->question], weir_now_ns() - question->sent_ns);
        return;
    }
    far->has_failed = true;
    far->err = *err;
}

static void ask(struct question *question, enum weir_message type, const void *message)
{
    if (question->is_open)
        return;
    question->is_open = true;
    question->sent_ns = weir_now_ns();
    weir_rpc_call(question->far->peer, type, message, ANSWER_MS, on_answer, question);
}

static enum weir_status write_file(struct far_storage *far, struct weir_error *err)
{
    WEIR_AUTO_FREE char *path =
        weir_format("%s/%llu.jsonl", far->source, (unsigned long long)++far->files);
    return weir_file_write_atomic(path, weir_bytes_of("{\"ts\": \"2024-01-01\", \"a\": 1}\n"), err);
}

static void on_round(void *owner)
{
    struct far_storage *far = owner;
    const uint64_t id = UINT64_C(1) << 44;
    far->has_failed = far->has_failed || write_file(far, &far->err) != WEIR_OK;
    for (uint64_t i = 0; i < HOLDERS; i++)
        ask(&far->holds[i], MSG_hold, &(struct msg_hold){.holder = "worker", .session = i + 1});
    ask(&far->locate, MSG_locate, &(struct msg_locate){.ids = {&id, 1}});
}

enum weir_status far_storage_run(struct far_storage *far, size_t holds, struct weir_error *err)
{
    for (size_t i = 0; i < FAR_QUESTIONS; i++)
        far->times[i].count = 0;
    far->timer = weir_loop_timer(far->loop, ROUND_MS, ROUND_MS, on_round, far);
    while (!far->has_failed && far->times[FAR_HOLDS].count < holds)
        weir_loop_step(far->loop, ROUND_MS);
    weir_loop_cancel(far->loop, far->timer);
    *err = far->err;
    return far->has_failed ? far->err.status : WEIR_OK;
}

int64_t far_storage_p99_ns(const struct far_storage *far, enum far_question question)
{
    return far_times_p99_ns(&far->times[question]);
}

/* ---- life ---- */

static enum weir_status start(struct far_storage *far, const char *conninfo, struct weir_error *err)
{
    WEIR_AUTO_FREE char *bin = orchestrator_platform_own_directory();
    WEIR_AUTO_FREE char *program = weir_format("%s/storage", bin);
    WEIR_AUTO_FREE char *run = weir_format("%s/run", far->folder);
    WEIR_AUTO_FREE char *log = weir_format("%s/storage.log", far->folder);
    WEIR_AUTO_FREE char *postgres = weir_format("%s dbname=" DATABASE, conninfo);
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(run, "storage");
    char *const argv[] = {program,
                          (char[]){"--data-dir"},
                          far->folder,
                          (char[]){"--socket-dir"},
                          run,
                          (char[]){"--postgres"},
                          postgres,
                          (char[]){"--log-level"},
                          (char[]){"warn"},
                          NULL};
    enum weir_status status = orchestrator_spawn(
        &(struct orchestrator_spawn){.argv = argv, .log_path = log}, &far->pid, err);
    return status == WEIR_OK ? weir_rpc_connect(far->loop, endpoint, NULL, NULL, &far->peer, err)
                             : status;
}

static enum weir_status declare(struct far_storage *far, struct weir_error *err)
{
    WEIR_AUTO_FREE char *config = weir_format(CONFIG, far->source);
    const struct msg_dataset_declare asked = {.file = "far.yaml", .config = weir_bytes_of(config)};
    struct msg_dataset_declared declared;
    struct msg_dataset_is dataset = {.live = 0};
    enum weir_status status = weir_rpc_request(far->peer, MSG_dataset_declare, &asked, ANSWER_MS,
                                               MSG_dataset_declared, far->arena, &declared, err);
    while (status == WEIR_OK && dataset.live == 0)
        status = weir_rpc_request(far->peer, MSG_dataset_request,
                                  &(struct msg_dataset_request){.name = "far"}, ANSWER_MS,
                                  MSG_dataset_is, far->arena, &dataset, err);
    return status;
}

static enum weir_status open_all(struct far_storage *far, const char *conninfo,
                                 struct weir_error *err)
{
    enum weir_status status = weir_make_directories(far->source, 0755, err);
    if (status == WEIR_OK)
        status = write_file(far, err);
    if (status == WEIR_OK)
        status = far_postgres_make_database(conninfo, DATABASE, err);
    if (status == WEIR_OK)
        status = start(far, conninfo, err);
    return status == WEIR_OK ? declare(far, err) : status;
}

enum weir_status far_storage_open(const char *directory, const char *conninfo,
                                  struct far_storage **ret_far, struct weir_error *err)
{
    struct far_storage *far = weir_calloc(1, sizeof(*far));
    far->folder = weir_format("%s/far-storage", directory);
    far->source = weir_format("%s/source", far->folder);
    far->loop = weir_loop_new();
    far->arena = weir_arena_new();
    far->locate = (struct question){.far = far, .question = FAR_LOCATES};
    for (size_t i = 0; i < HOLDERS; i++)
        far->holds[i] = (struct question){.far = far, .question = FAR_HOLDS};
    enum weir_status status = open_all(far, conninfo, err);
    if (status != WEIR_OK) {
        far_storage_close(far);
        return status;
    }
    *ret_far = far;
    return WEIR_OK;
}

void far_storage_close(struct far_storage *far)
{
    if (far == NULL)
        return;
    weir_rpc_peer_close(far->peer);
    weir_loop_free(far->loop);
    weir_arena_free(far->arena);
    if (far->pid > 0 && kill(far->pid, SIGTERM) == 0)
        (void)waitpid(far->pid, NULL, 0);
    for (size_t i = 0; i < FAR_QUESTIONS; i++)
        far_times_fini(&far->times[i]);
    free(far->folder);
    free(far->source);
    free(far);
}
