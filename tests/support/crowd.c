/* Thousands of workers over two ROUTER sockets: see crowd.h. A ROUTER gives each connection that it dials the name set
 * before, and shows the other end the identity set before. */
#include "tests/support/crowd.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/base/rng.h"
#include "core/rpc/envelope.h"
#include "core/rpc/keys.h"
#include "core/rpc/knocking.h"
#include "core/rpc/rpc.h"
#include "core/wire/wire.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <zmq.h>

enum {
    HOLD_MS = 500, /* as of a worker (preprocess/worker/state.h), … */
    BEAT_MS = 300,
    LEASES = 4,
    STEP_MS = 2,
    TAKEN_MAX = 512, /* messages of a step */
    IDENTITY_BYTES = 16,
    NAME_BYTES = 5, /* of a connection: a letter, and the number of its member */
    FRAME_MAX = 1 << 20,
    DESCRIPTORS_SPARE = 256,
    DIALS_A_SECOND = 500, /* a listener's queue is short */
};

/* A request that is open, or when the next is due. */
struct asking {
    bool is_open;
    uint64_t number;
    int64_t sent_ms;   /* first */
    int64_t again_ms;  /* when it is sent again, if it is open, … */
    int64_t resend_ms; /* … so long after the newest copy */
    int64_t due_ms;
};

struct member {
    uint64_t session;
    uint64_t epoch;    /* it has dropped everything up to here */
    uint64_t answered; /* epoch of the newest hold that was answered */
    int64_t lease_end_ms;
    int64_t held_ms, beaten_ms; /* when the newest of each was answered; 0: never */
    struct asking hold, beat;
    bool is_beating;
    size_t leases;
    uint64_t jobs[LEASES], groups[LEASES], fences[LEASES];
};

struct crowd {
    void *zmq, *storage, *dispatcher;
    char *name;
    struct member *members;
    size_t count, dialed;
    const char *storage_at, *dispatcher_at;
    const struct weir_pair *pairs;
    int64_t begun_ms;
    uint32_t pause_ms;
    struct weir_arena *arena;
    struct weir_buf header;
    struct crowd_report report; /* what is counted as it happens */
};

/* ---- sending ---- */

static void name_connection(size_t member, uint8_t name[NAME_BYTES])
{
    name[0] = 'm';
    weir_put_u32(name + 1, (uint32_t)member);
}

/* Sends a request; one that does not leave is lost, and sent again later. */
static void send(struct crowd *crowd, void *socket, size_t member, struct asking *asking,
                 enum weir_message type, const void *message)
{
    struct weir_envelope envelope = {.type = (uint16_t)type};
    uint8_t name[NAME_BYTES], first[WEIR_ENVELOPE_BYTES];
    int64_t now_ms = weir_now_ms();

