/* A dispatcher over real Postgres, with consumers and workers that this test plays: a job of a million groups
 * over kill -9, and a job that its owner has forgotten. */
#include "preprocess/dispatcher/dispatcher.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/wire/sample_set.h"
#include "tests/support/child.h"
#include "tests/support/loop.h"
#include "tests/support/postgres.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

enum { SAMPLES = 1000000, ASK_MS = 60000, JOB = 3, WORKER = 9, HOUR_MS = 60 * 60 * 1000 };
static const uint64_t FIRST_ID = UINT64_C(1) << 44;
static const char CONFIG[] = "preprocess:\n"
                             "  operators: [{op: json_fields, fields: [a]}]\n"
                             "  batch: {samples: 1, group: 1, shuffle: none, order: relaxed}\n";

static struct weir_test_postgres postgres;

/* A dispatcher of its own process, or within this one on a clock that stands still. */
struct stage {
    struct temp_dir dir;
    char *set_path, *endpoint;
    char digest[WEIR_DIGEST_TEXT_MAX];
    struct weir_loop *loop;
    struct weir_rpc_peer *peer;
    struct weir_arena *arena;
    pid_t process;
    struct weir_rpc_server *server;
    void *dispatcher;
    struct test_clock clock;
};

static void seal(struct stage *stage, size_t samples)
{
    struct weir_error err;
    struct weir_digest digest;
    WEIR_AUTO_FREE uint64_t *ids = weir_calloc(samples, sizeof(*ids));
    for (uint64_t i = 0; i < samples; i++)
        ids[i] = FIRST_ID + i;
    assert_int_equal(weir_sample_set_write(stage->set_path, ids, NULL, samples, &digest, &err),
                     WEIR_OK);
    weir_digest_text(&digest, stage->digest);
}

static void begin(struct stage *stage, size_t samples)
{
    struct weir_error err;
    *stage = (struct stage){.loop = weir_loop_new(), .arena = weir_arena_new()};
    temp_dir_make(&stage->dir);
    stage->set_path = weir_format("%s/a.set", stage->dir.path);
    stage->endpoint = weir_service_endpoint(stage->dir.path, "dispatcher");
    seal(stage, samples);
    assert_int_equal(weir_rpc_connect(stage->loop, stage->endpoint, NULL, NULL, &stage->peer, &err),
                     WEIR_OK);
}

static void end(struct stage *stage)
{
    weir_rpc_peer_close(stage->peer);
    weir_loop_free(stage->loop);
    weir_arena_free(stage->arena);
    temp_dir_remove(&stage->dir);
    free(stage->set_path);
    free(stage->endpoint);
    weir_test_postgres_reset(&postgres);
}

static struct msg_job_open job_open(const struct stage *stage)
{
    return (struct msg_job_open){.job = JOB,
                                 .file = "p.yaml",
                                 .config = weir_bytes_of(CONFIG),
                                 .set_path = stage->set_path,
                                 .set_digest = stage->digest,
                                 .epochs = 1,
                                 .mode = "train"};
}

/* ---- a process that is killed ---- */

static void start(struct stage *stage)
{
    static const char PROGRAM[] = WEIR_BIN_DIR "/dispatcher";
    const char *const argv[] = {PROGRAM,         "--data-dir", stage->dir.path,   "--socket-dir",
                                stage->dir.path, "--postgres", postgres.conninfo, "--log-level",
                                "warn",          NULL};
    stage->process = child_start(argv, NULL, NULL);
}

static void ask(struct stage *stage, enum weir_message type, const void *message,
                enum weir_message expected, void *ret_answer)
{
    struct weir_error err = {.text = ""};
    enum weir_status status =
        weir_rpc_ask(stage->peer, type, message, ASK_MS, expected, stage->arena, ret_answer, &err);
    if (status != WEIR_OK)
        fail_msg("%s", err.text);
}

static struct msg_job_is audit(struct stage *stage)
{
    struct msg_job_is is;
    ask(stage, MSG_job_ask, &(struct msg_job_ask){.job = JOB}, MSG_job_is, &is);
    return is;
}

/* All batches before `oldest`, and those of `ahead` behind it. */
static struct weir_position position_of(uint64_t oldest, uint64_t ahead)
{
    struct weir_position position = {.oldest = oldest};
    for (uint64_t i = 0; i < ahead; i++)
        weir_bits_set(&position.ahead, 2 * i + 1);
    position.tally.delivered = oldest + ahead;
    for (uint64_t batch = 0; batch < oldest + 2 * ahead + 1 && batch < SAMPLES; batch++) {
        if (weir_position_consumed(&position, batch))
            position.tally.fingerprint += weir_fingerprint(FIRST_ID + batch, 0);
    }
    return position;
}

