/* Samples that cannot be had, with real dispatcher and worker processes: what cannot be read, was
 * erased, is gone or is slow to come is a counted hole, comes later, or ends the run with the
 * reason, as the job says. */
#include "core/base/clock.h"
#include "core/base/hash.h"
#include "core/base/memory.h"
#include "tests/component/preprocess_seen.h"
#include "tests/support/consume.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { BATCH = 16, LINE_OF_17 = 18 };

static const char JSON[] = "preprocess:\n"
                           "  operators: [{op: json_fields, fields: [a, b]}]\n"
                           "  batch: {samples: 16, order: deterministic}\n";
static const char COARSE[] = "preprocess:\n"
                             "  operators: [{op: json_fields, fields: [a, b]}]\n"
                             "  batch: {samples: 100}\n";
static const char PATIENT[] = "preprocess:\n"
                              "  operators: [{op: json_fields, fields: [a, b]}]\n"
                              "  on_error: retry\n"
                              "  batch: {samples: 100}\n";
static const char STRICT[] = "preprocess:\n"
                             "  operators: [{op: json_fields, fields: [a, b]}]\n"
                             "  on_error: fail\n"
                             "  batch: {samples: 16}\n";

/* The consumer of job 1, which has been handed everything. */
static struct weir_client *consume_all(struct lab *lab, const char *preprocess, struct seen *seen)
{
    lab_open_job(lab, 1, preprocess, 1);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    assert_true(seen_take(seen, client, UINT64_MAX, true));
    return client;
}

/* Ends the consumer, which has seen each sample so often; the audit of job 1. */
static struct msg_job_is end_clean(struct lab *lab, struct weir_client *client, struct seen *seen,
                                   unsigned times)
{
    seen_commit(client, true);
    weir_client_close(client);
    seen_each(seen, times);
    struct msg_job_is audit = lab_audit(lab, 1);
    seen_clean(&audit, LAB_SAMPLES);
    weir_hasher_free(seen->order);
    return audit;
}

static void what_cannot_be_read_or_was_erased_is_a_hole(void **state)
{
    struct lab *lab = lab_start(*state, 2, 17);
    struct seen seen = {.order = weir_hasher_new()};
    lab_erase(lab, LAB_FIRST_ID + 40);
    lab_open_job(lab, 1, JSON, 2);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    assert_false(seen_take(&seen, client, LAB_SAMPLES / BATCH + 1, true)); /* the first epoch */
    lab_erase(lab, LAB_FIRST_ID + 41);
    assert_true(seen_take(&seen, client, UINT64_MAX, true));
    seen_commit(client, true);
    weir_client_close(client);
    assert_int_equal(seen.times[17], 0);
    assert_int_equal(seen.times[40], 0);
    struct msg_job_is audit = lab_audit(lab, 1);
    seen_clean(&audit, (uint64_t)2 * LAB_SAMPLES);
    assert_int_equal(audit.failed, 2);
    assert_int_equal(audit.erased, 2 + (2 - seen.times[41]));
    assert_int_equal(audit.delivered, (uint64_t)2 * LAB_SAMPLES - audit.failed - audit.erased);
    weir_hasher_free(seen.order);
    lab_stop(lab);
}

/* A worker that knows where all samples are asks for none of them any more; but with each lease whether
 * that still holds. */
static void what_is_known_of_a_whole_chunk_is_true_as_long_as_storage_says(void **state)
{
    enum { EPOCHS = 6, EPOCH_BATCHES = LAB_SAMPLES / 100, AHEAD_BYTES = 4096 };
    struct lab *lab = lab_start(*state, 1, -1);
    struct seen seen = {.order = weir_hasher_new()};
    lab_open_job(lab, 1, COARSE, EPOCHS);
    struct weir_client *client = lab_consume_within(lab, 1, NULL, 0, AHEAD_BYTES);
    assert_false(seen_take(&seen, client, 3 * EPOCH_BATCHES, true));
    assert_int_equal(lab_storage_wholes(lab), 1);
    lab_erase(lab, LAB_FIRST_ID + 41);
    assert_true(seen_take(&seen, client, UINT64_MAX, true));
    seen_commit(client, true);
    weir_client_close(client);
    assert_true(lab_storage_wholes(lab) > 1);
    for (size_t i = 0; i < LAB_SAMPLES; i++)
        assert_true(seen.times[i] == EPOCHS || (i == 41 && seen.times[i] < EPOCHS));
    struct msg_job_is audit = lab_audit(lab, 1);
    seen_clean(&audit, (uint64_t)EPOCHS * LAB_SAMPLES);
    assert_int_equal(audit.erased, EPOCHS - seen.times[41]);
    weir_hasher_free(seen.order);
    lab_stop(lab);
}

