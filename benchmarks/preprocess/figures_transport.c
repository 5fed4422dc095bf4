/* Transport of large batches to a reader on the same host: in memory that it lends, or in frames over ipc (decision
 * 006), or in frames over TCP, encrypted (decision 008). A process of its own makes them and sends them; all its CPU
 * time and the reader's count. */
#include "benchmarks/preprocess/bench.h"

#include "core/base/clock.h"
#include "core/rpc/segment.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { BYTES = 512 << 20, CALL_MS = 60000, STEP_MS = 100, ADDRESS_MAX = 512 };

/* ---- the process that makes them ---- */

struct maker {
    struct weir_borrowed *borrowed;
    size_t size;
    uint8_t made; /* differs from one batch to the next */
};

/* Copies the output of operators to the loan, as a worker does. */
static bool lend_out(struct maker *maker, struct weir_bytes sent, const uint8_t *bytes)
{
    struct weir_loan loan;
    if (!weir_loan_claim(maker->borrowed, sent, &loan))
        return false;
    memcpy(loan.at, bytes, maker->size);
    weir_loan_end(&loan, true);
    return true;
}

static void on_read(void *state, struct weir_request *request)
{
    struct maker *maker = state;
    const struct msg_read *read = request->message;
    struct weir_frames frames = {.count = 0};
    struct msg_read_is answer = {.ids = read->ids};
    uint8_t *bytes = weir_aligned_alloc(maker->size);
    memset(bytes, ++maker->made, maker->size);
    if (read->loan.size > 0 && lend_out(maker, read->loan, bytes)) {
        answer.written = maker->size;
        free(bytes);
    } else {
        weir_frames_give(&frames, bytes, maker->size);
    }
    weir_rpc_reply(request->server, &request->route, MSG_read_is, &answer, &frames);
}

static const struct weir_rpc_handler HANDLERS[] = {WEIR_ON(read, on_read), {MSG_none, NULL}};

/* Until it is killed. Where it is found goes to `tell`. */
static void make(const char *endpoint, size_t size, pid_t reader, int tell)
{
    struct weir_error err;
    struct weir_rpc_server *server = NULL;
    weir_require(prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == reader);
    struct weir_loop *loop = weir_loop_new();
    struct maker maker = {.borrowed = weir_borrowed_new(loop), .size = size};
    weir_require(weir_rpc_serve(loop, endpoint, HANDLERS, &maker, &server, &err) == WEIR_OK);
    const char *address = weir_rpc_address(server);
    weir_require(write(tell, address, strlen(address) + 1) > 0);
    weir_loop_run(loop);
    _exit(0);
}

/* ---- the reader ---- */

struct reader {
    struct weir_segment *segment; /* NULL: it lends nothing */
    size_t size;
    uint64_t sum;
    bool has_answer, is_right;
};

static void on_batch(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct reader *reader = owner;
    (void)err;
    reader->has_answer = true;
    if (reply == NULL || reply->type != MSG_read_is)
        return;
    const struct msg_read_is *answer = reply->message;
    struct weir_bytes bytes = weir_segment_answer(reader->segment, answer->written, reply->frames);
    reader->is_right =
        bytes.size == reader->size && (answer->written > 0) == (reader->segment != NULL);
    for (size_t i = 0; i + sizeof(uint64_t) <= bytes.size; i += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, bytes.at + i, sizeof(word));
        reader->sum += word;
    }
}

static enum weir_status read_all(struct reader *reader, const char *endpoint,
                                 struct weir_error *err)
{
    WEIR_AUTO(weir_loop) loop = weir_loop_new();
    struct weir_rpc_peer *peer = NULL;
    enum weir_status status = weir_rpc_connect(loop, endpoint, NULL, NULL, &peer, err);
    for (size_t read = 0; read < BYTES && status == WEIR_OK; read += reader->size) {
        struct msg_read ask = {.ids = {NULL, 0}};
        if (reader->segment != NULL)
            ask.loan = weir_segment_lend(reader->segment);
        reader->has_answer = reader->is_right = false;
        weir_rpc_call(peer, MSG_read, &ask, CALL_MS, on_batch, reader);
        while (!reader->has_answer)
            weir_loop_step(loop, STEP_MS);
        if (!reader->is_right)
            status = weir_fail(err, WEIR_INTERNAL, "a batch came otherwise than it was asked for");
    }
    weir_rpc_peer_close(peer);
    return status;
}

static double cpu_seconds(int who)
{
    struct rusage usage;
    getrusage(who, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static enum weir_status carry(const char *endpoint, size_t size, bool lends, double *ret_rate,
                              struct weir_error *err)
{
    char address[ADDRESS_MAX] = "";
    int ends[2];
    weir_require(pipe(ends) == 0);
    struct reader reader = {.size = size, .segment = lends ? weir_segment_new(size) : NULL};
    double before = cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN);
    pid_t self = getpid(), maker = fork();
    weir_require(maker >= 0);
    if (maker == 0)
        make(endpoint, size, self, ends[1]);
    weir_require(read(ends[0], address, sizeof(address)) > 0);
    enum weir_status status = read_all(&reader, address, err);
    kill(maker, SIGKILL);
    waitpid(maker, NULL, 0);
    close(ends[0]);
    close(ends[1]);
    double spent = cpu_seconds(RUSAGE_SELF) + cpu_seconds(RUSAGE_CHILDREN) - before;
    weir_segment_free(reader.segment);
    *ret_rate = (double)BYTES / spent;
    return status;
}

static enum weir_status over_ipc(const struct preprocess_bench *bench, size_t size, bool lends,
                                 double *ret_rate, struct weir_error *err)
{
    WEIR_AUTO_FREE char *endpoint = weir_format("ipc://%s/transport.sock", bench->directory);
    return carry(endpoint, size, lends, ret_rate, err);
}

enum weir_status transport_small_lent(void *state, double *ret_rate, struct weir_error *err)
{
    return over_ipc(state, 64 << 10, true, ret_rate, err);
}

enum weir_status transport_small_frames(void *state, double *ret_rate, struct weir_error *err)
{
    return over_ipc(state, 64 << 10, false, ret_rate, err);
}

enum weir_status transport_lent(void *state, double *ret_rate, struct weir_error *err)
{
    return over_ipc(state, 1 << 20, true, ret_rate, err);
}

enum weir_status transport_frames(void *state, double *ret_rate, struct weir_error *err)
{
    return over_ipc(state, 1 << 20, false, ret_rate, err);
}

enum weir_status transport_large_lent(void *state, double *ret_rate, struct weir_error *err)
{
    return over_ipc(state, 16 << 20, true, ret_rate, err);
}

enum weir_status transport_large_frames(void *state, double *ret_rate, struct weir_error *err)
{
    return over_ipc(state, 16 << 20, false, ret_rate, err);
}

enum weir_status transport_tcp(void *state, double *ret_rate, struct weir_error *err)
{
    (void)state;
    return carry("tcp://127.0.0.1:*", 1 << 20, false, ret_rate, err);
}
