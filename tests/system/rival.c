/* rival RUN OWN: what a trainer of the run OWN may try against the run RUN with the messages that trainers send. Prints
 * a line for each: its name, and what came of it. Then floods all workers that batches of OWN may come from, until it
 * is killed, and says now and then how far it is. WEIR_SOCKET_DIR and WEIR_TOKEN are its own. */
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/rpc/rpc.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zmq.h>

enum {
    ANSWER_MS = 60000,
    FLOOD_SOCKETS = 8,
    FLOOD_BYTES = 1 << 16,
    KEY_CHARACTERS = 40,
};

struct rival {
    struct weir_loop *loop;
    struct weir_arena *arena;
    uint64_t run, own, session;
    const char *token;
    int batches; /* received */
};

static struct weir_rpc_peer *reach(struct rival *rival, const char *name)
{
    WEIR_AUTO_FREE char *endpoint =
        weir_format("ipc://%s/%s.sock", getenv("WEIR_SOCKET_DIR"), name);
    struct weir_rpc_peer *peer = NULL;
    struct weir_error err;
    weir_require(weir_rpc_connect(rival->loop, endpoint, NULL, NULL, &peer, &err) == WEIR_OK);
    return peer;
}

/* True when it was answered, by `expected`. */
static bool try(struct rival *rival, struct weir_rpc_peer *peer, enum weir_message type,
                const void *message, enum weir_message expected, void *ret_message)
{
    struct weir_error err;
    enum weir_status status =
        weir_rpc_request(peer, type, message, ANSWER_MS, expected, rival->arena, ret_message, &err);
    if (status != WEIR_OK)
        printf("%s: refused: %s\n", weir_message_info(type)->name, err.text);
    return status == WEIR_OK;
}

static void try_run(struct rival *rival)
{
    struct weir_rpc_peer *peer = reach(rival, "orchestrator");
    struct msg_run_is task;
    struct msg_run_orders orders;
    for (int i = 0; i < 2; i++) {
        uint64_t session = i == 0 ? rival->session : 0;
        struct msg_run_request ask = {.run = rival->run, .session = session, .token = rival->token};
        if (try(rival, peer, MSG_run_request, &ask, MSG_run_is, &task))
            printf("run_request: told of %s\n", task.pipeline);
        struct msg_run_beat beat = {.run = rival->run, .session = session, .samples = 1u << 30};
        if (try(rival, peer, MSG_run_beat, &beat, MSG_run_orders, &orders))
            printf("run_beat: %s\n", orders.stop ? "stop" : "go on");
        struct msg_run_done done = {.run = rival->run, .session = session, .model = "model"};
        if (try(rival, peer, MSG_run_done, &done, MSG_run_noted, NULL))
            printf("run_done: noted\n");
        struct msg_run_next next = {.run = rival->run, .session = session};
        if (try(rival, peer, MSG_run_next, &next, MSG_run_is, &task))
            printf("run_next: job %" PRIu64 "\n", task.job);
    }
    weir_rpc_peer_close(peer);
}

static void try_job(struct rival *rival, struct weir_rpc_peer *peer)
{
    static const uint8_t ALL[8] = {255, 255, 255, 255, 255, 255, 255, 255};
    struct msg_client_opened opened;
    struct msg_client_orders orders;
    struct msg_client_committed committed;
    for (int i = 0; i < 2; i++) {
        uint64_t session = i == 0 ? rival->session : 0;
        struct msg_client_open open = {
            .job = rival->run, .session = session, .token = i == 0 ? rival->token : ""};
        if (try(rival, peer, MSG_client_open, &open, MSG_client_opened, &opened))
            printf("client_open: attempt %" PRIu64 "\n", opened.attempt);
        struct msg_client_beat beat = {.job = rival->run,
                                       .attempt = 1,
                                       .session = session,
                                       .number = UINT64_C(1) << 40,
                                       .consumed = weir_bytes(ALL, sizeof(ALL)),
                                       .received = weir_bytes(ALL, sizeof(ALL))};
        if (try(rival, peer, MSG_client_beat, &beat, MSG_client_orders, &orders))
            printf("client_beat: superseded %d\n", orders.superseded);
        struct msg_client_commit commit = {
            .job = rival->run, .attempt = 1, .session = session, .final = true};
        if (try(rival, peer, MSG_client_commit, &commit, MSG_client_committed, &committed))
            printf("client_commit: %" PRIu64 " batches\n", committed.batches);
    }
}

static void on_batch(void *owner, struct weir_request *request)
{
    struct rival *rival = owner;
    (void)request;
    rival->batches++;
}

static void on_refused(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    bool *is_refused = owner;
    (void)reply, (void)err;
    *is_refused = true;
}

