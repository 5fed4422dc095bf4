/* The storage that preprocess tests script. What a test changes is under one mutex. */
#include "tests/component/preprocess_storage.h"

#include "core/base/clock.h"
#include "core/base/file.h"
#include "core/base/memory.h"
#include "core/rpc/rpc.h"
#include "core/rpc/segment.h"
#include "core/wire/column.h"
#include "core/wire/sample.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ERASED_MAX = 16, LEASE_MS = 2000, TICK_MS = 10, READ_MAX = 10, REQUESTS_MAX = 64 };

struct scripted_storage {
    struct storage_script script;
    struct stat about; /* of the file, as it was at the beginning */
    struct weir_loop *loop;
    struct weir_rpc_server *server;
    struct weir_borrowed *borrowed;
    pthread_t thread;

    pthread_mutex_t mutex; /* of everything below */
    bool stopping;
    uint64_t erased[ERASED_MAX]; /* the n-th is erased under epoch n + 1 */
    uint64_t epoch;
    bool is_hidden;
    int64_t delay_ms;
    struct {
        uint64_t request;
        int64_t at_ms;
    } asked[REQUESTS_MAX]; /* first */
    size_t reads, loans, wholes;
    uint32_t *located; /* per sample */
};

static struct msg_located_chunks about_file(const struct scripted_storage *storage,
                                            struct weir_arena *arena)
{
    static const uint64_t LAYOUTS[] = {1};
    const struct stat *about = &storage->about;
    const char *path = storage->is_hidden ? "/nowhere/lines" : storage->script.path;
    uint64_t devices[] = {about->st_dev}, inodes[] = {about->st_ino};
    uint64_t sizes[] = {(uint64_t)about->st_size};
    int64_t mtimes[] = {about->st_mtim.tv_sec * 1000000000 + about->st_mtim.tv_nsec};
    return (struct msg_located_chunks){
        .paths = {weir_arena_copy(arena, &path, sizeof(path)), 1},
        .layouts = {LAYOUTS, 1},
        .devices = {weir_arena_copy(arena, devices, sizeof(devices)), 1},
        .inodes = {weir_arena_copy(arena, inodes, sizeof(inodes)), 1},
        .sizes = {weir_arena_copy(arena, sizes, sizeof(sizes)), 1},
        .mtimes = {weir_arena_copy(arena, mtimes, sizeof(mtimes)), 1},
    };
}

static bool is_erased(const struct scripted_storage *storage, uint64_t id)
{
    for (uint64_t i = 0; i < storage->epoch; i++) {
        if (storage->erased[i] == id)
            return true;
    }
    return false;
}

/* It is asked again until it answers: before its time is over it is silent. */
static bool is_too_early(struct scripted_storage *storage, uint64_t request)
{
    int64_t now_ms = weir_now_ms();
    size_t at = request % REQUESTS_MAX;
    pthread_mutex_lock(&storage->mutex);
    if (storage->asked[at].request != request) {
        storage->asked[at].request = request;
        storage->asked[at].at_ms = now_ms;
    }
    bool is_early = now_ms - storage->asked[at].at_ms < storage->delay_ms;
    pthread_mutex_unlock(&storage->mutex);
    return is_early;
}

