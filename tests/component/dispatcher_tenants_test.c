/* Workers and trainers with keys: they are of use to their tenant's jobs alone, and leave places to each other. */
#include "core/base/utf8.h"
#include "tests/component/dispatcher_stage.h"
#include "tests/support/keyed.h"

#include <stdlib.h>

enum { RED, BLUE, RED_TRAINER, OTHER_TRAINER, BLUE_TRAINER, PEOPLE };
enum { JOB = 7, SAMPLES = 8 };

static const struct keyed_person WHO[PEOPLE] = {
    [RED] = {"red", WEIR_ROLE_WORKER, "red"},
    [BLUE] = {"blue", WEIR_ROLE_WORKER, "blue"},
    [RED_TRAINER] = {"red-trainer", WEIR_ROLE_TRAINER, "red"},
    [OTHER_TRAINER] = {"other-trainer", WEIR_ROLE_TRAINER, "red"},
    [BLUE_TRAINER] = {"blue-trainer", WEIR_ROLE_TRAINER, "blue"},
};

struct lab {
    struct stage stage;
    struct keyed keyed;
};

static int set_up(void **state)
{
    struct lab *lab = weir_calloc(1, sizeof(*lab));
    stage_begin(&lab->stage, *state, SAMPLES);
    stage_host(&lab->stage);
    keyed_begin(&lab->keyed, lab->stage.loop, lab->stage.server, WHO, PEOPLE);
    *state = lab;
    return 0;
}

static int tear_down(void **state)
{
    struct lab *lab = *state;
    keyed_end(&lab->keyed);
    stage_unhost(&lab->stage);
    stage_end(&lab->stage);
    free(lab);
    return 0;
}

static const char NO_NUMBER[] = "sample 1: no number";

/* Says that a sample of the job has failed, and what the job has cost. */
static enum weir_status tell(struct lab *lab, size_t who, const char *reason, int64_t cost_ns)
{
    const char *const REASONS[] = {reason};
    const uint64_t jobs[] = {JOB}, ids[] = {STAGE_FIRST_ID}, one[] = {1}, zero[] = {0};
    const int64_t cpu_ns[] = {cost_ns};
    const struct msg_worker_beat beat = {.worker = WHO[who].name,
                                         .session = 7,
                                         .endpoint = "tcp://10.0.0.1:1#k",
                                         .stat_jobs = {jobs, 1},
                                         .stat_cpu_ns = {cpu_ns, 1},
                                         .stat_bytes_read = {zero, 1},
                                         .stat_bytes_sent = {zero, 1},
                                         .stat_operators = {zero, 1},
                                         .stat_reasons = {REASONS, 1},
                                         .stat_failures = {one, 1},
                                         .failed_ids = {ids, 1},
                                         .failed_reasons = {REASONS, 1}};
    return keyed_ask(&lab->keyed, who, MSG_worker_beat, &beat);
}

static void report(struct lab *lab, size_t who, const char *reason)
{
    assert_int_equal(tell(lab, who, reason, 1000), WEIR_OK);
}

static struct dispatcher_entry *open_job(struct lab *lab)
{
    struct msg_job_open job = stage_job(&lab->stage, JOB);
    job.tenant = "red";
    assert_int_equal(stage_hear(&lab->stage, MSG_job_open, &job).status, WEIR_OK);
    return preprocess_dispatcher_in_memory(lab->stage.dispatcher, JOB);
}

static void a_worker_reports_of_no_job_of_another_tenant(void **state)
{
    struct lab *lab = *state;
    const struct dispatcher_entry *entry = open_job(lab);
    report(lab, BLUE, NO_NUMBER);
    assert_string_equal(preprocess_entry_reason(entry), "");
    assert_int_equal(entry->costs.total.cpu_ns, 0);
    report(lab, RED, NO_NUMBER);
    assert_string_equal(preprocess_entry_reason(entry), "sample 1: no number");
    assert_int_equal(entry->costs.total.cpu_ns, 1000);
}

static void time_that_nobody_can_have_spent_is_refused_in_words(void **state)
{
    static const int64_t NS[] = {-1, INT64_MIN, INT64_MAX};
    struct lab *lab = *state;
    const struct dispatcher_entry *entry = open_job(lab);
    for (size_t i = 0; i < WEIR_COUNT(NS); i++) {
        assert_int_equal(tell(lab, RED, "", NS[i]), WEIR_INVALID);
        assert_string_equal(lab->keyed.words,
                            "worker_beat of 'red': expected a name, a session, columns of equal "
                            "length and times that can have been spent");
    }
    assert_int_equal(entry->costs.total.cpu_ns, 0);
}