/* Grants a worker everything in the name of the other run; its refusal of what follows says that it has seen that. */
static void try_worker(struct rival *rival, const char *address)
{
    static const struct weir_rpc_handler HANDLERS[] = {WEIR_ON(batch, on_batch), {MSG_none, NULL}};
    struct weir_rpc_peer *peer = NULL;
    struct weir_error err;
    bool is_refused = false;
    weir_require(weir_rpc_connect(rival->loop, address, HANDLERS, rival, &peer, &err) == WEIR_OK);
    for (uint64_t attempt = 0; attempt < 3; attempt++) {
        struct msg_credit credit = {.job = rival->run,
                                    .attempt = attempt,
                                    .session = rival->session,
                                    .granted = UINT64_C(1) << 40,
                                    .starving = true};
        weir_rpc_send(peer, MSG_credit, &credit);
        credit.session = 0;
        weir_rpc_send(peer, MSG_credit, &credit);
    }
    weir_rpc_call(peer, MSG_health, NULL, ANSWER_MS, on_refused, &is_refused);
    while (!is_refused)
        weir_loop_step(rival->loop, 20);
    printf("credit: %d batches\n", rival->batches);
    weir_rpc_peer_close(peer);
}

/* The workers of its own job, which it is told like any consumer; the caller's, ended by NULL. */
static char **find_workers(struct rival *rival, struct weir_rpc_peer *peer)
{
    struct msg_client_open open = {
        .job = rival->own, .session = rival->session, .token = rival->token};
    struct msg_client_opened opened = {0};
    weir_require(try(rival, peer, MSG_client_open, &open, MSG_client_opened, &opened));
    char **workers = weir_calloc(opened.workers.count + 1, sizeof(*workers));
    for (size_t i = 0; i < opened.workers.count; i++)
        workers[i] = weir_strdup(opened.workers.at[i]);
    return workers;
}

/* With the key of its address where it has one. */
static void *connect_to(struct rival *rival, const char *address)
{
    static const int NO_LINGER = 0;
    char open[KEY_CHARACTERS + 1], secret[KEY_CHARACTERS + 1];
    char *endpoint = weir_strdup(address), *key = strchr(endpoint, '#');
    void *socket = zmq_socket(weir_loop_zmq(rival->loop), ZMQ_DEALER);
    (void)zmq_setsockopt(socket, ZMQ_LINGER, &NO_LINGER, sizeof(NO_LINGER));
    if (key != NULL) {
        *key++ = '\0';
        weir_require(zmq_curve_keypair(open, secret) == 0);
        (void)zmq_setsockopt(socket, ZMQ_CURVE_SERVERKEY, key, KEY_CHARACTERS + 1);
        (void)zmq_setsockopt(socket, ZMQ_CURVE_PUBLICKEY, open, KEY_CHARACTERS + 1);
        (void)zmq_setsockopt(socket, ZMQ_CURVE_SECRETKEY, secret, KEY_CHARACTERS + 1);
    }
    weir_require(zmq_connect(socket, endpoint) == 0);
    free(endpoint);
    return socket;
}

WEIR_NORETURN static void flood(struct rival *rival, char *const *workers)
{
    static uint8_t rubbish[FLOOD_BYTES];
    void *sockets[FLOOD_SOCKETS];
    size_t count = 0;
    while (workers[count] != NULL)
        count++;
    for (size_t i = 0; i < FLOOD_SOCKETS; i++)
        sockets[i] = connect_to(rival, workers[i % count]);
    for (uint64_t tries = 0, sent = 0, told = 1;; tries++) {
        void *socket = sockets[tries % FLOOD_SOCKETS];
        size_t size = tries / FLOOD_SOCKETS % 3 == 0 ? FLOOD_BYTES : 10;
        int more = tries % 5 == 0 ? 0 : ZMQ_SNDMORE;
        sent += zmq_send(socket, rubbish, size, ZMQ_DONTWAIT | more) >= 0;
        if (sent == told) {
            printf("flooded: %" PRIu64 " frames\n", sent);
            fflush(stdout);
            told *= 2;
        }
    }
}

int main(int argc, char **argv)
{
    if (argc != 3 || getenv("WEIR_SOCKET_DIR") == NULL || getenv("WEIR_TOKEN") == NULL) {
        fprintf(stderr, "usage: rival RUN OWN\n");
        return 2;
    }
    struct rival rival = {.loop = weir_loop_new(),
                          .arena = weir_arena_new(),
                          .run = strtoull(argv[1], NULL, 10),
                          .own = strtoull(argv[2], NULL, 10),
                          .session = weir_random_u64(),
                          .token = getenv("WEIR_TOKEN")};
    try_run(&rival);
    struct weir_rpc_peer *dispatcher = reach(&rival, "dispatcher");
    try_job(&rival, dispatcher);
    char **workers = find_workers(&rival, dispatcher);
    for (size_t i = 0; workers[i] != NULL; i++)
        try_worker(&rival, workers[i]);
    weir_rpc_peer_close(dispatcher);
    flood(&rival, workers);
}
