/* Workers with keys: they report of their tenant's jobs alone, and leave places to each other. */
#include "tests/component/dispatcher_stage.h"
#include "tests/support/keyed.h"

#include <stdlib.h>

enum { RED, BLUE, PEOPLE };
enum { JOB = 7, SAMPLES = 8 };

static const struct keyed_person WHO[PEOPLE] = {
    [RED] = {"red", WEIR_ROLE_WORKER, "red"},
    [BLUE] = {"blue", WEIR_ROLE_WORKER, "blue"},
};

static struct weir_test_postgres postgres;

struct lab {
    struct stage stage;
    struct keyed keyed;
};

static int set_up(void **state)
{
    struct lab *lab = weir_calloc(1, sizeof(*lab));
    stage_begin(&lab->stage, &postgres, SAMPLES);
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

/* Says that a sample of the job has failed, and what the job has cost. */
static void report(struct lab *lab, size_t who)
{
    static const char *const REASONS[] = {"sample 1: no number"};
    const uint64_t jobs[] = {JOB}, ids[] = {STAGE_FIRST_ID}, one[] = {1}, zero[] = {0};
    const int64_t cpu_ns[] = {1000};
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
    assert_int_equal(keyed_ask(&lab->keyed, who, MSG_worker_beat, &beat), WEIR_OK);
}

static void a_worker_reports_of_no_job_of_another_tenant(void **state)
{
    struct lab *lab = *state;
    struct dispatcher *dispatcher = lab->stage.dispatcher;
    struct msg_job_open job = stage_job(&lab->stage, JOB);
    job.tenant = "red";
    assert_int_equal(stage_hear(&lab->stage, MSG_job_open, &job).status, WEIR_OK);
    const struct dispatcher_entry *entry = preprocess_dispatcher_in_memory(dispatcher, JOB);
    report(lab, BLUE);
    assert_string_equal(preprocess_entry_reason(entry), "");
    assert_int_equal(entry->costs.total.cpu_ns, 0);
    assert_int_equal(
        keyed_ask(&lab->keyed, BLUE, MSG_job_describe, &(struct msg_job_describe){.job = JOB}),
        WEIR_DENIED);
    report(lab, RED);
    assert_string_equal(preprocess_entry_reason(entry), "sample 1: no number");
    assert_int_equal(entry->costs.total.cpu_ns, 1000);
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
        cmocka_unit_test_setup_teardown(a_worker_reports_of_no_job_of_another_tenant, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            a_key_that_has_all_the_places_it_can_have_is_refused_in_words, set_up, tear_down),
    };
    return cmocka_run_group_tests_name("dispatcher_tenants", tests, start_postgres, stop_postgres);
}
