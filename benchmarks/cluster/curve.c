/* Batches over the loopback, encrypted. */
#include "benchmarks/cluster/curve.h"

#include "core/base/memory.h"
#include "core/rpc/rpc.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zmq.h>

enum {
    WINDOW_BYTES = 8 << 20, /* on their way … */
    WINDOW_MIN = 4,         /* … or so many batches */
    STEP_MS = 1000,
    ADDRESS_MAX = 256,
};

/* Wishes of the bare pair's receiver. */
struct wish {
    uint64_t count, size;
};

/* Told by the child when it is ready. */
struct addresses {
    char keyed[ADDRESS_MAX], bare[ADDRESS_MAX];
};

struct cluster_curve {
    pid_t maker;
    struct weir_pair own, makers;
    struct weir_loop *loop;
    struct weir_rpc_peer *peer;
    void *context, *bare;
    uint64_t run, had, wanted, window; /* batches of the call under way */
};

/* ---- the process that makes them ---- */

struct making {
    uint64_t run, sent;
};

static void push(struct weir_request *request, const struct msg_credit *credit,
                 struct making *making)
{
    struct weir_frames frames = {.count = 0};
    const struct msg_batch batch = {.attempt = making->run, .batch = making->sent};
    void *bytes = weir_aligned_alloc(credit->session);
    memset(bytes, (int)making->sent, credit->session);
    weir_frames_give(&frames, bytes, credit->session);
    /* The window is smaller than the queue. */
    weir_require(weir_rpc_push(request->server, &request->route, MSG_batch, &batch, &frames));
    making->sent++;
}

/* The session is the size of batches, the attempt the run, and what is granted their number. */
static void on_credit(void *owner, struct weir_request *request)
{
    struct making *making = owner;
    const struct msg_credit *credit = request->message;
    if (making->run != credit->attempt)
        *making = (struct making){.run = credit->attempt};
    while (making->sent < credit->granted)
        push(request, credit, making);
}

static const struct weir_rpc_handler MAKER[] = {WEIR_ON(credit, on_credit), {MSG_none, NULL}};

static void set_pair(void *socket, const struct weir_pair *pair)
{
    weir_require(zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, pair->public, 41) == 0 &&
                 zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, pair->secret, 41) == 0);
}

/* Sends what the other end of the pair wishes for. */
static void *serve_bare(void *socket)
{
    struct wish wish;
    while (zmq_recv(socket, &wish, sizeof(wish), 0) == (int)sizeof(wish)) {
        for (uint64_t i = 0; i < wish.count; i++) {
            zmq_msg_t message;
            weir_require(zmq_msg_init_size(&message, wish.size) == 0);
            memset(zmq_msg_data(&message), (int)i, wish.size);
            weir_require(zmq_msg_send(&message, socket, 0) >= 0);
        }
    }
    return NULL;
}

static void *bind_bare(const struct cluster_curve *curve, struct addresses *addresses)
{
    int is_server = 1;
    size_t size = sizeof(addresses->bare);
    void *socket = zmq_socket(zmq_ctx_new(), ZMQ_PAIR);
    set_pair(socket, &curve->makers);
    weir_require(zmq_setsockopt(socket, ZMQ_CURVE_SERVER, &is_server, sizeof(is_server)) == 0 &&
                 zmq_bind(socket, "tcp://127.0.0.1:*") == 0 &&
                 zmq_getsockopt(socket, ZMQ_LAST_ENDPOINT, addresses->bare, &size) == 0);
    return socket;
}

/* Until it is killed. */
static void make(const struct cluster_curve *curve, int tell)
{
    struct weir_error err;
    struct making making = {.run = 0};
    struct addresses addresses = {.keyed = ""};
    struct weir_loop *loop = weir_loop_new();
    struct weir_rpc_server *server = weir_rpc_server_new(loop, MAKER, &making);
    const struct weir_rpc_door door = {.endpoint = "tcp://127.0.0.1:*", .pair = &curve->makers};
    const char *const publics[] = {curve->own.public}, *const names[] = {"t"},
                      *const tenants[] = {""};
    const uint32_t roles[] = {WEIR_ROLE_TRAINER};
    const struct msg_keys_set keys = {1, {publics, 1}, {names, 1}, {roles, 1}, {tenants, 1}};
    pthread_t bare;
    weir_require(weir_rpc_listen_keyed(server, &door, &err) == WEIR_OK &&
                 weir_rpc_set_keys(server, &keys, &err) == WEIR_OK);
    weir_require(pthread_create(&bare, NULL, serve_bare, bind_bare(curve, &addresses)) == 0);
    strncpy(addresses.keyed, weir_rpc_keyed_address(server), ADDRESS_MAX - 1);
    weir_require(write(tell, &addresses, sizeof(addresses)) == (ssize_t)sizeof(addresses));
    weir_loop_run(loop);
}

