/* Keys that the platform makes for a group of processes, and what those who have keys can do to each other, against
 * real Postgres and a real keyed listener. */
#include "tests/component/orchestrator_stage.h"

#include "core/base/clock.h"
#include "core/base/memory.h"
#include "core/rpc/pass.h"
#include "core/wire/fitted.h"
#include "core/wire/sample.h"
#include "orchestrator/keys/keys.h"
#include "orchestrator/runs/run_state.h"
#include "tests/support/keyed.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

static const struct keys_order WORKERS = {
    .name = "worker@weir-1", .role = WEIR_ROLE_WORKER, .tenant = "", .made_for = "group weir-1"};

static void listen_to_all(struct stage *stage)
{
    struct weir_error err;
    struct weir_pair pair;
    assert_int_equal(weir_pair_draw(&pair, &err), WEIR_OK);
    const struct weir_rpc_door door = {"tcp://127.0.0.1:*", NULL, &pair};
    assert_int_equal(weir_rpc_listen_keyed(stage->orch->topics.server, &door, &err), WEIR_OK);
    weir_pair_fini(&pair);
}

static void issue(struct stage *stage, const char *path, struct weir_pass *ret_pass)
{
    struct weir_error err;
    assert_int_equal(orchestrator_keys_issue(stage->orch->keys, &WORKERS, path, &err), WEIR_OK);
    assert_int_equal(weir_pass_read(path, ret_pass, &err), WEIR_OK);
}

static const struct weir_sender *find(const struct stage *stage, const struct weir_pass *pass)
{
    return weir_keyring_find(weir_rpc_keyring(stage->orch->topics.server), pass->pair.public);
}

static void a_key_of_a_group_lies_in_its_file_and_ends_with_the_group(void **state)
{
    struct stage *stage = *state;
    struct weir_error err;
    struct weir_pass pass = {.platform = NULL};
    struct stat file;
    WEIR_AUTO_FREE char *path = weir_format("%s/worker.key", stage->dir.path);
    listen_to_all(stage);
    issue(stage, path, &pass);
    assert_int_equal(stat(path, &file), 0);
    assert_int_equal(file.st_mode & 0777, 0600);
    assert_string_equal(pass.platform, weir_rpc_keyed_address(stage->orch->topics.server));
    const struct weir_sender *sender = find(stage, &pass);
    assert_non_null(sender);
    assert_int_equal(sender->role, WEIR_ROLE_WORKER);
    assert_string_equal(sender->name, "worker@weir-1");
    assert_int_equal(orchestrator_keys_end(stage->orch->keys, "group weir-2", &err), WEIR_OK);
    assert_non_null(find(stage, &pass));
    assert_int_equal(orchestrator_keys_end(stage->orch->keys, "group weir-1", &err), WEIR_OK);
    assert_null(find(stage, &pass));
    assert_int_equal(orchestrator_keys_end(stage->orch->keys, "group weir-1", &err), WEIR_OK);
    weir_pass_fini(&pass);
}

static void a_group_that_is_tried_again_has_the_newest_key_alone(void **state)
{
    struct stage *stage = *state;
    struct weir_error err;
    struct weir_pass first = {.platform = NULL}, second = {.platform = NULL};
    const struct keys_order other = {"worker@weir-1", WEIR_ROLE_WORKER, "", "group weir-9"};
    WEIR_AUTO_FREE char *path = weir_format("%s/worker.key", stage->dir.path);
    listen_to_all(stage);
    issue(stage, path, &first);
    issue(stage, path, &second);
    assert_null(find(stage, &first));
    assert_non_null(find(stage, &second));
    assert_int_equal(orchestrator_keys_issue(stage->orch->keys, &other, path, &err), WEIR_EXISTS);
    assert_non_null(find(stage, &second));
    weir_pass_fini(&first);
    weir_pass_fini(&second);
}