    if (!asking->is_open) {
        asking->sent_ms = now_ms;
        asking->resend_ms = WEIR_RPC_RESEND_MS;
    }
    envelope.request = asking->number += !asking->is_open;
    asking->is_open = true;
    asking->again_ms = now_ms + asking->resend_ms;
    if (crowd->pairs != NULL && asking->resend_ms < WEIR_RPC_RESEND_MAX_MS)
        asking->resend_ms *= 2;
    name_connection(member, name);
    weir_envelope_pack(&envelope, first);
    weir_message_pack(type, message, &crowd->header);
    if (zmq_send(socket, name, sizeof(name), ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0 &&
        zmq_send(socket, first, sizeof(first), ZMQ_SNDMORE | ZMQ_DONTWAIT) >= 0)
        (void)zmq_send(socket, crowd->header.at, crowd->header.size, ZMQ_DONTWAIT);
    weir_buf_wipe(&crowd->header);
}

static void send_hold(struct crowd *crowd, size_t at)
{
    struct member *member = &crowd->members[at];

    send(crowd, crowd->storage, at, &member->hold, MSG_hold,
         &(struct msg_hold){
             .holder = crowd->name, .session = member->session, .epoch = member->epoch});
}

static void send_beat(struct crowd *crowd, size_t at)
{
    struct member *member = &crowd->members[at];
    const uint32_t sent[LEASES] = {0};
    char name[64];

    (void)snprintf(name, sizeof(name), "%s-%zu", crowd->name, at);
    send(crowd, crowd->dispatcher, at, &member->beat, MSG_worker_beat,
         &(struct msg_worker_beat){.worker = name,
                                   .session = member->session,
                                   .endpoint = "ipc:///nowhere",
                                   .want = (uint32_t)(LEASES - member->leases),
                                   .jobs = {member->jobs, member->leases},
                                   .groups = {member->groups, member->leases},
                                   .fences = {member->fences, member->leases},
                                   .sent = {sent, member->leases}});
}

static bool is_due(const struct asking *asking, int64_t now_ms)
{
    return now_ms >= (asking->is_open ? asking->again_ms : asking->due_ms);
}

static void send_due(struct crowd *crowd, int64_t now_ms)
{
    for (size_t i = 0; i < crowd->dialed; i++) {
        if (is_due(&crowd->members[i].hold, now_ms))
            send_hold(crowd, i);
        if (crowd->dispatcher != NULL && is_due(&crowd->members[i].beat, now_ms))
            send_beat(crowd, i);
    }
}

/* ---- taking ---- */

static void on_held(struct crowd *crowd, size_t at, const struct msg_hold_is *answer)
{
    struct member *member = &crowd->members[at];
    uint32_t pause_ms = answer->pause_ms > crowd->pause_ms ? answer->pause_ms : crowd->pause_ms;
    int64_t now_ms = weir_now_ms();

    crowd->report.holds++;
    crowd->report.lapses += member->lease_end_ms != 0 && member->lease_end_ms < now_ms;
    member->hold.is_open = false;
    member->held_ms = now_ms;
    member->lease_end_ms = member->hold.sent_ms + answer->lease_ms;
    member->hold.due_ms = member->hold.sent_ms + pause_ms;
    member->answered = member->epoch;
    if (answer->epoch <= member->epoch)
        return;
    member->epoch = answer->epoch;
    send_hold(crowd, at);
}

static void on_erased(struct crowd *crowd, size_t at, const struct msg_erased *hint)
{
    struct member *member = &crowd->members[at];

    if (hint->epoch > member->epoch && !member->hold.is_open)
        send_hold(crowd, at);
}

static void on_orders(struct crowd *crowd, size_t at, const struct msg_worker_orders *orders)
{
    struct member *member = &crowd->members[at];

    crowd->report.beats++;
    member->is_beating = true;
    member->beaten_ms = weir_now_ms();
    member->beat.is_open = false;
    member->beat.due_ms =
        member->beat.sent_ms + (orders->beat_ms > BEAT_MS ? orders->beat_ms : BEAT_MS);
    member->leases = orders->jobs.count < LEASES ? orders->jobs.count : LEASES;
    for (size_t i = 0; i < member->leases; i++) {
        member->jobs[i] = orders->jobs.at[i];
        member->groups[i] = orders->groups.at[i];
        member->fences[i] = orders->fences.at[i];
    }
}

static void on_refused(struct crowd *crowd, struct asking *asking, const struct msg_error *refusal)
{
    crowd->report.refused++;
    (void)snprintf(crowd->report.words, sizeof(crowd->report.words), "%s", refusal->text);
    asking->is_open = false;
    asking->due_ms = asking->sent_ms + WEIR_RPC_RESEND_MS;
}

static void on_message(struct crowd *crowd, void *socket, size_t at,
                       const struct weir_envelope *envelope, const void *message)
{
    struct member *member = &crowd->members[at];
    struct asking *asking = socket == crowd->storage ? &member->hold : &member->beat;
    bool is_answer = asking->is_open && envelope->request == asking->number;

    if (envelope->type == MSG_erased)
        on_erased(crowd, at, message);
    else if (is_answer && envelope->type == MSG_hold_is)
        on_held(crowd, at, message);
    else if (is_answer && envelope->type == MSG_worker_orders)
        on_orders(crowd, at, message);
    else if (is_answer && envelope->type == MSG_error)
        on_refused(crowd, asking, message);
}

/* Takes a frame without waiting. Returns its size, or -1: there is none. */
static int take_frame(void *socket, uint8_t *bytes, size_t size)
{
    int got;

    do
        got = zmq_recv(socket, bytes, size, ZMQ_DONTWAIT);
    while (got < 0 && errno == EINTR);
    weir_require(got < 0 || (size_t)got <= size);
    return got;
}

/* False: nothing has come. */
static bool take(struct crowd *crowd, void *socket)
{
    static uint8_t header[FRAME_MAX];
    uint8_t name[NAME_BYTES], first[WEIR_ENVELOPE_BYTES];
    struct weir_envelope envelope;
    const struct weir_message_info *info;
    struct weir_error err;
    enum weir_status status;
    void *message;
    int size;

    if (take_frame(socket, name, sizeof(name)) != NAME_BYTES)
        return false;
    size = take_frame(socket, first, sizeof(first));
    status = weir_envelope_unpack(weir_bytes(first, (size_t)size), &envelope, &err);
    size = take_frame(socket, header, sizeof(header));
    info = status == WEIR_OK ? weir_message_info(envelope.type) : NULL;
    weir_require(info != NULL);
    message = weir_arena_alloc(crowd->arena, info->size);
    status = weir_message_unpack(info->type, weir_bytes(header, (size_t)size), crowd->arena,
                                 message, &err);
    weir_require(status == WEIR_OK);
    on_message(crowd, socket, weir_get_u32(name + 1), &envelope, message);
    weir_arena_clear(crowd->arena);
    return true;
}

static void take_all(struct crowd *crowd, void *socket)
{
    for (int i = 0; i < TAKEN_MAX && take(crowd, socket); i++)
        ;
}

/* ---- dialing ---- */

/* As core/rpc/socket.c does, for the next connection that the socket dials. */
static void draw_reconnects(void *socket)
{
    const struct weir_reconnects drawn = weir_reconnects_draw(weir_random_u64());
    int rc = zmq_setsockopt(socket, ZMQ_RECONNECT_IVL, &drawn.first_ms, sizeof(int));

    weir_require(rc == 0);
    rc = zmq_setsockopt(socket, ZMQ_RECONNECT_IVL_MAX, &drawn.last_ms, sizeof(int));
    weir_require(rc == 0);
}

/* A member with a key has no other name: nobody takes the route of another one. */
static void prove(void *socket, const char *address, const struct weir_pair *pair)
{
    uint8_t identity[IDENTITY_BYTES];
    struct weir_error err;
    int rc = 0;

    if (pair != NULL) {
        draw_reconnects(socket);
        weir_require(weir_keys_connect(socket, address, pair, &err) == WEIR_OK);
        return;
    }
    weir_random_bytes(identity, sizeof(identity));
    identity[0] |= 1; /* those starting with 0 belong to ZeroMQ */
    rc = zmq_setsockopt(socket, ZMQ_ROUTING_ID, identity, sizeof(identity));
    weir_require(rc == 0);
}

static void dial(const struct crowd *crowd, void *socket, const char *address, size_t member)
{
    WEIR_AUTO_FREE char *endpoint = weir_keys_endpoint(address);
    uint8_t name[NAME_BYTES];
    int rc;

    prove(socket, address, crowd->pairs != NULL ? &crowd->pairs[member] : NULL);
    name_connection(member, name);
    rc = zmq_setsockopt(socket, ZMQ_CONNECT_ROUTING_ID, name, sizeof(name));
    weir_require(rc == 0);
    rc = zmq_connect(socket, endpoint);
    weir_require(rc == 0);
}

static void dial_due(struct crowd *crowd, int64_t now_ms)
{
    int64_t due = (now_ms - crowd->begun_ms) * DIALS_A_SECOND / 1000;

    for (; crowd->dialed < crowd->count && (int64_t)crowd->dialed <= due; crowd->dialed++) {
        dial(crowd, crowd->storage, crowd->storage_at, crowd->dialed);
        if (crowd->dispatcher != NULL)
            dial(crowd, crowd->dispatcher, crowd->dispatcher_at, crowd->dialed);
    }
}

void crowd_step(struct crowd *crowd)
{
    zmq_pollitem_t items[] = {{.socket = crowd->storage, .events = ZMQ_POLLIN},
                              {.socket = crowd->dispatcher, .events = ZMQ_POLLIN}};

    (void)zmq_poll(items, crowd->dispatcher != NULL ? 2 : 1, STEP_MS);
    take_all(crowd, crowd->storage);
    if (crowd->dispatcher != NULL)
        take_all(crowd, crowd->dispatcher);
    dial_due(crowd, weir_now_ms());
    send_due(crowd, weir_now_ms());
}

void crowd_look(struct crowd *crowd, struct crowd_report *ret_report)
{
    struct crowd_report report = crowd->report;
    int64_t now_ms = weir_now_ms();

    report.epoch = UINT64_MAX;
    report.held_ms = report.beaten_ms = INT64_MAX;
    for (size_t i = 0; i < crowd->count; i++) {
        const struct member *member = &crowd->members[i];

        report.beating += member->is_beating;
        report.leases += member->leases;
        if (report.held_ms > member->held_ms)
            report.held_ms = member->held_ms;
        if (report.beaten_ms > member->beaten_ms)
            report.beaten_ms = member->beaten_ms;
        if (member->lease_end_ms <= now_ms)
            continue;
        report.holding++;
        if (report.epoch > member->answered)
            report.epoch = member->answered;
    }
    *ret_report = report;
}

/* ---- life ---- */

static void *open_socket(struct crowd *crowd)
{
    static const struct {
        int option, value;
    } OPTIONS[] = {{ZMQ_LINGER, 0},
                   {ZMQ_SNDHWM, 2}, /* few copies of a request wait for a service that is away */
                   {ZMQ_RECONNECT_IVL, 20}, /* as those of workers (core/rpc/socket.c) */
                   {ZMQ_RECONNECT_IVL_MAX, 200},
                   {ZMQ_HANDSHAKE_IVL, 60000},
                   {ZMQ_CONNECT_TIMEOUT, 3000}};
    void *socket = zmq_socket(crowd->zmq, ZMQ_ROUTER);

    weir_require(socket != NULL);
    for (size_t i = 0; i < WEIR_COUNT(OPTIONS); i++)
        zmq_setsockopt(socket, OPTIONS[i].option, &OPTIONS[i].value, sizeof(int));
    return socket;
}

static enum weir_status check_descriptors(const struct crowd_plan *plan, struct weir_error *err)
{
    size_t wanted = plan->count * (plan->dispatcher != NULL ? 2 : 1) + DESCRIPTORS_SPARE;
    struct rlimit limit;
    int rc = getrlimit(RLIMIT_NOFILE, &limit);

