/* A pool of real dispatcher and worker processes over a scripted storage: see the header. */
#include "tests/component/preprocess_lab.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/rpc/rpc.h"
#include "core/service/service.h"
#include "core/wire/sample_set.h"
#include "tests/component/preprocess_storage.h"
#include "tests/support/child.h"
#include "tests/support/loop.h"
#include "tests/support/process_memory.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct lab {
    struct temp_dir dir;
    const char *conninfo;
    char *data_path, *set_path;
    char digest[WEIR_DIGEST_TEXT_MAX];
    uint64_t offsets[LAB_SAMPLES + 1];
    struct scripted_storage *storage;
    pid_t dispatcher;
    pid_t worker[LAB_WORKERS_MAX];
    int workers;
    const char *compress;   /* of workers on TCP; NULL: they have local sockets */
    struct weir_loop *loop; /* of the test's own questions */
    struct weir_rpc_peer *peer;
};

/* ---- processes ---- */

static pid_t start_process(const struct lab *lab, const char *binary, const char *name)
{
    WEIR_AUTO_FREE char *path = weir_format("%s/%s", WEIR_BIN_DIR, binary);
    const char *const argv[] = {path,          "--data-dir",  lab->dir.path, "--socket-dir",
                                lab->dir.path, "--postgres",  lab->conninfo, "--name",
                                name,          "--log-level", "warn",        NULL};
    return child_start(argv, NULL, NULL);
}

static void start_worker(struct lab *lab, int worker)
{
    WEIR_AUTO_FREE char *name = weir_format("worker-%d", worker + 1);
    static const char PROGRAM[] = WEIR_BIN_DIR "/worker";
    const char *const on_tcp[] = {PROGRAM,
                                  "--data-dir",
                                  lab->dir.path,
                                  "--socket-dir",
                                  lab->dir.path,
                                  "--name",
                                  name,
                                  "--log-level",
                                  "warn",
                                  "--listen",
                                  "tcp://127.0.0.1:*",
                                  "--compress",
                                  lab->compress,
                                  NULL};
    lab->worker[worker] = lab->compress != NULL ? child_start(on_tcp, NULL, NULL)
                                                : start_process(lab, "worker", name);
}