static void a_platform_that_listens_to_its_own_host_alone_makes_no_keys(void **state)
{
    struct stage *stage = *state;
    struct weir_error err;
    WEIR_AUTO_FREE char *path = weir_format("%s/worker.key", stage->dir.path);
    assert_int_equal(orchestrator_keys_issue(stage->orch->keys, &WORKERS, path, &err),
                     WEIR_UNSUPPORTED);
    assert_int_equal(orchestrator_keys_number(stage->orch->keys), 1);
}

/* ---- what others do ---- */

static const char PIPELINE[] = "pipeline: {name: p}\n"
                               "datasets: [{name: notes}]\n"
                               "trigger: {policy: amount, samples: 30}\n"
                               "selection: {}\npreprocess: {}\ntraining: {}\n";

enum { MALLORY, BLUE, ANNA, EVE, PEOPLE };

static const struct keyed_person WHO[PEOPLE] = {
    [MALLORY] = {"mallory", WEIR_ROLE_TRAINER, ""},
    [BLUE] = {"blue", WEIR_ROLE_TRAINER, "blue"},
    [ANNA] = {"anna", WEIR_ROLE_SUBMITTER, ""},
    [EVE] = {"eve", WEIR_ROLE_SUBMITTER, ""},
};

static struct keyed keyed;

static int end_keyed(void **state)
{
    keyed_end(&keyed);
    keyed = (struct keyed){.done = false};
    return stage_teardown(state);
}

/* A run whose trainer has asked what to do, and does not get on. */
static struct run *begin_run(struct stage *stage)
{
    const struct stage_trainer *trainer = &stage->trainers[0];
    const struct run *run = NULL;
    stage->fires_first = SIZE_MAX;
    (void)stage_submit(stage, PIPELINE);
    while (run == NULL || run->group.members[0].session != trainer->session) {
        weir_loop_step(stage->loop, TEST_STEP_MS);
        run =
            trainer->peer != NULL ? orchestrator_run_find(&stage->orch->runs, trainer->run) : NULL;
    }
    return orchestrator_run_find(&stage->orch->runs, trainer->run);
}

struct beaten {
    bool done, stop;
};

static void on_orders(void *owner, const struct weir_reply *reply, const struct weir_error *err)
{
    struct beaten *beaten = owner;
    assert_null(err);
    beaten->done = true;
    beaten->stop = ((const struct msg_run_orders *)reply->message)->stop;
}

static bool is_stopped(const struct stage *stage, size_t who, const struct msg_run_beat *beat)
{
    struct beaten beaten = {.done = false};
    weir_rpc_call(keyed.peers[who], MSG_run_beat, beat, KEYED_MS, on_orders, &beaten);
    test_loop_until(stage->loop, &beaten.done);
    return beaten.stop;
}

/* A command is held to its topic (access.def), and health is nobody's. */
static void whoever_knows_a_session_of_another_key_says_nothing_of_its_run(void **state)
{
    static const enum weir_message CASES[] = {MSG_run_request, MSG_run_beat, MSG_run_done,
                                              MSG_run_next,    MSG_command,  MSG_health};
    struct stage *stage = *state;
    keyed_begin(&keyed, stage->loop, stage->orch->topics.server, WHO, PEOPLE);
    struct run *run = begin_run(stage);
    uint64_t number = (uint64_t)run->number, session = run->group.members[0].session;
    const struct msg_run_request asks = {.run = number, .session = 1, .token = run->token};
    const struct msg_run_beat beats = {
        .run = number, .session = session, .samples = 9, .stage = "", .metrics = ""};
    const struct msg_run_done ends = {
        .run = number, .session = session, .model = "", .outputs = "", .metrics = ""};
    const struct msg_run_next stays = {.run = number, .session = session};
    assert_int_equal(keyed_ask(&keyed, BLUE, MSG_run_request, &asks), WEIR_DENIED);
    assert_non_null(strstr(keyed.words, "is of another tenant"));
    for (size_t who = MALLORY; who <= BLUE; who++) {
        assert_true(is_stopped(stage, who, &beats));
        assert_int_equal(keyed_ask(&keyed, who, MSG_run_done, &ends),
                         who == BLUE ? WEIR_DENIED : WEIR_STALE);
        assert_int_equal(keyed_ask(&keyed, who, MSG_run_next, &stays), WEIR_OK); /* it may leave */
    }
    assert_int_equal(run->group.members[0].samples, 0);
    assert_false(run->group.members[0].is_done);
    keyed_assert_covered(ORCHESTRATOR_HANDLERS, CASES, WEIR_COUNT(CASES));
    stage->fires_first = 0;
    stage_until_reported(stage, "\"trigger_fired\"", 2); /* it has gone on */
}