static void on_locate(void *owner, struct weir_request *request)
{
    struct scripted_storage *storage = owner;
    if (is_too_early(storage, request->route.request))
        return;
    const struct msg_locate *ask = request->message;
    size_t room = (ask->ids.count + 1) * sizeof(uint64_t);
    uint32_t *states = weir_arena_alloc(request->arena, room);
    uint32_t *files = weir_arena_alloc(request->arena, room);
    uint64_t *offsets = weir_arena_alloc(request->arena, room);
    uint64_t *lengths = weir_arena_alloc(request->arena, room);
    int64_t *labels = weir_arena_alloc(request->arena, room);
    int64_t *times = weir_arena_alloc(request->arena, room);
    pthread_mutex_lock(&storage->mutex);
    for (size_t i = 0; i < ask->ids.count; i++) {
        uint64_t row = ask->ids.at[i] - storage->script.first_id;
        weir_require(row < storage->script.count);
        storage->located[row]++;
        states[i] = is_erased(storage, ask->ids.at[i]) ? WEIR_SAMPLE_ERASED : WEIR_SAMPLE_LIVE;
        offsets[i] = storage->script.offsets[row];
        lengths[i] = storage->script.offsets[row + 1] - offsets[i];
        labels[i] = row % 2;
    }
    uint64_t epoch = storage->epoch;
    const struct msg_located_chunks about = about_file(storage, request->arena);
    pthread_mutex_unlock(&storage->mutex);
    size_t count = ask->ids.count;
    weir_rpc_reply(request->server, &request->route, MSG_located,
                   &(struct msg_located){.epoch = epoch,
                                         .states = {states, count},
                                         .files = {files, count},
                                         .offsets = {offsets, count},
                                         .lengths = {lengths, count},
                                         .labels = {labels, count},
                                         .times = {times, count},
                                         .paths = about.paths,
                                         .layouts = about.layouts,
                                         .devices = about.devices,
                                         .inodes = about.inodes,
                                         .sizes = about.sizes,
                                         .mtimes = about.mtimes,
                                         .format = "jsonl",
                                         .label_kind = WEIR_LABEL_INT,
                                         .ids = ask->ids},
                   NULL);
}

enum { PLACES = 6 }; /* columns of a chunk */

/* All samples as one chunk; `bytes` of each column. */
static void pack_whole(const struct scripted_storage *storage, struct weir_buf *columns,
                       uint32_t bytes[PLACES])
{
    const struct storage_script *script = &storage->script;
    int64_t *values[PLACES];
    for (size_t c = 0; c < PLACES; c++)
        values[c] = weir_calloc(script->count, sizeof(int64_t));
    for (size_t row = 0; row < script->count; row++) {
        if (is_erased(storage, script->first_id + row)) {
            values[0][row] = WEIR_SAMPLE_ERASED;
            continue;
        }
        values[2][row] = (int64_t)script->offsets[row];
        values[3][row] = (int64_t)(script->offsets[row + 1] - script->offsets[row]);
        values[4][row] = (int64_t)row % 2;
        values[5][row] = (int64_t)row;
    }
    for (size_t c = 0; c < PLACES; c++) {
        size_t before = columns->size;
        weir_column_pack(values[c], script->count, columns);
        bytes[c] = (uint32_t)(columns->size - before);
        free(values[c]);
    }
}

/* Another edition with each erasure. */
static void on_locate_chunks(void *owner, struct weir_request *request)
{
    static const uint64_t FIRST_FILE[] = {0};
    static const uint32_t KIND[] = {WEIR_LABEL_INT}, FILES[] = {1};
    struct scripted_storage *storage = owner;
    const struct msg_locate_chunks *ask = request->message;
    uint32_t bytes[PLACES], count = (uint32_t)storage->script.count;
    WEIR_AUTO_BUF columns = {0};
    weir_require(ask->datasets.count == 1 && ask->ids.count <= 1);
    pthread_mutex_lock(&storage->mutex);
    uint64_t edition = 1 + storage->epoch;
    struct msg_located_chunks answer = {.epoch = storage->epoch};
    if (ask->ids.count == 1) {
        storage->wholes++;
        answer = about_file(storage, request->arena);
        answer.epoch = storage->epoch;
        pack_whole(storage, &columns, bytes);
    }
    pthread_mutex_unlock(&storage->mutex);
    answer.datasets = ask->datasets;
    answer.editions = (struct weir_u64s){&edition, 1};
    answer.ids = ask->ids;
    answer.firsts = (struct weir_u64s){&storage->script.first_id, ask->ids.count};
    answer.counts = (struct weir_u32s){&count, ask->ids.count};
    answer.bytes = (struct weir_u32s){bytes, PLACES * ask->ids.count};
    answer.label_kinds = (struct weir_u32s){KIND, ask->ids.count};
    answer.first_files = (struct weir_u64s){FIRST_FILE, ask->ids.count};
    answer.file_counts = (struct weir_u32s){FILES, ask->ids.count};
    struct weir_frames frames = {.count = 0};
    weir_frames_copy(&frames, columns.at, columns.size);
    weir_rpc_reply(request->server, &request->route, MSG_located_chunks, &answer, &frames);
}