/* Its last batch is not delivered before the dispatcher knows why a sample of it failed. */
static void a_job_that_is_over_has_named_the_samples_that_failed(void **state)
{
    char reason[LAB_REASON_MAX] = "";
    struct lab *lab = lab_start(*state, 1, 17);
    struct seen seen = {.order = weir_hasher_new()};
    struct weir_client *client = consume_all(lab, JSON, &seen);
    seen_commit(client, true);
    assert_int_equal(lab_failed(lab, 1, reason), LAB_FIRST_ID + 17);
    assert_non_null(strstr(reason, "json_fields: byte"));
    weir_client_close(client);
    weir_hasher_free(seen.order);
    lab_stop(lab);
}

/* Until the dispatcher has stored which sample failed. */
static const char UNTIL_STORED[] =
    "SET statement_timeout = '30s'; DO $$ BEGIN WHILE NOT EXISTS (SELECT FROM preprocess.failure) LOOP"
    " PERFORM pg_sleep(0.01); END LOOP; END $$";

/* While it runs, too: how many samples have failed, and why. */
static uint64_t wait_for_failed(struct lab *lab, uint64_t job, char reason[LAB_REASON_MAX])
{
    int64_t deadline_ms = weir_now_ms() + TEST_PATIENCE_MS;
    uint64_t failed;
    while ((failed = lab_failing(lab, job, reason)) == 0 || reason[0] == '\0')
        assert_true(weir_now_ms() < deadline_ms);
    return failed;
}

static void why_a_sample_failed_outlives_whoever_saw_it(void **state)
{
    char reason[LAB_REASON_MAX] = "";
    struct lab *lab = lab_start(*state, 1, 17);
    struct seen seen = {.order = weir_hasher_new()};
    struct weir_client *client = consume_all(lab, JSON, &seen);
    assert_int_equal(wait_for_failed(lab, 1, reason), 1);
    assert_non_null(strstr(reason, "/data.jsonl) cannot be read: json_fields: byte"));
    seen_commit(client, true);
    weir_client_close(client);
    weir_test_postgres_sql(*state, UNTIL_STORED);
    lab_kill_worker(lab, 0);
    lab_kill_dispatcher(lab);
    assert_int_equal(lab_failed(lab, 1, reason), LAB_FIRST_ID + 17);
    assert_non_null(strstr(reason, "json_fields: byte"));
    weir_hasher_free(seen.order);
    lab_stop(lab);
}

static void on_error_retry_takes_a_sample_that_gets_well(void **state)
{
    enum { BAD = 117 };
    struct lab *lab = lab_start(*state, 1, BAD);
    struct seen seen = {.order = weir_hasher_new()};
    lab_open_job(lab, 1, PATIENT, 1);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    int64_t deadline_ms = weir_now_ms() + TEST_PATIENCE_MS;
    while (lab_located(lab, LAB_FIRST_ID + BAD) < 2) /* once again, because it has failed */
        assert_true(weir_now_ms() < deadline_ms);
    lab_mend_line(lab, BAD);
    assert_true(seen_take(&seen, client, UINT64_MAX, true));
    struct msg_job_is audit = end_clean(lab, client, &seen, 1);
    assert_int_equal(audit.delivered, LAB_SAMPLES);
    lab_stop(lab);
}

static void on_error_fail_ends_the_run_with_the_reason(void **state)
{
    struct lab *lab = lab_start(*state, 2, 17);
    struct seen seen = {.order = weir_hasher_new()};
    lab_open_job(lab, 1, STRICT, 1);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    struct weir_batch *batch;
    struct weir_client_error error = {0};
    enum weir_client_status status;
    while ((status = weir_client_next(client, TEST_PATIENCE_MS, &batch, &error)) ==
           WEIR_CLIENT_OK) {
        seen_batch(&seen, batch, true);
        consume_batch(client, batch);
    }
    assert_int_equal(status, WEIR_CLIENT_INVALID);
    WEIR_AUTO_FREE char *named =
        weir_format("job 1: sample %lu (line %d of %s/data.jsonl)",
                    (unsigned long)LAB_FIRST_ID + 17, LINE_OF_17, lab_socket_dir(lab));
    assert_int_equal(strncmp(error.text, named, strlen(named)), 0);
    assert_non_null(strstr(error.text, "cannot be read: json_fields: byte"));
    assert_int_equal(seen.times[17], 0);
    weir_client_close(client);
    weir_hasher_free(seen.order);
    lab_stop(lab);
}