/* A text of blanks is no more than its numbers, and as long as a message. */
static void metrics_of_a_trainer_are_kept_if_they_are_short(void **state)
{
    static const struct {
        size_t size;
        bool is_kept;
    } CASES[] = {{1 << 10, true}, {1 << 20, false}};
    struct stage *stage = *state;
    const struct run *run = begin_run(stage);
    for (size_t i = 0; i < WEIR_COUNT(CASES); i++) {
        WEIR_AUTO_FREE char *metrics = weir_calloc(CASES[i].size + 1, 1);
        struct beaten beaten = {.done = false};
        memset(metrics, ' ', CASES[i].size);
        metrics[0] = '{';
        metrics[CASES[i].size - 1] = '}';
        const struct msg_run_beat beat = {.run = (uint64_t)run->number,
                                          .session = run->group.members[0].session,
                                          .samples = i + 1,
                                          .stage = "",
                                          .metrics = metrics};
        weir_rpc_call(stage->trainers[0].peer, MSG_run_beat, &beat, KEYED_MS, on_orders, &beaten);
        test_loop_until(stage->loop, &beaten.done);
        assert_false(beaten.stop);
        assert_int_equal(run->metrics != NULL, CASES[i].is_kept);
    }
    stage->fires_first = 0;
    stage_until_reported(stage, "\"trigger_fired\"", 2); /* it has gone on */
}

/* A trainer may be anybody's program, and what is taken from it is kept. */
static void a_trainer_hands_over_no_more_than_there_are_bounds_for(void **state)
{
    struct stage *stage = *state;
    const struct run *run = begin_run(stage);
    WEIR_AUTO_FREE char *name = weir_calloc(NAME_MAX + 2, 1);
    WEIR_AUTO_FREE uint8_t *fitted = weir_calloc(WEIR_FITTED_MAX + 1, 1);
    const struct msg_run_done good = {.run = (uint64_t)run->number,
                                      .session = run->group.members[0].session,
                                      .model = "",
                                      .outputs = "",
                                      .metrics = ""};
    struct msg_run_done bad[] = {good, good, good, good, good};
    memset(name, 'm', NAME_MAX + 1);
    bad[0].model = name;
    bad[1].outputs = name;
    bad[2].fitted = weir_bytes(fitted, WEIR_FITTED_MAX + 1);
    bad[3].busy_ns = INT64_MIN;
    bad[4].cpu_ns = INT64_MAX;
    for (size_t i = 0; i < WEIR_COUNT(bad); i++) {
        keyed.done = false;
        weir_rpc_call(stage->trainers[0].peer, MSG_run_done, &bad[i], KEYED_MS, keyed_on_reply,
                      &keyed);
        test_loop_until(stage->loop, &keyed.done);
        assert_int_equal(keyed.status, WEIR_INVALID);
        assert_non_null(strstr(keyed.words, "names of files of at most 255 bytes"));
    }
    assert_false(run->group.members[0].is_done);
    stage->fires_first = 0;
    stage_until_reported(stage, "\"trigger_fired\"", 2); /* it has gone on */
}

