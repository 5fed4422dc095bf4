/* Memory of batches that several jobs need: preprocess/worker/sharing.h. */
#include "preprocess/worker/sharing.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { PRODUCTION = 7, BATCH = 3, BATCHES = 8, SIZE = 1 << 20, JOB = 5, SESSION = 11 };

static void free_published(void *payload)
{
    weir_published_free(payload);
}

/* A worker whose window has a batch in published memory, and a consumer that has not received it. */
static struct worker *worker_with_batch(const uint8_t **ret_at)
{
    struct worker *worker = calloc(1, sizeof(*worker));
    struct weir_published *published;

    worker->published.idle_bytes_max = SIZE;
    preprocess_window_init(&worker->window, 2 * SIZE, free_published);
    worker->jobs[0] =
        (struct worker_job){.number = JOB, .open = true, .is_met = true, .production = PRODUCTION};
    worker->jobs[0].plan.geometry =
        preprocess_geometry_plan(BATCHES, 1, 1, PREPROCESS_LAST_SHORT, 1);
    worker->flow.consumers[0] =
        (struct worker_consumer){.job = JOB, .session = SESSION, .missing = BATCH};
    published = preprocess_sharing_memory(worker, PRODUCTION, SIZE);
    assert_non_null(published);
    *ret_at = published->at;
    preprocess_window_add(&worker->window, &worker->flow,
                          &(struct window_entry){.key = {.production = PRODUCTION, .batch = BATCH},
                                                 .bytes = SIZE,
                                                 .payload = published});
    return worker;
}

static void free_worker(struct worker *worker)
{
    preprocess_window_fini(&worker->window);
    weir_published_pool_clear(&worker->published);
    free(worker);
}

static void memory_of_a_batch_that_a_job_needs_is_left_alone(void **state)
{
    (void)state;
    const uint8_t *at;
    struct worker *worker = worker_with_batch(&at);
    struct weir_published *other = preprocess_sharing_memory(worker, PRODUCTION, SIZE);

    assert_ptr_not_equal(other->at, at);
    assert_int_equal(worker->window.count, 1);
    weir_published_free(other);
    free_worker(worker);
}

static void the_next_batch_is_made_in_memory_of_one_that_all_jobs_have_received(void **state)
{
    (void)state;
    const uint8_t *at;
    struct worker *worker = worker_with_batch(&at);

    worker->flow.consumers[0].missing = BATCH + 1;
    struct weir_published *next = preprocess_sharing_memory(worker, PRODUCTION, SIZE);
    assert_ptr_equal(next->at, at);
    assert_int_equal(worker->window.count, 0);
    weir_published_free(next);
    free_worker(worker);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_of_a_batch_that_a_job_needs_is_left_alone),
        cmocka_unit_test(the_next_batch_is_made_in_memory_of_one_that_all_jobs_have_received),
    };
    return cmocka_run_group_tests_name("sharing", tests, NULL, NULL);
}
