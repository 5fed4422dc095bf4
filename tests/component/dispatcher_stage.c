/* The dispatcher of a test, and what its consumers say to it. */
#include "tests/component/dispatcher_stage.h"

#include "core/base/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum {
    ASK_MS = 50,
    REQUEST_MAX_MS = 60000,
    STAGE_SAMPLE_BYTES = 8 + 8 + 4 + 4, /* id, label, weight, a */
};

static const char CONFIG[] = "preprocess:\n"
                             "  operators: [{op: json_fields, fields: [a]}]\n"
                             "  batch: {samples: 1, group: 1, shuffle: none, order: relaxed}\n";

static void seal(struct stage *stage, size_t samples)
{
    struct weir_error err;
    struct weir_digest digest;
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(samples, sizeof(*ids));
    for (uint64_t i = 0; i < samples; i++)
        ids[i] = STAGE_FIRST_ID + i;
    assert_int_equal(weir_sample_set_write(stage->set_path, ids, NULL, samples, &digest, &err),
                     WEIR_OK);
    weir_digest_text(&digest, stage->digest);
}

void stage_begin(struct stage *stage, struct weir_test_postgres *postgres, size_t samples)
{
    *stage =
        (struct stage){.postgres = postgres, .loop = weir_loop_new(), .arena = weir_arena_new()};
    temp_dir_make(&stage->dir);
    stage->set_path = weir_format("%s/a.set", stage->dir.path);
    seal(stage, samples);
}

void stage_end(struct stage *stage)
{
    if (stage->process != 0)
        child_end(stage->process, SIGTERM);
    weir_rpc_peer_close(stage->peer);
    weir_loop_free(stage->loop);
    weir_arena_free(stage->arena);
    temp_dir_remove(&stage->dir);
    free(stage->set_path);
    free(stage->endpoint);
    weir_test_postgres_reset(stage->postgres);
}

static void connect_to(struct stage *stage, char *endpoint)
{
    struct weir_error err;
    stage->endpoint = endpoint;
    assert_int_equal(weir_rpc_connect(stage->loop, endpoint, NULL, NULL, &stage->peer, &err),
                     WEIR_OK);
}

/* ---- a process ---- */

static void set_faults(const void *faults)
{
    if (faults != NULL)
        weir_require(setenv("WEIR_FAULTS", faults, 1) == 0);
}

void stage_start(struct stage *stage)
{
    static const char PROGRAM[] = WEIR_BIN_DIR "/dispatcher";
    const char *const argv[] = {
        PROGRAM,         "--data-dir", stage->dir.path,           "--socket-dir",
        stage->dir.path, "--postgres", stage->postgres->conninfo, "--log-level",
        "error",         NULL};
    if (stage->peer == NULL)
        connect_to(stage, weir_service_endpoint(stage->dir.path, "dispatcher"));
    stage->process = child_start(argv, set_faults, stage->faults != NULL ? stage->faults() : NULL);
}

static void start_if_dead(struct stage *stage)
{
    int status;
    if (waitpid(stage->process, &status, WNOHANG) != stage->process)
        return;
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    stage->deaths++;
    stage_start(stage);
}

static bool is_passing(enum weir_status status)
{
    return status == WEIR_TIMEOUT || status == WEIR_UNAVAILABLE;
}

void stage_request(struct stage *stage, enum weir_message type, const void *message,
                   enum weir_message expected, void *ret_answer)
{
    struct weir_error err = {.text = ""};
    enum weir_status status = WEIR_TIMEOUT;
    for (int wait_ms = ASK_MS; is_passing(status) && wait_ms < REQUEST_MAX_MS; wait_ms *= 2) {
        status = weir_rpc_request(stage->peer, type, message, wait_ms, expected, stage->arena,
                                  ret_answer, &err);
        if (status != WEIR_OK)
            start_if_dead(stage);
    }
    if (status != WEIR_OK)
        fail_msg("%s", err.text);
}

/* ---- within this process ---- */

void stage_host(struct stage *stage)
{
    struct weir_error err;
    const struct weir_service_options options = {.data_dir = stage->dir.path,
                                                 .socket_dir = stage->dir.path,
                                                 .postgres = stage->postgres->conninfo,
                                                 .name = "dispatcher"};
    if (stage->peer == NULL)
        connect_to(stage, weir_format("inproc://dispatcher-%d", ++stage->hosts));
    assert_int_equal(
        preprocess_dispatcher_open(&options, stage->loop, NULL, &stage->dispatcher, &err), WEIR_OK);
    assert_int_equal(weir_rpc_serve(stage->loop, stage->endpoint, PREPROCESS_DISPATCHER_HANDLERS,
                                    stage->dispatcher, &stage->server, &err),
                     WEIR_OK);
    ((struct dispatcher *)stage->dispatcher)->server = stage->server;
}

void stage_unhost(struct stage *stage)
{
    weir_rpc_peer_close(stage->peer); /* within a process nobody connects again */
    stage->peer = NULL;
    free(stage->endpoint);
    stage->endpoint = NULL;
    weir_rpc_server_close(stage->server);
    preprocess_dispatcher_close(stage->dispatcher);
}