/* An orderly stop; a leak or a sanitizer's finding would show in the exit code. */
static void stop_process(pid_t pid)
{
    int status = child_end(pid, SIGTERM);
    weir_require(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

void lab_kill_worker(struct lab *lab, int worker)
{
    child_end(lab->worker[worker], SIGKILL);
    start_worker(lab, worker);
}

void lab_freeze_worker(struct lab *lab, int worker)
{
    weir_require(kill(lab->worker[worker], SIGSTOP) == 0);
}

void lab_thaw_worker(struct lab *lab, int worker)
{
    weir_require(kill(lab->worker[worker], SIGCONT) == 0);
}

void lab_retire_worker(struct lab *lab, int worker)
{
    stop_process(lab->worker[worker]);
    lab->worker[worker] = 0;
}

void lab_hire_worker(struct lab *lab, int worker)
{
    start_worker(lab, worker);
}

void lab_kill_dispatcher(struct lab *lab)
{
    child_end(lab->dispatcher, SIGKILL);
    lab->dispatcher = start_process(lab, "dispatcher", "dispatcher");
}

long lab_memory_kb(const struct lab *lab)
{
    long sum = 0;
    for (int i = 0; i < lab->workers; i++)
        sum += process_memory_kb(lab->worker[i], "VmRSS:");
    return sum;
}

/* ---- data ---- */

static void write_data(struct lab *lab, int bad_line)
{
    FILE *file = fopen(lab->data_path, "w");
    weir_require(file != NULL);
    for (int i = 0; i < LAB_SAMPLES; i++) {
        lab->offsets[i] = (uint64_t)ftell(file);
        if (i == bad_line)
            fprintf(file, "{\"a\": %d, \"b\": %dx}\n", i, i * i);
        else
            fprintf(file, "{\"a\": %d, \"b\": %d}\n", i, i * i);
    }
    lab->offsets[LAB_SAMPLES] = (uint64_t)ftell(file);
    fclose(file);
}

static void write_set(struct lab *lab)
{
    struct weir_error err;
    struct weir_digest digest;
    uint64_t ids[LAB_SAMPLES];
    for (size_t i = 0; i < LAB_SAMPLES; i++)
        ids[i] = LAB_FIRST_ID + i;
    weir_require(weir_sample_set_write(lab->set_path, ids, NULL, LAB_SAMPLES, &digest, &err) ==
                 WEIR_OK);
    weir_digest_text(&digest, lab->digest);
}

bool lab_in_part(size_t row, uint32_t epoch)
{
    return (row * 7 + epoch * (size_t)13) % 10 < 5;
}

/* Writes the set once more, divided. */
static void divide_set(struct lab *lab)
{
    struct weir_error err;
    struct weir_digest digest;
    WEIR_AUTO(weir_sample_set_writer) writer = NULL;
    uint64_t ids[LAB_SAMPLES];
    uint32_t indices[LAB_PARTS * LAB_SAMPLES / 2];
    size_t count = 0;
    for (size_t i = 0; i < LAB_SAMPLES; i++)
        ids[i] = LAB_FIRST_ID + i;
    for (uint32_t epoch = 0; epoch < LAB_PARTS; epoch++)
        for (uint32_t i = 0; i < LAB_SAMPLES; i++)
            if (lab_in_part(i, epoch))
                indices[count++] = i;
    weir_require(count == WEIR_COUNT(indices));
    weir_require(weir_sample_set_begin(lab->set_path, LAB_SAMPLES, NULL, &writer, &err) == WEIR_OK);
    weir_sample_set_divide(writer, &(struct weir_epoch_parts){indices, LAB_SAMPLES / 2, LAB_PARTS});
    weir_require(weir_sample_set_add(writer, ids, LAB_SAMPLES, &err) == WEIR_OK);
    weir_require(weir_sample_set_finish(writer, &digest, &err) == WEIR_OK);
    weir_require(weir_sample_set_publish(writer, lab->set_path, &err) == WEIR_OK);
    weir_digest_text(&digest, lab->digest);
}

void lab_lose_file(struct lab *lab)
{
    WEIR_AUTO_FREE char *other = weir_format("%s.other", lab->data_path);
    FILE *file = fopen(other, "w");
    weir_require(file != NULL);
    fclose(file);
    weir_require(rename(other, lab->data_path) == 0);
}

void lab_lose_set(struct lab *lab)
{
    weir_require(unlink(lab->set_path) == 0);
}

void lab_mend_line(struct lab *lab, int bad_line)
{
    FILE *file = fopen(lab->data_path, "r+");
    weir_require(file != NULL && fseek(file, (long)lab->offsets[bad_line], SEEK_SET) == 0);
    fprintf(file, "{\"a\": %d, \"b\": %d }\n", bad_line, bad_line * bad_line);
    fclose(file);
    scripted_storage_look_again(lab->storage);
}

size_t lab_located(struct lab *lab, uint64_t id)
{
    return scripted_storage_located(lab->storage, id);
}

void lab_slow_storage(struct lab *lab, int64_t ms)
{
    scripted_storage_slow_down(lab->storage, ms);
}

void lab_hide_file(struct lab *lab)
{
    scripted_storage_hide(lab->storage);
}

size_t lab_storage_reads(struct lab *lab, size_t *ret_loans)
{
    return scripted_storage_reads(lab->storage, ret_loans);
}

size_t lab_storage_wholes(struct lab *lab)
{
    return scripted_storage_wholes(lab->storage);
}

void lab_erase(struct lab *lab, uint64_t id)
{
    scripted_storage_erase(lab->storage, id);
}

/* ---- life ---- */

static struct lab *start(struct weir_test_postgres *postgres, int workers, int bad_line,
                         const char *compress)
{
    struct lab *lab = weir_calloc(1, sizeof(*lab));
    struct weir_error err;
    lab->compress = compress;
    temp_dir_make(&lab->dir);
    lab->conninfo = postgres->conninfo;
    lab->data_path = weir_format("%s/data.jsonl", lab->dir.path);
    lab->set_path = weir_format("%s/all.set", lab->dir.path);
    write_data(lab, bad_line);
    write_set(lab);
    lab->storage = scripted_storage_start(&(struct storage_script){.socket_dir = lab->dir.path,
                                                                   .path = lab->data_path,
                                                                   .first_id = LAB_FIRST_ID,
                                                                   .count = LAB_SAMPLES,
                                                                   .offsets = lab->offsets});
    lab->workers = workers;
    lab->dispatcher = start_process(lab, "dispatcher", "dispatcher");
    for (int i = 0; i < workers; i++)
        start_worker(lab, i);
    lab->loop = weir_loop_new();
    WEIR_AUTO_FREE char *endpoint = weir_service_endpoint(lab->dir.path, "dispatcher");
    weir_require(weir_rpc_connect(lab->loop, endpoint, NULL, lab, &lab->peer, &err) == WEIR_OK);
    return lab;
}

struct lab *lab_start(struct weir_test_postgres *postgres, int workers, int bad_line)
{
    return start(postgres, workers, bad_line, NULL);
}

struct lab *lab_start_over_tcp(struct weir_test_postgres *postgres, int workers,
                               const char *compress)
{
    return start(postgres, workers, -1, compress);
}

void lab_stop(struct lab *lab)
{
    weir_rpc_peer_close(lab->peer);
    weir_loop_free(lab->loop);
    for (int i = 0; i < lab->workers; i++)
        stop_process(lab->worker[i]);
    stop_process(lab->dispatcher);
    scripted_storage_stop(lab->storage);
    temp_dir_remove(&lab->dir);
    free(lab->data_path);
    free(lab->set_path);
    free(lab);
}

const char *lab_socket_dir(const struct lab *lab)
{
    return lab->dir.path;
}

/* ---- questions ---- */

void lab_open_job(struct lab *lab, uint64_t job, const char *section, uint32_t epochs)
{
    lab_open_ranked_job(lab, job, section, epochs, 1);
}

/* Fills in what all jobs have in common; an epoch is to have `samples`. */
static void open_job(struct lab *lab, struct msg_job_open ask, uint64_t samples)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct weir_error err = {0};
    struct msg_job_opened answer;
    ask.file = "lab.yaml";
    ask.set_path = lab->set_path;
    ask.set_digest = lab->digest;
    ask.seed = 3;
    ask.mode = "train";
    enum weir_status status = weir_rpc_request(lab->peer, MSG_job_open, &ask, TEST_PATIENCE_MS,
                                               MSG_job_opened, arena, &answer, &err);
    if (status != WEIR_OK)
        fprintf(stderr, "job_open: %s\n", err.text);
    weir_require(status == WEIR_OK && answer.samples == samples);
}

void lab_open_ranked_job(struct lab *lab, uint64_t job, const char *section, uint32_t epochs,
                         uint32_t ranks)
{
    open_job(lab,
             (struct msg_job_open){
                 .job = job, .config = weir_bytes_of(section), .epochs = epochs, .ranks = ranks},
             LAB_SAMPLES);
}

void lab_open_parted_job(struct lab *lab, uint64_t job, const char *section, uint32_t ranks)
{
    divide_set(lab);
    open_job(lab,
             (struct msg_job_open){
                 .job = job, .config = weir_bytes_of(section), .epochs = LAB_PARTS, .ranks = ranks},
             LAB_SAMPLES / 2);
}

void lab_open_job_from(struct lab *lab, uint64_t job, const char *section, struct weir_bytes fitted)
{
    open_job(lab,
             (struct msg_job_open){.job = job,
                                   .config = weir_bytes_of(section),
                                   .epochs = 1,
                                   .ranks = 1,
                                   .fitted = fitted},
             LAB_SAMPLES);
}

static struct msg_job_is ask(struct lab *lab, uint64_t job, struct weir_arena *arena)
{
    struct weir_error err = {0};
    struct msg_job_is answer;
    enum weir_status status =
        weir_rpc_request(lab->peer, MSG_job_request, &(struct msg_job_request){.job = job},
                         TEST_PATIENCE_MS, MSG_job_is, arena, &answer, &err);
    if (status != WEIR_OK)
        fprintf(stderr, "job_request: %s\n", err.text);
    weir_require(status == WEIR_OK);
    return answer;
}

struct msg_job_is lab_audit(struct lab *lab, uint64_t job)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct msg_job_is answer = ask(lab, job, arena);
    answer.state = answer.delivery = "";
    answer.operators = (struct weir_strs){0};
    answer.operator_ns = (struct weir_i64s){0};
    answer.operator_bytes = (struct weir_u64s){0};
    answer.fitted = (struct weir_bytes){0};
    return answer;
}