/* Runs that are under way, over or not there are answered alike. */
static void a_key_of_a_tenant_learns_nothing_of_runs_of_others(void **state)
{
    struct stage *stage = *state;
    char words[3][WEIR_ERROR_TEXT_MAX];
    (void)stage_run(stage, PIPELINE);
    uint64_t over = stage->jobs[0].number;
    keyed_begin(&keyed, stage->loop, stage->orch->topics.server, WHO, PEOPLE);
    const struct msg_run_done ends = {.run = over, .model = "", .outputs = "", .metrics = ""};
    const struct msg_run_done none = {.run = UINT32_MAX, .model = "", .outputs = "", .metrics = ""};
    const struct msg_run_request asks = {.run = over, .session = 1, .token = ""};
    assert_int_equal(keyed_ask(&keyed, MALLORY, MSG_run_done, &ends), WEIR_OK);
    assert_int_equal(keyed_ask(&keyed, MALLORY, MSG_run_done, &none), WEIR_NOT_FOUND);
    assert_int_equal(keyed_ask(&keyed, BLUE, MSG_run_done, &ends), WEIR_DENIED);
    (void)snprintf(words[0], sizeof(words[0]), "%s", strchr(keyed.words + 4, ' '));
    assert_int_equal(keyed_ask(&keyed, BLUE, MSG_run_done, &none), WEIR_DENIED);
    (void)snprintf(words[1], sizeof(words[1]), "%s", strchr(keyed.words + 4, ' '));
    assert_int_equal(keyed_ask(&keyed, BLUE, MSG_run_request, &asks), WEIR_DENIED);
    (void)snprintf(words[2], sizeof(words[2]), "%s", strchr(keyed.words + 4, ' '));
    assert_string_equal(words[0], " is of another tenant, or there is none");
    assert_string_equal(words[1], words[0]);
    assert_string_equal(words[2], words[0]);
}

static void rows_are_predicted_for_nobody_but_the_key_that_lends_them(void **state)
{
    struct stage *stage = *state;
    WEIR_AUTO_FREE char *arguments =
        weir_format("{\"pipeline\": \"p\", \"first\": %llu, \"count\": 1}",
                    (unsigned long long)weir_sample_id(WEIR_DATASET_LENT, 0, 5));
    const struct msg_command predict = {.topic = "predict_rows", .arguments = arguments};
    (void)stage_run(stage, PIPELINE);
    keyed_begin(&keyed, stage->loop, stage->orch->topics.server, WHO, PEOPLE);
    assert_int_equal(keyed_ask(&keyed, EVE, MSG_command, &predict), WEIR_NOT_FOUND);
    assert_string_equal(keyed.words, "these rows are not lent");
    assert_int_equal(keyed_ask(&keyed, ANNA, MSG_command, &predict), WEIR_OK);
}

/* By hand, as nothing is answered while the loop stands. */
static size_t ask_much(const struct stage *stage, const struct weir_sender *sender,
                       const char *arguments)
{
    const struct msg_command asked = {.topic = "datasets", .arguments = arguments};
    struct topics *topics = &stage->orch->topics;
    struct weir_request request = {
        .server = topics->server,
        .type = MSG_command,
        .message = &asked,
        .route = {.identity = {(uint8_t)sender->name[0]}, .identity_size = 1},
        .sender = sender};
    for (size_t i = 0; i < TOPIC_CALLS_MAX; i++) {
        request.route.request = i + 1;
        orchestrator_topics_answer(topics, &request);
    }
    return weir_quota_has(&topics->quota, weir_quota_key(sender->name));
}

static void one_key_has_no_more_requests_under_way_than_it_leaves_to_others(void **state)
{
    static const struct weir_sender SENDERS[] = {{WEIR_ROLE_OPERATOR, "mallory", ""},
                                                 {WEIR_ROLE_OPERATOR, "rosa", ""},
                                                 {WEIR_ROLE_PLATFORM, "", ""}};
    const struct stage *stage = *state;
    assert_int_equal(ask_much(stage, &SENDERS[0], ""), TOPIC_CALLS_MAX / 2);
    assert_int_equal(ask_much(stage, &SENDERS[1], ""), TOPIC_CALLS_MAX / 4);
    assert_int_equal(ask_much(stage, &SENDERS[2], ""), TOPIC_CALLS_MAX / 4);
}

