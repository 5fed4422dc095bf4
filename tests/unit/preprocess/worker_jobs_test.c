/* Which jobs a worker keeps, and which make room: preprocess/worker/jobs.h. */
#include "preprocess/worker/jobs.h"
#include "preprocess/worker/wipe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { FENCE = 100, FIRST_MS = 1000 };

/* A worker with jobs 1 … WORKER_JOBS_MAX, used one after the other. */
static struct worker *full_worker(void)
{
    struct worker *worker = calloc(1, sizeof(*worker));

    for (uint64_t number = 1; number <= WORKER_JOBS_MAX; number++) {
        struct worker_job *job = preprocess_worker_job_slot(worker, number);
        assert_non_null(job);
        job->open = true;
        job->used_ms = FIRST_MS + (int64_t)number;
    }
    return worker;
}

static bool is_kept(struct worker *worker, uint64_t number)
{
    for (size_t i = 0; i < WORKER_JOBS_MAX; i++) {
        if (worker->jobs[i].number == number)
            return true;
    }
    return false;
}

static void a_job_keeps_its_slot(void **state)
{
    (void)state;
    struct worker *worker = full_worker();
    struct worker_job *job = preprocess_worker_job_slot(worker, 7);

    assert_int_equal(job->number, 7);
    assert_true(job->open);
    free(worker);
}

static void a_new_job_takes_the_room_of_the_one_that_was_not_used_for_longest(void **state)
{
    (void)state;
    struct worker *worker = full_worker();

    worker->told_ms = FIRST_MS + WORKER_JOBS_MAX + 1;
    for (uint64_t number = WORKER_JOBS_MAX + 1; number <= 3 * WORKER_JOBS_MAX; number++) {
        struct worker_job *job = preprocess_worker_job_slot(worker, number);
        assert_non_null(job);
        assert_false(job->open);
        assert_false(is_kept(worker, number - WORKER_JOBS_MAX));
        job->open = true;
        job->used_ms = FIRST_MS + (int64_t)number;
        worker->told_ms = job->used_ms + 1;
    }
    free(worker);
}

static void a_closed_job_goes_before_an_open_one(void **state)
{
    (void)state;
    struct worker *worker = full_worker();

    worker->told_ms = FIRST_MS + WORKER_JOBS_MAX + 1;
    preprocess_worker_job_slot(worker, 9)->open = false;
    assert_non_null(preprocess_worker_job_slot(worker, 1000));
    assert_false(is_kept(worker, 9));
    assert_true(is_kept(worker, 1));
    free(worker);
}

static void a_job_that_is_worked_on_stays(void **state)
{
    (void)state;
    struct worker *worker = full_worker();

    worker->told_ms = FIRST_MS + WORKER_JOBS_MAX + 1;
    worker->flow.leases[3] = (struct worker_lease){.fence = FENCE, .job = 1};
    preprocess_worker_job_slot(worker, 2)->is_requesting = true;
    assert_non_null(preprocess_worker_job_slot(worker, 1000));
    assert_true(is_kept(worker, 1));
    assert_true(is_kept(worker, 2));
    assert_false(is_kept(worker, 3));
    free(worker);
}

static void a_job_stays_until_the_dispatcher_knows_its_cost(void **state)
{
    (void)state;
    struct worker *worker = full_worker();

    worker->told_ms = FIRST_MS;
    assert_null(preprocess_worker_job_slot(worker, 1000));
    worker->told_ms = FIRST_MS + 2;
    assert_non_null(preprocess_worker_job_slot(worker, 1000));
    assert_false(is_kept(worker, 1));
    free(worker);
}

static bool holds(const void *memory, size_t size, const char *word)
{
    return memmem(memory, size, word, strlen(word)) != NULL;
}

static void a_wipe_forgets_why_samples_failed(void **state)
{
    (void)state;
    struct worker *worker = calloc(1, sizeof(*worker));

    for (size_t i = 0; i < WORKER_JOBS_MAX; i++) {
        struct worker_job *job = &worker->jobs[i];
        job->number = i + 1;
        preprocess_failures_note(&job->failures, i, "found wanda");
        (void)snprintf(job->reason, sizeof(job->reason), "sample 1 (byte 0 of wanda.jpg)");
        (void)snprintf(job->problem, sizeof(job->problem), "no such category: wanda");
    }
    preprocess_worker_jobs_wipe(worker);
    assert_false(holds(worker, sizeof(*worker), "wanda"));
    assert_int_equal(worker->jobs[0].failures.count, 0);
    assert_true(is_kept(worker, 1));
    free(worker);
}

static void a_wipe_waits_until_the_dispatcher_knows_why_samples_failed(void **state)
{
    (void)state;
    struct worker *worker = calloc(1, sizeof(*worker));

    worker->wipe = worker->reasons = 1;
    preprocess_worker_wipe(worker);
    assert_int_equal(worker->wiped, 0);
    free(worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_job_keeps_its_slot),
        cmocka_unit_test(a_new_job_takes_the_room_of_the_one_that_was_not_used_for_longest),
        cmocka_unit_test(a_closed_job_goes_before_an_open_one),
        cmocka_unit_test(a_job_that_is_worked_on_stays),
        cmocka_unit_test(a_job_stays_until_the_dispatcher_knows_its_cost),
        cmocka_unit_test(a_wipe_forgets_why_samples_failed),
        cmocka_unit_test(a_wipe_waits_until_the_dispatcher_knows_why_samples_failed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