uint64_t lab_failed(struct lab *lab, uint64_t job, char reason[LAB_REASON_MAX])
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct msg_job_is answer = ask(lab, job, arena);
    if (answer.failed_ids.count == 0)
        return 0;
    (void)snprintf(reason, LAB_REASON_MAX, "%s", answer.failed_reasons.at[0]);
    return answer.failed_ids.at[0];
}

struct weir_client *lab_consume(struct lab *lab, uint64_t job, const void *state, size_t size)
{
    return lab_consume_within(lab, job, state, size, 0);
}

struct weir_client *lab_consume_within(struct lab *lab, uint64_t job, const void *state,
                                       size_t size, uint64_t prefetch_bytes)
{
    struct weir_client_options options = WEIR_CLIENT_OPTIONS_INIT;
    options.prefetch_bytes = prefetch_bytes;
    struct weir_client_error error;
    struct weir_client *client = NULL;
    options.run = job;
    options.socket_dir = lab->dir.path;
    options.state = state;
    options.state_size = size;
    enum weir_client_status status = weir_client_open(&options, &client, &error);
    if (status != WEIR_CLIENT_OK)
        fprintf(stderr, "weir_client_open: %s\n", error.text);
    weir_require(status == WEIR_CLIENT_OK);
    return client;
}