static struct msg_client_opened take_place(struct stage *stage, uint64_t session,
                                           const struct weir_position *state)
{
    struct msg_client_opened opened = {0};
    WEIR_AUTO_BUF packed = {0};
    if (state != NULL)
        weir_position_pack(state, &packed);
    do {
        struct msg_client_open message = {.job = JOB,
                                          .session = session,
                                          .position = weir_buf_view(&packed),
                                          .after = opened.newest};
        ask(stage, MSG_client_open, &message, MSG_client_opened, &opened);
    } while (opened.attempt == 0);
    return opened;
}

static void consume(struct stage *stage, uint64_t session, uint64_t attempt, uint64_t number,
                    const struct weir_position *position)
{
    struct msg_client_orders orders;
    WEIR_AUTO_BUF bits = {0};
    WEIR_AUTO_BUF tally = {0};
    weir_bits_pack(&position->ahead, &bits);
    weir_tally_pack(&position->tally, &tally);
    const struct msg_client_beat beat = {.job = JOB,
                                         .attempt = attempt,
                                         .session = session,
                                         .number = number,
                                         .oldest = position->oldest,
                                         .consumed = weir_buf_view(&bits),
                                         .received = weir_buf_view(&bits),
                                         .tally = weir_buf_view(&tally)};
    ask(stage, MSG_client_beat, &beat, MSG_client_orders, &orders);
    assert_int_equal(orders.number, number);
}

static void commit(struct stage *stage, uint64_t session, uint64_t attempt,
                   const struct weir_position *position, bool final)
{
    struct msg_client_committed committed;
    WEIR_AUTO_BUF packed = {0};
    weir_position_pack(position, &packed);
    const struct msg_client_commit message = {.job = JOB,
                                              .attempt = attempt,
                                              .session = session,
                                              .position = weir_buf_view(&packed),
                                              .final = final};
    ask(stage, MSG_client_commit, &message, MSG_client_committed, &committed);
    assert_int_equal(committed.batches, weir_position_batches(position));
}

static struct msg_worker_orders lease(struct stage *stage, uint32_t want)
{
    struct msg_worker_orders orders;
    const struct msg_worker_beat beat = {
        .worker = "worker-1", .session = WORKER, .endpoint = "ipc:///nowhere", .want = want};
    ask(stage, MSG_worker_beat, &beat, MSG_worker_orders, &orders);
    return orders;
}

static void kill_and_start(struct stage *stage)
{
    child_end(stage->process, SIGKILL);
    int64_t killed_ms = weir_now_ms();
    start(stage);
    (void)audit(stage);
    print_message("%d groups: answered %lld ms after kill -9\n", SAMPLES,
                  (long long)(weir_now_ms() - killed_ms));
}

static void a_million_groups_survive_kill_9(void **state)
{
    struct stage stage;
    struct msg_job_opened opened;
    (void)state;
    begin(&stage, SAMPLES);
    start(&stage);
    struct msg_job_open job = job_open(&stage);
    ask(&stage, MSG_job_open, &job, MSG_job_opened, &opened);
    assert_int_equal(opened.batches, SAMPLES);
    uint64_t attempt = take_place(&stage, 1, NULL).attempt;
    struct weir_position durable = position_of(300000, 1500), newest = position_of(400000, 100);
    consume(&stage, 1, attempt, 1, &newest);
    struct msg_worker_orders before = lease(&stage, 64);
    assert_int_equal(before.groups.count, 64);
    assert_int_equal(before.groups.at[1], 400002); /* 400001 is there */
    commit(&stage, 1, attempt, &durable, false);
    kill_and_start(&stage);

    struct msg_job_is is = audit(&stage);
    assert_string_equal(is.state, "open");
    assert_int_equal(is.delivered, 301500);
    assert_int_equal(is.lost + is.duplicated + is.replayed, 0);
    /* The same consumer goes on; what was leased is leased again, above every old fence. */
    consume(&stage, 1, attempt, 2, &newest);
    struct msg_worker_orders after = lease(&stage, 64);
    assert_int_equal(after.groups.count, 64);
    assert_int_equal(after.groups.at[1], 400002);
    for (size_t i = 0; i < after.fences.count; i++)
        assert_true(after.fences.at[i] > before.fences.at[63]);
    /* Another one returns with what was durable, and finishes. */
    attempt = take_place(&stage, 2, &durable).attempt;
    assert_int_equal(attempt, 2);
    consume(&stage, 2, attempt, 1, &durable);
    assert_int_equal(lease(&stage, 64).groups.at[1], 300002);
    kill_and_start(&stage);
    struct weir_position all = position_of(SAMPLES, 0);
    commit(&stage, 2, attempt, &all, true);
    is = audit(&stage);
    assert_string_equal(is.state, "finished");
    assert_int_equal(is.delivered, SAMPLES);
    assert_int_equal(is.lost + is.duplicated, 0);
    assert_int_equal(is.replayed, 400100 - 301500);
    assert_true(is.kept);
    weir_position_fini(&durable);
    weir_position_fini(&newest);
    child_end(stage.process, SIGTERM);
    end(&stage);
}