static bool is_storing(const struct dispatcher *dispatcher)
{
    bool is_ending = false;
    for (size_t i = 0; i < dispatcher->entry_count; i++)
        is_ending |= dispatcher->entries[i]->closing;
    return is_ending || dispatcher->is_saving || dispatcher->is_reporting || dispatcher->settling ||
           dispatcher->flushing;
}

void stage_await_stored(struct stage *stage)
{
    while (is_storing(stage->dispatcher))
        weir_loop_step(stage->loop, 1);
}

static void take_plan(const struct msg_plan_is *plan, struct stage_heard *heard)
{
    (void)snprintf(heard->limit, sizeof(heard->limit), "%s", plan->limit);
    heard->wanted = plan->wanted;
    heard->optimum = plan->optimum;
    heard->operator_ns = plan->ns.at[0];
    heard->operator_rows = plan->rows.at[0];
}

static void on_heard(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct stage_heard *heard = owner;
    heard->done = true;
    heard->status = err != NULL ? err->status : WEIR_OK;
    if (err != NULL)
        (void)snprintf(heard->error, sizeof(heard->error), "%s", err->text);
    if (reply != NULL && reply->type == MSG_client_opened)
        heard->opened = *(const struct msg_client_opened *)reply->message;
    if (reply != NULL && reply->type == MSG_plan_is)
        take_plan(reply->message, heard);
    if (reply != NULL && reply->type == MSG_job_is)
        (void)snprintf(heard->job_state, sizeof(heard->job_state), "%s",
                       ((const struct msg_job_is *)reply->message)->state);
}

void stage_tell(struct stage *stage, enum weir_message type, const void *message,
                struct stage_heard *heard)
{
    *heard = (struct stage_heard){.done = false};
    weir_rpc_call(stage->peer, type, message, REQUEST_MAX_MS, on_heard, heard);
}

struct stage_heard stage_hear(struct stage *stage, enum weir_message type, const void *message)
{
    struct stage_heard heard;
    stage_tell(stage, type, message, &heard);
    test_loop_until(stage->loop, &heard.done);
    return heard;
}

/* ---- what is said ---- */

struct msg_job_open stage_job(const struct stage *stage, uint64_t job)
{
    return (struct msg_job_open){.job = job,
                                 .file = "p.yaml",
                                 .config = weir_bytes_of(CONFIG),
                                 .set_path = stage->set_path,
                                 .set_digest = stage->digest,
                                 .epochs = 1,
                                 .mode = "train"};
}

struct msg_job_is stage_audit(struct stage *stage, uint64_t job)
{
    struct msg_job_is is;
    stage_request(stage, MSG_job_request, &(struct msg_job_request){.job = job}, MSG_job_is, &is);
    return is;
}

struct weir_position stage_position(uint64_t oldest, uint64_t ahead)
{
    struct weir_position position = {.oldest = oldest};
    for (uint64_t i = 0; i < ahead; i++)
        weir_bits_set(&position.ahead, 2 * i + 1);
    position.tally.delivered = oldest + ahead;
    for (uint64_t batch = 0; batch < oldest + 2 * ahead; batch++) {
        if (weir_position_consumed(&position, batch))
            position.tally.fingerprint += weir_fingerprint(STAGE_FIRST_ID + batch, 0);
    }
    return position;
}

uint64_t stage_take_place(struct stage *stage, uint64_t job, uint64_t session,
                          const struct weir_position *state)
{
    struct msg_client_opened opened = {0};
    WEIR_AUTO_BUF packed = {0};
    if (state != NULL)
        weir_position_pack(state, &packed);
    do {
        struct msg_client_open message = {.job = job,
                                          .session = session,
                                          .position = weir_buf_view(&packed),
                                          .after = opened.newest};
        stage_request(stage, MSG_client_open, &message, MSG_client_opened, &opened);
    } while (opened.attempt == 0);
    assert_int_equal(opened.batch_bytes, STAGE_SAMPLE_BYTES);
    return opened.attempt;
}

void stage_consume(struct stage *stage, const struct stage_consumer *consumer, uint64_t number)
{
    struct msg_client_orders orders;
    WEIR_AUTO_BUF bits = {0};
    WEIR_AUTO_BUF tally = {0};
    weir_bits_pack(&consumer->position->ahead, &bits);
    weir_tally_pack(&consumer->position->tally, &tally);
    const struct msg_client_beat beat = {.job = consumer->job,
                                         .attempt = consumer->attempt,
                                         .session = consumer->session,
                                         .number = number,
                                         .oldest = consumer->position->oldest,
                                         .consumed = weir_buf_view(&bits),
                                         .received = weir_buf_view(&bits),
                                         .tally = weir_buf_view(&tally)};
    stage_request(stage, MSG_client_beat, &beat, MSG_client_orders, &orders);
    assert_int_equal(orders.number, number);
}

void stage_commit(struct stage *stage, const struct stage_consumer *consumer, bool final)
{
    struct msg_client_committed committed;
    WEIR_AUTO_BUF packed = {0};
    weir_position_pack(consumer->position, &packed);
    const struct msg_client_commit message = {.job = consumer->job,
                                              .attempt = consumer->attempt,
                                              .session = consumer->session,
                                              .position = weir_buf_view(&packed),
                                              .final = final};
    stage_request(stage, MSG_client_commit, &message, MSG_client_committed, &committed);
    assert_int_equal(committed.batches, weir_position_batches(consumer->position));
}