/* Of a worker that sends more than those of Weir do; a piece of a character cannot be stored. */
static void a_long_reason_is_kept_as_far_as_there_is_room_for_characters(void **state)
{
    enum { CHARACTERS = 2000 };
    struct lab *lab = *state;
    const struct dispatcher_entry *entry = open_job(lab);
    char reason[2 * CHARACTERS + 2] = "x"; /* so that each place is the middle of a character */
    for (size_t i = 0; i < CHARACTERS; i++)
        memcpy(reason + 1 + 2 * i, "\u00fc", 3);
    report(lab, RED, reason);
    const char *const KEPT[] = {preprocess_entry_reason(entry), entry->failures.of[0].reason};
    for (size_t i = 0; i < WEIR_COUNT(KEPT); i++) {
        struct weir_bytes left = weir_bytes_of(KEPT[i]);
        assert_in_range(left.size, FAILURE_REASON_MAX - 1, WEIR_ERROR_TEXT_MAX - 1);
        for (size_t size; left.size > 0; left = weir_bytes(left.at + size, left.size - size)) {
            size = weir_utf8_character(left);
            assert_int_not_equal(size, 0);
        }
    }
}

static void a_key_that_has_all_the_places_it_can_have_is_refused_in_words(void **state)
{
    struct lab *lab = *state;
    struct dispatcher *dispatcher = lab->stage.dispatcher;
    char name[32];
    bool known;
    struct pool_beat beat = {.name = name, .endpoint = "tcp://a", .session = 5, .key = "blue"};
    for (size_t i = 0; snprintf(name, sizeof(name), "blue-%zu", i) > 0 &&
                       preprocess_pool_has_room(&dispatcher->pool, &beat);
         i++)
        assert_true(preprocess_pool_hear(&dispatcher->pool, &beat,
                                         weir_loop_now_ms(lab->stage.loop), &known) >= 0);
    const struct msg_worker_beat blue = {.worker = "blue", .session = 7, .endpoint = "tcp://b"},
                                 red = {.worker = "red", .session = 7, .endpoint = "tcp://b"};
    assert_int_equal(keyed_ask(&lab->keyed, BLUE, MSG_worker_beat, &blue), WEIR_LIMIT);
    assert_string_equal(lab->keyed.words,
                        "worker_beat: found 10922 of 16384 places taken, and no other one for key "
                        "'blue': expected that workers have been silent for 10 minutes");
    assert_int_equal(keyed_ask(&lab->keyed, RED, MSG_worker_beat, &red), WEIR_OK);
}

/* ---- consumers ---- */

enum { SESSION = 7 };

static const struct msg_client_open OPENS = {.job = JOB, .session = SESSION, .token = ""};
static const struct msg_client_beat BEATS = {
    .job = JOB, .attempt = 1, .session = SESSION, .window_why = ""};
static const struct msg_client_commit COMMITS = {.job = JOB, .attempt = 1, .session = SESSION};

static void every_message_about_a_job_is_refused_to_other_tenants(void **state)
{
    static const struct msg_job_describe DESCRIBES = {.job = JOB};
    static const struct {
        enum weir_message type;
        size_t who;
        const void *message;
    } REFUSED[] = {
        {MSG_job_describe, BLUE, &DESCRIBES},
        {MSG_client_open, BLUE_TRAINER, &OPENS},
        {MSG_client_beat, BLUE_TRAINER, &BEATS},
        {MSG_client_commit, BLUE_TRAINER, &COMMITS},
    };
    /* The last two are held to the name of the key, and the first reports of its tenant's jobs alone. */
    enum weir_message cases[WEIR_COUNT(REFUSED) + 2] = {MSG_worker_beat, MSG_worker_leave};
    struct lab *lab = *state;
    (void)open_job(lab);
    assert_int_equal(keyed_ask(&lab->keyed, RED_TRAINER, MSG_client_open, &OPENS), WEIR_OK);
    for (size_t i = 0; i < WEIR_COUNT(REFUSED); i++) {
        cases[i + 2] = REFUSED[i].type;
        assert_int_equal(
            keyed_ask(&lab->keyed, REFUSED[i].who, REFUSED[i].type, REFUSED[i].message),
            WEIR_DENIED);
        assert_string_equal(lab->keyed.words, "job 7 is of another tenant");
    }
    keyed_assert_covered(PREPROCESS_DISPATCHER_HANDLERS, cases, WEIR_COUNT(cases));
    assert_int_equal(keyed_ask(&lab->keyed, RED_TRAINER, MSG_client_beat, &BEATS), WEIR_OK);
}