static void request_pool(struct lab *lab, struct weir_arena *arena,
                         struct msg_workers_are *ret_pool)
{
    struct weir_error err;
    weir_require(weir_rpc_request(lab->peer, MSG_workers_request, NULL, TEST_PATIENCE_MS,
                                  MSG_workers_are, arena, ret_pool, &err) == WEIR_OK);
}

uint64_t lab_failing(struct lab *lab, uint64_t job, char reason[LAB_REASON_MAX])
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct msg_workers_are pool;
    uint64_t failed = 0;
    request_pool(lab, arena, &pool);
    for (size_t i = 0; i < pool.jobs.count; i++) {
        if (pool.jobs.at[i] != job)
            continue;
        (void)snprintf(reason, LAB_REASON_MAX, "%s", pool.job_reasons.at[i]);
        failed = pool.job_failed.at[i];
    }
    return failed;
}

void lab_pause(struct lab *lab, int64_t ms)
{
    for (int64_t end_ms = weir_now_ms() + ms; weir_now_ms() < end_ms;)
        weir_loop_step(lab->loop, end_ms - weir_now_ms());
}

struct lab_flow lab_flow(struct lab *lab)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct msg_workers_are pool;
    struct lab_flow flow = {.least = UINT32_MAX};
    request_pool(lab, arena, &pool);
    for (size_t i = 0; i < pool.workers.count; i++) {
        flow.sent += pool.bytes_sent.at[i];
        flow.least = pool.queued.at[i] < flow.least ? pool.queued.at[i] : flow.least;
        flow.most = pool.queued.at[i] > flow.most ? pool.queued.at[i] : flow.most;
    }
    return flow;
}

int lab_leases(struct lab *lab, int worker)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    WEIR_AUTO_FREE char *name = weir_format("worker-%d", worker + 1);
    struct msg_workers_are pool;
    request_pool(lab, arena, &pool);
    for (size_t i = 0; i < pool.workers.count; i++) {
        if (weir_str_equal(pool.workers.at[i], name))
            return (int)pool.leases.at[i];
    }
    return -1;
}

size_t lab_made(struct lab *lab, uint64_t job, uint64_t *ret_bytes)
{
    WEIR_AUTO(weir_arena) arena = weir_arena_new();
    struct msg_workers_are pool;
    size_t rows = 0;
    request_pool(lab, arena, &pool);
    *ret_bytes = 0;
    for (size_t i = 0; i < pool.operators.count; i++) {
        weir_require(pool.operator_workers.at[i] < pool.workers.count);
        rows += pool.operator_jobs.at[i] == job;
        *ret_bytes += pool.operator_jobs.at[i] == job ? pool.operator_bytes.at[i] : 0;
    }
    return rows;
}