/* ---- this one ---- */

static void grant(struct cluster_curve *curve, size_t size)
{
    uint64_t most = curve->had + curve->window;
    const struct msg_credit credit = {.session = size,
                                      .attempt = curve->run,
                                      .granted = most < curve->wanted ? most : curve->wanted};
    weir_rpc_send(curve->peer, MSG_credit, &credit);
}

static void on_batch(void *owner, struct weir_request *request)
{
    struct cluster_curve *curve = owner;
    const struct msg_batch *batch = request->message;
    if (batch->attempt != curve->run)
        return;
    curve->had++;
    if (curve->had % (curve->window / 2) == 0)
        grant(curve, weir_frames_bytes(request->frames));
}
static const struct weir_rpc_handler PUSHED[] = {WEIR_ON(batch, on_batch), {MSG_none, NULL}};

static void connect_bare(struct cluster_curve *curve, const char *endpoint)
{
    curve->context = zmq_ctx_new();
    curve->bare = zmq_socket(curve->context, ZMQ_PAIR);
    set_pair(curve->bare, &curve->own);
    weir_require(zmq_setsockopt(curve->bare, ZMQ_CURVE_SERVERKEY, curve->makers.public, 41) == 0 &&
                 zmq_connect(curve->bare, endpoint) == 0);
}

enum weir_status cluster_curve_open(struct cluster_curve **ret_curve, struct weir_error *err)
{
    struct cluster_curve *curve = weir_calloc(1, sizeof(*curve));
    struct addresses addresses = {.keyed = ""};
    int ends[2];
    enum weir_status status = weir_pair_draw(&curve->own, err);
    if (status == WEIR_OK)
        status = weir_pair_draw(&curve->makers, err);
    if (status != WEIR_OK) {
        cluster_curve_close(curve);
        return status;
    }
    weir_require(pipe(ends) == 0);
    curve->maker = fork();
    if (curve->maker == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        make(curve, ends[1]);
        _exit(0);
    }
    weir_require(curve->maker > 0 &&
                 read(ends[0], &addresses, sizeof(addresses)) == (ssize_t)sizeof(addresses));
    close(ends[0]);
    close(ends[1]);
    curve->loop = weir_loop_new();
    connect_bare(curve, addresses.bare);
    status = weir_rpc_connect_as(curve->loop, addresses.keyed, &curve->own, PUSHED, curve,
                                 &curve->peer, err);
    if (status == WEIR_OK)
        *ret_curve = curve;
    else
        cluster_curve_close(curve);
    return status;
}

void cluster_curve_close(struct cluster_curve *curve)
{
    static const int NO_LINGER = 0;
    if (curve == NULL)
        return;
    weir_rpc_peer_close(curve->peer);
    weir_loop_free(curve->loop);
    if (curve->bare != NULL) {
        zmq_setsockopt(curve->bare, ZMQ_LINGER, &NO_LINGER, sizeof(NO_LINGER));
        zmq_close(curve->bare);
        zmq_ctx_term(curve->context);
    }
    if (curve->maker > 0) {
        kill(curve->maker, SIGKILL);
        waitpid(curve->maker, NULL, 0);
    }
    free(curve);
}

void cluster_curve_batches(struct cluster_curve *curve, uint64_t count, size_t size)
{
    curve->run++;
    curve->had = 0;
    curve->wanted = count;
    curve->window = WINDOW_BYTES / size > WINDOW_MIN ? WINDOW_BYTES / size : WINDOW_MIN;
    grant(curve, size);
    while (curve->had < count)
        weir_loop_step(curve->loop, STEP_MS);
}

void cluster_curve_bare(struct cluster_curve *curve, uint64_t count, size_t size)
{
    const struct wish wish = {count, size};
    weir_require(zmq_send(curve->bare, &wish, sizeof(wish), 0) == (int)sizeof(wish));
    for (uint64_t i = 0; i < count; i++) {
        zmq_msg_t message;
        weir_require(zmq_msg_init(&message) == 0 && zmq_msg_recv(&message, curve->bare, 0) >= 0);
        weir_require(zmq_msg_size(&message) == size);
        zmq_msg_close(&message);
    }
}