/* As storage does: nothing of a file that is not the one it knows, and the first ids only. */
/* Every second payload is written to what the worker lends. Returns how many bytes were. */
static uint64_t write_to_loan(struct scripted_storage *storage, const struct msg_read *ask,
                              struct weir_bytes payload, size_t reads)
{
    struct weir_loan loan;
    if (reads % 2 == 0 || payload.size == 0 ||
        !weir_loan_claim(storage->borrowed, ask->loan, &loan))
        return 0;
    weir_require(payload.size <= loan.size);
    memcpy(loan.at, payload.at, payload.size);
    weir_loan_end(&loan, true);
    storage->loans++;
    return payload.size;
}

static void on_read(void *owner, struct weir_request *request)
{
    struct scripted_storage *storage = owner;
    const struct msg_read *ask = request->message;
    size_t count = ask->ids.count < READ_MAX ? ask->ids.count : READ_MAX;
    uint32_t states[READ_MAX];
    uint64_t lengths[READ_MAX] = {0};
    int64_t labels[READ_MAX] = {0};
    WEIR_AUTO_BUF payload = {0};
    WEIR_AUTO_FD int fd = open(storage->script.path, O_RDONLY | O_CLOEXEC);
    struct stat now;
    weir_require(fd >= 0 && fstat(fd, &now) == 0);
    pthread_mutex_lock(&storage->mutex);
    size_t reads = ++storage->reads;
    for (size_t i = 0; i < count; i++) {
        uint64_t row = ask->ids.at[i] - storage->script.first_id;
        uint64_t offset = storage->script.offsets[row];
        states[i] = now.st_ino == storage->about.st_ino ? WEIR_SAMPLE_LIVE : WEIR_SAMPLE_GONE;
        if (is_erased(storage, ask->ids.at[i]))
            states[i] = WEIR_SAMPLE_ERASED;
        if (states[i] != WEIR_SAMPLE_LIVE)
            continue;
        lengths[i] = storage->script.offsets[row + 1] - offset;
        weir_buf_reserve(&payload, lengths[i]);
        weir_require(pread(fd, payload.at + payload.size, lengths[i], (off_t)offset) ==
                     (ssize_t)lengths[i]);
        payload.size += lengths[i];
    }
    uint64_t epoch = storage->epoch;
    uint64_t written = write_to_loan(storage, ask, weir_buf_view(&payload), reads);
    pthread_mutex_unlock(&storage->mutex);
    struct weir_frames frames = {.count = 0};
    if (written == 0)
        weir_frames_copy(&frames, payload.at, payload.size);
    weir_rpc_reply(request->server, &request->route, MSG_read_is,
                   &(struct msg_read_is){.epoch = epoch,
                                         .states = {states, count},
                                         .lengths = {lengths, count},
                                         .labels = {labels, count},
                                         .ids = {ask->ids.at, count},
                                         .written = written},
                   &frames);
}

static void on_hold(void *owner, struct weir_request *request)
{
    struct scripted_storage *storage = owner;
    const struct msg_hold *hold = request->message;
    pthread_mutex_lock(&storage->mutex);
    uint64_t known = hold->epoch < storage->epoch ? hold->epoch : storage->epoch;
    struct msg_hold_is answer = {.epoch = storage->epoch,
                                 .lease_ms = LEASE_MS,
                                 .erased = {storage->erased + known, storage->epoch - known}};
    weir_rpc_reply(request->server, &request->route, MSG_hold_is, &answer, NULL);
    pthread_mutex_unlock(&storage->mutex);
}

static void on_hold_end(void *owner, struct weir_request *request)
{
    (void)owner;
    (void)request;
}