/* The dispatcher has opened it, workers cannot: nobody waits for them for ever. */
static void a_lost_sample_set_ends_the_run_with_its_path(void **state)
{
    struct lab *lab = lab_start(*state, 1, -1);
    struct weir_batch *batch;
    struct weir_client_error error = {0};
    lab_freeze_worker(lab, 0); /* or it would open the set as soon as there is a job */
    lab_open_job(lab, 1, JSON, 1);
    lab_lose_set(lab);
    lab_thaw_worker(lab, 0);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    assert_int_equal(weir_client_next(client, TEST_PATIENCE_MS, &batch, &error),
                     WEIR_CLIENT_INVALID);
    assert_non_null(strstr(error.text, "job 1: its sample set is lost: "));
    assert_non_null(strstr(error.text, "all.set"));
    weir_client_close(client);
    lab_stop(lab);
}

static void a_replaced_file_gives_holes_never_other_bytes(void **state)
{
    struct lab *lab = lab_start(*state, 1, -1);
    struct seen seen = {.order = weir_hasher_new()};
    lab_lose_file(lab);
    struct weir_client *client = consume_all(lab, COARSE, &seen);
    struct msg_job_is audit = end_clean(lab, client, &seen, 0);
    assert_int_equal(audit.gone, LAB_SAMPLES);
    lab_stop(lab);
}

static void what_no_worker_can_open_comes_through_storage(void **state)
{
    struct lab *lab = lab_start(*state, 2, -1);
    struct seen seen = {.order = weir_hasher_new()};
    size_t loans;
    lab_hide_file(lab);
    lab_erase(lab, LAB_FIRST_ID + 40);
    lab_open_job(lab, 1, COARSE, 2);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    assert_true(seen_take(&seen, client, UINT64_MAX, true));
    seen_commit(client, true);
    weir_client_close(client);
    assert_int_equal(seen.times[40], 0);
    seen.times[40] = 2;
    seen_each(&seen, 2);
    assert_true(lab_storage_reads(lab, &loans) > loans);
    assert_true(loans > 0);
    struct msg_job_is audit = lab_audit(lab, 1);
    seen_clean(&audit, (uint64_t)2 * LAB_SAMPLES);
    assert_int_equal(audit.erased, 2);
    assert_int_equal(audit.gone, 0);
    weir_hasher_free(seen.order);
    lab_stop(lab);
}

/* Storage takes longer than the worker waits for an answer at first. */
static void storage_that_is_slow_is_given_more_time(void **state)
{
    enum { FIRST_PATIENCE_MS = 2000 };
    struct lab *lab = lab_start(*state, 1, -1);
    struct seen seen = {.order = weir_hasher_new()};
    lab_slow_storage(lab, FIRST_PATIENCE_MS * 5 / 4);
    lab_open_job(lab, 1, COARSE, 1);
    struct weir_client *client = lab_consume(lab, 1, NULL, 0);
    assert_false(seen_take(&seen, client, 1, true));
    lab_slow_storage(lab, 0);
    assert_true(seen_take(&seen, client, UINT64_MAX, true));
    seen_commit(client, true);
    weir_client_close(client);
    seen_each(&seen, 1);
    weir_hasher_free(seen.order);
    lab_stop(lab);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(what_cannot_be_read_or_was_erased_is_a_hole,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(what_is_known_of_a_whole_chunk_is_true_as_long_as_storage_says,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(a_job_that_is_over_has_named_the_samples_that_failed,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(why_a_sample_failed_outlives_whoever_saw_it,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(on_error_retry_takes_a_sample_that_gets_well,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(on_error_fail_ends_the_run_with_the_reason,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(a_lost_sample_set_ends_the_run_with_its_path,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(a_replaced_file_gives_holes_never_other_bytes,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(what_no_worker_can_open_comes_through_storage,
                                  weir_test_postgres_clean),
        cmocka_unit_test_teardown(storage_that_is_slow_is_given_more_time,
                                  weir_test_postgres_clean),
    };
    return cmocka_run_group_tests_name("preprocess holes", tests, weir_test_postgres_setup,
                                       weir_test_postgres_teardown);
}