/* Of the same tenant, and with the token of the run, too. */
static void whoever_knows_a_session_of_another_key_neither_beats_nor_commits(void **state)
{
    struct lab *lab = *state;
    struct dispatcher_entry *entry = open_job(lab);
    assert_int_equal(keyed_ask(&lab->keyed, RED_TRAINER, MSG_client_open, &OPENS), WEIR_OK);
    assert_int_equal(keyed_ask(&lab->keyed, OTHER_TRAINER, MSG_client_open, &OPENS), WEIR_DENIED);
    assert_int_equal(keyed_ask(&lab->keyed, OTHER_TRAINER, MSG_client_beat, &BEATS), WEIR_DENIED);
    assert_string_equal(lab->keyed.words, "job 7: the consumer of rank 0 has opened its session "
                                          "under another key");
    assert_int_equal(keyed_ask(&lab->keyed, OTHER_TRAINER, MSG_client_commit, &COMMITS),
                     WEIR_DENIED);
    entry->consumers[0].session = 0; /* as after a restart */
    assert_int_equal(keyed_ask(&lab->keyed, RED_TRAINER, MSG_client_beat, &BEATS), WEIR_OK);
    assert_int_equal(keyed_ask(&lab->keyed, OTHER_TRAINER, MSG_client_beat, &BEATS), WEIR_DENIED);
}

static void a_trainer_without_a_place_takes_a_job_no_workers(void **state)
{
    static const char *const WORKERS[] = {"tcp://10.0.0.1:1#k"};
    struct lab *lab = *state;
    struct dispatcher_entry *entry = open_job(lab);
    struct msg_client_beat beat = BEATS;
    beat.unreachable = (struct weir_strs){WORKERS, 1};
    report(lab, RED, NO_NUMBER);
    assert_int_equal(keyed_ask(&lab->keyed, RED_TRAINER, MSG_client_open, &OPENS), WEIR_OK);
    beat.session = SESSION + 1;
    assert_int_equal(keyed_ask(&lab->keyed, OTHER_TRAINER, MSG_client_beat, &beat), WEIR_OK);
    assert_null(entry->barred);
    beat.session = SESSION;
    assert_int_equal(keyed_ask(&lab->keyed, RED_TRAINER, MSG_client_beat, &beat), WEIR_OK);
    assert_non_null(entry->barred);
}

/* ---- what waits for Postgres ---- */

/* By hand, as nothing is stored or found while the loop stands. */
static void ask_much(struct lab *lab, const struct weir_sender *sender, enum weir_message type,
                     const void *message, size_t count)
{
    const struct weir_rpc_handler *handler = PREPROCESS_DISPATCHER_HANDLERS;
    struct weir_request request = {.server = lab->stage.server,
                                   .type = type,
                                   .message = message,
                                   .arena = lab->stage.arena,
                                   .route = {.identity_size = 1},
                                   .sender = sender};
    while (handler->type != type)
        handler++;
    for (request.route.request = 1; request.route.request <= count; request.route.request++)
        handler->fn(lab->stage.dispatcher, &request);
}

static void one_key_has_no_more_jobs_looked_for_than_it_leaves_to_others(void **state)
{
    static const struct weir_sender SENDER = {WEIR_ROLE_WORKER, "blue", "blue"};
    const struct msg_job_describe none = {.job = JOB + 1};
    struct lab *lab = *state;
    struct dispatcher *dispatcher = lab->stage.dispatcher;
    uint64_t key = weir_quota_key(SENDER.name);
    ask_much(lab, &SENDER, MSG_job_describe, &none, DISPATCHER_LOADS_MAX);
    assert_int_equal(weir_quota_has(&dispatcher->loads_quota, key), DISPATCHER_LOADS_MAX / 2);
    assert_int_equal(keyed_ask(&lab->keyed, RED, MSG_job_describe, &none), WEIR_NOT_FOUND);
    assert_int_equal(weir_quota_has(&dispatcher->loads_quota, key), 0); /* they were first */
}