    weir_require(rc == 0);
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    if (limit.rlim_cur < wanted)
        return weir_fail(err, WEIR_LIMIT, "%zu members need %zu descriptors, the limit is %llu",
                         plan->count, wanted, (unsigned long long)limit.rlim_cur);
    return WEIR_OK;
}

enum weir_status crowd_start(const struct crowd_plan *plan, struct crowd **ret_crowd,
                             struct weir_error *err)
{
    enum weir_status status = check_descriptors(plan, err);
    struct crowd *crowd;

    if (status != WEIR_OK)
        return status;
    crowd = weir_calloc(1, sizeof(*crowd));
    crowd->zmq = zmq_ctx_new();
    crowd->name = weir_strdup(plan->name);
    crowd->count = plan->count;
    crowd->pause_ms = plan->pause_ms > 0 ? plan->pause_ms : HOLD_MS;
    crowd->members = weir_calloc(plan->count, sizeof(*crowd->members));
    crowd->arena = weir_arena_new();
    for (size_t i = 0; i < plan->count; i++)
        crowd->members[i].session = weir_random_u64() | 1;
    crowd->begun_ms = weir_now_ms();
    crowd->storage_at = plan->storage;
    crowd->dispatcher_at = plan->dispatcher;
    crowd->pairs = plan->pairs;
    crowd->storage = open_socket(crowd);
    crowd->dispatcher = plan->dispatcher != NULL ? open_socket(crowd) : NULL;
    *ret_crowd = crowd;
    return WEIR_OK;
}

void crowd_stop(struct crowd *crowd)
{
    if (crowd == NULL)
        return;
    zmq_close(crowd->storage);
    if (crowd->dispatcher != NULL)
        zmq_close(crowd->dispatcher);
    zmq_ctx_term(crowd->zmq);
    weir_arena_free(crowd->arena);
    weir_buf_fini(&crowd->header);
    free(crowd->members);
    free(crowd->name);
    free(crowd);
}