static const struct weir_rpc_handler HANDLERS[] = {
    WEIR_ON(locate, on_locate), WEIR_ON(locate_chunks, on_locate_chunks), WEIR_ON(read, on_read),
    WEIR_ON(hold, on_hold),     WEIR_ON(hold_end, on_hold_end),           {MSG_none, NULL},
};

static void on_tick(void *owner)
{
    struct scripted_storage *storage = owner;
    pthread_mutex_lock(&storage->mutex);
    bool stopping = storage->stopping;
    pthread_mutex_unlock(&storage->mutex);
    if (stopping)
        weir_loop_stop(storage->loop);
}

static void *run(void *owner)
{
    struct scripted_storage *storage = owner;
    weir_loop_run(storage->loop);
    return NULL;
}

struct scripted_storage *scripted_storage_start(const struct storage_script *script)
{
    struct scripted_storage *storage = weir_calloc(1, sizeof(*storage));
    struct weir_error err;
    storage->script = *script;
    weir_require(stat(script->path, &storage->about) == 0);
    pthread_mutex_init(&storage->mutex, NULL);
    storage->located = weir_calloc(script->count, sizeof(*storage->located));
    storage->loop = weir_loop_new();
    storage->borrowed = weir_borrowed_new(storage->loop);
    WEIR_AUTO_FREE char *endpoint = weir_format("ipc://%s/storage.sock", script->socket_dir);
    weir_require(weir_rpc_serve(storage->loop, endpoint, HANDLERS, storage, &storage->server,
                                &err) == WEIR_OK);
    weir_loop_timer(storage->loop, TICK_MS, TICK_MS, on_tick, storage);
    weir_require(pthread_create(&storage->thread, NULL, run, storage) == 0);
    return storage;
}

void scripted_storage_stop(struct scripted_storage *storage)
{
    pthread_mutex_lock(&storage->mutex);
    storage->stopping = true;
    pthread_mutex_unlock(&storage->mutex);
    pthread_join(storage->thread, NULL);
    weir_rpc_server_close(storage->server);
    weir_borrowed_free(storage->borrowed);
    weir_loop_free(storage->loop);
    pthread_mutex_destroy(&storage->mutex);
    free(storage->located);
    free(storage);
}

void scripted_storage_erase(struct scripted_storage *storage, uint64_t id)
{
    pthread_mutex_lock(&storage->mutex);
    weir_require(storage->epoch < ERASED_MAX);
    storage->erased[storage->epoch++] = id;
    pthread_mutex_unlock(&storage->mutex);
}

void scripted_storage_slow_down(struct scripted_storage *storage, int64_t ms)
{
    pthread_mutex_lock(&storage->mutex);
    storage->delay_ms = ms;
    pthread_mutex_unlock(&storage->mutex);
}

size_t scripted_storage_located(struct scripted_storage *storage, uint64_t id)
{
    pthread_mutex_lock(&storage->mutex);
    size_t times = storage->located[id - storage->script.first_id];
    pthread_mutex_unlock(&storage->mutex);
    return times;
}

void scripted_storage_look_again(struct scripted_storage *storage)
{
    pthread_mutex_lock(&storage->mutex);
    weir_require(stat(storage->script.path, &storage->about) == 0);
    pthread_mutex_unlock(&storage->mutex);
}

void scripted_storage_hide(struct scripted_storage *storage)
{
    pthread_mutex_lock(&storage->mutex);
    storage->is_hidden = true;
    pthread_mutex_unlock(&storage->mutex);
}

size_t scripted_storage_reads(struct scripted_storage *storage, size_t *ret_loans)
{
    pthread_mutex_lock(&storage->mutex);
    size_t reads = storage->reads;
    *ret_loans = storage->loans;
    pthread_mutex_unlock(&storage->mutex);
    return reads;
}

size_t scripted_storage_wholes(struct scripted_storage *storage)
{
    pthread_mutex_lock(&storage->mutex);
    size_t wholes = storage->wholes;
    pthread_mutex_unlock(&storage->mutex);
    return wholes;
}