/* Memory for each is bounded by its length, and neither takes the other's places. */
static void long_requests_take_the_places_of_many_and_the_host_has_its_own(void **state)
{
    static const struct weir_sender BLUE_ONE = {WEIR_ROLE_TRAINER, "blue-trainer", "blue"},
                                    HOST = {WEIR_ROLE_PLATFORM, "", ""};
    static const uint8_t ZEROS[16 * DISPATCHER_LOAD_BYTES];
    const struct msg_client_beat beat = {
        .job = JOB + 1, .consumed = {ZEROS, sizeof(ZEROS)}, .window_why = ""};
    const struct msg_job_describe none = {.job = JOB + 1};
    struct lab *lab = *state;
    struct dispatcher *dispatcher = lab->stage.dispatcher;
    ask_much(lab, &HOST, MSG_job_describe, &none, DISPATCHER_LOADS_HERE_MAX + 1);
    assert_int_equal(dispatcher->loads_here.keys.size, DISPATCHER_LOADS_HERE_MAX);
    assert_int_equal(dispatcher->loads_quota.keys.size, 0);
    ask_much(lab, &BLUE_ONE, MSG_client_beat, &beat, DISPATCHER_LOADS_MAX);
    assert_int_equal(weir_quota_has(&dispatcher->loads_quota, weir_quota_key(BLUE_ONE.name)),
                     DISPATCHER_LOADS_MAX / 2 / 17 * 17);
    assert_int_equal(keyed_ask(&lab->keyed, RED, MSG_job_describe, &none), WEIR_NOT_FOUND);
    assert_int_equal(dispatcher->loads_quota.keys.size, 0);
    assert_int_equal(dispatcher->loads_here.keys.size, 0); /* they were first */
}

static void one_key_has_no_more_answers_wait_than_it_leaves_to_others(void **state)
{
    static const struct weir_sender SENDER = {WEIR_ROLE_TRAINER, "red-trainer", "red"};
    struct lab *lab = *state;
    struct dispatcher *dispatcher = lab->stage.dispatcher;
    uint64_t key = weir_quota_key(SENDER.name);
    (void)open_job(lab);
    stage_await_stored(&lab->stage);
    ask_much(lab, &SENDER, MSG_client_open, &OPENS, 1);
    assert_int_equal(weir_quota_has(&dispatcher->replies_quota, key), 1);
    ask_much(lab, &SENDER, MSG_client_beat, &BEATS, DISPATCHER_REPLIES_MAX / 4);
    size_t has = weir_quota_has(&dispatcher->replies_quota, key);
    ask_much(lab, &SENDER, MSG_client_beat, &BEATS, DISPATCHER_REPLIES_MAX / 4); /* copies */
    assert_int_equal(weir_quota_has(&dispatcher->replies_quota, key), has);
    ask_much(lab, &SENDER, MSG_client_beat, &BEATS, DISPATCHER_REPLIES_MAX);
    assert_int_equal(weir_quota_has(&dispatcher->replies_quota, key), DISPATCHER_REPLIES_MAX / 2);
    assert_int_equal(keyed_ask(&lab->keyed, RED_TRAINER, MSG_client_beat, &BEATS), WEIR_OK);
    stage_await_stored(&lab->stage);
    assert_int_equal(weir_quota_has(&dispatcher->replies_quota, key), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_worker_reports_of_no_job_of_another_tenant, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(time_that_nobody_can_have_spent_is_refused_in_words, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_long_reason_is_kept_as_far_as_there_is_room_for_characters, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            a_key_that_has_all_the_places_it_can_have_is_refused_in_words, set_up, tear_down),
        cmocka_unit_test_setup_teardown(every_message_about_a_job_is_refused_to_other_tenants,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            whoever_knows_a_session_of_another_key_neither_beats_nor_commits, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_trainer_without_a_place_takes_a_job_no_workers, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            one_key_has_no_more_jobs_looked_for_than_it_leaves_to_others, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            long_requests_take_the_places_of_many_and_the_host_has_its_own, set_up, tear_down),
        cmocka_unit_test_setup_teardown(one_key_has_no_more_answers_wait_than_it_leaves_to_others,
                                        set_up, tear_down),
    };
    return cmocka_run_group_tests_name("dispatcher_tenants", tests, weir_test_postgres_setup,
                                       weir_test_postgres_teardown);
}