/* ---- within this process ---- */

static void host(struct stage *stage)
{
    struct weir_error err;
    const struct weir_service_options options = {.data_dir = stage->dir.path,
                                                 .socket_dir = stage->dir.path,
                                                 .postgres = postgres.conninfo,
                                                 .name = "dispatcher"};
    assert_int_equal(dispatcher_open(&options, stage->loop, NULL, &stage->dispatcher, &err),
                     WEIR_OK);
    assert_int_equal(weir_rpc_serve(stage->loop, stage->endpoint, DISPATCHER_HANDLERS,
                                    stage->dispatcher, &stage->server, &err),
                     WEIR_OK);
    ((struct dispatcher *)stage->dispatcher)->server = stage->server;
}

static void unhost(struct stage *stage)
{
    weir_rpc_server_close(stage->server);
    dispatcher_close(stage->dispatcher);
}

struct heard {
    bool done;
    char job_state[16];
    enum weir_status status;
};

static void on_heard(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct heard *heard = owner;
    heard->done = true;
    heard->status = err != NULL ? err->status : WEIR_OK;
    if (reply != NULL && reply->type == MSG_job_is)
        (void)snprintf(heard->job_state, sizeof(heard->job_state), "%s",
                       ((const struct msg_job_is *)reply->message)->state);
}

static struct heard hear(struct stage *stage, enum weir_message type, const void *message)
{
    struct heard heard = {0};
    weir_rpc_call(stage->peer, type, message, ASK_MS, on_heard, &heard);
    test_loop_until(stage->loop, &heard.done);
    return heard;
}

static struct heard hear_of(struct stage *stage)
{
    return hear(stage, MSG_job_ask, &(struct msg_job_ask){.job = JOB});
}

static void pass(struct stage *stage, int64_t hours)
{
    for (int64_t i = 0; i < hours; i++)
        test_clock_advance(&stage->clock, stage->loop, HOUR_MS);
    test_loop_rounds(stage->loop, 3);
}

static size_t jobs_of(const struct stage *stage)
{
    return ((const struct dispatcher *)stage->dispatcher)->entry_count;
}

static void a_job_that_nobody_asks_for_is_closed_after_a_week(void **state)
{
    struct stage stage;
    (void)state;
    begin(&stage, 100);
    test_clock_start(&stage.clock, stage.loop);
    host(&stage);
    struct msg_job_open job = job_open(&stage);
    assert_int_equal(hear(&stage, MSG_job_open, &job).status, WEIR_OK);
    pass(&stage, 6 * 24);
    assert_string_equal(hear_of(&stage).job_state, "open"); /* and that counts as asking */
    pass(&stage, 4 * 24);
    unhost(&stage);
    host(&stage); /* what has passed is remembered */
    assert_int_equal(jobs_of(&stage), 1);
    pass(&stage, 3 * 24 - 1);
    assert_int_equal(jobs_of(&stage), 1);
    pass(&stage, 2);
    assert_int_equal(jobs_of(&stage), 0);
    assert_string_equal(hear_of(&stage).job_state, "closed");
    /* Its owner returns after all. */
    assert_int_equal(hear(&stage, MSG_job_open, &job).status, WEIR_OK);
    assert_string_equal(hear_of(&stage).job_state, "open");
    assert_int_equal(jobs_of(&stage), 1);
    unhost(&stage);
    end(&stage);
}

static int start_postgres(void **state)
{
    (void)state;
    weir_test_postgres_start(&postgres);
    return 0;
}

static int stop_postgres(void **state)
{
    (void)state;
    weir_test_postgres_stop(&postgres);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_million_groups_survive_kill_9),
        cmocka_unit_test(a_job_that_nobody_asks_for_is_closed_after_a_week),
    };
    return cmocka_run_group_tests_name("dispatcher", tests, start_postgres, stop_postgres);
}