/* They are kept for as long as the request is under way. */
static void long_arguments_take_the_places_of_many_requests(void **state)
{
    static const struct weir_sender MANY = {WEIR_ROLE_OPERATOR, "mallory", ""};
    enum { SIZE = 15 * TOPIC_CALL_BYTES };
    const struct stage *stage = *state;
    WEIR_AUTO_FREE char *arguments = weir_calloc(SIZE + 1, 1);
    memset(arguments, ' ', SIZE);
    arguments[0] = '{';
    arguments[SIZE - 1] = '}';
    assert_int_equal(ask_much(stage, &MANY, arguments), TOPIC_CALLS_MAX / 2);
    assert_int_equal(weir_quota_has(&stage->orch->topics.quota, weir_quota_key("rosa")), 0);
    size_t calls = 0;
    const struct topic_call *call;
    LIST_FOREACH (call, &stage->orch->topics.calls, link)
        calls++;
    assert_int_equal(calls, TOPIC_CALLS_MAX / 2 / 16);
}

/* ---- pages ---- */

struct listed {
    bool done, has_older;
    size_t count;
};

static void on_models(void *owner, json_t *json, const struct weir_error *err)
{
    struct listed *listed = owner;
    assert_null(err);
    listed->done = true;
    listed->count = json_array_size(json_object_get(json, "models"));
    listed->has_older = json_object_get(json, "before") != NULL;
}

static struct listed list_models(struct stage *stage, const char *tenant)
{
    struct listed listed = {.done = false};
    orchestrator_topics_ask(
        &stage->orch->topics,
        &(struct topic_request){.topic = "models", .arguments = json_object(), .tenant = tenant},
        on_models, &listed);
    test_loop_until(stage->loop, &listed.done);
    return listed;
}

/* A page names its last model, and its length says how many there are. */
static void pages_of_models_are_of_those_that_a_tenant_sees(void **state)
{
    static const char MANY[] =
        "INSERT INTO model SELECT (jsonb_populate_record(m, jsonb_build_object('id', 'copy-' || n, "
        "'trigger', n))).* FROM generate_series(1000, 1600) n CROSS JOIN model m WHERE m.id = "
        "(SELECT min(id) FROM model)";
    struct stage *stage = *state;
    struct weir_error err;
    (void)stage_run(stage, PIPELINE);
    if (weir_db_exec(stage->orch->context.db, MANY, &err) != WEIR_OK)
        fail_msg("%s", err.text);
    assert_true(list_models(stage, "").has_older);
    const struct listed hers = list_models(stage, "blue");
    assert_int_equal(hers.count, 0);
    assert_false(hers.has_older);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_key_of_a_group_lies_in_its_file_and_ends_with_the_group,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(a_group_that_is_tried_again_has_the_newest_key_alone,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(a_platform_that_listens_to_its_own_host_alone_makes_no_keys,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(
            whoever_knows_a_session_of_another_key_says_nothing_of_its_run, stage_setup, end_keyed),
        cmocka_unit_test_setup_teardown(metrics_of_a_trainer_are_kept_if_they_are_short,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(a_trainer_hands_over_no_more_than_there_are_bounds_for,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(a_key_of_a_tenant_learns_nothing_of_runs_of_others,
                                        stage_setup, end_keyed),
        cmocka_unit_test_setup_teardown(rows_are_predicted_for_nobody_but_the_key_that_lends_them,
                                        stage_setup, end_keyed),
        cmocka_unit_test_setup_teardown(
            one_key_has_no_more_requests_under_way_than_it_leaves_to_others, stage_setup,
            stage_teardown),
        cmocka_unit_test_setup_teardown(long_arguments_take_the_places_of_many_requests,
                                        stage_setup, stage_teardown),
        cmocka_unit_test_setup_teardown(pages_of_models_are_of_those_that_a_tenant_sees,
                                        stage_setup, stage_teardown),
    };
    return cmocka_run_group_tests_name("orchestrator_keys", tests, NULL, NULL);
}
