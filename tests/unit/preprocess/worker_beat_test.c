/* A beat to a dispatcher that answers it, and what the worker forgets then: preprocess/worker/beat.h. */
#include "preprocess/worker/beat.h"

#include "core/base/memory.h"
#include "preprocess/worker/jobs.h"
#include "tests/support/chain.h"
#include "tests/support/loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { JOB = 7 };

/* A worker with one open job, and its dispatcher: they share the loop. */
struct beaten {
    struct worker *worker;
    struct worker_job *job;
    struct weir_rpc_server *dispatcher;
    struct test_chain chain;
    char told[BATCH_MAKER_REASON_MAX]; /* reason in the newest beat */
    const char *arising; /* reason that the job has before the answer leaves, or NULL */
};

static void on_beat(void *owner, struct weir_request *request)
{
    struct beaten *beaten = owner;
    const struct msg_worker_beat *beat = request->message;
    struct weir_route route = request->route;

    assert_int_equal(beat->stat_jobs.count, 1);
    assert_int_equal(beat->stat_jobs.at[0], JOB);
    (void)snprintf(beaten->told, sizeof(beaten->told), "%s", beat->stat_reasons.at[0]);
    if (beaten->arising != NULL)
        (void)snprintf(beaten->job->reason, sizeof(beaten->job->reason), "%s", beaten->arising);
    weir_rpc_reply(request->server, &route, MSG_worker_orders,
                   &(struct msg_worker_orders){.lease_ms = 1000}, NULL);
}

static const struct weir_rpc_handler DISPATCHER[] = {WEIR_ON(worker_beat, on_beat),
                                                     {MSG_none, NULL}};
static const struct weir_rpc_handler NOBODY[] = {{MSG_none, NULL}};

static void rest(void *owner)
{
    struct worker *worker = owner;

    worker->pumping = false;
}

static void begin(struct beaten *beaten)
{
    struct worker *worker = weir_calloc(1, sizeof(*worker));
    struct weir_error err;

    *beaten = (struct beaten){.worker = worker};
    worker->loop = weir_loop_new();
    assert_int_equal(
        weir_rpc_serve(worker->loop, "inproc://worker", NOBODY, worker, &worker->server, &err),
        WEIR_OK);
    assert_int_equal(weir_rpc_serve(worker->loop, "inproc://dispatcher", DISPATCHER, beaten,
                                    &beaten->dispatcher, &err),
                     WEIR_OK);
    assert_int_equal(weir_rpc_connect(worker->loop, "inproc://dispatcher", NULL, NULL,
                                      &worker->dispatcher, &err),
                     WEIR_OK);
    worker->name = weir_strdup("w0");
    worker->pump = rest;
    worker->batch_maker = preprocess_batch_maker_new(NULL);
    preprocess_flow_init(&worker->flow, 1);
    test_chain_open(&beaten->chain, "[{op: json_fields, fields: [x]}]");
    beaten->job = preprocess_worker_job_slot(worker, JOB);
    beaten->job->open = true;
    beaten->job->plan.chain = beaten->chain.chain;
    beaten->job->plan.options.on_error.action = CFG_ON_ERROR_FAIL;
}

static void end(struct beaten *beaten)
{
    struct worker *worker = beaten->worker;

    test_chain_close(&beaten->chain);
    preprocess_flow_fini(&worker->flow);
    preprocess_batch_maker_free(worker->batch_maker);
    weir_rpc_peer_close(worker->dispatcher);
    weir_rpc_server_close(beaten->dispatcher);
    weir_rpc_server_close(worker->server);
    weir_loop_free(worker->loop);
    free(worker->name);
    free(worker);
}

/* Returns the reason that the dispatcher is told by one beat, once that is answered. */
static const char *beat(struct beaten *beaten)
{
    struct worker *worker = beaten->worker;
    int64_t limit_ms = weir_now_ms() + TEST_PATIENCE_MS;

    worker->beat_due = true;
    preprocess_worker_beat(worker);
    while (worker->beat_open) {
        assert_true(weir_now_ms() < limit_ms);
        weir_loop_step(worker->loop, TEST_STEP_MS);
    }
    return beaten->told;
}

static void a_reason_that_fails_a_run_is_told_once(void **state)
{
    (void)state;
    struct beaten beaten;

    begin(&beaten);
    (void)snprintf(beaten.job->reason, sizeof(beaten.job->reason), "sample 1 cannot be read");
    assert_string_equal(beat(&beaten), "sample 1 cannot be read");
    assert_string_equal(beat(&beaten), "");
    end(&beaten);
}

static void a_reason_that_arises_while_a_beat_is_under_way_is_told_by_the_next(void **state)
{
    (void)state;
    struct beaten beaten;

    begin(&beaten);
    beaten.arising = "sample 2 cannot be read";
    assert_string_equal(beat(&beaten), "");
    beaten.arising = NULL;
    assert_string_equal(beat(&beaten), "sample 2 cannot be read");
    assert_string_equal(beat(&beaten), "");
    end(&beaten);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_reason_that_fails_a_run_is_told_once),
        cmocka_unit_test(a_reason_that_arises_while_a_beat_is_under_way_is_told_by_the_next),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
